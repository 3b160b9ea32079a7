//! From formula to what a backend runs: parts that depend on one row alone are hoisted and computed
//! once per row (in f64, to the bits of the reference); what is left is a sequence of stages, each
//! one loop over components.

use super::artifacts::ArtifactCache;
use super::eval::{Evaluator, Rows};
use super::symmetry::mirror;
use super::tree::{Binary, DEP_X, DEP_Y, Formula, Id, Node, Reduce, Shape, Side, Unary};
use crate::error::Result;
use crate::table::Table;
use std::collections::HashMap;
use std::ops::Range;

/// Where the operand of a pair node comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// Hoisted vector number `.1` of a side: one number per row and component.
    Stream(Side, usize),
    /// Hoisted scalar number `.1` of a side: one number per row.
    Attr(Side, usize),
    /// A vector that depends on no row: number `.0` of [`Lowered::constants`].
    Vector(usize),
    /// A number.
    Const(f64),
    /// Computed for every pair.
    Pair,
}

/// One loop over components that feeds one or more reductions.
#[derive(Clone, Debug, Default)]
pub struct Stage {
    /// Scalar pair nodes to compute before the loop.
    pub scalars: Vec<Id>,
    /// Vector pair nodes, in order, computed for each component.
    pub vectors: Vec<Id>,
    /// Reductions fed by the loop.
    pub reduces: Vec<Id>,
}

/// A reduction that has a kernel of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ZipForm {
    /// Σ |a − b|
    L1,
    /// Σ (a − b)²
    SqDiff,
    /// Σ a·b
    Dot,
    /// max |a − b|
    Chebyshev,
    /// Σ |a − b|³
    Lp3,
    /// Σ [a ≠ b]
    Differ,
}

/// A formula ready to run on rows of `dim` components.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The formula (with the nodes that lowering added).
    pub formula: Formula,
    /// Components of a row.
    pub dim: usize,
    /// Hoisted vectors of x and of y.
    pub streams: [Vec<Id>; 2],
    /// Hoisted scalars of x and of y.
    pub attrs: [Vec<Id>; 2],
    /// Vectors that depend on no row.
    pub constants: Vec<Vec<f64>>,
    /// Loops over components, in order.
    pub stages: Vec<Stage>,
    /// Scalar pair nodes to compute after the last stage.
    pub finish: Vec<Id>,
    /// Vector pair nodes to compute for vector-valued roots.
    pub vector_tail: Vec<Id>,
    /// Whether the difference is by the minimum image.
    pub periodic: bool,
    /// What backends made of it.
    pub made: ArtifactCache,
    sources: HashMap<Id, Source>,
    constant_ids: Vec<Id>,
}

