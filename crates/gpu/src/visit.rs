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

use crate::visit_text::{LEAST_STAGED, STAGED, Share, Shared, THREADS, resident};
use zipfold_core::Precision;
use zipfold_product::cpu::shape::{Digit, Shape, offsets};

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
    /// Whether the threads of a thread block share the rows, in shared memory.
    pub staged: bool,
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
/// The same for rows in shared memory: a read of threads side by side, a row that lies there, an
/// entry that a thread puts there and each read that it takes, the start of a thread, and the cycles
/// of a step that reads wait.
const READ_BESIDE: f64 = 3.0;
const READ_ROWS: f64 = 0.5;
const FILL: f64 = 30.0;
const FILL_READ: f64 = 8.0;
const START_STAGED: f64 = 300.0;
const WAIT_STAGED: f64 = 15.0;
/// Measured times by those of the counts above, in single and in double precision: medians of five
/// and of three joins from 10⁸ operations on, on an H100.
const MEASURED_STAGED: [f64; 2] = [0.85, 0.6];
/// Bytes of a tile with rows in shared memory at most. Of five tiles of 16 to 64 entries, 16 × 2 or
/// 8 × 2 were the fastest for each of ten buckets in single precision, 8 × 2 for nine of ten in double
/// precision (`bench/join_kernels.py` on an H100): larger ones leave few thread blocks.
const MOST_HELD: usize = 128;
/// The part of a turn of all thread blocks that goes by while the last ones work.
const LAST: f64 = 0.3;
/// Most configurations of the digits that are neither rows nor columns, which the host lists.
const MOST_OTHERS: usize = 1 << 17;
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
        staged: false,
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
        let plain = (
            Visit::PLAIN,
            Visit::PLAIN.cost(shape, precision, units, parts),
        );
        if plain.1 < WORTH * units as f64 {
            return plain;
        }
        let tiles = Visit::candidates(shape, precision).into_iter();
        let costs = tiles.map(|tile| (tile, tile.cost(shape, precision, units, parts)));
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
            let held = |tall: usize, wide: usize| tall * wide * precision.bytes();
            let staged = STAGED.into_iter();
            let staged = staged.filter(|(tall, wide)| {
                rows != 0 && columns != 0 && held(*tall, *wide) <= MOST_HELD
            });
            let both = tiles
                .map(|tile| (tile, false))
                .chain(staged.map(|tile| (tile, true)));
            all.extend(both.map(|((tall, wide), staged)| Visit {
                tall,
                wide,
                staged,
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
        precision: Precision,
        units: usize,
        parts: &dyn Fn(usize) -> usize,
    ) -> f64 {
        let bytes = precision.bytes();
        let divided = self.divide(shape);
        let [rows, columns] = [&divided.rows, &divided.columns].map(|d| lines(d));
        if rows.max(columns) > MOST_LINES {
            return f64::INFINITY;
        }
        if self.staged && !self.is_stageable(&divided) {
            return f64::INFINITY;
        }
        let threads = self.threads(&divided);
        let summed = shape.digits.iter().filter(|d| d.summed);
        let depth: f64 = summed.map(|d| d.card as f64).product();
        let blocks = self.blocks(shape, precision, units);
        let many = parts(blocks);
        let thread = self.start(shape, &divided, bytes);
        let step = self.step(shape, &divided, bytes);
        let all = threads as f64 * (step * depth + thread * many as f64);
        if self.staged {
            // The last thread blocks leave multiprocessors without work.
            let counts = self.counts(shape.inputs);
            let room = units * resident(counts, (self.tall, self.wide), precision);
            let measured = match precision {
                Precision::F32 => MEASURED_STAGED[0],
                Precision::F64 => MEASURED_STAGED[1],
            };
            return all * measured * (1.0 + LAST * room as f64 / (blocks * many) as f64);
        }
        let busy = (threads * many) as f64 / (units * BUSY) as f64;
        all / busy.min(1.0)
    }
    /// Instructions of a thread before and after its steps.
    fn start(self, shape: &Shape, divided: &Divided<'_>, bytes: usize) -> f64 {
        let (tall, wide) = (self.tall as f64, self.wide as f64);
        let stored = 2.0 * self.sectors(divided, bytes, &|d| d.out);
        let start = if self.staged { START_STAGED } else { START };
        start
            + DIVIDE * (divided.others.len() + 3) as f64
            + READ * (tall + wide) * (shape.inputs + 1) as f64
            + (READ + stored) * tall * wide
    }
    /// Instructions of a thread for one configuration of the folded digits, or those that it waits.
    fn step(self, shape: &Shape, divided: &Divided<'_>, bytes: usize) -> f64 {
        let [once, by_row, by_column, both] = self.counts(shape.inputs).map(|n| n as f64);
        let (tall, wide) = (self.tall as f64, self.wide as f64);
        if self.staged {
            return self.step_staged(shape, divided, bytes);
        }
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
    /// Instructions for which the threads of a multiprocessor wait together while each has this many
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
    /// The same where rows lie in shared memory, with what it takes to put them there.
    fn step_staged(self, shape: &Shape, divided: &Divided<'_>, bytes: usize) -> f64 {
        let [once, by_row, by_column, both] = self.counts(shape.inputs).map(|n| n as f64);
        let (tall, wide) = (self.tall as f64, self.wide as f64);
        let read = |f| match self.role(f) {
            Role::Once | Role::Rows => 0.0,
            Role::Columns => wide,
            Role::Both => tall * wide,
        };
        let reads: f64 = (0..shape.inputs).map(read).sum();
        let entries = self.filled(divided) * tall / THREADS as f64;
        let filled = entries * (FILL + FILL_READ * (once + by_row));
        let issued = reads * READ_BESIDE
            + PLACE * (by_column + both)
            + READ_ROWS * tall
            + wide * by_column
            + tall * wide * (1.0 + both);
        let touched = |f| read(f) * self.sectors(divided, bytes, &|d| d.strides[f]);
        let fetched = (0..shape.inputs).map(touched).sum::<f64>() + READ_ROWS * tall;
        issued.max(fetched).max(WAIT_STAGED) + filled
    }
    /// Configurations of the digits that are neither whose rows a thread block puts in shared memory.
    fn filled(self, divided: &Divided<'_>) -> f64 {
        let [_, wide, others] = self.tiles(divided);
        (THREADS as f64 / wide as f64 + 1.0).min(others as f64)
    }
    /// How many threads apart the next row, column and configuration of the other digits are:
    /// threads side by side take what lies side by side in the result.
    fn apart(self, divided: &Divided<'_>) -> [usize; 3] {
        let runs = |digits: &[&Digit]| digits.iter().any(|d| d.out == 1);
        let [tall, wide, others] = self.tiles(divided);
        if self.staged {
            // Its rows are another thread block's.
            return [usize::MAX, 1, wide];
        }
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
    /// Whether rows in shared memory have room there, and their places on the host.
    fn is_stageable(self, divided: &Divided<'_>) -> bool {
        let [_, column_tiles, others] = self.tiles(divided);
        column_tiles >= LEAST_STAGED && others <= MOST_OTHERS
    }
    /// The same for a piece of a join: entries have the same bits, from shared memory or not.
    pub(crate) fn for_piece(self, shape: &Shape) -> Self {
        Visit {
            staged: self.staged && self.is_stageable(&self.divide(shape)),
            ..self
        }
    }
    /// How thread blocks share the join where rows lie in shared memory.
    fn shared(self, shape: &Shape, precision: Precision, units: usize) -> Shared {
        let summed = shape.digits.iter().filter(|d| d.summed);
        let share = Share {
            tiles: self.tiles(&self.divide(shape)),
            tall: self.tall,
            depth: summed.map(|d| d.card).product(),
        };
        share.out(precision, units)
    }
    /// Thread blocks of one part.
    pub(crate) fn blocks(self, shape: &Shape, precision: Precision, units: usize) -> usize {
        match self.staged {
            true => self.shared(shape, precision, units).blocks,
            false => self.threads(&self.divide(shape)).div_ceil(THREADS),
        }
    }
    /// The kernel's list of sizes, with `range` configurations of the folded digits for a part.
    pub(crate) fn sizes(
        self,
        shape: &Shape,
        depth: usize,
        range: usize,
        (precision, units): (Precision, usize),
    ) -> Vec<usize> {
        let divided = self.divide(shape);
        let [rows, columns] = [&divided.rows, &divided.columns].map(|d| lines(d));
        let [tall, wide, others] = self.tiles(&divided);
        let [row, column, other] = self.apart(&divided);
        let threads = self.threads(&divided);
        let mut sizes = vec![shape.out_len, depth, range, divided.others.len()];
        if self.staged {
            let shared = self.shared(shape, precision, units);
            sizes.extend([rows, columns, shared.rows, wide, wide * others]);
            sizes.extend([shared.piece, shared.turns]);
            return sizes;
        }
        sizes.extend([rows, columns, tall, wide]);
        sizes.extend([threads, column, row, other, others]);
        for digit in divided.others.iter().rev() {
            sizes.push(digit.card);
            sizes.extend(self.order(shape.inputs).iter().map(|f| digit.strides[*f]));
            sizes.push(digit.out);
        }
        sizes
    }
    /// The places of all rows, then of all columns, and of the digits that are neither where the
    /// kernel takes them so: in every table as the kernel takes them, and in the result.
    pub(crate) fn lines(self, shape: &Shape) -> Vec<usize> {
        let divided = self.divide(shape);
        let mut all = Vec::new();
        let others = self.staged.then_some(&divided.others);
        for digits in [&divided.rows, &divided.columns].into_iter().chain(others) {
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
