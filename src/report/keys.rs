//! The keys and logins of model providers as lines: which are ready, which rest and until when.

use crate::accounts::KeyStatus;
use crate::text::visible::visible;
use crate::text::width::{pad, width};
use std::fmt::Write as _;

/// A line a key; empty when there is none.
pub fn text(all: &[KeyStatus]) -> String {
    let wide = |of: fn(&KeyStatus) -> &str| all.iter().map(|key| width(of(key))).max().unwrap_or_default();
    let (first, second, third) = (wide(|key| &key.provider), wide(|key| &key.label), wide(|key| &key.place));
    let mut out = String::new();
    for key in all {
        // The words of a server: one line, and nothing that a terminal obeys.
        let why = visible(&key.why.replace(['\n', '\r', '\t'], " ")).text;
        let why = if why.is_empty() { why } else { format!("  {why}") };
        let _ = writeln!(
            out,
            "{}  {}  {}  {}  {}{why}",
            pad(&key.provider, first),
            pad(&key.label, second),
            pad(key.kind, 5),
            pad(&key.place, third),
            key.words(),
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::KeyState;

    #[test]
    fn a_line_says_which_key_where_and_how_it_stands() {
        let key = |provider: &str, label: &str, state, why: &str| KeyStatus {
            provider: provider.into(),
            id: "a1b2c3".into(),
            label: label.into(),
            kind: "login",
            place: "auth.json".into(),
            state,
            expires_at: None,
            requests: 0,
            why: why.into(),
        };
        let all = [
            key("nous", "default", KeyState::Ready, ""),
            key("openrouter", "work", KeyState::Over, "revoked by\n\u{1b}its owner"),
        ];
        assert_eq!(
            text(&all),
            "nous        default  login  auth.json  ready\n\
             openrouter  work     login  auth.json  over: run `hermes login openrouter`  revoked by ␛its owner\n"
        );
        assert_eq!(text(&[]), "");
    }
}
