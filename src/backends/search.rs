//! Searches there with that machine's own tools: ripgrep where it is, else find and grep.

use super::remote::Remote;
use super::script::Script;
use crate::exec::OutputLimit;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of what a search prints; what comes after is left out.
const OUTPUT: usize = 16 * 1024 * 1024;

/// What is wanted of each file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedMode {
    /// Lines, with so many around each.
    Lines(usize),
    /// Files that have one.
    Files,
    /// How many each has.
    Count,
}

/// How far a search goes beyond what a project shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Neither hidden nor ignored files.
    #[default]
    Usual,
    /// Hidden files too: the filter names one.
    Hidden,
    /// Ignored files too: a person was asked about the very name and said yes.
    All,
}

impl Reach {
    /// What ripgrep is told. What git keeps is nobody's file.
    fn of_rg(self) -> &'static str {
        match self {
            Self::Usual => "",
            Self::Hidden => " --hidden --glob '!.git'",
            Self::All => " --hidden --no-ignore --glob '!.git'",
        }
    }

    /// What grep is told. It reads no ignore rules: folders that nearly all of them name are left out instead.
    fn of_grep(self) -> &'static str {
        match self {
            Self::Usual => " --exclude='.?*' --exclude-dir='.?*' --exclude-dir=node_modules",
            Self::Hidden => {
                " --exclude-dir=.git --exclude-dir=.hg --exclude-dir=.svn --exclude-dir=.cache --exclude-dir=.venv --exclude-dir=node_modules"
            }
            Self::All => " --exclude-dir=.git",
        }
    }

    /// Names that find leaves out, as a word of a script.
    fn of_find(self) -> &'static str {
        match self {
            Self::Usual => "'.?*'",
            Self::Hidden | Self::All => ".git",
        }
    }
}

/// A search for lines.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    /// A regular expression.
    pub pattern: &'a str,
    pub reach: Reach,
    /// A match may go over line breaks; only ripgrep can.
    pub across: bool,
    pub mode: WantedMode,
}

/// Lines of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hit {
    pub path: PathBuf,
    pub matches: u64,
    /// Number, text, and whether it matches or stands around.
    pub lines: Vec<(u64, String, bool)>,
}

impl Remote {
    /// Files below a folder within this reach, newest first where the tools there can tell; and whether these are all.
    ///
    /// # Errors
    /// When nothing can be searched there.
    pub fn files_below(&self, root: &Path, reach: Reach, time: Duration) -> io::Result<(Vec<PathBuf>, bool)> {
        let rg = self.facts().is_ok_and(|facts| facts.has("rg"));
        let script = if rg {
            let flags = "--null --no-messages --no-config --sortr modified";
            Script::new(&format!("rg --files {flags}{} -- ", reach.of_rg())).word(root)
        } else {
            // A find without times lists them as they come.
            let prune = format!("-name {} -prune -o -type f", reach.of_find());
            Script::new("find ")
                .word(root)
                .add(&format!(
                    " -mindepth 1 {prune} -printf '%T@ %p\\0' 2>/dev/null | sort -zrn | cut -zd' ' -f2- || find "
                ))
                .word(root)
                .add(&format!(" {prune} -print0 2>/dev/null"))
        };
        let (code, out, words) = self.apart(&script, &[], OutputLimit::First(OUTPUT), time)?;
        if out.is_empty() && !(code == 0 || code == 1) {
            return Err(io::Error::other(words));
        }
        let whole = out.len() < OUTPUT;
        let all = out.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok((all.map(|path| PathBuf::from(String::from_utf8_lossy(path).into_owned())).collect(), whole))
    }

