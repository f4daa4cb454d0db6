//! The way into a sandbox over a gateway of SSH that knows who comes by the name of the user, and gives no terminal to a
//! command: the terminal is made there, by `script`.

use super::backend::{Backend as _, Leaving, PlaceError, Programs, Terminal, Traits};
use super::script::shell_word;
use super::ssh::Ssh;
use crate::config::TerminalConfig;
use crate::exec::{Hidden, Limits, Oneshot, OutputLimit, Remainder, Scratch};
use std::fmt::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// What the gateway is called in the configuration that is written for it.
const NAME: &str = "gateway";
/// How long a gateway may lag behind the service, and the pause between two tries.
const LAG: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(500);
/// The terminal here is one of a line: all keys go there. Its size goes along as two words at the end.
const HERE: &str = r#"s=$(stty size 2>/dev/null) || s=
stty raw -echo 2>/dev/null
exec "$@" "$s""#;
/// Makes the terminal there by `script` of util-linux; where that is not, a session at least, which the gateway does not
/// make and by whose number all of it is found.
const THERE: &str = r#"if script --version 2>/dev/null | grep -q util-linux; then
unset SHELL
exec script -qefc "stty sane rows ${2:-24} cols ${3:-80} 2>/dev/null; exec $1" /dev/null
fi
command -v setsid >/dev/null 2>&1 || exec sh -c "exec $1"
setsid sh -c "exec $1"
exit $?"#;

/// Where a gateway is, and who comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gateway {
    host: String,
    port: Option<u16>,
    token: Hidden,
}

impl Gateway {
    /// Reads the command that a service shows to people: `ssh [-p PORT] TOKEN@HOST`.
    ///
    /// # Errors
    /// When it is of another form.
    pub(crate) fn read(line: &str) -> Result<Self, String> {
        let unknown = || "the service returned an unknown form of SSH gateway".to_owned();
        let plain = |text: &str| {
            let safe = |b: u8| b.is_ascii_alphanumeric() || b"-_.:".contains(&b);
            !text.is_empty() && !text.starts_with('-') && text.bytes().all(safe)
        };
        let mut words = line.split_whitespace();
        if words.next() != Some("ssh") {
            return Err(unknown());
        }
        let (mut port, mut there) = (None, None);
        while let Some(word) = words.next() {
            match word {
                "-p" => port = Some(words.next().and_then(|port| port.parse().ok()).ok_or_else(unknown)?),
                word if there.is_none() && !word.starts_with('-') => there = word.rsplit_once('@'),
                _ => return Err(unknown()),
            }
        }
        match there {
            Some((token, host)) if plain(token) && plain(host) => {
                Ok(Self { host: host.to_owned(), port, token: Hidden::new(token.to_owned()) })
            }
            _ => Err(unknown()),
        }
    }

    /// What `ssh` needs to know. No key of the person is offered there: the token says who comes. A gateway that was never
    /// seen is taken on trust, and known from then on.
    fn config(&self, known: &Path) -> String {
        let mut text = format!("Host {NAME}\n  HostName {}\n  User {}\n", self.host, self.token.reveal());
        if let Some(port) = self.port {
            let _ = writeln!(text, "  Port {port}");
        }
        let _ = write!(
            text,
            "  UserKnownHostsFile \"{}\"\n  GlobalKnownHostsFile none\n  StrictHostKeyChecking accept-new\n  PubkeyAuthentication no\n  \
             PasswordAuthentication no\n  KbdInteractiveAuthentication no\n  IdentityAgent none\n  ForwardAgent no\n",
            known.display()
        );
        text
    }
}

/// A way in: `ssh` with a configuration of its own. Gone with the value.
pub(crate) struct Door {
    gateway: Gateway,
    ssh: Ssh,
    programs: Programs,
    /// Holds the configuration, and so the token: no other user reads it, and it stands in no list of processes.
    _folder: Scratch,
}

