//! The arguments of `join`.

use crate::args::{PairArgs, RunArgs};
use crate::values::whole;
use clap::Args;

/// What becomes of matches, for joins and crossmatches alike.
#[derive(Args, Clone, Debug)]
pub(crate) struct JoinedRowsArgs {
    /// Every match; also rows of x without one; the first match of each row of x; or the rows of x
    /// with or without a match [default: inner]
    #[arg(long, help_heading = "Result", value_parser = ["inner", "left", "any", "semi", "anti"])]
    pub kind: Option<String>,
    /// The columns of the output: x.name, y.name, x.*, y.*, *, the value of a join or the separation
    /// of a crossmatch (value, separation), or a formula, each perhaps with a name: 'y.time as
    /// other, x.time - y.time as gap' [default: all of them]
    #[arg(
        long,
        value_name = "COLUMNS",
        allow_hyphen_values = true,
        help_heading = "Result"
    )]
    pub select: Vec<String>,
}

/// `join`.
#[derive(Args, Clone)]
#[allow(missing_docs)]
pub(crate) struct Join {
    #[command(flatten)]
    pub pair: PairArgs,
    /// The condition: 'abs(x.time - y.time) < 0.5 and x.origin == y.origin'; as in SQL no
    /// comparison with a null is true
    #[arg(
        long = "where",
        value_name = "EXPR",
        allow_hyphen_values = true,
        help_heading = "Result"
    )]
    pub predicate: Option<String>,
    /// Columns with equal values: NAME of both tables, or A=B of x and of y; the output then has
    /// columns by name. A row without a key matches nothing
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "COLUMNS",
        help_heading = "Result"
    )]
    pub on: Vec<String>,
    #[command(flatten)]
    pub rows: JoinedRowsArgs,
    /// Only the K nearest rows of y for each row of x, by --metric or --value [default: euclidean]
    #[arg(long, value_name = "K", value_parser = whole, help_heading = "Result", allow_negative_numbers = true)]
    pub nearest: Option<usize>,
    /// Of rows as near as the last of --nearest: the first ones, or all [default: first]
    #[arg(long, value_parser = ["first", "all"], help_heading = "Result")]
    pub ties: Option<String>,
    /// The largest value of a row of --nearest
    #[arg(
        long,
        value_name = "R",
        allow_negative_numbers = true,
        help_heading = "Result"
    )]
    pub within_distance: Option<f64>,
    /// Pairs i < j of x with itself
    #[arg(long = "self", help_heading = "Result")]
    pub of_self: bool,
    /// A value to keep with each pair; of --nearest, what makes rows near
    #[arg(
        long,
        value_name = "EXPR",
        allow_hyphen_values = true,
        help_heading = "Result"
    )]
    pub value: Option<String>,
    #[command(flatten)]
    pub run: RunArgs,
}
