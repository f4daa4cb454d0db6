//! What commands leave behind: orphans are waited for, and the children of others are not.

use crate::exec::process::kin::{Unclaimed, adopt_orphans};
use crate::exec::process::procfs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Waits for a condition of the system.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let stop = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < stop, "never: {what}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

fn is_zombie(pid: u32) -> bool {
    procfs::stat(pid).is_some_and(|stat| stat.zombie)
}

#[test]
fn orphans_are_waited_for_and_the_children_of_others_are_not() {
    adopt_orphans();
    // Ours, which somebody waits for later: in our session, and leading one.
    let mut plain = Command::new("true").spawn().unwrap();
    let mut leads = Command::new("true");
    crate::exec::process::spawn::lead_session(&mut leads, None);
    let mut leads = leads.spawn().unwrap();
    // One that leaves an orphan in its session.
    let mut parent = Command::new("sh");
    parent.args(["-c", "sleep 0.05 & echo $!"]).stdout(Stdio::piped());
    crate::exec::process::spawn::lead_session(&mut parent, None);
    let output = parent.spawn().unwrap().wait_with_output().unwrap();
    let orphan: u32 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    until("all have ended", || [plain.id(), leads.id(), orphan].into_iter().all(is_zombie));
    let unclaimed = Unclaimed::default();
    let now = Instant::now();
    unclaimed.sweep(now);
    assert_eq!(procfs::stat(orphan), None, "it is gone");
    assert!(is_zombie(plain.id()) && is_zombie(leads.id()));
    unclaimed.sweep(now + Duration::from_secs(5));
    assert!(plain.wait().unwrap().success() && leads.wait().unwrap().success());
    // One that nobody waits for goes after a while.
    let forgotten = Command::new("true").spawn().unwrap().id();
    until("it has ended", || is_zombie(forgotten));
    unclaimed.sweep(now);
    assert!(is_zombie(forgotten));
    unclaimed.sweep(now + Duration::from_secs(10));
    assert_eq!(procfs::stat(forgotten), None);
}
