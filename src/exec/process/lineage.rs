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

/// The command line of a process that a command of an agent started; `None`: nothing of ours is above it. `windows` are the
/// numbers of the processes of ours that run. Where that can't be seen, the answer is that one did. Blocks.
pub fn command_above(pid: u32, windows: &[u32]) -> Option<String> {
    let is_window = |stat: &Stat| stat.name == PROGRAM || windows.contains(&stat.pid);
    above(pid, &procfs::stat, &carries_mark, &is_window).then(|| words(pid))
}

/// Our mark is in the environment of each command and of what it starts. What it left behind was adopted by this program,
/// so that a window is above it even when it dropped the mark.
fn above(
    pid: u32,
    look: &dyn Fn(u32) -> Option<Stat>,
    is_marked: &dyn Fn(u32) -> bool,
    is_window: &dyn Fn(&Stat) -> bool,
) -> bool {
    let mut path: Vec<u32> = vec![pid];
    for _ in 0..MAX_GENERATIONS {
        let Some(next) = path.last().copied() else { return true };
        // Zero stands for a process outside of our process namespace.
        if next <= 1 {
            return path.len() == 1;
        }
        let Some(stat) = look(next) else {
            // It ended while its child was looked at: that one has another parent now.
            path.pop();
            match path.last().copied().and_then(look) {
                Some(child) if child.parent != next => path.push(child.parent),
                _ => return true,
            }
            continue;
        };
        // The first may be this program, run by a person.
        if is_marked(next) || path.len() > 1 && is_window(&stat) {
            return true;
        }
        path.push(stat.parent);
    }
    true
}

/// Whether a process runs.
pub fn is_there(pid: u32) -> bool {
    !cfg!(target_os = "linux") || procfs::stat(pid).is_some_and(|stat| !stat.zombie)
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
            Some(Stat { pid, parent, ..Stat::default() })
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
            assert_eq!(above(pid, &look, &|pid| pid == 70, &|stat| stat.pid == 50), want, "{pid}");
        }
    }

    #[test]
    fn a_parent_that_ends_meanwhile_hides_nothing() {
        // 80 was started by 81, which ends as it is looked at: 80 belongs to the window 50 from then on.
        let looks = std::cell::Cell::new(0);
        let look = |pid: u32| match pid {
            80 => {
                looks.set(looks.get() + 1);
                Some(Stat { pid, parent: if looks.get() == 1 { 81 } else { 50 }, ..Stat::default() })
            }
            50 => Some(Stat { pid, parent: 1, ..Stat::default() }),
            _ => None,
        };
        assert!(above(80, &look, &|_| false, &|stat| stat.pid == 50));
        // What can't be seen is no person's.
        let hidden = |pid: u32| (pid == 80).then(|| Stat { pid, parent: 81, ..Stat::default() });
        assert!(above(80, &hidden, &|_| false, &|_| false));
    }
}
