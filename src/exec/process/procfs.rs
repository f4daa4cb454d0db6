//! What the system knows of processes: who leads which session, since when, and what they use. Empty where there is no
//! `/proc`.

/// One process, as `/proc/PID/stat` tells. Zero is a value: a parent, group or session outside of our process namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) pid: u32,
    /// What its program calls itself, 15 bytes at most: it says what it likes (see [`super::process_identity`]).
    pub(crate) name: String,
    /// It has ended, and nobody has waited for it.
    pub(crate) zombie: bool,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    pub(crate) session: u32,
    /// The group in the foreground of its terminal; zero without one.
    pub(crate) foreground: u32,
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
    #[cfg(target_os = "linux")]
    pub(crate) fn of(pid: u32) -> Option<Self> {
        stat(pid).map(|stat| Self { pid, start: stat.start })
    }

    /// Whether this very process runs.
    #[cfg(target_os = "linux")]
    pub(crate) fn is_alive(self) -> bool {
        stat(self.pid).is_some_and(|stat| stat.start == self.start && !stat.zombie)
    }

    /// Of a process that runs.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn of(pid: u32) -> Option<Self> {
        super::started::started(pid).map(|start| Self { pid, start })
    }

    /// Whether this very process runs.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn is_alive(self) -> bool {
        Self::of(self.pid) == Some(self)
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

/// Whether a process has children, ended ones too. Cheap: only this process is looked at.
pub(crate) fn has_children(pid: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    // Unreadable is not empty.
    let any = |thread: std::fs::DirEntry| !matches!(std::fs::read(thread.path().join("children")), Ok(list) if list.is_empty());
    threads.into_iter().any(any)
}

/// All that is below a process and runs, of everything that can be seen.
pub(crate) fn below(pid: u32) -> Vec<Stat> {
    let all = all();
    let mut found = std::collections::HashSet::from([pid]);
    loop {
        let more: Vec<u32> = all
            .iter()
            .filter(|one| found.contains(&one.parent) && !found.contains(&one.pid))
            .map(|one| one.pid)
            .collect();
        if more.is_empty() {
            break;
        }
        found.extend(more);
    }
    all.into_iter().filter(|one| one.pid != pid && found.contains(&one.pid) && !one.zombie).collect()
}

/// Processes that were started with this entry (`NAME=VALUE`) in their environment: what went into a session of its own is
/// found by it.
pub(crate) fn marked(entry: &str) -> Vec<Stat> {
    numbers().filter(|pid| is_marked(*pid, entry)).filter_map(stat).collect()
}

/// Looks at the environment of a process that shows none.
const SETTLING: usize = 10;

/// Whether a process was started with this entry. The environment of another user's process cannot be read.
pub(crate) fn is_marked(pid: u32, entry: &str) -> bool {
    has_entry(&environment(pid), entry)
}

/// The same of a process that may be between two programs: while it is, it shows no environment at all.
pub(crate) fn is_marked_settled(pid: u32, entry: &str) -> bool {
    for _ in 0..SETTLING {
        let environment = environment(pid);
        if !environment.is_empty() {
            return has_entry(&environment, entry);
        }
        std::thread::sleep(std::time::Duration::from_micros(500));
    }
    false
}

fn environment(pid: u32) -> Vec<u8> {
    std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default()
}

fn has_entry(environment: &[u8], entry: &str) -> bool {
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
    // The name in parentheses may hold anything, parentheses too.
    let (open, close) = (text.find('(')?, text.rfind(')')?);
    let name = text.get(open + 1..close)?.to_owned();
    let fields: Vec<&str> = text.get(close + 1..)?.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u32>().ok();
    let long = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Stat {
        pid,
        name,
        zombie: matches!(fields.first(), Some(&("Z" | "X"))),
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        // -1 without a terminal.
        foreground: fields.get(5)?.parse::<i64>().ok()?.try_into().unwrap_or(0),
        ticks: long(11)? + long(12)?,
        start: long(19)?,
        pages: long(21)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_is_read() {
        let rest = "S 7 42 40 34816 43 4194304 88 0 0 0 12 5 0 0 20 0 1 0 991 1234 77 18446744073709551615";
        for name in ["bash", "a) b (c", "a) S 1 1 1", "tmux: server", "(", ""] {
            let want = Stat {
                pid: 42,
                name: name.into(),
                zombie: false,
                parent: 7,
                group: 42,
                session: 40,
                foreground: 43,
                ticks: 17,
                start: 991,
                pages: 77,
            };
            assert_eq!(parse(42, &format!("42 ({name}) {rest}\n")), Some(want));
        }
        // Seen through the border of a namespace, without a terminal, and ended.
        let outside = parse(5, "5 (sh) Z 0 0 0 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 1 1 1").unwrap();
        assert_eq!((outside.parent, outside.group, outside.session, outside.foreground), (0, 0, 0, 0));
        assert!(outside.zombie);
        let negative = "5 (sh) S -1 2 3 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 1 1";
        for text in ["", "123", "123 (bash", "123 (bash) S 1 2", "1 (cut) S 0", negative] {
            assert_eq!(parse(1, text), None, "{text}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_is_seen() {
        let own = stat(std::process::id()).unwrap();
        assert_eq!(own.parent, std::os::unix::process::parent_id());
        assert_eq!(own.start, Identity::of(own.pid).unwrap().start);
        assert_eq!(stat(u32::MAX), None);
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
