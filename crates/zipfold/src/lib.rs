//! All-pairs and sum-product computing: say what one pair is, and what you want to know about all
//! of them.
//!
//! ```
//! use zipfold::{Table, pairs};
//! let a = Table::f64(2, 2, vec![0.0, 0.0, 3.0, 4.0])?;
//! let d = pairs(&a).metric("euclidean").matrix()?;
//! assert_eq!(d, [0.0, 5.0, 5.0, 0.0]);
//! # Ok::<(), zipfold::Error>(())
//! ```
//!
//! [`pairs`] begins a question. [`Query`] is the one handle of it: [`Query::plan`],
//! [`Query::explain`] and [`Query::run`], whose [`Answer`] has columns. [`network`] has
//! sum-products.
#![forbid(unsafe_code)]

#[cfg(feature = "plot")]
mod answer_page;
mod asked_edges;
mod association;
mod batches;
mod beside;
mod branch;
mod checkpoint;
mod closure;
mod contract;
mod correlogram;
mod crossmatch;
mod described;
mod destination;
mod device;
mod distribution;
mod footprint;
mod frame;
mod identity;
mod infer;
pub mod internals;
mod library;
mod marked;
mod matches;
mod one_table;
mod options;
mod outcome;
mod paircount;
mod partial;
mod pattern;
#[cfg(feature = "plot")]
mod picture;
mod places;
mod planned_question;
mod pool;
mod problem_file;
mod query;
mod ranges;
mod reading;
#[cfg(feature = "plot")]
mod report;
mod row_names;
mod run;
mod runs;
mod saved;
mod set_distance;
mod sharding;
mod shared_inference;
mod shared_slices;
#[cfg(feature = "plot")]
mod shown_answers;
mod silhouette;
mod sliced_plan;
mod slices;
pub(crate) mod store;
mod suffix;
mod tables;
mod variogram;
mod warnings;
mod written;

