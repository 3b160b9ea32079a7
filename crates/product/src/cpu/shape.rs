//! The geometry of one contraction: every variable as a digit of a mixed-radix counter, with its
//! stride in each table.

use crate::plan::cache::Bucket;
use crate::plan::{Node, Plan, Source};

/// Most tables that one contraction takes (a gradient takes the result's gradient and all other
/// inputs).
pub const MOST_INPUTS: usize = 8;

/// One variable, or several that lie side by side in every table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digit {
    /// Number of values.
    pub card: usize,
    /// Stride in each input; 0 where the input lacks it.
    pub strides: [usize; MOST_INPUTS],
    /// Stride in the result; 0 where it is summed.
    pub out: usize,
    /// Whether it is summed.
    pub summed: bool,
}

/// A contraction: its digits in the global order (slowest first), those of one value left out,
/// neighbours merged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// The digits.
    pub digits: Vec<Digit>,
    /// Number of inputs.
    pub inputs: usize,
    /// Entries of the result.
    pub out_len: usize,
}

/// All variables of `scopes` and `out` that have several values, each once, sorted by `rank`.
fn wide_variables(scopes: &[&[usize]], out: &[usize], rank: &[u32], cards: &[usize]) -> Vec<usize> {
    let mut union: Vec<usize> = scopes
        .iter()
        .flat_map(|s| s.iter().copied())
        .chain(out.iter().copied())
        .collect();
    union.sort_unstable_by_key(|v| rank[*v]);
    union.dedup();
    union.retain(|v| cards[*v] > 1);
    union
}

impl Shape {
    /// The contraction of tables over `scopes` to one over `out`. All scopes are sorted by `rank`;
    /// `cards` are the domain sizes now in force (1 for a variable that is conditioned on).
    pub fn new(scopes: &[&[usize]], out: &[usize], rank: &[u32], cards: &[usize]) -> Self {
        let union = wide_variables(scopes, out, rank, cards);
        let mut digits: Vec<Digit> = union
            .iter()
            .map(|v| Digit {
                card: cards[*v],
                strides: [0; MOST_INPUTS],
                out: 0,
                summed: true,
            })
            .collect();
        let fill = |scope: &[usize], digits: &mut Vec<Digit>, put: &dyn Fn(&mut Digit, usize)| {
            let (mut stride, mut at) = (1, union.len());
            for v in scope.iter().rev().filter(|v| cards[**v] > 1) {
                while at > 0 && union[at - 1] != *v {
                    at -= 1;
                }
                put(&mut digits[at - 1], stride);
                stride *= cards[*v];
            }
            stride
        };
        for (i, scope) in scopes.iter().enumerate() {
            fill(scope, &mut digits, &|d, s| d.strides[i] = s);
        }
        let out_len = fill(out, &mut digits, &|d, s| {
            d.out = s;
            d.summed = false;
        });
        Shape {
            digits: merge(digits),
            inputs: scopes.len(),
            out_len,
        }
    }
    /// Digits of the result, slowest first.
    pub fn kept(&self) -> impl Iterator<Item = &Digit> {
        self.digits.iter().filter(|d| !d.summed)
    }
    /// What the model of a cache needs to know.
    pub fn bucket(&self) -> Bucket {
        let summed = |held: &dyn Fn(&Digit) -> bool| -> usize {
            self.digits
                .iter()
                .filter(|d| d.summed && held(d))
                .map(|d| d.card)
                .product()
        };
        let function = |i: usize| {
            (
                self.kept().map(|d| d.strides[i] > 0).collect(),
                summed(&|d| d.strides[i] > 0),
            )
        };
        Bucket {
            out: self.kept().map(|d| d.card).collect(),
            summed: summed(&|_| true),
            functions: (0..self.inputs).map(function).collect(),
        }
    }
    /// Configurations visited, as f64.
    pub fn visits(&self) -> f64 {
        self.digits.iter().map(|d| d.card as f64).product()
    }
    /// log2 of the number of summed configurations, rounded up.
    pub fn summed_log2(&self) -> i32 {
        self.digits
            .iter()
            .filter(|d| d.summed)
            .map(|d| (d.card as f64).log2())
            .sum::<f64>()
            .ceil() as i32
    }
}

impl std::fmt::Display for Shape {
    /// A word for each digit, slowest first: values, stride in the result (0 where it is summed),
    /// strides in the inputs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, d) in self.digits.iter().enumerate() {
            let space = if at > 0 { " " } else { "" };
            let strides = d.strides[..self.inputs].iter().map(usize::to_string);
            let strides = strides.collect::<Vec<_>>().join(",");
            write!(f, "{space}{}:{}:{strides}", d.card, d.out)?;
        }
        Ok(())
    }
}

/// The joins of a plan, in one of its slices.
#[derive(Clone, Debug)]
pub struct JoinShapes<'a> {
    plan: &'a Plan,
    /// Domain sizes, 1 for variables that are conditioned on.
    cards: Vec<usize>,
}

impl<'a> JoinShapes<'a> {
    /// Those of `plan`.
    pub fn new(plan: &'a Plan) -> Self {
        let mut cards = plan.cards.clone();
        plan.sliced.iter().for_each(|v| cards[*v] = 1);
        JoinShapes { plan, cards }
    }
    /// The join of the `inputs` among `nodes` to a table over `scope`; none of too many tables.
    pub fn join(&self, inputs: &[usize], nodes: &[Node], scope: &[usize]) -> Option<Shape> {
        let scopes: Vec<&[usize]> = inputs.iter().map(|n| &nodes[*n].scope[..]).collect();
        (scopes.len() <= MOST_INPUTS)
            .then(|| Shape::new(&scopes, scope, &self.plan.rank, &self.cards))
    }
    /// The join that makes `node` of the plan.
    pub fn of_node(&self, node: &Node) -> Option<Shape> {
        match &node.source {
            Source::Join(inputs) => self.join(inputs, &self.plan.nodes, &node.scope),
            Source::Input(_) => None,
        }
    }
}

/// Joins neighbouring digits that every table stores as one.
fn merge(digits: Vec<Digit>) -> Vec<Digit> {
    let mut out: Vec<Digit> = Vec::with_capacity(digits.len());
    for d in digits {
        let Some(last) = out.last_mut() else {
            out.push(d);
            continue;
        };
        let together = last.summed == d.summed
            && last.out == d.out * d.card
            && last
                .strides
                .iter()
                .zip(&d.strides)
                .all(|(l, s)| *l == s * d.card);
        if together {
            *last = Digit {
                card: last.card * d.card,
                ..d
            };
        } else {
            out.push(d);
        }
    }
    out
}

/// Offsets of all configurations of some digits, last fastest.
pub fn offsets(digits: &[(usize, usize)]) -> Vec<usize> {
    let mut out = Vec::with_capacity(digits.iter().map(|d| d.0).product());
    out.push(0);
    for (card, stride) in digits.iter().rev() {
        let len = if *card == 0 { 0 } else { out.len() };
        out.truncate(len);
        for s in 1..*card {
            out.extend_from_within(..len);
            out[s * len..].iter_mut().for_each(|o| *o += s * stride);
        }
    }
    out
}
