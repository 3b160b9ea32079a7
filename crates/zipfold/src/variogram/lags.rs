//! Sums by lag: the question about the pairs of a direction, and what estimators make of its answer.
//!
//! ```text
//! all pairs           axis |x − y|, counts; Σ |x − y|, Σ f                 f: a formula for each estimator
//! of a direction u    the same axis; Σ c, Σ c |x − y|, Σ c f               c: 1 in the direction, else 0
//!                     a = |(x − y)·u|, p = the distance of x − y from the line of u
//!                     c: p ≤ a tan(tolerance) and p ≤ bandwidth
//! ```
//!
//! A pair at distance 0 has p = a = 0 and so belongs to every direction. Positions are attributes too,
//! since kernels that sum formulas in column grids read numbers of rows.

use super::asked::{LagEstimator, Variogram};
use crate::marked::{
    answered, input, leaves_out, numbers, position_columns, refuse_odd, refuse_squares,
    side_by_side,
};
use crate::options::Options;
use crate::query::Query;
use crate::tables::SideTable;
use std::collections::BTreeMap;
use std::f64::consts::FRAC_1_SQRT_2;
use zipfold_core::fold::{BinStatistic, BinValueSpec, Closed};
use zipfold_core::problem::{AxisSpec, FoldSpec, PairSpec, Problem};
use zipfold_core::{Budget, Data, Domain, Error, Message, Opt, Result, Table};

/// The attributes that have the positions of a row.
const PLACE: [&str; 3] = ["place_1", "place_2", "place_3"];
/// The attributes that have its values, and those without the mean of all rows.
const VALUE: [&str; 2] = ["value_1", "value_2"];
const CENTRED: [&str; 2] = ["centred_1", "centred_2"];
/// The sums of every question.
const PAIRS: &str = "pairs";
const DISTANCE: &str = "distance";

/// What an angle or a width may be beyond its limit, as a part of it: on a grid many pairs are at the
/// limit, and rounding would keep some of them.
const ROUNDED: f64 = 1e-12;

/// The sine and the cosine of an angle in degrees: exact where they are 0 or 1, and the same for
/// equal angles of all quadrants.
fn turned(degrees: f64) -> [f64; 2] {
    let turn = degrees.rem_euclid(360.0);
    let (half, turn) = if turn >= 180.0 {
        (-1.0, turn - 180.0)
    } else {
        (1.0, turn)
    };
    let (ahead, turn) = if turn > 90.0 {
        (-1.0, 180.0 - turn)
    } else {
        (1.0, turn)
    };
    let [sine, cosine] = match turn {
        0.0 => [0.0, 1.0],
        90.0 => [1.0, 0.0],
        45.0 => [FRAC_1_SQRT_2; 2],
        turn => [turn.to_radians().sin(), turn.to_radians().cos()],
    };
    [half * sine, half * ahead * cosine]
}

/// Positions with values.
pub(super) struct ValuedPlaces {
    table: Table,
    /// Number of axes.
    pub(super) axes: usize,
    /// Length of the diagonal of all positions.
    pub(super) diagonal: f64,
    /// The variance of each value, over n.
    pub(super) variances: Vec<f64>,
    /// Rows that were left out.
    pub(super) left_out: u64,
}

impl ValuedPlaces {
    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.table.rows()
    }
}

/// A sum that a question asks for, and what it makes.
pub(super) struct WantedSum {
    /// What the sums are called.
    key: String,
    /// Of all pairs, without a direction.
    formula: String,
    /// What curves are called.
    pub(super) name: String,
    pub(super) estimator: LagEstimator,
    /// Whether it is of two different values.
    pub(super) is_cross: bool,
}

impl WantedSum {
    /// Whether values far apart give more than near ones, as the models do.
    pub(super) fn rises(&self) -> bool {
        self.estimator != LagEstimator::Covariance
    }
}

/// Pairs of a direction by lag.
pub(super) struct LagSums {
    /// Pairs.
    pub(super) counts: Vec<u64>,
    /// The mean distance of pairs; NaN without.
    pub(super) distances: Vec<f64>,
    /// By wanted sum, the estimator of each lag; NaN without pairs.
    pub(super) estimates: Vec<Vec<f64>>,
    /// Pairs that were visited.
    pub(super) visited: u64,
}

