//! Matches in the order of the rows of x, a part of these rows at a time.
//!
//! ```text
//! rows of x   |--|--------|----------------|  each a question of the engine against all of y;
//!              256  2048      16384           as many rows as give the matches that memory holds
//! ```
//!
//! Nearest rows are one question, or one for each part of the rows of x whose lists memory holds. Where all ties are asked and a row has one at its end, a second
//! question finds every row of y that is as near.

use super::asked::{TableKind, Ties};
use super::keys::RowsByKey;
use super::listed::{ListedPairs, RowMatches};
use super::sides::KEY;
use super::signals::StopNowAndThen;
use crate::options::Options;
use crate::query::{Answer, Query};
use std::ops::Range;
use zipfold_core::fold::{Columns, JoinKind, Numbers, Role};
use zipfold_core::problem::{FoldSpec, Input, NamedColumns, NanPolicy, PairSpec, Problem};
use zipfold_core::{
    Blame, Budget, Data, Domain, Error, Message, Opt, Reservation, Result, Side, Table, describe,
};
use zipfold_gpu::DeviceSelector;
use zipfold_plan::Stop;

/// Matches that are handed on at a time.
const CHUNK: usize = 1 << 17;
/// Bytes of a match while the engine finds and sorts it.
const BYTES: u64 = 160;
/// Bytes of a match in a list that grows.
const MATCH: u64 = 32;
/// The most matches that are found at once: more do not make a part quicker.
const MOST: u64 = 1 << 23;
/// The fewest rows of x of a first part.
const FEW: usize = 256;
/// The attribute that has the value of the last nearest row.
const LAST: &str = "last_of_the_nearest";

/// Some matches, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct MatchBatch {
    /// Rows of x.
    pub(crate) i: Vec<u64>,
    /// Rows of y; below 0 where there is none.
    pub(crate) j: Vec<i64>,
    /// Values, NaN where there is none; empty where none are asked.
    pub(crate) values: Vec<f64>,
}

/// The nearest rows that are asked.
#[derive(Clone, Debug)]
pub(crate) struct NearestRows {
    /// How many of each row.
    pub(crate) k: usize,
    /// What happens to rows as near as the last.
    pub(crate) ties: Ties,
    /// The largest value (the smallest of a similarity).
    pub(crate) within: Option<f64>,
}

/// What is asked of the pairs.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// Names of the tables.
    pub(crate) names: [String; 2],
    /// Whether y is x.
    pub(crate) same: bool,
    /// Of one table, both orders of each pair.
    pub(crate) ordered: bool,
    /// The condition.
    pub(crate) predicate: Option<String>,
    /// What orders nearest rows, with the values of parameters.
    pub(crate) pair: PairSpec,
    /// The value of matches, as a formula.
    pub(crate) value: Option<String>,
    /// What becomes of matches.
    pub(crate) kind: TableKind,
    /// The nearest rows.
    pub(crate) nearest: Option<NearestRows>,
}

/// The pairs that are asked, and the rows they are of.
pub(crate) struct Matching<'a> {
    wanted: &'a Wanted,
    keys: Option<&'a RowsByKey>,
    /// All rows.
    data: &'a Data,
    options: &'a Options<'a>,
}

/// Takes matches and makes the kind of rows that is asked of them.
struct Batcher<'s> {
    kind: TableKind,
    valued: bool,
    /// The first row of x that is not decided.
    next: u64,
    buffer: MatchBatch,
    stop: Stop<'s>,
    sink: &'s mut Taker<'s>,
}

impl Batcher<'_> {
    fn push(&mut self, i: u64, j: i64, value: f64) -> Result<()> {
        self.buffer.i.push(i);
        self.buffer.j.push(j);
        if self.valued {
            self.buffer.values.push(value);
        }
        match self.buffer.i.len() >= CHUNK {
            true => self.flush(),
            false => Ok(()),
        }
    }
    fn flush(&mut self) -> Result<()> {
        self.stop.check()?;
        let buffer = std::mem::take(&mut self.buffer);
        match buffer.i.is_empty() {
            true => Ok(()),
            false => (self.sink)(&buffer),
        }
    }
    /// Takes a match; rows of x ascend.
    fn matched(&mut self, i: u64, j: u64, value: f64) -> Result<()> {
        match self.kind {
            TableKind::Any if i < self.next => return Ok(()),
            TableKind::Left => self.without(i)?,
            TableKind::Inner | TableKind::Any | TableKind::Semi | TableKind::Anti => {}
        }
        self.next = i + 1;
        self.push(i, j as i64, value)
    }
    /// Adds the rows of x below `end` that have no match.
    fn without(&mut self, end: u64) -> Result<()> {
        while self.next < end {
            self.push(self.next, -1, f64::NAN)?;
            self.next += 1;
        }
        Ok(())
    }
}

