//! The paper's own problem over bare tables and any semiring: `Ψ(keep) = ⊕ ⊗ tables`.

use crate::beside::Beside;
use crate::infer::{OnDevice, Settings};
use std::borrow::Cow;
use zipfold_core::factor::table::{check_scope, entries};
use zipfold_core::factor::{LogSumExp, MaxProduct, MinSum, Semiring, Var};
use zipfold_core::{Budget, Error, Result};
use zipfold_gpu::DeviceSelector;
pub use zipfold_product::cpu::Prepared;
pub use zipfold_product::cpu::scaled::Entries;
use zipfold_product::cpu::semiring::contract as fold;
use zipfold_product::cpu::shape::{Shape, offsets};
use zipfold_product::cpu::{Contracted, Engine, Fold, Forward};
use zipfold_product::plan::{Pass, Plan, Rates, Reduced, Scalar, Source, Table, plan};

/// A table: its scope, and its entries with the last variable of the scope fastest.
pub type Bare<V> = (Vec<Var>, Vec<V>);

/// Folds away every variable that is not in `keep`; the result has the last variable of `keep`
/// fastest. `cards` are the domain sizes; the fold over a variable without values is the zero of
/// the semiring.
///
/// Joins follow the planner's order and are done by counting, which every semiring can. Numbers
/// have faster kernels: those of [`crate::infer::infer`] and [`contract_logs`], and `contract_sums`,
/// `contract_maxima`, `contract_minima` and `Prepared` of `zipfold::internals::contract`.
///
/// # Errors
/// `Input` for scopes or tables that do not match `cards`, and for entries that the semiring does
/// not have; `Resource` when the plan exceeds `settings`.
pub fn contract<S: Semiring>(
    semiring: &S,
    cards: &[usize],
    tables: &[Bare<S::Value>],
    keep: &[Var],
    settings: &Settings,
) -> Result<Vec<S::Value>> {
    // Counting visits some hundred million configurations a second, regardless of the join.
    let rates = Rates {
        matrix: 0.3e9,
        bucket: 0.3e9,
        runs: 0.3e9,
        ..Rates::default()
    };
    let joins = Joins {
        zero: semiring.zero(),
        unit: semiring.unit(),
        rates,
        fold: &|shape, inputs, out| fold(semiring, shape, inputs, out),
    };
    check_entries(semiring, tables)?;
    joins.contract(cards, tables, keep, settings)
}

/// [`contract`] over sums of products by the fast kernels of the host.
///
/// Of tables that are not negative, intermediate tables neither over- nor underflow, and slices are
/// taken where the memory demands them. Tables with other numbers are multiplied and added as they
/// are, in f64, within one slice: mantissas with a common exponent have no sign.
///
/// ```
/// use zipfold::internals::contract::{contract_maxima, contract_minima, contract_sums};
/// use zipfold::network::Settings;
/// let tables = [(vec![0], vec![0.5, 2.0]), (vec![0, 1], vec![1.0, 4.0, 3.0, 1.0])];
/// let how = Settings::default();
/// assert_eq!(contract_sums(&[2, 2], &tables, &[1], &how)?, [6.5, 4.0]);
/// assert_eq!(contract_maxima(&[2, 2], &tables, &[1], &how)?, [6.0, 2.0]);
/// assert_eq!(contract_minima(&[2, 2], &tables, &[1], &how)?, [1.5, 3.0]);
/// # Ok::<(), zipfold::Error>(())
/// ```
///
/// # Errors
/// As [`contract`].
pub fn contract_sums(
    cards: &[usize],
    tables: &[Bare<f64>],
    keep: &[Var],
    settings: &Settings,
) -> Result<Vec<f64>> {
    let mut entries = tables.iter().flat_map(|(_, values)| values);
    if entries.all(|v| Numeric::Sum.expected_instead_of(*v).is_none()) {
        return contract_numbers(Numeric::Sum, cards, tables, keep, &on_host(settings));
    }
    let joins = Joins {
        zero: 0.0,
        unit: 1.0,
        rates: Rates::default(),
        fold: &|shape, inputs, out| f64::products(shape, inputs, Fold::Sum, out),
    };
    joins.contract(cards, tables, keep, settings)
}

