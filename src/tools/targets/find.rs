//! What `find … -delete` and the like would reach: its tests are tried on the folders, nothing is run.

use super::measure::Sum;
use super::named;
use crate::policy::files::normal;
use crate::policy::shell::{Invocation, Judgement, UNKNOWN};
use crate::policy::{Target, Verdict, glob};
use std::fs::Metadata;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

/// Names told of what matches.
const EXAMPLES: usize = 3;
/// Terms of one expression.
const MAX_TERMS: usize = 256;

/// One test of an expression.
#[derive(Clone, Debug, PartialEq)]
enum Test {
    Name {
        pattern: String,
        case: bool,
    },
    Path {
        pattern: String,
        case: bool,
    },
    /// Letters of `-type`.
    Type(String),
    Empty,
    /// `-mtime` and `-mmin`: more than, less than or exactly so many units of seconds.
    Age {
        sign: i8,
        count: u64,
        unit: u64,
    },
    Size {
        sign: i8,
        count: u64,
        unit: u64,
    },
    /// Always so: actions and options that choose nothing.
    Yes,
    /// Not understood: whether it holds is not known.
    Unknown,
    Not(Box<Test>),
    And(Vec<Test>),
    Or(Vec<Test>),
}

/// What a test says of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    Yes,
    No,
    Maybe,
}

/// A search.
#[derive(Debug, PartialEq)]
struct Search {
    starts: Vec<String>,
    test: Test,
    min_depth: usize,
    max_depth: usize,
    follows: bool,
    /// A folder that matches goes with all below it (`-exec rm -r`); `-delete` removes only what matches.
    whole: bool,
}

/// A row for each `find` that a reason is about, also where its names go to another command.
pub fn of(verdict: &Verdict, judgement: &Judgement, until: Instant) -> Vec<Target> {
    let reasons = verdict.reasons();
    let meant = |command: &Invocation| {
        reasons.iter().any(|why| why.span.start < command.span.end && command.span.start < why.span.end)
    };
    let mut rows = Vec::new();
    for (at, command) in judgement.invocations.iter().enumerate() {
        let before = judgement.invocations[..at].iter().rev().find(|other| other.span.end <= command.span.start);
        if named::is_find(&command.words) && meant(command) {
            rows.extend(row(command, "find", until));
        } else if is_xargs(command) && meant(command) {
            let what = format!("xargs {}", inner(command));
            match before.filter(|before| named::is_find(&before.words)) {
                Some(find) if !meant(find) => rows.extend(row(find, &format!("find … | {what}"), until)),
                Some(_) => {}
                None => rows.push(Target {
                    name: what,
                    files: None,
                    bytes: None,
                    at_least: false,
                    note: "whatever its input names, known only when it runs".into(),
                }),
            }
        }
    }
    rows
}

fn is_xargs(command: &Invocation) -> bool {
    command.words.first().is_some_and(|word| word.rsplit('/').next() == Some("xargs"))
}

/// The command that `xargs` runs.
fn inner(command: &Invocation) -> &str {
    command.words.iter().skip(1).find(|word| !word.starts_with('-')).map_or("", String::as_str)
}

fn row(command: &Invocation, name: &str, until: Instant) -> Option<Target> {
    let mut target = Target { name: name.into(), files: None, bytes: None, at_least: false, note: String::new() };
    let search = search(&command.words[1..]);
    let Some(search) = search.filter(|_| !command.cwd.contains(UNKNOWN)) else {
        target.note = "known only when it runs".into();
        return Some(target);
    };
    let mut matched = Matched::default();
    for start in &search.starts {
        let path = PathBuf::from(normal(Path::new(&command.cwd), start));
        matched.walk(&search, &path, start, until);
    }
    let mut notes = Vec::new();
    if matched.doubtful {
        notes.push("at most: some of its tests are not understood".to_owned());
    }
    if matched.examples.is_empty() {
        notes.push("matches nothing now".into());
    } else {
        let more = matched.count.saturating_sub(matched.examples.len() as u64);
        let more = if more > 0 { ", …" } else { "" };
        notes.push(format!("{}{more}", matched.examples.join(", ")));
    }
    (target.files, target.bytes, target.at_least) = (Some(matched.sum.files), Some(matched.sum.bytes), matched.sum.cut);
    target.note = notes.join(": ");
    Some(target)
}

/// What a search found so far.
#[derive(Default)]
struct Matched {
    sum: Sum,
    count: u64,
    examples: Vec<String>,
    doubtful: bool,
}

