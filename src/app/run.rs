//! Actions: one line each, to the concern that does it.

use super::action::Action;
use super::effect::{Effect, LoadRequest};
use super::model::modal::{Modal, TextModal};
use super::model::transcript::CellKind;
use super::model::{Model, Pane};
use super::{approvals, docs};
use crate::app::approvals::{mode, permissions, policy_changed};
use crate::app::input::edit::Edit;
use crate::app::input::focus::Direction;
use crate::app::input::{composer, drafts, focus, history, mouse, slash, suggestions, vi};
use crate::app::lists::{agents, backends, context, extensions, models, named, palette, servers, toolsets, tree};
use crate::app::reading::{find, footer, scroll, seek, select};
use crate::app::session::tabs::Go;
use crate::app::session::{
    btw, budget, checkout, compaction, goal, queue, replay, rewind, sessions, stats, tabs, turn, undo, worktree,
};
use crate::app::terminal::{editor, pane, processes, split, taking_over};
use crate::app::window::{appearance, borders, quitting, settings, sidebar};
use crate::config::keymap::Key;
use crate::exec::Way;
use crate::protocol::{AgentCommand, Level};

/// Runs the action of a key in a pane. Some keys mean more than their action alone.
pub fn by_key(model: &mut Model, out: &mut Vec<Effect>, action: Action, key: Key) {
    if action == Action::TakeOver && (taking_over::just_ended(model) || taking_over::send_again(model, out, key)) {
        return;
    }
    run(model, out, action, "");
}

