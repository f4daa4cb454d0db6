//! Builtins that set variables, by every way that there is, and those that take them away.

use super::Walker;
use super::invoke::Known;
use super::resolve::{Field, UNKNOWN};
use crate::policy::shell::programs::decode;
use crate::policy::shell::programs::decode::Stream;
use crate::policy::shell::read::ast::Span;
use std::rc::Rc;

/// Words of an array that are followed.
const MAX_WORDS: usize = 64;

impl Walker<'_> {
    /// Sets a variable: what it makes other programs do counts however it is set. `name` may have a subscript.
    pub(in crate::policy::shell) fn assign(&mut self, name: &str, values: Vec<String>, span: &Span) {
        if name.contains(UNKNOWN) {
            self.find("unresolved words", span.clone());
        }
        self.subscript(name, span);
        let (plain, index) = name.split_once('[').map_or((name, None), |(n, i)| (n, Some(i)));
        let target = self.state.refs.get(plain).cloned();
        let plain = target.as_deref().unwrap_or(plain).to_owned();
        for value in values.iter().take(8) {
            self.check_assignment(&plain, value, false, span);
            // A prompt is expanded when it is shown.
            let prompt = plain == "PROMPT_COMMAND" || plain.strip_prefix("PS").is_some_and(|n| n.len() == 1);
            if prompt && value.contains(['$', '`']) {
                self.evaluate(value, span);
            }
        }
        if index.is_some() {
            Rc::make_mut(&mut self.state.arrays).entry(plain).or_default().extend(values);
        } else {
            self.state.set(&plain, values);
        }
    }

    /// `export`, `declare`, `local` and the like.
    pub(in crate::policy::shell) fn declare(&mut self, known: &Known<'_>) {
        let span = known.span();
        if known.has(&["-f"]) && known.name == "export" {
            let functions = Rc::make_mut(&mut self.state.functions);
            for name in known.operands() {
                if let Some(function) = functions.get_mut(&name.text) {
                    function.exported = true;
                }
            }
        }
        let bare = known.args.operands.is_empty() && !known.has(&["-f", "-F", "-a", "-A"]);
        if bare && matches!(known.name.as_str(), "export" | "declare" | "typeset") {
            self.find("prints the environment", span);
            return;
        }
        let [function, shows, exports, renames, counts] =
            [&["-f"][..], &["-p", "-F"], &["-x"], &["-n"], &["-i"]].map(|flags| known.has(flags));
        let exported = known.name == "export" || exports;
        for (i, field) in known.argv.iter().enumerate().skip(1) {
            if field.text.starts_with('-') {
                continue;
            }
            if exported && !function {
                self.exports(&field.text, &field.span);
            }
            let Some((name, value)) = field.text.split_once('=') else {
                // `export $X` may be `export NAME=value`.
                if field.text.starts_with(UNKNOWN) && !function && !shows {
                    self.find("unresolved words", field.span.clone());
                }
                self.subscript(&field.text, &field.span);
                continue;
            };
            let (name, append) = name.strip_suffix('+').map_or((name, false), |n| (n, true));
            if renames {
                Rc::make_mut(&mut self.state.refs).insert(name.to_owned(), value.to_owned());
                continue;
            }
            let mut value = if value.starts_with('~') {
                self.tilde(value).into_iter().next().unwrap_or_default()
            } else {
                value.to_owned()
            };
            if counts {
                self.arithmetic(&value, &field.span, 0);
            }
            if append {
                let old = self.value_of(name);
                value = format!("{}{value}", old.first().map_or("", String::as_str));
            }
            // `declare -a list=(…)` is read as `list=` and its values.
            let list: Vec<String> = match known.argv.get(i + 1..) {
                Some(rest) if value.is_empty() => rest.iter().take(MAX_WORDS).map(|f| f.text.clone()).collect(),
                _ => Vec::new(),
            };
            // `declare -a list='(…)'`: so is the text.
            let list: Vec<String> = match value.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
                Some(text) if list.is_empty() => text.split_whitespace().take(MAX_WORDS).map(str::to_owned).collect(),
                _ => list,
            };
            self.assign(name, vec![value], &field.span);
            if !list.is_empty() {
                Rc::make_mut(&mut self.state.arrays).insert(name.to_owned(), list);
            }
        }
    }

    /// `read NAME…`: the words of a line. In a loop it may be any line.
    pub(super) fn read_names(&mut self, known: &Known<'_>, input: &Option<Stream>) {
        let text = input.as_ref().and_then(|s| s.text.as_deref());
        let matched = input.as_ref().is_some_and(|s| s.matched);
        let span = known.span();
        let lines: Vec<&str> = text.map(|t| t.lines().take(9).collect()).unwrap_or_default();
        let separators = self.state.vars.get("IFS").map_or_else(|| " \t\n".to_owned(), |all| all.concat());
        let split = |line: &str| -> Vec<String> {
            line.split(|c| separators.contains(c)).filter(|w| !w.is_empty()).map(str::to_owned).collect()
        };
        if let Some(name) = known.value(&["-a"]) {
            let words = lines.iter().flat_map(|line| split(line)).take(MAX_WORDS).collect();
            let words = if lines.is_empty() { vec![UNKNOWN.to_string()] } else { words };
            self.assign(&name.text, vec![UNKNOWN.to_string()], &span);
            Rc::make_mut(&mut self.state.arrays).insert(name.text, words);
        }
        let mut names: Vec<Field> = known.operands().cloned().collect();
        if names.is_empty() && !known.has(&["-a"]) {
            names.push(Field::known("REPLY", span.clone()));
        }
        let last = names.len().saturating_sub(1);
        for (i, name) in names.iter().enumerate() {
            let values: Vec<String> = match lines.as_slice() {
                [] => vec![UNKNOWN.to_string()],
                // `read -d ''` takes all.
                lines if known.has(&["-d"]) && last == 0 => vec![lines.join("\n")],
                lines if last == 0 => lines.iter().map(|l| (*l).to_owned()).collect(),
                lines => lines
                    .iter()
                    .map(|line| {
                        let words = split(line);
                        let rest = words.get(i..).unwrap_or_default();
                        if i == last { rest.join(" ") } else { rest.first().cloned().unwrap_or_default() }
                    })
                    .collect(),
            };
            self.assign(&name.text, values, &name.span);
            if matched {
                Rc::make_mut(&mut self.state.patterns).insert(name.text.clone());
            }
        }
    }

    /// `mapfile`: lines into an array, and a command for each few of them.
    pub(super) fn read_lines(&mut self, known: &Known<'_>, input: &Option<Stream>) {
        for pair in known.argv.windows(2).filter(|pair| pair[0].text == "-C") {
            self.subshell(|w| w.text(&pair[1].text, &pair[1].span, None));
        }
        let named = known.argv.iter().skip(1).rfind(|f| f.is_known() && !f.text.starts_with('-'));
        let name = named.map_or("MAPFILE", |f| f.text.as_str()).to_owned();
        let lines = match input.as_ref().and_then(|s| s.text.as_deref()) {
            Some(text) => text.lines().take(MAX_WORDS).map(str::to_owned).collect(),
            None => vec![UNKNOWN.to_string()],
        };
        self.subscript(&name, &known.span());
        Rc::make_mut(&mut self.state.arrays).insert(name, lines);
    }

    /// `printf -v NAME FORMAT VALUE…`; `None` when it prints.
    pub(super) fn printf_variable(&mut self, known: &Known<'_>) -> Option<()> {
        let (name, values) = match known.argv.get(1..)? {
            [flag, name, rest @ ..] if flag.text == "-v" => (name, rest),
            _ => return None,
        };
        let texts: Vec<&str> = values.iter().map(|f| f.text.as_str()).collect();
        let text = texts.split_first().and_then(|(format, values)| decode::printf(format, values));
        self.assign(&name.text, vec![text.unwrap_or_else(|| UNKNOWN.to_string())], &name.span);
        Some(())
    }

    pub(in crate::policy::shell) fn unset(&mut self, known: &Known<'_>) {
        for field in known.argv[1..].iter().filter(|f| !f.text.starts_with('-')) {
            let name = field.text.as_str();
            self.subscript(name, &field.span);
            // Without an option the function goes when there is no variable of that name.
            if !known.has(&["-v", "-n"]) && self.state.functions.contains_key(name) {
                let functions = Rc::make_mut(&mut self.state.functions);
                if known.has(&["-f"]) {
                    functions.remove(name);
                } else if let Some(function) = functions.get_mut(name) {
                    function.certain = false;
                }
            }
            if !known.has(&["-f"]) {
                self.state.set(name, vec![String::new()]);
            }
        }
    }
}
