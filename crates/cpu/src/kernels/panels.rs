//! Packed panels: rows of a table, a few at a time, stored component by component, padded with
//! zeros.
//!
//! ```text
//! panel p holds rows p·w … p·w + w − 1 (w = 8 for the left side, one register tile for the right)
//! value (row, component k)  at  (p · components + k) · w + row mod w
//!
//! pack, in parallel by panel:
//!     for 16 components at a time                 one or two lines of each row
//!         for each row of the panel
//!             prefetch the row's next components
//!             write its 16 numbers, w apart
//! ```
//!
//! A kernel then reads component k of all rows of a panel as one vector, in order, with no stride.
//! Blocking by 16 components keeps both the lines that are read and the ones that are written in
//! the nearest cache. Strips (hoisted rows that are transposed already) are copied without this.

use rayon::prelude::*;
use zipfold_vector::memory::Block;
use zipfold_vector::prefetch::nearest;
use zipfold_vector::simd::Element;

/// Rows of a panel of the left operand; each of its values is broadcast.
pub const A_ROWS: usize = 8;

/// Rows computed [`A_ROWS`] at a time.
pub trait Strips {
    /// The rows from `first` on, by component, a lane each. Lanes past the last row hold anything.
    fn strip(&mut self, first: usize) -> &[[f64; A_ROWS]];
    /// Number `number` of the rows of the last strip.
    fn number(&self, number: usize) -> &[f64; A_ROWS];
}

/// Rows packed as they were computed.
pub struct Packed<T> {
    /// For the left operand, where wanted.
    pub a: Option<PackedA<T>>,
    /// For the right operand, where wanted.
    pub b: Option<PackedB<T>>,
    /// The numbers of each row.
    pub numbers: Vec<T>,
}

/// Packs `rows` rows of `components` values, with this many `numbers` each, from strips that each
/// thread makes for itself: for the left operand where `left`, for the right one where `right`.
pub fn pack_strips<T: Element, S: Strips>(
    make: impl Fn() -> S + Send + Sync,
    (rows, components, numbers): (usize, usize, usize),
    (left, right): (bool, bool),
) -> Packed<T> {
    let mut a = left.then(|| Panels::zeros(rows, components, A_ROWS));
    let mut b = right.then(|| Panels::zeros(rows, components, T::PANEL));
    let mut all = vec![T::ZERO; rows * numbers];
    let count = rows.div_ceil(T::PANEL);
    let of_a = parts(
        a.as_mut().map(|a| &mut a.values[..]),
        T::PANEL * components,
        count,
    );
    let of_b = parts(
        b.as_mut().map(|b| &mut b.values[..]),
        T::PANEL * components,
        count,
    );
    let of_all = parts(Some(&mut all), T::PANEL * numbers, count);
    let panels = of_a.into_par_iter().zip(of_b).zip(of_all).enumerate();
    panels.for_each_init(make, |strips, (panel, ((a, b), of_rows))| {
        for at in (0..T::PANEL.min(rows - panel * T::PANEL)).step_by(A_ROWS) {
            let held = A_ROWS.min(rows - panel * T::PANEL - at);
            let strip = &strips.strip(panel * T::PANEL + at)[..components];
            for (to, width) in [
                (a.get_mut(at * components..), A_ROWS),
                (b.get_mut(at..), T::PANEL),
            ] {
                for (to, from) in to.unwrap_or_default().chunks_mut(width).zip(strip) {
                    to.iter_mut()
                        .zip(&from[..held])
                        .for_each(|(to, v)| *to = T::from_f64(*v));
                }
            }
            for number in 0..numbers {
                let to = of_rows[at * numbers + number..].iter_mut().step_by(numbers);
                to.zip(&strips.number(number)[..held])
                    .for_each(|(to, v)| *to = T::from_f64(*v));
            }
        }
    });
    Packed {
        a: a.map(PackedA),
        b: b.map(PackedB),
        numbers: all,
    }
}

/// `count` parts of `size` values and the rest; empty ones where there are none.
fn parts<T>(values: Option<&mut [T]>, size: usize, count: usize) -> Vec<&mut [T]> {
    let mut parts: Vec<_> = values.unwrap_or_default().chunks_mut(size.max(1)).collect();
    parts.resize_with(count, Default::default);
    parts
}

/// Rows as panels of `width` rows: value k of row i lies at `(i / width · d + k) · width + i %
/// width`.
struct Panels<T> {
    values: Block<T>,
    rows: usize,
    components: usize,
    width: usize,
}

impl<T: Element> Panels<T> {
    /// Rows of zeros.
    fn zeros(rows: usize, components: usize, width: usize) -> Panels<T> {
        Panels {
            values: Block::zeros(rows.div_ceil(width) * width * components),
            rows,
            components,
            width,
        }
    }
    /// Packs `rows` rows of `components` values that start every `stride` values of `data`.
    fn pack<U: Element>(
        data: &[U],
        rows: usize,
        components: usize,
        stride: usize,
        width: usize,
    ) -> Panels<T> {
        if rows > 0 && components > 0 {
            let need = (rows - 1)
                .checked_mul(stride)
                .and_then(|n| n.checked_add(components));
            assert!(
                need.is_some_and(|n| n <= data.len()),
                "{rows} rows of {components} values end outside the data"
            );
        }
        let mut panels = Panels::zeros(rows, components, width);
        if components > 0 {
            panels
                .values
                .par_chunks_exact_mut(width * components)
                .enumerate()
                .for_each(|(p, panel)| {
                    let first = p * width;
                    let held = width.min(rows.saturating_sub(first));
                    let data = data.get(first * stride..).unwrap_or(&[]);
                    pack_panel((panel, width), (data, stride), held, components);
                });
        }
        panels
    }

