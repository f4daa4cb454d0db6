//! The card of a start without a model: what was found, what can be set up, and a way to try it offline.

use super::{local_models, models, own_server, sign_in};
use crate::app::action::Action;
use crate::app::effect::{Effect, LoadRequest};
use crate::app::input::hint;
use crate::app::model::Model;
use crate::app::model::first_run::{FirstRun, Found, IdleServer, Server};
use crate::app::model::local::{Local, OfferState};
use crate::app::model::sign_in::SignInRow;
use crate::app::window::modals;
use crate::protocol::{AgentCommand, Level};

/// Providers that are listed before the rest is asked for.
const PROVIDERS: usize = 8;
/// The same on a screen with fewer rows than this.
const FEW: usize = 6;
const SCARCE: u16 = 36;
/// Rows of the screen that are not the card's.
const AROUND: usize = 8;
/// Rows of the card beside keys, servers and providers: welcome, the own server with its heading, the group without an
/// account, headings, the way to the rest, the foot.
const FIXED: usize = 13;

/// Rows that a model of this computer takes: its own, what comes with it, the way to others.
const LOCAL: usize = 4;
/// Models that are here and listed.
const HERE: usize = 3;
/// Milliseconds in which no model is fetched after the card has filled: the key was meant for what was there before.
const INERT: i64 = 300;

/// How many providers leave the rest of the card in view.
fn listed(card: &FirstRun, found: &Found, local: &Local) -> usize {
    if card.room == 0 || card.room >= SCARCE {
        return PROVIDERS;
    }
    let group = |rows: usize| if rows > 0 { rows + 2 } else { 0 };
    let own = if local.offers.is_some() { LOCAL } else { 0 };
    let groups = group(own) + group(found.keys.len());
    let servers = found.servers.len() + found.idle.len();
    let taken = AROUND + FIXED + groups + servers + found.sign_ins.len();
    usize::from(card.room).saturating_sub(taken).clamp(1, FEW)
}

/// The card fits the screen, and its selection is one of its rows.
pub fn settle(model: &mut Model) {
    let room = model.size.1;
    let Some(card) = model.first_run.as_mut().filter(|card| card.room != room) else { return };
    card.room = room;
    let last = rows(card, &model.local).len() - 1;
    card.selected = card.selected.min(last);
}

/// A row of the card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// A key that is there already: provider and where it comes from.
    Key(String, String),
    /// A local server that answered.
    Server(Server),
    /// A server that is installed and does not run.
    Idle(IdleServer),
    /// A server that the person gives the address of.
    OwnServer,
    /// A model that is here, by its name.
    UseLocal(String),
    /// A model that can be had, by its name.
    GetLocal(String),
    /// The model on its way.
    Download,
    /// All models for this computer.
    MoreLocal,
    /// Nothing serves models here, and why.
    NoLocal(String),
    /// A provider to sign in to without a key.
    SignIn(SignInRow),
    /// A provider that takes a pasted key.
    Provider(String),
    /// The scripted demo.
    Offline,
    /// This many more providers.
    More(usize),
}

/// The rows of the card, in the order in which they are shown and selected.
pub fn rows(card: &FirstRun, local: &Local) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut servers = false;
    if let Some(found) = &card.found {
        rows.extend(found.keys.iter().map(|(provider, from)| Row::Key(provider.clone(), from.clone())));
        rows.extend(found.servers.iter().cloned().map(Row::Server));
        servers = !found.servers.is_empty();
    }
    let idle = card.found.iter().flat_map(|found| found.idle.iter().cloned().map(Row::Idle));
    let rest: Vec<Row> = idle.chain([Row::OwnServer]).collect();
    // What works with one key comes before what wants an address, or a program to be started.
    if servers {
        rows.extend(rest);
        rows.extend(on_this_computer(local));
    } else {
        rows.extend(on_this_computer(local));
        rows.extend(rest);
    }
    rows.push(Row::Offline);
    if let Some(found) = &card.found {
        rows.extend(found.sign_ins.iter().cloned().map(Row::SignIn));
        let shown =
            if card.all { found.providers.len() } else { found.providers.len().min(listed(card, found, local)) };
        rows.extend(found.providers.iter().take(shown).cloned().map(Row::Provider));
        if shown < found.providers.len() {
            rows.push(Row::More(found.providers.len() - shown));
        }
    }
    rows
}

