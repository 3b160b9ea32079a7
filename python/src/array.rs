//! NumPy arrays as tables, without a copy.

use crate::errors::raise;
use numpy::{Element, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use zipfold::Table;
use zipfold::internals::core::{Buffer, Elements};

/// The elements of a C-contiguous array, and the array that keeps them alive.
struct Borrowed<T> {
    start: *const T,
    len: usize,
    _owner: Py<PyAny>,
}

// SAFETY: the elements are plain numbers that nothing here writes, and the owner may be released
// from any thread.
unsafe impl<T: Sync> Send for Borrowed<T> {}
// SAFETY: as above; shared reads of plain numbers.
unsafe impl<T: Sync> Sync for Borrowed<T> {}

impl<T> AsRef<[T]> for Borrowed<T> {
    fn as_ref(&self) -> &[T] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: `start` points at `len` contiguous, aligned elements of an array that `_owner`
        // keeps alive. As with every NumPy function that releases the interpreter, callers must not
        // write to an input while a call reads it.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

fn borrow<T: Element + Sync + 'static>(
    array: &Bound<'_, PyArray2<T>>,
) -> Option<(usize, usize, Buffer<T>)> {
    let start = array.data().cast_const();
    if !array.is_c_contiguous() || !start.is_aligned() {
        return None;
    }
    let [rows, cols] = [array.shape()[0], array.shape()[1]];
    let owner = array.clone().into_any().unbind();
    Some((
        rows,
        cols,
        Buffer::new(Borrowed {
            start,
            len: rows * cols,
            _owner: owner,
        }),
    ))
}

/// A table over a two-dimensional, C-contiguous array of f32 or f64. `arrays.py` makes everything
/// else into one.
pub(crate) fn table(array: &Bound<'_, PyAny>) -> PyResult<Table> {
    let made = if let Ok(double) = array.cast::<PyArray2<f64>>() {
        borrow(double).map(|(rows, cols, items)| Table::new(rows, cols, Elements::F64(items)))
    } else if let Ok(single) = array.cast::<PyArray2<f32>>() {
        borrow(single).map(|(rows, cols, items)| Table::new(rows, cols, Elements::F32(items)))
    } else {
        None
    };
    match made {
        Some(table) => table.map_err(|e| raise(array.py(), &e)),
        None => Err(PyTypeError::new_err(
            "rows are a C-contiguous array of two dimensions, float32 or float64",
        )),
    }
}
