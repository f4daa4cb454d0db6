//! The machine as the policy asks about it. Every look is bounded.

use crate::policy::files::normal;
use crate::policy::{About, Matches, World, glob, shell};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Folder entries that one glob looks at.
const MAX_ENTRIES: usize = 4096;
/// Links to what is not there, one after the other.
const MAX_DANGLING: usize = 8;

/// This machine. It knows no variables: what a command starts with is another environment than this program's, and the gate
/// tells it for each call.
#[derive(Clone, Debug)]
pub struct LocalWorld {
    home: PathBuf,
    hermes_home: PathBuf,
    /// Whether a variable that nobody told of may be set.
    environment: bool,
    border: Vec<PathBuf>,
}

impl LocalWorld {
    /// A world with these homes and no other variables.
    pub fn new(home: PathBuf, hermes_home: PathBuf) -> Self {
        Self { home, hermes_home, environment: false, border: Vec::new() }
    }

    /// The world of the person who runs this program, whose root home is here: it holds those of all profiles. Any variable but `HOME` may have any value.
    pub fn of_user(hermes_home: &Path) -> Self {
        let home = std::env::var_os("HOME").filter(|h| !h.is_empty()).map_or_else(|| PathBuf::from("/"), PathBuf::from);
        let mut world = Self { home, hermes_home: PathBuf::new(), environment: true, border: Vec::new() };
        // Links followed, so that its files are known by their real names as well.
        world.hermes_home = world.resolve(hermes_home);
        world
    }

    /// The world of a session that was opened in the first of these folders; the others were added by the person.
    pub fn within(self, border: Vec<PathBuf>) -> Self {
        Self { border, ..self }
    }
}

impl World for LocalWorld {
    fn home(&self) -> PathBuf {
        self.home.clone()
    }

    fn hermes_home(&self) -> PathBuf {
        self.hermes_home.clone()
    }

    fn variable(&self, name: &str) -> Option<String> {
        if name == "HOME" {
            return Some(self.home.to_string_lossy().into_owned());
        }
        self.environment.then(|| shell::UNKNOWN.to_string())
    }

    fn glob(&self, pattern: &str, cwd: &Path, limit: usize) -> Matches {
        let full = if pattern.starts_with('/') { pattern.to_owned() } else { format!("{}/{pattern}", cwd.display()) };
        let mut found = vec![PathBuf::from("/")];
        let (mut budget, mut cut) = (MAX_ENTRIES, false);
        for part in full.split('/').filter(|p| !p.is_empty()) {
            let mut next = Vec::new();
            for folder in found {
                if !glob::is_pattern(part) {
                    let path = folder.join(part);
                    if path.symlink_metadata().is_ok() {
                        next.push(path);
                    }
                    continue;
                }
                let Ok(entries) = std::fs::read_dir(&folder) else { continue };
                for entry in entries.flatten() {
                    if budget == 0 || next.len() >= limit.max(64) {
                        cut = true;
                        break;
                    }
                    budget -= 1;
                    let name = entry.file_name();
                    let name = name.to_string_lossy();
                    if (!name.starts_with('.') || part.starts_with('.')) && glob::matches(part, &name) {
                        next.push(entry.path());
                    }
                }
            }
            found = next;
        }
        let Matches { names, complete } = Matches::at_most(found, limit);
        Matches { names, complete: complete && !cut }
    }

    fn text(&self, path: &Path, limit: usize) -> Option<String> {
        let about = std::fs::metadata(path).ok()?;
        if !about.is_file() || about.len() > limit as u64 {
            return None;
        }
        std::fs::read_to_string(path).ok()
    }

    fn resolve(&self, path: &Path) -> PathBuf {
        self.resolve_through(path, 0)
    }

    fn border(&self) -> Vec<PathBuf> {
        self.border.clone()
    }

