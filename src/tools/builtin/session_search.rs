//! The `session_search` tool: what was said and done, in past sessions and in this one.

use crate::policy::Intent;
use crate::protocol::{Body, ItemId, SessionId};
use crate::store::filter::{self, Filter};
use crate::store::{SearchHit, Store, StoreError};
use crate::tools::spec::{Access, Call, Parallel, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec, Verbs};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
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
                "query": {"type": "string"},
                "role_filter": {"type": "string", "description": "user, assistant, tool; several with commas"},
                "date_range": {"type": "string", "description": "2026-11-01..2026-11-30, 7d, today"},
                "platform": {"type": "string"},
                "limit": {"type": "integer", "minimum": 1, "maximum": MOST},
                "item": {"type": "integer"},
                "session": {"type": "string"}
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

    fn plan<'a>(&'a self, args: Value, _: &'a ToolCtx) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        Box::pin(async move {
            let args: Args = super::parse(NAME, args)?;
            if args.query.trim().is_empty() && args.item.is_none() {
                return Err(ToolError::Args("`query` is empty: give words to look for, or the `item` to read".into()));
            }
            let filter = narrowed(&args)?;
            Ok(Box::new(SearchCall { args, filter }) as Box<dyn Call>)
        })
    }
}

fn narrowed(args: &Args) -> Result<Filter, ToolError> {
    let mut filter = Filter::default();
    for word in args.role_filter.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let role = filter::role(word)
            .ok_or_else(|| ToolError::Args(format!("role_filter: {word} is none of user, assistant, tool")))?;
        filter.roles.push(role.to_owned());
    }
    if !args.platform.trim().is_empty() {
        filter.platform = Some(args.platform.trim().to_owned());
    }
    if args.item.is_none() && !args.session.trim().is_empty() {
        filter.session = Some(SessionId(args.session.trim().to_owned()));
    }
    let range = args.date_range.trim();
    if !range.is_empty() {
        let (from, to) = range.split_once("..").unwrap_or((range, ""));
        let day = |word: &str| match word.trim() {
            "" => Ok(None),
            word => filter::day(word).map(Some).ok_or_else(|| {
                ToolError::Args(format!("date_range: {word} is no day; write 2026-11-01..2026-11-30, 7d or today"))
            }),
        };
        const DAY: i64 = 24 * 3_600_000;
        (filter.since, filter.before) = (day(from)?, day(to)?.map(|begin| begin + DAY));
    }
    Ok(filter)
}

struct SearchCall {
    args: Args,
    filter: Filter,
}

impl Call for SearchCall {
    fn intent(&self) -> &Intent {
        &Intent::Talk
    }

    fn target(&self) -> String {
        match self.args.item {
            Some(item) => format!("#{item}"),
            None => self.args.query.clone(),
        }
    }

    fn run(self: Box<Self>, ctx: ToolCtx) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Some(store) = &ctx.sessions else {
                return Err(ToolError::Failed("there is no session store here".into()));
            };
            match self.args.item {
                Some(item) => entry(store, &self.args.session, &ctx.task, item).await,
                None => self.found(store, &ctx.task).await,
            }
        })
    }
}

impl SearchCall {
    async fn found(&self, store: &Store, here: &str) -> Result<ToolOutput, ToolError> {
        let limit = self.args.limit.unwrap_or(USUAL).clamp(1, MOST);
        let hits = store.hits(&self.args.query, self.filter.clone(), limit).await.map_err(failed)?;
        let rows: Vec<Value> = hits.iter().map(|hit| row(hit, here)).collect();
        let mut result = json!({ "hits": rows });
        if hits.is_empty() {
            result["hint"] = "no matches; try fewer or other words, or a prefix like term*".into();
        }
        let summary = crate::text::format::plural(hits.len() as u64, "hit", "hits");
        Ok(ToolOutput::json(&result).summary(summary))
    }
}

fn row(hit: &SearchHit, here: &str) -> Value {
    let session = &hit.session;
    let time = chrono::DateTime::from_timestamp_millis(hit.at).unwrap_or_default().with_timezone(&chrono::Local);
    let title = session.title.as_deref().unwrap_or(&session.preview);
    let mut row = json!({
        "session": session.id, "item": hit.item.0, "role": hit.role, "title": title, "folder": session.cwd,
        "at": time.format("%Y-%m-%d %H:%M").to_string(), "snippet": session.snippet,
    });
    if session.id == here {
        row["this_session"] = true.into();
    }
    row
}

async fn entry(store: &Store, session: &str, here: &str, item: i64) -> Result<ToolOutput, ToolError> {
    let id = match session.trim() {
        "" => SessionId(here.to_owned()),
        other => store.resolve(other).await.map_err(failed)?,
    };
    let found = store.item(&id, ItemId(item)).await.map_err(failed)?;
    let Some(found) = found else {
        return Err(ToolError::Failed(format!("session {id} has no entry {item}")));
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
    Ok(ToolOutput::json(&result).summary(format!("entry {item}")))
}

fn failed(error: StoreError) -> ToolError {
    ToolError::Failed(error.to_string())
}
