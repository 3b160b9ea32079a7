//! Curves of jobs about places and times, above bars of the pairs that they are made of.

use super::page::{Chart, Drawn, SvgArea, axes, themed};
use super::radial::COLOURS;
use super::thinned::{MOST_BARS, MOST_MARKS, thinned_bars, thinned_line};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use zipfold_core::Result;

const SIZE: (u32, u32) = (720, 480);
/// Pixels of the bars, at the bottom.
const BARS: u32 = 120;
/// The colour of bars and of what is expected without structure.
const QUIET: RGBColor = RGBColor(130, 130, 130);
/// Curves with a name in the picture.
const NAMED: usize = 12;

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurveStyle {
    /// A line.
    Line,
    /// A point for each value.
    Points,
    /// Points and the line through them.
    Joined,
}

/// A curve; places without a value are left out.
#[derive(Clone, Debug)]
pub struct DrawnCurve<'a> {
    /// Its name.
    pub name: String,
    /// Where its values are.
    pub places: &'a [f64],
    /// Its values.
    pub values: &'a [f64],
    /// How it is drawn.
    pub style: CurveStyle,
}

/// Bars below the curves.
#[derive(Clone, Copy, Debug)]
pub struct Bars<'a> {
    /// What they count.
    pub name: &'a str,
    /// Edges of the bars.
    pub edges: &'a [f64],
    /// Their heights.
    pub counts: &'a [f64],
}

/// What a picture of curves shows.
#[derive(Clone, Debug)]
pub struct Curves<'a> {
    /// The title.
    pub title: &'a str,
    /// The names of both axes.
    pub axes: [&'a str; 2],
    /// The ends of the horizontal axis.
    pub range: [f64; 2],
    /// The curves.
    pub curves: &'a [DrawnCurve<'a>],
    /// Places, and the least and the largest value that is usual there.
    pub band: Option<(&'a [f64], &'a [f64], &'a [f64])>,
    /// A value to compare with.
    pub level: Option<f64>,
    /// Bars below.
    pub bars: Option<Bars<'a>>,
}

/// Curves as the text of an SVG file, for light and dark surroundings.
///
/// # Errors
/// `Internal` where they cannot be drawn.
pub fn curves_svg(shown: &Curves<'_>) -> Result<String> {
    let ends = shown.ends();
    let range = (shown.range[0], shown.range[1]);
    themed(SIZE, |root| {
        let Some(bars) = &shown.bars else {
            return curves(root, shown, range, ends);
        };
        let (upper, lower) = root.split_vertically(SIZE.1 - BARS);
        curves(&upper, shown, range, ends)?;
        counts(&lower, bars, range)
    })
}

impl Curves<'_> {
    /// The least and the largest value, a little wider; 0 is in it where it is near.
    fn ends(&self) -> (f64, f64) {
        let band = self
            .band
            .iter()
            .flat_map(|(_, lo, hi)| lo.iter().chain(*hi));
        let all = self.curves.iter().flat_map(|curve| curve.values);
        let all = all.chain(band).chain(&self.level).copied();
        let (lo, hi) = all
            .filter(|v| v.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| {
                (lo.min(v), hi.max(v))
            });
        if lo > hi {
            return (0.0, 1.0);
        }
        let (lo, hi) = match lo >= 0.0 && lo < 0.5 * hi {
            true => (0.0, hi),
            false => (lo, hi),
        };
        let more = match hi > lo {
            true => 0.06 * (hi - lo),
            false => 0.5 * hi.abs().max(1.0),
        };
        (if lo == 0.0 { 0.0 } else { lo - more }, hi + more)
    }
}

