//! What counts as a change of the files that a session read.

use super::*;

fn home() -> (tempfile::TempDir, Paths) {
    let dir = tempfile::tempdir().unwrap();
    let paths = Paths::at(dir.path().join("home"));
    std::fs::create_dir_all(&paths.home).unwrap();
    (dir, paths)
}

/// Two writes within a tick of the clock would have one stamp: the second has another size.
fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn only_what_matters_counts_and_the_difference_tells_it() {
    let (dir, paths) = home();
    let config = paths.config();
    write(
        &config,
        "display: {skin: a}\napprovals:\n  mode: manual\n  deny: [rm *]\nmcp_servers: {git: {command: git-mcp, env: {K: hunter2-secret}}}\n",
    );
    let mut held = PolicyFiles::read(&paths, dir.path(), &[]);
    assert_eq!(held.changes(), []);
    write(
        &config,
        "display: {skin: other}\napprovals:\n  mode: manual\n  deny: [rm *]\nmcp_servers: {git: {command: git-mcp, env: {K: hunter2-secret}}} # more\n",
    );
    assert_eq!(held.changes(), [], "looks are no policy");
    write(
        &config,
        "approvals:\n  mode: off\nmcp_servers: {git: {command: git-mcp, env: {K: other-secret-value}}}\ncommand_allowlist: [recursive delete]\n",
    );
    let changes = held.changes();
    assert_eq!(changes.len(), 1);
    let diff = &changes[0].diff;
    for line in ["-  mode: manual", "+  mode: off", "-    - rm *", "+  - recursive delete"] {
        assert!(diff.lines().any(|it| it == line), "{line}\n{diff}");
    }
    assert!(!diff.contains("secret") && diff.contains("K: *** ("), "{diff}");
    assert_eq!(held.changes(), changes, "it stays changed");
    // Back as it was.
    write(
        &config,
        "approvals:\n  mode: manual\n  deny: [rm *]\nmcp_servers: {git: {command: git-mcp, env: {K: hunter2-secret}}}\n",
    );
    assert_eq!(held.changes(), []);
}

#[test]
fn files_that_come_go_and_plugins_count() {
    let (dir, paths) = home();
    let plugin = paths.plugins().join("p");
    write(&plugin.join("main.py"), "one");
    let mut held = PolicyFiles::read(&paths, dir.path(), std::slice::from_ref(&plugin));
    write(&plugin.join("main.py"), "other");
    write(&paths.home.join("permissions.yaml"), "terminal.*: allow\n");
    let names: Vec<String> = held.changes().into_iter().map(|change| change.name).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names[0].ends_with("permissions.yaml") && names[1].starts_with("plugin "), "{names:?}");
    held.accept();
    assert_eq!(held.changes(), []);
    std::fs::remove_file(paths.home.join("permissions.yaml")).unwrap();
    assert_eq!(held.changes().len(), 1);
}

