//! The evaluator (family *vm*): a program over the lanes of one block of columns, one row of x at a time.

use super::lanes::{self, Lanes, Real, Val};
use super::program::{Acc, Inst, Op, Program, Src, StageProgram};
use super::rows::Rows;
use std::sync::Arc;
use zipfold_core::Cell;
use zipfold_core::fold::BLOCK;
use zipfold_core::pair::eval::bound;
use zipfold_core::pair::lower::Lowered;
use zipfold_plan::Isa;

/// Registers and results of one thread.
#[derive(Debug)]
pub struct Scratch<T> {
    registers: Vec<Option<Box<Lanes<T>>>>,
    deltas: Vec<Lanes<T>>,
    /// Values of recognised reductions of the current block of cells, and the row of it that is evaluated.
    pub zips: Vec<Vec<T>>,
    /// Row of the block.
    pub zip_row: usize,
    /// Values by root and number.
    pub roots: Vec<Vec<Box<Lanes<T>>>>,
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
    pub cell: Option<&'j Cell>,
    /// Instruction set.
    pub isa: Isa,
}

/// Where operands of the current row, block and component come from.
struct Place<'v, 'j, T> {
    vm: &'v Vm<'j, T>,
    row: usize,
    block: usize,
    k: usize,
    zip: usize,
}

