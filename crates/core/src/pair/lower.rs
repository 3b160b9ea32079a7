//! Lowers a formula to what a backend runs.
//!
//! A formula is a graph of nodes over two rows. Most of its work depends on one row alone, and a
//! run visits every row many times. Lowering therefore splits the graph in three:
//!
//! * what depends on no row is computed once, here;
//! * what depends on one row is *hoisted*: computed once per row, in f64 and with the bits of the
//!   reference, before pairs are formed ([`Hoister`]);
//! * what depends on both rows is ordered into *stages*, each one loop over components that feeds
//!   one or more reductions, followed by the operations on single numbers that come after.
//!
//! ```text
//! exp(-sum((x/norm(x) - y/norm(y))^2) / 2)
//!   streams[X] = [x/norm(x)]     streams[Y] = [y/norm(y)]      one vector per row
//!   stage 0: vectors = [u - v, (u - v)·(u - v)], reduces = [sum]
//!   finish:  -s, -s / 2, exp(…)                                numbers per pair
//! ```
//!
//! This module decides no kernel and no precision; `plan` does, from what is recorded here. It also
//! proves nothing about values: see `bounds.rs` and `symmetry.rs` for that.

use super::artifacts::ArtifactCache;
use super::eval::{Evaluator, Rows};
use super::pattern::{Pattern, Reduction, VectorReduction};
use super::source::{Hoisted, Source};
use super::symmetry::mirror;
use super::tree::{DEP_X, DEP_Y, Formula, Id, Node, Shape, Side};
use crate::error::Result;
use crate::table::Table;
use std::collections::HashMap;
use std::ops::Range;

/// One loop over components that feeds one or more reductions.
///
/// A second stage exists only where a reduction needs the result of another one, as in `sum(abs(x -
/// y) / max(abs(x - y)))`. Vectors are not kept between stages, because that would need `dim`
/// numbers per pair: a vector that two stages use is in both lists and is computed twice.
#[derive(Clone, Debug, Default)]
pub struct Stage {
    /// Single numbers per pair that this loop reads, in the order in which they are computed before
    /// it.
    pub scalars: Vec<Id>,
    /// Vectors per pair in order, operands first. Each is computed for one component at a time.
    pub vectors: Vec<Id>,
    /// Reductions fed by the loop.
    pub reduces: Vec<Id>,
}

/// A formula that is ready to run on rows of `dim` components.
///
/// Nothing but the cache of artifacts changes after [`Lowered::new`], so threads share it.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The formula, with the leaves that lowering added. Ids of the original formula stay valid.
    pub formula: Formula,
    /// Components of a row.
    pub dim: usize,
    /// Hoisted vectors, by side (`Side as usize`). [`Source::Stream`] counts in this list.
    pub row_vectors: [Vec<Id>; 2],
    /// Hoisted scalars, by side. [`Source::Attr`] counts in this list.
    pub row_scalars: [Vec<Id>; 2],
    /// Vectors that depend on no row.
    pub constants: Vec<Vec<f64>>,
    /// Loops over components, in order.
    pub stages: Vec<Stage>,
    /// Scalar pair nodes in order that no stage computes: what follows the last reduction.
    pub finish: Vec<Id>,
    /// Vector pair nodes in order that a vector-valued root needs, such as the value `x - y`.
    pub vector_tail: Vec<Id>,
    /// Whether a box turns differences into minimum images. Then `x − y` is not a subtraction of
    /// two hoisted vectors, and no [`Reduction`] applies.
    pub periodic: bool,
    /// What backends built from this formula (programs, machine code), cached with it.
    pub made: ArtifactCache,
    /// The source of every node that is an operand of a pair node or a root, and no pair node
    /// itself.
    sources: HashMap<Id, Source>,
    reductions: HashMap<Id, VectorReduction>,
    patterns: Vec<Pattern>,
    constant_ids: Vec<Id>,
}

