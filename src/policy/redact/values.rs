//! Values that are known to be secrets: masked wherever they stand, whatever they look like.

use super::{MASK, RedactKind, mask};
use regex::Regex;
use std::borrow::Cow;
use std::sync::{Arc, PoisonError, RwLock};

/// Values under this many characters are left: they are words and numbers, too.
const SHORTEST: usize = 10;
/// Values without a digit need this many to be no word. A local server's key is often one: `lm-studio`, `not-needed`.
const LONGEST_WORD: usize = 24;

/// The known values. Clones share them: what one learns, all mask.
#[derive(Clone, Debug, Default)]
pub struct Secrets(Arc<RwLock<SecretValues>>);

#[derive(Debug, Default)]
struct SecretValues {
    known: Option<Arc<Known>>,
    /// Known whatever is learned later.
    kept: Vec<String>,
}

#[derive(Debug)]
struct Known {
    any: Regex,
    /// As they stand in text, in order.
    sorted: Vec<String>,
    /// Bytes that one of them begins with.
    firsts: [bool; 256],
    /// Bytes of the longest.
    longest: usize,
}

impl Known {
    fn new(mut known: Vec<String>) -> Option<Self> {
        // The longest first: one value may begin with another.
        known.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        known.dedup();
        let longest = known.first()?.len();
        let any = known.iter().map(|value| regex::escape(value)).collect::<Vec<_>>().join("|");
        let any = Regex::new(&any).inspect_err(|error| tracing::error!("cannot mask known secrets: {error}")).ok()?;
        let mut firsts = [false; 256];
        for value in &known {
            firsts[usize::from(value.as_bytes()[0])] = true;
        }
        known.sort();
        Some(Self { any, sorted: known, firsts, longest })
    }

    /// Whether a value begins with this.
    fn begins(&self, text: &str) -> bool {
        let at = self.sorted.partition_point(|value| value.as_str() < text);
        self.sorted.get(at).is_some_and(|value| value.starts_with(text))
    }
}

impl Secrets {
    fn known(&self) -> Option<Arc<Known>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).known.clone()
    }

    /// Takes the place of what was known before, but for what is kept.
    pub fn learn(&self, values: impl IntoIterator<Item = String>) {
        let mut held = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut known: Vec<String> = Vec::new();
        for value in values.into_iter().chain(held.kept.clone()) {
            let value = value.trim();
            if !is_telling(value) {
                continue;
            }
            // As it stands in text, and as it stands in JSON.
            let escaped = serde_json::to_string(value).unwrap_or_default();
            known.push(escaped.trim_matches('"').to_owned());
            known.push(value.to_owned());
        }
        held.known = Known::new(known).map(Arc::new);
    }

    /// Learns a value that stays known: a password that was typed.
    pub fn keep(&self, value: String) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).kept.push(value);
        self.add([]);
    }

    /// Learns values beside those that are known: a token that was got just now.
    pub fn add(&self, values: impl IntoIterator<Item = String>) {
        let known = self.known().map(|known| known.sorted.clone()).unwrap_or_default();
        self.learn(known.into_iter().chain(values));
    }

    /// Bytes from the start of a text that is not at its end yet, up to where a value may just have begun.
    pub fn certain(&self, text: &str) -> usize {
        let Some(known) = self.known() else { return text.len() };
        let from = text.ceil_char_boundary(text.len().saturating_sub(known.longest));
        let begun = text[from..]
            .char_indices()
            .map(|(at, _)| from + at)
            .find(|at| known.firsts[usize::from(text.as_bytes()[*at])] && known.begins(&text[*at..]));
        let Some(end) = begun else { return text.len() };
        // A whole value that reaches over this place stays in one piece.
        known
            .any
            .find_iter(text)
            .find(|found| found.start() < end && end < found.end())
            .map_or(end, |found| found.start())
    }

    /// `text` with these values masked. Borrowed when there are none.
    pub fn mask<'t>(&self, text: &'t str, kind: RedactKind) -> Cow<'t, str> {
        let Some(known) = self.known() else { return Cow::Borrowed(text) };
        known.any.replace_all(text, |found: &regex::Captures<'_>| match kind {
            RedactKind::FileRead => format!("{MASK}known secret…»"),
            _ => mask(&found[0]),
        })
    }
}

/// Whether a value can only be a secret: no word, no number, no path, no switch.
fn is_telling(value: &str) -> bool {
    let length = value.chars().count();
    let (digits, letters) = (value.contains(|c: char| c.is_ascii_digit()), value.contains(char::is_alphabetic));
    let mixed = digits && letters && length >= SHORTEST;
    (mixed || letters && length >= LONGEST_WORD) && !value.starts_with(['/', '~', '.'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_are_masked_in_any_shape() {
        let secrets = Secrets::default();
        let other = secrets.clone();
        assert!(matches!(other.mask("hunter2-hunter2", RedactKind::Code), Cow::Borrowed(_)));
        let known = [
            "hunter2-hunter2",
            "hunter2-hunter2-longer",
            "quo\"te-9999",
            "sk-no-key-required",
            "short1",
            "12345678901",
            "/etc/key.pem",
            "",
        ];
        secrets.learn(known.map(str::to_owned));
        for (text, kind, want) in [
            ("a hunter2-hunter2 b", RedactKind::Code, "a *** b"),
            ("a hunter2-hunter2-longer b", RedactKind::Code, "a hunter...nger b"),
            ("x=hunter2-hunter2", RedactKind::FileRead, "x=«redacted:known secret…»"),
            (r#"{"output":"quo\"te-9999"}"#, RedactKind::Code, r#"{"output":"***"}"#),
            ("sk-no-key-required short1 12345678901", RedactKind::Code, "sk-no-key-required short1 12345678901"),
            ("/etc/key.pem", RedactKind::Environment, "/etc/key.pem"),
        ] {
            assert_eq!(other.mask(text, kind), want);
        }
        secrets.learn([]);
        assert_eq!(other.mask("hunter2-hunter2", RedactKind::Code), "hunter2-hunter2");
    }
}
