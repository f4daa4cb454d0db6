//! Every way out of the sandbox that we know, tried by a program of ours in a real one: as whoever runs the tests, and, when
//! that is root, as an ordinary user too.

use super::Place;
use crate::config::SandboxMode;
use crate::exec::Support;
use std::ffi::CString;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Which way to try; set in the sandbox only.
const WAY: &str = "HERMES_TEST_ESCAPE";
/// The process outside.
const OUTSIDE: &str = "HERMES_TEST_OUTSIDE";

/// A way out: it says whether it worked.
type Way = fn(&Path, u32) -> bool;

const WAYS: &[(&str, Way)] = &[
    ("a capability is left", |_, _| capability()),
    ("a file outside by its handle", |root, _| by_handle(&root.join("outside/a"), &root.join("work"))),
    ("a hook by its handle", |root, _| by_handle(&root.join("work/.git/hooks/pre-push"), &root.join("work"))),
    ("our settings by their handle", |root, _| by_handle(&root.join("own/config.yaml"), &root.join("work"))),
    ("a copied mount", |root, _| copied_mount(&root.join("outside/a"))),
    ("a copied mount, made writable as it is copied", |root, _| copied_with_attributes(&root.join("outside/a"))),
    ("all mounts writable again", |root, _| writable_again(c"/") && append(&root.join("outside/a"))),
    ("the mount of the hooks writable again", |root, _| {
        let hooks = root.join("work/.git/hooks");
        writable_again(&text(&hooks)) && append(&hooks.join("pre-push"))
    }),
    ("a remount", |root, _| {
        let flags = libc::MS_REMOUNT | libc::MS_BIND;
        mount(None, c"/", flags) && append(&root.join("outside/a"))
    }),
    ("the mount of the hooks taken away", |root, _| {
        let hooks = root.join("work/.git/hooks");
        // SAFETY: a text that ends with NUL.
        (unsafe { libc::umount2(text(&hooks).as_ptr(), libc::MNT_DETACH) }) == 0
    }),
    ("a mount over a folder", |root, _| {
        mount(Some(&text(&root.join("outside"))), &text(&root.join("work/src")), libc::MS_BIND)
    }),
    ("a new file system", |_, _| call(libc::SYS_fsopen, &[c"tmpfs".as_ptr() as usize, 0]) >= 0),
    ("a file system looked at again", |_, _| call(libc::SYS_fspick, &[AT, c"/".as_ptr() as usize, 0]) >= 0),
    ("a mount moved", |root, _| {
        let (from, to) = (text(&root.join("work/.git/hooks")), text(&root.join("work/src")));
        call(libc::SYS_move_mount, &[AT, from.as_ptr() as usize, AT, to.as_ptr() as usize, 0]) == 0
    }),
    ("another root", |root, _| call(libc::SYS_chroot, &[text(&root.join("work")).as_ptr() as usize]) == 0),
    ("a user namespace", |_, _| in_child(|| call(libc::SYS_unshare, &[libc::CLONE_NEWUSER as usize]) == 0)),
    ("a mount namespace", |_, _| in_child(|| call(libc::SYS_unshare, &[libc::CLONE_NEWNS as usize]) == 0)),
    ("a user namespace of a child", |_, _| cloned(libc::SYS_clone)),
    ("a user namespace of a child, by the newer call", |_, _| cloned(libc::SYS_clone3)),
    ("the namespaces of a process outside", |_, outside| {
        let process = call(libc::SYS_pidfd_open, &[outside as usize, 0]);
        process >= 0 && in_child(|| call(libc::SYS_setns, &[process as usize, libc::CLONE_NEWNS as usize]) == 0)
    }),
    ("a descriptor of a process outside", |_, outside| {
        let process = call(libc::SYS_pidfd_open, &[outside as usize, 0]);
        process >= 0 && call(libc::SYS_pidfd_getfd, &[process as usize, 1, 0]) >= 0
    }),
    ("a process outside looked into", |_, outside| {
        let seized = call(libc::SYS_ptrace, &[libc::PTRACE_SEIZE as usize, outside as usize, 0, 0]) == 0;
        seized || std::fs::read(format!("/proc/{outside}/environ")).is_ok_and(|all| !all.is_empty())
    }),
    ("the memory of a process outside", |_, outside| {
        std::fs::File::options().write(true).open(format!("/proc/{outside}/mem")).is_ok()
    }),
    ("the folder of a process outside", |root, outside| {
        append(Path::new(&format!("/proc/{outside}/root{}", root.join("outside/a").display())))
    }),
    ("a setting of the kernel", |_, _| {
        std::fs::File::options().write(true).open("/proc/sys/kernel/core_pattern").is_ok()
    }),
    ("a device", |root, _| {
        let device = text(&root.join("work/device"));
        // SAFETY: a text that ends with NUL.
        (unsafe { libc::mknod(device.as_ptr(), libc::S_IFBLK | 0o600, libc::makedev(8, 0)) }) == 0
    }),
    ("the owner of a file outside", |root, _| {
        let file = text(&root.join("outside/a"));
        // SAFETY: a text that ends with NUL.
        (unsafe { libc::chown(file.as_ptr(), 1, 1) }) == 0
    }),
    ("a program in the kernel", |_, _| call(libc::SYS_bpf, &[0, 0, 0]) == 0 || error() != libc::EPERM),
    ("a look at the whole machine", |_, _| {
        call(libc::SYS_perf_event_open, &[0, 0, 0, 0, 0]) >= 0 || error() != libc::EPERM
    }),
    // Only since Linux 6.12.
    ("a signal to a process outside", |_, outside| {
        call(libc::SYS_kill, &[outside as usize, libc::SIGCONT as usize]) == 0
    }),
    ("a socket without a file of a process outside", |root, _| {
        abstract_name(root).is_some_and(|name| UnixStream::connect_addr(&name).is_ok())
    }),
];

