//! Does a process wait for keys? Asked of `/proc` after a silence. Elsewhere only the screen can tell.

#[cfg(target_os = "linux")]
use rustix::process::Pid;
#[cfg(target_os = "linux")]
use std::os::unix::fs::FileExt;
#[cfg(target_os = "linux")]
use std::path::Path;
use std::time::Duration;

/// What the processes of a command do about their terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Readers {
    /// The number of one that is blocked reading it.
    pub(crate) reads: Option<u32>,
    /// Of one that waits until it, or something else, can be read: single keys are taken that way. And for how long it waits
    /// before it does something else: `None` waits for ever.
    pub(crate) polls: Option<(u32, Option<Duration>)>,
    /// Of one that has the keyboard and cannot be looked into: another user's (`sudo`), or, where this system does not tell,
    /// the leader's.
    pub(crate) unseen: Option<u32>,
}

/// Processes and threads of one that are looked at.
#[cfg(target_os = "linux")]
const MAX_PROCESSES: usize = 64;
/// Descriptors of one wait that are looked at.
#[cfg(target_os = "linux")]
const DESCRIPTORS: u64 = 1024;

/// Looks at `leader`, what it left behind and their descendants, as far as they may read the terminal `tty`.
#[cfg(target_os = "linux")]
pub(crate) fn readers(leader: u32, left: &[u32], foreground: Option<Pid>, tty: &Path) -> Readers {
    let mut family = vec![leader];
    family.extend(left);
    if let Some(group) = foreground.map(|group| group.as_raw_nonzero().get() as u32)
        && !family.contains(&group)
    {
        family.push(group);
    }
    let mut next = 0;
    while next < family.len() && family.len() < MAX_PROCESSES {
        let pid = family[next];
        next += 1;
        if let Ok(children) = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")) {
            let children = children.split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok());
            family.extend(children.filter(|child| !family[1..].contains(child)).collect::<Vec<_>>());
        }
    }
    let mut found = Readers::default();
    for pid in family {
        let Some(stat) = crate::exec::process::procfs::stat(pid) else { continue };
        // One in a session of its own (`setsid`, what `su -c` runs) has this terminal open and not as its own: nobody stops
        // it from reading.
        let in_front = foreground.is_none_or(|group| group.as_raw_nonzero().get() as u32 == stat.group);
        if in_front || stat.session != leader {
            look(pid, tty, &mut found);
        }
    }
    found
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn readers(leader: u32, _: &[u32], _: Option<rustix::process::Pid>, _: &std::path::Path) -> Readers {
    Readers { unseen: Some(leader), ..Readers::default() }
}

/// Whether this very process waits for keys of the terminal `tty`; with `raw` also one that waits for events.
#[cfg(target_os = "linux")]
pub(crate) fn is_blocked(pid: u32, tty: &Path, raw: bool) -> bool {
    let mut found = Readers::default();
    look(pid, tty, &mut found);
    found.reads.is_some() || raw && found.polls.is_some()
}

/// What the threads of one process are blocked in.
#[cfg(target_os = "linux")]
fn look(pid: u32, tty: &Path, found: &mut Readers) {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    for thread in threads.take(MAX_PROCESSES) {
        let folder = thread.path();
        let Ok(text) = std::fs::read_to_string(folder.join("syscall")) else {
            // What it waits in may be all that there is to see.
            match std::fs::read_to_string(folder.join("wchan")) {
                Ok(place) if place.contains("tty_read") => found.reads = Some(pid),
                _ => found.unseen = Some(pid),
            }
            continue;
        };
        match Wait::parse(&text) {
            Some(Wait::Read(fd)) if is_tty(pid, fd, tty) => found.reads = Some(pid),
            Some(wait) if wait.watched(pid).into_iter().any(|fd| is_tty(pid, fd, tty)) => {
                found.polls = Some((pid, wait.limit(pid)));
            }
            _ => {}
        }
    }
}

/// A system call that waits for input.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Read(u64),
    /// Address and number of `struct pollfd`.
    Poll(u64, u64, Limit),
    /// Number of descriptors and the address of the set of those that are read.
    Select(u64, u64, Limit),
    Epoll(u64, Limit),
}

/// How a call is told how long it may wait.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    /// Milliseconds; a negative number (of 32 bits) is for ever.
    Milliseconds(u64),
    /// Where seconds and so many parts of a second are; nowhere is for ever.
    At(u64, u64),
}

