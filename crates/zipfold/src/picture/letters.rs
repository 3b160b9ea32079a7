//! The letters of pictures: outlines of DejaVu Sans, as `fonts/letters.py` writes them.
//!
//! ```text
//! 2048 1120                        units of an em, height of an x
//! 0 1229 M102 -362V1444H1126…Z     the box of a letter that is not here
//! 41 1401 M700 1294L426 551…Z      a letter as a hexadecimal number, its width, its outline upwards
//! ```

use std::collections::HashMap;
use std::sync::OnceLock;
use zeno::{Command, PathData, Transform};

/// What was read, or what is wrong with it.
pub(super) type Parsed<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const LETTERS: &str = include_str!("../../fonts/letters.txt");

/// A letter: its width and its outline.
type Letter = (f32, &'static str);

/// The letters, in units of the font.
pub(super) struct Letters {
    /// Units of an em.
    pub em: f32,
    /// The height of an x.
    pub ex: f32,
    missing: Letter,
    all: HashMap<char, Letter>,
}

impl Letters {
    /// The letters, read once.
    pub(super) fn get() -> &'static Self {
        static READ: OnceLock<Letters> = OnceLock::new();
        READ.get_or_init(|| {
            // INVARIANT: a test reads the file, which is part of the program.
            Letters::read().unwrap_or_else(|e| panic!("the letters of pictures: {e}"))
        })
    }
    fn read() -> Parsed<Self> {
        let mut lines = LETTERS.lines();
        let head = lines.next().and_then(|line| line.split_once(' '));
        let (em, ex) = head.ok_or("letters without a head")?;
        let mut all = HashMap::new();
        for line in lines {
            let (code, rest) = line.split_once(' ').ok_or("a letter without a width")?;
            let (width, outline) = rest.split_once(' ').unwrap_or((rest, ""));
            let letter = char::from_u32(u32::from_str_radix(code, 16)?);
            let letter = letter.ok_or("a number that is no letter")?;
            all.insert(letter, (width.parse()?, outline));
        }
        Ok(Letters {
            em: em.parse()?,
            ex: ex.parse()?,
            missing: *all.get(&'\0').ok_or("letters without a box")?,
            all,
        })
    }
    /// The outlines of letters in a row, and their width. What is between words is one space.
    pub(super) fn line(&self, text: &str) -> (Vec<Command>, f32) {
        let (mut path, mut width) = (vec![], 0.0);
        let words: Vec<&str> = text.split_whitespace().collect();
        for letter in words.join(" ").chars() {
            let (wide, outline) = self.all.get(&letter).copied().unwrap_or(self.missing);
            let place = Transform::translation(width, 0.0);
            path.extend(outline.commands().map(|command| command.transform(&place)));
            width += wide;
        }
        (path, width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zeno::Style;

    #[test]
    fn every_letter_has_an_outline_or_is_a_space() {
        let letters = Letters::get();
        assert!(letters.all.len() > 700, "{}", letters.all.len());
        for (letter, (width, outline)) in &letters.all {
            let bounded = outline.commands().all(|command| {
                let ends = zeno::bounds(&vec![command], Style::default(), None);
                ends.max.x.abs() < 2.0 * letters.em && ends.max.y.abs() < 2.0 * letters.em
            });
            assert!(bounded, "{letter}");
            assert!(
                *width >= 0.0 && *width < 2.0 * letters.em,
                "{letter}: {width}"
            );
        }
        for letter in "Aaξπθ²−±×·…µÅé".chars() {
            assert!(!letters.line(&letter.to_string()).0.is_empty(), "{letter}");
        }
        let (_, one) = letters.line("n");
        assert_eq!(letters.line("nn").1, 2.0 * one);
        assert_eq!(letters.line("\u{4e2d}").1, letters.missing.0);
    }
}
