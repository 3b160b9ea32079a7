//! The pair formula: what one cell's value is.

pub mod artifacts;
pub mod bounds;
pub mod eval;
pub mod functions;
pub mod images;
pub mod interval;
pub(crate) mod lex;
pub mod lower;
pub mod named;
pub mod operators;
pub mod parse;
pub mod pattern;
pub mod prepare;
mod sign;
pub mod symmetry;
pub(crate) mod texts;
pub mod trace;
pub mod tree;
pub mod truth;

pub use eval::{Evaluator, Rows};
pub use parse::{Param, Scope, parse};
pub use symmetry::{Symmetry, symmetry};
pub use texts::own as own_text;
pub use tree::{Formula, Id, Node, Shape, Side};
