//! What the system knows of processes: who leads which session, since when, and what they use. Empty where there is no
//! `/proc`.

/// One process, as `/proc/PID/stat` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) pid: u32,
    /// It has ended, and nobody has waited for it.
    pub(crate) zombie: bool,
    pub(crate) parent: u32,
    pub(crate) session: u32,
    /// Clock ticks of processor time so far, its own.
    pub(crate) ticks: u64,
    /// Clock ticks from the start of the system to its own: with the number, it tells a process from any other.
    pub(crate) start: u64,
    /// Pages in memory.
    pub(crate) pages: u64,
}

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) struct Identity {
    pub(crate) pid: u32,
    pub(crate) start: u64,
}

impl Identity {
    /// Of a process that runs.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        stat(pid).map(|stat| Self { pid, start: stat.start })
    }

    /// Whether this very process runs.
    pub(crate) fn is_alive(self) -> bool {
        stat(self.pid).is_some_and(|stat| stat.start == self.start && !stat.zombie)
    }
}

/// One process, if it is there.
pub(crate) fn stat(pid: u32) -> Option<Stat> {
    parse(pid, &std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// All processes that can be seen.
pub(crate) fn all() -> Vec<Stat> {
    numbers().filter_map(stat).collect()
}

/// Processes that were started with this entry (`NAME=VALUE`) in their environment: what went into a session of its own is
/// found by it.
pub(crate) fn marked(entry: &str) -> Vec<Stat> {
    numbers().filter(|pid| is_marked(*pid, entry)).filter_map(stat).collect()
}

/// Whether a process was started with this entry. The environment of another user's process cannot be read.
pub(crate) fn is_marked(pid: u32, entry: &str) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == entry.as_bytes())
}

fn numbers() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Names this run of the system: numbers and start times of another one mean nothing.
pub(crate) fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

fn parse(pid: u32, text: &str) -> Option<Stat> {
    // The name in parentheses may hold anything.
    let fields: Vec<&str> = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
    Some(Stat {
        pid,
        zombie: matches!(fields.first(), Some(&("Z" | "X"))),
        parent: number(1)? as u32,
        // Zero for a session outside of this process namespace.
        session: number(3)? as u32,
        ticks: number(11)? + number(12)?,
        start: number(19)?,
        pages: number(21)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let line =
            "42 (a) b (c) S 7 42 40 34816 42 4194304 88 0 0 0 12 5 0 0 20 0 1 0 991 1234 77 18446744073709551615";
        let stat = parse(42, line).unwrap();
        assert_eq!((stat.parent, stat.session, stat.ticks, stat.start, stat.pages), (7, 40, 17, 991, 77));
        assert!(!stat.zombie);
        assert_eq!(parse(1, "1 (cut) S 0"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_is_itself_only_with_its_start() {
        let own = Identity::of(std::process::id()).unwrap();
        assert!(own.is_alive());
        assert!(!Identity { start: own.start + 1, ..own }.is_alive());
        assert!(!Identity { pid: u32::MAX >> 1, ..own }.is_alive());
        assert!(!boot().is_empty());
    }
}
