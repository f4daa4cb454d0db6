//! What covers the screen. A modal that opened by itself is inert until the keys have been quiet.

use crate::app::window::talk::AskedId;
use crate::policy::{ApprovalId, Preview};
use crate::protocol::{QuestionId, SessionId};
use crate::store::filter::Fault;
use crate::store::{SessionChange, SessionRow, Shelf};
use crate::text::Line;

/// One open modal.
#[derive(Clone, Debug, PartialEq)]
pub enum Modal {
    Approval(ApprovalModal),
    Question(QuestionModal),
    Picker(Box<Picker>),
    Sessions(Box<SessionBrowser>),
    Rewind(Box<super::rewind::RewindModal>),
    Undo(Box<super::undo::UndoModal>),
    /// The changes that a git worktree holds.
    Worktree(Box<super::worktree::WorktreeModal>),
    Replay(Box<super::replay::ReplayModal>),
    Stats(Box<super::stats::StatsModal>),
    /// Scrollable text: help, reports, the whole of something.
    Text(TextModal),
    Confirm(Confirm),
    /// One line of input: a title, a key (masked), a search.
    Input(InputModal),
    /// What would run here, before it does.
    Trust(Box<TrustModal>),
    /// What changed in the policy on disk.
    PolicyChanged(Box<PolicyChangedModal>),
    /// What still runs, before the program is left.
    Quit(QuitModal),
    /// A code or an address to sign in with.
    SignIn(Box<super::sign_in::SignInModal>),
}

impl Modal {
    /// Until when it takes no key, of those that opened by themselves.
    pub fn inert_until(&mut self) -> Option<&mut i64> {
        match self {
            Modal::Approval(modal) => Some(&mut modal.inert_until),
            Modal::Question(modal) => Some(&mut modal.inert_until),
            Modal::Trust(modal) => Some(&mut modal.inert_until),
            Modal::PolicyChanged(modal) => Some(&mut modal.inert_until),
            Modal::Confirm(modal) => (modal.inert_until > 0).then_some(&mut modal.inert_until),
            Modal::Input(modal) => (modal.inert_until > 0).then_some(&mut modal.inert_until),
            Modal::Picker(modal) => (modal.inert_until > 0).then_some(&mut modal.inert_until),
            Modal::Sessions(_)
            | Modal::Rewind(_)
            | Modal::Undo(_)
            | Modal::Worktree(_)
            | Modal::Replay(_)
            | Modal::Stats(_)
            | Modal::Text(_)
            | Modal::Quit(_)
            | Modal::SignIn(_) => None,
        }
    }
}

/// What becomes of each command that runs when the program is left.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QuitModal {
    pub rows: Vec<QuitRow>,
    pub selected: usize,
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub struct QuitRow {
    /// `None`: the turn itself, which always ends.
    pub id: Option<crate::exec::ProcessId>,
    pub text: String,
    /// It can go on: only what runs in the background.
    pub can_stay: bool,
    pub keep: bool,
}

/// The card of a policy that changed on disk.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyChangedModal {
    pub lines: Vec<Line>,
    pub scroll: usize,
    /// Keys are ignored until this time (milliseconds since the epoch); every key moves it on.
    pub inert_until: i64,
    pub selected: PolicyChoice,
}

/// What a person can say to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyChoice {
    Later,
    Keep,
    Take,
}

/// The card before a folder's things run.
#[derive(Clone, Debug, PartialEq)]
pub struct TrustModal {
    /// What a yes is for: this and nothing that came later.
    pub card: super::extensions::TrustCard,
    pub lines: Vec<Line>,
    pub scroll: usize,
    /// Keys are ignored until this time (milliseconds since the epoch); every key moves it on.
    pub inert_until: i64,
    /// Yes is selected; Enter confirms.
    pub agreed: bool,
}

impl Modal {
    /// The first line that is shown of a text in it that scrolls and that the next frame brings to rest.
    pub fn scroll(&mut self) -> Option<&mut usize> {
        match self {
            Modal::Text(text) => Some(&mut text.scroll),
            Modal::Rewind(rewind) => Some(&mut rewind.scroll),
            Modal::Undo(undo) => Some(&mut undo.scroll),
            Modal::Worktree(tree) => Some(&mut tree.scroll),
            Modal::Stats(stats) => Some(&mut stats.scroll),
            Modal::Trust(card) => Some(&mut card.scroll),
            Modal::PolicyChanged(card) => Some(&mut card.scroll),
            Modal::Approval(_)
            | Modal::Question(_)
            | Modal::Picker(_)
            | Modal::Sessions(_)
            | Modal::Confirm(_)
            | Modal::Input(_)
            | Modal::SignIn(_)
            | Modal::Replay(_)
            | Modal::Quit(_) => None,
        }
    }