/// [`contract`] over [`MaxProduct`] by the fast kernels of the host, in slices where the memory
/// demands them. Intermediate tables neither over- nor underflow.
///
/// # Errors
/// As [`contract`]; entries are finite and not negative.
pub fn contract_maxima(
    cards: &[usize],
    tables: &[Bare<f64>],
    keep: &[Var],
    settings: &Settings,
) -> Result<Vec<f64>> {
    contract_numbers(Numeric::Max, cards, tables, keep, &on_host(settings))
}

/// [`contract`] over [`MinSum`] by the fast kernels of the host. Costs are added as they are: no
/// exponential is taken.
///
/// # Errors
/// As [`contract`]; entries are above -∞.
pub fn contract_minima(
    cards: &[usize],
    tables: &[Bare<f64>],
    keep: &[Var],
    settings: &Settings,
) -> Result<Vec<f64>> {
    check_entries(&MinSum, tables)?;
    // The least sum is what the greatest sum of the negated costs lacks.
    let negated =
        |(scope, values): &Bare<f64>| (scope.clone(), values.iter().map(|v| -v).collect());
    let tables: Vec<Bare<f64>> = tables.iter().map(negated).collect();
    let bucket = Rates::default().bucket;
    let joins = Joins {
        zero: f64::NEG_INFINITY,
        unit: 0.0,
        // No kernel multiplies matrices of logarithms.
        rates: Rates {
            matrix: bucket,
            runs: bucket,
            ..Rates::default()
        },
        fold: &|shape, inputs, out| f64::log_maxima(shape, inputs, out),
    };
    let greatest = joins.contract(cards, &tables, keep, settings)?;
    // 0 - 0 is 0, where -0 is not printed as 0.
    Ok(greatest.into_iter().map(|v| 0.0 - v).collect())
}

/// `settings` without a device.
fn on_host(settings: &Settings) -> Settings {
    Settings {
        device: DeviceSelector::Cpu,
        ..settings.clone()
    }
}

fn check<V>(cards: &[usize], tables: &[Bare<V>], keep: &[Var]) -> Result<()> {
    check_scope(keep, cards).map_err(|e| e.at_least("the kept variables"))?;
    for (at, (scope, values)) in tables.iter().enumerate() {
        check_scope(scope, cards).map_err(|e| e.at_least(format!("table {at}")))?;
        if entries(scope, cards) != Some(values.len()) {
            return Err(Error::input("the table does not match its domains")
                .at_place(format!("table {at}")));
        }
    }
    Ok(())
}

/// Refuses entries that the semiring does not have.
fn check_entries<S: Semiring>(semiring: &S, tables: &[Bare<S::Value>]) -> Result<()> {
    tables.iter().enumerate().try_for_each(|(at, (_, values))| {
        check_table(at, values, |v| semiring.expected_instead_of(v))
    })
}

/// Refuses the first entry of table `at` instead of which something else is expected.
fn check_table<V: Copy + std::fmt::Debug>(
    at: usize,
    values: &[V],
    expected: impl Fn(V) -> Option<&'static str>,
) -> Result<()> {
    match values.iter().find_map(|v| Some((expected(*v)?, v))) {
        None => Ok(()),
        Some((expected, found)) => {
            let e = Error::input(format!("expected {expected}, got {found:?}"));
            Err(e.at_place(format!("table {at}")))
        }
    }
}

/// The fold over variables of which one has no values: zeros.
fn of_nothing<V: Copy>(cards: &[usize], keep: &[Var], zero: V) -> Option<Vec<V>> {
    let len = cards.contains(&0).then(|| entries(keep, cards))?;
    len.map(|len| vec![zero; len])
}

/// The semirings over numbers that the fast kernels have, on the host and on devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numeric {
    /// Sums of products of numbers that are not negative.
    Sum,
    /// Greatest products of numbers that are not negative.
    Max,
    /// Log-sum-exp of sums of natural logarithms.
    LogSum,
    /// Greatest sums of natural logarithms.
    LogMax,
}

