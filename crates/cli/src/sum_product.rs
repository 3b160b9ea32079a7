//! `zipfold bench sum-product`: the experiments of the sum-product paper (Silberstein et al. 2008)
//! on this machine, by sections.
//!
//! * `buckets`: random buckets of values and of logarithms on one core, on all cores and on the
//!   device (figures 5 and 6)
//! * `cache`: the paged kernel by bytes of its cache and pages of a thread block (figure 7)
//! * `unrolling`: the same by unrolled steps (figure 8)
//! * `hardware`: its cache against the caches of the hardware alone (figure 9)
//! * `overheads`: planning, compilation, copies (figure 10)
//! * `kernels`: every kernel that single joins of the buckets, and of networks given as files, could
//!   take, with its prediction; not among the sections that run when none is named
//! * `networks`: real networks, given as files (section 7.2)
//! * `list`: nothing is measured; the random buckets as JSON lines (`dom`, `scopes`, `summed`,
//!   `flop`), so that other programs measure the same ones

mod draw;
mod host;
mod kernels;
mod networks;
mod rows;
mod sections;
mod summary;
mod there;

use crate::args::BenchArgs;
use crate::problem_from_args;
use crate::terminal::print_line;
use draw::{BucketDefinition, RandomBucket};
use rows::{Cell, Printer, Row};
use sections::Bench;
use std::time::Instant;
use zipfold::internals::core::{Budget, Error, Precision, Result};
use zipfold::internals::device::DeviceSelector;
use zipfold::internals::io::guard::Source;
use zipfold::internals::product::cpu::Contracted;

/// The definition built in.
const BUILT_IN: &str = include_str!("../../../bench/definitions/random-buckets.toml");
/// Bytes of a definition at most.
const LONGEST: u64 = 1 << 20;
/// The sections that there are.
const SECTIONS: [&str; 7] = [
    "buckets",
    "cache",
    "unrolling",
    "hardware",
    "overheads",
    KERNELS,
    "networks",
];
/// The section that runs only by its name: it takes longer than the others together.
const KERNELS: &str = "kernels";

/// Runs the sections that are asked for, and prints a table of all of them last.
///
/// # Errors
/// `Request` for sections that do not exist; those of reading and of devices.
pub(crate) fn run(args: &BenchArgs) -> Result<()> {
    let wanted = &args.names[1..];
    if let [only] = wanted
        && only == "list"
    {
        let drawn = definition(args)?.draw()?;
        return drawn.iter().try_for_each(|one| print_line(&one.line()));
    }
    check(wanted)?;
    let definition = definition(args)?;
    let printer = Printer { json: args.json };
    let buckets = definition.draw()?;
    let mut all: Vec<(&'static str, Row)> = Vec::new();
    let device = DeviceSelector::parse(&args.device)?;
    let begin = Instant::now();
    let asked =
        |name: &str| wanted.is_empty() && name != KERNELS || wanted.iter().any(|w| w == name);
    let mut sections = SECTIONS.to_vec();
    sections.retain(|s| asked(s) && *s != "networks");
    if !sections.is_empty() {
        precision::<f32>(args, device, (&sections, &buckets), begin, &mut all)?;
        precision::<f64>(args, device, (&sections, &buckets), begin, &mut all)?;
    }
    if asked("networks") {
        for path in &args.network {
            let row = networks::measure(path, device, &problem_from_args::overrides(&args.set)?)?;
            printer.row("networks", &row)?;
            all.push(("networks", row));
        }
    }
    summary::print(printer, &all, begin.elapsed().as_secs_f64())
}

/// Refuses a section that does not exist.
fn check(wanted: &[String]) -> Result<()> {
    let odd = wanted.iter().find(|name| !SECTIONS.contains(&&name[..]));
    odd.map_or(Ok(()), |odd| {
        let e = Error::request(format!("no section '{odd}'")).at_place("bench sum-product");
        Err(e.remedy(format!("list alone, or some of {}", SECTIONS.join(", "))))
    })
}

fn definition(args: &BenchArgs) -> Result<BucketDefinition> {
    let (text, name) = match &args.definition {
        None => (BUILT_IN.to_string(), "the definition built in".to_string()),
        Some(path) => {
            let budget = Budget::new(zipfold::internals::io::memory::usual());
            let text = Source::open(path, &budget)?.whole_text(LONGEST, &budget)?;
            (text.as_str().to_string(), path.display().to_string())
        }
    };
    let mut definition: BucketDefinition = toml::from_str(&text)
        .map_err(|e| Error::input(e.message().to_string()).at_place(name.clone()))?;
    if let Some(buckets) = args.buckets {
        definition.buckets = buckets;
    }
    if let Some(most) = args.operations {
        definition.operations[1] = most;
    }
    definition.check().map_err(|e| e.at_least(name))?;
    Ok(definition)
}

/// All sections in one precision. A device without it leaves it to the processor.
fn precision<T: Contracted>(
    args: &BenchArgs,
    device: DeviceSelector,
    (sections, buckets): (&[&'static str], &[RandomBucket]),
    begin: Instant,
    all: &mut Vec<(&'static str, Row)>,
) -> Result<()> {
    let printer = Printer { json: args.json };
    let bench = Bench::<T>::new(
        args.threads,
        device,
        &problem_from_args::overrides(&args.set)?,
    )?;
    let ceilings = bench.ceilings();
    printer.row("ceilings", &ceilings)?;
    all.push(("ceilings", ceilings));
    // The second precision has what the first one leaves.
    let share = if T::PRECISION == Precision::F32 {
        0.5
    } else {
        1.0
    };
    let over = || begin.elapsed().as_secs_f64() > share * args.limit;
    for section in sections {
        if *section == KERNELS {
            bench.kernels((buckets, &args.network), &over, &mut |row| {
                printer.row(section, &row)?;
                all.push((section, row));
                Ok(())
            })?;
            continue;
        }
        let chosen = sections::chosen(section, buckets);
        let mut left_out = 0;
        for drawn in &chosen {
            if over() {
                left_out += 1;
                continue;
            }
            for row in bench.rows(section, drawn)? {
                printer.row(section, &row)?;
                all.push((section, row));
            }
        }
        if left_out > 0 {
            printer.row(section, &left_out_row(bench.name(), left_out))?;
        }
    }
    Ok(())
}

/// Says how many buckets the time limit left out.
fn left_out_row(precision: &str, buckets: u32) -> Row {
    vec![
        ("type", Cell::Text(precision.into())),
        (
            "left out for the time limit",
            Cell::Number(f64::from(buckets)),
        ),
    ]
}
