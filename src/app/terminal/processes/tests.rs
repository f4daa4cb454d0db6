//! When the terminal pane opens and closes, and what goes to the program.

use super::*;
use crate::app::input::composer;
use crate::app::model::layout::Layout;
use crate::app::msg::Msg;
use crate::app::terminal::pane::opens_at;
use crate::app::tests::{process, ready, script, script_at};
use crate::app::update;
use crate::exec::{Exit, ExitReason};
use crate::protocol::{AgentEvent, TurnEnd, TurnOutcome};
use std::time::Duration;

fn info(id: &str, background: bool, state: ProcessState) -> ProcessInfo {
    let command = format!("run {id}");
    ProcessInfo { command, cwd: "/src".into(), started_at: 1000, state, ..process(id, background) }
}

fn exit(code: i32) -> ProcessState {
    ProcessState::Exited(Exit { code, reason: ExitReason::Exited, duration: Duration::ZERO })
}

fn started(model: &mut Model, id: &str, background: bool) -> Vec<Effect> {
    let event = ProcessEvent::Started(info(id, background, ProcessState::Running));
    update(model, 1000, Msg::Process(event))
}

fn running(background: bool) -> Model {
    let mut model = ready();
    update(&mut model, 1000, Msg::Agent(AgentEvent::TurnStarted { turn: 1, at: 1000 }));
    started(&mut model, "a", background);
    model
}

fn end_turn(model: &mut Model, now: i64) {
    let outcome = TurnOutcome { turn: 1, end: TurnEnd::Completed, steps: 1, duration_ms: 0 };
    update(model, now, Msg::Agent(AgentEvent::TurnFinished(outcome)));
}

fn drawn(model: &mut Model, size: Option<(u16, u16)>) -> Vec<Effect> {
    let now = model.now;
    update(model, now, Msg::Drawn(Box::new(Layout { terminal: size, ..Layout::default() })))
}

#[test]
fn the_pane_opens_after_a_second_and_closes_when_all_is_done() {
    let mut model = running(false);
    update(&mut model, 1900, Msg::Woke);
    assert!(!model.tab.processes.pane.open);
    update(&mut model, 2000, Msg::Woke);
    assert!(model.tab.processes.pane.open);
    update(&mut model, 2500, Msg::Process(ProcessEvent::Exited(info("a", false, exit(0)))));
    assert!(model.tab.processes.pane.open, "the turn may run another");
    end_turn(&mut model, 2600);
    assert!(!model.tab.processes.pane.open);
    assert!(model.tab.processes.rows.is_empty());
}

#[test]
fn a_background_command_opens_nothing() {
    let mut model = running(true);
    update(&mut model, 9000, Msg::Woke);
    assert!(!model.tab.processes.pane.open);
    assert_eq!(opens_at(&model), None);
}

#[test]
fn what_the_person_touched_stays() {
    let mut closed = running(false);
    script(&mut closed, "<C-t><C-t>");
    update(&mut closed, 5000, Msg::Woke);
    assert!(!closed.tab.processes.pane.open, "closed by hand stays closed");
    let mut open = running(false);
    script(&mut open, "<C-t>");
    update(&mut open, 5000, Msg::Process(ProcessEvent::Exited(info("a", false, exit(0)))));
    end_turn(&mut open, 5001);
    assert!(open.tab.processes.pane.open, "opened by hand stays open");
}

#[test]
fn screens_are_watched_at_the_size_of_the_pane() {
    let mut model = running(false);
    script(&mut model, "<C-t>");
    let watch =
        |id: Option<&str>, size| Effect::Process(ProcessCommand::Watch(id.map(|id| ProcessId(id.into())), size));
    assert!(drawn(&mut model, Some((78, 10))).contains(&watch(Some("a"), (78, 10))));
    assert!(!drawn(&mut model, Some((78, 10))).contains(&watch(Some("a"), (78, 10))), "once");
    assert!(drawn(&mut model, Some((60, 8))).contains(&watch(Some("a"), (60, 8))));
    assert!(started(&mut model, "b", false).contains(&watch(Some("b"), (60, 8))), "the newest is shown");
    assert!(script(&mut model, "<A-]>").contains(&watch(Some("a"), (60, 8))));
    assert!(script(&mut model, "<C-t>").contains(&watch(None, (60, 8))));
}

