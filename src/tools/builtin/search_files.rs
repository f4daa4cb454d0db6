//! The `search_files` tool: lines that match, or files by name, with ripgrep's own libraries.

mod find;
mod grep;
mod there;

use crate::backends::Reach;
use crate::policy::Intent;
use crate::policy::decide::Closed;
use crate::policy::files::SecretsBelow;
use crate::protocol::CallRow;
use crate::tools::input::paths::{self, Place};
use crate::tools::spec::{Access, Call, Content, Parallel, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec, Verbs};
use find::Names;
use futures::future::BoxFuture;
use grep::{Mode, Query};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

const DEFAULT_LIMIT: i64 = 50;
const MAX_LIMIT: i64 = 1_000;
const MAX_CONTEXT: i64 = 20;
const TIMEOUT: Duration = Duration::from_secs(60);
/// From this many matches on, the result groups them by file.
const GROUPED: usize = 5;

/// The tool's name.
pub const NAME: &str = "search_files";
/// The tool.
pub struct SearchFiles;

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    let spec = super::built_in(
        NAME,
        "file",
        "🔎",
        include_str!("../../../assets/tools/search_files.md"),
        json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "Regex, or a glob for target=files"},
                "target": {"type": "string", "enum": ["content", "files"], "default": "content"},
                "path": {"type": "string", "default": "."},
                "file_glob": {"type": "string"},
                "limit": {"type": "integer", "default": DEFAULT_LIMIT},
                "offset": {"type": "integer", "default": 0},
                "output_mode": {"type": "string", "enum": ["content", "files_only", "count"], "default": "content"},
                "context": {"type": "integer", "default": 0, "description": "Context lines around a match"}
            },
            "required": ["pattern"]
        }),
        Access::Read,
        Verbs::new("searching", "searched"),
        Parallel::Always,
    );
    ToolSpec { content: Content::Files, row: CallRow::Times, ..spec }
});

#[derive(Deserialize)]
struct Args {
    pattern: String,
    target: Option<String>,
    path: Option<String>,
    file_glob: Option<String>,
    limit: Option<i64>,
    offset: Option<i64>,
    output_mode: Option<String>,
    context: Option<i64>,
}

impl Tool for SearchFiles {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn target(&self, args: &Value) -> String {
        let pattern = super::text(args, "pattern");
        match args.get("path").and_then(Value::as_str) {
            Some(path) => format!("{pattern} in {path}"),
            None => pattern.to_owned(),
        }
    }

    fn plan<'a>(&'a self, args: Value, ctx: &'a ToolCtx) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        Box::pin(async move {
            let args: Args = super::parse(NAME, args)?;
            if args.pattern.is_empty() {
                return Err(ToolError::Args("pattern is empty".into()));
            }
            let place = paths::place(args.path.as_deref().unwrap_or("."), ctx)?;
            if ctx.disk().about(&place.path).is_err() {
                return Err(super::not_found(&place, ctx));
            }
            if paths::is_blocked_device(&place.path) {
                return Err(ToolError::Failed(format!("{}: not searched: it is a device", place.shown)));
            }
            let kind = kind(&args, ctx.within.is_some())?;
            let limit = args.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT) as usize;
            let offset = args.offset.unwrap_or(0).max(0) as usize;
            let target = match place.shown.as_str() {
                "." => args.pattern.clone(),
                folder => format!("{} in {folder}", args.pattern),
            };
            let literal = paths::literal(args.path.as_deref().unwrap_or("."), ctx);
            let mut secrets = Secrets::new(&place.path, literal.clone(), ctx);
            // A filter that names a secret asks for that file, wherever it lies below.
            let meant = args.file_glob.as_deref().map(|glob| literal.join(without_wildcards(glob)));
            let meant = meant.filter(|file| matches!(kind, Kind::Content { .. }) && secrets.has_named(file));
            secrets.asked |= meant.is_some();
            let hidden = args.file_glob.as_deref().is_some_and(Names::are_hidden);
            let reach = match (&meant, hidden) {
                (Some(_), _) => Reach::All,
                (None, true) => Reach::Hidden,
                (None, false) => Reach::Usual,
            };
            let intent = Intent::Read(meant.unwrap_or(literal));
            Ok(Box::new(SearchCall { place, secrets, reach, kind, limit, offset, target, intent }) as Box<dyn Call>)
        })
    }
}

