//! The arguments of `silhouette`.

use crate::args::RunArgs;
use crate::values::OneOf;
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
    /// The distance; `zipfold metrics` lists the metrics [default: euclidean]
    #[arg(long, conflicts_with = "pair", value_parser = OneOf::metric(), hide_possible_values = true, help_heading = "Pair")]
    pub metric: Option<String>,
    /// The distance as a formula in x and y
    #[arg(
        long,
        value_name = "EXPR",
        allow_hyphen_values = true,
        help_heading = "Pair"
    )]
    pub pair: Option<String>,
    /// A value of the formula or option of the metric: p=3
    #[arg(
        long = "param",
        value_name = "NAME=VALUE",
        allow_hyphen_values = true,
        help_heading = "Pair"
    )]
    pub params: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub run: RunArgs,
}
