//! Hoisted rows: x row-major, y in panels of [`BLOCK`] columns, component-major.

use super::lanes::{Lanes, Real};
use rayon::prelude::*;
use zipfold_core::fold::BLOCK;
use zipfold_core::pair::lower::Lowered;
use zipfold_core::{Buffer, Side, Table};

/// Rows as hoisted, or the very elements of the table where hoisting would copy them.
#[derive(Debug)]
enum Held<T> {
    Own(Vec<T>),
    Lent(Buffer<T>),
}

impl<T> std::ops::Deref for Held<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        match self {
            Held::Own(items) => items,
            Held::Lent(items) => items,
        }
    }
}

/// Hoisted values of all rows of one side, in one of two layouts.
#[derive(Debug)]
pub struct Rows<T> {
    dim: usize,
    streams: usize,
    attrs: usize,
    rows: Held<T>,
    row_attrs: Vec<T>,
    panels: Vec<Lanes<T>>,
    attr_panels: Vec<Lanes<T>>,
}

impl<T: Real> Rows<T> {
    /// Rows of one side, one after another.
    pub fn by_row(low: &Lowered, table: &Table, side: Side) -> Self {
        let (streams, attrs) = (low.streams[side as usize].len(), low.attrs[side as usize].len());
        let mut out = Self::empty(low.dim, streams, attrs);
        if attrs == 0
            && streams == 1
            && low.raw_stream(side as usize) == Some(0)
            && table.cols() == low.dim
            && let Some(items) = T::lent(table.elements())
        {
            out.rows = Held::Lent(items.clone());
            return out;
        }
        let (wide, narrow) = (streams * low.dim, attrs);
        let mut hoisted = vec![T::default(); table.rows() * wide];
        out.row_attrs = vec![T::default(); table.rows() * narrow];
        let rows = hoisted.par_chunks_mut((BLOCK * wide).max(1));
        let work = |first: usize, rows: &mut [T], attrs: &mut [T]| {
            let mut hoister = low.hoister(side);
            let count = (table.rows() - first).min(BLOCK);
            for at in 0..count {
                hoister.load(table, first + at);
                for s in 0..streams {
                    let to = &mut rows[at * wide + s * low.dim..][..low.dim];
                    to.iter_mut().zip(hoister.stream(s)).for_each(|(o, v)| *o = T::of(*v));
                }
                (0..narrow).for_each(|a| attrs[at * narrow + a] = T::of(hoister.attr(a)));
            }
        };
        match (wide, narrow) {
            (0, 0) => {}
            (_, 0) => rows.enumerate().for_each(|(b, r)| work(b * BLOCK, r, &mut [])),
            (0, _) => {
                out.row_attrs.par_chunks_mut(BLOCK * narrow).enumerate().for_each(|(b, a)| work(b * BLOCK, &mut [], a))
            }
            _ => rows
                .zip(out.row_attrs.par_chunks_mut(BLOCK * narrow))
                .enumerate()
                .for_each(|(b, (r, a))| work(b * BLOCK, r, a)),
        }
        out.rows = Held::Own(hoisted);
        out
    }
    /// Rows of y: panels of lanes; lanes past the last row repeat it.
    pub fn by_panel(low: &Lowered, table: &Table) -> Self {
        let (streams, attrs) = (low.streams[1].len(), low.attrs[1].len());
        let mut out = Self::empty(low.dim, streams, attrs);
        let blocks = table.rows().div_ceil(BLOCK);
        let made: Vec<_> = (0..blocks).into_par_iter().map(|b| Self::panel_of(low, table, b)).collect();
        for (panels, attr_panels) in made {
            out.panels.extend(panels);
            out.attr_panels.extend(attr_panels);
        }
        out
    }
    fn panel_of(low: &Lowered, table: &Table, block: usize) -> (Vec<Lanes<T>>, Vec<Lanes<T>>) {
        let (streams, attrs) = (low.streams[1].len(), low.attrs[1].len());
        let mut hoister = low.hoister(Side::Y);
        let mut panels = vec![[T::default(); BLOCK]; streams * low.dim];
        let mut attr_panels = vec![[T::default(); BLOCK]; attrs];
        for lane in 0..BLOCK {
            let row = (block * BLOCK + lane).min(table.rows() - 1);
            hoister.load(table, row);
            for s in 0..streams {
                for (k, v) in hoister.stream(s).iter().enumerate() {
                    panels[s * low.dim + k][lane] = T::of(*v);
                }
            }
            (0..attrs).for_each(|a| attr_panels[a][lane] = T::of(hoister.attr(a)));
        }
        (panels, attr_panels)
    }
    /// Hoisted rows in another order, one after another: row r is row `order[r]` of `values`, `width` numbers each (vectors
    /// by component, then single numbers).
    pub fn arranged_by_row(low: &Lowered, side: Side, values: &[f64], order: &[u32]) -> Self {
        let (streams, attrs) = (low.streams[side as usize].len(), low.attrs[side as usize].len());
        let mut out = Self::empty(low.dim, streams, attrs);
        let wide = streams * low.dim;
        let mut rows = Vec::with_capacity(order.len() * wide);
        for row in order {
            let row = &values[*row as usize * (wide + attrs)..][..wide + attrs];
            rows.extend(row[..wide].iter().map(|v| T::of(*v)));
            out.row_attrs.extend(row[wide..].iter().map(|v| T::of(*v)));
        }
        out.rows = Held::Own(rows);
        out
    }
    /// Hoisted rows of y in another order, as panels of lanes.
    pub fn arranged_by_panel(low: &Lowered, values: &[f64], order: &[u32]) -> Self {
        let (streams, attrs) = (low.streams[1].len(), low.attrs[1].len());
        let mut out = Self::empty(low.dim, streams, attrs);
        let wide = streams * low.dim;
        for rows in order.chunks(BLOCK) {
            // Lanes past the last row repeat it.
            let at =
                |lane: usize, c: usize| T::of(values[rows[lane.min(rows.len() - 1)] as usize * (wide + attrs) + c]);
            out.panels.extend((0..wide).map(|c| std::array::from_fn::<T, BLOCK, _>(|lane| at(lane, c))));
            out.attr_panels
                .extend((wide..wide + attrs).map(|c| std::array::from_fn::<T, BLOCK, _>(|lane| at(lane, c))));
        }
        out
    }
    /// No rows.
    pub fn empty(dim: usize, streams: usize, attrs: usize) -> Self {
        Rows { dim, streams, attrs, rows: Held::Own(vec![]), row_attrs: vec![], panels: vec![], attr_panels: vec![] }
    }
    /// Packs hoisted vector `number` of all rows: `pack(data, rows, components, stride)`.
    pub fn packed<P>(&self, number: usize, pack: impl Fn(&[T], usize, usize, usize) -> P) -> P {
        let stride = self.streams * self.dim;
        let data = self.rows.get(number * self.dim..).unwrap_or(&[]);
        pack(data, self.rows.len() / stride.max(1), self.dim, stride)
    }
    /// Hoisted vector `number` of row `row`.
    #[inline(always)]
    pub fn stream(&self, number: usize, row: usize) -> &[T] {
        &self.rows[(row * self.streams + number) * self.dim..][..self.dim]
    }
    /// Hoisted number `number` of row `row`.
    #[inline(always)]
    pub fn attr(&self, number: usize, row: usize) -> T {
        self.row_attrs[row * self.attrs + number]
    }
    /// Hoisted vector `number` of the lanes of `block`, by component.
    #[inline(always)]
    pub fn panel(&self, number: usize, block: usize) -> &[Lanes<T>] {
        &self.panels[(block * self.streams + number) * self.dim..][..self.dim]
    }
    /// Hoisted number `number` of the lanes of `block`.
    #[inline(always)]
    pub fn attr_panel(&self, number: usize, block: usize) -> &Lanes<T> {
        &self.attr_panels[block * self.attrs + number]
    }
}
