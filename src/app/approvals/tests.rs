//! How the modals behave that open by themselves.

use super::choices::{choices, effects, offers};
use super::mode;
use super::*;
use crate::app::input::composer;
use crate::app::model::layout::{Layout, Reading};
use crate::app::model::modal::{ApprovalChoice, ApprovalStage, Judged};
use crate::app::msg::Msg;
use crate::app::tests::{ready, script_at};
use crate::app::update;
use crate::app::window::wake;
use crate::policy::rule::Exact;
use crate::policy::{
    ApprovalId, Decision, Grant, Intent, Mode, Preview, Scope, Target, Verdict, Why, Width, proposals,
};
use crate::protocol::{AgentEvent, QuestionId};

fn approval(id: u64, command: &str, verdict: fn(Vec<Why>) -> Verdict) -> Box<Approval> {
    let why = |effect: &str| Why { effect: effect.into(), text: String::new(), span: 0..1 };
    let verdict = verdict(vec![why("recursive delete"), why("recursive delete"), why("git clean")]);
    let intent = Intent::Command { line: command.into(), cwd: "/src".into(), background: false };
    Box::new(Approval {
        proposals: proposals::offered(&intent, &verdict),
        id: ApprovalId(id),
        call_id: format!("call{id}"),
        tool: "terminal".into(),
        intent,
        verdict,
        targets: vec![],
        payloads: vec![],
        origin: ApprovalOrigin::default(),
        changed: vec![],
        drops: vec![],
        kept: false,
        asked_at: 0,
    })
}

fn ask(model: &mut Model, now: i64, approval: Box<Approval>) -> Vec<Effect> {
    update(model, now, Msg::Agent(AgentEvent::ApprovalRequested(approval)))
}

fn session(width: Width, entries: Vec<String>) -> Decision {
    Decision::Grant(Grant { scope: Scope::Session, width, entries })
}

fn always(width: Width, entries: Vec<String>) -> Decision {
    Decision::Grant(Grant { scope: Scope::Global, width, entries })
}

/// A frame that showed some rows of the modal on top, of ten.
fn drawn(model: &mut Model, first: u16, rows: u16) {
    let Some(Modal::Approval(modal)) = model.tab.modals.last() else { return };
    let edited = matches!(modal.stage, ApprovalStage::ConfirmingEdit(..));
    let (id, must) = (modal.id, vec![2, 9]);
    let reading = Some(Reading { id, edited, first, rows, folded: false, shape: (80, 10), must });
    let now = model.now;
    update(model, now, Msg::Drawn(Box::new(Layout { reading, ..Layout::default() })));
}

/// Presses keys, each after a frame that shows all there is.
fn seen_at(model: &mut Model, now: i64, keys: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    for key in crate::app::tests::keys(keys) {
        drawn(model, 0, 10);
        effects.extend(update(model, now, Msg::Key(key)));
    }
    effects
}

/// A model that was asked at 1000 and has shown it all.
fn asked(command: &str, verdict: fn(Vec<Why>) -> Verdict) -> Model {
    let mut model = ready();
    ask(&mut model, 1000, approval(1, command, verdict));
    drawn(&mut model, 0, 10);
    model
}

fn decisions(effects: &[Effect]) -> Vec<&Decision> {
    let decisions = effects.iter().filter_map(|effect| match effect {
        Effect::Agent(AgentCommand::Decide(_, decision)) => Some(decision),
        _ => None,
    });
    decisions.collect()
}

fn classes() -> Vec<String> {
    vec!["recursive delete".into(), "git clean".into()]
}

#[test]
fn keys_in_the_first_moments_never_answer_and_land_in_the_composer() {
    let mut model = asked("rm -rf build", Verdict::Ask);
    let mut now = 1000;
    for key in ["y", "<ret>", "d", "<ret>", "s", "<ret>", "a", "<ret>"] {
        now += 350;
        assert!(decisions(&script_at(&mut model, now, key)).is_empty(), "{key} at {now}");
    }
    assert_eq!(model.tab.modals.len(), 1);
    assert_eq!(composer::text(&model.tab.composer), "ydsa", "text is not lost, Enter sends nothing");
}

#[test]
fn a_sentence_that_was_being_typed_approves_nothing() {
    let mut model = ready();
    script_at(&mut model, 900, "yes, ");
    ask(&mut model, 1000, approval(1, "rm -rf build", Verdict::Ask));
    for (at, c) in "but put it in ~/Documents".chars().enumerate() {
        let effects = script_at(&mut model, 1010 + at as i64 * 120, &c.to_string());
        assert!(decisions(&effects).is_empty());
    }
    assert_eq!(composer::text(&model.tab.composer), "yes, but put it in ~/Documents");
}

