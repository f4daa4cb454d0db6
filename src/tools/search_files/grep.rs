//! Lines that match, file by file in the order of their paths, in several threads.

use super::Bounds;
use super::find::threads;
use crate::lock::lock;
use crate::tools::paths;
use crate::tools::spec::ToolError;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Characters of a line in the result.
pub const LINE_CHARS: usize = 500;
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
        Ok(Self { pattern: pattern.to_owned(), matcher, multi_line, mode, context })
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
    /// In the order of the files, those with matches only.
    pub hits: Vec<FileHits>,
    skipped: usize,
    /// Every file was searched to its end.
    pub whole: bool,
}

impl Searched {
    /// What the model should know of files that could not be searched.
    pub fn notes(&self) -> Option<String> {
        (self.skipped > 0).then(|| format!("{} file(s) could not be searched", self.skipped))
    }
}

/// Searches until `enough` matches (or files) are found in the first files.
pub fn search(query: &Query, files: &[PathBuf], enough: usize, bounds: &Bounds) -> Searched {
    let mut all = Searched::default();
    // A count that stops early counts nothing.
    let enough = if query.mode == Mode::Count { usize::MAX } else { enough };
    let (mut start, mut lot) = (0, 64);
    while start < files.len() && !bounds.over() {
        let end = (start + lot).min(files.len());
        lot_of(query, &files[start..end], enough, bounds, &mut all);
        let found: u64 = match query.mode {
            Mode::Lines => all.hits.iter().map(|hits| hits.matches).sum(),
            Mode::Files | Mode::Count => all.hits.len() as u64,
        };
        if found >= enough as u64 {
            return all;
        }
        start = end;
        lot = (lot * 2).min(4_096);
    }
    all.whole = !bounds.over();
    all
}

fn lot_of(query: &Query, files: &[PathBuf], enough: usize, bounds: &Bounds, all: &mut Searched) {
    let (next, done) = (AtomicUsize::new(0), Mutex::new((Vec::new(), 0)));
    let work = || {
        let mut searcher = query.searcher();
        let (mut mine, mut skipped) = (Vec::new(), 0);
        while let Some((index, path)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, files.get(i)?)))
        {
            if bounds.over() {
                break;
            }
            if path.starts_with("/proc") && paths::is_blocked_device(path) {
                continue;
            }
            match one(query, &mut searcher, path, enough) {
                Ok(hits) if hits.matches > 0 => mine.push((index, hits)),
                Ok(_) => {}
                Err(_) => skipped += 1,
            }
        }
        let mut done = lock(&done);
        done.0.append(&mut mine);
        done.1 += skipped;
    };
    std::thread::scope(|scope| {
        for _ in 1..threads().min(files.len()) {
            scope.spawn(work);
        }
        work();
    });
    let (mut hits, skipped) = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    hits.sort_unstable_by_key(|(index, _)| *index);
    all.hits.extend(hits.into_iter().map(|(_, hits)| hits));
    all.skipped += skipped;
}

fn one(query: &Query, searcher: &mut Searcher, path: &Path, enough: usize) -> io::Result<FileHits> {
    let mut sink = Collect { hits: FileHits::default(), mode: query.mode, enough };
    searcher.search_path(&query.matcher, path, &mut sink)?;
    if sink.hits.matches > 0 {
        sink.hits.path = path.to_owned();
    }
    Ok(sink.hits)
}

struct Collect {
    hits: FileHits,
    mode: Mode,
    enough: usize,
}

impl Collect {
    fn row(&mut self, number: u64, line: &[u8], hit: bool, of: usize) {
        let text = String::from_utf8_lossy(line.trim_ascii_end());
        let text = match text.char_indices().nth(LINE_CHARS) {
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
                Ok((self.hits.matches as usize) < self.enough)
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
