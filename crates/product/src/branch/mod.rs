//! The most probable assignment of a network that is too wide for elimination: branch and bound
//! over its tables, with bounds by truncated elimination. It ends with a proof, or with the best
//! assignment found and a bound from above.
//!
//! ```text
//! functions = logarithms of the tables
//! tree      = order of the search, summed variables below maximised ones        tree.rs
//! buckets   = bounds, in half of the memory                                     buckets.rs
//! best      = states along the greatest bounds; climb from there                start.rs
//! walk      = depth-first search above the value of `best`                      walk.rs
//! answer    = the better assignment, its value, and the bound of what was not searched
//! ```
//!
//! Why this shape: bounds make the search short, and a good first assignment makes bounds cut
//! early. If the time ends, the open subtrees still have bounds, so the answer says how far it may
//! be from the best. The search descends by one call a variable, on a thread with a stack of its
//! own.
#![forbid(unsafe_code)]

mod buckets;
mod start;
pub(crate) mod tree;
mod walk;

use crate::plan::Table;
use buckets::{Buckets, Function};
use tree::Tree;
use walk::{Descent, Problem};
use zipfold_core::{Error, Result};

/// What a search may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of bounds and of contexts together.
    pub bytes: u64,
    /// Entries that are visited while the bounds are made.
    pub visits: f64,
    /// Of the order and the ascents.
    pub seed: u64,
}

/// What a search ends with; values are natural logarithms.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// A value for each variable; none where no assignment above zero was found.
    pub states: Option<Vec<usize>>,
    /// What the assignment has: the product of all tables, summed variables summed. −∞ without one.
    pub value: f64,
    /// A bound from above for every assignment.
    pub bound: f64,
    /// Subtrees that were entered.
    pub nodes: u64,
}

/// Relative difference of value and bound up to which they are equal: both are sums of rounded
/// logarithms.
const EQUAL: f64 = 1e-10;
/// Variables for which an order is looked for.
const MOST: usize = 20_000;
/// Bytes of the stack of a search, which descends by one call a variable.
const STACK: usize = 1 << 30;

impl Outcome {
    /// Whether no assignment has more.
    pub fn is_proven(&self) -> bool {
        // Without an assignment only a bound of −∞ says that there is none.
        let near = || self.bound - self.value <= EQUAL * (1.0 + self.value.abs());
        self.bound <= self.value || (self.value.is_finite() && near())
    }
}

/// Searches for the greatest product of `tables` over all `maximised` variables, the others summed
/// out, until it is proven or `over` says so.
///
/// # Errors
/// `Resource` for networks with too many variables, and where the system gives no stack.
pub fn search(
    cards: &[usize],
    tables: &[Table],
    maximised: &[bool],
    limits: Limits,
    over: &(dyn Fn() -> bool + Sync),
) -> Result<Outcome> {
    if cards.len() > MOST {
        let e = Error::resource(format!("a search over {} variables", cards.len()));
        return Err(e.limit(format!("{MOST} variables")));
    }
    std::thread::scope(|scope| {
        let work = || searched(cards, tables, maximised, limits, over);
        let thread = std::thread::Builder::new().stack_size(STACK);
        let started = thread.spawn_scoped(scope, work);
        let handle =
            started.map_err(|e| Error::resource(format!("a thread for the search: {e}")))?;
        handle
            .join()
            .map_err(|_| Error::internal("the search ended without an answer"))
    })
}

