//! Terms of queued pairs: products of weights, by vectors, and values.

use super::queued::{From, QUEUE, QueuedPairs, lanes};
use super::sums::Sums;
use super::work::Work;
use zipfold_vector::simd::{Element, Isa, Kernel, Lanes, first_lanes};

impl Sums<'_> {
    /// Adds the terms of queued pairs, whose slots are given times 2^`shift`.
    #[inline(always)]
    pub(super) fn add_queued(
        &mut self,
        isa: Isa,
        work: &Work<'_>,
        pairs: &QueuedPairs<'_>,
        (slots, shift): (&[i32], i32),
    ) {
        let of = self.terms;
        let mut terms = [0.0; QUEUE + 16];
        if let Some([x, y]) = of.weights {
            let products = Weigh {
                from: pairs.from,
                x,
                y,
                unit: of.weight_scale.unit(),
                lanes: pairs.lanes,
                terms: &mut terms,
            };
            f64::dispatch(isa, products);
            self.add_all(isa, false, &terms[..slots.len()], slots, shift);
        }
        if of.values {
            let of_vector =
                |(i, j, bits): (usize, usize, u32)| lanes(bits).map(move |lane| (i, j + lane));
            let pairs = pairs.vectors().flat_map(of_vector);
            terms
                .iter_mut()
                .zip(pairs)
                .for_each(|(t, (i, j))| *t = of.value(work.x.squared_distance(i, work.y, j)));
            self.add_all(isa, true, &terms[..slots.len()], slots, shift);
        }
    }
}

/// The products of the weights of queued pairs, in units.
struct Weigh<'a> {
    from: &'a [From],
    x: &'a [f64],
    y: &'a [f64],
    unit: f64,
    /// Lanes of the vectors that were queued.
    lanes: usize,
    terms: &'a mut [f64; QUEUE + 16],
}

impl Kernel<f64> for Weigh<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<f64>>(self, s: S) {
        let unit = s.splat(self.unit);
        let mut end = 0;
        for From { i, j, bits, .. } in self.from {
            let x = s.splat(self.x[*i as usize]);
            for part in (0..self.lanes).step_by(S::N) {
                let bits = bits >> part & first_lanes(S::N);
                // SAFETY: 16 weights lie behind the last point's, and 16 terms behind those of a
                // full queue.
                unsafe {
                    let y = s.load(self.y.as_ptr().add(*j as usize + part));
                    s.store_compressed(
                        s.mul(s.mul(x, y), unit),
                        bits,
                        self.terms.as_mut_ptr().add(end),
                    );
                }
                end += bits.count_ones() as usize;
            }
        }
    }
}
