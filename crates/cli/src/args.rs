//! The grammar of the command.

pub(crate) use crate::cooccurrence_args::CooccurrenceArgs;
pub(crate) use crate::correlogram_args::CorrelogramArgs;
pub(crate) use crate::crossmatch_args::CrossmatchArgs;
pub(crate) use crate::network_args::NetworkArgs;
pub(crate) use crate::paircount_args::PairCountArgs;
pub(crate) use crate::ripley_args::RipleyArgs;
pub(crate) use crate::set_distance_args::{HausdorffArgs, SetDistanceArgs};
pub(crate) use crate::silhouette_args::SilhouetteArgs;
use crate::values::{OneOf, whole};
pub(crate) use crate::variogram_args::VariogramArgs;
use clap::{Args, Parser, Subcommand, ValueHint};
use std::path::PathBuf;
use zipfold::io::OutputOptions;

/// Compute over all pairs of rows, and exact inference on graphical models.
///
/// Choose what to compute for each pair (a metric or a formula) and what to keep: the distance
/// matrix, nearest neighbours, a histogram, per-row sums, matching pairs.
#[derive(Parser)]
#[command(
    name = "zipfold",
    version,
    long_version = crate::lists::long_version(),
    max_term_width = 100,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// What to do.
#[derive(Subcommand, Clone)]
pub(crate) enum Verb {
    /// A question about pairs.
    #[command(flatten)]
    Ask(Question),
    /// Exact inference on a discrete graphical model
    Infer(InferArgs),
    /// Radial distribution functions of a trajectory
    Rdf(RdfArgs),
    /// Counts of pairs of catalogues by separation, and correlation functions
    Paircount(PairCountArgs),
    /// Matches of two catalogues by position
    Crossmatch(CrossmatchArgs),
    /// Hausdorff's distance of two sets of rows
    Hausdorff(HausdorffArgs),
    /// Chamfer's distance of two sets of rows
    Chamfer(SetDistanceArgs),
    /// Silhouettes of labelled rows
    Silhouette(SilhouetteArgs),
    /// Variograms of values at places
    Variogram(VariogramArgs),
    /// Ripley's functions of points in a window
    Ripley(RipleyArgs),
    /// Which kinds of points occur together
    Cooccurrence(CooccurrenceArgs),
    /// Correlograms of spike trains
    Correlogram(CorrelogramArgs),
    /// Networks of rows that go together: correlations, mutual information, their significance
    Network(NetworkArgs),
    /// Fold the results of shards, or of the shares of a store, into one
    Merge(Merge),
    /// Cut a question into shares, in a folder that any number of workers see
    Plan(PlanShares),
    /// Work on the shares of a store
    Work(WorkShares),
    /// Say how far a store is
    Status(StatusOf),
    /// Say how a question would be answered: plan, memory, predicted time
    Explain {
        /// Also how the engine goes about it: tiles, hoisted parts, reasons
        #[arg(long, short)]
        verbose: bool,
        /// The question.
        #[command(subcommand)]
        what: Explained,
    },
    /// Write the kernels that would answer a question, readable and compilable by themselves; needs
    /// no GPU
    Emit {
        /// The device: cuda, opencl, an architecture (sm_80), or FILE.json with its facts, an entry
        /// of `devices --json`
        #[arg(long, default_value = "cuda")]
        target: String,
        /// The question; its -o names the file, without it standard output.
        #[command(subcommand)]
        what: Question,
    },
    /// Predict and measure the workloads that zipfold is held to, on this machine
    Bench(BenchArgs),
    /// The metrics: what each is, its range, whether it is a distance or a similarity, its options
    Metrics(crate::lists::Named),
    /// The functions, operators and names of formulas
    Functions(crate::lists::Named),
    /// The choices of `--set`, with their values
    Settings(crate::lists::Named),
    /// The file formats, and what each verb reads and writes
    Formats {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// The machine as zipfold sees it
    Devices {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Completions for a shell, on standard output
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Manual pages of all verbs, into a folder
    #[command(hide = true)]
    Man {
        /// The folder
        #[arg(value_hint = clap::ValueHint::DirPath)]
        folder: std::path::PathBuf,
    },
}

#[allow(clippy::large_enum_variant, reason = "made once, by the parser")]
/// What `explain` explains.
#[derive(Subcommand, Clone)]
pub(crate) enum Explained {
    /// A question about pairs.
    #[command(flatten)]
    Ask(Question),
    /// Exact inference on a discrete graphical model
    Infer(InferArgs),
    /// Radial distribution functions of a trajectory
    Rdf(RdfArgs),
    /// Counts of pairs of catalogues by separation, and correlation functions
    Paircount(PairCountArgs),
    /// Matches of two catalogues by position
    Crossmatch(CrossmatchArgs),
    /// Hausdorff's distance of two sets of rows
    Hausdorff(HausdorffArgs),
    /// Chamfer's distance of two sets of rows
    Chamfer(SetDistanceArgs),
    /// Silhouettes of labelled rows
    Silhouette(SilhouetteArgs),
    /// Variograms of values at places
    Variogram(VariogramArgs),
    /// Ripley's functions of points in a window
    Ripley(RipleyArgs),
    /// Which kinds of points occur together
    Cooccurrence(CooccurrenceArgs),
    /// Correlograms of spike trains
    Correlogram(CorrelogramArgs),
    /// Networks of rows that go together: correlations, mutual information, their significance
    Network(NetworkArgs),
}

/// A question about pairs.
#[derive(Subcommand, Clone)]
pub(crate) enum Question {
    /// The matrix of all pairs
    Dist(Dist),
    /// The k nearest rows of every row
    Knn(Knn),
    /// The k best pairs of all
    Top(Top),
    /// Counts of pairs by value
    Hist(Hist),
    /// One number per row, column, or in all
    Reduce(Reduce),
    /// The pairs of rows where a condition holds
    Join(Join),
    /// A problem from a file
    Run(RunFile),
}

/// Inputs and the pair.
#[derive(Args, Clone)]
#[command(next_help_heading = "Pair")]
pub(crate) struct PairArgs {
    /// Rows called x: a table (`zipfold formats` lists the formats), or - for standard input
    #[arg(help_heading = "Input", value_hint = clap::ValueHint::FilePath)]
    pub x: String,
    /// Rows called y; without them x is paired with itself
    #[arg(help_heading = "Input", value_hint = clap::ValueHint::FilePath)]
    pub y: Option<String>,
    /// Only these columns, by name or number from 0: x,y,z or 0-63 or 'gene*' or '!id'
    #[arg(long, value_delimiter = ',', help_heading = "Input")]
    pub columns: Option<Vec<String>>,
    /// Columns that name the rows: kept beside the results, left out of the numbers [default:
    /// columns of text, unless --columns chooses]
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "COLUMNS",
        help_heading = "Input"
    )]
    pub id: Option<Vec<String>>,
    /// Columns beside the coordinates, for formulas to read by name (x.charge); distances and boxes
    /// leave them out
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "COLUMNS",
        help_heading = "Input",
        hide_short_help = true
    )]
    pub attributes: Option<Vec<String>>,
    /// Whether the first row of a text is a header [default: found out from its cells]
    #[arg(long, value_name = "YES|NO", value_parser = ["yes", "no"], help_heading = "Input", hide_short_help = true)]
    pub header: Option<String>,
    /// What to do with NaN
    #[arg(long, value_name = "POLICY", default_value = "error", value_parser = ["error", "propagate", "skip"], help_heading = "Input")]
    pub nan: String,
    /// A named metric; `zipfold metrics` lists them [default: euclidean]
    #[arg(long, conflicts_with = "pair", value_parser = OneOf::metric(), hide_possible_values = true)]
    pub metric: Option<String>,
    /// A formula in x and y: 'sum(abs(x - y))', 'abs(x.price - y.price)'; `zipfold functions` lists
    /// what it may hold
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub pair: Option<String>,
    /// A value of the formula or option of the metric: h=0.5, w=1,2,3, VI=@vi.npy. Several values in
    /// one sweep, each with an answer: h=FROM:TO:COUNT, h=FROM:TO:COUNT:log, h=each:0.1,0.2,0.5
    #[arg(long = "param", value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub params: Vec<String>,
    /// Unit of angles, for haversine: rad or deg [default: rad]
    #[arg(long, value_parser = ["rad", "deg"], hide_short_help = true)]
    pub unit: Option<String>,
    /// A periodic box: LX,LY,LZ; or LX,LY,LZ,α,β,γ (degrees); or nine numbers, its three vectors;
    /// formulas use coordinates through differences 'x - y' alone
    #[arg(long = "box", value_name = "LENGTHS", allow_hyphen_values = true)]
    pub periodic_box: Option<String>,
    /// Only pairs of rows at most this far apart
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    pub cutoff: Option<f64>,
    /// A column of labels: the results of groups of rows are kept apart
    #[arg(long, value_name = "COLUMN")]
    pub by: Option<String>,
    /// A column of labels: the question is asked of the rows of each label alone, in one run, and
    /// the answers follow one another
    #[arg(long, value_name = "COLUMN", conflicts_with = "by")]
    pub batch: Option<String>,
    /// Only pairs of rows with the same key (same:COLUMN, block:COLUMN) or with another one
    /// (other:COLUMN); same and other alone are about the groups of --by. band:ROWS: with close
    /// numbers; window:COLUMN:WIDTH: with close values of a sorted column; earlier: j < i; joined
    /// by ' and '
    #[arg(long, value_name = "CONDITION")]
    pub within: Option<String>,
    /// Only the pairs in the rows of this table: a row of x and one of y (of x, without y), from 0;
    /// each as often as it is listed. `dist` gives the value of each, in their order
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub pairs: Option<String>,
    /// The columns of --pairs, by name or number from 0: that of rows of x, then that of rows of y
    #[arg(
        long,
        value_name = "X,Y",
        value_delimiter = ',',
        requires = "pairs",
        hide_short_help = true
    )]
    pub pairs_columns: Option<Vec<String>>,
    /// Each pair of --pairs counts for both of its rows, which are of one table
    #[arg(
        long,
        requires = "pairs",
        conflicts_with = "ordered",
        hide_short_help = true
    )]
    pub both_rows: bool,
    /// All (i, j), i ≠ j, where i < j alone is the default
    #[arg(long, hide_short_help = true)]
    pub ordered: bool,
    /// The type of matrices [default: that of the inputs]
    #[arg(long, value_parser = ["f32", "f64"], hide_short_help = true)]
    pub precision: Option<String>,
}

