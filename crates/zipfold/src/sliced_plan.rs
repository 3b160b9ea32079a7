//! The plan of a sum-product in a store: made once, and followed by all of its processes.

use crate::partial::{open_sealed, seal};
use crate::store::Files;
use crate::store::kinds::{ANEW, ORDER};
use serde::{Deserialize, Serialize};
use zipfold_core::{Budget, Error, Result};
use zipfold_product::plan::{Group, Node, Plan, Reduced, Source, Split};

const MAGIC: &[u8; 8] = b"ZFORDER\x01";

/// A plan with slices.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum SlicedPlan {
    Whole(Plan),
    Groups(Split),
}

impl SlicedPlan {
    /// Whether it is a plan for the simplified network, whose tables it is indexed by.
    pub(crate) fn fits(&self, network: &Reduced) -> bool {
        match self {
            SlicedPlan::Whole(plan) => plan_fits(plan, network),
            SlicedPlan::Groups(split) => {
                let known = |g: &Group| g.tables.iter().all(|t| *t < network.tables.len());
                let asked = |g: &Group| g.asked.iter().all(|v| *v < network.cards.len());
                let mut groups = split.groups.iter();
                groups.all(|g| known(g) && asked(g) && plan_fits(&g.plan, &g.part(network)))
            }
        }
    }
    /// Puts it into a store, by the hash of its question: the layout of one version means nothing to another.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn put(&self, files: &dyn Files, question: &str) -> Result<()> {
        let packed = |e: postcard::Error| Error::internal(e.to_string());
        let plan = postcard::to_stdvec(self).map_err(packed)?;
        let both = postcard::to_stdvec(&(env!("CARGO_PKG_VERSION"), plan)).map_err(packed)?;
        let name = format!("{ORDER}{question}");
        files.put_new(&name, &seal(MAGIC, &both)).map(drop)
    }
    /// The plan of a store, by the hash of its question.
    ///
    /// # Errors
    /// `Input` where it is not there or damaged, `Request` for that of another version; those of the
    /// store.
    pub(crate) fn read(files: &dyn Files, question: &str, budget: &Budget) -> Result<Self> {
        let name = format!("{ORDER}{question}");
        let place = files.path(&name).to_string_lossy().into_owned();
        let refuse = |what: String| Error::input(what).at_place(place.clone()).remedy(ANEW);
        let bytes = files.get(&name, budget)?;
        let bytes = bytes.ok_or_else(|| refuse("the plan of the store is gone".into()))?;
        let _held = budget.reserve(bytes.len() as u64 * 2, "the plan of the store")?;
        let (version, plan): (String, Vec<u8>) =
            open_sealed(MAGIC, &bytes, &place).map_err(|e| e.remedy(ANEW))?;
        let own = env!("CARGO_PKG_VERSION");
        if version != own {
            let what = format!(
                "the version of zipfold is not the same: this process has {own}, the store was planned with {version}"
            );
            let e = Error::request(what).at_place(place);
            return Err(e.remedy("workers of one version"));
        }
        postcard::from_bytes(&plan).map_err(|e| refuse(format!("the plan is damaged: {e}")))
    }
}

fn plan_fits(plan: &Plan, network: &Reduced) -> bool {
    let node = |(at, node): (usize, &Node)| match &node.source {
        Source::Input(table) => *table < network.tables.len(),
        Source::Join(inputs) => inputs.iter().all(|input| *input < at),
    };
    plan.cards == network.cards && plan.nodes.iter().enumerate().all(node)
}