/// What a filter names when nothing is put in the place of its wildcards: `.env*` is `.env`, `**/id_rsa` is `id_rsa`.
fn without_wildcards(glob: &str) -> String {
    let parts = glob.trim().split('/').filter(|part| *part != "**");
    parts.collect::<Vec<_>>().join("/").replace(['*', '?'], "").trim_start_matches('/').to_owned()
}

/// What is searched for.
enum Kind {
    Content { query: Query, names: Option<Names> },
    Files(Names),
}

fn kind(args: &Args, whole: bool) -> Result<Kind, ToolError> {
    let unknown = |name: &str, value: &str, words: &str| {
        ToolError::Args(format!("{name} is `{value}`, but must be one of {words}"))
    };
    match args.target.as_deref().unwrap_or("content") {
        "files" => Ok(Kind::Files(Names::new(&args.pattern)?)),
        "content" => {
            let mode = match args.output_mode.as_deref().unwrap_or("content") {
                "content" => Mode::Lines,
                "files_only" => Mode::Files,
                "count" => Mode::Count,
                other => return Err(unknown("output_mode", other, "content, files_only, count")),
            };
            let context = args.context.unwrap_or(0).clamp(0, MAX_CONTEXT) as usize;
            let names = args.file_glob.as_deref().filter(|glob| !glob.is_empty()).map(Names::new).transpose()?;
            let mut query = Query::new(&args.pattern, mode, context)?;
            query.whole = whole;
            Ok(Kind::Content { query, names })
        }
        other => Err(unknown("target", other, "content, files")),
    }
}

struct SearchCall {
    place: Place,
    secrets: Secrets,
    reach: Reach,
    kind: Kind,
    limit: usize,
    offset: usize,
    target: String,
    intent: Intent,
}

/// Which files below the searched folder a person would be asked about. The folder itself was judged by the gate: none
/// when that is a secret as a whole.
struct Secrets {
    asked: bool,
    root: PathBuf,
    /// The root as it was named, with symlinks.
    literal: PathBuf,
    below_root: SecretsBelow,
    below_literal: SecretsBelow,
    /// What rules of the person close; known when it runs.
    closed: Closed,
}

impl Secrets {
    fn new(root: &Path, literal: PathBuf, ctx: &ToolCtx) -> Self {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let (home, own) = (text(ctx.world.home()), text(ctx.world.hermes_home()));
        let literal = paths::lexical(&literal);
        let below = |root: &Path| SecretsBelow::new(&root.to_string_lossy(), home.clone(), own.clone());
        let (below_root, below_literal) = (below(root), below(&literal));
        let asked = below_root.has(&root.to_string_lossy()) || below_literal.has(&literal.to_string_lossy());
        Self { asked, root: root.to_owned(), literal, below_root, below_literal, closed: Closed::default() }
    }

    /// Whether a file that a filter names is one.
    fn has_named(&self, file: &Path) -> bool {
        !self.asked && self.below_literal.has(&file.to_string_lossy())
    }

    /// `path` is below the root; links are not followed there, so it has two names at most.
    fn has(&self, path: &Path) -> bool {
        if self.closed.has(path) {
            return true;
        }
        if self.asked {
            return false;
        }
        if self.below_root.has(&path.to_string_lossy()) {
            return true;
        }
        let inside = path.strip_prefix(&self.root).ok().filter(|_| self.literal != self.root);
        inside.is_some_and(|inside| self.below_literal.has(&self.literal.join(inside).to_string_lossy()))
    }
}

