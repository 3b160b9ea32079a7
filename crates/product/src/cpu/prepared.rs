//! A bucket that is planned once and executed many times: tables as they lie in memory, in f32 or
//! f64, of values or of logarithms.
//!
//! ```text
//! plan
//!     search the order of pairwise joins by predicted cost:
//!         all orders up to four tables, the cheapest next pair above
//!     a summed variable leaves with the last join that holds it
//! run
//!     for each join: super::direct, into a buffer of its own
//!     of logarithms: shift by the ends of the tables, or super::bucket where the range is too wide
//! ```
//!
//! It is made for the paper's buckets, of up to some hundred summed configurations; deeper products
//! are faster by a plan, which packs both sides ([`super::matrix`]).

use super::direct::{Buffers, Domain, InPlaceContraction, Logs, LoopOrder, PACKED, Scope};
use super::products::Contracted;
use super::scaled::Entries;
use super::shape::{Digit, MOST_INPUTS, Shape};
use super::slices;
use zipfold_core::{Error, Result};
use zipfold_vector::memory::Block;

/// Tables up to which all orders are looked at.
const ALL: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OperandTable {
    Table(usize),
    Made(usize),
}

#[derive(Debug)]
struct Contraction {
    inputs: [OperandTable; 2],
    direct: InPlaceContraction,
}

/// A bucket `Σ over the summed variables of the product of all tables`, ready to be executed.
///
/// Sums are those of the type: nothing keeps products of values within its range. In logarithms
/// every table is scaled by its largest entry, and tables whose products would still leave the
/// range go by the log-sum-exp kernel.
#[derive(Debug)]
pub struct Prepared<T: Contracted> {
    steps: Vec<Contraction>,
    made: Vec<Block<T>>,
    buffers: Buffers<T>,
    /// Entries of each table.
    lens: Vec<usize>,
    /// The tables and the result for the log-sum-exp kernel.
    shape: Shape,
    summed_log2: f64,
    scope: Scope,
    entries: Entries,
}

/// Tables that are left, and what makes them.
type Left = Vec<(Scope, OperandTable)>;
/// Tables that are taken together, and how.
type Joins = Vec<([OperandTable; 2], LoopOrder, [Scope; 2])>;

