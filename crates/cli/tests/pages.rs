//! `--report`: a page of every job, which needs nothing from elsewhere.

mod command;

use command::Folder;

/// A folder with tables for every job.
fn folder() -> Folder {
    let mut cells = "x,y,z,kind,time,value\n".to_string();
    let mut genes = "name,a,b,c,d,e,f\n".to_string();
    for at in 0..120 {
        let part = |k: usize| (at * k % 119) as f64 * 0.05;
        let kind = ["tumour", "stroma", "immune"][at * at % 3 + at % 2];
        let (x, y, z) = (part(7), part(31), part(13));
        cells += &format!("{x},{y},{z},{kind},{},{}\n", part(45), x * y);
        let row: Vec<String> = (1..7).map(|k| part(k * k + at % 5).to_string()).collect();
        genes += &format!("g{at},{}\n", row.join(","));
    }
    let frame: String = (0..40).fold("40\nframe\n".to_string(), |text, at| {
        let part = |k: usize| (at * k % 37) as f64 * 0.25;
        text + &format!("Ar {} {} {}\n", part(5), part(11), part(23))
    });
    Folder::new("pages")
        .with("cells.csv", cells)
        .with("genes.csv", genes)
        .with("frame.xyz", frame)
}

/// What each job is asked, and words of its page.
const ASKED: [(&str, &[&str]); 13] = [
    (
        "ripley cells.csv --xy x,y --by kind --max 1 --bins 5",
        &["tumour", "correction"],
    ),
    (
        "cooccurrence cells.csv --xy x,y --labels kind --max 2 --bins 5",
        &["stroma", "ratios"],
    ),
    (
        "correlogram cells.csv --units kind --max 0.5 --bins 9",
        &["immune", "normalise"],
    ),
    (
        "variogram cells.csv --xy x,y --value value --lags 6 --models spherical",
        &["spherical", "sill"],
    ),
    (
        "silhouette cells.csv --labels kind --columns x,y",
        &["silhouette", "immune"],
    ),
    (
        "crossmatch cells.csv cells.csv --columns x,y,z --radius 0.3 --find all",
        &["separation", "radius"],
    ),
    (
        "paircount cells.csv --range 0.1 2 --bins 5",
        &["DD", "counts"],
    ),
    (
        "network genes.csv --id name --measure spearman --threshold 0.5",
        &["spearman", "edges"],
    ),
    (
        "rdf frame.xyz --box 10,10,10 --range 0 4 --bins 8",
        &["frames", "curves"],
    ),
    (
        "hist cells.csv --columns x,y --range 0 4 --bins 8",
        &["histogram", "count"],
    ),
    (
        "join cells.csv cells.csv --on kind --select x.x,y.y",
        &["kind", "rows"],
    ),
    (
        "hausdorff cells.csv cells.csv --columns x,y --batch kind",
        &["immune", "backward"],
    ),
    (
        "chamfer cells.csv cells.csv --columns x,y,z --metric sqeuclidean",
        &["distances", "forward"],
    ),
];

/// The page of a question.
fn page(folder: &Folder, line: &str, at: usize) -> String {
    let name = format!("page-{at}.html");
    let done = folder.run(&format!("{line} -o out-{at}.csv --report {name}"));
    assert_eq!(done.status, Some(0), "{line}: {}", done.err);
    folder.read(&name)
}

/// Refuses a tag that is not closed, but those that have no content.
fn check_tags(html: &str) -> Result<(), String> {
    let mut open: Vec<&str> = vec![];
    let mut rest = html;
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').ok_or("a tag without an end")?;
        rest = after;
        let name = tag
            .split([' ', '\n', '/'])
            .find(|word| !word.is_empty())
            .unwrap_or("");
        match (
            tag.starts_with('/'),
            tag.starts_with('!') || tag.ends_with('/') || name == "meta",
        ) {
            (true, _) if open.pop() != Some(name) => {
                return Err(format!("</{name}> without its start"));
            }
            (true, _) | (_, true) => {}
            (false, false) => open.push(name),
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(format!("{open:?} without an end"))
    }
}

#[test]
fn every_job_has_a_page_that_needs_nothing_from_elsewhere() {
    let folder = folder();
    for (at, (line, words)) in ASKED.into_iter().enumerate() {
        let html = page(&folder, line, at);
        assert!(html.len() < 2_000_000, "{line}: {} bytes", html.len());
        for odd in ["http", "<script", "src=", "@import", "url(#", "href="] {
            assert!(!html.contains(odd), "{line}: {odd}");
        }
        check_tags(&html).unwrap_or_else(|e| panic!("{line}: {e}"));
        let own = [
            line,
            "prefers-color-scheme",
            "<h2>Question</h2>",
            "zipfold 0",
        ];
        for word in words.iter().chain(&own) {
            assert!(html.contains(word), "{line}: no {word}");
        }
        // Rows by name have no picture, and no more has one distance.
        let without = ["join", "crossmatch", "chamfer"];
        let is_drawn = !without.iter().any(|verb| line.starts_with(verb));
        assert_eq!(html.contains("<svg"), is_drawn, "{line}");
    }
}

#[test]
fn the_question_of_a_page_asks_the_same_again() {
    let folder = folder();
    let html = page(&folder, ASKED[0].0, 0);
    let (_, question) = html.split_once("<h2>Question</h2><pre>").unwrap();
    let (question, _) = question.split_once("</pre>").unwrap();
    folder.put("again.toml", question);
    let done = folder.run("ripley again.toml -o again.csv");
    assert_eq!(done.status, Some(0), "{}", done.err);
    assert_eq!(folder.read("again.csv"), folder.read("out-0.csv"));
}