impl Door {
    /// `known` is the folder that keeps the key of the gateway.
    ///
    /// # Errors
    /// When its files cannot be written.
    pub(crate) fn new(gateway: Gateway, known: &Path, programs: &Programs) -> Result<Self, String> {
        let failed = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        std::fs::create_dir_all(known).map_err(|error| failed(known, &error))?;
        let temp = std::env::temp_dir();
        let folder = Scratch::new(&temp, "place").map_err(|error| failed(&temp, &error))?;
        let path = folder.path().join("config");
        write(&path, &gateway.config(&known.join("known_hosts"))).map_err(|error| failed(&path, &error))?;
        let config = TerminalConfig {
            ssh_host: NAME.to_owned(),
            ssh_extra_args: vec!["-F".to_owned(), path.display().to_string()],
            ..TerminalConfig::default()
        };
        let ssh =
            Ssh::new(&config, programs.clone(), Traits::default()).map_err(|error: PlaceError| error.to_string())?;
        Ok(Self { gateway, ssh, programs: programs.clone(), _folder: folder })
    }

    pub(crate) fn token(&self) -> &str {
        self.gateway.token.reveal()
    }

    /// The client that runs these words there.
    pub(crate) fn client(&self, words: &[&str], terminal: Terminal) -> Command {
        let line: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
        let line = line.join(" ");
        match terminal {
            Terminal::None => self.ssh.client(words, Terminal::None),
            Terminal::Output | Terminal::Full => {
                self.on_terminal(&self.ssh.client(&["sh", "-c", THERE, "sh", &line], Terminal::None))
            }
        }
    }

    /// The client on a terminal here.
    fn on_terminal(&self, client: &Command) -> Command {
        let mut command = self.programs.command("/bin/sh");
        command.args(["-c", HERE, "sh"]).arg(client.get_program()).args(client.get_args());
        command
    }

    /// Waits until the other side lets in: it lags behind the service's word that the sandbox is there. The reason, when it
    /// never does, is told to who comes next.
    ///
    /// # Errors
    /// When the place is being left.
    pub(crate) fn wait(&self, leaving: &Leaving) -> Result<(), String> {
        let deadline = Instant::now() + LAG;
        loop {
            let command = self.ssh.client(&["true"], Terminal::None);
            let bounds = Limits { time: LAG, stdout: OutputLimit::Last(0), stderr: OutputLimit::Last(0) };
            // The connection that it makes carries all that follows.
            let once = Oneshot { command, input: Vec::new(), bounds, rest: Remainder::Stays };
            if once.block(&|| leaving.is_set()).is_ok_and(|done| done.status.success()) || Instant::now() > deadline {
                return Ok(());
            }
            leaving.pause(PAUSE)?;
        }
    }

    /// Ends the connection.
    pub(crate) fn close(&self) {
        let _always_good = self.ssh.stop();
    }
}

fn write(path: &PathBuf, text: &str) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    std::io::Write::write_all(&mut file, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_command_of_ssh_names_a_gateway() {
        let read = Gateway::read("ssh -p 2222 tok_EN-1@gate.example").unwrap();
        assert_eq!((read.host.as_str(), read.port, read.token.reveal()), ("gate.example", Some(2222), "tok_EN-1"));
        assert_eq!(Gateway::read("ssh t@127.0.0.1").unwrap().port, None);
        for line in [
            "",
            "scp t@h",
            "ssh h",
            "ssh @h",
            "ssh -p x t@h",
            "ssh -oProxyCommand=id t@h",
            "ssh t@-oProxyCommand=id",
            "ssh t@h extra",
            "ssh t;id@h",
            "ssh t@h\u{0}",
        ] {
            assert!(Gateway::read(line).is_err(), "{line}");
        }
    }

    #[test]
    fn the_token_stands_in_a_private_file_and_in_no_list_of_arguments() {
        use std::os::unix::fs::PermissionsExt as _;
        let known = tempfile::tempdir().unwrap();
        let gateway = Gateway::read("ssh -p 2222 secret-token@gate.example").unwrap();
        let door = Door::new(gateway, known.path(), &Programs::default()).unwrap();
        for terminal in [Terminal::None, Terminal::Output, Terminal::Full] {
            let command = door.client(&["sh", "/a b/run"], terminal);
            let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
            assert!(!words.join(" ").contains("secret-token"), "{words:?}");
            let at = words.iter().position(|word| word == "-F").unwrap();
            let config = std::fs::read_to_string(&words[at + 1]).unwrap();
            assert!(config.contains("User secret-token\n  Port 2222\n"), "{config}");
            assert!(config.contains("StrictHostKeyChecking accept-new") && config.contains("PubkeyAuthentication no"));
            let mode = std::fs::metadata(&words[at + 1]).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }
}
