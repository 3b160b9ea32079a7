//! Plan choices that a person makes: `--set key=value`. One table holds their keys, types and
//! meanings; help, errors and completions come from it, and planners read typed values.

use crate::machine::Isa;
use crate::order::Order;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use zipfold_core::renamed::{Place, new_word};
use zipfold_core::{Error, Opt, Result};

/// The value of a plan choice.
pub trait Choice: Sized {
    /// The texts that [`Choice::read`] takes, as a list for people.
    fn values() -> String;
    /// The value that `text` names; none for other texts.
    fn read(text: &str) -> Option<Self>;
    /// The text that [`Choice::read`] takes for this value.
    fn text(&self) -> String;
}

/// A whole number from `LEAST` to `MOST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number<const LEAST: u64, const MOST: u64>(u64);

impl<const LEAST: u64, const MOST: u64> Number<LEAST, MOST> {
    /// The number.
    pub fn get(self) -> usize {
        self.0 as usize
    }
}

impl<const LEAST: u64, const MOST: u64> Choice for Number<LEAST, MOST> {
    fn values() -> String {
        match MOST {
            u64::MAX => format!("a whole number from {LEAST}"),
            _ => format!("{LEAST} to {MOST}"),
        }
    }
    fn read(text: &str) -> Option<Self> {
        text.parse()
            .ok()
            .filter(|v| (LEAST..=MOST).contains(v))
            .map(Number)
    }
    fn text(&self) -> String {
        self.0.to_string()
    }
}

/// Enumerations whose variants have one word each.
macro_rules! words {
    ($($(#[$about:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal),+ $(,)? })+) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$of])* #[serde(rename = $word)] $variant),+
        }
        impl $name {
            /// All of them.
            pub const ALL: &[$name] = &[$($name::$variant),+];
            /// The word that names it.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
        }
        impl Choice for $name {
            fn values() -> String {
                names($name::ALL.iter().map(|v| v.name()))
            }
            fn read(text: &str) -> Option<Self> {
                $name::ALL.iter().copied().find(|v| v.name() == text)
            }
            fn text(&self) -> String {
                self.name().into()
            }
        }
    )+};
}

fn names(all: impl Iterator<Item = &'static str>) -> String {
    all.collect::<Vec<_>>().join(", ")
}

