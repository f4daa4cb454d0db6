//! The `patch` tool: find-and-replace in one file, or a V4A patch over several.

mod apply;
mod fit;
pub mod fuzzy;
mod lines;
mod unicode;
pub mod v4a;

use crate::lock::lock;
use crate::tools::file::edit::{self, After, Change, EditCall};
use crate::tools::file::gutter;
use crate::tools::file::masks;
use crate::tools::file::syntax;
use crate::tools::file::text::{self, Text};
use crate::tools::input::paths::{self, Place};
use crate::tools::similarity;
use crate::tools::spec::{Access, Call, Parallel, Tool, ToolCtx, ToolError, ToolSpec, Verbs};
use futures::future::BoxFuture;
use fuzzy::FuzzyError;
use lines::Lines;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// Bytes of diff that the model gets back.
const REPLY_DIFF: usize = 8_000;
/// From this failure on one file, the advice changes.
const ESCALATE: u32 = 3;

/// The tool's name.
pub const NAME: &str = "patch";
/// The tool.
pub struct Patch;

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    super::built_in(
        NAME,
        "file",
        "🔧",
        include_str!("../../../assets/tools/patch.md"),
        json!({
            "type": "object",
            "properties": {
                "mode": {"type": "string", "enum": ["replace", "patch"], "default": "replace"},
                "path": {"type": "string"},
                "old_string": {"type": "string"},
                "new_string": {"type": "string"},
                "replace_all": {"type": "boolean", "default": false},
                "patch": {"type": "string", "description": "V4A text, for mode=patch"}
            }
        }),
        Access::Write,
        Verbs::new("editing", "edited"),
        Parallel::ByPath("path"),
    )
});

#[derive(Deserialize)]
struct Args {
    mode: Option<String>,
    path: Option<String>,
    old_string: Option<String>,
    new_string: Option<String>,
    #[serde(default)]
    replace_all: bool,
    patch: Option<String>,
}

impl Tool for Patch {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn target(&self, args: &Value) -> String {
        match (args.get("path").and_then(Value::as_str), args.get("patch").and_then(Value::as_str)) {
            (None, Some(patch)) => files_of(patch),
            (path, _) => path.unwrap_or_default().to_owned(),
        }
    }

    fn plan<'a>(&'a self, args: Value, ctx: &'a ToolCtx) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        Box::pin(async move {
            let args: Args = super::parse(NAME, args)?;
            let ctx = ctx.clone();
            let call = crate::tools::blocking(move || plan(&args, &ctx)).await??;
            Ok(Box::new(call) as Box<dyn Call>)
        })
    }
}

/// The files that a V4A patch names.
fn files_of(patch: &str) -> String {
    let mut files = patch
        .lines()
        .filter(|line| line.starts_with("***"))
        .filter_map(|line| Some(line.split_once("File:")?.1.trim()));
    let first = files.next().unwrap_or_default();
    match files.count() {
        0 => first.to_owned(),
        more => format!("{first} + {more} more"),
    }
}

fn plan(args: &Args, ctx: &ToolCtx) -> Result<EditCall, ToolError> {
    let missing = |name: &str, mode: &str| ToolError::Args(format!("`{name}` is required for mode={mode}"));
    // A patch without its mode is still a patch.
    let mode = args.mode.as_deref().unwrap_or(if args.patch.is_some() { "patch" } else { "replace" });
    match mode {
        "replace" => {
            let path = args.path.as_deref().ok_or_else(|| missing("path", mode))?;
            let old = args.old_string.as_deref().ok_or_else(|| missing("old_string", mode))?;
            let new = args.new_string.as_deref().ok_or_else(|| missing("new_string", mode))?;
            replace(path, old, new, args.replace_all, ctx)
        }
        "patch" => v4a_patch(args.patch.as_deref().ok_or_else(|| missing("patch", mode))?, ctx),
        other => Err(ToolError::Args(format!("mode is `{other}`, but must be replace or patch"))),
    }
}

fn v4a_patch(patch: &str, ctx: &ToolCtx) -> Result<EditCall, ToolError> {
    let played = apply::play(patch, ctx)?;
    let mut reply = Map::from_iter([("success".to_owned(), Value::Bool(true))]);
    let mut list = |key: &str, pick: fn(&Change) -> bool| {
        let names: Vec<&str> = played.changes.iter().filter(|change| pick(change)).map(|c| c.shown.as_str()).collect();
        if !names.is_empty() {
            reply.insert(key.to_owned(), json!(names));
        }
    };
    list("files_modified", |c| c.before.is_some() && c.after != After::Delete);
    list("files_created", |c| c.before.is_none());
    list("files_deleted", |c| c.after == After::Delete);
    warn(&mut reply, &played.warnings);
    Ok(with_diff(EditCall::checked(played.changes, reply, ctx)?))
}

