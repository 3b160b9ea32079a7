//! The executor: a plan's joins forward, then a traceback, samples or the backward sweep.
//!
//! ```text
//! forward
//!     for each join of the plan, in its order
//!         contract its tables on the device or the host, as the plan says
//!         if a device refuses for want of memory: the host takes over
//!         drop the inputs, unless a later pass needs them
//! then one of
//!     traceback   from the root: the best configuration of each join's variables, given those above
//!     samples     the same with draws in proportion to the terms
//!     backward    gradient of the root = 1; for each join in reverse
//!                     gradient(input) = gradient(result) · all other inputs, summed to its variables
//!                 marginals are read where a variable has its smallest table
//! ```
//!
//! Why one sweep for all marginals: the gradient of a sum of products with respect to an entry is
//! the sum of all terms that hold it; one backward pass at about twice the cost of the forward one
//! gives all of them.

use super::buffer_pool::Room;
use super::contract::contract;
use super::copies::{self, Copies, Purpose, There, WaitingLogs};
use super::gather::Picked;
use super::pieces::{self, Made};
use super::products::{Contracted, Fold};
use super::scaled::{Entries, Scaled};
use super::shape::Shape;
use crate::plan::places::Places;
use crate::plan::{Node, Pass, Plan, Scalar, Source, Table};
use crate::remote::{Numbers, Remote};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use zipfold_core::{Blame, Budget, Random, Reservation, Result};

/// A plan with its tables.
#[derive(Debug)]
pub struct Engine<'a> {
    plan: &'a Plan,
    tables: &'a [Table],
    fold: Fold,
    pass: Pass,
    room: Room,
    entries: Entries,
    /// Whether roots that are joined on a device end there in natural logarithms.
    log_roots: bool,
    remote: Option<Beside<'a>>,
}

/// A device beside the host, and the joins that run there.
#[derive(Debug)]
struct Beside<'a> {
    device: &'a dyn Remote,
    places: &'a Places,
    /// Whether it failed: from then on the host does all.
    lost: AtomicBool,
    /// Bytes of the smallest piece of a join that it had no room for, which the host did; 0 for
    /// none.
    full: AtomicU64,
    /// Whether it was asked to make ready what joins need.
    prepared: AtomicBool,
}

/// The tables of one slice after the forward pass.
#[derive(Debug)]
pub struct Forward<T: Contracted> {
    /// By node; gone where the pass does not keep them.
    pub tables: Vec<Copies<T>>,
    /// Domain sizes with sliced variables set to 1.
    cards: Vec<usize>,
}

impl<T: Contracted> Default for Forward<T> {
    fn default() -> Self {
        Forward {
            tables: Vec::new(),
            cards: Vec::new(),
        }
    }
}

/// Unnormalised marginals, by reduced variable.
pub type Marginals = Vec<Vec<Scalar>>;

