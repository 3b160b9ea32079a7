//! The kernel family of a job on a CPU.

use crate::choose::Settings;
use crate::machine::{Isa, Machine};
use crate::screen::Form;
use zipfold_core::pair::tree::{Node, Reduce};
use zipfold_core::{Error, Job, Precision, Result};

/// The families; the last belongs to devices.
const FAMILIES: [&str; 6] = ["points", "screen", "dense", "jit", "vm", "values"];

/// Components from which packed rows and their kernels pay.
const LONG: usize = 16;

/// Components of all vectors together that offsets of 31 bits reach, a block or a tile of 8 rows of them.
const REACH: usize = 1 << 19;

/// What the CPU backend will use: a sweep for plain histograms of distances, single precision that screens where few pairs
/// matter, blocks of packed rows where the kernels know
/// every reduction of long rows, else code made for the formula; step by step where code cannot be made.
///
/// # Errors
/// `Request` for a family that does not exist.
pub fn choose(
    job: &Job,
    machine: &Machine,
    isa: Isa,
    precision: Precision,
    settings: &Settings,
    reasons: &mut Vec<String>,
) -> Result<String> {
    let hindrance = hindrance(job, machine, isa, precision);
    let screen = Form::of(job);
    if let Some(name) = settings.get("family") {
        if !FAMILIES.contains(&name.as_str()) {
            let e = Error::request(format!("no kernel family '{name}'")).at("--set family");
            return Err(e.remedy(FAMILIES.join(", ")));
        }
        if name == "jit"
            && let Some(why) = hindrance
        {
            let e = Error::request(format!("no code can be made for this formula: {why}")).at("--set family");
            return Err(e.remedy("leave the choice to the planner"));
        }
        if name == "screen" && screen.is_none() {
            let e =
                Error::request("single precision cannot screen this: its values, folds or rows are not of the kind");
            return Err(e.at("--set family").remedy("leave the choice to the planner"));
        }
        return Ok(name.clone());
    }
    if screen.is_some() && isa > Isa::Scalar {
        reasons.push("single precision decides about most pairs, double precision about those near the bound".into());
        return Ok("screen".into());
    }
    let mut reduces = job.low.stages.iter().flat_map(|s| &s.reduces).peekable();
    let some = reduces.peek().is_some();
    let known: Vec<bool> = reduces.map(|r| job.low.zip_form(*r).is_some()).collect();
    let long = some && job.low.dim >= LONG;
    let family = match hindrance {
        _ if crate::points::apply(job) => "points",
        None if long && known.iter().all(|k| *k) => "dense",
        None => "jit",
        Some(_) if long && known.iter().any(|k| *k) => "dense",
        Some(why) => {
            reasons.push(format!("step by step: {why}"));
            "vm"
        }
    };
    Ok(family.into())
}

/// What stands against code made for the formula.
fn hindrance(job: &Job, machine: &Machine, isa: Isa, precision: Precision) -> Option<&'static str> {
    let node = |id| job.low.formula.node(id);
    let wide = |id| matches!(node(id), Node::UserReduce { .. } | Node::Reduce(Reduce::Prod, _));
    let reduces = || job.low.stages.iter().flat_map(|s| &s.reduces);
    if !isa.is_generated() {
        return Some("code is made for AVX2 and AVX-512");
    }
    if !machine.executable {
        return Some("the system executes nothing that was written");
    }
    let low = &job.low;
    let vectors = low.streams[0].len() + low.streams[1].len() + low.constants.len() + low.formula.roots.len();
    if vectors.saturating_mul(low.dim) > REACH {
        return Some("its rows are too long for the offsets of an address");
    }
    let single = precision == Precision::F32 && reduces().any(|r| wide(*r));
    single.then_some("products and operators of users are accumulated in double precision")
}
