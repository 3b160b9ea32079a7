//! What the metadata of a Zarr array say, without trust.

use super::codec::ChunkCodec;
use crate::npy_header::{Kind, kind_of};
use crate::presence::Presence;
use crate::store_files;
use serde_json::Value;
use std::path::Path;
use zipfold_core::{Budget, Error, Result};

/// The files with the metadata.
pub(super) const V2: &str = ".zarray";
pub(super) const V3: &str = "zarr.json";
/// The longest metadata that are read.
const MOST: u64 = 1 << 20;

/// What is known of an array.
#[derive(Debug)]
pub(super) struct Metadata {
    pub(super) shape: Vec<usize>,
    pub(super) chunk: Vec<usize>,
    pub(super) kind: Kind,
    pub(super) big_endian: bool,
    pub(super) fortran: bool,
    pub(super) fill: f64,
    /// What elements went through on their way to the file, in this order.
    pub(super) codecs: Vec<ChunkCodec>,
    /// Before the numbers of a chunk, and between them.
    prefix: &'static str,
    /// The characters that are tried: some writers of version 2 say nothing.
    separators: &'static [char],
}

/// The separators of this name.
fn separators(name: &str, json: &Value, otherwise: &'static [char]) -> Result<&'static [char]> {
    match json {
        Value::Null => Ok(otherwise),
        Value::String(text) if text == "." => Ok(&['.']),
        Value::String(text) if text == "/" => Ok(&['/']),
        _ => {
            let e = other(
                name,
                "expected a separator between the numbers of chunks",
                json,
            );
            Err(e.limit(". or /"))
        }
    }
}

/// Refuses metadata of another version than their file has.
fn check_version(json: &Value, version: u64, name: &str) -> Result<()> {
    match json["zarr_format"].as_u64() == Some(version) {
        true => Ok(()),
        false => {
            let e = other(name, "expected a known zarr_format", &json["zarr_format"]);
            Err(e.limit(version.to_string()))
        }
    }
}

/// The refusal of something in the metadata that is not read.
fn other(name: &str, what: &str, got: &Value) -> Error {
    let text = got.to_string();
    let short: String = text.chars().take(80).collect();
    Error::request(format!("{what}, got {short}")).at_place(name)
}

impl Metadata {
    /// Reads them.
    ///
    /// # Errors
    /// `Input` for damaged ones; `Request` for what is not read.
    pub(super) fn read(path: &Path, name: &str, budget: &Budget) -> Result<Metadata> {
        let second = Presence::behind(&path.join(V2)) != Presence::Nothing;
        let file = path.join(if second { V2 } else { V3 });
        let place = file.to_string_lossy().into_owned();
        let Some(bytes) = store_files::get(&file, MOST, budget)? else {
            let e = Error::request("the folder holds no Zarr array").at_place(name);
            return Err(e.remedy("the folder of an array, which has .zarray or zarr.json"));
        };
        let json: Value = serde_json::from_slice(&bytes).map_err(|e| {
            Error::input(format!("the metadata are not JSON: {e}")).at_place(place.clone())
        })?;
        match second {
            true => Self::second(&json, &place),
            false => Self::third(&json, &place),
        }
    }
    fn second(json: &Value, name: &str) -> Result<Metadata> {
        check_version(json, 2, name)?;
        let dtype = json["dtype"].as_str().unwrap_or_default();
        let (order, kind) = dtype.split_at_checked(1).unwrap_or_default();
        let Some(kind) = kind_of(kind).filter(|_| ["<", ">", "|"].contains(&order)) else {
            return Err(other(name, "expected a type of numbers", &json["dtype"]).limit(TYPES));
        };
        if !matches!(&json["filters"], Value::Null) && json["filters"] != Value::Array(vec![]) {
            return Err(other(name, "expected no filters", &json["filters"]));
        }
        let codecs = match &json["compressor"] {
            Value::Null => vec![],
            compressor => vec![ChunkCodec::named(&compressor["id"]).ok_or_else(|| {
                other(name, "expected a known compressor", &compressor["id"])
                    .limit(ChunkCodec::KNOWN)
            })?],
        };
        let separators = separators(name, &json["dimension_separator"], &['.', '/'])?;
        Ok(Metadata {
            shape: lengths(&json["shape"], name)?,
            chunk: lengths(&json["chunks"], name)?,
            kind,
            big_endian: order == ">",
            fortran: json["order"] == "F",
            fill: fill(&json["fill_value"], name)?,
            codecs,
            prefix: "",
            separators,
        })
    }
    fn third(json: &Value, name: &str) -> Result<Metadata> {
        check_version(json, 3, name)?;
        if json["node_type"] != "array" {
            let e = other(name, "expected an array", &json["node_type"]);
            return Err(e.remedy("the folder of one array in the group"));
        }
        let Some(kind) = json["data_type"].as_str().and_then(named) else {
            return Err(other(name, "expected a type of numbers", &json["data_type"]).limit(TYPES));
        };
        let grid = &json["chunk_grid"];
        if grid["name"] != "regular" {
            return Err(other(name, "expected a regular grid of chunks", grid));
        }
        let keys = &json["chunk_key_encoding"];
        let given = &keys["configuration"]["separator"];
        let (prefix, separators) = match keys["name"].as_str() {
            Some("v2") => ("", separators(name, given, &['.'])?),
            Some("default") => ("c", separators(name, given, &['/'])?),
            _ => {
                let e = other(name, "expected known keys of chunks", &keys["name"]);
                return Err(e.limit("default, v2"));
            }
        };
        let (mut codecs, mut big_endian) = (vec![], false);
        for codec in json["codecs"].as_array().into_iter().flatten() {
            match codec["name"].as_str() {
                Some("bytes") => big_endian = codec["configuration"]["endian"] == "big",
                _ => codecs.push(ChunkCodec::named(&codec["name"]).ok_or_else(|| {
                    other(name, "expected known codecs", &codec["name"]).limit(ChunkCodec::KNOWN)
                })?),
            }
        }
        Ok(Metadata {
            shape: lengths(&json["shape"], name)?,
            chunk: lengths(&grid["configuration"]["chunk_shape"], name)?,
            kind,
            big_endian,
            fortran: false,
            fill: fill(&json["fill_value"], name)?,
            codecs,
            prefix,
            separators,
        })
    }
    /// Rows and columns of the table.
    ///
    /// # Errors
    /// `Request` for other than one or two dimensions; `Input` for chunks of another number of them.
    pub(super) fn table_shape(&self, name: &str) -> Result<[usize; 2]> {
        let whole = self.chunk.len() == self.shape.len() && !self.chunk.contains(&0);
        let bytes = self
            .chunk
            .iter()
            .try_fold(self.kind.bytes(), |all, side| all.checked_mul(*side));
        if !whole || bytes.is_none_or(|bytes| bytes > isize::MAX as usize / 4) {
            let e = Error::input("the shape of the chunks does not fit that of the array");
            return Err(e.at_place(name));
        }
        match self.shape[..] {
            [rows, cols] => Ok([rows, cols]),
            [rows] => Ok([rows, 1]),
            _ => {
                let what = format!("expected one or two dimensions, got {}", self.shape.len());
                Err(Error::request(what)
                    .at_place(name)
                    .remedy("a slice of two dimensions"))
            }
        }
    }
    /// What may be between the numbers of a chunk, the likelier first.
    pub(super) fn separators(&self) -> &'static [char] {
        self.separators
    }
    /// The file of the chunk with these numbers.
    pub(super) fn key(&self, numbers: &[usize], separator: char) -> String {
        let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
        let numbers = numbers.join(&separator.to_string());
        match self.prefix {
            "" => numbers,
            prefix => format!("{prefix}{separator}{numbers}"),
        }
    }
}

