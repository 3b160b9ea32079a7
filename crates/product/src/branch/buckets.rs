//! Bounds by truncated elimination (mini-buckets, Dechter & Rish 2003): the tables of a variable
//! are joined only as far as the joint tables stay small, which gives a bound from above; costs are
//! shifted between the parts so that they agree on the variable (Ihler et al. 2012).
//!
//! ```text
//! most:     the largest joint tables for which visits and kept entries stay within the limits
//! parts:    for each variable, from the last to the first of the search
//!               waiting = its tables, and messages of parts below
//!               widest first, each into the first part whose joint table stays within `most`
//!               the message of a part waits at the next variable of its scope
//! messages: for each part: sum of its logarithms for each assignment; the variable leaves by
//!               a maximum, or by a sum in the largest part of a summed variable
//!           several parts of a maximised variable: shift each so that their maxima by state agree
//! bounds:   the messages of a subtree that end above its variable; exact if nothing was cut
//! ```
//!
//! Why this shape: the search asks for the bound of one variable's states along one path, which is
//! a sum of one line of each message. Scopes are therefore stored so that variables near each other
//! in the order run fast together. One number (`most`) sets the quality of all bounds and is found
//! by counting, without making any table.

use super::tree::Tree;

/// A table of natural logarithms; the last variable of its scope runs fastest.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    /// Its variables with their strides.
    pub strides: Vec<(usize, usize)>,
    /// Its entries.
    pub values: Vec<f64>,
}

impl Function {
    /// A function over `scope`.
    pub(crate) fn new(scope: &[usize], cards: &[usize], values: Vec<f64>) -> Self {
        let mut strides: Vec<(usize, usize)> = scope.iter().map(|v| (*v, 1)).collect();
        for at in (1..scope.len()).rev() {
            strides[at - 1].1 = strides[at].1 * cards[scope[at]];
        }
        Function { strides, values }
    }
    fn stride(&self, v: usize) -> usize {
        self.strides
            .iter()
            .find(|(u, _)| *u == v)
            .map_or(0, |(_, s)| *s)
    }
    /// Adds the entries at an assignment of all variables but `v`, for each of its values.
    pub(crate) fn add_line(&self, v: usize, states: &[u32], line: &mut [f64]) {
        let (mut base, mut step) = (0, 0);
        for (u, stride) in &self.strides {
            if *u == v {
                step = *stride;
            } else {
                base += states[*u] as usize * stride;
            }
        }
        line.iter_mut()
            .enumerate()
            .for_each(|(x, l)| *l += self.values[base + x * step]);
    }
    /// The entry at an assignment.
    pub(crate) fn entry(&self, states: &[u32]) -> f64 {
        let place = |(v, stride): &(usize, usize)| states[*v] as usize * stride;
        self.values[self.strides.iter().map(place).sum::<usize>()]
    }
}

/// How a variable leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    Max,
    Sum,
}

/// The bounds of a network along a tree.
#[derive(Clone, Debug)]
pub(crate) struct Buckets {
    /// By variable: the tables of the network that it is the first of its tree's path to complete.
    pub own: Vec<Vec<usize>>,
    /// By variable: messages of its subtree that end above it. Their sum bounds the subtree.
    pub bounds: Vec<Vec<usize>>,
    /// All messages.
    pub messages: Vec<Function>,
    /// By variable: whether nothing in its subtree was truncated, so that the bound is its value.
    pub exact: Vec<bool>,
}

/// A part: its tables and messages, and the variables of all of them.
type MiniBucket = (Vec<Origin>, Vec<usize>);

/// Entries of a table over `scope`.
fn size(cards: &[usize], scope: &[usize]) -> f64 {
    scope.iter().map(|v| cards[*v] as f64).product()
}

/// The tables of a variable in parts, each with a joint table of at most `most` entries where
/// single tables allow it: the widest first, each into the first part that has room.
fn joined(cards: &[usize], mut tables: Vec<(Origin, Vec<usize>)>, most: f64) -> Vec<MiniBucket> {
    tables.sort_by_key(|(_, scope)| std::cmp::Reverse(scope.len()));
    let mut parts: Vec<MiniBucket> = Vec::new();
    for (source, scope) in tables {
        let new = |part: &[usize]| -> Vec<usize> {
            let more = scope.iter().copied().filter(|u| !part.contains(u));
            more.collect()
        };
        let fits = |part: &MiniBucket| size(cards, &part.1) * size(cards, &new(&part.1)) <= most;
        let place = parts.iter().position(fits);
        let at = place.unwrap_or(parts.len());
        if at == parts.len() {
            parts.push((Vec::new(), Vec::new()));
        }
        let more = new(&parts[at].1);
        parts[at].0.push(source);
        parts[at].1.extend(more);
    }
    parts
}