impl Numeric {
    fn fold(self) -> Fold {
        match self {
            Numeric::Sum | Numeric::LogSum => Fold::Sum,
            Numeric::Max | Numeric::LogMax => Fold::Max,
        }
    }
    /// What tables and the result hold.
    pub fn entries(self) -> Entries {
        match self {
            Numeric::Sum | Numeric::Max => Entries::Values,
            Numeric::LogSum | Numeric::LogMax => Entries::Logs,
        }
    }
    /// `engine` for tables and a result of the semiring.
    fn set(self, engine: Engine<'_>) -> Engine<'_> {
        let engine = engine.with_entries(self.entries());
        match self.entries() {
            Entries::Values => engine,
            Entries::Logs => engine.with_log_roots(),
        }
    }
    /// The neutral entry.
    fn neutral(self) -> f64 {
        if self.entries() == Entries::Logs {
            0.0
        } else {
            1.0
        }
    }
    /// An entry of the result.
    fn entry(self, s: Scalar) -> f64 {
        match self.entries() {
            Entries::Values => s.value(),
            Entries::Logs if s.is_zero() => f64::NEG_INFINITY,
            Entries::Logs => s.ln(),
        }
    }
    /// The entry that two slices have together.
    fn plus(self, a: Scalar, b: Scalar) -> Scalar {
        match self.fold() {
            Fold::Sum => a.plus(b),
            Fold::Max if a.is_zero() || (!b.is_zero() && b.ln() > a.ln()) => b,
            Fold::Max => a,
        }
    }
    /// What a table should hold instead of `value`, where the kernels do not have it.
    fn expected_instead_of(self, value: f64) -> Option<&'static str> {
        match self.entries() {
            Entries::Values => MaxProduct.expected_instead_of(value),
            Entries::Logs => LogSumExp.expected_instead_of(value),
        }
    }
    /// Refuses entries that tables of the semiring do not hold.
    fn check(self, at: usize, values: &[f64]) -> Result<()> {
        check_table(at, values, |v| self.expected_instead_of(v))
    }
}

/// [`contract`] over the log semiring (log-sum-exp of sums of natural logarithms) at the speed of
/// the linear kernels: tables become mantissas with one exponent each, or stay logarithms where
/// their range exceeds f64. Slices where memory demands.
///
/// # Errors
/// As [`contract`], and `Input` for entries that are NaN or +∞.
pub fn contract_logs(
    cards: &[usize],
    tables: &[Bare<f64>],
    keep: &[Var],
    settings: &Settings,
) -> Result<Vec<f64>> {
    contract_numbers(Numeric::LogSum, cards, tables, keep, &on_host(settings))
}

/// [`contract`] over one of the [`Numeric`] semirings by the fast kernels, in slices where the
/// memory demands them. Where the settings want a device, it takes the joins that are faster there.
///
/// # Errors
/// As [`contract`], `Input` for entries that the semiring does not have, and `Device` when a device
/// named outright is missing.
pub fn contract_numbers(
    numeric: Numeric,
    cards: &[usize],
    tables: &[Bare<f64>],
    keep: &[Var],
    settings: &Settings,
) -> Result<Vec<f64>> {
    check(cards, tables, keep)?;
    for (at, (_, values)) in tables.iter().enumerate() {
        numeric.check(at, values)?;
    }
    if let Some(nothing) = of_nothing(cards, keep, numeric.entry(Scalar::ZERO)) {
        return Ok(nothing);
    }
    let all = with_free(cards, tables, numeric.neutral());
    let plan = order(cards, &all, keep, settings, Pass::Forward, Rates::default())?;
    let inputs: Vec<Table> = all
        .iter()
        .map(|(scope, values)| Table {
            scope: scope.clone(),
            values: values.clone(),
        })
        .collect();
    let beside = Beside::for_plans(
        &[(&plan, Pass::Forward)],
        plan.slices() as f64,
        settings.asked(),
    )?;
    let budget = Budget::new(settings.memory);
    let engine = || {
        let engine = Engine::new(&plan, &inputs, numeric.fold(), Pass::Forward, &budget);
        numeric.set(engine)
    };
    let (mut scope, mut sum): (Vec<Var>, Vec<Scalar>) = (Vec::new(), Vec::new());
    for index in 0..plan.slices() {
        let work = |engine: &Engine<'_>| {
            let forward = engine.forward::<f64>(&engine.slice(index))?;
            engine.kept(&forward)
        };
        let (vars, part) = on_device(beside.as_ref(), engine(), settings, work)?;
        if index == 0 {
            (scope, sum) = (vars, part);
        } else {
            let both = sum.iter_mut().zip(part);
            both.for_each(|(s, p)| *s = numeric.plus(*s, p));
        }
    }
    let entries: Vec<f64> = sum.into_iter().map(|s| numeric.entry(s)).collect();
    Ok(in_order(&scope, &entries, &places(cards, keep), cards)
        .1
        .into_owned())
}

