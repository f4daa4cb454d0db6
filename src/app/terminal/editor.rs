//! The external editor: a program in the terminal pane, beside the conversation, that has the keys until it ends.

use super::pane;
use crate::app::effect::Effect;
use crate::app::input::{composer, drafts, focus, paste};
use crate::app::model::processes::{Editor, Edits};
use crate::app::model::{Model, Pane};
use crate::exec::{ProcessCommand, ProcessId};
use crate::protocol::{AgentCommand, CompactOrder, Level};

/// Opens the draft in the editor; when it is open already, goes there.
pub fn open(model: &mut Model, out: &mut Vec<Effect>) {
    if let Some(editor) = &model.tab.processes.editor {
        if let Some(id) = editor.id.clone() {
            take_over(model, id);
        }
        return;
    }
    let draft = composer::whole(&model.tab.composer);
    edit(model, out, Edits::Draft, draft);
}

/// Opens a text in the editor. While it is open nothing else is edited.
pub fn edit(model: &mut Model, out: &mut Vec<Effect>, edits: Edits, text: String) {
    if model.tab.processes.editor.is_some() {
        return model.notices.add(model.now, Level::Warning, "the editor is open already: close it first");
    }
    let pane = &model.tab.processes.pane;
    model.tab.processes.editor = Some(Editor {
        id: None,
        text: text.clone(),
        edits,
        open: pane.open,
        touched: pane.touched,
        chosen: pane.chosen,
        shown: pane.shown.clone(),
    });
    out.push(Effect::Edit(text));
}

/// The editor runs.
pub fn started(model: &mut Model, id: ProcessId) {
    if let Some(editor) = &mut model.tab.processes.editor {
        editor.id = Some(id.clone());
        take_over(model, id);
    }
}

fn take_over(model: &mut Model, id: ProcessId) {
    pane::show_process(model, id);
    model.tab.processes.pane.taken_over = true;
    model.tab.processes.pane.handed_back = None;
    focus::set(model, Pane::Terminal);
}

/// Whether a process is the editor.
pub fn is(model: &Model, id: &ProcessId) -> bool {
    model.tab.processes.editor.as_ref().is_some_and(|editor| editor.id.as_ref() == Some(id))
}

/// The editor ended, with the text or with what went wrong.
pub fn ended(model: &mut Model, out: &mut Vec<Effect>, result: Result<String, String>) {
    let Some(editor) = model.tab.processes.editor.take() else { return };
    let (before, edits) = (editor.text.clone(), editor.edits);
    close(model, out, editor);
    match result {
        Ok(text) if text.trim_end_matches('\n') == before.trim_end_matches('\n') => {}
        Ok(text) => match edits {
            Edits::Summary(of) => {
                let text = text.trim_end_matches('\n').to_owned();
                out.push(Effect::Agent(AgentCommand::Compact(CompactOrder::Edit { of, text })));
            }
            Edits::Draft => drafted(model, out, &before, &text),
        },
        Err(error) => {
            let what = match edits {
                Edits::Draft => "prompt",
                Edits::Summary(_) => "summary",
            };
            model.notices.add(model.now, Level::Warning, format!("the {what} is unchanged: {error}"));
        }
    }
}

/// The text becomes the draft.
fn drafted(model: &mut Model, out: &mut Vec<Effect>, before: &str, text: &str) {
    let typed = composer::whole(&model.tab.composer);
    if typed != before && !typed.trim().is_empty() {
        // typed beside the editor: it gives way and is not lost
        let draft = paste::encode_draft(&composer::text(&model.tab.composer), &model.tab.composer.pastes);
        drafts::push(model, draft);
        drafts::said_aside(model);
    }
    composer::set_text(model, text.trim_end_matches('\n'));
    composer::changed(model, out);
    model.tab.composer.completion = None;
}

