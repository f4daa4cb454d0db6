//! What a path with unknown parts may be, and what lies below a folder: the classes of all files that it can reach.

use super::files::class_in;
use super::shell::UNKNOWN;
use super::table::{PathClass, Pattern, Table};

/// Bytes of a path that is compared as a pattern; a longer one has no place that matters.
const MAX_PATTERN: usize = 512;

/// One piece of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece<'a> {
    Byte(u8),
    /// Any character of a name.
    One,
    /// One of these, as between `[` and `]`.
    Set(&'a [u8]),
    /// Any text without a slash.
    Star,
    /// Any text.
    Deep,
    /// No dot comes next: patterns of the shell leave hidden files out.
    NoDot,
}

/// The pieces of a pattern. `deep`: `*` crosses folders.
fn pieces<'a>(bytes: &'a [u8], deep: bool, out: &mut Vec<Piece<'a>>) {
    let mut i = 0;
    while i < bytes.len() {
        out.push(match bytes[i] {
            b'*' if deep => Piece::Deep,
            b'*' => Piece::Star,
            b'?' => Piece::One,
            b'[' => match (i + 2..bytes.len()).find(|end| bytes[*end] == b']') {
                Some(end) => {
                    let set = Piece::Set(&bytes[i + 1..end]);
                    i = end;
                    set
                }
                None => Piece::Byte(b'['),
            },
            byte => Piece::Byte(byte),
        });
        i += 1;
    }
}

/// The pieces of a path as the shell reads it: patterns where `glob`, and what is only known later.
fn pieces_of(path: &str, glob: bool) -> Vec<Piece<'_>> {
    let mut out = Vec::with_capacity(path.len());
    for (i, name) in path.split('/').enumerate() {
        if i > 0 {
            out.push(Piece::Byte(b'/'));
        }
        if glob && name.starts_with(['*', '?', '[']) {
            out.push(Piece::NoDot);
        }
        for (j, known) in name.split(UNKNOWN).enumerate() {
            if j > 0 {
                out.push(Piece::Star);
            }
            if glob {
                pieces(known.as_bytes(), false, &mut out);
            } else {
                out.extend(known.bytes().map(Piece::Byte));
            }
        }
    }
    out
}

fn in_set(set: &[u8], byte: u8) -> bool {
    let (not, set) = match set {
        [b'!' | b'^', rest @ ..] => (true, rest),
        set => (false, set),
    };
    let mut i = 0;
    let mut hit = false;
    while i < set.len() {
        if i + 2 < set.len() && set[i + 1] == b'-' {
            hit |= (set[i]..=set[i + 2]).contains(&byte);
            i += 3;
        } else {
            hit |= set[i] == byte;
            i += 1;
        }
    }
    hit != not
}

/// Whether two single pieces can be the same character.
fn same(a: Piece<'_>, b: Piece<'_>) -> bool {
    match (a, b) {
        (Piece::Byte(a), Piece::Byte(b)) => a == b,
        (Piece::Byte(byte), Piece::Set(set)) | (Piece::Set(set), Piece::Byte(byte)) => in_set(set, byte),
        (Piece::Byte(byte), _) | (_, Piece::Byte(byte)) => byte != b'/',
        // Two sets: taken to have something in common.
        _ => true,
    }
}

