//! Sets of atoms, and the pairs of sets that one run answers.
//!
//! All partial functions of k kinds are k (k + 1) / 2 questions, each about its own two sets. Every
//! pair of atoms is in one of them, so all together visit the pairs of one function of all atoms,
//! and none of them looks at the kind of an atom.

use super::asked::{Partials, Rdf};
use super::exclusions::{Excluded, Exclusions};
use super::select::{nameless, select};
use zipfold_core::{Budget, Error, Opt, Result};
use zipfold_io::trajectory::{AtomWords, Atoms};

/// More kinds than this are taken for a mistake: names of atoms where elements are meant.
const MOST_KINDS: usize = 64;

/// A set of atoms.
#[derive(Debug)]
pub(super) struct Set {
    pub(super) name: String,
    /// Ascending.
    pub(super) atoms: Vec<u32>,
}

/// Two sets whose pairs are counted.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Pairs that are left out.
    pub(super) excluded: Excluded,
}

impl Question {
    /// Whether both sets are one: then a pair is visited once and counts twice.
    pub(super) fn is_within(&self) -> bool {
        self.from == self.to
    }
    /// The ordered pairs that a frame counts, if distances are not bounded.
    pub(super) fn counted(&self, sets: &[Set]) -> usize {
        let [from, to] = [self.from, self.to].map(|at| sets[at].atoms.len());
        let (ways, alone) = if self.is_within() { (2, from) } else { (1, 0) };
        from * to - alone - ways * self.excluded.pairs.len()
    }
}

/// The sets and questions that `asked` is about.
pub(super) fn sets(
    asked: &Rdf,
    atoms: Option<&Atoms>,
    count: usize,
    exclusions: &Exclusions,
    budget: &Budget,
) -> Result<(Vec<Set>, Vec<Question>)> {
    let sets = named_sets(asked, atoms, count)?;
    let asked_pairs: Vec<(usize, usize)> = match asked.partials {
        None => vec![(0, sets.len() - 1)],
        Some(_) => (0..sets.len())
            .flat_map(|a| (a..sets.len()).map(move |b| (a, b)))
            .collect(),
    };
    let question = |(from, to): (usize, usize)| {
        let excluded =
            exclusions.between([&sets[from].atoms, &sets[to].atoms], from == to, budget)?;
        Ok(Question { from, to, excluded })
    };
    let mut questions = asked_pairs
        .into_iter()
        .map(question)
        .collect::<Result<Vec<_>>>()?;
    if asked.partials.is_none() && questions[0].counted(&sets) == 0 {
        return Err(pairless(&sets));
    }
    // A kind of one atom has no pairs within.
    questions.retain(|question| question.counted(&sets) > 0);
    Ok((sets, questions))
}

/// The sets by their selections, or by kind.
fn named_sets(asked: &Rdf, atoms: Option<&Atoms>, count: usize) -> Result<Vec<Set>> {
    let set = |text: &str| {
        Ok::<Set, Error>(Set {
            name: text.to_string(),
            atoms: select(text, atoms, count)?,
        })
    };
    let from = set(&asked.select)?;
    match (&asked.partials, &asked.to) {
        (Some(_), Some(_)) => {
            let e = Error::request("expected partial functions of one set, got a second set");
            Err(e.at_place(Opt::To).remedy("leave one of the two out"))
        }
        (Some(partials), None) => kinds(&from, *partials, atoms.ok_or_else(nameless)?),
        (None, Some(to)) => {
            let to = set(to).map_err(|e| e.at_place(Opt::To))?;
            Ok(match to.atoms == from.atoms {
                true => vec![from],
                false => vec![from, to],
            })
        }
        (None, None) => Ok(vec![from]),
    }
}

/// The refusal of sets without a pair.
fn pairless(sets: &[Set]) -> Error {
    let what = match sets {
        [one] if one.atoms.len() == 1 => "expected at least two atoms, got one",
        _ => "expected at least one pair of atoms, got none: all are left out",
    };
    let e = Error::request(what).at_place(Opt::Select);
    e.remedy(format!("more atoms, or other {}", Opt::Exclude))
}

/// The atoms of `whole` by kind, kinds in the order of their first atom.
fn kinds(whole: &Set, partials: Partials, atoms: &Atoms) -> Result<Vec<Set>> {
    let words: &AtomWords = match partials {
        Partials::Element => &atoms.elements,
        Partials::Name => &atoms.names,
        Partials::Residue => &atoms.residue_names,
    };
    let mut places: Vec<Option<usize>> = vec![None; words.distinct.len()];
    let mut sets: Vec<Set> = Vec::new();
    for atom in &whole.atoms {
        let code = words.codes[*atom as usize] as usize;
        let place = *places[code].get_or_insert_with(|| {
            sets.push(Set {
                name: words.distinct[code].clone(),
                atoms: Vec::new(),
            });
            sets.len() - 1
        });
        sets[place].atoms.push(*atom);
    }
    if sets.len() > MOST_KINDS {
        let what = format!(
            "expected at most {MOST_KINDS} kinds of atoms, got {}",
            sets.len()
        );
        return Err(Error::request(what).at_place(Opt::Partials).remedy(format!(
            "{}, or fewer atoms by {}",
            Opt::Partials.to("element"),
            Opt::Select
        )));
    }
    Ok(sets)
}
