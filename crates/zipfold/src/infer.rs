//! Exact inference: simplify → order → fit → execute → answer.

mod count;
mod counting;
mod mmap;
mod parts;
mod run;
mod settings;

pub use crate::beside::{OnDevice, PagedJoins};
pub use crate::branch::{Gap, Searched};
pub use counting::{Counting, Why};
pub use settings::{Inferred, Listener, Planned, Settings};

use crate::branch::{self, Maximised};
use crate::shared_slices::SliceStore;
use count::CountRun;
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
    check_asked(network, asked)?;
    let settings = &settings.of_one_answer();
    let budget = Budget::new(settings.memory);
    let _network = budget.reserve(network.bytes(), "the network")?;
    check_rows(network, &settings.warnings);
    let mut out = answered(network, evidence, task, (settings, &budget))?;
    warn_of_whole(&out.plan, task, settings);
    out.warnings = settings.warnings.all();
    Ok(out)
}

/// Refuses variables that do not exist or are asked twice.
fn check_asked(network: &Network, asked: &[usize]) -> Result<()> {
    let all = network.cards().len();
    let mut before = std::collections::HashSet::new();
    match asked.iter().find(|v| **v >= all || !before.insert(**v)) {
        None => Ok(()),
        Some(v) => {
            let e = match *v < all {
                true => Error::request(format!("variable '{}' is asked twice", network.name(*v))),
                false => Error::request(format!("variable {v} does not exist"))
                    .limit(format!("{all} variables")),
            };
            Err(e.at_place("the asked variables"))
        }
    }
}

/// Warns of a store whose processes have nothing to share out.
fn warn_of_whole(plan: &Planned, task: &Task, settings: &Settings) {
    // The plan of MMAP is that of its last stage alone.
    let stages = matches!(task, Task::Mmap(_));
    let alone = settings
        .store
        .as_ref()
        .is_none_or(SliceStore::is_planned_alone);
    let slices: usize = plan.plans().iter().map(|plan| plan.slices()).sum();
    if !alone && slices <= 1 && !stages {
        settings.warnings.add(format!(
            "{} has no use: the plan has no slices, so every process computes all of it",
            Opt::Store
        ));
    }
}

/// The answer by elimination, or by a search or a count where that is chosen or elimination is
/// refused.
fn answered(
    network: &Network,
    evidence: &Evidence,
    task: &Task,
    (settings, budget): (&Settings, &Budget),
) -> Result<Inferred> {
    crate::beside::check(&settings.overrides)?;
    let run =
        |simplified| InferenceRun::new(network, evidence, task, (settings, budget), simplified);
    let eliminated = || match task {
        Task::Mmap(vars) => marginal_map(network, evidence, vars, settings, budget),
        Task::Pr | Task::Mar | Task::Map | Task::Sum(_) | Task::Samples(_) => {
            run(None)?.answer(task)
        }
    };
    let search = |refused| searched(network, evidence, task, (settings, budget, refused));
    let count = CountRun {
        network,
        evidence,
        task,
        settings,
        budget,
        steps: u64::MAX,
    };
    match method(task, settings)? {
        ProductMethod::Search => search(None),
        ProductMethod::Components => counted(&count, Why::Chosen),
        ProductMethod::Elimination => eliminated(),
        ProductMethod::Auto if count::answers(task) => faster(&run, count),
        ProductMethod::Auto => match eliminated() {
            Err(e) if e.blame() == Blame::Resource => search(Some(e)),
            other => other,
        },
    }
}

/// The answer of `run`; where it takes long or is refused, that of a count if it ends soon.
fn faster<'a>(
    run: &dyn Fn(Option<Reduced>) -> Result<InferenceRun<'a>>,
    mut count: CountRun<'_>,
) -> Result<Inferred> {
    let simplified = match count.early() {
        Ok((done, why)) => return Ok(told(&count, done, why)),
        Err(simplified) => simplified,
    };
    match run(simplified.map(|reduced| *reduced)) {
        Ok(run) => {
            let seconds = run.seconds();
            let tried = count::steps_before(count.settings, seconds).and_then(|steps| {
                count.steps = steps;
                counted(&count, Why::Slower(seconds)).ok()
            });
            tried.map_or_else(|| run.answer(count.task), Ok)
        }
        Err(e) if e.blame() == Blame::Resource => {
            count.steps = count::steps_instead(count.settings);
            counted(&count, Why::Refused(e.clone())).map_err(|counted| e.also(&counted))
        }
        Err(e) => Err(e),
    }
}