/// The parts into which the tables of each variable are joined.
struct Parts {
    /// By variable: parts, each a list of tables or messages and the scope without the variable.
    of: Vec<Vec<MiniBucket>>,
    own: Vec<Vec<usize>>,
    visits: f64,
    /// Entries of all messages.
    kept: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Table(usize),
    /// The message of a part, by its number in the order of elimination.
    Message(usize),
}

impl Parts {
    /// Parts whose joint tables have at most `most` entries, where single tables allow it.
    fn new(cards: &[usize], scopes: &[Vec<usize>], tree: &Tree, most: f64) -> Self {
        let many = cards.len();
        let first = |scope: &[usize]| scope.iter().copied().min_by_key(|v| tree.place[*v]);
        let mut own = vec![Vec::new(); many];
        let mut waiting: Vec<Vec<(Origin, Vec<usize>)>> = vec![Vec::new(); many];
        for (at, scope) in scopes.iter().enumerate() {
            if let Some(v) = first(scope) {
                own[v].push(at);
                waiting[v].push((Origin::Table(at), scope.clone()));
            }
        }
        let (mut of, mut visits, mut kept) = (vec![Vec::new(); many], 0.0, 0.0);
        let mut messages = 0;
        for v in &tree.eliminated {
            let mut parts = joined(cards, std::mem::take(&mut waiting[*v]), most);
            for (sources, scope) in &mut parts {
                visits += size(cards, scope) * sources.len() as f64;
                scope.retain(|u| u != v);
                // The order of elimination from the last to the first: neighbours in it run fast.
                scope.sort_unstable_by_key(|u| std::cmp::Reverse(tree.place[*u]));
                kept += size(cards, scope);
                if let Some(next) = first(scope) {
                    waiting[next].push((Origin::Message(messages), scope.clone()));
                }
                messages += 1;
            }
            of[*v] = parts;
        }
        Parts {
            of,
            own,
            visits,
            kept,
        }
    }
    /// By variable: the messages that bound its subtree, and whether nothing in it was truncated.
    fn bounds(&self, tree: &Tree, made: &[Vec<usize>]) -> (Vec<Vec<usize>>, Vec<bool>) {
        let mut bounds: Vec<Vec<usize>> = vec![Vec::new(); made.len()];
        let mut exact = vec![true; made.len()];
        for v in &tree.eliminated {
            // Messages of the subtree, but for those that this variable's own ones contain.
            let used = |m: &usize| {
                let is = |(all, _): &(Vec<Origin>, Vec<usize>)| all.contains(&Origin::Message(*m));
                self.of[*v].iter().any(is)
            };
            let below: Vec<usize> = tree.children[*v]
                .iter()
                .flat_map(|c| bounds[*c].iter().copied())
                .collect();
            bounds[*v] = made[*v].clone();
            bounds[*v].extend(below.into_iter().filter(|m| !used(m)));
            exact[*v] = self.of[*v].len() <= 1 && tree.children[*v].iter().all(|c| exact[*c]);
        }
        (bounds, exact)
    }
}

impl Buckets {
    /// Entries of joint tables that give as good a bound as `visits` visits and `kept` entries of
    /// messages allow.
    pub(crate) fn most(
        cards: &[usize],
        scopes: &[Vec<usize>],
        tree: &Tree,
        (visits, kept): (f64, f64),
    ) -> f64 {
        let allowed = |most: &f64| {
            let parts = Parts::new(cards, scopes, tree, *most);
            parts.visits <= visits && parts.kept <= kept
        };
        let mut most = 4.0;
        while most < 1e9 && allowed(&(most * 4.0)) {
            most *= 4.0;
        }
        most
    }
    /// Bounds with joint tables of at most `most` entries; `maximised` variables leave by maxima,
    /// the others by sums.
    pub(crate) fn new(
        cards: &[usize],
        tables: &[Function],
        tree: &Tree,
        maximised: &[bool],
        most: f64,
    ) -> Self {
        let scopes: Vec<Vec<usize>> = tables
            .iter()
            .map(|t| t.strides.iter().map(|(v, _)| *v).collect())
            .collect();
        let parts = Parts::new(cards, &scopes, tree, most);
        let mut messages: Vec<Function> = Vec::new();
        let mut made: Vec<Vec<usize>> = vec![Vec::new(); cards.len()];
        for v in &tree.eliminated {
            let sources = |all: &[Origin]| -> Vec<&Function> {
                let of = |s: &Origin| match s {
                    Origin::Table(at) => &tables[*at],
                    Origin::Message(at) => &messages[*at],
                };
                all.iter().map(of).collect()
            };
            let own: Vec<(Vec<&Function>, &Vec<usize>)> = parts.of[*v]
                .iter()
                .map(|(all, scope)| (sources(all), scope))
                .collect();
            let new = sent(cards, (*v, maximised[*v]), &own);
            made[*v] = (messages.len()..messages.len() + new.len()).collect();
            messages.extend(new);
        }
        let (bounds, exact) = parts.bounds(tree, &made);
        Buckets {
            own: parts.own,
            bounds,
            messages,
            exact,
        }
    }
}

