//! Pictures as PNG: the SVG text of a picture, with two pixels for each of it along each axis.
//!
//! ```text
//! for each element of the text, in its order
//!     rect, circle, polygon    cover the pixels inside of its path
//!     line, polyline           cover the pixels along its path
//!     text                     cover the outlines of its letters, from its anchor on
//! ```
//!
//! Pictures are made of these elements alone. `zeno` says how much of each pixel a path covers. Letters
//! are those of one font, which is part of the program: a machine that computes may have none, and a
//! picture is the same everywhere.

use super::letters::{Letters, Parsed};
use super::page::DARK;
use flate2::{Compression, Crc, write::ZlibEncoder};
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use std::io::Write;
use zeno::{Angle, Command, Join, Mask, PathBuilder, Stroke, Style, Transform};
use zipfold_core::{Error, Result};

/// Pixels of the PNG for one of the picture, along each axis.
const SCALE: f32 = 2.0;
/// What is farther than this from the corner of the page, in pixels of the picture, is drawn there.
const FAR: f32 = 4_000.0;

/// The colours that a picture is drawn in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Theme {
    /// On white.
    Light,
    /// For dark surroundings.
    Dark,
}

/// The PNG of the picture in `svg`.
///
/// # Errors
/// `Internal` where the text has something that no picture has.
pub(super) fn png(svg: &str, theme: Theme) -> Result<Vec<u8>> {
    let file = drawn(svg, theme).and_then(|pixels| pixels.png());
    file.map_err(|e| Error::internal(format!("the picture cannot be drawn: {e}")))
}

fn drawn(svg: &str, theme: Theme) -> Parsed<Pixels> {
    let mut reader = Reader::from_str(svg);
    let mut page = None;
    let mut open = None;
    loop {
        match reader.read_event()? {
            Event::Start(start) => {
                let element = Element::read(&start)?;
                match element.name.as_str() {
                    "svg" => page = Some(Canvas::new(&element, theme)?),
                    "style" | "text" => open = Some((element, String::new())),
                    other => return Err(format!("an element <{other}> with a content").into()),
                }
            }
            Event::Empty(start) => {
                let page = page.as_mut().ok_or("an element before <svg>")?;
                page.draw(&Element::read(&start)?)?;
            }
            Event::Text(text) => {
                if let Some((_, content)) = &mut open {
                    content.push_str(&text.decode()?);
                }
            }
            Event::GeneralRef(name) => {
                if let Some((_, content)) = &mut open {
                    let named = name.decode()?;
                    match (name.resolve_char_ref()?, resolve_predefined_entity(&named)) {
                        (Some(letter), _) => content.push(letter),
                        (None, Some(letter)) => content.push_str(letter),
                        (None, None) => return Err(format!("the reference &{named};").into()),
                    }
                }
            }
            Event::End(_) => {
                if let Some((element, content)) = open.take()
                    && element.name == "text"
                {
                    let page = page.as_mut().ok_or("a text before <svg>")?;
                    page.write(&element, content.trim())?;
                }
            }
            Event::Eof => break,
            _ => {}
        }
    }
    Ok(page.ok_or("no element <svg>")?.pixels)
}

/// An element of the text, with its attributes.
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
}

