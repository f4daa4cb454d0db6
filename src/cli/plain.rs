//! `--plain`: the conversation as lines, for screen readers and dumb terminals. The same agent, gate and questions.

use super::ChatArgs;
use super::setup::{self, Base};
use crate::accounts::{Accounts, Known};
use crate::engine::{Engine, EngineOptions, Opens};
use crate::llm::endpoint;
use crate::policy::{Approval, ApprovalId, Decision, Intent, Payload, Scope, Target, label};
use crate::protocol::{AgentCommand, AgentEvent, Body, Item, Level, NoteKind, Outcome, Question, TurnEnd};
use crate::report::doctor;
use crate::text::format;
use crate::text::visible::visible;
use std::collections::VecDeque;
use std::io::{self, BufRead as _, Write as _};
use tokio::sync::mpsc;

/// What can be typed to an approval.
const ANSWERS: &str =
    "deny (n), deny and say why (r), allow once (y), this session (s), another command (e), or a reason why not: ";

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
    let (engine, mut streams) = Engine::start(base.clone(), EngineOptions::default());
    let services = engine.services().clone();
    let (store, exec) = (services.store.clone(), services.exec.clone());
    services.start();
    let resume = setup::resumed(&args, &store, &base).await?.session()?;
    let mut spec = setup::spec(&args, &base, resume)?;
    if let Some(warning) = store.opened().await.warning {
        say(&format!("[{warning}]\n"))?;
    }
    let mut session = engine.open(spec.clone());
    let mut typed = lines();
    let mut talk = Talk::default();
    let mut ended = false;
    // There is no card here: what does not run is said, with the remedy.
    if let Some(refused) = services.refused_line().await {
        say(&format!("[{refused}]\n"))?;
    }
    for line in about_local(&base, args.model.as_deref()).await {
        say(&line)?;
    }
    if let Some(prompt) = args.prompt {
        talk.running = true;
        engine.order(&session, AgentCommand::Submit { text: prompt, images: Vec::new() });
    } else {
        say("> ")?;
    }
    loop {
        tokio::select! {
            line = typed.recv(), if !ended => match line.as_deref().map(str::trim) {
                None => ended = true,
                Some("/quit" | "/exit") if talk.asked.is_empty() => break,
                Some(command) if command.starts_with('/') && talk.asked.is_empty() => {
                    say("[type /quit to leave; everything else goes to the model. Ctrl-C stops a turn]\n> ")?;
                    continue;
                }
                Some(_) => {
                    for order in talk.line(line.as_deref().unwrap_or_default()) {
                        engine.order(&session, order);
                    }
                }
            },
            // What children say reaches their parent.
            Some(told) = streams.events.recv() => match told.event.filter(|_| told.session == session) {
                // What it was started with can't be had: it goes on with a new one.
                Some(AgentEvent::NotOpened) => {
                    spec.opens = Opens::New;
                    session = engine.open(spec.clone());
                }
                Some(event) => talk.event(event),
                None if told.session == session => break,
                None => {}
            },
            Some(event) = streams.processes.recv() => {
                // There is no field whose text stays hidden.
                if let crate::exec::ProcessEvent::Asks(ask) = event {
                    say(&format!("[{} asks “{}”, which plain mode can't answer]\n", ask.who, ask.prompt))?;
                    exec.answer(ask.id, None);
                }
            }
            _ = tokio::signal::ctrl_c() => {
                if !talk.running {
                    break;
                }
                engine.order(&session, AgentCommand::Stop { force: false });
            }
        }
        say(&std::mem::take(&mut talk.said))?;
        // Input that came from a pipe ends before the answer does.
        if ended && (!talk.running || !talk.asked.is_empty()) {
            break;
        }
    }
    engine.shutdown(&mut streams.events).await;
    Ok(0)
}

/// Without a model, or with one of this computer, what is here for it and what to do: there is no card and no sidebar.
async fn about_local(base: &Base, choice: Option<&str>) -> Vec<String> {
    let accounts = Accounts::new(&base.paths, base.secrets.clone());
    let known = Known { loaded: &base.loaded, accounts: &accounts };
    let mut lines = Vec::new();
    match endpoint::resolve(&base.loaded.config, &known, choice) {
        Ok(endpoint) if !endpoint.is_served() => return lines,
        Ok(_) => {}
        Err(_) => {
            lines.push("[no model is chosen yet: `hermes setup` asks, or take one of this computer]\n".to_owned())
        }
    }
    let base = base.clone();
    let looked = tokio::task::spawn_blocking(move || doctor::local::rows(&base.paths, &base.loaded));
    for row in looked.await.unwrap_or_default() {
        let remedy = if row.remedy.is_empty() { String::new() } else { format!(" → {}", row.remedy) };
        lines.push(format!("[{}: {}{remedy}]\n", row.what, row.found));
    }
    lines
}