/// Whether some text is matched by both. At most the product of the lengths.
fn meet(a: &[Piece<'_>], b: &[Piece<'_>]) -> bool {
    // Most differ in a byte at the start.
    let start =
        a.iter().zip(b).take_while(|(a, b)| matches!((a, b), (Piece::Byte(a), Piece::Byte(b)) if a == b)).count();
    let (a, b) = (&a[start..], &b[start..]);
    if let (Some(Piece::Byte(_)), Some(Piece::Byte(_))) = (a.first(), b.first()) {
        return false;
    }
    let width = b.len() + 1;
    let mut seen = vec![false; (a.len() + 1) * width];
    let mut open = vec![(0, 0)];
    while let Some((i, j)) = open.pop() {
        if std::mem::replace(&mut seen[i * width + j], true) {
            continue;
        }
        let (left, right) = (a.get(i).copied(), b.get(j).copied());
        match (left, right) {
            (None, None) => return true,
            (Some(Piece::NoDot), next) => {
                if next != Some(Piece::Byte(b'.')) {
                    open.push((i + 1, j));
                }
            }
            (_, Some(Piece::NoDot)) => open.push((i, j + 1)),
            _ => {
                let many = |piece: Option<Piece<'_>>| matches!(piece, Some(Piece::Star | Piece::Deep));
                let eats = |star: Option<Piece<'_>>, other: Option<Piece<'_>>| match other {
                    None | Some(Piece::Star | Piece::Deep) => false,
                    Some(other) => star == Some(Piece::Deep) || other != Piece::Byte(b'/'),
                };
                if many(left) {
                    open.push((i + 1, j));
                    if eats(left, right) {
                        open.push((i, j + 1));
                    }
                }
                if many(right) {
                    open.push((i, j + 1));
                    if eats(right, left) {
                        open.push((i + 1, j));
                    }
                }
                if let (false, false, Some(left), Some(right)) = (many(left), many(right), left, right)
                    && same(left, right)
                {
                    open.push((i + 1, j + 1));
                }
            }
        }
    }
    false
}

/// Steps of work that comparing a path as a pattern takes: with no folder to begin with it is compared with nearly all.
pub fn work(path: &str) -> usize {
    let certain = path.split(['*', '?', '[', UNKNOWN]).next().unwrap_or_default();
    if certain.matches('/').count() < 2 { 48 } else { 16 }
}

/// Where `~` and `@` are.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    pub home: &'a str,
    pub own: &'a str,
}

/// The classes of what a path with patterns or unknown parts may be. Patterns that hold at any depth are left out: which files of
/// those names there are is for the disk to say.
pub fn may_be<'t>(table: &'t Table, path: &str, glob: bool, places: Places<'_>) -> Vec<&'t PathClass> {
    if path.len() > MAX_PATTERN {
        return Vec::new();
    }
    fixed(table, path, places, |path| pieces_of(path, glob))
}

/// The classes of what may be at any depth below a folder. `hidden`: hidden files and folders as well.
pub fn below<'t>(table: &'t Table, folder: &str, glob: bool, hidden: bool, places: Places<'_>) -> Vec<&'t PathClass> {
    if folder.len() > MAX_PATTERN {
        return Vec::new();
    }
    let folder = folder.trim_end_matches('/');
    let inside = class_in(table, &format!("{folder}/\u{1}"), places.home, places.own);
    let mut found = fixed(table, folder, places, |folder| {
        let mut all = pieces_of(folder, glob);
        all.push(Piece::Byte(b'/'));
        if !hidden {
            all.push(Piece::NoDot);
        }
        all.push(Piece::Deep);
        all
    });
    // A folder that is free of the class of what it stands in.
    if inside.is_some_and(|class| class.free) {
        let within = format!("{folder}/\u{1}");
        found.retain(|class| !holds(table, class, &within, places));
    }
    // The folder itself may be of a class with all that is in it, after one that takes out a part of it.
    if let Some(class) = inside.filter(|class| !found.iter().any(|c| c.name == class.name)) {
        found.push(class);
    }
    found
}

/// Whether a path is below a pattern of a class, exceptions aside.
fn holds(table: &Table, class: &PathClass, path: &str, places: Places<'_>) -> bool {
    let at = table.paths.classes.iter().position(|other| other.name == class.name);
    at.and_then(|at| table.patterns.each.get(at))
        .is_some_and(|all| all.paths.iter().any(|pattern| pattern.covers(path, places.home, places.own)))
}

/// Whether one of two texts begins with the other.
fn agree(a: &str, b: &str) -> bool {
    let len = a.len().min(b.len());
    a.as_bytes()[..len] == b.as_bytes()[..len]
}

