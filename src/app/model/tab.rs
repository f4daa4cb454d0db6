//! What belongs to one session on the screen.

use super::{CopyMode, Copying, Pane, PolicyOnDisk, Sent, TurnStatus};
use super::{approvals, composer, modal, processes, queue, selection, sidebar, transcript};
use crate::protocol::{BudgetSign, ContextView, Meter, Mode, SessionId, SessionInfo};
use serde::{Deserialize, Serialize};

/// A tab: one session, with all that the screen knows of it. Built with it, dropped with it.
pub struct Tab {
    pub id: TabId,
    /// The session whose facts it takes, from the moment on at which it was asked for.
    pub of: Option<SessionId>,
    /// `None` until the agent has opened it; typing works all the same.
    pub session: Option<SessionInfo>,
    /// A session was asked for and is not open yet: what is typed belongs to it.
    pub opening: bool,
    /// The tab that goes once this one is open, or comes back when it cannot be.
    pub from: Option<From>,
    /// A question and its answer that came while somebody wrote; see [`btw`](crate::app::session::btw).
    pub by_the_way: Option<(String, String)>,
    /// Something happened in it that was not looked at.
    pub unread: bool,
    /// Its last turn failed, and that was not looked at.
    pub failed: bool,
    pub turn: TurnStatus,
    pub meter: Meter,
    /// A limit of the budget that is passed.
    pub budget: Option<BudgetSign>,
    /// What fills the window, as last listed.
    pub context: ContextView,
    /// Since when a summary is being written (milliseconds since the epoch).
    pub compacting: Option<i64>,
    pub transcript: transcript::Transcript,
    pub composer: composer::Composer,
    /// Prompts that wait for the running turn to end.
    pub queue: queue::Queue,
    pub approvals: approvals::Inbox,
    pub processes: processes::Processes,
    pub sidebar: sidebar::Sidebar,
    pub policy: PolicyOnDisk,
    /// Topmost last.
    pub modals: Vec<modal::Modal>,
    pub focus: Pane,
    /// What is selected in another pane than the conversation.
    pub pane_selection: Option<selection::PaneSelection>,
    /// The keyboard moves a selection.
    pub copy_mode: Option<CopyMode>,
    /// The text of the selection goes to the clipboard with the next frame.
    pub copying: Option<Copying>,
    /// The folder it was opened in, until its session says another.
    pub cwd: String,
    /// Who else works in the checkout of its session.
    pub neighbours: Option<Neighbours>,
    /// Folder and branch of the worktree that its session goes on in once the tab is in view, or why there is none.
    pub worktree: Option<Result<(String, String), String>>,
    /// The mode that was left for plan mode by a command.
    pub before_plan: Option<Mode>,
    /// The turn was stopped for the first queued prompt, which follows it.
    pub sends_after_stop: bool,
    /// Index into the queue of the prompt that the keys of the strip act on.
    pub queue_selected: usize,
    /// Orders that were given before the session was open; they go out with it.
    pub held: Vec<crate::protocol::AgentCommand>,
    /// A prompt that was handed to the agent and is not durable yet.
    pub sent: Option<Sent>,
}

/// Other sessions in which something was said, in the same checkout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbours {
    /// Its top folder.
    pub checkout: String,
    /// What the sessions are called.
    pub names: Vec<String>,
}

/// Counts up within a run of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TabId(pub u64);

/// What comes back of a tab once its window was killed: its session, or what was typed in one without a prompt yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum KeptTab {
    Session(SessionId),
    Draft {
        cwd: String,
        /// As drafts are stored.
        text: String,
    },
}

/// Where a tab came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct From {
    pub tab: TabId,
    /// That one is closed once this one is open.
    pub replaces: bool,
}

/// What a tab says of its session in the title row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TabState {
    Idle,
    Working,
    /// It waits for an answer of the person.
    NeedsAnswer,
    /// A program in it asks for a password.
    NeedsPassword,
    /// Done, and not looked at.
    Unread,
    Failed,
}
