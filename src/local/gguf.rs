//! The header of a model's file (GGUF): what it is, and what its window costs. Only the header is read, within bounds.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

/// Bytes of the header that are read at most: vocabularies are in it.
const MOST: u64 = 64 << 20;
/// Bytes of one text.
const TEXT: u64 = 1 << 20;
/// Entries, and elements of one list.
const ENTRIES: u64 = 10_000_000;

/// What a model's file says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// `qwen2`, `llama`, `gpt-oss`.
    pub architecture: String,
    pub name: String,
    /// As its card says it, where the file repeats that.
    pub licence: String,
    /// Tokens that it was trained for.
    pub context: u64,
    pub layers: u64,
    /// Heads that keep keys and values.
    pub heads: u64,
    /// Numbers in a key and a value together.
    pub head_size: u64,
    /// Whether a template for conversations is in it.
    pub template: bool,
}

/// Why a file is no model that can be served.
#[derive(Debug, thiserror::Error)]
pub enum HeaderError {
    #[error("not a model in the GGUF format")]
    NotGguf,
    #[error("damaged or cut off: {0}")]
    Damaged(String),
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Header {
    /// Reads the header of a file. Blocks.
    ///
    /// # Errors
    /// It can't be read, or is no such file.
    pub fn of(file: &Path) -> Result<Self, HeaderError> {
        read(BufReader::new(File::open(file)?))
    }

    /// Bytes of memory that a token in the window costs; `None` where the file does not tell.
    pub fn bytes_per_token(&self) -> Option<u64> {
        // Two bytes a number.
        let bytes = self.layers.checked_mul(self.heads)?.checked_mul(self.head_size)?.checked_mul(2)?;
        (bytes > 0).then_some(bytes)
    }
}

struct Reader<R>(io::Take<R>);

impl<R: Read> Reader<R> {
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], HeaderError> {
        let mut bytes = [0; N];
        self.0.read_exact(&mut bytes).map_err(|_| HeaderError::Damaged("its header ends early".into()))?;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32, HeaderError> {
        Ok(u32::from_le_bytes(self.bytes()?))
    }

    fn u64(&mut self) -> Result<u64, HeaderError> {
        Ok(u64::from_le_bytes(self.bytes()?))
    }

    fn text(&mut self) -> Result<String, HeaderError> {
        let length = self.u64()?;
        if length > TEXT {
            return Err(HeaderError::Damaged(format!("a text of {length} bytes in its header")));
        }
        let mut bytes = vec![0; length as usize];
        self.0.read_exact(&mut bytes).map_err(|_| HeaderError::Damaged("its header ends early".into()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A value of a type by its number, as far as it is of use: numbers and texts.
    fn value(&mut self, kind: u32) -> Result<Value, HeaderError> {
        Ok(match kind {
            0 | 7 => Value::Number(u64::from(self.bytes::<1>()?[0])),
            1 => Value::Number(i8::from_le_bytes(self.bytes()?).max(0) as u64),
            2 => Value::Number(u64::from(u16::from_le_bytes(self.bytes()?))),
            3 => Value::Number(i16::from_le_bytes(self.bytes()?).max(0) as u64),
            4 => Value::Number(u64::from(self.u32()?)),
            5 => Value::Number(i32::from_le_bytes(self.bytes()?).max(0) as u64),
            6 => {
                self.bytes::<4>()?;
                Value::Other
            }
            8 => Value::Text(self.text()?),
            9 => self.list()?,
            10 => Value::Number(self.u64()?),
            11 => Value::Number(i64::from_le_bytes(self.bytes()?).max(0) as u64),
            12 => {
                self.bytes::<8>()?;
                Value::Other
            }
            other => return Err(HeaderError::Damaged(format!("a value of unknown type {other} in its header"))),
        })
    }

    /// A list; of its numbers the largest is of use: some models have another number of heads in each layer.
    fn list(&mut self) -> Result<Value, HeaderError> {
        let (kind, count) = (self.u32()?, self.u64()?);
        if count > ENTRIES || kind == 9 {
            return Err(HeaderError::Damaged(format!("a list of {count} values in its header")));
        }
        let mut most = Value::Other;
        // A vocabulary has hundreds of thousands of texts: they are passed over.
        if kind == 8 {
            for _ in 0..count {
                let length = self.u64()?;
                let passed = io::copy(&mut self.0.by_ref().take(length), &mut io::sink())?;
                if passed < length {
                    return Err(HeaderError::Damaged("its header ends early".into()));
                }
            }
            return Ok(most);
        }
        for _ in 0..count {
            if let (Value::Number(number), known) = (self.value(kind)?, &most)
                && !matches!(known, Value::Number(known) if *known >= number)
            {
                most = Value::Number(number);
            }
        }
        Ok(most)
    }
}

enum Value {
    Number(u64),
    Text(String),
    Other,
}

fn read(reader: impl Read) -> Result<Header, HeaderError> {
    let mut reader = Reader(reader.take(MOST));
    if reader.bytes::<4>().map_err(|_| HeaderError::NotGguf)? != *b"GGUF" {
        return Err(HeaderError::NotGguf);
    }
    let version = reader.u32()?;
    if !(2..=3).contains(&version) {
        return Err(HeaderError::Damaged(format!("version {version} of the format is not supported")));
    }
    let (_tensors, entries) = (reader.u64()?, reader.u64()?);
    if entries > ENTRIES {
        return Err(HeaderError::Damaged(format!("{entries} entries in its header")));
    }
    let (mut header, mut size) = (Header::default(), Sizes::default());
    for _ in 0..entries {
        let key = reader.text()?;
        let kind = reader.u32()?;
        match reader.value(kind)? {
            Value::Text(text) => header.text(&key, text),
            Value::Number(number) => size.number(&key, number),
            Value::Other => {}
        }
    }
    size.settle(&mut header);
    Ok(header)
}

impl Header {
    fn text(&mut self, key: &str, text: String) {
        match key {
            "general.architecture" => self.architecture = text,
            "general.name" => self.name = text,
            "general.license" => self.licence = text,
            "tokenizer.chat_template" => self.template = !text.is_empty(),
            _ => {}
        }
    }
}

/// Numbers by the end of their names: the start is the architecture's.
#[derive(Default)]
struct Sizes {
    context: u64,
    layers: u64,
    heads: u64,
    heads_kv: u64,
    key: u64,
    value: u64,
    width: u64,
}

impl Sizes {
    fn number(&mut self, key: &str, number: u64) {
        let Some((_, name)) = key.split_once('.') else { return };
        match name {
            "context_length" => self.context = number,
            "block_count" => self.layers = number,
            "attention.head_count" => self.heads = number,
            "attention.head_count_kv" => self.heads_kv = number,
            "attention.key_length" => self.key = number,
            "attention.value_length" => self.value = number,
            "embedding_length" => self.width = number,
            _ => {}
        }
    }

    fn settle(self, header: &mut Header) {
        let each = self.width.checked_div(self.heads).unwrap_or_default();
        let or = |number: u64, other: u64| if number > 0 { number } else { other };
        header.context = self.context;
        header.layers = self.layers;
        header.heads = or(self.heads_kv, self.heads);
        header.head_size = or(self.key, each).saturating_add(or(self.value, each));
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A header with these entries.
    pub(in crate::local) fn file(entries: &[(&str, Entry)]) -> Vec<u8> {
        let mut out = b"GGUF".to_vec();
        out.extend(3u32.to_le_bytes());
        out.extend(0u64.to_le_bytes());
        out.extend((entries.len() as u64).to_le_bytes());
        for (key, entry) in entries {
            out.extend((key.len() as u64).to_le_bytes());
            out.extend(key.as_bytes());
            match entry {
                Entry::Text(text) => {
                    out.extend(8u32.to_le_bytes());
                    out.extend((text.len() as u64).to_le_bytes());
                    out.extend(text.as_bytes());
                }
                Entry::Number(number) => {
                    out.extend(4u32.to_le_bytes());
                    out.extend(number.to_le_bytes());
                }
                Entry::List(numbers) => {
                    out.extend(9u32.to_le_bytes());
                    out.extend(5u32.to_le_bytes());
                    out.extend((numbers.len() as u64).to_le_bytes());
                    numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
                }
            }
        }
        out
    }

    pub(in crate::local) enum Entry {
        Text(&'static str),
        Number(u32),
        List(Vec<i32>),
    }

    fn qwen() -> Vec<u8> {
        file(&[
            ("general.architecture", Entry::Text("qwen2")),
            ("general.license", Entry::Text("apache-2.0")),
            ("tokenizer.ggml.tokens", Entry::List(vec![1, 2, 3])),
            ("qwen2.block_count", Entry::Number(24)),
            ("qwen2.context_length", Entry::Number(32_768)),
            ("qwen2.embedding_length", Entry::Number(896)),
            ("qwen2.attention.head_count", Entry::Number(14)),
            ("qwen2.attention.head_count_kv", Entry::Number(2)),
            ("tokenizer.chat_template", Entry::Text("{{ x }}")),
        ])
    }

    #[test]
    fn what_a_window_costs_follows_from_the_header() {
        let header = read(&qwen()[..]).unwrap();
        assert_eq!((header.architecture.as_str(), header.licence.as_str()), ("qwen2", "apache-2.0"));
        assert_eq!((header.context, header.template), (32_768, true));
        assert_eq!(header.bytes_per_token(), Some(24 * 2 * (64 + 64) * 2));
    }

    #[test]
    fn heads_may_differ_by_layer() {
        let bytes = file(&[
            ("a.block_count", Entry::Number(2)),
            ("a.attention.head_count_kv", Entry::List(vec![0, 8, 4])),
            ("a.attention.key_length", Entry::Number(16)),
            ("a.attention.value_length", Entry::Number(16)),
        ]);
        assert_eq!(read(&bytes[..]).unwrap().bytes_per_token(), Some(2 * 8 * 32 * 2));
    }

    #[test]
    fn whatever_is_cut_off_or_changed_is_an_error_and_never_a_panic() {
        let whole = qwen();
        for end in 0..whole.len() {
            assert!(read(&whole[..end]).is_err(), "{end}");
        }
        for at in 0..whole.len() {
            for value in [0, 1, 9, 0x7f, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] = value;
                let _ = read(&bytes[..]);
            }
        }
        assert!(matches!(read(&b"<html>"[..]), Err(HeaderError::NotGguf)));
        assert!(matches!(read(&b""[..]), Err(HeaderError::NotGguf)));
    }
}
