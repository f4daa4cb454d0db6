//! What of an approval the person has seen, and what came to be known of it since it opened.

use super::inert::INERT_MS;
use crate::app::model::Model;
use crate::app::model::approvals::Entry;
use crate::app::model::modal::{ApprovalStage, Judged, Modal, Read};
use crate::policy::{ApprovalId, Payload, Preview, Target};

/// A frame was drawn: where its text to be approved came to rest, and which of its rows were there.
pub fn drawn(model: &mut Model) {
    let Some(reading) = &model.layout.reading else { return };
    let Some(Modal::Approval(modal)) = model.tab.modals.last_mut() else { return };
    let edited = matches!(modal.stage, ApprovalStage::ConfirmingEdit(..));
    if (modal.id, edited) != (reading.id, reading.edited) {
        return;
    }
    modal.scroll = reading.first;
    let read = &mut modal.read;
    read.begun = true;
    read.folded = reading.folded;
    if read.shape != reading.shape {
        read.shape = reading.shape;
        read.seen.clear();
    }
    let window = (reading.first, reading.first.saturating_add(reading.rows));
    if !read.whole && !read.seen.contains(&window) {
        read.seen.push(window);
    }
    let seen = |row: &u16| read.seen.iter().any(|(from, to)| (from..to).contains(&row));
    read.whole |= reading.must.iter().all(seen);
}

/// What the frame tells from how far an approval was read: all of it, and something folded. A frame that changes it says
/// so only in the next one.
pub fn reading(model: &Model) -> Option<(bool, bool)> {
    let Some(Modal::Approval(modal)) = model.tab.modals.last() else { return None };
    Some((modal.read.whole, modal.read.folded))
}

/// All that an open question's call would touch is known now.
pub fn found(model: &mut Model, id: ApprovalId, targets: Vec<Target>, payloads: Vec<Payload>) {
    let approval = model.tab.approvals.entries.iter_mut().find_map(|entry| match entry {
        Entry::Approval(approval) if approval.id == id => Some(approval),
        Entry::Approval(_) | Entry::Question(_) => None,
    });
    let Some(approval) = approval else { return };
    (approval.targets, approval.payloads) = (targets, payloads);
    for modal in &mut model.tab.modals {
        if let Modal::Approval(modal) = modal
            && modal.id == id
            && modal.stage == ApprovalStage::Choosing
        {
            // The new rows are to be seen as well, from where the reader is. An answer that was begun knew that they lacked.
            modal.read = Read { begun: modal.read.begun, ..Read::default() };
            model.layout.reading = None;
        }
    }
}

/// How a line that was written instead would be judged.
pub fn previewed(model: &mut Model, id: ApprovalId, line: &str, preview: Option<Box<Preview>>) {
    let now = model.now;
    for modal in &mut model.tab.modals {
        let Modal::Approval(modal) = modal else { continue };
        let ApprovalStage::ConfirmingEdit(shown, judged @ Judged::Waiting) = &mut modal.stage else { continue };
        if modal.id == id && shown == line {
            *judged = preview.clone().map_or(Judged::Unknown, Judged::As);
            // It is another text now; keys on their way are not for it.
            modal.read = Read::default();
            modal.scroll = 0;
            modal.held_until = now + INERT_MS;
            model.layout.reading = None;
        }
    }
}
