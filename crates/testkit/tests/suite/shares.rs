//! Shares of every shape merge to the bits of one run: every fold alone and with others, whole
//! pairs and half of them, matrices, sorted rows, rows that are credited from both sides.

use zipfold::internals::partial::{decode, encode};
use zipfold::internals::plan::shares::{Cut, cell_bytes, shape, share};
use zipfold::internals::shards::{merge_each, ranges_of};
use zipfold::shards::{Partial, merge, part};
use zipfold::{Options, Query, Target};
use zipfold_core::problem::FoldSpec;
use zipfold_core::{Data, Error, Problem, Table};
use zipfold_testkit::Lcg;
use zipfold_testkit::compare::{difference, of_output, same};
use zipfold_testkit::runner::plain;

/// A question: what the pair is, what is kept, and the shape of its shares.
struct Asked {
    about: &'static str,
    shape: Cut,
}

const fn asked(shape: Cut, about: &'static str) -> Asked {
    Asked { about, shape }
}

const QUESTIONS: &[Asked] = &[
    asked(Cut::Bands, r#"folds = [{ kind = "reduce", op = "sum" }]"#),
    asked(
        Cut::Bands,
        "domain = 'square'\nfolds = [{ kind = 'reduce', op = 'sum' }]",
    ),
    asked(
        Cut::Bands,
        "domain = 'ordered'\nfolds = [{ kind = 'reduce', op = 'mean', axis = 'all' }, { kind = 'reduce', op = 'logsumexp' }]",
    ),
    asked(
        Cut::Bands,
        "domain = 'triangle'\nfolds = [{ kind = 'reduce', op = 'sum', axis = 'all' }]",
    ),
    asked(
        Cut::Bands,
        "domain = 'diagonal'\nfolds = [{ kind = 'reduce', op = 'logsumexp' }, { kind = 'matrix' }]",
    ),
    asked(
        Cut::Columns,
        "domain = 'square'\nfolds = [{ kind = 'reduce', op = 'sum', axis = 'column' }, { kind = 'reduce', op = 'argmin', axis = 'column' }]",
    ),
    asked(
        Cut::Bands,
        "domain = 'square'\nfolds = [{ kind = 'reduce', op = 'sum' }, { kind = 'reduce', op = 'sum', axis = 'column' }]",
    ),
    asked(
        Cut::Cells,
        "pair = { formula = 'exp(-norm(x - y)) * log(1 + norm(x - y))' }\nfolds = [{ kind = 'reduce', op = 'sum' }, { kind = 'reduce', op = 'min' }, { kind = 'reduce', op = 'softmax' }]",
    ),
    asked(Cut::Bands, "folds = [{ kind = 'nearest', k = 5 }]"),
    asked(
        Cut::Bands,
        "domain = 'triangle'\nfolds = [{ kind = 'nearest', k = 3, largest = true }]",
    ),
    asked(Cut::Bands, "folds = [{ kind = 'quantile', q = [0.5] }]"),
    asked(Cut::Bands, "folds = [{ kind = 'matrix' }]"),
    asked(
        Cut::Bands,
        "domain = 'square'\nprecision = 'f32'\nfolds = [{ kind = 'matrix' }]",
    ),
    asked(Cut::Bands, "folds = [{ kind = 'condensed' }]"),
    asked(
        Cut::Bands,
        "folds = [{ kind = 'join', where = 'euclidean(x, y) < 0.5', join_kind = 'semi' }]",
    ),
    asked(
        Cut::Bands,
        "domain = 'triangle'\nfolds = [{ kind = 'join', where = 'euclidean(x, y) < 0.5', join_kind = 'anti' }]",
    ),
    asked(
        Cut::Cells,
        "folds = [{ kind = 'join', where = 'euclidean(x, y) < 1', value = 'x[0] * y[0]' }]",
    ),
    asked(
        Cut::Cells,
        "folds = [{ kind = 'histogram', axes = [{ bins = 20, range = [0.0, 10.0] }], mean = true, weights = 'w' }]",
    ),
    asked(Cut::Cells, "folds = [{ kind = 'top', k = 30 }]"),
    asked(
        Cut::Cells,
        "domain = 'square'\nfolds = [{ kind = 'top', k = 9 }, { kind = 'histogram', axes = [{ edges = [0.0, 1.0, 7.0] }] }]",
    ),
];

fn problem(about: &str) -> Problem {
    let text = format!(
        "schema = 1\nx = {{ name = 'x' }}\n{}{}{about}",
        if about.contains("pair =") {
            ""
        } else {
            "pair = { metric = 'euclidean' }\n"
        },
        if about.contains("precision") {
            ""
        } else {
            "precision = 'f64'\n"
        }
    );
    toml::from_str(&text).unwrap_or_else(|e| panic!("{about}: {e}"))
}

fn data(problem: &Problem, n: usize, d: usize) -> Data {
    let mut lcg = Lcg::new(n as u64 + 1);
    let mut numbers = |count: usize| (0..count).map(|_| lcg.between(0.0, 8.0)).collect();
    let x = Table::f64(n, d, numbers(n * d)).unwrap();
    let w = Table::f64(n, 1, numbers(n)).unwrap();
    let weighed = |fold: &FoldSpec| {
        let asked = matches!(
            fold,
            FoldSpec::Histogram {
                weights: Some(_),
                ..
            }
        );
        asked.then(|| [w.clone(), w.clone()])
    };
    Data {
        pairs: None,
        weights: problem.folds.iter().map(weighed).collect(),
        x,
        y: None,
    }
}

fn options(prune: &str, tile: usize, shard: Option<(usize, usize)>) -> Options<'static> {
    let mut options = Options {
        shard,
        ..plain("scalar", 2, tile).options()
    };
    options.overrides.set("prune", prune).unwrap();
    options
}

