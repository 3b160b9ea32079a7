//! Residual functions: what is left of a table when some variables lost states. Each distinct
//! function exists once, so that equal numbers mean equal functions, and what a restriction of one
//! leaves is computed once.

use super::hash::Map;
use crate::plan::Scalar;
use crate::plan::reduced::step;
use std::rc::Rc;

/// Relative difference up to which entries are in proportion: both were rounded a few times.
const ALIKE: f64 = 4.0 * f64::EPSILON;
/// The least quotient of two entries that keeps all digits.
const SMALLEST: f64 = 1e-290;
/// Bytes of a function, of a bundle and of a restriction beyond their lists, with their places in
/// the look-ups.
const EACH: usize = 160;

/// A table over variables with several states, dense, last fastest. The greatest entry is 1, unless the
/// least one is too small for that.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Residual {
    /// Variables in ascending order.
    pub scope: Vec<u32>,
    /// By variable of the scope: the states it has, as bits.
    pub states: Vec<u64>,
    /// Entries above and at zero; every state has one above.
    pub values: Vec<f64>,
}

/// What is left of one table: a product of functions that share no variable.
#[derive(Debug)]
pub(super) struct Bundle {
    /// Numbers of its functions.
    pub functions: Vec<u32>,
    /// Its variables with their states, of one function after another.
    pub held: Vec<(u32, u64)>,
    /// By function: where its variables end.
    pub ends: Vec<u32>,
}

impl Bundle {
    /// The function that has `v`, and its variables with their states.
    pub(super) fn own(&self, v: u32) -> Option<(u32, &[(u32, u64)])> {
        let place = self.held.iter().position(|(u, _)| *u == v)?;
        if let [only] = self.functions[..] {
            return Some((only, &self.held));
        }
        let of = self.ends.partition_point(|end| *end as usize <= place);
        let start = of
            .checked_sub(1)
            .map_or(0, |before| self.ends[before] as usize);
        Some((
            self.functions[of],
            &self.held[start..self.ends[of] as usize],
        ))
    }
}

/// What a restriction of a bundle leaves.
#[derive(Clone, Debug)]
pub(super) struct Restricted {
    /// The bundle; none if no entry above zero is left.
    pub bundle: Option<u32>,
    /// The factor that the bundle leaves out.
    pub scale: Scalar,
    /// Variables that lost states, with the states that they keep.
    pub lost: Rc<[(u32, u64)]>,
}

/// All functions and bundles of a count.
#[derive(Debug, Default)]
pub(super) struct Residuals {
    functions: Vec<Rc<Residual>>,
    bundles: Vec<Rc<Bundle>>,
    number: Map<Box<[u64]>, u32>,
    bundle_number: Map<Box<[u32]>, u32>,
    known: Map<(u32, u32, u64), Restricted>,
    /// Bytes that they take.
    pub bytes: usize,
}

