//! What is asked: catalogues, a separation and its bins, an estimator, resampling.

use serde::{Deserialize, Serialize};
use zipfold_core::{Error, Message, Opt, Result};

/// Counts of pairs of catalogues by separation, as a question. Its TOML has the same keys.
///
/// ```
/// use zipfold::Options;
/// use zipfold::internals::paircount::PairCount;
/// let path = std::env::temp_dir().join(format!("zipfold-{}-cat.csv", std::process::id()));
/// std::fs::write(&path, "x,y,z\n0,0,0\n9.5,0,0\n0,3,0\n").expect("a folder for the example");
/// let edges = Some(vec![0.1, 1.0, 4.0]);
/// let asked = PairCount { edges, periodic_box: Some(vec![10.0; 3]), ..PairCount::new(path.to_string_lossy()) };
/// println!("{}", asked.explain(&Options::default())?);
/// let answer = asked.run(&Options::default())?;
/// assert_eq!(answer.terms[0].counts, [2, 4]); // each pair from both sides; 0.5 apart through the box
/// # std::fs::remove_file(&path).expect("the example's file");
/// # Ok::<(), zipfold::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairCount {
    /// The catalogue.
    pub data: String,
    /// A second catalogue: pairs of one with the other.
    #[serde(default)]
    pub data2: Option<String>,
    /// Points without structure in the same volume.
    #[serde(default)]
    pub randoms: Option<String>,
    /// Those of the second catalogue; by default the same.
    #[serde(default)]
    pub randoms2: Option<String>,
    /// Randoms that were moved with the data; `randoms` then stay those of RR.
    #[serde(default)]
    pub shifted: Option<String>,
    /// The columns of positions; by default x, y, z, or RA, Dec.
    #[serde(default)]
    pub columns: Option<Vec<String>>,
    /// Positions are right ascension and declination in degrees, and a distance where three columns
    /// are chosen.
    #[serde(default)]
    pub sky: bool,
    /// What pairs are binned by.
    #[serde(default)]
    pub separation: Separation,
    /// Edges of the first axis.
    #[serde(default)]
    pub edges: Option<Vec<f64>>,
    /// The first and the last edge instead.
    #[serde(default)]
    pub range: Option<[f64; 2]>,
    /// The number of bins between them; 20 by default.
    #[serde(default)]
    pub bins: Option<usize>,
    /// Edges of equal ratios.
    #[serde(default)]
    pub log: bool,
    /// Of (rp, π), the largest π and the number of bins from 0.
    #[serde(default)]
    pub pi: Option<[f64; 2]>,
    /// Of (s, μ), the number of bins from 0 to 1.
    #[serde(default = "hundred")]
    pub mu: usize,
    /// The line of sight.
    #[serde(default)]
    pub los: Sight,
    /// A periodic box: three lengths.
    #[serde(default, rename = "box")]
    pub periodic_box: Option<Vec<f64>>,
    /// A column of weights; a pair weighs the product.
    #[serde(default)]
    pub weights: Option<String>,
    /// Pairwise inverse probabilities.
    #[serde(default)]
    pub pip: Option<Pip>,
    /// A table of angles in degrees and of weights at them, for pairs of data: linear in between,
    /// the weights of its ends beyond.
    #[serde(default)]
    pub upweights: Option<String>,
    /// A second value of a pair, and its least and its largest value: other pairs are left out.
    #[serde(default)]
    pub cut: Option<Cut>,
    /// How counts make a correlation function.
    #[serde(default)]
    pub estimator: Option<Estimator>,
    /// Of (s, μ), the multipoles.
    #[serde(default = "even")]
    pub multipoles: Vec<u32>,
    /// Of (s, μ), the number of wedges of equal width in μ.
    #[serde(default)]
    pub wedges: usize,
    /// A column of regions, or how many to make.
    #[serde(default)]
    pub regions: Option<Regions>,
    /// How regions make errors.
    #[serde(default)]
    pub resample: Resample,
    /// The number of bootstrap samples.
    #[serde(default = "hundred")]
    pub samples: usize,
    /// The seed of bootstrap samples.
    #[serde(default = "first_seed")]
    pub seed: u64,
}

/// Bins where their number is not given.
const USUAL_BINS: usize = 20;

fn hundred() -> usize {
    100
}
fn first_seed() -> u64 {
    1
}
fn even() -> Vec<u32> {
    vec![0, 2, 4]
}

