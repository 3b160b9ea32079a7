//! Pairs that are left out: of one residue, of one molecule, of a bond; and of an atom with itself.
//!
//! They are few next to all pairs, so all pairs are counted and these are taken off again. Both
//! decide bins by the reference value of a pair, so the difference is exact.

use super::asked::{Exclude, Rdf};
use zipfold_core::{Budget, Error, Opt, Reservation, Result};
use zipfold_io::trajectory::Atoms;
use zipfold_io::{ReadOptions, read_table};

/// Which pairs are left out, for all atoms.
pub(super) struct Exclusions {
    /// By atom, its group: pairs within one are left out.
    groups: Option<Vec<u32>>,
    /// Pairs, each once, the smaller atom first.
    bonds: Vec<[u32; 2]>,
    /// Whether the pair of an atom with itself counts.
    with_itself: bool,
}

/// The pairs of two sets that are left out, by the places of their atoms in the sets.
#[derive(Debug)]
pub(super) struct Excluded {
    pub(super) pairs: Vec<[u32; 2]>,
    /// Whether atoms of one set are pairs with themselves.
    pub(super) with_itself: bool,
    _held: Reservation,
}

impl Exclusions {
    /// What `asked` leaves out of the pairs of `count` atoms.
    ///
    /// # Errors
    /// `Request` where residues or bonds are not known; those of the file of bonds.
    pub(super) fn new(
        asked: &Rdf,
        atoms: Option<&Atoms>,
        count: usize,
        with_itself: bool,
        budget: &Budget,
    ) -> Result<Exclusions> {
        let mut out = Exclusions {
            groups: None,
            bonds: Vec::new(),
            // A pair of one atom is in its residue, in its molecule and bonded at distance 0.
            with_itself: with_itself && asked.exclude == Exclude::None,
        };
        match asked.exclude {
            Exclude::None => {}
            Exclude::Residue => {
                let atoms = atoms.ok_or_else(super::select::nameless)?;
                out.groups = Some(atoms.residues.clone());
            }
            Exclude::Molecule => {
                out.groups = Some(molecules(&bonds(asked, atoms, count, budget)?, count))
            }
            Exclude::Bonds => out.bonds = bonds(asked, atoms, count, budget)?,
        }
        Ok(out)
    }
    /// The pairs of two sets that are left out; `within` if both are one set, of which each pair
    /// counts once.
    pub(super) fn between(
        &self,
        [from, to]: [&[u32]; 2],
        within: bool,
        budget: &Budget,
    ) -> Result<Excluded> {
        let mut tab = budget.tab("the pairs that are left out");
        let mut pairs = Vec::new();
        let mut add = |pair: [u32; 2]| {
            tab.add(16)?;
            pairs.push(pair);
            Ok::<(), Error>(())
        };
        let fresh = |i: u32, j: u32| if within { i < j } else { i != j };
        if !within && !self.with_itself {
            common(from, to).try_for_each(&mut add)?;
        }
        if let Some(groups) = &self.groups {
            let by_group = Grouped::new(to, groups);
            for (i, atom) in from.iter().enumerate() {
                for j in by_group.members(groups[*atom as usize]) {
                    if fresh(*atom, to[*j as usize]) {
                        add([i as u32, *j])?;
                    }
                }
            }
        }
        bonded(&self.bonds, [from, to], within).try_for_each(&mut add)?;
        Ok(Excluded {
            pairs,
            with_itself: self.with_itself,
            _held: tab.close(),
        })
    }
}

/// The places of the atoms that two ascending sets share.
fn common<'s>(from: &'s [u32], to: &'s [u32]) -> impl Iterator<Item = [u32; 2]> + 's {
    from.iter()
        .enumerate()
        .filter_map(|(i, atom)| to.binary_search(atom).ok().map(|j| [i as u32, j as u32]))
}

/// The places of the atoms of two ascending sets that bonds connect; either way round, but
/// `within` one set.
fn bonded<'s>(
    bonds: &'s [[u32; 2]],
    [from, to]: [&'s [u32]; 2],
    within: bool,
) -> impl Iterator<Item = [u32; 2]> + 's {
    let place = |set: &[u32], atom: u32| set.binary_search(&atom).ok().map(|at| at as u32);
    let ways = bonds.iter().flat_map(move |[a, b]| {
        let back = (!within).then_some([*b, *a]);
        std::iter::once([*a, *b]).chain(back)
    });
    ways.filter_map(move |[a, b]| Some([place(from, a)?, place(to, b)?]))
}

/// The places of a set by the group of their atom.
struct Grouped {
    starts: Vec<u32>,
    places: Vec<u32>,
}

impl Grouped {
    fn new(set: &[u32], groups: &[u32]) -> Grouped {
        let count = groups.iter().max().map_or(0, |last| *last as usize + 1);
        let group = |atom: &u32| groups[*atom as usize] as usize;
        let mut starts = vec![0u32; count + 1];
        set.iter().for_each(|atom| starts[group(atom) + 1] += 1);
        (0..count).for_each(|at| starts[at + 1] += starts[at]);
        let (mut next, mut places) = (starts.clone(), vec![0; set.len()]);
        for (place, atom) in set.iter().enumerate() {
            let at = &mut next[group(atom)];
            places[*at as usize] = place as u32;
            *at += 1;
        }
        Grouped { starts, places }
    }
    fn members(&self, group: u32) -> &[u32] {
        let [from, to] = [0, 1].map(|k| self.starts[group as usize + k] as usize);
        &self.places[from..to]
    }
}

