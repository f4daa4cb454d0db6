//! Lines that match: each file is searched by the thread that finds it, and what was found is put in the order of paths.

use super::Bounds;
use super::SearchCall;
use super::find::{self, Names, Walked, by_bytes};
use crate::lock::lock;
use crate::tools::file::encoding::Encoding;
use crate::tools::input::paths;
use crate::tools::spec::ToolError;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Characters of a line in the result for a model.
const LINE_CHARS: usize = 500;
/// Rows that a thread keeps before it looks which of them are still wanted.
const ROOM: usize = 1_000;
/// Bytes of a file that is searched once more in its own encoding.
const DECODED: u64 = 16 * 1024 * 1024;
/// A line longer than this, or a larger file when matches may span lines, is not searched.
const HEAP: usize = 64 * 1024 * 1024;

/// What is wanted of each file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Lines,
    Files,
    Count,
}

/// A compiled search.
pub struct Query {
    /// As it was written.
    pub pattern: String,
    matcher: RegexMatcher,
    /// It may match across lines.
    pub multi_line: bool,
    pub mode: Mode,
    pub context: usize,
    /// The result goes to a program: in one shape, and nothing of it is cut.
    pub whole: bool,
}

impl Query {
    /// Compiles `pattern`. One that names line breaks may match across lines.
    pub fn new(pattern: &str, mode: Mode, context: usize) -> Result<Self, ToolError> {
        let multi_line = pattern.contains("\\n") || pattern.contains('\n');
        let mut builder = RegexMatcherBuilder::new();
        builder.multi_line(true);
        if !multi_line {
            builder.line_terminator(Some(b'\n'));
        }
        let matcher = builder.build(pattern).map_err(|error| {
            ToolError::Args(format!("pattern is not a valid regular expression (escape literal characters): {error}"))
        })?;
        Ok(Self { pattern: pattern.to_owned(), matcher, multi_line, mode, context, whole: false })
    }

    /// Characters of a line in the result.
    pub fn line_chars(&self) -> usize {
        if self.whole { HEAP } else { LINE_CHARS }
    }

    fn searcher(&self) -> Searcher {
        let context = if self.mode == Mode::Lines { self.context } else { 0 };
        SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .line_number(self.mode == Mode::Lines)
            .multi_line(self.multi_line)
            .heap_limit(Some(HEAP))
            .before_context(context)
            .after_context(context)
            .build()
    }
}

/// What one file gave.
#[derive(Debug, Default)]
pub struct FileHits {
    pub path: PathBuf,
    pub matches: u64,
    pub rows: Vec<Row>,
}

/// A line of the result.
#[derive(Debug)]
pub struct Row {
    pub number: u64,
    pub text: String,
    pub hit: bool,
    /// The match in its file, from 0, that it is or stands around.
    pub of: usize,
}

/// All that was found.
#[derive(Debug, Default)]
pub struct Searched {
    /// In the order of the files, those with matches only. Rows are there for the first `enough` matches.
    pub hits: Vec<FileHits>,
    skipped: usize,
}

impl Searched {
    /// What the model should know of files that could not be searched.
    pub fn notes(&self) -> Option<String> {
        (self.skipped > 0).then(|| format!("{} file(s) could not be searched", self.skipped))
    }
}

/// Searches all files below the folder of a call, with the lines of the first `enough` matches.
pub fn search(
    call: &SearchCall,
    query: &Query,
    names: Option<&Names>,
    enough: usize,
    bounds: &Bounds,
) -> (Searched, Walked) {
    let all = Mutex::new(Searched::default());
    let walked = find::walk(&call.place.path, names, Some(&call.secrets), call.reach, bounds, || {
        let mut mine = Mine {
            query,
            searcher: query.searcher(),
            enough,
            found: Searched::default(),
            rows: 0,
            most: ROOM,
            last: None,
            bounds,
            all: &all,
        };
        move |path| {
            if !bounds.over() {
                mine.search(path);
            }
            true
        }
    });
    let mut all = all.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    all.hits.sort_unstable_by(|a, b| by_bytes(&a.path, &b.path));
    (all, walked)
}

/// The search of one thread.
struct Mine<'a> {
    query: &'a Query,
    searcher: Searcher,
    enough: usize,
    found: Searched,
    /// Rows that are kept, and from how many on it is looked which of them are still wanted.
    rows: usize,
    most: usize,
    /// No row of a file that comes after this one is wanted: files before it have enough.
    last: Option<PathBuf>,
    bounds: &'a Bounds,
    all: &'a Mutex<Searched>,
}

