//! Writes tiles of matrix units for folds: products of rounded rows, and the values that they give.
//!
//! ```text
//! begin:  the rows of the block to shared memory, paired as products take them, and their numbers
//! start:  sums[8][16] = half of the negative squared length of the other row, or 0; numbers of the others to shared memory
//! loop:   sums += products of slices of components                                   halves_loop.c, warpgroup_loop.c
//! finish: value = squared length of the row − 2 sums / scale²; or sums / scale²
//! reach:  a row's limit turned into the least sum of an open pair, where values are the sums alone
//! ```

use super::expression::literal;
use super::matrix;
use super::pair::PairText;
use super::sweep;
use super::values::NO_ACCESS;
use super::warpgroup;
use std::fmt::Write;
use zipfold_core::Precision;
use zipfold_core::fold::Nearest;
use zipfold_core::pair::lower::Lowered;
use zipfold_plan::device::pair_tiles::PairTiles;
use zipfold_plan::device::products::{ProductForm, Rounding};
use zipfold_plan::device::sweeps::Shape;
use zipfold_plan::low_precision::ProductType;
use zipfold_plan::overrides::MatrixUnits;

/// The texts of a tile that computes pairs.
#[derive(Default)]
pub(super) struct TileTexts {
    pub before: String,
    /// Places that are filled first: their texts have places of the others.
    pub inner: Vec<(&'static str, String)>,
    pub places: Vec<(&'static str, String)>,
    pub after: String,
}

/// Forgets where a thread has its cells.
pub(super) const NO_CELLS: &str = "#undef ZF_ROW\n#undef ZF_COLUMN\n#undef ZF_PART\n";
/// Where a thread of a warp that multiplies has its cells.
const OF_WARPS: &str = "#define ZF_ROW(p) (down + (p) / 2 * 16u + (p) % 2 * 8u + group)\n\
     #define ZF_COLUMN(p, q) (over + (q) / 2 * 8u + lane * 2u + (q) % 2)\n\
     #define ZF_PART(p) (over / 16u + lane)\n";
/// Where a thread of four warps that multiply has them: 32 cells of four rows, as two lines each.
const OF_WARPGROUPS: &str = "#define ZF_ROW(p) (down + (p) / 4 * 64u + (p) / 2 % 2 * 8u + group)\n\
     #define ZF_COLUMN(p, q) ((p) % 2 * 64u + (q) / 2 * 8u + lane * 2u + (q) % 2)\n\
     #define ZF_PART(p) (lane * 2u + (p) % 2)\n";
/// Roundings of a limit that becomes one of sums, in parts of its terms.
const SLACK: &str = "2.4e-7f";

/// The numbers that are multiplied.
const INPUT: ProductType = ProductType::Half(Rounding::TYPE);

/// What differs by how matrix units take rows.
struct UnitTexts {
    functions: String,
    cells: &'static str,
    lanes: String,
    begin: String,
    staying: String,
    first_slices: String,
    start: String,
    tile_begins: &'static str,
    tile_is_there: &'static str,
    products: String,
    leave: String,
}

/// A tile of matrix units.
pub(super) struct ProductTile<'t> {
    low: &'t Lowered,
    shape: &'t Shape,
    rounding: &'t Rounding,
    slices: ProductSlices,
}

/// The slices of rows that shared memory holds.
pub(super) enum ProductSlices {
    Warps(matrix::Slices),
    Warpgroup(warpgroup::FetchedSlices),
}

impl ProductSlices {
    /// Those of a fold over rows of `dim` components that keeps `scratch` bytes in shared memory.
    pub(super) fn new(dim: usize, units: MatrixUnits, paired: bool, scratch: usize) -> Self {
        match units {
            MatrixUnits::Warps => ProductSlices::Warps(matrix::Slices::new(dim, paired)),
            MatrixUnits::Warpgroups => {
                ProductSlices::Warpgroup(warpgroup::FetchedSlices::of_fold(dim, INPUT, scratch))
            }
        }
    }
    /// Bytes of shared memory.
    pub(super) fn bytes(&self) -> usize {
        match self {
            ProductSlices::Warps(slices) => slices.bytes(),
            ProductSlices::Warpgroup(slices) => slices.bytes(),
        }
    }
}

fn single(v: f64) -> String {
    literal(v, Precision::F32)
}

impl<'t> ProductTile<'t> {
    pub(super) fn new(
        low: &'t Lowered,
        shape: &'t Shape,
        rounding: &'t Rounding,
        scratch: usize,
    ) -> Self {
        let (units, paired) = match shape.tiled {
            Some(PairTiles::Products { units, paired }) => (units, paired),
            Some(PairTiles::Registers(_)) | None => (MatrixUnits::Warps, false),
        };
        ProductTile {
            low,
            shape,
            rounding,
            slices: ProductSlices::new(low.dim, units, paired, scratch),
        }
    }
    /// The sum of cell p, q of a thread.
    fn cell(&self) -> &'static str {
        match self.slices {
            ProductSlices::Warps(_) => "sum[p / 2][q / 2][p % 2 * 2 + q % 2]",
            ProductSlices::Warpgroup(_) => "sum[p / 4][p % 2 * 8 + q / 2][p / 2 % 2 * 2 + q % 2]",
        }
    }
    /// The names of the sides of anchors and of others.
    fn names(&self) -> [&'static str; 2] {
        sweep::side_names(self.shape)
    }
    /// The number of a row of anchors or of others that is its squared length.
    fn norm(&self, others: bool) -> usize {
        let side = self.shape.anchor as usize;
        self.low.row_scalars[if others { 1 - side } else { side }].len()
    }
    /// The squared length of an anchor.
    fn length(&self) -> String {
        format!("{}A({})", self.names()[0].to_uppercase(), self.norm(false))
    }
    /// Numbers of a row of anchors or of others.
    fn numbers(&self, others: bool) -> usize {
        self.norm(others) + usize::from(self.rounding.form == ProductForm::Squares)
    }
    /// What turns a sum into a product of rows.
    fn undone(&self) -> f64 {
        1.0 / (self.rounding.scale[0] * self.rounding.scale[1])
    }
    /// The reduction of a cell.
    fn value(&self) -> String {
        let undone = self.undone();
        if self.rounding.form == ProductForm::Dot {
            return format!("{} * {}", self.cell(), single(undone));
        }
        let value = format!(
            "zf_fma_f({}, {}, {})",
            self.cell(),
            single(-2.0 * undone),
            self.length()
        );
        // A root must not see less than nothing; a decision by the value itself may.
        match self.low.operations().1 {
            0 => value,
            _ => format!("zf_max_f({value}, 0.0f)"),
        }
    }
    /// What sums begin with, and the text that finds it: the norms of the others, so that a value is
    /// one operation behind a sum.
    fn starts(&self) -> (&'static str, String) {
        if self.rounding.form == ProductForm::Dot {
            return ("0.0f", String::new());
        }
        let (name, place) = (self.names()[1], self.norm(true) * 128);
        let half = single(-0.5 / self.undone());
        let (many, at) = match self.slices {
            ProductSlices::Warps(_) => (16, format!("{name}_numbers[{name}_panel + over + ")),
            ProductSlices::Warpgroup(_) => (32, format!("other_numbers[{} + ", self.ring())),
        };
        let text = format!(
            "float starts[{many}];\nZF_UNROLL for (int q = 0; q < {many}; q++) starts[q] = {at}{place}u + q / 2 * 8u + lane * 2u + q % 2] * {half};\n"
        );
        ("starts[n * 2 + e % 2]", text)
    }
    /// Where the numbers of the others of a tile begin, of all that shared memory has.
    fn ring(&self) -> String {
        match self.slices {
            ProductSlices::Warps(_) => "0u".into(),
            ProductSlices::Warpgroup(_) => format!("ring * {}u", self.numbers(true) * 128),
        }
    }
    /// Where the groups of the rows of `name` from `first` on begin.
    fn panel(&self, name: &str, first: &str) -> String {
        let (upper, groups) = (name.to_uppercase(), matrix::groups(self.low.dim, INPUT));
        format!(
            "const size_t {name}_rows = (size_t)ZF_PANEL_{upper}({first}) * {groups}u * 128u;\n"
        )
    }
    /// Copies the numbers of the rows of a tile.
    fn copied(&self, others: bool) -> String {
        let name = self.names()[usize::from(others)];
        let to = if others { "other" } else { "anchor" };
        let mut out = String::new();
        for place in (0..self.numbers(others)).map(|n| n * 128) {
            let _ = writeln!(
                out,
                "ZF_COPY4(&{to}_numbers[{place}u + tid], &{name}_numbers[{name}_panel + {place}u + tid]);"
            );
        }
        out
    }
    /// Macros for the numbers of rows.
    fn access(&self) -> String {
        let [anchors, others] = self.names().map(str::to_uppercase);
        matrix::constants(self.low)
            + &format!(
                "#define {anchors}A(a) anchor_numbers[(a) * 128u + row]\n#define {others}A(a) other_numbers[{} + (a) * 128u + col]\n",
                self.ring()
            )
    }
    /// Shared memory.
    fn declared(&self) -> String {
        let own = [false, true].map(|others| 128 * self.numbers(others).max(1));
        let (barriers, scratch, ring) = match &self.slices {
            ProductSlices::Warps(_) => (String::new(), 0, 1),
            ProductSlices::Warpgroup(slices) => {
                (slices.declared(), slices.scratch_at(), slices.ring())
            }
        };
        format!(
            "ZF_DYNAMIC(zf_u4, slices, {});\n    ZF_SHARED float anchor_numbers[{}]; ZF_SHARED float other_numbers[{}];\n    \
             {barriers}\n    ZF_SHARED_ARG zf_u4* scratch = slices + {scratch}u; (void)scratch;",
            self.slices.bytes() / 16,
            own[0],
            own[1] * ring
        )
    }
    /// The texts of the kernel, which leaves tiles out where `skip` holds.
    pub(super) fn texts(&self, pair: &PairText, skip: &str) -> TileTexts {
        let sums = self.starts();
        let sums = (sums.0, sums.1.as_str());
        let texts = match &self.slices {
            ProductSlices::Warps(slices) => self.of_warps(slices, sums),
            ProductSlices::Warpgroup(slices) => self.of_warpgroup(*slices, sums, skip),
        };
        let begin = texts.begin + &self.copied(false) + &texts.staying + "ZF_COPY_COMMIT();\n";
        let reduce = self.rounding.reduce.0;
        let finish = format!("const float v{reduce} = {};\n", self.value()) + &pair.finish;
        TileTexts {
            before: texts.functions + &self.access() + texts.cells,
            inner: vec![],
            places: vec![
                (
                    "INPUTS",
                    matrix::inputs(INPUT) + &sweep::wide_inputs(self.shape),
                ),
                ("SLICES", self.declared()),
                ("PLACES", texts.lanes),
                ("BEGIN", begin),
                ("FIRST_SLICES", texts.first_slices),
                ("START", texts.start),
                ("TILE_BEGINS", texts.tile_begins.into()),
                ("TILE_IS_THERE", texts.tile_is_there.into()),
                ("LOOP", texts.products),
                ("LEAVE", texts.leave),
                ("FINISH", finish),
                ("AW", self.numbers(false).to_string()),
                ("BW", self.numbers(true).to_string()),
                ("BLOCKS", "2".into()),
            ],
            after: NO_ACCESS.to_string() + NO_CELLS,
        }
    }
    /// What differs where each warp multiplies.
    fn of_warps(&self, slices: &matrix::Slices, (first, starts): (&str, &str)) -> UnitTexts {
        let names = self.names();
        // Found anew for each tile where it is needed then: registers are scarce.
        let rows = self.panel(names[0], "first");
        let staying = slices.begin(names[0]);
        let (begin, each) = match staying.is_empty() {
            true => (String::new(), rows),
            false => (rows, String::new()),
        };
        UnitTexts {
            functions: matrix::functions(INPUT, MatrixUnits::Warps),
            cells: OF_WARPS,
            lanes: matrix::cells(INPUT, MatrixUnits::Warps),
            begin,
            staying,
            first_slices: String::new(),
            start: each + &self.panel(names[1], "base") + starts + &self.copied(true),
            tile_begins: "ZF_BARRIER();",
            tile_is_there: "ZF_BARRIER();",
            products: matrix::products(self.low, INPUT, (names, first), slices),
            leave: "return;".into(),
        }
    }
    /// What differs where four warps multiply.
    fn of_warpgroup(
        &self,
        slices: warpgroup::FetchedSlices,
        sums: (&str, &str),
        skip: &str,
    ) -> UnitTexts {
        let sides = warpgroup::Sides {
            names: self.names(),
            first: "first",
            second: "base",
            skip: Some(skip),
            numbers: self.numbers(true),
        };
        UnitTexts {
            functions: matrix::functions(INPUT, MatrixUnits::Warpgroups),
            cells: OF_WARPGROUPS,
            lanes: matrix::cells(INPUT, MatrixUnits::Warpgroups),
            begin: String::new(),
            staying: String::new(),
            first_slices: slices.begin(&sides),
            start: String::new(),
            tile_begins: "",
            tile_is_there: slices.is_there(),
            products: slices.products(INPUT, &sides, sums),
            leave: slices.leave(),
        }
    }
    /// Where a sum alone tells whether a value is within `limit`, as texts: what is found for each row,
    /// and whether a pair may be. Only for values that are the reduction itself, and whose best are
    /// near rows.
    pub(super) fn reach(&self, f: &Nearest) -> Option<[String; 2]> {
        if self.low.formula.roots[f.root] != self.rounding.reduce {
            return None;
        }
        let least = match (self.rounding.form, f.largest) {
            (ProductForm::Squares, false) => {
                let (length, scale) = (self.length(), single(0.5 / self.undone()));
                format!("(({length} - limit) - ({length} + zf_abs_f(limit)) * {SLACK}) * {scale}")
            }
            (ProductForm::Dot, true) => {
                let scale = single(1.0 / self.undone());
                format!("(-limit - zf_abs_f(limit) * {SLACK}) * {scale}")
            }
            (ProductForm::Squares, true) | (ProductForm::Dot, false) => return None,
        };
        Some([
            format!("const float reach = {least};"),
            format!("{} >= reach", self.cell()),
        ])
    }
}
