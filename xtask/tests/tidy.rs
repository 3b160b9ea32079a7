//! The workspace keeps its habits, and every check fires on a snippet that breaks one and stays
//! silent beside it.

use xtask::Violation;
use xtask::source::Source;
use xtask::tidy::{arrows, calls, check, duties, lengths, lints, names, panics, safety};
use xtask::tree::{self, File};

/// No line at all.
const NONE: [usize; 0] = [];

/// The lines at which a check fires on one file.
fn lines(check: fn(&[File]) -> Vec<Violation>, path: &str, text: &str) -> Vec<usize> {
    check(&[File::new(path, text)])
        .into_iter()
        .map(|violation| violation.line)
        .collect()
}

fn listing(found: &[Violation]) -> String {
    found
        .iter()
        .map(|violation| format!("{violation}\n"))
        .collect()
}

#[test]
fn the_workspace_is_tidy() {
    let files = tree::files(&tree::root()).unwrap();
    assert!(
        files.iter().any(|file| file.path == "xtask/src/tidy.rs"),
        "the files of the workspace were not found"
    );
    let found = check(&files);
    assert!(found.is_empty(), "\n{}", listing(&found));
}

#[test]
fn code_is_told_from_comments_and_literals() {
    let text = "let a = \"unsafe // {\"; // unsafe\nlet b = r#\"\"unsafe\"\"#; let c = '{'; /* a /* unsafe */ b */ fn f<'a>(x: &'a u8) {}";
    let source = Source::new(text);
    assert!(source.words("unsafe").is_empty());
    assert_eq!(source.words("fn").len(), 1);
    assert!(source.comment_line(1).contains("unsafe"));
    assert!(source.code_line(2).contains("fn f<'a>(x: &'a u8) {}"));
    assert_eq!(source.code.iter().filter(|byte| **byte == b'{').count(), 1);
}

#[test]
fn long_functions_fire() {
    let body = |lines: usize| "    let _ = \"}\";\n".repeat(lines - 2);
    let rust = |lines: usize| {
        format!(
            "struct S;\nfn long(x: [u8; {{ 3 }}]) {{\n{}}}\n",
            body(lines)
        )
    };
    // Outside macros clippy counts.
    let within = |code: &str| format!("macro_rules! m {{ () => {{\n{code}}} }}\n");
    let path = "crates/core/src/a.rs";
    assert_eq!(lines(lengths::check, path, &within(&rust(101))), [3]);
    assert_eq!(lines(lengths::check, path, &within(&rust(100))), NONE);
    assert_eq!(lines(lengths::check, path, &rust(101)), NONE);
    let kernel = |lines: usize| {
        format!(
            "extern \"C\" {{\n__kernel void k(int a)\n{{\n{}}}\n}}\n",
            body(lines)
        )
    };
    assert_eq!(
        lines(lengths::check, "crates/gpu/kernels/a.cl", &kernel(101)),
        [2]
    );
    assert_eq!(
        lines(lengths::check, "crates/gpu/kernels/a.cu", &kernel(99)),
        NONE
    );
    let python = |lines: usize| format!("def f():\n{}\nx = 1\n", "    pass\n".repeat(lines - 1));
    assert_eq!(lines(lengths::check, "a.py", &python(101)), [1]);
    assert_eq!(lines(lengths::check, "a.py", &python(100)), NONE);
}

#[test]
fn long_files_fire() {
    for suffix in ["rs", "py", "c", "h", "cl", "cu"] {
        assert_eq!(
            lines(lengths::check, &format!("a.{suffix}"), &"\n".repeat(901)),
            [901],
            "{suffix}"
        );
        assert_eq!(
            lines(lengths::check, &format!("a.{suffix}"), &"\n".repeat(900)),
            NONE,
            "{suffix}"
        );
    }
}

