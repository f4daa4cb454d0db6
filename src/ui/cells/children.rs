//! Under a call that delegated: a row for each child, with what it does and what it took.

use super::Context;
use crate::protocol::{ChildRow, ChildState};
use crate::text::width::{pad, truncate_end, truncate_middle, width};
use crate::text::{Ground, Line, Role, Row, Span, format};

/// Cells that a goal gets at least.
const GOAL: usize = 12;
/// From this width on figures are shown.
const ROOMY: usize = 72;

fn mark(state: ChildState) -> (&'static str, Role) {
    match state {
        ChildState::Waiting => ("○", Role::Dim),
        ChildState::Working => ("●", Role::Accent),
        ChildState::Asks => ("⚠", Role::Careful),
        ChildState::Completed => ("✓", Role::Good),
        ChildState::Failed => ("✗", Role::Bad),
        ChildState::Stopped => ("■", Role::Careful),
        ChildState::Limit => ("⊘", Role::Careful),
    }
}

/// What it does, or how it ended.
fn doing(child: &ChildRow) -> &str {
    match child.state {
        ChildState::Working if child.doing.is_empty() => "thinking",
        ChildState::Working => &child.doing,
        ChildState::Waiting
        | ChildState::Asks
        | ChildState::Completed
        | ChildState::Failed
        | ChildState::Stopped
        | ChildState::Limit => child.state.word(),
    }
}

/// Where it works and what it took, as far as there is room: what is left and the branch are the last to go.
fn figures(child: &ChildRow, room: usize) -> String {
    let mut parts = child.parts();
    if child.steps == 0 {
        parts[1].clear();
    }
    if child.state.is_over() {
        // Nobody spends it any more.
        parts[4].clear();
    }
    for drop in [None, Some(1), Some(2), Some(3), Some(0)] {
        if let Some(drop) = drop {
            parts[drop].clear();
        }
        let said: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        let said = said.join(" · ");
        if width(&said) <= room {
            return said;
        }
    }
    truncate_end(&parts[4], room)
}

/// The rows; that of a working one leaves room for its clock.
pub fn rows(children: &[ChildRow], context: &Context<'_>, rows: &mut Vec<Row>) {
    let time = super::tool::TIME;
    let room = context.width.saturating_sub(usize::from(super::TEXT) + super::tool::AFTER_TIME + time);
    let name = children.iter().map(|child| width(&child.name)).max().unwrap_or_default();
    for child in children {
        let (sign, role) = mark(child.state);
        let figures = if context.width >= ROOMY { figures(child, room / 2) } else { String::new() };
        let left = room.saturating_sub(2 + name + 1 + width(&figures) + usize::from(!figures.is_empty()) * 2);
        let doing = truncate_middle(doing(child), (left / 2).min(left.saturating_sub(GOAL)));
        let goal = child.goal.split_whitespace().collect::<Vec<_>>().join(" ");
        let goal = truncate_end(&goal, left.saturating_sub(width(&doing) + 2));
        let gap = left.saturating_sub(width(&goal) + width(&doing));
        let took = match (child.began, child.ended) {
            (0, _) | (_, 0) => String::new(),
            (began, ended) => format::elapsed(u64::try_from(ended - began).unwrap_or_default()),
        };
        let lead = " ".repeat(usize::from(super::TEXT));
        let mut spans = vec![
            Span::new(lead, Role::Text),
            Span::new(pad(sign, 2), role),
            Span::new(pad(&child.name, name + 1), Role::Dim),
            Span::new(goal, Role::Text),
            Span::new(" ".repeat(gap), Role::Text),
            Span::new(doing, if child.state == ChildState::Working { Role::Text } else { role }),
        ];
        if !figures.is_empty() {
            spans.push(Span::new(format!("  {figures}"), Role::Dim));
        }
        spans.push(Span::new(format!("{took:>time$}"), Role::Dim));
        rows.push(Row { line: Line { spans, ground: Ground::Base }, lead: super::TEXT, ..Row::default() });
    }
}
