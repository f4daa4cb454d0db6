//! The command line, as described in `docs/CLI.md`. One file per group of commands.

pub mod accounts;
pub mod approvals;
mod build;
mod chat;
mod checkpoints;
pub mod config;
pub mod debug;
pub mod doctor;
pub mod fallback;
pub mod files;
pub mod guide;
mod hidden;
pub mod hooks;
pub mod keys;
pub mod mcp;
pub mod models;
pub mod plain;
pub mod plugins;
pub mod print;
pub mod profile;
mod seal;
pub mod sessions;
pub mod setup;
pub mod skins;
pub mod tools;
pub mod windows;
pub mod worktrees;

pub use build::{Build, commit};
pub use seal::seal;

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;

/// Exit code of a wrong command line (`sysexits`).
const USAGE: i32 = 64;

/// A terminal agent: ask, watch, approve, resume.
#[derive(Debug, Parser)]
#[command(name = "hermes", version, about, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    chat: ChatArgs,
}

/// Flags of a conversation, on the screen and with `-p`.
#[derive(Clone, Debug, Default, Args)]
pub struct ChatArgs {
    /// First prompt
    pub prompt: Option<String>,
    /// Answer one prompt without the screen; `-` or no value reads standard input
    #[arg(short = 'p', long = "print", visible_short_alias = 'z', alias = "oneshot", value_name = "PROMPT", num_args = 0..=1, default_missing_value = "-")]
    pub print: Option<String>,
    /// Continue the newest session in this folder
    #[arg(short = 'c', long = "continue")]
    pub continue_: bool,
    /// With `-c`: all tabs of the window that was open last
    #[arg(long, requires = "continue_")]
    pub all: bool,
    /// Resume a session by id, the start of an id, or title; @claude, @codex, @opencode, @pi and @hermes-py take over the
    /// newest session of that agent in this folder, @codex:ID one of its sessions
    #[arg(short = 'r', long, value_name = "ID|TITLE|@AGENT")]
    pub resume: Option<String>,
    /// MODEL or PROVIDER:MODEL
    #[arg(short = 'm', long)]
    pub model: Option<String>,
    /// Provider of the model
    #[arg(long)]
    pub provider: Option<String>,
    /// Use only these toolsets, comma-separated
    #[arg(short = 't', long, value_delimiter = ',', value_name = "A,B")]
    pub toolsets: Option<Vec<String>>,
    /// Load these skills at the start, comma-separated
    #[arg(short = 's', long, value_delimiter = ',', value_name = "A,B")]
    pub skills: Vec<String>,
    /// Skin to use
    #[arg(long)]
    pub skin: Option<String>,
    /// Run dangerous commands without asking; a few still ask or are refused
    #[arg(long)]
    pub yolo: bool,
    /// Run the hooks in your config.yaml without approval; never a project's
    #[arg(long)]
    pub accept_hooks: bool,
    /// Plain lines instead of the full screen, for screen readers and pipes
    #[arg(long)]
    pub plain: bool,
    /// Demo: a scripted model in a scratch folder; nothing leaves this machine
    #[arg(long)]
    pub demo: bool,
    /// Work in this folder
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Work in a new git worktree, on the branch hermes/NAME
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["continue_", "resume", "demo"])]
    pub worktree: Option<String>,
    /// Add a folder to the workspace
    #[arg(long, value_name = "DIR")]
    pub add_dir: Vec<PathBuf>,
    /// Output format of `-p`
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// Maximum steps per turn
    #[arg(long, value_name = "N")]
    pub max_turns: Option<u32>,
    /// Delete the session when it ends
    #[arg(long, conflicts_with_all = ["continue_", "resume"])]
    pub no_save: bool,
    /// End after this many tokens
    #[arg(long, visible_alias = "max-tokens-total", value_name = "N")]
    pub max_tokens: Option<u64>,
    /// End at this price, in US dollars
    #[arg(long, visible_alias = "max-budget-usd", value_name = "USD", value_parser = dollars)]
    pub max_cost: Option<f64>,
    /// End after this many seconds, between two steps
    #[arg(long, value_name = "SECONDS")]
    pub max_time: Option<u64>,
    /// Require an answer that matches this JSON Schema
    #[arg(long, value_name = "FILE")]
    pub json_schema: Option<PathBuf>,
    /// Show this session on a time line first.
    #[arg(skip)]
    pub replay: Option<String>,
}

