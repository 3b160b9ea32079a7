//! Networks that another program wrote, in every format: the same marginals as from BIF.

use std::path::Path;
use std::process::Command;
use zipfold::network::{Settings, infer};
use zipfold_core::Budget;
use zipfold_core::factor::{Answer, Evidence, Network, Task};
use zipfold_io::network::read_network;

fn read(path: &Path) -> Network {
    read_network(path, &Budget::new(1 << 30)).unwrap_or_else(|e| panic!("{e}"))
}

fn marginals(net: &Network) -> Vec<Vec<f64>> {
    match infer(net, &Evidence::none(), &Task::Mar, &Settings::default())
        .unwrap()
        .answer
    {
        Answer::Mar(_, rows) => rows,
        other => panic!("{other:?}"),
    }
}

/// Asserts that `other` has the variables, states and marginals of `bif`; pyAgrum writes XMLBIF
/// with six digits.
fn same(bif: &Path, other: &Path) {
    let (a, b) = (read(bif), read(other));
    let (p, q) = (marginals(&a), marginals(&b));
    let bound = if other.extension().is_some_and(|s| s == "bifxml") {
        1e-5
    } else {
        1e-12
    };
    assert_eq!(p.len(), q.len(), "{}", other.display());
    for (v, row) in p.iter().enumerate() {
        let u = b.find(&a.name(v)).unwrap();
        assert_eq!(row.len(), q[u].len(), "{}: {}", other.display(), a.name(v));
        for (s, (x, y)) in row.iter().zip(&q[u]).enumerate() {
            assert!(
                a.state(v, s) == b.state(u, s),
                "{}: {}",
                other.display(),
                a.name(v)
            );
            let off = (x - y).abs();
            assert!(
                off <= bound,
                "{}: {} is off by {off:e}",
                other.display(),
                a.name(v)
            );
        }
    }
}

#[test]
fn one_network_in_every_format_has_the_same_marginals() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/networks");
    let bif = folder.join("garden.bif");
    for file in [
        "garden.bifxml",
        "garden.net",
        "garden-gzip.bif.gz",
        "garden-xz.bif.xz",
    ] {
        same(&bif, &folder.join(file));
    }
    // As pyAgrum's LazyPropagation has them.
    let net = read(&bif);
    let rows = marginals(&net);
    let of = |name: &str| rows[net.find(name).unwrap()].clone();
    let near =
        |got: Vec<f64>, want: &[f64]| got.iter().zip(want).all(|(g, w)| (g - w).abs() < 1e-14);
    assert!(near(of("wet"), &[0.5113039632694651, 0.4886960367305349]));
    assert!(near(
        of("slippery"),
        &[0.42142029469150555, 0.2488136399598668, 0.32976606534862757]
    ));
}

const WRITE: &str = "
import gzip, lzma, sys
import pyagrum as gum
source, folder, name = sys.argv[1:]
text = gzip.open(source).read()
open(f'{folder}/{name}.source.bif.xz', 'wb').write(lzma.compress(text))
open(f'{folder}/{name}.source.bif', 'wb').write(text)
net = gum.loadBN(f'{folder}/{name}.source.bif')
for suffix in ('bif', 'bifxml', 'net'):
    gum.saveBN(net, f'{folder}/{name}.{suffix}')
";

#[test]
#[ignore = "needs pyagrum, data"]
fn real_networks_written_by_pyagrum_have_the_marginals_of_their_bif() {
    let python = std::env::var_os("ZIPFOLD_PYTHON").expect("ZIPFOLD_PYTHON is set");
    let data = std::env::var_os("ZIPFOLD_DATA").expect("ZIPFOLD_DATA is set");
    let folder = std::env::temp_dir().join(format!("zipfold-formats-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for net in ["asia", "alarm", "hailfinder", "barley"] {
        let source = Path::new(&data).join(format!("bif/{net}.bif.gz"));
        let done = Command::new(&python)
            .args(["-c", WRITE])
            .arg(&source)
            .arg(&folder)
            .arg(net)
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
        same(&source, &folder.join(format!("{net}.source.bif.xz")));
        // pyAgrum reads the numbers of BIF as f32, so its files are held to its own BIF.
        for suffix in ["bifxml", "net"] {
            same(
                &folder.join(format!("{net}.bif")),
                &folder.join(format!("{net}.{suffix}")),
            );
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