#[test]
fn answers_take_a_second_key() {
    let very = || vec![Exact::of("rm -rf build", "/src".as_ref(), "").entry()];
    for (keys, decision) in [
        ("y<ret>", Decision::Once),
        ("s<ret>", session(Width::Command, very())),
        ("s<tab><ret>", session(Width::Effects, classes())),
        ("a<ret>", always(Width::Command, very())),
        ("a<tab><ret>", always(Width::Effects, classes())),
        ("d<ret>", Decision::Deny { feedback: String::new() }),
        ("<ret><ret>", Decision::Deny { feedback: String::new() }),
        ("dkeep it<ret>", Decision::Deny { feedback: "keep it".into() }),
        ("<right><ret><ret>", Decision::Once),
        ("ys<ret>", session(Width::Command, very())),
        ("y<esc><ret><ret>", Decision::Once),
    ] {
        let mut model = asked("rm -rf build", Verdict::Ask);
        let effects = script_at(&mut model, 2000, keys);
        assert_eq!(decisions(&effects), [&decision], "{keys}");
        assert!(model.tab.modals.is_empty() && model.tab.approvals.entries.is_empty(), "{keys}");
    }
}

#[test]
fn one_key_never_answers() {
    for key in ["y", "s", "a", "e", "d", "<ret>", "<esc>", "1", "o", "<space>", "<tab>", "<C-j>"] {
        let mut model = asked("rm -rf build", Verdict::Ask);
        assert!(decisions(&script_at(&mut model, 2000, key)).is_empty(), "{key}");
    }
}

#[test]
fn what_is_always_asked_offers_nothing_that_lasts() {
    let mut model = asked("$X", Verdict::AskAlways);
    let offered = choices(&approval(1, "$X", Verdict::AskAlways));
    assert_eq!(offered, [ApprovalChoice::Deny, ApprovalChoice::Edit, ApprovalChoice::Once]);
    assert!(decisions(&script_at(&mut model, 2000, "s<esc>")).is_empty());
    script_at(&mut model, 3000, "<f4>");
    assert!(decisions(&script_at(&mut model, 3000, "a<esc>")).is_empty());
}

#[test]
fn a_line_with_wildcards_is_no_rule() {
    let approval = approval(1, "rm -rf *.o", Verdict::Ask);
    let grants: Vec<&Grant> = offers(&approval, ApprovalChoice::Always).iter().map(|offer| &offer.grant).collect();
    assert_eq!(grants, [&Grant { scope: Scope::Global, width: Width::Effects, entries: classes() }]);
}

/// A call of a server's tool; `effect` is what the verdict asks about.
fn remote(server: &str, effect: &str) -> Box<Approval> {
    let tool = "mcp__git__log".to_owned();
    let mut approval = approval(1, "", Verdict::Ask);
    approval.intent = Intent::Remote { server: server.into(), tool, args: "{}".into(), claims: vec![] };
    approval.verdict = Verdict::Ask(vec![Why { effect: effect.into(), text: String::new(), span: 0..0 }]);
    approval.proposals = proposals::offered(&approval.intent, &approval.verdict);
    approval
}

#[test]
fn a_tool_of_a_server_is_allowed_alone_or_with_its_whole_server() {
    let (tool, server) = (vec!["mcp__git__log".to_owned()], vec!["mcp__git__*".to_owned()]);
    for (keys, decision) in [
        ("s<ret>", session(Width::Effects, tool.clone())),
        ("s<tab><ret>", session(Width::Server, server.clone())),
        // Past what is offered is the answer that asks no more.
        ("s<tab><tab><tab><ret>", session(Width::Effects, tool.clone())),
        ("a<ret>", always(Width::Effects, tool.clone())),
        ("a<down><ret>", always(Width::Server, server.clone())),
        // What was chosen for one answer is not taken over by another.
        ("s<tab><esc>a<ret>", always(Width::Effects, tool.clone())),
        ("s<tab><esc>y<ret>", Decision::Once),
    ] {
        let mut model = ready();
        ask(&mut model, 1000, remote("git", "mcp__git__log"));
        drawn(&mut model, 0, 10);
        assert_eq!(decisions(&script_at(&mut model, 2000, keys)), [&decision], "{keys}");
    }
    // A name that does not tell its server, and a question about something else, offer this tool or class alone.
    for approval in [remote("other", "mcp__git__log"), remote("git", "asked by a hook")] {
        for choice in [ApprovalChoice::Session, ApprovalChoice::Always] {
            let offered = offers(&approval, choice);
            assert_eq!(offered.iter().map(|offer| offer.grant.width).collect::<Vec<_>>(), [Width::Effects]);
            assert_eq!(offered[0].grant.entries, effects(&approval));
        }
    }
}

