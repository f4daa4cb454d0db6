//! A job of Slurm: an allocation of our own that waits, and steps in it. Home folders are shared in a cluster; the files
//! of commands are in one.

use super::backend::{Backend, PlaceError, Programs, Terminal, Traits};
use super::container::Setting;
use super::slot::{Slot, Slots};
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
    /// Keeps the names of allocations.
    home: PathBuf,
    args: Vec<String>,
    /// Minutes that an allocation lasts at most; 0: as long as the partition says.
    minutes: u64,
    allocation: Mutex<Option<Allocation>>,
    /// The name that is asked for while the queue is waited for.
    asked: Mutex<Option<String>>,
}

/// An allocation of ours.
struct Allocation {
    job: String,
    /// Its name: nobody else's while it is held.
    _slot: Slot,
}

impl Slurm {
    pub(crate) fn new(config: &TerminalConfig, setting: Setting, mut traits: Traits) -> Self {
        let partition = config.slurm_args.iter().find_map(|arg| arg.strip_prefix("--partition="));
        traits.label = partition.map_or_else(|| "slurm".to_owned(), |partition| format!("slurm {partition}"));
        traits.cwd = Some(config.cwd.trim()).filter(|cwd| cwd.starts_with('/')).map(PathBuf::from);
        traits.patience = QUEUE;
        Self {
            traits,
            programs: setting.programs,
            home: setting.home,
            args: config.slurm_args.clone(),
            minutes: config.slurm_minutes,
            allocation: Mutex::default(),
            asked: Mutex::default(),
        }
    }

    fn state(&self, job: &str) -> Result<String, String> {
        self.programs.run("squeue", &["-h", "-j", job, "-o", "%T"], WORD)
    }

    fn allocation(&self) -> Option<String> {
        lock(&self.allocation).as_ref().map(|allocation| allocation.job.clone())
    }

    /// Number and state of the jobs of a name.
    fn named(&self, name: &str) -> Result<Vec<(String, String)>, String> {
        let said = self.programs.run("squeue", &["-h", "-n", name, "-o", "%i %T"], WORD)?;
        let pair = |line: &str| line.trim().split_once(' ').map(|(job, state)| (job.to_owned(), state.to_owned()));
        Ok(said.lines().filter_map(pair).filter(|(job, _)| job.bytes().all(|b| b.is_ascii_digit())).collect())
    }

    fn cancel(&self, job: &str) {
        if let Err(error) = self.programs.run("scancel", &[job], WORD) {
            tracing::warn!("job {job} not cancelled: {error}");
        }
    }

    /// Gives back what programs of this home left that were killed; the one that is like what is wanted is used again.
    fn left(&self, slots: &Slots, wanted: &str) -> Result<Option<String>, String> {
        for slot in &slots.free {
            self.named(&slot.name)?.iter().for_each(|(job, _)| self.cancel(job));
        }
        let mut again = None;
        for (job, state) in self.named(&slots.own.name)? {
            if again.is_none() && state == "RUNNING" && slots.own.before == wanted {
                again = Some(job);
            } else {
                self.cancel(&job);
            }
        }
        Ok(again)
    }

    /// Minutes to ask for: what is set, and no more than the partition gives, which would never start.
    fn limit(&self) -> Option<String> {
        if self.minutes == 0 || self.args.iter().any(|arg| arg == "-t" || arg.starts_with("--time")) {
            return None;
        }
        let most = self.programs.run("sinfo", &["-h", "-o", "%P %l"], WORD).unwrap_or_default();
        let named = self.args.iter().find_map(|arg| arg.strip_prefix("--partition="));
        let is_it = |name: &str| named.map_or(name.ends_with('*'), |named| name.trim_end_matches('*') == named);
        let most = most.lines().filter_map(|line| line.split_once(' ')).find(|(name, _)| is_it(name));
        let most = most.and_then(|(_, limit)| minutes(limit)).unwrap_or(u64::MAX);
        Some(format!("--time={}", self.minutes.min(most)))
    }

