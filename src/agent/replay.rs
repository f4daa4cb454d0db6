//! What an item adds to the time line of its session.

use crate::protocol::{Beat, Body, Item, Origin, Outcome};
use crate::tools::builtin::todo;
use std::path::Path;

/// The item without what was said. Paths in `cwd` are told without it.
pub fn beat(item: &Item, rewound: i64, cwd: &str) -> Beat {
    let (id, at, turn) = (item.id, item.at, item.turn);
    let mut beat = Beat { item: id, at, turn, prompt: false, usage: None, plan: None, files: Vec::new(), rewound };
    match &item.body {
        Body::User { origin, .. } => beat.prompt = *origin == Origin::Person,
        Body::Assistant(answer) => beat.usage = answer.usage,
        Body::Tool(tool) => {
            if tool.name == todo::NAME && tool.outcome == Outcome::Ok {
                beat.plan = todo::plan_in(&tool.content);
            }
            let diffs = tool.view.diffs.iter();
            beat.files = diffs.map(|diff| (short(&diff.path, cwd), diff.added, diff.removed)).collect();
        }
        Body::Summary(_) | Body::Note { .. } => {}
    }
    beat
}

/// A path as a person reads it in this folder.
pub fn short(path: &str, cwd: &str) -> String {
    Path::new(path).strip_prefix(cwd).map_or_else(|_| path.to_owned(), |inside| inside.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{FileDiff, ItemId, TodoStatus, ToolBody, ToolView};

    #[test]
    fn a_plan_and_the_files_of_a_call_stand_in_its_beat() {
        let tool = |name: &str, content: &str, path: &str| {
            let diffs = vec![FileDiff { path: path.into(), added: 2, removed: 1, ..FileDiff::default() }];
            let view = ToolView { diffs, ..ToolView::default() };
            let body = ToolBody { name: name.into(), content: content.into(), view, ..ToolBody::default() };
            beat(&Item { id: ItemId(3), at: 5, turn: 1, body: Body::Tool(body) }, 0, "/work")
        };
        assert_eq!(tool("write_file", "", "/work/src/a.rs").files, [("src/a.rs".to_owned(), 2, 1)]);
        assert_eq!(tool("write_file", "", "/else/a.rs").files, [("/else/a.rs".to_owned(), 2, 1)]);
        let plan = r#"{"todos":[{"id":"1","content":"look","status":"completed"}]}"#;
        let beat = tool(todo::NAME, plan, "x");
        assert_eq!(beat.plan.unwrap()[0].status, TodoStatus::Completed);
    }
}
