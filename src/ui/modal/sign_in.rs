//! A code to type or an address to visit, and the time that is left for it.

use super::Frame;
use crate::app::Model;
use crate::app::action::Action;
use crate::app::input::hint;
use crate::app::model::sign_in::{SignInModal, SignInStage, Visit};
use crate::text::width::width;
use crate::text::wrap::{Row, Wrap, wrap_into};
use crate::text::{Ground, Line, Role, Span};
use crate::ui::paint::{Paint, cells, row};
use ratatui::layout::Rect;

/// Draws it and returns where its caret is.
pub fn draw(model: &Model, state: &SignInModal, paint: &mut Paint<'_>, area: Rect) -> Option<(u16, u16)> {
    let columns = 64.min(area.width.saturating_sub(10)).max(12);
    let mut text: Vec<Row> = Vec::new();
    let mut say = |words: &str, role: Role| {
        let how = Wrap { width: usize::from(columns), ..Wrap::default() };
        for line in words.lines() {
            wrap_into(&mut text, &[Span::new(line, role)], Ground::Base, &how);
        }
    };
    let (enter, leave) = (hint::here(model, Action::Accept), hint::here(model, Action::Close));
    let copy = hint::here(model, Action::CopyAddress);
    let opens = [(enter.clone(), "opens it"), (copy, "copies it"), (leave.clone(), "cancels")];
    let (foot, qr): (String, &[String]) = match &state.stage {
        SignInStage::Asking => {
            say("asking for a code…", Role::Dim);
            (hint::list(&[(leave, "cancels")]), &[])
        }
        SignInStage::Code(visit) => {
            say("On this or any other device, open", Role::Text);
            say(&visit.address, Role::Accent);
            say("and type the code", Role::Text);
            say(&format!("  {}", visit.code), Role::Strong);
            say(&left(visit, model.now), Role::Dim);
            (hint::list(&opens), &visit.qr)
        }
        SignInStage::Browser(visit) => {
            say("Sign in in your browser at", Role::Text);
            say(&visit.address, Role::Accent);
            say("It comes back on its own. Browser on another machine? Paste the address it ends at.", Role::Text);
            say(&left(visit, model.now), Role::Dim);
            (hint::list(&opens), &[])
        }
        SignInStage::Failed(why) => {
            say(why, Role::Careful);
            (hint::list(&[(enter, "tries again"), (leave, "closes")]), &[])
        }
    };
    let mut rows: Vec<Line> = text.into_iter().map(|row| row.line).collect();
    // A code that is cut off reads as nothing: it is shown whole or not at all.
    let wide = qr.first().map_or(0, |line| width(line));
    let room = usize::from(area.height.saturating_sub(5));
    let fits = wide > 0 && wide <= usize::from(columns) && rows.len() + 1 + qr.len() <= room;
    if fits {
        rows.push(Line::default());
        let dark = paint.theme.dark;
        rows.extend(qr.iter().map(|line| {
            Line::plain(if dark { line.clone() } else { line.chars().map(other_half).collect() }, Role::Text)
        }));
    }
    let title = format!("Sign in to {}", state.title);
    let frame = Frame { title: &title, foot: &foot, ..Frame::default() };
    let place = frame.draw(paint, area, columns, cells(rows.len()) + 2);
    for (index, line) in rows.iter().take(usize::from(place.height.saturating_sub(1))).enumerate() {
        paint.line(row(place, index as u16 + 1), line);
    }
    None
}

/// What is drawn is light: where text is dark, the other half of each cell is drawn.
fn other_half(cell: char) -> char {
    match cell {
        '█' => ' ',
        '▀' => '▄',
        '▄' => '▀',
        _ => '█',
    }
}

/// The time that is left.
fn left(visit: &Visit, now: i64) -> String {
    let seconds = (visit.ends - now).max(0) / 1000;
    format!("waiting for you, {}:{:02} left", seconds / 60, seconds % 60)
}
