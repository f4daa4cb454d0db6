//! Times and single lines as the commands print them.

use chrono::{DateTime, Local, SecondsFormat, TimeZone, Utc};
use unicode_width::UnicodeWidthChar;

/// Milliseconds since the epoch as RFC 3339 in UTC.
pub fn rfc3339(at: i64) -> String {
    let time = DateTime::<Utc>::from_timestamp_millis(at).unwrap_or_default();
    let digits = if at % 1000 == 0 { SecondsFormat::Secs } else { SecondsFormat::Millis };
    time.to_rfc3339_opts(digits, true)
}

/// Milliseconds since the epoch in this place's time, to the minute.
pub fn local(at: i64) -> String {
    match Local.timestamp_millis_opt(at).single() {
        Some(time) => time.format("%Y-%m-%d %H:%M").to_string(),
        None => rfc3339(at),
    }
}

/// How long ago: `now`, `5m`, `3h`, `2d`, then the date.
pub fn age(at: i64, now: i64) -> String {
    let minutes = (now - at).max(0) / 60_000;
    match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes}m"),
        60..1440 => format!("{}h", minutes / 60),
        1440..43200 => format!("{}d", minutes / 1440),
        _ => local(at).chars().take(10).collect(),
    }
}

/// The text on one line of at most `width` columns, without anything that could steer the terminal.
pub fn one_line(text: &str, width: usize) -> String {
    let mut line = String::new();
    let mut used = 0;
    // Whoever asks for a line never needs more than this of a long text.
    let start: String = text.chars().take(width.saturating_mul(4).min(1 << 16)).collect();
    for word in plain(&start).split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
            used += 1;
        }
        for c in word.chars() {
            let columns = c.width().unwrap_or(0);
            if used + columns > width.saturating_sub(1) {
                line.push('…');
                return line;
            }
            line.push(c);
            used += columns;
        }
    }
    line
}

/// The text without escape sequences and control characters but line feeds and tabs.
pub fn plain(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.next() {
                // CSI ends with a letter or one of a few signs, OSC with BEL or ESC \.
                Some('[') => while chars.next().is_some_and(|c| !matches!(c, '\u{40}'..='\u{7e}')) {},
                Some(']') => {
                    while let Some(c) = chars.next() {
                        if c == '\u{7}' || (c == '\u{1b}' && chars.next_if_eq(&'\\').is_some()) {
                            break;
                        }
                    }
                }
                _ => {}
            },
            '\n' | '\t' => clean.push(c),
            c if c.is_control() => {}
            c => clean.push(c),
        }
    }
    clean
}

/// Columns that a text takes.
pub fn width(text: &str) -> usize {
    text.chars().filter_map(UnicodeWidthChar::width).sum()
}

/// The text, filled with blanks up to `columns`.
pub fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        let minute = 60_000;
        for (ago, expected) in [(0, "now"), (59 * minute, "59m"), (60 * minute, "1h"), (47 * 60 * minute, "1d")] {
            assert_eq!(age(1_800_000_000_000 - ago, 1_800_000_000_000), expected);
        }
        assert_eq!(age(0, 1_800_000_000_000).len(), 10);
    }

    #[test]
    fn a_line_is_clean_and_fits() {
        assert_eq!(one_line("a\n\u{1b}[31mb\u{1b}]0;t\u{7}c\u{0}  d", 20), "a bc d");
        assert_eq!(one_line("語語語語", 5), "語語…");
        assert_eq!(one_line("abc", 4), "abc");
        assert_eq!(padded("語", 4), "語  ");
        assert_eq!(rfc3339(1_767_254_400_000), "2026-01-01T08:00:00Z");
        assert_eq!(rfc3339(1_767_254_400_120), "2026-01-01T08:00:00.120Z");
    }
}
