//! The count: a component takes one state of a variable after another, what follows from zeros is
//! assigned, and what falls apart is counted apart (Sang, Beame & Kautz 2005; Thurley 2006).

use super::cache::{Cache, pack};
use super::residuals::{Residuals, bits};
use super::trace::{Branch, Trace};
use crate::plan::Scalar;

/// A count in progress.
pub(super) struct Counter<'a> {
    pub residuals: Residuals,
    cache: Cache<(Scalar, u32)>,
    /// By variable: the tables that hold it.
    tables_of: Vec<Vec<u32>>,
    order: Order,
    /// By variable: its states now, as bits.
    states: Vec<u64>,
    /// By table: its bundle now.
    bundles: Vec<u32>,
    /// What was changed, in order.
    trail: Vec<Change>,
    /// By variable and by table: the last analysis that saw it.
    seen: Vec<u64>,
    seen_table: Vec<u64>,
    analyses: u64,
    packed: Vec<u8>,
    bytes: usize,
    /// Branches, where all marginals are wanted.
    pub trace: Option<Trace>,
    limit: Limit<'a>,
    next_look: u64,
    pub work: Work,
}

/// An order of elimination.
pub(super) struct Order {
    /// By variable: its place.
    pub place: Vec<usize>,
    /// Variables that one touches at most when it goes.
    pub width: usize,
}

/// What a count may take.
pub(super) struct Limit<'a> {
    /// Steps.
    pub steps: u64,
    /// Whether time is over; looked at from time to time.
    pub over: &'a dyn Fn() -> bool,
}

/// What a count took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Components that were branched on.
    pub nodes: u64,
    /// Components that were known.
    pub known: u64,
    /// Tables and variables that were looked at.
    pub steps: u64,
    /// Why it ended before the count did, if it did.
    pub stopped: Option<Stop>,
}

/// Why a count ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Time is over.
    Time,
    /// It took as many steps as it may.
    Steps,
    /// What it must hold fills its memory.
    Memory,
}

enum Change {
    States(u32, u64),
    Bundle(u32, u32),
}

/// Variables that hang together and the numbers of their functions, sorted.
struct Component {
    variables: Vec<u32>,
    /// By variable: the tables in which a function ties it to another.
    ties: Vec<u32>,
    functions: Vec<u32>,
}

/// Variables for each one of the width of an order that separates.
const WIDE: usize = 6;
/// Steps between two looks at the time.
const LOOK: u64 = 1 << 14;
/// The number of a component in the trace where none is kept.
const UNTRACED: u32 = u32::MAX;