pub use crate::closure::all_pairs;
pub use crate::library::{Pairs, pairs};
pub use crate::options::{Options, Progress, Target};
pub use crate::outcome::{Outcome, Output};
pub use crate::query::{Answer, Explained, Query};
pub use crate::warnings::Warnings;
/// ```
/// use zipfold::{Budget, Options, Table, pairs};
/// let budget = Budget::new(1 << 24);
/// assert_eq!(budget.limit(), 1 << 24);
/// let x = Table::f64(2, 1, vec![0.0, 2.0])?;
/// let options = Options { budget: budget.clone(), ..Options::default() };
/// let question = pairs(&x).fold(zipfold::problem::FoldSpec::Matrix {});
/// question.run(&options)?;
/// assert!(budget.peak() > 0);
/// assert!(Budget::unlimited().limit() > budget.limit());
/// # Ok::<(), zipfold::Error>(())
/// ```
pub use zipfold_core::budget::Budget;
/// ```
/// use zipfold::{Data, Table};
/// let x = Table::f64(2, 1, vec![0.0, 2.0])?;
/// let data = Data { pairs: None, x, y: None, weights: vec![] };
/// assert_eq!(data.other().rows(), 2); // x is paired with itself
/// # Ok::<(), zipfold::Error>(())
/// ```
pub use zipfold_core::data::Data;
/// ```
/// use zipfold::{Blame, Table, pairs};
/// let x = Table::f64(2, 1, vec![0.0, 2.0])?;
/// let error = pairs(&x).metric("nonsense").matrix().unwrap_err();
/// assert_eq!(error.blame(), Blame::Request); // the question has to change, not the data
/// # Ok::<(), zipfold::Error>(())
/// ```
pub use zipfold_core::error::Blame;
/// ```
/// use zipfold::{Blame, Error, Table, pairs};
/// let x = Table::f64(2, 1, vec![0.0, 2.0])?;
/// let error: Error = pairs(&x).formula("norm(x - )").matrix().unwrap_err();
/// println!("{}", error.what());
/// if let Some(place) = error.place() {
///     println!("at {place}");
/// }
/// if let Some(remedy) = error.remedy_text() {
///     println!("try {remedy}");
/// }
/// assert_eq!(Error::new(Blame::Input, "no rows").blame(), Blame::Input);
/// # Ok::<(), Error>(())
/// ```
pub use zipfold_core::error::Error;
/// ```
/// use zipfold::{Result, Table, pairs};
/// fn largest(x: &Table) -> Result<f64> {
///     Ok(pairs(x).matrix()?.into_iter().fold(0.0, f64::max))
/// }
/// assert_eq!(largest(&Table::f64(2, 1, vec![0.0, 2.0])?)?, 2.0);
/// # Ok::<(), zipfold::Error>(())
/// ```
pub use zipfold_core::error::Result;
/// ```
/// use zipfold::{Message, Options, Table, pairs};
/// let x = Table::f64(2, 1, vec![0.0, 2.0])?;
/// let (question, options) = (pairs(&x).fold(zipfold::problem::FoldSpec::Matrix {}), Options::default());
/// let warnings: Vec<Message> = question.run(&options)?.outcome.warnings;
/// assert!(warnings.is_empty());
/// # Ok::<(), zipfold::Error>(())
/// ```
pub use zipfold_core::message::Message;
/// ```
/// use zipfold::{Data, Options, Problem, Query, Table};
/// let text = r#"{ "schema": 1, "x": "cities", "pair": "euclidean", "folds": [{ "kind": "matrix" }] }"#;
/// let problem: Problem = serde_json::from_str(text).expect("a problem");
/// let data = Data { pairs: None, x: Table::f64(2, 1, vec![0.0, 2.0])?, y: None, weights: vec![None] };
/// let options = Options::default();
/// let answer = Query::new(&problem, &data, &options).run()?;
/// assert_eq!(answer.outcome.pairs, 3); // i <= j
/// # Ok::<(), zipfold::Error>(())
/// ```
pub use zipfold_core::problem::Problem;
/// ```
/// use zipfold::{Precision, Table};
/// assert_eq!(Table::f32(1, 1, vec![0.0])?.precision(), Precision::F32);
/// # Ok::<(), zipfold::Error>(())
/// ```
pub use zipfold_core::table::Precision;
/// ```
/// use zipfold::{Precision, Table};
/// let cities = Table::f64(2, 2, vec![48.1, 11.6, 52.5, 13.4])?;
/// let cities = cities.with_names(vec!["lat".into(), "lon".into()])?;
/// assert_eq!((cities.rows(), cities.cols()), (2, 2));
/// assert_eq!(cities.get(1, 0), 52.5);
/// assert_eq!(cities.names().map(<[String]>::len), Some(2));
/// assert_eq!(cities.precision(), Precision::F64);
/// let single = Table::f32(1, 2, vec![48.1, 11.6])?;
/// assert_eq!(single.precision(), Precision::F32);
/// // Attributes are numbers of a row that formulas read by name and distances leave out.
/// let people = Table::f64(2, 1, vec![1.5e6, 3.7e6])?.with_names(vec!["people".into()])?;
/// let cities = cities.with_attributes(people)?;
/// assert_eq!(cities.attributes().map(Table::cols), Some(1));
/// # Ok::<(), zipfold::Error>(())
/// ```
pub use zipfold_core::table::Table;
/// ```
/// use zipfold::{Options, Plan, Table, pairs};
/// let x = Table::f64(3, 1, vec![0.0, 1.0, 3.0])?;
/// let question = pairs(&x).fold(zipfold::problem::FoldSpec::Matrix {});
/// let plan: Plan = question.query(&Options::default()).plan()?;
/// assert_eq!((plan.backend.as_str(), plan.pairs), ("cpu", 6)); // i <= j
/// # Ok::<(), zipfold::Error>(())
/// ```
pub use zipfold_plan::Plan;
/// ```
/// use zipfold::{Options, Overrides};
/// for choice in Overrides::table() {
///     println!("{}: {} ({})", choice.key, choice.about, choice.values);
/// }
/// let overrides = Overrides::read([("prune", "off")])?;
/// let options = Options { overrides, ..Options::default() };
/// assert_eq!(options.threads, 0);
/// # Ok::<(), zipfold::Error>(())
/// ```
pub use zipfold_plan::overrides::Overrides;