impl Lowered {
    /// Lowers `formula` for rows of `dim` components; `periodic` when a box turns differences into
    /// minimum images.
    ///
    /// # Errors
    /// `Request` when the formula is full: lowering may add the leaves `x` and `y` to it.
    pub fn new(formula: &Formula, dim: usize, periodic: bool) -> Result<Self> {
        let mut low = Lowered {
            formula: formula.clone(),
            dim,
            row_vectors: [vec![], vec![]],
            row_scalars: [vec![], vec![]],
            constants: vec![],
            stages: vec![],
            finish: vec![],
            vector_tail: vec![],
            periodic,
            made: ArtifactCache::default(),
            sources: HashMap::new(),
            reductions: HashMap::new(),
            patterns: vec![],
            constant_ids: vec![],
        };
        low.register_operands()?;
        low.stage();
        low.recognise();
        Ok(low)
    }
    /// Returns where `id` comes from.
    pub fn source(&self, id: Id) -> Source {
        self.hoisted().source(id)
    }
    /// A pair node depends on both rows, so it is computed per pair and cannot be hoisted.
    fn is_pair(&self, id: Id) -> bool {
        self.formula.deps(id) & (DEP_X | DEP_Y) == DEP_X | DEP_Y
    }
    /// Registers every node at the border between one row and two: the operands of pair nodes that
    /// are no pair nodes, and roots that depend on one row or on none.
    ///
    /// Nodes below the border need no entry, since the hoister evaluates them on the way.
    fn register_operands(&mut self) -> Result<()> {
        let live = self.formula.live();
        let roots = self.formula.roots.clone();
        for root in roots {
            // A short vector is not a value of its own: its parts are the roots that matter.
            let parts = match self.formula.node(root) {
                Node::Tuple(parts) => parts.clone(),
                _ => vec![root],
            };
            parts.into_iter().for_each(|p| self.register(p));
        }
        for (at, live) in live.iter().enumerate() {
            let id = Id(at as u32);
            if *live && self.is_pair(id) && !matches!(self.formula.node(id), Node::Tuple(_)) {
                self.operands_of(id)?
                    .into_iter()
                    .for_each(|o| self.register(o));
            }
        }
        Ok(())
    }
    /// Returns the operands of a pair node as kernels need them.
    ///
    /// The tree has the difference `x − y` as one node without operands. A kernel subtracts two
    /// hoisted vectors instead, so the whole rows (or the two components) become operands here. In
    /// a box the executor forms the image from whole rows, even for one component, because a
    /// triclinic image mixes components. The operator of a `reduce(|a, b| …)` is left out: it runs
    /// inside the loop, on numbers that no row holds.
    fn operands_of(&mut self, id: Id) -> Result<Vec<Id>> {
        let pair = |f: &mut Formula, make: &dyn Fn(Side) -> Node| -> Result<Vec<Id>> {
            Ok(vec![f.leaf(make(Side::X))?, f.leaf(make(Side::Y))?])
        };
        match self.formula.node(id).clone() {
            Node::Delta | Node::DeltaAt(_) if self.periodic => pair(&mut self.formula, &Node::Row),
            Node::Delta => pair(&mut self.formula, &Node::Row),
            Node::DeltaAt(k) => pair(&mut self.formula, &|s| Node::At(s, k)),
            Node::UserReduce { init, body, .. } => Ok(init.into_iter().chain([body]).collect()),
            _ => Ok(self.formula.operands(id)),
        }
    }
    /// Gives `id` its source, unless it is a pair node or has one.
    fn register(&mut self, id: Id) {
        if self.sources.contains_key(&id) || self.is_pair(id) {
            return;
        }
        let vector = self.formula.ty(id).shape == Shape::Vector;
        let side = match self.formula.deps(id) & (DEP_X | DEP_Y) {
            DEP_X => Some(Side::X),
            DEP_Y => Some(Side::Y),
            _ => None,
        };
        let source = match (side, vector) {
            (Some(side), true) => {
                Source::Stream(side, push(&mut self.row_vectors[side as usize], id))
            }
            (Some(side), false) => {
                Source::Attr(side, push(&mut self.row_scalars[side as usize], id))
            }
            (None, vector) => self.constant_source(id, vector),
        };
        self.sources.insert(id, source);
    }
    /// Evaluates a node that depends on no row. The evaluator is the reference, so that a constant
    /// has the same bits here as in a kernel that would compute it.
    fn constant_source(&mut self, id: Id, vector: bool) -> Source {
        let mut eval = Evaluator::<1>::of_nodes(&self.formula, &[id], self.dim);
        eval.run(Rows {
            x: &[],
            y: &[],
            delta: &[],
        });
        if vector {
            let values = eval.vector(id).as_flattened().to_vec();
            self.constants.push(values);
            self.constant_ids.push(id);
            Source::Vector(self.constants.len() - 1)
        } else {
            Source::Const(eval.scalar(id)[0])
        }
    }
    /// Puts every reduction into the earliest stage that can compute it, and the rest around the
    /// stages.
    ///
    /// The level of a node is the number of reductions on the longest path below it. A reduction of
    /// level s + 1 runs in stage s. Nodes come after their operands, so one pass in order finds all
    /// levels:
    ///
    /// ```text
    /// d = max(abs(x - y))        level 1   → stage 0
    /// s = sum(abs(x - y) / d)    level 2   → stage 1
    /// sqrt(s)                    level 2, no reduction → finish
    /// ```
    fn stage(&mut self) {
        let live = self.formula.live();
        let n = live.len();
        let mut level = vec![0usize; n];
        let mut levels = 0;
        for at in 0..n {
            let id = Id(at as u32);
            if !live[at] || !self.is_pair(id) {
                continue;
            }
            // The level of a node is that of its deepest operand …
            let inner = self
                .formula
                .operands(id)
                .iter()
                .map(|o| level[o.0 as usize])
                .max()
                .unwrap_or(0);
            let reduces = matches!(
                self.formula.node(id),
                Node::Reduce(..) | Node::UserReduce { .. }
            );
            // … and a reduction ends a loop, so its users come one stage later.
            level[at] = inner + usize::from(reduces);
            levels = levels.max(level[at]);
        }
        self.stages = (0..levels)
            .map(|s| self.collect_stage(&live, &level, s))
            .collect();
        // What a stage has computed before its loop is not computed again at the end.
        let in_stage = |id: &Id| self.stages.iter().any(|s| s.scalars.contains(id));
        let scalars = self
            .pair_nodes(&live)
            .filter(|id| self.formula.ty(*id).shape == Shape::Scalar);
        let plain = scalars.filter(|id| !self.is_reduction(*id) && !in_stage(id));
        self.finish = plain.collect();
        let roots = self.formula.roots.clone();
        let vector_roots: Vec<Id> = roots
            .into_iter()
            .filter(|r| self.formula.ty(*r).shape == Shape::Vector)
            .collect();
        self.vector_tail = self.vector_closure(&vector_roots);
    }
    /// Both kinds of reductions end a loop over components.
    fn is_reduction(&self, id: Id) -> bool {
        matches!(
            self.formula.node(id),
            Node::Reduce(..) | Node::UserReduce { .. }
        )
    }
    /// Lists the pair nodes that a root needs, operands first.
    fn pair_nodes<'s>(&'s self, live: &'s [bool]) -> impl Iterator<Item = Id> + 's {
        (0..live.len())
            .filter(|at| live[*at])
            .map(|at| Id(at as u32))
            .filter(|id| self.is_pair(*id))
    }
    /// Collects what one loop computes: its reductions, the vectors they read, and the single
    /// numbers that those read.
    ///
    /// Results of earlier reductions are dropped from `scalars`: they are there when the loop
    /// begins.
    fn collect_stage(&self, live: &[bool], level: &[usize], stage: usize) -> Stage {
        let reduces: Vec<Id> = self
            .pair_nodes(live)
            .filter(|id| self.is_reduction(*id) && level[id.0 as usize] == stage + 1)
            .collect();
        let bodies: Vec<Id> = reduces
            .iter()
            .flat_map(|r| self.reduction_operands(*r))
            .collect();
        let vectors = self.vector_closure(&bodies);
        // Scalars that the loop reads: operands of its vectors, and bodies that are scalars
        // themselves.
        let mut scalars = vec![];
        for id in vectors.iter().chain(&bodies) {
            let used = self.formula.operands(*id).into_iter().chain([*id]);
            let needed =
                used.filter(|o| self.is_pair(*o) && self.formula.ty(*o).shape == Shape::Scalar);
            needed.for_each(|o| self.scalar_closure(o, &mut scalars));
        }
        scalars.sort_unstable();
        scalars.dedup();
        scalars.retain(|id| !self.is_reduction(*id));
        Stage {
            scalars,
            vectors,
            reduces,
        }
    }
    /// Returns the operands of a reduction that are values, not its operator.
    fn reduction_operands(&self, id: Id) -> Vec<Id> {
        match self.formula.node(id) {
            Node::Reduce(_, body) => vec![*body],
            Node::UserReduce { init, body, .. } => init.iter().copied().chain([*body]).collect(),
            _ => vec![],
        }
    }
    /// Appends the scalar pair nodes that `id` needs, operands first, and `id` itself. It ends at
    /// reductions, which another stage computes.
    fn scalar_closure(&self, id: Id, out: &mut Vec<Id>) {
        if out.contains(&id) || !self.is_pair(id) || self.is_reduction(id) {
            return;
        }
        for o in self.formula.operands(id) {
            self.scalar_closure(o, out);
        }
        out.push(id);
    }
    /// Returns the vector pair nodes that `targets` need, operands first.
    ///
    /// One pass from the last node to the first suffices, because a node is always later than its
    /// operands. It does not pass through scalars: a reduction ends another loop.
    fn vector_closure(&self, targets: &[Id]) -> Vec<Id> {
        let mut wanted = vec![false; self.formula.nodes().len()];
        targets.iter().for_each(|t| wanted[t.0 as usize] = true);
        let mut out = vec![];
        for at in (0..wanted.len()).rev() {
            let id = Id(at as u32);
            if wanted[at] && self.is_pair(id) && self.formula.ty(id).shape == Shape::Vector {
                out.push(id);
                self.formula
                    .operands(id)
                    .iter()
                    .for_each(|o| wanted[o.0 as usize] = true);
            }
        }
        out.reverse();
        out
    }
    /// Returns the reduction `id` with its two hoisted vectors, if it has specialised kernels. None
    /// has them in a box.
    pub fn reduction(&self, id: Id) -> Option<VectorReduction> {
        self.reductions.get(&id).copied()
    }
    /// Returns what is recognised of root number `root`.
    pub fn pattern(&self, root: usize) -> &Pattern {
        &self.patterns[root]
    }
    fn hoisted(&self) -> Hoisted<'_> {
        Hoisted {
            formula: &self.formula,
            dim: self.dim,
            periodic: self.periodic,
            row_vectors: &self.row_vectors,
            sources: &self.sources,
        }
    }
    /// Recognises the reductions of all pairs and the roots.
    fn recognise(&mut self) {
        let hoisted = self.hoisted();
        let reduces = self.stages.iter().flat_map(|stage| &stage.reduces);
        let reductions = reduces.filter_map(|id| Some((*id, hoisted.reduction(*id)?)));
        let roots = self.formula.roots.iter();
        let (reductions, patterns) = (
            reductions.collect(),
            roots.map(|id| hoisted.pattern(*id)).collect(),
        );
        (self.reductions, self.patterns) = (reductions, patterns);
    }
    /// Returns whether every reduction of the formula is an inner product of hoisted vectors. Such
    /// a formula is a matrix product with operations on its elements, so matrix units can run it.
    pub fn is_inner_product(&self) -> bool {
        let mut reduces = self.stages.iter().flat_map(|s| &s.reduces).peekable();
        reduces.peek().is_some()
            && self.stages.len() == 1
            && self.vector_tail.is_empty()
            && reduces.all(|r| {
                self.reduction(*r)
                    .is_some_and(|reduction| reduction.form == Reduction::Dot)
            })
    }
    /// Counts the operations per pair and component, and those per pair. Cost models multiply the
    /// first by `dim`. All operations count one; `plan/src/cost/formula.rs` weighs expensive
    /// functions.
    pub fn operations(&self) -> (usize, usize) {
        let loops: usize = self
            .stages
            .iter()
            .map(|s| s.vectors.len() + s.reduces.len())
            .sum();
        let singles: usize =
            self.stages.iter().map(|s| s.scalars.len()).sum::<usize>() + self.finish.len();
        (loops + self.vector_tail.len(), singles)
    }
    /// Returns the number of the hoisted vector that is the row itself, of side 0 (x) or 1 (y). It
    /// needs no computation, so engines may read it from the table.
    pub fn raw_vector(&self, side: usize) -> Option<usize> {
        self.hoisted().raw_vector(side)
    }
    /// Returns whether the hoisted values of a row are the same on either side, in the same order.
    /// Then one table needs one set of hoisted values, not two.
    pub fn is_mirrored(&self) -> bool {
        let mirrored = |of: &[Vec<Id>; 2]| mirror(&self.formula, &of[0], &of[1]);
        mirrored(&self.row_vectors) && mirrored(&self.row_scalars)
    }
    /// Returns the columns of the table that the hoisted values of `side` are, where they are as
    /// given.
    pub fn raw_columns(&self, side: Side) -> Option<Vec<usize>> {
        let nodes = self.row_vectors[side as usize]
            .iter()
            .chain(&self.row_scalars[side as usize]);
        let columns = nodes.map(|id| {
            let node = self.formula.node(*id);
            if let Node::At(s, k) = node {
                (*s == side).then_some(*k as usize..*k as usize + 1)
            } else {
                (*node == Node::Row(side)).then_some(0..self.dim)
            }
        });
        let columns = columns.collect::<Option<Vec<_>>>()?;
        Some(columns.into_iter().flatten().collect())
    }
    /// Returns what computes the hoisted values of rows of `side`, several rows at a time.
    pub fn hoister(&self, side: Side) -> Hoister<'_> {
        let raw = self.raw_vector(side as usize);
        let computed = self.row_vectors[side as usize]
            .iter()
            .enumerate()
            .filter(|(at, _)| Some(*at) != raw)
            .map(|(_, id)| id);
        let targets: Vec<Id> = computed
            .chain(&self.row_scalars[side as usize])
            .copied()
            .collect();
        let eval =
            (!targets.is_empty()).then(|| Evaluator::of_nodes(&self.formula, &targets, self.dim));
        Hoister {
            low: self,
            side,
            raw,
            eval,
            held: 0..0,
            row: 0,
            width: 0,
            cols: 0,
            rows: vec![],
            lanes: vec![],
            made: vec![],
        }
    }
}

