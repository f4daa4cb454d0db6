//! Conversations that outgrow the window: what is summarized, what stays, what a person changes of it.

use crate::agent::{World, items};
use hermes::llm::message::Message;
use hermes::protocol::{
    AgentCommand, AgentEvent, Body, CompactOrder, ContextOrder, Keep, Sent, SessionId, SummaryBody, SummaryBy, TurnEnd,
};

/// A summary for whoever asks for one, an answer for every prompt.
const SCRIPT: &str = r###"
context: 16000
scenes:
  - when: "<entries>"
    steps: [{ text: "## Goal\nread the parser (#1)" }]
fallback: { text: "noted" }
"###;

fn texts(messages: &[Message]) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::User { text, .. } | Message::Assistant { text, .. } => text.clone(),
        Message::Tool { content, .. } => content.clone(),
    };
    messages.iter().map(text).collect()
}

fn summaries(seen: &[AgentEvent]) -> Vec<SummaryBody> {
    let summary = |body: &Body| if let Body::Summary(summary) = body { Some((**summary).clone()) } else { None };
    items(seen).iter().filter_map(|item| summary(&item.body)).collect()
}

/// Prompts of some 800 tokens, until one was compacted before it was answered.
async fn fill(talk: &mut super::Talk) -> (usize, Vec<AgentEvent>) {
    for n in 0..40 {
        talk.say(&format!("prompt {n} {}", "word ".repeat(640))).await;
        let (end, seen) = talk.finished().await;
        assert_eq!(end, TurnEnd::Completed);
        if !summaries(&seen).is_empty() {
            return (n, seen);
        }
    }
    panic!("the window of 16,000 tokens was never full");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_window_is_compacted_and_the_turn_goes_on() {
    let world = World::new(SCRIPT);
    let mut talk = world.start(None);
    let (last, seen) = fill(&mut talk).await;
    let begun = seen.iter().position(|event| *event == AgentEvent::Compacting(true)).unwrap();
    let ended = seen.iter().position(|event| *event == AgentEvent::Compacting(false)).unwrap();
    assert!(begun < ended);
    let [summary] = summaries(&seen).try_into().unwrap();
    assert_eq!(summary.by, SummaryBy::Model("scripted:scripted".into()));
    assert!(summary.after < summary.before * 7 / 10, "{} → {}", summary.before, summary.after);
    let requests = world.model.requests();
    // The writer reads numbered entries and has no tools.
    let asked = requests.iter().find(|request| texts(&request.messages)[0].contains("<entries>")).unwrap();
    assert!(asked.tools.is_empty() && texts(&asked.messages)[0].contains("prompt 2 word"), "{:?}", asked.messages);
    // The head, the summary, the newest entries: in this order, and the prompt that was said last of all.
    let sent = texts(&requests.last().unwrap().messages);
    assert!(sent[0].starts_with("prompt 0 "), "{}", &sent[0][..40]);
    let at = sent.iter().position(|text| text.starts_with("[CONTEXT COMPACTION — REFERENCE ONLY]")).unwrap();
    assert!(sent[at].contains("read the parser (#1)") && sent[at].contains("END OF CONTEXT SUMMARY"), "{}", sent[at]);
    assert!(sent.last().unwrap().starts_with(&format!("prompt {last} ")));
    assert!(!sent.iter().any(|text| text.starts_with("prompt 3 ")), "it is only in the summary");
    assert_eq!(requests.last().unwrap().system, requests[0].system, "the prefix stays");
    // The next turn goes on from the same summary, byte for byte.
    talk.say("and now?").await;
    talk.finished().await;
    let next = texts(&world.model.requests().last().unwrap().messages);
    assert_eq!(next[..sent.len()], sent);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_session_reads_the_summary_and_the_store_keeps_every_entry() {
    let world = World::new(SCRIPT);
    let mut talk = world.start(None);
    let opened = talk.until(|event| matches!(event, AgentEvent::SessionOpened { .. })).await;
    let Some(AgentEvent::SessionOpened { session, .. }) = opened.last() else { unreachable!() };
    let id: SessionId = session.id.clone();
    fill(&mut talk).await;
    let sent = texts(&world.model.requests().last().unwrap().messages);
    talk.order(AgentCommand::Close { cleared: false }).await;
    talk.agent.task.await.unwrap();
    let mut again = world.start(Some(id.clone()));
    again.say("go on").await;
    again.finished().await;
    let next = texts(&world.model.requests().last().unwrap().messages);
    assert_eq!(next[..sent.len()], sent);
    let store = hermes::store::Store::spawn(world.root.path().join("home"));
    let all = store.all_items(&id).await.unwrap();
    assert!(all.iter().any(|item| matches!(&item.body, Body::User { text, .. } if text.starts_with("prompt 3 "))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_compacts_with_something_in_view_edits_and_undoes() {
    let world = World::new(SCRIPT);
    let mut talk = world.start(None);
    for n in 0..8 {
        talk.say(&format!("prompt {n} {}", "word ".repeat(200))).await;
        talk.finished().await;
    }
    let compact = |order| AgentCommand::Compact(order);
    let is_summary =
        |event: &AgentEvent| matches!(event, AgentEvent::ItemFinished(item) if matches!(item.body, Body::Summary(_)));
    talk.order(compact(CompactOrder::Now("the lexer".into()))).await;
    let seen = talk.until(is_summary).await;
    assert_eq!(summaries(&seen)[0].focus, "the lexer");
    let asked = texts(&world.model.requests().last().unwrap().messages);
    assert!(asked[0].contains("keep this in view") && asked[0].contains("the lexer"), "{}", asked[0]);

    talk.order(compact(CompactOrder::Read { edit: false })).await;
    let seen = talk.until(|event| matches!(event, AgentEvent::SummaryRead { .. })).await;
    let Some(AgentEvent::SummaryRead { left, of, .. }) = seen.last() else { unreachable!() };
    let of = *of;
    assert!(left.iter().any(|left| left.text.contains("prompt 3 word")), "{left:?}");

    talk.order(compact(CompactOrder::Edit { of, text: "## Goal\nmy own words".into() })).await;
    let seen = talk.until(is_summary).await;
    assert_eq!(summaries(&seen)[0].by, SummaryBy::Person);
    talk.say("next").await;
    talk.finished().await;
    let sent = texts(&world.model.requests().last().unwrap().messages);
    assert!(
        sent.iter().any(|text| text.contains("my own words")) && !sent.iter().any(|text| text.contains("prompt 3 "))
    );

    // The edit is undone first, then the compaction.
    for (contains, what) in [("read the parser", "the model's summary"), ("prompt 3 ", "every entry")] {
        talk.order(compact(CompactOrder::Undo)).await;
        let seen = talk.until(is_summary).await;
        assert_eq!(summaries(&seen)[0].by, SummaryBy::Undo);
        talk.say("next").await;
        talk.finished().await;
        let sent = texts(&world.model.requests().last().unwrap().messages);
        assert!(sent.iter().any(|text| text.contains(contains)), "{what}");
    }
    talk.order(compact(CompactOrder::Undo)).await;
    let seen = talk.until(|event| matches!(event, AgentEvent::Notice { .. })).await;
    let Some(AgentEvent::Notice { text, .. }) = seen.last() else { unreachable!() };
    assert!(text.contains("nothing to undo"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_does_not_write_is_replaced_by_an_extract_and_one_out_of_reach_by_nothing() {
    let failing = SCRIPT.replace("steps: [{ text:", "steps: [{ error: { kind: bad_request }, text:");
    let world = World::new(&failing);
    let mut talk = world.start(None);
    let (_, seen) = fill(&mut talk).await;
    let [summary] = summaries(&seen).try_into().unwrap();
    assert_eq!(summary.by, SummaryBy::Extract);
    assert!(summary.text.contains("**user:** prompt 2 word"), "{}", summary.text);

    let world = World::new(&SCRIPT.replace("steps: [{ text:", "steps: [{ error: { kind: network }, text:"));
    let mut talk = world.start(None);
    for n in 0..8 {
        talk.say(&format!("prompt {n} {}", "word ".repeat(200))).await;
        talk.finished().await;
    }
    talk.order(AgentCommand::Compact(CompactOrder::Now(String::new()))).await;
    let seen = talk.until(|event| matches!(event, AgentEvent::Notice { .. })).await;
    let Some(AgentEvent::Notice { text, .. }) = seen.last() else { unreachable!() };
    assert!(text.starts_with("not compacted, nothing was left out"), "{text}");
    talk.say("next").await;
    let (_, seen) = talk.finished().await;
    assert!(summaries(&seen).is_empty());
    assert_eq!(texts(&world.model.requests().last().unwrap().messages).len(), 17, "every entry is sent");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_gives_up_the_summary_and_the_turn_that_waited_for_it() {
    let slow = SCRIPT.replace("steps: [{ text:", "steps: [{ delay_ms: 600000, text:");
    let world = World::new(&slow);
    let mut talk = world.start(None);
    for n in 0..40 {
        talk.say(&format!("prompt {n} {}", "word ".repeat(640))).await;
        let seen = talk
            .until(|event| matches!(event, AgentEvent::TurnFinished(_)) || *event == AgentEvent::Compacting(true))
            .await;
        if seen.last() == Some(&AgentEvent::Compacting(true)) {
            break;
        }
    }
    talk.order(AgentCommand::Stop { force: false }).await;
    let (end, seen) = talk.finished().await;
    assert_eq!(end, TurnEnd::Stopped);
    assert!(seen.contains(&AgentEvent::Compacting(false)) && summaries(&seen).is_empty(), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_finds_what_was_said_and_reads_an_entry_in_full() {
    let world = World::new(
        r#"
steps:
  - text: the code is 7319
  - calls:
      - { name: session_search, args: { query: zebra, role_filter: user } }
      - { name: session_search, args: { item: 1 } }
      - { name: session_search, args: { query: zebra, role_filter: boss } }
      - { name: session_search, args: { item: 99 } }
  - text: found
"#,
    );
    let mut talk = world.start(None);
    talk.say("the zebra crossed").await;
    talk.finished().await;
    talk.say("what was it?").await;
    let (_, seen) = talk.finished().await;
    let results = super::results(&seen);
    let all = results.iter().map(|result| result.2.as_str()).collect::<Vec<_>>().join("\n");
    let hits = results.iter().find(|result| result.2.contains("matches")).unwrap();
    let found: serde_json::Value = serde_json::from_str(&hits.2).unwrap();
    assert_eq!(
        (&found["matches"][0]["item"], &found["matches"][0]["this_session"]),
        (&1.into(), &true.into()),
        "{found}"
    );
    for told in [r#""text":"the zebra crossed"#, "not one of user, assistant, tool", "has no entry 99"] {
        assert!(all.contains(told), "no {told} in {all}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_pins_shortens_and_leaves_out_and_it_holds_when_the_session_is_resumed() {
    let world = World::new(SCRIPT);
    let mut talk = world.start(None);
    let opened = talk.until(|event| matches!(event, AgentEvent::SessionOpened { .. })).await;
    let Some(AgentEvent::SessionOpened { session, .. }) = opened.last() else { unreachable!() };
    let id = session.id.clone();
    for n in 0..16 {
        talk.say(&format!("prompt {n} {}", "word ".repeat(200))).await;
        talk.finished().await;
    }
    let is_parts = |event: &AgentEvent| matches!(event, AgentEvent::ContextParts(_));
    let list = |event: Option<&AgentEvent>| match event {
        Some(AgentEvent::ContextParts(view)) => view.parts.clone(),
        other => panic!("{other:?}"),
    };
    talk.order(AgentCommand::Context(ContextOrder::List)).await;
    let parts = list(talk.until(is_parts).await.last());
    assert!(parts.windows(2).all(|pair| pair[0].tokens >= pair[1].tokens), "largest first: {parts:?}");
    assert!(parts.iter().any(|part| part.what == "system prompt" && part.item.is_none()), "{parts:?}");
    let of = |n: usize| parts.iter().find(|part| part.what.contains(&format!("prompt {n} "))).unwrap().item.unwrap();
    for (n, keep) in [(2, Keep::Pinned), (3, Keep::Line), (4, Keep::Out)] {
        talk.order(AgentCommand::Context(ContextOrder::Keep(of(n), Some(keep)))).await;
        let changed = list(talk.until(is_parts).await.last());
        assert!(changed.iter().any(|part| part.item == Some(of(n)) && part.sent == Sent::Kept(keep)), "{changed:?}");
    }
    let sent = |world: &World| texts(&world.model.requests().last().unwrap().messages);
    talk.say("and now?").await;
    talk.finished().await;
    let before = sent(&world);
    assert!(before.iter().any(|text| text.starts_with("prompt 3 word") && text.len() < 300), "one line");
    assert!(
        before.iter().any(|text| text.starts_with("[the user left this out"))
            && !before.iter().any(|text| text.contains("prompt 4 "))
    );
    // What is pinned outlives a compaction word for word.
    talk.order(AgentCommand::Compact(CompactOrder::Now(String::new()))).await;
    talk.until(|event| matches!(event, AgentEvent::ItemFinished(item) if matches!(item.body, Body::Summary(_)))).await;
    talk.say("and then?").await;
    talk.finished().await;
    let compacted = sent(&world);
    assert!(compacted.iter().any(|text| text.starts_with("prompt 2 word") && text.len() > 900), "{compacted:?}");
    assert!(!compacted.iter().any(|text| text.starts_with("prompt 3 ")));
    talk.order(AgentCommand::Close { cleared: false }).await;
    talk.agent.task.await.unwrap();
    let mut again = world.start(Some(id));
    again.say("go on").await;
    again.finished().await;
    assert_eq!(sent(&world)[..compacted.len()], compacted);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_long_turn_is_compacted_between_its_steps_and_keeps_its_prompt() {
    let said = "and then ".repeat(180);
    let steps: String = (0..40)
        .map(|n| format!("  - {{ text: '{n} {said}', calls: [{{ name: read_file, args: {{ path: f{n}.txt }} }}] }}\n"))
        .collect();
    let script = SCRIPT.replace("fallback:", &format!("steps:\n{steps}  - text: all read\nfallback:"));
    let world = World::new(&script);
    for n in 0..40 {
        std::fs::write(world.work().join(format!("f{n}.txt")), format!("{n} {}\n", "line ".repeat(500))).unwrap();
    }
    let mut talk = world.start(None);
    talk.say("read every file").await;
    let (end, seen) = talk.finished().await;
    assert_eq!(end, TurnEnd::Completed, "{seen:?}");
    assert!(!summaries(&seen).is_empty(), "the window of 16,000 tokens holds no forty files");
    for request in world.model.requests().iter().filter(|request| !request.tools.is_empty()) {
        let sent = texts(&request.messages);
        assert!(sent.iter().any(|text| text.starts_with("read every file")), "the prompt is in every request");
        let calls: Vec<&str> = request.messages.iter().flat_map(calls).collect();
        let results: Vec<&str> = request.messages.iter().filter_map(result).collect();
        assert_eq!(calls, results, "every call has its result, and no result is without its call");
    }
}

fn calls(message: &Message) -> Vec<&str> {
    match message {
        Message::Assistant { calls, .. } => calls.iter().map(|call| call.id.as_str()).collect(),
        Message::User { .. } | Message::Tool { .. } => Vec::new(),
    }
}

fn result(message: &Message) -> Option<&str> {
    if let Message::Tool { call_id, .. } = message { Some(call_id) } else { None }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_goes_on_with_everything_when_no_summary_could_be_had() {
    let world = World::new(&SCRIPT.replace("steps: [{ text:", "steps: [{ error: { kind: network }, text:"));
    let mut talk = world.start(None);
    for n in 0..40 {
        talk.say(&format!("prompt {n} {}", "word ".repeat(640))).await;
        let (end, seen) = talk.finished().await;
        assert!(summaries(&seen).is_empty(), "nothing is left out: {seen:?}");
        if seen.contains(&AgentEvent::Compacting(true)) {
            let told = seen
                .iter()
                .any(|event| matches!(event, AgentEvent::Notice { text, .. } if text.starts_with("not compacted")));
            assert!(told && end == TurnEnd::Completed, "{end:?}: {seen:?}");
            return;
        }
    }
    panic!("the window of 16,000 tokens was never full");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_summary_is_changed_only_at_rest_and_only_the_one_that_was_read() {
    let world = World::new(SCRIPT);
    let mut talk = world.start(None);
    for n in 0..8 {
        talk.say(&format!("prompt {n} {}", "word ".repeat(200))).await;
        talk.finished().await;
    }
    talk.order(AgentCommand::Compact(CompactOrder::Now(String::new()))).await;
    talk.until(|event| matches!(event, AgentEvent::ItemFinished(item) if matches!(item.body, Body::Summary(_)))).await;
    let edit = CompactOrder::Edit { of: hermes::protocol::ItemId(1), text: "mine".into() };
    talk.order(AgentCommand::Compact(edit)).await;
    talk.until(|event| matches!(event, AgentEvent::Notice { text, .. } if text.starts_with("not edited"))).await;
}