/// The words of a [`Problem`]: what one pair is, which pairs are visited and what is kept of them.
pub mod problem {
    /// ```
    /// use zipfold::problem::{AxisSpec, Closed, FoldSpec};
    /// let axes = vec![AxisSpec { bins: Some(10), range: Some([0.0, 1.0]), ..AxisSpec::default() }];
    /// // A value of 1 is beyond the last bin.
    /// let fold = FoldSpec::Histogram { axes, closed: Closed::HalfOpen, weights: None, mean: false, weight: None, values: Default::default() };
    /// # let _ = fold;
    /// ```
    pub use zipfold_core::fold::Closed;
    /// ```
    /// use zipfold::problem::{FoldSpec, JoinKind};
    /// use zipfold::{Options, Table, pairs};
    /// let x = Table::f64(3, 1, vec![0.0, 1.0, 3.0])?;
    /// // Rows without another one within 1.5.
    /// let predicate = "norm(x - y) <= 1.5".to_string();
    /// let alone = FoldSpec::Join { predicate, value: None, kind: JoinKind::Anti };
    /// let (question, options) = (pairs(&x).domain(zipfold::problem::Domain::Ordered).fold(alone), Options::default());
    /// assert_eq!(question.run(&options)?.columns(0)?.map(|columns| columns.lines()), Some(1));
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use zipfold_core::fold::JoinKind;
    /// ```
    /// use zipfold::problem::{FoldSpec, QuantileSpec};
    /// use zipfold::{Options, Table, pairs};
    /// let x = Table::f64(3, 1, vec![0.0, 1.0, 3.0])?;
    /// let median = FoldSpec::Quantile(QuantileSpec { q: vec![0.5] });
    /// let (question, options) = (pairs(&x).fold(median), Options::default());
    /// assert_eq!(question.run(&options)?.outcome.outputs.len(), 1);
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use zipfold_core::fold::QuantileSpec;
    /// ```
    /// use zipfold::problem::{FoldSpec, TopSpec};
    /// use zipfold::{Options, Table, pairs};
    /// let x = Table::f64(3, 1, vec![0.0, 1.0, 3.0])?;
    /// let (question, options) = (pairs(&x).fold(FoldSpec::Top(TopSpec { k: 1, largest: None })), Options::default());
    /// assert_eq!(question.run(&options)?.columns(0)?.map(|columns| columns.lines()), Some(1));
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use zipfold_core::fold::TopSpec;
    /// ```
    /// use zipfold::problem::{FoldSpec, ReduceAxis, ReduceOp};
    /// use zipfold::{Options, Table, pairs};
    /// let x = Table::f64(3, 1, vec![0.0, 1.0, 3.0])?;
    /// let all = FoldSpec::Reduce { op: ReduceOp::Max, axis: ReduceAxis::All, weights: None };
    /// let (question, options) = (pairs(&x).fold(all), Options::default());
    /// let answer = question.run(&options)?;
    /// let columns = answer.columns(0)?.expect("columns");
    /// assert_eq!(columns.all(&columns.columns[0]).get(0), 3.0);
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use zipfold_core::fold::rows::ReduceAxis;
    /// ```
    /// use zipfold::problem::ReduceOp;
    /// use zipfold::{Table, pairs};
    /// let x = Table::f64(3, 1, vec![0.0, 1.0, 3.0])?;
    /// assert_eq!(pairs(&x).rows(ReduceOp::Sum)?, [4.0, 3.0, 5.0]);
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use zipfold_core::fold::rows::ReduceOp;
    /// ```
    /// use zipfold::problem::{PairSpec, Param};
    /// let params = [("p".to_string(), Param::Number(3.0))].into();
    /// let pair = PairSpec { metric: Some("minkowski".into()), formula: None, params };
    /// # let _ = pair;
    /// ```
    pub use zipfold_core::pair::Param;
    /// ```
    /// use zipfold::problem::AxisSpec;
    /// let edges = AxisSpec { edges: Some(vec![0.0, 1.0, 10.0]), ..AxisSpec::default() };
    /// assert!(edges.bins.is_none());
    /// ```
    pub use zipfold_core::problem::AxisSpec;
    /// ```
    /// use zipfold::problem::FoldSpec;
    /// use zipfold::{Options, Table, pairs};
    /// let x = Table::f64(3, 1, vec![0.0, 1.0, 3.0])?;
    /// // One sweep keeps both.
    /// let nearest = FoldSpec::Nearest { k: 1, largest: None };
    /// let (question, options) = (pairs(&x).fold(FoldSpec::Matrix {}).fold(nearest), Options::default());
    /// assert_eq!(question.run(&options)?.outcome.outputs.len(), 2);
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use zipfold_core::problem::FoldSpec;
    /// ```
    /// use zipfold::problem::Input;
    /// let cities = Input { columns: Some(vec!["lat".into(), "lon".into()]), ..Input::named("cities.csv") };
    /// assert_eq!(cities.name, "cities.csv");
    /// ```
    pub use zipfold_core::problem::Input;
    /// ```
    /// use zipfold::problem::NanPolicy;
    /// assert_eq!(NanPolicy::default(), NanPolicy::Error); // the error names the place of a NaN
    /// ```
    pub use zipfold_core::problem::NanPolicy;
    /// ```
    /// use zipfold::problem::PairSpec;
    /// let pair = PairSpec { formula: Some("sum(abs(x - y))".into()), ..PairSpec::default() };
    /// assert!(pair.metric.is_none());
    /// ```
    pub use zipfold_core::problem::PairSpec;
    /// ```
    /// assert_eq!(zipfold::problem::SCHEMA, 1);
    /// ```
    pub use zipfold_core::problem::SCHEMA;
    /// ```
    /// use zipfold::problem::{Domain, FoldSpec};
    /// use zipfold::{Options, Table, pairs};
    /// let x = Table::f64(4, 1, vec![0.0, 1.0, 3.0, 7.0])?;
    /// let nearest = FoldSpec::Nearest { k: 1, largest: None };
    /// // A row is not its own neighbour.
    /// let (question, options) = (pairs(&x).domain(Domain::Ordered).fold(nearest), Options::default());
    /// assert_eq!(question.run(&options)?.outcome.pairs, 12);
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use zipfold_core::space::Domain;
}

