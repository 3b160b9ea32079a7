//! Numeric columns of Arrow IPC files (Feather version 2); nulls are NaN.

use crate::foreign::{contained, damaged, not_numeric};
use crate::growing::Growing;
use crate::guard::{Source, check_claim};
use crate::npy::{exact_i64, exact_u64};
use crate::packed::{Codec, Part, check};
use crate::read_options::ReadOptions;
use crate::words::{WordColumn, spread_names};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrow_ipc::{Block, CompressionType, RecordBatch as RawBatch};
use arrow_schema::{DataType, Schema};
use zipfold_core::{Budget, Buffer, Elements, Error, Opt, Reservation, Result, Table};

/// Reads the chosen columns (all when `None`) of the Arrow file `source`. A column of lists of one
/// length gives as many components; columns of text (or the ones that the options call `ids`) are
/// kept as words. Columns that are all single precision give f32, else f64.
///
/// # Errors
/// `Input` when the file is damaged, a column is not numeric, lists differ in length or an integer
/// is beyond 2^53; `Request` for columns that are not there; `Resource` beyond the budget.
pub fn read_arrow(source: &Source, options: &ReadOptions, budget: &Budget) -> Result<Table> {
    contained(source, "Arrow", || {
        let held = check_claims(source, budget)?;
        let open = |projection| {
            FileReader::try_new(source.reader_at(0), projection)
                .map_err(|e| damaged(source, "Arrow", e))
        };
        let schema = open(None)?.schema();
        let names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
        let text = |at: usize| is_text(schema.field(at).data_type());
        let (picked, ids) = chosen(source, options, &names, &text)?;
        picked
            .iter()
            .try_for_each(|at| check_numeric(source, &schema, *at))?;
        let columns = (&names[..], options);
        let (mut reading, sorted) = Reading::new(source, columns, &picked, &ids, budget);
        let reader = open(Some(sorted))?;
        let single =
            |at: &usize| number_type(schema.field(*at).data_type()) == Some(&DataType::Float32);
        let (rows, elements) = if !picked.is_empty() && picked.iter().all(single) {
            let (rows, items) = reading.batches(reader, &held, |v| v as f32)?;
            (rows, Elements::F32(Buffer::new(items)))
        } else {
            let (rows, items) = reading.batches(reader, &held, |v| v)?;
            (rows, Elements::F64(Buffer::new(items)))
        };
        let listed = |at: &usize| is_list(schema.field(*at).data_type());
        let width = |(at, width): (&usize, &Option<usize>)| {
            (names[*at].clone(), listed(at).then(|| width.unwrap_or(0)))
        };
        let named = spread_names(picked.iter().zip(&reading.widths).map(width));
        let table = Table::new(rows, named.len(), elements)?
            .with_labels(WordColumn::finish(reading.words)?)?;
        table
            .with_names(named)
            .map_err(|e| e.at_place(source.name()))
    })
}

/// The columns of numbers and those of words.
pub(crate) fn chosen(
    source: &Source,
    options: &ReadOptions,
    names: &[String],
    text: &dyn Fn(usize) -> bool,
) -> Result<(Vec<usize>, Vec<usize>)> {
    let at = |e: Error| e.at_place(source.name());
    let all = 0..names.len();
    let text = &|at: usize| text(at) || options.has_words(&names[at]);
    let columns = options.columns.as_deref();
    let compared = |at: usize| text(at) && options.texts.contains(&names[at]);
    let mut ids: Vec<usize> = match (&options.ids[..], columns) {
        ([], None) => all.clone().filter(|at| text(*at)).collect(),
        (ids, _) => zipfold_core::table::find_columns(ids, Some(names), names.len()).map_err(at)?,
    };
    ids.extend(
        all.clone()
            .filter(|at| compared(*at) && !ids.contains(at))
            .collect::<Vec<_>>(),
    );
    let mut picked: Vec<usize> = match columns {
        Some([]) => vec![],
        Some(wanted) => {
            zipfold_core::columns::expand(wanted, Some(names), names.len(), text).map_err(at)?
        }
        None => all.filter(|at| !text(*at) && !ids.contains(at)).collect(),
    };
    picked.retain(|at| !compared(*at));
    if ids.iter().any(|at| compared(*at)) {
        return Ok((picked, ids));
    }
    match (picked.is_empty() && !names.is_empty(), columns) {
        (true, Some(_)) => Err(Error::request("no column is chosen")
            .at_place(source.name())
            .remedy(format!("name at least one in {}", Opt::Columns))),
        (true, None) => {
            let e = Error::input("no column holds numbers, only words").at_place(source.name());
            Err(e.remedy("give at least one column of numbers"))
        }
        (false, _) => Ok((picked, ids)),
    }
}

