//! Finds rows for which a metric computes something, but not what the user means: degrees taken as
//! radians, bytes of packed bits taken as truth values. These are warnings, not errors: the numbers
//! may be meant.

use crate::data::Data;
use crate::message::Message;
use crate::opt::Opt;
use crate::pair::named::{self, RowValues};
use crate::problem::Problem;
use crate::table::Table;
use std::f64::consts::PI;

/// Returns what should be said about `problem` over `data` before it is answered.
///
/// Tables are looked through up to the first odd number, so clean data cost one reading.
pub fn advice(problem: &Problem, data: &Data) -> Vec<Message> {
    let Some(metric) = problem.pair.metric.as_deref().and_then(named::find) else {
        return vec![];
    };
    let sides = [(&data.x, "X"), (data.other(), "Y")];
    // One table that meets itself is looked at once.
    let sides = &sides[..if data.y.is_some() { 2 } else { 1 }];
    let said = match metric.domain {
        RowValues::Boolean => sides
            .iter()
            .find_map(|(table, side)| no_truth(metric.name, table, side)),
        // Who says the unit knows it.
        RowValues::LatLon if !problem.pair.params.contains_key("unit") => sides
            .iter()
            .find_map(|(table, side)| no_radians(metric.name, table, side)),
        _ => None,
    };
    said.into_iter().map(Message::from).collect()
}

/// Returns the first number of `table` for which `odd` is true, with its row and column.
fn first(table: &Table, odd: impl Fn(usize, f64) -> bool) -> Option<(usize, usize, f64)> {
    let (cols, elements) = (table.cols(), table.elements());
    let at = (0..elements.len()).find(|at| odd(at % cols, elements.get(*at)))?;
    Some((at / cols, at % cols, elements.get(at)))
}

/// Returns the warning about numbers other than 0 and 1 for a metric of booleans. NaN is left to
/// the policy for it.
fn no_truth(metric: &str, table: &Table, side: &str) -> Option<String> {
    let (row, col, value) = first(table, |_, v| v != 0.0 && v != 1.0 && !v.is_nan())?;
    Some(format!(
        "'{metric}' takes every number but 0 as true, and {side} holds {value} (row {row}, column {col}); rows of packed bits \
         are wanted unpacked, a column for each bit"
    ))
}

/// Returns the warning about angles that are too large for radians: latitudes beyond 90°,
/// longitudes beyond 360°. Degrees of places near 0°, 0° pass unseen.
fn no_radians(metric: &str, table: &Table, side: &str) -> Option<String> {
    let (row, _, value) = first(table, |col, v| {
        // The margin lets 90° and 360° that were converted with rounding pass.
        v.abs() > if col == 0 { PI / 2.0 } else { 2.0 * PI } * (1.0 + 1e-9)
    })?;
    Some(format!(
        "'{metric}' takes latitude and longitude in radians, and {side} holds {value} (row {row}), which looks like degrees\n  \
         try: {}",
        Opt::Param.to("unit=deg")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::parse::Param;
    use crate::problem::{Input, PairSpec};

    fn said(metric: &str, unit: Option<&str>, x: [f64; 4], y: Option<[f64; 4]>) -> Vec<String> {
        let table = |v: [f64; 4]| Table::f64(2, 2, v.to_vec()).unwrap();
        let params = unit
            .map(|u| ("unit".to_string(), Param::Word(u.into())))
            .into_iter()
            .collect();
        let input = || Input::named("x");
        let problem = Problem {
            y: y.map(|_| input()),
            ..Problem::new(
                input(),
                PairSpec {
                    metric: Some(metric.into()),
                    formula: None,
                    params,
                },
                vec![],
            )
        };
        let said = advice(
            &problem,
            &Data {
                pairs: None,
                x: table(x),
                y: y.map(table),
                weights: vec![],
            },
        );
        said.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn rows_that_mean_something_else_are_told_of() {
        assert!(
            said("haversine", None, [48.8, 2.3, 51.5, -0.1], None)[0]
                .contains("params.unit = \"deg\"")
        );
        assert!(
            said(
                "haversine",
                None,
                [0.8, 2.3, 1.5, -3.1],
                Some([0.0, 1.0, 0.0, 100.0])
            )[0]
            .contains("Y holds 100")
        );
        assert!(said("haversine", Some("deg"), [48.8, 2.3, 51.5, -0.1], None).is_empty());
        assert!(said("haversine", None, [0.8, 2.3, -PI / 2.0, PI], None).is_empty());
        for metric in [
            "jaccard",
            "dice",
            "yule",
            "rogerstanimoto",
            "russellrao",
            "sokalsneath",
        ] {
            assert!(
                said(metric, None, [0.0, 255.0, 1.0, 0.0], None)[0]
                    .contains("X holds 255 (row 0, column 1)")
            );
            assert!(said(metric, None, [0.0, 1.0, 1.0, f64::NAN], None).is_empty());
        }
        assert!(said("euclidean", None, [0.0, 255.0, 1.0, 0.0], None).is_empty());
    }
}
