//! Several sessions on one screen: each fact reaches its own, and nothing of one is found in another.

use super::*;
use crate::app::model::Pane;
use crate::app::model::transcript::CellKind;
use crate::app::msg::Msg;
use crate::app::tests::{item, key, opened, process, ready, script, session, user};
use crate::app::update;
use crate::exec::ProcessState;
use crate::exec::{ProcessEvent, ProcessId};
use crate::protocol::{AgentCommand, AgentEvent, Body, Question, QuestionId, Todo, TodoStatus, TurnEnd, TurnOutcome};
use proptest::prelude::*;

/// A model whose first tab has the session `s`.
fn first() -> Model {
    let mut model = ready();
    let id = model.tab.id;
    update(&mut model, 0, Msg::Bound(id, "s".into()));
    opened(&mut model, "s", &["of the first"]);
    model
}

/// The tab in view gets this session, and it opens.
fn opens(model: &mut Model, id: &str) -> Vec<Effect> {
    let tab = model.tab.id;
    update(model, 0, Msg::Bound(tab, id.into()));
    tell(model, id, AgentEvent::SessionOpened { session: session(id, "acme:large"), items: vec![] })
}

fn tell(model: &mut Model, id: &str, event: AgentEvent) -> Vec<Effect> {
    let now = model.now;
    update(model, now, Msg::Of(id.into(), Box::new(Msg::Agent(event))))
}

fn sessions(ids: &[&str]) -> Vec<KeptTab> {
    ids.iter().map(|id| KeptTab::Session((*id).into())).collect()
}

#[test]
fn what_was_typed_in_a_tab_without_a_prompt_comes_back_with_it() {
    let mut model = first();
    script(&mut model, "<C-x>N");
    opens(&mut model, "t");
    script(&mut model, "half a thought");
    let effects = script(&mut model, "<C-x>N");
    let draft = KeptTab::Draft {
        cwd: model.parked[1].session.as_ref().map(|s| s.cwd.clone()).unwrap_or_default(),
        text: "half a thought".into(),
    };
    let kept = [sessions(&["s"]), vec![draft]].concat();
    assert!(effects.contains(&Effect::SaveTabs(kept.clone())), "{effects:?}");
    // The next window, in which the first of them is open already.
    let mut model = ready();
    update(&mut model, 0, Msg::LostTabs(kept));
    let effects = script(&mut model, "<C-x>B");
    assert_eq!(effects.iter().filter(|effect| matches!(effect, Effect::Open { .. })).count(), 1);
    assert_eq!(composer::whole(&model.parked[0].composer), "half a thought");
}

fn question(number: u64) -> AgentEvent {
    AgentEvent::Asked(Question {
        id: QuestionId(number),
        call_id: "c".into(),
        text: "which?".into(),
        choices: vec!["a".into()],
        allow_freetext: true,
        own_answer: String::new(),
    })
}

fn finished(end: TurnEnd) -> AgentEvent {
    AgentEvent::TurnFinished(TurnOutcome { turn: 1, end, steps: 1, duration_ms: 1 })
}

fn states(model: &Model) -> Vec<TabState> {
    model.tabs().map(Tab::state).collect()
}

fn shown(model: &Model) -> Option<&str> {
    model.tab.of.as_ref().map(|id| id.0.as_str())
}

#[test]
fn a_new_session_opens_beside_the_one_that_works() {
    let mut model = first();
    script(&mut model, "go<ret>a draft");
    let effects = script(&mut model, "<C-x>N");
    let open = Effect::Open {
        tab: TabId(2),
        opens: Opens::New,
        cwd: "/src/app".into(),
        model: Some("acme:large".into()),
        parent: Some("s".into()),
    };
    assert!(effects.contains(&open), "{effects:?}");
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Of(_, AgentCommand::Stop { .. }))), "it goes on");
    opens(&mut model, "t");
    assert_eq!(states(&model), [TabState::Working, TabState::Idle]);
    assert_eq!(composer::text(&model.tab.composer), "");
    // Keys lead back, and everything is as it was.
    script(&mut model, "<A-1>");
    assert_eq!((shown(&model), composer::text(&model.tab.composer).as_str()), (Some("s"), "a draft"));
    for (keys, to) in [("<C-pgdn>", "t"), ("<C-pgdn>", "s"), ("<C-pgup>", "t"), ("<C-x>n", "s"), ("<A-2>", "t")] {
        script(&mut model, keys);
        assert_eq!(shown(&model), Some(to), "{keys}");
    }
    script(&mut model, "<A-9>");
    assert_eq!(shown(&model), Some("t"), "there is none");
}

