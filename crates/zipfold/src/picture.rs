//! Pictures of results, as SVG and PNG: histograms as steps, matrices as heat maps, rows as lines, joins as
//! points.

mod correlation;
mod curves;
mod degrees;
mod file;
mod letters;
mod network;
mod page;
mod panels;
mod radial;
mod raster;
mod thinned;

pub use correlation::{ErrorCurve, correlation_svg, covariance_svg};
pub use curves::{Bars, CurveStyle, Curves, DrawnCurve, curves_svg};
pub use degrees::degrees_svg;
pub use file::{drawn_to, write_picture};
pub use network::{marginals_svg, profile_svg};
pub use panels::{MOST_PANELS, Panel, Series, panels_svg};
pub use radial::{radial_svg, scattering_svg};

use crate::outcome::Outcome;
use page::{Drawn, SvgArea, axes, themed};
use plotters::prelude::*;
use thinned::{MOST_BARS, MOST_MARKS, thinned_bars, thinned_line};
use zipfold_core::fold::{Columns, Fold, Numbers, Role};
use zipfold_core::{Error, Job, Result, Side};

const SIZE: (u32, u32) = (720, 480);

/// A picture's data: curves, points or a grid.
enum Picture {
    Steps {
        title: String,
        x: String,
        y: String,
        lo: Vec<f64>,
        hi: Vec<f64>,
        heights: Vec<f64>,
    },
    Line {
        title: String,
        x: String,
        y: String,
        points: Vec<(f64, f64)>,
    },
    Points {
        title: String,
        points: Vec<(f64, f64)>,
    },
    Grid {
        title: String,
        side: (usize, usize),
        of: (usize, usize),
        values: Vec<f64>,
    },
}

/// The first fold's picture as the text of an SVG file.
///
/// # Errors
/// `Request` where the result has no picture.
pub fn svg(job: &Job, outcome: &Outcome) -> Result<String> {
    let picture = picture(job, outcome)?;
    themed(SIZE, |root| render(&picture, root))
}

fn none() -> Error {
    Error::request("this result has no picture")
}

fn picture(job: &Job, outcome: &Outcome) -> Result<Picture> {
    let (n, m) = (job.space.n, job.space.m);
    let fold = &job.folds[0];
    let answer = outcome.columns(job, 0)?.ok_or_else(none)?;
    let values = || Ok::<Vec<f64>, Error>(all(&column(&answer, Role::Value)?));
    if job.param.is_some() || job.second_stage().is_some() {
        let stage = job.second_stage().map(|stage| format!(", {stage}"));
        let title = fold.describe() + &stage.unwrap_or_default();
        return apart(&answer, title);
    }
    match fold {
        Fold::Histogram(_) => bins(&answer, format!("{} pairs", outcome.tally.counted)),
        Fold::Dense(f) if f.condensed => Ok(sorted("values of all pairs, ascending", values()?)),
        Fold::Dense(_) => {
            let values = column(&answer, Role::Value)?;
            let side = (n.min(SIDE), m.min(SIDE));
            Ok(grid(format!("{n} × {m}"), side, (n, m), &|at| {
                values.get(at)
            }))
        }
        Fold::Reduce(_) | Fold::Quantile(_) => rows(&answer, fold.describe()),
        Fold::Nearest(f) => {
            let title = format!("distance of neighbour {}, ascending", f.k);
            let last = values()?
                .chunks(f.k)
                .filter_map(|row| row.last().copied())
                .collect();
            Ok(sorted(&title, last))
        }
        Fold::Join(f) => matches(&answer, f.is_inner()),
        Fold::Top(_) => Ok(sorted("values of the best pairs, ascending", values()?)),
        Fold::Grouped(grouped) if fold.shows_nan() => {
            let title = match grouped.parts.listed {
                Some(_) => "values of the listed pairs, ascending",
                None => "values of all batches, ascending",
            };
            Ok(sorted(title, values()?))
        }
        Fold::Grouped(_) => by_groups(&answer, fold.describe()),
        Fold::Extremes(_) | Fold::Listed(_) => Err(none()),
    }
}

