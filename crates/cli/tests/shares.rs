//! Stores: any number of workers give the bytes of one run, whatever becomes of some of them.
#![cfg(unix)]

mod command;
mod runs;

use runs::{Folder, Random, SLOWLY, inputs};
use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A question of each fold: its name, the fold, the suffix of its answer.
const FOLDS: [(&str, &str, &str); 13] = [
    ("sums", "{ kind = 'reduce', op = 'sum' }", "csv"),
    (
        "means",
        "{ kind = 'reduce', op = 'mean', axis = 'all' }",
        "csv",
    ),
    (
        "columns",
        "{ kind = 'reduce', op = 'sum', axis = 'column' }",
        "csv",
    ),
    ("softmax", "{ kind = 'reduce', op = 'logsumexp' }", "csv"),
    ("argmin", "{ kind = 'reduce', op = 'argmin' }", "csv"),
    ("near", "{ kind = 'nearest', k = 3 }", "csv"),
    ("median", "{ kind = 'quantile', q = [0.5] }", "csv"),
    ("top", "{ kind = 'top', k = 9 }", "csv"),
    (
        "hist",
        "{ kind = 'histogram', axes = [{ bins = 9 }] }",
        "csv",
    ),
    (
        "join",
        "{ kind = 'join', where = 'euclidean(x, y) < 0.05' }",
        "csv",
    ),
    (
        "semi",
        "{ kind = 'join', where = 'euclidean(x, y) < 0.01', join_kind = 'semi' }",
        "csv",
    ),
    ("matrix", "{ kind = 'matrix' }", "npy"),
    ("condensed", "{ kind = 'condensed' }", "npy"),
];

/// The problem file of the question `folds` over `input`.
fn problem(input: &str, folds: &str) -> String {
    format!(
        "schema = 1\nx = {{ name = '{input}' }}\npair = {{ metric = 'euclidean' }}\nfolds = [{folds}]\n"
    )
}

/// A store of the question `folds` over `input`, with small tiles.
fn plan(folder: &Folder, name: &str, input: &str, folds: &str, shares: usize) {
    plan_with(folder, name, (input, ""), folds, shares);
}

/// The same with more words of the command.
fn plan_with(folder: &Folder, name: &str, (input, more): (&str, &str), folds: &str, shares: usize) {
    let problem = problem(input, folds);
    fs::write(folder.path(&format!("{name}.toml")), problem).unwrap();
    folder.finish(&format!(
        "plan {name}.toml --store {name} --shares {shares} {SLOWLY} {more}"
    ));
}

