//! Two buffers of the host that a CUDA device reads and writes by itself, and a stream for the
//! copies, so that one piece is copied while the host is at the other and kernels run.
//!
//! [`Upload`](super::upload::Upload) and [`Download`](super::download::Download) are the two ways
//! through them.

use super::PIECE;
use super::failure::failed;
use cudarc::driver::result::{self, DriverError, event, stream};
use cudarc::driver::sys::{self, CUevent_flags};
use std::ffi::c_void;
use zipfold_core::Result;

/// A stream and two buffers of [`PIECE`] bytes, each with the event behind its last copy.
pub(super) struct Staging {
    pub(super) stream: sys::CUstream,
    buffers: [*mut c_void; 2],
    pub(super) copied: [sys::CUevent; 2],
}

// SAFETY: handles of the driver, used under a lock with their context current.
unsafe impl Send for Staging {}

impl Staging {
    /// Makes them in the current context.
    ///
    /// # Errors
    /// `Resource` or `Device` when the driver refuses memory that does not move.
    pub(super) fn new(purpose: &str) -> Result<Self> {
        let refused = |e: DriverError| failed(purpose, e);
        let mut made = Staging {
            stream: std::ptr::null_mut(),
            buffers: [std::ptr::null_mut(); 2],
            copied: [std::ptr::null_mut(); 2],
        };
        made.stream = stream::create(stream::StreamKind::NonBlocking).map_err(refused)?;
        for at in 0..2 {
            // SAFETY: freed once, by `drop`, which skips what was not made.
            made.buffers[at] = unsafe { result::malloc_host(PIECE, 0) }.map_err(refused)?;
            made.copied[at] =
                event::create(CUevent_flags::CU_EVENT_DISABLE_TIMING).map_err(refused)?;
        }
        Ok(made)
    }
    /// Lets copies begin once the work before `mark` is done.
    pub(super) fn begin_after(&self, mark: sys::CUevent) -> std::result::Result<(), DriverError> {
        let plain = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: the event is recorded, and alive as long as the caller's mark.
        unsafe { stream::wait_event(self.stream, mark, plain) }
    }
    /// Returns the first `length` bytes of buffer `at`.
    ///
    /// # Safety
    /// `length` is at most [`PIECE`], and no copy of the device uses the buffer meanwhile but one
    /// that the caller starts with it.
    pub(super) unsafe fn buffer(&mut self, at: usize, length: usize) -> &mut [u8] {
        // SAFETY: the buffer holds PIECE bytes; the caller keeps others away.
        unsafe { std::slice::from_raw_parts_mut(self.buffers[at].cast::<u8>(), length) }
    }
    /// Waits for all copies.
    pub(super) fn finish(&self) -> std::result::Result<(), DriverError> {
        // SAFETY: a stream of this struct.
        unsafe { stream::synchronize(self.stream) }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        for at in 0..2 {
            // SAFETY: made once by `new`; the owner makes the context current before it drops this.
            unsafe {
                if !self.copied[at].is_null() {
                    let _ = event::destroy(self.copied[at]);
                }
                if !self.buffers[at].is_null() {
                    let _ = result::free_host(self.buffers[at]);
                }
            }
        }
        if !self.stream.is_null() {
            // SAFETY: as above.
            let _ = unsafe { stream::destroy(self.stream) };
        }
    }
}