impl Batcher<'_> {
    /// Takes the matches of all rows of x.
    fn lists(&mut self, lists: &[RowMatches]) -> Result<()> {
        let rows = lists.iter().enumerate();
        rows.into_iter()
            .try_for_each(|(row, list)| self.row(row as u64, list))
    }
    /// Takes all matches of row `i` of x.
    fn row(&mut self, i: u64, list: &[(f64, u64)]) -> Result<()> {
        match self.kind {
            TableKind::Inner | TableKind::Left => {
                let mut each = list.iter();
                each.try_for_each(|(value, j)| self.matched(i, *j, *value))
            }
            TableKind::Any => {
                let mut first = list.first().into_iter();
                first.try_for_each(|(value, j)| self.matched(i, *j, *value))
            }
            TableKind::Semi | TableKind::Anti => {
                match list.is_empty() == (self.kind == TableKind::Anti) {
                    true => self.push(i, -1, f64::NAN),
                    false => Ok(()),
                }
            }
        }
    }
}

/// Hands the matches of all rows of x to `sink`, as rows of this kind.
///
/// # Errors
/// Those of `sink`; `Interrupted`.
pub(crate) fn hand_on(
    kind: TableKind,
    lists: &[RowMatches],
    stop: Stop<'_>,
    sink: &mut Taker<'_>,
) -> Result<()> {
    let mut out = Batcher {
        kind,
        valued: true,
        next: 0,
        buffer: MatchBatch::default(),
        stop,
        sink,
    };
    out.lists(lists)?;
    if kind == TableKind::Left {
        out.without(lists.len() as u64)?;
    }
    out.flush()
}

/// Takes some matches.
pub(crate) type Taker<'s> = dyn FnMut(&MatchBatch) -> Result<()> + 's;

