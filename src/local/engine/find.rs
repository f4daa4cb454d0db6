//! Which program serves models here: the one of the configuration, an installed `llama-server`, or the package that was
//! fetched.

use super::super::table::EngineRow;
use crate::config::ModelsConfig;
use crate::config::paths::expand_home;
use crate::exec::{Limits, Oneshot, OutputLimit, Remainder};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// A program that serves models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Engine {
    /// llama.cpp's own program.
    Server(PathBuf),
    /// llama.cpp's server in a Python package: the interpreter, and the folder of the package.
    Package { python: PathBuf, folder: PathBuf },
}

/// Nothing serves models here yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// This package can be fetched.
    Fetch(Arc<EngineRow>),
    /// Why not, and what to do.
    No(String),
}

/// The file in a package's folder that says that all of it is there.
pub(super) const READY: &str = "ready";

/// What to do where no package fits.
const INSTALL: &str = "install llama.cpp (`brew install llama.cpp`, or your system's package) so that `llama-server` is in PATH, or set models.engine";

/// Looks for it; `package` is the one for this computer. Blocks; asks a Python for its version.
///
/// # Errors
/// [`Missing`]: what can be done about it.
pub fn find(
    config: &ModelsConfig,
    home: &Path,
    path: &str,
    package: Option<&Arc<EngineRow>>,
) -> Result<Engine, Missing> {
    if !config.engine.is_empty() {
        let program = expand_home(&config.engine);
        return if is_program(&program) {
            Ok(Engine::Server(program))
        } else {
            Err(Missing::No(format!("models.engine is not a program: {}", program.display())))
        };
    }
    if let Some(program) = in_path(path, &["llama-server"]) {
        return Ok(Engine::Server(program));
    }
    let Some(row) = package else { return Err(Missing::No(format!("nothing serves models here: {INSTALL}"))) };
    let Some(python) = python(path, &row.python) else {
        let why =
            format!("the engine needs Python {} or newer, which is not in PATH: install it, or {INSTALL}", row.python);
        return Err(Missing::No(why));
    };
    let folder = place(home, row);
    if folder.join(READY).exists() {
        Ok(Engine::Package { python, folder })
    } else {
        Err(Missing::Fetch(Arc::clone(row)))
    }
}

/// Where a package lies once it was fetched.
pub fn place(home: &Path, row: &EngineRow) -> PathBuf {
    home.join("engines").join(format!("{}-{}", row.name, row.version))
}

/// Whether it can be run.
pub fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// The first of these programs in the folders of a `PATH`.
pub fn in_path(path: &str, names: &[&str]) -> Option<PathBuf> {
    let folders = || path.split(':').filter(|folder| folder.starts_with('/'));
    names.iter().find_map(|name| folders().map(|folder| Path::new(folder).join(name)).find(|file| is_program(file)))
}

/// A Python of this version or newer.
fn python(path: &str, oldest: &str) -> Option<PathBuf> {
    let names = ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10", "python"];
    let version = |text: &str| -> Option<(u32, u32)> {
        let mut parts = text.split('.').map(|part| part.trim().parse().ok());
        Some((parts.next()??, parts.next()??))
    };
    let oldest = version(oldest)?;
    names.iter().filter_map(|name| in_path(path, &[name])).find(|program| {
        let mut command = Command::new(program);
        command.args(["-I", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]);
        let bounds = Limits { time: Duration::from_secs(5), stdout: OutputLimit::First(64), stderr: OutputLimit::None };
        let asked = Oneshot { command, input: Vec::new(), bounds, rest: Remainder::Ends }.block(&|| false);
        asked.is_ok_and(|said| version(&String::from_utf8_lossy(&said.stdout)).is_some_and(|found| found >= oldest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn program(folder: &Path, name: &str, text: &str) -> PathBuf {
        std::fs::create_dir_all(folder).unwrap();
        let file = folder.join(name);
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        file
    }

    #[test]
    fn what_is_installed_comes_before_what_can_be_fetched() {
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("bin");
        let path = format!("relative:{}", bin.display());
        let mut config = ModelsConfig::default();
        let row = Arc::new(EngineRow {
            name: "e".into(),
            version: "1".into(),
            python: "3.10".into(),
            ..EngineRow::default()
        });
        let find = |config: &ModelsConfig| super::find(config, dir.path(), &path, Some(&row));
        assert!(matches!(find(&config), Err(Missing::No(why)) if why.contains("needs Python 3.10")));
        assert!(
            matches!(super::find(&config, dir.path(), &path, None), Err(Missing::No(why)) if why.contains("install llama.cpp"))
        );
        program(&bin, "python3", "#!/bin/sh\necho 3.9\n");
        assert!(matches!(find(&config), Err(Missing::No(_))), "that one is too old");
        let python = program(&bin, "python3", "#!/bin/sh\necho 3.11\n");
        assert_eq!(find(&config), Err(Missing::Fetch(Arc::clone(&row))));
        let folder = place(dir.path(), &row);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(READY), "").unwrap();
        assert_eq!(find(&config), Ok(Engine::Package { python, folder }));
        let server = program(&bin, "llama-server", "");
        assert_eq!(find(&config), Ok(Engine::Server(server)));
        config.engine = "/nowhere/llama-server".into();
        assert!(matches!(find(&config), Err(Missing::No(why)) if why.contains("models.engine")));
        config.engine = program(dir.path(), "mine", "").display().to_string();
        assert_eq!(find(&config), Ok(Engine::Server(dir.path().join("mine"))));
    }
}
