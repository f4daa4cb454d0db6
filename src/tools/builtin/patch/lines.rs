//! Lines of a text by number, and the byte range of a run of them.

use std::ops::Range;

/// A text cut at `\n`. A text that ends in `\n` has an empty last line, so that joining gives it back.
pub struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// Cuts `text`.
    pub fn new(text: &'a str) -> Self {
        let starts = std::iter::once(0).chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1)).collect();
        Self { text, starts }
    }

    /// At least 1.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Line `index` without its `\n`.
    pub fn get(&self, index: usize) -> &'a str {
        &self.text[self.range(index, 1)]
    }

    /// All lines in order.
    pub fn iter(&self) -> impl Iterator<Item = &'a str> + '_ {
        (0..self.len()).map(|index| self.get(index))
    }

    /// Bytes of `count` lines from `first`, without the last one's `\n`.
    pub fn range(&self, first: usize, count: usize) -> Range<usize> {
        let end = self.starts.get(first + count).map_or(self.text.len(), |next| next - 1);
        self.starts[first]..end
    }

    /// The line that holds byte `at`.
    pub fn number_at(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at) - 1
    }
}

/// The whitespace that a line begins with.
pub fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}
