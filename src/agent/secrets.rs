//! The values that are known to be secrets, and what enters a conversation without them: one place before the model, the
//! disk and what is exported. Text that streams passes the screen as the model writes it.

use crate::config::{Loaded, Paths, dotenv};
use crate::exec::keeps_back;
use crate::policy::redact::{RedactKind, Secrets};
use crate::protocol::{Body, FileDiff, InnerCall, SummaryBody, ToolBody, ToolCall, ToolView};
use crate::tools::file::encoding::Encoding;
use serde_json::Value;
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Logins that are read, and bytes of one.
const LOGINS: usize = 64;
const LOGIN_BYTES: u64 = 256 * 1024;

/// Files of a project that hold its variables: how many are read, bytes of one, and names of a folder that are looked at.
const PROJECT_FILES: usize = 24;
const PROJECT_BYTES: u64 = 128 * 1024;
const ENTRIES: usize = 100_000;
/// Their usual names, which are looked up without reading the folder.
const USUAL: [&str; 5] = [".env", ".envrc", ".env.local", ".env.production", ".env.development"];
/// Characters of a value that are masked at least.
const SHORTEST: usize = 8;
/// Endings of files that show how the others are written.
const SAMPLES: [&str; 5] = [".example", ".sample", ".template", ".dist", ".defaults"];

/// The secrets of the project that a session works in: those of its `.env` files, looked at again when one changes.
#[derive(Debug, Default)]
pub struct OfProject {
    /// Path, time of the last change, size.
    seen: Vec<(PathBuf, Option<std::time::SystemTime>, u64)>,
}

impl OfProject {
    /// The values when the files are others than before; `None` when they are as they were. Reads files.
    pub fn news(&mut self, cwd: &Path) -> Option<Vec<String>> {
        let now = env_files(cwd);
        if now == self.seen {
            return None;
        }
        self.seen = now;
        Some(self.values())
    }

    /// The values as the files were read last.
    fn values(&self) -> Vec<String> {
        let mut all = Vec::new();
        for (path, ..) in self.seen.iter().filter(|(.., size)| *size <= PROJECT_BYTES) {
            let Ok(bytes) = std::fs::read(path) else { continue };
            let Some(text) = Encoding::of(&bytes).show(&bytes) else { continue };
            let (values, _) = dotenv::parse(&text);
            for (name, value) in values {
                let of_address = password_in(&value).map(str::to_owned);
                let whole = is_secret(&name, &[]).then_some(value);
                all.extend(of_address.into_iter().chain(whole).filter(|value| value.chars().count() >= SHORTEST));
            }
        }
        all
    }
}

/// The secrets of the project of a folder. Reads files.
pub fn of_project(cwd: &Path) -> Vec<String> {
    OfProject::default().news(cwd).unwrap_or_default()
}

/// `.env` and its kin in a folder and at the top of its repository.
fn env_files(cwd: &Path) -> Vec<(PathBuf, Option<std::time::SystemTime>, u64)> {
    let top = cwd.ancestors().find(|dir| dir.join(".git").exists()).filter(|top| *top != cwd);
    let mut found = Vec::new();
    for dir in std::iter::once(cwd).chain(top) {
        // Those that nearly every project has by name, then the others in an order of ours: that of a folder is the disk's.
        let names = std::fs::read_dir(dir).into_iter().flatten().flatten().take(ENTRIES).map(|entry| entry.file_name());
        let others = names.filter(|name| {
            let name = name.to_string_lossy();
            name.starts_with(".env.")
                && !USUAL.contains(&&*name)
                && !SAMPLES.iter().any(|ending| name.ends_with(ending))
        });
        let mut others: Vec<OsString> = others.collect();
        others.sort();
        for name in USUAL.iter().map(Into::into).chain(others) {
            let path = dir.join(&name);
            if found.len() < PROJECT_FILES
                && let Ok(about) = std::fs::metadata(&path)
                && about.is_file()
            {
                found.push((path, about.modified().ok(), about.len()));
            }
        }
    }
    found.sort();
    found
}

/// Whether a variable of this name holds a secret.
fn is_secret(name: &str, own: &[String]) -> bool {
    // Addresses are kept from children, too, but are no secrets.
    keeps_back(name, own) && !name.ends_with("_URL") && !name.ends_with("_ENDPOINT") && !name.starts_with("HERMES_")
}