/// Takes the tab away and leaves the pane as it was before.
fn close(model: &mut Model, out: &mut Vec<Effect>, editor: Editor) {
    let Some(id) = editor.id else { return };
    model.tab.processes.rows.retain(|row| row.id != id);
    out.push(Effect::Process(ProcessCommand::Forget(id.clone())));
    let there = |shown: &ProcessId| model.tab.processes.rows.iter().any(|row| row.id == *shown);
    if model.tab.processes.pane.shown.as_ref() == Some(&id) {
        let shown = editor.shown.filter(there).or_else(|| model.tab.processes.rows.last().map(|row| row.id.clone()));
        pane::show_tab(model, shown);
        let pane = &mut model.tab.processes.pane;
        pane.open = editor.open && pane.shown.is_some();
        (pane.touched, pane.chosen) = (editor.touched, editor.chosen);
        if model.tab.focus == Pane::Terminal {
            focus::set(model, Pane::Composer);
        }
    }
    model.tab.processes.closed = Some(id);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::msg::Msg;
    use crate::app::tests::{ready, script};
    use crate::app::update;
    use crate::exec::{Exit, ExitReason, ProcessEvent, ProcessInfo, ProcessState};

    fn id() -> ProcessId {
        ProcessId("editor".into())
    }

    fn info(name: &str, state: ProcessState) -> ProcessInfo {
        ProcessInfo {
            task: "s".into(),
            id: ProcessId(name.into()),
            command: format!("run {name}"),
            cwd: "/src".into(),
            pid: 1,
            background: false,
            started_at: 0,
            state,
            port: None,
            output_bytes: 0,
            vitals: crate::exec::Vitals::default(),
        }
    }

    fn exited() -> Msg {
        let exit = Exit { code: 0, reason: ExitReason::Exited, duration: std::time::Duration::ZERO };
        Msg::Process(ProcessEvent::Exited(info("editor", ProcessState::Exited(exit))))
    }

    fn editing(draft: &str) -> Model {
        let mut model = ready();
        script(&mut model, draft);
        let effects = script(&mut model, "<C-g>");
        assert!(effects.contains(&Effect::Edit(draft.into())), "{effects:?}");
        update(&mut model, 0, Msg::Process(ProcessEvent::Started(info("editor", ProcessState::Running))));
        update(&mut model, 0, Msg::EditorStarted(id()));
        model
    }

    #[test]
    fn it_has_the_keys_and_its_text_becomes_the_draft() {
        let mut model = editing("draft");
        assert!(
            model.tab.processes.pane.open && model.tab.processes.pane.taken_over && model.tab.focus == Pane::Terminal
        );
        let effects = script(&mut model, ":wq<ret>");
        let typed: Vec<&Effect> =
            effects.iter().filter(|e| matches!(e, Effect::Process(ProcessCommand::Write(..)))).collect();
        assert_eq!(typed.len(), 4, "{effects:?}");
        for order in [[false, true], [true, false]] {
            let mut model = editing("draft");
            for text in order {
                let msg = if text { Msg::Edited(Ok("two\nlines\n".into())) } else { exited() };
                update(&mut model, 0, msg);
            }
            assert_eq!(composer::text(&model.tab.composer), "two\nlines");
            assert!(
                !model.tab.processes.pane.open
                    && !model.tab.processes.pane.taken_over
                    && model.tab.focus == Pane::Composer
            );
            assert!(model.tab.processes.rows.is_empty() && model.tab.processes.editor.is_none(), "the tab is closed");
            assert!(model.notices.shown.is_empty(), "{:?}", model.notices.shown);
        }
    }

    #[test]
    fn a_failure_keeps_the_draft_and_says_so() {
        let mut model = editing("draft");
        update(&mut model, 0, Msg::Edited(Err("vi exited with 1".into())));
        assert_eq!(composer::text(&model.tab.composer), "draft");
        assert!(model.notices.shown.iter().any(|notice| notice.text.contains("exited with 1")));
        assert_eq!(model.tab.focus, Pane::Composer);
    }

    #[test]
    fn what_was_typed_beside_it_goes_on_the_ring() {
        let mut model = editing("draft");
        script(&mut model, "<f9> more");
        assert_eq!(composer::text(&model.tab.composer), "draft more");
        script(&mut model, "<C-g>");
        assert!(model.tab.processes.pane.taken_over, "Ctrl-G goes back to it");
        update(&mut model, 0, Msg::Edited(Ok("edited".into())));
        assert_eq!(composer::text(&model.tab.composer), "edited");
        assert_eq!(model.tab.composer.drafts, ["draft more"]);
    }

    #[test]
    fn a_command_of_the_agent_does_not_take_its_place() {
        let mut model = editing("draft");
        update(&mut model, 0, Msg::Process(ProcessEvent::Started(info("build", ProcessState::Running))));
        assert_eq!(model.tab.processes.pane.shown, Some(id()));
        assert!(model.tab.processes.pane.taken_over);
        assert!(!script(&mut model, "<f9><C-x>b").contains(&Effect::Process(ProcessCommand::Background(id()))));
        update(&mut model, 0, Msg::Edited(Ok("edited".into())));
        assert_eq!(model.tab.processes.pane.shown, Some(ProcessId("build".into())));
        assert!(!model.tab.processes.pane.open, "as it was before");
    }

    #[test]
    fn it_gets_a_large_part_of_the_height() {
        let mut model = editing("draft");
        assert!(pane::needs_screen(&model));
        script(&mut model, "<f9>");
        assert!(pane::needs_screen(&model), "while it is shown");
        update(&mut model, 0, Msg::Edited(Ok("edited".into())));
        assert!(!pane::needs_screen(&model));
    }
}
