//! Flows and renewals against a server made from the published protocols.

use super::device;
use super::{AccountError, Accounts, Entry, KeyState, SignIn, Step, Watch};
use crate::config::{Loaded, Paths, Sources, load};
use crate::llm::http;
use crate::policy::redact::Secrets;
use portal::Portal;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[allow(dead_code, reason = "the integration tests use the rest")]
#[path = "../../tests/harness/portal.rs"]
mod portal;

/// A home that signs in at a portal.
struct Bench {
    portal: Arc<Portal>,
    home: tempfile::TempDir,
    secrets: Secrets,
}

impl Bench {
    fn new(name: &str, flow: &str) -> Self {
        let (portal, home) = (Arc::new(Portal::start()), tempfile::tempdir().unwrap());
        std::fs::write(home.path().join("config.yaml"), portal.config(name, flow)).unwrap();
        Self { portal, home, secrets: Secrets::default() }
    }

    fn paths(&self) -> Paths {
        Paths::at(self.home.path())
    }

    fn loaded(&self) -> Arc<Loaded> {
        self.loaded_with(&[])
    }

    fn loaded_with(&self, env: &[(&str, &str)]) -> Arc<Loaded> {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Arc::new(load::load(&Sources { paths: self.paths(), cwd: None, env, overrides: Vec::new() }))
    }

    /// As another program of this home sees it.
    fn accounts(&self) -> Accounts {
        Accounts::new(&self.paths(), self.secrets.clone())
    }

    fn file(&self) -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(self.paths().auth()).unwrap()).unwrap()
    }

    /// A login that ends in so many seconds.
    fn kept(&self, pool: &str, seconds: i64) {
        let (access_token, refresh_token) = self.portal.grant();
        let entry = Entry {
            label: "default".into(),
            auth_type: "oauth".into(),
            source: "manual:device_code".into(),
            access_token,
            refresh_token,
            expires_at_ms: Some(super::now() + seconds * 1000),
            ..Entry::default()
        };
        self.accounts().put(&self.loaded().config, pool, entry).unwrap();
    }
}

fn nothing() -> futures::future::BoxFuture<'static, Option<String>> {
    Box::pin(async { None })
}

async fn code(bench: &Bench) -> Result<super::token::Granted, AccountError> {
    let flow = SignIn::find(&bench.loaded().config, "nous").unwrap();
    let http = http::client();
    let code = device::begin(&http, &flow).await?;
    device::wait(&http, &flow, &code, Duration::from_millis(1)).await
}

#[tokio::test]
async fn a_device_code_waits_for_the_person_and_goes_on_over_a_bad_network() {
    let bench = Bench::new("nous", "device");
    bench.portal.answer(&["authorization_pending", "slow_down", "500", "authorization_pending"]);
    let granted = code(&bench).await.unwrap();
    assert_eq!(granted.tokens.access_token, "access-token-1");
    assert_eq!(granted.expires_in, Some(Duration::from_secs(3600)));
    assert_eq!(bench.portal.forms("/token").len(), 5);
    assert_eq!(bench.portal.forms("/device")[0]["scope"], "some:scope");
}

#[tokio::test]
async fn a_code_that_expires_and_one_that_is_denied_say_so() {
    let bench = Bench::new("nous", "device");
    let provider = || "nous".to_owned();
    bench.portal.answer(&["expired_token"]);
    assert_eq!(code(&bench).await, Err(AccountError::Expired { provider: provider() }));
    bench.portal.answer(&["authorization_pending", "access_denied"]);
    assert_eq!(code(&bench).await, Err(AccountError::Denied { provider: provider() }));
    // A server that never says so: the code's own time counts.
    bench.portal.answer(&["authorization_pending"; 50_000]).code_life(1);
    assert_eq!(code(&bench).await, Err(AccountError::Expired { provider: provider() }));
}

