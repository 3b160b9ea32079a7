//! Writes what joins add to the sweep: matches go to a buffer of pages, or are counted first and
//! then put where they belong.
//!
//! ```text
//! predicate in double precision, or:  sure / maybe in single precision, where maybe is marked and computed again
//! pages:   a block owns a page at a time; a match takes the next place in it by an atomic in shared memory
//!          before a chunk that may overflow the page: take a new page by a global atomic
//!          no page left: note where to resume, and leave; the host empties the pages and starts the kernel again
//! count:   count matches; the host adds the counts up; a second kernel writes each match at its offset
//! ```
//!
//! The number of matches is not known before. Pages need one pass and bounded memory; counting
//! needs two passes and is kept to compare with. Order within a page is arbitrary, so the host
//! sorts.

use super::expression::literal;
use super::pair;
use super::sweep::{FoldText, each_marked, mark, number, step};
use zipfold_core::fold::{Join, JoinKind};
use zipfold_core::pair::lower::Lowered;
use zipfold_core::pair::tree::{Binary, Id, Node};
use zipfold_core::{Job, Precision};
use zipfold_plan::device::rounding::Bounds;
use zipfold_plan::device::sweeps::Shape;

/// How matches leave a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// To pages of so many slots: a block that finds the pool empty notes its place in `resume` and
    /// ends.
    Pages(usize),
    /// Not at all: they are counted by block.
    Count,
    /// From the block's `offset` on, after a count.
    Place,
}

/// The kernel `zf_gather`, which puts the matches of pages of so many slots one after another.
pub(crate) fn gather(page: usize) -> String {
    let text = include_str!("../kernels/gather.c");
    super::fill(text, &[("PAGE", page.to_string())])
}

/// What single precision knows of a predicate.
#[derive(Clone, Debug)]
pub struct Truth {
    /// Holds wherever the predicate may hold.
    pub maybe: String,
    /// Holds only where the predicate holds.
    pub sure: String,
}

impl Truth {
    /// That of the root `id`; none where single precision decides nothing about it.
    pub fn recognise(low: &Lowered, bounds: &Bounds<'_>, id: Id) -> Option<Self> {
        let texts = Texts { low, bounds };
        Some(Truth {
            maybe: texts.maybe(id)?,
            sure: texts.sure(id),
        })
    }
}

/// Predicates in single precision.
struct Texts<'l> {
    low: &'l Lowered,
    bounds: &'l Bounds<'l>,
}

impl Texts<'_> {
    fn name(&self, id: Id) -> String {
        pair::operand_text(self.low, id, Precision::F32)
    }
    /// How far the difference of two operands may be off.
    fn gap(&self, a: Id, b: Id) -> Option<String> {
        Some(literal(self.bounds.gap(a, b)?, Precision::F32))
    }
    /// An expression that holds wherever the truth value `id` may hold.
    fn maybe(&self, id: Id) -> Option<String> {
        match self.low.formula.node(id) {
            Node::Binary(Binary::And, a, b) => match (self.maybe(*a), self.maybe(*b)) {
                (Some(a), Some(b)) => Some(format!("({a} && {b})")),
                (one, other) => one.or(other),
            },
            Node::Binary(Binary::Or, a, b) => {
                Some(format!("({} || {})", self.maybe(*a)?, self.maybe(*b)?))
            }
            Node::Binary(Binary::Lt | Binary::Le, a, b) => {
                if let Some(limit) = self.low.formula.constant(*b).filter(|b| b.is_finite()) {
                    // A number that single precision has, not below the sum.
                    let most = ((limit + self.bounds.gap(*a, *b)?) as f32).next_up();
                    let most = literal(f64::from(most), Precision::F32);
                    return Some(format!("({} <= {most})", self.name(*a)));
                }
                let gap = self.gap(*a, *b)?;
                Some(format!("({} - {} <= {gap})", self.name(*a), self.name(*b)))
            }
            Node::Binary(Binary::Eq, a, b) => {
                let gap = self.gap(*a, *b)?;
                Some(format!(
                    "(zf_abs_f({} - {}) <= {gap})",
                    self.name(*a),
                    self.name(*b)
                ))
            }
            _ => None,
        }
    }
    /// An expression that holds only where the truth value `id` holds.
    fn sure(&self, id: Id) -> String {
        match self.low.formula.node(id) {
            Node::Binary(Binary::And, a, b) => format!("({} && {})", self.sure(*a), self.sure(*b)),
            Node::Binary(Binary::Or, a, b) => format!("({} || {})", self.sure(*a), self.sure(*b)),
            Node::Binary(Binary::Lt | Binary::Le, a, b) => match self.gap(*a, *b) {
                Some(gap) => format!("({} - {} > {gap})", self.name(*b), self.name(*a)),
                None => "0".into(),
            },
            _ => "0".into(),
        }
    }
}

/// The parameters of a join that writes to pages.
pub(super) const PAGES: &str = ", ZF_OUT(zf_u32) pool, ZF_OUT(zf_u32) fills, ZF_OUT(zf_u32) pairs, ZF_OUT(double) values, ZF_OUT(zf_u32) resume, zf_u32 pages";

