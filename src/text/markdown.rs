//! Markdown to rows of a width: prose at a reading width, code and tables across it, no boxes.

mod blocks;
mod tags;

use super::highlight::Highlighter;
use super::table::Table;
use super::wrap::{Joint, Row};
use super::{Line, Role, Span};
use pulldown_cmark::{Event, Options, Parser};
use std::sync::Arc;

/// Cells of prose at most: longer lines are hard to read.
pub const READING_WIDTH: usize = 100;

/// The dialect: CommonMark with tables, strikethrough and task lists.
pub fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// Lays out Markdown for a width in cells.
pub fn render(source: &str, width: usize, code: &mut Highlighter) -> Vec<Row> {
    let mut writer = Writer::new(width, code);
    for event in Parser::new_ext(source, options()) {
        writer.event(event);
    }
    writer.finish()
}

/// The same as unwrapped lines, without what copying needs.
pub fn lines(source: &str, width: usize, code: &mut Highlighter) -> Vec<Line> {
    render(source, width, code).into_iter().map(|row| row.line).collect()
}

/// What stands to the left of the rows of a block.
enum Container {
    Quote,
    Item {
        /// Bullet or number, until its first row took it.
        bullet: Option<Span>,
        width: usize,
    },
}

/// Turns events into rows.
pub struct Writer<'a> {
    width: usize,
    code: &'a mut Highlighter,
    rows: Vec<Row>,
    containers: Vec<Container>,
    /// Next numbers of the open lists; `None`: bullets.
    lists: Vec<Option<u64>>,
    inline: Vec<Span>,
    style: Style,
    /// A blank row is due before the next block.
    gap: bool,
    /// Language and text of the open code block.
    block: Option<(String, String)>,
    table: Option<Table>,
    html: Option<String>,
}

#[derive(Default)]
struct Style {
    heading: Option<u8>,
    strong: usize,
    emphasis: usize,
    strike: usize,
    link: Option<Arc<str>>,
    /// Where the text of the open link began.
    link_from: usize,
    /// Alternative text of the open image.
    image: Option<String>,
    header: bool,
}

impl<'a> Writer<'a> {
    /// A writer for rows of `width` cells.
    pub fn new(width: usize, code: &'a mut Highlighter) -> Self {
        Self {
            width: width.max(1),
            code,
            rows: Vec::new(),
            containers: Vec::new(),
            lists: Vec::new(),
            inline: Vec::new(),
            style: Style::default(),
            gap: false,
            block: None,
            table: None,
            html: None,
        }
    }

    /// All rows so far.
    pub fn finish(mut self) -> Vec<Row> {
        self.flush();
        self.rows
    }

    /// The rows so far, taken; what follows is laid out as if it were the start.
    pub fn settle(&mut self) -> Vec<Row> {
        self.flush();
        self.gap = false;
        std::mem::take(&mut self.rows)
    }

    /// Takes the next event.
    pub fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => match &mut self.style.image {
                Some(alt) => alt.push_str(&text),
                None => self.push(&text, Role::Code),
            },
            Event::Html(text) | Event::InlineHtml(text) => match &mut self.html {
                Some(html) => html.push_str(&text),
                None => self.inline_html(&text),
            },
            Event::SoftBreak => self.text(" "),
            Event::HardBreak => self.line_break(),
            Event::Rule => {
                self.flush();
                let cells = self.width.min(READING_WIDTH).saturating_sub(self.indent());
                self.block_row(vec![Span::new("─".repeat(cells), Role::Rule)], Joint::Ornament);
                self.gap = true;
            }
            Event::TaskListMarker(done) => {
                let mark = if done { Span::new("✓ ", Role::Good) } else { Span::new("○ ", Role::Bullet) };
                if let Some(Container::Item { bullet, width }) = self.containers.last_mut() {
                    *width = 2;
                    *bullet = Some(mark);
                }
            }
            Event::InlineMath(text) | Event::DisplayMath(text) => self.push(&text, Role::Code),
            Event::FootnoteReference(text) => self.push(&format!("[{text}]"), Role::Dim),
        }
    }

    fn text(&mut self, text: &str) {
        if let Some((_, code)) = &mut self.block {
            code.push_str(text);
        } else if let Some(alt) = &mut self.style.image {
            alt.push_str(text);
        } else {
            self.push(text, self.role());
        }
    }

    /// `<br>` breaks; other tags are shown as they are.
    fn inline_html(&mut self, tag: &str) {
        let name = tag.trim_matches(['<', '>', '/', ' ']).to_ascii_lowercase();
        if name == "br" && self.table.is_none() { self.line_break() } else { self.push(tag, Role::Dim) }
    }

    fn push(&mut self, text: &str, role: Role) {
        let link = self.style.link.clone();
        let role = if self.style.header { Role::TableHeader } else { role };
        match self.inline.last_mut() {
            Some(last) if last.role == role && last.link == link => last.text.push_str(text),
            _ => self.inline.push(Span { text: text.to_owned(), role, link }),
        }
    }

    fn role(&self) -> Role {
        let style = &self.style;
        match (style.heading, &style.link) {
            (Some(level), _) => Role::Heading(level),
            (None, Some(_)) => Role::Link,
            (None, None) if style.strike > 0 => Role::Strike,
            (None, None) => match (style.strong > 0, style.emphasis > 0) {
                (true, true) => Role::StrongEmphasis,
                (true, false) => Role::Strong,
                (false, true) => Role::Emphasis,
                (false, false) if self.containers.iter().any(|it| matches!(it, Container::Quote)) => Role::Quote,
                (false, false) => Role::Text,
            },
        }
    }
}

#[cfg(test)]
mod tests;
