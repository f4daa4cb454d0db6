//! A server of models by its address: asking it, its key, its model, and making it the one that answers.

use super::{first_run, pickers, self_test};
use crate::app::action::Action;
use crate::app::effect::{Effect, LoadRequest};
use crate::app::input::hint;
use crate::app::model::Model;
use crate::app::model::first_run::{IdleServer, OwnServer, Server};
use crate::app::model::modal::{Confirm, ConfirmThen, InputModal, InputThen, Modal, PickItem, PickerKind};
use crate::app::model::notices::About;
use crate::llm::local::ServerRefused;
use crate::protocol::{AgentCommand, Level};

/// The id of the provider that an address stands for in the config.
const PROVIDER: &str = "custom";

/// Opens the field for an address, with the one of the config.
pub fn ask(model: &mut Model) {
    let text = model.config.model.base_url.clone();
    let hint = "Ollama, llama.cpp, vLLM, LM Studio or any OpenAI- or Anthropic-compatible server: \
                127.0.0.1:8080, https://models.example.com/v1. Hermes asks it for its models.";
    field(model, "Address of your server", hint, text, InputThen::Server);
}

fn field(model: &mut Model, title: &str, hint: &str, text: String, then: InputThen) {
    let masked = matches!(then, InputThen::ServerKey(_));
    model.tab.modals.push(Modal::Input(InputModal {
        title: title.to_owned(),
        hint: hint.to_owned(),
        cursor: text.chars().count(),
        text,
        masked,
        then,
        message: String::new(),
        busy: false,
        inert_until: 0,
    }));
}

fn ask_key(model: &mut Model, base_url: String, message: &str) {
    let title = format!("Key for {base_url}");
    let asks = hint::field(model, Action::Accept).map(|key| format!("; {key} asks the server with it"));
    let hint = format!("Paste it{}.", asks.unwrap_or_default());
    field(model, &title, &hint, String::new(), InputThen::ServerKey(base_url));
    if let Some(Modal::Input(input)) = model.tab.modals.last_mut() {
        input.message = message.to_owned();
    }
}

fn ask_model(model: &mut Model, server: OwnServer) {
    let title = format!("Model at {}", server.base_url);
    let hint = "The server does not list its models. Type the name of the one to use.";
    field(model, &title, hint, String::new(), InputThen::ServerModel(server));
}

/// Enter in one of the fields.
pub fn entered(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(Modal::Input(input)) = model.tab.modals.last_mut() else { return };
    let text = input.text.trim().to_owned();
    let request = match &input.then {
        InputThen::Server if text.is_empty() => return "enter an address first".clone_into(&mut input.message),
        InputThen::ServerKey(_) if text.is_empty() => return "paste the key first".clone_into(&mut input.message),
        InputThen::ServerModel(_) if text.is_empty() => return "enter a name first".clone_into(&mut input.message),
        InputThen::Server => LoadRequest::TryServer { address: text, key: String::new() },
        InputThen::ServerKey(base_url) => LoadRequest::TryServer { address: base_url.clone(), key: text },
        InputThen::ServerModel(server) => LoadRequest::UseServer { server: server.clone(), model: text },
        InputThen::Title
        | InputThen::TitleOf(_)
        | InputThen::TagsOf(_)
        | InputThen::Key(_)
        | InputThen::Find
        | InputThen::Seek
        | InputThen::Login(_)
        | InputThen::Ask(_) => return,
    };
    input.busy = true;
    input.message = "asking the server…".into();
    out.push(Effect::Load(request));
}

/// A server that was found is chosen: its model is used, or chosen from its list.
pub fn chosen(model: &mut Model, out: &mut Vec<Effect>, server: Server) {
    offer(model, out, server, String::new());
}

fn offer(model: &mut Model, out: &mut Vec<Effect>, server: Server, key: String) {
    let own = OwnServer { base_url: server.base_url.clone(), key };
    match server.models.as_slice() {
        [] => {
            let text = format!("{} has no model loaded: load one, then choose it again", server.label());
            model.notices.add(model.now, Level::Warning, text);
            out.push(Effect::Load(LoadRequest::FirstRun));
        }
        [only] => out.push(Effect::Load(LoadRequest::UseServer { server: own, model: only.clone() })),
        several => {
            let row = |name: &String| PickItem { label: name.clone(), value: name.clone(), ..PickItem::default() };
            let rows = several.iter().map(row).collect();
            let title = format!("Models at {}", server.address());
            model.own_server = own;
            pickers::open(model, PickerKind::Served, &title, rows);
        }
    }
}