/// Ways that an older kernel leaves open.
const SINCE_SCOPES: &[&str] = &["a signal to a process outside", "a socket without a file of a process outside"];
/// Landlock's version that bounds them.
const SCOPES: i32 = 6;

/// `AT_FDCWD` as a word of a call.
const AT: usize = libc::AT_FDCWD as isize as usize;

fn text(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

fn call(number: libc::c_long, words: &[usize]) -> libc::c_long {
    let word = |at: usize| words.get(at).copied().unwrap_or(0);
    // SAFETY: pointers among the words are of texts and values that outlive the call, by whoever wrote the way.
    unsafe { libc::syscall(number, word(0), word(1), word(2), word(3), word(4), word(5)) }
}

fn error() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

fn append(path: &Path) -> bool {
    use std::io::Write as _;
    let file = std::fs::File::options().append(true).open(path);
    file.is_ok_and(|mut file| file.write_all(b"escaped").is_ok())
}

fn mount(from: Option<&CString>, to: &std::ffi::CStr, flags: libc::c_ulong) -> bool {
    let from = from.map_or(std::ptr::null(), |from| from.as_ptr());
    // SAFETY: texts that end with NUL, or nothing.
    (unsafe { libc::mount(from, to.as_ptr(), std::ptr::null(), flags, std::ptr::null()) }) == 0
}

fn capability() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let sets =
        status.lines().filter(|line| ["CapInh", "CapPrm", "CapEff", "CapAmb"].iter().any(|set| line.starts_with(set)));
    sets.clone().count() != 4 || sets.into_iter().any(|line| !line.ends_with("0000000000000000"))
}

/// `struct file_handle` with room for any.
#[repr(C)]
struct Handle {
    bytes: u32,
    kind: i32,
    data: [u8; 128],
}

fn by_handle(file: &Path, door: &Path) -> bool {
    let mut handle = Handle { bytes: 128, kind: 0, data: [0; 128] };
    let (file, mut mount) = (text(file), 0i32);
    let place = &raw mut handle as usize;
    if call(libc::SYS_name_to_handle_at, &[AT, file.as_ptr() as usize, place, &raw mut mount as usize, 0]) != 0 {
        return false;
    }
    let door = std::fs::File::open(door).unwrap();
    let door = std::os::fd::AsRawFd::as_raw_fd(&door);
    let flags = (libc::O_WRONLY | libc::O_APPEND) as usize;
    let opened = call(libc::SYS_open_by_handle_at, &[door as usize, place, flags]);
    opened >= 0 && call(libc::SYS_write, &[opened as usize, c"escaped".as_ptr() as usize, 7]) == 7
}