#[test]
fn escape_keeps_the_question_and_the_inbox_brings_it_back() {
    let mut model = asked("rm -rf build", Verdict::Ask);
    script_at(&mut model, 2000, "<esc>");
    assert!(model.tab.modals.is_empty());
    assert_eq!(model.tab.approvals.entries.len(), 1);
    update(&mut model, 3_600_000, Msg::Woke);
    assert!(model.tab.modals.is_empty(), "an hour later it still waits, and still does not push itself in");
    assert_eq!(wake::next_wake(&model), None);
    let effects = script_at(&mut model, 3_600_001, "<f4>");
    let effects = [effects, seen_at(&mut model, 3_600_001, "y<ret>")].concat();
    assert_eq!(decisions(&effects), [&Decision::Once], "what was asked for is not inert");
}

#[test]
fn the_next_one_opens_inert() {
    let mut model = asked("rm -rf build", Verdict::Ask);
    ask(&mut model, 1500, approval(2, "git clean -fdx", Verdict::Ask));
    assert_eq!(model.tab.modals.len(), 1, "one at a time");
    let effects = script_at(&mut model, 2000, "y<ret>y<ret>");
    assert_eq!(decisions(&effects).len(), 1, "a fast hand answers only what it saw");
    assert!(matches!(model.tab.modals.last(), Some(Modal::Approval(modal)) if modal.id == ApprovalId(2)));
}

#[test]
fn nothing_is_covered_by_a_question() {
    let mut model = ready();
    script_at(&mut model, 900, "<C-p>qui");
    ask(&mut model, 1000, approval(1, "rm -rf build", Verdict::Ask));
    assert!(matches!(model.tab.modals.last(), Some(Modal::Picker(_))), "the palette stays on top");
    script_at(&mut model, 1100, "<esc>");
    assert!(matches!(model.tab.modals.last(), Some(Modal::Approval(_))), "then the question comes");
}

#[test]
fn a_question_notifies_when_nobody_looks() {
    let mut model = ready();
    update(&mut model, 0, Msg::FocusChanged(false));
    let effects = ask(&mut model, 1000, approval(1, "rm", Verdict::Ask));
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Notify(_))), "{effects:?}");
    assert!(effects.contains(&Effect::Title("? app — Hermes".into())));
}

#[test]
fn a_void_question_goes() {
    let mut model = asked("rm -rf build", Verdict::Ask);
    update(&mut model, 1100, Msg::Agent(AgentEvent::ApprovalClosed(ApprovalId(1))));
    assert!(model.tab.modals.is_empty() && model.tab.approvals.entries.is_empty());
}

#[test]
fn a_paste_never_answers() {
    let mut model = asked("rm -rf build", Verdict::Ask);
    assert!(decisions(&update(&mut model, 2000, Msg::Pasted("y\n".into()))).is_empty());
    assert_eq!(composer::text(&model.tab.composer), "y\n");
    script_at(&mut model, 2000, "d");
    update(&mut model, 2000, Msg::Pasted("because\nof this".into()));
    let effects = script_at(&mut model, 2000, "<ret>");
    assert_eq!(decisions(&effects), [&Decision::Deny { feedback: "because of this".into() }]);
}

#[test]
fn yolo_takes_a_yes_and_asking_comes_back_without() {
    let mut model = ready();
    let modes = |effects: &[Effect]| -> Vec<Mode> {
        let modes = effects.iter().filter_map(|effect| match effect {
            Effect::Agent(AgentCommand::SetMode(mode)) => Some(*mode),
            _ => None,
        });
        modes.collect()
    };
    assert!(modes(&script_at(&mut model, 0, "/yolo<ret><ret>")).is_empty(), "no is the default");
    assert_eq!(modes(&script_at(&mut model, 0, "/yolo<ret>y<ret>")), [Mode::Yolo]);
    assert_eq!(modes(&script_at(&mut model, 0, "<S-tab>")), [Mode::Ask]);
}

