//! Trajectories in XYZ and extended XYZ: frames of named points, with the box where it is given.

use crate::growing::Growing;
use crate::guard::{Source, at_line, next_line, read_error};
use std::io::BufRead;
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
    /// The comment line as it stands in the file.
    pub comment: String,
    _held: Vec<Reservation>,
}

/// The frames of a file, read one by one; ends after the first error.
pub struct Frames {
    name: String,
    text: Box<dyn BufRead>,
    budget: Budget,
    line: u64,
    /// Bytes of the file not yet read; unknown when it is compressed.
    left: Option<u64>,
    done: bool,
    buffer: Vec<u8>,
}

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
    let left = (!source.is_gzip()).then_some(source.size());
    let text = source.text()?;
    Ok(Frames {
        name: source.name().to_owned(),
        text,
        budget: budget.clone(),
        line: 0,
        left,
        done: false,
        buffer: Vec::new(),
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
        self.line += 1;
        let more = next_line(&mut *self.text, &mut self.buffer);
        let more = more.map_err(|e| read_error(&self.name, "cannot be read", &e).at(at_line(&self.name, self.line)))?;
        self.left = self.left.map(|left| left.saturating_sub(self.buffer.len() as u64 + 1));
        Ok(more)
    }
    fn wrong(&self, what: impl Into<String>) -> Error {
        Error::input(what)
            .at(at_line(&self.name, self.line))
            .remedy("write the frame again: number of points, comment, then `species x y z` for each point")
    }

    fn frame(&mut self) -> Result<Option<Frame>> {
        loop {
            if !self.next_line()? {
                return Ok(None);
            }
            if !self.buffer.trim_ascii().is_empty() {
                break;
            }
        }
        let count = self.point_count()?;
        if !self.next_line()? {
            return Err(self.wrong("the file ends before the comment line"));
        }
        let comment = String::from_utf8_lossy(&self.buffer).into_owned();
        let lattice = self.lattice(&comment)?;
        let layout = self.layout(&comment)?;
        self.points(count, comment, lattice, layout).map(Some)
    }

    fn point_count(&self) -> Result<u64> {
        let text = String::from_utf8_lossy(self.buffer.trim_ascii());
        let count: u64 = text.parse().map_err(|_| {
            let short: String = text.chars().take(40).collect();
            self.wrong(format!("'{short}' is not a number of points"))
        })?;
        // A point takes at least three digits and two blanks.
        match self.left {
            Some(left) if count.saturating_mul(5) > left => Err(self
                .wrong(format!("the frame claims {count} points, but only {left} bytes follow"))
                .limit(format!("{left} bytes"))),
            _ => Ok(count),
        }
    }

    fn lattice(&self, comment: &str) -> Result<Option<[[f64; 3]; 3]>> {
        let Some(text) = value_of(comment, "lattice") else { return Ok(None) };
        let numbers: Vec<f64> =
            text.split_ascii_whitespace().filter_map(|w| w.parse().ok()).filter(|v: &f64| v.is_finite()).collect();
        match (numbers.as_slice(), text.split_ascii_whitespace().count()) {
            ([a, b, c, d, e, f, g, h, i], 9) => Ok(Some([[*a, *b, *c], [*d, *e, *f], [*g, *h, *i]])),
            _ => Err(self.wrong("Lattice is not 9 finite numbers").limit("9 numbers: ax ay az bx by bz cx cy cz")),
        }
    }

    fn layout(&self, comment: &str) -> Result<Layout> {
        let Some(text) = value_of(comment, "properties") else { return Ok(Layout { species: Some(0), position: 1 }) };
        let fields: Vec<&str> = text.split(':').collect();
        let (mut at, mut species, mut position) = (0usize, None, None);
        for field in fields.chunks(3) {
            let [name, _, width] = field else { return Err(self.wrong("Properties is not made of name:type:width")) };
            let width: usize =
                width.parse().map_err(|_| self.wrong(format!("the width of property {name} is not a number")))?;
            match (name.to_ascii_lowercase().as_str(), width) {
                ("species" | "element", 1) => species = Some(at),
                ("pos" | "positions", 3) => position = Some(at),
                _ => {}
            }
            at = at.checked_add(width).ok_or_else(|| self.wrong("Properties claims too many columns"))?;
        }
        let position = position.ok_or_else(|| self.wrong("Properties has no pos:R:3"))?;
        Ok(Layout { species, position })
    }

    fn points(&mut self, count: u64, comment: String, lattice: Option<[[f64; 3]; 3]>, layout: Layout) -> Result<Frame> {
        let purpose = format!("a frame of {}", self.name);
        let mut positions = Growing::new(&self.budget, purpose.clone());
        let mut species = Vec::new();
        let mut held = vec![self.budget.reserve(comment.len() as u64, &purpose)?];
        let mut unpaid = 0;
        for at in 0..count {
            if !self.next_line()? {
                return Err(self.wrong(format!("the file ends after {at} of the {count} points of this frame")));
            }
            let (kind, place) = self.point(layout)?;
            positions.extend(&place)?;
            unpaid += (size_of::<String>() + 16 + kind.len()) as u64;
            if unpaid >= 1 << 16 {
                held.push(self.budget.reserve(std::mem::take(&mut unpaid), &purpose)?);
            }
            species.push(kind);
        }
        held.push(self.budget.reserve(unpaid, &purpose)?);
        let elements = Elements::F64(Buffer::new(positions.finish()?));
        let table = Table::new(species.len(), 3, elements)?;
        let positions = table.with_names(["x", "y", "z"].map(String::from).to_vec())?;
        Ok(Frame { species, positions, lattice, comment, _held: held })
    }

    fn point(&self, layout: Layout) -> Result<(String, [f64; 3])> {
        let words = || self.buffer.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
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
            let number = std::str::from_utf8(word).ok().and_then(|w| w.parse().ok());
            *value = number.ok_or_else(|| {
                let shown: String = String::from_utf8_lossy(word).chars().take(40).collect();
                self.wrong(format!("coordinate {} '{shown}' is not a number", ["x", "y", "z"][axis]))
            })?;
        }
        let kind = layout.species.and_then(|at| words().nth(at)).unwrap_or_default();
        Ok((String::from_utf8_lossy(kind).into_owned(), place))
    }
}

/// The value of `key=` in a comment of extended XYZ, quoted or not; keys in any case.
fn value_of<'a>(comment: &'a str, key: &str) -> Option<&'a str> {
    let mut rest = comment;
    while let Some(equals) = rest.find('=') {
        let name = rest[..equals].trim_end().rsplit([' ', '\t']).next().unwrap_or_default();
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
        let comment = r#"energy=-1.5 Lattice="1 0 0 0 2 0 0 0 3" name='a=b' Properties=species:S:1:pos:R:3"#;
        assert_eq!(value_of(comment, "lattice"), Some("1 0 0 0 2 0 0 0 3"));
        assert_eq!(value_of(comment, "properties"), Some("species:S:1:pos:R:3"));
        assert_eq!(value_of(comment, "b"), None);
        assert_eq!(value_of("Lattice=\"1 2", "lattice"), Some("1 2"));
    }
}
