//! Renders a plan as text for `explain`: a short form in words of the question, and a long one in
//! words of the engine.
//!
//! It only reads a plan. If something that `explain` should say is not in the plan, the planner
//! must put it there: what is printed is what runs. Options are named by marks, which the interface
//! puts into its own words.
//!
//! ```text
//! pairs      54 481 141: i < j of 10 439 rows, 3 numbers a row
//! keeps      counts in 100 bins
//! computes   on the CPU, 8 threads, avx512, double precision, by a sweep of points
//! pruning    off: …
//! ```

use crate::matches::{MatchGoal, MatchPlan};
use crate::plan::Plan;
use crate::strategy::Strategy;
use zipfold_core::budget::human_bytes;
use zipfold_core::fold::Fold;
use zipfold_core::pair::lower::Lowered;
use zipfold_core::{Domain, Job, Message, Opt, Precision, figures};

/// Terms below this share of the predicted time are left out of the short form.
///
/// A term below one per cent of the total could not change a decision of the user. The long form
/// lists all of them.
const TOLD: f64 = 0.01;

/// Renders the short form: pairs, folds, how they are computed, memory and predicted time, a line
/// each.
///
/// The first word of a line is a label in a column of eleven characters, so that the lines read as
/// a table; lines that continue one are indented by as much.
fn short(job: &Job, plan: &Plan) -> String {
    let mut lines = vec![
        format!("pairs      {}", pairs(job, plan)),
        format!("keeps      {}", kept(job)),
    ];
    if let (Some(parts), Some(_)) = (&job.parts, &plan.part) {
        let count = figures::grouped(parts.list.len() as u64);
        lines.push(format!(
            "parts      {count}, each computed as a question of its own"
        ));
    }
    lines.extend(plan.matches.as_ref().map(matches));
    lines.extend([
        format!("computes   {}", computes(plan)),
        format!("pruning    {}", pruning(job, plan)),
        format!(
            "memory     {} beside the inputs",
            human_bytes(plan.peak_bytes)
        ),
        format!("predicted  {}", figures::duration(plan.seconds)),
    ]);
    let total = lines.len() - 1;
    // Terms of a device are not the CPU's; a term below one per cent is not worth a line.
    let terms: Vec<_> = plan
        .terms
        .iter()
        .filter(|t| plan.backend == "cpu" && t.seconds >= TOLD * plan.seconds)
        .collect();
    // With one term left its name goes behind the total, with several each has a line.
    if terms.len() > 1 {
        lines.extend(
            terms
                .iter()
                .map(|t| format!("           {:>8} {}", figures::duration(t.seconds), t.what)),
        );
    } else if plan.backend == "cpu" {
        lines[total] += &format!(", {}", plan.bound);
    }
    lines.join("\n")
}

/// Says what is kept of the values, for which values of a parameter, and what becomes of it.
fn kept(job: &Job) -> String {
    let folds = job.folds[..job.answers()].iter().map(Fold::describe);
    let mut words = folds.collect::<Vec<_>>().join("; ");
    if let Some(axis) = &job.param {
        let count = axis.len();
        words += &format!(", for each of {count} values of {}", axis.name);
    }
    if let Some(stage) = job.second_stage() {
        words += &format!(", {stage}");
    }
    words
}

/// Says where matches are while the run goes on.
fn matches(plan: &MatchPlan) -> String {
    let room = human_bytes(plan.room);
    let count = match plan.predicted {
        0 => format!("fewer than {} predicted", figures::si(plan.seen as f64)),
        many => format!("about {} predicted", figures::si(many as f64)),
    };
    let bytes = human_bytes(plan.predicted.saturating_mul(plan.bytes));
    let file = Opt::Output.like("matches.parquet");
    let what = match (plan.exceeds(), plan.goal) {
        (true, MatchGoal::File) => {
            format!(
                ", {bytes}: written to sorted runs next to the output, {room} of them in memory"
            )
        }
        (false, MatchGoal::File) => {
            format!(": held in memory, and written to sorted runs next to the output beyond {room}")
        }
        (true, MatchGoal::Memory) => {
            format!(
                ", {bytes}: more than the {room} for them in memory, so refused; {file} writes them to sorted runs"
            )
        }
        (false, MatchGoal::Memory) => {
            format!(": held in memory; {file} writes them to sorted runs beyond {room}")
        }
        (true, MatchGoal::Unknown) => {
            format!(
                ", {bytes}: more than the {room} for them in memory, so for a file ({file}), next to which sorted runs take them"
            )
        }
        (false, MatchGoal::Unknown) => {
            format!(
                ": held in memory, and for a file ({file}) written to sorted runs beyond {room}"
            )
        }
    };
    format!("matches    {count}{what}")
}

/// Renders the long form.
pub fn verbose(job: &Job, plan: &Plan) -> Message {
    long(job, plan).into()
}

