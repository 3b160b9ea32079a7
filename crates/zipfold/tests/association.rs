//! Networks of rows at their edges: pairs without a value, permutations, tables without samples,
//! options that mean nothing, and memory.

use std::io::{self, Write};
use zipfold::internals::association::{
    Association, AssociationNetwork, Dense, Expression, Measure, PowerSpec, Sign,
};
use zipfold::{Blame, Budget, Error, Options, Result, Table};
use zipfold_core::{Message, Random};

/// Random rows, each value missing once in `gaps`.
fn random(rows: usize, samples: usize, gaps: usize) -> Table {
    let mut random = Random::new(7);
    let mut value = || match random.below(gaps) {
        0 => f64::NAN,
        _ => random.unit() * 8.0,
    };
    let values = (0..rows * samples).map(|_| value()).collect();
    Table::f64(rows, samples, values).unwrap()
}

fn network(asked: &Association, table: &Table) -> Result<AssociationNetwork> {
    within(asked, table, &Options::default())
}

fn within(asked: &Association, table: &Table, options: &Options<'_>) -> Result<AssociationNetwork> {
    let rows = Expression::new(table, asked, &options.budget)?;
    asked.network(&rows, options)
}

fn asked(measure: Measure) -> Association {
    Association {
        measure,
        ..Association::new("genes")
    }
}

/// The pairs of a network.
fn pairs(network: &AssociationNetwork) -> Vec<(i64, i64)> {
    let edges = &network.edges;
    edges
        .i
        .iter()
        .copied()
        .zip(edges.j.iter().copied())
        .collect()
}

#[test]
fn a_row_that_does_not_vary_over_the_common_samples_has_no_value() {
    let gap = f64::NAN;
    let rows = [
        [1.0, 1.0, 1.0, 1.0, 5.0, 6.0],
        [2.0, 3.0, 4.0, 9.0, gap, gap],
        [4.0, 1.0, 7.0, 2.0, 1.0, 3.0],
    ];
    let table = Table::f64(3, 6, rows.concat()).unwrap();
    for measure in Measure::ALL {
        let found = network(&asked(measure), &table).unwrap();
        assert_eq!(pairs(&found), [(0, 2), (1, 2)], "{measure:?}");
        assert_eq!(found.tested, 2, "{measure:?}");
    }
}

/// p of rows of four common samples, of which a permutation leaves none to four.
fn drawn(measure: Measure, min_periods: usize) -> f64 {
    let gap = f64::NAN;
    let rows = [
        [1.0, 2.0, 3.0, 5.0, gap, gap, gap, gap],
        [1.0, 2.0, 4.0, 5.0, gap, gap, gap, gap],
    ];
    let table = Table::f64(2, 8, rows.concat()).unwrap();
    let asked = Association {
        permutations: 200,
        min_periods,
        ..asked(measure)
    };
    network(&asked, &table).unwrap().edges.p.unwrap()[0]
}

#[test]
fn permutations_without_a_value_do_not_lower_p() {
    // All four samples fall together in one of 70 orders; every other order has too few.
    for measure in Measure::ALL {
        let p = drawn(measure, 4);
        assert!(p > 0.9, "{measure:?}: {p}");
        assert!(drawn(measure, 2) <= p, "{measure:?}");
    }
    // Fewer than two common samples are in 17 of 70 orders, and two in 36: their correlation is ±1.
    let p = drawn(Measure::Pearson, 2);
    assert!(p > 0.65, "{p}");
}