impl Variogram {
    /// Positions and values of a table.
    pub(super) fn places(&self, side: &SideTable, budget: &Budget) -> Result<ValuedPlaces> {
        let names = position_columns(side, self.columns.as_deref(), &self.value)?;
        // Columns, and the same without their means or as attributes, until the table is made.
        let columns = 2 * (names.len() + self.value.len()) as u64;
        let bytes = (side.rows() as u64).saturating_mul(columns * 8);
        let _held = budget.reserve(bytes, "the columns of places")?;
        let read = |name: &String| numbers(side, name, Opt::Positions);
        let mut positions = names.iter().map(read).collect::<Result<Vec<_>>>()?;
        let read = |name: &String| numbers(side, name, Opt::Value);
        let mut values = self.value.iter().map(read).collect::<Result<Vec<_>>>()?;
        let all = side.rows();
        if leaves_out(self.nan)? {
            let keep: Vec<bool> = (0..all)
                .map(|row| values.iter().all(|column| !column[row].is_nan()))
                .collect();
            let pick = |column: &mut Vec<f64>| {
                let mut keep = keep.iter();
                column.retain(|_| *keep.next().unwrap_or(&true));
            };
            positions.iter_mut().chain(&mut values).for_each(pick);
        }
        for column in &positions {
            refuse_odd(column, "positions", &side.name)?;
        }
        for column in &values {
            refuse_odd(column, "values", &side.name)?;
        }
        let rows = values[0].len();
        if rows < 2 {
            let what = format!("expected at least two rows with values, got {rows}");
            let e = Error::input(what).at_place(side.name.clone());
            return Err(e.remedy("a table with more places"));
        }
        if names.len() == 1 && !self.azimuth.is_empty() {
            let what = "expected two or three columns of positions for a direction, got one";
            return Err(Error::request(what)
                .at_place(Opt::Azimuth)
                .remedy(Opt::Positions.like("x,y")));
        }
        self.placed((positions, values), (all - rows) as u64, budget)
    }
    /// The table of a question.
    fn placed(
        &self,
        (positions, values): (Vec<Vec<f64>>, Vec<Vec<f64>>),
        left_out: u64,
        budget: &Budget,
    ) -> Result<ValuedPlaces> {
        let diagonal = diagonal(&positions, &self.data)?;
        let (axes, rows) = (positions.len(), values[0].len() as f64);
        let mean = |column: &[f64]| column.iter().sum::<f64>() / rows;
        let centred: Vec<Vec<f64>> = values
            .iter()
            .map(|column| {
                let mean = mean(column);
                column.iter().map(|v| v - mean).collect()
            })
            .collect();
        let square = |column: &Vec<f64>| column.iter().map(|v| v * v).sum::<f64>() / rows;
        let variances: Vec<f64> = centred.iter().map(square).collect();
        if !variances.iter().all(|v| v.is_finite()) {
            return Err(self.too_large());
        }
        let named = |names: &[&str], columns: Vec<Vec<f64>>| {
            let names = names.iter().map(|name| name.to_string());
            names.zip(columns).collect::<Vec<(String, Vec<f64>)>>()
        };
        let mut beside = named(&VALUE, values);
        if self.estimator.contains(&LagEstimator::Covariance) {
            beside.extend(named(&CENTRED, centred));
        }
        let own = named(&PLACE, positions);
        if !self.azimuth.is_empty() {
            beside.extend(own.iter().cloned());
        }
        let attributes = side_by_side(&beside, budget, "the values of places")?;
        let own: Vec<(String, Vec<f64>)> = own
            .into_iter()
            .zip(["x", "y", "z"])
            .map(|((_, column), name)| (name.to_string(), column))
            .collect();
        let table = side_by_side(&own, budget, "positions")?.with_attributes(attributes)?;
        Ok(ValuedPlaces {
            table,
            axes,
            diagonal,
            variances,
            left_out,
        })
    }
    /// The sums that the estimators need.
    pub(super) fn wanted(&self) -> Vec<WantedSum> {
        let mut all = vec![];
        for estimator in &self.estimator {
            for (at, value) in self.value.iter().enumerate() {
                let name = match self.value.len() {
                    1 => estimator.name().to_string(),
                    _ => format!("{} {value}", estimator.name()),
                };
                let formula = of_value(*estimator, at);
                all.push((name, formula, *estimator, false));
            }
            if let ([a, b], Some(formula)) = (self.value.as_slice(), of_both(*estimator)) {
                let name = format!("{} {a}*{b}", estimator.name());
                all.push((name, formula, *estimator, true));
            }
        }
        let numbered = all.into_iter().enumerate();
        numbered
            .map(|(at, (name, formula, estimator, is_cross))| WantedSum {
                key: format!("sum_{at}"),
                formula,
                name,
                estimator,
                is_cross,
            })
            .collect()
    }
    /// Values without an estimate.
    fn too_large(&self) -> Error {
        let what = "expected values whose squared differences have a finite sum";
        let e = Error::input(what).at_place(self.data.clone());
        e.remedy("values in a larger unit")
    }
    /// The formula that is 1 for pairs in a direction, else 0.
    fn condition(&self, azimuth: f64, axes: usize) -> String {
        let [east, north, up] = PLACE.map(|place| format!("(x.{place} - y.{place})"));
        let ([s, c], [down, level]) = (turned(azimuth), turned(self.dip()));
        let (s, c) = (s * level, c * level);
        let (along, across) = match axes {
            2 => (
                format!("abs({east} * {s:?} + {north} * {c:?})"),
                format!("abs({east} * {c:?} - {north} * {s:?})"),
            ),
            _ => {
                let down = -down;
                let along = format!("abs({east} * {s:?} + {north} * {c:?} + {up} * {down:?})");
                let across = format!("sqrt(max({east}^2 + {north}^2 + {up}^2 - {along}^2, 0))");
                (along, across)
            }
        };
        let mut conditions = vec![];
        if self.tolerance() < 90.0 {
            let slope = self.tolerance().to_radians().tan() * (1.0 + ROUNDED);
            conditions.push(format!("{across} <= {along} * {slope:?}"));
        }
        if let Some(bandwidth) = self.bandwidth.filter(|b| b.is_finite()) {
            let width = bandwidth * (1.0 + ROUNDED);
            conditions.push(format!("{across} <= {width:?}"));
        }
        match conditions.is_empty() {
            true => "1".to_string(),
            false => format!("if({}, 1, 0)", conditions.join(" and ")),
        }
    }
    /// The question about the pairs of a direction, or about all pairs, and its table.
    fn question(
        &self,
        places: &ValuedPlaces,
        edges: &[f64],
        azimuth: Option<f64>,
    ) -> Result<(Problem, Data)> {
        if azimuth.is_some() && places.axes == 2 && self.dip() != 0.0 {
            let what = "expected three columns of positions for a dip, got two";
            return Err(Error::request(what)
                .at_place(Opt::Azimuth)
                .remedy(Opt::Positions.like("x,y,z")));
        }
        let condition = azimuth.map(|azimuth| self.condition(azimuth, places.axes));
        let sum = |formula: &str| BinValueSpec {
            formula: match &condition {
                Some(condition) => format!("{condition} * ({formula})"),
                None => formula.to_string(),
            },
            keep: vec![BinStatistic::Sum],
        };
        let mut values = BTreeMap::new();
        values.insert(DISTANCE.to_string(), sum("norm(x - y)"));
        if condition.is_some() {
            values.insert(PAIRS.to_string(), sum("1"));
        }
        for wanted in self.wanted() {
            values.insert(wanted.key.clone(), sum(&wanted.formula));
        }
        let fold = FoldSpec::Histogram {
            axes: vec![AxisSpec {
                edges: Some(edges.to_vec()),
                ..AxisSpec::default()
            }],
            closed: Closed::Last,
            weights: None,
            mean: false,
            weight: None,
            values,
        };
        let pair = PairSpec {
            metric: Some("euclidean".into()),
            ..PairSpec::default()
        };
        let problem = Problem {
            domain: Some(Domain::Triangle),
            ..Problem::new(input(&self.data), pair, vec![fold])
        };
        let data = Data {
            pairs: None,
            x: places.table.clone(),
            y: None,
            weights: vec![None],
        };
        Ok((problem, data))
    }
    /// The pairs of a direction, or all pairs, by lag.
    pub(super) fn summed(
        &self,
        places: &ValuedPlaces,
        edges: &[f64],
        azimuth: Option<f64>,
        options: &Options<'_>,
    ) -> Result<LagSums> {
        let (problem, data) = self.question(places, edges, azimuth)?;
        let answer = Query::new(&problem, &data, options).run()?;
        let columns = answer
            .columns(0)?
            .ok_or_else(|| Error::internal("a histogram gave no counts"))?;
        let named = |key: &str| answered(&columns, &format!("{key}.sum"));
        let counts: Vec<u64> = match azimuth {
            // A sum of ones is exact, and below 2⁵³.
            Some(_) => named(PAIRS)?.iter().map(|n| *n as u64).collect(),
            None => answered(&columns, "counts")?
                .iter()
                .map(|n| *n as u64)
                .collect(),
        };
        let mean = |sums: Vec<f64>| -> Vec<f64> {
            let both = sums.iter().zip(&counts);
            both.map(|(sum, n)| sum / *n as f64).collect()
        };
        let estimates = self.wanted().into_iter().map(|wanted| {
            let means = mean(named(&wanted.key)?);
            let both = means.iter().zip(&counts);
            let all: Vec<f64> = both
                .map(|(m, n)| finished(wanted.estimator, *m, *n))
                .collect();
            let fine = |(value, n): (&f64, &u64)| *n == 0 || value.is_finite();
            match all.iter().zip(&counts).all(fine) {
                true => Ok(all),
                false => Err(self.too_large()),
            }
        });
        Ok(LagSums {
            distances: mean(named(DISTANCE)?),
            estimates: estimates.collect::<Result<_>>()?,
            counts,
            visited: answer.outcome.pairs,
        })
    }
    /// The plan of a direction, or of all pairs.
    pub(super) fn explain_direction(
        &self,
        places: &ValuedPlaces,
        edges: &[f64],
        azimuth: Option<f64>,
        options: &Options<'_>,
    ) -> Result<Message> {
        let (problem, data) = self.question(places, edges, azimuth)?;
        Ok(Query::new(&problem, &data, options).explain()?.text(false))
    }
}

