//! `/agents`: the order of the rows, and what can be done with a session of another window.

use super::*;
use crate::app::model::modal::{Modal, Picker};
use crate::app::msg::{LoadReply, Msg};
use crate::app::tests::{opened, ready, script};
use crate::app::update;
use crate::protocol::{Waiting, WaitingId, WindowSession};

fn other(id: &str, state: SessionState) -> OtherSession {
    let waits = Waiting {
        id: WaitingId::Question(crate::protocol::QuestionId(1)),
        text: "Which\none?".into(),
        cut: false,
        choices: Vec::new(),
    };
    let session = WindowSession {
        session: id.into(),
        title: Some(format!("title {id}")),
        cwd: "/src/other".into(),
        checkout: None,
        used: true,
        state,
        waiting: if state == SessionState::NeedsAnswer { vec![waits] } else { Vec::new() },
    };
    OtherSession { session, pid: 42, terminal: "/dev/pts/7".into() }
}

fn listed() -> Model {
    let mut model = ready();
    opened(&mut model, "s", &["said"]);
    let effects = script(&mut model, "/agents<ret>");
    assert_eq!(effects.last(), Some(&Effect::Load(LoadRequest::OtherWindows)));
    let found = vec![other("o1", SessionState::Idle), other("o2", SessionState::NeedsAnswer)];
    update(&mut model, 0, Msg::Loaded(LoadReply::OtherWindows(found)));
    model
}

fn top(model: &Model) -> &Picker {
    let Some(Modal::Picker(picker)) = model.tab.modals.last() else { panic!("{:?}", model.tab.modals) };
    picker
}

#[test]
fn what_waits_in_any_window_comes_first() {
    let model = listed();
    let picker = top(&model);
    assert!(!picker.loading);
    let labels: Vec<&str> = picker.items.iter().map(|item| item.label.as_str()).collect();
    assert_eq!(labels[0], "title o2");
    assert_eq!((labels.len(), labels[2]), (3, "title o1"));
    assert_eq!(picker.items[0].hint, "needs an answer · other window");
    assert_eq!(picker.items[0].detail, "/src/other, process 42 on /dev/pts/7 · Which one?");
}

#[test]
fn one_of_another_window_says_where_it_runs_and_what_can_be_done() {
    for (keys, want) in [
        ("<ret>", Effect::Load(LoadRequest::FocusWindow { session: "o2".into() })),
        ("<down><ret>", Effect::Load(LoadRequest::ReadSession { id: "o2".into() })),
    ] {
        let mut model = listed();
        script(&mut model, "<home><ret>");
        assert_eq!(top(&model).footnote, "Runs in /src/other, process 42 on /dev/pts/7");
        assert!(script(&mut model, keys).contains(&want), "{keys}");
    }
    for (keys, want) in
        [("<down><down><ret>", Opens::Fork("o2".into())), ("<down><down><down><ret>", Opens::Resume("o2".into()))]
    {
        let mut model = listed();
        script(&mut model, "<home><ret>");
        let effects = script(&mut model, keys);
        let opens = |effect: &Effect| matches!(effect, Effect::Open { opens, .. } if *opens == want);
        assert!(effects.iter().any(opens), "{keys}: {effects:?}");
    }
    let mut model = ready();
    focused(&mut model, Err("it is open in no other window any more".into()));
    assert!(model.notices.shown.iter().any(|notice| notice.text.contains("no other window")));
}
