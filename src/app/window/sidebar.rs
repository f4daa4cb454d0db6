//! The sidebar, and texts that answer a command.

use crate::app::effect::{Effect, LoadRequest};
use crate::app::input::{focus, paste};
use crate::app::model::{Model, Pane};
use crate::app::run;
use crate::protocol::{FileDiff, Level, OutsideFile, SessionId, TodoStatus};
use crate::text::{Line, Role, Span};

/// Columns from which the sidebar is shown without being asked for.
pub const WIDE: u16 = 120;

/// Shows or hides the sidebar.
pub fn toggle(model: &mut Model) {
    let shown = model.tab.sidebar.shown.unwrap_or(model.size.0 >= WIDE);
    model.tab.sidebar.shown = Some(!shown);
    if shown && model.tab.focus == Pane::Sidebar {
        focus::set(model, Pane::Composer);
    }
}

/// A tool changed files.
pub fn changed_files(model: &mut Model, diffs: &[FileDiff]) {
    for diff in diffs {
        match model.tab.sidebar.files.iter_mut().find(|(path, _, _)| *path == diff.path) {
            Some((_, added, removed)) => {
                *added += diff.added;
                *removed += diff.removed;
            }
            None => model.tab.sidebar.files.push((diff.path.clone(), diff.added, diff.removed)),
        }
    }
}

/// Others changed files, or branch and commits: it is marked until the next turn begins.
pub fn changed_outside(model: &mut Model, out: &mut Vec<Effect>, files: Vec<OutsideFile>) {
    for file in files {
        model.tab.sidebar.outside.retain(|known| known.path != file.path);
        model.tab.sidebar.outside.push(file);
    }
    look_again(model, out);
}

/// A command ended, or a turn: it may have changed or put back files that tools changed before.
pub fn look_again(model: &Model, out: &mut Vec<Effect>) {
    out.push(Effect::Load(LoadRequest::Git));
    if !model.tab.sidebar.files.is_empty() {
        out.push(Effect::Load(LoadRequest::Files));
    }
}

/// What the files of the open session differ in now. One that could not be compared keeps what was known of it.
pub fn files(model: &mut Model, session: &SessionId, mut files: Vec<(String, u32, u32)>) {
    if model.tab.session.as_ref().is_none_or(|open| open.id != *session) {
        return;
    }
    for file in files.iter_mut().filter(|file| (file.1, file.2) == (0, 0)) {
        if let Some(known) = model.tab.sidebar.files.iter().find(|known| known.0 == file.0) {
            file.clone_from(known);
        }
    }
    model.tab.sidebar.files = files;
}

/// `/plan`.
pub fn plan(model: &mut Model) {
    if model.tab.sidebar.plan.is_empty() {
        model.notices.add(model.now, Level::Info, "no plan yet");
        return;
    }
    let lines = model.tab.sidebar.plan.iter().map(|entry| {
        let (mark, role) = match entry.status {
            TodoStatus::Completed => ("✓ ", Role::Good),
            TodoStatus::InProgress => ("▸ ", Role::Accent),
            TodoStatus::Pending => ("○ ", Role::Dim),
            TodoStatus::Cancelled => ("× ", Role::Dim),
        };
        Line { spans: vec![Span::new(mark, role), Span::new(&*entry.content, Role::Text)], ..Line::default() }
    });
    let lines = lines.collect();
    run::text(model, "Plan", lines);
}

/// Text that answers a command: one line is a notice, more are a modal.
pub fn report(model: &mut Model, title: &str, text: &str) {
    let clean = paste::harmless(text.trim_end());
    if clean.lines().count() <= 1 {
        model.notices.add(model.now, Level::Info, clean.into_owned());
        return;
    }
    let line = |text: &str| Line { spans: vec![Span::new(text.replace('\t', "    "), Role::Text)], ..Line::default() };
    let lines = clean.lines().map(line).collect();
    run::text(model, title, lines);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::tests::{ready, script};

    #[test]
    fn the_key_turns_what_the_width_chose() {
        for (width, shown) in [(140, false), (100, true)] {
            let mut model = ready();
            model.size.0 = width;
            script(&mut model, "<f7>");
            assert_eq!(model.tab.sidebar.shown, Some(shown), "{width}");
        }
    }

    #[test]
    fn changes_of_a_file_add_up() {
        let mut model = ready();
        let diff = |path: &str, added, removed| FileDiff { path: path.into(), added, removed, ..FileDiff::default() };
        changed_files(&mut model, &[diff("a", 1, 2), diff("b", 1, 0), diff("a", 3, 0)]);
        assert_eq!(model.tab.sidebar.files, [("a".into(), 4, 2), ("b".into(), 1, 0)]);
    }

    #[test]
    fn files_are_looked_up_again_after_commands_and_turns() {
        use crate::app::msg::{LoadReply, Msg};
        use crate::app::update;
        let mut model = ready();
        crate::app::tests::opened(&mut model, "s", &[]);
        let looked = |model: &Model| {
            let mut out = Vec::new();
            look_again(model, &mut out);
            out
        };
        assert_eq!(looked(&model), [Effect::Load(LoadRequest::Git)], "there is nothing to look up");
        model.tab.sidebar.files = vec![("a".into(), 4, 2), ("b".into(), 1, 0), ("big".into(), 9, 9)];
        assert_eq!(looked(&model), [Effect::Load(LoadRequest::Git), Effect::Load(LoadRequest::Files)]);
        let reply = |session: &str| {
            let files = vec![("a".into(), 1, 1), ("big".into(), 0, 0)];
            Msg::Loaded(LoadReply::Files { session: session.into(), files })
        };
        update(&mut model, 0, reply("another"));
        assert_eq!(model.tab.sidebar.files.len(), 3, "an answer about another session is late");
        update(&mut model, 0, reply("s"));
        assert_eq!(model.tab.sidebar.files, [("a".into(), 1, 1), ("big".into(), 9, 9)]);
    }
}