impl<'a> Engine<'a> {
    /// An executor for `plan` over the tables it was made for.
    pub fn new(
        plan: &'a Plan,
        tables: &'a [Table],
        fold: Fold,
        pass: Pass,
        budget: &'a Budget,
    ) -> Self {
        Engine {
            plan,
            tables,
            fold,
            pass,
            room: Room::new(budget),
            entries: Entries::Values,
            log_roots: false,
            remote: None,
        }
    }
    /// The same with some of the joins on `device`.
    pub fn beside(self, device: &'a dyn Remote, places: &'a Places) -> Self {
        Engine {
            remote: Some(Beside {
                device,
                places,
                lost: AtomicBool::new(false),
                full: AtomicU64::new(0),
                prepared: AtomicBool::new(false),
            }),
            ..self
        }
    }
    /// The device, while it works.
    fn device(&self) -> Option<&dyn Remote> {
        self.remote
            .as_ref()
            .filter(|r| !r.lost.load(Relaxed))
            .map(|r| r.device)
    }
    /// The device where the join of node `at` runs there.
    fn device_of(&self, at: usize) -> Option<&dyn Remote> {
        self.device()
            .filter(|_| self.remote.as_ref().is_some_and(|r| r.places.remote[at]))
    }
    /// The bytes of the smallest piece of a join that the device had no room for, if there was
    /// one; the host did it.
    pub fn device_was_full(&self) -> Option<u64> {
        let bytes = self.remote.as_ref().map_or(0, |r| r.full.load(Relaxed));
        (bytes > 0).then_some(bytes)
    }
    /// Goes on without the device: what began with it begins again.
    ///
    /// Returns whether there was one.
    pub fn lose_device(&self) -> bool {
        self.remote
            .as_ref()
            .is_some_and(|r| !r.lost.swap(true, Relaxed))
    }
    /// The same over tables of `entries`.
    pub fn with_entries(self, entries: Entries) -> Self {
        Engine { entries, ..self }
    }
    /// The same with roots that a device joins in natural logarithms of the type, made there.
    pub fn with_log_roots(self) -> Self {
        Engine {
            log_roots: true,
            ..self
        }
    }
    /// Number of slices: independent tiles whose results are summed (or maximised).
    pub fn slices(&self) -> usize {
        self.plan.slices()
    }
    /// Values of the sliced variables in slice `index`.
    pub fn slice(&self, mut index: usize) -> Vec<(usize, usize)> {
        let mut out = Vec::with_capacity(self.plan.sliced.len());
        for v in self.plan.sliced.iter().rev() {
            out.push((*v, index % self.plan.cards[*v]));
            index /= self.plan.cards[*v];
        }
        out
    }
    /// Runs all joins of one slice.
    ///
    /// # Errors
    /// `Resource` when the budget is spent.
    pub fn forward<T: Contracted>(&self, slice: &[(usize, usize)]) -> Result<Forward<T>> {
        let mut cards = self.plan.cards.clone();
        slice.iter().for_each(|(v, _)| cards[*v] = 1);
        let mut out: Forward<T> = Forward {
            tables: Vec::with_capacity(self.plan.nodes.len()),
            cards,
        };
        self.prepare(&out.cards)?;
        for (at, node) in self.plan.nodes.iter().enumerate() {
            let table = match &node.source {
                Source::Input(at) => self.input(&self.tables[*at], &node.scope, slice)?,
                Source::Join(inputs) => {
                    let table = self.join_of(at, inputs, &mut out)?;
                    if self.pass == Pass::Forward {
                        inputs.iter().for_each(|n| out.tables[*n] = Copies::NONE);
                    }
                    table
                }
            };
            out.tables.push(table);
        }
        self.bring_home(&mut out)?;
        Ok(out)
    }
    /// Has the device make ready what its joins need; slices have the same ones.
    fn prepare(&self, cards: &[usize]) -> Result<()> {
        let (Some(device), Some(remote)) = (self.device(), &self.remote) else {
            return Ok(());
        };
        if remote.prepared.swap(true, Relaxed) {
            return Ok(());
        }
        let nodes = self.plan.nodes.iter().enumerate();
        let there = nodes.filter(|(at, _)| remote.places.remote[*at]);
        let join = |(at, node): (usize, &Node)| match &node.source {
            Source::Join(inputs) => {
                let scopes = inputs.iter().map(|n| &self.plan.nodes[*n].scope[..]);
                let logs = self.log_roots && self.plan.roots.contains(&at);
                Some((self.shape(scopes, &node.scope, cards), logs))
            }
            Source::Input(_) => None,
        };
        let joins: Vec<(Shape, bool)> = there.filter_map(join).collect();
        device.prepare(&joins, self.fold)
    }
    /// The join of node `at`, whose inputs are made.
    fn join_of<T: Contracted>(
        &self,
        at: usize,
        inputs: &[usize],
        out: &mut Forward<T>,
    ) -> Result<Copies<T>> {
        let scopes = inputs.iter().map(|n| &self.plan.nodes[*n].scope[..]);
        let shape = self.shape(scopes, &self.plan.nodes[at].scope, &out.cards);
        let is_root = self.plan.roots.contains(&at);
        let purpose = match self.pass {
            _ if is_root && self.log_roots => Purpose::Logs,
            Pass::Forward if is_root => Purpose::Host,
            Pass::Forward | Pass::Trace | Pass::Sweep => Purpose::Joins,
        };
        let device = self.device_of(at).map(|device| (device, purpose));
        self.join(device, &shape, inputs, &mut out.tables)
    }
    /// Brings to the host what is read there: a traceback reads all tables, and every pass the
    /// roots.
    ///
    /// # Errors
    /// `Resource` when the budget is spent, and those of the device.
    pub fn bring_home<T: Contracted>(&self, out: &mut Forward<T>) -> Result<()> {
        let all = self.pass == Pass::Trace;
        let wanted = (0..out.tables.len()).filter(|n| all || self.plan.roots.contains(n));
        wanted
            .collect::<Vec<_>>()
            .into_iter()
            .try_for_each(|n| out.tables[n].bring(self.device(), &self.room))
    }
    /// Room for tables that stay, none of which is there yet: [`Engine::put`] sets those of the
    /// inputs, and [`Engine::again`] makes the others as often as wanted. The plan has no slices.
    pub fn standing<T: Contracted>(&self) -> Forward<T> {
        Forward {
            tables: self.plan.nodes.iter().map(|_| Copies::NONE).collect(),
            cards: self.plan.cards.clone(),
        }
    }
    /// Sets input `at` to `table`, in the place of the one before.
    ///
    /// # Errors
    /// `Resource` when the budget is spent.
    pub fn put<T: Contracted>(&self, at: usize, table: &Table, all: &mut Forward<T>) -> Result<()> {
        let nodes = self.plan.nodes.iter().enumerate();
        for (n, node) in nodes.filter(|(_, node)| node.source == Source::Input(at)) {
            all.tables[n] = Copies::NONE;
            all.tables[n] = self.input(table, &node.scope, &[])?;
        }
        Ok(())
    }
    /// Copies the logarithms of all inputs that wait to the device: by node, for
    /// [`Engine::exponentials`].
    ///
    /// # Errors
    /// Those of the device.
    pub fn send_logs<T: Contracted>(&self, all: &Forward<T>) -> Result<Vec<Option<Numbers>>> {
        let send = |table: &Copies<T>| match (self.device(), &table.logs) {
            (Some(device), Some(logs)) => logs.send(device).map(Some),
            _ => Ok(None),
        };
        all.tables.iter().map(send).collect()
    }
    /// Makes the mantissas of inputs again from their logarithms on the device.
    ///
    /// # Errors
    /// Those of the device.
    pub fn exponentials<T: Contracted>(
        &self,
        sent: &[Option<Numbers>],
        all: &mut Forward<T>,
    ) -> Result<()> {
        for (sent, table) in sent.iter().zip(&mut all.tables) {
            if let (Some(device), Some(sent), Some(logs)) = (self.device(), sent, &table.logs) {
                table.there = None;
                table.there = Some(logs.there(sent, device)?);
            }
        }
        Ok(())
    }
    /// Runs all joins over inputs that stay, on the device too where a join there takes them.
    ///
    /// # Errors
    /// `Resource` when the budget is spent, and those of the device.
    pub fn again<T: Contracted>(&self, all: &mut Forward<T>) -> Result<()> {
        self.prepare(&all.cards)?;
        for (at, node) in self.plan.nodes.iter().enumerate() {
            if let Source::Join(inputs) = &node.source {
                all.tables[at] = Copies::NONE;
                all.tables[at] = self.join_of(at, inputs, all)?;
                let made = inputs.iter().filter(|n| self.plan.nodes[**n].is_join());
                made.for_each(|n| all.tables[*n] = Copies::NONE);
            }
        }
        Ok(())
    }
    /// Joins tables on `device`, where there is one and it can, to natural logarithms where that is
    /// asked, else on the host. Where the budget
    /// has no room for copies of logarithms, the tables become logarithms themselves.
    fn join<T: Contracted>(
        &self,
        device: Option<(&dyn Remote, Purpose)>,
        shape: &Shape,
        inputs: &[usize],
        all: &mut [Copies<T>],
    ) -> Result<Copies<T>> {
        if let Some(device) = device
            && let Some(made) = self.join_by(device, shape, inputs, all)?
        {
            return Ok(made);
        }
        for n in inputs {
            all[*n].bring(self.device(), &self.room)?;
        }
        let refs = |all: &[Copies<T>]| -> Result<Scaled<T>> {
            let tables: Vec<&Scaled<T>> = inputs
                .iter()
                .filter_map(|n| all[*n].here.as_ref())
                .collect();
            contract(shape, &tables, self.fold, &self.room)
        };
        let table = match refs(all) {
            Err(e) if e.blame() == Blame::Resource => {
                for n in inputs {
                    if let Some(table) = all[*n].here.take() {
                        all[*n] = Copies::here(table.in_logs(&self.room)?);
                    }
                }
                refs(all)
            }
            other => other,
        };
        Ok(Copies::here(table?))
    }
    /// The join by `device`, whole or piece by piece; `None` where it cannot do it.
    fn join_by<T: Contracted>(
        &self,
        (device, purpose): (&dyn Remote, Purpose),
        shape: &Shape,
        inputs: &[usize],
        all: &mut [Copies<T>],
    ) -> Result<Option<Copies<T>>> {
        match self.join_there((device, purpose), shape, inputs, all) {
            Ok(there) => Ok(there.map(Copies::there)),
            Err(e) if e.blame() == Blame::Resource => {
                let table = self.join_in_pieces(device, shape, inputs, all)?;
                Ok(table.map(Copies::here))
            }
            Err(e) => Err(e),
        }
    }
    fn join_there<T: Contracted>(
        &self,
        (device, purpose): (&dyn Remote, Purpose),
        shape: &Shape,
        inputs: &[usize],
        all: &mut [Copies<T>],
    ) -> Result<Option<There>> {
        for n in inputs {
            if !all[*n].send(device)? {
                return Ok(None);
            }
        }
        let tables: Vec<&There> = inputs
            .iter()
            .filter_map(|n| all[*n].there.as_ref())
            .collect();
        copies::contract::<T>(shape, &tables, (self.fold, purpose), device)
    }
    /// The join piece by piece, with its inputs and its result on the host; `None` where the
    /// device cannot do it.
    fn join_in_pieces<T: Contracted>(
        &self,
        device: &dyn Remote,
        shape: &Shape,
        inputs: &[usize],
        all: &mut [Copies<T>],
    ) -> Result<Option<Scaled<T>>> {
        for n in inputs {
            all[*n].bring(Some(device), &self.room)?;
            all[*n].there = None;
        }
        let held = inputs.iter().filter_map(|n| all[*n].here.as_ref());
        let tables: Vec<&Scaled<T>> = held.collect();
        match pieces::contract(shape, &tables, self.fold, device, &self.room)? {
            Made::Table(table) => Ok(Some(table)),
            Made::Logs => Ok(None),
            Made::TooSmall(least) => {
                let bytes = (least * size_of::<T>() as f64) as u64;
                if let Some(remote) = &self.remote {
                    remote.full.fetch_max(bytes.max(1), Relaxed);
                }
                Ok(None)
            }
        }
    }
    fn shape<'s>(
        &self,
        scopes: impl Iterator<Item = &'s [usize]>,
        out: &[usize],
        cards: &[usize],
    ) -> Shape {
        Shape::new(&scopes.collect::<Vec<_>>(), out, &self.plan.rank, cards)
    }
    /// A table in the global order, with sliced variables fixed.
    fn input<T: Contracted>(
        &self,
        table: &Table,
        scope: &[usize],
        slice: &[(usize, usize)],
    ) -> Result<Copies<T>> {
        let mut strides = vec![1usize; table.scope.len()];
        for at in (1..strides.len()).rev() {
            strides[at - 1] = strides[at] * self.plan.cards[table.scope[at]];
        }
        let stride = |v: usize| {
            table
                .scope
                .iter()
                .position(|u| *u == v)
                .map_or(0, |at| strides[at])
        };
        let fixed = |v: usize| slice.iter().find(|(u, _)| *u == v).map(|(_, s)| *s);
        let base: usize = table
            .scope
            .iter()
            .filter_map(|v| fixed(*v).map(|s| s * stride(*v)))
            .sum();
        let digits: Vec<(usize, usize)> = scope
            .iter()
            .filter(|v| fixed(**v).is_none())
            .map(|v| (self.plan.cards[*v], stride(*v)))
            .collect();
        let picked = Picked {
            values: &table.values,
            base,
            digits: &digits,
        };
        // A device makes mantissas faster than the host does.
        if self.entries == Entries::Logs
            && self.device().is_some()
            && let Some(logs) = WaitingLogs::gathered(&picked, &self.room)?
        {
            return Ok(Copies::waiting(logs));
        }
        Ok(Copies::here(Scaled::gathered(
            &picked,
            self.entries,
            &self.room,
        )?))
    }
    /// The product of all roots that hold no variable.
    pub fn total<T: Contracted>(&self, forward: &Forward<T>) -> Scalar {
        let roots = self
            .plan
            .roots
            .iter()
            .filter(|r| self.plan.nodes[**r].scope.is_empty());
        roots
            .filter_map(|r| forward.tables[*r].here.as_ref())
            .fold(Scalar::ONE, |z, t| z.times(t.scalar(0)))
    }
    /// The table over the kept variables, in the global order, with those variables.
    ///
    /// # Errors
    /// `Resource` when the budget is spent.
    pub fn kept<T: Contracted>(&self, forward: &Forward<T>) -> Result<(Vec<usize>, Vec<Scalar>)> {
        let roots: Vec<usize> = self
            .plan
            .roots
            .iter()
            .copied()
            .filter(|r| !self.plan.nodes[*r].scope.is_empty())
            .collect();
        let mut scope: Vec<usize> = roots
            .iter()
            .flat_map(|r| self.plan.nodes[*r].scope.iter().copied())
            .collect();
        scope.sort_by_key(|v| self.plan.rank[*v]);
        let len = scope
            .iter()
            .try_fold(1usize, |n, v| n.checked_mul(forward.cards[*v]))
            .unwrap_or(usize::MAX);
        let _room = self.room.reserve(
            (len as u64).saturating_mul(16),
            "the table over the kept variables",
        )?;
        let out = self.product_of(forward, &roots, &scope, len);
        Ok((scope, out))
    }
    /// The product of all `roots` and of those that hold no variable, over `scope`, which has `len`
    /// entries.
    fn product_of<T: Contracted>(
        &self,
        forward: &Forward<T>,
        roots: &[usize],
        scope: &[usize],
        len: usize,
    ) -> Vec<Scalar> {
        let total = self.total(forward);
        let parts: Vec<(&Scaled<T>, Vec<usize>)> = roots
            .iter()
            .filter_map(|r| {
                let own = &self.plan.nodes[*r].scope;
                let strides = self.strides(own, scope, &forward.cards);
                Some((forward.tables[*r].here.as_ref()?, strides))
            })
            .collect();
        let mut state = vec![0usize; scope.len()];
        let mut out = Vec::with_capacity(len);
        for _ in 0..len {
            let at = |s: &[usize]| s.iter().zip(&state).map(|(a, b)| a * b).sum::<usize>();
            let entry = parts
                .iter()
                .fold(total, |p, (t, s)| p.times(t.scalar(at(s))));
            out.push(entry);
            crate::plan::reduced::step(&mut state, |i| forward.cards[scope[i]]);
        }
        out
    }
    /// Strides in a table over `inner` of the variables of `outer` (0 where it lacks one).
    fn strides(&self, inner: &[usize], outer: &[usize], cards: &[usize]) -> Vec<usize> {
        let mut stride = 1;
        let mut of = vec![0; outer.len()];
        for v in inner.iter().rev() {
            if let Some(at) = outer.iter().position(|u| u == v) {
                of[at] = stride;
            }
            stride *= cards[*v];
        }
        of
    }
    /// What finds values for all variables from the tables of `forward`, as often as wanted.
    ///
    /// # Errors
    /// `Resource` when the budget is spent.
    pub fn tracer<'f, T: Contracted>(
        &'f self,
        forward: &'f Forward<T>,
        slice: &'f [(usize, usize)],
    ) -> Result<Tracer<'f, T>> {
        let mut steps = Vec::new();
        let mut places = 0;
        for node in self.plan.nodes.iter().rev() {
            let Source::Join(inputs) = &node.source else {
                continue;
            };
            if node.summed.iter().all(|v| forward.cards[*v] == 1) {
                continue;
            }
            let step = self.step(forward, inputs, &node.summed);
            places += step
                .inputs
                .iter()
                .map(|i| i.offsets.len() + 2 * i.given.len() + 16)
                .sum::<usize>();
            steps.push(step);
        }
        let room = self
            .room
            .reserve(8 * places as u64, "the places of a traceback")?;
        Ok(Tracer {
            steps,
            cards: &forward.cards,
            slice,
            variables: self.plan.cards.len(),
            _room: room,
        })
    }
    /// The choice of values for `summed`, by the tables that were joined.
    fn step<'f, T: Contracted>(
        &'f self,
        forward: &'f Forward<T>,
        inputs: &[usize],
        summed: &'f [usize],
    ) -> Step<'f, T> {
        let many: usize = summed.iter().map(|v| forward.cards[*v]).product();
        let weigh = |n: &usize| {
            let table = forward.tables[*n].here.as_ref()?;
            let scope = &self.plan.nodes[*n].scope;
            let all = self.strides(scope, scope, &forward.cards);
            let given = scope
                .iter()
                .copied()
                .zip(all)
                .filter(|(v, _)| !summed.contains(v) && forward.cards[*v] > 1);
            let own = self.strides(scope, summed, &forward.cards);
            let digits: Vec<(usize, usize)> = summed
                .iter()
                .zip(own)
                .map(|(v, s)| (forward.cards[*v], s))
                .collect();
            Some(Weighed {
                table,
                given: given.collect(),
                offsets: super::shape::offsets(&digits),
            })
        };
        Step {
            summed,
            many,
            inputs: inputs.iter().filter_map(weigh).collect(),
        }
    }
    /// The backward sweep: adds every variable's unnormalised marginal in this slice to
    /// `marginals`.
    ///
    /// # Errors
    /// `Resource` when the budget is spent.
    pub fn backward<T: Contracted>(
        &self,
        mut forward: Forward<T>,
        slice: &[(usize, usize)],
        marginals: &mut Marginals,
    ) -> Result<()> {
        let (mut gradients, all) = self.root_gradients(&forward)?;
        for at in (0..self.plan.nodes.len()).rev() {
            let Source::Join(inputs) = &self.plan.nodes[at].source else {
                continue;
            };
            for &n in inputs.iter().filter(|n| self.plan.sweep.gradient[**n]) {
                gradients[n] = self.gradient(&mut forward, &mut gradients[at], at, inputs, n)?;
            }
            for (n, vars) in &self.plan.sweep.readouts[at] {
                self.read(&mut forward, *n, &mut gradients[*n], vars, marginals)?;
            }
            gradients[at] = Copies::NONE;
            forward.tables[at] = Copies::NONE;
            for n in inputs {
                if !self.plan.sweep.gradient[*n]
                    || matches!(self.plan.nodes[*n].source, Source::Input(_))
                {
                    gradients[*n] = Copies::NONE;
                    forward.tables[*n] = Copies::NONE;
                }
            }
        }
        for (v, s) in slice {
            marginals[*v][*s] = marginals[*v][*s].plus(all);
        }
        Ok(())
    }
    /// The gradients that a sweep begins with, by node: each root has the product of the others.
    /// Also the product of all roots.
    fn root_gradients<T: Contracted>(
        &self,
        forward: &Forward<T>,
    ) -> Result<(Vec<Copies<T>>, Scalar)> {
        let totals: Vec<Scalar> = self
            .plan
            .roots
            .iter()
            .filter_map(|r| forward.tables[*r].here.as_ref())
            .map(|t| t.scalar(0))
            .collect();
        let all = totals.iter().fold(Scalar::ONE, |z, t| z.times(*t));
        let mut gradients: Vec<Copies<T>> = self.plan.nodes.iter().map(|_| Copies::NONE).collect();
        for (r, own) in self.plan.roots.iter().zip(&totals) {
            let rest = Scalar {
                mantissa: all.mantissa / own.mantissa,
                exponent: all.exponent - own.exponent,
            };
            let mut one = Scaled::of_values(&[rest.mantissa], &self.room)?;
            one.exponent += rest.exponent;
            gradients[*r] = Copies::here(one);
        }
        Ok((gradients, all))
    }
    /// The gradient of the table of node `n`: that of the join `at` above it, times the other
    /// tables of that join.
    fn gradient<T: Contracted>(
        &self,
        forward: &mut Forward<T>,
        above: &mut Copies<T>,
        at: usize,
        inputs: &[usize],
        n: usize,
    ) -> Result<Copies<T>> {
        let others: Vec<usize> = inputs.iter().copied().filter(|m| *m != n).collect();
        let scopes = others.iter().map(|m| &self.plan.nodes[*m].scope[..]);
        let shape = self.shape(
            std::iter::once(&self.plan.nodes[at].scope[..]).chain(scopes),
            &self.plan.nodes[n].scope,
            &forward.cards,
        );
        // The gradient stands with the tables for the time of the join, in the place of the table
        // that it is for.
        let own = std::mem::replace(
            &mut forward.tables[n],
            std::mem::replace(above, Copies::NONE),
        );
        let joined: Vec<usize> = std::iter::once(n).chain(others).collect();
        let device = self.device_of(at).map(|device| (device, Purpose::Joins));
        let made = self.join(device, &shape, &joined, &mut forward.tables);
        *above = std::mem::replace(&mut forward.tables[n], own);
        made
    }
    /// Sums node table times gradient to each of `vars`.
    fn read<T: Contracted>(
        &self,
        forward: &mut Forward<T>,
        n: usize,
        gradient: &mut Copies<T>,
        vars: &[usize],
        marginals: &mut Marginals,
    ) -> Result<()> {
        let scope = &self.plan.nodes[n].scope[..];
        let free: Vec<usize> = vars
            .iter()
            .copied()
            .filter(|v| forward.cards[*v] > 1)
            .collect();
        let mut sorted = free.clone();
        sorted.sort_by_key(|v| self.plan.rank[*v]);
        let shape = self.shape([scope, scope].into_iter(), &sorted, &forward.cards);
        let Some(joint) = self.with_gradient(&mut forward.tables[n], gradient, &shape)? else {
            return Ok(());
        };
        for v in free {
            let shape = self.shape([&sorted[..]].into_iter(), &[v], &forward.cards);
            let one = contract(&shape, &[&joint], self.fold, &self.room)?;
            marginals[v]
                .iter_mut()
                .enumerate()
                .for_each(|(s, m)| *m = m.plus(one.scalar(s)));
        }
        Ok(())
    }
    /// A table times its gradient, on the host. Both stay where they are.
    fn with_gradient<T: Contracted>(
        &self,
        table: &mut Copies<T>,
        gradient: &mut Copies<T>,
        shape: &Shape,
    ) -> Result<Option<Scaled<T>>> {
        let mut pair = [
            std::mem::replace(table, Copies::NONE),
            std::mem::replace(gradient, Copies::NONE),
        ];
        // Where either lies on the device only, what is read off there is smaller than what would
        // come home.
        let device = self
            .device()
            .filter(|_| pair.iter().any(|t| t.here.is_none() && t.there.is_some()));
        let device = device.map(|device| (device, Purpose::Joins));
        let joint = self.join(device, shape, &[0, 1], &mut pair);
        [*table, *gradient] = pair;
        let mut joint = joint?;
        joint.bring(self.device(), &self.room)?;
        Ok(joint.here)
    }
}

