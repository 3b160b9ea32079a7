//! Angle between two points of a sphere given by latitude and longitude in radians, in radians (scikit-learn):
//! 2·asin √(sin²(Δφ/2) + cos φ₁ cos φ₂ sin²(Δλ/2)).

use super::{Domain, Named, Scale, text};
use crate::error::Error;

const FORMULA: &str =
    "2 * asin(sqrt(min(sin((x[0] - y[0]) / 2)^2 + cos(x[0]) * cos(y[0]) * sin((x[1] - y[1]) / 2)^2, 1)))";

/// `haversine`.
pub const HAVERSINE: Named = Named {
    name: "haversine",
    aliases: &["haversine_distances"],
    options: &[],
    formula: |f, params, dim| match dim {
        Some(d) if d != 2 => {
            let e = Error::request(format!("'haversine' of rows of {d} components")).at("--metric");
            Err(e.remedy("rows of latitude and longitude in radians, two columns"))
        }
        _ => text(f, FORMULA, params, dim),
    },
    prepare: None,
    reference: |x, y, _| match (x, y) {
        ([a, b], [c, d]) => {
            let half = |u: f64, v: f64| ((u - v) / 2.0).sin().powi(2);
            2.0 * (half(*a, *c) + a.cos() * c.cos() * half(*b, *d)).sqrt().min(1.0).asin()
        }
        _ => f64::NAN,
    },
    flops: 20,
    symmetric: true,
    domain: Domain::LatLon,
    scale: Scale::Fixed(1.0),
    range: (-1.5, 1.5),
};
