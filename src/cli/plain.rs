//! `--plain`: the conversation as lines, for screen readers and dumb terminals. The same agent, gate and questions.

use super::setup::{self, Base};
use super::{ChatArgs, print};
use crate::agent::event::{AgentCommand, AgentEvent, Level, Question, TurnEnd};
use crate::agent::runner::{self, Start};
use crate::llm::message::{Body, Item, NoteKind, Outcome};
use crate::policy::{Approval, Decision, Intent, Scope, label};
use crate::text::format;
use crate::text::visible::visible;
use std::io::{self, BufRead as _, Write as _};
use tokio::sync::mpsc;

/// Runs until the end of input or `/quit`.
pub fn run(args: ChatArgs) -> anyhow::Result<i32> {
    let base = setup::base(&args)?;
    let _log = setup::logging(&base);
    setup::block_on(talk(args, base))
}

/// Lines of standard input, from a thread of their own: reading them can't be cancelled.
fn lines() -> mpsc::Receiver<String> {
    let (tx, rx) = mpsc::channel(16);
    let read = move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if tx.blocking_send(line).is_err() {
                break;
            }
        }
    };
    // Without the thread the channel is closed at once, which ends the conversation.
    let _ = std::thread::Builder::new().name("stdin".into()).spawn(read);
    rx
}

async fn talk(args: ChatArgs, base: Base) -> anyhow::Result<i32> {
    let house = setup::house(&base, None, false);
    let store = house.deps.store.clone();
    let beside = house.beside.clone();
    let exec = house.deps.exec.clone();
    beside.start();
    let start = Start {
        cwd: base.cwd.clone(),
        source: "tui",
        resume: print::resumed(&args, &store, &base).await?,
        model: setup::model_choice(&args),
        interactive: true,
        mode: setup::mode(&args),
        toolsets: args.toolsets.clone(),
        skills: super::chat::skill_texts(&args.skills, &base)?,
        max_turns: args.max_turns,
        instructions: String::new(),
    };
    if let Some(warning) = store.opened().await.warning {
        say(&format!("[{warning}]\n"))?;
    }
    let mut agent = runner::spawn(house.deps, start, house.notices);
    let mut processes = house.processes;
    let mut typed = lines();
    let mut talk = Talk::default();
    let mut ended = false;
    // There is no card here: what does not run is said, with the remedy.
    if let Some(refused) = beside.refused_line().await {
        say(&format!("[{refused}]\n"))?;
    }
    if let Some(prompt) = args.prompt {
        talk.running = true;
        let _ = agent.commands.send(AgentCommand::Submit { text: prompt, images: Vec::new() }).await;
    } else {
        say("> ")?;
    }
    loop {
        tokio::select! {
            line = typed.recv(), if !ended => {
                let Some(line) = line else {
                    ended = true;
                    continue;
                };
                match line.trim() {
                    "/quit" | "/exit" if talk.asked.is_none() => break,
                    command if command.starts_with('/') && talk.asked.is_none() => {
                        say("[commands here: /quit; everything else goes to the model. Ctrl-C stops a turn]\n> ")?;
                        continue;
                    }
                    _ => {}
                }
                for order in talk.line(&line) {
                    let _ = agent.commands.send(order).await;
                }
            }
            event = agent.events.recv() => {
                let Some(event) = event else { break };
                talk.event(event)?;
            }
            Some(event) = processes.recv() => {
                // There is no field whose text stays hidden.
                if let crate::exec::ProcessEvent::Asks(ask) = event {
                    say(&format!("[{} asks “{}”: plain mode cannot answer it]\n", ask.who, ask.prompt))?;
                    exec.answer(ask.id, None);
                }
            }
            _ = tokio::signal::ctrl_c() => {
                if !talk.running {
                    break;
                }
                let _ = agent.commands.send(AgentCommand::Stop { force: false }).await;
            }
        }
        // Input that came from a pipe ends before the answer does.
        if ended && (!talk.running || talk.asked.is_some()) {
            break;
        }
    }
    let _ = agent.commands.send(AgentCommand::Close).await;
    let _ = tokio::time::timeout(std::time::Duration::from_secs(5), agent.task).await;
    beside.shutdown().await;
    store.close().await;
    Ok(0)
}

