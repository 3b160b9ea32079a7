//! What a person sees on a terminal: colours, aligned tables cut to the window, histograms as bars
//! of blocks.

use crate::flags;
use std::io::{IsTerminal, Write};
use zipfold::internals::core::figures;
use zipfold::internals::core::shown::{shown, shown_lines};
use zipfold::{Error, Message, Result};

/// Rows of a table that a terminal is shown, unless its window has more.
const ROWS: usize = 20;

/// Whether people read standard output.
pub(crate) fn is_read() -> bool {
    std::io::stdout().is_terminal()
}

/// Columns of the window.
fn width() -> usize {
    terminal_size::terminal_size()
        .map_or(80, |(w, _)| usize::from(w.0))
        .clamp(40, 400)
}

/// Rows of a table that the window has room for.
pub(crate) fn rows() -> usize {
    terminal_size::terminal_size()
        .map_or(ROWS, |(_, h)| usize::from(h.0).saturating_sub(6))
        .clamp(10, 60)
}

/// Rows and columns of text for a table.
pub(crate) fn window() -> (usize, usize) {
    (rows(), width())
}

/// Whether standard error takes colours: a terminal, and neither `NO_COLOR` nor `TERM=dumb`.
fn is_coloured() -> bool {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty())
        || std::env::var_os("TERM").is_some_and(|v| v == "dumb");
    std::io::stderr().is_terminal() && !plain
}

/// The message of an error, its heading and its remedy coloured as those about the command line
/// are.
pub(crate) fn error(error: &Error) {
    let text = error.told(flags::words);
    say(&painted("error:", &text, is_coloured()));
}

/// A warning, coloured alike.
pub(crate) fn warning(message: &Message) {
    let head = if is_coloured() {
        "\u{1b}[1m\u{1b}[33mwarning:\u{1b}[0m"
    } else {
        "warning:"
    };
    say(&format!(
        "{head} {}",
        shown_lines(&message.told(flags::words))
    ));
}

fn painted(head: &str, text: &str, coloured: bool) -> String {
    if !coloured {
        return format!("{head} {text}");
    }
    let lines = text.lines().map(|line| match line.strip_prefix("  try: ") {
        Some(remedy) => format!("  \u{1b}[1m\u{1b}[32mtry:\u{1b}[0m {remedy}"),
        None if !line.is_empty() && line.trim_start().chars().all(|c| c == '^') => {
            format!("\u{1b}[1m\u{1b}[31m{line}\u{1b}[0m")
        }
        None => line.to_string(),
    });
    let body: Vec<String> = lines.collect();
    format!("\u{1b}[1m\u{1b}[31m{head}\u{1b}[0m {}", body.join("\n"))
}

/// A line on standard output; a closed pipe is success.
pub(crate) fn print_line(text: &str) -> Result<()> {
    print(&format!("{text}\n"))
}

/// Text on standard output; a closed pipe is success.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::resource(format!("standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// A line on standard error, where it can be written.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Says where an answer went; `-` is standard output.
pub(crate) fn say_written(output: &str) {
    let place = match output {
        "-" => "standard output".into(),
        file => shown(file),
    };
    say(&format!("wrote {place}"));
}

/// A table with a heading. Cells are made on demand, so that a table of millions of rows costs what
/// is shown of it.
pub(crate) struct Table<'a> {
    /// Headings of the columns.
    pub head: Vec<String>,
    /// Number of rows.
    pub rows: usize,
    /// The cell of a row and a column.
    pub cell: &'a dyn Fn(usize, usize) -> String,
    /// Columns of words, to the left; numbers stand to the right.
    pub words: &'a [usize],
}

impl Table<'_> {
    /// The table within `most` rows and `width` columns of text, with a line for what was cut.
    pub(crate) fn text(&self, most: usize, width: usize) -> String {
        let shown = if self.rows > most {
            most.saturating_sub(1).max(1)
        } else {
            self.rows
        };
        let mut cells: Vec<Vec<String>> = vec![self.head.clone()];
        // Columns far beyond the window are not asked for.
        let columns = self.head.len().min(width);
        cells[0].truncate(columns);
        cells.extend((0..shown).map(|r| (0..columns).map(|c| (self.cell)(r, c)).collect()));
        let widths: Vec<usize> = (0..columns)
            .map(|c| widest(cells.iter().map(|row| &row[c])).min(40))
            .collect();
        let fit = fitting(&widths, width);
        let mut lines: Vec<String> = cells
            .iter()
            .map(|row| self.line(&row[..fit], &widths))
            .collect();
        let cuts: Vec<String> = [
            more(self.rows - shown, "row"),
            more(self.head.len() - fit, "column"),
        ]
        .into_iter()
        .flatten()
        .collect();
        if !cuts.is_empty() {
            lines.push(format!("… {}", cuts.join(" and ")));
        }
        lines.join("\n")
    }
    /// The cells of a row that fit, each as wide as its column.
    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line: Vec<String> = vec![];
        for (c, (cell, &wide)) in cells.iter().zip(widths).enumerate() {
            let cut = cut(cell, wide);
            line.push(if self.words.contains(&c) {
                format!("{cut:<wide$}")
            } else {
                format!("{cut:>wide$}")
            });
        }
        if cells.len() < self.head.len() {
            line.push("…".into());
        }
        line.join("  ").trim_end().to_string()
    }
    /// Prints the table within the window.
    pub(crate) fn print(&self) -> Result<()> {
        print_line(&self.text(rows(), width()))
    }
}

