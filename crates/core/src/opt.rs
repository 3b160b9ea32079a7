//! The options of a request, as messages name them.
//!
//! A library does not know how its caller writes an option: the command has `--nan skip`, Python
//! has `nan="skip"`, a problem file has `nan = "skip"`. So a message holds a *mark* for an option,
//! and whoever shows the message puts the option into words ([`crate::message`]).
//!
//! A mark is the option's key between characters that Unicode reserves for use inside programs
//! (U+FDD0 to U+FDD3), so it travels inside ordinary strings and cannot be confused with text that
//! people write.

use std::fmt;

/// The characters of a mark. Unicode keeps them for use inside a program, so no text that people
/// write has them. Four, because a value may hold any character of a request between them.
const OPEN: char = '\u{fdd0}';
const VALUE: char = '\u{fdd1}';
const LIKE: char = '\u{fdd2}';
const CLOSE: char = '\u{fdd3}';

// One table for the enum, its keys and its list, so that an option cannot be missing from one of
// them.
macro_rules! opts {
    ($($opt:ident = $key:literal, $about:literal;)+) => {
        /// An option that messages name. Its text is a mark, which belongs in a message and nowhere
        /// else.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Opt {
            $(#[doc = $about] $opt,)+
        }

        impl Opt {
            /// All of them.
            pub const ALL: &[Opt] = &[$(Opt::$opt),+];

            /// Its key in a problem file, or its field in the library.
            pub fn key(self) -> &'static str {
                match self {
                    $(Opt::$opt => $key,)+
                }
            }
        }
    };
}

opts! {
    Attributes = "attributes", "Columns beside the coordinates.";
    Bins = "bins", "The number of bins of a histogram.";
    Bonds = "bonds", "A file of bonded atoms.";
    Box = "box", "A periodic box.";
    By = "by", "The column of the groups of rows.";
    Columns = "columns", "The columns that are read.";
    Columns2 = "columns2", "The columns of positions of a second table.";
    Cutoff = "cutoff", "The largest distance of a pair.";
    Cut = "cut", "The second value of a pair that must be in a range.";
    Data = "data2", "A second catalogue.";
    Debye = "debye", "The wave numbers of a structure factor.";
    Density = "density", "The density of atoms.";
    Direction = "direction", "Whose rows have their distances to the rows of the other side.";
    Device = "device", "Where the run computes.";
    Batch = "batch", "The column of batches, each of which is asked alone.";
    Devices = "zipfold::devices::list", "No option: the list of the devices there are, which every interface has.";
    Domain = "domain", "Which pairs are visited.";
    Edges = "edges", "The edges of a histogram.";
    EdgesOfBins = "edges_of_bins", "The edges of the bins of a job, where they are not at equal distances.";
    Estimator = "estimator", "How counts of pairs make a correlation function.";
    Exclude = "exclude", "The pairs of atoms that are left out.";
    Fdr = "fdr", "The false discovery rate of edges.";
    FitWeights = "fit_weights", "What a lag weighs in a fit.";
    Force = "force", "An existing output is replaced.";
    Frames = "frames", "The frames of a trajectory.";
    Ids = "ids", "The columns that name rows.";
    Incomplete = "incomplete", "A store is merged although shares are missing.";
    K = "k", "The number of neighbours of a row.";
    Measure = "measure", "What two rows have in common.";
    Memory = "memory", "The memory that a run stays within.";
    Metric = "metric", "A pair by its name.";
    MinPeriods = "min_periods", "The fewest samples that two rows have in common.";
    Mu = "mu", "The number of bins of the cosine with the line of sight.";
    Multipoles = "multipoles", "The multipoles of a correlation function.";
    Nan = "nan", "What happens to NaN.";
    Order = "order", "The order of splines.";
    OrderTime = "order_seconds", "The time for the search of an order of variables.";
    Output = "output", "Where the answer goes.";
    Pair = "formula", "A pair by its formula.";
    Pairs = "pairs", "The pairs that a question lists.";
    PairSource = "pair source", "A pair by its source in C.";
    Param = "params", "A value of a formula, or an option of a metric.";
    Partials = "partials", "The kinds of atoms that are told apart.";
    Plot = "plot", "A picture of the answer.";
    Permutations = "permutations", "The number of permutations of samples.";
    Pi = "pi", "The largest distance along the line of sight, and its bins.";
    Pip = "pip", "Columns of realisations.";
    Positions = "positions", "The columns of positions.";
    Power = "power", "The power of weights.";
    Powers = "powers", "The powers that are fitted.";
    Precision = "precision", "The type of values.";
    Prune = "prune", "The tolerance of the data processing inequality.";
    Randoms = "randoms", "Points without structure.";
    Range = "range", "The first and the last edge of a histogram.";
    Regions = "regions", "Regions that are resampled.";
    Report = "report", "A page about the answer.";
    Resume = "resume", "An interrupted run goes on.";
    Samples = "samples", "The number of samples of a network.";
    Select = "select", "The atoms that distances are from; the columns of an output.";
    Set = "overrides", "A choice of the plan.";
    Share = "share", "A share of a store, by its number.";
    Shares = "shares", "Into how many shares a question is cut.";
    Store = "store", "The folder of a question that is worked on in shares.";
    Shifted = "shifted", "Randoms that were moved with the data.";
    Sight = "los", "The line of sight.";
    Threads = "threads", "The number of threads.";
    Threshold = "threshold", "The least value of an edge.";
    TimeLimit = "time_limit", "The predicted time beyond which a run is refused.";
    To = "to", "The atoms that distances are to.";
    Top = "top", "The number of best edges of a row.";
    Topology = "topology", "A file that names atoms.";
    Weights = "weights", "The weights of rows.";
    Where = "where", "The condition of a join.";
    Within = "within", "The condition on the keys and places of the rows of a pair.";
    Azimuth = "azimuth", "Directions of pairs.";
    Bandwidth = "bandwidth", "The largest distance of a pair from the line of a direction.";
    Correction = "correction", "How the edge of a window is accounted for.";
    Find = "find", "Which rows of a catalogue are matched.";
    Kind = "join_kind", "What becomes of the matches of a join.";
    Labels = "labels", "The column of the labels of rows.";
    Lags = "lags", "The number of lags of a variogram.";
    Log = "log", "Whether edges have equal ratios.";
    Max = "max", "The largest distance of pairs.";
    Models = "models", "Models that are fitted to a variogram.";
    Nearest = "nearest", "How many nearest rows are matched.";
    Normalise = "normalise", "What the values of a correlogram are.";
    Null = "null", "What a simulation has at random.";
    On = "on", "The columns whose values are equal.";
    Quantile = "quantile", "Which of the distances of rows is the answer.";
    Radius = "radius", "The largest separation of a match.";
    Seed = "seed", "The seed of simulations.";
    Simulations = "simulations", "The number of simulations.";
    Single = "single", "All spikes are of one unit.";
    Ties = "ties", "What happens to rows as near as the last.";
    Time = "time", "The column of times.";
    Then = "then", "What becomes of the results of rows.";
    Tolerance = "tolerance", "The largest angle between a pair and a direction.";
    Units = "units", "The column of the units of spikes.";
    Value = "value", "The column of values.";
    Window = "window", "The box that points are observed in.";
    WithinDistance = "within_distance", "The largest value of a nearest row.";
}

