//! Contractions of two tables by the form of their digits, timed as JSON lines: `shapes "k16 r16
//! c16 r393216" ...`, or `shapes -` with one form a line on standard input (the `digits` of the
//! example `joins` of crate zipfold).
//!
//! Digits stand from the slowest, in the one order that all three tables share: `b` in both inputs
//! and kept, `r` in the first and kept, `c` in the second and kept, `k` in both and summed. `moved`
//! are the bytes of the three tables, once; operations are two for each visited configuration.

use std::time::Instant;
use zipfold_core::{Budget, Error, Result};
use zipfold_product::cpu::buffer_pool::{Held, Room};
use zipfold_product::cpu::contract::contract;
use zipfold_product::cpu::scaled::Scaled;
use zipfold_product::cpu::shape::Shape;
use zipfold_product::cpu::{Contracted, Fold};

fn main() -> Result<()> {
    let mut forms: Vec<String> = std::env::args().skip(1).collect();
    if forms == ["-"] {
        forms = std::io::stdin()
            .lines()
            .map_while(std::result::Result::ok)
            .collect();
    }
    for form in forms {
        let digits: Vec<(char, usize)> =
            form.split_whitespace().map(digit).collect::<Result<_>>()?;
        let single = measure::<f32>(&digits)?;
        let double = measure::<f64>(&digits)?;
        let moved: usize = sizes(&digits).iter().sum::<usize>() * 8;
        let flop = 2.0 * digits.iter().map(|d| d.1 as f64).product::<f64>();
        println!(
            "{}",
            serde_json::json!({"digits": form, "flop": flop, "moved": moved, "seconds": double, "seconds f32": single})
        );
    }
    Ok(())
}

fn digit(word: &str) -> Result<(char, usize)> {
    let bad = || {
        Error::request(format!("'{word}' is no digit"))
            .remedy("b, r, c or k and a number of values: k16")
    };
    let kind = word
        .chars()
        .next()
        .filter(|k| "brck".contains(*k))
        .ok_or_else(bad)?;
    Ok((kind, word[1..].parse().map_err(|_| bad())?))
}

/// Scopes of the inputs and of the result.
fn scopes(digits: &[(char, usize)]) -> [Vec<usize>; 3] {
    ["brk", "bck", "brc"].map(|kinds| {
        (0..digits.len())
            .filter(|v| kinds.contains(digits[*v].0))
            .collect()
    })
}

fn sizes(digits: &[(char, usize)]) -> [usize; 3] {
    scopes(digits).map(|scope| scope.iter().map(|v| digits[*v].1).product())
}

/// Least seconds of the calls within half a second.
fn measure<T: Contracted>(digits: &[(char, usize)]) -> Result<f64> {
    let [first, second, out] = scopes(digits);
    let cards: Vec<usize> = digits.iter().map(|d| d.1).collect();
    let rank: Vec<u32> = (0..digits.len() as u32).collect();
    let shape = Shape::new(&[&first, &second], &out, &rank, &cards);
    let budget = Budget::unlimited();
    let room = Room::new(&budget);
    let [a, b, _] = sizes(digits);
    let table = |len| {
        let items = Held::make(len, &room, "a table", |at: usize| {
            T::from_f64(0.1 + (at.wrapping_mul(0x9e37_79b9) >> 7 & 0xffff) as f64 / 65536.0)
        })?;
        Ok::<_, Error>(Scaled::linear(items, 0))
    };
    let (a, b) = (table(a)?, table(b)?);
    let (mut least, begin, mut turns) = (f64::INFINITY, Instant::now(), 0);
    while begin.elapsed().as_secs_f64() < 0.5 || turns < 3 {
        let start = Instant::now();
        drop(contract(&shape, &[&a, &b], Fold::Sum, &room)?);
        least = least.min(start.elapsed().as_secs_f64());
        turns += 1;
    }
    Ok(least)
}
