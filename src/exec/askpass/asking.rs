//! Who asks, and what is answered: by the memory, or by the user.

use super::asks::{Answer, Wanted};
use super::{Hint, Question, line, peer};
use crate::exec::process::hub::Hub;
use crate::exec::process::process_identity;
use crate::exec::process::process_identity::Program;
use crate::exec::process::procfs;
use crate::exec::process::procfs::Identity;
use crate::exec::process::record::Process;
use crate::exec::{Hidden, ProcessEvent};
use crate::lock::lock;
use crate::text::visible::visible;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::net::unix::UCred;
use tokio::sync::oneshot;

/// How long a command that began may need until it is in the table, on a machine with much to do.
const IN_TABLE: Duration = Duration::from_secs(1);

/// How soon and how often it is looked whether the command of a `sudo` runs.
const FIRST_LOOK: Duration = Duration::from_millis(20);
const LAST_LOOK: Duration = Duration::from_secs(1);

/// A process that may ask.
pub(super) struct Asking {
    pub(super) process: Arc<Process>,
    /// The process that connected.
    peer: u32,
    /// It is our own helper, so whoever ran it asks.
    is_helper: bool,
    by: Identity,
    program: Program,
}

/// A command is in the table a moment after it has begun, and may be quick to ask.
pub(super) async fn soon(hub: &Arc<Hub>, peer: UCred) -> Result<Asking, String> {
    let deadline = tokio::time::Instant::now() + IN_TABLE;
    loop {
        // Looked at before the table is: a launch that ends in between has put its command there.
        let begins = hub.asking.is_launching() && tokio::time::Instant::now() < deadline;
        let looked = Arc::clone(hub);
        let found = tokio::task::spawn_blocking(move || asking(&looked, &peer)).await;
        match found.map_err(|error| error.to_string())? {
            Err(_) if begins => tokio::time::sleep(IN_TABLE / 50).await,
            done => return done,
        }
    }
}

fn asking(hub: &Hub, peer: &UCred) -> Result<Asking, String> {
    let refused = || "only programs started by a running Hermes command may ask: refused".to_owned();
    let pid = peer.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0).ok_or_else(refused)?;
    if peer.uid() != rustix::process::geteuid().as_raw() || !peer::proc_is_ours() {
        return Err(refused());
    }
    let running: Vec<Arc<Process>> = hub.all().into_iter().filter(|process| !process.over()).collect();
    let leaders: Vec<u32> = running.iter().map(|process| process.pid).collect();
    let leader = peer::leader_of(pid, &leaders, &procfs::stat).ok_or_else(refused)?;
    let process = running.into_iter().find(|process| process.pid == leader).ok_or_else(refused)?;
    let program = hub.options.program.as_deref();
    let is_helper =
        program.is_some_and(|program| process_identity::is_same_file(Path::new(&format!("/proc/{pid}/exe")), program));
    let by = if is_helper { procfs::stat(pid).ok_or_else(refused)?.parent } else { pid };
    let by = Identity::of(by).ok_or_else(refused)?;
    Ok(Asking { process, peer: pid, is_helper, by, program: process_identity::of(by.pid) })
}

