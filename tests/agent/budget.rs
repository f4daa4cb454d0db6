//! Budgets of a conversation: told once, held between two steps, raised by a person, kept over a resume.

use crate::agent::{World, items};
use hermes::protocol::{AgentCommand, AgentEvent, Body, CompactOrder, Level, NoteKind, Raise, TurnEnd};

const SCRIPT: &str = r#"
steps:
  - { calls: [{ name: read_file, args: { path: a.txt } }], usage: { input: 90, output: 10 } }
  - { calls: [{ name: read_file, args: { path: b.txt } }], usage: { input: 90, output: 10 } }
fallback: { text: done, usage: { input: 90, output: 10 } }
"#;

fn notes(seen: &[AgentEvent]) -> Vec<String> {
    let note = |body: &Body| match body {
        Body::Note { kind: NoteKind::Warning, text } => Some(text.clone()),
        _ => None,
    };
    items(seen).iter().filter_map(|item| note(&item.body)).collect()
}

fn signs(seen: &[AgentEvent]) -> Vec<Option<(String, bool)>> {
    let sign = |event: &AgentEvent| match event {
        AgentEvent::Budget(sign) => Some(sign.as_ref().map(|sign| (sign.text.clone(), sign.hard))),
        _ => None,
    };
    seen.iter().filter_map(sign).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_ends_between_two_steps_and_a_person_raises_the_limit() {
    let world = World::new(SCRIPT);
    std::fs::write(world.work().join("a.txt"), "a\n").unwrap();
    std::fs::write(world.work().join("b.txt"), "b\n").unwrap();
    world.config("budget:\n  session: {soft_tokens: 100, hard_tokens: 200}\n");
    let mut talk = world.start(None);
    let opened = talk.until(|event| matches!(event, AgentEvent::SessionOpened { .. })).await;
    let Some(AgentEvent::SessionOpened { session, .. }) = opened.last() else { unreachable!() };
    let id = session.id.clone();
    talk.say("read both").await;
    let (end, seen) = talk.finished().await;
    assert_eq!(end, TurnEnd::Limit);
    assert_eq!(world.model.requests().len(), 2);
    let told = notes(&seen);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].contains("soft limit reached: this session used 100 of 100 tokens (budget.session.soft_tokens); the hard limit is 200"),
        "{told:?}"
    );
    assert!(told[1].contains("200 of 200 tokens (budget.session.hard_tokens); /budget +200k"), "{told:?}");
    assert_eq!(
        signs(&seen),
        [Some(("budget 100 of 200 tokens".into(), false)), Some(("budget used up: /budget".into(), true))]
    );
    // Nor is a summary written, or the next prompt answered.
    talk.order(AgentCommand::Compact(CompactOrder::Now(String::new()))).await;
    talk.say("go on").await;
    let (end, _) = talk.finished().await;
    assert_eq!((end, world.model.requests().len()), (TurnEnd::Limit, 2));
    let nothing = Raise { cost: 5.0, tokens: 0 };
    talk.order(AgentCommand::RaiseBudget(nothing)).await;
    let seen = talk.until(|event| matches!(event, AgentEvent::Notice { level: Level::Warning, .. })).await;
    assert!(format!("{:?}", seen.last()).contains("no hard limit in dollars is set"), "{:?}", seen.last());
    talk.order(AgentCommand::RaiseBudget(Raise { cost: 0.0, tokens: 200 })).await;
    talk.say("go on").await;
    let (end, seen) = talk.finished().await;
    assert_eq!((end, world.model.requests().len()), (TurnEnd::Completed, 3));
    assert!(notes(&seen).is_empty(), "a soft limit is told once: {seen:?}");
    talk.order(AgentCommand::Close { cleared: false }).await;
    talk.agent.task.await.unwrap();
    // 300 of 400 tokens: the raise and the sum come back.
    let mut again = world.start(Some(id));
    let seen = again.until(|event| matches!(event, AgentEvent::Budget(_))).await;
    assert_eq!(signs(&seen), [Some(("budget 300 of 400 tokens".into(), false))]);
    again.say("one more").await;
    assert_eq!(again.finished().await.0, TurnEnd::Completed);
    again.say("too many").await;
    let (end, seen) = again.finished().await;
    assert_eq!((end, world.model.requests().len()), (TurnEnd::Limit, 4));
    assert!(notes(&seen)[0].contains("400 of 400 tokens"), "{seen:?}");
}
