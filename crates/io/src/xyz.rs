//! Trajectories in XYZ and extended XYZ: frames of named points, with the box where it is given.

use crate::growing::Growing;
use crate::guard::{Lines, Packing, Source};
use crate::text_rows::{is_coarse, number, show};
use zipfold_core::budget::human_bytes;
use zipfold_core::shown::short;
use zipfold_core::{Budget, Buffer, Elements, Error, Reservation, Result, Table};

/// One frame of a trajectory.
#[derive(Debug)]
pub struct Frame {
    /// What each point is (an element, mostly).
    pub species: Vec<String>,
    /// Positions, n × 3, columns x, y, z.
    pub positions: Table,
    /// The box vectors a, b, c, of extended XYZ.
    pub lattice: Option<[[f64; 3]; 3]>,
    /// The comment line as it is in the file.
    pub comment: String,
    _held: Reservation,
}

/// The frames of a file, read one by one; ends after the first error.
pub struct Frames {
    lines: Lines,
    budget: Budget,
    /// Bytes of the file not yet read; unknown when it is compressed.
    left: Option<u64>,
    done: bool,
}

/// The longest comment line that a frame may have.
const LONGEST_COMMENT: usize = 1 << 20;

/// Where on a line of extended XYZ species and position stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    species: Option<usize>,
    position: usize,
}

/// The frames of `source`.
///
/// # Errors
/// `Input` when the file cannot be read.
pub fn read_xyz(source: &Source, budget: &Budget) -> Result<Frames> {
    let left = (source.packing()? == Packing::Plain).then_some(source.size());
    Ok(Frames {
        lines: Lines::new(source, false, budget)?,
        budget: budget.clone(),
        left,
        done: false,
    })
}

impl Iterator for Frames {
    type Item = Result<Frame>;
    fn next(&mut self) -> Option<Result<Frame>> {
        if self.done {
            return None;
        }
        let frame = self.frame().transpose();
        self.done = !matches!(frame, Some(Ok(_)));
        frame
    }
}

impl Frames {
    fn next_line(&mut self) -> Result<bool> {
        let more = self.lines.next()?;
        self.left = self
            .left
            .map(|left| left.saturating_sub(self.lines.current().len() as u64 + 1));
        Ok(more)
    }
    fn wrong(&self, what: impl Into<String>) -> Error {
        Error::input(what).at_place(self.lines.place()).remedy(
            "write the frame again: number of points, comment, then `species x y z` for each point",
        )
    }

    fn frame(&mut self) -> Result<Option<Frame>> {
        loop {
            if !self.next_line()? {
                return Ok(None);
            }
            if !self.lines.current().trim_ascii().is_empty() {
                break;
            }
        }
        let count = self.point_count()?;
        if !self.next_line()? {
            return Err(self.wrong("the file ends before the comment line"));
        }
        if self.lines.current().len() > LONGEST_COMMENT {
            let e = self.wrong("the comment line is longer than any frame has");
            return Err(e.limit(human_bytes(LONGEST_COMMENT as u64)));
        }
        let comment = String::from_utf8_lossy(self.lines.current()).into_owned();
        let lattice = self.lattice(&comment)?;
        let layout = self.layout(&comment)?;
        self.points(count, comment, lattice, layout).map(Some)
    }

    fn point_count(&self) -> Result<u64> {
        let text = String::from_utf8_lossy(self.lines.current().trim_ascii());
        let count: u64 = text
            .parse()
            .map_err(|_| self.wrong(format!("'{}' is not a number of points", short(&text, 40))))?;
        // A point takes at least three digits and two blanks.
        match self.left {
            Some(left) if count.saturating_mul(5) > left => Err(self
                .wrong(format!(
                    "the frame claims {count} points, but only {left} bytes follow"
                ))
                .limit(format!("{left} bytes"))),
            _ => Ok(count),
        }
    }

    fn lattice(&self, comment: &str) -> Result<Option<[[f64; 3]; 3]>> {
        let Some(text) = value_of(comment, "lattice") else {
            return Ok(None);
        };
        let numbers: Vec<f64> = text
            .split_ascii_whitespace()
            .filter_map(|w| w.parse().ok())
            .filter(|v: &f64| v.is_finite())
            .collect();
        match (numbers.as_slice(), text.split_ascii_whitespace().count()) {
            ([a, b, c, d, e, f, g, h, i], 9) => {
                Ok(Some([[*a, *b, *c], [*d, *e, *f], [*g, *h, *i]]))
            }
            _ => Err(self
                .wrong("Lattice is not 9 finite numbers")
                .limit("9 numbers: ax ay az bx by bz cx cy cz")),
        }
    }

