//! Open questions: the inbox, and the modals that open by themselves but never take text meant for the composer.

use super::action::Action;
use super::effect::{Effect, LoadRequest, Report};
use super::keys::Press;
use super::model::approvals::{Entry, EntryId};
use super::model::layout::SMALLEST;
use super::model::modal::{
    ApprovalChoice, ApprovalModal, ApprovalStage, Confirm, ConfirmThen, Judged, Modal, PickItem, PickerKind,
    QuestionModal, Read,
};
use super::model::notices::About;
use super::model::transcript::ToolState;
use super::model::{Chord, Model};
use super::{composer, edit, events, pickers, sessions, turn};
use crate::policy::{
    Approval, ApprovalId, ApprovalOrigin, Decision, Intent, Mode, Payload, Preview, Proposal, Scope, Speaker, Target,
    Verdict, WITHOUT_SANDBOX, proposals,
};
use crate::protocol::{AgentCommand, Level, Question};

/// Milliseconds without a key before a modal that opened by itself takes one.
pub const QUIET: i64 = 400;

/// A command waits for an answer.
pub fn requested(model: &mut Model, out: &mut Vec<Effect>, approval: Box<Approval>) {
    events::tool(model, &approval.call_id, |tool| tool.state = ToolState::Asking);
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
        | Modal::Text(_)
        | Modal::Confirm(_)
        | Modal::Input(_)
        | Modal::Trust(_)
        | Modal::PolicyChanged(_)
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
        open(model, id, model.now + QUIET);
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

/// A frame was drawn: where its text to be approved came to rest, and which of its rows were there.
pub fn drawn(model: &mut Model) {
    let Some(reading) = &model.layout.reading else { return };
    let Some(Modal::Approval(modal)) = model.tab.modals.last_mut() else { return };
    let edited = matches!(modal.stage, ApprovalStage::ConfirmingEdit(..));
    if (modal.id, edited) != (reading.id, reading.edited) {
        return;
    }
    modal.scroll = reading.first;
    let read = &mut modal.read;
    read.begun = true;
    read.folded = reading.folded;
    if read.shape != reading.shape {
        read.shape = reading.shape;
        read.seen.clear();
    }
    let window = (reading.first, reading.first.saturating_add(reading.rows));
    if !read.whole && !read.seen.contains(&window) {
        read.seen.push(window);
    }
    let seen = |row: &u16| read.seen.iter().any(|(from, to)| (from..to).contains(&row));
    read.whole |= reading.must.iter().all(seen);
}

/// What the frame tells from how far an approval was read: all of it, and something folded. A frame that changes it says
/// so only in the next one.
pub fn reading(model: &Model) -> Option<(bool, bool)> {
    match model.tab.modals.last() {
        Some(Modal::Approval(modal)) => Some((modal.read.whole, modal.read.folded)),
        _ => None,
    }
}

/// Whether the screen is too small to show a modal.
pub fn hidden(model: &Model) -> bool {
    model.size.0 < SMALLEST.0 || model.size.1 < SMALLEST.1
}

/// The screen grew large enough to show modals: their quiet begins anew.
pub fn seen_again(model: &mut Model) {
    let until = model.now + QUIET;
    for modal in &mut model.tab.modals {
        match modal {
            Modal::Approval(modal) => modal.inert_until = until,
            Modal::Question(modal) => modal.inert_until = until,
            Modal::Trust(modal) => modal.inert_until = until,
            Modal::PolicyChanged(modal) => modal.inert_until = until,
            Modal::Confirm(modal) if modal.inert_until > 0 => modal.inert_until = until,
            Modal::Input(modal) if modal.inert_until > 0 => modal.inert_until = until,
            Modal::Picker(_)
            | Modal::Sessions(_)
            | Modal::Rewind(_)
            | Modal::Text(_)
            | Modal::Confirm(_)
            | Modal::Quit(_)
            | Modal::Input(_) => {}
        }
    }
}

/// A key while a modal is inert: it moves the end of the quiet on, and text goes to the composer. `true`: it was.
///
/// Keys for a masked field are an exception unless the person is in the middle of a prompt: they may be the password, and
/// what the composer holds is shown and kept as a draft. What they write stands in the field, hidden, and goes nowhere
/// without an Enter after the quiet.
pub fn inert(model: &mut Model, out: &mut Vec<Effect>, press: Press) -> bool {
    let now = model.now;
    let too_small = hidden(model);
    let mid_word =
        !composer::is_empty(&model.tab.composer) && model.tab.composer.keyed_at.is_some_and(|at| now - at < QUIET);
    let masked = !too_small
        && !mid_word
        && matches!(model.tab.modals.last(), Some(Modal::Input(modal)) if modal.masked && modal.inert_until > now);
    let back = matches!(press.action, Some(Action::DeleteCharBack | Action::DeleteWordBack));
    if masked && (back || edit::printable(press.key).is_some()) {
        return false;
    }
    let until = match model.tab.modals.last_mut() {
        Some(Modal::Approval(modal)) => &mut modal.inert_until,
        Some(Modal::Question(modal)) => &mut modal.inert_until,
        Some(Modal::Trust(modal)) => &mut modal.inert_until,
        Some(Modal::PolicyChanged(modal)) => &mut modal.inert_until,
        Some(Modal::Confirm(modal)) if modal.inert_until > 0 => &mut modal.inert_until,
        Some(Modal::Input(modal)) if modal.inert_until > 0 => &mut modal.inert_until,
        // what cannot be seen takes no key at all
        _ => return too_small,
    };
    if *until <= now && !too_small {
        return false;
    }
    *until = now + QUIET;
    if !masked {
        composer::key(model, out, press.key);
        model.tab.composer.completion = None;
    }
    true
}

/// Tells the agent when the person begins to write in a question and when they end: its time stands still meanwhile.
pub fn tell_writing(model: &mut Model, out: &mut Vec<Effect>) {
    let writing = match model.tab.modals.last() {
        Some(Modal::Approval(modal)) if modal.is_written() => Some(modal.id),
        _ => None,
    };
    let before = std::mem::replace(&mut model.tab.approvals.writing, writing);
    if before != writing {
        let told = [before.map(|id| (id, false)), writing.map(|id| (id, true))];
        out.extend(told.into_iter().flatten().map(|(id, now)| Effect::Agent(AgentCommand::Writing(id, now))));
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
        _ => true,
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
    if super::asks::reopen(model) {
        return;
    }
    look_again(model, out);
    let ids: Vec<EntryId> = model.tab.approvals.entries.iter().map(Entry::id).collect();
    match ids[..] {
        [] if super::tabs::go_to_waiting(model, out) => inbox(model, out),
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

/// All that an open question's call would touch is known now.
pub fn found(model: &mut Model, id: ApprovalId, targets: Vec<Target>, payloads: Vec<Payload>) {
    let approval = model.tab.approvals.entries.iter_mut().find_map(|entry| match entry {
        Entry::Approval(approval) if approval.id == id => Some(approval),
        Entry::Approval(_) | Entry::Question(_) => None,
    });
    let Some(approval) = approval else { return };
    (approval.targets, approval.payloads) = (targets, payloads);
    for modal in &mut model.tab.modals {
        if let Modal::Approval(modal) = modal
            && modal.id == id
            && modal.stage == ApprovalStage::Choosing
        {
            // The new rows are to be seen as well, from where the reader is. An answer that was begun knew that they lacked.
            modal.read = Read { begun: modal.read.begun, ..Read::default() };
            model.layout.reading = None;
        }
    }
}

/// How a line that was written instead would be judged.
pub fn previewed(model: &mut Model, id: ApprovalId, line: &str, preview: Option<Box<Preview>>) {
    let now = model.now;
    for modal in &mut model.tab.modals {
        let Modal::Approval(modal) = modal else { continue };
        let ApprovalStage::ConfirmingEdit(shown, judged @ Judged::Waiting) = &mut modal.stage else { continue };
        if modal.id == id && shown == line {
            *judged = preview.clone().map_or(Judged::Unknown, Judged::As);
            // It is another text now; keys on their way are not for it.
            modal.read = Read::default();
            modal.scroll = 0;
            modal.held_until = now + QUIET;
            model.layout.reading = None;
        }
    }
}

/// Whether no answer lets this line run.
pub fn is_barred(preview: &Preview) -> bool {
    matches!(preview.verdict, Verdict::Refuse(_) | Verdict::DeniedByRule(_))
}

/// Answers with yes, and asks no more in this session.
pub fn decide_yolo(model: &mut Model, out: &mut Vec<Effect>, id: ApprovalId) {
    set_mode(model, out, Mode::Off);
    decide(model, out, id, Decision::Once);
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
        Intent::Talk => "talk".into(),
    }
}

/// Esc: the question stays in the inbox.
pub fn put_aside(model: &mut Model) {
    if let Some(id) = model.tab.modals.pop().as_ref().and_then(modal_entry) {
        model.tab.approvals.aside.push(id);
        model.tab.approvals.aside_at = Some(model.now);
        let keys = model.keymap.keys_for("inbox");
        let key = keys.first().map(String::as_str).unwrap_or("/approvals").to_owned();
        model.notices.about(model.now, Level::Info, About::Inbox, format!("the question is still pending: {key}"));
    }
}

/// All choices in the order of the grid: the left column, then the right one. Rows of clicks count in it.
pub const GRID: [ApprovalChoice; 5] =
    [ApprovalChoice::Deny, ApprovalChoice::Edit, ApprovalChoice::Once, ApprovalChoice::Session, ApprovalChoice::Always];

/// The choices that an approval offers, in the order of the grid.
pub fn choices(approval: &Approval) -> Vec<ApprovalChoice> {
    let offered = |choice: &ApprovalChoice| match choice {
        ApprovalChoice::Deny | ApprovalChoice::Once => true,
        // What ran in the sandbox runs again as it is, or not.
        ApprovalChoice::Edit => matches!(approval.intent, Intent::Command { .. }) && !leaves_sandbox(approval),
        ApprovalChoice::Session | ApprovalChoice::Always => !offers(approval, *choice).is_empty(),
    };
    GRID.into_iter().filter(offered).collect()
}

/// Whether a yes runs a command again without its sandbox.
pub fn leaves_sandbox(approval: &Approval) -> bool {
    approval.verdict.reasons().iter().any(|why| why.effect == WITHOUT_SANDBOX)
}

/// The classes of effect that were asked about, each once.
pub fn effects(approval: &Approval) -> Vec<String> {
    proposals::effects(&approval.verdict)
}

/// The grants that an answer that lasts can be, narrowest first. None for the others.
pub fn offers(approval: &Approval, choice: ApprovalChoice) -> Vec<&Proposal> {
    let lasts = |scope: Scope| match choice {
        ApprovalChoice::Session => scope == Scope::Session,
        ApprovalChoice::Always => scope > Scope::Session,
        ApprovalChoice::Deny | ApprovalChoice::Edit | ApprovalChoice::Once => false,
    };
    approval.proposals.iter().filter(|proposal| lasts(proposal.grant.scope)).collect()
}

/// Answers and goes on to the next question.
pub fn decide(model: &mut Model, out: &mut Vec<Effect>, id: ApprovalId, decision: Decision) {
    out.push(Effect::Agent(AgentCommand::Decide(id, decision)));
    closed(model, out, EntryId::Approval(id));
}

/// Answers a question of the model.
pub fn answer(model: &mut Model, out: &mut Vec<Effect>, id: crate::protocol::QuestionId, text: String) {
    out.push(Effect::Agent(AgentCommand::Answer(id, text)));
    closed(model, out, EntryId::Question(id));
}

/// Shift-Tab: between asking and auto; from yolo back to asking.
pub fn next_mode(model: &mut Model, out: &mut Vec<Effect>) {
    let mode = match mode(model) {
        Mode::Manual => Mode::Smart,
        Mode::Smart | Mode::Off => Mode::Manual,
    };
    set_mode(model, out, mode);
}

/// `/yolo`: off after a yes, back on at once.
pub fn yolo(model: &mut Model, out: &mut Vec<Effect>) {
    if mode(model) == Mode::Off {
        set_mode(model, out, Mode::Manual);
        return;
    }
    model.tab.modals.push(Modal::Confirm(Confirm::new(
        "Run everything without asking",
        "Dangerous commands in this session run without asking. Commands that are never allowed stay refused; commands that always ask still ask.",
        "Do not ask in this session",
        ConfirmThen::Yolo,
    )));
}

fn mode(model: &Model) -> Mode {
    model.tab.session.as_ref().map_or(model.config.approvals.mode, |session| session.mode)
}

/// Sets how questions are treated.
pub fn set_mode(model: &mut Model, out: &mut Vec<Effect>, mode: Mode) {
    if let Some(session) = &mut model.tab.session {
        session.mode = mode;
    }
    out.push(Effect::Agent(AgentCommand::SetMode(mode)));
    let (level, text) = match mode {
        Mode::Manual => (Level::Info, "approvals: ask, risky commands need your approval".to_owned()),
        Mode::Smart => match model.tab.session.as_ref().map(|session| &session.adviser) {
            Some(None) => (
                Level::Warning,
                "approvals: auto, but no model is available: everything needs your approval".to_owned(),
            ),
            Some(Some(adviser)) => (Level::Info, format!("approvals: auto, {adviser} approves low-risk commands")),
            None => (Level::Info, "approvals: auto, a model approves low-risk commands".to_owned()),
        },
        Mode::Off => {
            (Level::Warning, "approvals: yolo, only commands that always ask still ask in this session".to_owned())
        }
    };
    model.notices.about(model.now, level, About::Setting("approvals"), text);
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