/// The length of the diagonal of the box of all positions.
fn diagonal(positions: &[Vec<f64>], name: &str) -> Result<f64> {
    let extent = |column: &Vec<f64>| {
        let ends = |(lo, hi): (f64, f64), v: &f64| (lo.min(*v), hi.max(*v));
        let (lo, hi) = column.iter().fold((f64::INFINITY, f64::NEG_INFINITY), ends);
        hi - lo
    };
    let sides: Vec<f64> = positions.iter().map(extent).collect();
    refuse_squares(&sides, name)?;
    Ok(sides.iter().map(|s| s * s).sum::<f64>().sqrt())
}

/// What an estimator makes of the mean of its terms over n pairs.
fn finished(estimator: LagEstimator, mean: f64, n: u64) -> f64 {
    match estimator {
        LagEstimator::Matheron | LagEstimator::Madogram | LagEstimator::Covariance => mean,
        LagEstimator::Cressie => {
            let n = n as f64;
            0.5 * (mean * mean) * (mean * mean) / (0.457 + 0.494 / n + 0.045 / (n * n))
        }
    }
}

/// The term of a pair for one value.
fn of_value(estimator: LagEstimator, at: usize) -> String {
    let (value, centred) = (VALUE[at], CENTRED[at]);
    match estimator {
        LagEstimator::Matheron => format!("(x.{value} - y.{value})^2 / 2"),
        LagEstimator::Cressie => format!("sqrt(abs(x.{value} - y.{value}))"),
        LagEstimator::Madogram => format!("abs(x.{value} - y.{value}) / 2"),
        LagEstimator::Covariance => format!("x.{centred} * y.{centred}"),
    }
}

/// The term of a pair for two values, where the estimator has one.
fn of_both(estimator: LagEstimator) -> Option<String> {
    let ([a, b], [p, q]) = (VALUE, CENTRED);
    match estimator {
        // The product of two differences, so written that half of the pairs are seen to stand for all.
        LagEstimator::Matheron => Some(format!(
            "if(x.{a} > y.{a} and x.{b} > y.{b} or x.{a} < y.{a} and x.{b} < y.{b}, 0.5, -0.5) \
             * (abs(x.{a} - y.{a}) * abs(x.{b} - y.{b}))"
        )),
        LagEstimator::Covariance => Some(format!("(x.{p} * y.{q} + x.{q} * y.{p}) / 2")),
        LagEstimator::Cressie | LagEstimator::Madogram => None,
    }
}