/// A row of the picker of a server's models.
pub fn picked(model: &mut Model, out: &mut Vec<Effect>, name: &str) {
    let server = std::mem::take(&mut model.own_server);
    out.push(Effect::Load(LoadRequest::UseServer { server, model: name.to_owned() }));
}

/// Takes the field that asked away. `false`: it was left by now, and what it asked for is not wanted any more.
fn answered(model: &mut Model, asked: impl Fn(&InputThen) -> bool) -> bool {
    let waits = matches!(model.tab.modals.last(), Some(Modal::Input(input)) if input.busy && asked(&input.then));
    if waits {
        model.tab.modals.pop();
    }
    waits
}

/// What the server at an address said.
pub fn tried(
    model: &mut Model,
    out: &mut Vec<Effect>,
    address: String,
    key: String,
    outcome: Result<Server, ServerRefused>,
) {
    if let Err(ServerRefused::Other(why)) = outcome {
        if let Some(Modal::Input(input)) = model.tab.modals.last_mut().filter(|modal| is_server_field(modal))
            && input.busy
        {
            input.busy = false;
            input.message = why;
        }
        return;
    }
    let asked = |then: &InputThen| match then {
        InputThen::Server => key.is_empty(),
        InputThen::ServerKey(base_url) => *base_url == address,
        InputThen::Title
        | InputThen::TitleOf(_)
        | InputThen::TagsOf(_)
        | InputThen::Key(_)
        | InputThen::ServerModel(_)
        | InputThen::Find
        | InputThen::Seek
        | InputThen::Login(_)
        | InputThen::Ask(_) => false,
    };
    if !answered(model, asked) {
        return;
    }
    match outcome {
        Ok(server) => offer(model, out, server, key),
        Err(ServerRefused::Key(base_url)) if key.is_empty() => ask_key(model, base_url, "the server needs a key"),
        Err(ServerRefused::Key(base_url)) => ask_key(model, base_url, "the server rejected this key"),
        Err(ServerRefused::NoList(base_url)) => ask_model(model, OwnServer { base_url, key }),
        Err(ServerRefused::Other(_)) => {}
    }
}

fn is_server_field(modal: &Modal) -> bool {
    let Modal::Input(input) = modal else { return false };
    matches!(input.then, InputThen::Server | InputThen::ServerKey(_) | InputThen::ServerModel(_))
}

/// The server and its model stand in the config: they answer from now on.
pub fn used(model: &mut Model, out: &mut Vec<Effect>, name: &str, result: Result<(), String>) {
    if model.tab.modals.last().is_some_and(is_server_field) {
        model.tab.modals.pop();
    }
    if let Err(error) = result {
        return model.notices.add(model.now, Level::Error, format!("could not save the server: {error}"));
    }
    model.first_choice = false;
    out.push(Effect::Agent(AgentCommand::Reload));
    let choice = format!("{PROVIDER}:{name}");
    out.push(Effect::Agent(AgentCommand::SetModel(choice.clone())));
    self_test::chosen(model, out, &choice);
}

/// Whether a server that is installed is to be started.
pub fn ask_start(model: &mut Model, idle: &IdleServer) {
    let text = format!("It runs `{}` in the background. {} goes on when Hermes ends.", idle.line, idle.name);
    let then = ConfirmThen::StartServer(idle.clone());
    model.tab.modals.push(Modal::Confirm(Confirm::new(format!("Start {}", idle.name), text, "Start it", then)));
}

/// The person said yes.
pub fn start(model: &mut Model, out: &mut Vec<Effect>, idle: &IdleServer) {
    model.notices.about(model.now, Level::Info, About::Setting("server"), format!("starting {}…", idle.name));
    out.push(Effect::Load(LoadRequest::StartServer { provider: idle.provider.clone() }));
}

