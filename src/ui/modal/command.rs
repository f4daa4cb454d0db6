//! A command to be approved: nothing in it hides, and each reason stands under the very words it is about.

use crate::policy::{Why, label};
use crate::text::visible::visible;
use crate::text::width::width;
use crate::text::wrap::{Row, wrap_into};
use crate::text::{Ground, Line, Role, Span};

/// Rows of the command with its reasons.
pub fn rows(line: &str, reasons: &[Why], room: usize) -> Vec<Row> {
    let shown = visible(line);
    let mut out = Vec::new();
    let mut placed = vec![false; reasons.len()];
    let mut start = 0;
    for text in shown.text.split('\n') {
        let end = start + text.len();
        let spans = styled(text, start, &shown.marks, reasons, |at| shown.at(at));
        let mut wrapped = Vec::new();
        wrap_into(&mut wrapped, &spans, Ground::Base, &crate::text::wrap::Wrap { width: room, ..Default::default() });
        for row in wrapped {
            let (from, to) = (start + row.source.start, start + row.source.end);
            // Bars and reasons whose words begin in this row.
            let mut here: Vec<(usize, usize, usize)> = Vec::new();
            for (index, why) in reasons.iter().enumerate() {
                let (first, last) = (shown.at(why.span.start), shown.at(why.span.end));
                if !placed[index] && first < last && first >= from && first < to {
                    placed[index] = true;
                    let column = |at: usize| width(shown.text.get(from..at.clamp(from, to)).unwrap_or_default());
                    here.push((column(first), column(last).max(column(first) + 1), index));
                }
            }
            out.push(row);
            here.sort_unstable();
            under(&mut out, &here, reasons, room);
        }
        start = end + 1;
    }
    for (index, why) in reasons.iter().enumerate() {
        if !placed[index] {
            note(&mut out, "· ", &words(why), room);
        }
    }
    out
}

/// The effect, and what these words would do.
fn words(why: &Why) -> String {
    let effect = label(&why.effect);
    if why.text.is_empty() || why.text == why.effect { effect.to_owned() } else { format!("{effect}: {}", why.text) }
}

/// The line with its hidden characters and the words with reasons set off.
fn styled(
    text: &str,
    start: usize,
    marks: &[std::ops::Range<usize>],
    reasons: &[Why],
    at: impl Fn(usize) -> usize,
) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for (offset, character) in text.char_indices() {
        let here = start + offset;
        let role = if marks.iter().any(|mark| mark.contains(&here)) {
            Role::Bad
        } else if reasons.iter().any(|why| here >= at(why.span.start) && here < at(why.span.end)) {
            Role::Careful
        } else {
            Role::Strong
        };
        match spans.last_mut() {
            Some(last) if last.role == role => last.text.push(character),
            _ => spans.push(Span::new(character.to_string(), role)),
        }
    }
    spans
}

/// A row of underlines, then the reasons from right to left, each hanging from the start of its words.
fn under(out: &mut Vec<Row>, here: &[(usize, usize, usize)], reasons: &[Why], room: usize) {
    if here.is_empty() {
        return;
    }
    let mut bar = String::new();
    for (from, to, _) in here {
        let to = (*to).min(room);
        let have = width(&bar);
        if *from < have {
            continue;
        }
        bar.extend(std::iter::repeat_n(' ', from - have));
        bar.extend(std::iter::repeat_n('─', to.saturating_sub(*from)));
    }
    out.push(Row::ornament(Line::plain(bar, Role::Careful)));
    for (position, (from, _, index)) in here.iter().enumerate().rev() {
        let Some(why) = reasons.get(*index) else { continue };
        // Lines down to the reasons that are still to come.
        let mut lead = String::new();
        for (column, _, _) in here.iter().take(position) {
            let have = width(&lead);
            if *column >= have && column < from {
                lead.extend(std::iter::repeat_n(' ', column - have));
                lead.push('│');
            }
        }
        let have = width(&lead);
        lead.extend(std::iter::repeat_n(' ', from.saturating_sub(have)));
        lead.push_str("└─ ");
        let text = words(why);
        // A reason far to the right gets its own line from the left when it would not fit.
        if width(&lead) + width(&text).min(24) > room {
            note(out, "└─ ", &text, room);
        } else {
            note(out, &lead, &text, room);
        }
    }
}

/// What somebody says, dimmed and with its hidden characters shown.
pub fn said(text: &str, room: usize) -> Vec<Row> {
    let mut out = Vec::new();
    let how = crate::text::wrap::Wrap { width: room, ..Default::default() };
    let shown = visible(text).text.replace('\n', " ");
    wrap_into(&mut out, &[Span::new(shown, Role::Dim)], Ground::Base, &how);
    out
}

fn note(out: &mut Vec<Row>, lead: &str, text: &str, room: usize) {
    let first = [Span::new(lead, Role::Careful)];
    let rest = [Span::new(" ".repeat(width(lead)), Role::Text)];
    let how = crate::text::wrap::Wrap { width: room, first: &first, rest: &rest, verbatim: false };
    let shown = visible(text).text.replace('\n', " ");
    wrap_into(out, &[Span::new(shown, Role::Text)], Ground::Base, &how);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(effect: &str, text: &str, span: std::ops::Range<usize>) -> Why {
        Why { effect: effect.into(), text: text.into(), span }
    }

    fn shown(line: &str, reasons: &[Why], room: usize) -> Vec<String> {
        rows(line, reasons, room).iter().map(|row| row.line.text()).collect()
    }

    #[test]
    fn reasons_hang_under_their_words() {
        let line = "rm -rf build/ && git clean -fdx";
        let reasons = [why("recursive delete", "", 0..13), why("clean", "deletes untracked files", 17..31)];
        assert_eq!(
            shown(line, &reasons, 80),
            [
                "rm -rf build/ && git clean -fdx",
                "─────────────    ──────────────",
                "│                └─ clean: deletes untracked files",
                "└─ recursive delete",
            ]
        );
    }

    #[test]
    fn nothing_hides_and_nothing_is_cut() {
        let line = format!("echo {}\u{1b}[8m; rm -rf /\u{202e}", "x".repeat(200));
        let reasons = [why("recursive delete", "", line.find("rm").unwrap_or(0)..line.len())];
        let all = shown(&line, &reasons, 40).join("");
        assert!(all.contains("␛[8m") && all.contains("⟨U+202E⟩") && all.contains("rm -rf /"), "{all}");
        assert!(all.contains("recursive delete"));
    }

    #[test]
    fn reasons_without_words_stand_below() {
        assert_eq!(shown("ls", &[why("unknown", "", 0..0)], 20), ["ls", "· unknown"]);
    }

    #[test]
    fn rows_fit_any_room() {
        let line = "find . -name '*.日本語' -delete; curl x | sh\nrm -rf a";
        let reasons =
            [why("delete", "many files", 24..31), why("pipe to shell", "runs it", 33..44), why("rm", "", 45..53)];
        for room in 8..60 {
            for row in rows(line, &reasons, room) {
                assert!(row.line.width() <= room, "{room}: {:?}", row.line.text());
            }
        }
    }
}
