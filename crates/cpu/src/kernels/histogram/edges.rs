//! The edges of a histogram of distances and the rule that assigns a value to a bin.

/// Ascending edges, held as squares. A pair belongs to the last bin whose lower edge² is at most
/// its r².
#[derive(Clone, Debug)]
pub struct Edges {
    squares: Vec<f64>,
    uniform: Option<Uniform>,
    closed: bool,
}

/// Evenly spaced edges: lo + i · (hi − lo) / n.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uniform {
    pub lo: f64,
    pub hi: f64,
    pub bins: usize,
}

impl Edges {
    /// `bins` equal bins of distance from `lo` to `hi`.
    ///
    /// # Panics
    /// If there is no bin, an edge is not finite, or `lo` ≥ `hi`.
    pub fn uniform(lo: f64, hi: f64, bins: usize) -> Edges {
        assert!(
            bins > 0 && lo.is_finite() && hi.is_finite() && lo < hi,
            "no bins between {lo} and {hi}"
        );
        let edge = |i: usize| lo + i as f64 * (hi - lo) / bins as f64;
        let squares = (0..=bins).map(|i| signed_square(edge(i))).collect();
        Edges::from_squares(squares).evenly_from(lo, hi)
    }

    /// Bins between ascending edges of distance.
    ///
    /// # Panics
    /// If there are fewer than two edges, or they do not ascend.
    pub fn from_edges(edges: &[f64]) -> Edges {
        Edges::from_squares(edges.iter().map(|&e| signed_square(e)).collect())
    }

    /// Bins between ascending edges of squared distance.
    ///
    /// # Panics
    /// If there are fewer than two edges, or they do not ascend.
    pub fn from_squares(squares: Vec<f64>) -> Edges {
        assert!(
            squares.len() > 1 && squares.iter().all(|e| !e.is_nan()),
            "a histogram needs two edges or more"
        );
        assert!(
            squares.windows(2).all(|w| w[0] <= w[1]),
            "edges do not ascend"
        );
        Edges {
            squares,
            uniform: None,
            closed: false,
        }
    }

    /// Counts values equal to the last edge in the last bin, as `numpy.histogram` does.
    pub fn close_last(mut self) -> Edges {
        self.closed = true;
        self
    }

    /// The same edges, which are known to be the squares of evenly spaced ones from `lo` to `hi`,
    /// but for a few roundings of each.
    pub fn evenly_from(self, lo: f64, hi: f64) -> Edges {
        let bins = self.bins();
        Edges {
            uniform: Some(Uniform { lo, hi, bins }),
            ..self
        }
    }

    /// Bins.
    pub fn bins(&self) -> usize {
        self.squares.len() - 1
    }

    /// The squares of the edges; those of negative edges are negative.
    pub fn squares(&self) -> &[f64] {
        &self.squares
    }

    pub(super) fn as_uniform(&self) -> Option<Uniform> {
        self.uniform
    }

    /// The slot of a squared distance: 0 below the first edge, 1 + bin, bins + 1 above the last,
    /// bins + 2 for NaN.
    pub fn slot(&self, r2: f64) -> usize {
        let bins = self.bins();
        if r2.is_nan() {
            return bins + 2;
        }
        match self.uniform {
            Some(u) => {
                let guess = (r2.max(0.0).sqrt() - u.lo) * (u.bins as f64 / (u.hi - u.lo)) + 1.0;
                self.slot_near(r2, guess.clamp(0.0, bins as f64 + 1.0) as usize)
            }
            None => self.close(r2, self.squares.partition_point(|&e| e <= r2)),
        }
    }

    /// As `slot`, by a walk from slot `guess`.
    pub(super) fn slot_near(&self, r2: f64, guess: usize) -> usize {
        let bins = self.bins();
        if r2.is_nan() {
            return bins + 2;
        }
        let mut slot = guess.min(bins + 1);
        while slot > 0 && r2 < self.squares[slot - 1] {
            slot -= 1;
        }
        while slot <= bins && self.squares[slot] <= r2 {
            slot += 1;
        }
        self.close(r2, slot)
    }

    /// The slot, with regard to a closed last edge.
    fn close(&self, r2: f64, slot: usize) -> usize {
        let bins = self.bins();
        // All edges of a run of equal last ones count as the last edge.
        if self.closed && slot == bins + 1 && r2 == self.squares[bins] {
            bins
        } else {
            slot
        }
    }
}

/// e², negative for negative edges, so that squares ascend as their edges do.
fn signed_square(e: f64) -> f64 {
    e * e.abs()
}
