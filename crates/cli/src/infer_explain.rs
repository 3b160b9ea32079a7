//! The text of a sum-product plan.

use serde_json::json;
use std::fmt::Write as _;
use zipfold::Message;
use zipfold::internals::core::{budget::human_bytes, figures};
use zipfold::internals::gpu::choice::JoinForm;
use zipfold::internals::infer::{Counting, Gap, OnDevice, PagedJoins, Planned, Searched, Why};
use zipfold::internals::product::plan::slice::join_times;
use zipfold::internals::product::plan::{
    Group, Joint, Plan, Prediction, Rates, Reduced, Source, Split,
};
use zipfold::network::Network;

/// Joins listed in the table of buckets.
const LISTED: usize = 12;

/// What the plan does and is predicted to take. `seconds` is what simplification and the order
/// search took; `first` what a count before it takes at most, where one is tried.
pub(crate) fn text(
    network: &Network,
    reduced: &Reduced,
    planned: &Planned,
    device: Option<&OnDevice>,
    (seconds, first): (f64, Option<f64>),
) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "network      {} variables, {} factors",
        network.cards().len(),
        network.factors().len()
    );
    let _ = writeln!(
        out,
        "simplified   {} variables, {} tables",
        reduced.cards.len(),
        reduced.tables.len()
    );
    if reduced.impossible {
        out.push_str("the evidence is impossible\n");
    }
    if let Planned::Searched(searched) = planned {
        out.push_str(&search_text(searched));
    }
    if let Planned::Counted(counting) = planned {
        out.push_str(&count_text(counting));
    }
    let Some(p) = planned.prediction() else {
        return out;
    };
    out += &predicted_text(planned, &p);
    let _ = writeln!(
        out,
        "predicted    {} to execute; the order took {}",
        figures::duration(p.seconds),
        figures::duration(seconds)
    );
    if let Some(first) = first {
        let first = figures::duration(first);
        let _ = writeln!(
            out,
            "first        a count of components, which answers if it ends within about {first}"
        );
    }
    if let Some(device) = device {
        let _ = writeln!(out, "device       {}", device_text(device));
        let _ = writeln!(out, "kernels      {}", kernels_text(device));
        if let Some(paged) = &device.paged {
            let _ = writeln!(out, "paged        {}", paged_text(paged));
        }
    }
    match planned {
        Planned::Whole(plan) => list_joins(&mut out, plan),
        Planned::Groups(split) => list_groups(&mut out, split),
        // Nothing is joined.
        _ => {}
    }
    out
}

/// The sizes of a plan, and what keeps them small: groups and slices.
fn predicted_text(planned: &Planned, p: &Prediction) -> String {
    let mut out = String::new();
    if let Planned::Groups(split) = planned {
        let _ = writeln!(
            out,
            "groups       {} of variables, each with the tables that matter for it",
            split.groups.len()
        );
        let _ = writeln!(out, "all at once  {}", at_once(&split.joint));
    }
    let _ = writeln!(
        out,
        "width        {} variables in the largest table, 2^{:.1} entries",
        p.width, p.largest
    );
    let _ = writeln!(out, "operations   {}", figures::si(p.flops));
    let _ = writeln!(out, "memory       {}", human_bytes(p.peak_bytes as u64));
    match sliced_variables(planned) {
        0 => out.push_str("slices       none are needed: the tables fit the memory\n"),
        sliced => {
            let slices = figures::si(slices(planned));
            let _ = writeln!(
                out,
                "slices       {slices} over {sliced} variables, to fit the memory"
            );
        }
    }
    out
}

/// What the search is or was, a line or two.
pub(crate) fn search_text(searched: &Searched) -> String {
    let mut out = match &searched.refused {
        None => String::new(),
        Some(e) => format!(
            "elimination  refused: {}\n",
            e.what().told(crate::flags::words)
        ),
    };
    let _ = match &searched.gap {
        None => writeln!(
            out,
            "search       branch and bound, bounds by truncated elimination"
        ),
        Some(gap) => writeln!(out, "search       {}", gap_text(gap)),
    };
    out
}

/// What the count is or was, a line or two.
pub(crate) fn count_text(counting: &Counting) -> String {
    let mut out = match &counting.why {
        Why::Chosen => String::new(),
        Why::Refused(e) => format!(
            "elimination  refused: {}\n",
            e.what().told(crate::flags::words)
        ),
        Why::Slower(seconds) => format!(
            "elimination  predicted to take {}\n",
            figures::duration(*seconds)
        ),
    };
    let _ = match &counting.work {
        None => writeln!(out, "count        by components, with what each came to"),
        Some(work) => writeln!(
            out,
            "count        {} components, {} known before",
            figures::grouped(work.nodes),
            figures::grouped(work.known)
        ),
    };
    out
}