/// Finds values for all variables, one join after another.
#[derive(Debug)]
pub struct Tracer<'f, T: Contracted> {
    steps: Vec<Step<'f, T>>,
    cards: &'f [usize],
    slice: &'f [(usize, usize)],
    variables: usize,
    _room: Reservation,
}

/// The choice of the values of some variables when those before are chosen.
#[derive(Debug)]
struct Step<'f, T: Contracted> {
    summed: &'f [usize],
    /// Combinations of their values.
    many: usize,
    inputs: Vec<Weighed<'f, T>>,
}

/// A table that weighs the values of a step.
#[derive(Debug)]
struct Weighed<'f, T: Contracted> {
    table: &'f Scaled<T>,
    /// Variables chosen before, with their strides.
    given: Vec<(usize, usize)>,
    /// The place of each combination of values.
    offsets: Vec<usize>,
}

impl<T: Contracted> Tracer<'_, T> {
    /// Values for all variables: the maximising ones, or (with `random`) a sample in proportion to
    /// the product.
    pub fn trace(&self, mut random: Option<&mut Random>) -> Vec<usize> {
        let mut state = vec![0usize; self.variables];
        let mut logs = Vec::new();
        for step in &self.steps {
            logs.clear();
            logs.resize(step.many, 0.0);
            for input in &step.inputs {
                let base: usize = input.given.iter().map(|(v, s)| state[*v] * s).sum();
                logs.iter_mut()
                    .zip(&input.offsets)
                    .for_each(|(l, o)| *l += input.table.ln(base + o));
            }
            let mut pick = choose(&mut logs, random.as_deref_mut());
            for v in step.summed.iter().rev() {
                state[*v] = pick % self.cards[*v];
                pick /= self.cards[*v];
            }
        }
        self.slice.iter().for_each(|(v, s)| state[*v] = *s);
        state
    }
}

/// The largest of `logs`, or one drawn in proportion to their exponentials.
fn choose(logs: &mut [f64], random: Option<&mut Random>) -> usize {
    let best = logs
        .iter()
        .copied()
        .enumerate()
        .fold(
            (0, f64::NEG_INFINITY),
            |b, (at, l)| if l > b.1 { (at, l) } else { b },
        );
    let Some(random) = random else { return best.0 };
    logs.iter_mut().for_each(|l| *l = (*l - best.1).exp());
    let mut left = random.unit() * logs.iter().sum::<f64>();
    for (at, w) in logs.iter().enumerate() {
        if *w > 0.0 && left < *w {
            return at;
        }
        left -= w;
    }
    best.0
}
