//! Files of the file tools: what touching them means, and the permissions that name them.

use super::mode::reviewed;
use super::{Said, asked, denied, granted, said};
use crate::policy::files::{judge_edit, judge_read, normal, verdict};
use crate::policy::permissions::{Argument, Names, Permission};
use crate::policy::rule::Rules;
use crate::policy::table::{Level, table};
use crate::policy::{EditIntent, Mode, Verdict, Why, World};
use std::path::Path;

/// A path as it is named and as it is.
pub(super) struct Place {
    literal: String,
    real: String,
}

impl Place {
    fn of(path: &Path, cwd: &Path, world: &dyn World) -> Self {
        let literal = normal(cwd, &path.to_string_lossy());
        let real = normal(Path::new("/"), &world.resolve(Path::new(&literal)).to_string_lossy());
        Self { literal, real }
    }

    /// One of a shell line, absolute already.
    pub(super) fn absolute(path: &str, world: &dyn World) -> Self {
        Self::of(Path::new(path), Path::new("/"), world)
    }
}

impl Place {
    /// Whether a permission may mean something below this folder.
    pub(super) fn may_hold(&self, one: &Permission, cwd: &Path, rules: &Rules, world: &dyn World) -> bool {
        one.may_mean_below([&self.literal, &self.real], &rules.here, cwd, world)
    }
}

/// Whether a permission means this path.
pub(super) fn means(
    one: &Permission,
    names: Names<'_>,
    place: &Place,
    cwd: &Path,
    rules: &Rules,
    world: &dyn World,
) -> bool {
    one.names(names) && one.means_path(&place.literal, &place.real, &rules.here, cwd, world)
}

/// The verdict on a read.
pub(super) fn read(
    file: &Path,
    cwd: &Path,
    rules: &Rules,
    names: Names<'_>,
    world: &dyn World,
    by: &mut Vec<String>,
) -> Verdict {
    let judged = granted(judge_read(file, cwd, world), rules, by);
    ruled(judged, file, cwd, rules, names, world, by)
}

/// The verdict on edits: each file by itself, the worst counts.
pub(super) fn edit(
    edits: &[EditIntent],
    mode: Mode,
    cwd: &Path,
    rules: &Rules,
    names: Names<'_>,
    world: &dyn World,
    by: &mut Vec<String>,
) -> Verdict {
    let mut all: Vec<(Level, Why)> = Vec::new();
    for one in edits {
        let names = if one.removes { names.acting("file.delete") } else { names };
        let judged = granted(reviewed(mode, judge_edit(std::slice::from_ref(one), cwd, world)), rules, by);
        let (level, why) = match ruled(judged, &one.path, cwd, rules, names, world, by) {
            Verdict::Allow(_) => continue,
            Verdict::Ask(why) => (Level::Ask, why),
            Verdict::AskAlways(why) => (Level::AskAlways, why),
            Verdict::Refuse(why) => (Level::Refuse, why),
            denied @ Verdict::DeniedByRule(_) => return denied,
        };
        all.extend(why.into_iter().map(|why| (level, why)));
    }
    verdict(all)
}

/// A verdict as the permissions for this path leave it.
pub(super) fn ruled(
    judged: Verdict,
    file: &Path,
    cwd: &Path,
    rules: &Rules,
    names: Names<'_>,
    world: &dyn World,
    by: &mut Vec<String>,
) -> Verdict {
    let mut held = rules.in_effect(cwd).filter(|one| one.names(names)).peekable();
    if held.peek().is_none() || matches!(judged, Verdict::Refuse(_)) {
        return judged;
    }
    let place = Place::of(file, cwd, world);
    let means = |one: &&Permission| one.means_path(&place.literal, &place.real, &rules.here, cwd, world);
    let allow = match said(held.filter(means)) {
        Some(Said::Denies(one)) => {
            by.push(one.label());
            return denied(&one.label(), 0..0);
        }
        Some(Said::Asks(one)) => {
            by.push(one.label());
            let why = asked(&one.label(), 0..0);
            return match judged {
                Verdict::AskAlways(reasons) => Verdict::AskAlways([reasons, vec![why]].concat()),
                Verdict::Ask(reasons) => Verdict::Ask([reasons, vec![why]].concat()),
                _ => Verdict::Ask(vec![why]),
            };
        }
        Some(Said::Allows(one)) => one,
        None => return judged,
    };
    let table = table().ok();
    let covers = |why: &Why| {
        let fixed = table.is_none_or(|table| table.effect(&why.effect).fixed);
        let outside = why.effect == "write outside this folder";
        // A line that names no place means what is below the folder that the session works in.
        !fixed && (!outside || allow.tells_the_place()) && !matches!(allow.on.argument, Argument::Host(_))
    };
    match judged {
        Verdict::Ask(why) if why.iter().all(covers) => {
            by.push(allow.label());
            Verdict::Allow(why)
        }
        other => other,
    }
}
