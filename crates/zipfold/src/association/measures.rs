//! Values of pairs, a strip of rows at a time.
//!
//! ```text
//! complete rows     pearson, spearman, bicor: products of prepared rows, a question of the engine
//! rows with gaps    sums, ranks or medians over the common samples of a pair     kernels/pairwise
//! kendall, mi       always by pair                                               kernels/pairwise
//! ```

use super::asked::{Association, Measure};
use super::expression::Expression;
use super::tails::{Evidence, Tails};
use crate::options::Options;
use crate::outcome::Output;
use crate::pool::within;
use crate::query::Query;
use rayon::prelude::*;
use std::ops::Range;
use zipfold_core::problem::{FoldSpec, Input, PairSpec, Problem};
use zipfold_core::{Data, Error, Opt, Result, Table};
use zipfold_cpu::kernels::pairwise::{
    Balance, BiweightRows, ConcordanceRows, Isa, Line, MomentRows, RankRows, SplineRows, Values,
};
use zipfold_cpu::pairs::reductions::isa as isa_of_plan;
use zipfold_gpu::DeviceSelector;

/// Bytes that the values of a strip aim at.
const STRIP: usize = 64 << 20;
/// Rows of a strip at least, where there are as many.
const FEW: usize = 32;
/// Rows that the engine computes together.
const BLOCK: usize = 128;

/// Rows prepared for a measure.
pub(super) enum PreparedRows {
    /// Products of two rows, over the root of the product of their squares.
    Products(Products),
    Moments(MomentRows),
    Ranks(RankRows),
    Concordance(ConcordanceRows),
    Biweight(BiweightRows),
    Splines(SplineRows),
}

/// Rows whose products are the measure.
pub(super) struct Products {
    rows: Vec<f64>,
    squares: Vec<f64>,
}

/// Values of the pairs of some rows with all rows from the first of them on.
#[derive(Default)]
pub(super) struct Strip {
    pub(super) rows: Range<usize>,
    /// Columns: rows from `rows.start` on.
    pub(super) width: usize,
    /// NaN where a pair has no value.
    pub(super) values: Vec<f64>,
    /// Samples of all rows.
    samples: u32,
    /// Common samples; none where no row lacks one.
    counts: Vec<u32>,
    /// What a p-value is of; none where that is the value itself, by common samples.
    evidence: Vec<Evidence>,
}

/// A pair of a strip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) i: usize,
    pub(super) j: usize,
    pub(super) value: f64,
    pub(super) count: u32,
    pub(super) evidence: Evidence,
}

impl Strip {
    /// The pair of rows i < j, which has a value.
    pub(super) fn pair(&self, i: usize, j: usize) -> Option<Pair> {
        let at = (i - self.rows.start) * self.width + (j - self.rows.start);
        let value = self.values[at];
        let count = self.counts.get(at).copied().unwrap_or(self.samples);
        let own = || Evidence {
            class: count,
            score: value.abs(),
        };
        (!value.is_nan()).then(|| Pair {
            i,
            j,
            value,
            count,
            evidence: self.evidence.get(at).copied().unwrap_or_else(own),
        })
    }
    /// By place of the strip, how many permutations gave less: scores are whole numbers.
    pub(super) fn less(&self) -> Vec<u32> {
        self.evidence.iter().map(|e| e.score as u32).collect()
    }
    /// The pairs of row i with later rows.
    pub(super) fn row(&self, i: usize) -> impl Iterator<Item = Pair> + '_ {
        let end = self.rows.start + self.width;
        (i + 1..end).filter_map(move |j| self.pair(i, j))
    }
    /// Pairs that have a value.
    pub(super) fn tested(&self) -> u64 {
        let row = |row: usize| self.row(row).count() as u64;
        self.rows.clone().into_par_iter().map(row).sum()
    }
    /// The pairs of row g with any other row.
    pub(super) fn around(&self, g: usize) -> impl Iterator<Item = Pair> + '_ {
        let above = self.rows.start..self.rows.end.min(g);
        let own = self.rows.contains(&g).then(|| self.row(g));
        above
            .filter_map(move |i| self.pair(i, g))
            .chain(own.into_iter().flatten())
    }
}

/// A measure of the rows of a table, ready to be computed.
pub(super) struct Measured<'a> {
    asked: &'a Association,
    rows: &'a Expression,
    prepared: PreparedRows,
    complete: bool,
    isa: Isa,
    options: &'a Options<'a>,
}