#[test]
fn whatever_a_plugin_may_load_counts_however_much_it_is() {
    let (dir, paths) = home();
    let plugin = paths.plugins().join("p");
    for number in 0..450 {
        write(&plugin.join(format!("many/{number:03}.py")), "one");
    }
    let large = 5 << 20;
    write(&plugin.join("large.so"), &"x".repeat(large));
    let deep = "a/b/c/d/e/f/g/h/i.py";
    for name in
        ["node_modules/x/index.js", ".venv/lib/x.py", "__pycache__/x.pyc", "x.log/x.py", deep, ".git/index", "run.log"]
    {
        write(&plugin.join(name), "one");
    }
    let mut held = PolicyFiles::read(&paths, dir.path(), std::slice::from_ref(&plugin));
    assert_eq!(held.changes(), []);
    for idle in [".git/index", "run.log"] {
        write(&plugin.join(idle), "other");
        assert_eq!(held.changes(), [], "{idle} is never loaded");
    }
    for (name, shown) in [
        ("node_modules/x/index.js", "+./node_modules/x  1 file too large to compare"),
        (".venv/lib/x.py", "+./.venv/lib  1 file too large to compare"),
        ("__pycache__/x.pyc", "+./__pycache__  1 file too large to compare"),
        ("many/001.py", "+many/001.py  "),
        ("many/449.py", "+./many  "),
        ("x.log/x.py", "+./x.log  1 file too large to compare"),
        (deep, "+a/b/c/d/e/f/g/h/i.py  "),
    ] {
        write(&plugin.join(name), "other");
        let changes = held.changes();
        assert!(changes.len() == 1 && changes[0].diff.contains(shown), "{name}: {changes:?}");
        held.accept();
    }
    // The last byte of many, which leaves the size as it was; a clock that ticks slowly is helped along.
    write(&plugin.join("large.so"), &("x".repeat(large - 1) + "y"));
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(10);
    std::fs::File::options().write(true).open(plugin.join("large.so")).unwrap().set_modified(later).unwrap();
    let changes = held.changes();
    assert!(changes.len() == 1 && changes[0].diff.contains("+./  1 file too large to compare"), "{changes:?}");
}

#[test]
fn own_writes_count_as_read_unless_somebody_else_wrote_before() {
    let (dir, paths) = home();
    let config = paths.config();
    write(&config, "approvals: {mode: manual}\n");
    let mut held = PolicyFiles::read(&paths, dir.path(), &[]);
    PolicyFiles::ours(&mut [&mut held], || write(&config, "approvals: {mode: manual}\ncommand_allowlist: [ls]\n"));
    assert_eq!(held.changes(), []);
    write(&config, "approvals: {mode: off}\ncommand_allowlist: [ls]\n");
    PolicyFiles::ours(&mut [&mut held], || write(&config, "approvals: {mode: off}\ncommand_allowlist: [ls, more]\n"));
    assert_eq!(held.changes().len(), 1);
}

#[test]
fn a_version_names_the_content_that_was_shown_and_no_other() {
    let (dir, paths) = home();
    let config = paths.config();
    write(&config, "approvals: {mode: manual}\n");
    let mut held = PolicyFiles::read(&paths, dir.path(), &[]);
    assert_eq!(version(&held.changes()), "");
    write(&config, "approvals: {mode: off}\n");
    let shown = version(&held.changes());
    assert!(held.is_untouched());
    write(&config, "approvals: {mode: off, deny: [x]}\n");
    assert!(!held.is_untouched());
    assert_ne!(version(&held.changes()), shown);
    write(&config, "approvals: {mode: off}\ndisplay: {skin: x}\n");
    assert_eq!(version(&held.changes()), shown, "what does not count is another matter");
    // A secret that is not shown is another content all the same.
    let with = |secret: &str| format!("mcp_servers: {{git: {{command: git-mcp, env: {{K: {secret}}}}}}}\n");
    write(&config, &with("hunter2-secret"));
    let one = held.changes();
    write(&config, &with("hunter3-secret!"));
    let other = held.changes();
    assert_ne!(version(&one), version(&other));
    assert!(!format!("{one:?}{other:?}").contains("hunter"));
    // The files that count now; what was not shown is no part of it.
    held.accept();
    write(&config, &with("other"));
    held.replaced_by(PolicyFiles::read(&paths, dir.path(), &[]));
    assert_eq!(held.changes().len(), 1);
}

#[test]
fn a_look_is_cheap() {
    let (dir, paths) = home();
    write(&paths.config(), "approvals: {mode: manual}\n");
    let mut held = PolicyFiles::read(&paths, dir.path(), &[]);
    let began = std::time::Instant::now();
    for _ in 0..1000 {
        assert!(held.changes().is_empty());
    }
    // Five `stat`s: far below this on any disk, even with a busy machine and unoptimised code.
    assert!(began.elapsed() < std::time::Duration::from_secs(2), "{:?}", began.elapsed());
}
