//! Writes the pair function of a lowered formula as C statements over the macros `XS(s, k)`,
//! `XA(a)` (hoisted vector and scalar of the row of x), `YS`, `YA` (of y), `CV(v, k)` (constant
//! vectors) and `DIM`.
//!
//! ```text
//! the difference by the minimum image, if there is a box
//! for each stage of the formula
//!     scalars that the loop reads
//!     accumulators = identities
//!     for k in components: vectors of the stage, then accumulators ⊕= body
//! scalars after the last loop
//! → the expression of every root
//! ```
//!
//! A kernel defines the macros for its own layout (registers, shared memory, panels), so the same
//! text serves sweeps, tiles and exact re-computation. Contraction is off in double precision, so
//! the operations are those of the reference.

use super::expression::{binary, literal, power, reciprocal_root, select, unary};
use super::images;
use super::type_name;
use std::collections::HashSet;
use std::fmt::Write;
use zipfold_core::number::Power;
use zipfold_core::pair::lower::{Lowered, Stage};
use zipfold_core::pair::source::Source;
use zipfold_core::pair::tree::{Binary, ComponentReduce, Id, Node, Shape, Side, Unary};
use zipfold_core::space::periodic_box::Image;
use zipfold_core::{PeriodicBox, Precision};
use zipfold_plan::device::rounding::squares_delta;

/// Components up to which loops over them are unrolled and rows are kept in registers.
pub const SHORT: usize = 16;

/// The statements of one loop over components.
#[derive(Clone, Debug, Default)]
pub struct StageText {
    /// Before the loop.
    pub scalars: String,
    /// Declares the accumulators.
    pub start: String,
    /// For each component `k`.
    pub body: String,
}

/// The numbers of a root.
#[derive(Clone, Debug)]
pub enum RootText {
    /// One expression a number.
    Numbers(Vec<String>),
    /// One number a component: statements for `k`, and the expression.
    Components(String, String),
}

/// A pair function in parts.
#[derive(Clone, Debug)]
pub struct PairText {
    /// The difference by the minimum image.
    pub image: String,
    /// Loops over components.
    pub stages: Vec<StageText>,
    /// After the loops.
    pub finish: String,
    /// The numbers of every root.
    pub roots: Vec<RootText>,
    /// Of every root that sums take as a product: the factor of a component, and the one that all
    /// share.
    pub factors: Vec<Option<[String; 2]>>,
    dim: usize,
}

struct Writer<'l> {
    low: &'l Lowered,
    precision: Precision,
    /// Exponentials by the special function unit, their constant factors taken into its base.
    fast: bool,
    /// The box, where minimum images are of single precision, too, and whether they are near.
    images: Option<(&'l PeriodicBox, bool)>,
}

/// Writes the pair function of `low` for values of type `precision`.
pub fn pair_text(
    low: &Lowered,
    periodic_box: Option<&PeriodicBox>,
    precision: Precision,
) -> PairText {
    text(
        Writer {
            low,
            precision,
            fast: false,
            images: None,
        },
        periodic_box,
    )
}

/// As [`pair_text`] in single precision, minimum images too: values whose error is bounded. `near`
/// says that no image is more than one box away.
pub fn filter_pair_text(low: &Lowered, periodic_box: Option<&PeriodicBox>, near: bool) -> PairText {
    text(
        Writer {
            low,
            precision: Precision::F32,
            fast: false,
            images: periodic_box.map(|periodic_box| (periodic_box, near)),
        },
        periodic_box,
    )
}

/// As [`pair_text`] in single precision, with exponentials by the special function unit.
pub fn fast_pair_text(low: &Lowered, periodic_box: Option<&PeriodicBox>) -> PairText {
    text(
        Writer {
            low,
            precision: Precision::F32,
            fast: true,
            images: None,
        },
        periodic_box,
    )
}