impl<'a> Matching<'a> {
    /// The pairs of `data`, all rows as they were given.
    pub(crate) fn new(
        wanted: &'a Wanted,
        keys: Option<&'a RowsByKey>,
        data: &'a Data,
        options: &'a Options<'a>,
    ) -> Matching<'a> {
        Matching {
            wanted,
            keys,
            data,
            options,
        }
    }
    /// Finds the matches, hands them to `sink` some at a time, and returns the pairs visited.
    ///
    /// # Errors
    /// Those of the engine and of `sink`.
    pub(crate) fn each(&self, sink: &mut Taker<'_>) -> Result<u64> {
        let wanted = self.wanted;
        let mut out = Batcher {
            kind: wanted.kind,
            valued: wanted.value.is_some(),
            next: 0,
            buffer: MatchBatch::default(),
            stop: Stop(self.options.stop),
            sink,
        };
        let pairs = match (&wanted.nearest, wanted.kind.has_pairs()) {
            _ if self.is_listed() => self.listed(&mut out)?,
            (Some(nearest), _) => self.nearest(nearest, &mut out)?,
            (None, false) => self.rows_of_x(&mut out)?,
            (None, true) if wanted.predicate.is_none() => {
                if self.has_device() {
                    self.options
                        .warnings
                        .add("pairs of equal keys alone are listed on the host, not on a device");
                }
                self.by_keys(&mut out)?
            }
            (None, true) => self.parts(&mut out)?,
        };
        if wanted.kind == TableKind::Left {
            out.without(self.data.x.rows() as u64)?;
        }
        out.flush()?;
        Ok(pairs)
    }
    /// Says how the pairs would be found.
    ///
    /// # Errors
    /// Those of the engine.
    pub(crate) fn explain(&self) -> Result<Message> {
        let wanted = self.wanted;
        if wanted.predicate.is_none() && wanted.nearest.is_none() {
            return Ok(Message::from(
                "pairs of equal keys alone: rows are listed by key",
            ));
        }
        if let (true, Some(keys)) = (self.is_listed(), self.keys) {
            let [pairs, _] = keys.pairs();
            return Ok(Message::from(format!(
                "{pairs} pairs of {} keys: evaluated one by one on the host",
                keys.count
            )));
        }
        let data = self.rows(None)?;
        let problem = match &wanted.nearest {
            Some(nearest) => self.nearest_problem(nearest.k, true),
            None => self.join_problem(JoinKind::Inner, wanted.same),
        };
        let explained = Query::new(&problem, &data, self.options).explain()?;
        Ok(explained.text(false))
    }
    /// The problem about the pairs of x and y, or of x with itself.
    fn problem(&self, pair: PairSpec, fold: FoldSpec, same: bool) -> Problem {
        let [x, y] = &self.wanted.names;
        Problem {
            y: (!same).then(|| Input::named(y.as_str())),
            domain: (same && self.wanted.ordered).then_some(Domain::Ordered),
            within: self.keys.map(|_| format!("same:{KEY}")),
            precision: None,
            // As in SQL, a comparison with a null is not true.
            nan: NanPolicy::Propagate,
            ..Problem::new(Input::named(x.as_str()), pair, vec![fold])
        }
    }
    fn join_problem(&self, kind: JoinKind, same: bool) -> Problem {
        let fold = FoldSpec::Join {
            predicate: self.wanted.predicate.clone().unwrap_or_default(),
            value: match kind {
                JoinKind::Inner => self.wanted.value.clone(),
                JoinKind::Semi | JoinKind::Anti => None,
            },
            kind,
        };
        self.problem(self.params_alone(), fold, same)
    }
    /// Whether the pairs of equal keys are evaluated one by one.
    fn is_listed(&self) -> bool {
        let wanted = self.wanted;
        let asked = wanted.predicate.is_some() || wanted.nearest.is_some();
        // Options of a metric have no place in a formula.
        let plain = wanted.pair.metric.is_none() || wanted.pair.params.is_empty();
        asked && plain && !self.has_device() && self.keys.is_some_and(ListedPairs::pays)
    }
    /// Whether a device was requested by name.
    fn has_device(&self) -> bool {
        !matches!(
            self.options.device,
            DeviceSelector::Cpu | DeviceSelector::Auto
        )
    }
    /// The question of one pair of equal keys.
    fn listed_problem(&self) -> Problem {
        let (wanted, value) = (self.wanted, self.wanted.value.as_deref());
        let predicate = match (&wanted.predicate, &wanted.nearest, value) {
            (Some(condition), Some(_), _) => self.known(condition),
            (Some(condition), None, _) => condition.clone(),
            // Any value but NaN is a match.
            (None, _, value) => {
                let value = value.unwrap_or_default();
                format!("({value}) == ({value})")
            }
        };
        let mut problem = self.join_problem(JoinKind::Inner, false);
        problem.within = None;
        problem.folds = vec![FoldSpec::Join {
            predicate,
            value: wanted.value.clone(),
            kind: JoinKind::Inner,
        }];
        problem
    }
    /// Matches of the pairs of equal keys one by one.
    fn listed(&self, out: &mut Batcher<'_>) -> Result<u64> {
        let Some(keys) = self.keys else {
            return Err(Error::internal("pairs by key without keys"));
        };
        let (wanted, problem) = (self.wanted, self.listed_problem());
        let (x, y) = (self.data.x.clone(), Some(self.data.other().clone()));
        let data = Data::of_tables(x, y);
        let pairs = ListedPairs::new(&problem, data, keys, self.options)?;
        let half = self.is_half()?;
        let similar = self.is_similarity();
        let mut next = 0;
        let visited = pairs.each(
            |i, j| keeps(wanted.same, half, i, j),
            |i, list| {
                (next..i).try_for_each(|row| out.row(row, &[]))?;
                next = i + 1;
                match &wanted.nearest {
                    Some(nearest) => out.row(i, &nearest.best(list, similar)),
                    None => out.row(i, &list),
                }
            },
        )?;
        let end = self.data.x.rows() as u64;
        (next..end).try_for_each(|row| out.row(row, &[]))?;
        Ok(visited)
    }
    /// The rows of the problem: some of those of x that have a partner, all of y; y is none for
    /// all rows of one table.
    fn rows(&self, some: Option<Range<usize>>) -> Result<Data> {
        let all = |table: &Table| (0..table.rows() as u32).collect::<Vec<u32>>();
        let of_side = |table: &Table, side: usize| match self.keys {
            Some(keys) => keys.rows[side].clone(),
            None => all(table),
        };
        let whole = some.is_none();
        let x = match (some, self.keys) {
            (None, None) => self.data.x.clone(),
            (some, _) => {
                let rows = of_side(&self.data.x, 0);
                let range = some.unwrap_or(0..rows.len());
                self.data.x.of_rows(&rows[range])?
            }
        };
        let y = match (whole && self.wanted.same, self.keys) {
            (true, _) => None,
            (false, None) => Some(self.data.other().clone()),
            (false, Some(_)) => {
                let table = self.data.other();
                Some(table.of_rows(&of_side(table, 1))?)
            }
        };
        Ok(Data::of_tables(x, y))
    }
    /// How many rows of x and of y have a partner.
    fn counts(&self) -> [usize; 2] {
        match self.keys {
            Some(keys) => [keys.rows[0].len(), keys.rows[1].len()],
            None => [self.data.x.rows(), self.data.other().rows()],
        }
    }
    /// The row as given of row `at` of the problem.
    fn row(&self, side: usize, at: usize) -> u64 {
        match self.keys {
            Some(keys) => u64::from(keys.rows[side][at]),
            None => at as u64,
        }
    }
    /// Of one table, whether pairs are unordered: the condition is symmetric.
    fn is_half(&self) -> Result<bool> {
        let wanted = self.wanted;
        let of_rows = wanted.kind != TableKind::Inner || wanted.nearest.is_some();
        if !wanted.same || wanted.ordered || of_rows {
            return Ok(false);
        }
        if wanted.predicate.is_none() {
            return Ok(true);
        }
        let mut problem = self.join_problem(JoinKind::Inner, true);
        problem.within = None;
        let data = Data {
            weights: vec![None],
            ..self.data.clone()
        };
        Ok(describe(&problem, data)?.symmetric)
    }
    /// Pairs of equal keys, which are all that is asked.
    fn by_keys(&self, out: &mut Batcher<'_>) -> Result<u64> {
        let Some(keys) = self.keys else {
            return Err(Error::internal("a join without keys and condition"));
        };
        let (starts, rows) = keys.rows_of_y();
        let (half, same) = (self.is_half()?, self.wanted.same);
        let (mut pairs, mut stop) = (0, StopNowAndThen::new(self.options));
        for i in &keys.rows[0] {
            let code = keys.codes[0][*i as usize] as usize;
            for j in &rows[starts[code]..starts[code + 1]] {
                stop.look()?;
                if keeps(same, half, u64::from(*i), u64::from(*j)) {
                    pairs += 1;
                    out.matched(u64::from(*i), u64::from(*j), f64::NAN)?;
                }
            }
        }
        Ok(pairs)
    }
    /// Rows of x with a match, or without one.
    fn rows_of_x(&self, out: &mut Batcher<'_>) -> Result<u64> {
        let mut matched = vec![false; self.data.x.rows()];
        let pairs = match self.wanted.predicate {
            None => self.rows_by_keys(&mut matched)?,
            Some(_) => {
                let data = self.rows(None)?;
                let problem = self.join_problem(JoinKind::Semi, self.wanted.same);
                let answer = Query::new(&problem, &data, self.options).run()?;
                let columns = columns_of(&answer)?;
                let [rows] = by_role(&columns, [Role::Row(Side::X)])?;
                for at in (0..rows.len()).filter_map(|line| rows.row(line)) {
                    matched[self.row(0, at) as usize] = true;
                }
                answer.outcome.pairs
            }
        };
        let wanted = self.wanted.kind == TableKind::Semi;
        let mut stop = StopNowAndThen::new(self.options);
        for (row, matched) in matched.into_iter().enumerate() {
            stop.look()?;
            if matched == wanted {
                out.push(row as u64, -1, f64::NAN)?;
            }
        }
        Ok(pairs)
    }
    /// Marks the rows of x whose key has a partner.
    fn rows_by_keys(&self, matched: &mut [bool]) -> Result<u64> {
        let Some(keys) = self.keys else {
            return Err(Error::internal("a join without keys and condition"));
        };
        let (starts, _) = keys.rows_of_y();
        // A row of one table is not a partner of its own.
        let least = if self.wanted.same { 2 } else { 1 };
        let mut stop = StopNowAndThen::new(self.options);
        for row in &keys.rows[0] {
            stop.look()?;
            let code = keys.codes[0][*row as usize] as usize;
            matched[*row as usize] = starts[code + 1] - starts[code] >= least;
        }
        Ok(keys.rows[0].len() as u64)
    }
    /// Matches of a condition, by parts of the rows of x.
    fn parts(&self, out: &mut Batcher<'_>) -> Result<u64> {
        let [n, m] = self.counts();
        let half = self.is_half()?;
        let most = (self.options.budget.free() / (2 * BYTES)).clamp(1, MOST);
        let problem = self.join_problem(JoinKind::Inner, false);
        let (mut at, mut pairs) = (0, 0);
        let mut step = match (n as u64).saturating_mul(m as u64) <= most {
            true => n,
            false => FEW.max((most / (m as u64).max(1)) as usize),
        };
        while at < n {
            let end = n.min(at.saturating_add(step.max(1)));
            // The engine alone is asked again, with fewer rows: matches that were handed on are not
            // found twice.
            let data = self.rows(Some(at..end))?;
            let answer = match Query::new(&problem, &data, self.options).run() {
                Err(e) if e.blame() == Blame::Resource && end - at > 1 => {
                    step = (end - at) / 4;
                    continue;
                }
                answer => answer?,
            };
            let found = self.part(at, &answer, half, out)?;
            pairs += answer.outcome.pairs;
            // As many rows as would give the most matches, but not many more than before: the next
            // rows may have more.
            let fit = most as f64 * (end - at) as f64 / (2 * found.max(1)) as f64;
            step = (fit as usize).clamp(1, 8 * (end - at));
            at = end;
        }
        Ok(pairs)
    }
    /// Hands on the matches of the rows of x from `first`, and returns how many the engine found.
    fn part(
        &self,
        first: usize,
        answer: &Answer<'_>,
        half: bool,
        out: &mut Batcher<'_>,
    ) -> Result<u64> {
        let columns = columns_of(answer)?;
        let [i, j] = by_role(&columns, [Role::Row(Side::X), Role::Row(Side::Y)])?;
        let values = columns.with_role(Role::Value);
        let values = values.map(|column| columns.all(column));
        let mut stop = StopNowAndThen::new(self.options);
        for line in 0..i.len() {
            stop.look()?;
            let (Some(a), Some(b)) = (i.row(line), j.row(line)) else {
                return Err(Error::internal("a match without rows"));
            };
            let (a, b) = (self.row(0, first + a), self.row(1, b));
            if keeps(self.wanted.same, half, a, b) {
                out.matched(a, b, values.as_ref().map_or(f64::NAN, |v| v.get(line)))?;
            }
        }
        Ok(i.len() as u64)
    }
    /// The question of nearest rows: a pair that the condition leaves out is infinitely far.
    fn nearest_problem(&self, k: usize, same: bool) -> Problem {
        let (similar, far) = match self.is_similarity() {
            true => (true, "-inf"),
            false => (false, "inf"),
        };
        let pair = self.nearest_pair(far);
        let largest = Some(similar);
        let fold = FoldSpec::Nearest { k, largest };
        self.problem(pair, fold, self.wanted.same && same)
    }
    /// What orders nearest rows, with `beyond` where the condition does not hold.
    fn nearest_pair(&self, beyond: &str) -> PairSpec {
        let wanted = self.wanted;
        match (&wanted.predicate, &wanted.value) {
            (Some(condition), Some(value)) => PairSpec {
                metric: None,
                formula: Some(format!("if({}, {value}, {beyond})", self.known(condition))),
                params: wanted.pair.params.clone(),
            },
            _ => wanted.pair.clone(),
        }
    }
    /// A condition that no row fulfils with a null in a column that the condition names.
    fn known(&self, condition: &str) -> String {
        let named = names_of([condition]);
        let tables = [&self.data.x, self.data.other()];
        let has_null = |side: usize, name: &String| {
            let at = tables[side].column(name).ok();
            let table = tables[side];
            at.is_some_and(|at| (0..table.rows()).any(|row| table.get(row, at).is_nan()))
        };
        let mut text = format!("({condition})");
        for (side, letter) in ["x", "y"].into_iter().enumerate() {
            for name in named.columns[side]
                .iter()
                .filter(|name| has_null(side, name))
            {
                text += &format!(" and {letter}.{name} == {letter}.{name}");
            }
        }
        text
    }
    /// The nearest rows of each row of x, as many rows at a time as give the lists that memory holds.
    fn nearest(&self, asked: &NearestRows, out: &mut Batcher<'_>) -> Result<u64> {
        let [n, _] = self.counts();
        let (mut at, mut step, mut next, mut pairs) = (0, n.max(1), 0, 0);
        while at < n {
            let end = n.min(at + step);
            let found = match self.nearest_part(asked, at..end) {
                Err(e) if e.blame() == Blame::Resource && end - at > 1 => {
                    step = (end - at).div_ceil(4);
                    continue;
                }
                found => found?,
            };
            for (row, list) in (at..end).zip(&found.lists) {
                let row = self.row(0, row);
                // Rows without a key have no nearest row.
                (next..row).try_for_each(|row| out.row(row, &[]))?;
                out.row(row, list)?;
                next = row + 1;
            }
            (at, pairs) = (end, pairs + found.visited);
        }
        let end = self.data.x.rows() as u64;
        (next..end).try_for_each(|row| out.row(row, &[]))?;
        Ok(pairs)
    }
    /// The nearest rows of some rows of x.
    fn nearest_part(&self, asked: &NearestRows, rows: Range<usize>) -> Result<NearestFound> {
        let whole = rows.len() == self.counts()[0];
        let (first, count) = (rows.start, rows.len());
        let budget = &self.options.budget;
        let held = reserve_lists(budget, count, asked.k.min(self.counts()[1]))?;
        let data = self.rows((!whole).then_some(rows))?;
        let part = PartOfRows {
            data,
            first,
            // Some rows of one table are asked about all of it: each may be its own nearest.
            own: self.wanted.same && !whole,
        };
        let (mut lists, mut visited) = self.lists(asked, &part)?;
        let mut _held = vec![held];
        if !lists.tied.is_empty() {
            let (more, held) = self.all_ties(&part, &mut lists)?;
            visited += more;
            _held.push(held);
        }
        Ok(NearestFound {
            lists: lists.all,
            visited,
            _held,
        })
    }
    /// The nearest rows of each row, and the pairs visited.
    fn lists(&self, asked: &NearestRows, part: &PartOfRows) -> Result<(Lists, u64)> {
        let mut lists = Lists::default();
        let n = part.data.x.rows();
        if n == 0 || part.data.other().rows() == 0 {
            lists.all = vec![vec![]; n];
            return Ok((lists, 0));
        }
        // One more tells whether the last one has a tie, and one more may be the row itself.
        let tie = usize::from(asked.ties == Ties::All);
        let k = asked.k.saturating_add(tie);
        let problem = self.nearest_problem(k.saturating_add(usize::from(part.own)), !part.own);
        let answer = Query::new(&problem, &part.data, self.options).run()?;
        let columns = columns_of(&answer)?;
        let [j, values] = by_role(&columns, [Role::Row(Side::Y), Role::Value])?;
        let (width, similar) = (j.len() / n, self.is_similarity());
        let mut stop = StopNowAndThen::new(self.options);
        for row in 0..n {
            stop.look()?;
            let own = part.own.then(|| self.row(0, part.first + row));
            let mut list: RowMatches = vec![];
            for line in row * width..(row + 1) * width {
                let (there, value) = (j.row(line), values.get(line));
                let there = there.filter(|_| asked.takes(value, similar));
                let there = there.map(|there| self.row(1, there));
                if let Some(there) = there.filter(|there| Some(*there) != own) {
                    list.push((value, there));
                }
            }
            list.truncate(k);
            lists.push(list, asked);
        }
        Ok((lists, answer.outcome.pairs))
    }
    /// Whether the largest values are nearest.
    pub(crate) fn is_similarity(&self) -> bool {
        let metric = self.wanted.pair.metric.as_deref();
        let named = metric.and_then(zipfold_core::pair::named::find);
        named.is_some_and(|metric| metric.similarity)
    }
    /// Lists every row of y that is as near as the last one, for rows that have such.
    /// Returns the pairs visited, and what the lists take.
    fn all_ties(&self, part: &PartOfRows, lists: &mut Lists) -> Result<(u64, Reservation)> {
        let (data, first) = (&part.data, part.first);
        let last: Vec<f64> = lists.tied.iter().map(|(_, value)| *value).collect();
        let rows: Vec<u32> = lists.tied.iter().map(|(row, _)| *row).collect();
        let x = with_column(&data.x.of_rows(&rows)?, LAST, last)?;
        let y = Some(data.other().clone());
        let data = Data::of_tables(x, y);
        let (problem, similar) = (self.ties_problem(), self.is_similarity());
        let answer = Query::new(&problem, &data, self.options).run()?;
        let columns = columns_of(&answer)?;
        let roles = [Role::Row(Side::X), Role::Row(Side::Y), Role::Value];
        let [i, j, values] = by_role(&columns, roles)?;
        let bytes = i.len() as u64 * MATCH;
        let held = self.options.budget.reserve(bytes, "the rows of all ties");
        let held = held.map_err(|e| e.remedy(Opt::Ties.to("first")))?;
        for row in &rows {
            lists.all[*row as usize].clear();
        }
        for line in 0..i.len() {
            let (Some(a), Some(b)) = (i.row(line), j.row(line)) else {
                return Err(Error::internal("a match without rows"));
            };
            let (row, b) = (rows[a] as usize, self.row(1, b));
            if !self.wanted.same || self.row(0, first + row) != b {
                lists.all[row].push((values.get(line), b));
            }
        }
        for row in &rows {
            lists.all[*row as usize].sort_by(|a, b| nearer(*a, *b, similar));
        }
        Ok((answer.outcome.pairs, held))
    }
    /// The question of the rows that are as near as the last nearest row.
    fn ties_problem(&self) -> Problem {
        let value = self.wanted.value.clone().unwrap_or_default();
        let sign = if self.is_similarity() { ">=" } else { "<=" };
        let condition = match &self.wanted.predicate {
            Some(condition) => format!("{} and ", self.known(condition)),
            None => String::new(),
        };
        let fold = FoldSpec::Join {
            predicate: format!("{condition}({value}) {sign} x.{LAST}"),
            value: Some(value),
            kind: JoinKind::Inner,
        };
        self.problem(self.params_alone(), fold, false)
    }
    /// A pair without metric and formula: the values of parameters.
    fn params_alone(&self) -> PairSpec {
        PairSpec {
            params: self.wanted.pair.params.clone(),
            ..PairSpec::default()
        }
    }
}

