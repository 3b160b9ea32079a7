//! Pictures of correlation functions: curves with error bars, and maps of their covariance.

use super::page::{Chart, Drawn, SvgArea, axes, themed};
use super::radial::COLOURS;
use super::thinned::{MOST_MARKS, thinned_line};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use zipfold_core::Result;

const SIZE: (u32, u32) = (720, 480);
const SQUARE: (u32, u32) = (560, 560);

/// A curve: its name, its values, their errors.
pub type ErrorCurve<'a> = (&'a str, &'a [f64], Option<&'a [f64]>);

/// Curves at `places`, times the power of the place that goes with the name of the axis, with error
/// bars.
///
/// # Errors
/// `Internal` where it cannot be drawn.
pub fn correlation_svg(
    (axis, power): (&str, i32),
    places: &[f64],
    curves: &[ErrorCurve<'_>],
) -> Result<String> {
    let scale: Vec<f64> = places.iter().map(|r| r.powi(power)).collect();
    let ends = ends(curves, &scale);
    let first = places.first().copied().unwrap_or(0.0).min(0.0);
    let last = places.last().copied().unwrap_or(1.0) * 1.03;
    let name = match (power, curves) {
        (0, [(name, ..)]) => (*name).to_string(),
        (0, _) => "correlation".to_string(),
        (1, _) => format!("{axis} · correlation"),
        _ => format!("{axis}² · correlation"),
    };
    themed(SIZE, |root| {
        let title = "correlation of pairs";
        let mut chart = axes(root, title, axis, &name, (first, last), ends)?;
        chart.draw_series(LineSeries::new(
            [(first, 0.0), (last, 0.0)],
            BLACK.mix(0.25),
        ))?;
        for (curve, colour) in curves.iter().zip(COLOURS.iter().cycle()) {
            draw(&mut chart, (places, &scale), curve, *colour)?;
        }
        names(root, curves)
    })
}

/// Draws a curve times the scale of each place, with its error bars.
fn draw(
    chart: &mut Chart<'_, '_>,
    (places, scale): (&[f64], &[f64]),
    (_, values, errors): &ErrorCurve<'_>,
    colour: RGBColor,
) -> Drawn {
    let points = places.iter().zip(scale).zip(*values);
    let points: Vec<(f64, f64)> = points.map(|((r, s), v)| (*r, s * v)).collect();
    let fine = points.iter().copied().filter(|(_, v)| v.is_finite());
    let fine = thinned_line(fine, MOST_MARKS);
    let fine = fine.iter().copied();
    chart.draw_series(LineSeries::new(fine.clone(), colour.stroke_width(2)))?;
    chart.draw_series(fine.map(|point| Circle::new(point, 2, colour.filled())))?;
    let errors = errors.unwrap_or_default();
    let halves: Vec<f64> = errors.iter().zip(scale).map(|(e, s)| e * s).collect();
    bars(chart, &points, &halves, colour)
}

/// Draws error bars: half of each up and down.
fn bars(
    chart: &mut Chart<'_, '_>,
    points: &[(f64, f64)],
    halves: &[f64],
    colour: RGBColor,
) -> Drawn {
    for ((r, v), half) in points.iter().zip(halves) {
        if v.is_finite() && half.is_finite() {
            let bar = vec![(*r, v - half), (*r, v + half)];
            chart.draw_series([PathElement::new(bar, colour.stroke_width(1))])?;
        }
    }
    Ok(())
}

/// The least and the largest value with its error, a little wider.
fn ends(curves: &[ErrorCurve<'_>], scale: &[f64]) -> (f64, f64) {
    let mut ends = (0.0f64, 0.0f64);
    for (_, values, errors) in curves {
        for (at, (value, scale)) in values.iter().zip(scale).enumerate() {
            let error = errors.map_or(0.0, |errors| errors[at]);
            for v in [value - error, value + error, *value] {
                let v = v * scale;
                if v.is_finite() {
                    ends = (ends.0.min(v), ends.1.max(v));
                }
            }
        }
    }
    let more = 0.05 * (ends.1 - ends.0).max(f64::MIN_POSITIVE);
    (ends.0 - more, ends.1 + more)
}

/// The names of the curves in their colours, at the upper right.
fn names(root: &SvgArea<'_>, curves: &[ErrorCurve<'_>]) -> Drawn {
    let lines = curves.iter().zip(COLOURS.iter().cycle()).enumerate();
    for (at, ((name, ..), colour)) in lines.take(12) {
        let style = ("sans-serif", 13)
            .into_text_style(root)
            .color(colour)
            .pos(Pos::new(HPos::Right, VPos::Center));
        let place = (SIZE.0 as i32 - 34, 58 + 17 * at as i32);
        root.draw(&Text::new((*name).to_string(), place, style))?;
    }
    Ok(())
}

/// A covariance of `side` numbers as a map of correlations: blue −1, white 0, red 1.
///
/// # Errors
/// `Internal` where it cannot be drawn.
pub fn covariance_svg(covariance: &[f64], side: usize) -> Result<String> {
    let diagonal: Vec<f64> = (0..side)
        .map(|at| covariance[at * side + at].sqrt())
        .collect();
    // A map of more cells than pixels would show no more.
    let step = side.div_ceil(120).max(1);
    themed(SQUARE, |root| {
        let title = "correlation of errors: blue −1, white 0, red 1";
        let end = side as f64;
        let mut chart = axes(root, title, "number", "number", (0.0, end), (0.0, end))?;
        for i in (0..side).step_by(step) {
            let row = (0..side).step_by(step).map(|j| {
                let value = covariance[i * side + j] / (diagonal[i] * diagonal[j]);
                let ends = [(j, i), ((j + step).min(side), (i + step).min(side))];
                let ends = ends.map(|(x, y)| (x as f64, y as f64));
                Rectangle::new(ends, colour(value).filled())
            });
            chart.draw_series(row)?;
        }
        Ok(())
    })
}

/// From blue over white to red; grey where a number is missing.
fn colour(value: f64) -> RGBColor {
    if !value.is_finite() {
        return RGBColor(200, 200, 200);
    }
    let part = value.clamp(-1.0, 1.0);
    let fade = |full: f64| (255.0 - (255.0 - full) * part.abs()) as u8;
    match part < 0.0 {
        true => RGBColor(fade(33.0), fade(102.0), fade(172.0)),
        false => RGBColor(fade(178.0), fade(24.0), fade(43.0)),
    }
}
