use zipfold_cpu::pairs::WorstRow;

#[test]
fn squares_below_the_limit_have_smaller_roots() {
    assert_eq!(WorstRow::new(true).limit(), f64::NEG_INFINITY);
    let of_known = |known: f64| {
        let worst = WorstRow::new(true);
        worst.learn(known);
        worst
    };
    for known in [
        5e-324,
        1e-323,
        1e-310,
        1e-300,
        0.1,
        1.0,
        2.0,
        3.7e90,
        f64::MAX,
    ] {
        let below = of_known(known).limit().next_down();
        assert!(below < known && below.sqrt() < known.sqrt(), "{known}");
        let below = of_known(-known).limit().next_down();
        assert!((-below).sqrt() > known.sqrt(), "{known}");
    }
    let worst = of_known(f64::INFINITY);
    assert_eq!(worst.limit(), f64::INFINITY);
    worst.learn(f64::NAN);
    assert_eq!(worst.limit(), f64::INFINITY);
}
