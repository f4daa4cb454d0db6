//! New plugins: a folder with a working example.

use super::manifest::{FILE, is_name};
use crate::fs::{ensure_dir, write_atomic};
use std::path::{Path, PathBuf};

/// Languages of the example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// `handler.py` with `register(ctx)`.
    #[default]
    Python,
    /// The protocol itself, in sh: a start for any language.
    Sh,
}

/// Writes the example into `<parent>/<name>`, which must not be there.
///
/// # Errors
/// The name cannot be one, the folder is there, or a file cannot be written.
pub fn create(parent: &Path, name: &str, language: Language) -> Result<PathBuf, String> {
    if !is_name(name) {
        return Err(format!("{name:?} is not a valid plugin name: use 1 to 48 of a-z A-Z 0-9 - _"));
    }
    let dir = parent.join(name);
    if dir.exists() {
        return Err(format!("{} already exists; choose another name or remove it", dir.display()));
    }
    ensure_dir(&dir).map_err(|error| error.to_string())?;
    let manifest = format!(
        "name: {name}\nversion: 0.1.0\ndescription: What {name} adds, in one line\nauthor: \"\"\n# requires_env: [{}_API_KEY]   # variables that it needs and may see\n",
        name.to_ascii_uppercase().replace('-', "_")
    );
    let python = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/plugins/create/handler.py"));
    let sh = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/plugins/create/plugin.sh"));
    let (file, text) = match language {
        Language::Python => ("handler.py", python),
        Language::Sh => ("run.sh", sh),
    };
    let write = |file: &str, text: &str| write_atomic(&dir.join(file), text).map_err(|error| error.to_string());
    write(FILE, &manifest)?;
    write(file, &text.replace("NAME", name))?;
    Ok(dir)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::manifest;

    #[test]
    fn what_is_created_can_be_started() {
        let root = tempfile::tempdir().unwrap();
        for (name, language) in [("py-one", Language::Python), ("sh_one", Language::Sh)] {
            let dir = create(root.path(), name, language).unwrap();
            let read = manifest::read(&dir).unwrap();
            assert_eq!(read.name, name);
            assert!(manifest::start(&dir, &read).is_ok());
            assert!(create(root.path(), name, language).unwrap_err().contains("already exists"));
        }
        assert!(create(root.path(), "../x", Language::Sh).is_err());
    }
}
