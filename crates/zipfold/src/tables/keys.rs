//! Equality keys: the values of some columns of both tables as one number for each row.
//!
//! Keys are numbered in the order of the rows of y. A row of x whose key is not in y, and a row of y
//! whose key is not in x, have no partner: engines never see them.

use super::sides::{ColumnPlace, SideTable};
use std::collections::HashMap;
use zipfold_core::{Budget, Error, Opt, Result, Words};

/// Rows by key.
#[derive(Clone, Debug)]
pub(crate) struct RowsByKey {
    /// The columns of x and of y.
    pub(crate) columns: [Vec<String>; 2],
    /// By row, the number of its key; NaN where it has no partner.
    pub(crate) codes: [Vec<f64>; 2],
    /// The rows with a partner, ascending.
    pub(crate) rows: [Vec<u32>; 2],
    /// Number of keys that both have.
    pub(crate) count: usize,
}

/// Bytes of a row's key while keys are numbered.
const BYTES: u64 = 48;

impl RowsByKey {
    /// Numbers the keys that `on` names: `NAME`, or `A=B` for columns of two names.
    ///
    /// # Errors
    /// `Request` for columns that there are not, and for text on one side and numbers on the other;
    /// `Resource` beyond the budget.
    pub(crate) fn read(
        on: &[String],
        sides: [&SideTable; 2],
        budget: &Budget,
    ) -> Result<RowsByKey> {
        let rows = (sides[0].rows() + sides[1].rows()) as u64;
        let _held = budget.reserve(rows.saturating_mul(BYTES), "the keys of rows")?;
        let mut columns = [vec![], vec![]];
        let mut codes = sides.map(|side| vec![Some(0u32); side.rows()]);
        for text in on {
            let names = RowsByKey::names(text);
            let places = [
                sides[0].column(names[0], Opt::On)?,
                sides[1].column(names[1], Opt::On)?,
            ];
            refine(&mut codes, sides, places, text)?;
            columns
                .iter_mut()
                .zip(names)
                .for_each(|(to, name)| to.push(name.to_string()));
        }
        Ok(RowsByKey::new(columns, codes))
    }
    /// The columns of x and of y that `NAME` or `A=B` names.
    pub(crate) fn names(text: &str) -> [&str; 2] {
        match text.split_once('=') {
            Some((a, b)) => [a.trim(), b.trim()],
            None => [text.trim(); 2],
        }
    }
    fn new(columns: [Vec<String>; 2], codes: [Vec<Option<u32>>; 2]) -> RowsByKey {
        let most = codes
            .iter()
            .flatten()
            .flatten()
            .max()
            .map_or(0, |c| *c as usize + 1);
        let mut there = [vec![false; most], vec![false; most]];
        for (there, codes) in there.iter_mut().zip(&codes) {
            codes
                .iter()
                .flatten()
                .for_each(|c| there[*c as usize] = true);
        }
        let both = |code: u32| there[0][code as usize] && there[1][code as usize];
        let count = (0..most as u32).filter(|code| both(*code)).count();
        let code = |code: &Option<u32>| code.filter(|code| both(*code)).map_or(f64::NAN, f64::from);
        let numbers = codes.map(|side| side.iter().map(code).collect::<Vec<f64>>());
        let rows = [0, 1].map(|side: usize| {
            let with = numbers[side]
                .iter()
                .enumerate()
                .filter(|(_, c)| !c.is_nan());
            with.map(|(row, _)| row as u32).collect()
        });
        RowsByKey {
            columns,
            codes: numbers,
            rows,
            count,
        }
    }
    /// Number of pairs of rows with equal keys: of all keys, and of the key that has the most.
    pub(crate) fn pairs(&self) -> [u64; 2] {
        let (starts, _) = self.rows_of_y();
        let mut by_key = vec![0; starts.len()];
        for row in &self.rows[0] {
            let code = self.codes[0][*row as usize] as usize;
            by_key[code] += (starts[code + 1] - starts[code]) as u64;
        }
        [
            by_key.iter().sum(),
            by_key.iter().copied().max().unwrap_or(0),
        ]
    }
    /// The rows of y by key: for each key where they begin, and the rows.
    pub(crate) fn rows_of_y(&self) -> (Vec<usize>, Vec<u32>) {
        let keys = self.codes.iter().flatten().filter(|c| !c.is_nan());
        let most = keys.fold(0, |most, c| most.max(*c as usize + 1));
        let mut starts = vec![0; most + 1];
        let code = |row: &u32| self.codes[1][*row as usize] as usize;
        self.rows[1]
            .iter()
            .for_each(|row| starts[code(row) + 1] += 1);
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut rows = vec![0; self.rows[1].len()];
        for row in &self.rows[1] {
            let place = &mut next[code(row)];
            rows[*place] = *row;
            *place += 1;
        }
        (starts, rows)
    }
}

/// Tells keys apart by one more column.
fn refine(
    codes: &mut [Vec<Option<u32>>; 2],
    sides: [&SideTable; 2],
    places: [ColumnPlace; 2],
    text: &str,
) -> Result<()> {
    let values: [Vec<Option<u64>>; 2] = match places {
        [ColumnPlace::Number(a), ColumnPlace::Number(b)] => [bits(sides[0], a), bits(sides[1], b)],
        [ColumnPlace::Word(a), ColumnPlace::Word(b)] => {
            numbered([&sides[0].words[a], &sides[1].words[b]])
        }
        // A column of nulls alone has no kind, and no row of it a partner.
        _ if (0..2).any(|side| has_no_value(sides[side], places[side])) => {
            sides.map(|side| vec![None; side.rows()])
        }
        [ColumnPlace::Number(_), ColumnPlace::Word(_)]
        | [ColumnPlace::Word(_), ColumnPlace::Number(_)] => {
            let what = format!(
                "expected text or numbers on both sides of the key '{text}', got one of each"
            );
            return Err(Error::request(what)
                .at_place(Opt::On)
                .remedy("write both columns the same way"));
        }
    };
    let mut known: HashMap<(u32, u64), u32> = HashMap::new();
    for (codes, values) in codes.iter_mut().zip(&values) {
        for (code, value) in codes.iter_mut().zip(values) {
            let next = known.len() as u32;
            *code = code
                .zip(*value)
                .map(|key| *known.entry(key).or_insert(next));
        }
    }
    Ok(())
}

/// Whether all cells of a column are nulls.
fn has_no_value(side: &SideTable, place: ColumnPlace) -> bool {
    (0..side.rows()).all(|row| match place {
        ColumnPlace::Number(at) => side.table.get(row, at).is_nan(),
        ColumnPlace::Word(at) => side.words[at].get(row).is_empty(),
    })
}

/// The words of two columns as numbers; an empty word is none.
fn numbered(columns: [&Words; 2]) -> [Vec<Option<u64>>; 2] {
    let mut known = HashMap::new();
    columns.map(|words| {
        let number = |row: usize| {
            let word = words.get(row);
            let next = known.len() as u64;
            (!word.is_empty()).then(|| *known.entry(word).or_insert(next))
        };
        (0..words.rows()).map(number).collect()
    })
}

/// The numbers of a column by their bits: −0 and 0 are one key, NaN is none.
fn bits(side: &SideTable, at: usize) -> Vec<Option<u64>> {
    let key = |v: f64| (!v.is_nan()).then(|| (v + 0.0).to_bits());
    (0..side.rows())
        .map(|row| key(side.table.get(row, at)))
        .collect()
}
