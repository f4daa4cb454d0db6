//! A session as one self-contained page: no scripts, nothing loaded from elsewhere, everything escaped.

use super::markdown::{escaped, summary};
use super::rendered::rendered;
use super::text::{local, one_line, plain};
use crate::protocol::{Body, Item, Origin, ToolBody, ToolCall};
use crate::store::SessionMeta;
use std::io::{Result, Write};

/// Both backgrounds, readable without a font of its own.
const STYLE: &str = "
:root{color-scheme:light dark;--dim:#666;--line:#ccc;--you:#eef3fb;--tool:#f5f5f5}
@media(prefers-color-scheme:dark){:root{--dim:#999;--line:#444;--you:#1c2530;--tool:#1b1b1b}}
body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem}
header,footer,.at{color:var(--dim);font-size:.85rem}
.you{background:var(--you);padding:.5rem 1rem;border-radius:.5rem;white-space:pre-wrap;margin:1.5rem 0 1rem}
details{background:var(--tool);border:1px solid var(--line);border-radius:.4rem;padding:.25rem .75rem;margin:.5rem 0}
summary{cursor:pointer;font-family:ui-monospace,monospace;font-size:.85rem}
pre{overflow:auto;font:13px/1.4 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
table{border-collapse:collapse}td,th{border:1px solid var(--line);padding:.2rem .5rem}
.note{color:var(--dim);font-style:italic}img{max-width:100%}";

pub(super) fn write(about: &SessionMeta, items: &[Item], out: &mut dyn Write) -> Result<()> {
    let row = &about.row;
    let name = one_line(row.title.as_deref().unwrap_or(&row.preview), 120);
    let name = escaped(if name.is_empty() { &row.id } else { &name });
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\
         <title>{name}</title><style>{STYLE}</style></head><body>\n<h1>{name}</h1>"
    )?;
    writeln!(
        out,
        "<header>{} · {} · {} · {}</header>",
        escaped(&row.id),
        escaped(&row.cwd),
        escaped(&row.model),
        local(row.started_at)
    )?;
    let mut calls: Vec<&ToolCall> = Vec::new();
    for item in items {
        match &item.body {
            Body::User { text, origin: Origin::Program, .. } => {
                writeln!(out, "<p class=\"note\">Sent to the model: {}</p>", escaped(&plain(text)))?;
            }
            Body::User { text, images, .. } => {
                write!(out, "<div class=\"you\">{}", escaped(&plain(text)))?;
                for image in images {
                    let (kind, data) = (escaped(&image.media_type), escaped(&image.data));
                    write!(out, "<br><img alt=\"image\" src=\"data:{kind};base64,{data}\">")?;
                }
                writeln!(out, "</div>")?;
            }
            Body::Assistant(body) => {
                if !body.text.trim().is_empty() {
                    writeln!(out, "<div class=\"at\">{}</div>{}", local(item.at), rendered(&plain(&body.text)))?;
                }
                calls = body.calls.iter().collect();
            }
            Body::Tool(body) => {
                let args = calls.iter().find(|call| call.id == body.call_id).map_or("", |call| &call.args);
                tool(body, args, out)?;
            }
            Body::Summary(summary) => {
                let (line, text) = (escaped(&summary.line()), rendered(&plain(&summary.text)));
                writeln!(out, "<details><summary>{line}</summary>{text}</details>")?;
            }
            Body::Note { text, .. } => writeln!(out, "<p class=\"note\">{}</p>", escaped(&plain(text)))?,
        }
    }
    writeln!(out, "</body></html>")
}

fn tool(body: &ToolBody, args: &str, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "<details><summary>{}</summary>", escaped(&summary(body, args)))?;
    let shown = if body.view.output.is_empty() { &body.content } else { &body.view.output };
    let diffs = body.view.diffs.iter().map(|diff| diff.unified.as_str());
    for part in [args, shown.as_str()].into_iter().chain(diffs).filter(|part| !part.is_empty()) {
        writeln!(out, "<pre>{}</pre>", escaped(&plain(part)))?;
    }
    writeln!(out, "</details>")
}
