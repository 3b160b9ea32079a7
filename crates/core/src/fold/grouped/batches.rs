//! Answers of batches: lines after the number of the batch.
//!
//! ```text
//! in all       batch, result                   top          batch, i, j, value
//! matrices     batch, i, j, value              histogram    batch, then the lines of the histogram
//! ```

use super::{Grouped, GroupedState};
use crate::fold::{
    Column, Columns, Fold, Kept, Layout, Listed, ListedPlaces, ListedState, Numbers, ReduceState,
    Role, State, Top,
};
use crate::pair::Side;
use std::ops::Range;
use std::sync::Arc;

impl Grouped {
    /// The batch of each line, by its number.
    pub(super) fn batch<'a>(&self, groups: Vec<u64>) -> Column<'a> {
        Column::new("batch", Role::Group(Side::X), groups)
            .called(self.batch_name())
            .as_index()
    }
    /// The column that batches are named by.
    fn batch_name(&self) -> String {
        let by = self.parts.by.as_ref();
        by.map_or_else(|| "batch".into(), |by| by.column.clone())
    }
    /// The batch and the rows of some lines of matrices, which begin at `starts`.
    fn lines_of(&self, fold: &Listed, starts: &[usize], lines: &Range<usize>) -> Vec<[u32; 3]> {
        let mut out = Vec::with_capacity(lines.len());
        let mut at = starts.partition_point(|start| *start <= lines.start) - 1;
        while out.len() < lines.len() {
            let ([n, m], group) = (self.size(at as u32), self.parts.list[at].groups[0]);
            let (x, y) = self.sides(at as u32);
            let first = lines.start.max(starts[at]) - starts[at];
            let pairs = fold.pairs(n, m).skip(first).take(lines.len() - out.len());
            out.extend(pairs.map(|[i, j]| [group, x[i], y[j]]));
            at += 1;
        }
        out
    }
    /// The names of batches.
    fn names(&self) -> Option<Arc<[String]>> {
        let by = self.parts.by.as_ref().filter(|_| self.parts.batches);
        by.map(|by| by.names.clone())
    }
    /// One result of the rows of all parts, which are added in their order; of batches one for each.
    pub(super) fn in_all<'a>(&'a self, state: &'a GroupedState) -> Columns<'a> {
        let Fold::Reduce(fold) = &*self.inner else {
            return Columns::new(Layout::Table, vec![0], vec![]);
        };
        let count = self.apart_in_all();
        let mut all = vec![ReduceState::part(); count];
        for (slot, state) in &state.slots {
            let (_, cols) = self.sides(*slot);
            let group = self.parts.list[*slot as usize].groups[0] as usize;
            let all = &mut all[group.min(count - 1)];
            let part = ReduceState::within(state);
            part.into_iter()
                .for_each(|part| all.append(fold, part, &cols));
        }
        if !self.parts.batches {
            return fold.columns_of(&all[0]);
        }
        let alone = fold.columns_of(&ReduceState::part());
        let width = alone.lines();
        let mut numbers = alone.all(&alone.columns[0]).repeated(count);
        for (at, state) in all.iter().enumerate() {
            let answer = fold.columns_of(state);
            numbers.put(at * width, &answer.all(&answer.columns[0]), 0..width);
        }
        let groups = (0..count as u64).flat_map(|group| std::iter::repeat_n(group, width));
        let columns = vec![
            self.batch(groups.collect()),
            alone.columns[0].with_numbers(numbers),
        ];
        let mut shape = alone.shape.clone();
        shape[0] = count;
        Columns {
            groups: self.names(),
            ..Columns::new(Layout::Table, shape, columns)
        }
    }
    /// How many results in all there are.
    fn apart_in_all(&self) -> usize {
        match self.parts.batches {
            true => self.parts.groups(),
            false => 1,
        }
    }
    /// The values of the matrices of all batches, one after another, with their rows.
    pub(super) fn matrices<'a>(&'a self, fold: &'a Listed, state: &'a GroupedState) -> Columns<'a> {
        let mut starts = vec![0];
        for at in 0..self.parts.list.len() {
            let [n, m] = self.size(at as u32);
            starts.push(starts[at] + fold.count(n, m));
        }
        let mut values = vec![f64::NAN; starts[self.parts.list.len()]];
        for (slot, state) in &state.slots {
            let at = *slot as usize;
            let own = &mut values[starts[at]..starts[at + 1]];
            if let Some(state) = ListedState::within(state) {
                state.put(own, |place| place);
                if fold.places == ListedPlaces::Matrix && self.parts.list[at].is_half() {
                    state.mirror(own, self.parts.list[at].space(None).n);
                }
            }
        }
        // Only tables have the rows, and these are many.
        let starts: Arc<[usize]> = starts.into();
        let made = |name: &'static str, role: Role, part: usize| {
            let starts = starts.clone();
            let made = move |lines: &Range<usize>| -> Numbers<'a> {
                let lines = self.lines_of(fold, &starts, lines);
                let numbers = lines.iter().map(|line| u64::from(line[part]));
                numbers.collect::<Vec<u64>>().into()
            };
            Column::made(name, role, made).as_index()
        };
        let shape = vec![values.len()];
        let columns = vec![
            made("batch", Role::Group(Side::X), 0).called(self.batch_name()),
            made("i", Role::Row(Side::X), 1),
            made("j", Role::Row(Side::Y), 2),
            Column::new("values", Role::Value, values).called("value"),
        ];
        Columns {
            groups: self.names(),
            ..Columns::new(Layout::Table, shape, columns)
        }
    }
    /// The best pairs of each batch.
    pub(super) fn best_of_batches<'a>(&'a self, top: &Top, state: &'a GroupedState) -> Columns<'a> {
        let slots: Vec<(&u32, &State)> = state.slots.iter().collect();
        let group = |slot: u32| self.parts.list[slot as usize].groups[0];
        let nothing = top.listed(vec![]);
        let empty = nothing
            .columns
            .iter()
            .map(|column| nothing.all(column).into_owned());
        let mut all: Vec<Numbers<'static>> = empty.collect();
        let mut groups = vec![];
        for slots in slots.chunk_by(|a, b| group(*a.0) == group(*b.0)) {
            let best = top.listed(self.best(top, &mut slots.iter().copied()));
            groups.extend(std::iter::repeat_n(
                u64::from(group(*slots[0].0)),
                best.lines(),
            ));
            for (all, column) in all.iter_mut().zip(&best.columns) {
                all.append(&best.all(column));
            }
        }
        let shape = vec![groups.len()];
        let columns = nothing.columns.iter().zip(all);
        let columns = columns.map(|(column, numbers)| column.with_numbers(numbers));
        let columns = std::iter::once(self.batch(groups)).chain(columns).collect();
        Columns {
            groups: self.names(),
            ..Columns::new(Layout::Table, shape, columns)
        }
    }
}
