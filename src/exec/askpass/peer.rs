//! Who may ask: only what a command of ours started, and only as far as that can be seen.

use crate::exec::process::procfs::Stat;

/// Parents that are looked at.
pub(super) const GENERATIONS: usize = 64;

/// The leader, one of `leaders`, that `pid` belongs to: by its session, or by its parents. `look` tells what can be seen of a
/// process. Zero stands for a process outside of our process namespace: it is nobody's.
pub(super) fn leader_of(pid: u32, leaders: &[u32], look: &dyn Fn(u32) -> Option<Stat>) -> Option<u32> {
    let own = |id: u32| leaders.iter().copied().find(|leader| *leader == id && id > 1);
    let mut next = pid;
    for _ in 0..GENERATIONS {
        if next <= 1 {
            return None;
        }
        if let Some(leader) = own(next) {
            return Some(leader);
        }
        let stat = look(next)?;
        if let Some(leader) = own(stat.session) {
            return Some(leader);
        }
        next = stat.parent;
    }
    None
}

/// The words that a process was started with; everybody may read them.
pub(super) fn words_of(pid: u32) -> Option<Vec<u8>> {
    std::fs::read(format!("/proc/{pid}/cmdline")).ok().filter(|words| !words.is_empty())
}

/// Whether `/proc` shows the processes that we see: in a process namespace with the outer `/proc` every number in it means
/// another process.
#[cfg(target_os = "linux")]
pub(super) fn proc_is_ours() -> bool {
    let own = std::process::id().to_string();
    std::fs::read_link("/proc/self").is_ok_and(|to| to.as_os_str() == own.as_str())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn proc_is_ours() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number, parent and session of processes.
    fn world(of: &'static [(u32, u32, u32)]) -> impl Fn(u32) -> Option<Stat> {
        move |pid| {
            let (_, parent, session) = of.iter().find(|process| process.0 == pid)?;
            Some(Stat { parent: *parent, session: *session, ..Stat::default() })
        }
    }

    #[test]
    fn only_descendants_and_sessions_of_ours_may_ask() {
        let look = world(&[
            // A command of ours, what it started, and the helper below that.
            (100, 50, 100),
            (101, 100, 100),
            (102, 101, 100),
            // Its parents are gone, its session is not.
            (110, 1, 100),
            // A session of its own below a command of ours.
            (120, 101, 120),
            (121, 120, 120),
            // One that left both.
            (130, 1, 130),
            // The person's shell, and we in it.
            (40, 1, 40),
            (50, 40, 50),
            // Seen through the border of a namespace.
            (200, 0, 0),
            (201, 200, 0),
            // A circle, which no system has.
            (300, 301, 300),
            (301, 300, 300),
        ]);
        for (pid, want) in [
            (100, Some(100)),
            (102, Some(100)),
            (110, Some(100)),
            (121, Some(100)),
            (130, None),
            (40, None),
            (50, None),
            (201, None),
            (300, None),
            (999, None),
            (0, None),
            (1, None),
        ] {
            assert_eq!(leader_of(pid, &[100, 900], &look), want, "{pid}");
        }
        // Zero and one are no leaders, whatever a list says.
        assert_eq!(leader_of(201, &[0, 1], &look), None);
        assert_eq!(leader_of(102, &[], &look), None);
    }
}