/// What `work` gives on `engine`, with its joins on the device where there is one.
fn on_device<'b, R>(
    beside: Option<&'b Beside>,
    engine: Engine<'b>,
    settings: &Settings,
    mut work: impl FnMut(&Engine<'b>) -> Result<R>,
) -> Result<R> {
    match beside {
        Some(beside) => beside.joined((engine, 0), &settings.warnings, work),
        None => work(&engine),
    }
}

/// Runs of one plan whose kernels are worth compiling for its shapes.
const TURNS: f64 = 1e5;

/// One sum-product that is planned once and executed many times with its large joins on a device,
/// where tables stay until others take their place. Of logarithms, the device makes the mantissas
/// and the result's logarithms, which have the type of the tables.
///
/// ```no_run
/// use zipfold::internals::contract::{Numeric, PreparedOnDevice};
/// use zipfold::internals::device::DeviceSelector;
/// use zipfold::internals::infer::Settings;
/// let settings = Settings { device: DeviceSelector::parse("cuda:0")?, ..Settings::default() };
/// let scopes = [vec![0, 1], vec![1, 2]];
/// let mut product = PreparedOnDevice::<f64>::new(Numeric::Sum, &[2, 3, 2], &scopes, &[0, 2], &settings)?;
/// product.put(0, &[1.0; 6])?;
/// product.put(1, &[2.0; 6])?;
/// product.run()?;
/// assert_eq!(product.result()?, [6.0; 4]);
/// # Ok::<(), zipfold::Error>(())
/// ```
#[derive(Debug)]
pub struct PreparedOnDevice<T: Contracted> {
    numeric: Numeric,
    plan: Plan,
    cards: Vec<usize>,
    keep: Vec<Var>,
    /// Scopes of the tables, then of one for each variable that none holds.
    scopes: Vec<Vec<Var>>,
    /// Whether each was put.
    there: Vec<bool>,
    beside: Option<Beside>,
    settings: Settings,
    budget: Budget,
    tables: Forward<T>,
}

