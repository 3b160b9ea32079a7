//! Any table file, read by its suffix; standard input by its first bytes.

use crate::csv_table::{Separator, read_csv};
use crate::guard::Source;
use crate::npy::{read_npy, read_npy_rows};
use crate::npz::read_npz;
pub use crate::read_options::{Format, ReadOptions};
use crate::select::select;
use crate::xyz::read_xyz;
use std::ops::Range;
use std::path::Path;
use zipfold_core::{Budget, Error, Opt, Result, Table};

/// Suffixes and their formats; `.gz` or `.xz` may follow those of text.
pub const SUFFIXES: &[(&str, Format)] = &[
    ("npy", Format::Npy),
    ("npz", Format::Npz),
    ("csv", Format::Csv),
    ("tsv", Format::Tsv),
    ("txt", Format::Blanks),
    ("dat", Format::Blanks),
    ("parquet", Format::Parquet),
    ("arrow", Format::Arrow),
    ("feather", Format::Arrow),
    ("xyz", Format::Xyz),
    ("extxyz", Format::Xyz),
    ("fits", Format::Fits),
    ("fit", Format::Fits),
    ("zarr", Format::Zarr),
];

/// Reads the table in the file `path` (`-` is standard input; `file.npz:name` an array of an
/// archive).
///
/// Numbers of text and integers become f64; single-precision files stay f32.
///
/// # Errors
/// `Request` for an unknown suffix, column or array; `Input` when the file is damaged or holds no
/// table of numbers; `Resource` beyond the budget.
pub fn read_table(path: &str, options: &ReadOptions, budget: &Budget) -> Result<Table> {
    refuse_url(path)?;
    let (file, member) = split_member(path);
    let member = member.or(options.member.as_deref());
    if crate::zarr::is_zarr(Path::new(file)) {
        let table = crate::zarr::read_zarr(Path::new(file), None, budget)?;
        return select(table, options.columns.as_deref(), file, budget);
    }
    let known = options.format.or_else(|| format_of(file));
    if known.is_none() && file != "-" {
        return Err(unknown_suffix(file));
    }
    let source = Source::open(file, budget)?;
    let format = match known {
        Some(format) => format,
        None => sniff(&source, budget)?,
    };
    read_source(&source, format, member, options, budget)
}

/// Reads little more than the rows `rows` of the file `path`: a table of all its rows, whose others are
/// of no meaning, without words. Bytes of an NPY file, row groups of Parquet, chunks of Zarr; `None`
/// of other files, whose rows are at no place that is known, and where the file has fewer rows.
///
/// # Errors
/// As [`read_table`].
pub fn read_rows(
    path: &str,
    rows: &Range<usize>,
    options: &ReadOptions,
    budget: &Budget,
) -> Result<Option<Table>> {
    refuse_url(path)?;
    let (file, columns) = (Path::new(path), options.columns.as_deref());
    let all = if crate::zarr::is_zarr(file) {
        let all = crate::zarr::read_zarr(file, Some(rows), budget)?;
        Some(select(all, columns, path, budget)?)
    } else {
        let open = || Source::open(file, budget);
        match options.format.or_else(|| format_of(path)) {
            Some(Format::Npy) => {
                let all = read_npy_rows(&open()?, rows, budget)?;
                let picked = all.map(|all| select(all, columns, path, budget));
                picked.transpose()?
            }
            Some(Format::Parquet) => Some(parquet(&open()?, options, Some(rows), budget)?),
            _ => None,
        }
    };
    Ok(all.filter(|all| rows.end <= all.rows()))
}

