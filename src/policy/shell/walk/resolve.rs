//! From words to what the shell would pass on: braces, `~`, variables, substitutions, splitting.
//!
//! What is not known becomes [`UNKNOWN`] inside the text, so that `rm -rf "$X/"` is seen as "something, then a slash".

use super::Walker;
use super::brace::braces;
use crate::policy::glob;
use crate::policy::shell::programs::decode::Stream;
use crate::policy::shell::read::ast::*;
use std::borrow::Cow;
use std::rc::Rc;

/// Stands for text that is only known when the line runs. Input never holds it: readings are judged without NUL.
pub const UNKNOWN: char = '\0';

/// Words and values that one word may become; more are not followed.
pub(super) const MAX_OPTIONS: usize = 16;

/// A word after expansion.
#[derive(Clone, Debug, Default)]
pub struct Field {
    pub text: String,
    pub span: Span,
    /// Holds glob characters that the shell would act on.
    pub glob: bool,
    /// The output of these commands is part of it.
    pub via: Vec<String>,
    /// What a substitution in it gives.
    pub stream: Option<Stream>,
    /// It is the name of a pipe: `<(…)`.
    pub process: bool,
    /// An unquoted value in it is not known: it may be several words, or options.
    pub open: bool,
    /// A variable in it that nothing in the line sets.
    pub unset: bool,
}

impl Field {
    /// A field of known text.
    pub fn known(text: impl Into<String>, span: Span) -> Self {
        Self { text: text.into(), span, ..Self::default() }
    }

    /// Whether all of it is known.
    pub fn is_known(&self) -> bool {
        !self.text.contains(UNKNOWN)
    }
}

/// A value of a part of a word.
#[derive(Default)]
pub(in crate::policy::shell) struct Value {
    /// More than one for `"$@"`.
    pub texts: Vec<String>,
    /// Split at blanks, globs active.
    pub open: bool,
    pub quoted: bool,
    /// It is what a pattern matches, told by the pattern.
    pub matched: bool,
    /// See [`Field`].
    pub loose: bool,
    pub unset: bool,
}

impl Value {
    pub fn text(text: impl Into<String>, quoted: bool) -> Self {
        Self { texts: vec![text.into()], open: !quoted, quoted, ..Self::default() }
    }
}

#[derive(Clone, Default)]
struct Building {
    done: Vec<Field>,
    text: String,
    glob: bool,
    started: bool,
    open: bool,
    unset: bool,
}

impl Building {
    fn finish(&mut self, span: &Span) {
        if self.started {
            let text = std::mem::take(&mut self.text);
            let (glob, open, unset) = (self.glob, self.open, self.unset);
            self.done.push(Field { text, span: span.clone(), glob, open, unset, ..Field::default() });
        }
        (self.glob, self.started, self.open, self.unset) = (false, false, false, false);
    }

    fn add(&mut self, value: &Value, separators: &str, span: &Span) {
        for (i, text) in value.texts.iter().enumerate() {
            if i > 0 {
                self.finish(span);
            }
            self.glob |= value.matched && !text.is_empty();
            self.unset |= value.unset;
            self.open |= value.loose && text.contains(UNKNOWN);
            if !value.open {
                self.started = true;
                self.text.push_str(text);
                continue;
            }
            for c in text.chars() {
                if separators.contains(c) {
                    self.finish(span);
                } else {
                    self.started = true;
                    self.glob |= matches!(c, '*' | '?' | '[');
                    self.text.push(c);
                }
            }
        }
        self.started |= value.quoted && !value.texts.is_empty();
    }
}

