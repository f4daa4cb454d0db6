//! What changes between turns (folder, repository, processes, plan). It travels with the newest message, outside the
//! stable prefix, and is frozen with that message.

use crate::exec::{ExitReason, Notice, ProcessInfo, ProcessState, Repo};
use crate::protocol::{Mode, Todo, TodoStatus};
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// Facts at the start of a turn.
#[derive(Clone, Debug, Default)]
pub struct Situation<'a> {
    /// For a small model: what it needs for its commands, and nothing of folder and repository.
    pub brief: bool,
    pub cwd: &'a str,
    /// Folders that the person added to the one where the session was opened.
    pub added: Vec<String>,
    /// `main, 3 changed files`.
    pub git: Option<String>,
    /// The mode, where it holds back more than the rules do.
    pub mode: Option<Mode>,
    /// The other machine that commands and files are on: `ssh dev@host`.
    pub place: Option<String>,
    pub processes: &'a [ProcessInfo],
    pub plan: &'a [Todo],
    /// What came and went among the tools that can be searched for.
    pub tools: Option<&'a str>,
}

/// Rows of a list that are told.
const MAX_ROWS: usize = 12;

/// The text; a few lines.
pub fn describe(situation: &Situation<'_>) -> String {
    let mut out = if situation.brief { String::new() } else { format!("cwd: {}", situation.cwd) };
    if !situation.added.is_empty() {
        let _ = write!(out, "\nworkspace also: {}", situation.added.join(", "));
    }
    if let Some(mode) = situation.mode {
        let _ = write!(out, "\nmode: {}: {}", mode.word(), mode.about());
    }
    if let Some(place) = &situation.place {
        let _ = write!(out, "\nbackend: {place} (commands and files are there, not on this machine)");
    }
    if let Some(git) = situation.git.as_ref().filter(|_| !situation.brief) {
        let _ = write!(out, "\ngit: {git}");
    }
    if let Some(tools) = situation.tools {
        let _ = write!(out, "\ntools: {tools}");
    }
    for process in processes(situation.processes) {
        let _ = write!(out, "\nrunning: {process}");
    }
    let open = situation.plan.iter().filter(|t| matches!(t.status, TodoStatus::Pending | TodoStatus::InProgress));
    for todo in open.take(MAX_ROWS) {
        let mark = if todo.status == TodoStatus::InProgress { ">" } else { " " };
        let _ = write!(out, "\nplan [{mark}] {}. {}", todo.id, todo.content);
    }
    out.trim_start().to_owned()
}

/// Background processes that have not ended, one line each: `proc_1 npm run dev`.
pub fn processes(all: &[ProcessInfo]) -> Vec<String> {
    let runs = |process: &&ProcessInfo| process.background && !matches!(process.state, ProcessState::Exited(_));
    let line = |process: &ProcessInfo| {
        let command: String = process.command.chars().take(80).collect();
        let state = match process.state {
            ProcessState::NeedsInput => ", waiting for input",
            ProcessState::Stopped => ", stopped with Ctrl-Z: paused until it is resumed",
            ProcessState::Running | ProcessState::Exited(_) => "",
        };
        format!("{} {command}{state}", process.id.0)
    };
    all.iter().filter(runs).take(MAX_ROWS).map(line).collect()
}

/// A notice about a process as the model reads it (as Python Hermes has it).
pub fn notice_text(notice: &Notice) -> String {
    match notice {
        Notice::Completed { id, command, exit, tail, .. } => {
            let how = match exit.reason {
                ExitReason::Exited if exit.code == 0 => "completed normally",
                ExitReason::Exited => "exited",
                ExitReason::Signalled => "was killed by a signal",
                ExitReason::TimedOut => "timed out",
                ExitReason::Stopped | ExitReason::Killed => "was killed by the user",
                ExitReason::Unwatched => "was killed because it could no longer be watched",
                ExitReason::Unseen => "exited while no session was watching it",
                ExitReason::HungUp => "was killed when the window was closed",
            };
            format!(
                "[Background process {} {how} (exit code {}).\nCommand: {command}\nOutput:\n{tail}]",
                id.0, exit.code
            )
        }
        Notice::Matched { id, command, pattern, lines, suppressed, .. } => {
            let more = if *suppressed > 0 { format!("\n({suppressed} more matching lines)") } else { String::new() };
            format!("[Background process {} printed lines with “{pattern}”.\nCommand: {command}\n{lines}{more}]", id.0)
        }
    }
}

/// Characters of a command on the line of a notice.
const GIST_COMMAND: usize = 48;

/// A notice about a process in one line, as a person reads it.
pub fn gist(notice: &Notice) -> String {
    let (Notice::Completed { command, .. } | Notice::Matched { command, .. }) = notice;
    let line = command.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    let command = crate::text::width::truncate_end(&line, GIST_COMMAND);
    let what = match notice {
        Notice::Completed { exit, .. } => match exit.reason {
            ExitReason::Exited => format!("exited with {}", exit.code),
            ExitReason::Signalled => "was killed by a signal".into(),
            ExitReason::TimedOut => "timed out".into(),
            ExitReason::Stopped | ExitReason::Killed => "was killed by the user".into(),
            ExitReason::Unwatched => "was killed: it could no longer be watched".into(),
            ExitReason::Unseen => "exited unseen".into(),
            ExitReason::HungUp => "was killed when the window was closed".into(),
        },
        Notice::Matched { pattern, .. } => format!("printed “{pattern}”"),
    };
    format!("{command} {what}; the model was notified")
}

/// What git may take to tell the state of a repository.
const GIT_TIME: Duration = Duration::from_millis(500);

/// Branch and number of changed files, by the `git` program; `None` outside a repository or when it takes too long.
pub async fn git(cwd: &Path) -> Option<(String, usize)> {
    let cwd = cwd.to_owned();
    tokio::task::spawn_blocking(move || read(&cwd, Instant::now() + GIT_TIME)).await.ok().flatten()
}

fn read(cwd: &Path, until: Instant) -> Option<(String, usize)> {
    let status = ["status", "--porcelain=v1", "--branch", "--untracked-files=normal", "--ignore-submodules=dirty"];
    let output = Repo::of(cwd, until).ok()?.ask(&status, until).ok()?;
    let text = String::from_utf8_lossy(&output);
    let mut lines = text.lines();
    let head = lines.next()?.trim_start_matches("## ");
    let branch = head.strip_prefix("No commits yet on ").unwrap_or(head);
    let branch = branch.split("...").next().unwrap_or(branch).to_owned();
    Some((branch, lines.count()))
}
