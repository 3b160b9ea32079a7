//! io

pub mod bayes;
pub mod bif;
pub mod ergo;
pub mod evidence;
pub mod hugin;
pub mod lexer;
pub mod network;
pub mod tokens;
pub mod uai;
pub mod uai_result;
pub mod xmlbif;
