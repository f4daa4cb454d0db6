//! A sandbox of Daytona: made, found again, started and deleted over its API; commands go through its SSH gateway with a
//! token of that API, by the system's `ssh`.

use super::backend::{Backend, PlaceError, Terminal, Traits};
use super::container::{Setting, begin};
use super::gateway::{Door, Gateway};
use super::keys::{Keys, sandbox};
use super::service::{Answer, Service};
use crate::config::TerminalConfig;
use crate::lock::lock;
use reqwest::Method;
use serde_json::{Value, json};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The service of the company itself.
const ADDRESS: &str = "https://app.daytona.io/api";
/// How long a sandbox may take to be there: its image is fetched.
const FETCH: Duration = Duration::from_secs(900);
/// The first and the longest pause between two looks at one that is on its way.
const LOOK: Duration = Duration::from_millis(200);
const LOOKS: Duration = Duration::from_secs(2);
/// How long a token counts, in minutes, and how long before its end another one is asked for.
const TOKEN: u64 = 24 * 60;
const EARLY: u64 = 60;
/// The least time without use before a sandbox stops, in seconds.
const LEAST: u64 = 60;
/// What the service gives to one sandbox at most, in GB.
const MAX_DISK: u64 = 10;

/// `daytona`.
pub(crate) struct Daytona {
    traits: Traits,
    service: Service,
    setting: Setting,
    config: TerminalConfig,
    target: Option<String>,
    in_use: Mutex<Option<SandboxInUse>>,
    /// One that was asked for, whether it came to be used or not.
    made: Mutex<Option<String>>,
}

/// The sandbox in use and the way into it.
struct SandboxInUse {
    /// As the service calls it.
    id: String,
    /// As people find it in their list.
    name: String,
    door: Arc<Door>,
    since: Instant,
}

impl SandboxInUse {
    fn is_fresh(&self) -> bool {
        self.since.elapsed() < Duration::from_secs((TOKEN - EARLY) * 60)
    }
}

impl Daytona {
    /// # Errors
    /// When there is no key, or no address to use it at.
    pub(crate) fn new(
        config: &TerminalConfig,
        setting: Setting,
        keys: &Keys,
        mut traits: Traits,
    ) -> Result<Self, PlaceError> {
        let key = keys.get("DAYTONA_API_KEY").ok_or_else(|| {
            PlaceError::Config("DAYTONA_API_KEY is not set: create a key at app.daytona.io and put it into .env".into())
        })?;
        let address = keys.get("DAYTONA_API_URL").unwrap_or(ADDRESS);
        let service = Service::new(address, key, &traits.leaving)
            .map_err(|why| PlaceError::Config(format!("DAYTONA_API_URL: {why}")))?;
        let image = config.daytona_image.trim();
        traits.label = format!("daytona {}", image.rsplit('/').next().unwrap_or_default()).trim_end().to_owned();
        // Without a folder in the configuration work begins at home: whose home that is the image says.
        let folder = begin(&config.cwd, "");
        traits.cwd = Some(folder).filter(|folder| folder.is_absolute());
        traits.isolated = true;
        traits.broken = Some(super::ssh::BROKEN);
        traits.size_over_link = true;
        traits.patience = FETCH;
        let target = keys.get("DAYTONA_TARGET").map(str::to_owned);
        Ok(Self {
            traits,
            service,
            setting,
            config: config.clone(),
            target,
            in_use: Mutex::default(),
            made: Mutex::default(),
        })
    }

    fn name(&self) -> Result<String, String> {
        sandbox(&self.setting.home, &self.setting.task, self.config.container_persistent)
    }

