//! Columns as people write them, words beside numbers, attributes beside boxes, separators, units.

mod command;
use command::Folder;

const FLOWERS: &str = "name,a,b,species\nn1,0,0,setosa\nn2,3,4,setosa\n=n3,0,1,virginica\n";

#[test]
fn ranges_patterns_and_exclusions() {
    let folder = Folder::new("columns-ranges").with("a.csv", "id,g1,g2,h\n100,0,0,7\n200,3,4,7\n");
    for columns in [
        "g1,g2",
        "1-2",
        "g1-g2",
        "g*",
        "'!id,!h'",
        "g1-h,!h",
        "0-3,!id,!h",
    ] {
        let out = folder
            .run(&format!("dist a.csv --columns {columns}"))
            .ok()
            .out;
        assert_eq!(out, "0,5\n5,0\n", "{columns}");
    }
    folder
        .run("dist a.csv --columns 2-9")
        .refused(&["no column '2-9'", "id, g1, g2, h"]);
    folder
        .run("dist a.csv --columns q*")
        .refused(&["no column is like 'q*'"]);
    folder
        .run("dist a.csv --columns h-g1")
        .refused(&["ends before it begins"]);
}

#[test]
fn text_names_the_rows() {
    let folder = Folder::new("columns-text").with("f.csv", FLOWERS);
    let told = folder.run("dist f.csv -o d.csv").ok();
    assert!(
        told.err
            .contains("note: the columns name, species are text"),
        "{}",
        told.err
    );
    assert_eq!(
        folder.read("d.csv"),
        "name,n1,n2,'=n3\nn1,0.0,5.0,1.0\nn2,5.0,0.0,4.242640687119285\n'=n3,1.0,4.242640687119285,0.0\n"
    );
    folder.run("knn f.csv -k 1 -o n.csv --quiet").ok();
    let near = folder.read("n.csv");
    assert!(
        near.starts_with(
            "i,rank,j,value,x.name,x.species,y.name,y.species\n0,0,2,1.0,n1,setosa,'=n3,virginica\n"
        ),
        "{near}"
    );
    folder
        .run("join f.csv --self --where 'euclidean(x, y) < 2' -o j.csv")
        .ok();
    assert_eq!(
        folder.read("j.csv"),
        "i,j,x.name,x.species,y.name,y.species\n0,2,n1,setosa,'=n3,virginica\n"
    );
    folder.run("knn f.csv -k 1 -o n.parquet --quiet").ok();
    // The words come back from Parquet, where they name the rows again.
    let back = folder
        .run("dist n.parquet --columns value -o b.csv --id x.name")
        .ok();
    assert!(
        folder.read("b.csv").starts_with("x.name,n1,n2,'=n3\n"),
        "{}{}",
        back.err,
        folder.read("b.csv")
    );
}

#[test]
fn an_id_of_numbers_is_no_component() {
    let folder = Folder::new("columns-id").with("a.csv", "id,x,y\n17,0,0\n23,3,4\n");
    folder.run("dist a.csv --id id -o d.csv").ok();
    assert_eq!(folder.read("d.csv"), "id,17,23\n17,0.0,5.0\n23,5.0,0.0\n");
}

#[test]
fn no_row_is_lost_and_no_column_guessed_wrongly() {
    let folder = Folder::new("columns-guess")
        .with(
            "headless.csv",
            "setosa,5.1,3.5\nvirginica,4.9,3.0\nsetosa,4.7,3.2\n",
        )
        .with("mixed.csv", "a,b\nmissing,1\n3,2\n5,9\n")
        .with("counted.csv", "gene,1,2,3\nabc,5,6,7\ndef,5,6,9\n");
    folder
        .run("dist headless.csv")
        .refused(&["reads like data", "names of the columns"]);
    folder
        .run("dist mixed.csv")
        .refused(&["line 3", "'3' is a number", "--id a"]);
    assert_eq!(folder.run("dist counted.csv -q").ok().out, "");
    folder.run("dist counted.csv -q -o d.csv").ok();
    assert!(
        folder.read("d.csv").contains("abc,0.0,2.0"),
        "{}",
        folder.read("d.csv")
    );
}

#[test]
fn separators_are_those_of_the_first_row() {
    let folder = Folder::new("columns-separators")
        .with("a.txt", "# points\n0, 0\n3, 4\n")
        .with("b.txt", "0,0\n3,4\n")
        .with("c.csv", "x;y\n0;0\n3;4\n")
        .with("d.txt", "0 0\n3 4\n");
    for file in ["a.txt", "b.txt", "c.csv", "d.txt"] {
        assert_eq!(
            folder.run(&format!("dist {file}")).ok().out,
            "0,5\n5,0\n",
            "{file}"
        );
    }
    assert_eq!(
        folder.run_with("dist -", "x;y\n0;0\n3;4\n").ok().out,
        "0,5\n5,0\n"
    );
}