impl Element {
    fn read(start: &BytesStart<'_>) -> Parsed<Self> {
        let mut attributes = vec![];
        for attribute in start.attributes() {
            let attribute = attribute?;
            let key = String::from_utf8(attribute.key.as_ref().to_vec())?;
            let value = String::from_utf8(attribute.value.to_vec())?;
            attributes.push((key, value));
        }
        let name = String::from_utf8(start.name().as_ref().to_vec())?;
        Ok(Element { name, attributes })
    }
    fn find(&self, key: &str) -> Option<&str> {
        let mut attributes = self.attributes.iter();
        attributes.find_map(|(k, value)| (k == key).then_some(value.as_str()))
    }
    fn get(&self, key: &str) -> Parsed<&str> {
        let name = &self.name;
        let none = || format!("an element <{name}> without '{key}'");
        Ok(self.find(key).ok_or_else(none)?)
    }
    fn number(&self, key: &str) -> Parsed<f32> {
        let number: f32 = self.get(key)?.parse()?;
        Ok(number.clamp(-FAR, FAR))
    }
    /// The point whose coordinates these attributes are.
    fn point(&self, x: &str, y: &str) -> Parsed<[f32; 2]> {
        Ok([self.number(x)?, self.number(y)?])
    }
    /// The corners of a line, a polygon or a polyline.
    fn corners(&self) -> Parsed<Vec<[f32; 2]>> {
        if self.name == "line" {
            return Ok(vec![self.point("x1", "y1")?, self.point("x2", "y2")?]);
        }
        let point = |pair: &str| -> Parsed<[f32; 2]> {
            let (x, y) = pair.split_once(',').ok_or("a point without ','")?;
            let near = |text: &str| text.parse::<f32>().map(|number| number.clamp(-FAR, FAR));
            Ok([near(x)?, near(y)?])
        };
        self.get("points")?.split_whitespace().map(point).collect()
    }
    /// What is drawn.
    fn path(&self) -> Parsed<Vec<Command>> {
        let mut path = vec![];
        match self.name.as_str() {
            "circle" => {
                path.add_circle(self.point("cx", "cy")?, self.number("r")?);
            }
            "rect" => {
                let [wide, high] = self.point("width", "height")?;
                path.add_rect(self.point("x", "y")?, wide, high);
            }
            "line" | "polyline" | "polygon" => {
                let corners = self.corners()?;
                let mut rest = corners.iter();
                rest.next().iter().for_each(|first| {
                    path.move_to(**first);
                });
                rest.for_each(|corner| {
                    path.line_to(*corner);
                });
                if self.name == "polygon" {
                    path.close();
                }
            }
            other => return Err(format!("an element <{other}>").into()),
        }
        Ok(path)
    }
}

/// A page of colours: red, green and blue of each pixel, row by row.
struct Pixels {
    size: [usize; 2],
    colours: Vec<[u8; 3]>,
}

impl Pixels {
    fn new(size: [usize; 2]) -> Self {
        Pixels {
            size,
            colours: vec![[255; 3]; size[0] * size[1]],
        }
    }
    /// Covers what is inside of `path`, or along it, with `paint`.
    fn cover(&mut self, path: &[Command], style: Style<'_>, place: Transform, paint: &Paint) {
        let bounds = zeno::bounds(path, style, Some(place));
        // What is beyond the page has no mask.
        let within = |least: f32, most: f32, side: usize| {
            let first = least.floor().clamp(0.0, side as f32) as usize;
            first..most.ceil().clamp(0.0, side as f32) as usize
        };
        let columns = within(bounds.min.x, bounds.max.x, self.size[0]);
        let rows = within(bounds.min.y, bounds.max.y, self.size[1]);
        if columns.is_empty() || rows.is_empty() {
            return;
        }
        let mut mask = Mask::new(path);
        mask.style(style)
            .transform(Some(place))
            .offset([-(columns.start as f32), -(rows.start as f32)])
            .size(columns.len() as u32, rows.len() as u32);
        let (covered, _) = mask.render();
        for (y, line) in rows.zip(covered.chunks_exact(columns.len())) {
            let pixels = &mut self.colours[y * self.size[0]..][columns.clone()];
            for (pixel, part) in pixels.iter_mut().zip(line) {
                let part = f32::from(*part) / 255.0 * paint.opacity;
                for (old, new) in pixel.iter_mut().zip(paint.colour) {
                    let mixed = f32::from(*old) + (f32::from(new) - f32::from(*old)) * part;
                    *old = mixed.round() as u8;
                }
            }
        }
    }
    /// The page as a PNG file: its head, its pixels, its end (ISO/IEC 15948).
    fn png(&self) -> Parsed<Vec<u8>> {
        let mut packed = ZlibEncoder::new(vec![], Compression::default());
        for row in self.colours.chunks(self.size[0]) {
            // Rows are as they are, without a filter.
            packed.write_all(&[0])?;
            packed.write_all(row.as_flattened())?;
        }
        let [wide, high] = self.size.map(|side| (side as u32).to_be_bytes());
        // Bits of a colour, red with green and blue, and the only ways to pack, to filter, to order.
        let head = [&wide[..], &high, &[8, 2, 0, 0, 0]].concat();
        let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
        for (kind, bytes) in [
            (b"IHDR", head),
            (b"IDAT", packed.finish()?),
            (b"IEND", vec![]),
        ] {
            let mut sum = Crc::new();
            sum.update(kind);
            sum.update(&bytes);
            file.extend((bytes.len() as u32).to_be_bytes());
            file.extend(kind);
            file.extend(bytes);
            file.extend(sum.sum().to_be_bytes());
        }
        Ok(file)
    }
}