    /// A sandbox as the service wants it described.
    fn wanted(&self, name: &str) -> Value {
        let config = &self.config;
        let profile = self.setting.home.file_name().map(|name| name.to_string_lossy().into_owned());
        let mut wanted = json!({
            "name": name,
            "labels": {
                "hermes-agent": "1", "hermes-task-id": self.setting.task, "hermes-profile": profile.unwrap_or_default(),
            },
            "env": {},
            "public": false,
            "autoStopInterval": config.lifetime_seconds.max(LEAST).div_ceil(60),
            // One that keeps nothing goes when it stops, also when this program was killed before it could say so.
            "autoDeleteInterval": if config.container_persistent { -1 } else { 0 },
        });
        if let Some(target) = &self.target {
            wanted["target"] = json!(target);
        }
        let image = config.daytona_image.trim();
        if image.is_empty() {
            return wanted;
        }
        // Only one that is built from an image has a size of its own.
        wanted["buildInfo"] = json!({"dockerfileContent": format!("FROM {image}\n")});
        if config.container_cpu > 0.0 {
            // At most 4096 by the configuration.
            wanted["cpu"] = json!(config.container_cpu.ceil() as u64);
        }
        if config.container_memory > 0 {
            wanted["memory"] = json!(config.container_memory.div_ceil(1024));
        }
        if config.container_disk > 0 {
            wanted["disk"] = json!(config.container_disk.div_ceil(1024).min(MAX_DISK));
        }
        wanted
    }

    fn unreachable(&self, why: impl Into<String>) -> PlaceError {
        PlaceError::unreachable(&self.traits.label, why)
    }

    /// A sandbox by name or id; `None` when there is none.
    fn look(&self, name: &str) -> Result<Option<Value>, String> {
        let said = self.service.get(&format!("/sandbox/{name}"))?;
        match said.status {
            404 => Ok(None),
            _ if said.is_good() && said.body["state"] == "destroyed" => Ok(None),
            _ if said.is_good() => Ok(Some(said.body)),
            _ => Err(refused(&said)),
        }
    }