fn searched(
    cards: &[usize],
    tables: &[Table],
    maximised: &[bool],
    limits: Limits,
    over: &(dyn Fn() -> bool + Sync),
) -> Outcome {
    let (functions, constant) = functions(cards, tables);
    let scopes: Vec<Vec<usize>> = functions
        .iter()
        .map(|f| f.strides.iter().map(|(v, _)| *v).collect())
        .collect();
    let tree = Tree::new(cards, &scopes, maximised, limits.seed);
    // Half of the memory for the bounds, half for what the search keeps.
    let room = (limits.visits, limits.bytes as f64 / 2.0 / 8.0);
    let most = Buckets::most(cards, &scopes, &tree, room);
    let buckets = Buckets::new(cards, &functions, &tree, maximised, most);
    let problem = Problem {
        cards,
        tables: &functions,
        maximised,
        tree: &tree,
        buckets: &buckets,
    };
    let mut walk = Descent::new(&problem, (limits.bytes / 2) as usize, &over);
    let mut best = walk.greedy();
    // Exact bounds lead to the best assignment, and an ascent does not see sums.
    let climbs = maximised.iter().all(|m| *m) && !buckets.are_exact(&tree);
    if climbs && !over() {
        best = start::climb(cards, &functions, &best, limits.seed);
    }
    let mut value = walk.value_of(&best).value;
    let (found, states) = walk.run(value);
    if found.value > value {
        (best, value) = (states, found.value);
    }
    let (value, bound) = (value + constant, found.bound.max(value) + constant);
    Outcome {
        states: (value > f64::NEG_INFINITY).then(|| best.iter().map(|s| *s as usize).collect()),
        value,
        bound,
        nodes: walk.nodes,
    }
}

