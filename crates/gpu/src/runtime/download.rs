//! The way home from a CUDA device: pieces come through two buffers that the device writes by
//! itself, in a stream of their own, so that one piece is taken on the host while the next one and
//! the next kernel are under way.

use super::PIECE;
use super::failure::failed;
use cudarc::driver::result::{self, DriverError, event, stream};
use cudarc::driver::sys::{self, CUevent_flags};
use std::ffi::c_void;
use zipfold_core::Result;

/// A stream and two buffers, each with the event that says it is full.
pub(super) struct Way {
    stream: sys::CUstream,
    buffers: [*mut c_void; 2],
    full: [sys::CUevent; 2],
}

// SAFETY: handles of the driver, used under a lock with their context current.
unsafe impl Send for Way {}

impl Way {
    /// Made in the current context.
    ///
    /// # Errors
    /// `Resource` or `Device` when the driver refuses memory that does not move.
    pub(super) fn new() -> Result<Self> {
        let refused = |e: DriverError| failed("preparing copies from the device", e);
        let mut way = Way {
            stream: std::ptr::null_mut(),
            buffers: [std::ptr::null_mut(); 2],
            full: [std::ptr::null_mut(); 2],
        };
        way.stream = stream::create(stream::StreamKind::NonBlocking).map_err(refused)?;
        for at in 0..2 {
            // SAFETY: freed once, by `drop`, which skips what was not made.
            way.buffers[at] = unsafe { result::malloc_host(PIECE, 0) }.map_err(refused)?;
            way.full[at] =
                event::create(CUevent_flags::CU_EVENT_DISABLE_TIMING).map_err(refused)?;
        }
        Ok(way)
    }
    /// Hands `bytes` bytes from `from` on to `each` in pieces of `piece` bytes, after `mark`:
    /// offset, piece.
    ///
    /// # Errors
    /// `Device` when the work before or a copy failed, and those of `each`.
    pub(super) fn bring(
        &mut self,
        from: sys::CUdeviceptr,
        (bytes, piece): (usize, usize),
        mark: sys::CUevent,
        each: &mut dyn FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let odd = |e: DriverError| failed("copying from the device", e);
        // SAFETY: the event is recorded, and alive as long as the caller's mark.
        unsafe {
            stream::wait_event(
                self.stream,
                mark,
                sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT,
            )
        }
        .map_err(odd)?;
        let piece = piece.clamp(1, PIECE);
        let pieces = bytes.div_ceil(piece);
        let length = |p: usize| piece.min(bytes - p * piece);
        (0..pieces.min(2))
            .try_for_each(|p| self.start(from, p * piece, length(p), p % 2))
            .map_err(odd)?;
        for p in 0..pieces {
            // SAFETY: the event was recorded by `start`.
            unsafe { event::synchronize(self.full[p % 2]) }.map_err(odd)?;
            // SAFETY: the copy into the buffer is done, and the next into it starts below only; it
            // holds PIECE bytes.
            let held =
                unsafe { std::slice::from_raw_parts(self.buffers[p % 2].cast::<u8>(), length(p)) };
            let taken = each(p * piece, held);
            if taken.is_err() {
                // SAFETY: a stream of this struct.
                let _ = unsafe { stream::synchronize(self.stream) };
                return taken;
            }
            if p + 2 < pieces {
                self.start(from, (p + 2) * piece, length(p + 2), p % 2)
                    .map_err(odd)?;
            }
        }
        Ok(())
    }
    fn start(
        &mut self,
        from: sys::CUdeviceptr,
        at: usize,
        length: usize,
        buffer: usize,
    ) -> std::result::Result<(), DriverError> {
        // SAFETY: the buffer holds PIECE bytes, `length` at most; nobody reads it until its event
        // has been waited for. The caller keeps the device memory alive until all pieces are home.
        unsafe {
            let to = std::slice::from_raw_parts_mut(self.buffers[buffer].cast::<u8>(), length);
            result::memcpy_dtoh_async(to, from + at as u64, self.stream)?;
            event::record(self.full[buffer], self.stream)
        }
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        for at in 0..2 {
            // SAFETY: made once by `new`; the owner makes the context current before it drops the
            // way.
            unsafe {
                if !self.full[at].is_null() {
                    let _ = event::destroy(self.full[at]);
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