/// The columns of an [`Answer`].
pub mod columns {
    /// ```
    /// use zipfold::columns::Tally;
    /// let tally = Tally::default();
    /// assert_eq!((tally.counted, tally.beyond_cutoff, tally.nan), (0, 0, 0));
    /// ```
    pub use zipfold_core::fold::Tally;
    /// ```
    /// use zipfold::columns::{Column, Role};
    /// fn is_count(column: &Column<'_>) -> bool {
    ///     column.role == Role::Count
    /// }
    /// # let _ = is_count;
    /// ```
    pub use zipfold_core::fold::columns::Column;
    /// ```
    /// use zipfold::columns::{Columns, Role};
    /// use zipfold::{Options, Table, pairs};
    /// let x = Table::f64(3, 1, vec![0.0, 1.0, 3.0])?;
    /// let nearest = zipfold::problem::FoldSpec::Nearest { k: 1, largest: None };
    /// let (question, options) = (pairs(&x).fold(nearest), Options::default());
    /// let answer = question.run(&options)?;
    /// let columns: Columns = answer.columns(0)?.expect("columns");
    /// assert_eq!((columns.lines(), columns.arrays().count()), (3, 2));
    /// let values = columns.with_role(Role::Value).expect("distances");
    /// assert_eq!(columns.all(values).len(), 3);
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use zipfold_core::fold::columns::Columns;
    /// ```
    /// use zipfold::columns::Layout;
    /// use zipfold::{Options, Table, pairs};
    /// let x = Table::f64(3, 1, vec![0.0, 1.0, 3.0])?;
    /// let (question, options) = (pairs(&x).fold(zipfold::problem::FoldSpec::Matrix {}), Options::default());
    /// let answer = question.run(&options)?;
    /// assert_eq!(answer.columns(0)?.map(|columns| columns.layout), Some(Layout::Matrix));
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use zipfold_core::fold::columns::Layout;
    /// ```
    /// use zipfold::columns::Numbers;
    /// let (rows, values) = (Numbers::from(vec![3i64, -1]), Numbers::from(vec![0.5, f64::NAN]));
    /// assert_eq!((rows.len(), rows.row(0), rows.row(1)), (2, Some(3), None));
    /// assert_eq!(values.get(0), 0.5);
    /// ```
    pub use zipfold_core::fold::columns::Numbers;
    /// ```
    /// use zipfold::columns::{Role, Side};
    /// assert_ne!(Role::Row(Side::X), Role::Row(Side::Y));
    /// ```
    pub use zipfold_core::fold::columns::Role;
    /// ```
    /// use zipfold::columns::{Layout, Side};
    /// let by_row = Layout::Array(Some(Side::X)); // a result for each row of x
    /// # let _ = by_row;
    /// ```
    pub use zipfold_core::pair::tree::Side;
}

