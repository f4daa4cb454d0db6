//! Open questions: the inbox, and the modal that opens by itself for the oldest of them.

pub mod answers;
pub mod choices;
pub mod inert;
pub mod mode;
pub mod permissions;
pub mod policy_changed;
pub mod seen;

use super::effect::{Effect, LoadRequest, Report};
use super::events;
use super::model::approvals::{Entry, EntryId};
use super::model::modal::{ApprovalModal, Modal, PickItem, PickerKind, QuestionModal};
use super::model::notices::About;
use super::model::transcript::ToolState;
use super::model::{Chord, Model};
use crate::app::lists::pickers;
use crate::app::session::{sessions, tabs, turn};
use crate::app::terminal::asks;
use crate::policy::{Approval, ApprovalOrigin, Intent, Speaker};
use crate::protocol::{AgentCommand, Level, Question};
use inert::INERT_MS;

/// A command waits for an answer.
pub fn requested(model: &mut Model, out: &mut Vec<Effect>, approval: Box<Approval>) {
    let emoji = model.tool_words.get(&approval.tool).map(|words| words.emoji.clone()).unwrap_or_default();
    events::tool(model, &approval.call_id, |tool| {
        tool.state = ToolState::Asking;
        // A call of a script is known by its question first.
        if tool.name.is_empty() {
            tool.name.clone_from(&approval.tool);
            tool.target = command(&approval.intent);
            tool.emoji = emoji;
        }
    });
    let text = format!("{}: a command waits for approval", sessions::name(model));
    arrived(model, out, Entry::Approval(approval), text);
}

/// The model asks something.
pub fn asked(model: &mut Model, out: &mut Vec<Effect>, question: Question) {
    events::tool(model, &question.call_id, |tool| tool.state = ToolState::Asking);
    let text = format!("{}: {}", sessions::name(model), question.text);
    arrived(model, out, Entry::Question(question), text);
}

fn arrived(model: &mut Model, out: &mut Vec<Effect>, entry: Entry, text: String) {
    if model.tab.approvals.entries.iter().any(|known| known.id() == entry.id()) {
        return;
    }
    model.tab.approvals.entries.push(entry);
    list_anew(model);
    if !model.window_focused {
        out.push(Effect::Notify(text));
    }
    sessions::window_title(model, out);
}

/// A question was answered or is void.
pub fn closed(model: &mut Model, out: &mut Vec<Effect>, id: EntryId) {
    let call = find(model, id).map(|entry| entry.call_id().to_owned());
    if let Some(call) = call {
        events::tool(model, &call, |tool| {
            if tool.state == ToolState::Asking {
                tool.state = ToolState::Proposed;
            }
        });
    }
    model.tab.approvals.entries.retain(|entry| entry.id() != id);
    model.tab.approvals.aside.retain(|aside| *aside != id);
    model.tab.modals.retain(|modal| modal_entry(modal) != Some(id));
    list_anew(model);
    if model.tab.approvals.aside.is_empty() {
        model.notices.settled(&About::Inbox);
    }
    sessions::window_title(model, out);
}

/// The entry of a modal.
fn modal_entry(modal: &Modal) -> Option<EntryId> {
    match modal {
        Modal::Approval(modal) => Some(EntryId::Approval(modal.id)),
        Modal::Question(modal) => Some(EntryId::Question(modal.id)),
        Modal::Picker(_)
        | Modal::Sessions(_)
        | Modal::Rewind(_)
        | Modal::Undo(_)
        | Modal::Worktree(_)
        | Modal::Replay(_)
        | Modal::Stats(_)
        | Modal::Text(_)
        | Modal::Confirm(_)
        | Modal::Input(_)
        | Modal::Trust(_)
        | Modal::PolicyChanged(_)
        | Modal::SignIn(_)
        | Modal::Quit(_) => None,
    }
}

fn find(model: &Model, id: EntryId) -> Option<&Entry> {
    model.tab.approvals.entries.iter().find(|entry| entry.id() == id)
}

/// Opens the oldest question that was not put aside, when nothing else is open. It is inert until keys are quiet.
pub fn open_waiting(model: &mut Model) {
    if !model.tab.modals.is_empty() || model.tab.processes.pane.taken_over {
        return;
    }
    let waiting = model.tab.approvals.entries.iter().map(Entry::id).find(|id| !model.tab.approvals.aside.contains(id));
    if let Some(id) = waiting {
        // a chord that was begun is not for the modal
        model.chord = None::<Chord>;
        model.tab.composer.completion = None;
        open(model, id, model.now + INERT_MS);
    }
}

