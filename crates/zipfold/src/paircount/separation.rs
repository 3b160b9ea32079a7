//! Separations as formulas of the engine: what each axis bins, and its edges.
//!
//! ```text
//! r        |x − y|                                       a metric: the fastest kernels
//! theta    |x − y| of unit vectors, edges 2 sin(θ / 2)   the same
//! rp, pi   d = x − y, l the line of sight: π = |d·l| / |l|, rp = √(d² − π²)
//! s, mu    s = |d|, μ = |d·l| / (|d| |l|), 0 where d or l is 0
//! ```
//!
//! Of the z axis rp is the distance in the plane. With d·(x + y) for the midpoint, as Corrfunc's
//! mocks have it. |l| and |d| are kept away from 0, so that no quotient is NaN.

use super::asked::{PairCount, Pip, Separation, Sight};
use super::catalogue::{BITS, WEIGHT};
use std::f64::consts::PI;
use zipfold_core::problem::AxisSpec;
use zipfold_core::{Budget, Error, Opt, PeriodicBox, Result};
use zipfold_io::{ReadOptions, read_table};

/// The smallest length that something is divided by.
const TINY: &str = "1e-300";

impl PairCount {
    /// The axes of the histogram, for these edges in the units of the answer.
    pub(super) fn axes(&self, edges: &[Vec<f64>]) -> Vec<AxisSpec> {
        let formulas: Vec<Option<String>> = match self.separation {
            Separation::R | Separation::Theta => vec![None],
            Separation::RpPi => {
                let [across, along] = self.across_and_along();
                vec![Some(across), Some(along)]
            }
            Separation::Smu => vec![None, Some(self.cosine())],
        };
        let mut axes: Vec<AxisSpec> = formulas
            .into_iter()
            .zip(edges)
            .map(|(value, edges)| AxisSpec {
                value,
                edges: Some(self.compared(edges)),
                ..AxisSpec::default()
            })
            .collect();
        if let Some(cut) = &self.cut {
            axes.push(AxisSpec {
                value: Some(cut.value.clone()),
                edges: Some(cut.range.to_vec()),
                ..AxisSpec::default()
            });
        }
        axes
    }
    /// Edges in what is computed: of angles, lengths of chords.
    fn compared(&self, edges: &[f64]) -> Vec<f64> {
        match self.separation {
            Separation::Theta => edges.iter().map(|angle| chord(*angle)).collect(),
            Separation::R | Separation::RpPi | Separation::Smu => edges.to_vec(),
        }
    }
    /// Formulas of rp and π.
    fn across_and_along(&self) -> [String; 2] {
        if self.los == Sight::Z {
            return ["norm(x[0:2] - y[0:2])".into(), "abs(x[2] - y[2])".into()];
        }
        let [product, length] = self.sight();
        let along = format!("abs({product}) / max({length}, {TINY})");
        let across = format!("sqrt(max(sum((x - y)^2) - ({along})^2, 0))");
        [across, along]
    }
    /// The formula of μ.
    fn cosine(&self) -> String {
        match self.los {
            Sight::Z => format!("min(abs(x[2] - y[2]) / max(norm(x - y), {TINY}), 1)"),
            Sight::Midpoint | Sight::First | Sight::Bisector => {
                let [product, length] = self.sight();
                format!("min(abs({product}) / max(norm(x - y) * {length}, {TINY}), 1)")
            }
        }
    }
    /// Formulas of d·l and |l|.
    fn sight(&self) -> [String; 2] {
        let toward = |row: &str| format!("{row} / max(norm({row}), {TINY})");
        let line = match self.los {
            Sight::Z | Sight::Midpoint => "x + y".to_string(),
            Sight::First => "x".to_string(),
            Sight::Bisector => format!("{} + {}", toward("x"), toward("y")),
        };
        [format!("sum((x - y) * ({line}))"), format!("norm({line})")]
    }
    /// The formula of the weight of a pair of data, where it is a formula and not the product of the weights of rows.
    pub(super) fn pair_weight(&self, budget: &Budget) -> Result<Option<String>> {
        let mut factors: Vec<String> = vec![];
        if self.weighs_by_formula() && self.weights.is_some() {
            factors.push(format!("x.{WEIGHT} * y.{WEIGHT}"));
        }
        factors.extend(self.pip.as_ref().map(inverse_probability).transpose()?);
        if let Some(path) = &self.upweights {
            factors.push(self.upweight(path, budget)?);
        }
        Ok((!factors.is_empty()).then(|| factors.join(" * ")))
    }
    /// The formula of a weight by the angle between two points.
    fn upweight(&self, path: &str, budget: &Budget) -> Result<String> {
        let lines = lines_of_weights(path, budget)?;
        let toward = |row: &str| match self.separation {
            Separation::Theta => row.to_string(),
            Separation::R | Separation::RpPi | Separation::Smu => {
                format!("{row} / max(norm({row}), {TINY})")
            }
        };
        let half = format!("min(norm({} - {}) / 2, 1)", toward("x"), toward("y"));
        let angle = format!("(2 * asin({half}) * {:?})", 180.0 / PI);
        Ok(format!("({})", between(&lines, &angle)))
    }
    /// The share of all pairs of a periodic box in each bin, of points without structure.
    pub(super) fn expected(&self, edges: &[Vec<f64>], dims: usize) -> Result<Option<Vec<f64>>> {
        let Some(numbers) = &self.periodic_box else {
            return Ok(None);
        };
        let volume = PeriodicBox::try_from(numbers.clone())?.volume();
        let shells: Vec<f64> = edges[0]
            .windows(2)
            .map(|e| match (self.separation, dims) {
                (Separation::RpPi, _) | (_, 2) => PI * (e[1] - e[0]) * (e[1] + e[0]),
                (_, 1) => 2.0 * (e[1] - e[0]),
                _ => 4.0 / 3.0 * PI * (e[1] - e[0]) * (e[1] * e[1] + e[1] * e[0] + e[0] * e[0]),
            })
            .collect();
        let along = |e: &[f64]| match self.separation {
            Separation::RpPi => 2.0 * (e[1] - e[0]),
            Separation::R | Separation::Smu | Separation::Theta => e[1].min(1.0) - e[0],
        };
        let shares = shells.iter().flat_map(|shell| match edges.get(1) {
            Some(second) => second
                .windows(2)
                .map(|e| shell * along(e) / volume)
                .collect(),
            None => vec![shell / volume],
        });
        Ok(Some(shares.collect()))
    }
    /// Refuses separations that minimum images do not give.
    pub(super) fn check_box(&self, edges: &[Vec<f64>], dims: usize) -> Result<()> {
        let Some(numbers) = &self.periodic_box else {
            return Ok(());
        };
        if numbers.len() != dims {
            let what = format!("expected a box of {dims} lengths, got {}", numbers.len());
            return Err(Error::request(what)
                .at_place(Opt::Box)
                .remedy(Opt::Box.like(["L", "LX,LY", "LX,LY,LZ"][dims.min(3) - 1])));
        }
        let cell = PeriodicBox::try_from(numbers.clone())?;
        let lengths = cell.lengths();
        let last = |axis: usize| {
            edges
                .get(axis)
                .and_then(|e| e.last())
                .copied()
                .unwrap_or(0.0)
        };
        let half = |range: &[f64]| range.iter().fold(f64::INFINITY, |a, b| a.min(*b)) / 2.0;
        let limits: Vec<(f64, f64, Opt)> = match self.separation {
            Separation::RpPi => vec![
                (last(0), half(&lengths[..2]), Opt::Range),
                (last(1), half(&lengths[2..]), Opt::Pi),
            ],
            Separation::R | Separation::Smu | Separation::Theta => {
                vec![(last(0), half(lengths), Opt::Range)]
            }
        };
        for (last, limit, place) in limits {
            if last > limit {
                let what = format!("expected separations within half of the box, got up to {last}");
                return Err(Error::request(what)
                    .at_place(place)
                    .limit(format!("{limit}"))
                    .remedy("a smaller last edge, or a larger box"));
            }
        }
        Ok(())
    }
}

