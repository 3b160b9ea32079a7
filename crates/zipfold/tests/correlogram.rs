//! Correlograms next to a double loop over spikes.

use zipfold::internals::core::Random;
use zipfold::internals::correlogram::{Correlogram, Correlograms, LagUnits};
use zipfold::internals::one_table::TableQuestion;
use zipfold::io::OutputOptions;
use zipfold::{Budget, Options, Table};

/// Times and units of spikes, in no order, some at equal times; unit 3 follows unit 1.
fn spikes(count: usize, offset: f64) -> Vec<[f64; 2]> {
    let mut random = Random::new(count as u64);
    let mut all: Vec<[f64; 2]> = vec![];
    for at in 0..count {
        let spike = match at % 7 {
            2 => [all[at - 1][0], 2.0],
            5 => [all[at - 2][0] + 0.004, 3.0],
            _ => [offset + 20.0 * random.unit(), random.below(4) as f64],
        };
        all.push(spike);
    }
    all
}

fn table(spikes: &[[f64; 2]]) -> Table {
    let names = ["time", "unit"].map(String::from).to_vec();
    let table = Table::f64(spikes.len(), 2, spikes.concat()).unwrap();
    table.with_names(names).unwrap()
}

fn asked(bins: usize) -> Correlogram {
    Correlogram {
        max: 0.05,
        bins,
        ..Correlogram::new("spikes")
    }
}

fn of(spikes: &[[f64; 2]], asked: &Correlogram) -> Correlograms {
    asked.of_table(table(spikes), &Options::default()).unwrap()
}

#[test]
fn counts_are_those_of_a_double_loop() {
    for (count, bins, offset) in [
        (2, 1, 0.0),
        (700, 21, 0.0),
        (700, 20, 1e6),
        (2500, 101, -5.0),
    ] {
        let spikes = spikes(count, offset);
        let answer = of(&spikes, &asked(bins));
        let units = answer.units.len();
        let mut counts = vec![0; units * units * bins];
        let unit = |name: f64| {
            answer
                .units
                .iter()
                .position(|u| *u == name.to_string())
                .unwrap()
        };
        for (i, x) in spikes.iter().enumerate() {
            for (j, y) in spikes.iter().enumerate() {
                let bin = answer.edges.partition_point(|edge| *edge <= y[0] - x[0]);
                if i != j && (1..=bins).contains(&bin) {
                    counts[(unit(x[1]) * units + unit(y[1])) * bins + bin - 1] += 1;
                }
            }
        }
        assert_eq!(answer.all_counts, counts, "{count} spikes");
        assert_eq!(answer.spikes.iter().sum::<u64>(), count as u64);
    }
}

#[test]
fn rows_are_sorted_along_a_line() {
    let spikes = spikes(40_000, 0.0);
    let options = Options::default();
    let plan = asked(101).explain_table(table(&spikes), &options).unwrap();
    assert!(
        plan.to_string().contains("rows sorted along a line"),
        "{plan}"
    );
}

#[test]
fn edges_are_symmetric_and_so_are_auto_correlograms() {
    let spikes = spikes(3000, 0.0);
    let answer = of(&spikes, &asked(31));
    let back: Vec<f64> = answer.edges.iter().rev().map(|edge| -edge).collect();
    assert_eq!(answer.edges, back);
    assert_eq!((answer.edges[0], answer.edges[31]), (-0.05, 0.05));
    for unit in 0..answer.units.len() {
        let counts = answer.counts(unit, unit).to_vec();
        assert_eq!(counts, counts.iter().rev().copied().collect::<Vec<u64>>());
        for other in 0..answer.units.len() {
            let back: Vec<u64> = answer.counts(other, unit).iter().rev().copied().collect();
            assert_eq!(answer.counts(unit, other), back);
        }
    }
    assert!(answer.counts(1, 3).iter().max() > answer.counts(1, 0).iter().max());
}

#[test]
fn values_are_counts_over_spikes_and_time() {
    let spikes = spikes(1500, 0.0);
    let counts = of(&spikes, &asked(11));
    let rate = Correlogram {
        normalise: LagUnits::Rate,
        ..asked(11)
    };
    let probability = Correlogram {
        normalise: LagUnits::Probability,
        ..asked(11)
    };
    let (rate, probability) = (of(&spikes, &rate), of(&spikes, &probability));
    for at in 0..16 {
        let (a, b) = (at / 4, at % 4);
        for bin in 0..11 {
            let count = counts.values(a, b)[bin];
            let each = count / counts.spikes[a] as f64;
            assert_eq!(probability.values(a, b)[bin], each);
            assert!((rate.values(a, b)[bin] - each * 110.0).abs() < 1e-9);
        }
        let mean = rate.values(a, b).iter().sum::<f64>() / 11.0;
        let usual = [0, 2, 3].contains(&a) || b != 3;
        assert!(
            !usual || a == b || mean > 0.3 * rate.expected(a, b),
            "{a} {b} {mean}"
        );
    }
}

#[test]
fn all_spikes_may_be_of_one_unit() {
    let alone = Correlogram {
        single: true,
        ..asked(5)
    };
    let spikes = spikes(400, 0.0);
    let (one, all) = (of(&spikes, &alone), of(&spikes, &asked(5)));
    assert_eq!(one.units, ["all"]);
    for bin in 0..5 {
        let sum: u64 = (0..16).map(|at| all.counts(at / 4, at % 4)[bin]).sum();
        assert_eq!(one.counts(0, 0)[bin], sum);
    }
}

#[test]
fn pairs_of_spikes_that_are_far_apart_are_pruned() {
    let spikes: Vec<[f64; 2]> = (0..60_000)
        .map(|k| [f64::from(k) * 0.01, f64::from(k % 5)])
        .collect();
    let told = asked(101)
        .explain_table(table(&spikes), &Options::default())
        .unwrap();
    let told = told.to_string();
    let line = told
        .lines()
        .find(|line| line.starts_with("pruning"))
        .unwrap();
    let share: f64 = line
        .split_whitespace()
        .zip(line.split_whitespace().skip(1))
        .find(|(_, unit)| *unit == "%")
        .unwrap()
        .0
        .parse()
        .unwrap();
    assert!(line.contains("on") && share < 1.0, "{told}");
}

#[test]
fn an_answer_is_written_in_every_format() {
    let rate = Correlogram {
        normalise: LagUnits::Rate,
        ..asked(11)
    };
    let answer = of(&spikes(300, 0.0), &rate);
    for suffix in ["csv", "tsv", "npz", "parquet", "svg"] {
        let name = format!("zipfold-correlogram-{}.{suffix}", std::process::id());
        let path = std::env::temp_dir().join(name);
        answer
            .save(path.to_str().unwrap(), OutputOptions::default())
            .unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.len() > 400, "{suffix}");
        if suffix == "csv" {
            let text = String::from_utf8(bytes).unwrap();
            assert!(
                text.contains("\nreference,target,low,high,count,rate\n"),
                "{text}"
            );
        }
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn bins_beyond_the_memory_are_refused() {
    let options = Options {
        budget: Budget::new(1 << 20),
        ..Options::default()
    };
    let asked = Correlogram {
        bins: 100_001,
        ..asked(1)
    };
    let refused = asked
        .of_table(table(&spikes(300, 0.0)), &options)
        .unwrap_err();
    assert_eq!(refused.blame(), zipfold::Blame::Resource, "{refused}");
}