/// The password in an address: `postgres://app:PASSWORD@db/app`.
fn password_in(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("://")?;
    let (before_host, _) = rest.split(['/', '?', '#']).next()?.rsplit_once('@')?;
    // `${NAME}` and `<password>` stand for one.
    before_host.split_once(':').map(|(_, password)| password).filter(|password| !password.starts_with(['$', '<', '{']))
}

/// Keys and tokens of the environment, of `.env`, of `config.yaml`, and of all logins of this home. Reads files.
pub fn values(loaded: &Loaded, paths: &Paths) -> Vec<String> {
    let config = &loaded.config;
    let own: Vec<String> = config
        .providers
        .values()
        .map(|provider| provider.key_env.clone())
        .chain(config.fallback_providers.iter().map(|fallback| fallback.key_env.clone()))
        .collect();
    let named = loaded.env.iter().chain(&loaded.dotenv).filter(|(name, _)| is_secret(name, &own));
    let mut all: Vec<String> = named.map(|(_, value)| value.clone()).collect();
    let addresses = loaded.env.values().chain(loaded.dotenv.values()).filter_map(|value| password_in(value));
    all.extend(addresses.filter(|value| value.chars().count() >= SHORTEST).map(str::to_owned));
    // What the configuration takes from `.env` stands there to be kept.
    all.extend(loaded.referenced.iter().filter_map(|name| loaded.dotenv.get(name)).cloned());
    all.push(config.model.api_key.clone());
    all.extend(config.providers.values().map(|provider| provider.api_key.clone()));
    all.extend(config.fallback_providers.iter().map(|fallback| fallback.api_key.clone()));
    all.extend(config.accounts.providers.values().map(|account| account.client_secret.clone()));
    all.extend(config.mcp_servers.values().map(|server| server.oauth.client_secret.clone()));
    let files =
        std::fs::read_dir(paths.mcp_tokens()).into_iter().flatten().flatten().take(LOGINS).map(|entry| entry.path());
    for file in files.chain([paths.auth()]) {
        if std::fs::metadata(&file).is_ok_and(|meta| meta.is_file() && meta.len() <= LOGIN_BYTES)
            && let Ok(text) = std::fs::read(&file)
            && let Ok(login) = serde_json::from_slice(&text)
        {
            tokens(&login, &mut all);
        }
    }
    all
}

fn tokens(value: &Value, all: &mut Vec<String>) {
    let is_secret = |name: &str| name.ends_with("_token") || name.ends_with("_secret") || name.ends_with("_key");
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if is_secret(name) => all.push(text.clone()),
                    value => tokens(value, all),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| tokens(item, all)),
        _ => {}
    }
}

/// With masks that name themselves: what the model remembers of them can't be written into a file.
const KIND: RedactKind = RedactKind::FileRead;

/// `text` with known values masked.
pub(super) fn masked(text: &str, secrets: &Secrets) -> String {
    secrets.mask(text, KIND).into_owned()
}

/// Masks known values in what enters the conversation.
pub(super) fn mask(body: &mut Body, secrets: &Secrets) {
    let mask = |text: &mut String| {
        if let Cow::Owned(masked) = secrets.mask(text, KIND) {
            *text = masked;
        }
    };
    match body {
        Body::User { text, context, gist, .. } => [text, context, gist].into_iter().for_each(mask),
        Body::Assistant(body) => {
            for block in &mut body.opaque {
                move_with(block, &body.text, secrets);
            }
            mask(&mut body.text);
            mask(&mut body.reasoning);
            for ToolCall { id: _, name, args, repaired: _, via } in &mut body.calls {
                [name, args, via].into_iter().for_each(mask);
            }
        }
        // Every field by name: a new one does not compile until it is decided here.
        Body::Tool(ToolBody {
            call_id: _,
            name,
            content,
            outcome: _,
            images: _,
            view,
            duration_ms: _,
            large,
            inner,
        }) => {
            [name, content].into_iter().for_each(mask);
            mask_view(view, mask);
            for InnerCall { id: _, tool, args, outcome: _, duration_ms: _, view } in inner {
                [tool, args].into_iter().for_each(mask);
                mask_view(view, mask);
            }
            if let Some(large) = large {
                mask(&mut large.whole);
            }
        }
        Body::Summary(summary) => {
            let SummaryBody { text, state, focus, .. } = summary.as_mut();
            [text, state, focus].into_iter().for_each(mask);
        }
        Body::Note { text, .. } => mask(text),
    }
}

