//! What is asked: places, values, lags, estimators, directions, models.

use super::models::{FitWeights, VariogramModel};
use crate::asked_edges::AskedEdges;
use crate::marked::leaves_out;
use serde::{Deserialize, Serialize};
use zipfold_core::problem::NanPolicy;
use zipfold_core::{Error, Opt, Result};

/// Variograms of the values of a table, as a question. Its TOML has the same keys.
///
/// Errors: `Request` for columns that there are not, and for lags, directions and estimators that mean
/// nothing; `Input` for positions and values that are not finite, and for fewer than two rows;
/// `Resource` beyond the budget.
///
/// ```
/// use zipfold::internals::one_table::TableQuestion;
/// use zipfold::{Options, Table};
/// use zipfold::internals::variogram::Variogram;
/// let names = ["x", "y", "z"].map(String::from).to_vec();
/// let rows = vec![0.0, 0.0, 1.0, 1.0, 0.0, 2.0, 2.0, 0.0, 4.0];
/// let places = Table::f64(3, 3, rows)?.with_names(names)?;
/// let asked = Variogram { lags: Some(2), max: Some(3.0), ..Variogram::new("places", ["z"]) };
/// let answer = asked.of_table(places, &Options::default())?;
/// assert_eq!(answer.directions[0].counts, [2, 1]); // lags of 1.5
/// assert_eq!(answer.directions[0].curves[0].values, [1.25, 4.5]); // (1² / 2 + 2² / 2) / 2; 3² / 2
/// # Ok::<(), zipfold::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variogram {
    /// The table.
    pub data: String,
    /// The columns of positions, one to three; by default x, y and z, but those of values.
    #[serde(default)]
    pub columns: Option<Vec<String>>,
    /// The column of values; of two columns also the cross-variogram.
    pub value: Vec<String>,
    /// The number of lags; 15 by default.
    #[serde(default)]
    pub lags: Option<usize>,
    /// The largest distance; by default a third of the diagonal of all positions.
    #[serde(default)]
    pub max: Option<f64>,
    /// Edges of the lags instead.
    #[serde(default)]
    pub edges: Option<Vec<f64>>,
    /// What is made of the differences of values.
    #[serde(default = "matheron")]
    pub estimator: Vec<LagEstimator>,
    /// Directions in degrees, clockwise from the second axis; none for all pairs.
    #[serde(default)]
    pub azimuth: Vec<f64>,
    /// How far down a direction of three axes points, in degrees; not by default.
    #[serde(default)]
    pub dip: Option<f64>,
    /// The largest angle between a pair and a direction, in degrees; 22.5 by default.
    #[serde(default)]
    pub tolerance: Option<f64>,
    /// The largest distance of a pair from the line of a direction.
    #[serde(default)]
    pub bandwidth: Option<f64>,
    /// Models that are fitted to every variogram.
    #[serde(default)]
    pub models: Vec<VariogramModel>,
    /// What a lag weighs in a fit; its pairs over the square of its distance by default.
    #[serde(default)]
    pub fit_weights: Option<FitWeights>,
    /// What happens to rows without a value.
    #[serde(default)]
    pub nan: NanPolicy,
    /// Whether the first row of a text is its header; found out from its cells when not said.
    #[serde(default)]
    pub header: Option<bool>,
}

/// Lags where their number is not given.
const USUAL_LAGS: usize = 15;
/// The largest angle with a direction where none is given.
const USUAL_TOLERANCE: f64 = 22.5;

fn matheron() -> Vec<LagEstimator> {
    vec![LagEstimator::Matheron]
}

/// What is made of the differences d of values at a lag of N pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LagEstimator {
    /// Half of the mean of d² (Matheron 1962).
    Matheron,
    /// Half of (mean of √|d|)⁴ / (0.457 + 0.494 / N + 0.045 / N²) (Cressie and Hawkins 1980).
    Cressie,
    /// Half of the mean of |d|.
    Madogram,
    /// The mean of the products of both values without the mean of all rows: a covariogram.
    Covariance,
}

impl LagEstimator {
    /// Its name in requests and results.
    pub(super) fn name(self) -> &'static str {
        match self {
            LagEstimator::Matheron => "matheron",
            LagEstimator::Cressie => "cressie",
            LagEstimator::Madogram => "madogram",
            LagEstimator::Covariance => "covariance",
        }
    }
}

/// Refuses a list that names something twice: its columns would have one name.
fn once<T: PartialEq>(all: &[T], option: Opt) -> Result<()> {
    match (1..all.len()).find(|at| all[..*at].contains(&all[*at])) {
        None => Ok(()),
        Some(at) => {
            let what = format!("expected each of these once, got number {at} (from 0) again");
            let e = Error::request(what).at_place(option);
            Err(e.remedy("leave it out"))
        }
    }
}

