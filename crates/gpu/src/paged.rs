//! Sum-product buckets by the paper's kernel: the result page by page, segments of the functions in
//! shared memory.
//!
//! The kernel is text made for one shape: every size and stride is a literal. Its plan is
//! [`zipfold_product::plan::paged`].
//!
//! ```text
//! each thread block: its pages of the result, one after another
//!     for each function with a segment
//!         the page needs another segment than the one before: fetch it into shared memory
//!     each thread: entries of the page, THREADS apart
//!         total = neutral
//!         for each configuration of the summed variables                   unrolled
//!             total ⊕= product of the functions, from segments or from device memory
//!         store total
//! ```
//!
//! Why this shape: consecutive pages differ in their slowest digits alone, so most segments serve
//! several pages and are fetched once. Literal sizes and strides let the compiler unroll the summed
//! variables and fold offsets into instructions; the price is one compilation for each shape.

use crate::emit::{fill, header, type_name};
use crate::runtime::{Arg, Device, Grid, Kernel, Memory};
use std::fmt::Write;
use zipfold_core::{Error, Precision, Result};
use zipfold_plan::device::Runtime;
use zipfold_product::cpu::bucket::Mode;
use zipfold_product::cpu::shape::{Digit, Shape};
use zipfold_product::plan::paged::Paged;

/// How the loops over the summed variables are unrolled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unroll {
    /// Not at all.
    None,
    /// The innermost one, by so many steps (the paper's dynamic unrolling).
    By(usize),
    /// All of them, whole (the paper's static unrolling).
    #[default]
    Whole,
}

/// What a kernel is made for.
#[derive(Clone, Debug)]
pub struct Bucket {
    /// Variables, functions and the result.
    pub shape: Shape,
    /// Pages and segments.
    pub plan: Paged,
    /// How products are made and folded.
    pub mode: Mode,
    /// The type of all numbers.
    pub precision: Precision,
    /// How loops are unrolled.
    pub unroll: Unroll,
    /// Predicted seconds, by the model of all kernels; those of the plan are the paper's.
    pub seconds: f64,
}

/// Most configurations of the summed variables that are unrolled whole.
const MOST_UNROLLED: usize = 64;
/// The name of the kernel.
const NAME: &str = "zf_paged";

/// A kernel for one bucket, ready to run any number of times.
pub struct Contraction {
    kernel: Kernel,
    grid: Grid,
    out_len: usize,
    precision: Precision,
}

impl Contraction {
    /// Compiles the kernel of `bucket`.
    ///
    /// # Errors
    /// `Request` when the bucket has no entry or more pages than a launch has thread blocks;
    /// `Resource` when its segments exceed the shared memory; `Device` when the compiler refuses.
    pub fn new(device: &Device, bucket: &Bucket) -> Result<Self> {
        let bytes = bucket.plan.entries() * bucket.bytes();
        if bytes > device.facts.shared {
            let e = Error::resource(format!(
                "segments of {bytes} bytes in the shared memory of {}",
                device.facts.id()
            ));
            return Err(e
                .limit(format!("{} bytes", device.facts.shared))
                .remedy("a smaller cache"));
        }
        let blocks = u32::try_from(bucket.plan.blocks())
            .ok()
            .filter(|b| *b <= i32::MAX as u32);
        let blocks =
            blocks.ok_or_else(|| Error::request("more pages than one launch has thread blocks"))?;
        let source = bucket.source(device.facts.runtime);
        let kernel = device
            .compile(&source, &[NAME])?
            .pop()
            .ok_or_else(|| Error::internal("a program without kernel"))?;
        let grid = Grid {
            x: blocks,
            y: 1,
            threads: bucket.plan.threads as u32,
        };
        Ok(Contraction {
            kernel,
            grid,
            out_len: bucket.shape.out_len,
            precision: bucket.precision,
        })
    }
    /// Starts the kernel on `inputs`, tables in the order of the shape's functions, and writes all
    /// of `out`.
    ///
    /// # Errors
    /// `Internal` when `out` is too small, `Device` when the kernel cannot start.
    pub fn run(&self, device: &Device, inputs: &[&Memory], out: &Memory) -> Result<()> {
        if out.bytes() < self.out_len * self.precision.bytes() {
            return Err(Error::internal("a result larger than its memory"));
        }
        let args: Vec<Arg<'_>> = inputs
            .iter()
            .copied()
            .chain([out])
            .map(Arg::Memory)
            .collect();
        device.launch(&self.kernel, self.grid, &args)
    }
}

