//! What is set up, what is missing, and what to do about it: for `hermes doctor` and `/doctor`.

mod disk;
mod extensions;
pub mod local;
mod place;
mod prices;
mod sandbox;

use crate::accounts::{Accounts, KeyState, Known};
use crate::backends::Keys;
use crate::config::{self, Loaded, Paths, Place, Sources, keymap::Keymap, skin::Appearance, theme::Canvas};
use crate::context::skills;
use crate::tools::offer::selection::ToolSelection;
use crate::tools::registry::Registry;
use std::io::Read;
use std::path::Path;

/// How a row stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    Ok,
    Warn,
    Fail,
}

/// One row of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub health: Health,
    pub what: &'static str,
    /// What was found.
    pub found: String,
    /// What to do; empty when all is well.
    pub remedy: String,
}

impl Row {
    fn ok(what: &'static str, found: impl Into<String>) -> Self {
        Self { health: Health::Ok, what, found: found.into(), remedy: String::new() }
    }

    fn warn(what: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { health: Health::Warn, what, found: found.into(), remedy: remedy.into() }
    }

    fn fail(what: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { health: Health::Fail, what, found: found.into(), remedy: remedy.into() }
    }
}

impl Health {
    fn word(self) -> &'static str {
        match self {
            Health::Ok => "ok",
            Health::Warn => "warn",
            Health::Fail => "fail",
        }
    }
}

/// Looks at everything, with the configuration as it is on disk now. Blocks.
pub fn checked(paths: &Paths) -> Vec<Row> {
    let cwd = std::env::current_dir().ok();
    let loaded = config::load(&Sources { cwd, ..Sources::of_process(paths.clone()) });
    examine(paths, &loaded)
}

/// The report for people.
pub fn text(rows: &[Row]) -> String {
    let mut out = String::new();
    for row in rows {
        out.push_str(&format!("{:4}  {:13} {}\n", row.health.word(), row.what, row.found));
        if !row.remedy.is_empty() {
            out.push_str(&format!("{:19} → {}\n", "", row.remedy));
        }
    }
    out
}

/// The report for programs; `docs/CLI.md` has its shape.
pub fn json(rows: &[Row]) -> serde_json::Value {
    let row = |row: &Row| {
        serde_json::json!({
            "status": row.health.word(), "check": row.what, "found": row.found, "remedy": row.remedy,
        })
    };
    serde_json::json!({"version": 1, "checks": rows.iter().map(row).collect::<Vec<_>>()})
}

/// Whether a row failed.
pub fn has_failed(rows: &[Row]) -> bool {
    rows.iter().any(|row| row.health == Health::Fail)
}

/// Every row, in the order of the report.
pub fn examine(paths: &Paths, loaded: &Loaded) -> Vec<Row> {
    let mut rows = vec![home(paths)];
    rows.extend(paths.profile().map(|name| Row::ok("profile", name)));
    rows.extend(configuration(paths, loaded));
    let accounts = Accounts::new(paths, Default::default());
    rows.push(model(loaded, &accounts));
    rows.push(keys(loaded));
    rows.extend(logins(loaded, &accounts));
    rows.extend(literal_keys(loaded));
    rows.extend(local::rows(paths, loaded));
    rows.extend(prices::rows(paths));
    rows.push(dotenv(paths));
    rows.push(database(&paths.state().join("state.db")));
    rows.push(disk::row(paths));
    rows.extend(disk::prune(paths, loaded));
    rows.extend(terminal(paths, loaded));
    rows.push(shell(loaded));
    rows.push(place::row(&loaded.config.terminal, &Keys::find(|name| loaded.env(name))));
    rows.push(sandbox::row(&loaded.config.sandbox, &crate::exec::probe()));
    rows.push(program(loaded, "git", "branch and changed files need git; install it"));
    rows.push(certificates(loaded));
    rows.push(known_skills(paths, loaded));
    rows.push(tools(loaded));
    rows.extend(servers(loaded));
    rows.extend(extensions::rows(paths, loaded));
    rows
}

