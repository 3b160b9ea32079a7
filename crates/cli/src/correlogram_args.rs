//! The arguments of `correlogram`.

use crate::args::RunArgs;
use crate::values::whole;
use clap::{Args, ValueHint};

/// Correlograms of spike trains: how the spikes of each unit lie around those of each other one.
#[derive(Args, Clone, Debug)]
pub(crate) struct CorrelogramArgs {
    /// A table with a row for each spike, in any order (`zipfold formats` lists the formats); or a
    /// description of the question, .toml or .json, with the options as keys
    #[arg(help_heading = "Input", value_hint = ValueHint::FilePath)]
    pub data: String,
    /// The column of times [default: time]
    #[arg(long, value_name = "COLUMN", help_heading = "Input")]
    pub time: Option<String>,
    /// The column of units, text or numbers [default: unit]
    #[arg(long, value_name = "COLUMN", help_heading = "Input")]
    pub units: Option<String>,
    /// All spikes are of one unit
    #[arg(long, conflicts_with = "units", help_heading = "Input")]
    pub single: bool,
    /// Whether the first row of a text is a header [default: found out from its cells]
    #[arg(long, value_name = "YES|NO", value_parser = ["yes", "no"], help_heading = "Input", hide_short_help = true)]
    pub header: Option<String>,
    /// The largest lag, in the unit of the times [default: 0.1]
    #[arg(
        long,
        value_name = "LAG",
        help_heading = "Question",
        allow_negative_numbers = true
    )]
    pub max: Option<f64>,
    /// Number of bins from the least to the largest lag; an odd number has lag 0 in the middle of one
    /// [default: 101]
    #[arg(long, value_parser = whole, help_heading = "Question", allow_negative_numbers = true)]
    pub bins: Option<usize>,
    /// What values are: pairs (count), spikes per time around a spike of the reference (rate), or
    /// spikes in the bin of a spike of the reference (probability) [default: count]
    #[arg(long, value_name = "NAME", value_parser = ["count", "rate", "probability"], hide_possible_values = true, help_heading = "Question")]
    pub normalise: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub run: RunArgs,
}