impl NearestRows {
    /// Whether a row of this value is a match.
    fn takes(&self, value: f64, similar: bool) -> bool {
        let near = match (self.within, similar) {
            (Some(limit), false) => value <= limit,
            (Some(limit), true) => value >= limit,
            (None, _) => true,
        };
        near && value.is_finite()
    }
    /// The nearest ones of all rows.
    fn best(&self, mut list: RowMatches, similar: bool) -> RowMatches {
        list.retain(|(value, _)| self.takes(*value, similar));
        list.sort_by(|a, b| nearer(*a, *b, similar));
        if let (Some((last, _)), true) = (list.get(self.k - 1).copied(), self.ties == Ties::All) {
            let tied = list[self.k..]
                .iter()
                .take_while(|(value, _)| *value == last);
            let end = self.k + tied.count();
            list.truncate(end);
        } else {
            list.truncate(self.k);
        }
        list
    }
}

/// Takes what the lists of `k` rows for each of `rows` rows take.
///
/// # Errors
/// `Resource` beyond the budget.
pub(crate) fn reserve_lists(budget: &Budget, rows: usize, k: usize) -> Result<Reservation> {
    // The list of a row, once by rows with a key and once by all rows; it has room for 4 at least.
    let row = 48 + (k.max(4) as u64).saturating_mul(MATCH / 2);
    let bytes = (rows as u64).saturating_mul(row);
    let held = budget.reserve(bytes, "the lists of nearest rows");
    held.map_err(|e| e.remedy("some rows of x at a time, one run each"))
}