/// The MCP servers of the configuration, where there are any; none is started.
fn servers(loaded: &Loaded) -> Option<Row> {
    let all = &loaded.config.mcp_servers;
    let here = std::env::current_dir().unwrap_or_default();
    let broken: Vec<String> = all
        .iter()
        .filter_map(|(name, config)| {
            let why = crate::mcp::Settings::read(name, config, &loaded.env, &here).err()?;
            Some(format!("{name}: {why}"))
        })
        .collect();
    let on = all.values().filter(|config| config.enabled).count();
    let found = format!("{} configured, {on} on", all.len());
    match broken.first() {
        _ if all.is_empty() => None,
        None => Some(Row::ok("mcp servers", found)),
        Some(first) => Some(Row::warn("mcp servers", found, format!("{first}; details: hermes mcp list"))),
    }
}

/// The tools of the program, without servers and plugins: those would have to be started.
fn tools(loaded: &Loaded) -> Row {
    let registry = Registry::builtin().snapshot();
    let offer = ToolSelection::of_config(&loaded.config, None, std::collections::BTreeMap::new());
    let selection = offer.selected(&registry);
    let mut warnings = registry.warnings().iter().chain(&selection.warnings);
    let found = format!("{} built in", registry.names().count());
    match warnings.next() {
        None => Row::ok("tools", found),
        Some(first) => {
            let more = warnings.count();
            let more = if more > 0 { format!("; {more} more") } else { String::new() };
            Row::warn("tools", format!("{found}; {first}{more}"), "details: hermes tools list")
        }
    }
}

fn home(paths: &Paths) -> Row {
    let shown = paths.home.display().to_string();
    let nearest = paths.home.ancestors().find(|dir| dir.exists()).unwrap_or(Path::new("/"));
    match tempfile::Builder::new().prefix(".doctor").tempfile_in(nearest) {
        Ok(_) if paths.home.exists() => Row::ok("home", shown),
        Ok(_) => Row::ok("home", format!("{shown} (created on first write)")),
        Err(error) => {
            let remedy = "sessions can't be saved: make it writable, or set HERMES_HOME to a writable folder";
            Row::fail("home", format!("cannot write {shown}: {error}"), remedy)
        }
    }
}

fn configuration(paths: &Paths, loaded: &Loaded) -> Vec<Row> {
    let file = paths.config();
    let broken = loaded.warnings.iter().find(|warning| warning.text.contains("using defaults until"));
    let mut rows = vec![match (broken, loaded.warnings.len()) {
        (Some(warning), _) => Row::fail("config", warning.to_string(), "fix that line: hermes config edit"),
        (None, 0) if file.exists() => Row::ok("config", file.display().to_string()),
        (None, 0) => Row::ok("config", format!("{} does not exist; using defaults", file.display())),
        (None, count) => {
            let first = loaded.warnings.first().map(ToString::to_string).unwrap_or_default();
            Row::warn("config", format!("{count} warnings; {first}"), "details: hermes config check")
        }
    }];
    if let Err(error) = Keymap::load(&paths.keymap()) {
        rows.push(Row::warn("keys", error.to_string(), "using default keys until the file is fixed"));
    }
    rows
}

/// What looks like the key of a model provider.
fn is_key_name(name: &str) -> bool {
    let not_models = ["GITHUB", "GH_", "AWS_SECRET", "SLACK", "DISCORD", "TELEGRAM", "SSH"];
    name.ends_with("_API_KEY") && !not_models.iter().any(|other| name.contains(other))
}

/// The model that would answer now: without one nothing works.
fn model(loaded: &Loaded, accounts: &Accounts) -> Row {
    match crate::llm::endpoint::resolve(&loaded.config, &Known { loaded, accounts }, None) {
        Ok(endpoint) => Row::ok("model", endpoint.label()),
        Err(error) => {
            let (what, remedy) = error.to_string().split_once("; ").map_or_else(
                || (error.to_string(), "start hermes and choose one".to_owned()),
                |(what, remedy)| (what.to_owned(), format!("start hermes and choose one, or {remedy}")),
            );
            Row::fail("model", what, remedy)
        }
    }
}

