//! What is installed as root: a build, a script or a package that changes the system.

use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::program;
use crate::policy::shell::walk::resolve::Field;

/// Programs that run others as root.
const ROOT: &[&str] = &["sudo", "doas", "pkexec", "su", "run0", "runuser"];

/// Whether a word says that something is installed, or is a file that does so.
fn installs(word: &str) -> bool {
    if matches!(word, "install" | "i" | "reinstall" | "localinstall" | "checkinstall" | "--install") {
        return true;
    }
    let name = word.rsplit('/').next().unwrap_or(word).to_lowercase();
    let script = word.contains('/') || [".sh", ".py", ".pl", ".rb"].iter().any(|end| name.ends_with(end));
    script && (name.contains("install") || name.starts_with("setup") && name != "setup.py")
        || word.contains('/') && [".run", ".bin", ".deb", ".rpm", ".pkg"].iter().any(|end| name.ends_with(end))
}

impl Walker<'_> {
    /// A command that runs as root and installs.
    pub(in crate::policy::shell) fn installs_as_root(&mut self, argv: &[Field], me: usize) {
        let mut at = self.invocations.get(me).and_then(|invocation| invocation.within);
        let mut root = false;
        while let Some(outer) = at.and_then(|(by, _)| self.invocations.get(by)) {
            root |= outer.words.first().is_some_and(|word| ROOT.contains(&program(word).as_str()));
            at = outer.within;
        }
        // The program itself, its script and its subcommand.
        let words = argv.iter().filter(|field| !field.text.starts_with('-') || field.text == "--install").take(4);
        let hit = words.into_iter().find(|field| installs(&field.text));
        if let Some(field) = hit.filter(|_| root && !argv.iter().any(|field| field.text == "--help")) {
            self.find("installs as root", argv[0].span.start..field.span.end.max(argv[0].span.end));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_install() {
        for word in ["install", "./install.sh", "install.sh", "scripts/setup.sh", "./x.run", "./a.deb", "checkinstall"]
        {
            assert!(installs(word), "{word}");
        }
        for word in ["installed", "update", "src/main.py", "x", "setup", "test_install"] {
            assert!(!installs(word), "{word}");
        }
    }
}
