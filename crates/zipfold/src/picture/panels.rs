//! Small panels side by side, for answers by pairs of kinds or units.

use super::page::{Drawn, SvgArea, axes, themed};
use super::radial::COLOURS;
use super::thinned::{MOST_MARKS, thinned_bars, thinned_line};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use zipfold_core::Result;

/// Rows and columns of panels in a picture, at most.
pub const MOST_PANELS: usize = 6;
/// Lines with a name in a panel.
const NAMED: usize = 8;

/// What a panel shows.
#[derive(Clone, Debug)]
pub enum Series {
    /// A bar for each bin.
    Bars(Vec<f64>),
    /// A line for each name, at the middles of bins.
    Lines(Vec<(String, Vec<f64>)>),
}

/// A small picture.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What is above it.
    pub title: String,
    /// What it shows.
    pub series: Series,
    /// A value to compare with; NaN for none.
    pub level: f64,
}

impl Panel {
    /// The ends of its axis: bars begin at 0, lines where their values do.
    fn ends(&self) -> (f64, f64) {
        let values = self.values();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match &self.series {
            _ if least > most => (0.0, 1.0),
            Series::Bars(_) => (1.08 * least.min(0.0), 1.08 * most.max(0.0)),
            Series::Lines(_) => {
                let more = 0.15 * (most - least);
                (least - more, most + more)
            }
        }
    }
    /// All of its values, with the one to compare with.
    fn values(&self) -> Vec<f64> {
        let mut all = match &self.series {
            Series::Bars(values) => values.clone(),
            Series::Lines(lines) => lines.iter().flat_map(|(_, v)| v.iter().copied()).collect(),
        };
        all.push(self.level);
        all.retain(|v| v.is_finite());
        all
    }
}

/// Panels in rows of `columns`, as the text of an SVG file for light and dark surroundings.
///
/// # Errors
/// `Internal` where they cannot be drawn.
pub fn panels_svg(title: &str, edges: &[f64], columns: usize, panels: &[Panel]) -> Result<String> {
    let columns = columns.max(1);
    let rows = panels.len().div_ceil(columns).max(1);
    let side = match columns {
        1 => (720, 420),
        2 => (420, 300),
        3 => (320, 240),
        _ => (260, 210),
    };
    let size = (side.0 * columns as u32, side.1 * rows as u32 + 30);
    themed(size, |root| {
        let root = root.titled(title, ("sans-serif", 16))?;
        let areas = root.split_evenly((rows, columns));
        let most = MOST_MARKS * 4 / panels.len().max(4);
        for (panel, area) in panels.iter().zip(&areas) {
            draw(area, edges, panel, most)?;
        }
        Ok(())
    })
}

/// Draws a panel with at most about `most` marks.
fn draw(area: &SvgArea<'_>, edges: &[f64], panel: &Panel, most: usize) -> Drawn {
    let ends = (edges[0], edges[edges.len() - 1]);
    let mut chart = axes(area, &panel.title, "", "", ends, panel.ends())?;
    match &panel.series {
        Series::Bars(heights) => {
            let bar = |(edge, height): (&[f64], &f64)| {
                let corners = [(edge[0], 0.0), (edge[1], *height)];
                Rectangle::new(corners, COLOURS[0].mix(0.7).filled())
            };
            let (edges, heights) = thinned_bars(edges, heights, most / 3);
            chart.draw_series(edges.windows(2).zip(&heights).map(bar))?;
        }
        Series::Lines(lines) => {
            for ((_, heights), colour) in lines.iter().zip(COLOURS.iter().cycle()) {
                let middles = edges.windows(2).map(|e| 0.5 * (e[0] + e[1]));
                let points = middles.zip(heights.iter().copied());
                let points = points.filter(|(_, v)| v.is_finite());
                let points = thinned_line(points, most);
                chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
            }
            names(area, lines)?;
        }
    }
    if panel.level.is_finite() {
        let line = [(ends.0, panel.level), (ends.1, panel.level)];
        chart.draw_series(LineSeries::new(line, COLOURS[1].stroke_width(1)))?;
    }
    Ok(())
}

/// The names of the first lines in their colours, at the upper right.
fn names(area: &SvgArea<'_>, lines: &[(String, Vec<f64>)]) -> Drawn {
    let (wide, _) = area.dim_in_pixel();
    let named = lines.iter().zip(COLOURS.iter().cycle()).take(NAMED);
    for (at, ((name, _), colour)) in named.enumerate() {
        let style = ("sans-serif", 11)
            .into_text_style(area)
            .color(colour)
            .pos(Pos::new(HPos::Right, VPos::Center));
        let place = (wide as i32 - 18, 44 + 13 * at as i32);
        area.draw(&Text::new(name.clone(), place, style))?;
    }
    Ok(())
}
