//! From steps to instructions of a tile: the formula for R rows of x and S vectors of lanes of y,
//! instances abreast where registers hold them, else one after another; what instances share (lanes
//! of y, constants) is loaded once.
//!
//! Where functions are called no register outlives the call: what is read in another segment lies
//! in the frame.
//!
//! ```text
//! loop over strips of lanes
//!     for each loop over components
//!         what comes before it; accumulators = neutral, one for each instance
//!         few components: written out, else a loop of the code
//!             for each step: for each instance (abreast), or for each instance: for each step
//!                 operand = register, mask, memory, constant; loads are kept until memory changes
//!                 instruction → listing
//!     finish: results → store, or add to sums
//! sums that stayed in registers → memory
//! constants and sums are loaded before the loop
//! ```
//!
//! Why this shape: abreast, instructions of R · S instances do not wait for each other, so a chain
//! of additions costs its throughput and not its latency. One after another needs fewer registers;
//! the caller takes it where the other form does not fit.

use super::SUM;
use super::calls::Call;
use super::ir::{Arg, Base, Class, Geometry, HEAD, Inst, Listing, Mem, NONE, Op, V};
use super::step::{Fold, Kind, Loop, Step, Steps, reads};
use super::steps::call;
use crate::pairs::program::Src;
use std::collections::HashMap;
use zipfold_core::fold::BLOCK;
use zipfold_core::pair::tree::ComponentReduce;

/// Components of a loop that is written out.
const WRITTEN_OUT: usize = 4;
/// Components summed in single precision before the sum is widened.
const SLICE: usize = 128;
/// Sums of results that stay in registers from strip to strip.
pub(super) const HELD: usize = 12;
/// The most bytes of a frame.
pub(super) const FRAME: i64 = 1 << 20;

/// A value of an instance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Val {
    /// Not computed.
    Nothing,
    /// In a register.
    V(V),
    /// A truth value, in a mask.
    Mask(V),
    /// In memory; read by one instruction only where `.1`.
    M(Mem, bool),
}

/// A tile in the making.
pub(super) struct Tile<'s> {
    steps: &'s Steps,
    /// Sizes.
    pub geo: Geometry,
    /// What came out.
    pub list: Listing,
    /// Constants, by their bits.
    pub pool: &'s mut Vec<u64>,
    env: Vec<Vec<Val>>,
    cache: HashMap<Mem, V>,
    constants: HashMap<u64, V>,
    lead: Vec<Inst>,
    /// Sums in registers, by their places.
    sums: Vec<(Mem, V)>,
    /// Products of what lies in memory with constants, as the cache.
    scaled: HashMap<(Mem, u64), V>,
    uses: HashMap<(u8, u64), usize>,
    slots: Vec<Option<i64>>,
    frame: i64,
    at: Option<usize>,
    row: usize,
    strip: usize,
    first: bool,
    /// Whether truth values become numbers at once, where masks run out.
    pub truths: bool,
    abreast: bool,
}

/// Writes the tile out: its instructions, and the bytes of its frame. Instances go `abreast`, step
/// by step, where registers hold what all of them have under way: the processor then finds more to
/// do while one waits.
pub(super) fn tile(
    steps: &Steps,
    geo: Geometry,
    pool: &mut Vec<u64>,
    truths: bool,
    abreast: bool,
) -> (Listing, i64) {
    let mut tile = Tile {
        steps,
        geo,
        list: Listing::default(),
        pool,
        env: vec![vec![Val::Nothing; steps.registers]; geo.instances()],
        cache: HashMap::new(),
        constants: HashMap::new(),
        lead: vec![],
        sums: vec![],
        scaled: HashMap::new(),
        uses: HashMap::new(),
        slots: vec![None; steps.registers],
        frame: HEAD,
        at: None,
        row: 0,
        strip: 0,
        first: false,
        truths,
        abreast,
    };
    tile.list.push(Op::Strips, NONE, [Arg::No; 3]);
    tile.list.push(Op::Start(0), NONE, [Arg::No; 3]);
    for one in &steps.loops {
        tile.components(one);
    }
    if steps.loops.iter().any(|l| !l.body.is_empty()) {
        tile.list.push(Op::Start(0), NONE, [Arg::No; 3]);
    }
    tile.section(&steps.finish, &[]);
    tile.list.push(Op::EndStrips, NONE, [Arg::No; 3]);
    for (mem, sum) in std::mem::take(&mut tile.sums) {
        tile.list
            .push(Op::Store, NONE, [Arg::V(sum), Arg::M(mem), Arg::No]);
    }
    // Constants and sums are loaded before the loop.
    let lead = std::mem::take(&mut tile.lead);
    tile.list.insts.splice(0..0, lead);
    (tile.list, tile.frame)
}

