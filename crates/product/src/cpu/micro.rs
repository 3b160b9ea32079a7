//! The matrix kernel's register tile: up to three vectors of rows by eight columns, summed or maximised over the depth.

/// Vectors of rows in a full tile.
pub const ROWS: usize = 3;
/// Columns of a tile.
pub const COLUMNS: usize = 8;

macro_rules! micro {
    ($name:ident, $avx:ident, $plain:ident, $t:ty, $lanes:expr, $zero:ident, $load:ident, $set:ident, $fma:ident, $mul:ident, $max:ident, $store:ident) => {
        /// `tile[c · rows·lanes + r] = ⊕_k a[k · rows·lanes + r] · b[k · 8 + c]`, with ⊕ the sum or (for non-negative numbers)
        /// the maximum. Slices hold at least `depth` rows; shorter ones leave the tile zero.
        pub fn $name(rows: usize, depth: usize, a: &[$t], b: &[$t], max: bool, tile: &mut [$t]) {
            let width = rows * $lanes;
            if !(1..=ROWS).contains(&rows)
                || a.len() < depth * width
                || b.len() < depth * COLUMNS
                || tile.len() < width * COLUMNS
            {
                tile.fill(0.0);
                return;
            }
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx512f") {
                // SAFETY: the feature was just detected, and the lengths checked above are those the kernel reads and writes.
                unsafe {
                    match (rows, max) {
                        (1, false) => $avx::<1, false>(depth, a.as_ptr(), b.as_ptr(), tile.as_mut_ptr()),
                        (2, false) => $avx::<2, false>(depth, a.as_ptr(), b.as_ptr(), tile.as_mut_ptr()),
                        (_, false) => $avx::<3, false>(depth, a.as_ptr(), b.as_ptr(), tile.as_mut_ptr()),
                        (1, true) => $avx::<1, true>(depth, a.as_ptr(), b.as_ptr(), tile.as_mut_ptr()),
                        (2, true) => $avx::<2, true>(depth, a.as_ptr(), b.as_ptr(), tile.as_mut_ptr()),
                        (_, true) => $avx::<3, true>(depth, a.as_ptr(), b.as_ptr(), tile.as_mut_ptr()),
                    }
                }
                return;
            }
            $plain(width, depth, a, b, max, tile);
        }

        // SAFETY (callers): the machine has AVX-512 F, and the pointers hold whole panels and a whole tile.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f")]
        unsafe fn $avx<const R: usize, const MAX: bool>(
            depth: usize,
            mut a: *const $t,
            mut b: *const $t,
            tile: *mut $t,
        ) {
            use std::arch::x86_64::*;
            let mut acc = [[$zero(); R]; COLUMNS];
            for _ in 0..depth {
                let mut rows = [$zero(); R];
                for r in 0..R {
                    // SAFETY: `a` holds depth · R · lanes numbers (checked by the caller).
                    rows[r] = unsafe { $load(a.add(r * $lanes)) };
                }
                for c in 0..COLUMNS {
                    // SAFETY: `b` holds depth · COLUMNS numbers (checked by the caller).
                    let x = $set(unsafe { *b.add(c) });
                    for r in 0..R {
                        acc[c][r] = if MAX { $max(acc[c][r], $mul(rows[r], x)) } else { $fma(rows[r], x, acc[c][r]) };
                    }
                }
                // SAFETY: steps of the sizes checked above; the last ends one past the end.
                unsafe {
                    a = a.add(R * $lanes);
                    b = b.add(COLUMNS);
                }
            }
            for c in 0..COLUMNS {
                for r in 0..R {
                    // SAFETY: `tile` holds COLUMNS · R · lanes numbers (checked by the caller).
                    unsafe { $store(tile.add((c * R + r) * $lanes), acc[c][r]) };
                }
            }
        }

        fn $plain(width: usize, depth: usize, a: &[$t], b: &[$t], max: bool, tile: &mut [$t]) {
            tile[..width * COLUMNS].fill(0.0);
            for (row, col) in a.chunks_exact(width).zip(b.chunks_exact(COLUMNS)).take(depth) {
                for (out, x) in tile.chunks_exact_mut(width).zip(col) {
                    if max {
                        out.iter_mut().zip(row).for_each(|(o, r)| *o = o.max(r * x));
                    } else {
                        out.iter_mut().zip(row).for_each(|(o, r)| *o += r * x);
                    }
                }
            }
        }
    };
}

micro!(
    tile_f64,
    avx_f64,
    plain_f64,
    f64,
    8,
    _mm512_setzero_pd,
    _mm512_loadu_pd,
    _mm512_set1_pd,
    _mm512_fmadd_pd,
    _mm512_mul_pd,
    _mm512_max_pd,
    _mm512_storeu_pd
);
micro!(
    tile_f32,
    avx_f32,
    plain_f32,
    f32,
    16,
    _mm512_setzero_ps,
    _mm512_loadu_ps,
    _mm512_set1_ps,
    _mm512_fmadd_ps,
    _mm512_mul_ps,
    _mm512_max_ps,
    _mm512_storeu_ps
);

