//! Markdown that grows: only what may still change is parsed again.
//!
//! A top-level block is settled once a later block has begun with a whole line; nothing that follows can change it, but
//! for link definitions, which reach everywhere: with one of those the whole text is laid out each time.

use super::highlight::Highlighter;
use super::markdown::{Writer, options};
use super::wrap::Row;
use pulldown_cmark::{Event, Parser};

/// A growing text and its rows.
#[derive(Default)]
pub struct Stream {
    width: usize,
    /// The text so far, to notice when it is not a continuation.
    source: String,
    /// Bytes of settled blocks.
    settled: usize,
    rows: Vec<Row>,
    /// Rows of settled blocks, at the start of `rows`, and what they weigh: a frame must not count them all again.
    settled_rows: usize,
    settled_weight: usize,
    /// A link definition was seen.
    whole: bool,
    /// Bytes parsed since the start, for tests.
    parsed: usize,
}

impl Stream {
    /// The rows of `source` at `width`; cheap when `source` continues the text of the last call.
    pub fn update(&mut self, source: &str, width: usize, code: &mut Highlighter) -> &[Row] {
        if width != self.width || !source.starts_with(&self.source) {
            *self = Self { width, parsed: self.parsed, ..Self::default() };
        } else if source.len() == self.source.len() && !source.is_empty() {
            return &self.rows;
        }
        self.source.push_str(&source[self.source.len()..]);
        self.layout(code);
        &self.rows
    }

    /// The rows of the last update.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Gives up the text and keeps the rows: the text is finished.
    pub fn into_rows(self) -> Vec<Row> {
        self.rows
    }

    /// Bytes held, roughly.
    pub fn weight(&self) -> usize {
        let growing = self.rows.get(self.settled_rows..).unwrap_or_default();
        self.source.len() + self.settled_weight + super::wrap::weight(growing)
    }

    fn layout(&mut self, code: &mut Highlighter) {
        if self.whole {
            (self.settled, self.settled_rows, self.settled_weight) = (0, 0, 0);
        }
        self.rows.truncate(self.settled_rows);
        let tail = &self.source[self.settled..];
        self.parsed += tail.len();
        // Events of the tail, and the start of each top-level block among them.
        let mut events: Vec<Event<'_>> = Vec::new();
        let mut blocks: Vec<(usize, usize)> = Vec::new();
        let mut depth = 0usize;
        let parser = Parser::new_ext(tail, options());
        let defines = parser.reference_definitions().iter().next().is_some();
        for (event, range) in parser.into_offset_iter() {
            let outside = depth == 0;
            match event {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth = depth.saturating_sub(1),
                _ => {}
            }
            if outside {
                let line = tail[..range.start].rfind('\n').map_or(0, |at| at + 1);
                blocks.push((events.len(), line));
            }
            events.push(event);
        }
        self.whole |= defines;
        if defines && self.settled > 0 {
            drop(events);
            return self.layout(code);
        }
        // The last block whose first line is whole settles all before it.
        let settles = blocks.iter().skip(1).rfind(|(_, line)| tail[*line..].contains('\n')).copied();
        let settles = if self.whole { None } else { settles };
        let mut writer = Writer::new(self.width, code);
        for (index, event) in events.into_iter().enumerate() {
            if settles.is_some_and(|(first, _)| first == index) {
                join(&mut self.rows, writer.settle());
                let fresh = self.rows.get(self.settled_rows..).unwrap_or_default();
                self.settled_weight += super::wrap::weight(fresh);
                self.settled_rows = self.rows.len();
            }
            writer.event(event);
        }
        join(&mut self.rows, writer.finish());
        self.settled += settles.map_or(0, |(_, line)| line);
    }
}

/// Appends the rows of later blocks, one blank row apart.
fn join(rows: &mut Vec<Row>, mut later: Vec<Row>) {
    if !rows.is_empty() && !later.is_empty() {
        rows.push(Row::blank());
    }
    rows.append(&mut later);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::highlight;
    use crate::text::markdown::render;
    use proptest::prelude::*;

    const PIECES: &[&str] = &[
        "# Title\n",
        "plain words\n",
        "two  \nlines\n",
        "\n",
        "- item\n",
        "  - nested\n",
        "    continued\n",
        "1. one\n",
        "> quote\n",
        "```rust\nfn main() {}\n",
        "```\n",
        "~~~\n",
        "    indented\n",
        "| a | b |\n|---|---|\n",
        "| c | d |\n",
        "---\n",
        "===\n",
        "<div>\n",
        "<!-- note\n",
        "-->\n",
        "**bold** `code` [link](http://x.y)\n",
        "[foo] and\n",
        "日本語 text 💻\n",
        "- [x] done\n",
        "tail",
        "\ttab\n",
        "* star\n",
        "***\n",
    ];

    fn check(source: &str, cuts: &[usize], width: usize) {
        highlight::load();
        let mut code = Highlighter::default();
        let mut stream = Stream::default();
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (source.len() + 1)).collect();
        ends.push(source.len());
        ends.sort_unstable();
        for end in ends {
            if !source.is_char_boundary(end) {
                continue;
            }
            let part = &source[..end];
            let expected = render(part, width, &mut Highlighter::default());
            assert_eq!(stream.update(part, width, &mut code), expected, "{part:?}");
            assert_eq!(stream.weight(), part.len() + super::super::wrap::weight(stream.rows()), "{part:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn streamed_equals_whole(
            picks in proptest::collection::vec(0..PIECES.len(), 0..14),
            cuts in proptest::collection::vec(0usize..10_000, 0..12),
            width in 8usize..50,
        ) {
            let source: String = picks.iter().map(|pick| PIECES[*pick]).collect();
            check(&source, &cuts, width);
        }
    }

    #[test]
    fn definitions_reach_back() {
        let source = "see [foo]\n\nmore\n\n[foo]: http://x.y\n\nafter [foo]\n\nend\n";
        check(source, &(0..source.len()).collect::<Vec<_>>(), 40);
    }

    #[test]
    fn a_new_text_starts_over() {
        let mut code = Highlighter::default();
        let mut stream = Stream::default();
        stream.update("one\n\ntwo\n\nthree\n", 20, &mut code);
        let rows = stream.update("other\n", 20, &mut code);
        assert_eq!(rows.iter().map(|row| row.line.text()).collect::<Vec<_>>(), ["other"]);
    }

    #[test]
    fn only_the_tail_is_parsed_again() {
        let block = "A paragraph of some words that is long enough to be worth something.\n\n- item\n- item\n\n";
        let source = block.repeat(800);
        let mut code = Highlighter::default();
        let mut stream = Stream::default();
        let mut frames = 0;
        for end in (0..=source.len()).step_by(400) {
            stream.update(&source[..end], 80, &mut code);
            frames += 1;
        }
        assert!(stream.parsed < source.len() + frames * 400, "{} bytes parsed in {frames} frames", stream.parsed);
    }
}
