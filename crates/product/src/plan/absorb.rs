//! Factors whose scope lies within another's are multiplied into it.

use super::reduced::{Reduced, Table};

/// Products below this are left apart, so that nothing is lost to gradual underflow.
const SMALLEST: f64 = 1e-280;

/// Multiplies every table into a wider one where there is one.
pub fn absorb(out: &mut Reduced) {
    let mut of_var: Vec<Vec<usize>> = vec![Vec::new(); out.cards.len()];
    for (at, table) in out.tables.iter().enumerate() {
        table.scope.iter().for_each(|v| of_var[*v].push(at));
    }
    let mut order: Vec<usize> = (0..out.tables.len()).collect();
    order.sort_by_key(|at| out.tables[*at].scope.len());
    let mut gone = vec![false; out.tables.len()];
    for at in order {
        let Some(home) = wider(&out.tables, at, &of_var, &gone) else {
            continue;
        };
        let small = std::mem::replace(
            &mut out.tables[at],
            Table {
                scope: Vec::new(),
                values: Vec::new(),
            },
        );
        if multiply(&mut out.tables[home], &small, &out.cards) {
            gone[at] = true;
        } else {
            out.tables[at] = small;
        }
    }
    let mut keep = gone.iter().map(|g| !g);
    out.tables.retain(|_| keep.next().unwrap_or(true));
}

/// The smallest other table whose scope holds that of table `at` (each candidate list is short: the
/// rarest variable's).
fn wider(tables: &[Table], at: usize, of_var: &[Vec<usize>], gone: &[bool]) -> Option<usize> {
    let scope = &tables[at].scope;
    let rarest = scope.iter().min_by_key(|v| of_var[**v].len())?;
    of_var[*rarest]
        .iter()
        .copied()
        .filter(|t| *t != at && !gone[*t] && scope.iter().all(|v| tables[*t].scope.contains(v)))
        .min_by_key(|t| tables[*t].values.len())
}

/// `big *= small`, unless a product would over- or underflow.
fn multiply(big: &mut Table, small: &Table, cards: &[usize]) -> bool {
    let mut strides = vec![0usize; big.scope.len()];
    let mut stride = 1;
    for v in small.scope.iter().rev() {
        if let Some(at) = big.scope.iter().position(|u| u == v) {
            strides[at] = stride;
        }
        stride *= cards[*v];
    }
    let mut x = vec![0usize; big.scope.len()];
    let mut product = Vec::with_capacity(big.values.len());
    for value in &big.values {
        let with = small.values[x.iter().zip(&strides).map(|(s, t)| s * t).sum::<usize>()];
        let p = value * with;
        let lost = p < SMALLEST && *value > 0.0 && with > 0.0;
        if lost || !p.is_finite() {
            return false;
        }
        product.push(p);
        super::reduced::step(&mut x, |at| cards[big.scope[at]]);
    }
    big.values = product;
    true
}
