//! Commands that need code of their own: builtins that change the state of the line, decoders, and small languages.

use super::decode::{self, Stream};
use super::transform;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::Known;
use crate::policy::shell::walk::resolve::Field;
use crate::policy::table::{Kind, Level, Role};

/// Filters of one line whose outcome is computed; an expression costs as much as many commands.
const MAX_FILTERED: usize = 32;

impl<'w> Walker<'w> {
    /// What is left of a command after rules and paths; gives what it writes.
    pub(in crate::policy::shell) fn special(
        &mut self,
        known: &Known<'_>,
        input: Option<Stream>,
        me: usize,
    ) -> Option<Stream> {
        let span = known.span();
        let texts: Vec<&str> = known.argv[1..].iter().map(|f| f.text.as_str()).collect();
        let unknown = || Stream::unknown(span.clone());
        if let Some(out) = self.output(known) {
            return Some(out);
        }
        if known.spec.wrap.is_some() {
            return self.wrapped(known, input, me);
        }
        if let Some(out) = self.builtin(known, &input) {
            return out;
        }
        self.kept(known, &input);
        self.second_names(known);
        match known.spec.kind {
            Kind::Plain | Kind::Git | Kind::Make => {
                match known.name.as_str() {
                    "exit" => self.state.ended = true,
                    // The way back from a function goes on behind the call.
                    "return" if !self.calls.is_empty() => {
                        let here = self.state.clone();
                        match &mut self.returned {
                            Some(returned) => returned.merge(here),
                            None => self.returned = Some(here),
                        }
                        self.state.ended = true;
                    }
                    _ => {}
                }
                if matches!(known.name.as_str(), "true" | "false" | ":") {
                    return Some(Stream::text("", span));
                }
                Some(self.onward(known, input))
            }
            Kind::Shell => self.shell(known, input, me),
            Kind::Interpreter => self.interpreter(known, input, me),
            Kind::Eval => self.eval(known, input),
            Kind::Source => {
                self.source(known, input);
                None
            }
            // Told by `builtin`.
            Kind::Cd | Kind::Declare | Kind::Alias | Kind::Read | Kind::Set | Kind::Unset | Kind::Trap => None,
            Kind::Find => Some(self.find_command(known, me)),
            Kind::Xargs => self.xargs(known, input, me),
            Kind::Parallel => self.parallel(known, input, me),
            Kind::Echo => {
                let flags = texts
                    .iter()
                    .take_while(|t| {
                        t.len() > 1 && t.starts_with('-') && t[1..].chars().all(|c| matches!(c, 'n' | 'e' | 'E'))
                    })
                    .count();
                let escapes = texts[..flags].iter().any(|t| t.contains('e'));
                let mut text = texts[flags..].join(" ");
                if escapes {
                    text = decode::unescape(&text);
                }
                text.push('\n');
                Some(Stream { decoded: escapes && text.contains("\\x"), ..self.derived(known, Some(text)) })
            }
            Kind::Printf => {
                for field in known.argv.iter().skip(2).take(64) {
                    let (text, at) = (field.text.clone(), field.span.clone());
                    let level = self.try_out(|w| {
                        w.text(&text, &at, None);
                    });
                    if level == Level::Refuse {
                        self.find("text of a dangerous command", at);
                    }
                }
                let text = texts.split_first().and_then(|(format, values)| decode::printf(format, values));
                Some(self.derived(known, text))
            }
            Kind::Pass => self.passes(known, input),
            Kind::Fetch => Some(self.fetch(known, input)),
            Kind::Base64 | Kind::Base32 => {
                let decodes = known.has(&["-d", "-D", "--decode"])
                    || known.args.flags.iter().any(|f| "--decode".starts_with(&f.name) && f.name.len() > 3);
                if !decodes {
                    return Some(self.onward(known, input));
                }
                let source = self.source_of(known, input).unwrap_or_else(unknown);
                let decoder = if known.spec.kind == Kind::Base64 { decode::base64 } else { decode::base32 };
                Some(source.through(source.text.as_deref().and_then(decoder), &span))
            }
            Kind::Xxd => {
                let source = self.source_of(known, input).unwrap_or_else(unknown);
                if !known.has(&["-r", "-revert"]) {
                    return Some(source.changed(&span));
                }
                Some(source.through(source.text.as_deref().and_then(decode::hex), &span))
            }
            Kind::Tr => {
                let source = input.unwrap_or_else(unknown);
                let sets: Vec<&Field> = known.operands().collect();
                let how = decode::Tr {
                    deletes: known.has(&["-d", "--delete"]),
                    squeezes: known.has(&["-s", "--squeeze-repeats"]),
                    others: known.has(&["-c", "-C", "--complement"]),
                };
                let text = source.text.as_deref().and_then(|text| match sets.as_slice() {
                    [from] if how.deletes || how.squeezes => decode::tr(text, &from.text, None, how),
                    [from, to] => decode::tr(text, &from.text, Some(&to.text), how),
                    _ => None,
                });
                Some(source.through(text, &span))
            }
            Kind::Rev => {
                let source = self.source_of(known, input).unwrap_or_else(unknown);
                let text = source
                    .text
                    .as_ref()
                    .map(|t| t.lines().map(|l| l.chars().rev().collect::<String>() + "\n").collect());
                Some(source.through(text, &span))
            }
            Kind::Decode => {
                let given = match known.name.as_str() {
                    "openssl" => known.value(&["-in"]).map_or(input, |file| self.file(&file)),
                    _ => self.source_of(known, input),
                };
                let source = given.unwrap_or_else(unknown);
                if texts.contains(&"s_client") {
                    return Some(Stream { remote: true, ..unknown() });
                }
                let base64 = texts.iter().any(|t| matches!(*t, "base64" | "-base64" | "-a")) && texts.contains(&"-d");
                let ciphered = texts.iter().any(|t| t.starts_with("-aes") || t.starts_with("-des"));
                let text = source.text.as_deref().filter(|_| base64 && !ciphered).and_then(decode::base64);
                Some(source.through(text, &span))
            }
            Kind::Tee => {
                let stream = input.unwrap_or_else(unknown);
                let add = known.has(&["-a", "--append"]);
                let nothing = stream.text.as_deref().is_some_and(|text| text.trim().is_empty());
                for field in known.operands() {
                    if nothing && !add {
                        self.empties_file(field);
                    }
                    for path in self.absolute(&field.text) {
                        self.keep(path, stream.clone(), add);
                    }
                }
                Some(stream)
            }
            Kind::Kill => {
                self.kill(known);
                None
            }
            Kind::Sql => {
                let whole = format!("{} {}", known.name, texts.join(" "));
                let typed = matches!(known.name.as_str(), "delete" | "update" | "drop");
                if typed {
                    self.sql(&whole, &span);
                } else {
                    self.sql_client(known, input.as_ref());
                }
                Some(self.onward(known, input))
            }
            Kind::Awk => {
                self.awk(known, input.as_ref());
                Some(self.onward(known, input))
            }
            Kind::Sed => {
                self.sed_scripts(known, input.as_ref());
                Some(self.onward(known, input))
            }
            Kind::Dd => {
                self.dd(known);
                Some(self.onward(known, input))
            }
        }
    }