const OPEN_TREE_CLONE: usize = 1;
const RECURSIVE: usize = 0x8000;
const EMPTY_PATH: usize = 0x1000;

/// `struct mount_attr` that takes *read-only* away.
const WRITABLE: [u64; 4] = [0, 1, 0, 0];

fn written_below(tree: libc::c_long, file: &Path) -> bool {
    let inside = text(file.strip_prefix("/").unwrap());
    let flags = (libc::O_WRONLY | libc::O_APPEND) as usize;
    let opened = call(libc::SYS_openat, &[tree as usize, inside.as_ptr() as usize, flags]);
    opened >= 0 && call(libc::SYS_write, &[opened as usize, c"escaped".as_ptr() as usize, 7]) == 7
}

fn copied_mount(file: &Path) -> bool {
    let tree = call(libc::SYS_open_tree, &[AT, c"/".as_ptr() as usize, OPEN_TREE_CLONE | RECURSIVE]);
    let place = WRITABLE.as_ptr() as usize;
    let set = call(libc::SYS_mount_setattr, &[tree as usize, c"".as_ptr() as usize, EMPTY_PATH | RECURSIVE, place, 32]);
    tree >= 0 && set == 0 && written_below(tree, file)
}

fn copied_with_attributes(file: &Path) -> bool {
    let place = WRITABLE.as_ptr() as usize;
    let tree = call(467, &[AT, c"/".as_ptr() as usize, OPEN_TREE_CLONE | RECURSIVE, place, 32]);
    tree >= 0 && written_below(tree, file)
}

fn writable_again(at: &std::ffi::CStr) -> bool {
    call(libc::SYS_mount_setattr, &[AT, at.as_ptr() as usize, RECURSIVE, WRITABLE.as_ptr() as usize, 32]) == 0
}

/// Whether it works in a process with one thread: most calls about namespaces take no other.
fn in_child(way: impl Fn() -> bool) -> bool {
    // SAFETY: the child makes one system call and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let code = if way() { ESCAPED } else { HELD };
        // SAFETY: ends this process.
        unsafe { libc::_exit(code) }
    }
    let mut status = 0;
    // SAFETY: waits for a child of ours and writes one number.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == ESCAPED
}

/// A child in a user namespace of its own. It ends at once.
fn cloned(number: libc::c_long) -> bool {
    let flags = libc::CLONE_NEWUSER as usize;
    // `struct clone_args`: flags first, the signal of its end fifth.
    let args: [u64; 8] = [flags as u64, 0, 0, 0, libc::SIGCHLD as u64, 0, 0, 0];
    let made = match number {
        libc::SYS_clone3 => call(number, &[args.as_ptr() as usize, size_of_val(&args)]),
        _ => call(number, &[flags | libc::SIGCHLD as usize]),
    };
    if made == 0 {
        // SAFETY: the child; it touches nothing.
        unsafe { libc::_exit(0) }
    }
    made > 0
}

fn abstract_name(root: &Path) -> Option<SocketAddr> {
    SocketAddr::from_abstract_name(root.as_os_str().as_bytes()).ok()
}

/// What runs inside: one way, told by the exit code. A test like the others, since this binary is the program.
#[test]
fn attacker() {
    let Ok(number) = std::env::var(WAY) else { return };
    let root = PathBuf::from(std::env::var("ROOT").unwrap());
    let outside = std::env::var(OUTSIDE).unwrap().parse().unwrap();
    let (_, way) = WAYS[number.parse::<usize>().unwrap()];
    std::process::exit(if way(&root, outside) { ESCAPED } else { HELD });
}

const ESCAPED: i32 = 77;
const HELD: i32 = 78;

fn line(number: usize, outside: u32) -> String {
    let program = std::env::current_exe().unwrap();
    format!(
        "{WAY}={number} {OUTSIDE}={outside} '{}' --exact exec::sandbox::tests::escapes::attacker --test-threads=1",
        program.display()
    )
}

/// A process that is none of the sandbox's; it ends with the test, also with one that fails.
struct Outside(std::process::Child);

