//! `hermes profile`: homes beside each other. Also the flag `--profile`, which every command has.

mod archive;
mod copy;
mod flag;
mod sessions;
mod show;
mod unpack;

pub(super) use flag::{asked, headless, with_flag};

use super::setup;
use crate::accounts::Accounts;
use crate::config::profiles::{self, DEFAULT, Profiles};
use crate::config::{Paths, Sources, load};
use crate::engine::listening;
use crate::fs::{ensure_dir, remove};
use crate::local::Local;
use crate::policy::redact::Secrets;
use anyhow::{Context as _, Result, bail, ensure};
use clap::{Args, Subcommand};
use std::ffi::OsStr;
use std::io::{BufRead, IsTerminal as _, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// `hermes profile …`; without a subcommand it lists.
#[derive(Args, Clone, Debug)]
pub struct ProfileArgs {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Clone, Debug, Subcommand)]
enum Command {
    /// List profiles; `*` marks the one in use
    List,
    /// Show one: where it is, its model, keys and sessions
    Show {
        /// The one in use by default
        name: Option<String>,
    },
    /// Create a profile, empty or as a copy
    Create {
        name: String,
        /// Copy settings, keys, skills and memory
        #[arg(long)]
        clone: bool,
        /// Copy everything except logins, models, sessions, logs and what can be made again
        #[arg(long, conflicts_with = "clone")]
        clone_all: bool,
        /// The profile to copy; the one in use by default
        #[arg(long, value_name = "NAME")]
        clone_from: Option<String>,
    },
    /// Use a profile from now on; `default` is the home folder itself
    Use { name: String },
    /// Give a profile another name
    Rename { name: String, new: String },
    /// Delete a profile and everything in it
    Delete {
        name: String,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Write a profile to a .tar.gz, without its keys and logins
    Export {
        /// The one in use by default
        name: Option<String>,
        /// NAME.tar.gz by default
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Create a profile from an exported file
    Import {
        file: PathBuf,
        /// Another name than the one in the file
        #[arg(long)]
        name: Option<String>,
    },
}

/// What a new profile starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    Empty,
    /// `--clone`
    Settings,
    /// `--clone-all`
    Everything,
}

/// Runs the command. Exits 0, or 1 when a person said no.
///
/// # Errors
/// A profile is not there or there already, is open in a window, or something can't be read or written.
pub fn run(args: &ProfileArgs, input: &mut dyn BufRead, out: &mut dyn Write) -> Result<i32> {
    let all = setup::profiles()?;
    let json = args.json;
    match args.command.as_ref().unwrap_or(&Command::List) {
        Command::List => show::list(&all, json, out)?,
        Command::Show { name } => {
            let paths = name.as_ref().map_or_else(setup::paths, |name| all.find(name))?;
            setup::block_on(show::show(&all, &paths, json, out))?;
        }
        Command::Create { name, clone, clone_all, clone_from } => {
            let start = match (clone, clone_all, clone_from) {
                (_, true, _) => Start::Everything,
                (true, ..) | (.., Some(_)) => Start::Settings,
                _ => Start::Empty,
            };
            let from = clone_from.as_ref().map_or_else(setup::paths, |from| all.find(from));
            create(&all, name, start, from.map_err(anyhow::Error::from), out)?;
        }
        Command::Use { name } => {
            all.activate(name)?;
            writeln!(out, "{name} is used from now on; --profile and {} still win", profiles::VARIABLE)?;
        }
        Command::Rename { name, new } => rename(&all, name, new, out)?,
        Command::Delete { name, yes } => return delete(&all, name, *yes, input, out),
        Command::Export { name, output } => {
            let paths = name.as_ref().map_or_else(setup::paths, |name| all.find(name))?;
            let name = paths.profile().unwrap_or(DEFAULT);
            let file = output.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.tar.gz")));
            setup::block_on(archive::export(&paths, name, &file, out))?;
        }
        Command::Import { file, name } => setup::block_on(unpack::import(&all, file, name.as_deref(), out))?,
    }
    Ok(0)
}

fn create(all: &Profiles, name: &str, start: Start, from: Result<Paths>, out: &mut dyn Write) -> Result<()> {
    free(all, name)?;
    let new = New::begin(all)?;
    let left = match start {
        Start::Empty => Vec::new(),
        Start::Settings => copy::settings(&from?.home, new.path())?,
        Start::Everything => copy::everything(&from?.home, new.path())?,
    };
    let home = new.finish(all, name)?;
    writeln!(out, "created {name} in {}", home.display())?;
    tell_left(&left, out)?;
    writeln!(out, "use it once: hermes --profile {name}")?;
    writeln!(out, "from now on: hermes profile use {name}")?;
    Ok(())
}

fn rename(all: &Profiles, name: &str, new: &str, out: &mut dyn Write) -> Result<()> {
    let paths = changeable(all, name)?;
    free(all, new)?;
    let ours = paths.home.join(remove::MARK).exists();
    let home = all.paths(new).home;
    std::fs::rename(&paths.home, &home).with_context(|| format!("could not rename {}", paths.home.display()))?;
    if ours {
        remove::mark(remove::Tree::Profile, &home).with_context(|| home.display().to_string())?;
    }
    if all.active().as_deref() == Some(name) {
        all.activate(new)?;
    }
    writeln!(out, "{name} is {new} now")?;
    Ok(())
}

fn delete(all: &Profiles, name: &str, yes: bool, input: &mut dyn BufRead, out: &mut dyn Write) -> Result<i32> {
    let paths = changeable(all, name)?;
    if !yes {
        ensure!(std::io::stdin().is_terminal(), "deleting a profile asks first; without a terminal, add --yes");
        write!(out, "Delete {name} with its settings, keys, memory and sessions? [y/N] ")?;
        out.flush()?;
        let mut answer = String::new();
        input.read_line(&mut answer)?;
        if !matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
            writeln!(out, "nothing deleted")?;
            return Ok(1);
        }
        // Somebody may have opened it while the question stood.
        changeable(all, name)?;
    }
    // A file that can't be read keeps no profile from being deleted.
    let locked_away = Accounts::new(&paths, Secrets::default()).locked_away().ok();
    remove::tree(remove::Tree::Profile, all.root(), &paths.home)?;
    writeln!(out, "deleted {name}")?;
    let left = locked_away.map_or(0, |names| names.forget());
    if left > 0 {
        writeln!(out, "{left} of its logins are still in the system's keyring, as \"hermes\": delete them there")?;
    }
    if all.active().as_deref() == Some(name) {
        all.activate(DEFAULT)?;
        writeln!(out, "{DEFAULT} is used from now on")?;
    }
    Ok(0)
}

