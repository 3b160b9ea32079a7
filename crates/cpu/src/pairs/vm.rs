//! The evaluator of pairs: compiled code for groups of rows (family *jit*), or a program over the
//! lanes of one block of columns, one row of x at a time (family *vm*).
//!
//! ```text
//! eval(row, block):
//!     the last call computed this row, too: return
//!     differences by the minimum image, if the space is periodic
//!     code:     a group of rows × the lanes                           results by row, number, lane
//!     program:  for each stage
//!                   scalars
//!                   for each component: body; totals += reductions
//!                   recognised reductions: from the block that `fill` computed, or by lanes.rs
//!               finish; roots → results
//! line(rows, block):   code that stores lines over several blocks           matrices as they come
//! sum(rows, blocks):   code that adds results by row, number and lane       sums without values
//! ```
//!
//! Why this shape: an instruction of the program is one loop over 128 lanes, which spreads its
//! choice over 128 values, but each writes its result to memory. Code keeps results in registers
//! and takes a group of rows for each vector of y that it loads. Callers ask row by row and need
//! not know how many rows a call computes. The program also runs where no code can be made, with
//! the same bits.

use super::lanes::{self, Lanes, Operand, Real};
use super::program::{Acc, LaneInst, LaneOp, Program, Src, StageProgram, compile};
use super::rows::Rows;
use super::sums;
use crate::jit::{self, Code};
use std::ops::Range;
use std::sync::Arc;
use zipfold_core::PeriodicBox;
use zipfold_core::fold::BLOCK;
use zipfold_core::pair::eval::bound;
use zipfold_core::pair::lower::Lowered;
use zipfold_core::pair::pattern::Reduction;
use zipfold_core::space::periodic_box::Others;
use zipfold_plan::Isa;
use zipfold_vector::memory::Block;

/// Registers and results of one thread.
#[derive(Debug)]
pub struct Scratch<T> {
    registers: Vec<Option<Box<Lanes<T>>>>,
    deltas: Block<T>,
    /// Values of recognised reductions of the current block of pairs, and its first row.
    pub reductions: Block<T>,
    /// First row of the block.
    pub reductions_first: usize,
    /// Results by row of the group, number and lane, or by row and lane of a line; where the
    /// numbers of a root begin, and their end.
    out: Block<T>,
    firsts: Vec<usize>,
    /// The block and the rows that `out` holds, and the current one of these.
    held: Option<(usize, Range<usize>)>,
    current: usize,
    frame: Block<f64>,
    /// Sums by row, number and lane, of at most [`BLOCK`] rows; zeros but where sums are in the
    /// making.
    sums: Block<T>,
}

impl<T: Real> Scratch<T> {
    /// Values of root `at` for the current row, by number.
    #[inline(always)]
    pub fn root(&self, at: usize) -> &[Lanes<T>] {
        &self.all()[self.firsts[at]..self.firsts[at + 1]]
    }
    /// Values of all roots for the current row.
    #[inline(always)]
    pub fn all(&self) -> &[Lanes<T>] {
        let numbers = self.numbers();
        &self.out.as_chunks().0[self.current * numbers..][..numbers]
    }
    /// Numbers of all roots together.
    #[inline(always)]
    pub fn numbers(&self) -> usize {
        self.firsts[self.firsts.len() - 1]
    }
    /// Sums by row, number and lane, for who makes them zeros again.
    pub fn sums(&mut self) -> &mut [T] {
        &mut self.sums
    }
    /// Where the numbers of each root begin, and their end.
    pub fn firsts(&self) -> &[usize] {
        &self.firsts
    }
    /// Values of the row in place `at`, as [`Vm::line`] left them.
    pub fn line(&self, at: usize) -> &[T] {
        let long = jit::line(size_of::<T>());
        &self.out[at * long..][..long]
    }
    /// Forgets results: recognised reductions of another block are given.
    pub fn forget(&mut self, reductions_first: usize) {
        (self.held, self.reductions_first) = (None, reductions_first);
    }
}

