//! Claude Code: `~/.claude/projects/FOLDER/ID.jsonl`, seen as 2.1.197 writes it.
//!
//! One record a line. `user` and `assistant` hold a message of the Messages API; each block of an answer is a record of its
//! own with the same `message.id`, and results are `user` records with `tool_result` blocks. Records form a tree by
//! `parentUuid` (`logicalParentUuid` across a compaction): going back leaves the old branch in the file. `isMeta` is text of
//! the program, `isSidechain` a subagent, `isCompactSummary` the summary after a `system` record `compact_boundary`. Titles
//! are `custom-title`, `ai-title` or `summary` records. Everything else (attachments, queue, modes) is left out.

use super::build::{Answer, Builder, Call, image};
use super::files::{self, Ends, Entry, Records};
use super::{Agent, Conversation, Found, Place};
use crate::protocol::Image;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Sessions of a folder that holds `projects`, newest first.
pub(super) fn entries(folder: &Path) -> Vec<Entry> {
    // Subagents have files of their own.
    let mut entries =
        files::walk(&folder.join("projects"), |name| name.ends_with(".jsonl") && !name.starts_with("agent-"));
    entries.retain(|entry| !entry.path.components().any(|part| part.as_os_str() == "subagents"));
    entries
}

/// What a list shows of a file.
pub(super) fn about(entry: &Entry) -> Result<Found, String> {
    let Ends { head, tail, whole } = files::ends(&entry.path)?;
    let id = entry.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut found = Found::new(Agent::Claude, id, Place::File(entry.path.clone()));
    found.updated_at = entry.changed_at;
    let mut count = 0;
    let mut spoken = false;
    for record in head.iter().chain(&tail) {
        if found.cwd.is_empty() {
            record["cwd"].as_str().unwrap_or_default().clone_into(&mut found.cwd);
        }
        if found.started_at == 0 {
            found.started_at = files::time(&record["timestamp"]).unwrap_or_default();
        }
        match record["type"].as_str().unwrap_or_default() {
            "user" if is_of_the_conversation(record) => {
                count += 1;
                spoken = true;
                if found.prompt.is_empty() && !is_result(record) {
                    found.prompt = prompt(record).0;
                }
            }
            "assistant" if is_of_the_conversation(record) => {
                count += 1;
                spoken = true;
                if let Some(model) = record["message"]["model"].as_str().filter(|model| !model.starts_with('<')) {
                    model.clone_into(&mut found.model);
                }
            }
            kind => {
                if let Some(title) = title(kind, record) {
                    found.title = Some(title);
                }
            }
        }
    }
    if !spoken {
        return Err(format!("{} holds no conversation", entry.path.display()));
    }
    found.messages = whole.then_some(count);
    Ok(found)
}

fn title(kind: &str, record: &Value) -> Option<String> {
    let key = match kind {
        "custom-title" => "customTitle",
        "ai-title" => "aiTitle",
        "summary" => "summary",
        _ => return None,
    };
    record[key].as_str().filter(|title| !title.trim().is_empty()).map(str::to_owned)
}

fn is_of_the_conversation(record: &Value) -> bool {
    record["isSidechain"] != true && record["isMeta"] != true && record["isApiErrorMessage"] != true
}

