//! The text of a sum-product plan.

use serde_json::json;
use std::fmt::Write as _;
use zipfold::core::factor::Network;
use zipfold::core::figures;
use zipfold::product::plan::slice::join_times;
use zipfold::product::plan::{Plan, Rates, Reduced, Source};

/// Joins listed in the table of buckets.
const LISTED: usize = 12;

/// What the plan does and is predicted to take. `seconds` is what simplification and the order search took.
pub fn text(network: &Network, reduced: &Reduced, plan: Option<&Plan>, seconds: f64) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "network      {} variables, {} factors", network.cards().len(), network.factors().len());
    let _ = writeln!(out, "simplified   {} variables, {} tables", reduced.cards.len(), reduced.tables.len());
    if reduced.impossible {
        out.push_str("the evidence is impossible\n");
    }
    let Some(plan) = plan else { return out };
    let p = &plan.prediction;
    let _ = writeln!(out, "width        {} variables in the largest table, 2^{:.1} entries", p.width, p.largest);
    let _ = writeln!(out, "operations   {}", figures::si(p.flops));
    let _ = writeln!(out, "memory       {}", zipfold::core::budget::human_bytes(p.peak_bytes as u64));
    let sliced: f64 = plan.sliced.iter().map(|v| plan.cards[*v] as f64).product();
    if plan.sliced.is_empty() {
        out.push_str("slices       none are needed: the tables fit the memory\n");
    } else {
        let _ = writeln!(
            out,
            "slices       {} over {} variables, to fit the memory",
            figures::si(sliced),
            plan.sliced.len()
        );
    }
    let _ = writeln!(
        out,
        "predicted    {} to execute; the order took {}",
        figures::duration(p.seconds),
        figures::duration(seconds)
    );
    let _ = writeln!(out, "\n   join   inputs   summed   log2 visited   log2 result     predicted");
    let mut joins = joins(plan);
    let all = joins.len();
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
    if all > LISTED {
        let rest: f64 = joins[LISTED..].iter().map(|j| j.seconds).sum();
        let _ = writeln!(out, "{:>7} {:>59}", format!("+ {}", all - LISTED), figures::duration(rest));
    }
    out
}

/// The plan in numbers.
pub fn plan_json(plan: &Plan) -> serde_json::Value {
    let p = &plan.prediction;
    let slices: f64 = plan.sliced.iter().map(|v| plan.cards[*v] as f64).product();
    json!({"width": p.width, "log2_largest": p.largest, "flops": p.flops, "bytes": p.bytes, "seconds": p.seconds,
        "slices": slices, "sliced_variables": plan.sliced.len(), "peak_bytes": p.peak_bytes})
}

/// What [`text`] says, in numbers. `seconds` is what simplification and the order search took.
pub fn json(network: &Network, reduced: &Reduced, plan: Option<&Plan>, seconds: f64) -> serde_json::Value {
    json!({"schema": 1, "command": "explain infer", "variables": network.cards().len(), "factors": network.factors().len(),
        "simplified": {"variables": reduced.cards.len(), "tables": reduced.tables.len()}, "impossible": reduced.impossible,
        "plan": plan.map(plan_json), "order_seconds": seconds})
}

/// A row of the table of buckets, sizes of one slice.
struct Join {
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
fn joins(plan: &Plan) -> Vec<Join> {
    let size = |v: &usize| if plan.sliced.contains(v) { 0.0 } else { (plan.cards[*v] as f64).log2() };
    let log2 = |vars: &[usize]| vars.iter().map(size).sum::<f64>();
    let times = join_times(plan, &Rates::default());
    let of = |(at, n): (usize, &zipfold::product::plan::Node)| match &n.source {
        Source::Input(_) => None,
        Source::Join(inputs) => Some(Join {
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
pub fn visited(plan: &Plan) -> Vec<f64> {
    joins(plan).iter().map(|join| join.visited).collect()
}
