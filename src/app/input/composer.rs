//! The composer: typing, pasting, images, undo. What is typed is never lost.

use super::edit::{Edit, Edited};
use super::keys::Press;
use super::{completion, drafts, edit, history, paste, vi};
use crate::app::effect::{Effect, LoadRequest};
use crate::app::model::Model;
use crate::app::model::composer::Composer;
use crate::config::keymap::{Context, Key};
use crate::protocol::{Image, Level};
use ratatui::style::Style;
use tui_textarea::{CursorMove, TextArea, WrapMode};

/// Edits that can be undone.
const UNDO_STEPS: usize = 2000;

/// An empty composer.
pub fn new() -> Composer {
    Composer { area: area(""), ..Composer::default() }
}

fn area(text: &str) -> TextArea<'static> {
    let mut area = TextArea::new(text.split('\n').map(str::to_owned).collect());
    area.set_wrap_mode(WrapMode::WordOrGlyph);
    area.set_cursor_line_style(Style::new());
    area.set_max_histories(UNDO_STEPS);
    area.move_cursor(CursorMove::Bottom);
    area.move_cursor(CursorMove::End);
    area
}

/// The text as it stands in the field, placeholders and all.
pub fn text(composer: &Composer) -> String {
    composer.area.lines().join("\n")
}

/// The text with folded pastes put back.
pub fn whole(composer: &Composer) -> String {
    paste::unfold(&text(composer), &composer.pastes)
}

/// Nothing is written and nothing attached.
pub fn is_empty(composer: &Composer) -> bool {
    composer.area.is_empty() && composer.images.is_empty()
}

/// Replaces the text; the cursor goes to its end. Large text folds.
pub fn set_text(model: &mut Model, text: &str) {
    let text = paste::harmless(text);
    model.tab.composer.pastes.clear();
    if is_large(model, &text) {
        let placeholder = paste::fold(&mut model.tab.composer, text.into_owned());
        model.tab.composer.area = area(&placeholder);
    } else {
        model.tab.composer.area = area(&text);
    }
    model.tab.composer.completion = None;
    drafts::touch(model);
}

/// Replaces the text by a stored draft with its pastes.
pub fn restore(model: &mut Model, stored: &str) {
    refill(&mut model.tab.composer, stored);
}

/// The same for the composer of any tab.
pub fn refill(composer: &mut Composer, stored: &str) {
    let (text, pastes) = paste::decode_draft(stored);
    let numbers = pastes
        .iter()
        .filter_map(|paste| paste.placeholder.strip_prefix("[Pasted text #")?.split(':').next()?.parse::<usize>().ok());
    composer.folded = composer.folded.max(numbers.max().unwrap_or(0));
    composer.area = area(&text);
    composer.pastes = pastes;
    composer.completion = None;
}

/// Empties text, pastes and images; the numbers of pastes begin anew.
pub fn clear(model: &mut Model) {
    model.tab.composer.area = area("");
    model.tab.composer.pastes.clear();
    model.tab.composer.images.clear();
    model.tab.composer.completion = None;
    model.tab.composer.folded = 0;
    model.tab.composer.history.at = None;
    model.tab.composer.history.draft.clear();
    vi::renew(model);
}

/// A key for the text. `false`: the composer does not know it.
pub fn key(model: &mut Model, out: &mut Vec<Effect>, key: Key) -> bool {
    model.tab.composer.keyed_at = Some(model.now);
    let typed = edit::printable(key).map(Edit::Insert);
    let edit = typed.or_else(|| Press::in_contexts(model, &[Context::Composer], key).edit());
    edit.is_some_and(|edit| self::edit(model, out, edit))
}

/// Edits the text. `false`: nothing to do.
pub fn edit(model: &mut Model, out: &mut Vec<Effect>, edit: Edit) -> bool {
    if edit == Edit::DeleteBefore
        && let Some(length) = paste::placeholder_before(&model.tab.composer.area, &model.tab.composer.pastes)
    {
        for _ in 0..length {
            model.tab.composer.area.move_cursor(CursorMove::Back);
        }
        model.tab.composer.area.delete_str(length);
        changed(model, out);
        return true;
    }
    match edit::area(&mut model.tab.composer.area, edit) {
        Edited::Ignored => return false,
        Edited::Moved => completion::refresh(model, out),
        Edited::Changed => changed(model, out),
    }
    true
}

/// What follows every change of the text.
pub fn changed(model: &mut Model, out: &mut Vec<Effect>) {
    history::leave(model);
    drafts::touch(model);
    completion::refresh(model, out);
}

/// Text from the clipboard of the terminal. An empty paste means an image.
pub fn paste(model: &mut Model, out: &mut Vec<Effect>, pasted: String) {
    if pasted.is_empty() {
        out.push(Effect::Load(LoadRequest::Image { path: None }));
        return;
    }
    if let Some(path) = dropped_image(&pasted) {
        out.push(Effect::Load(LoadRequest::Image { path: Some(path) }));
        return;
    }
    let text = paste::harmless(&pasted);
    if is_large(model, &text) {
        let placeholder = paste::fold(&mut model.tab.composer, text.into_owned());
        model.tab.composer.area.insert_str(placeholder);
    } else {
        model.tab.composer.area.insert_str(&*text);
    }
    changed(model, out);
}

fn is_large(model: &Model, text: &str) -> bool {
    let config = &model.config;
    paste::is_large(text, config.paste_collapse_threshold.0.max(1), config.paste_collapse_char_threshold.0.max(1))
}

