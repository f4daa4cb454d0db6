//! What variables and `~` stand for.

use super::Walker;
use super::brace::compute;
use super::resolve::{MAX_OPTIONS, UNKNOWN, Value};
use crate::policy::glob;
use crate::policy::shell::read::ast::*;

impl Walker<'_> {
    pub(super) fn tilde(&self, text: &str) -> Vec<String> {
        let (user, rest) = text[1..].split_at(text[1..].find('/').unwrap_or(text.len() - 1));
        let home = self.world.home().to_string_lossy().into_owned();
        match user {
            "" => self.value_of("HOME").into_iter().map(|h| format!("{h}{rest}")).collect(),
            "root" => vec![format!("/root{rest}")],
            "+" => self.state.cwds.iter().map(|cwd| format!("{cwd}{rest}")).collect(),
            "-" => vec![format!("{UNKNOWN}{rest}")],
            user if home.rsplit('/').next() == Some(user) => vec![format!("{home}{rest}")],
            user if user.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.')) => {
                vec![format!("/home/{user}{rest}")]
            }
            _ => vec![text.to_owned()],
        }
    }

    /// The values that a name may have; one with [`UNKNOWN`] when it can be anything.
    pub(in crate::policy::shell) fn value_of(&self, name: &str) -> Vec<String> {
        self.lookup(name).unwrap_or_else(|| vec![UNKNOWN.to_string()])
    }

    /// `None`: not set anywhere that we know of.
    fn lookup(&self, name: &str) -> Option<Vec<String>> {
        let unknown = || Some(vec![UNKNOWN.to_string()]);
        let number = || Some(vec![format!("1{UNKNOWN}")]);
        let name = self.state.refs.get(name).map_or(name, String::as_str);
        if let Some(values) = self.state.vars.get(name) {
            return Some(values.clone());
        }
        if let Some((array, index)) = name.split_once('[') {
            let index = index.trim_end_matches(']');
            let elements = self.state.arrays.get(array)?;
            return match index.parse::<usize>() {
                Ok(i) => elements.get(i).map(|v| vec![v.clone()]),
                Err(_) => Some(vec![elements.join(" ")]),
            };
        }
        if let Some(first) = self.state.arrays.get(name).and_then(|a| a.first()) {
            return Some(vec![first.clone()]);
        }
        match name {
            "HOME" => Some(vec![self.world.home().to_string_lossy().into_owned()]),
            "PWD" => Some(self.state.cwds.clone()),
            "IFS" => Some(vec![" \t\n".into()]),
            "HERMES_HOME" => Some(vec![self.world.hermes_home().to_string_lossy().into_owned()]),
            "USER" | "LOGNAME" => Some(vec![self.world.home().file_name()?.to_string_lossy().into_owned()]),
            "OLDPWD" => self.state.old.clone().or_else(unknown),
            "RANDOM" | "SECONDS" | "BASHPID" | "UID" | "EUID" | "LINENO" | "SRANDOM" | "EPOCHSECONDS" => number(),
            "PPID" | "REPLY" | "BASH" | "BASH_VERSION" => unknown(),
            "FUNCNAME" => self.names.last().map(|name| vec![name.clone()]).or_else(unknown),
            "@" | "*" => self.state.positional.as_ref().map(|p| vec![p.join(" ")]).or_else(unknown),
            // Never an option, nor a path that begins somewhere.
            "#" | "?" | "$" | "!" => number(),
            "0" | "-" => unknown(),
            digits if digits.bytes().all(|b| b.is_ascii_digit()) => match &self.state.positional {
                Some(p) => Some(vec![
                    digits.parse::<usize>().ok().and_then(|i| p.get(i.wrapping_sub(1))).cloned().unwrap_or_default(),
                ]),
                None => unknown(),
            },
            name => self.world.variable(name).map(|v| vec![v]),
        }
    }

    pub(in crate::policy::shell) fn variable(
        &mut self,
        name: &str,
        operation: &Operation,
        quoted: bool,
        span: &Span,
    ) -> Vec<Value> {
        // `"$@"` and `"${list[@]}"` are several words.
        if matches!(operation, Operation::Plain) && quoted {
            let list = match name.strip_suffix("[@]") {
                Some(array) => self.state.arrays.get(array).cloned(),
                None if name == "@" => self.state.positional.clone(),
                None => None,
            };
            if let Some(texts) = list {
                let matched = self.state.patterns.contains(name.trim_end_matches("[@]"));
                return vec![Value { texts, matched, ..Value::default() }];
            }
        }
        let found = self.lookup(name);
        let is_empty = |values: &Option<Vec<String>>| values.as_ref().is_none_or(|v| v.iter().all(String::is_empty));
        let texts: Vec<String> = match operation {
            Operation::Plain => found.unwrap_or_else(|| vec![UNKNOWN.to_string()]),
            Operation::Default(word, assigns) => {
                let fallback = self.expand_text(word).text;
                if is_empty(&found) {
                    if *assigns {
                        self.assign(name, vec![fallback.clone()], span);
                    }
                    vec![fallback]
                } else {
                    let mut values = found.unwrap_or_default();
                    if values.iter().any(|v| v.contains(UNKNOWN)) {
                        values.push(fallback);
                    }
                    values
                }
            }
            Operation::Alternative(word) => {
                let text = self.expand_text(word).text;
                match &found {
                    None => vec![String::new()],
                    Some(v) if v.iter().any(|v| v.contains(UNKNOWN)) => vec![text, String::new()],
                    Some(v) if v.iter().all(String::is_empty) => vec![String::new()],
                    Some(_) => vec![text],
                }
            }
            Operation::Error(word) => {
                let _ = self.expand_text(word);
                found.unwrap_or_else(|| vec![UNKNOWN.to_string()])
            }
            Operation::Compute(word) => {
                let how = self.expand_text(word).text;
                // `${x@P}` expands what the value says, as in a prompt.
                if how == "@P" {
                    for value in found.iter().flatten() {
                        self.evaluate(value, span);
                    }
                    if found.is_none() {
                        self.find("unresolved words", span.clone());
                    }
                }
                match found {
                    // Wherever PATH leads, it begins with a folder.
                    found
                        if name == "PATH"
                            && found.as_ref().is_none_or(|v| v.iter().all(|v| v.starts_with(UNKNOWN))) =>
                    {
                        vec![compute(&format!("/{UNKNOWN}"), &how)]
                    }
                    // Of a file that a pattern matches the folder is known.
                    Some(values) if self.state.patterns.contains(name) => values
                        .iter()
                        .map(|v| match v.rsplit_once('/') {
                            Some((folder, _)) if !glob::is_pattern(folder) => format!("{folder}/{UNKNOWN}"),
                            _ => format!("./{UNKNOWN}"),
                        })
                        .collect(),
                    Some(values) => values.iter().map(|v| compute(v, &how)).collect(),
                    None => vec![UNKNOWN.to_string()],
                }
            }
            Operation::Indirect => {
                let names = found.unwrap_or_default();
                match names.as_slice() {
                    [name] if !name.contains(UNKNOWN) && !name.is_empty() => self.value_of(name),
                    _ => vec![UNKNOWN.to_string()],
                }
            }
            Operation::Other => vec![UNKNOWN.to_string()],
        };
        let plain = name.split('[').next().unwrap_or(name);
        let matched = !matches!(operation, Operation::Compute(_)) && self.state.patterns.contains(plain);
        let unset = !self.state.vars.contains_key(plain) && !self.state.arrays.contains_key(plain);
        let value = |t| Value { matched, unset, loose: !quoted, ..Value::text(t, quoted) };
        texts.into_iter().take(MAX_OPTIONS + 1).map(value).collect()
    }
}