/// How to run and where to write.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunArgs {
    /// Output file; its extension selects the format, - is standard output
    #[arg(short = 'o', long = "output", value_name = "FILE", help_heading = "Output", value_hint = clap::ValueHint::FilePath)]
    pub output: Option<String>,
    /// A picture of the result, as SVG or PNG
    #[arg(long, value_name = "FILE", help_heading = "Output", value_hint = clap::ValueHint::FilePath)]
    pub plot: Option<String>,
    /// A page about the run, as HTML
    #[arg(long, value_name = "FILE.html", help_heading = "Output", hide_short_help = true, value_hint = clap::ValueHint::FilePath)]
    pub report: Option<String>,
    /// A machine-readable report on standard output
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Replace an existing output
    #[arg(long, help_heading = "Output")]
    pub force: bool,
    /// Reach the disk before success is reported
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    pub durable: bool,
    /// No progress, no summary
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,
    /// Threads [default: all]
    #[arg(long, default_value_t = 0, hide_default_value = true, value_parser = whole, help_heading = "Run", allow_negative_numbers = true)]
    pub threads: usize,
    /// Memory to stay within: 256MiB, 2GiB [default: 80 % of what is free]
    #[arg(
        long,
        value_name = "SIZE",
        help_heading = "Run",
        allow_hyphen_values = true
    )]
    pub memory: Option<String>,
    /// Where to run: auto, cpu, cuda or opencl (all GPUs of a runtime), cuda:1, cuda:0,1; `zipfold
    /// devices` lists them
    #[arg(long, default_value = "auto", value_name = "DEVICE", help_heading = "Run", value_parser = OneOf::device(), hide_possible_values = true)]
    pub device: String,
    /// Force a plan choice: isa=avx2, tile.rows=256; `zipfold settings` lists them
    #[arg(long = "set", value_name = "KEY=VALUE", help_heading = "Run", hide_short_help = true, value_parser = OneOf::setting(), hide_possible_values = true)]
    pub set: Vec<String>,
    /// One balanced shard of the work, to be merged: 1/8
    #[arg(long, value_name = "I/N", help_heading = "Run", hide_short_help = true)]
    pub shard: Option<String>,
    /// Go on after an interruption
    #[arg(long, help_heading = "Run")]
    pub resume: bool,
    /// Seconds between checkpoints
    #[arg(
        long,
        default_value_t = 10.0,
        value_name = "SECONDS",
        allow_negative_numbers = true,
        help_heading = "Run",
        hide_short_help = true
    )]
    pub checkpoint_every: f64,
}