/// Runs an action, with the argument of its slash command or nothing.
pub fn run(model: &mut Model, out: &mut Vec<Effect>, action: Action, argument: &str) {
    match action {
        Action::Send => turn::enter(model, out),
        Action::SendOther => turn::enter_other(model, out),
        Action::Newline => newline(model, out),
        Action::HistoryPrevious | Action::HistoryNext if suggestions::step(model, action == Action::HistoryNext) => {}
        Action::HistoryPrevious => history::previous(model),
        Action::HistoryNext => history::next(model),
        Action::HistorySearch => history::search(model),
        Action::DraftPrevious => drafts::previous(model, out),
        Action::PasteImage => out.push(Effect::Load(LoadRequest::Image { path: some(argument) })),
        Action::ExternalEditor => editor::open(model, out),
        Action::Undo => composer::undo(model, out),
        Action::Redo => composer::redo(model, out),
        Action::StopTurn => turn::escape(model, out),
        Action::Interrupt => turn::interrupt(model, out),
        Action::QueuePrompt => queue::command(model, out, argument),
        Action::QueueStrip => queue::strip(model),
        Action::QueueEdit => queue::edit(model, out),
        Action::QueueSteer => queue::steer(model, out),
        Action::QueueDrop => queue::discard(model),
        Action::Steer => turn::steer(model, out, argument),
        Action::Inbox => approvals::slash(model, out, argument),
        Action::ApprovalMode => mode::next(model, out),
        Action::Mode => mode::open(model, out, argument),
        Action::PlanMode => mode::choose(model, out, "plan"),
        Action::Yolo => mode::yolo(model, out),
        Action::SessionNew => tabs::open(model, out, crate::protocol::Opens::New),
        Action::SessionClear => sessions::clear(model, out),
        Action::TabClose => tabs::close(model, out),
        Action::TabList => tabs::list(model),
        Action::TabsRestore => tabs::restore_lost(model, out),
        Action::SessionBrowser => sessions::browse(model, out, argument),
        Action::NextTab => tabs::go(model, out, Go::Next),
        Action::PreviousTab => tabs::go(model, out, Go::Previous),
        Action::Tab1 => tabs::go(model, out, Go::Nth(0)),
        Action::Tab2 => tabs::go(model, out, Go::Nth(1)),
        Action::Tab3 => tabs::go(model, out, Go::Nth(2)),
        Action::Tab4 => tabs::go(model, out, Go::Nth(3)),
        Action::Tab5 => tabs::go(model, out, Go::Nth(4)),
        Action::Tab6 => tabs::go(model, out, Go::Nth(5)),
        Action::Tab7 => tabs::go(model, out, Go::Nth(6)),
        Action::Tab8 => tabs::go(model, out, Go::Nth(7)),
        Action::Tab9 => tabs::go(model, out, Go::Nth(8)),
        Action::Title => sessions::title(model, out, argument),
        Action::Rewind => rewind::open(model, out),
        Action::UndoExchange => rewind::undo(model, out),
        Action::RedoExchange => rewind::redo(model, out),
        Action::ContextView => context::open(model, out),
        Action::TurnDetails => footer::open_last(model),
        Action::Compact => compaction::compact(out, argument),
        Action::Budget => budget::budget(model, out, argument),
        Action::UndoCommand => undo::open(model, out, argument),
        Action::Fork => sessions::fork(model, out),
        Action::SessionTree => tree::open(model, out),
        Action::Replay => replay::here(model, out),
        Action::Stats => stats::open(model, out, argument),
        Action::Agents => agents::open(model, out),
        Action::Diff if !argument.trim().is_empty() => worktree::open(model, out, argument),
        Action::WorktreeChanges => worktree::of_children(model, out),
        Action::ByTheWay => btw::ask(model, out, argument),
        Action::Worktree => checkout::begin(model, out, argument),
        Action::Goal => goal::goal(model, out, argument),
        Action::Plan => sidebar::plan(model),
        Action::Plugins => extensions::plugins(model),
        Action::Hooks => extensions::hooks(model),
        Action::Trust => extensions::trust(model),
        Action::Policy => policy_changed::show(model),
        Action::ModelPicker => models::pick(model, out, argument),
        Action::LocalModels => named::local(model, out, argument),
        Action::ModelCycle => models::cycle(model, out),
        Action::ProviderKey => models::ask_key(model, out, argument),
        Action::Logout => {
            out.push(Effect::Load(super::effect::LoadRequest::LogOut { provider: argument.trim().to_owned() }));
        }
        Action::EffortDown => models::step_effort(model, out, -1),
        Action::EffortUp => models::step_effort(model, out, 1),
        Action::Effort => models::set_effort(model, out, argument),
        Action::SkinPicker => appearance::pick_skin(model, out, argument),
        Action::SkinNext => appearance::next_skin(model, out),
        Action::ThemePicker => appearance::pick_theme(model, out, argument),
        Action::Mcp => servers::open(model, out, argument),
        Action::Permissions => permissions::open(model, out, argument),
        Action::Backend => backends::open(model, out, argument),
        Action::Toolsets => toolsets::open(model, out, argument),
        Action::Tools
        | Action::Skills
        | Action::Memory
        | Action::Usage
        | Action::Config
        | Action::Doctor
        | Action::Diff => report(out, action, argument),
        Action::Export => export(model, out, argument),
        Action::Busy => settings::busy(model, out, argument),
        Action::Indicator => settings::indicator(model, out, argument),
        Action::StatusBar => settings::status_bar(model, out, argument),
        Action::Retry => turn::retry(model, out),
        Action::ToggleTerminal => pane::toggle(model),
        Action::NextTerminal => pane::next(model, 1),
        Action::PreviousTerminal => pane::next(model, -1),
        Action::SplitTerminal => split::toggle(model),
        Action::OtherTerminal => split::swap(model),
        Action::GrowPane => borders::grow(model, 1),
        Action::ShrinkPane => borders::grow(model, -1),
        Action::WidenSidebar => borders::widen(model, 1),
        Action::NarrowSidebar => borders::widen(model, -1),
        Action::FocusComposer => {
            focus::set(model, Pane::Composer);
            vi::insert(model);
        }
        Action::ViMode => vi::toggle(model, out, argument),
        Action::ToggleSidebar => sidebar::toggle(model),
        Action::FocusNext => focus::next(model),
        Action::FocusLeft => focus::go(model, Direction::Left),
        Action::FocusRight => focus::go(model, Direction::Right),
        Action::FocusUp => focus::go(model, Direction::Up),
        Action::FocusDown => focus::go(model, Direction::Down),
        Action::ScrollUp => scroll::by(model, out, model.tab.focus, -1),
        Action::ScrollDown => scroll::by(model, out, model.tab.focus, 1),
        Action::PageUp => scroll::page(model, out, -1),
        Action::PageDown => scroll::page(model, out, 1),
        Action::ToStart => scroll::to_start(model, out),
        Action::ToEnd => scroll::to_end(model, out),
        Action::SelectPrevious => select::step(model, -1),
        Action::SelectNext => select::step(model, 1),
        Action::Expand => select::expand(model),
        Action::ExpandAll | Action::Details => select::expand_all(model),
        Action::Find if seek::here(model) => seek::open(model),
        Action::FindNext if seek::here(model) => seek::step(model, out, Way::Up),
        Action::FindPrevious if seek::here(model) => seek::step(model, out, Way::Down),
        Action::Find => find::open(model, argument),
        Action::FindNext => find::step(model, -1),
        Action::FindPrevious => find::step(model, 1),
        Action::CopyMode => select::copy_mode(model),
        Action::CopySelection => select::copy(model, out),
        Action::Copy => select::copy_answer(model, out, argument),
        Action::ReleaseMouse => mouse::release(model, out),
        Action::TakeOver => taking_over::take_over(model, out),
        Action::BackgroundCommand if !argument.trim().is_empty() => tabs::behind(model, out, argument.trim()),
        Action::BackgroundCommand => processes::background(model, out),
        Action::KillProcess => processes::ask_kill(model),
        Action::ForgetProcess => processes::forget(model, out),
        Action::Processes => pane::show(model),
        Action::CommandPalette => palette::open(model, out),
        Action::Help => palette::help(model),
        Action::Keys => text(model, "Keys", docs::keys(&model.keymap)),
        Action::Reload => reload(model, out),
        Action::Redraw => out.push(Effect::Repaint),
        Action::Suspend => suspend(model, out),
        Action::Quit => quitting::quit(model, out),
        Action::Previous | Action::Up => scroll::by(model, out, model.tab.focus, -1),
        Action::Next | Action::Down => scroll::by(model, out, model.tab.focus, 1),
        Action::Close => focus::set(model, Pane::Composer),
        Action::LineStart
        | Action::LineEnd
        | Action::CharLeft
        | Action::CharRight
        | Action::WordLeft
        | Action::WordRight
        | Action::DeleteChar
        | Action::DeleteCharBack
        | Action::DeleteWord
        | Action::DeleteWordBack
        | Action::DeleteToEnd
        | Action::DeleteToStart
        | Action::Yank => {
            if let Some(edit) = Edit::of(action) {
                composer::edit(model, out, edit);
            }
        }
        // these mean something in a list or a question only, which take their keys first
        Action::Accept
        | Action::Left
        | Action::Right
        | Action::Switch
        | Action::Yes
        | Action::No
        | Action::Refresh
        | Action::Here
        | Action::SessionActions
        | Action::Rename
        | Action::TagSession
        | Action::PinSession
        | Action::ArchiveSession
        | Action::DeleteSession
        | Action::RestoreSession
        | Action::ForkSession
        | Action::SelectedTree
        | Action::ExportSession
        | Action::OpenTab
        | Action::TakeChange
        | Action::TakeAll
        | Action::DropChange
        | Action::DropWorktree
        | Action::Play
        | Action::PlaySpeed
        | Action::Jump0
        | Action::Jump1
        | Action::Jump2
        | Action::Jump3
        | Action::Jump4
        | Action::Jump5
        | Action::Jump6
        | Action::Jump7
        | Action::Jump8
        | Action::Jump9
        | Action::CopyAddress
        | Action::RangeWeek
        | Action::RangeMonth
        | Action::RangeQuarter
        | Action::RangeAll
        | Action::CancelDownload
        | Action::KeepProcess
        | Action::KeepAll
        | Action::Deny
        | Action::AllowOnce
        | Action::AllowSession
        | Action::AllowAlways
        | Action::EditCommand
        | Action::Unfold
        | Action::Choose1
        | Action::Choose2
        | Action::Choose3
        | Action::Choose4
        | Action::Choose5
        | Action::Choose6
        | Action::Choose7
        | Action::RewindBoth
        | Action::RewindConversation
        | Action::RewindFiles
        | Action::OverwriteFiles
        | Action::TakePolicy
        | Action::KeepPolicy
        | Action::WordEnd
        | Action::HalfPageUp
        | Action::HalfPageDown
        | Action::Mark
        | Action::MarkLine
        | Action::CopyMarked => {}
    }
}

