//! The simplified network and zipfold's contraction tree for it, as JSON for `bench/orders.py`:
//! `orders NETWORK EVIDENCE|- [SECONDS]`, where SECONDS are those of the order search (default: its
//! own budget).

use std::path::Path;
use std::time::Instant;
use zipfold::internals::core::{Budget, Result};
use zipfold::internals::product::plan::{Plan, Source};
use zipfold::network::{Evidence, Task};
use zipfold::network::{Settings, explain};
use zipfold::network::{read_evidence, read_network};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [path, evidence, rest @ ..] = &args[..] else {
        eprintln!("usage: orders NETWORK EVIDENCE|- [SECONDS]");
        return Ok(());
    };
    let budget = Budget::new(16 << 30);
    let network = read_network(Path::new(path), &budget)?;
    let seen = match evidence.as_str() {
        "-" => Evidence::none(),
        file => read_evidence(Path::new(file), &network, &budget)?,
    };
    let settings = Settings {
        memory: 16 << 30,
        time_limit: f64::INFINITY,
        order_seconds: rest.first().and_then(|s| s.parse().ok()),
        ..Settings::default()
    };
    let start = Instant::now();
    let (reduced, plan, _) = explain(&network, &seen, &Task::Pr, &settings)?;
    let seconds = start.elapsed().as_secs_f64();
    let scopes: Vec<&[usize]> = reduced.tables.iter().map(|t| &t.scope[..]).collect();
    let tree = plan.plans().first().map(|plan| tree(plan));
    println!(
        "{}",
        serde_json::json!({"seconds": seconds, "cards": reduced.cards, "scopes": scopes, "tree": tree})
    );
    Ok(())
}

/// The roots of the plan, every join as the list of its inputs and every table as its number.
fn tree(plan: &Plan) -> serde_json::Value {
    let mut of: Vec<serde_json::Value> = Vec::with_capacity(plan.nodes.len());
    for node in &plan.nodes {
        let value = match &node.source {
            Source::Input(at) => serde_json::json!(at),
            Source::Join(inputs) => inputs.iter().map(|n| std::mem::take(&mut of[*n])).collect(),
        };
        of.push(value);
    }
    plan.roots
        .iter()
        .map(|r| std::mem::take(&mut of[*r]))
        .collect()
}
