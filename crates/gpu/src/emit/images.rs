//! Writes minimum images: those of the reference in double precision, and those of single precision
//! whose magnitudes or lengths have a bound (`plan/src/device/images.rs`).

use super::expression::literal;
use std::fmt::Write;
use zipfold_core::space::periodic_box::{Image, Orthorhombic, Triclinic, dot};
use zipfold_core::{PeriodicBox, Precision};
use zipfold_plan::device::images::shifts;

/// 1.5 · 2²³: a number that is added and taken away rounds to a whole number.
const ROUND: &str = "12582912.0f";

fn wide(value: f64) -> String {
    literal(value, Precision::F64)
}

/// [`Orthorhombic::nearest`] on `e0`, `e1`, … in double precision.
pub(super) fn orthorhombic(o: &Orthorhombic, dim: usize) -> String {
    let one = |(k, l): (usize, &f64)| format!("e{k} = zf_image_d(e{k}, {});\n", wide(*l));
    o.lengths().iter().enumerate().take(dim).map(one).collect()
}

/// [`Triclinic::nearest`] on `e0`, `e1`, `e2`, by the fragment's macros.
pub(super) fn triclinic(o: &Triclinic) -> String {
    let mut out = String::new();
    for (n, (b, d)) in o.vectors.iter().zip(&o.duals).enumerate() {
        let list = |v: &[f64; 3]| v.map(wide).join(", ");
        let _ = writeln!(
            out,
            "const double cell_b{n}[3] = {{{}}}, cell_n{n}[3] = {{{}}};",
            list(b),
            list(d)
        );
    }
    out + include_str!("../kernels/triclinic.c")
}

fn single_literal(value: f64) -> String {
    literal(value, Precision::F32)
}

/// Statements that declare `delta`, the differences `of_rows` by the minimum image in single
/// precision; in an oblique box `image_length` is the squared length of the shortest image, and
/// `delta` some image.
pub(super) fn single(
    periodic_box: &PeriodicBox,
    near: bool,
    dim: usize,
    of_rows: &dyn Fn(usize) -> String,
) -> String {
    let mut out = String::new();
    for k in 0..dim {
        let _ = writeln!(out, "float e{k} = {};", of_rows(k));
    }
    match periodic_box.image() {
        Image::Orthorhombic(o) => {
            for (k, length) in o.lengths().iter().enumerate().take(dim) {
                out += &component(k, *length, near);
            }
        }
        Image::Triclinic(o) if dim >= 3 => out += &oblique(o),
        Image::Triclinic(_) => {}
    }
    let parts: Vec<String> = (0..dim).map(|k| format!("e{k}")).collect();
    let _ = writeln!(
        out,
        "const float delta[{}] = {{{}}}; (void)delta;",
        dim.max(1),
        parts.join(", ")
    );
    out
}

/// One component in a box with right angles; its magnitude alone where differences are near.
fn component(k: usize, length: f64, near: bool) -> String {
    if near {
        let held = single_literal(length);
        return format!("e{k} = zf_min_f(zf_abs_f(e{k}), {held} - zf_abs_f(e{k}));\n");
    }
    format!(
        "e{k} = zf_fma_f({}, zf_fma_f(e{k}, {}, {ROUND}) - {ROUND}, e{k});\n",
        single_literal(-length),
        single_literal(1.0 / length)
    )
}

/// The residual of Babai's nearest plane, then the shortest of its images.
fn oblique(lattice: &Triclinic) -> String {
    let mut out = String::new();
    for (n, (b, dual)) in lattice.vectors.iter().zip(&lattice.duals).enumerate().rev() {
        let quotient = product(dual, ROUND);
        let _ = writeln!(out, "const float turn{n} = {quotient} - {ROUND};");
        for (c, part) in b.iter().enumerate().filter(|(_, part)| **part != 0.0) {
            let part = single_literal(-part);
            let _ = writeln!(out, "e{c} = zf_fma_f({part}, turn{n}, e{c});");
        }
    }
    out += "float image_gain = 0.0f;\n";
    for v in shifts(lattice) {
        let length = single_literal(dot(v, v));
        let along = product(&v.map(|c| 2.0 * c), "0.0f");
        let _ = writeln!(
            out,
            "image_gain = zf_min_f(image_gain, {length} - zf_abs_f({along}));"
        );
    }
    // Rounding may take more than there is.
    out + "const float image_length = zf_max_f(zf_fma_f(e2, e2, zf_fma_f(e1, e1, e0 * e0)) + image_gain, 0.0f);\n\
        (void)image_length;\n"
}

/// `e` · v + `end`, without the components of v that are zero. The end is added last.
fn product(v: &[f64; 3], end: &str) -> String {
    let mut parts = v.iter().enumerate().filter(|(_, part)| **part != 0.0);
    let term = |(c, part): (usize, &f64)| (format!("e{c}"), single_literal(*part));
    let Some((e, part)) = parts.next().map(term) else {
        return end.to_string();
    };
    let rest: Vec<(String, String)> = parts.map(term).collect();
    if rest.is_empty() {
        return format!("zf_fma_f({e}, {part}, {end})");
    }
    let sum = rest.iter().fold(format!("{e} * {part}"), |sum, (e, part)| {
        format!("zf_fma_f({e}, {part}, {sum})")
    });
    match end {
        "0.0f" => sum,
        _ => format!("({sum} + {end})"),
    }
}
