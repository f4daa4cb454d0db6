//! Numbers as people read them: tokens, windows, durations, sizes, ages.

/// Tokens: `999`, `1.05K`, `12.3K`, `123K`, `1.05M`.
pub fn tokens(value: i64) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let amount = value.unsigned_abs() as f64;
    let (scaled, unit) = scale(amount);
    if unit.is_empty() {
        return format!("{sign}{}", value.unsigned_abs());
    }
    let decimals = match scaled {
        small if small < 10.0 => 2,
        middle if middle < 100.0 => 1,
        _ => 0,
    };
    format!("{sign}{}{unit}", trimmed(scaled, decimals))
}

/// Context windows: `64K`, `131.1K`, `1M`.
pub fn context(tokens: u64) -> String {
    let (scaled, unit) = scale(tokens as f64);
    if unit.is_empty() { tokens.to_string() } else { format!("{}{unit}", trimmed(scaled, 1)) }
}

/// A share in whole percent; empty of nothing.
pub fn percent(part: u64, whole: u64) -> String {
    match (part * 100).checked_div(whole) {
        None => String::new(),
        Some(0) if part > 0 => "<1 %".into(),
        Some(share) => format!("{share} %"),
    }
}

/// Durations for sentences and reports: `59s`, `2m`, `1h 30m`, `1.0d`.
pub fn duration(seconds: f64) -> String {
    if seconds < 60.0 {
        format!("{seconds:.0}s")
    } else if seconds < 3600.0 {
        format!("{:.0}m", seconds / 60.0)
    } else if seconds < 86_400.0 {
        let (hours, minutes) = ((seconds / 3600.0) as u64, (seconds % 3600.0 / 60.0) as u64);
        if minutes == 0 { format!("{hours}h") } else { format!("{hours}h {minutes}m") }
    } else {
        format!("{:.1}d", seconds / 86_400.0)
    }
}

/// Measured times on the screen: `3 ms`, `41.2 s`, `3 m 45 s`, `2 h 5 m`.
pub fn elapsed(milliseconds: u64) -> String {
    match milliseconds {
        0..1000 => format!("{milliseconds} ms"),
        1000..60_000 => format!("{}.{} s", milliseconds / 1000, milliseconds % 1000 / 100),
        _ => clock(milliseconds),
    }
}

/// Words with a capital at their start.
pub fn capitalized(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), letters.as_str()))
}

/// Running clocks, in whole seconds so that they change once a second: `3 s`, `3 m 45 s`, `2 h 5 m`.
pub fn clock(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} m {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// How long ago or how old, in one unit: `12s`, `12m`, `3h`, `5d`, `7w`.
pub fn age(milliseconds: i64) -> String {
    let seconds = milliseconds.max(0) / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        86_400..1_209_600 => format!("{}d", seconds / 86_400),
        _ => format!("{}w", seconds / 604_800),
    }
}

/// Sizes in decimal units, as file managers count: `12 B`, `1.2 KB`, `310 MB`.
pub fn bytes(count: u64) -> String {
    let units = ["B", "KB", "MB", "GB", "TB", "PB"];
    let mut amount = count as f64;
    let mut unit = 0;
    while amount >= 999.5 && unit + 1 < units.len() {
        amount /= 1000.0;
        unit += 1;
    }
    let name = units.get(unit).copied().unwrap_or("B");
    if unit == 0 || amount >= 9.95 { format!("{amount:.0} {name}") } else { format!("{} {name}", trimmed(amount, 1)) }
}

/// Whole numbers with thousands apart: `1,204`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// US dollars: `$0.08`, `$12.40`, `$0.0004`; nothing to pay is `free`.
pub fn dollars(amount: f64) -> String {
    match amount.abs() {
        0.0 => "free".to_owned(),
        small if small < 0.01 => format!("${amount:.4}"),
        _ => format!("${amount:.2}"),
    }
}

/// `1 file`, `2 files`.
pub fn plural(value: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(value), if value == 1 { one } else { many })
}

fn scale(amount: f64) -> (f64, &'static str) {
    match amount {
        billions if billions >= 1e9 => (billions / 1e9, "B"),
        millions if millions >= 1e6 => (millions / 1e6, "M"),
        thousands if thousands >= 1e3 => (thousands / 1e3, "K"),
        _ => (amount, ""),
    }
}

fn trimmed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn cases(text: &str) -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn numbers_read_as_the_cases_say() {
        let dir = |text: &'static str| cases(text);
        for case in dir(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/format-tokens.jsonl"))) {
            assert_eq!(tokens(case["value"].as_i64().unwrap()), case["text"], "{case}");
        }
        for case in dir(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/format-context.jsonl"))) {
            assert_eq!(context(case["tokens"].as_u64().unwrap()), case["text"], "{case}");
        }
        for case in dir(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/format-duration.jsonl"))) {
            assert_eq!(duration(case["seconds"].as_f64().unwrap()), case["text"], "{case}");
        }
    }

    #[test]
    fn screen_styles() {
        assert_eq!(elapsed(3), "3 ms");
        assert_eq!(elapsed(41_200), "41.2 s");
        assert_eq!(elapsed(225_000), "3 m 45 s");
        assert_eq!(clock(3_900), "3 s");
        assert_eq!(age(12 * 60_000), "12m");
        assert_eq!(bytes(310_000_000), "310 MB");
        assert_eq!(bytes(1_234), "1.2 KB");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(999_999), "1 MB");
        assert_eq!(count(1_204), "1,204");
        assert_eq!(count(1_000_000), "1,000,000");
        assert_eq!(dollars(0.08), "$0.08");
        assert_eq!(dollars(0.0), "free");
        assert_eq!(plural(1, "file", "files"), "1 file");
    }
}
