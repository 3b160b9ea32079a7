//! Chooses the kernel family of a job on a CPU: which kind of kernel evaluates pairs.
//!
//! A family is a coarse word that users may set; the strategies of the plan follow from it. The
//! choice is a short decision tree on the form of the question:
//!
//! ```text
//! one histogram of Euclidean distances in 1–4 numbers  → points
//! f32 rows, long, and a fold that keeps few values     → filter
//! all reductions recognised, rows of 16 or more        → dense
//! otherwise, if code can be generated                  → jit, else vm
//! ```
//!
//! In double precision every family has the bits of the reference, so the choice changes no answer.

use crate::filter::{Form, LONG};
use crate::machine::{Isa, Machine};
use crate::overrides::{Family, Overrides};
use zipfold_core::pair::tree::{ComponentReduce, Node};
use zipfold_core::{Error, Job, Message, Opt, Precision, Result};

/// Components of all vectors together that generated code can address: its offsets have 31 bits,
/// and must reach a block of columns, or a tile of 8 rows, of that many components. 2¹⁹ components
/// of 128 columns and 8 bytes are 2²⁹ bytes, a quarter of what 31 bits reach.
const REACH: usize = 1 << 19;

/// Returns what the CPU will use, and pushes the reasons.
///
/// # Errors
/// `Request` for a family that cannot compute `job`.
pub fn choose(
    job: &Job,
    machine: &Machine,
    isa: Isa,
    precision: Precision,
    overrides: &Overrides,
    reasons: &mut Vec<Message>,
) -> Result<Family> {
    let hindrance = hindrance(job, machine, isa, precision);
    let filter = Form::for_job(job);
    match (overrides.family, hindrance) {
        (Some(Family::Jit), Some(why)) => {
            return Err(refused(format!(
                "no code can be made for this formula: {why}"
            )));
        }
        (Some(Family::Filter), _) if filter.is_none() => {
            return Err(refused(
                "single precision cannot filter this: its values, folds or rows are not of the kind",
            ));
        }
        // Other families of the user's are tried; if one does not load, the run takes the next
        // strategy.
        (Some(family), _) => return Ok(family),
        (None, _) => {}
    }
    // Without vectors single precision gains nothing, and filtering would only add work.
    if filter.is_some() && isa > Isa::Scalar {
        reasons.push("single precision decides about most pairs, double precision about those near the bound".into());
        return Ok(Family::Filter);
    }
    let mut reduces = job.low.stages.iter().flat_map(|s| &s.reduces).peekable();
    let some = reduces.peek().is_some();
    let known: Vec<bool> = reduces.map(|r| job.low.reduction(*r).is_some()).collect();
    let long = some && job.low.dim >= LONG;
    let family = match hindrance {
        _ if crate::points::apply(job) => Family::Points,
        None if long && known.iter().all(|k| *k) => Family::Dense,
        None => Family::Jit,
        // Without generated code one packed reduction already saves most of the steps.
        Some(_) if long && known.iter().any(|k| *k) => Family::Dense,
        Some(why) => {
            reasons.push(format!("step by step: {why}").into());
            Family::Vm
        }
    };
    Ok(family)
}

/// Returns the refusal of a family that the user chose.
fn refused(why: impl Into<Message>) -> Error {
    Error::request(why)
        .at_place(Opt::Set.like("family"))
        .remedy("leave the choice to the planner")
}

/// Returns why no code can be generated for the formula, if so.
///
/// The texts are clauses that follow a colon in messages.
pub(crate) fn hindrance(
    job: &Job,
    machine: &Machine,
    isa: Isa,
    precision: Precision,
) -> Option<&'static str> {
    let node = |id| job.low.formula.node(id);
    let wide = |id| {
        matches!(
            node(id),
            Node::UserReduce { .. } | Node::Reduce(ComponentReduce::Prod, _)
        )
    };
    let reduces = || job.low.stages.iter().flat_map(|s| &s.reduces);
    if !isa.is_generated() {
        return Some("code is made for AVX2 and AVX-512");
    }
    // Some systems forbid pages that were written to be executed.
    if !machine.executable {
        return Some("the system executes nothing that was written");
    }
    let low = &job.low;
    let vectors = low.row_vectors[0].len()
        + low.row_vectors[1].len()
        + low.constants.len()
        + low.formula.roots.len();
    if vectors.saturating_mul(low.dim) > REACH {
        return Some("its rows are too long for the offsets of an address");
    }
    let single = precision == Precision::F32 && reduces().any(|r| wide(*r));
    single.then_some("products and operators of users are accumulated in double precision")
}
