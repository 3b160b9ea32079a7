//! What is asked: times, units, lags; and the question about them.

use super::answer::{Correlograms, LagUnits};
use crate::marked::{answered, input, labelled, numbers, refuse_odd, side_by_side};
use crate::one_table::TableQuestion;
use crate::options::Options;
use crate::query::Query;
use crate::saved;
use crate::tables::SideTable;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use zipfold_core::budget::Reservation;
use zipfold_core::fold::Closed;
use zipfold_core::problem::{AxisSpec, FoldSpec, PairSpec, Problem};
use zipfold_core::{Data, Domain, Error, Message, Opt, Result, Table};

/// The attribute that has the number of the unit of a spike.
const UNIT: &str = "unit";
/// The most lines of an answer.
const MOST_LINES: usize = 100_000_000;

/// Correlograms of spike trains, as a question. Its TOML has the same keys.
///
/// Errors: `Request` for columns that there are not, lags that are none, and more bins than an answer
/// holds; `Input` for times that are not finite and spikes without a unit; `Resource` beyond the
/// budget.
///
/// ```
/// use zipfold::internals::one_table::TableQuestion;
/// use zipfold::{Options, Table};
/// use zipfold::internals::correlogram::Correlogram;
/// let names = ["time", "unit"].map(String::from).to_vec();
/// let spikes = Table::f64(4, 2, vec![0.0, 1.0, 0.9, 2.0, 5.0, 1.0, 6.1, 2.0])?.with_names(names)?;
/// let asked = Correlogram { max: 1.5, bins: 3, ..Correlogram::new("spikes") };
/// let answer = asked.of_table(spikes, &Options::default())?;
/// assert_eq!(answer.units, ["1", "2"]);
/// assert_eq!(answer.counts(0, 1), [0, 0, 2]); // unit 2 follows unit 1 after about 1
/// assert_eq!(answer.counts(1, 0), [2, 0, 0]);
/// # Ok::<(), zipfold::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Correlogram {
    /// The table, a row for each spike.
    pub data: String,
    /// The column of times.
    #[serde(default = "time")]
    pub time: String,
    /// The column of units, text or numbers; `unit` by default.
    #[serde(default)]
    pub units: Option<String>,
    /// All spikes are of one unit.
    #[serde(default)]
    pub single: bool,
    /// The largest lag, in the unit of the times.
    #[serde(default = "tenth")]
    pub max: f64,
    /// The number of bins from the least to the largest lag.
    #[serde(default = "bins")]
    pub bins: usize,
    /// What the values are.
    #[serde(default)]
    pub normalise: LagUnits,
    /// Whether the first row of a text is its header; found out from its cells when not said.
    #[serde(default)]
    pub header: Option<bool>,
}

fn time() -> String {
    "time".into()
}
fn tenth() -> f64 {
    0.1
}
fn bins() -> usize {
    101
}

/// Spikes as the engine takes them.
struct Spikes {
    units: Vec<String>,
    sizes: Vec<u64>,
    span: f64,
    table: Table,
    /// What the answer holds of the budget.
    _held: Reservation,
}

