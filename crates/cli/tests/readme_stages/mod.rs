//! Numbers of second stages, of several values of a parameter and of silhouettes, as README.md shows
//! them.

use crate::{euclidean, near, number};

/// Times between departures and reports of an airport: the longest, or the mean of both directions.
pub(crate) fn gaps(
    flights: &[Vec<f64>],
    weather: &[Vec<f64>],
    (longest, got): (bool, &[Vec<String>]),
) {
    assert_eq!(got.len(), 3);
    for (origin, line) in got.iter().enumerate() {
        let times = |rows: &[Vec<f64>]| -> Vec<f64> {
            let own = rows.iter().filter(|row| row[1] == (origin + 1) as f64);
            own.map(|row| row[0]).collect()
        };
        let sides = [times(flights), times(weather)];
        let gaps = |from: &[f64], to: &[f64]| -> Vec<f64> {
            let gap = |a: &f64| to.iter().map(|b| (a - b).abs()).fold(f64::MAX, f64::min);
            from.iter().map(gap).collect()
        };
        let both = [gaps(&sides[0], &sides[1]), gaps(&sides[1], &sides[0])];
        let of = both.map(|gaps| match longest {
            true => gaps.iter().copied().fold(0.0, f64::max),
            false => gaps.iter().sum::<f64>() / gaps.len() as f64,
        });
        let wanted = match longest {
            true => of[0].max(of[1]),
            false => of[0] + of[1],
        };
        assert_eq!(line[0], (origin + 1).to_string());
        near(number(&line[1]), wanted, "a gap of reports");
    }
}

/// Mean kernels of wines, for each bandwidth.
pub(crate) fn densities(wines: &[Vec<f64>], got: &[Vec<f64>]) {
    let points: Vec<Vec<f64>> = wines.iter().map(|w| vec![w[0], w[6], w[10]]).collect();
    assert_eq!(got.len(), points.len());
    for (point, got) in points.iter().zip(got) {
        for (at, mean) in got[1..].iter().enumerate() {
            let h = 0.1 * (at + 1) as f64;
            let kernel =
                |other: &Vec<f64>| (-euclidean(point, other).powi(2) / (2.0 * h * h)).exp();
            let sum: f64 = points.iter().map(kernel).sum();
            near(*mean, sum / points.len() as f64, "the density of a wine");
        }
        assert_eq!(got.len(), 11);
    }
}

/// The galaxy that is farthest from its nearest one.
pub(crate) fn loneliest(galaxies: &[Vec<f64>], got: &[Vec<f64>]) {
    let mut worst = (0.0, 0, 0);
    for (i, galaxy) in galaxies.iter().enumerate() {
        let mut best = (f64::MAX, 0);
        for (j, other) in galaxies.iter().enumerate().filter(|(j, _)| *j != i) {
            let apart = euclidean(galaxy, other);
            if apart < best.0 {
                best = (apart, j);
            }
        }
        if best.0 > worst.0 {
            worst = (best.0, i, best.1);
        }
    }
    assert_eq!(got[0][..2], [worst.1 as f64, worst.2 as f64]);
    near(got[0][2], worst.0, "the loneliest galaxy");
}

/// Silhouettes of wines by a double loop.
pub(crate) fn silhouettes(wines: &[Vec<f64>], got: &[Vec<f64>]) {
    let points: Vec<Vec<f64>> = wines.iter().map(|w| vec![w[0], w[6], w[10]]).collect();
    assert_eq!(got.len(), wines.len());
    for (i, got) in got.iter().enumerate() {
        let mean = |class: f64| {
            let others = (0..wines.len()).filter(|j| *j != i && wines[*j][13] == class);
            let all: Vec<f64> = others.map(|j| euclidean(&points[i], &points[j])).collect();
            all.iter().sum::<f64>() / all.len() as f64
        };
        let class = wines[i][13];
        let others = [0.0, 1.0, 2.0].into_iter().filter(|other| *other != class);
        let (a, b) = (mean(class), others.map(mean).fold(f64::MAX, f64::min));
        assert_eq!(got[0], class);
        near(got[1], (b - a) / a.max(b), "the silhouette of a wine");
    }
}
