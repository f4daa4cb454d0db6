//! What the configuration says of a server, checked: how it is reached, with what environment, and which of its tools count.

use crate::config::{McpServerConfig, paths};
use crate::policy::glob;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Variables that every server sees; `XDG_*` too. Keys of this program are never among them.
const HARMLESS: &[&str] = &["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TERM", "SHELL", "TMPDIR", "TZ"];

/// How a server is reached.
#[derive(Clone, Debug, PartialEq)]
pub enum Launch {
    /// A program of this machine; `env` is all that it sees.
    Stdio {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
        cwd: PathBuf,
    },
    Http {
        url: String,
        headers: BTreeMap<String, String>,
        oauth: bool,
    },
}

/// What a server does when it asks for input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elicitation {
    /// A person is asked; without one it is declined.
    Ask,
    Decline,
    /// The defaults of its form are the answer.
    AcceptDefaults,
}

/// A checked server.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub name: String,
    pub launch: Launch,
    pub timeout: Duration,
    pub connect_timeout: Duration,
    pub keepalive: Duration,
    /// `None`: never.
    pub idle: Option<Duration>,
    pub lifetime: Option<Duration>,
    pub elicitation: Elicitation,
    pub config: McpServerConfig,
}

impl Settings {
    /// Reads one entry of `mcp_servers`. `process` is the environment of this program, `cwd` the session's folder.
    ///
    /// # Errors
    /// What is wrong with it and what to write instead.
    pub fn read(
        name: &str,
        config: &McpServerConfig,
        process: &BTreeMap<String, String>,
        cwd: &Path,
    ) -> Result<Self, String> {
        let (command, url) = (config.command.trim(), config.url.trim());
        let key = |key: &str| format!("mcp_servers.{name}.{key}");
        let launch = match (config.transport.as_str(), command.is_empty(), url.is_empty()) {
            ("sse", _, _) => {
                return Err(format!(
                    "{} is sse, an old transport that is not supported; most servers now support streamable HTTP: set it to http, with the address that ends in /mcp",
                    key("transport")
                ));
            }
            (_, true, true) => return Err(format!("neither {} nor {} is set", key("command"), key("url"))),
            ("" | "stdio", false, _) => Launch::Stdio {
                command: expanded(command, process),
                args: config.args.clone(),
                env: environment(config, process),
                cwd: match config.cwd.trim() {
                    "" => cwd.to_owned(),
                    folder => cwd.join(paths::expand_home(folder)),
                },
            },
            ("stdio", true, _) => return Err(format!("{} is not set, and stdio needs a program", key("command"))),
            (_, _, true) => return Err(format!("{} is not set, and http needs an address", key("url"))),
            _ => {
                let parsed =
                    url::Url::parse(url).map_err(|error| format!("{} is not an address: {error}", key("url")))?;
                if !matches!(parsed.scheme(), "http" | "https") {
                    return Err(format!("{} starts with {}; use http or https", key("url"), parsed.scheme()));
                }
                let oauth = config.auth.starts_with("oauth");
                Launch::Http { url: url.to_owned(), headers: config.headers.clone(), oauth }
            }
        };
        let seconds = |value: f64| Duration::from_secs_f64(value.clamp(0.05, 1e7));
        let maybe = |value: f64| (value > 0.0).then(|| seconds(value));
        Ok(Self {
            name: name.to_owned(),
            launch,
            timeout: seconds(config.timeout),
            connect_timeout: seconds(config.connect_timeout),
            keepalive: seconds(config.keepalive_interval.max(5.0)),
            idle: maybe(config.idle_timeout_seconds),
            lifetime: maybe(config.max_lifetime_seconds),
            elicitation: match config.elicitation.as_str() {
                "decline" => Elicitation::Decline,
                "accept-defaults" => Elicitation::AcceptDefaults,
                _ => Elicitation::Ask,
            },
            config: config.clone(),
        })
    }

    /// Whether the model gets a tool of this name.
    pub fn wants(&self, tool: &str) -> bool {
        let named = |list: &[String]| list.iter().any(|entry| entry == tool || glob::matches(entry, tool));
        let tools = &self.config.tools;
        if tools.include.is_empty() { !named(&tools.exclude) } else { named(&tools.include) }
    }

    /// Texts that must not appear in an error of this server: values of headers, variables and secrets.
    pub fn secrets(&self) -> Vec<&str> {
        let maps = self.config.env.values().chain(self.config.headers.values());
        let all = maps.map(String::as_str).chain([self.config.oauth.client_secret.as_str()]);
        let mut all: Vec<&str> = all.flat_map(|value| [Some(value), value.strip_prefix("Bearer ")]).flatten().collect();
        // What is short or a plain word would mask half of a sentence.
        all.retain(|value| value.len() >= 8);
        all.sort_by_key(|value| std::cmp::Reverse(value.len()));
        all
    }

