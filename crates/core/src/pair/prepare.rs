//! Preparations of whole tables for metrics that are not functions of two rows alone: ranks within
//! a row, variances of columns, whitening.
//!
//! A metric names the preparation that it needs ([`super::named::Named::prepare`]). It runs once,
//! before pairs are formed, and either replaces both tables (ranks, whitening) or completes the
//! options of the metric (variances). After it the metric is an ordinary formula over pairs:
//! Mahalanobis' distance of the rows is the Euclidean distance of the whitened rows.
//!
//! All work is in f64, in the order of rows, in one thread: O(n·d) for ranks and variances, O(n·d²)
//! for whitening. Every loop over rows asks `stop`, so that a run can be interrupted.

use super::named::{Params, PreparedTables, Stop, vector};
use super::parse::Param;
use crate::error::{Blame, Error, Result};
use crate::opt::Opt;
use crate::table::Table;

/// Replaces every component by its rank within its row, from 1; equal components share their mean
/// rank (`[3, 1, 3]` becomes `[2.5, 1, 2.5]`). A row with a NaN becomes all NaN.
///
/// # Errors
/// `Interrupted` when `stop` says so.
pub fn rank(
    x: &Table,
    y: Option<&Table>,
    _: &mut Params,
    stop: Stop<'_>,
) -> Result<Option<PreparedTables>> {
    // One buffer for all rows: a table may have millions of short ones.
    let mut order = vec![];
    each_row(x, y, stop, |row, out| rank_row(row, &mut order, out)).map(Some)
}

/// Ranks one row. `order` is a buffer that is reused from row to row.
fn rank_row(row: &[f64], order: &mut Vec<usize>, out: &mut [f64]) {
    if row.iter().any(|v| v.is_nan()) {
        return out.fill(f64::NAN);
    }
    order.clear();
    order.extend(0..row.len());
    // total_cmp orders −0 before 0, which the ties below put together again.
    order.sort_unstable_by(|a, b| row[*a].total_cmp(&row[*b]));
    // chunk_by compares by ==, so that −0 and 0 are one tie.
    let mut before = 0;
    for tie in order.chunk_by(|a, b| row[*a] == row[*b]) {
        // The mean of ranks before + 1 … before + len.
        let mean = before as f64 + (tie.len() + 1) as f64 / 2.0;
        tie.iter().for_each(|k| out[*k] = mean);
        before += tie.len();
    }
}

/// Completes the option `V` with the variances of the columns over the rows of both tables, divided
/// by n − 1 as in SciPy. Two passes, mean first: the one-pass formula Σv² − n·mean² cancels.
///
/// An option `V` that the user gives is kept, as in SciPy.
///
/// # Errors
/// `Input` when the tables have different numbers of columns.
pub fn variances(
    x: &Table,
    y: Option<&Table>,
    params: &mut Params,
    stop: Stop<'_>,
) -> Result<Option<PreparedTables>> {
    same_columns(x, y)?;
    if !params.contains_key("V") {
        let mean = means(x, y, stop, |_| true)?;
        let mut sums = vec![0.0; x.cols()];
        for_rows(x, y, stop, |row| {
            sums.iter_mut()
                .zip(row)
                .zip(&mean)
                .for_each(|((s, v), m)| *s += (v - m) * (v - m))
        })?;
        // n − 1 over the rows of both tables together, as SciPy does for two inputs.
        let less = (x.rows() + y.map_or(0, Table::rows)) as f64 - 1.0;
        params.insert(
            "V".into(),
            Param::Vector(sums.into_iter().map(|s| s / less).collect()),
        );
    }
    Ok(None)
}