impl Matched {
    fn walk(&mut self, search: &Search, start: &Path, shown: &str, until: Instant) {
        let mut open = vec![(start.to_path_buf(), shown.to_owned(), 0)];
        while let Some((path, shown, depth)) = open.pop() {
            if Instant::now() >= until {
                self.sum.cut = true;
                return;
            }
            let meta = if search.follows { path.metadata() } else { path.symlink_metadata() };
            let Ok(meta) = meta else { continue };
            let holds = if depth < search.min_depth { Holds::No } else { search.test.holds(&path, &shown, &meta) };
            if holds != Holds::No {
                self.doubtful |= holds == Holds::Maybe;
                self.count += 1;
                if self.examples.len() < EXAMPLES && (!meta.is_dir() || search.whole) {
                    self.examples.push(shown.trim_start_matches("./").to_owned());
                }
                if !meta.is_dir() {
                    self.sum.add(&path, until);
                } else if search.whole {
                    // A whole folder goes: what is in it is counted with it.
                    self.sum.add(&path, until);
                    continue;
                }
            }
            if meta.is_dir() && depth < search.max_depth {
                let Ok(entries) = std::fs::read_dir(&path) else { continue };
                for entry in entries.flatten() {
                    let name = entry.file_name().to_string_lossy().into_owned();
                    open.push((entry.path(), format!("{}/{name}", shown.trim_end_matches('/')), depth + 1));
                }
            }
        }
    }
}

/// Reads the words of a `find`; `None` when they cannot be known before it runs.
fn search(words: &[String]) -> Option<Search> {
    if words.iter().any(|word| word.contains(UNKNOWN)) {
        return None;
    }
    let mut words = words.iter().map(String::as_str).peekable();
    let mut search = Search {
        starts: Vec::new(),
        test: Test::Yes,
        min_depth: 0,
        max_depth: usize::MAX,
        follows: false,
        whole: false,
    };
    while let Some(word) =
        words.next_if(|word| matches!(*word, "-H" | "-L" | "-P") || !word.starts_with(['-', '(', '!']))
    {
        match word {
            "-L" => search.follows = true,
            "-H" | "-P" => {}
            start => search.starts.push(start.to_owned()),
        }
    }
    if search.starts.is_empty() {
        search.starts.push(".".into());
    }
    let rest: Vec<&str> = words.collect();
    let mut at = 0;
    search.test = either(&rest, &mut at, &mut search, 0);
    if at < rest.len() {
        search.test = Test::And(vec![search.test, Test::Unknown]);
    }
    Some(search)
}

fn either(words: &[&str], at: &mut usize, search: &mut Search, depth: usize) -> Test {
    let mut any = vec![all(words, at, search, depth)];
    while matches!(words.get(*at), Some(&("-o" | "-or" | ","))) && any.len() < MAX_TERMS {
        *at += 1;
        any.push(all(words, at, search, depth));
    }
    if any.len() == 1 { any.remove(0) } else { Test::Or(any) }
}

fn all(words: &[&str], at: &mut usize, search: &mut Search, depth: usize) -> Test {
    let mut every = Vec::new();
    while let Some(word) = words.get(*at) {
        match *word {
            "-o" | "-or" | "," | ")" => break,
            "-a" | "-and" => *at += 1,
            _ if every.len() >= MAX_TERMS => break,
            _ => every.push(one(words, at, search, depth)),
        }
    }
    if every.len() == 1 { every.remove(0) } else { Test::And(every) }
}

fn one(words: &[&str], at: &mut usize, search: &mut Search, depth: usize) -> Test {
    let word = words[*at];
    *at += 1;
    match word {
        "!" | "-not" if *at < words.len() && depth < 32 => Test::Not(Box::new(one(words, at, search, depth + 1))),
        "(" if depth < 32 => {
            let inner = either(words, at, search, depth + 1);
            if words.get(*at) == Some(&")") {
                *at += 1;
            }
            inner
        }
        "-name" | "-iname" => Test::Name { pattern: value(words, at).to_owned(), case: word == "-name" },
        "-path" | "-wholename" | "-ipath" => {
            Test::Path { pattern: value(words, at).to_owned(), case: word != "-ipath" }
        }
        "-type" => Test::Type(value(words, at).to_owned()),
        "-empty" => Test::Empty,
        "-mtime" | "-mmin" => match number(value(words, at)) {
            Some((sign, count, _)) => Test::Age { sign, count, unit: if word == "-mtime" { 86_400 } else { 60 } },
            None => Test::Unknown,
        },
        "-size" => match number(value(words, at)) {
            Some((sign, count, letter)) => match letter {
                'c' => Test::Size { sign, count, unit: 1 },
                'w' => Test::Size { sign, count, unit: 2 },
                'k' => Test::Size { sign, count, unit: 1024 },
                'M' => Test::Size { sign, count, unit: 1024 * 1024 },
                'G' => Test::Size { sign, count, unit: 1024 * 1024 * 1024 },
                _ => Test::Size { sign, count, unit: 512 },
            },
            None => Test::Unknown,
        },
        "-maxdepth" | "-mindepth" => {
            let depth = value(words, at).parse().unwrap_or(if word == "-maxdepth" { usize::MAX } else { 0 });
            if word == "-maxdepth" {
                search.max_depth = depth
            } else {
                search.min_depth = depth
            }
            Test::Yes
        }
        "-delete" | "-print" | "-print0" | "-ls" | "-depth" | "-d" | "-mount" | "-xdev" | "-true" | "-noleaf" => {
            Test::Yes
        }
        "-follow" => {
            search.follows = true;
            Test::Yes
        }
        "-false" => Test::Not(Box::new(Test::Yes)),
        "-exec" | "-execdir" | "-ok" | "-okdir" => {
            let command: Vec<&str> =
                words[*at..].iter().take_while(|word| !matches!(**word, ";" | "+")).copied().collect();
            *at += command.len() + 1;
            let tree = |word: &&str| word.starts_with('-') && !word.starts_with("--") && word.contains(['r', 'R']);
            search.whole |= command.first().is_some_and(|name| name.rsplit('/').next() == Some("rm"))
                && command.iter().any(|word| tree(word) || *word == "--recursive");
            Test::Yes
        }
        "-newer" | "-anewer" | "-cnewer" | "-user" | "-group" | "-perm" | "-regex" | "-iregex" | "-atime"
        | "-ctime" | "-amin" | "-cmin" | "-links" | "-inum" | "-samefile" | "-uid" | "-gid" | "-lname" | "-fstype"
        | "-regextype" | "-xtype" | "-newermt" | "-used" => {
            *at += 1;
            Test::Unknown
        }
        _ => Test::Unknown,
    }
}

