//! The way to a CUDA device next to its work, piece by piece.

use super::PIECE;
use super::failure::failed;
use super::staging::Staging;
use cudarc::driver::result::{self, DriverError, event};
use cudarc::driver::sys;
use zipfold_core::Result;

/// Copies to the device.
pub(super) struct Upload(Staging);

impl Upload {
    /// Made in the current context.
    ///
    /// # Errors
    /// `Resource` or `Device` when the driver refuses memory that does not move.
    pub(super) fn new() -> Result<Self> {
        Staging::new("preparing copies to the device").map(Upload)
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
        self.0.begin_after(mark).map_err(odd)?;
        let piece = piece.clamp(1, PIECE);
        for (p, at) in (0..bytes).step_by(piece).enumerate() {
            let length = piece.min(bytes - at);
            let sent = self.send(to + at as u64, length, p, &mut |held| fill(at, held));
            if sent.is_err() {
                // Nothing may read the buffers after an error.
                let _ = self.0.finish();
            }
            sent.map_err(odd)?;
        }
        self.0.finish().map_err(odd)
    }
    fn send(
        &mut self,
        to: sys::CUdeviceptr,
        length: usize,
        p: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> std::result::Result<(), DriverError> {
        let (stream, copied) = (self.0.stream, self.0.copied[p % 2]);
        if p >= 2 {
            // SAFETY: recorded two pieces before.
            unsafe { event::synchronize(copied) }?;
        }
        // SAFETY: `length` is at most PIECE, and the copy out of the buffer, if there was one, is
        // done.
        let held = unsafe { self.0.buffer(p % 2, length) };
        fill(held);
        // SAFETY: the buffer is not written before the event recorded here; the caller checked that
        // the bytes fit.
        unsafe {
            result::memcpy_htod_async(to, held, stream)?;
            event::record(copied, stream)
        }
    }
}