impl<'a> Counter<'a> {
    /// A count over `bundles`, the residual functions of all tables, in at most `bytes`.
    pub(super) fn new(
        residuals: Residuals,
        (states, bundles): (Vec<u64>, Vec<u32>),
        order: Order,
        bytes: usize,
        limit: Limit<'a>,
    ) -> Self {
        let mut tables_of = vec![Vec::new(); states.len()];
        for (at, bundle) in bundles.iter().enumerate() {
            let held = &residuals.bundle(*bundle).held;
            held.iter()
                .for_each(|(v, _)| tables_of[*v as usize].push(at as u32));
        }
        Counter {
            cache: Cache::new(bytes / 2),
            seen: vec![0; states.len()],
            seen_table: vec![0; bundles.len()],
            residuals,
            tables_of,
            order,
            states,
            bundles,
            trail: Vec::new(),
            analyses: 0,
            packed: Vec::new(),
            bytes,
            trace: None,
            limit,
            next_look: LOOK,
            work: Work::default(),
        }
    }
    /// The sum over all variables; a bound from below if it was stopped.
    /// With `given` variables at some of their states.
    pub(super) fn total(&mut self, given: Vec<(u32, u64)>) -> (Scalar, Option<Branch>) {
        let mark = self.trail.len();
        let all: Vec<u32> = (0..self.states.len() as u32).collect();
        let found = self.assigned(given, &all, mark);
        self.undo(mark);
        found
    }
    /// The value of a component, and its number in the trace.
    fn value(&mut self, component: Component) -> (Scalar, u32) {
        pack(&component.functions, &mut self.packed);
        if let Some(found) = self.cache.get(&self.packed) {
            self.work.known += 1;
            return found;
        }
        let key: Box<[u8]> = self.packed[..].into();
        self.work.nodes += 1;
        let v = self.chosen(&component);
        let mut sum = Scalar::ZERO;
        let mut branches = Vec::new();
        for x in bits(self.states[v as usize]) {
            let mark = self.trail.len();
            let (value, branch) = self.assigned(vec![(v, 1 << x)], &component.variables, mark);
            self.undo(mark);
            sum = sum.plus(value);
            branches.extend(branch);
            if self.work.stopped.is_some() {
                return (sum, UNTRACED);
            }
        }
        let number = match &mut self.trace {
            Some(trace) => trace.put(sum, branches),
            None => UNTRACED,
        };
        self.keep(key, (sum, number));
        (sum, number)
    }
    fn keep(&mut self, key: Box<[u8]>, value: (Scalar, u32)) {
        self.cache.put(key, value);
        let traced = self.trace.as_ref().map_or(0, |t| t.bytes);
        if self.residuals.bytes + self.cache.bytes() + traced > self.bytes {
            self.cache.clear();
            self.residuals.forget_restrictions();
            if self.residuals.bytes + traced > self.bytes / 4 * 3 {
                self.stop(Stop::Memory);
            }
        }
    }
    fn stop(&mut self, why: Stop) {
        self.work.stopped.get_or_insert(why);
    }
    /// The variable to branch on: the last one in the order of elimination, whose separators leave
    /// components. Where the network is wide for its variables the order says little, and functions
    /// that hold a variable count as much.
    fn chosen(&self, component: &Component) -> u32 {
        let Component {
            variables, ties, ..
        } = component;
        let place = |v: u32| self.order.place[v as usize];
        let last = || variables.iter().copied().max_by_key(|v| place(*v));
        if WIDE * self.order.width < self.order.place.len() {
            return last().unwrap_or(0);
        }
        let most = ties.iter().copied().max().unwrap_or(1) as usize;
        let all = self.order.place.len();
        let score = |i: &usize| ties[*i] as usize * all + place(variables[*i]) * most;
        let best = (0..variables.len()).max_by_key(score);
        best.map_or(0, |i| variables[i])
    }
    /// The value of `variables` after `changed` variables lost states; and, where branches are
    /// traced and it is above zero, the branch. The trail from `mark` on is of this branch.
    fn assigned(
        &mut self,
        changed: Vec<(u32, u64)>,
        variables: &[u32],
        mark: usize,
    ) -> (Scalar, Option<Branch>) {
        let mut value = self.propagate(changed);
        if value.is_zero() {
            return (value, None);
        }
        let mut branch = self.trace.is_some().then(|| Branch::new(self.fixed(mark)));
        let (alone, components) = self.components(variables);
        for v in alone {
            let line = self.line(v);
            let sum = line.iter().fold(Scalar::ZERO, |sum, (_, p)| sum.plus(*p));
            value = value.times(sum);
            if let Some(branch) = &mut branch {
                branch.alone(v, line, sum);
            }
        }
        let mut left = components.len();
        for component in components {
            let (part, number) = self.value(component);
            value = value.times(part);
            left -= 1;
            if self.work.stopped.is_some() && left > 0 {
                // What is not counted has at least zero.
                return (Scalar::ZERO, None);
            }
            if value.is_zero() {
                return (value, None);
            }
            if let Some(branch) = &mut branch {
                branch.below.push(number);
            }
        }
        if let Some(branch) = &mut branch {
            branch.value = value;
        }
        (value, branch)
    }
    /// Variables that got their last state since `mark`.
    fn fixed(&self, mark: usize) -> Vec<(u32, u32)> {
        let one = |change: &Change| match change {
            Change::States(v, before) => {
                let now = self.states[*v as usize];
                (before.count_ones() > 1 && now.is_power_of_two())
                    .then(|| (*v, now.trailing_zeros()))
            }
            Change::Bundle(..) => None,
        };
        let mut all: Vec<(u32, u32)> = self.trail[mark..].iter().filter_map(one).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
    /// Restricts tables until nothing follows any more. The product of what they leave out; zero if
    /// one has nothing left.
    fn propagate(&mut self, mut changed: Vec<(u32, u64)>) -> Scalar {
        let mut scale = Scalar::ONE;
        while let Some((v, states)) = changed.pop() {
            let before = self.states[v as usize];
            let now = before & states;
            if now == 0 {
                return Scalar::ZERO;
            }
            if now == before {
                continue;
            }
            self.trail.push(Change::States(v, before));
            self.states[v as usize] = now;
            for i in 0..self.tables_of[v as usize].len() {
                let t = self.tables_of[v as usize][i];
                let at = self.bundles[t as usize];
                self.work.steps += 1;
                let held = &self.residuals.bundle(at).held;
                if !held.iter().any(|(u, own)| *u == v && own & now != *own) {
                    continue;
                }
                let left = self.residuals.restricted(at, v, now);
                let Some(bundle) = left.bundle else {
                    return Scalar::ZERO;
                };
                self.trail.push(Change::Bundle(t, at));
                self.bundles[t as usize] = bundle;
                scale = scale.times(left.scale);
                changed.extend(left.lost.iter().copied());
            }
        }
        self.look();
        scale
    }
    fn undo(&mut self, mark: usize) {
        while self.trail.len() > mark {
            match self.trail.pop() {
                Some(Change::States(v, before)) => self.states[v as usize] = before,
                Some(Change::Bundle(t, before)) => self.bundles[t as usize] = before,
                None => {}
            }
        }
    }
    fn look(&mut self) {
        if self.work.steps >= self.limit.steps {
            self.stop(Stop::Steps);
        }
        if self.work.steps >= self.next_look {
            self.next_look = self.work.steps + LOOK;
            if (self.limit.over)() {
                self.stop(Stop::Time);
            }
        }
    }
    /// Those of `variables` with several states that no function ties to another, and the
    /// components of the others.
    fn components(&mut self, variables: &[u32]) -> (Vec<u32>, Vec<Component>) {
        self.analyses += 1;
        let (mut alone, mut components) = (Vec::new(), Vec::new());
        for v in variables {
            if self.seen[*v as usize] == self.analyses || self.states[*v as usize].is_power_of_two()
            {
                continue;
            }
            let component = self.connected(*v);
            match component.variables.len() {
                1 => alone.push(*v),
                _ => components.push(component),
            }
        }
        (alone, components)
    }
    /// The component of `v`.
    fn connected(&mut self, v: u32) -> Component {
        let mut out = Component {
            variables: vec![v],
            ties: Vec::new(),
            functions: Vec::new(),
        };
        self.seen[v as usize] = self.analyses;
        let mut at = 0;
        while let Some(v) = out.variables.get(at).copied() {
            at += 1;
            self.work.steps += self.tables_of[v as usize].len() as u64;
            let mut ties = 0;
            for t in &self.tables_of[v as usize] {
                let bundle = self.residuals.bundle(self.bundles[*t as usize]);
                let Some((function, own)) = bundle.own(v) else {
                    continue;
                };
                ties += u32::from(own.len() > 1);
                // A function of several variables counts once, with the first one that meets it.
                if own.len() > 1
                    && std::mem::replace(&mut self.seen_table[*t as usize], self.analyses)
                        == self.analyses
                {
                    continue;
                }
                out.functions.push(function);
                for (u, _) in own {
                    if std::mem::replace(&mut self.seen[*u as usize], self.analyses)
                        != self.analyses
                    {
                        out.variables.push(*u);
                    }
                }
            }
            out.ties.push(ties);
        }
        out.functions.sort_unstable();
        out
    }
    /// The states of a variable that is alone, with the product of its functions.
    fn line(&self, v: u32) -> Vec<(u32, Scalar)> {
        let own = bits(self.states[v as usize]);
        let mut line: Vec<_> = own.into_iter().map(|s| (s, Scalar::ONE)).collect();
        for t in &self.tables_of[v as usize] {
            let bundle = self.residuals.bundle(self.bundles[*t as usize]);
            for f in &bundle.functions {
                let f = self.residuals.function(*f);
                if f.scope[..] == [v] {
                    let all = line.iter_mut().zip(&f.values);
                    all.for_each(|(l, p)| l.1 = l.1.times(Scalar::from_f64(*p)));
                }
            }
        }
        line
    }
}
