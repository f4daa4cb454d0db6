//! The `read_file` tool: numbered lines of a text file, a page at a time, whatever its size.

use super::file::{edit, write};
use super::gutter;
use super::paths::{self, Place};
use super::spec::{Access, Call, Parallel, ReadKey, ReadMark, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec, Verbs};
use crate::policy::Intent;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::LazyLock;
use tokio_util::sync::CancellationToken;

/// What stands for content that the model has already.
pub const UNCHANGED: &str = "File unchanged since last read. The content from the earlier read_file result in this conversation is still current; refer to it instead of reading it again.";

const DEFAULT_LIMIT: i64 = 500;
const MAX_LIMIT: i64 = 2_000;
/// Characters of a line; what is longer is cut.
const LINE_CHARS: usize = 2_000;
/// Characters of a page (`file_read_max_chars`).
const PAGE_CHARS: usize = 100_000;
/// From this size on, a large page comes with advice.
const LARGE_FILE: u64 = 512_000;
const BUFFER: usize = 256 * 1024;

/// The tool.
pub struct ReadFile;

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    let spec = super::built_in(
        "read_file",
        "file",
        "📖",
        include_str!("../../assets/tools/read_file.md"),
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "offset": {"type": "integer", "minimum": 1, "default": 1, "description": "First line"},
                "limit": {"type": "integer", "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT}
            },
            "required": ["path"]
        }),
        Access::Read,
        Verbs { running: "reading", done: "read" },
        Parallel::ByPath,
    );
    // A page is bounded already, and a spilled page would only be read again.
    ToolSpec { output_cap: usize::MAX, ..spec }
});

#[derive(Deserialize)]
struct Args {
    path: String,
    offset: Option<i64>,
    limit: Option<i64>,
}

impl Tool for ReadFile {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn plan<'a>(&'a self, args: Value, ctx: &'a ToolCtx) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        Box::pin(async move {
            let args: Args = super::parse("read_file", args)?;
            let place = paths::place(&args.path, ctx)?;
            // The path as written too: resolving `/dev/stdin` leads elsewhere.
            if paths::is_blocked_device(&place.path) || paths::is_blocked_device(&paths::cwd(ctx).join(&args.path)) {
                let why = format!("{}: not read: the device never ends, waits for input, or holds secrets", args.path);
                return Err(ToolError::Failed(why));
            }
            let ranged = args.offset.is_some() || args.limit.is_some();
            let offset = args.offset.unwrap_or(1).max(1) as usize;
            let limit = args.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT) as usize;
            let intent = Intent::Read(place.path.clone());
            Ok(Box::new(ReadCall { place, offset, limit, ranged, intent }) as Box<dyn Call>)
        })
    }
}

struct ReadCall {
    place: Place,
    offset: usize,
    limit: usize,
    /// The arguments named a range.
    ranged: bool,
    intent: Intent,
}

impl Call for ReadCall {
    fn intent(&self) -> &Intent {
        &self.intent
    }

    fn target(&self) -> String {
        if self.ranged {
            format!("{} {}-{}", self.place.shown, self.offset, self.offset + self.limit - 1)
        } else {
            self.place.shown.clone()
        }
    }

    fn run(self: Box<Self>, ctx: ToolCtx) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move { super::blocking(move || self.read(&ctx)).await? })
    }
}

impl ReadCall {
    fn read(&self, ctx: &ToolCtx) -> Result<ToolOutput, ToolError> {
        let shown = &self.place.shown;
        let failed = |why: String| ToolError::Failed(format!("{shown}: {why}"));
        let meta = match std::fs::metadata(&self.place.path) {
            Ok(meta) if meta.is_dir() => {
                return Err(failed("is a folder; list it with search_files (target=files)".into()));
            }
            Ok(meta) if !meta.is_file() => return Err(failed("is not a regular file".into())),
            Ok(meta) => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(super::not_found(&self.place)),
            Err(error) => return Err(failed(format!("could not be read: {error}"))),
        };
        let stamp = write::stamp_of(&meta);
        let key = ReadKey { path: self.place.path.clone(), offset: self.offset, limit: self.limit };
        if let Some(repeat) = repeated(ctx, &key, stamp)? {
            return Ok(repeat);
        }
        let file = File::open(&self.place.path).map_err(|error| failed(format!("could not be opened: {error}")))?;
        let page = match page(file, &self.place.path, self.offset, self.limit, &ctx.cancel) {
            Ok(page) => page,
            Err(PageError::Binary(kind)) => return Err(binary(shown, kind, meta.len())),
            Err(PageError::Io(error)) => return Err(failed(format!("could not be read: {error}"))),
            Err(PageError::Cancelled) => return Err(ToolError::Interrupted),
        };
        let mut ledger = edit::lock(&ctx.files);
        ledger.seen.insert(self.place.path.clone(), stamp);
        ledger.reads.insert(key, ReadMark { stamp, repeats: 0 });
        drop(ledger);
        Ok(self.result(&page, meta.len()))
    }

