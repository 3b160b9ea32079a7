//! Squares of a pruned question: ranges of the rows of x along a curve against ranges of those of
//! y. Squares whose boxes settle all of their pairs are counted when the question is planned, and
//! no share is made of them.
//!
//! ```text
//!        ranges of y                       of one table, half of the pairs
//!        0  1  2  3                               0  1  2  3
//!     0  ■  ■  ·  ·     · settled              0  ◥  ■  ·  ·      band 0: its own pairs, and
//!     1  ■  ■  ■  ·     ■ left                 1     ◥  ■  ·              rows 0 × columns 1
//!     2  ·  ■  ■  ■                            2        ◥  ■
//! ```
//!
//! A *band* is what is left of the squares of one range of x. It is one question, or two where its
//! own pairs are among them: rows that are copied and sorted once serve all of its squares. Shares
//! are runs of bands with about as much work each.
//!
//! Bands name places along the curve, not rows. Which rows lie there is kept apart, so a share asks
//! for the places of its bands alone.
//!
//! Answers that depend on no order of pairs have the bits of one run, since every pair is in one
//! square, and a square is settled by the bounds that a pruned run takes.

use serde::{Deserialize, Serialize};
use std::ops::Range;
use zipfold_core::fold::{Fold, State, Tally};
use zipfold_core::{Domain, Job, Space};

/// The squares of a question.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Squares {
    /// How many there were, and how many are left.
    pub counts: SquareCounts,
    /// The squares that are left, by range of x.
    pub bands: Vec<SquareBand>,
    /// Rows of a whole range of x and of y.
    pub sizes: [usize; 2],
    /// By fold: what settled pairs give; of folds by row nothing.
    pub states: Vec<State>,
    /// What happened to them.
    pub tally: Tally,
}

/// How many squares there were, and how many are left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SquareCounts {
    /// Ranges of x and of y.
    pub ranges: [usize; 2],
    /// Squares with pairs.
    pub all: u64,
    /// Squares that bounds do not settle.
    pub left: u64,
    /// Pairs that are settled.
    pub settled: u64,
}

/// What is left of the squares of one range of x.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SquareBand {
    /// Places of its rows of x.
    pub rows: Range<usize>,
    /// Whether pairs of these rows among themselves are left, where x and y are one table.
    pub own: bool,
    /// Places of its other rows of y, ascending.
    pub cols: Vec<Range<usize>>,
    /// Pairs that bounds of smaller boxes leave open: a measure of its work.
    pub open: u64,
}

/// A part of a band: a question of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// The pairs of its rows among themselves, in the domain of the question.
    Own,
    /// All pairs of its rows and its other rows of y.
    Others,
}

impl Squares {
    /// The bands of share `index` of `parts`: consecutive ones with about as much work as others
    /// have. A share may have none.
    pub fn share(&self, index: usize, parts: usize) -> Range<usize> {
        // A band has its rows to place, even where no pair is open.
        let work = |band: &SquareBand| u128::from(band.open) + band.rows.len() as u128;
        let total: u128 = self.bands.iter().map(work).sum();
        let begin = |part: usize| {
            let bound = total * part as u128;
            let mut before = 0;
            // A band belongs to the share in which its middle lies.
            let inside = |band: &&SquareBand| {
                let middle = 2 * before + work(band);
                before += work(band);
                middle * (parts as u128) < 2 * bound
            };
            match part >= parts {
                true => self.bands.len(),
                false => self.bands.iter().take_while(inside).count(),
            }
        };
        begin(index)..begin(index + 1)
    }
    /// The parts of a band, in the order in which they are merged.
    pub fn pieces(band: &SquareBand) -> impl Iterator<Item = PieceKind> {
        let own = band.own.then_some(PieceKind::Own);
        let others = (!band.cols.is_empty()).then_some(PieceKind::Others);
        own.into_iter().chain(others)
    }
    /// Pairs of a part of a band, those beyond a cut-off among them.
    pub fn pairs(space: &Space, band: &SquareBand, kind: PieceKind) -> u64 {
        let (domain, m) = match kind {
            PieceKind::Own => (space.domain, band.rows.len()),
            PieceKind::Others => (Domain::Cross, band.cols.iter().map(Range::len).sum()),
        };
        let n = band.rows.len();
        let space = Space {
            domain,
            n,
            m,
            cutoff: space.cutoff,
            band: None,
        };
        space.size().unwrap_or(u64::MAX)
    }
    /// Whether places and ranges are those of `space`: a file may hold anything.
    pub fn fits(&self, space: &Space) -> bool {
        let inside = |range: &Range<usize>, end: usize| range.start < range.end && range.end <= end;
        let band = |band: &SquareBand| {
            inside(&band.rows, space.n)
                && band.cols.iter().all(|range| inside(range, space.m))
                && (!band.own || space.is_self())
        };
        self.sizes.iter().all(|size| *size > 0) && self.bands.iter().all(band)
    }
}

