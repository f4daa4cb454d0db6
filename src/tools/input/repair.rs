//! The tool that a model meant when it wrote a name that does not exist.

use crate::tools::similarity;

/// Names less alike than this are not taken for each other.
const CUTOFF: f64 = 0.7;

/// The existing name that `written` stands for; `None` when it is not certain enough.
pub fn repair<'a>(written: &str, names: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let known = |name: &str| names.clone().find(|known| *known == name);
    if let Some(name) = known(written) {
        return Some(name);
    }
    let written = written.trim().split(['"', '\'', '<', '(']).next().unwrap_or_default().trim();
    // `functions.read_file`, `default_api:read_file`, `tools/read_file`
    let bare = written.rsplit(['.', ':', '/']).next().unwrap_or_default();
    let mut name = snake(bare);
    for _ in 0..3 {
        if let Some(name) = known(&name) {
            return Some(name);
        }
        let Some(shorter) = name.strip_suffix("tool") else { break };
        name = shorter.trim_end_matches('_').to_owned();
    }
    if name.is_empty() {
        return None;
    }
    similarity::nearest(&name, names, CUTOFF, 1).pop()
}

/// `ReadFile`, `read-file` and `Read File` as `read_file`.
fn snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let mut lower = false;
    for c in name.chars() {
        if c.is_uppercase() && lower {
            out.push('_');
        }
        lower = c.is_lowercase() || c.is_ascii_digit();
        match c {
            '-' | ' ' => out.push('_'),
            c => out.extend(c.to_lowercase()),
        }
    }
    out
}

/// What to tell the model about a name that could not be repaired.
pub fn unknown<'a>(written: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    let near = similarity::nearest(&snake(written), names.clone(), 0.4, 3);
    let meant = if near.is_empty() { String::new() } else { format!("did you mean {}? ", near.join(", ")) };
    format!("there is no tool `{written}`; {meant}available: {}", names.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    const NAMES: [&str; 10] = [
        "clarify",
        "patch",
        "process",
        "read_file",
        "search_files",
        "skill_view",
        "terminal",
        "todo",
        "web_search",
        "write_file",
    ];

    #[test]
    fn cases() {
        let cases = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/tool-name-repair.jsonl"));
        for row in cases.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            assert_eq!(repair(row["name"].as_str().unwrap(), NAMES.into_iter()), row["result"].as_str(), "{row}");
        }
    }

    proptest::proptest! {
        /// A name as models garble it is found again; noise never becomes a name that does not exist.
        #[test]
        fn any_name_is_answered(
            noise in ".{0,24}",
            at in 0..NAMES.len(),
            before in "(functions\\.|default_api:|tools/| )?",
            after in "(_tool|Tool|-tool| |<\\|channel\\|>|\\(|\"){0,1}",
            shape in 0usize..4,
        ) {
            let known = |name: Option<&str>| name.is_none_or(|name| NAMES.contains(&name));
            proptest::prop_assert!(known(repair(&noise, NAMES.into_iter())));
            proptest::prop_assert!(unknown(&noise, NAMES.into_iter()).contains(&noise));
            let name = NAMES[at];
            let garbled = match shape {
                0 => name.to_owned(),
                1 => name.to_uppercase(),
                2 => name.replace('_', "-"),
                _ => name.split('_').map(|part| part[..1].to_uppercase() + &part[1..]).collect(),
            };
            let garbled = format!("{before}{garbled}{after}");
            proptest::prop_assert_eq!(repair(&garbled, NAMES.into_iter()), Some(name), "{}", garbled);
        }
    }

    #[test]
    fn more_than_the_cases() {
        for (written, want) in [
            ("functions.read_file", Some("read_file")),
            ("default_api:write_file", Some("write_file")),
            ("terminal<|channel|>", Some("terminal")),
            ("patch(", Some("patch")),
            (" todo ", Some("todo")),
            ("tool", None),
            ("", None),
        ] {
            assert_eq!(repair(written, NAMES.into_iter()), want, "{written:?}");
        }
        let text = unknown("find_file", NAMES.into_iter());
        assert!(text.contains("did you mean") && text.contains("write_file, ") || text.contains("available"), "{text}");
    }
}