fn start(folder: &Folder, words: &str) -> Child {
    let mut command = folder.command(words);
    command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn same(folder: &Folder, name: &str, suffix: &str) {
    folder.finish(&format!("merge {name} -o {name}.{suffix} --force"));
    folder.finish(&format!("run {name}.toml -o {name}-one.{suffix} --force"));
    let [got, wanted] = ["", "-one"].map(|end| folder.path(&format!("{name}{end}.{suffix}")));
    assert!(
        fs::read(got).unwrap() == fs::read(wanted).unwrap(),
        "{name}"
    );
}

/// Every fold by one, two and four workers.
#[test]
fn workers_give_the_bytes_of_one_run() {
    let folder = Folder::new("shares-folds");
    inputs(&folder);
    for (at, (name, fold, suffix)) in FOLDS.into_iter().enumerate() {
        plan(&folder, name, "a.csv", fold, 3);
        let workers = [1, 2, 4][at % 3];
        let started: Vec<Child> = (0..workers)
            .map(|_| start(&folder, &format!("work {name} --threads 1")))
            .collect();
        for worker in started {
            let done = worker.wait_with_output().unwrap();
            assert!(
                done.status.success(),
                "{}",
                String::from_utf8_lossy(&done.stderr)
            );
        }
        same(&folder, name, suffix);
    }
}

/// Workers are killed at random moments, and others come in their place; nothing is lost.
#[test]
fn workers_that_are_killed_cost_their_shares_alone() {
    let folder = Folder::new("shares-kills");
    inputs(&folder);
    folder.table("wide.csv", "x,y", 20_000, 0x0dd0_feed_1234_5678);
    let rounds = if std::env::var_os("ZIPFOLD_LONG").is_some() {
        100
    } else {
        5
    };
    let mut random = Random(77);
    let mut killed = 0;
    for round in 0..rounds {
        let name = format!("s{round}");
        let (big, wide) = (("big.csv", ""), ("wide.csv", "--set prune=on"));
        let (input, fold) = [
            (big, "{ kind = 'matrix' }"),
            (big, "{ kind = 'nearest', k = 3 }"),
            (big, "{ kind = 'reduce', op = 'sum' }"),
            (wide, "{ kind = 'join', where = 'euclidean(x, y) < 0.03' }"),
            (wide, "{ kind = 'nearest', k = 3 }"),
        ][round % 5];
        plan_with(&folder, &name, input, fold, 4);
        let squares = folder.path(&format!("{name}/squares")).exists();
        assert_eq!(squares, input == wide, "{fold}");
        let work =
            format!("work {name} --lease 1 --retries 50 --checkpoint-every 0.05 --threads 1");
        let end = Instant::now() + Duration::from_secs(120);
        let mut workers: Vec<Child> = (0..2).map(|_| start(&folder, &work)).collect();
        for _ in 0..4 {
            std::thread::sleep(Duration::from_secs_f64(0.4 * random.next()));
            let at = (2.0 * random.next()) as usize % 2;
            killed += usize::from(workers[at].try_wait().unwrap().is_none());
            workers[at].kill().unwrap();
            workers[at].wait().unwrap();
            workers[at] = start(&folder, &work);
        }
        for mut worker in workers {
            while worker.try_wait().unwrap().is_none() {
                assert!(Instant::now() < end, "a worker does not come to an end");
                std::thread::sleep(Duration::from_millis(20));
            }
            let done = worker.wait_with_output().unwrap();
            assert!(
                done.status.success(),
                "{}",
                String::from_utf8_lossy(&done.stderr)
            );
        }
        same(&folder, &name, if round % 5 == 0 { "npy" } else { "csv" });
    }
    assert!(killed > 0, "no worker was at work when it was to be killed");
}

/// SIGTERM keeps a checkpoint inside a share, from which another worker goes on.
#[test]
fn a_worker_that_is_told_to_end_leaves_a_checkpoint() {
    let folder = Folder::new("shares-term");
    inputs(&folder);
    plan(
        &folder,
        "s",
        "big.csv",
        "{ kind = 'reduce', op = 'logsumexp' }",
        1,
    );
    let mut worker = start(&folder, "work s --threads 1");
    let begun = Instant::now();
    while !folder.path("s/leases/000001").exists() && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(100));
    let status = std::process::Command::new("kill")
        .args(["-TERM", &worker.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
    let ended = worker.wait().unwrap();
    if folder.path("s/parts/000001").exists() {
        return; // It was done before it was told.
    }
    assert_eq!(ended.code(), Some(143));
    assert!(folder.path("s/running/000001").exists());
    assert!(!folder.path("s/leases/000001").exists());
    folder.finish("work s");
    assert!(!folder.path("s/running/000001").exists());
    same(&folder, "s", "csv");
}

/// One share whose values are NaN fails, is listed, and does not stop the others.
#[test]
fn a_poisoned_share_is_listed_and_the_others_are_done() {
    let folder = Folder::new("shares-poison");
    let column = |odd: bool| {
        let row = |at: usize| {
            if odd && at == 300 {
                "-1\n".to_string()
            } else {
                format!("{at}\n")
            }
        };
        format!("a\n{}", (0..640).map(row).collect::<String>())
    };
    fs::write(folder.path("x.csv"), column(true)).unwrap();
    fs::write(folder.path("y.csv"), column(false)).unwrap();
    let problem = "schema = 1\nx = { name = 'x.csv' }\ny = { name = 'y.csv' }\npair = { formula = 'sqrt(x[0]) + y[0]' }\nfolds = [{ kind = 'reduce', op = 'sum' }]\n";
    fs::write(folder.path("p.toml"), problem).unwrap();
    folder.finish("plan p.toml --store s --shares 5 --set tile.rows=128");
    let done = folder.output("work s --retries 2");
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(
        said.contains("shares failed: 3") && said.contains("row"),
        "{said}"
    );
    let told = folder
        .command("status s --json")
        .stdout(Stdio::piped())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(
        text.contains("\"done\":4") && text.contains("\"times\":2"),
        "{text}"
    );
    let refused = folder.output("merge s -o r.csv");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2));
    for words in ["4 of 5 shares are there: missing 3", "NaN", "--incomplete"] {
        assert!(said.contains(words), "{said}");
    }
    assert!(!folder.path("r.csv").exists());
    let some = folder.output("merge s -o r.csv --incomplete");
    let said = String::from_utf8_lossy(&some.stderr).into_owned();
    assert!(
        some.status.success() && said.contains("lacks the shares 3"),
        "{said}"
    );
}

