//! Source text split into code and comments, so that a check never mistakes a word in a string for
//! code.

/// A source file with two views of it, both as long as the text itself and with the same line ends.
pub struct Source {
    /// The text with comments and the insides of literals blanked.
    pub code: Vec<u8>,
    /// The text with everything but comments blanked.
    pub comments: Vec<u8>,
    starts: Vec<usize>,
}

impl Source {
    /// Splits Rust, C, OpenCL or CUDA text.
    pub fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let (mut code, mut comments) = (blank(bytes), blank(bytes));
        let mut at = 0;
        while at < bytes.len() {
            let (kind, end) = piece(bytes, at);
            match kind {
                Piece::Code => code[at..end].copy_from_slice(&bytes[at..end]),
                Piece::Comment => comments[at..end].copy_from_slice(&bytes[at..end]),
                Piece::Literal => (code[at], code[end - 1]) = (b'"', b'"'),
            }
            at = end;
        }
        let ends = bytes
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
            .map(|(i, _)| i + 1);
        Source {
            code,
            comments,
            starts: std::iter::once(0).chain(ends).collect(),
        }
    }

    /// The line, counted from 1, of a byte.
    pub fn line(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at)
    }

    /// The code of a line counted from 1, blank if there is no such line.
    pub fn code_line(&self, line: usize) -> String {
        self.slice(&self.code, line)
    }

    /// The comments of a line counted from 1, blank if there is no such line.
    pub fn comment_line(&self, line: usize) -> String {
        self.slice(&self.comments, line)
    }

    /// How many lines there are.
    pub fn lines(&self) -> usize {
        self.starts.len()
    }

    /// Where `word` is in the code as a whole word.
    pub fn words(&self, word: &str) -> Vec<usize> {
        let edge = |at: Option<&u8>| at.is_none_or(|byte| !is_word(*byte));
        let found = self
            .code
            .windows(word.len())
            .enumerate()
            .filter(|(_, window)| *window == word.as_bytes());
        found
            .map(|(at, _)| at)
            .filter(|at| {
                edge(at.checked_sub(1).and_then(|i| self.code.get(i)))
                    && edge(self.code.get(at + word.len()))
            })
            .collect()
    }

    /// The first byte of code at or after `at` that is not a blank.
    pub fn next(&self, at: usize) -> Option<usize> {
        (at..self.code.len()).find(|i| !self.code[*i].is_ascii_whitespace())
    }

    /// The brace that closes the one at `open`.
    pub fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0usize;
        for (at, byte) in self.code.iter().enumerate().skip(open) {
            match byte {
                b'{' => depth += 1,
                b'}' if depth <= 1 => return Some(at),
                b'}' => depth -= 1,
                _ => {}
            }
        }
        None
    }

    /// The brace that opens the body of an item whose signature starts at `at`; none if a semicolon
    /// comes first.
    pub fn body(&self, at: usize) -> Option<usize> {
        let mut depth = 0i32;
        for (i, byte) in self.code.iter().enumerate().skip(at) {
            match byte {
                b'(' | b'[' => depth += 1,
                b')' | b']' => depth -= 1,
                b'{' if depth <= 0 => return Some(i),
                b';' if depth <= 0 => return None,
                _ => {}
            }
        }
        None
    }

    /// Whether `at` is within the body of a `macro_rules!`, which clippy does not look into.
    pub fn is_in_macro(&self, at: usize) -> bool {
        let body = |start: usize| Some((self.body(start)?, self.closing(self.body(start)?)?));
        let bodies = self.words("macro_rules").into_iter().filter_map(body);
        bodies
            .into_iter()
            .any(|(open, close)| (open..close).contains(&at))
    }

    /// The lines (first and last, counted from 1) of items behind `#[cfg(test)]`.
    pub fn test_lines(&self) -> Vec<(usize, usize)> {
        let marker = b"#[cfg(test)]";
        let found = self
            .code
            .windows(marker.len())
            .enumerate()
            .filter(|(_, window)| *window == marker);
        found
            .filter_map(|(at, _)| {
                let open = self.body(at + marker.len())?;
                Some((self.line(at), self.line(self.closing(open)?)))
            })
            .collect()
    }

    fn slice(&self, of: &[u8], line: usize) -> String {
        let Some(start) = line.checked_sub(1).and_then(|i| self.starts.get(i)) else {
            return String::new();
        };
        let end = self.starts.get(line).copied().unwrap_or(of.len());
        String::from_utf8_lossy(&of[*start..end])
            .trim_end()
            .to_owned()
    }
}

/// Whether a byte can be part of a name.
pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 128
}

fn blank(bytes: &[u8]) -> Vec<u8> {
    bytes
        .iter()
        .map(|byte| if *byte == b'\n' { b'\n' } else { b' ' })
        .collect()
}

enum Piece {
    Code,
    Comment,
    Literal,
}

/// The piece that starts at `at` and the end of it.
fn piece(bytes: &[u8], at: usize) -> (Piece, usize) {
    let rest = &bytes[at..];
    if rest.starts_with(b"//") {
        let length = rest
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(rest.len());
        return (Piece::Comment, at + length);
    }
    if rest.starts_with(b"/*") {
        return (Piece::Comment, at + block_comment(rest));
    }
    if rest[0] == b'"' {
        return (Piece::Literal, at + quoted(rest, b'"'));
    }
    let after_word = at > 0 && is_word(bytes[at - 1]);
    if let Some(length) = raw_string(rest).filter(|_| !after_word) {
        return (Piece::Literal, at + length);
    }
    if rest[0] == b'\'' && is_char(rest) {
        return (Piece::Literal, at + quoted(rest, b'\''));
    }
    (Piece::Code, at + 1)
}

fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at
}

/// The length of a literal between two `quote`s; to the end of the text if it is not closed.
fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// The length of `r"…"`, `r#"…"#`, `br"…"` and so on.
fn raw_string(rest: &[u8]) -> Option<usize> {
    let prefix = [&b"br"[..], b"cr", b"r"]
        .into_iter()
        .find(|prefix| rest.starts_with(prefix))?
        .len();
    let hashes = rest[prefix..]
        .iter()
        .take_while(|byte| **byte == b'#')
        .count();
    let open = prefix + hashes;
    (rest.get(open) == Some(&b'"')).then_some(())?;
    let close: Vec<u8> = std::iter::once(b'"')
        .chain(std::iter::repeat_n(b'#', hashes))
        .collect();
    let found = rest[open + 1..]
        .windows(close.len())
        .position(|window| window == close);
    Some(found.map_or(rest.len(), |at| open + 1 + at + close.len()))
}

/// Whether a quote opens a character rather than a lifetime.
fn is_char(rest: &[u8]) -> bool {
    match rest.get(1) {
        Some(b'\\') => true,
        Some(byte) if *byte >= 128 => rest.iter().take(6).skip(2).any(|byte| *byte == b'\''),
        Some(_) => rest.get(2) == Some(&b'\''),
        None => false,
    }
}
