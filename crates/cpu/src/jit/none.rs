//! Where no code can be made: the planner is told so, and the evaluator goes step by step.

use super::{Operands, Results};
use crate::pairs::lanes::Real;
use crate::pairs::program::Program;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::ops::Range;
use zipfold_core::pair::lower::Lowered;
use zipfold_plan::Isa;

/// A compiled formula, of which there is none for this architecture.
#[derive(Debug)]
pub struct NoCode<T>(Infallible, PhantomData<T>);

impl<T: Real> NoCode<T> {
    /// No code for this architecture.
    ///
    /// # Errors
    /// Always.
    pub fn compile(
        _: &Lowered,
        _: &Program,
        _: Isa,
        _: bool,
        _: Results,
    ) -> Result<Self, &'static str> {
        Err("code is made for AVX2 and AVX-512")
    }
    /// Rows that are evaluated side by side.
    pub fn rows(&self) -> usize {
        match self.0 {}
    }
    /// Numbers that a frame takes.
    pub fn frame(&self) -> usize {
        match self.0 {}
    }
    /// Evaluates rows, where there is code.
    ///
    /// # Safety
    /// None is needed: no value of this type exists.
    pub unsafe fn run(&self, _: &mut [f64], _: usize, _: &Range<usize>, _: &Operands<T>) {
        match self.0 {}
    }
}

/// Whether the system lets this process execute what it has written: nothing is written here.
pub fn is_executable() -> bool {
    false
}
