//! How the characters of a text file are stored, so that it can be read, and written back as it was.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{EncoderResult, UTF_16BE, UTF_16LE};
use std::borrow::Cow;

/// The encoding of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// And what is neither UTF-8 nor anything that is known.
    #[default]
    Utf8,
    /// With a byte order mark, which is not part of the text.
    Utf16(Order),
    /// One of those from before Unicode, like windows-1252 (Latin-1) or Shift_JIS. The text is the whole of its bytes.
    Legacy(&'static encoding_rs::Encoding),
}

/// The byte that comes first in UTF-16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Little,
    Big,
}

impl Encoding {
    /// The encoding that the byte order mark names, if it is one of UTF-16. `head`: the first bytes of a file.
    pub fn marked(head: &[u8]) -> Option<Self> {
        match head {
            [0xFF, 0xFE, ..] => Some(Self::Utf16(Order::Little)),
            [0xFE, 0xFF, ..] => Some(Self::Utf16(Order::Big)),
            _ => None,
        }
    }

    /// The encoding of all these bytes. One from before Unicode is a guess, and taken only where it gives the bytes back.
    pub fn of(bytes: &[u8]) -> Self {
        if let Some(marked) = Self::marked(bytes) {
            return marked;
        }
        if bytes.contains(&0) || std::str::from_utf8(bytes).is_ok() {
            return Self::Utf8;
        }
        if bytes.starts_with(b"\xEF\xBB\xBF") {
            return Self::Utf8;
        }
        // Some stray bytes among characters of UTF-8 are damage, no other encoding.
        let count = |sum: (usize, usize), chunk: std::str::Utf8Chunk<'_>| {
            let characters = chunk.valid().chars().filter(|c| !c.is_ascii()).count();
            (sum.0 + characters, sum.1 + chunk.invalid().len())
        };
        let (characters, stray) = bytes.utf8_chunks().fold((0, 0), count);
        if characters >= stray {
            return Self::Utf8;
        }
        let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
        detector.feed(bytes, true);
        let guess = Self::Legacy(detector.guess(None, Utf8Detection::Deny));
        let same = guess.decode(bytes).and_then(|text| guess.encode(&text).ok()).is_some_and(|again| again == bytes);
        if same { guess } else { Self::Utf8 }
    }

    /// As programs call it, `UTF-16LE`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf16(Order::Little) => UTF_16LE.name(),
            Self::Utf16(Order::Big) => UTF_16BE.name(),
            Self::Legacy(encoding) => encoding.name(),
        }
    }

    /// The text of these bytes; `None` when they are not in this encoding.
    pub fn decode(self, bytes: &[u8]) -> Option<Cow<'_, str>> {
        let whole = |encoding: &'static encoding_rs::Encoding, bytes| {
            encoding.decode_without_bom_handling_and_without_replacement(bytes)
        };
        match self {
            Self::Utf8 => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Self::Utf16(Order::Little) => whole(UTF_16LE, bytes.strip_prefix(b"\xFF\xFE")?),
            Self::Utf16(Order::Big) => whole(UTF_16BE, bytes.strip_prefix(b"\xFE\xFF")?),
            Self::Legacy(encoding) => whole(encoding, bytes),
        }
    }

    /// The bytes of a text; `Err` with the first character that this encoding does not have.
    pub fn encode(self, text: &str) -> Result<Vec<u8>, char> {
        match self {
            Self::Utf8 => Ok(text.as_bytes().to_vec()),
            Self::Utf16(order) => {
                let bytes = |unit: u16| match order {
                    Order::Little => unit.to_le_bytes(),
                    Order::Big => unit.to_be_bytes(),
                };
                Ok(std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(bytes).collect())
            }
            Self::Legacy(encoding) => {
                let mut encoder = encoding.new_encoder();
                let room = encoder.max_buffer_length_from_utf8_without_replacement(text.len());
                let mut bytes = Vec::with_capacity(room.unwrap_or_default());
                match encoder.encode_from_utf8_to_vec_without_replacement(text, &mut bytes, true).0 {
                    EncoderResult::Unmappable(missing) => Err(missing),
                    EncoderResult::InputEmpty | EncoderResult::OutputFull => Ok(bytes),
                }
            }
        }
    }

    /// The text to show of what should be in this encoding, with `�` for what is not; `None` when it is binary.
    pub fn show(self, bytes: &[u8]) -> Option<Cow<'_, str>> {
        match self.decode(bytes) {
            Some(text) if text.contains('\0') => None,
            Some(text) => Some(text),
            None if bytes.contains(&0) => None,
            None => Some(String::from_utf8_lossy(bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_and_given_back() {
        let german = "Größe der Tür: 3 m, für alle Häuser\n";
        let japanese = "これは日本語の文章です。とても短い。\n";
        let (latin, _, _) = encoding_rs::WINDOWS_1252.encode(german);
        let (shift, _, _) = encoding_rs::SHIFT_JIS.encode(japanese);
        let little = Encoding::Utf16(Order::Little).encode("a😀ü\n").unwrap();
        let big = Encoding::Utf16(Order::Big).encode("a😀ü\n").unwrap();
        for (bytes, name, text) in [
            (latin.as_ref(), "windows-1252", german),
            (shift.as_ref(), "Shift_JIS", japanese),
            (&little, "UTF-16LE", "a😀ü\n"),
            (&big, "UTF-16BE", "a😀ü\n"),
            ("plain ü\n".as_bytes(), "UTF-8", "plain ü\n"),
        ] {
            let found = Encoding::of(bytes);
            assert_eq!((found.name(), found.decode(bytes).as_deref()), (name, Some(text)));
            assert_eq!(found.encode(text).as_deref(), Ok(bytes), "{name}");
        }
        assert_eq!(Encoding::of("ü and \u{e9}".as_bytes()), Encoding::Utf8);
        assert_eq!(Encoding::of(b"\xC3\xBC and \xE9"), Encoding::Utf8, "damage is no other encoding");
        assert_eq!(Encoding::of(b"\xEF\xBB\xBFcaf\xE9 cr\xE8me"), Encoding::Utf8, "its mark says so");
        assert_eq!(Encoding::of(b"\xE9\0"), Encoding::Utf8, "nor is a binary file");
    }

    #[test]
    fn what_an_encoding_does_not_have_is_named() {
        assert_eq!(Encoding::Legacy(encoding_rs::WINDOWS_1252).encode("é → x"), Err('→'));
        assert_eq!(Encoding::Utf16(Order::Little).decode(b"\xFF\xFEa"), None, "half a character");
    }
}