/// The model of this computer to take or to get, and the way to others.
fn on_this_computer(local: &Local) -> Vec<Row> {
    let Some(offers) = &local.offers else { return Vec::new() };
    let named = |fits: fn(OfferState) -> bool| {
        offers.rows.iter().filter(move |row| fits(row.state)).map(|row| row.name.clone())
    };
    let mut rows: Vec<Row> = named(OfferState::is_here).take(HERE).map(Row::UseLocal).collect();
    let part = named(|state| matches!(state, OfferState::Part(_))).next_back();
    match (&local.download, &offers.missing) {
        (Some(_), _) => rows.push(Row::Download),
        (None, Some(why)) => return vec![Row::NoLocal(why.clone())],
        (None, None) => {
            let best = offers.best.clone().filter(|_| rows.is_empty());
            rows.extend(part.or(best).map(Row::GetLocal));
        }
    }
    if !offers.rows.is_empty() {
        rows.push(Row::MoreLocal);
    }
    rows
}

/// Shows the card and looks for what is there.
pub fn open(model: &mut Model, out: &mut Vec<Effect>) {
    model.first_run = Some(FirstRun::default());
    model.first_choice = true;
    out.push(Effect::Load(LoadRequest::FirstRun));
}

/// The person comes back to the window: a login, a key or a server may have come meanwhile.
pub fn look_again(model: &Model, out: &mut Vec<Effect>) {
    if model.first_run.as_ref().is_some_and(|card| card.found.is_some()) {
        out.push(Effect::Load(LoadRequest::FirstRun));
    }
}

/// What was found; the selected row stays the same one.
pub fn found(model: &mut Model, mut found: Found) {
    change(model, |model| {
        if let Some(offers) = found.local.take() {
            local_models::listed(model, offers);
        }
        if let Some(card) = &mut model.first_run {
            card.found = Some(found);
        }
    });
}

/// Changes what the card lists; the selected row stays the same one, or the one that took its place.
pub fn change(model: &mut Model, change: impl FnOnce(&mut Model)) {
    let before = model.first_run.as_ref().map(|card| (card.found.is_some(), card.selected, rows(card, &model.local)));
    change(model);
    let (Some(card), Some((filled, selected, before))) = (&mut model.first_run, before) else { return };
    let now = rows(card, &model.local);
    if now == before {
        return;
    }
    if !filled && selected == 0 {
        card.selected = 0;
        card.inert_until = model.now + INERT;
        return;
    }
    let row = before.get(selected);
    let same = now.iter().position(|it| Some(it) == row);
    let local = |row: &Row| matches!(row, Row::UseLocal(_) | Row::GetLocal(_) | Row::Download | Row::NoLocal(_));
    // The model on its way stands where it was offered.
    let in_place = row.filter(|row| local(row)).and_then(|_| now.iter().position(local));
    card.selected = same.or(in_place).unwrap_or(selected.min(now.len() - 1));
}

/// An action while the card is shown and nothing is written. `false`: the composer gets the key.
pub fn act(model: &mut Model, out: &mut Vec<Effect>, action: Action) -> bool {
    let Some(card) = &mut model.first_run else { return false };
    let last = rows(card, &model.local).len() - 1;
    match action {
        Action::Previous => card.selected = card.selected.checked_sub(1).unwrap_or(last),
        Action::Next => card.selected = if card.selected >= last { 0 } else { card.selected + 1 },
        Action::Accept => return accept(model, out),
        Action::CancelDownload if model.local.download.is_some() => local_models::ask_cancel(model),
        _ => return false,
    }
    // Whoever moves has seen the card.
    if let Some(card) = &mut model.first_run {
        card.inert_until = 0;
    }
    true
}

fn accept(model: &mut Model, out: &mut Vec<Effect>) -> bool {
    let gets = matches!(selected(model), Some(Row::GetLocal(_)));
    let early = model.first_run.as_ref().is_some_and(|card| model.now < card.inert_until);
    if !(gets && early) {
        choose(model, out);
    }
    true
}

/// The selection goes to this row, where it is one.
pub fn select(model: &mut Model, row: &Row) {
    let Some(card) = &mut model.first_run else { return };
    if let Some(at) = rows(card, &model.local).iter().position(|it| it == row) {
        card.selected = at;
    }
}

/// The row that Enter takes.
pub fn selected(model: &Model) -> Option<Row> {
    let card = model.first_run.as_ref()?;
    rows(card, &model.local).get(card.selected).cloned()
}

