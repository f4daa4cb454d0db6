//! The `read_file` tool: numbered lines of a text file, a page at a time, whatever its size.

mod pager;

use crate::backends::{Files, Kind as FileKind};
use crate::lock::lock;
use crate::policy::Intent;
use crate::protocol::{CallRow, Image};
use crate::text::format;
use crate::tools::file::document::{self, Kind, Unreadable};
use crate::tools::file::edit;
use crate::tools::file::encoding::Encoding;
use crate::tools::file::gutter;
use crate::tools::input::paths::{self, Place};
use crate::tools::spec::{
    Access, Call, Content, Parallel, ReadKey, ReadMark, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec, Verbs,
};
use encoding_rs_io::{DecodeReaderBytes, DecodeReaderBytesBuilder};
use futures::future::BoxFuture;
use pager::{PAGE_CHARS, Page, PageError, Wanted};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Read, Seek as _};
use std::path::Path;
use std::sync::LazyLock;

/// The end of the error after what follows.
const STILL: &str = "times with no change; use what you have";
/// What stands for content that the model has already.
pub const UNCHANGED: &str = "File unchanged since last read. The content from the earlier read_file result in this conversation is still current; refer to it instead of reading it again.";

const DEFAULT_LIMIT: i64 = 500;
/// Lines, and characters of a line and of all of them, for a program that gets the whole of what it asked for.
const WHOLE: usize = 16 * 1024 * 1024;
/// The most that the schema promises; `tool_output.max_lines` bounds as well.
const MAX_LIMIT: i64 = 2_000;
/// Reads that a session remembers.
const REMEMBERED: usize = 1_000;
/// From this size on, a large page comes with advice.
const LARGE_FILE: u64 = 512_000;

/// The tool's name.
pub const NAME: &str = "read_file";
/// The tool.
pub struct ReadFile;

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    let spec = super::built_in(
        NAME,
        "file",
        "📖",
        include_str!("../../../assets/tools/read_file.md"),
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "offset": {"type": "integer", "minimum": 1, "description": "First line; only to continue after a page"},
                "limit": {"type": "integer", "maximum": MAX_LIMIT, "description": "Number of lines; only for less or more than a page"}
            },
            "required": ["path"]
        }),
        Access::Read,
        Verbs::new("reading", "read"),
        Parallel::ByPath("path"),
    );
    // A page is bounded already, and a spilled page would only be read again.
    ToolSpec { content: Content::Page, row: CallRow::Files, output_cap: usize::MAX, ..spec }
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

    fn target(&self, args: &Value) -> String {
        let path = super::text(args, "path");
        let number = |key: &str| args.get(key).and_then(Value::as_i64);
        if number("offset").is_none() && number("limit").is_none() {
            return path.to_owned();
        }
        let first = number("offset").unwrap_or(1).max(1);
        let last = first.saturating_add(number("limit").unwrap_or(DEFAULT_LIMIT).max(1)) - 1;
        format!("{path} {first}-{last}")
    }

    fn plan<'a>(&'a self, args: Value, ctx: &'a ToolCtx) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        Box::pin(async move {
            let args: Args = super::parse(NAME, args)?;
            let place = paths::place(&args.path, ctx)?;
            // The path as written too: resolving `/dev/stdin` leads elsewhere.
            if paths::is_blocked_device(&place.path) || paths::is_blocked_device(&paths::cwd(ctx).join(&args.path)) {
                let why = format!("{}: not read: the device never ends, waits for input, or holds secrets", args.path);
                return Err(ToolError::Failed(why));
            }
            let ranged = args.offset.is_some() || args.limit.is_some();
            let offset = args.offset.unwrap_or(1).max(1) as usize;
            let most = match ctx.within {
                Some(_) => WHOLE as i64,
                None => i64::try_from(ctx.config.tool_output.max_lines).unwrap_or(i64::MAX).max(1),
            };
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
        Box::pin(async move { crate::tools::blocking(move || self.read(&ctx)).await? })
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
        // What a script reads the model does not have.
        if ctx.within.is_none()
            && let Some(repeat) = repeated(ctx, &key, stamp)?
        {
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

    /// The session has seen the file, and, where there was something, this part of it. What a script reads it has seen
    /// alone.
    fn remember(&self, ctx: &ToolCtx, key: ReadKey, stamp: (u128, u64), something: bool) {
        if let Some(within) = &ctx.within {
            lock(&within.seen).insert(self.place.path.clone(), stamp);
            return;
        }
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
        let (offset, limit, line_chars) = (self.offset, self.limit, ctx.config.tool_output.max_line_length);
        // The log of a command holds all that its terminal got, colours and progress bars too.
        let terminal = ctx.backends.current().is_none() && ctx.exec.is_log(&self.place.path);
        if ctx.within.is_some() {
            return Wanted { offset, limit, line_chars: WHOLE, chars: WHOLE, terminal };
        }
        // Numbers, line ends and quotes take more as JSON.
        let chars = (ctx.room.even_share().min(ctx.room.step) / 4 * 3).min(PAGE_CHARS);
        Wanted { offset, limit, line_chars, chars, terminal }
    }

    /// A copy of a file of another machine, gone with the value; `None` for a file of this one.
    fn here(&self, ctx: &ToolCtx) -> Result<Option<tempfile::TempPath>, ToolError> {
        let Some(there) = ctx.backends.current() else { return Ok(None) };
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::FileTooLarge => {
                let why = "is too large to fetch; read part of it with sed or tail in the terminal";
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
            Encoding::Utf8 | Encoding::Utf16(_) => Ok((plain, Some("UTF-8, except for bytes shown as �"))),
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
                "offset {} is past the end: the file has {} lines. Omit offset and limit to read from the start",
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

/// Whether a result says that the file is as an earlier call of the same kind told it.
pub fn is_known(result: &str) -> bool {
    result.contains(UNCHANGED) || result.contains(STILL)
}

/// The stub for a part that the model has; an error from the second repeat on.
fn repeated(ctx: &ToolCtx, key: &ReadKey, stamp: (u128, u64)) -> Result<Option<ToolOutput>, ToolError> {
    let mut ledger = lock(&ctx.files);
    let Some(mark) = ledger.reads.get_mut(key).filter(|mark| mark.stamp == stamp) else { return Ok(None) };
    mark.repeats += 1;
    if mark.repeats > 1 {
        return Err(ToolError::Failed(format!(
            "blocked: the same part of {} was read {} {STILL}",
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
    Image::media_type_of(&head[..read]).filter(|_| size <= Image::MAX_BYTES)?;
    let image = Image::of(&std::fs::read(path).ok()?)?;
    let media_type = &image.media_type;
    let content = json!({"image": media_type, "file_size": size, "note": "image attached"});
    let summary = format!("{media_type}, {}", format::bytes(size));
    Some(ToolOutput { images: vec![image], ..ToolOutput::json(&content).summary(summary) })
}

fn binary(shown: &str, kind: &str, size: u64) -> ToolError {
    let image = kind == "an image";
    let advice = if image {
        "it is too large or in an unsupported format: convert it to a PNG or JPEG below 3.7 MB"
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

impl crate::tools::spec::FileLedger {
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
mod tests;
