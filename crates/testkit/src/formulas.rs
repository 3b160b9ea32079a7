//! Random well-typed formulas, as text.

use crate::inputs::Lcg;

/// The words of random formulas.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    unary: &'static [&'static str],
    powers: &'static [&'static str],
    folds: &'static [&'static str],
    /// Whether conditions and truth values occur, whose values jump.
    truths: bool,
}

/// All functions.
pub const ALL: Words = Words {
    unary: &[
        "abs", "sqrt", "exp", "log", "log1p", "sin", "cos", "tanh", "floor", "round", "sign", "-",
        "atan", "expm1",
    ],
    powers: &["3", "2", "0.5", "1.5", "4"],
    folds: &[
        "a + b",
        "max(a, b)",
        "hypot(a, b)",
        "a * b + a + b",
        "if(abs(a) < abs(b), b, a)",
    ],
    truths: true,
};

/// Functions with the same bits on every device.
pub const EXACT: Words = Words {
    unary: &["abs", "sqrt", "floor", "round", "sign", "-", "ceil"],
    powers: &["3", "2", "0.5", "4"],
    folds: &[
        "a + b",
        "max(a, b)",
        "a * 0.5 + b",
        "a * b + a + b",
        "if(abs(a) < abs(b), b, a)",
    ],
    truths: true,
};

/// Functions without a jump: an operand that is a little off makes a value that is a little off.
pub const SMOOTH: Words = Words {
    unary: &[
        "abs", "exp", "log", "log1p", "sin", "cos", "tanh", "-", "atan", "expm1",
    ],
    powers: &["3", "2", "1.5", "4"],
    folds: &["a + b", "max(a, b)", "a * 0.5 + b"],
    truths: false,
};

const BINARY: [&str; 8] = ["+", "-", "*", "/", "-", "*", "min", "max"];
const REDUCE: [&str; 6] = ["sum", "prod", "max", "min", "mean", "norm"];
const COMPARE: [&str; 6] = ["<", "<=", ">", ">=", "==", "!="];

/// A formula of all functions whose value is one number, nested at most `depth` deep, over rows of
/// `dim` components.
pub fn scalar(lcg: &mut Lcg, depth: usize, dim: usize) -> String {
    ALL.scalar(lcg, depth, dim)
}

/// A formula of all functions whose value is one number per component.
pub fn vector(lcg: &mut Lcg, depth: usize, dim: usize) -> String {
    ALL.vector(lcg, depth, dim)
}

impl Words {
    /// A formula whose value is one number, nested at most `depth` deep, over rows of `dim`
    /// components.
    pub fn scalar(&self, lcg: &mut Lcg, depth: usize, dim: usize) -> String {
        if depth == 0 {
            return match lcg.below(4) {
                0 => format!("x[{}]", lcg.below(dim)),
                1 => format!("y[{}]", lcg.below(dim)),
                2 => "sum(abs(x - y))".into(),
                _ => constant(lcg),
            };
        }
        match lcg.below(9) {
            3 if self.truths => format!(
                "{}({})",
                ["any", "all"][lcg.below(2)],
                self.truth(lcg, depth - 1, dim, true)
            ),
            4 if self.truths => format!("count({})", self.truth(lcg, depth - 1, dim, true)),
            6 if self.truths => {
                let condition = self.truth(lcg, depth - 1, dim, false);
                format!(
                    "if({condition}, {}, {})",
                    self.scalar(lcg, depth - 1, dim),
                    self.scalar(lcg, depth - 1, dim)
                )
            }
            0..=4 | 6 => format!(
                "{}({})",
                REDUCE[lcg.below(6)],
                self.vector(lcg, depth - 1, dim)
            ),
            5 => self.user_reduce(lcg, depth, dim),
            7 => self.unary(lcg, |lcg| self.scalar(lcg, depth - 1, dim)),
            _ => binary(lcg, |lcg| self.scalar(lcg, depth - 1, dim)),
        }
    }
    /// A formula whose value is one number per component.
    pub fn vector(&self, lcg: &mut Lcg, depth: usize, dim: usize) -> String {
        if depth == 0 {
            return [
                "x",
                "y",
                "(x - y)",
                "(x - y)",
                "abs(x - y)",
                "(y - x)^2",
                "x * y",
            ][lcg.below(7)]
            .into();
        }
        match lcg.below(8) {
            0 | 1 => self.unary(lcg, |lcg| self.vector(lcg, depth - 1, dim)),
            2 => format!(
                "({} * {})",
                self.scalar(lcg, depth - 1, dim),
                self.vector(lcg, depth - 1, dim)
            ),
            3 if self.truths => {
                let condition = self.truth(lcg, depth - 1, dim, true);
                format!(
                    "if({condition}, {}, {})",
                    self.vector(lcg, depth - 1, dim),
                    self.vector(lcg, depth - 1, dim)
                )
            }
            4 => format!(
                "(abs({})^{})",
                self.vector(lcg, depth - 1, dim),
                self.powers[lcg.below(self.powers.len())]
            ),
            _ => binary(lcg, |lcg| self.vector(lcg, depth - 1, dim)),
        }
    }
    /// A truth value, or one per component.
    pub fn truth(&self, lcg: &mut Lcg, depth: usize, dim: usize, by_component: bool) -> String {
        let number = |lcg: &mut Lcg| {
            if by_component {
                self.vector(lcg, depth, dim)
            } else {
                self.scalar(lcg, depth, dim)
            }
        };
        let (a, b) = (number(lcg), number(lcg));
        let plain = format!("({a} {} {b})", COMPARE[lcg.below(6)]);
        if lcg.below(4) == 0 && depth > 0 {
            let other = self.truth(lcg, depth - 1, dim, by_component);
            return format!(
                "({plain} {} {other})",
                ["and", "or", "xor", "and not"][lcg.below(4)]
            );
        }
        plain
    }
    fn user_reduce(&self, lcg: &mut Lcg, depth: usize, dim: usize) -> String {
        let op = self.folds[lcg.below(self.folds.len())];
        let init = match lcg.below(3) {
            0 => String::new(),
            1 => "0, ".into(),
            _ => format!("{}, ", self.scalar(lcg, depth - 1, dim)),
        };
        format!(
            "reduce(|a, b| {op}, {init}{})",
            self.vector(lcg, depth - 1, dim)
        )
    }
    fn unary(&self, lcg: &mut Lcg, mut inner: impl FnMut(&mut Lcg) -> String) -> String {
        match self.unary[lcg.below(self.unary.len())] {
            "-" => format!("(-{})", inner(lcg)),
            "sqrt" => format!("sqrt(abs({}))", inner(lcg)),
            "log" => format!("log(abs({}) + 0.5)", inner(lcg)),
            op => format!("{op}({})", inner(lcg)),
        }
    }
}

fn binary(lcg: &mut Lcg, mut inner: impl FnMut(&mut Lcg) -> String) -> String {
    let (a, b) = (inner(lcg), inner(lcg));
    match BINARY[lcg.below(8)] {
        op @ ("min" | "max") => format!("{op}({a}, {b})"),
        op => format!("({a} {op} {b})"),
    }
}

fn constant(lcg: &mut Lcg) -> String {
    ["1", "2", "0.5", "pi", "3.25", "dim", "0"][lcg.below(7)].into()
}