words! {
    /// Which rows meet all others, where another row may be the answer.
    RowsMet {
        /// Every row.
        All = "all",
    }
    /// Whether bounds leave out pairs that cannot matter.
    Pruning {
        /// Where it pays.
        Auto = "auto",
        /// In any case.
        On = "on",
        /// Never.
        Off = "off",
    }
    /// The kernels of a processor that compute the values of pairs.
    Family {
        /// A sweep of points for one histogram of distances.
        Points = "points",
        /// Single precision decides most pairs, double precision the others.
        Filter = "filter",
        /// Reductions of packed rows by register-blocked kernels.
        Dense = "dense",
        /// Machine code made for the formula.
        Jit = "jit",
        /// The formula step by step.
        Vm = "vm",
    }
    /// What a device leaves to the host.
    DeviceFamily {
        /// The device computes values, the host folds them.
        Values = "values",
        /// A thread computes whole pairs, without register blocks.
        Pairs = "pairs",
    }
    /// Where the rows of a device lie.
    Residency {
        /// All of them in its memory: the distribution *copy* of several devices.
        Held = "held",
        /// Those of one tile at a time.
        Streamed = "streamed",
        /// Of several devices, each has those of its own block of tiles.
        Block = "block",
        /// The same, and those of the next device's block, whose last tiles it takes when its own
        /// are done.
        Overlap = "overlap",
    }
    /// From where a sweep of a device takes its rows.
    Input {
        /// Anchors in registers, others by panels in shared memory.
        Panel = "panel",
        /// Anchors in registers, others from device memory through the read-only cache.
        Cache = "cache",
        /// Anchors and others in shared memory.
        Both = "both",
        /// Anchors in registers, others in those of the lanes of a warp, by shuffles. CUDA alone
        /// has them.
        Shuffle = "shuffle",
    }
    /// How a device finds bins of equal width.
    Bins {
        /// By edges.
        Exact = "exact",
        /// By one multiplication where that is exact enough.
        Fast = "fast",
    }
    /// Which joins of an inference run on its device.
    ProductJoins {
        /// The ones that are predicted to take less time there, transfers included.
        Time = "time",
        /// All.
        All = "all",
    }
    /// Which kernel of a device joins tables of an inference.
    ProductKernel {
        /// The fastest one.
        Auto = "auto",
        /// Pages of the result and segments of the tables in shared memory (Silberstein et al.
        /// 2008), where the join has its form.
        Paged = "paged",
    }
    /// How a sum or the most probable assignment of a network is found.
    ProductMethod {
        /// By elimination; assignments by a search where elimination is refused, sums by a count
        /// where that is refused or predicted to be slower.
        Auto = "auto",
        /// By elimination alone.
        Elimination = "elimination",
        /// By a search with bounds.
        Search = "search",
        /// Sums by a count: conditions, and keeps what each component came to.
        Components = "components",
    }
    /// Which tables get a segment of shared memory where not all of them fit.
    ProductKnapsack {
        /// By reads that an entry saves.
        Greedy = "greedy",
        /// The best of all choices.
        Exact = "exact",
    }
    /// Whether single precision decides most pairs on a device.
    Filter {
        /// Where its error is bounded.
        On = "on",
        /// Double precision decides all.
        Off = "off",
    }
    /// From where folds of wide rows take their values on a device.
    FoldTiles {
        /// Register-blocked tiles.
        Dense = "dense",
        /// Products of rounded rows, by matrix units.
        Matrix = "matrix",
        /// A sweep.
        Sweep = "sweep",
    }
    /// How matrix units take rows.
    MatrixUnits {
        /// Each warp multiplies what it has in registers (`mma`).
        Warps = "warp",
        /// Four warps multiply what is in shared memory (`wgmma`): NVIDIA devices of compute capability
        /// 9.0, and OpenCL by plain code, for tests.
        Warpgroups = "warpgroup",
    }
    /// How blocks of threads are laid over a triangle (Navarro and Hitschfeld 2013).
    TriangleMap {
        /// Rectangular box: the part above the diagonal turned into the place below.
        Rb = "rb",
        /// Bounding box: blocks above the diagonal end at once.
        Bb = "bb",
        /// Lower triangular map with a square root.
        Ltm = "ltm",
        /// Upper triangular map.
        Utm = "utm",
        /// Recursive: one launch a level of squares, and one for the diagonal.
        Rec = "rec",
    }
    /// Where the row of λ comes from in the map `ltm`; integers then correct what was rounded.
    Root {
        /// The square root of the device.
        Sqrt = "sqrt",
        /// The reciprocal root by Newton's steps from a guess at its bits.
        Newton = "newton",
        /// The reciprocal root of the device.
        Reciprocal = "reciprocal",
        /// A table of the row of every λ, in device memory.
        Table = "table",
    }
    /// What a triangle map places.
    Placed {
        /// Blocks of threads, a tile each.
        Block = "block",
        /// Threads, a pair each.
        Thread = "thread",
    }
    /// How the pairs of a block's own rows are shared out.
    Diagonal {
        /// As those of other blocks.
        Plain = "plain",
        /// Evenly by all threads (Pitaksirianan et al. 2017).
        Balanced = "balanced",
    }
    /// Numbers of a load.
    LoadWidth {
        /// One.
        One = "1",
        /// Two.
        Two = "2",
        /// Four, of single precision.
        Four = "4",
    }
    /// How a device writes matches.
    JoinOutput {
        /// To pages at once.
        Pages = "pages",
        /// Counted first, written in a second pass.
        Count = "count",
    }
    /// The type in which matrix units take rows.
    DenseInput {
        /// Numbers as they are, no matrix units.
        F32 = "f32",
        /// 16 bits, 5 of them exponent.
        F16 = "f16",
        /// 16 bits, 8 of them exponent.
        Bf16 = "bf16",
        /// 19 bits, 8 of them exponent.
        Tf32 = "tf32",
        /// Single precision as two numbers of 19 bits, three products for one.
        Tf32x3 = "tf32x3",
        /// Double precision, of rows in double precision.
        F64 = "f64",
    }
    /// Columns of a thread's tile.
    Across {
        /// Eight.
        Eight = "8",
        /// Sixteen.
        Sixteen = "16",
    }
}

impl LoadWidth {
    /// The number.
    pub fn get(self) -> usize {
        1 << self as usize
    }
}

impl Across {
    /// The number.
    pub fn get(self) -> usize {
        8 << self as usize
    }
}

