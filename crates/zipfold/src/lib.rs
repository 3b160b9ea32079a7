//! zipfold
