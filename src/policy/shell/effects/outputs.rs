//! What small commands print, as far as their words tell: folders and names of paths, numbers, new temporary files. And paths
//! that are new: what the line itself made below the temporary folder it may also throw away.

use crate::policy::files::{is_protected, normal};
use crate::policy::shell::programs::decode::Stream;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::{Known, program};
use crate::policy::shell::walk::resolve::{Field, UNKNOWN};
use crate::policy::table::{Kind, Role};
use std::path::Path;
use std::rc::Rc;

/// Numbers that `seq` is followed with.
const MAX_NUMBERS: i64 = 16;
/// Folders above the working folder in which a repository is looked for.
const MAX_ABOVE: usize = 24;

impl Walker<'_> {
    /// What the command prints, when that can be told. It has no other effect then.
    pub(in crate::policy::shell) fn output(&mut self, known: &Known<'_>) -> Option<Stream> {
        let span = known.span();
        let say = |text: String| Some(Stream::text(format!("{text}\n"), span.clone()));
        let first = known.operand(0);
        match known.name.as_str() {
            "dirname" => {
                let texts: Vec<String> = known.operands().map(|f| dirname(&f.text)).collect();
                (!texts.is_empty()).then(|| say(texts.join("\n"))).flatten()
            }
            "basename" => {
                let suffix = known.value(&["-s", "--suffix"]).or_else(|| known.operand(1).cloned());
                let name = first?.text.trim_end_matches('/').rsplit('/').next().unwrap_or("").to_owned();
                let cut = suffix.and_then(|s| name.strip_suffix(s.text.as_str()).map(str::to_owned));
                say(cut.filter(|n| !n.is_empty()).unwrap_or(name))
            }
            "realpath" | "greadlink" | "readlink" => {
                let follows = known.name == "realpath" || known.has(&["-f", "-e", "-m", "--canonicalize"]);
                let field = first.filter(|f| follows && f.is_known()).cloned()?;
                let path = self.absolute(&field.text).into_iter().next()?;
                say(if known.has(&["-s"]) {
                    path
                } else {
                    self.world.resolve(Path::new(&path)).to_string_lossy().into_owned()
                })
            }
            "pwd" => {
                let cwds = &self.state.cwds;
                let worst = cwds.iter().find(|cwd| is_protected(cwd, self.world)).or(cwds.first())?;
                say(worst.clone())
            }
            "mktemp" => self.new_path(known).and_then(say),
            "whoami" | "logname" => say(self.value_of("USER").into_iter().next()?),
            "nproc" => say(format!("1{UNKNOWN}")),
            "seq" => {
                let numbers: Option<Vec<i64>> = known.operands().map(|f| f.text.parse().ok()).collect();
                let (from, to) = match numbers.as_deref() {
                    Some([to]) => (1, *to),
                    Some([from, to]) => (*from, *to),
                    _ => return say(format!("1{UNKNOWN}")),
                };
                if known.args.flags.is_empty() && (0..MAX_NUMBERS).contains(&(to.saturating_sub(from))) {
                    return say((from..=to).map(|n| n.to_string()).collect::<Vec<_>>().join("\n"));
                }
                say(format!("1{UNKNOWN}"))
            }
            "which" | "type" | "command" if known.name == "which" || known.has(&["-v", "-V", "-p", "-P", "-t"]) => {
                let name = &first?.text;
                let plain = !name.is_empty() && !name.contains([UNKNOWN, '/', ' ']);
                if known.name == "command" && !known.has(&["-v", "-V"]) {
                    return None;
                }
                let path = if plain { format!("/usr/bin/{name}") } else { name.clone() };
                say(path)
            }
            "ls" | "gls" => {
                // With `-d` the words themselves; without, names below them.
                let words: Vec<&Field> = known.operands().collect();
                let glob = words.iter().any(|f| f.glob);
                let text: Vec<String> = if known.has(&["-d", "--directory"]) || glob && words.iter().all(|f| f.glob) {
                    words.iter().map(|f| f.text.clone()).collect()
                } else {
                    // Of a file its name as it was given: that matters where it holds a secret.
                    let secret = |f: &&&Field| {
                        let paths = self.absolute(&f.text);
                        paths.iter().any(|path| self.class(path).is_some_and(|class| !class.read.is_empty()))
                    };
                    let files = words.iter().filter(secret).map(|f| f.text.clone());
                    files.chain([format!("./{UNKNOWN}")]).collect()
                };
                Some(Stream { matched: glob, ..say(text.join("\n"))? })
            }
            "git" => self.git_output(known).and_then(say),
            _ => match known.spec.kind {
                // Names of files below a folder: nothing outside of it.
                Kind::Plain if matches!(known.name.as_str(), "grep" | "egrep" | "rg") => {
                    let lists = known.has(&["-l", "--files-with-matches", "-L", "--files"]);
                    let folder = known.operand(1).map_or(".", |f| f.text.as_str());
                    let folder = folder.trim_end_matches('/');
                    (lists && known.args.operands.len() <= 2 && !folder.contains(UNKNOWN))
                        .then(|| say(format!("{folder}/{UNKNOWN}")))
                        .flatten()
                }
                _ => None,
            },
        }
    }

    fn git_output(&mut self, known: &Known<'_>) -> Option<String> {
        let sub = known.operand(0)?.text.as_str();
        match sub {
            "rev-parse" if known.has(&["--show-toplevel"]) => {
                let start = match known.value(&["-C"]) {
                    Some(folder) => self.absolute(&folder.text).into_iter().next()?,
                    None => self.state.cwds.first()?.clone(),
                };
                let mut folder = Path::new(&start);
                for _ in 0..MAX_ABOVE {
                    let git = folder.join(".git");
                    if self.spend(4, &known.span()) && self.world.glob(&git.to_string_lossy(), Path::new("/"), 1).some()
                    {
                        return Some(folder.to_string_lossy().into_owned());
                    }
                    folder = folder.parent()?;
                }
                None
            }
            // Names of refs and commits never begin with a dash.
            "rev-parse" | "branch" | "symbolic-ref" | "describe" | "merge-base" | "rev-list" | "tag" | "remote" => {
                let quiet = known.args.operands.len() <= 1 || sub != "branch" && sub != "tag" && sub != "remote";
                quiet.then(|| format!("x{UNKNOWN}"))
            }
            "ls-files" | "diff" | "ls-tree" | "status" => Some(format!("./{UNKNOWN}")),
            _ => None,
        }
    }

    /// The path that `mktemp` makes, when that is in the temporary folder.
    fn new_path(&mut self, known: &Known<'_>) -> Option<String> {
        let elsewhere = self.state.vars.contains_key("TMPDIR") || known.has(&["-u", "--dry-run"]);
        let folder = match known.value(&["-p", "--tmpdir"]) {
            Some(folder) => folder.text,
            None => "/tmp".into(),
        };
        let template = known.operand(0).map(|f| f.text.clone()).unwrap_or_default();
        let whole = if template.contains('/') { template } else { format!("{folder}/{template}") };
        let path = normal(Path::new("/"), &whole);
        if elsewhere || path.contains(UNKNOWN) || !(path == "/tmp" || path.starts_with("/tmp/")) {
            return None;
        }
        let mut parts = path.rsplitn(2, '/');
        let (name, folder) = (parts.next()?, parts.next()?);
        // A folder in the middle may be missing, and then the text is empty.
        if path != "/tmp" && folder != "/tmp" {
            return None;
        }
        let name = if path == "/tmp" { "tmp" } else { name.trim_end_matches('X') };
        let fresh = Rc::make_mut(&mut self.state.fresh);
        let made = format!("/tmp/{name}.{:010}", fresh.len());
        fresh.insert(made.clone());
        Some(made)
    }

    /// Whether a command deletes nothing but what this line made in the temporary folder.
    pub(in crate::policy::shell) fn only_fresh(&mut self, known: &Known<'_>) -> bool {
        let deletes = |role: Role| matches!(role, Role::Delete | Role::DeleteTree);
        if self.state.fresh.is_empty()
            || known.args.operands.is_empty()
            || known.spec.paths.is_empty()
            || !known.spec.paths.iter().all(|p| deletes(p.role))
        {
            return false;
        }
        known.operands().all(|field| self.is_fresh(field))
    }

    fn is_fresh(&self, field: &Field) -> bool {
        if field.glob || !field.is_known() || self.memo.has_links() || !self.state.mounts.is_empty() {
            return false;
        }
        self.absolute(&field.text).iter().all(|path| {
            let end = path.char_indices().filter(|(_, c)| *c == '/').nth(2).map_or(path.len(), |(at, _)| at);
            // Where it could not be made the variable is empty, and the rest is what goes.
            self.state.fresh.contains(&path[..end]) && (end == path.len() || !is_protected(&path[end..], self.world))
        })
    }
}

/// What `dirname` says of a path.
fn dirname(path: &str) -> String {
    let trimmed = path.trim_end_matches('/');
    match trimmed.rsplit_once('/') {
        _ if trimmed.is_empty() && !path.is_empty() => "/".into(),
        Some((folder, _)) if folder.trim_end_matches('/').is_empty() => "/".into(),
        Some((folder, _)) => folder.trim_end_matches('/').into(),
        // Of a text that is not known it may be any folder.
        None if trimmed.contains(UNKNOWN) => UNKNOWN.to_string(),
        None => ".".into(),
    }
}

/// Whether the last of these commands prints what a file holds: text that nobody has looked at.
pub(in crate::policy::shell) fn prints_content(table: &crate::policy::table::Table, via: &[String]) -> bool {
    via.iter().any(|name| {
        matches!(table.command(&program(name)).map(|spec| spec.kind), Some(Kind::Pass | Kind::Fetch))
            || matches!(program(name).as_str(), "head" | "tail")
    })
}
