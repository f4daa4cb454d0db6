//! `/context`: what fills the window, largest first, and what of it is sent.

use super::pickers;
use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::input::hint;
use crate::app::model::Model;
use crate::app::model::modal::{PickItem, PickerKind};
use crate::protocol::{AgentCommand, ContextLayer, ContextOrder, ContextPart, ContextView, Keep, Layer, Meter, Sent};
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
pub fn listed(model: &mut Model, view: ContextView) {
    model.tab.context = view;
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

/// Layer by layer, the largest first, and so the parts of each.
fn items(view: &ContextView, meter: &Meter) -> Vec<PickItem> {
    let sum = view.parts.iter().map(|part| part.tokens).sum::<u64>();
    let whole = meter.window.filter(|window| *window > 0).unwrap_or(sum);
    let of_layer = |layer: &ContextLayer| {
        let group = heading(layer);
        let parts = view.parts.iter().filter(|part| part.layer == layer.layer);
        parts.map(|part| PickItem { group: group.clone(), ..item(part, whole) }).collect::<Vec<_>>()
    };
    view.layers.iter().flat_map(of_layer).collect()
}

/// `memory · ≈ 1,200 of at most 4,000 tokens`.
fn heading(layer: &ContextLayer) -> String {
    let (name, tokens) = (layer.layer.word(), count(layer.tokens));
    let cut = if layer.is_cut() { format!(" · cut from {}", count(layer.whole)) } else { String::new() };
    match layer.most {
        Some(most) => format!("{name} · ≈ {tokens} of at most {} tokens{cut}", count(most)),
        None => format!("{name} · ≈ {tokens} tokens{cut}"),
    }
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
        value: key(part),
        ..PickItem::default()
    }
}

/// What a row is found again by.
fn key(part: &ContextPart) -> String {
    part.item.map_or_else(|| format!("{} {}", part.layer.word(), part.what), |id| id.0.to_string())
}

/// What Enter would do, below the list, or why it does nothing.
pub fn note(model: &mut Model) {
    let key = hint::picker(model, Action::Accept);
    let note = chosen(model).map(|part| match (fixed(&part), next(part.sent)) {
        (Some(why), _) => why.to_owned(),
        (None, Some(Keep::Pinned)) => hint::sentence(&[(key, "pins it: sent as it is, whatever is compacted")]),
        (None, Some(Keep::Line)) => hint::sentence(&[(key, "sends one line of it")]),
        (None, Some(Keep::Out)) => hint::sentence(&[(key, "leaves it out")]),
        (None, None) => hint::sentence(&[(key, "sends it as usual again")]),
    });
    if let Some(picker) = pickers::top(model, PickerKind::Context) {
        picker.footnote = note.unwrap_or_default();
    }
}

/// Why a part can't be pinned or left out, and what changes it.
fn fixed(part: &ContextPart) -> Option<&'static str> {
    if part.item.is_some() {
        return None;
    }
    Some(match part.layer {
        Layer::Session => "fixed: it stands for what was compacted; /compact edit or undo changes it",
        Layer::Tools => "fixed: each request has the tools; /toolsets chooses them",
        Layer::Runtime => "fixed: it is looked up for each prompt",
        Layer::Identity | Layer::Project | Layer::Skills | Layer::Profile | Layer::Learnings | Layer::Memory => {
            "fixed: it was read when the session began and is in each request"
        }
    })
}

fn chosen(model: &mut Model) -> Option<ContextPart> {
    let picker = pickers::top(model, PickerKind::Context)?;
    let value = pickers::chosen(picker)?.value.clone();
    model.tab.context.parts.iter().find(|part| key(part) == value).cloned()
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
    // Of a fixed one the list says why it is.
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
    use crate::protocol::{AgentEvent, ItemId};

    fn part(item: i64, what: &str, tokens: u64, sent: Sent) -> ContextPart {
        let layer = if item > 0 { Layer::Session } else { Layer::Identity };
        ContextPart { layer, item: (item > 0).then_some(ItemId(item)), what: what.into(), tokens, sent }
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
        let layer = |layer, tokens, most, whole| ContextLayer { layer, tokens, most, whole };
        let layers = vec![
            layer(Layer::Session, 10_040, Some(150_000), 10_040),
            layer(Layer::Identity, 2_000, Some(6_000), 2_500),
            layer(Layer::Memory, 0, None, 0),
        ];
        update(&mut model, 0, Msg::Agent(AgentEvent::ContextParts(Box::new(ContextView { layers, parts }))));
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
            "○ you: #2 do it | left out | ≈ 40 · <1 %",
            "■ system prompt | in every request | ≈ 2,000 · 1 %",
        ];
        assert_eq!(rows, expected);
        let groups: Vec<&str> = picker.items.iter().map(|item| item.group.as_str()).collect();
        let session = "session · ≈ 10,040 of at most 150,000 tokens";
        assert_eq!(groups, [session, session, "identity · ≈ 2,000 of at most 6,000 tokens · cut from 2,500"]);
        assert!(picker.footnote.contains("pins it"), "{}", picker.footnote);
    }

    #[test]
    fn enter_goes_through_what_can_be_done_and_not_with_the_prompt() {
        let mut model = shown();
        let keep = |id, keep| Effect::Agent(AgentCommand::Context(ContextOrder::Keep(ItemId(id), keep)));
        assert!(script(&mut model, "<ret>").contains(&keep(4, Some(Keep::Pinned))));
        let effects = script(&mut model, "<down><down><ret>");
        assert!(!effects.iter().any(|effect| matches!(effect, Effect::Agent(AgentCommand::Context(_)))), "{effects:?}");
        let why = "fixed: it was read when the session began and is in each request";
        let Some(Modal::Picker(picker)) = model.tab.modals.last() else { panic!("{:?}", model.tab.modals) };
        assert_eq!(picker.footnote, why);
        assert!(script(&mut model, "<up><ret>").contains(&keep(2, None)));
        for (sent, then) in [
            (Sent::Shortened, Some(Keep::Pinned)),
            (Sent::Kept(Keep::Pinned), Some(Keep::Line)),
            (Sent::Kept(Keep::Line), Some(Keep::Out)),
        ] {
            assert_eq!(next(sent), then);
        }
    }
}
