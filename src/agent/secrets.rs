//! The values that are known to be secrets, and what enters a conversation without them: one place before the model, the
//! disk and what is exported. Text that streams passes the screen as the model writes it.

use crate::config::Loaded;
use crate::exec::keeps_back;
use crate::llm::message::Body;
use crate::policy::redact::{RedactKind, Secrets};
use serde_json::Value;
use std::borrow::Cow;
use std::path::Path;

/// Logins that are read, and bytes of one.
const LOGINS: usize = 64;
const LOGIN_BYTES: u64 = 256 * 1024;

/// Keys and tokens of the environment, of `.env`, of `config.yaml` and of the logins in this folder. Reads files.
pub fn values(loaded: &Loaded, logins: &Path) -> Vec<String> {
    let config = &loaded.config;
    let own: Vec<String> = config
        .providers
        .values()
        .map(|provider| provider.key_env.clone())
        .chain(config.fallback_providers.iter().map(|fallback| fallback.key_env.clone()))
        .collect();
    let holds = |name: &str| {
        // Addresses are kept from children, too, but are no secrets.
        keeps_back(name, &own)
            && !name.ends_with("_URL")
            && !name.ends_with("_ENDPOINT")
            && !name.starts_with("HERMES_")
    };
    let named = loaded.env.iter().chain(&loaded.dotenv).filter(|(name, _)| holds(name)).map(|(_, value)| value.clone());
    let mut all: Vec<String> = named.collect();
    all.push(config.model.api_key.clone());
    all.extend(config.providers.values().map(|provider| provider.api_key.clone()));
    all.extend(config.fallback_providers.iter().map(|fallback| fallback.api_key.clone()));
    for entry in std::fs::read_dir(logins).into_iter().flatten().flatten().take(LOGINS) {
        if entry.metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= LOGIN_BYTES)
            && let Ok(text) = std::fs::read(entry.path())
            && let Ok(login) = serde_json::from_slice(&text)
        {
            tokens(&login, &mut all);
        }
    }
    all
}

fn tokens(value: &Value, all: &mut Vec<String>) {
    for (name, value) in value.as_object().into_iter().flatten() {
        match value {
            Value::String(text) if name.ends_with("_token") || name.ends_with("_secret") => all.push(text.clone()),
            value => tokens(value, all),
        }
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
            body.calls.iter_mut().for_each(|call| mask(&mut call.args));
        }
        Body::Tool(body) => {
            let view = &mut body.view;
            [&mut body.content, &mut view.target, &mut view.summary, &mut view.output, &mut view.approval]
                .into_iter()
                .for_each(mask);
        }
        Body::Note { text, .. } => mask(text),
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
    use crate::llm::message::{AssistantBody, Origin, ToolBody, ToolCall};

    #[test]
    fn keys_of_every_place_are_known() {
        let folder = tempfile::tempdir().unwrap();
        let login = r#"{"client_id":"public-client-1","client_secret":"login-secret-1","token":{"access_token":"login-access-2"}}"#;
        std::fs::write(folder.path().join("server.json"), login).unwrap();
        let mut loaded = Loaded::default();
        let pairs = |pairs: &[(&str, &str)]| pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        loaded.env = pairs(&[
            ("GH_TOKEN", "env-value-1"),
            ("PATH", "/bin"),
            ("OPENAI_BASE_URL", "http://h"),
            ("MINE", "by-name-1"),
        ]);
        loaded.dotenv = pairs(&[("OPENAI_API_KEY", "dotenv-value-1"), ("HERMES_MODEL", "some-model-1")]);
        loaded.config.model.api_key = "config-value-1".into();
        let provider = crate::config::ProviderConfig { key_env: "MINE".into(), ..Default::default() };
        loaded.config.providers.insert("p".into(), provider);
        let mut known: Vec<_> = values(&loaded, folder.path()).into_iter().filter(|value| !value.is_empty()).collect();
        known.sort();
        let want = ["by-name-1", "config-value-1", "dotenv-value-1", "env-value-1", "login-access-2", "login-secret-1"];
        assert_eq!(known, want);
    }

    #[test]
    fn nothing_enters_with_a_known_value() {
        let secrets = Secrets::default();
        secrets.learn(["s3cret-s3cret".to_owned()]);
        let text = || "a s3cret-s3cret b".to_owned();
        let (images, context) = (Vec::new(), text());
        let call = ToolCall { id: "c".into(), name: "x".into(), args: text(), repaired: false, via: String::new() };
        for mut body in [
            Body::User { text: text(), images, context, origin: Origin::Person, gist: text() },
            Body::Assistant(AssistantBody { text: text(), calls: vec![call], ..AssistantBody::default() }),
            Body::Tool(ToolBody { content: text(), ..ToolBody::default() }),
            Body::Note { kind: crate::llm::message::NoteKind::Info, text: text() },
        ] {
            mask(&mut body, &secrets);
            let told = serde_json::to_string(&body).unwrap();
            assert!(told.contains("a «redacted:known secret…» b") && !told.contains("s3cret"), "{told}");
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