/// An amount of money.
fn dollars(text: &str) -> Result<f64, String> {
    let amount = text.parse::<f64>().ok().filter(|amount| amount.is_finite() && *amount >= 0.0);
    amount.ok_or_else(|| "expected an amount such as 0.50".into())
}

/// Shapes of `-p`'s output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Output {
    #[default]
    Text,
    Json,
    StreamJson,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the screen, or answer once with `-q`
    Chat(ChatCommand),
    /// Manage tools: list, show schemas, run one
    #[command(subcommand)]
    Tools(tools::Command),
    /// Manage sessions: list, show, search, export, import
    Sessions(sessions::SessionsArgs),
    /// Bring over the sessions of a Python Hermes
    MigrateSessions(sessions::MigrateArgs),
    /// Save the current folder under a name, compare it, restore it
    Checkpoints(checkpoints::CheckpointsArgs),
    /// Manage MCP servers: list, test, add, remove, log in
    #[command(subcommand)]
    Mcp(mcp::Command),
    /// Manage approvals: rules, log, test commands
    Approvals(approvals::ApprovalsArgs),
    /// Manage the configuration
    Config(config::ConfigArgs),
    /// Choose a model, with questions in plain lines
    Setup(guide::SetupArgs),
    /// Sign in to a model provider
    Login(accounts::LoginArgs),
    /// Delete logins of a model provider
    Logout(accounts::LogoutArgs),
    /// Manage keys and logins of model providers
    #[command(subcommand)]
    Auth(accounts::Auth),
    /// Manage the models tried when the first one fails
    #[command(subcommand)]
    Fallback(fallback::Command),
    /// List available models
    Models(models::ModelsArgs),
    /// Manage plugins
    #[command(subcommand, alias = "plugin")]
    Plugins(plugins::Command),
    /// Manage hooks
    #[command(subcommand)]
    Hooks(hooks::Command),
    /// List skins and themes
    Skins(skins::SkinsArgs),
    /// Copy files to and from the backend
    #[command(subcommand)]
    Files(files::Command),
    /// List keys
    Keys(keys::KeysArgs),
    /// List the open windows, and talk to one
    Windows(windows::WindowsArgs),
    /// Manage the git worktrees of sessions
    Worktrees(worktrees::WorktreesArgs),
    /// Manage profiles, each with separate settings, keys and sessions
    #[command(alias = "profiles")]
    Profile(profile::ProfileArgs),
    /// Check the setup
    Doctor(doctor::DoctorArgs),
    /// Print shell completions
    #[command(alias = "completions")]
    Completion { shell: clap_complete::Shell },
    /// Debugging tools
    #[command(subcommand)]
    Debug(debug::Command),
}

#[derive(Debug, Args)]
struct ChatCommand {
    /// Answer once without the screen
    #[arg(short = 'q', long = "query", value_name = "PROMPT")]
    query: Option<String>,
    #[command(flatten)]
    chat: ChatArgs,
}

/// Runs the program, which was built like this; returns the exit code.
pub fn main(build: Build) -> i32 {
    if let Some(link) = seal::is_helper() {
        let prompt = std::env::args_os().nth(1).unwrap_or_default().to_string_lossy().into_owned();
        return crate::exec::ask_for_helper(&link, &prompt, &mut io::stdout(), &mut io::stderr());
    }
    if let Some(args) = of_plugin(&words()) {
        return ended(setup::block_on(plugins::main(args, &mut io::stdout())));
    }
    let cli = match parse(build) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to standard output and are no error.
            let code = if error.use_stderr() { USAGE } else { 0 };
            let _ = error.print();
            return code;
        }
    };
    ended(run(cli))
}

/// The words of the command line, without a `--profile` at its head.
fn words() -> Vec<OsString> {
    profile::headless(std::env::args_os().collect())
}

/// What a subcommand of a plugin means.
fn of_plugin(words: &[OsString]) -> Option<plugins::Command> {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    plugins::external(&words).filter(|_| !is_ours(&words))
}

/// Every command and flag.
fn commands() -> clap::Command {
    profile::with_flag(Cli::command())
}

