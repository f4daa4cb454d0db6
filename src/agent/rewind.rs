//! What going back to a prompt means: the prompts there are, and a preview of one. Reads, changes nothing.

use crate::protocol::{
    Body, Fate, FileBack, FileKind, Item, ItemId, LeftOut, Origin, Outcome, RanCommands, RewindPoint, RewindPreview,
    Rewound, SessionId, Todo, ToolCall, Who,
};
use crate::store::{Blobs, Command, FOLDER, FileChange, Since, Store, StoreError};
use crate::text::width::truncate_end;
use crate::tools::builtin::todo;
use crate::tools::file::diff::file_diff;
use crate::tools::file::restore::{Back, Verdict, named, undoing};
use crate::tools::file::restore_target::RestoreTarget;
use crate::tools::registry::{Registry, Snapshot};
use crate::tools::spec::Access;
use std::collections::HashMap;
use std::path::Path;

/// Characters of a line.
const LINE: usize = 160;
/// Entries that the preview shows of what is left out.
const SHOWN: usize = 60;
/// Changed files that are looked at for a list.
const FILES: usize = 64;
/// Lines of a file's diff in a preview, and columns of each.
const DIFF: usize = 16;
const COLUMNS: usize = 200;
/// Children whose commands it names.
const CHILDREN: usize = 20;
/// Commands that the preview names for one prompt.
const COMMANDS: usize = 8;

/// The prompts of a session, newest first.
pub async fn points(store: &Store, tools: &Registry, session: &SessionId) -> Result<Vec<RewindPoint>, StoreError> {
    let (prompts, ran) = store.prompts(session).await?;
    let recorded = store.commands(session, 0).await?;
    let covered: Vec<u32> = recorded.iter().filter(|known| known.gaps.is_empty()).map(|known| known.turn).collect();
    let tools = tools.snapshot();
    let ran: Vec<ItemId> =
        ran.into_iter().filter(|(_, name)| may_have_changed(&tools, name)).map(|(id, _)| id).collect();
    let point = |prompt: crate::store::Prompt| RewindPoint {
        item: prompt.item.id,
        at: prompt.item.at,
        text: prompt_text(&prompt.item),
        files: prompt.files,
        commands: (ran.len() - ran.partition_point(|id| *id < prompt.item.id))
            .saturating_sub(covered.iter().filter(|turn| **turn >= prompt.item.turn).count()) as u64,
    };
    Ok(prompts.into_iter().map(point).collect())
}

/// What going back to a prompt would do now. `None`: the prompt is not in the conversation. `ground` says where files can
/// be looked at, and the working folder there.
pub async fn preview(
    store: &Store,
    blobs: &Blobs,
    tools: &Registry,
    session: &SessionId,
    item: ItemId,
    ground: (&RestoreTarget, &Path),
) -> Result<Option<RewindPreview>, StoreError> {
    let since = store.since(session, item).await?;
    if since.items.is_empty() {
        return Ok(None);
    }
    let turn = since.items.first().map_or(0, |first| first.turn);
    let mut preview = said(&since, tools, &store.commands(session, turn).await?);
    for child in since.children.iter().take(CHILDREN) {
        // One that was deleted has nothing to tell.
        let Ok(items) = store.all_items(child).await else { continue };
        let of_child = said(&Since { items, ..Since::default() }, tools, &store.commands(child, 0).await?);
        preview.commands.extend(of_child.commands);
    }
    let (blobs, cwd, ground) = (blobs.clone(), ground.1.to_owned(), ground.0.clone());
    let files = tokio::task::spawn_blocking(move || files(&since, &blobs, &cwd, &ground)).await;
    // A task that was ended with the program is missed by nobody.
    preview.files = files.unwrap_or_default();
    Ok(Some(preview))
}

fn files(since: &Since, blobs: &Blobs, cwd: &Path, ground: &RestoreTarget) -> Vec<FileBack> {
    let mut backs = undoing(&since.changes, blobs, ground);
    backs.sort_by(|one, two| (&one.place, &one.path).cmp(&(&two.place, &two.path)));
    let differs = backs.iter().filter(|back| !back.is_untouched());
    differs.map(|back| file(back, blobs, cwd, ground)).collect()
}

