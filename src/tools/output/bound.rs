//! The one place where results are bounded and cleaned before the model sees them.

use crate::policy::redact::{RedactKind, Secrets};
use crate::text::digest::{Digest, Most, Source};
use crate::text::tokens;
use regex::Regex;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::{DirBuilder, File};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Masks secrets in text of this kind.
pub type Redact = fn(&str, RedactKind) -> Cow<'_, str>;

/// What masks the results of a call: known values first, then what looks like a secret.
#[derive(Clone)]
pub struct Masks {
    pub redact: Redact,
    pub secrets: Secrets,
}

impl Masks {
    /// Masks nothing.
    pub fn none() -> Self {
        Self { redact: |text, _| Cow::Borrowed(text), secrets: Secrets::default() }
    }

    /// `text` with its secrets masked.
    pub fn apply<'t>(&self, text: &'t str, kind: RedactKind) -> Cow<'t, str> {
        match self.secrets.mask(text, kind) {
            Cow::Borrowed(text) => (self.redact)(text, kind),
            Cow::Owned(text) => Cow::Owned((self.redact)(&text, kind).into_owned()),
        }
    }
}

/// `content` with its secrets masked. The dump of an environment is masked text by text when it is JSON: the value of a
/// variable ends at the line, and the line at an escape.
pub fn mask<'t>(content: &'t str, kind: RedactKind, masks: &Masks) -> Cow<'t, str> {
    if kind == RedactKind::Environment
        && let Ok(mut value @ Value::Object(_)) = serde_json::from_str(content)
    {
        return if mask_value(&mut value, masks) { Cow::Owned(value.to_string()) } else { Cow::Borrowed(content) };
    }
    masks.apply(content, kind)
}

fn mask_value(value: &mut Value, masks: &Masks) -> bool {
    let mut changed = false;
    match value {
        Value::String(text) => {
            if let Cow::Owned(masked) = masks.apply(text, RedactKind::Environment) {
                changed = masked != *text;
                *text = masked;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| changed |= mask_value(value, masks)),
        Value::Object(fields) => fields.values_mut().for_each(|value| changed |= mask_value(value, masks)),
        _ => {}
    }
    changed
}

/// Characters of an error.
const ERROR_CHARS: usize = 2_000;
/// Of what is kept, the part from the beginning; the end of an output says more.
const HEAD_PERCENT: usize = 40;

/// A result as the model may read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounded {
    pub content: String,
    /// Where the whole is, in words, when it was kept.
    pub whole: Option<String>,
}

/// `content` redacted, and when it has more than `most` its head and tail, and lines between them that look like errors, with a
/// note where the whole is. One over `share` characters may be shortened later with the others of its step: its whole is kept
/// too.
pub fn bound(
    content: String,
    most: &Most,
    share: usize,
    spill_dir: &Path,
    call_id: &str,
    redact: impl Fn(&str) -> Cow<'_, str>,
) -> Bounded {
    let content = match redact(&content) {
        Cow::Owned(redacted) => redacted,
        Cow::Borrowed(_) => content,
    };
    let fits = most.holds(&content);
    if fits && content.len() <= share {
        return Bounded { content, whole: None };
    }
    let whole = match spill(&content, most.line, spill_dir, call_id) {
        Ok(path) => format!("the full text is in {}; page through it with read_file (offset, limit)", path.display()),
        Err(error) => format!("the full text could not be saved: {error}"),
    };
    let content = if fits { content } else { fit(&content, most, &whole) };
    Bounded { content, whole: Some(whole) }
}

/// Texts of a JSON object that are shortened before the object is given up as one.
const TEXTS: usize = 8;

