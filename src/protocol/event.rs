//! Facts of the agent of a session.

use super::{
    Approval, ApprovalId, BudgetSign, ChildRow, ContextView, Effort, Goal, Image, InnerCall, Item, ItemId, LeftOut,
    Mode, OutsideFile, Payload, PolicyChange, Preview, ProcessId, Question, QuestionId, ResumeCard, RewindOrder,
    Rewound, SessionId, SummaryBody, Taken, Target, Todo, UnavailableBackend, Usage,
};
use crate::text::format;
use serde::{Deserialize, Serialize};

/// Facts of the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum AgentEvent {
    /// A session is open: new (no items) or resumed (its newest page; older pages come from the store).
    SessionOpened {
        session: SessionInfo,
        items: Vec<Item>,
    },
    SessionChanged(SessionInfo),
    /// The session is open in another process, and stays there.
    OpenElsewhere {
        session: SessionId,
        /// Or the start of its first prompt.
        title: String,
        pid: i64,
    },
    /// The session could not be opened, what came before says why. Nothing follows.
    NotOpened,
    TurnStarted {
        turn: u32,
        at: i64,
    },
    StepStarted {
        step: u32,
    },
    TextDelta(String),
    ReasoningDelta(String),
    /// The model writes a call: its name, and the bytes of arguments so far.
    CallDelta {
        index: usize,
        name: String,
        bytes: usize,
    },
    /// What is waited for before the model can answer: `loading model`. Over with the next piece of the answer.
    Waiting {
        what: String,
    },
    /// What the next request is made of.
    ContextParts(Box<ContextView>),
    /// The summary that counts, and the start of what it stands for.
    SummaryRead {
        edit: bool,
        /// The entry of the summary.
        of: ItemId,
        summary: Box<SummaryBody>,
        left: Vec<LeftOut>,
    },
    /// The conversation is being compacted, or (`false`) no longer.
    Compacting(bool),
    /// Durable. Replaces whatever was streamed for it.
    ItemFinished(Item),
    /// Partial text of a broken stream was given up or will be continued.
    StreamReset,
    ToolStarted(ToolStart),
    ToolProgress {
        call_id: String,
        line: String,
    },
    /// A call that a script made is over; the script's own call has this id.
    InnerFinished {
        within: String,
        call: Box<InnerCall>,
    },
    /// The call runs as this process.
    ToolProcess {
        call_id: String,
        process: ProcessId,
    },
    /// What the children of a call do now, all of them.
    Children {
        call_id: String,
        rows: Vec<ChildRow>,
    },
    ApprovalRequested(Box<Approval>),
    /// All that the call of an open question would touch, in the place of what was known when it was asked.
    ApprovalFound {
        id: ApprovalId,
        targets: Vec<Target>,
        payloads: Vec<Payload>,
    },
    ApprovalClosed(ApprovalId),
    /// How a line would be judged; `None`: it is not asked about any more.
    Previewed {
        id: ApprovalId,
        line: String,
        preview: Option<Box<Preview>>,
    },
    Asked(Question),
    QuestionClosed(QuestionId),
    /// Where a session that goes on stopped, and what changed around it since.
    Resumed(Box<ResumeCard>),
    /// The conversation is another one now: some of it was left out, or is back.
    Rewound(Box<Rewound>),
    /// A rewind waits for a word about these files, which somebody else changed. Nothing has happened yet.
    RewindAsks {
        order: RewindOrder,
        files: Vec<String>,
    },
    /// What came of an order to take changes of a worktree.
    Taken(Taken),
    PlanChanged(Vec<Todo>),
    /// What the model says to a question beside the turn; nothing of it is kept.
    Answered {
        question: String,
        answer: String,
    },
    /// What the session works towards by itself; `None`: nothing.
    GoalChanged(Option<Goal>),
    /// Others changed these files, or branch and commits; the model was told.
    ChangedOutside(Vec<OutsideFile>),
    /// The files of the policy are not those that the session read: nothing passes by a rule or mode until a person has
    /// looked. Empty: they are again.
    PolicyChanged(Vec<PolicyChange>),
    UsageChanged(Meter),
    /// A limit of the budget is passed, or (`None`) none is.
    Budget(Option<BudgetSign>),
    /// The next try is at `until` (milliseconds since the epoch).
    Retrying {
        reason: String,
        attempt: u32,
        of: u32,
        until: i64,
    },
    RetryEnded,
    Notice {
        level: Level,
        text: String,
    },
    /// A submitted prompt was not taken, nothing of it is kept; says why.
    NotTaken(String),
    TurnFinished(TurnOutcome),
    /// What the person said to a turn that was stopped before it heard it: text and images. Comes before its end.
    Undelivered(Vec<(String, Vec<Image>)>),
}

/// A call that begins to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolStart {
    pub call_id: String,
    pub name: String,
    pub emoji: String,
    /// `running`, `reading`.
    pub verb: String,
    pub target: String,
    /// Milliseconds since the epoch.
    pub at: i64,
    /// The call of the script that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
}

/// What the title bar and the session browser tell of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionInfo {
    pub id: SessionId,
    pub title: Option<String>,
    /// `PROVIDER:MODEL`; empty when none is set up.
    pub model: String,
    pub effort: Effort,
    pub mode: Mode,
    pub cwd: String,
    /// Where commands run, as people read it: `local`, `ssh dev@host`.
    pub place: String,
    /// Backends that cannot be used, and why.
    pub unavailable: Vec<UnavailableBackend>,
    /// Tokens of the model's window, when known.
    pub window: Option<u64>,
    /// The toolsets that the person chose; `None`: those of the configuration.
    pub toolsets: Option<Vec<String>>,
    /// The model that is asked in auto mode; `None`: there is none, and it asks like manual.
    pub auto_approver: Option<String>,
    /// Where untrusted text in the conversation came from.
    pub untrusted: Vec<String>,
}

/// How full the window is and what it cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Meter {
    /// Tokens of the next request: what the provider reported, plus an estimate of what came after.
    pub context: u64,
    pub window: Option<u64>,
    /// Sums over the session.
    pub total: Usage,
    /// Sums over its children, which are not in those of the session.
    pub children: Usage,
    /// What saving cost.
    pub written: Written,
}

/// Bytes that this program wrote to keep what was said: those of all its sessions, which share one database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// In the last turn.
    pub turn: u64,
    /// Since the first turn after the session was opened.
    pub session: u64,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnOutcome {
    pub turn: u32,
    pub end: TurnEnd,
    pub steps: u32,
    /// Without the time in which the person was waited for.
    pub duration_ms: u64,
}

impl TurnOutcome {
    /// The line under a turn: `2 steps · 3.0 s`, `stopped · 1 step · 0.4 s`.
    pub fn line(&self) -> String {
        let word = match &self.end {
            TurnEnd::Completed => "",
            TurnEnd::Stopped => "stopped · ",
            TurnEnd::Limit => "limit reached · ",
            TurnEnd::Provider(_) | TurnEnd::Error(_) => "failed · ",
        };
        let time = match self.duration_ms {
            // Tenths, from the first millisecond on: a turn is never measured in milliseconds.
            ms @ 0..10_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
            ms => format::clock(ms),
        };
        format!("{word}{} · {time}", format::plural(u64::from(self.steps), "step", "steps"))
    }
}

/// Why a turn ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum TurnEnd {
    Completed,
    Stopped,
    /// The iteration budget is used up.
    Limit,
    /// The provider failed for good; the text says what to do.
    Provider(String),
    /// Something of ours failed (the disk is full); the text says what to do.
    Error(String),
}

/// Weight of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Info,
    Warning,
    Error,
}