/// The path of an image file that was dropped on the terminal.
fn dropped_image(pasted: &str) -> Option<String> {
    if pasted.len() > 4096 || pasted.trim().contains('\n') {
        return None;
    }
    let path = pasted.trim().trim_matches(['\'', '"']).replace("\\ ", " ");
    let path = path.strip_prefix("file://").map(str::to_owned).unwrap_or(path);
    let extension = path.rsplit_once('.')?.1.to_ascii_lowercase();
    let image = matches!(extension.as_str(), "png" | "jpg" | "jpeg" | "gif" | "webp");
    (path.starts_with('/') && image).then_some(path)
}

/// An image came, or why not.
pub fn image(model: &mut Model, image: Result<Image, String>) {
    match image {
        Ok(image) => {
            // base64 writes three bytes as four characters
            let size = image.data.len() / 4 * 3 / 1024;
            model.tab.composer.images.push(image);
            let count = model.tab.composer.images.len();
            model.notices.add(model.now, Level::Info, format!("image {count} attached, {size} KB"));
        }
        Err(error) => model.notices.add(model.now, Level::Warning, error),
    }
}

/// Undoes an edit; letters of one word go together.
pub fn undo(model: &mut Model, out: &mut Vec<Effect>) {
    let area = &mut model.tab.composer.area;
    let mut before = length(area);
    let mut first = true;
    while area.undo() {
        let now = length(area);
        if before != now + 1 {
            if !first {
                area.redo();
            }
            break;
        }
        if !letter_before(area) {
            break;
        }
        (before, first) = (now, false);
    }
    changed(model, out);
}

/// Redoes what `undo` undid, a word at a time.
pub fn redo(model: &mut Model, out: &mut Vec<Effect>) {
    let area = &mut model.tab.composer.area;
    let mut before = length(area);
    while area.redo() {
        let now = length(area);
        if now != before + 1 || !letter_before(area) {
            break;
        }
        before = now;
    }
    changed(model, out);
}

fn length(area: &TextArea<'static>) -> usize {
    area.lines().iter().map(|line| line.len() + 1).sum()
}

fn letter_before(area: &TextArea<'static>) -> bool {
    let cursor = area.cursor();
    let line = area.lines().get(cursor.0);
    let before = cursor.1.checked_sub(1).and_then(|at| line?.chars().nth(at));
    before.is_some_and(char::is_alphanumeric)
}

/// Removes a `\` before the cursor: with Enter after it, it means a line break.
pub fn take_backslash(model: &mut Model) -> bool {
    let area = &mut model.tab.composer.area;
    let cursor = area.cursor();
    let before = cursor.1.checked_sub(1).and_then(|at| area.lines().get(cursor.0)?.chars().nth(at));
    before == Some('\\') && area.delete_char()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::msg::Msg;
    use crate::app::tests::{model, script};
    use crate::app::update;

    fn pasted(model: &mut Model, text: &str) -> Vec<Effect> {
        update(model, 1, Msg::Pasted(text.into()))
    }

    #[test]
    fn typing_editing_and_line_breaks() {
        for (keys, text) in [
            ("hello", "hello"),
            ("a<A-ret>b<C-j>c<S-ret>d", "a\nb\nc\nd"),
            ("a\\<ret>b", "a\nb"),
            ("one two<C-w>three", "one three"),
            ("one<C-a>x<C-e>y", "xoney"),
            ("one two<A-b><C-k>", "one "),
            ("?x", ""),
            ("x?", "x?"),
        ] {
            let mut model = model();
            script(&mut model, keys);
            if keys == "?x" {
                assert!(!model.tab.modals.is_empty(), "a question mark on an empty composer is help");
                continue;
            }
            assert_eq!(super::text(&model.tab.composer), text, "{keys}");
        }
    }

    #[test]
    fn small_pastes_are_text_and_large_ones_fold() {
        let mut model = model();
        pasted(&mut model, "a\r\nb\x1b[0m");
        assert_eq!(text(&model.tab.composer), "a\nb␛[0m");
        pasted(&mut model, &"line\n".repeat(120));
        assert_eq!(text(&model.tab.composer), "a\nb␛[0m[Pasted text #1: 120 lines]");
        assert_eq!(whole(&model.tab.composer), format!("a\nb␛[0m{}", "line\n".repeat(120)));
        script(&mut model, "<backspace>");
        assert_eq!(text(&model.tab.composer), "a\nb␛[0m", "the placeholder goes as one");
    }

    #[test]
    fn ten_megabytes_stay_out_of_the_field() {
        let mut model = model();
        pasted(&mut model, &"0123456789abcdef".repeat(655_360));
        script(&mut model, " and more");
        assert!(text(&model.tab.composer).len() < 100);
        assert_eq!(whole(&model.tab.composer).len(), 10_485_760 + " and more".len());
    }

    #[test]
    fn undo_takes_words_and_redo_brings_them_back() {
        let mut model = model();
        script(&mut model, "one two");
        let mut out = Vec::new();
        undo(&mut model, &mut out);
        assert_eq!(text(&model.tab.composer), "one ");
        redo(&mut model, &mut out);
        assert_eq!(text(&model.tab.composer), "one two");
        pasted(&mut model, "PASTE");
        script(&mut model, "x");
        undo(&mut model, &mut out);
        assert_eq!(text(&model.tab.composer), "one twoPASTE", "what was pasted is another step");
    }

    #[test]
    fn a_dropped_image_is_asked_for() {
        let mut model = model();
        assert_eq!(
            pasted(&mut model, "'/home/me/a b.PNG' "),
            [Effect::Load(LoadRequest::Image { path: Some("/home/me/a b.PNG".into()) })]
        );
        assert_eq!(text(&model.tab.composer), "");
    }
}
