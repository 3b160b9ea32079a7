//! Runs a case on the oracle and on the engine, for every instruction set present, 1 and 2 threads,
//! and two tilings.

use crate::case::{Case, WantedError};
use crate::compare::{Numbers, close, difference, of_output, of_state, same};
use crate::specification;
use zipfold::Overrides;
use zipfold::internals::ranges::with_ranges;
use zipfold::internals::run::run;
use zipfold::{Options, Target};
use zipfold_core::fold::Fold;
use zipfold_core::opt::is_mark;
use zipfold_core::oracle::{self, OracleAnswer};
use zipfold_core::pair::named::{self, ScaleOption};
use zipfold_core::problem::NanPolicy;
use zipfold_core::{Budget, Data, Error, Job, Precision, Problem, Table, describe};

/// What is wrong with the case, if anything; one line each.
pub fn check(case: &Case) -> Vec<String> {
    let outcome = match (&case.rest.error, value(case)) {
        (Some(wanted), Err(e)) => refusal(wanted, &e),
        (Some(_), Ok(found)) if found.is_empty() => vec!["no error".into()],
        (_, Ok(found)) => found,
        (None, Err(e)) => vec![format!("refused: {e}")],
    };
    outcome
        .into_iter()
        .map(|line| format!("{}: {line}", case.name))
        .collect()
}

fn refusal(wanted: &WantedError, e: &Error) -> Vec<String> {
    let (blame, text) = (format!("{:?}", e.blame()).to_lowercase(), e.to_string());
    let mut found = vec![];
    if blame != wanted.blame {
        found.push(format!(
            "blamed on {blame}, wanted {}: {text}",
            wanted.blame
        ));
    }
    if text.chars().any(is_mark) || text.contains("\\u{fdd") {
        found.push(format!("a mark of an option is not put into words: {text}"));
    }
    let missing = wanted.contains.iter().filter(|w| !text.contains(*w));
    found.extend(missing.map(|w| format!("'{w}' is not in: {text}")));
    found
}

fn value(case: &Case) -> Result<Vec<String>, Error> {
    let problem = case.problem()?;
    let data = case.data(&problem)?;
    let options = Options {
        threads: 1,
        ..Options::default()
    };
    let problem = with_ranges(&problem, &data, &options)?.into_owned();
    let job = describe(&problem, data.clone())?;
    let machine = zipfold::internals::cpu::detect(1, 1 << 32);
    let overrides = Overrides::read(&case.rest.set)?;
    // A case whose plan is refused fails here, before any run.
    let _plan = zipfold::internals::plan::choose(&job, &machine, &overrides)?;
    let answer = oracle::run(&job)?;
    let by_oracle = numbers(&job, &answer);
    let mut found = expected(case, &by_oracle);
    found.extend(specification::differences(&job, &by_oracle));
    let prunable = zipfold::internals::plan::prune::mode(&job).is_some();
    let wide = Problem {
        precision: Some(Precision::F64),
        ..problem.clone()
    };
    for variant in variants(case, prunable) {
        let job = describe(&wide, data.clone())?;
        let got = on_engine(&wide, &job, &variant)?;
        found.extend(differences(&got, &by_oracle, &variant));
    }
    if let Some(bound) = bound(&problem, &job) {
        found.extend(in_single(&problem, &data, bound)?);
    }
    Ok(found)
}

/// The numbers of every fold, by the oracle.
pub fn numbers(job: &Job, answer: &OracleAnswer) -> Vec<Numbers> {
    let one = |(at, fold): (usize, &Fold)| match fold.is_dense() {
        true => vec![("values", answer.values[at].clone())],
        false => of_state(fold, &answer.states[at]),
    };
    job.folds.iter().enumerate().map(one).collect()
}

fn expected(case: &Case, got: &[Numbers]) -> Vec<String> {
    let rest = &case.rest;
    let mut found = vec![];
    if rest.expect.len() > got.len() {
        found.push(format!(
            "{} folds, values for {}",
            got.len(),
            rest.expect.len()
        ));
    }
    let first = |part: &str| {
        got[0]
            .iter()
            .find(|(name, _)| *name == part)
            .map(|(_, v)| v.clone())
            .unwrap_or_default()
    };
    let mut compare = |what: &'static str, got: Vec<f64>, wanted: &[f64]| {
        let odd = difference(
            &vec![(what, got)],
            &vec![(what, wanted.to_vec())],
            |a, b| close(a, b, rest.tolerance),
        );
        found.extend(odd.map(|d| format!("oracle: {d}")));
    };
    for (numbers, wanted) in got.iter().zip(&rest.expect) {
        compare("values", numbers[0].1.clone(), wanted);
    }
    if let Some(means) = &rest.means {
        compare("means", first("means"), means);
    }
    if let Some(sums) = &rest.sums {
        compare("sums", first("sums"), sums);
    }
    found
}

/// A way to run a case.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Instruction set.
    pub isa: &'static str,
    /// Threads.
    pub threads: usize,
    /// Tile sides, 0 for the planner's.
    pub tile: usize,
    /// Choices that the user makes.
    pub overrides: Overrides,
}

impl Variant {
    /// Run options.
    pub fn options(&self) -> Options<'static> {
        let tile = self.tile.to_string();
        let mut made = vec![("isa", self.isa)];
        if self.tile > 0 {
            made.extend([("tile.rows", tile.as_str()), ("tile.cols", &tile)]);
        }
        let overrides = self.overrides.clone().and(&chosen(made));
        Options {
            threads: self.threads,
            overrides,
            budget: Budget::unlimited(),
            ..Options::default()
        }
    }
}

