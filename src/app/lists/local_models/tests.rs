//! Getting, pausing, cancelling and using models of this computer, by keys and facts.

use super::*;
use crate::app::input::composer;
use crate::app::lists::first_run::{Row, rows as card_rows};
use crate::app::model::first_run::Found;
use crate::app::model::local::{EngineOffer, Served, ServedState};
use crate::app::msg::{LoadReply, ModelChoice, Msg};
use crate::app::tests::{empty_session, ready, script};
use crate::app::update;
use crate::protocol::AgentCommand;
use crate::store::{QueuedPrompt, StoreReply};

fn offer(name: &str, state: OfferState) -> Offer {
    Offer {
        name: name.into(),
        title: name.to_uppercase(),
        bytes: 2_700_000_000,
        licence: "Apache-2.0".into(),
        host: "hub.example".into(),
        speed: Some(12.0),
        state,
        ..Offer::default()
    }
}

fn offers(rows: &[(&str, OfferState)]) -> Offers {
    let rows = rows.iter().map(|(name, state)| offer(name, *state)).collect();
    let engine = EngineOffer { bytes: 34_000_000, licence: "MIT".into(), host: "pkg.example".into() };
    Offers { rows, best: Some("small".into()), engine: Some(engine), ..Offers::default() }
}

/// The card of a start where these models are offered, old enough for its keys to count.
fn card(local: Offers) -> Model {
    let mut model = empty_session();
    let found = Found { local: Some(local), providers: vec!["acme".into()], ..Found::default() };
    update(&mut model, 0, Msg::Loaded(LoadReply::Found(found)));
    update(&mut model, 1000, Msg::Woke);
    model
}

fn usual() -> Model {
    card(offers(&[("tiny", OfferState::Fits), ("small", OfferState::Fits), ("big", OfferState::Memory(9 << 30))]))
}

fn shown(model: &Model) -> Vec<Row> {
    model.first_run.as_ref().map(|card| card_rows(card, &model.local)).unwrap_or_default()
}

fn gets(run: u32, name: &str) -> Effect {
    Effect::Local(LocalOrder::Get { run, name: name.into() })
}

fn hear(model: &mut Model, fact: LocalFact) -> Vec<Effect> {
    let now = model.now;
    update(model, now, Msg::Local(fact))
}

fn loading(run: u32, done: u64) -> LocalFact {
    LocalFact::Step { run, step: DownloadStep::Loading { engine: false, done, of: 1000, speed: 10.0 } }
}

#[test]
fn what_needs_no_address_comes_before_what_does() {
    let rows = shown(&usual());
    let wanted = [Row::GetLocal("small".into()), Row::MoreLocal, Row::OwnServer, Row::Offline];
    assert_eq!(rows.get(..4), Some(&wanted[..]));
    let here = card(offers(&[("tiny", OfferState::Here), ("small", OfferState::Fits)]));
    assert_eq!(shown(&here).get(..2), Some(&[Row::UseLocal("tiny".into()), Row::MoreLocal][..]));
    let part = card(offers(&[("tiny", OfferState::Part(41)), ("small", OfferState::Fits)]));
    assert_eq!(shown(&part).first(), Some(&Row::GetLocal("tiny".into())), "what was begun is gone on with");
    let none = card(Offers { missing: Some("install it".into()), ..offers(&[("small", OfferState::Fits)]) });
    assert_eq!(shown(&none).first(), Some(&Row::NoLocal("install it".into())));
}

#[test]
fn a_key_that_came_before_the_card_was_full_fetches_nothing() {
    let mut model = empty_session();
    let found = Found { local: Some(offers(&[("small", OfferState::Fits)])), ..Found::default() };
    update(&mut model, 0, Msg::Loaded(LoadReply::Found(found)));
    assert_eq!(script(&mut model, "<ret>"), []);
    assert_eq!(model.local.download, None);
    assert_eq!(script(&mut model, "<down><up><ret>"), [gets(1, "small")], "whoever moves has seen it");
}

#[test]
fn enter_pauses_and_goes_on_and_the_model_that_came_answers() {
    let mut model = usual();
    assert_eq!(script(&mut model, "<ret>"), [gets(1, "small")]);
    assert_eq!(shown(&model).first(), Some(&Row::Download));
    hear(&mut model, loading(1, 410));
    assert_eq!(model.local.download.as_ref().map(short), Some("41 %".into()));
    assert_eq!(script(&mut model, "<ret>"), [Effect::Local(LocalOrder::Pause)]);
    hear(&mut model, loading(1, 420));
    assert_eq!(model.local.download.as_ref().map(short), Some("paused, 42 %".into()));
    assert_eq!(script(&mut model, "<ret>"), [gets(2, "small")]);
    hear(&mut model, LocalFact::Got { run: 1, result: Err(GotNot::Paused) });
    let state = model.local.download.as_ref().map(|download| download.state.clone());
    assert_eq!(state, Some(DownloadState::Running), "that was the end of the run before");
    let effects = hear(&mut model, LocalFact::Got { run: 2, result: Ok(()) });
    let wanted = [
        Effect::Agent(AgentCommand::SetModel("local:small".into())),
        Effect::Load(LoadRequest::SaveModel { provider: "local".into(), model: "small".into() }),
        Effect::Load(LoadRequest::LocalModels),
    ];
    assert_eq!(effects.get(..3), Some(&wanted[..]));
    assert_eq!(model.local.download, None);
}

