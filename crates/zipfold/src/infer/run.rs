//! One inference on its way: simplified, planned, executed in slices.

use super::parts::{Summed, below_largest};
use super::settings::{Inferred, Planned, Settings};
use crate::beside::{Beside, Lanes, OnDevice};
use crate::footprint;
use crate::shared_slices::{SharedRun, SliceStore, whole};
use crate::sliced_plan::SlicedPlan;
use crate::slices::{Folded, RunKey, Slices, key};
use rayon::prelude::*;
use std::time::Instant;
use zipfold_core::factor::{Answer, Assignment, Evidence, Log10, Network, Task, Var};
use zipfold_core::{Budget, Error, Hash, Opt, Precision, Random, Reservation, Result};
use zipfold_product::cpu::{Contracted, Engine, Fold};
use zipfold_product::plan::groups::{divide, worthwhile};
use zipfold_product::plan::slice::FIXED_BYTES;
use zipfold_product::plan::{
    Group, Need, Options, Pass, Plan, Rates, Reduced, Scalar, Split, plan, reduce,
};

/// Variables whose marginals are worth several threads.
const MANY: usize = 1 << 14;

/// Bytes of what a slice gives next to its numbers.
const SLICE: u64 = 256;

/// Seconds that a sample takes for each variable of the network, next to its choices.
const SAMPLE: f64 = 1e-8;

/// What takes log10 Z and a sample.
pub(super) type Sink<'a> = dyn FnMut(Log10, Assignment) -> Result<()> + 'a;

/// The key of a plan and its tables, for what is asked of them; none without a plan.
type Keyed<'k> = dyn Fn(&str) -> Option<RunKey> + 'k;

/// What plans are made from.
struct Planning<'a> {
    network: &'a Network,
    evidence: &'a Evidence,
    settings: &'a Settings,
    budget: &'a Budget,
    pass: Pass,
}

impl Planning<'_> {
    fn options(&self) -> Options {
        let held = self.budget.limit() - self.budget.free();
        Options {
            held,
            ..self.settings.options(self.pass, Rates::default())
        }
    }
    /// The plan for `asked` of `reduced`, the network that it is for, and what both take.
    fn planned(
        &self,
        reduced: Reduced,
        asked: &[usize],
    ) -> Result<(Reduced, Planned, Reservation)> {
        let any = !reduced.impossible && !reduced.tables.is_empty();
        let of_plan = if any {
            footprint::of_plan(&reduced, self.pass)
        } else {
            0
        };
        let bytes = footprint::of_reduced(self.network, &reduced) + of_plan;
        let held = self.budget.reserve(bytes, "the network and its plan")?;
        if !any {
            return Ok((reduced, Planned::Settled, held));
        }
        if let Some(planned) = self.settings.store.as_ref().and_then(SliceStore::planned) {
            return self.as_planned(planned, reduced, held);
        }
        let whole = plan(&reduced, asked, &self.options());
        let tried = self.pass == Pass::Sweep && worthwhile(&whole, self.settings.grouping);
        match tried.then(|| self.divided(&whole)).flatten() {
            Some((parts, split, held)) => Ok((parts, Planned::Groups(split), held)),
            None => Ok((reduced, Planned::Whole(whole?), held)),
        }
    }
    /// The plan of a store for `reduced`.
    fn as_planned(
        &self,
        planned: &SlicedPlan,
        reduced: Reduced,
        held: Reservation,
    ) -> Result<(Reduced, Planned, Reservation)> {
        let (reduced, held) = match planned {
            SlicedPlan::Whole(_) => (reduced, held),
            SlicedPlan::Groups(_) => self.parts()?,
        };
        if !planned.fits(&reduced) {
            let e = Error::input("the plan of the store is not one for its network");
            return Err(e.remedy("plan the question anew, in another folder"));
        }
        Ok(match planned {
            SlicedPlan::Whole(plan) => (reduced, Planned::Whole(plan.clone()), held),
            SlicedPlan::Groups(split) => {
                let bytes =
                    footprint::of_reduced(self.network, &reduced) + footprint::of_groups(split);
                drop(held);
                let held = self.budget.reserve(bytes, "the network and its plan")?;
                (reduced, Planned::Groups(split.clone()), held)
            }
        })
    }
    /// The network simplified for groups of variables, and what it takes.
    fn parts(&self) -> Result<(Reduced, Reservation)> {
        let bytes = footprint::of_simplification(self.network);
        let simplifying = self
            .budget
            .reserve(bytes, "the simplification of the network")?;
        let reduced = reduce(self.network, self.evidence, Need::Parts, &[]);
        drop(simplifying);
        let bytes = footprint::of_reduced(self.network, &reduced);
        let held = self.budget.reserve(bytes, "the network and its plan")?;
        Ok((reduced, held))
    }
    /// The devices for `plan`, which is cut as they need it.
    fn beside(&self, plan: &mut Planned) -> Result<Option<Beside>> {
        match plan {
            Planned::Whole(plan) => Beside::for_plan(plan, &self.options(), self.settings.asked()),
            Planned::Groups(split) => {
                let plans = split.groups.iter().map(|g| (&g.plan, g.pass));
                Beside::for_plans(&plans.collect::<Vec<_>>(), 1.0, self.settings.asked())
            }
            Planned::Settled | Planned::Searched(_) | Planned::Counted(_) => Ok(None),
        }
    }
    /// The network whole and its groups, if they are the better plan; and what they take.
    fn divided(&self, whole: &Result<Plan>) -> Option<(Reduced, Split, Reservation)> {
        let (reduced, held) = self.parts().ok()?;
        let split = divide(&reduced, whole, self.settings.grouping, &self.options())?;
        let bytes = footprint::of_reduced(self.network, &reduced) + footprint::of_groups(&split);
        drop(held);
        let held = self
            .budget
            .reserve(bytes, "the network and its plan")
            .ok()?;
        Some((reduced, split, held))
    }
}