    fn about(&self, path: &Path) -> Option<About> {
        let found = path.symlink_metadata().ok()?;
        Some(About { folder: found.is_dir(), names: if found.is_file() { found.nlink() } else { 1 } })
    }
}

impl LocalWorld {
    /// A path with its links followed, after so many that led to nothing.
    fn resolve_through(&self, path: &Path, links: usize) -> PathBuf {
        let absolute = if path.is_absolute() { path.to_path_buf() } else { Path::new("/").join(path) };
        if let Ok(real) = absolute.canonicalize() {
            return PathBuf::from(normal(Path::new("/"), &real.to_string_lossy()));
        }
        // The part that exists is resolved by the system, the rest stays as it is. Looked for from the top: of a long path that
        // is not there the first missing folder ends the search.
        let parts: Vec<_> = absolute.components().collect();
        let mut there = 0;
        let mut head = PathBuf::new();
        for part in &parts {
            head.push(part);
            if head.symlink_metadata().is_err() {
                break;
            }
            there += 1;
        }
        for end in (1..=there).rev() {
            let head: PathBuf = parts[..end].iter().collect();
            // A link to what is not there yet: a write makes it there.
            if let (Ok(target), Some(parent)) = (head.read_link(), head.parent())
                && links < MAX_DANGLING
                && head.canonicalize().is_err()
            {
                let onward = parts[end..].iter().fold(parent.join(target), |path, part| path.join(part));
                return self.resolve_through(&onward, links + 1);
            }
            if let Ok(real) = head.canonicalize() {
                let joined = parts[end..].iter().fold(real, |path, part| path.join(part));
                return PathBuf::from(normal(Path::new("/"), &joined.to_string_lossy()));
            }
        }
        PathBuf::from(normal(Path::new("/"), &absolute.to_string_lossy()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::permissions::Permission;
    use crate::policy::rule::Action;
    use crate::policy::{Intent, Mode, Rules, decide};

    #[test]
    fn follows_links_and_globs() {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("/etc", cwd.join("link")).unwrap();
        let world = LocalWorld::new("/home/alice".into(), "/home/alice/.hermes".into());
        assert_eq!(world.resolve(&cwd.join("link/gone")), Path::new("/etc/gone"));
        assert_eq!(world.glob("l*k", &cwd, 8), Matches::all(vec![cwd.join("link")]));
        let judge = |line: &str| {
            let intent = Intent::Command { line: line.into(), cwd: cwd.clone(), background: false };
            decide(&intent, &Rules::default(), Mode::Ask, &world).name()
        };
        assert_eq!(judge("rm -rf link/"), "refuse");
        assert_eq!(judge("rm -rf link/*"), "refuse");
        assert_eq!(judge("rm -rf link"), "ask");
        assert_eq!(judge("echo x > link/hosts"), "ask");
    }

    #[test]
    fn a_pattern_of_more_names_than_are_looked_at_may_mean_any_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path().canonicalize().unwrap();
        std::fs::create_dir(cwd.join("few")).unwrap();
        std::fs::create_dir(cwd.join("many")).unwrap();
        std::fs::write(cwd.join("few/a"), "").unwrap();
        for number in 0..3000 {
            std::fs::write(cwd.join(format!("many/{number}.env")), "").unwrap();
        }
        let world = LocalWorld::new("/home/alice".into(), "/home/alice/.hermes".into());
        let mut rules = Rules::default();
        let on = crate::policy::permissions::subject("file.read(many/no-such.env)").unwrap();
        rules.hold([Permission::new(Action::Deny, on)]);
        let judge = |line: &str| {
            let intent = Intent::Command { line: line.into(), cwd: cwd.clone(), background: false };
            decide(&intent, &rules, Mode::Ask, &world).name()
        };
        assert_eq!(judge("cat few/*"), "allow");
        assert_eq!(judge("cat many/*.env"), "ask");
        assert_eq!(judge("cat many/2*.env"), "allow");
        assert_eq!(judge("cat many/77.env"), "allow");
        let all = world.glob("many/*.env", &cwd, 8);
        assert_eq!((all.names.len(), all.complete), (8, false));
        assert!(all.names.iter().all(|name| name.is_file()));
        assert!(world.glob("few/*", &cwd, 1).complete);
        assert!(world.glob("few/b", &cwd, 1).none());
    }

    #[test]
    fn a_rule_asks_only_where_a_pattern_may_mean_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path().canonicalize().unwrap();
        std::fs::create_dir(cwd.join("many")).unwrap();
        for number in 0..3000 {
            std::fs::write(cwd.join(format!("many/{number}")), "").unwrap();
        }
        std::os::unix::fs::symlink(cwd.join("many"), cwd.join("linked")).unwrap();
        let world = LocalWorld::new("/home/alice".into(), "/home/alice/.hermes".into());
        let judge = |rule: &str, line: &str| {
            let mut rules = Rules::default();
            rules.hold([Permission::new(Action::Deny, crate::policy::permissions::subject(rule).unwrap())]);
            let intent = Intent::Command { line: line.into(), cwd: cwd.clone(), background: false };
            decide(&intent, &rules, Mode::Ask, &world).name()
        };
        let inside = format!("file.read({}/many/x)", cwd.display());
        for (rule, line, want) in [
            ("file.read(/etc/shadow)", "grep -n x many/*", "allow"),
            ("file.read(~/.ssh/**)", "grep -n x many/*", "allow"),
            ("file.read(other/**)", "grep -n x many/*", "allow"),
            ("file.read(many/deep/x)", "grep -n x many/*", "ask"),
            ("file.read(**/x)", "grep -n x many/*", "ask"),
            ("file.read(x)", "grep -n x many/*", "ask"),
            (&inside, "grep -n x linked/*", "ask"),
            ("file.write(many/x)", "grep -n x many/*", "allow"),
        ] {
            assert_eq!(judge(rule, line), want, "{rule}: {line}");
        }
    }

    #[test]
    fn the_own_home_is_closed_wherever_it_is_and_however_it_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (home, cwd) = (root.join("home"), root.join("home/project"));
        std::fs::create_dir_all(&cwd).unwrap();
        std::fs::write(cwd.join("x"), "").unwrap();
        // below the user's home, elsewhere, and behind a link
        for (own, named) in [("home/.hermes", "home/.hermes"), ("elsewhere/h", "elsewhere/h"), ("real", "home/linked")]
        {
            let (own, named) = (root.join(own), root.join(named));
            std::fs::create_dir_all(own.join("plugins/p")).unwrap();
            if own != named {
                std::os::unix::fs::symlink(&own, &named).unwrap();
            }
            let inside = cwd.join("inside");
            std::fs::remove_file(&inside).ok();
            std::os::unix::fs::symlink(&own, &inside).unwrap();
            let world = LocalWorld { home: home.clone(), ..LocalWorld::of_user(&named) };
            let edit = |path: PathBuf, mode| {
                let edit = crate::policy::EditIntent { path, diff: String::new(), removes: false };
                crate::policy::decide_in(&Intent::Edit(vec![edit]), &cwd, &Rules::default(), mode, &world).name()
            };
            let files = "trusted.yaml trusted-things.json permissions.yaml config.yaml .env keymap.yaml SOUL.md auth.json \
                memories/MEMORY.md plugins/p/main.py plugin-data/p/x plugin-venvs/p/x hooks/h.sh history/1/x skins/a.yaml \
                cache/skills/a/SKILL.md not-known-yet.yaml";
            for file in files.split_whitespace() {
                let up = Path::new("../..").join(own.strip_prefix(&root).unwrap());
                for folder in [&own, &named, &inside, Path::new("inside"), &up] {
                    assert_eq!(edit(folder.join(file), Mode::Yolo), "ask-always", "{}", folder.join(file).display());
                }
            }
            assert_eq!(edit(own.join("skills/a/SKILL.md"), Mode::Ask), "ask");
            assert_eq!(edit(cwd.join("src/trusted.yaml"), Mode::Ask), "allow");
            let judge = |line: String| {
                let intent = Intent::Command { line, cwd: cwd.clone(), background: false };
                (decide(&intent, &Rules::default(), Mode::Yolo, &world).name(), intent)
            };
            for at in [own.display().to_string(), named.display().to_string(), "inside".into()] {
                for line in [
                    "echo x > @/trusted.yaml",
                    "cp x @/",
                    "cp x @",
                    "mv x @/keymap.yaml",
                    "install x @/SOUL.md",
                    "echo x | tee -a @/memories/MEMORY.md",
                    "sed -i s/a/b/ @/config.yaml",
                    "ln -sf $PWD/x @/plugins/p/main.py",
                    "cd @ && echo x > trusted-things.json",
                    "rm @/trusted.yaml",
                    "rm -r @/history",
                    "dd if=x of=@/keymap.yaml",
                ] {
                    let (got, intent) = judge(line.replace('@', &at));
                    assert_eq!(got, "ask-always", "{intent:?}");
                }
                for line in ["cat @/SOUL.md", "ls -la @", "grep -r x @/logs"] {
                    assert_eq!(judge(line.replace('@', &at)).0, "allow", "{line} {at}");
                }
            }
        }
    }