fn replace(path: &str, old: &str, new: &str, all: bool, ctx: &ToolCtx) -> Result<EditCall, ToolError> {
    let place = paths::place(path, ctx)?;
    let Some(before) = edit::read(&*ctx.disk(), &place.path, &place.shown)? else {
        return Err(super::not_found(&place, ctx));
    };
    let failed = |why: &str| ToolError::Failed(format!("{}: {why}", place.shown));
    let file = Text::decode(&before).map_err(failed)?;
    let (old, new) = (text::to_lf(old), text::to_lf(new));
    // Nor by likeness: the line that is meant is not known, and neither is what would be lost.
    if let Some(hint) = masks::hint(&old, &file.text, ctx) {
        return Err(failed(&format!("not written: {hint}")));
    }
    let replaced = match fuzzy::replace(&file.text, &old, &new, all) {
        Ok(replaced) => replaced,
        Err(why) => return Err(no_match(&place, &file.text, &old, &why, ctx)),
    };
    if let (Ok(()), Err(fault)) = (syntax::check(&place.path, &file.text), syntax::check(&place.path, &replaced.text)) {
        return Err(failed(&format!("not written: it would no longer parse: {fault}")));
    }
    let mut reply = Map::from_iter([
        ("success".to_owned(), Value::Bool(true)),
        ("files_modified".to_owned(), json!([place.shown])),
        ("resolved_path".to_owned(), json!(place.path)),
    ]);
    if replaced.count > 1 {
        reply.insert("replacements".to_owned(), json!(replaced.count));
    }
    if replaced.strategy != fuzzy::Strategy::Exact {
        reply.insert("matched_by".to_owned(), json!(replaced.strategy.name()));
    }
    warn(&mut reply, edit::stale(ctx, &place.path, &place.shown)?.as_slice());
    let after = After::Write(file.encode(&replaced.text).map_err(|why| failed(&format!("not written: {why}")))?);
    let change = Change { path: place.path, shown: place.shown, before: Some(before), after };
    Ok(with_diff(EditCall::checked(vec![change], reply, ctx)?))
}

fn with_diff(mut call: EditCall) -> EditCall {
    let diff = call.unified(REPLY_DIFF);
    call.reply_mut().insert("diff".to_owned(), Value::String(diff));
    call
}

fn warn(reply: &mut Map<String, Value>, warnings: &[String]) {
    if !warnings.is_empty() {
        reply.insert("_warning".to_owned(), Value::String(warnings.join("; ")));
    }
}

/// Says why nothing matched, and what is near.
fn no_match(place: &Place, content: &str, old: &str, why: &FuzzyError, ctx: &ToolCtx) -> ToolError {
    let failures = {
        let mut ledger = lock(&ctx.files);
        let failures = ledger.failed_patches.entry(place.path.clone()).or_default();
        *failures += 1;
        *failures
    };
    let mut text = format!("{}: {why}", place.shown);
    if *why == FuzzyError::NotFound {
        if gutter::looks_numbered(old) {
            text.push_str("; it contains read_file's line numbers: remove them");
        }
        let near = closest(content, old);
        if !near.is_empty() {
            text.push_str(&format!("\n\nDid you mean one of these sections?\n{near}"));
        }
    }
    if failures >= ESCALATE {
        text.push_str(&format!(
            "\n\nThis is failure {failures} on this file: read that part again, or rewrite the file with write_file"
        ));
    }
    ToolError::Failed(text)
}

/// The three places most like the first line of `old`, with two lines around each.
fn closest(content: &str, old: &str) -> String {
    let Some(anchor) = old.lines().map(str::trim).find(|line| !line.is_empty()) else { return String::new() };
    let lines = Lines::new(content);
    let mut scored: Vec<(f64, usize)> = lines
        .iter()
        .take(20_000)
        .enumerate()
        .filter(|(_, line)| similarity::at_least(line.trim(), anchor, 0.5))
        .map(|(i, line)| (similarity::ratio(line.trim(), anchor), i))
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let section = |at: usize| {
        let height = old.lines().count().max(1);
        let rows = at.saturating_sub(2)..(at + height + 2).min(lines.len());
        rows.map(|i| format!("{:4}| {}\n", i + 1, lines.get(i).chars().take(200).collect::<String>()))
            .collect::<String>()
    };
    scored.iter().take(3).map(|(_, at)| section(*at)).collect::<Vec<_>>().join("---\n")
}

#[cfg(test)]
mod tests;
