//! Signing in without a key, and several keys for one provider, through the built program.

use crate::harness::home::{err, out};
use crate::harness::{Home, Mock, Portal, Step, Term, UNTESTED};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;

/// A home whose Nous Portal is this portal and whose models are this server's.
fn home(portal: &Portal, mock: &Mock, more: &str) -> Home {
    let mut home = Home::empty();
    home.set("NOUS_BASE_URL", &format!("{}/v1", mock.url()));
    home.set("GEMINI_BASE_URL", &format!("{}/v1", mock.url()));
    home.config(&format!("model:\n  provider: nous\n  default: mock-model\n{}{more}", portal.config("nous", "device")));
    home
}

fn auth(home: &Home) -> Value {
    serde_json::from_str(&std::fs::read_to_string(home.hermes().join("auth.json")).unwrap()).unwrap()
}

#[test]
fn a_person_signs_in_lists_uses_and_signs_out() {
    let (portal, mock) = (Portal::start(), Mock::start(vec![Step::Text("hello from nous".into())]));
    portal.answer(&["authorization_pending"]);
    let home = home(&portal, &mock, "");
    let done = home.run(&["login", "nous", "--no-browser"]);
    assert!(done.status.success(), "{}", err(&done));
    assert!(err(&done).contains("WXYZ-1234") && err(&done).contains("https://portal.example/device"), "{}", err(&done));
    assert!(out(&done).contains("signed in to Nous Portal as \"default\""), "{}", out(&done));
    let file = home.hermes().join("auth.json");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let list = home.run(&["auth", "list", "--json"]);
    let list: Value = serde_json::from_str(&out(&list)).unwrap();
    assert_eq!((&list["keys"][0]["provider"], &list["keys"][0]["state"]), (&"nous".into(), &"ready".into()));
    assert!(!list.to_string().contains("access-token"), "{list}");
    let answer = home.run(&["-p", "hi"]);
    assert!(out(&answer).contains("hello from nous"), "{}{}", out(&answer), err(&answer));
    assert_eq!(mock.keys(), ["Bearer access-token-1"]);
    let gone = home.run(&["logout"]);
    assert!(out(&gone).contains("logged out of nous"), "{}{}", out(&gone), err(&gone));
    assert!(!std::fs::read_to_string(&file).unwrap().contains("access-token"));
    home.run(&["-p", "hi"]);
    assert_eq!(mock.keys().last().unwrap(), "", "nothing is left of it");
}

