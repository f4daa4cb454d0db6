//! Readings of a command: as it is, and as a person or a careless program would read it (control codes and look-alikes removed).

use super::source::Origin;

/// A text to judge.
#[derive(Debug)]
pub struct Reading {
    pub text: String,
    pub origin: Origin,
    /// Characters were taken out that a shell would have kept in words: what is found counts as a question, not as a refusal.
    pub doubtful: bool,
}

/// Whether the character is invisible or changes the direction of text.
pub fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether the character is a control code other than tab and line feed.
pub fn is_control(c: char) -> bool {
    c.is_control() && c != '\t' && c != '\n'
}

/// The readings to judge; the first is the command itself. One when it is plain text.
pub fn readings(command: &str) -> Vec<Reading> {
    let mut all = vec![Reading { text: command.to_owned(), origin: Origin::Offset(0), doubtful: false }];
    if command.bytes().all(|b| (b' '..0x7f).contains(&b) || b == b'\n' || b == b'\t') {
        return all;
    }
    let cleaned = clean(command, false);
    if cleaned.text != command {
        all.push(cleaned);
    }
    if command.chars().any(|c| is_invisible(c) || c == '\r') {
        all.push(clean(command, true));
    }
    all
}

/// Folds full-width letters, removes terminal escapes and control codes, and invisible characters when asked.
fn clean(command: &str, invisible: bool) -> Reading {
    let chars: Vec<(usize, char)> = command.char_indices().collect();
    let mut text = String::with_capacity(command.len());
    let mut table = Vec::with_capacity(command.len() + 1);
    let mut i = 0;
    while i < chars.len() {
        let (at, c) = chars[i];
        if let Some(next) = escape_end(&chars, i) {
            i = next;
            continue;
        }
        i += 1;
        let kept = match c {
            '\r' if invisible => Some('\n'),
            _ if is_control(c) => None,
            _ if is_invisible(c) => (!invisible).then_some(c),
            '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0),
            '\u{3000}' | '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' => Some(' '),
            '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe63}' => Some('-'),
            '\u{2044}' | '\u{2215}' | '\u{29f8}' => Some('/'),
            '\u{1d400}'..='\u{1d6a3}' => char::from(mathematical(c)).into(),
            _ => Some(c),
        };
        if let Some(kept) = kept {
            text.push(kept);
            table.extend(std::iter::repeat_n(at, kept.len_utf8()));
        }
    }
    table.push(command.len());
    Reading { text, origin: Origin::Table(table.into()), doubtful: invisible }
}

/// The plain letter of a mathematical alphanumeric: each alphabet is 26 capitals and 26 small letters.
fn mathematical(c: char) -> u8 {
    let at = ((c as u32 - 0x1d400) % 52) as u8;
    if at < 26 { b'A' + at } else { b'a' + at - 26 }
}

/// Where the terminal escape that starts at `i` ends.
fn escape_end(chars: &[(usize, char)], i: usize) -> Option<usize> {
    let at = |i: usize| chars.get(i).map(|c| c.1);
    let (kind, mut j) = match at(i)? {
        '\u{1b}' => (at(i + 1)?, i + 2),
        '\u{9b}' => ('[', i + 1),
        '\u{9d}' => (']', i + 1),
        _ => return None,
    };
    match kind {
        '[' => {
            while at(j).is_some_and(|c| ('\u{20}'..='\u{3f}').contains(&c)) {
                j += 1;
            }
            Some((j + 1).min(chars.len()))
        }
        ']' | 'P' | 'X' | '^' | '_' => {
            // A terminal swallows everything up to the terminator; without one, only the introducer goes.
            let end = (j..chars.len()).find(|k| {
                matches!(chars[*k].1, '\u{7}' | '\u{9c}') || (chars[*k].1 == '\u{1b}' && at(k + 1) == Some('\\'))
            });
            Some(match end {
                Some(k) if chars[k].1 == '\u{1b}' => k + 2,
                Some(k) => k + 1,
                None => j,
            })
        }
        _ => Some(j),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleaned_readings() {
        for (command, want) in [
            ("\u{1b}]0;t\u{7}rm -rf /", "rm -rf /"),
            ("\u{1b}[31mrm\u{1b}[0m x", "rm x"),
            ("rm\0 -rf /", "rm -rf /"),
            ("ｒｍ -rf /", "rm -rf /"),
            ("rm\u{a0}x", "rm x"),
        ] {
            let all = readings(command);
            assert_eq!(all[1].text, want);
        }
        assert_eq!(readings("ls -la").len(), 1);
        let zero_width = readings("rm\u{200b} x");
        assert!(zero_width.iter().any(|r| r.doubtful && r.text == "rm x"));
    }

    #[test]
    fn spans_point_into_the_command() {
        let all = readings("\u{1b}[1mrm x");
        assert_eq!(all[1].origin.span(0..2), 4..6);
    }
}
