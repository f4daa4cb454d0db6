//! The models that are on this computer: fetched ones and a person's own.

use super::LocalError;
use super::gguf::{Header, HeaderError};
use crate::fs::{remove, write_atomic};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Ends of the names of files that are being fetched.
pub(super) const PART: &str = "part";

/// Ends of the names of files that say where another one comes from.
pub(super) const FROM: &str = "from";

/// The folder of the models, and what is in it.
#[derive(Clone, Debug)]
pub struct Shelf {
    home: PathBuf,
    dir: PathBuf,
}

/// A model that is here.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    pub name: String,
    pub file: PathBuf,
    pub bytes: u64,
    /// A person's own file, which stays when the model is removed.
    pub own: bool,
}

/// What is kept of models that are not in the table: `models/own.json`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Own {
    /// Names to files.
    #[serde(default)]
    files: BTreeMap<String, PathBuf>,
}

impl Shelf {
    /// The shelf of a home; `dir` is the setting, empty where there is none.
    pub fn new(home: &Path, dir: &str) -> Self {
        let dir = if dir.is_empty() { home.join("models") } else { crate::config::paths::expand_home(dir) };
        Self { home: home.to_path_buf(), dir }
    }

    /// Where models lie.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The file of a model of this name, there or not.
    pub fn place(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.gguf"))
    }

    /// All that are here, by name. Blocks.
    pub fn list(&self) -> Vec<Kept> {
        let entries = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let mut found: Vec<Kept> = entries
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?.strip_suffix(".gguf")?.to_owned();
                self.kept(&name, entry.path(), false)
            })
            .collect();
        let own = self.own().unwrap_or_default().files.into_iter();
        found.extend(own.filter_map(|(name, file)| self.kept(&name, file, true)));
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found.dedup_by(|a, b| a.name == b.name);
        found
    }

    /// The model of this name. Blocks.
    pub fn find(&self, name: &str) -> Option<Kept> {
        if !is_name(name) {
            return None;
        }
        self.kept(name, self.place(name), false)
            .or_else(|| self.own().ok()?.files.get(name).and_then(|file| self.kept(name, file.clone(), true)))
    }

    fn kept(&self, name: &str, file: PathBuf, own: bool) -> Option<Kept> {
        let about = std::fs::metadata(&file).ok().filter(std::fs::Metadata::is_file)?;
        Some(Kept { name: name.to_owned(), file, bytes: about.len(), own })
    }

    /// Downloads that are not done: names, and the bytes that are here. Blocks.
    pub fn parts(&self) -> Vec<(String, u64)> {
        let entries = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let part = |entry: std::fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            let name = name.strip_suffix(PART)?.strip_suffix(".gguf.")?.to_owned();
            Some((name, entry.metadata().ok()?.len())).filter(|(_, bytes)| *bytes > 0)
        };
        entries.filter_map(part).collect()
    }

    /// Takes a person's own file in under a name: the file stays where it is. Blocks.
    ///
    /// # Errors
    /// It is no model, or the list can't be written.
    pub fn adopt(&self, file: &Path) -> Result<Kept, LocalError> {
        let file = std::fs::canonicalize(file).map_err(|error| LocalError::File(file.to_path_buf(), error.into()))?;
        let header = Header::of(&file).map_err(|error| LocalError::File(file.clone(), error))?;
        if !header.template {
            tracing::info!("{} has no template for conversations", file.display());
        }
        let name = name_of(&file.file_name().unwrap_or_default().to_string_lossy());
        let mut own = self.own()?;
        let is_taken = self.find(&name).is_some_and(|kept| kept.file != file);
        if !is_name(&name) || is_taken {
            return Err(LocalError::Taken(name));
        }
        own.files.insert(name.clone(), file.clone());
        self.write(&own)?;
        self.kept(&name, file, true).ok_or(LocalError::Unknown(name))
    }

    /// Removes a model, or what there is of a download; a person's own file stays. `false`: there is none. Blocks.
    ///
    /// # Errors
    /// The system refuses.
    pub fn remove(&self, name: &str) -> Result<bool, LocalError> {
        if !is_name(name) {
            return Ok(false);
        }
        let mut own = self.own()?;
        if own.files.remove(name).is_some() {
            self.write(&own)?;
            return Ok(true);
        }
        let whole = self.place(name);
        let mut gone = false;
        let beside = |end: &str| whole.with_extension(format!("gguf.{end}"));
        for file in [beside(FROM), beside(PART), whole.clone()] {
            // A folder of the person's choice is theirs: only what we name so is deleted in it.
            gone |= remove::file(remove::File::Model, self.dir.parent().unwrap_or(&self.home), &file)?;
        }
        Ok(gone)
    }

    fn own_file(&self) -> PathBuf {
        self.home.join("models").join("own.json")
    }

    fn own(&self) -> Result<Own, LocalError> {
        let file = self.own_file();
        match std::fs::read_to_string(&file) {
            Ok(text) => serde_json::from_str(&text)
                .map_err(|error| LocalError::File(file, HeaderError::Damaged(format!("{error}; repair or delete it")))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Own::default()),
            Err(error) => Err(LocalError::File(file, error.into())),
        }
    }

    fn write(&self, own: &Own) -> Result<(), LocalError> {
        let text = serde_json::to_string_pretty(own).unwrap_or_default();
        write_atomic(&self.own_file(), &text).map_err(LocalError::Write)
    }
}