impl RunArgs {
    /// How files are written.
    pub(crate) fn how_written(&self) -> OutputOptions {
        OutputOptions {
            force: self.force,
            durable: self.durable,
        }
    }
}

/// `dist`.
#[derive(Args, Clone)]
#[allow(missing_docs)]
pub(crate) struct Dist {
    #[command(flatten)]
    pub pair: PairArgs,
    /// The pair as a function in C, for a device: double pair(const double *x, const double *y, int
    /// d). Needs --run-code
    #[arg(long, value_name = "FILE.c", help_heading = "Pair", hide_short_help = true, conflicts_with_all = ["metric", "pair", "condensed", "periodic_box", "cutoff"])]
    pub pair_source: Option<String>,
    /// Run the code of --pair-source: it can read this machine's memory and never end
    #[arg(long, requires = "pair_source")]
    pub run_code: bool,
    /// SciPy's condensed order of i < j instead of the full matrix
    #[arg(long, help_heading = "Result")]
    pub condensed: bool,
    #[command(flatten)]
    pub run: RunArgs,
}

/// `knn`.
#[derive(Args, Clone)]
#[allow(missing_docs)]
pub(crate) struct Knn {
    #[command(flatten)]
    pub pair: PairArgs,
    /// Number of neighbours per row. Missing ones get index -1 and value NaN
    #[arg(short, default_value_t = 10, value_parser = whole, help_heading = "Result", allow_negative_numbers = true)]
    pub k: usize,
    /// The largest values instead of the smallest
    #[arg(long, help_heading = "Result")]
    pub largest: bool,
    #[command(flatten)]
    pub then: ThenArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

/// A second stage.
#[derive(Args, Clone)]
pub(crate) struct ThenArgs {
    /// What becomes of the results of rows: sum, mean, min, max, median or quantile:Q of them; of min
    /// and max with its row
    #[arg(long, value_name = "WHAT", help_heading = "Result")]
    pub then: Option<String>,
}

/// `top`.
#[derive(Args, Clone)]
#[allow(missing_docs)]
pub(crate) struct Top {
    #[command(flatten)]
    pub pair: PairArgs,
    /// Number of pairs
    #[arg(short, default_value_t = 10, value_parser = whole, help_heading = "Result", allow_negative_numbers = true)]
    pub k: usize,
    /// The largest values instead of the smallest
    #[arg(long, help_heading = "Result")]
    pub largest: bool,
    #[command(flatten)]
    pub run: RunArgs,
}

/// `hist`.
#[derive(Args, Clone)]
#[allow(missing_docs)]
pub(crate) struct Hist {
    #[command(flatten)]
    pub pair: PairArgs,
    /// Number of uniform bins
    #[arg(long, default_value_t = 100, value_parser = whole, help_heading = "Result", allow_negative_numbers = true)]
    pub bins: usize,
    /// First and last edge [default: the exact minimum and maximum]
    #[arg(long, num_args = 2, value_names = ["LO", "HI"], allow_hyphen_values = true, help_heading = "Result")]
    pub range: Option<Vec<f64>>,
    /// Edges from a file instead, one per row
    #[arg(long, value_name = "FILE", conflicts_with_all = ["range"], help_heading = "Result", value_hint = clap::ValueHint::FilePath)]
    pub edges: Option<String>,
    /// Half-open bins throughout, as Corrfunc's
    #[arg(long, help_heading = "Result")]
    pub half_open: bool,
    /// A column of weights: a pair weighs the product
    #[arg(long, value_name = "COLUMN", help_heading = "Result")]
    pub weights: Option<String>,
    /// A formula instead: what a pair weighs
    #[arg(
        long,
        value_name = "EXPR",
        allow_hyphen_values = true,
        conflicts_with = "weights",
        help_heading = "Result"
    )]
    pub weight: Option<String>,
    /// Also the mean value per bin
    #[arg(long, help_heading = "Result")]
    pub mean: bool,
    /// A formula whose values are kept by bin: 'gamma=(x.z - y.z)^2 / 2'
    #[arg(
        long = "value",
        value_name = "NAME=EXPR",
        allow_hyphen_values = true,
        help_heading = "Result"
    )]
    pub values: Vec<String>,
    /// What is kept of the values of each --value: sum, mean, variance, min, max
    #[arg(long, value_name = "WHAT,…", value_delimiter = ',', default_value = "mean", value_parser = ["sum", "mean", "variance", "min", "max"], help_heading = "Result")]
    pub keep: Vec<String>,
    #[command(flatten)]
    pub run: RunArgs,
}