/// Tables from files, and how files are written.
pub mod io {
    pub use crate::reading::read_data;
    /// ```
    /// use zipfold::io::OutputOptions;
    /// let replace = OutputOptions { force: true, ..OutputOptions::default() };
    /// assert!(!replace.durable);
    /// ```
    pub use zipfold_io::atomic::OutputOptions;
    /// ```
    /// use zipfold::io::ReadOptions;
    /// let options = ReadOptions { columns: Some(vec!["lat".into(), "lon".into()]), ..ReadOptions::default() };
    /// assert!(options.header.is_none()); // found out from the cells
    /// ```
    pub use zipfold_io::read::ReadOptions;
    /// ```
    /// use zipfold::Budget;
    /// use zipfold::io::{ReadOptions, read_table};
    /// let path = std::env::temp_dir().join(format!("zipfold-{}-cities.csv", std::process::id()));
    /// std::fs::write(&path, "lat,lon\n48.1,11.6\n52.5,13.4\n").expect("a folder for the example");
    /// let table = read_table(&path.to_string_lossy(), &ReadOptions::default(), &Budget::new(1 << 20))?;
    /// assert_eq!((table.rows(), table.cols()), (2, 2));
    /// # std::fs::remove_file(&path).expect("the example's file");
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use zipfold_io::read::read_table;
}

/// The devices of this machine, and the choice among them.
pub mod devices {
    /// ```
    /// use zipfold::Options;
    /// use zipfold::devices::DeviceSelector;
    /// let options = Options { device: DeviceSelector::parse("cuda:0,1")?, ..Options::default() };
    /// assert!(matches!(options.device, DeviceSelector::Devices(..)));
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use zipfold_gpu::selector::DeviceSelector;
    /// ```
    /// use zipfold::devices::{Runtime, DeviceSelector, Which};
    /// assert_eq!(DeviceSelector::parse("opencl")?, DeviceSelector::Devices(Runtime::OpenCl, Which::All));
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use zipfold_gpu::selector::Which;
    /// ```
    /// use zipfold::devices::{Runtime, list};
    /// match list(Runtime::Cuda) {
    ///     Ok(devices) => devices.iter().for_each(|facts| println!("{}: {}", facts.id(), facts.name)),
    ///     Err(reason) => println!("no GPU: {reason}"),
    /// }
    /// ```
    pub use zipfold_gpu::selector::list;
    /// ```
    /// use zipfold::devices::{Facts, Runtime, list};
    /// let fits = |facts: &&Facts| facts.memory >= 8 << 30;
    /// if let Ok(devices) = list(Runtime::OpenCl) {
    ///     devices.iter().filter(fits).for_each(|facts| println!("{}", facts.id()));
    /// }
    /// ```
    pub use zipfold_plan::device::Facts;
    /// ```
    /// use zipfold::devices::{Runtime, list};
    /// for runtime in [Runtime::Cuda, Runtime::OpenCl] {
    ///     println!("{runtime:?}: {} devices", list(runtime).map_or(0, |devices| devices.len()));
    /// }
    /// ```
    pub use zipfold_plan::device::Runtime;
}

