//! What a person was asked about, so that nothing else runs: the effects and where the paths led. Looked at again right
//! before the run. And what was denied, so that it is not asked again.

use super::look;
use super::place::Site;
use crate::policy::{Intent, Verdict, frozen, proposals};
use crate::tools::spec::ToolCtx;
use crate::tools::targets::{self, Backends};

/// A verdict and the places it was about.
#[derive(Clone, Debug)]
pub struct Seen {
    pub verdict: Verdict,
    /// `None`: the disk was too slow to tell.
    pub backends: Option<Backends>,
}

impl Seen {
    /// Whether a person is to be asked.
    pub fn is_question(&self) -> bool {
        matches!(self.verdict, Verdict::Ask(_) | Verdict::AskAlways(_))
    }

    /// What is worse or elsewhere now that the call is judged like this; looks at the disk.
    pub async fn changed(&self, intent: &Intent, verdict: &Verdict, site: &Site, ctx: &ToolCtx) -> Vec<String> {
        let backends = match self.backends {
            Some(_) => look::backends(intent, verdict, site, &ctx.cancel).await,
            None => None,
        };
        self.differences(&Seen { verdict: verdict.clone(), backends })
    }

    /// What is worse or elsewhere now, a sentence each. What is asked no more, or reaches less, is no difference.
    pub fn differences(&self, now: &Seen) -> Vec<String> {
        let mut told = Vec::new();
        let (before, after) = (proposals::effects(&self.verdict), proposals::effects(&now.verdict));
        let asks = now.is_question();
        // That the policy changed on disk matters to what would pass by itself, not to what a person is asked about anyway.
        let new = |effect: &String| asks && !before.contains(effect) && effect != frozen::CHANGED;
        let new: Vec<String> = after.into_iter().filter(new).collect();
        if !new.is_empty() {
            told.push(format!("it would now do more: {}", new.join(", ")));
        }
        match (&self.backends, &now.backends) {
            (Some(before), Some(now)) => told.extend(targets::differences(before, now)),
            (Some(_), None) => told.push("the disk did not say where its paths lead now".into()),
            // Nothing was known then: what was shown said so.
            (None, _) => {}
        }
        told
    }
}

/// Calls that the person denied since they last said something.
#[derive(Debug, Default)]
pub struct Denials(Vec<(Intent, String)>);

/// More are of no use: a model that is denied so often has its turn stopped.
const MOST: usize = 64;

impl Denials {
    /// Keeps a denial and what the person said to it.
    pub fn keep(&mut self, intent: &Intent, feedback: &str) {
        if self.0.len() < MOST && self.said(intent).is_none() {
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
    use crate::policy::Why;

    fn seen(effects: &[&str], backends: &[(&str, &[&str])]) -> Seen {
        let why = |effect: &&str| Why { effect: (*effect).into(), text: String::new(), span: 0..1 };
        let backends =
            backends.iter().map(|(name, paths)| ((*name).to_owned(), paths.iter().map(Into::into).collect()));
        Seen { verdict: Verdict::Ask(effects.iter().map(why).collect()), backends: Some(backends.collect()) }
    }

    #[test]
    fn what_is_worse_or_elsewhere_is_told_and_what_is_milder_is_not() {
        let asked = seen(&["recursive delete"], &[("build", &["/p/build"]), ("*.o", &["/p/a.o", "/p/b.o"])]);
        for (now, told) in [
            (seen(&["recursive delete"], &[("build", &["/p/build"]), ("*.o", &["/p/a.o"])]), vec![]),
            (seen(&[], &[]), vec![]),
            (
                seen(&["recursive delete"], &[("build", &["/home/alice"]), ("*.o", &["/p/a.o", "/p/b.o", "/p/c.o"])]),
                vec!["*.o now also means /p/c.o", "build leads to /home/alice now"],
            ),
            (
                seen(&["recursive delete", "delete in root path"], &[]),
                vec!["it would now do more: delete in root path"],
            ),
            (Seen { backends: None, ..asked.clone() }, vec!["the disk did not say where its paths lead now"]),
        ] {
            assert_eq!(asked.differences(&now), told);
        }
        let allowed = Seen { verdict: Verdict::Allow(vec![]), backends: asked.backends.clone() };
        assert!(asked.differences(&allowed).is_empty());
    }

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