fn some(argument: &str) -> Option<String> {
    (!argument.is_empty()).then(|| argument.to_owned())
}

/// Opens text to read.
pub fn text(model: &mut Model, title: &str, lines: Vec<crate::text::Line>) {
    model.tab.modals.push(Modal::Text(TextModal { title: title.into(), lines, scroll: 0 }));
}

fn newline(model: &mut Model, out: &mut Vec<Effect>) {
    focus::set(model, Pane::Composer);
    model.tab.composer.area.insert_newline();
    composer::changed(model, out);
}

fn report(out: &mut Vec<Effect>, action: Action, argument: &str) {
    if let Some(report) = slash::report(action) {
        out.push(Effect::Load(LoadRequest::Report { report, argument: argument.into() }));
    }
}

fn export(model: &mut Model, out: &mut Vec<Effect>, argument: &str) {
    if model.tab.transcript.cells.iter().any(|cell| matches!(cell.kind, CellKind::User { .. })) {
        return report(out, Action::Export, argument);
    }
    let text = "nothing to export: this session is empty";
    model.notices.add(model.now, Level::Info, text);
}

fn reload(model: &mut Model, out: &mut Vec<Effect>) {
    if !model.tab.policy.changes.is_empty() {
        let text = "review the changed policy first: /policy";
        model.notices.add(model.now, Level::Warning, text);
        return policy_changed::show(model);
    }
    out.push(Effect::Agent(AgentCommand::Reload));
    out.push(Effect::Server(super::effect::ServerOrder::Reload(super::model::servers::ReadWhy::Along)));
    out.push(Effect::Load(LoadRequest::Knowledge));
    out.push(Effect::Load(LoadRequest::Looks));
    model.notices.add(model.now, Level::Info, "reloaded configuration, keys and skills");
}

fn suspend(model: &mut Model, out: &mut Vec<Effect>) {
    drafts::save(model, out);
    out.push(Effect::Suspend);
}
