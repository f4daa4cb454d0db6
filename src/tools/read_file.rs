//! The `read_file` tool: numbered lines of a text file, a page at a time, whatever its size.

mod pager;

use super::document::{self, Kind, Unreadable};
use super::file::edit;
use super::file::encoding::Encoding;
use super::gutter;
use super::paths::{self, Place};
use super::spec::{Access, Call, Parallel, ReadKey, ReadMark, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec, Verbs};
use crate::llm::message::Image;
use crate::lock::lock;
use crate::places::{Files, Kind as FileKind};
use crate::policy::Intent;
use crate::text::format;
use encoding_rs_io::{DecodeReaderBytes, DecodeReaderBytesBuilder};
use futures::future::BoxFuture;
use pager::{Page, PageError, Wanted};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Read, Seek as _};
use std::path::Path;
use std::sync::LazyLock;

/// What stands for content that the model has already.
pub const UNCHANGED: &str = "File unchanged since last read. The content from the earlier read_file result in this conversation is still current; refer to it instead of reading it again.";

const DEFAULT_LIMIT: i64 = 500;
/// The most that the schema promises; `tool_output.max_lines` bounds as well.
const MAX_LIMIT: i64 = 2_000;
/// Reads that a session remembers.
const REMEMBERED: usize = 1_000;
/// From this size on, a large page comes with advice.
const LARGE_FILE: u64 = 512_000;

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
                "offset": {"type": "integer", "minimum": 1, "description": "First line; only to go on where a page ended"},
                "limit": {"type": "integer", "maximum": MAX_LIMIT, "description": "Lines; only for less or more than a page"}
            },
            "required": ["path"]
        }),
        Access::Read,
        Verbs::new("reading", "read"),
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
            let most = i64::try_from(ctx.config.tool_output.max_lines).unwrap_or(i64::MAX).max(1);
            let limit = args.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, most) as usize;
            let intent = Intent::Read(paths::literal(&args.path, ctx));
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
        let disk = ctx.disk();
        let about = match disk.about(&self.place.path) {
            Ok(about) if about.kind == FileKind::Folder => {
                return Err(failed("is a folder; list it with search_files (target=files)".into()));
            }
            Ok(about) if about.kind == FileKind::Other => return Err(failed("is not a regular file".into())),
            Ok(about) => about,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(super::not_found(&self.place, ctx)),
            Err(error) => return Err(failed(format!("could not be read: {error}"))),
        };
        let stamp = (about.modified, about.len);
        let key = ReadKey { path: self.place.path.clone(), offset: self.offset, limit: self.limit };
        if let Some(repeat) = repeated(ctx, &key, stamp)? {
            return Ok(repeat);
        }
        let here = self.here(ctx)?;
        let path = here.as_ref().map_or(self.place.path.as_path(), tempfile::TempPath::as_ref);
        if let Some(picture) = picture(path, about.len) {
            self.remember(ctx, key, stamp, true);
            return Ok(picture);
        }
        let (page, extracted, encoding) = match self.document(path, ctx)? {
            Some(page) => (page, true, None),
            None => {
                let (page, encoding) = self.plain(path, about.len, ctx)?;
                (page, false, encoding)
            }
        };
        // A page without lines is nothing to refer to: asked again, it says the same.
        self.remember(ctx, key, stamp, !page.lines.is_empty());
        Ok(self.result(&page, about.len, extracted, encoding))
    }

    /// The session has seen the file, and, where there was something, this part of it.
    fn remember(&self, ctx: &ToolCtx, key: ReadKey, stamp: (u128, u64), something: bool) {
        let mut ledger = lock(&ctx.files);
        ledger.seen.insert(self.place.path.clone(), stamp);
        if ledger.reads.len() >= REMEMBERED {
            ledger.reads.clear();
        }
        if something {
            ledger.reads.insert(key, ReadMark { stamp, repeats: 0 });
        }
    }

    fn wanted(&self, ctx: &ToolCtx) -> Wanted {
        let line_chars = ctx.config.tool_output.max_line_length;
        // The log of a command holds all that its terminal got, colours and progress bars too.
        let terminal = ctx.places.current().is_none() && ctx.exec.is_log(&self.place.path);
        // Numbers, line ends and quotes take more as JSON.
        let chars = ctx.room.even_share().min(ctx.room.step) / 4 * 3;
        Wanted { offset: self.offset, limit: self.limit, line_chars, chars, terminal }
    }

    /// A copy of a file of another machine, gone with the value; `None` for a file of this one.
    fn here(&self, ctx: &ToolCtx) -> Result<Option<tempfile::TempPath>, ToolError> {
        let Some(there) = ctx.places.current() else { return Ok(None) };
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::FileTooLarge => {
                let why = "is too large to be fetched; read a part of it with sed or tail in the terminal";
                ToolError::Failed(format!("{}: {why}", self.place.shown))
            }
            _ => ToolError::Failed(format!("{}: could not be read: {error}", self.place.shown)),
        };
        let bytes = there.read(&self.place.path, edit::MAX_BYTES).map_err(failed)?;
        // What a document is stands in its name.
        let ending = self.place.path.extension().map(|ending| format!(".{}", ending.to_string_lossy()));
        let mut copy = tempfile::Builder::new().suffix(&ending.unwrap_or_default()).tempfile().map_err(failed)?;
        io::Write::write_all(&mut copy, &bytes).map_err(failed)?;
        Ok(Some(copy.into_temp_path()))
    }

    /// A page of a text file, and its encoding where that is not UTF-8.
    fn plain(&self, path: &Path, size: u64, ctx: &ToolCtx) -> Result<(Page, Option<&'static str>), ToolError> {
        let failed = |why: String| ToolError::Failed(format!("{}: {why}", self.place.shown));
        let unread = |error: io::Error| failed(format!("could not be read: {error}"));
        let wanted = self.wanted(ctx);
        let page = |from: &mut dyn Read| {
            pager::page(from, &self.place.path, &wanted, &ctx.cancel).map_err(|error| match error {
                PageError::Binary(kind) => binary(&self.place.shown, kind, size),
                PageError::Io(error) => unread(error),
                PageError::Cancelled => ToolError::Interrupted,
            })
        };
        let mut file = File::open(path).map_err(|error| failed(format!("could not be opened: {error}")))?;
        let mut head = [0; 2];
        let marked = file.read_exact(&mut head).ok().and_then(|()| Encoding::marked(&head));
        file.rewind().map_err(unread)?;
        if let Some(marked) = marked {
            return Ok((page(&mut DecodeReaderBytes::new(file))?, Some(marked.name())));
        }
        let plain = page(&mut file)?;
        if !plain.odd || size > edit::MAX_BYTES {
            return Ok((plain, None));
        }
        let bytes = std::fs::read(path).map_err(unread)?;
        match Encoding::of(&bytes) {
            Encoding::Legacy(legacy) => {
                let mut decoded = DecodeReaderBytesBuilder::new().encoding(Some(legacy)).build(bytes.as_slice());
                Ok((page(&mut decoded)?, Some(legacy.name())))
            }
            Encoding::Utf8 | Encoding::Utf16(_) => Ok((plain, Some("UTF-8, but for bytes shown as �"))),
        }
    }

    /// A page of the text of a document; `None` when the file is read as it is.
    fn document(&self, path: &Path, ctx: &ToolCtx) -> Result<Option<Page>, ToolError> {
        let Some(kind) = Kind::of(path) else { return Ok(None) };
        let text = match document::text(path, &ctx.exec, &ctx.cancel) {
            Ok(text) => text,
            // What only has the name of a notebook is a text all the same.
            Err(Unreadable::Broken(_)) if kind == Kind::Notebook => return Ok(None),
            Err(Unreadable::Broken(why)) => {
                let error = format!("{}: {why}", self.place.shown);
                return Err(ToolError::Detailed(json!({"error": error, "is_binary": true}).to_string()));
            }
            Err(Unreadable::Cancelled) => return Err(ToolError::Interrupted),
        };
        match pager::page(text.as_bytes(), Path::new("text"), &self.wanted(ctx), &ctx.cancel) {
            Ok(page) => Ok(Some(page)),
            Err(PageError::Cancelled) => Err(ToolError::Interrupted),
            Err(PageError::Binary(what)) => {
                Err(ToolError::Failed(format!("{}: its text is {what}; inspect it with a program", self.place.shown)))
            }
            Err(PageError::Io(error)) => Err(ToolError::Failed(format!("{}: {error}", self.place.shown))),
        }
    }

    fn result(&self, page: &Page, size: u64, extracted: bool, encoding: Option<&str>) -> ToolOutput {
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
            hint = Some(format!(
                "offset {} is past the end: the file has {} lines. Leave offset and limit out to read from its first line",
                self.offset, page.total_lines
            ));
        }
        if extracted {
            result["extracted_document"] = json!(true);
        }
        if let Some(encoding) = encoding {
            result["encoding"] = json!(encoding);
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
    let mut ledger = lock(&ctx.files);
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

/// The picture that a file holds, by its first bytes; `None` when it holds none that models take.
fn picture(path: &Path, size: u64) -> Option<ToolOutput> {
    let mut head = [0; 12];
    let read = File::open(path).and_then(|mut file| file.read(&mut head)).ok()?;
    Image::media_type_of(&head[..read]).filter(|_| size <= Image::MOST_BYTES)?;
    let image = Image::of(&std::fs::read(path).ok()?)?;
    let media_type = &image.media_type;
    let content = json!({"image": media_type, "file_size": size, "note": "the picture is attached"});
    let summary = format!("{media_type}, {}", format::bytes(size));
    Some(ToolOutput { images: vec![image], ..ToolOutput::json(&content).summary(summary) })
}

fn binary(shown: &str, kind: &str, size: u64) -> ToolError {
    let image = kind == "an image";
    let advice = if image {
        "it is too large or of a kind that models do not take: make a PNG or JPEG below 3.7 MB of it"
    } else {
        "inspect it with a program in the terminal"
    };
    let error = format!("{shown}: is {kind} ({size} bytes); {advice}");
    let mut result = json!({"error": error, "is_binary": true, "file_size": size});
    if image {
        result["is_image"] = json!(true);
    }
    ToolError::Detailed(result.to_string())
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
    async fn documents_are_read_as_text() {
        let bench = Bench::new();
        bench.write("n.ipynb", r#"{"cells": [{"cell_type": "code", "source": "x = 1\ny = 2"}]}"#);
        let page = read(&bench, json!({"path": "n.ipynb", "offset": 2, "limit": 1})).await;
        assert_eq!((&page["content"], &page["extracted_document"]), (&json!("2|x = 1"), &json!(true)));
        bench.write("plain.ipynb", "no notebook\n");
        let page = read(&bench, json!({"path": "plain.ipynb"})).await;
        assert_eq!((&page["content"], &page["extracted_document"]), (&json!("1|no notebook"), &Value::Null));
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

    #[tokio::test]
    async fn the_configuration_bounds_lines() {
        let mut bench = Bench::new();
        let mut config = crate::config::Config::default();
        config.tool_output.max_lines = 2;
        config.tool_output.max_line_length = 80;
        bench.config = std::sync::Arc::new(config);
        bench.write("f", &format!("{}\n{}\nthree\n", "x".repeat(80), "y".repeat(81)));
        let page = read(&bench, json!({"path": "f", "limit": 100})).await;
        let lines: Vec<&str> = page["content"].as_str().unwrap().lines().collect();
        assert_eq!(lines, [format!("1|{}", "x".repeat(80)), format!("2|{}... [truncated]", "y".repeat(80))]);
        assert_eq!(page["next_offset"], 3);
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
    async fn other_encodings_are_read_and_named() {
        let bench = Bench::new();
        let text = "eins für die Größe\nzwei für die Tür\n";
        let (latin, _, _) = encoding_rs::WINDOWS_1252.encode(text);
        let wide: Vec<u8> = [0xFEFF].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        let mut broken = text.as_bytes().to_vec();
        broken.push(0xE9);
        for (name, bytes, encoding) in [
            ("latin.txt", latin.as_ref(), json!("windows-1252")),
            ("wide.txt", &wide, json!("UTF-16LE")),
            ("utf8.txt", text.as_bytes(), Value::Null),
            ("broken.txt", &broken, json!("UTF-8, but for bytes shown as �")),
        ] {
            std::fs::write(bench.path(name), bytes).unwrap();
            let page = read(&bench, json!({"path": name, "offset": 1, "limit": 2})).await;
            let last = if name == "broken.txt" { read(&bench, json!({"path": name})).await } else { page.clone() };
            assert!(
                page["content"].as_str().unwrap().starts_with("1|eins für die Größe\n2|zwei für die Tür"),
                "{page}"
            );
            assert_eq!(last["encoding"], encoding, "{last}");
        }
        // And edited without another byte being touched.
        let edit = json!({"path": "wide.txt", "old_string": "zwei", "new_string": "drei"});
        let output = bench.call("patch", edit).await;
        assert!(output.view.diffs[0].unified.contains("+drei für die Tür"), "{:?}", output.view.diffs);
        let now = std::fs::read(bench.path("wide.txt")).unwrap();
        let differs = wide.iter().zip(&now).filter(|(old, new)| old != new).count();
        assert_eq!((now.len(), differs), (wide.len(), 2), "`zw` became `dr`");
        let refused = json!({"path": "latin.txt", "old_string": "zwei", "new_string": "→"});
        let output = bench.call("patch", refused).await;
        assert!(output.content.contains("has no `→`"), "{}", output.content);
        assert_eq!(std::fs::read(bench.path("latin.txt")).unwrap(), latin.as_ref());
    }

    #[tokio::test]
    async fn a_picture_is_shown_to_the_model() {
        let bench = Bench::new();
        std::fs::write(bench.path("p.png"), b"\x89PNG\r\n\x1a\n\0rest").unwrap();
        std::fs::write(bench.path("lies.txt"), b"\xff\xd8\xff\xe0rest").unwrap();
        for (path, kind) in [("p.png", "image/png"), ("lies.txt", "image/jpeg")] {
            let output = bench.call("read_file", json!({"path": path})).await;
            assert_eq!(output.images.iter().map(|image| image.media_type.as_str()).collect::<Vec<_>>(), [kind]);
            assert!(output.content.contains(kind), "{}", output.content);
        }
        assert_eq!(read(&bench, json!({"path": "p.png"})).await["status"], "unchanged");
        bench.write("words", "GIF8 is how it begins\n");
        assert_eq!(read(&bench, json!({"path": "words"})).await["content"], "1|GIF8 is how it begins");
    }

    #[tokio::test]
    async fn a_read_past_the_end_says_so_each_time() {
        let bench = Bench::new();
        bench.write("f", "a\nb\n");
        bench.write("empty", "");
        for _ in 0..4 {
            let past = read(&bench, json!({"path": "f", "offset": 500})).await;
            let hint = past["hint"].as_str().unwrap();
            assert!(hint.contains("the file has 2 lines") && past["error"].is_null(), "{past}");
            assert_eq!(read(&bench, json!({"path": "empty"})).await["total_lines"], 0);
        }
        assert_eq!(read(&bench, json!({"path": "f"})).await["content"], "1|a\n2|b");
    }

    /// Whatever the window, a page ends at a line and says how to go on; nothing is cut out of it.
    #[tokio::test]
    async fn a_page_never_loses_its_middle() {
        let mut bench = Bench::new();
        bench.room = crate::tools::room::Room::of_step(Some(8_000), 1);
        let text: String = (1..=5_000).map(|n| format!("line {n} has some words\n")).collect();
        bench.write("f", &text);
        let (mut next, mut seen) = (1, String::new());
        while next <= 5_000 {
            let page = read(&bench, json!({"path": "f", "offset": next, "limit": 2_000})).await;
            for line in page["content"].as_str().unwrap().lines() {
                seen.push_str(&format!("{}\n", line.split_once('|').unwrap().1));
            }
            next = page["next_offset"].as_u64().unwrap_or(5_001);
        }
        assert_eq!(seen, text);
    }

    #[tokio::test]
    async fn what_cannot_be_read_says_why() {
        let bench = Bench::new();
        bench.write("main.rs", "x");
        bench.write("b.bin", "a\0b");
        std::fs::write(bench.path("p.heic"), b"\0\0\0\x18ftypheic").unwrap();
        std::fs::write(bench.path("w"), b"\xFF\xFEa\0\0\0").unwrap();
        for (path, word) in [
            ("Main.rs", "similar_files"),
            ("b.bin", "is_binary"),
            ("p.heic", "is_image"),
            ("w", "is_binary"),
            (".", "folder"),
            ("/dev/zero", "never ends"),
            ("/dev/stdin", "never ends"),
            ("", "path is empty"),
        ] {
            let output = bench.call("read_file", json!({"path": path})).await;
            assert_eq!(output.outcome, Outcome::Failed, "{path}");
            assert!(output.content.contains(word), "{path}: {}", output.content);
        }
        // a document that is none
        std::fs::write(bench.path("d.docx"), b"PK\0\0").unwrap();
        let output = bench.call("read_file", json!({"path": "d.docx"})).await;
        assert!(output.content.contains("d.docx: is not a document"), "{}", output.content);
        // text by the name of a binary is text
        bench.write("notes.dat", "plain\n");
        assert_eq!(read(&bench, json!({"path": "notes.dat"})).await["content"], "1|plain");
    }
}