#[tokio::test]
async fn a_login_is_kept_for_its_owner_and_masked() {
    let bench = Bench::new("nous", "device");
    let steps = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&steps);
    let tell = move |step| told.lock().unwrap().push(step);
    let watch = Watch { tell: &tell, pasted: nothing() };
    let saved = bench.accounts().sign_in(&bench.loaded(), "nous", Some("work"), None, watch).await.unwrap();
    assert_eq!((saved.label.as_str(), saved.note), ("work", None));
    let steps = steps.lock().unwrap();
    assert!(matches!(&steps[..], [Step::Code { code, .. }] if code == "WXYZ-1234"), "{steps:?}");
    let entry = &bench.file()["credential_pool"]["nous"][0];
    for (field, value) in [("label", "work"), ("auth_type", "oauth"), ("access_token", "access-token-1")] {
        assert_eq!(entry[field], value);
    }
    assert_eq!(bench.file()["version"], 1);
    assert_eq!(std::fs::metadata(bench.paths().auth()).unwrap().permissions().mode() & 0o777, 0o600);
    let masked = bench.secrets.mask("it is access-token-1!", crate::policy::redact::RedactKind::FileRead);
    assert!(!masked.contains("access-token-1"), "{masked}");
}

/// Signs in with a browser that does `visit` with the address; what it gives is pasted.
async fn by_browser(
    bench: &Bench,
    provider: &str,
    visit: impl Fn(&Portal, &str) -> Option<String> + Send + 'static,
) -> Result<super::Saved, AccountError> {
    let (to, address) = tokio::sync::oneshot::channel();
    let to = Mutex::new(Some(to));
    let tell = move |step| {
        if let Step::Browser { address, .. } = step {
            drop(to.lock().unwrap().take().unwrap().send(address));
        }
    };
    let pasted = async {
        let (address, portal) = (address.await.unwrap(), Arc::clone(&bench.portal));
        tokio::task::spawn_blocking(move || visit(&portal, &address)).await.unwrap()
    };
    let watch = Watch { tell: &tell, pasted: Box::pin(pasted) };
    bench.accounts().sign_in(&bench.loaded(), provider, None, Some(Duration::from_secs(20)), watch).await
}

#[tokio::test]
async fn a_browser_comes_back_or_its_address_is_pasted() {
    let bench = Bench::new("gemini", "loopback_pkce");
    by_browser(&bench, "gemini", |portal, address| {
        portal.browse(address);
        None
    })
    .await
    .unwrap();
    assert_eq!(bench.portal.forms("/token")[0]["grant_type"], "authorization_code");
    by_browser(&bench, "gemini", |portal, address| Some(portal.browse_elsewhere(address))).await.unwrap();
    let pool = &bench.file()["credential_pool"]["gemini"];
    assert_eq!(pool.as_array().unwrap().len(), 1, "the same account again: {pool}");
    let other = by_browser(&bench, "gemini", |_, _| Some("http://127.0.0.1:1/callback?code=x&state=y".into())).await;
    assert!(matches!(other, Err(AccountError::OtherLogin { .. })), "{other:?}");
}

#[tokio::test]
async fn openrouter_answers_with_a_key() {
    let bench = Bench::new("openrouter", "openrouter_pkce");
    let visit = |portal: &Portal, address: &str| {
        assert!(address.contains("code_challenge_method=S256") && address.contains("localhost"), "{address}");
        Some(portal.browse_elsewhere(address))
    };
    by_browser(&bench, "openrouter", visit).await.unwrap();
    let entry = bench.file()["credential_pool"]["openrouter"][0].clone();
    assert_eq!((&entry["auth_type"], &entry["access_token"]), (&"api_key".into(), &"sk-or-v1-from-the-portal".into()));
}

#[tokio::test]
async fn a_taken_port_and_an_unset_client_are_told_before_anything_is_asked() {
    let bench = Bench::new("gemini", "loopback_pkce");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let config = bench.portal.config("gemini", "loopback_pkce") + &format!("    redirect_port: {port}\n");
    std::fs::write(bench.paths().config(), config).unwrap();
    let ask = async |provider: &str| {
        let watch = Watch { tell: &|_| {}, pasted: nothing() };
        bench.accounts().sign_in(&bench.loaded(), provider, None, None, watch).await.unwrap_err().to_string()
    };
    assert!(ask("gemini").await.contains(&port.to_string()));
    let said = ask("huggingface").await;
    assert!(said.contains("accounts.huggingface.client_id") && said.contains("settings/applications"), "{said}");
    assert!(ask("anthropic").await.contains("no sign-in"));
}

#[tokio::test]
async fn a_login_is_renewed_before_it_ends_and_once_for_all_programs() {
    let bench = Bench::new("nous", "device");
    bench.kept("nous", 60);
    // Each has a file of its own open, as programs have.
    let all = (0..6).map(|_| {
        let (accounts, loaded) = (bench.accounts(), bench.loaded());
        async move { accounts.lease(&loaded, "nous", None).await.unwrap().entry.access_token }
    });
    let tokens = futures::future::join_all(all).await;
    assert_eq!(tokens, vec!["access-token-2"; 6]);
    assert_eq!(bench.portal.granted(), 2, "one login and one renewal");
    let entry = &bench.file()["credential_pool"]["nous"][0];
    assert_eq!((&entry["refresh_token"], &entry["last_status"]), (&"renewal-token-2".into(), &"ok".into()));
}

