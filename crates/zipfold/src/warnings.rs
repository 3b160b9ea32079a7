//! What a run has to say next to its answer.

use std::sync::{Arc, Mutex, PoisonError};
use zipfold_core::Message;

/// A list of warnings that the parts of a run share. Each is kept once. Nothing is printed: whoever
/// requested the run shows them, at its end or as they come.
///
/// ```
/// use zipfold::{Options, Warnings};
/// let warnings = Warnings::told(|text| eprintln!("warning: {text}"));
/// let options = Options { warnings: warnings.clone(), ..Options::default() };
/// assert!(options.warnings.all().is_empty());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Warnings(Arc<Shared>);

#[derive(Default)]
struct Shared {
    all: Mutex<Vec<Message>>,
    listener: Option<Listener>,
}

type Listener = Box<dyn Fn(&Message) + Send + Sync>;

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("all", &self.all)
            .finish_non_exhaustive()
    }
}

impl Warnings {
    /// An empty list that tells `listener` each warning when it is added: while the run may still
    /// be stopped because of it.
    pub fn told(listener: impl Fn(&Message) + Send + Sync + 'static) -> Self {
        Warnings(Arc::new(Shared {
            all: Mutex::default(),
            listener: Some(Box::new(listener)),
        }))
    }
    /// An empty list, of one answer, whose warnings go to this list too.
    #[doc(hidden)]
    pub fn of_one_answer(&self) -> Self {
        let all = self.clone();
        Self::told(move |text| all.add(text.clone()))
    }
    /// Keeps `text`, unless it is there already.
    #[doc(hidden)]
    pub fn add(&self, text: impl Into<Message>) {
        let text = text.into();
        let mut all = self.0.all.lock().unwrap_or_else(PoisonError::into_inner);
        if all.contains(&text) {
            return;
        }
        all.push(text.clone());
        // A listener may ask for the list.
        drop(all);
        if let Some(listener) = &self.0.listener {
            listener(&text);
        }
    }
    /// All of them, oldest first.
    #[must_use]
    pub fn all(&self) -> Vec<Message> {
        self.0
            .all
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_hears_each_warning_once_and_at_once() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let to = heard.clone();
        let warnings = Warnings::told(move |text| to.lock().unwrap().push(text.to_string()));
        let shared = warnings.clone();
        shared.add("no checkpoint");
        assert_eq!(*heard.lock().unwrap(), ["no checkpoint"]);
        warnings.add("no checkpoint");
        warnings.add("no room");
        assert_eq!(*heard.lock().unwrap().join(", "), *"no checkpoint, no room");
        assert_eq!(warnings.all(), ["no checkpoint", "no room"]);
    }

    #[test]
    fn each_answer_has_its_own_warnings() {
        let shared = Warnings::default();
        for text in ["a row of 'a'", "a row of 'b'", "a row of 'a'"] {
            let own = shared.of_one_answer();
            own.add(text);
            assert_eq!(own.all(), [text]);
        }
        assert_eq!(shared.all(), ["a row of 'a'", "a row of 'b'"]);
    }

    #[test]
    fn a_listener_may_ask_for_the_list() {
        let list: Arc<std::sync::OnceLock<Warnings>> = Arc::default();
        let (asked, seen) = (list.clone(), Arc::new(Mutex::new(Vec::new())));
        let to = seen.clone();
        let warnings =
            Warnings::told(move |_| to.lock().unwrap().extend(asked.get().map(Warnings::all)));
        list.set(warnings.clone()).unwrap();
        warnings.add("no room");
        assert_eq!(*seen.lock().unwrap(), [["no room"]]);
    }
}
