//! The arguments of `silhouette`.

use crate::args::RunArgs;
use crate::distance_args::DistanceArgs;
use clap::{Args, ValueHint};

/// Silhouettes of labelled rows: how much nearer a row is to its own group than to the next one.
#[derive(Args, Clone, Debug)]
pub(crate) struct SilhouetteArgs {
    /// A table (`zipfold formats` lists the formats); or a description of the question, .toml or
    /// .json, with the options as keys
    #[arg(help_heading = "Input", value_hint = ValueHint::FilePath)]
    pub data: String,
    /// The column of labels, text or numbers
    #[arg(long, value_name = "COLUMN", help_heading = "Input")]
    pub labels: Option<String>,
    /// The coordinates, by name [default: all columns of numbers but the labels]
    #[arg(long, value_delimiter = ',', help_heading = "Input")]
    pub columns: Option<Vec<String>>,
    /// Whether the first row of a text is a header [default: found out from its cells]
    #[arg(long, value_name = "YES|NO", value_parser = ["yes", "no"], help_heading = "Input", hide_short_help = true)]
    pub header: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub distance: DistanceArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub run: RunArgs,
}
