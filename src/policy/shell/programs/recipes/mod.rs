//! Files of recipes (`make`, `ninja`, `just`, `task`, scripts of `package.json`): which of their lines a shell gets.

mod expand;

use crate::policy::shell::read::ast::Span;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::Known;
use crate::policy::shell::walk::resolve::{Field, UNKNOWN};
use crate::policy::shell::walk::streams::MAX_TEXT;
use crate::policy::table::Language;
pub(in crate::policy::shell) use expand::Names;
use expand::{Dialect, Values, balanced};

/// Shell lines of one file of recipes.
const MAX_RECIPES: usize = 256;
/// Values of one variable of the line that recipes are judged with.
const MAX_TURNS: usize = 8;
/// Files that include each other, and calls in one line, that are followed.
const MAX_INCLUDED: usize = 16;

impl Walker<'_> {
    /// What the command line of `make` and the like says of variables (`NAME=value`), and of parameters by their number.
    pub(in crate::policy::shell) fn given_names(&self, known: &Known<'_>) -> Names {
        let mut names = Names::new();
        let mut number = 0;
        for field in known.operands().filter(|f| !f.text.contains(UNKNOWN)) {
            if let Some((name, value)) = field.text.split_once('=') {
                names.insert(name.trim_end_matches([':', '+', '?']).to_owned(), value.to_owned());
            } else {
                names.insert(format!("#{number}"), field.text.clone());
                number += 1;
            }
        }
        // `just --set NAME VALUE`
        for words in known.argv.windows(3).filter(|words| words[0].text == "--set") {
            names.insert(words[1].text.clone(), words[2].text.clone());
        }
        names
    }

    /// Judges the shell lines of a file of recipes.
    pub(in crate::policy::shell) fn recipes(&mut self, lang: Language, text: &str, given: &Names, span: &Span) {
        if text.len() >= MAX_TEXT {
            self.limit(span);
            return;
        }
        let mut judged: Vec<String> = Vec::new();
        // A variable of the line may have several values.
        for turn in 0..MAX_TURNS {
            let read = |name: &str| self.file(&Field::known(name, span.clone())).and_then(|stream| stream.text);
            let environment = |name: &str| {
                let name = if name == "CURDIR" { "PWD" } else { name };
                let known = name == "HOME" || name == "PWD" || self.state.vars.contains_key(name);
                let values = if known { self.value_of(name) } else { self.world.variable(name).into_iter().collect() };
                let value = values.get(turn.min(values.len().saturating_sub(1)))?;
                Some(if value.contains(UNKNOWN) { "x".to_owned() } else { value.clone() })
            };
            let dialect = match lang {
                Language::Tasks => Dialect::Tasks,
                _ if text.contains("rule ") && text.contains("command =") => Dialect::Ninja,
                _ => Dialect::Make,
            };
            let mut file = Recipes::new(Values::new(dialect, given, &environment), &read);
            file.read(text, 0);
            let (all, cut) = file.lines();
            if cut || all.len() > MAX_RECIPES {
                self.limit(span);
            }
            let from = judged.len();
            for line in all.into_iter().take(MAX_RECIPES) {
                if !judged.contains(&line) {
                    judged.push(line);
                }
            }
            if judged.len() == from {
                break;
            }
            for line in &judged[from..] {
                self.subshell(|w| w.text(line, span, None));
            }
        }
    }
}

/// A file of recipes as it is read.
struct Recipes<'a> {
    values: Values<'a>,
    /// The text of a file that the line wrote.
    read: &'a dyn Fn(&str) -> Option<String>,
    /// Lines for a shell as they stand, what they are about, and what they were when they were read.
    lines: Vec<(String, Names, String)>,
    /// What the rule is about that is being read.
    rule: Names,
    /// The name whose lines are being read: `define NAME`.
    defines: Option<String>,
    /// All lines of a rule go to one shell.
    joined: bool,
    /// It includes what is not known.
    missing: bool,
}

impl<'a> Recipes<'a> {
    fn new(values: Values<'a>, read: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { values, read, lines: Vec::new(), rule: Names::new(), defines: None, joined: false, missing: false }
    }

    fn read(&mut self, text: &str, depth: usize) {
        if text.trim_start().starts_with('{') && self.values.dialect != Dialect::Ninja {
            for script in text.split('"').skip(1).step_by(2).filter(|s| s.contains(' ')) {
                self.lines.push((script.to_owned(), Names::new(), script.to_owned()));
            }
            return;
        }
        self.joined |= text.contains(".ONESHELL");
        let mut within = false;
        for line in text.replace("\\\n", " ").lines() {
            if self.defined(line) {
                continue;
            }
            match line.strip_prefix(['\t', ' ']) {
                Some(recipe) => {
                    self.recipe(recipe.trim_start(), within);
                    within = true;
                }
                None => {
                    within = false;
                    self.outside(line, depth);
                }
            }
        }
    }

