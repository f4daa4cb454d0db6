//! Budgets of a conversation: told once, held between two steps, raised by a person, kept over a resume.

use crate::agent::{Talk, World, items};
use hermes::protocol::{AgentCommand, AgentEvent, Body, CompactOrder, Level, NoteKind, Raise, TurnEnd};

const SCRIPT: &str = r#"
steps:
  - { calls: [{ name: read_file, args: { path: a.txt } }], usage: { input: 9000, output: 1000 } }
  - { calls: [{ name: read_file, args: { path: b.txt } }], usage: { input: 9000, output: 1000 } }
fallback: { text: done, usage: { input: 9000, output: 1000 } }
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

/// Answers the question whether the budget is raised: no.
async fn stopped(talk: &mut Talk) -> Vec<AgentEvent> {
    let seen = talk.until(|event| matches!(event, AgentEvent::Asked(_))).await;
    let Some(AgentEvent::Asked(question)) = seen.last() else { unreachable!() };
    talk.order(AgentCommand::Answer(question.id, "Stop".into())).await;
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_ends_between_two_steps_and_a_person_raises_the_limit() {
    let world = World::new(SCRIPT);
    std::fs::write(world.work().join("a.txt"), "a\n").unwrap();
    std::fs::write(world.work().join("b.txt"), "b\n").unwrap();
    world.config("budget:\n  session: {soft_tokens: 10000, hard_tokens: 20000}\n");
    let mut talk = world.start(None);
    let opened = talk.until(|event| matches!(event, AgentEvent::SessionOpened { .. })).await;
    let Some(AgentEvent::SessionOpened { session, .. }) = opened.last() else { unreachable!() };
    let id = session.id.clone();
    talk.say("read both").await;
    let mut seen = stopped(&mut talk).await;
    let (end, more) = talk.finished().await;
    seen.extend(more);
    assert_eq!(end, TurnEnd::Limit);
    assert_eq!(world.model.requests().len(), 2);
    let told = notes(&seen);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].contains("soft limit reached: this session used 10,000 of 10,000 tokens (budget.session.soft_tokens); the hard limit is 20,000 tokens"),
        "{told:?}"
    );
    assert!(told[1].contains("20,000 of 20,000 tokens (budget.session.hard_tokens); /budget +200k"), "{told:?}");
    assert_eq!(
        signs(&seen),
        [Some(("budget 10K of 20K tokens".into(), false)), Some(("budget used up: /budget".into(), true))]
    );
    // Nor is a summary written, or the next prompt answered.
    talk.order(AgentCommand::Compact(CompactOrder::Now(String::new()))).await;
    talk.say("go on").await;
    stopped(&mut talk).await;
    let (end, _) = talk.finished().await;
    assert_eq!((end, world.model.requests().len()), (TurnEnd::Limit, 2));
    let nothing = Raise { cost: 5.0, ..Raise::default() };
    talk.order(AgentCommand::RaiseBudget(nothing)).await;
    let seen = talk.until(|event| matches!(event, AgentEvent::Notice { level: Level::Warning, .. })).await;
    assert!(format!("{:?}", seen.last()).contains("no hard limit in dollars is set"), "{:?}", seen.last());
    talk.order(AgentCommand::RaiseBudget(Raise { tokens: 20_000, ..Raise::default() })).await;
    talk.say("go on").await;
    let (end, seen) = talk.finished().await;
    assert_eq!((end, world.model.requests().len()), (TurnEnd::Completed, 3));
    assert!(notes(&seen).is_empty(), "a soft limit is told once: {seen:?}");
    talk.order(AgentCommand::Close { cleared: false }).await;
    talk.agent.task.await.unwrap();
    // 30,000 of 40,000 tokens: the raise and the sum come back.
    let mut again = world.start(Some(id));
    let seen = again.until(|event| matches!(event, AgentEvent::Budget(_))).await;
    assert_eq!(signs(&seen), [Some(("budget 30K of 40K tokens".into(), false))]);
    again.say("one more").await;
    assert_eq!(again.finished().await.0, TurnEnd::Completed);
    again.say("too many").await;
    stopped(&mut again).await;
    let (end, seen) = again.finished().await;
    assert_eq!((end, world.model.requests().len()), (TurnEnd::Limit, 4));
    assert!(notes(&seen)[0].contains("40,000 of 40,000 tokens"), "{seen:?}");
}
