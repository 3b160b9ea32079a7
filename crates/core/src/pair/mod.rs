//! The pair formula: what the value of one pair is.
//!
//! In the order in which a formula passes through them: `lex` and `parse` (text to [`Formula`]),
//! `tree` (the graph), `operators` and `eval` (the reference value), `images` (periodic boxes),
//! `truth` (nulls), `symmetry` and `sign` (proofs from the form), `lower` (what is computed per
//! row, per component, per pair), `pattern` (special forms), `interval` and `interval_bounds`
//! (values over boxes of rows). `named` has the metrics, which are formulas with names.

pub mod artifacts;
pub mod eval;
pub mod functions;
pub mod images;
pub mod interval;
pub mod interval_bounds;
pub(crate) mod lex;
pub mod lower;
pub mod metric;
pub mod named;
pub mod operators;
pub mod parse;
pub mod pattern;
pub mod prepare;
mod recognise;
pub mod scope;
mod sign;
pub mod source;
pub mod symmetry;
pub(crate) mod texts;
pub mod trace;
pub mod tree;
pub mod truth;

pub use eval::{Evaluator, Rows};
pub use parse::{Param, Scope};
pub use symmetry::{Symmetry, symmetry};
pub use texts::own as own_text;
pub use tree::{Formula, Id, Node, Shape, Side};

use crate::error::Result;

/// Parses `text` into `formula` and returns the node of its value. The caller makes it a root, so
/// that folds can add theirs to the same formula and share nodes.
///
/// # Errors
/// `Request`, with the place underlined, when the text does not parse or does not type.
pub fn parse(formula: &mut Formula, text: &str, scope: &Scope<'_>) -> Result<Id> {
    parse::parse_with(formula, text, scope, named::all())
}