/// Everything that evaluates pairs of one job.
#[derive(Debug)]
pub struct Vm<'j, T> {
    /// The lowered formula.
    pub low: &'j Lowered,
    /// Its program.
    pub program: Arc<Program>,
    /// Hoisted rows of x.
    pub x: Rows<T>,
    /// Hoisted panels of y.
    pub y: Rows<T>,
    /// The box.
    pub periodic_box: Option<&'j PeriodicBox>,
    /// Instruction set.
    pub isa: Isa,
    /// The compiled program; rows of y are in strips of its lanes then, else in whole panels.
    pub code: Option<Arc<Code<T>>>,
    /// The program compiled to store its results in lines, where a matrix takes them as they come.
    pub lines: Option<Arc<Code<T>>>,
    /// The program compiled to add its results up, where nothing else is requested.
    pub sums: Option<Arc<Code<T>>>,
    /// The unit of these sums, a power of two.
    pub unit: f64,
}

/// Where operands of the current row, block and component come from.
struct Place<'v, 'j, T> {
    vm: &'v Vm<'j, T>,
    row: usize,
    block: usize,
    k: usize,
    reduction: usize,
}

impl<'j, T: Real> Vm<'j, T> {
    /// One that has no rows, of a job that others evaluate.
    pub fn idle(low: &'j Lowered, isa: Isa) -> Self {
        let none = || Rows::empty(low.dim, 0, 0);
        Vm {
            low,
            program: compile(low),
            x: none(),
            y: none(),
            periodic_box: None,
            isa,
            code: None,
            lines: None,
            sums: None,
            unit: 1.0,
        }
    }
    /// Fresh registers.
    pub fn scratch(&self) -> Scratch<T> {
        let lanes = || Box::new([T::default(); BLOCK]);
        let width = |at: usize| self.low.formula.width(at, self.low.dim);
        let mut firsts = vec![0];
        for root in 0..self.program.roots.len() {
            firsts.push(firsts[root] + width(root));
        }
        let numbers = firsts[firsts.len() - 1];
        let group = self.group(numbers);
        let periodic = if self.program.periodic {
            self.low.dim
        } else {
            0
        };
        let registers = if self.code.is_some() {
            0
        } else {
            self.program.registers
        };
        let lines = self
            .lines
            .as_ref()
            .map_or(0, |code| code.rows() * jit::line(size_of::<T>()));
        let sums = if self.sums.is_some() {
            BLOCK * numbers * sums::lanes::<T>()
        } else {
            0
        };
        Scratch {
            registers: (0..registers).map(|_| Some(lanes())).collect(),
            reductions: Block::zeros(0),
            reductions_first: 0,
            deltas: Block::zeros(group * periodic * BLOCK),
            out: Block::zeros((group * numbers * BLOCK).max(lines)),
            firsts,
            held: None,
            current: 0,
            frame: Block::zeros(self.frame()),
            sums: Block::zeros(sums),
        }
    }
    /// Numbers that the largest frame of all codes takes.
    fn frame(&self) -> usize {
        let codes = [&self.code, &self.lines, &self.sums].into_iter().flatten();
        codes.map(|c| c.frame()).max().unwrap_or(0)
    }
    /// Rows that are evaluated at once, of results of this many numbers.
    fn group(&self, numbers: usize) -> usize {
        if self.code.is_some() {
            (4 * jit::GROUP / numbers.max(1)).clamp(1, jit::GROUP)
        } else {
            1
        }
    }
    /// Returns how many rows [`Self::eval`] evaluates together at most.
    pub fn together(&self, scratch: &Scratch<T>) -> usize {
        self.group(scratch.numbers())
    }
    /// Evaluates row `row` of x, and perhaps rows before `end`, against `lanes` (and perhaps more)
    /// of block `block` of y; then read [`Scratch::root`]. Rows that follow in the same block ask
    /// for no other lanes than the first.
    pub fn eval(
        &self,
        scratch: &mut Scratch<T>,
        row: usize,
        end: usize,
        block: usize,
        lanes: &Range<usize>,
    ) {
        if let Some((at, rows)) = &scratch.held
            && *at == block
            && rows.contains(&row)
        {
            scratch.current = row - rows.start;
            return;
        }
        scratch.current = 0;
        match &self.code {
            Some(code) => {
                let numbers = scratch.numbers();
                let rows = row..end.min(row + self.group(numbers)).max(row + 1);
                let out = scratch.out.as_mut_ptr();
                self.run(code, scratch, &rows, block, lanes, out);
                scratch.held = Some((block, rows));
            }
            None => self.interpret(scratch, row, block),
        }
    }
    /// Evaluates `rows`, at most as many as the code of lines takes side by side, against this many
    /// `lanes` from block `block` on, at most a line; then read [`Scratch::line`].
    pub fn line(&self, s: &mut Scratch<T>, rows: &Range<usize>, block: usize, lanes: usize) {
        let Some(code) = &self.lines else { return };
        let together = if self.y.is_seamless() {
            lanes.div_ceil(BLOCK).max(1)
        } else {
            1
        };
        for first in (0..lanes.div_ceil(BLOCK)).step_by(together) {
            let out = s.out[first * BLOCK..].as_mut_ptr();
            self.run(
                code,
                s,
                rows,
                block + first,
                &(0..(together * BLOCK).min(lanes - first * BLOCK)),
                out,
            );
        }
    }
    /// Adds the results of `rows`, at most [`BLOCK`], against the whole of `blocks` of y to the
    /// sums: by row, number and lane.
    pub fn sum(&self, s: &mut Scratch<T>, rows: &Range<usize>, blocks: &Range<usize>) {
        let Some(code) = &self.sums else { return };
        let wide = s.numbers() * sums::lanes::<T>();
        // Differences in a box are kept for a group of rows and a block at a time.
        let group = if self.program.periodic {
            self.group(s.numbers())
        } else {
            BLOCK
        };
        let together = if self.program.periodic || !self.y.is_seamless() {
            1
        } else {
            blocks.len().max(1)
        };
        for start in rows.clone().step_by(group) {
            for block in blocks.clone().step_by(together) {
                let out = s.sums[(start - rows.start) * wide..].as_mut_ptr();
                self.run(
                    code,
                    s,
                    &(start..rows.end.min(start + group)),
                    block,
                    &(0..together * BLOCK),
                    out,
                );
            }
        }
    }
    /// Runs compiled code over a group of rows and the lanes from block `block` on; `out` is where
    /// it leaves results.
    fn run(
        &self,
        code: &Code<T>,
        s: &mut Scratch<T>,
        rows: &Range<usize>,
        block: usize,
        lanes: &Range<usize>,
        out: *mut T,
    ) {
        if self.program.periodic {
            differences(self, rows, block, s.deltas.as_chunks_mut().0);
        }
        let reductions = s
            .reductions
            .get((rows.start - s.reductions_first.min(rows.start)) * BLOCK..)
            .unwrap_or(&[]);
        let blocks = block..block + lanes.end.div_ceil(BLOCK).max(1);
        let operands = jit::Operands {
            x: self.x.streams_of(rows).as_ptr(),
            x_attr: self.x.attrs_of(rows).as_ptr(),
            y: self.y.blocks(&blocks).as_ptr(),
            y_attr: self.y.attrs_of_blocks(&blocks).as_ptr(),
            deltas: s.deltas.as_ptr(),
            reductions: reductions.as_ptr(),
            out,
        };
        // SAFETY: the slices above hold what the formula, for which the code was made, reads of
        // these rows and blocks (`reductions` was filled for the block that holds the rows; lanes
        // go beyond one block where blocks are seamless and nothing else is read by blocks); `out`
        // has room for a group, and the frame is the code's.
        unsafe { code.run(&mut s.frame, rows.len(), lanes, &operands) };
    }
    /// Evaluates one row by the program.
    fn interpret(&self, scratch: &mut Scratch<T>, row: usize, block: usize) {
        match self.isa {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the planner offers an instruction set only where `detect` found it on this
            // machine.
            Isa::Avx512 => unsafe { eval_avx512(self, scratch, row, block) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Isa::Avx2 => unsafe { eval_avx2(self, scratch, row, block) },
            _ => eval_block(self, scratch, row, block),
        }
    }
}

/// [`eval_block`] compiled for AVX-512.
///
/// # Safety
/// The machine has the features named.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2")]
unsafe fn eval_avx512<T: Real>(vm: &Vm<'_, T>, s: &mut Scratch<T>, row: usize, block: usize) {
    eval_block(vm, s, row, block);
}

/// [`eval_block`] compiled for AVX2.
///
/// # Safety
/// The machine has the features named.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn eval_avx2<T: Real>(vm: &Vm<'_, T>, s: &mut Scratch<T>, row: usize, block: usize) {
    eval_block(vm, s, row, block);
}

