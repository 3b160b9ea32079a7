//! What the atoms of a trajectory are: names, elements, residues, chains, bonds.

use crate::guard::Source;
use crate::xyz::read_xyz;
use std::collections::HashMap;
use zipfold_core::budget::Tab;
use zipfold_core::{Budget, Error, Reservation, Result};

/// A column of words, each distinct word once.
#[derive(Clone, Debug, Default)]
pub struct AtomWords {
    /// The distinct words, in the order of their first atom.
    pub distinct: Vec<String>,
    /// By atom, the place of its word.
    pub codes: Vec<u32>,
    places: HashMap<String, u32>,
}

impl AtomWords {
    /// The word of an atom.
    pub fn get(&self, atom: usize) -> &str {
        &self.distinct[self.codes[atom] as usize]
    }
    /// The word of the next atom.
    fn push(&mut self, word: &str) {
        let code = match self.places.get(word) {
            Some(code) => *code,
            None => {
                let code = self.distinct.len() as u32;
                self.distinct.push(word.to_string());
                self.places.insert(word.to_string(), code);
                code
            }
        };
        self.codes.push(code);
    }
}

/// The atoms of a file, in its order.
#[derive(Debug)]
pub struct Atoms {
    /// Names: `CA`, `OW`.
    pub names: AtomWords,
    /// Chemical elements: those of the file, or guessed from the name.
    pub elements: AtomWords,
    /// Names of residues: `ALA`, `SOL`.
    pub residue_names: AtomWords,
    /// Names of chains.
    pub chains: AtomWords,
    /// Numbers of residues, as the file has them.
    pub residue_numbers: Vec<i64>,
    /// By atom its residue, from 0 on: it changes where the number, the name or the chain does.
    pub residues: Vec<u32>,
    /// Pairs of bonded atoms that the file names.
    pub bonds: Vec<[u32; 2]>,
    /// Why bonds cannot be told, where one names an atom that is not known. Only who needs bonds
    /// is concerned.
    pub odd_bond: Option<Error>,
    _held: Reservation,
}

impl Atoms {
    /// Number of atoms.
    pub fn len(&self) -> usize {
        self.residues.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.residues.is_empty()
    }
}

/// One atom as a file describes it.
#[derive(Clone, Copy, Default)]
pub(super) struct Atom<'a> {
    pub(super) name: &'a str,
    /// Empty where the file has none.
    pub(super) element: &'a str,
    pub(super) residue_name: &'a str,
    /// None where the number cannot be read.
    pub(super) residue_number: Option<i64>,
    /// Tells residues of one number apart.
    pub(super) insertion: &'a str,
    pub(super) chain: &'a str,
}

/// Takes atoms one by one.
pub(super) struct Builder {
    atoms: Atoms,
    /// What tells the residue of the last atom from the next: number, insertion, name, chain.
    last: Option<(Option<i64>, [String; 3])>,
    tab: Tab,
}

/// Bytes of an atom in all columns, which may double when they grow.
const PER_ATOM: u64 = 2 * (4 * 4 + 8 + 4);