#[test]
fn arrows_against_the_stream_fire() {
    let manifest = |name: &str, rest: &str| format!("[package]\nname = \"{name}\"\n{rest}");
    let bad = [
        (
            "zipfold-core",
            "[dependencies]\nzipfold-plan.workspace = true\n",
            4,
        ),
        (
            "zipfold-plan",
            "[dependencies]\nzipfold-io = { path = \"../io\" }\n",
            4,
        ),
        (
            "zipfold-io",
            "[dependencies.zipfold-plan]\npath = \"../plan\"\n",
            4,
        ),
        (
            "zipfold-cpu",
            "[target.'cfg(unix)'.dependencies]\nzipfold-gpu = \"0.1\"\n",
            4,
        ),
        (
            "zipfold-gpu",
            "[build-dependencies]\nzipfold = \"0.1\"\n",
            4,
        ),
        (
            "zipfold-core",
            "[dependencies]\nengine = { package = \"zipfold-cpu\", version = \"0.1\" }\n",
            4,
        ),
        (
            "zipfold-cli",
            "[dependencies]\nzipfold-core.workspace = true\n",
            4,
        ),
        ("zipfold-new", "", 2),
    ];
    for (name, rest, line) in bad {
        assert_eq!(
            lines(arrows::check, "crates/x/Cargo.toml", &manifest(name, rest)),
            [line],
            "{name}: {rest}"
        );
    }
    let good = [
        (
            "zipfold-plan",
            "[dependencies]\nzipfold-core.workspace = true\nrayon = \"1\"\n",
        ),
        (
            "zipfold",
            "[dependencies]\nzipfold-io.workspace = true\nzipfold-cpu.workspace = true\n",
        ),
        (
            "zipfold-core",
            "[dev-dependencies]\nzipfold-testkit.workspace = true\n",
        ),
        ("xtask", "[dependencies]\nzipfold-core.workspace = true\n"),
    ];
    for (name, rest) in good {
        assert_eq!(
            lines(arrows::check, "crates/x/Cargo.toml", &manifest(name, rest)),
            NONE,
            "{name}: {rest}"
        );
    }
}

#[test]
fn lints_left_out_fire() {
    let found = |path: &str, text: &str| lines(lints::check, path, text);
    let member = "crates/x/Cargo.toml";
    assert_eq!(found(member, "[package]\nname = \"zipfold-x\"\n"), [1]);
    assert_eq!(
        found(member, "[package]\n[lints]\nworkspace = true\n"),
        NONE
    );
    let on = "[workspace.lints.rust]\nmissing_docs = \"warn\"\nunreachable_pub = \"warn\"\n\
         [workspace.lints.clippy]\ntoo_many_lines = \"warn\"\nundocumented_unsafe_blocks = \"warn\"\n";
    assert_eq!(found("Cargo.toml", on), NONE);
    for lint in ["missing_docs", "unreachable_pub", "too_many_lines"] {
        let off = on.replace(
            &format!("{lint} = \"warn\""),
            &format!("{lint} = \"allow\""),
        );
        assert_eq!(found("Cargo.toml", &off), [1], "{lint}");
    }
    assert_eq!(found("Cargo.toml", ""), [1; 4]);
    assert_eq!(
        found("clippy.toml", "too-many-lines-threshold = 110\n"),
        NONE
    );
    assert_eq!(
        found("clippy.toml", "too-many-lines-threshold = 111\n"),
        [1]
    );
    assert_eq!(found("clippy.toml", ""), [1]);
}

