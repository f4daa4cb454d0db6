//! How a call is assessed: by the rules, and by what stands between them and a run: a policy that changed on disk, untrusted
//! text in the conversation, secrets on their way out, a sandbox, a hook.

use super::assessment::Assessment;
use super::environment::Environment;
use super::request::Request;
use super::{Gate, disk};
use crate::config::InContainers;
use crate::policy::decide::{Decided, PLANNING, explain, only_reads};
use crate::policy::place::relaxed;
use crate::policy::redact::{RedactKind, mask_in};
use crate::policy::rule::Action;
use crate::policy::{Intent, Mode, Verdict, Why, smart, taint, unreviewed};
use crate::tools::confine;
use crate::tools::spec::ToolCtx;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

impl Gate {
    /// Judges a call as it is now, where it would run; an error says why it cannot run, `None` that the turn was stopped
    /// first.
    pub(super) async fn assess(&self, request: &Request<'_>) -> Option<Result<(Assessment, Environment), String>> {
        let (intent, ctx) = (&request.intent, request.ctx);
        let environment = self.environment(intent, ctx).await?;
        if let Some(why) = self.holds_mask(intent, ctx) {
            return Some(Err(why));
        }
        let assessment = self.judge(request.tool, intent, &environment, &ctx.cancel).await?;
        let mut assessment = self.beyond_sandbox(self.leaking(assessment, intent, ctx), intent, ctx);
        if self.mode() == Mode::Plan {
            assessment = match intent {
                Intent::Command { line, .. } => unheld(assessment, line, &environment, ctx).await,
                Intent::Code { .. } => unheld_script(assessment, ctx).await,
                _ => assessment,
            };
        }
        if ctx.config.approvals.containers == InContainers::Relax && ctx.backends.is_isolated() {
            assessment.verdict = relaxed(assessment.verdict, intent);
        }
        // Edits of files in the folder are free; what leaves the conversation with them is not.
        if matches!(assessment.verdict, Verdict::Allow(_))
            && assessment.rules.is_empty()
            && !request.drops.is_empty()
            && self.mode() != Mode::Yolo
        {
            assessment.verdict = Verdict::Ask(vec![drops_turns(request.drops.len())]);
        }
        if let (Verdict::Allow(_), Some(reason)) = (&assessment.verdict, request.hook) {
            assessment.verdict = Verdict::AskAlways(vec![asked_by_hook(reason)]);
        }
        Some(Ok((assessment, environment)))
    }

    /// The judgement for a task that works in this folder of this world; `None` when the turn was stopped first.
    pub(super) async fn judge(
        &self,
        tool: &str,
        intent: &Intent,
        environment: &Environment,
        cancel: &CancellationToken,
    ) -> Option<Assessment> {
        let mode = self.mode();
        let mut rules = self.rules_for(tool, &environment.reader);
        let untrusted = self.untrusted();
        let (intent, cwd, world, asker) =
            (intent.clone(), environment.cwd.clone(), Arc::clone(&environment.world), Arc::clone(&self.asker));
        disk::unless_stopped(cancel, move || {
            let (differs, stricter) = asker.policy();
            stricter.tighten(&mut rules);
            let decided = explain(&intent, &cwd, &rules, mode, &*world);
            if !matches!(decided.verdict, Verdict::Allow(_) | Verdict::Ask(_)) {
                return decided.into();
            }
            let Decided { verdict, rules: by, unasked } = decided;
            // Without rules and grants of files: what passes even so is harmless.
            let lines = rules.permissions.iter().any(|line| line.action == Action::Allow);
            let plain = mode == Mode::Ask && !lines;
            let unaided = if plain { verdict.clone() } else { unreviewed::unaided(&intent, &cwd, &rules, &*world) };
            let before = verdict.name();
            let mut verdict = verdict;
            let mut changed = false;
            if !matches!(unaided, Verdict::Allow(_)) && differs {
                verdict = unreviewed::until_reviewed(verdict, unaided.clone());
                changed = true;
            }
            let verdict = taint::guarded(verdict, &unaided, &intent, mode, &untrusted, &*world);
            let tainted = verdict.reasons().iter().any(|why| why.effect == taint::AFTER);
            let once = tainted || changed && before == "allow";
            let asks_model = mode == Mode::Auto && !changed && !tainted;
            let question = asks_model.then(|| smart::question(&intent, &verdict, &*world)).flatten();
            let unasked = unasked && matches!(verdict, Verdict::Allow(_));
            Assessment { verdict, once, question, rules: by, unasked, paths: None }
        })
        .await
    }