fn fixed<'t>(
    table: &'t Table,
    path: &str,
    places: Places<'_>,
    read: impl Fn(&str) -> Vec<Piece<'_>>,
) -> Vec<&'t PathClass> {
    let folds = table.ignores_case(path) || table.ignores_case(places.home);
    let lower = |text: &str| if folds { text.to_lowercase() } else { text.to_owned() };
    let (path, home, own) = (lower(path), lower(places.home), lower(places.own));
    let patterns = if folds { &table.folded } else { &table.patterns };
    let wanted = read(&path);
    let start: usize = wanted.iter().take_while(|piece| matches!(piece, Piece::Byte(_))).count();
    // What is certain is a beginning of the text itself.
    let certain = path.get(..start.min(path.len())).unwrap_or("");
    let meets = |pattern: &Pattern| {
        let base = pattern.base(&home, &own);
        if pattern.glob.starts_with("*/") || !agree(base, certain) {
            return false;
        }
        if certain.get(base.len()..).is_some_and(|rest| !agree(pattern.start(), rest)) {
            return false;
        }
        // What agrees byte by byte is not compared again.
        let same = certain.len().min(base.len() + pattern.prefix);
        let mut all = Vec::with_capacity(base.len() + pattern.glob.len());
        all.extend(base.bytes().skip(same).map(Piece::Byte));
        pieces(&pattern.glob.as_bytes()[same.saturating_sub(base.len())..], pattern.deep, &mut all);
        meet(&wanted[same..], &all)
    };
    patterns
        .each
        .iter()
        .zip(&table.paths.classes)
        .filter(|(class, _)| class.paths.iter().any(meets))
        .map(|(_, class)| class)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::table::table;
    use super::*;

    fn meets(path: &str, pattern: &str) -> bool {
        let mut all = Vec::new();
        pieces(pattern.as_bytes(), pattern.ends_with("/**"), &mut all);
        meet(&pieces_of(path, true), &all)
    }

    #[test]
    fn patterns_meet() {
        for (path, pattern, want) in [
            ("/h/.ssh/*", "/h/.ssh/id_*", true),
            ("/h/.herme?/config.yaml", "/h/.hermes/**", true),
            ("/h/*", "/h/.bashrc", false),
            ("/h/.*", "/h/.bashrc", true),
            ("/h/.b*c", "/h/.bashrc", true),
            ("/h/.[c-z]ashrc", "/h/.bashrc", false),
            ("/h/.[!b]ashrc", "/h/.bashrc", false),
            ("/h/*/.bashrc", "/h/.bashrc", false),
            ("/*/*/.bashrc", "/home/alice/.bashrc", true),
            ("/home/\0/.bashrc", "/home/alice/.bashrc", true),
            ("/home/a\0", "/home/alice/.bashrc", false),
            ("/dev/\0", "/dev/sd[a-z]*", true),
            ("/dev/n\0", "/dev/sd[a-z]*", false),
            ("", "", true),
        ] {
            assert_eq!(meets(path, pattern), want, "{path} {pattern}");
        }
    }

    #[test]
    fn folders_reach_what_is_below() {
        let table = table().unwrap();
        let places = Places { home: "/home/alice", own: "/home/alice/.hermes" };
        let names = |folder: &str, hidden| -> Vec<&str> {
            below(table, folder, false, hidden, places).iter().map(|class| class.name.as_str()).collect()
        };
        assert!(names("/home/alice", true).contains(&"policy"));
        assert!(!names("/home/alice", false).contains(&"policy"));
        assert!(names("/", true).contains(&"operating system"));
        assert!(names("/home/alice/.hermes", true).contains(&"policy"));
        assert!(names("/home/alice/.hermes/not-known", true).contains(&"own home"));
        assert!(names("/home/alice/.ssh", true).contains(&"keys"));
        assert_eq!(names("/home/alice/project", true), [""; 0]);
        assert_eq!(names("/home/alice/project/vendor", true), [""; 0]);
    }
}
