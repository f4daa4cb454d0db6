//! `hermes setup`: the questions of the first-run card in plain lines. Enter keeps what is there.

mod answers;
mod backup;
mod offers;

use super::models::{get, local, test};
use super::{ChatArgs, accounts, hidden, setup};
use crate::accounts::{Accounts, Known, Watch};
use crate::agent::Models;
use crate::config::load;
use crate::engine::{Base, choose};
use crate::llm::local::{LocalKind, LocalServer, ServerRefused};
use crate::llm::{endpoint, ready};
use crate::local::served;
use answers::{Answers, Gone};
use backup::Backup;
use clap::Args;
use offers::Offer;
use std::io::{self, IsTerminal as _, Write};
use std::sync::Arc;

/// Models that are listed; more are named.
const LISTED: usize = 20;

/// What to do where nobody answers.
const GUIDANCE: &str = "\
hermes setup asks questions and needs a terminal. Without one, take one of these:

  hermes models get --yes          get a model that runs on this computer
  hermes login PROVIDER            sign in without a key
  hermes auth add PROVIDER         store a key from standard input
  hermes config set model.base_url http://127.0.0.1:8080/v1
                                   use your own server

and then choose the model, as `hermes models` lists them:

  hermes config set model.provider PROVIDER
  hermes config set model.default MODEL";

/// Flags of `hermes setup`.
#[derive(Debug, Args)]
pub struct SetupArgs {
    /// Ask nothing: print what to run instead, and exit with 1
    #[arg(long)]
    non_interactive: bool,
}

/// Asks and sets up: 0 a model is chosen, 1 none is.
pub async fn run(args: &SetupArgs, out: &mut dyn Write) -> anyhow::Result<i32> {
    if args.non_interactive || !io::stdin().is_terminal() {
        writeln!(out, "{GUIDANCE}")?;
        return Ok(1);
    }
    let base = setup::base(&ChatArgs::default())?;
    let accounts = Accounts::new(&base.paths, base.secrets.clone());
    let backup = Backup::of(base.paths.config());
    let mut guide = Guide { base, accounts, backup, answers: Answers::default(), out };
    guide.go().await
}

/// A model that was chosen.
struct Chosen {
    provider: String,
    model: String,
}

/// The conversation.
struct Guide<'a> {
    base: Base,
    accounts: Accounts,
    backup: Backup,
    answers: Answers,
    out: &'a mut dyn Write,
}