pub(super) fn file(back: &Back, blobs: &Blobs, cwd: &Path, ground: &RestoreTarget) -> FileBack {
    let path = back.path.strip_prefix(cwd).unwrap_or(&back.path);
    let mut path = named(&back.place, path).display().to_string();
    let is_folder = [&back.target, &back.left].iter().any(|state| state.kind() == FOLDER);
    if is_folder {
        path.push('/');
    }
    let now = back.now.state().unwrap_or_default();
    let kind = match (&now.hash, &back.target.hash) {
        (None, _) => FileKind::Added,
        (_, None) => FileKind::Deleted,
        (was, becomes) if was == becomes => FileKind::Mode,
        (_, Some(_)) => FileKind::Modified,
    };
    if let (FileKind::Mode, Some(was), Some(becomes)) = (kind, now.mode, back.target.mode)
        && was != becomes
    {
        path.push_str(&format!(" (mode {:o} → {:o})", was & 0o7777, becomes & 0o7777));
    }
    let (mut added, mut removed, mut lines) = (0, 0, String::new());
    if !is_folder && matches!(back.verdict, Verdict::Ready | Verdict::Foreign(_)) {
        let now = ground.read(&back.place, &back.path).ok();
        let then = back.target.hash.as_ref().and_then(|hash| blobs.read(hash).ok().flatten());
        let diff = file_diff(&path, now.as_deref(), then.as_deref());
        (added, removed, lines) = (diff.added, diff.removed, short(&diff.unified));
    }
    let fate = match &back.verdict {
        Verdict::Ready => Fate::Ready,
        Verdict::Already => Fate::Already,
        Verdict::Foreign(how) => Fate::Foreign((*how).to_owned()),
        Verdict::Lost(why) => Fate::Lost(why.clone()),
    };
    FileBack { path, kind, added, removed, diff: lines, fate }
}

/// The beginning of a diff, without its head.
fn short(unified: &str) -> String {
    let lines: Vec<&str> = unified.lines().skip_while(|line| !line.starts_with("@@")).collect();
    let mut out = String::new();
    for line in lines.iter().take(DIFF) {
        out.push_str(&truncate_end(line, COLUMNS));
        out.push('\n');
    }
    let more = lines.len().saturating_sub(DIFF);
    if more > 0 {
        out.push_str(&format!("… {}\n", crate::text::format::plural(more as u64, "more line", "more lines")));
    }
    out
}

/// Files of a session as its tools found them and as they are now: path, lines added and removed. One that is as it was is
/// not named, whoever put it back; one that can't be compared is named without lines. Newest last; at most [`FILES`] are
/// looked at.
pub async fn changed(
    store: &Store,
    blobs: &Blobs,
    session: &SessionId,
    ground: (&RestoreTarget, &Path),
) -> Result<Vec<(String, u32, u32)>, StoreError> {
    let changes = store.changes(session).await?;
    let (blobs, cwd, ground) = (blobs.clone(), ground.1.to_owned(), ground.0.clone());
    let work = move || {
        let cwd = cwd.canonicalize().unwrap_or(cwd);
        let mut order: Vec<(&str, &Path)> = Vec::new();
        for change in changes.iter().rev() {
            let spot = (change.place.as_str(), change.path.as_path());
            if order.len() < FILES && !order.contains(&spot) {
                order.push(spot);
            }
        }
        let backs = undoing(&changes, &blobs, &ground);
        let differs = |spot: &(&str, &Path)| {
            let back = backs.iter().find(|back| (back.place.as_str(), back.path.as_path()) == *spot)?;
            let file = file(back, &blobs, &cwd, &ground);
            // Putting it back adds what was removed.
            match file.fate {
                Fate::Ready => Some((file.path, file.removed, file.added)),
                // Lines of others are theirs. What can't be told apart is named without lines.
                Fate::Foreign(_) => {
                    let (added, removed) = own_lines(&changes, spot, &blobs).unwrap_or_default();
                    Some((file.path, added, removed))
                }
                Fate::Lost(_) => Some((file.path, 0, 0)),
                Fate::Already => None,
            }
        };
        order.iter().rev().filter_map(differs).collect()
    };
    // A task that was ended with the program is missed by nobody.
    Ok(tokio::task::spawn_blocking(work).await.unwrap_or_default())
}

/// Lines that changes of a file added and removed; `None`: what one of them left was not kept.
fn own_lines(changes: &[FileChange], (place, path): &(&str, &Path), blobs: &Blobs) -> Option<(u32, u32)> {
    let of = |change: &&FileChange| change.place == *place && change.path == *path;
    let bytes = |hash: &Option<String>| match hash {
        Some(hash) => blobs.read(hash).ok().flatten().map(Some),
        None => Some(None),
    };
    let (mut added, mut removed) = (0, 0);
    let all: Vec<&FileChange> = changes.iter().filter(of).collect();
    for run in all.chunk_by(|one, next| one.after.is_like(&next.before)) {
        let (before, after) = (bytes(&run.first()?.before.hash)?, bytes(&run.last()?.after.hash)?);
        let diff = file_diff("", before.as_deref(), after.as_deref());
        (added, removed) = (added + diff.added, removed + diff.removed);
    }
    Some((added, removed))
}