fn keys(loaded: &Loaded) -> Row {
    let referenced = loaded.config.providers.values().map(|provider| provider.key_env.as_str());
    let referenced = referenced.chain(loaded.config.fallback_providers.iter().map(|entry| entry.key_env.as_str()));
    let mut names: Vec<&str> = loaded.env.keys().chain(loaded.dotenv.keys()).map(String::as_str).collect();
    names.retain(|name| is_key_name(name));
    names.extend(referenced.filter(|name| !name.is_empty()));
    names.sort_unstable();
    names.dedup();
    let place = |name: &&str| {
        let (_, place) = loaded.locate(name)?;
        Some(format!("{name} ({})", if place == Place::Environment { "environment" } else { ".env" }))
    };
    let found: Vec<String> = names.iter().filter_map(place).collect();
    let model = &loaded.config.model;
    if !found.is_empty() {
        Row::ok("model keys", found.join(", "))
    } else if !model.base_url.is_empty() || !model.api_key.is_empty() {
        Row::ok("model keys", "none in the environment; using the configured server")
    } else if crate::llm::providers::find(&model.provider).is_some_and(|provider| provider.local) {
        Row::ok("model keys", "none, and none needed: the model runs on this computer")
    } else {
        let remedy =
            "start hermes and paste one, export e.g. OPENROUTER_API_KEY, or run a local server (Ollama, LM Studio)";
        Row::warn("model keys", "none found", remedy)
    }
}

/// What is kept beside the variables; nothing is said where nothing is kept.
fn logins(loaded: &Loaded, accounts: &Accounts) -> Option<Row> {
    let all = match accounts.status(loaded) {
        Ok(all) => all,
        Err(error) => {
            let text = error.to_string();
            let (what, remedy) = text.split_once("; ").unwrap_or((&text, "run `hermes auth list`"));
            return Some(Row::fail("logins", what, remedy));
        }
    };
    let kept: Vec<_> = all.iter().filter(|key| key.is_kept()).collect();
    let over = kept.iter().find(|key| key.state == KeyState::Over);
    let names = kept.iter().map(|key| format!("{} ({})", key.provider, key.label)).collect::<Vec<_>>().join(", ");
    match over {
        Some(over) => Some(Row::warn("logins", names, format!("run `hermes login {}`", over.provider))),
        None => (!kept.is_empty()).then(|| Row::ok("logins", names)),
    }
}

fn literal_keys(loaded: &Loaded) -> Option<Row> {
    let config = &loaded.config;
    // What the file takes from a variable stands here as its value.
    let is_taken = |value: &str| loaded.referenced.iter().any(|name| loaded.env(name) == Some(value));
    let is_literal = |value: &String| !value.is_empty() && !is_taken(value);
    let literal = is_literal(&config.model.api_key)
        || config.providers.values().any(|provider| is_literal(&provider.api_key))
        || config.fallback_providers.iter().any(|fallback| is_literal(&fallback.api_key))
        || config.accounts.providers.values().any(|account| is_literal(&account.client_secret));
    literal.then(|| {
        let remedy = "move it to .env and use ${NAME} or key_env, so you can share config.yaml";
        Row::warn("literal key", "config.yaml contains a key", remedy)
    })
}

fn dotenv(paths: &Paths) -> Row {
    let path = paths.dotenv();
    if config::dotenv::is_exposed(&path) {
        return Row::warn(".env", "readable by others", format!("chmod 600 {}", path.display()));
    }
    Row::ok(".env", if path.exists() { "readable only by you" } else { "not found" })
}

/// The first bytes of every SQLite file, and where its `application_id` stands.
const SQLITE: &[u8; 16] = b"SQLite format 3\0";
const APPLICATION_ID: std::ops::Range<usize> = 68..72;