    /// A line of a name that recipes are made of.
    fn defined(&mut self, line: &str) -> bool {
        if let Some(name) = line.strip_prefix("define ") {
            let name = name.trim().trim_end_matches(['=', ':', '?', ' ']).to_owned();
            self.values.said.insert(name.clone(), String::new());
            self.defines = Some(name);
            return true;
        }
        let Some(name) = self.defines.clone() else { return false };
        if line.starts_with("endef") {
            self.defines = None;
            return true;
        }
        let body = self.values.said.entry(name).or_default();
        body.push_str(line);
        body.push('\n');
        self.recipe(line, false);
        true
    }

    /// A line for the shell. `within`: it follows one of the same rule.
    fn recipe(&mut self, line: &str, within: bool) {
        if self.values.dialect == Dialect::Tasks {
            self.task(line, within);
            return;
        }
        if self.values.dialect == Dialect::Ninja
            && let Some((name, value)) = line.split_once('=')
        {
            self.values.said.insert(name.trim().to_owned(), value.trim().to_owned());
            if !matches!(name.trim(), "command" | "rspfile_content") {
                return;
            }
            self.push(value.trim(), within);
            return;
        }
        self.push(line, within);
    }

    /// A line of just or task: a step of a list, a value, or one of a script that names its interpreter.
    fn task(&mut self, line: &str, within: bool) {
        if let Some((last, _, stood)) = self.lines.last_mut().filter(|(last, ..)| within && last.starts_with("#!")) {
            last.push_str(&format!("\n{line}"));
            stood.clone_from(last);
            return;
        }
        let step = line.trim_start_matches("- ");
        let step = ["cmd: ", "sh: "].iter().find_map(|name| step.strip_prefix(name)).unwrap_or(step);
        if let Some((name, value)) = step.split_once(": ")
            && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        {
            self.values.said.insert(name.to_owned(), unquoted(value).to_owned());
        }
        self.push(unquoted(step), within);
    }

    fn push(&mut self, line: &str, within: bool) {
        let now = self.values.expand(line, &self.rule);
        match self.lines.last_mut().filter(|_| within && self.joined) {
            Some((last, _, stood)) => {
                last.push_str(&format!("\n{line}"));
                stood.push_str(&format!("\n{now}"));
            }
            None => self.lines.push((line.to_owned(), self.rule.clone(), now)),
        }
    }

    /// A line that is no recipe: a value, a rule, another file.
    fn outside(&mut self, line: &str, depth: usize) {
        let word = line.split_whitespace().next().unwrap_or("");
        if matches!(word, "include" | "-include" | "sinclude" | "subninja" | "import" | "import?") {
            let names = self.values.expand(line[word.len()..].trim(), &self.rule);
            for name in names.split_whitespace().take(MAX_INCLUDED) {
                match (self.read)(unquoted(name)).filter(|_| depth < MAX_INCLUDED / 4) {
                    Some(text) => self.read(&text, depth + 1),
                    None => self.missing = true,
                }
            }
            return;
        }
        self.assigned(line);
        for (mark, close) in [("$(eval ", ')'), ("${eval ", '}')] {
            for (at, _) in line.match_indices(mark).take(MAX_INCLUDED) {
                self.assigned(&balanced(&line[at + mark.len()..], close).replace("$$", "$"));
            }
        }
        // `$(shell …)` runs while the file is read.
        for (mark, close) in [("$(shell ", ')'), ("${shell ", '}')] {
            for (at, _) in line.match_indices(mark).take(MAX_INCLUDED) {
                self.push(balanced(&line[at + mark.len()..], close), false);
            }
        }
        let (head, recipe) = line.split_once(';').unwrap_or((line, ""));
        self.about(head);
        if !recipe.trim().is_empty() {
            self.push(recipe.trim_start(), false);
        }
    }

