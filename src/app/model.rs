//! All UI state, one struct a concern. The view reads it; only `update` changes it.

pub mod approvals;
pub mod composer;
pub mod first_run;
pub mod layout;
pub mod modal;
pub mod notices;
pub mod processes;
pub mod sidebar;
pub mod transcript;
pub mod types;

use crate::agent::event::{Meter, SessionInfo};
use crate::config::Config;
use crate::config::skin::Look;
use std::sync::Arc;

/// The state of the screen.
pub struct Model {
    /// Milliseconds since the epoch, from the last message. Clocks on the screen read it.
    pub now: i64,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// `None` until the agent has opened one; typing works all the same.
    pub session: Option<SessionInfo>,
    pub turn: TurnStatus,
    pub meter: Meter,
    pub transcript: transcript::Transcript,
    pub composer: composer::Composer,
    /// Prompts that wait for the running turn to end, oldest first.
    pub queue: Vec<String>,
    pub approvals: approvals::Inbox,
    pub processes: processes::Processes,
    pub sidebar: sidebar::Sidebar,
    /// Topmost last.
    pub modals: Vec<modal::Modal>,
    pub focus: Pane,
    pub notices: notices::Notices,
    pub first_run: Option<first_run::FirstRun>,
    /// Keys of a chord so far and since when, for the which-key popup.
    pub chord: Option<Chord>,
    pub config: Arc<Config>,
    /// Skin and theme, resolved.
    pub look: Arc<Look>,
    /// What the last frame put where.
    pub layout: layout::Layout,
    pub mouse_captured: bool,
    pub window_focused: bool,
    /// Set when leaving was asked for once (Ctrl-C on an empty composer), until this time.
    pub quit_armed: Option<i64>,
    pub demo: bool,
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
    pub stopping: bool,
    pub retry: Option<Retry>,
    /// Tool calls whose arguments still stream: index, name, bytes.
    pub calls: Vec<(usize, String, usize)>,
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
}
