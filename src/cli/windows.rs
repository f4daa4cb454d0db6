//! `hermes windows`: the other windows of this home, and talking to one.

use crate::config::Paths;
use crate::engine::{call, windows};
use crate::exec::MARK;
use crate::protocol::{
    ApprovalId, QuestionId, SessionId, Waiting, WaitingId, WindowReply, WindowRequest, WindowSays, WindowSession,
    WindowStatus,
};
use crate::text::visible::visible;
use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// How long a window may take for what needs nobody.
const REPLY_WAIT: Duration = Duration::from_secs(5);
/// With room for a person there to say yes, when a command of an agent asks.
const PERSON_WAIT: Duration = Duration::from_secs(65);

/// Arguments of `hermes windows`.
#[derive(Args, Clone, Debug)]
pub struct WindowsArgs {
    #[command(subcommand)]
    command: Option<Command>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Debug, Subcommand)]
enum Command {
    /// Show a session in its window
    Focus { session: String },
    /// Give a session a prompt
    Ask {
        session: String,
        text: String,
        /// Wait for the answer and print it
        #[arg(long)]
        wait: bool,
    },
    /// Answer what a session waits for
    Answer {
        session: String,
        /// The answer to a question
        #[arg(required_unless_present_any = ["allow", "deny"], conflicts_with_all = ["allow", "deny"])]
        text: Option<String>,
        /// Allow the call, this once
        #[arg(long)]
        allow: bool,
        /// Deny the call, with a reason for the model
        #[arg(long, value_name = "WHY", num_args = 0..=1, default_missing_value = "", conflicts_with = "allow")]
        deny: Option<String>,
        /// The number of what is answered, as listed; an approval always needs it
        #[arg(long, value_name = "N", required_if_eq("allow", "true"))]
        number: Option<u64>,
    },
}

/// One window: where it listens, what it is, what is open in it.
pub(super) struct Window {
    socket: PathBuf,
    status: WindowStatus,
    pub(super) sessions: Vec<WindowSession>,
}

/// Lists the windows, or talks to one. Exits 0, or 1 when a window refuses.
///
/// # Errors
/// When there is no such session in any window, or `out` can't be written.
pub fn run(args: &WindowsArgs, paths: &Paths, out: &mut dyn Write) -> anyhow::Result<i32> {
    let found = all(paths);
    let Some(command) = &args.command else { return list(&found, args.json, out) };
    let (name, wait) = match command {
        Command::Focus { session } | Command::Answer { session, .. } => (session, Some(PERSON_WAIT)),
        Command::Ask { session, wait, .. } => (session, (!wait).then_some(PERSON_WAIT)),
    };
    let (window, session) = named(&found, name)?;
    let id = session.session.clone();
    let request = match command {
        Command::Focus { .. } => WindowRequest::Focus(id),
        Command::Ask { text, wait, .. } => WindowRequest::Ask { session: id, text: text.clone(), wait: *wait },
        Command::Answer { text, allow, deny, number, .. } => {
            let says = match (text, deny) {
                (Some(text), _) => WindowSays::Text(text.clone()),
                (None, Some(why)) => WindowSays::Deny(why.clone()),
                (None, None) if *allow => WindowSays::Allow,
                (None, None) => bail!("nothing to answer with"),
            };
            WindowRequest::Answer { session: id, to: meant(&session.waiting, *number)?, says }
        }
    };
    let reply = call(paths, &window.socket, request, wait);
    match reply.with_context(|| format!("process {} gave no answer", window.status.pid))? {
        WindowReply::Refused(why) => bail!("{why}"),
        WindowReply::Answered(text) => {
            for line in text.lines() {
                writeln!(out, "{}", plain(line))?;
            }
        }
        WindowReply::Done | WindowReply::List { .. } | WindowReply::Status(_) => {}
    }
    Ok(0)
}

/// Those that answer. What a command of an agent asks waits for a person.
pub(super) fn all(paths: &Paths) -> Vec<Window> {
    let wait = if std::env::var_os(MARK).is_some() { PERSON_WAIT } else { REPLY_WAIT };
    let ask = |(_, socket): (u32, PathBuf)| match call(paths, &socket, WindowRequest::List, Some(wait)).ok()? {
        WindowReply::List { window, sessions } => Some(Window { socket, status: window, sessions }),
        _ => None,
    };
    windows(paths).into_iter().filter_map(ask).collect()
}

fn list(found: &[Window], as_json: bool, out: &mut dyn Write) -> anyhow::Result<i32> {
    if as_json {
        let rows: Vec<_> =
            found.iter().map(|window| json!({"window": window.status, "sessions": window.sessions})).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&json!({"version": 1, "windows": rows}))?)?;
        return Ok(0);
    }
    if found.is_empty() {
        writeln!(out, "no window is open")?;
    }
    for Window { status, sessions, .. } in found {
        writeln!(out, "process {} in {}", status.pid, plain(&status.folder))?;
        for session in sessions {
            let title = plain(session.title.as_deref().unwrap_or("untitled"));
            let folder =
                if session.cwd == status.folder { String::new() } else { format!("  in {}", plain(&session.cwd)) };
            writeln!(out, "  {}  {}  {title}{folder}", session.session, session.state.word())?;
            for waiting in &session.waiting {
                let choices = if waiting.choices.is_empty() {
                    String::new()
                } else {
                    format!(" [{}]", waiting.choices.join(" | "))
                };
                writeln!(out, "      {}: {}{choices}", number(waiting.id), plain(&waiting.text))?;
            }
        }
    }
    Ok(0)
}

/// One line without sequences of a terminal.
fn plain(text: &str) -> String {
    visible(text).text
}

fn number(id: WaitingId) -> u64 {
    match id {
        WaitingId::Approval(ApprovalId(number)) | WaitingId::Question(QuestionId(number)) => number,
    }
}

/// The session with this id, start of an id, or title.
fn named<'a>(found: &'a [Window], name: &str) -> anyhow::Result<(&'a Window, &'a WindowSession)> {
    let all = || found.iter().flat_map(|window| window.sessions.iter().map(move |session| (window, session)));
    let is = |session: &WindowSession| {
        session.session == SessionId(name.to_owned()) || session.title.as_deref() == Some(name)
    };
    if let Some(exact) = all().find(|(_, session)| is(session)) {
        return Ok(exact);
    }
    let mut starts = all().filter(|(_, session)| session.session.0.starts_with(name));
    match (starts.next(), starts.next()) {
        (Some(one), None) => Ok(one),
        (Some(_), Some(_)) => bail!("several open sessions start with {name}; give more of the id"),
        (None, _) => bail!("no open session with the id or title {name}; `hermes windows` lists them"),
    }
}

fn meant(waiting: &[Waiting], wanted: Option<u64>) -> anyhow::Result<WaitingId> {
    match (waiting, wanted) {
        (_, Some(wanted)) => {
            let found = waiting.iter().find(|waiting| number(waiting.id) == wanted);
            found
                .map(|waiting| waiting.id)
                .with_context(|| format!("nothing with number {wanted} needs an answer there"))
        }
        ([], None) => bail!("nothing in this session needs an answer"),
        ([one], None) => Ok(one.id),
        (_, None) => bail!("several questions wait there; choose one with --number"),
    }
}