    fn layout(&self, comment: &str) -> Result<Layout> {
        let Some(text) = value_of(comment, "properties") else {
            return Ok(Layout {
                species: Some(0),
                position: 1,
            });
        };
        let fields: Vec<&str> = text.split(':').collect();
        let (mut at, mut species, mut position) = (0usize, None, None);
        for field in fields.chunks(3) {
            let [name, _, width] = field else {
                return Err(self.wrong("Properties is not made of name:type:width"));
            };
            let width: usize = width
                .parse()
                .map_err(|_| self.wrong(format!("the width of property {name} is not a number")))?;
            match (name.to_ascii_lowercase().as_str(), width) {
                ("species" | "element", 1) => species = Some(at),
                ("pos" | "positions", 3) => position = Some(at),
                _ => {}
            }
            at = at
                .checked_add(width)
                .ok_or_else(|| self.wrong("Properties claims too many columns"))?;
        }
        let position = position.ok_or_else(|| self.wrong("Properties has no pos:R:3"))?;
        Ok(Layout { species, position })
    }

    fn points(
        &mut self,
        count: u64,
        comment: String,
        lattice: Option<[[f64; 3]; 3]>,
        layout: Layout,
    ) -> Result<Frame> {
        let purpose = format!("a frame of {}", self.lines.name());
        let mut positions = Growing::new(&self.budget, purpose.clone());
        let mut species = Vec::new();
        // Lossy text has up to three bytes for one.
        let mut tab = self.budget.tab(&purpose);
        tab.add(3 * comment.len() as u64)?;
        for at in 0..count {
            if !self.next_line()? {
                return Err(self.wrong(format!(
                    "the file ends after {at} of the {count} points of this frame"
                )));
            }
            let (kind, place) = self.point(layout)?;
            positions.extend(&place)?;
            // The vector of names may double when it grows.
            tab.add((2 * size_of::<String>() + 24 + kind.len()) as u64)?;
            species.push(kind);
        }
        let elements = Elements::F64(Buffer::new(positions.finish()?));
        let table = Table::new(species.len(), 3, elements)?;
        let positions = table.with_names(["x", "y", "z"].map(String::from).to_vec())?;
        Ok(Frame {
            species,
            positions,
            lattice,
            comment,
            _held: tab.close(),
        })
    }

    fn point(&self, layout: Layout) -> Result<(String, [f64; 3])> {
        let words = || {
            self.lines
                .current()
                .split(u8::is_ascii_whitespace)
                .filter(|w| !w.is_empty())
        };
        let mut place = [0.0; 3];
        for (axis, value) in place.iter_mut().enumerate() {
            let at = layout.position.saturating_add(axis);
            let word = words().nth(at).ok_or_else(|| {
                self.wrong(format!(
                    "the point has {} columns, coordinate {} is in column {}",
                    words().count(),
                    ["x", "y", "z"][axis],
                    at.saturating_add(1)
                ))
            })?;
            let parsed = number(word).filter(|v| !v.is_nan() || word.eq_ignore_ascii_case(b"nan"));
            *value = parsed
                .filter(|v| v.is_finite() || !is_coarse(word, *v))
                .ok_or_else(|| {
                    self.wrong(format!(
                        "coordinate {} '{}' is not a number",
                        ["x", "y", "z"][axis],
                        show(word)
                    ))
                })?;
        }
        let kind = layout
            .species
            .and_then(|at| words().nth(at))
            .unwrap_or_default();
        Ok((String::from_utf8_lossy(kind).into_owned(), place))
    }
}

/// The value of `key=` in a comment of extended XYZ, quoted or not; keys in any case.
fn value_of<'a>(comment: &'a str, key: &str) -> Option<&'a str> {
    let mut rest = comment;
    while let Some(equals) = rest.find('=') {
        let name = rest[..equals]
            .trim_end()
            .rsplit([' ', '\t'])
            .next()
            .unwrap_or_default();
        let after = rest[equals + 1..].trim_start();
        let (value, next) = match after.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let inner = &after[1..];
                inner.split_once(quote).unwrap_or((inner, ""))
            }
            Some('{') => after[1..].split_once('}').unwrap_or((&after[1..], "")),
            _ => after.split_once([' ', '\t']).unwrap_or((after, "")),
        };
        if name.eq_ignore_ascii_case(key) {
            return Some(value);
        }
        rest = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_quoted_and_plain() {
        let comment =
            r#"energy=-1.5 Lattice="1 0 0 0 2 0 0 0 3" name='a=b' Properties=species:S:1:pos:R:3"#;
        assert_eq!(value_of(comment, "lattice"), Some("1 0 0 0 2 0 0 0 3"));
        assert_eq!(value_of(comment, "properties"), Some("species:S:1:pos:R:3"));
        assert_eq!(value_of(comment, "b"), None);
        assert_eq!(value_of("Lattice=\"1 2", "lattice"), Some("1 2"));
    }
}
