//! Ripley's functions: from weighted pairs by distance to K, L and g, with envelopes.
//!
//! ```text
//! e(i, j)   none, periodic   1
//!           translation      Π side / (side - |x_i - x_j|)
//!           isotropic        2π / the angle of the circle around i through j that is in the window
//!           border           only i with b_i ≥ r, b_i the distance of i to the nearest side
//! K(r) = V / (n_a n_b) · Σ e(i, j)                    d(i, j) < r; of one kind n (n - 1)
//!        border: V / n_b · #{b_i ≥ r, d < r} / #{b_i ≥ r}
//! g = ΔK / Δ(volume of the ball)      L = the radius of the ball that has the volume K
//! ```
//!
//! The part of a circle outside of a rectangle is an arc of 2 acos(gap / d) for each side that is
//! nearer than d; arcs of two sides that meet overlap beyond a quarter turn in all.

use super::answer::{RipleyAnswer, RipleyCurve};
use super::asked::{Correction, NullModel, Ripley};
use super::counts::{PairQuestion, PairsByKind};
use super::shape::{AskedPoints, HeldPoints, INSIDE, PointMarks, PointSet, SIDES, ball};
use crate::one_table::TableQuestion;
use crate::options::Options;
use crate::saved;
use crate::tables::SideTable;
use std::f64::consts::PI;
use zipfold_core::{Error, Message, Opt, Random, Result};

/// The smallest length that something is divided by.
const TINY: &str = "1e-300";

impl Ripley {
    fn points(&self, side: &SideTable, options: &Options<'_>) -> Result<HeldPoints> {
        self.check()?;
        let asked = AskedPoints {
            columns: self.columns.as_deref(),
            kinds: self.by.as_ref().map(|by| (by, Opt::By)),
            window: self.window.as_deref(),
        };
        let (points, held) = PointSet::read(side, asked, &options.budget)?;
        if self.correction == Correction::Isotropic && points.positions.len() != 2 {
            let what = format!(
                "expected two columns of positions for the isotropic correction, got {}",
                points.positions.len()
            );
            let e = Error::request(what).at_place(Opt::Correction);
            return Err(e.remedy(Opt::Correction.to("translation")));
        }
        Ok((points, held))
    }
    /// The question about the pairs of points in a window.
    fn question<'a>(&'a self, points: &PointSet, edges: &'a [f64]) -> PairQuestion<'a> {
        let sides = points.sides();
        let mut question = PairQuestion {
            name: &self.data,
            edges,
            beside: None,
            weight: None,
            periodic: None,
            ordered: false,
            wanted: PointMarks::default(),
        };
        match self.correction {
            Correction::None => {}
            Correction::Periodic => question.periodic = Some(sides),
            Correction::Translation => {
                let part = |(axis, side): (usize, &f64)| {
                    format!("(1 - abs(x[{axis}] - y[{axis}]) / {side:?})")
                };
                let parts: Vec<String> = sides.iter().enumerate().map(part).collect();
                question.weight = Some(format!("1 / ({})", parts.join(" * ")));
            }
            Correction::Isotropic => {
                question.ordered = true;
                question.wanted.sides = true;
                question.weight = Some(in_rectangle());
            }
            Correction::Border => {
                question.ordered = true;
                question.wanted.inside = true;
                // The last bin has all points that are farther from the edge than any distance.
                let far = sides
                    .iter()
                    .copied()
                    .fold(edges[edges.len() - 1] * 2.0, f64::max);
                let gaps = edges.iter().copied().chain([far * 2.0]).collect();
                question.beside = Some((format!("x.{INSIDE}"), gaps));
            }
        }
        question
    }
    /// The functions of counted pairs, from each kind to each.
    fn curves(&self, points: &PointSet, edges: &[f64], counted: &PairsByKind) -> Vec<RipleyCurve> {
        let (kinds, bins) = (points.kinds.len(), edges.len() - 1);
        let wide = counted.counts.len() / (kinds * kinds);
        let frame = RipleyScale {
            axes: points.positions.len(),
            volume: points.sides().iter().product(),
            edges,
            sizes: points.sizes(),
        };
        let far = match self.correction {
            Correction::Border => points.far_inside(edges),
            _ => vec![],
        };
        let curve = |pair: usize| {
            let both = [pair / kinds, pair % kinds];
            let lines = pair * wide..(pair + 1) * wide;
            let (counts, sums) = (&counted.counts[lines.clone()], &counted.sums[lines]);
            let (counts, k, shells) = match self.correction {
                Correction::Border => frame.border(both, counts, &far[both[0]]),
                _ => frame.weighted(both, counts, sums),
            };
            let g = (0..bins)
                .map(|bin| shells[bin] / frame.shell(bin))
                .collect();
            RipleyCurve::new([both[0], both[1]], counts, k, g, frame.axes)
        };
        (0..kinds * kinds).map(curve).collect()
    }
}