/// A count in numbers.
pub(crate) fn count_json(counting: &Counting) -> serde_json::Value {
    let (refused, seconds) = match &counting.why {
        Why::Chosen => (None, None),
        Why::Refused(e) => (Some(e.what().told(crate::flags::words)), None),
        Why::Slower(seconds) => (None, Some(*seconds)),
    };
    let work = counting
        .work
        .map(|w| json!({"components": w.nodes, "known": w.known, "steps": w.steps}));
    json!({"refused": refused, "elimination_seconds": seconds, "work": work})
}

/// `proven after 1 204 nodes`, or how far the assignment may be from the best.
pub(crate) fn gap_text(gap: &Gap) -> String {
    let nodes = figures::grouped(gap.nodes);
    match gap.proven {
        true => format!("branch and bound proved the assignment after {nodes} nodes"),
        false => format!(
            "branch and bound, not proven after {nodes} nodes: log10 {:.6} found, at most {:.6} is possible",
            gap.lower, gap.upper
        ),
    }
}

/// The bounds of a search in numbers.
pub(crate) fn search_json(searched: &Searched) -> serde_json::Value {
    let refused = searched.refused.as_ref();
    let gap = searched.gap.map(|g| {
        json!({"log10_lower": g.lower, "log10_upper": g.upper, "proven": g.proven, "nodes": g.nodes})
    });
    json!({"refused": refused.map(|e| e.what().told(crate::flags::words)), "gap": gap})
}

/// What one plan for all variables would take.
fn at_once(joint: &Joint) -> String {
    match joint {
        Joint::Predicted(p) => format!(
            "{} predicted, width {}, largest table 2^{:.1} entries",
            figures::duration(p.seconds),
            p.width,
            p.largest
        ),
        Joint::Refused(why) => format!("refused: {}", told(why)),
    }
}

/// Variables that plans are cut over.
fn sliced_variables(planned: &Planned) -> usize {
    planned.plans().iter().map(|plan| plan.sliced.len()).sum()
}

/// Slices of all plans; 1 for each that is not cut.
fn slices(planned: &Planned) -> f64 {
    let plans = planned.plans().into_iter();
    plans.map(Plan::predicted_slices).sum()
}

/// The joins that are predicted to take longest.
fn list_joins(out: &mut String, plan: &Plan) {
    let _ = writeln!(
        out,
        "\n   join   inputs   summed   log2 visited   log2 result     predicted"
    );
    let mut joins = joins(plan);
    joins.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    for j in joins.iter().take(LISTED) {
        let _ = writeln!(
            out,
            "{:7} {:8} {:8} {:14.1} {:13.1} {:>13}",
            j.at,
            j.inputs,
            j.summed,
            j.visited,
            j.result,
            figures::duration(j.seconds)
        );
    }
    list_rest(out, joins.iter().skip(LISTED).map(|j| j.seconds));
}

/// `9 joins with 99.6 % of the operations on cuda:0, predicted 12 ms with the host's part`.
pub(crate) fn device_text(on: &OnDevice) -> String {
    let OnDevice {
        device,
        joins,
        share,
        seconds,
        kernels: _,
        paged: _,
    } = on;
    let time = figures::duration(*seconds);
    format!(
        "{joins} joins with {:.1} % of the operations on {device}, predicted {time} with the host's part",
        100.0 * share
    )
}

/// `7 joins by pages, predicted: segments serve 93.1 % of the reads, 2.1e12 operations a second`.
fn paged_text(paged: &PagedJoins) -> String {
    let PagedJoins {
        joins,
        hit_rate,
        rate,
    } = paged;
    format!(
        "{joins} joins by pages, predicted: segments serve {:.1} % of the reads, {} operations a second",
        100.0 * hit_rate,
        figures::si(*rate)
    )
}

/// `3 matrix, 12 alone`: how many joins have each kernel.
fn kernels_text(on: &OnDevice) -> String {
    let all = JoinForm::ALL.iter().zip(on.kernels);
    let some = all.filter(|(_, joins)| *joins > 0);
    let texts = some.map(|(form, joins)| format!("{joins} {}", form.name()));
    texts.collect::<Vec<_>>().join(", ")
}

/// The device and its part in numbers.
pub(crate) fn device_json(on: &OnDevice) -> serde_json::Value {
    let paged = |p: PagedJoins| json!({"joins": p.joins, "hit_rate": p.hit_rate, "operations_per_second": p.rate});
    let kernels = JoinForm::ALL.iter().zip(on.kernels);
    let kernels: serde_json::Map<String, serde_json::Value> = kernels
        .map(|(form, joins)| (form.name().to_string(), joins.into()))
        .collect();
    json!({"name": on.device, "joins": on.joins, "share": on.share, "seconds": on.seconds, "kernels": kernels, "paged": on.paged.map(paged)})
}