/// What would be left out, and the commands whose changes stay.
fn said(since: &Since, tools: &Registry, recorded: &[Command]) -> RewindPreview {
    let mut preview = RewindPreview { items: entries(&since.items), ..RewindPreview::default() };
    if let Some(first) = since.items.first() {
        preview.item = first.id;
        preview.text = prompt_text(first);
    }
    let mut asked: HashMap<&str, &ToolCall> = HashMap::new();
    let tools = tools.snapshot();
    for item in &since.items {
        if let Body::Assistant(body) = &item.body {
            asked.extend(body.calls.iter().map(|call| (call.id.as_str(), call)));
        }
        let (who, text) = match &item.body {
            Body::User { text, origin, .. } => {
                if *origin == Origin::Person {
                    preview.prompts += 1;
                    preview.commands.push(RanCommands { prompt: line(text), commands: Vec::new() });
                }
                (speaker(*origin), text)
            }
            Body::Assistant(body) => (Who::Model, &body.text),
            Body::Tool(tool) => {
                let executes = may_have_changed(&tools, &tool.name);
                // One that was stopped while a person was asked says so in place of an approval.
                let began = !tool.view.approval.starts_with("not run");
                let record = recorded.iter().find(|known| known.turn == item.turn && known.call == tool.call_id);
                let covered = record.is_some_and(|known| known.gaps.is_empty());
                let ran = executes && began && !tool.outcome.is_blocked() && !covered;
                if ran && let Some(last) = preview.commands.last_mut() {
                    let edited = Some(tool.view.edited.clone()).filter(|line| !line.is_empty());
                    let whole = edited.or_else(|| asked.get(tool.call_id.as_str()).and_then(|call| command(call)));
                    let target = if tool.view.target.is_empty() { &tool.name } else { &tool.view.target };
                    let gaps = record.map(|known| known.gaps.join("; ")).filter(|gaps| !gaps.is_empty());
                    let whole = line(whole.as_deref().unwrap_or(target));
                    last.commands.push(gaps.map_or(whole.clone(), |gaps| line(&format!("{whole} · {gaps}"))));
                }
                (Who::Tool, &tool.view.target)
            }
            Body::Summary(_) | Body::Note { .. } => continue,
        };
        if preview.left_out.len() < SHOWN && !text.trim().is_empty() {
            preview.left_out.push(LeftOut { who, text: line(text) });
        }
    }
    preview.commands.retain(|ran| !ran.commands.is_empty());
    for ran in &mut preview.commands {
        let more = ran.commands.len().saturating_sub(COMMANDS);
        if more > 0 {
            ran.commands.truncate(COMMANDS);
            ran.commands.push(format!("… {more} more"));
        }
    }
    preview
}

/// What was said and done: notes for the person don't count.
pub fn entries(items: &[Item]) -> usize {
    entries_of(items.iter())
}

/// The same of any items.
pub fn entries_of<'a>(items: impl Iterator<Item = &'a Item>) -> usize {
    items.filter(|item| !matches!(item.body, Body::Summary(_) | Body::Note { .. })).count()
}

/// An entry on one line, with who it is from; `None` for one without text.
pub fn in_a_line(item: &Item) -> Option<String> {
    let LeftOut { who, text } = left_out(item)?;
    Some(format!("{}{text}", who.before()))
}

/// An entry on one line, with its number; `None` for one without text.
pub fn left_out(item: &Item) -> Option<LeftOut> {
    let (who, text) = match &item.body {
        Body::User { text, origin, .. } => (speaker(*origin), line(text)),
        Body::Assistant(body) => (Who::Model, line(&body.text)),
        Body::Tool(tool) => (Who::Tool, line(&format!("{} {} {}", tool.name, tool.view.target, tool.view.summary))),
        Body::Summary(_) | Body::Note { .. } => return None,
    };
    (!text.is_empty()).then(|| LeftOut { who, text: format!("#{} {text}", item.id.0) })
}

/// What the program told the model is no prompt.
fn speaker(origin: Origin) -> Who {
    match origin {
        Origin::Person | Origin::Steer => Who::Person,
        Origin::Program => Who::Tool,
    }
}

/// The whole command of a call: its short form leaves out redirections, which are what changes files.
fn command(call: &ToolCall) -> Option<String> {
    let args: serde_json::Value = serde_json::from_str(&call.args).ok()?;
    Some(args.get("command")?.as_str()?.to_owned())
}

/// Whether a tool may have changed what the history does not keep: a command, a tool that is not known, or one from
/// elsewhere that writes in its own way.
fn may_have_changed(tools: &Snapshot, name: &str) -> bool {
    tools.get(name).is_none_or(|tool| match tool.spec().access {
        Access::Execute => true,
        Access::Write => tools.origin(name).is_some(),
        Access::Read | Access::Agent => false,
    })
}