/// When a search must end: its time is up, or nobody waits any more.
#[derive(Clone)]
struct Bounds {
    deadline: Instant,
    cancel: CancellationToken,
}

impl Bounds {
    fn over(&self) -> bool {
        self.cancel.is_cancelled() || Instant::now() >= self.deadline
    }
}

impl Call for SearchCall {
    fn intent(&self) -> &Intent {
        &self.intent
    }

    fn target(&self) -> String {
        self.target.clone()
    }

    fn run(mut self: Box<Self>, ctx: ToolCtx) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let bounds = Bounds { deadline: Instant::now() + TIMEOUT, cancel: ctx.cancel.clone() };
            let closed = ctx.closed.clone();
            let there = ctx.backends.current();
            let work = move || {
                // The folder itself was judged: where that is closed, somebody has opened it.
                if !closed.has(&self.place.path) {
                    self.secrets.closed = closed;
                }
                match there {
                    Some(there) => there::search(&self, &there, &bounds),
                    None => Ok(self.search(&bounds)),
                }
            };
            let output = crate::tools::blocking(work).await??;
            if ctx.cancel.is_cancelled() { Err(ToolError::Interrupted) } else { Ok(output) }
        })
    }
}

impl SearchCall {
    /// On this machine.
    fn search(&self, bounds: &Bounds) -> ToolOutput {
        let mut result = Reply::default();
        let walked = match &self.kind {
            // Names of files are no secrets: `target=files` lists them all.
            Kind::Files(names) => {
                let (newest, walked) = find::files(&self.place.path, names, self.reach, bounds);
                self.files(&newest, &mut result);
                walked
            }
            Kind::Content { query, names } => {
                // One more than asked for tells whether there is more.
                let enough = self.offset + self.limit + 1;
                let (searched, walked) = grep::search(self, query, names.as_ref(), enough, bounds);
                result.notes.extend(searched.notes());
                self.hits(query, &searched.hits, &mut result);
                walked
            }
        };
        result.notes.extend(walked.notes);
        result.partial |= walked.cut;
        if bounds.over() {
            result.fields.insert("limit_reason".into(), json!(format!("stopped after {} s", TIMEOUT.as_secs())));
            result.more = true;
            result.partial = true;
        }
        result.output(self.offset)
    }

    fn files(&self, newest: &[PathBuf], result: &mut Reply) {
        let all = newest.len();
        let page: Vec<String> = newest.iter().skip(self.offset).take(self.limit).map(|path| self.shown(path)).collect();
        result.more = self.offset + page.len() < all;
        result.count(all, page.len(), "file");
        result.text = page.join("\n");
        result.fields.insert("files".into(), json!(page));
    }

    fn hits(&self, query: &Query, hits: &[grep::FileHits], result: &mut Reply) {
        match query.mode {
            Mode::Lines => self.lines(query, hits, result),
            Mode::Files | Mode::Count => {
                let all = hits.len();
                let page: Vec<_> = hits.iter().skip(self.offset).take(self.limit).collect();
                result.more = self.offset + page.len() < all;
                result.count(all, page.len(), "file");
                if query.mode == Mode::Count {
                    result.all = hits.iter().map(|hits| hits.matches as usize).sum();
                    result.files = Some(all);
                }
                let counts = page.iter().map(|hits| (self.shown(&hits.path), json!(hits.matches)));
                if query.mode == Mode::Count {
                    result.fields.insert("counts".into(), Value::Object(counts.collect()));
                } else {
                    result.fields.insert("files".into(), counts.map(|(name, _)| Value::String(name)).collect());
                }
                let row = |hits: &&grep::FileHits| match query.mode {
                    Mode::Count => format!("{}: {}", self.shown(&hits.path), hits.matches),
                    Mode::Lines | Mode::Files => self.shown(&hits.path),
                };
                result.text = page.iter().map(row).collect::<Vec<_>>().join("\n");
            }
        }
    }

