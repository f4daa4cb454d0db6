//! Build tools that are told to run a program: by settings on the line (`-Dexec.executable=…`) and by elements of XML.

use crate::policy::shell::read::ast::Span;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::Known;
use crate::policy::table::Feeds;

/// Elements of one text that are followed.
const MAX_ELEMENTS: usize = 64;

impl Walker<'_> {
    /// The program that settings name, with the words that others give it, is a command like any other.
    pub(super) fn set_program(&mut self, known: &Known<'_>, feeds: &Feeds) {
        let setting = |names: &[String]| {
            known.argv[1..].iter().enumerate().find_map(|(at, field)| {
                let text = field.text.strip_prefix("--define=").or_else(|| field.text.strip_prefix("-D"));
                let behind = matches!(known.argv[at].text.as_str(), "-D" | "--define");
                let text = text.filter(|text| !text.is_empty()).or(behind.then_some(field.text.as_str()))?;
                let (name, value) = text.split_once('=')?;
                names.iter().any(|known| known == name).then(|| (value.to_owned(), field.span.clone()))
            })
        };
        if let Some((program, span)) = setting(&feeds.program) {
            let words = setting(&feeds.words).map(|(words, _)| words).unwrap_or_default();
            self.shell_line(&format!("{program} {words}"), &span);
        }
    }

    /// `<exec executable="rm"><arg line="-rf x"/></exec>` of ant, `<executable>rm</executable><argument>…` of maven.
    pub(in crate::policy::shell) fn elements(&mut self, text: &str, span: &Span) {
        if text.matches("executable").count() > MAX_ELEMENTS {
            self.limit(span);
        }
        for part in text.split("executable").skip(1).take(MAX_ELEMENTS) {
            let end = part.find("</exec").or_else(|| part.find("</configuration")).unwrap_or(part.len());
            let part = &part[..end];
            let Some(program) = value(part) else { continue };
            let words = ["<arg", "<commandlineArgs"].iter().flat_map(|mark| part.split(mark).skip(1));
            let words: Vec<&str> =
                words.take(MAX_ELEMENTS).filter(|rest| !rest.starts_with("uments>")).filter_map(value).collect();
            self.shell_line(&format!("{program} {}", words.join(" ")), span);
        }
    }
}

/// What an attribute or an element holds: of `="rm">` and of `>rm</…` it is `rm`.
fn value(text: &str) -> Option<&str> {
    let at = text.find(['"', '\'', '>'])?;
    let mark = &text[at..at + 1];
    let inner = &text[at + 1..];
    let end = inner.find(if mark == ">" { "<" } else { mark }).unwrap_or(inner.len());
    Some(inner[..end].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_elements() {
        for (text, want) in [
            ("=\"rm\"><arg", Some("rm")),
            (" line='-r x'/>", Some("-r x")),
            (">rm</executable>", Some("rm")),
            ("ument> -r </argument>", Some("-r")),
            (" value=\"é", Some("é")),
            ("", None),
        ] {
            assert_eq!(value(text), want, "{text}");
        }
    }
}
