//! Paths in tool arguments: from what the model wrote to an absolute path, and back to what a person reads.

use crate::backends::Files;
use crate::lock::lock;
use crate::policy::files::blocked_device;
use crate::tools::similarity;
use crate::tools::spec::{ToolCtx, ToolError};
use std::path::{Component, Path, PathBuf};

/// A path of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Absolute, symlinks and `..` resolved as far as it exists.
    pub path: PathBuf,
    /// Relative to the working folder when it is inside, with `~` when in the home.
    pub shown: String,
}

/// Makes the place ready where commands run and files are: nobody who asked for a container or another machine must find
/// a command or a file of the call on this one. Blocks the first time.
///
/// # Errors
/// When it cannot be reached; says why and what to do.
pub fn ready(ctx: &ToolCtx) -> Result<(), ToolError> {
    match ctx.backends.current() {
        Some(there) => {
            let from = cwd(ctx);
            let folder = there.arrive(&ctx.task, &from, from != ctx.workspace);
            if let Some(folder) = folder.map_err(|error| ToolError::Failed(error.to_string()))? {
                *lock(&ctx.cwd) = folder;
            }
            Ok(())
        }
        None => Ok(()),
    }
}

/// Resolves an argument against the working folder and the home of the place where files are. An empty one is an error.
pub fn place(argument: &str, ctx: &ToolCtx) -> Result<Place, ToolError> {
    ready(ctx)?;
    let argument = argument.trim_end_matches(['\n', '\r']);
    if argument.trim().is_empty() {
        return Err(ToolError::Args("path is empty; name a file or folder".into()));
    }
    if argument.contains('\0') {
        return Err(ToolError::Args("path contains a NUL byte".into()));
    }
    let path = ctx.world.resolve(&literal(argument, ctx));
    Ok(Place { shown: shown(&path, &ctx.world.resolve(&cwd(ctx)), &ctx.world.home()), path })
}

/// An argument as an absolute path, with its symlinks: what it names may be a secret under either name.
pub fn literal(argument: &str, ctx: &ToolCtx) -> PathBuf {
    let argument = argument.trim_end_matches(['\n', '\r']);
    match argument.strip_prefix('~') {
        Some("") => ctx.world.home(),
        Some(rest) if rest.starts_with('/') => ctx.world.home().join(rest.trim_start_matches('/')),
        _ => cwd(ctx).join(argument),
    }
}

/// The working folder of the task.
pub fn cwd(ctx: &ToolCtx) -> PathBuf {
    lock(&ctx.cwd).clone()
}

/// How a person reads an absolute path.
pub fn shown(path: &Path, cwd: &Path, home: &Path) -> String {
    match (path.strip_prefix(cwd), path.strip_prefix(home)) {
        (Ok(inside), _) if inside.as_os_str().is_empty() => ".".to_owned(),
        (Ok(inside), _) => inside.display().to_string(),
        (_, Ok(inside)) if home != Path::new("/") && !inside.as_os_str().is_empty() => {
            format!("~/{}", inside.display())
        }
        _ => path.display().to_string(),
    }
}

/// Without `.` and `..`, by words alone.
pub fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

/// Reading it never ends, waits for a person, or tells secrets of a process. Follows up to 20 symlinks.
pub fn is_blocked_device(path: &Path) -> bool {
    let mut path = lexical(path);
    for _ in 0..20 {
        if path.to_str().is_some_and(blocked_device) {
            return true;
        }
        let Ok(target) = std::fs::read_link(&path) else { return false };
        path = lexical(&path.parent().unwrap_or(Path::new("/")).join(target));
    }
    true
}