/// A problem on its way.
pub(super) struct InferenceRun<'a> {
    network: &'a Network,
    settings: &'a Settings,
    budget: &'a Budget,
    /// What the simplified network and its plan take.
    _held: Reservation,
    reduced: Reduced,
    plan: Planned,
    beside: Option<Beside>,
    pass: Pass,
    fold: Fold,
    seconds: [f64; 3],
}

impl<'a> InferenceRun<'a> {
    /// Simplifies the network, unless it comes `simplified` for the task, and makes its plan.
    pub(super) fn new(
        network: &'a Network,
        evidence: &Evidence,
        task: &Task,
        (settings, budget): (&'a Settings, &'a Budget),
        simplified: Option<Reduced>,
    ) -> Result<Self> {
        let start = Instant::now();
        let (need, pass, fold, keep) = match task {
            Task::Pr => (Need::Total, Pass::Forward, Fold::Sum, &[][..]),
            Task::Sum(keep) | Task::Mmap(keep) => {
                (Need::Total, Pass::Forward, Fold::Sum, &keep[..])
            }
            Task::Mar => (Need::Every, Pass::Sweep, Fold::Sum, &[][..]),
            Task::Samples(_) => (Need::Every, Pass::Trace, Fold::Sum, &[][..]),
            Task::Map => (Need::Every, Pass::Trace, Fold::Max, &[][..]),
        };
        let reduced = match simplified {
            Some(reduced) => reduced,
            None => {
                settings.tell("simplifying", 0.0);
                let bytes = footprint::of_simplification(network);
                let _simplifying = budget.reserve(bytes, "the simplification of the network")?;
                reduce(network, evidence, need, keep)
            }
        };
        let simplified = start.elapsed().as_secs_f64();
        settings.tell("order search", settings.order_seconds.unwrap_or(0.0));
        let asked: Vec<usize> = match pass {
            Pass::Sweep => (0..reduced.cards.len()).collect(),
            Pass::Forward | Pass::Trace => keep.iter().filter_map(|v| reduced.number[*v]).collect(),
        };
        let planning = Planning {
            network,
            evidence,
            settings,
            budget,
            pass,
        };
        let (reduced, mut plan, held) = planning.planned(reduced, &asked)?;
        let ordered = start.elapsed().as_secs_f64() - simplified;
        let beside = planning.beside(&mut plan)?;
        Ok(InferenceRun {
            network,
            settings,
            budget,
            _held: held,
            reduced,
            plan,
            beside,
            pass,
            fold,
            seconds: [simplified, ordered, 0.0],
        })
    }
    pub(super) fn answer(self, task: &Task) -> Result<Inferred> {
        match self.settings.precision {
            Precision::F64 => self.execute::<f64>(task),
            Precision::F32 => self.execute::<f32>(task),
        }
    }
    /// Predicted seconds of the execution.
    pub(super) fn seconds(&self) -> f64 {
        let host = self.plan.prediction().map_or(0.0, |p| p.seconds);
        self.beside.as_ref().map_or(host, |b| b.told().seconds)
    }
    /// What it would execute.
    pub(super) fn into_plan(self) -> (Reduced, Planned, Option<OnDevice>) {
        let device = self.on_device();
        (self.reduced, self.plan, device)
    }
    /// Gives `many` samples to `sink`; the answer holds none.
    pub(super) fn give_samples(self, many: usize, sink: &mut Sink<'_>) -> Result<Inferred> {
        let start = Instant::now();
        self.begin();
        let log10 = match (self.reduced.impossible, self.settings.precision) {
            (true, _) => None,
            (false, Precision::F64) => self.sampled::<f64>(many, self.budget, sink)?,
            (false, Precision::F32) => self.sampled::<f32>(many, self.budget, sink)?,
        };
        let answer = log10.map_or(Answer::Impossible, |log10| {
            Answer::Samples(log10, Vec::new())
        });
        Ok(Inferred {
            warnings: self.settings.warnings.all(),
            ..self.done(start, answer)
        })
    }
    /// The sum over all variables but those of `keep`; none where all of it is zero. The answer
    /// holds none.
    pub(super) fn give_sums(self, keep: &[Var]) -> Result<(Option<Sums>, Inferred)> {
        let start = Instant::now();
        self.begin();
        let sums = match (self.reduced.impossible, self.settings.precision) {
            (true, _) => None,
            (false, Precision::F64) => {
                self.summed::<f64, _>(keep, self.budget, |s| self.sums(s, keep))?
            }
            (false, Precision::F32) => {
                self.summed::<f32, _>(keep, self.budget, |s| self.sums(s, keep))?
            }
        };
        Ok((sums, self.done(start, Answer::Impossible)))
    }
    fn sums(&self, summed: Summed<'_>, keep: &[Var]) -> Result<Sums> {
        let bytes = (summed.entries(keep) as u64).saturating_mul(size_of::<Scalar>() as u64);
        Ok(Sums {
            _held: self
                .budget
                .reserve(bytes, "the table over the kept variables")?,
            entries: summed.spread(keep).collect(),
            scale: self.reduced.scale,
        })
    }
    /// What was done since `start`, with its `answer` and no warnings.
    fn done(mut self, start: Instant, answer: Answer) -> Inferred {
        self.seconds[2] = start.elapsed().as_secs_f64();
        let device = self.on_device();
        Inferred {
            answer,
            device,
            seconds: self.seconds,
            peak_bytes: self.budget.peak(),
            warnings: Vec::new(),
            plan: self.plan,
        }
    }
    /// Tells that the contraction begins.
    fn begin(&self) {
        self.settings.tell("contraction", self.seconds());
    }
    fn on_device(&self) -> Option<OnDevice> {
        self.beside.as_ref().map(Beside::told)
    }
    fn execute<T: Contracted>(self, task: &Task) -> Result<Inferred> {
        let start = Instant::now();
        self.begin();
        let budget = self.budget;
        let answer = if self.reduced.impossible {
            Answer::Impossible
        } else {
            match task {
                Task::Pr => self.total::<T>(budget)?,
                Task::Mar => self.marginals::<T>(budget)?,
                Task::Map => self.mode::<T>(budget)?,
                Task::Sum(keep) | Task::Mmap(keep) => self.table::<T>(keep, budget)?,
                Task::Samples(many) => self.samples::<T>(*many, budget)?,
            }
        };
        Ok(self.done(start, answer))
    }
    /// The executors of the plan: one for each device, or one for the host.
    fn lanes<'b>(&'b self, budget: &'b Budget) -> Option<Lanes<'b>> {
        let plan = self.plan.whole()?;
        let host = || Engine::new(plan, &self.reduced.tables, self.fold, self.pass, budget);
        let engines = match &self.beside {
            None => vec![host()],
            Some(beside) => {
                let devices = beside.devices.iter();
                devices
                    .map(|device| host().beside(device, &beside.places[0]))
                    .collect()
            }
        };
        Some(Lanes::new(engines, &self.settings.warnings))
    }
    /// Folds what `one` gives for every slice, as many at a time as there are devices or the memory
    /// holds.
    fn fold(
        &self,
        (task, lanes): (&str, &Lanes<'_>),
        budget: &Budget,
        one: impl Fn(&Engine<'_>, usize) -> Result<Folded> + Sync,
        merge: impl Fn(&mut Folded, Folded) + Send,
    ) -> Result<Folded> {
        let key = |asked: &str| {
            self.plan
                .whole()
                .map(|plan| key(&[plan], &self.reduced.tables, asked))
        };
        let (many, number) = (lanes.first().slices(), lanes.engines.len());
        let on = |lane: usize, slice: usize| lanes.guarded(lane, |engine| one(engine, slice));
        let done = self.folded((many, number), (task, &key), budget, on, merge);
        lanes.tell_of_full(self.beside.as_ref());
        done
    }
    /// Folds `many` slices, those of all groups one after another, on `lanes`: here, or with other
    /// processes at a store.
    fn folded(
        &self,
        (many, lanes): (usize, usize),
        (task, key): (&str, &Keyed<'_>),
        budget: &Budget,
        one: impl Fn(usize, usize) -> Result<Option<Folded>> + Sync,
        merge: impl Fn(&mut Folded, Folded) + Send,
    ) -> Result<Folded> {
        let asked = self.asked(task);
        let slices = Slices {
            lanes,
            ..self.kept_slices(many, budget, &|| key(&asked))
        };
        match self.settings.store.as_ref().filter(|_| many > 1) {
            None if self.plans_alone() => Err(whole()),
            None => slices.fold(one, merge),
            Some(store) => {
                let seconds = self.plan.prediction().map_or(0.0, |p| p.seconds);
                let key = key(&asked).ok_or_else(|| Error::internal("slices without a plan"))?;
                let shared = SharedRun {
                    store,
                    key,
                    seconds,
                    plan: &|| self.plan.sliced(),
                    slice_bytes: self.slice_bytes(),
                };
                shared.fold(&slices, one, merge)
            }
        }
    }
    /// Whether only a plan is made here.
    fn plans_alone(&self) -> bool {
        let store = self.settings.store.as_ref();
        store.is_some_and(SliceStore::is_planned_alone)
    }
    /// Bytes of what a slice gives: the table of the variables that are kept, or a number for each state of
    /// each variable.
    fn slice_bytes(&self) -> u64 {
        let entries = |plan: &Plan| {
            let table = |root: &usize| {
                let cards = plan.nodes[*root]
                    .scope
                    .iter()
                    .map(|v| plan.cards[*v] as u64);
                cards.fold(1, u64::saturating_mul)
            };
            plan.roots.iter().map(table).fold(0, u64::saturating_add)
        };
        match (&self.plan, self.pass) {
            (Planned::Whole(plan), Pass::Forward) => entries(plan)
                .saturating_mul(size_of::<Scalar>() as u64)
                .saturating_add(SLICE),
            // A state of each variable.
            (_, Pass::Trace) => 8 * self.reduced.cards.len() as u64 + SLICE,
            _ => footprint::of_states(&self.reduced.cards, 24) + SLICE,
        }
    }
    /// The task, and what the bits of its slices depend on next to their plan and tables.
    fn asked(&self, task: &str) -> String {
        let remote = |b: &Beside| {
            b.places
                .iter()
                .map(|p| p.remote.clone())
                .collect::<Vec<_>>()
        };
        let places = self.beside.as_ref().map(remote);
        format!(
            "{task}, {:?}, seed {:?}, places {places:?}",
            self.settings.precision, self.settings.seed
        )
    }
    /// `many` slices of one lane, and their checkpoint where one is kept.
    fn kept_slices<'b>(
        &'b self,
        many: usize,
        budget: &'b Budget,
        key: &dyn Fn() -> Option<RunKey>,
    ) -> Slices<'b> {
        let peak = self.plan.prediction().map_or(0.0, |p| p.peak_bytes);
        let fit = (budget.free() as f64 / 1.1 - FIXED_BYTES) / peak.max(1.0);
        let alone = many > 1 && self.settings.store.is_none();
        let checkpoint = self.settings.checkpoint.as_ref().filter(|_| alone);
        let kept = checkpoint.and_then(|c| Some((c, key()?.text())));
        // One slice needs no threads, which take longer to start than a small network takes. A
        // device takes one slice at a time.
        let wave = if many == 1 || self.beside.is_some() {
            1
        } else {
            (fit as usize).clamp(1, rayon::current_num_threads())
        };
        Slices {
            many,
            wave,
            lanes: 1,
            kept,
            budget,
            warnings: &self.settings.warnings,
            stop: self.settings.stop.as_deref(),
        }
    }
    fn total<T: Contracted>(&self, budget: &Budget) -> Result<Answer> {
        let mut z = Scalar::ONE;
        if let Some(lanes) = self.lanes(budget) {
            let one = |engine: &Engine<'_>, index: usize| {
                let forward = engine.forward::<T>(&engine.slice(index))?;
                Ok(Folded::one_slice(
                    engine.total(&forward),
                    Vec::new(),
                    Vec::new(),
                ))
            };
            z = self.fold(("pr", &lanes), budget, one, Folded::add)?.total;
        }
        let z = z.times(self.reduced.scale);
        Ok(if z.is_zero() {
            Answer::Impossible
        } else {
            Answer::Pr(z.log10())
        })
    }
    fn marginals<T: Contracted>(&self, budget: &Budget) -> Result<Answer> {
        // Sums of every slice that runs, of all, and the answer.
        let wave = rayon::current_num_threads() as u64 + 2;
        let sums = footprint::of_states(&self.reduced.cards, 24);
        let slices = match &self.plan {
            Planned::Settled | Planned::Searched(_) | Planned::Counted(_) => 1,
            Planned::Whole(plan) if plan.sliced.is_empty() => 2,
            Planned::Whole(_) | Planned::Groups(_) => wave,
        };
        let answer = footprint::of_states(self.network.cards(), 8);
        let _sums = budget.reserve(
            sums.saturating_mul(slices).saturating_add(answer),
            "the marginals",
        )?;
        if let Planned::Groups(split) = &self.plan {
            return self.grouped::<T>(split, budget);
        }
        let zeros = || {
            self.reduced
                .cards
                .iter()
                .map(|c| vec![Scalar::ZERO; *c])
                .collect::<Vec<_>>()
        };
        let mut all = Folded::one_slice(Scalar::ONE, Vec::new(), Vec::new());
        if let Some(lanes) = self.lanes(budget) {
            let one = |engine: &Engine<'_>, index: usize| {
                let (slice, mut sums) = (engine.slice(index), zeros());
                let forward = engine.forward::<T>(&slice)?;
                let part = engine.total(&forward);
                if !part.is_zero() {
                    engine.backward(forward, &slice, &mut sums)?;
                }
                Ok(Folded::one_slice(part, sums, Vec::new()))
            };
            all = self.fold(("mar", &lanes), budget, one, Folded::add)?;
        }
        let z = all.total.times(self.reduced.scale);
        Ok(if z.is_zero() {
            Answer::Impossible
        } else {
            Answer::Mar(z.log10(), self.expand(&all.tables))
        })
    }
    /// Marginals by groups: one list of slices, those of each group after those of the one before.
    fn grouped<T: Contracted>(&self, split: &Split, budget: &Budget) -> Result<Answer> {
        let slices = |g: &Group| g.plan.slices();
        // Where the slices of each group end.
        let mut many = 0;
        let ends: Vec<usize> = split
            .groups
            .iter()
            .map(|g| {
                many += slices(g);
                many
            })
            .collect();
        let (all, groups) = (self.reduced.cards.len(), split.groups.len());
        let one = |_: usize, index: usize| {
            let at = ends.partition_point(|end| *end <= index);
            let group = &split.groups[at];
            let (own, total) =
                self.slice_of::<T>((at, group), index + slices(group) - ends[at], budget)?;
            // Marginals by variable, those of the group alone; last its own sum.
            let mut tables = vec![Vec::new(); all + groups];
            group
                .asked
                .iter()
                .zip(own)
                .for_each(|(v, row)| tables[*v] = row);
            tables[all + at] = vec![total];
            Ok(Some(Folded::one_slice(Scalar::ZERO, tables, Vec::new())))
        };
        let plans: Vec<&Plan> = self.plan.plans();
        let key = |asked: &str| {
            let homes: Vec<_> = split.groups.iter().map(|g| (&g.tables, &g.asked)).collect();
            let mut groups = Hash::default();
            groups.text(&format!("{homes:?}"));
            let asked = format!("{asked}, groups {:032x}", groups.finish());
            Some(key(&plans, &self.reduced.tables, &asked))
        };
        let mut done = self.folded(
            (many, 1),
            ("mar by groups", &key),
            budget,
            one,
            Folded::join,
        )?;
        let sums: Vec<Scalar> = done
            .tables
            .split_off(all)
            .into_iter()
            .map(|own| own[0])
            .collect();
        let z = split.total(&sums);
        Ok(if z.is_zero() {
            Answer::Impossible
        } else {
            Answer::Mar(z.log10(), self.expand(&done.tables))
        })
    }
    /// What `group` asks in one of its slices, and its sum.
    fn slice_of<T: Contracted>(
        &self,
        (at, group): (usize, &Group),
        index: usize,
        budget: &Budget,
    ) -> Result<(Vec<Vec<Scalar>>, Scalar)> {
        let _part = budget.reserve(
            footprint::of_part(group, &self.reduced),
            "a group of variables",
        )?;
        let part = group.part(&self.reduced);
        let engine = Engine::new(&group.plan, &part.tables, self.fold, group.pass, budget);
        let slice = engine.slice(index);
        let work = |engine: &Engine<'_>| group_sums::<T>(engine, group, &slice, &part.cards);
        let (mut sums, total) = match &self.beside {
            Some(beside) => beside.joined((engine, at), &self.settings.warnings, work)?,
            None => work(&engine)?,
        };
        let own = |v: &Var| part.number[*v].map_or_else(Vec::new, |n| std::mem::take(&mut sums[n]));
        Ok((group.asked.iter().map(own).collect(), total))
    }
    /// Marginals of the original variables and states.
    fn expand(&self, sums: &[Vec<Scalar>]) -> Vec<Vec<f64>> {
        let of = |v: Var| {
            let mut row = vec![0.0; self.network.cards()[v]];
            if let Some(s) = self.reduced.settled[v] {
                row[s as usize] = 1.0;
            }
            let Some(n) = self.reduced.number[v] else {
                return row;
            };
            let own = below_largest(&sums[n]);
            let total: f64 = own.iter().sum();
            self.reduced.states[v]
                .iter()
                .zip(&own)
                .for_each(|(s, p)| row[*s as usize] = p / total);
            row
        };
        let all = self.network.cards().len();
        if all < MANY {
            (0..all).map(of).collect()
        } else {
            (0..all).into_par_iter().map(of).collect()
        }
    }
    /// Values of the original variables.
    fn assignment(&self, states: &[usize]) -> Vec<usize> {
        self.reduced.assignment(self.network.cards().len(), states)
    }
    fn mode<T: Contracted>(&self, budget: &Budget) -> Result<Answer> {
        let mut best = Folded::one_slice(Scalar::ONE, Vec::new(), Vec::new());
        if let Some(lanes) = self.lanes(budget) {
            let one = |engine: &Engine<'_>, index: usize| {
                let slice = engine.slice(index);
                let forward = engine.forward::<T>(&slice)?;
                let top = engine.total(&forward);
                let states = if top.is_zero() {
                    Vec::new()
                } else {
                    engine.tracer(&forward, &slice)?.trace(None)
                };
                Ok(Folded::one_slice(top, Vec::new(), states))
            };
            best = self.fold(("map", &lanes), budget, one, Folded::best)?;
        }
        let top = best.total.times(self.reduced.scale);
        Ok(if top.is_zero() {
            Answer::Impossible
        } else {
            Answer::Map(top.log10(), self.assignment(&best.states))
        })
    }
    fn samples<T: Contracted>(&self, many: usize, budget: &Budget) -> Result<Answer> {
        let mut all = Vec::new();
        let one = (size_of::<Assignment>() + 24 + 8 * self.network.cards().len()) as u64;
        let _all = budget.reserve(
            (many as u64).saturating_mul(one),
            &format!("{many} samples"),
        )?;
        all.reserve_exact(many);
        let log10 = self.sampled::<T>(many, budget, &mut |_, sample| {
            all.push(sample);
            Ok(())
        })?;
        Ok(log10.map_or(Answer::Impossible, |log10| Answer::Samples(log10, all)))
    }
    /// Gives log10 Z and each of `many` samples to `sink`; log10 Z, or nothing where no sample
    /// exists.
    fn sampled<T: Contracted>(
        &self,
        many: usize,
        budget: &Budget,
        sink: &mut Sink<'_>,
    ) -> Result<Option<Log10>> {
        self.refuse_long(many)?;
        let mut random = Random::new(self.settings.seed ^ 0x5a5a_5a5a);
        let Some(lanes) = self.lanes(budget) else {
            let (log10, only) = (self.reduced.scale.log10(), self.assignment(&[]));
            (0..many).try_for_each(|_| sink(log10, only.clone()))?;
            return Ok(Some(log10));
        };
        let weight = |engine: &Engine<'_>, index: usize| {
            let part = engine.total(&engine.forward::<T>(&engine.slice(index))?);
            Ok(Folded::one_slice(part, vec![vec![part]], Vec::new()))
        };
        let all = self.fold(("samples", &lanes), budget, weight, Folded::append)?;
        let parts = all.tables.concat();
        let z = parts.iter().fold(Scalar::ZERO, |z, p| z.plus(*p));
        if z.is_zero() {
            return Ok(None);
        }
        let log10 = z.times(self.reduced.scale).log10();
        let share: Vec<f64> = parts
            .iter()
            .map(|p| {
                if p.is_zero() {
                    0.0
                } else {
                    (p.ln() - z.ln()).exp()
                }
            })
            .collect();
        let mut wanted = vec![0usize; share.len()];
        (0..many).for_each(|_| wanted[draw(&share, random.unit())] += 1);
        for (index, many) in wanted.into_iter().enumerate().filter(|(_, many)| *many > 0) {
            let slice = lanes.first().slice(index);
            let forward = lanes.alone(|engine| engine.forward::<T>(&slice))?;
            let tracer = lanes.first().tracer(&forward, &slice)?;
            (0..many)
                .try_for_each(|_| sink(log10, self.assignment(&tracer.trace(Some(&mut random)))))?;
        }
        Ok(Some(log10))
    }
    /// Refuses more samples than the time limit allows.
    fn refuse_long(&self, many: usize) -> Result<()> {
        let choices = self.plan.prediction().map_or(0.0, |p| p.trace);
        let one = SAMPLE * self.network.cards().len() as f64 + choices;
        let seconds = one * many as f64;
        if seconds <= self.settings.time_limit {
            return Ok(());
        }
        let most = (self.settings.time_limit / one) as u64;
        Err(
            Error::resource(format!("{many} samples take about {seconds:.1e} seconds"))
                .at_place(Opt::Samples)
                .limit(format!("{} seconds", self.settings.time_limit))
                .remedy(format!(
                    "{} or fewer, or a longer {}",
                    Opt::Samples.to(most),
                    Opt::TimeLimit
                )),
        )
    }
    fn table<T: Contracted>(&self, keep: &[Var], budget: &Budget) -> Result<Answer> {
        let answer = |summed: Summed<'_>| summed.answer(keep, budget);
        let found = self.summed::<T, _>(keep, budget, answer)?;
        Ok(found.unwrap_or(Answer::Impossible))
    }
    /// What `then` makes of the sum over all variables but those of `keep`; nothing where all of it
    /// is zero.
    fn summed<T: Contracted, R>(
        &self,
        keep: &[Var],
        budget: &Budget,
        then: impl FnOnce(Summed<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        let mut sum: Vec<Scalar> = vec![Scalar::ONE];
        let mut scope = Vec::new();
        if let Some(lanes) = self.lanes(budget) {
            let one = |engine: &Engine<'_>, index: usize| {
                let forward = engine.forward::<T>(&engine.slice(index))?;
                let (vars, part) = engine.kept(&forward)?;
                Ok(Folded::one_slice(Scalar::ZERO, vec![part], vars))
            };
            let task = format!("sum {keep:?}");
            let all = self.fold((&task, &lanes), budget, one, Folded::add)?;
            (sum, scope) = (all.tables.concat(), all.states);
        }
        if sum.iter().all(|s| s.is_zero()) {
            return Ok(None);
        }
        let summed = Summed {
            network: self.network,
            reduced: &self.reduced,
            scope: &scope,
            sum: &sum,
        };
        then(summed).map(Some)
    }
}

