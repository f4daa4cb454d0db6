//! Notes that outlive a session: `MEMORY.md` (the agent's) and `USER.md` (about the user), as the prompt shows them.

use super::threats::{self, Scope};
use std::path::Path;

/// Between entries, in files and in the prompt.
pub const DELIMITER: &str = "\n§\n";
/// Width of the lines around a block's heading.
const RULE: usize = 46;
/// Bytes that are read at all: many times any sensible limit.
const READ: usize = 1 << 20;

/// Which of the two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    #[default]
    Notes,
    Profile,
}

/// The entries of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    pub kind: Kind,
    /// Oldest first, as written.
    pub entries: Vec<String>,
    /// Characters that the file may have.
    pub limit: usize,
}

/// Reads a file. One that is not there, or can't be read, has no entries.
pub fn read(path: &Path, kind: Kind, limit: usize) -> Memory {
    let mut bytes = std::fs::read(path).unwrap_or_default();
    bytes.truncate(READ);
    let text = String::from_utf8_lossy(&bytes);
    let entries = text.replace("\r\n", "\n");
    let entries = entries.split(DELIMITER).map(|entry| entry.trim().to_owned()).filter(|entry| !entry.is_empty());
    Memory { kind, entries: entries.collect(), limit }
}

impl Memory {
    /// Characters in use, delimiters included.
    pub fn chars(&self) -> usize {
        let text: usize = self.entries.iter().map(|entry| entry.chars().count()).sum();
        text + self.entries.len().saturating_sub(1) * DELIMITER.chars().count()
    }

    /// Percent of the limit, at most 100.
    pub fn percent(&self) -> u8 {
        (self.chars() * 100).checked_div(self.limit).map_or(0, |percent| percent.min(100) as u8)
    }

    /// The block of the prompt; empty when there are no entries. Entries that read like orders are blocked in it, while the
    /// file keeps them.
    pub fn block(&self) -> String {
        if self.entries.is_empty() {
            return String::new();
        }
        let title = match self.kind {
            Kind::Notes => "MEMORY (your personal notes)",
            Kind::Profile => "USER PROFILE (who the user is)",
        };
        let rule = "═".repeat(RULE);
        let usage = format!("[{}% — {}/{} chars]", self.percent(), grouped(self.chars()), grouped(self.limit));
        let shown: Vec<String> = self
            .entries
            .iter()
            .map(|entry| {
                let found = threats::scan(entry, Scope::Strict);
                if found.is_empty() { entry.clone() } else { threats::blocked("memory entry", &found) }
            })
            .collect();
        format!("{rule}\n{title} {usage}\n{rule}\n{}", shown.join(DELIMITER))
    }
}

/// `2,200`.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_of_the_prompt() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("MEMORY.md");
        std::fs::write(&path, "uses conda over pip\n§\nline one\nline two\n§\n\n§\nkey in ~/.ssh\n").unwrap();
        let memory = read(&path, Kind::Notes, 2200);
        assert_eq!(memory.entries, ["uses conda over pip", "line one\nline two", "key in ~/.ssh"]);
        let block = memory.block();
        let rule = "═".repeat(46);
        let head = format!(
            "{rule}\nMEMORY (your personal notes) [2% — 55/2,200 chars]\n{rule}\nuses conda over pip\n§\nline one\nline two\n§\n[BLOCKED: memory entry"
        );
        assert!(block.starts_with(&head), "{block}");
        assert!(!block.contains(".ssh"));
    }

    #[test]
    fn nothing_is_no_block() {
        let memory = read(Path::new("/nonexistent/USER.md"), Kind::Profile, 1375);
        assert_eq!((memory.block(), memory.percent(), memory.chars()), (String::new(), 0, 0));
    }

    #[test]
    fn usage_is_bounded() {
        let memory = Memory { kind: Kind::Profile, entries: vec!["x".repeat(30)], limit: 10 };
        assert_eq!(memory.percent(), 100);
        assert!(memory.block().contains("USER PROFILE (who the user is) [100% — 30/10 chars]"));
        assert_eq!(Memory { limit: 0, ..memory }.percent(), 0);
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }
}
