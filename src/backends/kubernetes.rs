//! A pod: an existing one that the user names, or one of our own that waits. `kubectl` has the user's configuration.

use super::backend::{Backend, PlaceError, Programs, Terminal, Traits};
use super::container::{Setting, begin};
use crate::config::TerminalConfig;
use crate::lock::lock;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

/// How long a word of `kubectl` may take.
const WORD: Duration = Duration::from_secs(30);
/// How long a pod may take to be ready: its image is fetched, a node is found.
const READY: Duration = Duration::from_secs(300);
/// Labels of pods of ours.
const OURS: &str = "hermes-agent=1";

/// `kubectl`.
pub(crate) struct Kubernetes {
    traits: Traits,
    programs: Programs,
    /// Context and namespace.
    base: Vec<String>,
    /// A pod of the person; empty: one of ours.
    theirs: String,
    container: String,
    image: String,
    task: String,
    pod: Mutex<Option<String>>,
}

impl Kubernetes {
    pub(crate) fn new(config: &TerminalConfig, setting: &Setting, mut traits: Traits) -> Self {
        let mut base = Vec::new();
        for (flag, value) in [("--context", &config.kubernetes_context), ("--namespace", &config.kubernetes_namespace)]
        {
            if !value.trim().is_empty() {
                base.push(format!("{flag}={}", value.trim()));
            }
        }
        let theirs = config.kubernetes_pod.trim().to_owned();
        let shown = if theirs.is_empty() { config.kubernetes_image.as_str() } else { theirs.as_str() };
        traits.label = format!("kubernetes {}", shown.rsplit('/').next().unwrap_or(shown));
        // In a pod of theirs work begins where its image says.
        traits.cwd = theirs.is_empty().then(|| begin(&config.cwd, "/root"));
        traits.isolated = theirs.is_empty();
        traits.patience = READY;
        Self {
            programs: setting.programs.clone(),
            base,
            theirs,
            container: config.kubernetes_container.trim().to_owned(),
            image: config.kubernetes_image.clone(),
            // Labels hold letters, digits and a few signs.
            task: setting.task.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect(),
            traits,
            pod: Mutex::default(),
        }
    }

    fn run(&self, words: &[&str], time: Duration) -> Result<String, String> {
        let all: Vec<&str> = self.base.iter().map(String::as_str).chain(words.iter().copied()).collect();
        self.programs.run("kubectl", &all, time)
    }

    fn phase(&self, pod: &str) -> Result<String, String> {
        self.run(&["get", "pod", pod, "-o", "jsonpath={.status.phase}"], WORD)
    }

    fn labels(&self) -> String {
        format!("{OURS},hermes-task-id={}", self.task)
    }

    /// A pod of ours that runs.
    fn running(&self) -> Result<Option<String>, String> {
        let rows = "jsonpath={range .items[*]}{.metadata.name} {.status.phase}{\"\\n\"}{end}";
        let known = self.run(&["get", "pods", "-l", &self.labels(), "-o", rows], WORD)?;
        Ok(known.lines().find_map(|line| line.strip_suffix(" Running")).map(str::to_owned))
    }

    /// A pod of ours that runs, or a new one.
    fn find_or_make(&self) -> Result<String, String> {
        let labels = self.labels();
        let known = self.running()?;
        let is_new = known.is_none();
        let name = match known {
            Some(name) => name,
            None => {
                let name = format!("hermes-{:08x}", fastrand::u32(..));
                let (image, labels) = (format!("--image={}", self.image), format!("--labels={labels}"));
                let make = ["run", &name, &image, "--restart=Never", &labels, "--command", "--", "sleep", "infinity"];
                self.run(&make, WORD)?;
                *lock(&self.pod) = Some(name.clone());
                name
            }
        };
        let pod = format!("pod/{name}");
        let wait = ["wait", "--for=condition=Ready", &pod, "--timeout=290s"];
        match self.run(&wait, READY) {
            Ok(_) => Ok(name),
            Err(why) => {
                let events =
                    self.run(&["get", "events", "--field-selector", &format!("involvedObject.name={name}")], WORD);
                // One that waits for ever would be there beside the next one. When this is left, that deletes it.
                if is_new && !self.traits.leaving.is_set() {
                    self.delete(&name);
                }
                let last = events.unwrap_or_default().lines().last().unwrap_or_default().trim().to_owned();
                Err(format!("pod {name} did not become ready: {why} {last}"))
            }
        }
    }

