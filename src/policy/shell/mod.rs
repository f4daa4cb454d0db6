//! Judges shell lines: `read` makes a shape of the text, `walk` goes through it like a shell would and knows the words, and
//! `programs` and `effects` say what each command does, from the tables in `assets/policy`.

mod effects;
mod memo;
mod programs;
mod read;
#[cfg(test)]
mod tests;
mod walk;

pub use effects::findings::{Finding, Invocation, Payload, Touch, Touched};
pub use programs::{JAVASCRIPT, asks_each_time, script};
pub use read::normal::{is_control, is_invisible};
pub use walk::resolve::UNKNOWN;

use super::World;
use super::table::{Level, table};
use read::{crosscheck, normal, parse};
use std::path::Path;

/// Bytes of a command that are judged; a longer one is always asked about.
pub const MAX_COMMAND: usize = 128 * 1024;

/// Bytes that the second reader reads too; it is a hundred times slower than ours, and where it does not understand a text its
/// time grows with the square of the length. Of a longer text our own reading counts alone.
const MAX_SECOND: usize = 8 * 1024;
/// Characters with a meaning, and commands, in a text for the second reader. A line of more commands is a question.
const MAX_SIGNS: usize = 768;
const MAX_COMMANDS: usize = 512;

/// What a line would do.
#[derive(Debug, Default)]
pub struct Judgement {
    pub findings: Vec<Finding>,
    /// Every command that it would run, in every position.
    pub invocations: Vec<Invocation>,
    /// Paths that its commands name.
    pub touched: Vec<Touched>,
    /// Texts that interpreters would get.
    pub payloads: Vec<Payload>,
}

/// Judges a line that would run in `cwd`. Takes time linear in the length, up to [`MAX_COMMAND`].
pub fn judge(command: &str, cwd: &Path, world: &dyn World) -> Judgement {
    let mut judgement = Judgement::default();
    let limit = |text: String, span| Finding {
        effect: "command parser limit or malformed executable payload".into(),
        text,
        span,
        level: Level::AskAlways,
        fixed: true,
        by: None,
    };
    let table = match table() {
        Ok(table) => table,
        Err(error) => {
            judgement.findings.push(limit(format!("cannot read the policy tables: {error}"), 0..command.len()));
            return judgement;
        }
    };
    if command.len() > MAX_COMMAND {
        judgement
            .findings
            .push(limit(format!("is longer than {MAX_COMMAND} bytes and was not checked"), 0..command.len()));
        return judgement;
    }
    let memo = memo::Memo::new(world);
    for reading in normal::readings(command) {
        let parsed = parse::parse(&reading.text, reading.origin.clone());
        let mut walker = walk::Walker::new(command, cwd, table, &memo);
        walker.run(&parsed);
        if !reading.doubtful && parsed.troubles.is_empty() {
            second_reader(&reading, &parsed, &mut walker);
        }
        let offset = judgement.invocations.len();
        for mut finding in walker.findings {
            if reading.doubtful {
                finding.level = finding.level.min(Level::AskAlways);
            }
            finding.by = finding.by.map(|by| by + offset);
            // The second reader tells places in bytes, which may be inside a letter.
            let start = command.floor_char_boundary(finding.span.start);
            finding.span = start..command.ceil_char_boundary(finding.span.end).max(start);
            judgement.findings.push(finding);
        }
        for mut touched in walker.touched {
            touched.by = touched.by.map(|by| by + offset);
            judgement.touched.push(touched);
        }
        for payload in walker.payloads {
            if !judgement.payloads.iter().any(|known| known.text == payload.text) {
                judgement.payloads.push(payload);
            }
        }
        for mut invocation in walker.invocations {
            invocation.within = invocation.within.map(|(by, at)| (by + offset, at));
            judgement.invocations.push(invocation);
        }
    }
    hidden(command, table, &mut judgement);
    judgement
}

/// Notes what the other reader did not read or saw beside ours.
fn second_reader(reading: &normal::Reading, parsed: &parse::Parsed, walker: &mut walk::Walker<'_>) {
    let simple =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | '/' | '=' | ',' | ':' | '@' | '+');
    if reading.text.chars().all(simple) {
        return;
    }
    walker.current = None;
    let signs = |b: u8| b.is_ascii_punctuation() && !matches!(b, b'-' | b'_' | b'.' | b'/' | b'=' | b',' | b':' | b'@');
    if reading.text.len() > MAX_SECOND || reading.text.bytes().filter(|b| signs(*b)).count() > MAX_SIGNS {
        if parsed.commands > MAX_COMMANDS {
            walker.limit(&(0..walker.original.len()));
        }
        return;
    }
    // The other reader takes odd bodies of here-documents for shell. Ours reads what is expanded in them.
    let mut text = reading.text.clone();
    for body in &parsed.bodies {
        let blank: String = text[body.clone()].bytes().map(|b| if b == b'\n' { '\n' } else { 'x' }).collect();
        text.replace_range(body.clone(), &blank);
    }
    match crosscheck::read(&text) {
        crosscheck::Second::Error(at) => {
            let say = "is ambiguous shell; it may do something other than it seems";
            walker.find_as("unreadable shell", say.into(), reading.origin.span(at));
        }
        crosscheck::Second::Read(names) => {
            let plain =
                |n: &&String| n.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/' | '.'));
            let ours: std::collections::BTreeSet<String> = parsed.names.iter().map(|n| crosscheck::seen(n)).collect();
            let beside = names
                .iter()
                .filter(plain)
                .find(|n| !ours.contains(*n) && !matches!(n.as_str(), "time" | "coproc" | "select" | "function"));
            if let Some(name) = beside {
                let at = reading.text.find(name.as_str()).unwrap_or(0);
                let say = format!("`{name}` may be a command here");
                walker.find_as("unreadable shell", say, reading.origin.span(at..at + name.len()));
            }
        }
    }
}

/// Control and invisible characters make a question of any line.
fn hidden(command: &str, table: &super::table::Table, judgement: &mut Judgement) {
    let effect = table.effect("hidden characters");
    // A joiner between pictographs is part of an emoji.
    let chars: Vec<(usize, char)> = command.char_indices().collect();
    let emoji = |c: Option<&(usize, char)>| {
        c.is_some_and(|c| matches!(c.1 as u32, 0x2190..=0x2bff | 0x1f000..=0x1faff | 0xfe0f))
    };
    for (i, (at, c)) in chars.iter().enumerate() {
        let joins = matches!(c, '\u{200d}' | '\u{fe0f}') && i > 0 && emoji(chars.get(i - 1));
        if (is_control(*c) || is_invisible(*c)) && !joins {
            judgement.findings.push(Finding {
                effect: "hidden characters".into(),
                text: format!("contains the invisible character U+{:04X}, which can hide what it does", *c as u32),
                span: *at..at + c.len_utf8(),
                level: effect.level,
                fixed: effect.fixed,
                by: None,
            });
            return;
        }
    }
}