fn say(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// What the next line of input answers.
#[derive(Debug)]
enum Asked {
    Approval(Box<Approval>),
    /// Why not.
    Reason(ApprovalId),
    /// What to run instead.
    Command(Box<Approval>),
    Question(Question),
}

impl Asked {
    fn approval(&self) -> Option<ApprovalId> {
        match self {
            Asked::Approval(approval) | Asked::Command(approval) => Some(approval.id),
            Asked::Reason(id) => Some(*id),
            Asked::Question(_) => None,
        }
    }
}

#[derive(Default)]
struct Talk {
    running: bool,
    /// Oldest first; the first one is on the screen.
    asked: VecDeque<Asked>,
    /// The cursor stands inside a line of the answer.
    inside: bool,
    /// What is to be printed.
    said: String,
}

impl Talk {
    /// What a typed line means now.
    fn line(&mut self, line: &str) -> Vec<AgentCommand> {
        let orders = match self.asked.pop_front() {
            Some(Asked::Approval(approval)) => self.answered(approval, line),
            Some(Asked::Reason(id)) => {
                vec![AgentCommand::Decide(id, Decision::Deny { feedback: line.trim().to_owned() })]
            }
            Some(Asked::Command(approval)) if line.trim().is_empty() => {
                let id = approval.id;
                self.asked.push_front(Asked::Approval(approval));
                self.said.push_str(ANSWERS);
                return vec![AgentCommand::Writing(id, false)];
            }
            Some(Asked::Command(approval)) => {
                vec![AgentCommand::Decide(approval.id, Decision::Edited(line.trim().to_owned()))]
            }
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
        };
        if !matches!(orders.first(), Some(AgentCommand::Writing(..))) {
            self.show();
        }
        orders
    }

    /// What a line says to an approval. The time of the question stands still while a reason or a command is written.
    fn answered(&mut self, approval: Box<Approval>, line: &str) -> Vec<AgentCommand> {
        let id = approval.id;
        match line.trim() {
            "r" => {
                self.asked.push_front(Asked::Reason(id));
                self.said.push_str("why not: ");
                vec![AgentCommand::Writing(id, true)]
            }
            "e" if matches!(approval.intent, Intent::Command { .. }) => {
                self.asked.push_front(Asked::Command(approval));
                self.said.push_str("the command to run instead (empty goes back): ");
                vec![AgentCommand::Writing(id, true)]
            }
            _ => vec![AgentCommand::Decide(id, decision(&approval, line))],
        }
    }

    /// Puts a question; it shows once those before it are answered.
    fn ask(&mut self, asked: Asked) {
        self.asked.push_back(asked);
        if self.asked.len() == 1 {
            self.show();
        }
    }

    /// Prints the question that is to be answered now.
    fn show(&mut self) {
        let (rows, prompt) = match self.asked.front() {
            Some(Asked::Approval(approval)) => (vec![question(approval)], ANSWERS),
            Some(Asked::Question(question)) => {
                let choices = question.choices.iter().enumerate();
                let choices = choices.map(|(n, choice)| format!("  {}. {choice}", n + 1));
                (std::iter::once(question.text.clone()).chain(choices).collect(), "answer: ")
            }
            Some(Asked::Reason(_) | Asked::Command(_)) | None => return,
        };
        rows.iter().for_each(|text| self.row(text));
        self.said.push_str(prompt);
    }

    fn row(&mut self, text: &str) {
        if std::mem::take(&mut self.inside) {
            self.said.push('\n');
        }
        self.said.push_str(text);
        self.said.push('\n');
    }

    fn event(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::TextDelta(text) => {
                self.inside = !text.ends_with('\n');
                self.said.push_str(&text);
            }
            AgentEvent::ToolStarted(start) => self.row(&format!("[{} {}]", start.verb, start.target)),
            // Its start has a row already.
            AgentEvent::InnerFinished { .. } => {}
            AgentEvent::ItemFinished(Item { body: Body::Tool(tool), .. }) => {
                let word = match tool.outcome {
                    Outcome::Ok => "done",
                    Outcome::Failed => "failed",
                    Outcome::Denied => "denied",
                    Outcome::TimedOut => "timed out",
                    Outcome::NoOne => "no one to ask",
                    Outcome::Refused => "refused",
                    Outcome::Interrupted => "stopped",
                };
                self.row(&format!("[{} {word}: {}]", tool.name, tool.view.summary))
            }
            // The prompt that follows says that the turn is over.
            AgentEvent::ItemFinished(Item { body: Body::Note { kind: NoteKind::TurnEnd, .. }, .. }) => {}
            AgentEvent::Compacting(begun) if begun => self.row("[compacting the conversation]"),
            AgentEvent::Compacting(_) => {}
            // A note of the conversation says it.
            AgentEvent::Budget(_) => {}
            AgentEvent::ItemFinished(Item { body: Body::Summary(summary), .. }) => {
                self.row(&format!("[{}]", summary.line()))
            }
            AgentEvent::ItemFinished(Item { body: Body::Note { text, .. }, .. }) => self.row(&format!("[{text}]")),
            AgentEvent::ApprovalRequested(approval) => self.ask(Asked::Approval(approval)),
            AgentEvent::ApprovalFound { id, targets, payloads } => self.found(id, targets, payloads),
            // Answered by a line it is gone already: nobody waits for it any more.
            AgentEvent::ApprovalClosed(id) => {
                if let Some(at) = self.asked.iter().position(|asked| asked.approval() == Some(id)) {
                    self.asked.remove(at);
                    self.row(if at == 0 { "[question withdrawn]" } else { "[a pending question was withdrawn]" });
                    if at == 0 {
                        self.show();
                    }
                }
            }
            AgentEvent::Asked(question) => self.ask(Asked::Question(question)),
            AgentEvent::Waiting { what } => self.row(&format!("[{what}]")),
            AgentEvent::Retrying { reason, attempt, of, .. } => self.row(&format!("[{reason}; try {attempt} of {of}]")),
            AgentEvent::Notice { level, text } if level != Level::Info => self.row(&format!("[{text}]")),
            AgentEvent::NotTaken(why) => self.row(&format!("[{why}]")),
            AgentEvent::Undelivered(said) => {
                said.iter().for_each(|(text, _)| self.row(&format!("[not sent, the turn was stopped: {text}]")))
            }
            AgentEvent::TurnFinished(outcome) => {
                self.running = false;
                self.asked.clear();
                if outcome.end == TurnEnd::Completed {
                    self.row("");
                }
                self.said.push_str("> ");
            }
            AgentEvent::PolicyChanged(changes) if !changes.is_empty() => {
                let names: Vec<&str> = changes.iter().map(|change| change.name.as_str()).collect();
                self.row(&format!("! {} changed: rules and modes approve nothing until you restart", names.join(", ")));
            }
            AgentEvent::OpenElsewhere { session, pid, .. } => self
                .row(&format!("! session {session} is open in another hermes (process {pid}); close it there first")),
            AgentEvent::PolicyChanged(_)
            | AgentEvent::SessionOpened { .. }
            | AgentEvent::SessionChanged(_)
            | AgentEvent::NotOpened
            | AgentEvent::TurnStarted { .. }
            | AgentEvent::StepStarted { .. }
            | AgentEvent::ReasoningDelta(_)
            | AgentEvent::CallDelta { .. }
            | AgentEvent::ItemFinished(_)
            | AgentEvent::StreamReset
            | AgentEvent::ToolProgress { .. }
            | AgentEvent::ToolProcess { .. }
            | AgentEvent::Children { .. }
            | AgentEvent::Previewed { .. }
            | AgentEvent::QuestionClosed(_)
            | AgentEvent::SummaryRead { .. }
            | AgentEvent::ContextParts(_)
            | AgentEvent::Resumed(_)
            | AgentEvent::Rewound(_)
            | AgentEvent::RewindAsks { .. }
            | AgentEvent::Taken(_)
            | AgentEvent::PlanChanged(_)
            | AgentEvent::GoalChanged(_)
            | AgentEvent::Answered { .. }
            | AgentEvent::ChangedOutside(_)
            | AgentEvent::UsageChanged(_)
            | AgentEvent::RetryEnded
            | AgentEvent::Notice { .. } => {}
        }
    }
}

