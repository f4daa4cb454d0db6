//! What the tests of this room share: a keymap, models in usual states, and scripts of keys.

use super::effect::Effect;
use super::model::Model;
use super::msg::Msg;
use super::update;
use crate::config::Config;
use crate::config::keymap::{Code, Key, Keymap};
use crate::config::skin::Appearance;
use crate::config::theme::ColorDepth;
use crate::exec::{ProcessId, ProcessInfo, ProcessState, Vitals};
use crate::policy::Mode;
use crate::protocol::{AgentEvent, Body, Effort, Item, ItemId, Origin, SessionInfo};
use std::sync::{Arc, LazyLock};

/// Keys of a script: characters, and `<ret>`, `<C-x>`, `<A-left>` and the like.
pub fn keys(script: &str) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut rest = script;
    while let Some(first) = rest.chars().next() {
        if first == '<'
            && let Some(end) = rest.find('>').filter(|end| *end > 1)
        {
            keys.push(named(&rest[1..end]));
            rest = &rest[end + 1..];
        } else {
            keys.push(Key { code: Code::Char(first), ctrl: false, alt: false, shift: false });
            rest = &rest[first.len_utf8()..];
        }
    }
    keys
}

fn named(name: &str) -> Key {
    let (mut ctrl, mut alt, mut shift) = (false, false, false);
    let mut name = name;
    loop {
        match name.get(..2) {
            Some("C-") => ctrl = true,
            Some("A-") => alt = true,
            Some("S-") => shift = true,
            _ => break,
        }
        name = &name[2..];
    }
    let code = match name {
        "ret" => Code::Enter,
        "esc" => Code::Esc,
        "tab" if shift => {
            shift = false;
            Code::BackTab
        }
        "tab" => Code::Tab,
        "space" => Code::Char(' '),
        "backspace" => Code::Backspace,
        "del" => Code::Delete,
        "up" => Code::Up,
        "down" => Code::Down,
        "left" => Code::Left,
        "right" => Code::Right,
        "home" => Code::Home,
        "end" => Code::End,
        "pgup" => Code::PageUp,
        "pgdn" => Code::PageDown,
        _ => match name.strip_prefix('f').and_then(|n| n.parse().ok()) {
            Some(n) => Code::F(n),
            None => Code::Char(name.chars().next().expect("a key")),
        },
    };
    Key { code, ctrl, alt, shift }
}

/// A message of one key.
pub fn key(script: &str) -> Msg {
    Msg::Key(keys(script)[0])
}

/// Presses the keys of a script, all at the model's time; returns all effects.
pub fn script(model: &mut Model, script: &str) -> Vec<Effect> {
    let now = model.now;
    keys(script).into_iter().flat_map(|key| update(model, now, Msg::Key(key))).collect()
}

/// Presses the keys of a script at a time.
pub fn script_at(model: &mut Model, now: i64, script: &str) -> Vec<Effect> {
    keys(script).into_iter().flat_map(|key| update(model, now, Msg::Key(key))).collect()
}

/// The default bindings.
pub fn keymap() -> Arc<Keymap> {
    static KEYMAP: LazyLock<Arc<Keymap>> =
        LazyLock::new(|| Arc::new(Keymap::defaults().expect("the default keymap is sound")));
    KEYMAP.clone()
}

/// The default look, without colours.
pub fn look() -> Appearance {
    static LOOK: LazyLock<Appearance> =
        LazyLock::new(|| Appearance::fallback(ColorDepth::NoColor).expect("the default look is sound"));
    LOOK.clone()
}

/// A model before its session is open.
pub fn model() -> Model {
    let look = Arc::new(look());
    let mut config = Config::default();
    // Choosing a model asks for nothing more: who tests that sets it.
    config.models.self_test = false;
    Model::new(Arc::new(config), look, keymap(), (120, 40), "/src/app".into(), 0)
}

/// A command that runs.
pub fn process(id: &str, background: bool) -> ProcessInfo {
    ProcessInfo {
        task: "s".into(),
        id: ProcessId(id.into()),
        command: id.into(),
        cwd: "/".into(),
        pid: 1,
        background,
        started_at: 0,
        state: ProcessState::Running,
        port: None,
        output_bytes: 0,
        vitals: Vitals::default(),
    }
}

/// A session of this model.
pub fn session(id: &str, model: &str) -> SessionInfo {
    SessionInfo {
        id: id.into(),
        title: None,
        model: model.into(),
        effort: Effort::Medium,
        mode: Mode::Ask,
        cwd: "/src/app".into(),
        place: "local".into(),
        unavailable: Default::default(),
        window: None,
        toolsets: None,
        auto_approver: None,
        untrusted: Vec::new(),
    }
}

/// A model with a new session, ready for a prompt.
pub fn ready() -> Model {
    let mut model = model();
    opened(&mut model, "s", &[]);
    model
}

/// A model with a session that has no model.
pub fn empty_session() -> Model {
    let mut model = model();
    let event = AgentEvent::SessionOpened { session: session("s", ""), items: vec![] };
    update(&mut model, 0, Msg::Agent(event));
    model
}

/// Opens a session with these prompts.
pub fn opened(model: &mut Model, id: &str, prompts: &[&str]) -> Vec<Effect> {
    let items = prompts.iter().enumerate().map(|(at, text)| user(at as i64 + 1, text)).collect();
    let now = model.now;
    update(model, now, Msg::Agent(AgentEvent::SessionOpened { session: session(id, "acme:large"), items }))
}

/// A prompt as the store keeps it.
pub fn user(id: i64, text: &str) -> Item {
    let body = Body::User {
        text: text.into(),
        images: vec![],
        context: String::new(),
        origin: Origin::Person,
        gist: String::new(),
    };
    item(id, body)
}

/// An item of turn 1.
pub fn item(id: i64, body: Body) -> Item {
    Item { id: ItemId(id), at: 0, turn: 1, body }
}