#[test]
fn permutations_of_a_strip_are_those_of_its_pairs_alone() {
    let (rows, samples) = (300, 11);
    for (measure, gaps) in [
        (Measure::Pearson, usize::MAX),
        (Measure::Spearman, usize::MAX),
        (Measure::Bicor, usize::MAX),
        (Measure::Pearson, 9),
        (Measure::Kendall, 9),
        (Measure::Mi, 9),
    ] {
        // Rows with gaps need more of them for a second strip.
        let rows = if gaps == 9 && measure == Measure::Pearson {
            1700
        } else {
            rows
        };
        let table = random(rows, samples, gaps);
        let asked = Association {
            permutations: 9,
            seed: 3,
            ..asked(measure)
        };
        let all = network(&asked, &table).unwrap();
        let p = all.edges.p.as_ref().unwrap();
        let every = (p.len() / 60).max(1);
        for at in (0..p.len()).rev().step_by(every) {
            let (i, j) = (all.edges.i[at] as usize, all.edges.j[at] as usize);
            let row = |row: usize| (0..samples).map(move |at| (row, at));
            let values = row(i).chain(row(j)).map(|(row, at)| table.get(row, at));
            let two = Table::f64(2, samples, values.collect()).unwrap();
            let alone = network(&asked, &two).unwrap();
            assert_eq!(alone.edges.p.unwrap()[0], p[at], "{measure:?} {i} {j}");
        }
    }
}

#[test]
fn permutations_reserve_the_rows_that_they_prepare() {
    let (rows, samples) = (40, 2000);
    for (measure, gaps) in [(Measure::Pearson, usize::MAX), (Measure::Mi, 9)] {
        let table = random(rows, samples, gaps);
        let peak = |permutations: usize| {
            let options = Options {
                budget: Budget::new(1 << 30),
                ..Options::default()
            };
            let asked = Association {
                permutations,
                ..asked(measure)
            };
            within(&asked, &table, &options).unwrap();
            options.budget.peak()
        };
        let (without, with) = (peak(0), peak(2));
        let values = (8 * rows * samples) as u64;
        // The values in another order, and at least one number for each of them prepared.
        assert!(with >= without + 2 * values, "{measure:?} {without} {with}");
    }
}

#[test]
fn rows_without_samples_are_refused_and_no_rows_have_no_edges() {
    for measure in Measure::ALL {
        for transpose in [false, true] {
            let asked = Association {
                transpose,
                ..asked(measure)
            };
            let shape = |rows: usize, samples: usize| match transpose {
                false => Table::f64(rows, samples, vec![]).unwrap(),
                true => Table::f64(samples, rows, vec![]).unwrap(),
            };
            let e = network(&asked, &shape(3, 0)).unwrap_err();
            assert_eq!(e.blame(), Blame::Input, "{measure:?}");
            assert!(e.to_string().contains("none for 3 rows"), "{e}");
            let found = network(&asked, &shape(0, 3)).unwrap();
            assert_eq!((found.edges.i.len(), found.tested), (0, 0));
            let one = Table::f64(1, 1, vec![1.0]).unwrap();
            assert_eq!(network(&asked, &one).unwrap().edges.i.len(), 0);
        }
    }
}

#[test]
fn weights_without_a_power_are_refused_before_the_work() {
    let mut asked = asked(Measure::Pearson);
    assert!(asked.refuse_matrix(Dense::Values).is_ok());
    for dense in [Dense::Weights, Dense::Overlaps] {
        assert_eq!(
            asked.refuse_matrix(dense).unwrap_err().blame(),
            Blame::Request
        );
    }
    asked.power = Some(PowerSpec::AUTO);
    assert!(asked.refuse_matrix(Dense::Overlaps).is_ok());
}

fn refused(asked: &Association) -> (String, String) {
    let e: Error = network(asked, &random(4, 6, usize::MAX)).unwrap_err();
    assert_eq!(e.blame(), Blame::Request);
    let text = |part: Option<&Message>| part.map_or("", Message::marked).to_string();
    (text(e.place()), text(e.remedy_text()))
}

