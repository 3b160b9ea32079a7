//! The functions of formulas: the tables by which the parser knows them, and a list for people that
//! says how each is written and what it gives.
//!
//! `zipfold functions` and the documents print the list. A test holds the list and the tables to
//! each other, so neither can have a name that the other lacks. The module also says what to try
//! instead of an unknown function. What a function computes is in `operators.rs`.
//!
//! ```text
//! table   "log10" → Unary::Log10
//! list    log10   log10(a)   logarithm to base 10
//! ```
//!
//! A new function of one number takes a variant of `Unary`, a line in the table, a line in the
//! list, and its rules in `operators.rs`; the compiler and the test ask for what is missing.

use super::tree::{ComponentReduce, Unary};
use crate::suggest::nearest;

/// A function, an operator or a constant of formulas, as the list shows it.
///
/// One entry serves the terminal and the documents, so they cannot differ.
#[derive(Clone, Copy, Debug)]
pub struct FunctionInfo {
    /// The name that the parser knows.
    pub name: &'static str,
    /// How it is written, with the usual argument names: a, b numbers, u, v vectors, c conditions.
    pub form: &'static str,
    /// What it gives, in a few words for a table.
    pub about: &'static str,
    /// Where it belongs in a list.
    pub kind: FunctionKind,
}

/// Groups of functions, in the order of the list.
///
/// The group also tells a reader what may be an argument: a vector works by components only in the
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// Of one number, component by component of a vector.
    Number,
    /// From the components of a vector to one number.
    Reduce,
    /// Of two numbers, choices and vectors.
    Other,
}

impl FunctionKind {
    /// Returns the heading of the group in a list, which also says what its arguments are.
    pub fn title(self) -> &'static str {
        match self {
            FunctionKind::Number => "Of one number, or of each component of a vector",
            FunctionKind::Reduce => "From the components of a vector to one number",
            FunctionKind::Other => "Of two numbers, choices, vectors",
        }
    }
}

/// Returns an entry of the first group. The three helpers keep the list one line per function.
const fn number(name: &'static str, form: &'static str, about: &'static str) -> FunctionInfo {
    FunctionInfo {
        name,
        form,
        about,
        kind: FunctionKind::Number,
    }
}
/// Returns an entry of the second group.
const fn reduce(name: &'static str, form: &'static str, about: &'static str) -> FunctionInfo {
    FunctionInfo {
        name,
        form,
        about,
        kind: FunctionKind::Reduce,
    }
}
/// Returns an entry of the third group.
const fn other(name: &'static str, form: &'static str, about: &'static str) -> FunctionInfo {
    FunctionInfo {
        name,
        form,
        about,
        kind: FunctionKind::Other,
    }
}

