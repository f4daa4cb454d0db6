//! What leaves a call: masked, bounded, with pictures that a model can take.

use crate::policy::Intent;
use crate::policy::redact::RedactKind;
use crate::protocol::{Image, Large, Outcome};
use crate::text::digest::Most;
use crate::text::readable::readable;
use crate::tools::output::binary;
use crate::tools::output::bound::{self, Masks};
use crate::tools::output::budget::OutputBudget;
use crate::tools::spec::{Content, ToolOutput};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

/// Characters of what a person can unfold below a tool line.
const VIEW_CHARS: usize = 40_000;
/// Characters of an error on its tool line.
const SUMMARY_CHARS: usize = 120;
/// Pictures of one result.
const IMAGES: usize = 4;
/// Base64 characters of one picture (Anthropic takes 5 MB).
const IMAGE_BYTES: usize = 5_000_000;
/// Formats that every model with eyes takes.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Where and how much of a result may be kept.
pub(super) struct Limits<'a> {
    /// Characters, as the tool has it.
    pub cap: usize,
    /// What the configuration gives a result, for any tool that does not bound itself.
    pub most: Most,
    /// It gives pages and bounds them itself.
    pub pages: bool,
    pub room: &'a OutputBudget,
    pub folder: &'a Path,
    pub call_id: &'a str,
}

/// What the result of a call is, to mask it.
pub(super) fn kind_of(content: Content, intent: Option<&Intent>) -> RedactKind {
    match intent {
        Some(Intent::Command { line, .. }) => RedactKind::of_command(line),
        _ if content.is_of_files() => RedactKind::FileRead,
        _ => RedactKind::Code,
    }
}

/// Masks and bounds all that leaves a call.
pub(super) fn finish(mut output: ToolOutput, limits: &Limits<'_>, mask: impl Fn(&str) -> Cow<'_, str>) -> ToolOutput {
    let cap = limits.room.cap(limits.cap);
    let share = limits.room.even_share();
    // A page of a file never loses its middle: the next page is asked for.
    let most = if limits.pages {
        Most { tokens: usize::MAX, chars: cap, ..limits.most }
    } else {
        Most { chars: cap.min(limits.most.chars), ..limits.most }
    };
    let bounded = bound::bound(output.content, &most, share, limits.folder, limits.call_id, &mask);
    output.content = bounded.content;
    let large = |whole| Box::new(Large { whole, room: limits.room.step });
    output.large = bounded.whole.filter(|_| output.content.len() > share).map(large);
    binary::keep(&mut output, limits.folder, limits.call_id);
    pictures(&mut output);
    mask_view(&mut output, &mask);
    let view = &mut output.view;
    if view.output.len() > VIEW_CHARS {
        let head = VIEW_CHARS * 2 / 5;
        view.output = bound::cut(&view.output, head, VIEW_CHARS - head, "\n…\n");
    }
    output
}

/// Leaves out what no model takes, and says so.
fn pictures(output: &mut ToolOutput) {
    if output.images.is_empty() {
        return;
    }
    let before = output.images.len();
    let fits = |image: &Image| IMAGE_TYPES.contains(&image.media_type.as_str()) && image.data.len() <= IMAGE_BYTES;
    output.images.retain(fits);
    output.images.truncate(IMAGES);
    let gone = before - output.images.len();
    if gone > 0 {
        // Writing to a string cannot fail.
        let _ = write!(
            output.content,
            "\n[{gone} of {before} images left out: at most {IMAGES}, PNG, JPEG, GIF or WebP, up to 3.7 MB each]"
        );
    }
}

pub(super) fn mask_all(output: &mut ToolOutput, mask: impl Fn(&str) -> Cow<'_, str>) {
    if let Cow::Owned(masked) = mask(&output.content) {
        output.content = masked;
    }
    mask_view(output, &mask);
}

fn mask_view(output: &mut ToolOutput, mask: &impl Fn(&str) -> Cow<'_, str>) {
    let view = &mut output.view;
    let diffs = view.diffs.iter_mut().chain(&mut view.changed).flat_map(|diff| [&mut diff.path, &mut diff.unified]);
    for text in [&mut view.output, &mut view.summary, &mut view.approval, &mut view.edited].into_iter().chain(diffs) {
        if let Cow::Owned(masked) = mask(text) {
            *text = masked;
        }
    }
}

/// The output for a result that is an `{"error"}`, as a call gets that could not be planned or was denied.
pub fn failure(content: String) -> ToolOutput {
    let error = serde_json::from_str::<Value>(&content).ok();
    let text = error.as_ref().and_then(|error| error.get("error")?.as_str()).unwrap_or(&content).to_owned();
    let mut output = ToolOutput { content, outcome: Outcome::Failed, ..ToolOutput::default() };
    output.view.summary = text.lines().next().unwrap_or_default().chars().take(SUMMARY_CHARS).collect();
    output.view.output = readable(&output.content);
    output
}

/// Arguments as other programs may see them.
pub(super) fn masked(args: &Value, masks: &Masks) -> Value {
    match args {
        Value::String(text) => masks.apply(text, RedactKind::Code).into_owned().into(),
        Value::Array(values) => values.iter().map(|value| masked(value, masks)).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), masked(value, masks))).collect(),
        other => other.clone(),
    }
}

/// Arguments that come back, with what was not touched as it was before it was masked.
pub(super) fn unmasked(back: Value, shown: &Value, given: &Value) -> Value {
    if back == *shown {
        return given.clone();
    }
    match (back, shown, given) {
        (Value::Object(fields), Value::Object(shown), Value::Object(given)) => {
            let field = |(name, value): (String, Value)| {
                let value = match (shown.get(&name), given.get(&name)) {
                    (Some(shown), Some(given)) => unmasked(value, shown, given),
                    _ => value,
                };
                (name, value)
            };
            Value::Object(fields.into_iter().map(field).collect())
        }
        (Value::Array(values), Value::Array(shown), Value::Array(given)) if values.len() == shown.len() => values
            .into_iter()
            .zip(shown.iter().zip(given))
            .map(|(back, (shown, given))| unmasked(back, shown, given))
            .collect(),
        (back, ..) => back,
    }
}
