//! The way from a CUDA device: one piece is taken on the host while the next one and the next
//! kernel are under way.

use super::PIECE;
use super::failure::failed;
use super::staging::Staging;
use cudarc::driver::result::{self, DriverError, event};
use cudarc::driver::sys;
use zipfold_core::Result;

/// Copies from the device.
pub(super) struct Download(Staging);

impl Download {
    /// Made in the current context.
    ///
    /// # Errors
    /// `Resource` or `Device` when the driver refuses memory that does not move.
    pub(super) fn new() -> Result<Self> {
        Staging::new("preparing copies from the device").map(Download)
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
        self.0.begin_after(mark).map_err(odd)?;
        let piece = piece.clamp(1, PIECE);
        let pieces = bytes.div_ceil(piece);
        let length = |p: usize| piece.min(bytes - p * piece);
        (0..pieces.min(2))
            .try_for_each(|p| self.start(from, p * piece, length(p), p % 2))
            .map_err(odd)?;
        for p in 0..pieces {
            // SAFETY: the event was recorded by `start`.
            unsafe { event::synchronize(self.0.copied[p % 2]) }.map_err(odd)?;
            // SAFETY: the copy into the buffer is done, and the next into it starts below only.
            let held = unsafe { self.0.buffer(p % 2, length(p)) };
            let taken = each(p * piece, held);
            if taken.is_err() {
                let _ = self.0.finish();
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
        let (stream, copied) = (self.0.stream, self.0.copied[buffer]);
        // SAFETY: `length` is at most PIECE; nobody reads the buffer until its event has been
        // waited for. The caller keeps the device memory alive until all pieces have come.
        unsafe {
            let to = self.0.buffer(buffer, length);
            result::memcpy_dtoh_async(to, from + at as u64, stream)?;
            event::record(copied, stream)
        }
    }
}
