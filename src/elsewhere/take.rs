//! Taking a session over: it becomes one of ours, once. A second time goes on with the one that was taken, with what the
//! source has more.

use super::{Agent, Conversation, Found, Shelf, read};
use crate::policy::redact::Secrets;
use crate::policy::taint::{UNTRUSTED, Untrusted};
use crate::protocol::{Body, Item, ItemId, NoteKind, SessionId};
use crate::store::{Imported, Incoming, NewSession, Store};
use crate::text::format::{count, plural};
use serde_json::json;

/// The fact of a session that says where it came from.
pub(super) const ORIGIN: &str = "origin";

/// What came of a wish like `@codex` or `@codex:ID`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// This session goes on; what there is to say of it.
    Session(SessionId, String),
    /// The folder has none of this agent: these words list what there is.
    Choose(String),
}

/// Takes over what a wish names, for work in the folder `here`. The error says what failed and what to do.
pub async fn take(store: &Store, shelf: &Shelf, secrets: &Secrets, wish: &str, here: &str) -> Result<Taken, String> {
    let (word, id) =
        wish.trim().trim_start_matches('@').split_once(':').unwrap_or((wish.trim().trim_start_matches('@'), ""));
    let known: Vec<String> = Agent::ALL.iter().map(|agent| format!("@{}", agent.word())).collect();
    let agent = Agent::of_word(word)
        .ok_or_else(|| format!("no agent `@{word}`: sessions of {} can be taken over", known.join(", ")))?;
    let (seeker, id, folder) = (shelf.clone(), id.to_owned(), here.to_owned());
    let found =
        blocking(
            move || {
                if id.is_empty() { Ok(seeker.newest(agent, &folder)) } else { seeker.by_id(agent, &id).map(Some) }
            },
        )
        .await??;
    let Some(found) = found else { return Ok(Taken::Choose(format!("@{}", agent.word()))) };
    let held = secrets.clone();
    let conversation = blocking(move || read(&found, &held)).await??;
    let (id, outcome) = keep(store, &conversation).await?;
    let text = match outcome {
        Imported::New(_) | Imported::Extended(_) | Imported::Same => told(&conversation, outcome),
        Imported::Differs => format!(
            "{} has more, but this session went on in another way: nothing was added",
            conversation.about.agent.name()
        ),
    };
    Ok(Taken::Session(id, text))
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())
}

/// Puts a conversation into the store, with a note that says where it came from.
pub async fn keep(store: &Store, conversation: &Conversation) -> Result<(SessionId, Imported), String> {
    let incoming = incoming(conversation);
    let id = incoming.new.id.clone();
    let outcome = store.import(vec![incoming]).await.map_err(|error| error.to_string())?;
    let outcome = outcome.first().copied().unwrap_or(Imported::Same);
    if matches!(outcome, Imported::New(_) | Imported::Extended(_)) {
        let body = Body::Note { kind: NoteKind::Info, text: told(conversation, outcome) };
        let turn = conversation.items.last().map_or(1, |item| item.turn);
        let note = Item { id: ItemId(0), at: chrono::Utc::now().timestamp_millis(), turn, body };
        store.append(&id, vec![note]).await.map_err(|error| error.to_string())?;
    }
    Ok((id, outcome))
}

/// A conversation as the store takes it in.
pub(super) fn incoming(conversation: &Conversation) -> Incoming {
    let about = &conversation.about;
    let new = NewSession {
        id: SessionId(about.agent.our_id(&about.id)),
        cwd: about.cwd.clone(),
        // Which model goes on is ours to say: that of another program may not be had here.
        model: String::new(),
        source: "import".to_owned(),
        started_at: about.started_at,
    };
    let mut origin = json!({
        "agent": about.agent.word(), "id": about.id, "path": about.place.path(), "model": about.model,
        "left_out": conversation.left_out, "as_text": conversation.as_text,
    });
    for (name, value) in &conversation.marks {
        origin[name] = value.clone();
    }
    let mut facts = vec![(ORIGIN.to_owned(), origin)];
    // What tools of another program brought may be text of strangers: the web, other servers.
    if conversation.as_text > 0 {
        let mut untrusted = Untrusted::default();
        untrusted.entered(&format!("tools of {}", about.agent.name()));
        facts.push((UNTRUSTED.to_owned(), serde_json::to_value(untrusted).unwrap_or_default()));
    }
    Incoming { new, items: conversation.items.clone(), title: about.title.clone(), facts, carried: None }
}

/// Where a session came from and what was left out, for the person.
fn told(conversation: &Conversation, outcome: Imported) -> String {
    let Found { agent, id, cwd, .. } = &conversation.about;
    // Both are words of strangers, and this is one line.
    let (id, cwd) = (super::plain_id(id), cwd.chars().filter(|c| !c.is_control()).take(200).collect::<String>());
    let entries = plural(conversation.items.len() as u64, "entry", "entries");
    let mut text = match outcome {
        Imported::Extended(more) => {
            format!("Added {} from {}, session {id}.", plural(more as u64, "entry", "entries"), agent.name())
        }
        _ => format!("Taken over from {}: {entries} of session {id}, begun in {cwd}.", agent.name()),
    };
    if conversation.as_text > 0 {
        let calls = plural(conversation.as_text, "call", "calls");
        text.push_str(&format!(" {calls} of tools that Hermes does not have stand as text."));
    }
    if !conversation.left_out.is_empty() {
        let kinds = conversation.left_out.iter().map(|(kind, number)| format!("{} {kind}", count(*number)));
        text.push_str(&format!(" Left out: {}.", kinds.collect::<Vec<_>>().join(", ")));
    }
    text.push_str(" Approvals and modes did not come along. The original is unchanged.");
    text
}