/// Maps all rows so that (x − y)ᵀ VI (x − y) becomes a sum of squares of differences.
///
/// VI is the option, or else the inverse of the covariance of all rows (divided by n − 1). With the
/// Cholesky factor VI = L Lᵀ the map is z = Lᵀ r; for a covariance C = L Lᵀ it is the solution of L
/// z = r, which needs no inverse. An indefinite VI has no such factor: its eigenvectors give a sum
/// of squares with signs, which go into the option `signs`.
///
/// Rows are moved to a common origin first. Differences do not change by that, and rows far from
/// zero would lose the digits of their differences in the map.
///
/// # Errors
/// `Input` when the tables have different numbers of columns, or too few rows for a covariance that
/// can be inverted; `Request` when VI is not d × d.
pub fn whiten(
    x: &Table,
    y: Option<&Table>,
    params: &mut Params,
    stop: Stop<'_>,
) -> Result<Option<PreparedTables>> {
    same_columns(x, y)?;
    let d = x.cols();
    // Finite numbers only, so one infinite row does not move the origin of all others to NaN.
    let origin = means(x, y, stop, f64::is_finite)?;
    // A given VI may be anything; the covariance of the rows is positive definite or refused.
    let map = match given_inverse(params, d)? {
        Some(vi) => map_of(vi, d),
        None => Map::Solve(covariance_root(x, y, d, stop)?),
    };
    // The option is ours, not the user's: a leftover must not change the formula.
    params.remove("signs");
    if let Map::Rows(_, Some(signs)) = &map {
        params.insert("signs".into(), Param::Vector(signs.clone()));
    }
    // A buffer outside of the closure: it serves every row.
    let mut moved = vec![0.0; d];
    let go = |row: &[f64], out: &mut [f64]| {
        moved
            .iter_mut()
            .zip(row)
            .zip(&origin)
            .for_each(|((m, v), o)| *m = v - o);
        map.apply(&moved, out);
    };
    each_row(x, y, stop, go).map(Some)
}

/// A linear map of rows, in d² operations per row.
///
/// Two forms, because solving is more exact than multiplying by an inverse, and a given VI is an
/// inverse already.
enum Map {
    /// The solution z of L z = c, L lower triangular.
    Solve(Vec<f64>),
    /// z = M c, and the sign of each component of z where some are negative.
    Rows(Vec<f64>, Option<Vec<f64>>),
}

impl Map {
    /// Maps row `c` to `out`. Zeros of the matrix are skipped, so that an infinite component meets
    /// only the coefficients that it has: 0·∞ is NaN.
    fn apply(&self, c: &[f64], out: &mut [f64]) {
        let d = c.len();
        match self {
            // Forward substitution: component k needs the ones before it only.
            Map::Solve(l) => {
                for k in 0..d {
                    let known: f64 = (0..k).map(|j| l[k * d + j] * out[j]).sum();
                    out[k] = (c[k] - known) / l[k * d + k];
                }
            }
            // Signs are applied by the formula, after the squares.
            Map::Rows(m, _) => {
                for k in 0..d {
                    out[k] = (0..d)
                        .filter(|j| m[k * d + j] != 0.0)
                        .map(|j| m[k * d + j] * c[j])
                        .sum();
                }
            }
        }
    }
}

/// Returns the option `VI` as d × d finite numbers, row by row.
fn given_inverse(params: &Params, d: usize) -> Result<Option<Vec<f64>>> {
    if d != 1 && matches!(params.get("VI"), Some(Param::Number(_))) {
        return Err(Error::request("'VI' is a single number")
            .at_place(Opt::Param)
            .limit(format!("{d} × {d} numbers")));
    }
    // A single number would be repeated d² times, hence the refusal above.
    let vi = vector(params, "VI", Some(d.saturating_mul(d)))?;
    match vi.iter().flatten().any(|v| !v.is_finite()) {
        true => Err(Error::request("'VI' holds a number that is not finite").at_place(Opt::Param)),
        false => Ok(vi),
    }
}

/// Returns the map of a given VI. Only its symmetric part counts in a quadratic form.
///
/// vᵀ A v = vᵀ ½(A + Aᵀ) v for every v, so nothing is lost. Cholesky is tried first: it is cheap,
/// and a VI that users give is nearly always positive definite.
fn map_of(vi: Vec<f64>, d: usize) -> Map {
    // Halved before they are added: the sum of two large entries could overflow.
    let s: Vec<f64> = (0..d * d)
        .map(|at| 0.5 * vi[at] + 0.5 * vi[(at % d) * d + at / d])
        .collect();
    match cholesky(&s, d) {
        Some(l) => Map::Rows(
            // Transposed: z = Lᵀ r.
            (0..d * d).map(|at| l[(at % d) * d + at / d]).collect(),
            None,
        ),
        None => indefinite(s, d),
    }
}

/// Returns z = √|Λ| Qᵀ c for S = Q Λ Qᵀ, with the signs of Λ. Eigenvalues within d·ε of the largest
/// are rounding errors of zero and are taken as zero.
fn indefinite(s: Vec<f64>, d: usize) -> Map {
    let (values, q) = eigen(s, d);
    let largest = values.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    // Smaller eigenvalues are noise of the decomposition; as zeros they drop their direction.
    let floor = largest * f64::EPSILON * d as f64;
    let kept = |v: f64| if v.abs() <= floor { 0.0 } else { v };
    let m = (0..d * d)
        .map(|at| kept(values[at / d]).abs().sqrt() * q[(at % d) * d + at / d])
        .collect();
    let negative = values.iter().any(|v| kept(*v) < 0.0);
    Map::Rows(
        m,
        negative.then(|| {
            values
                .iter()
                .map(|v| if kept(*v) < 0.0 { -1.0 } else { 1.0 })
                .collect()
        }),
    )
}