/// The order of nearest rows: by value, then by row.
fn nearer(a: (f64, u64), b: (f64, u64), similar: bool) -> std::cmp::Ordering {
    // −0 and 0 are as near.
    let (first, second) = (a.0 + 0.0, b.0 + 0.0);
    let by_value = match similar {
        true => second.total_cmp(&first),
        false => first.total_cmp(&second),
    };
    by_value.then(a.1.cmp(&b.1))
}

/// Some rows of x, from the one of number `first` among those of the problem on, and all of y.
struct PartOfRows {
    data: Data,
    first: usize,
    /// Whether a row is also one of y, and no partner of its own.
    own: bool,
}

/// The nearest rows of some rows of x.
struct NearestFound {
    lists: Vec<RowMatches>,
    /// Pairs that were visited.
    visited: u64,
    /// What the lists hold of the budget.
    _held: Vec<Reservation>,
}

/// The nearest rows of each row.
#[derive(Default)]
struct Lists {
    all: Vec<RowMatches>,
    /// Rows whose last nearest one has a tie, with its value.
    tied: Vec<(u32, f64)>,
}

impl Lists {
    fn push(&mut self, mut list: RowMatches, asked: &NearestRows) {
        if let (Ties::All, Some((next, _))) = (asked.ties, list.get(asked.k)) {
            let last = list[asked.k - 1].0;
            if *next == last {
                self.tied.push((self.all.len() as u32, last));
            }
        }
        list.truncate(asked.k);
        self.all.push(list);
    }
}

