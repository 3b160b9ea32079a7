//! From a simplified network to its plan: eliminations that need no search, the search for an
//! order, fused joins, slices.
//!
//! ```text
//! forest = the tables; the easy eliminations                               forest.rs
//! for each component with more than one table left
//!     local graph of its variables; refuse one without room for it         local.rs
//!     tree = search for an order, within the time                          search.rs
//!         hopeless even by the lower bound: refuse with what would help
//!     join along the tree, children first
//! without a backward sweep: fuse joins that are read once                  fuse.rs
//! assemble: nodes in the order of execution, scopes in one order of all variables
//! fit: slice until the tables fit the memory                               slice.rs
//! refuse what is predicted to take longer than the limit
//! ```
//!
//! Why this shape: each step sees only what the one before left. One order of all variables sorts
//! every scope (last summed first), so that the variables that a join sums run fastest in all its
//! tables. The input with the largest tables below it is executed first, so that little is held
//! meanwhile.

use super::cost::{Prediction, Weights};
use super::forest::{Forest, Node, Source};
use super::joins::{Options, Pass, Plan};
use super::local::Local;
use super::reduced::Reduced;
use super::search::{Effort, Found, search};
use super::sweep::Sweep;
use zipfold_core::{Error, Opt, Result, budget::human_bytes, budget::human_bytes_up};

/// Cost of an entry that is written and read once, in multiply-adds of the matrix kernel: what
/// fresh memory and its traffic take on the machine of [`Rates::default`].
const ENTRY: f64 = 64.0;

/// Plans the contraction of `reduced`. The reduced variables `asked` are never summed; before a
/// backward sweep they are, and it reads their marginals.
///
/// # Errors
/// `Resource` when the cheapest plan found needs more memory or time than allowed; the message says
/// how much.
pub fn plan(reduced: &Reduced, asked: &[usize], options: &Options) -> Result<Plan> {
    let mut keep = vec![false; reduced.cards.len()];
    if options.pass != Pass::Sweep {
        asked.iter().for_each(|v| keep[*v] = true);
    }
    let mut forest = Forest::new(
        &reduced.cards,
        keep,
        reduced.tables.iter().map(|t| t.scope.clone()),
    );
    forest.eliminate_easy();
    let mut hard = Vec::new();
    let mut searched = 0.0;
    for component in forest.components() {
        if let [table] = component[..] {
            join_alone(&mut forest, table);
            continue;
        }
        let (size, cost, seconds) = join_by_search(&mut forest, &component, options)?;
        hard.push((size, cost));
        searched += seconds;
    }
    if options.pass != Pass::Sweep {
        super::fuse::fuse(&mut forest, &options.rates);
    }
    let mut out = assemble(forest, asked, options);
    out.hard = hard;
    out.searched = searched;
    super::slice::fit(&mut out, options)?;
    refuse_hopeless(&out, options)?;
    Ok(out)
}

/// Sums the variables of a table that shares none, unless all are kept.
fn join_alone(forest: &mut Forest, table: usize) {
    let scope = &forest.nodes[table].scope;
    if !scope.iter().all(|v| forest.kept[*v]) {
        forest.join(&[table]);
    }
}

/// Joins the tables of a component in the best order that a search finds. Returns how many
/// variables it has, the cost of the order, and the seconds of the search.
fn join_by_search(
    forest: &mut Forest,
    component: &[usize],
    options: &Options,
) -> Result<(usize, f64, f64)> {
    let graph = Local::bytes(forest, component).saturating_add(options.held);
    let Some(room) = options.memory.checked_sub(graph) else {
        return Err(graph_too_large(component.len(), graph, options));
    };
    let local = Local::new(forest, component);
    let weights = Weights {
        entry: ENTRY,
        cap: (options.memory as f64 / 32.0).log2(),
        start: 2000.0,
    };
    let passes = if options.pass == Pass::Sweep {
        3.0
    } else {
        1.0
    };
    let unit = passes / options.rates.matrix;
    let effort = Effort {
        seed: options.seed,
        seconds: options.order_seconds,
        patience: options.patience,
        unit,
        limit: options.time_limit,
        room,
    };
    let (tree, cost, seconds) = match search(&local, &weights, effort) {
        Found::Tree(tree, cost, seconds) => (tree, cost, seconds),
        Found::Hopeless(least) => return Err(hopeless(&local, least, unit, options)),
    };
    let mut ids = local.nodes.clone();
    ids.resize(tree.children.len(), usize::MAX);
    for at in tree.post_order() {
        ids[at] = forest.join(&tree.children[at].map(|c| ids[c as usize]));
    }
    Ok((local.variables.len(), cost, seconds))
}

/// The refusal of a component whose graph alone takes too much memory.
fn graph_too_large(tables: usize, graph: u64, options: &Options) -> Error {
    Error::resource(format!(
        "the graph of {tables} tables needs {}",
        human_bytes(graph)
    ))
    .limit(format!("memory {}", human_bytes(options.memory)))
    .remedy(format!("{} or more", Opt::Memory.to(human_bytes_up(graph))))
}

impl Plan {
    /// Reads the marginals of `asked` alone, which the plan's sweep reads among others.
    pub fn ask(&mut self, asked: &[usize], options: &Options) {
        self.sweep = Sweep::for_marginals(&self.nodes, &self.cards, asked);
        super::slice::again(self, options);
    }
}

