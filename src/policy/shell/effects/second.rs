//! Second names of files: what is written under one of them is written under all.

use crate::policy::border::has_other_names;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::Known;
use crate::policy::shell::walk::resolve::Field;
use crate::policy::table::Role;
use std::path::Path;

/// Sources of one command that are judged one by one.
const MAX_SOURCES: usize = 64;
/// The class of a write that reaches a file under other names, too.
const SEVERAL: &str = "write to a file with several names";

impl Walker<'_> {
    /// A hard link is a way to write to what it is made of: it is judged as a write of that.
    pub(in crate::policy::shell) fn second_names(&mut self, known: &Known<'_>) {
        let symbolic = known.has(&["-s", "--symbolic", "--symbolic-link"]);
        let mut fields: Vec<Field> = known.operands().cloned().collect();
        let tree = known.has(&["-r", "-R", "-a", "--recursive", "--archive"]);
        match known.name.as_str() {
            "cp" | "gcp" if known.has(&["-l", "--link"]) && !symbolic => {
                if known.value(&["-t", "--target-directory"]).is_none() {
                    fields.pop();
                }
                self.linked(&fields, tree, known);
            }
            "ln" | "gln" | "link" if !symbolic => {
                // `ln TARGET` makes a name here.
                if fields.len() > 1 && known.value(&["-t", "--target-directory"]).is_none() {
                    fields.pop();
                }
                self.linked(&fields, false, known);
            }
            "pax" if known.has(&["-l"]) && known.has(&["-w"]) => {
                fields.pop();
                // Without operands the names are read from its input.
                if fields.is_empty() { self.find(SEVERAL, known.span()) } else { self.linked(&fields, true, known) }
            }
            "cpio" if known.has(&["-l", "--link"]) => self.find(SEVERAL, known.span()),
            "rsync" => {
                let folders = known.args.flags.iter().filter(|flag| flag.name == "--link-dest");
                let folders: Vec<Field> = folders
                    .filter_map(|flag| flag.value.as_ref())
                    .map(|(text, _)| Field::known(text.clone(), known.span()))
                    .collect();
                self.linked(&folders, true, known);
            }
            _ => {}
        }
    }

    fn linked(&mut self, sources: &[Field], tree: bool, known: &Known<'_>) {
        if sources.len() > MAX_SOURCES {
            self.limit(&known.span());
        }
        for source in sources.iter().take(MAX_SOURCES) {
            self.touch(Role::Write, source);
            if tree {
                self.fills(source);
            }
        }
    }

    /// Asks about a write to a file that has other names, which may be anywhere.
    pub(super) fn writes_other_names(&mut self, field: &Field) {
        // A device has no bytes to share; on another machine each look is a round trip.
        let device = field.text.starts_with("/dev/") && !field.text.starts_with("/dev/shm/");
        if device || self.elsewhere.is_some() || !field.is_known() || !self.spend(2, &field.span) {
            return;
        }
        let mut paths: Vec<_> = self.absolute(&field.text).into_iter().map(std::path::PathBuf::from).collect();
        if field.glob {
            paths = paths
                .iter()
                .flat_map(|path| self.world.glob(&path.to_string_lossy(), Path::new("/"), 64).names)
                .collect();
        }
        for path in paths {
            if self.spend(1, &field.span) && has_other_names(&self.world.resolve(&path), &self.border, self.world) {
                return self.find_path(SEVERAL, field);
            }
        }
    }
}