/// `reduce`.
#[derive(Args, Clone)]
#[allow(missing_docs)]
pub(crate) struct Reduce {
    #[command(flatten)]
    pub pair: PairArgs,
    /// The operation
    #[arg(long, help_heading = "Result", value_parser = ["sum", "mean", "min", "max", "argmin", "argmax", "count", "logsumexp", "softmax", "median", "quantile"])]
    pub op: String,
    /// The quantiles of `--op quantile`, from 0 to 1: 0.1,0.5,0.9
    #[arg(
        long,
        value_name = "Q,…",
        value_delimiter = ',',
        help_heading = "Result"
    )]
    pub quantiles: Vec<f64>,
    /// Weights of the rows folded away: a file with one row each; a mean divides by their sum,
    /// column by column
    #[arg(long, value_name = "FILE", help_heading = "Result", value_hint = clap::ValueHint::FilePath)]
    pub weights: Option<String>,
    /// Results per row, per column, or one of all ordered pairs
    #[arg(long, default_value = "row", help_heading = "Result", value_parser = ["row", "column", "all"])]
    pub axis: String,
    /// Leave out i = j
    #[arg(long, help_heading = "Result")]
    pub no_diagonal: bool,
    #[command(flatten)]
    pub then: ThenArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

pub(crate) use crate::join_args::Join;

