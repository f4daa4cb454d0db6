//! A job of Slurm: an allocation of our own that waits, and steps in it. Home folders are shared in a cluster; the files
//! of commands are in one.

use super::backend::{Backend, PlaceError, Programs, Terminal, Traits};
use crate::config::TerminalConfig;
use crate::lock::lock;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

/// How long a word of Slurm may take.
const WORD: Duration = Duration::from_secs(20);
/// How long an allocation may be waited for.
const QUEUE: Duration = Duration::from_secs(600);

/// What of this machine's environment goes along: who it is that works there. By itself `srun` sends all of it.
const SENT: &str = "--export=HOME,USER,LOGNAME,SHELL,PATH";

/// `salloc` and `srun`.
pub(crate) struct Slurm {
    traits: Traits,
    programs: Programs,
    args: Vec<String>,
    job: Mutex<Option<String>>,
}

impl Slurm {
    pub(crate) fn new(config: &TerminalConfig, programs: Programs, mut traits: Traits) -> Self {
        let partition = config.slurm_args.iter().find_map(|arg| arg.strip_prefix("--partition="));
        traits.label = partition.map_or_else(|| "slurm".to_owned(), |partition| format!("slurm {partition}"));
        traits.cwd = Some(config.cwd.trim()).filter(|cwd| cwd.starts_with('/')).map(PathBuf::from);
        traits.patience = QUEUE;
        Self { traits, programs, args: config.slurm_args.clone(), job: Mutex::default() }
    }

    fn state(&self, job: &str) -> Result<String, String> {
        self.programs.run("squeue", &["-h", "-j", job, "-o", "%T"], WORD)
    }

    fn held(&self) -> Option<String> {
        lock(&self.job).clone()
    }
}

/// The number in `salloc: Granted job allocation 42`.
fn granted(said: &str) -> Option<String> {
    let line = said.lines().find(|line| line.contains("Granted job allocation"))?;
    line.split_whitespace().next_back().filter(|word| word.bytes().all(|b| b.is_ascii_digit())).map(str::to_owned)
}

impl Backend for Slurm {
    fn traits(&self) -> &Traits {
        &self.traits
    }

    fn start(&self) -> Result<(), PlaceError> {
        if self.held().is_some_and(|job| self.state(&job).is_ok_and(|state| state == "RUNNING")) {
            return Ok(());
        }
        let mut words = vec!["--no-shell", "--job-name=hermes", "--nodes=1", "--ntasks=1"];
        words.extend(self.args.iter().map(String::as_str));
        let said = self.programs.run("salloc", &words, QUEUE);
        let job = said.and_then(|said| granted(&said).ok_or_else(|| format!("salloc says no number: {said}")));
        let job = job.map_err(|why| PlaceError::unreachable(&self.traits.label, why))?;
        *lock(&self.job) = Some(job);
        Ok(())
    }

    fn identity(&self, _: &str) -> String {
        // Its files are those of the cluster, whichever job reaches them.
        self.traits.label.clone()
    }

    fn client(&self, words: &[&str], terminal: Terminal) -> Command {
        let mut command = self.programs.command("srun");
        // Steps may share what the allocation has: the link stays open beside commands.
        command.arg(format!("--jobid={}", self.held().unwrap_or_default())).args(["--overlap", "--ntasks=1", SENT]);
        match terminal {
            Terminal::None => command.args(["--quiet", "--unbuffered"]),
            // Said twice it keeps the code of a command to itself, which would stand in the output.
            Terminal::Output | Terminal::Full => command.args(["--quiet", "--quiet", "--pty"]),
        };
        command.args(words);
        command
    }

    fn gone(&self) -> Option<String> {
        let job = self.held()?;
        let next = "the next command asks for a new one";
        match self.state(&job) {
            Ok(state) if state == "RUNNING" => None,
            Ok(state) if !state.is_empty() => Some(format!("its job {job} is {state}; {next}")),
            _ => Some(format!("its job {job} has ended (its time limit, or from outside); {next}")),
        }
    }

    fn stop(&self) -> Result<(), String> {
        let Some(job) = self.held() else { return Ok(()) };
        if let Err(error) = self.programs.run("scancel", &[job.as_str()], WORD) {
            tracing::warn!("the job {job} stays: {error}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_the_job_is_found() {
        for (said, want) in [
            ("salloc: Pending job allocation 42\nsalloc: Granted job allocation 42", Some("42")),
            ("salloc: error: Unable to allocate resources", None),
            ("salloc: Granted job allocation x", None),
        ] {
            assert_eq!(granted(said).as_deref(), want, "{said}");
        }
    }
}