macro_rules! vectors {
    ($name:ident, $avx:ident, $t:ty, $lanes:expr, $zero:ident, $load:ident, $fma:ident, $mul:ident, $max:ident, $store:ident) => {
        /// `tile[r][c][lane] = ⊕_k a[k][r][lane] · b[k][c][lane]` for `sides.0` rows and `sides.1` columns. Slices that are too
        /// short leave the tile zero.
        pub fn $name(sides: (usize, usize), depth: usize, a: &[$t], b: &[$t], max: bool, tile: &mut [$t]) {
            let (rows, columns) = (sides.0 * $lanes, sides.1 * $lanes);
            if a.len() < depth * rows || b.len() < depth * columns || tile.len() < sides.0 * columns {
                tile.fill(0.0);
                return;
            }
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx512f") {
                let (from, with, to) = (a.as_ptr(), b.as_ptr(), tile.as_mut_ptr());
                // SAFETY: the feature was just detected, and the lengths checked above are those the kernel reads and writes.
                unsafe {
                    match (sides, max) {
                        ((4, 4), false) => return $avx::<4, 4, false>(depth, from, with, to),
                        ((2, 8), false) => return $avx::<2, 8, false>(depth, from, with, to),
                        ((8, 2), false) => return $avx::<8, 2, false>(depth, from, with, to),
                        ((1, 16), false) => return $avx::<1, 16, false>(depth, from, with, to),
                        ((16, 1), false) => return $avx::<16, 1, false>(depth, from, with, to),
                        ((4, 4), true) => return $avx::<4, 4, true>(depth, from, with, to),
                        ((2, 8), true) => return $avx::<2, 8, true>(depth, from, with, to),
                        ((8, 2), true) => return $avx::<8, 2, true>(depth, from, with, to),
                        ((1, 16), true) => return $avx::<1, 16, true>(depth, from, with, to),
                        ((16, 1), true) => return $avx::<16, 1, true>(depth, from, with, to),
                        _ => {}
                    }
                }
            }
            tile[..sides.0 * columns].fill(0.0);
            for (rows, cols) in a.chunks_exact(rows).zip(b.chunks_exact(columns)).take(depth) {
                let places = (0..sides.0 * sides.1).map(|i| (i / sides.1, i % sides.1));
                for (to, (r, c)) in tile.chunks_exact_mut($lanes).zip(places) {
                    let (row, col) = (&rows[r * $lanes..][..$lanes], &cols[c * $lanes..][..$lanes]);
                    to.iter_mut()
                        .zip(row)
                        .zip(col)
                        .for_each(|((t, x), y)| *t = if max { t.max(x * y) } else { *t + x * y });
                }
            }
        }

        // SAFETY (callers): the machine has AVX-512 F, and the pointers hold whole panels and a whole tile.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f")]
        unsafe fn $avx<const R: usize, const C: usize, const MAX: bool>(
            depth: usize,
            mut a: *const $t,
            mut b: *const $t,
            tile: *mut $t,
        ) {
            use std::arch::x86_64::*;
            let mut acc = [[$zero(); C]; R];
            for _ in 0..depth {
                // The shorter side is held, the longer one passes.
                if R < C {
                    let mut rows = [$zero(); R];
                    for r in 0..R {
                        // SAFETY: `a` holds depth · R · lanes numbers (checked by the caller).
                        rows[r] = unsafe { $load(a.add(r * $lanes)) };
                    }
                    for c in 0..C {
                        // SAFETY: `b` holds depth · C · lanes numbers (checked by the caller).
                        let col = unsafe { $load(b.add(c * $lanes)) };
                        for r in 0..R {
                            acc[r][c] =
                                if MAX { $max(acc[r][c], $mul(rows[r], col)) } else { $fma(rows[r], col, acc[r][c]) };
                        }
                    }
                } else {
                    let mut cols = [$zero(); C];
                    for c in 0..C {
                        // SAFETY: `b` holds depth · C · lanes numbers (checked by the caller).
                        cols[c] = unsafe { $load(b.add(c * $lanes)) };
                    }
                    for r in 0..R {
                        // SAFETY: `a` holds depth · R · lanes numbers (checked by the caller).
                        let row = unsafe { $load(a.add(r * $lanes)) };
                        for c in 0..C {
                            acc[r][c] =
                                if MAX { $max(acc[r][c], $mul(row, cols[c])) } else { $fma(row, cols[c], acc[r][c]) };
                        }
                    }
                }
                // SAFETY: steps of the sizes checked by the caller; the last ends one past the end.
                unsafe {
                    a = a.add(R * $lanes);
                    b = b.add(C * $lanes);
                }
            }
            for r in 0..R {
                for c in 0..C {
                    // SAFETY: `tile` holds R · C · lanes numbers (checked by the caller).
                    unsafe { $store(tile.add((r * C + c) * $lanes), acc[r][c]) };
                }
            }
        }
    };
}

vectors!(
    vectors_f64,
    avx_vectors_f64,
    f64,
    8,
    _mm512_setzero_pd,
    _mm512_loadu_pd,
    _mm512_fmadd_pd,
    _mm512_mul_pd,
    _mm512_max_pd,
    _mm512_storeu_pd
);
vectors!(
    vectors_f32,
    avx_vectors_f32,
    f32,
    16,
    _mm512_setzero_ps,
    _mm512_loadu_ps,
    _mm512_fmadd_ps,
    _mm512_mul_ps,
    _mm512_max_ps,
    _mm512_storeu_ps
);
