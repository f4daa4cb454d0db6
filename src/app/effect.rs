//! Orders of the UI; the runtime carries them out and answers with messages.

use super::model::tab::TabId;
use crate::app::input::vi;
use crate::app::window::talk::{AskedId, Word};
use crate::exec::ProcessCommand;
use crate::protocol::{AgentCommand, Opens, SessionId};
use crate::store::StoreJob;

/// Everything the UI can want, closed.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// To the session in view.
    Agent(AgentCommand),
    /// To this session, whichever is in view.
    Of(SessionId, AgentCommand),
    /// Opens a session for a tab; `Msg::Bound` tells which.
    Open {
        tab: TabId,
        opens: Opens,
        /// The folder to work in.
        cwd: String,
        /// `PROVIDER:MODEL`; `None`: its own, or the configured one.
        model: Option<String>,
        /// The session beside which it is opened: it works where that one works.
        parent: Option<SessionId>,
    },
    /// Closes a session whose tab is gone; `cleared`: a new one took its place.
    Close {
        session: SessionId,
        cleared: bool,
    },
    /// The sessions that a killed window would come back with.
    SaveTabs(Vec<super::model::tab::KeptTab>),
    /// The word of this window to what another program asked of it.
    Window(AskedId, Word),
    Process(ProcessCommand),
    Store(StoreJob),
    /// Latest per kind of request wins.
    Load(LoadRequest),
    /// To the MCP servers.
    Server(ServerOrder),
    /// To the accounts of providers.
    Account(AccountOrder),
    /// To the models of this computer.
    Local(super::model::local::LocalOrder),
    /// To the clipboard.
    Copy(String),
    /// Opens the external editor on this text, as a process of the terminal pane.
    Edit(String),
    /// The terminal's window title.
    Title(String),
    /// Attention: BEL and OSC 9, when the window is not focused.
    Notify(String),
    /// Sends `Msg::Woke` at this time (milliseconds since the epoch); the earliest wins.
    WakeAt(i64),
    /// The shape of the terminal's cursor.
    Caret(vi::Caret),
    /// Mouse capture on or off.
    Mouse(bool),
    /// Clears and repaints.
    Repaint,
    /// Stops the process (job control) and repaints when it comes back.
    Suspend,
    /// Leaves, with this exit code, after the store has written everything.
    Quit(i32),
}

/// Orders to the MCP servers.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerOrder {
    /// For this run of the program.
    Switch { name: String, on: bool },
    /// Reads the configuration again: starts what is new, ends what is gone.
    Reload(super::model::servers::ReadWhy),
    /// Begins a login; one that is under way ends.
    Login { name: String },
    /// The address that the browser ended at, pasted.
    CameBack { address: String },
    /// The login is left.
    LeaveLogin,
}

/// Orders to the accounts of providers.
#[derive(Clone, Debug, PartialEq)]
pub enum AccountOrder {
    /// Begins a sign-in; one that is under way ends.
    SignIn { provider: String },
    /// Opens the address of a sign-in in the browser.
    Browse { address: String },
    /// The address that the browser ended at, pasted.
    CameBack { address: String },
    /// The sign-in is left.
    Leave,
}

/// Text about something, to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// What was decided about calls; the argument chooses rows.
    Approvals,
    /// What is spent of the budgets.
    Budget,
    /// The configuration file, without keys.
    Config,
    /// What changed in the folder of the session, as git tells it.
    Diff,
    /// What is set up and what is missing.
    Doctor,
    /// Writes the session to a file and says where; the argument is a format or a path.
    Export,
    /// What the agent remembers.
    Memory,
    /// One MCP server; the argument names it.
    Server,
    /// The skills that there are.
    Skills,
    /// The tools of the session.
    Tools,
    /// Tokens and their price.
    Usage,
}