    /// The text that is written in it and its cursor, in characters. A masked field is none: nothing of it is kept.
    pub fn field(&mut self) -> Option<(&mut String, &mut usize)> {
        if !self.has_field() {
            return None;
        }
        match self {
            Modal::Approval(ApprovalModal {
                stage: ApprovalStage::Reason(text) | ApprovalStage::Editing(text),
                cursor,
                ..
            }) => Some((text, cursor)),
            Modal::Question(QuestionModal { text: Some(text), cursor, .. }) => Some((text, cursor)),
            Modal::Picker(picker) => Some((&mut picker.query, &mut picker.cursor)),
            Modal::Sessions(browser) => Some((&mut browser.query, &mut browser.cursor)),
            Modal::Rewind(rewind) => Some((&mut rewind.query, &mut rewind.cursor)),
            Modal::Input(input) => Some((&mut input.text, &mut input.cursor)),
            Modal::Approval(_)
            | Modal::Question(_)
            | Modal::Undo(_)
            | Modal::Worktree(_)
            | Modal::Replay(_)
            | Modal::Stats(_)
            | Modal::Text(_)
            | Modal::Confirm(_)
            | Modal::Trust(_)
            | Modal::Quit(_)
            | Modal::SignIn(_)
            | Modal::PolicyChanged(_) => None,
        }
    }

    /// Whether text is being written in it.
    pub fn has_field(&self) -> bool {
        match self {
            Modal::Approval(approval) => {
                matches!(approval.stage, ApprovalStage::Reason(_) | ApprovalStage::Editing(_))
            }
            Modal::Question(question) => question.text.is_some(),
            Modal::Picker(_) | Modal::Sessions(_) => true,
            Modal::Rewind(rewind) => rewind.confirm.is_none() && !rewind.undo,
            Modal::Input(input) => !input.masked && !input.busy,
            Modal::Undo(_)
            | Modal::Worktree(_)
            | Modal::Replay(_)
            | Modal::Stats(_)
            | Modal::Text(_)
            | Modal::Confirm(_)
            | Modal::Trust(_)
            | Modal::PolicyChanged(_)
            | Modal::SignIn(_)
            | Modal::Quit(_) => false,
        }
    }
}

/// The answer to a dangerous command.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalModal {
    pub id: ApprovalId,
    /// Keys are ignored until this time (milliseconds since the epoch); every key moves it on.
    pub inert_until: i64,
    pub selected: ApprovalChoice,
    pub stage: ApprovalStage,
    /// First row of the command and reasons that is shown; the first frame sets it to the first row with a reason.
    pub scroll: u16,
    pub read: Read,
    /// Which of the grants on offer for the selected choice; changed with Tab or the arrows while confirming it.
    pub offer: usize,
    /// Cursor in the text of the stage, in characters.
    pub cursor: usize,
    /// The edited command takes no key but Esc until this time (milliseconds since the epoch): how it is judged has just come.
    /// Every key moves it on.
    pub held_until: i64,
    /// The last key was a letter that means nothing here: it is said what does.
    pub stray: bool,
    /// All of a very long command is laid out, not its head and tail alone.
    pub unfolded: bool,
}

impl ApprovalModal {
    /// A question as it opens; keys do nothing until `inert_until`.
    pub fn new(id: ApprovalId, inert_until: i64) -> Self {
        Self {
            id,
            inert_until,
            selected: ApprovalChoice::Deny,
            stage: ApprovalStage::Choosing,
            scroll: 0,
            read: Read::default(),
            offer: 0,
            cursor: 0,
            held_until: 0,
            stray: false,
            unfolded: false,
        }
    }

    /// Whether the person writes: a reason, another command.
    pub fn is_written(&self) -> bool {
        match self.stage {
            ApprovalStage::Reason(_) | ApprovalStage::Editing(_) | ApprovalStage::ConfirmingEdit(..) => true,
            ApprovalStage::Choosing | ApprovalStage::Confirming | ApprovalStage::ConfirmingYolo => false,
        }
    }
}