#[test]
fn orders_go_to_the_session_they_were_given_in() {
    let mut model = first();
    script(&mut model, "<C-x>N");
    opens(&mut model, "t");
    // A queued prompt of the first tab is sent when its turn ends, though the other is in view.
    script(&mut model, "<A-1>go<ret>and then<ret><A-2>");
    let effects = tell(&mut model, "s", finished(TurnEnd::Completed));
    let sent = Effect::Of("s".into(), AgentCommand::Submit { text: "and then".into(), images: vec![] });
    assert!(effects.contains(&sent), "{effects:?}");
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Agent(_) | Effect::Title(_))), "{effects:?}");
    // What is typed here is for this one.
    assert!(
        script(&mut model, "mine<ret>")
            .contains(&Effect::Agent(AgentCommand::Submit { text: "mine".into(), images: vec![] }))
    );
}

#[test]
fn what_happens_behind_shows_as_a_sign_and_one_key_goes_there() {
    let mut model = first();
    script(&mut model, "<C-x>N");
    opens(&mut model, "t");
    tell(&mut model, "s", AgentEvent::TurnStarted { turn: 1, at: 0 });
    tell(&mut model, "s", question(1));
    assert_eq!(states(&model), [TabState::NeedsAnswer, TabState::Idle]);
    assert!(model.tab.modals.is_empty(), "it opens over no other session");
    script(&mut model, "<f4>");
    assert_eq!(shown(&model), Some("s"));
    assert!(matches!(model.tab.modals.last(), Some(Modal::Question(_))), "{:?}", model.tab.modals);
    // It opened by itself: keys count once it was quiet.
    update(&mut model, 5000, Msg::Woke);
    // A question holds up no other session: it stays where it is.
    script(&mut model, "<A-2>");
    assert_eq!((shown(&model), model.tab.modals.len()), (Some("t"), 0));
    script(&mut model, "<A-1>");
    assert!(matches!(model.tab.modals.last(), Some(Modal::Question(_))), "{:?}", model.tab.modals);
    update(&mut model, 9000, Msg::Woke);
    script(&mut model, "<esc><A-2>");
    assert_eq!(shown(&model), Some("t"));
    tell(&mut model, "s", AgentEvent::QuestionClosed(QuestionId(1)));
    tell(&mut model, "s", finished(TurnEnd::Provider("no key".into())));
    assert_eq!(states(&model), [TabState::Failed, TabState::Idle]);
    script(&mut model, "<A-1>");
    assert_eq!(states(&model), [TabState::Idle, TabState::Idle], "it was looked at");
}

#[test]
fn a_process_belongs_to_the_tab_of_its_session() {
    let mut model = first();
    script(&mut model, "<C-x>N");
    opens(&mut model, "t");
    let started = |task: &str, id: &str| {
        let info = crate::exec::ProcessInfo { task: task.into(), ..process(id, true) };
        Msg::Process(ProcessEvent::Started(info))
    };
    update(&mut model, 0, started("s", "server"));
    update(&mut model, 0, started("t:checks", "lint"));
    update(&mut model, 0, started("of an earlier run", "old"));
    let rows = |tab: &Tab| tab.processes.rows.iter().map(|row| row.id.0.clone()).collect::<Vec<_>>();
    assert_eq!(rows(&model.tab), ["lint", "old"]);
    assert_eq!(rows(&model.parked[0]), ["server"]);
    // Quitting asks about all of them.
    script(&mut model, "<C-d>");
    let Some(Modal::Quit(modal)) = model.tab.modals.last() else { panic!("{:?}", model.tab.modals) };
    assert_eq!(modal.rows.len(), 3);
    script(&mut model, "<esc>");
    // A tab with something running is closed after a yes, and ends it.
    script(&mut model, "<A-1><C-x>K");
    assert!(matches!(model.tab.modals.last(), Some(Modal::Confirm(confirm)) if confirm.text.contains("server")));
    let effects = script(&mut model, "y<ret>");
    assert!(effects.contains(&Effect::Process(ProcessCommand::Kill(ProcessId("server".into())))), "{effects:?}");
    assert!(effects.contains(&Effect::Close { session: "s".into(), cleared: false }), "{effects:?}");
    assert_eq!((shown(&model), model.parked.len()), (Some("t"), 0));
    // What is told of it later is shown where the person is.
    let ended = crate::exec::ProcessInfo { task: "s".into(), state: ProcessState::Running, ..process("server", true) };
    update(&mut model, 0, Msg::Process(ProcessEvent::Changed(ended)));
    assert_eq!(rows(&model.tab), ["lint", "old", "server"]);
}

