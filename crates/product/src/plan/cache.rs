//! The sum-product paper's model of a cache (section 5): arithmetic intensity with misses, and the
//! rate that it allows.
//!
//! Results are made in the global order. A cache holds the segments of all functions that belong to
//! the fastest result variables; a segment is fetched again whenever a slower variable of its
//! function has moved.

/// One bucket: `O` entries of a result, each the sum over `N` configurations of a product of `m`
/// functions.
#[derive(Clone, Debug)]
pub struct Bucket {
    /// Domain sizes of the result's variables, slowest first.
    pub out: Vec<usize>,
    /// Configurations of the summed variables.
    pub summed: usize,
    /// By function: whether it holds each result variable, and its configurations of the summed
    /// variables.
    pub functions: Vec<(Vec<bool>, usize)>,
}

/// What a bucket does to memory beyond a cache, in entries and operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    /// Operations: `|O| (N m - 1)`.
    pub operations: f64,
    /// Entries read from beyond the cache.
    pub read: f64,
    /// Entries of the result.
    pub written: f64,
}

impl Traffic {
    /// Arithmetic intensity: operations for an entry read or written.
    pub fn intensity(&self) -> f64 {
        self.operations / (self.read + self.written)
    }
    /// Operations a second: `min(P, M A)`, with `peak` operations and `memory` bytes a second and
    /// `entry` bytes an entry.
    pub fn rate(&self, peak: f64, memory: f64, entry: f64) -> f64 {
        peak.min(memory / entry * self.intensity())
    }
}

impl Bucket {
    pub(super) fn written(&self) -> f64 {
        self.out.iter().map(|c| *c as f64).product()
    }
    pub(super) fn operations(&self) -> f64 {
        // The paper counts N m - 1 for an entry: N (m - 1) products and N - 1 sums.
        self.written() * (self.summed as f64 * self.functions.len() as f64 - 1.0)
    }
    /// Without a cache: every operand is fetched for every operation.
    pub fn uncached(&self) -> Traffic {
        let read = self.written() * (self.summed * self.functions.len()) as f64;
        Traffic {
            operations: self.operations(),
            read,
            written: self.written(),
        }
    }
    /// With a cache of `entries`.
    pub fn cached(&self, entries: f64) -> Traffic {
        let outer = self.outer(entries);
        let read = self
            .functions
            .iter()
            .map(|f| self.segment(f, outer) * self.fetches(f, outer))
            .sum();
        Traffic {
            operations: self.operations(),
            read,
            written: self.written(),
        }
    }
    /// Result variables that stay outside: the fewest with which all segments fit.
    fn outer(&self, entries: f64) -> usize {
        let fits = |outer: &usize| {
            self.functions
                .iter()
                .map(|f| self.segment(f, *outer))
                .sum::<f64>()
                <= entries
        };
        (0..self.out.len()).find(fits).unwrap_or(self.out.len())
    }
    /// Entries of a function that belong to the variables beyond the first `outer`.
    pub(super) fn segment(&self, (holds, summed): &(Vec<bool>, usize), outer: usize) -> f64 {
        let own = self
            .out
            .iter()
            .zip(holds)
            .skip(outer)
            .filter(|(_, h)| **h)
            .map(|(c, _)| *c as f64);
        own.product::<f64>() * *summed as f64
    }
    /// How often a function's segment changes: configurations of the outer variables down to the
    /// fastest that it holds.
    fn fetches(&self, (holds, _): &(Vec<bool>, usize), outer: usize) -> f64 {
        let last = holds[..outer]
            .iter()
            .rposition(|h| *h)
            .map_or(0, |at| at + 1);
        self.out[..last].iter().map(|c| *c as f64).product()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `C[i, k] = Σ_j A[i, j] B[j, k]`.
    fn matrix(m: usize, n: usize, k: usize) -> Bucket {
        Bucket {
            out: vec![m, k],
            summed: n,
            functions: vec![(vec![true, false], n), (vec![false, true], n)],
        }
    }

    #[test]
    fn a_product_of_two_functions_does_one_operation_for_three_accesses() {
        let same = (vec![true], 1);
        let product = Bucket {
            out: vec![1000],
            summed: 1,
            functions: vec![same.clone(), same],
        };
        assert!((product.uncached().intensity() - 1.0 / 3.0).abs() < 1e-12);
        assert!(
            (product.cached(1e9).intensity() - 1.0 / 3.0).abs() < 1e-12,
            "nothing is used twice"
        );
    }

    #[test]
    fn matrix_products_have_the_intensities_of_the_closed_forms() {
        // Without a cache (2 - 1/N) / (2 + 1/N), with everything in it (2 - 1/N) / (1/M + 1/N +
        // 1/K).
        let product = matrix(79, 100, 79);
        assert!((product.uncached().intensity() - 0.99).abs() < 1e-3);
        let whole = 1.99 / (1.0 / 79.0 + 1.0 / 100.0 + 1.0 / 79.0);
        assert!((product.cached(1e9).intensity() - whole).abs() < 1e-9);
        // A row of A and all of B: the same traffic. One row of A, one column of B: B comes again
        // for every row.
        assert!((product.cached(79.0 * 100.0 + 100.0).intensity() - whole).abs() < 1e-9);
        let rows = 1.99 / (1.0 / 79.0 + 1.0 / 100.0 + 1.0);
        assert!((product.cached(200.0).intensity() - rows).abs() < 1e-9);
    }

    #[test]
    fn the_rate_is_the_lower_of_peak_and_memory() {
        let traffic = matrix(1000, 1000, 1000).cached(1e9);
        assert_eq!(traffic.rate(1e11, 1e12, 8.0), 1e11);
        assert!((traffic.rate(1e15, 8e9, 8.0) / 1e9 - traffic.intensity()).abs() < 1e-9);
    }
}