#[test]
fn unsafe_without_its_reason_fires() {
    let found = |text: &str| lines(safety::check_comments, "crates/cpu/src/a.rs", text);
    let within = |code: &str| format!("macro_rules! m {{ () => {{\n{code}\n}} }}\n");
    let uses = [
        "fn f() { unsafe { g() } }",
        "unsafe impl Send for S {}",
        "unsafe fn f() {}",
        "unsafe\n{ g() }",
    ];
    for code in uses {
        assert_eq!(found(&within(&format!("// Fast.\n{code}"))), [3], "{code}");
        assert_eq!(
            found(&within(&format!("// SAFETY: checked.\n#[inline]\n{code}"))),
            NONE,
            "{code}"
        );
        assert_eq!(
            found(&within(&format!("// SAFETY: of another.\n\n{code}"))),
            [4],
            "{code}"
        );
    }
    // Outside macros clippy asks for the reasons of blocks and implementations.
    assert_eq!(found("fn f() { unsafe { g() } }\n"), NONE);
    let allowed = "#![allow(clippy::undocumented_unsafe_blocks)]\nfn f() { unsafe { g() } }\n";
    assert_eq!(found(allowed), [2]);
    assert_eq!(found("unsafe fn f() {}\nunsafe trait T {}\n"), [1, 2]);
    assert_eq!(
        found("/// # Safety\n/// `x` is valid.\npub unsafe fn f() {}\n"),
        NONE
    );
    assert_eq!(found(&within("let s = \"SAFETY:\"; unsafe { g() }")), [2]);
    assert_eq!(
        found("type F = unsafe extern \"C\" fn(u8);\ntype G = unsafe fn();\n"),
        NONE
    );
    let of_trait = "impl<T: Copy> Lanes<T> for S\nwhere\n    T: Send,\n{\n    unsafe fn f() {}\n}\nimpl S {\n    unsafe fn g() {}\n}\n";
    assert_eq!(found(of_trait), [8]);
    assert_eq!(
        found(&within(
            "// SAFETY (both): checked.\nunsafe { g() }\nunsafe { g() }"
        )),
        NONE
    );
    let far = format!(
        "// SAFETY: far above.\n{}unsafe {{ g() }}",
        "f();\n".repeat(9)
    );
    assert_eq!(found(&within(&far)), [12]);
}

#[test]
fn crates_that_allow_unsafe_fire() {
    for root in [
        "crates/core/src/lib.rs",
        "crates/cli/src/main.rs",
        "xtask/src/main.rs",
        "crates/cli/src/bin/a.rs",
    ] {
        assert_eq!(
            lines(
                safety::check_forbidden,
                root,
                "// #![forbid(unsafe_code)]\n"
            ),
            [1],
            "{root}"
        );
        assert_eq!(
            lines(
                safety::check_forbidden,
                root,
                "//! What.\n#![forbid(unsafe_code)]\n"
            ),
            NONE,
            "{root}"
        );
    }
    for free in [
        "crates/cpu/src/lib.rs",
        "crates/gpu/src/lib.rs",
        "python/src/lib.rs",
        "crates/core/src/a.rs",
    ] {
        assert_eq!(
            lines(safety::check_forbidden, free, "//! What.\n"),
            NONE,
            "{free}"
        );
    }
}

#[test]
fn impure_crates_fire() {
    let text =
        "use std::fs;\n// std::fs\n#[cfg(test)]\nmod tests {\n    use std::time::Instant;\n}\n";
    assert_eq!(lines(duties::check, "crates/core/src/a.rs", text), [1]);
    assert_eq!(
        lines(
            duties::check,
            "crates/plan/src/a.rs",
            "let t = Instant::now();\n"
        ),
        [1]
    );
    assert_eq!(
        lines(
            duties::check,
            "crates/core/src/a.rs",
            "#[cfg(target_os = \"linux\")]\n"
        ),
        [1]
    );
    let grouped = "use std::{\n    fs,\n    path::Path,\n};\n";
    for path in ["crates/plan/src/a.rs", "crates/cli/src/a.rs"] {
        assert_eq!(lines(duties::check, path, grouped), [1], "{path}");
    }
    let made = "fn a() -> [u8; 4] {\n    std::array::from_fn(|i| i as u8)\n}\n";
    for path in ["crates/cpu/src/kernels/a.rs", "crates/vector/src/simd/a.rs"] {
        assert_eq!(lines(duties::check, path, made), [2], "{path}");
    }
    assert_eq!(lines(duties::check, "crates/gpu/src/a.rs", made), NONE);
    let asks = "fn a(p: &Path) {\n    offs::read(p);\n    p.exists();\n}\n";
    assert_eq!(lines(duties::check, "python/src/a.rs", asks), [3]);
    let cache = "crates/gpu/src/runtime/cache.rs";
    for path in [cache, "crates/io/src/a.rs", "xtask/src/a.rs"] {
        assert_eq!(lines(duties::check, path, asks), NONE, "{path}");
    }
    let threads = "use rayon::prelude::*;\n";
    assert_eq!(lines(duties::check, "crates/plan/src/a.rs", threads), [1]);
    assert_eq!(
        lines(duties::check, "crates/product/src/plan/a.rs", threads),
        NONE
    );
    assert_eq!(lines(duties::check, "crates/io/src/a.rs", text), NONE);
    assert_eq!(lines(duties::check, "crates/core/tests/a.rs", text), NONE);
}

