//! What is asked: a table of rows by samples, a measure of two rows, and which edges are kept.

use serde::{Deserialize, Serialize};
use zipfold_core::{Error, Opt, Result};
use zipfold_cpu::kernels::pairwise::SplineRows;

/// The most bins of mutual information.
const BINS: usize = 256;

/// A network of rows that go together, as a question. Its TOML has the same keys.
///
/// ```
/// use zipfold::Options;
/// use zipfold::internals::association::{Association, Measure};
/// let path = std::env::temp_dir().join(format!("zipfold-{}-genes.csv", std::process::id()));
/// std::fs::write(&path, "gene,a,b,c,d\nX,1,2,3,4\nY,2,4,NA,9\nZ,5,1,1,7\n").expect("a folder for the example");
/// let asked = Association { measure: Measure::Spearman, threshold: Some(0.9), ..Association::new(path.to_string_lossy()) };
/// println!("{}", asked.explain(&Options::default())?);
/// let network = asked.run(&Options::default())?;
/// assert_eq!((network.edges.i.as_slice(), network.edges.j.as_slice()), (&[0i64][..], &[1i64][..]));
/// assert_eq!((network.edges.values[0], network.edges.counts[0]), (1.0, 3));
/// # std::fs::remove_file(&path).expect("the example's file");
/// # Ok::<(), zipfold::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Association {
    /// The table.
    pub data: String,
    /// Rows of the table are samples, and its columns are what goes together.
    #[serde(default)]
    pub transpose: bool,
    /// The column of names; by default the first column of text.
    #[serde(default)]
    pub ids: Option<String>,
    /// The columns that are read; by default all.
    #[serde(default)]
    pub columns: Option<Vec<String>>,
    /// The measure of two rows.
    #[serde(default)]
    pub measure: Measure,
    /// Of mutual information, the number of bins.
    #[serde(default = "ten")]
    pub bins: usize,
    /// Of mutual information, the order of the splines; 1 are plain bins.
    #[serde(default = "three")]
    pub order: usize,
    /// The fewest common samples of a pair that has a value.
    #[serde(default = "three")]
    pub min_periods: usize,
    /// Only edges whose value is at least this, without its sign.
    #[serde(default)]
    pub threshold: Option<f64>,
    /// Only edges within this false discovery rate (Benjamini and Hochberg 1995, over all pairs).
    #[serde(default)]
    pub fdr: Option<f64>,
    /// Only the best edges of each row, this many; an edge stays if it is one for either row.
    #[serde(default)]
    pub top: Option<usize>,
    /// The number of permutations that p-values come from; 0: from distributions.
    #[serde(default)]
    pub permutations: usize,
    /// The seed of permutations.
    #[serde(default = "first_seed")]
    pub seed: u64,
    /// Removes the weakest edge of each triangle whose value is below those of the others by this
    /// share (the data processing inequality).
    #[serde(default)]
    pub prune: Option<f64>,
    /// Weights of edges: this power of the value.
    #[serde(default)]
    pub power: Option<PowerSpec>,
    /// How weights treat negative values.
    #[serde(default)]
    pub sign: Sign,
    /// Powers whose fit to a scale-free network is told.
    #[serde(default)]
    pub powers: Vec<f64>,
}

fn ten() -> usize {
    10
}
fn three() -> usize {
    3
}
fn first_seed() -> u64 {
    1
}

/// The measure of two rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// Pearson's correlation.
    #[default]
    Pearson,
    /// Spearman's correlation of ranks among the common samples.
    Spearman,
    /// Kendall's tau-b.
    Kendall,
    /// The biweight midcorrelation.
    Bicor,
    /// Mutual information by B-splines, in nats.
    Mi,
}

