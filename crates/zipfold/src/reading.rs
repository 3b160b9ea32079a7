//! From a problem's inputs by name to tables.

mod texts;

pub(crate) use texts::number as number_texts;

use std::collections::BTreeSet;
use zipfold_core::data::Data;
use zipfold_core::problem::{FoldSpec, Input, Problem};
use zipfold_core::{Budget, Elements, Error, Opt, Result, Table};
use zipfold_io::{ReadOptions, read_table};

/// Reads one input: the components of its rows, the attributes next to them, the words that name
/// them or that formulas compare. Where coordinates are chosen by their names, the others of
/// `named`, which formulas read, are attributes.
///
/// # Errors
/// Those of [`read_table`], and `Request` for attributes without names.
fn read_input(input: &Input, named: &[String], budget: &Budget) -> Result<Table> {
    let mut beside = attributes(input, named);
    let columns = input.columns.clone().map(|all| with_all(all, &beside));
    let (ids, texts) = (input.ids.clone(), texts::wanted(input, named));
    let options = ReadOptions {
        columns,
        ids,
        texts,
        header: input.header,
        words: Some(vec![]),
        ..ReadOptions::default()
    };
    let table = read_table(&input.name, &options, budget)?;
    beside.retain(|name| !texts::is_text(&table, name));
    if beside.is_empty() {
        return Ok(table);
    }
    if table.names().is_none() {
        return Err(nameless(input));
    }
    // Columns of words are no attributes, but a message names them.
    let known = texts::with_texts(table.names().unwrap_or_default(), &table);
    let is_words = |at: usize| at >= table.cols();
    let taken = zipfold_core::columns::expand(&beside, Some(&known), known.len(), &is_words)
        .map_err(|e| e.at_place(input.name.clone()))?;
    let rest: Vec<usize> = (0..table.cols()).filter(|c| !taken.contains(c)).collect();
    let is_text = |name: &String| texts::is_text(&table, name);
    if rest.is_empty() && !options.texts.iter().any(is_text) {
        return Err(without_components(input));
    }
    let attributes = table.picked(&taken, budget, "the attributes")?;
    table
        .picked(&rest, budget, "the components beside the attributes")?
        .with_attributes(attributes)
}

/// The attributes of an input, and the columns of `named` that are not coordinates where these are
/// chosen by their names.
fn attributes(input: &Input, named: &[String]) -> Vec<String> {
    let mut all = input.attributes.clone();
    // What a pattern chooses is not known before the file is read.
    let plain = |c: &String| !c.contains(['*', '?', '!', '-']) && c.parse::<usize>().is_err();
    if let Some(columns) = &input.columns
        && columns.iter().all(plain)
    {
        let more = named
            .iter()
            .filter(|name| !columns.contains(name) && !all.contains(name));
        let more: Vec<String> = more.cloned().collect();
        all.extend(more);
    }
    all
}

/// The names of `all`, and those of `more` that are not among them.
fn with_all(mut all: Vec<String>, more: &[String]) -> Vec<String> {
    let new = more.iter().filter(|name| !all.contains(name));
    let new: Vec<String> = new.cloned().collect();
    all.extend(new);
    all
}

fn nameless(input: &Input) -> Error {
    Error::request("attributes are read by name, and the columns have none")
        .at_place(input.name.clone())
        .remedy("a header with the names of the columns, or a file format that has names")
}

fn without_components(input: &Input) -> Error {
    Error::request("every column is an attribute, and none is a component")
        .at_place(input.name.clone())
        .remedy(format!(
            "leave one out of {}, {}, {} and {}, or take more columns",
            Opt::Attributes,
            Opt::By,
            Opt::Batch,
            Opt::Within
        ))
}

/// Reads everything that `problem` names. The weight column of a histogram is split off the
/// coordinates; columns of text that formulas name are numbered in the order of their words.
///
/// # Errors
/// Those of the readers, and `Request` for weights that do not fit.
///
/// ```
/// use zipfold::{Budget, Options, Problem, Query, io::read_data};
/// let path = std::env::temp_dir().join(format!("zipfold-{}-rows.csv", std::process::id()));
/// std::fs::write(&path, "a,b\n0,0\n3,4\n").expect("a folder for the example");
/// let problem = serde_json::json!({"schema": 1, "x": path, "folds": [{"kind": "condensed"}]});
/// let problem: Problem = serde_json::from_value(problem).expect("a problem");
/// let data = read_data(&problem, &Budget::new(1 << 20))?;
/// assert_eq!(Query::new(&problem, &data, &Options::default()).run()?.outcome.pairs, 1);
/// # std::fs::remove_file(&path).expect("the example's file");
/// # Ok::<(), zipfold::Error>(())
/// ```
pub fn read_data(problem: &Problem, budget: &Budget) -> Result<Data> {
    let problem = &with_keys(problem);
    let weights = weight_columns(problem);
    let named = problem.named_columns();
    let (mut x, wx) = split(&problem.x, &named.columns[0], &weights, budget)?;
    let second = problem
        .y
        .as_ref()
        .map(|y| split(y, &named.columns[1], &weights, budget))
        .transpose()?;
    let (mut y, wy) = match second {
        Some((y, wy)) => (Some(y), wy),
        None => (None, wx.clone()),
    };
    texts::number(problem, &named, &mut x, y.as_mut(), budget)?;
    let mut all = vec![];
    for fold in &problem.folds {
        all.push(match fold {
            FoldSpec::Histogram {
                weights: Some(name),
                ..
            } => Some([column(&wx, name)?, column(&wy, name)?]),
            FoldSpec::Reduce {
                weights: Some(input),
                ..
            } => {
                let table = read_input(input, &[], budget)?;
                check_rows(&table, &x, y.as_ref(), fold, &input.name)?;
                Some([table.clone(), table])
            }
            FoldSpec::Histogram { weights: None, .. }
            | FoldSpec::Reduce { weights: None, .. }
            | FoldSpec::Matrix {}
            | FoldSpec::Condensed {}
            | FoldSpec::Nearest { .. }
            | FoldSpec::Top(_)
            | FoldSpec::Quantile(_)
            | FoldSpec::Join { .. } => None,
        });
    }
    let pairs = problem.pairs.as_ref();
    let pairs = pairs.map(|input| read_input(input, &[], budget));
    Ok(Data {
        pairs: pairs.transpose()?,
        x,
        y,
        weights: all,
    })
}

