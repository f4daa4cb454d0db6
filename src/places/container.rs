//! A container of `docker` or `podman`: found again by its labels, started when it is stopped, made when it is not there.
//! Only containers with our label are ever touched.

use super::backend::{Backend, PlaceError, Programs, Terminal, Traits};
use super::reaper;
use crate::config::TerminalConfig;
use crate::lock::lock;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

/// How long a word of the engine may take.
const WORD: Duration = Duration::from_secs(30);
/// How long a start may take: an image is fetched.
const FETCH: Duration = Duration::from_secs(900);
/// Labels: that it is ours, of which work, of which home.
pub(crate) const OURS: &str = "hermes-agent=1";
const TASK: &str = "hermes-task-id";
const PROFILE: &str = "hermes-profile";
/// What its first process is: it waits, and keeps nothing else from being seen as idle.
const SLEEP: [&str; 2] = ["sleep", "infinity"];
/// Capabilities that package managers need inside.
const KEPT: [&str; 3] = ["DAC_OVERRIDE", "CHOWN", "FOWNER"];
const KEPT_AS_ROOT: [&str; 2] = ["SETUID", "SETGID"];

/// `docker` and `podman`.
pub(crate) struct Container {
    traits: Traits,
    engine: Engine,
    config: TerminalConfig,
    /// Where the program was started.
    workspace: PathBuf,
    /// Keeps what a container keeps: `HOME/sandboxes/docker`.
    sandboxes: PathBuf,
    task: String,
    profile: String,
    /// The container that was found or made.
    name: Mutex<Option<String>>,
}

/// The command line of an engine.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    pub(crate) program: String,
    pub(crate) programs: Programs,
}

impl Engine {
    /// Runs one word of the engine to its end.
    ///
    /// # Errors
    /// In the engine's own words.
    pub(crate) fn run<I: AsRef<std::ffi::OsStr>>(&self, words: &[I], time: Duration) -> Result<String, String> {
        self.programs.run(&self.program, words, time)
    }
}

/// Where a container's files come from and what tells it from others.
pub(crate) struct Setting {
    pub(crate) workspace: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) task: String,
    pub(crate) programs: Programs,
}

impl Container {
    pub(crate) fn new(config: &TerminalConfig, setting: &Setting, mut traits: Traits) -> Self {
        let program = match config.docker_program.trim() {
            "" => traits.kind.to_owned(),
            program => crate::config::paths::expand_home(program).display().to_string(),
        };
        let image = config.docker_image.rsplit('/').next().unwrap_or_default();
        traits.label = format!("{} {image}", traits.kind);
        let mounted = config.docker_mount_cwd_to_workspace;
        traits.cwd =
            Some(begin(&config.cwd, if mounted || config.container_persistent { "/workspace" } else { "/root" }));
        traits.isolated = config.docker_volumes.is_empty() && !mounted && config.docker_extra_args.is_empty();
        traits.patience = FETCH;
        let profile = setting.home.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Self {
            engine: Engine { program, programs: setting.programs.clone() },
            workspace: setting.workspace.clone(),
            sandboxes: setting.home.join("sandboxes").join("docker"),
            task: setting.task.clone(),
            profile,
            config: config.clone(),
            traits,
            name: Mutex::default(),
        }
    }

    /// Words after `run`: the whole of what a container may and has.
    fn flags(&self, name: &str) -> Vec<String> {
        let config = &self.config;
        let mut words: Vec<String> = Vec::new();
        let mut add = |all: &[&str]| words.extend(all.iter().map(|word| (*word).to_owned()));
        add(&["run", "-d", "--init", "--name", name, "--label", OURS]);
        add(&["--label", &format!("{TASK}={}", self.task), "--label", &format!("{PROFILE}={}", self.profile)]);
        if let Some(cwd) = &self.traits.cwd {
            add(&["-w", &cwd.display().to_string()]);
        }
        add(&["--cap-drop", "ALL"]);
        let as_user = config.docker_run_as_host_user;
        for capability in KEPT.iter().chain(KEPT_AS_ROOT.iter().filter(|_| !as_user)) {
            add(&["--cap-add", capability]);
        }
        add(&["--security-opt", "no-new-privileges", "--pids-limit", "256"]);
        add(&["--tmpfs", "/tmp:rw,nosuid,size=512m", "--tmpfs", "/var/tmp:rw,noexec,nosuid,size=256m"]);
        // Images with s6 run their first programs from there.
        let run = if config.docker_image.contains("s6") || config.docker_image.contains("linuxserver") {
            ""
        } else {
            "noexec,"
        };
        add(&["--tmpfs", &format!("/run:rw,{run}nosuid,size=64m")]);
        if config.container_cpu > 0.0 {
            add(&["--cpus", &config.container_cpu.to_string()]);
        }
        if config.container_memory > 0 {
            add(&["--memory", &format!("{}m", config.container_memory)]);
        }
        if !config.docker_network {
            add(&["--network=none"]);
        }
        if as_user {
            let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
            add(&["--user", &format!("{user}:{group}")]);
        }
        let mounted = config.docker_mount_cwd_to_workspace;
        if config.container_persistent {
            let own = self.sandboxes.join(&self.task);
            add(&["-v", &format!("{}:/root", own.join("home").display())]);
            if !mounted {
                add(&["-v", &format!("{}:/workspace", own.join("workspace").display())]);
            }
        } else {
            let workspace = (!mounted).then_some("/workspace:rw,exec,size=10g");
            for folder in workspace.into_iter().chain(["/home:rw,exec,size=1g", "/root:rw,exec,size=1g"]) {
                add(&["--tmpfs", folder]);
            }
        }
        if mounted {
            add(&["-v", &format!("{}:/workspace", self.workspace.display())]);
        }
        for volume in &config.docker_volumes {
            add(&["-v", volume]);
        }
        words.extend(config.docker_extra_args.iter().cloned());
        words
    }

