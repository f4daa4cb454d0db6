//! What the operands and path options of a command are: read, written, filled with files, or only named.

use crate::policy::shell::programs::decode::Stream;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::args;
use crate::policy::shell::walk::invoke::Known;
use crate::policy::shell::walk::resolve::Field;
use crate::policy::table::{Kind, Language, Role};
use crate::policy::{glob, url};
use std::path::Path;
use std::rc::Rc;

/// Programs that run commands in a container or on another machine.
const ELSEWHERE: &[&str] = &[
    "docker",
    "podman",
    "nerdctl",
    "docker-compose",
    "kubectl",
    "oc",
    "k3s",
    "ssh",
    "autossh",
    "mosh",
    "chroot",
    "lxc",
    "incus",
    "multipass",
    "vagrant",
    "machinectl",
];

/// What code does to a file that it changes.
const CHANGES: &[&str] = &[
    "write", "\"w", "'w", "\"a", "'a", "unlink", "remove", "rename", "rmtree", "dump", "copy", "move", "replace",
    "truncate", "delete", "append", "chmod", "link", ">",
];

impl Walker<'_> {
    /// Judges the operands and path options.
    pub(in crate::policy::shell) fn operands(&mut self, known: &Known<'_>, input: Option<&Stream>) {
        self.shows_secrets(known, input);
        self.looks_for_secrets(known, input);
        self.soaks_up(known);
        self.renames(known);
        self.tells_secrets(known);
        if self.elsewhere.is_none() && known.spec.wrap.is_some() && ELSEWHERE.contains(&known.name.as_str()) {
            self.elsewhere = Some(self.depth);
        }
        match known.name.as_str() {
            "tar" | "gtar" | "bsdtar" => self.tar(known),
            // A database is changed by what is asked of it; only of ours that is known to be wrong.
            "sqlite3" | "sqlite" => {
                if let Some(file) = known.operand(0).cloned() {
                    let ours = self.absolute(&file.text).iter().any(|path| Path::new(path).starts_with(&self.own));
                    self.touch(if ours { Role::Write } else { Role::Read }, &file);
                }
            }
            "docker" | "podman" | "nerdctl" => self.mounts(known),
            "getent" if known.operand(0).is_some_and(|f| f.text.contains("hosts")) => self.sends_output(known),
            // The first operand is the archive.
            "zip" => {
                if let Some(file) = known.operand(0).cloned() {
                    self.touch(Role::Write, &file);
                }
            }
            _ => {}
        }
        self.listed_paths(known);
        self.path_options(known);
        self.named_values(known);
        self.may_hand_on(known, input);
        self.filled(known);
        self.joined(known);
        match self.table.command(&known.name).map_or(Kind::Plain, |spec| spec.kind) {
            Kind::Fetch => self.downloads(known),
            Kind::Git => self.git_folder(known),
            Kind::Interpreter | Kind::Sql => self.code_about_us(known),
            _ if known.spec.feeds.is_some() => self.code_about_us(known),
            _ => {}
        }
    }

    /// A program of whose operands no table speaks may hand a part of them to a shell.
    fn may_hand_on(&mut self, known: &Known<'_>, input: Option<&Stream>) {
        let spec = known.spec;
        let explained = spec.feeds.as_ref().is_some_and(|feeds| feeds.lang != Language::Build);
        let silent = spec.paths.is_empty() && !explained && !ELSEWHERE.contains(&known.name.as_str());
        let hands_on = match &spec.wrap {
            Some(wrap) => wrap.any,
            None => !spec.rules.is_empty(),
        };
        if silent && hands_on && matches!(spec.kind, Kind::Plain | Kind::Fetch) && known.name != "git" {
            self.may_hold(known.argv, input);
        }
    }

    /// What the table says that the operands are; without a word of it they may be read.
    fn listed_paths(&mut self, known: &Known<'_>) {
        let mut chosen = None;
        for paths in &known.spec.paths {
            let enough = known.args.operands.len() >= paths.min;
            if enough && (paths.flags.is_empty() || known.args.matching(&paths.flags).next().is_some()) {
                chosen = Some(paths);
            }
        }
        let script = known.spec.kind == Kind::Interpreter;
        let Some(paths) = chosen.filter(|paths| paths.role != Role::None || !script) else {
            if known.spec.wrap.is_none() {
                self.may_read(known);
            }
            return;
        };
        // A script or pattern given by an option is no operand.
        let given = !matches!(paths.role, Role::Permissions | Role::PermissionsTree)
            && known.has(&["-e", "-f", "--expression", "--regexp", "--file"]);
        let is_edit = paths.role == Role::Edit && known.spec.kind == Kind::Sed && !given;
        // The mode may look like an option: `chmod -x FILE`.
        let mode = |f: &args::Flag| f.name[1..].chars().all(|c| "rwxXst".contains(c));
        let minus = known.name == "chmod" && known.args.flags.iter().any(mode);
        let skip = if given || minus { 0 } else { paths.skip + usize::from(is_edit && paths.skip == 0) };
        let mut fields: Vec<Field> = known.operands().skip(skip).cloned().collect();
        for field in fields.iter_mut().filter(|_| known.name == "rclone") {
            let local = field.text.strip_prefix(":local:").or_else(|| field.text.strip_prefix("local:"));
            field.text = local.unwrap_or(&field.text).to_owned();
        }
        for field in fields.iter_mut().filter(|f| known.spec.globs && glob::is_pattern(&f.text)) {
            field.glob = true;
        }
        let moves = matches!(paths.role, Role::Copy | Role::CopyTree | Role::Mirror | Role::Move | Role::Link);
        if moves && matches!(known.name.as_str(), "scp" | "rsync" | "sftp") {
            return self.copies_between_machines(paths.role, &fields);
        }
        if paths.role == Role::Link {
            self.links_over(known, &fields);
        }
        if matches!(paths.role, Role::Permissions | Role::PermissionsTree) {
            self.loses_rights(known);
        }
        // What is written to a second name of a file goes into the file, and later nothing tells that it is one.
        if paths.role == Role::Link && !known.has(&["-s", "--symbolic"]) {
            let sources = fields.len().saturating_sub(usize::from(fields.len() > 1));
            for field in fields.iter().take(sources.min(64)) {
                self.touch(Role::Edit, field);
            }
        }
        match known.value(&["-t", "--target-directory"]).filter(|_| moves) {
            Some(folder) => {
                if paths.role == Role::Move {
                    self.leaves(&fields, &folder);
                }
                for field in &fields {
                    self.touch_source(paths.role, field);
                    self.lands(field, &folder, matches!(paths.role, Role::CopyTree | Role::Move));
                }
            }
            None if paths.role == Role::ReadTree => {
                let hidden = !matches!(known.name.as_str(), "rg" | "ag" | "fd" | "ack" | "pt")
                    || known.has(&["--hidden", "-.", "-u", "-uu", "-uuu", "--unrestricted", "-a", "--all-types"]);
                if fields.is_empty() {
                    fields.push(Field::known(".", known.argv[0].span.clone()));
                }
                for field in fields.iter().take(64) {
                    self.reads_tree(field, hidden);
                }
            }
            None => {
                let here = self.state.cwds.clone();
                for flag in known.args.flags.iter().filter(|f| known.spec.folder.contains(&f.name)) {
                    self.state.cwds =
                        flag.value.as_ref().map_or_else(|| here.clone(), |(folder, _)| self.absolute(folder));
                }
                self.touch_all(paths.role, &fields);
                self.state.cwds = here;
            }
        }
        if known.name == "chmod"
            && known.argv.iter().any(|f| glob::matches("*+*x*", &f.text) || glob::matches("[0-7]*[1357]*", &f.text))
        {
            for field in &fields {
                for path in self.absolute(&field.text) {
                    Rc::make_mut(&mut self.state.executable).insert(path);
                }
            }
        }
    }

    fn path_options(&mut self, known: &Known<'_>) {
        // These look at the public half of what a file holds.
        let public = known.name == "openssl"
            && known
                .operand(0)
                .is_some_and(|f| matches!(f.text.as_str(), "x509" | "verify" | "crl" | "req" | "s_client"));
        if public {
            return;
        }
        for flag in &known.args.flags {
            if let (Some(role), Some((text, at))) = (known.spec.values.get(&flag.name), &flag.value) {
                let field = Field { text: text.clone(), ..known.argv[*at].clone() };
                self.touch(*role, &field);
            }
        }
    }

    /// A command whose operands the table does not speak of may show what they name.
    fn may_read(&mut self, known: &Known<'_>) {
        let reads = matches!(
            known.spec.kind,
            Kind::Plain
                | Kind::Fetch
                | Kind::Decode
                | Kind::Interpreter
                | Kind::Git
                | Kind::Sql
                | Kind::Base64
                | Kind::Base32
        );
        if !reads {
            return;
        }
        // A script is read; what it does with the words behind it, nobody knows.
        let kind = self.table.command(&known.name).map_or(Kind::Plain, |spec| spec.kind);
        let said = matches!(kind, Kind::Git | Kind::Sql);
        let script = usize::from(known.spec.kind == Kind::Interpreter && !known.has(&["-m"]));
        let fields: Vec<Field> = known.operands().filter(|f| f.text.contains(['/', '.'])).take(64).cloned().collect();
        for (i, field) in fields.into_iter().enumerate() {
            // Settings of the project are what many programs are given to use.
            let used = |class: &str| class == "project secrets" || class == "key files";
            let files = self.absolute(field.text.strip_prefix("file://").unwrap_or(&field.text));
            let class = files.iter().find_map(|path| self.class(path)).map_or("", |class| &class.name);
            if !used(class) {
                self.touch(if said || i < script { Role::Read } else { Role::Unsaid }, &field);
            }
        }
    }

    /// `-v FOLDER:…` shows a container all that is in the folder.
    fn mounts(&mut self, known: &Known<'_>) {
        for flag in &known.args.flags {
            let Some((text, at)) = &flag.value else { continue };
            let source = match flag.name.as_str() {
                "-v" | "--volume" => text.split(':').next(),
                "--mount" => {
                    text.split(',').find_map(|part| part.strip_prefix("source=").or_else(|| part.strip_prefix("src=")))
                }
                _ => None,
            };
            if let Some(source) = source.filter(|source| source.contains('/')) {
                let folder = Field { text: source.to_owned(), ..known.argv[*at].clone() };
                self.reads_tree(&folder, true);
                let only = text.split([':', ',']).any(|option| matches!(option, "ro" | "readonly" | "readonly=true"));
                if !only {
                    // The folder is one of this machine, whatever runs elsewhere.
                    let elsewhere = self.elsewhere.take();
                    self.touch(Role::Write, &folder);
                    self.elsewhere = elsewhere;
                }
            }
        }
    }

    /// Code on the command line that changes our own folder.
    fn code_about_us(&mut self, known: &Known<'_>) {
        let hit = known.argv[1..].iter().find(|f| {
            let text = f.text.as_str();
            let ours = text.contains(&self.own) || text.contains("/.hermes/") || text.contains("HERMES_HOME");
            ours && text.contains(['(', ' ', '=']) && CHANGES.iter().any(|word| text.contains(word))
        });
        if let Some(field) = hit {
            let span = field.span.clone();
            self.find("edit of the approval policy", span);
        }
        for field in known.argv[1..].iter().filter(|f| url::names_metadata(&f.text)).take(1) {
            self.find("read of a secret", field.span.clone());
        }
    }

    /// Commands that show secrets by what they are asked for, and words that are secrets of the environment.
    fn shows_secrets(&mut self, known: &Known<'_>, input: Option<&Stream>) {
        let rules = self.table.more_rules(&known.name);
        if !rules.is_empty() {
            let takes = self.table.command(&known.name).map_or(&[][..], |spec| &spec.takes);
            let whole = Known {
                spec: known.spec,
                args: args::parse(known.argv, 1, takes, false),
                argv: known.argv,
                name: known.name.clone(),
                from: 1,
                fed: known.fed,
            };
            self.rules(&whole, rules, 1);
        }
        if matches!(known.spec.kind, Kind::Echo | Kind::Printf) {
            let secret = known.argv[1..].iter().find_map(|f| {
                let name = f.via.iter().find(|name| name.starts_with('$'))?;
                Some((format!("prints {name}, whose name suggests a secret"), f.span.clone()))
            });
            if let Some((say, span)) = secret {
                self.find_as("prints the environment", say, span);
            }
        }
        // `echo "$TOKEN" | docker login --password-stdin` hands it on and shows nothing.
        let takes_it = ["--password-stdin", "--with-token", "--token-stdin"];
        if let (Some(me), Some(stream)) = (self.current, input)
            && known.argv.iter().any(|f| takes_it.contains(&f.text.as_str()))
            && let Some(before) = me.checked_sub(1)
            && self.invocations[before].span == stream.span
        {
            self.findings.retain(|f| f.by != Some(before) || f.effect != "prints the environment");
        }
    }
}