impl<T: Contracted> PreparedOnDevice<T> {
    /// A plan for tables over `scopes` that folds away every variable that is not in `keep`.
    ///
    /// # Errors
    /// `Input` for scopes that do not match `cards`, `Resource` when the tables do not fit the
    /// memory of the host at one time, `Device` when the device is missing.
    pub fn new(
        numeric: Numeric,
        cards: &[usize],
        scopes: &[Vec<Var>],
        keep: &[Var],
        settings: &Settings,
    ) -> Result<Self> {
        check_scope(keep, cards).map_err(|e| e.at_least("the kept variables"))?;
        for (at, scope) in scopes.iter().enumerate() {
            check_scope(scope, cards).map_err(|e| e.at_least(format!("table {at}")))?;
        }
        if let Some(v) = cards.iter().position(|c| *c == 0) {
            return Err(Error::input(format!(
                "expected a value of variable {v}, got none"
            )));
        }
        let bare: Vec<Bare<f64>> = scopes.iter().map(|s| (s.clone(), Vec::new())).collect();
        let all = with_free(cards, &bare, numeric.neutral());
        let settings = Settings {
            precision: T::PRECISION,
            ..settings.clone()
        };
        let plan = order(
            cards,
            &all,
            keep,
            &settings,
            Pass::Forward,
            Rates::default(),
        )?;
        if !plan.sliced.is_empty() {
            return Err(unsliced(&settings));
        }
        let beside = Beside::for_plans(&[(&plan, Pass::Forward)], TURNS, settings.asked())?;
        let budget = Budget::new(settings.memory);
        let engine = Engine::new(&plan, &[], numeric.fold(), Pass::Forward, &budget);
        let engine = numeric.set(engine);
        let mut tables = engine.standing::<T>();
        for (at, (scope, values)) in all.iter().enumerate().skip(scopes.len()) {
            let (scope, values) = (scope.clone(), values.clone());
            engine.put(at, &Table { scope, values }, &mut tables)?;
        }
        let there = (0..all.len()).map(|at| at >= scopes.len()).collect();
        Ok(PreparedOnDevice {
            numeric,
            cards: cards.to_vec(),
            keep: keep.to_vec(),
            scopes: all.into_iter().map(|(scope, _)| scope).collect(),
            there,
            beside,
            settings,
            budget,
            tables,
            plan,
        })
    }
    fn engine<'a>(&'a self) -> Engine<'a> {
        let (fold, pass) = (self.numeric.fold(), Pass::Forward);
        let engine = Engine::new(&self.plan, &[], fold, pass, &self.budget);
        self.numeric.set(engine)
    }
    /// The device and the joins that run there; none where the host is faster.
    pub fn device(&self) -> Option<OnDevice> {
        self.beside.as_ref().map(Beside::told)
    }
    /// Table `at` becomes `values`, with the last variable of its scope fastest. It stays, on the
    /// device too from the next run on, until another one takes its place.
    ///
    /// # Errors
    /// `Input` for a table that does not exist or does not match its domains, and for entries that
    /// the semiring does not have; `Resource` when the memory is spent.
    pub fn put(&mut self, at: usize, values: &[T]) -> Result<()> {
        let of = |scope: &Vec<Var>| entries(scope, &self.cards);
        if self.scopes.get(at).and_then(of) != Some(values.len()) {
            let e = Error::input("the table does not match its domains");
            return Err(e.at_place(format!("table {at}")));
        }
        let values: Vec<f64> = values.iter().map(|v| v.to_f64()).collect();
        self.numeric.check(at, &values)?;
        let scope = self.scopes[at].clone();
        let mut tables = std::mem::take(&mut self.tables);
        let table = Table { scope, values };
        let work = |engine: &Engine<'_>| engine.put(at, &table, &mut tables);
        let put = on_device(self.beside.as_ref(), self.engine(), &self.settings, work);
        self.tables = tables;
        self.there[at] = put.is_ok();
        put
    }
    /// Contracts the tables. A device that fails is left from then on, with a warning in the
    /// settings; the host goes on.
    ///
    /// # Errors
    /// `Request` where a table was never put, `Resource` when the memory is spent.
    pub fn run(&mut self) -> Result<()> {
        if let Some(at) = self.there.iter().position(|there| !there) {
            return Err(
                Error::request(format!("expected all tables, got none for table {at}"))
                    .remedy("put it first"),
            );
        }
        let mut tables = std::mem::take(&mut self.tables);
        let beside = self.beside.as_ref();
        let work = |engine: &Engine<'_>| {
            engine.again(&mut tables)?;
            let mut devices = beside.iter().flat_map(|b| &b.devices);
            devices.try_for_each(|device| device.finish())
        };
        let ran = on_device(beside, self.engine(), &self.settings, work);
        let lost = beside.is_some_and(Beside::is_lost);
        self.tables = tables;
        if lost {
            self.beside = None;
        }
        ran
    }
    /// The result of the last run, with the last variable of `keep` fastest.
    ///
    /// # Errors
    /// `Resource` when the memory is spent, `Device` when the device fails.
    pub fn result(&mut self) -> Result<Vec<f64>> {
        let mut tables = std::mem::take(&mut self.tables);
        let work = |engine: &Engine<'_>| {
            engine.bring_home(&mut tables)?;
            engine.kept(&tables)
        };
        let kept = on_device(self.beside.as_ref(), self.engine(), &self.settings, work);
        self.tables = tables;
        let (scope, found) = kept?;
        let found: Vec<f64> = found.into_iter().map(|s| self.numeric.entry(s)).collect();
        let places = places(&self.cards, &self.keep);
        Ok(in_order(&scope, &found, &places, &self.cards)
            .1
            .into_owned())
    }
}

fn unsliced(settings: &Settings) -> Error {
    Error::resource("the tables do not fit the memory without slicing, which this call does not do")
        .limit(zipfold_core::budget::human_bytes(settings.memory))
        .remedy("more memory")
}

/// `tables`, and one of `one`s for every variable that none holds, so that folding it away counts
/// its values.
fn with_free<V: Copy>(cards: &[usize], tables: &[Bare<V>], one: V) -> Vec<Bare<V>> {
    let mut all = tables.to_vec();
    let held: std::collections::HashSet<Var> =
        tables.iter().flat_map(|t| t.0.iter().copied()).collect();
    all.extend(
        (0..cards.len())
            .filter(|v| !held.contains(v))
            .map(|v| (vec![v], vec![one; cards[v]])),
    );
    all
}

/// The place of each variable of `keep` in it.
fn places(cards: &[usize], keep: &[Var]) -> Vec<u32> {
    (0..cards.len())
        .map(|v| keep.iter().position(|k| *k == v).unwrap_or(0) as u32)
        .collect()
}