    fn result(&self, page: &Page, size: u64) -> ToolOutput {
        let content: Vec<String> =
            (self.offset as u64..).zip(&page.lines).map(|(n, line)| gutter::numbered(n, line)).collect();
        let content = content.join("\n");
        let last = self.offset as u64 - 1 + page.lines.len() as u64;
        let truncated = last < page.total_lines && self.offset as u64 <= page.total_lines;
        let mut result = json!({
            "content": content, "total_lines": page.total_lines, "file_size": size, "truncated": truncated,
        });
        let mut hint = None;
        if truncated {
            result["next_offset"] = json!(last + 1);
            hint = Some(format!(
                "Use offset={} to continue reading (showing {}-{last} of {} lines)",
                last + 1,
                self.offset,
                page.total_lines
            ));
        } else if self.offset as u64 > page.total_lines.max(1) {
            hint = Some(format!("offset {} is past the end: the file has {} lines", self.offset, page.total_lines));
        }
        if page.full {
            result["truncated_by"] = json!("bytes");
        }
        if let Some(hint) = hint {
            result["hint"] = json!(hint);
        }
        if size > LARGE_FILE && self.limit > 200 && truncated {
            result["_hint"] = json!("The file is large: find the place with search_files and read only that part");
        }
        let lines = page.lines.len();
        let mut output =
            ToolOutput::json(&result).summary(if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") });
        output.view.output = content;
        output
    }
}

/// The stub for a part that the model has; an error from the second repeat on.
fn repeated(ctx: &ToolCtx, key: &ReadKey, stamp: (u128, u64)) -> Result<Option<ToolOutput>, ToolError> {
    let mut ledger = edit::lock(&ctx.files);
    let Some(mark) = ledger.reads.get_mut(key).filter(|mark| mark.stamp == stamp) else { return Ok(None) };
    mark.repeats += 1;
    if mark.repeats > 1 {
        return Err(ToolError::Failed(format!(
            "blocked: the same part of {} was read {} times without a change; use what you have and go on",
            key.path.display(),
            mark.repeats + 1
        )));
    }
    let stub = json!({"status": "unchanged", "message": UNCHANGED, "path": key.path});
    Ok(Some(ToolOutput::json(&stub).summary("unchanged")))
}

fn binary(shown: &str, kind: &str, size: u64) -> ToolError {
    let image = kind == "an image";
    let advice = if image { "it cannot be shown as text" } else { "inspect it with a program in the terminal" };
    let error = format!("{shown}: is {kind} ({size} bytes); {advice}");
    let mut result = json!({"error": error, "is_binary": true, "file_size": size});
    if image {
        result["is_image"] = json!(true);
    }
    ToolError::Detailed(result.to_string())
}

/// Some lines of a file.
#[derive(Debug, Default, PartialEq)]
struct Page {
    lines: Vec<String>,
    /// A last line without a line break counts.
    total_lines: u64,
    /// Cut because of its size.
    full: bool,
}

#[derive(Debug)]
enum PageError {
    Binary(&'static str),
    Io(io::Error),
    Cancelled,
}

/// Reads through to the end (to count lines), keeping only the page.
fn page(
    mut file: impl Read,
    path: &Path,
    offset: usize,
    limit: usize,
    cancel: &CancellationToken,
) -> Result<Page, PageError> {
    let mut buffer = vec![0; BUFFER];
    let mut reader = Pager::new(offset as u64, limit);
    let mut first = true;
    loop {
        let read = match file.read(&mut buffer) {
            Ok(0) => return Ok(reader.finish()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(PageError::Io(error)),
        };
        let mut chunk = &buffer[..read];
        if std::mem::take(&mut first) {
            if let Some(kind) = binary_kind(path, chunk) {
                return Err(PageError::Binary(kind));
            }
            chunk = chunk.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(chunk);
        }
        reader.feed(chunk);
        if cancel.is_cancelled() {
            return Err(PageError::Cancelled);
        }
    }
}

struct Pager {
    page: Page,
    first: u64,
    limit: usize,
    /// The line being read, counted from 1.
    line: u64,
    current: Vec<u8>,
    /// Bytes of the current line beyond what is kept.
    cut: bool,
    open: bool,
    chars: usize,
}

impl Pager {
    fn new(first: u64, limit: usize) -> Self {
        Self { page: Page::default(), first, limit, line: 1, current: Vec::new(), cut: false, open: false, chars: 0 }
    }

    fn feed(&mut self, mut chunk: &[u8]) {
        self.open = chunk.last().map_or(self.open, |last| *last != b'\n');
        while !chunk.is_empty() {
            if self.line < self.first {
                chunk = self.skip(chunk, self.first - self.line);
            } else if self.page.full || self.page.lines.len() >= self.limit {
                self.line += newlines(chunk);
                return;
            } else {
                let end = chunk.iter().position(|byte| *byte == b'\n');
                let part = &chunk[..end.unwrap_or(chunk.len())];
                let room = (LINE_CHARS * 4).saturating_sub(self.current.len()).min(part.len());
                self.current.extend_from_slice(&part[..room]);
                self.cut |= room < part.len();
                let Some(end) = end else { return };
                self.end_line();
                self.line += 1;
                chunk = &chunk[end + 1..];
            }
        }
    }

    /// Passes over `lines` line breaks and gives what follows them.
    fn skip<'a>(&mut self, chunk: &'a [u8], lines: u64) -> &'a [u8] {
        let here = newlines(chunk);
        if here < lines {
            self.line += here;
            return &[];
        }
        self.line += lines;
        let nth = chunk.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(lines as usize - 1);
        nth.map_or(&[], |(at, _)| &chunk[at + 1..])
    }

