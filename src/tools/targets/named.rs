//! Which paths the reasons of a verdict are about, and what becomes of them.

use crate::policy::files::normal;
use crate::policy::shell::{Invocation, Judgement, Touch, Touched, UNKNOWN};
use crate::policy::table::Role;
use crate::policy::{Intent, Matches, Verdict, World, glob};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A path as a command names it.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// For the first column: as typed where that is short.
    pub name: String,
    /// As the command gets it.
    pub text: String,
    /// Where it is looked for.
    pub cwd: PathBuf,
    pub role: Role,
}

impl Named {
    fn of(touched: &Touched, home: &Path) -> Self {
        let (text, cwd) = (touched.text.clone(), PathBuf::from(&touched.cwd));
        Self { name: short(&text, &cwd, home), text, cwd, role: touched.role }
    }

    /// Not certain before it runs.
    pub fn is_unknown(&self) -> bool {
        self.text.contains(UNKNOWN) || self.cwd.to_string_lossy().contains(UNKNOWN)
    }

    /// The paths that it means now; of a glob those that it matches.
    pub fn paths(&self, world: &dyn World, limit: usize) -> Matches {
        if self.is_unknown() {
            Matches::default()
        } else if glob::is_pattern(&self.text) {
            world.glob(&self.text, &self.cwd, limit)
        } else {
            Matches::all(vec![self.path(world)])
        }
    }

    /// The one path. A link before a `..` leads elsewhere than the text says.
    fn path(&self, world: &dyn World) -> PathBuf {
        let plain = PathBuf::from(normal(&self.cwd, &self.text));
        let up = self.text.split('/').any(|part| part == "..");
        if up { world.resolve(&self.cwd.join(&self.text)) } else { plain }
    }
}

