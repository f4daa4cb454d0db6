//! `A && B &` puts the whole chain into a subshell; people mean that only `B` stays behind.

use super::scan::{is_background, mask};

/// Rewrites `A && B &` to `A && { B & }`, for every such chain outside brackets. Other lines come back unchanged.
pub fn rewrite_compound(line: &str) -> String {
    let masked = mask(line);
    let bytes = masked.as_bytes();
    let mut out = String::new();
    let (mut copied, mut at, mut depth) = (0, 0, 0_usize);
    // Where the last command of the chain begins; `None` outside a chain.
    let mut last: Option<usize> = None;
    while at < bytes.len() {
        let next = bytes.get(at + 1).copied();
        match bytes[at] {
            b'(' | b'{' => depth += 1,
            b')' | b'}' => depth = depth.saturating_sub(1),
            b'&' | b'|' if depth == 0 && next == Some(bytes[at]) => {
                last = Some(at + 2);
                at += 1;
            }
            b';' | b'\n' if depth == 0 => last = None,
            b'&' if depth == 0 && is_background(bytes, at) => {
                if let Some(start) = last.take() {
                    let command = line[start..at].trim();
                    let start = start + (line[start..].len() - line[start..].trim_start().len());
                    out.push_str(&line[copied..start]);
                    out.push_str("{ ");
                    out.push_str(command);
                    out.push_str(" & }");
                    copied = at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    out.push_str(&line[copied..]);
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn cases() {
        let cases = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/compound-background.jsonl"));
        for line in cases.lines() {
            let case: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(super::rewrite_compound(case["command"].as_str().unwrap()), case["rewritten"], "{case}");
        }
    }
}
