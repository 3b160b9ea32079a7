//! A plan for people.

use crate::choose::Plan;
use zipfold_core::Job;
use zipfold_core::budget::human_bytes;

/// The choice, the numbers behind it, peak bytes and predicted time, a line each.
pub fn explain(job: &Job, plan: &Plan) -> String {
    let low = &job.low;
    let (loops, singles) = low.operations();
    let forms: Vec<String> = low
        .stages
        .iter()
        .flat_map(|s| &s.reduces)
        .map(|r| match low.zip_form(*r) {
            Some((form, ..)) => format!("{form:?}"),
            None => "general".into(),
        })
        .collect();
    let mut lines = vec![
        format!("space      {:?} of {} × {} rows, {} cells", job.space.cells, job.space.n, job.space.m, plan.cells),
        format!(
            "pair       {} components, {loops} operations each, {singles} once a pair; reductions: {}",
            low.dim,
            if forms.is_empty() { "none".into() } else { forms.join(", ") }
        ),
        format!(
            "hoisted    {} vectors and {} numbers a row of x, {} and {} a row of y",
            low.streams[0].len(),
            low.attrs[0].len(),
            low.streams[1].len(),
            low.attrs[1].len()
        ),
        format!("symmetry   {}", if job.symmetric { "f(x, y) = f(y, x)" } else { "none" }),
        format!(
            "backend    {}, family {}, {} × {} threads, {:?}",
            plan.backend,
            plan.family,
            plan.isa.name(),
            plan.threads,
            plan.precision
        ),
        format!(
            "tiles      {} of {} × {} cells, {} to a unit, blocks by {}",
            plan.tiles,
            plan.tiling.rows,
            plan.tiling.cols,
            plan.tiles_per_unit,
            plan.order.name()
        ),
        format!("pruning    {}", pruning(job, plan)),
        format!("memory     {} beside the inputs", human_bytes(plan.peak_bytes)),
        format!("predicted  {:.3} s, bound by {}", plan.seconds, plan.bound),
    ];
    let terms = plan.terms.iter().filter(|_| plan.backend == "cpu");
    lines.extend(terms.map(|t| format!("           {:.4} s {}", t.seconds, t.what)));
    lines.extend(plan.reasons.iter().map(|r| format!("because    {r}")));
    lines.join("\n")
}

/// As [`explain`], with the search for ranges before it by `ranges`.
pub fn explain_all(job: &Job, plan: &Plan, ranges: &[Plan]) -> String {
    let text = explain(job, plan);
    if ranges.is_empty() {
        return text;
    }
    let seconds: f64 = ranges.iter().map(|r| r.seconds).sum();
    let how = |r: &Plan| {
        let pruned = if r.prune.is_on() { "by bounds of boxes" } else { "of all pairs" };
        format!("{}, family {}, {pruned}, {:.4} s, bound by {}", r.backend, r.family, r.seconds, r.bound)
    };
    let mut lines = vec![format!(
        "range      none was given: least and largest values are found first, {seconds:.3} s predicted; counting by the range of a sample:"
    )];
    lines.extend(ranges.iter().map(|r| format!("           {}", how(r))));
    lines.push(text);
    lines.push(format!("in all     {:.3} s predicted, {seconds:.3} s of it for the range", plan.seconds + seconds));
    lines.join("\n")
}

fn pruning(job: &Job, plan: &Plan) -> String {
    let expected = |share: f64| format!(", about {:.3} % of the pairs evaluated", 100.0 * share);
    match (plan.prune.is_on(), crate::prune::mode(job).is_some()) {
        (true, _) => {
            let by = match plan.prune.mesh {
                Some(mesh) => format!("by a mesh of columns, {} cells to the last edge", mesh.parts),
                None => "by bounds of boxes".into(),
            };
            by + &plan.prune.evaluated.map(expected).unwrap_or_default()
        }
        (false, true) => "off".into(),
        (false, false) => "does not apply".into(),
    }
}