    /// `text` without the secrets of this server.
    pub fn masked(&self, text: &str) -> String {
        self.secrets().iter().fold(text.to_owned(), |text, secret| text.replace(secret, "***"))
    }

    /// How it is reached, for a row of a list; no argument that may hold a key is left out of it.
    pub fn place(&self) -> String {
        match &self.launch {
            Launch::Stdio { command, args, .. } => self.masked(&[command.as_str(), &args.join(" ")].join(" ")),
            Launch::Http { url, .. } => match url::Url::parse(url) {
                Ok(mut url) => {
                    url.set_query(None);
                    // An address without a host has no password either.
                    let _ = url.set_password(None);
                    url.to_string()
                }
                Err(_) => url.clone(),
            },
        }
    }
}

/// `~/bin/x` and `~` are the person's home, as in a shell.
fn expanded(command: &str, process: &BTreeMap<String, String>) -> String {
    match (command.strip_prefix("~/"), process.get("HOME")) {
        (Some(rest), Some(home)) => format!("{home}/{rest}"),
        _ => command.to_owned(),
    }
}

fn environment(config: &McpServerConfig, process: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let harmless = |name: &str| HARMLESS.contains(&name) || name.starts_with("XDG_");
    let mut env: BTreeMap<String, String> =
        process.iter().filter(|(name, _)| harmless(name)).map(|(name, value)| (name.clone(), value.clone())).collect();
    env.entry("PATH".into()).or_insert_with(|| "/usr/local/bin:/usr/bin:/bin".into());
    env.extend(config.env.clone());
    env
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process() -> BTreeMap<String, String> {
        [("PATH", "/bin"), ("HOME", "/home/a"), ("OPENAI_API_KEY", "sk-1"), ("XDG_CACHE_HOME", "/c"), ("EDITOR", "vi")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into()
    }

    fn read(config: &McpServerConfig) -> Result<Settings, String> {
        Settings::read("x", config, &process(), Path::new("/work"))
    }

    #[test]
    fn a_program_sees_only_harmless_variables_and_its_own() {
        let config = McpServerConfig {
            command: "~/bin/server".into(),
            env: [("TOKEN".to_owned(), "t".to_owned())].into(),
            cwd: "sub".into(),
            ..McpServerConfig::default()
        };
        let Launch::Stdio { command, env, cwd, .. } = read(&config).unwrap().launch else { panic!() };
        assert_eq!((command.as_str(), cwd), ("/home/a/bin/server", PathBuf::from("/work/sub")));
        assert_eq!(env.keys().collect::<Vec<_>>(), ["HOME", "PATH", "TOKEN", "XDG_CACHE_HOME"]);
    }

    #[test]
    fn what_cannot_work_says_what_to_write() {
        for (command, url, transport, word) in [
            ("", "", "", "neither mcp_servers.x.command nor mcp_servers.x.url"),
            ("", "http://h/sse", "sse", "set it to http"),
            ("", "http://h", "stdio", "needs a program"),
            ("run", "", "http", "needs an address"),
            ("", "nonsense", "", "is not an address"),
            ("", "ftp://h/", "", "starts with ftp"),
        ] {
            let (command, url, transport) = (command.into(), url.into(), transport.into());
            let error = read(&McpServerConfig { command, url, transport, ..McpServerConfig::default() }).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn filters() {
        for (include, exclude, tool, want) in [
            (&[][..], &[][..], "a", true),
            (&["read_*"], &["read_x"], "read_x", true),
            (&["read_*"], &[], "write", false),
            (&[], &["write*"], "write", false),
            (&[], &["write*"], "read", true),
        ] {
            let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let mut config = McpServerConfig { command: "x".into(), ..McpServerConfig::default() };
            (config.tools.include, config.tools.exclude) = (list(include), list(exclude));
            assert_eq!(read(&config).unwrap().wants(tool), want, "{include:?} {exclude:?} {tool}");
        }
    }

    #[test]
    fn secrets_are_masked() {
        let mut config = McpServerConfig { url: "https://u:pw@h/mcp?key=1".into(), ..McpServerConfig::default() };
        config.headers.insert("Authorization".into(), "Bearer abcdefgh123".into());
        let settings = read(&config).unwrap();
        assert_eq!(settings.masked("401 for abcdefgh123"), "401 for ***");
        assert_eq!(settings.place(), "https://u@h/mcp");
    }
}
