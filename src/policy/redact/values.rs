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
pub struct Secrets(Arc<RwLock<Option<Arc<Regex>>>>);

impl Secrets {
    /// Takes the place of what was known before.
    pub fn learn(&self, values: impl IntoIterator<Item = String>) {
        let mut known: Vec<String> = Vec::new();
        for value in values {
            let value = value.trim();
            if !is_telling(value) {
                continue;
            }
            // As it stands in text, and as it stands in JSON.
            let escaped = serde_json::to_string(value).unwrap_or_default();
            known.push(escaped.trim_matches('"').to_owned());
            known.push(value.to_owned());
        }
        // The longest first: one value may begin with another.
        known.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        known.dedup();
        let any = known.iter().map(|value| regex::escape(value)).collect::<Vec<_>>().join("|");
        let regex = (!known.is_empty()).then(|| Regex::new(&any)).transpose();
        let regex = regex.inspect_err(|error| tracing::error!("known secrets are not masked: {error}")).ok().flatten();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = regex.map(Arc::new);
    }

    /// `text` with these values masked. Borrowed when there are none.
    pub fn mask<'t>(&self, text: &'t str, kind: RedactKind) -> Cow<'t, str> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(known) = known else { return Cow::Borrowed(text) };
        known.replace_all(text, |found: &regex::Captures<'_>| match kind {
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
