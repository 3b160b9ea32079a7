//! What is asked of a network, and the answers.

use super::Var;

/// A question about a network with evidence.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Task {
    /// log10 of the partition function; for a Bayesian network of the probability of the evidence.
    Pr,
    /// The posterior marginal of every variable.
    Mar,
    /// A most probable configuration of all variables.
    Map,
    /// A most probable configuration of these variables, the others summed out.
    Mmap(Vec<Var>),
    /// The unnormalised table over these variables, the others summed out.
    Sum(Vec<Var>),
    /// This many independent samples of the posterior.
    Samples(usize),
}

/// A value for every variable of the network.
pub type Assignment = Vec<usize>;

/// log10 of a non-negative number; -∞ means zero.
pub type Log10 = f64;

/// The answer to a [`Task`].
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The evidence has probability zero, so there is no posterior (and log10 Z is -∞).
    Impossible,
    /// log10 Z.
    Pr(Log10),
    /// log10 Z and the marginal of each variable.
    Mar(Log10, Vec<Vec<f64>>),
    /// log10 of the largest product of factors, and a configuration that has it.
    Map(Log10, Assignment),
    /// log10 of the largest sum, and the values of the asked variables, in the order asked.
    Mmap(Log10, Vec<(Var, usize)>),
    /// A table over the kept variables, in the order asked, last fastest: entries and log10 of
    /// their common factor.
    Sum(Vec<Var>, Vec<f64>, Log10),
    /// log10 Z and samples.
    Samples(Log10, Vec<Assignment>),
}
