//! The other machine as the gate asks about it. A look there costs a round trip: what a line may name is asked for all at
//! once, and an answer counts for the judgement of one line.

use super::open::Backends;
use super::remote::{ANSWER_LIMIT, Remote, SMALL};
use super::script::{Script, pattern};
use crate::lock::lock;
use crate::policy::files::normal;
use crate::policy::shell::UNKNOWN;
use crate::policy::{About, Matches, World};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long an answer counts: a judgement is made in less, and what changed since is seen by the look before the run.
const FRESH: Duration = Duration::from_secs(2);
/// Paths that are asked for at once.
const MAX_PATHS: usize = 256;

/// Follows links as far as a path exists, without a tool that can.
const LEADS: &str = r#"h_leads() { p=$1; t=
while :; do
  if q=$(readlink -f -- "$p" 2>/dev/null) && [ -n "$q" ]; then printf '%s%s\0' "${q%/}" "$t"; return; fi
  case $p in /) printf '/%s\0' "${t#/}"; return;; esac
  t="/${p##*/}$t"; p=${p%/*}; [ -n "$p" ] || p=/
done; }
for h_p in "$@"; do h_leads "$h_p"; done"#;

/// What was looked up there, for a moment.
#[derive(Default)]
pub struct Looked {
    at: Option<Instant>,
    leads: HashMap<PathBuf, PathBuf>,
    globs: HashMap<(String, PathBuf, usize), Matches>,
    texts: HashMap<PathBuf, Option<String>>,
    about: HashMap<PathBuf, Option<About>>,
}

impl Looked {
    /// Something may have changed.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    fn current(&mut self) -> &mut Self {
        if self.at.is_none_or(|at| at.elapsed() > FRESH) {
            *self = Self { at: Some(Instant::now()), ..Self::default() };
        }
        self
    }
}

impl Remote {
    /// Asks where all of these lead, but for those that are known.
    fn look_up(&self, paths: &BTreeSet<PathBuf>) {
        let unknown: Vec<&PathBuf> = {
            let mut looked = lock(&self.looked);
            let known = looked.current();
            paths.iter().filter(|path| path.is_absolute() && !known.leads.contains_key(*path)).take(MAX_PATHS).collect()
        };
        if unknown.is_empty() {
            return;
        }
        let quick = self.facts().is_ok_and(|facts| facts.has("readlink-mz"));
        let mut found = if quick { self.leads(&unknown, true) } else { Vec::new() };
        // One path that leads in circles has no answer, and the others cannot be told apart.
        if found.len() != unknown.len() {
            found = self.leads(&unknown, false);
        }
        if found.len() == unknown.len() {
            let mut looked = lock(&self.looked);
            let known = looked.current();
            for (path, leads) in unknown.into_iter().zip(found) {
                known.leads.insert(path.clone(), leads);
            }
        }
    }

    fn leads(&self, paths: &[&PathBuf], quick: bool) -> Vec<PathBuf> {
        let words = |script: Script| paths.iter().fold(script, |script, path| script.add(" ").word(path));
        let script = if quick {
            words(Script::new("readlink -mz --"))
        } else {
            words(Script::new("set --")).add("\n").add(LEADS)
        };
        let Ok(said) = self.ask(&script, ANSWER_LIMIT, SMALL) else { return Vec::new() };
        let all = said.out.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        all.map(|path| normal(Path::new("/"), &String::from_utf8_lossy(path)).into()).collect()
    }

    /// Asks at once for all that the words of a line may name. Wrong guesses cost nothing but their place.
    pub fn look_ahead(&self, line: &str, cwd: &Path) {
        let Ok(home) = self.home() else { return };
        let separate = |c: char| c.is_whitespace() || "\"'`;|&<>()=,:{}".contains(c);
        let mut paths: BTreeSet<PathBuf> = [cwd.to_owned(), home.clone(), home.join(".hermes")].into();
        for word in line.split(separate).filter(|word| !word.is_empty() && !word.starts_with('-')) {
            let path = match word.strip_prefix("~/") {
                Some(rest) => home.join(rest),
                None if word.contains(['$', '*', '?', '\\', '\0']) => continue,
                None => cwd.join(word),
            };
            paths.insert(normal(Path::new("/"), &path.to_string_lossy()).into());
            paths.insert(path);
        }
        self.look_up(&paths);
    }

    /// Where a path leads; as it is when that cannot be told.
    pub fn resolve(&self, path: &Path) -> PathBuf {
        let absolute = if path.is_absolute() { path.to_path_buf() } else { Path::new("/").join(path) };
        self.look_up(&[absolute.clone()].into());
        let known = lock(&self.looked).current().leads.get(&absolute).cloned();
        known.unwrap_or_else(|| normal(Path::new("/"), &absolute.to_string_lossy()).into())
    }

    fn glob(&self, wanted: &str, cwd: &Path, limit: usize) -> Matches {
        let key = (wanted.to_owned(), cwd.to_owned(), limit);
        if let Some(found) = lock(&self.looked).current().globs.get(&key) {
            return found.clone();
        }
        let full = if wanted.starts_with('/') { PathBuf::from(wanted) } else { cwd.join(wanted) };
        let mut script = Script::new(&format!("h_n={}\nfor h_p in ", limit.max(64) + 1));
        script.0.extend(pattern(&full));
        let script = script.add(
            "; do { [ -e \"$h_p\" ] || [ -L \"$h_p\" ]; } && printf '%s\\0' \"$h_p\"; h_n=$((h_n - 1)); [ $h_n -gt 0 ] || break; done",
        );
        // What cannot be told may be anything.
        let Ok(said) = self.ask(&script, ANSWER_LIMIT, SMALL) else { return Matches::default() };
        let all = said.out.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        let found =
            Matches::at_most(all.map(|path| String::from_utf8_lossy(path).into_owned().into()).collect(), limit);
        lock(&self.looked).current().globs.insert(key, found.clone());
        found
    }

    fn about(&self, path: &Path) -> Option<About> {
        if let Some(known) = lock(&self.looked).current().about.get(path) {
            return *known;
        }
        let said = self.ask(&Script::new("LC_ALL=C ls -ld -- ").word(path), ANSWER_LIMIT, SMALL).ok()?;
        let found = listed(&String::from_utf8_lossy(&said.out));
        lock(&self.looked).current().about.insert(path.to_owned(), found);
        found
    }

    fn text(&self, path: &Path, limit: usize) -> Option<String> {
        if let Some(known) = lock(&self.looked).current().texts.get(path) {
            return known.clone().filter(|text| text.len() <= limit);
        }
        let script = Script::new("[ -f ").word(path).add(" ] && [ \"$(wc -c <").word(path);
        let script = script.add(&format!(")\" -le {limit} ] && cat ")).word(path);
        let said = self.ask(&script, ANSWER_LIMIT, limit.saturating_add(1024)).ok()?;
        let text = (said.code == 0).then(|| String::from_utf8(said.out).ok()).flatten();
        lock(&self.looked).current().texts.insert(path.to_owned(), text.clone());
        text
    }
}

/// What `ls -ld` says of one path: `-rw-r--r-- 2 root root 5 …`.
fn listed(said: &str) -> Option<About> {
    let mut words = said.split_whitespace();
    let mode = words.next().filter(|mode| mode.len() >= 10)?;
    let names = words.next()?.parse().ok()?;
    Some(About { folder: mode.starts_with('d'), names: if mode.starts_with('-') { names } else { 1 } })
}

/// The machine where commands run now: this one, as the given world knows it, or the one that was chosen.
pub struct Worlds {
    here: Arc<dyn World>,
    backends: Backends,
}

impl Worlds {
    /// `here` is this machine.
    pub fn new(here: Arc<dyn World>, backends: Backends) -> Self {
        Self { here, backends }
    }
}

impl World for Worlds {
    fn home(&self) -> PathBuf {
        match self.backends.current() {
            // What cannot be reached runs nothing; until that is told, nothing there has a known name.
            Some(there) => there.home().unwrap_or_else(|_| "/".into()),
            None => self.here.home(),
        }
    }

    fn hermes_home(&self) -> PathBuf {
        match self.backends.current() {
            Some(_) => self.home().join(".hermes"),
            None => self.here.hermes_home(),
        }
    }

    fn variable(&self, name: &str) -> Option<String> {
        match self.backends.current() {
            Some(_) if name == "HOME" => Some(self.home().to_string_lossy().into_owned()),
            Some(_) => Some(UNKNOWN.to_string()),
            None => self.here.variable(name),
        }
    }

    fn glob(&self, pattern: &str, cwd: &Path, limit: usize) -> Matches {
        match self.backends.current() {
            Some(there) => there.glob(pattern, cwd, limit),
            None => self.here.glob(pattern, cwd, limit),
        }
    }

    fn resolve(&self, path: &Path) -> PathBuf {
        match self.backends.current() {
            Some(there) => there.resolve(path),
            None => self.here.resolve(path),
        }
    }

    fn text(&self, path: &Path, limit: usize) -> Option<String> {
        match self.backends.current() {
            Some(there) => there.text(path, limit),
            None => self.here.text(path, limit),
        }
    }

    fn border(&self) -> Vec<PathBuf> {
        match self.backends.current() {
            // What cannot be reached runs nothing.
            Some(there) => there.known_begin().into_iter().collect(),
            None => self.here.border(),
        }
    }

    fn about(&self, path: &Path) -> Option<About> {
        match self.backends.current() {
            // Nothing runs where nobody was reached, so nothing is there to be written.
            Some(there) if !there.is_reached() => None,
            Some(there) => there.about(path),
            None => self.here.about(path),
        }
    }

    fn is_here(&self) -> bool {
        self.backends.current().is_none()
    }

    fn fresh(&self) {
        if let Some(there) = self.backends.current() {
            lock(&there.looked).forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ls_says_of_a_path() {
        for (said, want) in [
            ("-rw-r--r-- 2 root root 5 Jan  1 00:00 x", Some(About { folder: false, names: 2 })),
            ("-rw-r--r--. 1 a b 5 Jan 1 00:00 x", Some(About { folder: false, names: 1 })),
            ("drwxr-xr-x+ 7 a b 5 Jan 1 00:00 x", Some(About { folder: true, names: 1 })),
            ("lrwxrwxrwx 3 a b 5 Jan 1 00:00 x -> y", Some(About { folder: false, names: 1 })),
            ("", None),
            ("ls: no", None),
        ] {
            assert_eq!(listed(said), want, "{said}");
        }
    }
}