impl Lowered {
    /// Lowers `formula` for rows of `dim` components; `periodic` when a box turns differences into
    /// minimum images.
    ///
    /// # Errors
    /// `Request` when the formula is full.
    pub fn new(formula: &Formula, dim: usize, periodic: bool) -> Result<Self> {
        let mut low = Lowered {
            formula: formula.clone(),
            dim,
            streams: [vec![], vec![]],
            attrs: [vec![], vec![]],
            constants: vec![],
            stages: vec![],
            finish: vec![],
            vector_tail: vec![],
            periodic,
            made: ArtifactCache::default(),
            sources: HashMap::new(),
            constant_ids: vec![],
        };
        low.register_operands()?;
        low.stage();
        Ok(low)
    }
    /// Where `id` comes from.
    pub fn source(&self, id: Id) -> Source {
        self.sources.get(&id).copied().unwrap_or(Source::Pair)
    }
    fn is_pair(&self, id: Id) -> bool {
        self.formula.deps(id) & (DEP_X | DEP_Y) == DEP_X | DEP_Y
    }
    fn register_operands(&mut self) -> Result<()> {
        let live = self.formula.live();
        let roots = self.formula.roots.clone();
        for root in roots {
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
    /// Operands of a pair node; without a box the difference is an ordinary subtraction.
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
            (Some(side), true) => Source::Stream(side, push(&mut self.streams[side as usize], id)),
            (Some(side), false) => Source::Attr(side, push(&mut self.attrs[side as usize], id)),
            (None, vector) => self.constant_source(id, vector),
        };
        self.sources.insert(id, source);
    }
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
    /// Puts every pair node into the earliest stage that can compute it.
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
            level[at] = inner + usize::from(reduces);
            levels = levels.max(level[at]);
        }
        self.stages = (0..levels)
            .map(|s| self.collect_stage(&live, &level, s))
            .collect();
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
    fn is_reduction(&self, id: Id) -> bool {
        matches!(
            self.formula.node(id),
            Node::Reduce(..) | Node::UserReduce { .. }
        )
    }
    fn pair_nodes<'s>(&'s self, live: &'s [bool]) -> impl Iterator<Item = Id> + 's {
        (0..live.len())
            .filter(|at| live[*at])
            .map(|at| Id(at as u32))
            .filter(|id| self.is_pair(*id))
    }
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
    fn reduction_operands(&self, id: Id) -> Vec<Id> {
        match self.formula.node(id) {
            Node::Reduce(_, body) => vec![*body],
            Node::UserReduce { init, body, .. } => init.iter().copied().chain([*body]).collect(),
            _ => vec![],
        }
    }
    fn scalar_closure(&self, id: Id, out: &mut Vec<Id>) {
        if out.contains(&id) || !self.is_pair(id) || self.is_reduction(id) {
            return;
        }
        for o in self.formula.operands(id) {
            self.scalar_closure(o, out);
        }
        out.push(id);
    }
    /// The vector pair nodes that `targets` need, operands first.
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
    /// The kernel form of reduction `id` with its two hoisted operands (x side first), if it has
    /// one.
    pub fn zip_form(&self, id: Id) -> Option<(ZipForm, Id, Id)> {
        if self.periodic {
            return None;
        }
        let Node::Reduce(op, body) = self.formula.node(id) else {
            return None;
        };
        match (op, self.formula.node(*body)) {
            (Reduce::Sum, Node::Unary(Unary::Abs, a)) => {
                self.gap(*a).map(|(a, b)| (ZipForm::L1, a, b))
            }
            (Reduce::Max, Node::Unary(Unary::Abs, a)) => {
                self.gap(*a).map(|(a, b)| (ZipForm::Chebyshev, a, b))
            }
            (Reduce::Sum, Node::Binary(Binary::Mul, a, b)) if a == b => {
                self.gap(*a).map(|(a, b)| (ZipForm::SqDiff, a, b))
            }
            (Reduce::Sum, Node::Binary(Binary::Mul, a, b)) => {
                self.streams_of(*a, *b).map(|(a, b)| (ZipForm::Dot, a, b))
            }
            (Reduce::Sum, Node::Binary(Binary::Ne, a, b)) => self
                .streams_of(*a, *b)
                .map(|(a, b)| (ZipForm::Differ, a, b)),
            (Reduce::Sum, Node::Binary(Binary::Pow, a, p))
                if self.formula.constant(*p) == Some(3.0) =>
            {
                match self.formula.node(*a) {
                    Node::Unary(Unary::Abs, inner) => {
                        self.gap(*inner).map(|(a, b)| (ZipForm::Lp3, a, b))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
    /// `id` as the difference of a hoisted vector of x and one of y.
    fn gap(&self, id: Id) -> Option<(Id, Id)> {
        match self.formula.node(id) {
            Node::Delta => {
                let find = |s| {
                    self.streams[s as usize]
                        .iter()
                        .find(|i| *self.formula.node(**i) == Node::Row(s))
                        .copied()
                };
                Some((find(Side::X)?, find(Side::Y)?))
            }
            Node::Binary(Binary::Sub, a, b) => self.streams_of(*a, *b),
            _ => None,
        }
    }
    fn streams_of(&self, a: Id, b: Id) -> Option<(Id, Id)> {
        match (self.source(a), self.source(b)) {
            (Source::Stream(Side::X, _), Source::Stream(Side::Y, _)) => Some((a, b)),
            (Source::Stream(Side::Y, _), Source::Stream(Side::X, _)) => Some((b, a)),
            _ => None,
        }
    }
    /// Whether every reduction of a pair is an inner product of hoisted rows: the formula runs on
    /// matrix units.
    pub fn is_inner_product(&self) -> bool {
        let mut reduces = self.stages.iter().flat_map(|s| &s.reduces).peekable();
        reduces.peek().is_some()
            && self.stages.len() == 1
            && self.vector_tail.is_empty()
            && reduces.all(|r| matches!(self.zip_form(*r), Some((ZipForm::Dot, ..))))
    }
    /// Operations per pair and component, and per pair, for cost models.
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
    /// The number of the stream that is the raw row of side 0 (x) or 1 (y).
    pub fn raw_stream(&self, side: usize) -> Option<usize> {
        let wanted = Node::Row(if side == 0 { Side::X } else { Side::Y });
        self.streams[side]
            .iter()
            .position(|id| *self.formula.node(*id) == wanted)
    }
    /// Whether the hoisted values of a row are the same on either side.
    pub fn is_mirrored(&self) -> bool {
        let mirrored = |of: &[Vec<Id>; 2]| mirror(&self.formula, &of[0], &of[1]);
        mirrored(&self.streams) && mirrored(&self.attrs)
    }
    /// Computes the hoisted values of one row: streams end to end into `streams`, scalars into
    /// `attrs`.
    pub fn hoister(&self, side: Side) -> Hoister<'_> {
        let raw = self.raw_stream(side as usize);
        let computed = self.streams[side as usize]
            .iter()
            .enumerate()
            .filter(|(at, _)| Some(*at) != raw)
            .map(|(_, id)| id);
        let targets: Vec<Id> = computed
            .chain(&self.attrs[side as usize])
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

/// Rows that are hoisted at once.
pub const GROUP: usize = 8;
/// Components that are turned from rows into lanes at once.
const NEAR: usize = 64;

/// Computes the hoisted values of rows of one side, a few rows that follow each other at once.
#[derive(Debug)]
pub struct Hoister<'l> {
    low: &'l Lowered,
    side: Side,
    /// The hoisted vector that is the row itself.
    raw: Option<usize>,
    /// Of all others, if there are any.
    eval: Option<Evaluator<'l, GROUP>>,
    /// The rows that are computed, and the current one of these.
    held: Range<usize>,
    row: usize,
    /// Numbers of a row of the table, and its components.
    width: usize,
    cols: usize,
    /// Rows as they are, by row; then by component and row.
    rows: Vec<f64>,
    lanes: Vec<f64>,
    /// By row: all hoisted vectors, then all numbers.
    made: Vec<f64>,
}

impl Hoister<'_> {
    /// Loads row `at` of `table`, the same for all calls; then read [`Self::stream`] and
    /// [`Self::attr`].
    pub fn load(&mut self, table: &Table, at: usize) {
        if !self.held.contains(&at) {
            self.compute(table, at);
        }
        self.row = at - self.held.start;
    }
    /// Hoisted vector `number` of the rows from `first` on, by component, a lane each; lanes past
    /// the last row repeat it. None where the vector is the row itself.
    pub fn strip(&mut self, table: &Table, first: usize, number: usize) -> Option<&[[f64; GROUP]]> {
        self.evaluate(table, first);
        // Nothing is kept by row.
        self.held = 0..0;
        let eval = self.eval.as_ref().filter(|_| self.raw != Some(number))?;
        Some(eval.vector(self.low.streams[self.side as usize][number]))
    }
    /// Hoisted number `number` of the rows of the last [`Self::strip`].
    pub fn strip_attr(&self, number: usize) -> Option<&[f64; GROUP]> {
        self.eval
            .as_ref()
            .map(|eval| eval.scalar(self.low.attrs[self.side as usize][number]))
    }
    fn compute(&mut self, table: &Table, first: usize) {
        let count = self.evaluate(table, first);
        self.keep(count);
    }
    /// Takes up to [`GROUP`] rows and computes what depends on them; how many.
    fn evaluate(&mut self, table: &Table, first: usize) -> usize {
        // Rows of the two inputs may differ in length where a formula names single components only.
        let width = table.width();
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
        eval.run(Rows {
            x: &self.lanes,
            y: &self.lanes,
            delta: &[],
        });
        count
    }
    /// What the evaluator made, by row.
    fn keep(&mut self, count: usize) {
        let Some(eval) = &self.eval else { return };
        let (side, dim) = (self.side as usize, self.low.dim);
        let (streams, attrs) = (&self.low.streams[side], &self.low.attrs[side]);
        let wide = streams.len() * dim + attrs.len();
        self.made.resize(GROUP * wide, 0.0);
        for (l, made) in self.made.chunks_mut(wide.max(1)).take(count).enumerate() {
            for (s, id) in streams
                .iter()
                .enumerate()
                .filter(|(s, _)| Some(*s) != self.raw)
            {
                let to = &mut made[s * dim..][..dim];
                to.iter_mut()
                    .zip(eval.vector(*id))
                    .for_each(|(to, lanes)| *to = lanes[l]);
            }
            for (to, id) in made[streams.len() * dim..].iter_mut().zip(attrs) {
                *to = eval.scalar(*id)[l];
            }
        }
    }
    fn made(&self) -> &[f64] {
        let side = self.side as usize;
        let wide = self.low.streams[side].len() * self.low.dim + self.low.attrs[side].len();
        self.made.get(self.row * wide..).unwrap_or(&[])
    }
    /// Hoisted vector `number` of the loaded row.
    pub fn stream(&self, number: usize) -> &[f64] {
        match &self.eval {
            Some(_) if self.raw != Some(number) => {
                &self.made()[number * self.low.dim..][..self.low.dim]
            }
            _ => &self.rows[self.row * self.width..][..self.cols],
        }
    }
    /// Hoisted number `number` of the loaded row.
    pub fn attr(&self, number: usize) -> f64 {
        let first = self.low.streams[self.side as usize].len() * self.low.dim;
        self.made().get(first + number).copied().unwrap_or(f64::NAN)
    }
}

fn push(list: &mut Vec<Id>, id: Id) -> usize {
    match list.iter().position(|have| *have == id) {
        Some(at) => at,
        None => {
            list.push(id);
            list.len() - 1
        }
    }
}