fn text(w: Writer<'_>, periodic_box: Option<&PeriodicBox>) -> PairText {
    let low = w.low;
    // A number that several loops need is declared before the first of them.
    let mut known = HashSet::new();
    let stages = low.stages.iter().map(|s| w.stage(s, &mut known)).collect();
    let finish = low
        .finish
        .iter()
        .filter(|id| known.insert(**id))
        .map(|id| w.statement(*id))
        .collect();
    PairText {
        image: if low.periodic {
            match w.images {
                Some((periodic_box, near)) => w.single_image(periodic_box, near),
                None => w.image(periodic_box),
            }
        } else {
            String::new()
        },
        stages,
        finish,
        roots: low.formula.roots.iter().map(|r| w.root(*r)).collect(),
        factors: low.formula.roots.iter().map(|r| w.factors(*r)).collect(),
        dim: low.dim,
    }
}

/// The expression of node `id`.
pub fn operand_text(low: &Lowered, id: Id, precision: Precision) -> String {
    Writer {
        low,
        precision,
        fast: false,
        images: None,
    }
    .operand(id)
}

impl PairText {
    /// All statements of the pair function but those of vector roots.
    pub fn whole(&self) -> String {
        let mut out = self.image.clone();
        for stage in &self.stages {
            let _ = writeln!(
                out,
                "{}{}{}{{\n{}}}",
                stage.scalars,
                stage.start,
                self.loop_head(),
                stage.body
            );
        }
        out + &self.finish
    }
    /// The head of a loop over components.
    pub fn loop_head(&self) -> String {
        let unroll = if self.dim <= SHORT { "ZF_UNROLL " } else { "" };
        format!("{unroll}for (zf_u32 k = 0; k < DIM; k++) ")
    }
}

