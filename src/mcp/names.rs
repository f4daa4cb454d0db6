//! Names of a server's tools as the model sees them: `mcp__server__tool`, each once and none longer than providers take.

use std::collections::HashSet;

/// What every name begins with.
const PREFIX: &str = "mcp__";
/// Bytes of a name that every provider takes.
const LONGEST: usize = 64;

/// The toolset of a server.
pub fn toolset(server: &str) -> String {
    format!("mcp-{server}")
}

/// What the names of a server's tools begin with.
pub fn prefix(server: &str) -> String {
    format!("{PREFIX}{}__", part(server))
}

/// A part of a name: every character that is none of A-Z a-z 0-9 _ becomes `_`.
fn part(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}

/// The names of `tools` of one server, in their order; `None` for one that is called as an earlier one. Two that become
/// the same, and one that is too long, end in a few characters that come from their whole name.
pub fn names(server: &str, tools: &[&str]) -> Vec<Option<String>> {
    let (mut seen, mut taken) = (HashSet::new(), HashSet::new());
    tools
        .iter()
        .map(|tool| {
            if !seen.insert(*tool) {
                return None;
            }
            let whole = format!("{}{}", prefix(server), part(tool));
            let mut name = if whole.len() > LONGEST { suffixed(&whole, tool) } else { whole.clone() };
            if taken.contains(&name) {
                name = suffixed(&whole, tool);
            }
            taken.insert(name.clone()).then_some(name)
        })
        .collect()
}

/// The beginning of a name with a mark of the tool's real name.
fn suffixed(whole: &str, tool: &str) -> String {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(tool.as_bytes());
    let mark: String = digest.iter().take(3).map(|byte| format!("{byte:02x}")).collect();
    // Names are ASCII by now.
    let start: String = whole.chars().take(LONGEST - mark.len() - 1).collect();
    format!("{start}_{mark}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(server: &str, tools: &[&str]) -> Vec<String> {
        names(server, tools).into_iter().map(Option::unwrap_or_default).collect()
    }

    #[test]
    fn names_are_plain() {
        assert_eq!(
            all("my-git.hub", &["create issue", "日本", "ok_1"]),
            ["mcp__my_git_hub__create_issue", "mcp__my_git_hub____", "mcp__my_git_hub__ok_1",]
        );
        assert_eq!(toolset("my-git"), "mcp-my-git");
    }

    #[test]
    fn no_two_are_the_same_and_none_is_too_long() {
        let long = "x".repeat(200);
        let (one, other) = (format!("{long}1"), format!("{long}2"));
        let found = all("s", &["a.b", "a-b", "a_b", "a.b", &one, &other]);
        assert_eq!((found[0].as_str(), found[3].as_str()), ("mcp__s__a_b", ""));
        let distinct: HashSet<&String> = found.iter().filter(|name| !name.is_empty()).collect();
        assert_eq!(distinct.len(), 5, "{found:?}");
        assert!(found.iter().all(|name| name.len() <= LONGEST), "{found:?}");
        // The order of the others does not change a name that was cut.
        assert_eq!(all("s", &[&other])[0], found[5]);
    }
}
