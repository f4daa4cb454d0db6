//! Slash commands: a word of the action table, a skill, or the closest match.

use super::{composer, drafts, history};
use crate::app::action::{ACTIONS, Action};
use crate::app::effect::{Effect, Report};
use crate::app::lists::{extensions, servers, uses};
use crate::app::model::Model;
use crate::app::session::turn;
use crate::app::{action, run};
use crate::protocol::Level;

/// Whether a text is meant as a command: a slash, then a word. A path is not, nor is anything after a space.
pub fn is_command(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('/') else { return false };
    let word = rest.split_whitespace().next().unwrap_or_default();
    !word.is_empty() && !word.contains('/') && rest.starts_with(|c: char| c.is_alphanumeric())
}

/// Runs what the composer holds as a command. Text of an unknown command stays.
pub fn send(model: &mut Model, out: &mut Vec<Effect>, text: &str) {
    let (word, argument) = split(text);
    if let Some(entry) = action::slash(word) {
        composer::clear(model);
        drafts::touch(model);
        drafts::save(model, out);
        if history::add(model, text.trim()) {
            out.push(Effect::Store(crate::store::StoreJob::AddHistory(text.trim().to_owned())));
        }
        uses::record(model, out, entry.name);
        run::run(model, out, entry.action, argument);
    } else if extensions::command(model, out, word, argument) {
        composer::clear(model);
        drafts::touch(model);
        drafts::save(model, out);
    } else if let Some(skill) = model.tab.sidebar.knowledge.skills.iter().find(|skill| skill.eq_ignore_ascii_case(word))
    {
        let name = format!("/{skill}");
        let prompt = format!("Use the skill \"{skill}\". {argument}");
        uses::record(model, out, &name);
        turn::send(model, out, prompt.trim().to_owned());
    } else if servers::ask_prompt(model, out, word, argument) {
        model.notices.add(model.now, Level::Info, format!("asking for the prompt {word}"));
    } else {
        let near = closest(model, word).map(|near| format!(": did you mean /{near}?")).unwrap_or_else(|| ":".into());
        model.notices.add(
            model.now,
            Level::Warning,
            format!("no command /{word}{near} to send it as text, put a space before it"),
        );
    }
}

fn split(text: &str) -> (&str, &str) {
    let rest = text.trim().strip_prefix('/').unwrap_or(text);
    match rest.split_once(char::is_whitespace) {
        Some((word, argument)) => (word, argument.trim()),
        None => (rest, ""),
    }
}

/// The command or skill that takes the fewest changes to get to, when they are few.
fn closest(model: &Model, word: &str) -> Option<String> {
    let word = word.to_lowercase();
    let slashes = ACTIONS.iter().filter_map(|entry| entry.slash);
    let names = slashes.flat_map(|slash| std::iter::once(slash.name).chain(slash.aliases.iter().copied()));
    let skills = model.tab.sidebar.knowledge.skills.iter().map(String::as_str);
    let plugins = model.extensions.commands.iter().map(|command| command.name.as_str());
    let near = names.chain(skills).chain(plugins).map(|name| {
        let distance = if name.starts_with(&word) { 1 } else { distance(&word, name) };
        (distance, name)
    });
    let best = near.min_by_key(|(distance, _)| *distance)?;
    (best.0 <= 1 + word.chars().count() / 3).then(|| best.1.to_owned())
}

/// Levenshtein's distance; both words are short.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(40).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (diagonal + usize::from(x != *y)).min(above + 1).min(row[j] + 1);
            diagonal = above;
        }
    }
    row[b.len()]
}

/// Whether an action answers with text from outside.
pub fn report(action: Action) -> Option<Report> {
    match action {
        Action::Tools => Some(Report::Tools),
        Action::Skills => Some(Report::Skills),
        Action::Memory => Some(Report::Memory),
        Action::Usage => Some(Report::Usage),
        Action::Config => Some(Report::Config),
        Action::Doctor => Some(Report::Doctor),
        Action::Diff => Some(Report::Diff),
        Action::Export => Some(Report::Export),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::effect::LoadRequest;
    use crate::app::session::items;
    use crate::app::tests::{ready, script};

    #[test]
    fn a_path_is_not_a_command() {
        for (text, command) in [
            ("/help", true),
            ("/title a b", true),
            ("/usr/bin/env does what?", false),
            ("/", false),
            ("/ x", false),
            (" /help", false),
            ("// comment", false),
            ("help", false),
        ] {
            assert_eq!(is_command(text), command, "{text}");
        }
    }

    #[test]
    fn unknown_commands_get_the_closest_match_and_keep_the_text() {
        for (typed, near) in [("/modell", Some("model")), ("/quti", Some("quit")), ("/xyzzyplugh", None)] {
            let mut model = ready();
            script(&mut model, &format!("{typed} x<ret>"));
            let said = &model.notices.shown.last().expect("a notice").text;
            assert_eq!(said.contains("did you mean"), near.is_some(), "{said}");
            assert!(near.is_none_or(|near| said.contains(near)), "{said}");
            assert_eq!(composer::text(&model.tab.composer), format!("{typed} x"));
        }
    }

    #[test]
    fn reports_are_asked_for_with_their_argument() {
        let mut model = ready();
        let effects = script(&mut model, "/export notes.md<ret>");
        assert!(!effects.iter().any(|effect| matches!(effect, Effect::Load(_))), "{effects:?}");
        let said = &model.notices.shown.last().expect("a notice").text;
        assert!(said.contains("nothing to export"), "{said}");
        items::opened(&mut model, vec![crate::app::tests::user(1, "a prompt")]);
        let effects = script(&mut model, "/export notes.md<ret>");
        let wanted = LoadRequest::Report { report: Report::Export, argument: "notes.md".into() };
        assert!(effects.contains(&Effect::Load(wanted)), "{effects:?}");
    }
}
