//! The popup over the composer: slash commands with their arguments, and paths after `@`.

use super::{composer, hint, reference, vi};
use crate::app::action;
use crate::app::action::Action;
use crate::app::effect::{Effect, LoadRequest};
use crate::app::lists::fuzzy::Fuzzy;
use crate::app::lists::palette;
use crate::app::model::Model;
use crate::app::model::composer::{Completion, CompletionItem};
use crate::app::msg::FoundPath;
use crate::config::keymap::Context;
use crate::config::schema::{BUSY, INDICATORS};
use crate::protocol::{Effort, Level};
use tui_textarea::CursorMove;

/// Rows of the popup at most.
const LIMIT: usize = 500;

/// Makes the popup fit what is written before the cursor.
pub fn refresh(model: &mut Model, out: &mut Vec<Effect>) {
    let popup = model.tab.composer.completion.as_ref().filter(|popup| popup.moved);
    let selected = popup.and_then(|popup| popup.items.get(popup.selected).cloned());
    let Some(before) = before_cursor(model).filter(|_| vi::types(model)) else {
        model.tab.composer.completion = None;
        return;
    };
    let (word, items) = if let Some(command) = before.strip_prefix('/').filter(|_| first_line(model)) {
        match command.split_once(' ') {
            None => (before.clone(), commands(model, command)),
            Some((name, argument)) => (argument.to_owned(), arguments(model, name, argument)),
        }
    } else if let Some(written) = reference::before(&before) {
        out.push(Effect::Load(LoadRequest::Paths { word: written.path.to_owned() }));
        // the popup of the last word stays until the answer comes
        match &mut model.tab.composer.completion {
            Some(popup) if popup.word.starts_with('@') => popup.word = written.word.to_owned(),
            _ => model.tab.composer.completion = None,
        }
        return;
    } else {
        (String::new(), Vec::new())
    };
    let at = selected.and_then(|selected| items.iter().position(|item| item.text == selected.text));
    let (selected, moved) = (at.unwrap_or_default(), at.is_some());
    model.tab.composer.completion = (!items.is_empty()).then_some(Completion { word, items, selected, moved });
}

fn first_line(model: &Model) -> bool {
    model.tab.composer.area.cursor().0 == 0
}

fn before_cursor(model: &Model) -> Option<String> {
    let cursor = model.tab.composer.area.cursor();
    let line = model.tab.composer.area.lines().get(cursor.0)?;
    // words are short: a line of megabytes is not looked through
    (line.len() < 4096).then(|| line.chars().take(cursor.1).collect())
}

/// Commands that fit, in the order of the palette: those that begin with what is typed before those that hold its letters,
/// and before those that only speak of it.
fn commands(model: &Model, typed: &str) -> Vec<CompletionItem> {
    let typed = typed.to_lowercase();
    let mut fuzzy = Fuzzy::new(&typed);
    let mut fitting: Vec<(u32, u32, CompletionItem)> = Vec::new();
    for (text, detail) in palette::commands(model) {
        let aliases = action::slash(&text).and_then(|entry| entry.slash).map_or(&[][..], |slash| slash.aliases);
        let name = text.get(1..).unwrap_or_default();
        let begins = |word: &str| word.to_lowercase().starts_with(&typed);
        let (tier, score) = if name.eq_ignore_ascii_case(&typed) || aliases.contains(&typed.as_str()) {
            (0, 0)
        } else if begins(name) {
            (1, 0)
        } else if aliases.iter().any(|alias| begins(alias)) {
            (2, 0)
        } else if let Some(score) = fuzzy.score(name) {
            (3, u32::MAX - score)
        } else if typed.chars().count() > 2 && detail.to_lowercase().contains(&typed) {
            (4, 0)
        } else {
            continue;
        };
        let marks = fuzzy.marks(name).into_iter().map(|at| at + 1).collect();
        // a hit by another name says which
        let other = aliases.iter().find(|alias| !begins(name) && begins(alias));
        let detail = other.map_or_else(|| detail.clone(), |alias| format!("/{alias} · {detail}"));
        fitting.push((tier, score, CompletionItem { text, detail, marks }));
    }
    fitting.sort_by_key(|(tier, score, _)| (*tier, *score));
    fitting.into_iter().take(LIMIT).map(|(_, _, item)| item).collect()
}

