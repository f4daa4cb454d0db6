//! Facts of the agent, each to its concern.

use super::approvals;
use super::effect::Effect;
use super::model::approvals::EntryId;
use super::model::transcript::{CellKind, ToolCell, ToolState};
use super::model::{Model, Retry, TurnStatus};
use crate::app::approvals::{policy_changed, seen};
use crate::app::lists::{context, local_models};
use crate::app::session::{btw, compaction, items, queue, rewind, scripts, sessions, tabs, turn, worktree};
use crate::app::window::sidebar;
use crate::protocol::{AgentEvent, ToolStart};

/// The agent told something.
pub fn agent(model: &mut Model, out: &mut Vec<Effect>, event: AgentEvent) {
    local_models::follow(model, out, &event);
    match event {
        AgentEvent::TextDelta(text) => items::text_delta(model, &text),
        AgentEvent::ReasoningDelta(text) => items::reasoning_delta(model, &text),
        AgentEvent::CallDelta { index, name, bytes } => call_delta(model, index, name, bytes),
        AgentEvent::Waiting { what } => waiting(model, what),
        AgentEvent::ContextParts(view) => context::listed(model, *view),
        AgentEvent::Compacting(begun) => compaction::compacting(model, begun),
        AgentEvent::SummaryRead { edit, of, summary, left } => {
            compaction::read(model, out, edit.then_some(of), *summary, &left);
        }
        AgentEvent::ToolProgress { call_id, line } => tool(model, &call_id, |tool| tool.progress = line),
        AgentEvent::Children { call_id, rows } => tool(model, &call_id, |tool| tool.children = rows),
        AgentEvent::UsageChanged(meter) => model.tab.meter = meter,
        AgentEvent::Budget(sign) => model.tab.budget = sign,
        AgentEvent::SessionOpened { session, items } => sessions::opened(model, out, session, items),
        AgentEvent::SessionChanged(session) => sessions::changed(model, out, session),
        AgentEvent::OpenElsewhere { session, title, pid } => sessions::open_elsewhere(model, session, &title, pid),
        AgentEvent::NotOpened => tabs::not_opened(model, out),
        AgentEvent::TurnStarted { turn, at } => {
            turn::started(model, turn, at);
            sessions::window_title(model, out);
        }
        AgentEvent::StepStarted { step } => step_started(model, step),
        AgentEvent::ItemFinished(item) => items::finished(model, item),
        AgentEvent::StreamReset => items::stream_reset(model),
        AgentEvent::InnerFinished { within, call } => scripts::finished(model, &within, &call),
        AgentEvent::ToolStarted(start) => match start.within.clone() {
            Some(within) => scripts::started(model, &within, start),
            None => tool_started(model, start),
        },
        AgentEvent::ToolProcess { call_id, process } => tool(model, &call_id, |tool| tool.process = Some(process)),
        AgentEvent::ApprovalRequested(approval) => approvals::requested(model, out, approval),
        AgentEvent::ApprovalFound { id, targets, payloads } => seen::found(model, id, targets, payloads),
        AgentEvent::ApprovalClosed(id) => approvals::closed(model, out, EntryId::Approval(id)),
        AgentEvent::Previewed { id, line, preview } => seen::previewed(model, id, &line, preview),
        AgentEvent::Asked(question) => approvals::asked(model, out, question),
        AgentEvent::QuestionClosed(id) => approvals::closed(model, out, EntryId::Question(id)),
        AgentEvent::RewindAsks { order, files } => rewind::asks(model, order, &files),
        AgentEvent::Resumed(card) => sessions::resumed(model, &card),
        AgentEvent::Rewound(rewound) => rewind::rewound(model, out, *rewound),
        AgentEvent::Answered { question, answer } => btw::answered(model, question, answer),
        AgentEvent::GoalChanged(goal) => model.tab.sidebar.goal = goal,
        AgentEvent::Taken(taken) => worktree::taken(model, out, taken),
        AgentEvent::PlanChanged(plan) => model.tab.sidebar.plan = plan,
        AgentEvent::ChangedOutside(files) => sidebar::changed_outside(model, out, files),
        AgentEvent::PolicyChanged(changes) => policy_changed::changed(model, out, changes),
        AgentEvent::Retrying { reason, attempt, of, until } => {
            set_retry(model, Some(Retry { reason, attempt, of, until }));
        }
        AgentEvent::RetryEnded => set_retry(model, None),
        AgentEvent::Notice { text, .. } if is_banner(model, &text) => {}
        AgentEvent::Notice { level, text } => model.notices.add(model.now, level, text),
        AgentEvent::NotTaken(why) => turn::not_taken(model, out, why),
        AgentEvent::Undelivered(prompts) => queue::undelivered(model, prompts),
        AgentEvent::TurnFinished(outcome) => turn::finished(model, out, outcome),
    }
}

