//! The Linux side: everything is made ready in the parent, and the child only makes plain system calls between fork and exec.
//!
//! With `filter` and `rights` beside it, the only other unsafe code of this room than `spawn`.

use super::filter::filter;
use super::plan::Plan;
use super::rights;
use super::{Sandbox, Step};
use crate::config::SandboxMode;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, Scope,
};
use std::ffi::CString;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A sandbox, ready to be entered.
pub(crate) struct Prepared {
    mounts: Option<Mounts>,
    /// Whether it gives up its capabilities.
    bare: bool,
    /// Landlock's rules.
    rules: Option<OwnedFd>,
    filter: Vec<libc::sock_filter>,
}

/// A mount namespace: all read-only, then these on top, each bound to itself.
struct Mounts {
    binds: Vec<(CString, Bind)>,
    /// Entered again: the folder that the process was in is that of the mounts below.
    cwd: CString,
    /// The user namespace that gives the right to mount, where we do not have it.
    users: Option<OwnedFd>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bind {
    Writable,
    InPlace,
    ReadOnly,
}

impl Prepared {
    pub(super) fn new(sandbox: &Sandbox, plan: Plan, cwd: &Path) -> io::Result<Self> {
        let rules = match (sandbox.mode, sandbox.network) {
            (SandboxMode::Off, true) => None,
            (mode, network) => ruleset(&plan, mode != SandboxMode::Off, network)?,
        };
        let mounts = plan.mounts.then(|| Mounts::new(&plan, cwd)).transpose()?;
        let bare = sandbox.mode != SandboxMode::Off;
        Ok(Self { mounts, bare, rules, filter: filter(bare, sandbox.network) })
    }

    /// Has the child enter the sandbox before it runs anything. The reader tells, when the child could not be started, in
    /// which step that was.
    pub(crate) fn enter(self, command: &mut Command) -> io::Result<Option<io::PipeReader>> {
        let (reader, writer) = io::pipe()?;
        let inside = move || {
            self.apply().map_err(|(step, error)| {
                // Nobody reads it any more: then nobody needs it.
                let _ = (&writer).write(&[step as u8]);
                error
            })
        };
        // SAFETY: between fork and exec only async-signal-safe calls are allowed. `apply` makes plain system calls on memory
        // that was filled before the fork; it allocates nothing and takes no lock.
        unsafe {
            command.pre_exec(inside);
        }
        Ok(Some(reader))
    }

    fn apply(&self) -> Result<(), (Step, io::Error)> {
        if let Some(mounts) = &self.mounts {
            mounts.apply()?;
        }
        if self.bare {
            rights::drop_all()?;
        }
        // SAFETY: plain system calls on numbers, a descriptor that is open and a filter that lives as long as `self`.
        unsafe {
            done(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into(), Step::Privileges)?;
            if let Some(rules) = &self.rules {
                done(libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0), Step::Landlock)?;
            }
            if !self.filter.is_empty() {
                let program =
                    libc::sock_fprog { len: self.filter.len() as u16, filter: self.filter.as_ptr().cast_mut() };
                let mode = libc::SECCOMP_SET_MODE_FILTER;
                done(libc::syscall(libc::SYS_seccomp, mode, 0, &raw const program), Step::Seccomp)?;
            }
        }
        Ok(())
    }
}

/// The step that a child failed in, from the reader that [`Prepared::enter`] gave. Call it when the child could not be started.
pub(crate) fn failed_step(mut reader: io::PipeReader) -> Option<Step> {
    let mut byte = [0];
    match reader.read(&mut byte) {
        Ok(1) => Step::of(byte[0]),
        _ => None,
    }
}

fn done(result: libc::c_long, step: Step) -> Result<(), (Step, io::Error)> {
    if result < 0 { Err((step, io::Error::last_os_error())) } else { Ok(()) }
}

fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)
}

impl Mounts {
    fn new(plan: &Plan, cwd: &Path) -> io::Result<Self> {
        let mut binds = Vec::new();
        for path in &plan.open {
            binds.push((c_path(path)?, Bind::Writable));
        }
        for kept in &plan.kept {
            binds.push((c_path(&kept.path)?, if kept.read_only { Bind::ReadOnly } else { Bind::InPlace }));
        }
        for path in &plan.reopened {
            binds.push((c_path(path)?, Bind::Writable));
        }
        Ok(Self { binds, cwd: c_path(cwd)?, users: rights::user_namespace()? })
    }