impl<T: Contracted> Prepared<T> {
    /// A plan for tables over `scopes` (variables, slowest first) with `cards` values a variable;
    /// `summed` variables leave. Tables and result hold `entries`.
    ///
    /// # Errors
    /// `Request` for no table or more than eight, a variable that `cards` does not have or that a
    /// table names twice, and sizes beyond what one address can hold; tables that are all too large
    /// to be packed.
    pub fn new(
        cards: &[usize],
        scopes: &[Scope],
        summed: &[usize],
        entries: Entries,
    ) -> Result<Self> {
        let lens = check(cards, scopes)?;
        let search = Search {
            cards,
            summed,
            lanes: T::LANES,
            logs: entries == Entries::Logs,
        };
        let joins = search.joins(scopes).ok_or_else(all_too_large)?;
        let len = |scope: &[usize]| scope.iter().map(|v| cards[*v]).product::<usize>();
        let steps: Vec<Contraction> = joins
            .iter()
            .map(|(inputs, way, scopes)| Contraction {
                inputs: *inputs,
                direct: way.plan([len(&scopes[0]), len(&scopes[1])], T::LANES),
            })
            .collect();
        let scope = steps
            .last()
            .map(|s| s.direct.scope.clone())
            .unwrap_or_default();
        let shape = shape(cards, scopes, &scope, summed);
        let summed_log2 = summed.iter().map(|v| (cards[*v] as f64).log2()).sum();
        let made = steps.iter().map(|_| Block::default()).collect();
        Ok(Prepared {
            steps,
            made,
            buffers: Buffers::default(),
            lens,
            shape,
            summed_log2,
            scope,
            entries,
        })
    }
    /// The result's variables that have several values, slowest first.
    pub fn scope(&self) -> &[usize] {
        &self.scope
    }
    /// Entries of the result.
    pub fn len(&self) -> usize {
        self.shape.out_len
    }
    /// Whether it has none; it always has one.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Sums of products of `tables` to `out`, all of entries as the plan was made for.
    ///
    /// # Errors
    /// `Input` where a table or `out` has not as many entries as its scope.
    pub fn run(&mut self, tables: &[&[T]], out: &mut [T]) -> Result<()> {
        self.sizes(tables, out)?;
        match self.entries {
            Entries::Values => self.execute(tables, None, out),
            Entries::Logs => self.logs(tables, out),
        }
        Ok(())
    }
    fn logs(&mut self, tables: &[&[T]], out: &mut [T]) {
        let ends: Vec<(f64, f64)> = tables
            .iter()
            .map(|t| slices::shared_ends(t, T::from_f64(f64::NEG_INFINITY)))
            .collect();
        let empty = ends.iter().any(|(low, high)| low > high);
        let widths: f64 = ends.iter().map(|(low, high)| high - low).sum();
        let most = f64::from(T::LIMIT) * std::f64::consts::LN_2;
        if empty || !(widths < most && self.summed_log2 < f64::from(T::LIMIT)) {
            return T::log_sums(&self.shape, tables, out);
        }
        let shifts: Vec<T> = ends.iter().map(|(_, high)| T::from_f64(*high)).collect();
        self.execute(tables, Some(&shifts), out);
    }
    fn sizes(&self, tables: &[&[T]], out: &[T]) -> Result<()> {
        if tables.len() != self.lens.len() {
            return Err(Error::input(format!(
                "{} tables for a bucket of {}",
                tables.len(),
                self.lens.len()
            )));
        }
        for (i, (table, len)) in tables.iter().zip(&self.lens).enumerate() {
            if table.len() != *len {
                return Err(Error::input(format!(
                    "table {i} has {} entries; its scope has {len}",
                    table.len()
                )));
            }
        }
        if out.len() != self.len() {
            return Err(Error::input(format!(
                "the result has {} entries; its scope has {}",
                out.len(),
                self.len()
            )));
        }
        Ok(())
    }
    fn execute(&mut self, tables: &[&[T]], shifts: Option<&[T]>, out: &mut [T]) {
        let one = [T::ONE];
        let total = |shifts: &[T]| T::from_f64(shifts.iter().map(|s| s.to_f64()).sum());
        let last = self.steps.len() - 1;
        for (at, step) in self.steps.iter().enumerate() {
            let (before, own) = self.made.split_at_mut(at);
            let out = if at == last {
                &mut *out
            } else {
                own[0].at_least(step.direct.len);
                &mut own[0][..step.direct.len]
            };
            let table = |source: &OperandTable| match source {
                OperandTable::Table(i) => tables.get(*i).copied().unwrap_or(&one),
                OperandTable::Made(i) => &before[*i][..self.steps[*i].direct.len],
            };
            let shift = |source: &OperandTable| match source {
                OperandTable::Table(i) => shifts.and_then(|s| s.get(*i).copied()),
                OperandTable::Made(_) => None,
            };
            let logs = Logs {
                shifts: step.inputs.each_ref().map(shift),
                out: shifts.map(total).filter(|_| at == last),
            };
            let inputs = step.inputs.each_ref().map(table);
            T::in_place(&step.direct, inputs, logs, &mut self.buffers, out);
        }
    }
}

fn all_too_large() -> Error {
    Error::request("no table of the bucket is small enough to be packed for the others")
        .limit(format!("{PACKED} entries packed"))
        .remedy("contract the tables by a plan (infer, contract), which packs both sides in blocks")
}

/// Entries of each table.
fn check(cards: &[usize], scopes: &[Scope]) -> Result<Vec<usize>> {
    if scopes.is_empty() || scopes.len() > MOST_INPUTS {
        return Err(
            Error::request(format!("{} tables in one bucket", scopes.len())).remedy(format!(
                "give one to {MOST_INPUTS}, or contract them by a plan"
            )),
        );
    }
    let tables = scopes.iter().enumerate();
    tables
        .map(|(i, scope)| entries_of(cards, i, scope))
        .collect()
}

