//! What decides an answer and its bits, as one key by parts: partial results go together where
//! these are the same.

use serde::{Deserialize, Serialize};
use zipfold_core::fold::BLOCK;
use zipfold_core::{Error, Hash, Job, Precision, Problem};
use zipfold_plan::shares::shape;
use zipfold_plan::{Plan, Tiling};

/// The parts, as messages call them. What comes before [`TILES`] decides the answer, the rest how
/// it was cut and computed.
const PARTS: [&str; 11] = [
    "the data of x",
    "the data of y",
    "the listed pairs",
    "the weights",
    "the problem",
    "the formula",
    "what is kept",
    "the tiles",
    "the precision",
    "the instruction set, the kernels or the device, on which these bits depend",
    "the shard",
];
const TILES: usize = 7;

/// A hash of each thing that decides an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity([u128; PARTS.len()]);

impl Identity {
    /// Of `problem`, described as `job` and run by `plan`, whole or in the shard (index, parts).
    pub fn of_run(
        problem: &Problem,
        job: &Job,
        plan: &Plan,
        shard: Option<(usize, usize)>,
    ) -> Self {
        Identity([
            hash(|h| h.table(&job.x)),
            hash(|h| job.y.iter().for_each(|y| h.table(y))),
            hash(|h| listed(h, job)),
            hash(|h| job.folds.iter().for_each(|fold| fold.identify_weights(h))),
            hash(|h| h.text(&serde_json::to_string(problem).unwrap_or_default())),
            hash(|h| formula(h, job)),
            hash(|h| job.folds.iter().for_each(|fold| fold.identify(h))),
            hash(|h| h.text(&format!("{:?} {}", plan.tiling, plan.order_of_rows()))),
            hash(|h| h.text(&format!("{:?}", plan.precision))),
            hash(|h| h.text(&arithmetic(job, plan))),
            hash(|h| h.text(&format!("{shard:?}"))),
        ])
    }
    /// The same of a run over some rows of x, all of which have this hash; see
    /// [`zipfold_core::Data::hashes`].
    pub(crate) fn of_all_x(mut self, hash: &str) -> Self {
        self.0[0] = u128::from_str_radix(hash, 16).unwrap_or_default();
        self
    }
    /// The identity of a shard in one number.
    pub(crate) fn number(&self, shard: (usize, usize)) -> u128 {
        hash(|h| h.text(&format!("{:?} {shard:?}", self.0)))
    }
    /// What differs from `other`, if anything does.
    pub fn difference(&self, other: &Identity) -> Option<&'static str> {
        (0..PARTS.len())
            .find(|at| self.0[*at] != other.0[*at])
            .map(|at| PARTS[at])
    }
    /// What makes the answer another one than that of `other`, however they were cut and computed.
    pub(crate) fn answer_difference(&self, other: &Identity) -> Option<&'static str> {
        (0..TILES)
            .find(|at| self.0[*at] != other.0[*at])
            .map(|at| PARTS[at])
    }
}

/// How the numbers of a share come about, in words: shares merge where these are the same, on any
/// machines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// The version of zipfold.
    pub version: String,
    /// In what order float sums are taken.
    pub form: String,
    /// The type of values.
    pub precision: String,
    /// What computes values, where bits depend on it.
    pub arithmetic: String,
    /// How pairs are cut into shares.
    pub cut: String,
}