/// Rows that are hoisted at once: the lanes of the evaluator. Eight f64 fill one AVX-512 register
/// or two of AVX2.
pub const GROUP: usize = 8;
/// Components that are transposed from rows to lanes at once. 64 components of 8 rows are 4 KiB,
/// which stay in the first cache while they are read by row and written by component.
const NEAR: usize = 64;

/// Computes the hoisted values of rows of one side, [`GROUP`] consecutive rows at once.
///
/// The evaluator is slow per call and fast per lane. A caller that asks for rows one after another
/// therefore gets rows that were computed together; one that jumps pays for eight rows each time.
#[derive(Debug)]
pub struct Hoister<'l> {
    low: &'l Lowered,
    side: Side,
    /// The hoisted vector that is the row itself. It is copied, not evaluated.
    raw: Option<usize>,
    /// Evaluates the other hoisted values; `None` if the row itself is all that is hoisted.
    eval: Option<Evaluator<'l, GROUP>>,
    /// The rows that are computed, and the place of the current one among them.
    held: Range<usize>,
    row: usize,
    /// Numbers of a row of the table (attributes included), and its components.
    width: usize,
    cols: usize,
    /// The rows as they are, one after another.
    rows: Vec<f64>,
    /// The same transposed: component k of row l is at `k * GROUP + l`.
    lanes: Vec<f64>,
    /// What was hoisted, row by row: all vectors of a row, then all its scalars.
    made: Vec<f64>,
}

