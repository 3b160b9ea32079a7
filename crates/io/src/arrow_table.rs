//! Numeric columns of Arrow IPC files (Feather version 2); nulls are NaN.

use crate::foreign::{contained, damaged, not_numeric};
use crate::growing::Growing;
use crate::guard::{Source, check_claim};
use crate::npy::{exact_i64, exact_u64};
use crate::packed::{Codec, Part, check};
use crate::select::pick;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrow_ipc::{Block, CompressionType, RecordBatch as RawBatch};
use arrow_schema::{DataType, Schema};
use zipfold_core::{Budget, Buffer, Elements, Reservation, Result, Table};

/// Reads the chosen columns (all when `None`) of the Arrow file `source`. Columns that are all single precision give
/// f32, else f64.
///
/// # Errors
/// `Input` when the file is damaged, a column is not numeric or an integer is beyond 2^53; `Request` for columns that
/// are not there; `Resource` beyond the budget.
pub fn read_arrow(source: &Source, columns: Option<&[String]>, budget: &Budget) -> Result<Table> {
    contained(source, "Arrow", || {
        let blocks = check_claims(source, budget)?;
        let open =
            |projection| FileReader::try_new(source.reader_at(0), projection).map_err(|e| damaged(source, "Arrow", e));
        let schema = open(None)?.schema();
        let names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
        let picked = match columns {
            Some(wanted) => pick(wanted, Some(&names), names.len()).map_err(|e| e.at(source.name()))?,
            None => (0..names.len()).collect(),
        };
        picked.iter().try_for_each(|at| check_numeric(source, &schema, *at))?;
        let mut sorted = picked.clone();
        sorted.sort_unstable();
        let order: Vec<usize> = picked.iter().filter_map(|at| sorted.binary_search(at).ok()).collect();
        let reader = open(Some(sorted))?;
        let single = !picked.is_empty() && picked.iter().all(|at| *schema.field(*at).data_type() == DataType::Float32);
        let (rows, elements) = if single {
            let (rows, items) = read_batches(source, reader, &order, &blocks, budget, |v| v as f32)?;
            (rows, Elements::F32(Buffer::new(items)))
        } else {
            let (rows, items) = read_batches(source, reader, &order, &blocks, budget, |v| v)?;
            (rows, Elements::F64(Buffer::new(items)))
        };
        let table = Table::new(rows, picked.len(), elements)?;
        table.with_names(picked.iter().map(|at| names[*at].clone()).collect()).map_err(|e| e.at(source.name()))
    })
}

/// What the decoder holds of the file.
struct Held {
    /// The footer and the dictionaries, as long as it reads.
    _always: Reservation,
    /// Bytes of each block of rows while it is read.
    blocks: Vec<u64>,
}

/// Times the size of the footer that its schema takes when it is read.
const FOOTER: u64 = 8;

/// Every size that the file claims, before the decoder allocates for it.
fn check_claims(source: &Source, budget: &Budget) -> Result<Held> {
    let size = source.size();
    let claim = |what: &str, bytes: Option<u64>| check_claim(source.name().to_owned(), what, bytes, size);
    claim("an Arrow file", Some(20))?;
    let mut tail = [0; 10];
    source.fill_at(size - 10, &mut tail)?;
    let len = arrow_ipc::reader::read_footer_length(tail).map_err(|e| damaged(source, "Arrow", e))? as u64;
    claim("the Arrow footer", len.checked_add(10))?;
    let mut bytes = budget.vec(len as usize, 0u8, "the footer of the Arrow file")?;
    source.fill_at(size - 10 - len, &mut bytes.items)?;
    let footer = arrow_ipc::root_as_footer(&bytes.items).map_err(|e| damaged(source, "Arrow", e))?;
    let sizes = |blocks: &mut dyn Iterator<Item = &Block>| {
        blocks.map(|block| check_block(source, block, budget)).collect::<Result<Vec<u64>>>()
    };
    let blocks = sizes(&mut footer.recordBatches().into_iter().flatten())?;
    let dictionaries = sizes(&mut footer.dictionaries().into_iter().flatten())?;
    let always = dictionaries.iter().fold(len.saturating_mul(FOOTER), |sum, bytes| sum.saturating_add(*bytes));
    let _always = budget.reserve(always, "the footer and dictionaries of the Arrow file")?;
    Ok(Held { _always, blocks })
}

