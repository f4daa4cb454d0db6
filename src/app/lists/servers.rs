//! MCP servers: the list with their state, cost and switch, and what is told when one comes or fails.

mod login;
mod prompts;

pub use login::pasted;
pub use prompts::{ask_prompt, prompted, prompts};

use super::pickers;
use crate::app::action::Action;
use crate::app::approvals::policy_changed;
use crate::app::effect::{Effect, LoadRequest, Report, ServerOrder};
use crate::app::input::hint;
use crate::app::model::Model;
use crate::app::model::modal::{PickItem, PickerKind};
use crate::app::model::notices::About;
use crate::app::model::servers::{ReadWhy, ServerChanges, ServerFact, ServerRow, ServerState};
use crate::protocol::{AgentCommand, Level};
use crate::text::format;

/// Opens the list, or the details of one server.
pub fn open(model: &mut Model, out: &mut Vec<Effect>, argument: &str) {
    match argument.split_whitespace().collect::<Vec<_>>()[..] {
        [] => {}
        ["reload"] => return out.push(Effect::Server(ServerOrder::Reload(ReadWhy::Asked))),
        ["login", name] => return login::begin(model, out, name),
        _ => {
            let argument = argument.trim().to_owned();
            return out.push(Effect::Load(LoadRequest::Report { report: Report::Server, argument }));
        }
    }
    pickers::open(model, PickerKind::Servers, "MCP servers", items(model));
    note(model);
    // The file may have been changed a moment ago, in another terminal.
    out.push(Effect::Agent(AgentCommand::LookAtPolicy));
}

/// A fact of the servers.
pub fn heard(model: &mut Model, out: &mut Vec<Effect>, fact: ServerFact) {
    match fact {
        ServerFact::Read { result: Ok(changes), why } => read(model, &changes, why),
        ServerFact::Read { result: Err(problem), .. } => {
            model.notices.add(model.now, Level::Error, format!("MCP servers unchanged: {problem}"));
        }
        // What it would start is shown first.
        ServerFact::ConfigChanged => out.push(Effect::Agent(AgentCommand::LookAtPolicy)),
        ServerFact::LoginAt { name, address } => login::at(model, out, &name, &address),
        ServerFact::LoggedIn { name, result } => login::ended(model, &name, result),
    }
}

fn read(model: &mut Model, changes: &ServerChanges, why: ReadWhy) {
    let kinds = [(&changes.new, "new"), (&changes.changed, "changed"), (&changes.gone, "gone")];
    let parts: Vec<String> = kinds
        .iter()
        .filter(|(names, _)| !names.is_empty())
        .map(|(names, word)| format!("{} {word}", names.join(", ")))
        .collect();
    let text = match (parts.is_empty(), why) {
        (true, ReadWhy::Asked) => "MCP servers: nothing changed".to_owned(),
        (true, ReadWhy::Along | ReadWhy::Changed) => return,
        (false, ReadWhy::Changed) => format!("config.yaml changed; MCP servers: {}", parts.join(" · ")),
        (false, ReadWhy::Asked | ReadWhy::Along) => format!("MCP servers: {}", parts.join(" · ")),
    };
    model.notices.add(model.now, Level::Info, text);
}

