//! Which questions are of low risk, for auto mode: `assets/policy/low-risk.yaml` and the conditions that it names.

use super::border::Border;
use super::files::normal;
use super::shell::{self, Finding, Invocation, Judgement, UNKNOWN};
use super::table::{Kind, Level, Spec, Table, table};
use super::{Intent, Verdict, World, glob};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

/// Matches of one pattern that are looked at.
const MAX_MATCHES: usize = 64;
/// Bytes of a `.gitignore` that are read.
const MAX_IGNORE: usize = 64 * 1024;

/// `low-risk.yaml`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct LowRisk {
    generated: Vec<String>,
    ignored: Vec<String>,
    files: Vec<String>,
    logs: Vec<String>,
    deletes: Vec<String>,
    effects: BTreeMap<String, Condition>,
    elsewhere: Vec<String>,
}

/// Under which condition an effect is of low risk.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Condition {
    when: When,
    /// The command as patterns, one of which matches all of it.
    words: Vec<String>,
    /// No word of the command matches one of these.
    without: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum When {
    #[default]
    Never,
    /// All that it deletes is made again by a tool.
    Generated,
    /// All its files are logs.
    Logs,
    /// All its words are known.
    Known,
    /// It is one of these commands.
    Words,
}

static LOW_RISK: LazyLock<Option<LowRisk>> =
    LazyLock::new(|| super::table::read("low-risk.yaml", include_str!("../../assets/policy/low-risk.yaml")).ok());

/// Whether all that a question is about comes back by itself, so that a model may answer it. False for whatever is always
/// asked or refused, for a reason that the table does not name, and for paths that leave the working folder of the call or
/// are links out of it. Looks at the disk as far as the world allows; the call is judged once more.
pub fn low_risk(intent: &Intent, verdict: &Verdict, world: &dyn World) -> bool {
    let (Intent::Command { line, cwd, .. }, Verdict::Ask(reasons)) = (intent, verdict) else { return false };
    let (Some(low), Ok(table)) = (LOW_RISK.as_ref(), table()) else { return false };
    let named = |effect: &str| low.effects.contains_key(effect);
    if reasons.is_empty() || !reasons.iter().all(|why| named(&why.effect)) {
        return false;
    }
    if low.elsewhere.iter().any(|text| line.contains(text.as_str())) {
        return false;
    }
    let judged = shell::judge(line, cwd, world);
    let place = Place::new(low, cwd, world);
    judged.invocations.iter().all(|invocation| place.stays(invocation, table))
        && judged.findings.iter().all(|finding| {
            let Some(condition) = low.effects.get(&finding.effect) else { return finding.level == Level::Allow };
            let Some(by) = finding.by.filter(|_| finding.level <= Level::Ask) else { return false };
            place.holds(condition, by, &judged.invocations)
        })
}

/// The class of deletions whose files a tool makes again.
pub const BUILT_AGAIN: &str = "delete of what can be built again";

/// Gives deletions of what a build tool makes again a class of their own, where nothing of the line leaves the workspace or
/// moves work to such a name.
pub(super) fn tell_built_again(judged: &mut Judgement, line: &str, cwd: &Path, world: &dyn World) {
    let (Some(low), Ok(table)) = (LOW_RISK.as_ref(), table()) else { return };
    let deletes = |finding: &Finding| {
        let when = low.effects.get(&finding.effect).map(|condition| condition.when);
        when == Some(When::Generated) && finding.level == Level::Ask && !finding.fixed
    };
    if !judged.findings.iter().any(deletes) || low.elsewhere.iter().any(|text| line.contains(text.as_str())) {
        return;
    }
    let place = Place::new(low, cwd, world);
    if !judged.invocations.iter().all(|invocation| place.stays(invocation, table)) {
        return;
    }
    let mut told = Vec::new();
    let say = table.effect(BUILT_AGAIN).say;
    let findings = std::mem::take(&mut judged.findings);
    for mut finding in findings {
        let again = finding.by.filter(|by| {
            let condition = low.effects.get(&finding.effect).filter(|_| deletes(&finding));
            condition.is_some_and(|condition| place.holds(condition, *by, &judged.invocations))
        });
        if let Some(by) = again {
            // `find … -exec rm`: one deed, found twice.
            let same = |(one, span): &(usize, Range<usize>)| {
                *one == by || span.start < finding.span.end && finding.span.start < span.end
            };
            if told.iter().any(same) {
                continue;
            }
            told.push((by, finding.span.clone()));
            finding.text.clone_from(&say);
            finding.effect = BUILT_AGAIN.into();
        }
        judged.findings.push(finding);
    }
}

