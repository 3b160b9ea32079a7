//! Loops of this processor that serve a fold in the place of its own (`Bounded::absorb_scattered`),
//! in runs that leave pairs out: the table says which folds have one. An answer has the same bits
//! either way.

use crate::kernels::compress::{Pages, Predicate, append_matching};
use crate::kernels::top_k::TopK;
use std::ops::Range;
use zipfold_core::fold::{
    Bounded, Fold, Histogram, Join, Kept, Nearest, NearestState, Reduce, Scattered, State, worse,
};
use zipfold_vector::simd::{Element, Isa, Kernel, Lanes};

/// A loop for one fold and a batch of sorted rows.
pub(super) trait Fused {
    /// Takes the values of some pairs.
    fn absorb(&mut self, state: &mut State, line: &Scattered<'_>);
    /// Returns what a value must not exceed to matter to any of the sorted `rows`, where the loop
    /// keeps values itself; NaN while every value matters.
    fn worst(&self, rows: &Range<usize>) -> Option<f64>;
    /// Moves what the loop kept into the state.
    fn finish(&mut self, state: &mut State);
}

/// Makes the loop for a fold, where it is of the kind.
type Make<'e> = fn(&'e Fold, &Range<usize>, Isa) -> Option<Box<dyn Fused + 'e>>;

/// Returns the loop that serves `fold` over the sorted `rows`, if there is one.
pub(super) fn fused<'e>(
    fold: &'e Fold,
    rows: &Range<usize>,
    isa: Isa,
) -> Option<Box<dyn Fused + 'e>> {
    let table: [Make<'e>; 4] = [
        Lists::make,
        VectorMatches::make,
        ByVectors::<Histogram>::make,
        ByVectors::<Reduce>::make,
    ];
    table.into_iter().find_map(|make| make(fold, rows, isa))
}

/// Lists of the nearest, which compare a vector of values with the worst one kept, and which long
/// lists select in bulk: a list of the fold's own moves its entries for each value that it takes.
struct Lists<'e> {
    fold: &'e Nearest,
    isa: Isa,
    start: usize,
    lists: Vec<TopK<f64>>,
    negated: Vec<f64>,
}

impl<'e> Lists<'e> {
    fn make(fold: &'e Fold, rows: &Range<usize>, isa: Isa) -> Option<Box<dyn Fused + 'e>> {
        let Fold::Nearest(fold) = fold else {
            return None;
        };
        Some(Box::new(Lists {
            fold,
            isa,
            start: rows.start,
            lists: rows.clone().map(|_| TopK::new(fold.k)).collect(),
            negated: vec![],
        }))
    }
}

impl Fused for Lists<'_> {
    fn absorb(&mut self, _: &mut State, line: &Scattered<'_>) {
        let values = line.scalars(self.fold.root);
        let list = &mut self.lists[line.pairs.place - self.start];
        if self.fold.largest {
            self.negated.clear();
            self.negated.extend(values.iter().map(|v| -*v));
            list.offer_named(self.isa, &self.negated, line.pairs.others);
        } else {
            list.offer_named(self.isa, values, line.pairs.others);
        }
    }
    fn worst(&self, rows: &Range<usize>) -> Option<f64> {
        let worst = self.lists[rows.start - self.start..rows.end - self.start]
            .iter()
            .map(|list| list.bound().unwrap_or(f64::NAN));
        Some(worst.fold(f64::NEG_INFINITY, worse))
    }
    fn finish(&mut self, state: &mut State) {
        let list = |list: &mut TopK<f64>| {
            let entries = list.finish().iter();
            entries.map(|(v, j)| (*v, u64::from(*j))).collect()
        };
        let lists = self.lists.iter_mut().map(list).collect();
        *state = State::Nearest(NearestState::of_rows(self.start, lists));
    }
}

/// Matches of a join, found by vectors.
struct VectorMatches<'e> {
    fold: &'e Join,
    isa: Isa,
    pages: Pages,
}

impl<'e> VectorMatches<'e> {
    fn make(fold: &'e Fold, _: &Range<usize>, isa: Isa) -> Option<Box<dyn Fused + 'e>> {
        let Fold::Join(fold) = fold else {
            return None;
        };
        Some(Box::new(VectorMatches {
            fold,
            isa,
            pages: Pages::default(),
        }))
    }
}

impl Fused for VectorMatches<'_> {
    fn absorb(&mut self, state: &mut State, line: &Scattered<'_>) {
        let State::Join(state) = state else {
            return;
        };
        self.pages.clear();
        // Truth values are 0 and 1. A page holds more than a block of columns, so that there is
        // always room.
        let holds = line.scalars(self.fold.root);
        let full = append_matching(self.isa, Predicate::AtLeast, holds, 1.0, 0, &mut self.pages);
        debug_assert!(full.is_ok(), "a page is larger than a block");
        let values = self.fold.value.map(|root| line.scalars(root));
        for at in self.pages.slices().flatten() {
            let at = *at as usize;
            let value = values.map(|values| values[at]);
            self.fold.keep(state, &line.pairs, at, value);
        }
    }
    fn worst(&self, _: &Range<usize>) -> Option<f64> {
        None
    }
    fn finish(&mut self, _: &mut State) {}
}

/// A fold whose own loop over a run is compiled for the processor: a histogram that sums formulas
/// places its runs and takes their terms apart by vectors, counts and best values of rows tell runs
/// without a better value.
struct ByVectors<'e, F> {
    fold: &'e F,
    isa: Isa,
}

impl<'e> ByVectors<'e, Histogram> {
    fn make(fold: &'e Fold, _: &Range<usize>, isa: Isa) -> Option<Box<dyn Fused + 'e>> {
        let Fold::Histogram(fold) = fold else {
            return None;
        };
        let sums = fold.sums_formulas();
        sums.then(|| Box::new(ByVectors { fold, isa }) as Box<dyn Fused>)
    }
}

impl<'e> ByVectors<'e, Reduce> {
    fn make(fold: &'e Fold, _: &Range<usize>, isa: Isa) -> Option<Box<dyn Fused + 'e>> {
        let Fold::Reduce(fold) = fold else {
            return None;
        };
        Some(Box::new(ByVectors { fold, isa }))
    }
}

impl<F: Bounded<State: Kept>> Fused for ByVectors<'_, F> {
    fn absorb(&mut self, state: &mut State, line: &Scattered<'_>) {
        let fold = self.fold;
        if let Some(state) = Kept::within_mut(state) {
            f64::dispatch(self.isa, AbsorbRun { fold, state, line });
        }
    }
    fn worst(&self, _: &Range<usize>) -> Option<f64> {
        None
    }
    fn finish(&mut self, _: &mut State) {}
}

/// A run of at most a block.
struct AbsorbRun<'a, F: Bounded> {
    fold: &'a F,
    state: &'a mut F::State,
    line: &'a Scattered<'a>,
}

impl<F: Bounded> Kernel<f64> for AbsorbRun<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<f64>>(self, _: S) {
        self.fold.absorb_scattered(self.state, self.line);
    }
}