#[test]
fn a_program_taken_over_gets_all_keys() {
    let mut model = running(false);
    let write = |bytes: &[u8]| Effect::Process(ProcessCommand::Write(ProcessId("a".into()), bytes.to_vec()));
    script(&mut model, "draft<f9>");
    assert!(model.tab.processes.pane.taken_over);
    for (keys, bytes) in
        [("q", &b"q"[..]), ("<C-c>", b"\x03"), ("<esc>", b"\x1b"), ("<C-p>", b"\x10"), ("<ret>", b"\r")]
    {
        assert!(script(&mut model, keys).contains(&write(bytes)), "{keys}");
    }
    assert!(model.tab.modals.is_empty());
    let effects = update(&mut model, 1000, Msg::Pasted("a\nb".into()));
    assert!(effects.contains(&write(b"a\rb")));
    script(&mut model, "<f9>x");
    assert_eq!(composer::text(&model.tab.composer), "draftx", "handed back");
}

#[test]
fn the_hand_back_key_twice_goes_to_the_program() {
    let mut model = running(false);
    script_at(&mut model, 2000, "<f9>");
    let effects = script_at(&mut model, 2100, "<f9><f9>");
    let write = Effect::Process(ProcessCommand::Write(ProcessId("a".into()), b"\x1b[20~".to_vec()));
    assert!(effects.contains(&write), "{effects:?}");
    assert!(model.tab.processes.pane.taken_over);
    script_at(&mut model, 3000, "<f9>");
    let effects = script_at(&mut model, 4000, "<f9>");
    assert!(!effects.contains(&write), "later it takes over again");
    assert!(model.tab.processes.pane.taken_over);
}

#[test]
fn a_program_that_ends_gives_the_keys_back() {
    let mut model = running(false);
    script(&mut model, "<f9>");
    update(&mut model, 2000, Msg::Process(ProcessEvent::Exited(info("a", false, exit(1)))));
    assert!(!model.tab.processes.pane.taken_over);
    let effects = script(&mut model, "x");
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Process(ProcessCommand::Write(..)))));
}

#[test]
fn only_an_end_that_nobody_wanted_is_a_warning() {
    for (code, reason, said) in [
        (0, ExitReason::Exited, (Level::Info, "npm run dev exited: exit 0")),
        (1, ExitReason::Exited, (Level::Warning, "npm run dev exited: exit 1")),
        (137, ExitReason::Signalled, (Level::Warning, "npm run dev exited: exit 137")),
        (130, ExitReason::Killed, (Level::Info, "npm run dev exited")),
        (-1, ExitReason::Unseen, (Level::Warning, "npm run dev exited (exit status unknown)")),
    ] {
        let mut model = running(true);
        let exit = Exit { code, reason, duration: std::time::Duration::ZERO };
        let mut info = info("a", true, ProcessState::Exited(exit));
        info.command = "npm run dev".into();
        update(&mut model, 2000, Msg::Process(ProcessEvent::Exited(info)));
        let notice = model.notices.shown.last().expect("it is told");
        assert_eq!((notice.level, notice.text.as_str()), said);
    }
}

#[test]
fn killing_takes_a_yes() {
    let mut model = running(false);
    let kill = Effect::Process(ProcessCommand::Kill(ProcessId("a".into())));
    script(&mut model, "<C-t>");
    model.tab.focus = Pane::Terminal;
    assert!(!script(&mut model, "K<ret>").contains(&kill), "no is the default");
    assert!(script(&mut model, "Ky<ret>").contains(&kill));
}

#[test]
fn keys_for_a_command_that_has_ended_reach_no_other() {
    let mut model = running(true);
    started(&mut model, "b", true);
    script(&mut model, "<C-t>");
    model.tab.focus = Pane::Terminal;
    model.tab.processes.pane.shown = Some(ProcessId("b".into()));
    update(&mut model, 2000, Msg::Process(ProcessEvent::Exited(info("b", true, exit(0)))));
    let effects = script_at(&mut model, 9000, "<ret>K<ret>y<ret>");
    assert!(!model.tab.processes.pane.taken_over);
    assert_eq!(model.tab.modals.len(), 0);
    let touched = |effect: &Effect| {
        matches!(
            effect,
            Effect::Process(ProcessCommand::Write(..) | ProcessCommand::Kill(_) | ProcessCommand::TakeOver(_))
        )
    };
    assert!(!effects.iter().any(touched), "{effects:?}");
}

#[test]
fn a_command_goes_to_the_background() {
    let mut model = running(false);
    let background = Effect::Process(ProcessCommand::Background(ProcessId("a".into())));
    assert!(script(&mut model, "<C-x>b").contains(&background));
    let mut idle = ready();
    assert!(!script(&mut idle, "<C-x>b").contains(&background));
    assert!(!idle.notices.shown.is_empty());
}

#[test]
fn input_that_is_needed_is_said_once() {
    let mut model = running(true);
    let asks = || Msg::Process(ProcessEvent::Changed(info("a", true, ProcessState::NeedsInput)));
    update(&mut model, 1100, asks());
    assert!(model.notices.shown.iter().any(|notice| notice.text.contains("needs input")));
    model.notices.shown.clear();
    update(&mut model, 1200, asks());
    assert!(model.notices.shown.is_empty());
}

