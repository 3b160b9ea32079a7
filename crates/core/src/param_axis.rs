//! An axis of parameter values: one question about each of them, in one sweep over the
//! pairs.
//!
//! ```text
//! exp(-sum((x - y)^2) / (2*h^2)), h = 0.1, 0.2, …     one formula, a root for each value
//! sum((x - y)^2)                                      a node that all roots share: once for a pair
//! folds                                               those of the first value, of the second, …
//! ```
//!
//! A value makes of the problem what the problem would be with this parameter
//! (`Problem::with_value`), so an answer is that of a question of its own.

use crate::error::{Error, Result};
use crate::opt::Opt;
use serde::{Deserialize, Serialize};

/// The most values: each has an answer, and a root in the formula.
const MOST: usize = 1024;

/// A parameter with several values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamAxis {
    /// Its name in formulas.
    pub name: String,
    /// Its values. An answer has one more axis, in their order.
    #[serde(with = "crate::exact")]
    pub values: Vec<f64>,
}

impl ParamAxis {
    /// Reads `FROM:TO:COUNT`, `FROM:TO:COUNT:log` or `each:A,B,C`; nothing of another text.
    ///
    /// # Errors
    /// `Request` for ends and counts that give no values.
    pub fn read(name: &str, text: &str) -> Result<Option<ParamAxis>> {
        let refused = |what: String| {
            let form = format!("{name}=FROM:TO:COUNT");
            let e = Error::request(what).at_place(Opt::Param);
            Err(e.remedy(Opt::Param.like(form)))
        };
        let number = |text: &str| text.trim().parse::<f64>().ok();
        let axis = |values| {
            let name = name.trim().to_string();
            Ok(Some(ParamAxis { name, values }))
        };
        if let Some(list) = text.strip_prefix("each:") {
            return match list.split(',').map(number).collect::<Option<Vec<f64>>>() {
                Some(values) => axis(values),
                None => refused(format!("expected numbers, got '{list}'")),
            };
        }
        let parts: Vec<&str> = text.split(':').collect();
        let log = match parts[..] {
            [_, _, _] => false,
            [_, _, _, "log"] => true,
            [_] => return Ok(None),
            _ => return refused(format!("expected FROM:TO:COUNT, got '{text}'")),
        };
        let ends = (number(parts[0]), number(parts[1]));
        let (Some(from), Some(to)) = ends else {
            return refused(format!(
                "expected two numbers, got '{}:{}'",
                parts[0], parts[1]
            ));
        };
        let Some(count) = parts[2].trim().parse::<usize>().ok().filter(|c| *c > 0) else {
            let what = format!("expected a number of values from 1 on, got '{}'", parts[2]);
            return refused(what);
        };
        if log && !(from > 0.0 && to > 0.0) {
            return refused(format!(
                "expected ends above 0 for equal ratios, got {from} and {to}"
            ));
        }
        few(count)?;
        axis(spaced([from, to], count, log))
    }
    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// Refuses more values than a question takes.
pub(crate) fn few(count: usize) -> Result<()> {
    if count <= MOST {
        return Ok(());
    }
    let e = Error::request(format!("expected at most {MOST} values, got {count}"));
    Err(e
        .at_place(Opt::Param)
        .remedy("several runs, each for some of the values"))
}

/// Returns `count` numbers from `from` to `to`, with equal differences, as `numpy.linspace`, or with
/// equal ratios. The ends are exact.
fn spaced([from, to]: [f64; 2], count: usize, log: bool) -> Vec<f64> {
    let last = count.saturating_sub(1);
    let value = |at: usize| match at {
        0 => from,
        at if at == last => to,
        at => {
            let ends = match log {
                true => [from, to].map(crate::number::log),
                false => [from, to],
            };
            let between = at as f64 * ((ends[1] - ends[0]) / last as f64) + ends[0];
            match log {
                true => crate::number::exp(between),
                false => between,
            }
        }
    };
    (0..count).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Vec<f64>> {
        ParamAxis::read("h", text).unwrap().map(|axis| axis.values)
    }

    #[test]
    fn texts_name_values() {
        assert_eq!(read("0:1:5"), Some(vec![0.0, 0.25, 0.5, 0.75, 1.0]));
        assert_eq!(read("1:100:3:log").map(|v| v[1].round()), Some(10.0));
        assert_eq!(read("2:9:1"), Some(vec![2.0]));
        assert_eq!(read("each:3,-1,inf"), Some(vec![3.0, -1.0, f64::INFINITY]));
        assert_eq!(read("0.5"), None);
        assert_eq!(read("1,2"), None);
        for wrong in [
            "1:2",
            "1:2:x",
            "a:2:3",
            "1:2:0",
            "1:2:3:4",
            "0:1:3:log",
            "each:",
            "each:a",
            "1:2:3:log:5",
            "0:1:2000",
        ] {
            assert!(ParamAxis::read("h", wrong).is_err(), "{wrong}");
        }
    }
}
