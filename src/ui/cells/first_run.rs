//! The card of a start without a model: what was found, what can be set up, and the way to try it offline.

use crate::app::Model;
use crate::app::model::first_run::FirstRun;
use crate::app::model::layout::{Area, Hit, Layout};
use crate::config::theme::Slot;
use crate::text::Role;
use crate::text::format::plural;
use crate::ui::live;
use crate::ui::paint::{Paint, cells};
use ratatui::layout::Rect;

struct Entry {
    label: String,
    detail: String,
}

/// Groups of rows in the order in which rows count: keys, servers, providers, the demo.
fn groups(first_run: &FirstRun) -> Vec<(&'static str, Vec<Entry>)> {
    let mut out = Vec::new();
    if let Some(found) = &first_run.found {
        let keys = found.keys.iter().map(|(name, from)| Entry { label: name.clone(), detail: from.clone() });
        let servers = found.servers.iter().map(|(name, address, models)| Entry {
            label: name.clone(),
            detail: format!("{address} · {}", plural(*models as u64, "model", "models")),
        });
        let providers =
            found.providers.iter().map(|name| Entry { label: name.clone(), detail: "paste a key".to_owned() });
        out.push(("Keys that are here already", keys.collect()));
        out.push(("Servers on this machine", servers.collect()));
        out.push(("Set up a provider", providers.collect()));
    }
    let detail = "a scripted model, real tools, a scratch folder".to_owned();
    out.push(("No account", vec![Entry { label: "Try it offline".to_owned(), detail }]));
    out.retain(|(_, entries): &(&str, Vec<Entry>)| !entries.is_empty());
    out
}

/// Draws the card into the conversation; its rows can be clicked.
pub fn draw(model: &Model, first_run: &FirstRun, paint: &mut Paint<'_>, area: Rect, layout: &mut Layout) {
    let skin = &model.look.skin;
    let groups = groups(first_run);
    let left = area.x + 4;
    let width = area.width.saturating_sub(6).min(88);
    // Logical rows, then a window of them that holds the selected one.
    enum Line<'a> {
        Blank,
        Title,
        Text(&'a str),
        Group(&'a str),
        Entry(usize, &'a Entry),
    }
    let mut lines =
        vec![Line::Title, Line::Text("Hermes needs a model to work with. Nothing is sent anywhere before you choose.")];
    if first_run.found.is_none() {
        lines.extend([Line::Blank, Line::Text("looking for keys and local servers…")]);
    }
    let mut index = 0;
    for (title, entries) in &groups {
        lines.extend([Line::Blank, Line::Group(title)]);
        for entry in entries {
            lines.push(Line::Entry(index, entry));
            index += 1;
        }
    }
    lines.extend([Line::Blank, Line::Text("↑↓ choose · Enter takes it · /model and /config later")]);
    let selected = lines.iter().position(|line| matches!(line, Line::Entry(at, _) if *at == first_run.selected));
    let height = usize::from(area.height);
    let skip = selected.map_or(0, |at| (at + 3).saturating_sub(height)).min(lines.len().saturating_sub(height));
    let top = area.y + (height.saturating_sub(lines.len()) / 3) as u16;
    for (at, line) in lines.iter().skip(skip).take(height).enumerate() {
        let y = top + at as u16;
        match line {
            Line::Blank => {}
            Line::Title => {
                let glyph = if skin.glyph.is_empty() { "☤" } else { &skin.glyph };
                paint.put(left - 2, y, 2, glyph, paint.role(Role::Accent));
                paint.fit(left, y, width, "Welcome", paint.role(Role::Heading(1)));
            }
            Line::Text(text) => {
                paint.fit(left, y, width, text, paint.role(Role::Dim));
                if text.starts_with("looking") {
                    paint.put(left - 2, y, 1, live::spinner(model.now), paint.slot(Slot::Spinner));
                }
            }
            Line::Group(title) => {
                paint.fit(left, y, width, title, paint.role(Role::Strong));
            }
            Line::Entry(number, entry) => {
                let place = Rect { x: left - 2, y, width: width + 2, height: 1 };
                let chosen = *number == first_run.selected;
                if chosen {
                    paint.tone(place, Slot::Selection);
                    paint.put(left - 2, y, 2, "▸", paint.slot(Slot::Prompt));
                }
                let column = cells(24).min(width / 2);
                paint.fit(left, y, column, &entry.label, paint.role(if chosen { Role::Strong } else { Role::Text }));
                let x = left + column + 1;
                paint.fit(x, y, width.saturating_sub(column + 1), &entry.detail, paint.role(Role::Dim));
                let hit = Area { x: place.x, y, width: place.width, height: 1 };
                layout.targets.push((hit, Hit::FirstRunRow(*number)));
            }
        }
    }
}