/// `run`.
#[derive(Args, Clone)]
#[allow(missing_docs)]
pub(crate) struct RunFile {
    /// A problem as TOML or JSON
    pub problem: String,
    #[command(flatten)]
    pub run: RunArgs,
}

/// `merge`.
#[derive(Args, Clone)]
#[allow(missing_docs)]
pub(crate) struct Merge {
    /// Partial results of all shards, or the folder of a store
    #[arg(required = true)]
    pub partials: Vec<String>,
    /// Merge the parts of a store that are there, although others are missing
    #[arg(long)]
    pub incomplete: bool,
    #[command(flatten)]
    pub run: RunArgs,
}

/// `plan`.
#[derive(Args, Clone)]
#[allow(missing_docs)]
pub(crate) struct PlanShares {
    /// A problem as TOML or JSON, over files that all workers see under one path
    #[arg(value_hint = clap::ValueHint::FilePath)]
    pub problem: String,
    /// The folder that becomes the store
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub store: String,
    /// Shares [default: of about two minutes, with results within a quarter of the memory]
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    pub shares: Option<usize>,
    /// Also write DIR/work.sbatch, an array of tasks for Slurm
    #[arg(long)]
    pub slurm: bool,
    /// The price of a worker for an hour, for a prediction of the cost
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub price: Option<f64>,
    #[command(flatten)]
    pub how: WorkerArgs,
}

