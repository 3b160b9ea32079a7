//! Rewrites a formula for a periodic box: every difference of coordinates becomes the minimum
//! image.
//!
//! In a periodic box a row has infinitely many copies, so a coordinate has no meaning by itself.
//! Only the difference of two rows has one, after the nearest copy was chosen. A formula may spell
//! the difference in many ways, and all must give the same answer:
//!
//! ```text
//! y - x               →  −δ             δ is the node [`Node::Delta`], x − y by the minimum image
//! x[0] - y[0]         →  δ[0]
//! w*x - w*y           →  w·δ
//! (x - 1) - (y - 1)   →  δ              the constants cancel: −1 and −(−1)
//! 2*(x - y)           →  2·δ            a difference is recognised first, and not multiplied out
//! x[0] + y[0]         →  refused        depends on the wall that a row happens to be near
//! ```
//!
//! The method: every node becomes a linear combination of coordinates plus a rest that has
//! none. Operations that are not linear take only values whose coordinates cancel. The result is
//! exact in the sense of the problem (the right image), not in the bits of the original spelling; a
//! test (`testkit/tests/suite/spellings.rs`) holds spellings with the same bits to the same
//! answers.

use super::tree::{Binary, Formula, Id, Node, Shape, Side, Unary};
use crate::error::{Error, Result};
use crate::opt::Opt;

/// A sum of coordinates with coefficients, and of a rest.
///
/// Kept as lists, not nodes: coordinates that cancel later must not have been written into the new
/// formula.
#[derive(Clone, Debug, Default)]
struct Linear {
    terms: Vec<ImageTerm>,
    /// What depends on no coordinate outside of differences.
    rest: Option<Id>,
    /// Whether the value has one number for each component.
    vector: bool,
}

/// A coordinate, or a whole row, with its coefficient: `factor` times the product of `by`.
///
/// Two terms are of one coordinate if `by`, `at` and `side` agree; their factors are then added.
#[derive(Clone, Debug, PartialEq)]
struct ImageTerm {
    /// The part of the coefficient that is a number. Numbers are multiplied here so that `2*x -
    /// 2*y` and `2*(x - y)` have the same coefficients.
    factor: f64,
    /// Factors and divisors that are nodes of the new formula, sorted, so that products in any
    /// order are equal.
    by: Vec<(Binary, Id)>,
    /// The component; none for the whole row.
    at: Option<u32>,
    side: Side,
}

impl Linear {
    /// Returns the factor that the other row has in place of `term`; 0 if it has none.
    ///
    /// Terms of equal coordinates were added in [`sum`], so there is at most one.
    fn opposite(&self, term: &ImageTerm) -> f64 {
        let other = self
            .terms
            .iter()
            .find(|t| t.side != term.side && (&t.by, t.at) == (&term.by, term.at));
        other.map_or(0.0, |o| o.factor)
    }
    /// Returns whether every coordinate of one row is subtracted by the same of the other, with the
    /// same coefficient. Then the value is a combination of differences.
    fn is_balanced(&self) -> bool {
        self.terms.iter().all(|t| self.opposite(t) == -t.factor)
    }
}

/// What a node of the old formula became.
///
/// Two kinds, because δ is known only when an operation needs the value: in `(x - 1) - (y - 1)`
/// neither operand of the second minus is a difference.
#[derive(Clone, Debug)]
enum ImageValue {
    /// A node of the new formula that depends on no coordinate outside of differences.
    Plain(Id),
    /// Not written yet: its coordinates may still cancel in a later operation.
    Linear(Linear),
}

/// Returns `formula` with all differences of coordinates taken by the minimum image. The box has
/// `dims` dimensions; numbers of a row from `dims` on are attributes (a mass, a charge), which
/// formulas may use freely.
///
/// # Errors
/// `Request` for a coordinate outside of differences, with the place, or when the formula is full.
pub fn by_images(formula: &Formula, dims: usize) -> Result<Formula> {
    let mut out = Formula::new();
    (out.vectors, out.components) = (formula.vectors.clone(), formula.components);
    let live = formula.live();
    let mut values: Vec<ImageValue> = Vec::with_capacity(live.len());
    for (at, live) in live.iter().enumerate() {
        let value = if *live {
            node(formula, Id(at as u32), &values, dims, &mut out)?
        } else {
            // A dead node: no live one reads it.
            ImageValue::Plain(Id(0))
        };
        // Written at once, so that `2*(x - y)` stays a product with a difference instead of a
        // difference of products.
        let whole = matches!(&value, ImageValue::Linear(linear) if linear.is_balanced());
        values.push(if whole {
            ImageValue::Plain(plain(&value, &mut out)?)
        } else {
            value
        });
    }
    let roots = formula
        .roots
        .iter()
        .map(|r| plain(&values[r.0 as usize], &mut out));
    out.roots = roots.collect::<Result<_>>()?;
    Ok(out)
}