/// The groups that are predicted to take longest.
fn list_groups(out: &mut String, split: &Split) {
    let _ = writeln!(
        out,
        "\n  group    asked   tables          width  log2 largest     predicted"
    );
    let mut groups: Vec<(usize, &Group)> = split.groups.iter().enumerate().collect();
    groups.sort_by(|a, b| {
        b.1.plan
            .prediction
            .seconds
            .total_cmp(&a.1.plan.prediction.seconds)
    });
    for (at, group) in groups.iter().take(LISTED) {
        let p = &group.plan.prediction;
        let _ = writeln!(
            out,
            "{:7} {:8} {:8} {:14} {:13.1} {:>13}",
            at,
            group.asked.len(),
            group.tables.len(),
            p.width,
            p.largest,
            figures::duration(p.seconds)
        );
    }
    list_rest(
        out,
        groups
            .iter()
            .skip(LISTED)
            .map(|(_, g)| g.plan.prediction.seconds),
    );
}

/// How many rows are not listed, and their seconds.
fn list_rest(out: &mut String, seconds: impl Iterator<Item = f64>) {
    let rest: Vec<f64> = seconds.collect();
    if !rest.is_empty() {
        let all = figures::duration(rest.iter().sum());
        let _ = writeln!(out, "{:>7} {all:>59}", format!("+ {}", rest.len()));
    }
}

/// A reason with marks of options, in the words of the command.
fn told(why: &str) -> String {
    Message::from(why.to_string()).told(crate::flags::words)
}

/// The plan in numbers; nothing where simplification settled everything.
pub(crate) fn plan_json(planned: &Planned) -> serde_json::Value {
    let Some(p) = planned.prediction() else {
        return serde_json::Value::Null;
    };
    let at_once = match planned {
        Planned::Groups(split) => match &split.joint {
            Joint::Predicted(p) => {
                json!({"seconds": p.seconds, "width": p.width, "log2_largest": p.largest})
            }
            Joint::Refused(why) => json!({"refused": told(why)}),
        },
        _ => serde_json::Value::Null,
    };
    json!({"width": p.width, "log2_largest": p.largest, "flops": p.flops, "bytes": p.bytes, "seconds": p.seconds,
        "slices": slices(planned), "sliced_variables": sliced_variables(planned), "peak_bytes": p.peak_bytes,
        "groups": planned.plans().len(), "at_once": at_once})
}

/// What [`text`] says, in numbers. `seconds` is what simplification and the order search took.
pub(crate) fn json(
    network: &Network,
    reduced: &Reduced,
    planned: &Planned,
    device: Option<&OnDevice>,
    (seconds, first): (f64, Option<f64>),
) -> serde_json::Value {
    json!({"schema": 1, "command": "explain infer", "variables": network.cards().len(), "factors": network.factors().len(),
        "simplified": {"variables": reduced.cards.len(), "tables": reduced.tables.len()}, "impossible": reduced.impossible,
        "plan": plan_json(planned), "search": planned.searched().map(search_json), "count": planned.counted().map(count_json),
        "count_first_seconds": first, "device": device.map(device_json), "order_seconds": seconds})
}

/// A row of the table of buckets, sizes of one slice.
struct BucketRow {
    at: usize,
    inputs: usize,
    summed: usize,
    /// log2 of visited configurations.
    visited: f64,
    /// log2 of the result's entries.
    result: f64,
    /// Predicted, over all slices, gradients included.
    seconds: f64,
}

/// All joins in the order of execution.
fn joins(plan: &Plan) -> Vec<BucketRow> {
    let size = |v: &usize| {
        if plan.sliced.contains(v) {
            0.0
        } else {
            (plan.cards[*v] as f64).log2()
        }
    };
    let log2 = |vars: &[usize]| vars.iter().map(size).sum::<f64>();
    let times = join_times(plan, &Rates::default());
    let of = |(at, n): (usize, &zipfold::internals::product::plan::Node)| match &n.source {
        Source::Input(_) => None,
        Source::Join(inputs) => Some(BucketRow {
            at,
            inputs: inputs.len(),
            summed: n.summed.len(),
            visited: log2(&n.scope) + log2(&n.summed),
            result: log2(&n.scope),
            seconds: times[at],
        }),
    };
    plan.nodes.iter().enumerate().filter_map(of).collect()
}

/// log2 of the configurations that each join visits, in the order of execution.
pub(crate) fn visited(planned: &Planned) -> Vec<f64> {
    planned
        .plans()
        .into_iter()
        .flat_map(joins)
        .map(|join| join.visited)
        .collect()
}
