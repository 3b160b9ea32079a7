//! Seconds of a join's kernel from what was counted: one model for all kernels.
//!
//! ```text
//! seconds = start of the kernel
//!         + (issued^P + lines^P + cached^P + moved^P + waits^P)^(1/P), and more for the last wave
//! issued: instructions of all warps                 lines: lines and vectors of the nearest caches
//! cached: sectors from the shared cache             moved: bytes to and from memory
//! waits:  rounds of reads, one wave of thread blocks after another
//! ```
//!
//! The constants were fitted to an earlier run of the joins of
//! `bench/records/h100/2026-11-26-kernels.jsonl`, on another machine, near-best kernels with the most
//! weight; `tests/kernels.rs` holds the model against the rows of the record.

use crate::counts::Counts;
use crate::form::JoinForm;
use zipfold_core::Precision;

/// Cycles a second that the model counts in.
pub(crate) const CYCLES: f64 = 1.8e9;
/// Multiprocessors of the device of the record.
const UNITS: f64 = 132.0;

/// What differs by form: instructions of a number read, of the start of a warp, and of a number put
/// in shared memory; cycles of a round at the start, of one for shared memory, and of one of a step.
struct Rates {
    read: f64,
    begin: f64,
    fill: f64,
    waits: [f64; 3],
}

const STAGED: Rates = Rates {
    read: 6.23,
    begin: 1.0,
    fill: 49.7,
    waits: [99.0, 3450.0, 323.0],
};
const ALONE: Rates = Rates {
    read: 5.24,
    begin: 441.0,
    fill: 0.0,
    waits: [1710.0, 0.0, 251.0],
};
const MATRIX: Rates = Rates {
    read: 9.05,
    begin: 302.0,
    fill: 17.8,
    waits: [892.0, 869.0, 254.0],
};
const PAGED: Rates = Rates {
    read: 0.927,
    begin: 1.0,
    fill: 43.1,
    waits: [1.0, 690.0, 93.1],
};

/// Instructions of a read from shared memory, of a store, and of a digit that is divided off.
const HELD: f64 = 0.3;
const STORE: f64 = 9.04;
const DIVIDE: f64 = 1.97;
/// Instructions that a product takes the time of, in double precision.
const DOUBLE: f64 = 2.44;
/// Warps of a thread block.
const WARPS: f64 = 8.0;
/// Instructions of a multiprocessor in a cycle.
const ISSUED: f64 = 4.0;
/// Cycles of a line that a read touches, of a read from shared memory, and of a sector that a store
/// touches.
const LINE: f64 = 0.893;
const VECTOR: f64 = 0.524;
const STORED: f64 = 1.68;
/// Bytes in a cycle from the shared cache for each multiprocessor.
const CACHED: f64 = 108.0;
/// Bytes a second to and from memory, and what bytes count that are fetched again, or written with
/// lines that other thread blocks write too.
const MEMORY: f64 = 4.98e12;
const AGAIN: f64 = 1.19;
const APART: f64 = 1.11;
/// Bytes of all tables of which half stay in the shared cache.
const KEPT: f64 = 3.58e7;
/// How the five times add up: 1 one after another, ∞ all next to each other.
const POWER: f64 = 1.76;
/// What the last, incomplete wave of thread blocks takes, and what any takes at its end.
const LAST: f64 = 0.237;
const TAIL: f64 = 0.215;
/// Seconds to start a kernel while others run, to start the one that adds parts, and bytes a second
/// of that.
const START: f64 = 2.86e-6;
const PARTS: f64 = 3.08e-6;
const ADDED: f64 = 5e12;

impl Rates {
    fn of_form(form: JoinForm) -> &'static Self {
        match form {
            JoinForm::Matrix => &MATRIX,
            JoinForm::Staged => &STAGED,
            JoinForm::Alone => &ALONE,
            JoinForm::Paged => &PAGED,
        }
    }
}

impl Counts {
    /// Predicted seconds on a device like that of the record, with `units` multiprocessors.
    pub(crate) fn seconds(&self, units: usize) -> f64 {
        let waves = self.blocks / (units as f64 * self.resident);
        let times = self.times(units, waves);
        let all = times.map(|t| t.powf(POWER)).iter().sum::<f64>();
        let incomplete = if waves >= 1.0 {
            LAST * (waves.ceil() / waves - 1.0)
        } else {
            0.0
        };
        let cycles = all.powf(1.0 / POWER) * (1.0 + incomplete + TAIL / waves.max(1.0));
        let parts = if self.parts > 1.0 {
            PARTS + self.out / ADDED
        } else {
            0.0
        };
        START + cycles / CYCLES + parts
    }
    /// Instructions of a thread block.
    fn issued(&self, rates: &Rates) -> f64 {
        let product = match self.precision {
            Precision::F32 => 1.0,
            Precision::F64 => DOUBLE,
        };
        self.products * product
            + self.reads * rates.read
            + self.held * HELD
            + self.filled * rates.fill
            + self.stores * STORE
            + self.divided * DIVIDE
            + WARPS * rates.begin
    }
    /// Cycles of instructions, of the nearest caches, of the shared cache, of memory, and of waits.
    fn times(&self, units: usize, waves: f64) -> [f64; 5] {
        let rates = Rates::of_form(self.form);
        let each = self.blocks / units as f64;
        let lines = self.lines * LINE + self.held * VECTOR + self.stored * STORED;
        // The share of bytes that do not stay in the shared cache.
        let size = units as f64 / UNITS;
        let beyond = 1.0 / (1.0 + (KEPT * size / (self.inputs + self.out)).powi(3));
        let again = (self.crowds - self.inputs).max(0.0);
        let apart = (self.touched * 128.0 * self.blocks - self.out).max(0.0);
        let moved = beyond * (self.inputs + self.out + AGAIN * again + APART * apart);
        let rounds = self.waits.iter().zip(rates.waits).map(|(n, each)| n * each);
        [
            each * self.issued(rates) / ISSUED,
            each * lines,
            each * 32.0 * self.fetched / CACHED,
            moved / (MEMORY * size) * CYCLES,
            rounds.sum::<f64>() * waves.max(1.0),
        ]
    }
}
