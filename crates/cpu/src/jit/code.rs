//! Code made for one formula: its tiles, and how they run over rows.
//!
//! ```text
//! compile:  steps of the program                                               steps.rs
//!           two tiles: many rows × 1 vector, 1 row × many vectors; each the largest that fits
//!               listing abreast with its registers, nothing in memory
//!               else one instance after another, with little spilled         tile.rs, registers.rs
//!               nothing larger fits: the smallest, if it can be written
//!           bytes of both → executable pages; constants → pool
//! run:      whole tiles of many rows, then the rest row by row
//!           for each tile: head of the frame = addresses of its rows, lanes and results; call
//! ```
//!
//! Why this shape: a tile of many rows reads each vector of y once for all of them. The second tile
//! takes the rows that are left, and single rows whose caller has no others. All that varies from
//! call to call is in the head of the frame, so the code itself has no relocations.

use super::ir::{self, Geometry, Head};
use super::step::Steps;
use super::steps::{self, Target};
use super::{Operands, Results, calls, encode, lanes, memory, registers, tile};
use crate::pairs::lanes::Real;
use crate::pairs::program::Program;
use std::ops::Range;
use zipfold_core::fold::BLOCK;
use zipfold_core::pair::lower::Lowered;
use zipfold_plan::Isa;
use zipfold_vector::memory::Block;

/// A compiled formula.
#[derive(Debug)]
pub struct Code<T> {
    pages: memory::Executable,
    /// Tiles of several rows and of one row, and where their code begins.
    tiles: [(Geometry, usize); 2],
    frame: usize,
    pool: Block<T>,
    vectors: Block<T>,
}

impl<T: Real> Code<T> {
    /// Compiles `program` for `isa`; recognised reductions are `given` by the dense kernels, or
    /// computed too. Results are stored lane by lane, or added to sums: [`super::SUM`] bytes a row
    /// and number, lane = column modulo their count.
    ///
    /// # Errors
    /// What prevents it, where the jit cannot express the formula or the system executes
    /// nothing that was written.
    pub fn compile(
        low: &Lowered,
        program: &Program,
        isa: Isa,
        given: bool,
        results: Results,
    ) -> Result<Self, &'static str> {
        if !isa.is_generated() {
            return Err("the jit knows AVX2 and AVX-512 only");
        }
        let target = Target {
            single: size_of::<T>() == 4,
            wide: isa == Isa::Avx512,
            given,
            results,
        };
        let steps = steps::steps(low, program, target)?;
        let mut maker = CodeMaker {
            steps: &steps,
            low,
            isa,
            results,
            pool: vec![],
            bytes: vec![],
            frame: 0,
        };
        let strips = BLOCK / lanes::<T>(isa);
        // Where there are few numbers, as many rows as leave their sums in registers.
        let most = match maker.steps.numbers {
            numbers @ 1..=3 if results.are_added() => tile::HELD / numbers,
            _ => 8,
        };
        let rows = [8, 6, 4, 2, 1].into_iter().filter(|rows| *rows <= most);
        let many = maker.best::<T>(&rows.map(|rows| (rows, 1)).collect::<Vec<_>>())?;
        let one = maker.best::<T>(&[(1, strips.min(8)), (1, 4), (1, 2), (1, 1)])?;
        let mut pool = Block::zeros(maker.pool.len());
        for (to, bits) in pool.iter_mut().zip(&maker.pool) {
            *to = T::of_bits(*bits);
        }
        let vectors = constant_vectors(low);
        let pages = memory::Executable::new(&maker.bytes)
            .map_err(|_| "the system executes nothing that was written")?;
        Ok(Code {
            pages,
            tiles: [many, one],
            frame: maker.frame,
            pool,
            vectors,
        })
    }
    /// Rows that are evaluated side by side.
    pub fn rows(&self) -> usize {
        self.tiles[0].0.rows
    }
    /// Numbers that a frame takes.
    pub fn frame(&self) -> usize {
        self.frame
    }
    /// Evaluates `rows` rows against `lanes` of a block, and perhaps more of them; or of blocks,
    /// where results are added up or stored in lines, and nothing is read that is held by blocks
    /// (differences in a box, given reductions, several numbers of a column).
    ///
    /// # Safety
    /// The operands are those of the compiled formula: `rows` rows of x, as many lanes of y in
    /// strips as `lanes` ends at, and room for the results of `rows` rows: stored ones for one
    /// block of y, or for a line of blocks; `frame` holds [`Self::frame`] numbers. The machine has
    /// the instruction set.
    pub unsafe fn run(
        &self,
        frame: &mut [f64],
        rows: usize,
        lanes: &Range<usize>,
        operands: &Operands<T>,
    ) {
        let (many, one) = (&self.tiles[0], &self.tiles[1]);
        let tiled = rows / many.0.rows * many.0.rows;
        for (tile, rows) in [(many, 0..tiled), (one, tiled..rows)] {
            // SAFETY: the caller's promise.
            unsafe { self.tiles(tile, frame, rows, lanes, operands) };
        }
    }
    /// Runs a tile over `rows`, all strips of each.
    ///
    /// # Safety
    /// As [`Self::run`]; `rows` is a multiple of the tile's.
    unsafe fn tiles(
        &self,
        tile: &(Geometry, usize),
        frame: &mut [f64],
        rows: Range<usize>,
        lanes: &Range<usize>,
        at: &Operands<T>,
    ) {
        let (geo, entry) = tile;
        let wide = geo.lanes() * geo.strips;
        let out_step = geo.out_step() / geo.size;
        // SAFETY: the pages hold a function of this signature at `entry`.
        let function: extern "sysv64" fn(*mut Head) =
            unsafe { std::mem::transmute(self.pages.address(*entry)) };
        let lane = lanes.start / wide * wide;
        for row in rows.step_by(geo.rows).filter(|_| lanes.end > lane) {
            let head = Head {
                x: at.x.wrapping_add(row * geo.row_vectors[0] * geo.dim).cast(),
                x_attr: at.x_attr.wrapping_add(row * geo.row_scalars).cast(),
                y: at
                    .y
                    .wrapping_add(lane * geo.row_vectors[1] * geo.dim)
                    .cast(),
                y_attr: at.y_attr.wrapping_add(lane).cast(),
                vectors: self.vectors.as_ptr().cast(),
                deltas: at.deltas.wrapping_add(row * geo.dim * BLOCK + lane).cast(),
                reductions: at.reductions.wrapping_add(row * BLOCK + lane).cast(),
                out: at
                    .out
                    .wrapping_add(row * geo.numbers * out_step + lane % out_step)
                    .cast(),
                pool: self.pool.as_ptr().cast(),
                slice: 0,
                strips: (lanes.end - lane).div_ceil(wide) as u64,
            };
            let start = frame.as_mut_ptr().cast::<Head>();
            // SAFETY: a frame begins with room for its head.
            unsafe { start.write(head) };
            function(start);
        }
    }
}