impl Ripley {
    /// Widens the envelopes of `curves` by those of simulations; the pairs that were visited.
    fn simulate(
        &self,
        points: &PointSet,
        edges: &[f64],
        curves: &mut [RipleyCurve],
        ask: impl Fn(&PointSet) -> Result<PairsByKind>,
    ) -> Result<u64> {
        if self.simulations > 0 && self.null == Some(NullModel::Labels) && points.kinds.len() < 2 {
            let what = "expected points of two kinds or more, whose order is changed, got one kind";
            let e = Error::input(what).at_place(Opt::By);
            return Err(e.remedy("simulations of points at random"));
        }
        let (mut random, mut pairs) = (Random::new(self.seed.unwrap_or(0)), 0);
        for _ in 0..self.simulations {
            let simulated = match self.null.unwrap_or_default() {
                NullModel::Points => points.scattered(&mut random),
                NullModel::Labels => points.relabelled(&mut random),
            };
            let counted = ask(&simulated)?;
            pairs += counted.visited;
            let others = self.curves(&simulated, edges, &counted);
            let both = curves.iter_mut().zip(&others);
            both.for_each(|(curve, other)| curve.widen(other));
        }
        Ok(pairs)
    }
}

impl TableQuestion for Ripley {
    type Answer = RipleyAnswer;
    fn name(&self) -> &str {
        &self.data
    }
    fn read(&self, options: &Options<'_>) -> Result<SideTable> {
        self.check()?;
        let needed = self.columns.as_ref().map(|columns| {
            let more = self.by.iter().filter(|by| !columns.contains(by));
            columns.iter().chain(more).cloned().collect()
        });
        SideTable::read(&self.data, self.header, (needed, None), &options.budget)
    }
    fn explain_side(&self, side: &SideTable, options: &Options<'_>) -> Result<Message> {
        let (points, _held) = self.points(side, options)?;
        let edges = self.edges(&points.sides())?;
        let plan = self.question(&points, &edges).explain(&points, options)?;
        let text = format!(
            "ripley    {} points of {} kinds in {} axes, correction {}, {} simulations\n\n{}",
            points.len(),
            points.kinds.len(),
            points.positions.len(),
            self.correction.name(),
            self.simulations,
            plan.marked().trim_end()
        );
        Ok(Message::from(text))
    }
    fn of_side(&self, side: &SideTable, options: &Options<'_>) -> Result<Self::Answer> {
        saved::whole(options, "one run of the whole question, with more threads")?;
        let (points, _held) = self.points(side, options)?;
        let edges = self.edges(&points.sides())?;
        let question = self.question(&points, &edges);
        let counted = question.counted(&points, options)?;
        let mut curves = self.curves(&points, &edges, &counted);
        let ask = |simulated: &PointSet| question.counted(simulated, options);
        let pairs = counted.visited + self.simulate(&points, &edges, &mut curves, ask)?;
        let axes = points.positions.len();
        Ok(RipleyAnswer {
            theory: edges[1..].iter().map(|r| ball(*r, axes)).collect(),
            sizes: points.sizes(),
            kinds: points.kinds,
            window: points.window,
            edges,
            curves,
            correction: self.correction,
            simulations: self.simulations as u64,
            pairs,
        })
    }
}

