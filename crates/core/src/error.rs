//! The one error type of zipfold: who must act, what went wrong, where, the limit, and the remedy.
//!
//! An error is data, not a sentence. Its parts are messages that may name options by marks
//! ([`crate::opt`]), so the command and Python render the same error in their own words. Texts from
//! files and requests are cleaned when an error is shown, in one place (invariant CLEAN-MESSAGE).
//!
//! ```text
//! PLACE: WHAT (limit: LIMIT)
//!     the line of the formula, or of the file
//!         ^^^
//!   try: REMEDY
//! ```

use crate::message::{Message, Wording, keys};
use crate::shown::{short, shown, shown_lines};
use std::fmt;

/// Who must act on an error. It decides the exit code of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The data are wrong: a file, an array, a value in them.
    Input,
    /// The request is wrong: a formula, an option, a combination of them.
    Request,
    /// The machine has too little: memory, disk, descriptors.
    Resource,
    /// A device is missing, lost or refuses.
    Device,
    /// zipfold is wrong: please report it.
    Internal,
    /// Somebody asked the run to stop.
    Interrupted,
    /// Nobody: what is asked has no answer, because what was observed cannot happen.
    Impossible,
}

/// A place inside a text (a formula, a line of a file) that a message can underline.
///
/// It owns the text, since an error outlives the request that it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextSpan {
    /// The whole text.
    pub text: String,
    /// Byte range inside `text`.
    pub range: std::ops::Range<usize>,
}

/// An error with everything its reader needs. Build it with [`Error::input`] and friends, then add
/// a place, a limit, a remedy. It is boxed, so that a `Result` stays small.
#[derive(Clone, Debug)]
pub struct Error(Box<ErrorParts>);

/// The parts of an error.
///
/// Each part is optional but for what happened, and none repeats another: interfaces may show them
/// apart.
#[derive(Clone, Debug)]
struct ErrorParts {
    blame: Blame,
    what: Message,
    place: Option<Message>,
    limit: Option<Message>,
    remedy: Option<Message>,
    span: Option<TextSpan>,
}

/// Writes `word` such that a POSIX shell reads it back: in single quotes unless every character is
/// plain. Every hint that shows words of a command takes them from here.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./=:,@%+-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The result type used throughout zipfold.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Returns an error blamed on `blame`, saying `what` happened (a lower-case sentence without a
    /// full stop).
    pub fn new(blame: Blame, what: impl Into<Message>) -> Self {
        Error(Box::new(ErrorParts {
            blame,
            what: what.into(),
            place: None,
            limit: None,
            remedy: None,
            span: None,
        }))
    }
    /// Returns an error of wrong data.
    #[doc(hidden)]
    pub fn input(what: impl Into<Message>) -> Self {
        Self::new(Blame::Input, what)
    }
    /// Returns an error of a wrong request.
    #[doc(hidden)]
    pub fn request(what: impl Into<Message>) -> Self {
        Self::new(Blame::Request, what)
    }
    /// Returns an error of a machine that has too little of something.
    #[doc(hidden)]
    pub fn resource(what: impl Into<Message>) -> Self {
        Self::new(Blame::Resource, what)
    }
    /// Returns an error of a device that is missing or failed. Runs go on without it if they can.
    #[doc(hidden)]
    pub fn device(what: impl Into<Message>) -> Self {
        Self::new(Blame::Device, what)
    }
    /// Returns an error of zipfold itself. Code that cannot fail returns it instead of panicking,
    /// so that a library never ends its caller.
    #[doc(hidden)]
    pub fn internal(what: impl Into<Message>) -> Self {
        Self::new(Blame::Internal, what)
    }
    /// Adds what `other` says happened.
    #[doc(hidden)]
    pub fn also(mut self, other: &Error) -> Self {
        self.0.what = format!("{}; {}", self.0.what.marked(), other.0.what.marked()).into();
        self
    }
    /// Adds where: a file with line or byte, an option, a row and column.
    #[doc(hidden)]
    pub fn at_place(mut self, place: impl Into<Message>) -> Self {
        self.0.place = Some(place.into());
        self
    }
    /// Adds where, unless a place is known: inner layers know it more precisely.
    #[doc(hidden)]
    pub fn at_least(mut self, place: impl Into<Message>) -> Self {
        self.0.place.get_or_insert_with(|| place.into());
        self
    }
    /// Says the limit that was exceeded.
    #[doc(hidden)]
    pub fn limit(mut self, limit: impl Into<Message>) -> Self {
        self.0.limit = Some(limit.into());
        self
    }
    /// Says what to do about it.
    ///
    /// One remedy, the likeliest: a list would leave the choice to a reader who knows less.
    #[doc(hidden)]
    pub fn remedy(mut self, remedy: impl Into<Message>) -> Self {
        self.0.remedy = Some(remedy.into());
        self
    }
    /// Underlines `range` of `text` in the message.
    #[doc(hidden)]
    pub fn span(mut self, text: impl Into<String>, range: std::ops::Range<usize>) -> Self {
        self.0.span = Some(TextSpan {
            text: text.into(),
            range,
        });
        self
    }
    /// Returns who must act.
    #[must_use]
    pub fn blame(&self) -> Blame {
        self.0.blame
    }
    /// Returns what happened.
    #[must_use]
    pub fn what(&self) -> &Message {
        &self.0.what
    }
    /// Returns where it happened, if known.
    #[must_use]
    pub fn place(&self) -> Option<&Message> {
        self.0.place.as_ref()
    }
    /// The remedy, if there is one.
    #[must_use]
    pub fn remedy_text(&self) -> Option<&Message> {
        self.0.remedy.as_ref()
    }
    /// The text to underline, if there is one.
    #[doc(hidden)]
    pub fn span_ref(&self) -> Option<&TextSpan> {
        self.0.span.as_ref()
    }
    /// Renders the error, with options in the words of `wording`. Control characters and endless
    /// words from outside are removed here, and only here.
    #[doc(hidden)]
    pub fn told(&self, wording: Wording) -> String {
        let p = &self.0;
        let said = |message: &Message| part(message, wording, false);
        let mut out = p
            .place
            .as_ref()
            .map_or_else(String::new, |place| format!("{}: ", said(place)));
        // The logs of compilers have lines.
        out += &part(
            &p.what,
            wording,
            matches!(p.blame, Blame::Device | Blame::Internal),
        );
        if let Some(limit) = &p.limit {
            out += &format!(" (limit: {})", said(limit));
        }
        if let Some(span) = &p.span {
            out += &format!("\n{}", caret(span));
        }
        if let Some(remedy) = &p.remedy {
            out += &format!("\n  try: {}", said(remedy));
        }
        if p.blame == Blame::Internal {
            out +=
                "\n  this is a defect of zipfold: please report it with the command that led here";
        }
        out
    }
    /// Returns the exit code of the command: 2 if the request or the input is wrong, 3 if what was
    /// observed cannot happen, 130 if interrupted (128 + SIGINT), else 1.
    #[doc(hidden)]
    pub fn exit_code(&self) -> i32 {
        match self.0.blame {
            Blame::Input | Blame::Request => 2,
            Blame::Impossible => 3,
            Blame::Interrupted => 130,
            Blame::Resource | Blame::Device | Blame::Internal => 1,
        }
    }
}