/// Plan choices of a test.
///
/// # Panics
/// For choices that do not exist.
pub fn chosen<K: AsRef<str>, V: AsRef<str>>(texts: impl IntoIterator<Item = (K, V)>) -> Overrides {
    Overrides::read(texts).unwrap_or_else(|e| panic!("{e}"))
}

/// The instruction sets of this machine.
pub fn isas() -> Vec<&'static str> {
    zipfold::internals::cpu::machine::isa()
        .up_to()
        .into_iter()
        .map(zipfold::internals::plan::Isa::name)
        .collect()
}

/// Every instruction set, 1 and 2 threads, two tilings; by the planner's family and step by step;
/// pruned and not, where the case can be pruned.
fn variants(case: &Case, prunable: bool) -> Vec<Variant> {
    let given = &case.rest.set;
    let ways: &[&str] = if prunable && !given.contains_key("prune") {
        &["off", "on"]
    } else {
        &[""]
    };
    let of = |isa| {
        let sizes = [(1, 0, ""), (2, 128, ""), (2, 0, "vm"), (1, 128, "vm")].into_iter();
        sizes.flat_map(move |(threads, tile, family)| {
            ways.iter().map(move |prune| {
                let some = [("family", family), ("prune", *prune)]
                    .into_iter()
                    .filter(|(_, value)| !value.is_empty());
                let overrides = chosen(some).and(&chosen(given));
                Variant {
                    isa,
                    threads,
                    tile,
                    overrides,
                }
            })
        })
    };
    isas().into_iter().flat_map(of).collect()
}

/// The numbers of every fold, by the engine.
///
/// # Errors
/// Those of the run.
pub fn on_engine(problem: &Problem, job: &Job, variant: &Variant) -> Result<Vec<Numbers>, Error> {
    let options = variant.options();
    let machine = zipfold::internals::cpu::detect(options.threads, 1 << 32);
    let plan = zipfold::internals::plan::choose(job, &machine, &options.overrides)?;
    let outcome = run(problem, job, plan, &Target::Memory, &options)?;
    Ok(job
        .folds
        .iter()
        .zip(&outcome.outputs)
        .map(|(f, o)| of_output(f, o))
        .collect())
}

fn differences(got: &[Numbers], wanted: &[Numbers], variant: &Variant) -> Vec<String> {
    let each = got.iter().zip(wanted).enumerate();
    let odd = each.filter_map(|(fold, (g, w))| difference(g, w, same).map(|d| (fold, d)));
    odd.map(|(fold, d)| {
        format!(
            "{} x{} tile {} {} fold {fold}: {d}",
            variant.isa, variant.threads, variant.tile, variant.overrides
        )
    })
    .collect()
}

/// How values in single precision are bounded: named metrics have a scale, and matrices alone are
/// computed so.
fn bound(problem: &Problem, job: &Job) -> Option<ScaleOption> {
    let dense = job.folds.iter().all(Fold::is_dense);
    let named = named::find(problem.pair.metric.as_deref()?)?;
    (dense && problem.periodic_box.is_none() && problem.nan != NanPolicy::Skip)
        .then_some(named.scale)
}

/// Runs on the inputs rounded to f32, and holds the values to the oracle's of the same inputs.
fn in_single(problem: &Problem, data: &Data, scale: ScaleOption) -> Result<Vec<String>, Error> {
    let (x, y) = (rounded(&data.x)?, data.y.as_ref().map(rounded).transpose()?);
    let single = Problem {
        precision: Some(Precision::F32),
        ..problem.clone()
    };
    let rounded = Data {
        x,
        y,
        ..data.clone()
    };
    let job = describe(&single, rounded)?;
    let wanted = numbers(&job, &oracle::run(&job)?);
    let top = largest_norm(&job.x) * largest_norm(job.other());
    let near = |a: f64, b: f64| {
        let size = match scale {
            ScaleOption::Relative => b.abs(),
            ScaleOption::Fixed(v) => v.max(b.abs()),
            ScaleOption::Norms => top.max(b.abs()),
        };
        same(a, b) || a == b || (a - b).abs() <= 1e-5 * size
    };
    let variant = plain(isas()[isas().len() - 1], 1, 0);
    let got = on_engine(problem, &job, &variant)?;
    let odd = got
        .iter()
        .zip(&wanted)
        .filter_map(|(g, w)| difference(g, w, near));
    Ok(odd.map(|d| format!("f32: {d}")).collect())
}

/// The largest norm of a row.
fn largest_norm(table: &Table) -> f64 {
    let norm = |r: usize| {
        let squares = (0..table.cols()).map(|k| table.get(r, k).powi(2));
        squares.sum::<f64>().sqrt()
    };
    (0..table.rows()).map(norm).fold(0.0, f64::max)
}

/// A variant without choices that the user makes.
pub fn plain(isa: &'static str, threads: usize, tile: usize) -> Variant {
    Variant {
        isa,
        threads,
        tile,
        overrides: Default::default(),
    }
}

fn rounded(table: &Table) -> Result<Table, Error> {
    let items = (0..table.rows() * table.cols())
        .map(|at| table.elements().get(at) as f32)
        .collect();
    let out = Table::f32(table.rows(), table.cols(), items)?;
    match table.names() {
        Some(names) => out.with_names(names.to_vec()),
        None => Ok(out),
    }
}
