//! Joins of any number of tables by tiles in registers: which digits of the result are rows and
//! columns of a tile, and the kernel for them.
//!
//! ```text
//! choose (host):  sets = the sets of tables that digits of the result have
//!     for each two of them as rows and columns, for each size of tile that fits the registers
//!         rows, columns = the fastest digits whose tables are all in the set
//!         seconds by what the kernel does for the join                      counts.rs, model.rs
//!     the fastest; a thread for each entry if that is fast                   choice.rs
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

use crate::visit_text::{LEAST_STAGED, STAGED, Share, Shared, THREADS};
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
pub(crate) struct Divided<'s> {
    pub rows: Vec<&'s Digit>,
    pub columns: Vec<&'s Digit>,
    pub others: Vec<&'s Digit>,
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
/// Bytes of a tile with rows in shared memory at most. Of five tiles of 16 to 64 entries, 16 × 2 or
/// 8 × 2 were the fastest for each of ten buckets in single precision, 8 × 2 for nine of ten in double
/// precision (`bench/join_kernels.py` on an H100): larger ones leave few thread blocks.
const MOST_HELD: usize = 128;
/// Most configurations of the digits that are neither rows nor columns, which the host lists.
const MOST_OTHERS: usize = 1 << 17;
/// Rows or columns beyond which no further digit is taken.
const LINES: usize = 128;
/// Most rows or columns, whose places the host lists.
const MOST_LINES: usize = 1 << 16;
/// The tables that have a digit, a bit each.
fn tables_of(digit: &Digit) -> u8 {
    let held = digit.strides.iter().enumerate().filter(|(_, s)| **s > 0);
    held.map(|(f, _)| 1 << f).sum()
}

impl std::fmt::Display for Visit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let form = if self.staged { "staged" } else { "alone" };
        let (tall, wide, rows, columns) = (self.tall, self.wide, self.rows, self.columns);
        write!(f, "{form} {tall}x{wide} of {rows}x{columns}")
    }
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
    /// All tiles for `shape`, the one of a single entry first.
    pub(crate) fn all(shape: &Shape, precision: Precision) -> Vec<Self> {
        let mut all = Visit::candidates(shape, precision);
        all.retain(|tile| tile.takes(shape));
        all.insert(0, Visit::PLAIN);
        all
    }
    /// Whether the host lists the places of its rows and columns, and rows have room.
    fn takes(self, shape: &Shape) -> bool {
        let divided = self.divide(shape);
        let [rows, columns] = [&divided.rows, &divided.columns].map(|d| lines(d));
        rows.max(columns) <= MOST_LINES && (!self.staged || self.is_stageable(&divided))
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
    pub(crate) fn role(self, f: usize) -> Role {
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
    pub(crate) fn divide(self, shape: &Shape) -> Divided<'_> {
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
    /// Tiles along the rows and along the columns, and configurations of the other digits.
    pub(crate) fn tiles(self, divided: &Divided<'_>) -> [usize; 3] {
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
    pub(crate) fn shared(self, shape: &Shape, precision: Precision, units: usize) -> Shared {
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
