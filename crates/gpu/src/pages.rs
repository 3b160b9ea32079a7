//! The paper's kernel for joins of any shape: what it runs on, and the choices of a person.

use crate::ceilings::Ceilings;
use crate::choice::slower;
use crate::counts::Counts;
use crate::paged::{Bucket, Unroll};
use zipfold_core::Precision;
use zipfold_plan::device::Facts;
use zipfold_plan::overrides::{Overrides, ProductKernel, ProductKnapsack, ProductUnroll};
use zipfold_product::cpu::bucket::Mode;
use zipfold_product::cpu::shape::{MOST_INPUTS, Shape};
use zipfold_product::plan::paged::{Knapsack, Paged, Unit};

/// How joins are divided into pages and segments.
#[derive(Clone, Debug, PartialEq)]
pub struct Pages {
    /// What the kernel runs on.
    pub unit: Unit,
    /// How tables get segments.
    pub knapsack: Knapsack,
    /// Whether they get them where that is not predicted to pay: a person chose the cache.
    pub always: bool,
    /// How loops are unrolled.
    pub unroll: Unroll,
    /// The type of all numbers.
    pub precision: Precision,
    /// Multiprocessors.
    pub units: usize,
    /// Seconds for one on the device of the model.
    pub slower: f64,
    /// Seconds by which the kernel must be faster than other kernels to take a join; none where it
    /// takes all that have its form.
    pub saving: Option<f64>,
}

/// Threads of a thread block.
const THREADS: usize = 256;
/// Thread blocks that a multiprocessor runs at a time.
const RESIDENT: usize = 8;

/// Seconds to compile a kernel for one shape.
const COMPILING: f64 = 0.3;
/// Seconds to start a kernel and to learn that it ended.
const START: f64 = 6e-6;
/// Seconds that a thread block takes to start, a page with a segment to fetch, and one without: set
/// to fit the sections `cache` and `hardware` of bench/records/h100/2026-11-25-sum-product.jsonl.
const WAITS: [f64; 3] = [2.5e-6, 1.4e-6, 0.7e-6];

