//! The sum-product paper's random buckets (section 7.2.2): GFLOP/s against complexity, linear and
//! in the log domain.
//!
//! `buckets FILE.jsonl [LIMIT]` measures buckets given as JSON lines (`dom`, `scopes`, `summed`,
//! `flop`), evenly over their complexity; `buckets --generate COUNT SEED` writes such lines, in
//! which some functions miss some summed variables. `--cache ENTRIES` is the cache of the paper's
//! model, whose traffic is printed beside the seconds.

use std::time::Instant;
use zipfold_core::Budget;
use zipfold_core::Random;
use zipfold_product::cpu::bucket::{Mode, contract as bucket};
use zipfold_product::cpu::buffer_pool::Room;
use zipfold_product::cpu::contract::contract;
use zipfold_product::cpu::scaled::Entries;
use zipfold_product::cpu::shape::{Shape, offsets};
use zipfold_product::cpu::{Contracted, Engine, Fold, Prepared};
use zipfold_product::plan::{Options, Pass, Plan, Rates, Reduced, Source, Table, cache, plan};
use zipfold_vector::memory::Block;

#[derive(serde::Deserialize, serde::Serialize)]
struct Bucket {
    dom: Vec<usize>,
    scopes: Vec<Vec<usize>>,
    summed: Vec<usize>,
    flop: f64,
}

/// What is measured: linear and logarithmic input and output, the contractions alone, and the
/// kernel of the true log domain.
const NAMES: [&str; 8] = [
    "f32",
    "f64",
    "log f32",
    "log f64",
    "engine f64",
    "engine log f64",
    "contraction f64",
    "log-sum-exp f64",
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|a| a == "--generate") {
        let number = |at: usize| args.get(at).and_then(|a| a.parse().ok()).unwrap_or(1);
        let mut random = Random::new(number(2));
        (0..number(1)).for_each(|_| {
            println!(
                "{}",
                serde_json::to_string(&generate(&mut random)).unwrap_or_default()
            )
        });
        return;
    }
    let text = std::fs::read_to_string(&args[0]).expect("the file of buckets");
    for line in text.lines() {
        let b: Bucket = serde_json::from_str(line).expect("a bucket");
        let tables = tables(&b);
        let logs: Vec<Table> = tables.iter().map(logarithm).collect();
        let (linear, log) = (Entries::Values, Entries::Logs);
        let runs: [&dyn Fn() -> (f64, f64); NAMES.len()] = [
            &|| prepared::<f32>(&b, &tables, linear),
            &|| prepared::<f64>(&b, &tables, linear),
            &|| prepared::<f32>(&b, &logs, log),
            &|| prepared::<f64>(&b, &logs, log),
            &|| run::<f64>(&b, &tables, linear),
            &|| run::<f64>(&b, &logs, log),
            &|| contractions(&b, &tables),
            &|| true_logs(&b, &logs),
        ];
        let only = args.get(1).filter(|a| !a.starts_with("--"));
        let wanted = |name: &str| only.is_none_or(|only| only == name);
        let of: serde_json::Map<String, serde_json::Value> = NAMES
            .iter()
            .zip(runs)
            .filter(|(n, _)| wanted(n))
            .map(|(n, r)| ((*n).to_string(), serde_json::json!(r())))
            .collect();
        println!(
            "{}",
            serde_json::json!({"flop": b.flop, "seconds and total": of, "traffic": traffic(&b, &args)})
        );
    }
}

/// Operations and the entries that the paper's model says go to and from beyond a cache of `--cache
/// ENTRIES`.
fn traffic(b: &Bucket, args: &[String]) -> serde_json::Value {
    let at = args
        .iter()
        .position(|a| a == "--cache")
        .map_or(usize::MAX, |at| at + 1);
    let entries: f64 = args
        .get(at)
        .and_then(|a| a.parse().ok())
        .unwrap_or(f64::INFINITY);
    let out: Vec<usize> = (0..b.dom.len()).filter(|v| !b.summed.contains(v)).collect();
    let configurations = |s: &[usize]| s.iter().map(|v| b.dom[*v]).product::<usize>();
    let function = |s: &Vec<usize>| {
        let own: Vec<usize> = s.iter().copied().filter(|v| b.summed.contains(v)).collect();
        (
            out.iter().map(|v| s.contains(v)).collect(),
            configurations(&own),
        )
    };
    let model = cache::Bucket {
        out: out.iter().map(|v| b.dom[*v]).collect(),
        summed: configurations(&b.summed),
        functions: b.scopes.iter().map(function).collect(),
    };
    let found = model.cached(entries);
    serde_json::json!({"operations": found.operations, "read": found.read, "written": found.written,
        "uncached": model.uncached().read})
}

