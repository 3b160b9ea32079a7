//! Lets a text alone represent a part of a problem: `x = "points.csv"` instead of `x = { name =
//! "points.csv" }`.

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;

/// What a text alone may stand for.
///
/// Short forms are for people who write problem files; programs write the long one.
pub(crate) trait FromText: Sized {
    /// What is expected, for messages.
    const EXPECTED: &'static str;
    /// What `text` means.
    fn from_text(text: &str) -> Self;
}

/// A visitor instead of an untagged enum: its errors name the field that is wrong, and those of an
/// enum say that no variant fits.
struct Either<T>(PhantomData<T>);

impl<'de, T: FromText + Deserialize<'de>> Visitor<'de> for Either<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        Ok(T::from_text(text))
    }
    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<T, M::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

/// A part that may be a text alone, for members of maps and lists.
pub(crate) struct TextOr<T>(pub T);

impl<'de, T: FromText + Deserialize<'de>> Deserialize<'de> for TextOr<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        deserialize(from).map(TextOr)
    }
}

/// Reads a part that is there, as a text or a table.
pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: FromText + Deserialize<'de>>(
    from: D,
) -> Result<T, D::Error> {
    from.deserialize_any(Either(PhantomData))
}

/// Reads a part that may be left out, or null. serde asks for a type of its own inside the option.
pub(crate) fn option<'de, D: Deserializer<'de>, T: FromText + Deserialize<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    struct Present<T>(T);
    impl<'de, T: FromText + Deserialize<'de>> Deserialize<'de> for Present<T> {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            deserialize(from).map(Present)
        }
    }
    Ok(Option::<Present<T>>::deserialize(from)?.map(|whole| whole.0))
}