#[test]
fn consent_that_is_denied_and_a_login_that_is_refused_at_use() {
    let portal = Portal::start();
    let no = || Step::Error(401, r#"{"error":{"message":"token expired"}}"#.into(), None);
    let mock = Mock::start(vec![no(), Step::Text("renewed".into()), no()]);
    let home = home(&portal, &mock, "");
    portal.answer(&["access_denied"]);
    let denied = home.run(&["login", "nous", "--no-browser"]);
    assert!(!denied.status.success() && err(&denied).contains("access was denied"), "{}", err(&denied));
    assert!(!home.hermes().join("auth.json").exists());
    assert!(home.run(&["login", "nous", "--no-browser"]).status.success());
    // Refused before its time: renewed once.
    let answer = home.run(&["-p", "hi"]);
    assert!(out(&answer).contains("renewed"), "{}{}", out(&answer), err(&answer));
    assert_eq!(mock.keys(), ["Bearer access-token-1", "Bearer access-token-2"]);
    assert_eq!(auth(&home)["credential_pool"]["nous"][0]["refresh_token"], "renewal-token-2");
    // Refused, and the renewal with it.
    portal.revoke();
    let over = home.run(&["-p", "hi"]);
    assert!(!over.status.success(), "{}", out(&over));
    assert!(format!("{}{}", out(&over), err(&over)).contains("hermes login nous"), "{}{}", out(&over), err(&over));
}

#[test]
fn keys_take_turns_rest_and_hand_over_to_the_fallback() {
    let limited = |after| Step::Error(429, r#"{"error":{"message":"rate limit"}}"#.into(), Some(after));
    let broke = || Step::Error(402, r#"{"error":{"message":"insufficient credits"}}"#.into(), None);
    let steps = vec![limited(3600), Step::Text("by the second".into()), broke(), Step::Text("by the fallback".into())];
    let (portal, mock) = (Portal::start(), Mock::start(steps));
    let more = format!(
        "fallback_providers:\n  - {{provider: custom, model: other-model, base_url: {}/v1, api_key: of-the-fallback}}\n",
        mock.url()
    );
    let mut home = home(&portal, &mock, &more);
    home.set("NOUS_API_KEY", "first-key-of-the-environment");
    let added = home.run_with(&["auth", "add", "nous", "--label", "second"], "second-key-from-a-pipe\n");
    assert!(out(&added).contains("\"second\""), "{}{}", out(&added), err(&added));
    // The limit lasts longer than anybody waits: the other key at once.
    let answer = home.run(&["-p", "hi"]);
    assert!(out(&answer).contains("by the second"), "{}{}", out(&answer), err(&answer));
    let keys = || mock.keys();
    assert_eq!(keys(), ["Bearer first-key-of-the-environment", "Bearer second-key-from-a-pipe"]);
    let status = out(&home.run(&["auth", "status", "nous"]));
    assert!(status.contains("NOUS_API_KEY") && status.contains("rests until"), "{status}");
    let stored = std::fs::read_to_string(home.hermes().join("auth.json")).unwrap();
    assert!(!stored.contains("first-key-of-the-environment"), "what the environment holds is not written down");
    // Another program knows; then the second is out of credit, and the fallback answers.
    let answer = home.run(&["-p", "hi"]);
    assert!(out(&answer).contains("by the fallback"), "{}{}", out(&answer), err(&answer));
    assert_eq!(keys()[2..], ["Bearer second-key-from-a-pipe", "Bearer of-the-fallback"]);
    let reset = home.run(&["auth", "reset", "nous"]);
    assert!(out(&reset).contains("2 keys of nous can be used again"), "{}{}", out(&reset), err(&reset));
}

#[test]
fn a_limit_is_waited_for_once_with_the_same_key() {
    let limited = || Step::Error(429, r#"{"error":{"message":"rate limit"}}"#.into(), Some(1));
    let mock = Mock::start(vec![limited(), limited(), Step::Text("by the other".into())]);
    let portal = Portal::start();
    let mut home = home(&portal, &mock, "");
    home.set("GOOGLE_API_KEY", "the-first-google-key");
    home.set("GEMINI_API_KEY", "the-other-google-key");
    let answer = home.run(&["-p", "hi", "-m", "gemini:mock-model"]);
    assert!(out(&answer).contains("by the other"), "{}{}", out(&answer), err(&answer));
    let first = "Bearer the-first-google-key";
    assert_eq!(mock.keys(), [first, first, "Bearer the-other-google-key"]);
}

/// A keyring that keeps its secrets in files, or is locked.
fn keyring(home: &mut Home, locked: bool) {
    let bin = home.user().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let text = if locked {
        "#!/bin/sh\necho 'Cannot get secret of a locked object' >&2\nexit 1\n"
    } else {
        "#!/bin/sh\nverb=$1\nfor last; do :; done\nfile=\"$HOME/ring-$(printf %s \"$last\" | tr / _)\"\ncase $verb in\n\
         store) cat > \"$file\" ;;\nlookup) cat \"$file\" 2>/dev/null ;;\nclear) mv \"$file\" \"$file.gone\" ;;\nesac\n"
    };
    let file = bin.join("secret-tool");
    std::fs::write(&file, text).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    home.set("PATH", &format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_keyring_keeps_the_login_and_a_locked_one_loses_nothing() {
    let (portal, mock) = (Portal::start(), Mock::start(vec![Step::Text("unlocked".into())]));
    let mut home = home(&portal, &mock, "");
    home.run(&["config", "set", "accounts.keyring", "auto"]);
    keyring(&mut home, false);
    let done = home.run(&["login", "nous", "--no-browser"]);
    assert!(out(&done).contains("the system's keyring"), "{}{}", out(&done), err(&done));
    assert!(!auth(&home).to_string().contains("access-token"), "{}", auth(&home));
    let answer = home.run(&["-p", "hi"]);
    assert!(out(&answer).contains("unlocked"), "{}{}", out(&answer), err(&answer));
    assert_eq!(mock.keys(), ["Bearer access-token-1"]);
    keyring(&mut home, true);
    let answer = home.run(&["-p", "hi"]);
    assert!(
        err(&answer).contains("unlock it") || out(&answer).contains("unlock it"),
        "{}{}",
        out(&answer),
        err(&answer)
    );
    let again = home.run(&["login", "nous", "--no-browser", "--label", "other"]);
    assert!(out(&again).contains("locked") && out(&again).contains("readable by you only"), "{}", out(&again));
    assert!(auth(&home).to_string().contains("access-token-2"));
}

/// What the keyring of files holds.
#[cfg(target_os = "linux")]
fn ring(home: &Home) -> Vec<String> {
    let files = std::fs::read_dir(home.user()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    files.filter(|name| name.starts_with("ring-") && !name.ends_with(".gone")).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn a_renamed_profile_keeps_its_login_and_a_deleted_one_leaves_none_behind() {
    let (portal, mock) = (Portal::start(), Mock::start(vec![Step::Text("still here".into())]));
    let mut home = home(&portal, &mock, "");
    home.run(&["config", "set", "accounts.keyring", "auto"]);
    keyring(&mut home, false);
    home.run(&["profile", "create", "a", "--clone"]);
    let done = home.run(&["--profile", "a", "login", "nous", "--no-browser"]);
    assert!(out(&done).contains("the system's keyring"), "{}{}", out(&done), err(&done));
    home.run(&["profile", "rename", "a", "b"]);
    let answer = home.run(&["--profile", "b", "-p", "hi"]);
    assert!(out(&answer).contains("still here"), "{}{}", out(&answer), err(&answer));
    assert_eq!(ring(&home).len(), 1);
    // A copy has no login that is another home's.
    let copied = home.run(&["profile", "create", "c", "--clone-all", "--clone-from", "b"]);
    assert!(out(&copied).contains("auth.json (keys and logins"), "{}{}", out(&copied), err(&copied));
    home.run(&["profile", "delete", "c", "--yes"]);
    assert_eq!(ring(&home).len(), 1);
    let gone = home.run(&["profile", "delete", "b", "--yes"]);
    assert!(out(&gone).contains("deleted b"), "{}{}", out(&gone), err(&gone));
    assert_eq!(ring(&home), [""; 0]);
}

#[test]
fn fallbacks_are_listed_added_and_removed() {
    let home = Home::empty();
    let run = |args: &[&str]| {
        let done = home.run(&[&["fallback"], args].concat());
        (done.status.success(), out(&done) + &err(&done))
    };
    assert!(run(&["list"]).1.contains("no fallback models"));
    assert!(run(&["add", "openrouter:deepseek/deepseek-v3.2"]).0);
    assert!(run(&["add", "groq:openai/gpt-oss-120b"]).0);
    assert!(!run(&["add", "groq:openai/gpt-oss-120b"]).0, "twice");
    assert!(!run(&["add", "nobody:x"]).0);
    assert!(run(&["list"]).1.contains("1  openrouter:deepseek/deepseek-v3.2\n2  groq:openai/gpt-oss-120b"));
    assert!(run(&["remove", "1"]).1.contains("openrouter"));
    assert!(run(&["list", "--json"]).1.contains(r#""provider":"groq""#));
    assert!(run(&["clear"]).0);
    assert!(run(&["list"]).1.contains("no fallback models"));
}

#[test]
fn on_the_screen_a_code_leads_to_the_models_of_the_provider() {
    let (portal, mock) = (Portal::start(), Mock::start(vec![Step::Text("an answer".into())]));
    portal.answer(&["authorization_pending"; 500]);
    let mut home = Home::empty();
    home.set("NOUS_BASE_URL", &format!("{}/v1", mock.url()));
    home.config(&format!("{}{UNTESTED}", portal.config("nous", "device")));
    let mut term = Term::start(&home, &[]);
    // The card offers it.
    term.wait("Sign in to OpenRouter")
        .wait("in the browser")
        .wait("Sign in to Nous Portal")
        .wait("with a code, without a key");
    let chosen = |text: &str| text.lines().any(|line| line.contains("▸") && line.contains("Nous Portal"));
    while !chosen(&term.text()) {
        let before = term.text();
        term.send("\x1b[B").shows("the selection moves", |text| *text != before);
    }
    term.send("\r").wait("Sign in to Nous Portal").wait("WXYZ-1234").wait("https://portal.example/device").wait("left");
    // Left, and begun again.
    term.send("\x1b").gone("WXYZ-1234");
    term.send("/login nous\r").wait("without a key");
    term.send("\r").wait("WXYZ-1234");
    portal.answer(&[]);
    term.wait("signed in to nous").wait("mock-model");
    term.send("\r").gone("Welcome");
    term.send("hello\r").wait("an answer");
    assert_eq!(mock.keys(), ["Bearer access-token-1"]);
    assert!(!String::from_utf8_lossy(&term.raw()).contains("access-token"));
    term.send("/usage\r").wait("Keys and logins").wait("auth.json");
    term.send("\x1b").gone("Keys and logins");
    term.send("/logout\r").wait("logged out of nous");
}

/// A login of the portal that ends in a minute, as another program kept it.
fn keep_old_login(home: &Home, portal: &Portal) {
    let (access, renewal) = portal.grant();
    let soon = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64 + 60_000;
    let entry = serde_json::json!({
        "id": "abc123", "label": "default", "auth_type": "oauth", "priority": 0, "source": "manual:device_code",
        "access_token": access, "refresh_token": renewal, "expires_at_ms": soon, "request_count": 0,
    });
    let file = serde_json::json!({"version": 1, "credential_pool": {"nous": [entry]}});
    std::fs::write(home.hermes().join("auth.json"), file.to_string()).unwrap();
}

#[test]
fn programs_that_renew_at_the_same_time_lose_no_token() {
    let (portal, mock) = (Portal::start(), Mock::start(vec![]));
    let home = home(&portal, &mock, "");
    keep_old_login(&home, &portal);
    let all: Vec<_> = (0..3).map(|_| home.command(&["-p", "hi"]).spawn().unwrap()).collect();
    for one in all {
        let done = one.wait_with_output().unwrap();
        assert!(done.status.success(), "{}{}", out(&done), err(&done));
    }
    // A renewal token that came twice would have ended them all.
    assert_eq!(portal.granted(), 2);
    assert_eq!(mock.keys(), ["Bearer access-token-2"; 3]);
    assert_eq!(auth(&home)["credential_pool"]["nous"][0]["refresh_token"], "renewal-token-2");
}

#[test]
fn a_damaged_file_is_named_and_keys_of_the_environment_go_on() {
    let (portal, mock) = (Portal::start(), Mock::start(vec![]));
    let mut home = home(&portal, &mock, "");
    let file = home.hermes().join("auth.json");
    std::fs::write(&file, "{\"credential_pool\": ").unwrap();
    let without = home.run(&["-p", "hi", "-m", "openrouter:any-model"]);
    let said = out(&without) + &err(&without);
    assert!(!without.status.success() && said.contains("auth.json is damaged"), "{said}");
    assert!(!home.run(&["login", "nous", "--no-browser"]).status.success());
    assert!(portal.forms("/device").is_empty(), "nobody was sent to type a code");
    home.set("NOUS_API_KEY", "a-key-of-the-environment");
    assert!(home.run(&["-p", "hi"]).status.success());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\"credential_pool\": ");
}

#[test]
fn a_typed_key_shows_as_dots_and_the_terminal_is_as_before() {
    let home = Home::empty();
    let mut term = Term::start(&home, &["auth", "add", "groq", "--label", "mine"]);
    term.wait("Key for groq:");
    term.send("gsk-typed-by-hand\x7fd\r").wait("stored the key \"mine\" of groq");
    assert!(term.text().contains("•••") && !term.text().contains("gsk-typed"), "{}", term.text());
    assert_eq!(term.ended(), 0);
    assert_eq!(auth(&home)["credential_pool"]["groq"][0]["access_token"], "gsk-typed-by-hand");
    let mut term = Term::start(&home, &["auth", "add", "groq"]);
    term.wait("Key for groq:");
    term.send("gsk-other\x03").wait("cancelled; nothing was stored");
    assert_eq!(term.ended(), 1);
}
