//! Exact inference: simplify → order → fit → execute → answer.

mod mmap;
mod parts;
mod run;
mod settings;

pub use crate::beside::{OnDevice, PagedJoins};
pub use crate::branch::{Gap, Searched};
pub use settings::{Inferred, Listener, Planned, Settings};

use crate::branch::{self, Maximised};
use mmap::marginal_map;
use parts::check_rows;
use run::{InferenceRun, Sink};
use zipfold_core::factor::{Evidence, Network, Task};
use zipfold_core::{Blame, Budget, Error, Opt, Result};
use zipfold_plan::overrides::ProductMethod;
use zipfold_product::plan::{Need, Reduced, reduce};

/// Answers `task` about `network` given `evidence`.
///
/// # Errors
/// `Request` for variables that do not exist or are named twice; `Resource` when the network is too
/// wide.
pub fn infer(
    network: &Network,
    evidence: &Evidence,
    task: &Task,
    settings: &Settings,
) -> Result<Inferred> {
    let asked = match task {
        Task::Mmap(vars) | Task::Sum(vars) => &vars[..],
        _ => &[],
    };
    zipfold_core::factor::table::check_scope(asked, network.cards())
        .map_err(|e| Error::request(e.what().marked()).at_least("the asked variables"))?;
    let settings = &settings.of_one_answer();
    let budget = Budget::new(settings.memory);
    let _network = budget.reserve(network.bytes(), "the network")?;
    check_rows(network, &settings.warnings);
    let mut out = answered(network, evidence, task, (settings, &budget))?;
    out.warnings = settings.warnings.all();
    Ok(out)
}

/// The answer by elimination, or by a search where that is chosen or elimination is refused.
fn answered(
    network: &Network,
    evidence: &Evidence,
    task: &Task,
    (settings, budget): (&Settings, &Budget),
) -> Result<Inferred> {
    let eliminated = || match task {
        Task::Mmap(vars) => marginal_map(network, evidence, vars, settings, budget),
        Task::Pr | Task::Mar | Task::Map | Task::Sum(_) | Task::Samples(_) => {
            InferenceRun::new(network, evidence, task, settings, budget)?.answer(task)
        }
    };
    let search = |refused| searched(network, evidence, task, (settings, budget, refused));
    match method(task, settings)? {
        ProductMethod::Search => search(None),
        ProductMethod::Auto => match eliminated() {
            Err(e) if e.blame() == Blame::Resource => search(Some(e)),
            other => other,
        },
        ProductMethod::Elimination => eliminated(),
    }
}

/// The answer of a search.
fn searched(
    network: &Network,
    evidence: &Evidence,
    task: &Task,
    (settings, budget, refused): (&Settings, &Budget, Option<Error>),
) -> Result<Inferred> {
    let maximised = match task {
        Task::Mmap(vars) => Maximised::Some(vars),
        Task::Map => Maximised::All,
        Task::Pr | Task::Mar | Task::Sum(_) | Task::Samples(_) => Maximised::None,
    };
    let how = branch::How {
        time_limit: settings.time_limit,
        seed: settings.seed,
        budget,
        warnings: &settings.warnings,
        tell: &|phase, seconds| settings.tell(phase, seconds),
    };
    let (answer, gap, [simplified, took]) = branch::bounded(network, evidence, maximised, &how)?;
    Ok(Inferred {
        answer,
        plan: Planned::Searched(Searched { refused, gap }),
        device: None,
        seconds: [simplified, 0.0, took],
        peak_bytes: budget.peak(),
        warnings: Vec::new(),
    })
}

/// How the answer to `task` is found.
///
/// # Errors
/// `Request` when a search is chosen for a task that has none.
fn method(task: &Task, settings: &Settings) -> Result<ProductMethod> {
    let chosen = settings.overrides.product_method;
    match task {
        Task::Map | Task::Mmap(_) => Ok(chosen.unwrap_or(ProductMethod::Auto)),
        Task::Pr if chosen == Some(ProductMethod::Search) => Ok(ProductMethod::Search),
        Task::Mar | Task::Sum(_) | Task::Samples(_) if chosen == Some(ProductMethod::Search) => {
            let e = Error::request("expected pr, map or mmap, got another task");
            let e = e.at_place(Opt::Set.like("product.method=search"));
            Err(e.remedy(Opt::Set.like("product.method=elimination")))
        }
        // A sum that elimination refuses stays refused at once: a search of it may only bound it.
        Task::Pr | Task::Mar | Task::Sum(_) | Task::Samples(_) => Ok(ProductMethod::Elimination),
    }
}

/// The plan that [`infer`] would execute, without executing it (MMAP: of its first stage).
///
/// # Errors
/// As [`infer`].
pub fn explain(
    network: &Network,
    evidence: &Evidence,
    task: &Task,
    settings: &Settings,
) -> Result<(Reduced, Planned, Option<OnDevice>)> {
    let budget = Budget::new(settings.memory);
    let _network = budget.reserve(network.bytes(), "the network")?;
    let method = method(task, settings)?;
    let searched = |refused| {
        let reduced = reduce(network, evidence, Need::Every, &[]);
        let searched = Searched { refused, gap: None };
        Ok((reduced, Planned::Searched(searched), None))
    };
    if method == ProductMethod::Search {
        return searched(None);
    }
    match InferenceRun::new(network, evidence, task, settings, &budget) {
        Err(e) if method == ProductMethod::Auto && e.blame() == Blame::Resource => {
            searched(Some(e))
        }
        run => Ok(run?.into_plan()),
    }
}

/// Samples of the posterior, given to `sink` one after another with log10 Z: none is held.
/// Otherwise as [`infer`] with [`Task::Samples`], whose samples these are; its answer here holds
/// none.
///
/// # Errors
/// As [`infer`], and those of `sink`.
pub fn samples(
    network: &Network,
    evidence: &Evidence,
    many: usize,
    settings: &Settings,
    sink: &mut Sink<'_>,
) -> Result<Inferred> {
    let settings = &settings.of_one_answer();
    let budget = Budget::new(settings.memory);
    let _network = budget.reserve(network.bytes(), "the network")?;
    check_rows(network, &settings.warnings);
    method(&Task::Samples(many), settings)?;
    let task = Task::Samples(many);
    InferenceRun::new(network, evidence, &task, settings, &budget)?.give_samples(many, sink)
}
