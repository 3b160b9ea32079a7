//! Random well-typed formulas, as text.

use crate::inputs::Lcg;

const UNARY: [&str; 14] =
    ["abs", "sqrt", "exp", "log", "log1p", "sin", "cos", "tanh", "floor", "round", "sign", "-", "atan", "expm1"];
const BINARY: [&str; 8] = ["+", "-", "*", "/", "-", "*", "min", "max"];
const REDUCE: [&str; 6] = ["sum", "prod", "max", "min", "mean", "norm"];
const COMPARE: [&str; 6] = ["<", "<=", ">", ">=", "==", "!="];

/// A formula whose value is one number, nested at most `depth` deep, over rows of `dim` components.
pub fn scalar(lcg: &mut Lcg, depth: usize, dim: usize) -> String {
    if depth == 0 {
        return match lcg.below(4) {
            0 => format!("x[{}]", lcg.below(dim)),
            1 => format!("y[{}]", lcg.below(dim)),
            2 => "sum(abs(x - y))".into(),
            _ => constant(lcg),
        };
    }
    match lcg.below(9) {
        0..=2 => format!("{}({})", REDUCE[lcg.below(6)], vector(lcg, depth - 1, dim)),
        3 => format!("{}({})", ["any", "all"][lcg.below(2)], truth(lcg, depth - 1, dim, true)),
        4 => format!("count({})", truth(lcg, depth - 1, dim, true)),
        5 => user_reduce(lcg, depth, dim),
        6 => {
            let condition = truth(lcg, depth - 1, dim, false);
            format!("if({condition}, {}, {})", scalar(lcg, depth - 1, dim), scalar(lcg, depth - 1, dim))
        }
        7 => unary(lcg, |lcg| scalar(lcg, depth - 1, dim)),
        _ => binary(lcg, |lcg| scalar(lcg, depth - 1, dim)),
    }
}

/// A formula whose value is one number per component.
pub fn vector(lcg: &mut Lcg, depth: usize, dim: usize) -> String {
    if depth == 0 {
        return ["x", "y", "(x - y)", "(x - y)", "abs(x - y)", "(y - x)^2", "x * y"][lcg.below(7)].into();
    }
    match lcg.below(8) {
        0 | 1 => unary(lcg, |lcg| vector(lcg, depth - 1, dim)),
        2 => format!("({} * {})", scalar(lcg, depth - 1, dim), vector(lcg, depth - 1, dim)),
        3 => {
            let condition = truth(lcg, depth - 1, dim, true);
            format!("if({condition}, {}, {})", vector(lcg, depth - 1, dim), vector(lcg, depth - 1, dim))
        }
        4 => format!("(abs({})^{})", vector(lcg, depth - 1, dim), ["3", "2", "0.5", "1.5", "4"][lcg.below(5)]),
        _ => binary(lcg, |lcg| vector(lcg, depth - 1, dim)),
    }
}

fn truth(lcg: &mut Lcg, depth: usize, dim: usize, by_component: bool) -> String {
    let number = |lcg: &mut Lcg| if by_component { vector(lcg, depth, dim) } else { scalar(lcg, depth, dim) };
    let (a, b) = (number(lcg), number(lcg));
    let plain = format!("({a} {} {b})", COMPARE[lcg.below(6)]);
    if lcg.below(4) == 0 && depth > 0 {
        let other = truth(lcg, depth - 1, dim, by_component);
        return format!("({plain} {} {other})", ["and", "or", "xor", "and not"][lcg.below(4)]);
    }
    plain
}

fn user_reduce(lcg: &mut Lcg, depth: usize, dim: usize) -> String {
    let op = ["a + b", "max(a, b)", "hypot(a, b)", "a * b + a + b", "if(abs(a) < abs(b), b, a)"][lcg.below(5)];
    let init = match lcg.below(3) {
        0 => String::new(),
        1 => "0, ".into(),
        _ => format!("{}, ", scalar(lcg, depth - 1, dim)),
    };
    format!("reduce(|a, b| {op}, {init}{})", vector(lcg, depth - 1, dim))
}

fn unary(lcg: &mut Lcg, mut inner: impl FnMut(&mut Lcg) -> String) -> String {
    match UNARY[lcg.below(14)] {
        "-" => format!("(-{})", inner(lcg)),
        "sqrt" => format!("sqrt(abs({}))", inner(lcg)),
        "log" => format!("log(abs({}) + 0.5)", inner(lcg)),
        op => format!("{op}({})", inner(lcg)),
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
