//! `dist --pair-source`: the matrix of a function given as C source, by a device.

use crate::args::Dist;
use crate::commands;
use zipfold::internals::device::{DeviceSelector, required};
use zipfold::internals::io::{NpyFile, OutputOptions};
use zipfold::{Error, Result};

/// The longest source of a function.
const LONGEST: u64 = 1 << 20;

/// Writes the matrix of all pairs to an `.npy` file.
pub(crate) fn dist(args: &Dist) -> Result<()> {
    let Some(file) = &args.pair_source else {
        return Ok(());
    };
    let path = output(args)?;
    let text = zipfold::internals::io::guard::Source::open(file, &commands::budget(&args.run)?)?;
    let function = text.whole_text(LONGEST, &commands::budget(&args.run)?)?;
    let device = required(DeviceSelector::parse(&args.run.device)?)?;
    let (x, y) = commands::tables(&args.pair, &args.run)?;
    let y = y.as_ref().unwrap_or(&x);
    let options = OutputOptions {
        force: args.run.force,
        durable: args.run.durable,
    };
    let out = NpyFile::create::<f64>(path, &[x.rows(), y.rows()], options)?;
    let m = y.rows() as u64;
    zipfold::internals::gpu::skeleton::matrix(
        &device,
        function.as_str(),
        &x,
        y,
        &mut |row, values| out.write(row as u64 * m, values),
    )?;
    out.publish()?;
    if !args.run.quiet {
        crate::terminal::say(&format!("wrote {path}"));
    }
    Ok(())
}

/// The file that the matrix goes to, where the run of the source is allowed.
fn output(args: &Dist) -> Result<&str> {
    if !args.run_code {
        let e = Error::request("a pair source is code that would run on this machine")
            .at_place("--pair-source");
        return Err(
            e.remedy("add --run-code if you trust it, or write the pair as a formula: --pair")
        );
    }
    let path = args.run.output.as_deref();
    path.filter(|p| p.ends_with(".npy")).ok_or_else(|| {
        let e = Error::request("the matrix of a pair source goes to an .npy file").at_place("-o");
        e.remedy("-o d.npy")
    })
}
