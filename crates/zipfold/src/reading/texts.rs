//! Columns of text that formulas compare: their words become numbers in ascending order, one order
//! for both tables.

use std::collections::{HashMap, HashSet};
use zipfold_core::budget::Tab;
use zipfold_core::problem::{Input, NamedColumns, Problem};
use zipfold_core::table::place_of;
use zipfold_core::{Budget, Elements, Labels, Result, Table, Words};

/// Bytes that a word takes in the order next to its letters.
const WORD: u64 = 96;

/// The columns of `input` that are compared where they are text: the ones that formulas name, and
/// its attributes.
pub(super) fn wanted(input: &Input, named: &[String]) -> Vec<String> {
    let more = input.attributes.iter().filter(|name| !named.contains(name));
    named.iter().chain(more).cloned().collect()
}

/// Whether the column `name` was read as text.
pub(super) fn is_text(table: &Table, name: &str) -> bool {
    table.labels().is_some_and(|all| {
        all.columns()
            .iter()
            .any(|words| words.text && words.name == name)
    })
}

/// `names`, and after them those of the columns that were read as text.
pub(super) fn with_texts(names: &[String], table: &Table) -> Vec<String> {
    let all = table.labels().map_or(&[][..], Labels::columns);
    let texts = all.iter().filter(|words| words.text);
    let texts = texts.map(|words| words.name.clone());
    names.iter().cloned().chain(texts).collect()
}

/// Makes attributes of the columns of text that formulas name, and of texts that formulas hold:
/// numbers from 0 in ascending order of all their words, NaN where there is none. A table of
/// nothing but text has them as its components.
///
/// # Errors
/// `Request` for a name of two columns, `Resource` beyond the budget.
pub(crate) fn number(
    problem: &Problem,
    named: &NamedColumns,
    x: &mut Table,
    mut y: Option<&mut Table>,
    budget: &Budget,
) -> Result<()> {
    let inputs = [Some(&problem.x), problem.y.as_ref()];
    let sides = text_columns(inputs, named, [Some(&*x), y.as_deref()])?;
    if sides.iter().all(Vec::is_empty) && named.texts.is_empty() {
        return Ok(());
    }
    let (words, room) = distinct(&sides, &named.texts, budget)?;
    let order: HashMap<&str, f64> = words
        .iter()
        .enumerate()
        .map(|(at, word)| (*word, at as f64))
        .collect();
    let known = Words::from_words("", words.iter().copied());
    let made = |(table, found): (&Table, &Vec<Words>)| {
        numbered(table, found, &named.texts, &order, budget)
    };
    let tables = [Some(&*x), y.as_deref()]
        .into_iter()
        .flatten()
        .zip(&sides)
        .map(made)
        .collect::<Result<Vec<_>>>()?;
    for ((table, input), made) in [Some(x), y.take()]
        .into_iter()
        .flatten()
        .zip(inputs.into_iter().flatten())
        .zip(tables)
    {
        let labels = ids(made.labels(), input);
        *table = made.with_labels(labels)?.with_words(known.clone());
    }
    // The order ends here, the words go on.
    drop(order);
    let kept = words.iter().map(|word| word.len() as u64 + 8).sum();
    drop((words, room));
    budget.spend(kept, "the words of text columns")
}

/// By table: its columns of text that formulas name.
fn text_columns(
    inputs: [Option<&Input>; 2],
    named: &NamedColumns,
    tables: [Option<&Table>; 2],
) -> Result<Vec<Vec<Words>>> {
    let mut sides = vec![];
    for (side, table) in tables.into_iter().enumerate() {
        if let (Some(table), Some(input)) = (table, inputs[side]) {
            let found = columns(table, &wanted(input, &named.columns[side]));
            sides.push(found.map_err(|e| e.at_place(input.name.clone()))?);
        }
    }
    Ok(sides)
}

/// The words of the columns of `sides` and of `texts`, each once, in ascending order, with the
/// memory that they take.
fn distinct<'w>(
    sides: &'w [Vec<Words>],
    texts: &'w [String],
    budget: &Budget,
) -> Result<(Vec<&'w str>, Tab)> {
    let all = sides
        .iter()
        .flatten()
        .flat_map(|words| (0..words.rows()).map(|row| words.get(row)));
    let mut words = HashSet::new();
    let mut room = budget.tab("the order of the words of text columns");
    for word in all
        .chain(texts.iter().map(String::as_str))
        .filter(|word| !word.is_empty())
    {
        if words.insert(word) {
            room.add(WORD + 2 * word.len() as u64)?;
        }
    }
    let mut words: Vec<&str> = words.into_iter().collect();
    words.sort_unstable();
    Ok((words, room))
}

/// The columns of text among those `wanted`.
fn columns(table: &Table, wanted: &[String]) -> Result<Vec<Words>> {
    let all = table.labels().map_or(&[][..], Labels::columns);
    let names: Vec<String> = all.iter().map(|words| words.name.clone()).collect();
    let places = wanted
        .iter()
        .map(|name| place_of(&names, name))
        .collect::<Result<Vec<_>>>()?;
    Ok(places
        .into_iter()
        .flatten()
        .map(|at| all[at].clone())
        .filter(|words| words.text)
        .collect())
}

/// `table` with the numbers of `found`, and of texts that formulas hold, after its attributes.
fn numbered(
    table: &Table,
    found: &[Words],
    texts: &[String],
    order: &HashMap<&str, f64>,
    budget: &Budget,
) -> Result<Table> {
    let beside = table.attributes();
    let old = beside.map_or(0, Table::cols);
    let width = old + found.len() + texts.len();
    if width == old {
        return Ok(table.clone());
    }
    let total = table.rows().saturating_mul(width);
    let mut items = budget.with_capacity(total, "the numbers of text columns")?;
    let number = |word: &str| order.get(word).copied().unwrap_or(f64::NAN);
    for row in 0..table.rows() {
        items.items.extend(
            beside
                .iter()
                .flat_map(|beside| (0..old).map(|at| beside.get(row, at))),
        );
        items
            .items
            .extend(found.iter().map(|words| number(words.get(row))));
        items.items.extend(texts.iter().map(|text| number(text)));
    }
    let mut names: Vec<String> = beside.and_then(Table::names).unwrap_or_default().to_vec();
    names.extend(found.iter().map(|words| words.name.clone()));
    names.extend(texts.iter().map(|text| zipfold_core::pair::own_text(text)));
    let made = Table::new(table.rows(), width, Elements::F64(items.into()))?.with_names(names)?;
    let made = made.with_texts((old..width).collect());
    if table.cols() == 0 {
        made.with_labels(table.labels().cloned())
    } else {
        table.clone().with_attributes(made)
    }
}

/// The words that name rows: all columns of text where nothing is said, else those said.
fn ids(labels: Option<&Labels>, input: &Input) -> Option<Labels> {
    let guessed = input.ids.is_empty() && input.columns.is_none();
    let names_rows = |words: &&Words| guessed || input.ids.contains(&words.name);
    Labels::new(
        labels?
            .columns()
            .iter()
            .filter(names_rows)
            .cloned()
            .collect(),
    )
}