    /// Packs rows from strips of `lanes` rows.
    fn of_strips<'s>(
        strip: impl Fn(usize) -> &'s [f64] + Sync,
        rows: usize,
        components: usize,
        lanes: usize,
        width: usize,
    ) -> Panels<T> {
        assert!(
            lanes > 0 && width.is_multiple_of(lanes),
            "strips of {lanes} rows in panels of {width}"
        );
        let mut panels = Panels::zeros(rows, components, width);
        if components > 0 {
            panels
                .values
                .par_chunks_exact_mut(width * components)
                .enumerate()
                .for_each(|(p, panel)| {
                    let held = width.min(rows - p * width).div_ceil(lanes);
                    for at in 0..held {
                        let strip = &strip(p * (width / lanes) + at)[..components * lanes];
                        for (to, from) in
                            panel.chunks_exact_mut(width).zip(strip.chunks_exact(lanes))
                        {
                            to[at * lanes..][..lanes]
                                .iter_mut()
                                .zip(from)
                                .for_each(|(to, v)| *to = T::from_f64(*v));
                        }
                    }
                });
        }
        panels
    }

    /// Component `k` of panel `p`; the values from there to the end of the panel are contiguous.
    #[inline(always)]
    fn address(&self, p: usize, k: usize) -> *const T {
        let offset = (p * self.components + k) * self.width;
        assert!(offset <= self.values.len());
        // SAFETY: the offset lies within the values or at their end.
        unsafe { self.values.as_ptr().add(offset) }
    }
}

/// Transposes `held` rows into one panel, in blocks of components that stay in the L1 cache.
fn pack_panel<T: Element, U: Element>(
    (panel, width): (&mut [T], usize),
    (data, stride): (&[U], usize),
    held: usize,
    components: usize,
) {
    const BLOCK: usize = 16;
    for k0 in (0..components).step_by(BLOCK) {
        let k1 = components.min(k0 + BLOCK);
        let out = &mut panel[k0 * width..k1 * width];
        for i in 0..held {
            let row = &data[i * stride + k0..i * stride + k1];
            // Rows far apart are not fetched ahead by the machine: what is packed after the next
            // components.
            (0..BLOCK)
                .step_by(64 / size_of::<U>())
                .for_each(|at| nearest(row.as_ptr().wrapping_add(2 * BLOCK + at)));
            for (cell, x) in out[i..].iter_mut().step_by(width).zip(row) {
                *cell = T::from_f64(x.to_f64());
            }
        }
    }
}

macro_rules! packed {
    ($(#[$doc:meta])* $name:ident, $width:expr) => {
        $(#[$doc])*
        pub struct $name<T>(Panels<T>);

        impl<T: Element> $name<T> {
            /// Packs `rows` rows of `components` values that start every `stride` values of `data`;
            /// `f32` data may be packed as `f64`.
            ///
            /// # Panics
            /// If a row ends outside `data`.
            pub fn pack<U: Element>(data: &[U], rows: usize, components: usize, stride: usize) -> Self {
                $name(Panels::pack(data, rows, components, stride, $width))
            }
            /// Packs `rows` rows from strips of `lanes` rows each, component by component; `lanes`
            /// divides a panel.
            ///
            /// # Panics
            /// If a strip is shorter than `components` · `lanes`.
            pub fn of_strips<'s>(
                strip: impl Fn(usize) -> &'s [f64] + Sync,
                rows: usize,
                components: usize,
                lanes: usize,
            ) -> Self {
                $name(Panels::of_strips(strip, rows, components, lanes, $width))
            }
            /// Bytes that `pack` allocates.
            pub fn bytes(rows: usize, components: usize) -> usize {
                (rows.div_ceil($width) * $width * components * size_of::<T>()).next_multiple_of(64)
            }
            /// Rows, without padding.
            pub fn rows(&self) -> usize {
                self.0.rows
            }
            /// Components of a row.
            pub fn components(&self) -> usize {
                self.0.components
            }
            /// All values, panel by panel, with the zeros behind the last row.
            pub fn values(&self) -> &[T] {
                &self.0.values
            }
            /// Component `k` of panel `p`, and all that follow it in the panel.
            #[inline(always)]
            pub fn address(&self, p: usize, k: usize) -> *const T {
                self.0.address(p, k)
            }
        }
    };
}
packed! {
    /// The left operand: panels of [`A_ROWS`] rows.
    PackedA, A_ROWS
}
packed! {
    /// The right operand: panels of 128 bytes of rows.
    PackedB, T::PANEL
}