#[test]
fn shift_tab_goes_round_and_plan_mode_leads_back() {
    let mut model = ready();
    let mut at = |keys: &str| {
        script_at(&mut model, 0, keys);
        mode::now(&model)
    };
    for want in [Mode::Review, Mode::Plan, Mode::Ask, Mode::Review] {
        assert_eq!(at("<S-tab>"), want);
    }
    // Chosen by a command, it leads back to where it came from.
    assert_eq!(at("/mode auto<ret>"), Mode::Auto);
    assert_eq!(at("/mode plan<ret>"), Mode::Plan);
    assert_eq!(at("/mode plan<ret>"), Mode::Plan);
    assert_eq!(at("<S-tab>"), Mode::Auto);
    assert_eq!(at("<S-tab>"), Mode::Ask);
    // The older words, a word that is none, and yolo, which takes a yes.
    assert_eq!(at("/mode smart<ret>"), Mode::Auto);
    assert_eq!(at("/mode fast<ret>"), Mode::Auto);
    assert_eq!(at("/mode yolo<ret><ret>"), Mode::Auto);
    assert_eq!(at("/mode yolo<ret>y<ret>"), Mode::Yolo);
    // The list begins at the mode of now.
    assert_eq!(at("/mode<ret><up><up><ret>"), Mode::Ask);
}

fn clarify(choices: &[&str], allow_freetext: bool) -> Model {
    let mut model = ready();
    let question = Question {
        id: QuestionId(7),
        call_id: "c".into(),
        text: "Which?".into(),
        choices: choices.iter().map(|choice| (*choice).to_owned()).collect(),
        allow_freetext,
        own_answer: String::new(),
    };
    update(&mut model, 1000, Msg::Agent(AgentEvent::Asked(question)));
    model
}

#[test]
fn questions_are_answered_by_digit_arrow_or_words() {
    for (choices, free, keys, answer) in [
        (vec!["red", "blue"], true, "2", Some("blue")),
        (vec!["red", "blue"], false, "<down><ret>", Some("blue")),
        (vec!["red", "blue"], true, "<up>x<ret>", Some("x")),
        (vec!["red", "blue"], true, "3green<ret>", Some("green")),
        (vec!["red", "blue"], true, "green<ret>", Some("green")),
        (vec!["red", "blue"], false, "green", None),
        (vec![], false, "words<ret>", Some("words")),
        (vec![], true, "<ret>", None),
        (vec!["red"], true, "<esc>", None),
    ] {
        let mut model = clarify(&choices, free);
        let effects = script_at(&mut model, 2000, keys);
        let answers: Vec<&str> = effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::Agent(AgentCommand::Answer(QuestionId(7), text)) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(answers, answer.into_iter().collect::<Vec<_>>(), "{keys}");
    }
}

#[test]
fn a_question_is_inert_too() {
    let mut model = clarify(&["red", "blue"], true);
    let effects = script_at(&mut model, 1100, "1<ret>");
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Agent(_))), "{effects:?}");
    assert_eq!(composer::text(&model.tab.composer), "1");
}

#[test]
fn what_is_too_small_to_be_seen_takes_no_answer() {
    let mut model = asked("rm -rf build", Verdict::Ask);
    update(&mut model, 1500, Msg::Resized(39, 12));
    assert!(decisions(&script_at(&mut model, 3000, "y<ret>d<ret>")).is_empty());
    update(&mut model, 9000, Msg::Resized(80, 24));
    assert!(decisions(&script_at(&mut model, 9300, "d<ret>")).is_empty(), "it has just come back");
    assert_eq!(decisions(&script_at(&mut model, 9800, "d<ret>")).len(), 1);
}

