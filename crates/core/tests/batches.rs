//! Matrices of batches and values of listed pairs, as columns: whole, and some lines at a time.

use zipfold_core::data::Data;
use zipfold_core::fold::Columns;
use zipfold_core::problem::{FoldSpec, Input, PairSpec, Problem};
use zipfold_core::{Table, describe, oracle};

fn problem(more: &str, fold: FoldSpec) -> Problem {
    let mut problem = Problem::new(Input::named("x"), PairSpec::default(), vec![fold]);
    match more {
        "batch" => problem.batch = Some("frame".into()),
        _ => problem.pairs = Some(Input::named("pairs")),
    }
    problem
}

/// Seven rows in three frames, one of which has a single row.
fn rows() -> Table {
    let frames = vec![5.0, 2.0, 5.0, 2.0, 9.0, 5.0, 2.0];
    let frames = Table::f64(7, 1, frames).unwrap();
    let frames = frames.with_names(vec!["frame".into()]).unwrap();
    let x = (0..7).map(|i| f64::from(i * i)).collect();
    Table::f64(7, 1, x)
        .unwrap()
        .with_attributes(frames)
        .unwrap()
}

/// The numbers of every column, line by line, as `lines` asks for them: so many at a time.
fn read(answer: &Columns<'_>, at_a_time: usize) -> Vec<Vec<f64>> {
    let all = answer.lines();
    let column = |column: &zipfold_core::fold::Column<'_>| {
        let starts = (0..all).step_by(at_a_time);
        let parts = starts.flat_map(|start| {
            let lines = start..(start + at_a_time).min(all);
            let part = column.part(&lines);
            assert_eq!(part.len(), lines.len());
            (0..part.len()).map(|at| part.get(at)).collect::<Vec<f64>>()
        });
        parts.collect()
    };
    answer.columns.iter().map(column).collect()
}

fn columns(problem: &Problem, data: Data) -> Vec<Vec<f64>> {
    let job = describe(problem, data).unwrap();
    let found = oracle::run(&job).unwrap();
    let answer = job.folds[0].columns(&found.states[0], job.space.n, job.space.m);
    let answer = answer.unwrap();
    let whole = read(&answer, answer.lines().max(1));
    for at_a_time in 1..5 {
        assert_eq!(read(&answer, at_a_time), whole, "{at_a_time} lines");
    }
    whole
}

#[test]
fn matrices_of_batches_follow_one_another() {
    let data = Data::of_tables(rows(), None);
    let condensed = columns(&problem("batch", FoldSpec::Condensed {}), data.clone());
    // Frames 2 and 5 in the order of keys: rows 1, 3, 6 and 0, 2, 5. Frame 9 has no pair.
    let wanted = [
        [0.0, 1.0, 3.0, 8.0],
        [0.0, 1.0, 6.0, 35.0],
        [0.0, 3.0, 6.0, 27.0],
        [1.0, 0.0, 2.0, 4.0],
        [1.0, 0.0, 5.0, 25.0],
        [1.0, 2.0, 5.0, 21.0],
    ];
    for (at, line) in wanted.iter().enumerate() {
        assert_eq!([0, 1, 2, 3].map(|part| condensed[part][at]), *line);
    }
    assert_eq!(condensed[0].len(), wanted.len());
    let matrix = columns(&problem("batch", FoldSpec::Matrix {}), data);
    // 9 places of each of two frames, and the one of a row with itself.
    assert_eq!(matrix[3].len(), 19);
    assert_eq!(
        matrix[3][..9],
        [0.0, 8.0, 35.0, 8.0, 0.0, 27.0, 35.0, 27.0, 0.0]
    );
    assert_eq!(
        [0, 1, 2, 3].map(|part| matrix[part][18]),
        [2.0, 4.0, 4.0, 0.0]
    );
}

#[test]
fn values_of_a_list_are_lines_in_its_order() {
    let list = vec![6.0, 0.0, 1.0, 3.0, 2.0, 2.0, 1.0, 3.0];
    let data = Data {
        pairs: Some(Table::f64(4, 2, list).unwrap()),
        ..Data::of_tables(rows(), None)
    };
    let lines = columns(&problem("pairs", FoldSpec::Matrix {}), data);
    let wanted = [
        vec![6.0, 1.0, 2.0, 1.0],
        vec![0.0, 3.0, 2.0, 3.0],
        vec![36.0, 8.0, 0.0, 8.0],
    ];
    assert_eq!(lines, wanted);
}
