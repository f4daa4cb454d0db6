//! Known secrets in text that streams: what may become one is held back until it is certain, so that none is ever shown.

use crate::policy::redact::Secrets;

/// Of one reply: of what it says, and of what it thinks.
#[derive(Debug, Default)]
pub struct StreamRedactors {
    pub text: StreamRedactor,
    pub reasoning: StreamRedactor,
}

/// What was held back of one stream.
#[derive(Debug, Default)]
pub struct StreamRedactor {
    held: String,
}

impl StreamRedactor {
    /// What can be shown after this piece.
    pub fn pass(&mut self, piece: &str, secrets: &Secrets) -> String {
        if piece.is_empty() {
            return String::new();
        }
        self.held.push_str(piece);
        let end = secrets.certain(&self.held);
        let rest = self.held.split_off(end);
        let ready = std::mem::replace(&mut self.held, rest);
        super::secrets::masked(&ready, secrets)
    }

    /// What is left at the end.
    pub fn end(&mut self, secrets: &Secrets) -> String {
        super::secrets::masked(&std::mem::take(&mut self.held), secrets)
    }

    /// Bytes that are held back: the end of what came.
    pub fn held(&self) -> usize {
        self.held.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(values: &[&str]) -> Secrets {
        let secrets = Secrets::default();
        secrets.learn(values.iter().map(|value| (*value).to_owned()));
        secrets
    }

    /// Every way to cut a text in three shows the same: the whole, masked.
    #[test]
    fn a_secret_is_masked_wherever_the_pieces_end() {
        let secrets = secrets(&["hunter2-hunter2", "hunter2-hunter2-longer", "xyz-12345-ab", "5-abcd-secret-9"]);
        for text in [
            "the key is hunter2-hunter2, keep it",
            "hunter2-hunter2-longer",
            "hunter2-hunter2-long",
            "a xyz-12345-abcd b 5-abcd-secret-9",
            "xyz-12345-ab5-abcd-secret-9",
            "nothing here but hunter2 and ünïcode",
        ] {
            let want = super::super::secrets::masked(text, &secrets);
            let cuts: Vec<usize> = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
            for first in &cuts {
                for second in cuts.iter().filter(|second| *second >= first) {
                    let mut redactor = StreamRedactor::default();
                    let mut shown = String::new();
                    for piece in [&text[..*first], &text[*first..*second], &text[*second..]] {
                        shown.push_str(&redactor.pass(piece, &secrets));
                        assert!(!shown.contains("hunter2-hunter2"), "{first} {second}");
                    }
                    shown.push_str(&redactor.end(&secrets));
                    assert_eq!(shown, want, "{first} {second}");
                }
            }
        }
    }

    #[test]
    fn without_secrets_nothing_waits() {
        let mut redactor = StreamRedactor::default();
        assert_eq!(redactor.pass("hunter", &secrets(&[])), "hunter");
        let known = secrets(&["hunter2-hunter2"]);
        assert_eq!(redactor.pass("some words", &known), "some words");
        assert_eq!(redactor.pass(" and h", &known), " and ");
        assert_eq!((redactor.pass("e", &known).as_str(), redactor.held()), ("he", 0));
    }
}
