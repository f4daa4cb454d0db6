//! Downloads and uploads: which files they write and read, and which commands run what they brought.

use super::decode::Stream;
use crate::policy::glob;
use crate::policy::shell::effects::findings::Invocation;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::{Known, program};
use crate::policy::shell::walk::resolve::Field;
use crate::policy::table::{Kind, Role};
use std::path::Path;

/// Options whose value stays here.
const STAYS: &[&str] =
    &["-o", "--output", "-O", "--output-document", "-P", "--output-dir", "-D", "-w", "-m", "--retry"];
/// Commands whose output is about the machine, the time or a version, and the path of a program.
const TELLS_LITTLE: &[&str] = &[
    "uname",
    "arch",
    "date",
    "nproc",
    "basename",
    "dirname",
    "pwd",
    "seq",
    "dpkg",
    "rustc",
    "node",
    "git",
    "getconf",
    "lsb_release",
    "mktemp",
    "which",
    "command",
];
/// Addresses of this machine.
const HERE: &[&str] = &["*://localhost*", "*://127.*", "*://[[]::1]*", "localhost*", "127.*", ":[0-9]*"];

/// What the commands up to one of them brought here.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::policy::shell) struct Brought {
    downloaded: bool,
    /// Files of any name.
    unpacked: bool,
}

/// An address with what the machine says of itself in it: no option, nor the name of a file.
pub(in crate::policy::shell) fn is_telling_little(field: &Field) -> bool {
    let address = field.text.starts_with("https://") || field.text.starts_with("http://");
    address && !field.via.is_empty() && field.via.iter().all(|name| TELLS_LITTLE.contains(&name.as_str()))
}

impl Walker<'_> {
    /// A file that is not there yet, after a line that unpacked or cloned what it downloads, comes from there.
    pub(in crate::policy::shell) fn fetched_file(&mut self, file: &Field) {
        // The words of a command that was looked at before stay as they are, but for the subcommand.
        for at in self.brought.len()..self.invocations.len() {
            let before = self.brought.last().copied().unwrap_or_default();
            let next = self.brings(before, &self.invocations[at]);
            self.brought.push(next);
        }
        let unpacked = self.brought.last().is_some_and(|brought| brought.unpacked);
        let absent = || {
            let paths = self.absolute(&file.text);
            paths.iter().all(|path| !self.world.glob(path, Path::new("/"), 1).some())
        };
        if unpacked && file.is_known() && absent() {
            self.find("runs a downloaded file", file.span.clone());
        }
    }

    fn brings(&self, before: Brought, invocation: &Invocation) -> Brought {
        let word = |at: usize| invocation.plain.get(at).map_or("", String::as_str);
        let downloads = self.table.command(&program(word(0))).is_some_and(|spec| spec.kind == Kind::Fetch);
        // A clone, and a list or tree of addresses, bring files of any name.
        let many = |w: &String| matches!(w.as_str(), "-i" | "-r" | "--input-file" | "--recursive" | "--mirror");
        let all = word(0) == "git" && word(1) == "clone" || downloads && invocation.plain.iter().any(many);
        let unpacks = matches!(word(0), "tar" | "bsdtar" | "gtar" | "unzip" | "7z");
        Brought {
            downloaded: before.downloaded || downloads,
            unpacked: before.unpacked || all || unpacks && before.downloaded,
        }
    }

    /// A substitution that prints what a file holds, in whatever goes out: data, headers, logins, addresses.
    pub(in crate::policy::shell) fn sends_output(&mut self, known: &Known<'_>) {
        let goes_out = |at: usize| {
            let option = known.argv[at - 1].text.as_str();
            !(option.starts_with('-') && STAYS.contains(&option))
        };
        let prints = |field: &Field| {
            let tells = |name: &String| !name.starts_with('$') && !TELLS_LITTLE.contains(&name.as_str());
            // Who works here, and where, goes out as well where we know what it prints.
            let who = |name: &String| matches!(name.as_str(), "whoami" | "hostname" | "id" | "logname");
            field.via.iter().any(who) || !field.is_known() && field.via.iter().any(tells)
        };
        let here = known.operands().any(|field| HERE.iter().any(|host| glob::matches(host, &field.text)));
        self.sends_secrets(known, here);
        let sent = (1..known.argv.len()).find(|at| !here && goes_out(*at) && prints(&known.argv[*at]));
        if let Some(at) = sent {
            self.find("sends data out", known.argv[at].span.clone());
        }
    }

    /// Downloads and uploads.
    pub(in crate::policy::shell) fn fetch(&mut self, known: &Known<'_>, input: Option<Stream>) -> Stream {
        let stream = Stream { remote: true, ..Stream::unknown(known.span()) };
        for flag in &known.args.flags {
            let Some((text, at)) = &flag.value else { continue };
            let file = match flag.name.as_str() {
                "-d" | "--data" | "--data-binary" | "--data-urlencode" | "--json" => text.strip_prefix('@'),
                "-F" | "--form" => text
                    .split_once("=@")
                    .or_else(|| text.split_once("=<"))
                    .map(|(_, file)| file.split(';').next().unwrap_or(file)),
                _ => None,
            };
            if let Some(file) = file {
                let path = match file.strip_prefix("~/") {
                    Some(rest) => format!("{}/{rest}", self.home),
                    None => file.to_owned(),
                };
                self.touch(Role::Read, &Field::known(path, known.argv[*at].span.clone()));
            }
        }
        let _ = input;
        self.sends_output(known);
        let url_file = |url: &Field| {
            url.text
                .split(['?', '#'])
                .next()
                .and_then(|u| u.rsplit('/').next())
                .filter(|n| !n.is_empty())
                .map(str::to_owned)
        };
        let mut files: Vec<String> = Vec::new();
        let wget = known.name != "curl" && known.name != "xh" && !known.name.starts_with("http");
        let named =
            if wget { known.value(&["-O", "--output-document", "-o"]) } else { known.value(&["-o", "--output"]) };
        match named {
            Some(file) if file.text == "-" => {}
            Some(file) => files.push(file.text),
            None if wget && matches!(known.name.as_str(), "wget" | "aria2c" | "axel")
                || known.has(&["-O", "--remote-name", "-J"]) =>
            {
                files.extend(known.operands().filter_map(url_file));
            }
            None => {}
        }
        let folder = known.value(&["-P", "--directory-prefix", "--output-dir", "--dir"]);
        for file in files {
            let file = match &folder {
                Some(folder) if !file.starts_with('/') => format!("{}/{file}", folder.text),
                _ => file,
            };
            for path in self.absolute(&file) {
                self.keep(path, stream.clone(), false);
            }
        }
        stream
    }
}