    fn end_line(&mut self) {
        let bytes = self.current.strip_suffix(b"\r").filter(|_| !self.cut).unwrap_or(&self.current);
        let text = String::from_utf8_lossy(bytes);
        let line = match text.char_indices().nth(LINE_CHARS) {
            Some((at, _)) => format!("{}... [truncated]", &text[..at]),
            None if self.cut => format!("{text}... [truncated]"),
            None => text.into_owned(),
        };
        let chars = line.chars().count() + 8;
        if self.chars + chars > PAGE_CHARS && !self.page.lines.is_empty() {
            self.page.full = true;
        } else {
            self.chars += chars;
            self.page.lines.push(line);
        }
        self.current.clear();
        self.cut = false;
    }

    fn finish(mut self) -> Page {
        if self.open {
            if self.line >= self.first && !self.page.full && self.page.lines.len() < self.limit {
                self.end_line();
            }
            self.line += 1;
        }
        self.page.total_lines = self.line - 1;
        self.page
    }
}

/// Line breaks in `bytes`, counted in runs short enough for a byte-wide sum, which vectorises.
fn newlines(bytes: &[u8]) -> u64 {
    bytes.chunks(255).map(|run| u64::from(run.iter().map(|byte| u8::from(*byte == b'\n')).sum::<u8>())).sum()
}

/// What a file is that cannot be shown as text, by its name or its first bytes.
fn binary_kind(path: &Path, head: &[u8]) -> Option<&'static str> {
    const IMAGES: &[&str] = &["png", "jpg", "jpeg", "gif", "webp", "bmp", "ico", "tiff", "heic"];
    const BINARY: &[&str] = &[
        "exe", "dll", "so", "dylib", "a", "o", "obj", "lib", "class", "jar", "pyc", "pyo", "wasm", "bin", "dat", "db",
        "sqlite", "sqlite3", "zip", "gz", "bz2", "xz", "zst", "7z", "rar", "tar", "tgz", "iso", "dmg", "deb", "rpm",
        "pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "odt", "mp3", "mp4", "wav", "flac", "ogg", "avi", "mov",
        "mkv", "webm", "ttf", "otf", "woff", "woff2",
    ];
    let head = &head[..head.len().min(8_000)];
    let control = |byte: &&u8| **byte < 32 && !matches!(**byte, b'\n' | b'\r' | b'\t' | 0x0C | 0x1B | 0x08);
    let sample = &head[..head.len().min(1_000)];
    let unreadable = head.contains(&0) || sample.iter().filter(control).count() * 10 > sample.len() * 3;
    if head.starts_with(b"\xFF\xFE") || head.starts_with(b"\xFE\xFF") {
        return Some("UTF-16 text (convert it with iconv)");
    }
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    // A text file by one of these names is still text.
    match extension.as_str() {
        _ if !unreadable && std::str::from_utf8(sample).is_ok() && !head.starts_with(b"%PDF") => None,
        image if IMAGES.contains(&image) => Some("an image"),
        binary if BINARY.contains(&binary) => Some("a binary file"),
        _ => unreadable.then_some("a binary file"),
    }
}

impl super::spec::FileLedger {
    /// Another tool ran: reading the same again is no longer a loop.
    pub fn other_call(&mut self) {
        self.reads.values_mut().for_each(|mark| mark.repeats = 0);
    }

