//! A real sshd on loopback with keys of its own, behind a door that can be closed: connections break as they do on a bad line.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The server; gone with the value, and with it all that was started through it.
pub struct Sshd {
    root: tempfile::TempDir,
    server: Child,
    port: u16,
    open: Arc<AtomicBool>,
    lines: Arc<Mutex<Vec<TcpStream>>>,
}

fn program() -> Option<PathBuf> {
    ["/usr/sbin/sshd", "/usr/bin/sshd"].iter().map(PathBuf::from).find(|path| path.is_file())
}

fn made(program: &str, args: &[&str]) -> bool {
    let done =
        Command::new(program).args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    done.is_ok_and(|status| status.success())
}

impl Sshd {
    /// Starts it; the reason when this machine has none.
    pub fn start() -> Result<Self, String> {
        Self::start_with("")
    }

    /// The same with more lines of configuration.
    pub fn start_with(more: &str) -> Result<Self, String> {
        let program = program().ok_or("no sshd here (Debian openssh-server)")?;
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name).display().to_string();
        for name in ["host", "user"] {
            if !made("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", &at(name)]) {
                return Err("ssh-keygen makes no keys here".into());
            }
        }
        std::fs::copy(at("user.pub"), at("authorized")).unwrap();
        std::fs::create_dir(at("home")).unwrap();
        // Only root's server separates itself, and wants this folder for it.
        std::fs::create_dir_all("/run/sshd").ok();
        let behind = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let config = format!(
            "ListenAddress 127.0.0.1\nPort {behind}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\n\
             StrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\nMaxSessions 100\n\
             MaxStartups 100\nPrintMotd no\nPrintLastLog no\nSetEnv HOME={} XDG_STATE_HOME={}\n{more}",
            at("host"),
            at("authorized"),
            at("home"),
            at("home/.state"),
        );
        std::fs::write(at("sshd_config"), config).unwrap();
        let log = std::fs::File::create(at("log")).unwrap();
        let server = Command::new(program)
            .args(["-D", "-e", "-f", &at("sshd_config")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(|error| error.to_string())?;
        let door = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = door.local_addr().unwrap().port();
        let (open, lines) = (Arc::new(AtomicBool::new(true)), Arc::<Mutex<Vec<TcpStream>>>::default());
        let (its_open, its_lines) = (Arc::clone(&open), Arc::clone(&lines));
        std::thread::spawn(move || serve(&door, behind, &its_open, &its_lines));
        let mut sshd = Self { root, server, port, open, lines };
        sshd.write_client();
        let mut tries = 0;
        while TcpStream::connect(("127.0.0.1", behind)).is_err() {
            tries += 1;
            if tries > 500 || sshd.server.try_wait().unwrap().is_some() {
                return Err(format!(
                    "sshd does not run here: {}",
                    std::fs::read_to_string(sshd.root.path().join("log")).unwrap()
                ));
            }
            std::thread::park_timeout(std::time::Duration::from_millis(10));
        }
        Ok(sshd)
    }

    fn write_client(&self) {
        let host = std::fs::read_to_string(self.root.path().join("host.pub")).unwrap();
        std::fs::write(self.root.path().join("known"), format!("[127.0.0.1]:{} {host}", self.port)).unwrap();
        let config = format!(
            "Host there\n  HostName 127.0.0.1\n  Port {}\n  IdentityFile {}\n  IdentitiesOnly yes\n  UserKnownHostsFile {}\n  \
             StrictHostKeyChecking yes\n",
            self.port,
            self.root.path().join("user").display(),
            self.root.path().join("known").display(),
        );
        std::fs::write(self.root.path().join("ssh_config"), config).unwrap();
    }

    /// The configuration with the host `there`, as a person would have it.
    pub fn client_config(&self) -> PathBuf {
        self.root.path().join("ssh_config")
    }

    /// Hosts whose keys the person knows.
    pub fn known_hosts(&self) -> PathBuf {
        self.root.path().join("known")
    }

    /// The key that opens it.
    pub fn key(&self) -> PathBuf {
        self.root.path().join("user")
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The home folder of who logs in.
    pub fn home(&self) -> PathBuf {
        self.root.path().join("home").canonicalize().unwrap()
    }

    /// Breaks every connection; none is made until the door opens.
    pub fn cut(&self) {
        self.open.store(false, Ordering::SeqCst);
        for line in self.lines.lock().unwrap().drain(..) {
            let _ = line.shutdown(Shutdown::Both);
        }
    }

    /// Lets connections in again.
    pub fn mend(&self) {
        self.open.store(true, Ordering::SeqCst);
    }
}

fn serve(door: &TcpListener, behind: u16, open: &AtomicBool, lines: &Mutex<Vec<TcpStream>>) {
    while let Ok((from, _)) = door.accept() {
        if !open.load(Ordering::SeqCst) {
            continue;
        }
        let Ok(to) = TcpStream::connect(("127.0.0.1", behind)) else { continue };
        for stream in [&from, &to] {
            stream.set_nodelay(true).unwrap();
            lines.lock().unwrap().push(stream.try_clone().unwrap());
        }
        for (mut read, mut write) in [(from.try_clone().unwrap(), to.try_clone().unwrap()), (to, from)] {
            std::thread::spawn(move || {
                let mut buffer = [0; 64 * 1024];
                while let Ok(count @ 1..) = read.read(&mut buffer) {
                    if write.write_all(&buffer[..count]).is_err() {
                        break;
                    }
                }
                let _ = write.shutdown(Shutdown::Both);
            });
        }
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.cut();
        // Sessions end with their connections; the server is ours.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Whether a process runs; a zombie does not.
pub fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z ") && !stat.contains(") X "))
}