    /// Lines below a folder, or in a file, that match, by file; and whether these are all.
    ///
    /// # Errors
    /// When nothing can be searched there, or the pattern is not understood there.
    pub fn grep(&self, root: &Path, wanted: &Wanted<'_>, time: Duration) -> io::Result<(Vec<Hit>, bool)> {
        let rg = self.facts().is_ok_and(|facts| facts.has("rg"));
        if wanted.across && !rg {
            return Err(io::Error::other("multi-line matches need ripgrep (rg) there"));
        }
        let mode = match wanted.mode {
            WantedMode::Lines(0) => "-n".to_owned(),
            WantedMode::Lines(around) => format!("-n -C {around}"),
            WantedMode::Files => "-l".to_owned(),
            WantedMode::Count => "-c".to_owned(),
        };
        let script = if rg {
            let across = if wanted.across { " -U" } else { "" };
            let flags = "--null --no-heading --no-messages --no-config --color never -H --sort path";
            let script = Script::new(&format!("rg {flags}{}{across} {mode} -e ", wanted.reach.of_rg()));
            script.word(wanted.pattern).add(" -- ").word(root)
        } else {
            // From inside: grep would leave out a folder that is named as well, if it is hidden.
            Script::new("if [ -d ")
                .word(root)
                .add(" ]; then ( cd -- ")
                .word(root)
                .add(&format!(" || exit 2; grep -rsIHZE{} {mode} -e ", wanted.reach.of_grep()))
                .word(wanted.pattern)
                .add(&format!(" . ); else grep -sIHZE {mode} -e "))
                .word(wanted.pattern)
                .add(" -- ")
                .word(root)
                .add("; fi")
        };
        let (code, out, words) = self.apart(&script, &[], OutputLimit::First(OUTPUT), time)?;
        // 1: nothing found; more: with or without something.
        if code > 1 && out.is_empty() {
            return Err(io::Error::other(if words.is_empty() { "the search failed there".to_owned() } else { words }));
        }
        let mut found = hits(&out, wanted.mode);
        for hit in &mut found {
            hit.path = root.join(hit.path.strip_prefix(".").unwrap_or(&hit.path));
        }
        // As a search of this machine: by bytes.
        found.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
        Ok((found, out.len() < OUTPUT))
    }
}

/// `PATH\0NUMBER:TEXT` for matches, `PATH\0NUMBER-TEXT` for lines around them; `PATH\0` for files, `PATH\0COUNT` for counts.
fn hits(out: &[u8], mode: WantedMode) -> Vec<Hit> {
    let path = |bytes: &[u8]| PathBuf::from(String::from_utf8_lossy(bytes).into_owned());
    if mode == WantedMode::Files {
        let files = out.split(|byte| *byte == 0).map(<[u8]>::trim_ascii_start).filter(|name| !name.is_empty());
        return files.map(|name| Hit { path: path(name), matches: 1, lines: Vec::new() }).collect();
    }
    let mut all: Vec<Hit> = Vec::new();
    for line in out.split(|byte| *byte == b'\n') {
        let Some(at) = line.iter().position(|byte| *byte == 0) else { continue };
        let (name, rest) = (path(&line[..at]), String::from_utf8_lossy(&line[at + 1..]).into_owned());
        if mode == WantedMode::Count {
            if let Some(matches) = rest.trim().parse().ok().filter(|count| *count > 0) {
                all.push(Hit { path: name, matches, lines: Vec::new() });
            }
            continue;
        }
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (Ok(number), Some(sign)) = (rest[..digits].parse(), rest[digits..].chars().next()) else { continue };
        let text = rest[digits + sign.len_utf8()..].trim_end().to_owned();
        if all.last().is_none_or(|last| last.path != name) {
            all.push(Hit { path: name, ..Hit::default() });
        }
        if let Some(last) = all.last_mut() {
            last.matches += u64::from(sign == ':');
            last.lines.push((number, text, sign == ':'));
        }
    }
    all.retain(|hit| hit.matches > 0);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_tools_print_is_read() {
        let out = b"/a b/x\x003:fn main() {\n/a b/x\x004-  let a: i32;\n--\n/c\x001:one:two\n";
        let found = hits(out, WantedMode::Lines(1));
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].path.to_str(), found[0].matches), (Some("/a b/x"), 1));
        let want = [(3, "fn main() {".to_owned(), true), (4, "  let a: i32;".to_owned(), false)];
        assert_eq!(found[0].lines, want);
        assert_eq!(found[1].lines, [(1, "one:two".to_owned(), true)]);
        let counts = hits(b"/a\x000\n/b\x007\n", WantedMode::Count);
        assert_eq!((counts.len(), counts[0].matches), (1, 7));
        assert_eq!(hits(b"/a\x00/b\x00", WantedMode::Files).len(), 2);
    }
}
