//! The card of a start without a model: what was found, the way to try it offline, what can be set up.

use crate::app::Model;
use crate::app::action::Action;
use crate::app::input::hint;
use crate::app::lists::first_run::{Row, rows};
use crate::app::model::first_run::FirstRun;
use crate::app::model::layout::{Area, Hit, Layout};
use crate::config::keymap::Context;
use crate::config::theme::Slot;
use crate::text::Role;
use crate::text::format::plural;
use crate::ui::live;
use crate::ui::paint::{Paint, cells};
use ratatui::layout::Rect;

/// A line of the card.
enum Line {
    Blank,
    /// A line of the banner.
    Art(String),
    Title(&'static str),
    Text(&'static str),
    /// The keys.
    Foot(String),
    Group(&'static str),
    /// Its index among the rows, label and detail.
    Entry(usize, String, String),
}

/// Heading, label and detail of a row.
fn words(card: &FirstRun, row: &Row) -> (&'static str, String, String) {
    let name = |provider: &str| card.name(provider).to_owned();
    match row {
        Row::Key(provider, from) => ("Keys already on this machine", name(provider), from.clone()),
        Row::Server(server) => {
            let models = match server.models.as_slice() {
                [] => "no model loaded".to_owned(),
                [only] => only.clone(),
                several => plural(several.len() as u64, "model", "models"),
            };
            ("Your own server", server.label(), format!("{models} · {}", server.address()))
        }
        Row::OwnServer => {
            ("Your own server", "My own server…".to_owned(), "an address, and a key if needed".to_owned())
        }
        Row::Offline => {
            let detail = "a scripted model, real tools, a scratch folder";
            ("Without an account", "Try it offline".to_owned(), detail.to_owned())
        }
        Row::Provider(provider) => ("Set up a provider", name(provider), "paste a key".to_owned()),
        Row::More(count) => ("Set up a provider", format!("{count} more…"), String::new()),
    }
}

fn lines(model: &Model, card: &FirstRun) -> Vec<Line> {
    let mut lines = if !card.broken {
        vec![Line::Title("Welcome"), Line::Text("Hermes needs a model. Nothing is sent anywhere until you choose one.")]
    } else {
        vec![
            Line::Title("config.yaml cannot be read"),
            Line::Text("Your settings are safe. Fix the file and run /reload, or start with one of these."),
        ]
    };
    if card.found.is_none() {
        lines.extend([Line::Blank, Line::Text("looking for keys and local servers…")]);
    }
    let mut group = "";
    for (index, row) in rows(card).iter().enumerate() {
        let (heading, label, detail) = words(card, row);
        if heading != group {
            lines.extend([Line::Blank, Line::Group(heading)]);
            group = heading;
        }
        lines.push(Line::Entry(index, label, detail));
    }
    let key = |action| hint::key_in(model, Context::FirstRun, action);
    let foot = hint::list(&[
        (hint::pair(key(Action::Previous), key(Action::Next)), "choose"),
        (key(Action::Accept), "select"),
        (Some("/model and /login".to_owned()), "later"),
    ]);
    lines.extend([Line::Blank, Line::Foot(foot)]);
    lines
}

/// Draws the card into the conversation; its rows can be clicked.
pub fn draw(model: &Model, card: &FirstRun, paint: &mut Paint<'_>, area: Rect, layout: &mut Layout) {
    let skin = &model.look.skin;
    let left = area.x + 4;
    let width = area.width.saturating_sub(6).min(88);
    let mut lines = lines(model, card);
    let banner = skin.banner.len();
    if banner > 0 && usize::from(area.height) >= lines.len() + banner + 3 && area.width >= 60 {
        let art = super::empty::banner_lines(skin).map(|line| Line::Art(line.to_owned()));
        lines.splice(0..0, art.chain([Line::Blank]));
    }
    // A window of the lines that holds the selected one.
    let selected = lines.iter().position(|line| matches!(line, Line::Entry(at, _, _) if *at == card.selected));
    let height = usize::from(area.height);
    let skip = selected.map_or(0, |at| (at + 3).saturating_sub(height)).min(lines.len().saturating_sub(height));
    let top = area.y + (height.saturating_sub(lines.len()) / 3) as u16;
    for (at, line) in lines.iter().skip(skip).take(height).enumerate() {
        let y = top + at as u16;
        match line {
            Line::Blank => {}
            Line::Art(art) => {
                paint.put(left, y, width, art, paint.role(Role::Accent));
            }
            Line::Title(title) => {
                let glyph = if skin.glyph.is_empty() { "☤" } else { &skin.glyph };
                paint.put(left - 2, y, 2, glyph, paint.role(Role::Accent));
                paint.fit(left, y, width, title, paint.role(Role::Heading(1)));
            }
            Line::Text(text) => {
                paint.fit(left, y, width, text, paint.role(Role::Dim));
                if text.starts_with("looking") {
                    paint.put(left - 2, y, 1, live::spinner(model.now), paint.slot(Slot::Spinner));
                }
            }
            Line::Foot(keys) => {
                paint.fit(left, y, width, keys, paint.role(Role::Dim));
            }
            Line::Group(title) => {
                paint.fit(left, y, width, title, paint.role(Role::Dim));
            }
            Line::Entry(number, label, detail) => {
                let place = Rect { x: left - 2, y, width: width + 2, height: 1 };
                let chosen = *number == card.selected;
                if chosen {
                    paint.tone(place, Slot::Selection);
                    paint.put(left - 2, y, 2, "▸", paint.slot(Slot::Prompt));
                }
                let column = cells(26).min(width / 2);
                paint.fit(left, y, column, label, paint.role(if chosen { Role::Strong } else { Role::Text }));
                let x = left + column + 1;
                paint.fit(x, y, width.saturating_sub(column + 1), detail, paint.role(Role::Dim));
                let hit = Area { x: place.x, y, width: place.width, height: 1 };
                layout.targets.push((hit, Hit::FirstRunRow(*number)));
            }
        }
    }
}