/// What the decoder holds of the file.
struct DecoderMemory {
    /// The footer and the dictionaries, as long as it reads.
    _always: Reservation,
    /// Bytes of each block of rows while it is read.
    blocks: Vec<u64>,
}

/// Times the size of the footer that its schema takes when it is read.
const FOOTER: u64 = 8;

/// Every size that the file claims, before the decoder allocates for it.
fn check_claims(source: &Source, budget: &Budget) -> Result<DecoderMemory> {
    let size = source.size();
    let claim =
        |what: &str, bytes: Option<u64>| check_claim(source.name().to_owned(), what, bytes, size);
    claim("an Arrow file", Some(20))?;
    let mut tail = [0; 10];
    source.fill_at(size - 10, &mut tail)?;
    let len = arrow_ipc::reader::read_footer_length(tail)
        .map_err(|e| damaged(source, "Arrow", e))? as u64;
    claim("the Arrow footer", len.checked_add(10))?;
    let mut bytes = budget.vec(len as usize, 0u8, "the footer of the Arrow file")?;
    source.fill_at(size - 10 - len, &mut bytes.items)?;
    let footer =
        arrow_ipc::root_as_footer(&bytes.items).map_err(|e| damaged(source, "Arrow", e))?;
    let sizes = |blocks: &mut dyn Iterator<Item = &Block>| {
        blocks
            .map(|block| check_block(source, block, budget))
            .collect::<Result<Vec<u64>>>()
    };
    let blocks = sizes(&mut footer.recordBatches().into_iter().flatten())?;
    let dictionaries = sizes(&mut footer.dictionaries().into_iter().flatten())?;
    let always = dictionaries
        .iter()
        .fold(len.saturating_mul(FOOTER), |sum, bytes| {
            sum.saturating_add(*bytes)
        });
    let _always = budget.reserve(always, "the footer and dictionaries of the Arrow file")?;
    Ok(DecoderMemory { _always, blocks })
}

/// Bytes that the decoder holds of a block: as it is packed, and unpacked.
fn check_block(source: &Source, block: &Block, budget: &Budget) -> Result<u64> {
    let number = |value: i64| u64::try_from(value).ok();
    let (at, meta, body) = (
        number(block.offset()),
        number(block.metaDataLength().into()),
        number(block.bodyLength()),
    );
    let end = at
        .zip(meta)
        .zip(body)
        .and_then(|((a, m), b)| a.checked_add(m)?.checked_add(b));
    check_claim(
        source.name().to_owned(),
        "a block of the Arrow file",
        end,
        source.size(),
    )?;
    let (at, meta) = (at.unwrap_or(0), meta.unwrap_or(0));
    let mut bytes = budget.vec(
        usize::try_from(meta).unwrap_or(usize::MAX),
        0u8,
        "a block of the Arrow file",
    )?;
    source.fill_at(at, &mut bytes.items)?;
    let bytes = &bytes.items[..];
    // The length comes behind a mark that old files lack.
    let skip = if bytes.starts_with(&[0xff; 4]) { 8 } else { 4 };
    let message = bytes.get(skip..).unwrap_or_default();
    let message = arrow_ipc::root_as_message(message).map_err(|e| damaged(source, "Arrow", e))?;
    let batch = message
        .header_as_record_batch()
        .or_else(|| message.header_as_dictionary_batch().and_then(|d| d.data()));
    let packed = meta
        .saturating_mul(FOOTER)
        .saturating_add(body.unwrap_or(0));
    let unpacked = batch.map_or(Ok(0), |batch| {
        check_packed(source, at + meta, batch, budget)
    })?;
    Ok(packed.saturating_add(unpacked))
}

