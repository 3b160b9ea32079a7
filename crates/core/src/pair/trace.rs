//! Builds formulas in Rust by operator overloading: `pair(|x, y| (x - y).abs().sum())`.
//!
//! The closure runs once. Its operators record nodes in a formula, and nothing is computed. The
//! result is the same [`Formula`] that [`super::parse()`] makes of a text, so everything after it
//! is shared. The Python package has a tracer of its own, which writes a text.
//!
//! ```
//! use zipfold_core::pair::trace::pair;
//! let gauss = pair(|x, y| (-(x - y).powf(2.0).sum() / 2.0).exp()).unwrap();
//! assert_eq!(gauss.roots.len(), 1);
//! ```

use super::tree::{Binary, ComponentReduce, Formula, Id, Node, Side, Unary};
use crate::error::Result;
use std::cell::RefCell;
use std::rc::Rc;

/// A traced value: a node of a formula that all values of one trace share, or the first error.
///
/// Operators of Rust cannot return a `Result` and stay readable, so an error (a reduction of a
/// single number, say) travels inside the value and is returned by [`pair`].
#[derive(Clone, Debug)]
pub struct Traced {
    /// Borrowed for the length of one operation. No closure of a user runs in between, so no two
    /// borrows meet.
    formula: Rc<RefCell<Formula>>,
    id: Result<Id>,
}

/// Traces a function of two rows into a formula with one root.
///
/// # Errors
/// `Request` when the function uses a vector where a number belongs, or the other way round.
pub fn pair(f: impl FnOnce(Traced, Traced) -> Traced) -> Result<Formula> {
    // Shared by all traced values: each operator adds its node.
    let formula = Rc::new(RefCell::new(Formula::new()));
    let row = |side| Traced {
        formula: formula.clone(),
        id: formula.borrow_mut().leaf(Node::Row(side)),
    };
    let root = f(row(Side::X), row(Side::Y)).id?;
    // Values may outlive the trace, so the formula is copied and not taken.
    let mut out = formula.borrow().clone();
    out.roots = vec![root];
    Ok(out)
}

/// Returns a short vector of single numbers, as the value of a pair.
///
/// For sums of vectors by row. The formula refuses more than 16 numbers and vectors among them.
pub fn tuple<const N: usize>(parts: [Traced; N]) -> Traced {
    let formula = parts[0].formula.clone();
    let ids: Result<Vec<Id>> = parts.into_iter().map(|p| p.id).collect();
    let id = ids.and_then(|ids| formula.borrow_mut().tuple(ids));
    Traced { formula, id }
}

impl Traced {
    // Errors travel inside a `Traced`, so that a chain of operators needs no `?`; the first one is
    // returned by [`trace`].
    /// Returns another value of the same formula.
    fn with(&self, id: Result<Id>) -> Traced {
        Traced {
            formula: self.formula.clone(),
            id,
        }
    }
    /// Records a function of one operand, unless the operand is an error.
    ///
    /// An error is carried on, so that the first mistake is the one that [`pair`] reports.
    fn unary(self, op: Unary) -> Traced {
        let id = self
            .id
            .clone()
            .and_then(|a| self.formula.borrow_mut().unary(op, a));
        self.with(id)
    }
    /// Records a function of two operands. Of two errors the left one is kept.
    fn binary(self, op: Binary, other: Traced) -> Traced {
        let id = self.id.clone().and_then(|a| {
            other
                .id
                .and_then(|b| self.formula.borrow_mut().binary(op, a, b))
        });
        self.with(id)
    }
    /// Records a reduction over components.
    fn reduce(self, op: ComponentReduce) -> Traced {
        let id = self
            .id
            .clone()
            .and_then(|a| self.formula.borrow_mut().reduce(op, a));
        self.with(id)
    }
    /// Returns a number in the same formula.
    ///
    /// Any traced value will do as `self`: it only says which formula.
    pub fn constant(&self, value: f64) -> Traced {
        let id = self.formula.borrow_mut().number(value);
        self.with(id)
    }
    /// Returns component `k` of a whole row, or of the difference of the two rows.
    pub fn component(&self, k: u32) -> Traced {
        let node = self
            .id
            .clone()
            .map(|id| self.formula.borrow().node(id).clone());
        // A component of any other vector would need a node that formulas do not have.
        let id = node.and_then(|node| match node {
            Node::Row(side) => self.formula.borrow_mut().leaf(Node::At(side, k)),
            Node::Delta => self.formula.borrow_mut().leaf(Node::DeltaAt(k)),
            _ => Err(crate::error::Error::request(
                "only rows and their difference have components",
            )),
        });
        self.with(id)
    }
    /// Raises to the power `p`. A square becomes a product, as in the parser, so that both
    /// spellings are one formula.
    pub fn powf(self, p: f64) -> Traced {
        if p == 2.0 {
            return self.clone() * self;
        }
        let p = self.constant(p);
        self.binary(Binary::Pow, p)
    }
    /// Returns `a` if this is true, else `b`. Both are computed for every pair; a choice saves no
    /// work.
    pub fn select(self, a: Traced, b: Traced) -> Traced {
        let id = (|| {
            self.formula
                .borrow_mut()
                .select(self.id.clone()?, a.id?, b.id?)
        })();
        self.with(id)
    }
    /// Reduces by an associative operator from `init`. The operator is traced once, with the
    /// accumulated and the next number as its operands.
    ///
    /// Components come in ascending order, so an operator that is not associative has a meaning,
    /// too.
    pub fn fold(self, init: f64, op: impl FnOnce(Traced, Traced) -> Traced) -> Traced {
        // The operands of the operator, as leaves; the closure combines them once.
        let bound = |next| self.with(self.formula.borrow_mut().leaf(Node::Bound(next)));
        let op = op(bound(false), bound(true)).id;
        let init = self.constant(init).id;
        let id = (|| {
            self.formula
                .borrow_mut()
                .user_reduce(op?, Some(init?), self.id.clone()?)
        })();
        self.with(id)
    }
    /// Returns the mean over components. Divided by a node, not a number: the trace does not know
    /// how many components rows have.
    pub fn mean(self) -> Traced {
        let dim = self.with(self.formula.borrow_mut().leaf(Node::Dim));
        self.sum() / dim
    }
}