/// What pairs are binned by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Separation {
    /// Distance.
    #[default]
    R,
    /// Distances across and along the line of sight.
    RpPi,
    /// Distance, and the cosine of its angle with the line of sight.
    Smu,
    /// Angle on the sky, in degrees.
    Theta,
}

impl Separation {
    /// Names of its axes.
    pub(super) fn axes(self) -> &'static [&'static str] {
        match self {
            Separation::R => &["r"],
            Separation::RpPi => &["rp", "pi"],
            Separation::Smu => &["s", "mu"],
            Separation::Theta => &["theta"],
        }
    }
    /// Whether a line of sight decides.
    pub(super) fn is_flat(self) -> bool {
        matches!(self, Separation::R | Separation::Theta)
    }
}

/// A line of sight of a pair, from an observer at the origin but for `z`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sight {
    /// The third axis.
    #[default]
    Z,
    /// Through the middle of both points.
    Midpoint,
    /// Through the first point.
    First,
    /// Half-way between the directions of both points.
    Bisector,
}

/// Pairwise inverse probabilities: a pair weighs `n / (offset + popcount(a₁ & b₁) + …)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pip {
    /// Columns of whole numbers below 2⁵³ whose ones are the realisations with the row.
    pub columns: Vec<String>,
    /// What a pair in every realisation would have under the line; by default the realisations.
    pub realisations: f64,
    /// Added to the ones.
    #[serde(default)]
    pub offset: f64,
    /// The weight of pairs in no realisation, where the offset is 0.
    #[serde(default)]
    pub none: f64,
}

/// A condition on a second value of a pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// A formula in x and y.
    pub value: String,
    /// The least value that stays, and the first that is beyond.
    pub range: [f64; 2],
}

/// How counts make a correlation function: D are data, S the shifted randoms (those of RR where
/// there are no others). Each count is over all pairs that it could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// DD / RR − 1.
    Natural,
    /// (DD − DS − SD + SS) / RR.
    LandySzalay,
    /// DD / DR − 1.
    DavisPeebles,
    /// DD RR / DR² − 1.
    Hamilton,
}

/// Regions of a catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Regions {
    /// Made: this many, of equal numbers of points, by cutting the longest side again and again.
    Made(usize),
    /// A column of numbers.
    Column(String),
}

/// How regions make samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Resample {
    /// Leave out one region at a time.
    #[default]
    Jackknife,
    /// Draw as many regions with replacement.
    Bootstrap,
}