#[test]
fn a_word_about_input_names_the_key_and_goes_when_it_is_settled() {
    let asking = |model: &mut Model| {
        let event = ProcessEvent::Changed(info("a", false, ProcessState::NeedsInput));
        update(model, 1500, Msg::Process(event));
        model.notices.shown.iter().filter(|notice| notice.text.contains("needs input")).count()
    };
    let about = |model: &Model| model.notices.shown.iter().filter(|notice| notice.text.contains("needs input")).count();
    let mut model = running(false);
    assert_eq!(asking(&mut model), 1);
    assert!(model.notices.shown[0].text.contains("F9"), "{:?}", model.notices.shown);
    script_at(&mut model, 1600, "<f9>");
    assert_eq!(about(&model), 0, "taken over");
    for state in [ProcessState::Running, exit(0)] {
        let mut model = running(false);
        asking(&mut model);
        let info = info("a", false, state.clone());
        let event =
            if state == ProcessState::Running { ProcessEvent::Changed(info) } else { ProcessEvent::Exited(info) };
        update(&mut model, 1700, Msg::Process(event));
        assert_eq!(about(&model), 0, "{state:?}");
    }
}

#[test]
fn a_key_for_a_command_that_has_just_ended_takes_over_no_other() {
    let mut model = running(false);
    started(&mut model, "b", true);
    script_at(&mut model, 2000, "<f9>");
    assert!(model.tab.processes.pane.taken_over);
    update(&mut model, 3000, Msg::Process(ProcessEvent::Exited(info("a", false, exit(0)))));
    script_at(&mut model, 3900, "<f9>");
    assert!(!model.tab.processes.pane.taken_over);
    script_at(&mut model, 4100, "<f9>");
    assert!(model.tab.processes.pane.taken_over);
}

#[test]
fn a_row_that_ended_does_not_run_again_and_a_phantom_can_be_removed() {
    let mut model = running(false);
    update(&mut model, 1500, Msg::Process(ProcessEvent::Exited(info("a", false, exit(130)))));
    // What was seen before its end and comes after it.
    update(&mut model, 1501, Msg::Process(ProcessEvent::Changed(info("a", false, ProcessState::Running))));
    assert_eq!(model.tab.processes.rows[0].state, exit(130));
    end_turn(&mut model, 1502);
    assert!(model.tab.processes.rows.is_empty());
    update(&mut model, 1503, Msg::Process(ProcessEvent::Changed(info("a", false, exit(130)))));
    assert!(model.tab.processes.rows.is_empty(), "it left the list with its turn");
    // What the list has as running when a turn ends is asked about.
    let mut model = running(false);
    let outcome = TurnOutcome { turn: 1, end: TurnEnd::Completed, steps: 1, duration_ms: 0 };
    let effects = update(&mut model, 2000, Msg::Agent(AgentEvent::TurnFinished(outcome)));
    let a = ProcessId("a".into());
    let asked = Effect::Process(ProcessCommand::Compare(vec![a.clone()]));
    assert!(effects.contains(&asked), "{effects:?}");
    // And a person may take any row off the list: the table says whether it runs.
    script(&mut model, "<C-t>");
    focus::set(&mut model, Pane::Terminal);
    let effects = script(&mut model, "x");
    assert!(effects.contains(&Effect::Process(ProcessCommand::Forget(a.clone()))), "{effects:?}");
    assert_eq!(model.tab.processes.rows.len(), 1);
    update(&mut model, 2001, Msg::Process(ProcessEvent::Gone(a)));
    assert!(model.tab.processes.rows.is_empty() && !model.tab.processes.pane.open);
}

#[test]
fn a_command_that_was_stopped_gives_the_keys_back_and_a_key_continues_it() {
    let mut model = running(false);
    script(&mut model, "<f9>");
    assert!(model.tab.processes.pane.taken_over);
    update(&mut model, 2000, Msg::Process(ProcessEvent::Changed(info("a", true, ProcessState::Stopped))));
    assert!(!model.tab.processes.pane.taken_over && model.tab.focus == Pane::Composer);
    let said = |model: &Model| model.notices.shown.iter().map(|notice| notice.text.clone()).collect::<Vec<_>>();
    assert_eq!(said(&model).last().unwrap(), "run a is stopped: F9 continues it");
    let effects = script(&mut model, "<f9>");
    assert!(effects.contains(&Effect::Process(ProcessCommand::Continue(ProcessId("a".into())))), "{effects:?}");
    assert!(model.tab.processes.pane.taken_over);
}
