//! The Rust examples of README.md, as they stand there.

use zipfold::{Result, Table, pairs};

#[rustfmt::skip] // as the README prints it
#[test]
fn matrix_product() -> Result<()> {
    let a = Table::f64(2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    let b_transposed = Table::f64(2, 3, vec![7.0, 9.0, 11.0, 8.0, 10.0, 12.0])?;
    let product = pairs(&a).with(&b_transposed).formula("sum(x * y)").matrix()?;
    assert_eq!(product, [58.0, 64.0, 139.0, 154.0]);
    Ok(())
}

#[test]
fn manhattan() -> Result<()> {
    let a = Table::f64(3, 2, vec![0.0, 0.0, 3.0, 4.0, 1.0, 1.0])?;
    let distances = pairs(&a).metric("cityblock").matrix()?;
    assert_eq!(distances, [0.0, 7.0, 2.0, 7.0, 0.0, 5.0, 2.0, 5.0, 0.0]);
    Ok(())
}

/// Every ```rust block of the README has at most five lines, and all of them are lines of this
/// file, in order.
#[test]
fn the_readme_says_the_same() {
    let here: Vec<&str> = include_str!("five_lines.rs")
        .lines()
        .map(str::trim)
        .collect();
    let readme = include_str!("../../../README.md");
    let blocks: Vec<&str> = readme
        .split("```rust\n")
        .skip(1)
        .filter_map(|rest| rest.split("\n```").next())
        .collect();
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        let lines: Vec<&str> = block.lines().collect();
        assert!(lines.len() <= 5, "{} lines:\n{block}", lines.len());
        assert!(
            here.windows(lines.len()).any(|w| w == lines),
            "not tested:\n{block}"
        );
    }
}
