//! The kernels of [`crate::visit`] as texts, and the room that rows in shared memory take.
//!
//! Threads of a thread block that share rows have products of all tables without columns there, and
//! take columns side by side: a thread reads four rows at once, and its columns with its neighbours.
//! A thread with a tile of its own reads a piece of 32 bytes for every number.

use crate::emit::type_name;
use std::ops::Range;
use zipfold_core::Precision;
use zipfold_product::cpu::shape::MOST_INPUTS;

/// Threads of a thread block.
pub(crate) const THREADS: usize = 256;
/// Rows and columns of a thread whose rows lie in shared memory.
pub(crate) const STAGED: [(usize, usize); 2] = [(8, 2), (16, 2)];
/// Bytes of the rows that lie in shared memory, and rows of a thread block.
const HELD: usize = 16 << 10;
const ROWS: usize = 128;
/// Thread blocks of a multiprocessor up to which a thread block takes few rows.
const SOME: usize = 16;
/// Configurations of the folded digits whose rows lie there at most.
const PIECE: usize = 64;
/// Fewest threads side by side along the columns: those of a thread block are then within
/// [`SPANNED`] configurations of the digits that are neither rows nor columns.
pub(crate) const LEAST_STAGED: usize = 8;
const SPANNED: usize = (THREADS - 1) / LEAST_STAGED + 2;

/// Threads of all tiles of rows and columns, as thread blocks share them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// Tiles of rows, of columns, and configurations of the digits that are neither.
    pub tiles: [usize; 3],
    /// Rows of a tile.
    pub tall: usize,
    /// Configurations of the folded digits.
    pub depth: usize,
}

/// How thread blocks with rows in shared memory share a join.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shared {
    /// Thread blocks side by side along the rows, and in all.
    pub rows: usize,
    pub blocks: usize,
    /// Tiles of rows of a thread block.
    pub turns: usize,
    /// Configurations of the folded digits whose rows lie in shared memory at a time.
    pub piece: usize,
}

impl Share {
    /// How thread blocks share the tiles on `units` multiprocessors: as many rows each as leave all
    /// at work, and lie in shared memory for all folded digits.
    pub(crate) fn out(self, precision: Precision, units: usize) -> Shared {
        let bytes = precision.bytes();
        let [row_tiles, column_tiles, others] = self.tiles;
        let spanned = ((THREADS - 1) / column_tiles + 2).min(SPANNED);
        let room = HELD / bytes / spanned - 16 / bytes;
        let piece = |turns: usize| (room / (turns * self.tall)).clamp(1, PIECE.min(self.depth));
        let along = (column_tiles * others).div_ceil(THREADS);
        let most = (along * row_tiles / (SOME * units)).min(ROWS / self.tall);
        let whole = |turns: &usize| piece(*turns) == self.depth;
        let turns = (2..=most.min(row_tiles)).rev().find(whole).unwrap_or(1);
        // The same for all thread blocks.
        let turns = row_tiles.div_ceil(row_tiles.div_ceil(turns));
        let rows = row_tiles.div_ceil(turns);
        Shared {
            rows,
            blocks: rows * along,
            turns,
            piece: piece(turns),
        }
    }
}

/// Thread blocks that a multiprocessor has room for, by the registers of `tile`.
pub(crate) fn resident(
    counts: [usize; 4],
    (tall, wide): (usize, usize),
    precision: Precision,
) -> usize {
    let [_, _, columns, both] = counts;
    match tall * wide * precision.bytes() / 64 {
        0 | 1 if columns < 2 && both == 0 => 4,
        2 if columns < 2 && both == 0 && precision == Precision::F32 && wide <= 2 => 4,
        0..=2 if both == 0 => 3,
        _ => 2,
    }
}

/// What fills the kernel `visit.c` for tables with `counts` of each role, `number` being their type.
pub(crate) fn alone(
    counts: [usize; 4],
    (tall, wide): (usize, usize),
    max: bool,
    number: &str,
) -> Vec<(&'static str, String)> {
    let text = VisitText::new(counts, (tall, wide), number);
    let each = |of: &dyn Fn(usize) -> String, between: &str| {
        let all = (0..text.both.end).map(of);
        all.collect::<Vec<_>>().join(between)
    };
    let own = vec![
        ("LINES", text.lines()),
        ("ROW_LINES", text.row_lines()),
        ("COLUMN_LINES", text.column_lines()),
        ("NEXT", text.next()),
        ("NEXT_PLACES", each(&|f| format!("p{f}"), ", ")),
        ("LOOK_UP", each(&|f| format!("p{f} = at[{f}];"), " ")),
        ("LOAD", text.load()),
        (
            "HERE",
            each_of(&text.both, &|f| format!("@INDEX@ h{f} = p{f};")),
        ),
        ("MOVE_ON", each_of(&text.both, &|f| format!("h{f} = p{f};"))),
        ("ONCE", text.once()),
        ("X", text.x()),
        (
            "Y",
            product(text.columns.clone().map(|f| format!("n{f}[j]"))),
        ),
        ("ONE", text.entry()),
        ("FOLD", text.fold(max).into()),
    ];
    own.into_iter().chain(text.common()).collect()
}

