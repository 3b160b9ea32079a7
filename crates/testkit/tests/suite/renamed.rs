//! Words of earlier versions in problem files and plan choices: each is refused with the word that
//! has taken its place.

use zipfold::Overrides;
use zipfold::Problem;
use zipfold::internals::core::renamed::{Place, RENAMED, Renamed, no_problem};

/// The refusal of a problem, or of a plan choice, with the word where it used to be. `None` for
/// words of Python, whose tests hold them.
fn refusal(word: &Renamed) -> Option<String> {
    let (keys, fold) = match (word.place, word.old) {
        (Place::Problem, old) => (format!("{old} = 'square'"), "kind = 'matrix'".to_string()),
        (Place::Fold, old) => (String::new(), format!("kind = '{old}', where = 'x < y'")),
        (Place::FoldKey, "along") => {
            let fold = "kind = 'reduce', op = 'sum', along = 'row'";
            (String::new(), fold.to_string())
        }
        (Place::FoldKey, old) => (String::new(), format!("kind = 'join', {old} = 'semi'")),
        (Place::Override, old) => {
            let (key, value) = old.split_once('=').unwrap_or((old, "1"));
            return Some(Overrides::read([(key, value)]).unwrap_err().to_string());
        }
        (Place::Method | Place::Argument | Place::Field, _) => return None,
    };
    let text = format!("schema = 1\nx = 'a'\n{keys}\nfolds = [{{ {fold} }}]");
    let error = toml::from_str::<Problem>(&text).unwrap_err();
    Some(no_problem(error.message()).to_string())
}

#[test]
fn an_old_word_is_refused_with_the_new_one() {
    let mut seen = 0;
    for word in RENAMED {
        if let Some(error) = refusal(word) {
            let wanted = format!(
                "expected '{}', got its earlier name '{}'",
                word.new, word.old
            );
            assert!(error.contains(&wanted), "{word:?}: {error}");
            seen += 1;
        }
    }
    let in_python = [Place::Method, Place::Argument, Place::Field];
    let others = RENAMED
        .iter()
        .filter(|word| in_python.contains(&word.place));
    assert_eq!(seen + others.count(), RENAMED.len());
}
