//! The built program in a real PTY, its screen read by a terminal emulator.

use super::{Home, PATIENCE, binary, until};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A running program and its terminal.
pub struct Term {
    screen: Arc<Mutex<Shown>>,
    writer: Box<dyn std::io::Write + Send>,
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
}

struct Shown {
    parser: vt100::Parser,
    raw: Vec<u8>,
    /// A frame that is not whole yet: as on a terminal that knows synchronized updates, nothing of it shows.
    held: Vec<u8>,
    /// Whole frames so far: ends of synchronized updates.
    frames: usize,
}

/// What begins and ends a frame.
const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";

/// Where a sequence begins in these bytes; also one of which only a part has come.
fn find(bytes: &[u8], sequence: &[u8]) -> Option<usize> {
    (0..bytes.len())
        .find(|at| bytes[*at] == sequence[0] && sequence.starts_with(&bytes[*at..bytes.len().min(at + sequence.len())]))
}

impl Shown {
    fn take(&mut self, bytes: &[u8]) {
        self.raw.extend_from_slice(bytes);
        self.held.extend_from_slice(bytes);
        while let Some(end) = self.held.windows(END.len()).position(|window| window == END) {
            self.frames += 1;
            let frame: Vec<u8> = self.held.drain(..end + END.len()).collect();
            self.parser.process(&frame);
        }
        let open = find(&self.held, BEGIN).unwrap_or(self.held.len());
        let rest: Vec<u8> = self.held.drain(..open).collect();
        self.parser.process(&rest);
    }
}

/// What a terminal is set to besides its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modes {
    /// Lines are edited by the terminal and echoed.
    pub cooked: bool,
    pub main_screen: bool,
    pub cursor: bool,
    pub mouse: bool,
    pub bracketed_paste: bool,
    /// Kitty's key flags that were pushed and not popped.
    pub keys: usize,
    /// Focus is reported.
    pub focus: bool,
}

impl Modes {
    /// As a shell has it.
    pub const SHELL: Self = Self {
        cooked: true,
        main_screen: true,
        cursor: true,
        mouse: false,
        bracketed_paste: false,
        keys: 0,
        focus: false,
    };
}

impl Term {
    /// Starts the program with these arguments at 120×40.
    pub fn start(home: &Home, args: &[&str]) -> Self {
        Self::sized(home, args, (120, 40))
    }

    /// Starts it in a terminal of this size.
    pub fn sized(home: &Home, args: &[&str], size: (u16, u16)) -> Self {
        Self::with_env(home, args, size, &[])
    }

    /// The same with more variables in its environment.
    pub fn with_env(home: &Home, args: &[&str], size: (u16, u16), more: &[(String, String)]) -> Self {
        Self::run(home, binary(), args, size, more)
    }

