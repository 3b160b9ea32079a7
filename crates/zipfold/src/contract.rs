//! The paper's own problem over bare tables and any semiring: `Ψ(keep) = ⊕ ⊗ tables`.

use crate::infer::Settings;
use std::borrow::Cow;
use zipfold_core::factor::table::{check_scope, entries};
use zipfold_core::factor::{Semiring, Var};
use zipfold_core::{Budget, Error, Result};
pub use zipfold_product::cpu::Prepared;
pub use zipfold_product::cpu::scaled::Entries;
use zipfold_product::cpu::semiring::contract as fold;
use zipfold_product::cpu::shape::{Shape, offsets};
use zipfold_product::cpu::{Engine, Fold};
use zipfold_product::plan::{Pass, Plan, Rates, Reduced, Scalar, Source, Table, plan};

/// A table: its scope, and its entries with the last variable of the scope fastest.
pub type Bare<V> = (Vec<Var>, Vec<V>);

/// Folds away every variable that is not in `keep`; the result has the last variable of `keep`
/// fastest. `cards` are the domain sizes. Joins follow the planner's order and are done by
/// counting; sums and maxima of numbers are faster by [`crate::infer::infer`], log-sum-exps by
/// [`contract_logs`], and one bucket of numbers many times by [`Prepared`].
///
/// # Errors
/// `Input` for scopes or tables that do not match `cards`; `Resource` when the plan exceeds
/// `settings`.
pub fn contract<S: Semiring>(
    semiring: &S,
    cards: &[usize],
    tables: &[Bare<S::Value>],
    keep: &[Var],
    settings: &Settings,
) -> Result<Vec<S::Value>> {
    check(cards, tables, keep)?;
    let all = with_free(cards, tables, semiring.unit());
    // Counting visits some hundred million configurations a second, whatever the join.
    let rates = Rates {
        matrix: 0.3e9,
        bucket: 0.3e9,
        runs: 0.3e9,
        ..Rates::default()
    };
    let plan = order(cards, &all, keep, settings, Pass::Trace, rates)?;
    if !plan.sliced.is_empty() {
        return Err(Error::resource(
            "the tables do not fit the memory without slicing, which this call does not do",
        )
        .limit(zipfold_core::budget::human_bytes(settings.memory))
        .remedy("more memory"));
    }
    let join = Join {
        semiring,
        cards,
        rank: &plan.rank,
    };
    let mut made: Vec<Vec<S::Value>> = Vec::with_capacity(plan.nodes.len());
    for node in &plan.nodes {
        let next = match &node.source {
            Source::Input(at) => join.run(&[(&all[*at].0, &all[*at].1)], &node.scope),
            Source::Join(inputs) => {
                let inputs: Vec<_> = inputs
                    .iter()
                    .map(|n| (&plan.nodes[*n].scope[..], &made[*n][..]))
                    .collect();
                join.run(&inputs, &node.scope)
            }
        };
        made.push(next);
    }
    let mut scope: Vec<Var> = keep.to_vec();
    scope.sort_by_key(|v| plan.rank[*v]);
    let mut result = vec![semiring.unit(); entries(&scope, cards).unwrap_or(0)];
    for root in &plan.roots {
        result = join.run(
            &[(&scope, &result), (&plan.nodes[*root].scope, &made[*root])],
            &scope,
        );
    }
    Ok(in_order(&scope, &result, &places(cards, keep), cards)
        .1
        .into_owned())
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
    check(cards, tables, keep)?;
    for (at, (_, values)) in tables.iter().enumerate() {
        if let Some(bad) = values.iter().find(|v| v.is_nan() || **v == f64::INFINITY) {
            return Err(Error::input(format!("{bad} is no logarithm of an entry"))
                .at_place(format!("table {at}")));
        }
    }
    let all = with_free(cards, tables, 0.0);
    let plan = order(cards, &all, keep, settings, Pass::Forward, Rates::default())?;
    let inputs: Vec<Table> = all
        .iter()
        .map(|(scope, values)| Table {
            scope: scope.clone(),
            values: values.clone(),
        })
        .collect();
    let budget = Budget::new(settings.memory);
    let engine = Engine::new(&plan, &inputs, Fold::Sum, Pass::Forward, &budget).of_logs();
    let (mut scope, mut sum): (Vec<Var>, Vec<Scalar>) = (Vec::new(), Vec::new());
    for index in 0..engine.slices() {
        let (vars, part) = engine.kept(&engine.forward::<f64>(&engine.slice(index))?)?;
        if index == 0 {
            (scope, sum) = (vars, part);
        } else {
            sum.iter_mut().zip(part).for_each(|(s, p)| *s = s.plus(p));
        }
    }
    let logs: Vec<f64> = sum
        .iter()
        .map(|s| {
            if s.is_zero() {
                f64::NEG_INFINITY
            } else {
                s.ln()
            }
        })
        .collect();
    Ok(in_order(&scope, &logs, &places(cards, keep), cards)
        .1
        .into_owned())
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

/// Contractions over one semiring and one global order.
struct Join<'a, S> {
    semiring: &'a S,
    cards: &'a [usize],
    rank: &'a [u32],
}

impl<S: Semiring> Join<'_, S> {
    fn run(&self, inputs: &[(&[Var], &[S::Value])], out: &[Var]) -> Vec<S::Value> {
        let sorted: Vec<_> = inputs
            .iter()
            .map(|(s, v)| in_order(s, v, self.rank, self.cards))
            .collect();
        let scopes: Vec<&[Var]> = sorted.iter().map(|(s, _)| &s[..]).collect();
        let shape = Shape::new(&scopes, out, self.rank, self.cards);
        let mut result = vec![self.semiring.zero(); shape.out_len];
        fold(
            self.semiring,
            &shape,
            &sorted.iter().map(|(_, v)| &v[..]).collect::<Vec<_>>(),
            &mut result,
        );
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