impl Bucket {
    /// Where pages are divided, and which tables have segments, a bit each.
    pub fn name(&self) -> String {
        let Paged {
            variable, values, ..
        } = self.plan;
        let held = self.plan.segments.iter().enumerate();
        let held: usize = held.map(|(f, s)| usize::from(s.is_some()) << f).sum();
        format!("paged {variable}/{values} with {held}")
    }
    fn bytes(&self) -> usize {
        self.precision.bytes()
    }
    /// The source of the kernel.
    pub fn source(&self, runtime: Runtime) -> String {
        let text = Text::new(self);
        let inputs: Vec<String> = (0..self.shape.inputs)
            .map(|f| format!("ZF_IN({}) f{f}", text.number))
            .collect();
        let fast: usize = text.inner().iter().skip(1).map(|d| d.card).product();
        let places = [
            ("THREADS", self.plan.threads.to_string()),
            ("NAME", NAME.into()),
            ("INPUTS", inputs.join(", ")),
            ("T", text.number.into()),
            ("SEGMENTS", text.segments()),
            ("INDEX", text.index.into()),
            ("RUN", self.plan.pages_per_block.to_string()),
            ("PAGES", self.plan.pages.to_string()),
            ("DIGITS", text.digits()),
            ("CARD", text.inner()[0].card.to_string()),
            ("VALUES", self.plan.values.to_string()),
            ("FETCH", text.fetch()),
            ("FAST", fast.to_string()),
            ("PLACES", text.places()),
            ("FOLD", text.fold()),
            ("START", text.sum(text.outer_digits(|d| d.out))),
        ];
        header(runtime) + &fill(include_str!("kernels/paged.c"), &places)
    }
}

/// The parts of the source.
struct Text<'b> {
    bucket: &'b Bucket,
    /// Digits of the result, slowest first; one at least.
    kept: Vec<Digit>,
    /// Digits that are summed.
    summed: Vec<Digit>,
    /// The type of numbers.
    number: &'static str,
    /// The type of offsets in tables.
    index: &'static str,
}

