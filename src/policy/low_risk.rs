//! Which questions an auxiliary model may pass: those where a mistake costs a rebuild, not work.

use super::shell::{self, UNKNOWN};
use super::{Intent, Verdict, World};
use std::path::Path;

/// Folders that tools make anew.
const MADE: &[&str] = &[
    "node_modules",
    "target",
    "dist",
    "build",
    "out",
    "coverage",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".next",
    ".nuxt",
    ".turbo",
    ".parcel-cache",
    ".gradle",
    ".tox",
    ".venv",
    "venv",
];
/// Commands that may stand beside such a removal.
const BESIDE: &[&str] = &["true", ":", "echo", "printf", "ls", "pwd"];

/// Whether this question is of low risk: it removes nothing but such folders, by name, below the working folder.
pub fn low_risk(intent: &Intent, verdict: &Verdict, world: &dyn World) -> bool {
    let (Intent::Command { line, cwd, .. }, Verdict::Ask(why)) = (intent, verdict) else { return false };
    if why.is_empty() || !why.iter().all(|why| why.effect == "recursive delete") {
        return false;
    }
    let invocations = shell::judge(line, cwd, world).invocations;
    let base = world.resolve(cwd);
    !invocations.is_empty()
        && invocations.iter().all(|invocation| match invocation.plain.first().map(String::as_str) {
            Some("rm") => {
                let mut paths = invocation.words.iter().skip(1).filter(|word| !word.starts_with('-')).peekable();
                let here = Path::new(&invocation.cwd);
                paths.peek().is_some() && paths.all(|path| is_made(path, here, &base, world))
            }
            Some(name) => BESIDE.contains(&name),
            None => false,
        })
}

fn is_made(path: &str, cwd: &Path, base: &Path, world: &dyn World) -> bool {
    if path.contains([UNKNOWN, '*', '?', '[']) || path.contains("..") {
        return false;
    }
    let whole = cwd.join(path);
    let real = world.resolve(&whole);
    real.starts_with(base)
        && real != base
        && whole.file_name().and_then(|name| name.to_str()).is_some_and(|name| MADE.contains(&name))
}