/// Reads the table in `source`, which has the given format.
///
/// # Errors
/// As [`read_table`].
pub fn read_source(
    source: &Source,
    format: Format,
    member: Option<&str>,
    options: &ReadOptions,
    budget: &Budget,
) -> Result<Table> {
    let columns = options.columns.as_deref();
    let separator = match format {
        Format::Csv => Separator::Byte(b','),
        Format::Tsv => Separator::Byte(b'\t'),
        Format::Blanks => Separator::Blanks,
        Format::Npy => return select(read_npy(source, budget)?, columns, source.name(), budget),
        Format::Npz => {
            return select(
                read_npz(source, member, budget)?,
                columns,
                source.name(),
                budget,
            );
        }
        Format::Xyz => {
            return select(
                xyz_frame(source, member, budget)?,
                columns,
                source.name(),
                budget,
            );
        }
        Format::Zarr => {
            let e = Error::request("expected the folder of a Zarr array, got a file");
            return Err(e
                .at_place(source.name())
                .remedy("the folder that has .zarray or zarr.json"));
        }
        Format::Fits => return crate::fits::read_fits(source, member, columns, budget),
        Format::Parquet => return parquet(source, options, None, budget),
        Format::Arrow => return arrow(source, options, budget),
    };
    if columns.is_some_and(<[String]>::is_empty) {
        return Err(Error::request("no column is chosen")
            .at_place(source.name())
            .remedy(format!("name at least one in {}", Opt::Columns)));
    }
    read_csv(source, separator, options, budget)
}

#[cfg(feature = "parquet")]
fn parquet(
    source: &Source,
    options: &ReadOptions,
    some: Option<&Range<usize>>,
    budget: &Budget,
) -> Result<Table> {
    crate::parquet_table::read_parquet(source, options, some, budget)
}
#[cfg(feature = "parquet")]
fn arrow(source: &Source, options: &ReadOptions, budget: &Budget) -> Result<Table> {
    crate::arrow_table::read_arrow(source, options, budget)
}
#[cfg(not(feature = "parquet"))]
fn parquet(
    source: &Source,
    _options: &ReadOptions,
    _some: Option<&Range<usize>>,
    _budget: &Budget,
) -> Result<Table> {
    Err(without_feature(source.name()))
}
#[cfg(not(feature = "parquet"))]
fn arrow(source: &Source, _options: &ReadOptions, _budget: &Budget) -> Result<Table> {
    Err(without_feature(source.name()))
}

/// The refusal of Parquet and Arrow by a build without them.
#[cfg(not(feature = "parquet"))]
pub(crate) fn without_feature(name: &str) -> Error {
    Error::request("this build of zipfold does not know Parquet and Arrow files")
        .at_place(name)
        .remedy("a build with the feature `parquet`, or .npy and .csv files")
}

/// Whether `path` is the URL of something elsewhere.
#[must_use]
pub fn is_url(path: &str) -> bool {
    let scheme = path.split_once("://").map_or("", |(scheme, _)| scheme);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    scheme.len() > 1 && scheme.chars().all(plain) && !Path::new(path).exists()
}

