//! What an answer says of a count of components.

use zipfold_core::Error;
use zipfold_product::count::Work;

/// A count instead of an elimination.
#[derive(Clone, Debug)]
pub struct Counting {
    /// Why.
    pub why: Why,
    /// What it took; none before it ran.
    pub work: Option<Work>,
}

/// Why components are counted.
#[derive(Clone, Debug)]
pub enum Why {
    /// A plan choice.
    Chosen,
    /// Elimination is refused.
    Refused(Error),
    /// Elimination is predicted to take these seconds, and the count ended before.
    Slower(f64),
}
