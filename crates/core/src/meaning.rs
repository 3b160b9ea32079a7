//! What a problem means, regardless of the numbers in its rows: its formula resolved, checked and
//! lowered, and its folds without weights.
//!
//! Parsing, checking and lowering take longer than a small matrix, and programs ask the same
//! question many times. The meanings of the last 32 problems are therefore kept, with what backends
//! made of their formulas. The key, [`Question`], holds everything that a meaning depends on;
//! comparing it is exact, so no hash can collide.
//!
//! The cache is a lock that is never waited for: if another thread holds it, the meaning is made
//! afresh.

use crate::data::Data;
use crate::describe::pair::{check_box, check_components, cutoff_root, pair_value};
use crate::describe::weights::Holes;
use crate::error::Result;
use crate::fold::Fold;
use crate::fold::roots::{Roots, add_root};
use crate::pair::images::by_images;
use crate::pair::lower::Lowered;
use crate::pair::named::{self, Params};
use crate::pair::parse::{Param, PreparedMetrics, Scope};
use crate::pair::symmetry::are_symmetric;
use crate::pair::texts::Texts;
use crate::pair::tree::Formula;
use crate::param_axis::ParamAxis;
use crate::problem::{FoldSpec, PairSpec, Problem};
use std::sync::{Arc, Mutex, TryLockError};

/// The most meanings kept. A program that asks the same few questions in turn finds all of them;
/// looking through 32 takes less time than parsing one formula.
const KEPT: usize = 32;
// The most numbers and letters of a question that is worth keeping: a parameter of a million
// numbers would take longer to compare than its formula to parse.
const LARGE: usize = 1 << 14;

/// The kept meanings, the last used at the end.
///
/// A list and not a map: comparing is exact, and the first comparisons, which are cheap, reject
/// most of the 32 entries.
static LATEST: Mutex<Vec<(Question, Arc<Meaning>)>> = Mutex::new(vec![]);

/// The meaning of a problem. Everything in it depends on its [`Question`] alone.
///
/// Jobs share it. Engines keep what they compiled in [`Lowered::made`], so a question that is asked
/// again compiles nothing.
#[derive(Debug)]
pub(crate) struct Meaning {
    /// The lowered formula, with a root for everything that the folds take.
    pub low: Arc<Lowered>,
    /// The lowered formula of the first value of a parameter alone, where it has several.
    pub first: Option<Arc<Lowered>>,
    /// The folds, without their weights: of each value of a parameter one after another.
    pub folds: Vec<Fold>,
    /// The root that a cut-off compares.
    pub cutoff_root: Option<usize>,
    /// Whether the value is the same with the rows exchanged.
    pub symmetric: bool,
    /// Whether it would be symmetric if no weight were missing.
    pub weighed_symmetric: bool,
}

/// What a meaning is made from.
///
/// References only: most questions are found in the cache, and nothing is copied for them.
pub(crate) struct Asked<'a> {
    pub problem: &'a Problem,
    /// Options and parameters, as completed from the data.
    pub params: &'a Params,
    /// Dimensions of the periodic box.
    pub box_dims: Option<usize>,
    pub data: &'a Data,
    pub holes: Holes,
    /// The metrics whose preparation was done. It follows from the problem, so the question does
    /// not hold it.
    pub prepared: PreparedMetrics,
}

/// Everything that a meaning depends on.
///
/// It is compared field by field instead of hashed. If a field were forgotten here, two different
/// problems could get one formula, so a new input of `Meaning` must be added here, in
/// [`Self::from_asked`] and in [`Self::is`].
#[derive(Debug)]
struct Question {
    pair: PairSpec,
    /// As completed from the data.
    params: Params,
    /// With their formulas, since these become roots.
    folds: Vec<FoldSpec>,
    param: Option<ParamAxis>,
    cutoff: Option<f64>,
    /// Dimensions of the periodic box.
    box_dims: Option<usize>,
    cols: [usize; 2],
    names: [Option<Vec<String>>; 2],
    /// Columns of text.
    texts: [Vec<usize>; 2],
    /// Weights that are missing, where pairs with such are left out.
    holes: Holes,
}

impl Question {
    /// Copies what the meaning depends on. Only a question that is kept is copied; one that is
    /// found is compared where it lies.
    fn from_asked(asked: &Asked<'_>) -> Self {
        let Asked {
            problem,
            params,
            box_dims,
            data,
            holes,
            ..
        } = *asked;
        Question {
            pair: problem.pair.clone(),
            params: params.clone(),
            folds: problem.folds.clone(),
            param: problem.param.clone(),
            cutoff: problem.cutoff,
            box_dims,
            cols: data.cols(),
            names: data.names().map(|names| names.map(<[String]>::to_vec)),
            texts: data.texts().map(<[usize]>::to_vec),
            holes,
        }
    }
    /// Returns whether this is the question of `asked`. Cheap comparisons come first.
    fn is(&self, asked: &Asked<'_>) -> bool {
        let Asked {
            problem,
            params,
            box_dims,
            data,
            holes,
            ..
        } = *asked;
        // Names last: comparing thousands of them costs most.
        let [a, b] = data.names();
        self.cols == data.cols()
            && self.box_dims == box_dims
            && self.holes == holes
            && data
                .texts()
                .into_iter()
                .eq(self.texts.iter().map(Vec::as_slice))
            && self.cutoff == problem.cutoff
            && self.pair == problem.pair
            && self.folds == problem.folds
            && same_values(self.param.as_ref(), problem.param.as_ref())
            && same(&self.params, params)
            && self.names[0].as_deref() == a
            && self.names[1].as_deref() == b
    }
}