    fn order(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, String> {
        let said = self.service.ask(method, path, body)?;
        if said.is_good() { Ok(said.body) } else { Err(refused(&said)) }
    }

    /// The sandbox of this name, running: found, started, or made; and whether it was found running.
    fn running(&self, name: &str) -> Result<(Value, bool), String> {
        let deadline = Instant::now() + FETCH;
        let (mut pause, mut told, mut was) = (LOOK, false, true);
        // The service may show the old state for some looks, and refuses a second start of what is on its way.
        let mut started = false;
        loop {
            let Some(sandbox) = self.look(name)? else {
                if told {
                    // It may have gone on its way; who asks again gets a new one.
                    return Err(format!("the sandbox {name} was deleted while starting"));
                }
                (told, was) = (true, false);
                self.make(name)?;
                continue;
            };
            match sandbox["state"].as_str().unwrap_or_default() {
                "started" => return Ok((sandbox, was)),
                "stopped" | "archived" | "paused" if !started => {
                    started = true;
                    self.order(Method::POST, &format!("/sandbox/{name}/start"), None)?;
                }
                "error" if sandbox["recoverable"] == true && !told => {
                    told = true;
                    self.order(Method::POST, &format!("/sandbox/{name}/recover"), None)?;
                }
                "error" | "build_failed" => {
                    let why = sandbox["errorReason"].as_str().unwrap_or("no reason given");
                    return Err(format!(
                        "the sandbox {name} is broken: {why}; delete it at app.daytona.io to get a new one"
                    ));
                }
                _ => {}
            }
            was = false;
            if Instant::now() > deadline {
                return Err(format!("the sandbox {name} is still {} after {} s", sandbox["state"], FETCH.as_secs()));
            }
            self.traits.leaving.pause(pause)?;
            pause = (pause * 2).min(LOOKS);
        }
    }

    fn make(&self, name: &str) -> Result<(), String> {
        *lock(&self.made) = Some(name.to_owned());
        let said = self.service.ask(Method::POST, "/sandbox", Some(&self.wanted(name)))?;
        // Another program of ours was faster.
        if said.is_good() || said.status == 409 { Ok(()) } else { Err(refused(&said)) }
    }

    /// A token for the gateway, and where that is.
    fn door(&self, id: &str) -> Result<Door, String> {
        let said = self.order(Method::POST, &format!("/sandbox/{id}/ssh-access?expiresInMinutes={TOKEN}"), None)?;
        let gateway = Gateway::read(said["sshCommand"].as_str().unwrap_or_default())?;
        let known = self.setting.home.join("sandboxes").join("daytona");
        Door::new(gateway, &known, &self.setting.programs)
    }

    /// Makes the sandbox ready, and the way into it.
    fn enter(&self) -> Result<(), String> {
        let known = lock(&self.in_use).as_ref().map(|in_use| in_use.name.clone());
        let name = known.map_or_else(|| self.name(), Ok)?;
        let (sandbox, was) = self.running(&name)?;
        let id = sandbox["id"].as_str().unwrap_or(&name).to_owned();
        let door = lock(&self.in_use)
            .as_ref()
            .filter(|in_use| in_use.id == id && in_use.is_fresh())
            .map(|in_use| in_use.door.clone());
        if let Some(door) = door {
            return if was { Ok(()) } else { door.wait(&self.traits.leaving) };
        }
        let door = Arc::new(self.door(&id)?);
        let in_use = SandboxInUse { id, name, door: Arc::clone(&door), since: Instant::now() };
        if let Some(before) = lock(&self.in_use).replace(in_use) {
            self.close(&before);
        }
        door.wait(&self.traits.leaving)
    }

    /// Lets go of what was held: its token counts no longer.
    fn close(&self, in_use: &SandboxInUse) {
        in_use.door.close();
        let path = format!("/sandbox/{}/ssh-access?token={}", in_use.id, in_use.door.token());
        if let Err(why) = self.order(Method::DELETE, &path, None) {
            tracing::debug!("the token for {} was not revoked and expires by age: {why}", in_use.name);
        }
    }
}

/// Why the service says no, and what to do.
fn refused(said: &Answer) -> String {
    let words = said.words();
    match said.status {
        401 => format!("the service rejected the key (401: {words}): check DAYTONA_API_KEY"),
        402 => format!("payment required (402: {words})"),
        403 => format!("the key or account lacks permission (403: {words}): check its limits at app.daytona.io"),
        429 => format!("too many requests or sandboxes (429: {words}): wait, or delete some at app.daytona.io"),
        status @ 500.. => format!("the service failed ({status}: {words}): try again later"),
        status => format!("the service refused ({status}: {words})"),
    }
}

impl Backend for Daytona {
    fn traits(&self) -> &Traits {
        &self.traits
    }

    fn start(&self) -> Result<(), PlaceError> {
        self.enter().map_err(|why| self.unreachable(why))
    }

    fn identity(&self, _: &str) -> String {
        // One that was deleted comes back by the same name, without its files.
        let in_use = lock(&self.in_use);
        in_use.as_ref().map_or_else(String::new, |in_use| format!("daytona {} {}", in_use.name, in_use.id))
    }

    fn client(&self, words: &[&str], terminal: Terminal) -> Command {
        let door = lock(&self.in_use).as_ref().map(|in_use| Arc::clone(&in_use.door));
        match door {
            Some(door) => door.client(words, terminal),
            // Never asked for: it has not started.
            None => self.setting.programs.command("false"),
        }
    }

    fn remains(&self) -> Result<bool, PlaceError> {
        if !self.config.container_persistent {
            return Ok(false);
        }
        let known = self.name().and_then(|name| self.look(&name)).map_err(|why| self.unreachable(why))?;
        Ok(known.is_some_and(|sandbox| sandbox["state"] == "started"))
    }

