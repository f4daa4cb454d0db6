//! What flows: redirections, numbered descriptors, and what the files hold that the line itself wrote.

use super::Walker;
use super::invoke::Known;
use super::resolve::{Field, UNKNOWN};
use crate::policy::shell::programs::decode::Stream;
use crate::policy::shell::read::ast::*;
use crate::policy::table::Role;
use std::path::Path;
use std::rc::Rc;

/// Bytes of a file of the line that are followed.
pub(in crate::policy::shell) const MAX_TEXT: usize = 64 * 1024;

/// Where the output of a command goes.
#[derive(Debug, Default)]
pub(super) struct Sinks {
    /// Files by absolute path, and whether it is added to what they hold.
    pub files: Vec<(String, bool)>,
    /// Scripts of `> >(…)`.
    pub scripts: Vec<Rc<Script>>,
}

/// The number of a descriptor of this process that a path names.
fn descriptor(path: &str) -> Option<&str> {
    match path {
        "/dev/stdin" => Some("0"),
        path => {
            let number = path.strip_prefix("/dev/fd/").or_else(|| path.strip_prefix("/proc/self/fd/"))?;
            number.bytes().all(|b| b.is_ascii_digit()).then_some(number)
        }
    }
}

impl Walker<'_> {
    /// Judges redirections; gives what standard input is and where the output goes. Descriptors stay open: the caller closes them.
    pub(super) fn redirects(&mut self, redirects: &[Redirect], input: Option<Stream>) -> (Option<Stream>, Sinks) {
        let mut stream = input.or_else(|| self.state.inputs.get("0").cloned());
        let mut sinks = Sinks::default();
        for redirect in redirects {
            let span = redirect.span.clone();
            let fd = self.descriptor_of(redirect);
            if let Some(body) = &redirect.body {
                let text = match body.get() {
                    Some(word) => self.expand_text(word).text,
                    None => UNKNOWN.to_string(),
                };
                self.reads(&fd, Stream { here: true, ..Stream::text(text, span) }, &mut stream);
                continue;
            }
            if let Some(script) = sink_script(&redirect.target).filter(|_| redirect.op.contains('>')) {
                let both = redirect.op.starts_with('&') || redirect.op == ">&" && fd.is_empty();
                if matches!(fd.as_str(), "" | "1") {
                    sinks.scripts.push(script.clone());
                }
                if both || !matches!(fd.as_str(), "" | "1") {
                    let fd = if both { "2".to_owned() } else { fd };
                    Rc::make_mut(&mut self.state.sinks).insert(fd, vec![script]);
                }
                continue;
            }
            let target = self.expand_text(&redirect.target);
            if target.text.starts_with("/dev/tcp/") || target.text.starts_with("/dev/udp/") {
                self.find("opens a network connection", span.clone());
                self.reads(&fd, Stream { remote: true, ..Stream::unknown(span) }, &mut stream);
                continue;
            }
            match redirect.op.as_str() {
                "<<<" => {
                    let text = Some(format!("{}\n", target.text));
                    let known = Stream { text, span, ..target.stream.unwrap_or_default() };
                    self.reads(&fd, known, &mut stream);
                }
                "<" | "<>" => {
                    self.touch(Role::Read, &target);
                    if redirect.op == "<>" {
                        self.touch(Role::Write, &target);
                    }
                    let read = match target.stream.clone() {
                        Some(known) if target.process => known,
                        _ => match descriptor(&target.text) {
                            Some("0") => stream.clone().unwrap_or_default(),
                            _ => match self.file(&target) {
                                Some(known) => known,
                                None => {
                                    let known = self.copied(&target).unwrap_or_else(|| Stream::unknown(span));
                                    Stream { file: true, path: self.absolute(&target.text).into_iter().next(), ..known }
                                }
                            },
                        },
                    };
                    self.reads(&fd, read, &mut stream);
                }
                "<&" => {
                    let from =
                        if target.text == "0" { stream.clone() } else { self.state.inputs.get(&target.text).cloned() };
                    if let Some(from) = from {
                        self.reads(&fd, from, &mut stream);
                    }
                }
                ">&" if target.text == "-" || target.text.bytes().all(|b| b.is_ascii_digit() || b == b'-') => {
                    let paths = self.state.outputs.get(&target.text).cloned().unwrap_or_default();
                    sinks.files.extend(paths.into_iter().map(|path| (path, true)));
                    // `2>&1` leads the messages; `>&2` and `>&3` what is told.
                    if matches!(fd.as_str(), "" | "1") {
                        sinks.scripts.extend(self.state.sinks.get(&target.text).cloned().unwrap_or_default());
                    }
                }
                op => {
                    if target.process {
                        continue;
                    }
                    self.touch(Role::Write, &target);
                    let paths = self.absolute(&target.text).into_iter().filter(|p| !p.starts_with("/dev/"));
                    if matches!(fd.as_str(), "" | "1") || op.starts_with('&') || op == ">&" {
                        sinks.files.extend(paths.map(|path| (path, op.ends_with(">>"))));
                    } else {
                        Rc::make_mut(&mut self.state.outputs).insert(fd, paths.collect());
                    }
                }
            }
        }
        (stream, sinks)
    }

    /// The descriptor that a redirection is about; empty for the usual one.
    fn descriptor_of(&mut self, redirect: &Redirect) -> String {
        let Some(name) = redirect.fd.strip_prefix('{') else { return redirect.fd.clone() };
        // The shell chooses a free number and tells it in the variable.
        let number = (10 + self.state.inputs.len() + self.state.outputs.len()).to_string();
        self.assign(name, vec![number.clone()], &redirect.span);
        number
    }

    fn reads(&mut self, fd: &str, read: Stream, stdin: &mut Option<Stream>) {
        match fd {
            "" | "0" => *stdin = Some(read),
            fd => {
                Rc::make_mut(&mut self.state.inputs).insert(fd.to_owned(), read);
            }
        }
    }

    /// Remembers what the files hold that the output went to, and hands it to the scripts that read it.
    pub(super) fn written(&mut self, sinks: Sinks, out: Option<Stream>) -> Option<Stream> {
        if sinks.files.is_empty() && sinks.scripts.is_empty() {
            return out;
        }
        let stream = out.unwrap_or_default();
        if stream.environment && !sinks.files.is_empty() {
            self.find(crate::policy::shell::programs::wrappers::ENVIRONMENT, stream.span.clone());
        }
        for script in sinks.scripts {
            let input = Some(stream.clone());
            self.deeper(&stream.span, |w| {
                w.subshell(|w| {
                    w.state.unplug();
                    w.script(&script, input)
                })
            });
        }
        for (path, add) in sinks.files {
            self.keep(path, stream.clone(), add);
        }
        None
    }

    /// A file holds this from now on.
    pub(in crate::policy::shell) fn keep(&mut self, path: String, mut stream: Stream, add: bool) {
        if let (true, Some(old)) = (add, self.state.files.get(&path)) {
            stream = old.then(&stream);
        }
        let stream = self.late.write(&path, stream);
        Rc::make_mut(&mut self.state.files).insert(path, stream);
    }

    /// What a file holds that this line wrote, or what a descriptor gives.
    pub(in crate::policy::shell) fn file(&self, field: &Field) -> Option<Stream> {
        if let Some(number) = descriptor(&field.text) {
            return match number {
                "0" => self.stdin.clone().or_else(|| self.state.inputs.get("0").cloned()),
                number => self.state.inputs.get(number).cloned(),
            };
        }
        if field.process {
            return field.stream.clone();
        }
        if field.text == "/dev/null" {
            return Some(Stream::text("", field.span.clone()));
        }
        let paths = self.absolute(&field.text);
        paths.iter().for_each(|path| self.late.seek(path));
        if self.state.files.is_empty() {
            return None;
        }
        let through = |path: &String| {
            self.state
                .files
                .get(path)
                .or_else(|| self.state.files.get(self.world.resolve(Path::new(path)).to_string_lossy().as_ref()))
        };
        paths.iter().find_map(through).cloned()
    }

    /// `cat`: what its files hold, one after the other.
    pub(in crate::policy::shell) fn passes(&mut self, known: &Known<'_>, input: Option<Stream>) -> Option<Stream> {
        match known.args.operands.as_slice() {
            [] => return input,
            [one] if known.argv[*one].text != "-" => {
                let file = known.argv[*one].clone();
                let path = self.absolute(&file.text).into_iter().next();
                return Some(self.copied(&file).unwrap_or_else(|| Stream { path, ..Stream::unknown(known.span()) }));
            }
            _ => {}
        }
        let mut all: Option<Stream> = None;
        for field in known.operands() {
            let next = if field.text == "-" { input.clone() } else { self.file(field) };
            let next = next.unwrap_or_else(|| Stream::unknown(known.span()));
            all = Some(match all {
                None => next,
                Some(before) => before.then(&next),
            });
        }
        all
    }
}

/// The script of a target that is `>(…)` alone.
pub(super) fn sink_script(target: &Word) -> Option<Rc<Script>> {
    match target.parts.as_slice() {
        [Part::Process { script, writes: true }] => Some(script.clone()),
        _ => None,
    }
}
