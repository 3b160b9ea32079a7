use zipfold_cpu::pairs::prune::{key, number};

#[test]
fn keys_are_in_the_order_of_numbers() {
    let numbers = [
        f64::NEG_INFINITY,
        -1e300,
        -1.0,
        -5e-324,
        -0.0,
        0.0,
        5e-324,
        1.0,
        1e300,
        f64::INFINITY,
    ];
    assert!(numbers.windows(2).all(|w| key(w[0]) < key(w[1])));
    assert!(
        numbers
            .iter()
            .all(|v| number(key(*v)).to_bits() == v.to_bits())
    );
}
