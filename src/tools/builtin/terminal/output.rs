//! Command output as the model reads it: clean, bounded, and with the way to the rest.

use super::gap;
use crate::exec::{Captured, plain, plain_rest};
use crate::text::digest::{CUT, Digest, Most, Source, Tail, pieces};
use crate::text::{format, tokens};
use crate::tools::output::bound;
use crate::tools::spec::ToolCtx;
use std::path::{Path, PathBuf};

/// Bytes of either end that are cleaned at least, before it is known whether they are enough.
const FIRST_LOOK: usize = 4096;

/// Tokens of a result beside the output, and of an output at least.
const BESIDE: usize = 200;
const LEAST: usize = 150;
/// Characters of either end that are cleaned where the middle is not in memory: more than is shown, since runs are folded.
const END_CHARS: usize = 100_000;

/// What a script gets of an output: all of it, up to so many bytes.
const ALL: Most = Most { tokens: usize::MAX, chars: usize::MAX, line: usize::MAX };
const WHOLE: u64 = 32 * 1024 * 1024;

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

/// How much of a command's output its result may hold, beside what else stands in it and `more`.
pub(crate) fn most(ctx: &ToolCtx, more: &str) -> Most {
    if ctx.within.is_some() {
        return ALL;
    }
    let config = &ctx.config.tool_output;
    let tokens =
        config.tokens(super::NAME, super::TOOLSET, ctx.room.window).saturating_sub(BESIDE + tokens::weigh(more));
    Most { tokens: tokens.max(LEAST), chars: config.max_bytes, line: config.max_line_length }
}

/// Clean output within `most`: head, tail and the lines between them that look like errors. What does not fit is kept in a
/// file: the raw spill file of the process, or else `file`, which is written then. Reads files.
pub(crate) fn present(captured: &Captured, most: &Most, file: &Path) -> String {
    if captured.omitted > 0 {
        let all = captured.spill.as_deref().filter(|_| *most == ALL).and_then(whole);
        return all.unwrap_or_else(|| ends(captured, most));
    }
    let head = plain(&captured.head);
    let text = trim(&head);
    if *most == ALL {
        return text.to_owned();
    }
    let digest = Digest::of(Source { head: text, tail: None }, most);
    if digest.is_whole() {
        return digest.text("");
    }
    // The spill file will do when cleaning changed nothing and the reader can show each of its lines.
    let as_it_is = head.len() as u64 == captured.spilled && !head.starts_with('\n');
    let spill = captured.spill.clone().filter(|_| as_it_is && !text.lines().any(|line| pieces(line, most.line) > 1));
    digest.text(&whereabouts(spill.or_else(|| keep(text, most.line, file)).as_deref()))
}

/// What a script gets of an output whose middle is not in memory; `None` when there is more of it than a script takes.
fn whole(spill: &Path) -> Option<String> {
    let fits = spill.metadata().is_ok_and(|about| about.len() <= WHOLE);
    let bytes = if fits { std::fs::read(spill).ok()? } else { return None };
    Some(trim(&plain(&bytes)).to_owned())
}

/// Where all of it is, in words.
fn whereabouts(file: Option<&Path>) -> String {
    match file {
        Some(path) => format!("full output: read_file {} (offset, limit)", path.display()),
        None => "the full output could not be saved: is the disk full?".to_owned(),
    }
}

