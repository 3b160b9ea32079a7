//! Weighted counting: the sum of a product of tables by a search that skips what zeros rule out,
//! counts components apart, and keeps what each came to.
//!
//! Its time depends on zeros and on which residual components are equal, where that of an
//! elimination depends on the width of the network. One thread counts, in an order that depends on
//! the tables and the seed alone.
#![forbid(unsafe_code)]

mod cache;
mod counter;
mod hash;
mod residuals;
mod trace;

use crate::branch::tree::Tree;
use crate::plan::{Scalar, Table, reduced::step};
use counter::{Counter, Limit, Order};
pub use counter::{Stop, Work};
use residuals::Residuals;
use trace::Trace;
use zipfold_core::{Error, Result};

/// What a count may take.
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    /// Bytes of all that it keeps.
    pub bytes: u64,
    /// Tables and variables that it looks at.
    pub steps: u64,
    /// Of the order.
    pub seed: u64,
}

/// What is counted.
#[derive(Clone, Copy, Debug)]
pub enum Asked<'a> {
    /// The sum over all variables.
    Total,
    /// That, and the marginals of all.
    Marginals,
    /// The sums for all states of these variables.
    Table(&'a [usize]),
}

/// What a count ends with.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The sum over all variables; a bound from below if the count was stopped.
    pub total: Scalar,
    /// The requested sums, the last variable fastest.
    pub sums: Vec<Scalar>,
    /// The requested marginals, by variable.
    pub marginals: Vec<Vec<f64>>,
    /// What it took.
    pub work: Work,
}

/// Steps a second on one core (1e7 to 5e7 were measured: see `bench/records`).
pub const STEPS: f64 = 2e7;
/// Most variables, and most states of one.
const MOST: usize = 20_000;
const STATES: usize = 64;
/// Bytes of the stack of a count, which descends by two calls a variable.
const STACK: usize = 1 << 30;

/// Refuses networks that a count does not take.
///
/// # Errors
/// `Resource` with what is too large.
pub fn check(cards: &[usize]) -> Result<()> {
    if cards.len() > MOST {
        let e = Error::resource(format!("a count over {} variables", cards.len()));
        return Err(e.limit(format!("{MOST} variables")));
    }
    match cards.iter().position(|c| *c > STATES) {
        Some(v) => {
            let e = Error::resource(format!("a count over a variable with {} states", cards[v]));
            Err(e.limit(format!("{STATES} states")))
        }
        None => Ok(()),
    }
}

/// Sums the product of `tables` over all variables, until it is done or `over` says so.
///
/// # Errors
/// Those of [`check`], and `Resource` where the system gives no stack.
pub fn count(
    cards: &[usize],
    tables: &[Table],
    asked: Asked<'_>,
    limits: Allowed,
    over: &(dyn Fn() -> bool + Sync),
) -> Result<Counted> {
    check(cards)?;
    std::thread::scope(|scope| {
        let work = || counted(cards, tables, asked, limits, over);
        let thread = std::thread::Builder::new().stack_size(STACK);
        let started = thread.spawn_scoped(scope, work);
        let handle =
            started.map_err(|e| Error::resource(format!("a thread for the count: {e}")))?;
        handle
            .join()
            .map_err(|_| Error::internal("the count ended without an answer"))
    })
}

fn counted(
    cards: &[usize],
    tables: &[Table],
    asked: Asked<'_>,
    limits: Allowed,
    over: &(dyn Fn() -> bool + Sync),
) -> Counted {
    let mut out = impossible(cards, asked);
    let scopes: Vec<Vec<usize>> = tables.iter().map(|t| t.scope.clone()).collect();
    let tree = Tree::new(cards, &scopes, &vec![false; cards.len()], limits.seed);
    let order = Order {
        width: tree.context.iter().map(Vec::len).max().unwrap_or(0),
        place: tree.place,
    };
    let mut residuals = Residuals::default();
    let mut scale = Scalar::ONE;
    let (mut bundles, mut lost) = (Vec::with_capacity(tables.len()), Vec::new());
    for table in tables {
        let whole = residuals.of_table(&table.scope, cards, &table.values);
        scale = scale.times(whole.scale);
        bundles.extend(whole.bundle);
        lost.extend(whole.lost.iter().copied());
    }
    if scale.is_zero() {
        return out;
    }
    let states = cards.iter().map(|c| u64::MAX >> (64 - c)).collect();
    let limit = Limit {
        steps: limits.steps,
        over: &over,
    };
    let bytes = usize::try_from(limits.bytes).unwrap_or(usize::MAX);
    let mut counter = Counter::new(residuals, (states, bundles), order, bytes, limit);
    answer(&mut counter, asked, &lost, (cards, &mut out));
    out.sums.iter_mut().for_each(|s| *s = s.times(scale));
    out.total = out.total.times(scale);
    out.work = counter.work;
    out
}

