//! `cases/refuse-network`: every file there is refused, as input or request, with the words listed
//! beside it.

use std::path::Path;
use zipfold_core::{Blame, Budget};
use zipfold_io::network::{read_evidence, read_network};

#[test]
fn broken_networks_and_evidence_are_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/refuse-network");
    let list = std::fs::read_to_string(folder.join("CASES.tsv")).unwrap();
    let budget = Budget::new(1 << 28);
    let (mut seen, mut wrong) = (0, Vec::new());
    for line in list.lines().filter(|l| !l.starts_with('#')) {
        let [file, base, words] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let outcome = match base {
            "-" => read_network(&folder.join(file), &budget).map(|_| ()),
            base => read_network(&folder.join(base), &budget)
                .and_then(|n| read_evidence(&folder.join(file), &n, &budget))
                .map(|_| ()),
        };
        seen += 1;
        match outcome {
            Ok(()) => wrong.push(format!("{file} was accepted")),
            Err(e) if !matches!(e.blame(), Blame::Input | Blame::Request) => {
                wrong.push(format!("{file}: {e}"))
            }
            Err(e) if !e.to_string().contains(words) => {
                wrong.push(format!("{file}: '{words}' is not in: {e}"))
            }
            Err(e) if !e.to_string().contains(file) => {
                wrong.push(format!("{file} is not named in: {e}"))
            }
            Err(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen >= 60, "{seen} cases");
}