/// How much of the text to be approved was on the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// A frame has shown it, and `scroll` says where.
    pub begun: bool,
    /// Windows of rows that were on the screen, first and one past the last, while it had this shape.
    pub seen: Vec<(u16, u16)>,
    pub shape: (u16, u16),
    /// The middle of a very long command was left out.
    pub folded: bool,
    /// Every row that must be seen was on the screen.
    pub whole: bool,
    /// An answer that allows came before that.
    pub refused: bool,
}

/// The options of the approval modal, in the order of its grid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApprovalChoice {
    #[default]
    Deny,
    Once,
    Session,
    Edit,
    Always,
}

/// What the approval modal waits for.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ApprovalStage {
    #[default]
    Choosing,
    /// An answer that allows was chosen; Enter confirms.
    Confirming,
    /// Why not; sent to the model.
    Reason(String),
    /// The command, being edited.
    Editing(String),
    /// The edited command; Enter allows it, Esc goes back to the field.
    ConfirmingEdit(String, Judged),
    /// Little is asked any more in this session: Enter says yes.
    ConfirmingYolo,
}

/// What is known of an edited command.
#[derive(Clone, Debug, PartialEq)]
pub enum Judged {
    /// The answer of the gate is on its way.
    Waiting,
    As(Box<Preview>),
    /// Nobody can tell before it runs.
    Unknown,
}

/// A question of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct QuestionModal {
    pub id: QuestionId,
    pub inert_until: i64,
    /// Index into the choices; one past the end is the free answer.
    pub selected: usize,
    /// `Some` while a free answer is typed.
    pub text: Option<String>,
    /// Cursor in it, in characters.
    pub cursor: usize,
}

/// A list to choose from, with a filter.
#[derive(Clone, Debug, PartialEq)]
pub struct Picker {
    pub kind: PickerKind,
    pub title: String,
    pub query: String,
    /// Cursor in the query, in characters.
    pub cursor: usize,
    pub items: Vec<PickItem>,
    /// Indices into `items`, best match first.
    pub matches: Vec<usize>,
    /// Index into `matches`.
    pub selected: usize,
    pub loading: bool,
    /// Keys are ignored until this time (milliseconds since the epoch), when it opened by itself; 0 when it did not.
    pub inert_until: i64,
    /// Shown under the list: a problem and its remedy, a hint.
    pub footnote: String,
}

/// What a picker chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PickerKind {
    Palette,
    Help,
    Model,
    /// The models of one server.
    Served,
    /// Models for this computer.
    LocalModels,
    Skin,
    Theme,
    Provider,
    Servers,
    Toolsets,
    /// What fills the window.
    Context,
    /// The forks around a session.
    Tree,
    /// What can be done with the session that is selected in the browser.
    SessionActions,
    /// What a turn did.
    Turn,
    Backends,
    Modes,
    /// Another session works in the same checkout.
    Checkout,
    Permissions,
    Inbox,
    History,
    Tabs,
    /// Sessions that work: tabs and their children, and those of other windows.
    Agents,
    /// What can be done with a session of another window.
    OtherWindow,
}

/// One row of a picker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PickItem {
    pub label: String,
    pub detail: String,
    /// Right-aligned: a key, a state.
    pub hint: String,
    /// What choosing it means: an action name, a model, a skin.
    pub value: String,
    pub group: String,
    /// Points beside those of a match: it is used or useful.
    pub boost: u32,
    pub current: bool,
    /// Shown last whatever the filter says: a way on where nothing else fits.
    pub always: bool,
}

/// Past sessions, with search and preview.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionBrowser {
    pub query: String,
    /// Cursor in the query, in characters.
    pub cursor: usize,
    pub rows: Vec<SessionRow>,
    /// What was ranked, when that is not every match.
    pub of: Option<String>,
    /// A word of the query that looks like a filter and is none.
    pub fault: Option<Fault>,
    pub selected: usize,
    /// The next rows are of another question: the first of them is selected.
    pub from_top: bool,
    /// How often the end of the rows was reached and more were asked for.
    pub pages: u32,
    /// The end of the selected session, or what stands around a hit.
    pub preview: Vec<Line>,
    /// The line of the hit, which stays in view.
    pub preview_hit: Option<usize>,
    pub loading: bool,
    pub scope: SessionScope,
    /// What went into the trash or the archive last, and what brings it back.
    pub undo: Option<(SessionId, SessionChange)>,
    /// When the typed query is asked (milliseconds since the epoch).
    pub ask_at: Option<i64>,
}