/// The constant vectors of a formula, one after another.
fn constant_vectors<T: Real>(low: &Lowered) -> Block<T> {
    let mut vectors = Block::zeros(low.constants.len() * low.dim);
    vectors
        .iter_mut()
        .zip(low.constants.iter().flatten())
        .for_each(|(to, v)| *to = T::rounded(*v));
    vectors
}

struct CodeMaker<'s> {
    steps: &'s Steps,
    low: &'s Lowered,
    isa: Isa,
    results: Results,
    pool: Vec<u64>,
    bytes: Vec<u8>,
    frame: usize,
}

/// Instructions of a tile, before the tile is made smaller.
const LONGEST: usize = 6000;

impl CodeMaker<'_> {
    /// Writes the first of the tiles (rows, strips) whose values stay in registers, or else the
    /// last that can be written.
    fn best<T: Real>(
        &mut self,
        shapes: &[(usize, usize)],
    ) -> Result<(Geometry, usize), &'static str> {
        let mut last = Err("no tile fits registers and addresses");
        for (at, shape) in shapes.iter().enumerate() {
            let geo = self.geometry::<T>(*shape);
            let abreast = self
                .placed(geo, true)
                .filter(|(_, placement, _)| !placement.in_memory);
            let Some((list, placement, spare)) = abreast.or_else(|| self.placed(geo, false)) else {
                continue;
            };
            let good = placement.spilled == 0
                && list.insts.len() <= LONGEST
                && placement.frame <= tile::FRAME / 16;
            let good = good && encode::fits(&list);
            if !good && at + 1 < shapes.len() {
                continue;
            }
            if placement.frame > tile::FRAME || !encode::fits(&list) {
                break;
            }
            let function = calls::function::<T>(geo.wide) as usize as u64;
            let entry = self.bytes.len().next_multiple_of(64);
            if let Ok(bytes) = encode::encode(&list, &placement, geo, spare, function) {
                self.bytes.resize(entry, 0xcc);
                self.bytes.extend(bytes);
                self.frame = self.frame.max(placement.frame as usize / 8);
                last = Ok((geo, entry));
                break;
            }
        }
        last
    }
    fn geometry<T>(&self, (rows, strips): (usize, usize)) -> Geometry {
        Geometry {
            rows,
            strips,
            wide: self.isa == Isa::Avx512,
            size: size_of::<T>(),
            dim: self.low.dim,
            row_vectors: [self.low.row_vectors[0].len(), self.low.row_vectors[1].len()],
            row_scalars: self.low.row_scalars[0].len(),
            numbers: self.steps.numbers,
            results: self.results,
        }
    }
    /// The listing of a tile with its registers, and the first register kept free.
    fn placed(
        &mut self,
        geo: Geometry,
        abreast: bool,
    ) -> Option<(ir::Listing, registers::Placement, u8)> {
        for truths in [false, true] {
            let (list, frame) = tile::tile(self.steps, geo, &mut self.pool, truths, abreast);
            let all = if geo.wide { 32 } else { 16 };
            for vectors in [all, all - 3] {
                let supply = registers::Supply {
                    vectors,
                    masks: (1, 8),
                };
                match registers::place(&list, supply, frame, geo.vector()) {
                    Some(placement) if !placement.in_memory || vectors < all => {
                        return Some((list, placement, vectors));
                    }
                    Some(_) => {}
                    None => break,
                }
            }
        }
        None
    }
}