    /// Those of ours for this work, with their states: `NAME STATE`.
    fn known(&self) -> Result<Vec<(String, String)>, String> {
        let (ours, task) = (format!("label={OURS}"), format!("label={TASK}={}", self.task));
        let profile = format!("label={PROFILE}={}", self.profile);
        let words = [
            "ps",
            "-a",
            "--filter",
            &ours,
            "--filter",
            &task,
            "--filter",
            &profile,
            "--format",
            "{{.Names}} {{.State}}",
        ];
        let all = self.engine.run(&words, WORD)?;
        let pair = |line: &str| line.split_once(' ').map(|(name, state)| (name.to_owned(), state.to_ascii_lowercase()));
        Ok(all.lines().filter_map(pair).collect())
    }

    fn is_running(&self, name: &str) -> bool {
        self.engine.run(&["inspect", "-f", "{{.State.Status}}", name], WORD).is_ok_and(|said| said == "running")
    }

    fn find_or_make(&self) -> Result<String, String> {
        let known = self.known()?;
        if let Some((name, _)) = known.iter().find(|(_, state)| runs(state)) {
            return Ok(name.clone());
        }
        let Some((name, state)) = known.first() else { return self.make() };
        let word = if is_paused(state) { "unpause" } else { "start" };
        // What was installed and written in it is work: only the person may give it up.
        self.engine.run(&[word, name.as_str()], WORD).map(|_| name.clone()).map_err(|why| {
            let program = &self.engine.program;
            format!("the container {name} could not be started again: {why}; `{program} rm {name}` gives it up for a new one")
        })
    }

    /// The image as its engine finds it: podman looks for a short name in no registry unless a person told it to, and ours
    /// is of Docker Hub.
    fn image(&self) -> String {
        let image = &self.config.docker_image;
        let is_ours = *image == TerminalConfig::default().docker_image;
        if is_ours && self.traits.kind == "podman" { format!("docker.io/{image}") } else { image.clone() }
    }

    fn make(&self) -> Result<String, String> {
        if self.config.container_persistent {
            for folder in ["home", "workspace"] {
                let folder = self.sandboxes.join(&self.task).join(folder);
                std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
            }
        }
        let name = format!("hermes-{:08x}", fastrand::u32(..));
        let words = self.flags(&name);
        let rest = [self.image(), SLEEP[0].to_owned(), SLEEP[1].to_owned()];
        let disk = format!("size={}m", self.config.container_disk);
        // Most drivers cannot bound the disk: it is tried once, and left out where it is not understood.
        if self.config.container_disk > 0 && self.traits.kind == "docker" {
            let bounded = [words.clone(), vec!["--storage-opt".into(), disk], rest.to_vec()].concat();
            match self.engine.run(&bounded, FETCH) {
                Err(error) if error.contains("storage-opt") || error.contains("quota") => {
                    let _ = self.engine.run(&["rm", "-f", name.as_str()], WORD);
                }
                done => return done.map(|_| name),
            }
        }
        self.engine.run(&[words, rest.to_vec()].concat(), FETCH).map(|_| name)
    }

    fn name(&self) -> Option<String> {
        lock(&self.name).clone()
    }
}

/// Whether a container of this state runs, as podman (`up 3 minutes`) and docker (`running`) say it.
fn runs(state: &str) -> bool {
    state == "running" || (state.starts_with("up") && !is_paused(state))
}

fn is_paused(state: &str) -> bool {
    state.contains("paused")
}

/// A folder of the configuration, when it is one of the container and not of this machine.
pub(crate) fn begin(configured: &str, own: &str) -> PathBuf {
    let configured = configured.trim();
    let here = ["/home/", "/Users/", "/root/"].iter().any(|start| configured.starts_with(start));
    if Path::new(configured).is_absolute() && !here { configured.into() } else { own.into() }
}

impl Backend for Container {
    fn traits(&self) -> &Traits {
        &self.traits
    }

