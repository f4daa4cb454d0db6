//! What stands between the rules and a question: a policy that changed on disk, untrusted text in the conversation, secrets
//! on their way out, and the model that may pass what is of low risk.

use super::place::Site;
use super::{Gate, look};
use crate::lock::lock;
use crate::policy::decide::{Decided, explain};
use crate::policy::redact::{RedactKind, mask_in};
use crate::policy::rule::Action;
use crate::policy::taint::{self, Untrusted};
use crate::policy::{Intent, Mode, Verdict, Why, frozen, smart};
use crate::tools::confine;
use crate::tools::spec::ToolCtx;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What an auxiliary model said to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// `PROVIDER:MODEL`; empty when there is none.
    pub model: String,
    pub said: Said,
}

/// Its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    Approve,
    Deny,
    /// Ask a person.
    Escalate,
    /// No answer, and why, in words that go on after its name.
    Nothing(String),
}

/// A judgement with all that bears on it.
pub(super) struct Judged {
    pub verdict: Verdict,
    /// It can be allowed for this once only.
    pub once: bool,
    /// What the auxiliary model may be asked.
    question: Option<String>,
    /// The rules that decided.
    pub rules: Vec<String>,
    /// It would be a question in another mode.
    pub unasked: bool,
}

impl Judged {
    fn plain(Decided { verdict, rules, unasked }: Decided) -> Self {
        Self { verdict, once: false, question: None, rules, unasked }
    }

    /// Whether the auxiliary model is asked first.
    pub(super) fn is_for_the_model(&self) -> bool {
        self.question.is_some()
    }
}

/// How a question ended before a person saw it.
pub(super) enum Weighed {
    /// It passes; in words, by whom.
    Pass(String),
    /// A person is asked; what the model said, for them to read.
    Ask(Option<Why>),
    /// The model advises against it: only this once can be allowed.
    Warned(Why),
}

impl Gate {
    /// The judgement for a task that works in this folder of this world; `None` when the turn was stopped first.
    pub(super) async fn judge(
        &self,
        tool: &str,
        intent: &Intent,
        site: &Site,
        cancel: &CancellationToken,
    ) -> Option<Judged> {
        let mode = self.mode();
        let mut rules = self.rules_for(tool, &site.reader);
        let untrusted = self.untrusted();
        let (intent, cwd, world, asker) =
            (intent.clone(), site.cwd.clone(), Arc::clone(&site.world), Arc::clone(&self.asker));
        look::unless_stopped(cancel, move || {
            let (differs, stricter) = asker.policy();
            stricter.tighten(&mut rules);
            let decided = explain(&intent, &cwd, &rules, mode, &*world);
            if !matches!(decided.verdict, Verdict::Allow(_) | Verdict::Ask(_)) {
                return Judged::plain(decided);
            }
            let Decided { verdict, rules: by, unasked } = decided;
            // Without rules and grants of files: what passes even so is harmless.
            let lines = rules.permissions.iter().any(|line| line.action == Action::Allow);
            let plain = mode == Mode::Manual && !lines;
            let unaided = if plain { verdict.clone() } else { frozen::unaided(&intent, &cwd, &rules, &*world) };
            let before = verdict.name();
            let mut verdict = verdict;
            let mut changed = false;
            if !matches!(unaided, Verdict::Allow(_)) && differs {
                verdict = frozen::frozen(verdict, unaided.clone());
                changed = true;
            }
            let verdict = taint::guarded(verdict, &unaided, &intent, mode, &untrusted, &*world);
            let tainted = verdict.reasons().iter().any(|why| why.effect == taint::AFTER);
            let once = tainted || changed && before == "allow";
            let asks_model = mode == Mode::Smart && !changed && !tainted;
            let question = asks_model.then(|| smart::question(&intent, &verdict, &*world)).flatten();
            let unasked = unasked && matches!(verdict, Verdict::Allow(_));
            Judged { verdict, once, question, rules: by, unasked }
        })
        .await
    }

