//! Prompts of MCP servers as commands, `/server:prompt`; their text comes to the composer.

use crate::app::effect::{Effect, LoadRequest};
use crate::app::input::{composer, paste};
use crate::app::model::Model;
use crate::protocol::Level;

/// The prompts of servers as commands: `/server:prompt`.
pub fn prompts(model: &Model) -> impl Iterator<Item = (String, &str)> {
    model
        .servers
        .iter()
        .flat_map(|row| row.prompts.iter().map(|(prompt, about, _)| (format!("{}:{prompt}", row.name), about.as_str())))
}

/// Asks for a prompt that a command names. `false`: there is none of that name.
pub fn ask_prompt(model: &Model, out: &mut Vec<Effect>, word: &str, argument: &str) -> bool {
    let found = model.servers.iter().find_map(|row| {
        let prompt = word.strip_prefix(&row.name)?.strip_prefix(':')?;
        let (name, _, args) = row.prompts.iter().find(|(name, _, _)| name == prompt)?;
        Some((row.name.clone(), name.clone(), arguments(args, argument)))
    });
    let Some((server, prompt, args)) = found else { return false };
    out.push(Effect::Load(LoadRequest::Prompt { server, prompt, args }));
    true
}

/// `name=value` by name; anything else goes to the parameters in order, the last one taking the rest.
fn arguments(names: &[String], text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut rest: Vec<&str> = Vec::new();
    for word in text.split_whitespace() {
        match word.split_once('=').filter(|(name, _)| names.iter().any(|known| known == name)) {
            Some((name, value)) => found.push((name.to_owned(), value.to_owned())),
            None => rest.push(word),
        }
    }
    let free: Vec<&String> = names.iter().filter(|name| !found.iter().any(|(known, _)| known == *name)).collect();
    let mut words = rest.into_iter();
    for (at, name) in free.iter().enumerate() {
        let value = if at + 1 == free.len() {
            words.by_ref().collect::<Vec<_>>().join(" ")
        } else {
            words.next().unwrap_or_default().to_owned()
        };
        if !value.is_empty() {
            found.push(((*name).clone(), value));
        }
    }
    found
}

/// A prompt came: into the composer, for the person to look at.
pub fn prompted(model: &mut Model, out: &mut Vec<Effect>, result: Result<String, String>) {
    match result {
        Ok(text) => {
            composer::set_text(model, &paste::harmless(text.trim()));
            composer::changed(model, out);
        }
        Err(why) => model.notices.add(model.now, Level::Error, why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_to_parameters_by_name_or_in_order() {
        let names = ["a".to_owned(), "b".to_owned()];
        for (text, want) in [
            ("", vec![]),
            ("x", vec![("a", "x")]),
            ("x y z", vec![("a", "x"), ("b", "y z")]),
            ("b=2 x y", vec![("b", "2"), ("a", "x y")]),
            ("c=1", vec![("a", "c=1")]),
        ] {
            let found = arguments(&names, text);
            let found: Vec<(&str, &str)> = found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            assert_eq!(found, want, "{text}");
        }
    }
}