/// Which sessions the browser shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionScope {
    /// Of all folders, without the archive and the trash.
    #[default]
    All,
    /// The same of this folder.
    Here,
    /// Of other agents, as they lie on this machine.
    Elsewhere,
    Archived,
    Trashed,
}

impl SessionScope {
    /// The one after it.
    pub fn next(self) -> Self {
        match self {
            Self::All => Self::Here,
            Self::Here => Self::Elsewhere,
            Self::Elsewhere => Self::Archived,
            Self::Archived => Self::Trashed,
            Self::Trashed => Self::All,
        }
    }

    /// What the store is asked for; it knows nothing of other agents.
    pub fn shelf(self) -> Shelf {
        match self {
            Self::All | Self::Here | Self::Elsewhere => Shelf::Shown,
            Self::Archived => Shelf::Archived,
            Self::Trashed => Shelf::Trashed,
        }
    }
}

/// Text to read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextModal {
    pub title: String,
    pub lines: Vec<Line>,
    pub scroll: usize,
}

/// Yes or no; no is the default.
#[derive(Clone, Debug, PartialEq)]
pub struct Confirm {
    pub title: String,
    pub text: String,
    pub yes: String,
    /// What yes means.
    pub then: ConfirmThen,
    /// What no does, in words and as an order, where it does something. Esc does neither.
    pub no: Option<(String, ConfirmThen)>,
    pub selected_yes: bool,
    /// Keys are ignored until this time (milliseconds since the epoch), when it opened by itself; 0 when it did not.
    pub inert_until: i64,
}

impl Confirm {
    /// A question that a person's own order opened.
    pub fn new(title: impl Into<String>, text: impl Into<String>, yes: impl Into<String>, then: ConfirmThen) -> Self {
        let (title, text, yes) = (title.into(), text.into(), yes.into());
        Self { title, text, yes, then, no: None, selected_yes: false, inert_until: 0 }
    }
}

/// What a confirmed question does.
#[derive(Clone, Debug, PartialEq)]
pub enum ConfirmThen {
    /// Starts a server that is installed.
    StartServer(super::first_run::IdleServer),
    Yolo,
    /// Leave though the turn runs.
    Quit,
    /// A new session in the place of this one, though the turn runs.
    Clear,
    /// Close the tab, though something runs in it.
    CloseTab,
    DeleteSession(crate::protocol::SessionId),
    /// Go on in a copy of a session that is open elsewhere.
    ForkOf(crate::protocol::SessionId),
    /// Go on in a copy that ends with the turn of this entry.
    ForkAt(SessionId, crate::protocol::ItemId),
    /// Show a session that is open elsewhere.
    ReadSession(crate::protocol::SessionId),
    KillProcess(crate::exec::ProcessId),
    Rewind(crate::protocol::RewindOrder),
    /// Remove a git worktree with all that is in it, as it was seen.
    DropWorktree {
        folder: String,
        mark: String,
    },
    /// Do what a command of an agent asks of this window.
    Allow(AskedId, Box<crate::protocol::WindowRequest>),
    /// Refuse it.
    Refuse(AskedId),
    /// Get a model that does not fit this computer well.
    GetModel(String),
    /// Stop a download; what came stays, or goes.
    CancelDownload {
        keep: bool,
    },
    /// Take a rule back.
    Revoke(Box<super::permissions::RuleRow>),
}

/// One line of input.
#[derive(Clone, Debug, PartialEq)]
pub struct InputModal {
    pub title: String,
    pub hint: String,
    pub text: String,
    /// Cursor, in characters.
    pub cursor: usize,
    pub masked: bool,
    pub then: InputThen,
    /// What became of the last try.
    pub message: String,
    pub busy: bool,
    /// Keys are ignored until this time (milliseconds since the epoch); every key moves it on. 0: it was asked for.
    pub inert_until: i64,
}

/// What an input is for.
#[derive(Clone, Debug, PartialEq)]
pub enum InputThen {
    Title,
    /// The title of a session in the browser.
    TitleOf(SessionId),
    /// Its tags.
    TagsOf(SessionId),
    /// A key for this provider.
    Key(String),
    /// The address of a server of models.
    Server,
    /// A key for the server at this address.
    ServerKey(String),
    /// The name of a model of a server that lists none.
    ServerModel(super::first_run::OwnServer),
    /// Find in the transcript.
    Find,
    /// Find in the output of the shown command.
    Seek,
    /// The address that the browser ends at after a login to this MCP server.
    Login(String),
    /// The answer to a program.
    Ask(crate::exec::AskId),
}
