//! A page of lines out of a file of any size, in one pass and little memory.

use crate::text::clean::clean;
use std::borrow::Cow;
use std::io::{self, Read};
use std::path::Path;
use tokio_util::sync::CancellationToken;

const BUFFER: usize = 256 * 1024;
/// Characters of a page for a model (`file_read_max_chars`).
pub const PAGE_CHARS: usize = 100_000;

/// Which lines, and how much of each.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The first line, from 1.
    pub offset: usize,
    pub limit: usize,
    /// Characters of a line; what is longer is cut.
    pub line_chars: usize,
    /// Characters of the page at most, whatever the tool's own bound.
    pub chars: usize,
    /// It is what a terminal got: each line is given as the terminal would show it.
    pub terminal: bool,
}

/// Some lines of a file.
#[derive(Debug, Default, PartialEq)]
pub struct Page {
    pub lines: Vec<String>,
    /// A last line without a line break counts.
    pub total_lines: u64,
    /// Cut because of its size.
    pub full: bool,
    /// A line of it holds what is not UTF-8, shown as `�`.
    pub odd: bool,
}

/// Why there is no page.
#[derive(Debug)]
pub enum PageError {
    /// With what it is.
    Binary(&'static str),
    Io(io::Error),
    Cancelled,
}

/// Reads through to the end (to count lines), keeping only the page.
pub fn page(mut file: impl Read, path: &Path, wanted: &Wanted, cancel: &CancellationToken) -> Result<Page, PageError> {
    let mut buffer = vec![0; BUFFER];
    let mut reader = Pager::new(wanted);
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
    line_chars: usize,
    most: usize,
    terminal: bool,
    /// The line being read, counted from 1.
    line: u64,
    current: Vec<u8>,
    /// Bytes of the current line beyond what is kept.
    cut: bool,
    open: bool,
    chars: usize,
}

impl Pager {
    fn new(wanted: &Wanted) -> Self {
        Self {
            page: Page::default(),
            first: wanted.offset as u64,
            limit: wanted.limit,
            line_chars: wanted.line_chars,
            most: wanted.chars,
            terminal: wanted.terminal,
            line: 1,
            current: Vec::new(),
            cut: false,
            open: false,
            chars: 0,
        }
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
                let room = (self.line_chars * 4).saturating_sub(self.current.len()).min(part.len());
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
        let text = if self.terminal { clean(bytes).into() } else { String::from_utf8_lossy(bytes) };
        // A line that is cut may be so within its last character.
        let odd = !self.terminal
            && matches!(text, Cow::Owned(_))
            && std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_some() || !self.cut);
        let line = match text.char_indices().nth(self.line_chars) {
            Some((at, _)) => format!("{}... [truncated]", &text[..at]),
            None if self.cut => format!("{text}... [truncated]"),
            None => text.into_owned(),
        };
        let chars = line.chars().count() + 8;
        if self.chars + chars > self.most && !self.page.lines.is_empty() {
            self.page.full = true;
        } else {
            self.chars += chars;
            self.page.lines.push(line);
            self.page.odd |= odd;
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
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    // A text file by one of these names is still text.
    match extension.as_str() {
        _ if !unreadable && std::str::from_utf8(sample).is_ok() && !head.starts_with(b"%PDF") => None,
        image if IMAGES.contains(&image) => Some("an image"),
        binary if BINARY.contains(&binary) => Some("a binary file"),
        _ => unreadable.then_some("a binary file"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_end_needs_no_memory() {
        // 100 MB in one line, then another line.
        let endless = io::repeat(b'x').take(100_000_000).chain(&b"\nlast"[..]);
        let page = page(
            endless,
            Path::new("f"),
            &Wanted { offset: 1, limit: 10, line_chars: 2_000, chars: usize::MAX, terminal: false },
            &CancellationToken::new(),
        )
        .unwrap();
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
            let mut pager =
                Pager::new(&Wanted { offset, limit, line_chars: 2_000, chars: usize::MAX, terminal: false });
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

    #[test]
    fn a_log_of_a_terminal_is_read_as_it_would_show_it() {
        let log = b"\x1b[32mgreen\x1b[0m\n 10%\r 100%\x1b[K\nlast\x07";
        let wanted = |terminal| Wanted { offset: 1, limit: 10, line_chars: 2_000, chars: usize::MAX, terminal };
        let cancel = CancellationToken::new();
        let read = |terminal| page(&log[..], Path::new("a.log"), &wanted(terminal), &cancel).unwrap();
        assert_eq!(read(true).lines, ["green", " 100%", "last"]);
        assert!(read(false).lines[0].contains('\u{1b}'), "another file is read as it is");
        assert_eq!(read(true).total_lines, 3);
    }
}
