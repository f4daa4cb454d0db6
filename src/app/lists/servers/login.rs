//! A login to an MCP server: the address to visit, the field for the one that the browser ended at, and how it ended.

use crate::app::effect::{Effect, ServerOrder};
use crate::app::model::Model;
use crate::app::model::modal::{InputModal, InputThen, Modal};
use crate::protocol::Level;

/// Begins a login; a field opens at once, the address comes to it.
pub fn begin(model: &mut Model, out: &mut Vec<Effect>, name: &str) {
    if !model.servers.iter().any(|row| row.name == name) {
        model.notices.add(model.now, Level::Warning, format!("no MCP server is named {name}; /mcp lists them"));
        return;
    }
    close(model);
    model.tab.modals.push(Modal::Input(InputModal {
        title: format!("Log in to {name}"),
        hint: "Browser on another machine? Paste the address it ends at".into(),
        text: String::new(),
        cursor: 0,
        masked: false,
        then: InputThen::Login(name.to_owned()),
        message: format!("asking {name} where to log in…"),
        busy: true,
        inert_until: 0,
    }));
    out.push(Effect::Server(ServerOrder::Login { name: name.to_owned() }));
}

/// The field of a login, of this server or of any.
fn field<'a>(model: &'a mut Model, name: Option<&str>) -> Option<&'a mut InputModal> {
    model.tab.modals.iter_mut().find_map(|modal| {
        let Modal::Input(input) = modal else { return None };
        let InputThen::Login(server) = &input.then else { return None };
        name.is_none_or(|name| name == server).then_some(input)
    })
}

fn close(model: &mut Model) {
    model.tab.modals.retain(|modal| !matches!(modal, Modal::Input(InputModal { then: InputThen::Login(_), .. })));
}

/// Where to log in is known: it is shown, and copied for a browser of another machine.
pub fn at(model: &mut Model, out: &mut Vec<Effect>, name: &str, address: &str) {
    let Some(input) = field(model, Some(name)) else { return };
    input.busy = false;
    input.message = format!("Log in in your browser. This address opens, and is on your clipboard:\n{address}");
    out.push(Effect::Copy(address.to_owned()));
}

/// Enter: what was pasted goes to the login.
pub fn pasted(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(input) = field(model, None) else { return };
    let address = input.text.trim().to_owned();
    if address.starts_with("http") {
        input.busy = true;
        out.push(Effect::Server(ServerOrder::CameBack { address }));
    } else if !address.is_empty() {
        let text = "paste the whole address, including http";
        model.notices.add(model.now, Level::Warning, text);
    }
}

/// It ended; one that was left is not told.
pub fn ended(model: &mut Model, name: &str, result: Result<(), String>) {
    if field(model, Some(name)).is_none() {
        return;
    }
    close(model);
    match result {
        Ok(()) => model.notices.add(model.now, Level::Info, format!("logged in to {name}")),
        Err(why) => model.notices.add(model.now, Level::Error, format!("not logged in to {name}: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::model::servers::{ServerFact, ServerRow, ServerState};
    use crate::app::msg::Msg;
    use crate::app::tests::{ready, script};
    use crate::app::update;

    fn locked() -> Model {
        let mut model = ready();
        let row = ServerRow { name: "wiki".into(), state: ServerState::NeedsLogin, ..ServerRow::default() };
        let now = model.now;
        update(&mut model, now, Msg::Servers(vec![row]));
        model
    }

    fn fact(model: &mut Model, fact: ServerFact) -> Vec<Effect> {
        let now = model.now;
        update(model, now, Msg::Server(fact))
    }

    fn shown(model: &Model) -> Option<&InputModal> {
        model.tab.modals.iter().find_map(|modal| match modal {
            Modal::Input(input) => Some(input),
            _ => None,
        })
    }

    #[test]
    fn enter_on_a_locked_server_logs_in() {
        let login = Effect::Server(ServerOrder::Login { name: "wiki".into() });
        for keys in ["/mcp<ret><ret>", "/mcp login wiki<ret>"] {
            let mut model = locked();
            assert!(script(&mut model, keys).contains(&login), "{keys}");
            assert!(shown(&model).is_some_and(|input| input.busy));
            let address = "https://login.example/authorize?x=1".to_owned();
            let effects = fact(&mut model, ServerFact::LoginAt { name: "wiki".into(), address: address.clone() });
            assert!(effects.contains(&Effect::Copy(address.clone())));
            assert!(shown(&model).is_some_and(|input| !input.busy && input.message.contains(&address)));
            // The browser is on another machine.
            assert!(!script(&mut model, "code<ret>").iter().any(|effect| matches!(effect, Effect::Server(_))));
            assert!(shown(&model).is_some_and(|input| input.message.contains(&address)), "it stays in view");
            let back = Effect::Server(ServerOrder::CameBack { address: "http://x/?code=1".into() });
            assert!(script(&mut model, "<C-u>http://x/?code=1<ret>").contains(&back));
            fact(&mut model, ServerFact::LoggedIn { name: "wiki".into(), result: Ok(()) });
            assert!(shown(&model).is_none());
            assert!(model.notices.shown.iter().any(|notice| notice.text == "logged in to wiki"));
        }
    }

    #[test]
    fn a_login_can_be_left_and_can_fail() {
        let mut model = locked();
        script(&mut model, "/mcp login wiki<ret>");
        assert!(script(&mut model, "<esc>").contains(&Effect::Server(ServerOrder::LeaveLogin)));
        fact(&mut model, ServerFact::LoggedIn { name: "wiki".into(), result: Err("too late".into()) });
        assert!(!model.notices.shown.iter().any(|notice| notice.text.contains("too late")));
        script(&mut model, "/mcp login wiki<ret>");
        fact(&mut model, ServerFact::LoggedIn { name: "wiki".into(), result: Err("refused".into()) });
        assert!(shown(&model).is_none());
        assert!(model.notices.shown.iter().any(|notice| notice.text == "not logged in to wiki: refused"));
        let mut model = locked();
        assert!(!script(&mut model, "/mcp login nobody<ret>").iter().any(|effect| matches!(effect, Effect::Server(_))));
    }
}