    /// Asks the auxiliary model, where it has a say.
    pub(super) async fn weigh(&self, judged: &mut Judged, ctx: &ToolCtx) -> Weighed {
        let Some(question) = judged.question.take() else { return Weighed::Ask(None) };
        let question = self.dispatch().masks_for(ctx).apply(&question, RedactKind::Default).into_owned();
        let Advice { model, said } = self.asker.weigh(question, ctx.cancel.clone()).await;
        let why = |text: String| Why { effect: "smart mode".into(), text, span: 0..0 };
        match said {
            Said::Approve => Weighed::Pass(format!("approved by smart model {model}")),
            Said::Deny => {
                judged.once = true;
                Weighed::Warned(why(format!("the smart model {model} advises against it")))
            }
            Said::Escalate => Weighed::Ask(Some(why(format!("the smart model {model} leaves it to you")))),
            Said::Nothing(how) if model.is_empty() => Weighed::Ask(Some(why(how))),
            Said::Nothing(how) => Weighed::Ask(Some(why(format!("the smart model {model} {how}")))),
        }
    }

    /// Why a call must not run as it is written, whatever a person says: it holds a mask where a value should be.
    pub(super) fn masked(&self, intent: &Intent, ctx: &ToolCtx) -> Option<String> {
        if !ctx.config.security.redact_secrets {
            return None;
        }
        let (text, what) = match intent {
            Intent::Command { line, .. } => (line, "command"),
            Intent::Input { text, .. } => (text, "input"),
            Intent::Remote { args, .. } => (args, "argument"),
            Intent::Read(_) | Intent::Edit(_) | Intent::Talk => return None,
        };
        let mask = mask_in(text)?;
        Some(format!(
            "not run: `{mask}` in this {what} stands for a secret that is kept from you, and is no value. Have the program \
             read it from a variable or from its file, or ask the user to run it"
        ))
    }

    /// An edit of what no command could write in its sandbox asks every time: the sandbox holds commands, not the file tools.
    pub(super) fn beyond_sandbox(&self, judged: Judged, intent: &Intent, ctx: &ToolCtx) -> Judged {
        let Intent::Edit(edits) = intent else { return judged };
        if !matches!(judged.verdict, Verdict::Allow(_) | Verdict::Ask(_)) {
            return judged;
        }
        let Some((path, sandbox)) = confine::beyond(edits.iter().map(|edit| edit.path.as_path()), ctx) else {
            return judged;
        };
        let text = format!("writes {}, which the sandbox ({sandbox}) keeps commands from", path.display());
        let mut why = judged.verdict.reasons().to_vec();
        why.insert(0, Why { effect: "write beyond the sandbox".into(), text, span: 0..0 });
        Judged { verdict: Verdict::AskAlways(why), once: true, question: None, unasked: false, ..judged }
    }

    /// A known secret on its way to a program of somebody else asks every time.
    pub(super) fn leaking(&self, judged: Judged, intent: &Intent, ctx: &ToolCtx) -> Judged {
        let Intent::Remote { server, args, .. } = intent else { return judged };
        let masks = self.dispatch().masks_for(ctx);
        let holds = matches!(masks.secrets.mask(args, RedactKind::Default), std::borrow::Cow::Owned(_));
        if !holds || !matches!(judged.verdict, Verdict::Allow(_) | Verdict::Ask(_)) {
            return judged;
        }
        let mut why = judged.verdict.reasons().to_vec();
        let text = format!("its arguments hold a secret that would go to {server}");
        why.insert(0, Why { effect: "sends a secret".into(), text, span: 0..0 });
        Judged { verdict: Verdict::AskAlways(why), once: true, question: None, unasked: false, ..judged }
    }

    /// The person said this: hosts that they name may be reached.
    pub fn person_said(&self, text: &str) {
        if lock(&self.untrusted).heard(text) {
            self.asker.untrusted();
        }
    }

    /// Where untrusted text of this session came from.
    pub fn untrusted(&self) -> Untrusted {
        lock(&self.untrusted).clone()
    }

    /// Puts back what was known of a resumed session; nothing is known of a new one.
    pub fn restore_untrusted(&self, untrusted: Untrusted) {
        *lock(&self.untrusted) = untrusted;
    }
}