fn arguments(model: &Model, command: &str, typed: &str) -> Vec<CompletionItem> {
    use action::Action;
    let Some(entry) = action::slash(command) else { return Vec::new() };
    let pairs: Vec<(String, String)> = match entry.action {
        Action::Effort => EFFORTS.iter().map(|(name, _)| ((*name).to_owned(), String::new())).collect(),
        Action::ViMode | Action::StatusBar => words(&["on", "off"]),
        Action::Busy => words(BUSY),
        Action::Indicator => words(INDICATORS),
        Action::Export => words(&["md", "jsonl", "html", "sharegpt"]),
        Action::ProviderKey => model.choices.iter().map(|choice| (choice.provider.clone(), String::new())).collect(),
        Action::SkinPicker => model.appearance.skins.clone(),
        Action::ThemePicker => model.appearance.themes.clone(),
        Action::ModelPicker => model
            .choices
            .iter()
            .map(|choice| (format!("{}:{}", choice.provider, choice.model), choice.detail.clone()))
            .collect(),
        _ => Vec::new(),
    };
    let mut pairs = pairs;
    pairs.dedup_by(|a, b| a.0 == b.0);
    let typed = typed.trim_start().to_lowercase();
    // what is typed in full, then what begins with it, then what contains it
    let rank = |name: &str| {
        let name = name.to_lowercase();
        let at = name.find(&typed)?;
        Some((name != typed, at > 0))
    };
    let mut fitting: Vec<_> = pairs.into_iter().filter_map(|pair| Some((rank(&pair.0)?, pair))).collect();
    fitting.sort_by_key(|(rank, _)| *rank);
    // nothing is left to complete
    if fitting.len() == 1 && fitting[0].0 == (false, false) {
        return Vec::new();
    }
    fitting
        .into_iter()
        .take(LIMIT)
        .map(|(_, (text, detail))| CompletionItem { text, detail, marks: Vec::new() })
        .collect()
}

fn words(list: &[&str]) -> Vec<(String, String)> {
    list.iter().map(|word| ((*word).to_owned(), String::new())).collect()
}

/// Names of efforts, least first.
pub const EFFORTS: [(&str, Effort); 6] = [
    ("none", Effort::None),
    ("minimal", Effort::Minimal),
    ("low", Effort::Low),
    ("medium", Effort::Medium),
    ("high", Effort::High),
    ("xhigh", Effort::XHigh),
];

/// Paths came for a word. What the person has selected stays selected.
pub fn paths(model: &mut Model, word: &str, paths: Vec<FoundPath>) {
    let current = before_cursor(model);
    let written = current.as_deref().and_then(reference::before);
    let Some(written) = written.filter(|written| written.path == word) else { return };
    let item = |found: FoundPath| {
        let (lead, end) = reference::around(&found.path);
        let before = lead.chars().count() as u32;
        CompletionItem {
            text: format!("{lead}{}{end}", found.path),
            detail: String::new(),
            marks: found.marks.into_iter().map(|at| at + before).collect(),
        }
    };
    let items: Vec<_> = paths.into_iter().take(LIMIT).map(item).collect();
    let before = model.tab.composer.completion.as_ref().filter(|popup| popup.moved);
    let before = before.and_then(|popup| popup.items.get(popup.selected));
    let at = before.and_then(|before| items.iter().position(|item| item.text == before.text));
    if before.is_some() && at.is_none() && !items.is_empty() {
        return;
    }
    let (selected, moved) = (at.unwrap_or_default(), at.is_some());
    let word = written.word.to_owned();
    model.tab.composer.completion = (!items.is_empty()).then_some(Completion { word, items, selected, moved });
}

/// An action while the popup is open. `false`: the composer gets the key.
pub fn act(model: &mut Model, out: &mut Vec<Effect>, action: Action) -> bool {
    let Some(popup) = &mut model.tab.composer.completion else { return false };
    let last = popup.items.len().saturating_sub(1);
    popup.moved |= matches!(action, Action::Previous | Action::Next);
    match action {
        Action::Previous => popup.selected = popup.selected.checked_sub(1).unwrap_or(last),
        Action::Next => popup.selected = if popup.selected >= last { 0 } else { popup.selected + 1 },
        Action::Close => model.tab.composer.completion = None,
        Action::Accept => accept(model, out),
        Action::Send => return enter(model, out),
        _ => return false,
    }
    true
}