/// The text without what everybody knows: the working folder, the home folder.
fn short(text: &str, cwd: &Path, home: &Path) -> String {
    let text = text.replace(UNKNOWN, "…");
    let path = Path::new(&text);
    match (path.strip_prefix(cwd), path.strip_prefix(home)) {
        (Ok(rest), _) if path.is_absolute() && !rest.as_os_str().is_empty() => rest.display().to_string(),
        (_, Ok(rest)) if path.is_absolute() && !rest.as_os_str().is_empty() => format!("~/{}", rest.display()),
        _ => text,
    }
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// Everything that the reasons are about, each once.
pub fn of(intent: &Intent, verdict: &Verdict, judgement: &Judgement, world: &dyn World) -> Vec<Named> {
    let absolute = |path: &Path, role| {
        let text = path.display().to_string();
        Named { name: text.clone(), text, cwd: "/".into(), role }
    };
    match intent {
        Intent::Edit(edits) => {
            let role = |removes| if removes { Role::Delete } else { Role::Write };
            return edits.iter().map(|edit| absolute(&edit.path, role(edit.removes))).collect();
        }
        Intent::Read(path) => return vec![absolute(path, Role::Read)],
        Intent::Remote { .. } | Intent::Code { .. } | Intent::Talk | Intent::Handle => return Vec::new(),
        Intent::Command { .. } | Intent::Input { .. } => {}
    }
    let home = world.home();
    let reasons = verdict.reasons();
    let meant = |span: &Range<usize>| reasons.iter().any(|why| overlap(&why.span, span));
    let mut all: Vec<Named> = Vec::new();
    let mut add = |named: Named| {
        if !all.iter().any(|known| known.text == named.text && known.cwd == named.cwd) {
            all.push(named);
        }
    };
    let touched = &judgement.touched;
    for one in touched {
        let command = one.by.and_then(|by| judgement.invocations.get(by));
        let changes = !matches!(one.role, Role::None | Role::Read | Role::Copy | Role::Link);
        // Git says itself what it would lose; what it removes and moves is a file like any other.
        let says = |command: &&Invocation| {
            is_git(&command.words) && !matches!(command.plain.get(1).map(String::as_str), Some("rm" | "mv"))
        };
        let finds = command.is_some_and(|command| is_find(&command.words) || says(&command));
        let about = meant(&one.span) || (changes && command.is_some_and(|command| meant(&command.span)));
        // What find and the like begin at is not what they reach.
        // What would only be read and is not there is no file: code, the name of a module. Elsewhere that cannot be told, but
        // a text of several lines is code.
        let there = || one.paths.iter().any(|path| world.about(std::path::Path::new(path)).is_some());
        let is_vague = one.glob || one.text.contains(UNKNOWN) || !world.is_here() && !one.text.contains('\n');
        let is_name = one.how != Touch::Read || is_vague || there();
        let is_path = !one.text.is_empty() && is_name && !is_stream(&one.text);
        if !about || finds || !is_path || is_address(one, world) {
            continue;
        }
        let unknown = one.text.contains(UNKNOWN);
        if into_folder(one, touched) || (unknown && one.by.is_some_and(|by| is_fed(by, judgement))) {
            continue;
        }
        add(Named::of(one, &home));
    }
    // Commands that the table does not know say nothing of their paths: those of their words that exist.
    for (at, command) in judgement.invocations.iter().enumerate() {
        let known = touched.iter().any(|one| one.by == Some(at));
        if known || !meant(&command.span) || is_find(&command.words) || is_git(&command.words) {
            continue;
        }
        for word in command.words.iter().skip(1) {
            if word.is_empty() || word.starts_with('-') || word.contains([UNKNOWN, '\n']) || glob::is_pattern(word) {
                continue;
            }
            let cwd = PathBuf::from(&command.cwd);
            let path = normal(&cwd, word);
            if Path::new(&path).symlink_metadata().is_ok() {
                let name = short(word, &cwd, &home);
                add(Named { name, text: word.clone(), cwd, role: Role::None });
            }
        }
    }
    all
}

/// What a client fetches or sends to; no file here has that name.
fn is_address(one: &Touched, world: &dyn World) -> bool {
    let is_scheme =
        |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    let is_here = || Path::new(&normal(Path::new(&one.cwd), &one.text)).symlink_metadata().is_ok();
    one.text.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme)) && !(world.is_here() && is_here())
}

/// `cp x DIR` is told as `DIR/x` and as `DIR`: one of the two is what is written.
fn into_folder(one: &Touched, all: &[Touched]) -> bool {
    if one.role != Role::Write {
        return false;
    }
    let at = |text: &str| PathBuf::from(normal(Path::new(&one.cwd), text));
    let inside = all.iter().find(|other| {
        other.by == one.by && other.role == Role::Write && other.span == one.span && other.text != one.text
    });
    inside.is_some_and(|other| {
        let (mine, theirs) = (at(&one.text), at(&other.text));
        if theirs.parent() == Some(&mine) {
            mine.is_dir()
        } else {
            theirs == mine.parent().unwrap_or(&mine) && !theirs.is_dir()
        }
    })
}

/// Whether another command gives it its paths.
fn is_fed(command: usize, judgement: &Judgement) -> bool {
    let within = judgement.invocations.get(command).and_then(|command| command.within);
    let outer = within.and_then(|(outer, _)| judgement.invocations.get(outer));
    outer.is_some_and(|outer| is_find(&outer.words) || base(&outer.words) == "xargs")
}

fn base(words: &[String]) -> &str {
    words.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word))
}

/// Whether a command walks folders itself.
pub fn is_find(words: &[String]) -> bool {
    matches!(base(words), "find" | "gfind")
}

/// Whether a command is git.
pub fn is_git(words: &[String]) -> bool {
    base(words) == "git"
}

/// Places that keep nothing.
fn is_stream(text: &str) -> bool {
    text == "-"
        || text.starts_with("/dev/std")
        || text.starts_with("/dev/fd/")
        || matches!(text, "/dev/null" | "/dev/tty")
}