#[test]
fn clearing_replaces_the_tab_once_the_new_session_is_open() {
    let mut model = first();
    script(&mut model, "<C-x>N");
    opens(&mut model, "t");
    let effects = script(&mut model, "<A-1>/clear<ret>");
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Open { opens: Opens::Cleared, .. })), "{effects:?}");
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Close { .. })), "not before");
    let effects = opens(&mut model, "u");
    assert!(effects.contains(&Effect::Close { session: "s".into(), cleared: true }), "{effects:?}");
    // The one that goes is no other session of the checkout.
    let neighbours = Effect::Load(LoadRequest::Neighbours { except: Some("s".into()) });
    assert!(effects.contains(&neighbours), "{effects:?}");
    let row: Vec<_> = model.tabs().filter_map(|tab| tab.of.clone()).map(|id| id.0).collect();
    assert_eq!(row, ["u", "t"], "in its place");
}

#[test]
fn a_session_that_cannot_be_opened_leads_back_with_what_was_typed() {
    let mut model = first();
    script(&mut model, "a draft<C-x>N");
    let tab = model.tab.id;
    update(&mut model, 0, Msg::Bound(tab, "t".into()));
    script(&mut model, "typed meanwhile");
    tell(&mut model, "t", AgentEvent::OpenElsewhere { session: "t".into(), title: "fix it".into(), pid: 7 });
    tell(&mut model, "t", AgentEvent::NotOpened);
    assert_eq!((shown(&model), model.parked.len()), (Some("s"), 0));
    assert_eq!(composer::text(&model.tab.composer), "a draft");
    assert_eq!(model.tab.composer.drafts, ["typed meanwhile"]);
    assert!(matches!(model.tab.modals.last(), Some(Modal::Confirm(_))), "read or fork is asked here");
}

#[test]
fn what_cannot_be_opened_at_the_start_gives_way_to_a_new_session() {
    let mut model = crate::app::tests::model();
    let id = model.tab.id;
    update(&mut model, 0, Msg::Bound(id, "gone".into()));
    let effects = tell(&mut model, "gone", AgentEvent::NotOpened);
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Open { opens: Opens::New, .. })), "{effects:?}");
}

#[test]
fn a_session_that_is_open_here_is_shown_and_not_opened_twice() {
    let mut model = first();
    script(&mut model, "<C-x>N");
    opens(&mut model, "t");
    let mut out = Vec::new();
    open(&mut model, &mut out, Opens::Resume("s".into()));
    assert_eq!(shown(&model), Some("s"));
    assert!(!out.iter().any(|effect| matches!(effect, Effect::Open { .. })), "{out:?}");
    // The tab that nothing was said in makes room for a session that is resumed.
    script(&mut model, "<A-2>");
    open(&mut model, &mut out, Opens::Resume("old".into()));
    let effects = opens(&mut model, "old");
    assert!(effects.contains(&Effect::Close { session: "t".into(), cleared: true }), "{effects:?}");
    assert_eq!(model.tabs().count(), 2);
}