#[inline(always)]
fn eval_block<T: Real>(vm: &Vm<'_, T>, s: &mut Scratch<T>, row: usize, block: usize) {
    let mut place = Place {
        vm,
        row,
        block,
        k: 0,
        reduction: 0,
    };
    if vm.program.periodic {
        differences(vm, &(row..row + 1), block, s.deltas.as_chunks_mut().0);
    }
    for stage in &vm.program.stages {
        run_stage(&mut place, stage, s);
    }
    steps(&place, &vm.program.finish, s);
    let mut out = std::mem::replace(&mut s.out, Block::zeros(0));
    let lanes: &mut [Lanes<T>] = out.as_chunks_mut().0;
    for (at, parts) in vm.program.roots.iter().enumerate() {
        let lanes = &mut lanes[s.firsts[at]..s.firsts[at + 1]];
        if super::program::is_vector_root(vm.low, at) {
            for (k, o) in lanes.iter_mut().enumerate() {
                place.k = k;
                steps(&place, &vm.program.tail, s);
                copy(resolve(&place, parts[0], s), o);
            }
        } else {
            parts
                .iter()
                .zip(lanes)
                .for_each(|(p, o)| copy(resolve(&place, *p, s), o));
        }
    }
    s.out = out;
}

#[inline(always)]
fn run_stage<T: Real>(place: &mut Place<'_, '_, T>, stage: &StageProgram, s: &mut Scratch<T>) {
    steps(place, &stage.scalars, s);
    let dim = place.vm.low.dim;
    let mut totals: Vec<Lanes<f64>> = vec![];
    for acc in &stage.accs {
        match acc {
            Acc::Reduction(form, sx, sy, dst) => run_reduction(place, (*form, *sx, *sy), *dst, s),
            Acc::Named(op, ..) => totals.push([op.identity(); BLOCK]),
            Acc::User(_, init, ..) => totals.push(first(place, *init, s)),
        }
    }
    if totals.is_empty() {
        return;
    }
    for k in 0..dim {
        place.k = k;
        steps(place, &stage.body, s);
        let loops = stage
            .accs
            .iter()
            .filter(|a| !matches!(a, Acc::Reduction(..)));
        for (acc, total) in loops.zip(&mut totals) {
            add_component(place, acc, total, s);
        }
    }
    let loops = stage
        .accs
        .iter()
        .filter(|a| !matches!(a, Acc::Reduction(..)));
    for (acc, total) in loops.zip(&totals) {
        let (Acc::Named(.., dst) | Acc::User(.., dst) | Acc::Reduction(.., dst)) = acc;
        let mut out = take(s, *dst);
        out.iter_mut()
            .zip(total)
            .for_each(|(o, t)| *o = T::rounded(*t));
        s.registers[*dst] = Some(out);
    }
}