impl<'a> Measured<'a> {
    pub(super) fn new(
        asked: &'a Association,
        rows: &'a Expression,
        options: &'a Options<'a>,
    ) -> Result<Self> {
        let complete = rows.missing() == 0;
        let isa = options.overrides.isa.map(isa_of_plan);
        let prepared = prepared(asked, rows.samples, complete, &rows.values.items)?;
        let by_products = matches!(prepared, PreparedRows::Products(_));
        if matches!(options.device, DeviceSelector::Devices(..)) && !by_products {
            let what = "devices compute products of complete rows; this measure of these rows is computed pair by pair on the processor";
            return Err(Error::request(what)
                .at_place(Opt::Device)
                .remedy(Opt::Device.to("cpu")));
        }
        Ok(Measured {
            asked,
            rows,
            prepared,
            complete,
            isa: isa.unwrap_or_else(Isa::detect),
            options,
        })
    }
    /// Bytes of a pair: its value, its samples where they differ, its evidence where that is kept.
    fn pair_bytes(&self) -> usize {
        let by_pair = !matches!(self.prepared, PreparedRows::Products(_));
        let counted = if by_pair { 4 } else { 0 };
        let asked = self.asked;
        let kept = asked.permutations > 0 || asked.measure == Measure::Kendall;
        8 + counted + if kept { size_of::<Evidence>() } else { 0 }
    }
    /// Rows of a strip.
    pub(super) fn height(&self) -> usize {
        let n = self.rows.rows();
        let rows = (STRIP / (n.max(1) * self.pair_bytes())).max(FEW);
        let rows = match self.prepared {
            // The half of a strip's square that is below the diagonal is computed for nothing.
            PreparedRows::Products(_) => rows.min(n / 8).next_multiple_of(BLOCK),
            _ => rows,
        };
        rows.clamp(1, n.max(1))
    }
    /// Bytes of a strip.
    pub(super) fn bytes(&self) -> u64 {
        (self.height() * self.rows.rows() * self.pair_bytes()) as u64
    }
    /// How pairs are computed, in words.
    pub(super) fn how(&self) -> &'static str {
        match (&self.prepared, self.complete) {
            (PreparedRows::Products(_), _) => "products of prepared rows, by the engine of pairs",
            (PreparedRows::Moments(_), _) => {
                "five sums over the common samples of each pair, in vectors"
            }
            (PreparedRows::Ranks(_), _) => {
                "ranks moved down by the samples that a pair lacks, products of integers in vectors"
            }
            (PreparedRows::Concordance(_), _) => {
                "bits of pairs of samples up to 512 samples, merge sorts beyond"
            }
            (PreparedRows::Biweight(_), _) => "medians of the common samples of each pair",
            (PreparedRows::Splines(_), _) => "joint weights of bins of each pair, in vectors",
        }
    }
    /// Whether p-values come from permutations.
    pub(super) fn is_permuted(&self) -> bool {
        self.asked.permutations > 0
    }
    /// The question that the engine answers for a strip, where it does.
    pub(super) fn question(&self, strip: Range<usize>) -> Result<Option<(Problem, Data)>> {
        match &self.prepared {
            PreparedRows::Products(x) => x.question((x, 0), strip, self.rows.samples).map(Some),
            _ => Ok(None),
        }
    }
    /// The values of a strip, with what permutations say of them.
    pub(super) fn strip(&self, rows: Range<usize>) -> Result<Strip> {
        let mut strip = self.plain_strip(rows)?;
        if self.asked.permutations > 0 {
            self.permute(&mut strip)?;
        }
        Ok(strip)
    }
    /// The strip that [`Measured::strip`] gave when permutations counted `less` for its pairs.
    pub(super) fn strip_again(&self, rows: Range<usize>, less: &[u32]) -> Result<Strip> {
        let mut strip = self.plain_strip(rows)?;
        let evidence = |less: &u32| Evidence {
            class: 0,
            score: f64::from(*less),
        };
        strip.evidence = less.iter().map(evidence).collect();
        Ok(strip)
    }
    /// The values of a strip, without permutations.
    fn plain_strip(&self, rows: Range<usize>) -> Result<Strip> {
        let mut strip = self.values((&self.prepared, 0), rows)?;
        let (n, asked) = (self.rows.rows(), self.asked);
        let first = strip.rows.start;
        for (i, line) in strip.rows.clone().zip(strip.values.chunks_mut(strip.width)) {
            for (j, value) in (first..n).zip(line.iter_mut()) {
                if !(self.rows.varies[i] && self.rows.varies[j]) {
                    *value = f64::NAN;
                }
            }
        }
        let least = asked.min_periods as u32;
        if strip.samples < least {
            strip.values.fill(f64::NAN);
        }
        let few = strip.values.iter_mut().zip(&strip.counts);
        few.filter(|(_, count)| **count < least)
            .for_each(|(value, _)| *value = f64::NAN);
        Ok(strip)
    }
    /// Counts, for each pair, the permutations of the samples of its second row that give less.
    ///
    /// A permutation by which a pair has no value says nothing against chance, so it is not counted
    /// as one that gives less.
    fn permute(&self, strip: &mut Strip) -> Result<()> {
        let none = Evidence::default();
        strip.evidence = vec![none; strip.values.len()];
        let (first, samples) = (strip.rows.start, self.rows.samples);
        let least = self.asked.min_periods as u32;
        for order in self.asked.orders(samples) {
            stop(self.options)?;
            // Pairs of a strip have no second row before its first.
            let permuted = self.rows.permuted(first, &order);
            let other = prepared(self.asked, samples, self.complete, &permuted)?;
            drop(permuted);
            let drawn = self.values((&other, first), strip.rows.clone())?;
            let pairs = strip.values.iter().zip(&drawn.values).enumerate();
            for (evidence, (at, (value, drawn_value))) in strip.evidence.iter_mut().zip(pairs) {
                let count = drawn.counts.get(at).copied().unwrap_or(drawn.samples);
                // Equal values may differ by rounding.
                let less = drawn_value.abs() < value.abs() * (1.0 - 1e-12);
                evidence.score += f64::from(less && count >= least);
            }
        }
        Ok(())
    }
    /// The values of the rows of a strip with rows of `other`, which begins with the row `from`.
    fn values(&self, (other, from): (&PreparedRows, usize), rows: Range<usize>) -> Result<Strip> {
        let (n, samples) = (self.rows.rows(), self.rows.samples);
        let width = n - rows.start;
        let mut strip = Strip {
            width,
            rows: rows.clone(),
            samples: samples as u32,
            ..Strip::default()
        };
        if let (PreparedRows::Products(x), PreparedRows::Products(y)) = (&self.prepared, other) {
            strip.values = x.values((y, from), rows, samples, self.options)?;
            return Ok(strip);
        }
        strip.values = vec![f64::NAN; rows.len() * width];
        strip.counts = vec![samples as u32; rows.len() * width];
        if self.asked.measure == Measure::Kendall && self.asked.permutations == 0 {
            strip.evidence = vec![Evidence::default(); rows.len() * width];
        }
        within(self.options.threads, || {
            self.fill((other, from), &mut strip)
        })?;
        Ok(strip)
    }
    /// Computes the pairs of a strip, a row at a time on any thread.
    fn fill(&self, (other, begin): (&PreparedRows, usize), strip: &mut Strip) {
        let n = self.rows.rows();
        let (first, width) = (strip.rows.start, strip.width);
        let evidence = strip.evidence.chunks_mut(width).map(Some);
        let evidence: Vec<Option<&mut [Evidence]>> = evidence
            .chain(std::iter::repeat_with(|| None))
            .take(strip.rows.len())
            .collect();
        let values = strip.values.par_chunks_mut(width);
        let numbers = values.zip(strip.counts.par_chunks_mut(width)).zip(evidence);
        let rows = strip.rows.clone().into_par_iter();
        rows.zip(numbers)
            .for_each(|(row, ((values, counts), evidence))| {
                let from = row + 1 - first;
                let (values, counts) = (&mut values[from..], &mut counts[from..]);
                let line = Line {
                    row,
                    others: row + 1 - begin..n - begin,
                };
                let later = evidence.map_or(&mut [][..], |evidence| &mut evidence[from..]);
                self.line(other, line, Values { values, counts }, later);
            });
    }
    /// The values of one row with later ones.
    fn line(&self, other: &PreparedRows, line: Line, out: Values<'_>, evidence: &mut [Evidence]) {
        match (&self.prepared, other) {
            (PreparedRows::Moments(x), PreparedRows::Moments(y)) => {
                x.correlate(self.isa, line, y, out)
            }
            (PreparedRows::Ranks(x), PreparedRows::Ranks(y)) => x.correlate(self.isa, line, y, out),
            (PreparedRows::Biweight(x), PreparedRows::Biweight(y)) => x.correlate(line, y, out),
            (PreparedRows::Splines(x), PreparedRows::Splines(y)) => {
                x.inform(self.isa, line, y, out)
            }
            (PreparedRows::Concordance(x), PreparedRows::Concordance(y)) => {
                concordances([x, y], self.isa, line, out, evidence);
            }
            _ => {}
        }
    }
}