impl Hoister<'_> {
    /// Loads row `at` of `table`; then read [`Self::stream`] and [`Self::attr`].
    ///
    /// `table` must be the same in all calls: rows that were computed are not looked at again.
    pub fn load(&mut self, table: &Table, at: usize) {
        if !self.held.contains(&at) {
            self.compute(table, at);
        }
        self.row = at - self.held.start;
    }
    /// Returns hoisted vector `number` of [`GROUP`] rows from `first` on, transposed: element k
    /// holds component k of all rows. Lanes past the last row repeat it. Returns `None` if the
    /// vector is the row itself, which the caller reads from the table.
    ///
    /// Engines that store panels by component use this; it saves the transposition to rows and
    /// back.
    pub fn strip(&mut self, table: &Table, first: usize, number: usize) -> Option<&[[f64; GROUP]]> {
        self.evaluate(table, first);
        // Nothing is kept by row, so a later `load` must compute anew.
        self.held = 0..0;
        let eval = self.eval.as_ref().filter(|_| self.raw != Some(number))?;
        Some(eval.vector(self.low.row_vectors[self.side as usize][number]))
    }
    /// Returns hoisted scalar `number` of the rows of the last [`Self::strip`], a lane for each.
    pub fn strip_attr(&self, number: usize) -> Option<&[f64; GROUP]> {
        self.eval
            .as_ref()
            .map(|eval| eval.scalar(self.low.row_scalars[self.side as usize][number]))
    }
    fn compute(&mut self, table: &Table, first: usize) {
        let count = self.evaluate(table, first);
        self.keep(count);
    }
    /// Evaluates up to [`GROUP`] rows from `first` on and returns how many. Without an evaluator it
    /// takes one row, since nothing is gained from more.
    fn evaluate(&mut self, table: &Table, first: usize) -> usize {
        // Rows of the two inputs may differ in length where a formula names single components only.
        let width = table.width();
        // The last group may be shorter.
        let count = if self.eval.is_some() {
            GROUP.min(table.rows() - first)
        } else {
            1
        };
        (self.held, self.width, self.cols) = (first..first + count, width, table.cols());
        self.rows.resize(GROUP * width, 0.0);
        for at in 0..count {
            table.row_into(first + at, &mut self.rows[at * width..][..width]);
        }
        let Some(eval) = &mut self.eval else {
            return count;
        };
        self.lanes.resize(GROUP * width, 0.0);
        // A few components of all rows at a time, which stay in the nearest cache. Rows past the
        // last one repeat it.
        for (part, lanes) in self
            .lanes
            .as_chunks_mut::<GROUP>()
            .0
            .chunks_mut(NEAR)
            .enumerate()
        {
            for l in 0..GROUP {
                let row = &self.rows[l.min(count - 1) * width + part * NEAR..][..lanes.len()];
                lanes
                    .iter_mut()
                    .zip(row)
                    .for_each(|(lanes, v)| lanes[l] = *v);
            }
        }
        // Nodes depend on one side only, so both sides may be given the same rows.
        eval.run(Rows {
            x: &self.lanes,
            y: &self.lanes,
            delta: &[],
        });
        count
    }
    /// Transposes what the evaluator holds by component to `made`, which holds it by row.
    fn keep(&mut self, count: usize) {
        let Some(eval) = &self.eval else { return };
        let (side, dim) = (self.side as usize, self.low.dim);
        let (row_vectors, row_scalars) = (&self.low.row_vectors[side], &self.low.row_scalars[side]);
        let wide = row_vectors.len() * dim + row_scalars.len();
        self.made.resize(GROUP * wide, 0.0);
        for (l, made) in self.made.chunks_mut(wide.max(1)).take(count).enumerate() {
            for (s, id) in row_vectors
                .iter()
                .enumerate()
                .filter(|(s, _)| Some(*s) != self.raw)
            {
                let to = &mut made[s * dim..][..dim];
                to.iter_mut()
                    .zip(eval.vector(*id))
                    .for_each(|(to, lanes)| *to = lanes[l]);
            }
            for (to, id) in made[row_vectors.len() * dim..].iter_mut().zip(row_scalars) {
                *to = eval.scalar(*id)[l];
            }
        }
    }
    /// Returns what was hoisted of the loaded row.
    fn made(&self) -> &[f64] {
        let side = self.side as usize;
        let wide =
            self.low.row_vectors[side].len() * self.low.dim + self.low.row_scalars[side].len();
        self.made.get(self.row * wide..).unwrap_or(&[])
    }
    /// Returns hoisted vector `number` of the loaded row.
    pub fn stream(&self, number: usize) -> &[f64] {
        match &self.eval {
            Some(_) if self.raw != Some(number) => {
                &self.made()[number * self.low.dim..][..self.low.dim]
            }
            _ => &self.rows[self.row * self.width..][..self.cols],
        }
    }
    /// Returns hoisted scalar `number` of the loaded row.
    pub fn attr(&self, number: usize) -> f64 {
        let first = self.low.row_vectors[self.side as usize].len() * self.low.dim;
        self.made().get(first + number).copied().unwrap_or(f64::NAN)
    }
}

/// Returns the place of `id` in `list`, to which it is appended if it is new.
fn push(list: &mut Vec<Id>, id: Id) -> usize {
    match list.iter().position(|have| *have == id) {
        Some(at) => at,
        None => {
            list.push(id);
            list.len() - 1
        }
    }
}
