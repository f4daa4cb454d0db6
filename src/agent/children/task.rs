//! What a child is opened with: prompt, tools, limits. Pure.

use super::{Now, ORIGIN};
use crate::agent::spec::{Answers, SessionLimits, SessionSpec};
use crate::text::format;
use crate::tools::builtin::{agents, delegate_task};
use crate::tools::children::{Task, TaskLimits};
use std::sync::Arc;
use std::time::Duration;

/// Characters of the context that a task may give.
const CONTEXT: usize = 100_000;

/// # Errors
/// It asks for what the parent lacks.
pub fn check(task: &Task, toolsets: &[String]) -> Result<(), String> {
    if let Some(missing) = task.toolsets.iter().find(|name| !toolsets.contains(name)) {
        return Err(format!("there is no toolset {missing} here; there are: {}", toolsets.join(", ")));
    }
    if task.context.chars().count() > CONTEXT {
        return Err(format!("the context is longer than {CONTEXT} characters: put it into a file and name that"));
    }
    Ok(())
}

/// The end of the child's system prompt.
pub fn instructions(task: &Task, now: &Now, depth: u32) -> String {
    let mut text = include_str!("../../../assets/prompts/child.md").trim().to_owned();
    text.push_str(&format!("\n\n# Your task\n{}", task.goal));
    if !task.context.is_empty() {
        text.push_str(&format!("\n\n# What you must know\n{}", task.context));
    }
    if may_delegate(task, now, depth) {
        text.push_str("\n\nYou may give parts of it to children with delegate_task.");
    }
    text
}

fn may_delegate(task: &Task, now: &Now, depth: u32) -> bool {
    task.orchestrates && depth < now.config.max_spawn_depth
}

/// The session of a child at this depth, but for whose it is; and what it asked for and does not get, in words.
pub fn spec(task: &Task, now: &Now, depth: u32) -> (SessionSpec, String) {
    let (limits, cut) = limits(&task.limits, now);
    let mut blocked: Vec<&'static str> = delegate_task::NOT_IN_CHILDREN.to_vec();
    if !may_delegate(task, now, depth) {
        blocked.extend([delegate_task::NAME, agents::NAME]);
    }
    let model = Some(now.config.model.clone()).filter(|model| !model.is_empty()).or_else(|| now.model.clone());
    let spec = SessionSpec {
        cwd: now.cwd.clone(),
        answers: Answers::Nobody,
        origin: ORIGIN,
        limits,
        model,
        mode: Some(now.mode),
        toolsets: Some(if task.toolsets.is_empty() { now.toolsets.clone() } else { task.toolsets.clone() }),
        blocked,
        among: Some(Arc::clone(&now.tools)),
        instructions: instructions(task, now, depth),
        ..SessionSpec::default()
    };
    (spec, cut)
}

/// What the call and the settings give a child, never above what is left of its parent's; and what the call asked for in
/// vain.
fn limits(asked: &TaskLimits, now: &Now) -> (SessionLimits, String) {
    let (config, left) = (&now.config, &now.left);
    let some = |number: u64| Some(number).filter(|number| *number > 0);
    let time = some(config.child_timeout_seconds).map(Duration::from_secs);
    let mut cut = Vec::new();
    let most = least(Some(config.max_iterations), left.steps).map(|steps| steps.max(1));
    let steps = given(asked.steps, most, |n| format!("{n} steps"), &mut cut);
    let most = least(some(config.max_tokens), left.tokens);
    let tokens = given(asked.tokens, most, |n| format!("{n} tokens"), &mut cut);
    let most = least(some(config.max_output_tokens), left.output);
    let output = given(asked.output, most, |n| format!("{n} output tokens"), &mut cut);
    let most = least(config.max_cost, left.cost);
    let cost = given(asked.cost, most, format::dollars, &mut cut);
    let most = least(time, left.time);
    let asked = asked.seconds.map(Duration::from_secs);
    let time = given(asked, most, |time| format!("{} s", time.as_secs()), &mut cut);
    let limits = SessionLimits { steps, tokens, cost, time, output };
    (limits, cut.join("; "))
}

/// What is asked for, within what there is.
fn given<T: PartialOrd + Copy>(
    asked: Option<T>,
    most: Option<T>,
    words: impl Fn(T) -> String,
    cut: &mut Vec<String>,
) -> Option<T> {
    if let (Some(asked), Some(most)) = (asked, most)
        && asked > most
    {
        cut.push(format!("asked for {}, got the {} that were left", words(asked), words(most)));
    }
    least(asked, most)
}

fn least<T: PartialOrd>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b < a { b } else { a }),
        (a, b) => a.or(b),
    }
}