/// Returns the lower triangular L with L Lᵀ the covariance of all rows. Refuses n ≤ d rows, whose
/// covariance has a rank of n − 1 < d, and a covariance that is singular to working precision. A
/// NaN in the rows makes every value NaN, as in SciPy.
///
/// Both triangles are summed, although the matrix is symmetric: the loop is then one vector
/// operation per row of it.
fn covariance_root(x: &Table, y: Option<&Table>, d: usize, stop: Stop<'_>) -> Result<Vec<f64>> {
    let rows = x.rows() + y.map_or(0, Table::rows);
    let remedy = format!(
        "give the inverse of a covariance: {}",
        Opt::Param.like("VI=@VI.npy")
    );
    if rows <= d {
        let what = format!("{rows} rows have no invertible covariance in {d} columns");
        return Err(Error::input(what)
            .limit(format!("at least {} rows", d + 1))
            .remedy(remedy));
    }
    // All numbers here, NaN included: it must reach the covariance, where it is seen.
    let mean = means(x, y, stop, |_| true)?;
    let mut sums = vec![0.0; d * d];
    let mut c = vec![0.0; d];
    for_rows(x, y, stop, |row| {
        c.iter_mut()
            .zip(row)
            .zip(&mean)
            .for_each(|((c, v), m)| *c = v - m);
        // Row j of the matrix gets c[j] · c: the outer product, one row at a time.
        for (j, sums) in sums.chunks_exact_mut(d.max(1)).enumerate() {
            sums.iter_mut().zip(&c).for_each(|(s, v)| *s += c[j] * v);
        }
    })?;
    sums.iter_mut().for_each(|s| *s /= rows as f64 - 1.0);
    let singular = || {
        Error::input("the covariance of the rows cannot be inverted")
            .at_place(Opt::Metric)
            .remedy(remedy)
    };
    if sums.iter().any(|s| s.is_nan()) {
        return Ok(vec![f64::NAN; d * d]);
    }
    cholesky(&sums, d).ok_or_else(singular)
}

// Factors of small dense matrices are found by own code: the crate faer 0.24, with its linear
// algebra alone, brings 27 packages that the workspace has not, and takes a minute of one core to
// build.

/// Returns the lower triangular L with L Lᵀ = `s` (row by row), or `None` if `s` is not positive
/// definite to working precision: a pivot that is left with less than d·ε of its diagonal is a
/// rounding error.
///
/// Row by row (Golub and Van Loan, *Matrix Computations*, 4.2), d³/3 operations, without pivots: a
/// positive definite matrix needs none.
fn cholesky(s: &[f64], d: usize) -> Option<Vec<f64>> {
    let mut l = vec![0.0; d * d];
    for i in 0..d {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| l[i * d + k] * l[j * d + k]).sum();
            let left = s[i * d + j] - known;
            if i != j {
                l[i * d + j] = left / l[j * d + j];
            } else if left > s[i * d + i] * f64::EPSILON * d as f64 {
                l[i * d + i] = left.sqrt();
            } else {
                return None;
            }
        }
    }
    Some(l)
}

/// Returns the eigenvalues of the symmetric `a`, and the eigenvectors as columns, by rotations in
/// cyclic order (Jacobi 1846; Golub and Van Loan, *Matrix Computations*, 8.5). It ends when the
/// square sum off the diagonal is below ε² of the whole; convergence is quadratic, so 50 sweeps are
/// never reached in practice.
///
/// Jacobi's method is slower than a tridiagonal one and shorter. It runs once, for a VI that is not
/// positive definite, which is rare.
fn eigen(mut a: Vec<f64>, d: usize) -> (Vec<f64>, Vec<f64>) {
    const SWEEPS: usize = 50;
    let mut q: Vec<f64> = (0..d * d)
        .map(|at| if at / d == at % d { 1.0 } else { 0.0 })
        .collect();
    let total: f64 = a.iter().map(|v| v * v).sum();
    for _ in 0..SWEEPS {
        // The square sum off the diagonal falls with every rotation; when it is noise, the diagonal
        // holds the eigenvalues.
        let off: f64 = (0..d * d)
            .filter(|at| at / d != at % d)
            .map(|at| a[at] * a[at])
            .sum();
        if off <= total * f64::EPSILON * f64::EPSILON {
            break;
        }
        for i in 0..d {
            for j in i + 1..d {
                rotate(&mut a, &mut q, d, i, j);
            }
        }
    }
    ((0..d).map(|k| a[k * d + k]).collect(), q)
}