#[cfg(target_os = "linux")]
impl Wait {
    /// Reads `/proc/PID/syscall`: a number and its arguments.
    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split_ascii_whitespace();
        let number = fields.next()?.parse::<i64>().ok()?;
        let mut arguments = [0; 5];
        for argument in &mut arguments {
            *argument = u64::from_str_radix(fields.next()?.trim_start_matches("0x"), 16).ok()?;
        }
        let [first, second, third, fourth, fifth] = arguments;
        Some(match number {
            calls::READ => Self::Read(first),
            calls::POLL => Self::Poll(first, second, Limit::Milliseconds(third)),
            calls::PPOLL => Self::Poll(first, second, Limit::At(third, NANO)),
            calls::SELECT => Self::Select(first, second, Limit::At(fifth, MICRO)),
            calls::PSELECT => Self::Select(first, second, Limit::At(fifth, NANO)),
            calls::EPOLL | calls::EPOLL_P => Self::Epoll(first, Limit::Milliseconds(fourth)),
            calls::EPOLL_P2 => Self::Epoll(first, Limit::At(fourth, NANO)),
            _ => return None,
        })
    }

    /// How long it waits at most; `None`: for ever, or nobody can tell.
    fn limit(self, pid: u32) -> Option<Duration> {
        match self {
            Self::Read(_) => None,
            Self::Poll(_, _, limit) | Self::Select(_, _, limit) | Self::Epoll(_, limit) => limit.read(pid),
        }
    }

    /// The descriptors that it waits for to be readable. None when its memory may not be read.
    fn watched(self, pid: u32) -> Vec<u64> {
        match self {
            Self::Read(_) => Vec::new(),
            Self::Poll(at, count, _) => {
                let bytes = memory(pid, at, 8 * count.min(DESCRIPTORS));
                // `struct pollfd`: the descriptor, what is asked for, what came.
                let entries = bytes.chunks_exact(8).filter(|entry| entry[4] & 1 != 0);
                entries.filter_map(|e| u64::try_from(i32::from_ne_bytes([e[0], e[1], e[2], e[3]])).ok()).collect()
            }
            Self::Select(count, at, _) if at != 0 => {
                // Words of a machine, whose lowest bit comes first.
                let bytes = memory(pid, at, count.min(DESCRIPTORS).div_ceil(64) * 8);
                let words = bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()));
                let bits = words.enumerate().flat_map(|(index, word)| {
                    (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| index as u64 * 64 + bit)
                });
                bits.filter(|fd| *fd < count).collect()
            }
            Self::Select(..) => Vec::new(),
            Self::Epoll(fd, _) => {
                let info = std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{fd}")).unwrap_or_default();
                targets(&info)
            }
        }
    }
}

/// Parts of a second.
#[cfg(target_os = "linux")]
const NANO: u64 = 1_000_000_000;
#[cfg(target_os = "linux")]
const MICRO: u64 = 1_000_000;

#[cfg(target_os = "linux")]
impl Limit {
    fn read(self, pid: u32) -> Option<Duration> {
        match self {
            Self::Milliseconds(count) => u64::try_from(count as u32 as i32).ok().map(Duration::from_millis),
            Self::At(0, _) => None,
            Self::At(at, parts) => {
                let bytes = memory(pid, at, 16);
                let word = |at: usize| bytes.get(at..at + 8)?.try_into().ok().map(u64::from_ne_bytes);
                let (seconds, rest) = (word(0)?, word(8)?);
                Some(Duration::from_secs(seconds) + Duration::from_nanos(rest.saturating_mul(NANO / parts)))
            }
        }
    }
}

/// What an epoll descriptor watches for reading: lines `tfd: 0 events: 19 data: …`.
#[cfg(target_os = "linux")]
fn targets(info: &str) -> Vec<u64> {
    let lines = info.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let fd = (words.next()? == "tfd:").then(|| words.next()?.parse().ok()).flatten()?;
        let events = (words.next()? == "events:").then(|| u64::from_str_radix(words.next()?, 16).ok()).flatten()?;
        (events & 1 == 1).then_some(fd)
    });
    lines.collect()
}

/// Bytes of another process.
#[cfg(target_os = "linux")]
fn memory(pid: u32, at: u64, count: u64) -> Vec<u8> {
    let mut bytes = vec![0; count as usize];
    let file = std::fs::File::open(format!("/proc/{pid}/mem"));
    match file.and_then(|file| file.read_exact_at(&mut bytes, at)) {
        Ok(()) => bytes,
        Err(_) => Vec::new(),
    }
}

