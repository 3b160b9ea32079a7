//! The way to a CUDA device beside its work: pieces go through two buffers that the device reads by
//! itself, in a stream of their own, so that kernels run on meanwhile.

use super::PIECE;
use super::failure::failed;
use cudarc::driver::result::{self, DriverError, event, stream};
use cudarc::driver::sys::{self, CUevent_flags};
use std::ffi::c_void;
use zipfold_core::Result;

/// A stream and two buffers, each with the event that says it was read.
pub(super) struct There {
    stream: sys::CUstream,
    buffers: [*mut c_void; 2],
    free: [sys::CUevent; 2],
}

// SAFETY: handles of the driver, used under a lock with their context current.
unsafe impl Send for There {}

impl There {
    /// Made in the current context.
    ///
    /// # Errors
    /// `Resource` or `Device` when the driver refuses memory that does not move.
    pub(super) fn new() -> Result<Self> {
        let refused = |e: DriverError| failed("preparing copies to the device", e);
        let mut way = There {
            stream: std::ptr::null_mut(),
            buffers: [std::ptr::null_mut(); 2],
            free: [std::ptr::null_mut(); 2],
        };
        way.stream = stream::create(stream::StreamKind::NonBlocking).map_err(refused)?;
        for at in 0..2 {
            // SAFETY: freed once, by `drop`, which skips what was not made.
            way.buffers[at] = unsafe { result::malloc_host(PIECE, 0) }.map_err(refused)?;
            way.free[at] =
                event::create(CUevent_flags::CU_EVENT_DISABLE_TIMING).map_err(refused)?;
        }
        Ok(way)
    }
    /// Has `fill` make `bytes` bytes in pieces of `piece` bytes, at most [`PIECE`], and copies them
    /// to `to` on, once the work before `mark` is done; returns when they are there. `fill` takes
    /// the offset of a piece and the piece, and makes one while the one before is copied.
    ///
    /// # Errors
    /// `Device` when the work before or a copy failed.
    pub(super) fn take(
        &mut self,
        to: sys::CUdeviceptr,
        (bytes, piece): (usize, usize),
        mark: sys::CUevent,
        fill: &mut dyn FnMut(usize, &mut [u8]),
    ) -> Result<()> {
        let odd = |e: DriverError| failed("copying to the device", e);
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
        for (p, at) in (0..bytes).step_by(piece).enumerate() {
            let length = piece.min(bytes - at);
            let sent = self.send(to + at as u64, length, p, &mut |held| fill(at, held));
            if sent.is_err() {
                // SAFETY: a stream of this struct; nothing may read the buffers after an error.
                let _ = unsafe { stream::synchronize(self.stream) };
            }
            sent.map_err(odd)?;
        }
        // SAFETY: a stream of this struct.
        unsafe { stream::synchronize(self.stream) }.map_err(odd)
    }
    fn send(
        &mut self,
        to: sys::CUdeviceptr,
        length: usize,
        p: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> std::result::Result<(), DriverError> {
        let at = p % 2;
        if p >= 2 {
            // SAFETY: recorded two pieces before.
            unsafe { event::synchronize(self.free[at]) }?;
        }
        // SAFETY: the buffer holds PIECE bytes, and the copy out of it, if there was one, is done.
        let held = unsafe { std::slice::from_raw_parts_mut(self.buffers[at].cast::<u8>(), length) };
        fill(held);
        // SAFETY: the buffer is not written before the event recorded here; the caller checked that
        // the bytes fit.
        unsafe {
            result::memcpy_htod_async(to, held, self.stream)?;
            event::record(self.free[at], self.stream)
        }
    }
}

impl Drop for There {
    fn drop(&mut self) {
        for at in 0..2 {
            // SAFETY: made once by `new`; the owner makes the context current before it drops the
            // way.
            unsafe {
                if !self.free[at].is_null() {
                    let _ = event::destroy(self.free[at]);
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