/// Lets others run until it is so.
async fn until(mut holds: impl FnMut() -> bool) {
    let stop = std::time::Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(std::time::Instant::now() < stop, "it did not come to that");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_renewal_that_nobody_waits_for_any_more_is_kept() {
    let bench = Bench::new("nous", "device");
    bench.kept("nous", 60);
    let (accounts, loaded, gate) = (bench.accounts(), bench.loaded(), bench.portal.slow());
    {
        let lease = accounts.lease(&loaded, "nous", None);
        tokio::pin!(lease);
        let asked = until(|| !bench.portal.forms("/token").is_empty());
        tokio::select! {
            lease = &mut lease => panic!("{lease:?}"),
            () = asked => {}
        }
    }
    drop(gate);
    until(|| bench.file()["credential_pool"]["nous"][0]["refresh_token"] == "renewal-token-2").await;
}

#[tokio::test]
async fn a_revoked_login_says_how_to_sign_in_and_is_over() {
    let bench = Bench::new("nous", "device");
    bench.kept("nous", -1);
    bench.portal.revoke();
    let error = bench.accounts().lease(&bench.loaded(), "nous", None).await.unwrap_err();
    let super::lease::LeaseError::Account(error) = error else { panic!("{error:?}") };
    assert!(error.to_string().contains("`hermes login nous`"), "{error}");
    let status = bench.accounts().status(&bench.loaded()).unwrap();
    assert_eq!(status[0].state, KeyState::Over);
    // Nobody is asked again.
    assert!(bench.accounts().lease(&bench.loaded(), "nous", None).await.is_err());
    assert_eq!(bench.portal.forms("/token").len(), 1);
}

#[tokio::test]
async fn a_damaged_file_is_never_written_over() {
    let bench = Bench::new("nous", "device");
    for text in ["{\"credential_pool\": {\"nous\": [", "[]", "{\"credential_pool\": 7}"] {
        std::fs::write(bench.paths().auth(), text).unwrap();
        let accounts = bench.accounts();
        let said = accounts.add_key(&bench.loaded().config, "openai", None, "manual", "sk-1").unwrap_err().to_string();
        assert!(said.contains("auth.json is damaged") && said.contains("move it away"), "{said}");
        let watch = Watch { tell: &|_| panic!("nobody is sent to a browser"), pasted: nothing() };
        assert!(accounts.sign_in(&bench.loaded(), "nous", None, None, watch).await.is_err());
        assert_eq!(std::fs::read_to_string(bench.paths().auth()).unwrap(), text);
    }
}

#[tokio::test]
async fn a_file_of_python_hermes_is_used_and_what_we_do_not_know_stays() {
    let bench = Bench::new("nous", "device");
    let text = r#"{"version":1,"active_provider":"nous","providers":{"nous":{"x":1}},"credential_pool":{
        "gemini":[{"id":"aaaaaa","label":"one","auth_type":"api_key","priority":0,"source":"manual",
            "access_token":"AIza-one","refresh_token":null,"last_status":null,"last_status_at":null,
            "last_error_code":null,"base_url":"https://x","request_count":3,"extra":{"k":[1]}}]}}"#;
    std::fs::write(bench.paths().auth(), text).unwrap();
    let (accounts, loaded) = (bench.accounts(), bench.loaded());
    assert_eq!(accounts.lease(&loaded, "gemini", None).await.unwrap().entry.access_token, "AIza-one");
    accounts.add_key(&loaded.config, "gemini", None, "manual", "AIza-two").unwrap();
    let file = bench.file();
    assert_eq!(file["providers"]["nous"]["x"], 1);
    let entry = &file["credential_pool"]["gemini"][0];
    assert_eq!((&entry["base_url"], &entry["extra"]["k"][0]), (&"https://x".into(), &1.into()));
    assert_eq!(file["credential_pool"]["gemini"][1]["priority"], 1);
    assert_eq!(accounts.remove("gemini", Some("1")).unwrap(), ["one"]);
    assert!(accounts.remove("gemini", Some("one")).is_err());
}
