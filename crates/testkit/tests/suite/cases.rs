//! Every case of every folder; all that fail are named.

use zipfold_testkit::{check, load};

fn run(folder: &str, least: usize) {
    let cases = load(folder).unwrap();
    assert!(cases.len() >= least, "{folder} has {} cases", cases.len());
    let failures: Vec<String> = cases.iter().flat_map(check).collect();
    assert!(
        failures.is_empty(),
        "{} of {} cases:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

macro_rules! folders {
    ($($name:ident $least:expr),*) => {
        $(#[test] fn $name() { run(stringify!($name), $least); })*
        const FOLDERS: &[&str] = &[$(stringify!($name)),*];
    };
}
folders!(pairs 40, histogram 20, join 8, neighbours 8, reduce 60, cutoff 8, nan 10, huge 5, refuse 60, top 10, quantile 10);

#[test]
fn no_folder_is_left_out() {
    let all = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases")).unwrap();
    let folders = all
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir());
    for folder in folders {
        let name = folder.file_name().into_string().unwrap();
        // These have tests of their own: of the command, of network files, of inference.
        let elsewhere = ["refuse-command", "refuse-network", "networks"].contains(&name.as_str());
        assert!(
            elsewhere || FOLDERS.contains(&name.as_str()),
            "cases/{name} is run by no test"
        );
    }
}