#[test]
fn an_edited_command_is_shown_before_it_is_allowed() {
    let mut model = asked("rm -rf build", Verdict::Ask);
    let effects = script_at(&mut model, 2000, "e<C-u>rm x<ret><ret>");
    assert!(decisions(&effects).is_empty(), "nothing is known of the edited line yet");
    assert_eq!(previews(&effects), ["rm x"], "the gate is asked once");
    assert!(decisions(&seen_at(&mut model, 3100, "<ret>")).is_empty(), "it is still looked at");
    preview(&mut model, 3200, "rm x", Verdict::Ask(vec![]));
    assert!(decisions(&seen_at(&mut model, 3300, "<ret>")).is_empty(), "it has just come");
    assert!(decisions(&script_at(&mut model, 3700, "yyz<left>")).is_empty(), "no other key says yes, or is typed");
    assert_eq!(previews(&seen_at(&mut model, 3710, "<esc>yz<ret>")), ["rm xyz"], "the field goes on where it was left");
    assert_eq!(composer::text(&model.tab.composer), "", "nothing of it went astray");
    preview(&mut model, 3800, "rm x", Verdict::Ask(vec![]));
    assert!(decisions(&seen_at(&mut model, 4300, "<ret>")).is_empty(), "that was the line before");
    preview(&mut model, 4400, "rm xyz", Verdict::Ask(vec![]));
    assert_eq!(decisions(&seen_at(&mut model, 4900, "<ret>")), [&Decision::Edited("rm xyz".into())]);
}

/// Keys that were on their way to the field, or are meant as an answer, before and after the judgement.
#[test]
fn no_key_after_an_edit_is_typed_into_it_or_says_yes() {
    for (waiting, held, quiet) in [("y", "", ""), ("", "y", ""), ("", "", "y"), ("y<ret>", "y<ret>", "yY -z<C-u>")] {
        let mut model = asked("rm -rf build", Verdict::Ask);
        let mut effects = script_at(&mut model, 2000, "e<C-u>rm x<ret>");
        effects.extend(seen_at(&mut model, 2010, waiting));
        preview(&mut model, 2100, "rm x", Verdict::Ask(vec![]));
        effects.extend(seen_at(&mut model, 2200, held));
        // Each of them moves the quiet on.
        effects.extend(seen_at(&mut model, 2550, held));
        effects.extend(seen_at(&mut model, 3000, quiet));
        assert!(decisions(&effects).is_empty(), "{effects:?}");
        let Some(Modal::Approval(modal)) = model.tab.modals.last() else { panic!("it is open") };
        assert!(
            matches!(&modal.stage, ApprovalStage::ConfirmingEdit(line, Judged::As(_)) if line == "rm x"),
            "{modal:?}"
        );
        assert_eq!(composer::text(&model.tab.composer), "", "and none is text for the prompt");
        assert_eq!(decisions(&seen_at(&mut model, 3100, "<ret>")), [&Decision::Edited("rm x".into())]);
    }
}

fn previews(effects: &[Effect]) -> Vec<&str> {
    let lines = effects.iter().filter_map(|effect| match effect {
        Effect::Agent(AgentCommand::Preview(_, line)) => Some(line.as_str()),
        _ => None,
    });
    lines.collect()
}

fn preview(model: &mut Model, now: i64, line: &str, verdict: Verdict) {
    let preview = Preview { line: line.into(), verdict, targets: vec![], payloads: vec![] };
    let event = AgentEvent::Previewed { id: ApprovalId(1), line: line.into(), preview: Some(Box::new(preview)) };
    update(model, now, Msg::Agent(event));
}

#[test]
fn what_comes_late_stands_in_the_question_and_is_seen_before_a_yes() {
    let target =
        |note: &str| Target { name: "git clean".into(), files: None, bytes: None, at_least: false, note: note.into() };
    let late = |model: &mut Model, id| {
        let event =
            AgentEvent::ApprovalFound { id: ApprovalId(id), targets: vec![target("3 files")], payloads: vec![] };
        update(model, 2000, Msg::Agent(event));
    };
    let mut model = asked("git clean -fd", Verdict::Ask);
    drawn(&mut model, 0, 10);
    // Of a question that is gone.
    late(&mut model, 9);
    let Some(Entry::Approval(approval)) = model.tab.approvals.entries.first() else { panic!("it asks") };
    assert!(approval.targets.is_empty());
    late(&mut model, 1);
    let Some(Entry::Approval(approval)) = model.tab.approvals.entries.first() else { panic!("it asks") };
    assert_eq!(approval.targets, [target("3 files")]);
    assert!(decisions(&script_at(&mut model, 2000, "y<ret>")).is_empty(), "nobody has seen it yet");
    assert_eq!(decisions(&seen_at(&mut model, 2000, "y<ret>")), [&Decision::Once]);
    // An answer that was begun goes on.
    let mut model = asked("git clean -fd", Verdict::Ask);
    seen_at(&mut model, 2000, "y");
    late(&mut model, 1);
    assert_eq!(decisions(&script_at(&mut model, 2000, "<ret>")), [&Decision::Once]);
}

