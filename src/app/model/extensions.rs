//! Hooks and plugins as the screen knows them.

use crate::config::trust::Project;

/// All of it, as last told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extensions {
    /// Counts changes; the next answer is for a later one.
    pub revision: u64,
    /// Slash commands that plugins bring.
    pub commands: Vec<PluginCommand>,
    pub plugins: Vec<PluginRow>,
    pub hooks: Vec<HookRow>,
    /// What could not be read.
    pub problems: Vec<String>,
    /// What a person should look at before it runs.
    pub card: Option<TrustCard>,
    /// A card that was put aside: it opens by itself only when it changed.
    pub aside: Option<TrustCard>,
}

/// A slash command of a plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginCommand {
    /// Without the slash.
    pub name: String,
    pub plugin: String,
    pub description: String,
    /// What it takes, as shown.
    pub argument: String,
}

/// How a plugin stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PluginState {
    #[default]
    Off,
    Starting,
    Ready,
    Failed,
    Untrusted,
}

/// One plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginRow {
    pub name: String,
    pub version: String,
    pub description: String,
    pub state: PluginState,
    /// Why it is as it is; empty when it is ready.
    pub detail: String,
    /// `home`, `project`.
    pub from: &'static str,
    pub tools: Vec<String>,
    pub hooks: Vec<String>,
    pub commands: Vec<String>,
    pub problems: Vec<String>,
    /// The end of its standard error.
    pub tail: Vec<String>,
}

/// One command hook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookRow {
    pub event: String,
    /// Empty: every tool.
    pub matcher: String,
    pub command: String,
    pub project: bool,
    /// It runs.
    pub allowed: bool,
    /// Its script is not what it was when it was allowed.
    pub drift: String,
}

/// What would run and has no yes yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustCard {
    pub project: Option<Project>,
    /// The person's own hooks: event and command.
    pub hooks: Vec<(String, String)>,
}
