//! The arguments of `hausdorff` and `chamfer`.

use crate::args::RunArgs;
use crate::distance_args::DistanceArgs;
use clap::{Args, ValueHint};

/// Two sets of rows and their distance.
#[derive(Args, Clone, Debug)]
pub(crate) struct SetDistanceArgs {
    /// The rows of the first set, a table (`zipfold formats` lists the formats); or a description of
    /// the question, .toml or .json, with the options as keys
    #[arg(help_heading = "Input", value_hint = ValueHint::FilePath)]
    pub x: String,
    /// The rows of the second set
    #[arg(help_heading = "Input", value_hint = ValueHint::FilePath)]
    pub y: Option<String>,
    /// Only these columns, by name or number from 0: x,y,z or 0-63 or 'gene*' or '!id'
    #[arg(long, value_delimiter = ',', help_heading = "Input")]
    pub columns: Option<Vec<String>>,
    /// Columns that name the rows [default: columns of text, unless --columns chooses]
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "COLUMNS",
        help_heading = "Input"
    )]
    pub id: Option<Vec<String>>,
    /// Whether the first row of a text is a header [default: found out from its cells]
    #[arg(long, value_name = "YES|NO", value_parser = ["yes", "no"], help_heading = "Input", hide_short_help = true)]
    pub header: Option<String>,
    /// What to do with NaN; skip leaves out rows that have one [default: error]
    #[arg(long, value_name = "POLICY", value_parser = ["error", "propagate", "skip"], help_heading = "Input")]
    pub nan: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub distance: DistanceArgs,
    /// Unit of angles, for haversine: rad or deg [default: rad]
    #[arg(long, value_parser = ["rad", "deg"], help_heading = "Pair", hide_short_help = true)]
    pub unit: Option<String>,
    /// A periodic box, as that of `knn`
    #[arg(
        long = "box",
        value_name = "LENGTHS",
        allow_hyphen_values = true,
        help_heading = "Pair"
    )]
    pub periodic_box: Option<String>,
    /// A column of labels: the rows of each label are a set of their own in both tables, and each
    /// label has a distance
    #[arg(long, value_name = "COLUMN", help_heading = "Question")]
    pub batch: Option<String>,
    /// From the rows of both sets, of the first (forward) or of the second (backward) [default: both]
    #[arg(long, value_parser = ["both", "forward", "backward"], help_heading = "Question")]
    pub direction: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub run: RunArgs,
}

/// Hausdorff's distance: how far the row that is farthest from the other set is from it.
#[derive(Args, Clone, Debug)]
pub(crate) struct HausdorffArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub sets: SetDistanceArgs,
    /// A quantile of the distances of rows in place of the largest: 0.95
    #[arg(
        long,
        value_name = "Q",
        help_heading = "Question",
        allow_negative_numbers = true
    )]
    pub quantile: Option<f64>,
}
