//! Runs of lines that say the same or only how far something is, each as one.

/// Lines that are the same before they are folded, and lines of progress.
const SAME: usize = 4;
const PROGRESS: usize = 6;
/// Words at the start of a line that tells what is being done to one of many things.
const DOINGS: [&str; 24] = [
    "Adding",
    "Building",
    "Built",
    "CC",
    "CXX",
    "Checking",
    "Collecting",
    "Compiling",
    "Copying",
    "Downloaded",
    "Downloading",
    "Extracting",
    "Fetched",
    "Fetching",
    "Get",
    "Installing",
    "LD",
    "Linking",
    "Preparing",
    "Pulling",
    "Resolving",
    "Selecting",
    "Setting",
    "Unpacking",
];

/// What a line of progress is one of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress<'a> {
    Doing(&'a str),
    Percent,
    /// `[12/345]`, `(3/7)`
    Ratio,
}

fn progress(line: &str) -> Option<Progress<'_>> {
    if line.len() > 500 || super::alarm::of(line).is_some() {
        return None;
    }
    let line = line.trim_start();
    let word = line.split([' ', ':', '\t']).next().unwrap_or_default();
    if let Some(doing) = DOINGS.iter().find(|doing| **doing == word).filter(|_| line.len() > word.len()) {
        return Some(Progress::Doing(doing));
    }
    let bytes = line.as_bytes();
    if memchr::memchr_iter(b'%', bytes).any(|at| {
        let before = &bytes[..at];
        before.strip_suffix(b" ").unwrap_or(before).last().is_some_and(u8::is_ascii_digit)
    }) {
        return Some(Progress::Percent);
    }
    let inner = line.strip_prefix(['[', '('])?.split([']', ')']).next()?;
    let (done, of) = inner.split_once('/')?;
    let number = |text: &str| !text.trim().is_empty() && text.trim().bytes().all(|byte| byte.is_ascii_digit());
    (number(done) && number(of)).then_some(Progress::Ratio)
}

/// One or more lines as they are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group<'a> {
    /// The first that was taken, and the last of a run of progress.
    pub first: &'a str,
    pub last: &'a str,
    pub count: usize,
}

impl Group<'_> {
    /// Whether lines are left out of what is shown.
    pub fn is_folded(&self) -> bool {
        self.count > 1
    }
}

/// Folds lines as they come, forwards or backwards.
pub(super) struct Folded<'a, I: Iterator<Item = &'a str>> {
    lines: std::iter::Peekable<I>,
    /// Lines of a run that was too short.
    short: std::collections::VecDeque<&'a str>,
    on: bool,
}

impl<'a, I: Iterator<Item = &'a str>> Folded<'a, I> {
    /// `on`: otherwise each line is a group.
    pub fn new(lines: I, on: bool) -> Self {
        Self { lines: lines.peekable(), short: std::collections::VecDeque::new(), on }
    }
}

fn single(line: &str) -> Group<'_> {
    Group { first: line, last: line, count: 1 }
}

impl<'a, I: Iterator<Item = &'a str>> Iterator for Folded<'a, I> {
    type Item = Group<'a>;

    fn next(&mut self) -> Option<Group<'a>> {
        if let Some(line) = self.short.pop_front() {
            return Some(single(line));
        }
        let first = self.lines.next()?;
        if !self.on {
            return Some(single(first));
        }
        let kind = progress(first);
        let belongs = |line: &str| match kind {
            Some(kind) => progress(line) == Some(kind),
            None => line == first,
        };
        let least = if kind.is_some() { PROGRESS } else { SAME };
        let (mut count, mut last) = (1, first);
        while let Some(line) = self.lines.next_if(|line| belongs(line)) {
            (count, last) = (count + 1, line);
            if count < least {
                self.short.push_back(line);
            }
        }
        if count < least {
            return Some(single(first));
        }
        self.short.clear();
        Some(Group { first, last, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(lines: &[&str]) -> Vec<(String, usize)> {
        Folded::new(lines.iter().copied(), true).map(|group| (group.first.to_owned(), group.count)).collect()
    }

    #[test]
    fn runs_become_one() {
        let crates: Vec<String> = (0..9).map(|n| format!("   Compiling crate{n} v1.0.{n}")).collect();
        let mut lines: Vec<&str> = crates.iter().map(String::as_str).collect();
        lines.extend(["a", "a", "a", "a", "b", "b"]);
        assert_eq!(folded(&lines), [(crates[0].clone(), 9), ("a".into(), 4), ("b".into(), 1), ("b".into(), 1)]);
        let bars: Vec<String> = (0..100).map(|n| format!("{n:3}% [{}>]", "=".repeat(n / 5))).collect();
        assert_eq!(folded(&bars.iter().map(String::as_str).collect::<Vec<_>>()), [(bars[0].clone(), 100)]);
        let ninja: Vec<String> = (1..30).map(|n| format!("[{n}/30] Building CXX object x{n}.o")).collect();
        assert_eq!(folded(&ninja.iter().map(String::as_str).collect::<Vec<_>>()).len(), 1);
        // What went wrong is no progress, and other lines stay.
        let mut broken = ninja.clone();
        broken[14] = "[15/30] error: x15.o".into();
        assert_eq!(folded(&broken.iter().map(String::as_str).collect::<Vec<_>>()).len(), 3);
        let plain: Vec<String> = (0..50).map(|n| format!("line {n}")).collect();
        assert_eq!(folded(&plain.iter().map(String::as_str).collect::<Vec<_>>()).len(), 50);
    }
}
