//! Joins of any number of tables by tiles in registers: which digits of the result are rows and
//! columns of a tile, and the kernel for them.
//!
//! ```text
//! choose (host):  sets = the sets of tables that digits of the result have
//!     for each two of them as rows and columns, for each size of tile that fits the registers
//!         rows, columns = the fastest digits whose tables are all in the set
//!         cost = instructions, or waits for reads, or sectors fetched, of all threads
//!     the cheapest; a thread for each entry if that is small
//! kernel (kernels/visit.c):
//!     each thread: one tile of rows × columns, one configuration of the other digits
//!         for each configuration of the folded digits
//!             once = product of the tables without rows and columns            one read each
//!             x[i] = once · tables by rows;  y[j] = tables by columns          read for each line
//!             total[i][j] ⊕= x[i] · y[j] · tables by both                      read for each entry
//!         store the tile
//! ```
//!
//! A thread that computes one entry reads every table for each configuration of the folded digits,
//! and reads take four times as long as multiplications. A tile of rows and columns reads a table
//! without columns once for a whole row, and a table without either once for the whole tile.
//! Functions of random buckets, and tables of networks, mostly lack most digits of the result.

use std::ops::Range;
use zipfold_core::Precision;
use zipfold_product::cpu::shape::{Digit, MOST_INPUTS, Shape, offsets};

/// What a table depends on within a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Role {
    /// Neither rows nor columns: read once for a tile.
    Once,
    /// Rows alone.
    Rows,
    /// Columns alone.
    Columns,
    /// Both: read for every entry.
    Both,
}

/// A tile of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Visit {
    /// Rows of a thread.
    pub tall: usize,
    /// Columns of a thread.
    pub wide: usize,
    /// The tables that may have a digit of the rows, a bit each. A digit is one of the rows if all
    /// tables that have it are among them.
    rows: u8,
    /// The same for the columns, which come first.
    columns: u8,
}

/// Digits by what they are in a tile, slowest first.
struct Divided<'s> {
    rows: Vec<&'s Digit>,
    columns: Vec<&'s Digit>,
    others: Vec<&'s Digit>,
}

/// Threads of a thread block.
pub(crate) const THREADS: usize = 256;
/// Tiles by rows and columns. Double precision, and a table that is read for every entry, halve what
/// fits the registers of two thread blocks.
const TILES: [(usize, usize); 8] = [
    (1, 1),
    (1, 4),
    (4, 1),
    (2, 4),
    (4, 4),
    (8, 2),
    (2, 8),
    (4, 8),
];
/// Instructions that a read takes the time of: four for the number, one for its place.
const READ: f64 = 5.0;
/// The same for a place of the list, which all threads of a warp read together.
const PLACE: f64 = 2.0;
/// Instructions to divide the number of a thread into a digit.
const DIVIDE: f64 = 40.0;
/// Instructions of a thread that are always there.
const START: f64 = 100.0;
/// Cycles of a step that reads wait for the caches, and those of each read more: set to fit tiles of
/// 1 to 32 entries on an H100.
const WAIT: f64 = 50.0;
const WAIT_READ: f64 = 70.0;
/// Instructions of a multiprocessor from which a tile is sought, 10 µs of a large device: a kernel
/// for its own roles takes longer to compile than smaller joins take.
const WORTH: f64 = 2e6;
/// Rows or columns beyond which no further digit is taken.
const LINES: usize = 128;
/// Most rows or columns, whose places the host lists.
const MOST_LINES: usize = 1 << 16;
/// Threads that run in step.
const WARP: usize = 32;
/// Bytes that the cache gives at once.
const SECTOR: usize = 32;
/// Threads of a multiprocessor that keep it at work.
const BUSY: usize = 512;

/// The tables that have a digit, a bit each.
fn tables_of(digit: &Digit) -> u8 {
    let held = digit.strides.iter().enumerate().filter(|(_, s)| **s > 0);
    held.map(|(f, _)| 1 << f).sum()
}

