//! The paper's bucket kernel: any number of tables at once, without an intermediate table.
//!
//! The digits that run fastest are cut off as a *block* of at most some thousand configurations;
//! all slower ones are counted in mixed radix. Along the block each table is a run, a constant or a
//! pattern of offsets. A small table with a pattern is rearranged once, so that the block becomes a
//! run in it too.
//!
//! ```text
//! for each configuration of the slow kept digits                        in parallel
//!     out = 0 along the block
//!     for each configuration of the summed digits
//!         offsets of all tables: those of the previous configuration plus the steps of the digits
//!         out ⊕= product of the tables along the block
//!     result = out
//! ```
//!
//! Why this shape: the inner loop is long and straight whatever the tables look like, and nothing
//! is written but the result. What it costs is one product per configuration of *all* variables.
//! Where a join of two tables could sum a variable early, the matrix kernels ([`super::matrix`]) do
//! fewer operations; the plan decides.
//!
//! A log-sum-exp goes over the summed digits twice, first for the largest term of each entry, then
//! for the sum of exponentials below it. A result of a single block is split along its summed
//! digits instead, and the parts are merged in order.

use super::lanes::{DEEP, MOST_RUNS, Product, ProductStep, Term, accumulate, sum_products};
use super::logs;
use super::real::Real;
use super::shape::{Digit, Shape, offsets};
use super::spread::ALONE;
use rayon::prelude::*;

/// Configurations of a block.
const BLOCK: usize = 1024;
/// Configurations that one task should visit.
const TASK: usize = 1 << 16;

/// How a table looks along a block.
enum Access {
    Constant,
    Run,
    /// Offsets along the block, none above the number.
    Pattern(Vec<usize>, usize),
}

/// How the block falls into the result.
enum Fall {
    /// Entry by entry.
    Run,
    /// Onto entries by these offsets.
    Pattern(Vec<usize>),
}

struct Layout<'a, T: Real> {
    tables: Vec<std::borrow::Cow<'a, [T]>>,
    access: Vec<Access>,
    fall: Fall,
    block: usize,
    out_block: usize,
    outer: Vec<Digit>,
    inner: Vec<Digit>,
    /// Where a sum of products goes along the depth without another look at the digits.
    depths: Option<Depths>,
    mode: Mode,
}

/// Offsets of the tables at every configuration of the summed variables, for tables that are runs
/// or constants along the block.
struct Depths {
    /// By table.
    offsets: Vec<Vec<usize>>,
    /// Tables that are constants.
    constants: Vec<usize>,
    /// Tables that are runs, at most [`MOST_RUNS`].
    runs: Vec<usize>,
}

/// Most configurations whose offsets are written down.
const LISTED: usize = 4096;

impl Depths {
    fn list<T: Real>(layout: &Layout<'_, T>) -> Option<Self> {
        let of = |run: bool| {
            let is = |i: &usize| {
                matches!(
                    (&layout.access[*i], run),
                    (Access::Run, true) | (Access::Constant, false)
                )
            };
            (0..layout.tables.len()).filter(is).collect::<Vec<_>>()
        };
        let (constants, runs) = (of(false), of(true));
        let depth: usize = layout.inner.iter().map(|d| d.card).product();
        let all = constants.len() + runs.len() == layout.tables.len();
        if layout.mode != Mode::Sum
            || !all
            || runs.len() > MOST_RUNS
            || runs.is_empty()
            || depth > LISTED
        {
            return None;
        }
        let list = |i| {
            offsets(
                &layout
                    .inner
                    .iter()
                    .map(|d| (d.card, d.strides[i]))
                    .collect::<Vec<_>>(),
            )
        };
        Some(Depths {
            offsets: (0..layout.tables.len()).map(list).collect(),
            constants,
            runs,
        })
    }
}

/// How products are made and folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Sums of products.
    Sum,
    /// Maxima of products of non-negative numbers.
    Max,
    /// Log-sum-exp of sums of logarithms.
    LogSum,
    /// Maxima of sums of logarithms.
    LogMax,
}

impl Mode {
    fn log(self) -> bool {
        matches!(self, Mode::LogSum | Mode::LogMax)
    }
    /// The identity of the fold.
    fn zero<T: Real>(self) -> T {
        if self.log() {
            T::from_f64(f64::NEG_INFINITY)
        } else {
            T::default()
        }
    }
    fn fold<T: Real>(self, a: T, b: T) -> T {
        match self {
            Mode::Sum => a + b,
            Mode::Max | Mode::LogMax => a.larger(b),
            Mode::LogSum => T::from_f64(logs::add(a.to_f64(), b.to_f64())),
        }
    }
}