/// What of `content` fits. In a JSON object the longest texts are shortened, so that it stays one.
fn fit(content: &str, most: &Most, whole: &str) -> String {
    let text = |content: &str| Digest::of(Source { head: content, tail: None }, most).text(whole);
    let Ok(mut value @ Value::Object(_)) = serde_json::from_str(content) else { return text(content) };
    for _ in 0..TEXTS {
        let written = value.to_string();
        if most.holds(&written) {
            return written;
        }
        let Some(longest) = longest(&mut value) else { break };
        // What the rest leaves, and a third where the rest is long too: its turn comes. Escapes count for the object only.
        let size = |text: &str| (tokens::weigh(text), text.chars().count());
        let (own, all, escaped) = (size(longest), size(&written), size(&Value::from(longest.as_str()).to_string()));
        let part = |most: usize, own: usize, all: usize, escaped: usize| {
            let room = most.saturating_sub(all.saturating_sub(escaped) + most / 50).max(most / 3);
            (room as u128 * own as u128 / escaped.max(1) as u128) as usize
        };
        let room = Most {
            tokens: part(most.tokens, own.0, all.0, escaped.0),
            chars: part(most.chars, own.1, all.1, escaped.1),
            line: most.line,
        };
        if room.tokens >= own.0 && room.chars >= own.1 || room.tokens < LEAST_TOKENS {
            break;
        }
        *longest = Digest::of(Source { head: longest, tail: None }, &room).text(whole);
    }
    // Many small parts: as lines they are cut where they can be read.
    text(&pages(&value))
}

/// A text of an object keeps at least this much.
const LEAST_TOKENS: usize = 200;

/// The longest text of a value.
fn longest(value: &mut Value) -> Option<&mut String> {
    match value {
        Value::String(text) => Some(text),
        Value::Array(values) => values.iter_mut().filter_map(longest).max_by_key(|text| text.len()),
        Value::Object(fields) => fields.values_mut().filter_map(longest).max_by_key(|text| text.len()),
        _ => None,
    }
}

/// The head and tail of a text of so many characters, `cap` of them, with a note of what is missing and where it is.
pub fn shorten(content: &str, cap: usize, chars: usize, whole: &str) -> String {
    let head = cap * HEAD_PERCENT / 100;
    let missing = chars.saturating_sub(cap);
    cut(content, head, cap - head, &format!("\n\n[… {missing} of {chars} characters left out; {whole} …]\n\n"))
}

/// The first `head` and last `tail` characters, rather at line ends, with `between` in the middle.
pub fn cut(text: &str, head: usize, tail: usize, between: &str) -> String {
    let at = |nth: usize| text.char_indices().nth(nth).map_or(text.len(), |(at, _)| at);
    let last =
        |nth: usize| if nth == 0 { text.len() } else { text.char_indices().nth_back(nth - 1).map_or(0, |(at, _)| at) };
    let (mut end, mut start) = (at(head), last(tail));
    if start <= end {
        return text.to_owned();
    }
    // A line end close to the cut is a better place for it.
    if let Some(newline) = text[..end].rfind('\n').filter(|newline| end - newline < 400) {
        end = newline + 1;
    }
    if let Some(newline) = text[start..].find('\n').filter(|newline| *newline < 400) {
        start += newline + 1;
    }
    format!("{}{between}{}", &text[..end], &text[start..])
}

/// Keeps all of a result in a file of its own (mode 0600): text as it is, a JSON object field by field.
fn spill(content: &str, line: usize, folder: &Path, call_id: &str) -> io::Result<PathBuf> {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
    let name: String = call_id.chars().map(safe).take(100).collect();
    let (file, path) = create_new(&folder.join(format!("{}.txt", name.trim_start_matches('.'))))?;
    let text = match serde_json::from_str::<Value>(content) {
        Ok(value @ Value::Object(_)) => Cow::Owned(pages(&value)),
        _ => Cow::Borrowed(content),
    };
    write_lines(file, &text, line).map(|()| path)
}

/// Writes a text with its lines broken after so many characters: `read_file` shows no more of one.
pub(crate) fn write_lines(file: File, text: &str, most: usize) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        while let Some((at, _)) = rest.char_indices().nth(most.max(1)).filter(|(at, _)| *at < rest.len() - 1) {
            out.write_all(&rest.as_bytes()[..at])?;
            out.write_all(b"\n")?;
            rest = &rest[at..];
        }
        out.write_all(rest.as_bytes())?;
    }
    out.flush()
}

