//! Facts that reach the UI.

use crate::app::model::first_run::Server;
use crate::app::model::layout::Layout;
use crate::app::model::tab::TabId;
use crate::app::window::talk::AskedId;
use crate::config::keymap::Key;
use crate::exec::ProcessEvent;
use crate::llm::local::ServerRefused;
use crate::protocol::AgentEvent;
use crate::store::StoreReply;

/// Everything that can happen, closed.
#[derive(Clone, Debug, PartialEq)]
pub enum Msg {
    // input
    Key(Key),
    Pasted(String),
    Mouse(Mouse),
    /// Columns and rows.
    Resized(u16, u16),
    FocusChanged(bool),
    // time
    /// A wake-up that an effect asked for.
    Woke,
    // workers
    /// A fact of this session, whichever is in view.
    Of(crate::protocol::SessionId, Box<Msg>),
    /// The engine opens this session for a tab.
    Bound(TabId, crate::protocol::SessionId),
    /// The sessions of a window that was killed.
    LostTabs(Vec<crate::app::model::tab::KeptTab>),
    /// Another program asks something of this window; the command of an agent that does, if one does.
    Window(AskedId, crate::protocol::WindowRequest, Option<String>),
    /// The program that asked has left.
    WindowGone(AskedId),
    /// The session of the tab is over, and nobody closed it.
    Ended,
    /// Of the session in view.
    Agent(AgentEvent),
    Process(ProcessEvent),
    Store(StoreReply),
    Loaded(LoadReply),
    /// MCP servers changed.
    Servers(Vec<crate::app::model::servers::ServerRow>),
    Server(crate::app::model::servers::ServerFact),
    /// A sign-in goes on, or is over.
    Account(crate::app::model::sign_in::AccountFact),
    /// Of models of this computer.
    Local(crate::app::model::local::LocalFact),
    // shell
    /// What the last frame put where.
    Drawn(Box<Layout>),
    /// SIGTERM, SIGHUP or SIGINT from outside.
    Terminated,
    /// The external editor runs as this process.
    EditorStarted(crate::exec::ProcessId),
    /// The external editor ended with this text, or did not do its work.
    Edited(Result<String, String>),
    /// What is known of a copy, or why there is none.
    Copied(Result<String, String>),
}

/// A mouse fact; wheel steps are summed, rows down are positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mouse {
    pub column: u16,
    pub row: u16,
    pub kind: MouseKind,
    pub shift: bool,
}

/// What the mouse did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MouseKind {
    Press,
    Drag,
    Release,
    Wheel(i16),
}

