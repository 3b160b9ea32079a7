//! Inferences as questions of a store: planned once, worked on by any process that sees the folder,
//! and answered from the parts.
//!
//! ```text
//! inference-HASH     the network, the evidence, the task and the settings
//! order-HASH         the plan, which is not searched for again
//! slices.json …      the plan and the shares                               shared_slices.rs
//! ```
//!
//! Every process simplifies the network itself. One that comes to other tables is refused by the key
//! of the store.

use crate::infer::{Inferred, Settings, infer};
use crate::partial::{open_sealed, seal};
use crate::shared_slices::{Order, Role, SlicePlan, SliceStore, StoredQuestion, whole};
use crate::sliced_plan::SlicedPlan;
use crate::store::kinds::{ANEW, OF_SHARES, OF_SLICES, QUESTION, has_results, is_store, taken};
use crate::store::{Files, Folder, Habits, Patient, SENT, Who, Worked};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use twox_hash::XxHash3_64;
use zipfold_core::factor::{Answer, Evidence, Factor, Kind, Names, Network, Task};
use zipfold_core::message::Wording;
use zipfold_core::{Blame, Budget, Error, Opt, Precision, Result};
use zipfold_gpu::DeviceSelector;
use zipfold_io::read::refuse_store;
use zipfold_plan::Overrides;
use zipfold_plan::overrides::ProductMethod;
use zipfold_product::plan::Grouping;

const MAGIC: &[u8; 8] = b"ZFINFER\x01";
/// Time before a call of a folder that fails is tried again.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// A question about a network that processes work on in shares.
#[derive(Clone, Debug)]
pub struct SharedInference {
    /// The network.
    pub network: Network,
    /// What is observed.
    pub evidence: Evidence,
    /// What is asked.
    pub task: Task,
    /// Variables of an answer that is for some of them; all if there are none.
    pub only: Vec<usize>,
    /// How it is answered, by every process alike.
    pub settings: Settings,
    /// The plan, where it comes from a store.
    planned: Option<Arc<SlicedPlan>>,
}

/// A question as a store keeps it.
#[derive(Serialize, Deserialize)]
struct KeptInference {
    kind: Kind,
    cards: Vec<usize>,
    factors: Vec<(Vec<usize>, Vec<f64>)>,
    names: Option<Names>,
    evidence: Evidence,
    task: Task,
    only: Vec<usize>,
    memory: u64,
    precision: Precision,
    seed: u64,
    order_seconds: Option<f64>,
    time_limit: f64,
    grouping: Grouping,
    device: String,
    overrides: BTreeMap<String, String>,
}

/// The files of the folder `root`.
fn files_of(root: &Path) -> Patient<Folder> {
    Patient::new(Folder::new(root, &Who::this().name()), 6, FIRST_PAUSE)
}

