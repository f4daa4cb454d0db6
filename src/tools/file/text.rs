//! A file's text as tools edit it (no byte order mark, `\n` only) and back to exactly the bytes it had.

use super::encoding::Encoding;
use similar::{Algorithm, ChangeTag, TextDiff};
use std::borrow::Cow;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Bytes that are not UTF-8 become characters from here (a private-use plane), so that an edit elsewhere keeps them.
const ESCAPE: u32 = 0x10_FF00;

/// Decoded text that remembers how it was stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Text {
    /// Without byte order mark, lines ended by `\n`.
    pub text: String,
    encoding: Encoding,
    bom: bool,
    endings: Endings,
}

#[derive(Clone, Debug, Default, PartialEq)]
enum Endings {
    #[default]
    Lf,
    CrLf,
    /// For each line, whether it ended in `\r\n`.
    Mixed(Vec<bool>),
}

impl Text {
    /// Reads bytes; `Err` says why they are not text.
    pub fn decode(bytes: &[u8]) -> Result<Self, &'static str> {
        let encoding = Encoding::of(bytes);
        let bom = bytes.starts_with(BOM);
        let text = match encoding {
            Encoding::Utf8 if bytes.contains(&0) => return Err("it is a binary file"),
            Encoding::Utf8 => unescape_free(&bytes[if bom { BOM.len() } else { 0 }..])?,
            other => other.decode(bytes).filter(|text| !text.contains('\0')).ok_or("it is a binary file")?,
        };
        let has_cr = memchr::memchr(b'\r', text.as_bytes()).is_some();
        let crlf = if has_cr { text.matches("\r\n").count() } else { 0 };
        let lines = if has_cr { text.matches('\n').count() } else { 0 };
        let endings = match crlf {
            0 => Endings::Lf,
            n if n == lines => Endings::CrLf,
            _ => Endings::Mixed(text.split_inclusive('\n').map(|line| line.ends_with("\r\n")).collect()),
        };
        let text = if crlf == 0 { text.into_owned() } else { text.replace("\r\n", "\n") };
        Ok(Self { text, encoding, bom, endings })
    }

    /// The bytes of `new` stored as this file is: encoding, byte order mark and line endings kept, mixed ones line by line.
    ///
    /// # Errors
    /// A character that the encoding does not have.
    pub fn encode(&self, new: &str) -> Result<Vec<u8>, String> {
        let new = new.strip_prefix('\u{feff}').unwrap_or(new);
        let stored = match &self.endings {
            // Whoever writes `\r\n` over `\n` means it.
            Endings::Lf => Cow::Borrowed(new),
            Endings::CrLf => Cow::Owned(to_lf(new).replace('\n', "\r\n")),
            Endings::Mixed(crlf) => Cow::Owned(mixed(&self.text, crlf, &to_lf(new))),
        };
        if self.encoding != Encoding::Utf8 {
            let name = self.encoding.name();
            return self.encoding.encode(&stored).map_err(|missing| {
                format!("the file is {name} text, which cannot encode `{missing}`; write it differently, or convert the file with iconv first")
            });
        }
        let mut bytes = if self.bom { BOM.to_vec() } else { Vec::new() };
        if !has_escapes(stored.as_bytes()) {
            bytes.extend_from_slice(stored.as_bytes());
            return Ok(bytes);
        }
        for c in stored.chars() {
            match (c as u32).checked_sub(ESCAPE) {
                Some(byte @ 0x80..=0xFF) => bytes.push(byte as u8),
                _ => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        Ok(bytes)
    }
}

/// Whether there may be an escape character: their plane is the only one that begins with this byte.
fn has_escapes(bytes: &[u8]) -> bool {
    memchr::memchr(0xF4, bytes).is_some()
}

/// `\r\n` to `\n`.
pub fn to_lf(text: &str) -> Cow<'_, str> {
    if memchr::memchr(b'\r', text.as_bytes()).is_some() {
        Cow::Owned(text.replace("\r\n", "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// UTF-8 with each stray byte as one escape character.
fn unescape_free(bytes: &[u8]) -> Result<Cow<'_, str>, &'static str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let taken = has_escapes(bytes) && text.chars().any(|c| (ESCAPE..=ESCAPE + 0xFF).contains(&(c as u32)));
        return if taken { Err("it uses characters that are reserved here") } else { Ok(Cow::Borrowed(text)) };
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().filter_map(|byte| char::from_u32(ESCAPE + u32::from(*byte))));
    }
    Ok(Cow::Owned(text))
}

/// Unchanged lines keep their ending; a new line takes that of the line before it.
fn mixed(old: &str, crlf: &[bool], new: &str) -> String {
    let diff = TextDiff::configure().algorithm(Algorithm::Patience).diff_lines(old, new);
    let mut out = String::with_capacity(new.len() + crlf.len());
    let mut last = crlf.first().copied().unwrap_or(false);
    for change in diff.iter_all_changes() {
        let ending = change.old_index().and_then(|i| crlf.get(i).copied());
        last = ending.unwrap_or(last);
        if change.tag() != ChangeTag::Delete {
            match change.value().strip_suffix('\n') {
                Some(line) if last => out.extend([line, "\r\n"]),
                _ => out.push_str(change.value()),
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_round_trip() {
        for bytes in [
            &b""[..],
            b"a\nb",
            b"a\r\nb\r\n",
            b"\xEF\xBB\xBFa\r\n",
            b"a\r\nb\nc\r\nd",
            b"lone\rreturn\n",
            b"caf\xE9 \xFF\n",
            "ü😀\n".as_bytes(),
            b"\xC3\xBC and \xE9\n",
            b"\xFF\xFEa\0\r\0\n\0",
            b"\xFE\xFF\0a\0\n",
        ] {
            let text = Text::decode(bytes).unwrap();
            assert_eq!(text.encode(&text.text).unwrap(), bytes, "{bytes:?}");
        }
    }

    #[test]
    fn edits_keep_what_surrounds_them() {
        let mixed = Text::decode(b"a\r\nb\nc\r\n").unwrap();
        assert_eq!(mixed.encode("a\nnew\nb\nc\n").unwrap(), b"a\r\nnew\r\nb\nc\r\n");
        let latin = Text::decode(b"caf\xE9\nx\n").unwrap();
        assert_eq!(latin.encode(&latin.text.replace('x', "y")).unwrap(), b"caf\xE9\ny\n");
        assert!(latin.encode("→").unwrap_err().contains("cannot encode `→`"));
        let wide = Text::decode(b"\xFF\xFEa\0\r\0\n\0").unwrap();
        assert_eq!(wide.encode("b\n").unwrap(), b"\xFF\xFEb\0\r\0\n\0");
        let dos = Text::decode(b"\xEF\xBB\xBFa\r\n").unwrap();
        assert_eq!(dos.encode("\u{feff}b\r\nc\n").unwrap(), b"\xEF\xBB\xBFb\r\nc\r\n");
    }

    proptest::proptest! {
        #[test]
        fn any_text_round_trips(bytes in proptest::collection::vec(1..=255u8, 0..60)) {
            if let Ok(text) = Text::decode(&bytes) {
                proptest::prop_assert_eq!(text.encode(&text.text).unwrap(), bytes);
            }
        }
    }

    #[test]
    fn what_is_not_text_says_so() {
        assert!(Text::decode(b"a\0b").is_err());
        assert!(Text::decode(b"\xFF\xFEa").is_err(), "half a character");
        assert!(Text::decode(b"\xFF\xFEa\0\0\0").is_err(), "no text has a NUL");
    }
}