    /// `NAME = value`, by any of the ways to write it.
    fn assigned(&mut self, line: &str) {
        let Some((name, value)) = line.split_once('=') else { return };
        let value = value.trim();
        let kind = name.trim_end().chars().last();
        // `X != COMMAND`
        if kind == Some('!') {
            self.push(value, false);
        }
        // just: ``x := `COMMAND` ``
        if let Some(command) = value.strip_prefix('`').and_then(|text| text.strip_suffix('`')) {
            self.push(command, false);
        }
        let name = name.trim_end_matches([':', '?', '+', '!', ' ', '\t']);
        let name = name.rsplit([' ', '\t', ':']).next().unwrap_or(name).to_owned();
        let value = match (self.values.dialect, kind) {
            (Dialect::Tasks, _) if value.contains("()") || value.contains('(') => format!("{{{{{value}}}}}"),
            (Dialect::Tasks, _) => unquoted(value).to_owned(),
            // Replaced now, with the dollar signs of the shell kept for the next time.
            (Dialect::Make, Some(':')) => self.values.expand(value, &self.rule).replace('$', "$$"),
            (Dialect::Make, Some('?')) if (self.values.environment)(&name).is_some() => return,
            (Dialect::Make, Some('+')) => {
                format!("{} {value}", self.values.said.get(&name).map_or("", String::as_str))
            }
            // A value that is made of itself has what it had.
            _ if value.contains(&format!("$({name})")) => self.values.expand(value, &self.rule),
            _ => value.to_owned(),
        };
        self.values.said.insert(name, value);
    }

    /// What a rule makes, and out of what.
    fn about(&mut self, head: &str) {
        self.rule.clear();
        let Some((made, from)) = head.split_once(':').filter(|(_, from)| !from.starts_with('=')) else { return };
        match self.values.dialect {
            Dialect::Tasks => {
                // `name parameter other="text":`
                let words: Vec<&str> = made.split_whitespace().collect();
                let name = words.first().map_or("", |word| word.trim_start_matches('@'));
                let given = |i: usize| {
                    let at = (0..).map_while(|n| self.values.given.get(&format!("#{n}"))).position(|w| w == name)?;
                    self.values.given.get(&format!("#{}", at + i)).cloned()
                };
                for (i, word) in words.iter().enumerate().skip(1) {
                    let (name, default) = word.split_once('=').unwrap_or((word, "x"));
                    let value = given(i).unwrap_or_else(|| unquoted(default).to_owned());
                    self.rule.insert(name.trim_start_matches(['+', '*', '$']).to_owned(), value);
                }
            }
            Dialect::Ninja => {
                let from = from.split_whitespace().skip(1).collect::<Vec<_>>().join(" ");
                for (name, value) in [("in", from.as_str()), ("out", made.trim_start_matches("build "))] {
                    let all = self.values.said.entry(name.to_owned()).or_default();
                    all.push(' ');
                    all.push_str(value);
                }
            }
            Dialect::Make => {
                let made = self.values.expand(made, &Names::new()).replace('%', "x");
                let from = self.values.expand(from, &Names::new()).replace('%', "x");
                let first = from.split_whitespace().next().unwrap_or("x").to_owned();
                let names = [("@", made), ("<", first), ("^", from.clone()), ("?", from.clone()), ("+", from)];
                self.rule.extend(names.map(|(name, value)| (name.to_owned(), value.trim().to_owned())));
            }
        }
    }

    /// The lines for a shell, with the values at the end of the file and with those where each stands, and whether there was
    /// more to replace than is followed.
    fn lines(mut self) -> (Vec<String>, bool) {
        self.values.whole = !self.missing;
        let mut all: Vec<String> = Vec::new();
        for (line, rule, stood) in &self.lines {
            for text in [&self.values.expand(line, rule), stood] {
                let line = |line: &str| line.trim_start_matches(['@', '-', '+', ' ', '\t']).to_owned();
                let text = script(&text.lines().map(line).collect::<Vec<_>>().join("\n"));
                if !text.is_empty() && all.last() != Some(&text) {
                    all.push(text);
                }
            }
        }
        (all, self.values.is_cut())
    }
}

/// A text that names its interpreter, as a line that gives it to that one.
fn script(text: &str) -> String {
    let Some((first, body)) = text.strip_prefix("#!").and_then(|rest| rest.split_once('\n')) else {
        return text.trim_end().to_owned();
    };
    let interpreter =
        first.trim().trim_start_matches("/usr/bin/env").trim_start().trim_start_matches("-S").trim_start();
    let name = interpreter.split_whitespace().next().unwrap_or("").rsplit('/').next().unwrap_or("");
    match name {
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" => body.to_owned(),
        _ => format!("{interpreter} <<'END_OF_RECIPE'\n{body}\nEND_OF_RECIPE"),
    }
}

fn unquoted(text: &str) -> &str {
    let text = text.trim();
    ['"', '\''].iter().find_map(|mark| text.strip_prefix(*mark)?.strip_suffix(*mark)).unwrap_or(text)
}

#[cfg(test)]
mod tests;