/// Bytes that the decoder holds of a block: as it is packed, and unpacked.
fn check_block(source: &Source, block: &Block, budget: &Budget) -> Result<u64> {
    let number = |value: i64| u64::try_from(value).ok();
    let (at, meta, body) = (number(block.offset()), number(block.metaDataLength().into()), number(block.bodyLength()));
    let end = at.zip(meta).zip(body).and_then(|((a, m), b)| a.checked_add(m)?.checked_add(b));
    check_claim(source.name().to_owned(), "a block of the Arrow file", end, source.size())?;
    let (at, meta) = (at.unwrap_or(0), meta.unwrap_or(0));
    let mut bytes = budget.vec(usize::try_from(meta).unwrap_or(usize::MAX), 0u8, "a block of the Arrow file")?;
    source.fill_at(at, &mut bytes.items)?;
    let bytes = &bytes.items[..];
    // The length comes behind a mark that old files lack.
    let skip = if bytes.starts_with(&[0xff; 4]) { 8 } else { 4 };
    let message = bytes.get(skip..).unwrap_or_default();
    let message = arrow_ipc::root_as_message(message).map_err(|e| damaged(source, "Arrow", e))?;
    let batch =
        message.header_as_record_batch().or_else(|| message.header_as_dictionary_batch().and_then(|d| d.data()));
    let packed = meta.saturating_mul(FOOTER).saturating_add(body.unwrap_or(0));
    let unpacked = batch.map_or(Ok(0), |batch| check_packed(source, at + meta, batch, budget))?;
    Ok(packed.saturating_add(unpacked))
}

/// The unpacked size that the compressed buffers of a block claim, none of which may be a lie.
fn check_packed(source: &Source, body_at: u64, batch: RawBatch<'_>, budget: &Budget) -> Result<u64> {
    let Some(compression) = batch.compression() else { return Ok(0) };
    let codec = if compression.codec() == CompressionType::ZSTD { Codec::Zstd } else { Codec::Lz4 };
    let mut total = 0u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let (Ok(at), Ok(len @ 8..)) = (u64::try_from(buffer.offset()), u64::try_from(buffer.length())) else {
            continue;
        };
        let mut size = [0; 8];
        let at = body_at.saturating_add(at);
        source.fill_at(at, &mut size)?;
        let claimed = u64::try_from(i64::from_le_bytes(size)).unwrap_or(0);
        // No codec packs better than this, whatever the data.
        let most = len.saturating_mul(1 << 16);
        check_claim(source.name().to_owned(), "a compressed buffer", Some(claimed), most)?;
        if i64::from_le_bytes(size) >= 0 {
            check(Part { source, at: at + 8, len: len - 8 }, codec, claimed, budget.free() / 8, "Arrow")?;
        }
        // A decoder of frames keeps a window of what it gave.
        total = total.saturating_add(claimed).saturating_add(claimed / 2);
    }
    Ok(total)
}

fn is_numeric(kind: &DataType) -> bool {
    kind.is_integer() || matches!(kind, DataType::Float32 | DataType::Float64 | DataType::Boolean)
}

fn check_numeric(source: &Source, schema: &Schema, at: usize) -> Result<()> {
    let field = schema.field(at);
    if is_numeric(field.data_type()) {
        return Ok(());
    }
    let numeric = schema.fields().iter().filter(|f| is_numeric(f.data_type()));
    let others: Vec<&str> = numeric.map(|f| f.name().as_str()).take(20).collect();
    Err(not_numeric(source, field.name(), &format!("{}", field.data_type()), &others))
}

fn read_batches<T: Copy>(
    source: &Source,
    reader: FileReader<crate::guard::SourceReader>,
    order: &[usize],
    held: &Held,
    budget: &Budget,
    narrow: fn(f64) -> T,
) -> Result<(usize, Growing<T>)> {
    let mut items = Growing::new(budget, format!("the rows of {}", source.name()));
    let mut rows = 0;
    let mut reader = reader;
    for block in &held.blocks {
        let _block = budget.reserve(*block, "a block of the Arrow file")?;
        let Some(batch) = reader.next() else { break };
        let batch = batch.map_err(|e| damaged(source, "Arrow", e))?;
        let bytes = (batch.num_rows() as u64).saturating_mul(8 * order.len() as u64);
        let _room = budget.reserve(bytes, "a block of the Arrow file")?;
        let columns = order.iter().map(|at| numbers(source, &batch, *at)).collect::<Result<Vec<_>>>()?;
        for row in 0..batch.num_rows() {
            for column in &columns {
                items.push(narrow(column[row]))?;
            }
        }
        rows += batch.num_rows();
    }
    Ok((rows, items.finish()?))
}

fn numbers(source: &Source, batch: &RecordBatch, at: usize) -> Result<Vec<f64>> {
    let array = batch.column(at);
    let found = match array.data_type() {
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
            let bits = array
                .as_boolean_opt()
                .map(|bits| bits.iter().map(|v| v.map_or(f64::NAN, |v| u8::from(v).into())).collect());
            bits.ok_or_else(|| damaged(source, "Arrow", "a column changed its type"))
        }
    };
    found.map_err(|e| e.at_least(format!("{}, column '{}'", source.name(), batch.schema().field(at).name())))
}

fn typed<T: ArrowPrimitiveType>(array: &dyn Array, number: fn(T::Native) -> Result<f64>) -> Result<Vec<f64>> {
    array.as_primitive::<T>().iter().map(|v| v.map_or(Ok(f64::NAN), number)).collect()
}
