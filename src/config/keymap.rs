//! Keys as data: what the terminal sends, how they are written in `keymap.yaml`, which action name they mean.

mod file;
mod written;

use super::ConfigError;
use std::path::Path;

/// A pressed key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub code: Code,
    pub ctrl: bool,
    pub alt: bool,
    pub shift: bool,
}

/// Which key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// As typed: Shift is in the letter, not in the flag.
    Char(char),
    F(u8),
    Enter,
    Esc,
    Tab,
    /// Shift-Tab.
    BackTab,
    Backspace,
    Delete,
    Insert,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
}

/// Where a binding counts. The caller asks the innermost context first and falls back to the outer ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Context {
    /// Everywhere but in a terminal that was taken over.
    Global,
    /// The field where the person writes.
    Composer,
    /// The popup over the composer.
    Completion,
    /// Any one-line field: pickers, titles, keys, searches.
    Field,
    Conversation,
    /// The conversation while hits of a search are shown.
    Find,
    /// The terminal pane, watched.
    Terminal,
    /// The terminal pane, taken over: all other keys go to the program.
    TakenOver,
    Sidebar,
    Queue,
    /// Any modal without keys of its own.
    Modal,
    Picker,
    Approval,
    Question,
    Sessions,
    /// The prompts to go back to, and what is taken back.
    Rewind,
    /// The changes of a git worktree.
    Worktree,
    /// A session on a time line.
    Replay,
    /// Figures over time.
    Stats,
    /// The card of a policy that changed on disk.
    Policy,
    /// What still runs, before the program is left.
    Quit,
    /// A code or an address to sign in with.
    SignIn,
    Copy,
    FirstRun,
}

impl Context {
    /// Every context, in the order of the help page.
    pub const ALL: [Context; 24] = [
        Context::Global,
        Context::Composer,
        Context::Completion,
        Context::Field,
        Context::Conversation,
        Context::Find,
        Context::Terminal,
        Context::TakenOver,
        Context::Sidebar,
        Context::Queue,
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
        Context::FirstRun,
    ];

    /// As written in `keymap.yaml`.
    pub fn name(self) -> &'static str {
        match self {
            Context::Global => "global",
            Context::Composer => "composer",
            Context::Completion => "completion",
            Context::Field => "field",
            Context::Conversation => "conversation",
            Context::Find => "find",
            Context::Terminal => "terminal",
            Context::TakenOver => "taken-over",
            Context::Sidebar => "sidebar",
            Context::Queue => "queue",
            Context::Modal => "modal",
            Context::Picker => "picker",
            Context::Approval => "approval",
            Context::Question => "question",
            Context::Sessions => "sessions",
            Context::Rewind => "rewind",
            Context::Worktree => "worktree",
            Context::Replay => "replay",
            Context::Stats => "stats",
            Context::Policy => "policy",
            Context::Quit => "quit",
            Context::SignIn => "sign-in",
            Context::Copy => "copy",
            Context::FirstRun => "first-run",
        }
    }
}

/// One key or chord that means an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    pub context: Context,
    /// Pressed one after the other.
    pub keys: Vec<Key>,
    /// Kebab-case.
    pub action: String,
}

/// All bindings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keymap {
    /// In the order of the files: the first key of an action is the one that hints show.
    pub bindings: Vec<Binding>,
}

/// What a sequence of keys means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match<'a> {
    /// Exactly this action.
    Action(&'a str),
    /// The beginning of at least one chord.
    Prefix,
    None,
}

impl Keymap {
    /// The defaults of `assets/keymap.yaml`.
    ///
    /// # Errors
    /// [`ConfigError`] when the asset is broken, which a test rules out.
    pub fn defaults() -> Result<Self, ConfigError> {
        file::defaults()
    }

