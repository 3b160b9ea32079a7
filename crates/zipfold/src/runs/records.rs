//! Matches as records of words, and their order.

use crate::matches::sort_words;
use serde::{Deserialize, Serialize};
use zipfold_core::Job;
use zipfold_core::fold::{Fold, Join, JoinState};

/// How a match is written: a word for each row, or one for both where rows are below 2³²; then the
/// bits of its value, if it has one. Words in this order compare as matches do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecordForm {
    wide: bool,
    valued: bool,
}

impl RecordForm {
    /// The form of matches of `join` over `n` × `m` rows.
    pub(crate) fn new(join: &Join, n: usize, m: usize) -> Self {
        RecordForm {
            wide: n.max(m) as u64 > 1 << 32,
            valued: join.value.is_some(),
        }
    }
    /// The form of the matches of `fold`, if it is an inner join.
    pub(crate) fn of_fold(fold: &Fold, job: &Job) -> Option<Self> {
        let join = fold.inner_join()?;
        Some(RecordForm::new(join, job.space.n, job.space.m))
    }
    /// Words of a record.
    pub(crate) fn width(self) -> usize {
        1 + usize::from(self.wide) + usize::from(self.valued)
    }
    /// Bytes of a match in lists.
    pub(crate) fn listed_bytes(self) -> u64 {
        if self.valued { 24 } else { 16 }
    }
    /// Takes the matches out of `state`, sorted, as records.
    pub(crate) fn sorted(self, state: &mut JoinState) -> Vec<u64> {
        let i = std::mem::take(&mut state.i);
        let j = std::mem::take(&mut state.j);
        let values = std::mem::take(&mut state.values);
        let pairs = i.into_iter().zip(j);
        let bits = values.into_iter().map(f64::to_bits);
        let narrow = |(i, j): (u64, u64)| i << 32 | j;
        match (self.wide, self.valued) {
            (false, false) => {
                let mut all: Vec<u64> = pairs.map(narrow).collect();
                if !all.is_sorted() {
                    sort_words(&mut all);
                }
                all
            }
            (false, true) => flat(pairs.map(narrow).zip(bits).map(|(p, v)| [p, v]).collect()),
            (true, false) => flat(pairs.map(|(i, j)| [i, j]).collect()),
            (true, true) => flat(pairs.zip(bits).map(|((i, j), v)| [i, j, v]).collect()),
        }
    }
    /// Has `state` take as many more matches without growing beyond them.
    pub(crate) fn make_room(self, state: &mut JoinState, more: usize) {
        state.i.reserve_exact(more);
        state.j.reserve_exact(more);
        if self.valued {
            state.values.reserve_exact(more);
        }
    }
    /// Appends the matches of some records to `state`.
    pub(crate) fn listed(self, records: &[u64], state: &mut JoinState) {
        for record in records.chunks_exact(self.width()) {
            let (i, j) = match self.wide {
                true => (record[0], record[1]),
                false => (record[0] >> 32, record[0] & u64::from(u32::MAX)),
            };
            state.i.push(i);
            state.j.push(j);
            if self.valued {
                state.values.push(f64::from_bits(record[self.width() - 1]));
            }
        }
    }
}

/// The words of sorted records. No two matches have the same rows, so values never decide.
fn flat<const W: usize>(mut records: Vec<[u64; W]>) -> Vec<u64> {
    if !records.is_sorted() {
        records.sort_unstable();
    }
    records.into_flattened()
}