/// Letters of the longest of some cells.
fn widest<'a>(cells: impl Iterator<Item = &'a String>) -> usize {
    cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
}

/// How many columns fit the window, at least one; all but the last leave room for a mark of what was
/// cut.
fn fitting(widths: &[usize], width: usize) -> usize {
    let mut fit = 0;
    let mut used = 0;
    while fit < widths.len() && (fit == 0 || used + widths[fit] + 2 <= width.saturating_sub(3)) {
        used += widths[fit] + 2;
        fit += 1;
    }
    if fit + 1 == widths.len() && used + widths[fit] + 2 <= width {
        fit += 1;
    }
    fit
}

/// Says how many rows or columns were cut, if any were.
fn more(n: usize, what: &str) -> Option<String> {
    let many = if n == 1 { "" } else { "s" };
    (n > 0).then(|| format!("{} more {what}{many}", figures::grouped(n as u64)))
}

/// At most `width` letters of `cell`.
fn cut(cell: &str, width: usize) -> String {
    if cell.chars().count() <= width {
        return cell.to_string();
    }
    cell.chars()
        .take(width.saturating_sub(1))
        .chain(['…'])
        .collect()
}

/// Bins of a histogram as lines with bars; neighbouring bins share a line where there are more than
/// `most`.
pub(crate) fn bars(lo: &[f64], hi: &[f64], counts: &[u64], most: usize, width: usize) -> String {
    let together = counts.len().div_ceil(most.max(1)).max(1);
    let groups = counts.len().div_ceil(together);
    let span = |g: usize| g * together..((g + 1) * together).min(counts.len());
    let sums: Vec<u64> = (0..groups).map(|g| counts[span(g)].iter().sum()).collect();
    let top = sums.iter().copied().max().unwrap_or(0).max(1);
    let texts: Vec<[String; 3]> = (0..groups)
        .map(|g| {
            let [lo, hi] = [lo[span(g).start], hi[span(g).end - 1]].map(figures::value);
            [lo, hi, figures::grouped(sums[g])]
        })
        .collect();
    let wide = |c: usize, head: &str| widest(texts.iter().map(|t| &t[c])).max(head.len());
    let [a, b, c] = [wide(0, "from"), wide(1, "to"), wide(2, "pairs")];
    let room = width.saturating_sub(a + b + c + 8).max(8);
    let mut lines = vec![format!("{:>a$}  {:>b$}  {:>c$}", "from", "to", "pairs")];
    for (text, sum) in texts.iter().zip(&sums) {
        let [lo, hi, pairs] = text;
        let bar = bar(*sum, top, room);
        let line = format!("{lo:>a$}  {hi:>b$}  {pairs:>c$}  {bar}");
        lines.push(line.trim_end().to_string());
    }
    if together > 1 {
        lines.push(format!(
            "{together} bins a line; -o FILE keeps all {}",
            counts.len()
        ));
    }
    lines.join("\n")
}

/// Prints the bins of a histogram within the window.
pub(crate) fn print_bars(lo: &[f64], hi: &[f64], counts: &[u64]) -> Result<()> {
    print_line(&bars(lo, hi, counts, rows().max(34), width()))
}

/// A bar of eighths of a block; what is not zero has a mark.
fn bar(value: u64, top: u64, room: usize) -> String {
    const PARTS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
    if value == 0 {
        return String::new();
    }
    let eighths = ((value as f64 / top as f64 * (8 * room) as f64).round() as usize).max(1);
    let mut out = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        out.push(PARTS[eighths % 8 - 1]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned_and_cut() {
        let cell = |r: usize, c: usize| {
            if c == 0 {
                format!("row{r}")
            } else {
                (r * 100).to_string()
            }
        };
        let table = Table {
            head: vec!["name".into(), "value".into()],
            rows: 1775,
            cell: &cell,
            words: &[0],
        };
        let text = table.text(6, 80);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "name  value",
                "row0      0",
                "row1    100",
                "row2    200",
                "row3    300",
                "row4    400",
                "… 1 770 more rows"
            ]
        );
        let whole = Table { rows: 2, ..table };
        assert_eq!(whole.text(6, 80).lines().count(), 3);
    }

    #[test]
    fn wide_tables_lose_columns_and_say_so() {
        let cell = |r: usize, c: usize| (r * c).to_string();
        let head = (0..500).map(|c| format!("column{c}")).collect();
        let text = Table {
            head,
            rows: 3,
            cell: &cell,
            words: &[],
        }
        .text(10, 60);
        assert!(text.lines().all(|l| l.chars().count() <= 60), "{text}");
        assert!(text.contains("more columns"), "{text}");
    }

    #[test]
    fn bars_keep_every_pair() {
        let lo: Vec<f64> = (0..100).map(f64::from).collect();
        let hi: Vec<f64> = (1..101).map(f64::from).collect();
        let counts: Vec<u64> = (0..100).collect();
        let text = bars(&lo, &hi, &counts, 34, 80);
        let sum: u64 = text
            .lines()
            .skip(1)
            .filter(|l| !l.contains("bins a line"))
            .map(|l| l.split_whitespace().nth(2).unwrap().parse::<u64>().unwrap())
            .sum();
        assert_eq!(sum, 4950, "{text}");
        assert!(text.ends_with("3 bins a line; -o FILE keeps all 100"));
    }

    #[test]
    fn colours_only_where_asked() {
        assert_eq!(
            painted("error:", "a\n  try: b", false),
            "error: a\n  try: b"
        );
        assert!(painted("error:", "a\n  try: b", true).contains("\u{1b}[32mtry:"));
    }
}