/// Opens a question.
pub fn open(model: &mut Model, id: EntryId, inert_until: i64) {
    model.tab.approvals.aside.retain(|aside| *aside != id);
    if model.tab.approvals.aside.is_empty() {
        model.notices.settled(&About::Inbox);
    }
    // the next frame says anew what is on the screen
    model.layout.reading = None;
    let modal = match find(model, id) {
        Some(Entry::Approval(approval)) => Modal::Approval(ApprovalModal::new(approval.id, inert_until)),
        Some(Entry::Question(question)) => {
            let text = question.choices.is_empty().then(String::new);
            Modal::Question(QuestionModal { id: question.id, inert_until, selected: 0, text, cursor: 0 })
        }
        None => return,
    };
    model.tab.modals.push(modal);
}

/// Tells the agent when the person begins to write in a question and when they end: its time stands still meanwhile.
pub fn tell_writing(model: &mut Model, out: &mut Vec<Effect>) {
    let approval = if let Some(Modal::Approval(modal)) = model.tab.modals.last() { Some(modal) } else { None };
    let writing = approval.filter(|modal| modal.is_written()).map(|modal| modal.id);
    let before = std::mem::replace(&mut model.tab.approvals.writing, writing);
    if before != writing {
        let changes = [before.map(|id| (id, false)), writing.map(|id| (id, true))];
        out.extend(changes.into_iter().flatten().map(|(id, now)| Effect::Agent(AgentCommand::Writing(id, now))));
    }
}

/// Somebody is back at what waits: it is judged anew.
pub fn look_again(model: &Model, out: &mut Vec<Effect>) {
    if model.tab.approvals.entries.iter().any(|entry| matches!(entry, Entry::Approval(_))) {
        out.push(Effect::Agent(AgentCommand::LookAgain));
    }
}

/// The question after the open one, round and round; nothing while something is written.
pub fn next_question(model: &mut Model, out: &mut Vec<Effect>) {
    let writes = match model.tab.modals.last() {
        Some(Modal::Approval(modal)) => modal.is_written(),
        Some(Modal::Question(modal)) => modal.text.as_ref().is_some_and(|text| !text.is_empty()),
        Some(
            Modal::Picker(_)
            | Modal::Sessions(_)
            | Modal::Rewind(_)
            | Modal::Undo(_)
            | Modal::Worktree(_)
            | Modal::Replay(_)
            | Modal::Stats(_)
            | Modal::Text(_)
            | Modal::Confirm(_)
            | Modal::Input(_)
            | Modal::Trust(_)
            | Modal::PolicyChanged(_)
            | Modal::SignIn(_)
            | Modal::Quit(_),
        )
        | None => return,
    };
    let here = model.tab.modals.last().and_then(modal_entry);
    let ids: Vec<EntryId> = model.tab.approvals.entries.iter().map(Entry::id).collect();
    let at = ids.iter().position(|id| Some(*id) == here);
    if let Some(at) = at.filter(|_| !writes && ids.len() > 1) {
        model.tab.modals.pop();
        look_again(model, out);
        open(model, ids[(at + 1) % ids.len()], model.now);
    }
}

/// `/approvals`: the inbox, or what was decided; what follows `log` chooses its rows.
pub fn slash(model: &mut Model, out: &mut Vec<Effect>, argument: &str) {
    match argument.trim().split_once(char::is_whitespace).unwrap_or((argument.trim(), "")) {
        ("log", chosen) => {
            let argument = chosen.trim().to_owned();
            out.push(Effect::Load(LoadRequest::Report { report: Report::Approvals, argument }));
        }
        _ => inbox(model, out),
    }
}

/// The inbox: one question opens at once, several are listed.
pub fn inbox(model: &mut Model, out: &mut Vec<Effect>) {
    if asks::reopen(model) {
        return;
    }
    look_again(model, out);
    let ids: Vec<EntryId> = model.tab.approvals.entries.iter().map(Entry::id).collect();
    match ids[..] {
        [] if tabs::go_to_waiting(model, out) => inbox(model, out),
        [] => model.notices.add(model.now, Level::Info, "nothing pending; /approvals log shows past decisions"),
        [id] => open(model, id, model.now),
        _ => {
            let items = items(model);
            pickers::open(model, PickerKind::Inbox, "Pending approvals and questions, oldest first", items);
        }
    }
}

