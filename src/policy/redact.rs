//! Masks keys, tokens and passwords in text on its way to the model, the disk or a log.
//!
//! Masks are no values: what a mask stands for can't be written back, and files read for editing get one that names itself.

mod values;

pub use values::Secrets;

use regex::{Captures, Regex};
use std::borrow::Cow;
use std::sync::LazyLock;

/// Where the text comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedactKind {
    /// Prose, logs, configuration: every rule.
    #[default]
    Default,
    /// Source code and output of commands: only shapes that are certain, because `token = next()` is no secret.
    Code,
    /// Content that may be edited and written back: as code, with masks that say so.
    FileRead,
    /// Output of `env`, `printenv`, `set`, `export`: every rule.
    Environment,
}

impl RedactKind {
    /// The kind for the output of a command line.
    pub fn of_command(line: &str) -> Self {
        let mut words = line.split(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(' | ')'));
        let dumps = |word: &str| {
            matches!(word.rsplit('/').next().unwrap_or(word), "env" | "printenv" | "set" | "export" | "declare")
        };
        if words.any(dumps) { RedactKind::Environment } else { RedactKind::Code }
    }

    fn is_certain_only(self) -> bool {
        matches!(self, RedactKind::Code | RedactKind::FileRead)
    }
}

/// How a mask begins that names itself.
pub const MASK: &str = "«redacted:";
/// The first mask in a text that is meant to be run or sent: with its end, so that the mark alone can be searched for.
pub fn mask_in(text: &str) -> Option<&str> {
    let whole = text.match_indices(MASK).find_map(|(at, _)| {
        let end = text[at..].find('»')? + '»'.len_utf8();
        let mask = &text[at..at + end];
        (mask.len() < 80 && mask.ends_with("…»") && !mask.contains(['\n', '*'])).then_some(mask)
    });
    // A private key's mask is plain words: it counts where a text is written.
    let writes = || text.contains("<<") || text.contains('>') || text.contains("tee ");
    whole.or_else(|| text.find(PEM_MASK).filter(|_| writes()).map(|at| &text[at..at + PEM_MASK.len()]))
}

/// What stands for a private key.
pub const PEM_MASK: &str = "[REDACTED PRIVATE KEY]";

/// Prefixes of tokens: what they start with, the least number of characters that follow, whether a digit has to be among them.
const TOKENS: &[(&str, usize, bool)] = &[
    ("sk-", 10, false),
    ("ghp_", 10, false),
    ("gho_", 10, false),
    ("ghu_", 10, false),
    ("ghs_", 10, false),
    ("ghr_", 10, false),
    ("github_pat_", 10, false),
    ("glpat-", 10, false),
    ("xapp-", 10, false),
    ("xoxb-", 10, false),
    ("xoxa-", 10, false),
    ("xoxp-", 10, false),
    ("xoxr-", 10, false),
    ("xoxs-", 10, false),
    ("AIza", 30, false),
    ("pplx-", 10, false),
    ("fal_", 10, true),
    ("fc-", 10, true),
    ("bb_live_", 10, false),
    ("gAAAA", 20, false),
    ("AKIA", 16, false),
    ("ASIA", 16, true),
    ("sk_live_", 10, false),
    ("sk_test_", 10, false),
    ("rk_live_", 10, false),
    ("SG.", 10, false),
    ("hf_", 10, false),
    ("r8_", 10, false),
    ("npm_", 10, false),
    ("pypi-", 10, false),
    ("dop_v1_", 10, false),
    ("doo_v1_", 10, false),
    ("am_", 10, true),
    ("sk_", 10, true),
    ("tvly-", 10, false),
    ("exa_", 10, true),
    ("gsk_", 10, false),
    ("syt_", 10, false),
    ("retaindb_", 10, true),
    ("hsk-", 10, false),
    ("mem0_", 10, true),
    ("brv_", 10, true),
    ("xai-", 10, false),
    ("ntn_", 10, false),
    ("fw-", 16, true),
    ("fw_", 16, true),
    ("fpk_", 10, false),
];

/// Words that make the value after them a secret.
const NAMES: &str =
    "api[_-]?key|token|secret|password|passwd|passphrase|credential|private[_-]?key|access[_-]?key|auth";

struct Rules {
    tokens: Regex,
    pem: Regex,
    header: Regex,
    database: Regex,
    userinfo: Regex,
    jwt: Regex,
    telegram: Regex,
    assignment: Regex,
    json: Regex,
    yaml: Regex,
    phone: Regex,
}

static RULES: LazyLock<Option<Rules>> = LazyLock::new(|| {
    let prefixes = TOKENS.iter().map(|t| regex::escape(t.0)).collect::<Vec<_>>().join("|");
    let regex = |text: &str| Regex::new(text).ok();
    Some(Rules {
        tokens: regex(&format!(r"(?-u)(?:{prefixes})[A-Za-z0-9_.=-]{{8,}}"))?,
        pem: regex(
            r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[A-Za-z0-9+/=\s:,.\\-]*?-----END [A-Z ]{0,40}PRIVATE KEY-----",
        )?,
        header: regex(
            r#"(?i)(?-u:\b)(authorization["']?[ \t]*[:=]\s*["']?(?:bearer|basic|token)\s+|(?:x-api-key|x-auth-token|api-key|x-goog-api-key|private-token)["']?[ \t]*:[ \t]*["']?)([A-Za-z0-9._~+/=-]{6,})"#,
        )?,
        database: regex(
            r"(?i)(?-u:\b)((?:postgres|postgresql|mysql|mariadb|mongodb|mongodb\+srv|redis|rediss|amqp|amqps|mssql|clickhouse)://[^\s:/@]*:)([^\s@/]+)@",
        )?,
        userinfo: regex(r"(?i-u)\b(https?://)([A-Za-z0-9_.~-]{12,})@")?,
        jwt: regex(r"(?-u)\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?")?,
        telegram: regex(r"(?-u)\b([0-9]{8,10}):(AA[A-Za-z0-9_-]{30,})\b")?,
        assignment: regex(&format!(
            r#"(?i)([A-Za-z0-9_.-]*(?:{NAMES})[A-Za-z0-9_]*)(=)("[^"\n]*"|'[^'\n]*'|[^\s"'&;,)]+)"#
        ))?,
        json: regex(&format!(r#"(?i)("[A-Za-z0-9_.-]*(?:{NAMES})[A-Za-z0-9_]*"\s*:\s*)"([^"\n]+)""#))?,
        yaml: regex(&format!(
            r#"(?im)^([ \t]*(?:- )?[A-Za-z0-9_.-]*(?:{NAMES})[A-Za-z0-9_]*:[ \t]+)("[^"\n]*"|'[^'\n]*'|[^\s#"'\[{{][^\n#]*)"#
        ))?,
        phone: regex(r"(?-u)\+[1-9][0-9]{9,14}\b")?,
    })
});

/// `text` with secrets masked. Borrowed when there are none. Reads the text a fixed number of times.
pub fn redact(text: &str, kind: RedactKind) -> Cow<'_, str> {
    let Some(rules) = RULES.as_ref() else { return Cow::Borrowed(text) };
    let mut out = Cow::Borrowed(text);
    if out.contains("PRIVATE KEY-----") {
        replace(&mut out, &rules.pem, |_| Some(PEM_MASK.into()));
    }
    tokens(&mut out, &rules.tokens, kind);
    if out.contains("://") {
        replace(&mut out, &rules.database, |c| Some(format!("{}***@", &c[1])));
        replace(&mut out, &rules.userinfo, |c| Some(format!("{}***@", &c[1])));
    }
    replace(&mut out, &rules.header, |c| Some(format!("{}{}", &c[1], mask(&c[2]))));
    if out.contains("eyJ") {
        replace(&mut out, &rules.jwt, |c| Some(mask(&c[0])));
    }
    if out.contains(":AA") {
        replace(&mut out, &rules.telegram, |c| Some(format!("{}:***", &c[1])));
    }
    if kind.is_certain_only() {
        return out;
    }
    if out.contains('=') {
        replace(&mut out, &rules.assignment, |c| {
            (!is_lookup(&c[3])).then(|| format!("{}{}{}", &c[1], &c[2], mask_value(&c[3])))
        });
    }
    if out.contains(':') {
        replace(&mut out, &rules.json, |c| (!is_lookup(&c[2])).then(|| format!("{}\"{}\"", &c[1], mask(&c[2]))));
        replace(&mut out, &rules.yaml, |c| {
            (!is_lookup(&c[2]) && !is_scheme(&c[2])).then(|| format!("{}{}", &c[1], mask_value(&c[2])))
        });
    }
    if out.contains('+') {
        replace(&mut out, &rules.phone, |c| {
            Some(format!("{}****{}", &c[0][..5.min(c[0].len())], &c[0][c[0].len() - 4..]))
        });
    }
    out
}

/// `***`, or the first six and last four characters of a long value.
fn mask(value: &str) -> String {
    let chars: Vec<char> = value.chars().collect();
    if chars.len() < 18 {
        return "***".into();
    }
    let (head, tail): (String, String) = (chars[..6].iter().collect(), chars[chars.len() - 4..].iter().collect());
    format!("{head}...{tail}")
}

/// A value in its quotes.
fn mask_value(value: &str) -> String {
    match value.chars().next() {
        Some(quote @ ('"' | '\'')) if value.len() >= 2 => {
            let inner = &value[1..value.len() - 1];
            if inner.is_empty() { value.to_owned() } else { format!("{quote}{}{quote}", mask(inner)) }
        }
        _ => mask(value.trim_end()),
    }
}

/// Whether a value is an `Authorization` header, whose rule has masked it.
fn is_scheme(value: &str) -> bool {
    ["bearer ", "basic ", "token "]
        .iter()
        .any(|s| value.get(..s.len()).is_some_and(|start| start.eq_ignore_ascii_case(s)))
}

/// Whether a value only says where the secret is.
fn is_lookup(value: &str) -> bool {
    ["os.getenv", "os.environ", "process.env", "std::env", "env::var", "getenv(", "System.getenv", "ENV["]
        .iter()
        .any(|l| value.contains(l))
}

fn replace(text: &mut Cow<'_, str>, regex: &Regex, with: impl Fn(&Captures<'_>) -> Option<String>) {
    if let Cow::Owned(changed) = regex.replace_all(text, |c: &Captures<'_>| with(c).unwrap_or_else(|| c[0].to_owned()))
    {
        *text = Cow::Owned(changed);
    }
}

fn tokens(text: &mut Cow<'_, str>, regex: &Regex, kind: RedactKind) {
    let mut out = String::new();
    let mut from = 0;
    for found in regex.find_iter(text) {
        let before = text[..found.start()].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let whole = found.as_str().trim_end_matches(['.', '=', '-']);
        let prefix = TOKENS.iter().filter(|t| whole.starts_with(t.0)).max_by_key(|t| t.0.len());
        let Some((prefix, least, digit)) = prefix else { continue };
        // A dot ends all tokens but those whose prefix has one; the body of a sentence is none.
        let body = &whole[prefix.len()..];
        let body = if prefix.contains('.') { body } else { body.split('.').next().unwrap_or(body) };
        if body.len() < *least || (*digit && !body.bytes().any(|b| b.is_ascii_digit())) {
            continue;
        }
        let end = found.start() + prefix.len() + body.len();
        let token = &text[found.start()..end];
        out.push_str(&text[from..found.start()]);
        if kind == RedactKind::FileRead {
            let label = if prefix.starts_with("xox") { "xox" } else { prefix };
            out.push_str(&format!("{MASK}{label}…»"));
        } else {
            out.push_str(&mask(token));
        }
        from = end;
    }
    if from > 0 {
        out.push_str(&text[from..]);
        *text = Cow::Owned(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn cases() {
        let mut wrong = Vec::new();
        for line in include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/redact.jsonl")).lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let text = case["text"].as_str().unwrap();
            for (key, kind) in [
                ("default", RedactKind::Default),
                ("code_file", RedactKind::Code),
                ("file_read", RedactKind::FileRead),
                ("terminal_env_cmd", RedactKind::Environment),
                ("terminal_other", RedactKind::Code),
            ] {
                let (got, want) = (redact(text, kind), case[key].as_str().unwrap());
                if got != want {
                    wrong.push(format!("{key} {text}: {got} instead of {want}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn more_shapes() {
        for (text, want) in [
            ("Authorization: Bearer abcdefghijklmnopqrstuvwx", "Authorization: Bearer abcdef...uvwx"),
            ("API_KEY=os.getenv('X')", "API_KEY=os.getenv('X')"),
            ("call +12345678901 now", "call +1234****8901 now"),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefgh", "eyJhbG...efgh"),
            ("task-abcdefghijklmnop", "task-abcdefghijklmnop"),
            ("key is sk-abcdefghijklmnop1234.", "key is sk-abc...1234."),
            ("123456789:AAabcdefghijklmnopqrstuvwxyz0123456", "123456789:***"),
        ] {
            assert_eq!(redact(text, RedactKind::Default), want);
        }
        assert!(matches!(redact("plain text", RedactKind::Default), Cow::Borrowed(_)));
    }

    #[test]
    fn kinds_of_commands() {
        assert_eq!(RedactKind::of_command("cd x && printenv | sort"), RedactKind::Environment);
        assert_eq!(RedactKind::of_command("cargo test"), RedactKind::Code);
    }
}
