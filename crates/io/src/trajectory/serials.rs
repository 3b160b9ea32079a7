//! Numbers of atoms and residues in columns that are too narrow for them: decimal, hybrid-36,
//! hexadecimal.
//!
//! Five columns hold 99 999 decimally. Hybrid-36 goes on with `A0000` (100 000) to `ZZZZZ`, then
//! `a0000`; VMD goes on in hexadecimal with `186a0`. A field that begins with a digit and has a
//! letter is hexadecimal, one that begins with a letter hybrid-36: the two never overlap in a
//! file's range. `*****` says that the writer had no room; such a number is unknown.

/// The number in a field of as many columns; none where it is unknown (`*****`, empty, another
/// text).
pub(super) fn number(field: &str) -> Option<i64> {
    let text = field.trim();
    let first = text.bytes().next()?;
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    if first.is_ascii_digit() {
        return i64::from_str_radix(text, 16).ok();
    }
    hybrid36(text, field.len())
}

/// A number of hybrid-36 in `width` columns.
fn hybrid36(text: &str, width: usize) -> Option<i64> {
    let upper = text
        .bytes()
        .all(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
    let lower = text
        .bytes()
        .all(|b| b.is_ascii_digit() || b.is_ascii_lowercase());
    if text.len() != width || !(1..=8).contains(&width) || !(upper || lower) {
        return None;
    }
    let value = i64::from_str_radix(text, 36).ok()?;
    let (tens, thirty_sixes) = (10i64.pow(width as u32), 36i64.pow(width as u32 - 1));
    // The first number with an upper-case letter follows the last decimal one; those with
    // lower-case letters follow them.
    Some(value - 10 * thirty_sixes + tens + if lower { 26 * thirty_sixes } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn wide_numbers_go_on_in_letters() {
        let cases = [
            ("    1", Some(1)),
            ("99999", Some(99_999)),
            ("A0000", Some(100_000)),
            ("A0001", Some(100_001)),
            ("ZZZZZ", Some(43_770_015)),
            ("a0000", Some(43_770_016)),
            ("zzzzz", Some(87_440_031)),
            ("186a0", Some(100_000)),
            ("-12", Some(-12)),
            ("A000", Some(10_000)),
            ("*****", None),
            ("     ", None),
            ("A0 00", None),
            ("Aa000", None),
        ];
        for (field, expected) in cases {
            assert_eq!(number(field), expected, "{field}");
        }
    }
}