#[test]
fn every_key_after_e_belongs_to_the_field_also_those_of_the_same_read() {
    for (keys, line) in [
        ("e && echo yes", "rm -rf build && echo yes"),
        ("e<C-u>ls -la", "ls -la"),
        ("<down><ret> -v", "rm -rf build -v"),
        ("ey<esc>ed", "rm -rf buildd"),
        ("e<home>sudo <end>/y", "sudo rm -rf build/y"),
    ] {
        let mut model = asked("rm -rf build", Verdict::Ask);
        let effects = script_at(&mut model, 2000, keys);
        assert!(decisions(&effects).is_empty(), "{keys}");
        let Some(Modal::Approval(modal)) = model.tab.modals.last() else { panic!("it is open") };
        assert_eq!(modal.stage, ApprovalStage::Editing(line.into()), "{keys}");
        assert_eq!(composer::text(&model.tab.composer), "", "{keys}");
    }
    // Before the quiet moment the letter is none of the modal's, and so is nothing that follows.
    let mut model = asked("rm -rf build", Verdict::Ask);
    script_at(&mut model, 1100, "every");
    assert_eq!(composer::text(&model.tab.composer), "every");
}

#[test]
fn the_agent_hears_when_a_person_writes_and_when_they_end() {
    let told = |effects: &[Effect]| -> Vec<(u64, bool)> {
        let told = effects.iter().filter_map(|effect| match effect {
            Effect::Agent(AgentCommand::Writing(id, writing)) => Some((id.0, *writing)),
            _ => None,
        });
        told.collect()
    };
    for (keys, want) in [
        ("y", vec![]),
        ("d", vec![(1, true)]),
        ("dno<ret>", vec![(1, true), (1, false)]),
        ("d<esc>", vec![(1, true), (1, false)]),
        ("e<ret>", vec![(1, true)]),
        ("e<esc><esc>", vec![(1, true), (1, false)]),
    ] {
        let mut model = asked("rm -rf build", Verdict::Ask);
        assert_eq!(told(&script_at(&mut model, 2000, keys)), want, "{keys}");
    }
}

#[test]
fn one_goes_through_the_inbox_without_answering() {
    let on_top = |model: &Model| match model.tab.modals.last() {
        Some(Modal::Approval(modal)) => modal.id.0,
        _ => 0,
    };
    let mut model = asked("rm -rf a", Verdict::Ask);
    for (id, line) in [(2, "rm -rf b"), (3, "rm -rf c\nrm -rf d")] {
        ask(&mut model, 1100, approval(id, line, Verdict::Ask));
    }
    let mut seen = Vec::new();
    for _ in 0..4 {
        let effects = script_at(&mut model, 2000, "<f4>");
        assert!(decisions(&effects).is_empty() && effects.contains(&Effect::Agent(AgentCommand::LookAgain)));
        seen.push(on_top(&model));
    }
    assert_eq!((seen, model.tab.modals.len()), (vec![2, 3, 1, 2], 1));
    // What has not been drawn yet cannot be allowed.
    assert!(decisions(&script_at(&mut model, 2000, "<f4>y<ret>")).is_empty());
    // What is being written stays.
    script_at(&mut model, 2000, "dbecause<f4>");
    assert_eq!(on_top(&model), 3);
    // Esc keeps each of them; the inbox lists them, the oldest first, each in one row.
    script_at(&mut model, 2000, "<esc><esc>");
    for now in [3000, 4000] {
        script_at(&mut model, now, "<esc>");
    }
    assert!(model.tab.modals.is_empty() && model.tab.approvals.entries.len() == 3);
    script_at(&mut model, 5000, "<f4>");
    let rows = |model: &Model| -> Vec<String> {
        let Some(Modal::Picker(picker)) = model.tab.modals.last() else { panic!("{:?}", model.tab.modals) };
        picker.items.iter().map(|item| item.label.clone()).collect()
    };
    assert_eq!(rows(&model), ["rm -rf a", "rm -rf b", "rm -rf c rm -rf d"]);
    // One that is answered elsewhere goes from the list, and the row that is chosen is the one that opens.
    update(&mut model, 5100, Msg::Agent(AgentEvent::ApprovalClosed(ApprovalId(1))));
    assert_eq!(rows(&model), ["rm -rf b", "rm -rf c rm -rf d"]);
    script_at(&mut model, 5200, "<down><ret>");
    assert_eq!(on_top(&model), 3);
}