/// 2–4 functions, 2–32 summation values, 1–18 shared variables, 5–25 variables a function of 1–10
/// values each.
fn generate(random: &mut Random) -> Bucket {
    let target = 10f64.powf(3.0 + 6.5 * random.unit());
    loop {
        let functions = 2 + random.below(3);
        let mut dom: Vec<usize> = (0..1 + random.below(3))
            .map(|_| 2 + random.below(9))
            .collect();
        let summed: Vec<usize> = (0..dom.len()).collect();
        let values: usize = dom.iter().product();
        let shared = random.below(18);
        let mut scopes: Vec<Vec<usize>> = vec![summed.clone(); functions];
        let own: usize = shared + functions * 4;
        let budget = (target / (values * functions) as f64).max(1.0).log2() / own as f64;
        let draw = |random: &mut Random| {
            (2.0 * budget * random.unit())
                .exp2()
                .round()
                .clamp(1.0, 10.0) as usize
        };
        for _ in 0..shared {
            dom.push(draw(random));
            scopes
                .iter_mut()
                .filter(|_| random.below(5) > 0)
                .for_each(|s| s.push(dom.len() - 1));
        }
        for s in &mut scopes {
            for _ in 0..4 + random.below(4) {
                dom.push(draw(random));
                s.push(dom.len() - 1);
            }
            if random.below(4) == 0 {
                s.remove(0);
            }
        }
        let size = |s: &Vec<usize>| s.iter().map(|v| dom[*v]).product::<usize>();
        let out: f64 = (summed.len()..dom.len()).map(|v| dom[v] as f64).product();
        let flop = out * (values * functions - 1) as f64;
        let held = (0..dom.len()).all(|v| scopes.iter().any(|s| s.contains(&v)));
        if (2..=32).contains(&values)
            && held
            && out < 1e8
            && (0.5 * target..2.0 * target).contains(&flop)
            && scopes
                .iter()
                .all(|s| (5..=25).contains(&s.len()) && size(s) < 1 << 25)
        {
            return Bucket {
                dom,
                scopes,
                summed,
                flop,
            };
        }
    }
}

