//! The card of a start without a model: what was found, the way to try it offline, what can be set up.

use crate::app::Model;
use crate::app::action::Action;
use crate::app::input::hint;
use crate::app::lists::first_run::{Row, rows, selected};
use crate::app::lists::local_models;
use crate::app::model::first_run::FirstRun;
use crate::app::model::layout::{Area, Hit, Layout};
use crate::app::model::local::{DownloadState, OfferState};
use crate::config::keymap::Context;
use crate::config::theme::Slot;
use crate::llm::ready;
use crate::llm::ready::ways::{self, KEYS, LOCAL, PROVIDER, SERVER};
use crate::text::format::{self, plural};
use crate::text::width::width;
use crate::text::wrap::{Row as Wrapped, Wrap, wrap_into};
use crate::text::{Ground, Role, Span};
use crate::ui::paint::{Paint, cells};
use crate::ui::{live, sidebar};
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
    /// Its index among the rows, label, detail.
    Entry(usize, String, String, Role),
    /// More about the entry above, in the column of its detail; of which entry.
    More(usize, String, Role),
    /// How much of the entry above is here, in percent.
    Meter(usize, u64),
}

/// Heading, label and detail of a row.
fn words(model: &Model, row: &Row) -> (&'static str, String, String) {
    let name = |provider: &str| ready::title(provider).to_owned();
    let local = &model.local;
    let title = |name: &str| local.find(name).map_or_else(|| name.to_owned(), |offer| offer.title.clone());
    match row {
        Row::Key(provider, from) => (KEYS, name(provider), from.clone()),
        Row::Server(server) => {
            let models = match server.models.as_slice() {
                [] => "no model loaded".to_owned(),
                [only] => only.clone(),
                several => plural(several.len() as u64, "model", "models"),
            };
            (SERVER, server.label(), format!("{models} · {}", server.address()))
        }
        Row::Idle(idle) => (SERVER, format!("Start {}", idle.name), format!("installed, not running · {}", idle.line)),
        Row::OwnServer => (SERVER, "My own server…".to_owned(), "an address, and a key if needed".to_owned()),
        Row::Offline => {
            let detail = "a scripted model, real tools, a scratch folder";
            ("Without an account · free", "Try it offline".to_owned(), detail.to_owned())
        }
        Row::UseLocal(name) => {
            let offer = local.find(name);
            let detail = offer.map(|offer| format!("on this computer · {}", format::bytes(offer.bytes)));
            (LOCAL, format!("Use {}", title(name)), detail.unwrap_or_default())
        }
        Row::GetLocal(name) => {
            let part = match local.find(name).map(|offer| offer.state) {
                Some(OfferState::Part(percent)) => Some(percent),
                _ => None,
            };
            let label = format!("{} {}", if part.is_some() { "Resume" } else { "Get" }, title(name));
            (LOCAL, label, part.map(|percent| format!("{percent} % here")).unwrap_or_default())
        }
        Row::Download => {
            let download = local.download.as_ref();
            let label = download.map(|download| download.title.clone());
            (LOCAL, label.unwrap_or_default(), download.map(local_models::long).unwrap_or_default())
        }
        Row::MoreLocal => {
            let count = local.offers.as_ref().map_or(0, |offers| offers.rows.len());
            let count = format!("{} for this computer", plural(count as u64, "model", "models"));
            (LOCAL, "Other models…".to_owned(), count)
        }
        Row::NoLocal(_) => (LOCAL, "Can't run one yet".to_owned(), String::new()),
        Row::SignIn(row) => (PROVIDER, format!("Sign in to {}", row.title), ways::sign_in(row.by_browser).to_owned()),
        Row::Provider(provider) => (PROVIDER, name(provider), "paste a key".to_owned()),
        Row::More(count) => (PROVIDER, format!("{count} more…"), String::new()),
    }
}

/// What else is said about a row: what it takes, from whom, how far it is, and what went wrong.
fn about(model: &Model, row: &Row) -> Vec<(String, Role)> {
    let dim = |text: String| (text, Role::Dim);
    match row {
        Row::GetLocal(name) => {
            let parts = model.local.find(name).map(|offer| local_models::takes(model, offer));
            parts.into_iter().flatten().map(dim).collect()
        }
        Row::Download => {
            let (does, why) = match model.local.download.as_ref().map(|download| &download.state) {
                Some(DownloadState::Paused) => ("resumes", None),
                Some(DownloadState::Failed(why)) => ("tries again", Some((why.clone(), Role::Bad))),
                Some(DownloadState::Running) | None => ("pauses", None),
            };
            let key = |action| hint::key_in(model, Context::FirstRun, action);
            let keys = [(key(Action::Accept), does), (key(Action::CancelDownload), "cancels")];
            why.into_iter().chain([dim(hint::sentence(&keys))]).collect()
        }
        Row::NoLocal(why) => vec![dim(why.clone())],
        Row::Key(..)
        | Row::Server(_)
        | Row::Idle(_)
        | Row::OwnServer
        | Row::UseLocal(_)
        | Row::MoreLocal
        | Row::SignIn(_)
        | Row::Provider(_)
        | Row::Offline
        | Row::More(_) => Vec::new(),
    }
}