impl Correlogram {
    /// Correlograms of all pairs of units in `data`, by columns `time` and `unit`, up to lags of 0.1.
    pub fn new(data: impl Into<String>) -> Correlogram {
        Correlogram {
            data: data.into(),
            time: time(),
            units: None,
            single: false,
            max: tenth(),
            bins: bins(),
            normalise: LagUnits::Count,
            header: None,
        }
    }
    /// Refuses what means nothing, before a file is opened.
    fn check(&self) -> Result<()> {
        if !(self.max.is_finite() && self.max > 0.0) {
            let what = format!("expected a largest lag above 0, got {}", self.max);
            let e = Error::request(what).at_place(Opt::Max);
            return Err(e.remedy(Opt::Max.to(tenth())));
        }
        if self.single && self.units.is_some() {
            let what = format!(
                "expected one unit or a column of units, got {} too",
                Opt::Single
            );
            let e = Error::request(what).at_place(Opt::Units);
            return Err(e.remedy(format!("leave out {}", Opt::Single)));
        }
        let some = self.bins > 0 && self.bins < MOST_LINES;
        // Edges are told apart one after another: their memory is not requested yet.
        let together = |at: i64| self.edge(at) >= self.edge(at + 1);
        if !some || (0..self.bins as i64).any(together) {
            let what = format!(
                "expected 1 bin or more, apart from each other, got {}",
                self.bins
            );
            let e = Error::request(what).at_place(Opt::Bins);
            return Err(e.remedy(Opt::Bins.to(bins())));
        }
        Ok(())
    }
    /// An edge of the lags: they are symmetric about 0, which an odd number of bins has in the middle of
    /// one.
    fn edge(&self, at: i64) -> f64 {
        let bins = self.bins as i64;
        let at = 2 * at - bins;
        match at.abs() == bins {
            true => self.max * at.signum() as f64,
            false => at as f64 * self.max / bins as f64,
        }
    }
    fn edges(&self) -> Vec<f64> {
        (0..=self.bins as i64).map(|at| self.edge(at)).collect()
    }
    /// The column of units, where there are several.
    fn unit_column(&self) -> Option<String> {
        let column = || self.units.clone().unwrap_or_else(|| UNIT.to_string());
        (!self.single).then(column)
    }
    /// The error for a column of units that is not there: nobody named the one by default.
    fn without_units(&self, e: Error) -> Error {
        match self.units {
            Some(_) => e,
            None => e.remedy(format!(
                "{} where all spikes are of one unit, or {}",
                Opt::Single,
                Opt::Units.like("COLUMN")
            )),
        }
    }
    /// The spikes of a table.
    fn spikes(&self, side: &SideTable, options: &Options<'_>) -> Result<Spikes> {
        // Times, codes, the codes as numbers, and the labels that codes are found by.
        let row = 8 + 4 + 8 + if self.single { 0 } else { 32 };
        let bytes = (side.rows() as u64).saturating_mul(row);
        let _columns = options.budget.reserve(bytes, "the columns of spikes")?;
        let times = numbers(side, &self.time, Opt::Time)?;
        refuse_odd(&times, "times", &side.name)?;
        let (units, codes) = match self.unit_column() {
            Some(column) => {
                side.column(&column, Opt::Units)
                    .map_err(|e| self.without_units(e))?;
                labelled(side, &column, Opt::Units)?
            }
            None => (vec!["all".to_string()], vec![0; side.rows()]),
        };
        if times.len() < 2 {
            let what = format!("expected two spikes or more, got {}", times.len());
            let e = Error::input(what).at_place(side.name.clone());
            return Err(e.remedy("a table with a row for each spike"));
        }
        let lines = units.len().saturating_mul(units.len());
        if lines.saturating_mul(self.bins) > MOST_LINES {
            let what = format!("{} bins of {lines} pairs of units", self.bins);
            let e = Error::request(what).at_place(Opt::Bins);
            return Err(e
                .limit(format!("{MOST_LINES} in all"))
                .remedy("fewer bins or units"));
        }
        // Edges thrice, and by line counts in both orders, values, and the columns of a file.
        let bytes = 24 * (self.bins as u64 + 1) + 72 * (lines * self.bins) as u64;
        let held = options.budget.reserve(bytes, "the correlograms")?;
        let mut sizes = vec![0; units.len()];
        codes.iter().for_each(|code| sizes[*code as usize] += 1);
        let span = span(&times, &side.name)?;
        let own = [(self.time.clone(), times)];
        let marks = [(
            UNIT.to_string(),
            codes.iter().map(|c| f64::from(*c)).collect(),
        )];
        let marks = side_by_side(&marks, &options.budget, "the units of spikes")?;
        let table = side_by_side(&own, &options.budget, "the times of spikes")?;
        Ok(Spikes {
            units,
            sizes,
            span,
            table: table.with_attributes(marks)?,
            _held: held,
        })
    }
    /// The question: lags by both units, of every ordered pair. Units come first, as in the answer.
    fn question(&self, spikes: &Spikes) -> (Problem, Data) {
        let numbered = (0..=spikes.units.len()).map(|unit| unit as f64);
        let units: Vec<f64> = numbered.collect();
        let axis = |value: &str, edges: Vec<f64>| AxisSpec {
            value: Some(value.to_string()),
            edges: Some(edges),
            ..AxisSpec::default()
        };
        let fold = FoldSpec::Histogram {
            axes: vec![
                axis(&format!("x.{UNIT}"), units.clone()),
                axis(&format!("y.{UNIT}"), units),
                axis("y[0] - x[0]", self.edges()),
            ],
            closed: Closed::HalfOpen,
            weights: None,
            mean: false,
            weight: None,
            values: BTreeMap::new(),
        };
        let pair = PairSpec {
            metric: Some("euclidean".into()),
            ..PairSpec::default()
        };
        let problem = Problem {
            domain: Some(Domain::Ordered),
            ..Problem::new(input(&self.data), pair, vec![fold])
        };
        let data = Data {
            pairs: None,
            x: spikes.table.clone(),
            y: None,
            weights: vec![None],
        };
        (problem, data)
    }
}