    fn lines(&self, query: &Query, files: &[grep::FileHits], result: &mut Reply) {
        let wanted = self.offset..self.offset + self.limit;
        let (mut before, mut shown) = (0, 0);
        let (mut text, mut flat) = (String::new(), Vec::new());
        for file in files {
            let rows: Vec<_> = file.rows.iter().filter(|row| wanted.contains(&(before + row.of))).collect();
            if !rows.is_empty() {
                let path = self.shown(&file.path);
                text.push_str(&format!("{path}\n"));
                let mut last = None;
                for row in rows {
                    if query.context > 0 && last.is_some_and(|last| last + 1 < row.number) {
                        text.push_str("  --\n");
                    }
                    last = Some(row.number);
                    let mark = if row.hit { ':' } else { '-' };
                    text.push_str(&format!("  {}{mark} {}\n", row.number, row.text));
                    if row.hit {
                        shown += 1;
                        flat.push(json!({"path": path, "line": row.number, "content": row.text}));
                    }
                }
            }
            before += file.matches as usize;
        }
        result.more = before > wanted.end;
        result.count(before, shown, "match");
        let grouped = shown >= GROUPED || query.context > 0;
        if !grouped || query.whole {
            result.fields.insert("matches".into(), Value::Array(flat));
        }
        if grouped && (!query.whole || query.context > 0) {
            let format = "a path, then its lines as `NUMBER: text` (match) or `NUMBER- text` (context)";
            result.fields.insert("matches_format".into(), json!(format));
            result.fields.insert("matches_text".into(), json!(text));
        }
        result.text = text;
    }

    /// Paths as the model can use them again.
    fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.place.path) {
            Ok(inside) if inside.as_os_str().is_empty() => self.place.shown.clone(),
            Ok(inside) if self.place.shown == "." => inside.display().to_string(),
            Ok(inside) => format!("{}/{}", self.place.shown.trim_end_matches('/'), inside.display()),
            Err(_) => path.display().to_string(),
        }
    }
}

/// A result as it comes together.
#[derive(Default)]
struct Reply {
    fields: Map<String, Value>,
    /// As a person reads it.
    text: String,
    summary: String,
    shown: usize,
    more: bool,
    /// What was looked at is not all: the counts are of what was found until then.
    partial: bool,
    /// Matches or files that were found, shown or not.
    all: usize,
    /// Files with matches, where the matches are counted.
    files: Option<usize>,
    notes: Vec<String>,
}

impl Reply {
    fn count(&mut self, all: usize, shown: usize, noun: &str) {
        self.shown = shown;
        self.all = all;
        let plural = match (noun, shown) {
            ("match", n) if n != 1 => "es",
            (_, 1) => "",
            _ => "s",
        };
        self.summary = format!("{shown}{} {noun}{plural}", if self.more { "+" } else { "" });
    }

    fn output(mut self, offset: usize) -> ToolOutput {
        let (name, files) = if self.partial { ("at_least", "at_least_files") } else { ("total_count", "total_files") };
        self.fields.insert(name.into(), json!(self.all));
        if let Some(count) = self.files {
            self.fields.insert(files.into(), json!(count));
        }
        if self.more {
            self.fields.insert("truncated".into(), Value::Bool(true));
            let next = offset + self.shown;
            self.fields.insert(
                "hint".into(),
                json!(if self.partial { format!(
                    "Results truncated: at least {}, not all counted. Use offset={next} for more, narrow the search, or count with output_mode=count",
                    self.all
                ) } else { format!("Results truncated. Use offset={next} for more, or narrow the search") }),
            );
        }
        if !self.notes.is_empty() {
            self.fields.insert("warning".into(), json!(self.notes.join("; ")));
        }
        let mut output = ToolOutput::json(&Value::Object(self.fields)).summary(self.summary);
        output.view.output = self.text;
        output
    }
}

#[cfg(test)]
mod tests;