/// `work`.
#[derive(Args, Clone)]
#[allow(missing_docs)]
pub(crate) struct WorkShares {
    /// The folder of the store
    #[arg(value_hint = clap::ValueHint::DirPath)]
    pub store: String,
    /// Only this share, by its number from 1
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true, conflicts_with = "next")]
    pub share: Option<usize>,
    /// Only the next share that nobody works on [default: shares until none is left]
    #[arg(long)]
    pub next: bool,
    #[command(flatten)]
    pub lease: LeaseArgs,
    /// Times that a share may fail before it is left alone
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    pub retries: usize,
    /// Seconds between checkpoints inside a share
    #[arg(
        long,
        default_value_t = 10.0,
        value_name = "SECONDS",
        allow_negative_numbers = true
    )]
    pub checkpoint_every: f64,
    /// No progress, no summary
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub how: WorkerArgs,
}

/// When a worker is lost.
#[derive(Args, Clone, Debug)]
#[allow(missing_docs)]
pub(crate) struct LeaseArgs {
    /// Seconds without a sign of life after which a worker is taken to be lost
    #[arg(
        long,
        default_value_t = 60.0,
        value_name = "SECONDS",
        allow_negative_numbers = true
    )]
    pub lease: f64,
}

/// How a worker runs.
#[derive(Args, Clone)]
#[command(next_help_heading = "Run")]
#[allow(missing_docs)]
pub(crate) struct WorkerArgs {
    /// Threads [default: all]
    #[arg(long, default_value_t = 0, hide_default_value = true, value_parser = whole, allow_negative_numbers = true)]
    pub threads: usize,
    /// Memory to stay within: 256MiB, 2GiB [default: 80 % of what is free]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub memory: Option<String>,
    /// Where to run, as `zipfold devices` lists it [default: cpu for a plan, the device of the plan for work]
    #[arg(long, value_name = "DEVICE", value_parser = OneOf::device(), hide_possible_values = true)]
    pub device: Option<String>,
    /// Force a plan choice: isa=avx2, tile.rows=256; `zipfold settings` lists them
    #[arg(long = "set", value_name = "KEY=VALUE", hide_short_help = true, value_parser = OneOf::setting(), hide_possible_values = true)]
    pub set: Vec<String>,
    /// A machine-readable report on standard output
    #[arg(long)]
    pub json: bool,
}

/// `status`.
#[derive(Args, Clone)]
#[allow(missing_docs)]
pub(crate) struct StatusOf {
    /// The folder of the store
    #[arg(value_hint = clap::ValueHint::DirPath)]
    pub store: String,
    #[command(flatten)]
    pub lease: LeaseArgs,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// `bench`.
#[derive(Args, Clone)]
pub(crate) struct BenchArgs {
    /// Only these workloads; of everything, only questions whose description holds these texts;
    /// sum-product for random buckets and networks, after it the sections wanted (buckets, cache,
    /// unrolling, hardware, overheads, networks; kernels by its name alone), or list for its random
    /// buckets as JSON lines
    pub names: Vec<String>,
    /// Small questions of every kind, each against its prediction and the questions beside it;
    /// seconds of one thread's processor
    #[arg(long)]
    pub everything: bool,
    /// Of everything, only predictions, without the questions beside
    #[arg(long, requires = "everything")]
    pub predictions: bool,
    /// Runs of each, of which the fastest counts
    #[arg(long, default_value_t = 5, value_parser = whole, allow_negative_numbers = true)]
    pub turns: usize,
    /// An object a line on standard output, as JSON
    #[arg(long)]
    pub json: bool,
    /// Matrices go to memory that is new to the process, not to memory that was written before
    #[arg(long)]
    pub fresh: bool,
    /// Threads [default: all]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub threads: usize,
    /// Force a plan choice: isa=avx2, prune=off
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = OneOf::setting(), hide_possible_values = true)]
    pub set: Vec<String>,
    /// Of sum-product, the device measured next to the processor
    #[arg(long, default_value = "cpu", value_name = "DEVICE", value_parser = OneOf::device(), hide_possible_values = true)]
    pub device: String,
    /// Of sum-product, a file of definitions for the random buckets
    #[arg(long, value_name = "FILE.toml", value_hint = clap::ValueHint::FilePath)]
    pub definition: Option<std::path::PathBuf>,
    /// Of sum-product, a network for the sections networks and kernels, once for each
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub network: Vec<std::path::PathBuf>,
    /// Of sum-product, how many random buckets [default: those of the definition]
    #[arg(long)]
    pub buckets: Option<usize>,
    /// Of sum-product, most operations of a bucket [default: those of the definition]
    #[arg(long)]
    pub operations: Option<f64>,
    /// Of sum-product, seconds after which nothing new begins
    #[arg(long, default_value_t = 420.0)]
    pub limit: f64,
}

