//! The arguments that say what the distance of two rows is.

use crate::problem_from_args::param;
use crate::values::OneOf;
use clap::Args;
use std::collections::BTreeMap;
use zipfold::problem::Param;
use zipfold::{Budget, Result};

/// The distance of two rows.
#[derive(Args, Clone, Debug)]
pub(crate) struct DistanceArgs {
    /// The distance; `zipfold metrics` lists the metrics [default: euclidean]
    #[arg(long, conflicts_with = "pair", value_parser = OneOf::metric(), hide_possible_values = true, help_heading = "Pair")]
    pub metric: Option<String>,
    /// The distance as a formula in x and y
    #[arg(
        long,
        value_name = "EXPR",
        allow_hyphen_values = true,
        help_heading = "Pair"
    )]
    pub pair: Option<String>,
    /// A value of the formula or option of the metric: p=3
    #[arg(
        long = "param",
        value_name = "NAME=VALUE",
        allow_hyphen_values = true,
        help_heading = "Pair"
    )]
    pub params: Vec<String>,
}

impl DistanceArgs {
    /// Puts what is given in the place of what a description has: its metric, its formula, and the
    /// parameters of both.
    pub(crate) fn put(
        &self,
        metric: &mut Option<String>,
        formula: &mut Option<String>,
        params: &mut BTreeMap<String, Param>,
        budget: &Budget,
    ) -> Result<()> {
        if self.metric.is_some() || self.pair.is_some() {
            metric.clone_from(&self.metric);
            formula.clone_from(&self.pair);
        }
        for text in &self.params {
            let (name, value) = param(text, budget)?;
            params.insert(name, value);
        }
        Ok(())
    }
}