/// Ends where a stop is asked.
pub(super) fn stop(options: &Options<'_>) -> Result<()> {
    let asked = options
        .stop
        .is_some_and(|stop| stop.load(std::sync::atomic::Ordering::Relaxed));
    match asked {
        true => Err(Error::new(zipfold_core::Blame::Interrupted, "interrupted")),
        false => Ok(()),
    }
}

/// Kendall's tau of one row with later ones, and the evidence of each pair where that is asked.
fn concordances(
    [x, y]: [&ConcordanceRows; 2],
    isa: Isa,
    line: Line,
    out: Values<'_>,
    evidence: &mut [Evidence],
) {
    let mut found = vec![Balance::default(); line.others.len()];
    x.balance(isa, line.clone(), y, &mut found);
    for (at, balance) in found.iter().enumerate() {
        out.counts[at] = balance.count;
        out.values[at] = tau(balance);
        let Some(evidence) = evidence.get_mut(at) else {
            continue;
        };
        let (row, other) = (line.row, line.others.start + at);
        let ties = |[a, b]: [&ConcordanceRows; 2], row: usize, other: usize| {
            let lacks = !a.within(row, b, other);
            a.tie_sums(row, lacks.then_some((b, other)))
        };
        let both = || [ties([x, y], row, other), ties([y, x], other, row)];
        *evidence = Tails::kendall(balance, both);
    }
}

