//! What moves: spinners, clocks and the line that says what the model is doing. Time is in the state.

use crate::app::Model;
use crate::app::model::TurnStatus;
use crate::app::model::transcript::CellKind;
use crate::text::format;
use crate::text::{Role, Span};

/// Ten frames a second, each one cell wide.
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// Two cells wide each.
const MOONS: [&str; 8] = ["🌑", "🌒", "🌓", "🌔", "🌕", "🌖", "🌗", "🌘"];
/// For terminals and eyes that take letters only.
const STROKES: [&str; 4] = ["-", "\\", "|", "/"];
/// Milliseconds of a frame.
const FRAME: i64 = 100;

/// The spinner at a time in milliseconds.
pub fn spinner(now: i64) -> &'static str {
    frame(&FRAMES, now)
}

fn frame(frames: &[&'static str], now: i64) -> &'static str {
    let index = (now / FRAME).rem_euclid(frames.len() as i64) as usize;
    frames.get(index).copied().unwrap_or_default()
}

/// Milliseconds from `start` to now, never negative.
pub fn since(now: i64, start: i64) -> u64 {
    now.saturating_sub(start).max(0) as u64
}

/// What the running turn does now, for the row under the conversation; `None` when idle.
pub fn activity(model: &Model) -> Option<Vec<Span>> {
    let compacting = model.tab.compacting.map(|at| {
        let clock = format::clock(since(model.now, at));
        vec![Span::new("compacting the conversation…  ", Role::Text), Span::new(clock, Role::Dim)]
    });
    let TurnStatus::Running(running) = &model.tab.turn else { return compacting };
    if compacting.is_some() && !running.stopping {
        return compacting;
    }
    let clock = format::clock(running.worked(model.now));
    let dim = |text: String| Span::new(text, Role::Dim);
    if let Some(retry) = &running.retry {
        let left = format::clock(since(retry.until, model.now).div_ceil(1000) * 1000);
        return Some(vec![
            Span::new(format!("retrying in {left}  "), Role::Careful),
            dim(format!("try {} of {} · {}", retry.attempt, retry.of, retry.reason)),
        ]);
    }
    if running.stopping {
        return Some(vec![Span::new("stopping…  ", Role::Careful), dim(clock)]);
    }
    if running.waits_since.is_some() {
        return Some(vec![Span::new("waiting for you  ", Role::Careful), dim(format!("worked {clock}"))]);
    }
    if let Some((_, name, bytes)) = running.calls.last() {
        let size = format::bytes(*bytes as u64);
        return Some(vec![Span::new(format!("writing {name}…  "), Role::Accent), dim(format!("{size} · {clock}"))]);
    }
    let streams = model.tab.transcript.cells.last().filter(|cell| !cell.finished).map(|cell| &cell.kind);
    if let Some((what, at)) = running.waiting.as_ref().filter(|_| streams.is_none()) {
        let what = Span::new(format!("{what}…  "), Role::Text);
        return Some(vec![what, dim(format::clock(since(model.now, *at)))]);
    }
    let skin = &model.look.skin;
    let turn = running.turn as usize + running.step as usize;
    let (faces, verb) = match streams {
        Some(CellKind::Assistant { .. }) => (&skin.thinking_faces, "writing"),
        Some(CellKind::Tool(_)) => (&skin.waiting_faces, "working"),
        Some(CellKind::Reasoning { .. }) => {
            (&skin.thinking_faces, pick(&skin.thinking_verbs, turn).unwrap_or("thinking"))
        }
        _ => (&skin.waiting_faces, pick(&skin.thinking_verbs, turn).unwrap_or("thinking")),
    };
    let mut spans = Vec::with_capacity(3);
    let moves = match model.config.display.tui_status_indicator.as_str() {
        "emoji" => Some(frame(&MOONS, model.now)),
        "unicode" => Some(spinner(model.now)),
        "ascii" => Some(frame(&STROKES, model.now)),
        _ => pick(faces, turn),
    };
    if let Some(moves) = moves {
        spans.push(Span::new(format!("{moves} "), Role::Accent));
    }
    spans.push(Span::new(format!("{verb}…  "), Role::Text));
    spans.push(dim(clock));
    Some(spans)
}

/// One of a skin's words, the same for all of a step.
fn pick(words: &[String], turn: usize) -> Option<&str> {
    // A stride that visits all of any short list.
    words.get((turn * 7) % words.len().max(1)).map(String::as_str)
}