/// The refusal of a component that no order makes small enough.
fn hopeless(local: &Local, least: f64, unit: f64, options: &Options) -> Error {
    let width = bound_width(local, least);
    Error::resource(format!(
        "the network is too wide for exact inference here: {} variables hang together with width at least {width}, so that every order visits at least 2^{least:.0} configurations, about {:.1e} seconds",
        local.variables.len(),
        least.exp2() * unit
    ))
    .limit(format!("{} seconds in {}", options.time_limit, human_bytes(options.memory)))
    .remedy(narrower())
}

/// Fewest variables, of the largest domain size, that reach 2^`least` configurations, less one.
fn bound_width(local: &Local, least: f64) -> usize {
    let widest = local.weight.iter().copied().fold(0.0, f64::max);
    ((least / widest.max(1e-9)).ceil() as usize).saturating_sub(1)
}

/// What helps a network that is too wide.
fn narrower() -> String {
    let (order, memory, limit) = (Opt::OrderTime, Opt::Memory, Opt::TimeLimit);
    format!("more evidence, a longer {order}, more {memory}, or a {limit} above the prediction")
}

fn refuse_hopeless(plan: &Plan, options: &Options) -> Result<()> {
    let p = &plan.prediction;
    if p.seconds <= options.time_limit {
        return Ok(());
    }
    let slices = plan
        .sliced
        .iter()
        .fold(0.0, |sum, v| sum + (plan.cards[*v] as f64).log2());
    Err(Error::resource(format!(
        "the network is too wide for exact inference here: width {}, {:.3e} operations, 2^{slices:.0} slices of at most 2^{:.0} entries, about {:.3e} seconds, by the best order of {:.1} seconds of search",
        p.width, p.flops, p.largest, p.seconds, plan.searched
    ))
    .limit(format!("{} seconds in {}", options.time_limit, human_bytes(options.memory)))
    .remedy(narrower()))
}

/// Numbers the nodes in the order of execution and sorts every scope by the global variable order.
fn assemble(forest: Forest, asked: &[usize], options: &Options) -> Plan {
    let roots: Vec<usize> = (0..forest.nodes.len())
        .filter(|n| forest.active[*n])
        .collect();
    let weight = subtree_peaks(&forest);
    let order = execution_order(&forest, &roots, &weight);
    let mut new = vec![0; forest.nodes.len()];
    order.iter().enumerate().for_each(|(at, n)| new[*n] = at);
    let rank = variable_ranks(&forest, &order, &roots);
    let mut nodes: Vec<Node> = order.iter().map(|n| forest.nodes[*n].clone()).collect();
    for node in &mut nodes {
        node.scope.sort_by_key(|v| rank[*v]);
        node.summed.sort_by_key(|v| rank[*v]);
        if let Source::Join(inputs) = &mut node.source {
            inputs.iter_mut().for_each(|n| *n = new[*n]);
        }
    }
    let sweep = if options.pass == Pass::Sweep {
        Sweep::for_marginals(&nodes, &forest.cards, asked)
    } else {
        Sweep::default()
    };
    Plan {
        cards: forest.cards,
        nodes,
        rank,
        roots: roots.into_iter().map(|n| new[n]).collect(),
        sliced: Vec::new(),
        sweep,
        prediction: Prediction::default(),
        hard: Vec::new(),
        searched: 0.0,
    }
}

/// The global order of variables: as they are summed, then those that are kept.
fn variable_ranks(forest: &Forest, order: &[usize], roots: &[usize]) -> Vec<u32> {
    let summed = order
        .iter()
        .flat_map(|n| forest.nodes[*n].summed.iter().copied());
    let kept = free_order(forest, roots);
    let mut rank = vec![0u32; forest.cards.len()];
    summed
        .chain(kept)
        .enumerate()
        .for_each(|(place, v)| rank[v] = place as u32);
    rank
}

/// The kept variables, those of the largest table that makes the result last: it is then read run
/// by run.
fn free_order(forest: &Forest, roots: &[usize]) -> Vec<usize> {
    let mut largest = vec![0.0f64; forest.cards.len()];
    for root in roots {
        let Source::Join(inputs) = &forest.nodes[*root].source else {
            continue;
        };
        for scope in inputs.iter().map(|n| &forest.nodes[*n].scope) {
            let entries = forest.size(scope);
            scope
                .iter()
                .for_each(|v| largest[*v] = largest[*v].max(entries));
        }
    }
    let mut out: Vec<usize> = (0..forest.cards.len())
        .filter(|v| forest.kept[*v])
        .collect();
    out.sort_by(|a, b| largest[*a].total_cmp(&largest[*b]));
    out
}

/// Entries that the largest table below each node has.
fn subtree_peaks(forest: &Forest) -> Vec<f64> {
    let mut out: Vec<f64> = forest.nodes.iter().map(|n| forest.size(&n.scope)).collect();
    for at in 0..forest.nodes.len() {
        if let Source::Join(inputs) = &forest.nodes[at].source {
            out[at] = inputs.iter().map(|n| out[*n]).fold(out[at], f64::max);
        }
    }
    out
}

/// Post-order, the input with the largest tables below it first, so that little is held meanwhile.
fn execution_order(forest: &Forest, roots: &[usize], weight: &[f64]) -> Vec<usize> {
    let mut out = Vec::with_capacity(forest.nodes.len());
    let mut stack: Vec<(usize, bool)> = roots.iter().rev().map(|n| (*n, false)).collect();
    while let Some((n, ready)) = stack.pop() {
        match &forest.nodes[n].source {
            Source::Join(inputs) if !ready => {
                stack.push((n, true));
                let mut inputs = inputs.clone();
                inputs.sort_by(|a, b| weight[*a].total_cmp(&weight[*b]));
                stack.extend(inputs.into_iter().map(|i| (i, false)));
            }
            _ => out.push(n),
        }
    }
    out
}