/// Kendall's tau-b.
fn tau(balance: &Balance) -> f64 {
    let [x, y] = balance.untied.map(|count| count as f64);
    (balance.difference as f64 / x.sqrt() / y.sqrt()).clamp(-1.0, 1.0)
}

/// Prepares rows for the measure.
fn prepared(
    asked: &Association,
    samples: usize,
    complete: bool,
    values: &[f64],
) -> Result<PreparedRows> {
    Ok(match (asked.measure, complete) {
        (Measure::Pearson, true) => PreparedRows::Products(Products::centred(values, samples)),
        (Measure::Spearman, true) => PreparedRows::Products(Products::ranked(values, samples)),
        (Measure::Bicor, true) => {
            let weighed = BiweightRows::new(values, samples);
            PreparedRows::Products(Products::of_length_one(weighed.weighed().to_vec(), samples))
        }
        (Measure::Pearson, false) => PreparedRows::Moments(MomentRows::new(values, samples)),
        (Measure::Spearman, false) => {
            if samples > RankRows::MOST {
                let what = format!(
                    "ranks with missing values take at most {} samples, got {samples}",
                    RankRows::MOST
                );
                return Err(Error::request(what)
                    .at_place(Opt::Measure)
                    .remedy("complete rows, or fewer samples"));
            }
            PreparedRows::Ranks(RankRows::new(values, samples))
        }
        (Measure::Bicor, false) => PreparedRows::Biweight(BiweightRows::new(values, samples)),
        (Measure::Kendall, _) => PreparedRows::Concordance(ConcordanceRows::new(values, samples)),
        (Measure::Mi, _) => {
            PreparedRows::Splines(SplineRows::new(values, samples, asked.bins, asked.order))
        }
    })
}

/// Bytes of prepared rows; with permutations, also of rows in another order and of those prepared.
pub(super) fn prepared_bytes(asked: &Association, rows: usize, samples: usize) -> u64 {
    let values = (rows as u64) * (samples as u64);
    let own = match asked.measure {
        Measure::Pearson => 32 * values,
        Measure::Spearman | Measure::Bicor => 24 * values,
        Measure::Kendall => ConcordanceRows::bytes(rows, samples) + 8 * values,
        Measure::Mi => SplineRows::bytes(rows, samples, asked.bins, asked.order) + 8 * values,
    };
    match asked.permutations {
        0 => own,
        _ => 2 * own + 8 * values,
    }
}