/// The bonds of the file that `asked` names, or of the topology; each once.
fn bonds(
    asked: &Rdf,
    atoms: Option<&Atoms>,
    count: usize,
    budget: &Budget,
) -> Result<Vec<[u32; 2]>> {
    let mut bonds = match &asked.bonds {
        Some(path) => bonds_of_file(path, count, budget)?,
        None => match atoms {
            Some(atoms) if atoms.odd_bond.is_none() => atoms.bonds.clone(),
            Some(atoms) => atoms.odd_bond.clone().map_or(Ok(vec![]), Err)?,
            None => vec![],
        },
    };
    if bonds.is_empty() {
        return Err(Error::request(
            "expected bonds, got none: neither the topology nor a file names one",
        )
        .at_place(Opt::Exclude)
        .remedy(Opt::Bonds.like("FILE.csv, two indices from 0 a line")));
    }
    bonds.iter_mut().for_each(|pair| pair.sort_unstable());
    bonds.sort_unstable();
    bonds.dedup();
    Ok(bonds)
}

/// Pairs of indices, from 0, of a table of two columns.
fn bonds_of_file(path: &str, count: usize, budget: &Budget) -> Result<Vec<[u32; 2]>> {
    let table = read_table(path, &ReadOptions::default(), budget)?;
    if table.cols() != 2 {
        let what = format!("expected two columns, got {}", table.cols());
        return Err(Error::input(what)
            .at_place(path)
            .remedy("the indices of two bonded atoms a line, from 0"));
    }
    budget.spend(table.rows() as u64 * 8, "the bonds")?;
    let index = |row: usize, col: usize| {
        let value = table.get(row, col);
        let is_index = value.fract() == 0.0 && (0.0..count as f64).contains(&value);
        is_index.then_some(value as u32).ok_or_else(|| {
            let what = format!("expected the index of one of {count} atoms, got {value}");
            Error::input(what)
                .at_place(format!("{path}, row {} of the data", row + 1))
                .remedy("indices are from 0")
        })
    };
    let bond = |row: usize| match [index(row, 0)?, index(row, 1)?] {
        [a, b] if a == b => Err(Error::input(format!("expected two atoms, got {a} twice"))
            .at_place(format!("{path}, row {} of the data", row + 1))
            .remedy("leave the row out")),
        pair => Ok(pair),
    };
    (0..table.rows()).map(bond).collect()
}

/// By atom, its molecule: atoms that bonds connect.
fn molecules(bonds: &[[u32; 2]], count: usize) -> Vec<u32> {
    let mut parent: Vec<u32> = (0..count as u32).collect();
    fn root(parent: &mut [u32], mut at: u32) -> u32 {
        while parent[at as usize] != at {
            // Each step shortens the way for the next search.
            parent[at as usize] = parent[parent[at as usize] as usize];
            at = parent[at as usize];
        }
        at
    }
    for [a, b] in bonds {
        let (a, b) = (root(&mut parent, *a), root(&mut parent, *b));
        parent[a.max(b) as usize] = a.min(b);
    }
    (0..count as u32).map(|at| root(&mut parent, at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(groups: Option<Vec<u32>>, bonds: Vec<[u32; 2]>, with_itself: bool) -> Exclusions {
        Exclusions {
            groups,
            bonds,
            with_itself,
        }
    }

    #[test]
    fn pairs_are_those_of_a_double_loop() {
        let budget = Budget::new(1 << 24);
        let groups = vec![0, 0, 0, 1, 1, 2, 3, 3, 3, 3];
        let bonds = vec![[0, 1], [2, 3], [5, 6]];
        let sets: [&[u32]; 4] = [
            &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
            &[1, 3, 5, 7],
            &[0, 1, 6, 7, 8],
            &[9],
        ];
        for (kind, exclusions) in [
            all(Some(groups.clone()), vec![], false),
            all(None, bonds.clone(), false),
            all(None, vec![], false),
            all(None, vec![], true),
        ]
        .iter()
        .enumerate()
        {
            for (a, from) in sets.iter().enumerate() {
                for (b, to) in sets.iter().enumerate() {
                    let within = a == b;
                    let out = |i: u32, j: u32| match kind {
                        0 => groups[i as usize] == groups[j as usize],
                        1 => i == j || bonds.contains(&[i.min(j), i.max(j)]),
                        2 => i == j,
                        _ => false,
                    };
                    let mut expected = vec![];
                    for (p, i) in from.iter().enumerate() {
                        for (q, j) in to.iter().enumerate() {
                            if out(*i, *j) && (!within || i < j) {
                                expected.push([p as u32, q as u32]);
                            }
                        }
                    }
                    let mut found = exclusions
                        .between([from, to], within, &budget)
                        .unwrap()
                        .pairs;
                    found.sort_unstable();
                    assert_eq!(found, expected, "{kind} {from:?} {to:?}");
                }
            }
        }
    }

    #[test]
    fn molecules_are_what_bonds_connect() {
        let found = molecules(&[[4, 3], [1, 2], [3, 1], [6, 7]], 8);
        assert_eq!(found, [0, 1, 1, 1, 1, 5, 6, 6]);
    }
}