    /// The defaults with the person's `keymap.yaml` over them. A file that is not there changes nothing.
    ///
    /// # Errors
    /// [`ConfigError`] that names the file, the line and the binding: broken YAML, an unknown action, context or key, two
    /// actions on one key. The caller goes on with [`Keymap::defaults`].
    pub fn load(user: &Path) -> Result<Self, ConfigError> {
        match std::fs::read_to_string(user) {
            Ok(text) => file::merged(&text, &user.to_string_lossy()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Self::defaults(),
            Err(error) => Err(ConfigError::Read { path: user.into(), reason: error.to_string() }),
        }
    }

    /// What these keys mean in one context.
    pub fn lookup(&self, context: Context, keys: &[Key]) -> Match<'_> {
        let mut found = Match::None;
        for binding in self.bindings.iter().filter(|binding| binding.context == context) {
            if binding.keys == keys {
                return Match::Action(&binding.action);
            }
            if binding.keys.len() > keys.len() && binding.keys.starts_with(keys) {
                found = Match::Prefix;
            }
        }
        found
    }

    /// The keys of an action as shown, direct ones before chords: `Ctrl-P`, `Ctrl-X p`. All contexts, no repeats.
    pub fn keys_for(&self, action: &str) -> Vec<String> {
        let mut shown: Vec<(usize, String)> = Vec::new();
        for binding in self.bindings.iter().filter(|binding| binding.action == action) {
            let text = display(&binding.keys);
            if !shown.iter().any(|(_, known)| *known == text) {
                shown.push((binding.keys.len(), text));
            }
        }
        shown.sort_by_key(|(length, _)| *length);
        shown.into_iter().map(|(_, text)| text).collect()
    }

    /// The first key of an action among those of one context, as shown.
    pub fn key_in(&self, context: Context, action: &str) -> Option<String> {
        let own = self.bindings.iter().filter(|binding| binding.context == context && binding.action == action);
        own.min_by_key(|binding| binding.keys.len()).map(|binding| display(&binding.keys))
    }

    /// The actions of one context, each with its keys as shown, in file order.
    pub fn in_context(&self, context: Context) -> Vec<(&str, Vec<String>)> {
        let mut rows: Vec<(&str, Vec<String>)> = Vec::new();
        for binding in self.bindings.iter().filter(|binding| binding.context == context) {
            match rows.iter_mut().find(|(action, _)| *action == binding.action) {
                Some((_, keys)) => keys.push(display(&binding.keys)),
                None => rows.push((&binding.action, vec![display(&binding.keys)])),
            }
        }
        rows
    }

    /// What may follow a started chord, for the which-key popup: the rest as shown, and its action; sorted by key.
    pub fn following(&self, context: Context, prefix: &[Key]) -> Vec<(String, &str)> {
        let longer = |binding: &&Binding| {
            binding.context == context && binding.keys.len() > prefix.len() && binding.keys.starts_with(prefix)
        };
        let rest = |binding: &'_ Binding| display(&binding.keys[prefix.len()..]);
        let mut list: Vec<(String, &str)> =
            self.bindings.iter().filter(longer).map(|binding| (rest(binding), binding.action.as_str())).collect();
        list.sort_by_key(|(keys, _)| (keys.chars().count(), keys.to_lowercase(), keys.clone()));
        list
    }

    /// Every action name, without repeats, in file order.
    pub fn actions(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for binding in &self.bindings {
            if !names.contains(&binding.action.as_str()) {
                names.push(&binding.action);
            }
        }
        names
    }
}

/// Parses `ctrl-x b`: keys with spaces between them.
///
/// # Errors
/// A message that names the key that is none.
pub fn parse(text: &str) -> Result<Vec<Key>, String> {
    written::parse(text)
}

/// Keys as a person reads them: `Ctrl-X b`, `Alt-,`, `PgUp`.
pub fn display(keys: &[Key]) -> String {
    keys.iter().map(|key| written::display(*key)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
#[path = "keymap/tests.rs"]
mod tests;