impl SharedInference {
    /// What is asked about a network with what is observed, and how it is answered; of marginals
    /// `only` those of some variables, if there are any.
    #[must_use]
    pub fn new(
        (network, evidence): (Network, Evidence),
        (task, only): (Task, Vec<usize>),
        settings: Settings,
    ) -> Self {
        SharedInference {
            network,
            evidence,
            task,
            only,
            settings,
            planned: None,
        }
    }
    /// Plans the question in the folder `root`, which becomes a store of this number of
    /// shares, if it is given. Where the device is left open, it is the processor.
    ///
    /// # Errors
    /// `Request` for a folder that is a store already, for a question whose plan has no slices, and
    /// for a network that is too large to be sent; those of planning and of the folder.
    pub fn plan(&mut self, root: &Path, shares: Option<usize>) -> Result<SlicePlan> {
        self.refuse_unshared()?;
        // Any machine has a processor, so shares are for devices only where they are named.
        if self.settings.device == DeviceSelector::Auto {
            self.settings.device = DeviceSelector::Cpu;
        }
        refuse_store(&root.to_string_lossy())?;
        let mut kinds = [OF_SLICES, OF_SHARES].into_iter();
        if kinds.any(|kind| is_store(root, kind)) || has_results(root) {
            return Err(taken(root));
        }
        // Only elimination has slices.
        self.settings.overrides.product_method = Some(ProductMethod::Elimination);
        let bytes = self.kept_bytes()?;
        let hash = format!("{:016x}", XxHash3_64::oneshot(&bytes));
        let order = Role::Plan(shares, Arc::new(StoredQuestion { bytes, hash }));
        let settings = self.settings_at(root, order);
        match infer(&self.network, &self.evidence, &self.task, &settings) {
            // Only a plan with slices comes to the store.
            Ok(done) if done.answer == Answer::Impossible => {
                let what = "the evidence has probability zero, so there is nothing to compute";
                let e = Error::new(Blame::Impossible, what).at_place("the evidence");
                Err(e.remedy("take back an observation"))
            }
            Ok(_) => Err(whole()),
            Err(e) if SlicePlan::has_planned(&e) => {
                let plan = SlicePlan::read(&files_of(root), &Budget::new(settings.memory))?;
                plan.ok_or_else(|| Error::input("the plan of the store is gone"))
            }
            Err(e) => Err(e),
        }
    }
    /// The question of the store in the folder `root`; none where that is not a store of an inference.
    ///
    /// # Errors
    /// `Request` for a store whose processes have the question themselves; `Input` for one that is
    /// damaged; those of the folder.
    pub fn read(root: &Path, budget: &Budget) -> Result<Option<Self>> {
        if !is_store(root, OF_SLICES) {
            return Ok(None);
        }
        let files = files_of(root);
        let plan = SlicePlan::read(&files, budget)?;
        let Some(hash) = plan.as_ref().and_then(SlicePlan::question) else {
            let what = "expected an inference that was planned for workers, got one whose processes ask it themselves";
            return Err(Error::request(what)
                .at_place(root.to_string_lossy())
                .remedy("the command that began the store"));
        };
        let name = format!("{QUESTION}{hash}");
        let place = files.path(&name).to_string_lossy().into_owned();
        let bytes = files.get(&name, budget)?.ok_or_else(|| {
            let e = Error::input("the question of the store is gone").at_place(place.clone());
            e.remedy(ANEW)
        })?;
        let _held = budget.reserve(bytes.len() as u64 * 2, "the network of the store")?;
        let kept: KeptInference = open_sealed(MAGIC, &bytes, &place).map_err(|e| e.remedy(ANEW))?;
        let mut question = kept.question().map_err(|e| e.at_least(place))?;
        question.planned = Some(Arc::new(SlicedPlan::read(&files, hash, budget)?));
        Ok(Some(question))
    }
    /// The question of the store in the folder `root`, which is a store of an inference.
    ///
    /// # Errors
    /// As [`SharedInference::read`], and `Request` where it is none.
    pub fn there(root: &Path, budget: &Budget) -> Result<Self> {
        SharedInference::read(root, budget)?.ok_or_else(|| {
            let e = Error::request("expected a store of an inference, got none");
            e.at_place(root.to_string_lossy())
        })
    }
    /// Works on share `number`, from 1, or on shares until none is left. `every` so often, and when it is
    /// interrupted, it keeps the slices of a share that are done, from which the next worker goes on.
    ///
    /// # Errors
    /// `Request` where this process comes to another plan, and for a share that another worker has;
    /// those of the store; `Interrupted`.
    pub fn work(
        &self,
        root: &Path,
        number: Option<usize>,
        (habits, every): (&Habits, Duration),
        (wording, stop): (Wording, Option<Arc<AtomicBool>>),
    ) -> Result<Worked> {
        let order = Arc::new(Order {
            share: number,
            habits: habits.clone(),
            every,
            wording,
            worked: Mutex::new(None),
        });
        let settings = Settings {
            stop,
            ..self.settings_at(root, Role::Work(order.clone()))
        };
        let done = infer(&self.network, &self.evidence, &self.task, &settings);
        let worked = order
            .worked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        match (worked, done) {
            (Some(worked), _) => Ok(worked),
            (None, Err(e)) => Err(e),
            (None, Ok(_)) => Err(whole()),
        }
    }
    /// The answer of the parts of the store in the folder `root`.
    ///
    /// # Errors
    /// `Request` where shares are missing; those of the store and of [`infer`].
    pub fn merge(&self, root: &Path) -> Result<Inferred> {
        let settings = self.settings_at(root, Role::Merge);
        infer(&self.network, &self.evidence, &self.task, &settings)
    }
    /// The settings of a process at the store.
    fn settings_at(&self, root: &Path, role: Role) -> Settings {
        let lease = Habits::default().lease;
        Settings {
            checkpoint: None,
            store: Some(SliceStore::new(root.to_owned(), lease).with(role, self.planned.clone())),
            ..self.settings.clone()
        }
    }
    /// Refuses a question that is not worked on in shares.
    fn refuse_unshared(&self) -> Result<()> {
        if let Task::Mmap(_) = self.task {
            let what = "expected a task of one stage, got mmap, whose stages need the ones before";
            let remedy = format!(
                "no plan: {} and the same question in each process",
                Opt::Store
            );
            return Err(Error::request(what).at_place("the task").remedy(remedy));
        }
        if let Some(ProductMethod::Search | ProductMethod::Components) =
            self.settings.overrides.product_method
        {
            let what = "expected elimination, whose plans have slices, got another method";
            let e = Error::request(what).at_place(Opt::Set.like("product.method"));
            return Err(e.remedy(Opt::Set.like("product.method=elimination")));
        }
        let bytes = self.network.bytes();
        if bytes > SENT {
            let e = Error::request(format!("{bytes} bytes of a network to be sent to workers"));
            let remedy = format!(
                "no plan: {} and the same question in each process",
                Opt::Store
            );
            return Err(e.limit(format!("{SENT} bytes")).remedy(remedy));
        }
        Ok(())
    }
    fn kept_bytes(&self) -> Result<Vec<u8>> {
        let (network, settings) = (&self.network, &self.settings);
        let factor = |f: &Factor| (f.scope().to_vec(), f.values().to_vec());
        let texts = settings.overrides.texts().into_iter();
        let kept = KeptInference {
            kind: network.kind(),
            cards: network.cards().to_vec(),
            factors: network.factors().iter().map(factor).collect(),
            names: network.names().cloned(),
            evidence: self.evidence.clone(),
            task: self.task.clone(),
            only: self.only.clone(),
            memory: settings.memory,
            precision: settings.precision,
            seed: settings.seed,
            order_seconds: settings.order_seconds,
            time_limit: settings.time_limit,
            grouping: settings.grouping,
            device: settings.device.to_string(),
            overrides: texts.map(|(key, value)| (key.into(), value)).collect(),
        };
        let payload = postcard::to_stdvec(&kept).map_err(|e| Error::internal(e.to_string()))?;
        Ok(seal(MAGIC, &payload))
    }
}