/// Whether the banner says it already.
fn is_banner(model: &Model, text: &str) -> bool {
    model.unsaved.as_ref().is_some_and(|trouble| text.ends_with(trouble))
}

/// The store can't save, or can again: the banner says so from now on, in place of any notice.
pub fn saving(model: &mut Model, trouble: Option<String>) {
    if let Some(trouble) = &trouble {
        model.notices.shown.retain(|notice| !notice.text.ends_with(trouble));
    }
    model.unsaved = trouble;
}

fn call_delta(model: &mut Model, index: usize, name: String, bytes: usize) {
    items::thought(model, model.tab.transcript.streaming.reasoning);
    let TurnStatus::Running(running) = &mut model.tab.turn else { return };
    match running.calls.iter_mut().find(|call| call.0 == index) {
        // Progress comes without the name; another name is that of the call inside a wrapper.
        Some((_, known, size)) => {
            if !name.is_empty() {
                *known = name;
            }
            *size = bytes.max(*size);
        }
        None => running.calls.push((index, name, bytes)),
    }
}

fn waiting(model: &mut Model, what: String) {
    let now = model.now;
    if let TurnStatus::Running(running) = &mut model.tab.turn {
        running.waiting = Some((what, now));
    }
}

fn step_started(model: &mut Model, step: u32) {
    let now = model.now;
    model.tab.transcript.streaming = Default::default();
    if let TurnStatus::Running(running) = &mut model.tab.turn {
        running.step = step;
        running.step_started_at = now;
        running.waited_before_step = running.waited;
        running.retry = None;
        running.waiting = None;
        running.calls.clear();
    }
}

fn set_retry(model: &mut Model, retry: Option<Retry>) {
    if let TurnStatus::Running(running) = &mut model.tab.turn {
        running.retry = retry;
    }
}

/// Changes the cell of a call, if there is one; that of a call that a script made stands in the cell of the script.
pub fn tool(model: &mut Model, call_id: &str, change: impl FnOnce(&mut ToolCell)) {
    if model.tab.transcript.call(call_id).is_none() {
        return scripts::inner(model, call_id, change);
    }
    let Some(cell) = model.tab.transcript.call(call_id) else { return };
    cell.change(|kind| {
        if let CellKind::Tool(tool) = kind {
            change(tool);
        }
    });
}

fn tool_started(model: &mut Model, start: ToolStart) {
    if model.tab.transcript.call(&start.call_id).is_none() {
        let tool = ToolCell { call_id: start.call_id.clone(), ..ToolCell::default() };
        model.tab.transcript.push(CellKind::Tool(Box::new(tool)), None, false);
    } else if let Some(cell) = model.tab.transcript.call(&start.call_id) {
        // A session that is looked at while it works: without its result the call seemed to be stopped.
        cell.finished = false;
    }
    // a question may come before the start of the call that asks it
    let asks = model.tab.approvals.entries.iter().any(|entry| entry.call_id() == start.call_id);
    tool(model, &start.call_id, |tool| {
        tool.name = start.name;
        tool.emoji = start.emoji;
        tool.verb = start.verb;
        tool.target = start.target;
        tool.started_at = start.at;
        tool.state = if asks { ToolState::Asking } else { ToolState::Running };
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::msg::Msg;
    use crate::app::tests::ready;
    use crate::app::update;
    use crate::protocol::Level;
    use crate::store::StoreReply;

    #[test]
    fn what_the_banner_says_is_no_notice_whichever_comes_first() {
        let trouble = "database or disk is full; free some disk space";
        let notice = || {
            Msg::Agent(AgentEvent::Notice {
                level: Level::Error,
                text: format!("this session is not saved: {trouble}"),
            })
        };
        let saving = |trouble: Option<&str>| Msg::Store(StoreReply::Saving(trouble.map(str::to_owned)));
        for banner_first in [true, false] {
            let mut model = ready();
            let (first, second) =
                if banner_first { (saving(Some(trouble)), notice()) } else { (notice(), saving(Some(trouble))) };
            update(&mut model, 0, first);
            update(&mut model, 0, second);
            assert!(model.notices.shown.is_empty(), "{:?}", model.notices);
            assert_eq!(model.unsaved.as_deref(), Some(trouble));
            update(&mut model, 0, saving(None));
            update(&mut model, 0, notice());
            assert_eq!(model.notices.shown.len(), 1, "without the banner it is said");
        }
    }
}