/// A worker that finds other data, or would compute otherwise, refuses by name.
#[test]
fn other_data_and_other_ways_are_refused() {
    let folder = Folder::new("shares-refuse");
    inputs(&folder);
    plan(&folder, "s", "a.csv", "{ kind = 'nearest', k = 3 }", 2);
    let says = |words: &str, all: &[&str]| {
        let done = folder.output(words);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(2), "{words}: {said}");
        all.iter()
            .for_each(|word| assert!(said.contains(word), "{words}: {said}"));
    };
    says(
        "work s --set tile.rows=256",
        &[
            "the cut into shares",
            "this worker has",
            "tiles of 256",
            "planned with",
            "tiles of 128",
        ],
    );
    says(
        "work s --share 3",
        &["--share", "expected a share, got 3", "1 to 2"],
    );
    says("plan s.toml --store s", &["a store already", "--store"]);
    folder.finish("work s --share 1");
    let rows = fs::read_to_string(folder.path("a.csv")).unwrap();
    let longer = format!("{rows}{}\n", rows.lines().last().unwrap());
    fs::write(folder.path("a.csv"), longer).unwrap();
    says(
        "work s",
        &[
            "a.csv",
            "not the file that the store was planned with",
            "bytes",
        ],
    );
    says("merge s -o m.csv", &["a.csv", "not the file"]);
    let digit = rows.rfind('1').unwrap();
    let mut changed = rows.clone().into_bytes();
    changed[digit] = b'2';
    fs::write(folder.path("a.csv"), changed).unwrap();
    says("work s", &["a.csv", "expected the hash"]);
    // The same bytes at another time are the same data.
    fs::write(folder.path("a.csv"), rows).unwrap();
    folder.finish("work s");
    same(&folder, "s", "csv");
}

/// A share whose part is there is done, so a damaged part is made again once it is gone.
#[test]
fn damaged_files_of_a_store_have_remedies_that_work() {
    let folder = Folder::new("shares-damaged");
    inputs(&folder);
    // More matches than a part holds: they are in runs beside it.
    let folds = "{ kind = 'join', where = 'euclidean(x, y) < 9' }";
    plan(&folder, "s", "big.csv", folds, 4);
    folder.finish("work s");
    let merged = |out: &str| folder.output(&format!("merge s -o {out} --force"));
    assert!(merged("whole.npz").status.success());
    let whole = fs::read(folder.path("whole.npz")).unwrap();
    let refused = |says: &[&str]| {
        let done = merged("again.npz");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(2), "{said}");
        says.iter()
            .for_each(|word| assert!(said.contains(word), "'{word}': {said}"));
    };
    let same = || {
        folder.finish("work s");
        assert!(merged("again.npz").status.success());
        assert!(fs::read(folder.path("again.npz")).unwrap() == whole);
    };
    let part = folder.path("s/parts/000002");
    let sound = fs::read(&part).unwrap();
    let mut flipped = sound.clone();
    *flipped.last_mut().unwrap() ^= 1;
    for bytes in [&sound[..sound.len() / 2], &sound[..3], &flipped] {
        fs::write(&part, bytes).unwrap();
        let none = folder.output("work s --share 2");
        let said = String::from_utf8_lossy(&none.stderr).into_owned();
        assert!(said.contains("no share was left to do"), "{said}");
        refused(&[
            "s/parts/000002",
            "remove this file, and have workers do its share again",
        ]);
        fs::remove_file(&part).unwrap();
        same();
        assert!(fs::read(&part).unwrap() == sound);
    }
    let runs = fs::read_dir(folder.path("s/matches/000003.runs")).unwrap();
    let run = runs.map(|run| run.unwrap().path()).next().unwrap();
    let bytes = fs::read(&run).unwrap();
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 1;
    for odd in [&bytes[..bytes.len() - 1], &flipped] {
        fs::write(&run, odd).unwrap();
        refused(&["s/matches/000003.runs", "remove this file and parts/000003"]);
        fs::remove_file(&run).unwrap();
        fs::remove_file(folder.path("s/parts/000003")).unwrap();
        same();
    }
    // What else is there is none of its parts.
    fs::write(folder.path("s/parts/000003.tmp"), "half").unwrap();
    same();
}