/// Angles and weights of a file.
fn lines_of_weights(path: &str, budget: &Budget) -> Result<Vec<[f64; 2]>> {
    let table = read_table(path, &ReadOptions::default(), budget)?;
    let lines: Vec<[f64; 2]> = (0..table.rows())
        .filter(|_| table.cols() == 2)
        .map(|row| [0, 1].map(|k| table.get(row, k)))
        .collect();
    let ascend = lines.windows(2).all(|l| l[0][0] < l[1][0]);
    let fine = lines.iter().flatten().all(|v| v.is_finite() && *v >= 0.0);
    if lines.is_empty() || lines.len() > 512 || !ascend || !fine {
        let what =
            "expected 1 to 512 lines of an angle and a weight from 0 on, the angles ascending";
        return Err(Error::input(what)
            .at_place(path)
            .remedy("a table of two columns: degrees, weight"));
    }
    Ok(lines)
}

/// The formula of pairwise inverse probabilities.
fn inverse_probability(pip: &Pip) -> Result<String> {
    let ones = |at: usize| format!("popcount(x.{BITS}{at} & y.{BITS}{at})");
    let ones: Vec<String> = (0..pip.columns.len()).map(ones).collect();
    let under = format!("({:?} + {})", pip.offset, ones.join(" + "));
    let numbers = [pip.realisations, pip.offset, pip.none];
    let fine = numbers.iter().all(|v| v.is_finite() && *v >= 0.0);
    if !fine || pip.columns.is_empty() {
        let what = "expected columns of bits, and numbers from 0 on";
        return Err(Error::request(what)
            .at_place(Opt::Pip)
            .remedy(Opt::Pip.like("a,b")));
    }
    Ok(format!(
        "if({under} > 0, {:?} / {under}, {:?})",
        pip.realisations, pip.none
    ))
}

/// The length of the chord of an angle in degrees on the unit sphere.
pub(super) fn chord(angle: f64) -> f64 {
    2.0 * (angle.to_radians() / 2.0).sin()
}

/// A formula that is linear between `lines`, and has the weights of the ends beyond; a tree of
/// choices, so that its depth is small.
fn between(lines: &[[f64; 2]], angle: &str) -> String {
    match lines {
        [] => "1".into(),
        [[_, weight]] => format!("{weight:?}"),
        [[a, u], [b, v]] => {
            let slope = (v - u) / (b - a);
            let (low, high) = (u.min(*v), u.max(*v));
            format!("min(max({u:?} + ({angle} - {a:?}) * ({slope:?}), {low:?}), {high:?})")
        }
        _ => {
            let middle = lines.len() / 2;
            let (low, high) = (&lines[..=middle], &lines[middle..]);
            format!(
                "if({angle} < {:?}, {}, {})",
                lines[middle][0],
                between(low, angle),
                between(high, angle)
            )
        }
    }
}