    fn why_gone(&self) -> Option<String> {
        let (id, name) = lock(&self.in_use).as_ref().map(|in_use| (in_use.id.clone(), in_use.name.clone()))?;
        match self.look(&id) {
            Ok(None) => {
                Some(format!("its sandbox {name} was deleted outside Hermes; the next command creates a new one"))
            }
            Ok(Some(sandbox)) => match sandbox["state"].as_str().unwrap_or_default() {
                "started" => None,
                state => Some(format!(
                    "its sandbox {name} is {state} (idle too long, or outside Hermes); the next command restarts it"
                )),
            },
            Err(why) => Some(why),
        }
    }

    fn stop(&self) -> Result<(), String> {
        let in_use = lock(&self.in_use).take();
        let made = lock(&self.made).take();
        if let Some(in_use) = &in_use {
            self.close(in_use);
        }
        if self.config.container_persistent {
            // It stops by itself when nobody uses it: another program of ours may.
            return Ok(());
        }
        let Some(it) = in_use.map(|in_use| in_use.id).or(made) else { return Ok(()) };
        if let Err(why) = self.order(Method::DELETE, &format!("/sandbox/{it}"), None) {
            tracing::warn!("sandbox {it} was not deleted and stops when idle: {why}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backends::backend::Programs;
    use std::path::PathBuf;

    fn setting() -> Setting {
        Setting {
            workspace: "/w".into(),
            home: "/h/.hermes".into(),
            task: "default".into(),
            programs: Programs::default(),
        }
    }

    fn daytona(config: &TerminalConfig) -> Daytona {
        let keys = Keys::find(|name| match name {
            "DAYTONA_API_KEY" => Some("dtn_x"),
            "DAYTONA_TARGET" => Some("eu"),
            _ => None,
        });
        Daytona::new(config, setting(), &keys, Traits { kind: "daytona", ..Traits::default() }).unwrap()
    }

    #[test]
    fn a_sandbox_has_the_size_of_a_container_as_far_as_the_service_allows() {
        let made = daytona(&TerminalConfig { container_cpu: 1.5, ..TerminalConfig::default() });
        let wanted = made.wanted("hermes-default-1");
        assert_eq!(
            wanted,
            json!({
                "name": "hermes-default-1",
                "labels": {"hermes-agent": "1", "hermes-task-id": "default", "hermes-profile": ".hermes"},
                "env": {}, "public": false, "autoStopInterval": 5, "autoDeleteInterval": -1, "target": "eu",
                "buildInfo": {"dockerfileContent": "FROM nikolaik/python-nodejs:python3.11-nodejs20\n"},
                "cpu": 2, "memory": 5, "disk": 10,
            })
        );
        assert_eq!(made.traits().label, "daytona python-nodejs:python3.11-nodejs20");
        assert!(made.traits().isolated && made.traits().cwd.is_none());
    }

    #[test]
    fn one_that_keeps_nothing_goes_when_it_stops() {
        let config = TerminalConfig {
            container_persistent: false,
            daytona_image: String::new(),
            lifetime_seconds: 10,
            cwd: "/srv".into(),
            ..TerminalConfig::default()
        };
        let made = daytona(&config);
        let wanted = made.wanted("n");
        assert_eq!((&wanted["autoDeleteInterval"], &wanted["autoStopInterval"]), (&json!(0), &json!(1)));
        assert!(wanted["buildInfo"].is_null() && wanted["disk"].is_null(), "{wanted}");
        assert_eq!(made.traits().label, "daytona");
        assert_eq!(made.traits().cwd, Some(PathBuf::from("/srv")));
    }

    #[test]
    fn what_the_service_refuses_says_what_to_do() {
        let said = |status| refused(&Answer { status, body: json!({"message": "no"}), again: None });
        for (status, word) in
            [(401, "DAYTONA_API_KEY"), (402, "payment"), (403, "limits"), (429, "wait"), (503, "later")]
        {
            assert!(said(status).contains(word) && said(status).contains(&format!("{status}: no")), "{}", said(status));
        }
        let none = Daytona::new(&TerminalConfig::default(), setting(), &Keys::default(), Traits::default());
        assert!(none.err().unwrap().to_string().contains("DAYTONA_API_KEY is not set"));
    }
}