/// Lines of parts that are not broken where they need not be.
fn flow(parts: Vec<(String, Role)>, room: usize) -> Vec<(String, Role)> {
    let mut lines: Vec<(String, Role)> = Vec::new();
    for (part, role) in parts {
        match lines.last_mut().filter(|last| last.1 == role && width(&last.0) + 3 + width(&part) <= room) {
            Some((last, _)) => last.push_str(&format!(" · {part}")),
            None => {
                let mut rows: Vec<Wrapped> = Vec::new();
                let how = Wrap { width: room, ..Wrap::default() };
                wrap_into(&mut rows, &[Span::new(part, role)], Ground::Base, &how);
                lines.extend(rows.into_iter().map(|row| (row.line.text(), role)));
            }
        }
    }
    lines
}

fn lines(model: &Model, card: &FirstRun, width: u16) -> Vec<Line> {
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
    let room = usize::from(width.saturating_sub(column(width) + 1)).max(12);
    for (index, row) in rows(card, &model.local).iter().enumerate() {
        let (heading, label, detail) = words(model, row);
        if heading != group {
            lines.extend([Line::Blank, Line::Group(heading)]);
            group = heading;
        }
        let mut more = flow(about(model, row), room).into_iter();
        let detail = if detail.is_empty() { more.next().unwrap_or_default() } else { (detail, Role::Dim) };
        lines.push(Line::Entry(index, label, detail.0, detail.1));
        if let Some(download) = model.local.download.as_ref().filter(|_| *row == Row::Download) {
            lines.push(Line::Meter(index, local_models::filled(download)));
        }
        lines.extend(more.map(|(text, role)| Line::More(index, text, role)));
    }
    let key = |action| hint::key_in(model, Context::FirstRun, action);
    let foot = hint::list(&[
        (hint::pair(key(Action::Previous), key(Action::Next)), "choose"),
        (key(Action::Accept), takes(model)),
        (Some("/model and /login".to_owned()), "later"),
    ]);
    lines.extend([Line::Blank, Line::Foot(foot)]);
    lines
}

/// What Enter does with the selected row.
fn takes(model: &Model) -> &'static str {
    match selected(model) {
        Some(Row::GetLocal(_)) => "get it",
        Some(Row::Idle(_)) => "start it",
        Some(Row::NoLocal(_)) => "look again",
        Some(Row::SignIn(_)) => "sign in",
        _ => "select",
    }
}

/// Where details begin.
fn column(width: u16) -> u16 {
    cells(26).min(width / 2)
}

/// Draws the card into the conversation; its rows can be clicked.
pub fn draw(model: &Model, card: &FirstRun, paint: &mut Paint<'_>, area: Rect, layout: &mut Layout) {
    let skin = &model.look.skin;
    let left = area.x + 4;
    let width = area.width.saturating_sub(6).min(88);
    let mut lines = lines(model, card, width);
    let banner = skin.banner.len();
    if banner > 0 && usize::from(area.height) >= lines.len() + banner + 3 && area.width >= 60 {
        let art = super::empty::banner_lines(skin).map(|line| Line::Art(line.to_owned()));
        lines.splice(0..0, art.chain([Line::Blank]));
    }
    // A window of the lines that holds the selected one.
    let of = |line: &Line| match line {
        Line::Entry(at, ..) | Line::More(at, ..) | Line::Meter(at, _) => Some(*at),
        Line::Blank | Line::Art(_) | Line::Title(_) | Line::Text(_) | Line::Foot(_) | Line::Group(_) => None,
    };
    let selected = lines.iter().rposition(|line| of(line) == Some(card.selected));
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
            Line::More(_, text, role) => {
                let x = left + column(width) + 1;
                paint.fit(x, y, width.saturating_sub(column(width) + 1), text, paint.role(*role));
            }
            Line::Meter(_, percent) => {
                let x = left + column(width) + 1;
                let place = Rect { x, y, width: width.saturating_sub(column(width) + 1).min(40), height: 1 };
                sidebar::meter(paint, place, *percent);
            }
            Line::Entry(number, label, detail, role) => {
                let place = Rect { x: left - 2, y, width: width + 2, height: 1 };
                let chosen = *number == card.selected;
                if chosen {
                    paint.tone(place, Slot::Selection);
                    paint.put(left - 2, y, 2, "▸", paint.slot(Slot::Prompt));
                }
                // A label without a detail has the row.
                let column = if detail.is_empty() { width.saturating_sub(1) } else { column(width) };
                paint.fit(left, y, column, label, paint.role(if chosen { Role::Strong } else { Role::Text }));
                let x = left + column + 1;
                paint.fit(x, y, width.saturating_sub(column + 1), detail, paint.role(*role));
                let hit = Area { x: place.x, y, width: place.width, height: 1 };
                layout.targets.push((hit, Hit::FirstRunRow(*number)));
            }
        }
    }
}
