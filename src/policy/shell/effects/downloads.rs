//! Files that a command brings: downloads, copies from other machines, what is unpacked, names below a folder that another
//! option gives.

use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::Known;
use crate::policy::shell::walk::resolve::Field;
use crate::policy::table::Role;
use crate::policy::{glob, url};

/// Folders and names of one command that are put together.
const MAX_JOINED: usize = 16;

/// A name below a folder.
fn inside(folder: &Field, name: &str) -> Field {
    let text =
        if name.starts_with('/') { name.to_owned() } else { format!("{}/{name}", folder.text.trim_end_matches('/')) };
    Field { text, ..folder.clone() }
}

impl Walker<'_> {
    /// A folder and a name that two options give are one path.
    pub(in crate::policy::shell) fn joined(&mut self, known: &Known<'_>) {
        let Some(joins) = &known.spec.joins else { return };
        let values = |names: &[String]| -> Vec<Field> {
            let flags = known.args.flags.iter().filter(|flag| names.contains(&flag.name));
            let values = flags.filter_map(|flag| flag.value.as_ref()).take(MAX_JOINED);
            values.map(|(text, at)| Field { text: text.clone(), ..known.argv[*at].clone() }).collect()
        };
        let names = values(&joins.name);
        for folder in values(&joins.folder) {
            for name in &names {
                self.touch(Role::Write, &inside(&folder, &name.text));
            }
        }
    }

    /// A folder that gets files of unknown names.
    pub(in crate::policy::shell) fn filled(&mut self, known: &Known<'_>) {
        let Some(fills) = &known.spec.fills else { return };
        let args = &known.args;
        let first = known.operand(0).map_or("", |f| f.text.as_str());
        if !fills.flags.is_empty() && args.matching(&fills.flags).next().is_none()
            || args.has_exactly(&fills.not)
            || !fills.first.is_empty() && !fills.first.iter().any(|p| glob::matches(p, first))
        {
            return;
        }
        let given: Vec<Field> = args
            .flags
            .iter()
            .filter(|flag| fills.folder.contains(&flag.name))
            .filter_map(|flag| flag.value.as_ref())
            .map(|(text, at)| Field { text: text.clone(), ..known.argv[*at].clone() })
            .collect();
        if fills.last {
            let last = known.operands().skip(1).last().filter(|field| !field.text.contains(':')).cloned();
            return last.iter().for_each(|folder| self.fills(folder));
        }
        if given.is_empty() {
            self.fills(&Field::known(".", known.argv[0].span.clone()))
        } else {
            given.iter().for_each(|folder| self.fills(folder))
        }
    }

    /// `host:path` is on another machine.
    pub(super) fn copies_between_machines(&mut self, role: Role, fields: &[Field]) {
        let remote = |field: &Field| {
            field.text.split('/').next().is_some_and(|start| start.contains(':') && !start.starts_with('.'))
        };
        let Some((last, sources)) = fields.split_last().filter(|(_, sources)| !sources.is_empty()) else { return };
        if role == Role::Mirror {
            self.loses_all(last);
        }
        if role == Role::Move && !remote(last) {
            self.leaves(sources, last);
        }
        let trees = matches!(role, Role::CopyTree | Role::Mirror);
        for source in sources {
            if !remote(source) {
                self.touch_source(role, source);
            }
            if !remote(last) {
                let all = source.text.ends_with('/') && trees;
                let tree = trees || remote(source);
                let name = source.text.rsplit(':').next().unwrap_or("").to_owned();
                if all {
                    self.fills(last)
                } else {
                    self.lands(&Field { text: name, ..source.clone() }, last, tree && !remote(source))
                }
            }
        }
        if !remote(last) {
            self.touch(Role::Write, last);
        }
    }

    /// Files that a download leaves in a folder, and addresses that answer with the secrets of the machine.
    pub(in crate::policy::shell) fn downloads(&mut self, known: &Known<'_>) {
        for field in known.argv[1..].iter().filter(|f| url::names_metadata(&f.text)).take(1) {
            self.find_as(
                "read of a secret",
                format!("reads this machine's cloud credentials: {}", field.text),
                field.span.clone(),
            );
        }
        let curl = matches!(known.name.as_str(), "curl" | "xh" | "http" | "https" | "httpie");
        let folder = if curl {
            known.value(&["--output-dir"])
        } else {
            known.value(&["-P", "--directory-prefix", "-d", "--dir"])
        };
        let named = known.value(if curl { &["-o", "--output"] } else { &["-O", "--output-document"] });
        let saves = if curl {
            known.has(&["-O", "--remote-name", "--remote-name-all", "-J", "--remote-header-name"])
        } else {
            named.is_none() && matches!(known.name.as_str(), "wget" | "aria2c" | "axel") && !known.has(&["--spider"])
        };
        let span = known.argv[0].span.clone();
        let folder = folder.unwrap_or_else(|| Field::known(".", span));
        let within = |name: &str| inside(&folder, name);
        if !saves {
            return;
        }
        let many = [
            "-r",
            "--recursive",
            "-m",
            "--mirror",
            "-i",
            "--input-file",
            "-J",
            "--content-disposition",
            "-x",
            "--force-directories",
        ];
        if known.has(&many) {
            return self.fills(&folder);
        }
        let names: Vec<Field> = known
            .operands()
            .filter_map(|f| f.text.split(['?', '#']).next()?.split("://").last()?.rsplit_once('/'))
            .map(|(_, name)| within(if name.is_empty() { "index.html" } else { name }))
            .collect();
        for field in names {
            self.touch(Role::Write, &field);
        }
    }
}
