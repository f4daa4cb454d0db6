//! What waits is kept, comes back in order, and goes out only when it should.

use super::*;
use crate::app::msg::Msg;
use crate::app::tests::{model, opened, ready, script, user};
use crate::app::update;
use crate::protocol::{AgentEvent, Image, TurnEnd, TurnOutcome};
use crate::store::StoreReply;

fn picture() -> Image {
    Image { media_type: "image/png".into(), data: "AAAA".into() }
}

fn prompt(text: &str) -> QueuedPrompt {
    QueuedPrompt { text: text.into(), images: vec![] }
}

/// Session and texts of every save.
fn saves(effects: &[Effect]) -> Vec<(Option<&str>, Vec<&str>)> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Store(StoreJob::SaveQueue { session, prompts, .. }) => {
                let texts = prompts.iter().map(|prompt| prompt.text.as_str()).collect();
                Some((session.as_ref().map(|id| id.0.as_str()), texts))
            }
            _ => None,
        })
        .collect()
}

fn orders(effects: &[Effect]) -> Vec<&AgentCommand> {
    effects.iter().filter_map(|effect| if let Effect::Agent(order) = effect { Some(order) } else { None }).collect()
}

/// The prompt becomes durable and its turn ends well.
fn ended(model: &mut Model) -> Vec<Effect> {
    update(model, 0, Msg::Agent(AgentEvent::ItemFinished(user(9, "durable"))));
    let outcome = TurnOutcome { turn: 1, end: TurnEnd::Completed, steps: 1, duration_ms: 1 };
    update(model, 0, Msg::Agent(AgentEvent::TurnFinished(outcome)))
}

fn restored(model: &mut Model, session: &str, prompts: Vec<QueuedPrompt>) -> Vec<Effect> {
    update(model, 0, Msg::Store(StoreReply::Queue { session: Some(session.into()), prompts }))
}

fn queue_one(model: &mut Model, text: &str) {
    script(model, &format!("/queue {text}<ret>"));
}

fn submit(text: &str) -> AgentCommand {
    AgentCommand::Submit { text: text.into(), images: vec![] }
}

#[test]
fn every_change_is_saved_at_once_and_only_once() {
    let mut model = ready();
    opened(&mut model, "s", &["earlier"]);
    script(&mut model, "go<ret>");
    assert_eq!(saves(&script(&mut model, "one<ret>")), [(Some("s"), vec!["one"])]);
    assert_eq!(saves(&script(&mut model, "two<ret>")), [(Some("s"), vec!["one", "two"])]);
    assert!(saves(&script(&mut model, "typing")).is_empty());
    assert_eq!(saves(&script(&mut model, "<C-x>q<down>x<esc>")), [(Some("s"), vec!["one"])]);
    assert_eq!(saves(&ended(&mut model)), [(Some("s"), vec![])], "the last one was sent");
}

#[test]
fn a_queue_moves_from_the_folder_to_the_session_that_began() {
    let mut model = ready();
    script(&mut model, "go<ret>");
    assert_eq!(saves(&script(&mut model, "next<ret>")), [(None, vec!["next"])]);
    let effects = update(&mut model, 0, Msg::Agent(AgentEvent::ItemFinished(user(1, "go"))));
    let id = model.tab.session.as_ref().map(|session| session.id.0.as_str());
    assert_eq!(saves(&effects), [(None, vec![]), (id, vec!["next"])]);
}

#[test]
fn images_wait_with_their_prompt() {
    let mut model = ready();
    opened(&mut model, "s", &["earlier"]);
    script(&mut model, "go<ret>look");
    model.tab.composer.images.push(picture());
    script(&mut model, "<ret>");
    assert!(model.tab.composer.images.is_empty());
    assert_eq!(model.tab.queue.prompts[0].images, [picture()]);
    let steered = AgentCommand::Steer { text: "look".into(), images: vec![picture()] };
    let mut other = ready();
    opened(&mut other, "s", &["earlier"]);
    other.tab.queue.prompts = model.tab.queue.prompts.clone();
    script(&mut other, "go<ret>");
    assert_eq!(orders(&script(&mut other, "<ret>")), [&steered]);
    let sent = AgentCommand::Submit { text: "look".into(), images: vec![picture()] };
    assert_eq!(orders(&ended(&mut model)), [&sent]);
}

