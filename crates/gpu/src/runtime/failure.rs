//! Errors of the CUDA driver in words.

use cudarc::driver::{DriverError, sys};
use zipfold_core::{Error, Opt};

/// What the driver says of `what`.
pub(super) fn failed(what: &str, e: DriverError) -> Error {
    let name = e.error_name().map_or_else(
        |_| format!("{:?}", e.0),
        |n| n.to_string_lossy().into_owned(),
    );
    if e.0 == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY {
        return Error::resource(format!("{what}: the GPU is out of memory"))
            .remedy(Opt::Device.to("cpu"));
    }
    Error::device(format!("{what}: CUDA says {name}")).remedy(Opt::Device.to("cpu"))
}