/// Results by values of a parameter or by groups: a line of one axis, a map of more.
fn apart(answer: &Columns<'_>, title: String) -> Result<Picture> {
    let lines = answer.shape.first().copied().unwrap_or(0);
    if answer.lines() > lines {
        return by_groups(answer, title);
    }
    let values = column(answer, Role::Value).or_else(|_| column(answer, Role::Count))?;
    let places = answer.with_role(Role::Parameter);
    let x = places.map_or_else(|| "result".into(), |column| column.header.to_string());
    let places = places.map(|column| answer.all(column));
    let place = |at: usize| places.as_ref().map_or(at as f64, |places| places.get(at));
    let points = (0..values.len()).map(|at| (place(at), values.get(at)));
    Ok(Picture::Line {
        title,
        x,
        y: "value".into(),
        points: thinned_line(points, MOST_MARKS),
    })
}

/// A map of the counts of pairs of groups by bins, or of results by row and group.
fn by_groups(answer: &Columns<'_>, title: String) -> Result<Picture> {
    let role = answer
        .with_role(Role::Count)
        .map_or(Role::Value, |c| c.role);
    let values = all(&column(answer, role)?);
    if answer.groups.is_none() && answer.param.is_none() && answer.edges.len() == 1 {
        return bins(answer, title);
    }
    let rows = answer.shape.first().copied().unwrap_or(0).max(1);
    let all = (rows, values.len() / rows);
    // Few groups may have many bins.
    let height = rows.min(SIDE);
    let side = match values.len() <= SIDE * SIDE {
        true => all,
        false => (height, all.1.min(SIDE * SIDE / height)),
    };
    Ok(grid(title, side, all, &|at| values[at]))
}

/// The numbers of the first column of a role.
fn column<'a>(answer: &'a Columns<'_>, role: Role) -> Result<Numbers<'a>> {
    let found = answer.with_role(role).map(|column| answer.all(column));
    found.ok_or_else(none)
}

fn all(numbers: &Numbers<'_>) -> Vec<f64> {
    (0..numbers.len()).map(|at| numbers.get(at)).collect()
}

/// Bars of a histogram of one axis, a map of one of more.
fn bins(answer: &Columns<'_>, title: String) -> Result<Picture> {
    let heights = all(&column(answer, Role::Count)?);
    if let [edges] = answer.edges.as_slice() {
        let (edges, heights) = thinned_bars(edges, &heights, MOST_BARS);
        return Ok(Picture::Steps {
            title,
            x: "value".into(),
            y: "pairs".into(),
            lo: edges[..edges.len() - 1].to_vec(),
            hi: edges[1..].to_vec(),
            heights,
        });
    }
    let side = (answer.shape[0], answer.shape[1..].iter().product());
    Ok(Picture::Grid {
        title,
        side,
        of: side,
        values: heights,
    })
}

/// The first result of each row.
fn rows(answer: &Columns<'_>, title: String) -> Result<Picture> {
    let first = answer.columns.first().ok_or_else(none)?;
    let width = answer.shape[1..].iter().product::<usize>().max(1);
    let values = all(&answer.all(first));
    let points = values.iter().step_by(width).enumerate();
    Ok(Picture::Line {
        title,
        x: "row".into(),
        y: "result".into(),
        points: thinned_line(points.map(|(i, v)| (i as f64, *v)), MOST_MARKS),
    })
}

/// Points of at most 5 000 matches.
fn matches(answer: &Columns<'_>, inner: bool) -> Result<Picture> {
    let i = column(answer, Role::Row(Side::X))?;
    let j = match inner {
        true => column(answer, Role::Row(Side::Y))?,
        false => Vec::<u64>::new().into(),
    };
    let lines = (0..j.len()).step_by(answer.lines().div_ceil(5000).max(1));
    Ok(Picture::Points {
        title: format!("{} matches", j.len()),
        points: lines.map(|line| (i.get(line), j.get(line))).collect(),
    })
}