/// A folder has one store, of one kind, and a refusal writes nothing.
#[test]
fn a_store_of_one_kind_is_none_of_the_other() {
    let folder = Folder::new("shares-kinds");
    inputs(&folder);
    let text = "MARKOV\n3\n2 2 2\n3\n2 0 1\n2 1 2\n2 0 2\n\n4\n.1 .2 .3 .4\n\n4\n.5 .1 .2 .3\n\n4\n.1 .7 .2 .3\n";
    fs::write(folder.path("n.uai"), text).unwrap();
    let infer = |store: &str| {
        format!(
            "infer n.uai --task pr --device cpu --set product.method=elimination --set product.slices=2 --store {store}"
        )
    };
    let refused = |words: &str, says: &[&str]| {
        let done = folder.output(words);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(2), "{words}: {said}");
        says.iter()
            .for_each(|word| assert!(said.contains(word), "{words}: '{word}': {said}"));
    };
    let kind = [
        "the folder is a store of something else",
        "another folder with --store",
    ];
    plan(&folder, "s", "a.csv", "{ kind = 'nearest', k = 3 }", 3);
    refused(&infer("s"), &kind);
    refused(&infer("s/stage-0"), &kind);
    assert!(!folder.path("s/slices.json").exists() && !folder.path("s/stage-0").exists());
    folder.finish("work s");
    same(&folder, "s", "csv");
    for store in ["t", "u/stage-3"] {
        folder.finish(&infer(store));
        let root = store.split('/').next().unwrap();
        refused(&format!("plan s.toml --store {root}"), &kind);
        assert!(!folder.path(&format!("{root}/plan.json")).exists());
    }
    for words in ["work t", "merge t -o t.csv"] {
        let own = "expected an inference that was planned for workers, got one whose processes ask it themselves";
        refused(words, &[own, "the command that began the store"]);
    }
    refused(&infer("s3://bucket/x"), &["expected a folder, got a URL"]);
}

/// Workers of a plan for a device take it, unless they name another one.
#[test]
#[ignore = "needs opencl"]
fn workers_take_the_device_of_the_plan() {
    let folder = Folder::new("shares-device");
    inputs(&folder);
    let (folds, device) = ("{ kind = 'reduce', op = 'sum' }", "--device opencl");
    plan_with(&folder, "s", ("big.csv", device), folds, 2);
    let other = folder.output("work s --device cpu");
    let said = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(
        said.contains("sums of opencl") && said.contains("sums of cpu"),
        "{said}"
    );
    folder.finish("work s");
    folder.finish("merge s -o s.csv");
    folder.finish(&format!("run s.toml -o s-one.csv {device}"));
    let [got, wanted] = ["s.csv", "s-one.csv"].map(|name| fs::read(folder.path(name)).unwrap());
    assert!(got == wanted);
}

/// Verbs of stores have no option for an output: remedies name the store.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "needs mount"]
fn stores_that_cannot_be_written_are_told_as_stores() {
    let folder = Folder::new("shares-disk");
    inputs(&folder);
    fs::create_dir(folder.path("small")).unwrap();
    plan(&folder, "s", "a.csv", "{ kind = 'nearest', k = 3 }", 2);
    let command = env!("CARGO_BIN_EXE_zipfold");
    let within = |script: &str| {
        let whole = format!("mount -t tmpfs -o size=1m none small && cp -r s small && {script}");
        let mut unshare = std::process::Command::new("unshare");
        unshare
            .args(["-m", "sh", "-c", &whole])
            .current_dir(folder.path(""));
        let done = unshare.output().unwrap();
        String::from_utf8_lossy(&done.stderr).into_owned()
    };
    let full = "! cp /dev/zero small/rest 2>&1; mkdir small/s/leases/1";
    let only = "mount -o remount,ro small";
    for (script, remedy) in [
        (
            format!("{full}; {command} work small/s"),
            "another disk for the store",
        ),
        (
            format!("{only}; {command} work small/s"),
            "another folder for the store",
        ),
        (
            format!("{only}; {command} plan s.toml --store small/t"),
            "another folder for the store",
        ),
    ] {
        let said = within(&script);
        assert!(
            said.contains(remedy) && !said.contains("-o"),
            "{script}: {said}"
        );
    }
}