/// A table of sums of any size: the entries, with the last variable fastest, and what all are
/// multiplied by.
pub(super) struct Sums {
    pub(super) entries: Vec<Scalar>,
    pub(super) scale: Scalar,
    _held: Reservation,
}

/// What `group` asks in one slice, by variable of its own, and its sum.
fn group_sums<T: Contracted>(
    engine: &Engine<'_>,
    group: &Group,
    slice: &[(usize, usize)],
    cards: &[usize],
) -> Result<(Vec<Vec<Scalar>>, Scalar)> {
    let forward = engine.forward::<T>(slice)?;
    let mut sums: Vec<Vec<Scalar>> = cards.iter().map(|c| vec![Scalar::ZERO; *c]).collect();
    let mut total = engine.total(&forward);
    if group.pass == Pass::Forward {
        let (vars, own) = engine.kept(&forward)?;
        total = own.iter().fold(Scalar::ZERO, |sum, s| sum.plus(*s));
        vars.iter().for_each(|v| sums[*v].clone_from(&own));
    } else if !total.is_zero() && !group.asked.is_empty() {
        engine.backward(forward, slice, &mut sums)?;
    }
    Ok((sums, total))
}

fn draw(share: &[f64], mut at: f64) -> usize {
    let last = share.iter().rposition(|s| *s > 0.0).unwrap_or(0);
    for (index, s) in share.iter().enumerate() {
        if at < *s {
            return index;
        }
        at -= s;
    }
    last
}