fn sorted(title: &str, mut values: Vec<f64>) -> Picture {
    values.retain(|v| v.is_finite());
    values.sort_unstable_by(f64::total_cmp);
    let step = values.len().div_ceil(2000).max(1);
    let points = values
        .iter()
        .enumerate()
        .step_by(step)
        .map(|(i, v)| (i as f64, *v))
        .collect();
    Picture::Line {
        title: title.into(),
        x: "rank".into(),
        y: "value".into(),
        points,
    }
}

/// Cells of a side of a map: a page holds the square of it.
const SIDE: usize = 120;

/// A map of `side` cells of a grid of `n` × `m` values.
fn grid(
    title: String,
    side: (usize, usize),
    (n, m): (usize, usize),
    get: &dyn Fn(usize) -> f64,
) -> Picture {
    let pick = |a: usize, len: usize, of: usize| a * of / len.max(1);
    let values = (0..side.0 * side.1)
        .map(|at| get(pick(at / side.1, side.0, n) * m + pick(at % side.1, side.1, m)));
    Picture::Grid {
        title,
        side,
        of: (n, m),
        values: values.collect(),
    }
}

fn render(picture: &Picture, root: &SvgArea<'_>) -> Drawn {
    match picture {
        Picture::Steps {
            title,
            x,
            y,
            lo,
            hi,
            heights,
        } => {
            let top = heights.iter().fold(0.0f64, |a, b| a.max(*b));
            let mut chart = axes(root, title, x, y, (lo[0], hi[hi.len() - 1]), (0.0, top))?;
            let bars = lo.iter().zip(hi).zip(heights);
            chart.draw_series(bars.map(|((l, h), y)| {
                Rectangle::new([(*l, 0.0), (*h, *y)], BLUE.mix(0.6).filled())
            }))?;
        }
        Picture::Line {
            title,
            x,
            y,
            points,
        } => {
            let mut chart = axes(
                root,
                title,
                x,
                y,
                span(points.iter().map(|p| p.0)),
                span(points.iter().map(|p| p.1)),
            )?;
            chart.draw_series(LineSeries::new(points.iter().copied(), &BLUE))?;
        }
        Picture::Points { title, points } => {
            let mut chart = axes(
                root,
                title,
                "row i",
                "row j",
                span(points.iter().map(|p| p.0)),
                span(points.iter().map(|p| p.1)),
            )?;
            chart.draw_series(points.iter().map(|p| Circle::new(*p, 1, BLUE.filled())))?;
        }
        Picture::Grid {
            title,
            side,
            of,
            values,
        } => {
            map(root, title, (*side, *of), values)?;
        }
    }
    Ok(())
}

/// A map of values: rows down, columns across.
fn map(
    root: &SvgArea<'_>,
    title: &str,
    (side, of): ((usize, usize), (usize, usize)),
    values: &[f64],
) -> Drawn {
    let (lo, hi) = span(values.iter().copied());
    let (width, height) = (of.1 as f64, of.0 as f64);
    let mut chart = axes(root, title, "column", "row", (0.0, width), (0.0, height))?;
    let (dy, dx) = (height / side.0.max(1) as f64, width / side.1.max(1) as f64);
    chart.draw_series(values.iter().enumerate().map(|(at, v)| {
        let (r, c) = ((at / side.1) as f64, (at % side.1) as f64);
        let shade = ((v - lo) / (hi - lo)).clamp(0.0, 1.0);
        Rectangle::new(
            [(c * dx, r * dy), ((c + 1.0) * dx, (r + 1.0) * dy)],
            ramp(shade).filled(),
        )
    }))?;
    Ok(())
}

/// Dark blue to yellow.
fn ramp(t: f64) -> RGBColor {
    let mix = |a: f64, b: f64| (a + (b - a) * t) as u8;
    RGBColor(mix(30.0, 250.0), mix(30.0, 220.0), mix(110.0, 60.0))
}

fn span(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (lo, hi) = values
        .filter(|v| v.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| {
            (a.min(v), b.max(v))
        });
    if lo < hi {
        (lo, hi)
    } else if lo.is_finite() {
        (lo - 0.5, lo + 0.5)
    } else {
        (0.0, 1.0)
    }
}