impl Asking {
    pub(super) async fn answer(
        self,
        hub: &Arc<Hub>,
        question: Question,
        stream: &mut UnixStream,
    ) -> Result<Hidden, String> {
        let Question { hint, prompt } = question;
        let task = &self.process.task;
        let is_sudo = self.is_helper && process_identity::is_sudo(self.by.pid);
        let again = is_sudo && hub.passwords.is_back(task, self.by);
        let keeps = is_sudo && line::is_all_of(&self.process, self.by);
        if keeps
            && !again
            && let Some(password) = hub.passwords.give(task, self.by, Instant::now())
        {
            let words = format!("sudo got the remembered password for: {}", visible(&self.process.command).text);
            hub.outbox.post(ProcessEvent::Told(self.process.id.clone(), words));
            self.keep_when_right(hub);
            return Ok(password);
        }
        let who = self.program.name.clone();
        if hub.options.headless {
            return Err(format!(
                "{who} asks “{prompt}”, and no one can answer in this mode. Give it a key, a token or a rule that needs no password"
            ));
        }
        if hint == Hint::None {
            hub.outbox.post(ProcessEvent::Told(self.process.id.clone(), format!("{who}: {prompt}")));
            return Ok(Hidden::default());
        }
        let stranger = !self.program.known;
        let path = self.program.path.clone();
        let wanted = Wanted { who, path, masked: is_masked(hint, &prompt), prompt, again, stranger };
        let (sender, heard) = oneshot::channel();
        let id = hub.ask(&self.process, wanted, Answer::Helper(sender));
        tracing::debug!("helper {} of {} asks", self.peer, self.process.id.0);
        let mut rest = [0; 1];
        let answer = tokio::select! {
            answer = heard => answer.ok().flatten(),
            // The helper says nothing more; when it reads no longer, its program has ended.
            _ = stream.read(&mut rest) => {
                hub.unask(id);
                return Err("it exited".into());
            }
        };
        let answer = answer.ok_or("no answer was given")?;
        if keeps {
            hub.passwords.typed(&self.process.task, self.by, answer.clone());
            self.keep_when_right(hub);
        } else if is_sudo {
            hub.passwords.answered(&self.process.task, self.by);
        }
        Ok(answer)
    }

    /// Keeps what this `sudo` was given once its command runs, or it ended well: it is all of its line. Its words are no
    /// proof, since they are in the language of the person.
    fn keep_when_right(&self, hub: &Arc<Hub>) {
        let (hub, process, sudo) = (Arc::downgrade(hub), Arc::clone(&self.process), self.by);
        tokio::spawn(async move {
            let mut phase = process.phase.subscribe();
            let mut pause = FIRST_LOOK;
            let is_right = loop {
                let exited = tokio::time::timeout(pause, phase.wait_for(|phase| phase.exited)).await.is_ok();
                if exited {
                    break lock(&process.life).exit().is_some_and(|exit| exit.code == 0);
                }
                // It asked again, or the program ends.
                if hub.upgrade().is_none_or(|hub| !hub.passwords.is_given(&process.task, sudo)) {
                    return;
                }
                let looked_at = Arc::clone(&process);
                let begun = tokio::task::spawn_blocking(move || line::has_begun(&looked_at, sudo)).await;
                if begun.unwrap_or_default() {
                    break true;
                }
                pause = (pause * 2).min(LAST_LOOK);
            };
            let Some(hub) = hub.upgrade() else { return };
            if !is_right {
                hub.passwords.drop_given(&process.task, sudo);
            } else if hub.passwords.proved(&process.task, sudo, Instant::now()) {
                tokio::spawn(wipe_old(Arc::downgrade(&hub)));
            }
        });
    }
}

/// Wipes what is kept once it is too old, though nobody asks for it; ends when nothing is kept.
async fn wipe_old(hub: Weak<Hub>) {
    while let Some(next) = hub.upgrade().and_then(|hub| hub.passwords.expire(Instant::now())) {
        tokio::time::sleep_until(next.into()).await;
    }
}

/// Whether what is typed must not be seen: all but names and plain yes or no.
fn is_masked(hint: Hint, prompt: &str) -> bool {
    let lower = prompt.to_lowercase();
    let open = lower.starts_with("username") || lower.contains("(yes/no");
    hint == Hint::Answer && !open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_yes_or_no_are_shown_while_they_are_typed() {
        for (hint, prompt, masked) in [
            (Hint::Answer, "[sudo] password for ada:", true),
            (Hint::Answer, "Enter passphrase for key '/home/ada/.ssh/id':", true),
            (Hint::Answer, "Password for 'https://ada@host':", true),
            (Hint::Answer, "Username for 'https://host':", false),
            (Hint::Answer, "Are you sure you want to continue connecting (yes/no/[fingerprint])?", false),
            (Hint::Confirm, "Allow use of key?", false),
        ] {
            assert_eq!(is_masked(hint, prompt), masked, "{prompt}");
        }
    }
}
