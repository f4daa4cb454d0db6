//! Questions about tracked processes, as the `process` tool asks them.

use super::notice::last_characters;
use super::record::Process;
use crate::exec::terminal::plain::{plain, plain_rest};
use crate::exec::{Exec, ExecError, Exit, ProcessId, ProcessInfo, now_ms};
use crate::lock::lock;
use std::time::Duration;

/// What is known of a process now.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub info: ProcessInfo,
    /// The task that started it.
    pub task: String,
    /// How the leader ended.
    pub exit: Option<Exit>,
    /// What it started still runs.
    pub survivors: bool,
    pub uptime: Duration,
    /// The person typed into it.
    pub typed: bool,
    /// How long it has printed nothing; `None` when it never did.
    pub silent: Option<Duration>,
    /// How its runs before this one ended, oldest first.
    pub exits: Vec<Exit>,
    /// Clean text; which part depends on the question.
    pub output: String,
}

/// Some lines of the output.
#[derive(Clone, Debug, PartialEq)]
pub struct LogPage {
    pub report: Report,
    /// Lines that are in memory.
    pub total_lines: usize,
    /// Number of the first line given, from 0.
    pub first_line: usize,
    /// Bytes between the head and the tail that are in memory; the spill file has them as far as it goes.
    pub omitted: u64,
    pub spill: Option<std::path::PathBuf>,
}

impl Exec {
    /// All background processes, oldest first; finished ones for half an hour.
    pub fn list(&self) -> Vec<Report> {
        self.look();
        let all = self.hub.all();
        all.iter().filter(|p| lock(&p.life).background).map(|p| report(p, tail(p, 400))).collect()
    }

    /// Processes that run, foreground ones too, for the environment block and the question at quit.
    pub fn running(&self) -> Vec<ProcessInfo> {
        self.hub.all().iter().filter(|p| !p.over() && !p.is_elsewhere()).map(|p| p.info()).collect()
    }

    /// The command lines of the background processes of a task, or of this one.
    pub fn commands(&self, task: &str, id: Option<&ProcessId>) -> Vec<String> {
        let wanted = |p: &&std::sync::Arc<Process>| p.owner() == task && id.is_none_or(|id| p.id == *id);
        self.hub.all().iter().filter(wanted).map(|p| p.command.clone()).collect()
    }

    /// Output since the last poll, at most the last 1,000 characters.
    pub fn poll(&self, id: &ProcessId) -> Result<Report, ExecError> {
        let process = self.hub.find(id)?;
        if process.detached.is_some() {
            crate::exec::outlive::detached::read_more(&process);
        }
        super::usage::look(std::slice::from_ref(&process));
        let from = lock(&process.life).telling.polled;
        let (bytes, end) = {
            let out = lock(&process.out);
            let end = out.log.total();
            (out.log.tail((end - from).min(64 * 1024)), end)
        };
        lock(&process.life).telling.polled = end;
        consumed(&process);
        Ok(report(&process, last_characters(&plain_rest(&bytes), 1000).to_owned()))
    }

    /// The task that a process belongs to.
    pub fn task_of(&self, id: &ProcessId) -> Result<String, ExecError> {
        Ok(self.hub.find(id)?.owner())
    }

    /// The last `count` characters of output.
    pub fn last_output(&self, id: &ProcessId, count: usize) -> Result<Report, ExecError> {
        let process = self.hub.find(id)?;
        consumed(&process);
        let output = tail(&process, count);
        Ok(report(&process, output))
    }

    /// `limit` lines from line `offset` (from 0), or the last ones.
    pub fn log(&self, id: &ProcessId, offset: Option<usize>, limit: usize) -> Result<LogPage, ExecError> {
        let process = self.hub.find(id)?;
        if process.detached.is_some() {
            crate::exec::outlive::detached::read_more(&process);
        }
        let captured = process.captured();
        let mut text = plain(&captured.head);
        if captured.omitted > 0 {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&plain_rest(&captured.tail));
        }
        let total_lines = text.lines().count();
        let first_line = offset.unwrap_or(total_lines.saturating_sub(limit)).min(total_lines);
        let lines: Vec<&str> = text.lines().skip(first_line).take(limit).collect();
        consumed(&process);
        Ok(LogPage {
            report: report(&process, lines.join("\n")),
            total_lines,
            first_line,
            omitted: captured.omitted,
            spill: captured.spill,
        })
    }

    /// Waits until the leader has exited.
    pub async fn wait(&self, id: &ProcessId) -> Result<(), ExecError> {
        let process = self.hub.find(id)?;
        let mut phase = process.phase.subscribe();
        if phase.wait_for(|phase| phase.exited).await.is_err() {
            return Err(ExecError::NotFound(id.clone()));
        }
        Ok(())
    }

    /// Ends the input of a process (Ctrl-D).
    pub fn close_input(&self, id: &ProcessId) -> Result<(), ExecError> {
        // Twice: in the middle of a line the first only hands over what was typed.
        self.write(id, b"\x04\x04")
    }
}

fn report(process: &Process, output: String) -> Report {
    let info = process.info();
    let life = lock(&process.life);
    Report {
        task: process.owner(),
        exit: life.exit().cloned(),
        survivors: life.has_survivors(),
        typed: life.typed,
        silent: info.vitals.last_output.map(|at| Duration::from_millis(u64::try_from(now_ms() - at).unwrap_or(0))),
        exits: process.exits.clone(),
        uptime: life.exit().map_or_else(|| process.started.elapsed(), |exit| exit.duration),
        output,
        info,
    }
}

fn tail(process: &Process, count: usize) -> String {
    // Four bytes a character, and as much again for escapes that vanish.
    let bytes = lock(&process.out).log.tail(8 * count as u64);
    last_characters(&plain_rest(&bytes), count).to_owned()
}

fn consumed(process: &Process) {
    lock(&process.life).see();
}
