use zipfold_core::fold::Scale;
use zipfold_cpu::kernels::histogram::{MID, MOST, Parts, Sums, Terms, apart};
use zipfold_vector::simd::Isa;

fn whole(parts: Parts) -> i128 {
    let [high, mid, low] = parts.map(|p| p as i128);
    (high << 54) + (mid << 27) + low
}

/// Terms of all sizes and signs, about whole numbers and about what parts begin with.
fn some_terms() -> Vec<f64> {
    let mut terms = vec![
        0.0,
        -0.0,
        0.75,
        1e-20,
        5e-324,
        1.234_567_890_1e23,
        (1u128 << 80) as f64,
    ];
    for power in [0, 1, 26, 27, 28, 52, 53, 54, 55, 79] {
        let at = (1u128 << power) as f64;
        terms.extend([
            at,
            at + 0.5,
            at * 1.5,
            at * 1.25 - 0.25,
            at.next_down(),
            at.next_up(),
        ]);
    }
    terms.iter().flat_map(|t| [*t, -t]).collect()
}

#[test]
fn parts_add_up_to_whole_terms() {
    for term in some_terms() {
        assert_eq!(whole(apart(term)), term as i128, "{term}");
        assert!(
            apart(term).iter().all(|p| p.abs() <= MID * 0.5 + 1.0),
            "{term}"
        );
    }
}

#[test]
fn terms_are_added_by_vectors_as_one_by_one() {
    let terms: Vec<f64> = some_terms().into_iter().cycle().take(1000).collect();
    let slots: Vec<i32> = (0..1000).map(|k| (k * 7919 % 5) << 3).collect();
    for isa in Isa::available() {
        for count in [0, 1, 7, 127, 128, 129, 1000] {
            let weights = [0.0; 1];
            let weights = Some([&weights[..]; 2]);
            let unit = Scale::below((1u128 << 80) as f64);
            let of = Terms {
                weights,
                weight_scale: unit,
                values: true,
                value_scale: unit,
                squares: false,
            };
            let mut sums = Sums::new(of, 5);
            sums.add_all(isa, false, &terms[..count], &slots, 3);
            sums.add_all(isa, true, &terms[..count / 2], &slots, 3);
            let want = |count| {
                let mut want = vec![0i128; 5];
                terms[..count]
                    .iter()
                    .zip(&slots)
                    .for_each(|(t, slot)| want[*slot as usize >> 3] += *t as i128);
                want
            };
            assert_eq!(
                sums.finish(),
                [want(count), want(count / 2)],
                "{isa} {count}"
            );
        }
    }
}

#[test]
fn as_many_as_fit_are_added() {
    let weights = [1.0];
    let terms = Terms {
        weights: Some([&weights; 2]),
        weight_scale: Scale::below(1.0),
        values: true,
        value_scale: Scale::below((1u128 << 77) as f64),
        squares: false,
    };
    let mut sums = Sums::new(terms, 3);
    let few = [(1u128 << 80) as f64, 3.0, 5.0, -7.5];
    let want = few.iter().map(|t| *t as i128).sum::<i128>();
    sums.add_all(Isa::detect(), false, &few, &[1; 4], 0);
    // Parts make room for terms that are more than fit, before they are added.
    sums.pending = MOST - 3;
    sums.add_all(Isa::detect(), false, &few, &[1; 4], 0);
    assert_eq!((sums.pending, sums.totals[0][1]), (4, want));
    sums.pending = MOST;
    sums.add(0, 0, 1, 6.25);
    assert_eq!((sums.pending, sums.totals[0][1]), (1, 2 * want));
    assert!(MOST as f64 * (MID * 0.5 + 1.0) <= (1u64 << 53) as f64);
    assert_eq!(
        sums.finish(),
        [vec![0, 2 * want + (1i128 << 80), 0], vec![0, 20, 0]]
    );
}
