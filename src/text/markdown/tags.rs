//! What opens and closes: blocks, lists, tables, links.

use super::{Container, Writer};
use crate::text::table::{Align, Table};
use crate::text::wrap::{Joint, Row, spans_width};
use crate::text::{Line, Role, Span, width};
use pulldown_cmark::{Alignment, CodeBlockKind, Tag, TagEnd};
use std::sync::Arc;

impl Writer<'_> {
    pub(super) fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.flush();
                self.style.heading = Some(level as u8);
            }
            Tag::BlockQuote(_) => {
                self.flush();
                // The blank row before a quote stands outside it.
                self.separate();
                self.containers.push(Container::Quote);
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                let lang = match kind {
                    CodeBlockKind::Fenced(info) => info.split([' ', ',', '{']).next().unwrap_or_default().to_owned(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.block = Some((lang, String::new()));
            }
            Tag::HtmlBlock => {
                self.flush();
                self.html = Some(String::new());
            }
            Tag::List(first) => {
                self.flush();
                self.lists.push(first);
            }
            Tag::Item => {
                self.flush();
                let bullet = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let text = format!("{number}. ");
                        *number += 1;
                        Span::new(text, Role::Bullet)
                    }
                    _ => Span::new(if self.lists.len() > 1 { "◦ " } else { "• " }, Role::Bullet),
                };
                let width = width::width(&bullet.text);
                self.containers.push(Container::Item { bullet: Some(bullet), width });
            }
            Tag::Table(align) => {
                self.flush();
                let align = align
                    .into_iter()
                    .map(|align| match align {
                        Alignment::Right => Align::Right,
                        Alignment::Center => Align::Center,
                        Alignment::Left | Alignment::None => Align::Left,
                    })
                    .collect();
                self.table = Some(Table { align, rows: Vec::new() });
            }
            Tag::TableHead => {
                self.style.header = true;
                self.new_table_row();
            }
            Tag::TableRow => self.new_table_row(),
            Tag::Emphasis => self.style.emphasis += 1,
            Tag::Strong => self.style.strong += 1,
            Tag::Strikethrough => self.style.strike += 1,
            Tag::Link { dest_url, .. } => {
                self.style.link = Some(Arc::from(&*dest_url));
                self.style.link_from = self.inline.len();
            }
            Tag::Image { dest_url, .. } => {
                self.style.image = Some(String::new());
                if self.style.link.is_none() {
                    self.style.link_from = self.inline.len();
                    self.style.link = Some(Arc::from(&*dest_url));
                }
            }
            _ => {}
        }
    }

    pub(super) fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::Heading(_) => {
                self.flush();
                self.style.heading = None;
                self.gap = true;
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.containers.pop();
                self.gap = true;
            }
            TagEnd::CodeBlock => self.code_block(),
            TagEnd::HtmlBlock => {
                let html = self.html.take().unwrap_or_default();
                for line in html.trim_end().lines() {
                    self.push(line, Role::Dim);
                    self.line_break();
                }
                self.gap = true;
            }
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
                self.gap |= self.lists.is_empty();
            }
            TagEnd::Item => {
                self.flush();
                if let Some(Container::Item { bullet: Some(_), .. }) = self.containers.last() {
                    self.block_row(Vec::new(), Joint::Line);
                }
                self.containers.pop();
            }
            TagEnd::TableHead => self.style.header = false,
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline);
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Table => {
                let table = self.table.take().unwrap_or_default();
                self.separate();
                for row in table.layout(self.width.saturating_sub(self.indent()).max(1)) {
                    let mut spans = self.prefix();
                    let lead = spans_width(&spans) as u16;
                    spans.extend(row.line.spans);
                    self.rows.push(Row { line: Line { spans, ground: row.line.ground }, lead, ..row });
                }
                self.gap = true;
            }
            TagEnd::Emphasis => self.style.emphasis = self.style.emphasis.saturating_sub(1),
            TagEnd::Strong => self.style.strong = self.style.strong.saturating_sub(1),
            TagEnd::Strikethrough => self.style.strike = self.style.strike.saturating_sub(1),
            TagEnd::Link => {
                if let Some(url) = self.style.link.take() {
                    let from = self.style.link_from.min(self.inline.len());
                    let text: String = self.inline[from..].iter().map(|span| span.text.as_str()).collect();
                    let bare = |url: &str| url.trim_start_matches("mailto:").trim_end_matches('/').to_owned();
                    if bare(&text) != bare(&url) && !url.starts_with('#') {
                        self.inline.push(Span { text: format!(" ({url})"), role: Role::Dim, link: Some(url) });
                    }
                }
            }
            TagEnd::Image => {
                let alt = self.style.image.take().unwrap_or_default();
                self.push(&format!("[image: {}]", if alt.is_empty() { "no description" } else { &alt }), Role::Dim);
                // A link around the image goes on after it.
                if self.style.link_from + 1 == self.inline.len() {
                    self.style.link = None;
                }
            }
            _ => {}
        }
    }
}
