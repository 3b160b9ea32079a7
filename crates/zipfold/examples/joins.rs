//! Every contraction of a network's two passes (all marginals) above LIMIT operations, timed alone,
//! as JSON lines: `joins NETWORK EVIDENCE|- [LIMIT=1e9]`. Operations are two for each visited
//! configuration; `moved` are the bytes of both inputs and of the result, once; `digits` are the
//! variables from the slowest, with a letter for where they stand: `b` in both inputs and kept, `r`
//! in the first and kept, `c` in the second and kept, `k` in both and summed.

use std::path::Path;
use std::time::Instant;
use zipfold::internals::core::{Budget, Result};
use zipfold::internals::product::cpu::buffer_pool::Room;
use zipfold::internals::product::cpu::contract::contract;
use zipfold::internals::product::cpu::scaled::Scaled;
use zipfold::internals::product::cpu::shape::{Digit, Shape};
use zipfold::internals::product::cpu::{Engine, Fold};
use zipfold::internals::product::plan::{Grouping, Pass, Plan, Source};
use zipfold::network::{Evidence, Task};
use zipfold::network::{Planned, Settings, explain};
use zipfold::network::{read_evidence, read_network};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [path, evidence, rest @ ..] = &args[..] else {
        eprintln!("usage: joins NETWORK EVIDENCE|- [LIMIT]");
        return Ok(());
    };
    let limit = rest.first().and_then(|l| l.parse().ok()).unwrap_or(1e9);
    let budget = Budget::new(16 << 30);
    let network = read_network(Path::new(path), &budget)?;
    let seen = match evidence.as_str() {
        "-" => Evidence::none(),
        file => read_evidence(Path::new(file), &network, &budget)?,
    };
    let settings = Settings {
        memory: 16 << 30,
        grouping: Grouping::Joint,
        ..Settings::default()
    };
    let (reduced, plan, _) = explain(&network, &seen, &Task::Mar, &settings)?;
    let Planned::Whole(plan) = plan else {
        return Ok(());
    };
    let engine = Engine::new(&plan, &reduced.tables, Fold::Sum, Pass::Sweep, &budget);
    let forward = engine.forward::<f64>(&engine.slice(0))?;
    let room = Room::new(&budget);
    let mut cards = plan.cards.clone();
    plan.sliced.iter().for_each(|v| cards[*v] = 1);
    for (at, node) in plan.nodes.iter().enumerate() {
        let Source::Join(inputs) = &node.source else {
            continue;
        };
        let held: Vec<&Scaled<f64>> = inputs
            .iter()
            .filter_map(|n| forward.tables[*n].here.as_ref())
            .collect();
        measure(
            "forward",
            &shape(&plan, &cards, inputs, at),
            &held,
            limit,
            &room,
        )?;
        for n in inputs.iter().filter(|n| plan.sweep.gradient[**n]) {
            let others: Vec<usize> = inputs.iter().copied().filter(|m| m != n).collect();
            let above = forward.tables[at].here.as_ref();
            let held: Vec<&Scaled<f64>> = above
                .into_iter()
                .chain(
                    others
                        .iter()
                        .filter_map(|m| forward.tables[*m].here.as_ref()),
                )
                .collect();
            let from: Vec<usize> = std::iter::once(at).chain(others).collect();
            measure(
                "backward",
                &shape(&plan, &cards, &from, *n),
                &held,
                limit,
                &room,
            )?;
        }
    }
    Ok(())
}

fn shape(plan: &Plan, cards: &[usize], inputs: &[usize], out: usize) -> Shape {
    let scopes: Vec<&[usize]> = inputs.iter().map(|n| &plan.nodes[*n].scope[..]).collect();
    Shape::new(&scopes, &plan.nodes[out].scope, &plan.rank, cards)
}

/// Prints the least seconds of three runs.
fn measure(
    pass: &str,
    shape: &Shape,
    tables: &[&Scaled<f64>],
    limit: f64,
    room: &Room,
) -> Result<()> {
    let flop = 2.0 * shape.visits();
    if flop < limit || tables.len() != 2 {
        return Ok(());
    }
    let mut least = f64::INFINITY;
    for _ in 0..3 {
        let start = Instant::now();
        drop(contract(shape, tables, Fold::Sum, room)?);
        least = least.min(start.elapsed().as_secs_f64());
    }
    let moved = 8 * (tables.iter().map(|t| t.len()).sum::<usize>() + shape.out_len);
    let digits: Vec<String> = shape
        .digits
        .iter()
        .map(|d| format!("{}{}", letter(d), d.card))
        .collect();
    println!(
        "{}",
        serde_json::json!({"pass": pass, "flop": flop, "moved": moved, "seconds": least, "digits": digits.join(" ")})
    );
    Ok(())
}

fn letter(d: &Digit) -> char {
    match (d.strides[0] > 0, d.strides[1] > 0, d.summed) {
        (true, true, false) => 'b',
        (true, false, false) => 'r',
        (false, true, false) => 'c',
        (true, true, true) => 'k',
        _ => '?',
    }
}
