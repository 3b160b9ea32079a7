//! The arguments of `paircount`.

use crate::args::RunArgs;
use crate::values::whole;
use clap::{Args, ValueHint};

/// Counts of pairs of catalogues by separation, and correlation functions.
#[derive(Args, Clone, Debug)]
pub(crate) struct PairCountArgs {
    /// The catalogue, a table (`zipfold formats` lists the formats); or a description of the
    /// question, .toml or .json, with the options as keys
    #[arg(help_heading = "Input", value_hint = ValueHint::FilePath)]
    pub data: String,
    /// A second catalogue: pairs of one with the other
    #[arg(long, value_name = "FILE", help_heading = "Input", value_hint = ValueHint::FilePath)]
    pub data2: Option<String>,
    /// Points without structure in the same volume
    #[arg(long, value_name = "FILE", help_heading = "Input", value_hint = ValueHint::FilePath)]
    pub randoms: Option<String>,
    /// Those of the second catalogue [default: the same]
    #[arg(long, value_name = "FILE", help_heading = "Input", value_hint = ValueHint::FilePath)]
    pub randoms2: Option<String>,
    /// Randoms that were moved with the data; --randoms stay those of RR
    #[arg(long, value_name = "FILE", help_heading = "Input", hide_short_help = true, value_hint = ValueHint::FilePath)]
    pub shifted: Option<String>,
    /// The columns of positions, by name or number [default: x,y,z; of the sky ra,dec and distance]
    #[arg(long, value_delimiter = ',', help_heading = "Input")]
    pub columns: Option<Vec<String>>,
    /// Positions are right ascension and declination in degrees, and a distance
    #[arg(long, help_heading = "Input")]
    pub sky: bool,
    /// A column of weights: a pair weighs the product
    #[arg(long, value_name = "COLUMN", help_heading = "Input")]
    pub weights: Option<String>,
    /// A periodic box: LX,LY,LZ
    #[arg(
        long = "box",
        value_name = "LENGTHS",
        value_delimiter = ',',
        help_heading = "Input",
        allow_hyphen_values = true
    )]
    pub periodic_box: Option<Vec<f64>>,
    /// Bins across and along the line of sight, (rp, π), in place of those of the distance
    #[arg(long, help_heading = "Question", conflicts_with_all = ["smu", "theta"], requires = "pi")]
    pub rppi: bool,
    /// Bins of the distance and the cosine of its angle with the line of sight, (s, μ)
    #[arg(long, help_heading = "Question", conflicts_with = "theta")]
    pub smu: bool,
    /// Bins of the angle on the sky, in degrees
    #[arg(long, help_heading = "Question")]
    pub theta: bool,
    /// First and last edge
    #[arg(long, num_args = 2, value_names = ["LO", "HI"], allow_hyphen_values = true, help_heading = "Question")]
    pub range: Option<Vec<f64>>,
    /// Number of bins [default: 20]
    #[arg(long, value_parser = whole, help_heading = "Question", allow_negative_numbers = true)]
    pub bins: Option<usize>,
    /// Edges of equal ratios
    #[arg(long, help_heading = "Question")]
    pub log: bool,
    /// Edges from a file instead, one per row
    #[arg(long, value_name = "FILE", conflicts_with = "range", help_heading = "Question", value_hint = ValueHint::FilePath)]
    pub edges: Option<String>,
    /// Of (rp, π), the largest π and the number of bins from 0
    #[arg(long, num_args = 2, value_names = ["MAX", "BINS"], allow_negative_numbers = true, help_heading = "Question")]
    pub pi: Option<Vec<f64>>,
    /// Of (s, μ), the number of bins from 0 to 1 [default: 100]
    #[arg(long, value_name = "BINS", value_parser = whole, help_heading = "Question", allow_negative_numbers = true)]
    pub mu: Option<usize>,
    /// The line of sight: the third axis, through the middle of both points, through the first
    /// point, or half-way between their directions [default: z]
    #[arg(long, value_parser = ["z", "midpoint", "first", "bisector"], help_heading = "Question")]
    pub los: Option<String>,
    /// How counts make a correlation function [default: landy-szalay of randoms, natural of a box]
    #[arg(long, value_parser = ["natural", "landy-szalay", "davis-peebles", "hamilton"], help_heading = "Question")]
    pub estimator: Option<String>,
    /// Of (s, μ), the multipoles [default: 0,2,4]
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "L,…",
        help_heading = "Question"
    )]
    pub multipoles: Option<Vec<u32>>,
    /// Of (s, μ), the number of wedges of equal width in μ
    #[arg(long, value_name = "COUNT", help_heading = "Question")]
    pub wedges: Option<usize>,
    /// Pairs of data weigh N / (offset + ones that both rows have in these columns)
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "COLUMNS",
        requires = "realisations",
        help_heading = "Question",
        hide_short_help = true
    )]
    pub pip: Option<Vec<String>>,
    /// Of --pip, the number N of realisations
    #[arg(
        long,
        requires = "pip",
        value_name = "N",
        help_heading = "Question",
        hide_short_help = true
    )]
    pub realisations: Option<f64>,
    /// Of --pip, what is added to the ones [default: 0]
    #[arg(
        long,
        requires = "pip",
        value_name = "OFFSET",
        help_heading = "Question",
        hide_short_help = true
    )]
    pub pip_offset: Option<f64>,
    /// Of --pip, the weight of a pair without ones [default: 0]
    #[arg(
        long,
        requires = "pip",
        value_name = "WEIGHT",
        help_heading = "Question",
        hide_short_help = true
    )]
    pub pip_none: Option<f64>,
    /// Angular up-weights of pairs of data: a table of degrees and weights
    #[arg(long, value_name = "FILE", help_heading = "Question", hide_short_help = true, value_hint = ValueHint::FilePath)]
    pub upweights: Option<String>,
    /// Only pairs whose value is in a range: 'abs(x.z - y.z)' 0 0.1
    #[arg(long, num_args = 3, value_names = ["EXPR", "LO", "HI"], allow_hyphen_values = true, help_heading = "Question", hide_short_help = true)]
    pub cut: Option<Vec<String>>,
    /// Errors over regions: a column of numbers, or how many regions to make
    #[arg(long, value_name = "COLUMN|COUNT", help_heading = "Errors")]
    pub regions: Option<String>,
    /// Leave out a region at a time, or draw regions [default: jackknife]
    #[arg(long, value_parser = ["jackknife", "bootstrap"], help_heading = "Errors")]
    pub resample: Option<String>,
    /// Of a bootstrap, the number of samples [default: 100]
    #[arg(long, value_name = "COUNT", value_parser = whole, help_heading = "Errors", allow_negative_numbers = true)]
    pub samples: Option<usize>,
    /// Of a bootstrap, the seed [default: 1]
    #[arg(
        long,
        value_name = "SEED",
        help_heading = "Errors",
        hide_short_help = true
    )]
    pub seed: Option<u64>,
    /// The counts of all bins
    #[arg(long, value_name = "FILE", help_heading = "Output", value_hint = ValueHint::FilePath)]
    pub counts: Option<String>,
    /// The covariance of all curves, a matrix; .svg and .png are maps of it
    #[arg(long, value_name = "FILE", requires = "regions", help_heading = "Output", value_hint = ValueHint::FilePath)]
    pub covariance: Option<String>,
    /// The curves of each sample, a row each
    #[arg(long, value_name = "FILE", requires = "regions", help_heading = "Output", value_hint = ValueHint::FilePath)]
    pub sample_curves: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub run: RunArgs,
}