/// The columns of the one fold of an answer.
fn columns_of<'a>(answer: &'a Answer<'_>) -> Result<Columns<'a>> {
    let columns = answer.columns(0)?;
    columns.ok_or_else(|| Error::internal("an answer without columns"))
}

/// The numbers of an answer, by role.
fn by_role<'c, const N: usize>(
    columns: &'c Columns<'_>,
    roles: [Role; N],
) -> Result<[Numbers<'c>; N]> {
    let numbers = |role| columns.with_role(role).map(|column| columns.all(column));
    let all: Option<Vec<Numbers<'c>>> = roles.into_iter().map(numbers).collect();
    let all = all.and_then(|all| all.try_into().ok());
    all.ok_or_else(|| Error::internal("an answer without one of its columns"))
}

/// What formulas name of x and of y.
pub(crate) fn names_of<'f>(formulas: impl IntoIterator<Item = &'f str>) -> NamedColumns {
    naming(["x", "y"], formulas).named_columns()
}

/// A problem that has these formulas.
pub(crate) fn naming<'f>(
    [x, y]: [&str; 2],
    formulas: impl IntoIterator<Item = &'f str>,
) -> Problem {
    let fold = |formula: &str| FoldSpec::Join {
        predicate: formula.to_string(),
        value: None,
        kind: JoinKind::Inner,
    };
    Problem {
        y: Some(Input::named(y)),
        nan: NanPolicy::Propagate,
        ..Problem::new(
            Input::named(x),
            PairSpec::default(),
            formulas.into_iter().map(fold).collect(),
        )
    }
}

