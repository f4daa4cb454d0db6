//! Runs the hooks of a moment, one after another, each on what the one before left. What they say is never a yes in a
//! person's place.

use super::answer::{self, Answer, Verdict};
use super::event::Event;
use super::hook::{CommandHook, From, OnError};
use super::hook_payload::HookPayload;
use super::host::{Extensions, Host, PluginNotice};
use super::peer::AskError;
use crate::config::trust;
use crate::exec::{Limits, Oneshot, OutputLimit, Remainder};
use crate::lock::lock;
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Bytes of each stream of a command that are kept.
const KEPT: usize = 256 * 1024;

/// What the hooks of a moment came to. `args` and `text` are the last word of those who changed them.
pub type Said = Answer;

impl Extensions {
    /// Whether a moment has any hook. Before everything has been looked at the answer is yes.
    pub fn wants(&self, event: Event, subject: Option<&str>) -> bool {
        let Some(host) = self.host.as_ref().filter(|host| host.has_begun()) else { return false };
        !host.is_loaded()
            || host.hooks().iter().any(|hook| hook.wants(event, subject))
            || host
                .plugins()
                .iter()
                .any(|plugin| plugin.now().registered.hooks.iter().any(|hook| hook.wants(event, subject)))
    }

    /// Runs the hooks of a moment. Each command makes a row, a plugin's hook when it did something or failed.
    pub async fn fire(&self, mut moment: HookPayload, cancel: &CancellationToken) -> Said {
        let mut said = Said::default();
        let Some(host) = self.host.as_ref().filter(|host| host.has_begun()) else { return said };
        tokio::select! {
            () = host.looked() => {}
            () = cancel.cancelled() => return said,
        }
        let (event, subject) = (moment.event, moment.subject.clone());
        for hook in host.hooks().iter().filter(|hook| hook.wants(event, subject.as_deref())) {
            let (answer, time) = host.command(hook, &moment, cancel).await;
            if cancel.is_cancelled() {
                return said;
            }
            host.row(&moment, &hook.label(), &answer, time);
            let answer = host.weighed(&moment, &hook.label(), hook.on_error, answer);
            if take(&mut said, &mut moment, answer) {
                return said;
            }
        }
        for plugin in host.plugins() {
            let registered = plugin.now().registered;
            for hook in registered.hooks.iter().filter(|hook| hook.wants(event, subject.as_deref())) {
                let params =
                    json!({"event": moment.event.name(), "registered": hook.written, "arguments": moment.arguments()});
                let began = tokio::time::Instant::now();
                let answer = match plugin.ask("hook.run", &params, hook.timeout, cancel).await {
                    Ok(value) => Ok(answer::of_value(moment.event, &value)),
                    Err(AskError::Cancelled) => return said,
                    Err(error) => Err(error.to_string()),
                };
                let who = format!("plugin {}", plugin.found.name);
                if answer != Ok(Answer::default()) {
                    host.row(&moment, &who, &answer, began.elapsed());
                }
                let answer = host.weighed(&moment, &who, hook.on_error, answer);
                if take(&mut said, &mut moment, answer) {
                    return said;
                }
            }
        }
        said
    }

    /// Runs them without waiting, for those who only watch.
    pub fn watch(&self, moment: HookPayload) {
        if self.wants(moment.event, moment.subject.as_deref()) {
            let all = self.clone();
            tokio::spawn(async move { all.fire(moment, &CancellationToken::new()).await });
        }
    }
}

/// Adds an answer; whether the rest is not asked any more.
fn take(said: &mut Said, moment: &mut HookPayload, answer: Answer) -> bool {
    let join = |all: &mut String, more: &str| {
        if !more.is_empty() {
            if !all.is_empty() {
                all.push_str("\n\n");
            }
            all.push_str(more);
        }
    };
    join(&mut said.context, &answer.context);
    join(&mut said.message, &answer.message);
    if let Some(args) = answer.args {
        moment.args = args.clone();
        said.args = Some(args);
    }
    if let Some(text) = answer.text {
        moment.text = Some(text.clone());
        said.text = Some(text);
    }
    match answer.verdict {
        Verdict::Block(_) => {
            said.verdict = answer.verdict;
            true
        }
        Verdict::Ask(_) if said.verdict == Verdict::Pass => {
            said.verdict = answer.verdict;
            false
        }
        Verdict::Ask(_) | Verdict::Pass => false,
    }
}