/// Shards of a run: made anywhere, merged to the bits of one run.
pub mod shards {
    /// ```
    /// use zipfold::shards::{Partial, part, read, write};
    /// use zipfold::{Budget, Options, Table, pairs};
    /// let x = Table::f64(4, 1, vec![0.0, 1.0, 3.0, 7.0])?;
    /// let question = pairs(&x).fold(zipfold::problem::FoldSpec::Nearest { k: 1, largest: None });
    /// let options = Options { shard: Some((0, 2)), ..Options::default() };
    /// let answer = question.run(&options)?;
    /// let shard: Partial = part(&answer.problem, &answer.outcome, (0, 2))?;
    /// let path = std::env::temp_dir().join(format!("zipfold-{}-shard.part", std::process::id()));
    /// write(&path, &shard, true)?;
    /// assert_eq!(read(&path, &Budget::new(1 << 20))?.shard, Some((0, 2)));
    /// # std::fs::remove_file(&path).expect("the example's file");
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use crate::partial::{Partial, read, write};
    /// ```
    /// use zipfold::shards::{merge, part, problem_of};
    /// use zipfold::{Data, Options, Table, pairs};
    /// let x = Table::f64(4, 1, vec![0.0, 1.0, 3.0, 7.0])?;
    /// let question = pairs(&x).fold(zipfold::problem::FoldSpec::Nearest { k: 1, largest: None });
    /// let mut shards = vec![];
    /// for index in 0..2 {
    ///     let options = Options { shard: Some((index, 2)), ..Options::default() };
    ///     let answer = question.run(&options)?;
    ///     let shard = part(&answer.problem, &answer.outcome, (index, 2))?;
    ///     shards.push((format!("shard {index}"), shard));
    /// }
    /// let problem = problem_of("shard 0", &shards[0].1)?;
    /// let (data, options) = (Data { pairs: None, x, y: None, weights: vec![None] }, Options::default());
    /// assert_eq!(merge(&problem, &data, shards, &options)?.outcome.pairs, 12); // without the rows themselves
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use crate::sharding::{merge, part, problem_of};
}