/// Rotates rows and columns i and j of `a` so that a[i, j] becomes zero, and the columns of `q`
/// with them. t is the smaller root of t² + 2θt − 1 = 0, so the angle is at most 45°, which
/// convergence needs.
fn rotate(a: &mut [f64], q: &mut [f64], d: usize, i: usize, j: usize) {
    let off = a[i * d + j];
    if off == 0.0 {
        return;
    }
    let theta = (a[j * d + j] - a[i * d + i]) / (2.0 * off);
    // `hypot`, because θ² overflows when a[i, j] is tiny.
    let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
    let c = 1.0 / t.hypot(1.0);
    let s = t * c;
    let turn = |m: &mut [f64], p: usize, r: usize| {
        (m[p], m[r]) = (c * m[p] - s * m[r], s * m[p] + c * m[r])
    };
    // Columns of a, then rows, then columns of q: a becomes RᵀAR, q becomes QR.
    (0..d).for_each(|k| turn(a, k * d + i, k * d + j));
    (0..d).for_each(|k| turn(a, i * d + k, j * d + k));
    (0..d).for_each(|k| turn(q, k * d + i, k * d + j));
}

/// Refuses tables that cannot share columns.
fn same_columns(x: &Table, y: Option<&Table>) -> Result<()> {
    match y {
        Some(y) if y.cols() != x.cols() => Err(Error::input(format!(
            "rows of {} and of {} components do not pair",
            x.cols(),
            y.cols()
        ))),
        _ => Ok(()),
    }
}

/// Returns the mean of each column over the numbers of both tables for which `counts` is true; 0
/// for a column without any.
fn means(
    x: &Table,
    y: Option<&Table>,
    stop: Stop<'_>,
    counts: fn(f64) -> bool,
) -> Result<Vec<f64>> {
    let mut sums = vec![(0.0, 0usize); x.cols()];
    for_rows(x, y, stop, |row| {
        sums.iter_mut()
            .zip(row)
            // Column by column, since a row may have a number in one and none in another.
            .filter(|(_, v)| counts(**v))
            .for_each(|((s, n), v)| {
                *s += v;
                *n += 1;
            });
    })?;
    Ok(sums
        .into_iter()
        .map(|(s, n)| if n == 0 { 0.0 } else { s / n as f64 })
        .collect())
}

/// Calls `go` with every row of both tables in f64, and ends with an error when `stop` says so.
///
/// The rows of x come first, so sums have one order and the same bits in every run.
fn for_rows(
    x: &Table,
    y: Option<&Table>,
    stop: Stop<'_>,
    mut go: impl FnMut(&[f64]),
) -> Result<()> {
    let mut row = vec![0.0; x.cols()];
    for table in [Some(x), y].into_iter().flatten() {
        for at in 0..table.rows() {
            go_on(stop)?;
            table.row_into(at, &mut row);
            go(&row);
        }
    }
    Ok(())
}

/// Turns the answer of `stop` into an error.
///
/// Once per row is often enough: a row takes O(d²) steps at most.
fn go_on(stop: Stop<'_>) -> Result<()> {
    if stop() {
        Err(Error::new(Blame::Interrupted, "interrupted"))
    } else {
        Ok(())
    }
}

/// Returns both tables with `go` applied to every row, in double precision.
fn each_row(
    x: &Table,
    y: Option<&Table>,
    stop: Stop<'_>,
    mut go: impl FnMut(&[f64], &mut [f64]),
) -> Result<PreparedTables> {
    let mut of = |table: &Table| {
        let d = table.cols();
        let mut row = vec![0.0; d];
        let mut out = vec![0.0; table.rows() * d];
        // Rows without components have no chunk, and none is needed.
        for (at, out) in out.chunks_exact_mut(d.max(1)).enumerate() {
            go_on(stop)?;
            table.row_into(at, &mut row);
            go(&row, out);
        }
        Table::f64(table.rows(), d, out)
    };
    Ok(PreparedTables {
        x: of(x)?,
        y: y.map(of).transpose()?,
    })
}