/// What the functions of a window have in common.
struct RipleyScale<'a> {
    axes: usize,
    volume: f64,
    edges: &'a [f64],
    sizes: Vec<u64>,
}

/// Pairs by bin, K at the upper edge of each, and how much of K is in each.
type Summed = (Vec<u64>, Vec<f64>, Vec<f64>);

impl RipleyScale<'_> {
    /// The volume between two edges.
    fn shell(&self, bin: usize) -> f64 {
        ball(self.edges[bin + 1], self.axes) - ball(self.edges[bin], self.axes)
    }
    /// K of sums of weights by bin.
    fn weighted(&self, [a, b]: [usize; 2], counts: &[u64], sums: &[f64]) -> Summed {
        let others = self.sizes[b] - u64::from(a == b);
        let scale = self.volume / (self.sizes[a] as f64 * others as f64);
        let mut sum = 0.0;
        let k = sums.iter().map(|weight| {
            sum += weight;
            scale * sum
        });
        let shells = sums.iter().map(|weight| scale * weight).collect();
        (counts.to_vec(), k.collect(), shells)
    }
    /// K of counts by distance and by the gap to the edge of the first point; `far` has how many
    /// points have at least the gap of each edge.
    fn border(&self, [a, b]: [usize; 2], counts: &[u64], far: &[u64]) -> Summed {
        let bins = self.edges.len() - 1;
        let gaps = bins + 1;
        let mut behind = counts.to_vec();
        for line in behind.chunks_exact_mut(gaps) {
            let mut sum = 0;
            for count in line.iter_mut().rev() {
                sum += *count;
                *count = sum;
            }
        }
        let from = |bin: usize, first: usize| behind[bin * gaps + first];
        // A point alone has no pairs, so nothing is known of it.
        let others = match self.sizes[b] - u64::from(a == b) {
            0 => f64::NAN,
            _ => self.sizes[b] as f64,
        };
        let scale = |bin: usize| self.volume / (others * far[bin + 1] as f64);
        let within = |bin: usize| (0..=bin).map(|d| from(d, bin + 1)).sum::<u64>();
        let k = (0..bins)
            .map(|bin| scale(bin) * within(bin) as f64)
            .collect();
        let shells = (0..bins).map(|bin| scale(bin) * from(bin, bin + 1) as f64);
        (
            (0..bins).map(|bin| from(bin, 0)).collect(),
            k,
            shells.collect(),
        )
    }
}

impl PointSet {
    /// By kind, how many points have at least the distance of each edge to the nearest side.
    fn far_inside(&self, edges: &[f64]) -> Vec<Vec<u64>> {
        let mut all = vec![vec![0; edges.len()]; self.kinds.len()];
        for (code, gap) in self.codes.iter().zip(self.inside()) {
            let reached = edges.partition_point(|edge| *edge <= gap);
            all[*code as usize][..reached]
                .iter_mut()
                .for_each(|n| *n += 1);
        }
        all
    }
}

/// The formula of 2π over the angle of a circle that is in a rectangle.
fn in_rectangle() -> String {
    let arc = |side: &str| format!("acos(min(x.{side} / max(norm(x - y), {TINY}), 1))");
    let [[left, right], [below, above]] = SIDES;
    let outside = [left, right, below, above].map(|side| format!("2 * {}", arc(side)));
    let corner = |a: &str, b: &str| format!("max({} + {} - {:?}, 0)", arc(a), arc(b), PI / 2.0);
    let twice = [
        corner(left, below),
        corner(left, above),
        corner(right, below),
        corner(right, above),
    ];
    format!(
        "{:?} / ({:?} - ({}) + ({}))",
        2.0 * PI,
        2.0 * PI,
        outside.join(" + "),
        twice.join(" + ")
    )
}