fn prompt_text(item: &Item) -> String {
    match &item.body {
        Body::User { text, images, .. } if text.trim().is_empty() => {
            crate::text::format::plural(images.len() as u64, "image", "images")
        }
        Body::User { text, .. } => line(text),
        Body::Assistant(_) | Body::Tool(_) | Body::Summary(_) | Body::Note { .. } => String::new(),
    }
}

/// The start of a text on one line.
pub(super) fn line(text: &str) -> String {
    line_of(text, LINE)
}

/// The same with so many characters.
pub(super) fn line_of(text: &str, most: usize) -> String {
    let mut line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((cut, _)) = line.char_indices().nth(most) {
        line.truncate(cut);
        line.push('…');
    }
    line
}

/// The plan as the last call of the conversation left it; `None` when that can't be told.
pub fn plan(items: &[Item]) -> Option<Vec<Todo>> {
    let last = items.iter().rev().find_map(|item| match &item.body {
        Body::Tool(tool) if tool.name == todo::NAME && tool.outcome == Outcome::Ok => Some(&tool.content),
        _ => None,
    });
    last.map_or_else(|| Some(Vec::new()), |content| todo::plan_in(content))
}

/// The prompt of an item, to go back to the composer.
pub fn prompt(item: &Item, items: Vec<Item>) -> Rewound {
    let prompt = match &item.body {
        Body::User { text, images, .. } => Some((text.clone(), images.clone())),
        Body::Assistant(_) | Body::Tool(_) | Body::Summary(_) | Body::Note { .. } => None,
    };
    Rewound { items, prompt, taken: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{AssistantBody, ToolBody, ToolView};

    fn item(id: i64, body: Body) -> Item {
        Item { id: ItemId(id), at: 0, turn: 1, body }
    }

    fn user(text: &str) -> Body {
        Body::User {
            text: text.into(),
            images: vec![],
            context: String::new(),
            origin: Origin::Person,
            gist: String::new(),
        }
    }

    fn tool(name: &str, target: &str, content: &str, outcome: Outcome) -> Body {
        let view = ToolView { target: target.into(), ..ToolView::default() };
        Body::Tool(ToolBody { name: name.into(), content: content.into(), outcome, view, ..ToolBody::default() })
    }

    /// A call that was stopped while a person was asked.
    fn asked(name: &str, target: &str) -> Body {
        let approval = "not run: the user stopped the turn before answering".into();
        let view = ToolView { target: target.into(), approval, ..ToolView::default() };
        Body::Tool(ToolBody { name: name.into(), outcome: Outcome::Interrupted, view, ..ToolBody::default() })
    }

    #[test]
    fn commands_are_named_by_prompt_and_reads_are_not_commands() {
        let items = vec![
            item(1, user("format\n it")),
            item(2, Body::Assistant(AssistantBody { text: "yes".into(), ..AssistantBody::default() })),
            item(3, tool("terminal", "cargo fmt", "", Outcome::Ok)),
            item(4, tool("terminal", "rm -rf /", "", Outcome::Refused)),
            item(5, tool("read_file", "a.rs", "", Outcome::Ok)),
            item(6, user("look")),
            item(7, tool("read_file", "b.rs", "", Outcome::Ok)),
            item(8, user("mystery")),
            item(9, tool("mcp_thing", "", "", Outcome::Failed)),
            item(10, asked("terminal", "rm -rf build")),
            item(11, Body::Note { kind: crate::protocol::NoteKind::TurnEnd, text: "1 step".into() }),
        ];
        let preview = said(&Since { items, ..Since::default() }, &Registry::builtin(), &[]);
        let commands: Vec<(&str, Vec<&str>)> = preview
            .commands
            .iter()
            .map(|ran| (ran.prompt.as_str(), ran.commands.iter().map(String::as_str).collect()))
            .collect();
        assert_eq!(commands, [("format it", vec!["cargo fmt"]), ("mystery", vec!["mcp_thing"])]);
        assert_eq!((preview.prompts, preview.items, preview.text.as_str()), (3, 10, "format it"));
    }

    #[test]
    fn the_plan_is_that_of_the_last_call_left() {
        let todo = |content: &str| tool("todo", "", content, Outcome::Ok);
        let one = item(1, todo(r#"{"todos":[{"id":"1","content":"sow","status":"pending"}],"summary":{}}"#));
        let two = item(2, todo(r#"{"todos":[]}"#));
        assert_eq!(plan(std::slice::from_ref(&one)).map(|plan| plan[0].content.clone()), Some("sow".into()));
        assert_eq!(plan(&[one, two]), Some(vec![]));
        assert_eq!(plan(&[item(1, user("x"))]), Some(vec![]));
        assert_eq!(plan(&[item(1, todo("cut off"))]), None);
    }
}
