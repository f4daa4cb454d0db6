//! A machine that the system's OpenSSH reaches, with the user's own configuration: jump hosts, keys and host keys are
//! theirs. One connection carries all commands (`ControlMaster`).

use super::backend::{Backend, PlaceError, Programs, Terminal, Traits};
use super::script::shell_word;
use crate::config::TerminalConfig;
use crate::exec::Scratch;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

/// The exit code of `ssh` when the connection could not be made or broke.
pub(crate) const BROKEN: i32 = 255;
/// The longest path that a socket may have on every system, less what `ssh` adds while it makes one.
const SOCKET: usize = 100 - 40 - 18;

/// `ssh`.
pub(crate) struct Ssh {
    traits: Traits,
    programs: Programs,
    /// Options and the host.
    words: Vec<String>,
    /// When the configuration names one.
    port: Option<u16>,
    /// Where the sockets of connections are; gone with this program.
    sockets: OnceLock<Option<Scratch>>,
}

impl Ssh {
    /// # Errors
    /// When no host is configured.
    pub(crate) fn new(config: &TerminalConfig, programs: Programs, mut traits: Traits) -> Result<Self, PlaceError> {
        let host = config.ssh_host.trim();
        if host.is_empty() {
            return Err(PlaceError::Config(
                "terminal.ssh_host is empty: set it to a host or an alias in ~/.ssh/config".into(),
            ));
        }
        if host.starts_with('-') || config.ssh_user.starts_with('-') {
            return Err(PlaceError::Config(format!(
                "terminal.ssh_host is `{host}`, which ssh would read as an option"
            )));
        }
        let user = config.ssh_user.trim();
        traits.label = if user.is_empty() { format!("ssh {host}") } else { format!("ssh {user}@{host}") };
        traits.broken = Some(BROKEN);
        // On the other machine a folder named in the configuration counts as it is.
        traits.cwd = Some(config.cwd.trim()).filter(|cwd| cwd.starts_with('/')).map(PathBuf::from);
        let mut words: Vec<String> = Vec::new();
        let mut option = |text: String| words.extend(["-o".to_owned(), text]);
        option("ConnectTimeout=10".into());
        option("ServerAliveInterval=15".into());
        option("ServerAliveCountMax=3".into());
        // Nobody could answer: the person logs in by hand once, or with a key.
        option("BatchMode=yes".into());
        option("EscapeChar=none".into());
        if config.ssh_port != 0 {
            words.extend(["-p".to_owned(), config.ssh_port.to_string()]);
        }
        if !config.ssh_key.trim().is_empty() {
            let key = crate::config::paths::expand_home(config.ssh_key.trim());
            words.extend(["-i".to_owned(), key.display().to_string()]);
        }
        if !user.is_empty() {
            words.extend(["-l".to_owned(), user.to_owned()]);
        }
        words.extend(config.ssh_extra_args.iter().cloned());
        words.extend(["--".to_owned(), host.to_owned()]);
        Ok(Self {
            traits,
            programs,
            words,
            port: (config.ssh_port != 0).then_some(config.ssh_port),
            sockets: OnceLock::new(),
        })
    }

    /// A private folder for sockets; `None` where a path in it would be too long: then each command connects anew.
    fn sockets(&self) -> Option<&Scratch> {
        let made = self.sockets.get_or_init(|| {
            let short = |folder: &PathBuf| folder.as_os_str().len() < SOCKET - 20;
            let parent = Some(std::env::temp_dir()).filter(short).unwrap_or_else(|| "/tmp".into());
            Scratch::new(&parent, "ssh").inspect_err(|error| tracing::warn!("no shared connection: {error}")).ok()
        });
        made.as_ref()
    }

    /// Options that make one connection carry all. Only the link makes it: a command that ends up without it connects by
    /// itself.
    fn shared(&self, master: &str) -> Vec<String> {
        let Some(folder) = self.sockets() else { return Vec::new() };
        let path = format!("ControlPath={}/%C", folder.path().display());
        ["-o", master, "-o", "ControlPersist=300", "-o", &path].map(str::to_owned).to_vec()
    }
}

impl Backend for Ssh {
    fn traits(&self) -> &Traits {
        &self.traits
    }

    fn start(&self) -> Result<(), PlaceError> {
        Ok(())
    }

    fn identity(&self, machine: &str) -> String {
        // One name may lead to many: by its port, over another machine, by a change of the configuration.
        let port = self.port.map_or_else(String::new, |port| format!(":{port}"));
        format!("{}{port} ({machine})", self.traits.label)
    }

    fn client(&self, words: &[&str], terminal: Terminal) -> Command {
        let mut command = self.programs.command("ssh");
        let makes = if terminal == Terminal::None { "ControlMaster=auto" } else { "ControlMaster=no" };
        command.args(self.shared(makes));
        // The word of the end of a connection would stand in the output. Of the link it is read: why a login is refused.
        match terminal {
            Terminal::None => command.arg("-T"),
            Terminal::Output | Terminal::Full => command.args(["-tt", "-q"]),
        };
        let line: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
        command.args(&self.words).arg(format!("exec {}", line.join(" ")));
        command
    }

    fn remains(&self) -> Result<bool, PlaceError> {
        Ok(true)
    }

    fn why_gone(&self) -> Option<String> {
        None
    }

    fn stop(&self) -> Result<(), String> {
        let Some(Some(_)) = self.sockets.get() else { return Ok(()) };
        let mut words = self.shared("ControlMaster=no");
        words.extend(["-O".to_owned(), "exit".to_owned()]);
        words.extend(self.words.iter().cloned());
        if let Err(error) = self.programs.run("ssh", &words, Duration::from_secs(2)) {
            tracing::debug!("closing the connection: {error}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &Command) -> String {
        let all: Vec<String> = command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
        all.join(" ")
    }

    #[test]
    fn the_client_keeps_the_configuration_of_the_person() {
        let config = TerminalConfig {
            ssh_host: "box".into(),
            ssh_user: "dev".into(),
            ssh_port: 2222,
            ssh_key: "/k/id".into(),
            ssh_extra_args: vec!["-J".into(), "jump".into()],
            ..TerminalConfig::default()
        };
        let ssh = Ssh::new(&config, Programs::default(), Traits { kind: "ssh", ..Traits::default() }).unwrap();
        assert_eq!(ssh.traits().label, "ssh dev@box");
        assert_eq!(ssh.identity("build-7"), "ssh dev@box:2222 (build-7)");
        let line = words(&ssh.client(&["sh", "-c", "echo 'a b'"], Terminal::Full));
        assert!(line.contains("ControlMaster=no") && line.contains("ControlPersist=300"), "{line}");
        assert!(line.ends_with(r"-p 2222 -i /k/id -l dev -J jump -- box exec sh -c 'echo '\''a b'\'''"), "{line}");
        assert!(line.contains("-tt -q") && !line.contains("HostKey") && !line.contains("-F"), "{line}");
        let line = words(&ssh.client(&["sh"], Terminal::None));
        assert!(line.contains("-T ") && line.contains("ControlMaster=auto") && !line.contains("-q"), "{line}");
    }

    #[test]
    fn a_host_must_be_one() {
        for (host, user, word) in
            [("", "", "ssh_host is empty"), ("-oProxyCommand=x", "", "option"), ("a", "-x", "option")]
        {
            let config = TerminalConfig { ssh_host: host.into(), ssh_user: user.into(), ..TerminalConfig::default() };
            let error = Ssh::new(&config, Programs::default(), Traits::default()).err().unwrap().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
