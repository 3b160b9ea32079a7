//! A problem asked of the oracle and of the engine in all its ways, whose answers must have the
//! same bits.

use crate::compare::{Numbers, difference, same};
use crate::runner::{Variant, chosen, isas, numbers, on_engine};
use crate::specification;
use zipfold::internals::ranges::with_ranges;
use zipfold_core::{Data, Error, Precision, Problem, describe, oracle};

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
    let isa = isas()[isas().len() - 1];
    let prunable = zipfold::internals::plan::prune::mode(&job).is_some();
    let ways = [
        ("", ""),
        ("family", "vm"),
        ("prune", "on"),
        ("column_grid", "2"),
    ];
    for (key, value) in ways
        .into_iter()
        .filter(|(key, _)| prunable || !matches!(*key, "prune" | "column_grid"))
    {
        let made: &[_] = match key {
            "" => &[],
            "column_grid" => &[(key, value), ("prune", "on")],
            _ => &[(key, value)],
        };
        let overrides = chosen(made.iter().copied());
        let got = on_engine(
            &problem,
            &job,
            &Variant {
                isa,
                threads: 2,
                tile: 128,
                overrides: overrides.clone(),
            },
        )?;
        for (fold, (got, wanted)) in got.iter().zip(&wanted).enumerate() {
            let odd = difference(got, wanted, same);
            assert!(
                odd.is_none(),
                "{problem:?} {overrides} fold {fold}: {}",
                odd.unwrap_or_default()
            );
        }
    }
    Ok(wanted)
}
