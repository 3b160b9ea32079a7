//! Numbers of a problem in text, with all their bits. JSON has no infinities and no NaN; they
//! become the texts `inf`, `-inf` and `nan`. Finite numbers are written in the shortest form that
//! reads back to the same bits.
//!
//! Use it as `#[serde(with = "crate::exact")]` on numbers, lists of numbers and options of these.
//!
//! A plain derive would fail on infinities (`serde_json` writes `null`) and lose them without a
//! word. A cut-off or an edge of ∞ is a useful number here.

use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A container of numbers, and the same container with every number as [`Exact`].
///
/// One trait for all containers, so that fields of all types name one module.
pub(crate) trait ExactNumbers {
    /// The same as text holds it.
    type Text: Serialize + DeserializeOwned;
    /// Wraps every number.
    fn to_text(&self) -> Self::Text;
    /// Unwraps every number.
    fn of_text(text: Self::Text) -> Self;
}

impl ExactNumbers for f64 {
    type Text = Exact;
    fn to_text(&self) -> Exact {
        Exact(*self)
    }
    fn of_text(text: Exact) -> Self {
        text.0
    }
}

impl ExactNumbers for Vec<f64> {
    type Text = Vec<Exact>;
    fn to_text(&self) -> Vec<Exact> {
        self.iter().map(f64::to_text).collect()
    }
    fn of_text(text: Vec<Exact>) -> Self {
        text.into_iter().map(f64::of_text).collect()
    }
}

// A range: two numbers, and serde then refuses one or three.
impl ExactNumbers for [f64; 2] {
    type Text = [Exact; 2];
    fn to_text(&self) -> [Exact; 2] {
        self.map(Exact)
    }
    fn of_text(text: [Exact; 2]) -> Self {
        text.map(f64::of_text)
    }
}

// A field that is left out stays left out: `None` has no number.
impl<T: ExactNumbers> ExactNumbers for Option<T> {
    type Text = Option<T::Text>;
    fn to_text(&self) -> Self::Text {
        self.as_ref().map(T::to_text)
    }
    fn of_text(text: Self::Text) -> Self {
        text.map(T::of_text)
    }
}

/// Writes numbers; called by serde.
pub(crate) fn serialize<T: ExactNumbers, S: Serializer>(
    value: &T,
    to: S,
) -> Result<S::Ok, S::Error> {
    value.to_text().serialize(to)
}

/// Reads numbers; called by serde.
pub(crate) fn deserialize<'de, T: ExactNumbers, D: Deserializer<'de>>(
    from: D,
) -> Result<T, D::Error> {
    T::Text::deserialize(from).map(T::of_text)
}

/// A number, or its name in formats for people. Binary formats keep the number.
///
/// Partial results are binary, and must keep even the sign and the payload of a NaN.
pub(crate) struct Exact(f64);

impl Serialize for Exact {
    /// The shortest digits that read back to the same bits are what serde's formats write for an
    /// f64.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        // Finite numbers are numbers in every format.
        let name = match self.0 {
            v if v.is_nan() => "nan",
            f64::INFINITY => "inf",
            f64::NEG_INFINITY => "-inf",
            v => return to.serialize_f64(v),
        };
        if to.is_human_readable() {
            to.serialize_str(name)
        } else {
            to.serialize_f64(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // Any: TOML says integer or float or text by how the number is written, and all three are
        // allowed.
        if from.is_human_readable() {
            from.deserialize_any(NumberVisitor)
        } else {
            f64::deserialize(from).map(Exact)
        }
    }
}

/// A visitor, because a text may hold either a number or a name.
struct NumberVisitor;

/// Reads a number of any kind, or one of the names.
impl Visitor<'_> for NumberVisitor {
    type Value = Exact;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or one of the texts \"inf\", \"-inf\", \"nan\"")
    }
    fn visit_f64<E>(self, value: f64) -> Result<Exact, E> {
        Ok(Exact(value))
    }
    /// TOML and JSON write 2 for 2.0. Beyond 2⁵³ an integer rounds, as its text would as a float.
    fn visit_i64<E>(self, value: i64) -> Result<Exact, E> {
        Ok(Exact(value as f64))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Exact, E> {
        Ok(Exact(value as f64))
    }
    /// No other spelling: `Infinity` and `NULL` of other programs may mean something else.
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Exact, E> {
        match text {
            "inf" | "+inf" => Ok(Exact(f64::INFINITY)),
            "-inf" => Ok(Exact(f64::NEG_INFINITY)),
            "nan" => Ok(Exact(f64::NAN)),
            other => Err(E::invalid_value(serde::de::Unexpected::Str(other), &self)),
        }
    }
}