/// Returns whether options are the same to the bit: −0 and 0 are two options, and NaN equals
/// itself.
///
/// By value 0 == −0, but 1/0 and 1/−0 differ, so a formula kept for one would be wrong for the
/// other.
fn same(a: &Params, b: &Params) -> bool {
    // 0 == −0 by value, but 1/0 and 1/−0 differ, so a cached formula would be wrong.
    let bits = |a: &f64, b: &f64| a.to_bits() == b.to_bits();
    let param = |a: &Param, b: &Param| match (a, b) {
        (Param::Number(a), Param::Number(b)) => bits(a, b),
        (Param::Vector(a), Param::Vector(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| bits(a, b))
        }
        (Param::Word(a), Param::Word(b)) => a == b,
        _ => false,
    };
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|((k, a), (l, b))| k == l && param(a, b))
}

/// Returns whether two axes have the same name and the same values to the bit.
fn same_values(a: Option<&ParamAxis>, b: Option<&ParamAxis>) -> bool {
    let bits = |axis: &ParamAxis| -> Vec<u64> { axis.values.iter().map(|v| v.to_bits()).collect() };
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.name == b.name && bits(a) == bits(b),
        _ => false,
    }
}

/// Returns the meaning of a problem over rows like those of its data.
///
/// # Errors
/// `Request` for formulas, options and folds that mean nothing, `Input` where the two inputs do not
/// fit each other.
pub(crate) fn meaning(asked: &Asked<'_>) -> Result<Arc<Meaning>> {
    // A fork may have copied the lock in its locked state, and nobody in the child would ever
    // unlock it.
    let mut latest = match LATEST.try_lock() {
        Ok(latest) => latest,
        Err(TryLockError::Poisoned(latest)) => latest.into_inner(),
        Err(TryLockError::WouldBlock) => return fresh(asked).map(Arc::new),
    };
    // From the end: the question asked last is asked again most often. The hit moves to the end.
    if let Some(at) = latest.iter().rposition(|(q, _)| q.is(asked)) {
        latest[at..].rotate_left(1);
        return Ok(latest[latest.len() - 1].1.clone());
    }
    // Errors are not kept: a wrong request is rarely repeated.
    let made = Arc::new(fresh(asked)?);
    // A formula with a long parameter vector would make every comparison slow.
    if size(asked) <= LARGE {
        if latest.len() == KEPT {
            latest.remove(0);
        }
        latest.push((Question::from_asked(asked), made.clone()));
    }
    Ok(made)
}

/// Makes a meaning.
///
/// The order matters. Folds add their roots before the formula is rewritten for a box, which must
/// see every root, and lowering comes last.
fn fresh(asked: &Asked<'_>) -> Result<Meaning> {
    let Asked {
        problem,
        box_dims,
        data,
        holes,
        ..
    } = *asked;
    let mut formula = Formula::new();
    let folds = folds(&mut formula, asked)?;
    let cutoff_root = problem
        .cutoff
        .map(|cutoff| cutoff_root(&mut formula, cutoff))
        .transpose()?;
    holes.mark(&mut formula)?;
    let texts = Texts {
        columns: data.texts(),
        cols: data.cols(),
        names: data.names(),
    };
    // Before the rewriting, while nodes are still as the user wrote them.
    texts.check(&formula)?;
    if let Some(dims) = box_dims.filter(|dims| *dims == data.x.cols()) {
        formula = by_images(&formula, dims)?;
    }
    check_box(box_dims, &formula, data)?;
    check_components(&formula, data, box_dims.is_some())?;
    let low = Arc::new(Lowered::new(&formula, data.x.cols(), box_dims.is_some())?);
    let symmetric = are_symmetric(&formula, &formula.roots);
    // The root that marks rows without weight is the last one.
    let weighed = &formula.roots[..formula.roots.len() - usize::from(holes.any())];
    let weighed_symmetric = symmetric || are_symmetric(&formula, weighed);
    Ok(Meaning {
        low,
        first: first_value(asked)?,
        folds,
        cutoff_root,
        symmetric,
        weighed_symmetric,
    })
}

/// Adds the roots of the folds to `formula`, and returns the folds: those of the first value of a
/// parameter, then those of the second.
///
/// The roots share the nodes that depend on no value, so these are computed once for a pair.
fn folds(formula: &mut Formula, asked: &Asked<'_>) -> Result<Vec<Fold>> {
    let (problem, data) = (asked.problem, asked.data);
    problem.check_param(data.names())?;
    let mut folds = vec![];
    for at in 0..problem.questions() {
        folds.extend(folds_of_value(formula, asked, at)?);
    }
    Ok(folds)
}

