//! Pictures of sum-products, as SVG: what the joins of a plan visit, and marginals as bars.

use super::page::{Drawn, SvgArea, axes, themed};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use zipfold_core::Result;
use zipfold_core::factor::Network;

/// log2 of the configurations that the joins of a plan visit, in the order of execution.
///
/// # Errors
/// `Internal` where it cannot be drawn.
pub fn profile_svg(visited: &[f64]) -> Result<String> {
    let top = visited.iter().copied().fold(1.0, f64::max);
    let words = format!("joins in the order of execution ({})", visited.len());
    themed((880, 370), |root| {
        let ends = (0.0, visited.len().max(2) as f64 - 1.0);
        let mut chart = axes(
            root,
            "the plan",
            &words,
            "log2 of visited configurations",
            ends,
            (0.0, top),
        )?;
        let points = visited.iter().enumerate().map(|(i, v)| (i as f64, *v));
        chart.draw_series(LineSeries::new(points, &BLUE))?;
        Ok(())
    })
}

/// Variables drawn in a picture of marginals.
const DRAWN: usize = 60;
/// Pixels from the top of one bar to that of the next.
const STEP: i32 = 18;
/// Where bars begin, how long they are, and the width of the picture.
const LEFT: i32 = 200;
const LENGTH: f64 = 500.0;
const WIDTH: u32 = 1120;
/// Width of a letter, roughly, and letters of a name and of the probabilities next to a bar.
const LETTER: f64 = 7.5;
const NAME: usize = 24;
const BESIDE: usize = 60;

/// One bar a variable, split by its states' probabilities, which stand next to it (the first sixty
/// variables).
///
/// # Errors
/// `Internal` where it cannot be drawn.
pub fn marginals_svg(network: &Network, rows: &[Vec<f64>]) -> Result<String> {
    let shown = rows.len().min(DRAWN);
    themed((WIDTH, 40 + STEP as u32 * shown as u32), |root| {
        for (v, row) in rows.iter().take(DRAWN).enumerate() {
            bar(root, 10 + STEP * v as i32, network, v, row)?;
        }
        if shown < rows.len() {
            let note = format!("the first {shown} of {} variables", rows.len());
            words(root, &note, (LEFT, 24 + STEP * shown as i32), HPos::Left)?;
        }
        Ok(())
    })
}

/// The name of variable `v`, its bar from `top` on, and its probabilities.
fn bar(root: &SvgArea<'_>, top: i32, network: &Network, v: usize, row: &[f64]) -> Drawn {
    let middle = top + 7;
    words(
        root,
        &cut(network.name(v), NAME),
        (LEFT - 10, middle),
        HPos::Right,
    )?;
    let (mut at, mut beside) = (f64::from(LEFT), vec![]);
    for (s, p) in row.iter().enumerate() {
        let (width, state) = (LENGTH * p, network.state(v, s));
        let corners = [
            (at.round() as i32, top),
            ((at + width).round() as i32, top + 14),
        ];
        root.draw(&Rectangle::new(
            corners,
            colour(s as f64 / row.len() as f64).filled(),
        ))?;
        if state.chars().count() as f64 * LETTER + 6.0 < width {
            words(root, &state, (at.round() as i32 + 3, middle), HPos::Left)?;
        }
        beside.push(format!("{state}: {p:.6}"));
        at += width;
    }
    words(
        root,
        &cut(beside.join(", "), BESIDE),
        (LEFT + LENGTH as i32 + 10, middle),
        HPos::Left,
    )
}

/// Text at the height of its middle.
fn words(root: &SvgArea<'_>, text: &str, at: (i32, i32), side: HPos) -> Drawn {
    let style = ("sans-serif", 13.6)
        .into_text_style(root)
        .pos(Pos::new(side, VPos::Center));
    Ok(root.draw(&Text::new(text, at, style))?)
}

/// The first letters.
fn cut(text: String, letters: usize) -> String {
    match text.char_indices().nth(letters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A light colour for this part of the circle of hues.
fn colour(part: f64) -> RGBColor {
    let channel = |shift: f64| {
        let distance = ((part + shift).fract() * 6.0 - 3.0).abs() - 1.0;
        (255.0 * (0.62 + 0.3 * distance.clamp(0.0, 1.0))) as u8
    };
    RGBColor(channel(0.0), channel(2.0 / 3.0), channel(1.0 / 3.0))
}