fn parts(
    (problem, data): (&Problem, &Data),
    (prune, tile): (&str, usize),
    parts: usize,
) -> Result<Vec<(String, Partial)>, Error> {
    let of = |index| {
        let options = options(prune, tile, Some((index, parts)));
        let answer = Query::new(problem, data, &options).run()?;
        let made = part(&answer.problem, &answer.outcome, (index, parts))?;
        let again = decode(&encode(&made)?, "part")?;
        Ok((format!("part {}", index + 1), again))
    };
    (0..parts).map(of).collect()
}

/// The parts of one question merge to the bits of one run.
fn merged_is_whole(problem: &Problem, data: &Data, prune: &str, tile: usize, count: usize) {
    let whole = options(prune, tile, None);
    let wanted = Query::new(problem, data, &whole).run().unwrap();
    let mut parts = parts((problem, data), (prune, tile), count).unwrap();
    // In any order.
    parts.rotate_left(count / 2);
    let got = merge(problem, data, parts, &whole).unwrap();
    assert_eq!(got.outcome.pairs, wanted.outcome.pairs);
    assert_eq!(got.outcome.tally.counted, wanted.outcome.tally.counted);
    let outputs = got.outcome.outputs.iter().zip(&wanted.outcome.outputs);
    for (fold, (got, wanted)) in wanted.job.folds.iter().zip(outputs) {
        let odd = difference(&of_output(fold, got), &of_output(fold, wanted), same);
        let what = || format!("{problem:?} prune {prune} tile {tile} of {count}");
        assert!(odd.is_none(), "{}: {}", what(), odd.unwrap_or_default());
    }
}

#[test]
fn shares_of_every_fold_have_the_bits_of_one_run() {
    let mut sorted = 0;
    for asked in QUESTIONS {
        let problem = problem(asked.about);
        for n in [0, 1, 130, 700] {
            let data = data(&problem, n, 3);
            for count in [1, 2, 3, 7] {
                merged_is_whole(&problem, &data, "off", 128, count);
                // Where bounds serve the folds.
                let pruned = options("on", 128, None);
                if Query::new(&problem, &data, &pruned).explain().is_ok() {
                    merged_is_whole(&problem, &data, "on", 128, count);
                    sorted += 1;
                }
            }
        }
        let data = data(&problem, 700, 3);
        let options = options("off", 128, None);
        let query = Query::new(&problem, &data, &options).explain().unwrap();
        assert_eq!(
            shape(&query.job, &query.plan, 3),
            asked.shape,
            "{}",
            asked.about
        );
    }
    assert!(sorted > 50, "{sorted}");
}

/// The results of a band are as many as its rows, for any number of rows in all.
#[test]
fn parts_of_rows_hold_their_rows_alone() {
    for asked in QUESTIONS.iter().filter(|asked| {
        let half = ["triangle", "diagonal", "condensed"];
        asked.shape == Cut::Bands && !half.iter().any(|word| asked.about.contains(word))
    }) {
        if asked.about.contains("column") || asked.about == QUESTIONS[0].about {
            continue;
        }
        let problem = problem(asked.about);
        let data = data(&problem, 2500, 2);
        let bytes = |count: usize| {
            let parts = parts((&problem, &data), ("off", 128), count).unwrap();
            parts
                .iter()
                .map(|(_, part)| encode(part).unwrap().len())
                .sum::<usize>()
        };
        let (one, many) = (bytes(1), bytes(8));
        assert!(
            many < one + one / 4 + 16_384,
            "{}: {one} {many}",
            asked.about
        );
    }
}