/// The word after a test.
fn value<'a>(words: &[&'a str], at: &mut usize) -> &'a str {
    let value = words.get(*at).copied().unwrap_or_default();
    *at += 1;
    value
}

/// `+7`, `-10`, `3M`: sign, count and the letter of a unit.
fn number(text: &str) -> Option<(i8, u64, char)> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => (0, text),
    };
    let digits = rest.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    Some((sign, digits.parse().ok()?, rest[digits.len()..].chars().next().unwrap_or(' ')))
}

impl Test {
    fn holds(&self, path: &Path, shown: &str, meta: &Metadata) -> Holds {
        let sure = |yes: bool| if yes { Holds::Yes } else { Holds::No };
        let fits = |pattern: &str, text: &str, case: bool| {
            if case {
                glob::matches(pattern, text)
            } else {
                glob::matches(&pattern.to_lowercase(), &text.to_lowercase())
            }
        };
        let compare = |sign: i8, have: u64, want: u64| match sign {
            1 => have > want,
            -1 => have < want,
            _ => have == want,
        };
        match self {
            Test::Yes => Holds::Yes,
            Test::Unknown => Holds::Maybe,
            Test::Name { pattern, case } => {
                sure(fits(pattern, &path.file_name().unwrap_or(path.as_os_str()).to_string_lossy(), *case))
            }
            Test::Path { pattern, case } => sure(fits(pattern, shown, *case)),
            Test::Type(letters) => sure(letters.split(',').any(|letter| match letter {
                "f" => meta.is_file(),
                "d" => meta.is_dir(),
                "l" => meta.is_symlink(),
                "s" => meta.file_type().is_socket(),
                "p" => meta.file_type().is_fifo(),
                "b" => meta.file_type().is_block_device(),
                "c" => meta.file_type().is_char_device(),
                _ => false,
            })),
            Test::Empty if meta.is_dir() => sure(std::fs::read_dir(path).is_ok_and(|mut all| all.next().is_none())),
            Test::Empty => sure(meta.is_file() && meta.len() == 0),
            Test::Age { sign, count, unit } => {
                let age = meta.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
                sure(compare(*sign, age.unwrap_or_default().as_secs() / unit, *count))
            }
            Test::Size { sign, count, unit } => sure(compare(*sign, meta.len().div_ceil(*unit), *count)),
            Test::Not(test) => match test.holds(path, shown, meta) {
                Holds::Yes => Holds::No,
                Holds::No => Holds::Yes,
                Holds::Maybe => Holds::Maybe,
            },
            Test::And(all) => Self::first(all, path, shown, meta, Holds::No, Holds::Yes),
            Test::Or(any) => Self::first(any, path, shown, meta, Holds::Yes, Holds::No),
        }
    }

    /// The answer that settles the whole when one test gives it; else the other, or that it is not known.
    fn first(tests: &[Test], path: &Path, shown: &str, meta: &Metadata, settles: Holds, other: Holds) -> Holds {
        let mut answer = other;
        for test in tests {
            match test.holds(path, shown, meta) {
                holds if holds == settles => return settles,
                Holds::Maybe => answer = Holds::Maybe,
                Holds::Yes | Holds::No => {}
            }
        }
        answer
    }
}
