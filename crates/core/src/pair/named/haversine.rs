//! The distance of two points on a sphere given by latitude and longitude (scikit-learn): 2·asin
//! √(sin²(Δφ/2) + cos φ₁ cos φ₂ sin²(Δλ/2)).
//!
//! The haversine form is accurate for close points, where the law of cosines loses all digits
//! (Sinnott, *Virtues of the Haversine*, 1984). Rounding may bring the sum above 1 for antipodes;
//! it is clamped. The option `unit` says whether rows are in radians (`rad`, the default) or in
//! degrees (`deg`); `radius` multiplies the angle, so that the distance is along the surface of
//! that sphere.

use super::{Named, Params, RowValues, ScaleOption, number, option, text, word};
use crate::error::{Error, Result};
use crate::opt::Opt;
use crate::pair::parse::Param;

/// Written with components and not with rows: the two columns have different parts, and cosines of
/// latitudes are hoisted.
const FORMULA: &str = "2 * asin(sqrt(min(sin((x[0] - y[0]) / 2)^2 + cos(x[0]) * cos(y[0]) * sin((x[1] - y[1]) / 2)^2, 1)))";

/// The same for rows in degrees. Halves of differences and latitudes are multiplied by a constant,
/// so that cosines of latitudes are still hoisted.
const OF_DEGREES: &str = "2 * asin(sqrt(min(sin((x[0] - y[0]) * (pi / 360))^2 + cos(x[0] * (pi / 180)) * cos(y[0] * (pi / 180)) \
     * sin((x[1] - y[1]) * (pi / 360))^2, 1)))";

/// The units of angles; the first is the default.
const UNITS: &[&str] = &["rad", "deg"];

/// Returns the text for these options, and refuses a radius that is not a positive length.
fn formula_of(params: &Params) -> Result<String> {
    let angle = if word(params, "unit", UNITS)? == "deg" {
        OF_DEGREES
    } else {
        FORMULA
    };
    let radius = number(params, "radius", 1.0)?;
    if !(radius > 0.0 && radius.is_finite()) {
        let e = Error::request(format!("a sphere of radius {radius}")).at_place(Opt::Param);
        return Err(e.limit("a finite number above 0"));
    }
    // Without a radius no pair pays for a product with 1.
    Ok(if params.contains_key("radius") {
        format!("radius * ({angle})")
    } else {
        angle.into()
    })
}

/// `haversine`: two columns, latitude and longitude. Longitudes that differ by a full turn are one
/// place, since the sine of half the difference is squared; so the date line needs no care.
pub(super) const HAVERSINE: Named = Named {
    name: "haversine",
    about: "angle between two points of a sphere, times the radius",
    similarity: false,
    values: (0.0, f64::INFINITY),
    aliases: &["haversine_distances"],
    options: &["unit", "radius"],
    formula: |f, params, dim| match dim {
        // The formula would read the first two of more columns without a word.
        Some(d) if d != 2 => {
            let e = Error::request(format!("'haversine' of rows of {d} components"))
                .at_place(Opt::Metric);
            Err(e.remedy("rows of latitude and longitude, two columns"))
        }
        _ => text(f, &formula_of(params)?, params, dim),
    },
    prepare: None,
    reference: |x, y, params| match (x, y) {
        ([a, b], [c, d]) => {
            let degrees = matches!(params.get("unit"), Some(Param::Word(word)) if word == "deg");
            let rad = |v: f64| if degrees { v.to_radians() } else { v };
            let half = |u: f64, v: f64| (rad(u - v) / 2.0).sin().powi(2);
            let angle = 2.0
                * (half(*a, *c) + rad(*a).cos() * rad(*c).cos() * half(*b, *d))
                    .sqrt()
                    .min(1.0)
                    .asin();
            option(params, "radius", 1.0) * angle
        }
        _ => f64::NAN,
    },
    symmetric: true,
    domain: RowValues::LatLon,
    scale: ScaleOption::Fixed(1.0),
    // Latitudes up to 86°: both columns are drawn from one range.
    range: (-1.5, 1.5),
};
