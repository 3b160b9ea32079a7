//! What a device reaches: the ceilings of the models, measured.

use crate::emit::{fill, header, type_name};
use crate::runtime::{Arg, Device, Grid, Kernel};
use std::time::Instant;
use zipfold_core::{Error, Precision, Result};

/// Rates of one device and type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ceilings {
    /// Operations a second; two for a multiply-add.
    pub operations: f64,
    /// Operands a second from shared memory.
    pub operands: f64,
    /// Bytes a second from and to memory, both counted.
    pub memory: f64,
    /// Bytes a second from and to the cache that all thread blocks share.
    pub shared: f64,
    /// Seconds to start a kernel and to learn that it ended.
    pub start: f64,
}

/// Threads of a thread block.
const THREADS: usize = 256;
/// Seconds that a measurement takes at least, so that its start does not count.
const LEAST: f64 = 4e-3;
/// Starts of which the fastest counts.
const STARTS: usize = 20;
/// Bytes of a table that the shared cache holds.
const CACHED: usize = 8 << 20;

/// Measures them.
///
/// # Errors
/// `Resource` when the device has no room for a copy, `Device` when it fails.
pub fn measure(device: &Device, precision: Precision) -> Result<Ceilings> {
    let names = ["zf_operations", "zf_operands", "zf_copy"];
    let fragment = include_str!("kernels/ceilings.c");
    let text = fill(fragment, &[("T", type_name(precision).into())]);
    let kernels = device.compile(&(header(device.facts.runtime) + &text), &names)?;
    let [operations, operands, copy] = &kernels[..] else {
        return Err(Error::internal("a program without its kernels"));
    };
    let blocks = 8 * device.facts.units;
    let grid = Grid {
        x: blocks as u32,
        y: 1,
        threads: THREADS as u32,
    };
    let bytes = precision.bytes();
    let out = device.allocate(blocks * THREADS * bytes)?;
    let of = |kernel: &Kernel, each: f64| -> Result<f64> {
        let run = |turns: f64| device.launch(kernel, grid, &[Arg::Memory(&out), Arg::F64(turns)]);
        Ok(each * (blocks * THREADS) as f64 * rate(device, &run)?)
    };
    let moved = |size: usize| -> Result<f64> {
        let entries = (size / bytes) as f64;
        let [from, to] = [device.allocate(size)?, device.allocate(size)?];
        device.clear(&from)?;
        let run = |turns: f64| {
            let memory = [Arg::Memory(&from), Arg::Memory(&to)];
            device.launch(
                copy,
                grid,
                &[memory[0], memory[1], Arg::F64(turns), Arg::F64(entries)],
            )
        };
        Ok(2.0 * size as f64 * rate(device, &run)?)
    };
    let large = if device.facts.host { 32 << 20 } else { 1 << 30 };
    let room = device.facts.largest.min(device.facts.memory / 4) as usize;
    // A power of two, as the kernel wants it.
    let large = large.min(1usize << room.max(CACHED).ilog2());
    Ok(Ceilings {
        operations: of(operations, 16.0)?,
        operands: of(operands, 32.0)?,
        memory: moved(large)?,
        shared: moved(CACHED)?,
        start: start(device, &|| {
            device.launch(operations, grid, &[Arg::Memory(&out), Arg::F64(0.0)])
        })?,
    })
}

/// Seconds of a kernel without work and the wait for it, the least of some.
fn start(device: &Device, run: &dyn Fn() -> Result<()>) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..STARTS {
        let begin = Instant::now();
        run()?;
        device.finish()?;
        least = least.min(begin.elapsed().as_secs_f64());
    }
    Ok(least)
}

/// Turns a second of `run`: the best of three, after so many that its start does not count.
fn rate(device: &Device, run: &dyn Fn(f64) -> Result<()>) -> Result<f64> {
    let timed = |turns: f64| -> Result<f64> {
        let start = Instant::now();
        run(turns)?;
        device.finish()?;
        Ok(start.elapsed().as_secs_f64())
    };
    let mut turns = 1.0;
    timed(turns)?;
    while timed(turns)? < LEAST && turns < 1e9 {
        turns *= 4.0;
    }
    let mut best = timed(turns)?;
    for _ in 0..2 {
        best = best.min(timed(turns)?);
    }
    Ok(turns / best)
}