    /// Why a call must not run as it is written, whatever a person says: it holds a mask where a value should be.
    fn holds_mask(&self, intent: &Intent, ctx: &ToolCtx) -> Option<String> {
        if !ctx.config.security.redact_secrets {
            return None;
        }
        let (text, what) = match intent {
            Intent::Command { line, .. } => (line, "command"),
            Intent::Input { text, .. } => (text, "input"),
            Intent::Remote { args, .. } => (args, "argument"),
            Intent::Code { code, .. } => (code, "script"),
            Intent::Read(_) | Intent::Edit(_) | Intent::Talk | Intent::Handle => return None,
        };
        let mask = mask_in(text)?;
        Some(format!(
            "not run: `{mask}` in this {what} is a mask for a secret, not a value. Have the program read the secret from a variable or its file, or ask the user to run it"
        ))
    }

    /// An edit of what no command could write in its sandbox asks every time: the sandbox holds commands, not the file tools.
    fn beyond_sandbox(&self, assessment: Assessment, intent: &Intent, ctx: &ToolCtx) -> Assessment {
        let Intent::Edit(edits) = intent else { return assessment };
        if !matches!(assessment.verdict, Verdict::Allow(_) | Verdict::Ask(_)) {
            return assessment;
        }
        let Some((path, sandbox)) = confine::beyond(edits.iter().map(|edit| edit.path.as_path()), ctx) else {
            return assessment;
        };
        let text = format!("writes {}, which the sandbox ({sandbox}) blocks", path.display());
        let mut why = assessment.verdict.reasons().to_vec();
        why.insert(0, Why { effect: "write beyond the sandbox".into(), text, span: 0..0 });
        Assessment { verdict: Verdict::AskAlways(why), once: true, question: None, unasked: false, ..assessment }
    }

    /// A known secret on its way to a program of somebody else asks every time.
    fn leaking(&self, assessment: Assessment, intent: &Intent, ctx: &ToolCtx) -> Assessment {
        let Intent::Remote { server, args, .. } = intent else { return assessment };
        let masks = self.dispatch().masks_for(ctx);
        let holds = matches!(masks.secrets.mask(args, RedactKind::Default), std::borrow::Cow::Owned(_));
        if !holds || !matches!(assessment.verdict, Verdict::Allow(_) | Verdict::Ask(_)) {
            return assessment;
        }
        let mut why = assessment.verdict.reasons().to_vec();
        let text = format!("its arguments contain a secret that would go to {server}");
        why.insert(0, Why { effect: "sends a secret".into(), text, span: 0..0 });
        Assessment { verdict: Verdict::AskAlways(why), once: true, question: None, unasked: false, ..assessment }
    }
}

/// In plan mode a command that cannot be held read-only where it would run is refused, unless it surely only reads.
async fn unheld(assessment: Assessment, line: &str, environment: &Environment, ctx: &ToolCtx) -> Assessment {
    let there = ctx.backends.current().is_some();
    if assessment.is_no() {
        return assessment;
    }
    if !there && ctx.exec.can_hold().await {
        return held(assessment);
    }
    let (line, cwd, world) = (line.to_owned(), environment.cwd.clone(), Arc::clone(&environment.world));
    let reads = disk::unless_stopped(&ctx.cancel, move || only_reads(&line, &cwd, &*world)).await;
    if reads == Some(true) {
        return assessment;
    }
    let text = if there { "commands on another machine" } else { "commands on this system" };
    let text = format!(
        "{text} can't be kept from writing: in plan mode only those run there that surely just read, such as ls, cat, grep \
         and git log"
    );
    let why = Why { effect: PLANNING.into(), text, span: 0..0 };
    Assessment { verdict: Verdict::DeniedByRule(why), question: None, unasked: false, ..assessment }
}

/// A question about what is held says so.
fn held(mut assessment: Assessment) -> Assessment {
    if let Verdict::Ask(why) | Verdict::AskAlways(why) = &mut assessment.verdict {
        let text = "it runs read-only: what it would change, it can't".into();
        why.push(Why { effect: PLANNING.into(), text, span: 0..0 });
    }
    assessment
}

/// In plan mode a script that cannot be held read-only and off the network does not run. It runs here wherever commands do.
async fn unheld_script(assessment: Assessment, ctx: &ToolCtx) -> Assessment {
    if assessment.is_no() {
        return assessment;
    }
    if ctx.exec.can_hold().await {
        return held(assessment);
    }
    let text =
        "plan mode runs scripts only in a read-only sandbox, which this system does not have; use normal tool calls";
    let why = Why { effect: PLANNING.into(), text: text.into(), span: 0..0 };
    Assessment { verdict: Verdict::DeniedByRule(why), question: None, unasked: false, ..assessment }
}

/// The reason of a question about a call after which turns are left out.
fn drops_turns(count: usize) -> Why {
    let turns = crate::text::format::plural(count as u64, "turn leaves", "turns leave");
    Why { effect: "goes back".into(), text: format!("{turns} the conversation"), span: 0..0 }
}

/// The reason of a question that a hook wants.
pub(super) fn asked_by_hook(reason: &str) -> Why {
    Why { effect: "asked by a hook".into(), text: reason.to_owned(), span: 0..0 }
}
