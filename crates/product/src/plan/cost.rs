//! The cost of a join on a device: arithmetic at the kernel's rate, bytes at the memory's, and a
//! fixed start.

/// What the order search minimises, in units of one multiply-add of the matrix kernel.
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    /// Cost of one entry of a join's result, written once and read once.
    pub entry: f64,
    /// log2 of the entries above which a table's cost grows steeply, because it would have to be
    /// sliced.
    pub cap: f64,
    /// Fixed cost of a join.
    pub start: f64,
}

impl Weights {
    /// Cost of a join that visits 2^`union` configurations and leaves 2^`out` entries.
    pub fn join(&self, union: f64, out: f64) -> f64 {
        let over = (out - self.cap).max(0.0);
        union.min(900.0).exp2() + self.entry * (out + over).min(900.0).exp2() + self.start
    }
}

/// Measured rates of the device.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// Multiply-adds a second of the matrix kernel, all threads.
    pub matrix: f64,
    /// Configurations a second of the n-ary kernel, all threads.
    pub bucket: f64,
    /// The same times the number of tables, where blocks are runs in all of them.
    pub runs: f64,
    /// Bytes a second to and from memory.
    pub memory: f64,
    /// Seconds to start one join.
    pub start: f64,
}

impl Default for Rates {
    /// Two cores with AVX-512, fitted to the runs in `bench/records` (fresh memory, whose first
    /// touch costs more than its traffic, included).
    fn default() -> Self {
        Rates {
            matrix: 20e9,
            bucket: 1.5e9,
            runs: 8e9,
            memory: 5e9,
            start: 2e-6,
        }
    }
}

/// Prediction for a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Prediction {
    /// Multiply and add operations.
    pub flops: f64,
    /// Bytes read and written.
    pub bytes: f64,
    /// Seconds.
    pub seconds: f64,
    /// Bytes held at one time.
    pub peak_bytes: f64,
    /// log2 of the largest table's entries.
    pub largest: f64,
    /// Variables of the widest join, less one.
    pub width: usize,
    /// Seconds of one traceback or sample, once the tables are there.
    pub trace: f64,
}
