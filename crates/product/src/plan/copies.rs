//! Scopes and variables that zeros and repetitions make superfluous.
//!
//! A table that does not depend on a variable loses it from its scope. A table whose entries above
//! zero give each state of one variable exactly one state of another makes the two one variable:
//! every table of the second reads the first instead.

use super::reduced::{Reduced, Table, step};

/// Removes from every scope the variables along which all entries are equal, bit for bit. One
/// variable stays.
pub(super) fn drop_constant(out: &mut Reduced) {
    for table in &mut out.tables {
        let mut at = 0;
        while at < table.scope.len() && table.scope.len() > 1 {
            match without(table, at, &out.cards) {
                Some(smaller) => *table = smaller,
                None => at += 1,
            }
        }
    }
}

/// The table without the variable at `place`, if its entries do not depend on it.
fn without(table: &Table, place: usize, cards: &[usize]) -> Option<Table> {
    let inner: usize = table.scope[place + 1..].iter().map(|u| cards[*u]).product();
    let block = inner * cards[table.scope[place]];
    let same = |block: &[f64]| block.chunks(inner).all(|part| part == &block[..inner]);
    if !table.values.chunks(block).all(same) {
        return None;
    }
    let mut scope = table.scope.clone();
    scope.remove(place);
    let first = table.values.chunks(block).flat_map(|b| &b[..inner]);
    Some(Table {
        values: first.copied().collect(),
        scope,
    })
}

/// Two variables of which each state of one has one state of the other.
#[derive(Debug, PartialEq)]
struct Copy {
    /// The variable that stays, and the one that goes.
    stays: usize,
    goes: usize,
    /// By state of the one that stays: the state of the other.
    state: Vec<usize>,
}

/// Substitutes variables that are copies of others; two that are both `kept` stay two. Whether
/// there were any.
pub(super) fn substitute(out: &mut Reduced, kept: &[bool]) -> bool {
    let mut tables_of: Vec<Vec<usize>> = vec![Vec::new(); out.cards.len()];
    for (at, table) in out.tables.iter().enumerate() {
        table.scope.iter().for_each(|v| tables_of[*v].push(at));
    }
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); out.cards.len()];
    for (v, number) in out.number.iter().enumerate() {
        number.iter().for_each(|n| members[*n].push(v));
    }
    let mut stays = vec![true; out.cards.len()];
    let mut work: Vec<usize> = (0..out.tables.len()).rev().collect();
    while let Some(at) = work.pop() {
        let Some(copy) = copy_in(&out.tables[at], &out.cards, kept) else {
            continue;
        };
        stays[copy.goes] = false;
        for t in std::mem::take(&mut tables_of[copy.goes]) {
            let both = out.tables[t].scope.contains(&copy.stays);
            out.tables[t] = substituted(&out.tables[t], &copy, &out.cards);
            if both {
                // Fewer entries, so that other copies may show.
                work.push(t);
            } else {
                tables_of[copy.stays].push(t);
            }
        }
        for v in std::mem::take(&mut members[copy.goes]) {
            out.number[v] = Some(copy.stays);
            let own = &out.states[v];
            out.states[v] = copy.state.iter().map(|s| own[*s]).collect();
            members[copy.stays].push(v);
        }
    }
    let any = stays.contains(&false);
    if any {
        super::barren::renumber(out, &stays);
    }
    any
}

/// The first two variables of `table` that are copies of each other.
fn copy_in(table: &Table, cards: &[usize], kept: &[bool]) -> Option<Copy> {
    let scope = &table.scope;
    let above = table.values.iter().filter(|v| **v > 0.0).count();
    let least = scope.iter().map(|v| cards[*v]).min()?;
    // A copy leaves at most one entry above zero of as many as it has states.
    if above > table.values.len() / least.max(2) {
        return None;
    }
    let pairs = tied(table, cards, kept);
    // Both ways one to one: each state of either is taken once.
    let whole = |state: &[Option<usize>]| {
        let mut taken: Vec<usize> = state.iter().flatten().copied().collect();
        taken.sort_unstable();
        taken.dedup();
        (taken.len() == state.len()).then(|| state.iter().flatten().copied().collect())
    };
    let found = pairs
        .iter()
        .find_map(|(i, j, state)| Some((*i, *j, whole(state)?)));
    let (i, j, state): (usize, usize, Vec<usize>) = found?;
    if !kept[scope[j]] {
        return Some(Copy {
            stays: scope[i],
            goes: scope[j],
            state,
        });
    }
    let mut inverse = vec![0; state.len()];
    state.iter().enumerate().for_each(|(s, t)| inverse[*t] = s);
    Some(Copy {
        stays: scope[j],
        goes: scope[i],
        state: inverse,
    })
}

/// Two places of a scope, and by state of the first the one state of the second that it occurs with.
type Tie = (usize, usize, Vec<Option<usize>>);

/// The pairs of variables of `table`, not both kept, of which each state of the first occurs with
/// one state of the second.
fn tied(table: &Table, cards: &[usize], kept: &[bool]) -> Vec<Tie> {
    let scope = &table.scope;
    let mut pairs: Vec<Tie> = Vec::new();
    for i in 0..scope.len() {
        let both = |j: &usize| kept[scope[i]] && kept[scope[*j]];
        let alike = |j: &usize| cards[scope[*j]] == cards[scope[i]] && !both(j);
        let partners = (i + 1..scope.len()).filter(alike);
        pairs.extend(partners.map(|j| (i, j, vec![None; cards[scope[i]]])));
    }
    let mut x = vec![0; scope.len()];
    for value in &table.values {
        if *value > 0.0 {
            pairs.retain_mut(|(i, j, state)| *state[x[*i]].get_or_insert(x[*j]) == x[*j]);
            if pairs.is_empty() {
                break;
            }
        }
        step(&mut x, |at| cards[scope[at]]);
    }
    pairs
}