impl<T: Real> Vm<'_, T> {
    /// Fresh registers.
    pub fn scratch(&self) -> Scratch<T> {
        let lanes = || Box::new([T::default(); BLOCK]);
        let width = |at: usize| self.low.formula.width(at, self.low.dim);
        Scratch {
            registers: (0..self.program.registers).map(|_| Some(lanes())).collect(),
            zips: vec![],
            zip_row: 0,
            deltas: vec![[T::default(); BLOCK]; if self.program.periodic { self.low.dim } else { 0 }],
            roots: (0..self.program.roots.len()).map(|r| (0..width(r)).map(|_| lanes()).collect()).collect(),
        }
    }
    /// Evaluates row `row` of x against all lanes of block `block` of y; read `scratch.roots`.
    pub fn eval(&self, scratch: &mut Scratch<T>, row: usize, block: usize) {
        match self.isa {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the planner offers an instruction set only where `detect` found it on this machine.
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
    let mut place = Place { vm, row, block, k: 0, zip: 0 };
    if vm.program.periodic {
        differences(&place, s);
    }
    for stage in &vm.program.stages {
        run_stage(&mut place, stage, s);
    }
    steps(&place, &vm.program.finish, s);
    for (at, parts) in vm.program.roots.iter().enumerate() {
        let mut out = std::mem::take(&mut s.roots[at]);
        if super::program::is_vector_root(vm.low, at) {
            for (k, o) in out.iter_mut().enumerate() {
                place.k = k;
                steps(&place, &vm.program.tail, s);
                copy(resolve(&place, parts[0], s), o);
            }
        } else {
            parts.iter().zip(&mut out).for_each(|(p, o)| copy(resolve(&place, *p, s), o));
        }
        s.roots[at] = out;
    }
}

#[inline(always)]
fn run_stage<T: Real>(place: &mut Place<'_, '_, T>, stage: &StageProgram, s: &mut Scratch<T>) {
    steps(place, &stage.scalars, s);
    let dim = place.vm.low.dim;
    let mut totals: Vec<Lanes<f64>> = vec![];
    for acc in &stage.accs {
        match acc {
            Acc::Zip(.., dst) if !s.zips.is_empty() => {
                let mut out = take(s, *dst);
                out.copy_from_slice(&s.zips[place.zip][s.zip_row * BLOCK..][..BLOCK]);
                s.registers[*dst] = Some(out);
                place.zip += 1;
            }
            Acc::Zip(form, sx, sy, dst) => {
                let mut out = take(s, *dst);
                let (x, y) = (place.vm.x.stream(*sx, place.row), place.vm.y.panel(*sy, place.block));
                lanes::zip_reduce(*form, x, y, &mut out);
                s.registers[*dst] = Some(out);
            }
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
        let loops = stage.accs.iter().filter(|a| !matches!(a, Acc::Zip(..)));
        for (acc, total) in loops.zip(&mut totals) {
            match acc {
                Acc::Named(op, src, _) => lanes::accumulate(*op, total, resolve(place, *src, s)),
                Acc::User(op, init, src, _) => {
                    let v = resolve(place, *src, s);
                    let take_first = init.is_none() && k == 0;
                    let formula = &place.vm.low.formula;
                    for (l, t) in total.iter_mut().enumerate() {
                        let next = v.at(l).wide();
                        *t = if take_first { next } else { bound(formula, *op, *t, next) };
                    }
                }
                Acc::Zip(..) => {}
            }
        }
    }
    let loops = stage.accs.iter().filter(|a| !matches!(a, Acc::Zip(..)));
    for (acc, total) in loops.zip(&totals) {
        let (Acc::Named(.., dst) | Acc::User(.., dst) | Acc::Zip(.., dst)) = acc;
        let mut out = take(s, *dst);
        out.iter_mut().zip(total).for_each(|(o, t)| *o = T::of(*t));
        s.registers[*dst] = Some(out);
    }
}

fn first<T: Real>(place: &Place<'_, '_, T>, init: Option<Src>, s: &Scratch<T>) -> Lanes<f64> {
    let mut out = [f64::NAN; BLOCK];
    if let Some(src) = init {
        let v = resolve(place, src, s);
        out.iter_mut().enumerate().for_each(|(l, o)| *o = v.at(l).wide());
    }
    out
}

fn take<T: Real>(s: &mut Scratch<T>, register: usize) -> Box<Lanes<T>> {
    s.registers[register].take().unwrap_or_else(|| Box::new([T::default(); BLOCK]))
}

/// Carries out a list of instructions, compiled once for each instruction set.
#[inline(always)]
fn steps<T: Real>(place: &Place<'_, '_, T>, list: &[Inst], s: &mut Scratch<T>) {
    match place.vm.isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the planner offers an instruction set only where `detect` found it on this machine.
        Isa::Avx512 => unsafe { steps_avx512(place, list, s) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Isa::Avx2 => unsafe { steps_avx2(place, list, s) },
        _ => {
            for inst in list {
                step(place, inst, s);
            }
        }
    }
}

/// [`steps`] compiled for AVX-512.
///
/// # Safety
/// The machine has the features named.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2")]
unsafe fn steps_avx512<T: Real>(place: &Place<'_, '_, T>, list: &[Inst], s: &mut Scratch<T>) {
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
unsafe fn steps_avx2<T: Real>(place: &Place<'_, '_, T>, list: &[Inst], s: &mut Scratch<T>) {
    for inst in list {
        step(place, inst, s);
    }
}

#[inline(always)]
fn step<T: Real>(place: &Place<'_, '_, T>, inst: &Inst, s: &mut Scratch<T>) {
    let mut out = take(s, inst.dst);
    let a = resolve(place, inst.src[0], s);
    match inst.op {
        Op::Unary(op) => lanes::unary(op, &mut out, a),
        Op::Binary(op) => lanes::binary(op, &mut out, a, resolve(place, inst.src[1], s)),
        Op::Select => lanes::select(&mut out, a, resolve(place, inst.src[1], s), resolve(place, inst.src[2], s)),
    }
    s.registers[inst.dst] = Some(out);
}

#[inline(always)]
fn resolve<'a, T: Real>(place: &Place<'a, '_, T>, src: Src, s: &'a Scratch<T>) -> Val<'a, T> {
    let vm = place.vm;
    match src {
        Src::Reg(r) => match &s.registers[r] {
            Some(lanes) => Val::Lanes(lanes),
            None => Val::Splat(T::of(f64::NAN)),
        },
        Src::XStream(n) => Val::Splat(vm.x.stream(n, place.row)[place.k]),
        Src::YStream(n) => Val::Lanes(&vm.y.panel(n, place.block)[place.k]),
        Src::Vector(n) => Val::Splat(T::of(vm.low.constants[n][place.k])),
        Src::XAttr(n) => Val::Splat(vm.x.attr(n, place.row)),
        Src::YAttr(n) => Val::Lanes(vm.y.attr_panel(n, place.block)),
        Src::Const(v) => Val::Splat(T::of(v)),
        Src::DeltaK => Val::Lanes(&s.deltas[place.k]),
        Src::DeltaAt(k) => Val::Lanes(&s.deltas[k]),
    }
}

#[inline(always)]
fn copy<T: Real>(v: Val<'_, T>, out: &mut Lanes<T>) {
    match v {
        Val::Lanes(v) => out.copy_from_slice(v),
        Val::Splat(v) => out.fill(v),
    }
}

/// The minimum image of every lane's difference, in f64.
#[inline(always)]
fn differences<T: Real>(place: &Place<'_, '_, T>, s: &mut Scratch<T>) {
    let raw = |side: usize| place.vm.low.raw_stream(side).unwrap_or(0);
    let (x, y) = (place.vm.x.stream(raw(0), place.row), place.vm.y.panel(raw(1), place.block));
    let mut wide = [[0.0f64; BLOCK]; 3];
    for ((wide, x), y) in wide.iter_mut().zip(x).zip(y) {
        wide.iter_mut().zip(y).for_each(|(w, y)| *w = x.wide() - y.wide());
    }
    if let Some(cell) = place.vm.cell {
        let [dx, dy, dz] = &mut wide;
        cell.minimum_image_lanes(dx, dy, dz);
    }
    for (delta, wide) in s.deltas.iter_mut().zip(&wide) {
        delta.iter_mut().zip(wide).for_each(|(d, w)| *d = T::of(*w));
    }
}
