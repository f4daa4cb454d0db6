//! Text that is shown nowhere: a password on its way from the user to the program that asked.

use std::fmt;

/// A secret in memory. Its debug form tells nothing of it, and its bytes are overwritten when it goes.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Hidden(String);

impl Hidden {
    /// Takes over a text.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text, for whoever hands it on.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hidden")
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        crate::exec::terminal::input::wipe(&mut std::mem::take(&mut self.0).into_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_it_is_printed() {
        let secret = Hidden::new("correct horse".into());
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "Hidden Some(Hidden)");
        assert_eq!(secret.reveal(), "correct horse");
    }
}