/// A new file that only the user reads, in a folder that is made when missing. Some servers number the calls of every
/// reply from 0: a name that is taken gets a suffix, and what was kept under it stays.
pub(crate) fn create_new(path: &Path) -> io::Result<(File, PathBuf)> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let open = |path: &Path| File::options().write(true).create_new(true).mode(0o600).open(path);
    let mut taken = path.to_owned();
    loop {
        match open(&taken) {
            Ok(file) => return Ok((file, taken)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = suffixed(path),
            Err(error) => return Err(error),
        }
    }
}

/// `call_0.txt` as `call_0-1f3a9c.txt`.
pub(crate) fn suffixed(path: &Path) -> PathBuf {
    let text = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let (stem, ending) = (text(path.file_stem()), text(path.extension()));
    path.with_file_name(format!("{stem}-{:06x}.{ending}", fastrand::u32(..1 << 24)))
}

/// A JSON object with its texts as lines instead of escapes.
fn pages(value: &Value) -> String {
    let mut out = String::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        // Writing to a string cannot fail.
        let _ = match value {
            Value::String(text) if text.contains('\n') => writeln!(out, "## {key}\n{text}"),
            Value::String(text) => writeln!(out, "{key}: {text}"),
            value => writeln!(out, "{key}: {value:#}"),
        };
    }
    out
}

static TAGS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = "tool_call|function_call|result|response|output|input|system|assistant|user";
    Regex::new(&format!(r"(?i)</?(?:{names})(?:\s[^>]*)?>|<!\[CDATA\[|\]\]>|```[a-zA-Z]*\n?")).ok()
});

