//! What a reader may have meant by a name that is not known.

/// A remedy that names the nearest of `known`, or says what would do.
pub fn suggestion<'s>(name: &str, known: impl Iterator<Item = &'s str>, what: &str) -> String {
    let known: Vec<&str> = known.collect();
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("'{near}'"),
        None if known.len() <= 40 => format!("{what}: {}", known.join(", ")),
        None => what.to_string(),
    }
}

/// The one of `known` that `name` is a slip of: at most a third of its letters differ, and
/// something is left to recognise.
pub fn nearest<'s>(name: &str, known: impl Iterator<Item = &'s str>) -> Option<&'s str> {
    let letters = name.chars().count();
    let near = known
        .filter(|k| k.chars().count() > 2 || k.eq_ignore_ascii_case(name))
        .map(|k| (distance(name, k), k));
    near.min()
        .filter(|(d, _)| *d <= (letters / 3).max(1) && *d + 1 < letters.max(2))
        .map(|(_, k)| k)
}

/// Levenshtein's distance of two short names, ignoring case.
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
