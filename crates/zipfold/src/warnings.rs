//! What a run has to say beside its answer.

use std::sync::{Arc, Mutex, PoisonError};

/// A list of warnings that the parts of a run share. Each is kept once. Nothing is printed: whoever asked for the run shows them.
#[derive(Clone, Debug, Default)]
pub struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    /// Keeps `text`, unless it is there already.
    pub fn add(&self, text: impl Into<String>) {
        let text = text.into();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.contains(&text) {
            all.push(text);
        }
    }
    /// All of them, oldest first.
    pub fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