/// Whether this can be the name of a model: it becomes part of the names of files.
pub fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-');
    !name.is_empty() && name.len() <= 80 && !name.starts_with('.') && name.chars().all(plain)
}

/// A name for a file: what people type.
pub fn name_of(file: &str) -> String {
    let stem = file.rsplit('/').next().unwrap_or(file);
    let stem = stem.strip_suffix(".gguf").unwrap_or(stem).to_ascii_lowercase();
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-') { c } else { '-' };
    let name: String = stem.chars().map(plain).take(80).collect();
    name.trim_matches(['.', '-']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::gguf::tests::{Entry, file};
    use super::*;

    #[test]
    fn names_are_safe_for_files_and_short_to_type() {
        for (file, name) in [
            ("Qwen3-4B-Q4_K_M.gguf", "qwen3-4b-q4-k-m"),
            ("sub/Model v2.gguf", "model-v2"),
            ("../../etc/passwd", "passwd"),
            ("...gguf", ""),
        ] {
            assert_eq!(name_of(file), name, "{file}");
        }
    }

    #[test]
    fn a_persons_own_file_is_listed_and_stays_when_it_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let shelf = Shelf::new(&dir.path().join("home"), "");
        let mine = dir.path().join("Mine.gguf");
        std::fs::write(&mine, b"no model").unwrap();
        assert!(shelf.adopt(&mine).unwrap_err().to_string().contains("not a model"));
        std::fs::write(&mine, file(&[("general.architecture", Entry::Text("llama"))])).unwrap();
        let kept = shelf.adopt(&mine).unwrap();
        assert_eq!((kept.name.as_str(), kept.own), ("mine", true));
        assert_eq!(shelf.list(), [kept]);
        assert!(shelf.remove("mine").unwrap() && !shelf.remove("mine").unwrap());
        assert!(mine.exists() && shelf.list().is_empty());
    }

    #[test]
    fn what_was_fetched_goes_with_its_part() {
        let dir = tempfile::tempdir().unwrap();
        let shelf = Shelf::new(dir.path(), "");
        std::fs::create_dir_all(shelf.dir()).unwrap();
        std::fs::write(shelf.place("a"), "x").unwrap();
        std::fs::write(shelf.dir().join("b.gguf.part"), "xy").unwrap();
        assert_eq!(shelf.list().len(), 1);
        assert_eq!(shelf.parts(), [("b".to_owned(), 2)]);
        assert!(shelf.remove("a").unwrap() && shelf.remove("b").unwrap());
        assert!(shelf.list().is_empty() && shelf.parts().is_empty());
    }

    #[test]
    fn a_damaged_list_is_not_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let shelf = Shelf::new(dir.path(), "");
        std::fs::create_dir_all(shelf.dir()).unwrap();
        std::fs::write(shelf.dir().join("own.json"), "{").unwrap();
        let error = shelf.remove("a").unwrap_err().to_string();
        assert!(error.contains("own.json") && error.contains("repair or delete"), "{error}");
        assert_eq!(std::fs::read_to_string(shelf.dir().join("own.json")).unwrap(), "{");
    }
}