    fn ask(&self, slot: &Slot) -> Result<String, String> {
        let limit = self.limit();
        let name = format!("--job-name={}", slot.name);
        let mut words = vec!["--no-shell", name.as_str(), "--nodes=1", "--ntasks=1"];
        words.extend(limit.as_deref());
        words.extend(self.args.iter().map(String::as_str));
        *lock(&self.asked) = Some(slot.name.clone());
        let said = self.programs.run("salloc", &words, QUEUE);
        *lock(&self.asked) = None;
        said.and_then(|said| granted(&said).ok_or_else(|| format!("no job id in salloc's output: {said}"))).inspect_err(
            |_| {
                // What still stands in the queue is not wanted any more.
                self.named(&slot.name).unwrap_or_default().iter().for_each(|(job, _)| self.cancel(job));
            },
        )
    }
}

/// Minutes of a limit as Slurm writes it: `30`, `30:00`, `8:00:00`, `2-12:00:00`; `None`: there is none.
fn minutes(limit: &str) -> Option<u64> {
    let (days, rest) = limit.trim().split_once('-').unwrap_or(("0", limit.trim()));
    let parts: Vec<u64> = rest.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let within = match parts.as_slice() {
        [minutes] | [minutes, _] => *minutes,
        [hours, minutes, _] => hours * 60 + minutes,
        _ => return None,
    };
    Some(days.parse::<u64>().ok()? * 24 * 60 + within)
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
        if self.allocation().is_some_and(|job| self.state(&job).is_ok_and(|state| state == "RUNNING")) {
            return Ok(());
        }
        let unreachable = |why: String| PlaceError::unreachable(&self.traits.label, why);
        let wanted = self.args.join(" ");
        // The name of a job that has ended is free again.
        *lock(&self.allocation) = None;
        let slots = Slots::take(&self.home, "slurm").map_err(|error| unreachable(error.to_string()))?;
        let left = self.left(&slots, &wanted).map_err(unreachable)?;
        let mut slot = slots.own;
        slot.note(&wanted).map_err(|error| unreachable(format!("{}: {error}", self.home.display())))?;
        let job = match left {
            Some(job) => job,
            None => self.ask(&slot).map_err(unreachable)?,
        };
        *lock(&self.allocation) = Some(Allocation { job, _slot: slot });
        Ok(())
    }

    fn waiting(&self) -> Option<String> {
        let name = lock(&self.asked).clone()?;
        let said = self.programs.run("squeue", &["-h", "-n", &name, "-o", "%i %T %r"], WORD).ok()?;
        let (job, rest) = said.lines().next()?.trim().split_once(' ')?;
        let (state, why) = rest.split_once(' ')?;
        (state == "PENDING").then(|| format!("waiting in the queue of {}: job {job}, {why}", self.traits.label))
    }

    fn identity(&self, _: &str) -> String {
        // Its files are those of the cluster, whichever job reaches them.
        self.traits.label.clone()
    }

    fn client(&self, words: &[&str], terminal: Terminal) -> Command {
        let mut command = self.programs.command("srun");
        // Steps may share what the allocation has: the link stays open beside commands.
        command.arg(format!("--jobid={}", self.allocation().unwrap_or_default())).args([
            "--overlap",
            "--ntasks=1",
            SENT,
        ]);
        match terminal {
            Terminal::None => command.args(["--quiet", "--unbuffered"]),
            // Said twice it keeps the code of a command to itself, which would stand in the output.
            Terminal::Output | Terminal::Full => command.args(["--quiet", "--quiet", "--pty"]),
        };
        command.args(words);
        command
    }

    fn why_gone(&self) -> Option<String> {
        let job = self.allocation()?;
        let next = "the next command requests a new one";
        match self.state(&job) {
            Ok(state) if state == "RUNNING" => None,
            Ok(state) if !state.is_empty() => Some(format!("its job {job} is {state}; {next}")),
            _ => Some(format!("its job {job} has ended (time limit, or outside Hermes); {next}")),
        }
    }

    fn stop(&self) -> Result<(), String> {
        let Some(job) = self.allocation() else { return Ok(()) };
        self.cancel(&job);
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

    #[test]
    fn limits_are_read_as_slurm_writes_them() {
        for (limit, want) in [
            ("30", Some(30)),
            ("30:00", Some(30)),
            ("1:00:00", Some(60)),
            ("2-12:00:00", Some(3600)),
            ("infinite", None),
            ("n/a", None),
        ] {
            assert_eq!(minutes(limit), want, "{limit}");
        }
    }
}