/// Enter: takes the selection; a command that needs nothing more is sent at once.
fn enter(model: &mut Model, out: &mut Vec<Effect>) -> bool {
    let Some(popup) = &model.tab.composer.completion else { return false };
    let Some(item) = popup.items.get(popup.selected) else { return false };
    if item.text == popup.word {
        model.tab.composer.completion = None;
        return false;
    }
    // a guess is not taken without being chosen: the closest match is told instead
    let guess = popup.word.strip_prefix('/').is_some_and(|typed| !is_begun(&item.text, typed));
    if guess && !popup.moved {
        model.tab.composer.completion = None;
        return false;
    }
    let argument = !item.text.starts_with(['/', '@']);
    if argument && !popup.moved {
        let typed = popup.word.trim();
        if typed.is_empty() || popup.items.iter().any(|item| item.text.eq_ignore_ascii_case(typed)) {
            // as it is typed
            model.tab.composer.completion = None;
            return false;
        }
        if popup.items.len() > 1 {
            let fit = format!("{} names fit \"{typed}\"", popup.items.len());
            let text = match hint::key_in(model, Context::Completion, Action::Accept) {
                Some(key) => format!("{fit}: {key} takes the marked one"),
                None => fit,
            };
            model.notices.add(model.now, Level::Info, text);
            return true;
        }
    }
    let complete = item
        .text
        .strip_prefix('/')
        .is_some_and(|name| action::slash(name).and_then(|entry| entry.slash).is_some_and(|s| s.argument.is_empty()));
    accept(model, out);
    model.tab.composer.completion = None;
    !(complete || argument)
}

/// Whether a command or one of its other names begins with what is typed.
fn is_begun(command: &str, typed: &str) -> bool {
    let typed = typed.to_lowercase();
    let aliases = action::slash(command).and_then(|entry| entry.slash).map_or(&[][..], |slash| slash.aliases);
    let name = command.strip_prefix('/').unwrap_or(command).to_lowercase();
    name.starts_with(&typed) || aliases.iter().any(|alias| alias.starts_with(&typed))
}