impl Residuals {
    /// A function.
    pub(super) fn function(&self, at: u32) -> &Rc<Residual> {
        &self.functions[at as usize]
    }
    /// A bundle.
    pub(super) fn bundle(&self, at: u32) -> &Rc<Bundle> {
        &self.bundles[at as usize]
    }
    /// The bundle of a whole table.
    pub(super) fn of_table(
        &mut self,
        scope: &[usize],
        cards: &[usize],
        values: &[f64],
    ) -> Restricted {
        let states = scope.iter().map(|v| u64::MAX >> (64 - cards[*v])).collect();
        let table = Residual {
            scope: scope.iter().map(|v| *v as u32).collect(),
            states,
            values: values.to_vec(),
        };
        let mut parts = Remains::default();
        parts.take(sorted(table));
        self.bundled(parts)
    }
    /// What is left of bundle `at` when variable `v` keeps `states`.
    pub(super) fn restricted(&mut self, at: u32, v: u32, states: u64) -> Restricted {
        if let Some(known) = self.known.get(&(at, v, states)) {
            return known.clone();
        }
        let bundle = self.bundles[at as usize].clone();
        let mut parts = Remains::default();
        for f in &bundle.functions {
            let function = self.functions[*f as usize].clone();
            match function.scope.iter().position(|u| *u == v) {
                Some(place) => parts.take(function.part(place, states)),
                None => parts.whole.push(*f),
            }
        }
        // The variable itself lost what the caller knows of.
        parts.lost.retain(|(u, left)| *u != v || *left != states);
        let found = self.bundled(parts);
        self.bytes += EACH + 12 * found.lost.len();
        self.known.insert((at, v, states), found.clone());
        found
    }
    /// Forgets what restrictions left; functions and bundles stay.
    pub(super) fn forget_restrictions(&mut self) {
        let each = |r: &Restricted| EACH + 12 * r.lost.len();
        self.bytes -= self.known.values().map(each).sum::<usize>();
        self.known = Map::default();
    }
    fn bundled(&mut self, parts: Remains) -> Restricted {
        let lost = parts.lost.into();
        if parts.scale.is_zero() {
            return Restricted {
                bundle: None,
                scale: Scalar::ZERO,
                lost,
            };
        }
        let mut functions = parts.whole;
        for part in parts.left {
            functions.push(self.intern(part));
        }
        functions.sort_unstable();
        Restricted {
            bundle: Some(self.intern_bundle(functions)),
            scale: parts.scale,
            lost,
        }
    }
    fn intern(&mut self, function: Residual) -> u32 {
        let scope = function.scope.iter().map(|v| u64::from(*v));
        let states = function.states.iter().copied();
        let values = function.values.iter().map(|v| v.to_bits());
        let key: Box<[u64]> = scope.chain(states).chain(values).collect();
        if let Some(known) = self.number.get(&key) {
            return *known;
        }
        let at = self.functions.len() as u32;
        self.bytes += EACH + 16 * key.len();
        self.number.insert(key, at);
        self.functions.push(Rc::new(function));
        at
    }
    fn intern_bundle(&mut self, functions: Vec<u32>) -> u32 {
        if let Some(known) = self.bundle_number.get(&functions[..]) {
            return *known;
        }
        let (mut held, mut ends) = (Vec::new(), Vec::new());
        for f in &functions {
            let f = &self.functions[*f as usize];
            held.extend(f.scope.iter().copied().zip(f.states.iter().copied()));
            ends.push(held.len() as u32);
        }
        let at = self.bundles.len() as u32;
        self.bytes += EACH + 8 * functions.len() + 16 * held.len();
        self.bundle_number.insert(functions.clone().into(), at);
        self.bundles.push(Rc::new(Bundle {
            functions,
            held,
            ends,
        }));
        at
    }
}

/// Residuals on their way into a bundle.
#[derive(Debug)]
struct Remains {
    /// Numbers of functions that stay as they are.
    whole: Vec<u32>,
    /// New ones.
    left: Vec<Residual>,
    scale: Scalar,
    lost: Vec<(u32, u64)>,
}

impl Default for Remains {
    fn default() -> Self {
        Remains {
            whole: Vec::new(),
            left: Vec::new(),
            scale: Scalar::ONE,
            lost: Vec::new(),
        }
    }
}

impl Remains {
    /// Takes what matters of `function`: states without support, variables with one state and
    /// variables that its entries are in proportion along are taken out of it.
    fn take(&mut self, mut function: Residual) {
        let whole = function.states.clone();
        function.trim();
        let lost = |at: &usize| function.states[*at] != whole[*at];
        let places = (0..whole.len()).filter(lost);
        self.lost
            .extend(places.map(|at| (function.scope[at], function.states[at])));
        if function.values.is_empty() {
            self.scale = Scalar::ZERO;
            return;
        }
        let mut at = 0;
        while at < function.scope.len() {
            match function.line(at) {
                Some(line) => {
                    let (v, states) = (function.scope[at], function.states[at]);
                    function.remove(at);
                    self.put(Residual {
                        scope: vec![v],
                        states: vec![states],
                        values: line,
                    });
                }
                None => at += 1,
            }
        }
        self.put(function);
    }
    /// Adds a function, its greatest entry 1; a constant goes into the scale.
    fn put(&mut self, mut function: Residual) {
        let most = function.values.iter().copied().fold(0.0, f64::max);
        let above = function.values.iter().copied().filter(|v| *v > 0.0);
        let least = above.fold(f64::INFINITY, f64::min);
        if least < most && least / most < SMALLEST {
            // A quotient would be lost, and the entry may be all that is left one day.
            self.left.push(function);
            return;
        }
        self.scale = self.scale.times(Scalar::from_f64(most));
        if function.values.iter().all(|v| *v == most) {
            return;
        }
        function.values.iter_mut().for_each(|v| *v /= most);
        self.left.push(function);
    }
}