/// What fills the kernel `stripe.c` for tables with `counts` of each role.
pub(crate) fn staged(
    counts: [usize; 4],
    (tall, wide): (usize, usize),
    max: bool,
    precision: Precision,
) -> Vec<(&'static str, String)> {
    let text = VisitText::new(counts, (tall, wide), type_name(precision));
    let with_columns = text.columns.clone().chain(text.both.clone());
    let each = |of: &dyn Fn(usize) -> String| {
        let texts = with_columns.clone().map(of);
        texts.collect::<Vec<_>>().join(" ")
    };
    let without = text.once.clone().chain(text.rows.clone());
    let column = |f: usize| format!("t{f}[c{f}[j] + at[{f}]]");
    let row = |f: usize| format!("row_begins[(row0 + i) * {}u + {f}u]", text.both.end + 1);
    let both = text.both.clone();
    let both = both.map(|f| format!("t{f}[c{f}[j] + {} + at[{f}]]", row(f)));
    let blocks = resident(counts, (tall, wide), precision);
    let own = vec![
        ("BLOCKS", blocks.to_string()),
        ("ADD_OWN", each(&|f| format!("c{f}[j] += own[{f}];"))),
        ("LINES", each(&|f| format!("@INDEX@ c{f}[{wide}];"))),
        ("COLUMN_LINES", each(&|f| format!("c{f}[j] = at[{f}];"))),
        (
            "X",
            product(without.map(|f| format!("t{f}[here[{f}] + row[{f}] + at[{f}]]"))),
        ),
        ("Y", product(text.columns.clone().map(column))),
        (
            "ONE",
            product(std::iter::once("x[i]".to_string()).chain(both)),
        ),
        ("FOLD", text.fold(max).into()),
    ];
    let all = own.into_iter().chain(rooms(precision));
    all.chain(text.common()).collect()
}

/// The room in shared memory, and vectors of 16 bytes there.
fn rooms(precision: Precision) -> Vec<(&'static str, String)> {
    let [vector, places] = match precision {
        Precision::F32 => ["zf_f4", "xyzw"],
        Precision::F64 => ["zf_d2", "xy"],
    };
    let places = places.chars().enumerate();
    let spread = places.map(|(at, place)| format!("x[i + {at}u] = some.{place};"));
    let numbers = [
        ("QUAD", 16 / precision.bytes()),
        ("HELD", HELD / precision.bytes()),
        ("SPANNED", SPANNED),
        ("PIECE", PIECE),
        ("ROWS", ROWS),
    ];
    let numbers = numbers.map(|(name, number)| (name, number.to_string()));
    // Steps whose reads wait together, and those of what is left: measured on an H100, bits alike.
    let [ahead, rest, turns] = match precision {
        Precision::F32 => ["4", "3", "if (k < steps)"],
        Precision::F64 => ["8", "4", "for (; k < steps; k += 4u)"],
    };
    let texts = [
        ("AHEAD", ahead.into()),
        ("REST", rest.into()),
        ("REST_LOOP", turns.into()),
        ("VECTOR", vector.into()),
        ("SPREAD", spread.collect::<Vec<_>>().join(" ")),
    ];
    numbers.into_iter().chain(texts).collect()
}

/// A text for each table.
fn each_of(tables: &Range<usize>, text: &dyn Fn(usize) -> String) -> String {
    tables.clone().map(text).collect::<Vec<_>>().join(" ")
}

/// A product; of nothing, 1.
pub(crate) fn product(factors: impl Iterator<Item = String>) -> String {
    let factors: Vec<String> = factors.collect();
    match factors.is_empty() {
        true => "1".into(),
        false => factors.join(" * "),
    }
}

/// The parts of the source. Tables are `t0`, `t1`, … by role; of table f, `bf` is where the other
/// digits begin, `rf` and `cf` are where rows and columns do, `pf` where the next configuration of
/// the folded digits does, and `nf` are its numbers.
pub(crate) struct VisitText<'t> {
    pub once: Range<usize>,
    pub rows: Range<usize>,
    pub columns: Range<usize>,
    pub both: Range<usize>,
    tall: usize,
    wide: usize,
    number: &'t str,
}