impl Key {
    /// The key of `parts` shares of `job` by `plan`.
    pub fn of_plan(job: &Job, plan: &Plan, parts: usize) -> Self {
        let (tiling, walk) = (plan.tiling, plan.order_of_rows());
        let span = Tiling::new(1, 1).in_spans(job).cols;
        Key {
            version: env!("CARGO_PKG_VERSION").into(),
            form: match span {
                BLOCK => format!("sums of blocks of {BLOCK}"),
                _ => format!("sums of spans of {span}"),
            },
            precision: match plan.precision {
                Precision::F32 => "single precision".into(),
                Precision::F64 => "double precision".into(),
            },
            arithmetic: arithmetic_words(job, plan),
            cut: format!(
                "{}, rows {walk}, tiles of {} by {}",
                shape(job, plan, parts).name(),
                tiling.rows,
                tiling.cols
            ),
        }
    }
    /// Whether any instruction set and any device gives the same bits.
    pub(crate) fn is_of_any_machine(&self) -> bool {
        self.arithmetic == ANY
    }
    fn words(&self) -> [(&'static str, &str); 5] {
        [
            ("the version of zipfold", &self.version),
            ("the form of sums", &self.form),
            ("the precision", &self.precision),
            ("the instruction set or device", &self.arithmetic),
            ("the cut into shares", &self.cut),
        ]
    }
    /// What differs from `other`, if anything does: what it is, here and there.
    #[must_use]
    pub fn difference<'a>(&'a self, other: &'a Key) -> Option<(&'static str, &'a str, &'a str)> {
        let both = self.words().into_iter().zip(other.words());
        let mut odd = both.filter(|(mine, theirs)| mine.1 != theirs.1);
        odd.next().map(|(mine, theirs)| (mine.0, mine.1, theirs.1))
    }
}

/// What computes values whose bits depend on no machine.
const ANY: &str = "any";

/// As [`arithmetic`], in words.
fn arithmetic_words(job: &Job, plan: &Plan) -> String {
    let rounds = job.folds.iter().any(|fold| fold.traits().rounds);
    let runtime = runtime_of(plan);
    match plan.precision {
        Precision::F32 => {
            let (isa, family) = (plan.isa.name(), plan.family.name());
            format!("{isa} and {family} kernels of {runtime}")
        }
        Precision::F64 if rounds => format!("sums of {runtime}"),
        Precision::F64 => ANY.into(),
    }
}

/// The runtime of the devices that a plan is for, or `cpu`.
pub(crate) fn runtime_of(plan: &Plan) -> &str {
    plan.backend.split(':').next().unwrap_or("cpu")
}

/// The refusal of partial results that differ in `what`.
pub(crate) fn differs(what: &str, than: &str) -> Error {
    Error::request(format!("{what}: not the same as {than}"))
}

fn hash(add: impl Fn(&mut Hash)) -> u128 {
    let mut hash = Hash::default();
    add(&mut hash);
    hash.finish()
}

/// The pairs that the question lists.
fn listed(hash: &mut Hash, job: &Job) {
    let parts = job.parts.iter().filter_map(|parts| parts.listed.as_ref());
    let rows = parts.flat_map(|listed| listed.pairs.iter().flatten());
    rows.for_each(|row| hash.word(u64::from(*row)));
}

/// The formula as it was lowered: names of columns are numbers here.
fn formula(hash: &mut Hash, job: &Job) {
    let formula = &job.low.formula;
    hash.text(&format!(
        "{:?} {:?} {} {}",
        formula.nodes(),
        formula.roots,
        job.low.dim,
        job.low.periodic
    ));
    formula
        .vectors
        .iter()
        .for_each(|vector| hash.doubles(vector));
    let cutoff = job.space.cutoff.map(f64::to_bits);
    hash.text(&format!(
        "{:?} {cutoff:?} {:?} {:?} {:?}",
        job.space, job.cutoff_root, job.nan, job.periodic_box
    ));
}

/// What computes, where the bits of an answer depend on it: values in single precision, and sums or
/// values of devices, whose number changes none.
fn arithmetic(job: &Job, plan: &Plan) -> String {
    let single = plan.precision == Precision::F32;
    let runtime = plan.backend.split(':').next();
    let device = job
        .folds
        .iter()
        .any(|fold| fold.traits().rounds)
        .then_some(runtime);
    format!("{device:?} {:?}", single.then_some((plan.isa, plan.family)))
}
