//! The answers of jobs that a page shows by their JSON and their picture.

use crate::association::AssociationNetwork;
use crate::correlogram::Correlograms;
use crate::paircount::PairCounts;
use crate::pattern::{Occurrences, RipleyAnswer};
use crate::report::Shown;
use crate::set_distance::SetDistances;
use crate::silhouette::Silhouettes;
use crate::variogram::Variograms;
use serde_json::Value;
use zipfold_core::Result;

macro_rules! shown {
    ($($answer:ty),+ $(,)?) => {$(
        impl Shown for $answer {
            fn numbers(&self) -> Value {
                self.json()
            }
            fn picture(&self) -> Result<Option<String>> {
                self.svg().map(Some)
            }
        }
    )+};
}

impl Shown for SetDistances {
    fn numbers(&self) -> Value {
        self.json()
    }
    fn picture(&self) -> Result<Option<String>> {
        self.svg()
    }
}

shown!(
    AssociationNetwork,
    Correlograms,
    Occurrences,
    PairCounts,
    RipleyAnswer,
    Silhouettes,
    Variograms,
);