/// Whether a pair is one of those asked: of one table no row is a partner of its own, and of half
/// of the pairs the lower row is x.
fn keeps(same: bool, half: bool, i: u64, j: u64) -> bool {
    !same || (if half { i < j } else { i != j })
}

/// `table` with one more attribute.
fn with_column(table: &Table, name: &str, values: Vec<f64>) -> Result<Table> {
    let old = table.attributes().map_or(0, Table::cols);
    let mut items = Vec::with_capacity(table.rows() * (old + 1));
    for (row, value) in values.iter().enumerate() {
        items.extend((0..old).map(|at| table.get(row, table.cols() + at)));
        items.push(*value);
    }
    let all = table.names().unwrap_or_default();
    let mut names = all.get(table.cols()..).unwrap_or_default().to_vec();
    names.push(name.to_string());
    let texts: Vec<usize> = table.texts().to_vec();
    let attributes = Table::f64(table.rows(), old + 1, items)?.with_names(names)?;
    let own = Table::new(table.rows(), table.cols(), table.elements().clone())?;
    let own = match table.names() {
        Some(names) => own.with_names(names[..table.cols()].to_vec())?,
        None => own,
    };
    let made = own.with_attributes(attributes)?.with_texts(texts);
    Ok(match table.words() {
        Some(words) => made.with_words(words.clone()),
        None => made,
    })
}