/// How the paged kernel of joins unrolls its loops over summed variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProductUnroll {
    /// All of them, whole.
    Whole,
    /// Not at all.
    Off,
    /// The innermost one, by this many steps.
    By(u32),
}

impl Choice for ProductUnroll {
    fn values() -> String {
        "whole, off, 2 to 64".into()
    }
    fn read(text: &str) -> Option<Self> {
        match text {
            "whole" => Some(ProductUnroll::Whole),
            "off" => Some(ProductUnroll::Off),
            _ => text
                .parse()
                .ok()
                .filter(|steps| (2..=64).contains(steps))
                .map(ProductUnroll::By),
        }
    }
    fn text(&self) -> String {
        match self {
            ProductUnroll::Whole => "whole".into(),
            ProductUnroll::Off => "off".into(),
            ProductUnroll::By(steps) => steps.to_string(),
        }
    }
}

/// Cells of the column grid of a short histogram, to its last edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnGridCells {
    /// As many as pay.
    Auto,
    /// No column grid, and no grid of cells either.
    Off,
    /// This many.
    Parts(u32),
}

impl Choice for ColumnGridCells {
    fn values() -> String {
        "auto, off, 1 to 64".into()
    }
    fn read(text: &str) -> Option<Self> {
        match text {
            "auto" => Some(ColumnGridCells::Auto),
            "off" => Some(ColumnGridCells::Off),
            _ => text
                .parse()
                .ok()
                .filter(|parts| (1..=64).contains(parts))
                .map(ColumnGridCells::Parts),
        }
    }
    fn text(&self) -> String {
        match self {
            ColumnGridCells::Auto => "auto".into(),
            ColumnGridCells::Off => "off".into(),
            ColumnGridCells::Parts(parts) => parts.to_string(),
        }
    }
}

impl Choice for Isa {
    fn values() -> String {
        names(Isa::ALL.iter().map(|v| v.name()))
    }
    fn read(text: &str) -> Option<Self> {
        Isa::ALL.into_iter().find(|v| v.name() == text)
    }
    fn text(&self) -> String {
        self.name().into()
    }
}

impl Choice for Order {
    fn values() -> String {
        names(Order::ALL.iter().map(|v| v.name()))
    }
    fn read(text: &str) -> Option<Self> {
        Order::ALL.into_iter().find(|v| v.name() == text)
    }
    fn text(&self) -> String {
        self.name().into()
    }
}

/// A row of the table of plan choices.
#[derive(Clone, Debug)]
pub struct Override {
    /// The key.
    pub key: &'static str,
    /// The values that it takes.
    pub values: String,
    /// What it decides.
    pub about: &'static str,
}

macro_rules! overrides {
    ($($field:ident: $type:ty = $key:literal, $about:literal;)+) => {
        /// Plan choices that a person made; the planner makes the others.
        ///
        /// ```
        /// use zipfold_plan::Overrides;
        /// let made = Overrides::read([("tile.rows", "256"), ("isa", "avx2")])?;
        /// assert_eq!(made.tile_rows.map(|rows| rows.get()), Some(256));
        /// assert!(Overrides::read([("tile.rows", "many")]).is_err());
        /// # Ok::<(), zipfold_core::Error>(())
        /// ```
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Overrides {
            $(#[doc = concat!("`", $key, "`: ", $about, ".")] pub $field: Option<$type>,)+
        }

        impl Overrides {
            /// Every plan choice: first those of any machine, then those of devices.
            pub fn table() -> Vec<Override> {
                vec![$(Override { key: $key, values: <$type as Choice>::values(), about: $about }),+]
            }
            /// Makes the choice `key`.
            ///
            /// # Errors
            /// `Request` for a key that does not exist and for a value that it does not take.
            #[doc(hidden)]
            pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
                match key {
                    $($key => self.$field = Some(read::<$type>(key, value)?),)+
                    _ => return Err(unknown(key)),
                }
                Ok(())
            }
            /// The choices that were made, as texts by key.
            #[doc(hidden)]
            pub fn texts(&self) -> BTreeMap<&'static str, String> {
                let all = [$(self.$field.as_ref().map(|value| ($key, value.text()))),+];
                all.into_iter().flatten().collect()
            }
            /// These choices, and those of `more` in their place.
            #[must_use]
            #[doc(hidden)]
            pub fn and(mut self, more: &Overrides) -> Self {
                $(self.$field = more.$field.or(self.$field);)+
                self
            }
        }
    };
}

