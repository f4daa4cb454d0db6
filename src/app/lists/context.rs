//! `/context`: what fills the window, largest first, and what of it is sent.

use super::pickers;
use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::input::hint;
use crate::app::model::Model;
use crate::app::model::modal::{PickItem, PickerKind};
use crate::protocol::{AgentCommand, ContextOrder, ContextPart, ItemId, Keep, Meter, Sent};
use crate::text::format::{count, percent};

/// Opens the list.
pub fn open(model: &mut Model, out: &mut Vec<Effect>) {
    let items = items(&model.tab.context, &model.tab.meter);
    pickers::open(model, PickerKind::Context, &title(&model.tab.meter), items);
    if let Some(picker) = pickers::top(model, PickerKind::Context) {
        picker.loading = picker.items.is_empty();
    }
    note(model);
    out.push(Effect::Agent(AgentCommand::Context(ContextOrder::List)));
}

/// The parts came.
pub fn listed(model: &mut Model, parts: Vec<ContextPart>) {
    model.tab.context = parts;
    let (items, title) = (items(&model.tab.context, &model.tab.meter), title(&model.tab.meter));
    if let Some(picker) = pickers::top(model, PickerKind::Context) {
        picker.title = title;
        pickers::fill(picker, items);
    }
    note(model);
}

fn title(meter: &Meter) -> String {
    let used = count(meter.context);
    match meter.window.filter(|window| *window > 0) {
        Some(window) => {
            let share = percent(meter.context, window);
            format!("Next request: {share} · {used} of {} tokens", count(window))
        }
        None => format!("Next request: {used} tokens; set model.context_length to see the share"),
    }
}

fn items(parts: &[ContextPart], meter: &Meter) -> Vec<PickItem> {
    let sum = parts.iter().map(|part| part.tokens).sum::<u64>();
    let whole = meter.window.filter(|window| *window > 0).unwrap_or(sum);
    parts.iter().map(|part| item(part, whole)).collect()
}

fn item(part: &ContextPart, whole: u64) -> PickItem {
    // The sign differs too: colour is never the only one.
    let (sign, state) = match part.sent {
        Sent::Whole if part.item.is_none() => ("■", "in every request"),
        Sent::Whole => ("●", ""),
        Sent::Shortened => ("◐", "shortened"),
        Sent::Kept(Keep::Pinned) => ("◆", "pinned"),
        Sent::Kept(Keep::Line) => ("◔", "one line"),
        Sent::Kept(Keep::Out) => ("○", "left out"),
    };
    PickItem {
        label: format!("{sign} {}", part.what),
        detail: state.to_owned(),
        hint: format!("≈ {} · {}", count(part.tokens), percent(part.tokens, whole)),
        value: part.item.map(|id| id.0.to_string()).unwrap_or_default(),
        ..PickItem::default()
    }
}

/// What Enter would do, below the list.
pub fn note(model: &mut Model) {
    let next = chosen(model).map(|part| match next(part.sent) {
        Some(Keep::Pinned) => "pins it: sent as it is, whatever is compacted",
        Some(Keep::Line) => "sends one line of it",
        Some(Keep::Out) => "leaves it out",
        None => "sends it as usual again",
    });
    let key = hint::picker(model, Action::Accept);
    let note = next.map(|next| hint::sentence(&[(key, next)])).unwrap_or_default();
    if let Some(picker) = pickers::top(model, PickerKind::Context) {
        picker.footnote = note;
    }
}

fn chosen(model: &mut Model) -> Option<ContextPart> {
    let picker = pickers::top(model, PickerKind::Context)?;
    let id = ItemId(pickers::chosen(picker)?.value.parse().ok()?);
    model.tab.context.iter().find(|part| part.item == Some(id)).cloned()
}

fn next(sent: Sent) -> Option<Keep> {
    match sent {
        Sent::Whole | Sent::Shortened => Some(Keep::Pinned),
        Sent::Kept(Keep::Pinned) => Some(Keep::Line),
        Sent::Kept(Keep::Line) => Some(Keep::Out),
        Sent::Kept(Keep::Out) => None,
    }
}

/// Enter: the next thing that can be done with the entry, and the list stays.
pub fn switched(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(part) = chosen(model) else { return };
    if let Some(item) = part.item {
        out.push(Effect::Agent(AgentCommand::Context(ContextOrder::Keep(item, next(part.sent)))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::model::modal::Modal;
    use crate::app::msg::Msg;
    use crate::app::tests::{ready, script};
    use crate::app::update;
    use crate::protocol::AgentEvent;

    fn part(item: i64, what: &str, tokens: u64, sent: Sent) -> ContextPart {
        ContextPart { item: (item > 0).then_some(ItemId(item)), what: what.into(), tokens, sent }
    }

    fn shown() -> Model {
        let mut model = ready();
        model.tab.meter = Meter { context: 12_345, window: Some(200_000), ..Meter::default() };
        let list = Effect::Agent(AgentCommand::Context(ContextOrder::List));
        assert!(script(&mut model, "/context<ret>").contains(&list));
        let parts = vec![
            part(4, "#4 read_file a.rs", 10_000, Sent::Whole),
            part(0, "system prompt", 2_000, Sent::Whole),
            part(2, "you: #2 do it", 40, Sent::Kept(Keep::Out)),
        ];
        update(&mut model, 0, Msg::Agent(AgentEvent::ContextParts(parts)));
        model
    }

    #[test]
    fn what_fills_the_window_is_listed_with_its_share() {
        let model = shown();
        let Some(Modal::Picker(picker)) = model.tab.modals.last() else { panic!("{:?}", model.tab.modals) };
        assert_eq!(picker.title, "Next request: 6 % · 12,345 of 200,000 tokens");
        let rows: Vec<String> =
            picker.items.iter().map(|item| format!("{} | {} | {}", item.label, item.detail, item.hint)).collect();
        let expected = [
            "● #4 read_file a.rs |  | ≈ 10,000 · 5 %",
            "■ system prompt | in every request | ≈ 2,000 · 1 %",
            "○ you: #2 do it | left out | ≈ 40 · <1 %",
        ];
        assert_eq!(rows, expected);
        assert!(picker.footnote.contains("pins it"), "{}", picker.footnote);
    }

    #[test]
    fn enter_goes_through_what_can_be_done_and_not_with_the_prompt() {
        let mut model = shown();
        let keep = |id, keep| Effect::Agent(AgentCommand::Context(ContextOrder::Keep(ItemId(id), keep)));
        assert!(script(&mut model, "<ret>").contains(&keep(4, Some(Keep::Pinned))));
        let effects = script(&mut model, "<down><ret>");
        assert!(!effects.iter().any(|effect| matches!(effect, Effect::Agent(AgentCommand::Context(_)))), "{effects:?}");
        assert!(script(&mut model, "<down><ret>").contains(&keep(2, None)));
        for (sent, then) in [
            (Sent::Shortened, Some(Keep::Pinned)),
            (Sent::Kept(Keep::Pinned), Some(Keep::Line)),
            (Sent::Kept(Keep::Line), Some(Keep::Out)),
        ] {
            assert_eq!(next(sent), then);
        }
    }
}