#[test]
fn an_edited_line_that_no_answer_lets_run_is_not_sent() {
    let mut model = asked("rm -rf build", Verdict::Ask);
    script_at(&mut model, 2000, "e");
    script_at(&mut model, 3000, "<C-u>rm -rf /<ret>");
    preview(&mut model, 3100, "rm -rf /", Verdict::Refuse(vec![]));
    assert!(decisions(&seen_at(&mut model, 4000, "<ret><ret>")).is_empty());
    // Nobody could tell: the gate judges it again in any case.
    script_at(&mut model, 4000, "<esc><ret>");
    update(
        &mut model,
        4100,
        Msg::Agent(AgentEvent::Previewed { id: ApprovalId(1), line: "rm -rf /".into(), preview: None }),
    );
    assert_eq!(decisions(&seen_at(&mut model, 5000, "<ret>")), [&Decision::Edited("rm -rf /".into())]);
}

#[test]
fn yolo_is_the_widest_answer_for_a_session_and_takes_a_third_key() {
    let modes = |effects: &[Effect]| {
        effects.iter().filter(|effect| matches!(effect, Effect::Agent(AgentCommand::SetMode(Mode::Yolo)))).count()
    };
    let mut model = asked("rm -rf build", Verdict::Ask);
    let effects = script_at(&mut model, 2000, "s<tab><tab><ret>");
    assert!(decisions(&effects).is_empty() && modes(&effects) == 0, "{effects:?}");
    let effects = script_at(&mut model, 2100, "<esc><ret><ret>");
    assert_eq!((decisions(&effects), modes(&effects)), (vec![&Decision::Once], 1), "and answers the one that waits");
    // What is asked in every mode offers it not.
    let mut model = asked("$X", Verdict::AskAlways);
    let effects = script_at(&mut model, 2000, "s<tab><ret><ret>");
    assert!(modes(&effects) == 0, "{effects:?}");
}

#[test]
fn questions_of_work_in_the_background_outlive_the_session_that_is_left() {
    let mut model = ready();
    let id = model.tab.session.as_ref().unwrap().id.0.clone();
    for (number, by) in
        [(1, Speaker::Main), (2, Speaker::Background("nightly".into())), (3, Speaker::Agent("scout".into()))]
    {
        let mut approval = approval(number, "rm -rf build", Verdict::Ask);
        approval.origin = ApprovalOrigin { session: id.clone(), title: "tidy up".into(), by, saying: "clean".into() };
        ask(&mut model, 1000, approval);
    }
    assert_eq!(elsewhere(&model, &ApprovalOrigin { session: id, ..ApprovalOrigin::default() }), None);
    let mut other = model.tab.session.clone().unwrap();
    other.id = crate::protocol::SessionId("another".into());
    update(&mut model, 1100, Msg::Agent(AgentEvent::SessionOpened { session: other, items: vec![] }));
    let left: Vec<String> = model.tab.approvals.entries.iter().map(|entry| item(&model, entry).detail).collect();
    assert_eq!(left, ["session “tidy up” · the background task nightly: “clean”"]);
    assert!(
        matches!(model.tab.modals.last(), Some(Modal::Approval(modal)) if modal.id == ApprovalId(2)),
        "it is there to answer"
    );
    drawn(&mut model, 0, 10);
    assert_eq!(decisions(&script_at(&mut model, 2000, "y<ret>")), [&Decision::Once]);
}

#[test]
fn the_shell_is_reached_from_a_question_and_answers_nothing() {
    for now in [1100, 2000] {
        let mut model = asked("rm -rf build", Verdict::Ask);
        let effects = script_at(&mut model, now, "<C-z>");
        assert!(effects.contains(&Effect::Suspend) && decisions(&effects).is_empty(), "{effects:?}");
        assert_eq!(model.tab.modals.len(), 1);
    }
}

#[test]
fn the_end_of_a_command_is_seen_before_it_is_allowed() {
    for answer in ["y<ret>", "s<ret>", "a<ret>", "<right><ret><ret>"] {
        let mut model = ready();
        ask(&mut model, 1000, approval(1, "rm -rf build", Verdict::Ask));
        drawn(&mut model, 0, 4);
        assert!(decisions(&script_at(&mut model, 2000, answer)).is_empty(), "{answer}");
        assert!(matches!(model.tab.modals.last(), Some(Modal::Approval(modal)) if modal.read.refused));
        script_at(&mut model, 2000, "<pgdn>");
        drawn(&mut model, 3, 4);
        assert!(decisions(&script_at(&mut model, 2000, answer)).is_empty(), "{answer}");
        script_at(&mut model, 2000, "<end>");
        drawn(&mut model, 6, 4);
        assert_eq!(decisions(&script_at(&mut model, 2000, answer)).len(), 1, "{answer}");
    }
}

