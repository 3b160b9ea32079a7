//! The arguments of `cooccurrence`.

use crate::args::RunArgs;
use crate::values::whole;
use clap::{Args, ValueHint};

/// Which kinds of points occur together: the share of a kind around another, over its share around all.
#[derive(Args, Clone, Debug)]
pub(crate) struct CooccurrenceArgs {
    /// A table (`zipfold formats` lists the formats); or a description of the question, .toml or
    /// .json, with the options as keys
    #[arg(help_heading = "Input", value_hint = ValueHint::FilePath)]
    pub data: String,
    /// The column of kinds, text or numbers
    #[arg(long, value_name = "COLUMN", help_heading = "Input")]
    pub labels: Option<String>,
    /// The columns of positions, one to three [default: x,y,z]
    #[arg(
        long,
        visible_alias = "xy",
        value_delimiter = ',',
        help_heading = "Input"
    )]
    pub columns: Option<Vec<String>>,
    /// Whether the first row of a text is a header [default: found out from its cells]
    #[arg(long, value_name = "YES|NO", value_parser = ["yes", "no"], help_heading = "Input", hide_short_help = true)]
    pub header: Option<String>,
    /// The largest distance [default: half of the diagonal of all positions]
    #[arg(
        long,
        value_name = "R",
        help_heading = "Question",
        allow_negative_numbers = true
    )]
    pub max: Option<f64>,
    /// Number of intervals [default: 50]
    #[arg(long, value_parser = whole, help_heading = "Question", allow_negative_numbers = true)]
    pub bins: Option<usize>,
    /// Edges of the intervals from a file instead, one per row
    #[arg(long, value_name = "FILE", conflicts_with_all = ["max", "bins"], help_heading = "Question", value_hint = ValueHint::FilePath)]
    pub edges: Option<String>,
    /// Count all pairs up to the end of an interval, as squidpy does since 2024
    #[arg(long, help_heading = "Question")]
    pub cumulative: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub run: RunArgs,
}
