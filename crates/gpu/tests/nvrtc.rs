//! Kernels compile for NVIDIA architectures without a GPU, and shipped defaults spill no register. SKIPPED without NVRTC.

use zipfold_core::problem::Problem;
use zipfold_core::{Cells, Data, Precision, Table, describe};
use zipfold_gpu::runtime::nvrtc;
use zipfold_gpu::{Runtime, engine};
use zipfold_plan::{Machine, choose};

const PAIRS: [(&str, usize); 11] = [
    ("euclidean(x, y)", 3),
    ("cityblock(x, y)", 3),
    ("exp(-sum((x - y)^2))", 3),
    ("sum(abs(x - y)^1.5)", 5),
    ("cityblock(x, y)", 40),
    ("euclidean(x, y)", 40),
    ("sum(x * y)", 40),
    ("sum(abs(x - y)^3)", 20),
    ("cosine(x, y)", 512),
    ("chebyshev(x, y)", 512),
    ("cityblock(x, y)", 1100),
];
const FOLDS: [&str; 9] = [
    r#"{ kind = "matrix" }"#,
    r#"{ kind = "histogram", axes = [{ bins = 300, range = [0.0, 13.0] }] }"#,
    r#"{ kind = "histogram", axes = [{ bins = 1000000, range = [0.0, 13.0] }] }"#,
    r#"{ kind = "nearest", k = 10 }"#,
    r#"{ kind = "nearest", k = 1000 }"#,
    r#"{ kind = "select", predicate = "sum((x - y)^2) < 1" }"#,
    r#"{ kind = "reduce", op = "sum" }"#,
    r#"{ kind = "reduce", op = "argmin" }"#,
    r#"{ kind = "reduce", op = "logsumexp" }"#,
];

/// Parts of the list that are compiled by a test each, so that they run beside each other.
const PARTS: usize = 4;

#[test]
fn kernels_compile_for_every_architecture_and_spill_nothing_1() {
    compile(0);
}

#[test]
fn kernels_compile_for_every_architecture_and_spill_nothing_2() {
    compile(1);
}

#[test]
fn kernels_compile_for_every_architecture_and_spill_nothing_3() {
    compile(2);
}

#[test]
fn kernels_compile_for_every_architecture_and_spill_nothing_4() {
    compile(3);
}

/// Compiles every fold of part `part` of the pairs.
fn compile(part: usize) {
    if !nvrtc::is_present() {
        eprintln!("SKIPPED kernels_compile_for_every_architecture_and_spill_nothing: no libnvrtc");
        return;
    }
    let mut compiled = 0;
    let mut failures = vec![];
    let mine = PAIRS.iter().enumerate().filter(|(at, _)| at % PARTS == part);
    for (at, (pair, dim)) in mine {
        let x = Table::f32(300, *dim, (0..300 * dim).map(|v| (v * 37 % 101) as f32).collect()).unwrap();
        for (f, fold) in FOLDS.iter().enumerate() {
            for precision in [Precision::F32, Precision::F64] {
                // Every pair and fold for one architecture, the others in turn.
                let arch = if precision == Precision::F32 { 90 } else { [80, 100][(at + f) % 2] };
                let cells = [Cells::Diagonal, Cells::Ordered][f % 2];
                let text =
                    format!("schema = 1\nx = {{ name = \"x\" }}\npair = {{ formula = \"{pair}\" }}\nfolds = [{fold}]");
                let problem: Problem = toml::from_str(&text).unwrap();
                let problem = Problem { precision: Some(precision), cells: Some(cells), ..problem };
                let job = describe(&problem, Data { x: x.clone(), y: None, weights: vec![] }).unwrap();
                let plan = choose(&job, &Machine::default(), &Default::default()).unwrap();
                for (name, source) in engine::sources(&job, &plan, Runtime::Cuda).unwrap() {
                    compiled += 1;
                    match nvrtc::report(&source, arch) {
                        Err(e) => failures.push(format!("{pair} {fold} {name} {precision:?}: {e}")),
                        Ok(log) => {
                            let spills =
                                log.lines().any(|l| l.contains("spill") && !l.contains(" 0 bytes spill stores"));
                            if spills {
                                failures.push(format!("{pair} {fold} {name} {precision:?} sm_{arch} spills: {log}"));
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} of {compiled}:\n{}", failures.len(), failures.join("\n"));
    assert!(compiled >= 140 / PARTS, "{compiled} kernels");
}