impl Measure {
    /// All of them.
    pub const ALL: [Measure; 5] = [
        Measure::Pearson,
        Measure::Spearman,
        Measure::Kendall,
        Measure::Bicor,
        Measure::Mi,
    ];
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Measure::Pearson => "pearson",
            Measure::Spearman => "spearman",
            Measure::Kendall => "kendall",
            Measure::Bicor => "bicor",
            Measure::Mi => "mi",
        }
    }
    /// Whether its values are correlations.
    pub(super) fn is_correlation(self) -> bool {
        !matches!(self, Measure::Mi)
    }
}

/// How weights treat negative values r, for a power β.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sign {
    /// |r|^β.
    #[default]
    Unsigned,
    /// ((1 + r) / 2)^β.
    Signed,
    /// r^β, and 0 below 0.
    Hybrid,
}

impl Sign {
    /// What the power is taken of.
    pub(super) fn base(self, r: f64) -> f64 {
        match self {
            _ if r.is_nan() => 0.0,
            Sign::Unsigned => r.abs(),
            Sign::Signed => 0.5 * (1.0 + r),
            Sign::Hybrid => r.max(0.0),
        }
    }
}

/// A power of values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PowerSpec {
    /// This one.
    Given(f64),
    /// The least of `powers` whose fit to a scale-free network is at least 0.85; the best fit where
    /// none is; WGCNA's power for the number of samples where there is no fit at all.
    Chosen(Auto),
}

impl PowerSpec {
    /// By fit.
    pub const AUTO: PowerSpec = PowerSpec::Chosen(Auto::Auto);
}

/// A word for a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Auto {
    /// By fit.
    Auto,
}