/// A recognised reduction: from its block of pairs where it was computed for all of them.
#[inline(always)]
fn run_reduction<T: Real>(
    place: &mut Place<'_, '_, T>,
    (form, sx, sy): (Reduction, usize, usize),
    dst: usize,
    s: &mut Scratch<T>,
) {
    let mut out = take(s, dst);
    if s.reductions.is_empty() {
        let (x, y) = (
            place.vm.x.stream(sx, place.row),
            place.vm.y.panel(sy, place.block),
        );
        lanes::reduce_vectors(form, x, y, &mut out);
    } else {
        let at = place.reduction * BLOCK + place.row - s.reductions_first;
        out.copy_from_slice(&s.reductions[at * BLOCK..][..BLOCK]);
        place.reduction += 1;
    }
    s.registers[dst] = Some(out);
}

/// Adds the current component to the total of a reduction.
#[inline(always)]
fn add_component<T: Real>(
    place: &Place<'_, '_, T>,
    acc: &Acc,
    total: &mut Lanes<f64>,
    s: &Scratch<T>,
) {
    match acc {
        Acc::Named(op, src, _) => lanes::accumulate(*op, total, resolve(place, *src, s)),
        Acc::User(op, init, src, _) => {
            let v = resolve(place, *src, s);
            let take_first = init.is_none() && place.k == 0;
            let formula = &place.vm.low.formula;
            for (l, t) in total.iter_mut().enumerate() {
                let next = v.lane(l).wide();
                *t = if take_first {
                    next
                } else {
                    bound(formula, *op, *t, next)
                };
            }
        }
        Acc::Reduction(..) => {}
    }
}