fn blocks(record: &Value) -> &[Value] {
    record["message"]["content"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn is_result(record: &Value) -> bool {
    blocks(record).iter().any(|block| block["type"] == "tool_result")
}

/// What the person wrote, without what the program put around it; pictures.
fn prompt(record: &Value) -> (String, Vec<Image>) {
    let mut images = Vec::new();
    let texts: Vec<&str> = match &record["message"]["content"] {
        Value::String(text) => vec![text.as_str()],
        Value::Array(blocks) => {
            let source =
                |block: &Value| image(block["source"]["media_type"].as_str()?, block["source"]["data"].as_str()?);
            images = blocks.iter().filter(|block| block["type"] == "image").filter_map(source).collect();
            blocks.iter().filter(|block| block["type"] == "text").filter_map(|block| block["text"].as_str()).collect()
        }
        _ => Vec::new(),
    };
    let own = |text: &&str| {
        let start = text.trim_start();
        let marks =
            ["<system-reminder>", "<local-command-", "<command-", "<bash-", "<ide_", "<user-prompt-submit-hook>"];
        !marks.iter().any(|mark| start.starts_with(mark)) && !start.starts_with("[Request interrupted by user")
    };
    (texts.into_iter().filter(own).collect::<Vec<_>>().join("\n"), images)
}

/// The whole session, without what the person went back from.
pub(super) fn read(found: &Found, mut builder: Builder<'_>) -> Result<Conversation, String> {
    let records = Records::open(found.place.path())?;
    let live = Tree::of(&records)?.live();
    let mut sidechain = 0;
    records.read(&mut builder, |builder, record| {
        let kind = record["type"].as_str().unwrap_or("records without a type");
        let uuid = record["uuid"].as_str().unwrap_or_default();
        let at = files::time(&record["timestamp"]);
        match kind {
            "user" | "assistant" if record["isSidechain"] == true => sidechain += 1,
            "user" | "assistant" if !uuid.is_empty() && !live.contains(uuid) => {
                builder.leave_out("entries that were rewound");
            }
            "user" if record["isCompactSummary"] == true => {
                builder.compacted(at, &prompt(record).0, builder.len(), &found.model);
            }
            "user" | "assistant" if !is_of_the_conversation(record) => builder.leave_out("text of the program"),
            "user" => {
                results(record, at, builder);
                let (text, images) = prompt(record);
                builder.user(at, &text, images);
            }
            "assistant" => answer(record, at, builder),
            "summary" | "custom-title" | "ai-title" => {}
            kind => builder.leave_out(kind),
        }
    })?;
    builder.leave_out_many("entries of subagents", sidechain);
    builder.finish(found)
}

/// How the records of a file hang together, by numbers that stand for their ids.
#[derive(Default)]
struct Tree {
    numbers: HashMap<String, usize>,
    /// The parent of each record, and whether it is a prompt; `None`: only a child names it.
    records: Vec<Option<(Option<usize>, bool)>>,
    /// The last one of the conversation.
    newest: Option<usize>,
}

impl Tree {
    fn of(records: &Records) -> Result<Self, String> {
        let mut tree = Self::default();
        records.each(|record| {
            let Some(uuid) = record["uuid"].as_str() else { return };
            let parent = record["parentUuid"].as_str().or(record["logicalParentUuid"].as_str());
            let parent = parent.filter(|parent| !parent.is_empty()).map(|parent| tree.number(parent));
            let of_conversation = matches!(record["type"].as_str(), Some("user" | "assistant"));
            let begins = record["type"] == "user" && !is_result(record) && record["isSidechain"] != true;
            let number = tree.number(uuid);
            tree.records[number] = Some((parent, begins));
            if of_conversation && record["isSidechain"] != true {
                tree.newest = Some(number);
            }
        })?;
        Ok(tree)
    }

    fn number(&mut self, id: &str) -> usize {
        if let Some(known) = self.numbers.get(id) {
            return *known;
        }
        self.records.push(None);
        self.numbers.insert(id.to_owned(), self.records.len() - 1);
        self.records.len() - 1
    }

    /// The prompt that a record belongs to. `known` has what was found before, so that all of them together are one walk.
    fn turn_of(&self, from: usize, known: &mut HashMap<usize, usize>) -> usize {
        let (mut at, mut way) = (from, Vec::new());
        let turn = loop {
            if let Some(turn) = known.get(&at) {
                break *turn;
            }
            // Noted at once: a circle ends where it began.
            known.insert(at, from);
            way.push(at);
            match self.records[at] {
                Some((Some(parent), false)) => at = parent,
                _ => break at,
            }
        };
        known.extend(way.into_iter().map(|at| (at, turn)));
        turn
    }

    /// The records that the newest one goes back to: those of the turns on its line. Results of calls that ran side by side
    /// stand on branches within their turn.
    fn live(self) -> HashSet<String> {
        let (mut known, mut turns) = (HashMap::new(), HashSet::new());
        let mut next = self.newest;
        while let Some(at) = next {
            let turn = self.turn_of(at, &mut known);
            let Some((parent, _)) = self.records[turn].filter(|_| turns.insert(turn)) else { break };
            next = parent;
        }
        let is_live = |at: usize, known: &mut _| turns.contains(&self.turn_of(at, known));
        self.numbers.iter().filter(|(_, at)| is_live(**at, &mut known)).map(|(id, _)| id.clone()).collect()
    }
}

fn answer(record: &Value, at: Option<i64>, builder: &mut Builder<'_>) {
    let message = &record["message"];
    let (key, model) = (message["id"].as_str(), message["model"].as_str().unwrap_or_default());
    for block in blocks(record) {
        let text = |key: &str| block[key].as_str().unwrap_or_default();
        match block["type"].as_str().unwrap_or_default() {
            "text" => builder.text(at, key, model, text("text")),
            "thinking" => builder.reasoning(at, key, model, text("thinking")),
            "tool_use" => {
                let call = Call { id: text("id"), name: text("name"), args: block["input"].clone() };
                builder.call(at, key, model, &call);
            }
            "redacted_thinking" => builder.leave_out("reasoning that only its provider can read"),
            kind => builder.leave_out(&format!("{kind} blocks")),
        }
    }
}

fn results(record: &Value, at: Option<i64>, builder: &mut Builder<'_>) {
    for block in blocks(record).iter().filter(|block| block["type"] == "tool_result") {
        let mut answer = Answer { failed: block["is_error"] == true, ..Answer::default() };
        match &block["content"] {
            Value::String(text) => answer.text.clone_from(text),
            Value::Array(parts) => {
                let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
                answer.text = texts.join("\n");
                let source =
                    |part: &Value| image(part["source"]["media_type"].as_str()?, part["source"]["data"].as_str()?);
                answer.images = parts.iter().filter_map(source).collect();
            }
            _ => {}
        }
        builder.result(at, block["tool_use_id"].as_str().unwrap_or_default(), answer);
    }
}
