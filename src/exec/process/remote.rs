//! A command that runs somewhere else: its client program (`ssh`, `podman exec`) is the child here, on a terminal like any
//! other. Whoever knows the other side says what that program is, delivers signals there and reads what the shell left.

use super::env;
use super::exported_vars;
use super::shell::parse_state;
use crate::environment;
use crate::exec::{Exec, ExecOptions};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Variables by name.
pub type Variables = BTreeMap<OsString, OsString>;

/// A signal for everything that a command started there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteSignal {
    Interrupt,
    Terminate,
    /// A stopped process acts on nothing but this and the last.
    Continue,
    Kill,
}

/// What a command left behind on the other side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RemoteEnd {
    /// The folder that its shell was in; `None` when it could not say.
    pub cwd: Option<PathBuf>,
    /// Names of variables that it exported and that later commands do not get.
    pub not_kept: Vec<String>,
    /// What became of it and what to do, when that was not its own end.
    pub lost: Option<RemoteLost>,
}

/// What the place did to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteLost {
    /// What happened and what comes next.
    pub why: String,
    /// A few words for a line.
    pub short: &'static str,
}

/// Where work on another machine is found again by a later run of this program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemotePlace {
    /// As `terminal.backend` names it.
    pub kind: String,
    /// As people read it: `ssh dev@host`.
    pub label: String,
    /// What the machine calls itself: another one of the same name has none of its work.
    pub machine: String,
    /// The folder with its files there: `log`, and `pid` with its process group.
    pub folder: PathBuf,
}

/// Work that an earlier run of this program left on another machine.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteLeftovers {
    pub place: RemotePlace,
    /// Without its secrets.
    pub line: String,
    pub cwd: PathBuf,
    pub task: String,
    /// Milliseconds since the epoch.
    pub started_at: i64,
}

/// What came of looking for it.
pub enum RemoteSearch {
    /// It runs, or has ended and can be asked how.
    Found(Arc<dyn RemoteCommand>),
    /// Nothing of it is there any more.
    Gone,
    /// Its machine is not reached, and why.
    Unreachable(String),
}

/// Looks for it. Blocks, within bounds; makes nothing there.
pub type RemoteFinder = Arc<dyn Fn(&RemoteLeftovers) -> RemoteSearch + Send + Sync>;

/// One command on another machine.
pub trait RemoteCommand: Send + Sync {
    /// The program that runs here in its place. Its environment is that of commands here, but for what this adds.
    fn client(&self) -> Command;
    /// Sends a signal there; whether it arrived. Blocks, within a second or two.
    fn signal(&self, signal: RemoteSignal) -> bool;
    /// Its terminal here has another size, columns and rows, for whose client does not pass that on. Returns at once.
    fn resized(&self, size: (u16, u16));
    /// Where a later run of this program finds it; `None`: it ends with its client.
    fn place(&self) -> Option<RemotePlace>;
    /// Its client runs and is watched: it is not ended any more for having been given up.
    fn launched(&self);
    /// When an earlier run of this program started it (milliseconds since the epoch); `None`: this one did.
    fn since(&self) -> Option<i64>;
    /// Takes what it left, once its client has ended; `ended` says that we ended it, `code` how the client
    /// ended. Blocks.
    fn finish(&self, ended: bool, code: i32) -> RemoteEnd;
}

/// What a shell left behind, as `pwd -P; export -p` print it: its folder, the variables that later commands get and the
/// names of those that they do not. `base` is what the first command started with. `None` when it can't be read.
pub fn left_behind(printed: &[u8], base: &Variables) -> Option<(PathBuf, Option<Variables>, Vec<String>)> {
    let state = parse_state(printed)?;
    let Some(exported) = state.exported else { return Some((state.cwd, None, Vec::new())) };
    let (kept, refused) = exported_vars::kept(base, exported);
    Some((state.cwd, Some(kept), refused))
}

/// Variables that `export -p` printed.
pub fn exported(printed: &[u8]) -> Option<Variables> {
    let mut text = b"/\n".to_vec();
    text.extend_from_slice(printed);
    parse_state(&text)?.exported
}

impl ExecOptions {
    /// The variables of this program that a person named to go to other machines; those that hold keys of providers never do.
    pub fn forwarded(&self, names: &[String]) -> Vec<(String, String)> {
        let all = names.iter().chain(&self.env_passthrough);
        let named = all.filter(|name| !env::is_secret(name.as_ref(), std::slice::from_ref(name), &self.secret_names));
        named.filter_map(|name| Some((name.clone(), environment::get(name)?.into_string().ok()?))).collect()
    }

    /// The variables of this program, without those that hold secrets: for clients, which may send them on.
    pub fn clean(&self) -> Variables {
        let mut own: Variables = environment::all().collect();
        own.retain(|name, _| !env::is_secret(name, &self.env_passthrough, &self.secret_names));
        own
    }
}

impl Exec {
    /// What its commands have in common.
    pub fn options(&self) -> &ExecOptions {
        &self.hub.options
    }

    /// Whether a file holds what the terminal of a command got.
    pub fn is_log(&self, path: &Path) -> bool {
        let folder = &self.hub.options.spill;
        let is_there =
            |parent: &Path| parent == folder || std::fs::canonicalize(folder).is_ok_and(|folder| parent == folder);
        path.extension().is_some_and(|ending| ending == "log") && path.parent().is_some_and(is_there)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_is_read_and_what_makes_programs_run_is_not_kept() {
        let base: Variables = [("PATH".into(), "/bin".into()), ("A".into(), "1".into())].into();
        let printed = b"/srv/app\nexport A='2'\nexport B='x y'\nexport LD_PRELOAD='/tmp/x.so'\nexport PATH='/bin'\n";
        let (cwd, kept, refused) = left_behind(printed, &base).unwrap();
        let kept = kept.unwrap();
        assert_eq!((cwd, kept.len(), refused), (PathBuf::from("/srv/app"), 3, vec!["LD_PRELOAD".to_owned()]));
        assert_eq!(exported(b"export A='2'\n").unwrap().len(), 1);
        assert!(left_behind(b"noise", &base).is_none());
    }

    #[test]
    fn keys_of_providers_go_nowhere_whatever_is_listed() {
        let options = ExecOptions {
            secret_names: vec!["PATH".into()],
            env_passthrough: vec!["HOME".into(), "NOT_THERE_AT_ALL".into()],
            ..ExecOptions::default()
        };
        let names: Vec<String> = options.forwarded(&["PATH".into()]).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["HOME"]);
    }
}
