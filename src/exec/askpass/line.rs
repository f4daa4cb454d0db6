//! Which `sudo` a kept password is for: the one that is all of its line, with the words that were judged.

use crate::exec::process::procfs;
use crate::exec::process::procfs::Identity;
use crate::exec::process::record::Process;

/// The words of a line that is one command of literal words; `None` for every other one. Nothing but that command runs
/// in such a line: no code of a file in the shell itself, and no program that calls the same command in its stead.
fn literal_words(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut quote = None;
    for c in line.trim().chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('"'), '$' | '`' | '\\' | '!') => return None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ' | '\t') => words.extend(word.take()),
            (None, c) if c.is_ascii_alphanumeric() || "_-./:=,+@%".contains(c) => word.get_or_insert_default().push(c),
            (None, _) => return None,
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// Whether this `sudo` is all that the line of the process is, was judged with it, and runs the very words of it: as the
/// leader, or as a child of it. Its words are those that it got from the kernel, as its memory is closed to its user.
pub(super) fn is_all_of(process: &Process, sudo: Identity) -> bool {
    let Some(words) = literal_words(&process.command) else { return false };
    // Options may change whose rights the command gets, which then could put another `sudo` in the place of this one.
    let plain =
        matches!(&words[..], [name, asks, program, ..] if name == "sudo" && asks == "-A" && is_program(program));
    let child = || procfs::stat(sudo.pid).is_some_and(|stat| stat.parent == process.pid && stat.start == sudo.start);
    process.launch.sudos == 1
        && plain
        && (sudo.pid == process.pid || child())
        && super::peer::words_of(sudo.pid).is_some_and(|running| running == joined(&words))
}

fn is_program(word: &str) -> bool {
    !word.is_empty() && !word.starts_with('-') && !word.contains('=')
}

/// As the kernel shows the words of a process.
fn joined(words: &[String]) -> Vec<u8> {
    words.iter().flat_map(|word| word.bytes().chain([0])).collect()
}

/// Whether the command of this `sudo` runs: below it or in its place. A wrong password lets nothing run; helpers and what
/// looks at the password have other names.
pub(super) fn has_begun(process: &Process, sudo: Identity) -> bool {
    let words = literal_words(&process.command).unwrap_or_default();
    let Some(name) = words.get(2).and_then(|program| program.rsplit('/').next()) else { return false };
    // The kernel keeps fifteen bytes of a name.
    let name = &name[..name.floor_char_boundary(15)];
    if name.is_empty() || name.starts_with("sudo") {
        return false;
    }
    let all = procfs::all();
    let is_below = |stat: &procfs::Stat| {
        let mut next = stat.pid;
        for _ in 0..super::peer::GENERATIONS {
            if next == sudo.pid {
                return true;
            }
            let Some(found) = all.iter().find(|one| one.pid == next) else { return false };
            next = found.parent;
        }
        false
    };
    all.iter().any(|stat| stat.name == name && is_below(stat))
        && all.iter().any(|stat| stat.pid == sudo.pid && stat.start == sudo.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_command_of_literal_words_has_words() {
        for (line, want) in [
            ("sudo -A make install", Some(vec!["sudo", "-A", "make", "install"])),
            ("  sudo -A  sh -c 'a; b $c' \"x y\"''z ", Some(vec!["sudo", "-A", "sh", "-c", "a; b $c", "x yz"])),
            ("sudo -A a ''", Some(vec!["sudo", "-A", "a", ""])),
            // Anything else that runs in the line, or may become another word.
            ("exec ./x; sudo -A a", None),
            (". ./x && sudo -A a", None),
            ("true && sudo -A a", None),
            ("sudo -A a | cat", None),
            ("sudo -A a & ", None),
            ("sudo -A a\nsudo -A b", None),
            ("(sudo -A a)", None),
            ("sudo -A $X", None),
            ("sudo -A \"$(x)\"", None),
            ("sudo -A `x`", None),
            ("sudo -A *", None),
            ("sudo -A ~/x", None),
            ("sudo -A {a,b}", None),
            ("sudo -A a > b", None),
            ("sudo -A a\\ b", None),
            ("sudo -A 'a", None),
        ] {
            let want = want.map(|words| words.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(literal_words(line), want, "{line}");
        }
    }
}