/// Logarithms of the tables, one for every variable that none holds, and what tables without
/// variables come to.
fn functions(cards: &[usize], tables: &[Table]) -> (Vec<Function>, f64) {
    let logs = |t: &Table| t.values.iter().map(|v| v.ln()).collect::<Vec<f64>>();
    let (some, none): (Vec<&Table>, Vec<&Table>) = tables.iter().partition(|t| !t.scope.is_empty());
    let mut all: Vec<Function> = some
        .iter()
        .map(|t| Function::new(&t.scope, cards, logs(t)))
        .collect();
    let mut held = vec![false; cards.len()];
    some.iter()
        .flat_map(|t| &t.scope)
        .for_each(|v| held[*v] = true);
    let free = (0..cards.len()).filter(|v| !held[*v]);
    all.extend(free.map(|v| Function::new(&[v], cards, vec![0.0; cards[v]])));
    (all, none.into_iter().flat_map(logs).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use zipfold_core::Random;

    struct Case {
        cards: Vec<usize>,
        tables: Vec<Table>,
        maximised: Vec<bool>,
    }

    /// Tables with zeros and ties over few variables.
    fn case(random: &mut Random, summed: bool) -> Case {
        let many = 1 + random.below(9);
        let cards: Vec<usize> = (0..many).map(|_| 1 + random.below(3)).collect();
        let ties = random.below(2) == 0;
        let zeros = random.below(3);
        let entry = |random: &mut Random| match random.below(6) {
            n if n < zeros => 0.0,
            _ if ties => [0.25, 0.5, 1.0][random.below(3)],
            _ => random.unit() * 4.0,
        };
        let tables = (0..random.below(14))
            .map(|_| {
                let mut scope: Vec<usize> = (0..1 + random.below(3))
                    .map(|_| random.below(many))
                    .collect();
                scope.sort_unstable();
                scope.dedup();
                let len = scope.iter().map(|v| cards[*v]).product();
                Table {
                    values: (0..len).map(|_| entry(random)).collect(),
                    scope,
                }
            })
            .collect();
        let maximised = (0..many).map(|_| !summed || random.below(2) == 0).collect();
        Case {
            cards,
            tables,
            maximised,
        }
    }

    /// By assignment of the maximised variables: the sum over all others. Returns the greatest, and
    /// that of `asked`.
    fn counted(case: &Case, asked: Option<&[usize]>) -> (f64, f64) {
        let mut state = vec![0; case.cards.len()];
        let mut sums = std::collections::BTreeMap::<Vec<usize>, f64>::new();
        for _ in 0..case.cards.iter().product::<usize>() {
            let entry = |t: &Table| {
                let place = t
                    .scope
                    .iter()
                    .fold(0, |at, v| at * case.cards[*v] + state[*v]);
                t.values[place]
            };
            let product: f64 = case.tables.iter().map(entry).product();
            let maximised = (0..state.len()).filter(|v| case.maximised[*v]);
            *sums
                .entry(maximised.map(|v| state[v]).collect())
                .or_default() += product;
            crate::plan::reduced::step(&mut state, |v| case.cards[v]);
        }
        let own = asked.map(|s| {
            let maximised = (0..s.len()).filter(|v| case.maximised[*v]);
            sums[&maximised.map(|v| s[v]).collect::<Vec<_>>()]
        });
        (
            sums.values().copied().fold(0.0, f64::max),
            own.unwrap_or(0.0),
        )
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs()
    }

    fn agree(seed: u64, summed: bool, visits: f64) -> u64 {
        let mut random = Random::new(seed);
        let mut nodes = 0;
        for round in 0..400 {
            let case = case(&mut random, summed);
            let limits = Limits {
                bytes: if round % 3 == 0 { 4000 } else { 1 << 24 },
                visits,
                seed,
            };
            let got = search(&case.cards, &case.tables, &case.maximised, limits, &|| {
                false
            })
            .unwrap();
            let (most, own) = counted(&case, got.states.as_deref());
            assert!(got.is_proven(), "round {round}: {got:?}");
            assert!(
                close(got.value.exp(), most) && close(got.bound.exp(), most),
                "{got:?} {most}"
            );
            assert_eq!(got.states.is_some(), most > 0.0, "round {round}");
            assert!(
                close(own, most) || most == 0.0,
                "round {round}: {own} of {most}"
            );
            nodes += got.nodes;
        }
        nodes
    }

    #[test]
    fn the_greatest_product_is_that_of_counting() {
        let nodes =
            [(1, 0.0), (2, 60.0), (3, 1e9)].map(|(seed, visits)| agree(seed, false, visits));
        // Bounds over more entries leave less to the search; exact ones leave nothing.
        assert!(nodes[0] > 300 && nodes[2] == 0, "{nodes:?}");
    }

    #[test]
    fn the_greatest_sum_is_that_of_counting() {
        let nodes = [(4, 0.0), (5, 60.0), (6, 1e9)].map(|(seed, visits)| agree(seed, true, visits));
        assert!(nodes[0] > 300 && nodes[2] == 0, "{nodes:?}");
    }

    #[test]
    fn a_search_without_time_has_a_bound_and_often_an_assignment() {
        let mut random = Random::new(8);
        let (mut open, mut found) = (0, 0);
        for round in 0..200 {
            let case = case(&mut random, round % 2 == 1);
            let limits = Limits {
                bytes: 1 << 20,
                visits: 0.0,
                seed: 1,
            };
            let got = search(&case.cards, &case.tables, &case.maximised, limits, &|| true).unwrap();
            let (most, own) = counted(&case, got.states.as_deref());
            assert!(got.bound.exp() >= most * (1.0 - 1e-9), "{got:?} {most}");
            assert!(got.value.exp() <= most * (1.0 + 1e-9), "{got:?} {most}");
            if got.states.is_some() {
                assert!(got.value.exp() <= own * (1.0 + 1e-9), "{got:?} {own}");
                found += 1;
            }
            if got.states.is_none() && most > 0.0 {
                assert!(!got.is_proven(), "{got:?} {most}");
            }
            open += usize::from(!got.is_proven());
        }
        assert!(found > 100, "{found} assignments");
        assert!(open < 200);
    }

    /// A grid of binary variables with random couplings, wider than the bounds.
    #[test]
    fn a_grid_wider_than_its_bounds_is_proven() {
        const SIDE: usize = 7;
        let mut random = Random::new(77);
        let cards = vec![2; SIDE * SIDE];
        let mut tables = Vec::new();
        let mut table = |scope: Vec<usize>, random: &mut Random| {
            let values = (0..1 << scope.len())
                .map(|_| (4.0 * random.unit() - 2.0).exp())
                .collect();
            tables.push(Table { scope, values });
        };
        for at in 0..SIDE * SIDE {
            table(vec![at], &mut random);
            if at % SIDE + 1 < SIDE {
                table(vec![at, at + 1], &mut random);
            }
            if at + SIDE < SIDE * SIDE {
                table(vec![at, at + SIDE], &mut random);
            }
        }
        let ask = |visits: f64| {
            let limits = Limits {
                bytes: 1 << 26,
                visits,
                seed: 3,
            };
            search(&cards, &tables, &vec![true; cards.len()], limits, &|| false).unwrap()
        };
        let (searched, exact) = (ask(2000.0), ask(1e9));
        assert!(exact.nodes == 0 && searched.nodes > 10, "{searched:?}");
        assert!((searched.value - exact.value).abs() < 1e-9 && searched.is_proven());
        assert_eq!(searched.states, exact.states);
    }
}
