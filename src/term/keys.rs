//! Terminal events without the terminal library's types.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

/// A key press in plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawKey {
    pub code: KeyCode,
    pub ctrl: bool,
    pub alt: bool,
    pub shift: bool,
}

/// A press or a repeat; releases and lone modifiers are dropped.
pub fn raw_key(event: KeyEvent) -> Option<RawKey> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let ctrl = event.modifiers.contains(KeyModifiers::CONTROL);
    let alt = event.modifiers.contains(KeyModifiers::ALT);
    let shift = event.modifiers.contains(KeyModifiers::SHIFT);
    Some(RawKey { code: event.code, ctrl, alt, shift })
}

/// A mouse event in plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawMouse {
    pub column: u16,
    pub row: u16,
    pub kind: RawMouseKind,
    pub shift: bool,
}

/// What the mouse did; rows down are positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawMouseKind {
    Press,
    Drag,
    Release,
    Wheel(i16),
}

/// The left button and the wheel; everything else is dropped.
pub fn raw_mouse(event: MouseEvent) -> Option<RawMouse> {
    let kind = match event.kind {
        MouseEventKind::Down(MouseButton::Left) => RawMouseKind::Press,
        MouseEventKind::Drag(MouseButton::Left) => RawMouseKind::Drag,
        MouseEventKind::Up(MouseButton::Left) => RawMouseKind::Release,
        MouseEventKind::ScrollDown => RawMouseKind::Wheel(1),
        MouseEventKind::ScrollUp => RawMouseKind::Wheel(-1),
        MouseEventKind::Down(_)
        | MouseEventKind::Drag(_)
        | MouseEventKind::Up(_)
        | MouseEventKind::Moved
        | MouseEventKind::ScrollLeft
        | MouseEventKind::ScrollRight => return None,
    };
    let shift = event.modifiers.contains(KeyModifiers::SHIFT);
    Some(RawMouse { column: event.column, row: event.row, kind, shift })
}
