//! Builtins that change the state of the line: variables by every way that sets one, the folder, traps, functions, and the
//! builtins that run or evaluate a text that they are given.

use super::Walker;
use super::invoke::Known;
use super::resolve::UNKNOWN;
use crate::policy::files::normal;
use crate::policy::glob;
use crate::policy::shell::programs::decode::Stream;
use crate::policy::table::{Kind, Level};
use std::path::Path;
use std::rc::Rc;

/// Bytes of the path of a folder that is entered.
const MAX_FOLDER: usize = 512;

impl Walker<'_> {
    /// Runs a builtin; `None` when the command is none of them. The inner option is what it writes.
    pub(in crate::policy::shell) fn builtin(
        &mut self,
        known: &Known<'_>,
        input: &Option<Stream>,
    ) -> Option<Option<Stream>> {
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

    /// Programs that get passwords or run as root: another meaning of their name gets those.
    pub(super) fn is_trusted(&self, name: &str) -> bool {
        ["sudo", "su", "doas", "pkexec", "ssh", "passwd", "login", "gpg", "sudoedit", "run0"].contains(&name)
    }

    fn alias(&mut self, known: &Known<'_>) {
        for field in &known.argv[1..] {
            let Some((name, body)) = field.text.split_once('=') else { continue };
            let (body, at) = (body.to_owned(), field.span.clone());
            let level = self.try_out(|w| {
                w.text(&body, &at, None);
            });
            let other = body.split_whitespace().next().is_some_and(|word| word.contains('/'));
            if level > Level::Allow || self.is_trusted(name) || other && self.table.command(name).is_some() {
                self.find("alias definition", field.span.clone());
            }
            Rc::make_mut(&mut self.state.aliases).insert(name.to_owned());
        }
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
        let quiet = |i: &crate::policy::shell::effects::findings::Invocation| {
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
                let path = if target.as_ref().is_some_and(|f| f.glob) {
                    path.split('/').map(|p| if glob::is_pattern(p) { "\0" } else { p }).collect::<Vec<_>>().join("/")
                } else {
                    path.to_owned()
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
                    && self.world.glob(&format!("{cwd}/."), Path::new("/"), 1).some()
            });
        if !certain {
            self.failed = Some(before);
        }
    }
}