impl Visit {
    /// A thread for each entry.
    pub(crate) const PLAIN: Visit = Visit {
        tall: 1,
        wide: 1,
        rows: 0,
        columns: 0,
    };
    /// The tile that is predicted to take the least time on `units` multiprocessors, and its
    /// instructions. `parts` says how many parts the folded digits have for so many thread blocks.
    pub(crate) fn new(
        shape: &Shape,
        precision: Precision,
        units: usize,
        parts: &dyn Fn(usize) -> usize,
    ) -> (Self, f64) {
        let bytes = precision.bytes();
        let plain = (Visit::PLAIN, Visit::PLAIN.cost(shape, bytes, units, parts));
        if plain.1 < WORTH * units as f64 {
            return plain;
        }
        let tiles = Visit::candidates(shape, precision).into_iter();
        let costs = tiles.map(|tile| (tile, tile.cost(shape, bytes, units, parts)));
        costs.fold(
            plain,
            |best, next| if next.1 < best.1 { next } else { best },
        )
    }
    /// All tiles whose rows and columns are digits that the same tables have.
    fn candidates(shape: &Shape, precision: Precision) -> Vec<Self> {
        let mut sets: Vec<u8> = shape.kept().map(tables_of).chain([0]).collect();
        sets.sort_unstable();
        sets.dedup();
        let mut all = Vec::new();
        for (rows, columns) in sets
            .iter()
            .flat_map(|rows| sets.iter().map(move |columns| (*rows, *columns)))
            .filter(|(rows, columns)| rows != columns)
        {
            let most = match (rows & columns, precision) {
                (0, Precision::F32) => 32,
                (0, Precision::F64) | (_, Precision::F32) => 16,
                (_, Precision::F64) => 8,
            };
            let fits = |tall: usize, wide: usize| {
                (tall == 1) == (rows == 0) && (wide == 1) == (columns == 0) && tall * wide <= most
            };
            let tiles = TILES.into_iter().filter(|(tall, wide)| fits(*tall, *wide));
            all.extend(tiles.map(|(tall, wide)| Visit {
                tall,
                wide,
                rows,
                columns,
            }));
        }
        all
    }
    /// What table `f` depends on.
    fn role(self, f: usize) -> Role {
        match ((self.rows >> f) & 1, (self.columns >> f) & 1) {
            (0, 0) => Role::Once,
            (1, 0) => Role::Rows,
            (0, _) => Role::Columns,
            (_, _) => Role::Both,
        }
    }
    /// How many tables have each role.
    pub(crate) fn counts(self, tables: usize) -> [usize; 4] {
        let mut counts = [0; 4];
        (0..tables).for_each(|f| counts[self.role(f) as usize] += 1);
        counts
    }
    /// The tables by role, as the kernel takes them.
    pub(crate) fn order(self, tables: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..tables).collect();
        order.sort_by_key(|f| self.role(*f));
        order
    }
    /// Divides the kept digits. Rows and columns take their fastest digits up to some [`LINES`]:
    /// the lists of their places stay short.
    fn divide(self, shape: &Shape) -> Divided<'_> {
        let mut out = Divided {
            rows: Vec::new(),
            columns: Vec::new(),
            others: Vec::new(),
        };
        let kept: Vec<&Digit> = shape.kept().collect();
        let (mut tall, mut wide) = (1, 1);
        for digit in kept.into_iter().rev() {
            let own = tables_of(digit);
            let among = |set: u8| own & set == own && own != 0;
            if among(self.columns) && wide < LINES {
                wide *= digit.card;
                out.columns.push(digit);
            } else if among(self.rows) && !among(self.columns) && tall < LINES {
                tall *= digit.card;
                out.rows.push(digit);
            } else {
                out.others.push(digit);
            }
        }
        [&mut out.rows, &mut out.columns, &mut out.others]
            .into_iter()
            .for_each(|digits| digits.reverse());
        out
    }
    /// Instructions of all threads, as if so many threads as a device needs were always there.
    fn cost(
        self,
        shape: &Shape,
        bytes: usize,
        units: usize,
        parts: &dyn Fn(usize) -> usize,
    ) -> f64 {
        let divided = self.divide(shape);
        let [rows, columns] = [&divided.rows, &divided.columns].map(|d| lines(d));
        if rows.max(columns) > MOST_LINES {
            return f64::INFINITY;
        }
        let threads = self.threads(&divided);
        let summed = shape.digits.iter().filter(|d| d.summed);
        let depth: f64 = summed.map(|d| d.card as f64).product();
        let many = parts(threads.div_ceil(THREADS));
        let (tall, wide) = (self.tall as f64, self.wide as f64);
        let stored = 2.0 * self.sectors(&divided, bytes, &|d| d.out);
        let thread = START
            + DIVIDE * (divided.others.len() + 3) as f64
            + READ * (tall + wide) * (shape.inputs + 1) as f64
            + (READ + stored) * tall * wide;
        let step = self.step(shape, &divided, bytes);
        let all = threads as f64 * (step * depth + thread * many as f64);
        let busy = (threads * many) as f64 / (units * BUSY) as f64;
        all / busy.min(1.0)
    }
    /// Instructions of a thread for one configuration of the folded digits, or those that it waits.
    fn step(self, shape: &Shape, divided: &Divided<'_>, bytes: usize) -> f64 {
        let [once, by_row, by_column, both] = self.counts(shape.inputs).map(|n| n as f64);
        let (tall, wide) = (self.tall as f64, self.wide as f64);
        let many = |f| match self.role(f) {
            Role::Once => 1.0,
            Role::Rows => tall,
            Role::Columns => wide,
            Role::Both => tall * wide,
        };
        let reads: f64 = (0..shape.inputs).map(many).sum();
        let products = tall * (by_row + once.min(1.0)) + wide * by_column;
        let issued =
            shape.inputs as f64 * PLACE + reads * READ + products + tall * wide * (1.0 + both);
        let touched = |f| many(f) * self.sectors(divided, bytes, &|d| d.strides[f]);
        let fetched: f64 = (0..shape.inputs).map(touched).sum();
        issued.max(self.waiting(reads)).max(fetched)
    }
    /// Instructions for which the threads of a multiprocessor wait together while each has so many
    /// `reads` on their way: fewer threads of large tiles fit.
    fn waiting(self, reads: f64) -> f64 {
        let warps = match self.tall * self.wide {
            0..=2 => 64.0,
            3..=8 => 32.0,
            9..=16 => 24.0,
            _ => 16.0,
        };
        (WAIT + WAIT_READ * reads) * 4.0 / warps
    }
    /// Tiles along the rows and along the columns, and configurations of the other digits.
    fn tiles(self, divided: &Divided<'_>) -> [usize; 3] {
        [
            lines(&divided.rows).div_ceil(self.tall),
            lines(&divided.columns).div_ceil(self.wide),
            lines(&divided.others),
        ]
    }
    /// How many threads apart the next row, column and configuration of the other digits are:
    /// threads side by side take what lies side by side in the result.
    fn apart(self, divided: &Divided<'_>) -> [usize; 3] {
        let runs = |digits: &[&Digit]| digits.iter().any(|d| d.out == 1);
        let [tall, wide, others] = self.tiles(divided);
        if runs(&divided.others) {
            [others * wide, others, 1]
        } else if runs(&divided.rows) {
            [1, tall, tall * wide]
        } else {
            [wide, 1, wide * tall]
        }
    }
    /// Pieces of [`SECTOR`] bytes that a warp touches when each of its threads takes its first
    /// number of a table, or of the result, with these strides.
    fn sectors(self, divided: &Divided<'_>, bytes: usize, stride: &dyn Fn(&Digit) -> usize) -> f64 {
        let [row, column, other] = self.apart(divided);
        let [tall, wide, _] = self.tiles(divided);
        let place = |digits: &[&Digit], mut line: usize| {
            let mut place = 0;
            for digit in digits.iter().rev() {
                place += line % digit.card * stride(digit);
                line /= digit.card;
            }
            place
        };
        let mut touched = [0; WARP];
        for (thread, touched) in touched.iter_mut().enumerate() {
            let at = place(&divided.rows, thread / row % tall)
                + place(&divided.columns, thread / column % wide)
                + place(&divided.others, thread / other);
            *touched = at * bytes / SECTOR;
        }
        touched.sort_unstable();
        1.0 + touched.windows(2).filter(|w| w[0] != w[1]).count() as f64
    }
    fn threads(self, divided: &Divided<'_>) -> usize {
        self.tiles(divided).into_iter().product()
    }
    /// Thread blocks of one part.
    pub(crate) fn blocks(self, shape: &Shape) -> usize {
        self.threads(&self.divide(shape)).div_ceil(THREADS)
    }
    /// The kernel's list of sizes, with `range` configurations of the folded digits for a part.
    pub(crate) fn sizes(self, shape: &Shape, depth: usize, range: usize) -> Vec<usize> {
        let divided = self.divide(shape);
        let [rows, columns] = [&divided.rows, &divided.columns].map(|d| lines(d));
        let [tall, wide, others] = self.tiles(&divided);
        let [row, column, other] = self.apart(&divided);
        let threads = self.threads(&divided);
        let mut sizes = vec![shape.out_len, depth, range, divided.others.len()];
        sizes.extend([
            rows, columns, tall, wide, threads, column, row, other, others,
        ]);
        for digit in divided.others.iter().rev() {
            sizes.push(digit.card);
            sizes.extend(self.order(shape.inputs).iter().map(|f| digit.strides[*f]));
            sizes.push(digit.out);
        }
        sizes
    }
    /// The places of all rows, then of all columns: in every table as the kernel takes them, and in
    /// the result.
    pub(crate) fn lines(self, shape: &Shape) -> Vec<usize> {
        let divided = self.divide(shape);
        let mut all = Vec::new();
        for digits in [&divided.rows, &divided.columns] {
            let places = |stride: &dyn Fn(&Digit) -> usize| {
                let of_digit = |d: &&Digit| (d.card, stride(d));
                offsets(&digits.iter().map(of_digit).collect::<Vec<_>>())
            };
            let order = self.order(shape.inputs).into_iter();
            let tables = order.map(|f| places(&|d| d.strides[f]));
            let lists: Vec<Vec<usize>> = tables.chain([places(&|d| d.out)]).collect();
            all.extend((0..lines(digits)).flat_map(|line| lists.iter().map(move |l| l[line])));
        }
        all
    }
}

