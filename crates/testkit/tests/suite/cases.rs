//! Every case of every folder; all that fail are named.

use zipfold_testkit::{check, load};

fn run(folder: &str, least: usize) {
    let cases = load(folder).unwrap();
    assert!(cases.len() >= least, "{folder} has {} cases", cases.len());
    let failures: Vec<String> = cases.iter().flat_map(check).collect();
    assert!(failures.is_empty(), "{} of {} cases:\n{}", failures.len(), cases.len(), failures.join("\n"));
}

macro_rules! folders {
    ($($name:ident $least:expr),*) => { $(#[test] fn $name() { run(stringify!($name), $least); })* };
}
folders!(pairs 40, histogram 20, join 8, neighbours 8, reduce 60, near 8, nan 10, huge 5, refuse 60);
