//! Where text came from: spans of a nested or cleaned text, told in bytes of the command as it was written.

use std::ops::Range;
use std::rc::Rc;

/// Maps bytes of a text that is read to bytes of the original command.
#[derive(Clone, Debug)]
pub enum Origin {
    /// The text is a slice that starts here.
    Offset(usize),
    /// One original byte offset per byte, and one for the end.
    Table(Rc<[usize]>),
    /// Derived: all of it stands for these bytes.
    Fixed(Range<usize>),
}

impl Origin {
    /// The original bytes of a span of the text.
    pub fn span(&self, span: Range<usize>) -> Range<usize> {
        match self {
            Origin::Offset(from) => span.start + from..span.end + from,
            Origin::Table(table) => {
                let last = table.last().copied().unwrap_or(0);
                let at = |i: usize| table.get(i).copied().unwrap_or(last);
                at(span.start)..at(span.end).max(at(span.start))
            }
            Origin::Fixed(range) => range.clone(),
        }
    }

    /// The origin of `text` that was read from the original bytes `span`: exact where they hold it verbatim.
    pub fn nested(original: &str, span: &Range<usize>, text: &str) -> Origin {
        match original.get(span.clone()).and_then(|slice| slice.find(text)) {
            Some(at) if !text.is_empty() => Origin::Offset(span.start + at),
            _ => Origin::Fixed(span.clone()),
        }
    }
}

impl Origin {
    /// The origin of a slice of the text.
    pub fn slice(&self, span: Range<usize>) -> Origin {
        match self {
            Origin::Offset(from) => Origin::Offset(from + span.start),
            Origin::Table(table) => {
                let end = (span.end + 1).min(table.len());
                Origin::Table(table.get(span.start..end).unwrap_or_default().into())
            }
            Origin::Fixed(range) => Origin::Fixed(range.clone()),
        }
    }
}
