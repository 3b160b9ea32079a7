//! The behavioural suite of `cases/`, and properties of formulas, folds and partials.

mod bounds;
mod cases;
mod formulas;
mod gpu;
mod jit;
mod partials;
mod prune;