/// The rows of the inbox, the oldest first.
fn items(model: &Model) -> Vec<PickItem> {
    model.tab.approvals.entries.iter().map(|entry| item(model, entry)).collect()
}

/// The inbox that is open shows what came and went.
fn list_anew(model: &mut Model) {
    let items = items(model);
    if let Some(picker) = pickers::top(model, PickerKind::Inbox) {
        pickers::fill(picker, items);
    }
}

/// A row of the inbox was chosen.
pub fn chosen(model: &mut Model, value: &str) {
    let id = model.tab.approvals.entries.iter().map(Entry::id).find(|id| row_of(*id) == value);
    if let Some(id) = id {
        open(model, id, model.now);
    }
}

/// What a row of the inbox stands for.
fn row_of(id: EntryId) -> String {
    match id {
        EntryId::Approval(id) => format!("approval {}", id.0),
        EntryId::Question(id) => format!("question {}", id.0),
    }
}

fn item(model: &Model, entry: &Entry) -> PickItem {
    let (label, detail) = match entry {
        Entry::Approval(approval) => (command(&approval.intent), asks(model, &approval.origin)),
        Entry::Question(question) => (question.text.clone(), "question".to_owned()),
    };
    // All of a script stands in its one row, as far as that goes.
    let label = label.split_whitespace().collect::<Vec<_>>().join(" ");
    PickItem { label, detail, value: row_of(entry.id()), ..PickItem::default() }
}

/// Who asks, and in which session when it is another than the open one.
fn asks(model: &Model, origin: &ApprovalOrigin) -> String {
    match elsewhere(model, origin) {
        Some(session) => format!("{session} · {}", origin.words()),
        None => origin.words(),
    }
}

/// The session of a question, in words; `None` when it is the open one.
pub fn elsewhere(model: &Model, origin: &ApprovalOrigin) -> Option<String> {
    let here = model.tab.session.as_ref().is_none_or(|session| session.id.0 == origin.session);
    let name = if origin.title.is_empty() { &origin.session } else { &origin.title };
    (!here && !origin.session.is_empty()).then(|| format!("session “{name}”"))
}

/// What stays open when another session opens: questions of work that goes on.
pub fn session_changed(model: &mut Model) {
    let stays = |entry: &Entry| matches!(entry, Entry::Approval(approval) if matches!(approval.origin.by, Speaker::Background(_)));
    model.tab.approvals.entries.retain(stays);
    let open: Vec<EntryId> = model.tab.approvals.entries.iter().map(Entry::id).collect();
    model.tab.approvals.aside.retain(|id| open.contains(id));
    model.tab.modals.retain(|modal| modal_entry(modal).is_none_or(|id| open.contains(&id)));
}

/// What an intent does, in one line.
fn command(intent: &Intent) -> String {
    match intent {
        Intent::Read(path) => format!("read {}", path.display()),
        Intent::Edit(edits) => {
            let paths: Vec<String> = edits.iter().map(|edit| edit.path.display().to_string()).collect();
            format!("edit {}", paths.join(", "))
        }
        Intent::Command { line, .. } => line.clone(),
        Intent::Input { process, text } => format!("type {text:?} into {process}"),
        Intent::Remote { tool, args, .. } => {
            format!("{tool} {}", args.split_whitespace().collect::<Vec<_>>().join(" "))
        }
        Intent::Code { code, .. } => format!("script: {}", code.split_whitespace().collect::<Vec<_>>().join(" ")),
        Intent::Talk | Intent::Handle => "talk".into(),
    }
}

/// Esc: the questions stay in the inbox.
pub fn put_aside(model: &mut Model) {
    if model.tab.modals.pop().as_ref().and_then(modal_entry).is_some() {
        // All that waits: the next one must not catch what is typed now.
        model.tab.approvals.aside = model.tab.approvals.entries.iter().map(Entry::id).collect();
        model.tab.approvals.aside_at = Some(model.now);
        let keys = model.keymap.keys_for("inbox");
        let key = keys.first().map(String::as_str).unwrap_or("/approvals").to_owned();
        let text = match model.tab.approvals.aside.len() {
            1 => format!("the question is still pending: {key}"),
            n => format!("{n} questions are still pending: {key}"),
        };
        model.notices.about(model.now, Level::Info, About::Inbox, text);
    }
}

/// Ctrl-C in a question: stops the turn that asks, and the question with it.
pub fn interrupt(model: &mut Model, out: &mut Vec<Effect>) {
    if turn::is_running(model) {
        turn::stop(model, out);
    }
    put_aside(model);
}

#[cfg(test)]
mod tests;
