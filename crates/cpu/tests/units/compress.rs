use zipfold_cpu::kernels::compress::*;
use zipfold_vector::simd::{Element, Isa};

fn values(n: usize) -> Vec<f64> {
    (0..n)
        .map(|i| {
            if i % 31 == 7 {
                f64::NAN
            } else {
                (i * 7919 % 64) as f64
            }
        })
        .collect()
}

fn check<T: Element>(n: usize) {
    let values: Vec<T> = values(n).into_iter().map(T::from_f64).collect();
    let bound = T::from_f64(20.0);
    for isa in Isa::available() {
        for (predicate, test) in [
            (Predicate::Less, (|v, b| v < b) as fn(T, T) -> bool),
            (Predicate::AtMost, |v, b| v <= b),
            (Predicate::Greater, |v, b| v > b),
            (Predicate::AtLeast, |v, b| v >= b),
            (Predicate::Equal, |v, b| v == b),
        ] {
            let mut pages = Pages::default();
            append_matching(isa, predicate, &values, bound, 5, &mut pages).unwrap();
            let got: Vec<u32> = pages.slices().flatten().copied().collect();
            let want: Vec<u32> = (0..n)
                .filter(|&i| test(values[i], bound))
                .map(|i| i as u32 + 5)
                .collect();
            assert_eq!(got, want, "{isa} {predicate:?} {n}");
            assert_eq!(pages.len(), want.len());
        }
    }
}

#[test]
fn indices_are_those_of_the_loop() {
    for n in [0, 1, 2, 15, 16, 17, 100, 3 * PAGE + 5] {
        check::<f32>(n);
        check::<f64>(n);
    }
}

#[test]
fn a_limit_stops_and_the_row_can_go_on() {
    let values = vec![0.0f32; 3 * PAGE];
    for isa in Isa::available() {
        let mut pages = Pages::with_limit(2);
        let full = append_matching(isa, Predicate::Equal, &values, 0.0, 0, &mut pages).unwrap_err();
        assert_eq!((pages.pages(), pages.len()), (2, full.done));
        let mut more = Pages::default();
        append_matching(
            isa,
            Predicate::Equal,
            &values[full.done..],
            0.0,
            full.done as u32,
            &mut more,
        )
        .unwrap();
        let all = pages.slices().chain(more.slices()).flatten().copied();
        assert!(all.eq(0..values.len() as u32), "{isa}");
    }
}
