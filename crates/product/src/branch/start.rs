//! A first assignment: ascent of one variable at a time from many places.

use super::buckets::Function;
use zipfold_core::Random;

/// What an entry of zero counts as while an ascent is on its way.
const NOTHING: f64 = -1e4;
/// Entries that are read at most, and as many as this number of turns over all variables reads.
const READ: usize = 20_000_000;
const TURNS: usize = 200;
/// One of so many variables is changed between two ascents.
const CHANGED: usize = 40;

/// The best assignment on ascents that begin at `states`, by the sum of all `tables`.
pub(crate) fn climb(cards: &[usize], tables: &[Function], states: &[u32], seed: u64) -> Vec<u32> {
    let mut of: Vec<Vec<usize>> = vec![Vec::new(); cards.len()];
    for (at, table) in tables.iter().enumerate() {
        table.strides.iter().for_each(|(v, _)| of[*v].push(at));
    }
    let mut random = Random::new(seed ^ 0xc11b);
    let mut states = states.to_vec();
    let value =
        |states: &[u32]| -> f64 { tables.iter().map(|t| t.entry(states).max(NOTHING)).sum() };
    let mut best = (value(&states), states.clone());
    let turn: usize = cards
        .iter()
        .zip(&of)
        .map(|(c, all)| c * all.len() + 1)
        .sum();
    let (mut read, most) = (0, READ.min(TURNS * turn));
    loop {
        let mut moved = true;
        while moved && read < most {
            moved = false;
            for v in 0..cards.len() {
                let own = || of[v].iter().map(|t| &tables[*t]);
                read += cards[v] * of[v].len() + 1;
                let line = line(cards[v], own(), v, &states);
                let now = line[states[v] as usize];
                let greatest = (0..cards[v]).max_by(|a, b| line[*a].total_cmp(&line[*b]));
                let Some(x) = greatest.filter(|x| line[*x] > now) else {
                    continue;
                };
                states[v] = x as u32;
                moved = true;
            }
        }
        let reached = value(&states);
        if reached > best.0 {
            best = (reached, states.clone());
        }
        if read >= most || cards.is_empty() {
            return best.1;
        }
        states.clone_from(&best.1);
        for _ in 0..=cards.len() / CHANGED {
            let v = random.below(cards.len());
            states[v] = random.below(cards[v]) as u32;
        }
    }
}

fn line<'t>(
    card: usize,
    tables: impl Iterator<Item = &'t Function>,
    v: usize,
    states: &[u32],
) -> Vec<f64> {
    let mut all = vec![0.0; card];
    let mut one = vec![0.0; card];
    for table in tables {
        one.fill(0.0);
        table.add_line(v, states, &mut one);
        all.iter_mut()
            .zip(&one)
            .for_each(|(a, o)| *a += o.max(NOTHING));
    }
    all
}
