//! What the action table says, as text: the list of keys and the generated `docs/KEYS.md` and `docs/COMMANDS.md`.

use super::action::{ACTIONS, Entry, Scope};
use crate::config::keymap::{Context, Keymap};
use crate::text::{Line, Role, Span};
use std::fmt::Write as _;

/// The keys of vi's normal mode.
pub const VI: &[(&str, &str)] = &[
    ("h j k l", "left, down, up, right; past the first or last line, the previous or next prompt"),
    ("w b e W B E", "words"),
    ("0 ^ $", "start, first letter and end of the line"),
    ("gg G", "first and last line, or line N with a count"),
    ("f F t T ; ,", "to a character in the line, and repeat"),
    ("d c y", "with a motion, a text object (iw aw i\" a( …), or doubled for lines"),
    ("x X D C S s r ~ J", "change single characters"),
    ("p P Y", "paste, and yank lines"),
    ("i a I A o O", "insert mode"),
    ("v V", "select characters or lines, then change them"),
    ("u Ctrl-R .", "undo, redo, repeat"),
    (": / ?", "palette; a command, or find in a text; help"),
];

/// What is typed at the start of a prompt, or in it.
pub const TYPED: &[(&str, &str)] = &[
    ("!command", "Run it in the agent's shell; the model sees the result with the next prompt"),
    ("@path", "Name a file or folder, with completion"),
];

/// The contexts of what opens over the panes, and of fields and popups.
const LOCAL: [Context; 16] = [
    Context::Completion,
    Context::Field,
    Context::Find,
    Context::Modal,
    Context::Picker,
    Context::Approval,
    Context::Question,
    Context::Sessions,
    Context::Rewind,
    Context::Worktree,
    Context::Replay,
    Context::Stats,
    Context::Policy,
    Context::Quit,
    Context::SignIn,
    Context::Copy,
];

/// Actions that have a key, by scope.
pub fn keys(keymap: &Keymap) -> Vec<Line> {
    let mut lines = Vec::new();
    for scope in Scope::ALL {
        let bound: Vec<(&Entry, String)> = ACTIONS
            .iter()
            .filter(|entry| entry.scope == scope)
            .map(|entry| (entry, keymap.keys_for(entry.name).join(", ")))
            .filter(|(_, keys)| !keys.is_empty())
            .collect();
        if bound.is_empty() {
            continue;
        }
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.push(heading(scope.title()));
        lines.extend(bound.iter().map(|(entry, keys)| row(keys, entry.doc)));
    }
    lines
}

/// `docs/KEYS.md`: every action, its keys and what it does.
pub fn keys_markdown(keymap: &Keymap) -> String {
    let mut out = String::from(
        "# Keys\n\nEvery action and its keys. Rebind any of them by name in `keymap.yaml` in the home folder.\n",
    );
    for scope in Scope::ALL {
        let _ = write!(out, "\n## {}\n\n| action | keys | what it does |\n| --- | --- | --- |\n", scope.title());
        for entry in ACTIONS.iter().filter(|entry| entry.scope == scope) {
            let keys: Vec<String> =
                keymap.keys_for(entry.name).iter().map(|keys| format!("`{}`", escape(keys))).collect();
            let _ = writeln!(out, "| `{}` | {} | {} |", entry.name, keys.join(", "), escape(entry.doc));
        }
        if scope == Scope::Commands {
            let _ = write!(out, "\n{STOPPED}\n");
        }
    }
    out.push_str("\n## By context\n\n`keymap.yaml` binds an action in a context: these are the ones that have the keys while they are open, with the keys that they take. Where letters are written (a field, a list that they narrow), a letter is text and only other keys can be bound.\n\n");
    for context in LOCAL {
        let keys = keymap.in_context(context).into_iter().map(|(action, keys)| {
            let keys: Vec<String> = keys.iter().map(|keys| format!("`{}`", escape(keys))).collect();
            format!("{action} {}", keys.join(" "))
        });
        // A paragraph stays short enough to be read.
        for (at, keys) in keys.collect::<Vec<_>>().chunks(14).enumerate() {
            let more = if at == 0 { "" } else { ", also" };
            let _ = writeln!(out, "- `{}`{more}: {}", context.name(), keys.join(", "));
        }
    }
    out.push_str("\n## vi keys\n\n`composer.mode: vi` (or `/vi`) gives every text field except a masked one vi modes; the status bar and the cursor show the mode. A new prompt starts in insert mode. Keys with Ctrl or Alt keep their meaning, except Ctrl-R, which redoes in normal mode.\n\nEsc closes a popup, else clears a selection, else leaves insert mode, else cancels a pending command, else stops the turn. In a list it leaves insert mode first, then closes.\n\n");
    for (keys, what) in VI {
        let keys: Vec<String> = keys.split(' ').map(|key| format!("`{key}`")).collect();
        let _ = writeln!(out, "- {}: {what}", keys.join(" "));
    }
    out
}

/// What keys do to a command that runs, beside those of the table.
const STOPPED: &str = "Ctrl-Z in a command you took over stops it, as in a shell: its row says *stopped*, the agent is notified and continues, and `take-over` resumes the command. `forget-process` also removes a running row that has no process behind it.";

/// `docs/COMMANDS.md`: every slash command.
pub fn commands_markdown() -> String {
    let mut out = String::from(
        "# Slash commands\n\nType them in the composer. Every skill is a command too.\n\n| command | also | what it does |\n| --- | --- | --- |\n",
    );
    for (entry, slash) in ACTIONS.iter().filter_map(|entry| entry.slash.map(|slash| (entry, slash))) {
        let mut call = format!("/{} {}", slash.name, escape(slash.argument));
        call.truncate(call.trim_end().len());
        let aliases: Vec<String> = slash.aliases.iter().map(|alias| format!("`/{alias}`")).collect();
        let _ = writeln!(out, "| `{call}` | {} | {} |", aliases.join(", "), escape(entry.doc));
    }
    out
}

fn escape(text: &str) -> String {
    text.replace('|', "\\|")
}

fn heading(text: &str) -> Line {
    Line { spans: vec![Span::new(text, Role::Heading(2))], ..Line::default() }
}

/// Keys in a column of 28 cells, then what they do.
fn row(left: &str, right: &str) -> Line {
    let spans = vec![Span::new(format!("  {left:<30} "), Role::Accent), Span::new(right, Role::Text)];
    Line { spans, ..Line::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::tests::keymap;

    #[test]
    fn markdown_has_a_row_for_every_action_and_command() {
        let keys = keys_markdown(&keymap());
        assert_eq!(keys.lines().filter(|line| line.starts_with("| `")).count(), ACTIONS.len());
        let commands = commands_markdown();
        let slashes = ACTIONS.iter().filter(|entry| entry.slash.is_some()).count();
        assert_eq!(commands.lines().filter(|line| line.starts_with("| `/")).count(), slashes);
        assert!(commands.contains("none\\|minimal"), "a bar in a cell is escaped");
    }
}