impl Writer<'_> {
    fn ty(&self) -> &'static str {
        type_name(self.precision)
    }
    fn number(&self, value: f64) -> String {
        literal(value, self.precision)
    }
    /// The operand `id`, inside a loop over `k` where it is a vector.
    fn operand(&self, id: Id) -> String {
        let letter = |side: Side| if side == Side::X { 'X' } else { 'Y' };
        match self.low.source(id) {
            Source::Stream(side, s) => format!("{}S({s}, k)", letter(side)),
            Source::Attr(side, a) => format!("{}A({a})", letter(side)),
            Source::Vector(v) => format!("CV({v}, k)"),
            Source::Const(c) => self.number(c),
            Source::Pair => match (self.low.formula.node(id), self.low.periodic) {
                (Node::Delta, true) => "delta[k]".into(),
                (Node::DeltaAt(k), true) => format!("delta[{k}]"),
                _ => format!("v{}", id.0),
            },
        }
    }
    /// `const T v7 = …;`, nothing for what is computed elsewhere.
    fn statement(&self, id: Id) -> String {
        match self.value(id) {
            Some(value) => format!("const {} v{} = {value};\n", self.ty(), id.0),
            None => String::new(),
        }
    }
    fn value(&self, id: Id) -> Option<String> {
        let o = |id: &Id| self.operand(*id);
        let p = self.precision;
        Some(match self.low.formula.node(id) {
            Node::Unary(Unary::Exp, a) if self.fast => self.fast_exponential(*a),
            Node::Unary(op, a) => unary(*op, &o(a), p),
            Node::Binary(op, a, b) if self.fast && self.halves(*op, *b).is_some() => {
                self.fast_quotient(*op, *a, *b)?
            }
            Node::Binary(Binary::Pow, a, e) => match self.low.formula.constant(*e) {
                Some(e) => power(&o(a), e, p),
                None => binary(Binary::Pow, &o(a), &o(e), p),
            },
            Node::Binary(op, a, b) => binary(*op, &o(a), &o(b), p),
            Node::Select(c, a, b) => select(&o(c), &o(a), &o(b), p),
            Node::Delta if !self.low.periodic => self.difference(Node::Row),
            Node::DeltaAt(k) if !self.low.periodic => self.difference(|s| Node::At(s, *k)),
            _ => return None,
        })
    }
    /// e^a as a power of two; a constant factor of `a` and log₂ e become one.
    fn fast_exponential(&self, a: Id) -> String {
        let (rest, factor) = match self.low.formula.node(a) {
            Node::Binary(Binary::Mul, b, c) => {
                match (self.low.formula.constant(*b), self.low.formula.constant(*c)) {
                    (_, Some(c)) => (*b, c),
                    (Some(b), _) => (*c, b),
                    _ => (a, 1.0),
                }
            }
            Node::Binary(Binary::Div, b, c) => match self.low.formula.constant(*c) {
                Some(c) => (*b, 1.0 / c),
                None => (a, 1.0),
            },
            _ => (a, 1.0),
        };
        format!(
            "zf_exp2_fast({} * {})",
            self.operand(rest),
            self.number(factor * std::f64::consts::LOG2_E)
        )
    }
    /// The factors of a root in single precision that is a product: that of a component or of the
    /// pair, and one of the pair alone.
    fn factors(&self, root: Id) -> Option<[String; 2]> {
        let Node::Binary(op, a, b) = self.low.formula.node(root) else {
            return None;
        };
        let scalar = |id: Id| self.low.formula.ty(id).shape == Shape::Scalar;
        match op {
            _ if !self.fast => None,
            Binary::Div if scalar(*b) => {
                let (under, n) = self.halves(*op, *b)?;
                let shared = reciprocal_root(&self.under(under?), n);
                Some([self.operand(*a), shared])
            }
            Binary::Mul if scalar(*b) => Some([self.operand(*a), self.operand(*b)]),
            Binary::Mul if scalar(*a) => Some([self.operand(*b), self.operand(*a)]),
            _ => None,
        }
    }
    /// A number under a root: -0 counts as 0. Sums that begin with 0, and numbers to which another
    /// constant is added, are never -0.
    fn under(&self, id: Id) -> String {
        let formula = &self.low.formula;
        let is_number = |id: &Id| formula.constant(*id).is_some_and(|c| c != 0.0);
        let node = formula.node(id);
        let never = matches!(node, Node::Reduce(ComponentReduce::Sum, _))
            || matches!(node, Node::Binary(Binary::Add, a, b) if is_number(a) || is_number(b));
        let value = self.operand(id);
        if never {
            value
        } else {
            format!("({value} + 0.0f)")
        }
    }
    /// What a^b or a / b divides by where that is a power by halves: the node under the root and the
    /// number of halves.
    fn halves(&self, op: Binary, b: Id) -> Option<(Option<Id>, i32)> {
        let formula = &self.low.formula;
        let exponent = |e: Id| match Power::for_exponent(formula.constant(e)?) {
            Power::Halves(n) => Some(n),
            Power::Whole(_) | Power::Real(_) | Power::Rare(_) => None,
        };
        let below = |under: Option<Id>, n: i32| (n > 0).then_some((under, n));
        if op == Binary::Pow {
            return below(None, -exponent(b)?);
        }
        if op != Binary::Div || self.low.source(b) != Source::Pair {
            return None;
        }
        if let Node::Unary(Unary::Sqrt, under) = formula.node(b) {
            return below(Some(*under), 1);
        }
        let Node::Binary(Binary::Pow, under, e) = formula.node(b) else {
            return None;
        };
        below(Some(*under), exponent(*e)?)
    }
    /// a^b or a / b by a reciprocal root.
    fn fast_quotient(&self, op: Binary, a: Id, b: Id) -> Option<String> {
        let (under, n) = self.halves(op, b)?;
        Some(match under {
            Some(under) => {
                let shared = reciprocal_root(&self.under(under), n);
                format!("({} * {shared})", self.operand(a))
            }
            None => reciprocal_root(&self.under(a), n),
        })
    }
    fn difference(&self, leaf: impl Fn(Side) -> Node) -> String {
        let find = |side| {
            let wanted = leaf(side);
            let at = self.low.formula.nodes().iter().position(|n| *n == wanted);
            at.map_or_else(|| self.number(f64::NAN), |at| self.operand(Id(at as u32)))
        };
        format!("({} - {})", find(Side::X), find(Side::Y))
    }
    fn stage(&self, stage: &Stage, known: &mut HashSet<Id>) -> StageText {
        let fresh = stage.scalars.iter().filter(|id| known.insert(**id));
        let mut out = StageText {
            scalars: fresh.map(|id| self.statement(*id)).collect(),
            body: stage.vectors.iter().map(|id| self.statement(*id)).collect(),
            start: String::new(),
        };
        for id in &stage.reduces {
            let (start, step) = match self.is_image_length(*id) {
                true => ("image_length".into(), String::new()),
                false => self.reduction(*id),
            };
            let _ = writeln!(out.start, "{} v{} = {start};", self.ty(), id.0);
            out.body += &step;
        }
        out
    }
    /// The first value of a reduction and the statement that folds component `k` in.
    fn reduction(&self, id: Id) -> (String, String) {
        let v = format!("v{}", id.0);
        match self.low.formula.node(id) {
            Node::Reduce(op, body) => {
                let step = match (op, self.low.formula.node(*body), self.precision) {
                    (ComponentReduce::Sum, Node::Binary(Binary::Mul, a, b), Precision::F32)
                        if self.in_loop(*body) =>
                    {
                        format!("zf_fma_f({}, {}, {v})", self.operand(*a), self.operand(*b))
                    }
                    (ComponentReduce::Sum, Node::Binary(Binary::Pow, a, e), Precision::F32)
                        if self.in_loop(*body) && self.low.formula.constant(*e) == Some(3.0) =>
                    {
                        let a = self.operand(*a);
                        format!("zf_fma_f({a} * {a}, {a}, {v})")
                    }
                    _ => binary(op.operator(), &v, &self.operand(*body), self.precision),
                };
                (self.number(op.identity()), format!("{v} = {step};\n"))
            }
            Node::UserReduce { op, init, body } => self.user_reduction(&v, *op, *init, *body),
            _ => (self.number(f64::NAN), String::new()),
        }
    }
    /// Whether the product `id` is made for every pair and component.
    fn in_loop(&self, id: Id) -> bool {
        self.low.source(id) == Source::Pair
    }
    fn user_reduction(&self, v: &str, op: Id, init: Option<Id>, body: Id) -> (String, String) {
        let mut step = format!(
            "{{ const {0} bound_a = {v}; const {0} bound_b = {1};\n",
            self.ty(),
            self.operand(body)
        );
        for at in 0..=op.0 {
            let id = Id(at);
            if self.below(op, id) {
                let _ = writeln!(step, "const {} b{at} = {};", self.ty(), self.bound(id));
            }
        }
        let result = format!("b{}", op.0);
        let (start, result) = match init {
            Some(init) => (self.operand(init), result),
            None => (
                self.number(f64::NAN),
                format!("(k == 0 ? bound_b : {result})"),
            ),
        };
        let _ = writeln!(step, "{v} = {result}; }}");
        (start, step)
    }
    /// Whether the operator `op` needs node `id`.
    fn below(&self, op: Id, id: Id) -> bool {
        let mut wanted = vec![false; op.0 as usize + 1];
        wanted[op.0 as usize] = true;
        for at in (0..wanted.len()).rev() {
            if wanted[at] {
                self.low
                    .formula
                    .operands(Id(at as u32))
                    .iter()
                    .for_each(|o| wanted[o.0 as usize] = true);
            }
        }
        wanted.get(id.0 as usize).copied().unwrap_or(false)
    }
    fn bound(&self, id: Id) -> String {
        let o = |id: &Id| format!("b{}", id.0);
        let p = self.precision;
        match self.low.formula.node(id) {
            Node::Bound(second) => if *second { "bound_b" } else { "bound_a" }.into(),
            Node::Const(bits) => self.number(f64::from_bits(*bits)),
            Node::Unary(op, a) => unary(*op, &o(a), p),
            Node::Binary(op, a, b) => match (op, self.low.formula.constant(*b)) {
                (Binary::Pow, Some(e)) => power(&o(a), e, p),
                _ => binary(*op, &o(a), &o(b), p),
            },
            Node::Select(c, a, b) => select(&o(c), &o(a), &o(b), p),
            _ => self.number(f64::NAN),
        }
    }
    fn root(&self, id: Id) -> RootText {
        match (self.low.formula.node(id), self.low.formula.ty(id).shape) {
            (Node::Tuple(parts), _) => {
                RootText::Numbers(parts.iter().map(|p| self.operand(*p)).collect())
            }
            (_, Shape::Vector) => {
                let body = self
                    .low
                    .vector_tail
                    .iter()
                    .map(|id| self.statement(*id))
                    .collect();
                RootText::Components(body, self.operand(id))
            }
            _ => RootText::Numbers(vec![self.operand(id)]),
        }
    }
    /// Whether reduction `id` is the squared length of the shortest image in an oblique box, which
    /// [`images::oblique`] has found.
    fn is_image_length(&self, id: Id) -> bool {
        let oblique = |(b, _): (&PeriodicBox, bool)| matches!(b.image(), Image::Triclinic(_));
        let Node::Reduce(ComponentReduce::Sum, body) = self.low.formula.node(id) else {
            return false;
        };
        self.images.is_some_and(oblique) && squares_delta(self.low, *body)
    }
    /// Differences of the raw rows in single precision, by the minimum image.
    fn single_image(&self, periodic_box: &PeriodicBox, near: bool) -> String {
        let raw = |side: usize| self.low.raw_vector(side).unwrap_or(0);
        let of_rows = |k: usize| format!("XS({}, {k}) - YS({}, {k})", raw(0), raw(1));
        images::single(periodic_box, near, self.low.dim, &of_rows)
    }
    /// Differences of the raw rows in double precision, by the minimum image.
    fn image(&self, periodic_box: Option<&PeriodicBox>) -> String {
        let raw = |side: usize| self.low.raw_vector(side).unwrap_or(0);
        let dim = self.low.dim;
        let mut out = String::new();
        for k in 0..dim {
            let _ = writeln!(
                out,
                "double e{k} = (double)XS({}, {k}) - (double)YS({}, {k});",
                raw(0),
                raw(1)
            );
        }
        match periodic_box.map(PeriodicBox::image) {
            Some(Image::Orthorhombic(o)) => out += &images::orthorhombic(o, dim),
            Some(Image::Triclinic(o)) if dim >= 3 => out += &images::triclinic(o),
            _ => {}
        }
        let parts: Vec<String> = (0..dim).map(|k| format!("({})e{k}", self.ty())).collect();
        let _ = writeln!(
            out,
            "const {} delta[{}] = {{{}}};",
            self.ty(),
            dim.max(1),
            parts.join(", ")
        );
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zipfold_core::pair::{Formula, Scope, parse};

    #[test]
    fn a_number_that_two_loops_need_is_declared_once() {
        let mut formula = Formula::new();
        let scope = Scope {
            dim: Some(3),
            ..Default::default()
        };
        let text = "sum(x * y * (x[0] * y[1]) * sum(abs(x - y) * (x[0] * y[1])))";
        let root = parse(&mut formula, text, &scope).unwrap();
        formula.roots = vec![root];
        let low = Lowered::new(&formula, 3, false).unwrap();
        let twice = low.stages.iter().map(|s| s.scalars.len()).sum::<usize>();
        let pair = pair_text(&low, None, Precision::F64);
        let texts = pair
            .stages
            .iter()
            .map(|s| s.scalars.as_str())
            .chain([pair.finish.as_str()]);
        let lines: Vec<&str> = texts.flat_map(str::lines).collect();
        let once: HashSet<&str> = lines.iter().copied().collect();
        assert_eq!(lines.len(), once.len(), "{lines:?}");
        assert!(
            twice > once.len(),
            "no loop needs a number of another: {text}"
        );
    }
}
