//! Command output as the model reads it: clean, bounded, and with the way to the rest.

use crate::exec::{Captured, plain, plain_rest};
use crate::text::format;
use crate::tools::bound;
use std::path::{Path, PathBuf};

/// Bytes of either end that are cleaned at least, before it is known whether they are enough.
const FIRST_LOOK: usize = 4096;

/// How the marker in the place of what is left out begins.
const CUT: &str = "... [OUTPUT TRUNCATED - ";

/// Output in a word or two, for the line of its call; `shown` is what [`present`] gave.
pub(crate) fn summary(captured: &Captured, shown: &str) -> String {
    match shown.lines().count() {
        0 => String::new(),
        1 => "1 line".into(),
        // How many lines there were was not counted: a pipe's bytes pass at gigabytes a second.
        _ if shown.contains(CUT) => format!("{}, cut", format::bytes(captured.total)),
        lines => format!("{lines} lines"),
    }
}

/// Clean output within `most` characters: 40 % from the head, 60 % from the tail. What does not fit is kept in a file:
/// the raw spill file of the process, or else `file`, which is written then.
pub(crate) fn present(captured: &Captured, most: usize, file: &Path) -> String {
    if captured.omitted == 0 {
        let head = plain(&captured.head);
        let text = trim(&head);
        let total = text.chars().count();
        if total <= most {
            return text.to_owned();
        }
        // The spill file will do when cleaning changed nothing.
        let spill = captured.spill.clone().filter(|_| head.len() as u64 == captured.spilled);
        let kept = spill.or_else(|| keep(text, file));
        return cap(text, text, most, total as u64, kept.as_deref());
    }
    let mut head = clean_start(&captured.head, most);
    let tail = clean_end(&captured.tail, most);
    // The last line of the head was cut somewhere.
    if let Some(at) = head.rfind('\n') {
        head.truncate(at);
    }
    cap(&head, &tail, most, captured.total, captured.spill.as_deref())
}

/// Without blank lines at either end; the first line keeps its indentation.
fn trim(text: &str) -> &str {
    text.trim_end().trim_start_matches('\n')
}

fn after_line(bytes: &[u8]) -> &[u8] {
    // A single line of many megabytes has no better place to begin.
    match bytes.iter().take(64 * 1024).position(|&b| b == b'\n') {
        Some(at) => &bytes[at + 1..],
        None => bytes,
    }
}

/// The start of `bytes`, clean, with more than `chars` characters where there are so many: the rest is not looked at.
fn clean_start(bytes: &[u8], chars: usize) -> String {
    let mut want = chars.saturating_mul(2).max(FIRST_LOOK);
    while want < bytes.len() {
        // Whole lines, since what follows on a line may overwrite it.
        if let Some(end) = bytes[..want].iter().rposition(|&b| b == b'\n') {
            let text = plain(&bytes[..=end]);
            if text.chars().count() > chars {
                return text;
            }
        }
        want = want.saturating_mul(4);
    }
    plain(bytes)
}

/// The end of `bytes` likewise.
fn clean_end(bytes: &[u8], chars: usize) -> String {
    let mut want = chars.saturating_mul(2).max(FIRST_LOOK);
    while want < bytes.len() {
        let from = &bytes[bytes.len() - want..];
        if let Some(start) = from.iter().position(|&b| b == b'\n') {
            let text = plain_rest(&from[start + 1..]);
            if text.trim_end().chars().count() > chars {
                return text;
            }
        }
        want = want.saturating_mul(4);
    }
    plain_rest(after_line(bytes))
}