fn key(src: &Src) -> (u8, u64) {
    match src {
        Src::Reg(r) => (0, *r as u64),
        Src::XStream(n) => (1, *n as u64),
        Src::YStream(n) => (2, *n as u64),
        Src::Vector(n) => (3, *n as u64),
        Src::XAttr(n) => (4, *n as u64),
        Src::YAttr(n) => (5, *n as u64),
        Src::Const(v) => (6, v.to_bits()),
        Src::DeltaK => (7, 0),
        Src::DeltaAt(k) => (8, *k as u64),
    }
}

impl Tile<'_> {
    /// Whether a NaN might not reach the result.
    pub(super) fn decides(&self) -> bool {
        self.steps.decides
    }
    /// A new register for numbers.
    pub(super) fn vector(&mut self) -> V {
        self.list.register(Class::Vector)
    }
    /// A new register for truth values.
    pub(super) fn mask_register(&mut self) -> V {
        self.list.register(if self.geo.wide {
            Class::Mask
        } else {
            Class::Vector
        })
    }
    /// Room in the frame for `count` vectors.
    fn room(&mut self, count: usize) -> i64 {
        let at = self.frame;
        self.frame += (count * self.geo.vector()) as i64;
        at
    }
    fn frame_at(disp: i64) -> Mem {
        Mem {
            base: Base::Frame,
            disp,
            broadcast: false,
            by_k: false,
        }
    }
    fn instance(&self) -> usize {
        self.row * self.geo.strips + self.strip
    }
    /// The bits of `v` as a constant.
    pub(super) fn bits(&self, v: f64) -> u64 {
        if self.geo.size == 4 {
            u64::from((v as f32).to_bits())
        } else {
            v.to_bits()
        }
    }
    /// A constant in memory.
    fn pooled(&mut self, bits: u64) -> Mem {
        let at = self
            .pool
            .iter()
            .position(|b| *b == bits)
            .unwrap_or_else(|| {
                self.pool.push(bits);
                self.pool.len() - 1
            });
        Mem {
            base: Base::Pool,
            disp: (at * self.geo.size) as i64,
            broadcast: true,
            by_k: false,
        }
    }
    /// A constant in a register: loaded once for the whole tile, or once a segment where functions
    /// are called.
    pub(super) fn constant(&mut self, bits: u64) -> V {
        let mem = self.pooled(bits);
        if self.steps.calls {
            return self.load(mem);
        }
        if let Some(v) = self.constants.get(&bits) {
            return *v;
        }
        let v = self.vector();
        self.lead.push(Inst {
            op: Op::Load,
            dst: v,
            src: [Arg::M(mem), Arg::No, Arg::No],
        });
        self.constants.insert(bits, v);
        v
    }
    /// The number `v` as a constant in a register.
    pub(super) fn number_constant(&mut self, v: f64) -> V {
        let bits = self.bits(v);
        self.constant(bits)
    }
    fn load(&mut self, mem: Mem) -> V {
        if let Some(v) = self.cache.get(&mem) {
            return *v;
        }
        let v = self.vector();
        self.list.push(Op::Load, v, [Arg::M(mem), Arg::No, Arg::No]);
        self.cache.insert(mem, v);
        v
    }
    /// Forgets what was loaded.
    fn forget(&mut self) {
        self.cache.clear();
        self.scaled.clear();
    }
    /// `val`, whose register is `v`, times a constant: once for all instances that share it.
    pub(super) fn times(&mut self, val: Val, v: V, factor: f64) -> V {
        let bits = self.bits(factor);
        let key = if let Val::M(mem, _) = val {
            Some((mem, bits))
        } else {
            None
        };
        if let Some(have) = key.and_then(|key| self.scaled.get(&key)) {
            return *have;
        }
        let factor = self.constant(bits);
        let product = self.vector();
        self.list
            .push(Op::Mul, product, [Arg::V(v), Arg::V(factor), Arg::No]);
        if let Some(key) = key {
            self.scaled.insert(key, product);
        }
        product
    }
    /// A value in a register.
    pub(super) fn number(&mut self, val: Val) -> V {
        match val {
            Val::V(v) => v,
            Val::M(mem, _) if mem.base == Base::Pool => {
                self.constant(self.pool[mem.disp as usize / self.geo.size])
            }
            Val::M(mem, _) => self.load(mem),
            Val::Mask(m) => {
                let one = self.number_constant(1.0);
                let v = self.vector();
                self.list
                    .push(Op::Keep, v, [Arg::V(m), Arg::V(one), Arg::No]);
                v
            }
            Val::Nothing => self.number_constant(f64::NAN),
        }
    }
    /// A value as a last operand.
    pub(super) fn arg(&mut self, val: Val) -> Arg {
        match val {
            Val::M(mem, once) => match self.cache.get(&mem) {
                Some(v) => Arg::V(*v),
                None if mem.base != Base::Pool && once && (self.geo.wide || !mem.broadcast) => {
                    Arg::M(mem)
                }
                None => Arg::V(self.number(val)),
            },
            _ => Arg::V(self.number(val)),
        }
    }
    /// Where operand `src` of the current instance is.
    pub(super) fn operand(&mut self, src: &Src) -> Val {
        let Some(mem) = self.memory_of(src) else {
            return self.register_or_constant(src);
        };
        let sharing = match mem.base {
            Base::X | Base::XAttr => self.geo.strips,
            Base::Y | Base::YAttr => self.geo.rows,
            Base::Vectors => self.geo.instances(),
            _ => 1,
        };
        let uses = self.uses.get(&key(src)).copied().unwrap_or(1) * sharing;
        Val::M(mem, uses <= 1)
    }
    fn register_or_constant(&mut self, src: &Src) -> Val {
        match src {
            Src::Reg(r) => match self.env[self.instance()][*r] {
                Val::M(mem, _) => {
                    let uses = self.uses.get(&key(src)).copied().unwrap_or(1);
                    Val::M(mem, uses <= 1)
                }
                other => other,
            },
            Src::Const(v) => {
                let bits = self.bits(*v);
                Val::M(self.pooled(bits), false)
            }
            _ => Val::Nothing,
        }
    }
    /// The memory that an operand is read from; none of registers and constants.
    fn memory_of(&self, src: &Src) -> Option<Mem> {
        let geo = self.geo;
        let (size, dim, vector) = (geo.size, geo.dim, geo.vector());
        let k = self.at.unwrap_or(0);
        let [sx, sy] = geo.row_vectors;
        let lane = self.strip * vector;
        let delta = |k: usize| (self.row * dim + k) * BLOCK * size + lane;
        let (base, at) = match src {
            Src::Reg(_) | Src::Const(_) => return None,
            Src::XStream(n) => (Base::X, ((self.row * sx + n) * dim + k) * size),
            Src::YStream(n) => (Base::Y, ((self.strip * sy + n) * dim + k) * vector),
            Src::Vector(n) => (Base::Vectors, (n * dim + k) * size),
            Src::XAttr(n) => (Base::XAttr, (self.row * geo.row_scalars + n) * size),
            Src::YAttr(n) => (Base::YAttr, n * BLOCK * size + lane),
            Src::DeltaK => (Base::Deltas, delta(k)),
            Src::DeltaAt(k) => (Base::Deltas, delta(*k)),
        };
        let by_component = matches!(base, Base::X | Base::Y | Base::Vectors);
        Some(Mem {
            base,
            disp: at as i64,
            broadcast: matches!(base, Base::X | Base::Vectors | Base::XAttr),
            by_k: by_component && self.at.is_none(),
        })
    }
    /// Instructions of one loop over components with what comes before it.
    fn components(&mut self, one: &Loop) {
        self.section(&one.before, &[]);
        self.uses.clear();
        self.start_folds(&one.folds);
        if one.body.is_empty() {
            return;
        }
        let dim = self.geo.dim;
        let headless = one
            .folds
            .iter()
            .any(|f| matches!(f.kind, Kind::User(_, None)));
        if dim <= WRITTEN_OUT || self.steps_periodic(one) {
            for k in 0..dim {
                (self.at, self.first) = (Some(k), k == 0);
                self.section(&one.body, &one.folds);
            }
            (self.at, self.first) = (None, false);
            return;
        }
        if headless {
            (self.at, self.first) = (Some(0), true);
            self.section(&one.body, &one.folds);
            (self.at, self.first) = (None, false);
        }
        let wide: Vec<&Fold> = one
            .folds
            .iter()
            .filter(|f| self.geo.size == 4 && is_sum(f))
            .collect();
        if wide.is_empty() || dim <= SLICE {
            self.list
                .push(Op::Start(usize::from(headless)), NONE, [Arg::No; 3]);
            self.looped(one, Some(dim));
        } else {
            self.sliced(one, &wide);
        }
        self.list.push(Op::Start(0), NONE, [Arg::No; 3]);
    }
    fn steps_periodic(&self, one: &Loop) -> bool {
        one.body
            .iter()
            .flat_map(|s| reads(s, &one.folds))
            .any(|s| s == Src::DeltaK)
    }
    fn looped(&mut self, one: &Loop, to: Option<usize>) {
        self.forget();
        self.list.push(Op::Loop(to), NONE, [Arg::No; 3]);
        self.section(&one.body, &one.folds);
        self.list.push(Op::End(to), NONE, [Arg::No; 3]);
        self.forget();
    }
    /// Places in the frame for totals of each instance in double precision, with zero in them.
    fn zero_totals(&mut self, count: usize) -> Vec<i64> {
        let n = self.geo.instances();
        let totals: Vec<i64> = (0..count).map(|_| self.room(2 * n)).collect();
        let zero = self.constant(0);
        for total in &totals {
            for at in 0..2 * n {
                let mem = Self::frame_at(total + (at * self.geo.vector()) as i64);
                self.list
                    .push(Op::Store, NONE, [Arg::V(zero), Arg::M(mem), Arg::No]);
            }
        }
        totals
    }
    /// Sums of slices in single precision, their totals in double.
    fn sliced(&mut self, one: &Loop, wide: &[&Fold]) {
        let totals = self.zero_totals(wide.len());
        let dim = self.geo.dim;
        self.forget();
        self.list.push(Op::Start(0), NONE, [Arg::No; 3]);
        self.list.push(Op::Slices(SLICE, dim), NONE, [Arg::No; 3]);
        self.each(|t| wide.iter().for_each(|f| t.assign_constant(f.dst, 0.0)));
        self.looped(one, None);
        self.totals(wide, &totals, |t, dst, mem| {
            let (sum, zero) = (t.accumulator(dst), t.number_constant(0.0));
            let room = t.vector();
            t.copy(room, zero);
            t.list
                .push(Op::WidenAdd, room, [Arg::V(sum), Arg::M(mem), Arg::No]);
        });
        self.forget();
        self.list.push(Op::EndSlices(dim), NONE, [Arg::No; 3]);
        self.totals(wide, &totals, |t, dst, mem| {
            let (out, spare, zero) = (t.vector(), t.vector(), t.number_constant(0.0));
            t.copy(out, zero);
            t.copy(spare, zero);
            t.list
                .push(Op::Narrow, out, [Arg::V(spare), Arg::M(mem), Arg::No]);
            t.assign(dst, out);
        });
    }
    fn totals(&mut self, wide: &[&Fold], totals: &[i64], each: impl Fn(&mut Self, usize, Mem)) {
        self.forget();
        self.each(|t| {
            for (fold, total) in wide.iter().zip(totals) {
                each(
                    t,
                    fold.dst,
                    Self::frame_at(total + (2 * t.instance() * t.geo.vector()) as i64),
                );
            }
        });
    }
    fn each(&mut self, mut f: impl FnMut(&mut Self)) {
        for row in 0..self.geo.rows {
            for strip in 0..self.geo.strips {
                (self.row, self.strip) = (row, strip);
                f(self);
            }
        }
    }
    fn start_folds(&mut self, folds: &[Fold]) {
        self.forget();
        self.each(|t| {
            for fold in folds {
                match &fold.kind {
                    Kind::Named(op) => t.assign_constant(fold.dst, op.identity()),
                    Kind::Fused(..) => t.assign_constant(fold.dst, 0.0),
                    Kind::User(_, None) => t.assign_constant(fold.dst, f64::NAN),
                    Kind::User(_, Some(init)) => {
                        let v = t.operand(init);
                        let v = t.number(v);
                        t.assign(fold.dst, v);
                    }
                    Kind::Given(number) => {
                        let at = (number * BLOCK + t.row) * BLOCK * t.geo.size
                            + t.strip * t.geo.vector();
                        let mem = Mem {
                            base: Base::Reductions,
                            disp: at as i64,
                            broadcast: false,
                            by_k: false,
                        };
                        let at = t.instance();
                        t.env[at][fold.dst] = Val::M(mem, false);
                    }
                }
            }
        });
        self.forget();
    }
    fn assign_constant(&mut self, register: usize, v: f64) {
        let v = self.number_constant(v);
        self.assign(register, v);
    }
    /// Sets an accumulator: a register of its own, or its place in the frame.
    fn assign(&mut self, register: usize, from: V) {
        let at = self.instance();
        if self.steps.calls {
            return self.keep(register, from);
        }
        let to = match self.env[at][register] {
            Val::V(v) => v,
            _ => self.vector(),
        };
        self.list
            .push(Op::Load, to, [Arg::V(from), Arg::No, Arg::No]);
        self.env[at][register] = Val::V(to);
    }
    /// Stores a value that another segment reads.
    fn keep(&mut self, register: usize, from: V) {
        let at = self.instance();
        let slot = match self.slots[register] {
            Some(slot) => slot,
            None => {
                let slot = self.room(self.geo.instances());
                self.slots[register] = Some(slot);
                slot
            }
        };
        let mem = Self::frame_at(slot + (at * self.geo.vector()) as i64);
        self.list
            .push(Op::Store, NONE, [Arg::V(from), Arg::M(mem), Arg::No]);
        self.cache.insert(mem, from);
        self.env[at][register] = Val::M(mem, false);
    }
    fn accumulator(&mut self, register: usize) -> V {
        let at = self.instance();
        self.number(self.env[at][register])
    }
    /// Steps for all instances; calls serve all instances at once.
    fn section(&mut self, list: &[Step], folds: &[Fold]) {
        self.forget();
        self.uses.clear();
        for src in list.iter().flat_map(|s| reads(s, folds)) {
            *self.uses.entry(key(&src)).or_default() += 1;
        }
        let target = self.geo.target();
        let mut rest = list;
        while !rest.is_empty() {
            let cut = rest
                .iter()
                .position(|s| call(s, target).is_some())
                .unwrap_or(rest.len());
            let (segment, after) = rest.split_at(cut);
            match self.abreast {
                true => segment.iter().for_each(|s| self.each(|t| t.step(s, folds))),
                false => self.each(|t| segment.iter().for_each(|s| t.step(s, folds))),
            }
            rest = after;
            if let Some((Step::Inst(inst, of), next)) = rest.split_first() {
                if let Some(function) = call(&Step::Inst(*inst, *of), target)
                    && !self.is_skipped(*of, folds)
                {
                    self.call(function, inst);
                }
                rest = next;
            }
        }
    }
    /// The first component of a reduction without an initial value is taken as it is.
    fn is_skipped(&self, of: Option<usize>, folds: &[Fold]) -> bool {
        self.first && of.is_some_and(|f| matches!(folds[f].kind, Kind::User(_, None)))
    }
    fn call(&mut self, function: Call, inst: &crate::pairs::program::LaneInst) {
        let (n, vector) = (self.geo.instances(), self.geo.vector());
        let out = self.room(n);
        let rooms = [
            self.room(n),
            if function.is_binary() {
                self.room(n)
            } else {
                HEAD
            },
        ];
        let operands = 1 + usize::from(function.is_binary());
        self.each(|t| {
            for (src, room) in inst.src[..operands].iter().zip(rooms) {
                let v = t.operand(src);
                let v = t.number(v);
                let mem = Self::frame_at(room + (t.instance() * vector) as i64);
                t.list
                    .push(Op::Store, NONE, [Arg::V(v), Arg::M(mem), Arg::No]);
            }
        });
        self.forget();
        let numbers = n * self.geo.lanes();
        self.list.push(
            Op::Call(function.number(), numbers, out, rooms[0], rooms[1]),
            NONE,
            [Arg::No; 3],
        );
        for (at, env) in self.env.iter_mut().enumerate() {
            env[inst.dst] = Val::M(Self::frame_at(out + (at * vector) as i64), false);
        }
    }
    fn step(&mut self, step: &Step, folds: &[Fold]) {
        match step {
            Step::Inst(_, of) if self.is_skipped(*of, folds) => {}
            Step::Inst(inst, _) => {
                let value = self.compute(inst);
                self.define(inst.dst, value);
            }
            Step::Power(src, factor, dst) => {
                let a = self.operand(src);
                let value = self.power_of_two(a, *factor);
                self.define(*dst, Val::V(value));
            }
            Step::ReciprocalRoot(src, n, factor, dst) => {
                let x = self.operand(src);
                let x = self.number(x);
                let value = self.reciprocal_root(x, *n, Some(factor));
                self.define(*dst, Val::V(value));
            }
            Step::Fold(f) => self.fold(&folds[*f]),
            Step::Out(src, factor, number, by_k) => {
                let v = self.operand(src);
                let v = self.number(v);
                let mem = self.result_place(*number, *by_k);
                match self.geo.results.are_added() {
                    true => self.add_up(v, factor.as_ref(), mem),
                    false => self
                        .list
                        .push(Op::Store, NONE, [Arg::V(v), Arg::M(mem), Arg::No]),
                }
            }
        }
    }
    /// Where a result goes: a lane of its own, or the sum of its column.
    fn result_place(&self, number: usize, by_k: bool) -> Mem {
        let number = number + if by_k { self.at.unwrap_or(0) } else { 0 };
        let vector = self.geo.vector();
        let strip = if self.geo.results.are_added() {
            self.strip % (SUM / vector)
        } else {
            self.strip
        };
        let row = (self.row * self.geo.numbers + number) * self.geo.out_step();
        Mem {
            base: Base::Out,
            disp: (row + strip * vector) as i64,
            broadcast: false,
            by_k: by_k && self.at.is_none(),
        }
    }
    /// Adds `v`, times a `factor` where there is one, to a sum, which stays in a register where all
    /// strips add to one place and few sums do.
    fn add_up(&mut self, v: V, factor: Option<&Src>, mem: Mem) {
        let few = self.geo.rows * self.geo.numbers <= HELD;
        let held = few && self.geo.vector() == SUM && !mem.by_k && !self.steps.calls;
        let sum = if held { self.held(mem) } else { self.vector() };
        if !held {
            self.list
                .push(Op::Load, sum, [Arg::M(mem), Arg::No, Arg::No]);
        }
        match factor {
            None => self
                .list
                .push(Op::Add, sum, [Arg::V(sum), Arg::V(v), Arg::No]),
            Some(factor) => {
                let factor = self.operand(factor);
                let factor = self.arg(factor);
                if self.geo.size == 4 {
                    self.list.push(Op::Fma, sum, [Arg::V(v), factor, Arg::No]);
                } else {
                    // In double precision a product is rounded, as everywhere.
                    let product = self.vector();
                    self.list
                        .push(Op::Mul, product, [Arg::V(v), factor, Arg::No]);
                    self.list
                        .push(Op::Add, sum, [Arg::V(sum), Arg::V(product), Arg::No]);
                }
            }
        }
        if !held {
            self.list
                .push(Op::Store, NONE, [Arg::V(sum), Arg::M(mem), Arg::No]);
        }
    }
    /// The register of the sum at `mem`, loaded before the loop.
    fn held(&mut self, mem: Mem) -> V {
        if let Some((_, sum)) = self.sums.iter().find(|(at, _)| *at == mem) {
            return *sum;
        }
        let sum = self.vector();
        self.lead.push(Inst {
            op: Op::Load,
            dst: sum,
            src: [Arg::M(mem), Arg::No, Arg::No],
        });
        self.sums.push((mem, sum));
        sum
    }
    /// Sets a register of the current instance.
    fn define(&mut self, register: usize, value: Val) {
        if self.steps.calls && self.steps.crossing[register] {
            let v = self.number(value);
            return self.keep(register, v);
        }
        let at = self.instance();
        self.env[at][register] = match value {
            Val::Mask(_) if self.truths => Val::V(self.number(value)),
            other => other,
        };
    }
    /// An accumulator takes a component.
    fn fold(&mut self, fold: &Fold) {
        let next = match &fold.kind {
            Kind::User(_, None) if self.first => self.operand(&fold.src),
            Kind::User(result, _) => self.operand(result),
            _ => self.operand(&fold.src),
        };
        let acc = self.accumulator(fold.dst);
        match &fold.kind {
            Kind::Named(ComponentReduce::Sum) => self.fold_sum(fold.dst, acc, next),
            Kind::Fused(_, b) => self.fold_product(fold.dst, acc, next, b),
            Kind::Named(op) => {
                let value = self.binary(op.operator(), Val::V(acc), next);
                let v = self.number(value);
                self.assign(fold.dst, v);
            }
            Kind::User(..) => {
                let v = self.number(next);
                self.assign(fold.dst, v);
            }
            Kind::Given(_) => {}
        }
    }
    /// A sum takes a number, or one where a mask is true.
    fn fold_sum(&mut self, register: usize, acc: V, next: Val) {
        let to = self.target(register, acc);
        match next {
            Val::Mask(m) if self.geo.wide => {
                let one = self.number_constant(1.0);
                self.copy(to, acc);
                self.list
                    .push(Op::AddIf, to, [Arg::V(m), Arg::V(acc), Arg::V(one)]);
            }
            _ => {
                let next = self.arg(next);
                self.list.push(Op::Add, to, [Arg::V(acc), next, Arg::No]);
            }
        }
        self.settle(register, to);
    }
    /// A sum takes the product of `next` and `b`, with one rounding.
    fn fold_product(&mut self, register: usize, acc: V, next: Val, b: &Src) {
        let b = self.operand(b);
        let (a, b) = match b {
            Val::M(..) => (next, b),
            _ => (b, next),
        };
        let a = self.number(a);
        let b = self.arg(b);
        let to = self.target(register, acc);
        self.copy(to, acc);
        self.list.push(Op::Fma, to, [Arg::V(a), b, Arg::No]);
        self.settle(register, to);
    }
    /// Where the new value of an accumulator goes.
    fn target(&mut self, register: usize, acc: V) -> V {
        match self.env[self.instance()][register] {
            Val::V(_) => acc,
            _ => self.vector(),
        }
    }
    fn copy(&mut self, to: V, from: V) {
        if to != from {
            self.list
                .push(Op::Load, to, [Arg::V(from), Arg::No, Arg::No]);
        }
    }
    fn settle(&mut self, register: usize, v: V) {
        if self.steps.calls {
            self.keep(register, v);
        }
    }
}

fn is_sum(fold: &Fold) -> bool {
    matches!(
        fold.kind,
        Kind::Named(ComponentReduce::Sum) | Kind::Fused(..)
    )
}