#[test]
fn what_fails_is_said_in_full_and_tried_again() {
    let mut model = usual();
    script(&mut model, "<ret>");
    hear(&mut model, loading(1, 410));
    hear(&mut model, LocalFact::Got { run: 1, result: Err(GotNot::Failed("no network: check it".into())) });
    let state = model.local.download.as_ref().map(|download| download.state.clone());
    assert_eq!(state, Some(DownloadState::Failed("no network: check it".into())));
    assert!(model.notices.shown.is_empty(), "the card says it");
    assert_eq!(script(&mut model, "<ret>"), [gets(2, "small")]);
    // Behind another model it is a notice.
    model.first_run = None;
    hear(&mut model, LocalFact::Got { run: 2, result: Err(GotNot::Failed("a wrong hash".into())) });
    assert_eq!(model.notices.shown.last().map(|notice| notice.text.as_str()), Some("a wrong hash"));
}

#[test]
fn cancelling_asks_and_keeps_what_came_unless_it_is_to_go() {
    let begun = || {
        let mut model = usual();
        script(&mut model, "<ret>");
        hear(&mut model, loading(1, 410));
        script(&mut model, "<del>");
        assert!(matches!(model.tab.modals.last(), Some(Modal::Confirm(_))));
        model
    };
    let mut model = begun();
    assert_eq!(script(&mut model, "<esc>"), [], "neither");
    assert!(model.local.download.is_some());
    let mut model = begun();
    assert_eq!(script(&mut model, "<ret>"), [Effect::Local(LocalOrder::Pause)]);
    assert_eq!(model.local.find("small").map(|offer| offer.state), Some(OfferState::Part(41)));
    let mut model = begun();
    assert_eq!(script(&mut model, "y<ret>"), [Effect::Local(LocalOrder::Drop { name: "small".into() })]);
    assert_eq!(model.local.download, None);
    assert_eq!(hear(&mut model, LocalFact::Dropped(Ok(()))), [Effect::Load(LoadRequest::LocalModels)]);
}

#[test]
fn the_picker_gets_uses_and_doubts() {
    let picked = |name: &str| {
        let mut model = card(offers(&[
            ("here", OfferState::Here),
            ("small", OfferState::Fits),
            ("big", OfferState::Memory(9 << 30)),
            ("huge", OfferState::Disk(99 << 30)),
        ]));
        pick(&mut model, &mut Vec::new());
        let effects = script(&mut model, &format!("{name}<ret>"));
        (model, effects)
    };
    assert!(picked("here").1.contains(&Effect::Agent(AgentCommand::SetModel("local:here".into()))));
    let (small, effects) = picked("small");
    assert_eq!(effects, [gets(1, "small")]);
    assert_eq!(crate::app::lists::first_run::selected(&small), Some(Row::Download), "the card stands where it comes");
    let (mut model, effects) = picked("big");
    assert_eq!(effects, []);
    assert!(matches!(model.tab.modals.last(), Some(Modal::Confirm(asked)) if asked.text.contains("9.7 GB of memory")));
    assert_eq!(script(&mut model, "y<ret>"), [gets(1, "big")]);
    let (model, effects) = picked("huge");
    assert_eq!(effects.iter().filter(|effect| matches!(effect, Effect::Local(_))).count(), 0);
    assert!(model.notices.shown.iter().any(|notice| notice.text.contains("models.dir")), "{:?}", model.notices.shown);
}

#[test]
fn one_download_at_a_time_and_one_behind_another_model_switches_nothing() {
    let mut model = ready();
    if let Some(session) = &mut model.tab.session {
        session.model = "acme:big".into();
    }
    update(
        &mut model,
        0,
        Msg::Loaded(LoadReply::LocalModels(offers(&[("tiny", OfferState::Fits), ("small", OfferState::Fits)]))),
    );
    let mut out = Vec::new();
    get(&mut model, &mut out, "tiny");
    get(&mut model, &mut out, "small");
    assert_eq!(out, [gets(1, "tiny")]);
    assert!(model.notices.shown.iter().any(|notice| notice.text.contains("TINY is on its way")));
    let effects = hear(&mut model, LocalFact::Got { run: 1, result: Ok(()) });
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Agent(_))), "{effects:?}");
    assert!(model.notices.shown.iter().any(|notice| notice.text == "TINY is here: Ctrl-O chooses it"));
}

