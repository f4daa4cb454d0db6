//! Archives: what goes into them is read with all that is in it, what comes out of them can have any name.

use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::args;
use crate::policy::shell::walk::invoke::Known;
use crate::policy::shell::walk::resolve::Field;
use crate::policy::table::Role;

impl Walker<'_> {
    /// `tar`, whose first word may be letters without a dash, and whose `-C` holds for the words after it.
    pub(in crate::policy::shell) fn tar(&mut self, known: &Known<'_>) {
        let mut argv = known.argv.to_vec();
        if let Some(letters) = argv.get_mut(1).filter(|f| !f.text.starts_with('-') && f.is_known()) {
            letters.text.insert(0, '-');
        }
        let args = args::parse(&argv, 1, &known.spec.takes, false);
        let has = |names: &[&str]| args.flags.iter().any(|flag| names.contains(&flag.name.as_str()));
        let valued = |names: &[&str]| {
            let hit = args.flags.iter().rev().find(|flag| names.contains(&flag.name.as_str()));
            let (text, at) = hit?.value.clone()?;
            Some((Field { text, ..argv[at].clone() }, at))
        };
        let folders: Vec<(usize, Field)> = args
            .flags
            .iter()
            .filter(|flag| matches!(flag.name.as_str(), "-C" | "--directory" | "--cd"))
            .filter_map(|flag| {
                flag.value.as_ref().map(|(text, at)| (*at, Field { text: text.clone(), ..argv[*at].clone() }))
            })
            .collect();
        let archive = valued(&["-f", "--file"]).map(|(field, _)| field).filter(|field| field.text != "-");
        if has(&["-x", "--extract", "--get"]) {
            if let Some(archive) = archive {
                self.touch(Role::Read, &archive);
            }
            // Names that start at the root, and links, are let through with these.
            if has(&["-P", "--absolute-names"]) {
                self.fills(&Field::known("/", known.span()));
            }
            return if folders.is_empty() {
                self.fills(&Field::known(".", known.argv[0].span.clone()))
            } else {
                folders.iter().for_each(|(_, folder)| self.fills(folder))
            };
        }
        if has(&["-t", "--list"]) {
            return;
        }
        if let Some(archive) = archive {
            self.touch(Role::Write, &archive);
        }
        for at in &args.operands {
            let folder = folders.iter().rev().find(|(place, _)| place < at).map(|(_, folder)| folder);
            let mut field = argv[*at].clone();
            if let Some(folder) = folder.filter(|_| !field.text.starts_with('/')) {
                field.text = format!("{}/{}", folder.text.trim_end_matches('/'), field.text);
            }
            self.reads_tree(&field, true);
        }
    }
}