/// An error without what could pass for a part of the conversation, at most 2,000 characters.
pub fn clean_error(message: &str) -> String {
    let cleaned = TAGS.as_ref().map_or(Cow::Borrowed(message), |tags| tags.replace_all(message, ""));
    match cleaned.char_indices().nth(ERROR_CHARS) {
        Some(_) => cleaned.chars().take(ERROR_CHARS - 3).chain("...".chars()).collect(),
        None => cleaned.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::os::unix::fs::MetadataExt;

    fn plain(text: &str) -> Cow<'_, str> {
        Cow::Borrowed(text)
    }

    fn most(tokens: usize) -> Most {
        Most { tokens, chars: 50_000, line: 2_000 }
    }

    fn bounded(text: String, tokens: usize, dir: &Path, id: &str, redact: fn(&str) -> Cow<'_, str>) -> String {
        bound(text, &most(tokens), usize::MAX, dir, id, redact).content
    }

    #[test]
    fn error_cases() {
        let cases = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/tool-error-sanitize.jsonl"));
        for row in cases.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            let want = row["result"].as_str().unwrap().strip_prefix("[TOOL_ERROR] ").unwrap();
            assert_eq!(clean_error(row["msg"].as_str().unwrap()), want);
        }
    }

    #[test]
    fn short_results_pass() {
        let dir = tempfile::tempdir().unwrap();
        let text = "ü".repeat(100);
        assert_eq!(bounded(text.clone(), 100, dir.path(), "c", plain), text);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        // Whole for now, but too large for its share: it is kept, since it may be shortened later.
        let kept = bound(text.clone(), &most(100), 50, dir.path(), "c", plain);
        assert_eq!((kept.content.as_str(), kept.whole.unwrap().contains("c.txt")), (text.as_str(), true));
        assert_eq!(std::fs::read_to_string(dir.path().join("c.txt")).unwrap(), text);
    }

    #[test]
    fn long_results_keep_head_and_tail_and_spill_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let text: String = (0..10_000).map(|i| format!("line {i}\n")).collect();
        let short = bounded(text.clone(), 4_000, &dir.path().join("deep"), "../call/1", plain);
        assert!(short.starts_with("line 0\n") && short.ends_with("line 9999\n"));
        assert!(short.contains("read_file") && tokens::weigh(&short) <= 4_000, "{}", tokens::weigh(&short));
        let path = dir.path().join("deep/_call_1.txt");
        assert!(short.contains(path.to_str().unwrap()), "{short}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let (head, tail) = short.split_once("... [").unwrap();
        let share = tokens::weigh(head) * 100 / tokens::weigh(&short);
        assert!((36..=42).contains(&share) && tail.len() > head.len(), "{share}");
    }

    proptest::proptest! {
        /// Head and tail of any text are parts of it, together no longer than asked for.
        #[test]
        fn any_text_is_cut(text in "(a|é|\n|🦀){0,60}", head in 0usize..40, tail in 0usize..40) {
            let short = cut(&text, head, tail, "|");
            if text.chars().count() <= head + tail {
                proptest::prop_assert_eq!(&short, &text);
            } else {
                let (start, end) = short.split_once('|').unwrap();
                proptest::prop_assert!(text.starts_with(start) && text.ends_with(end));
                proptest::prop_assert!(start.chars().count() <= head && end.chars().count() <= tail);
            }
            proptest::prop_assert!(clean_error(&text).chars().count() <= ERROR_CHARS);
        }
    }

    #[test]
    fn spilled_json_can_be_paged() {
        let dir = tempfile::tempdir().unwrap();
        let content = json!({"exit_code": 1, "output": format!("a\nb\n{}", "x".repeat(5_000))}).to_string();
        bounded(content, 300, dir.path(), "c", plain);
        let spilled = std::fs::read_to_string(dir.path().join("c.txt")).unwrap();
        assert!(spilled.starts_with("exit_code: 1\n## output\na\nb\nxxx"), "{spilled}");
        assert!(spilled.lines().all(|line| line.len() <= 2_000));
    }

    /// An object stays one: its longest texts lose their middle. One of many small parts is cut as lines.
    #[test]
    fn objects_stay_objects() {
        let dir = tempfile::tempdir().unwrap();
        let log: String =
            (0..5_000).map(|n| if n == 2_500 { "ERROR: x\n".into() } else { format!("step {n}\n") }).collect();
        let content =
            json!({"status": "exited", "output": log, "other": "y\n".repeat(3_000), "exit_code": 1}).to_string();
        let short = bounded(content, 2_000, dir.path(), "c", plain);
        let value: Value = serde_json::from_str(&short).unwrap();
        assert_eq!((&value["status"], &value["exit_code"]), (&json!("exited"), &json!(1)));
        assert!(value["output"].as_str().unwrap().contains("2501: ERROR: x"), "{short}");
        assert!(tokens::weigh(&short) <= 2_000 && short.contains("c.txt"), "{short}");
        let many: Vec<Value> = (0..3_000).map(|n| json!({"path": format!("src/a{n}.rs"), "line": n})).collect();
        let short = bounded(json!({"matches": many}).to_string(), 2_000, dir.path(), "d", plain);
        assert!(
            tokens::weigh(&short) <= 2_000 && short.contains("src/a0.rs") && short.contains("src/a2999.rs"),
            "{short}"
        );
    }

    #[test]
    fn secrets_do_not_reach_the_spill_file() {
        fn mask(text: &str) -> Cow<'_, str> {
            Cow::Owned(text.replace("secret", "***"))
        }
        let dir = tempfile::tempdir().unwrap();
        let short = bounded("secret \n".repeat(1_000), 150, dir.path(), "c", mask);
        assert!(!short.contains("secret"));
        assert!(!std::fs::read_to_string(dir.path().join("c.txt")).unwrap().contains("secret"));
    }

    #[test]
    fn a_call_id_that_comes_again_spoils_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("deep");
        let paths = ["a", "b"].map(|text| spill(&text.repeat(9), 2_000, &folder, "call_0").unwrap());
        assert_eq!(paths.clone().map(|path| std::fs::read_to_string(path).unwrap()), ["a".repeat(9), "b".repeat(9)]);
        assert!(paths.iter().all(|path| std::fs::metadata(path).unwrap().mode() & 0o777 == 0o600));
        assert_eq!(std::fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_failed_spill_is_told() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("wall"), "").unwrap();
        let short = bounded("x y ".repeat(2_000), 200, &dir.path().join("wall"), "c", plain);
        assert!(short.contains("could not be saved"), "{short}");
    }
}
