//! The sandbox that the configuration wants for the commands of a call, and what a failed command says of it.

use super::spec::ToolCtx;
use crate::config::{SandboxMode, paths};
use crate::exec::{Sandbox, protected};
use regex::Regex;
use rustix::fs::Access;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Bytes at the end of an output that are looked at: what stopped a command stands there.
const TAIL: usize = 16 * 1024;

/// What this call's commands are held in; `None`: nothing.
pub fn sandbox(ctx: &ToolCtx) -> Option<Sandbox> {
    let wanted = &ctx.config.sandbox;
    if ctx.unconfined || wanted.mode == SandboxMode::Off && wanted.network {
        return None;
    }
    let home = ctx.world.home();
    let at = |path: &String| match path.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => paths::expand_home(path),
    };
    Some(Sandbox {
        mode: wanted.mode,
        network: wanted.network,
        workspace: workspace(&ctx.workspace, &home),
        writable: wanted.writable.iter().map(at).filter(|path| path.is_absolute()).collect(),
        closed: ctx.world.hermes_home(),
        home,
    })
}

/// The repository that the session was started in, or the folder itself; never a home folder for the sake of a repository.
fn workspace(started: &Path, home: &Path) -> PathBuf {
    let root = started.ancestors().find(|folder| folder.join(".git").exists());
    root.filter(|root| !home.starts_with(root)).unwrap_or(started).to_owned()
}

/// What the sandbox blocked, as far as the output of a failed command tells; `None`: it looks like another failure.
pub fn blocked(output: &str, cwd: &Path, sandbox: &Sandbox) -> Option<String> {
    let tail = crate::text::clean::clean(end(output).as_bytes());
    let mut unclear = None;
    for line in tail.lines() {
        if line.contains("no new privileges") {
            return Some("becoming another user: sudo and its like do not work in it".into());
        }
        if !sandbox.network && NETWORK.as_ref().is_some_and(|network| network.is_match(line)) {
            return Some("the network, this machine included".into());
        }
        if sandbox.mode == SandboxMode::Off {
            continue;
        }
        let Some(refused) = REFUSED.as_ref().and_then(|refused| refused.find(line)) else { continue };
        match paths_in(&line[..refused.start()]).map(|path| cwd.join(path)).find(|path| is_closed(path, sandbox)) {
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

/// Whether the sandbox closes a path that is open without it.
fn is_closed(path: &Path, sandbox: &Sandbox) -> bool {
    let there = path.ancestors().find(|path| path.symlink_metadata().is_ok());
    if !there.is_some_and(|there| rustix::fs::access(there, Access::WRITE_OK).is_ok()) {
        return false;
    }
    let temporary = [std::env::temp_dir(), "/tmp".into(), "/dev".into()];
    let open = match sandbox.mode {
        SandboxMode::Off => return false,
        SandboxMode::ReadOnly => false,
        SandboxMode::WorkspaceWrite => {
            let mut roots = temporary.iter().chain(&sandbox.writable).chain([&sandbox.workspace]);
            let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            roots.any(|root| path.starts_with(root) || real.starts_with(root))
                && !protected(&sandbox.workspace, path)
                && !real.starts_with(&sandbox.closed)
        }
    };
    !open
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
                 failed to lookup address|could not connect to server|unable to access 'https?:|error sending request";
    let calls = r"\b(socket|connect|bind|listen|network|resolve|dns|tcp|udp|https?|port|ping|ssh)\b";
    let why = "operation not permitted|EPERM";
    Regex::new(&format!("(?i){names}|{calls}.*({why})|({why}).*{calls}")).ok()
});
static NAMED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"['"`‘“]([^'"`‘’“”]+)['"`’”]|([^\s:'"`(]+)"#).ok());