/// The unpacked size that the compressed buffers of a block claim, none of which may be a lie.
fn check_packed(
    source: &Source,
    body_at: u64,
    batch: RawBatch<'_>,
    budget: &Budget,
) -> Result<u64> {
    let Some(compression) = batch.compression() else {
        return Ok(0);
    };
    let codec = if compression.codec() == CompressionType::ZSTD {
        Codec::Zstd
    } else {
        Codec::Lz4
    };
    let mut total = 0u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let (Ok(at), Ok(len @ 8..)) = (
            u64::try_from(buffer.offset()),
            u64::try_from(buffer.length()),
        ) else {
            continue;
        };
        let mut size = [0; 8];
        let at = body_at.saturating_add(at);
        source.fill_at(at, &mut size)?;
        let claimed = u64::try_from(i64::from_le_bytes(size)).unwrap_or(0);
        // No codec packs better than this, regardless of the data.
        let most = len.saturating_mul(1 << 16);
        check_claim(
            source.name().to_owned(),
            "a compressed buffer",
            Some(claimed),
            most,
        )?;
        if i64::from_le_bytes(size) >= 0 {
            check(
                Part {
                    source,
                    at: at + 8,
                    len: len - 8,
                },
                codec,
                claimed,
                budget.free() / 8,
                "Arrow",
            )?;
        }
        // A decoder of frames keeps a window of what it gave.
        total = total.saturating_add(claimed).saturating_add(claimed / 2);
    }
    Ok(total)
}

fn is_numeric(kind: &DataType) -> bool {
    kind.is_integer()
        || matches!(
            kind,
            DataType::Float32 | DataType::Float64 | DataType::Boolean
        )
}

fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

/// The type of the items of a column of lists.
fn list_type(kind: &DataType) -> Option<&DataType> {
    match kind {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            Some(item.data_type())
        }
        _ => None,
    }
}

fn is_list(kind: &DataType) -> bool {
    list_type(kind).is_some()
}

/// The type of the numbers of a column, which may be those of lists.
fn number_type(kind: &DataType) -> Option<&DataType> {
    Some(list_type(kind).unwrap_or(kind)).filter(|kind| is_numeric(kind))
}

fn check_numeric(source: &Source, schema: &Schema, at: usize) -> Result<()> {
    let field = schema.field(at);
    if number_type(field.data_type()).is_some() {
        return Ok(());
    }
    Err(not_numeric(
        source,
        field.name(),
        &format!("{}", field.data_type()),
    ))
}

/// A file on its way to a table.
struct Reading<'a> {
    source: &'a Source,
    /// Places of the columns of numbers, and of words, in a batch.
    order: Vec<usize>,
    ids: Vec<usize>,
    /// Numbers that each column gives a row, once a row is seen.
    widths: Vec<Option<usize>>,
    words: Vec<WordColumn>,
    budget: &'a Budget,
}

