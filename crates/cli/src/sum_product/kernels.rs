//! All kernels of a device on single joins: what the choice by predicted time is held against.

use super::draw::RandomBucket;
use super::rows::{Cell, Row};
use super::sections::Bench;
use super::there::{There, options, planned};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use zipfold::internals::core::factor::{Evidence, Task};
use zipfold::internals::core::{Budget, Error, Result, figures};
use zipfold::internals::gpu::trials::Trial;
use zipfold::internals::infer::{Settings, explain};
use zipfold::internals::io::network::read_network;
use zipfold::internals::plan::Overrides;
use zipfold::internals::product::cpu::Contracted;
use zipfold::internals::product::cpu::shape::{JoinShapes, Shape};
use zipfold::internals::product::plan::Plan;
use zipfold::internals::product::remote::Remote;

/// Configurations from which the kernel of a join matters.
const FEWEST: f64 = 3e6;
/// Joins of one network, the largest.
const OF_NETWORK: usize = 8;
/// Times the seconds of the best kernel up to which others are told.
const TOLD: f64 = 4.0;
/// Entries of one table at most.
const LARGEST: usize = 1 << 28;

/// The joins of a bucket: those of its plan, and one of all tables.
///
/// # Errors
/// Those of the planner.
pub(crate) fn joins_of_bucket(drawn: &RandomBucket) -> Result<Vec<Shape>> {
    let plan = planned(drawn, &options())?;
    let shapes = JoinShapes::new(&plan);
    let inputs: Vec<usize> = (0..plan.nodes.len())
        .filter(|at| !plan.nodes[*at].is_join())
        .collect();
    let whole = match &plan.roots[..] {
        [root] => shapes.join(&inputs, &plan.nodes, &plan.nodes[*root].scope),
        _ => None,
    };
    Ok(different(joins(&plan).chain(whole)))
}

/// The largest joins of a network's evidence probability.
///
/// # Errors
/// Those of reading and of the planner.
pub(crate) fn joins_of_network(path: &Path) -> Result<Vec<Shape>> {
    let overrides = Overrides::read([("product.method", "elimination")])?;
    let settings = Settings {
        overrides,
        ..Settings::default()
    };
    let network = read_network(path, &Budget::new(settings.memory))?;
    let (_, plan, _) = explain(&network, &Evidence::none(), &Task::Pr, &settings)?;
    let plans = plan.plans();
    let mut all = different(plans.into_iter().flat_map(joins));
    all.sort_by(|a, b| b.visits().total_cmp(&a.visits()));
    all.truncate(OF_NETWORK);
    Ok(all)
}

fn joins(plan: &Plan) -> impl Iterator<Item = Shape> + '_ {
    let shapes = JoinShapes::new(plan);
    let nodes = plan.nodes.iter();
    nodes.filter_map(move |node| shapes.of_node(node))
}

/// Those that are worth a choice, each once.
fn different(shapes: impl Iterator<Item = Shape>) -> Vec<Shape> {
    let mut seen = HashSet::new();
    let mut all: Vec<Shape> = shapes.collect();
    all.retain(|shape| {
        let entries = (0..shape.inputs).map(|f| entries(shape, f));
        let largest = entries.max().unwrap_or(0).max(shape.out_len);
        shape.visits() >= FEWEST && largest <= LARGEST && seen.insert(shape.clone())
    });
    all
}

/// Entries of table `f`.
fn entries(shape: &Shape, f: usize) -> usize {
    let last = shape.digits.iter().map(|d| (d.card - 1) * d.strides[f]);
    last.sum::<usize>() + 1
}

impl<T: Contracted> Bench<T> {
    /// A row for each join of buckets and of networks, until the time is `over`.
    ///
    /// # Errors
    /// Those of planning, of reading, and of the device.
    pub(crate) fn kernels(
        &self,
        (buckets, networks): (&[RandomBucket], &[PathBuf]),
        over: &dyn Fn() -> bool,
        each: &mut dyn FnMut(Row) -> Result<()>,
    ) -> Result<()> {
        let Some(there) = self.there() else {
            return Ok(());
        };
        let mut all = Vec::new();
        for path in networks {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            all.extend(
                joins_of_network(path)?
                    .into_iter()
                    .map(|s| (name.to_string(), s)),
            );
        }
        // The largest first: they matter most where time runs out.
        for drawn in buckets.iter().rev() {
            let name = format!("bucket of {}", figures::si(drawn.operations));
            all.extend(
                joins_of_bucket(drawn)?
                    .into_iter()
                    .map(|s| (name.clone(), s)),
            );
        }
        for (name, shape) in all.iter().take_while(|_| !over()) {
            let mut row = vec![self.kind()];
            row.extend(there.kernels::<T>(name, shape)?);
            each(row)?;
        }
        Ok(())
    }
}

impl There {
    /// Every kernel on the join `shape`, in one row.
    ///
    /// # Errors
    /// Those of [`zipfold::internals::gpu::contract::Contractor::trials`].
    pub(crate) fn kernels<T: Contracted>(&self, what: &str, shape: &Shape) -> Result<Row> {
        let contractor = self.contractor();
        let table = |f: usize| {
            let number = |at: usize| {
                let bits = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                T::from_f64(0.1 + 0.9 * (bits as f64 / 16_777_216.0))
            };
            let items: Vec<T> = (0..entries(shape, f)).map(number).collect();
            contractor.send(T::items(&items))
        };
        let tables = (0..shape.inputs).map(table).collect::<Result<Vec<_>>>()?;
        let tables: Vec<_> = tables.iter().collect();
        let trials = contractor.trials(shape, &tables, &self.pages)?;
        row(what, shape, &trials)
    }
}

/// What was measured: the shape, and each kernel with its microseconds, without kernels that take much
/// longer than the best.
fn row(what: &str, shape: &Shape, trials: &[Trial]) -> Result<Row> {
    let least = |of: &dyn Fn(&Trial) -> f64| trials.iter().min_by(|a, b| of(a).total_cmp(&of(b)));
    let (Some(best), Some(picked)) = (least(&|t| t.seconds), least(&|t| t.predicted)) else {
        return Err(Error::internal("a join without a kernel"));
    };
    let micro = |seconds: f64| format!("{:.1}", seconds * 1e6);
    let own = |t: &Trial| format!("{} {}", t.name, micro(t.seconds));
    let told = trials.iter().filter(|t| t.seconds <= TOLD * best.seconds);
    let all: Vec<String> = told.map(own).collect();
    Ok(vec![
        ("join", Cell::Text(what.into())),
        ("visits", Cell::Number(shape.visits())),
        ("best", Cell::Seconds(best.seconds)),
        ("best_kernel", Cell::Text(best.name.clone())),
        ("picked", Cell::Seconds(picked.seconds)),
        ("picked_kernel", Cell::Text(picked.name.clone())),
        ("predicted", Cell::Seconds(picked.predicted)),
        ("of", Cell::Number(trials.len() as f64)),
        ("shape", Cell::Text(shape.to_string())),
        ("kernels", Cell::Text(all.join("; "))),
    ])
}
