//! MCP servers: the list with their state, cost and switch, and what is told when one comes or fails.

use super::effect::{Effect, LoadRequest, ServerOrder};
use super::model::Model;
use super::model::modal::{PickItem, PickerKind};
use super::model::servers::{ServerRow, ServerState};
use super::{composer, pickers};
use crate::agent::event::Level;
use crate::text::format;

/// Opens the list, or the details of one server.
pub fn open(model: &mut Model, out: &mut Vec<Effect>, argument: &str) {
    match argument.trim() {
        "" => {}
        "reload" => return out.push(Effect::Server(ServerOrder::Reload)),
        name => {
            return out.push(Effect::Load(LoadRequest::Report { name: "mcp".into(), argument: name.into() }));
        }
    }
    pickers::open(model, PickerKind::Servers, "MCP servers", items(&model.servers));
    note(model);
}

/// New facts of the servers.
pub fn changed(model: &mut Model, rows: Vec<ServerRow>) {
    for row in &rows {
        let before = model.servers.iter().find(|known| known.name == row.name).map(|known| known.state);
        if before == Some(row.state) {
            continue;
        }
        let name = &row.name;
        match row.state {
            ServerState::Ready if before != Some(ServerState::Asleep) => {
                let tools = format::plural(row.tools as u64, "tool", "tools");
                model.notices.add(model.now, Level::Info, format!("{name}: {tools} of this server can be used now"));
            }
            ServerState::NeedsLogin => {
                let text = format!("{name} needs a login: hermes mcp login {name}");
                model.notices.add(model.now, Level::Warning, text);
            }
            ServerState::Failed => {
                model.notices.add(
                    model.now,
                    Level::Warning,
                    format!("MCP server {name} failed: {}; see /mcp", row.why),
                );
            }
            ServerState::Ready
            | ServerState::Off
            | ServerState::Connecting
            | ServerState::Waiting
            | ServerState::Asleep => {}
        }
    }
    model.servers = rows;
    let items = items(&model.servers);
    if let Some(picker) = pickers::top(model, PickerKind::Servers) {
        pickers::fill(picker, items);
        note(model);
    }
}

fn items(rows: &[ServerRow]) -> Vec<PickItem> {
    rows.iter().map(item).collect()
}

fn item(row: &ServerRow) -> PickItem {
    // The sign differs too: colour is never the only one.
    let (dot, state) = match row.state {
        ServerState::Off => ("○", "off"),
        ServerState::Connecting => ("◌", "connecting"),
        ServerState::Ready => ("●", "ready"),
        ServerState::Waiting => ("◌", "trying again"),
        ServerState::Asleep => ("◐", "asleep"),
        ServerState::NeedsLogin => ("⌨", "needs a login"),
        ServerState::Failed => ("✗", "failed"),
    };
    let mut parts = Vec::new();
    if row.tools > 0 {
        parts.push(format::plural(row.tools as u64, "tool", "tools"));
        parts.push(format!("{} tokens", format::tokens(i64::try_from(row.tokens).unwrap_or(i64::MAX))));
    }
    if row.resources > 0 {
        parts.push(format::plural(row.resources as u64, "resource", "resources"));
    }
    if !row.prompts.is_empty() {
        parts.push(format::plural(row.prompts.len() as u64, "prompt", "prompts"));
    }
    if row.problems > 0 {
        parts.push(format::plural(row.problems as u64, "warning", "warnings"));
    }
    if parts.is_empty() && !row.why.is_empty() {
        parts.push(row.why.clone());
    }
    PickItem {
        label: format!("{dot} {}", row.name),
        detail: parts.join(" · "),
        hint: state.to_owned(),
        value: row.name.clone(),
        ..PickItem::default()
    }
}

/// What is known of the selected server, below the list.
pub fn note(model: &mut Model) {
    let rows = model.servers.clone();
    let Some(picker) = pickers::top(model, PickerKind::Servers) else { return };
    let row = pickers::chosen(picker).and_then(|item| rows.iter().find(|row| row.name == item.value));
    picker.footnote = match row {
        None if rows.is_empty() => "none is set up: hermes mcp add NAME -- COMMAND, or --url ADDRESS".into(),
        None => String::new(),
        Some(row) => {
            let said = if row.why.is_empty() { &row.last_words } else { &row.why };
            let switch = if is_on(row.state) { "Enter switches it off" } else { "Enter switches it on" };
            if said.is_empty() {
                format!("{switch} · /mcp {} tells more", row.name)
            } else {
                format!("{switch} · {said}")
            }
        }
    };
}

fn is_on(state: ServerState) -> bool {
    matches!(state, ServerState::Connecting | ServerState::Ready | ServerState::Waiting | ServerState::Asleep)
}

/// Enter: on or off, and the list stays.
pub fn switched(model: &mut Model, out: &mut Vec<Effect>, name: &str) {
    let Some(row) = model.servers.iter().find(|row| row.name == name) else { return };
    out.push(Effect::Server(ServerOrder::Switch { name: name.to_owned(), on: !is_on(row.state) }));
}

/// The prompts of servers as commands: `/server:prompt`.
pub fn prompts(model: &Model) -> impl Iterator<Item = (String, &str)> {
    model
        .servers
        .iter()
        .flat_map(|row| row.prompts.iter().map(|(prompt, about, _)| (format!("{}:{prompt}", row.name), about.as_str())))
}