impl<'a> Reading<'a> {
    /// Makes ready to read the columns `picked` and `ids` of those called `names`, words where they
    /// are `kept`; with them all columns that are read, in the order of the file.
    fn new(
        source: &'a Source,
        (names, options): (&[String], &ReadOptions),
        picked: &[usize],
        ids: &[usize],
        budget: &'a Budget,
    ) -> (Self, Vec<usize>) {
        let mut sorted: Vec<usize> = picked.iter().chain(ids).copied().collect();
        sorted.sort_unstable();
        sorted.dedup();
        let place = |at: &usize| sorted.binary_search(at).ok();
        let words = |at: &usize| {
            let column = WordColumn::new(names[*at].clone(), source.name(), budget);
            column.of_words(options.has_words(&names[*at]))
        };
        let reading = Reading {
            source,
            order: picked.iter().filter_map(place).collect(),
            ids: ids.iter().filter_map(place).collect(),
            widths: vec![None; picked.len()],
            words: ids.iter().map(words).collect(),
            budget,
        };
        (reading, sorted)
    }
    fn batches<T: Copy>(
        &mut self,
        mut reader: FileReader<crate::guard::SourceReader>,
        blocks: &DecoderMemory,
        narrow: fn(f64) -> T,
    ) -> Result<(usize, Growing<T>)> {
        let mut items = Growing::new(self.budget, format!("the rows of {}", self.source.name()));
        let mut rows = 0;
        for block in &blocks.blocks {
            let _block = self.budget.reserve(*block, "a block of the Arrow file")?;
            let Some(batch) = reader.next() else { break };
            let batch = batch.map_err(|e| damaged(self.source, "Arrow", e))?;
            let mut parts = vec![];
            let mut held = vec![];
            for k in 0..self.order.len() {
                let (array, name) = (
                    batch.column(self.order[k]),
                    batch.schema().field(self.order[k]).name().clone(),
                );
                let bytes = array.get_array_memory_size() as u64;
                held.push(self.budget.reserve(
                    bytes.saturating_add(8 * array.len() as u64),
                    "a block of the Arrow file",
                )?);
                let (width, values) = self.lists(array, &name, rows)?;
                if let Some(first) =
                    self.widths[k].filter(|first| *first != width && batch.num_rows() > 0)
                {
                    return Err(self.ragged(&name, rows, width, first));
                }
                if batch.num_rows() > 0 {
                    self.widths[k] = Some(width);
                }
                parts.push((width, values));
            }
            for row in 0..batch.num_rows() {
                for (width, values) in &parts {
                    values[row * width..(row + 1) * width]
                        .iter()
                        .try_for_each(|v| items.push(narrow(*v)))?;
                }
            }
            self.take_words(&batch)?;
            rows += batch.num_rows();
        }
        Ok((rows, items.finish()?))
    }

    fn ragged(&self, name: &str, row: usize, width: usize, first: usize) -> Error {
        let what =
            format!("a list of {width} numbers in column '{name}', those before have {first}");
        let e = Error::input(what).at_place(format!(
            "{}, row {} of the data or below",
            self.source.name(),
            row + 1
        ));
        e.remedy(format!(
            "lists of one length in every row, or {} to leave the column out",
            Opt::Columns.to(format!("!{name}"))
        ))
    }

    /// Numbers a row, and all numbers of one column; the rows of lists stand one after another.
    fn lists(&self, array: &dyn Array, name: &str, row: usize) -> Result<(usize, Vec<f64>)> {
        let place = |e: Error| e.at_least(format!("{}, column '{name}'", self.source.name()));
        if !is_list(array.data_type()) {
            return Ok((1, numbers(self.source, array).map_err(place)?));
        }
        if array.null_count() > 0 {
            let e = Error::input("a list is missing")
                .at_place(format!("{}, column '{name}'", self.source.name()));
            return Err(e.remedy("a list in every row, or leave the row out"));
        }
        let (width, child) = match array.as_fixed_size_list_opt() {
            Some(lists) => {
                let width = usize::try_from(lists.value_length()).unwrap_or(0);
                let values = lists.values();
                let values = values.slice(lists.offset() * width, lists.len() * width);
                (width, values)
            }
            None => self.free_lists(array, name, row)?,
        };
        if width == 0 && !array.is_empty() {
            let e = Error::input("the lists are empty")
                .at_place(format!("{}, column '{name}'", self.source.name()));
            return Err(e.remedy(format!(
                "{} to leave the column out",
                Opt::Columns.to(format!("!{name}"))
            )));
        }
        Ok((width, numbers(self.source, &child).map_err(place)?))
    }