/// Every function, by group.
pub const ALL: &[FunctionInfo] = &[
    number("abs", "abs(a)", "absolute value"),
    number("sqrt", "sqrt(a)", "square root"),
    number("exp", "exp(a)", "eᵃ"),
    // Both names: mathematicians write ln, NumPy and C write log, and log10 leaves no doubt.
    number("log", "log(a)", "natural logarithm"),
    number("ln", "ln(a)", "natural logarithm, as log"),
    number("log2", "log2(a)", "logarithm to base 2"),
    number("log10", "log10(a)", "logarithm to base 10"),
    number("log1p", "log1p(a)", "log(1 + a), exact for small a"),
    number("expm1", "expm1(a)", "exp(a) - 1, exact for small a"),
    number("sin", "sin(a)", "sine of a in radians"),
    number("cos", "cos(a)", "cosine of a in radians"),
    number("tan", "tan(a)", "tangent of a in radians"),
    number("asin", "asin(a)", "arc sine, in radians"),
    number("acos", "acos(a)", "arc cosine, in radians"),
    number("atan", "atan(a)", "arc tangent, in radians"),
    number("sinh", "sinh(a)", "hyperbolic sine"),
    number("cosh", "cosh(a)", "hyperbolic cosine"),
    number("tanh", "tanh(a)", "hyperbolic tangent"),
    // erfc apart from erf: 1 − erf(a) has no digits left from a = 6 on.
    number("erf", "erf(a)", "error function"),
    number("erfc", "erfc(a)", "1 - erf(a), exact for large a"),
    number(
        "lgamma",
        "lgamma(a)",
        "logarithm of the absolute value of the gamma function",
    ),
    number(
        "popcount",
        "popcount(a)",
        "number of ones in binary, of a whole number from 0 to 2^53 - 1 (else NaN)",
    ),
    number("floor", "floor(a)", "the largest integer that is at most a"),
    number("ceil", "ceil(a)", "the smallest integer that is at least a"),
    number(
        "round",
        "round(a)",
        "the nearest integer, halves to the even one",
    ),
    number("sign", "sign(a)", "-1, 0 or 1"),
    // A comparison with nan is false, so a missing number needs a function.
    number("isnan", "isnan(a)", "whether a is NaN"),
    number("not", "not a, !a", "true where a is false"),
    reduce("sum", "sum(v)", "sum of the components"),
    reduce("prod", "prod(v)", "product of the components"),
    reduce(
        "max",
        "max(v), max(a, b)",
        "the largest component, or the larger of two",
    ),
    reduce(
        "min",
        "min(v), min(a, b)",
        "the smallest component, or the smaller of two",
    ),
    reduce(
        "any",
        "any(c)",
        "whether the condition holds for some component",
    ),
    reduce(
        "all",
        "all(c)",
        "whether the condition holds for every component",
    ),
    reduce(
        "count",
        "count(c)",
        "number of components for which the condition holds",
    ),
    reduce("mean", "mean(v)", "mean of the components"),
    // The formula that it is short for: a user can see that no scaling guards against overflow.
    reduce("norm", "norm(v)", "sqrt(sum(v^2))"),
    reduce("dot", "dot(u, v)", "sum(u * v)"),
    reduce(
        "reduce",
        "reduce(|a, b| a + b, 0, v)",
        "your own operation over the components, from a first value",
    ),
    other(
        "if",
        "if(c, a, b)",
        "a where c holds, else b (where in NumPy)",
    ),
    other(
        "atan2",
        "atan2(a, b)",
        "angle of the point (b, a), in radians",
    ),
    other("hypot", "hypot(a, b)", "sqrt(a^2 + b^2)"),
    other("pow", "pow(a, b), a^b, a**b", "a to the power of b"),
    other(
        "bitand",
        "bitand(a, b), a & b",
        "ones in binary that both have, of whole numbers from 0 to 2^53 - 1 (else NaN)",
    ),
    other("bitor", "bitor(a, b)", "ones that one of them has"),
    other("bitxor", "bitxor(a, b)", "ones that one of them alone has"),
    other(
        "vec",
        "vec(a, b, …)",
        "a vector of these numbers, for sums of vectors by row",
    ),
    other("dim", "dim", "number of components of a row"),
];

/// What is written without a call: operators, rows, constants. They follow the functions in the
/// list.
///
/// They are apart from the functions, because no table of the parser names them.
pub const WRITTEN: &[(&str, &str)] = &[
    ("x, y", "the two rows of a pair, as vectors"),
    (
        "x[0], x.name",
        "one component, by number from 0 or by the name of its column",
    ),
    (
        "x[0:3]",
        "components 0, 1 and 2 as a vector: norm(x[0:2] - y[0:2]); x[:3], x[3:]",
    ),
    (
        "+ - * / ^",
        "arithmetic, component by component; ^ (or **) is a power",
    ),
    ("< <= > >= == !=", "comparisons; they do not chain"),
    ("and or xor not", "conditions (also && || !)"),
    (
        "pi, e, inf, nan",
        "constants; others are parameters, which a request gives values",
    ),
    ("cosine(x, y)", "a metric by its name, of both rows"),
];

/// The functions of one number, by name. `ln` and `log` are one node, so both spellings share
/// kernels and constants.
///
/// An operator with a sign of its own (`-a`) has no name and is not here.
pub const UNARY: &[(&str, Unary)] = &[
    ("abs", Unary::Abs),
    ("sqrt", Unary::Sqrt),
    ("exp", Unary::Exp),
    ("log", Unary::Log),
    ("ln", Unary::Log),
    ("log2", Unary::Log2),
    ("log10", Unary::Log10),
    ("log1p", Unary::Log1p),
    ("expm1", Unary::Expm1),
    ("sin", Unary::Sin),
    ("cos", Unary::Cos),
    ("tan", Unary::Tan),
    ("asin", Unary::Asin),
    ("acos", Unary::Acos),
    ("atan", Unary::Atan),
    ("sinh", Unary::Sinh),
    ("cosh", Unary::Cosh),
    ("tanh", Unary::Tanh),
    ("erf", Unary::Erf),
    ("erfc", Unary::Erfc),
    ("lgamma", Unary::Lgamma),
    ("popcount", Unary::Popcount),
    ("floor", Unary::Floor),
    ("ceil", Unary::Ceil),
    ("round", Unary::Round),
    ("sign", Unary::Sign),
    ("isnan", Unary::IsNan),
    ("not", Unary::Not),
];