fn tables(b: &Bucket) -> Vec<Table> {
    // A rule that any language repeats exactly: 24 bits of a multiplicative hash of the table's and
    // the entry's number.
    let entry = |table: u64, at: u64| {
        let bits = ((table << 32) + at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        f64::from(0.1f32 + 0.9f32 * (bits as f32 / 16_777_216.0))
    };
    let fill = |(t, s): (usize, &Vec<usize>)| {
        let entries = s.iter().map(|v| b.dom[*v] as u64).product::<u64>();
        Table {
            scope: s.clone(),
            values: (0..entries).map(|at| entry(t as u64, at)).collect(),
        }
    };
    b.scopes.iter().enumerate().map(fill).collect()
}

/// Least seconds of several calls: three at least, since the first one writes to fresh pages.
fn best(mut call: impl FnMut()) -> f64 {
    let (mut least, begin, mut turns) = (f64::INFINITY, Instant::now(), 0);
    while begin.elapsed().as_secs_f64() < 0.1 || turns < 3 {
        let start = Instant::now();
        call();
        least = least.min(start.elapsed().as_secs_f64());
        turns += 1;
    }
    least
}

fn logarithm(table: &Table) -> Table {
    Table {
        scope: table.scope.clone(),
        values: table.values.iter().map(|v| v.ln()).collect(),
    }
}

/// The plan of a bucket, for tables that stay or go.
fn planned(b: &Bucket, tables: &[Table], pass: Pass) -> Plan {
    let reduced = Reduced::as_given(&b.dom, tables.to_vec());
    let kept: Vec<usize> = (0..b.dom.len()).filter(|v| !b.summed.contains(v)).collect();
    let options = Options {
        seed: 1,
        order_seconds: None,
        patience: Options::PATIENCE,
        memory: 8 << 30,
        held: 0,
        time_limit: 1e9,
        pass,
        rates: Rates::default(),
    };
    plan(&reduced, &kept, &options).expect("a plan")
}

/// The joins of the plan alone, over inputs in the global order.
fn contractions(b: &Bucket, tables: &[Table]) -> (f64, f64) {
    let plan = planned(b, tables, Pass::Trace);
    let budget = Budget::unlimited();
    let room = Room::new(&budget);
    let forward = Engine::new(&plan, tables, Fold::Sum, Pass::Trace, &budget)
        .forward::<f64>(&[])
        .expect("memory");
    let join = |at: usize| {
        let Source::Join(inputs) = &plan.nodes[at].source else {
            return 0.0;
        };
        let scopes: Vec<&[usize]> = inputs.iter().map(|n| &plan.nodes[*n].scope[..]).collect();
        let shape = Shape::new(&scopes, &plan.nodes[at].scope, &plan.rank, &plan.cards);
        let held: Vec<_> = inputs
            .iter()
            .filter_map(|n| forward.tables[*n].here.as_ref())
            .collect();
        best(|| drop(contract(&shape, &held, Fold::Sum, &room)))
    };
    let total = |n: &usize| {
        forward.tables[*n]
            .here
            .as_ref()
            .map_or(0.0, |t| (0..t.len()).map(|at| t.scalar(at).value()).sum())
    };
    (
        (0..plan.nodes.len()).map(join).sum(),
        plan.roots.iter().map(total).product(),
    )
}

/// A bucket that is planned once: tables of the type as they lie, the result in the order that the
/// plan chose.
fn prepared<T: Contracted>(b: &Bucket, tables: &[Table], entries: Entries) -> (f64, f64) {
    let held: Vec<Vec<T>> = tables
        .iter()
        .map(|t| t.values.iter().map(|v| T::from_f64(*v)).collect())
        .collect();
    let views: Vec<&[T]> = held.iter().map(|t| &t[..]).collect();
    let mut bucket = Prepared::<T>::new(&b.dom, &b.scopes, &b.summed, entries).expect("a plan");
    let mut out = Block::<T>::zeros(bucket.len());
    let seconds = best(|| bucket.run(&views, &mut out).expect("tables of their sizes"));
    let value = |v: &T| {
        if entries == Entries::Logs {
            v.to_f64().exp()
        } else {
            v.to_f64()
        }
    };
    (seconds, out.iter().map(value).sum())
}

/// The planned contraction, inputs restructured and scaled in every call; of logarithms, to
/// logarithms. Seconds, and the sum of all entries of the result.
fn run<T: Contracted>(b: &Bucket, tables: &[Table], entries: Entries) -> (f64, f64) {
    let plan = planned(b, tables, Pass::Forward);
    let budget = Budget::unlimited();
    let engine = Engine::new(&plan, tables, Fold::Sum, Pass::Forward, &budget);
    let engine = if entries == Entries::Logs {
        engine.with_entries(Entries::Logs)
    } else {
        engine
    };
    let room = Room::new(&budget);
    let call = || {
        let forward = engine.forward::<T>(&[]).expect("memory");
        if entries == Entries::Logs {
            plan.roots
                .iter()
                .filter_map(|r| forward.tables[*r].here.as_ref())
                .for_each(|t| drop(t.logs(&room)));
        }
    };
    let seconds = best(call);
    let forward = engine.forward::<T>(&[]).expect("memory");
    let total = |n: &usize| {
        forward.tables[*n]
            .here
            .as_ref()
            .map_or(0.0, |t| (0..t.len()).map(|at| t.scalar(at).value()).sum())
    };
    (seconds, plan.roots.iter().map(total).product())
}

/// The n-ary bucket kernel on logarithms, with a maximum for every entry: what tables beyond the
/// range of f64 fall back to.
fn true_logs(b: &Bucket, tables: &[Table]) -> (f64, f64) {
    let out: Vec<usize> = (0..b.dom.len()).filter(|v| !b.summed.contains(v)).collect();
    let mut order = b.summed.clone();
    order.extend(&out);
    let mut rank = vec![0u32; b.dom.len()];
    order
        .iter()
        .enumerate()
        .for_each(|(place, v)| rank[*v] = place as u32);
    let sorted: Vec<(Vec<usize>, Vec<f64>)> =
        tables.iter().map(|t| in_order(t, &rank, &b.dom)).collect();
    let scopes: Vec<&[usize]> = sorted.iter().map(|(s, _)| &s[..]).collect();
    let shape = Shape::new(&scopes, &out, &rank, &b.dom);
    let views: Vec<&[f64]> = sorted.iter().map(|(_, v)| &v[..]).collect();
    let mut result = vec![0.0; shape.out_len];
    let seconds = best(|| bucket(&shape, &views, Mode::LogSum, &mut result));
    (seconds, result.iter().map(|l| l.exp()).sum())
}

/// A table's scope by rank, and its entries in that order.
fn in_order(table: &Table, rank: &[u32], dom: &[usize]) -> (Vec<usize>, Vec<f64>) {
    let mut scope = table.scope.clone();
    scope.sort_by_key(|v| rank[*v]);
    let stride = |v: &usize| {
        table
            .scope
            .iter()
            .rev()
            .take_while(|u| *u != v)
            .map(|u| dom[*u])
            .product()
    };
    let digits: Vec<(usize, usize)> = scope.iter().map(|v| (dom[*v], stride(v))).collect();
    let values = offsets(&digits)
        .into_iter()
        .map(|at| table.values[at])
        .collect();
    (scope, values)
}