    #[test]
    fn links_lead_to_what_they_lead_to_from_every_folder() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let cwd = home.join("project");
        for name in [".ssh", ".hermes", "project/sub/deep", "other"] {
            std::fs::create_dir_all(home.join(name)).unwrap();
        }
        std::fs::write(home.join(".ssh/id_rsa"), "key").unwrap();
        for (link, to) in [
            ("project/key", ".ssh/id_rsa"),
            ("project/keys", ".ssh"),
            ("project/cfg", ".hermes/config.yaml"),
            ("project/root", "/"),
            ("project/sub/back", "project"),
            ("project/h", ""),
        ] {
            std::os::unix::fs::symlink(home.join(to), home.join(link)).unwrap();
        }
        std::os::unix::fs::symlink("/opt/x", cwd.join("out")).unwrap();
        let world = LocalWorld::new(home.clone(), home.join(".hermes"));
        for (line, want) in [
            ("cat key", "ask"),
            ("cp key x", "ask"),
            ("grep -r . keys", "ask"),
            ("cat keys/id_rsa", "ask"),
            ("cat h/.ss?/id*", "ask"),
            ("cat h/.s*/*", "ask"),
            ("cat sub/back/key", "ask"),
            ("cd sub/back && cat key", "ask"),
            ("cd sub || cd nowhere; cat back/key", "ask"),
            ("tar cf x keys/", "ask"),
            ("echo x > cfg", "ask-always"),
            ("sed -i s/a/b/ cfg", "ask-always"),
            ("cp x h/.hermes/", "ask-always"),
            ("unzip x -d h", "ask-always"),
            ("echo x > out", "ask"),
            ("tee out", "ask"),
            ("rm -rf root/", "refuse"),
            ("rm -rf root/*", "refuse"),
            ("rm -rf h/", "refuse"),
            ("cd h && rm -rf *", "refuse"),
            ("cd root; rm -rf *", "refuse"),
            ("rm -rf ../../../../../../../../../..", "refuse"),
            ("cat sub/x", "allow"),
            ("echo x > sub/deep/y", "allow"),
            ("grep -r x sub", "allow"),
        ] {
            let intent = Intent::Command { line: line.into(), cwd: cwd.clone(), background: false };
            let verdict = decide(&intent, &Rules::default(), Mode::Ask, &world);
            assert_eq!(verdict.name(), want, "{line}: {verdict:?}");
        }
    }

    #[test]
    fn capital_letters_are_the_same_where_the_disk_says_so() {
        let world = LocalWorld::new("/Users/alice".into(), "/Users/alice/.hermes".into());
        let linux = LocalWorld::new("/home/alice".into(), "/home/alice/.hermes".into());
        for (line, mac, other) in [
            ("cat ~/.SSH/mine", "ask", "allow"),
            ("cat /users/ALICE/.ssh/ID_RSA", "ask", "allow"),
            ("echo x > ~/.HERMES/config.yaml", "ask-always", "ask"),
            ("cp x ~/.Hermes/", "ask-always", "ask"),
            ("echo x > .Git/hooks/pre-commit", "ask", "allow"),
            ("cat .ENV", "ask", "allow"),
            ("cat README.md", "allow", "allow"),
        ] {
            for (world, want) in [(&world, mac), (&linux, other)] {
                let cwd = world.home().join("project");
                let intent = Intent::Command { line: line.into(), cwd, background: false };
                let verdict = decide(&intent, &Rules::default(), Mode::Ask, world);
                // A home elsewhere is no folder of Linux.
                if want == "allow" && line.contains("/users/") {
                    continue;
                }
                assert_eq!(verdict.name(), want, "{line} {}: {verdict:?}", world.home().display());
            }
        }
    }

    #[test]
    fn rules_cover_the_paths_that_they_name_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let cwd = home.join("project");
        for name in ["project/build/deep", "project/src", "project/build-2", "other", "project/sub/build", "Documents"]
        {
            std::fs::create_dir_all(home.join(name)).unwrap();
        }
        std::os::unix::fs::symlink(home.join("other"), cwd.join("build-link")).unwrap();
        let world = LocalWorld::new(home.clone(), home.join(".hermes"));
        for (rule, line, want) in [
            ("allow rm -rf build*", "rm -rf build", "allow"),
            ("allow rm -rf build*", "rm -rf ./build", "ask"),
            ("allow rm -rf build*", "rm -rf build/deep build-2", "allow"),
            ("allow rm -rf build*", "rm -rf build/../../other", "ask"),
            ("allow rm -rf build*", "rm -rf build/../src", "ask"),
            ("allow rm -rf build*", "rm -rf build-link/deep", "ask"),
            ("allow rm -rf build", "rm -rf build", "allow"),
            ("allow rm -rf build", "cd ~ && rm -rf build", "ask"),
            ("allow rm -rf build", "cd sub && rm -rf build", "ask"),
            ("allow rm -rf *", "rm -rf src", "allow"),
            ("allow rm -rf *", "cd sub && rm -rf build", "allow"),
            ("allow rm -rf *", "rm -rf ~/Documents", "ask"),
            ("allow rm -rf *", "rm -rf ../other", "ask"),
            ("allow rm -rf *", "rm -rf \"$X\"", "ask"),
            ("allow rm -rf ~/Documents/*", "rm -rf ~/Documents/x", "allow"),
            ("allow rm -rf ~/Documents/*", "rm -rf ~/Documents/../other", "ask"),
        ] {
            let mut rules = Rules::default();
            // Words are compared with `~` written out.
            rules.add(&rule.replace('~', &home.display().to_string())).unwrap();
            let intent = Intent::Command { line: line.into(), cwd: cwd.clone(), background: false };
            assert_eq!(decide(&intent, &rules, Mode::Ask, &world).name(), want, "{rule}: {line}");
        }
        for (line, want) in [("rm -rf build", "allow"), ("rm -rf build/../src", "ask"), ("rm -rf build-link/x", "ask")]
        {
            let mut rules = Rules::default();
            rules.hold([Permission::entry(Action::Allow, "rm -rf build*")]);
            let intent = Intent::Command { line: line.into(), cwd: cwd.clone(), background: false };
            assert_eq!(decide(&intent, &rules, Mode::Ask, &world).name(), want, "{line}");
        }
    }
}