/// Characters of one part of a message that are shown. A device's compiler may log megabytes.
const LONGEST_PART: usize = 4000;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told(keys))
    }
}

/// Renders one part of a message, cleaned and cut.
fn part(message: &Message, wording: Wording, lines: bool) -> String {
    let text = message.told(wording);
    let text = if lines {
        shown_lines(&text)
    } else {
        shown(&text)
    };
    match text.char_indices().nth(LONGEST_PART) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

impl std::error::Error for Error {}

/// Renders the line of a text that holds the start of a span, with carets below it. Of a long line
/// only the part around the span is shown.
///
/// Widths are counted in characters, not bytes, so that the carets are below their letters.
fn caret(span: &TextSpan) -> String {
    let start = floor_boundary(&span.text, span.range.start);
    let end = floor_boundary(&span.text, span.range.end.max(start));
    let from = span.text[..start].rfind('\n').map_or(0, |p| p + 1);
    let to = span.text[start..]
        .find('\n')
        .map_or(span.text.len(), |p| start + p);
    // Before widths are taken: an escape is longer than its character, and a tab has no fixed
    // width.
    let clean = |text: &str| short(&text.replace('\t', " "), usize::MAX);
    let before = clean(&span.text[from..start]);
    let marked = clean(&span.text[start..end.min(to).max(start)]);
    let after = clean(&span.text[end.min(to).max(start)..to]);
    let cut = before.chars().count().saturating_sub(AROUND);
    let before: String = before.chars().skip(cut).collect();
    let line = short(&format!("{before}{marked}{after}"), 2 * AROUND);
    let lead = if cut > 0 { "…" } else { "" };
    let pad = before.chars().count() + lead.chars().count();
    let width = marked.chars().count().clamp(1, 2 * AROUND);
    format!(
        "    {lead}{line}\n    {}{}",
        " ".repeat(pad),
        "^".repeat(width)
    )
}

/// Characters that are shown before the place in a line, and half of those shown in all.
const AROUND: usize = 120;

/// Returns `at`, or the start of the character that it is inside of.
///
/// Spans of files come from byte positions, and slicing inside a character would panic.
fn floor_boundary(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_holds_no_control_character_and_no_endless_name() {
        let long = "x".repeat(100_000);
        let hostile = format!("a\u{1b}]0;t\u{7}{long}");
        let e = Error::input(format!("column '{hostile}' is not a number"))
            .at_place(format!("{hostile}, line 3"))
            .limit(hostile.clone())
            .remedy(crate::Opt::Columns.to(format!("{hostile},{hostile}")))
            .span(format!("one\n\tbad = {hostile}\nthree"), 6..9);
        let text = e.to_string();
        assert!(
            text.chars().all(|c| c == '\n' || !c.is_control()),
            "{text:?}"
        );
        assert!(
            text.len() < 4000 && text.contains("is not a number"),
            "{}",
            text.len()
        );
    }

    #[test]
    fn the_caret_stands_below_its_word() {
        let e = Error::request("odd").span("first\n\tx + yy\n", 11..13);
        assert_eq!(e.to_string(), "odd\n     x + yy\n         ^^");
    }
}