impl PairCount {
    /// Counts of all pairs of `data` by distance; edges or a range are still missing.
    pub fn new(data: impl Into<String>) -> PairCount {
        PairCount {
            data: data.into(),
            data2: None,
            randoms: None,
            randoms2: None,
            shifted: None,
            columns: None,
            sky: false,
            separation: Separation::R,
            edges: None,
            range: None,
            bins: None,
            log: false,
            pi: None,
            mu: hundred(),
            los: Sight::Z,
            periodic_box: None,
            weights: None,
            pip: None,
            upweights: None,
            cut: None,
            estimator: None,
            multipoles: even(),
            wedges: 0,
            regions: None,
            resample: Resample::Jackknife,
            samples: hundred(),
            seed: first_seed(),
        }
    }
    /// The edges of the first axis.
    pub(super) fn first_edges(&self) -> Result<Vec<f64>> {
        let other = match (self.bins, self.log) {
            (Some(_), _) => Some(Opt::Bins),
            (None, true) => Some(Opt::Log),
            (None, false) => None,
        };
        if let (Some(_), Some(other)) = (&self.edges, other) {
            let what = format!("expected edges alone, got {other} too");
            let e = Error::request(what).at_place(Opt::EdgesOfBins);
            return Err(e.remedy(format!("leave out {other}")));
        }
        let edges = match (&self.edges, self.range) {
            (Some(edges), None) => edges.clone(),
            (None, Some(range)) => spaced(range, self.bins.unwrap_or(USUAL_BINS), self.log)?,
            (None, None) => {
                return Err(Error::request("expected edges of the bins, got none")
                    .at_place(Opt::Range)
                    .remedy(format!(
                        "{} with {}, or {}",
                        Opt::Range.like("LO HI"),
                        Opt::Bins,
                        Opt::EdgesOfBins
                    )));
            }
            (Some(_), Some(_)) => {
                return Err(Error::request("expected edges or a range, got both")
                    .at_place(Opt::EdgesOfBins)
                    .remedy(format!("leave out {}", Opt::Range)));
            }
        };
        let ascend = edges.windows(2).all(|e| e[0] < e[1]);
        let ends = edges.first().is_some_and(|e| *e >= 0.0) && edges.iter().all(|e| e.is_finite());
        if edges.len() < 2 || !ascend || !ends {
            let what = "expected at least two ascending edges from 0 on";
            return Err(Error::request(what)
                .at_place(Opt::EdgesOfBins)
                .remedy(Opt::Range.like("0.1 50")));
        }
        if self.separation == Separation::Theta && edges.last().is_some_and(|e| *e > 180.0) {
            return Err(Error::request("expected angles up to 180 degrees")
                .at_place(Opt::EdgesOfBins)
                .limit("180 degrees")
                .remedy("angles in degrees"));
        }
        Ok(edges)
    }
    /// The edges of all axes.
    pub(super) fn all_edges(&self) -> Result<Vec<Vec<f64>>> {
        let first = self.first_edges()?;
        Ok(match self.separation {
            Separation::R | Separation::Theta => vec![first],
            Separation::RpPi => {
                let Some([last, bins]) = self.pi else {
                    return Err(Error::request("expected the largest distance along the line of sight and a number of bins, got none")
                        .at_place(Opt::Pi)
                        .remedy(Opt::Pi.like("40 40")));
                };
                let whole = bins.fract() == 0.0 && (1.0..=1e6).contains(&bins);
                if !(last > 0.0 && last.is_finite() && whole) {
                    let what = format!(
                        "expected a positive distance and a number of bins, got {last} and {bins}"
                    );
                    return Err(Error::request(what)
                        .at_place(Opt::Pi)
                        .remedy(Opt::Pi.like("40 40")));
                }
                vec![first, spaced([0.0, last], bins as usize, false)?]
            }
            Separation::Smu => {
                let mut edges = spaced([0.0, 1.0], self.mu, false)?;
                // μ = 1 is along the line of sight, and belongs to the last bin.
                let last = edges.len() - 1;
                edges[last] = 1.0f64.next_up();
                vec![first, edges]
            }
        })
    }
    /// The estimator that is asked, or that the catalogues suggest.
    pub(super) fn chosen(&self) -> Option<Estimator> {
        let periodic = self.periodic_box.is_some() && self.separation != Separation::Theta;
        self.estimator
            .or(self.randoms.as_ref().map(|_| Estimator::LandySzalay))
            .or((periodic && self.is_plain()).then_some(Estimator::Natural))
    }
    /// Whether a box gives the number of random pairs.
    fn is_plain(&self) -> bool {
        self.cut.is_none() && self.pip.is_none() && self.upweights.is_none()
    }
    /// Refuses what has no meaning together.
    pub(super) fn check(&self) -> Result<()> {
        self.check_sight()?;
        self.check_catalogues()?;
        self.check_regions()?;
        self.check_unused()
    }
    /// Refuses options that decide nothing here: another question was meant. A default is as good as
    /// none.
    fn check_unused(&self) -> Result<()> {
        let (kind, flat) = (self.separation, self.separation.is_flat());
        let (rppi, smu) = (kind == Separation::RpPi, kind == Separation::Smu);
        let drawn = self.regions.is_some() && self.resample == Resample::Bootstrap;
        let curves = self.wedges > 0 || ![vec![], even()].contains(&self.multipoles);
        let unused = [
            (self.pi.is_some() && !rppi, Opt::Pi, RPPI),
            (self.mu != hundred() && !smu, Opt::Mu, SMU),
            (curves && !smu, Opt::Multipoles, SMU),
            (self.los != Sight::Z && flat, Opt::Sight, BY_SIGHT),
            (self.samples != hundred() && !drawn, Opt::Samples, BOOTSTRAP),
            (self.seed != first_seed() && !drawn, Opt::Seed, BOOTSTRAP),
            (
                self.resample != Resample::Jackknife && self.regions.is_none(),
                Opt::Regions,
                BOOTSTRAP,
            ),
        ];
        match unused.into_iter().find(|(given, ..)| *given) {
            Some((_, place, user)) => {
                let what = format!("expected {user} beside it, got none");
                refuse(what, place, "leave it out".into())
            }
            None => Ok(()),
        }
    }
    /// Refuses boxes with a sky, or with another line of sight than theirs.
    fn check_sight(&self) -> Result<()> {
        let periodic = self.periodic_box.is_some();
        if periodic && (self.sky || self.separation == Separation::Theta) {
            let what = "expected Cartesian positions in a periodic box, got the sky";
            return refuse(what, Opt::Box, format!("leave out {}", Opt::Box));
        }
        if periodic && self.los != Sight::Z && !self.separation.is_flat() {
            let what = "expected the third axis as the line of sight in a periodic box";
            return refuse(what, Opt::Sight, Opt::Sight.to("z"));
        }
        Ok(())
    }
    /// Refuses catalogues that an estimator lacks, or has no use for.
    fn check_catalogues(&self) -> Result<()> {
        if self.estimator.is_some() && self.randoms.is_none() {
            let natural = self.estimator == Some(Estimator::Natural);
            if !(natural && self.periodic_box.is_some() && self.is_plain()) {
                let what = "expected randoms for the estimator, got none";
                return refuse(what, Opt::Estimator, Opt::Randoms.like("FILE"));
            }
        }
        if self.randoms.is_none() && (self.randoms2.is_some() || self.shifted.is_some()) {
            let what = "expected randoms beside the shifted or second ones, got none";
            return refuse(what, Opt::Randoms, Opt::Randoms.like("FILE"));
        }
        if self.randoms2.is_some() && self.data2.is_none() {
            let what = "expected a second catalogue beside its randoms, got none";
            return refuse(what, Opt::Randoms, Opt::Data.like("FILE"));
        }
        if self.shifted.is_some() && self.data2.is_some() {
            let what = "expected shifted randoms of one catalogue, got two catalogues";
            return refuse(what, Opt::Shifted, format!("leave out {}", Opt::Shifted));
        }
        Ok(())
    }
    /// Refuses regions and samples that give no errors.
    fn check_regions(&self) -> Result<()> {
        let regions = match &self.regions {
            Some(Regions::Made(count)) => *count,
            Some(Regions::Column(_)) | None => 2,
        };
        if !(2..=10_000).contains(&regions) {
            let what = format!("expected 2 to 10000 regions, got {regions}");
            return refuse(what, Opt::Regions, Opt::Regions.to(100));
        }
        if self.regions.is_some() && self.weighs_by_formula() {
            let what = "expected weights of rows for regions, got weights of pairs";
            return refuse(what, Opt::Regions, format!("leave out {}", Opt::Regions));
        }
        if self.regions.is_some() && self.randoms.is_none() && self.chosen().is_some() {
            let what = "expected randoms for regions, whose volumes a box does not tell";
            return refuse(what, Opt::Randoms, Opt::Randoms.like("FILE"));
        }
        if !(2..=MOST_SAMPLES).contains(&self.samples) {
            let what = format!("expected 2 to {MOST_SAMPLES} samples, got {}", self.samples);
            return refuse(what, Opt::Samples, Opt::Samples.to(100));
        }
        Ok(())
    }
}