/// The first 40 % of `head` and the last 60 % of `tail` (which may be the same text) around a marker.
fn cap(head: &str, tail: &str, most: usize, total: u64, file: Option<&Path>) -> String {
    let front = most * 2 / 5;
    let back = most - front;
    let front = head.char_indices().nth(front).map_or(head, |(at, _)| &head[..at]);
    let tail = tail.trim_end();
    let skip = tail.chars().count().saturating_sub(back);
    let back = tail.char_indices().nth(skip).map_or("", |(at, _)| &tail[at..]);
    let omitted = total.saturating_sub((front.chars().count() + back.chars().count()) as u64);
    let rest = match file {
        Some(path) => format!("; the whole output is in {}, page it with read_file", path.display()),
        None => String::new(),
    };
    format!("{front}\n\n{CUT}{omitted} chars omitted out of {total} total{rest}] ...\n\n{back}")
}

/// Writes the whole text; `None` when the disk refuses (the marker then names no file).
fn keep(text: &str, file: &Path) -> Option<PathBuf> {
    use std::io::Write;
    let written =
        bound::create_new(file).and_then(|(mut handle, path)| handle.write_all(text.as_bytes()).map(|()| path));
    match written {
        Ok(path) => Some(path),
        Err(error) => {
            tracing::warn!("could not keep output in {}: {error}", file.display());
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(head: &[u8], tail: &[u8], omitted: u64) -> Captured {
        let total = (head.len() + tail.len()) as u64 + omitted;
        Captured { head: head.to_vec(), tail: tail.to_vec(), omitted, total, spill: None, spilled: 0 }
    }

    #[test]
    fn little_is_given_whole() {
        let text = present(&captured(b"\n  a\r\nb\x1b[0m\n\n", b"", 0), 100, Path::new("/nonexistent/x"));
        assert_eq!(text, "  a\nb");
    }

    #[test]
    fn much_is_cut_in_the_middle_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/call.txt");
        let input: String = (0..1000).map(|n| format!("{n}é\n")).collect();
        let text = present(&captured(input.as_bytes(), b"", 0), 100, &file);
        let (front, rest) = text.split_once("\n\n... [OUTPUT TRUNCATED - ").unwrap();
        let (marker, back) = rest.split_once("] ...\n\n").unwrap();
        assert_eq!((front.chars().count(), back.chars().count()), (40, 60));
        assert!(marker.contains(&file.display().to_string()), "{marker}");
        assert!(marker.starts_with("4789 chars omitted out of 4889 total"), "{marker}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), input.trim_end());
        // What the line of the call says is of the output, not of what is left of it.
        assert_eq!(summary(&captured(input.as_bytes(), b"", 0), &text), "5.9 KB, cut");
        assert_eq!(summary(&captured(b"a\nb\n", b"", 0), "a\nb"), "2 lines");
    }

    #[test]
    fn looking_at_the_ends_only_gives_what_the_whole_gives() {
        let numbered: String = (0..4000).map(|n| format!("line {n}\n")).collect();
        let blank = format!("{numbered}{}", "\n".repeat(20_000));
        let escapes = format!("{}\nfirst\n{numbered}", "\x1b[0m\n".repeat(9000));
        let one_line = "x".repeat(30_000);
        for text in [&numbered, &blank, &escapes, &one_line] {
            let bytes = text.as_bytes();
            for most in [0, 10, 900, 5000] {
                let whole = plain(bytes);
                let cut = whole.rfind('\n').map_or(whole.as_str(), |at| &whole[..at]);
                let expected = cap(cut, &plain(after_line(bytes)), most, 99, None);
                let given = present(&Captured { total: 99, ..captured(bytes, bytes, 1) }, most, Path::new("/x"));
                assert!(given == expected, "{most}: {given:.80} … {expected:.80}");
            }
        }
    }

    #[test]
    fn a_hole_in_memory_names_the_spill_file() {
        let mut piece = captured(b"first\ncut of", b"f line\nlast\n", 5000);
        piece.spill = Some("/spill/p.log".into());
        let text = present(&piece, 100, Path::new("/nonexistent/x"));
        assert!(text.starts_with("first\n\n... ["), "{text}");
        assert!(text.ends_with("\n\nlast"), "{text}");
        assert!(text.contains("/spill/p.log"), "{text}");
    }
}