/// New rows of the servers.
pub fn changed(model: &mut Model, rows: Vec<ServerRow>) {
    let mut ready: Vec<&ServerRow> = Vec::new();
    for row in &rows {
        let before = model.servers.iter().find(|known| known.name == row.name).map(|known| known.state);
        if before == Some(row.state) {
            continue;
        }
        let name = &row.name;
        match row.state {
            ServerState::Ready if before != Some(ServerState::Asleep) => ready.push(row),
            ServerState::NeedsLogin => {
                let text = format!("{name} needs a login: /mcp login {name}, or hermes mcp login {name} in a shell");
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
    // At the start they come one after another: one notice counts them.
    let heard = model.notices.shown.iter().any(|notice| notice.about == About::Servers);
    let text = match ready[..] {
        [] => String::new(),
        [row] if !heard => {
            let tools = format::plural(row.tools as u64, "tool", "tools");
            format!("{}: {tools} ready", row.name)
        }
        _ => {
            let all: Vec<&ServerRow> = rows.iter().filter(|row| row.state == ServerState::Ready).collect();
            let tools = format::plural(all.iter().map(|row| row.tools as u64).sum(), "tool", "tools");
            format!("{} MCP servers ready: {tools}", all.len())
        }
    };
    if !text.is_empty() {
        model.notices.about(model.now, Level::Info, About::Servers, text);
    }
    model.servers = rows;
    refresh(model);
}

/// Fills the list again, when it is open.
pub fn refresh(model: &mut Model) {
    let items = items(model);
    if let Some(picker) = pickers::top(model, PickerKind::Servers) {
        pickers::fill(picker, items);
        note(model);
    }
}

/// The value of the row that leads to a changed configuration; no server has such a name.
const CHANGE: &str = "\0change";

/// A changed configuration that nobody has answered for comes first: what it says of servers is not done yet.
fn items(model: &Model) -> Vec<PickItem> {
    let change = PickItem {
        label: "! config.yaml changed".into(),
        detail: "its servers start after you accept the change".into(),
        hint: "waits".into(),
        value: CHANGE.into(),
        ..PickItem::default()
    };
    waits(model).then_some(change).into_iter().chain(model.servers.iter().map(item)).collect()
}

fn waits(model: &Model) -> bool {
    model.tab.policy.changes.iter().any(|change| change.name.ends_with("config.yaml"))
}

fn item(row: &ServerRow) -> PickItem {
    // The sign differs too: colour is never the only one.
    let (dot, state) = match row.state {
        ServerState::Off => ("○", "off"),
        ServerState::Connecting => ("◌", "connecting"),
        ServerState::Ready => ("●", "ready"),
        ServerState::Waiting => ("◌", "retrying"),
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
    if parts.is_empty() && row.state != ServerState::NeedsLogin && !row.why.is_empty() {
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
    let key = hint::picker(model, Action::Accept);
    let enter = |does| hint::sentence(&[(key.clone(), does)]);
    let Some(picker) = pickers::top(model, PickerKind::Servers) else { return };
    let chosen = pickers::chosen(picker).map(|item| item.value.clone()).unwrap_or_default();
    let row = rows.iter().find(|row| row.name == chosen);
    picker.footnote = match row {
        None if chosen == CHANGE => enter("shows the change"),
        None if rows.is_empty() => "none configured: hermes mcp add NAME -- COMMAND, or --url ADDRESS".into(),
        None => String::new(),
        Some(row) => {
            let shell = format!("in a shell: hermes mcp login {}", row.name);
            let needs_login = row.state == ServerState::NeedsLogin;
            let reason = if row.why.is_empty() { &row.last_words } else { &row.why };
            let said = if needs_login { &shell } else { reason };
            let switch = if needs_login {
                enter("logs in")
            } else if is_on(row.state) {
                enter("turns it off")
            } else {
                enter("turns it on")
            };
            let rest = if said.is_empty() { format!("details: /mcp {}", row.name) } else { said.clone() };
            if switch.is_empty() { rest } else { format!("{switch} · {rest}") }
        }
    };
}

fn is_on(state: ServerState) -> bool {
    matches!(state, ServerState::Connecting | ServerState::Ready | ServerState::Waiting | ServerState::Asleep)
}

/// Enter: on or off, or the login that it needs; the list stays. The change of the configuration takes its place.
pub fn switched(model: &mut Model, out: &mut Vec<Effect>, name: &str) {
    if name == CHANGE {
        model.tab.modals.pop();
        return policy_changed::show(model);
    }
    let Some(row) = model.servers.iter().find(|row| row.name == name) else { return };
    if row.state == ServerState::NeedsLogin {
        return login::begin(model, out, name);
    }
    out.push(Effect::Server(ServerOrder::Switch { name: name.to_owned(), on: !is_on(row.state) }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::input::composer;
    use crate::app::model::modal::Modal;
    use crate::app::msg::Msg;
    use crate::app::tests::{ready, script};
    use crate::app::update;

    fn row(name: &str, state: ServerState) -> ServerRow {
        let prompts = vec![("greet".to_owned(), "says hello".to_owned(), vec!["who".to_owned(), "how".to_owned()])];
        ServerRow { name: name.into(), state, tools: 3, tokens: 1234, prompts, ..ServerRow::default() }
    }

    fn heard(model: &mut Model, rows: Vec<ServerRow>) {
        let now = model.now;
        let effects = update(model, now, Msg::Servers(rows));
        assert!(effects.iter().all(|effect| matches!(effect, Effect::WakeAt(_))), "{effects:?}");
    }

    #[test]
    fn the_list_follows_the_servers_and_switches_them() {
        let mut model = ready();
        heard(&mut model, vec![row("git", ServerState::Connecting), row("time", ServerState::Off)]);
        script(&mut model, "/mcp<ret>");
        heard(&mut model, vec![row("git", ServerState::Ready), row("time", ServerState::Off)]);
        assert!(model.notices.shown.iter().any(|notice| notice.text.contains("git: 3 tools")));
        let Some(Modal::Picker(picker)) = model.tab.modals.last() else { panic!() };
        assert_eq!((picker.items[0].label.as_str(), picker.items[0].hint.as_str()), ("● git", "ready"));
        assert!(picker.items[0].detail.starts_with("3 tools · 1.23K tokens"), "{}", picker.items[0].detail);
        assert!(picker.footnote.contains("turns it off"));
        let off = Effect::Server(ServerOrder::Switch { name: "git".into(), on: false });
        assert!(script(&mut model, "<ret>").contains(&off));
        let on = Effect::Server(ServerOrder::Switch { name: "time".into(), on: true });
        assert!(script(&mut model, "<down><ret>").contains(&on));
        assert!(matches!(model.tab.modals.last(), Some(Modal::Picker(_))), "the list stays");
        script(&mut model, "<esc>");
        let report = Effect::Load(LoadRequest::Report { report: Report::Server, argument: "git".into() });
        assert!(script(&mut model, "/mcp git<ret>").contains(&report));
    }

    #[test]
    fn servers_that_come_together_are_told_together() {
        let mut model = ready();
        let texts = |model: &Model| model.notices.shown.iter().map(|notice| notice.text.clone()).collect::<Vec<_>>();
        heard(&mut model, vec![row("a", ServerState::Ready), row("b", ServerState::Connecting)]);
        assert_eq!(texts(&model), ["a: 3 tools ready"]);
        heard(&mut model, vec![row("a", ServerState::Ready), row("b", ServerState::Ready)]);
        assert_eq!(texts(&model), ["2 MCP servers ready: 6 tools"]);
        // Later, one alone has its name again.
        model.now += 60_000;
        let now = model.now;
        update(&mut model, now, Msg::Woke);
        heard(&mut model, vec![row("a", ServerState::Waiting), row("b", ServerState::Ready)]);
        heard(&mut model, vec![row("a", ServerState::Ready), row("b", ServerState::Ready)]);
        assert_eq!(texts(&model), ["a: 3 tools ready"]);
    }

    #[test]
    fn failures_and_logins_are_told_once() {
        let mut model = ready();
        let mut failed = row("git", ServerState::Failed);
        failed.why = "no such program".into();
        heard(&mut model, vec![failed.clone(), row("gh", ServerState::NeedsLogin)]);
        heard(&mut model, vec![failed, row("gh", ServerState::NeedsLogin)]);
        let texts: Vec<&str> = model.notices.shown.iter().map(|notice| notice.text.as_str()).collect();
        assert_eq!(texts.iter().filter(|text| text.contains("no such program")).count(), 1, "{texts:?}");
        assert!(texts.iter().any(|text| text.contains("hermes mcp login gh")));
    }

    #[test]
    fn a_configuration_that_was_read_again_is_told() {
        let changes = ServerChanges { new: vec!["a".into(), "b".into()], changed: vec![], gone: vec!["c".into()] };
        for (result, why, want) in [
            (Ok(ServerChanges::default()), ReadWhy::Changed, None),
            (Ok(ServerChanges::default()), ReadWhy::Along, None),
            (Ok(ServerChanges::default()), ReadWhy::Asked, Some("MCP servers: nothing changed")),
            (Ok(changes.clone()), ReadWhy::Asked, Some("MCP servers: a, b new · c gone")),
            (Ok(changes), ReadWhy::Changed, Some("config.yaml changed; MCP servers: a, b new · c gone")),
            (Err("no".to_owned()), ReadWhy::Changed, Some("MCP servers unchanged: no")),
        ] {
            let mut model = ready();
            let now = model.now;
            update(&mut model, now, Msg::Server(ServerFact::Read { result, why }));
            assert_eq!(model.notices.shown.last().map(|notice| notice.text.as_str()), want, "{why:?}");
        }
        let reload = Effect::Server(ServerOrder::Reload(ReadWhy::Asked));
        assert!(script(&mut ready(), "/mcp reload<ret>").contains(&reload));
    }

    #[test]
    fn prompts_are_commands_whose_text_comes_to_the_composer() {
        let mut model = ready();
        heard(&mut model, vec![row("git", ServerState::Ready)]);
        let args = vec![("who".to_owned(), "Al".to_owned()), ("how".to_owned(), "with a song".to_owned())];
        let wanted = Effect::Load(LoadRequest::Prompt { server: "git".into(), prompt: "greet".into(), args });
        assert!(script(&mut model, "/git:greet Al with a song<ret>").contains(&wanted));
        let now = model.now;
        update(&mut model, now, Msg::Loaded(crate::app::msg::LoadReply::Prompt(Ok("Greet Al.\u{1b}[2J".into()))));
        assert!(composer::text(&model.tab.composer).starts_with("Greet Al."));
        assert!(!composer::text(&model.tab.composer).contains('\u{1b}'));
    }
}