    fn delete(&self, pod: &str) {
        if let Err(error) = self.run(&["delete", "pod", pod, "--wait=false", "--ignore-not-found"], WORD) {
            tracing::warn!("pod {pod} not deleted: {error}");
        }
    }

    fn pod_name(&self) -> Option<String> {
        lock(&self.pod).clone()
    }
}

impl Backend for Kubernetes {
    fn traits(&self) -> &Traits {
        &self.traits
    }

    fn start(&self) -> Result<(), PlaceError> {
        let runs = |pod: String| self.phase(&pod).is_ok_and(|phase| phase == "Running");
        if self.pod_name().is_some_and(runs) {
            return Ok(());
        }
        let unreachable = |why: String| PlaceError::unreachable(&self.traits.label, why);
        let pod = match self.theirs.as_str() {
            "" => self.find_or_make().map_err(unreachable)?,
            theirs => match self.phase(theirs).map_err(unreachable)?.as_str() {
                "Running" => theirs.to_owned(),
                phase => {
                    return Err(unreachable(format!("pod {theirs} is {phase}; start it, or use another")));
                }
            },
        };
        *lock(&self.pod) = Some(pod);
        Ok(())
    }

    fn identity(&self, _: &str) -> String {
        let words: Vec<String> = self.base.iter().cloned().chain(self.pod_name()).collect();
        let container = if self.container.is_empty() { String::new() } else { format!(" {}", self.container) };
        format!("kubernetes {}{container}", words.join(" "))
    }

    fn client(&self, words: &[&str], terminal: Terminal) -> Command {
        let mut command = self.programs.command("kubectl");
        command.args(&self.base).arg("exec").arg(match terminal {
            Terminal::None => "-i",
            // Without something to read it gives no terminal.
            Terminal::Output => "--quiet",
            Terminal::Full => "-it",
        });
        command.arg(self.pod_name().unwrap_or_default());
        if !self.container.is_empty() {
            command.args(["-c", &self.container]);
        }
        command.arg("--").args(words);
        command
    }

    fn remains(&self) -> Result<bool, PlaceError> {
        let running = || self.running().map_err(|why| PlaceError::unreachable(&self.traits.label, why));
        Ok(!self.theirs.is_empty() || running()?.is_some())
    }

    fn why_gone(&self) -> Option<String> {
        let pod = self.pod_name()?;
        let next = if self.theirs.is_empty() { "the next command creates a new one" } else { "restart it" };
        match self.phase(&pod) {
            Ok(phase) if phase == "Running" => None,
            Ok(phase) => Some(format!("its pod {pod} is {phase}; {next}")),
            Err(why) => Some(format!("its pod {pod} is gone ({why}); {next}")),
        }
    }

    fn stop(&self) -> Result<(), String> {
        if let Some(pod) = self.pod_name().filter(|_| self.theirs.is_empty()) {
            self.delete(&pod);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &Command) -> Vec<String> {
        command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn the_client_names_pod_container_and_namespace() {
        let config = TerminalConfig {
            kubernetes_pod: "web-0".into(),
            kubernetes_container: "app".into(),
            kubernetes_namespace: "dev".into(),
            ..TerminalConfig::default()
        };
        let setting = Setting {
            workspace: "/w".into(),
            home: "/h".into(),
            task: "default".into(),
            programs: Programs::default(),
        };
        let made = Kubernetes::new(&config, &setting, Traits { kind: "kubernetes", ..Traits::default() });
        *made.pod.lock().unwrap() = Some("web-0".into());
        let line = words(&made.client(&["sh", "x y"], Terminal::Full));
        assert_eq!(line, ["--namespace=dev", "exec", "-it", "web-0", "-c", "app", "--", "sh", "x y"]);
        assert!(!made.traits().isolated && made.traits().cwd.is_none());
    }
}
