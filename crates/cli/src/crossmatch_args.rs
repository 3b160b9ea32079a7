//! The arguments of `crossmatch`.

use crate::args::RunArgs;
use crate::join_args::JoinedRowsArgs;
use crate::values::whole;
use clap::{Args, ValueHint};

/// Matches of two catalogues by position, on the sky or in space.
#[derive(Args, Clone, Debug)]
pub(crate) struct CrossmatchArgs {
    /// The catalogue called x, a table (`zipfold formats` lists the formats); or a description of
    /// the question, .toml or .json, with the options as keys
    #[arg(help_heading = "Input", value_hint = ValueHint::FilePath)]
    pub x: String,
    /// The catalogue called y
    #[arg(help_heading = "Input", value_hint = ValueHint::FilePath)]
    pub y: Option<String>,
    /// The columns of positions [default: those called ra and dec, else x,y,z, else x,y]
    #[arg(long, value_delimiter = ',', help_heading = "Input")]
    pub columns: Option<Vec<String>>,
    /// Those of y [default: the same]
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "COLUMNS",
        help_heading = "Input"
    )]
    pub columns2: Option<Vec<String>>,
    /// The columns of --columns are right ascension and declination in degrees
    #[arg(long, requires = "columns", help_heading = "Input")]
    pub sky: bool,
    /// Whether the first row of a text is a header [default: found out from its cells]
    #[arg(long, value_name = "YES|NO", value_parser = ["yes", "no"], help_heading = "Input", hide_short_help = true)]
    pub header: Option<String>,
    /// The largest separation: arcseconds on the sky, else in the units of the columns
    #[arg(
        long,
        value_name = "R",
        allow_negative_numbers = true,
        help_heading = "Question"
    )]
    pub radius: Option<f64>,
    /// The nearest row of y for each row of x, all within the radius, or pairs of rows that are the
    /// nearest of each other [default: nearest]
    #[arg(long, value_parser = ["nearest", "all", "mutual"], help_heading = "Question")]
    pub find: Option<String>,
    /// Of the nearest, how many for each row of x [default: 1]
    #[arg(long, value_name = "K", value_parser = whole, help_heading = "Question", allow_negative_numbers = true)]
    pub nearest: Option<usize>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub rows: JoinedRowsArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub run: RunArgs,
}