impl<'t> VisitText<'t> {
    pub(crate) fn new(counts: [usize; 4], (tall, wide): (usize, usize), number: &'t str) -> Self {
        let mut end = 0;
        let [once, rows, columns, both] = counts.map(|count| {
            end += count;
            end - count..end
        });
        debug_assert!(end <= MOST_INPUTS);
        VisitText {
            once,
            rows,
            columns,
            both,
            tall,
            wide,
            number,
        }
    }
    /// The fold of `one * y[j]` into an entry.
    pub(crate) fn fold(&self, max: bool) -> &'static str {
        match (max, self.columns.is_empty()) {
            (false, true) => "total[i][j] + one",
            (false, false) => "fma(one, y[j], total[i][j])",
            (true, _) => "total[i][j] > one * y[j] ? total[i][j] : one * y[j]",
        }
    }
    /// What fills every kernel with tiles of a thread.
    pub(crate) fn common(&self) -> Vec<(&'static str, String)> {
        let (tables, number) = (self.both.end, self.number);
        let each = |of: &dyn Fn(usize) -> String, between: &str| {
            (0..tables).map(of).collect::<Vec<_>>().join(between)
        };
        let advance = |f| format!("b{f} += value * digit[{}];", f + 1);
        vec![
            ("THREADS", THREADS.to_string()),
            ("TALL", self.tall.to_string()),
            ("WIDE", self.wide.to_string()),
            ("TABLES", tables.to_string()),
            ("INPUTS", each(&|f| format!("ZF_IN({number}) t{f}"), ", ")),
            ("BASES", each(&|f| format!("b{f} = 0"), ", ")),
            ("ADVANCE", each(&advance, " ")),
        ]
    }
    fn lines(&self) -> String {
        let (tall, wide) = (self.tall, self.wide);
        let row = |f| format!("@INDEX@ r{f}[{tall}];");
        let column = |f| format!("@INDEX@ c{f}[{wide}];");
        [
            each_of(&self.rows, &row),
            each_of(&self.columns, &column),
            each_of(&self.both, &row),
            each_of(&self.both, &column),
        ]
        .join(" ")
    }
    fn row_lines(&self) -> String {
        let line = |f| format!("r{f}[i] = b{f} + at[{f}];");
        each_of(&self.rows, &line) + " " + &each_of(&self.both, &line)
    }
    fn column_lines(&self) -> String {
        let line = |f| format!("c{f}[j] = b{f} + at[{f}];");
        // Its rows have where the others begin.
        let both = |f| format!("c{f}[j] = at[{f}];");
        each_of(&self.columns, &line) + " " + &each_of(&self.both, &both)
    }
    fn next(&self) -> String {
        let (number, tall, wide) = (self.number, self.tall, self.wide);
        [
            each_of(&self.once, &|f| format!("{number} n{f};")),
            each_of(&self.rows, &|f| format!("{number} n{f}[{tall}];")),
            each_of(&self.columns, &|f| format!("{number} n{f}[{wide}];")),
        ]
        .join(" ")
    }
    fn load(&self) -> String {
        let along = |name: &'static str, at: &'static str, many: usize| {
            move |f: usize| {
                format!(
                    "ZF_UNROLL for (zf_u32 {at} = 0u; {at} < {many}u; {at}++) n{f}[{at}] = t{f}[{name}{f}[{at}] + p{f}];"
                )
            }
        };
        [
            each_of(&self.once, &|f| format!("n{f} = t{f}[b{f} + p{f}];")),
            each_of(&self.rows, &along("r", "i", self.tall)),
            each_of(&self.columns, &along("c", "j", self.wide)),
        ]
        .join(" ")
    }
    fn once(&self) -> String {
        match self.once.is_empty() {
            true => String::new(),
            false => {
                let factors = self.once.clone().map(|f| format!("n{f}"));
                format!("const {} once = {};", self.number, product(factors))
            }
        }
    }
    fn x(&self) -> String {
        let once = (!self.once.is_empty()).then(|| "once".to_string());
        let rows = self.rows.clone().map(|f| format!("n{f}[i]"));
        product(once.into_iter().chain(rows))
    }
    fn entry(&self) -> String {
        let both = self.both.clone();
        let both = both.map(|f| format!("t{f}[r{f}[i] + c{f}[j] + h{f}]"));
        product(std::iter::once("x[i]".to_string()).chain(both))
    }
}