#[test]
fn charges_stand_beside_a_box() {
    let folder =
        Folder::new("columns-charges").with("ions.csv", "x,y,z,q\n1,1,1,2\n9,1,1,-3\n5,5,5,1\n");
    let coulomb = "--pair 'x.q * y.q / norm(x - y)' --op sum --axis all --no-diagonal";
    let named = folder
        .run(&format!(
            "reduce ions.csv --columns x,y,z --box 10,10,10 {coulomb}"
        ))
        .ok()
        .out;
    let asked = folder
        .run(&format!(
            "reduce ions.csv --attributes q --box 10,10,10 {coulomb}"
        ))
        .ok()
        .out;
    let vectors = folder
        .run(&format!(
            "reduce ions.csv --attributes q --box 10,0,0,0,10,0,0,0,10 {coulomb}"
        ))
        .ok()
        .out;
    // By hand: the first two are 2 apart across the wall, both √48 from the third.
    let sum = 2.0 * (2.0 * -3.0 / 2.0 + 2.0 / 48f64.sqrt() - 3.0 / 48f64.sqrt());
    for out in [&named, &asked, &vectors] {
        let value: f64 = out.trim().parse().unwrap();
        assert!((value - sum).abs() < 1e-12, "{value} instead of {sum}");
    }
    folder
        .run("hist ions.csv --box 10,10,10 --range 0 5")
        .refused(&["--columns x,y,z"]);
    folder
        .run("hist ions.csv --columns x,y,z --box 1,2,3,4 --range 0 5")
        .refused(&["4 numbers do not make a box", "nine numbers"]);
}

#[test]
fn degrees_are_degrees() {
    let folder = Folder::new("columns-degrees").with(
        "cities.csv",
        "city,lat,lon\nParis,48.8566,2.3522\nLondon,51.5074,-0.1278\n",
    );
    let km = folder
        .run("dist cities.csv --metric haversine --unit deg --param radius=6371 -o d.csv")
        .ok();
    let line = folder.read("d.csv").lines().nth(1).unwrap().to_string();
    let value: f64 = line.split(',').nth(2).unwrap().parse().unwrap();
    assert!((value - 343.556).abs() < 0.01, "{line}");
    assert!(!km.err.contains("warning"), "{}", km.err);
    let radians = folder
        .run("dist cities.csv --metric haversine -o r.csv")
        .ok();
    assert!(
        radians.err.contains("warning:") && radians.err.contains("try: --param unit=deg"),
        "{}",
        radians.err
    );
    let json = folder
        .run("dist cities.csv --metric haversine --json -o j.csv")
        .ok();
    assert!(json.out.contains("try: --param unit=deg"), "{}", json.out);
    folder.run("dist cities.csv --unit deg").refused(&["unit"]);
}

#[test]
fn the_most_alike_are_the_largest() {
    let folder = Folder::new("columns-alike").with("g.csv", "a,b,c\n1,2,3\n3,2,1\n1,2,2.9\n");
    folder.run("knn g.csv --metric pearson -k 1 -o n.csv").ok();
    assert!(
        folder.read("n.csv").starts_with("i,rank,j,value\n0,0,2,"),
        "{}",
        folder.read("n.csv")
    );
    let bits = folder
        .with("bits.csv", "a,b\n255,3\n17,0\n")
        .run("dist bits.csv --metric jaccard -o b.csv")
        .ok();
    assert!(
        bits.err.contains("warning:") && bits.err.contains("bits"),
        "{}",
        bits.err
    );
}

#[test]
fn places_are_told_as_the_file_counts_them() {
    let folder = Folder::new("columns-places")
        .with("a.csv", "a,b\n1,2\n3,\n")
        .with("b.csv", "1,2\n3,x\n");
    folder
        .run("dist a.csv")
        .refused(&["a.csv, row 1 (from 0), column 'b'", "NaN in the data"]);
    folder
        .run("dist b.csv")
        .refused(&["line 2, column 2 (number 1 to --columns)"]);
    folder.run("hist .").refused(&["this is a folder"]);
    folder
        .run("hist nothing.csv")
        .refused(&["there is no such file"]);
    folder
        .run("infer nothing.bif")
        .refused(&["there is no such file"]);
    folder
        .run("hist nothing.xlsx")
        .refused(&["there is no such file"]);
    folder
        .run("hist a.csv --columns a --range 0 9 --shard 1/2 -o x.csv")
        .refused(&["x.csv", ".part"]);
}

