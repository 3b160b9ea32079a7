//! A problem asked of the oracle and of the engine in all its ways, whose answers must have the
//! same bits.

use crate::compare::{Numbers, difference, same};
use crate::runner::{Variant, chosen, isas, numbers, on_engine};
use crate::specification;
use zipfold::internals::ranges::with_ranges;
use zipfold_core::{Data, Error, Precision, Problem, describe, oracle};

/// The ways of the engine: with bounds and without, by the planner's evaluator and step by step.
fn ways(prunable: bool) -> Vec<Variant> {
    let always: [&[(&str, &str)]; 2] = [&[], &[("family", "vm")]];
    let pruned: [&[(&str, &str)]; 2] =
        [&[("prune", "on")], &[("column_grid", "2"), ("prune", "on")]];
    let pruned = pruned.into_iter().filter(|_| prunable);
    let ways = always.into_iter().chain(pruned);
    ways.map(|choices| Variant {
        isa: isas()[isas().len() - 1],
        threads: 2,
        tile: 128,
        overrides: chosen(choices.iter().copied()),
    })
    .collect()
}

/// The numbers of every fold.
///
/// # Errors
/// Those of the description.
///
/// # Panics
/// Where two ways give different bits.
pub fn everywhere(problem: &Problem, data: &Data) -> Result<Vec<Numbers>, Error> {
    let problem = Problem {
        precision: Some(Precision::F64),
        ..problem.clone()
    };
    let problem = with_ranges(
        &problem,
        data,
        &zipfold::Options {
            threads: 1,
            ..Default::default()
        },
    )?
    .into_owned();
    let job = describe(&problem, data.clone())?;
    let wanted = numbers(&job, &oracle::run(&job)?);
    let odd = specification::differences(&job, &wanted);
    assert!(odd.is_empty(), "{}", odd.join("\n"));
    let prunable = zipfold::internals::plan::prune::mode(&job).is_some();
    for variant in ways(prunable) {
        let got = on_engine(&problem, &job, &variant)?;
        for (fold, (got, wanted)) in got.iter().zip(&wanted).enumerate() {
            let odd = difference(got, wanted, same);
            assert!(
                odd.is_none(),
                "{problem:?} {} fold {fold}: {}",
                variant.overrides,
                odd.unwrap_or_default()
            );
        }
    }
    Ok(wanted)
}