impl Guide<'_> {
    async fn go(&mut self) -> anyhow::Result<i32> {
        let current = self.current();
        writeln!(self.out, "Hermes needs a model. Nothing is sent anywhere until you choose one.")?;
        loop {
            self.read_again();
            writeln!(self.out, "looking for keys and local servers…")?;
            let offers = offers::look(&self.base, &self.accounts).await?;
            offers::print(&offers, self.out)?;
            let keeps = if current.is_empty() { String::new() } else { format!(" [Enter keeps {current}]") };
            let answer = self.answers.ask(&format!("Choose a number{keeps}"), self.out).await?;
            if answer.is_empty() && !current.is_empty() {
                writeln!(self.out, "{current} stays your default model; nothing was changed")?;
                return Ok(0);
            }
            let number = answers::number(&answer, offers.len());
            let Some(offer) = number.and_then(|at| offers.get(at)) else {
                writeln!(self.out, "! choose a number from 1 to {}", offers.len())?;
                continue;
            };
            // What went wrong is no end: another way may work.
            match self.take(offer.clone()).await {
                Ok(Some(chosen)) => return self.settle(chosen).await,
                Ok(None) => {}
                Err(error) if error.is::<Gone>() => return Err(error),
                Err(error) => writeln!(self.out, "! {error:#}")?,
            }
        }
    }

    /// The model of new sessions as it is now, `PROVIDER:MODEL`; empty: none.
    fn current(&self) -> String {
        let known = Known { loaded: &self.base.loaded, accounts: &self.accounts };
        endpoint::resolve(&self.base.loaded.config, &known, None).map(|endpoint| endpoint.label()).unwrap_or_default()
    }

    /// The configuration as it is now.
    fn read_again(&mut self) {
        self.base.loaded = Arc::new(load::load(&self.base.sources));
    }

    /// Before the first change the configuration is copied.
    fn keep_config(&mut self) -> anyhow::Result<()> {
        if let Some(copy) = self.backup.before_change()? {
            writeln!(self.out, "the config.yaml before this is {}", copy.display())?;
        }
        Ok(())
    }

    async fn take(&mut self, offer: Offer) -> anyhow::Result<Option<Chosen>> {
        match offer {
            Offer::Key(provider, _) => self.model_of(provider).await.map(Some),
            Offer::Server(server) => self.use_server(server, String::new()).await.map(Some),
            Offer::Start(idle) => {
                if self
                    .answers
                    .is_yes(&format!("Run `{}`? It keeps running after Hermes exits", idle.line()), self.out)
                    .await?
                {
                    writeln!(self.out, "starting {}…", idle.title())?;
                    idle.start(&self.base.paths.home).await?;
                }
                // It answers now, and is among the servers.
                Ok(None)
            }
            Offer::OwnServer => self.own_server().await,
            Offer::UseLocal(model) => Ok(Some(here(model))),
            Offer::GetLocal(name, ..) => Ok(get::obtain(&self.base, Some(name), false, self.out).await?.map(here)),
            Offer::MoreLocal => {
                local::list(false, self.out).await?;
                let name = self.answers.ask("Name, file or REPO:FILE", self.out).await?;
                if name.is_empty() {
                    return Ok(None);
                }
                Ok(get::obtain(&self.base, Some(name), false, self.out).await?.map(here))
            }
            // Something may have been installed meanwhile: it is looked again.
            Offer::NoLocal(_) => Ok(None),
            Offer::SignIn(provider, title, _) => {
                let tell = |step| accounts::show(step, false);
                let watch = Watch { tell: &tell, pasted: Box::pin(self.answers.address()) };
                let saved = self.accounts.sign_in(&self.base.loaded, &provider, None, None, watch).await?;
                accounts::signed_in(self.out, &title, &saved)?;
                self.read_again();
                self.model_of(provider).await.map(Some)
            }
            Offer::PasteKey => self.paste_key().await,
        }
    }

    async fn paste_key(&mut self) -> anyhow::Result<Option<Chosen>> {
        let names = ready::pasteable();
        writeln!(self.out, "{}", names.join(", "))?;
        let now = self.base.loaded.config.model.provider.clone();
        let now = if names.contains(&now) { now } else { String::new() };
        let provider = self.answers.ask_or("Provider", &now, self.out).await?;
        if provider.is_empty() {
            return Ok(None);
        }
        anyhow::ensure!(
            names.contains(&provider),
            "{provider} is not in this list; name one of it, or choose your own server"
        );
        let key = hidden::read(&format!("Key for {}", offers::name(&provider)))?;
        writeln!(self.out, "trying it with one request…")?;
        match choose::try_key(&self.base.loaded, &self.base.paths, &provider, &key).await {
            Ok(said) => writeln!(self.out, "{said}")?,
            Err(why) => {
                writeln!(self.out, "! {why}")?;
                if !self.answers.is_yes("Store it all the same?", self.out).await? {
                    return Ok(None);
                }
            }
        }
        choose::save_key(&self.base.paths, &provider, &key).map_err(anyhow::Error::msg)?;
        writeln!(self.out, "stored the key in {}", self.base.paths.dotenv().display())?;
        self.read_again();
        self.model_of(provider).await.map(Some)
    }

    async fn own_server(&mut self) -> anyhow::Result<Option<Chosen>> {
        let now = self.base.loaded.config.model.base_url.clone();
        let address = self.answers.ask_or("Address of your server, such as 127.0.0.1:8080", &now, self.out).await?;
        if address.is_empty() {
            return Ok(None);
        }
        let mut key = String::new();
        loop {
            match choose::ask_server(&self.base.paths, &address, &key).await {
                Ok(server) => return self.use_server(server, key).await.map(Some),
                Err(ServerRefused::Key(base_url)) => {
                    let said = if key.is_empty() { "needs a key" } else { "rejected this key" };
                    writeln!(self.out, "the server {said}")?;
                    key = hidden::read(&format!("Key for {base_url}"))?;
                }
                Err(ServerRefused::NoList(base_url)) => {
                    writeln!(self.out, "the server does not list its models")?;
                    let server = LocalServer { kind: LocalKind::Other, base_url, models: Vec::new(), window: None };
                    return self.use_server(server, key).await.map(Some);
                }
                Err(ServerRefused::Other(why)) => anyhow::bail!(why),
            }
        }
    }

    async fn use_server(&mut self, server: LocalServer, key: String) -> anyhow::Result<Chosen> {
        let rows: Vec<(String, String)> = server.models.iter().map(|model| (model.clone(), String::new())).collect();
        let model = match rows.as_slice() {
            [(only, _)] => only.clone(),
            rows => self.pick(rows, "custom").await?,
        };
        self.keep_config()?;
        choose::save_server(&self.base.paths, &self.base.loaded.config, &server.base_url, &key, &model)?;
        self.read_again();
        Ok(Chosen { provider: "custom".into(), model })
    }

    /// Asks for a model of a provider that can be used by now.
    async fn model_of(&mut self, provider: String) -> anyhow::Result<Chosen> {
        let listed = choose::models(&self.base.loaded, &self.accounts, &self.base.paths, &provider).await;
        let rows = match listed {
            Ok(models) => models.iter().map(|model| (model.id.clone(), ready::detail(model, None))).collect(),
            Err(why) => {
                writeln!(self.out, "! {why}")?;
                Vec::new()
            }
        };
        let model = self.pick(&rows, &provider).await?;
        Ok(Chosen { provider, model })
    }

    /// One of these models, by number or name; the one of the configuration is kept by Enter.
    async fn pick(&mut self, rows: &[(String, String)], provider: &str) -> anyhow::Result<String> {
        let wide = rows.iter().take(LISTED).map(|(id, _)| id.chars().count()).max().unwrap_or(0);
        for (at, (id, detail)) in rows.iter().take(LISTED).enumerate() {
            writeln!(self.out, "{}", format!("{:>4}  {id:wide$}  {detail}", at + 1).trim_end())?;
        }
        if rows.len() > LISTED {
            writeln!(self.out, "      and {} more, by name: `hermes models {provider}`", rows.len() - LISTED)?;
        }
        let model = &self.base.loaded.config.model;
        let now = if model.provider == provider { model.default.clone() } else { String::new() };
        let now = if now.is_empty() { rows.first().map(|(id, _)| id.clone()).unwrap_or_default() } else { now };
        let names: Vec<&str> = rows.iter().map(|(id, _)| id.as_str()).collect();
        loop {
            let answer = self.answers.ask_or("Model, by number or name", &now, self.out).await?;
            match answers::row(&answer, &names).and_then(|at| names.get(at)) {
                Some(name) => return Ok((*name).to_owned()),
                // A list is not always whole.
                None if !answer.is_empty() && answer.parse::<usize>().is_err() => return Ok(answer),
                None => writeln!(self.out, "! name a model")?,
            }
        }
    }

    /// It is the model of new sessions from now on, and is tested where nothing is known of it.
    async fn settle(&mut self, Chosen { provider, model }: Chosen) -> anyhow::Result<i32> {
        self.keep_config()?;
        choose::save_model(&self.base.paths, &provider, &model)?;
        self.read_again();
        let choice = format!("{provider}:{model}");
        let models = Models::new(Arc::clone(&self.base.loaded), &self.base.paths, self.accounts.clone());
        if models.is_untested(&choice).is_some() {
            writeln!(self.out, "testing it with two short requests (models.self_test: false skips this)")?;
            // The choice stands, whatever the test says.
            if let Err(error) = test::test(&self.base, Some(&choice), false, self.out).await {
                writeln!(self.out, "! {error}")?;
            }
        }
        writeln!(self.out, "{choice} is your default model now; start with: hermes")?;
        Ok(0)
    }
}

/// A model of this computer.
fn here(model: String) -> Chosen {
    Chosen { provider: served::PROVIDER.to_owned(), model }
}