impl Products {
    /// Values less the mean of their row, of length 1.
    fn centred(values: &[f64], samples: usize) -> Self {
        let mut rows = Vec::with_capacity(values.len());
        for row in values.chunks(samples.max(1)) {
            // Differences from the first value, halved: nothing overflows, and a far offset is gone.
            let away = |v: f64| 0.5 * v - 0.5 * row[0];
            let mean = row.iter().map(|v| away(*v) / samples as f64).sum::<f64>();
            rows.extend(row.iter().map(|v| away(*v) - mean));
        }
        Self::of_length_one(rows, samples)
    }
    /// Doubled ranks less their middle: products are exact.
    fn ranked(values: &[f64], samples: usize) -> Self {
        let mut order: Vec<usize> = vec![];
        let mut rows = vec![0.0; values.len()];
        let lines = values.chunks(samples.max(1));
        for (row, out) in lines.zip(rows.chunks_mut(samples.max(1))) {
            order.clear();
            order.extend(0..samples);
            order.sort_unstable_by(|a, b| row[*a].total_cmp(&row[*b]));
            let mut before = 0;
            for tie in order.chunk_by(|a, b| row[*a] == row[*b]) {
                let rank = (2 * before + tie.len()) as f64 - samples as f64;
                tie.iter().for_each(|at| out[*at] = rank);
                before += tie.len();
            }
        }
        let square = |row: &[f64]| row.iter().map(|v| v * v).sum();
        let squares = rows.chunks(samples.max(1)).map(square).collect();
        Products { rows, squares }
    }
    /// Rows divided by their length.
    fn of_length_one(mut rows: Vec<f64>, samples: usize) -> Self {
        for row in rows.chunks_mut(samples.max(1)) {
            let largest = row.iter().fold(0.0f64, |a, v| a.max(v.abs()));
            let scale = if largest > 0.0 { largest } else { 1.0 };
            row.iter_mut().for_each(|v| *v /= scale);
            let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
            if length > 0.0 {
                row.iter_mut().for_each(|v| *v /= length);
            }
        }
        let squares = vec![1.0; rows.len() / samples.max(1)];
        Products { rows, squares }
    }
    /// The question of the products of a strip of rows with rows of `other` from its first on;
    /// `other` begins with the row `from`.
    fn question(
        &self,
        (other, from): (&Products, usize),
        strip: Range<usize>,
        samples: usize,
    ) -> Result<(Problem, Data)> {
        let n = self.squares.len();
        let table = |all: &[f64], rows: Range<usize>| {
            let items = all[rows.start * samples..rows.end * samples].to_vec();
            Table::f64(rows.len(), samples, items)
        };
        let data = Data {
            pairs: None,
            x: table(&self.rows, strip.clone())?,
            y: Some(table(&other.rows, strip.start - from..n - from)?),
            weights: vec![None],
        };
        Ok((products_problem(), data))
    }
    fn values(
        &self,
        (other, from): (&Products, usize),
        strip: Range<usize>,
        samples: usize,
        options: &Options<'_>,
    ) -> Result<Vec<f64>> {
        let (problem, data) = self.question((other, from), strip.clone(), samples)?;
        let mut values = products(&problem, &data, options)?;
        let width = self.squares.len() - strip.start;
        within(options.threads, || {
            let lines = values
                .par_chunks_mut(width)
                .zip(&self.squares[strip.clone()]);
            lines.for_each(|(line, square)| {
                for (value, other) in line.iter_mut().zip(&other.squares[strip.start - from..]) {
                    *value = (*value / (square * other).sqrt()).clamp(-1.0, 1.0);
                }
            });
        })?;
        Ok(values)
    }
}

/// The matrix of inner products of rows of x and y.
pub(super) fn products_problem() -> Problem {
    Problem {
        y: Some(Input::named("rows")),
        ..Problem::new(
            Input::named("rows of a strip"),
            PairSpec {
                metric: Some("linear".into()),
                ..PairSpec::default()
            },
            vec![FoldSpec::Matrix {}],
        )
    }
}

/// Asks the engine for products.
pub(super) fn products(problem: &Problem, data: &Data, options: &Options<'_>) -> Result<Vec<f64>> {
    // Progress and checkpoints are those of the whole sweep.
    let own = Options {
        threads: options.threads,
        budget: options.budget.clone(),
        overrides: options.overrides.clone(),
        stop: options.stop,
        device: options.device,
        warnings: options.warnings.clone(),
        ..Options::default()
    };
    let mut answer = Query::new(problem, data, &own).run()?;
    match answer.outcome.outputs.pop() {
        Some(Output::F64(values)) => Ok(values),
        _ => Err(Error::internal("products gave no matrix")),
    }
}
