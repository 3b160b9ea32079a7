//! Results as the UAI competitions write and read them: PR, MAR, MAP, MMAP.

use std::fmt::Write as _;

/// `PR` and log10 Z (`-inf` for impossible evidence).
pub fn pr(log10: f64) -> String {
    format!("PR\n{log10}\n")
}

/// `MAR`, the number of variables, then for each its number of states and their probabilities.
pub fn mar(marginals: &[Vec<f64>]) -> String {
    let mut out = format!("MAR\n{}", marginals.len());
    for row in marginals {
        let _ = write!(out, " {}", row.len());
        for p in row {
            let _ = write!(out, " {p}");
        }
    }
    out.push('\n');
    out
}

/// `MAP`, the number of variables, then their values.
pub fn map(states: &[usize]) -> String {
    let mut out = format!("MAP\n{}", states.len());
    states.iter().for_each(|s| _ = write!(out, " {s}"));
    out.push('\n');
    out
}

/// `MMAP`, the number of asked variables, then pairs of variable and value.
pub fn mmap(states: &[(usize, usize)]) -> String {
    let mut out = format!("MMAP\n{}", states.len());
    states.iter().for_each(|(v, s)| _ = write!(out, " {v} {s}"));
    out.push('\n');
    out
}

/// Marginals from the text of a `.MAR` file; `None` when it is none.
pub fn read_mar(text: &str) -> Option<Vec<Vec<f64>>> {
    let mut words = text.split_ascii_whitespace();
    (words.next()? == "MAR").then_some(())?;
    let n: usize = words.next()?.parse().ok()?;
    (0..n)
        .map(|_| {
            let k: usize = words.next()?.parse().ok()?;
            (0..k).map(|_| words.next()?.parse().ok()).collect()
        })
        .collect()
}

/// log10 Z from the text of a `.PR` file; `None` when it is none.
pub fn read_pr(text: &str) -> Option<f64> {
    let mut words = text.split_ascii_whitespace();
    (words.next()? == "PR").then_some(())?;
    words.next()?.parse().ok()
}

/// Writes `text` to `path` whole or not at all; an existing file stays unless `force`.
///
/// # Errors
/// `Request` when the file exists; `Resource` when it cannot be written.
pub fn write(path: &std::path::Path, text: &str, force: bool) -> zipfold_core::Result<()> {
    use std::io::Write as _;
    let mut out = crate::Output::create_at(
        path,
        crate::OutputOptions {
            force,
            durable: false,
        },
    )?;
    match out.write_all(text.as_bytes()) {
        Ok(()) => out.commit(),
        Err(e) => Err(out.error(&e)),
    }
}
