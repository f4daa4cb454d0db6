//! Builtins that change the state of the line: variables by every way that sets one, the folder, traps, functions, and the
//! builtins that run or evaluate a text that they are given.

use super::decode::{self, Stream};
use super::invoke::Known;
use super::resolve::{Field, UNKNOWN};
use super::walk::Walker;
use crate::policy::files::normal;
use crate::policy::glob;
use crate::policy::table::{Kind, Level};
use std::path::Path;
use std::rc::Rc;

/// Bytes of the path of a folder that is entered.
const MAX_FOLDER: usize = 512;
/// Words of an array that are followed.
const MAX_WORDS: usize = 64;

impl Walker<'_> {
    /// Runs a builtin; `None` when the command is none of them. The inner option is what it writes.
    pub(super) fn builtin(&mut self, known: &Known<'_>, input: &Option<Stream>) -> Option<Option<Stream>> {
        let span = known.span();
        let nothing = || Some(Stream::text("", span.clone()));
        match known.spec.kind {
            Kind::Cd => {
                self.change_folder(known);
                return Some(nothing());
            }
            Kind::Declare => {
                self.declare(known);
                let silent = known.argv.len() > 1 && !known.has(&["-p"]);
                return Some(if silent { nothing() } else { None });
            }
            Kind::Alias => self.alias(known),
            Kind::Read if known.name == "read" => self.read_names(known, input),
            Kind::Read => self.read_lines(known, input),
            Kind::Set => {
                self.set_options(known);
                return Some(nothing());
            }
            Kind::Unset => self.unset(known),
            Kind::Trap => self.trap(known),
            Kind::Printf => {
                self.printf_variable(known)?;
                return Some(nothing());
            }
            _ => {
                self.other_builtin(known);
                return None;
            }
        }
        Some(nothing())
    }

    /// Builtins that have no kind of their own; they write what any command may.
    fn other_builtin(&mut self, known: &Known<'_>) {
        let texts: Vec<&str> = known.argv[1..].iter().map(|f| f.text.as_str()).collect();
        match known.name.as_str() {
            "let" => {
                for field in &known.argv[1..] {
                    self.arithmetic(&field.text, &field.span, 0);
                }
            }
            "test" | "[" => {
                if let Some(field) = texts.iter().position(|t| *t == "-v").and_then(|at| known.argv.get(at + 2)) {
                    self.subscript(&field.text, &field.span);
                }
            }
            "wait" | "getopts" => {
                for field in &known.argv[1..] {
                    self.subscript(&field.text, &field.span);
                }
                if let ("getopts", Some(name)) = (known.name.as_str(), known.argv.get(2)) {
                    self.assign(&name.text, vec![UNKNOWN.to_string()], &name.span);
                }
            }
            "shift" => {
                let by = texts.first().map_or(Some(1), |t| t.parse::<usize>().ok());
                self.state.positional = match (self.state.positional.take(), by) {
                    (Some(all), Some(by)) => Some(all.into_iter().skip(by).collect()),
                    _ => None,
                };
            }
            "popd" => {
                let before = self.state.cwds.clone();
                let last = Rc::make_mut(&mut self.state.folders).pop();
                if let Some(folders) = last {
                    self.state.cwds = folders;
                    self.state.old = Some(before);
                }
            }
            "compgen" | "complete" => {
                for pair in known.argv.windows(2) {
                    match pair[0].text.as_str() {
                        "-C" => {
                            self.subshell(|w| w.text(&pair[1].text, &pair[1].span, None));
                        }
                        "-W" => self.evaluate(&pair[1].text, &pair[1].span),
                        _ => {}
                    }
                }
            }
            "bind" => {
                for field in known.argv.iter().skip(1).filter(|_| texts.contains(&"-x")) {
                    if let Some((_, line)) = field.text.split_once(':') {
                        let line = line.trim().trim_matches('"').to_owned();
                        self.subshell(|w| w.text(&line, &field.span, None));
                    }
                }
            }
            "enable" if texts.iter().any(|t| t.starts_with("-f")) => {
                self.find("arbitrary program execution via a flag", known.span());
            }
            "hash" if texts.contains(&"-p") => self.find("alias", known.span()),
            _ => {}
        }
    }

    /// Sets a variable: what it makes other programs do counts however it is set. `name` may have a subscript.
    pub(super) fn assign(&mut self, name: &str, values: Vec<String>, span: &super::ast::Span) {
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
    fn declare(&mut self, known: &Known<'_>) {
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

    fn alias(&mut self, known: &Known<'_>) {
        for field in &known.argv[1..] {
            let Some((name, body)) = field.text.split_once('=') else { continue };
            let (body, at) = (body.to_owned(), field.span.clone());
            let level = self.try_out(|w| {
                w.text(&body, &at, None);
            });
            if level > Level::Allow {
                self.find("alias definition", field.span.clone());
            }
            Rc::make_mut(&mut self.state.aliases).insert(name.to_owned());
        }
    }

    /// `read NAME…`: the words of a line. In a loop it may be any line.
    fn read_names(&mut self, known: &Known<'_>, input: &Option<Stream>) {
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
    fn read_lines(&mut self, known: &Known<'_>, input: &Option<Stream>) {
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
    fn printf_variable(&mut self, known: &Known<'_>) -> Option<()> {
        let (name, values) = match known.argv.get(1..)? {
            [flag, name, rest @ ..] if flag.text == "-v" => (name, rest),
            _ => return None,
        };
        let texts: Vec<&str> = values.iter().map(|f| f.text.as_str()).collect();
        let text = texts.split_first().and_then(|(format, values)| decode::printf(format, values));
        self.assign(&name.text, vec![text.unwrap_or_else(|| UNKNOWN.to_string())], &name.span);
        Some(())
    }

    fn set_options(&mut self, known: &Known<'_>) {
        let texts: Vec<&str> = known.argv[1..].iter().map(|f| f.text.as_str()).collect();
        let from = match texts.iter().position(|t| *t == "--") {
            Some(at) => Some(at + 1),
            None => texts
                .iter()
                .enumerate()
                .find(|(i, t)| {
                    let of_option = *i > 0 && matches!(texts[*i - 1], "-o" | "+o" | "-eo" | "-euo" | "-uo");
                    !of_option && !t.starts_with(['-', '+'])
                })
                .map(|(i, _)| i),
        };
        if let Some(from) = from {
            self.state.positional = Some(texts[from..].iter().map(|t| (*t).to_owned()).collect());
        }
        let short = |t: &&&str, sign: char| t.starts_with(sign) && !t.starts_with("--") && t[1..].contains('e');
        if texts.iter().any(|t| short(&t, '-')) || texts.contains(&"errexit") && texts.contains(&"-o") {
            self.state.errexit = true;
        }
        if texts.iter().any(|t| short(&t, '+') || *t == "+o") {
            self.state.errexit = false;
        }
    }

    fn unset(&mut self, known: &Known<'_>) {
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

    /// `trap TEXT SIGNAL…`: it may run at once, or at the end with what the variables hold then.
    fn trap(&mut self, known: &Known<'_>) {
        let rest = match known.argv.get(1..).unwrap_or_default() {
            [dashes, rest @ ..] if dashes.text == "--" => rest,
            [flag, ..] if flag.text.starts_with('-') => return,
            rest => rest,
        };
        let [text, _, ..] = rest else { return };
        let run = |w: &mut Self| w.subshell(|w| w.text(&text.text, &text.span, None));
        let worst = self.try_out(|w| {
            run(w);
        });
        // At the outermost level it runs when the variables hold their last values.
        let later = self.depth == 0 && self.nested == 0 && self.traps.len() < 16;
        if !later || worst == Level::Refuse {
            run(self);
        }
        if later {
            self.traps.push((text.text.clone(), text.span.clone()));
        }
    }

    /// Whether no command so far may have moved a folder.
    fn all_quiet(&mut self) -> bool {
        let quiet = |i: &super::findings::Invocation| {
            let name = i.plain.first().map_or("", String::as_str);
            matches!(name, "cd" | "pushd" | "mkdir" | "echo" | "ls" | "pwd" | "set" | "export" | "true" | "git")
        };
        let from = self.quiet.min(self.invocations.len());
        let next = self.invocations[from..].iter().position(|i| !quiet(i));
        self.quiet = next.map_or(self.invocations.len(), |at| from + at);
        next.is_none()
    }

    /// `cd`: the folder after it, and the one where the line stays when it fails.
    fn change_folder(&mut self, known: &Known<'_>) {
        let target = known.argv[1..].iter().find(|f| !f.text.starts_with('-') || f.text == "-").cloned();
        let long: usize = self.state.cwds.iter().map(String::len).sum();
        if !self.spend(1 + long / 8, &known.argv[0].span) {
            return;
        }
        let before = self.state.clone();
        self.state.cwds = match target.as_ref().map(|f| f.text.as_str()) {
            None if known.name == "pushd" => before.folders.last().cloned().unwrap_or_else(|| self.state.cwds.clone()),
            None => self.value_of("HOME"),
            Some("-") => before.old.clone().unwrap_or_else(|| vec![format!("/{UNKNOWN}")]),
            Some(path) => {
                // Of what a pattern matches it is one.
                let path = match target.as_ref().is_some_and(|f| f.glob) {
                    true => path
                        .split('/')
                        .map(|p| if glob::is_pattern(p) { "\0" } else { p })
                        .collect::<Vec<_>>()
                        .join("/"),
                    false => path.to_owned(),
                };
                let path = if path.starts_with(UNKNOWN) && path.len() > 1 { format!("./{path}") } else { path };
                let mut all = self.absolute(&path);
                // A name without a leading dot is also looked for in the folders of CDPATH.
                if !path.starts_with(['/', '.']) {
                    for folders in before.vars.get("CDPATH").into_iter().flatten() {
                        let folders = folders.split(':').filter(|f| !f.is_empty());
                        all.extend(folders.map(|folder| normal(Path::new(folder), &path)));
                    }
                }
                all.truncate(8);
                // Deeper folders are not followed.
                all.retain(|path| path.len() <= MAX_FOLDER);
                if all.is_empty() { vec![format!("/{UNKNOWN}")] } else { all }
            }
        };
        if known.name == "pushd" {
            Rc::make_mut(&mut self.state.folders).push(before.cwds.clone());
            Rc::make_mut(&mut self.state.folders).truncate(8);
        }
        self.state.old = Some(before.cwds.clone());
        // A folder that is there can be entered, as long as nothing before in the line may have moved it.
        let certain = self.all_quiet()
            && self.state.cwds.clone().iter().all(|cwd| {
                !cwd.contains(UNKNOWN)
                    && self.spend(4, &known.argv[0].span)
                    && !self.world.glob(&format!("{cwd}/."), Path::new("/"), 1).is_empty()
            });
        if !certain {
            self.failed = Some(before);
        }
    }
}
