//! What `--version` says: of which commit this program is, and how it was built.

use std::fmt;

/// How the program was built; `main` fills it in, so that a new commit compiles nothing but that.
#[derive(Clone, Copy, Debug)]
pub struct Build {
    /// The commit, none where the sources did not come with one.
    pub commit: Option<&'static str>,
    /// The profile of cargo: `debug`, `release`, `dist`.
    pub profile: &'static str,
    /// The target triple.
    pub target: &'static str,
}

/// Figures of a commit that are shown: enough for a repository of this size for ever.
const SHOWN: usize = 12;

impl fmt::Display for Build {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} (", env!("CARGO_PKG_VERSION"))?;
        match self.commit {
            Some(commit) => write!(out, "commit {}", commit.get(..SHOWN).unwrap_or(commit))?,
            None => write!(out, "commit unknown, built from sources without git")?,
        }
        write!(out, ", {} build for {})", self.profile, self.target)
    }
}

/// The first of these that names a commit: what the builder said, what git noted last, what `git archive` wrote.
pub const fn commit(said: Option<&'static str>, reflog: &'static [u8], archive: &'static [u8]) -> Option<&'static str> {
    match said {
        Some(commit) if !commit.is_empty() => Some(commit),
        _ => match hash(noted(reflog)) {
            Some(commit) => Some(commit),
            None => hash(archive),
        },
    }
}

/// The new commit in the last line of a reflog: `old new name <mail> time zone<TAB>what`.
const fn noted(reflog: &[u8]) -> &[u8] {
    let mut start = reflog.len().saturating_sub(1);
    while start > 0 && reflog[start - 1] != b'\n' {
        start -= 1;
    }
    let line = reflog.split_at(start).1;
    line.split_at(digits(line)).1.trim_ascii_start()
}

/// The hash at the start of a text, if there is one.
const fn hash(text: &[u8]) -> Option<&str> {
    let length = digits(text);
    if length != 40 && length != 64 {
        return None;
    }
    match std::str::from_utf8(text.split_at(length).0) {
        Ok(hash) => Some(hash),
        Err(_) => None,
    }
}

const fn digits(text: &[u8]) -> usize {
    let mut count = 0;
    while count < text.len() && text[count].is_ascii_hexdigit() {
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "00000000000000000000000000000000000000aa";
    const NEW: &str = "3f2a9c1d07b2e4a5968778695a4b3c2d1e0f0011";

    fn leaked(text: String) -> &'static [u8] {
        Box::leak(text.into_boxed_str()).as_bytes()
    }

    #[test]
    fn the_commit_is_what_was_said_noted_or_archived() {
        let line = |old: &str, new: &str| format!("{old} {new} A Name <a@example.org> 1764090000 +0000\tcommit: x\n");
        let reflog = leaked(line("0", OLD) + &line(OLD, NEW));
        assert_eq!(commit(None, reflog, b""), Some(NEW));
        assert_eq!(commit(Some(""), leaked(line(OLD, NEW)), b""), Some(NEW));
        assert_eq!(commit(Some("v1.2"), reflog, b""), Some("v1.2"));
        assert_eq!(commit(None, b"", leaked(format!("{OLD}\n"))), Some(OLD));
        for nothing in ["", "\n", "$Format:%H$\n", "beef dead\n", "not a log"] {
            assert_eq!(commit(None, leaked(nothing.to_owned()), leaked(nothing.to_owned())), None, "{nothing:?}");
        }
    }

    #[test]
    fn what_version_says() {
        let build = |commit| Build { commit, profile: "dist", target: "x86_64-unknown-linux-musl" }.to_string();
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            build(Some(NEW)),
            format!("{version} (commit 3f2a9c1d07b2, dist build for x86_64-unknown-linux-musl)")
        );
        assert_eq!(
            build(None),
            format!(
                "{version} (commit unknown, built from sources without git, dist build for x86_64-unknown-linux-musl)"
            )
        );
    }
}
