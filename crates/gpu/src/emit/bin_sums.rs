//! Writes what sums of weights and of values add to the kernel of a histogram.
//!
//! ```text
//! term in units, cut off toward zero → words by additions of 1.5 · 2^(52 + 32 k), the last word first
//! word 0 += …  wrapped? word 1 += … + 1  …  last word overflows? ±1 in device memory
//! after the sweep: the words of every cell are added to those in device memory
//! formulas: digits of the term → words of the block, where it fits there, or those in device memory
//! ```
//!
//! The words are those of one whole number (`kernels/fixed.h`), so any order of pairs, any blocks
//! and any device give the sums of the host, bit for bit.

use super::sweep::FoldText;
use std::fmt::Write;
use zipfold_core::fold::{Histogram, SummedTerms};
use zipfold_plan::device::fixed::{BinSums, Fixed};
use zipfold_plan::device::sweeps::Shape;

/// One kind of sums: its name in kernels, its terms.
struct Kind {
    name: String,
    fixed: Fixed,
    /// The number of its unit behind the edges, where terms are scaled by one.
    unit: Option<usize>,
    /// The term; of squares what is squared.
    term: String,
    squared: bool,
}

impl Kind {
    fn of_weights(fixed: Fixed) -> Self {
        Kind {
            name: "weight".into(),
            fixed,
            unit: Some(0),
            term: "wx[i] * wy[j]".into(),
            squared: false,
        }
    }
    fn of_means(fixed: Fixed, term: String) -> Self {
        Kind {
            name: "value".into(),
            fixed,
            unit: Some(1),
            term,
            squared: false,
        }
    }
    fn of_formula(at: usize, (terms, fixed): (SummedTerms, Fixed), term: String) -> Self {
        Kind {
            name: format!("formula{at}"),
            fixed,
            unit: None,
            term,
            squared: matches!(terms, SummedTerms::Squares(_)),
        }
    }
    /// The words of a cell that a block has, if it has some.
    fn private(&self, copies: usize) -> Option<usize> {
        self.fixed.private.filter(|_| copies > 0)
    }
    /// The sum of `cell` in device memory.
    fn whole(&self) -> String {
        let (name, words) = (&self.name, self.fixed.cell_words());
        format!("{name}_sums + (size_t)cell * {words}u")
    }
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
    /// Whether rows have weights.
    weighted: bool,
}

impl SumText {
    /// The sums of `h`; `value` gives the text of the value of a root, `inside` that `cell` is a bin.
    pub fn new(
        h: &Histogram,
        shape: &Shape,
        value: impl Fn(usize) -> String,
        inside: &str,
    ) -> Self {
        let sums = BinSums::for_histogram(h).unwrap_or_default();
        let weight = sums.weights.map(Kind::of_weights);
        let mean = sums.values.map(|fixed| {
            let axis = &h.axes[0];
            let root = if axis.squared { "zf_sqrt_d" } else { "" };
            Kind::of_means(fixed, format!("{root}((double)({}))", value(axis.root)))
        });
        let formulas = sums.formulas.iter().enumerate();
        let formulas = formulas.map(|(at, (terms, root, fixed))| {
            Kind::of_formula(at, (*terms, *fixed), format!("(double)({})", value(*root)))
        });
        SumText {
            kinds: weight.into_iter().chain(mean).chain(formulas).collect(),
            cells: h.cells(),
            copies: shape.copies,
            inside: inside.into(),
            edges: h.axes.iter().map(|a| a.compared.len()).sum(),
            weighted: sums.weights.is_some(),
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
    /// Adds parameters, counters and their ends to the texts of the counts. `behind` says that the
    /// words of all kinds are in the array of the counters, behind them: a block requests one array.
    pub fn extend(&self, out: &mut FoldText, behind: bool) {
        let mut taken = (self.cells + 1) * self.copies;
        if self.weighted {
            out.args += ", ZF_IN(double) wx, ZF_IN(double) wy";
        }
        for kind in &self.kinds {
            let _ = write!(out.args, ", ZF_OUT(zf_u32) {}_sums", kind.name);
            let Some(private) = kind.private(self.copies) else {
                continue;
            };
            let (name, all) = (&kind.name, self.cells * self.copies * private);
            let _ = match behind {
                true => write!(
                    out.shared,
                    "\n    ZF_SHARED_ARG zf_u32* const {name}_words = bins + {taken};"
                ),
                false => write!(out.shared, "\n    ZF_SHARED zf_u32 {name}_words[{all}];"),
            };
            taken += all;
            self.extend_by(kind, private, out);
        }
    }
    /// Adds the words of a block, which are 0 first, and go to device memory behind the barrier of
    /// the counts.
    fn extend_by(&self, kind: &Kind, private: usize, out: &mut FoldText) {
        let (name, fixed) = (&kind.name, &kind.fixed);
        let (next, copies) = (self.cells * self.copies, self.copies);
        let all = next * private;
        if let Some(unit) = kind.unit {
            let at = self.edges + unit;
            let _ = write!(out.state, "\n    const double {name}_unit = edges[{at}];");
        }
        let _ = writeln!(
            out.state,
            "\n    for (zf_u32 s = tid; s < {all}u; s += 128u) {name}_words[s] = 0u;\n    ZF_BARRIER();",
        );
        let from = fixed.any.unwrap_or(0);
        let (cell, left) = (fixed.cell_words(), fixed.words - from);
        let _ = write!(
            out.finish,
            "\n    for (zf_u32 s = tid; s < {next}u; s += 128u) zf_add_sum({name}_words + s, {next}u, {private}u, \
             {name}_sums + (size_t)(s / {copies}u) * {cell}u + {from}u, {left}u);"
        );
    }
    /// Statements that add the terms of pair (i, j) to the sums of `cell`.
    pub fn add(&self) -> String {
        if self.kinds.is_empty() {
            return String::new();
        }
        let terms: Vec<String> = self.kinds.iter().map(|kind| self.add_one(kind)).collect();
        format!("if ({}) {{ {} }}", self.inside, terms.join(" "))
    }
    /// The words of `cell` that a block has, and how far they are apart.
    fn near(&self, kind: &Kind) -> String {
        let (name, copies) = (&kind.name, self.copies);
        let next = self.cells * copies;
        format!("{name}_words + cell * {copies}u + copy, {next}u")
    }
    fn add_one(&self, kind: &Kind) -> String {
        let (name, term, fixed) = (&kind.name, &kind.term, &kind.fixed);
        if let Some(from) = fixed.any {
            return self.add_any(kind, from);
        }
        let (whole, words, lowest) = (kind.whole(), fixed.words, fixed.lowest);
        let Some(private) = kind.private(self.copies) else {
            return format!("zf_add_term({whole}, {words}u, {lowest}, {term});");
        };
        let at = self.near(kind);
        if !fixed.split {
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
    }
    /// Statements that add a term of any size, or its square and the rest of it.
    fn add_any(&self, kind: &Kind, from: usize) -> String {
        let (whole, words) = (kind.whole(), kind.fixed.words);
        let private = kind.private(self.copies);
        let add = |term: &str| match private {
            None => format!("zf_add_far({whole}, {words}u, {term});"),
            Some(private) => {
                let at = self.near(kind);
                format!("zf_add_near({at}, {private}u, {from}u, {term}, {whole}, {words}u);")
            }
        };
        let term = &kind.term;
        if !kind.squared {
            return add(term);
        }
        let [square, rest] = ["square", "fma(v, v, -square)"].map(add);
        format!(
            "{{ const double v = {term}, square = v * v; {square} if (ZF_SIZE(square) < ZF_ENDLESS) {rest} }}"
        )
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