/// A grid of variables with four states and random tables, as a file of the UAI competitions.
fn grid_of(side: usize) -> String {
    let mut random = Random(5);
    let mut scopes = String::new();
    let mut tables = String::new();
    for at in 0..side * side {
        let right = (at % side + 1 < side).then_some(at + 1);
        let below = (at + side < side * side).then_some(at + side);
        for other in right.into_iter().chain(below) {
            scopes += &format!("2 {at} {other}\n");
            let values: Vec<String> = (0..16).map(|_| random.next().to_string()).collect();
            tables += &format!("\n16\n{}\n", values.join(" "));
        }
    }
    let cards = vec!["4"; side * side].join(" ");
    let factors = 2 * side * (side - 1);
    let variables = side * side;
    format!("MARKOV\n{variables}\n{cards}\n{factors}\n{scopes}{tables}")
}

/// An inference that is planned once: workers need the folder alone, one is told to end, and the parts
/// give the bytes of one run.
#[test]
fn inferences_are_planned_worked_on_and_merged() {
    let folder = Folder::new("shares-inference");
    fs::write(folder.path("grid.uai"), grid_of(9)).unwrap();
    let how = "--memory 1GiB --set product.method=elimination --set product.slices=64";
    let asked = format!("infer grid.uai --device cpu {how}");
    folder.finish(&format!("{asked} --keep 3,4 -o one.csv"));
    let said = |words: &str| {
        let done = folder.output(words);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        (done.status.code(), said)
    };
    let (code, told) = said(&format!(
        "{asked} --keep 3,4 --store s --plan --shares 4 --slurm"
    ));
    assert_eq!(code, Some(0), "{told}");
    for words in [
        "4 shares of 64 slices",
        "zipfold work s",
        "sbatch s/work.sbatch",
    ] {
        assert!(told.contains(words), "{told}");
    }
    let script = fs::read_to_string(folder.path("s/work.sbatch")).unwrap();
    assert!(
        script.contains("--array=1-4") && script.contains("zipfold work"),
        "{script}"
    );
    fs::remove_file(folder.path("grid.uai")).unwrap();
    let (code, told) = said("merge s -o two.csv");
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("missing 1-4"), "{told}");
    // A worker that is told to end keeps the slices that are done.
    let worker = start(&folder, "work s --share 1 --threads 1");
    let begun = Instant::now();
    while !folder.path("s/leases/000001").exists() && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let told = std::process::Command::new("kill")
        .args(["-TERM", &worker.id().to_string()])
        .status();
    assert!(told.unwrap().success());
    let ended = worker.wait_with_output().unwrap();
    let at_once = ended.status.code() == Some(0);
    assert!(at_once || ended.status.code() == Some(143), "{ended:?}");
    assert_eq!(at_once, !folder.path("s/running/000001").exists());
    folder.finish("work s --share 1 --quiet");
    folder.finish("work s --next --quiet");
    folder.finish("work s --quiet");
    let (code, told) = said("status s");
    assert_eq!(code, Some(0), "{told}");
    for (words, says) in [
        (
            "merge s --incomplete -o x.csv",
            "no answer without some of its shares",
        ),
        ("work s --memory 2GiB", "cut by its plan"),
        (
            "infer grid.uai --store t --plan -o x.csv",
            "expected a plan alone",
        ),
        ("work s --threads 5000", "5000 threads"),
        ("merge s --device cuda -o x.csv", "no use for it"),
        (
            "merge s --set isa=avx2 -o x.csv",
            "the plan of the store has it",
        ),
        ("merge s -o x.uai", "marginals of all variables"),
    ] {
        let (code, told) = said(words);
        assert!(
            code == Some(2) || code == Some(3),
            "{words}: {code:?} {told}"
        );
        assert!(told.contains(says), "{words}: {told}");
    }
    folder.finish("merge s -o two.csv");
    let [got, wanted] = ["two.csv", "one.csv"].map(|name| fs::read(folder.path(name)).unwrap());
    assert!(got == wanted);
    // Samples are written as those of one run are.
    fs::write(folder.path("grid.uai"), grid_of(9)).unwrap();
    let asked = asked.replace("infer", "infer --task samples --samples 7");
    folder.finish(&format!("{asked} -o one.tsv"));
    folder.finish(&format!("{asked} --store d --plan --shares 2 --quiet"));
    folder.finish("work d --quiet");
    folder.finish("merge d -o two.tsv");
    let [got, wanted] = ["two.tsv", "one.tsv"].map(|name| fs::read(folder.path(name)).unwrap());
    assert!(got == wanted);
}

