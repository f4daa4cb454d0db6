//! The `session_search` tool: what was said and done, in past sessions and in this one.

use crate::policy::Intent;
use crate::policy::taint::{UNTRUSTED, Untrusted};
use crate::protocol::{Body, ItemId, SessionId};
use crate::store::filter::{self, Filter};
use crate::store::{SearchHit, Shelf, Store, StoreError};
use crate::tools::spec::{Access, Call, Parallel, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec, Verbs};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The tool's name.
pub const NAME: &str = "session_search";
/// Hits when nobody says, and at most.
const USUAL: usize = 5;
const MOST: usize = 30;

/// The tool.
pub struct SessionSearch;

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    super::built_in(
        NAME,
        NAME,
        "🔍",
        include_str!("../../../assets/tools/session_search.md").trim(),
        json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "Words to look for"},
                "role_filter": {"type": "string", "description": "user, assistant, tool; several with commas"},
                "date_range": {"type": "string", "description": "2026-11-01..2026-11-30, one day, 7d, today"},
                "platform": {"type": "string", "description": "tui, print, telegram …"},
                "limit": {"type": "integer", "minimum": 1, "maximum": MOST},
                "item": {"type": "integer", "description": "Number of an entry, read in full"},
                "session": {"type": "string", "description": "Only this session"}
            }
        }),
        Access::Agent,
        Verbs::new("searching sessions", "searched sessions"),
        Parallel::Always,
    )
});

#[derive(Deserialize)]
struct Args {
    #[serde(default)]
    query: String,
    #[serde(default)]
    role_filter: String,
    #[serde(default)]
    date_range: String,
    #[serde(default)]
    platform: String,
    limit: Option<usize>,
    item: Option<i64>,
    #[serde(default)]
    session: String,
}

impl Tool for SessionSearch {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn target(&self, args: &Value) -> String {
        match args.get("item").and_then(Value::as_i64) {
            Some(item) => format!("#{item}"),
            None => args.get("query").and_then(Value::as_str).unwrap_or_default().to_owned(),
        }
    }

    fn plan<'a>(&'a self, args: Value, ctx: &'a ToolCtx) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        Box::pin(async move {
            let args: Args = super::parse(NAME, args)?;
            if args.query.trim().is_empty() && args.item.is_none() {
                return Err(ToolError::Args("`query` is empty: give words to look for, or the `item` to read".into()));
            }
            let (query, filter) = narrowed(&args)?;
            let Some(store) = &ctx.sessions else {
                return Err(ToolError::Failed("there is no session store here".into()));
            };
            let (output, sessions) = match args.item {
                Some(item) => entry(store, &args.session, &ctx.task, item).await?,
                None => found(store, &args, &query, filter, &ctx.task).await?,
            };
            let target = self.target(&json!({ "item": args.item, "query": args.query }));
            let strangers = strangers(store, sessions, &ctx.task).await;
            Ok(Box::new(SearchCall { target, output, strangers }) as Box<dyn Call>)
        })
    }
}

/// The words that are looked for, and what narrows them.
fn narrowed(args: &Args) -> Result<(String, Filter), ToolError> {
    if let Some(fault) = Filter::fault(&args.query).filter(|_| args.item.is_none()) {
        let quoted = if args.query.contains('"') {
            ""
        } else {
            "; put words in double quotation marks to look for them as they are"
        };
        return Err(ToolError::Args(format!("query: {fault}{quoted}")));
    }
    let (query, mut filter) = Filter::read(&args.query, None);
    for word in args.role_filter.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let role = filter::role(word)
            .ok_or_else(|| ToolError::Args(format!("role_filter: {word} is not one of user, assistant, tool")))?;
        filter.roles.push(role.to_owned());
    }
    if !args.platform.trim().is_empty() {
        filter.platform = Some(args.platform.trim().to_owned());
    }
    if args.item.is_none() && !args.session.trim().is_empty() {
        filter.session = Some(SessionId(args.session.trim().to_owned()));
        // It is named, wherever it lies.
        filter.shelf = Shelf::All;
    }
    let range = args.date_range.trim();
    if !range.is_empty() {
        (filter.since, filter.before) = filter::range(range).ok_or_else(|| {
            let how = "is not a range of dates; use 2026-11-01..2026-11-30, 2026-11-01, 7d or today";
            ToolError::Args(format!("date_range: {range} {how}"))
        })?;
    }
    Ok((query, filter))
}