/// The table with the variable that stays in place of the one that goes.
fn substituted(table: &Table, copy: &Copy, cards: &[usize]) -> Table {
    let mut scope = table.scope.clone();
    if let Some(at) = scope.iter().position(|v| *v == copy.goes) {
        match scope.contains(&copy.stays) {
            true => {
                scope.remove(at);
            }
            false => scope[at] = copy.stays,
        }
    }
    let mut x = vec![0; scope.len()];
    let total: usize = scope.iter().map(|v| cards[*v]).product();
    let mut values = Vec::with_capacity(total);
    for _ in 0..total {
        let state = |v: usize| {
            let at = scope
                .iter()
                .position(|u| *u == if v == copy.goes { copy.stays } else { v });
            let own = at.map_or(0, |at| x[at]);
            if v == copy.goes { copy.state[own] } else { own }
        };
        let place = table
            .scope
            .iter()
            .fold(0, |at, v| at * cards[*v] + state(*v));
        values.push(table.values[place]);
        step(&mut x, |at| cards[scope[at]]);
    }
    Table { scope, values }
}

#[cfg(test)]
mod tests {
    use super::super::{Need, reduce};
    use super::*;
    use zipfold_core::factor::{Evidence, Factor, Kind, Network};

    fn network(cards: &[usize], tables: &[(&[usize], &[f64])]) -> Network {
        let factors = tables
            .iter()
            .map(|(scope, values)| Factor::new(scope.to_vec(), values.to_vec(), cards).unwrap());
        Network::new(Kind::Markov, cards.to_vec(), factors.collect()).unwrap()
    }

    #[test]
    fn a_copy_in_another_order_is_one_variable_with_its_own_states() {
        // 1 is 0 turned by one state; 2 depends on both.
        let turned = [0.0, 0.5, 0.0, 0.0, 0.0, 0.25, 2.0, 0.0, 0.0];
        let both: Vec<f64> = (1..=18).map(f64::from).collect();
        let network = network(&[3, 3, 2], &[(&[0, 1], &turned), (&[0, 1, 2], &both)]);
        let out = reduce(&network, &Evidence::none(), Need::Every, &[]);
        assert_eq!((out.cards.len(), out.number[0]), (2, out.number[1]));
        assert_eq!(
            (&out.states[0][..], &out.states[1][..]),
            (&[0, 1, 2][..], &[1, 2, 0][..])
        );
        assert_eq!(out.assignment(3, &[2, 1]), [2, 0, 1]);
        // Rows (0, 1), (1, 2) and (2, 0) of the second table, times the entries of the first.
        let want = [
            0.5 * 3.0,
            0.5 * 4.0,
            0.25 * 11.0,
            0.25 * 12.0,
            2.0 * 13.0,
            2.0 * 14.0,
        ];
        assert_eq!(
            out.tables,
            [Table {
                scope: vec![0, 1],
                values: want.to_vec()
            }]
        );
    }

    #[test]
    fn kept_variables_stay_two_and_take_the_place_of_others() {
        let same = [1.0, 0.0, 0.0, 1.0];
        let soft = [1.0, 2.0, 3.0, 4.0];
        let all: &[(&[usize], &[f64])] = &[
            (&[0, 1], &same),
            (&[1, 2], &same),
            (&[2, 3], &soft),
            (&[0, 3], &soft),
        ];
        let network = network(&[2; 4], all);
        let out = reduce(&network, &Evidence::none(), Need::Total, &[1, 2]);
        assert_eq!(out.number[0], out.number[1]);
        assert_ne!(out.number[1], out.number[2]);
        assert_eq!(out.number[1].map(|n| out.origin[n]), Some(1));
    }

    #[test]
    fn copies_that_contradict_each_other_are_impossible() {
        let (same, other) = ([1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]);
        let all: &[(&[usize], &[f64])] = &[(&[0, 1], &same), (&[1, 2], &same), (&[0, 2], &other)];
        let out = reduce(&network(&[2; 3], all), &Evidence::none(), Need::Total, &[]);
        assert!(out.impossible);
    }

    #[test]
    fn a_part_of_a_table_may_support_fewer_states() {
        // 0 and 1 are equal; with that, the third table leaves 2 one state.
        let same = [1.0, 0.0, 0.0, 1.0];
        let third = [0.0, 7.0, 1.0, 1.0, 1.0, 1.0, 0.0, 9.0];
        let all: &[(&[usize], &[f64])] = &[(&[0, 1], &same), (&[0, 1, 2], &third)];
        let out = reduce(&network(&[2; 3], all), &Evidence::none(), Need::Every, &[]);
        assert_eq!((out.settled[2], out.cards.len()), (Some(1), 1));
        assert_eq!(out.tables[0].values, [7.0, 9.0]);
    }

    #[test]
    fn a_scope_loses_what_its_table_does_not_depend_on() {
        let table = [1.0, 2.0, 1.0, 2.0, 3.0, 4.0, 3.0, 4.0];
        let all: &[(&[usize], &[f64])] = &[(&[0, 1, 2], &table)];
        let out = reduce(&network(&[2; 3], all), &Evidence::none(), Need::Every, &[]);
        assert_eq!(out.tables[0].scope, [0, 2]);
        assert_eq!(out.tables[0].values, [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(
            (&out.tables[1].scope[..], &out.tables[1].values[..]),
            (&[1][..], &[1.0, 1.0][..])
        );
    }
}