/// Slices of an inference: processes with the same command share them out, and each has the answer.
#[test]
fn slices_of_an_inference_are_shared_out() {
    let folder = Folder::new("shares-slices");
    fs::write(folder.path("grid.uai"), grid_of(9)).unwrap();
    let asked = "infer grid.uai --task sum --keep 0 --device cpu --threads 1 --memory 1GiB --set product.method=elimination --set product.slices=64";
    folder.finish(&format!("{asked} -o one.csv"));
    let shared = |out: &str| start(&folder, &format!("{asked} --store s --lease 1 -o {out}"));
    let (mut lost, other) = (shared("lost.csv"), shared("a.csv"));
    // The first is killed as soon as there is work of somebody.
    let begun = Instant::now();
    let parts = || fs::read_dir(folder.path("s/parts")).map_or(0, Iterator::count);
    while parts() == 0 && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(2));
    }
    lost.kill().unwrap();
    lost.wait().unwrap();
    let third = shared("b.csv");
    for (worker, out) in [(other, "a.csv"), (third, "b.csv")] {
        let done = worker.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{said}");
        let [got, wanted] = [out, "one.csv"].map(|name| fs::read(folder.path(name)).unwrap());
        assert!(got == wanted, "{out}");
    }
    let told = folder
        .command("status s --json")
        .stdout(Stdio::piped())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(text.contains("\"shares\":64,\"done\":64"), "{text}");
    let other = folder.output("infer grid.uai --task pr --device cpu --memory 1GiB --set product.method=elimination --set product.slices=64 --store s");
    let said = String::from_utf8_lossy(&other.stderr).into_owned();
    assert_eq!(other.status.code(), Some(2), "{said}");
    assert!(
        said.contains("the store was begun with") && said.contains("--store"),
        "{said}"
    );
}