/// Returns the lowered formula of the first value of a parameter, as a question of its own has it;
/// none without such a parameter.
fn first_value(asked: &Asked<'_>) -> Result<Option<Arc<Lowered>>> {
    let problem = asked.problem;
    let Some(axis) = &problem.param else {
        return Ok(None);
    };
    let mut params = asked.params.clone();
    params.insert(axis.name.clone(), Param::Number(axis.values[0]));
    let alone = Asked {
        problem: &problem.with_value(0),
        params: &params,
        prepared: asked.prepared.clone(),
        ..*asked
    };
    Ok(Some(fresh(&alone)?.low))
}

/// Adds the roots of value `at` of a parameter, and returns its folds.
fn folds_of_value(formula: &mut Formula, asked: &Asked<'_>, at: usize) -> Result<Vec<Fold>> {
    let (data, problem) = (asked.data, asked.problem);
    let alone = problem.param.as_ref().map(|_| problem.with_value(at));
    let alone = alone.as_ref().unwrap_or(problem);
    let mut params = asked.params.clone();
    if let Some(axis) = &problem.param {
        params.insert(axis.name.clone(), Param::Number(axis.values[at]));
    }
    let mut scope = Scope {
        params,
        columns: data.names(),
        dim: Some(data.widest()),
        cols: Some(data.cols()),
        value: 0,
        prepared: asked.prepared.clone(),
    };
    let value = pair_value(formula, alone, &scope, data)?;
    scope.value = add_root(formula, value);
    // Only a named metric says that large values are near; of a formula nobody knows.
    let metric = problem.pair.metric.as_deref().and_then(named::find);
    let similarity = metric.is_some_and(|m| m.similarity);
    let mut roots = Roots::new(formula, &scope, data.x.cols(), similarity);
    let folds = problem.folds.iter().map(|spec| spec.resolve(&mut roots));
    folds.collect()
}

/// Returns the numbers and letters of a question, and of what its folds are resolved to. The sum
/// saturates: a request may name 2⁶³ bins.
fn size(
    Asked {
        problem,
        params,
        data,
        ..
    }: &Asked<'_>,
) -> usize {
    let text = |t: &Option<String>| t.as_ref().map_or(0, String::len);
    let numbers = |p: &Param| if let Param::Vector(v) = p { v.len() } else { 1 };
    let fold = |f: &FoldSpec| {
        let wants = f.wants();
        let letters = wants.formulas.iter().map(|text| text.len());
        letters.fold(wants.parts, usize::saturating_add)
    };
    let names = data
        .names()
        .into_iter()
        .flatten()
        .flatten()
        .map(String::len);
    let params = problem
        .pair
        .params
        .values()
        .chain(params.values())
        .map(numbers);
    let parts = problem.folds.iter().map(fold).chain(params).chain(names);
    parts.fold(text(&problem.pair.formula), usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::describe;
    use crate::problem::{Input, NanPolicy};
    use crate::table::Table;

    fn problem(formula: &str, params: &[(&str, f64)]) -> Problem {
        let params = params
            .iter()
            .map(|(k, v)| ((*k).to_string(), Param::Number(*v)))
            .collect();
        Problem {
            nan: NanPolicy::Propagate,
            ..Problem::new(
                Input::named("x"),
                PairSpec {
                    metric: None,
                    formula: Some(formula.into()),
                    params,
                },
                vec![FoldSpec::Matrix {}],
            )
        }
    }

    fn low(problem: &Problem, cols: usize) -> Arc<Lowered> {
        let x = Table::f64(2, cols, vec![1.0; 2 * cols]).unwrap();
        describe(
            problem,
            Data {
                pairs: None,
                x,
                y: None,
                weights: vec![None],
            },
        )
        .unwrap()
        .low
    }

    #[test]
    fn a_question_asked_again_is_not_parsed_again() {
        let asked = problem("sum(abs(x - y)) * kept_h", &[("kept_h", 2.0)]);
        assert!(Arc::ptr_eq(&low(&asked, 3), &low(&asked, 3)));
        // Another number of components, another value, another sign of zero: other questions.
        assert!(!Arc::ptr_eq(&low(&asked, 3), &low(&asked, 4)));
        let other = problem("sum(abs(x - y)) * kept_h", &[("kept_h", 0.0)]);
        let negative = problem("sum(abs(x - y)) * kept_h", &[("kept_h", -0.0)]);
        assert!(!Arc::ptr_eq(&low(&asked, 3), &low(&other, 3)));
        assert!(!Arc::ptr_eq(&low(&other, 3), &low(&negative, 3)));
    }

    #[test]
    fn only_the_latest_are_kept() {
        let asked = problem("sum(x * y) + 0.125", &[]);
        let first = low(&asked, 2);
        for k in 0..=KEPT {
            low(&problem(&format!("sum(x * y) + 0.125 + {k}"), &[]), 2);
        }
        assert!(!Arc::ptr_eq(&first, &low(&asked, 2)));
        assert!(LATEST.lock().unwrap().len() <= KEPT);
    }
}