impl Talk {
    /// What a question's call would touch is known in full: rows that the person has not seen are told.
    fn found(&mut self, id: ApprovalId, targets: Vec<Target>, payloads: Vec<Payload>) {
        for (at, asked) in self.asked.iter_mut().enumerate() {
            let Asked::Approval(approval) = asked else { continue };
            if approval.id != id {
                continue;
            }
            let new = targets.iter().filter(|target| at == 0 && !approval.targets.contains(target));
            for target in new {
                self.said.push_str(&format!("  {}\n", visible(&touches(target)).text));
            }
            (approval.targets, approval.payloads) = (targets, payloads);
            return;
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
        Intent::Code { code, .. } => code.clone(),
        Intent::Talk | Intent::Handle => approval.tool.clone(),
    };
    let mut out = format!("Approve {}: {}", approval.tool, visible(&what).text);
    let mut add = |text: String| {
        out.push_str("\n  ");
        out.push_str(&visible(&text).text.replace('\n', "\n    "));
    };
    for why in approval.verdict.reasons() {
        add(format!("{}: {}", label(&why.effect), why.text));
    }
    approval.changed.iter().for_each(|changed| add(format!("asking again: {changed}")));
    approval.drops.iter().for_each(|prompt| add(format!("this turn leaves the conversation: {prompt}")));
    approval.payloads.iter().for_each(|payload| add(format!("this is what runs: {}", payload.text.trim_end())));
    if let Intent::Command { cwd, .. } = &approval.intent {
        add(format!("in {}, requested by {}", cwd.display(), approval.origin.words()));
    }
    approval.targets.iter().for_each(|target| add(touches(target)));
    out
}

fn touches(target: &Target) -> String {
    let more = if target.at_least { "at least " } else { "" };
    let files = target.files.map(|count| format!("{more}{}", format::plural(count, "file", "files")));
    let bytes = target.bytes.map(|count| format!("{more}{}", format::bytes(count)));
    let parts = [files, bytes, Some(target.note.clone()).filter(|note| !note.is_empty())];
    format!("touches {}: {}", target.name, parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{ApprovalOrigin, Verdict};

    fn approval(id: u64, line: &str) -> Box<Approval> {
        Box::new(Approval {
            id: ApprovalId(id),
            call_id: "c".into(),
            tool: "terminal".into(),
            intent: Intent::Command { line: line.into(), cwd: "/p".into(), background: false },
            verdict: Verdict::Ask(vec![]),
            targets: vec![],
            payloads: vec![],
            proposals: vec![],
            origin: ApprovalOrigin::default(),
            changed: vec![],
            drops: vec![],
            kept: false,
            asked_at: 0,
        })
    }

    #[test]
    fn a_reason_and_another_command_have_a_line_of_their_own_and_the_clock_stands_still() {
        let (id, deny) = (ApprovalId(1), |feedback: &str| Decision::Deny { feedback: feedback.into() });
        let decide = |decision| vec![AgentCommand::Decide(id, decision)];
        for (lines, orders, prompt) in [
            (&["y"][..], decide(Decision::Once), ""),
            (&[""], decide(deny("")), ""),
            (&["it holds my notes"], decide(deny("it holds my notes")), ""),
            (&["r"], vec![AgentCommand::Writing(id, true)], "why not: "),
            (&["r", "my notes"], decide(deny("my notes")), ""),
            (&["r", ""], decide(deny("")), ""),
            (&["e", "ls -la"], decide(Decision::Edited("ls -la".into())), ""),
            (&["e", ""], vec![AgentCommand::Writing(id, false)], ANSWERS),
            (&["e", "", "y"], decide(Decision::Once), ""),
        ] {
            let mut talk = Talk::default();
            talk.event(AgentEvent::ApprovalRequested(approval(1, "rm -rf build")));
            assert!(talk.said.ends_with(ANSWERS), "{}", talk.said);
            let mut last = Vec::new();
            for line in lines {
                talk.said.clear();
                last = talk.line(line);
            }
            assert_eq!((last, talk.said.as_str()), (orders, prompt), "{lines:?}");
        }
    }

    #[test]
    fn questions_wait_for_each_other() {
        let mut talk = Talk::default();
        for (id, line) in [(1, "rm -rf a"), (2, "rm -rf b"), (3, "rm -rf c")] {
            talk.event(AgentEvent::ApprovalRequested(approval(id, line)));
        }
        assert!(talk.said.contains("rm -rf a") && !talk.said.contains("rm -rf b"), "{}", talk.said);
        assert_eq!(talk.line("y"), [AgentCommand::Decide(ApprovalId(1), Decision::Once)]);
        assert!(talk.said.contains("rm -rf b"), "{}", talk.said);
        // While its reason is written the question may be taken back: the line that follows answers the next one.
        talk.line("r");
        talk.event(AgentEvent::ApprovalClosed(ApprovalId(2)));
        assert!(talk.said.contains("[question withdrawn]") && talk.said.contains("rm -rf c"), "{}", talk.said);
        assert_eq!(talk.line("y"), [AgentCommand::Decide(ApprovalId(3), Decision::Once)]);
    }
}