/// Asks for a prompt that a command names. `false`: there is none of that name.
pub fn ask_prompt(model: &Model, out: &mut Vec<Effect>, word: &str, argument: &str) -> bool {
    let found = model.servers.iter().find_map(|row| {
        let prompt = word.strip_prefix(&row.name)?.strip_prefix(':')?;
        let (name, _, args) = row.prompts.iter().find(|(name, _, _)| name == prompt)?;
        Some((row.name.clone(), name.clone(), arguments(args, argument)))
    });
    let Some((server, prompt, args)) = found else { return false };
    out.push(Effect::Load(LoadRequest::Prompt { server, prompt, args }));
    true
}

/// `name=value` by name; anything else goes to the parameters in order, the last one taking the rest.
fn arguments(names: &[String], text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut rest: Vec<&str> = Vec::new();
    for word in text.split_whitespace() {
        match word.split_once('=').filter(|(name, _)| names.iter().any(|known| known == name)) {
            Some((name, value)) => found.push((name.to_owned(), value.to_owned())),
            None => rest.push(word),
        }
    }
    let free: Vec<&String> = names.iter().filter(|name| !found.iter().any(|(known, _)| known == *name)).collect();
    let mut words = rest.into_iter();
    for (at, name) in free.iter().enumerate() {
        let value = if at + 1 == free.len() {
            words.by_ref().collect::<Vec<_>>().join(" ")
        } else {
            words.next().unwrap_or_default().to_owned()
        };
        if !value.is_empty() {
            found.push(((*name).clone(), value));
        }
    }
    found
}

/// A prompt came: into the composer, for the person to look at.
pub fn prompted(model: &mut Model, out: &mut Vec<Effect>, result: Result<String, String>) {
    match result {
        Ok(text) => {
            composer::set_text(model, &super::paste::harmless(text.trim()));
            composer::changed(model, out);
        }
        Err(why) => model.notices.add(model.now, Level::Error, why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::model::modal::Modal;
    use crate::app::msg::Msg;
    use crate::app::tests::{ready, script};
    use crate::app::update;

    fn row(name: &str, state: ServerState) -> ServerRow {
        let prompts = vec![("greet".to_owned(), "says hello".to_owned(), vec!["who".to_owned(), "how".to_owned()])];
        ServerRow { name: name.into(), state, tools: 3, tokens: 1234, prompts, ..ServerRow::default() }
    }

    fn told(model: &mut Model, rows: Vec<ServerRow>) {
        let now = model.now;
        let effects = update(model, now, Msg::Servers(rows));
        assert!(effects.iter().all(|effect| matches!(effect, Effect::WakeAt(_))), "{effects:?}");
    }

    #[test]
    fn the_list_follows_the_servers_and_switches_them() {
        let mut model = ready();
        told(&mut model, vec![row("git", ServerState::Connecting), row("time", ServerState::Off)]);
        script(&mut model, "/mcp<ret>");
        told(&mut model, vec![row("git", ServerState::Ready), row("time", ServerState::Off)]);
        assert!(model.notices.shown.iter().any(|notice| notice.text.contains("git: 3 tools")));
        let Some(Modal::Picker(picker)) = model.modals.last() else { panic!() };
        assert_eq!((picker.items[0].label.as_str(), picker.items[0].hint.as_str()), ("● git", "ready"));
        assert!(picker.items[0].detail.starts_with("3 tools · 1.23K tokens"), "{}", picker.items[0].detail);
        assert!(picker.footnote.contains("switches it off"));
        let off = Effect::Server(ServerOrder::Switch { name: "git".into(), on: false });
        assert!(script(&mut model, "<ret>").contains(&off));
        let on = Effect::Server(ServerOrder::Switch { name: "time".into(), on: true });
        assert!(script(&mut model, "<down><ret>").contains(&on));
        assert!(matches!(model.modals.last(), Some(Modal::Picker(_))), "the list stays");
        script(&mut model, "<esc>");
        let report = Effect::Load(LoadRequest::Report { name: "mcp".into(), argument: "git".into() });
        assert!(script(&mut model, "/mcp git<ret>").contains(&report));
    }

    #[test]
    fn failures_and_logins_are_told_once() {
        let mut model = ready();
        let mut failed = row("git", ServerState::Failed);
        failed.why = "no such program".into();
        told(&mut model, vec![failed.clone(), row("gh", ServerState::NeedsLogin)]);
        told(&mut model, vec![failed, row("gh", ServerState::NeedsLogin)]);
        let texts: Vec<&str> = model.notices.shown.iter().map(|notice| notice.text.as_str()).collect();
        assert_eq!(texts.iter().filter(|text| text.contains("no such program")).count(), 1, "{texts:?}");
        assert!(texts.iter().any(|text| text.contains("hermes mcp login gh")));
    }

    #[test]
    fn prompts_are_commands_whose_text_comes_to_the_composer() {
        let mut model = ready();
        told(&mut model, vec![row("git", ServerState::Ready)]);
        let args = vec![("who".to_owned(), "Al".to_owned()), ("how".to_owned(), "with a song".to_owned())];
        let wanted = Effect::Load(LoadRequest::Prompt { server: "git".into(), prompt: "greet".into(), args });
        assert!(script(&mut model, "/git:greet Al with a song<ret>").contains(&wanted));
        let now = model.now;
        update(&mut model, now, Msg::Loaded(crate::app::msg::LoadReply::Prompt(Ok("Greet Al.\u{1b}[2J".into()))));
        assert!(composer::text(&model.composer).starts_with("Greet Al."));
        assert!(!composer::text(&model.composer).contains('\u{1b}'));
        assert_eq!(
            arguments(&["a".into(), "b".into()], "b=2 x y"),
            [("b".into(), "2".into()), ("a".into(), "x y".into())]
        );
    }
}