    fn apply(&self) -> Result<(), (Step, io::Error)> {
        // SAFETY: plain system calls on texts that end with NUL and live as long as `self`.
        unsafe {
            if let Some(users) = &self.users {
                done(libc::setns(users.as_raw_fd(), libc::CLONE_NEWUSER).into(), Step::Namespace)?;
            }
            done(libc::unshare(libc::CLONE_NEWNS).into(), Step::Namespace)?;
            let nothing = std::ptr::null();
            let private = libc::MS_REC | libc::MS_PRIVATE;
            done(libc::mount(nothing, c"/".as_ptr(), nothing, private, nothing.cast()).into(), Step::Mounts)?;
            attribute(c"/".as_ptr(), libc::AT_RECURSIVE, READ_ONLY, 0)?;
            for (path, bind) in &self.binds {
                let path = path.as_ptr();
                let itself = libc::MS_BIND | libc::MS_REC;
                done(libc::mount(path, path, nothing, itself, nothing.cast()).into(), Step::Mounts)?;
                match bind {
                    Bind::ReadOnly => attribute(path, libc::AT_RECURSIVE, READ_ONLY, 0)?,
                    Bind::InPlace => {}
                    // Mounts below may be locked by whoever made them; then only this one is opened.
                    Bind::Writable => match attribute(path, libc::AT_RECURSIVE, 0, READ_ONLY) {
                        Ok(()) => {}
                        Err(_) => attribute(path, 0, 0, READ_ONLY)?,
                    },
                }
            }
            done(libc::chdir(self.cwd.as_ptr()).into(), Step::Folder)
        }
    }
}

/// `MOUNT_ATTR_RDONLY` of `linux/mount.h`.
const READ_ONLY: u64 = 1;

/// `struct mount_attr` of `linux/mount.h`.
#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    namespace: u64,
}

/// Sets and clears attributes of a mount.
///
/// # Safety
/// `path` points to a text that ends with NUL.
unsafe fn attribute(path: *const libc::c_char, flags: i32, set: u64, clear: u64) -> Result<(), (Step, io::Error)> {
    let wanted = MountAttr { set, clear, propagation: 0, namespace: 0 };
    let size = size_of::<MountAttr>();
    // SAFETY: the caller's word for the path; the rest lives on this stack.
    let result =
        unsafe { libc::syscall(libc::SYS_mount_setattr, libc::AT_FDCWD, path, flags, &raw const wanted, size) };
    done(result, Step::Mounts)
}

/// Landlock's rules for a plan. Reading is never bounded.
fn ruleset(plan: &Plan, files: bool, network: bool) -> io::Result<Option<OwnedFd>> {
    let version = ABI::V6;
    // Devices' controls stay out of it: terminals need them.
    let handled = AccessFs::from_write(ABI::V4);
    // Device files and pipes that others wait on are nobody's work.
    let made = handled & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let one_file: BitFlags<AccessFs> = AccessFs::WriteFile | AccessFs::Truncate;
    let mut rules = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    let fail = |error: landlock::RulesetError| io::Error::other(format!("Landlock: {error}"));
    if files {
        rules = rules.handle_access(handled).map_err(fail)?;
        // Since Linux 6.12: no signals to processes outside, and no sockets of theirs that no folder bounds.
        rules = rules.scope(Scope::from_all(version)).map_err(fail)?;
    }
    if !network {
        rules = rules.handle_access(AccessNet::from_all(version)).map_err(fail)?;
        rules = rules.scope(Scope::AbstractUnixSocket).map_err(fail)?;
    }
    let mut rules = rules.create().map_err(fail)?;
    let wanted = plan.open.iter().chain(&plan.reopened).map(|path| (path, made));
    for (path, access) in wanted.chain(plan.devices.iter().map(|path| (path, one_file))) {
        // What is gone meanwhile is not written either.
        let Ok(at) = PathFd::new(path) else { continue };
        let access = if path.is_dir() { access } else { access & AccessFs::from_file(ABI::V4) };
        rules = rules.add_rule(PathBeneath::new(at, access)).map_err(fail)?;
    }
    Ok(rules.into())
}

/// Version of Landlock's interface; 0: there is none.
pub(super) fn landlock_version() -> i32 {
    let version_flag: libc::c_uint = 1;
    // SAFETY: with this flag the call reads no memory and makes nothing.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<libc::c_void>(), 0usize, version_flag)
    };
    i32::try_from(version).unwrap_or(0).max(0)
}

/// Tries a mount namespace with read-only mounts in a child.
pub(super) fn try_mounts() -> Result<(), String> {
    let plan = Plan { mounts: true, open: vec!["/tmp".into()], ..Plan::default() };
    let mounts = Mounts::new(&plan, Path::new("/")).map_err(|error| error.to_string())?;
    let prepared = Prepared { mounts: Some(mounts), bare: true, rules: None, filter: Vec::new() };
    let mut child = Command::new("/bin/sh");
    child.args(["-c", ":"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let reader = prepared.enter(&mut child).map_err(|error| error.to_string())?;
    let ran = child.status();
    drop(child);
    match ran {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("a command in it exited with {status}")),
        Err(error) => match reader.and_then(failed_step) {
            Some(step) => Err(format!("{}: {error}", step.words())),
            None => Err(error.to_string()),
        },
    }
}