/// What a message says about the value of an option.
///
/// The difference matters to interfaces: a value is quoted as they write it, and words stay as they
/// are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given<'a> {
    /// Nothing: it names the option.
    Nothing,
    /// This value, letter by letter.
    Value(&'a str),
    /// Words that stand for a value, such as `LO HI`.
    Like(&'a str),
}

impl Opt {
    /// Returns the mark of the option with `value`.
    ///
    /// For remedies that can be copied: `--nan skip`.
    pub fn to(self, value: impl fmt::Display) -> String {
        format!("{OPEN}{}{VALUE}{value}{CLOSE}", self.key())
    }
    /// Returns the mark of the option with words that represent a value, such as `LO HI`.
    ///
    /// Such a remedy shows a form and cannot be copied.
    pub fn like(self, words: impl fmt::Display) -> String {
        format!("{OPEN}{}{LIKE}{words}{CLOSE}", self.key())
    }
}

// So that an option goes into `format!` like a word, and its mark is not forgotten.
impl fmt::Display for Opt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{OPEN}{}{CLOSE}", self.key())
    }
}

impl From<Opt> for String {
    fn from(opt: Opt) -> String {
        opt.to_string()
    }
}

/// Returns whether `c` is a character of marks. Tests look for them in texts that are shown.
///
/// A mark that reaches a reader is a defect: somebody formatted a message as a plain text.
pub fn is_mark(c: char) -> bool {
    matches!(c, OPEN | VALUE | LIKE | CLOSE)
}

/// Returns `text` with `words` in place of every mark. What only looks like a mark stays.
///
/// `shown` writes these characters as escapes, so nothing passes to a terminal as it is.
pub fn unmarked(text: &str, words: impl Fn(Opt, Given<'_>) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, (opt, given), after)) = next_mark(rest) {
        out.push_str(before);
        out.push_str(&words(opt, given));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Finds the first mark of `text`, with the text before and after it.
fn next_mark(text: &str) -> Option<(&str, (Opt, Given<'_>), &str)> {
    text.match_indices(OPEN).find_map(|(at, _)| {
        let inside = &text[at + OPEN.len_utf8()..];
        let (mark, after) = inside.split_once(CLOSE)?;
        let (key, given) = match mark.split_once(VALUE) {
            Some((key, value)) => (key, Given::Value(value)),
            None => mark
                .split_once(LIKE)
                .map_or((mark, Given::Nothing), |(key, words)| {
                    (key, Given::Like(words))
                }),
        };
        // An unknown key: characters of a hostile file, not a mark.
        let opt = Opt::ALL.iter().find(|opt| opt.key() == key)?;
        Some((&text[..at], (*opt, given), after))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare(opt: Opt, given: Given<'_>) -> String {
        format!("<{} {given:?}>", opt.key())
    }

    #[test]
    fn marks_become_words_and_only_marks() {
        let text = format!(
            "give {}, {} or {}",
            Opt::Range.like("LO HI"),
            Opt::Nan.to("skip"),
            Opt::K
        );
        let said = unmarked(&text, bare);
        assert_eq!(
            said,
            r#"give <range Like("LO HI")>, <nan Value("skip")> or <k Nothing>"#
        );
        for text in [
            "",
            "plain",
            "\u{fdd0}",
            "\u{fdd0}odd\u{fdd3}",
            "\u{fdd3}a\u{fdd0}range",
        ] {
            assert_eq!(unmarked(text, bare), text);
        }
        assert_eq!(
            unmarked(&format!("\u{fdd0}{}", Opt::K), bare),
            "\u{fdd0}<k Nothing>"
        );
    }

    #[test]
    fn every_option_has_a_key_of_its_own() {
        for (at, opt) in Opt::ALL.iter().enumerate() {
            assert!(
                Opt::ALL[..at].iter().all(|other| other.key() != opt.key()),
                "{opt:?}"
            );
            assert_eq!(
                unmarked(&opt.to(1), bare),
                format!("<{} Value(\"1\")>", opt.key())
            );
        }
    }
}
