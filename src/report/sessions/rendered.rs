//! A model's Markdown as HTML that can do no harm: its own HTML is text, and links lead only to the web or to mail.

use super::markdown::escaped;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// The body of a page. Images become links: a page must not load anything.
pub(super) fn rendered(text: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut page = String::with_capacity(text.len() * 2);
    let mut cell = "td";
    for event in Parser::new_ext(text, options) {
        match event {
            Event::Start(tag) => open(&tag, &mut cell, &mut page),
            Event::End(tag) => close(tag, &mut cell, &mut page),
            Event::Code(code) => page.push_str(&format!("<code>{}</code>", escaped(&code))),
            Event::SoftBreak => page.push('\n'),
            Event::HardBreak => page.push_str("<br>\n"),
            Event::Rule => page.push_str("<hr>\n"),
            Event::TaskListMarker(done) => page.push_str(if done { "☑ " } else { "☐ " }),
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => page.push_str(&escaped(&text)),
        }
    }
    page
}

/// The element of a pair that needs no attributes.
fn element(tag: &TagEnd, cell: &str) -> Option<String> {
    Some(match tag {
        TagEnd::Paragraph => "p".to_owned(),
        TagEnd::Heading(level) => format!("h{}", *level as usize),
        TagEnd::BlockQuote(_) => "blockquote".to_owned(),
        TagEnd::List(ordered) => if *ordered { "ol" } else { "ul" }.to_owned(),
        TagEnd::Item => "li".to_owned(),
        TagEnd::Table => "table".to_owned(),
        TagEnd::TableHead | TagEnd::TableRow => "tr".to_owned(),
        TagEnd::TableCell => cell.to_owned(),
        TagEnd::Emphasis => "em".to_owned(),
        TagEnd::Strong => "strong".to_owned(),
        TagEnd::Strikethrough => "del".to_owned(),
        _ => return None,
    })
}

fn open(tag: &Tag<'_>, cell: &mut &str, page: &mut String) {
    if matches!(tag, Tag::TableHead) {
        *cell = "th";
    }
    match tag {
        Tag::CodeBlock(kind) => {
            let language = match kind {
                CodeBlockKind::Fenced(language) => escaped(language),
                CodeBlockKind::Indented => String::new(),
            };
            page.push_str(&format!("<pre><code title=\"{language}\">"));
        }
        Tag::List(Some(start)) => page.push_str(&format!("<ol start=\"{start}\">\n")),
        Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
            let safe = ["http://", "https://", "mailto:", "#"].iter().any(|start| dest_url.starts_with(start));
            let target = if safe { escaped(dest_url) } else { "#".to_owned() };
            page.push_str(&format!("<a rel=\"noreferrer\" href=\"{target}\">"));
        }
        tag => {
            if let Some(element) = element(&tag.to_end(), cell) {
                page.push_str(&format!("<{element}>"));
            }
        }
    }
}

fn close(tag: TagEnd, cell: &mut &str, page: &mut String) {
    match tag {
        TagEnd::CodeBlock => page.push_str("</code></pre>\n"),
        TagEnd::Link | TagEnd::Image => page.push_str("</a>"),
        tag => {
            if let Some(element) = element(&tag, cell) {
                page.push_str(&format!("</{element}>"));
            }
            if tag == TagEnd::TableHead {
                *cell = "td";
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::rendered;

    #[test]
    fn markdown_becomes_plain_html() {
        let page =
            rendered("# A\n\n1. *b* `c<d`\n\n|x|\n|-|\n|y|\n\n```rust\nlet a = 1 < 2;\n```\n![i](http://x/y.png)");
        for part in [
            "<h1>A</h1>",
            "<ol start=\"1\">",
            "<em>b</em> <code>c&lt;d</code>",
            "<tr><th>x</th></tr><tr><td>y</td></tr></table>",
            "<pre><code title=\"rust\">let a = 1 &lt; 2;\n</code></pre>",
            "<a rel=\"noreferrer\" href=\"http://x/y.png\">i</a>",
        ] {
            assert!(page.contains(part), "{part} is not in {page}");
        }
    }

    #[test]
    fn nothing_in_it_can_act() {
        let page = rendered(
            "<img src=x onerror=alert(1)> a <b onclick=x>b</b> [c](javascript:x) [d](data:text/html,x)\n\n<script>x</script>",
        );
        assert!(!page.contains("<img") && !page.contains("<b ") && !page.contains("<script"), "{page}");
        assert!(!page.contains("javascript:") && !page.contains("data:"), "{page}");
    }
}