/// The script for Slurm runs as a shell runs it, where `srun` runs what it is given: for every fold, in
/// a store whose name a shell would take for a command. A signal ends a task at once.
#[test]
fn the_script_for_slurm_does_all_shares() {
    const STORE: &str = "s'\n touch odd #";
    let folder = Folder::new("shares-slurm");
    inputs(&folder);
    let zipfold = std::path::Path::new(env!("CARGO_BIN_EXE_zipfold"));
    let tools = folder.path("bin");
    fs::create_dir(&tools).unwrap();
    fs::write(
        tools.join("srun"),
        "#!/bin/sh\nshift 2\n[ -z \"$ENDED\" ] || { echo \"$@\" >>ended; exit \"$ENDED\"; }\nexec \"$@\"\n",
    )
    .unwrap();
    std::os::unix::fs::symlink(zipfold, tools.join("zipfold")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(tools.join("srun"), mode).unwrap();
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    let task = |number: &str, ended: &str| {
        let status = std::process::Command::new("sh")
            .arg(folder.path(&format!("{STORE}/work.sbatch")))
            .current_dir(folder.path("."))
            .env("PATH", &path)
            .env("SLURM_ARRAY_TASK_ID", number)
            .env("SLURM_CPUS_PER_TASK", "1")
            .env("ENDED", ended)
            .status();
        status.unwrap().code()
    };
    for (at, (_, folds, suffix)) in FOLDS.into_iter().enumerate() {
        fs::write(folder.path("s.toml"), problem("a.csv", folds)).unwrap();
        let mut made = folder.command(
            "plan s.toml --shares 3 --slurm --memory 1GiB --set tile.rows=128 --set tile.cols=256",
        );
        assert!(
            made.args(["--store", STORE]).status().unwrap().success(),
            "{folds}"
        );
        if at == 0 {
            // A task with two shares, whose first number is none: a failure is followed by the next share, a signal ends the task.
            for (ended, calls) in [("2", 2), ("143", 3)] {
                assert_eq!(task("-2", ended), ended.parse().ok());
                let begun = fs::read_to_string(folder.path("ended")).unwrap();
                let begun = begun.lines().filter(|line| line.ends_with("--quiet"));
                assert_eq!(begun.count(), calls);
            }
        }
        for number in ["1", "2", "3"] {
            assert_eq!(task(number, ""), Some(0), "{folds}");
        }
        let mut merged = folder.command("merge");
        merged.args([STORE, "--force", "-o", &format!("got.{suffix}")]);
        assert!(merged.status().unwrap().success(), "{folds}");
        folder.finish(&format!("run s.toml --force -o one.{suffix}"));
        let [got, wanted] =
            ["got", "one"].map(|name| fs::read(folder.path(&format!("{name}.{suffix}"))).unwrap());
        assert!(got == wanted, "{folds}");
        fs::remove_dir_all(folder.path(STORE)).unwrap();
    }
    assert!(!folder.path("odd").exists());
}

/// Matrices are divided by numbers of shards, too.
#[test]
fn shards_of_a_matrix_merge_to_its_bytes() {
    let folder = Folder::new("shares-matrix");
    inputs(&folder);
    for (form, words) in [
        ("square", ""),
        ("condensed", "--condensed"),
        ("single", "--precision f32"),
    ] {
        let dist = format!("dist a.csv {words} --set tile.rows=128");
        for shard in 1..=3 {
            folder.finish(&format!("{dist} --shard {shard}/3 -o {form}-{shard}.part"));
        }
        folder.finish(&format!(
            "merge {form}-2.part {form}-3.part {form}-1.part -o {form}.npy"
        ));
        folder.finish(&format!("{dist} -o {form}-one.npy"));
        let [got, wanted] = ["", "-one"].map(|end| folder.path(&format!("{form}{end}.npy")));
        assert!(
            fs::read(got).unwrap() == fs::read(wanted).unwrap(),
            "{form}"
        );
    }
}

/// Shards in two precisions do not go together, and both are named.
#[test]
fn shards_of_two_precisions_are_refused_by_name() {
    let folder = Folder::new("shares-precisions");
    inputs(&folder);
    for (shard, precision) in [(1, "f64"), (2, "f32")] {
        folder.finish(&format!(
            "dist a.csv --precision {precision} --set tile.rows=128 --shard {shard}/2 -o {shard}.part"
        ));
    }
    let done = folder.output("merge 1.part 2.part -o m.npy");
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{said}");
    for words in [
        "the precision is not the same",
        "double precision",
        "single precision",
        "--precision",
    ] {
        assert!(said.contains(words), "{said}");
    }
}

/// What makes shares slower than they could be is said when they are planned.
#[test]
fn a_plan_warns_of_what_it_has_no_memory_for() {
    let folder = Folder::new("shares-warned");
    let part = |at: usize, k: usize| (at * k % 60_000) as f64 / 60_000.0;
    let row = |at| {
        format!(
            "{},{},{}\n",
            part(at, 7919),
            part(at, 104_729),
            part(at, 1_299_709)
        )
    };
    let rows: String = (0..60_000).map(row).collect();
    fs::write(folder.path("p.csv"), rows).unwrap();
    let problem = "schema = 1\nx = { name = 'p.csv' }\npair = { metric = 'euclidean' }\nfolds = [{ kind = 'histogram', axes = [{ bins = 4, range = [0.0, 0.05] }] }]\n";
    fs::write(folder.path("p.toml"), problem).unwrap();
    for (memory, is_warned) in [("9MiB", true), ("200MiB", false)] {
        let mut command = folder.command(&format!(
            "plan p.toml --store {memory} --memory {memory} --json"
        ));
        let done = command.stdout(Stdio::piped()).output().unwrap();
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{told}");
        let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        for told in [told, report["warnings"].to_string()] {
            assert_eq!(
                told.contains("for want of memory"),
                is_warned,
                "{memory}: {told}"
            );
        }
    }
}
