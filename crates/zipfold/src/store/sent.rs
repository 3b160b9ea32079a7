//! Data that are sent by value: rows that are no file, such as arrays of a program, are put into
//! the store once.

use super::files::{ANEW, Files};
use crate::partial::{open_sealed, seal};
use serde::{Deserialize, Serialize};
use zipfold_core::labels::Words;
use zipfold_core::table::Elements;
use zipfold_core::{Budget, Data, Error, Result, Table};

/// The file with the data.
const SENT: &str = "data";
const MAGIC: &[u8; 8] = b"ZFDATA\x00\x02";
/// Bytes beyond which rows belong into a file that all workers read.
pub(crate) const MOST: u64 = 256 << 20;

/// The data of a question.
#[derive(Serialize, Deserialize)]
pub(crate) struct Sent {
    x: SentTable,
    y: Option<SentTable>,
    pairs: Option<SentTable>,
    weights: Vec<Option<[SentTable; 2]>>,
}

/// A table as the store keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SentTable {
    rows: usize,
    cols: usize,
    numbers: Numbers,
    names: Option<Vec<String>>,
    attributes: Option<Box<SentTable>>,
    words: Option<Vec<String>>,
    texts: Vec<usize>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Numbers {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl SentTable {
    pub(super) fn new(table: &Table) -> Self {
        let numbers = match table.elements() {
            Elements::F32(items) => Numbers::F32(items.to_vec()),
            Elements::F64(items) => Numbers::F64(items.to_vec()),
        };
        let names = table.names().map(|names| names[..table.cols()].to_vec());
        let words = table.words();
        SentTable {
            rows: table.rows(),
            cols: table.cols(),
            numbers,
            names,
            attributes: table.attributes().map(|a| Box::new(SentTable::new(a))),
            words: words.map(|w| (0..w.rows()).map(|row| w.get(row).to_string()).collect()),
            texts: table.texts().to_vec(),
        }
    }
    pub(super) fn table(self) -> Result<Table> {
        let mut made = match self.numbers {
            Numbers::F32(items) => Table::f32(self.rows, self.cols, items)?,
            Numbers::F64(items) => Table::f64(self.rows, self.cols, items)?,
        };
        if let Some(names) = self.names {
            made = made.with_names(names)?;
        }
        if let Some(attributes) = self.attributes {
            made = made.with_attributes(attributes.table()?)?;
        }
        if let Some(words) = self.words {
            made = made.with_words(Words::from_words("", words.iter().map(String::as_str)));
        }
        Ok(made.with_texts(self.texts))
    }
}

fn bytes(table: &Table) -> u64 {
    let beside = table.attributes().map_or(0, bytes);
    beside + table.rows() as u64 * table.cols() as u64 * table.precision().bytes() as u64
}

impl Sent {
    /// Refuses `data` that are too large to be sent.
    ///
    /// # Errors
    /// `Request` for those.
    pub(crate) fn refuse_large(data: &Data) -> Result<()> {
        let weights = data.weights.iter().flatten().flatten();
        let sides = [Some(&data.x), data.y.as_ref(), data.pairs.as_ref()];
        let all: u64 = sides.into_iter().flatten().chain(weights).map(bytes).sum();
        if all > MOST {
            let e = Error::request(format!("{all} bytes of rows to be sent to workers"));
            return Err(e.limit(format!("{MOST} bytes")).remedy(
                "write the rows to a file that all workers read, and plan by a problem file",
            ));
        }
        Ok(())
    }
    /// Puts `data` into the store.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn write(files: &dyn Files, data: &Data) -> Result<()> {
        let pair = |pair: &[Table; 2]| pair.each_ref().map(SentTable::new);
        let sent = Sent {
            x: SentTable::new(&data.x),
            y: data.y.as_ref().map(SentTable::new),
            pairs: data.pairs.as_ref().map(SentTable::new),
            weights: data.weights.iter().map(|w| w.as_ref().map(pair)).collect(),
        };
        let payload = postcard::to_stdvec(&sent).map_err(|e| Error::internal(e.to_string()))?;
        files.replace(SENT, &seal(MAGIC, &payload))
    }
    /// The data in the store.
    ///
    /// # Errors
    /// `Input` when there are none or they are damaged.
    pub(crate) fn read(files: &dyn Files, budget: &Budget) -> Result<Data> {
        let place = files.path(SENT).to_string_lossy().into_owned();
        let Some(bytes) = files.get(SENT, budget)? else {
            return Err(Error::input("the data of the store are not there")
                .at_place(place)
                .remedy(ANEW));
        };
        budget.spend(bytes.len() as u64 * 2, "the data of the store")?;
        let sent: Sent = open_sealed(MAGIC, &bytes, &place).map_err(|e| e.remedy(ANEW))?;
        let pair = |[a, b]: [SentTable; 2]| Ok([a.table()?, b.table()?]);
        let weights = sent.weights.into_iter();
        Ok(Data {
            x: sent.x.table()?,
            y: sent.y.map(SentTable::table).transpose()?,
            pairs: sent.pairs.map(SentTable::table).transpose()?,
            weights: weights
                .map(|both| both.map(pair).transpose())
                .collect::<Result<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files have the fields in their order, so a new field takes a new version.
    #[test]
    fn data_keep_their_fields_within_a_version() {
        let x = SentTable::new(&Table::f64(0, 1, vec![]).unwrap());
        let sent = Sent {
            x,
            y: None,
            pairs: None,
            weights: vec![],
        };
        // x: no row of one column of f64, without names, attributes, words, texts; three times none.
        let fields = vec![0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        let bytes = postcard::to_stdvec(&sent).unwrap();
        assert_eq!((MAGIC[7], bytes), (2, fields));
    }
}