/// Entries of table `i`.
fn entries_of(cards: &[usize], i: usize, scope: &[usize]) -> Result<usize> {
    let mut len = 1usize;
    for (at, v) in scope.iter().enumerate() {
        let card = cards.get(*v).ok_or_else(|| {
            Error::request(format!(
                "table {i} names variable {v}; there are {}",
                cards.len()
            ))
        })?;
        if *card == 0 || scope[..at].contains(v) {
            return Err(Error::request(format!(
                "table {i}: variable {v} has no value or stands there twice"
            )));
        }
        len = len
            .checked_mul(*card)
            .filter(|l| *l <= u32::MAX as usize)
            .ok_or_else(|| {
                Error::request(format!("table {i} has more than 2³² entries"))
                    .remedy("fix a variable of it")
            })?;
    }
    Ok(len)
}

/// The search for the cheapest order of pairs.
struct Search<'a> {
    cards: &'a [usize],
    summed: &'a [usize],
    lanes: usize,
    logs: bool,
}

impl Search<'_> {
    /// The cheapest joins of tables over `scopes`.
    fn joins(&self, scopes: &[Scope]) -> Option<Joins> {
        let mut left: Left = scopes
            .iter()
            .cloned()
            .enumerate()
            .map(|(i, s)| (s, OperandTable::Table(i)))
            .collect();
        // One table is multiplied by 1.
        if left.len() == 1 {
            left.push((Vec::new(), OperandTable::Table(1)));
        }
        self.cheapest(left, 0).map(|(_, joins)| joins)
    }
    /// All orders of a few tables, the cheapest next pair of more.
    fn cheapest(&self, left: Left, made: usize) -> Option<(f64, Joins)> {
        if left.len() < 2 {
            return Some((0.0, Vec::new()));
        }
        let pairs = self.pairs(&left)?;
        let mut best: Option<(f64, Joins)> = None;
        for (way, i, j) in pairs {
            let cost = way.cost;
            if best.as_ref().is_some_and(|b| b.0 <= cost) {
                continue;
            }
            let mut rest = left.clone();
            let (second, first) = (rest.remove(j), rest.remove(i));
            rest.push((way.scope(), OperandTable::Made(made)));
            let Some((more, joins)) = self.cheapest(rest, made + 1) else {
                continue;
            };
            if best.as_ref().is_none_or(|b| cost + more < b.0) {
                let mut all: Joins = vec![([first.1, second.1], way, [first.0, second.0])];
                all.extend(joins);
                best = Some((cost + more, all));
            }
        }
        best
    }
    /// The ways through pairs of tables that are tried, the cheapest first.
    fn pairs(&self, left: &Left) -> Option<Vec<(LoopOrder, usize, usize)>> {
        let mut pairs: Vec<(LoopOrder, usize, usize)> = Vec::new();
        for i in 0..left.len() {
            for j in i + 1..left.len() {
                pairs.push((self.join(left, [i, j])?, i, j));
            }
        }
        pairs.retain(|p| p.0.cost.is_finite());
        pairs.sort_by(|a, b| a.0.cost.total_cmp(&b.0.cost));
        if left.len() > ALL {
            pairs.truncate(1);
        }
        Some(pairs)
    }
    /// The way through two tables; variables that no other table holds are summed where they may.
    fn join(&self, left: &Left, [i, j]: [usize; 2]) -> Option<LoopOrder> {
        let elsewhere = |v: &usize| {
            left.iter()
                .enumerate()
                .any(|(at, t)| at != i && at != j && t.0.contains(v))
        };
        let kept = |v: usize| !self.summed.contains(&v) || elsewhere(&v);
        let logs = [i, j].map(|at| self.logs && matches!(left[at].1, OperandTable::Table(_)));
        let domain = Domain {
            lanes: self.lanes,
            logs,
            out: self.logs && left.len() == 2,
        };
        LoopOrder::cheapest(self.cards, [&left[i].0, &left[j].0], &kept, domain)
    }
}

