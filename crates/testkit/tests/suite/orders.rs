//! The order in which the blocks of a tile are visited changes no bit of an answer.

use zipfold::internals::plan::Order;
use zipfold::pairs;
use zipfold_core::fold::rows::ReduceAxis;
use zipfold_core::fold::{Closed, ReduceOp};
use zipfold_core::problem::{AxisSpec, FoldSpec};
use zipfold_core::{Data, Table, describe};
use zipfold_testkit::Lcg;
use zipfold_testkit::compare::{difference, same};
use zipfold_testkit::runner::{Variant, chosen, on_engine, plain};

#[test]
fn every_order_gives_the_same_bits() {
    let mut lcg = Lcg::new(5);
    let mut table =
        |n: usize| Table::f64(n, 3, (0..n * 3).map(|_| lcg.between(-1.0, 1.0)).collect()).unwrap();
    let (x, y) = (table(700), table(900));
    let axis = AxisSpec {
        bins: Some(20),
        range: Some([0.0, 2.0]),
        ..AxisSpec::default()
    };
    let folds = [
        FoldSpec::Reduce {
            op: ReduceOp::Sum,
            axis: ReduceAxis::Row,
            weights: None,
        },
        FoldSpec::Reduce {
            op: ReduceOp::Sum,
            axis: ReduceAxis::Column,
            weights: None,
        },
        FoldSpec::Nearest {
            k: 5,
            largest: Some(false),
        },
        FoldSpec::Histogram {
            axes: vec![axis],
            closed: Closed::Last,
            weights: None,
            mean: true,
            weight: None,
            values: Default::default(),
        },
        FoldSpec::Matrix {},
    ];
    for (fold, of_self) in folds
        .into_iter()
        .flat_map(|f| [(f.clone(), false), (f, true)])
    {
        let asked = pairs(&x).metric("euclidean").fold(fold.clone());
        let asked = if of_self { asked } else { asked.with(&y) };
        let data = Data {
            pairs: None,
            x: x.clone(),
            y: (!of_self).then(|| y.clone()),
            weights: vec![None],
        };
        let job = describe(asked.problem(), data).unwrap();
        let run = |order: Order| {
            let overrides = chosen([
                ("order", order.name()),
                ("prune", "off"),
                ("tile.rows", "512"),
                ("tile.cols", "640"),
            ]);
            on_engine(
                asked.problem(),
                &job,
                &Variant {
                    overrides,
                    ..plain("scalar", 2, 0)
                },
            )
            .unwrap()
        };
        let expected = run(Order::Column);
        for order in [Order::Row, Order::Snake, Order::Hilbert] {
            let odd = difference(&run(order)[0], &expected[0], same);
            assert!(
                odd.is_none(),
                "{fold:?} {} {of_self}: {}",
                order.name(),
                odd.unwrap_or_default()
            );
        }
    }
}