fn parse(build: Build) -> Result<Cli, clap::Error> {
    let mut command = commands().version(build.to_string());
    let mut matches = command.try_get_matches_from_mut(words())?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Whether the first word is a subcommand of the program itself: no plugin takes its place.
fn is_ours(words: &[String]) -> bool {
    let command = commands();
    words.get(1).is_some_and(|word| {
        command
            .get_subcommands()
            .any(|known| known.get_name() == word || known.get_all_aliases().any(|alias| alias == word))
    })
}

fn ended(done: anyhow::Result<i32>) -> i32 {
    match done {
        Ok(code) => code,
        // Whoever read the output has seen enough.
        Err(error) if is_broken_pipe(&error) => 0,
        Err(error) => {
            let _ = writeln!(io::stderr(), "hermes: {error:#}");
            1
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn run(cli: Cli) -> anyhow::Result<i32> {
    // The screen writes from other threads, so standard output is only locked for the other commands.
    let command = match cli.command {
        None => return chat(cli.chat),
        Some(Command::Chat(command)) => {
            let mut args = command.chat;
            args.print = args.print.or(command.query);
            return chat(args);
        }
        Some(command) => command,
    };
    let mut out = io::stdout().lock();
    match command {
        Command::Chat(_) => Ok(0),
        Command::Tools(command) => setup::block_on(tools::main(command, &mut out)),
        Command::Sessions(args) => {
            let cwd = std::env::current_dir().unwrap_or_default();
            let home = setup::paths()?.home;
            let replay = match &args.command {
                Some(sessions::SessionsCommand::Replay { id }) => Some(id.clone()),
                _ => None,
            };
            let secrets = match &args.command {
                Some(sessions::SessionsCommand::Import { .. }) => setup::base(&ChatArgs::default())?.secrets,
                _ => Default::default(),
            };
            let code = setup::block_on(async {
                let store = crate::store::Store::spawn(home);
                sessions::run(args, store, &cwd, &secrets, &mut out, &mut io::stderr().lock()).await
            })?;
            match replay.filter(|_| code == 0) {
                Some(id) => chat::run(ChatArgs { replay: Some(id), ..ChatArgs::default() }),
                None => Ok(code),
            }
        }
        Command::MigrateSessions(args) => {
            let store = crate::store::Store::spawn(setup::paths()?.home);
            setup::block_on(sessions::migrate(args, store, &mut out, &mut io::stderr().lock()))
        }
        Command::Checkpoints(args) => setup::block_on(checkpoints::run(args, &mut io::stdin().lock(), &mut out)),
        Command::Mcp(command) => setup::block_on(mcp::run(command, &mut out)),
        Command::Approvals(args) => approvals::run(&args, io::stdin().lock(), &mut out),
        Command::Config(args) => config::run(&args, &setup::paths()?, &mut out),
        Command::Setup(args) => setup::block_on(guide::run(&args, &mut out)),
        Command::Login(args) => setup::block_on(accounts::login(args, &mut out)),
        Command::Logout(args) => accounts::logout(&args, &mut out),
        Command::Auth(command) => accounts::auth(command, &mut out),
        Command::Fallback(command) => fallback::run(command, &mut out),
        Command::Models(args) => setup::block_on(models::run(args, &mut out)),
        Command::Plugins(command) => setup::block_on(plugins::main(command, &mut out)),
        Command::Hooks(command) => hooks::run(&command, &mut out),
        Command::Skins(args) => skins::run(&args, &setup::paths()?, &mut out),
        Command::Files(command) => setup::block_on(files::run(command, &mut out)),
        Command::Keys(args) => keys::run(&args, &setup::paths()?, &mut out),
        Command::Windows(args) => windows::run(&args, &setup::paths()?, &mut out),
        Command::Worktrees(args) => worktrees::run(&args, &setup::paths()?, &mut out),
        Command::Profile(args) => profile::run(&args, &mut io::stdin().lock(), &mut out),
        Command::Doctor(args) => doctor::run(&args, &setup::paths()?, &mut out),
        Command::Completion { shell } => {
            clap_complete::generate(shell, &mut commands(), "hermes", &mut out);
            Ok(0)
        }
        Command::Debug(command) => debug::run(command, &mut out),
    }
}

fn chat(mut args: ChatArgs) -> anyhow::Result<i32> {
    let worktree = worktrees::begin(&mut args)?;
    let code = if args.print.is_some() {
        print::run(args)
    } else if args.plain {
        plain::run(args)
    } else {
        chat::run(args)
    };
    if let Some(tree) = worktree {
        worktrees::end(&tree)?;
    }
    code
}