/// A colour, and how much of it is seen, from 0 to 1.
struct Paint {
    colour: [u8; 3],
    opacity: f32,
}

/// What has been drawn so far.
struct Canvas {
    pixels: Pixels,
    theme: Theme,
}

impl Canvas {
    fn new(svg: &Element, theme: Theme) -> Parsed<Self> {
        let [wide, high] = svg
            .point("width", "height")?
            .map(|side| (side * SCALE) as usize);
        if wide * high == 0 {
            return Err("a page without pixels".into());
        }
        let pixels = Pixels::new([wide, high]);
        Ok(Canvas { pixels, theme })
    }
    /// The paint of the colour `key`; none where the element has no such colour.
    fn paint(&self, element: &Element, key: &str) -> Parsed<Option<Paint>> {
        let Some(named) = element.find(key).filter(|named| *named != "none") else {
            return Ok(None);
        };
        let dark = DARK.iter().find(|(light, _)| *light == named);
        let shown = match (self.theme, dark) {
            (Theme::Dark, Some((_, dark))) => dark,
            _ => named,
        };
        let digits = shown.strip_prefix('#').ok_or("a colour without '#'")?;
        let [_, red, green, blue] = u32::from_str_radix(digits, 16)?.to_be_bytes();
        Ok(Some(Paint {
            colour: [red, green, blue],
            opacity: element.number("opacity")?,
        }))
    }
    /// Draws an element without content.
    fn draw(&mut self, element: &Element) -> Parsed<()> {
        let path = element.path()?;
        let place = Transform::scale(SCALE, SCALE);
        if let Some(paint) = self.paint(element, "fill")? {
            let style = Style::default();
            self.pixels.cover(&path, style, place, &paint);
        }
        if let Some(paint) = self.paint(element, "stroke")? {
            let width = element.find("stroke-width").map_or(Ok(1.0), str::parse)?;
            let mut stroke = Stroke::new(width);
            stroke.join(Join::Round).cap(zeno::Cap::Butt);
            self.pixels.cover(&path, stroke.into(), place, &paint);
        }
        Ok(())
    }
    /// Writes a text at its place.
    fn write(&mut self, element: &Element, text: &str) -> Parsed<()> {
        let Some(paint) = self.paint(element, "fill")? else {
            return Ok(());
        };
        let letters = Letters::get();
        let (path, width) = letters.line(text);
        let size = element.number("font-size")?;
        let em = size / letters.em;
        let before = match element.get("text-anchor")? {
            "middle" => 0.5,
            "end" => 1.0,
            _ => 0.0,
        };
        let down = match element.get("dy")? {
            dy if dy.ends_with("em") => dy.trim_end_matches("em").parse::<f32>()? * size,
            dy => dy.trim_end_matches("ex").parse::<f32>()? * letters.ex * em,
        };
        let turned = match element.find("transform") {
            None => 0.0,
            // Clockwise, which the rasteriser counts as below 0.
            Some(turn) => {
                let angle = turn.strip_prefix("rotate(").and_then(|t| t.split_once(','));
                angle.ok_or("a transform that turns nothing")?.0.parse()?
            }
        };
        let [x, y] = element.point("x", "y")?;
        let place = Transform::translation(-before * width, 0.0)
            .then_scale(em, -em)
            .then_translate(0.0, down)
            .then_rotate(Angle::from_degrees(-turned))
            .then_translate(x, y)
            .then_scale(SCALE, SCALE);
        self.pixels.cover(&path, Style::default(), place, &paint);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::ZlibDecoder;
    use std::io::Read;

    const HEAD: &str = "<svg width=\"40\" height=\"20\" viewBox=\"0 0 40 20\" xmlns=\"s\">\n\
        <rect x=\"0\" y=\"0\" width=\"40\" height=\"20\" opacity=\"1\" fill=\"#FFFFFF\" stroke=\"none\"/>\n";

    /// A page with `body` on white.
    fn pixels(body: &str, theme: Theme) -> Pixels {
        drawn(&format!("{HEAD}{body}</svg>"), theme).unwrap()
    }
    /// The colour at a place of the picture.
    fn at(page: &Pixels, x: f32, y: f32) -> [u8; 3] {
        page.colours[(y * SCALE) as usize * page.size[0] + (x * SCALE) as usize]
    }
    /// Dark pixels in the left half of the picture and in the right one.
    fn ink(page: &Pixels) -> [usize; 2] {
        let half = page.size[0] / 2;
        let dark = |line: &[[u8; 3]]| line.iter().filter(|pixel| pixel[0] < 128).count();
        let mut ink = [0; 2];
        for row in page.colours.chunks(page.size[0]) {
            ink[0] += dark(&row[..half]);
            ink[1] += dark(&row[half..]);
        }
        ink
    }

    #[test]
    fn each_element_is_where_it_says() {
        let body = "<rect x=\"2\" y=\"2\" width=\"6\" height=\"4\" opacity=\"1\" fill=\"#FF0000\" stroke=\"none\"/>\
            <circle cx=\"20\" cy=\"10\" r=\"4\" opacity=\"1\" fill=\"#00FF00\" stroke=\"none\" stroke-width=\"1\"/>\
            <polygon opacity=\"1\" fill=\"#0000FF\" points=\"30,2 38,2 38,10 30,10 \"/>\
            <polyline fill=\"none\" opacity=\"1\" stroke=\"#112233\" stroke-width=\"2\" points=\"2,15 10,15 18,15 \"/>\
            <line opacity=\"0.5\" stroke=\"#000000\" stroke-width=\"2\" x1=\"24\" y1=\"18\" x2=\"36\" y2=\"18\"/>\
            <rect x=\"9\" y=\"2\" width=\"0\" height=\"4\" opacity=\"1\" fill=\"#FF0000\" stroke=\"none\"/>";
        let page = pixels(body, Theme::Light);
        assert_eq!(page.size, [80, 40]);
        assert_eq!(at(&page, 4.0, 4.0), [255, 0, 0]);
        assert_eq!(at(&page, 9.0, 4.0), [255; 3]);
        assert_eq!(at(&page, 20.0, 10.0), [0, 255, 0]);
        assert_eq!(at(&page, 20.0, 15.0), [255; 3]);
        assert_eq!(at(&page, 34.0, 6.0), [0, 0, 255]);
        assert_eq!(at(&page, 10.0, 15.0), [0x11, 0x22, 0x33]);
        assert!((127..=128).contains(&at(&page, 30.0, 18.0)[0]));
    }

    #[test]
    fn what_is_beyond_the_page_is_left_out() {
        let wide = "<polyline fill=\"none\" opacity=\"1\" stroke=\"#000000\" stroke-width=\"2\" \
            points=\"-2147483648,10 2147483647,10 \"/>";
        let page = pixels(wide, Theme::Light);
        assert_eq!(at(&page, 1.0, 10.0), [0; 3]);
        assert_eq!(at(&page, 39.0, 10.0), [0; 3]);
        let steep = "<polyline fill=\"none\" opacity=\"1\" stroke=\"#000000\" stroke-width=\"2\" \
            points=\"0,10 2147483647,-2147483648 20000,2147483647 -2147483648,-20000 \"/>";
        assert_eq!(pixels(steep, Theme::Light).size, [80, 40]);
        let outside = "<circle cx=\"-90000\" cy=\"10\" r=\"4\" opacity=\"1\" fill=\"#000000\" stroke=\"none\"/>";
        assert_eq!(ink(&pixels(outside, Theme::Light)), [0, 0]);
    }

    #[test]
    fn dark_surroundings_have_the_colours_of_the_style() {
        let body = "<style>[fill=\"#FFFFFF\"] { fill: #16181c }</style>\
            <rect x=\"2\" y=\"2\" width=\"6\" height=\"4\" opacity=\"1\" fill=\"#0072B2\" stroke=\"none\"/>";
        let page = pixels(body, Theme::Dark);
        assert_eq!(at(&page, 30.0, 10.0), [0x16, 0x18, 0x1c]);
        assert_eq!(at(&page, 4.0, 4.0), [0x4a, 0xa8, 0xe0]);
        assert_eq!(at(&pixels(body, Theme::Light), 4.0, 4.0), [0, 0x72, 0xb2]);
    }

    #[test]
    fn a_text_is_at_its_anchor() {
        let text = |anchor: &str, words: &str| {
            let body = format!(
                "<text x=\"20\" y=\"10\" dy=\"0.5ex\" text-anchor=\"{anchor}\" font-family=\"sans-serif\" \
                 font-size=\"8\" opacity=\"1\" fill=\"#000000\">\n{words}\n</text>"
            );
            ink(&pixels(&body, Theme::Light))
        };
        let [left, right] = text("start", "HH");
        assert!(left == 0 && right > 20, "{left} {right}");
        let [left, right] = text("end", "HH");
        assert!(left > 20 && right == 0, "{left} {right}");
        let [left, right] = text("middle", "HH");
        assert!(left > 10 && left.abs_diff(right) <= 8, "{left} {right}");
        // Turned, it goes up from its place, and what was below it is to the right.
        let body = "<text x=\"20\" y=\"18\" dy=\"0.76em\" text-anchor=\"start\" font-family=\"sans-serif\" \
            font-size=\"8\" opacity=\"1\" fill=\"#000000\" transform=\"rotate(270, 20, 18)\">\nHH\n</text>";
        let page = pixels(body, Theme::Light);
        let [left, right] = ink(&page);
        assert!(left == 0 && right > 20, "{left} {right}");
        let rows = page.colours.chunks(page.size[0]);
        let written: Vec<usize> = rows
            .enumerate()
            .filter(|(_, row)| row.iter().any(|pixel| pixel[0] < 128))
            .map(|(at, _)| at)
            .collect();
        // From 2 pixels above row 36 of the file on, two letters of 12 pixels long.
        let [first, last] = [written[0], written[written.len() - 1]];
        assert!(
            (12..=16).contains(&first) && (32..=35).contains(&last),
            "{first} {last}"
        );
        assert_eq!(text("middle", "a&lt;b"), text("middle", "a&#60;b"));
        assert_ne!(text("middle", "a&lt;b"), text("middle", "a&gt;b"));
        // Words are apart by one space, however they were.
        assert_eq!(text("middle", "a \n\tb"), text("middle", "a b"));
        // A letter that the font lacks is a box, a space is nothing.
        assert!(text("start", "\u{4e2d}")[1] > 5);
        assert_eq!(text("start", ""), [0, 0]);
    }

    #[test]
    fn a_file_has_the_pixels_of_its_page() {
        let page = pixels("", Theme::Dark);
        let file = page.png().unwrap();
        assert_eq!(&file[..8], b"\x89PNG\r\n\x1a\n");
        let (mut at, mut kinds, mut packed) = (8, vec![], vec![]);
        while at < file.len() {
            let long = u32::from_be_bytes(file[at..at + 4].try_into().unwrap()) as usize;
            let (kind, bytes) = (&file[at + 4..at + 8], &file[at + 8..at + 8 + long]);
            let mut sum = Crc::new();
            sum.update(&file[at + 4..at + 8 + long]);
            assert_eq!(file[at + 8 + long..at + 12 + long], sum.sum().to_be_bytes());
            if kind == b"IDAT" {
                packed.extend_from_slice(bytes);
            }
            kinds.push(kind.to_vec());
            at += 12 + long;
        }
        assert_eq!(kinds, [b"IHDR", b"IDAT", b"IEND"]);
        let mut rows = vec![];
        ZlibDecoder::new(&packed[..])
            .read_to_end(&mut rows)
            .unwrap();
        assert_eq!(rows.len(), 40 * (1 + 3 * 80));
        assert_eq!(rows[..4], [0, 0x16, 0x18, 0x1c]);
    }

    #[test]
    fn what_no_picture_has_is_refused() {
        for body in ["<image/>", "<g>1</g>", "<line opacity=\"1\"/>"] {
            let e = png(&format!("{HEAD}{body}</svg>"), Theme::Light).unwrap_err();
            assert!(e.to_string().contains("cannot be drawn"), "{e}");
        }
        assert!(png("", Theme::Light).is_err());
    }
}
