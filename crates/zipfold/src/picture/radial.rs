//! Pictures of radial distribution functions: g to the left axis, n to the right one.

use super::page::{Drawn, SvgArea, axes, themed};
use super::thinned::{MOST_MARKS, thinned_line};
use plotters::chart::DualCoordChartContext;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use zipfold_core::Result;

const SIZE: (u32, u32) = (720, 480);
/// The colours of curves, in turn: told apart by readers who do not tell red from green.
pub(super) const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(90, 90, 90),
    RGBColor(0, 0, 0),
];
/// The colour of the running coordination number.
const RUNNING: RGBColor = RGBColor(130, 130, 130);
/// Curves with a name in the picture.
const NAMED: usize = 12;

/// Curves of g at `r` and of n at `reached`, each with its name; n is drawn for one curve.
///
/// # Errors
/// `Internal` where it cannot be drawn.
pub fn radial_svg(
    r: &[f64],
    reached: &[f64],
    curves: &[(String, &[f64], &[f64])],
    unit: &str,
    frames: u64,
) -> Result<String> {
    let one = curves.len() == 1;
    let last = reached.iter().chain(r).copied().fold(0.0, f64::max);
    let g_top = top(curves.iter().flat_map(|curve| curve.1));
    let n_top = top(curves.iter().flat_map(|curve| curve.2));
    themed(SIZE, |root| {
        let body = root.margin(12, 12, 12, 12);
        let mut chart = ChartBuilder::on(&body)
            .caption(
                format!("radial distribution, {}", counted(frames)),
                ("sans-serif", 18),
            )
            .x_label_area_size(44)
            .y_label_area_size(64)
            .right_y_label_area_size(if one { 64 } else { 8 })
            .build_cartesian_2d(0.0..last, 0.0..g_top)?
            .set_secondary_coord(0.0..last, 0.0..n_top);
        label(&mut chart, unit, one)?;
        let ideal = [(0.0, 1.0), (last, 1.0)];
        chart.draw_series(LineSeries::new(ideal, BLACK.mix(0.25)))?;
        for (_, _, n) in curves.iter().filter(|_| one) {
            let points = reached.iter().copied().zip(n.iter().copied());
            let points = thinned_line(points, MOST_MARKS);
            chart.draw_secondary_series(LineSeries::new(points, RUNNING.stroke_width(1)))?;
        }
        for ((_, g, _), colour) in curves.iter().zip(COLOURS.iter().cycle()) {
            let points = r.iter().copied().zip(g.iter().copied());
            let points = thinned_line(points.filter(|(_, g)| g.is_finite()), MOST_MARKS);
            chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
        }
        names(root, curves, one)
    })
}

/// "1 frame", "20 frames"
fn counted(frames: u64) -> String {
    format!("{frames} frame{}", if frames == 1 { "" } else { "s" })
}

/// The upper end of an axis for these values.
fn top<'v>(values: impl Iterator<Item = &'v f64>) -> f64 {
    let top = values
        .filter(|v| v.is_finite())
        .fold(0.0f64, |a, b| a.max(*b));
    if top > 0.0 { 1.08 * top } else { 1.0 }
}

/// Axes of g to the left and of n to the right.
type Axes<'a, 'b> = DualCoordChartContext<'a, SVGBackend<'b>, Plane, Plane>;
type Plane = Cartesian2d<RangedCoordf64, RangedCoordf64>;

/// The names and the numbers of the axes; the right one is that of one curve.
fn label(chart: &mut Axes<'_, '_>, unit: &str, one: bool) -> Drawn {
    let short = |v: &f64| format!("{}", (v * 1e3).round() / 1e3);
    chart
        .configure_mesh()
        .x_desc(format!("r / {unit}"))
        .y_desc("g(r)")
        .x_label_formatter(&short)
        .y_label_formatter(&short)
        .light_line_style(WHITE)
        .draw()?;
    if one {
        let mut right = chart.configure_secondary_axes();
        right.y_desc("n(r)").y_label_formatter(&short).draw()?;
    }
    Ok(())
}

/// The names of the curves in their colours, at the upper right.
fn names(root: &SvgArea<'_>, curves: &[(String, &[f64], &[f64])], one: bool) -> Drawn {
    let mut lines: Vec<(String, RGBColor)> = curves
        .iter()
        .zip(COLOURS.iter().cycle())
        .take(NAMED)
        .map(|((name, _, _), colour)| {
            (
                if one {
                    format!("g(r): {name}")
                } else {
                    name.clone()
                },
                *colour,
            )
        })
        .collect();
    if one {
        lines.push(("n(r)".into(), RUNNING));
    }
    if curves.len() > NAMED {
        lines.push((format!("and {} more", curves.len() - NAMED), BLACK));
    }
    let right = SIZE.0 as i32 - if one { 90 } else { 34 };
    for (at, (text, colour)) in lines.into_iter().enumerate() {
        let style = ("sans-serif", 13)
            .into_text_style(root)
            .color(&colour)
            .pos(Pos::new(HPos::Right, VPos::Center));
        root.draw(&Text::new(text, (right, 58 + 17 * at as i32), style))?;
    }
    Ok(())
}

/// Curves of S(k), each with its name.
///
/// # Errors
/// `Internal` where it cannot be drawn.
pub fn scattering_svg(
    k: &[f64],
    curves: &[(String, &[f64])],
    unit: &str,
    frames: u64,
) -> Result<String> {
    let first = k.first().copied().unwrap_or(0.0);
    let last = k
        .last()
        .copied()
        .unwrap_or(1.0)
        .max(first + f64::MIN_POSITIVE);
    let values = || curves.iter().flat_map(|curve| curve.1);
    let low = values()
        .filter(|v| v.is_finite())
        .fold(0.0f64, |a, b| a.min(*b));
    themed(SIZE, |root| {
        let title = format!("structure factor, {}", counted(frames));
        let x = format!("k / (1/{unit})");
        let mut chart = axes(
            root,
            &title,
            &x,
            "S(k)",
            (first, last),
            (low, top(values())),
        )?;
        let named: Vec<(String, &[f64], &[f64])> = curves
            .iter()
            .map(|(name, s)| (name.clone(), *s, *s))
            .collect();
        for ((_, s), colour) in curves.iter().zip(COLOURS.iter().cycle()) {
            let points = k.iter().copied().zip(s.iter().copied());
            let points = thinned_line(points, MOST_MARKS);
            chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
        }
        names(root, &named, false)
    })
}