impl Pages {
    /// The choices of `made` on a device with `facts`, the planner's where it makes none.
    pub fn new(facts: &Facts, precision: Precision, made: &Overrides) -> Self {
        let bytes = precision.bytes();
        let lanes = if precision == Precision::F32 {
            128.0
        } else {
            64.0
        };
        // Banks of shared memory are four bytes wide.
        let banks = 128.0 / bytes as f64;
        let cycles = facts.units as f64 * facts.clock;
        // Half of the shared memory lets a multiprocessor run two thread blocks at least.
        let cache = made.product_cache.map_or(facts.shared / 2, |c| c.get());
        let unit = Unit {
            entries: cache / bytes,
            threads: THREADS.min(facts.threads),
            blocks: RESIDENT * facts.units,
            operations: if facts.host {
                2e9
            } else {
                2.0 * lanes * cycles
            },
            operands: if facts.host { 2e9 } else { banks * cycles },
            memory: if facts.host { 1e10 } else { 3e12 } / bytes as f64,
            shared: if facts.host { 2e10 } else { 5.5e12 } / bytes as f64,
            held: (32 << 20) as f64 / bytes as f64,
            pages_per_block: made.product_pages.map(|p| p.get()),
            start: START,
            waits: WAITS,
        };
        Pages {
            unit,
            knapsack: match made.product_knapsack {
                Some(ProductKnapsack::Exact) => Knapsack::Exact,
                None | Some(ProductKnapsack::Greedy) => Knapsack::Greedy,
            },
            always: made.product_knapsack.is_some() || made.product_cache.is_some(),
            unroll: match made.product_unroll {
                None | Some(ProductUnroll::Whole) => Unroll::Whole,
                Some(ProductUnroll::Off) => Unroll::None,
                Some(ProductUnroll::By(steps)) => Unroll::By(steps as usize),
            },
            precision,
            units: facts.units,
            slower: slower(facts),
            saving: match made.product_kernel {
                Some(ProductKernel::Paged) => None,
                None | Some(ProductKernel::Auto) => Some(COMPILING),
            },
        }
    }
    /// The same for joins that are made so often.
    pub fn over(self, turns: f64) -> Self {
        Pages {
            saving: self.saving.map(|saving| saving / turns),
            ..self
        }
    }
    /// The kernel's plan for `shape` where it takes that join, for which other kernels need
    /// `seconds`.
    pub fn takes(&self, shape: &Shape, mode: Mode, seconds: f64) -> Option<Bucket> {
        let Some(saving) = self.saving else {
            return self.bucket(shape, mode);
        };
        if seconds <= saving {
            return None;
        }
        let bucket = self.bucket(shape, mode)?;
        (bucket.seconds + saving < seconds).then_some(bucket)
    }
    /// The same on a device with measured ceilings.
    pub fn under(mut self, ceilings: &Ceilings) -> Self {
        let bytes = self.precision.bytes() as f64;
        self.unit.operations = ceilings.operations;
        self.unit.operands = ceilings.operands;
        self.unit.memory = ceilings.memory / bytes;
        self.unit.shared = ceilings.shared / bytes;
        self.unit.start = ceilings.start;
        self
    }
    /// Several plans for `shape`: by pages of the least predicted time, with segments and without,
    /// and by pages of about 512 and of 4096 entries.
    pub fn ways(&self, shape: &Shape, mode: Mode) -> Vec<Bucket> {
        let all = |knapsack| self.all(shape, mode, knapsack).into_iter();
        let best = |knapsack| all(knapsack).min_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let near = |entries: f64| {
            let far = |b: &Bucket| (b.plan.page as f64 / entries).ln().abs();
            all(Knapsack::Greedy).min_by(|a, b| far(a).total_cmp(&far(b)))
        };
        let ways = [best(Knapsack::Greedy), best(Knapsack::None)];
        let ways = ways.into_iter().chain([near(512.0), near(4096.0)]);
        let mut out: Vec<Bucket> = vec![];
        for way in ways.flatten().filter(is_possible) {
            if out.iter().all(|other| other.plan != way.plan) {
                out.push(way);
            }
        }
        out
    }
    /// The plans for `shape` by pages of all sizes.
    pub fn all(&self, shape: &Shape, mode: Mode, knapsack: Knapsack) -> Vec<Bucket> {
        let plans = Paged::all(&shape.bucket(), &self.unit, knapsack).into_iter();
        plans
            .map(|plan| self.with_plan(plan, shape, mode))
            .collect()
    }
    fn with_plan(&self, plan: Paged, shape: &Shape, mode: Mode) -> Bucket {
        let mut bucket = Bucket {
            plan,
            shape: shape.clone(),
            mode,
            precision: self.precision,
            unroll: self.unroll,
            seconds: 0.0,
        };
        bucket.seconds = Counts::of_pages(&bucket, self.units).seconds(self.units) * self.slower;
        bucket
    }
    /// The kernel's plan for `shape`; `None` for one that does not have its form: too many tables,
    /// or more pages than a launch has thread blocks.
    pub fn bucket(&self, shape: &Shape, mode: Mode) -> Option<Bucket> {
        if shape.inputs == 0 || shape.inputs > MOST_INPUTS {
            return None;
        }
        let paper = || {
            let plan = Paged::new(&shape.bucket(), &self.unit, self.knapsack);
            vec![self.with_plan(plan, shape, mode)]
        };
        let mut ways = match self.always {
            // A person chose the cache: its pages are the paper's.
            true => paper(),
            false => {
                let mut own = self.all(shape, mode, self.knapsack);
                own.extend(self.all(shape, mode, Knapsack::None));
                own
            }
        };
        if ways.is_empty() {
            ways = paper();
        }
        ways.retain(is_possible);
        let all = ways.into_iter();
        all.min_by(|a, b| a.seconds.total_cmp(&b.seconds))
    }
}

/// Whether one launch has as many thread blocks.
fn is_possible(bucket: &Bucket) -> bool {
    bucket.plan.blocks() <= i32::MAX as usize
}
