//! Results written straight into an array of the caller.

use numpy::{PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use zipfold::internals::cpu::pairs::store::{LONG, LONGEST, copy};
use zipfold::internals::plan::{Sink, Values};
use zipfold::{Error, Result};

/// Memory of a C-contiguous array, in either precision.
pub(crate) struct Place {
    start: Start,
    len: usize,
    _owner: Py<PyAny>,
}

#[derive(Clone, Copy)]
enum Start {
    F32(*mut f32),
    F64(*mut f64),
}

// SAFETY: runs written by different threads never overlap, and the owner may be released from any
// thread.
unsafe impl Send for Place {}
// SAFETY: as above: `put` writes disjoint runs, and nothing reads before the run has ended.
unsafe impl Sync for Place {}

impl Start {
    fn size(self) -> usize {
        match self {
            Start::F32(_) => 4,
            Start::F64(_) => 8,
        }
    }
}

impl Place {
    /// The memory of `out`, which must have `shape`.
    pub(crate) fn for_output(out: &Bound<'_, PyAny>, shape: &[usize]) -> PyResult<Place> {
        let (start, found, fits) = if let Ok(a) = out.cast::<PyArrayDyn<f64>>() {
            let fits = a.is_c_contiguous() && a.data().is_aligned() && a.try_readwrite().is_ok();
            (Start::F64(a.data()), a.shape().to_vec(), fits)
        } else if let Ok(a) = out.cast::<PyArrayDyn<f32>>() {
            let fits = a.is_c_contiguous() && a.data().is_aligned() && a.try_readwrite().is_ok();
            (Start::F32(a.data()), a.shape().to_vec(), fits)
        } else {
            return Err(PyValueError::new_err(
                "out: an array of float64 or float32 is wanted",
            ));
        };
        if found != shape {
            return Err(PyValueError::new_err(format!(
                "out: an array of shape {found:?}, the result has {shape:?}"
            )));
        }
        if !fits {
            return Err(PyValueError::new_err(
                "out: a C-contiguous, aligned and writable array is wanted",
            ));
        }
        Ok(Place {
            start,
            len: shape.iter().product(),
            _owner: out.clone().unbind(),
        })
    }
}

/// A new C-contiguous array of `shape`, not filled: a dense fold writes every element.
pub(crate) fn fresh<'py>(
    py: Python<'py>,
    shape: &[usize],
    single: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let elements = shape.iter().try_fold(1usize, |n, s| n.checked_mul(*s));
    let bytes = elements.and_then(|n| n.checked_mul(if single { 4 } else { 8 }));
    if bytes.is_none_or(|b| b > isize::MAX as usize) {
        return Err(PyValueError::new_err(format!(
            "a matrix of shape {shape:?} is beyond any memory"
        )));
    }
    let numpy = py.import(intern!(py, "numpy"))?;
    let kind = if single { "f4" } else { "f8" };
    numpy.call_method1(intern!(py, "empty"), (PyTuple::new(py, shape)?, kind))
}

impl Sink for Place {
    fn gathers(&self) -> bool {
        self.len.saturating_mul(self.start.size()) >= LONGEST
    }
    fn put(&self, _fold: usize, at: usize, values: Values<'_>) -> Result<()> {
        let run = match values {
            Values::F32(v) => v.len(),
            Values::F64(v) => v.len(),
        };
        if at.checked_add(run).is_none_or(|end| end > self.len) {
            return Err(Error::internal("a tile wrote beyond the array"));
        }
        let bypass = self.len.saturating_mul(self.start.size()) >= LONG;
        match (self.start, values) {
            // SAFETY: `at + run` was checked against the elements that `_owner` keeps alive, and no
            // other thread writes this run.
            (Start::F64(to), Values::F64(v)) => unsafe {
                copy(to.add(at).cast(), v.as_ptr().cast(), size_of_val(v), bypass);
            },
            // SAFETY: as above.
            (Start::F32(to), Values::F32(v)) => unsafe {
                copy(to.add(at).cast(), v.as_ptr().cast(), size_of_val(v), bypass);
            },
            // SAFETY: as above.
            (Start::F64(to), Values::F32(v)) => unsafe {
                write_each(to.add(at), v, |v| f64::from(*v));
            },
            // SAFETY: as above.
            (Start::F32(to), Values::F64(v)) => unsafe {
                write_each(to.add(at), v, |v| *v as f32);
            },
        }
        Ok(())
    }
}

/// Writes values one by one in another precision.
///
/// # Safety
/// As many elements as there are `values` can be written at `to`.
unsafe fn write_each<T, U>(to: *mut U, values: &[T], convert: impl Fn(&T) -> U) {
    for (k, value) in values.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { to.add(k).write(convert(value)) };
    }
}
