//! The sandbox that the configuration wants for the commands of a call, and what a failed command says of it.

use super::spec::ToolCtx;
use crate::config::{SandboxMode, paths};
use crate::exec::{Sandbox, protected};
use crate::policy::files::normal;
use regex::Regex;
use rustix::fs::Access;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Bytes at the end of an output that are looked at: what stopped a command stands there.
const TAIL: usize = 16 * 1024;

/// What this call's commands are held in; `None`: nothing.
pub fn sandbox(ctx: &ToolCtx) -> Option<Sandbox> {
    if ctx.unconfined { None } else { wanted(ctx) }
}

/// The sandbox of the configuration.
fn wanted(ctx: &ToolCtx) -> Option<Sandbox> {
    let wanted = &ctx.config.sandbox;
    let (mode, network) = if ctx.read_only { (SandboxMode::ReadOnly, false) } else { (wanted.mode, wanted.network) };
    if mode == SandboxMode::Off && network {
        return None;
    }
    let home = ctx.world.home();
    let at = |path: &String| match path.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => paths::expand_home(path),
    };
    // The first is the workspace.
    let added = ctx.world.border().into_iter().skip(1);
    Some(Sandbox {
        mode,
        network,
        workspace: workspace(&ctx.workspace, &home),
        writable: wanted.writable.iter().map(at).filter(|path| path.is_absolute()).chain(added).collect(),
        closed: ctx.world.hermes_home(),
        home,
    })
}

/// The repository that the session was started in, or the folder itself; never a home folder for the sake of a repository.
fn workspace(started: &Path, home: &Path) -> PathBuf {
    let root = started.ancestors().find(|folder| folder.join(".git").exists());
    root.filter(|root| !home.starts_with(root)).unwrap_or(started).to_owned()
}

/// The first of these files that no command could write in the sandbox of the configuration, and that sandbox in words.
pub fn beyond<'a>(files: impl IntoIterator<Item = &'a Path>, ctx: &ToolCtx) -> Option<(PathBuf, String)> {
    let sandbox = wanted(ctx).filter(|sandbox| sandbox.mode != SandboxMode::Off)?;
    let closed = files.into_iter().find(|path| !is_open(path, &sandbox))?;
    Some((closed.to_owned(), sandbox.words()))
}

/// What the sandbox blocked when a program says nothing of it and its exit code does: it could not reach the network.
pub fn silent(line: &str, code: i32, sandbox: &Sandbox) -> Option<String> {
    let codes: &[(&str, &[i32])] = &[
        ("curl", &[5, 6, 7, 28, 35]),
        ("wget", &[4]),
        ("ssh", &[255]),
        ("scp", &[255]),
        ("git", &[128]),
        ("ping", &[2]),
    ];
    let named = |(program, failures): &&(&str, &[i32])| {
        failures.contains(&code)
            && line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').any(|word| word == *program)
    };
    // Of git's failures most are others: only one without a word.
    let found = codes.iter().filter(|_| !sandbox.network).find(named)?;
    Some(format!("the network, localhost included: {} showed it only by exit code {code}", found.0))
}

/// What the sandbox blocked, as far as the output of a failed command tells; `None`: it looks like another failure.
pub fn blocked(output: &str, cwd: &Path, sandbox: &Sandbox) -> Option<String> {
    let tail = crate::text::clean::clean(end(output).as_bytes());
    let mut unclear = None;
    for line in tail.lines() {
        if line.contains("no new privileges") {
            return Some("switching users: sudo and the like do not work in it".into());
        }
        if !sandbox.network && NETWORK.as_ref().is_some_and(|network| network.is_match(line)) {
            return Some("the network, localhost included".into());
        }
        if sandbox.mode == SandboxMode::Off {
            continue;
        }
        if SIGNAL.as_ref().is_some_and(|signal| signal.is_match(line)) {
            return Some("a signal to a process that this command did not start".into());
        }
        let Some(refused) = REFUSED.as_ref().and_then(|refused| refused.find(line)) else { continue };
        // `cannot copy 'a' to 'b'`: what is written stands last.
        let mut named: Vec<&str> = paths_in(&line[..refused.start()]).collect();
        named.reverse();
        // Python and Node name it behind the reason: `Permission denied: '/etc/x'`, `EACCES: permission denied, open '/etc/x'`.
        named.extend(
            BEHIND
                .as_ref()
                .and_then(|behind| behind.captures(&line[refused.end()..])?.get(1))
                .map(|name| name.as_str()),
        );
        let mut named = named.into_iter().map(|path| cwd.join(path));
        // Nothing else in a workspace is a mount that cannot be moved away.
        if matches!(refused.as_str(), "Device or resource busy" | "EBUSY")
            && let Some(path) = named.clone().find(|path| path.exists() && path.starts_with(&sandbox.workspace))
        {
            let what = if protected(&sandbox.workspace, &path) { "writing" } else { "moving or removing" };
            return Some(format!("{what} {}, which other programs run or read later", path.display()));
        }
        if matches!(refused.as_str(), "Permission denied" | "EACCES" | "Operation not permitted" | "EPERM")
            && let Some(path) = named.clone().find(|path| is_of_another(path))
        {
            return Some(format!(
                "{}, which belongs to another user: root has no rights over it there",
                path.display()
            ));
        }
        match named.find(|path| is_closed(path, sandbox)) {
            Some(path) if protected(&sandbox.workspace, &path) => {
                return Some(format!("writing {}, which other programs run later", path.display()));
            }
            Some(path) => return Some(format!("writing {}", path.display())),
            // Only mounts give this answer, and ours are the likeliest.
            None if refused.as_str().starts_with("Read-only") => {
                unclear.get_or_insert_with(|| format!("writing something: {}", short(line)));
            }
            None => {}
        }
    }
    unclear
}

