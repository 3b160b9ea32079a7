//! Sums by bin beside the counts: products of weights, and values. Terms are whole numbers of a small unit, so that sums are
//! exact and the same in every order, as those of [`zipfold_core::fold::HistogramState`].

/// What is summed for the pairs of two sets of points.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'w> {
    /// Weights of the points of x and of y, all finite; a pair weighs the product.
    pub weights: Option<[&'w [f64]; 2]>,
    /// Units in a weight of 1. No product of weights has more than 2⁸⁰.
    pub weight_unit: f64,
    /// Values are summed too: the distance, or its square where `squares`.
    pub values: bool,
    /// Units in a value of 1. No value below the last edge has more than 2⁸⁰.
    pub value_unit: f64,
    /// Values are squares.
    pub squares: bool,
}

/// Sums in the making.
#[derive(Debug)]
pub(super) struct Sums<'w> {
    terms: Terms<'w>,
    /// By slot: the sums of weights and of values.
    totals: [Vec<i128>; 2],
    /// The same, what is not in `totals` yet: multiples of 2⁴⁰, and the rest; [`COPIES`] of each slot.
    parts: [Vec<[i64; 2]>; 2],
    /// Terms in `parts`.
    pending: usize,
}

/// Sums of a slot, which terms take in turn: most pairs lie in few slots, and a sum would wait for its last term.
const COPIES: usize = 4;
const HALF: f64 = (1u64 << 40) as f64;
/// Terms of two halves of up to 2⁴⁰ whose sums stay within 63 bits.
const MOST: usize = 1 << 22;

impl<'w> Sums<'w> {
    /// Nothing yet of `slots` slots.
    pub fn new(terms: Terms<'w>, slots: usize) -> Self {
        let of = |wanted: bool| if wanted { slots } else { 0 };
        let [weights, values] = [of(terms.weights.is_some()), of(terms.values)];
        let totals = [vec![0; weights], vec![0; values]];
        Sums { terms, totals, parts: [weights, values].map(|slots| vec![[0; 2]; slots * COPIES]), pending: 0 }
    }
    /// Adds the terms of pair (i, j), which lies in `slot`; `r2` is its squared distance.
    #[inline(always)]
    pub fn add(&mut self, i: usize, j: usize, slot: usize, r2: impl FnOnce() -> f64) {
        let Sums { terms, parts: [weights, values], .. } = self;
        let slot = slot * COPIES + self.pending % COPIES;
        if let Some([x, y]) = terms.weights {
            add(&mut weights[slot], x[i] * y[j] * terms.weight_unit);
        }
        if terms.values {
            let v = if terms.squares { r2() } else { r2().sqrt() };
            add(&mut values[slot], v * terms.value_unit);
        }
        self.pending += 1;
        if self.pending == MOST {
            self.flush();
        }
    }
    fn flush(&mut self) {
        for (totals, parts) in self.totals.iter_mut().zip(&mut self.parts) {
            for (total, parts) in totals.iter_mut().zip(parts.as_chunks_mut::<COPIES>().0) {
                for part in parts {
                    *total += (i128::from(part[0]) << 40) + i128::from(part[1]);
                    *part = [0; 2];
                }
            }
        }
        self.pending = 0;
    }
    /// The sums of weights and of values by slot, of those that are wanted.
    pub fn finish(mut self) -> [Vec<i128>; 2] {
        self.flush();
        self.totals
    }
}

/// Adds the whole part of a term of up to 2⁸⁰ units; both halves are exact.
#[inline(always)]
fn add(sum: &mut [i64; 2], term: f64) {
    let high = (term / HALF) as i64;
    sum[0] += high;
    sum[1] += (term - high as f64 * HALF) as i64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_add_up_to_whole_terms() {
        let values =
            [0.0, -0.0, 1.0, 0.75, -3.9, 1e-20, (1u128 << 80) as f64, -((1u128 << 79) as f64), 1.2345678901e23];
        for a in values {
            let mut sum = [0; 2];
            add(&mut sum, a);
            assert_eq!((i128::from(sum[0]) << 40) + i128::from(sum[1]), a as i128, "{a}");
        }
        let weights = [1.0, 0.3, -0.7];
        let terms = Terms {
            weights: Some([&weights; 2]),
            weight_unit: (1u128 << 80) as f64,
            values: true,
            value_unit: 8.0,
            squares: false,
        };
        let mut sums = Sums::new(terms, 3);
        let mut want = [0i128; 2];
        for n in 0..MOST + 5 {
            let (i, j) = (n % 3, n / 3 % 3);
            sums.add(i, j, 1, || 6.25);
            want[0] += (weights[i] * weights[j] * terms.weight_unit) as i128;
            want[1] += 20;
        }
        assert_eq!(sums.finish(), [vec![0, want[0], 0], vec![0, want[1], 0]]);
    }
}