/// Configurations of `digits`.
fn lines(digits: &[&Digit]) -> usize {
    digits.iter().map(|d| d.card).product()
}

/// What fills the kernel for tables with `counts` of each role, `number` being their type.
pub(crate) fn filling(
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
    let fold = match (max, text.columns.is_empty()) {
        (false, true) => "total[i][j] + one",
        (false, false) => "fma(one, y[j], total[i][j])",
        (true, _) => "total[i][j] > one * y[j] ? total[i][j] : one * y[j]",
    };
    let advance = |f| format!("b{f} += value * digit[{}];", f + 1);
    vec![
        ("THREADS", THREADS.to_string()),
        ("TALL", tall.to_string()),
        ("WIDE", wide.to_string()),
        ("TABLES", text.both.end.to_string()),
        ("INPUTS", each(&|f| format!("ZF_IN({number}) t{f}"), ", ")),
        ("BASES", each(&|f| format!("b{f} = 0"), ", ")),
        ("ADVANCE", each(&advance, " ")),
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
        ("FOLD", fold.into()),
    ]
}

/// A text for each table.
fn each_of(tables: &Range<usize>, text: &dyn Fn(usize) -> String) -> String {
    tables.clone().map(text).collect::<Vec<_>>().join(" ")
}

/// A product; of nothing, 1.
fn product(factors: impl Iterator<Item = String>) -> String {
    let factors: Vec<String> = factors.collect();
    match factors.is_empty() {
        true => "1".into(),
        false => factors.join(" * "),
    }
}

/// The parts of the source. Tables are `t0`, `t1`, … by role; of table f, `bf` is where the other
/// digits begin, `rf` and `cf` are where rows and columns do, `pf` where the next configuration of
/// the folded digits does, and `nf` are its numbers.
struct VisitText<'t> {
    once: Range<usize>,
    rows: Range<usize>,
    columns: Range<usize>,
    both: Range<usize>,
    tall: usize,
    wide: usize,
    number: &'t str,
}

impl<'t> VisitText<'t> {
    fn new(counts: [usize; 4], (tall, wide): (usize, usize), number: &'t str) -> Self {
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