/// Takes the selected row.
pub fn choose(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(row) = selected(model) else { return };
    match row {
        // the first of the rest takes its place
        Row::More(_) => {
            if let Some(card) = &mut model.first_run {
                card.all = true;
            }
        }
        Row::Key(provider, _) => models::pick_of(model, out, &provider),
        Row::Server(server) => own_server::chosen(model, out, server),
        Row::Idle(idle) => own_server::ask_start(model, &idle),
        Row::OwnServer => own_server::ask(model),
        Row::SignIn(row) => sign_in::begin(model, out, &row.provider),
        Row::Provider(provider) => modals::ask_key(model, &provider),
        Row::UseLocal(name) => local_models::use_it(model, out, &name),
        Row::GetLocal(name) => local_models::get(model, out, &name),
        Row::Download => local_models::toggle(model, out),
        Row::MoreLocal => local_models::pick(model, out),
        // Something may have been installed meanwhile.
        Row::NoLocal(_) => local_models::ask(model, out),
        Row::Offline => {
            model.demo = true;
            out.push(Effect::Load(LoadRequest::Demo));
        }
    }
}

/// A click on a row selects it, on the selected one it takes it.
pub fn click(model: &mut Model, out: &mut Vec<Effect>, row: usize) {
    let Some(card) = &mut model.first_run else { return };
    if row >= rows(card, &model.local).len() {
        return;
    }
    if card.selected == row {
        choose(model, out);
    } else {
        card.selected = row;
    }
}

/// A pasted key was tried: it is stored, or the field says what was wrong and Enter stores it all the same.
pub fn key_tried(model: &mut Model, out: &mut Vec<Effect>, provider: &str, outcome: Result<String, String>) {
    let how = hint::sentence(&[
        (hint::field(model, Action::Accept), "saves it anyway"),
        (hint::field(model, Action::Close), "cancels"),
    ]);
    let how = if how.is_empty() { how } else { format!(" {how}.") };
    let Some(field) = modals::key_field(model, provider) else { return };
    match outcome {
        Ok(said) => {
            field.message = said;
            let key = field.text.trim().to_owned();
            out.push(Effect::Load(LoadRequest::SaveKey { provider: provider.to_owned(), key }));
        }
        Err(error) => {
            field.busy = false;
            field.message = format!("{error}.{how}");
        }
    }
}