overrides! {
    prune: Pruning = "prune", "whether bounds leave out pairs that cannot matter";
    rows_met: RowsMet = "rows.met", "rows meet all others even where the answer is one row alone; shares do";
    column_grid: ColumnGridCells = "column_grid", "cells of the column grid of a short histogram, to its last edge; off: no grid of cells either";
    family: Family = "family", "which kernels of a processor compute the pairs";
    isa: Isa = "isa", "the instruction set, one that the machine has";
    tile_rows: Number<1, 16_777_216> = "tile.rows", "rows of a tile";
    tile_cols: Number<1, 16_777_216> = "tile.cols", "columns of a tile";
    order: Order = "order", "the order of blocks within a tile";
    batch: Number<1, 16_777_216> = "batch", "tiles that a thread takes at a time";
    device_tile: Number<1, 1_048_576> = "device.tile", "rows and columns of a device's tile";
    device_family: DeviceFamily = "device.family", "a device gives values to the host, or computes pair by pair";
    device_rows: Residency = "device.rows", "rows lie on every device, or come tile by tile, or lie on the device of their block, or on that and its neighbour";
    device_memory: Number<0, { u64::MAX }> = "device.memory", "bytes of device memory that the run stays within";
    fault_launches: Number<0, { u64::MAX }> = "fault.launches", "launches after which a device counts as lost (for tests)";
    fault_compiles: Number<0, { u64::MAX }> = "fault.compiles", "sources that a device compiles before it refuses one (for tests)";
    fault_devices: Number<0, { u64::MAX }> = "fault.devices", "how many of several devices device.memory, fault.launches and fault.compiles are for, the first ones (for tests)";
    fault_driver: Number<0, { u64::MAX }> = "fault.driver", "the version that the driver counts as (for tests)";
    points_anchors: Number<1, 8> = "points.anchors", "rows that a thread of a device keeps";
    points_blocks: Number<1, 16> = "points.blocks", "blocks of threads a processor of a device";
    points_unroll: Number<1, 16> = "points.unroll", "columns taken at a time by a sweep";
    points_input: Input = "points.input", "from where a sweep takes its rows";
    hist_copies: Number<0, 32> = "hist.copies", "copies of a histogram in shared memory; 0: in device memory";
    bins: Bins = "bins", "bins of a device by edges, or by one multiplication where that is exact enough";
    filter: Filter = "filter", "single precision decides most pairs on a device, or double precision decides all";
    fold_tiles: FoldTiles = "fold.tiles", "folds of wide rows from dense tiles, from matrix units, or by a sweep";
    tile_map: TriangleMap = "tile.map", "how blocks of threads are laid over a triangle";
    tile_root: Root = "tile.root", "the root that the map of a triangle takes";
    tile_by: Placed = "tile.by", "a triangle by blocks of threads or by threads";
    tile_diagonal: Diagonal = "tile.diagonal", "how the diagonal of a half space is shared out";
    product_joins: ProductJoins = "product.joins", "joins of an inference on its device: by predicted time, or all";
    product_slices: Number<1, 1_048_576> = "product.slices", "slices of an inference that it has at least, as far as its variables go";
    product_kernel: ProductKernel = "product.kernel", "the kernel of joins on a device: the fastest, or pages and segments in shared memory";
    product_cache: Number<0, { u64::MAX }> = "product.cache", "bytes of shared memory for the segments of the paged kernel; 0: the caches of the hardware alone";
    product_pages: Number<1, 1_048_576> = "product.pages", "pages that a thread block of the paged kernel takes one after another";
    product_unroll: ProductUnroll = "product.unroll", "how the paged kernel unrolls its loops over summed variables";
    product_knapsack: ProductKnapsack = "product.knapsack", "how the paged kernel chooses the tables that get a segment";
    product_method: ProductMethod = "product.method", "pr, map and mmap by elimination or by a search with bounds, pr, mar and sum also by a count of components; auto: what elimination refuses";
    load_vector: LoadWidth = "load.vector", "numbers that a device loads at a time";
    join_output: JoinOutput = "join.output", "matches go to pages at once, or are counted first";
    dense_input: DenseInput = "dense.input", "the type in which matrix units take rows; f16, bf16 and tf32 round them, tf32x3 rounds products";
    matrix_units: MatrixUnits = "matrix.units", "how matrix units take rows: each warp from registers, or four warps together from shared memory";
    dense_slice: Number<1, 32> = "dense.slice", "components of a slice of a dense kernel";
    dense_band: Number<1, 1024> = "dense.band", "rows of tiles whose blocks matrix units take together";
    dense_blocks: Number<1, 4> = "dense.blocks", "blocks of a dense kernel on a processor";
    dense_stages: Number<0, 4> = "dense.stages", "slices copied ahead by a dense kernel";
    dense_across: Across = "dense.across", "columns of a thread's tile in a dense kernel";
    dense_unroll: Number<1, 32> = "dense.unroll", "components taken at a time by a dense kernel";
}