fn database(path: &Path) -> Row {
    let mut header = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(100).read_to_end(&mut header));
    match read {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Row::ok("sessions", "no database yet"),
        Err(error) => {
            Row::fail("sessions", format!("cannot read {}: {error}", path.display()), "check its permissions")
        }
        Ok(0) => Row::ok("sessions", format!("{} is empty", path.display())),
        Ok(_) if !header.starts_with(SQLITE) => {
            let remedy = "move the file away, then run `hermes sessions repair`: it brings back what the journals hold";
            Row::fail("sessions", format!("{} is not a database", path.display()), remedy)
        }
        Ok(_) if header.get(APPLICATION_ID).is_none_or(|id| id == [0; 4]) => {
            Row::ok("sessions", format!("{} belongs to another program; ours is next to it", path.display()))
        }
        Ok(_) => Row::ok("sessions", path.display().to_string()),
    }
}

fn terminal(paths: &Paths, loaded: &Loaded) -> Vec<Row> {
    use std::io::IsTerminal;
    let canvas = Canvas::from_env(|name| loaded.env.get(name).cloned());
    let term = loaded.env.get("TERM").map_or("unset", String::as_str);
    let colors = match canvas.depth {
        config::theme::ColorDepth::True => "true colour",
        config::theme::ColorDepth::Ansi256 => "256 colours",
        config::theme::ColorDepth::Ansi16 => "16 colours",
        config::theme::ColorDepth::NoColor => "no colours",
    };
    let mut rows = Vec::new();
    if std::io::stdout().is_terminal() {
        let size =
            rustix::termios::tcgetwinsize(std::io::stdout()).map(|size| (size.ws_col, size.ws_row)).unwrap_or((0, 0));
        let found = format!("{term}, {colors}, {}×{}", size.0, size.1);
        rows.push(if size.0 < 40 || size.1 < 12 {
            Row::warn("terminal", found, "make the window at least 40×12")
        } else {
            Row::ok("terminal", found)
        });
    } else {
        rows.push(Row::ok("terminal", format!("{term}, {colors}; output goes to a pipe or file")));
    }
    let display = &loaded.config.display;
    if let Err(error) = Appearance::load(&display.skin, &display.theme, &paths.look_dirs(), canvas) {
        rows.push(Row::warn("look", error.to_string(), "using the default skin; list them with hermes skins"));
    }
    rows
}

fn shell(loaded: &Loaded) -> Row {
    let login = loaded.env.get("SHELL").map_or("unset", String::as_str);
    match find(loaded, "bash") {
        Some(path) => Row::ok("shell", format!("commands run in {path} (your shell is {login})")),
        None => {
            Row::fail("shell", format!("bash is not in PATH (your shell is {login})"), "commands need it: install bash")
        }
    }
}

fn program(loaded: &Loaded, name: &'static str, remedy: &str) -> Row {
    match find(loaded, name) {
        Some(path) => Row::ok(name, path),
        None => Row::warn(name, "not in PATH", remedy),
    }
}

fn find(loaded: &Loaded, name: &str) -> Option<String> {
    let path = loaded.env.get("PATH")?;
    let found = std::env::split_paths(path).map(|dir| dir.join(name)).find(|file| file.is_file())?;
    Some(found.display().to_string())
}

/// Where systems keep the certificates of authorities.
const CERTIFICATES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/etc/ssl/certs",
];

fn certificates(loaded: &Loaded) -> Row {
    if cfg!(target_os = "macos") {
        return Row::ok("certificates", "the system keychain");
    }
    let own = loaded.env("SSL_CERT_FILE").or(loaded.env("SSL_CERT_DIR"));
    let usable = |path: &str| {
        let path = Path::new(path);
        path.is_file() || std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some())
    };
    match own.into_iter().chain(CERTIFICATES.iter().copied()).find(|path| usable(path)) {
        Some(path) => Row::ok("certificates", path),
        None => Row::fail("certificates", "none found", "install the package ca-certificates, or set SSL_CERT_FILE"),
    }
}

