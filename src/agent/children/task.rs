//! What a child is opened with: prompt, tools, limits. Pure.

use super::{Now, ORIGIN};
use crate::agent::spec::{Answers, SessionLimits, SessionSpec};
use crate::tools::builtin::{agents, delegate_task};
use crate::tools::children::Task;
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

/// The session of a child at this depth, but for whose it is.
pub fn spec(task: &Task, now: &Now, depth: u32) -> SessionSpec {
    let mut blocked: Vec<&'static str> = delegate_task::NOT_IN_CHILDREN.to_vec();
    if !may_delegate(task, now, depth) {
        blocked.extend([delegate_task::NAME, agents::NAME]);
    }
    let model = Some(now.config.model.clone()).filter(|model| !model.is_empty()).or_else(|| now.model.clone());
    SessionSpec {
        cwd: now.cwd.clone(),
        answers: Answers::Nobody,
        origin: ORIGIN,
        limits: limits(now),
        model,
        mode: Some(now.mode),
        toolsets: Some(if task.toolsets.is_empty() { now.toolsets.clone() } else { task.toolsets.clone() }),
        blocked,
        among: Some(Arc::clone(&now.tools)),
        instructions: instructions(task, now, depth),
        ..SessionSpec::default()
    }
}

/// What the settings give a child, never above what is left of its parent's.
fn limits(now: &Now) -> SessionLimits {
    let config = &now.config;
    let timeout = Some(config.child_timeout_seconds).filter(|seconds| *seconds > 0).map(Duration::from_secs);
    let tokens = Some(config.max_tokens).filter(|tokens| *tokens > 0);
    let steps = now.left.steps.map_or(config.max_iterations, |left| left.min(config.max_iterations));
    SessionLimits {
        steps: Some(steps.max(1)),
        tokens: least(tokens, now.left.tokens),
        cost: least(config.max_cost, now.left.cost),
        time: least(timeout, now.left.time),
    }
}

fn least<T: PartialOrd>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b < a { b } else { a }),
        (a, b) => a.or(b),
    }
}