impl Builder {
    pub(super) fn new(name: &str, budget: &Budget) -> Builder {
        let held = budget.tab(format!("the atoms of {name}"));
        Builder {
            atoms: Atoms {
                names: AtomWords::default(),
                elements: AtomWords::default(),
                residue_names: AtomWords::default(),
                chains: AtomWords::default(),
                residue_numbers: Vec::new(),
                residues: Vec::new(),
                bonds: Vec::new(),
                odd_bond: None,
                _held: budget.tab("atoms").close(),
            },
            last: None,
            tab: held,
        }
    }
    /// Takes the next atom.
    pub(super) fn push(&mut self, atom: Atom<'_>) -> Result<()> {
        let distinct = |words: &AtomWords| words.distinct.len();
        let before = distinct(&self.atoms.names) + distinct(&self.atoms.residue_names);
        let all = &mut self.atoms;
        all.names.push(atom.name);
        all.residue_names.push(atom.residue_name);
        all.chains.push(atom.chain);
        let guessed;
        let element = if atom.element.is_empty() {
            guessed = element_of(atom.name, atom.residue_name);
            guessed.as_str()
        } else {
            atom.element
        };
        all.elements.push(element);
        let fresh = match &self.last {
            Some((number, words)) => {
                let same = [atom.insertion, atom.residue_name, atom.chain];
                *number != atom.residue_number || words != &same
            }
            None => true,
        };
        let residue = match (all.residues.last(), fresh) {
            (None, _) => 0,
            (Some(last), fresh) => last + u32::from(fresh),
        };
        let counted_on = || {
            all.residue_numbers
                .last()
                .map_or(1, |last| last + i64::from(fresh))
        };
        let number = atom.residue_number.unwrap_or_else(counted_on);
        all.residues.push(residue);
        all.residue_numbers.push(number);
        if fresh {
            let words = [atom.insertion, atom.residue_name, atom.chain].map(String::from);
            self.last = Some((atom.residue_number, words));
        }
        let more = distinct(&self.atoms.names) + distinct(&self.atoms.residue_names) - before;
        // A distinct word is held twice, each with its place.
        self.tab.add(PER_ATOM + more as u64 * 160)
    }
    /// Takes a bond.
    pub(super) fn bond(&mut self, pair: [u32; 2]) -> Result<()> {
        self.atoms.bonds.push(pair);
        self.tab.add(16)
    }
    /// Keeps why a bond cannot be told; the first reason stays.
    pub(super) fn odd_bond(&mut self, error: Error) {
        self.atoms.odd_bond.get_or_insert(error);
    }
    /// Number of atoms so far.
    pub(super) fn len(&self) -> usize {
        self.atoms.len()
    }
    pub(super) fn finish(self, source: &Source) -> Result<Atoms> {
        if self.atoms.is_empty() {
            return Err(Error::input("expected at least one atom, got none")
                .at_place(source.name())
                .remedy("a file with atoms"));
        }
        Ok(Atoms {
            _held: self.tab.close(),
            ..self.atoms
        })
    }
}

/// Names of ions that are their own residue, and their elements.
const IONS: &[(&str, &str)] = &[
    ("NA", "Na"),
    ("CL", "Cl"),
    ("MG", "Mg"),
    ("ZN", "Zn"),
    ("LI", "Li"),
    ("RB", "Rb"),
    ("CS", "Cs"),
    ("BR", "Br"),
    ("FE", "Fe"),
    ("CA", "Ca"),
    ("AR", "Ar"),
    ("NE", "Ne"),
    ("KR", "Kr"),
    ("XE", "Xe"),
    ("HE", "He"),
    ("SOD", "Na"),
    ("CLA", "Cl"),
    ("POT", "K"),
    ("CAL", "Ca"),
    ("CES", "Cs"),
];

/// The element that a name suggests: a name with a small second letter says it; an ion has the name
/// of its residue; every other name begins with its element.
pub(super) fn element_of(name: &str, residue: &str) -> String {
    let letters = |word: &str| -> String {
        let rest = word.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
        rest.chars().take_while(char::is_ascii_alphabetic).collect()
    };
    let word = letters(name);
    let mut chars = word.chars();
    let (first, second) = (chars.next(), chars.next());
    if second.is_some_and(|c| c.is_ascii_lowercase()) {
        return word.chars().take(2).collect();
    }
    if word.eq_ignore_ascii_case(&letters(residue)) || residue.is_empty() {
        let known = IONS.iter().find(|(ion, _)| ion.eq_ignore_ascii_case(&word));
        if let Some((_, element)) = known {
            return (*element).to_string();
        }
    }
    first
        .map(|c| c.to_ascii_uppercase().to_string())
        .unwrap_or_default()
}

/// The points of the first frame of an XYZ file. A point that is written by its number of protons
/// keeps the number as its name.
pub(super) fn of_xyz(source: &Source, budget: &Budget) -> Result<Atoms> {
    let mut builder = Builder::new(source.name(), budget);
    let frame = read_xyz(source, budget)?.next().transpose()?;
    for species in frame.iter().flat_map(|frame| &frame.species) {
        builder.push(Atom {
            name: species,
            element: species,
            residue_number: Some(1),
            ..Atom::default()
        })?;
    }
    builder.finish(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_those_that_names_suggest() {
        let cases = [
            ("CA", "ALA", "C"),
            ("CA", "CA", "Ca"),
            ("CA", "CA2+", "Ca"),
            ("OW", "SOL", "O"),
            ("HW1", "SOL", "H"),
            ("1HB", "ALA", "H"),
            ("NA", "NA+", "Na"),
            ("NA", "HEM", "N"),
            ("CLA", "CLA", "Cl"),
            ("Si", "", "Si"),
            ("K", "K", "K"),
            ("", "ALA", ""),
        ];
        for (name, residue, element) in cases {
            assert_eq!(element_of(name, residue), element, "{name} in {residue}");
        }
    }
}