/// The working folder of a call.
struct Place<'a> {
    low: &'a LowRisk,
    border: Border,
    cwd: String,
    /// With links followed.
    real: String,
    world: &'a dyn World,
}

impl<'a> Place<'a> {
    fn new(low: &'a LowRisk, cwd: &Path, world: &'a dyn World) -> Self {
        let real = world.resolve(cwd).to_string_lossy().into_owned();
        Self { low, border: Border::of(cwd, world), cwd: normal(cwd, ""), real, world }
    }

    /// Whether a command neither leaves the folder nor runs its words on another machine or as another user.
    fn stays(&self, invocation: &Invocation, table: &Table) -> bool {
        let words = &invocation.words;
        let name = name_of(invocation);
        if matches!(name.as_str(), "cd" | "pushd" | "chdir") {
            let mut folders = words[1..].iter().filter(|word| !word.starts_with("--"));
            return match (folders.next(), folders.next()) {
                (Some(folder), None) => {
                    !folder.starts_with(['-', '/', '~']) && self.inside(&normal(Path::new(&invocation.cwd), folder))
                }
                _ => false,
            };
        }
        // What is moved or linked to a name of ours is not made again.
        let moves =
            matches!(name.as_str(), "mv" | "gmv" | "rename" | "rsync" | "ln" | "mount" | "popd" | "dirs" | "alias");
        if moves || name == "git" && words.iter().any(|word| word == "mv" || word == "move") {
            return false;
        }
        // What a program that nobody knows leaves behind is not certain.
        let Some(spec) = table.command(&name) else { return false };
        let runs = |spec: &Spec| spec.wrap.is_some() || matches!(spec.kind, Kind::Xargs | Kind::Parallel);
        let sub = spec.sub.iter().any(|(key, sub)| {
            let given = |name: &str| name.trim().split(' ').all(|part| words.iter().any(|word| word == part));
            runs(sub) && key.split(',').any(given)
        });
        invocation.quiet || !(runs(spec) || sub)
    }

    fn holds(&self, condition: &Condition, by: usize, invocations: &[Invocation]) -> bool {
        let invocation = &invocations[by];
        let known = invocation.words.iter().all(|word| !word.contains(UNKNOWN));
        match condition.when {
            When::Never => false,
            When::Known => known,
            When::Words => {
                let line = invocation.words.join(" ");
                let without = |word: &String| condition.without.iter().any(|not| glob::matches(not, word));
                known
                    && condition.words.iter().any(|p| glob::matches(p, &line))
                    && !invocation.words.iter().any(without)
            }
            When::Logs => {
                known
                    && name_of(invocation) == "truncate"
                    && self.all(invocation, |place, path| {
                        let name = path.rsplit('/').next().unwrap_or("");
                        place.low.logs.iter().any(|log| glob::matches(log, name))
                    })
            }
            When::Generated => {
                let found = [Some(by), invocation.within.map(|within| within.0)];
                let mut finds = found.into_iter().flatten().map(|i| &invocations[i]);
                if let Some(find) = finds.find(|i| matches!(name_of(i).as_str(), "find" | "gfind")) {
                    return self.finds_generated(find);
                }
                let deletes = self.low.deletes.contains(&name_of(invocation));
                deletes && known && self.all(invocation, |place, path| place.is_generated(path))
            }
        }
    }

    /// Whether a command has operands, and a test holds for the path of each, all of them inside.
    fn all(&self, invocation: &Invocation, test: impl Fn(&Self, &str) -> bool) -> bool {
        let (mut some, mut options) = (false, true);
        let mut value = false;
        for word in &invocation.words[1..] {
            // `truncate -s 0`
            if std::mem::take(&mut value) {
                continue;
            }
            if options && word.len() > 1 && word.starts_with('-') {
                options = word != "--";
                value = matches!(word.as_str(), "-s" | "--size");
                continue;
            }
            some = true;
            let path = normal(Path::new(&invocation.cwd), word);
            if word.split('/').any(|part| part == "..") || word.starts_with('~') || !self.each(&path, &test) {
                return false;
            }
        }
        some
    }

    /// The test for a path, and for all that it matches where it is a pattern.
    fn each(&self, path: &str, test: &impl Fn(&Self, &str) -> bool) -> bool {
        if !test(self, path) {
            return false;
        }
        if !glob::is_pattern(path) {
            return self.inside(path);
        }
        let matches = self.world.glob(path, Path::new("/"), MAX_MATCHES);
        matches.complete && matches.names.iter().all(|found| self.inside(&found.to_string_lossy()))
    }

    /// Whether a path lies below the folder, with links followed as well.
    fn inside(&self, path: &str) -> bool {
        let below = |path: &str, folder: &str| path != folder && Path::new(path).starts_with(folder);
        let real = self.world.resolve(Path::new(path));
        below(path, &self.cwd)
            && self.cwd != "/"
            && below(&real.to_string_lossy(), &self.real)
            && self.border.has(path)
            && self.border.has(&real)
    }