/// Exact inference on a discrete graphical model.
#[derive(Args, Clone, Debug)]
pub(crate) struct InferArgs {
    /// The network: .uai, .erg, .bif, .xmlbif or .net, plain or .gz or .xz, or - for standard input
    #[arg(help_heading = "Input", value_hint = ValueHint::FilePath)]
    pub model: PathBuf,
    /// Evidence in the UAI format, or `name = state` lines
    #[arg(long, value_name = "FILE", help_heading = "Input", value_hint = ValueHint::FilePath)]
    pub evidence: Option<PathBuf>,
    /// One more observation (may be repeated)
    #[arg(long, value_name = "NAME=STATE", help_heading = "Input")]
    pub observe: Vec<String>,
    /// What is asked: pr is log10 of the partition function, mar the probabilities of all
    /// variables, map the most probable states (mmap: of some variables), sum the table of some
    /// variables, samples draws
    #[arg(long, default_value = "mar", help_heading = "Question", ignore_case = true,
        value_parser = ["pr", "mar", "map", "mpe", "mmap", "sum", "samples"])]
    pub task: String,
    /// Variables, by name or number from 0: those of mmap and sum; of mar only these
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "NAMES",
        help_heading = "Question"
    )]
    pub keep: Vec<String>,
    /// Number of samples
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = whole, allow_negative_numbers = true, help_heading = "Question")]
    pub samples: usize,
    /// Type of the tables
    #[arg(long, default_value = "f64", value_parser = ["f64", "f32"], help_heading = "Question")]
    pub precision: String,
    /// Seed of the order search and of samples
    #[arg(
        long,
        default_value_t = 1,
        value_name = "N",
        help_heading = "Question",
        hide_short_help = true
    )]
    pub seed: u64,
    /// The form of the answer [default: by the extension of -o; a table on a terminal, else uai]
    #[arg(long, value_parser = ["table", "uai", "csv", "tsv", "json"], help_heading = "Output")]
    pub format: Option<String>,
    /// Seconds for the order search [default: tied to the predicted execution]
    #[arg(
        long,
        value_name = "SECONDS",
        allow_negative_numbers = true,
        help_heading = "Run"
    )]
    pub order_time: Option<f64>,
    /// Predicted seconds beyond which the network is refused; seconds that a search for the most
    /// probable assignment takes instead [default: 120, none with --plan]
    #[arg(
        long,
        value_name = "SECONDS",
        allow_negative_numbers = true,
        help_heading = "Run"
    )]
    pub time_limit: Option<f64>,
    /// A folder where processes with the same command share out the slices of the plan: each ends
    /// with the answer
    #[arg(long, value_name = "DIR", help_heading = "Run", value_hint = ValueHint::DirPath)]
    pub store: Option<PathBuf>,
    /// Only plan: `zipfold work DIR` computes the shares, and `zipfold merge DIR` answers
    #[arg(long, help_heading = "Run", requires = "store", hide_short_help = true)]
    pub plan: bool,
    /// Shares of the plan [default: of about a minute]
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true, help_heading = "Run", requires = "plan", hide_short_help = true)]
    pub shares: Option<usize>,
    /// Also write DIR/work.sbatch, an array of tasks for Slurm
    #[arg(long, help_heading = "Run", requires = "plan", hide_short_help = true)]
    pub slurm: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub lease: LeaseArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub run: RunArgs,
}

impl InferArgs {
    /// Those of an answer that comes from the store in the folder `root`.
    pub(crate) fn of_store(root: &str, task: &str, run: &RunArgs) -> Self {
        InferArgs {
            model: root.into(),
            evidence: None,
            observe: vec![],
            task: task.into(),
            keep: vec![],
            samples: 1,
            precision: "f64".into(),
            seed: 1,
            format: None,
            order_time: None,
            time_limit: None,
            store: None,
            plan: false,
            shares: None,
            slurm: false,
            lease: LeaseArgs { lease: 60.0 },
            run: run.clone(),
        }
    }
}