/// It answers, or why not.
pub fn started(model: &mut Model, out: &mut Vec<Effect>, result: Result<(), String>) {
    model.notices.settled(&About::Setting("server"));
    match result {
        Ok(()) => first_run::look_again(model, out),
        Err(why) => model.notices.add(model.now, Level::Error, why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::model::first_run::Found;
    use crate::app::msg::{LoadReply, Msg};
    use crate::app::tests::{empty_session, script};
    use crate::app::update;

    const BASE: &str = "http://127.0.0.1:8081/v1";

    fn server(models: &[&str]) -> Server {
        Server {
            name: String::new(),
            base_url: BASE.into(),
            models: models.iter().map(|name| (*name).into()).collect(),
        }
    }

    fn card(models: &[&str]) -> Model {
        let mut model = empty_session();
        let found = Found { servers: vec![server(models)], ..Found::default() };
        update(&mut model, 0, Msg::Loaded(LoadReply::Found(found)));
        model
    }

    fn used_with(key: &str, name: &str) -> Effect {
        let server = OwnServer { base_url: BASE.into(), key: key.into() };
        Effect::Load(LoadRequest::UseServer { server, model: name.into() })
    }

    fn answer(model: &mut Model, key: &str, outcome: Result<Server, ServerRefused>) -> Vec<Effect> {
        let address = if key.is_empty() { "127.0.0.1:8081".into() } else { BASE.into() };
        update(model, 0, Msg::Loaded(LoadReply::ServerTried { address, key: key.into(), outcome }))
    }

    #[test]
    fn a_found_server_with_one_model_is_used_by_one_key() {
        let mut model = card(&["qwen"]);
        assert_eq!(script(&mut model, "<ret>"), [used_with("", "qwen")]);
        let reply = LoadReply::ServerUsed { model: "qwen".into(), result: Ok(()) };
        let effects = update(&mut model, 0, Msg::Loaded(reply));
        let set = AgentCommand::SetModel("custom:qwen".into());
        assert_eq!(effects, [Effect::Agent(AgentCommand::Reload), Effect::Agent(set)]);
    }

    #[test]
    fn of_several_models_one_is_chosen_and_without_any_it_is_said() {
        let mut model = card(&["small", "big"]);
        assert_eq!(script(&mut model, "<ret>big<ret>"), [used_with("", "big")]);
        let mut model = card(&[]);
        assert!(script(&mut model, "<ret>").contains(&Effect::Load(LoadRequest::FirstRun)));
        let said: Vec<&str> = model.notices.shown.iter().map(|notice| notice.text.as_str()).collect();
        assert!(said.iter().any(|text| text.starts_with("server on port 8081 has no model loaded")), "{said:?}");
    }

    #[test]
    fn an_address_leads_to_its_key_and_its_model() {
        let mut model = card(&[]);
        let effects = script(&mut model, "<down><ret>127.0.0.1:8081<ret>");
        let tried = |address: &str, key: &str| LoadRequest::TryServer { address: address.into(), key: key.into() };
        assert_eq!(effects, [Effect::Load(tried("127.0.0.1:8081", ""))]);
        assert_eq!(answer(&mut model, "", Err(ServerRefused::Key(BASE.into()))), []);
        assert_eq!(script(&mut model, "k3y<ret>"), [Effect::Load(tried(BASE, "k3y"))]);
        assert_eq!(answer(&mut model, "k3y", Err(ServerRefused::NoList(BASE.into()))), []);
        assert_eq!(script(&mut model, "mine<ret>"), [used_with("k3y", "mine")]);
        let reply = LoadReply::ServerUsed { model: "mine".into(), result: Ok(()) };
        update(&mut model, 0, Msg::Loaded(reply));
        assert!(model.tab.modals.is_empty(), "{:?}", model.tab.modals);
    }

    #[test]
    fn a_wrong_address_stays_in_the_field_and_a_late_answer_opens_nothing() {
        let mut model = card(&[]);
        script(&mut model, "<down><ret>nowhere<ret>");
        answer(&mut model, "", Err(ServerRefused::Other("no answer".into())));
        let Some(Modal::Input(input)) = model.tab.modals.last() else { panic!("{:?}", model.tab.modals) };
        assert_eq!((input.text.as_str(), input.message.as_str(), input.busy), ("nowhere", "no answer", false));
        script(&mut model, "<ret><esc>");
        assert_eq!(answer(&mut model, "", Ok(server(&["qwen"]))), [], "it was left");
        assert!(model.tab.modals.is_empty());
    }
}