#[test]
fn vague_names_fire() {
    for path in [
        "crates/core/src/utils.rs",
        "python/helpers.py",
        "crates/gpu/kernels/common.h",
        "crates/io/src/base/mod.rs",
    ] {
        assert_eq!(lines(names::check_names, path, ""), [1], "{path}");
    }
    for path in [
        "crates/core/src/fold.rs",
        "data/base.csv",
        "crates/io/src/fold/mod.rs",
        "crates/core/src/basest.rs",
    ] {
        assert_eq!(lines(names::check_names, path, ""), NONE, "{path}");
    }
}

#[test]
fn paths_of_one_machine_fire() {
    let folder = |name: &str| format!("/{name}/");
    for name in ["home", "root", "work", "Users"] {
        let path = folder(name);
        assert_eq!(
            lines(
                names::check_paths,
                "a.md",
                &format!("one\nin `{path}me/x`\n")
            ),
            [2],
            "{path}"
        );
        assert_eq!(
            lines(names::check_paths, "a.md", &format!("{path}x\n")),
            [1],
            "{path}"
        );
        let elsewhere = format!("https://a.org{path}x ../a{path}x $HOME/..{path}x ${{A}}{path}x\n");
        assert_eq!(
            lines(names::check_paths, "a.md", &elsewhere),
            NONE,
            "{path}"
        );
    }
}

#[test]
fn panics_are_counted() {
    let text = "f().unwrap();\n// INVARIANT: never empty.\ng().expect(\"a\");\n\n\n\npanic!(\"b.unwrap()\");\n#[cfg(test)]\nmod tests { fn t() { f().unwrap(); } }\n";
    let files = [
        File::new("crates/core/src/a.rs", text),
        File::new("crates/core/tests/a.rs", text),
    ];
    assert_eq!(
        panics::count(&files).into_iter().collect::<Vec<_>>(),
        [("crates/core".to_owned(), 2)]
    );
}

#[test]
fn calls_that_break_a_promise_fire() {
    let text = "fn a() {\n    let b = Budget::unlimited();\n    // Budget::unlimited()\n}\n#[cfg(test)]\nmod tests {\n    fn b() {\n        println!(\"{}\", Budget::unlimited());\n    }\n}\n";
    assert_eq!(lines(calls::check, "crates/zipfold/src/a.rs", text), [2]);
    assert_eq!(lines(calls::check, "crates/zipfold/tests/a.rs", text), NONE);
    assert_eq!(lines(calls::check, "crates/testkit/src/a.rs", text), NONE);
    let reads = "fn a() {\n    std::fs::read_to_string(b);\n    eprintln!(\"c\");\n}\n";
    assert_eq!(lines(calls::check, "crates/cli/src/a.rs", reads), [3]);
    assert_eq!(lines(calls::check, "xtask/src/a.rs", reads), NONE);
}