impl Residual {
    fn cards(&self) -> Vec<usize> {
        self.states
            .iter()
            .map(|s| s.count_ones() as usize)
            .collect()
    }
    /// Entries of one step along the variable at `place`.
    fn inner(&self, place: usize) -> usize {
        self.states[place + 1..]
            .iter()
            .map(|s| s.count_ones() as usize)
            .product()
    }
    /// The part in which the variable at `place` has `states`, some of its own.
    fn part(&self, place: usize, states: u64) -> Residual {
        let (inner, own) = (self.inner(place), bits(self.states[place]));
        let kept = || {
            own.iter()
                .enumerate()
                .filter(|(_, s)| states >> **s & 1 == 1)
                .map(|(i, _)| i)
        };
        let blocks = self.values.chunks(inner * own.len());
        let values = blocks.flat_map(|b| kept().flat_map(move |i| &b[i * inner..(i + 1) * inner]));
        let values = values.copied().collect();
        let mut all = self.states.clone();
        all[place] &= states;
        Residual {
            scope: self.scope.clone(),
            states: all,
            values,
        }
    }
    /// Takes out the states that have no entry above zero.
    fn trim(&mut self) {
        let cards = self.cards();
        let mut support: Vec<Vec<bool>> = cards.iter().map(|c| vec![false; *c]).collect();
        let mut x = vec![0; cards.len()];
        for value in &self.values {
            if *value > 0.0 {
                support
                    .iter_mut()
                    .zip(&x)
                    .for_each(|(row, s)| row[*s] = true);
            }
            step(&mut x, |at| cards[at]);
        }
        for (place, row) in support.iter().enumerate() {
            if row.iter().all(|s| *s) {
                continue;
            }
            let own = bits(self.states[place]);
            let left = own
                .iter()
                .zip(row)
                .filter(|(_, s)| **s)
                .fold(0, |all, (s, _)| all | 1 << s);
            if left == 0 {
                self.states.fill(0);
                self.values.clear();
                return;
            }
            *self = self.part(place, left);
        }
        if self.values.iter().all(|v| *v == 0.0) {
            self.values.clear();
        }
    }
    /// What the entries are in proportion to along the variable at `place`, if they are; its first
    /// is 1.
    fn line(&self, place: usize) -> Option<Vec<f64>> {
        let card = self.states[place].count_ones() as usize;
        if card == 1 || self.scope.len() == 1 {
            return (card == 1).then(|| vec![1.0]);
        }
        let inner = self.inner(place);
        let mut line = vec![0.0; card];
        line[0] = 1.0;
        for block in self.values.chunks(inner * card) {
            let (first, rest) = block.split_at(inner);
            for (at, part) in rest.chunks(inner).enumerate() {
                for (own, base) in part.iter().zip(first) {
                    if *base == 0.0 || *own == 0.0 {
                        if own != base {
                            return None;
                        }
                        continue;
                    }
                    let ratio = own / base;
                    if !ratio.is_normal() {
                        return None;
                    }
                    let known = &mut line[at + 1];
                    if *known == 0.0 {
                        *known = ratio;
                    } else if (ratio - *known).abs() > ALIKE * *known {
                        return None;
                    }
                }
            }
        }
        Some(line)
    }
    /// Takes the variable at `place` out, at its first state.
    fn remove(&mut self, place: usize) {
        let (inner, card) = (self.inner(place), self.states[place].count_ones() as usize);
        let firsts = self.values.chunks(inner * card).flat_map(|b| &b[..inner]);
        self.values = firsts.copied().collect();
        self.scope.remove(place);
        self.states.remove(place);
    }
}

/// The function with its scope in ascending order.
fn sorted(function: Residual) -> Residual {
    let mut order: Vec<usize> = (0..function.scope.len()).collect();
    order.sort_by_key(|at| function.scope[*at]);
    let cards = function.cards();
    let inner: Vec<usize> = (0..cards.len()).map(|at| function.inner(at)).collect();
    let mut x = vec![0; order.len()];
    let mut values = Vec::with_capacity(function.values.len());
    for _ in 0..function.values.len() {
        let place: usize = order.iter().zip(&x).map(|(at, s)| inner[*at] * s).sum();
        values.push(function.values[place]);
        step(&mut x, |at| cards[order[at]]);
    }
    Residual {
        scope: order.iter().map(|at| function.scope[*at]).collect(),
        states: order.iter().map(|at| function.states[*at]).collect(),
        values,
    }
}

/// The places of the ones.
pub(super) fn bits(mut of: u64) -> Vec<u32> {
    let mut out = Vec::with_capacity(of.count_ones() as usize);
    while of != 0 {
        out.push(of.trailing_zeros());
        of &= of - 1;
    }
    out
}
