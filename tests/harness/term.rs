//! The built program in a real PTY, its screen read by a terminal emulator.

use super::{Home, PATIENCE, binary, until};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex};

/// A running program and its terminal.
pub struct Term {
    screen: Arc<Mutex<Shown>>,
    writer: Box<dyn std::io::Write + Send>,
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
}

struct Shown {
    parser: vt100::Parser,
    bytes: usize,
    raw: Vec<u8>,
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
    pub fn with_env(home: &Home, args: &[&str], (cols, rows): (u16, u16), more: &[(String, String)]) -> Self {
        let pty = native_pty_system().openpty(PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }).unwrap();
        let mut command = CommandBuilder::new(binary());
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
        let shown = Shown { parser: vt100::Parser::new(size(rows), size(cols), 0), bytes: 0, raw: Vec::new() };
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
                let mut seen = seen.lock().unwrap();
                seen.bytes += n;
                seen.raw.extend_from_slice(&buffer[..n]);
                let bytes = &buffer[..n];
                seen.parser.process(bytes);
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
        self.screen.lock().unwrap().bytes
    }

    /// Waits until the text is on the screen.
    pub fn wait(&self, text: &str) -> &Self {
        let stop = std::time::Instant::now() + PATIENCE;
        while !self.text().contains(text) {
            assert!(std::time::Instant::now() < stop, "no {text:?} on the screen:\n{}", self.text());
            std::thread::park_timeout(std::time::Duration::from_millis(5));
        }
        self
    }

    /// Waits until the text is gone.
    pub fn gone(&self, text: &str) -> &Self {
        let stop = std::time::Instant::now() + PATIENCE;
        while self.text().contains(text) {
            assert!(std::time::Instant::now() < stop, "{text:?} stays on the screen:\n{}", self.text());
            std::thread::park_timeout(std::time::Duration::from_millis(5));
        }
        self
    }

    /// Waits until nothing was sent for a while: the keys are quiet and the screen is settled.
    pub fn settled(&self, millis: u64) -> &Self {
        let quiet = std::time::Duration::from_millis(millis);
        let (mut last, mut since) = (self.bytes(), std::time::Instant::now());
        let stop = since + PATIENCE;
        while since.elapsed() < quiet && std::time::Instant::now() < stop {
            std::thread::park_timeout(std::time::Duration::from_millis(5));
            if self.bytes() != last {
                (last, since) = (self.bytes(), std::time::Instant::now());
            }
        }
        self
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

    /// Waits for its end; the exit code.
    pub fn ended(&mut self) -> u32 {
        let mut code = None;
        until("the program ends", || {
            code = self.child.try_wait().unwrap().map(|status| status.exit_code());
            code.is_some()
        });
        code.unwrap()
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        // Only what this test started.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