impl Host {
    async fn command(
        &self,
        hook: &CommandHook,
        moment: &HookPayload,
        cancel: &CancellationToken,
    ) -> (Result<Answer, String>, Duration) {
        if hook.from == From::Project && !self.is_still_trusted(hook).await {
            let why = "it changed since you trusted it and does not run; review it and trust the folder again";
            return (Err(why.into()), Duration::ZERO);
        }
        let mut env = self.options.exec.environment().await;
        for name in ["HERMES_PROJECT_DIR", "CLAUDE_PROJECT_DIR"] {
            env.insert(name.into(), self.options.cwd.to_string_lossy().into_owned());
        }
        let input = moment.input(&hook.written).to_string();
        let cwd = if hook.from == From::Project { &self.options.cwd } else { &moment.cwd };
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(&hook.command).current_dir(cwd).env_clear().envs(env);
        let bounds = Limits { time: hook.timeout, stdout: OutputLimit::First(KEPT), stderr: OutputLimit::First(KEPT) };
        let began = tokio::time::Instant::now();
        let ran = Oneshot { command, input: input.into_bytes(), bounds, rest: Remainder::Stays }.run(cancel).await;
        let answer = match ran {
            Err(why) => Err(why.to_string()),
            Ok(done) => match done.status.code() {
                Some(code) => {
                    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                    answer::of_command(moment.event, code, &text(&done.stdout), &text(&done.stderr))
                }
                None => Err(format!("killed by {}", done.status)),
            },
        };
        (answer, began.elapsed())
    }

    /// What a hook came to: a guard that failed blocks, another one that failed says nothing. That something passed though
    /// its hook could have blocked it is told once of each.
    fn weighed(&self, moment: &HookPayload, who: &str, on_error: OnError, answer: Result<Answer, String>) -> Answer {
        let why = match answer {
            Ok(answer) => return answer,
            Err(why) => why,
        };
        let event = moment.event;
        match on_error {
            OnError::Block => {
                let reason = format!("the hook {who} failed ({}), and it is required to pass", answer::short(&why));
                Answer { verdict: Verdict::Block(reason), ..Answer::default() }
            }
            OnError::Allow => {
                if event.may_block() && lock(&self.state).warned.insert(format!("{} {who}", event.name())) {
                    let what = "a hook failed and blocked nothing (`on_error: block` changes that)";
                    let text = format!("{what}: {} · {who}: {}", event.name(), answer::short(&why));
                    self.tell(PluginNotice::Notice { serious: false, text });
                }
                Answer::default()
            }
        }
    }

    /// The agent itself may have written to the script meanwhile.
    async fn is_still_trusted(&self, hook: &CommandHook) -> bool {
        let (home, cwd, wanted) = (self.options.paths.clone(), self.options.cwd.clone(), hook.clone());
        let look = move || {
            let tree =
                trust::look(&home, &cwd).and_then(|project| trust::tree(&project, "hooks")).unwrap_or(Value::Null);
            let written = |hook: &CommandHook| hook.matcher.as_ref().map(|matcher| matcher.written.clone());
            super::hook::read(&tree, From::Project).0.iter().any(|hook| {
                (hook.event, &hook.command, written(hook)) == (wanted.event, &wanted.command, written(&wanted))
            })
        };
        tokio::task::spawn_blocking(look).await.unwrap_or(false)
    }

    fn row(&self, moment: &HookPayload, who: &str, answer: &Result<Answer, String>, time: Duration) {
        let (what, text) = match answer {
            Err(why) => ("failed: ", answer::short(why)),
            Ok(answer) => match &answer.verdict {
                Verdict::Block(why) => ("blocked: ", answer::short(why)),
                Verdict::Ask(why) => ("asks: ", answer::short(why)),
                Verdict::Pass if answer.args.is_some() => ("changed the arguments", String::new()),
                Verdict::Pass if answer.text.is_some() => ("changed the text", String::new()),
                Verdict::Pass if !answer.context.is_empty() => ("added context", String::new()),
                Verdict::Pass if !answer.message.is_empty() => ("", answer::short(&answer.message)),
                Verdict::Pass => ("ok", String::new()),
            },
        };
        let time = match time.as_millis() {
            0..1000 => format!("{} ms", time.as_millis()),
            _ => format!("{:.1} s", time.as_secs_f64()),
        };
        self.tell_session(&moment.session, format!("{} · {who} · {what}{text} · {time}", moment.event.name()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_add_up() {
        let mut said = Said::default();
        let mut moment = HookPayload::new(Event::PreToolCall, "s", "/".into()).tool("t", json!({"a": 1}));
        let ask = Answer { verdict: Verdict::Ask("look".into()), context: "one".into(), ..Answer::default() };
        assert!(!take(&mut said, &mut moment, ask));
        let change = Answer { args: Some(json!({"a": 2})), context: "two".into(), ..Answer::default() };
        assert!(!take(&mut said, &mut moment, change));
        assert_eq!(moment.args, json!({"a": 2}));
        assert_eq!((said.verdict.clone(), said.context.as_str()), (Verdict::Ask("look".into()), "one\n\ntwo"));
        let block = Answer { verdict: Verdict::Block("no".into()), ..Answer::default() };
        assert!(take(&mut said, &mut moment, block));
        assert_eq!(said.verdict, Verdict::Block("no".into()));
    }
}
