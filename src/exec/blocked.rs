//! Does a process wait for keys? Asked of `/proc` after a silence; elsewhere the answer is no.

use std::path::Path;

/// Processes looked at, the leader included.
#[cfg(target_os = "linux")]
const MOST: usize = 64;

/// Whether `leader` or a descendant is blocked reading the terminal `tty`. Programs that take single keys wait for
/// events instead of reading; in raw mode (`raw`) that counts too.
#[cfg(target_os = "linux")]
pub(crate) fn waits_for_keys(leader: u32, tty: &Path, raw: bool) -> bool {
    let mut family = vec![leader];
    let mut next = 0;
    while next < family.len() && family.len() < MOST {
        let pid = family[next];
        next += 1;
        if let Ok(children) = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")) {
            family.extend(children.split_ascii_whitespace().filter_map(|p| p.parse::<u32>().ok()));
        }
    }
    family.into_iter().any(|pid| is_blocked(pid, tty, raw))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn waits_for_keys(_: u32, _: &Path, _: bool) -> bool {
    false
}

/// Whether this very process is.
#[cfg(target_os = "linux")]
pub(crate) fn is_blocked(pid: u32, tty: &Path, raw: bool) -> bool {
    let Ok(text) = std::fs::read_to_string(format!("/proc/{pid}/syscall")) else {
        // Another user's process (sudo): what it waits in is all there is to see.
        return std::fs::read_to_string(format!("/proc/{pid}/wchan")).is_ok_and(|w| w.contains("tty_read"));
    };
    let mut fields = text.split_ascii_whitespace();
    let Some(number) = fields.next().and_then(|n| n.parse::<i64>().ok()) else { return false };
    let argument = fields.next().and_then(|n| u64::from_str_radix(n.trim_start_matches("0x"), 16).ok());
    if number == calls::READ {
        let Some(fd) = argument else { return false };
        return is_tty(pid, fd, tty);
    }
    raw && calls::WAITS.contains(&number) && (0..=2).any(|fd| is_tty(pid, fd, tty))
}

#[cfg(target_os = "linux")]
fn is_tty(pid: u32, fd: u64, tty: &Path) -> bool {
    std::fs::read_link(format!("/proc/{pid}/fd/{fd}")).is_ok_and(|to| to == tty || to == Path::new("/dev/tty"))
}

/// System call numbers: `read`, and those that wait for events (`poll`, `select`, `pselect6`, `ppoll`, `epoll_wait`,
/// `epoll_pwait`, `epoll_pwait2`). Source: the kernel's `syscall_64.tbl` and `asm-generic/unistd.h`.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod calls {
    pub(super) const READ: i64 = 0;
    pub(super) const WAITS: &[i64] = &[7, 23, 270, 271, 232, 281, 441];
}
#[cfg(all(target_os = "linux", not(target_arch = "x86_64")))]
mod calls {
    pub(super) const READ: i64 = 63;
    pub(super) const WAITS: &[i64] = &[72, 73, 22, 441];
}