/// Sums of half of the pairs: a share has a few sums for each row and column of its squares.
#[test]
fn cells_of_half_of_the_pairs_have_the_bits_of_one_run_and_few_bytes() {
    let about = "pair = { formula = 'exp(-abs(x[0] - y[0])) * log(1 + abs(x[0] - y[0]))' }\ndomain = 'triangle'\nfolds = [{ kind = 'reduce', op = 'sum' }]";
    let problem = problem(about);
    let data = data(&problem, 6000, 1);
    let options = options("off", 128, None);
    let query = Query::new(&problem, &data, &options).explain().unwrap();
    for count in [8, 30] {
        assert_eq!(shape(&query.job, &query.plan, count), Cut::Cells);
        let parts = parts((&problem, &data), ("off", 128), count).unwrap();
        let bytes: usize = parts
            .iter()
            .map(|(_, part)| encode(part).unwrap().len())
            .sum();
        // Counts of values take two bytes in files, and eight in memory.
        let predicted = cell_bytes(&query.job, count) as usize;
        assert!(bytes < predicted, "{count}: {bytes} of {predicted}");
        assert!(2 * bytes > predicted / 2, "{count}: {bytes} of {predicted}");
    }
    merged_is_whole(&problem, &data, "off", 128, 30);
}

/// Neighbours of half of the pairs, where all rows in every share would be many: a share has the
/// states of its rows, of sums too.
#[test]
fn crosses_have_the_bits_of_one_run_and_states_of_their_rows() {
    let problem = problem(
        "domain = 'triangle'\nfolds = [{ kind = 'nearest', k = 600 }, { kind = 'join', where = 'euclidean(x, y) < 0.5', join_kind = 'semi' }, { kind = 'reduce', op = 'min' }, { kind = 'reduce', op = 'sum' }]",
    );
    let (n, count) = (1500, 6);
    let data = data(&problem, n, 2);
    let options = options("off", 256, None);
    let query = Query::new(&problem, &data, &options).explain().unwrap();
    let made = shape(&query.job, &query.plan, count);
    let folds: Vec<_> = query.job.folds.iter().map(|f| f.bytes(n, n)).collect();
    assert_eq!(made, Cut::Crosses, "{:?} {folds:?}", query.job.space);
    let cut = share(&query.job, &query.plan, 1, count);
    assert!(cut.foreign > 0 && cut.rows.len() < n / 2);
    merged_is_whole(&problem, &data, "off", 256, count);
}

#[test]
fn what_is_missing_is_named_and_left_out_only_when_asked() {
    let problem =
        problem("folds = [{ kind = 'matrix' }, { kind = 'nearest', k = 2 }]\ndomain = 'square'");
    let data = data(&problem, 600, 2);
    let whole = options("off", 128, None);
    let some = || {
        let mut parts = parts((&problem, &data), ("off", 128), 5).unwrap();
        parts.retain(|(name, _)| !["part 2", "part 3", "part 4"].contains(&name.as_str()));
        parts
    };
    let refused = merge(&problem, &data, some(), &whole)
        .unwrap_err()
        .to_string();
    assert!(refused.contains("2 of 5 shards: missing 2-4"), "{refused}");
    let mut given = some().into_iter().map(Ok);
    let target = (&Target::Memory, true);
    let (answer, missing) = merge_each((&problem, &data), &mut given, target, &whole).unwrap();
    assert_eq!(missing, [1, 2, 3]);
    let zipfold::Output::F64(values) = &answer.outcome.outputs[0] else {
        panic!("no matrix")
    };
    let there = |row: usize| {
        values[row * 600..(row + 1) * 600]
            .iter()
            .all(|v| !v.is_nan())
    };
    let gone = |row: usize| {
        values[row * 600..(row + 1) * 600]
            .iter()
            .all(|v| v.is_nan())
    };
    assert!(there(0) && there(599) && gone(300));
}

/// Shares that were computed in two ways are refused, and both ways are named.
#[test]
fn shares_of_two_ways_do_not_merge() {
    let problem = problem("folds = [{ kind = 'nearest', k = 2 }]");
    let data = data(&problem, 600, 2);
    let whole = options("off", 128, None);
    let mut both = parts((&problem, &data), ("off", 128), 2).unwrap();
    both[1] = parts((&problem, &data), ("off", 256), 2).unwrap().remove(1);
    let refused = merge(&problem, &data, both, &whole)
        .unwrap_err()
        .to_string();
    for words in [
        "shard 2 has",
        "tiles of 256 by",
        "shard 1 has",
        "tiles of 128 by",
    ] {
        assert!(refused.contains(words), "{refused}");
    }
}

#[test]
fn ranges_are_told_in_few_words() {
    assert_eq!(ranges_of(&[1, 3, 4, 5, 9, 10]), "1, 3-5, 9, 10");
    assert_eq!(ranges_of(&[]), "");
}