#[test]
fn an_argument_takes_the_place_of_the_kind_of_a_file() {
    let question = "x = \"a.csv\"\ny = \"b.csv\"\non = [\"k\"]\njoin_kind = \"left\"\n";
    let folder = Folder::new("columns-kind")
        .with("a.csv", "k,v\n1,10\n2,20\n")
        .with("b.csv", "k,w\n1,30\n3,40\n")
        .with("j.toml", question);
    folder.run("join j.toml --select x.v,y.w -o left.csv").ok();
    folder
        .run("join j.toml --select x.v,y.w --kind inner -o inner.csv")
        .ok();
    let rows = |name: &str| {
        let text = folder.read(name);
        let rows = text.lines().filter(|line| !line.starts_with('#'));
        rows.map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(rows("left.csv"), ["v,w", "10,30", "20,"]);
    assert_eq!(rows("inner.csv"), ["v,w", "10,30"]);
}

const WEIGHED: &str = "a,m,g\n1,2,u\n2,3,u\n5,1,v\n";

/// The column of weights is read by formulas, is an attribute, a key, or all of these.
#[test]
fn weights_are_read_by_name_too() {
    let folder = Folder::new("columns-weights")
        .with("w.csv", WEIGHED)
        .with("c.csv", "a,m,g,copy\n1,2,u,2\n2,3,u,3\n5,1,v,1\n");
    let hist = |more: &str, file: &str, weights: &str| {
        let bins = "--bins 2 --range 0 4 --quiet -o -";
        let line = format!("hist {file} --columns a --weights {weights} {more} {bins}");
        folder.run(&line).ok().out
    };
    let plain = hist("", "w.csv", "m");
    assert!(plain.contains("0.0,2.0,1,6.0"), "{plain}");
    for more in [
        "--attributes {m}",
        "--value 'v=x.{m}*y.{m}'",
        "--attributes {m} --value 'v=x.{m}*y.{m}'",
        "--by {m}",
        "--batch {m}",
        "--within same:{m}",
        "--pair 'abs(x.a - y.a) + 0 * x.{m}'",
        "--pair 'abs(x.a - y.a) + abs(x.{m} - y.{m})'",
    ] {
        // Names of columns are those of the keys.
        let rows = |out: String| -> Vec<String> {
            let rows = out.lines().filter(|line| !line.contains("lo,hi"));
            rows.map(str::to_string).collect()
        };
        let mine = hist(&more.replace("{m}", "m"), "w.csv", "m");
        let wanted = hist(&more.replace("{m}", "copy"), "c.csv", "m");
        assert_eq!(rows(mine), rows(wanted), "{more}");
    }
}

/// Keys that are words in some rows and numbers in others.
#[test]
fn keys_of_words_and_numbers_are_words_by_request() {
    let folder = Folder::new("columns-mixed-keys")
        .with("a.csv", "station,t\nKJFK,1\n72501,2\n")
        .with("b.csv", "station,p\n72501,5\nKJFK,7\n")
        .with("c.csv", "station,p\n72501,5\n0071,7\n");
    let refused = folder.run("join a.csv b.csv --on station -o -");
    refused.refused(&["'72501' is a number", "--id station"]);
    let refused = folder.run("join b.csv a.csv --on station -o -");
    refused.refused(&["'KJFK' is not a number", "--id station"]);
    let joined = |files: &str| {
        let line =
            format!("join {files} --on station --id station --select x.station,x.t,y.p -q -o -");
        let out = folder.run(&line).ok().out;
        out.lines().skip(1).map(str::to_string).collect::<Vec<_>>()
    };
    let both = ["station,t,p", "KJFK,1,7", "72501,2,5"];
    assert_eq!(joined("a.csv b.csv"), both);
    assert_eq!(joined("a.csv c.csv"), ["station,t,p", "72501,2,5"]);
}

/// Counts in all have a line for each batch, or for each value of a parameter: an array holds them.
#[test]
fn counts_of_batches_and_parameters_are_arrays() {
    let folder = Folder::new("columns-counts").with("c.csv", WEIGHED);
    let written = |how: &str| {
        let line = format!("reduce c.csv --columns a --op count --axis all {how} --force --quiet");
        folder.run(&format!("{line} -o n.npy")).ok();
        folder.run(&format!("{line} -o n.csv")).ok();
        let csv = folder.read("n.csv");
        let rows = csv.lines().filter(|l| !l.starts_with('#')).skip(1);
        let counts = rows.map(|l| l.rsplit(',').next().unwrap().parse::<f64>().unwrap());
        let counts: Vec<f64> = counts.collect();
        let line = "dist n.npy --pair 'x[0]' -o v.csv --force --quiet";
        folder.run(line).ok();
        let values = folder.read("v.csv");
        let first = values
            .lines()
            .map(|l| l.split(',').next().unwrap().parse().unwrap());
        assert_eq!(first.collect::<Vec<f64>>(), counts, "{how}");
        counts
    };
    assert_eq!(written("--batch g --pair 'norm(x - y) < 3'"), [4.0, 1.0]);
    let radii = written("--pair 'norm(x - y) < r' --param r=each:1.5,4.5");
    assert_eq!(radii, [5.0, 9.0]);
}