fn first<T: Real>(place: &Place<'_, '_, T>, init: Option<Src>, s: &Scratch<T>) -> Lanes<f64> {
    let mut out = [f64::NAN; BLOCK];
    if let Some(src) = init {
        let v = resolve(place, src, s);
        out.iter_mut()
            .enumerate()
            .for_each(|(l, o)| *o = v.lane(l).wide());
    }
    out
}

fn take<T: Real>(s: &mut Scratch<T>, register: usize) -> Box<Lanes<T>> {
    s.registers[register]
        .take()
        .unwrap_or_else(|| Box::new([T::default(); BLOCK]))
}

/// Carries out a list of instructions, compiled once for each instruction set.
#[inline(always)]
fn steps<T: Real>(place: &Place<'_, '_, T>, list: &[LaneInst], s: &mut Scratch<T>) {
    match place.vm.isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the planner offers an instruction set only where `detect` found it on this
        // machine.
        Isa::Avx512 => unsafe { steps_avx512(place, list, s) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Isa::Avx2 => unsafe { steps_avx2(place, list, s) },
        _ => steps_of_any(place, list, s),
    }
}

/// [`steps`] for any machine. A function of its own: every place with a list would have all
/// operations once more.
#[inline(never)]
fn steps_of_any<T: Real>(place: &Place<'_, '_, T>, list: &[LaneInst], s: &mut Scratch<T>) {
    for inst in list {
        step(place, inst, s);
    }
}

/// [`steps`] compiled for AVX-512.
///
/// # Safety
/// The machine has the features named.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2")]
unsafe fn steps_avx512<T: Real>(place: &Place<'_, '_, T>, list: &[LaneInst], s: &mut Scratch<T>) {
    for inst in list {
        step(place, inst, s);
    }
}

/// [`steps`] compiled for AVX2.
///
/// # Safety
/// The machine has the features named.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn steps_avx2<T: Real>(place: &Place<'_, '_, T>, list: &[LaneInst], s: &mut Scratch<T>) {
    for inst in list {
        step(place, inst, s);
    }
}

#[inline(always)]
fn step<T: Real>(place: &Place<'_, '_, T>, inst: &LaneInst, s: &mut Scratch<T>) {
    let mut out = take(s, inst.dst);
    let a = resolve(place, inst.src[0], s);
    match inst.op {
        LaneOp::Unary(op) => lanes::unary(op, &mut out, a),
        LaneOp::Binary(op) => lanes::binary(op, &mut out, a, resolve(place, inst.src[1], s)),
        LaneOp::Select => lanes::select(
            &mut out,
            a,
            resolve(place, inst.src[1], s),
            resolve(place, inst.src[2], s),
        ),
    }
    s.registers[inst.dst] = Some(out);
}

