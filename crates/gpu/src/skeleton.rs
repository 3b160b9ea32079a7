//! The generic skeleton (Steuwer, Friese, Albers & Gorlatch 2013, section 3.1): a pair function
//! given as C source, for any function of two rows. Correct for all, fast for few: the compiler
//! sees no structure to reuse.

use crate::emit::header;
use crate::runtime::{Arg, Device, Grid};
use zipfold_core::{Error, Opt, Result, Table};

/// Threads of a block.
const THREADS: u32 = 128;
/// Most components of a row: each thread holds two rows.
const MOST: usize = 1024;
/// Bytes of values brought home at a time.
const AT_A_TIME: usize = 256 << 20;

/// A pair source has no lines for the preprocessor, in any of C's spellings: they could bring in
/// files of this machine.
fn without_directives(function: &str) -> Result<()> {
    let Some(found) = ["#", "%:", "??="]
        .iter()
        .find_map(|mark| function.find(mark))
    else {
        return Ok(());
    };
    let line = 1 + function[..found].matches('\n').count();
    let e = Error::request("expected plain C, got a line for the preprocessor")
        .at_place(format!("{}, line {line}", Opt::PairSource));
    Err(e.remedy("write constants and helpers as 'static' functions, without #include and #define"))
}

/// The kernel around `function`, which defines `double pair(const double *x, const double *y, int
/// d)`.
pub fn source(device: &Device, function: &str, cols: [usize; 2]) -> String {
    let kernel = format!(
        "ZF_KERNEL void zf_skeleton(ZF_IN(double) x, ZF_IN(double) y, ZF_OUT(double) out, zf_u32 row0, zf_u32 rows, zf_u32 m)\n{{\n    \
         const zf_u32 j = ZF_GROUP_X * {THREADS}u + ZF_TID;\n    if (j >= m) return;\n    \
         double mine[{a}], other[{b}];\n    \
         for (int k = 0; k < {cb}; k++) other[k] = y[(size_t)j * {cb}u + k];\n    \
         for (zf_u32 r = ZF_GROUP_Y; r < rows; r += ZF_GROUPS_Y) {{\n        \
         for (int k = 0; k < {ca}; k++) mine[k] = x[(size_t)(row0 + r) * {ca}u + k];\n        \
         out[(size_t)r * m + j] = pair(mine, other, {ca});\n    }}\n}}\n",
        a = cols[0].max(1),
        b = cols[1].max(1),
        ca = cols[0],
        cb = cols[1],
    );
    format!(
        "{}\n#line 1 \"pair source\"\n{function}\n{kernel}",
        header(device.facts.runtime)
    )
}

fn too_wide(components: usize) -> Error {
    Error::request(format!("rows of {components} components for a pair source"))
        .at_place(Opt::PairSource)
        .limit(format!("{MOST} components"))
        .remedy(format!("write the pair as a formula: {}", Opt::Pair))
}

/// What a compiler says of the kernel, as an error of the pair source.
fn of_source(e: Error) -> Error {
    let what = e.what().marked();
    if !what.contains("a generated kernel") {
        return e;
    }
    Error::request(what.replace("a generated kernel", "the pair source"))
        .at_place(Opt::PairSource)
        .remedy("define 'double pair(const double *x, const double *y, int d)' in plain C")
}

/// The matrix of `function` over all rows of `x` and `y`, row-major, handed to `put` some rows at a
/// time.
///
/// # Errors
/// `Request` when the function does not compile, with the compiler's words; those of the device.
pub fn matrix(
    device: &Device,
    function: &str,
    x: &Table,
    y: &Table,
    put: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
) -> Result<()> {
    let (n, m) = (x.rows(), y.rows());
    if n == 0 || m == 0 {
        return Ok(());
    }
    let widest = x.cols().max(y.cols());
    if widest > MOST || n.max(m) >= 1 << 31 {
        return Err(too_wide(widest));
    }
    without_directives(function)?;
    let kernels = device
        .compile(
            &source(device, function, [x.cols(), y.cols()]),
            &["zf_skeleton"],
        )
        .map_err(of_source)?;
    let flat = |t: &Table| t.elements().every(1);
    let (dx, dy) = (device.upload(&flat(x))?, device.upload(&flat(y))?);
    let step = (AT_A_TIME / (m * 8)).clamp(1, n);
    let out = device.allocate(step * m * 8)?;
    let mut items = vec![0.0; step * m];
    for from in (0..n).step_by(step) {
        let rows = step.min(n - from);
        let numbers = [from, rows, m].map(|v| Arg::U32(v as u32));
        let args = [
            Arg::Memory(&dx),
            Arg::Memory(&dy),
            Arg::Memory(&out),
            numbers[0],
            numbers[1],
            numbers[2],
        ];
        let grid = Grid {
            x: (m as u32).div_ceil(THREADS),
            y: rows.min(4096) as u32,
            threads: THREADS,
        };
        device.launch(&kernels[0], grid, &args)?;
        device.read(&out, &mut items[..rows * m])?;
        put(from, &items[..rows * m])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_for_the_preprocessor_are_refused() {
        for text in [
            "#include \"/etc/passwd\"",
            "int a;\n  # include <x>",
            "%:include <x>",
            "??=include <x>",
            "#define D 3",
        ] {
            let e = without_directives(text).unwrap_err().to_string();
            assert!(e.contains("preprocessor"), "{text}: {e}");
        }
        assert!(
            without_directives(
                "double pair(const double *x, const double *y, int d) { return d % 2; }"
            )
            .is_ok()
        );
    }
}