    /// Starts another program (a shell) as the terminal's first one.
    pub fn run(home: &Home, program: &str, args: &[&str], (cols, rows): (u16, u16), more: &[(String, String)]) -> Self {
        let pty = native_pty_system().openpty(PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }).unwrap();
        let mut command = CommandBuilder::new(program);
        command.args(args);
        command.env_clear();
        for (name, value) in home.environment() {
            command.env(name, value);
        }
        for (name, value) in more {
            command.env(name, value);
        }
        command.cwd(home.project());
        let child = pty.slave.spawn_command(command).unwrap();
        drop(pty.slave);
        let size = |n: u16| NonZeroU16::new(n).unwrap();
        let shown = Shown {
            parser: vt100::Parser::new(size(rows), size(cols), 0),
            raw: Vec::new(),
            held: Vec::new(),
            frames: 0,
        };
        let screen = Arc::new(Mutex::new(shown));
        let mut reader = pty.master.try_clone_reader().unwrap();
        let writer = pty.master.take_writer().unwrap();
        let seen = Arc::clone(&screen);
        std::thread::spawn(move || {
            let mut buffer = vec![0; 65536];
            while let Ok(n) = reader.read(&mut buffer) {
                if n == 0 {
                    break;
                }
                seen.lock().unwrap().take(&buffer[..n]);
            }
        });
        Self { screen, writer, master: pty.master, child }
    }

    /// The screen as text, rows without trailing blanks.
    pub fn text(&self) -> String {
        let shown = self.screen.lock().unwrap();
        let screen = shown.parser.screen();
        let (_, cols) = screen.size();
        screen.rows(0, cols.into()).map(|row| row.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    }

    /// Everything that was ever sent, for looking at sequences.
    pub fn raw(&self) -> Vec<u8> {
        self.screen.lock().unwrap().raw.clone()
    }

    /// Bytes sent so far.
    pub fn bytes(&self) -> usize {
        self.screen.lock().unwrap().raw.len()
    }

    /// Waits until the text is on the screen.
    pub fn wait(&self, text: &str) -> &Self {
        let stop = std::time::Instant::now() + PATIENCE;
        while !self.text().contains(text) {
            assert!(std::time::Instant::now() < stop, "no {text:?} on the screen:\n{}", self.text());
            std::thread::park_timeout(Duration::from_millis(5));
        }
        self
    }

    /// Waits until the text is gone.
    pub fn gone(&self, text: &str) -> &Self {
        let stop = std::time::Instant::now() + PATIENCE;
        while self.text().contains(text) {
            assert!(std::time::Instant::now() < stop, "{text:?} stays on the screen:\n{}", self.text());
            std::thread::park_timeout(Duration::from_millis(5));
        }
        self
    }

    /// Waits for a condition of the screen's text.
    pub fn shows(&self, what: &str, fits: impl Fn(&str) -> bool) -> &Self {
        let stop = std::time::Instant::now() + PATIENCE;
        while !fits(&self.text()) {
            assert!(std::time::Instant::now() < stop, "never: {what}\n{}", self.text());
            std::thread::park_timeout(Duration::from_millis(5));
        }
        self
    }

    /// Whole frames that were drawn so far.
    pub fn frames(&self) -> usize {
        self.screen.lock().unwrap().frames
    }

    /// Waits until more frames than this were drawn.
    pub fn drawn_after(&self, frames: usize) -> &Self {
        until("another frame", || self.frames() > frames);
        self
    }

    /// What the terminal is set to.
    pub fn modes(&self) -> Modes {
        use rustix::termios::LocalModes;
        let lines = (LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG).bits();
        let cooked = self.master.get_termios().is_some_and(|set| set.local_flags.bits() & lines == lines);
        let shown = self.screen.lock().unwrap();
        let times = |sequence: &str| shown.raw.windows(sequence.len()).filter(|w| *w == sequence.as_bytes()).count();
        let screen = shown.parser.screen();
        Modes {
            cooked,
            main_screen: !screen.alternate_screen(),
            cursor: !screen.hide_cursor(),
            mouse: screen.mouse_protocol_mode() != vt100::MouseProtocolMode::None,
            bracketed_paste: screen.bracketed_paste(),
            keys: times("\x1b[>1u").saturating_sub(times("\x1b[<1u")),
            focus: times("\x1b[?1004h") > times("\x1b[?1004l"),
        }
    }

    /// The most memory that the program ever had, in bytes.
    pub fn peak(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// Sends bytes as typed.
    pub fn send(&mut self, keys: &str) -> &mut Self {
        self.writer.write_all(keys.as_bytes()).unwrap();
        self.writer.flush().unwrap();
        self
    }

    /// A bracketed paste.
    pub fn paste(&mut self, text: &str) -> &mut Self {
        self.send(&format!("\x1b[200~{text}\x1b[201~"))
    }

    /// Another size.
    pub fn resize(&mut self, cols: u16, rows: u16) -> &mut Self {
        let size = |n: u16| NonZeroU16::new(n).unwrap();
        self.screen.lock().unwrap().parser.set_size(size(rows), size(cols));
        self.master.resize(PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }).unwrap();
        self
    }

    pub fn pid(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Sends a signal by number.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.pid() as i32).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Ends it with SIGKILL, as a crash would.
    pub fn kill(&mut self) {
        self.signal(rustix::process::Signal::KILL);
        self.child.wait().unwrap();
    }

    /// Leaves as a person does who sees that nothing runs.
    pub fn quit(&mut self) -> &mut Self {
        self.wait("Ask anything");
        self.send("\x04")
    }

    /// Waits for its end; the exit code.
    pub fn ended(&mut self) -> u32 {
        let stop = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.exit_code();
            }
            assert!(Instant::now() < stop, "the program goes on:\n{}", self.text());
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        // Only what this test started.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