#[test]
fn the_model_picker_leads_here_and_the_demo_nowhere() {
    let mut model = ready();
    let choice =
        ModelChoice { provider: "local".into(), model: "tiny".into(), detail: "32K · free".into(), ready: true };
    model.choices = vec![choice];
    model.local.offers = Some(offers(&[("tiny", OfferState::Running)]));
    script(&mut model, "<C-o>");
    let Some(Modal::Picker(picker)) = model.tab.modals.last() else { panic!("no picker") };
    let first = &picker.items[0];
    assert_eq!((first.group.as_str(), first.hint.as_str()), ("This computer", "running"));
    let effects = script(&mut model, "Get another<ret>");
    assert_eq!(effects.last(), Some(&Effect::Load(LoadRequest::LocalModels)));
    assert!(matches!(model.tab.modals.last(), Some(Modal::Picker(picker)) if picker.kind == PickerKind::LocalModels));
    let mut demo = ready();
    demo.demo = true;
    script(&mut demo, "<C-o>");
    let Some(Modal::Picker(picker)) = demo.tab.modals.last() else { panic!("no picker") };
    assert!(!picker.items.iter().any(|item| item.label.contains("this computer")), "{:?}", picker.items);
}

#[test]
fn servers_are_looked_at_when_a_turn_begins_and_ends_and_never_by_a_clock() {
    let mut model = ready();
    let begins = || Msg::Agent(AgentEvent::TurnStarted { turn: 1, at: 0 });
    let looks = |effects: &[Effect]| effects.contains(&Effect::Load(LoadRequest::Served));
    assert!(!looks(&update(&mut model, 0, begins())), "none runs");
    let served = Served { name: "small".into(), state: ServedState::On, memory: Some(3 << 30) };
    hear(&mut model, LocalFact::Served(vec![served.clone()]));
    assert!(looks(&update(&mut model, 0, begins())));
    assert_eq!(model.local.served, [served]);
    let mut idle = ready();
    hear(&mut idle, LocalFact::Served(model.local.served));
    assert_eq!(crate::app::window::wake::next_wake(&idle), None);
}

/// The session as it is once its model answers.
fn answers(model: &mut Model) -> Vec<Effect> {
    let mut session = model.tab.session.clone().unwrap();
    session.model = "local:small".into();
    update(model, 2000, Msg::Agent(AgentEvent::SessionChanged(session)))
}

fn submitted(effects: &[Effect]) -> Vec<&str> {
    let of =
        |effect| if let &Effect::Agent(AgentCommand::Submit { ref text, .. }) = effect { Some(&**text) } else { None };
    effects.iter().filter_map(of).collect()
}

fn queued(model: &Model) -> Vec<&str> {
    model.tab.queue.texts().collect()
}

#[test]
fn a_prompt_waits_for_the_first_model_and_is_sent_when_it_is_there() {
    let mut model = usual();
    script(&mut model, "<ret>");
    assert!(submitted(&script(&mut model, "hello<ret>")).is_empty());
    assert_eq!(queued(&model), ["hello"]);
    assert!(composer::is_empty(&model.tab.composer) && model.notices.shown.is_empty(), "{:?}", model.notices.shown);
    hear(&mut model, LocalFact::Got { run: 1, result: Ok(()) });
    assert_eq!(submitted(&answers(&mut model)), ["hello"]);
    assert!(model.tab.queue.is_empty());
}

#[test]
fn a_prompt_that_waits_for_a_model_comes_back_by_the_keys_that_stop() {
    for (keys, left) in [("<esc>", vec!["one"]), ("<C-c>", vec!["one"]), ("<del><ret>", vec!["one"])] {
        let mut model = usual();
        script(&mut model, "<ret>one<ret>two<ret>");
        script(&mut model, keys);
        assert_eq!(composer::text(&model.tab.composer), "two", "{keys}");
        assert_eq!(queued(&model), left, "{keys}");
    }
}

#[test]
fn what_waited_for_a_model_is_the_draft_after_a_restart_beside_a_newer_one() {
    let back = || {
        let prompts = vec![QueuedPrompt { text: "of yesterday".into(), images: vec![] }];
        Msg::Store(StoreReply::Queue { session: None, prompts })
    };
    let mut model = usual();
    update(&mut model, 1000, back());
    assert_eq!((composer::text(&model.tab.composer).as_str(), queued(&model).len()), ("of yesterday", 0));
    let mut model = usual();
    script(&mut model, "newer");
    update(&mut model, 1000, back());
    assert_eq!((composer::text(&model.tab.composer).as_str(), queued(&model)), ("newer", vec!["of yesterday"]));
    // It came before the session was open.
    let mut model = crate::app::tests::model();
    update(&mut model, 0, back());
    let session = crate::app::tests::session("s", "");
    update(&mut model, 0, Msg::Agent(AgentEvent::SessionOpened { session, items: vec![] }));
    assert_eq!(composer::text(&model.tab.composer), "of yesterday");
}