/// The bucket for the log-sum-exp kernel: summed variables slowest, then those of the result.
fn shape(cards: &[usize], scopes: &[Scope], out: &[usize], summed: &[usize]) -> Shape {
    let stride = |scope: &[usize], v: usize| {
        let at = scope.iter().position(|u| *u == v)?;
        Some(scope[at + 1..].iter().map(|u| cards[*u]).product::<usize>())
    };
    let wide = summed
        .iter()
        .filter(|v| cards[**v] > 1 && scopes.iter().any(|s| s.contains(v)));
    let digit = |v: &usize| {
        let mut strides = [0; MOST_INPUTS];
        strides
            .iter_mut()
            .zip(scopes)
            .for_each(|(s, scope)| *s = stride(scope, *v).unwrap_or(0));
        let kept = stride(out, *v);
        Digit {
            card: cards[*v],
            strides,
            out: kept.unwrap_or(0),
            summed: kept.is_none(),
        }
    };
    let digits: Vec<Digit> = wide.chain(out).map(digit).collect();
    Shape {
        digits,
        inputs: scopes.len(),
        out_len: out.iter().map(|v| cards[*v]).product(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zipfold_core::Random;

    struct Case {
        cards: Vec<usize>,
        scopes: Vec<Scope>,
        summed: Vec<usize>,
    }

    fn case(random: &mut Random) -> Case {
        let many = 3 + random.below(8);
        let cards: Vec<usize> = (0..many).map(|_| 1 + random.below(5)).collect();
        let scopes: Vec<Scope> = (0..1 + random.below(4))
            .map(|_| {
                let mut scope: Scope = (0..many).filter(|_| random.below(3) > 0).collect();
                (1..scope.len()).for_each(|i| scope.swap(i, random.below(i + 1)));
                scope
            })
            .collect();
        let held = |v: &usize| scopes.iter().any(|s| s.contains(v));
        let summed = (0..many)
            .filter(held)
            .filter(|_| random.below(3) == 0)
            .collect();
        Case {
            cards,
            scopes,
            summed,
        }
    }

    /// Sums of products by plain counting over all variables, in the order of `out`.
    fn count(case: &Case, tables: &[Vec<f64>], out: &[usize]) -> Vec<f64> {
        let shape = shape(&case.cards, &case.scopes, out, &case.summed);
        let mut sums = vec![0.0; shape.out_len];
        super::super::semiring::visit(&shape.digits, shape.inputs, |to, from| {
            sums[to] += tables
                .iter()
                .zip(from)
                .map(|(t, at)| t[*at])
                .product::<f64>();
        });
        sums
    }

    fn agree<T: Contracted>(bound: f64, seed: u64) {
        let mut random = Random::new(seed);
        let mut entries = 0;
        for _ in 0..300 {
            let case = case(&mut random);
            let len = |s: &Scope| s.iter().map(|v| case.cards[*v]).product::<usize>();
            let mut fill = |s: &Scope| -> Vec<f64> {
                (0..len(s))
                    .map(|_| {
                        if random.below(9) == 0 {
                            0.0
                        } else {
                            random.unit() + 0.1
                        }
                    })
                    .collect()
            };
            let tables: Vec<Vec<f64>> = case.scopes.iter().map(&mut fill).collect();
            for held in [Entries::Values, Entries::Logs] {
                let own = |v: &f64| {
                    T::from_f64(if held == Entries::Logs {
                        v.ln() - 3.0
                    } else {
                        *v
                    })
                };
                let own: Vec<Vec<T>> = tables.iter().map(|t| t.iter().map(own).collect()).collect();
                let views: Vec<&[T]> = own.iter().map(|t| &t[..]).collect();
                let mut bucket =
                    Prepared::<T>::new(&case.cards, &case.scopes, &case.summed, held).unwrap();
                let want = count(&case, &tables, bucket.scope());
                let mut got = vec![T::from_f64(7.0); bucket.len()];
                for _ in 0..2 {
                    bucket.run(&views, &mut got).unwrap();
                    for (g, w) in got.iter().zip(&want) {
                        let g = if held == Entries::Logs {
                            (g.to_f64() + 3.0 * views.len() as f64).exp()
                        } else {
                            g.to_f64()
                        };
                        assert!(
                            (g - w).abs() <= bound * w,
                            "{held:?} {:?} {:?}: {g} {w}",
                            case.cards,
                            case.scopes
                        );
                    }
                }
                entries += want.len();
            }
        }
        assert!(entries > 10_000);
    }

    #[test]
    fn buckets_agree_with_counting() {
        agree::<f64>(1e-13, 1);
        agree::<f32>(2e-5, 2);
    }

    #[test]
    fn large_buckets_agree_on_all_threads() {
        let case = Case {
            cards: vec![9, 16, 5, 30, 7, 40],
            scopes: vec![vec![3, 2, 1, 0, 5], vec![4, 0, 2, 3]],
            summed: vec![2, 0],
        };
        let tables = [9 * 16 * 5 * 30 * 40, 9 * 5 * 30 * 7]
            .map(|n| (0..n).map(|i| 0.1 + f64::from(i % 97)).collect());
        let mut bucket =
            Prepared::<f64>::new(&case.cards, &case.scopes, &case.summed, Entries::Values).unwrap();
        let want = count(&case, &tables, bucket.scope());
        let mut got = vec![0.0; bucket.len()];
        bucket
            .run(&tables.each_ref().map(|t| &t[..]), &mut got)
            .unwrap();
        assert!(
            got.iter()
                .zip(&want)
                .all(|(g, w)| (g - w).abs() <= 1e-12 * w)
        );
        let logs = tables
            .each_ref()
            .map(|t: &Vec<f64>| t.iter().map(|v| v.ln()).collect::<Vec<f64>>());
        let mut bucket =
            Prepared::<f64>::new(&case.cards, &case.scopes, &case.summed, Entries::Logs).unwrap();
        bucket
            .run(&logs.each_ref().map(|t| &t[..]), &mut got)
            .unwrap();
        let want = count(&case, &tables, bucket.scope());
        assert!(
            got.iter()
                .zip(&want)
                .all(|(g, w)| (g - w.ln()).abs() <= 1e-13)
        );
    }

    #[test]
    fn logarithms_beyond_the_range_of_the_type_are_added_by_their_peaks() {
        let logs: Vec<f32> = (0..64).map(|i| -500.0 * (i % 7) as f32).collect();
        let scopes = [vec![0, 1], vec![0]];
        let mut bucket = Prepared::<f32>::new(&[8, 8], &scopes, &[0], Entries::Logs).unwrap();
        let mut out = [0.0; 8];
        bucket.run(&[&logs, &logs[..8]], &mut out).unwrap();
        for (at, got) in out.into_iter().enumerate() {
            let terms: Vec<f64> = (0..8)
                .map(|i| f64::from(logs[8 * i + at]) + f64::from(logs[i]))
                .collect();
            let peak = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let want = peak + terms.iter().map(|t| (t - peak).exp()).sum::<f64>().ln();
            assert!(
                (f64::from(got) - want).abs() <= 1e-6 * want.abs().max(1.0),
                "{got} {want}"
            );
        }
        bucket
            .run(&[&[f32::NEG_INFINITY; 64], &logs[..8]], &mut out)
            .unwrap();
        assert_eq!(out, [f32::NEG_INFINITY; 8]);
    }

    #[test]
    fn what_is_no_number_stays_so() {
        for entries in [Entries::Values, Entries::Logs] {
            let mut bucket =
                Prepared::<f32>::new(&[2, 2], &[vec![0, 1], vec![0]], &[0], entries).unwrap();
            let mut out = [0.0; 2];
            bucket
                .run(&[&[f32::NAN, 1.0, 1.0, 1.0], &[0.5, 0.25]], &mut out)
                .unwrap();
            assert!(out[0].is_nan() && out[1].is_finite(), "{entries:?}");
        }
    }

    #[test]
    fn bad_buckets_are_refused() {
        let new = |cards: &[usize], scopes: &[Scope]| {
            Prepared::<f64>::new(cards, scopes, &[0], Entries::Values).err()
        };
        assert!(new(&[2], &[]).is_some());
        assert!(new(&[2], &vec![vec![0]; 9]).is_some());
        assert!(new(&[2], &[vec![1]]).is_some());
        assert!(new(&[2], &[vec![0, 0]]).is_some());
        assert!(new(&[0], &[vec![0]]).is_some());
        assert!(new(&[1 << 20, 1 << 20], &[vec![0, 1]]).is_some());
        // Both tables have more entries than are packed.
        assert!(new(&[4096, 4096], &[vec![0, 1], vec![1, 0]]).is_some());
        let mut bucket =
            Prepared::<f64>::new(&[2, 3], &[vec![0, 1]], &[0], Entries::Values).unwrap();
        assert!(bucket.run(&[&[1.0; 6]], &mut [0.0; 2]).is_err());
        assert!(bucket.run(&[&[1.0; 5]], &mut [0.0; 3]).is_err());
        assert!(bucket.run(&[], &mut [0.0; 3]).is_err());
        assert!(bucket.run(&[&[1.0; 6]], &mut [0.0; 3]).is_ok());
    }
}