#[test]
fn a_refusal_names_the_option_that_is_wrong_and_its_remedy_helps() {
    use zipfold_core::Opt;
    let powers = |powers: &[f64]| Association {
        powers: powers.to_vec(),
        ..asked(Measure::Pearson)
    };
    let (place, remedy) = refused(&powers(&[2.0, -1.0]));
    assert_eq!(
        (place, remedy),
        (Opt::Powers.to_string(), Opt::Powers.to("2,4,6"))
    );
    let (place, _) = refused(&powers(&[1.0; 101]));
    assert_eq!(place, Opt::Powers.to_string());
    let power = Association {
        power: Some(PowerSpec::Given(0.0)),
        ..asked(Measure::Pearson)
    };
    assert_eq!(refused(&power).0, Opt::Power.to_string());
    let mi = |bins: usize, order: usize| Association {
        bins,
        order,
        ..asked(Measure::Mi)
    };
    for (bins, order, wanted) in [(10, 6, 3), (10, 0, 3), (2, 3, 2)] {
        let (place, remedy) = refused(&mi(bins, order));
        assert_eq!(place, Opt::Order.to_string());
        assert_eq!(remedy, Opt::Order.to(wanted));
        network(&mi(bins, wanted), &random(4, 6, usize::MAX)).unwrap();
    }
    let (place, remedy) = refused(&mi(1, 3));
    assert_eq!(place, Opt::Bins.to_string());
    assert_eq!(remedy, Opt::Bins.to(10));
}

#[test]
fn a_power_is_taken_where_no_power_has_a_fit() {
    // Two rows have equal connectivities, whatever the power.
    for (samples, sign, wanted) in [
        (19, Sign::Unsigned, 9.0),
        (20, Sign::Hybrid, 8.0),
        (30, Sign::Signed, 14.0),
        (41, Sign::Signed, 12.0),
    ] {
        let table = random(2, samples, usize::MAX);
        let asked = Association {
            power: Some(PowerSpec::AUTO),
            sign,
            ..asked(Measure::Pearson)
        };
        let options = Options::default();
        let rows = Expression::new(&table, &asked, &options.budget).unwrap();
        let found = asked.network(&rows, &options).unwrap();
        assert_eq!(found.power, Some(wanted));
        assert!(found.edges.weights.is_some());
        let told = options.warnings.all();
        assert!(
            told.iter().any(|w| w.to_string().contains("WGCNA's power")),
            "{told:?}"
        );
        assert!(!told.iter().any(|w| w.to_string().contains("best fit")));
        let weights = asked.matrix(&rows, Dense::Weights, found.power, &options);
        assert_eq!(weights.unwrap().values().len(), 4);
    }
}

/// What is written, and the longest text of one call.
#[derive(Default)]
struct Longest {
    text: Vec<u8>,
    longest: usize,
}

impl Write for Longest {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.longest = self.longest.max(part.len());
        self.text.extend(part);
        Ok(part.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_graph_is_written_piece_by_piece() {
    let found = network(&asked(Measure::Pearson), &random(60, 9, 8)).unwrap();
    let mut out = Longest::default();
    found.write_graphml(&mut out).unwrap();
    let text = String::from_utf8(out.text).unwrap();
    assert_eq!(text.matches("<edge ").count(), found.edges.i.len());
    assert_eq!(text.matches("<node ").count(), 60);
    assert!(text.ends_with("</edge>\n  </graph>\n</graphml>\n"));
    assert!(text.len() > 100_000 && out.longest < 300, "{}", out.longest);
}

#[test]
fn the_second_sweep_takes_the_permutations_of_the_first() {
    // Three strips; one sweep has all pairs with their own permutations.
    let table = random(300, 11, usize::MAX);
    let asked = |fdr: Option<f64>| Association {
        permutations: 19,
        fdr,
        seed: 3,
        ..asked(Measure::Pearson)
    };
    let p = |fdr: Option<f64>| {
        let found = network(&asked(fdr), &table).unwrap();
        let p = found.edges.p.clone().unwrap();
        pairs(&found).into_iter().zip(p).collect::<Vec<_>>()
    };
    let (once, twice) = (p(None), p(Some(1.0)));
    assert!(twice.len() > 1000, "{}", twice.len());
    assert!(twice.iter().all(|edge| once.contains(edge)));
}