/// Whether we are root and a file, or the folder that it would be in, is another user's: without capabilities root is a user
/// like the others.
fn is_of_another(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let is_root = rustix::process::geteuid().is_root();
    let there = path.ancestors().find_map(|path| path.symlink_metadata().ok());
    is_root && there.is_some_and(|about| about.uid() != 0)
}

/// Whether the sandbox closes a path that is open without it.
fn is_closed(path: &Path, sandbox: &Sandbox) -> bool {
    let there = path.ancestors().find(|path| path.symlink_metadata().is_ok());
    if there.is_none_or(|there| rustix::fs::access(there, Access::WRITE_OK).is_err()) {
        return false;
    }
    !is_open(path, sandbox)
}

/// Whether a command in the sandbox can write a path, as far as the sandbox goes.
fn is_open(path: &Path, sandbox: &Sandbox) -> bool {
    let temporary = [std::env::temp_dir(), "/tmp".into(), "/dev".into()];
    match sandbox.mode {
        SandboxMode::Off => true,
        SandboxMode::ReadOnly => false,
        SandboxMode::WorkspaceWrite => {
            let mut roots = temporary.iter().chain(&sandbox.writable).chain([&sandbox.workspace]);
            let plain = PathBuf::from(normal(Path::new("/"), &path.to_string_lossy()));
            let real = path.canonicalize().unwrap_or_else(|_| plain.clone());
            roots.any(|root| plain.starts_with(root) || real.starts_with(root))
                && !protected(&sandbox.workspace, path)
                && !real.starts_with(&sandbox.closed)
        }
    }
}

/// The paths that a message names before it says why: `cp: cannot create 'x/y'`, `bash: line 1: /etc/x`.
fn paths_in(message: &str) -> impl Iterator<Item = &str> {
    let names = NAMED.as_ref().into_iter().flat_map(move |named| named.captures_iter(message));
    names.filter_map(|found| found.get(1).or_else(|| found.get(2)).map(|name| name.as_str()))
}

fn short(line: &str) -> String {
    crate::text::width::truncate_end(line.trim(), 160)
}

fn end(output: &str) -> &str {
    let from = output.len().saturating_sub(TAIL);
    let from = (from..=output.len()).find(|at| output.is_char_boundary(*at)).unwrap_or(0);
    &output[from..]
}

