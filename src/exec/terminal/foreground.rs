//! What reads the keys that are typed into a process: the program in the foreground of its terminal, as `/proc` tells it.
//! Elsewhere the answer is that it is not known.

use crate::exec::Exec;
use crate::exec::ProcessId;
#[cfg(target_os = "linux")]
use crate::exec::process::procfs;
use crate::lock::lock;
use std::path::PathBuf;

/// Processes of one family that are looked at.
#[cfg(target_os = "linux")]
const MAX_PROCESSES: usize = 256;

/// The program in the foreground of a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForegroundReader {
    /// `bash`, `python3.13`.
    pub name: String,
    /// It is a shell that takes commands from its terminal, not one that runs a script.
    pub takes_commands: bool,
    /// It is an interpreter at its own prompt, not one that runs a script.
    pub takes_code: bool,
    /// It waits for keys, and nothing that was typed before is still on its way.
    pub waits: bool,
    /// The folder that it is in.
    pub cwd: PathBuf,
}

impl Exec {
    /// What would read text that is typed into a process of this task now; `None` when that is not certain. Blocks for a few
    /// looks at `/proc`.
    pub fn front(&self, task: &str, id: &ProcessId) -> Option<ForegroundReader> {
        let process = self.hub.find(id).ok().filter(|process| process.owner() == task && !process.over())?;
        // What reads it on another machine is not seen from here.
        if process.remote.is_some() {
            return None;
        }
        let (name, raw) = {
            let tty = lock(&process.tty);
            let tty = tty.as_ref()?;
            (tty.name.clone(), tty.raw_mode())
        };
        let mut front = look(process.pid, &name, raw)?;
        front.waits &= lock(&process.input).is_empty();
        Some(front)
    }
}

#[cfg(not(target_os = "linux"))]
fn look(_: u32, _: &std::path::Path, _: bool) -> Option<ForegroundReader> {
    None
}

#[cfg(target_os = "linux")]
fn look(leader: u32, tty: &std::path::Path, raw: bool) -> Option<ForegroundReader> {
    let group = procfs::stat(leader).map(|stat| if stat.foreground > 0 { stat.foreground } else { stat.group })?;
    let mut family = vec![leader];
    let mut next = 0;
    while let Some(pid) = family.get(next) {
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        family.extend(children.split_ascii_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        next += 1;
        if family.len() > MAX_PROCESSES {
            return None;
        }
    }
    let stats = family.into_iter().filter_map(procfs::stat);
    let members: Vec<procfs::Stat> = stats.filter(|stat| stat.group == group && !stat.zombie).collect();
    // Whoever has children in the group waits for them. Of several that have none either may read.
    let mut last = members.iter().filter(|one| !members.iter().any(|other| other.parent == one.pid));
    let (Some(procfs::Stat { pid, .. }), None) = (last.next(), last.next()) else { return None };
    let exe = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let name = exe.file_name()?.to_string_lossy().trim_end_matches(" (deleted)").to_owned();
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words: Vec<String> =
        line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let cwd = std::fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
    let waits = super::blocked::is_blocked(*pid, tty, raw);
    let (takes_commands, takes_code) = (takes_commands(&name, &words), takes_code(&name, &words));
    Some(ForegroundReader { takes_commands, takes_code, waits, cwd, name })
}

/// Shells whose lines the judge reads.
#[cfg(any(target_os = "linux", test))]
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "ash", "busybox", "rbash"];
/// Options of theirs whose next word is a value.
#[cfg(any(target_os = "linux", test))]
const WITH_VALUE: &[&str] = &["-o", "+o", "-O", "+O", "--rcfile", "--init-file", "--emulate"];

/// Whether a program with these words is a shell that takes its commands from its terminal.
#[cfg(any(target_os = "linux", test))]
fn takes_commands(name: &str, words: &[String]) -> bool {
    if !SHELLS.contains(&name) {
        return false;
    }
    let mut words = words.iter().map(String::as_str).filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default();
    // One program under many names.
    if name == "busybox" {
        let applet = first.rsplit('/').next().unwrap_or(first).trim_start_matches('-');
        let applet = if applet == "busybox" { words.next().unwrap_or_default() } else { applet };
        if !matches!(applet, "sh" | "ash") {
            return false;
        }
    }
    while let Some(word) = words.next() {
        let short = word.starts_with(['-', '+']) && !word.starts_with("--");
        match word {
            _ if WITH_VALUE.contains(&word) => drop(words.next()),
            // A line of its own, not ours.
            _ if short && word.contains('c') => return false,
            _ if short && word.contains('s') => return true,
            _ if word.starts_with(['-', '+']) => {}
            // A script.
            _ => return false,
        }
    }
    true
}

/// Interpreters with a prompt of their own, by their names without a version: they show it when they are given no script.
#[cfg(any(target_os = "linux", test))]
const INTERPRETERS: &[&str] = &["python", "pypy", "node", "lua", "luajit"];
/// Clients of databases: their other words name what they talk to.
#[cfg(any(target_os = "linux", test))]
const CLIENTS: &[&str] = &["psql", "mysql", "mariadb", "sqlite"];

/// Whether a program with these words takes code from its terminal. A prompt of a script of theirs is none for code.
#[cfg(any(target_os = "linux", test))]
fn takes_code(name: &str, words: &[String]) -> bool {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let mut rest = words.iter().skip(1).map(String::as_str).filter(|word| !word.is_empty());
    if CLIENTS.contains(&base) {
        let given = |word: &str| {
            let long = ["--command", "--file", "--execute"].iter().any(|option| word.starts_with(option));
            long || matches!(word.as_bytes(), [b'-', b'c' | b'f' | b'e', ..])
        };
        return !rest.any(given);
    }
    // Options with a value have a script or code behind them as often as not: those that only change the prompt count.
    INTERPRETERS.contains(&base)
        && rest.all(|word| matches!(word, "-i" | "-q" | "-u" | "-B" | "-I" | "-s" | "-S" | "-E"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_at_its_prompt_is_told_from_one_that_runs_a_script() {
        for (line, takes) in [
            ("python3", true),
            ("/usr/bin/python3.13 -q -i", true),
            ("python3 manage.py", false),
            ("python3 -c input()", false),
            ("python3 -m pdb x.py", false),
            ("node", true),
            ("node server.js", false),
            ("psql -h db shop", true),
            ("psql -c select", false),
            ("sqlite3 notes.db", true),
            ("mysql --execute=x", false),
            ("cat", false),
            ("bash", false),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let name = words[0].rsplit('/').next().unwrap();
            assert_eq!(takes_code(name, &words), takes, "{line}");
        }
    }

    #[test]
    fn shells_that_take_commands_are_told_from_those_that_run_a_script() {
        for (line, takes) in [
            ("bash", true),
            ("-bash", true),
            ("/bin/sh -i", true),
            ("bash --norc -o vi", true),
            ("sh -s a b", true),
            ("zsh -f", true),
            ("bash -c read", false),
            ("sh -ec read", false),
            ("bash deploy.sh", false),
            ("bash --rcfile x deploy.sh", false),
            ("python3", false),
            ("busybox sh", true),
            ("busybox vi", false),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let name = words[0].rsplit('/').next().unwrap().trim_start_matches('-');
            assert_eq!(takes_commands(name, &words), takes, "{line}");
        }
    }
}