/// Sum-products: exact inference in networks, and contraction of bare tables over a semiring.
pub mod network {
    /// ```
    /// use zipfold::network::{Bare, Settings, SumProduct, contract, contract_logs};
    /// let tables: [Bare<f64>; 2] = [(vec![0], vec![0.5, 2.0]), (vec![0, 1], vec![1.0, 4.0, 3.0, 1.0])];
    /// let sums = contract(&SumProduct, &[2, 2], &tables, &[1], &Settings::default())?;
    /// assert_eq!(sums, [6.5, 4.0]);
    /// let logs = tables.map(|(scope, values)| (scope, values.iter().map(|v| v.ln()).collect()));
    /// let sums = contract_logs(&[2, 2], &logs, &[1], &Settings::default())?;
    /// assert!((sums[0] - 6.5f64.ln()).abs() < 1e-12);
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use crate::contract::{Bare, contract, contract_logs};
    /// ```
    /// use zipfold::network::{Answer, Evidence, Factor, Inferred, Kind, Network, Planned, Settings, Task};
    /// use zipfold::network::{explain, infer, samples};
    /// let cards = vec![2, 2];
    /// let rain = Factor::new(vec![0], vec![0.8, 0.2], &cards)?;
    /// let wet = Factor::new(vec![0, 1], vec![0.9, 0.1, 0.2, 0.8], &cards)?;
    /// let network = Network::new(Kind::Bayes, cards.clone(), vec![rain, wet])?;
    /// let seen = Evidence::new([(1, 1)], &cards)?;
    /// let settings = Settings { memory: 1 << 30, ..Settings::default() };
    /// let (_, plan, _) = explain(&network, &seen, &Task::Mar, &settings)?;
    /// assert!(!matches!(plan, Planned::Groups(_)));
    /// let done: Inferred = infer(&network, &seen, &Task::Mar, &settings)?;
    /// let Answer::Mar(_, marginals) = done.answer else { panic!("no marginals") };
    /// assert!((marginals[0][1] - 0.16 / 0.24).abs() < 1e-12);
    /// let mut drawn = 0;
    /// samples(&network, &seen, 10, &settings, &mut |_, _| Ok(drawn += 1))?;
    /// assert_eq!(drawn, 10);
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use crate::infer::{Inferred, Planned, Settings, explain, infer, samples};
    /// ```
    /// use zipfold::network::Evidence;
    /// let cards = [2, 3]; // states of each variable
    /// let mut seen = Evidence::new([(0, 1)], &cards)?;
    /// seen.add(1, 2, &cards)?;
    /// assert_ne!(seen, Evidence::none());
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use zipfold_core::factor::evidence::Evidence;
    /// ```
    /// use zipfold::network::{Kind, Network};
    /// // In a Bayesian network the last variable of each scope is the child.
    /// let network = Network::new(Kind::Markov, vec![2], vec![])?;
    /// # let _ = network;
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use zipfold_core::factor::network::Kind;
    /// ```
    /// use zipfold::network::{Kind, Names, Network};
    /// let names = Names {
    ///     variables: vec!["rain".into()],
    ///     states: vec![vec!["no".into(), "yes".into()]],
    /// };
    /// let network = Network::new(Kind::Markov, vec![2], vec![])?.with_names(names)?;
    /// assert_eq!(network.find("rain")?, 0);
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use zipfold_core::factor::network::Names;
    /// ```
    /// use zipfold::network::{Factor, Kind, Names, Network};
    /// let cards = vec![2, 2];
    /// let rain = Factor::new(vec![0], vec![0.8, 0.2], &cards)?;
    /// let wet = Factor::new(vec![0, 1], vec![0.9, 0.1, 0.2, 0.8], &cards)?;
    /// let network = Network::new(Kind::Bayes, cards, vec![rain, wet])?;
    /// assert_eq!((network.cards(), network.factors().len()), (&[2, 2][..], 2));
    /// let states = vec![vec!["no".into(), "yes".into()]; 2];
    /// let names = Names { variables: vec!["rain".into(), "wet".into()], states };
    /// let network = network.with_names(names)?;
    /// assert_eq!((network.find("wet")?, network.name(1), network.state(1, 1)), (1, "wet".into(), "yes".into()));
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use zipfold_core::factor::network::Network;
    /// ```
    /// use zipfold::network::{MaxProduct, Settings, contract};
    /// let tables = [(vec![0], vec![0.5, 2.0]), (vec![0, 1], vec![1.0, 4.0, 3.0, 1.0])];
    /// let best = contract(&MaxProduct, &[2, 2], &tables, &[1], &Settings::default())?;
    /// assert_eq!(best, [6.0, 2.0]);
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use zipfold_core::factor::semiring::MaxProduct;
    /// ```
    /// use zipfold::network::{MinSum, Settings, contract};
    /// // The shortest way to each end over one stop.
    /// let steps = [(vec![0], vec![1.0, 5.0]), (vec![0, 1], vec![9.0, 2.0, 1.0, 1.0])];
    /// assert_eq!(contract(&MinSum, &[2, 2], &steps, &[1], &Settings::default())?, [6.0, 3.0]);
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use zipfold_core::factor::semiring::MinSum;
    /// ```
    /// use zipfold::network::{OrAnd, Settings, contract};
    /// let edges = [(vec![0], vec![true, false]), (vec![0, 1], vec![false, true, true, true])];
    /// assert_eq!(contract(&OrAnd, &[2, 2], &edges, &[1], &Settings::default())?, [false, true]);
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use zipfold_core::factor::semiring::OrAnd;
    /// ```
    /// use zipfold::network::{Semiring, Settings, contract};
    /// struct Paths; // counts modulo 1000
    /// impl Semiring for Paths {
    ///     type Value = u32;
    ///     fn zero(&self) -> u32 { 0 }
    ///     fn unit(&self) -> u32 { 1 }
    ///     fn add(&self, a: u32, b: u32) -> u32 { (a + b) % 1000 }
    ///     fn mul(&self, a: u32, b: u32) -> u32 { (a * b) % 1000 }
    /// }
    /// let tables = [(vec![0], vec![500, 501])];
    /// assert_eq!(contract(&Paths, &[2], &tables, &[], &Settings::default())?, [1]);
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use zipfold_core::factor::semiring::Semiring;
    /// ```
    /// use zipfold::network::{Settings, SumProduct, contract};
    /// // A matrix times a vector.
    /// let tables = [(vec![0, 1], vec![1.0, 2.0, 3.0, 4.0]), (vec![1], vec![1.0, 10.0])];
    /// assert_eq!(contract(&SumProduct, &[2, 2], &tables, &[0], &Settings::default())?, [21.0, 43.0]);
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use zipfold_core::factor::semiring::SumProduct;
    /// ```
    /// use zipfold::network::Factor;
    /// let wet = Factor::new(vec![0, 1], vec![0.9, 0.1, 0.2, 0.8], &[2, 2])?;
    /// assert_eq!((wet.scope(), wet.values()[1]), (&[0, 1][..], 0.1));
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use zipfold_core::factor::table::Factor;
    /// ```
    /// use zipfold::network::{Answer, Evidence, Factor, Kind, Network, Settings, Task, infer};
    /// let coin = Factor::new(vec![0], vec![0.5, 0.5], &[2])?;
    /// let network = Network::new(Kind::Bayes, vec![2], vec![coin])?;
    /// match infer(&network, &Evidence::none(), &Task::Mar, &Settings::default())?.answer {
    ///     Answer::Mar(_, marginals) => assert_eq!(marginals, [[0.5, 0.5]]),
    ///     other => panic!("{other:?}"),
    /// }
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use zipfold_core::factor::task::Answer;
    /// ```
    /// use zipfold::network::Task;
    /// let best = Task::Mmap(vec![0, 2]); // a most probable configuration of these variables
    /// assert_ne!(best, Task::Map);
    /// ```
    pub use zipfold_core::factor::task::Task;
    /// ```
    /// use zipfold::Budget;
    /// use zipfold::network::{read_evidence, read_network};
    /// let folder = std::env::temp_dir();
    /// let [model, seen] = ["uai", "evid"].map(|s| folder.join(format!("zipfold-{}-e.{s}", std::process::id())));
    /// std::fs::write(&model, "MARKOV\n1\n2\n1\n1 0\n2\n0.5 0.5\n").expect("a folder for the example");
    /// std::fs::write(&seen, "1 0 1\n").expect("a folder for the example");
    /// let budget = Budget::new(1 << 24);
    /// let network = read_network(&model, &budget)?;
    /// let evidence = read_evidence(&seen, &network, &budget)?;
    /// assert_ne!(evidence, zipfold::network::Evidence::none());
    /// # [model, seen].iter().for_each(|path| std::fs::remove_file(path).expect("the example's file"));
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use zipfold_io::network::read_evidence;
    /// ```
    /// use zipfold::Budget;
    /// use zipfold::network::read_network;
    /// let path = std::env::temp_dir().join(format!("zipfold-{}-n.uai", std::process::id()));
    /// std::fs::write(&path, "MARKOV\n1\n2\n1\n1 0\n2\n0.5 0.5\n").expect("a folder for the example");
    /// assert_eq!(read_network(&path, &Budget::new(1 << 20))?.cards(), [2]);
    /// # std::fs::remove_file(&path).expect("the example's file");
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    pub use zipfold_io::network::read_network;
}
