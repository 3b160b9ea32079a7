//! The arguments of `variogram`.

use crate::args::RunArgs;
use crate::values::whole;
use clap::{Args, ValueHint};

/// Variograms of values at places: how unlike two values are, by their distance.
#[derive(Args, Clone, Debug)]
pub(crate) struct VariogramArgs {
    /// A table (`zipfold formats` lists the formats); or a description of the question, .toml or
    /// .json, with the options as keys
    #[arg(help_heading = "Input", value_hint = ValueHint::FilePath)]
    pub data: String,
    /// The columns of positions, one to three [default: x,y,z but those of --value]
    #[arg(
        long,
        visible_alias = "xy",
        value_delimiter = ',',
        help_heading = "Input"
    )]
    pub columns: Option<Vec<String>>,
    /// The column of values; of two also their cross-variogram
    #[arg(
        long,
        value_name = "COLUMN",
        value_delimiter = ',',
        help_heading = "Input"
    )]
    pub value: Option<Vec<String>>,
    /// What becomes of rows without a value [default: error]
    #[arg(long, value_name = "POLICY", value_parser = ["error", "skip"], help_heading = "Input")]
    pub nan: Option<String>,
    /// Whether the first row of a text is a header [default: found out from its cells]
    #[arg(long, value_name = "YES|NO", value_parser = ["yes", "no"], help_heading = "Input", hide_short_help = true)]
    pub header: Option<String>,
    /// Number of lags [default: 15]
    #[arg(long, value_name = "COUNT", value_parser = whole, help_heading = "Question", allow_negative_numbers = true)]
    pub lags: Option<usize>,
    /// The largest distance [default: a third of the diagonal of all positions]
    #[arg(
        long,
        value_name = "R",
        help_heading = "Question",
        allow_negative_numbers = true
    )]
    pub max: Option<f64>,
    /// Edges of the lags from a file instead, one per row
    #[arg(long, value_name = "FILE", conflicts_with_all = ["max", "lags"], help_heading = "Question", value_hint = ValueHint::FilePath)]
    pub edges: Option<String>,
    /// What is made of the differences of values: matheron, cressie (robust), madogram, covariance
    /// [default: matheron]
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", value_parser = ["matheron", "cressie", "madogram", "covariance"], hide_possible_values = true, help_heading = "Question")]
    pub estimator: Option<Vec<String>>,
    /// Directions in degrees, clockwise from the second axis (north)
    #[arg(
        long,
        value_name = "DEGREES,…",
        value_delimiter = ',',
        help_heading = "Question",
        allow_negative_numbers = true
    )]
    pub azimuth: Option<Vec<f64>>,
    /// Of three axes, how far down a direction points, in degrees [default: 0]
    #[arg(
        long,
        value_name = "DEGREES",
        help_heading = "Question",
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    pub dip: Option<f64>,
    /// The largest angle between a pair and a direction, in degrees [default: 22.5]
    #[arg(
        long,
        value_name = "DEGREES",
        help_heading = "Question",
        allow_negative_numbers = true
    )]
    pub tolerance: Option<f64>,
    /// The largest distance of a pair from the line of a direction
    #[arg(
        long,
        value_name = "WIDTH",
        help_heading = "Question",
        allow_negative_numbers = true
    )]
    pub bandwidth: Option<f64>,
    /// Models that are fitted: spherical, exponential, gaussian
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", value_parser = ["spherical", "exponential", "gaussian"], hide_possible_values = true, help_heading = "Question")]
    pub models: Option<Vec<String>>,
    /// What a lag weighs in a fit: its pairs over the square of its distance, its pairs, or 1
    /// [default: pairs-over-square]
    #[arg(long, value_parser = ["pairs-over-square", "pairs", "equal"], help_heading = "Question", hide_short_help = true)]
    pub fit_weights: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub run: RunArgs,
}