/// A profile that may be moved or deleted: not the home itself, and nobody works in it, no model server either.
fn changeable(all: &Profiles, name: &str) -> Result<Paths> {
    ensure!(name != DEFAULT, "{DEFAULT} is the home folder itself, {}: it stays as it is", all.root().display());
    let paths = all.find(name)?;
    match listening(&paths).as_slice() {
        [] => {}
        [one] => bail!("{name} is open in process {one}: close it first"),
        several => bail!("{name} is open in {} processes: close them first", several.len()),
    }
    // It reads its model and its engine from there, and nobody would find it again.
    let config = &load(&Sources::of_process(paths.clone())).config;
    if let Some((model, _)) = Local::new(&paths.home, &config.models, "").running().first() {
        bail!("{name} runs the model {model}: stop it first with `hermes --profile {name} models stop`");
    }
    Ok(paths)
}

/// Whether a new profile can have this name.
fn free(all: &Profiles, name: &str) -> Result<()> {
    profiles::check(name)?;
    let home = all.paths(name).home;
    ensure!(home.symlink_metadata().is_err(), "{name} exists already: {}", home.display());
    Ok(())
}

fn tell_left(left: &[String], out: &mut dyn Write) -> Result<()> {
    if !left.is_empty() {
        writeln!(out, "left out: {}", left.join(", "))?;
    }
    Ok(())
}

/// A profile in the making: under a name that is none, and gone when it is not finished.
struct New(tempfile::TempDir);

impl New {
    fn begin(all: &Profiles) -> Result<Self> {
        let folder = all.root().join(profiles::FOLDER);
        ensure_dir(&folder)?;
        let private = std::fs::Permissions::from_mode(0o700);
        let new = tempfile::Builder::new().prefix(".new-").permissions(private).tempdir_in(&folder);
        Ok(Self(new.with_context(|| format!("could not create a folder in {}", folder.display()))?))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Gives it its name.
    fn finish(self, all: &Profiles, name: &str) -> Result<PathBuf> {
        free(all, name)?;
        let home = all.paths(name).home;
        remove::mark_as(remove::Tree::Profile, self.path(), OsStr::new(name))
            .with_context(|| self.path().display().to_string())?;
        std::fs::rename(self.path(), &home).with_context(|| format!("could not create {}", home.display()))?;
        // There is nothing left to clean up.
        let _ = self.0.keep();
        Ok(home)
    }
}