static REFUSED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = "Permission denied|Read-only file system|Operation not permitted|Device or resource busy|Invalid cross-device \
                 link|EROFS|EACCES|EPERM|EBUSY|EXDEV";
    Regex::new(words).ok()
});
static NETWORK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = "could not resolve|failure in name resolution|name or service not known|network is unreachable|getaddrinfo|\
                 EAI_AGAIN|failed to lookup address|(failed|unable|could ?n[o']t) to (connect|establish)|couldn't connect|could \
                 not connect|unable to access 'https?:|error sending request|urlopen error";
    let calls = r"\b(socket|connect|bind|listen|network|resolve|dns|tcp|udp|https?|port|ping|ssh)\b";
    let why = "operation not permitted|EPERM";
    Regex::new(&format!("(?i){names}|{calls}.*({why})|({why}).*{calls}")).ok()
});
static SIGNAL: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\bp?kill(all)?\b.*(Operation not permitted|EPERM)").ok());
static BEHIND: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"^(?:: |: [a-z -]+, [a-z]+ )'([^']+)'"#).ok());
static NAMED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"['"`‘“]([^'"`‘’“”]+)['"`’”]|([^\s:'"`(]+)"#).ok());

#[cfg(test)]
mod tests {
    use super::*;

    fn sandbox(root: &Path, mode: SandboxMode, network: bool) -> Sandbox {
        let (workspace, closed, home) = (root.join("work"), root.join("own"), root.join("home"));
        for folder in [&workspace, &closed, &home] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::create_dir_all(workspace.join(".git/hooks")).unwrap();
        Sandbox { mode, network, workspace, writable: Vec::new(), closed, home }
    }

    #[test]
    fn messages_of_programs_tell_what_was_blocked() {
        // Not below a folder for temporary files, which is open.
        let dir = tempfile::Builder::new().prefix("hermes-test-").tempdir_in("/var/tmp").unwrap();
        let root = dir.path().canonicalize().unwrap();
        let r = root.display();
        let write = sandbox(&root, SandboxMode::WorkspaceWrite, false);
        let read = sandbox(&root, SandboxMode::ReadOnly, true);
        let work = write.workspace.clone();
        for (sandbox, output, expected) in [
            (&write, format!("bash: line 1: {r}/x: Read-only file system"), Some(format!("writing {r}/x"))),
            (
                &write,
                format!("mkdir: cannot create directory ‘{r}/home/d’: Permission denied"),
                Some(format!("writing {r}/home/d")),
            ),
            (
                &write,
                "bash: line 1: .git/hooks/pre-commit: Read-only file system".into(),
                Some(format!("writing {r}/work/.git/hooks/pre-commit, which other programs run later")),
            ),
            (
                &write,
                "error: could not write config file .git/config: Device or resource busy".into(),
                Some(format!("writing {r}/work/.git/config, which other programs run later")),
            ),
            (
                &write,
                "touch: cannot touch '../own/a': Read-only file system".into(),
                Some(format!("writing {r}/work/../own/a")),
            ),
            (
                &write,
                format!("PermissionError: [Errno 13] Permission denied: '{r}/home/a'"),
                Some(format!("writing {r}/home/a")),
            ),
            (
                &write,
                format!("Error: EACCES: permission denied, open '{r}/home/a'"),
                Some(format!("writing {r}/home/a")),
            ),
            (&write, format!("PermissionError: [Errno 13] Permission denied: '{r}/work/a'"), None),
            (&write, "curl: (6) Could not resolve host: example.com".into(), Some("the network".into())),
            (&write, "socket.error: [Errno 1] Operation not permitted: connect".into(), Some("the network".into())),
            (
                &write,
                "ssh: Could not resolve hostname github.com: Temporary failure in name resolution".into(),
                Some("the network".into()),
            ),
            (
                &write,
                "sudo: The \"no new privileges\" flag is set, which prevents sudo from running as root.".into(),
                Some("switching users".into()),
            ),
            (&write, "error: database is locked: Read-only file system".into(), Some("writing something".into())),
            (
                &write,
                "bash: line 1: kill: (123) - Operation not permitted".into(),
                Some("a signal to a process".into()),
            ),
            (
                &write,
                "pkill: killing pid 12 failed: Operation not permitted".into(),
                Some("a signal to a process".into()),
            ),
            // Failures of other kinds, and what is open.
            (&write, "test result: FAILED. 3 passed; 1 failed".into(), None),
            (&write, "bash: ./run.sh: Permission denied".into(), None),
            (&write, "cat: /nonexistent/x: No such file or directory".into(), None),
            (&read, "bash: line 1: new: Read-only file system".into(), Some(format!("writing {r}/work/new"))),
            (&read, "curl: (6) Could not resolve host: example.com".into(), None),
            (
                &write,
                "curl: (7) Failed to connect to 127.0.0.1 port 1 after 0 ms: Couldn't connect to server".into(),
                Some("the network".into()),
            ),
            (
                &write,
                format!("fatal: cannot copy '/usr/share/x' to '{r}/work/.git/hooks/y': Read-only file system"),
                Some(format!("writing {r}/work/.git/hooks/y")),
            ),
            (
                &write,
                "mv: cannot move '.git' to 'old': Device or resource busy".into(),
                Some(format!("moving or removing {r}/work/.git")),
            ),
        ] {
            let got = blocked(&output, &work, sandbox);
            match &expected {
                None => assert_eq!(got, None, "{output}"),
                Some(expected) => {
                    assert!(got.as_ref().is_some_and(|got| got.starts_with(expected)), "{output}: {got:?}")
                }
            }
        }
    }

    #[test]
    fn a_silent_failure_of_the_network_is_told_by_its_code() {
        let dir = tempfile::tempdir().unwrap();
        let (off, on) = (sandbox(dir.path(), SandboxMode::Off, false), sandbox(dir.path(), SandboxMode::Off, true));
        for (line, code, told) in [
            ("curl -s https://example.com", 6, true),
            ("cd x && curl -fs https://example.com -o y", 7, true),
            ("wget -q example.com", 4, true),
            ("curl -s https://example.com", 22, false),
            ("cargo test", 101, false),
            ("./curl-tests", 6, false),
        ] {
            assert_eq!(silent(line, code, &off).is_some(), told, "{line} {code}");
            assert_eq!(silent(line, code, &on), None);
        }
    }

    #[test]
    fn the_workspace_is_the_repository_but_never_the_home() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        std::fs::create_dir_all(root.join("home/project/sub")).unwrap();
        assert_eq!(workspace(&root.join("home/project/sub"), &root.join("home")), root.join("home/project/sub"));
        std::fs::create_dir(root.join("home/.git")).unwrap();
        assert_eq!(workspace(&root.join("home/project/sub"), &root.join("home")), root.join("home/project/sub"));
        std::fs::create_dir(root.join("home/project/.git")).unwrap();
        assert_eq!(workspace(&root.join("home/project/sub"), &root.join("home")), root.join("home/project"));
    }
}