/// Text of a join; `maybe` holds wherever the predicate may hold, by the bound of single precision.
pub fn join(job: &Job, f: &Join, shape: &Shape, output: Output, maybe: Option<&str>) -> FoldText {
    let predicate = number(job, f.root, shape.precision);
    if f.kind != JoinKind::Inner {
        return matched(shape, &condition(&predicate, maybe));
    }
    let value = match (f.value, shape.filter) {
        (Some(root), false) => Some(number(job, root, shape.precision)),
        _ => None,
    };
    let put = output.put(value.as_deref());
    let step = step(&job.low, shape);
    let mut out = output.frame(128 * shape.anchors * step, super::sweep::passed(shape));
    match maybe {
        None => out.absorb = format!("if ({predicate} != 0) {put}"),
        Some(maybe) => {
            out.open = "zf_u32 odd = 0u;".into();
            out.absorb = format!("if ({maybe}) {}", mark(step));
            out.settle = settle(job, shape, step, &put);
        }
    }
    out
}

fn condition(predicate: &str, maybe: Option<&str>) -> String {
    match maybe {
        None => format!("{predicate} != 0"),
        Some(maybe) => format!("({maybe}) && zf_exact(x_wide, y_wide, c_wide, i, j) != 0.0"),
    }
}

/// Whether an anchor has a match.
fn matched(shape: &Shape, condition: &str) -> FoldText {
    let ip = shape.anchors;
    FoldText {
        args: ", ZF_OUT(zf_u32) matched".into(),
        state: format!(
            "zf_u32 found[{ip}]; ZF_UNROLL for (int q = 0; q < {ip}; q++) found[q] = 0u;\n"
        ),
        absorb: format!("if (found[q] == 0u && {condition}) found[q] = 1u;"),
        finish: format!(
            "ZF_UNROLL for (int q = 0; q < {ip}; q++) if (a[q] < a1 && found[q]) matched[a[q] - a0] = 1u;\n"
        ),
        ..FoldText::default()
    }
}

/// Marked pairs are decided by double precision.
fn settle(job: &Job, shape: &Shape, step: usize, put: &str) -> String {
    each_marked(job, shape, step)
        + &format!("\nif (zf_exact(x_wide, y_wide, c_wide, i, j) != 0.0) {put} }}")
}

impl Output {
    /// The statement that takes the match (i, j).
    fn put(self, value: Option<&str>) -> String {
        let first = match self {
            Output::Count => return "{ ZF_ADD_SHARED(&fill, 1u); }".into(),
            Output::Pages(page) => format!("(size_t)now * {page}u"),
            Output::Place => "(size_t)offset".into(),
        };
        let value = value.map_or(String::new(), |v| format!(" values[put] = (double){v};"));
        format!(
            "{{ const size_t put = {first} + ZF_ADD_SHARED(&fill, 1u); pairs[put * 2u] = i; pairs[put * 2u + 1u] = j;{value} }}"
        )
    }
    /// What surrounds it; a step of the sweep has at most `most` matches.
    fn frame(self, most: usize, passed: &str) -> FoldText {
        let block = "const zf_u32 block = ZF_GROUP_Y * ZF_GROUPS_X + ZF_GROUP_X;";
        match self {
            Output::Pages(page) => pages(page, most, (block, passed)),
            Output::Count => FoldText {
                args: ", ZF_OUT(zf_u32) counts".into(),
                shared: "ZF_SHARED zf_u32 fill;".into(),
                state: format!("{block}\n    if (tid == 0u) fill = 0u;\n    ZF_BARRIER();"),
                finish: "ZF_BARRIER();\n    if (tid == 0u) counts[block] = fill;".into(),
                ..FoldText::default()
            },
            Output::Place => FoldText {
                args: ", ZF_IN(zf_u32) offsets, ZF_OUT(zf_u32) pairs, ZF_OUT(double) values".into(),
                shared: "ZF_SHARED zf_u32 fill;".into(),
                state: format!(
                    "{block}\n    const zf_u32 offset = offsets[block];\n    if (tid == 0u) fill = 0u;\n    ZF_BARRIER();"
                ),
                ..FoldText::default()
            },
        }
    }
}

fn pages(page: usize, most: usize, (block, passed): (&str, &str)) -> FoldText {
    FoldText {
        args: PAGES.into(),
        shared: "ZF_SHARED zf_u32 fill; ZF_SHARED zf_u32 mine;".into(),
        state: format!(
            "{block} const zf_u32 start = resume[block];\n    \
             if (start == 0xffffffffu) return;\n    \
             if (tid == 0u) {{ fill = {page}u; mine = 0xffffffffu; }}\n    ZF_BARRIER();"
        ),
        chunk: format!(
            "if ({passed} + jj < start) continue;\n            ZF_BARRIER();\n            \
             if (tid == 0u && fill + {most}u > {page}u) {{ if (mine != 0xffffffffu) fills[mine] = fill; \
             mine = ZF_ADD_GLOBAL(pool, 1u); fill = 0u; }}\n            ZF_BARRIER();\n            const zf_u32 now = mine;\n            \
             if (now >= pages) {{ if (tid == 0u) resume[block] = {passed} + jj; @LEAVE@ return; }}"
        ),
        finish: "ZF_BARRIER();\n    if (tid == 0u) { if (mine != 0xffffffffu) fills[mine] = fill; resume[block] = 0xffffffffu; }".into(),
        ..FoldText::default()
    }
}
