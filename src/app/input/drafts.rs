//! Drafts: what is in the composer reaches the store soon after the last key, and nothing that was put aside is lost.

use super::{composer, paste};
use crate::app::effect::Effect;
use crate::app::model::Model;
use crate::app::model::composer::Composer;
use crate::app::session::sessions;
use crate::protocol::{Level, SessionId};
use crate::store::StoreJob;

/// Milliseconds after a change within which the draft is written: what kill -9 can take.
const SAVE_AFTER: i64 = 300;
/// The same for drafts with megabytes pasted into them.
const SAVE_LARGE_AFTER: i64 = 2000;
const LARGE: usize = 1 << 20;
/// Drafts kept on the ring.
const RING: usize = 20;

/// Said when the draft of a session without a prompt stands in a new one.
const BACK: &str = "your unsent draft in this folder is back";

/// Marks the draft as changed.
pub fn touch(model: &mut Model) {
    let size: usize = model.tab.composer.pastes.iter().map(|paste| paste.text.len()).sum();
    let after = if size > LARGE { SAVE_LARGE_AFTER } else { SAVE_AFTER };
    model.tab.composer.save_at.get_or_insert(model.now + after);
    model.tab.composer.pristine = false;
}

/// Writes the draft now if it changed. While another session opens it waits: it belongs to that one.
pub fn save(model: &mut Model, out: &mut Vec<Effect>) {
    if !model.tab.opening && model.tab.composer.save_at.take().is_some() {
        out.push(job(model));
    }
}

/// Writes the draft if its time has come.
pub fn woke(model: &mut Model, out: &mut Vec<Effect>) {
    if model.tab.composer.save_at.is_some_and(|at| at <= model.now) {
        save(model, out);
    }
}

/// The draft of a composer, as it is stored.
pub fn encoded(composer: &Composer) -> String {
    if composer.history.at.is_some() {
        composer.history.draft.clone()
    } else {
        paste::encode_draft(&composer::text(composer), &composer.pastes)
    }
}

fn job(model: &Model) -> Effect {
    let text = encoded(&model.tab.composer);
    Effect::Store(StoreJob::SaveDraft { session: key(model), cwd: sessions::cwd(model).to_owned(), text })
}

/// Which draft the composer holds: that of the folder until the session has a prompt.
pub fn key(model: &Model) -> Option<SessionId> {
    let begun = model.tab.transcript.cells.iter().any(|cell| cell.item.is_some());
    model.tab.session.as_ref().filter(|_| begun).map(|session| session.id.clone())
}

/// Asks for the draft that belongs here.
pub fn load(model: &Model) -> Effect {
    Effect::Store(StoreJob::LoadDraft { session: key(model), cwd: sessions::cwd(model).to_owned() })
}

/// A stored draft came: it goes into an empty composer, else on the ring.
pub fn loaded(model: &mut Model, session: Option<SessionId>, text: String) {
    if text.is_empty() || session != key(model) {
        return;
    }
    if model.tab.composer.area.is_empty() && model.tab.composer.history.at.is_none() {
        composer::restore(model, &text);
        model.tab.composer.pristine = true;
        if session.is_none() {
            // Nobody typed it in this session.
            model.notices.add(model.now, Level::Info, BACK);
        }
    } else {
        push(model, text);
    }
}

/// Puts an encoded draft on the ring.
pub fn push(model: &mut Model, draft: String) {
    let drafts = &mut model.tab.composer.drafts;
    drafts.retain(|other| *other != draft);
    drafts.push(draft);
    if drafts.len() > RING {
        drafts.remove(0);
    }
}

/// Moves the text on the ring.
pub fn put_aside(model: &mut Model, out: &mut Vec<Effect>) {
    let text = paste::encode_draft(&composer::text(&model.tab.composer), &model.tab.composer.pastes);
    push(model, text);
    let images = std::mem::take(&mut model.tab.composer.images);
    composer::clear(model);
    model.tab.composer.images = images;
    touch(model);
    save(model, out);
    said_aside(model);
}

/// Says that a draft went on the ring, and what brings it back.
pub fn said_aside(model: &mut Model) {
    let keys = model.keymap.keys_for("draft-previous");
    let how = keys.first().map(|keys| format!(": {keys} restores it")).unwrap_or_default();
    model.notices.add(model.now, Level::Info, format!("draft stashed{how}"));
}

/// Brings the newest draft of the ring back; the text that stands there goes to its other end.
pub fn previous(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(draft) = model.tab.composer.drafts.pop() else {
        model.notices.add(model.now, Level::Info, "no stashed draft");
        return;
    };
    if !model.tab.composer.area.is_empty() {
        let text = paste::encode_draft(&composer::text(&model.tab.composer), &model.tab.composer.pastes);
        model.tab.composer.drafts.insert(0, text);
    }
    composer::restore(model, &draft);
    composer::changed(model, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::msg::Msg;
    use crate::app::tests::{key, model, script};
    use crate::app::update;

    fn saved(effects: &[Effect]) -> Vec<&str> {
        effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::Store(StoreJob::SaveDraft { text, .. }) => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn a_draft_is_written_soon_after_the_first_key_and_then_at_rest() {
        let mut model = model();
        assert_eq!(update(&mut model, 1000, key("h")), [Effect::WakeAt(1300)]);
        assert_eq!(update(&mut model, 1200, key("i")), [], "no second wake-up");
        let effects = update(&mut model, 1300, Msg::Woke);
        assert_eq!(saved(&effects), ["hi"]);
        assert_eq!(effects.len(), 1, "and nothing is scheduled");
    }

    #[test]
    fn the_ring_keeps_what_ctrl_c_took() {
        let mut model = model();
        let effects = script(&mut model, "first<C-c>");
        assert_eq!(saved(&effects), [""]);
        script(&mut model, "second");
        let mut out = Vec::new();
        previous(&mut model, &mut out);
        assert_eq!(composer::text(&model.tab.composer), "first");
        previous(&mut model, &mut out);
        assert_eq!(composer::text(&model.tab.composer), "second", "the ring goes round");
    }

    #[test]
    fn a_draft_that_comes_back_into_a_new_session_is_told() {
        let mut model = model();
        loaded(&mut model, None, "stored".into());
        assert_eq!(composer::text(&model.tab.composer), "stored");
        assert!(model.notices.shown.iter().any(|notice| notice.text == BACK), "{:?}", model.notices);
    }

    #[test]
    fn a_late_draft_never_overwrites_typing() {
        let mut model = model();
        script(&mut model, "typed");
        loaded(&mut model, None, "stored".into());
        assert_eq!(composer::text(&model.tab.composer), "typed");
        assert_eq!(model.tab.composer.drafts, ["stored"]);
    }
}
