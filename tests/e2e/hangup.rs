//! A terminal that goes away without a word: its other side is closed, and no signal tells.

use crate::harness::{Home, Mock, PATIENCE, Step, binary};
use rustix::fs::OFlags;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

const ROWS: u16 = 40;
const COLUMNS: u16 = 120;

/// Milliseconds of processor time of a process, ended ones included until they are waited for.
fn processor(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // The name may hold anything; user and system time are the 12th and 13th field after it, in hundredths of a second.
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().collect();
    (fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()) * 10
}

/// The program on a terminal that controls it or does not, with SIGHUP ignored from the start.
fn start(home: &Home, controlled: bool) -> (OwnedFd, Child) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let size = rustix::termios::Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&master, size).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let slave =
        std::fs::File::options().read(true).write(true).custom_flags(OFlags::NOCTTY.bits() as i32).open(name).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\""]).arg(binary());
    command.env_clear().envs(home.environment()).current_dir(home.project());
    command.stdin(slave.try_clone().unwrap()).stdout(slave.try_clone().unwrap()).stderr(slave.try_clone().unwrap());
    // SAFETY: two plain system calls between fork and exec; standard input is open.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            if controlled {
                let fd = std::os::fd::BorrowedFd::borrow_raw(0);
                rustix::process::ioctl_tiocsctty(fd)?;
            }
            Ok(())
        });
    }
    let child = command.spawn().unwrap();
    let flags = rustix::fs::fcntl_getfl(&master).unwrap();
    rustix::fs::fcntl_setfl(&master, flags | OFlags::NONBLOCK).unwrap();
    (master, child)
}

/// Reads what the program draws until the text is on the screen.
fn wait(master: &OwnedFd, screen: &mut vt100::Parser, text: &str) {
    let stop = Instant::now() + PATIENCE;
    while !screen.screen().contents().contains(text) {
        assert!(Instant::now() < stop, "no {text:?} in {}", screen.screen().contents());
        let mut buffer = [0; 65536];
        match rustix::io::read(master, &mut buffer) {
            Ok(count) => screen.process(&buffer[..count]),
            Err(_) => std::thread::park_timeout(Duration::from_millis(5)),
        }
    }
}

fn ends_quietly(controlled: bool) {
    let story = "words that keep coming. ".repeat(4000);
    let mock = Mock::start(vec![Step::Slow(story, Duration::from_millis(4))]);
    let home = Home::with(&mock, "");
    let (master, mut child) = start(&home, controlled);
    let size = |n: u16| std::num::NonZeroU16::new(n).unwrap();
    let mut screen = vt100::Parser::new(size(ROWS), size(COLUMNS), 0);
    wait(&master, &mut screen, "❯");
    rustix::io::write(&master, b"tell me a zebra story\r").unwrap();
    wait(&master, &mut screen, "coming");
    rustix::io::write(&master, b"an unsent giraffe").unwrap();
    wait(&master, &mut screen, "giraffe");
    let before = processor(child.id());
    drop(master);
    let pid = Pid::from_raw(child.id() as i32).unwrap();
    let stop = Instant::now() + PATIENCE;
    let gone = || waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG);
    while gone().unwrap().is_none() {
        if Instant::now() > stop {
            child.kill().unwrap();
            panic!("it goes on without a terminal");
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
    let used = processor(child.id()) - before;
    child.wait().unwrap();
    assert!(used < 500, "{used} ms of processor time to leave");
    let found = home.run(&["sessions", "search", "zebra", "--json"]);
    assert!(String::from_utf8_lossy(&found.stdout).contains("session_id"), "the session is saved");
    let term = crate::harness::Term::start(&home, &["-c"]);
    term.wait("zebra story").wait("words that keep coming").wait("an unsent giraffe");
}

#[test]
#[cfg(target_os = "linux")]
fn a_closed_terminal_ends_the_program_without_a_signal() {
    ends_quietly(false);
}

#[test]
#[cfg(target_os = "linux")]
fn a_closed_terminal_ends_the_program_that_was_told_to_ignore_hangups() {
    ends_quietly(true);
}