impl<'b> Text<'b> {
    fn new(bucket: &'b Bucket) -> Self {
        let mut kept: Vec<Digit> = bucket.shape.kept().copied().collect();
        if kept.is_empty() {
            kept.push(Digit {
                card: 1,
                strides: [0; zipfold_product::cpu::shape::MOST_INPUTS],
                out: 0,
                summed: false,
            });
        }
        let summed: Vec<Digit> = bucket
            .shape
            .digits
            .iter()
            .filter(|d| d.summed)
            .copied()
            .collect();
        let table = |f: usize| {
            bucket
                .shape
                .digits
                .iter()
                .map(|d| (d.card - 1) * d.strides[f])
                .sum::<usize>()
        };
        let largest = (0..bucket.shape.inputs)
            .map(table)
            .max()
            .unwrap_or(0)
            .max(bucket.shape.out_len);
        // Twice the room, since the last page of a thread block may lie beyond the end.
        let index = if largest < 1 << 31 && bucket.plan.pages < 1 << 30 {
            "zf_u32"
        } else {
            "zf_u64"
        };
        Text {
            bucket,
            kept,
            summed,
            number: type_name(bucket.precision),
            index,
        }
    }
    /// Digits within a page, the divided one first.
    fn inner(&self) -> &[Digit] {
        &self.kept[self.bucket.plan.variable..]
    }
    fn functions(&self) -> std::ops::Range<usize> {
        0..self.bucket.shape.inputs
    }
    fn held(&self, f: usize) -> bool {
        self.bucket.plan.segments[f].is_some()
    }
    /// The digits that number the pages, with their strides in a table: `p0`, `p1`, …, `block`.
    fn outer_digits(&self, stride: impl Fn(&Digit) -> usize) -> Vec<(String, usize)> {
        let plan = &self.bucket.plan;
        let slow = self.kept[..plan.variable]
            .iter()
            .enumerate()
            .map(|(at, d)| (format!("p{at}"), stride(d)));
        slow.chain([(
            "block".into(),
            plan.values * stride(&self.kept[plan.variable]),
        )])
        .collect()
    }
    /// A sum of multiples.
    fn sum(&self, terms: Vec<(String, usize)>) -> String {
        let products: Vec<String> = (terms.into_iter().filter(|(_, stride)| *stride > 0))
            .map(|(name, stride)| {
                if stride == 1 {
                    name
                } else {
                    format!("{name} * {stride}u")
                }
            })
            .collect();
        if products.is_empty() {
            "0u".into()
        } else {
            format!("(({})0u + {})", self.index, products.join(" + "))
        }
    }
    fn segments(&self) -> String {
        let held = self
            .functions()
            .filter_map(|f| self.bucket.plan.segments[f].map(|len| (f, len)));
        held.map(|(f, len)| format!("    ZF_SHARED {} s{f}[{len}];\n", self.number))
            .collect()
    }
    /// Statements that split the number of the page into its digits.
    fn digits(&self) -> String {
        let plan = &self.bucket.plan;
        let blocks = self.kept[plan.variable].card.div_ceil(plan.values);
        let mut out = format!(
            "        {0} left = page;\n        const {0} block = left % {blocks}u;\n        left /= {blocks}u;\n",
            self.index
        );
        for (at, d) in self.kept[..plan.variable].iter().enumerate().rev() {
            let _ = writeln!(
                out,
                "        const {0} p{at} = left % {1}u;\n        left /= {1}u;",
                self.index, d.card
            );
        }
        out
    }
    /// The digits of a segment with their strides in the table, slowest first: those summed, then
    /// those within the page.
    fn segment_digits(&self, f: usize) -> Vec<(usize, usize, bool)> {
        let held = |d: &&Digit| d.strides[f] > 0;
        let summed = self
            .summed
            .iter()
            .filter(held)
            .map(|d| (d.card, d.strides[f], false));
        let divided = self.bucket.plan.values;
        let inner = self.inner().iter().enumerate().filter(|(_, d)| held(d));
        summed
            .chain(inner.map(|(at, d)| {
                (
                    if at == 0 { divided } else { d.card },
                    d.strides[f],
                    at == 0,
                )
            }))
            .collect()
    }
    /// Statements that fetch the segments that the page before did not have.
    fn fetch(&self) -> String {
        let mut out = String::new();
        for f in self.functions().filter(|f| self.held(*f)) {
            let (valid, len) = (
                self.bucket.plan.valid[f],
                self.bucket.plan.segments[f].unwrap_or(0),
            );
            let start = self.sum(self.outer_digits(|d| d.strides[f]));
            let _ = writeln!(
                out,
                "        if (page == first || page % {valid}u == 0u) {{"
            );
            let _ = writeln!(
                out,
                "            ZF_IN({}) from = f{f} + {start};",
                self.number
            );
            let _ = writeln!(
                out,
                "            for (zf_u32 at = ZF_TID; at < {len}u; at += {}u) {{",
                self.bucket.plan.threads
            );
            let (mut body, mut terms, mut beyond) = (
                String::from("                zf_u32 rest = at;\n"),
                vec![],
                String::new(),
            );
            for (d, (card, stride, divided)) in self.segment_digits(f).into_iter().enumerate().rev()
            {
                let _ = writeln!(
                    body,
                    "                const zf_u32 d{d} = rest % {card}u;\n                rest /= {card}u;"
                );
                terms.push((format!("d{d}"), stride));
                if divided {
                    beyond = format!("d{d} >= values ? 0 : ");
                }
            }
            let _ = writeln!(
                out,
                "{body}                s{f}[at] = {beyond}from[{}];\n            }}\n        }}",
                self.sum(terms)
            );
        }
        out
    }
    /// Strides of the digits within a page, then of those summed, in a segment.
    fn segment_strides(&self, f: usize) -> (Vec<usize>, Vec<usize>) {
        let mut stride = 1;
        let mut take = |held: bool, card: usize| {
            let own = if held { stride } else { 0 };
            stride *= if held { card } else { 1 };
            own
        };
        let card = |at: usize, d: &Digit| {
            if at == 0 {
                self.bucket.plan.values
            } else {
                d.card
            }
        };
        let mut inner: Vec<usize> = self
            .inner()
            .iter()
            .enumerate()
            .rev()
            .map(|(at, d)| take(d.strides[f] > 0, card(at, d)))
            .collect();
        let mut summed: Vec<usize> = self
            .summed
            .iter()
            .rev()
            .map(|d| take(d.strides[f] > 0, d.card))
            .collect();
        inner.reverse();
        summed.reverse();
        (inner, summed)
    }
    /// Statements that say where an entry of the page lies in each function.
    fn places(&self) -> String {
        let mut out = String::from("            zf_u32 of = entry;\n");
        for (at, d) in self.inner().iter().enumerate().rev() {
            let _ = match at {
                0 => writeln!(out, "            const zf_u32 e0 = of;"),
                _ => writeln!(
                    out,
                    "            const zf_u32 e{at} = of % {0}u;\n            of /= {0}u;",
                    d.card
                ),
            };
        }
        for f in self.functions() {
            let strides = match self.held(f) {
                true => self.segment_strides(f).0,
                false => self.inner().iter().map(|d| d.strides[f]).collect(),
            };
            let mut terms: Vec<_> = strides
                .into_iter()
                .enumerate()
                .map(|(at, s)| (format!("e{at}"), s))
                .collect();
            if !self.held(f) {
                terms.extend(self.outer_digits(|d| d.strides[f]));
            }
            let _ = writeln!(
                out,
                "            const {} a{f} = {};",
                self.index,
                self.sum(terms)
            );
        }
        out
    }
    /// The operand of function `f` at a configuration of the summed variables.
    fn operand(&self, f: usize) -> String {
        let strides = match self.held(f) {
            true => self.segment_strides(f).1,
            false => self.summed.iter().map(|d| d.strides[f]).collect(),
        };
        let terms = strides
            .into_iter()
            .enumerate()
            .map(|(at, s)| (format!("n{at}"), s))
            .collect();
        format!(
            "{}{f}[a{f} + {}]",
            if self.held(f) { 's' } else { 'f' },
            self.sum(terms)
        )
    }
    /// Loops over the summed variables around `body`.
    fn loops(&self, body: &str) -> String {
        let whole = self.summed.iter().map(|d| d.card).product::<usize>() <= MOST_UNROLLED;
        let mut out = String::new();
        for (at, d) in self.summed.iter().enumerate() {
            let hint = match self.bucket.unroll {
                Unroll::Whole if whole => "ZF_UNROLL ".into(),
                Unroll::By(steps) if at + 1 == self.summed.len() => {
                    format!("ZF_UNROLL_BY({steps}) ")
                }
                Unroll::None | Unroll::By(_) | Unroll::Whole => "ZF_UNROLL_BY(1) ".to_string(),
            };
            let _ = writeln!(
                out,
                "            {hint}for (zf_u32 n{at} = 0u; n{at} < {0}u; n{at}++)",
                d.card
            );
        }
        format!("{out}            {{ {body} }}\n")
    }
    /// Statements that fold the products of one entry into `total`.
    fn fold(&self) -> String {
        let (t, s) = (
            self.number,
            if self.bucket.precision == Precision::F32 {
                "f"
            } else {
                "d"
            },
        );
        let infinity = format!("ZF_INF_{}", s.to_uppercase());
        let operands: Vec<String> = self.functions().map(|f| self.operand(f)).collect();
        let (last, front) = operands
            .split_last()
            .map_or(("1".into(), vec![]), |(l, f)| (l.clone(), f.to_vec()));
        let all = |sign: &str| operands.join(sign);
        match self.bucket.mode {
            Mode::Sum if front.is_empty() => {
                format!(
                    "            {t} total = 0;\n{}",
                    self.loops(&format!("total += {last};"))
                )
            }
            Mode::Sum => {
                let step = format!("total = fma({}, {last}, total);", front.join(" * "));
                format!("            {t} total = 0;\n{}", self.loops(&step))
            }
            Mode::Max => {
                format!(
                    "            {t} total = 0;\n{}",
                    self.loops(&format!("total = zf_max_{s}(total, {});", all(" * ")))
                )
            }
            Mode::LogMax => {
                let step = format!("total = zf_max_{s}(total, {});", all(" + "));
                format!(
                    "            {t} total = -{infinity};\n{}",
                    self.loops(&step)
                )
            }
            Mode::LogSum => {
                let most = self.loops(&format!("most = zf_max_{s}(most, {});", all(" + ")));
                let add = self.loops(&format!("total += zf_exp_{s}({} - most);", all(" + ")));
                format!(
                    "            {t} most = -{infinity};\n{most}            {t} total = 0;\n            if (most == -{infinity} || most == {infinity}) {{ total = most; }} else {{\n{add}            total = most + zf_log_{s}(total); }}\n"
                )
            }
        }
    }
}