/// The answer of a count.
fn counted(run: &CountRun<'_>, why: Why) -> Result<Inferred> {
    Ok(told(run, run.answer()?, why))
}

fn told(run: &CountRun<'_>, done: count::Done, why: Why) -> Inferred {
    let (answer, work, [simplified, took]) = done;
    let work = Some(work);
    Inferred {
        answer,
        plan: Planned::Counted(Counting { why, work }),
        device: None,
        seconds: [simplified, 0.0, took],
        peak_bytes: run.budget.peak(),
        warnings: Vec::new(),
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
/// `Request` when a search or a count is chosen for a task that has none.
fn method(task: &Task, settings: &Settings) -> Result<ProductMethod> {
    let chosen = settings
        .overrides
        .product_method
        .unwrap_or(ProductMethod::Auto);
    let fits = match chosen {
        ProductMethod::Auto | ProductMethod::Elimination => true,
        ProductMethod::Search => matches!(task, Task::Pr | Task::Map | Task::Mmap(_)),
        ProductMethod::Components => count::answers(task),
    };
    if !fits {
        let have = match chosen {
            ProductMethod::Components => "pr, mar or sum",
            _ => "pr, map or mmap",
        };
        let e = Error::request(format!("expected {have}, got another task"));
        let chosen = format!("product.method={}", chosen.name());
        return Err(e
            .at_place(Opt::Set.like(&chosen))
            .remedy(Opt::Set.like("product.method=elimination")));
    }
    Ok(match task {
        Task::Samples(_) => ProductMethod::Elimination,
        _ => chosen,
    })
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
    crate::beside::check(&settings.overrides)?;
    let method = method(task, settings)?;
    let searched = |refused| {
        let reduced = reduce(network, evidence, Need::Every, &[]);
        let searched = Searched { refused, gap: None };
        Ok((reduced, Planned::Searched(searched), None))
    };
    let counted = |why| {
        let (need, keep) = count::needed(task);
        let reduced = reduce(network, evidence, need, keep);
        let counting = Counting { why, work: None };
        Ok((reduced, Planned::Counted(counting), None))
    };
    match method {
        ProductMethod::Search => return searched(None),
        ProductMethod::Components => return counted(Why::Chosen),
        ProductMethod::Auto | ProductMethod::Elimination => {}
    }
    match InferenceRun::new(network, evidence, task, (settings, &budget), None) {
        Err(e) if method == ProductMethod::Auto && e.blame() == Blame::Resource => {
            match count::answers(task) {
                true => counted(Why::Refused(e)),
                false => searched(Some(e)),
            }
        }
        run => Ok(run?.into_plan()),
    }
}

/// Seconds that a count takes at most before an elimination of `seconds`; none where it is not
/// tried.
pub fn count_first(
    (network, evidence): (&Network, &Evidence),
    task: &Task,
    settings: &Settings,
    seconds: f64,
) -> Option<f64> {
    if !count::answers(task) || method(task, settings).ok()? != ProductMethod::Auto {
        return None;
    }
    let later = count::steps_before(settings, seconds);
    let later = later.map(|steps| steps as f64 / zipfold_product::count::STEPS);
    let run = CountRun {
        network,
        evidence,
        task,
        settings,
        budget: &Budget::new(settings.memory),
        steps: 0,
    };
    later.or_else(|| run.early_seconds())
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
    crate::beside::check(&settings.overrides)?;
    InferenceRun::new(network, evidence, &task, (settings, &budget), None)?.give_samples(many, sink)
}
