//! `sudo` in a command asks the user by a masked field instead of the terminal: its own option for that is put in.
//!
//! The line that was judged is the one that the model wrote; this changes nothing but how the password is asked for.

use super::scan::{mask, segments};

/// The option by which `sudo` runs the program that asks.
pub(super) const ASKS: &str = "-A";

/// Words of the shell before a command.
const BEFORE: &[&str] = &["if", "then", "elif", "else", "while", "until", "do", "time", "!", "(", "{"];
/// Options of `sudo` that take a word of their own.
const WITH_VALUE: &[u8] = b"aCcDghpRrtTUu";
/// Options that say how the password is got, or that none is.
const OWN_WAY: &[u8] = b"AnS";

/// Puts `options` behind every unquoted `sudo` that stands where a command does and does not say itself how its password is
/// got. Returns the line and how many there were.
pub fn rewrite_sudo(line: &str, options: &str) -> (String, usize) {
    let masked = mask(line);
    let mut out = String::with_capacity(line.len());
    let (mut copied, mut count) = (0, 0);
    for segment in segments(line, &masked, true) {
        let start = segment.masked.as_ptr() as usize - masked.as_ptr() as usize;
        let Some(end) = sudo_end(segment.masked) else { continue };
        if says_how(&segment.text[end..], &segment.masked[end..]) {
            continue;
        }
        out.push_str(&line[copied..start + end]);
        out.push(' ');
        out.push_str(options);
        copied = start + end;
        count += 1;
    }
    out.push_str(&line[copied..]);
    (out, count)
}

/// Where the word `sudo` ends in this segment, when it is its command.
fn sudo_end(masked: &str) -> Option<usize> {
    let mut rest = masked;
    loop {
        rest = rest.trim_start();
        // A bracket needs no blank behind it, a brace does.
        if let Some(inner) = rest.strip_prefix('(') {
            rest = inner;
            continue;
        }
        let word = rest.split([' ', '\t', ')']).next().unwrap_or_default();
        if word == "sudo" {
            return Some(masked.len() - rest.len() + word.len());
        }
        let assigns = word
            .split_once('=')
            .is_some_and(|(name, _)| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
        if word.is_empty() || !assigns && !BEFORE.contains(&word) {
            return None;
        }
        rest = &rest[word.len()..];
    }
}

/// Whether its options say how the password is got.
fn says_how(text: &str, masked: &str) -> bool {
    let mut at = 0;
    let mut value = false;
    for shape in masked.split([' ', '\t']) {
        let word = &text[at..at + shape.len()];
        at += shape.len() + 1;
        if shape.is_empty() {
            continue;
        }
        if std::mem::take(&mut value) {
            continue;
        }
        match word.strip_prefix('-') {
            None | Some("" | "-") => return false,
            Some("-askpass" | "-non-interactive" | "-stdin") => return true,
            Some(long) if long.starts_with('-') => {}
            Some(letters) => {
                for (index, letter) in letters.bytes().enumerate() {
                    if OWN_WAY.contains(&letter) {
                        return true;
                    }
                    if WITH_VALUE.contains(&letter) {
                        value = index + 1 == letters.len();
                        break;
                    }
                }
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_rewritten() {
        let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/sudo-rewrite.jsonl"));
        let mut count = 0;
        for line in text.lines().filter(|line| !line.is_empty()) {
            let case: serde_json::Value = serde_json::from_str(line).unwrap();
            let (rewritten, found) = rewrite_sudo(case["command"].as_str().unwrap(), "-S -p ''");
            assert_eq!(
                (rewritten.as_str(), found as u64),
                (case["rewritten"].as_str().unwrap(), case["count"].as_u64().unwrap())
            );
            count += 1;
        }
        assert_eq!(count, 7);
    }

    #[test]
    fn only_the_command_word_counts() {
        for (line, want) in [
            ("A=1 B='x y' sudo -u root b", "A=1 B='x y' sudo -A -u root b"),
            ("if sudo true; then sudo b; fi", "if sudo -A true; then sudo -A b; fi"),
            ("(sudo a) && { sudo b; }", "(sudo -A a) && { sudo -A b; }"),
            ("! sudo a", "! sudo -A a"),
            ("sudo -E -u ada -- b", "sudo -A -E -u ada -- b"),
            ("sudo", "sudo -A"),
        ] {
            assert_eq!(rewrite_sudo(line, ASKS).0, want);
        }
        for line in [
            "sudo -n true",
            "sudo -A x",
            "sudo -Eu ada -S x",
            "sudo --stdin x",
            "sudo -kn x",
            "'sudo' x",
            "\"sudo\" x",
            "\\sudo x",
            "echo 'a; sudo b'",
            "cat <<EOF\nsudo x\nEOF",
            "# sudo x",
            "sudoedit x",
            "./sudo x",
            "",
        ] {
            assert_eq!(rewrite_sudo(line, ASKS), (line.to_owned(), 0), "{line}");
        }
        // A value that looks like an option is none.
        assert_eq!(rewrite_sudo("sudo -u -n x", ASKS).1, 1);
        assert_eq!(rewrite_sudo("sudo env -S x", ASKS).1, 1);
    }

    proptest::proptest! {
        #[test]
        fn nothing_else_changes(line in "[sudo&|;'\"\\\\ \n-(){}=A]{0,40}") {
            let (rewritten, count) = rewrite_sudo(&line, "-X");
            proptest::prop_assert_eq!(rewritten.len(), line.len() + 3 * count);
            proptest::prop_assert_eq!(rewritten.replace("sudo -X", "sudo"), line.replace("sudo -X", "sudo"));
        }
    }
}
