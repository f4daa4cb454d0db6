//! Rows of plugins and hooks, and of what a folder would run; nothing is started.

use super::Row;
use crate::config::trust::{self, Project};
use crate::config::{Loaded, Paths};
use crate::plugins::consent::Standing;
use crate::plugins::found::{self, May};
use crate::plugins::load;
use std::path::Path;

/// Where there are any: plugins, hooks, things of the folder that nobody has said yes to.
pub(super) fn rows(paths: &Paths, loaded: &Loaded) -> Vec<Row> {
    // A folder that was removed has nothing to run.
    let Ok(here) = std::env::current_dir() else { return Vec::new() };
    at(paths, loaded, &here)
}

fn at(paths: &Paths, loaded: &Loaded, here: &Path) -> Vec<Row> {
    let project = trust::look(paths, here);
    let rows = [plugins(paths, loaded, project.as_ref()), hooks(paths, loaded, here, project.as_ref())];
    rows.into_iter().flatten().chain(project.as_ref().and_then(folder)).collect()
}

fn row(what: &'static str, found: String, wrong: &[String], more: &str) -> Row {
    match wrong.split_first() {
        None => Row::ok(what, found),
        Some((first, [])) => Row::warn(what, found, format!("{first}; {more}")),
        Some((first, rest)) => Row::warn(what, found, format!("{first}; {} more like this; {more}", rest.len())),
    }
}

fn plugins(paths: &Paths, loaded: &Loaded, project: Option<&Project>) -> Option<Row> {
    let config = &loaded.config.plugins;
    let all = found::find(paths, config, project);
    let mut wrong = found::missing(config, &all);
    if all.is_empty() && wrong.is_empty() {
        return None;
    }
    let may: Vec<_> = all.iter().filter(|found| found.may == May::Run).collect();
    wrong.extend(may.iter().filter_map(|found| {
        let error = match &found.manifest {
            Ok(manifest) => crate::plugins::manifest::start(&found.dir, manifest).err()?,
            Err(error) => error.clone(),
        };
        Some(format!("{}: {error}", found.name))
    }));
    let found = format!("{} found, {} enabled", all.len(), may.len());
    Some(row("plugins", found, &wrong, "details: hermes plugins list"))
}

fn hooks(paths: &Paths, loaded: &Loaded, here: &Path, project: Option<&Project>) -> Option<Row> {
    let (all, mut wrong) = load::hooks(loaded, paths, here, project, false);
    if all.is_empty() && wrong.is_empty() {
        return None;
    }
    for (hook, standing) in &all {
        let name = format!("{}: {}", hook.written, hook.label());
        match standing {
            Standing::Allowed => {}
            Standing::Unasked => wrong.push(format!("{name} needs approval: hermes hooks accept")),
            Standing::Drifted(when) => wrong.push(format!("{name}: its script changed since approval ({when})")),
        }
    }
    let may = all.iter().filter(|(_, standing)| *standing != Standing::Unasked).count();
    Some(row("hooks", format!("{} configured, {may} approved", all.len()), &wrong, "details: hermes hooks list"))
}

fn folder(project: &Project) -> Option<Row> {
    let waiting = project.refusals();
    let what =
        format!("{}: {} of {} items may run", project.dir.display(), project.trusted().count(), project.things.len());
    (!project.things.is_empty()).then(|| match waiting.first() {
        None => Row::ok("folder", what),
        Some(first) => Row::warn("folder", what, first.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::super::Health;
    use super::*;
    use crate::config::{self, Sources};

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn plugins_hooks_and_the_folder_have_rows() {
        let root = tempfile::tempdir().unwrap();
        let (paths, here) = (Paths::at(root.path().join("home")), root.path().join("work"));
        std::fs::create_dir_all(&here).unwrap();
        let rows = |yaml: &str| -> Vec<(&'static str, bool, String)> {
            write(&paths.config(), yaml);
            let (env, overrides) = (std::collections::BTreeMap::new(), Vec::new());
            let loaded = config::load(&Sources { paths: paths.clone(), cwd: None, env, overrides });
            let rows = at(&paths, &loaded, &here);
            rows.into_iter()
                .map(|row| (row.what, row.health == Health::Ok, format!("{} → {}", row.found, row.remedy)))
                .collect()
        };
        assert_eq!(rows(""), []);
        write(&paths.plugins().join("good/plugin.yaml"), "name: good\ncommand: cat\n");
        write(&paths.plugins().join("empty/plugin.yaml"), "name: empty\n");
        assert_eq!(rows("plugins: {enabled: [good]}\n"), [("plugins", true, "2 found, 1 enabled → ".to_owned())]);
        for (yaml, what, words) in [
            (
                "plugins: {enabled: [goood]}\n",
                "plugins",
                "plugins.enabled names goood, which is not installed; did you mean good",
            ),
            ("plugins: {enabled: [empty]}\n", "plugins", "has nothing to start"),
            ("hooks: {Stop: [{command: bell}]}\n", "hooks", "1 configured, 0 approved → Stop: bell needs approval"),
            ("hooks: {Stopp: [{command: bell}]}\n", "hooks", "0 configured, 0 approved → hooks.Stopp: no such event"),
            ("hooks_auto_accept: true\nhooks: {subagent_stop: [{command: bell}]}\n", "hooks", "is not triggered yet"),
        ] {
            let rows = rows(yaml);
            let found = rows.iter().find(|row| row.0 == what).unwrap();
            assert!(!found.1 && found.2.contains(words), "{yaml}: {found:?}");
        }
        let fine = rows("hooks_auto_accept: true\nhooks: {Stop: [{command: bell}]}\n");
        assert!(fine.contains(&("hooks", true, "1 configured, 1 approved → ".to_owned())), "{fine:?}");
        write(&here.join("hermes.yaml"), "hooks: {Stop: [{command: bell}]}\n");
        let folder = rows("").pop().unwrap();
        assert!(!folder.1 && folder.2.contains("0 of 1 items may run") && folder.2.contains("hermes config trust"));
        trust::accept(&paths, &trust::look(&paths, &here).unwrap(), "now".into()).unwrap();
        assert!(rows("").pop().unwrap().1);
    }
}