#[test]
fn a_page_of_a_million_bins_is_small_and_soon_there() {
    let folder = folder();
    let start = std::time::Instant::now();
    let html = page(
        &folder,
        "correlogram cells.csv --single --max 5 --bins 1000001",
        0,
    );
    assert!(html.len() < 1_000_000, "{} bytes", html.len());
    assert!(html.contains("the first 100 of 1000001 lines"));
    // Of an unoptimised build, with a file of a million lines.
    assert!(start.elapsed().as_secs() < 60);
}

#[test]
fn a_page_of_rows_says_how_many_it_shows() {
    let folder = folder();
    for (at, line) in [
        "join cells.csv cells.csv --on kind --select x.x,y.y",
        "crossmatch cells.csv cells.csv --columns x,y,z --radius 2 --find all --select x.x,y.y,separation",
    ]
    .into_iter()
    .enumerate()
    {
        let streamed = page(&folder, line, at);
        let written = folder.read(&format!("out-{at}.csv"));
        let lines = written.lines().filter(|line| !line.starts_with('#'));
        let rows = lines.count() - 1;
        assert!(rows > 100, "{line}: {rows} rows");
        let shown = |html: &str| html.matches("<tr><td>").count();
        let told = |html: &str, which: &str| {
            let row = format!("<tr><td>rows shown</td><td>{which}</td></tr>");
            assert!(html.contains(&row), "{line}: no {row}");
            assert!(html.contains(&format!("<tr><td>rows</td><td>{rows}</td></tr>")));
            let (_, table) = html.split_once("<h3>first rows</h3>").unwrap_or(("", ""));
            let (table, _) = table.split_once("</table>").unwrap_or(("", ""));
            shown(table)
        };
        let which = format!("none of {rows}: they went to their file while they were found");
        assert_eq!(told(&streamed, &which), 0);
        for (save, some) in [("", 20), (" -o out.npz --force", 100)] {
            let done = folder.run(&format!("{line}{save} --report some-{at}-{some}.html"));
            assert_eq!(done.status, Some(0), "{line}: {}", done.err);
            let html = folder.read(&format!("some-{at}-{some}.html"));
            assert_eq!(told(&html, &format!("the first {some} of {rows}")), some);
            assert!(!html.contains("of 200 lines"), "{line}");
        }
    }
    let none = page(&folder, "join cells.csv genes.csv --on kind=name", 9);
    assert!(none.contains("none: nothing matched"));
}

#[test]
fn a_page_of_several_folds_says_which_is_drawn() {
    let folder = folder();
    let fold = "[[folds]]\nkind = \"histogram\"\naxes = [{ bins = 3, range = [0.0, 2.0] }]\n";
    let asked = "schema = 1\nx = { name = \"cells.csv\", columns = [\"x\", \"y\"] }\n";
    let says = "<tr><td>picture</td><td>of answer 0 alone, the first of 2</td></tr>";
    for (name, folds) in [("one", 1), ("two", 2)] {
        folder.put("q.toml", format!("{asked}{}", fold.repeat(folds)));
        let done = folder.run(&format!("run q.toml --report {name}.html"));
        assert_eq!(done.status, Some(0), "{}", done.err);
        let html = folder.read(&format!("{name}.html"));
        assert!(html.contains("<svg"));
        assert_eq!(html.contains(says), folds == 2, "{name}");
    }
}

#[test]
fn the_name_of_a_picture_is_refused_with_an_option_that_draws_it() {
    let folder = folder();
    for line in [ASKED[0].0, ASKED[9].0] {
        let done = folder.run(&format!("{line} -o p.png"));
        assert_eq!(done.status, Some(2), "{line}: {}", done.err);
        let remedy = "try: --plot p.png";
        assert!(done.err.contains(remedy), "{line}: {}", done.err);
        assert!(!folder.has("p.png"));
    }
    // Rows by name have no picture, so no option draws one.
    let done = folder.run(&format!("{} -o p.png", ASKED[10].0));
    assert!(
        done.status == Some(2) && !done.err.contains("--plot"),
        "{}",
        done.err
    );
}

#[test]
fn every_picture_is_drawn_as_png_too() {
    let folder = folder();
    let mut drawn = 0;
    for (line, _) in ASKED {
        let run = |name: &str| folder.run(&format!("{line} --plot {name} --force"));
        if run("p.svg").status != Some(0) {
            continue;
        }
        let svg = folder.read("p.svg");
        let side = |key: &str| -> u32 {
            let start = svg.find(key).unwrap() + key.len();
            let digits = svg[start..].split('"').next();
            digits.unwrap().parse().unwrap()
        };
        let mut both = vec![];
        for name in ["p.png", "p.dark.png"] {
            let done = run(name);
            assert_eq!(done.status, Some(0), "{line}: {}", done.err);
            let file = std::fs::read(folder.path(name)).unwrap();
            let number = |at: usize| u32::from_be_bytes(file[at..at + 4].try_into().unwrap());
            assert_eq!(&file[..8], b"\x89PNG\r\n\x1a\n", "{line}");
            let sides = (number(16), number(20));
            assert_eq!(
                sides,
                (2 * side("width=\""), 2 * side("height=\"")),
                "{line}"
            );
            both.push(file);
        }
        assert_ne!(both[0], both[1], "{line}");
        drawn += 1;
    }
    assert!(drawn >= 9, "{drawn}");
}
