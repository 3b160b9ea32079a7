//! Contraction over any semiring: plain counting over all configurations.

use super::shape::{Digit, MOST_INPUTS, Shape};
use zipfold_core::factor::Semiring;

/// Calls `see(out, addresses)` with every configuration's address in the result and in the inputs.
pub fn visit(digits: &[Digit], inputs: usize, mut see: impl FnMut(usize, &[usize])) {
    let mut state = vec![0usize; digits.len()];
    let (mut base, mut out) = ([0usize; MOST_INPUTS], 0usize);
    loop {
        see(out, &base[..inputs]);
        let mut at = digits.len();
        loop {
            if at == 0 {
                return;
            }
            at -= 1;
            let d = &digits[at];
            state[at] += 1;
            if state[at] < d.card {
                base[..inputs]
                    .iter_mut()
                    .zip(&d.strides)
                    .for_each(|(b, s)| *b += s);
                out += d.out;
                break;
            }
            state[at] = 0;
            base[..inputs]
                .iter_mut()
                .zip(&d.strides)
                .for_each(|(b, s)| *b -= (d.card - 1) * s);
            out -= (d.card - 1) * d.out;
        }
    }
}

/// Contracts tables over `semiring` into `out`, which the call overwrites.
pub fn contract<S: Semiring>(
    semiring: &S,
    shape: &Shape,
    inputs: &[&[S::Value]],
    out: &mut [S::Value],
) {
    out.fill(semiring.zero());
    visit(&shape.digits, shape.inputs, |to, from| {
        let product = inputs
            .iter()
            .zip(from)
            .fold(semiring.unit(), |p, (t, at)| semiring.mul(p, t[*at]));
        out[to] = semiring.add(out[to], product);
    });
}
