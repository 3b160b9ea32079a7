//! The model of all kernels of joins against what the kernels took on an H100.

use std::collections::{BTreeMap, HashMap};
use zipfold_core::Precision;
use zipfold_gpu::choice::candidates;
use zipfold_gpu::pages::Pages;
use zipfold_gpu::{Facts, Runtime};
use zipfold_plan::overrides::Overrides;
use zipfold_product::cpu::bucket::Mode;
use zipfold_product::cpu::shape::{Digit, MOST_INPUTS, Shape};
use zipfold_product::plan::paged::Knapsack;

/// Every kernel on single joins, by `zipfold bench sum-product kernels`.
const RECORD: &str = include_str!("../../../bench/records/h100/2026-11-26-kernels.jsonl");

/// Times the seconds of the best kernel up to which the record tells of others.
const TOLD: f64 = 4.0;

/// A join of the record.
struct Join {
    precision: Precision,
    shape: Shape,
    /// By name of the kernel: seconds.
    measured: HashMap<String, f64>,
}

/// The shape of words with values, stride in the result, and strides in the inputs.
fn shape(text: &str) -> Shape {
    let number = |text: &str| text.parse::<usize>().unwrap();
    let mut inputs = 0;
    let digits = text.split(' ').map(|word| {
        let parts: Vec<&str> = word.split(':').collect();
        let own: Vec<usize> = parts[2].split(',').map(number).collect();
        inputs = own.len();
        let mut strides = [0; MOST_INPUTS];
        strides[..inputs].copy_from_slice(&own);
        let (card, out) = (number(parts[0]), number(parts[1]));
        Digit {
            card,
            strides,
            out,
            summed: out == 0,
        }
    });
    let digits: Vec<Digit> = digits.collect();
    let kept = digits.iter().filter(|d| !d.summed);
    Shape {
        out_len: kept.map(|d| d.card).product(),
        digits,
        inputs,
    }
}

/// The joins of the record.
fn joins() -> Vec<Join> {
    let rows = RECORD.lines().map(|line| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        row
    });
    let text = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap().to_string();
    let made = rows.filter(|row| row["section"] == "kernels").map(|row| {
        let kernels = text(&row, "kernels");
        let kernel = |own: &str| {
            let (name, took) = own.rsplit_once(' ').unwrap();
            (name.to_string(), took.parse::<f64>().unwrap() * 1e-6)
        };
        Join {
            precision: match &text(&row, "type")[..] {
                "f32" => Precision::F32,
                _ => Precision::F64,
            },
            shape: shape(&text(&row, "shape")),
            measured: kernels.split("; ").map(kernel).collect(),
        }
    });
    made.collect()
}

/// By name: predicted seconds of all kernels of a join.
fn predicted(join: &Join, facts: &Facts) -> HashMap<String, f64> {
    let own = candidates(&join.shape, join.precision, facts.units).into_iter();
    let mut all: HashMap<String, f64> = own.map(|c| (c.name(), c.seconds(facts))).collect();
    let pages = Pages::new(facts, join.precision, &Overrides::default());
    for knapsack in [Knapsack::Greedy, Knapsack::None] {
        let buckets = pages.all(&join.shape, Mode::Sum, knapsack);
        all.extend(buckets.into_iter().map(|b| (b.name(), b.seconds)));
    }
    all
}

/// Of all kernels up to four times the best of their join, four of five are predicted within a
/// factor of 1.3; the one that is predicted to be the best takes at most a tenth longer than the best
/// one by geometric mean.
#[test]
fn kernels_of_the_record_are_predicted_and_the_pick_is_near_the_best() {
    let facts = Facts::described(Runtime::Cuda);
    let (mut loss, mut worst) = (Vec::new(), (1.0, String::new()));
    // By form: kernels within 1.3, and all.
    let mut forms: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for join in joins() {
        let predicted = predicted(&join, &facts);
        for (name, measured) in &join.measured {
            let own = predicted.get(name);
            let own = own.unwrap_or_else(|| panic!("no kernel '{name}' for {}", join.shape));
            let form = name.split(' ').next().unwrap().to_string();
            let counts = forms.entry(form).or_default();
            counts[0] += usize::from((1.0 / 1.3..=1.3).contains(&(own / measured)));
            counts[1] += 1;
        }
        // Of the paper's kernel some pages were measured, of all others every tile.
        let tried = |name: &str| join.measured.contains_key(name) || !name.starts_with("paged");
        let tried = predicted.iter().filter(|(name, _)| tried(name));
        let (name, _) = tried.min_by(|a, b| a.1.total_cmp(b.1)).unwrap();
        let best = join
            .measured
            .values()
            .copied()
            .fold(f64::INFINITY, f64::min);
        let took = join.measured.get(name).copied().unwrap_or(TOLD * best) / best;
        loss.push(took.ln());
        if took > worst.0 {
            worst = (took, join.shape.to_string());
        }
    }
    let sum = |at: usize| forms.values().map(|counts| counts[at]).sum::<usize>();
    let (near, all) = (sum(0), sum(1));
    let share = near as f64 / all as f64;
    println!("by form, within 1.3 and all: {forms:?}");
    let mean = (loss.iter().sum::<f64>() / loss.len() as f64).exp();
    println!(
        "{share:.3} of {all} within 1.3; picked / best {mean:.3} of {}",
        loss.len()
    );
    println!("worst pick: {:.2} of {}", worst.0, worst.1);
    assert!(
        all > 3000 && share >= 0.8,
        "{share} of {all} are predicted within 1.3"
    );
    assert!(mean <= 1.1, "the picks take {mean} times the best");
}