    /// Whether a path is, or lies below, a folder or file that a tool makes again.
    fn is_generated(&self, path: &str) -> bool {
        let Some(rest) = path.strip_prefix(&self.cwd).and_then(|rest| rest.strip_prefix('/')) else { return false };
        let mut folder = self.cwd.clone();
        let parts: Vec<&str> = rest.split('/').collect();
        for (i, part) in parts.iter().enumerate() {
            let named = |names: &[String]| names.iter().any(|name| glob::matches(name, part));
            // `.venv*` may match more than the name says.
            if !glob::is_pattern(part) && named(&self.low.generated)
                || !glob::is_pattern(part) && named(&self.low.ignored) && self.is_ignored(&folder, part)
            {
                return true;
            }
            // The pattern itself is one of ours: `rm -rf *.egg-info`.
            if self.low.generated.iter().chain(&self.low.files).any(|name| name == part)
                || i + 1 == parts.len() && !glob::is_pattern(part) && named(&self.low.files)
            {
                return true;
            }
            folder = format!("{folder}/{part}");
        }
        false
    }

    /// Whether git ignores this name in this folder, a tool has marked it as a cache, or it is not there.
    fn is_ignored(&self, folder: &str, name: &str) -> bool {
        if glob::is_pattern(folder) {
            return false;
        }
        let at = |path: &str| self.world.glob(path, Path::new("/"), 1);
        let path = format!("{folder}/{name}");
        if at(&format!("{path}/CACHEDIR.TAG")).some() || at(&path).none() {
            return true;
        }
        let mut at = Some(Path::new(folder));
        while let Some(place) = at.filter(|place| place.starts_with(&self.cwd)) {
            let ignore = self.world.text(&place.join(".gitignore"), MAX_IGNORE).unwrap_or_default();
            let below = path.strip_prefix(&place.to_string_lossy().into_owned()).unwrap_or("");
            let (mut ignored, below) = (false, below.trim_start_matches('/'));
            for line in ignore.lines().map(str::trim) {
                let (line, not) = line.strip_prefix('!').map_or((line, false), |line| (line, true));
                let plain = line.trim_end_matches("/*").trim_end_matches('/').trim_start_matches("**/");
                let anchored = plain.trim_start_matches('/');
                if !plain.is_empty() && (plain == name || anchored == below) {
                    ignored = !not;
                }
            }
            if ignored {
                return true;
            }
            at = place.parent();
        }
        false
    }

    /// `find` below the folder whose names are generated ones, and which does no more than delete them.
    fn finds_generated(&self, find: &Invocation) -> bool {
        let words = &find.words[1..];
        let starts = words.iter().take_while(|word| !word.starts_with(['-', '(', '!'])).count();
        let here = |word: &String| {
            let path = normal(Path::new(&find.cwd), word);
            let whole = path == self.cwd && self.border.has(&path) && normal(Path::new("/"), &self.real) == self.real;
            !word.contains(UNKNOWN) && !glob::is_pattern(word) && (whole || self.inside(&path))
        };
        if starts == 0 || !words[..starts].iter().all(here) {
            return false;
        }
        let (mut names, mut i) = (0, starts);
        while i < words.len() {
            let value = words.get(i + 1).map_or("", String::as_str);
            match words[i].as_str() {
                "-name" => {
                    let ours = self.low.generated.iter().chain(&self.low.files);
                    let exact = ours
                        .into_iter()
                        .any(|name| name == value || !value.contains('*') && glob::matches(name, value));
                    if !exact {
                        return false;
                    }
                    names += 1;
                    i += 1;
                }
                "-type" | "-maxdepth" | "-mindepth" => i += 1,
                "-depth" | "-prune" | "-print" | "-print0" => {}
                "-delete" if names > 0 => {}
                "-exec" | "-execdir" if names > 0 => {
                    let end = words[i..].iter().position(|word| word == ";" || word == "+").map(|end| i + end);
                    let Some(end) = end else { return false };
                    let plain = |word: &String| word == "{}" || word.starts_with('-');
                    if !self.low.deletes.contains(&words[i + 1]) || !words[i + 2..end].iter().all(plain) {
                        return false;
                    }
                    i = end;
                }
                _ => return false,
            }
            i += 1;
        }
        names > 0
    }
}

fn name_of(invocation: &Invocation) -> String {
    let word = invocation.words.first().map_or("", String::as_str);
    word.rsplit('/').next().unwrap_or(word).to_lowercase()
}

#[cfg(test)]
mod tests;