/// Draws the curves.
fn curves(root: &SvgArea<'_>, shown: &Curves<'_>, xs: (f64, f64), ys: (f64, f64)) -> Drawn {
    let [x, y] = shown.axes;
    let mut chart = axes(root, shown.title, x, y, xs, ys)?;
    if let Some((places, lo, hi)) = shown.band {
        let forth = places.iter().copied().zip(hi.iter().copied());
        let back = places.iter().copied().zip(lo.iter().copied()).rev();
        let fine = |points: Vec<(f64, f64)>| points.into_iter().filter(|(_, v)| v.is_finite());
        let both = [
            thinned_line(forth, MOST_MARKS),
            thinned_line(back, MOST_MARKS),
        ];
        let corners: Vec<(f64, f64)> = both.into_iter().flat_map(fine).collect();
        chart.draw_series([Polygon::new(corners, QUIET.mix(0.25))])?;
    }
    if let Some(level) = shown.level {
        let line = [(xs.0, level), (xs.1, level)];
        chart.draw_series(LineSeries::new(line, QUIET.stroke_width(1)))?;
    }
    for (curve, colour) in shown.curves.iter().zip(COLOURS.iter().cycle()) {
        draw(&mut chart, curve, *colour)?;
    }
    names(root, shown.curves)
}

/// Draws a curve.
fn draw(chart: &mut Chart<'_, '_>, curve: &DrawnCurve<'_>, colour: RGBColor) -> Drawn {
    let points = curve
        .places
        .iter()
        .copied()
        .zip(curve.values.iter().copied());
    let points = points.filter(|(place, value)| place.is_finite() && value.is_finite());
    let points = thinned_line(points, MOST_MARKS);
    if curve.style != CurveStyle::Points {
        chart.draw_series(LineSeries::new(
            points.iter().copied(),
            colour.stroke_width(2),
        ))?;
    }
    if curve.style != CurveStyle::Line {
        chart.draw_series(points.iter().map(|p| Circle::new(*p, 3, colour.filled())))?;
    }
    Ok(())
}

/// Draws the bars.
fn counts(root: &SvgArea<'_>, bars: &Bars<'_>, xs: (f64, f64)) -> Drawn {
    let top = bars.counts.iter().copied().fold(0.0, f64::max).max(1.0) * 1.1;
    let mut chart = ChartBuilder::on(root)
        .margin_left(12)
        .margin_right(12)
        .margin_bottom(8)
        .x_label_area_size(0)
        .y_label_area_size(70)
        .build_cartesian_2d(xs.0..xs.1, 0.0..top)?;
    let short = |v: &f64| match *v >= 1e4 {
        true => format!("{v:.0e}"),
        false => format!("{v}"),
    };
    chart
        .configure_mesh()
        .y_desc(bars.name)
        .y_labels(3)
        .y_label_formatter(&short)
        .disable_x_mesh()
        .light_line_style(WHITE)
        .draw()?;
    let (edges, heights) = thinned_bars(bars.edges, bars.counts, MOST_BARS);
    let sides = edges.windows(2).zip(&heights);
    let bar = |(edges, count): (&[f64], &f64)| {
        Rectangle::new(
            [(edges[0], 0.0), (edges[1], *count)],
            QUIET.mix(0.6).filled(),
        )
    };
    chart.draw_series(sides.map(bar))?;
    Ok(())
}

/// The names of the curves in their colours, at the lower right of the axes.
fn names(root: &SvgArea<'_>, curves: &[DrawnCurve<'_>]) -> Drawn {
    let named = curves.iter().zip(COLOURS.iter().cycle()).take(NAMED);
    let mut lines: Vec<(String, RGBColor)> = named
        .map(|(curve, colour)| (curve.name.clone(), *colour))
        .collect();
    if curves.len() > NAMED {
        lines.push((format!("and {} more", curves.len() - NAMED), BLACK));
    }
    let (wide, high) = root.dim_in_pixel();
    let first = high as i32 - 62 - 17 * (lines.len() as i32 - 1);
    for (at, (text, colour)) in lines.into_iter().enumerate() {
        let style = ("sans-serif", 13)
            .into_text_style(root)
            .color(&colour)
            .pos(Pos::new(HPos::Right, VPos::Center));
        let place = (wide as i32 - 24, first + 17 * at as i32);
        root.draw(&Text::new(text, place, style))?;
    }
    Ok(())
}