/// Answers to `Effect::Load`, by what was asked.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "rare and short-lived: a look is loaded when a person chooses one")]
pub enum LoadReply {
    /// Models that can be chosen, with prices and windows; the error names the provider and the remedy.
    Models { choices: Vec<ModelChoice>, problems: Vec<String> },
    /// A server that was to be started answers, or why not.
    ServerStarted(Result<(), String>),
    /// The list of models, and the name that was looked for.
    NamedModel { name: String, choices: Vec<ModelChoice>, problems: Vec<String> },
    /// What there is for this computer, and the name that was looked for.
    NamedLocal { name: String, offers: crate::app::model::local::Offers },
    /// What the first-run card found.
    Found(crate::app::model::first_run::Found),
    /// Models of this computer, and those that it could have.
    LocalModels(crate::app::model::local::Offers),
    /// The servers of models that this window uses.
    Served(Vec<crate::app::model::local::Served>),
    /// One live call with a pasted key.
    KeyTried { provider: String, outcome: Result<String, String> },
    /// Nothing is known of a model that was chosen; `is_near`: it runs on this machine or network.
    Untested { model: String, is_near: bool },
    /// What its self-test found, a line each and what was measured first, or why it could not be tested.
    SelfTested { model: String, result: Result<Vec<String>, String> },
    /// Memory, skills and context files that the prompt was made of.
    Knowledge(crate::app::model::sidebar::Knowledge),
    /// A look (skin and theme) ready to use.
    Appearance { name: String, result: Result<crate::config::skin::Appearance, String> },
    /// Where a session was written to, or why not.
    Exported(String),
    /// Branch and changed files of the working folder.
    Git(Option<crate::app::model::sidebar::Git>),
    /// Who else works in the checkout of the session; `None`: it works in none.
    Neighbours(Option<crate::app::model::tab::Neighbours>),
    /// Folder and branch of a new worktree, or why there is none.
    Worktree(Result<(String, String), String>),
    /// What a worktree holds, or why that can't be known; `wanted` as it was asked.
    TreeChanges { wanted: String, result: Result<Box<crate::protocol::TreeChanges>, String> },
    /// The hunks of one of its files.
    TreeHunks { path: String, result: Result<Box<crate::protocol::TreeHunks>, String> },
    /// A worktree was removed, in words, or why not.
    WorktreeDropped { folder: String, result: Result<String, String> },
    /// Sessions that are open in other windows.
    OtherWindows(Vec<OtherSession>),
    /// A session was shown in its window, or why not.
    WindowFocused(Result<(), String>),
    /// Files of the session that differ from what its tools found: path, lines added and removed.
    Files { session: crate::protocol::SessionId, files: Vec<(String, u32, u32)> },
    /// Toolsets, by name.
    Toolsets(Vec<crate::app::model::toolsets::ToolsetRow>),
    /// The rules that hold here.
    Permissions(crate::app::model::permissions::Permissions),
    /// What the rules say to a command.
    Tried { command: String, verdict: String },
    /// A rule was taken back, or why not.
    Revoked(Result<String, String>),
    /// Paths that complete a word, best first; a second answer may follow.
    Paths { word: String, paths: Vec<FoundPath> },
    /// The prompts of the open session, newest first, or why they can't be had.
    RewindPoints(Result<Vec<crate::protocol::RewindPoint>, String>),
    /// What going back to this prompt would mean.
    RewindPreview { item: crate::protocol::ItemId, preview: Result<Box<crate::protocol::RewindPreview>, String> },
    /// The commands of the open session that changed files, newest first, or why they can't be had.
    UndoPoints(Result<Vec<crate::protocol::UndoPoint>, String>),
    /// What undoing this command would mean.
    UndoPreview { command: i64, preview: Result<Box<crate::protocol::UndoPreview>, String> },
    /// A part of a time line, or why it can't be had.
    Replay { session: crate::protocol::SessionId, page: Result<Box<crate::protocol::ReplayPage>, String> },
    /// What a moment of it shows.
    ReplayMoment {
        session: crate::protocol::SessionId,
        stop: crate::protocol::Stop,
        moment: Result<crate::protocol::ReplayMoment, String>,
    },
    /// An image to attach, or why there is none.
    Image(Result<crate::protocol::Image, String>),
    /// Name and description of skins and themes.
    Looks { skins: Vec<(String, String)>, themes: Vec<(String, String)> },
    /// A pasted key was stored, or why not.
    KeySaved { provider: String, result: Result<(), String> },
    /// Logins of a provider were thrown away, in words, or why not.
    LoggedOut(Result<String, String>),
    /// What a server at an address offers, or why it can't be used; `address` and `key` as they were given.
    ServerTried { address: String, key: String, outcome: Result<Server, ServerRefused> },
    /// A server and its model stand in the config, or why not.
    ServerUsed { model: String, result: Result<(), String> },
    /// A prompt of an MCP server, or why there is none.
    Prompt(Result<String, String>),
    /// Sessions of other agents; `more`: not all were looked at, and what could not be read.
    Elsewhere { query: String, rows: Vec<crate::store::SessionRow>, more: bool, problems: Vec<String> },
    /// The start of a session of another agent.
    ElsewherePreview { key: String, items: Result<Vec<crate::protocol::Item>, String> },
    /// The session that goes on, or words that list what there is to take.
    TakenOver(Result<crate::app::session::elsewhere::TakenOver, String>),
    /// Sessions of a Python Hermes were brought over.
    Migrated(Result<String, String>),
    /// Figures of the last days, or why there are none.
    Stats { days: Option<u32>, figures: Result<Box<crate::protocol::Figures>, String> },
    /// What went by itself, or that sessions take more than they may.
    Tidied { level: crate::protocol::Level, text: String },
    /// Text that answers a slash command (`/doctor`, `/tools`, `/context`, `/export`).
    Report { title: String, text: String },
    /// Hooks and plugins as they are now.
    Extensions(Box<crate::app::model::extensions::Extensions>),
    /// A yes was written down, or why not.
    Trusted(Result<(), String>),
    /// What a plugin's command came to: text for the person and a prompt for the model, either may be empty.
    PluginAnswered { name: String, result: Result<(String, String), String> },
}

/// A session that is open in another window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherSession {
    pub session: crate::protocol::WindowSession,
    pub pid: u32,
    /// The terminal that it runs in, such as `/dev/pts/3`; empty: not known.
    pub terminal: String,
}

/// A path that fits a word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundPath {
    /// Relative to the folder of the session where it lies in it; folders end with a slash.
    pub path: String,
    /// The characters that match, in order.
    pub marks: Vec<u32>,
}

/// One row of the model picker.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelChoice {
    pub provider: String,
    pub model: String,
    /// `200K · $3 / $15`, `no price`, `?`.
    pub detail: String,
    /// A key is there or none is needed.
    pub ready: bool,
}
