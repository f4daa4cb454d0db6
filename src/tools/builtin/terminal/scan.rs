//! Where the shell's own words are in a line: everything quoted, commented or in a here-document is masked.
//!
//! For guidance and display only. Whether a command may run is judged by a parser, elsewhere.

/// `line` with every byte that is text rather than syntax replaced by `_` (comments by blanks). ASCII, same length in
/// bytes, so that positions fit both.
pub(crate) fn mask(line: &str) -> String {
    let bytes = line.as_bytes();
    let mut out: Vec<u8> = Vec::with_capacity(bytes.len());
    let mut documents: Vec<(String, bool)> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &line.as_bytes()[at..];
        let count = match bytes[at] {
            b'\\' => 2.min(rest.len()),
            b'\'' => quoted(rest, b'\'', false),
            b'"' => quoted(rest, b'"', true),
            b'$' if rest.get(1) == Some(&b'\'') => 1 + quoted(&rest[1..], b'\'', true),
            b'#' if at == 0 || matches!(bytes[at - 1], b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(') => {
                let count = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
                out.resize(out.len() + count, b' ');
                at += count;
                continue;
            }
            b'<' if rest.starts_with(b"<<") && !rest.starts_with(b"<<<") => {
                let (document, count) = delimiter(rest);
                documents.extend(document);
                out.extend(b"<<");
                out.resize(out.len() + count - 2, b'_');
                at += count;
                continue;
            }
            b'\n' if !documents.is_empty() => {
                out.push(b'\n');
                at += 1;
                let body = bodies(&bytes[at..], &documents);
                documents.clear();
                out.resize(out.len() + body, b'_');
                at += body;
                continue;
            }
            b => {
                out.push(if b.is_ascii() { b } else { b'_' });
                at += 1;
                continue;
            }
        };
        out.resize(out.len() + count, b'_');
        at += count;
    }
    String::from_utf8(out).unwrap_or_default()
}

/// Length of a quoted part, both quotes included; an open one takes the rest.
fn quoted(bytes: &[u8], quote: u8, escapes: bool) -> usize {
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if escapes => at += 1,
            b if b == quote => return at + 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// The word after `<<` or `<<-` (and whether tabs before the end are dropped), and the length of all of it.
fn delimiter(bytes: &[u8]) -> (Option<(String, bool)>, usize) {
    let dash = bytes.get(2) == Some(&b'-');
    let mut at = 2 + usize::from(dash);
    while matches!(bytes.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    let start = at;
    while at < bytes.len()
        && !matches!(bytes[at], b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')')
    {
        at += 1;
    }
    let word: String = String::from_utf8_lossy(&bytes[start..at]).replace(['\'', '"', '\\'], "");
    ((!word.is_empty()).then_some((word, dash)), at)
}

/// Bytes of the here-document bodies that begin at `bytes`, their end lines included but not the last line feed.
fn bodies(bytes: &[u8], documents: &[(String, bool)]) -> usize {
    let mut at = 0;
    for (word, dash) in documents {
        loop {
            if at >= bytes.len() {
                return bytes.len();
            }
            let end = bytes[at..].iter().position(|&b| b == b'\n').map_or(bytes.len(), |n| at + n);
            let line = String::from_utf8_lossy(&bytes[at..end]);
            let line = if *dash { line.trim_start_matches('\t') } else { &line };
            let last = line == word;
            at = (end + 1).min(bytes.len());
            if last {
                break;
            }
        }
    }
    // The line feed after the last end line separates commands again.
    if at > 0 && bytes.get(at - 1) == Some(&b'\n') { at - 1 } else { at }
}

/// A simple command or pipeline of a line, and the operator before it (empty for the first).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment<'a> {
    pub(crate) operator: &'a str,
    pub(crate) text: &'a str,
    pub(crate) masked: &'a str,
}

/// Splits at `&&`, `||`, `;`, `&`, line feeds and, when asked, `|`.
pub(crate) fn segments<'a>(line: &'a str, masked: &'a str, pipes: bool) -> Vec<Segment<'a>> {
    let bytes = masked.as_bytes();
    let mut found = Vec::new();
    let (mut start, mut operator, mut at) = (0, "", 0);
    while at < bytes.len() {
        let next = bytes.get(at + 1).copied();
        let width = match bytes[at] {
            b'&' if next == Some(b'&') => 2,
            b'|' if next == Some(b'|') => 2,
            b'&' if is_background(bytes, at) => 1,
            b'|' if pipes => 1 + usize::from(next == Some(b'&')),
            b';' | b'\n' => 1,
            _ => 0,
        };
        if width == 0 {
            at += 1;
            continue;
        }
        found.push(Segment { operator, text: &line[start..at], masked: &masked[start..at] });
        operator = &masked[at..at + width];
        at += width;
        start = at;
    }
    found.push(Segment { operator, text: &line[start..], masked: &masked[start..] });
    found.retain(|segment| !segment.masked.trim().is_empty());
    found
}

/// Whether the `&` at `at` sends a command to the background: not `&&`, `>&`, `<&`, `&>` or `|&`.
pub(crate) fn is_background(masked: &[u8], at: usize) -> bool {
    masked[at] == b'&'
        && !matches!(masked.get(at + 1), Some(b'&' | b'>'))
        && !(at > 0 && matches!(masked[at - 1], b'&' | b'>' | b'<' | b'|'))
}

/// The words of a segment without leading `NAME=value` and opening brackets.
pub(crate) fn words<'a>(segment: &Segment<'a>) -> Vec<&'a str> {
    let mut words = Vec::new();
    let mut at = 0;
    for masked in segment.masked.split([' ', '\t', '(', ')', '{', '}', '!']) {
        let word = &segment.text[at..at + masked.len()];
        at += masked.len() + 1;
        let assigns = masked
            .split_once('=')
            .is_some_and(|(name, _)| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
        if !masked.is_empty() && (!words.is_empty() || !assigns) {
            words.push(word);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_text_and_keeps_positions() {
        for (line, masked) in [
            ("a && b", "a && b"),
            ("echo 'a & b' &", "echo _______ &"),
            ("echo \"x\\\"&\" | y", "echo ______ | y"),
            ("x # c & d\ny", "x        \ny"),
            ("a\\&b", "a__b"),
            ("écho &", "__cho &"),
            ("cat <<EOF && b\nx & y\nEOF\nc", "cat <<___ && b\n_________\nc"),
            ("echo $'a\\'&'", "echo _______"),
            ("open 'quote", "open ______"),
        ] {
            assert_eq!(mask(line), masked, "{line}");
            assert_eq!(mask(line).len(), line.len());
        }
    }

    #[test]
    fn splits_and_finds_words() {
        let line = "A=1 B='x y' make -j2 | tail; (cd x && ls) 2>&1 &";
        let masked = mask(line);
        let parts = segments(line, &masked, true);
        let texts: Vec<_> = parts.iter().map(|s| (s.operator, s.text.trim())).collect();
        assert_eq!(texts, [("", "A=1 B='x y' make -j2"), ("|", "tail"), (";", "(cd x"), ("&&", "ls) 2>&1")]);
        assert_eq!(words(&parts[0]), ["make", "-j2"]);
        assert_eq!(words(&parts[2]), ["cd", "x"]);
    }

    proptest::proptest! {
        #[test]
        fn any_line_keeps_its_length(line in "[a&|;'\"\\\\<\nE #é$()-]{0,40}") {
            let masked = mask(&line);
            proptest::prop_assert_eq!(masked.len(), line.len());
            segments(&line, &masked, true);
        }
    }
}