// Methods by macro: each is one line of the table, with its documentation, and cannot differ from
// its neighbours by a slip.
macro_rules! unaries {
    ($($name:ident $op:ident $doc:literal;)*) => { impl Traced { $(
        #[doc = $doc]
        pub fn $name(self) -> Traced { self.unary(Unary::$op) }
    )* } };
}
unaries! {
    abs Abs "The absolute value."; sqrt Sqrt "The square root."; exp Exp "e to this power."; ln Log "The natural logarithm.";
    sin Sin "The sine."; cos Cos "The cosine."; asin Asin "The arc sine."; tanh Tanh "The hyperbolic tangent.";
    erf Erf "The error function."; erfc Erfc "One less the error function."; lgamma Lgamma "The logarithm of |Γ|.";
    popcount Popcount "The number of ones in binary, of a whole number from 0 to 2⁵³ − 1; else NaN.";
    floor Floor "The largest integer not above."; round Round "The nearest integer, ties to even."; sign Sign "The sign.";
}

macro_rules! reductions {
    ($($name:ident $op:ident $doc:literal;)*) => { impl Traced { $(
        #[doc = $doc]
        pub fn $name(self) -> Traced { self.reduce(ComponentReduce::$op) }
    )* } };
}
reductions! {
    sum Sum "The sum over components."; prod Prod "The product over components.";
    max Max "The largest component."; min Min "The smallest component.";
    any Any "Whether any component is true."; all All "Whether all components are true.";
}

// Rust's own comparison operators return `bool` and cannot record a node, hence methods.
macro_rules! comparisons {
    ($($name:ident $op:ident $doc:literal;)*) => { impl Traced { $(
        #[doc = $doc]
        pub fn $name(self, other: Traced) -> Traced { self.binary(Binary::$op, other) }
    )* } };
}
comparisons! {
    lt Lt "Less than, by components."; le Le "Less than or equal, by components.";
    equal Eq "Equal, by components."; differs Ne "Not equal, by components.";
    and And "Both are true."; or Or "Either is true."; maximum Max "The larger, by components."; minimum Min "The smaller, by components.";
}

// Three forms for each operator: a number on either side becomes a constant of the formula of the
// other operand.
macro_rules! operators {
    ($($trait:ident $method:ident $op:ident;)*) => { $(
        impl std::ops::$trait for Traced {
            type Output = Traced;
            fn $method(self, other: Traced) -> Traced { self.binary(Binary::$op, other) }
        }
        impl std::ops::$trait<f64> for Traced {
            type Output = Traced;
            fn $method(self, other: f64) -> Traced { let c = self.constant(other); self.binary(Binary::$op, c) }
        }
        impl std::ops::$trait<Traced> for f64 {
            type Output = Traced;
            fn $method(self, other: Traced) -> Traced { let c = other.constant(self); c.binary(Binary::$op, other) }
        }
    )* };
}
operators! { Add add Add; Sub sub Sub; Mul mul Mul; Div div Div; }

impl std::ops::Neg for Traced {
    type Output = Traced;
    fn neg(self) -> Traced {
        self.unary(Unary::Neg)
    }
}
