//! Children as the tools see them: begun, listed, written to, waited for, stopped.

use super::{Family, Kin, drive, outcome, task};
use crate::agent::handle::AgentRequest;
use crate::lock::lock;
use crate::protocol::{AgentCommand, ChildRow, SessionId};
use crate::tools::children::{Batch, ChildResult, Children, Ran};
use futures::future::BoxFuture;
use std::sync::Arc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The family as the tools see it.
pub struct Ties(pub Arc<Family>);

impl Children for Ties {
    fn limits(&self) -> (usize, u32) {
        let now = lock(&self.0.now);
        (now.config.max_concurrent_children, now.config.max_spawn_depth.saturating_sub(self.0.depth))
    }

    fn run(&self, batch: Batch) -> BoxFuture<'static, Result<Ran, String>> {
        let family = Arc::clone(&self.0);
        Box::pin(async move {
            let now = lock(&family.now).clone();
            if family.depth >= now.config.max_spawn_depth {
                let (depth, most) = (family.depth, now.config.max_spawn_depth);
                return Err(format!("no deeper children: this is level {depth} of {most}; do the work yourself"));
            }
            for task in &batch.tasks {
                task::check(task, &now.toolsets)?;
            }
            let numbers = family.add(&batch);
            // Where nobody waits for messages the call waits.
            let has_person = family.parent.handle.has_person();
            let background = batch.background && has_person;
            family.owe(&batch, &numbers, background).await;
            let moved = lock(&family.moved).clone();
            let cancel = if background { CancellationToken::new() } else { batch.cancel.child_token() };
            let batch = Batch { cancel: cancel.clone(), ..batch };
            let over = lock(&family.over).clone();
            let (its, of_all) = (Arc::clone(&family), numbers.clone());
            let mut work = tokio::spawn(async move { drive::all(&its, &batch, &of_all, &over).await });
            if background {
                deliver(&family, work, &numbers);
                return Ok(Ran::Background { results: family.results(&numbers), moved: false });
            }
            // A call that is given up ends its children.
            let given_up = cancel.drop_guard();
            let moves = tokio::select! {
                biased;
                ended = &mut work => {
                    ended.map_err(|error| error.to_string())?;
                    false
                }
                () = moved.cancelled(), if has_person => true,
            };
            given_up.disarm();
            if !moves {
                return Ok(Ran::Ended(family.told(&numbers)));
            }
            family.owe_by_message(&numbers).await;
            deliver(&family, work, &numbers);
            Ok(Ran::Background { results: family.results(&numbers), moved: true })
        })
    }

    fn list(&self) -> Vec<ChildRow> {
        lock(&self.0.kin).iter().map(|child| child.row.clone()).collect()
    }

    fn send(&self, child: &str, text: String) -> Result<SessionId, String> {
        let (_, id) = self.0.working_child(child)?;
        self.0.parent.opener.order(&id, AgentCommand::Told(text));
        Ok(id)
    }

    fn stop(&self, child: &str) -> Result<Option<SessionId>, String> {
        // One that waits for its turn has no session yet.
        let (number, id) = match self.0.find(child, true) {
            Some(found) => found,
            None => self.0.working_child(child).map(|(number, id)| (number, Some(id)))?,
        };
        self.0.stop_of(number).cancel();
        Ok(id)
    }

    fn wait(
        &self,
        children: Vec<String>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Vec<ChildResult>, String>> {
        let family = Arc::clone(&self.0);
        Box::pin(async move {
            let mut numbers = Vec::new();
            for child in &children {
                match family.find(child, false) {
                    Some((number, _)) => numbers.push(number),
                    None => return Err(format!("there is no child {child}; list shows them")),
                }
            }
            if children.is_empty() {
                let kin = lock(&family.kin);
                numbers.extend(kin.iter().filter(|child| !child.row.state.is_over()).map(|child| child.number));
            }
            let awaiting = Awaiting::of(&family, numbers);
            let numbers = &awaiting.numbers;
            let mut changes = family.changed.subscribe();
            let works = |family: &Family| {
                let kin = lock(&family.kin);
                kin.iter().any(|child| numbers.contains(&child.number) && child.result.is_none())
            };
            while works(&family) {
                tokio::select! {
                    () = cancel.cancelled() => return Err("stopped".into()),
                    changed = changes.changed() => if changed.is_err() { break },
                }
            }
            awaiting.told();
            Ok(family.told(numbers))
        })
    }
}

impl Family {
    /// The results of children, as a call tells them to the parent.
    fn told(&self, numbers: &[u64]) -> Vec<ChildResult> {
        let results = self.results(numbers);
        self.parent.gate.told_of(&outcome::strangers(&results));
        results
    }
}

/// A call that waits for the end of children, and tells their results.
struct Awaiting {
    family: Arc<Family>,
    numbers: Vec<u64>,
}

impl Awaiting {
    fn of(family: &Arc<Family>, numbers: Vec<u64>) -> Self {
        let awaiting = Self { family: Arc::clone(family), numbers };
        awaiting.each(|child| child.awaited += 1);
        awaiting
    }

    /// No message tells them any more.
    fn told(&self) {
        self.each(|child| child.told = true);
    }

    fn each(&self, change: impl Fn(&mut Kin)) {
        let mut kin = lock(&self.family.kin);
        kin.iter_mut().filter(|child| self.numbers.contains(&child.number)).for_each(change);
    }
}

impl Drop for Awaiting {
    fn drop(&mut self) {
        self.each(|child| child.awaited = child.awaited.saturating_sub(1));
    }
}

/// Tells the end of children by a message, at the next step boundary of the parent.
fn deliver(family: &Arc<Family>, work: JoinHandle<()>, numbers: &[u64]) {
    let (family, numbers) = (Arc::clone(family), numbers.to_vec());
    tokio::spawn(async move {
        if let Err(error) = work.await {
            tracing::error!("children in the background: {error}");
        }
        let results = family.untold(&numbers);
        if !results.is_empty() {
            family.parent.gate.told_of(&outcome::strangers(&results));
            let (text, gist) = outcome::message(&results);
            family.parent.handle.tell_surely(AgentRequest::Heard { text, gist }).await;
        }
    });
}