impl Walker<'_> {
    /// All words of a list, expanded.
    pub(super) fn expand_all(&mut self, words: &[Word]) -> Vec<Field> {
        words.iter().flat_map(|word| self.expand(word)).collect()
    }

    /// A word as one text, as in assignments and redirections: no splitting, no braces.
    pub(in crate::policy::shell) fn expand_text(&mut self, word: &Word) -> Field {
        let fields = self.parts(&word.parts, &word.span, false);
        let mut all = fields.into_iter();
        let mut first = all.next().unwrap_or_else(|| Field::known("", word.span.clone()));
        for more in all {
            first.text.push(' ');
            first.text.push_str(&more.text);
            first.via.extend(more.via);
        }
        first.span = word.span.clone();
        first
    }

    /// The fields that a word becomes; judges the commands inside it.
    pub(in crate::policy::shell) fn expand(&mut self, word: &Word) -> Vec<Field> {
        if let [Part::Plain(text)] = word.parts.as_slice()
            && !text.contains(['{', '~', '*', '?', '['])
        {
            return vec![Field::known(text.clone(), word.span.clone())];
        }
        // `{}` and `{x}` stand for themselves.
        let plain = |mark: &str| word.parts.iter().any(|p| matches!(p, Part::Plain(t) if t.contains(mark)));
        if !(plain("{") && (plain(",") || plain(".."))) {
            return self.parts(&word.parts, &word.span, true);
        }
        match braces(&word.parts) {
            // Each word that they make is work of its own.
            Some(all) if !self.spend(2 * all.len(), &word.span) => Vec::new(),
            Some(all) => all.iter().flat_map(|parts| self.parts(parts, &word.span, true)).collect(),
            None => {
                self.limit(&word.span);
                self.parts(&word.parts, &word.span, true)
            }
        }
    }

    fn parts(&mut self, parts: &[Part], span: &Span, split: bool) -> Vec<Field> {
        let separators: Cow<'static, str> =
            self.state.vars.get("IFS").map_or(Cow::Borrowed(" \t\n"), |all| Cow::Owned(all.concat()));
        let mut all = vec![Building::default()];
        let (mut via, mut stream, mut process) = (Vec::new(), None, false);
        for (i, part) in parts.iter().enumerate() {
            let mut options: Vec<Value> = match part {
                Part::Plain(text) if i == 0 && text.starts_with('~') => {
                    self.tilde(text).into_iter().map(|t| Value::text(t, true)).collect()
                }
                Part::Plain(text) => {
                    for building in &mut all {
                        building.started = true;
                        building.glob |= glob::is_pattern(text);
                        building.text.push_str(text);
                    }
                    continue;
                }
                Part::Quoted(text) => vec![Value::text(text.clone(), true)],
                Part::Variable { name, operation, quoted } => {
                    if self.is_secret(name, operation) {
                        via.push(format!("${name}"));
                    }
                    self.variable(name, operation, *quoted, span)
                }
                Part::Number(words) => {
                    for word in words {
                        let text = self.expand_text(word).text;
                        self.arithmetic(&text, &word.span, 0);
                    }
                    vec![Value::text(UNKNOWN, true)]
                }
                Part::Output { script, quoted } => {
                    let (names, out) = self.substitution(script, None);
                    let loose = !quoted && crate::policy::shell::effects::outputs::prints_content(self.table, &names);
                    via.extend(names);
                    if out.as_ref().is_some_and(|s| s.environment) {
                        self.find(crate::policy::shell::programs::wrappers::ENVIRONMENT, span.clone());
                    }
                    let matched = out.as_ref().is_some_and(|s| s.matched);
                    let text = match out.as_ref().and_then(|s| s.text.as_deref()) {
                        Some(text) => text.trim_end_matches('\n').to_owned(),
                        None if script.is_empty() => String::new(),
                        None => UNKNOWN.to_string(),
                    };
                    stream = out.or(stream);
                    vec![Value { matched, loose, ..Value::text(text, *quoted) }]
                }
                Part::Process { script, writes } => {
                    // What is written into it is not known here.
                    let (names, out) = self.substitution(script, writes.then(|| Stream::unknown(span.clone())));
                    via.extend(names);
                    // A name that says what it gives: it may be handed on in a variable or to a function.
                    let name = match &out {
                        Some(known)
                            if !*writes && (known.text.is_some() || known.remote) && self.state.inputs.len() < 64 =>
                        {
                            let number = (63 + self.state.inputs.len()).to_string();
                            let path = format!("/dev/fd/{number}");
                            Rc::make_mut(&mut self.state.inputs).insert(number, known.clone());
                            path
                        }
                        _ => format!("/dev/fd/{UNKNOWN}"),
                    };
                    stream = out.or(stream);
                    process = true;
                    vec![Value::text(name, true)]
                }
            };
            // A `~` at the start may still carry a pattern: `~/*`.
            if i == 0 && matches!(part, Part::Plain(_)) {
                let pattern = matches!(part, Part::Plain(t) if glob::is_pattern(t));
                for building in &mut all {
                    building.glob |= pattern;
                }
            }
            if !split {
                options.iter_mut().for_each(|v| v.open = false);
            }
            if options.len() * all.len() > MAX_OPTIONS {
                options = vec![Value::text(UNKNOWN, true)];
            }
            if let [value] = options.as_slice() {
                for building in &mut all {
                    building.add(value, &separators, span);
                }
                continue;
            }
            all = all
                .iter()
                .flat_map(|building| {
                    options.iter().map(|value| {
                        let mut next = building.clone();
                        next.add(value, &separators, span);
                        next
                    })
                })
                .collect();
        }
        let mut fields: Vec<Field> = Vec::new();
        for mut building in all {
            building.finish(span);
            fields.append(&mut building.done);
        }
        if !via.is_empty() || stream.is_some() || process {
            for field in &mut fields {
                field.via = via.clone();
                field.stream = stream.clone();
                field.process = process;
            }
        }
        fields
    }
}
