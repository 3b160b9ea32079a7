//! The arguments of `network`.

use crate::args::RunArgs;
use crate::values::whole;
use clap::{Args, ValueHint};

/// Networks of rows that go together.
#[derive(Args, Clone, Debug)]
pub(crate) struct NetworkArgs {
    /// The table: genes by samples, names in a column of text, empty cells or NA where values are
    /// missing (`zipfold formats` lists the formats); or a description of the question, .toml or
    /// .json, with the options as keys
    #[arg(help_heading = "Input", value_hint = ValueHint::FilePath)]
    pub data: String,
    /// Rows are samples: columns go together
    #[arg(long, help_heading = "Input")]
    pub transpose: bool,
    /// The column of names [default: the first column of text]
    #[arg(long = "id", value_name = "COLUMN", help_heading = "Input")]
    pub ids: Option<String>,
    /// The columns that are read, by name or number [default: all]
    #[arg(long, value_delimiter = ',', help_heading = "Input")]
    pub columns: Option<Vec<String>>,
    /// What two rows have in common [default: pearson]
    #[arg(long, value_parser = ["pearson", "spearman", "kendall", "bicor", "mi"], help_heading = "Question")]
    pub measure: Option<String>,
    /// The fewest samples that both rows of a pair have [default: 3]
    #[arg(long, value_name = "COUNT", value_parser = whole, help_heading = "Question", allow_negative_numbers = true)]
    pub min_periods: Option<usize>,
    /// Edges within this false discovery rate, of all pairs (Benjamini and Hochberg)
    #[arg(
        long,
        value_name = "RATE",
        help_heading = "Question",
        allow_negative_numbers = true
    )]
    pub fdr: Option<f64>,
    /// Edges whose value is at least this, without its sign
    #[arg(
        long,
        value_name = "VALUE",
        help_heading = "Question",
        allow_negative_numbers = true
    )]
    pub threshold: Option<f64>,
    /// The best edges of each row
    #[arg(long, value_name = "COUNT", value_parser = whole, help_heading = "Question", allow_negative_numbers = true)]
    pub top: Option<usize>,
    /// p-values of this many permutations of samples [default: 0, of distributions]
    #[arg(long, value_name = "COUNT", value_parser = whole, help_heading = "Question", allow_negative_numbers = true)]
    pub permutations: Option<usize>,
    /// The seed of permutations [default: 1]
    #[arg(
        long,
        value_name = "SEED",
        help_heading = "Question",
        hide_short_help = true
    )]
    pub seed: Option<u64>,
    /// Of mutual information, the number of bins [default: 10]
    #[arg(long, value_parser = whole, help_heading = "Question", allow_negative_numbers = true)]
    pub bins: Option<usize>,
    /// Of mutual information, the order of the splines [default: 3]
    #[arg(long, value_parser = whole, help_heading = "Question", allow_negative_numbers = true)]
    pub order: Option<usize>,
    /// Remove the weakest edge of each triangle, if it is below the others by this share (the data
    /// processing inequality)
    #[arg(
        long,
        value_name = "TOLERANCE",
        help_heading = "Question",
        allow_negative_numbers = true
    )]
    pub prune: Option<f64>,
    /// Weights of edges: this power of the value, or auto by a scale-free fit
    #[arg(
        long,
        value_name = "POWER|auto",
        help_heading = "Weights",
        allow_negative_numbers = true
    )]
    pub power: Option<String>,
    /// Powers of |r|, of (1 + r) / 2, or of r above 0 [default: unsigned]
    #[arg(long, value_parser = ["unsigned", "signed", "hybrid"], help_heading = "Weights")]
    pub sign: Option<String>,
    /// Powers whose scale-free fit is told [default: of --power auto, 1 to 10 and 12 to 20]
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "P,…",
        help_heading = "Weights"
    )]
    pub powers: Option<Vec<f64>>,
    /// The fits of powers
    #[arg(long, value_name = "FILE", help_heading = "Output", value_hint = ValueHint::FilePath)]
    pub fits: Option<String>,
    /// The number of edges of each row
    #[arg(long, value_name = "FILE", help_heading = "Output", value_hint = ValueHint::FilePath)]
    pub degrees: Option<String>,
    /// The values of all pairs, a matrix
    #[arg(long, value_name = "FILE", help_heading = "Output", value_hint = ValueHint::FilePath)]
    pub matrix: Option<String>,
    /// The weights of all pairs, a matrix
    #[arg(long, value_name = "FILE", requires = "power", help_heading = "Output", value_hint = ValueHint::FilePath)]
    pub adjacency: Option<String>,
    /// The topological overlaps of all pairs, a matrix
    #[arg(long, value_name = "FILE", requires = "power", help_heading = "Output", value_hint = ValueHint::FilePath)]
    pub tom: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub run: RunArgs,
}