/// Counts what is asked, after the variables of `lost` have lost states.
fn answer(
    counter: &mut Counter<'_>,
    asked: Asked<'_>,
    lost: &[(u32, u64)],
    (cards, out): (&[usize], &mut Counted),
) {
    match asked {
        Asked::Total => out.total = counter.total(lost.to_vec()).0,
        Asked::Marginals => {
            counter.trace = Some(Trace::default());
            let (total, first) = counter.total(lost.to_vec());
            out.total = total;
            if let (Some(first), Some(trace), None) = (&first, &counter.trace, counter.work.stopped)
            {
                out.marginals = trace.marginals(cards, first);
            }
        }
        Asked::Table(vars) => {
            let mut state = vec![0; vars.len()];
            for sum in &mut out.sums {
                let own = vars.iter().zip(&state).map(|(v, s)| (*v as u32, 1 << *s));
                *sum = counter.total(lost.iter().copied().chain(own).collect()).0;
                out.total = out.total.plus(*sum);
                if counter.work.stopped.is_some() {
                    break;
                }
                step(&mut state, |at| cards[vars[at]]);
            }
        }
    }
}

/// The answer where no assignment has more than zero.
fn impossible(cards: &[usize], asked: Asked<'_>) -> Counted {
    let many = match asked {
        Asked::Table(vars) => vars.iter().map(|v| cards[*v]).product(),
        Asked::Total | Asked::Marginals => 0,
    };
    Counted {
        total: Scalar::ZERO,
        sums: vec![Scalar::ZERO; many],
        marginals: Vec::new(),
        work: Work::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zipfold_core::Random;

    struct Sample {
        cards: Vec<usize>,
        tables: Vec<Table>,
    }

    /// Tables with zeros, repeated entries and products over few variables.
    fn case(random: &mut Random) -> Sample {
        let many = 1 + random.below(9);
        let cards: Vec<usize> = (0..many).map(|_| 1 + random.below(3)).collect();
        let zeros = random.below(4);
        let ties = random.below(2) == 0;
        let table = |random: &mut Random| {
            let mut scope: Vec<usize> = (0..1 + random.below(4))
                .map(|_| random.below(many))
                .collect();
            scope.dedup();
            let mut seen = vec![false; many];
            scope.retain(|v| !std::mem::replace(&mut seen[*v], true));
            let len = scope.iter().map(|v| cards[*v]).product();
            let values = (0..len).map(|_| match random.below(6) {
                n if n < zeros => 0.0,
                _ if ties => [0.25, 0.5, 1.0][random.below(3)],
                _ => random.unit() * 4.0,
            });
            Table {
                values: values.collect(),
                scope,
            }
        };
        let tables = (0..random.below(14)).map(|_| table(random)).collect();
        Sample { cards, tables }
    }

    /// The total, and sums by variable and state.
    fn enumerated(case: &Sample) -> (f64, Vec<Vec<f64>>) {
        let mut state = vec![0; case.cards.len()];
        let mut sums: Vec<Vec<f64>> = case.cards.iter().map(|c| vec![0.0; *c]).collect();
        let mut total = 0.0;
        for _ in 0..case.cards.iter().product::<usize>() {
            let entry = |t: &Table| {
                let place = |at, v: &usize| at * case.cards[*v] + state[*v];
                t.values[t.scope.iter().fold(0, place)]
            };
            let product: f64 = case.tables.iter().map(entry).product();
            total += product;
            sums.iter_mut()
                .zip(&state)
                .for_each(|(row, s)| row[*s] += product);
            step(&mut state, |v| case.cards[v]);
        }
        (total, sums)
    }

    fn ask(case: &Sample, asked: Asked<'_>, bytes: u64) -> Counted {
        let limits = Allowed {
            bytes,
            steps: u64::MAX,
            seed: 3,
        };
        count(&case.cards, &case.tables, asked, limits, &|| false).unwrap()
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-11 * b.abs()
    }

    #[test]
    fn sums_are_those_of_enumeration_in_any_memory() {
        let mut random = Random::new(20);
        let (mut nodes, mut zero) = (0, 0);
        for round in 0..1000 {
            let case = case(&mut random);
            let (want, rows) = enumerated(&case);
            let got = ask(&case, Asked::Total, 1 << 24);
            assert!(
                near(got.total.value(), want),
                "round {round}: {got:?} {want}"
            );
            assert_eq!(got.total.is_zero(), want == 0.0, "round {round}");
            let v = random.below(case.cards.len());
            let table = ask(&case, Asked::Table(&[v]), 1 << 24);
            for (sum, want) in table.sums.iter().zip(&rows[v]) {
                assert!(
                    near(sum.value(), *want),
                    "round {round}: {table:?} {rows:?}"
                );
            }
            (nodes, zero) = (nodes + got.work.nodes, zero + usize::from(want == 0.0));
        }
        assert!(
            nodes > 1000 && zero > 50,
            "{nodes} nodes, {zero} sums of zero"
        );
    }

    #[test]
    fn marginals_are_those_of_enumeration() {
        let mut random = Random::new(21);
        let mut many = 0;
        for round in 0..600 {
            let case = case(&mut random);
            let (want, rows) = enumerated(&case);
            let got = ask(&case, Asked::Marginals, 1 << 24);
            assert!(near(got.total.value(), want), "round {round}");
            if want == 0.0 {
                assert!(got.marginals.is_empty());
                continue;
            }
            for (own, row) in got.marginals.iter().flatten().zip(rows.iter().flatten()) {
                assert!(
                    (own - row / want).abs() < 1e-11,
                    "round {round}: {got:?} {rows:?}"
                );
                many += 1;
            }
        }
        assert!(many > 3000, "{many} states");
    }

    #[test]
    fn entries_of_any_size_keep_their_digits() {
        let table = |scope: &[usize], values: &[f64]| Table {
            scope: scope.to_vec(),
            values: values.to_vec(),
        };
        let tied = table(&[0, 1], &[1e-300, 1e300, 2e-300, 3e300]);
        let product = table(&[0, 1], &[1e-300, 1e300, 2e-300, 2e300]);
        for first in [tied, product] {
            let sample = Sample {
                cards: vec![2, 2],
                tables: vec![first.clone(), table(&[1], &[1.0, 0.0])],
            };
            let got = ask(&sample, Asked::Total, 1 << 20);
            assert!(near(got.total.value(), 3e-300), "{got:?}");
            let sample = Sample {
                tables: vec![first.clone(), first, table(&[1], &[1.0, 0.0])],
                ..sample
            };
            let log10 = ask(&sample, Asked::Total, 1 << 20).total.log10();
            assert!((log10 - (5f64.log10() - 600.0)).abs() < 1e-11, "{log10}");
        }
    }

    /// A ring of rings, in which components repeat.
    fn rings() -> Sample {
        const SIDE: usize = 5;
        let cards = vec![3; SIDE * SIDE];
        let mut random = Random::new(9);
        let mut tables = Vec::new();
        for at in 0..SIDE * SIDE {
            let (row, column) = (at / SIDE, at % SIDE);
            for next in [
                row * SIDE + (column + 1) % SIDE,
                (row + 1) % SIDE * SIDE + column,
            ] {
                let mut entry = |_| {
                    if random.below(6) == 0 {
                        0.0
                    } else {
                        random.unit()
                    }
                };
                tables.push(Table {
                    scope: vec![at, next],
                    values: (0..9).map(&mut entry).collect(),
                });
            }
        }
        Sample { cards, tables }
    }

    #[test]
    fn a_small_cache_changes_the_work_and_no_bit() {
        let case = rings();
        let large = ask(&case, Asked::Total, 1 << 28);
        assert!(large.work.known > 0 && large.work.stopped.is_none());
        let small = ask(&case, Asked::Total, large_enough(&case));
        assert!(
            small.work.nodes > large.work.nodes,
            "{:?} {:?}",
            small.work,
            large.work
        );
        assert_eq!(small.total, large.total);
    }

    /// The least power of two in which the count ends.
    fn large_enough(case: &Sample) -> u64 {
        let ends = |bits: &u32| ask(case, Asked::Total, 1 << bits).work.stopped.is_none();
        1 << (12..28).find(ends).unwrap()
    }

    #[test]
    fn a_stopped_count_bounds_the_sum_from_below() {
        let case = rings();
        let whole = ask(&case, Asked::Total, 1 << 28);
        for steps in [10, 1000, 5000, 20_000] {
            let limits = Allowed {
                bytes: 1 << 28,
                steps,
                seed: 3,
            };
            let got = count(&case.cards, &case.tables, Asked::Total, limits, &|| false).unwrap();
            assert_eq!(got.work.stopped, Some(Stop::Steps), "{got:?}");
            assert!(got.total.value() < whole.total.value(), "{got:?}");
        }
        let memory = ask(&case, Asked::Total, 1 << 10);
        assert_eq!(memory.work.stopped, Some(Stop::Memory));
        let wide = count(&[65], &[], Asked::Total, ALLOWED, &|| false).unwrap_err();
        assert!(wide.to_string().contains("64 states"), "{wide}");
    }

    const ALLOWED: Allowed = Allowed {
        bytes: 1 << 20,
        steps: u64::MAX,
        seed: 1,
    };
}