fn say(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// What the next line of input answers.
enum Asked {
    Approval(Box<Approval>),
    Question(Question),
}

#[derive(Default)]
struct Talk {
    running: bool,
    asked: Option<Asked>,
    /// The cursor stands inside a line of the answer.
    inside: bool,
}

impl Talk {
    /// What a typed line means now.
    fn line(&mut self, line: &str) -> Vec<AgentCommand> {
        match self.asked.take() {
            Some(Asked::Approval(approval)) => vec![AgentCommand::Decide(approval.id, decision(&approval, line))],
            Some(Asked::Question(question)) => {
                let choice = line.trim().parse::<usize>().ok().and_then(|n| question.choices.get(n.wrapping_sub(1)));
                vec![AgentCommand::Answer(question.id, choice.cloned().unwrap_or_else(|| line.to_owned()))]
            }
            None if line.trim().is_empty() => Vec::new(),
            None if self.running => vec![AgentCommand::Steer { text: line.to_owned(), images: Vec::new() }],
            None => {
                self.running = true;
                vec![AgentCommand::Submit { text: line.to_owned(), images: Vec::new() }]
            }
        }
    }

    fn row(&mut self, text: &str) -> io::Result<()> {
        let before = if std::mem::take(&mut self.inside) { "\n" } else { "" };
        say(&format!("{before}{text}\n"))
    }

    fn event(&mut self, event: AgentEvent) -> io::Result<()> {
        match event {
            AgentEvent::TextDelta(text) => {
                self.inside = !text.ends_with('\n');
                say(&text)
            }
            AgentEvent::ToolStarted(start) => self.row(&format!("[{} {}]", start.verb, start.target)),
            AgentEvent::ItemFinished(Item { body: Body::Tool(tool), .. }) => {
                let word = match tool.outcome {
                    Outcome::Ok => "done",
                    Outcome::Failed => "failed",
                    Outcome::Denied => "denied",
                    Outcome::TimedOut => "not answered in time",
                    Outcome::NoOne => "nobody to ask",
                    Outcome::Refused => "refused",
                    Outcome::Interrupted => "stopped",
                };
                self.row(&format!("[{} {word}: {}]", tool.name, tool.view.summary))
            }
            // The prompt that follows says that the turn is over.
            AgentEvent::ItemFinished(Item { body: Body::Note { kind: NoteKind::TurnEnd, .. }, .. }) => Ok(()),
            AgentEvent::ItemFinished(Item { body: Body::Note { text, .. }, .. }) => self.row(&format!("[{text}]")),
            AgentEvent::ApprovalRequested(approval) => {
                self.row(&question(&approval))?;
                self.asked = Some(Asked::Approval(approval));
                say("deny (n), allow once (y), this session (s), or a reason why not: ")
            }
            // Answered by a line it is gone already: nobody waits for it any more.
            AgentEvent::ApprovalClosed(id) => {
                if matches!(&self.asked, Some(Asked::Approval(asked)) if asked.id == id) {
                    self.asked = None;
                    self.row("[no longer asked]")?;
                }
                Ok(())
            }
            AgentEvent::Asked(question) => {
                self.row(&question.text)?;
                for (n, choice) in question.choices.iter().enumerate() {
                    self.row(&format!("  {}. {choice}", n + 1))?;
                }
                self.asked = Some(Asked::Question(question));
                say("answer: ")
            }
            AgentEvent::Retrying { reason, attempt, of, .. } => self.row(&format!("[{reason}; try {attempt} of {of}]")),
            AgentEvent::Notice { level, text } if level != Level::Info => self.row(&format!("[{text}]")),
            AgentEvent::NotTaken(why) => self.row(&format!("[{why}]")),
            AgentEvent::Undelivered(said) => said
                .iter()
                .try_for_each(|(text, _)| self.row(&format!("[not delivered, the turn was stopped: {text}]"))),
            AgentEvent::TurnFinished(outcome) => {
                self.running = false;
                self.asked = None;
                if outcome.end == TurnEnd::Completed {
                    self.row("")?;
                }
                say("> ")
            }
            AgentEvent::PolicyChanged(changes) if !changes.is_empty() => {
                let names: Vec<&str> = changes.iter().map(|change| change.name.as_str()).collect();
                self.row(&format!(
                    "! {} changed: nothing passes by a rule or mode until you start anew",
                    names.join(", ")
                ))
            }
            AgentEvent::PolicyChanged(_)
            | AgentEvent::SessionOpened { .. }
            | AgentEvent::SessionChanged(_)
            | AgentEvent::SessionKept
            | AgentEvent::TurnStarted { .. }
            | AgentEvent::StepStarted { .. }
            | AgentEvent::ReasoningDelta(_)
            | AgentEvent::CallDelta { .. }
            | AgentEvent::ItemFinished(_)
            | AgentEvent::StreamReset
            | AgentEvent::ToolProgress { .. }
            | AgentEvent::ToolProcess { .. }
            | AgentEvent::Previewed { .. }
            | AgentEvent::QuestionClosed(_)
            | AgentEvent::Rewound(_)
            | AgentEvent::RewindAsks { .. }
            | AgentEvent::PlanChanged(_)
            | AgentEvent::UsageChanged(_)
            | AgentEvent::RetryEnded
            | AgentEvent::Notice { .. } => Ok(()),
        }
    }
}

/// The question as lines; control characters are made visible.
fn question(approval: &Approval) -> String {
    let what = match &approval.intent {
        Intent::Command { line, .. } => line.clone(),
        Intent::Edit(edits) => edits.iter().map(|e| e.path.display().to_string()).collect::<Vec<_>>().join(", "),
        Intent::Read(path) => path.display().to_string(),
        Intent::Input { process, text } => format!("type into {process}: {text}"),
        Intent::Remote { args, .. } => args.clone(),
        Intent::Talk => approval.tool.clone(),
    };
    let mut out = format!("Approve {}: {}", approval.tool, visible(&what).text);
    let mut add = |text: String| {
        out.push_str("\n  ");
        out.push_str(&visible(&text).text.replace('\n', "\n    "));
    };
    for why in approval.verdict.reasons() {
        add(format!("{}: {}", label(&why.effect), why.text));
    }
    approval.changed.iter().for_each(|changed| add(format!("asked again: {changed}")));
    approval.payloads.iter().for_each(|payload| add(format!("this is what runs: {}", payload.text.trim_end())));
    if let Intent::Command { cwd, .. } = &approval.intent {
        add(format!("in {}, asked by {}", cwd.display(), approval.origin.words()));
    }
    for target in &approval.targets {
        let more = if target.at_least { "at least " } else { "" };
        let files = target.files.map(|count| format!("{more}{}", format::plural(count, "file", "files")));
        let bytes = target.bytes.map(|count| format!("{more}{}", format::bytes(count)));
        let parts = [files, bytes, Some(target.note.clone()).filter(|note| !note.is_empty())];
        add(format!("touches {}: {}", target.name, parts.into_iter().flatten().collect::<Vec<_>>().join(", ")));
    }
    out
}

/// What a typed answer means; anything that is no clear yes is a no with a reason.
fn decision(approval: &Approval, line: &str) -> Decision {
    match line.trim() {
        "y" | "yes" => Decision::Once,
        "s" => match approval.proposals.iter().find(|proposal| proposal.grant.scope == Scope::Session) {
            Some(proposal) => Decision::Grant(proposal.grant.clone()),
            None => Decision::Deny { feedback: String::new() },
        },
        "" | "n" | "no" => Decision::Deny { feedback: String::new() },
        reason => Decision::Deny { feedback: reason.to_owned() },
    }
}
