//! Markdown to rows of a width: prose at a reading width, code and tables across it, no boxes.

use super::highlight::Highlighter;
use super::table::{Align, Table};
use super::wrap::{Joint, Row, Wrap, spans_width, wrap_into};
use super::{Ground, Line, Role, Span};
use pulldown_cmark::{Alignment, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
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

    fn start(&mut self, tag: Tag<'_>) {
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
                let width = super::width::width(&bullet.text);
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

    fn end(&mut self, tag: TagEnd) {
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

    fn new_table_row(&mut self) {
        if let Some(table) = &mut self.table {
            table.rows.push(Vec::new());
        }
    }

    /// Ends a line inside a paragraph.
    fn line_break(&mut self) {
        self.flush();
    }

    /// Lays out the collected inline text as one line.
    fn flush(&mut self) {
        if self.inline.is_empty() {
            return;
        }
        let spans = std::mem::take(&mut self.inline);
        self.separate();
        let first = self.prefix();
        let rest = self.prefix();
        let width = self.width.min(READING_WIDTH.max(spans_width(&first) + 1));
        wrap_into(&mut self.rows, &spans, Ground::Base, &Wrap { width, first: &first, rest: &rest, verbatim: false });
        self.gap = false;
    }

    fn code_block(&mut self) {
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
        let rest = [self.prefix(), vec![pad()]].concat();
        let width = self.width;
        let lines = self.code.lines(&lang, &code);
        for (index, line) in lines.iter().enumerate() {
            let first = if index == 0 { &prefix } else { &rest };
            wrap_into(&mut self.rows, line, ground, &Wrap { width, first, rest: &rest, verbatim: true });
        }
        if lines.is_empty() {
            wrap_into(&mut self.rows, &[], ground, &Wrap { width, first: &prefix, rest: &rest, verbatim: true });
        }
        self.gap = true;
    }

    fn block_row(&mut self, spans: Vec<Span>, joint: Joint) {
        self.separate();
        let mut all = self.prefix();
        let lead = spans_width(&all) as u16;
        all.extend(spans);
        self.rows.push(Row { line: Line { spans: all, ground: Ground::Base }, lead, joint, ..Row::default() });
    }

    /// The blank row that is due, with the bars of the quotes it stands in.
    fn separate(&mut self) {
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
    fn prefix(&mut self) -> Vec<Span> {
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

    fn indent(&self) -> usize {
        self.containers
            .iter()
            .map(|container| match container {
                Container::Quote => 2,
                Container::Item { width, .. } => *width,
            })
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(source: &str, width: usize) -> String {
        let rows = render(source, width, &mut Highlighter::default());
        rows.iter().map(|row| row.line.text().trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn blocks() {
        let table: &[(&str, &str)] = &[
            ("", ""),
            ("# One\n\ntext", "One\n\ntext"),
            ("a\nb", "a b"),
            ("a  \nb", "a\nb"),
            ("- a\n- b\n  - c\n    1. d\n- e", "• a\n• b\n  ◦ c\n    1. d\n• e"),
            ("3. a\n4. b", "3. a\n4. b"),
            ("- a\n\n- b", "• a\n\n• b"),
            ("- [x] done\n- [ ] open", "✓ done\n○ open"),
            ("> quoted\n> more\n\nafter", "│ quoted more\n\nafter"),
            ("> a\n>\n> b", "│ a\n│\n│ b"),
            ("text\n```rust\nlet x;\n```\nafter", "text\n\n  rust\n  let x;\n\nafter"),
            ("```\na\n\n  b\n```", "  a\n\n    b"),
            ("a\n\n---\n\nb", "a\n\n────────────────────\n\nb"),
            ("![a cat](x.png)", "[image: a cat]"),
            ("[text](http://x.y)", "text (http://x.y)"),
            ("<http://x.y>", "http://x.y"),
            ("<div>\nhi\n</div>\n\nx", "<div>\nhi\n</div>\n\nx"),
            ("- a\n  ```\n  x\n  ```\n- b", "• a\n    x\n\n• b"),
            ("a `b` **c** *d* ~~e~~", "a b c d e"),
            ("-\n- b", "•\n• b"),
        ];
        for (source, expected) in table {
            assert_eq!(&shown(source, 20), expected, "{source:?}");
        }
    }

    #[test]
    fn tables_have_no_boxes() {
        let source = "| file | n |\n|---|--:|\n| a.rs | 10 |\n| b | 2 |";
        assert_eq!(shown(source, 40), "file   n\n────────\na.rs  10\nb      2");
    }

    #[test]
    fn prose_is_narrower_than_code() {
        let source = format!("{}\n\n```\n{}\n```", "word ".repeat(60), "x".repeat(140));
        let rows = render(&source, 160, &mut Highlighter::default());
        assert!(rows.iter().take(3).all(|row| row.line.width() <= READING_WIDTH));
        assert_eq!(rows.last().map(|row| row.line.width()), Some(142));
    }

    #[test]
    fn rows_never_pass_the_width() {
        let source = "# H\n\n- a long item with 日本語 words\n  > quote\n\n| a | b |\n|-|-|\n| x y z | 1 |\n\n```rs\nfn f() {}\n```";
        for width in 1..60 {
            for row in render(source, width, &mut Highlighter::default()) {
                // Prefixes alone may pass a width that has no room for them.
                assert!(row.line.width() <= width.max(8), "{width}: {:?}", row.line.text());
            }
        }
    }

    #[test]
    fn links_lead_somewhere() {
        let rows = render("see [docs](https://x.y/z)", 80, &mut Highlighter::default());
        let link = rows[0].line.spans.iter().find(|span| span.text == "docs").and_then(|span| span.link.clone());
        assert_eq!(link.as_deref(), Some("https://x.y/z"));
    }
}
