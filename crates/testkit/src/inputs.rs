//! Inputs of cases: rows written out, or made by a generator with a fixed seed.

use serde::Deserialize;
use std::collections::BTreeMap;
use zipfold_core::{Result, Table};

/// A small generator with a fixed seed: the same numbers everywhere, for ever.
#[derive(Clone, Debug)]
pub struct Lcg(u64);

impl Lcg {
    /// The generator of `seed`.
    pub fn new(seed: u64) -> Self {
        Lcg(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d)
    }
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 ^ (self.0 >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ (self.0 >> 32)
    }
    /// A number of 0 to `end` − 1.
    pub fn below(&mut self, end: usize) -> usize {
        ((self.bits() >> 11) % end.max(1) as u64) as usize
    }
    /// A number of [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
    /// A number of [lo, hi).
    pub fn between(&mut self, lo: f64, hi: f64) -> f64 {
        lo + self.unit() * (hi - lo)
    }
}

/// An input: `rows`, or one of the generators `random`, `clustered` (seeds) and `lattice` (points
/// on each axis).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    /// Rows written out.
    pub rows: Option<Vec<Vec<f64>>>,
    /// Seed of uniform numbers from `lo` to `hi`, `n` rows of `d`.
    pub random: Option<u64>,
    /// Seed of five tight clusters, `n` rows of `d`, centres from `lo` to `hi`.
    pub clustered: Option<u64>,
    /// Points on each axis of a lattice of steps `step` from `lo`.
    pub lattice: Option<Vec<usize>>,
    /// Rows of a generator.
    #[serde(default)]
    pub n: usize,
    /// Components of a generator.
    #[serde(default)]
    pub d: usize,
    /// Least number.
    #[serde(default)]
    pub lo: f64,
    /// Largest number.
    #[serde(default = "highest")]
    pub hi: f64,
    /// Step of a lattice; numbers of the other generators are multiples of it, when given.
    pub step: Option<f64>,
    /// Components of `rows` where there are none.
    pub names: Option<Vec<String>>,
    /// Attributes by name: numbers that are repeated until every row has one; NaN is a missing one.
    #[serde(default)]
    pub attributes: BTreeMap<String, Vec<f64>>,
    /// The type of the elements.
    #[serde(default)]
    pub single: bool,
}

fn highest() -> f64 {
    1.0
}

impl Rows {
    /// The table.
    ///
    /// # Errors
    /// Those of [`Table::f64`] and [`Table::with_names`].
    pub fn table(&self) -> Result<Table> {
        let (n, d, items) = self.items();
        let table = match self.single {
            true => Table::f32(n, d, items.iter().map(|v| *v as f32).collect())?,
            false => Table::f64(n, d, items)?,
        };
        let table = match &self.names {
            Some(names) => table.with_names(names.clone())?,
            None => table,
        };
        if self.attributes.is_empty() {
            return Ok(table);
        }
        let row = |row: usize| {
            self.attributes
                .values()
                .map(move |all| all[row % all.len()])
        };
        let beside = Table::f64(n, self.attributes.len(), (0..n).flat_map(row).collect())?;
        table.with_attributes(beside.with_names(self.attributes.keys().cloned().collect())?)
    }
    fn items(&self) -> (usize, usize, Vec<f64>) {
        if let Some(rows) = &self.rows {
            let d = rows.first().map_or(self.d, Vec::len);
            return (rows.len(), d, rows.iter().flatten().copied().collect());
        }
        if let Some(sides) = &self.lattice {
            return self.points(sides);
        }
        let snap = |v: f64| self.step.map_or(v, |s| (v / s).round() * s);
        let count = self.n * self.d;
        let items = match (self.random, self.clustered) {
            (Some(seed), _) => {
                let mut lcg = Lcg::new(seed);
                (0..count)
                    .map(|_| snap(lcg.between(self.lo, self.hi)))
                    .collect()
            }
            (_, Some(seed)) => self.clusters(seed).into_iter().map(snap).collect(),
            _ => vec![self.lo; count],
        };
        (self.n, self.d, items)
    }
    fn clusters(&self, seed: u64) -> Vec<f64> {
        let mut lcg = Lcg::new(seed);
        let centres: Vec<f64> = (0..5 * self.d)
            .map(|_| lcg.between(self.lo, self.hi))
            .collect();
        let width = (self.hi - self.lo) * 1e-3;
        let mut items = vec![];
        for _ in 0..self.n {
            let c = lcg.below(5);
            items.extend((0..self.d).map(|k| centres[c * self.d + k] + lcg.between(-width, width)));
        }
        items
    }
    fn points(&self, sides: &[usize]) -> (usize, usize, Vec<f64>) {
        let n: usize = sides.iter().product();
        let step = self.step.unwrap_or(1.0);
        let mut items = vec![];
        for at in 0..n {
            let mut rest = at;
            for side in sides {
                items.push(self.lo + (rest % side) as f64 * step);
                rest /= side;
            }
        }
        (n, sides.len(), items)
    }
}