#[test]
fn the_tabs_of_a_killed_window_are_offered_once_and_come_back_behind() {
    let mut model = first();
    update(&mut model, 0, Msg::LostTabs(sessions(&["a", "s", "b"])));
    assert!(model.notices.shown.iter().any(|notice| notice.text.contains("were open")), "{:?}", model.notices);
    let effects = script(&mut model, "<C-x>B");
    let resumed: Vec<_> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Open { opens: Opens::Resume(id), .. } => Some(id.0.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(resumed, ["a", "b"], "not what is open already");
    assert_eq!((shown(&model), model.tabs().count()), (Some("s"), 3));
    let again = script(&mut model, "<C-x>B");
    assert!(!again.iter().any(|effect| matches!(effect, Effect::Open { .. })), "{again:?}");
}

#[test]
fn a_lost_tab_that_is_opened_in_another_way_is_no_longer_offered() {
    let mut model = first();
    update(&mut model, 0, Msg::LostTabs(sessions(&["a"])));
    assert!(model.notices.shown.iter().any(|notice| notice.text.contains("1 tab was open")), "{:?}", model.notices);
    opens(&mut model, "a");
    assert!(model.lost_tabs.is_empty() && model.notices.shown.is_empty(), "{:?}", model.notices);
}

#[test]
fn the_list_of_open_sessions_is_kept_on_the_disk() {
    let mut model = first();
    assert_eq!(model.saved_tabs, sessions(&["s"]));
    script(&mut model, "<C-x>N");
    opens(&mut model, "t");
    assert_eq!(model.saved_tabs, sessions(&["s"]), "nothing was said in it yet");
    let effects = tell(&mut model, "t", AgentEvent::ItemFinished(user(1, "hello")));
    assert!(effects.contains(&Effect::SaveTabs(sessions(&["s", "t"]))), "{effects:?}");
}

/// All texts that a tab holds of its session.
fn texts(tab: &Tab) -> String {
    let cells = tab.transcript.cells.iter().map(|cell| match &cell.kind {
        CellKind::User { text, .. } | CellKind::Assistant { text } => text.clone(),
        other => format!("{other:?}"),
    });
    let plan = tab.sidebar.plan.iter().map(|todo| todo.content.clone());
    let processes = tab.processes.rows.iter().map(|row| row.command.clone());
    let questions = tab.approvals.entries.iter().map(|entry| format!("{entry:?}"));
    let queue = tab.queue.texts().map(str::to_owned);
    let typed = std::iter::once(composer::text(&tab.composer));
    let sessions = tab.session.iter().map(|session| session.id.0.clone());
    cells.chain(plan).chain(processes).chain(questions).chain(queue).chain(typed).chain(sessions).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Sessions are opened, used, switched and closed at random. Everything that is said in one carries its mark, and no
    /// other tab ever holds that mark; no order of one is addressed to another.
    #[test]
    fn nothing_of_one_session_is_found_in_another(steps in prop::collection::vec((0..12usize, 0..8usize), 1..60)) {
        let mut model = first();
        let mut known = vec!["s".to_owned()];
        for (number, (step, which)) in steps.into_iter().enumerate() {
            let id = known[which % known.len()].clone();
            let mark = format!("<{id}>");
            let effects = match step {
                0 => {
                    script(&mut model, "<C-x>N");
                    let id = format!("n{number}");
                    known.push(id.clone());
                    opens(&mut model, &id)
                }
                1 => script(&mut model, "<C-pgdn>"),
                2 => script(&mut model, "<C-pgup>"),
                3 => tell(&mut model, &id, AgentEvent::TextDelta(mark)),
                4 => tell(&mut model, &id, AgentEvent::ItemFinished(user(number as i64 + 2, &mark))),
                5 => {
                    let body = Body::Note { kind: crate::protocol::NoteKind::Info, text: mark };
                    tell(&mut model, &id, AgentEvent::ItemFinished(item(number as i64 + 2, body)))
                }
                6 => {
                    let todo = Todo { id: "1".into(), content: mark, status: TodoStatus::Pending };
                    tell(&mut model, &id, AgentEvent::PlanChanged(vec![todo]))
                }
                7 => {
                    let row = process(&format!("{mark}{number}"), true);
                    let info = crate::exec::ProcessInfo { task: id.clone(), ..row };
                    update(&mut model, 0, Msg::Process(ProcessEvent::Started(info)))
                }
                8 => tell(&mut model, &id, AgentEvent::TurnStarted { turn: 1, at: 0 }),
                9 => tell(&mut model, &id, finished(TurnEnd::Completed)),
                10 if model.tab.modals.is_empty() && model.tab.focus == Pane::Composer => {
                    let own = shown(&model).unwrap_or_default().to_owned();
                    let effects = script(&mut model, &format!("<lt>{own}>").replace("<lt>", "_"));
                    prop_assert!(effects.iter().all(|effect| !matches!(effect, Effect::Of(..))));
                    effects
                }
                _ => update(&mut model, 0, key("<ret>")),
            };
            for effect in &effects {
                if let Effect::Of(session, _) = effect {
                    prop_assert!(known.contains(&session.0));
                }
            }
            for tab in model.tabs() {
                let own = tab.of.as_ref().map(|id| id.0.clone()).unwrap_or_default();
                let all = texts(tab);
                for other in known.iter().filter(|other| **other != own) {
                    prop_assert!(!all.contains(&format!("<{other}>")), "{own} holds {other}: {all}");
                    prop_assert!(!all.contains(&format!("_{other}>")), "{own} holds what was typed in {other}: {all}");
                }
            }
        }
    }
}
