//! Cleans text from outside (names in files, words of a request) for messages and terminals: no
//! control characters, nothing invisible, nothing endless.
//!
//! A file may contain an escape sequence that rewrites the terminal, or characters that reverse the
//! direction of what follows. Such characters are written as their escapes.

use std::fmt::Write as _;

/// Characters of one word, or of one quoted piece, that are shown. A cell of a binary file that was
/// read as text may be megabytes long.
pub const LONGEST_PIECE: usize = 300;

/// Returns whether a terminal would act on `c` or show nothing for it: controls, marks of
/// direction, the byte-order mark and the like.
fn is_hidden(c: char) -> bool {
    c.is_control()
        // Soft hyphen, marks and overrides of direction, zero-width characters, line and paragraph
        // separators.
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        // Word joiners, isolates, annotations, noncharacters (marks of options among them), and
        // tags.
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fdd0}'..='\u{fdef}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns `text` with every hidden character as its escape (`\u{1b}`), and every word or quoted
/// piece of more than [`LONGEST_PIECE`] characters cut in its middle.
pub fn shown(text: &str) -> String {
    bounded(text, false)
}

/// As [`shown`], but line ends stay: for logs of compilers.
pub fn shown_lines(text: &str) -> String {
    bounded(text, true)
}

/// As [`shown`] for a name between other text, cut to `most` characters.
///
/// Characters are counted before escapes, so a name of hidden characters may be longer when shown.
pub fn short(text: &str, most: usize) -> String {
    let mut out = String::new();
    let mut all = text.chars();
    all.by_ref().take(most).for_each(|c| put(&mut out, c));
    if all.next().is_some() {
        out.push('…');
    }
    out
}

/// Cleans piece by piece. A long piece keeps two thirds of the limit from its start and a third
/// from its end, which is where paths differ.
fn bounded(text: &str, lines: bool) -> String {
    let mut out = String::with_capacity(text.len().min(4096));
    let mut rest = text;
    while !rest.is_empty() {
        let piece = &rest[..piece_len(rest)];
        rest = &rest[piece.len()..];
        if piece.len() <= LONGEST_PIECE || piece.chars().count() <= LONGEST_PIECE {
            piece.chars().for_each(|c| {
                if lines && c == '\n' {
                    out.push('\n')
                } else {
                    put(&mut out, c)
                }
            });
            continue;
        }
        let (head, tail) = (LONGEST_PIECE * 2 / 3, LONGEST_PIECE / 3 - 1);
        let skip = piece.chars().count() - tail;
        piece.chars().take(head).for_each(|c| put(&mut out, c));
        out.push('…');
        piece.chars().skip(skip).for_each(|c| put(&mut out, c));
    }
    out
}

/// Appends a character, or its escape.
fn put(out: &mut String, c: char) {
    if is_hidden(c) {
        let _ = write!(out, "{}", c.escape_unicode());
    } else {
        out.push(c);
    }
}

/// Returns the bytes of the piece that `text` starts with: a quotation up to its closing quote,
/// else a word, or blanks.
fn piece_len(text: &str) -> usize {
    let Some(first) = text.chars().next() else {
        return 0;
    };
    // A quotation is one piece with its blanks; a quote before a letter is an apostrophe and closes
    // nothing.
    if first == '\'' {
        let closes = |at: &usize| !text[at + 1..].starts_with(|c: char| c.is_alphanumeric());
        if let Some(at) = text
            .match_indices('\'')
            .map(|(at, _)| at)
            .skip(1)
            .find(closes)
        {
            return at + 1;
        }
    }
    // An apostrophe inside a word opens nothing.
    let blank = first.is_whitespace();
    text.char_indices()
        .skip(1)
        .find(|(_, c)| c.is_whitespace() != blank)
        .map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_a_terminal_that_it_would_act_on() {
        assert_eq!(
            shown("a\u{1b}[31mb\u{7}\r\n"),
            "a\\u{1b}[31mb\\u{7}\\u{d}\\u{a}"
        );
        assert_eq!(
            shown("\u{feff}MARKOV \u{202e}x \u{9b}1m"),
            "\\u{feff}MARKOV \\u{202e}x \\u{9b}1m"
        );
        assert_eq!(shown_lines("a\nb\tc"), "a\nb\\u{9}c");
        assert_eq!(shown("größer ≤ 3 'a b' …"), "größer ≤ 3 'a b' …");
    }

    #[test]
    fn long_pieces_are_cut_and_the_sentence_stays() {
        let name = "ab ".repeat(400);
        let text = format!("column '{name}' of the file's table is not a number");
        let cut = shown(&text);
        assert!(
            cut.starts_with("column 'ab ab")
                && cut.ends_with("of the file's table is not a number"),
            "{cut}"
        );
        assert!(cut.chars().count() < 400, "{}", cut.chars().count());
        let cut = shown(&format!("/{} is not there", "x/".repeat(5000)));
        assert!(cut.chars().count() < 350 && cut.ends_with("is not there"));
        assert_eq!(shown(&"word ".repeat(1000)).len(), 5000);
        assert_eq!(short("abcdef", 3), "abc…");
        assert_eq!(short("a\u{1b}", 3), "a\\u{1b}");
    }
}