impl KeptInference {
    fn question(self) -> Result<SharedInference> {
        let cards = &self.cards;
        let factor = |(scope, values)| Factor::new(scope, values, cards);
        let factors = self
            .factors
            .into_iter()
            .map(factor)
            .collect::<Result<_>>()?;
        let network = Network::new(self.kind, self.cards.clone(), factors)?;
        let network = match self.names {
            Some(names) => network.with_names(names)?,
            None => network,
        };
        Ok(SharedInference {
            evidence: Evidence::new(self.evidence.iter(), network.cards())?,
            network,
            task: self.task,
            only: self.only,
            settings: Settings {
                memory: self.memory,
                precision: self.precision,
                seed: self.seed,
                order_seconds: self.order_seconds,
                time_limit: self.time_limit,
                grouping: self.grouping,
                device: DeviceSelector::parse(&self.device)?,
                overrides: Overrides::read(&self.overrides)?,
                ..Settings::default()
            },
            planned: None,
        })
    }
}

/// Whether the folder is a store of an inference.
#[must_use]
pub fn is_one(root: &Path) -> bool {
    is_store(root, OF_SLICES)
}

/// The name of a task.
#[must_use]
pub fn name_of(task: &Task) -> &'static str {
    match task {
        Task::Pr => "pr",
        Task::Mar => "mar",
        Task::Map => "map",
        Task::Mmap(_) => "mmap",
        Task::Sum(_) => "sum",
        Task::Samples(_) => "samples",
    }
}