/// Whether a fold has a state for each row of x. A band has all pairs of its rows then, so results
/// are complete in one share.
pub fn is_by_row(fold: &Fold) -> bool {
    matches!(fold, Fold::Nearest(_) | Fold::Reduce(_))
}

/// Whether the folds of `job` are those of squares: their answers depend on no order of pairs,
/// bounds settle their pairs, and a pair is credited to no row of y.
pub fn serve(job: &Job) -> bool {
    // The k best of a row are a bound for others only where a cut-off leaves none of them out. Of half
    // of the pairs a row is on both sides, and ties go by rows that a square has in another order.
    let of_best = !job.space.is_triangular() && job.cutoff_root.is_none();
    let loose = |fold: &Fold| match fold {
        Fold::Histogram(_) => true,
        Fold::Join(join) => join.is_inner(),
        Fold::Nearest(_) | Fold::Top(_) => of_best,
        // Sums of conditions keep the number of pairs of each row, which no square has.
        Fold::Reduce(reduce) => of_best && fold.traits().bounded && !reduce.op.adds(),
        Fold::Extremes(_)
        | Fold::Dense(_)
        | Fold::Quantile(_)
        | Fold::Listed(_)
        | Fold::Grouped(_) => false,
    };
    // Rows along the curve are in no band.
    let plain = job.parts.is_none() && job.space.band.is_none();
    plain && crate::prune::mode(job).is_some() && job.folds.iter().all(loose)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squares(open: &[u64]) -> Squares {
        let band = |(at, open): (usize, &u64)| SquareBand {
            rows: at..at + 1,
            own: true,
            cols: vec![],
            open: *open,
        };
        Squares {
            counts: SquareCounts::default(),
            bands: open.iter().enumerate().map(band).collect(),
            sizes: [1, 1],
            states: vec![],
            tally: Tally::default(),
        }
    }

    #[test]
    fn shares_of_bands_are_disjoint_cover_all_and_are_balanced() {
        for open in [
            &[][..],
            &[5],
            &[1, 1, 1, 1, 1, 1, 1],
            &[0, 90, 3, 4, 0, 0, 50],
        ] {
            let squares = squares(open);
            for parts in [1, 2, 3, 7, 20] {
                let end = (0..parts).fold(0, |end, index| {
                    let share = squares.share(index, parts);
                    assert_eq!(share.start, end, "{open:?} {index} of {parts}");
                    share.end
                });
                assert_eq!(end, open.len());
            }
        }
        let even = squares(&[10; 12]);
        assert!((0..4).all(|index| even.share(index, 4).len() == 3));
    }

    #[test]
    fn what_does_not_fit_its_space_is_told() {
        let space = Space {
            domain: Domain::Triangle,
            n: 4,
            m: 4,
            cutoff: None,
            band: None,
        };
        let good = squares(&[1; 4]);
        assert!(good.fits(&space));
        let mut beyond = good.clone();
        beyond.bands[3].cols = std::iter::once(2..5).collect();
        assert!(!beyond.fits(&space));
        let mut no_range = good;
        no_range.sizes[1] = 0;
        assert!(!no_range.fits(&space));
    }
}
