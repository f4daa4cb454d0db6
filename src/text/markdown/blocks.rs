//! Rows of blocks: paragraphs, code, what stands before them and between them.

use super::{Container, READING_WIDTH, Writer};
use crate::text::wrap::{GOES_ON, Joint, Row, Wrap, spans_width, wrap_into};
use crate::text::{Ground, Line, Role, Span};

impl Writer<'_> {
    pub(super) fn new_table_row(&mut self) {
        if let Some(table) = &mut self.table {
            table.rows.push(Vec::new());
        }
    }

    /// Ends a line inside a paragraph.
    pub(super) fn line_break(&mut self) {
        self.flush();
    }

    /// Lays out the collected inline text as one line.
    pub(super) fn flush(&mut self) {
        if self.inline.is_empty() {
            return;
        }
        let spans = std::mem::take(&mut self.inline);
        self.separate();
        let first = self.prefix();
        let rest = self.prefix();
        let width = self.width.min(READING_WIDTH.max(spans_width(&first) + 1));
        wrap_into(
            &mut self.rows,
            &spans,
            Ground::Base,
            &Wrap { width, first: &first, rest: &rest, verbatim: false, ..Wrap::default() },
        );
        self.gap = false;
    }

    pub(super) fn code_block(&mut self) {
        let Some((lang, code)) = self.block.take() else { return };
        self.separate();
        let ground = Ground::Raised;
        let pad = || Span::new("  ", Role::Text);
        if !lang.is_empty() {
            let mut spans = self.prefix();
            spans.extend([pad(), Span::new(lang.clone(), Role::Dim)]);
            self.rows.push(Row::ornament(Line { spans, ground }));
        }
        let prefix = [self.prefix(), vec![pad()]].concat();
        let next = [self.prefix(), vec![pad()]].concat();
        let rest = [self.prefix(), vec![Span::new(GOES_ON, Role::Dim)]].concat();
        let width = self.width;
        let lines = self.code.lines(&lang, &code);
        for (index, line) in lines.iter().enumerate() {
            let first = if index == 0 { &prefix } else { &next };
            wrap_into(
                &mut self.rows,
                line,
                ground,
                &Wrap { width, first, rest: &rest, verbatim: true, ..Wrap::default() },
            );
        }
        if lines.is_empty() {
            wrap_into(
                &mut self.rows,
                &[],
                ground,
                &Wrap { width, first: &prefix, rest: &rest, verbatim: true, ..Wrap::default() },
            );
        }
        self.gap = true;
    }

    pub(super) fn block_row(&mut self, spans: Vec<Span>, joint: Joint) {
        self.separate();
        let mut all = self.prefix();
        let lead = spans_width(&all) as u16;
        all.extend(spans);
        self.rows.push(Row { line: Line { spans: all, ground: Ground::Base }, lead, joint, ..Row::default() });
    }

    /// The blank row that is due, with the bars of the quotes it stands in.
    pub(super) fn separate(&mut self) {
        if std::mem::take(&mut self.gap) && !self.rows.is_empty() {
            let mut spans = Vec::new();
            let last = self.containers.iter().rposition(|container| matches!(container, Container::Quote));
            for container in self.containers.iter().take(last.map_or(0, |last| last + 1)) {
                spans.push(match container {
                    Container::Quote => Span::new("│ ", Role::Quote),
                    Container::Item { width, .. } => Span::new(" ".repeat(*width), Role::Text),
                });
            }
            let lead = spans_width(&spans) as u16;
            self.rows.push(Row { line: Line { spans, ground: Ground::Base }, lead, ..Row::default() });
        }
    }

    /// What stands before the next row. Takes the bullets that are not yet drawn.
    pub(super) fn prefix(&mut self) -> Vec<Span> {
        self.containers
            .iter_mut()
            .map(|container| match container {
                Container::Quote => Span::new("│ ", Role::Quote),
                Container::Item { bullet, width } => {
                    bullet.take().unwrap_or_else(|| Span::new(" ".repeat(*width), Role::Text))
                }
            })
            .collect()
    }

    pub(super) fn indent(&self) -> usize {
        self.containers
            .iter()
            .map(|container| match container {
                Container::Quote => 2,
                Container::Item { width, .. } => *width,
            })
            .sum()
    }
}