fn known_skills(paths: &Paths, loaded: &Loaded) -> Row {
    let all = skills::discover(paths, &loaded.config.skills);
    let own = all.iter().filter(|skill| skill.source != skills::Source::Bundled).count();
    let missing = loaded.config.skills.external_dirs.iter().find(|dir| !config::paths::expand_home(dir).is_dir());
    match missing {
        Some(dir) => Row::warn("skills", format!("{dir} does not exist"), "fix skills.external_dirs in config.yaml"),
        None => Row::ok("skills", format!("{} bundled, {own} yours", all.len() - own)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examined(paths: &Paths, env: &[(&str, &str)]) -> Vec<Row> {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let loaded = config::load(&Sources { paths: paths.clone(), cwd: None, env, overrides: Vec::new() });
        examine(paths, &loaded)
    }

    fn row<'a>(rows: &'a [Row], what: &str) -> &'a Row {
        rows.iter().find(|row| row.what == what).unwrap()
    }

    #[test]
    fn a_fresh_machine() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::at(dir.path().join("home"));
        let rows = examined(&paths, &[("PATH", "/nonexistent")]);
        assert_eq!(row(&rows, "home").health, Health::Ok);
        assert_eq!(row(&rows, "model keys").health, Health::Warn);
        assert_eq!(row(&rows, "shell").health, Health::Fail);
        assert_eq!(row(&rows, "sessions").found, "no database yet");
        assert!(rows.iter().all(|row| (row.health == Health::Ok) == row.remedy.is_empty()), "{rows:#?}");
        assert!(!paths.home.exists());
    }

    #[test]
    fn what_is_wrong_is_found() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::at(dir.path());
        std::fs::write(paths.config(), "model: [\n").unwrap();
        std::fs::write(paths.dotenv(), "LAB_API_KEY=sk-secret\n").unwrap();
        std::fs::set_permissions(paths.dotenv(), std::fs::Permissions::from_mode(0o644)).unwrap();
        std::fs::write(dir.path().join("state.db"), "garbage").unwrap();
        let rows = examined(&paths, &[("OPENAI_API_KEY", "sk-other"), ("GITHUB_API_KEY", "x")]);
        assert_eq!(row(&rows, "config").health, Health::Fail);
        assert_eq!(row(&rows, ".env").health, Health::Warn);
        assert_eq!(row(&rows, "sessions").health, Health::Fail);
        assert_eq!(row(&rows, "model keys").found, "LAB_API_KEY (.env), OPENAI_API_KEY (environment)");
        let text = format!("{rows:?}");
        assert!(!text.contains("sk-"), "no secrets in the report");
    }

    #[test]
    fn databases_of_others_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.db");
        let mut header = SQLITE.to_vec();
        header.resize(100, 0);
        std::fs::write(&path, &header).unwrap();
        assert!(database(&path).found.contains("another program"));
        header[APPLICATION_ID.start] = 7;
        std::fs::write(&path, &header).unwrap();
        assert_eq!(database(&path).found, path.display().to_string());
    }

    #[test]
    fn literal_keys_are_advised_against() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::at(dir.path());
        for text in ["model: {default: m, api_key: sk-1}\n", "accounts: {gemini: {client_secret: sk-1}}\n"] {
            std::fs::write(paths.config(), text).unwrap();
            assert_eq!(row(&examined(&paths, &[]), "literal key").health, Health::Warn, "{text}");
        }
        std::fs::write(paths.config(), "model: {default: m, api_key: '${MINE}'}\n").unwrap();
        assert!(examined(&paths, &[("MINE", "sk-1")]).iter().all(|row| row.what != "literal key"));
    }

    #[test]
    fn json_is_one_versioned_object() {
        let dir = tempfile::tempdir().unwrap();
        let rows = examined(&Paths::at(dir.path()), &[]);
        let report = json(&rows);
        assert_eq!(report["version"], 1);
        let failed = report["checks"].as_array().unwrap().iter().any(|row| row["status"] == "fail");
        assert_eq!(has_failed(&rows), failed);
    }
}