    /// The length of the lists of a column that does not say it, and their numbers.
    fn free_lists(&self, array: &dyn Array, name: &str, row: usize) -> Result<(usize, ArrayRef)> {
        let short = array.as_list_opt::<i32>().map(|lists| {
            let ends = lists.value_offsets().iter();
            let ends = ends.map(|o| usize::try_from(*o).unwrap_or(0));
            (ends.collect::<Vec<usize>>(), lists.values())
        });
        let long = || {
            let lists = array.as_list_opt::<i64>()?;
            let ends = lists.value_offsets().iter();
            let ends = ends.map(|o| usize::try_from(*o).unwrap_or(0));
            Some((ends.collect::<Vec<usize>>(), lists.values()))
        };
        let Some((ends, values)) = short.or_else(long) else {
            return Err(damaged(self.source, "Arrow", "a column changed its type"));
        };
        let mut widths = ends.windows(2).map(|w| w[1].saturating_sub(w[0]));
        let width = widths.next().unwrap_or(0);
        if let Some((at, odd)) = widths.enumerate().find(|(_, n)| *n != width) {
            return Err(self.ragged(name, row + at + 1, odd, width));
        }
        let (first, last) = (
            ends.first().copied().unwrap_or(0),
            ends.last().copied().unwrap_or(0),
        );
        Ok((width, values.slice(first, last - first)))
    }

    fn take_words(&mut self, batch: &RecordBatch) -> Result<()> {
        for (at, column) in self.ids.iter().zip(&mut self.words) {
            let array = batch.column(*at);
            // An empty dictionary has no keys to ask for.
            let filled = array
                .as_any_dictionary_opt()
                .filter(|d| !d.values().is_empty());
            let values = filled.map(|d| (d.normalized_keys(), d.values().clone()));
            if !is_text(array.data_type()) {
                numbers(self.source, array)?
                    .into_iter()
                    .try_for_each(|v| column.push_number(v))?;
                continue;
            }
            for row in 0..array.len() {
                let word = match &values {
                    _ if array.is_null(row) => "",
                    Some((keys, values)) => keys.get(row).map_or("", |k| word(values, *k)),
                    None => word(array, row),
                };
                column.push(word)?;
            }
        }
        Ok(())
    }
}

/// The text of one row; empty where it is missing.
fn word(array: &dyn Array, row: usize) -> &str {
    if row >= array.len() || array.is_null(row) {
        return "";
    }
    if let Some(text) = array.as_string_opt::<i32>() {
        return text.value(row);
    }
    if let Some(text) = array.as_string_opt::<i64>() {
        return text.value(row);
    }
    array
        .as_string_view_opt()
        .map_or("", |text| text.value(row))
}

fn numbers(source: &Source, array: &dyn Array) -> Result<Vec<f64>> {
    match array.data_type() {
        DataType::Int8 => typed::<Int8Type>(array, |v| Ok(v.into())),
        DataType::Int16 => typed::<Int16Type>(array, |v| Ok(v.into())),
        DataType::Int32 => typed::<Int32Type>(array, |v| Ok(v.into())),
        DataType::Int64 => typed::<Int64Type>(array, exact_i64),
        DataType::UInt8 => typed::<UInt8Type>(array, |v| Ok(v.into())),
        DataType::UInt16 => typed::<UInt16Type>(array, |v| Ok(v.into())),
        DataType::UInt32 => typed::<UInt32Type>(array, |v| Ok(v.into())),
        DataType::UInt64 => typed::<UInt64Type>(array, exact_u64),
        DataType::Float32 => typed::<Float32Type>(array, |v| Ok(v.into())),
        DataType::Float64 => typed::<Float64Type>(array, Ok),
        _ => {
            let bits = array.as_boolean_opt().map(|bits| {
                bits.iter()
                    .map(|v| v.map_or(f64::NAN, |v| u8::from(v).into()))
                    .collect()
            });
            bits.ok_or_else(|| damaged(source, "Arrow", "a column changed its type"))
        }
    }
}

fn typed<T: ArrowPrimitiveType>(
    array: &dyn Array,
    number: fn(T::Native) -> Result<f64>,
) -> Result<Vec<f64>> {
    array
        .as_primitive::<T>()
        .iter()
        .map(|v| v.map_or(Ok(f64::NAN), number))
        .collect()
}