impl Variogram {
    /// Matheron's variogram of the values of `data` over 15 lags.
    pub fn new<S: Into<String>>(
        data: impl Into<String>,
        value: impl IntoIterator<Item = S>,
    ) -> Variogram {
        Variogram {
            data: data.into(),
            columns: None,
            value: value.into_iter().map(Into::into).collect(),
            lags: None,
            max: None,
            edges: None,
            estimator: matheron(),
            azimuth: vec![],
            dip: None,
            tolerance: None,
            bandwidth: None,
            models: vec![],
            fit_weights: None,
            nan: NanPolicy::Error,
            header: None,
        }
    }
    /// Refuses what means nothing, before a file is opened.
    pub(super) fn check(&self) -> Result<()> {
        leaves_out(self.nan)?;
        let same = self.value.len() == 2 && self.value[0] == self.value[1];
        if !(1..=2).contains(&self.value.len()) || same {
            let what = format!(
                "expected one or two columns of values, got {:?}",
                self.value
            );
            return Err(Error::request(what)
                .at_place(Opt::Value)
                .remedy(Opt::Value.like("COLUMN")));
        }
        if self.estimator.is_empty() {
            let e = Error::request("expected an estimator, got none").at_place(Opt::Estimator);
            return Err(e.remedy(Opt::Estimator.to("matheron")));
        }
        once(&self.estimator, Opt::Estimator)?;
        once(&self.models, Opt::Models)?;
        once(&self.azimuth, Opt::Azimuth)?;
        self.asked_edges().check()?;
        if self.fit_weights.is_some() && self.models.is_empty() {
            let what = "expected models whose fit has these weights, got none";
            let e = Error::request(what).at_place(Opt::FitWeights);
            return Err(e.remedy(Opt::Models.to("spherical")));
        }
        self.check_direction()
    }
    fn asked_edges(&self) -> AskedEdges<'_> {
        AskedEdges {
            edges: self.edges.as_deref(),
            max: self.max,
            bins: self.lags,
            counted: Opt::Lags,
            usual: USUAL_LAGS,
        }
    }
    /// How far down a direction points.
    pub(super) fn dip(&self) -> f64 {
        self.dip.unwrap_or(0.0)
    }
    /// The largest angle with a direction.
    pub(super) fn tolerance(&self) -> f64 {
        self.tolerance.unwrap_or(USUAL_TOLERANCE)
    }
    /// Refuses directions that are none.
    fn check_direction(&self) -> Result<()> {
        let angles = self.azimuth.iter().chain(&self.dip);
        if let Some(angle) = angles.into_iter().find(|a| !a.is_finite()) {
            let e = Error::request(format!("expected an angle in degrees, got {angle}"));
            return Err(e.at_place(Opt::Azimuth).remedy(Opt::Azimuth.to(45)));
        }
        let tolerance = self.tolerance();
        if !(tolerance > 0.0 && tolerance <= 90.0) {
            let what =
                format!("expected a tolerance above 0 and up to 90 degrees, got {tolerance}");
            let e = Error::request(what).at_place(Opt::Tolerance);
            return Err(e.remedy(Opt::Tolerance.to(USUAL_TOLERANCE)));
        }
        let odd = self.bandwidth.filter(|b| b.is_nan() || *b <= 0.0);
        if let Some(bandwidth) = odd {
            let what = format!("expected a bandwidth above 0, got {bandwidth}");
            let e = Error::request(what).at_place(Opt::Bandwidth);
            return Err(e.remedy(format!("leave out {}", Opt::Bandwidth)));
        }
        // Values that are the default mean the same without a direction.
        let aimed = self.dip() != 0.0 || self.tolerance() != USUAL_TOLERANCE;
        if (aimed || self.bandwidth.is_some()) && self.azimuth.is_empty() {
            let what = "expected a direction with its tolerance, bandwidth or dip, got none";
            let e = Error::request(what).at_place(Opt::Azimuth);
            return Err(e.remedy(Opt::Azimuth.to(45)));
        }
        Ok(())
    }
    /// The edges of the lags, of positions whose box has a diagonal of this length.
    pub(super) fn all_edges(&self, diagonal: f64) -> Result<Vec<f64>> {
        if self.edges.is_none() && self.max.is_none() && diagonal <= 0.0 {
            let what = "expected positions at different places, or a largest distance";
            let e = Error::input(what).at_place(self.data.clone());
            return Err(e.remedy(Opt::Max.like("R")));
        }
        self.asked_edges().all(diagonal / 3.0)
    }
}
