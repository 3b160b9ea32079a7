//! What is asked of Ripley's functions: points, kinds, window, edge correction, simulations.

use crate::asked_edges::AskedEdges;
use serde::{Deserialize, Serialize};
use zipfold_core::{Error, Opt, Result};

/// Ripley's functions of the points of a table, as a question. Its TOML has the same keys.
///
/// Errors: `Request` for columns that there are not, and for windows and distances that mean nothing;
/// `Input` for points that are not finite or outside of the window, points without a kind, and
/// fewer than two points; `Resource` beyond the budget.
///
/// ```
/// use zipfold::internals::one_table::TableQuestion;
/// use zipfold::{Options, Table};
/// use zipfold::internals::pattern::{Correction, Ripley};
/// let names = ["x", "y"].map(String::from).to_vec();
/// let points = Table::f64(3, 2, vec![1.0, 1.0, 2.0, 1.0, 9.0, 9.0])?.with_names(names)?;
/// let asked = Ripley { window: Some(vec![0.0, 10.0, 0.0, 10.0]), max: Some(2.0), bins: Some(2), correction: Correction::None, ..Ripley::new("points") };
/// let answer = asked.of_table(points, &Options::default())?;
/// assert_eq!(answer.curves[0].counts, [0, 2]); // each pair both ways round
/// assert_eq!(answer.curves[0].k, [0.0, 100.0 / 6.0 * 2.0]);
/// # Ok::<(), zipfold::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ripley {
    /// The table.
    pub data: String,
    /// The columns of positions, one to three; by default x, y and z.
    #[serde(default)]
    pub columns: Option<Vec<String>>,
    /// The column of kinds: functions from each kind to each other one.
    #[serde(default)]
    pub by: Option<String>,
    /// The box that points are observed in: the least and the largest coordinate of each axis; by
    /// default those of the points.
    #[serde(default)]
    pub window: Option<Vec<f64>>,
    /// The largest distance; by default a quarter of the shortest side of the window.
    #[serde(default)]
    pub max: Option<f64>,
    /// The number of distances; 50 by default.
    #[serde(default)]
    pub bins: Option<usize>,
    /// How the edge of the window is accounted for.
    #[serde(default)]
    pub correction: Correction,
    /// Simulations without structure, of which the least and the largest values are told.
    #[serde(default)]
    pub simulations: usize,
    /// The seed of the simulations; 0 by default.
    #[serde(default)]
    pub seed: Option<u64>,
    /// What has no structure in a simulation; the points by default.
    #[serde(default)]
    pub null: Option<NullModel>,
    /// Whether the first row of a text is its header; found out from its cells when not said.
    #[serde(default)]
    pub header: Option<bool>,
}

/// Distances where their number is not given.
pub(super) const USUAL_BINS: usize = 50;

/// How the edge of the window is accounted for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Correction {
    /// It is not: too few pairs at large distances.
    None,
    /// Only points at least as far from the edge as the distance are the first of a pair.
    Border,
    /// A pair weighs the window over the part that it shares with itself moved by the pair.
    #[default]
    Translation,
    /// A pair weighs the circle around its first point over its part in the window: rectangles.
    Isotropic,
    /// Opposite sides are one: distances are those of the nearest images.
    Periodic,
}

impl Correction {
    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Correction::None => "none",
            Correction::Border => "border",
            Correction::Translation => "translation",
            Correction::Isotropic => "isotropic",
            Correction::Periodic => "periodic",
        }
    }
}

/// What has no structure in a simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NullModel {
    /// As many points of each kind, anywhere in the window.
    #[default]
    Points,
    /// The points as they are, their kinds in another order.
    Labels,
}

impl Ripley {
    /// Ripley's functions of the points of `data`, with the translation correction.
    pub fn new(data: impl Into<String>) -> Ripley {
        Ripley {
            data: data.into(),
            columns: None,
            by: None,
            window: None,
            max: None,
            bins: None,
            correction: Correction::default(),
            simulations: 0,
            seed: None,
            null: None,
            header: None,
        }
    }
    /// Refuses what means nothing, before a file is opened.
    pub(super) fn check(&self) -> Result<()> {
        self.asked_edges().check()?;
        let random = [
            (Opt::Seed, self.seed.is_some()),
            (Opt::Null, self.null.is_some()),
        ];
        let lone = random.into_iter().find(|(_, is_given)| *is_given);
        if let Some((option, _)) = lone.filter(|_| self.simulations == 0) {
            let what = format!("expected simulations with {option}, got none");
            let e = Error::request(what).at_place(Opt::Simulations);
            return Err(e.remedy(Opt::Simulations.to(99)));
        }
        if self.null == Some(NullModel::Labels) && self.by.is_none() {
            let what = "expected a column of kinds whose order is changed, got none";
            let e = Error::request(what).at_place(Opt::By);
            return Err(e.remedy(Opt::By.like("COLUMN")));
        }
        let Some(window) = &self.window else {
            return Ok(());
        };
        let sides = window.chunks(2);
        let fine = |side: &[f64]| side.len() == 2 && side[0] < side[1] && is_finite(side);
        if window.is_empty() || window.len() > 6 || !sides.clone().all(fine) {
            let what = format!(
                "expected the least and the largest coordinate of each axis, got {window:?}"
            );
            let e = Error::request(what).at_place(Opt::Window);
            return Err(e.remedy(Opt::Window.like("XMIN,XMAX,YMIN,YMAX")));
        }
        Ok(())
    }
    fn asked_edges(&self) -> AskedEdges<'_> {
        AskedEdges {
            edges: None,
            max: self.max,
            bins: self.bins,
            counted: Opt::Bins,
            usual: USUAL_BINS,
        }
    }
    /// The edges of the distances, in a window of these sides.
    pub(super) fn edges(&self, sides: &[f64]) -> Result<Vec<f64>> {
        let shortest = sides.iter().copied().fold(f64::INFINITY, f64::min);
        let max = self.max.unwrap_or(shortest / 4.0);
        let diagonal = sides.iter().map(|s| s * s).sum::<f64>().sqrt();
        // Where no pair is left, or no circle is partly in the window.
        let limit = match self.correction {
            Correction::None => f64::INFINITY,
            Correction::Border | Correction::Periodic => shortest / 2.0,
            Correction::Translation => shortest,
            Correction::Isotropic => diagonal / 2.0,
        };
        let within = match self.correction {
            Correction::Translation | Correction::Isotropic => max < limit,
            Correction::None | Correction::Border | Correction::Periodic => max <= limit,
        };
        if !within {
            let what = format!(
                "expected a largest distance that the {} correction allows, got {max}",
                self.correction.name()
            );
            let e = Error::request(what)
                .at_place(Opt::Max)
                .limit(format!("{limit}"));
            return Err(e.remedy(Opt::Max.to(shortest / 4.0)));
        }
        self.asked_edges().all(max)
    }
}

fn is_finite(side: &[f64]) -> bool {
    side.iter().all(|v| v.is_finite())
}
