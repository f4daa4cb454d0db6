//! The conversation before its first message: who this is, where it stands, what to try.

use crate::app::Model;
use crate::app::action::Action;
use crate::app::input::{hint, suggestions};
use crate::app::model::layout::{Area, Hit, Layout};
use crate::config::keymap::Context;
use crate::config::skin::Skin;
use crate::config::theme::Slot;
use crate::text::format::plural;
use crate::text::width::{truncate_middle, width};
use crate::text::{Role, Span};
use crate::ui::paint::Paint;
use crate::ui::{chrome, hints};
use ratatui::layout::Rect;

/// Draws it into the conversation.
pub fn draw(model: &Model, paint: &mut Paint<'_>, area: Rect, layout: &mut Layout) {
    let skin = &model.look.skin;
    let banner_width = skin.banner.iter().map(|line| width(line)).max().unwrap_or(0);
    let tall = usize::from(area.height) >= skin.banner.len() + 13;
    let banner = !skin.banner.is_empty() && tall && usize::from(area.width) >= banner_width + 6;
    let facts = facts(model);
    let prompts = suggestions::all(model);
    let body = facts.len() + prompts.len() + 5;
    let height = body + if banner { skin.banner.len() + 1 } else { 0 };
    let left = area.x + 4;
    let right = area.right().saturating_sub(2);
    let room = right.saturating_sub(left);
    let mut y = area.y + (usize::from(area.height).saturating_sub(height) / 3) as u16;
    let mut next = |rows: u16| {
        let at = y;
        y = y.saturating_add(rows);
        (at < area.bottom()).then_some(at)
    };
    if banner {
        for line in banner_lines(skin) {
            if let Some(at) = next(1) {
                paint.put(left, at, room, line, paint.role(Role::Accent));
            }
        }
        next(1);
    }
    let glyph = if skin.glyph.is_empty() { "☤" } else { &skin.glyph };
    let name = if skin.agent_name.is_empty() { "Hermes Agent" } else { &skin.agent_name };
    if let Some(at) = next(1) {
        paint.put(left.saturating_sub(2), at, 2, glyph, paint.role(Role::Accent));
        let x = paint.put(left, at, room, name, paint.role(Role::Heading(1)));
        let welcome = format!("   {}", skin.welcome);
        paint.fit(x, at, right.saturating_sub(x), &welcome, paint.role(Role::Dim));
    }
    next(1);
    for (label, value) in &facts {
        let Some(at) = next(1) else { return };
        paint.put(left, at, 10, label, paint.role(Role::Dim));
        paint.spans(left + 10, at, room.saturating_sub(10), value);
    }
    next(1);
    if let Some(at) = next(1) {
        let x = paint.put(left, at, room, "Try", paint.role(Role::Dim));
        let key = hint::key_in(model, Context::Composer, Action::HistoryNext);
        let takes = key.map_or("a click".to_owned(), |key| format!("{key} or a click"));
        let send = hint::key_in(model, Context::Composer, Action::Send);
        let how = format!("   {}", hint::sentence(&[(Some(takes), "takes one"), (send, "sends it")]));
        paint.fit(x, at, right.saturating_sub(x), &how, paint.role(Role::Dim));
    }
    let taken = suggestions::taken(model);
    for (index, prompt) in prompts.iter().enumerate() {
        let Some(at) = next(1) else { return };
        let place = Rect { x: left, y: at, width: room, height: 1 };
        if taken == Some(index) {
            paint.tone(place, Slot::Selection);
        }
        paint.put(left, at, 2, "·", paint.role(Role::Dim));
        paint.fit(left + 2, at, room.saturating_sub(2), prompt, paint.role(Role::Text));
        let hit = Area { x: place.x, y: place.y, width: place.width, height: 1 };
        layout.targets.push((hit, Hit::Suggestion(index)));
    }
    next(1);
    let (palette, sessions) = (hints::key_of(model, "command-palette"), hints::key_of(model, "session-browser"));
    let (first, second) =
        ("Type / for commands, @ for files.", format!("{palette} shows everything, {sessions} past sessions."));
    let whole = format!("{first} {second}");
    let rows = if width(&whole) <= usize::from(room) { vec![whole] } else { vec![first.to_owned(), second] };
    for hint in rows {
        let Some(at) = next(1) else { return };
        paint.fit(left, at, room, &hint, paint.role(Role::Dim));
    }
}

/// The banner without the blanks that all of its lines begin with.
pub fn banner_lines(skin: &Skin) -> impl Iterator<Item = &str> {
    let indent = |line: &String| line.len() - line.trim_start_matches(' ').len();
    let common = skin.banner.iter().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    skin.banner.iter().map(move |line| line.get(common..).unwrap_or_default())
}

fn facts(model: &Model) -> Vec<(&'static str, Vec<Span>)> {
    let mut out = Vec::new();
    let text = |text: String| vec![Span::new(text, Role::Text)];
    if let Some(session) = &model.tab.session {
        let model_name = if session.model.is_empty() { "none yet".to_owned() } else { session.model.clone() };
        let mut value = text(model_name);
        value.push(Span::new(format!(" · {}", chrome::effort(session.effort)), Role::Dim));
        out.push(("model", value));
        let mut value = text(truncate_middle(&model.shown_folder(&session.cwd), 60));
        if let Some(git) = &model.tab.sidebar.git {
            value.push(Span::new(format!("  {}", chrome::branch(git)), Role::Dim));
        }
        out.push(("folder", value));
    }
    let knowledge = &model.tab.sidebar.knowledge;
    let (blocked, read): (Vec<_>, Vec<_>) = knowledge
        .context_files
        .iter()
        .partition(|(_, problem)| problem.as_ref().is_some_and(|why| why.starts_with("blocked")));
    let mut found: Vec<String> = read.into_iter().map(|(name, _)| name.clone()).collect();
    if !knowledge.skills.is_empty() {
        found.push(plural(knowledge.skills.len() as u64, "skill", "skills"));
    }
    if let Some((percent, _)) = &knowledge.notes {
        found.push(format!("memory {percent} %"));
    }
    if !found.is_empty() {
        out.push(("found", text(found.join(" · "))));
    }
    if !blocked.is_empty() {
        let names: Vec<&str> = blocked.iter().map(|(name, _)| name.as_str()).collect();
        let value = format!("{}: looks like a prompt injection", names.join(", "));
        out.push(("left out", vec![Span::new(value, Role::Careful)]));
    }
    if let Some(tools) = chrome::tools(knowledge) {
        out.push(("tools", tools));
    }
    if let Some(tools) = knowledge.unavailable.first() {
        let value = format!("{}: {}", tools.0, tools.1);
        out.push(("missing", vec![Span::new(value, Role::Careful)]));
    }
    if model.demo {
        out.push(("demo", vec![Span::new("scripted model; nothing leaves this machine", Role::Careful)]));
    }
    out
}
