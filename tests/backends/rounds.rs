//! How often another machine is asked: each question is a round trip.

use super::alone;
use super::*;
use crate::harness::{Sshd, skipped};
use std::os::unix::fs::PermissionsExt;

/// Notes what the link is asked and which clients are started, and is the real `ssh` otherwise.
const COUNTING: &str = r#"#!/bin/sh
here=${0%/*}
PATH=${PATH#"$here":}
echo "$*" >>"$here/clients"
case " $* " in *" -T "*) tee -a "$here/asked" | ssh "$@"; exit;; esac
exec ssh "$@"
"#;

/// Questions to the link, and clients, so far.
fn counted(folder: &Path) -> (usize, usize) {
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    (text("asked").matches("\nprintf '\\n%s %d\\n' ").count(), text("clients").lines().count())
}

#[test]
fn a_warm_command_costs_four_questions_and_one_client() {
    let test = "backends::rounds::a_warm_command_costs_four_questions_and_one_client";
    let Some(folder) = alone::again(test, |folder| {
        let program = folder.join("ssh");
        std::fs::write(&program, COUNTING).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Vec::new()
    }) else {
        return;
    };
    let Ok(sshd) = Sshd::start().map_err(|why| skipped(test, &why)) else { return };
    let site = Site::new(super::ssh::terminal(&sshd));
    site.prints("echo warm");
    let cost = |work: &dyn Fn()| {
        let before = counted(&folder);
        work();
        let after = counted(&folder);
        (after.0 - before.0, after.1 - before.1)
    };
    let plain = cost(&|| assert_eq!(site.prints("echo x"), "x"));
    let background = cost(&|| {
        let started = site.call("terminal", json!({"command": "exit 3", "background": true}));
        let id = started["session_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned();
        site.call("process", json!({"action": "wait", "session_id": id, "timeout": 40}));
    });
    site.gate.set_mode(Mode::Ask);
    let judged = cost(&|| assert_eq!(site.prints("cat /etc/hostname >/dev/null; echo x"), "x"));
    // Where it leads, the same again before it runs, its line handed over, and what it left.
    assert_eq!((plain, background, judged), ((4, 1), (4, 1), (4, 1)));
}