impl Overrides {
    /// The choices of `texts`, pairs of key and value; of a key given twice the last.
    ///
    /// # Errors
    /// Those of [`Overrides::set`].
    pub fn read<K: AsRef<str>, V: AsRef<str>>(
        texts: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Self> {
        let mut made = Overrides::default();
        texts
            .into_iter()
            .try_for_each(|(key, value)| made.set(key.as_ref(), value.as_ref()))?;
        Ok(made)
    }
}

fn read<T: Choice>(key: &str, text: &str) -> Result<T> {
    T::read(text).ok_or_else(|| {
        if let Some(word) = new_word(Place::Override, &format!("{key}={text}")) {
            return earlier(&format!("{key}={text}"), word);
        }
        let values = T::values();
        let e =
            Error::request(format!("expected {values}, got '{text}'")).at_place(Opt::Set.like(key));
        e.remedy(values)
    })
}

/// The error for an old word of the table.
fn earlier(old: &str, new: &str) -> Error {
    Error::request(format!("expected '{new}', got its earlier name '{old}'"))
        .at_place(Opt::Set)
        .remedy(Opt::Set.like(new))
}

fn unknown(key: &str) -> Error {
    if let Some(word) = new_word(Place::Override, key) {
        return earlier(key, word);
    }
    let keys: Vec<&str> = Overrides::table().iter().map(|row| row.key).collect();
    Error::request(format!("no plan choice '{key}'"))
        .at_place(Opt::Set)
        .remedy(format!("one of {}", keys.join(", ")))
}

impl fmt::Display for Overrides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self
            .texts()
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        f.write_str(&texts.join(" "))
    }
}

impl Serialize for Overrides {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        self.texts().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Overrides {
    fn deserialize<D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> std::result::Result<Self, D::Error> {
        let texts = BTreeMap::<String, String>::deserialize(deserializer)?;
        Overrides::read(texts).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Every key takes each value that the table lists, gives it back as text, and refuses others.
    #[test]
    fn the_table_says_what_is_taken() {
        let table = Overrides::table();
        let keys: BTreeSet<&str> = table.iter().map(|row| row.key).collect();
        assert_eq!(keys.len(), table.len(), "a key is there twice");
        for row in table {
            let values = row
                .values
                .replace(" to ", ", ")
                .replace("a whole number from ", "");
            for value in values.split(", ") {
                let made = Overrides::read([(row.key, value)]).unwrap();
                assert_eq!(made.texts(), BTreeMap::from([(row.key, value.to_string())]));
                let again: Overrides =
                    serde_json::from_str(&serde_json::to_string(&made).unwrap()).unwrap();
                assert_eq!(again, made);
            }
            for odd in ["", "-1", "1.5", "other", "99999999999999999999999"] {
                let message = Overrides::read([(row.key, odd)]).unwrap_err().to_string();
                assert!(
                    message.contains(&row.values) && message.contains(row.key),
                    "{message}"
                );
            }
        }
        assert!(
            Overrides::read([("tile", "1")])
                .unwrap_err()
                .to_string()
                .contains("tile.rows")
        );
    }

    #[test]
    fn later_choices_take_the_place_of_earlier_ones() {
        let of = |texts: &[(&str, &str)]| Overrides::read(texts.iter().copied()).unwrap();
        let both = of(&[("isa", "avx2"), ("batch", "3")]).and(&of(&[("batch", "5")]));
        assert_eq!(both, of(&[("isa", "avx2"), ("batch", "3"), ("batch", "5")]));
        assert_eq!(both.to_string(), "batch=5 isa=avx2");
    }
}