fn mask_view(view: &mut ToolView, mask: impl Fn(&mut String)) {
    let ToolView { target, summary, exit_code: _, diffs, changed, children, output, approval, edited } = view;
    [target, summary, output, approval, edited].into_iter().for_each(&mask);
    for FileDiff { path, added: _, removed: _, unified } in diffs.iter_mut().chain(changed) {
        [path, unified].into_iter().for_each(&mask);
    }
    for child in children {
        [&mut child.goal, &mut child.doing].into_iter().for_each(&mask);
    }
}

/// A provider's own block stands at a byte of the text; masks before it move it.
fn move_with(block: &mut Value, text: &str, secrets: &Secrets) {
    let Some(at) = block.pointer_mut("/at/0") else { return };
    let before = at.as_u64().and_then(|at| text.get(..usize::try_from(at).ok()?));
    if let Some(before) = before {
        *at = secrets.mask(before, KIND).len().into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{AssistantBody, Large, Origin};

    #[test]
    fn keys_of_every_place_are_known() {
        let folder = tempfile::tempdir().unwrap();
        let login = r#"{"client_id":"public-client-1","client_secret":"login-secret-1","token":{"access_token":"login-access-2"}}"#;
        let paths = Paths::at(folder.path());
        std::fs::create_dir(paths.mcp_tokens()).unwrap();
        std::fs::write(paths.mcp_tokens().join("server.json"), login).unwrap();
        let kept =
            r#"{"credential_pool":{"p":[{"label":"default","access_token":"kept-token-3","agent_key":"kept-key-4"}]}}"#;
        std::fs::write(paths.auth(), kept).unwrap();
        let mut loaded = Loaded::default();
        let pairs = |pairs: &[(&str, &str)]| pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        loaded.env = pairs(&[
            ("GH_TOKEN", "env-value-1"),
            ("PATH", "/bin"),
            ("OPENAI_BASE_URL", "http://h"),
            ("DATABASE_URL", "postgres://app:of-a-database@db:5432/app?x=1"),
            ("MINE", "by-name-1"),
        ]);
        loaded.dotenv = pairs(&[("OPENAI_API_KEY", "dotenv-value-1"), ("HERMES_MODEL", "some-model-1")]);
        loaded.dotenv.insert("PLAIN".into(), "behind-config-1".into());
        loaded.dotenv.insert("OTHER".into(), "behind-nothing-1".into());
        loaded.referenced.insert("PLAIN".into());
        let config = std::sync::Arc::make_mut(&mut loaded.config);
        config.model.api_key = "config-value-1".into();
        let provider = crate::config::ProviderConfig { key_env: "MINE".into(), ..Default::default() };
        config.providers.insert("p".into(), provider);
        let account = crate::config::AccountConfig { client_secret: "of-a-client-1".into(), ..Default::default() };
        config.accounts.providers.insert("a".into(), account);
        let mut known: Vec<_> = values(&loaded, &paths).into_iter().filter(|value| !value.is_empty()).collect();
        known.sort();
        let want = [
            "behind-config-1",
            "by-name-1",
            "config-value-1",
            "dotenv-value-1",
            "env-value-1",
            "kept-key-4",
            "kept-token-3",
            "login-access-2",
            "login-secret-1",
            "of-a-client-1",
            "of-a-database",
        ];
        assert_eq!(known, want);
    }

    #[test]
    fn a_project_file_is_found_in_a_folder_of_any_size() {
        let folder = tempfile::tempdir().unwrap();
        for count in 0..ENTRIES + 200 {
            std::fs::write(folder.path().join(format!("{count:08}")), "").unwrap();
        }
        // Wherever the disk lists it: last, on most.
        let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let beyond: Vec<_> = names.skip(ENTRIES - 100).collect();
        for path in &beyond {
            std::fs::remove_file(path).unwrap();
        }
        std::fs::write(folder.path().join(".env"), "API_TOKEN=of-a-large-folder-1\n").unwrap();
        for path in beyond {
            std::fs::write(path, "").unwrap();
        }
        assert_eq!(of_project(folder.path()), ["of-a-large-folder-1"]);
    }

    #[test]
    fn secrets_of_a_project_are_read_with_bounds_and_again_when_they_change() {
        let folder = tempfile::tempdir().unwrap();
        let (top, cwd) = (folder.path(), folder.path().join("app"));
        std::fs::create_dir_all(top.join(".git")).unwrap();
        std::fs::create_dir_all(&cwd).unwrap();
        std::fs::write(
            cwd.join(".env"),
            "API_KEY=project-value-1\nNAME=not-a-secret-1\nDB_PASSWORD=short\nDB=mysql://a:url-value-3@h/\nC=pg://a:${SOME_PASSWORD}@h\n",
        )
        .unwrap();
        std::fs::write(top.join(".env.local"), "export STRIPE_SECRET='project-value-2'\n").unwrap();
        std::fs::write(cwd.join(".env.example"), "API_KEY=example-value-3\n").unwrap();
        std::fs::write(cwd.join(".env.big"), format!("API_KEY=large-value-4{}\n", " ".repeat(200_000))).unwrap();
        let mut project = OfProject::default();
        let mut known = project.news(&cwd).unwrap();
        known.sort();
        assert_eq!(known, ["project-value-1", "project-value-2", "url-value-3"]);
        assert_eq!(project.news(&cwd), None);
        // As PowerShell writes it.
        let wide: Vec<u8> = "\u{feff}API_KEY=wide-value-6\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        std::fs::write(cwd.join(".env.local"), wide).unwrap();
        assert!(project.news(&cwd).unwrap().contains(&"wide-value-6".to_owned()));
        std::fs::remove_file(cwd.join(".env.local")).unwrap();
        std::fs::write(cwd.join(".env"), "API_KEY=project-value-new-5\n").unwrap();
        let mut known = project.news(&cwd).unwrap();
        known.sort();
        assert_eq!(known, ["project-value-2", "project-value-new-5"]);
    }

    /// Every string of a serialized item, with its path.
    fn walk(value: &Value, at: &str, look: &mut impl FnMut(&str, &str)) {
        match value {
            Value::String(text) => look(at, text),
            Value::Array(all) => all.iter().for_each(|value| walk(value, at, look)),
            Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                look(at, name);
                walk(value, &format!("{at}/{name}"), look);
            }),
            _ => {}
        }
    }

    #[test]
    fn nothing_enters_with_a_known_value() {
        let secrets = Secrets::default();
        secrets.learn(["s3cret-s3cret".to_owned()]);
        let text = || "a s3cret-s3cret b".to_owned();
        let (images, context) = (Vec::new(), text());
        let call = ToolCall { id: "c".into(), name: text(), args: text(), repaired: false, via: text() };
        let tool = ToolBody {
            call_id: "c".into(),
            name: text(),
            content: text(),
            view: ToolView {
                target: text(),
                summary: text(),
                diffs: vec![FileDiff { path: text(), added: 1, removed: 1, unified: text() }],
                changed: vec![FileDiff { path: text(), ..FileDiff::default() }],
                output: text(),
                approval: text(),
                edited: text(),
                ..ToolView::default()
            },
            large: Some(Box::new(Large { whole: text(), room: 1 })),
            ..ToolBody::default()
        };
        for mut body in [
            Body::User { text: text(), images, context, origin: Origin::Person, gist: text() },
            Body::Assistant(AssistantBody {
                text: text(),
                reasoning: text(),
                calls: vec![call],
                ..AssistantBody::default()
            }),
            Body::Tool(tool),
            Body::Note { kind: crate::protocol::NoteKind::Info, text: text() },
        ] {
            mask(&mut body, &secrets);
            let whole = serde_json::to_value(&body).unwrap();
            let (mut masked, mut found) = (0, Vec::new());
            walk(&whole, "", &mut |at, text| {
                masked += usize::from(text.contains("«redacted:known secret…»"));
                found.extend(text.contains("s3cret").then(|| at.to_owned()));
            });
            assert!(masked > 0 && found.is_empty(), "{found:?}: {whole}");
        }
    }

    #[test]
    fn a_block_of_the_provider_stays_between_the_same_words() {
        let secrets = Secrets::default();
        secrets.learn(["s3cret-s3cret".to_owned()]);
        let opaque = vec![serde_json::json!({"at": [17, 0], "block": {}})];
        let text = "a s3cret-s3cret. Then this".to_owned();
        let mut body = Body::Assistant(AssistantBody { text, opaque, ..AssistantBody::default() });
        mask(&mut body, &secrets);
        let Body::Assistant(body) = body else { unreachable!() };
        let at = body.opaque[0]["at"][0].as_u64().unwrap() as usize;
        assert_eq!(&body.text[at..], "Then this");
    }
}
