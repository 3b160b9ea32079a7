//! Guesses what a reader meant by an unknown name, for the remedy of an error.

/// Returns a remedy for an unknown name: the nearest of `known`, or `what` with a list of at most
/// 40.
pub fn suggestion<'s>(name: &str, known: impl Iterator<Item = &'s str>, what: &str) -> String {
    let known: Vec<&str> = known.collect();
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("'{near}'"),
        None if known.len() <= 40 => format!("{what}: {}", known.join(", ")),
        None => what.to_string(),
    }
}

/// Returns the one of `known` that `name` is a slip of: at most a third of its letters differ, and
/// at least two letters agree. Known names of one or two letters match only in another case.
///
/// ```text
/// euclidian → euclidean (1 of 9 letters)      cosin → cosine (1 of 5)      ln → nothing of 2 letters
/// ```
pub fn nearest<'s>(name: &str, known: impl Iterator<Item = &'s str>) -> Option<&'s str> {
    let letters = name.chars().count();
    let near = known
        .filter(|k| k.chars().count() > 2 || k.eq_ignore_ascii_case(name))
        .map(|k| (distance(name, k), k));
    near.min()
        .filter(|(d, _)| *d <= (letters / 3).max(1) && *d + 1 < letters.max(2))
        .map(|(_, k)| k)
}

/// Computes the distance of two short names (Levenshtein 1966), ignoring case, with one row of the
/// table: `row[j]` is the distance of the letters of `a` so far from the first `j` of `b`, and
/// `diagonal` what `row[j]` was before this letter of `a`.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.to_lowercase().chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let cost = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