#[cfg(target_os = "linux")]
fn is_tty(pid: u32, fd: u64, tty: &Path) -> bool {
    std::fs::read_link(format!("/proc/{pid}/fd/{fd}")).is_ok_and(|to| to == tty || to == Path::new("/dev/tty"))
}

/// Numbers of system calls. Source: the kernel's `syscall_64.tbl` and `asm-generic/unistd.h`.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod calls {
    pub(super) const READ: i64 = 0;
    pub(super) const POLL: i64 = 7;
    pub(super) const PPOLL: i64 = 271;
    pub(super) const SELECT: i64 = 23;
    pub(super) const PSELECT: i64 = 270;
    /// `epoll_wait`, `epoll_pwait`, `epoll_pwait2`
    pub(super) const EPOLL: i64 = 232;
    pub(super) const EPOLL_P: i64 = 281;
    pub(super) const EPOLL_P2: i64 = 441;
}
#[cfg(all(target_os = "linux", not(target_arch = "x86_64")))]
mod calls {
    pub(super) const READ: i64 = 63;
    pub(super) const PPOLL: i64 = 73;
    pub(super) const PSELECT: i64 = 72;
    pub(super) const EPOLL_P: i64 = 22;
    pub(super) const EPOLL_P2: i64 = 441;
    // These do not have the older calls: no call has these numbers.
    pub(super) const POLL: i64 = -2;
    pub(super) const SELECT: i64 = -3;
    pub(super) const EPOLL: i64 = -4;
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn calls_are_told_apart() {
        for (text, want) in [
            ("0 0x3 0x7ffe 0x1 0x0 0x0 0x0 0x7ffd 0x7f1\n", Some(Wait::Read(3))),
            (
                "7 0x7ffc10 0x2 0xffffffff 0x0 0x0 0x0 0x1 0x2",
                Some(Wait::Poll(0x7f_fc10, 2, Limit::Milliseconds(0xffff_ffff))),
            ),
            ("270 0x1 0x7ffc 0x0 0x0 0x0 0x0 0x1 0x2", Some(Wait::Select(1, 0x7ffc, Limit::At(0, NANO)))),
            ("232 0x5 0x7ffc 0x400 0xffffffff 0x0 0x0 0x1 0x2", Some(Wait::Epoll(5, Limit::Milliseconds(0xffff_ffff)))),
            ("61 0xffffffff 0x0 0x0 0x0 0x0 0x0 0x1 0x2", None),
            ("running\n", None),
            ("-1 0x7ff 0x0", None),
        ] {
            assert_eq!(Wait::parse(text), want, "{text}");
        }
    }

    #[test]
    fn watched_descriptors_are_those_that_are_read() {
        let info = "pos:\t0\nflags:\t02\ntfd:       12 events:     2019 data: c pos:0 ino:1 sdev:e\ntfd:        0 events:        4 data: 0\ntfd:        7 events:        1 data: 7\n";
        assert_eq!(targets(info), [12, 7]);
        let me = std::process::id();
        let ever = Limit::At(0, NANO);
        let three: [u64; 2] = [3, 500_000];
        assert_eq!(Limit::At(three.as_ptr() as u64, MICRO).read(me), Some(Duration::from_millis(3500)));
        assert_eq!(Limit::Milliseconds(2000).read(me), Some(Duration::from_secs(2)));
        assert_eq!((Limit::Milliseconds(0xffff_ffff).read(me), ever.read(me)), (None, None));
        // `struct pollfd` as it lies in memory: one is read, one is written, one is left out.
        let entries: Vec<[u8; 8]> = [(5_i32, 1_u16), (6, 4), (-1, 1)]
            .into_iter()
            .map(|(fd, events)| {
                let ([a, b, c, d], [e, f]) = (fd.to_ne_bytes(), events.to_ne_bytes());
                [a, b, c, d, e, f, 0, 0]
            })
            .collect();
        assert_eq!(Wait::Poll(entries.as_ptr() as u64, 3, ever).watched(me), [5]);
        let set: [u64; 2] = [0b101, 1 << 3];
        assert_eq!(Wait::Select(68, set.as_ptr() as u64, ever).watched(me), [0, 2, 67]);
        assert_eq!(Wait::Select(67, set.as_ptr() as u64, ever).watched(me), [0, 2]);
        assert_eq!(Wait::Select(67, 0, ever).watched(me), [] as [u64; 0]);
    }
}