/// Returns the recognised form of each reduction, which tells which kernels apply.
fn forms(low: &Lowered) -> Vec<String> {
    let form = |r: &zipfold_core::pair::Id| {
        low.reduction(*r).map_or_else(
            || "general".into(),
            |reduction| format!("{:?}", reduction.form),
        )
    };
    let reduces = low.stages.iter().flat_map(|s| &s.reduces);
    reduces.map(form).collect()
}

/// Renders the short form and then formula, hoisting, symmetry, strategies, tiles, terms and
/// reasons.
///
/// This is the form for someone who wants to know *why* this plan: every reason that the planner
/// noted is a line "because …", in the order in which it decided. Words of the engine (batches,
/// stages, forms) are fine here and nowhere else.
fn long(job: &Job, plan: &Plan) -> String {
    let low = &job.low;
    let (loops, singles) = low.operations();
    let forms = forms(low);
    let mut lines = vec![
        short(job, plan),
        format!(
            "space      {:?} of {} × {} rows, {} pairs",
            job.space.domain, job.space.n, job.space.m, plan.pairs
        ),
        format!(
            "formula    {} components, {loops} operations each, {singles} once a pair; reductions: {}",
            low.dim,
            if forms.is_empty() {
                "none".into()
            } else {
                forms.join(", ")
            }
        ),
        format!(
            "hoisted    {} vectors and {} numbers a row of x, {} and {} a row of y",
            low.row_vectors[0].len(),
            low.row_scalars[0].len(),
            low.row_vectors[1].len(),
            low.row_scalars[1].len()
        ),
        format!(
            "symmetry   {}",
            if job.symmetric {
                "f(x, y) = f(y, x)"
            } else {
                "none"
            }
        ),
        format!("strategy   {}", ways(plan)),
        format!(
            "tiles      {} of {} × {} pairs, {} to a batch, blocks by {}",
            plan.tiles,
            plan.tiling.rows,
            plan.tiling.cols,
            plan.tiles_per_batch,
            plan.order.name()
        ),
        format!("bound by   {}", plan.bound),
    ];
    let seconds = |s: f64| figures::duration(s);
    // All terms here, also the small ones that the short form leaves out.
    // Below the line of the limiter, with its indentation.
    lines.extend(
        plan.terms
            .iter()
            .filter(|_| plan.backend == "cpu")
            .map(|t| format!("           {:>8} {}", seconds(t.seconds), t.what)),
    );
    lines.extend(
        plan.reasons
            .iter()
            .map(|r| format!("because    {}", r.marked())),
    );
    lines.join("\n")
}

/// Renders a plan with the passes that find ranges before it; `all` for the long form.
///
/// A histogram without a range runs once for the least and the largest value and then for the bins.
/// The second plan depends on that range, which is not known before the first pass, so what is
/// printed for it is a plan for the range of a sample. Its first line says so.
pub fn explain_all(job: &Job, plan: &Plan, ranges: &[Plan], all: bool) -> Message {
    let text = if all {
        long(job, plan)
    } else {
        short(job, plan)
    };
    // Most questions take one pass.
    if ranges.is_empty() {
        return text.into();
    }
    // Passes run one after another, so their times add.
    let seconds: f64 = ranges.iter().map(|r| r.seconds).sum();
    // Each pass before the last one: its time, whether it is pruned, where it runs.
    let how = |r: &Plan| {
        let pruned = if r.prune.is_on() {
            "by bounds of groups of rows"
        } else {
            "over all pairs"
        };
        let family = if all {
            format!(", by {}", ways(r))
        } else {
            String::new()
        };
        format!(
            "           {} {pruned}, on {}{family}",
            figures::duration(r.seconds),
            r.backend
        )
    };
    let mut lines = vec![
        "range      none is given: the least and the largest value are found first, and what follows is for the range of a sample"
            .to_string(),
    ];
    lines.extend(ranges.iter().map(how));
    lines.push(text);
    // The total of all passes, which is what the user waits for.
    let whole = figures::duration(plan.seconds + seconds);
    lines.push(format!(
        "in all     {whole}, {} of it for the range",
        figures::duration(seconds)
    ));
    lines.join("\n").into()
}

/// Renders the pairs: `54 481 141: i < j of 10 439 rows, 3 numbers a row`.
///
/// The number counts pairs of the domain, before a cut-off or pruning leaves out any: it is what
/// the user requested and the same for every plan of the question.
fn pairs(job: &Job, plan: &Plan) -> String {
    let rows = |n: usize| figures::grouped(n as u64);
    let (n, m) = (job.space.n, job.space.m);
    // The domain in words of rows, not of pairs.
    let listed = job.parts.as_ref().is_some_and(|p| p.listed.is_some());
    let which = match job.space.domain {
        Domain::Cross if listed => {
            format!("listed, {} rows of x and {} of y", rows(n), rows(m))
        }
        _ if listed => format!("listed, {} rows", rows(n)),
        Domain::Cross => format!("{} rows of x with {} rows of y", rows(n), rows(m)),
        Domain::Triangle => format!("i < j of {} rows", rows(n)),
        Domain::Diagonal => format!("i ≤ j of {} rows, which stand for (j, i) too", rows(n)),
        Domain::Ordered => format!("all of {} rows with all others", rows(n)),
        Domain::Square => format!("all of {} rows with all, themselves included", rows(n)),
    };
    // Components; attributes that formulas name are not told.
    let numbers = match job.x.cols() {
        1 => "1 number".to_string(),
        d => format!("{d} numbers"),
    };
    let cutoff = job
        .space
        .cutoff
        .map_or_else(String::new, |cutoff| format!(", at most {cutoff} apart"));
    let band = match job.window.is_open() {
        true => String::new(),
        false => format!(", where {}", job.window.words()),
    };
    format!(
        "{}: {which}{band}, {numbers} a row{cutoff}",
        figures::grouped(plan.pairs)
    )
}