fn order<V>(
    cards: &[usize],
    tables: &[Bare<V>],
    keep: &[Var],
    settings: &Settings,
    pass: Pass,
    rates: Rates,
) -> Result<Plan> {
    let reduced = Reduced::as_given(
        cards,
        tables
            .iter()
            .map(|(scope, _)| Table {
                scope: scope.clone(),
                values: Vec::new(),
            })
            .collect(),
    );
    plan(&reduced, keep, &settings.options(pass, rates))
}

/// Folds tables into the last one, which the call overwrites.
type FoldTables<'a, V> = dyn Fn(&Shape, &[&[V]], &mut [V]) + 'a;

/// Contractions join by join over one semiring, all tables of one type.
struct Joins<'a, V> {
    zero: V,
    unit: V,
    /// What the plan takes the kernel for.
    rates: Rates,
    /// What folds the tables of one join.
    fold: &'a FoldTables<'a, V>,
}

impl<V: Copy> Joins<'_, V> {
    /// The table over `keep` of tables whose entries were checked.
    fn contract(
        &self,
        cards: &[usize],
        tables: &[Bare<V>],
        keep: &[Var],
        settings: &Settings,
    ) -> Result<Vec<V>> {
        check(cards, tables, keep)?;
        if let Some(nothing) = of_nothing(cards, keep, self.zero) {
            return Ok(nothing);
        }
        let all = with_free(cards, tables, self.unit);
        let plan = order(cards, &all, keep, settings, Pass::Trace, self.rates)?;
        if !plan.sliced.is_empty() {
            return Err(unsliced(settings));
        }
        let join = |inputs: &[(&[Var], &[V])], out: &[Var]| self.join((&plan, cards), inputs, out);
        let mut made: Vec<Vec<V>> = Vec::with_capacity(plan.nodes.len());
        for node in &plan.nodes {
            let next = match &node.source {
                Source::Input(at) => join(&[(&all[*at].0, &all[*at].1)], &node.scope),
                Source::Join(inputs) => {
                    let inputs: Vec<_> = inputs
                        .iter()
                        .map(|n| (&plan.nodes[*n].scope[..], &made[*n][..]))
                        .collect();
                    join(&inputs, &node.scope)
                }
            };
            made.push(next);
        }
        let mut scope: Vec<Var> = keep.to_vec();
        scope.sort_by_key(|v| plan.rank[*v]);
        let mut result = vec![self.unit; entries(&scope, cards).unwrap_or(0)];
        for root in &plan.roots {
            result = join(
                &[(&scope, &result), (&plan.nodes[*root].scope, &made[*root])],
                &scope,
            );
        }
        Ok(in_order(&scope, &result, &places(cards, keep), cards)
            .1
            .into_owned())
    }
    /// One join in the global order of the plan.
    fn join(
        &self,
        (plan, cards): (&Plan, &[usize]),
        inputs: &[(&[Var], &[V])],
        out: &[Var],
    ) -> Vec<V> {
        let sorted: Vec<_> = inputs
            .iter()
            .map(|(s, v)| in_order(s, v, &plan.rank, cards))
            .collect();
        let scopes: Vec<&[Var]> = sorted.iter().map(|(s, _)| &s[..]).collect();
        let shape = Shape::new(&scopes, out, &plan.rank, cards);
        let mut result = vec![self.zero; shape.out_len];
        let tables: Vec<&[V]> = sorted.iter().map(|(_, v)| &v[..]).collect();
        (self.fold)(&shape, &tables, &mut result);
        result
    }
}

/// A table with its scope sorted by `rank`.
fn in_order<'t, V: Copy>(
    scope: &[Var],
    values: &'t [V],
    rank: &[u32],
    cards: &[usize],
) -> (Vec<Var>, Cow<'t, [V]>) {
    let mut sorted = scope.to_vec();
    sorted.sort_by_key(|v| rank[*v]);
    if sorted == scope {
        return (sorted, values.into());
    }
    let mut strides = vec![1usize; scope.len()];
    for at in (1..scope.len()).rev() {
        strides[at - 1] = strides[at] * cards[scope[at]];
    }
    let stride = |v: &Var| {
        scope
            .iter()
            .position(|u| u == v)
            .map_or(0, |at| strides[at])
    };
    let digits: Vec<(usize, usize)> = sorted.iter().map(|v| (cards[*v], stride(v))).collect();
    let moved: Vec<V> = offsets(&digits).into_iter().map(|o| values[o]).collect();
    (sorted, moved.into())
}
