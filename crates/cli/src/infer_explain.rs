//! The text and the picture of a sum-product plan.

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

/// log2 of visited configurations along the execution, as SVG.
pub fn profile_svg(plan: &Plan) -> String {
    let joins = joins(plan);
    let top = joins.iter().map(|j| j.visited).fold(1.0, f64::max);
    let (w, h) = (800.0, 300.0);
    let x = |i: usize| 50.0 + w * i as f64 / joins.len().max(1) as f64;
    let y = |v: f64| 20.0 + h * (1.0 - v / top);
    let mut points = String::new();
    joins.iter().enumerate().for_each(|(i, j)| _ = write!(points, "{:.1},{:.1} ", x(i), y(j.visited)));
    let step = (top / 6.0).ceil().max(1.0);
    let mut ticks = String::new();
    for tick in (0..=6).map(|t| f64::from(t) * step).take_while(|t| *t <= top) {
        let at = y(tick);
        let _ = write!(
            ticks,
            "<path d=\"M50 {at:.1}H850\" stroke=\"#ddd\"/><text x=\"42\" y=\"{:.1}\" text-anchor=\"end\">{tick:.0}</text>",
            at + 4.0
        );
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"880\" height=\"370\" font-family=\"sans-serif\" font-size=\"12\">\
         <rect width=\"880\" height=\"370\" fill=\"white\"/>{ticks}<polyline fill=\"none\" stroke=\"#1f5fa8\" points=\"{points}\"/>\
         <path d=\"M50 20V320H850\" fill=\"none\" stroke=\"black\"/>\
         <text x=\"450\" y=\"350\" text-anchor=\"middle\">joins in the order of execution ({})</text>\
         <text x=\"50\" y=\"13\">log2 of visited configurations</text></svg>\n",
        joins.len()
    )
}

/// Variables drawn in a picture of marginals.
const DRAWN: usize = 60;

/// One bar a variable, split by its states' probabilities, as SVG (the first sixty variables).
pub fn marginals_svg(network: &Network, rows: &[Vec<f64>]) -> String {
    let mut bars = String::new();
    for (v, row) in rows.iter().take(DRAWN).enumerate() {
        let y = 10 + 18 * v;
        let name: String = network.name(v).chars().take(24).collect();
        let _ = write!(bars, "<text x=\"190\" y=\"{}\" text-anchor=\"end\">{}</text>", y + 12, escaped(&name));
        let mut x = 200.0;
        for (s, p) in row.iter().enumerate() {
            let (width, title) = (500.0 * p, network.state(v, s));
            let _ = write!(
                bars,
                "<rect x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"14\" fill=\"{}\"><title>{}: {p:.6}</title></rect>",
                colour(s as f64 / row.len() as f64),
                escaped(&title)
            );
            if title.chars().count() as f64 * LETTER + 6.0 < width {
                let _ = write!(bars, "<text x=\"{:.1}\" y=\"{}\">{}</text>", x + 3.0, y + 11, escaped(&title));
            }
            x += width;
        }
    }
    let drawn = rows.len().min(DRAWN);
    let height = 40 + 18 * drawn;
    let note =
        if drawn < rows.len() { format!("the first {drawn} of {} variables", rows.len()) } else { String::new() };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"11\">\
         <rect width=\"720\" height=\"{height}\" fill=\"white\"/>{bars}<text x=\"200\" y=\"{}\">{note}</text></svg>\n",
        height - 12
    )
}

/// Width of a letter, roughly.
const LETTER: f64 = 7.5;

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// A light colour for this part of the circle of hues, in the notation that every reader of SVG knows.
fn colour(part: f64) -> String {
    let channel = |shift: f64| {
        let distance = ((part + shift).fract() * 6.0 - 3.0).abs() - 1.0;
        (255.0 * (0.62 + 0.3 * distance.clamp(0.0, 1.0))) as u8
    };
    format!("#{:02x}{:02x}{:02x}", channel(0.0), channel(2.0 / 3.0), channel(1.0 / 3.0))
}