/// The key is stored: the models of its provider can be chosen.
pub fn key_saved(model: &mut Model, out: &mut Vec<Effect>, provider: &str, result: Result<(), String>) {
    match result {
        Ok(()) => {
            model.notices.add(model.now, Level::Info, format!("stored the key for {provider}"));
            out.push(Effect::Agent(AgentCommand::Reload));
            if modals::key_field(model, provider).is_some() {
                model.tab.modals.pop();
                models::pick_of(model, out, provider);
            }
        }
        Err(error) => match modals::key_field(model, provider) {
            Some(field) => {
                field.busy = false;
                field.message = error;
            }
            None => model.notices.add(model.now, Level::Error, error),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::effect::AccountOrder;
    use crate::app::input::composer;
    use crate::app::model::modal::Modal;
    use crate::app::msg::{LoadReply, Msg};
    use crate::app::tests::{empty_session, script};
    use crate::app::update;

    fn card() -> Model {
        let mut model = empty_session();
        let found = Found {
            keys: vec![("openai".into(), "OPENAI_API_KEY in the environment".into())],
            servers: vec![],
            providers: vec!["anthropic".into()],
            ..Found::default()
        };
        update(&mut model, 0, Msg::Loaded(LoadReply::Found(found)));
        model
    }

    #[test]
    fn without_a_model_the_card_opens_and_typing_goes_to_the_composer() {
        let mut model = card();
        let shown = model.first_run.as_ref().map(|card| rows(card, &model.local)).unwrap_or_default();
        assert_eq!(shown.len(), 4);
        assert_eq!(shown.get(1..3), Some(&[Row::OwnServer, Row::Offline][..]));
        let effects = script(&mut model, "hello<ret>");
        let waits = model.tab.queue.prompts.iter().map(|prompt| prompt.text.as_str()).collect::<Vec<_>>();
        assert_eq!(waits, ["hello"], "nothing is sent and nothing is lost");
        assert!(composer::is_empty(&model.tab.composer), "the keys are the card's again");
        assert!(!effects.iter().any(|effect| matches!(effect, Effect::Agent(_))), "{effects:?}");
    }

    #[test]
    fn rows_lead_to_models_keys_and_the_demo() {
        let mut model = card();
        assert_eq!(script(&mut model, "<down><down><ret>"), [Effect::Load(LoadRequest::Demo)]);
        let mut model = card();
        let effects = script(&mut model, "<ret>");
        assert_eq!(effects, [Effect::Load(LoadRequest::Models { refresh: false })]);
    }

    #[test]
    fn a_provider_is_signed_in_to_and_a_login_made_elsewhere_is_found() {
        let mut model = card();
        let sign_in = SignInRow { provider: "nous".into(), title: "Nous Portal".into(), ..SignInRow::default() };
        let found = |keys: &[&str], sign_ins: Vec<SignInRow>| {
            let keys = keys.iter().map(|provider| ((*provider).to_owned(), "signed in".to_owned())).collect();
            let found = Found { keys, sign_ins, providers: vec!["anthropic".into()], ..Found::default() };
            Msg::Loaded(LoadReply::Found(found))
        };
        update(&mut model, 0, found(&["openai"], vec![sign_in]));
        script(&mut model, "<down><down><down>");
        let begun = Effect::Account(AccountOrder::SignIn { provider: "nous".into() });
        assert!(script(&mut model, "<ret>").contains(&begun));
        script(&mut model, "<esc>");
        let effects = update(&mut model, 0, Msg::FocusChanged(true));
        assert!(effects.contains(&Effect::Load(LoadRequest::FirstRun)), "{effects:?}");
        update(&mut model, 0, found(&["openai", "nous"], vec![]));
        let shown = model.first_run.as_ref().map(|card| rows(card, &model.local)).unwrap_or_default();
        assert_eq!(shown.get(1), Some(&Row::Key("nous".into(), "signed in".into())));
        assert!(!shown.iter().any(|row| matches!(row, Row::SignIn(_))), "{shown:?}");
    }

    #[test]
    fn many_providers_are_listed_when_asked_for() {
        let mut model = card();
        if let Some(found) = model.first_run.as_mut().and_then(|card| card.found.as_mut()) {
            found.providers = (0..20).map(|number| format!("p{number}")).collect();
        }
        let last = |model: &Model| model.first_run.as_ref().and_then(|card| rows(card, &model.local).last().cloned());
        assert_eq!(last(&model), Some(Row::More(12)));
        assert_eq!(script(&mut model, "<up><ret>"), []);
        assert_eq!(last(&model), Some(Row::Provider("p19".into())));
        assert_eq!(model.first_run.as_ref().map(|card| card.selected), Some(11), "the first of the rest");
    }

    #[test]
    fn the_model_chosen_after_a_key_is_the_default_though_the_key_closed_the_card() {
        let mut model = card();
        script(&mut model, "<down><down><down><ret>sk-1<ret>");
        let provider = || "anthropic".to_owned();
        update(
            &mut model,
            0,
            Msg::Loaded(LoadReply::KeyTried { provider: provider(), outcome: Ok("it answered".into()) }),
        );
        update(&mut model, 0, Msg::Loaded(LoadReply::KeySaved { provider: provider(), result: Ok(()) }));
        // The configuration was read again: some model answers by now.
        let mut session = model.tab.session.clone().unwrap_or_else(|| panic!("a session"));
        session.model = "anthropic:its-usual-one".into();
        update(&mut model, 0, Msg::Agent(crate::protocol::AgentEvent::SessionChanged(session)));
        assert!(model.first_run.is_none());
        let choice = |id: &str| crate::app::msg::ModelChoice {
            provider: provider(),
            model: id.into(),
            detail: String::new(),
            ready: true,
        };
        let choices = vec![choice("the-chosen-one")];
        update(&mut model, 0, Msg::Loaded(LoadReply::Models { choices, problems: vec![] }));
        let effects = script(&mut model, "<ret>");
        let saved = LoadRequest::SaveModel { provider: provider(), model: "the-chosen-one".into() };
        assert!(effects.contains(&Effect::Load(saved)), "{effects:?}");
    }

    #[test]
    fn a_refused_key_advises_and_never_walls() {
        let mut model = card();
        let effects = script(&mut model, "<down><down><down><ret>sk-1<ret>");
        let tried = LoadRequest::TryKey { provider: "anthropic".into(), key: "sk-1".into() };
        assert_eq!(effects, [Effect::Load(tried)]);
        let outcome = Err("anthropic refused the key".into());
        update(&mut model, 0, Msg::Loaded(LoadReply::KeyTried { provider: "anthropic".into(), outcome }));
        let saved = LoadRequest::SaveKey { provider: "anthropic".into(), key: "sk-1".into() };
        assert_eq!(script(&mut model, "<ret>"), [Effect::Load(saved)]);
        let reply = LoadReply::KeySaved { provider: "anthropic".into(), result: Ok(()) };
        let effects = update(&mut model, 0, Msg::Loaded(reply));
        assert!(effects.contains(&Effect::Agent(AgentCommand::Reload)));
        assert!(matches!(model.tab.modals.last(), Some(Modal::Picker(_))), "the models of the provider");
    }
}