impl Buckets {
    /// Whether nothing was truncated.
    pub(crate) fn are_exact(&self, tree: &Tree) -> bool {
        tree.roots.iter().all(|root| self.exact[*root])
    }
}

/// The messages of the parts of one variable, which is maximised or summed.
fn sent(
    cards: &[usize],
    (v, maximised): (usize, bool),
    own: &[(Vec<&Function>, &Vec<usize>)],
) -> Vec<Function> {
    let shifts = match maximised && own.len() > 1 {
        true => shifts(cards, v, own),
        false => vec![vec![0.0; cards[v]]; own.len()],
    };
    let largest = own
        .iter()
        .enumerate()
        .max_by_key(|(_, (_, scope))| scope.len())
        .map(|(at, _)| at);
    let all = own.iter().zip(&shifts).enumerate();
    all.map(|(at, ((all, scope), shift))| {
        // One part is summed; the others count with their greatest entry.
        let leave = match !maximised && Some(at) == largest {
            true => Leave::Sum,
            false => Leave::Max,
        };
        message(cards, (v, leave), all, scope, shift)
    })
    .collect()
}

/// What is added to each part for each value of `v`, so that the greatest entries agree; the sum is
/// zero.
fn shifts(cards: &[usize], v: usize, parts: &[(Vec<&Function>, &Vec<usize>)]) -> Vec<Vec<f64>> {
    let zero = vec![0.0; cards[v]];
    let greatest: Vec<Vec<f64>> = parts
        .iter()
        .map(|(all, scope)| {
            let mut most = vec![f64::NEG_INFINITY; cards[v]];
            visit(cards, v, all, scope, &zero, |_, line| {
                most.iter_mut().zip(line).for_each(|(m, l)| *m = m.max(*l));
            });
            most
        })
        .collect();
    let mean = |x: usize| greatest.iter().map(|g| g[x]).sum::<f64>() / parts.len() as f64;
    let shift = |g: &Vec<f64>| -> Vec<f64> {
        let of = |x: usize| {
            if mean(x).is_finite() {
                mean(x) - g[x]
            } else {
                0.0
            }
        };
        (0..cards[v]).map(of).collect()
    };
    greatest.iter().map(shift).collect()
}

/// The message of one part.
fn message(
    cards: &[usize],
    (v, leave): (usize, Leave),
    all: &[&Function],
    scope: &[usize],
    shift: &[f64],
) -> Function {
    let len = scope.iter().map(|u| cards[*u]).product();
    let mut values = vec![0.0; len];
    visit(cards, v, all, scope, shift, |at, line| {
        values[at] = match leave {
            Leave::Max => line.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Leave::Sum => log_sum(line),
        };
    });
    Function::new(scope, cards, values)
}

/// The logarithm of the sum of exponentials.
pub(crate) fn log_sum(line: &[f64]) -> f64 {
    let most = line.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return most;
    }
    most + line.iter().map(|l| (l - most).exp()).sum::<f64>().ln()
}

/// Gives the sums of `all` over the values of `v` to `take`, for each assignment of `scope`.
fn visit(
    cards: &[usize],
    v: usize,
    all: &[&Function],
    scope: &[usize],
    shift: &[f64],
    mut take: impl FnMut(usize, &[f64]),
) {
    let len: usize = scope.iter().map(|u| cards[*u]).product();
    let steps: Vec<usize> = all.iter().map(|f| f.stride(v)).collect();
    let strides: Vec<Vec<usize>> = scope
        .iter()
        .map(|u| all.iter().map(|f| f.stride(*u)).collect())
        .collect();
    let mut bases = vec![0usize; all.len()];
    let mut state = vec![0usize; scope.len()];
    let mut line = vec![0.0; cards[v]];
    for at in 0..len {
        line.copy_from_slice(shift);
        for ((f, base), step) in all.iter().zip(&bases).zip(&steps) {
            line.iter_mut()
                .enumerate()
                .for_each(|(x, l)| *l += f.values[base + x * step]);
        }
        take(at, &line);
        for digit in (0..scope.len()).rev() {
            state[digit] += 1;
            bases
                .iter_mut()
                .zip(&strides[digit])
                .for_each(|(b, s)| *b += s);
            if state[digit] < cards[scope[digit]] {
                break;
            }
            let back = cards[scope[digit]];
            bases
                .iter_mut()
                .zip(&strides[digit])
                .for_each(|(b, s)| *b -= s * back);
            state[digit] = 0;
        }
    }
}
