//! All UI state, one struct a concern. The view reads it; only `update` changes it.

pub mod approvals;
pub mod composer;
pub mod extensions;
pub mod first_run;
pub mod layout;
pub mod local;
pub mod modal;
pub mod notices;
pub mod permissions;
pub mod processes;
pub mod queue;
pub mod replay;
pub mod rewind;
pub mod selection;
pub mod self_test;
pub mod servers;
pub mod sidebar;
pub mod sign_in;
pub mod stats;
pub mod tab;
pub mod toolsets;
pub mod transcript;
pub mod types;
pub mod undo;
pub mod worktree;

use crate::app::input::vi;
use crate::app::lists::uses;
use crate::app::msg::ModelChoice;
use crate::app::window::talk;
use crate::config::Config;
use crate::config::keymap::Keymap;
use crate::config::skin::Appearance;
use crate::protocol::CallRow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The state of the screen.
pub struct Model {
    /// Milliseconds since the epoch, from the last message. Clocks on the screen read it.
    pub now: i64,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// The session in view.
    pub tab: tab::Tab,
    /// The other ones, in the order of the title row.
    pub parked: Vec<tab::Tab>,
    /// How many of them stand left of the one in view.
    pub at: usize,
    /// Tabs made so far, for their numbers.
    pub tab_count: u64,
    /// The sessions that a killed window would come back with.
    pub saved_tabs: Vec<tab::KeptTab>,
    /// Those of a window that was killed, which a key brings back.
    pub lost_tabs: Vec<tab::KeptTab>,
    /// What commands of agents ask of this window, the oldest first.
    pub wishes: Vec<talk::Wish>,
    /// Checkouts that several sessions of this window may change.
    pub shared_checkouts: Vec<String>,
    pub extensions: extensions::Extensions,
    /// When the last key or paste came; `None` before the first.
    pub keyed_at: Option<i64>,
    /// MCP servers, by name.
    pub servers: Vec<servers::ServerRow>,
    /// The mouse button is down.
    pub pressed: Option<Pressed>,
    /// The last press, for double and triple clicks.
    pub click: Option<Click>,
    pub notices: notices::Notices,
    /// What can't be saved now and what to do, in words: it stands on the screen until it can.
    pub unsaved: Option<String>,
    pub first_run: Option<first_run::FirstRun>,
    /// The card was shown and no model chosen yet: the one that is chosen becomes the default.
    pub first_choice: bool,
    /// The server whose models the picker lists.
    pub own_server: first_run::OwnServer,
    /// Keys of a chord so far and since when, for the which-key popup.
    pub chord: Option<Chord>,
    pub config: Arc<Config>,
    /// Skin and theme, resolved.
    pub look: Arc<Appearance>,
    /// What the last frame put where.
    pub layout: layout::Layout,
    pub mouse_captured: bool,
    pub window_focused: bool,
    /// Set when leaving was asked for once (Ctrl-C on an empty composer), until this time.
    pub quit_armed: Option<i64>,
    pub demo: bool,
    /// Models of this computer.
    pub local: local::Local,
    pub keymap: Arc<Keymap>,
    /// The person's home folder, absolute: shown as `~`.
    pub home: String,
    /// The profile in use, unless it is the default one.
    pub profile: Option<String>,
    /// Models as last listed.
    pub choices: Vec<ModelChoice>,
    /// Providers that offer a sign-in without a key.
    pub sign_ins: Vec<sign_in::SignInRow>,
    /// The model that was chosen and that nobody has tested.
    pub self_test: Option<self_test::SelfTest>,
    /// Models used lately, newest last.
    pub recent_models: Vec<String>,
    pub appearance: Looks,
    /// Words of tools for calls of a resumed session, by tool name.
    pub tool_words: Arc<BTreeMap<String, ToolWords>>,
    /// The time of the earliest wake-up that was asked for and has not come.
    pub wake: Option<i64>,
    /// How much each command is used.
    pub uses: uses::Uses,
    /// vi keys: on or off, and where each field is.
    pub vi: vi::Vi,
    /// Rules as last listed.
    pub permissions: permissions::Permissions,
    /// Toolsets as last listed.
    pub toolsets: Vec<toolsets::ToolsetRow>,
    /// The shape that the terminal's cursor was last given.
    pub caret: vi::Caret,
    /// The window title that was last set.
    pub window_title: String,
}

