//! What all processes share: the table, shell states, and the ways out to the UI and the agent.

use super::env::{self, Env};
use super::kin::Unclaimed;
use super::notice::Notices;
use super::outbox::Outbox;
use super::record::Process;
use super::shell::{Shell, StateFile};
use super::{exported_vars, login};
use crate::exec::askpass;
use crate::exec::askpass::asks::Asks;
use crate::exec::askpass::{Askpass, Passwords, UnderWay};
use crate::exec::outlive::detached::MARK;
use crate::exec::outlive::register::Register;
use crate::exec::outlive::remote_recovery::Looks;
use crate::exec::outlive::terminal_keeper::TerminalKeeper;
use crate::exec::sandbox;
use crate::exec::sandbox::{ReadySandbox, Sandbox, Support};
use crate::exec::screen::recorder::Recorder;
use crate::exec::screen::watch::Screens;
use crate::exec::{ExecError, ExecOptions, ProcessId};
use crate::lock::lock;
use crate::policy::redact::{RedactKind, Secrets, redact};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tokio::sync::OnceCell;

/// How long a finished process can be asked about.
const KEPT: Duration = Duration::from_secs(30 * 60);
/// Finished foreground commands whose screen can still be looked at.
const FOREGROUND_KEPT: usize = 8;

/// Shared by every clone of [`crate::exec::Exec`] and every reader thread.
pub(crate) struct Hub {
    pub(crate) options: ExecOptions,
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) notices: Notices,
    /// Secrets in notices are masked (`security.redact_secrets`).
    pub(crate) masks: AtomicBool,
    /// Programs that wait for input ask by a question.
    pub(crate) asks_person: AtomicBool,
    pub(crate) asks: Asks,
    /// Where passwords are masked that were typed.
    pub(crate) secrets: OnceLock<Secrets>,
    /// Passwords of `sudo`.
    pub(in crate::exec) passwords: Passwords,
    /// Who asks by the helper just now.
    pub(in crate::exec) asking: UnderWay,
    /// Where programs ask; made for the first command, `None` where it cannot be had.
    pub(crate) askpass: OnceCell<Option<Askpass>>,
    /// What the two panes show.
    pub(crate) screens: [Arc<Screens>; 2],
    pub(crate) recorder: Recorder,
    pub(crate) keeper: TerminalKeeper,
    pub(crate) register: Arc<Register>,
    pub(in crate::exec) unclaimed: Unclaimed,
    /// Who wants to know of work on machines that were not reached.
    pub(crate) looks: Looks,
    /// Size of new terminals; follows the pane.
    pub(crate) size: Mutex<(u16, u16)>,
    table: Mutex<Vec<Arc<Process>>>,
    shell: OnceCell<Shell>,
    base: OnceCell<Arc<Env>>,
    /// What the system can hold commands in; tried when the first sandbox is wanted.
    support: OnceCell<Support>,
    /// Exported variables by task.
    tasks: Mutex<HashMap<String, Arc<Env>>>,
}

impl Hub {
    pub(crate) fn new(options: ExecOptions, outbox: Arc<Outbox>) -> Self {
        Self {
            size: Mutex::new(options.size),
            asks_person: AtomicBool::new(false),
            asks: Asks::default(),
            secrets: OnceLock::new(),
            passwords: Passwords::new(options.sudo_password.clone()),
            asking: UnderWay::default(),
            askpass: OnceCell::new(),
            keeper: TerminalKeeper::new(options.program.clone()),
            unclaimed: Unclaimed::default(),
            register: Arc::new(Register::new(options.register.clone())),
            looks: Looks::default(),
            options,
            outbox,
            notices: Notices::new(),
            masks: AtomicBool::new(true),
            screens: Default::default(),
            recorder: Recorder::default(),
            table: Mutex::default(),
            shell: OnceCell::new(),
            base: OnceCell::new(),
            support: OnceCell::new(),
            tasks: Mutex::default(),
        }
    }

    pub(crate) async fn shell(&self) -> Result<&Shell, ExecError> {
        self.shell.get_or_try_init(|| async { Shell::new().map_err(ExecError::Shell) }).await
    }

    /// Removes what the shell had on disk.
    pub(crate) fn discard_shell(&self) {
        if let Some(shell) = self.shell.get() {
            shell.discard();
        }
    }

    /// Removes the folder where programs ask.
    pub(crate) fn discard_askpass(&self) {
        if let Some(Some(askpass)) = self.askpass.get() {
            askpass.discard();
        }
    }

    /// What children start with; asks the login shell the first time.
    pub(crate) async fn base(&self) -> &Arc<Env> {
        self.base
            .get_or_init(|| async {
                let login = if self.options.login_env {
                    let files = self.options.shell_init_files.clone();
                    tokio::task::spawn_blocking(move || login::capture(&files)).await.unwrap_or_default()
                } else {
                    None
                };
                Arc::new(env::compose(
                    crate::environment::all().collect(),
                    login,
                    &self.options.env_passthrough,
                    &self.options.secret_names,
                ))
            })
            .await
    }

    /// Makes the sandbox of one command ready, which may write the file of its own state.
    pub(crate) async fn hold(
        &self,
        sandbox: &Sandbox,
        shell: &Shell,
        state: Option<PathBuf>,
        cwd: &Path,
    ) -> Result<ReadySandbox, ExecError> {
        let support = self.support().await.clone();
        let (sandbox, folder, cwd) = (sandbox.clone(), shell.folder().to_owned(), cwd.to_owned());
        // A slow disk keeps nobody else.
        let work = tokio::task::spawn_blocking(move || sandbox.prepare(&support, &folder, state.as_deref(), &cwd));
        match work.await {
            Ok(ready) => ready.map_err(ExecError::Sandbox),
            Err(error) => Err(ExecError::Shell(std::io::Error::other(error))),
        }
    }