/// At most five names in the folder of a missing file that may have been meant, best first.
pub fn similar_files(missing: &Path, disk: &dyn Files) -> Vec<String> {
    let (Some(folder), Some(name)) = (missing.parent(), missing.file_name().and_then(|n| n.to_str())) else {
        return Vec::new();
    };
    let Ok(names) = disk.names(folder, 5_000) else { return Vec::new() };
    let wanted = name.to_lowercase();
    let mut scored: Vec<(u32, String)> = names
        .into_iter()
        .map(|found| (likeness(&wanted, &found.to_lowercase()), found))
        .filter(|(score, _)| *score > 0)
        .collect();
    scored.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    scored.into_iter().take(5).map(|(_, found)| folder.join(found).display().to_string()).collect()
}

fn likeness(wanted: &str, found: &str) -> u32 {
    let stem = |name: &str| Path::new(name).file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let (a, b) = (stem(wanted), stem(found));
    match () {
        () if wanted == found => 100,
        () if a == b => 90,
        () if found.starts_with(&a) || wanted.starts_with(&b) => 70,
        () if found.contains(&a) => 60,
        () if b.len() > 2 && wanted.contains(&b) => 40,
        () if similarity::at_least(wanted, found, 0.6) => 30,
        () => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn device_cases() {
        let cases = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/blocked-device.jsonl"));
        for row in cases.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            let path = row["path"].as_str().unwrap();
            assert_eq!(is_blocked_device(Path::new(path)), row["blocked"].as_bool().unwrap(), "{path}");
        }
    }

    #[test]
    fn devices_behind_links_and_dots() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("a");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        std::os::unix::fs::symlink("a", dir.path().join("b")).unwrap();
        std::os::unix::fs::symlink("loop", dir.path().join("loop")).unwrap();
        assert!(is_blocked_device(&dir.path().join("b")));
        assert!(is_blocked_device(&dir.path().join("loop")));
        assert!(is_blocked_device(Path::new("/tmp/../dev/./zero")));
        for device in ["/proc/self/task/1/environ", "/dev/kmsg", "/dev/ptmx", "/proc/kmsg"] {
            assert!(is_blocked_device(Path::new(device)), "{device}");
        }
        assert!(!is_blocked_device(dir.path()));
    }

    #[test]
    fn missing_files_have_neighbours() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["Main.rs", "main.go", "domain.rs", "other.txt"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let found = similar_files(&dir.path().join("main.rs"), &crate::tools::file::Disk);
        assert!(found[0].ends_with("Main.rs") && found[1].ends_with("main.go"), "{found:?}");
        assert!(!found.iter().any(|name| name.ends_with("other.txt")));
    }

    #[tokio::test]
    async fn a_place_that_is_not_there_means_no_tool_touches_this_machine() {
        use crate::backends::Backends;
        use crate::config::TerminalConfig;
        use crate::protocol::Outcome;
        use serde_json::json;
        let mut bench = crate::tools::testing::Bench::new();
        let home = tempfile::tempdir().unwrap();
        bench.write("f.txt", "one\n");
        let terminal = TerminalConfig {
            backend: "docker".into(),
            docker_program: bench.path("no-such-engine").display().to_string(),
            ..TerminalConfig::default()
        };
        bench.backends =
            Backends::new(&terminal, &crate::tools::testing::exec(), home.path(), &bench.path(""), Default::default());
        let patch = "*** Begin Patch\n*** Add File: n.txt\n+x\n*** End Patch";
        for (tool, args) in [
            ("terminal", json!({"command": "touch n.txt"})),
            ("read_file", json!({"path": "f.txt"})),
            ("write_file", json!({"path": "n.txt", "content": "x"})),
            ("patch", json!({"path": "f.txt", "old_string": "one", "new_string": "two"})),
            ("patch", json!({"mode": "patch", "patch": patch})),
            ("search_files", json!({"pattern": "one"})),
        ] {
            let output = bench.call(tool, args.clone()).await;
            assert_eq!(output.outcome, Outcome::Failed, "{tool} {args}: {}", output.content);
            let told = output.content.contains("is unavailable") && output.content.contains("is it installed");
            assert!(told, "{tool} {args}: {}", output.content);
        }
        assert_eq!((bench.files().len(), bench.read("f.txt").as_str()), (1, "one\n"));
    }
}