impl Outside {
    fn new() -> Self {
        let mut sleep = Command::new("sleep");
        sleep.arg("600").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(sleep.spawn().unwrap())
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The names of the ways that worked.
fn escapes(place: &Place, support: &Support) -> Vec<&'static str> {
    let sandbox = place.sandbox(SandboxMode::WorkspaceWrite);
    let outside = Outside::new();
    // A child of another test holds the one of a moment ago until it has become its program.
    let name = abstract_name(&place.root).unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    let _listener = loop {
        match UnixListener::bind_addr(&name) {
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse && std::time::Instant::now() < deadline => {
                std::thread::yield_now();
            }
            bound => break bound.unwrap(),
        }
    };
    let tried =
        WAYS.iter().enumerate().filter(|(_, (name, _))| support.landlock >= SCOPES || !SINCE_SCOPES.contains(name));
    let mut worked = Vec::new();
    for (number, (name, _)) in tried {
        let (code, said) = place.run_as(&sandbox, support, &line(number, outside.0.id()));
        match code {
            ESCAPED => worked.push(*name),
            HELD => {}
            other => panic!("{name}: exit {other}: {said}"),
        }
    }
    for file in ["outside/a", "own/config.yaml", "work/.git/hooks/pre-push"] {
        assert_eq!(place.text(file), "before", "{file}: {worked:?}");
    }
    worked
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn no_known_way_leads_out() {
    let place = Place::new();
    if !place.able("no_known_way_leads_out", |s| s.landlock > 0 && s.mounts.is_ok() && s.seccomp) {
        return;
    }
    let alone = Support { mounts: Err("not here".into()), ..place.support.clone() };
    for (how, support) in [("", &place.support), (", with Landlock alone", &alone)] {
        let worked = escapes(&place, support);
        let who = if is_root() { "root" } else { "a user" };
        println!("escapes of the sandbox as {who}{how}: {} of {} ways", worked.len(), WAYS.len());
        assert_eq!(worked, [""; 0], "as {who}{how}");
    }
}

/// Otherwise the test above could not fail.
#[test]
fn the_ways_lead_somewhere_without_the_sandbox() {
    let place = Place::new();
    let outside = Outside::new();
    let _listener = UnixListener::bind_addr(&abstract_name(&place.root).unwrap()).unwrap();
    let mut open = vec!["a signal to a process outside", "a socket without a file of a process outside"];
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    if is_root() && status.contains("CapEff:\t000001ff") {
        open.extend([
            "a capability is left",
            "a file outside by its handle",
            "a copied mount",
            "a new file system",
            "a process outside looked into",
            "a user namespace",
            "a user namespace of a child, by the newer call",
        ]);
    }
    for name in open {
        let number = WAYS.iter().position(|(way, _)| *way == name).unwrap();
        let mut shell = Command::new("bash");
        shell
            .args(["--norc", "-c", &line(number, outside.0.id())])
            .current_dir(&place.workspace)
            .env("ROOT", &place.root);
        let ran = shell.output().unwrap();
        assert_eq!(ran.status.code(), Some(ESCAPED), "{name}");
    }
}

/// The whole room once more as a user without rights, where root runs the tests.
#[test]
fn the_sandbox_holds_an_ordinary_user_too() {
    if !is_root() {
        return;
    }
    let nobody = || {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
        command
    };
    let program = std::env::current_exe().unwrap();
    if !nobody().arg(&program).arg("--list").output().is_ok_and(|ran| ran.status.success()) {
        crate::skipped::skipped(
            "the_sandbox_holds_an_ordinary_user_too",
            "setpriv is missing, or cannot run this program",
        );
        return;
    }
    let home = tempfile::Builder::new().prefix("hermes-test-").tempdir_in("/var/tmp").unwrap();
    std::os::unix::fs::chown(home.path(), Some(65534), Some(65534)).unwrap();
    let mut again = nobody();
    again.arg(&program).args(["exec::sandbox::", "--nocapture", "--test-threads=2"]);
    again.env("HOME", home.path()).env("TMPDIR", home.path()).current_dir(home.path());
    let ran = again.output().unwrap();
    let said = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
    print!(
        "{}",
        said.lines()
            .filter(|line| line.contains("escapes of the sandbox"))
            .fold(String::new(), |all, line| all + line + "\n")
    );
    assert!(ran.status.success(), "{said}");
}
