//! Files that a prompt names: a small model guesses what they hold rather than reading them, so they are read for it, by the
//! same tool and the same gate.

use std::path::{Component, Path};

/// Files that are read at most.
const MOST: usize = 2;
/// Bytes of a file that is read for a model: larger ones are searched.
const LARGE: u64 = 48 * 1024;

/// Names in the text that are files below the folder, as they were written. Blocks for a look at each.
pub fn named(text: &str, folder: &Path) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
    for word in text.split(|c: char| !is_part(c)) {
        let word = word.trim_end_matches(['.', '-']);
        if found.len() == MOST {
            break;
        }
        if is_name(word) && !found.iter().any(|known| known == word) && is_readable(&folder.join(word)) {
            found.push(word.to_owned());
        }
    }
    found
}

/// A name with an ending, inside the folder, that hides nothing: secrets lie in files that begin with a dot.
fn is_name(word: &str) -> bool {
    let path = Path::new(word);
    let plain = |part: Component<'_>| match part {
        Component::Normal(name) => !name.to_string_lossy().starts_with('.'),
        _ => false,
    };
    path.extension().is_some() && path.components().all(plain)
}

fn is_readable(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|about| about.is_file() && about.len() <= LARGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_named_and_there_are_found_once() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("src")).unwrap();
        for (name, size) in
            [("notes.txt", 5), ("src/main.rs", 5), ("big.log", 100_000), (".env.local", 5), ("Makefile", 5)]
        {
            std::fs::write(dir.path().join(name), "x".repeat(size)).unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("link.txt")).unwrap();
        let table: [(&str, &[&str]); 7] = [
            ("What is in notes.txt?", &["notes.txt"]),
            ("Read `notes.txt`, then notes.txt and src/main.rs.", &["notes.txt", "src/main.rs"]),
            ("Change notes.txt...", &["notes.txt"]),
            ("see big.log, .env.local and link.txt", &[]),
            ("run make in Makefile e.g. v1.2", &[]),
            ("../notes.txt and /etc/hosts.conf", &[]),
            ("create hello.txt", &[]),
        ];
        for (text, expected) in table {
            assert_eq!(named(text, dir.path()), expected, "{text}");
        }
    }
}