/// The same of output whose middle is not in memory.
fn ends(captured: &Captured, most: &Most) -> String {
    let (head, head_end) = clean_start(&captured.head, END_CHARS);
    let (tail, tail_begin) = clean_end(&captured.tail, END_CHARS);
    let gap = gap::look(captured, head_end, tail_begin);
    let tail = Tail { text: tail.trim_end(), first: gap.first_after, found: &gap.found };
    let digest = Digest::of(Source { head: trim(&head), tail: Some(tail) }, most);
    let size = format::bytes(captured.total);
    digest.text(&format!("{size}; {}", whereabouts(captured.spill.as_deref())))
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

/// The start of `bytes`, clean, with more than `chars` characters where there are so many: the rest is not looked at. And how
/// many bytes that is: whole lines, since what follows on a line may overwrite it.
fn clean_start(bytes: &[u8], chars: usize) -> (String, usize) {
    let mut want = chars.saturating_mul(2).max(FIRST_LOOK);
    while want < bytes.len() {
        if let Some(end) = bytes[..want].iter().rposition(|&b| b == b'\n') {
            let text = plain(&bytes[..=end]);
            if text.chars().count() > chars {
                return (text, end + 1);
            }
        }
        want = want.saturating_mul(4);
    }
    // The last line was cut somewhere.
    let end = bytes.iter().rposition(|&b| b == b'\n').map_or(bytes.len(), |at| at + 1);
    (plain(&bytes[..end]), end)
}

/// The end of `bytes` likewise, and where it begins.
fn clean_end(bytes: &[u8], chars: usize) -> (String, usize) {
    let mut want = chars.saturating_mul(2).max(FIRST_LOOK);
    while want < bytes.len() {
        let from = bytes.len() - want;
        if let Some(start) = bytes[from..].iter().position(|&b| b == b'\n') {
            let text = plain_rest(&bytes[from + start + 1..]);
            if text.trim_end().chars().count() > chars {
                return (text, from + start + 1);
            }
        }
        want = want.saturating_mul(4);
    }
    let rest = after_line(bytes);
    (plain_rest(rest), bytes.len() - rest.len())
}

/// Writes the whole text, with lines that the reader can show; `None` when the disk refuses (the words then name no file).
fn keep(text: &str, line: usize, file: &Path) -> Option<PathBuf> {
    let written =
        bound::create_new(file).and_then(|(handle, path)| bound::write_lines(handle, text, line).map(|()| path));
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

    fn most(tokens: usize) -> Most {
        Most { tokens, chars: 50_000, line: 2_000 }
    }

    #[test]
    fn little_is_given_whole() {
        let text = present(&captured(b"\n  a\r\nb\x1b[0m\n\n", b"", 0), &most(100), Path::new("/nonexistent/x"));
        assert_eq!(text, "  a\nb");
    }

    #[test]
    fn much_is_cut_in_the_middle_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/call.txt");
        let input: String = (0..1000).map(|n| format!("{n}é\n")).collect();
        let text = present(&captured(input.as_bytes(), b"", 0), &most(300), &file);
        let (front, rest) = text.split_once("\n\n... [OUTPUT TRUNCATED - ").unwrap();
        let (marker, back) = rest.split_once("] ...\n\n").unwrap();
        assert!(front.starts_with("0é\n1é\n") && back.ends_with("\n999é"), "{text}");
        assert!(marker.contains(&file.display().to_string()) && marker.contains("of 1000 lines left out"), "{marker}");
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
            for chars in [0, 10, 900, 5000] {
                let (start, end) = clean_start(bytes, chars);
                assert_eq!(start, plain(&bytes[..end]));
                assert!(plain(bytes).starts_with(&start) && (end == bytes.len() || start.chars().count() > chars));
                let (rest, begin) = clean_end(bytes, chars);
                assert_eq!(rest, plain_rest(&bytes[begin..]));
                assert!(begin == bytes.len() - after_line(bytes).len() || rest.trim_end().chars().count() > chars);
            }
        }
    }

    /// Head and tail in memory, the middle in the file: an error there is found, with the number that the file has for it.
    #[test]
    fn a_hole_in_memory_names_the_spill_file_and_its_errors_are_seen() {
        let folder = tempfile::tempdir().unwrap();
        let spill = folder.path().join("p.log");
        let all: String = (1..=9_000)
            .map(|n| if n == 5_000 { "\x1b[31merror\x1b[0m: E5000\n".to_owned() } else { format!("line {n}\n") })
            .collect();
        std::fs::write(&spill, &all).unwrap();
        let bytes = all.as_bytes();
        let (head, tail) = (&bytes[..10_003], &bytes[bytes.len() - 10_003..]);
        let mut piece = captured(head, tail, (bytes.len() - 20_006) as u64);
        (piece.spill, piece.spilled) = (Some(spill.clone()), bytes.len() as u64);
        let text = present(&piece, &most(600), Path::new("/nonexistent/x"));
        assert!(text.starts_with("line 1\nline 2\n") && text.ends_with("\nline 9000"), "{text}");
        assert!(text.contains("\n5000: error: E5000\n"), "{text}");
        assert!(text.contains(" of 9000 lines left out (") && text.contains(&spill.display().to_string()), "{text}");
        // A file that ends early leaves the numbers after it unknown.
        piece.spilled = 20_000;
        let text = present(&piece, &most(600), Path::new("/nonexistent/x"));
        assert!(text.contains("TRUNCATED - the middle; ") && !text.contains("E5000"), "{text}");
    }
}
