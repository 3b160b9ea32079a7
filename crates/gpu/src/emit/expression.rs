//! Operations of formulas as C expressions.

use zipfold_core::Precision;
use zipfold_core::number::Power;
use zipfold_core::pair::tree::{Binary, Unary};

/// A number, to the bit (in single precision: rounded).
pub fn literal(value: f64, precision: Precision) -> String {
    let suffix = letter(precision);
    if value.is_nan() {
        return format!("ZF_NAN_{}", suffix.to_uppercase());
    }
    let single = precision == Precision::F32;
    let infinite = if single {
        (value as f32).is_infinite()
    } else {
        value.is_infinite()
    };
    if infinite {
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("({sign}ZF_INF_{})", suffix.to_uppercase());
    }
    if single {
        format!("({:e}f)", value as f32)
    } else {
        format!("({value:e})")
    }
}

/// `f` or `d`, the suffix of the dialect's functions.
pub fn letter(precision: Precision) -> &'static str {
    match precision {
        Precision::F32 => "f",
        Precision::F64 => "d",
    }
}

/// A function of one operand.
pub fn unary(op: Unary, a: &str, p: Precision) -> String {
    let zero = literal(0.0, p);
    let name = match op {
        Unary::Neg => return format!("(-{a})"),
        Unary::Not => return truth(&format!("{a} == {zero}"), p),
        Unary::IsNan => return truth(&format!("{a} != {a}"), p),
        Unary::Abs => "abs",
        Unary::Sqrt => "sqrt",
        Unary::Exp => "exp",
        Unary::Log => "log",
        Unary::Log2 => "log2",
        Unary::Log10 => "log10",
        Unary::Log1p => "log1p",
        Unary::Expm1 => "expm1",
        Unary::Sin => "sin",
        Unary::Cos => "cos",
        Unary::Tan => "tan",
        Unary::Asin => "asin",
        Unary::Acos => "acos",
        Unary::Atan => "atan",
        Unary::Sinh => "sinh",
        Unary::Cosh => "cosh",
        Unary::Tanh => "tanh",
        Unary::Erf => "erf",
        Unary::Erfc => "erfc",
        Unary::Lgamma => "lgamma",
        Unary::Popcount => "popcount",
        Unary::Floor => "floor",
        Unary::Ceil => "ceil",
        Unary::Round => "round",
        Unary::Sign => "sign",
    };
    format!("zf_{name}_{}({a})", letter(p))
}

/// A function of two operands.
pub fn binary(op: Binary, a: &str, b: &str, p: Precision) -> String {
    match op {
        Binary::Add => format!("({a} + {b})"),
        Binary::Sub => format!("({a} - {b})"),
        Binary::Mul => format!("({a} * {b})"),
        Binary::Div => format!("({a} / {b})"),
        Binary::Pow => format!("zf_pow_{}({a}, {b})", letter(p)),
        Binary::Min => format!("zf_min_{}({a}, {b})", letter(p)),
        Binary::Max => format!("zf_max_{}({a}, {b})", letter(p)),
        Binary::Atan2 => format!("zf_atan2_{}({a}, {b})", letter(p)),
        Binary::BitAnd => format!("zf_bitand_{}({a}, {b})", letter(p)),
        Binary::And
        | Binary::Or
        | Binary::Xor
        | Binary::Lt
        | Binary::Le
        | Binary::Eq
        | Binary::Ne => truth(&condition(op, a, b, p), p),
    }
}

/// The condition of a function whose value is a truth value.
fn condition(op: Binary, a: &str, b: &str, p: Precision) -> String {
    let zero = literal(0.0, p);
    match op {
        Binary::And => format!("{a} != {zero} && {b} != {zero}"),
        Binary::Or => format!("{a} != {zero} || {b} != {zero}"),
        Binary::Xor => format!("({a} != {zero}) != ({b} != {zero})"),
        Binary::Lt => format!("{a} < {b}"),
        Binary::Le => format!("{a} <= {b}"),
        Binary::Eq => format!("{a} == {b}"),
        _ => format!("{a} != {b}"),
    }
}

/// x^p for a constant p, as the reference computes it where that is products and a root.
pub fn power(x: &str, exponent: f64, p: Precision) -> String {
    let suffix = letter(p);
    match Power::for_exponent(exponent) {
        Power::Whole(n) => format!("zf_pow_{suffix}i({x}, {n})"),
        Power::Halves(n) => format!("zf_pow_{suffix}h({x}, {n})"),
        Power::Real(_) | Power::Rare(_) => {
            format!("zf_powr_{suffix}({x}, {})", literal(exponent, p))
        }
    }
}

/// x^(−n/2) in single precision, by the reciprocal root of the special function unit, for x that is
/// not −0.
///
/// The unit takes subnormal numbers as 0, whose root alone is a number of single precision: its
/// powers are infinite either way.
pub fn reciprocal_root(x: &str, n: i32) -> String {
    match n {
        1 => format!("zf_rsqrt_f({x})"),
        _ => format!("zf_pow_fi(zf_rsqrt_fast({x}), {n})"),
    }
}

/// `if(c, a, b)`.
pub fn select(c: &str, a: &str, b: &str, p: Precision) -> String {
    format!("({c} != {} ? {a} : {b})", literal(0.0, p))
}

fn truth(condition: &str, p: Precision) -> String {
    format!("({condition} ? {} : {})", literal(1.0, p), literal(0.0, p))
}