/// Puts the selection in place of the word.
fn accept(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(popup) = model.tab.composer.completion.take() else { return };
    let Some(item) = popup.items.get(popup.selected) else { return };
    let area = &mut model.tab.composer.area;
    let cursor = area.cursor();
    let after = area.lines().get(cursor.0).and_then(|line| line.chars().nth(cursor.1));
    for _ in 0..popup.word.chars().count() {
        area.delete_char();
    }
    // The quote that was put there with the folder before.
    let quote = reference::before(&popup.word).and_then(|written| written.quote);
    if quote.is_some() && quote == after {
        area.delete_next_char();
    }
    let takes_more = item.text.starts_with('/') && {
        let slash = action::slash(&item.text).and_then(|entry| entry.slash);
        slash.is_none_or(|slash| !slash.argument.is_empty())
    };
    area.insert_str(&item.text);
    let is_path = item.text.starts_with('@');
    if item.text.starts_with("@folder:") {
        // It goes on in the folder; what is left there is a whole reference.
        area.move_cursor(CursorMove::Back);
    } else if takes_more || (is_path && !item.text.ends_with('/')) {
        area.insert_char(' ');
    }
    composer::changed(model, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::msg::{LoadReply, Msg};
    use crate::app::tests::{model, script};
    use crate::app::update;

    fn shown(model: &Model) -> Vec<&str> {
        let popup = model.tab.composer.completion.as_ref();
        popup.map(|popup| popup.items.iter().map(|item| item.text.as_str()).collect()).unwrap_or_default()
    }

    #[test]
    fn commands_and_arguments_are_offered() {
        for (keys, first) in [
            ("/he", Some("/help")),
            ("/effort ", Some("none")),
            ("/effort hi", Some("high")),
            ("/busy s", Some("steer")),
            ("/zzz", None),
            ("/rdw", Some("/redraw")),
            ("/exit", Some("/quit")),
            ("/re", Some("/redo")),
            ("/window fills", None),
            ("a /he", None),
            ("x<A-ret>/he", None),
        ] {
            let mut model = model();
            script(&mut model, keys);
            assert_eq!(shown(&model).first().copied(), first, "{keys}");
        }
    }

    #[test]
    fn tab_and_enter_take_the_selection() {
        for (keys, text, modals) in [
            ("/eff<tab>", "/effort ", 0),
            ("/eff<ret>", "/effort ", 0),
            ("/effort hig<tab>", "/effort high", 0),
            ("/hel<ret>", "", 1),
            ("/help<ret>", "", 1),
            ("/he<esc><ret>", "/he", 0),
            ("/rdw<ret>", "/rdw", 0),
            ("/rdw<tab>", "/redraw", 0),
        ] {
            let mut model = model();
            script(&mut model, keys);
            assert_eq!(
                (composer::text(&model.tab.composer).as_str(), model.tab.modals.len()),
                (text, modals),
                "{keys}"
            );
        }
    }

    #[test]
    fn enter_takes_what_is_typed_and_chooses_nothing_that_is_not() {
        use crate::protocol::AgentCommand;
        for (keys, effort) in [
            ("/effort high<ret>", Some(Effort::High)),
            ("/effort HIGH<ret>", Some(Effort::High)),
            ("/effort xh<ret>", Some(Effort::XHigh)),
            ("/effort m<ret>", None),
            ("/effort hi<ret>", None),
            ("/effort hi<tab><ret>", Some(Effort::High)),
            ("/effort hi<down><ret>", Some(Effort::XHigh)),
            ("/effort <ret>", None),
        ] {
            let mut model = crate::app::tests::ready();
            let effects = script(&mut model, keys);
            let set = effects.iter().find_map(|effect| match effect {
                Effect::Agent(AgentCommand::SetEffort(effort)) => Some(*effort),
                _ => None,
            });
            assert_eq!(set, effort, "{keys}");
        }
    }

    #[test]
    fn paths_complete_after_an_at_sign() {
        let mut model = model();
        let effects = script(&mut model, "see @sr");
        assert_eq!(effects.last(), Some(&Effect::Load(LoadRequest::Paths { word: "sr".into() })));
        let found = |path: &str| FoundPath { path: path.into(), marks: vec![0, 1] };
        let reply = |word: &str| {
            Msg::Loaded(LoadReply::Paths { word: word.into(), paths: vec![found("src/"), found("src/lib.rs")] })
        };
        update(&mut model, 0, reply("s"));
        assert!(shown(&model).is_empty(), "an answer to an older word is dropped");
        update(&mut model, 0, reply("sr"));
        let marks = model.tab.composer.completion.as_ref().map(|popup| popup.items[0].marks.clone());
        assert_eq!(marks, Some(vec![1, 2]), "counted with the sign");
        script(&mut model, "<down>");
        let again = vec![found("lib/src.rs"), found("src/lib.rs")];
        update(&mut model, 0, Msg::Loaded(LoadReply::Paths { word: "sr".into(), paths: again }));
        script(&mut model, "<ret>x");
        assert_eq!(composer::text(&model.tab.composer), "see @src/lib.rs x", "what was selected stays selected");
    }

    #[test]
    fn a_folder_with_a_blank_in_its_name_is_gone_into_and_is_one_reference() {
        let mut model = model();
        let answer = |model: &mut Model, word: &str, path: &str| {
            let paths = vec![FoundPath { path: path.into(), marks: vec![0] }];
            update(model, 0, Msg::Loaded(LoadReply::Paths { word: word.into(), paths }));
        };
        let asked = |word: &str| Some(Effect::Load(LoadRequest::Paths { word: word.into() }));
        script(&mut model, "see @my");
        answer(&mut model, "my", "my notes/");
        let marks = model.tab.composer.completion.as_ref().map(|popup| popup.items[0].marks.clone());
        assert_eq!(marks, Some(vec![9]), "counted with what stands before");
        let effects = script(&mut model, "<tab>");
        assert_eq!(effects.last().cloned(), asked("my notes/"), "it goes on in the folder");
        assert_eq!(composer::text(&model.tab.composer), r#"see @folder:"my notes/""#);
        answer(&mut model, "my notes/", "my notes/in here/");
        script(&mut model, "<tab>");
        assert_eq!(composer::text(&model.tab.composer), r#"see @folder:"my notes/in here/""#);
        let effects = script(&mut model, "da y");
        assert_eq!(effects.last().cloned(), asked("my notes/in here/da y"), "blanks are typed there, too");
        answer(&mut model, "my notes/in here/da y", "my notes/in here/day 1.md");
        script(&mut model, "<tab>and");
        assert_eq!(composer::text(&model.tab.composer), r#"see @file:"my notes/in here/day 1.md" and"#);
        // A plain path of a folder that was quoted is plain again.
        script(&mut model, "<C-u>@file:\"sr");
        answer(&mut model, "sr", "src/lib.rs");
        script(&mut model, "<tab>");
        assert_eq!(composer::text(&model.tab.composer), "@src/lib.rs ");
    }
}