    /// What of a sandbox this system has, tried once.
    async fn support(&self) -> &Support {
        let probe = || async {
            let blocking = tokio::task::spawn_blocking(sandbox::probe).await;
            blocking.unwrap_or_else(|_| Support { landlock: 0, mounts: Err(String::new()), seccomp: false })
        };
        self.support.get_or_init(probe).await
    }

    /// Whether a command can be kept from writing here.
    pub(crate) async fn can_hold(&self) -> bool {
        let support = self.support().await;
        support.landlock > 0 && support.seccomp
    }

    /// The environment of the next command of a task.
    pub(crate) async fn env_of(&self, task: &str) -> Arc<Env> {
        let exported = lock(&self.tasks).get(task).cloned();
        match exported {
            Some(env) => env,
            None => Arc::clone(self.base().await),
        }
    }

    /// Takes the state that the leader left: exported variables for the task; the folder for the result, and the names of
    /// variables that are not kept.
    pub(crate) fn shell_state(&self, process: &Process, file: &StateFile) -> Option<(PathBuf, Vec<String>)> {
        let state = file.read()?;
        let mut not_kept = Vec::new();
        if let (Some(mut exported), Some(base)) = (state.exported, self.base.get()) {
            if let Some(Some(askpass)) = self.askpass.get() {
                askpass::forget(&askpass.variables(base, self.options.headless), base, &mut exported);
            }
            // Ours, and another one for every command.
            exported.remove(OsStr::new(MARK));
            let (mut exported, refused) = exported_vars::kept(base, exported);
            not_kept = refused;
            // Exported functions are not listed, and the shell's depth must not grow from command to command.
            let functions = base
                .iter()
                .filter(|(name, _)| name.as_encoded_bytes().starts_with(b"BASH_FUNC_") || *name == OsStr::new("SHLVL"));
            exported.extend(functions.map(|(name, value)| (name.clone(), value.clone())));
            lock(&self.tasks).insert(process.task.clone(), Arc::new(exported));
        }
        Some((state.cwd, not_kept))
    }

    /// Size of the terminal of a process, or of new ones when it has none.
    pub(crate) fn size_of(&self, process: &Process) -> (u16, u16) {
        lock(&process.tty).as_ref().and_then(|tty| tty.size()).unwrap_or_else(|| *lock(&self.size))
    }

    pub(crate) fn all(&self) -> Vec<Arc<Process>> {
        lock(&self.table).clone()
    }

    pub(crate) fn find(&self, id: &ProcessId) -> Result<Arc<Process>, ExecError> {
        lock(&self.table).iter().find(|p| p.id == *id).cloned().ok_or_else(|| ExecError::NotFound(id.clone()))
    }

    /// Makes room for one more, or says that everything tracked still runs.
    pub(crate) fn make_room(&self) -> Result<(), ExecError> {
        let mut table = lock(&self.table);
        let mut foreground = 0;
        // Newest first, so that the oldest finished foreground commands go.
        let mut keep: Vec<bool> = table
            .iter()
            .rev()
            .map(|process| {
                if !process.over() {
                    return true;
                }
                let life = lock(&process.life);
                foreground += usize::from(!life.background);
                life.end().is_none_or(|end| end.at.elapsed() < KEPT)
                    && (life.background || foreground <= FOREGROUND_KEPT)
            })
            .collect();
        keep.reverse();
        let mut flags = keep.into_iter();
        table.retain(|_| flags.next().unwrap_or(true));
        if table.iter().filter(|process| !process.is_elsewhere()).count() >= self.options.max_processes {
            match table.iter().position(|process| process.over()) {
                Some(oldest) => drop(table.remove(oldest)),
                None => return Err(ExecError::TooMany(self.options.max_processes)),
            }
        }
        Ok(())
    }

    /// Puts a process into the table, in place of the one that had its id.
    pub(crate) fn add(&self, process: Arc<Process>) {
        let mut table = lock(&self.table);
        match table.iter_mut().find(|old| old.id == process.id) {
            Some(old) => {
                *old = Arc::clone(&process);
                self.screens.iter().for_each(|screens| screens.replaced(&process));
            }
            None => table.push(process),
        }
    }

    /// Something of a process is to be seen.
    pub(crate) fn touch(self: &Arc<Self>, process: &Arc<Process>) {
        self.recorder.touch(self, process, false);
        if process.is_watched() {
            self.screens.iter().for_each(|screens| screens.touch(&process.id));
        }
    }

    /// A command line as it may be kept: without known secrets and, unless the configuration says so, without what looks
    /// like one. The same rules mask what enters a conversation.
    pub(crate) fn kept_line(&self, line: &str) -> String {
        let kind = RedactKind::Default;
        let known = self.secrets.get().map_or(Cow::Borrowed(line), |secrets| secrets.mask(line, kind));
        if self.masks() { redact(&known, kind).into_owned() } else { known.into_owned() }
    }

    /// Whether secrets in notices are masked.
    pub(crate) fn masks(&self) -> bool {
        self.masks.load(std::sync::atomic::Ordering::Relaxed)
    }

    pub(crate) fn remove(&self, id: &ProcessId) {
        let mut elsewhere = None;
        lock(&self.table).retain(|p| {
            let goes = p.id == *id && (p.over() || p.is_elsewhere());
            if goes && p.is_elsewhere() {
                elsewhere = Some(Arc::clone(p));
            }
            !goes
        });
        if let Some(process) = elsewhere {
            // Nobody here will ever see its end: a person who takes it off the list does not want to be told again.
            self.register.remove(id, process.identify());
        }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.screens.iter().for_each(|screens| screens.stop());
    }
}