    fn start(&self) -> Result<(), PlaceError> {
        if self.name().is_some_and(|name| self.is_running(&name)) {
            return Ok(());
        }
        if self.config.docker_orphan_reaper {
            reaper::stopped(&self.engine, self.config.lifetime_seconds);
        }
        let name = self.find_or_make().map_err(|why| PlaceError::unreachable(&self.traits.label, why))?;
        *lock(&self.name) = Some(name);
        Ok(())
    }

    fn identity(&self, _: &str) -> String {
        // Its image may be called anew while it stays the same.
        format!("{} {}", self.traits.kind, self.name().unwrap_or_default())
    }

    fn client(&self, words: &[&str], terminal: Terminal) -> Command {
        let mut command = self.engine.programs.command(&self.engine.program);
        command.arg("exec").arg(match terminal {
            Terminal::None => "-i",
            Terminal::Output => "-t",
            Terminal::Full => "-it",
        });
        command.arg(self.name().unwrap_or_default()).args(words);
        command
    }

    fn remains(&self) -> Result<bool, PlaceError> {
        let known = self.known().map_err(|why| PlaceError::unreachable(&self.traits.label, why))?;
        // What ran in one that was stopped has ended; what is paused is only held.
        Ok(known.iter().any(|(_, state)| runs(state) || is_paused(state)))
    }

    fn gone(&self) -> Option<String> {
        let name = self.name()?;
        match self.engine.run(&["inspect", "-f", "{{.State.Status}} {{.State.OOMKilled}}", &name], WORD) {
            Err(_) => Some(format!("its container {name} was removed from outside; the next command makes a new one")),
            Ok(state) if state.starts_with("running") => None,
            Ok(state) if state.ends_with("true") => Some(format!(
                "its container {name} ran out of memory (terminal.container_memory); the next command starts it again"
            )),
            Ok(_) => Some(format!("its container {name} was stopped from outside; the next command starts it again")),
        }
    }

    fn clear(&self) -> Option<String> {
        let name = self.name()?;
        match self.engine.run(&["kill", &name], WORD) {
            Ok(_) => Some(format!("its container {name} was stopped, and the next command starts it again")),
            Err(error) => Some(format!("its container {name} could not be stopped: {error}")),
        }
    }

    fn stop(&self) -> Result<(), String> {
        let Some(name) = self.name() else { return Ok(()) };
        if self.config.docker_persist_across_processes || !reaper::is_idle(&self.engine, &name) {
            return Ok(());
        }
        if let Err(error) = self.engine.run(&["rm", "-f", &name], WORD) {
            tracing::warn!("the container {name} stays: {error}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(config: TerminalConfig) -> Container {
        let setting = Setting {
            workspace: "/w".into(),
            home: "/h/.hermes".into(),
            task: "default".into(),
            programs: Programs::default(),
        };
        Container::new(&config, &setting, Traits { kind: "docker", ..Traits::default() })
    }

    #[test]
    fn a_container_may_little() {
        let made =
            container(TerminalConfig { container_memory: 100, docker_network: false, ..TerminalConfig::default() });
        let line = made.flags("hermes-1").join(" ");
        assert_eq!(
            line,
            "run -d --init --name hermes-1 --label hermes-agent=1 --label hermes-task-id=default \
             --label hermes-profile=.hermes -w /workspace --cap-drop ALL --cap-add DAC_OVERRIDE --cap-add CHOWN \
             --cap-add FOWNER --cap-add SETUID --cap-add SETGID --security-opt no-new-privileges --pids-limit 256 \
             --tmpfs /tmp:rw,nosuid,size=512m --tmpfs /var/tmp:rw,noexec,nosuid,size=256m \
             --tmpfs /run:rw,noexec,nosuid,size=64m --cpus 1 --memory 100m --network=none \
             -v /h/.hermes/sandboxes/docker/default/home:/root -v /h/.hermes/sandboxes/docker/default/workspace:/workspace"
        );
    }

    #[test]
    fn one_that_keeps_nothing_has_its_folders_in_memory() {
        let config =
            TerminalConfig { container_persistent: false, docker_run_as_host_user: true, ..TerminalConfig::default() };
        let made = container(config);
        let line = made.flags("n").join(" ");
        assert!(
            line.contains("--tmpfs /workspace:rw,exec,size=10g --tmpfs /home:rw,exec,size=1g --tmpfs /root"),
            "{line}"
        );
        assert!(!line.contains("SETUID") && line.contains("--user ") && !line.contains(" -v "), "{line}");
        assert!(made.traits().isolated);
        let mounted = TerminalConfig { docker_mount_cwd_to_workspace: true, ..TerminalConfig::default() };
        let made = container(mounted);
        assert!(made.flags("n").join(" ").contains("-v /w:/workspace") && !made.traits().isolated);
    }

    #[test]
    fn folders_of_this_machine_are_none_of_the_container() {
        for (configured, want) in [
            ("/home/me/x", "/root"),
            (".", "/root"),
            ("/srv/app", "/srv/app"),
            ("/Users/me", "/root"),
            ("C:\\x", "/root"),
        ] {
            assert_eq!(begin(configured, "/root"), Path::new(want), "{configured}");
        }
    }
}