/// Contracts `inputs` to `out` (`shape.out_len` entries), overwriting it.
pub fn contract<T: Real>(shape: &Shape, inputs: &[&[T]], mode: Mode, out: &mut [T]) {
    let layout = Layout::new(shape, inputs, mode);
    let rows = out.len() / layout.out_block;
    let depth: usize = layout.inner.iter().map(|d| d.card).product();
    let work = depth * layout.block;
    if rows == 1 && depth > 1 && work > 2 * TASK {
        return layout.deep(depth, out);
    }
    let strip = (TASK / work).max(1);
    if rows <= strip || rows * work < ALONE {
        let mut walk = Walk::new(&layout);
        return out
            .chunks_mut(layout.out_block)
            .enumerate()
            .for_each(|(row, to)| walk.row(row, 0..depth, to));
    }
    out.par_chunks_mut(layout.out_block * strip)
        .enumerate()
        .for_each(|(task, part)| {
            let mut walk = Walk::new(&layout);
            for (at, to) in part.chunks_mut(layout.out_block).enumerate() {
                walk.row(task * strip + at, 0..depth, to);
            }
        });
}

impl<'a, T: Real> Layout<'a, T> {
    fn new(shape: &Shape, inputs: &[&'a [T]], mode: Mode) -> Self {
        let mut digits = shape.digits.clone();
        let cut = cut_block(&mut digits);
        let (slow, fast) = digits.split_at(cut);
        let (inner, outer): (Vec<Digit>, Vec<Digit>) = slow.iter().partition(|d| d.summed);
        let block: usize = fast.iter().map(|d| d.card).product();
        let out_block = fast.iter().filter(|d| !d.summed).map(|d| d.card).product();
        let fall = match fast.iter().any(|d| d.summed) {
            false => Fall::Run,
            true => Fall::Pattern(offsets(
                &fast.iter().map(|d| (d.card, d.out)).collect::<Vec<_>>(),
            )),
        };
        let (tables, access) = (
            Vec::with_capacity(inputs.len()),
            Vec::with_capacity(inputs.len()),
        );
        let mut out = Layout {
            tables,
            access,
            fall,
            block,
            out_block,
            outer,
            inner,
            depths: None,
            mode,
        };
        for (i, table) in inputs.iter().enumerate() {
            out.add(i, table, fast, shape.visits());
        }
        out.depths = Depths::list(&out);
        out
    }
    fn add(&mut self, i: usize, table: &'a [T], fast: &[Digit], visits: f64) {
        let pattern = offsets(
            &fast
                .iter()
                .map(|d| (d.card, d.strides[i]))
                .collect::<Vec<_>>(),
        );
        let access = if pattern.iter().all(|o| *o == 0) {
            Access::Constant
        } else if pattern.iter().enumerate().all(|(at, o)| *o == at) {
            Access::Run
        } else {
            let own: usize = self
                .outer
                .iter()
                .chain(&self.inner)
                .filter(|d| d.strides[i] > 0)
                .map(|d| d.card)
                .product();
            if (own * self.block) as f64 <= (visits / 8.0).max(4096.0)
                && own * self.block <= 1 << 22
            {
                return self.restructure(i, table, &pattern);
            }
            let last = pattern.iter().copied().max().unwrap_or(0);
            Access::Pattern(pattern, last)
        };
        self.tables.push(table.into());
        self.access.push(access);
    }
    /// Copies a table so that the block is a run in it.
    fn restructure(&mut self, i: usize, table: &[T], pattern: &[usize]) {
        let mut own: Vec<&mut Digit> = self
            .outer
            .iter_mut()
            .chain(&mut self.inner)
            .filter(|d| d.strides[i] > 0)
            .collect();
        let bases = offsets(
            &own.iter()
                .map(|d| (d.card, d.strides[i]))
                .collect::<Vec<_>>(),
        );
        let mut stride = self.block;
        for d in own.iter_mut().rev() {
            d.strides[i] = stride;
            stride *= d.card;
        }
        let mut copy = Vec::with_capacity(bases.len() * pattern.len());
        let last = pattern.iter().copied().max().unwrap_or(0);
        for base in bases {
            let from = &table[base..=base + last];
            copy.extend(pattern.iter().map(|o| from[*o]));
        }
        self.tables.push(copy.into());
        self.access.push(Access::Run);
    }
    /// One row whose depth is split into a number of parts that depends on its size alone; parts
    /// are merged in order.
    fn deep(&self, depth: usize, out: &mut [T]) {
        let parts = (depth * self.block / TASK).clamp(2, 64).min(depth);
        let sums: Vec<Vec<T>> = (0..parts)
            .into_par_iter()
            .map(|p| {
                let mut to = vec![T::default(); self.out_block];
                Walk::new(self).row(0, p * depth / parts..(p + 1) * depth / parts, &mut to);
                to
            })
            .collect();
        out.fill(self.mode.zero());
        for part in sums {
            out.iter_mut()
                .zip(part)
                .for_each(|(o, p)| *o = self.mode.fold(*o, p));
        }
    }
}

/// Where the block begins: the longest run of fastest digits of at most [`BLOCK`] configurations. A
/// longer digit is split.
fn cut_block(digits: &mut Vec<Digit>) -> usize {
    let (mut cut, mut len) = (digits.len(), 1);
    while cut > 0 && len * digits[cut - 1].card <= BLOCK {
        cut -= 1;
        len *= digits[cut].card;
    }
    if cut > 0 && len < BLOCK / 4 {
        let digit = digits[cut - 1];
        let part = (1..=BLOCK / len)
            .rev()
            .find(|p| digit.card.is_multiple_of(*p))
            .unwrap_or(1);
        let part = if len == 1 && part < 16 {
            digit.card
        } else {
            part
        };
        let mut slow = Digit {
            card: digit.card / part,
            out: digit.out * part,
            ..digit
        };
        slow.strides.iter_mut().for_each(|s| *s *= part);
        digits[cut - 1].card = part;
        cut -= 1;
        if slow.card > 1 {
            digits.insert(cut, slow);
            cut += 1;
        }
    }
    cut
}

/// Visits configurations, keeping the address of every table by counting.
struct Walk<'l, 'a, T: Real> {
    layout: &'l Layout<'a, T>,
    sums: Vec<T>,
    peaks: Vec<T>,
    gathered: Vec<(usize, Vec<T>)>,
    scratch: Vec<T>,
}

impl<'l, 'a, T: Real> Walk<'l, 'a, T> {
    fn new(layout: &'l Layout<'a, T>) -> Self {
        let gathered = layout
            .access
            .iter()
            .map(|_| (usize::MAX, Vec::new()))
            .collect();
        let sums = if matches!(layout.fall, Fall::Run) {
            Vec::new()
        } else {
            vec![T::default(); layout.block]
        };
        Walk {
            layout,
            sums,
            peaks: Vec::new(),
            gathered,
            scratch: Vec::new(),
        }
    }
    /// Addresses of all tables at configuration `index` of `digits`.
    fn locate(digits: &[Digit], mut index: usize, base: &mut [usize], state: &mut [usize]) {
        for (at, d) in digits.iter().enumerate().rev() {
            state[at] = index % d.card;
            index /= d.card;
            base.iter_mut()
                .zip(&d.strides)
                .for_each(|(b, s)| *b += state[at] * s);
        }
    }
    /// Computes one block of the result over part of the depth.
    fn row(&mut self, row: usize, depth: std::ops::Range<usize>, to: &mut [T]) {
        let layout = self.layout;
        let mut sums = std::mem::take(&mut self.sums);
        let target = if matches!(layout.fall, Fall::Run) {
            &mut *to
        } else {
            &mut sums[..]
        };
        match layout.mode {
            Mode::Sum => match &layout.depths {
                Some(depths) => self.sums(row, depth, depths, target),
                None => self.pass(row, depth, ProductStep::Add, target),
            },
            Mode::Max => self.pass(row, depth, ProductStep::Max, target),
            Mode::LogMax => self.pass(row, depth, ProductStep::LogMax, target),
            Mode::LogSum => {
                let mut peaks = std::mem::take(&mut self.peaks);
                peaks.resize(target.len(), T::default());
                self.pass(row, depth.clone(), ProductStep::LogMax, &mut peaks);
                peaks
                    .iter_mut()
                    .for_each(|p| *p = p.larger(T::from_f64(f64::MIN)));
                self.pass(row, depth, ProductStep::LogAdd(&peaks), target);
                target
                    .iter_mut()
                    .zip(&peaks)
                    .for_each(|(t, p)| *t = T::from_f64(t.to_f64().ln() + p.to_f64()));
                self.peaks = peaks;
            }
        }
        if let Fall::Pattern(pattern) = &layout.fall {
            fold(&sums, pattern, layout.mode, to);
        }
        self.sums = sums;
    }
    /// Sums the products of one block over part of the depth, several configurations at a time.
    fn sums(&self, row: usize, depth: std::ops::Range<usize>, depths: &Depths, target: &mut [T]) {
        let layout = self.layout;
        let mut base = [0usize; super::shape::MOST_INPUTS];
        let mut state = [0usize; 64];
        Self::locate(
            &layout.outer,
            row,
            &mut base[..layout.tables.len()],
            &mut state,
        );
        let mut products = [Product {
            constant: T::ONE,
            runs: [&[][..]; MOST_RUNS],
        }; DEEP];
        for begin in depth.clone().step_by(DEEP) {
            let many = DEEP.min(depth.end - begin);
            for (turn, product) in (begin..).zip(&mut products[..many]) {
                let at = |i: &usize| base[*i] + depths.offsets[*i][turn];
                product.constant = depths
                    .constants
                    .iter()
                    .fold(T::ONE, |c, i| c * layout.tables[*i][at(i)]);
                for (run, i) in product.runs.iter_mut().zip(&depths.runs) {
                    *run = &layout.tables[*i][at(i)..][..layout.block];
                }
            }
            sum_products(
                target,
                begin == depth.start,
                &products[..many],
                depths.runs.len(),
            );
        }
    }
    /// Folds all products of one block over part of the depth into `target`.
    fn pass(
        &mut self,
        row: usize,
        depth: std::ops::Range<usize>,
        step: ProductStep<'_, T>,
        target: &mut [T],
    ) {
        let layout = self.layout;
        let tables = layout.tables.len();
        let mut base = [0usize; super::shape::MOST_INPUTS];
        let mut state = [0usize; 64];
        Self::locate(&layout.outer, row, &mut base[..tables], &mut state);
        Self::locate(&layout.inner, depth.start, &mut base[..tables], &mut state);
        for turn in 0..depth.len() {
            self.add(&base, turn == 0, step, target);
            for (at, d) in layout.inner.iter().enumerate().rev() {
                state[at] += 1;
                if state[at] < d.card {
                    base[..tables]
                        .iter_mut()
                        .zip(&d.strides)
                        .for_each(|(b, s)| *b += s);
                    break;
                }
                state[at] = 0;
                base[..tables]
                    .iter_mut()
                    .zip(&d.strides)
                    .for_each(|(b, s)| *b -= (d.card - 1) * s);
            }
        }
    }
    /// Adds one block of products.
    fn add(&mut self, base: &[usize], first: bool, step: ProductStep<'_, T>, to: &mut [T]) {
        let layout = self.layout;
        for (i, access) in layout.access.iter().enumerate() {
            let Access::Pattern(pattern, last) = access else {
                continue;
            };
            let (at, copy) = &mut self.gathered[i];
            if *at != base[i] {
                *at = base[i];
                let from = &layout.tables[i][base[i]..=base[i] + last];
                copy.clear();
                // SAFETY: no offset of the pattern is above `last`, which is within `from`.
                copy.extend(pattern.iter().map(|o| unsafe { *from.get_unchecked(*o) }));
            }
        }
        let log = layout.mode.log();
        let mut constant = if log { T::default() } else { T::ONE };
        let mut terms: [Term<'_, T>; super::shape::MOST_INPUTS] = [&[]; super::shape::MOST_INPUTS];
        let mut many = 0;
        for (i, access) in layout.access.iter().enumerate() {
            match access {
                Access::Constant if log => constant += layout.tables[i][base[i]],
                Access::Constant => constant = constant * layout.tables[i][base[i]],
                Access::Run => {
                    terms[many] = &layout.tables[i][base[i]..][..layout.block];
                    many += 1;
                }
                Access::Pattern(..) => {
                    terms[many] = &self.gathered[i].1;
                    many += 1;
                }
            }
        }
        accumulate(to, first, constant, &terms[..many], step, &mut self.scratch);
    }
}

/// Folds a block onto the entries of the result that it belongs to.
fn fold<T: Real>(sums: &[T], pattern: &[usize], mode: Mode, to: &mut [T]) {
    to.fill(mode.zero());
    if to.len() == 1 && mode == Mode::Sum {
        let mut parts = [T::default(); 8];
        for chunk in sums.chunks(8) {
            parts.iter_mut().zip(chunk).for_each(|(p, s)| *p += *s);
        }
        to[0] = parts.into_iter().fold(T::default(), |a, b| a + b);
        return;
    }
    for (value, at) in sums.iter().zip(pattern) {
        to[*at] = mode.fold(to[*at], *value);
    }
}