impl Mine<'_> {
    fn search(&mut self, path: PathBuf) {
        if path.starts_with("/proc") && paths::is_blocked_device(&path) {
            return;
        }
        let wanted = self.last.as_ref().is_none_or(|last| by_bytes(&path, last).is_lt());
        let enough = if wanted { self.enough } else { 0 };
        match self.one(&path, enough) {
            Ok(hits) if hits.matches > 0 => {
                self.rows += hits.rows.len();
                self.found.hits.push(FileHits { path, ..hits });
                if self.rows > self.most {
                    self.drop_rows();
                }
            }
            Ok(_) => {}
            Err(_) => self.found.skipped += 1,
        }
    }

    fn one(&mut self, path: &Path, enough: usize) -> io::Result<FileHits> {
        let (mode, line_chars) = (self.query.mode, self.query.line_chars());
        let sink = || Collect { hits: FileHits::default(), mode, enough, line_chars, odd: false };
        let mut first = sink();
        let mut file = Bounded { file: File::open(path)?, bounds: self.bounds, plain: true };
        self.searcher.search_reader(&self.query.matcher, &mut file, &mut first)?;
        // In another encoding the same words have other bytes.
        if !file.plain
            && (first.hits.matches == 0 || first.odd)
            && let Some(text) = from_before_unicode(path)
        {
            let mut second = sink();
            self.searcher.search_slice(&self.query.matcher, text.as_bytes(), &mut second)?;
            return Ok(second.hits);
        }
        Ok(first.hits)
    }

    /// Keeps the rows of the first `enough` matches only.
    fn drop_rows(&mut self) {
        self.found.hits.sort_unstable_by(|a, b| by_bytes(&a.path, &b.path));
        let mut before = 0;
        self.rows = 0;
        for hits in &mut self.found.hits {
            if before >= self.enough {
                hits.rows = Vec::new();
                continue;
            }
            before += hits.matches as usize;
            self.rows += hits.rows.len();
            if before >= self.enough {
                self.last = Some(hits.path.clone());
            }
        }
        // What is kept may be much, with the lines around matches: it is not sorted again for each file.
        self.most = ROOM.max(self.rows.saturating_mul(2));
    }
}

impl Drop for Mine<'_> {
    fn drop(&mut self) {
        let mut all = lock(self.all);
        all.hits.append(&mut self.found.hits);
        all.skipped += self.found.skipped;
    }
}

/// The text of a file in an encoding from before Unicode; `None` for any other, and for a large one.
fn from_before_unicode(path: &Path) -> Option<String> {
    let about = std::fs::metadata(path).ok().filter(|about| about.len() <= DECODED)?;
    let mut bytes = Vec::with_capacity(about.len() as usize);
    File::open(path).ok()?.take(DECODED).read_to_end(&mut bytes).ok()?;
    match Encoding::of(&bytes) {
        found @ Encoding::Legacy(_) => found.decode(&bytes).map(Cow::into_owned),
        Encoding::Utf8 | Encoding::Utf16(_) => None,
    }
}

/// A file that ends when the search is over, however large it is.
struct Bounded<'a> {
    file: File,
    bounds: &'a Bounds,
    /// All that was read is ASCII.
    plain: bool,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.bounds.over() {
            return Ok(0);
        }
        let count = self.file.read(buffer)?;
        self.plain &= buffer[..count].is_ascii();
        Ok(count)
    }
}

struct Collect {
    hits: FileHits,
    mode: Mode,
    enough: usize,
    line_chars: usize,
    /// A row is not UTF-8.
    odd: bool,
}

impl Collect {
    /// Keeps a line, of the matches that are wanted.
    fn row(&mut self, number: u64, line: &[u8], hit: bool, of: usize) {
        if of >= self.enough {
            return;
        }
        let text = String::from_utf8_lossy(line.trim_ascii_end());
        self.odd |= matches!(text, Cow::Owned(_));
        let text = match text.char_indices().nth(self.line_chars) {
            Some((at, _)) => format!("{}…", &text[..at]),
            None => text.into_owned(),
        };
        self.hits.rows.push(Row { number, text, hit, of });
    }
}

impl Sink for Collect {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        match self.mode {
            Mode::Files => {
                self.hits.matches = 1;
                Ok(false)
            }
            Mode::Count => {
                self.hits.matches += found.lines().count() as u64;
                Ok(true)
            }
            Mode::Lines => {
                for (number, line) in (found.line_number().unwrap_or(0)..).zip(found.lines()) {
                    self.row(number, line, true, self.hits.matches as usize);
                    self.hits.matches += 1;
                }
                Ok(true)
            }
        }
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        let next = self.hits.matches as usize;
        let of = if *line.kind() == SinkContextKind::After { next.saturating_sub(1) } else { next };
        self.row(line.line_number().unwrap_or(0), line.bytes(), false, of);
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        // What came before the first NUL of a binary file is no text either.
        self.hits.matches = 0;
        self.hits.rows.clear();
        Ok(false)
    }
}