    /// The context lost what it had read (it was compressed): reads give content again.
    pub fn forget_reads(&mut self) {
        self.reads.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::message::Outcome;
    use crate::tools::testing::Bench;

    async fn read(bench: &Bench, args: Value) -> Value {
        serde_json::from_str(&bench.call("read_file", args).await.content).unwrap()
    }

    #[tokio::test]
    async fn pages_with_a_gutter() {
        let bench = Bench::new();
        bench.write("f", "\u{feff}one\r\ntwo\nthree");
        let all = read(&bench, json!({"path": "f"})).await;
        assert_eq!(all["content"], "1|one\n2|two\n3|three");
        assert_eq!((&all["total_lines"], &all["truncated"]), (&json!(3), &json!(false)));
        let part = read(&bench, json!({"path": "f", "offset": 2, "limit": 1})).await;
        assert_eq!((&part["content"], &part["next_offset"]), (&json!("2|two"), &json!(3)));
        assert!(part["hint"].as_str().unwrap().contains("offset=3"));
        let past = read(&bench, json!({"path": "f", "offset": 9})).await;
        assert!(past["hint"].as_str().unwrap().contains("past the end"));
        bench.write("empty", "");
        assert_eq!(read(&bench, json!({"path": "empty"})).await["total_lines"], 0);
    }

    #[tokio::test]
    async fn large_pages_are_cut_at_a_line() {
        let bench = Bench::new();
        bench.write("f", &format!("{}\n", "x".repeat(1_000)).repeat(300));
        let page = read(&bench, json!({"path": "f"})).await;
        assert_eq!((&page["truncated_by"], &page["total_lines"]), (&json!("bytes"), &json!(300)));
        let next = page["next_offset"].as_u64().unwrap();
        let more = read(&bench, json!({"path": "f", "offset": next})).await;
        assert!(more["content"].as_str().unwrap().starts_with(&format!("{next}|")));
    }

    #[test]
    fn a_line_without_end_needs_no_memory() {
        // 100 MB in one line, then another line.
        let endless = io::repeat(b'x').take(100_000_000).chain(&b"\nlast"[..]);
        let page = page(endless, Path::new("f"), 1, 10, &CancellationToken::new()).unwrap();
        assert_eq!((page.lines.len(), page.total_lines), (2, 2));
        assert!(page.lines[0].ends_with("... [truncated]") && page.lines[0].len() < 2_100);
    }

    #[test]
    fn lines_are_counted_across_reads() {
        for (text, offset, limit, lines, total) in [
            ("a\nb\nc\n", 2, 1, vec!["b"], 3),
            ("a\nb\nc", 3, 5, vec!["c"], 3),
            ("\n\n", 1, 5, vec!["", ""], 2),
            ("a", 2, 1, vec![], 1),
        ] {
            // one byte at a time
            let mut pager = Pager::new(offset, limit);
            text.as_bytes().chunks(1).for_each(|byte| pager.feed(byte));
            let page = pager.finish();
            assert_eq!(
                (page.lines, page.total_lines),
                (lines.iter().map(|l| l.to_string()).collect(), total),
                "{text:?}"
            );
        }
        assert_eq!(newlines(&[b'\n'; 1_000]), 1_000);
    }

    #[tokio::test]
    async fn the_same_part_is_not_read_twice() {
        let bench = Bench::new();
        bench.write("f", "a\n");
        read(&bench, json!({"path": "f"})).await;
        assert_eq!(read(&bench, json!({"path": "f"})).await["status"], "unchanged");
        assert!(read(&bench, json!({"path": "f"})).await["error"].as_str().unwrap().contains("blocked"));
        bench.call("todo", json!({})).await;
        assert_eq!(read(&bench, json!({"path": "f"})).await["status"], "unchanged");
        bench.write("f", "changed\n");
        assert_eq!(read(&bench, json!({"path": "f"})).await["content"], "1|changed");
        bench.call("patch", json!({"path": "f", "old_string": "changed", "new_string": "again"})).await;
        assert_eq!(read(&bench, json!({"path": "f"})).await["content"], "1|again");
    }

    #[tokio::test]
    async fn what_cannot_be_read_says_why() {
        let bench = Bench::new();
        bench.write("main.rs", "x");
        bench.write("b.bin", "a\0b");
        std::fs::write(bench.path("p.png"), b"\x89PNG\r\n\x1a\n\0").unwrap();
        std::fs::write(bench.path("w"), b"\xFF\xFEa\0").unwrap();
        for (path, word) in [
            ("Main.rs", "similar_files"),
            ("b.bin", "is_binary"),
            ("p.png", "is_image"),
            ("w", "UTF-16"),
            (".", "folder"),
            ("/dev/zero", "never ends"),
            ("/dev/stdin", "never ends"),
            ("", "path is empty"),
        ] {
            let output = bench.call("read_file", json!({"path": path})).await;
            assert_eq!(output.outcome, Outcome::Failed, "{path}");
            assert!(output.content.contains(word), "{path}: {}", output.content);
        }
        // text by the name of a binary is text
        bench.write("notes.dat", "plain\n");
        assert_eq!(read(&bench, json!({"path": "notes.dat"})).await["content"], "1|plain");
    }
}