    /// What a program makes of its standard input, where that can be told.
    fn onward(&mut self, known: &Known<'_>, input: Option<Stream>) -> Stream {
        let span = known.span();
        let Some(input) = input else { return Stream::unknown(span) };
        let text = match input.text.as_deref() {
            Some(text) if self.filtered < MAX_FILTERED => transform::filtered(known, text),
            _ => None,
        };
        self.filtered += usize::from(text.is_some());
        // Whoever sends text through a filter means another text than the one that is written.
        Stream { partial: input.partial || text.is_some(), text, ..input.changed(&span) }
    }

    /// Known text whose parts may come from substitutions.
    fn derived(&self, known: &Known<'_>, text: Option<String>) -> Stream {
        let from = |test: fn(&Stream) -> bool| known.argv.iter().any(|f| f.stream.as_ref().is_some_and(test));
        Stream {
            text,
            remote: from(|s| s.remote),
            decoded: from(|s| s.decoded),
            span: known.span(),
            ..Stream::default()
        }
    }

    fn source_of(&self, known: &Known<'_>, input: Option<Stream>) -> Option<Stream> {
        match known.operand(0).filter(|f| f.text != "-") {
            Some(file) if file.process => file.stream.clone(),
            Some(file) => self.file(file),
            None => input,
        }
    }

    fn dd(&mut self, known: &Known<'_>) {
        let value = |name: &str| {
            known.argv[1..]
                .iter()
                .rev()
                .find_map(|f| f.text.strip_prefix(name).map(|t| Field { text: t.to_owned(), ..f.clone() }))
        };
        // `dc3dd` has names of its own.
        let to = ["of=", "hof=", "ofs=", "wipe=", "hwipe="].iter().find_map(|name| value(name));
        let from = value("if=");
        let made_up = from
            .as_ref()
            .is_some_and(|f| matches!(f.text.as_str(), "/dev/zero" | "/dev/urandom" | "/dev/random" | "/dev/stdin"));
        if let Some(to) = &to {
            self.touch(Role::Write, to);
            let fresh = !to.text.starts_with('/')
                && to.is_known()
                && self.absolute(&to.text).iter().all(|p| self.world.glob(p, std::path::Path::new("/"), 1).none());
            if made_up && !fresh {
                self.find("disk copy", known.span());
            }
        }
        if let Some(from) = &from {
            self.touch(Role::Read, from);
            if !made_up {
                self.find("disk copy", known.span());
            }
        }
    }
}