/// The URL without user, password, query and fragment, which may be secrets.
fn without_secrets(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

/// Refuses a URL for an input: connections, their keys and their secrets are for Python's fsspec.
///
/// # Errors
/// `Request` for a URL.
pub fn refuse_url(path: &str) -> Result<()> {
    if !is_url(path) {
        return Ok(());
    }
    Err(
        Error::request("this is a URL, and only files are read here")
            .at_place(without_secrets(path))
            .remedy("zf.read(URL) in Python with fsspec, or a copy in a file"),
    )
}

/// Refuses a URL, or nothing, for a folder of work that is shared out.
///
/// # Errors
/// `Request` for either.
pub fn refuse_store(path: &str) -> Result<()> {
    let e = match is_url(path) {
        true => Error::request("expected a folder, got a URL").at_place(without_secrets(path)),
        false if path.is_empty() => Error::request("expected a folder, got nothing"),
        false => return Ok(()),
    };
    Err(e.remedy(
        "a folder that all workers see; Python has stores at URLs: zf.submit(…, store=URL)",
    ))
}

/// The suffix of `path` in lower case, without `.gz` and `.xz`.
pub(crate) fn suffix(path: &str) -> Option<String> {
    let lower = path.to_ascii_lowercase();
    let plain = if is_packed(&lower) {
        &lower[..lower.len() - 3]
    } else {
        &lower[..]
    };
    Path::new(plain)
        .extension()
        .map(|s| s.to_string_lossy().into_owned())
}

/// Whether the name says that the file is packed.
pub(crate) fn is_packed(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    lower.ends_with(".gz") || lower.ends_with(".xz")
}

fn format_of(path: &str) -> Option<Format> {
    let suffix = suffix(path)?;
    let format = SUFFIXES.iter().find(|(name, _)| *name == suffix)?.1;
    let text = matches!(
        format,
        Format::Csv | Format::Tsv | Format::Blanks | Format::Xyz
    );
    (text || !is_packed(path)).then_some(format)
}

fn unknown_suffix(path: &str) -> Error {
    if Path::new(path).is_dir() {
        return Error::request("this is a folder, not a table")
            .at_place(path)
            .remedy("the name of a file in it");
    }
    if !Path::new(path).exists() {
        return Error::input("there is no such file")
            .at_place(path)
            .remedy("check the name");
    }
    let all: Vec<String> = SUFFIXES
        .iter()
        .map(|(name, _)| format!(".{name}"))
        .collect();
    Error::request("the suffix does not say which table format this is")
        .at_place(path)
        .remedy(format!(
            "a name that ends in one of {} (.gz or .xz may follow those of text)",
            all.join(" ")
        ))
}

/// `file.npz:name` is the file and the member; a file whose name has the colon wins.
#[must_use]
pub fn split_member(path: &str) -> (&str, Option<&str>) {
    if Path::new(path).exists() {
        return (path, None);
    }
    match path.rsplit_once(':') {
        Some((file, member))
            if matches!(
                format_of(file),
                Some(Format::Npz | Format::Xyz | Format::Fits)
            ) =>
        {
            (file, Some(member))
        }
        _ => (path, None),
    }
}

/// The format of bytes without a name.
fn sniff(source: &Source, budget: &Budget) -> Result<Format> {
    let mut start = [0; 8];
    let n = source.read_at(0, &mut start).unwrap_or(0);
    let binary = [
        (&b"\x93NUMPY"[..], Format::Npy),
        (b"PK\x03\x04", Format::Npz),
        (b"PAR1", Format::Parquet),
        (b"ARROW1", Format::Arrow),
        (b"SIMPLE  ", Format::Fits),
    ];
    if let Some((_, format)) = binary
        .iter()
        .find(|(magic, _)| start[..n].starts_with(magic))
    {
        return Ok(*format);
    }
    let mut lines = crate::guard::Lines::new(source, true, budget)?;
    while lines.next()? {
        match lines.current().trim_ascii() {
            [] | [b'#', ..] => {}
            cells if cells.contains(&b'\t') => return Ok(Format::Tsv),
            cells if cells.contains(&b',') || cells.contains(&b';') => return Ok(Format::Csv),
            _ => return Ok(Format::Blanks),
        }
    }
    Ok(Format::Csv)
}

/// The positions of one frame: the one chosen, or the only one.
fn xyz_frame(source: &Source, member: Option<&str>, budget: &Budget) -> Result<Table> {
    let mut frames = read_xyz(source, budget)?;
    let Some(member) = member else {
        let first = frames.next().unwrap_or_else(|| {
            Err(Error::input("the file holds no frame")
                .at_place(source.name())
                .remedy("give a file with at least one frame"))
        })?;
        return match frames.next() {
            None => Ok(first.positions),
            Some(Err(e)) => Err(e),
            Some(Ok(_)) => Err(
                Error::request("the file holds several frames, a table is one")
                    .at_place(source.name())
                    .remedy(format!(
                        "{}:0 for the first frame, :1 for the next",
                        source.name()
                    )),
            ),
        };
    };
    let number: usize = member.parse().map_err(|_| {
        Error::request(format!("'{member}' is not the number of a frame"))
            .at_place(source.name())
            .remedy("a number from 0")
    })?;
    let mut seen = 0;
    for frame in frames {
        let frame = frame?;
        if seen == number {
            return Ok(frame.positions);
        }
        seen += 1;
    }
    Err(Error::request(format!("there is no frame {number}"))
        .at_place(source.name())
        .limit(format!("{seen} frames"))
        .remedy("a number from 0"))
}
