//! Calls that shipped code does not make, because another way holds a promise that they break.

use super::shipped;
use crate::Violation;
use crate::source::Source;
use crate::tree::File;

/// A call, where it may stand all the same, and what to do instead.
struct Ban {
    call: &'static str,
    /// Beginnings of paths: where the ban holds, and where within it does not.
    within: &'static [&'static str],
    except: &'static [&'static str],
    instead: &'static str,
}

const LIBRARY: &[&str] = &["crates/", "python/"];

const BANS: &[Ban] = &[
    Ban {
        call: "Budget::unlimited(",
        within: LIBRARY,
        except: &["crates/testkit/"],
        instead: "a budget without a limit: pass on the run's",
    },
    Ban {
        call: "File::open(",
        within: &["crates/", "python/"],
        except: &[
            "crates/io/src/guard.rs",
            "crates/io/src/atomic.rs",
            "crates/testkit/",
        ],
        instead: "a file opened past the one reader: io::guard::Source asks the budget",
    },
    Ban {
        call: "println!(",
        within: LIBRARY,
        except: &[],
        instead: "a print that panics when its reader has gone",
    },
    Ban {
        call: "print!(",
        within: LIBRARY,
        except: &[],
        instead: "a print that panics when its reader has gone",
    },
];

/// Every such call outside tests.
pub fn check(files: &[File]) -> Vec<Violation> {
    files
        .iter()
        .filter(|file| shipped(&file.path))
        .flat_map(calls)
        .collect()
}

fn calls(file: &File) -> Vec<Violation> {
    let starts = |with: &[&str]| with.iter().any(|start| file.path.starts_with(start));
    let bans: Vec<&Ban> = BANS
        .iter()
        .filter(|ban| starts(ban.within) && !starts(ban.except))
        .collect();
    if bans.is_empty() || !bans.iter().any(|ban| file.text.contains(ban.call)) {
        return Vec::new();
    }
    let source = Source::new(&file.text);
    let tests = source.test_lines();
    let shipped = |line: usize| {
        !tests
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&line))
    };
    let mut found = Vec::new();
    for line in (1..=source.lines()).filter(|line| shipped(*line)) {
        let code = source.code_line(line);
        found.extend(
            bans.iter()
                .filter(|ban| code.contains(ban.call))
                .map(|ban| {
                    Violation::new(
                        &file.path,
                        line,
                        format!("{}) is {}", ban.call, ban.instead),
                    )
                }),
        );
    }
    found
}
