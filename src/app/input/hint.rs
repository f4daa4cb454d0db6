//! Keys in words, from the live keymap. A key that is bound to nothing is not spoken of.

use super::{edit, focus};
use crate::app::action::Action;
use crate::app::model::Model;
use crate::config::keymap::{Context, display};

/// The first key of an action in the modal on top; `None` where no key reaches it. Letters reach nothing where they are
/// written, and chords nothing in a modal.
pub fn here(model: &Model, action: Action) -> Option<String> {
    let modal = model.tab.modals.last()?;
    single(model, focus::modal_context(modal), action, focus::writes(modal))
}

/// The first key of an action in a field of one line that is about to open.
pub fn field(model: &Model, action: Action) -> Option<String> {
    single(model, Context::Field, action, true)
}

/// The first key of an action in a list that is about to open.
pub fn picker(model: &Model, action: Action) -> Option<String> {
    single(model, Context::Picker, action, true)
}

fn single(model: &Model, context: Context, action: Action, writes: bool) -> Option<String> {
    let name = action.name();
    let own = model.keymap.bindings.iter().filter(|binding| binding.context == context && binding.action == name);
    let mut keys = own.map(|binding| &*binding.keys);
    keys.find(|keys| matches!(keys, [key] if !writes || edit::printable(*key).is_none())).map(display)
}

/// The first key of an action in one context, chords last.
pub fn key_in(model: &Model, context: Context, action: Action) -> Option<String> {
    model.keymap.key_in(context, action.name())
}

/// The first key of an action wherever it is bound.
pub fn key(model: &Model, action: Action) -> Option<String> {
    model.keymap.keys_for(action.name()).into_iter().next()
}

/// Two keys of one kind, as in `↑↓`.
pub fn pair(first: Option<String>, second: Option<String>) -> Option<String> {
    match (first, second) {
        (Some(first), Some(second)) => {
            let glyphs = [&first, &second].iter().all(|key| key.chars().count() == 1);
            Some(if glyphs { format!("{first}{second}") } else { format!("{first} {second}") })
        }
        (first, second) => first.or(second),
    }
}

/// `Enter takes it · Esc`: what each key does, but for those that are none.
pub fn list(parts: &[(Option<String>, &str)]) -> String {
    joined(parts, " · ")
}

/// The same as part of a sentence: `Enter keeps the hits, Esc forgets them`.
pub fn sentence(parts: &[(Option<String>, &str)]) -> String {
    joined(parts, ", ")
}

fn joined(parts: &[(Option<String>, &str)], between: &str) -> String {
    let said = parts.iter().filter_map(|(key, does)| Some(format!("{} {does}", key.as_deref()?).trim_end().to_owned()));
    said.collect::<Vec<_>>().join(between)
}

/// `y or n, then Enter`: keys that mark and the one that takes what is marked. Empty where nothing takes it.
pub fn marks_then(marks: &[Option<String>], takes: Option<String>) -> String {
    let Some(takes) = takes else { return String::new() };
    let marks: Vec<&str> = marks.iter().flatten().map(String::as_str).collect();
    if marks.is_empty() { takes } else { format!("{}, then {takes}", marks.join(" or ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_none_are_not_spoken_of() {
        let key = |text: &str| Some(text.to_owned());
        assert_eq!(list(&[(key("Enter"), "select"), (None, "scrolls"), (key("Esc"), "")]), "Enter select · Esc");
        assert_eq!(sentence(&[(key("F2"), "keeps them"), (key("Esc"), "forgets")]), "F2 keeps them, Esc forgets");
        assert_eq!(pair(key("↑"), key("↓")), key("↑↓"));
        assert_eq!(pair(key("F2"), key("↓")), key("F2 ↓"));
        assert_eq!(pair(None, key("j")), key("j"));
        assert_eq!(marks_then(&[key("o"), None, key("t")], key("Enter")), "o or t, then Enter");
        assert_eq!(marks_then(&[None], key("Enter")), "Enter");
        assert_eq!(marks_then(&[key("y")], None), "");
    }
}
