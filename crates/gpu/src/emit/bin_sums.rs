//! Writes what sums of weights and of values add to the kernel of a histogram.
//!
//! ```text
//! term in units, cut off toward zero → words by additions of 1.5 · 2^(52 + 32 k), the last word first
//! word 0 += …  wrapped? word 1 += … + 1  …  last word overflows? ±1 in device memory
//! after the sweep: the words of every cell are added to those in device memory
//! ```
//!
//! The words are those of one whole number (`kernels/fixed.h`), so any order of pairs, any blocks
//! and any device give the sums of the host, bit for bit.

use super::sweep::FoldText;
use std::fmt::Write;
use zipfold_core::fold::Histogram;
use zipfold_plan::device::fixed::{BinSums, Fixed};
use zipfold_plan::device::sweeps::Shape;

/// One kind of sums: its name in kernels, its terms.
struct Kind {
    name: &'static str,
    fixed: Fixed,
    /// The number of its unit behind the edges.
    unit: usize,
    term: String,
}

/// The sums of a histogram, as texts.
pub struct SumText {
    kinds: Vec<Kind>,
    cells: usize,
    copies: usize,
    /// That a cell is a bin.
    inside: String,
    /// Numbers of compared edges, behind which stand units.
    edges: usize,
}

impl SumText {
    /// The sums of `h`; `value` is the text of the value of its first axis, `inside` that `cell` is
    /// a bin.
    pub fn new(h: &Histogram, shape: &Shape, value: &str, inside: &str) -> Self {
        let sums = BinSums::for_histogram(h).unwrap_or_default();
        let weight = sums.weights.map(|fixed| Kind {
            name: "weight",
            fixed,
            unit: 0,
            term: "wx[i] * wy[j]".into(),
        });
        let root = if h.axes[0].squared { "zf_sqrt_d" } else { "" };
        let value = sums.values.map(|fixed| Kind {
            name: "value",
            fixed,
            unit: 1,
            term: format!("{root}((double)({value}))"),
        });
        SumText {
            kinds: weight.into_iter().chain(value).collect(),
            cells: h.cells(),
            copies: shape.copies,
            inside: inside.into(),
            edges: h.axes.iter().map(|a| a.compared.len()).sum(),
        }
    }
    /// The functions that [`Self::add`] calls.
    pub fn functions(&self) -> String {
        if self.kinds.is_empty() {
            return String::new();
        }
        let mut out = include_str!("../kernels/fixed.h").to_string();
        let split = self.kinds.iter().filter(|kind| kind.fixed.split);
        let mut counts: Vec<usize> = split.filter_map(|kind| kind.fixed.private).collect();
        counts.sort_unstable();
        counts.dedup();
        counts.iter().for_each(|count| out += &private(*count));
        out
    }
    /// Adds parameters, counters and their ends to the texts of the counts.
    pub fn extend(&self, out: &mut FoldText) {
        if self.kinds.iter().any(|kind| kind.name == "weight") {
            out.args += ", ZF_IN(double) wx, ZF_IN(double) wy";
        }
        for kind in &self.kinds {
            let (name, words) = (kind.name, kind.fixed.words);
            let _ = write!(out.args, ", ZF_OUT(zf_u32) {name}_sums");
            let Some(private) = kind.fixed.private.filter(|_| self.copies > 0) else {
                continue;
            };
            let (next, copies) = (self.cells * self.copies, self.copies);
            let all = next * private;
            let _ = write!(out.shared, "\n    ZF_SHARED zf_u32 {name}_words[{all}];");
            let _ = writeln!(
                out.state,
                "\n    const double {name}_unit = edges[{}];\n    \
                 for (zf_u32 s = tid; s < {all}u; s += 128u) {name}_words[s] = 0u;\n    ZF_BARRIER();",
                self.edges + kind.unit
            );
            // Behind the barrier of the counts.
            let _ = write!(
                out.finish,
                "\n    for (zf_u32 s = tid; s < {next}u; s += 128u) zf_add_sum({name}_words + s, {next}u, {private}u, \
                 {name}_sums + (size_t)(s / {copies}u) * {words}u, {words}u);"
            );
        }
    }
    /// Statements that add the terms of pair (i, j) to the sums of `cell`.
    pub fn add(&self) -> String {
        let one = |kind: &Kind| {
            let (name, term, fixed) = (kind.name, &kind.term, &kind.fixed);
            let (words, copies) = (fixed.words, self.copies);
            let whole = format!("{name}_sums + (size_t)cell * {words}u");
            let Some(private) = fixed.private.filter(|_| copies > 0) else {
                let lowest = fixed.lowest;
                return format!("zf_add_term({whole}, {words}u, {lowest}, {term});");
            };
            let next = self.cells * copies;
            let at = format!("{name}_words + cell * {copies}u + copy, {next}u");
            if !fixed.split {
                let lowest = fixed.lowest;
                return format!(
                    "zf_add_digits({at}, {private}u, {lowest}, {term}, {whole}, {words}u);"
                );
            }
            let term = if fixed.whole {
                format!("({term}) * {name}_unit")
            } else {
                format!("zf_trunc_d(({term}) * {name}_unit)")
            };
            format!("zf_add_{private}({at}, {term}, {whole}, {words}u);")
        };
        if self.kinds.is_empty() {
            return String::new();
        }
        let terms: Vec<String> = self.kinds.iter().map(one).collect();
        format!("if ({}) {{ {} }}", self.inside, terms.join(" "))
    }
}

/// Adds a whole number to a sum of `count` words in shared memory.
fn private(count: usize) -> String {
    let mut out = format!(
        "ZF_FN void zf_add_{count}(ZF_SHARED_ARG zf_u32* at, zf_u32 next, double term, ZF_OUT(zf_u32) sum, zf_u32 words) {{\n"
    );
    // 1.5 · 2^(52 + 32 k) brings the multiples of 2^(32 k) to the last bits.
    let round = |k: usize| 0x4338_0000_0000_0000u64 + ((32 * k as u64) << 52);
    for k in (0..count).rev() {
        let _ = writeln!(
            out,
            "    const double d{k} = term + zf_of_bits({0:#x}UL); zf_i64 v{k} = (zf_i64)(zf_bits(d{k}) - {0:#x}UL);",
            round(k)
        );
        if k > 0 {
            let _ = writeln!(out, "    term -= d{k} - zf_of_bits({:#x}UL);", round(k));
        }
    }
    for k in 0..count {
        let _ = writeln!(
            out,
            "    const zf_u32 w{k} = (zf_u32)v{k}, old{k} = ZF_ADD_SHARED(&at[{k}u * next], w{k}), new{k} = old{k} + w{k};"
        );
        if k + 1 < count {
            let _ = writeln!(
                out,
                "    v{} += (v{k} >> 32) + (new{k} < old{k} ? 1 : 0);",
                k + 1
            );
        }
    }
    let last = count - 1;
    let _ = writeln!(
        out,
        "    if (((old{last} ^ new{last}) & (w{last} ^ new{last})) >> 31) zf_carry(sum, {count}u, words, (int)(w{last} >> 31));\n}}"
    );
    out
}
