//! A page to draw on, as SVG, and axes with their names.

use plotters::prelude::*;
use zipfold_core::{Error, Result};

/// Whether something could be drawn.
pub(super) type Drawn = std::result::Result<(), Box<dyn std::error::Error>>;

/// A page, or a part of one.
pub(super) type SvgArea<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
/// Axes to draw on.
pub(super) type Chart<'a, 'b> = ChartContext<
    'a,
    SVGBackend<'b>,
    Cartesian2d<plotters::coord::types::RangedCoordf64, plotters::coord::types::RangedCoordf64>,
>;

/// Axes with a title, and the names and the ends of both.
///
/// # Errors
/// Those of the page.
pub(super) fn axes<'a, 'b>(
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

/// What `draw` puts on a white page of this many pixels, as the text of an SVG file.
///
/// # Errors
/// `Internal` where it cannot be drawn.
pub(super) fn drawn(size: (u32, u32), draw: impl FnOnce(&SvgArea<'_>) -> Drawn) -> Result<String> {
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

/// As [`drawn`], with colours for light and dark surroundings: viewers take those of their own theme.
///
/// # Errors
/// Those of [`drawn`].
pub(super) fn themed(size: (u32, u32), draw: impl FnOnce(&SvgArea<'_>) -> Drawn) -> Result<String> {
    let text = drawn(size, draw)?;
    let start = text.find("<rect").unwrap_or(text.len());
    let (head, body) = text.split_at(start);
    Ok(format!("{head}<style>{}</style>\n{body}", style()))
}

/// Colours of a light page, and those of dark surroundings for them.
pub(super) const DARK: [(&str, &str); 4] = [
    ("#FFFFFF", "#16181c"),
    ("#000000", "#e8e8e8"),
    ("#0072B2", "#4aa8e0"),
    ("#5A5A5A", "#b0b0b0"),
];

/// The style by which viewers with a dark theme show the colours of dark surroundings.
fn style() -> String {
    let rules = DARK.map(|(light, dark)| {
        format!("[fill=\"{light}\"] {{ fill: {dark} }} [stroke=\"{light}\"] {{ stroke: {dark} }} ")
    });
    format!(
        "@media (prefers-color-scheme: dark) {{ {}}}",
        rules.concat()
    )
}
