//! What `/proc/PID/stat` tells of a process. Zero is a value: a session or parent outside of our process namespace.

/// The part of it that is used here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stat {
    /// The name of its program, 15 bytes at most.
    pub(crate) name: String,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    pub(crate) session: u32,
    /// Ticks since the start of the machine: with the number it names one process.
    pub(crate) started: u64,
}

/// Of a process that can be seen.
#[cfg(target_os = "linux")]
pub(crate) fn of(pid: u32) -> Option<Stat> {
    parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Other systems do not tell.
#[cfg(not(target_os = "linux"))]
pub(crate) fn of(_: u32) -> Option<Stat> {
    None
}

/// The name stands in parentheses and may hold anything, parentheses too.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux has the file"))]
fn parse(text: &str) -> Option<Stat> {
    let (open, close) = (text.find('(')?, text.rfind(')')?);
    let name = text.get(open + 1..close)?.to_owned();
    // State, parent, group and session follow it; the start is the twentieth.
    let fields: Vec<&str> = text.get(close + 1..)?.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u32>().ok();
    let started = fields.get(19)?.parse().ok()?;
    Some(Stat { name, parent: number(1)?, group: number(2)?, session: number(3)?, started })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_is_read() {
        let rest = "S 7 8 9 34816 8 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 100 1 18446744073709551615";
        for name in ["bash", "a) S 1 1 1", "tmux: server", "(", ""] {
            let stat = parse(&format!("123 ({name}) {rest}\n")).unwrap();
            let want = Stat { name: name.into(), parent: 7, group: 8, session: 9, started: 4711 };
            assert_eq!(stat, want);
        }
        let outside = parse("5 (sh) S 0 0 0 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 1 1 1").unwrap();
        assert_eq!((outside.parent, outside.group, outside.session), (0, 0, 0));
        for text in ["", "123", "123 (bash", "123 (bash) S 1 2", "123 (bash) S -1 2 3 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_is_seen() {
        assert_eq!(of(std::process::id()).map(|stat| stat.parent), Some(std::os::unix::process::parent_id()));
        assert_eq!(of(u32::MAX), None);
    }
}
