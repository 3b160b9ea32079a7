//! plan
#![forbid(unsafe_code)]
