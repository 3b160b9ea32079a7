//! Runs whose device is too small, is lost, or refuses a kernel: the answer is the same.

use super::{FOLDS, alone, cloud, device, on_device, outcome_of, problem};
use zipfold_core::problem::Problem;
use zipfold_core::{Data, Domain, Precision, describe, oracle};
use zipfold_testkit::compare::{close, difference, of_output, same};
use zipfold_testkit::runner::numbers;

/// Rows, results and both in device memory that is made small: tile by tile, in halves, and on the
/// host where nothing fits.
#[test]
#[ignore = "needs opencl"]
fn memory_that_is_too_small_changes_no_answer() {
    let (device, _turn) = device();
    let (x, y) = (cloud(9, 2300, 3), cloud(10, 1900, 3));
    let cases = [
        (FOLDS[0], Domain::Triangle, "120000"),
        (FOLDS[4], Domain::Cross, "150000"),
        (FOLDS[7], Domain::Cross, "400000"),
        (r#"{ kind = "matrix" }"#, Domain::Diagonal, "900000"),
        (
            r#"{ kind = "reduce", op = "sum" }"#,
            Domain::Triangle,
            "200000",
        ),
        (FOLDS[11], Domain::Ordered, "3000"),
    ];
    for (fold, domain, bytes) in cases {
        let problem = Problem {
            domain: Some(domain),
            ..problem(&format!("folds = [{fold}]"))
        };
        let y = (domain == Domain::Cross).then(|| y.clone());
        let job = describe(
            &problem,
            Data {
                pairs: None,
                x: x.clone(),
                y,
                weights: vec![],
            },
        )
        .unwrap();
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        let exact = !fold.contains("sum") && !fold.contains("matrix");
        let equal = |a: f64, b: f64| if exact { same(a, b) } else { close(a, b, 1e-5) };
        let got = on_device(&problem, &job, device, &[("device.memory", bytes)]).unwrap();
        assert_eq!(
            difference(&got[0], &wanted[0], equal),
            None,
            "{fold} in {bytes} bytes"
        );
    }
}

/// The rows of one tile at a time, at every family's addresses.
#[test]
#[ignore = "needs opencl"]
fn streamed_rows_are_found_at_their_places() {
    let (device, _turn) = device();
    let folds = [
        FOLDS[0],
        FOLDS[5],
        FOLDS[7],
        FOLDS[3],
        r#"{ kind = "matrix" }"#,
    ];
    for (at, fold) in folds.into_iter().enumerate() {
        for dim in [2, 40] {
            if dim == 40 && ![0, 1, 4].contains(&at) {
                continue;
            }
            let domain = [Domain::Triangle, Domain::Ordered, Domain::Square][at % 3];
            let problem = Problem {
                domain: Some(domain),
                precision: Some(Precision::F64),
                ..problem(&format!("folds = [{fold}]"))
            };
            let job = alone(&problem, cloud(12, 700, dim));
            let wanted = numbers(&job, &oracle::run(&job).unwrap());
            let set = [("device.rows", "streamed"), ("device.tile", "256")];
            let got = on_device(&problem, &job, device, &set).unwrap();
            assert_eq!(difference(&got[0], &wanted[0], same), None, "{fold} {dim}");
        }
    }
}

/// A device that is lost in the middle: the host goes on, with the same answer.
#[test]
#[ignore = "needs opencl"]
fn the_host_goes_on_where_a_device_is_lost() {
    let (device, _turn) = device();
    for fold in [FOLDS[0], FOLDS[4], r#"{ kind = "matrix" }"#] {
        let problem = Problem {
            precision: Some(Precision::F64),
            ..problem(&format!("folds = [{fold}]"))
        };
        let job = alone(&problem, cloud(13, 900, 3));
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        let set = [("fault.launches", "3"), ("device.tile", "256")];
        let got = on_device(&problem, &job, device, &set).unwrap();
        assert_eq!(difference(&got[0], &wanted[0], same), None, "{fold}");
    }
}

/// A source that the device's compiler refuses: the host answers, and a warning names the compiler
/// and who goes on.
#[test]
#[ignore = "needs opencl"]
fn the_host_answers_where_generated_code_does_not_compile() {
    let (device, _turn) = device();
    for fold in [
        FOLDS[0],
        FOLDS[4],
        FOLDS[7],
        FOLDS[11],
        r#"{ kind = "matrix" }"#,
        r#"{ kind = "top", k = 3 }"#,
    ] {
        let problem = Problem {
            precision: Some(Precision::F64),
            ..problem(&format!("folds = [{fold}]"))
        };
        let job = alone(&problem, cloud(13, 300, 3));
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        let done = outcome_of(&problem, &job, device, &[("fault.compiles", "0")]).unwrap();
        assert_eq!(
            difference(
                &of_output(&job.folds[0], &done.outputs[0]),
                &wanted[0],
                same
            ),
            None,
            "{fold}"
        );
        assert_eq!(done.plan.backend, "cpu", "{fold}");
        let said: Vec<String> = done.warnings.iter().map(ToString::to_string).collect();
        let told = |w: &String| {
            w.contains("refused a generated kernel") && w.contains("on the host's processor")
        };
        assert!(said.iter().any(told), "{fold}: {said:?}");
    }
}
