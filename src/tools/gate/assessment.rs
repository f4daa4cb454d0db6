//! How a call is judged, and what a person was asked about: the effects and where the paths led. Looked at again right before
//! the run, so that nothing else runs.

use super::disk;
use super::environment::Environment;
use crate::policy::decide::Decided;
use crate::policy::{Intent, Verdict, proposals, unreviewed};
use crate::tools::spec::ToolCtx;
use crate::tools::targets::{self, ResolvedPaths};

/// A verdict with all that bears on it.
#[derive(Clone, Debug)]
pub(super) struct Assessment {
    pub verdict: Verdict,
    /// It can be allowed for this once only.
    pub once: bool,
    /// What the auxiliary model may be asked.
    pub question: Option<String>,
    /// The rules that decided.
    pub rules: Vec<String>,
    /// It would be a question in another mode.
    pub unasked: bool,
    /// Where its paths led when somebody was asked; `None`: nobody was, or the disk was too slow to tell.
    pub paths: Option<ResolvedPaths>,
}

impl From<Decided> for Assessment {
    fn from(Decided { verdict, rules, unasked }: Decided) -> Self {
        Self { verdict, once: false, question: None, rules, unasked, paths: None }
    }
}

impl Assessment {
    /// A verdict, and nothing else that bears on it.
    #[cfg(test)]
    pub(super) fn of(verdict: Verdict) -> Self {
        Self { verdict, once: false, question: None, rules: Vec::new(), unasked: false, paths: None }
    }

    /// Whether no answer lets it run.
    pub fn is_no(&self) -> bool {
        matches!(self.verdict, Verdict::Refuse(_) | Verdict::DeniedByRule(_))
    }

    /// The effects that it is asked about, each once.
    pub fn effects(&self) -> Vec<String> {
        effects(&self.verdict)
    }

    /// What is worse or elsewhere now that the call is judged like this; looks at the disk.
    pub async fn changed(
        &self,
        intent: &Intent,
        now: &Verdict,
        environment: &Environment,
        ctx: &ToolCtx,
    ) -> Vec<String> {
        let paths = match self.paths {
            Some(_) => disk::resolved_paths(intent, now, environment, &ctx.cancel).await,
            None => None,
        };
        self.differences(now, paths.as_ref())
    }

    /// What is worse or elsewhere now, a sentence each. What is asked no more, or reaches less, is no difference.
    fn differences(&self, now: &Verdict, paths: Option<&ResolvedPaths>) -> Vec<String> {
        let mut told = Vec::new();
        let (before, after) = (proposals::effects(&self.verdict), proposals::effects(now));
        let asks = is_question(now);
        // That the policy changed on disk matters to what would pass by itself, not to what a person is asked about anyway.
        let new = |effect: &String| asks && !before.contains(effect) && effect != unreviewed::CHANGED;
        let new: Vec<String> = after.into_iter().filter(new).collect();
        if !new.is_empty() {
            told.push(format!("it would now do more: {}", new.join(", ")));
        }
        match (&self.paths, paths) {
            (Some(before), Some(now)) => told.extend(targets::differences(before, now)),
            (Some(_), None) => told.push("could not check where its paths lead now".into()),
            // Nothing was known then: what was shown said so.
            (None, _) => {}
        }
        told
    }
}

/// Whether a person is to be asked.
pub(super) fn is_question(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Ask(_) | Verdict::AskAlways(_))
}

/// The effects that a verdict names, each once.
pub(super) fn effects(verdict: &Verdict) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for why in verdict.reasons() {
        if !found.contains(&why.effect) {
            found.push(why.effect.clone());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Why;

    fn judged(effects: &[&str], paths: &[(&str, &[&str])]) -> Assessment {
        let why = |effect: &&str| Why { effect: (*effect).into(), text: String::new(), span: 0..1 };
        let paths = paths.iter().map(|(name, paths)| ((*name).to_owned(), paths.iter().map(Into::into).collect()));
        let verdict = Verdict::Ask(effects.iter().map(why).collect());
        Assessment { paths: Some(paths.collect()), ..Assessment::of(verdict) }
    }

    #[test]
    fn what_is_worse_or_elsewhere_is_told_and_what_is_milder_is_not() {
        let asked = judged(&["recursive delete"], &[("build", &["/p/build"]), ("*.o", &["/p/a.o", "/p/b.o"])]);
        for (now, told) in [
            (judged(&["recursive delete"], &[("build", &["/p/build"]), ("*.o", &["/p/a.o"])]), vec![]),
            (judged(&[], &[]), vec![]),
            (
                judged(&["recursive delete"], &[("build", &["/home/alice"]), ("*.o", &["/p/a.o", "/p/b.o", "/p/c.o"])]),
                vec!["*.o now also means /p/c.o", "build now leads to /home/alice"],
            ),
            (
                judged(&["recursive delete", "delete in root path"], &[]),
                vec!["it would now do more: delete in root path"],
            ),
            (Assessment { paths: None, ..asked.clone() }, vec!["could not check where its paths lead now"]),
        ] {
            assert_eq!(asked.differences(&now.verdict, now.paths.as_ref()), told);
        }
        assert!(asked.differences(&Verdict::Allow(vec![]), asked.paths.as_ref()).is_empty());
    }
}
