//! The behavioural suite of `cases/`, and properties of formulas, folds and partials.

mod batches;
mod bits;
mod bounds;
mod cases;
mod columns;
mod device_random;
mod devices;
mod domains;
mod executors;
mod filter;
mod formulas;
mod gpu;
mod groups;
mod jit;
mod listed;
mod merges;
mod nudged;
mod orders;
mod partials;
mod prune;
mod ranges;
mod renamed;
mod shares;
mod spellings;
mod sums;
mod weights;