/// What options are for that decide nothing without it.
const RPPI: &str = "bins of rp and pi (rppi)";
const SMU: &str = "bins of s and mu (smu)";
const BY_SIGHT: &str = "bins by the line of sight (rppi, smu)";
const BOOTSTRAP: &str = "regions with bootstrap samples";

/// Bootstrap samples at most: errors of a part in hundreds need no more.
const MOST_SAMPLES: usize = 100_000;

fn refuse(what: impl Into<Message>, place: Opt, remedy: String) -> Result<()> {
    Err(Error::request(what).at_place(place).remedy(remedy))
}

/// Edges between two ends, as `numpy.linspace` has them, or of equal ratios.
fn spaced([lo, hi]: [f64; 2], bins: usize, log: bool) -> Result<Vec<f64>> {
    if bins == 0 || bins > 1_000_000 {
        let what = format!("expected 1 to 1000000 bins, got {bins}");
        return Err(Error::request(what)
            .at_place(Opt::Bins)
            .remedy(Opt::Bins.to(20)));
    }
    let least = if log { f64::MIN_POSITIVE } else { 0.0 };
    if !(lo >= least && lo < hi && hi.is_finite()) {
        let from = if log { "above 0" } else { "from 0 on" };
        let what = format!("expected two ascending ends {from}, got {lo} and {hi}");
        return Err(Error::request(what)
            .at_place(Opt::Range)
            .remedy(Opt::Range.like("0.1 50")));
    }
    let inner = |at: usize| match log {
        true => lo * (hi / lo).powf(at as f64 / bins as f64),
        false => at as f64 * ((hi - lo) / bins as f64) + lo,
    };
    Ok((0..=bins)
        .map(|at| match at {
            0 => lo,
            at if at == bins => hi,
            at => inner(at),
        })
        .collect())
}
