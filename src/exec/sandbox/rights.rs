//! Capabilities: what a held command gives up, and the user namespace that gives us the right to mount.

use super::Step;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// `struct __user_cap_header_struct` of `linux/capability.h`.
#[repr(C)]
struct Header {
    version: u32,
    pid: libc::c_int,
}

/// `struct __user_cap_data_struct`; two of them hold 64 capabilities.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Sets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// `_LINUX_CAPABILITY_VERSION_3`.
const VERSION: u32 = 0x2008_0522;

/// `CAP_SYS_ADMIN`.
const ADMIN: u32 = 21;

/// More than there are; the kernel says where they end.
const MAX_CAPABILITY: libc::c_ulong = 64;

/// Whether this process may make mounts as it is.
fn may_mount() -> bool {
    let header = Header { version: VERSION, pid: 0 };
    let mut sets = [Sets::default(); 2];
    // SAFETY: reads one header and writes two sets, as this version of the call does.
    let read = unsafe { libc::syscall(libc::SYS_capget, &raw const header, sets.as_mut_ptr()) };
    read == 0 && sets[0].effective & (1 << ADMIN) != 0
}

/// Gives up every capability of this process, for itself and for all that it starts: with `no_new_privs` no program brings
/// one back, root's included. Plain system calls, for between fork and exec.
pub(super) fn drop_all() -> Result<(), (Step, io::Error)> {
    let failed = || (Step::Capabilities, io::Error::last_os_error());
    // SAFETY: system calls on numbers, and one that reads a header and two sets.
    unsafe {
        libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        // Taking them from the bounding set is a right by itself (`CAP_SETPCAP`), which many containers do not have. What
        // counts is that the sets below are empty and nothing can fill them again.
        for capability in 0..MAX_CAPABILITY {
            if libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) < 0 {
                break;
            }
        }
        if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 {
            return Err((Step::Privileges, io::Error::last_os_error()));
        }
        let header = Header { version: VERSION, pid: 0 };
        let none = [Sets::default(); 2];
        if libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) < 0 {
            return Err(failed());
        }
    }
    Ok(())
}

/// A user namespace in which we are who we are and nobody else; `None` where we may mount without one. Blocks for a moment.
///
/// It is made by a shell that waits, and written to from here: this program is not dumpable, so a child of it before `exec`
/// could not open its own `/proc/self/uid_map`, and one that made itself dumpable would show our memory to others.
pub(super) fn user_namespace() -> io::Result<Option<OwnedFd>> {
    if may_mount() {
        return Ok(None);
    }
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "read wait"]).env_clear().current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let apart = || {
        // SAFETY: takes a number.
        if unsafe { libc::unshare(libc::CLONE_NEWUSER) } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: between fork and exec only async-signal-safe calls are allowed; this is one system call.
    unsafe {
        command.pre_exec(apart);
    }
    let mut child = command.spawn()?;
    let namespace = mapped(&child);
    // The shell reads the end of its input and is gone.
    drop(child.stdin.take());
    child.wait()?;
    namespace.map(Some)
}

/// Maps our user and group into the namespace of a child, and opens it.
fn mapped(child: &Child) -> io::Result<OwnedFd> {
    let of = |name: &str| format!("/proc/{}/{name}", child.id());
    // SAFETY: they ask for numbers and cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    fs::write(of("setgroups"), "deny")?;
    fs::write(of("uid_map"), format!("{user} {user} 1"))?;
    fs::write(of("gid_map"), format!("{group} {group} 1"))?;
    Ok(fs::File::open(of("ns/user"))?.into())
}
