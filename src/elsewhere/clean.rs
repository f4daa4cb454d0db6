//! Text of strangers made fit to be kept: secrets masked, results bounded.

use crate::policy::redact::{RedactKind, Secrets, redact};
use crate::protocol::{AssistantBody, Body, ToolBody, ToolView};
use std::borrow::Cow;

/// With masks that name themselves.
const KIND: RedactKind = RedactKind::FileRead;
/// Bytes of a result, as a call of ours would keep them.
const RESULT: usize = 40_000;

/// The text with its secrets masked.
pub fn text(text: &str, secrets: &Secrets) -> String {
    let redacted = redact(text, KIND);
    match secrets.mask(&redacted, KIND) {
        Cow::Owned(masked) => masked,
        Cow::Borrowed(text) => text.to_owned(),
    }
}

/// What a call returned, cut to what is kept of one, with its secrets masked.
pub(super) fn result(returned: &str, secrets: &Secrets) -> String {
    text(&bounded(returned, RESULT), secrets)
}

/// An entry of a file that anybody may have written: its secrets masked, its results bounded.
pub fn clean(body: &mut Body, secrets: &Secrets) {
    let mask = |held: &mut String| *held = text(held, secrets);
    match body {
        Body::User { text, context, gist, .. } => [text, context, gist].into_iter().for_each(mask),
        Body::Assistant(AssistantBody { text, reasoning, calls, .. }) => {
            [text, reasoning].into_iter().for_each(mask);
            calls.iter_mut().flat_map(|call| [&mut call.args, &mut call.via]).for_each(mask);
        }
        Body::Tool(ToolBody { content, view, .. }) => {
            *content = result(content, secrets);
            let ToolView { target, summary, diffs, changed, children, output, approval, edited, .. } = view;
            let of_files = diffs.iter_mut().chain(changed).flat_map(|diff| [&mut diff.path, &mut diff.unified]);
            let of_children = children.iter_mut().flat_map(|row| [&mut row.name, &mut row.goal, &mut row.doing]);
            let shown = [target, summary, output, approval, edited].into_iter().chain(of_files).chain(of_children);
            shown.for_each(|held| *held = result(held, secrets));
        }
        Body::Summary(summary) => {
            [&mut summary.text, &mut summary.state, &mut summary.focus].into_iter().for_each(mask);
        }
        Body::Note { text, .. } => mask(text),
    }
}

/// The text with its middle left out where it is longer than so many bytes.
pub(super) fn bounded(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(limit / 2);
    let tail = text.ceil_char_boundary(text.len() - limit / 2);
    format!("{}\n… {} bytes left out …\n{}", &text[..head], tail - head, &text[tail..])
}
