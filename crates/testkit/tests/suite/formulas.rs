//! Random formulas: the engine has the bits of the oracle on every instruction set.

use zipfold::pairs;
use zipfold_core::oracle;
use zipfold_core::problem::{FoldSpec, NanPolicy, Problem};
use zipfold_core::{Data, Precision, Table, describe};
use zipfold_testkit::compare::{difference, same};
use zipfold_testkit::runner::{isas, numbers, on_engine, plain};
use zipfold_testkit::{Lcg, formulas};

fn rows(lcg: &mut Lcg, n: usize, d: usize) -> Table {
    let items = (0..n * d).map(|_| {
        (lcg.between(-3.0, 3.0) * 8.0).round() / 8.0
            + if lcg.below(2) == 0 { lcg.unit() } else { 0.0 }
    });
    Table::f64(n, d, items.collect()).unwrap()
}

#[test]
fn random_formulas_have_the_bits_of_the_oracle() {
    let mut lcg = Lcg::new(11);
    let mut refused = vec![];
    for round in 0..2000 {
        let dim = 1 + lcg.below(5);
        let depth = 1 + lcg.below(3);
        let text = formulas::scalar(&mut lcg, depth, dim);
        let (x, y) = (rows(&mut lcg, 2, dim), rows(&mut lcg, 131, dim));
        let asked = pairs(&x).with(&y).formula(&text).fold(FoldSpec::Matrix {});
        let problem = Problem {
            nan: NanPolicy::Propagate,
            precision: Some(Precision::F64),
            ..asked.problem().clone()
        };
        let job = match describe(
            &problem,
            Data {
                pairs: None,
                x,
                y: Some(y),
                weights: vec![],
            },
        ) {
            Ok(job) => job,
            Err(e) => {
                refused.push(format!("{text}: {e}"));
                continue;
            }
        };
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        for isa in isas() {
            let got = on_engine(&problem, &job, &plain(isa, 1, 0)).unwrap();
            let odd = difference(&got[0], &wanted[0], same);
            assert!(
                odd.is_none(),
                "round {round} {isa}: {text}: {}",
                odd.unwrap_or_default()
            );
        }
    }
    assert!(
        refused.is_empty(),
        "{} refused, such as {}",
        refused.len(),
        refused[0]
    );
}

#[test]
fn formulas_called_symmetric_are_so_to_the_bit() {
    let mut lcg = Lcg::new(23);
    let mut symmetric = 0;
    for round in 0..6000 {
        let dim = 1 + lcg.below(3);
        let depth = 1 + lcg.below(3);
        let text = formulas::scalar(&mut lcg, depth, dim);
        let pool = [0.0, -0.0, 1.0, -1.0, 0.1, -2.7, 1e300, f64::INFINITY];
        let x = Table::f64(7, dim, (0..7 * dim).map(|_| pool[lcg.below(8)]).collect()).unwrap();
        let asked = pairs(&x)
            .formula(&text)
            .domain(zipfold_core::Domain::Square)
            .fold(FoldSpec::Matrix {});
        let job = describe(
            asked.problem(),
            Data {
                pairs: None,
                x,
                y: None,
                weights: vec![],
            },
        )
        .unwrap();
        if !job.symmetric {
            continue;
        }
        symmetric += 1;
        let values = &oracle::run(&job).unwrap().values[0];
        let odd = (0..49).find(|at| !same(values[*at], values[at % 7 * 7 + at / 7]));
        assert!(odd.is_none(), "round {round}: {text} at {odd:?}");
    }
    assert!(symmetric > 300, "{symmetric} symmetric formulas");
}
