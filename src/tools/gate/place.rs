//! The world as one call finds it: its variables are those that the command will start with, not those of this program.

use super::{Gate, folder, look};
use crate::exec::{Front, ProcessId};
use crate::policy::permissions::Reader;
use crate::policy::shell::UNKNOWN;
use crate::policy::{Intent, World};
use crate::tools::spec::ToolCtx;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Variables that the shell sets itself, whatever its environment says.
const SHELLS_OWN: &[&str] = &[
    "COLUMNS",
    "COPROC",
    "DIRSTACK",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "FUNCNAME",
    "GROUPS",
    "HOSTNAME",
    "HOSTTYPE",
    "LINES",
    "MACHTYPE",
    "MAPFILE",
    "OPTARG",
    "OPTERR",
    "OPTIND",
    "OSTYPE",
    "PIPESTATUS",
    "SHELLOPTS",
    "SHLVL",
    "SRANDOM",
    "_",
];

/// A world with the variables of one task.
struct Place {
    world: Arc<dyn World>,
    /// `None`: the line is for a program whose variables nobody knows.
    env: Option<Arc<BTreeMap<OsString, OsString>>>,
}

impl World for Place {
    fn home(&self) -> PathBuf {
        self.world.home()
    }

    fn hermes_home(&self) -> PathBuf {
        self.world.hermes_home()
    }

    fn variable(&self, name: &str) -> Option<String> {
        let unknown = || Some(UNKNOWN.to_string());
        let Some(env) = self.env.as_ref().filter(|_| !SHELLS_OWN.contains(&name) && !name.starts_with("BASH")) else {
            return unknown();
        };
        match env.get(OsStr::new(name)) {
            Some(value) => value.to_str().map(str::to_owned).or_else(unknown),
            None => None,
        }
    }

    fn glob(&self, pattern: &str, cwd: &Path, limit: usize) -> Vec<PathBuf> {
        self.world.glob(pattern, cwd, limit)
    }

    fn resolve(&self, path: &Path) -> PathBuf {
        self.world.resolve(path)
    }

    fn text(&self, path: &Path, limit: usize) -> Option<String> {
        self.world.text(path, limit)
    }

    fn fresh(&self) {
        self.world.fresh();
    }

    fn is_here(&self) -> bool {
        self.world.is_here()
    }
}

/// Where a call does its work, as that is now.
pub(super) struct Site {
    pub world: Arc<dyn World>,
    /// The folder of the task; for typed text that of the program that reads it.
    pub cwd: PathBuf,
    /// What reads typed text.
    pub reader: Reader,
}

impl Gate {
    /// The place in which this call would run; `None` when the turn was stopped before that was known.
    pub(super) async fn place(&self, intent: &Intent, ctx: &ToolCtx) -> Option<Site> {
        let world = Arc::clone(&self.world);
        let (mut cwd, mut reader) = (folder(ctx), Reader::Unknown);
        let env = match intent {
            Intent::Command { line, cwd, .. } => match ctx.places.current() {
                Some(there) => {
                    let (line, cwd, task) = (line.clone(), cwd.clone(), ctx.task.to_string());
                    let asked = look::unless_stopped(&ctx.cancel, move || {
                        there.look_ahead(&line, &cwd);
                        there.environment_of(&task).ok()
                    });
                    asked.await?
                }
                None => tokio::select! {
                    biased;
                    () = ctx.cancel.cancelled() => return None,
                    env = ctx.exec.environment_of(&ctx.task) => Some(env),
                },
            },
            Intent::Input { process, .. } => {
                let (exec, task, id) = (ctx.exec.clone(), Arc::clone(&ctx.task), ProcessId(process.clone()));
                (cwd, reader) = reads(look::unless_stopped(&ctx.cancel, move || exec.front(&task, &id)).await?);
                None
            }
            Intent::Read(_) | Intent::Edit(_) | Intent::Remote { .. } | Intent::Talk => {
                return Some(Site { world, cwd, reader });
            }
        };
        Some(Site { world: Arc::new(Place { world, env }), cwd, reader })
    }
}

/// The folder and the kind of what reads typed text. Where a shell will be when it comes to the line is only known while it
/// waits for one.
fn reads(front: Option<Front>) -> (PathBuf, Reader) {
    let nowhere = || PathBuf::from(UNKNOWN.to_string());
    match front {
        Some(front) if front.takes_commands => (if front.waits { front.cwd } else { nowhere() }, Reader::Shell),
        Some(front) => (front.cwd, Reader::Program(front.name)),
        None => (nowhere(), Reader::Unknown),
    }
}