#[inline(always)]
fn resolve<'a, T: Real>(place: &Place<'a, '_, T>, src: Src, s: &'a Scratch<T>) -> Operand<'a, T> {
    let vm = place.vm;
    match src {
        Src::Reg(r) => match &s.registers[r] {
            Some(lanes) => Operand::Lanes(lanes),
            None => Operand::Splat(T::rounded(f64::NAN)),
        },
        Src::XStream(n) => Operand::Splat(vm.x.stream(n, place.row)[place.k]),
        Src::YStream(n) => Operand::Lanes(&vm.y.panel(n, place.block)[place.k]),
        Src::Vector(n) => Operand::Splat(T::rounded(vm.low.constants[n][place.k])),
        Src::XAttr(n) => Operand::Splat(vm.x.attr(n, place.row)),
        Src::YAttr(n) => Operand::Lanes(vm.y.attr_panel(n, place.block)),
        Src::Const(v) => Operand::Splat(T::rounded(v)),
        Src::DeltaK => Operand::Lanes(&s.deltas.as_chunks().0[place.k]),
        Src::DeltaAt(k) => Operand::Lanes(&s.deltas.as_chunks().0[k]),
    }
}

#[inline(always)]
fn copy<T: Real>(v: Operand<'_, T>, out: &mut Lanes<T>) {
    match v {
        Operand::Lanes(v) => out.copy_from_slice(v),
        Operand::Splat(v) => out.fill(v),
    }
}

/// Differences of `rows` to every lane of a block by the minimum image, in f64, by row and
/// component; compiled once for each instruction set: without instructions that round, every
/// rounding of a triclinic box is a call.
#[inline(always)]
fn differences<T: Real>(vm: &Vm<'_, T>, rows: &Range<usize>, block: usize, to: &mut [Lanes<T>]) {
    match vm.isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the planner offers an instruction set only where `detect` found it on this
        // machine.
        Isa::Avx512 => unsafe { differences_avx512(vm, rows, block, to) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Isa::Avx2 => unsafe { differences_avx2(vm, rows, block, to) },
        _ => differences_by_lanes(vm, rows, block, to),
    }
}

/// [`differences_by_lanes`] compiled for AVX-512.
///
/// # Safety
/// The machine has the features named.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2")]
unsafe fn differences_avx512<T: Real>(
    vm: &Vm<'_, T>,
    rows: &Range<usize>,
    block: usize,
    to: &mut [Lanes<T>],
) {
    differences_by_lanes(vm, rows, block, to);
}

/// [`differences_by_lanes`] compiled for AVX2.
///
/// # Safety
/// The machine has the features named.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn differences_avx2<T: Real>(
    vm: &Vm<'_, T>,
    rows: &Range<usize>,
    block: usize,
    to: &mut [Lanes<T>],
) {
    differences_by_lanes(vm, rows, block, to);
}

#[inline(always)]
fn differences_by_lanes<T: Real>(
    vm: &Vm<'_, T>,
    rows: &Range<usize>,
    block: usize,
    to: &mut [Lanes<T>],
) {
    let Some(periodic_box) = vm.periodic_box else {
        return;
    };
    let stream = |side: usize| vm.low.raw_vector(side).unwrap_or(0);
    let (of_x, of_y) = (stream(0), stream(1));
    let others = Others::<BLOCK>::new(vm.low.dim, |k, to| vm.y.component(of_y, block, k, to));
    for (row, to) in rows.clone().zip(to.chunks_mut(vm.low.dim.max(1))) {
        let mut x = [0.0; 3];
        x.iter_mut()
            .zip(vm.x.stream(of_x, row))
            .for_each(|(x, v)| *x = v.wide());
        periodic_box.image().differences(x, &others, T::rounded, to);
    }
}
