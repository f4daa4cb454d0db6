//! What was denied, so that it is not asked again.

use crate::policy::Intent;

/// Calls that the person denied since they last said something.
#[derive(Debug, Default)]
pub struct Denials(Vec<(Intent, String)>);

/// More are of no use: a model that is denied so often has its turn stopped.
const MAX_KEPT: usize = 64;

impl Denials {
    /// Keeps a denial and what the person said to it.
    pub fn keep(&mut self, intent: &Intent, feedback: &str) {
        if self.0.len() < MAX_KEPT && self.said(intent).is_none() {
            self.0.push((intent.clone(), feedback.trim().to_owned()));
        }
    }

    /// What the person said when they denied the same.
    pub fn said(&self, intent: &Intent) -> Option<&str> {
        self.0.iter().find(|(denied, _)| is_same(denied, intent)).map(|(_, said)| said.as_str())
    }

    /// The person has said something new.
    pub fn forget(&mut self) {
        self.0.clear();
    }
}

/// Whether two calls come to the same: a command in other blanks, or in the background, is no other.
fn is_same(a: &Intent, b: &Intent) -> bool {
    match (a, b) {
        (Intent::Command { line: a, cwd: here, .. }, Intent::Command { line: b, cwd: there, .. }) => {
            here == there && a.split_whitespace().eq(b.split_whitespace())
        }
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_call_in_other_clothes_is_the_same() {
        let command =
            |line: &str, cwd: &str, background| Intent::Command { line: line.into(), cwd: cwd.into(), background };
        let mut denials = Denials::default();
        denials.keep(&command("rm  -rf build", "/p", false), " keep it ");
        assert_eq!(denials.said(&command("rm -rf build", "/p", true)), Some("keep it"));
        assert_eq!(denials.said(&command("rm -rf build", "/q", false)), None);
        assert_eq!(denials.said(&command("rm -rf built", "/p", false)), None);
        assert_eq!(denials.said(&Intent::Read("/etc/shadow".into())), None);
        denials.forget();
        assert_eq!(denials.said(&command("rm -rf build", "/p", false)), None);
    }
}