/// Work outside the UI.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadRequest {
    Models {
        refresh: bool,
    },
    FirstRun,
    /// Models of this computer, and those that it could have. Nothing is fetched for it.
    LocalModels,
    /// The servers of models that this window uses.
    Served,
    TryKey {
        provider: String,
        key: String,
    },
    /// Whether anything is known of a model; answered only when it is to be tested.
    Ability {
        model: String,
    },
    /// Tests a model; `None`: the test that is under way is given up.
    SelfTest {
        model: Option<String>,
    },
    Knowledge,
    /// A skin or theme by name, for the preview or for good; `save` writes it to the config.
    Appearance {
        skin: Option<String>,
        theme: Option<String>,
        save: bool,
    },
    Git,
    /// Who else works in the checkout of the session in view.
    Neighbours {
        /// A session that this one takes the place of.
        except: Option<SessionId>,
    },
    /// A worktree of a checkout, on a branch of its own.
    Worktree {
        checkout: String,
        /// What it is called; `None`: after the time.
        name: Option<String>,
    },
    /// What a worktree with this name, branch or folder holds.
    TreeChanges {
        wanted: String,
    },
    /// The hunks of one of its files.
    TreeHunks {
        folder: String,
        base: String,
        path: String,
        from: Option<String>,
    },
    /// Removes a worktree with all that is in it, as it was when it had this mark; the person said yes.
    DropWorktree {
        folder: String,
        mark: String,
    },
    /// The sessions that are open in other windows of the home.
    OtherWindows,
    /// Shows a session in the window that it is open in.
    FocusWindow {
        session: SessionId,
    },
    /// What the files that tools changed in the open session differ in now.
    Files,
    /// Toolsets, and which of them the open session has.
    Toolsets,
    /// The rules that hold here, with who made them.
    Permissions,
    /// What the rules say to a command.
    TryCommand {
        command: String,
    },
    /// Takes a rule away from the file where it stands.
    Revoke {
        row: Box<super::model::permissions::RuleRow>,
    },
    Paths {
        word: String,
    },
    /// The prompts of the open session.
    RewindPoints,
    /// What going back to a prompt would mean.
    RewindPreview {
        item: crate::protocol::ItemId,
    },
    /// Writes a session to a file and says where.
    ExportOf {
        session: SessionId,
    },
    /// The commands of the open session that changed files.
    UndoPoints,
    /// What undoing a command would mean.
    UndoPreview {
        command: i64,
    },
    /// The items of a session on a time line: the newest before one. The first page brings its terminals.
    Replay {
        session: SessionId,
        before: Option<crate::protocol::ItemId>,
    },
    /// What a moment of it shows; of these terminals by index, up to this time.
    ReplayMoment {
        session: SessionId,
        stop: crate::protocol::Stop,
        until: i64,
        terminals: Vec<(usize, (String, i64))>,
    },
    /// Text for a slash command with its argument.
    Report {
        report: Report,
        argument: String,
    },
    /// A prompt of an MCP server, filled in.
    Prompt {
        server: String,
        prompt: String,
        args: Vec<(String, String)>,
    },
    /// The image in the clipboard, or in this file.
    Image {
        path: Option<String>,
    },
    /// Names of skins and themes.
    Looks,
    /// Sessions of other agents that hold these words.
    Elsewhere {
        query: String,
    },
    /// The start of a session of another agent, by its key (`@codex:ID`).
    ElsewherePreview {
        key: String,
    },
    /// Takes over a session of another agent: `@codex:ID`, or `@codex` for the newest of this folder.
    TakeOver {
        wish: String,
        here: String,
    },
    /// Brings over the sessions of a Python Hermes, once.
    Migrate,
    /// Figures of the last days; `None`: of all time.
    Stats {
        days: Option<u32>,
    },
    /// Deletes what is to go by itself, and looks whether sessions take more than they may.
    Tidy,
    /// The whole of a stored session, to read.
    ReadSession {
        id: crate::protocol::SessionId,
    },
    /// Asks a server of models at an address what it offers; `key` may be empty.
    TryServer {
        address: String,
        key: String,
    },
    /// Writes a server and its model into the config, its key into `.env`.
    UseServer {
        server: super::model::first_run::OwnServer,
        model: String,
    },
    /// Stores a key in the home folder's `.env`, readable by the owner only.
    SaveKey {
        provider: String,
        key: String,
    },
    /// Throws away the logins of a provider; empty: of the only one there is.
    LogOut {
        provider: String,
    },
    /// Makes a model the one of new sessions, in one step; without a provider it is of the one that is configured.
    SaveModel {
        provider: String,
        model: String,
    },
    /// Starts a server of models that is installed; the person said yes.
    StartServer {
        provider: String,
    },
    /// The list of models asked for anew, to look for this name.
    NamedModel {
        name: String,
    },
    /// What there is for this computer, to look for this name.
    NamedLocal {
        name: String,
    },
    /// Sets a config key to a YAML scalar, keeping comments.
    SetConfig {
        key: String,
        value: String,
    },
    /// Hooks and plugins, once they have changed after this revision.
    Extensions {
        seen: u64,
    },
    /// A yes to what the card showed.
    Trust {
        card: Box<crate::app::model::extensions::TrustCard>,
    },
    /// A slash command that a plugin brought.
    PluginCommand {
        name: String,
        argument: String,
    },
    /// Starts the scripted demo in a scratch folder.
    Demo,
}