/// Renders what runs, and what would run if that does not load.
///
/// Strategies are in the order in which the executor tries them. A strategy may fail to load
/// although the plan allows it, for example generated code where the system forbids executable
/// memory.
fn ways(plan: &Plan) -> String {
    // A device comes first, and the host's strategies are what takes over if it fails.
    let device = plan
        .device
        .iter()
        .map(|on| format!("on {} {}", plan.backend, on.work));
    device
        .chain(plan.strategies.iter().map(ToString::to_string))
        .collect::<Vec<_>>()
        .join("; else ")
}

/// Renders where and how: `on the CPU, 2 threads, avx512, double precision, by a sweep of points`.
///
/// Precision is that of values. Sums are always kept in double precision, and a filter in single
/// precision decides only what it can prove; neither is told here.
fn computes(plan: &Plan) -> String {
    let precision = match plan.precision {
        Precision::F32 => "single precision",
        Precision::F64 => "double precision",
    };
    // Threads and instruction set mean nothing for a device.
    if plan.backend != "cpu" {
        // A pruned strategy is told in the line about pruning.
        let how = plan
            .device
            .as_ref()
            .map_or_else(String::new, |on| format!(", by {}", on.work));
        return format!("on {}, {precision}{how}", plan.backend);
    }
    let threads = if plan.threads == 1 {
        "1 thread".into()
    } else {
        format!("{} threads", plan.threads)
    };
    let how = plan
        .strategy()
        .filter(|s| !s.is_pruned())
        .map_or_else(String::new, |s| format!(", by {s}"));
    format!(
        "on the CPU, {threads}, {}, {precision}{how}",
        plan.isa.name()
    )
}

/// What is said of answers that are one row alone.
const LEFT: &str = "; a row is left once another one is known to be the answer in its place";

/// Renders whether pairs are left out, by what, and what share remains; or why not.
///
/// There are three answers, since users act on them differently. "on" tells what share is
/// evaluated. "off" means that bounds exist for this question but do not pay or do not fit in
/// memory, which more memory or another order of rows may change. "none" means that every pair
/// counts, which nothing changes.
fn pruning(job: &Job, plan: &Plan) -> String {
    // A share that would be printed as 0.000 % is written as a bound.
    let expected = |share: f64| match share {
        s if s < 1e-5 => "less than 0.001 %".to_string(),
        s => format!("about {:.3} %", 100.0 * s),
    };
    match (plan.prune.is_on(), crate::prune::mode(job).is_some()) {
        // On: what leaves out pairs, and how many it is expected to leave.
        (true, _) => {
            let by = match (plan.prune.column_grid, plan.prune.grid) {
                (_, Some(_)) if plan.strategies.first() == Some(&Strategy::Line) => {
                    "on, by rows sorted along a line".into()
                }
                (_, Some(_)) => "on, by a grid of cells".into(),
                (Some(column_grid), None) => {
                    let of = match column_grid.groups {
                        0 => String::new(),
                        groups => format!(" of all {groups} groups"),
                    };
                    format!(
                        "on, by a column grid{of} with {} cells to the last edge",
                        column_grid.parts
                    )
                }
                (None, None) => "on, by bounds of groups of rows".into(),
            };
            let share = plan.prune.evaluated;
            let share = share.map(|s| format!(": {} of the pairs are evaluated", expected(s)));
            by + &share.unwrap_or_default() + if plan.leaves_rows { LEFT } else { "" }
        }
        (false, _) if plan.strategies.first() == Some(&Strategy::Farthest) => {
            format!("on, by rows that meet some columns at a time{LEFT}")
        }
        // Off although it would help: memory is the reason, and the warning says what would do.
        (false, true) if !plan.warnings.is_empty() => {
            let warnings: Vec<&str> = plan.warnings.iter().map(Message::marked).collect();
            format!("off: {}", warnings.join("; "))
        }
        // Off because the estimate says that it does not pay.
        (false, true) => match plan.prune.evaluated {
            Some(share) if share > 0.999 => "off: bounds would leave all pairs to evaluate".into(),
            Some(share) => {
                format!(
                    "off: {} of the pairs would be left to evaluate, which does not pay",
                    expected(share)
                )
            }
            None => "off".into(),
        },
        (false, false) => "none: every pair counts".into(),
    }
}
