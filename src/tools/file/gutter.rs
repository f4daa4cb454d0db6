//! The line numbers that `read_file` puts before each line, and texts that were copied with them.

/// `N|` before a line.
pub fn numbered(number: u64, line: &str) -> String {
    format!("{number}|{line}")
}

/// At least 60 % of the lines (and two of them) carry numbers that count up by one.
pub fn looks_numbered(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let numbers: Vec<u64> = lines.iter().filter_map(|line| number(line)).collect();
    let rising = numbers.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
    numbers.len() >= 2 && numbers.len() * 10 >= lines.len() * 6 && rising * 10 >= (numbers.len() - 1) * 6
}

fn number(line: &str) -> Option<u64> {
    let (digits, _) = line.trim_start().split_once('|')?;
    if digits.starts_with('+') { None } else { digits.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn cases() {
        let cases = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/line-gutter-guard.jsonl"));
        for row in cases.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            assert_eq!(looks_numbered(row["content"].as_str().unwrap()), row["refused"].as_bool().unwrap(), "{row}");
        }
        assert!(!looks_numbered("7|a\n3|b\n99|c\n"));
        assert!(looks_numbered("7|a\n8|\n9|c\n"));
    }
}