/// The reductions, by name.
pub(super) const REDUCE: &[(&str, ComponentReduce)] = &[
    ("sum", ComponentReduce::Sum),
    ("prod", ComponentReduce::Prod),
    ("max", ComponentReduce::Max),
    ("min", ComponentReduce::Min),
    ("any", ComponentReduce::Any),
    ("all", ComponentReduce::All),
    ("count", ComponentReduce::Sum),
];

/// The functions that the parser takes one by one. Each has a rule that a table cannot hold: its
/// number of arguments, or what it is short for.
const OTHER: &[&str] = &[
    "mean", "dot", "norm", "if", "reduce", "vec", "atan2", "hypot", "pow", "dim", "bitand",
    "bitor", "bitxor",
];

/// Lists the names of all functions, for suggestions. Operators and metrics are not among them.
fn function_names() -> impl Iterator<Item = &'static str> {
    UNARY
        .iter()
        .map(|u| u.0)
        .chain(REDUCE.iter().map(|r| r.0))
        .chain(OTHER.iter().copied())
}

/// Returns whether formulas have `name` already: a function, an operator, a row or a constant.
pub(crate) fn is_name_of_language(name: &str) -> bool {
    const WORDS: &[&str] = &[
        "x", "y", "value", "pi", "e", "inf", "nan", "and", "or", "xor",
    ];
    WORDS.contains(&name) || function_names().any(|function| function == name)
}

/// Returns what to try for an unknown function: the function that other languages call by this
/// name, the nearest known name, or all names.
pub fn remedy(name: &str, metrics: impl Iterator<Item = &'static str>) -> String {
    let known = function_names().chain(metrics);
    // What other languages mean comes first: it is a statement, while the nearest name is a guess.
    match (meant(name), nearest(name, known)) {
        (Some(meant), _) => meant.to_string(),
        (None, Some(near)) => format!("'{near}'"),
        // A name that is near nothing: the list is short enough to print whole.
        (None, None) => format!(
            "a function: {}",
            function_names().collect::<Vec<_>>().join(", ")
        ),
    }
}

/// Returns what people of other languages (NumPy, SQL, C, R) mean by a name that is unknown here.
/// An edit distance would not find these: `where` is far from `if`.
///
/// Only names whose meaning is certain are here. A wrong hint costs more than a list.
fn meant(name: &str) -> Option<&'static str> {
    Some(match name.to_lowercase().as_str() {
        "where" | "select" | "ifelse" | "iif" | "case" => "'if(condition, a, b)'",
        "power" => "'a^b' or 'pow(a, b)'",
        "square" => "'a^2'",
        "fabs" => "'abs'",
        "arctan2" => "'atan2'",
        "arcsin" => "'asin'",
        "arccos" => "'acos'",
        "arctan" => "'atan'",
        "product" => "'prod'",
        "maximum" | "fmax" => "'max(a, b)'",
        "minimum" | "fmin" => "'min(a, b)'",
        "avg" | "average" => "'mean'",
        "length" | "l2norm" | "magnitude" => "'norm'",
        "len" | "size" => "'dim', the number of components",
        "inner" | "matmul" => "'dot(u, v)' or 'sum(u * v)'",
        "rint" | "trunc" => "'round' or 'floor'",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_list_holds_what_the_parser_knows() {
        let listed: BTreeSet<&str> = ALL.iter().map(|f| f.name).collect();
        let known: BTreeSet<&str> = function_names().collect();
        assert_eq!(listed.len(), ALL.len(), "a function is listed twice");
        let unsaid: Vec<_> = known.difference(&listed).collect();
        let unknown: Vec<_> = listed.difference(&known).collect();
        assert!(
            unsaid.is_empty() && unknown.is_empty(),
            "not listed: {unsaid:?}; not known: {unknown:?}"
        );
    }
}