#[test]
fn nothing_is_allowed_before_every_reason_was_on_the_screen() {
    // Rows 2 and 9 must be seen; a jump to the end leaves out the first.
    let mut model = ready();
    ask(&mut model, 1000, approval(1, "rm -rf build", Verdict::Ask));
    drawn(&mut model, 4, 4);
    script_at(&mut model, 2000, "<end>");
    drawn(&mut model, 6, 4);
    assert!(decisions(&script_at(&mut model, 2000, "y<ret>")).is_empty());
    // On a screen of another width other rows count.
    let reading = |must, shape, first, rows| Reading {
        id: ApprovalId(1),
        edited: false,
        first,
        rows,
        folded: false,
        shape,
        must,
    };
    let frame = |model: &mut Model, reading| {
        let layout = Layout { reading: Some(reading), ..Layout::default() };
        update(model, 2000, Msg::Drawn(Box::new(layout)));
    };
    frame(&mut model, reading(vec![3, 7], (40, 20), 0, 4));
    assert!(decisions(&script_at(&mut model, 2000, "y<ret>")).is_empty(), "7 was seen at another width only");
    frame(&mut model, reading(vec![3, 7], (40, 20), 4, 4));
    assert_eq!(decisions(&script_at(&mut model, 2000, "y<ret>")), [&Decision::Once]);
}

#[test]
fn a_letter_that_means_nothing_says_what_does() {
    let mut model = asked("rm -rf build", Verdict::AskAlways);
    let stray = |model: &Model| match model.tab.modals.last() {
        Some(Modal::Approval(modal)) => modal.stray,
        _ => false,
    };
    for (keys, says) in [("x", true), ("<down>", false), ("s", true), ("<A-x>", false), ("q", true), ("d", false)] {
        script_at(&mut model, 2000, keys);
        assert_eq!(stray(&model), says, "{keys}");
    }
}

#[test]
fn a_double_esc_at_a_question_does_not_stop_the_turn() {
    let stops = |effects: &[Effect]| effects.iter().any(|e| matches!(e, Effect::Agent(AgentCommand::Stop { .. })));
    for (later, stopped) in [(0, false), (300, false), (700, true)] {
        let mut model = ready();
        update(&mut model, 0, Msg::Agent(AgentEvent::TurnStarted { turn: 1, at: 0 }));
        ask(&mut model, 1000, approval(1, "rm -rf build", Verdict::Ask));
        drawn(&mut model, 0, 10);
        assert!(!stops(&script_at(&mut model, 2000, "<esc>")), "the first puts it aside");
        assert!(model.tab.modals.is_empty());
        assert_eq!(stops(&script_at(&mut model, 2000 + later, "<esc>")), stopped, "{later} ms later");
    }
}

#[test]
fn a_mode_says_what_it_means_and_who_answers() {
    let mut model = ready();
    let mut said = |mode, auto_approver: Option<&str>| {
        if let Some(session) = &mut model.tab.session {
            session.auto_approver = auto_approver.map(str::to_owned);
        }
        mode::set(&mut model, &mut Vec::new(), mode);
        model.notices.shown.last().map(|notice| notice.text.clone()).unwrap_or_default()
    };
    assert!(said(Mode::Ask, None).contains("need approval"));
    assert!(said(Mode::Auto, Some("small-model")).contains("small-model approves low-risk commands"));
    assert!(said(Mode::Auto, None).contains("no model is available"));
    let yolo = said(Mode::Yolo, None);
    assert!(yolo.contains("that always ask") && !yolo.contains("nothing"), "{yolo}");
}

#[test]
fn a_step_back_from_the_narrowest_answer_is_not_yolo() {
    for back in ["<up>", "<s-tab>", "<left>"] {
        let mut model = asked("rm -rf build", Verdict::Ask);
        seen_at(&mut model, 2000, &format!("s{back}"));
        let Some(Modal::Approval(modal)) = model.tab.modals.last() else { panic!("it is open") };
        assert_eq!((modal.stage.clone(), modal.offer), (ApprovalStage::Confirming, 0), "{back}");
    }
}
