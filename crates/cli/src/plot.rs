//! Pictures of results, as SVG: histograms as steps, matrices as heat maps, rows as lines, joins as
//! points.

use crate::text_file::write_text;
use plotters::prelude::*;
use zipfold::columns::Side;
use zipfold::internals::Job;
use zipfold::internals::core::fold::{Fold, Numbers, Role};
use zipfold::io::OutputOptions;
use zipfold::{Error, Outcome, Result};

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

/// Draws the first fold's result to `path`.
///
/// # Errors
/// Those of the output.
pub(crate) fn draw(path: &str, job: &Job, outcome: &Outcome, options: OutputOptions) -> Result<()> {
    write_text(path, &svg(job, outcome)?, options)
}

/// The first fold's picture as the text of an SVG file.
///
/// # Errors
/// `Request` where the result has no picture.
pub(crate) fn svg(job: &Job, outcome: &Outcome) -> Result<String> {
    let picture = picture(job, outcome)?;
    drawn(SIZE, |root| render(&picture, root))
}

/// What `draw` puts on a white page of so many pixels, as the text of an SVG file.
///
/// # Errors
/// `Internal` where it cannot be drawn.
pub(crate) fn drawn(size: (u32, u32), draw: impl FnOnce(&SvgArea<'_>) -> Drawn) -> Result<String> {
    let mut text = String::new();
    let page = |text| -> Drawn {
        let root = SVGBackend::with_string(text, size).into_drawing_area();
        root.fill(&WHITE)?;
        draw(&root)?;
        Ok(root.present()?)
    };
    page(&mut text).map_err(|e| Error::internal(format!("the picture cannot be drawn: {e}")))?;
    Ok(text)
}

fn picture(job: &Job, outcome: &Outcome) -> Result<Picture> {
    let (n, m) = (job.space.n, job.space.m);
    let none = || Error::request("this result has no picture").at("--plot");
    let fold = &job.folds[0];
    let answer = outcome.outputs[0].columns(fold, n, m)?.ok_or_else(none)?;
    let column = |role: Role| {
        answer
            .of(role)
            .map(|column| answer.all(column))
            .ok_or_else(none)
    };
    let all = |numbers: &Numbers<'_>| {
        (0..numbers.len())
            .map(|at| numbers.get(at))
            .collect::<Vec<f64>>()
    };
    match (fold, answer.edges.as_slice()) {
        (Fold::Histogram(_), edges) => {
            let counts = column(Role::Count)?;
            let title = format!("{} pairs", outcome.tally.counted);
            let heights = all(&counts);
            if let [edges] = edges {
                let (lo, hi) = (edges[..edges.len() - 1].to_vec(), edges[1..].to_vec());
                return Ok(Picture::Steps {
                    title,
                    x: "value".into(),
                    y: "pairs".into(),
                    lo,
                    hi,
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
        (Fold::Dense(f), _) => {
            let values = column(Role::Value)?;
            match f.condensed {
                true => Ok(sorted("values of all pairs, ascending", all(&values))),
                false => Ok(grid(n, m, &|at| values.get(at))),
            }
        }
        (Fold::Rows(_) | Fold::Quantile(_), _) => {
            let values = all(&answer
                .columns
                .first()
                .map(|column| answer.all(column))
                .ok_or_else(none)?);
            let width = answer.shape[1..].iter().product::<usize>().max(1);
            let points = values
                .iter()
                .step_by(width)
                .enumerate()
                .map(|(i, v)| (i as f64, *v))
                .collect();
            Ok(Picture::Line {
                title: fold.describe(),
                x: "row".into(),
                y: "result".into(),
                points,
            })
        }
        (Fold::Nearest(f), _) => {
            let last = all(&column(Role::Value)?)
                .chunks(f.k)
                .filter_map(|row| row.last().copied())
                .collect();
            Ok(sorted(
                &format!("distance of neighbour {}, ascending", f.k),
                last,
            ))
        }
        (Fold::Select(f), _) => {
            let (i, matches) = (column(Role::Row(Side::X))?, answer.lines());
            let j = if f.is_inner() {
                column(Role::Row(Side::Y))?
            } else {
                Vec::<u64>::new().into()
            };
            let lines = (0..j.len()).step_by(matches.div_ceil(5000).max(1));
            let points = lines.map(|line| (i.get(line), j.get(line))).collect();
            Ok(Picture::Points {
                title: format!("{} matches", j.len()),
                points,
            })
        }
        (Fold::Top(_), _) => Ok(sorted(
            "values of the best pairs, ascending",
            all(&column(Role::Value)?),
        )),
        (Fold::Extremes(_), _) => Err(none()),
    }
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

/// A matrix, thinned to at most 160 × 160.
fn grid(n: usize, m: usize, get: &dyn Fn(usize) -> f64) -> Picture {
    let side = (n.min(160), m.min(160));
    let pick = |a: usize, len: usize, of: usize| a * of / len.max(1);
    let values = (0..side.0 * side.1)
        .map(|at| get(pick(at / side.1, side.0, n) * m + pick(at % side.1, side.1, m)));
    Picture::Grid {
        title: format!("{n} × {m}"),
        side,
        of: (n, m),
        values: values.collect(),
    }
}

/// Whether something could be drawn.
pub(crate) type Drawn = std::result::Result<(), Box<dyn std::error::Error>>;

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
            let (lo, hi) = span(values.iter().copied());
            let mut chart = axes(
                root,
                title,
                "column",
                "row",
                (0.0, of.1 as f64),
                (0.0, of.0 as f64),
            )?;
            let (dy, dx) = (
                of.0 as f64 / side.0.max(1) as f64,
                of.1 as f64 / side.1.max(1) as f64,
            );
            chart.draw_series(values.iter().enumerate().map(|(at, v)| {
                let (r, c) = ((at / side.1) as f64, (at % side.1) as f64);
                let shade = ((v - lo) / (hi - lo)).clamp(0.0, 1.0);
                Rectangle::new(
                    [(c * dx, r * dy), ((c + 1.0) * dx, (r + 1.0) * dy)],
                    ramp(shade).filled(),
                )
            }))?;
        }
    }
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

/// A page, or a part of one.
pub(crate) type SvgArea<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
/// Axes to draw on.
pub(crate) type Chart<'a, 'b> = ChartContext<
    'a,
    SVGBackend<'b>,
    Cartesian2d<plotters::coord::types::RangedCoordf64, plotters::coord::types::RangedCoordf64>,
>;

/// Axes with a title, and the names and the ends of both.
///
/// # Errors
/// Those of the page.
pub(crate) fn axes<'a, 'b>(
    root: &'a SvgArea<'b>,
    title: &str,
    x: &str,
    y: &str,
    xs: (f64, f64),
    ys: (f64, f64),
) -> std::result::Result<Chart<'a, 'b>, Box<dyn std::error::Error>> {
    let top = if ys.1 > ys.0 { ys.1 } else { ys.0 + 1.0 };
    let mut chart = ChartBuilder::on(root)
        .margin(12)
        .caption(title, ("sans-serif", 18))
        .x_label_area_size(40)
        .y_label_area_size(70)
        .build_cartesian_2d(xs.0..xs.1, ys.0..top)?;
    let short = |v: &f64| {
        if v.abs() >= 1e5 || (*v != 0.0 && v.abs() < 1e-3) {
            format!("{v:.1e}")
        } else {
            format!("{}", (v * 1e3).round() / 1e3)
        }
    };
    chart
        .configure_mesh()
        .x_desc(x)
        .y_desc(y)
        .x_label_formatter(&short)
        .y_label_formatter(&short)
        .light_line_style(WHITE)
        .draw()?;
    Ok(chart)
}