/// Radial distribution functions of a trajectory.
#[derive(Args, Clone, Debug)]
pub(crate) struct RdfArgs {
    /// The trajectory: .xyz, .gro, .pdb, .dcd or .xtc; or a description of the question, .toml or
    /// .json, with the options as keys
    #[arg(help_heading = "Input", value_hint = ValueHint::FilePath)]
    pub trajectory: String,
    /// A file that names the atoms of a .dcd or .xtc: .pdb, .gro or .xyz
    #[arg(long, value_name = "FILE", help_heading = "Input", value_hint = ValueHint::FilePath)]
    pub topology: Option<String>,
    /// Frames from 0 on, the end not included: 100:, :50, ::10, 3
    #[arg(
        long,
        value_name = "FIRST:END:STEP",
        help_heading = "Input",
        allow_hyphen_values = true
    )]
    pub frames: Option<String>,
    /// A periodic box for all frames: LX,LY,LZ; or LX,LY,LZ,α,β,γ (degrees); or nine numbers, its
    /// three vectors [default: those of the frames]
    #[arg(
        long = "box",
        value_name = "LENGTHS",
        help_heading = "Input",
        allow_hyphen_values = true
    )]
    pub periodic_box: Option<String>,
    /// The density of the atoms of --to, for frames without a box [default: that of the box]
    #[arg(
        long,
        value_name = "RHO",
        help_heading = "Input",
        allow_negative_numbers = true
    )]
    pub density: Option<f64>,
    /// The atoms that distances are from: 'resname SOL and name OW', 'element O N', 'index 0-99',
    /// 'not (chain A or resid 5-9)' [default: all]
    #[arg(long, value_name = "ATOMS", help_heading = "Question")]
    pub select: Option<String>,
    /// The atoms that distances are to [default: those of --select]
    #[arg(long, value_name = "ATOMS", help_heading = "Question")]
    pub to: Option<String>,
    /// All pairs of kinds of the selected atoms in one run: by element, name or residue
    #[arg(long, value_name = "KIND", num_args = 0..=1, default_missing_value = "element", value_parser = ["element", "name", "residue"], help_heading = "Question")]
    pub partials: Option<String>,
    /// First and last edge [default: 0 to nine tenths of what minimum images allow]
    #[arg(long, num_args = 2, value_names = ["LO", "HI"], allow_hyphen_values = true, help_heading = "Question")]
    pub range: Option<Vec<f64>>,
    /// Number of bins [default: 100]
    #[arg(long, value_parser = whole, help_heading = "Question", allow_negative_numbers = true)]
    pub bins: Option<usize>,
    /// Structure factors S(k) by the formula of Debye in place of g(r): first and last wave number,
    /// how many
    #[arg(long, num_args = 3, value_names = ["FIRST", "LAST", "COUNT"], conflicts_with = "range", allow_hyphen_values = true, help_heading = "Question")]
    pub debye: Option<Vec<f64>>,
    /// Leave out pairs within a residue, within a molecule (what bonds connect), or of a bond
    #[arg(long, value_parser = ["none", "residue", "molecule", "bonds"], help_heading = "Question")]
    pub exclude: Option<String>,
    /// A table of bonds: the indices of two atoms a line, from 0 [default: CONECT of the topology]
    #[arg(long, value_name = "FILE", help_heading = "Question", value_hint = ValueHint::FilePath)]
    pub bonds: Option<String>,
    /// Distances in the plane of x and y
    #[arg(long = "2d", help_heading = "Question")]
    pub flat: bool,
    /// Whose rules: those of the definition, or of a program [default: plain]
    #[arg(long, value_parser = ["plain", "gromacs", "mdanalysis", "freud", "cpptraj"], help_heading = "Question")]
    pub convention: Option<String>,
    /// The unit of lengths [default: that of the file, or of the program whose rules are taken]
    #[arg(long, value_parser = ["A", "nm"], help_heading = "Question")]
    pub unit: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub run: RunArgs,
}
