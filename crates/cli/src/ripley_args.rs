//! The arguments of `ripley`.

use crate::args::RunArgs;
use crate::values::whole;
use clap::{Args, ValueHint};

/// Ripley's functions of points in a window: K, L and the pair correlation g, by kind, with envelopes.
#[derive(Args, Clone, Debug)]
pub(crate) struct RipleyArgs {
    /// A table (`zipfold formats` lists the formats); or a description of the question, .toml or
    /// .json, with the options as keys
    #[arg(help_heading = "Input", value_hint = ValueHint::FilePath)]
    pub data: String,
    /// The columns of positions, one to three [default: x,y,z]
    #[arg(
        long,
        visible_alias = "xy",
        value_delimiter = ',',
        help_heading = "Input"
    )]
    pub columns: Option<Vec<String>>,
    /// The column of kinds: functions from each kind to each other one
    #[arg(long, value_name = "COLUMN", help_heading = "Input")]
    pub by: Option<String>,
    /// The box that points are observed in [default: that of the points]
    #[arg(
        long,
        value_name = "XMIN,XMAX,…",
        value_delimiter = ',',
        help_heading = "Input",
        allow_hyphen_values = true
    )]
    pub window: Option<Vec<f64>>,
    /// Whether the first row of a text is a header [default: found out from its cells]
    #[arg(long, value_name = "YES|NO", value_parser = ["yes", "no"], help_heading = "Input", hide_short_help = true)]
    pub header: Option<String>,
    /// The largest distance [default: a quarter of the shortest side of the window]
    #[arg(
        long,
        value_name = "R",
        help_heading = "Question",
        allow_negative_numbers = true
    )]
    pub max: Option<f64>,
    /// Number of distances [default: 50]
    #[arg(long, value_parser = whole, help_heading = "Question", allow_negative_numbers = true)]
    pub bins: Option<usize>,
    /// How the edge of the window is accounted for: none, border, translation, isotropic (rectangles),
    /// periodic [default: translation]
    #[arg(long, value_name = "NAME", value_parser = ["none", "border", "translation", "isotropic", "periodic"], hide_possible_values = true, help_heading = "Question")]
    pub correction: Option<String>,
    /// Simulations without structure, whose least and largest values are the envelope [default: 0]
    #[arg(long, value_name = "COUNT", value_parser = whole, help_heading = "Question", allow_negative_numbers = true)]
    pub simulations: Option<usize>,
    /// The seed of the simulations [default: 0]
    #[arg(long, help_heading = "Question")]
    pub seed: Option<u64>,
    /// What a simulation has at random: the points, or the labels of the points as they are [default:
    /// points]
    #[arg(long, value_parser = ["points", "labels"], help_heading = "Question", hide_short_help = true)]
    pub null: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub run: RunArgs,
}
