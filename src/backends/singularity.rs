//! An instance of `apptainer` or `singularity`: started from an image, entered for each command.

use super::backend::{Backend, PlaceError, Programs, Terminal, Traits};
use super::container::{Setting, begin};
use super::slot::{Slot, Slots};
use crate::config::TerminalConfig;
use crate::lock::lock;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

/// How long a word of it may take.
const WORD: Duration = Duration::from_secs(30);
/// How long a start may take: an image is fetched and built.
const FETCH: Duration = Duration::from_secs(1800);

/// `apptainer`, `singularity`.
pub(crate) struct Singularity {
    traits: Traits,
    programs: Programs,
    image: String,
    cpu: f64,
    memory: u64,
    /// Keeps what is written in the container; `None`: nothing is kept.
    overlay: Option<PathBuf>,
    /// Keeps the names of instances.
    home: PathBuf,
    /// The name of the instance that was started.
    in_use: Mutex<Option<Slot>>,
}

impl Singularity {
    pub(crate) fn new(config: &TerminalConfig, setting: &Setting, mut traits: Traits) -> Self {
        let image = config.singularity_image.trim().to_owned();
        traits.label = format!("{} {}", traits.kind, image.rsplit('/').next().unwrap_or(&image));
        traits.cwd = Some(begin(&config.cwd, "/root"));
        traits.isolated = true;
        // Its processes are children of the client on this machine: signals reach them as any others.
        traits.signals_here = true;
        traits.patience = FETCH;
        let overlay = setting.home.join("sandboxes").join("singularity").join(&setting.task);
        Self {
            programs: setting.programs.clone(),
            image,
            cpu: config.container_cpu,
            memory: config.container_memory,
            overlay: config.container_persistent.then_some(overlay),
            home: setting.home.clone(),
            traits,
            in_use: Mutex::default(),
        }
    }

    fn words(&self, name: &str, bounds: bool) -> Vec<String> {
        let mut words: Vec<String> = ["instance", "start", "--containall", "--no-home"].map(str::to_owned).to_vec();
        match &self.overlay {
            Some(folder) => words.extend(["--overlay".to_owned(), folder.display().to_string()]),
            None => words.push("--writable-tmpfs".to_owned()),
        }
        if bounds && self.cpu > 0.0 {
            words.extend(["--cpus".to_owned(), self.cpu.to_string()]);
        }
        if bounds && self.memory > 0 {
            words.extend(["--memory".to_owned(), format!("{}M", self.memory)]);
        }
        words.extend([self.image.clone(), name.to_owned()]);
        words
    }

    fn name(&self) -> Option<String> {
        lock(&self.in_use).as_ref().map(|slot| slot.name.clone())
    }

    fn runs(&self, name: &str) -> bool {
        let listed = self.programs.run(self.traits.kind, &["instance", "list", name], WORD);
        listed.is_ok_and(|rows| rows.contains(name))
    }

    fn stop_it(&self, name: &str) {
        if let Err(error) = self.programs.run(self.traits.kind, &["instance", "stop", name], WORD) {
            tracing::warn!("instance {name} not stopped: {error}");
        }
    }

    /// A name for an instance. What programs of this home left that were killed is stopped: what it keeps is in its folder.
    fn slot(&self) -> Result<Slot, String> {
        let slots = Slots::take(&self.home, self.traits.kind).map_err(|error| error.to_string())?;
        for slot in slots.free.iter().chain([&slots.own]).filter(|slot| self.runs(&slot.name)) {
            self.stop_it(&slot.name);
        }
        Ok(slots.own)
    }
}

impl Backend for Singularity {
    fn traits(&self) -> &Traits {
        &self.traits
    }

    fn start(&self) -> Result<(), PlaceError> {
        if self.name().is_some_and(|name| self.runs(&name)) {
            return Ok(());
        }
        let unreachable = |why: String| PlaceError::unreachable(&self.traits.label, why);
        *lock(&self.in_use) = None;
        let slot = self.slot().map_err(unreachable)?;
        if let Some(folder) = &self.overlay {
            let made = std::fs::create_dir_all(folder);
            made.map_err(|error| unreachable(format!("{}: {error}", folder.display())))?;
        }
        let run = |bounds| self.programs.run(self.traits.kind, &self.words(&slot.name, bounds), FETCH);
        // Bounds need groups of the kernel that not every user may make.
        match run(true) {
            Err(why) if why.contains("cgroup") => {
                tracing::warn!("no CPU or memory limits: {why}");
                run(false).map_err(unreachable)?
            }
            done => done.map_err(unreachable)?,
        };
        *lock(&self.in_use) = Some(slot);
        Ok(())
    }

    fn identity(&self, _: &str) -> String {
        // Each instance has the files of the folder that keeps them.
        let keeps = self.overlay.as_ref().map(|folder| folder.display().to_string());
        format!("{} {}", self.traits.kind, keeps.or_else(|| self.name()).unwrap_or_default())
    }

    fn client(&self, words: &[&str], _: Terminal) -> Command {
        let mut command = self.programs.command(self.traits.kind);
        // The terminal that the client has is the one there, so its warnings would stand in the output; one is that the
        // folder here is not there. By itself it sends all of this machine's environment.
        command.args(["--silent", "exec", "--cleanenv", "--pwd", "/"]);
        command.arg(format!("instance://{}", self.name().unwrap_or_default())).args(words);
        command
    }

    fn why_gone(&self) -> Option<String> {
        let name = self.name()?;
        let gone = || format!("its instance {name} was stopped outside Hermes; the next command restarts it");
        (!self.runs(&name)).then(gone)
    }

    fn stop(&self) -> Result<(), String> {
        if let Some(name) = self.name() {
            self.stop_it(&name);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_has_nothing_of_this_machine() {
        let setting = Setting {
            workspace: "/w".into(),
            home: "/h".into(),
            task: "default".into(),
            programs: Programs::default(),
        };
        for (persistent, want) in [(true, "--overlay /h/sandboxes/singularity/default"), (false, "--writable-tmpfs")] {
            let config = TerminalConfig { container_persistent: persistent, ..TerminalConfig::default() };
            let made = Singularity::new(&config, &setting, Traits { kind: "apptainer", ..Traits::default() });
            let line = made.words("hermes-1", true).join(" ");
            let head = format!("instance start --containall --no-home {want} --cpus 1 --memory 5120M docker://");
            assert!(line.starts_with(&head) && line.ends_with("hermes-1"), "{line}");
            assert_eq!(made.client(&["sh"], Terminal::Full).get_args().count(), 7);
        }
    }
}