/// What was found when the call was planned: whose text it is decides how the gate receives it.
struct SearchCall {
    target: String,
    output: ToolOutput,
    strangers: Option<String>,
}

impl Call for SearchCall {
    fn intent(&self) -> &Intent {
        &Intent::Talk
    }

    fn target(&self) -> String {
        self.target.clone()
    }

    fn strangers(&self) -> Option<String> {
        self.strangers.clone()
    }

    fn run(self: Box<Self>, _: ToolCtx) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move { Ok(self.output) })
    }
}

/// Where the text of strangers in these sessions came from; `None` when there is none in them. What this session read it
/// knows.
async fn strangers(store: &Store, sessions: BTreeSet<String>, here: &str) -> Option<String> {
    for session in sessions.into_iter().filter(|session| session != here) {
        let meta = store.meta(&SessionId(session.clone())).await.ok()?;
        let untrusted = meta.get(UNTRUSTED).and_then(|value| serde_json::from_value::<Untrusted>(value.clone()).ok());
        if let Some(untrusted) = untrusted.filter(|untrusted| !untrusted.origins.is_empty()) {
            return Some(format!("session {session}: {}", untrusted.words()));
        }
    }
    None
}

async fn found(
    store: &Store,
    args: &Args,
    query: &str,
    filter: Filter,
    here: &str,
) -> Result<(ToolOutput, BTreeSet<String>), ToolError> {
    let limit = args.limit.unwrap_or(USUAL).clamp(1, MOST);
    let found = store.hits(query, filter, limit).await.map_err(failed)?;
    let bound = found.bound();
    let hits = found.rows;
    let rows: Vec<Value> = hits.iter().map(|hit| row(hit, here)).collect();
    let mut result = json!({ "matches": rows });
    if hits.is_empty() {
        result["hint"] = "no matches; try fewer or other words, or a prefix like term*".into();
    } else if let Some(bound) = bound {
        result["hint"] = format!("only {bound} were ranked; more words or a date_range find older ones").into();
    }
    let summary = crate::text::format::plural(hits.len() as u64, "match", "matches");
    let sessions = hits.into_iter().map(|hit| hit.session.id).collect();
    Ok((ToolOutput::json(&result).summary(summary), sessions))
}

fn row(hit: &SearchHit, here: &str) -> Value {
    let session = &hit.session;
    let time = chrono::DateTime::from_timestamp_millis(hit.at).unwrap_or_default().with_timezone(&chrono::Local);
    let title = session.title.as_deref().unwrap_or(&session.preview);
    let mut row = json!({
        "session": session.id, "item": hit.item.0, "role": hit.role, "title": title, "folder": session.cwd,
        "at": time.format("%Y-%m-%d %H:%M").to_string(), "content": session.snippet,
    });
    if session.id == here {
        row["this_session"] = true.into();
    }
    row
}

async fn entry(
    store: &Store,
    session: &str,
    here: &str,
    item: i64,
) -> Result<(ToolOutput, BTreeSet<String>), ToolError> {
    let id = match session.trim() {
        "" => SessionId(here.to_owned()),
        other => store.resolve(other).await.map_err(failed)?,
    };
    let found = store.item(&id, ItemId(item)).await.map_err(failed)?;
    let Some(found) = found else {
        return Err(ToolError::Failed(format!(
            "session {id} has no entry {item}; a search gives the numbers of entries"
        )));
    };
    let result = match found.body {
        Body::User { text, .. } => json!({ "role": "user", "text": text }),
        Body::Assistant(body) => {
            let calls: Vec<Value> =
                body.calls.iter().map(|call| json!({ "tool": call.name, "args": call.args })).collect();
            json!({ "role": "assistant", "text": body.text, "calls": calls })
        }
        Body::Tool(body) => json!({ "role": "tool", "tool": body.name, "content": body.content }),
        Body::Summary(summary) => json!({ "role": "summary", "text": summary.text }),
        Body::Note { text, .. } => json!({ "role": "note", "text": text }),
    };
    Ok((ToolOutput::json(&result).summary(format!("entry {item}")), BTreeSet::from([id.0])))
}

fn failed(error: StoreError) -> ToolError {
    ToolError::Failed(error.to_string())
}