/// The files of the policy, as far as they are not what the session read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyOnDisk {
    pub changes: Vec<crate::protocol::PolicyChange>,
    /// The card was put aside: it opens by itself only when there is news.
    pub aside: bool,
    /// The person took the change, and the agent has not said yet whether it is still that one.
    pub taking: bool,
}

/// A prompt on its way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sent {
    pub text: String,
    pub images: Vec<crate::protocol::Image>,
}

/// Skins and themes that can be chosen, and a choice under way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Looks {
    /// Name and description.
    pub skins: Vec<(String, String)>,
    pub themes: Vec<(String, String)>,
    /// What Esc brings back while a preview is shown.
    pub before: Option<Arc<Appearance>>,
    /// The name that was asked for last; other answers come too late.
    pub wanted: Option<String>,
    /// `skin-next` waits for the list.
    pub next: bool,
}

/// How a tool is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolWords {
    pub emoji: String,
    /// `running`, `reading`.
    pub running: String,
    /// `ran`, `read`.
    pub done: String,
    pub row: CallRow,
}

/// What the agent does now.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum TurnStatus {
    #[default]
    Idle,
    Running(Running),
}

/// A running turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Running {
    pub turn: u32,
    pub step: u32,
    /// Milliseconds since the epoch.
    pub started_at: i64,
    pub step_started_at: i64,
    /// Milliseconds of it in which the person was waited for, and those before this step.
    pub waited: i64,
    pub waited_before_step: i64,
    /// Since when they are waited for.
    pub waits_since: Option<i64>,
    pub stopping: bool,
    pub retry: Option<Retry>,
    /// What is waited for before the model can answer, and since when.
    pub waiting: Option<(String, i64)>,
    /// Tool calls whose arguments still stream: index, name, bytes.
    pub calls: Vec<(usize, String, usize)>,
}

impl Running {
    /// Milliseconds that the turn has worked.
    pub fn worked(&self, now: i64) -> u64 {
        (now - self.started_at - self.waited_at(now)).max(0) as u64
    }

    /// The same of its step.
    pub fn step_worked(&self, now: i64) -> u64 {
        (now - self.step_started_at - (self.waited_at(now) - self.waited_before_step)).max(0) as u64
    }

    fn waited_at(&self, now: i64) -> i64 {
        self.waited + self.waits_since.map_or(0, |since| (now - since).max(0))
    }
}

/// A wait before the next try.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    pub reason: String,
    pub attempt: u32,
    pub of: u32,
    /// Milliseconds since the epoch.
    pub until: i64,
}

/// What becomes of a selection that is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copying {
    /// It was dragged with the mouse, and stays.
    Keep,
    Clear,
}

/// Selecting with the keyboard; the caret is the `to` of the selection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyMode {
    /// `v` was pressed: the other end stays.
    pub marking: bool,
    /// The caret left the screen; the next frame puts it on the first (-1) or last (1) row.
    pub beyond: i8,
}

/// What the mouse button went down on, and what dragging therefore does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pressed {
    /// Selects in the conversation.
    Conversation(transcript::Spot, selection::Grain),
    /// Selects in another pane.
    Surface(selection::Surface, selection::Point, selection::Grain),
    Border(layout::Border),
    /// Goes to the program in the terminal pane.
    Program,
}

/// A press of the mouse button.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Click {
    pub column: u16,
    pub row: u16,
    /// Milliseconds since the epoch.
    pub at: i64,
    /// Presses in a row at this cell, 1 to 3.
    pub count: u8,
}

/// What can have the focus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pane {
    #[default]
    Composer,
    Conversation,
    Terminal,
    Sidebar,
    /// The strip of queued prompts.
    Queue,
}

/// A started chord.
#[derive(Clone, Debug, PartialEq)]
pub struct Chord {
    pub keys: Vec<crate::config::keymap::Key>,
    /// Milliseconds since the epoch.
    pub since: i64,
    /// The popup of what follows is open.
    pub shown: bool,
    /// Pages of it that were turned.
    pub page: usize,
}

impl Model {
    /// A folder as a person writes it: the home folder is `~`.
    pub fn shown_folder(&self, folder: &str) -> String {
        match folder.strip_prefix(self.home.as_str()) {
            Some("") if !self.home.is_empty() => "~".to_owned(),
            Some(rest) if !self.home.is_empty() && rest.starts_with('/') => format!("~{rest}"),
            Some(_) | None => folder.to_owned(),
        }
    }
}