/// The time from the first spike to the last.
fn span(times: &[f64], name: &str) -> Result<f64> {
    let ends = |(lo, hi): (f64, f64), t: &f64| (lo.min(*t), hi.max(*t));
    let (lo, hi) = times.iter().fold((f64::INFINITY, f64::NEG_INFINITY), ends);
    if (hi - lo).is_finite() {
        return Ok(hi - lo);
    }
    let what = format!("expected times whose differences are finite, got {lo} and {hi}");
    let e = Error::input(what).at_place(name);
    Err(e.remedy("times in a larger unit"))
}

impl TableQuestion for Correlogram {
    type Answer = Correlograms;
    fn name(&self) -> &str {
        &self.data
    }
    fn read(&self, options: &Options<'_>) -> Result<SideTable> {
        self.check()?;
        let needed = [self.time.clone()].into_iter().chain(self.unit_column());
        SideTable::read(
            &self.data,
            self.header,
            (Some(needed.collect()), None),
            &options.budget,
        )
    }
    fn explain_side(&self, side: &SideTable, options: &Options<'_>) -> Result<Message> {
        self.check()?;
        let spikes = self.spikes(side, options)?;
        let (problem, data) = self.question(&spikes);
        let plan = Query::new(&problem, &data, options).explain()?.text(false);
        let text = format!(
            "correlogram {} spikes of {} units, {} bins to a lag of {}\n\n{}",
            side.rows(),
            spikes.units.len(),
            self.bins,
            self.max,
            plan.marked().trim_end()
        );
        Ok(Message::from(text))
    }
    fn of_side(&self, side: &SideTable, options: &Options<'_>) -> Result<Self::Answer> {
        self.check()?;
        saved::whole(options, "one run of the whole question, with more threads")?;
        let spikes = self.spikes(side, options)?;
        let pairs = spikes.units.len() * spikes.units.len();
        let (problem, data) = self.question(&spikes);
        let answer = Query::new(&problem, &data, options).run()?;
        let columns = answer
            .columns(0)?
            .ok_or_else(|| Error::internal("a histogram gave no counts"))?;
        let counts = answered(&columns, "counts")?;
        if counts.len() != self.bins * pairs {
            return Err(Error::internal("counts of other lags and units"));
        }
        Ok(Correlograms {
            edges: self.edges(),
            units: spikes.units,
            spikes: spikes.sizes,
            span: spikes.span,
            normalise: self.normalise,
            all_counts: counts.into_iter().map(|n| n as u64).collect(),
            pairs: answer.outcome.pairs,
        })
    }
}