/// The types that are read.
const TYPES: &str = "bool, int8 to int64, uint8 to uint64, float16 to float64";

/// A type by its name in version 3.
fn named(name: &str) -> Option<Kind> {
    let short = match name {
        "bool" => "b1".to_string(),
        name => {
            let digits = name.find(|c: char| c.is_ascii_digit())?;
            let (word, bits) = name.split_at(digits);
            let letter = match word {
                "int" => 'i',
                "uint" => 'u',
                "float" => 'f',
                _ => return None,
            };
            format!("{letter}{}", bits.parse::<usize>().ok()? / 8)
        }
    };
    kind_of(&short)
}

fn lengths(json: &Value, name: &str) -> Result<Vec<usize>> {
    let all = json.as_array().into_iter().flatten();
    let all: Option<Vec<usize>> = all
        .map(|length| usize::try_from(length.as_u64()?).ok())
        .collect();
    match all {
        Some(all) if json.is_array() => Ok(all),
        _ => Err(Error::input("the metadata have no lengths of dimensions").at_place(name)),
    }
}

/// The value of places without a chunk.
fn fill(json: &Value, name: &str) -> Result<f64> {
    Ok(match json {
        Value::Null => 0.0,
        Value::Bool(value) => f64::from(u8::from(*value)),
        Value::Number(value) => value.as_f64().unwrap_or(f64::NAN),
        Value::String(text) => match text.as_str() {
            "NaN" => f64::NAN,
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            _ => return Err(other(name, "expected a number as the fill value", json)),
        },
        Value::Array(_) | Value::Object(_) => {
            return Err(other(name, "expected a number as the fill value", json));
        }
    })
}