impl Association {
    /// The network of the table `data` with all edges: Pearson's correlations of at least three
    /// common samples.
    #[must_use]
    pub fn new(data: impl Into<String>) -> Self {
        Association {
            data: data.into(),
            transpose: false,
            ids: None,
            columns: None,
            measure: Measure::Pearson,
            bins: ten(),
            order: three(),
            min_periods: three(),
            threshold: None,
            fdr: None,
            top: None,
            permutations: 0,
            seed: first_seed(),
            prune: None,
            power: None,
            sign: Sign::Unsigned,
            powers: vec![],
        }
    }
    /// Refuses what means nothing, before a file is opened.
    pub(super) fn check(&self) -> Result<()> {
        let unit = |value: Option<f64>| value.is_none_or(|v| (0.0..=1.0).contains(&v));
        let shown = |value: Option<f64>| value.unwrap_or_default();
        let least = shown(self.threshold);
        let rate = |value| format!("a number from 0 to 1, got {}", shown(value));
        let checks = [
            (
                self.min_periods >= 2,
                Opt::MinPeriods.to(3),
                Opt::MinPeriods,
                format!("at least 2 common samples, got {}", self.min_periods),
            ),
            (unit(self.fdr), Opt::Fdr.to(0.05), Opt::Fdr, rate(self.fdr)),
            (
                unit(self.prune),
                Opt::Prune.to(0.1),
                Opt::Prune,
                rate(self.prune),
            ),
            (
                least >= 0.0 && least.is_finite(),
                Opt::Threshold.to(0.5),
                Opt::Threshold,
                format!("a number from 0 on, got {least}"),
            ),
            (
                self.top != Some(0),
                Opt::Top.to(10),
                Opt::Top,
                "at least one edge for each row, got 0".to_string(),
            ),
            (
                self.permutations < 1 << 24,
                Opt::Permutations.to(1000),
                Opt::Permutations,
                format!("at most 16777215 permutations, got {}", self.permutations),
            ),
        ];
        if let Some((_, remedy, place, what)) = checks.iter().find(|check| !check.0) {
            let e = Error::request(format!("expected {what}")).at_place(*place);
            return Err(e.remedy(remedy.as_str()));
        }
        self.check_mi()?;
        self.check_powers()
    }
    fn check_bins(&self) -> Result<()> {
        let (order, bins) = (self.order, self.bins);
        if !(2..=BINS).contains(&bins) {
            let what = format!("expected 2 to {BINS} bins, got {bins}");
            return Err(Error::request(what)
                .at_place(Opt::Bins)
                .remedy(Opt::Bins.to(10)));
        }
        let most = SplineRows::HIGHEST.min(bins);
        if !(1..=most).contains(&order) {
            let what =
                format!("expected splines of order 1 to {most} in {bins} bins, got order {order}");
            return Err(Error::request(what)
                .at_place(Opt::Order)
                .remedy(Opt::Order.to(three().min(most))));
        }
        Ok(())
    }
    fn check_mi(&self) -> Result<()> {
        if self.measure.is_correlation() {
            return Ok(());
        }
        self.check_bins()?;
        if self.fdr.is_some() && self.permutations == 0 {
            let what = "mutual information has p-values by permutations alone";
            return Err(Error::request(what)
                .at_place(Opt::Fdr)
                .remedy(Opt::Permutations.to(1000)));
        }
        if self.power.is_some() || !self.powers.is_empty() {
            let what =
                "expected a correlation, whose values are from -1 to 1; got mutual information";
            return Err(Error::request(what)
                .at_place(Opt::Power)
                .remedy(Opt::Measure.to("bicor")));
        }
        Ok(())
    }
    fn check_powers(&self) -> Result<()> {
        let given = match self.power {
            Some(PowerSpec::Given(power)) => Some(power),
            Some(PowerSpec::Chosen(Auto::Auto)) | None => None,
        };
        let fine = |power: &f64| *power > 0.0 && *power <= 1000.0;
        let refused = |power: &f64, place: Opt, remedy: String| {
            let what = format!("expected a power above 0 and up to 1000, got {power}");
            Err(Error::request(what).at_place(place).remedy(remedy))
        };
        if let Some(power) = given.iter().find(|power| !fine(power)) {
            return refused(power, Opt::Power, Opt::Power.to(6));
        }
        if let Some(power) = self.powers.iter().find(|power| !fine(power)) {
            return refused(power, Opt::Powers, Opt::Powers.to("2,4,6"));
        }
        if self.powers.len() > 100 {
            let what = format!("expected at most 100 powers, got {}", self.powers.len());
            return Err(Error::request(what)
                .at_place(Opt::Powers)
                .remedy(Opt::Powers.to("2,4,6")));
        }
        Ok(())
    }
    /// The powers whose fit is told: those given, or WGCNA's where one is to be chosen.
    pub(super) fn all_powers(&self) -> Vec<f64> {
        match (self.powers.is_empty(), self.power) {
            (true, Some(PowerSpec::Chosen(Auto::Auto))) => (1..=10)
                .chain((12..=20).step_by(2))
                .map(f64::from)
                .collect(),
            _ => self.powers.clone(),
        }
    }
    /// What the numbers mean, in a line.
    pub(super) fn rule(&self) -> String {
        let measure = match self.measure {
            Measure::Pearson => "Pearson's correlation".to_string(),
            Measure::Spearman => "Spearman's correlation, ranks among common samples".to_string(),
            Measure::Kendall => "Kendall's tau-b".to_string(),
            Measure::Bicor => "biweight midcorrelation".to_string(),
            Measure::Mi => format!(
                "mutual information in nats, {} bins, B-splines of order {}",
                self.bins, self.order
            ),
        };
        let tests = match (self.permutations, self.measure) {
            (0, Measure::Mi) => String::new(),
            (0, Measure::Kendall) => {
                "; p exact of up to 33 samples without ties, else normal".into()
            }
            (0, _) => "; p by t with n - 2 degrees of freedom".into(),
            (count, _) => format!("; p of {count} permutations, seed {}", self.seed),
        };
        let rate = match self.fdr {
            Some(rate) => format!("; false discovery rate {rate}"),
            None => String::new(),
        };
        format!(
            "{measure}; at least {} common samples{tests}{rate}",
            self.min_periods
        )
    }
}