/// Translates one node. Sums, products and negations of combinations stay combinations; all other
/// operations need finished values.
///
/// Nodes come after their operands, so the values of operands are known.
fn node(
    formula: &Formula,
    id: Id,
    values: &[ImageValue],
    dims: usize,
    out: &mut Formula,
) -> Result<ImageValue> {
    match combination(formula, id, values, dims, out)? {
        Some(linear) => Ok(ImageValue::Linear(linear)),
        None => finished(formula, id, values, out).map(ImageValue::Plain),
    }
}

/// Translates a node that stays a combination of coordinates; none for others.
fn combination(
    formula: &Formula,
    id: Id,
    values: &[ImageValue],
    dims: usize,
    out: &mut Formula,
) -> Result<Option<Linear>> {
    let value = |id: &Id| &values[id.0 as usize];
    let made = match formula.node(id) {
        // Attributes, from `dims` on, are no coordinates and take the way of finished values.
        Node::Row(side) => coordinate(*side, None),
        Node::At(side, k) if (*k as usize) < dims => coordinate(*side, Some(*k)),
        Node::Unary(Unary::Neg, a) if matches!(value(a), ImageValue::Linear(_)) => {
            let a = linear(value(a), out);
            negated(a, out)?
        }
        Node::Binary(op @ (Binary::Add | Binary::Sub), a, b)
            if either_linear(value(a), value(b)) =>
        {
            let (a, b) = (linear(value(a), out), linear(value(b), out));
            sum(*op, a, b, out)?
        }
        // A coordinate may be multiplied or divided by something plain; a product of two
        // coordinates is not linear, and `plain` refuses it.
        Node::Binary(op @ (Binary::Mul | Binary::Div), a, b) => match (op, value(a), value(b)) {
            (_, ImageValue::Linear(a), ImageValue::Plain(by)) => scaled(*op, a, *by, out)?,
            (Binary::Mul, ImageValue::Plain(by), ImageValue::Linear(b)) => {
                scaled(*op, b, *by, out)?
            }
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    Ok(Some(made))
}

/// Returns one coordinate, or with `at` none all of them.
fn coordinate(side: Side, at: Option<u32>) -> Linear {
    let terms = vec![ImageTerm {
        factor: 1.0,
        by: vec![],
        at,
        side,
    }];
    Linear {
        terms,
        rest: None,
        vector: at.is_none(),
    }
}

/// Translates a node whose operands must be finished values.
///
/// The match names every node, so a new one cannot pass a coordinate through unseen.
fn finished(formula: &Formula, id: Id, values: &[ImageValue], out: &mut Formula) -> Result<Id> {
    let value = |id: &Id| &values[id.0 as usize];
    match formula.node(id) {
        Node::Unary(op, a) => {
            let a = plain(value(a), out)?;
            out.unary(*op, a)
        }
        Node::Binary(op, a, b) => {
            let (a, b) = (plain(value(a), out)?, plain(value(b), out)?);
            out.binary(*op, a, b)
        }
        Node::Select(c, a, b) => {
            let c = plain(value(c), out)?;
            let (a, b) = (plain(value(a), out)?, plain(value(b), out)?);
            out.select(c, a, b)
        }
        Node::Reduce(op, a) => {
            let a = plain(value(a), out)?;
            out.reduce(*op, a)
        }
        Node::UserReduce { op, init, body } => {
            let (op, body) = (plain(value(op), out)?, plain(value(body), out)?);
            let init = init.map(|i| plain(value(&i), out)).transpose()?;
            out.user_reduce(op, init, body)
        }
        Node::Tuple(parts) => {
            let parts = parts.iter().map(|p| plain(value(p), out));
            let parts = parts.collect::<Result<_>>()?;
            out.tuple(parts)
        }
        Node::Const(bits) => out.number(f64::from_bits(*bits)),
        Node::Given(v) => out.given(formula.vectors[*v as usize].clone()),
        leaf @ (Node::Row(_)
        | Node::At(..)
        | Node::Delta
        | Node::DeltaAt(_)
        | Node::Dim
        | Node::Bound(_)) => out.leaf(leaf.clone()),
    }
}

/// Returns whether a sum has a part that is not finished. A sum of two plain values is written at
/// once, with the operation of the formula, and keeps its bits.
fn either_linear(a: &ImageValue, b: &ImageValue) -> bool {
    matches!(a, ImageValue::Linear(_)) || matches!(b, ImageValue::Linear(_))
}

/// Returns a plain value as a combination that is all rest.
fn linear(value: &ImageValue, out: &Formula) -> Linear {
    match value {
        ImageValue::Linear(linear) => linear.clone(),
        ImageValue::Plain(id) => Linear {
            terms: vec![],
            rest: Some(*id),
            vector: out.ty(*id).shape == Shape::Vector,
        },
    }
}

/// Negates all factors and the rest. Exact, so no bit is lost by the detour.
fn negated(mut a: Linear, out: &mut Formula) -> Result<Linear> {
    a.terms.iter_mut().for_each(|t| t.factor = -t.factor);
    a.rest = a.rest.map(|r| out.unary(Unary::Neg, r)).transpose()?;
    Ok(a)
}

/// Adds or subtracts two combinations, and adds the factors of equal coordinates. A factor may
/// become zero; the term stays, because a zero on both sides is balanced.
fn sum(op: Binary, mut a: Linear, mut b: Linear, out: &mut Formula) -> Result<Linear> {
    if op == Binary::Sub {
        b.terms.iter_mut().for_each(|t| t.factor = -t.factor);
    }
    // The rests are added by the formula, so their constants fold.
    a.rest = match (a.rest, b.rest) {
        (Some(p), Some(q)) => Some(out.binary(op, p, q)?),
        // 0 − q and −q differ in the sign of a zero only; −q is one operation less.
        (None, Some(q)) if op == Binary::Sub => Some(out.unary(Unary::Neg, q)?),
        (p, q) => p.or(q),
    };
    // Equal coordinates with equal factors become one term.
    for term in b.terms {
        match a
            .terms
            .iter_mut()
            .find(|t| (&t.by, t.at, t.side) == (&term.by, term.at, term.side))
        {
            Some(same) => same.factor += term.factor,
            None => a.terms.push(term),
        }
    }
    a.vector |= b.vector;
    Ok(a)
}

/// Multiplies a combination by `by`, or divides it.
///
/// Divisors stay divisors: multiplying by a reciprocal would round twice.
fn scaled(op: Binary, a: &Linear, by: Id, out: &mut Formula) -> Result<Linear> {
    let mut a = a.clone();
    let constant = out.constant(by);
    for term in &mut a.terms {
        // Constants go into the number, everything else into the list of factors.
        match (op, constant) {
            (Binary::Mul, Some(c)) => term.factor *= c,
            (_, Some(c)) => term.factor /= c,
            _ => {
                term.by.push((op, by));
                // Factors commute.
                term.by.sort_unstable();
            }
        }
    }
    a.rest = a.rest.map(|r| out.binary(op, r, by)).transpose()?;
    a.vector |= out.ty(by).shape == Shape::Vector;
    Ok(a)
}

/// Writes a value as a node. Refuses a combination with a coordinate that has no counterpart.
///
/// Only terms of x are written: each represents its difference to the term of y, whose factor is
/// the opposite.
fn plain(value: &ImageValue, out: &mut Formula) -> Result<Id> {
    let linear = match value {
        ImageValue::Plain(id) => return Ok(*id),
        ImageValue::Linear(linear) => linear,
    };
    let mut made: Option<Id> = None;
    for term in &linear.terms {
        // Exact comparison of factors: 0.1 + 0.2 against 0.3 is refused, and its user writes the
        // difference.
        if linear.opposite(term) != -term.factor {
            return Err(alone(term));
        }
        if term.side == Side::X && term.factor != 0.0 {
            // The term of x and its opposite of y, together one difference.
            let gap = difference(term, out)?;
            made = Some(match made {
                Some(before) => out.binary(Binary::Add, before, gap)?,
                None => gap,
            });
        }
    }
    match (made, linear.rest) {
        (Some(made), Some(rest)) if out.constant(rest) != Some(0.0) => {
            out.binary(Binary::Add, made, rest)
        }
        (Some(made), _) => Ok(made),
        (None, rest) => {
            // All coordinates cancelled, as in `x - x`. The value must still be a vector if it was
            // one, so that reductions over it count its components.
            let zero = out.number(0.0)?;
            let rest = rest.unwrap_or(zero);
            if linear.vector && out.ty(rest).shape != Shape::Vector {
                let gap = out.leaf(Node::Delta)?;
                let nothing = out.binary(Binary::Mul, gap, zero)?;
                return out.binary(Binary::Add, nothing, rest);
            }
            Ok(rest)
        }
    }
}

/// Writes factor · δ · by…, with δ the minimum image. Factors of ±1 are left out, since they would
/// be operations for every pair.
fn difference(term: &ImageTerm, out: &mut Formula) -> Result<Id> {
    // A component has a node of its own; the executor forms the whole image and picks.
    let gap = out.leaf(term.at.map_or(Node::Delta, Node::DeltaAt))?;
    let mut made = match term.factor {
        1.0 => gap,
        -1.0 => out.unary(Unary::Neg, gap)?,
        factor => {
            let factor = out.number(factor)?;
            out.binary(Binary::Mul, factor, gap)?
        }
    };
    for (op, by) in &term.by {
        made = out.binary(*op, made, *by)?;
    }
    Ok(made)
}

/// Returns the refusal of a coordinate outside of differences, with the way to write it.
fn alone(term: &ImageTerm) -> Error {
    let row = if term.side == Side::X { "x" } else { "y" };
    let name = term
        .at
        .map_or_else(|| row.to_string(), |k| format!("{row}[{k}]"));
    let e = Error::request(format!(
        "expected coordinates in a box only inside differences 'x - y', got '{name}' outside of one"
    ));
    e.at_place(format!("formula, {}", Opt::Box)).remedy(
        "write differences as 'x - y'; numbers that no box is about are attributes of rows: x.name",
    )
}