/// The problem with the columns of keys among the attributes of its inputs: keys are no
/// coordinates.
fn with_keys(problem: &Problem) -> Problem {
    let (mut problem, keys) = (problem.clone(), problem.key_columns());
    for input in std::iter::once(&mut problem.x).chain(&mut problem.y) {
        input.attributes = with_all(std::mem::take(&mut input.attributes), &keys);
    }
    problem
}

fn weight_columns(problem: &Problem) -> Vec<String> {
    let one = |f: &FoldSpec| match f {
        FoldSpec::Histogram {
            weights: Some(name),
            ..
        } => Some(name.clone()),
        // Weights of reductions are inputs of their own.
        FoldSpec::Histogram { weights: None, .. }
        | FoldSpec::Reduce { .. }
        | FoldSpec::Matrix {}
        | FoldSpec::Condensed {}
        | FoldSpec::Nearest { .. }
        | FoldSpec::Top(_)
        | FoldSpec::Quantile(_)
        | FoldSpec::Join { .. } => None,
    };
    problem.folds.iter().filter_map(one).collect()
}

/// The coordinates, and the weight columns by name.
fn split(
    input: &Input,
    named: &[String],
    weights: &[String],
    budget: &Budget,
) -> Result<(Table, Vec<(String, Table)>)> {
    if weights.is_empty() {
        return Ok((read_input(input, named, budget)?, vec![]));
    }
    let columns = input.columns.clone();
    let with_weights = Input {
        columns: columns.map(|columns| with_all(columns, weights)),
        ..input.clone()
    };
    let whole = read_input(&with_weights, named, budget)?;
    let taken = weights
        .iter()
        .map(|w| whole.column(w))
        .collect::<Result<Vec<_>>>()?;
    let (purpose, cols) = ("the weights", whole.cols());
    // A column of weights may be an attribute or a key, too.
    let one = |at: usize| match (at.checked_sub(cols), whole.attributes()) {
        (Some(at), Some(attributes)) => attributes.picked(&[at], budget, purpose),
        _ => whole.picked(&[at], budget, purpose),
    };
    let picked = weights
        .iter()
        .zip(&taken)
        .map(|(w, at)| Ok((w.clone(), one(*at)?)))
        .collect::<Result<_>>()?;
    let rest: Vec<usize> = (0..cols).filter(|c| !taken.contains(c)).collect();
    let coordinates = whole.picked(&rest, budget, "the coordinates beside the weights")?;
    // Weights are no coordinates, but formulas read any column by its name.
    let is_read =
        |at: &&usize| **at < cols && whole.names().is_some_and(|n| named.contains(&n[**at]));
    let read: BTreeSet<usize> = taken.iter().filter(is_read).copied().collect();
    let read: Vec<usize> = read.into_iter().collect();
    let mut attributes = whole.attributes().cloned();
    if !read.is_empty() {
        attributes = Some(side_by_side(
            attributes,
            whole.picked(&read, budget, purpose)?,
            budget,
        )?);
    }
    let coordinates = match attributes {
        Some(attributes) => coordinates.with_attributes(attributes)?,
        None => coordinates,
    };
    Ok((coordinates, picked))
}

/// The columns of both tables, which have names.
fn side_by_side(first: Option<Table>, second: Table, budget: &Budget) -> Result<Table> {
    let Some(first) = first else {
        return Ok(second);
    };
    let both = [&first, &second];
    let names = both
        .iter()
        .flat_map(|table| table.names().unwrap_or_default());
    let of_row = |row: usize| {
        let columns = both
            .into_iter()
            .flat_map(|t| (0..t.cols()).map(move |c| (t, c)));
        columns.map(move |(table, column)| table.get(row, column))
    };
    let cols = first.cols() + second.cols();
    let mut all = budget.with_capacity(first.rows().saturating_mul(cols), "the attributes")?;
    all.items.extend((0..first.rows()).flat_map(of_row));
    let names = names.cloned().collect();
    Table::new(first.rows(), cols, Elements::F64(all.into()))?.with_names(names)
}

fn column(columns: &[(String, Table)], name: &str) -> Result<Table> {
    let found = columns
        .iter()
        .find(|(n, _)| n == name)
        .map(|(_, t)| t.clone());
    found.ok_or_else(|| Error::internal(format!("the weight column '{name}' was not read")))
}

fn check_rows(
    weights: &Table,
    x: &Table,
    y: Option<&Table>,
    fold: &FoldSpec,
    name: &str,
) -> Result<()> {
    let by_column = matches!(
        fold,
        FoldSpec::Reduce {
            axis: zipfold_core::fold::rows::ReduceAxis::Column,
            ..
        }
    );
    let rows = if by_column {
        x.rows()
    } else {
        y.unwrap_or(x).rows()
    };
    if weights.rows() == rows {
        return Ok(());
    }
    let e = Error::input(format!("{} weights for {rows} rows", weights.rows())).at_place(name);
    Err(e.remedy("one weight for every row that is folded away"))
}