#[test]
fn what_came_back_waits_for_a_word() {
    let mut model = model();
    let effects = opened(&mut model, "s", &["earlier"]);
    assert!(effects.iter().any(|effect| matches!(effect,
        Effect::Store(StoreJob::LoadQueue { session: Some(id), .. }) if id.0 == "s")));
    let effects = restored(&mut model, "s", vec![prompt("one"), prompt("two")]);
    assert!(orders(&effects).is_empty() && saves(&effects).is_empty(), "{effects:?}");
    assert!(model.notices.shown.iter().any(|notice| notice.text.contains("queued prompt")));
    // a prompt of its own does not drag them along
    assert_eq!(orders(&script(&mut model, "mine<ret>")), [&submit("mine")]);
    assert!(orders(&ended(&mut model)).is_empty());
    // but one that was queued by hand goes out
    script(&mut model, "again<ret>queued<ret>");
    assert_eq!(orders(&ended(&mut model)), [&submit("queued")]);
    ended(&mut model);
    // Enter sends the first, the other follows
    assert_eq!(orders(&script(&mut model, "<ret>")), [&submit("one")]);
    let effects = ended(&mut model);
    assert_eq!(orders(&effects), [&submit("two")]);
    assert_eq!(saves(&effects), [(Some("s"), vec![])]);
}

#[test]
fn a_queue_stays_with_its_session() {
    let mut model = ready();
    opened(&mut model, "one", &["earlier"]);
    script(&mut model, "go<ret>of the first<ret>");
    script(&mut model, "<C-x>N<ret>");
    let effects = opened(&mut model, "two", &["other"]);
    assert!(model.tab.queue.is_empty() && saves(&effects).is_empty(), "it waits in the store: {effects:?}");
    // an answer for the session before comes too late
    restored(&mut model, "one", vec![prompt("of the first")]);
    assert!(model.tab.queue.is_empty());
    opened(&mut model, "one", &["earlier"]);
    restored(&mut model, "one", vec![prompt("of the first")]);
    assert_eq!(model.tab.queue.texts().collect::<Vec<_>>(), ["of the first"]);
    assert_eq!(model.tab.queue.held, 1);
}

#[test]
fn leaving_keeps_the_queue_as_it_is() {
    let mut model = ready();
    opened(&mut model, "s", &["earlier"]);
    script(&mut model, "go<ret>one<ret>two<ret>draft");
    let effects = update(&mut model, 0, Msg::Terminated);
    assert!(saves(&effects).is_empty(), "the store has it");
    assert_eq!(model.tab.queue.len(), 2);
}

#[test]
fn what_the_turn_did_not_hear_comes_back_held_with_its_images() {
    let both = || vec![("mine".to_owned(), vec![picture()]), ("more".to_owned(), vec![])];
    let mut model = ready();
    opened(&mut model, "s", &["earlier"]);
    Arc::make_mut(&mut model.config).display.busy_input_mode = "steer".into();
    script(&mut model, "go<ret>mine");
    model.tab.composer.images.push(picture());
    assert_eq!(saves(&script(&mut model, "<ret>")), [(Some("s"), vec!["mine"])], "kept until it is heard");
    assert_eq!(saves(&script(&mut model, "more<ret>")), [(Some("s"), vec!["mine", "more"])]);
    assert!(model.tab.queue.is_empty(), "it waits no more");
    queue_one(&mut model, "behind");
    script(&mut model, "<esc>");
    let effects = update(&mut model, 0, Msg::Agent(AgentEvent::Undelivered(both())));
    let outcome = TurnOutcome { turn: 1, end: TurnEnd::Stopped, steps: 1, duration_ms: 1 };
    let end = update(&mut model, 0, Msg::Agent(AgentEvent::TurnFinished(outcome)));
    assert!(saves(&effects).is_empty() && saves(&end).is_empty() && orders(&end).is_empty(), "the store has all");
    assert_eq!(model.tab.queue.texts().collect::<Vec<_>>(), ["mine", "more", "behind"]);
    assert_eq!((model.tab.queue.held, &model.tab.queue.prompts[0].images[..]), (2, &[picture()][..]));
    assert!(model.tab.queue.given.is_empty());
    let promised = model.notices.shown.iter().any(|notice| notice.text.contains("at its next step"));
    assert!(!promised, "it is no longer said that the turn will hear it");
}

#[test]
fn the_store_forgets_what_the_turn_has_heard() {
    let steer = |text: &str| {
        let mut item = user(9, text);
        if let crate::protocol::Body::User { origin, .. } = &mut item.body {
            *origin = crate::protocol::Origin::Steer;
        }
        item
    };
    for (heard, left) in
        [(steer("one"), vec!["two"]), (user(9, "one\n\ntwo"), vec![]), (user(9, "else"), vec!["one", "two"])]
    {
        let mut model = ready();
        opened(&mut model, "s", &["earlier"]);
        script(&mut model, "go<ret>/steer one<ret>two<ret><ret>");
        update(&mut model, 0, Msg::Agent(AgentEvent::ItemFinished(heard)));
        let saved: Vec<_> = model.tab.queue.saved.1.iter().map(|prompt| prompt.text.as_str()).collect();
        assert_eq!(saved, left);
    }
}
