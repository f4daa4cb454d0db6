//! Whether a process comes from a command of an agent.

use super::procfs::{self, Stat};
use crate::exec::outlive::detached::MARK;
use crate::text::visible::visible;

/// Parents that are looked at.
const MAX_GENERATIONS: usize = 64;
/// What the system calls a window: its program can't be looked at, since it is not dumpable.
const PROGRAM: &str = "hermes";
/// Characters of a command line.
const MAX_COMMAND: usize = 200;

/// The command line of a process that a command of an agent started; `None`: nothing of ours is above it. Where that can't
/// be seen, the answer is that one did. Blocks.
pub fn command_above(pid: u32) -> Option<String> {
    above(pid, &procfs::stat, &carries_mark).then(|| words(pid))
}

/// Our mark is in the environment of each command and of what it starts. What it left behind was adopted by this program,
/// so that a window is above it even when it dropped the mark.
fn above(pid: u32, look: &dyn Fn(u32) -> Option<Stat>, is_marked: &dyn Fn(u32) -> bool) -> bool {
    let mut next = pid;
    for generation in 0..MAX_GENERATIONS {
        // Zero stands for a process outside of our process namespace.
        if next <= 1 {
            return generation == 0;
        }
        let Some(stat) = look(next) else { return generation == 0 };
        // The first may be this program, run by a person.
        if is_marked(next) || generation > 0 && stat.name == PROGRAM {
            return true;
        }
        next = stat.parent;
    }
    true
}

fn carries_mark(pid: u32) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|entry| entry.starts_with(MARK.as_bytes()))
}

fn words(pid: u32) -> String {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&words).replace('\0', " ");
    crate::text::width::truncate_end(&visible(line.trim()).text, MAX_COMMAND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_window_started_is_known_by_its_parents() {
        let look = |pid: u32| {
            let parents = [
                (100, 50),
                (101, 100),
                (102, 101),
                (40, 1),
                (50, 40),
                (60, 40),
                (61, 60),
                (70, 60),
                (300, 301),
                (301, 300),
            ];
            let (_, parent) = parents.into_iter().find(|(own, _)| *own == pid)?;
            let name = if pid == 50 { PROGRAM } else { "bash" };
            Some(Stat { pid, parent, name: name.into(), ..Stat::default() })
        };
        // 50 is a window, 60 another shell of the person, and 70 carries the mark.
        for (pid, want) in [
            (102, true),
            (101, true),
            (50, false),
            (61, false),
            (40, false),
            (70, true),
            (999, true),
            (300, true),
            (0, true),
        ] {
            assert_eq!(above(pid, &look, &|pid| pid == 70), want, "{pid}");
        }
    }
}
