//! The environment of children: the login shell's, without the secrets of this program.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// Environment variables by name.
pub(crate) type Env = BTreeMap<OsString, OsString>;

/// Names that are removed although no rule below covers them: credentials and addresses of model providers, messaging
/// platforms and clouds. (`AWS_SESSION_TOKEN` goes by its ending; half a credential helps nobody, so all three go.)
const SECRET_NAMES: &[&str] = &[
    "ANTHROPIC_AUTH",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AZURE_OPENAI_ENDPOINT",
    "FAL_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS_JSON",
    "OPENAI_ORG_ID",
    "OPENAI_ORGANIZATION",
    "OPENAI_PROJECT",
    "SUDO_PASSWORD",
];

/// Endings of names that hold secrets.
const SECRET_ENDINGS: &[&str] = &["_KEY", "_TOKEN", "_SECRET", "_PASS", "_PWD", "_PAT", "_BASE_URL"];

/// Providers whose `_BASE_URL` is configuration of this program; other base URLs belong to the user's own work.
const PROVIDERS: &[&str] = &[
    "ANTHROPIC",
    "AZURE",
    "DASHSCOPE",
    "DEEPSEEK",
    "GEMINI",
    "GLM",
    "GOOGLE",
    "GROQ",
    "KIMI",
    "LM_STUDIO",
    "LLM",
    "MINIMAX",
    "MISTRAL",
    "MOONSHOT",
    "NOUS",
    "OLLAMA",
    "OPENAI",
    "OPENROUTER",
    "QWEN",
    "TOGETHER",
    "VLLM",
    "XAI",
    "ZAI",
];

/// Whether a variable tells of the terminal that this program runs in, which is not the one that a command has: a program
/// that believes it sends what that terminal knows, or talks to a multiplexer about somebody else's pane.
fn is_of_host_terminal(name: &OsStr) -> bool {
    const NAMES: &[&str] = &[
        "TMUX",
        "TMUX_PANE",
        "STY",
        "WINDOW",
        "WINDOWID",
        "WT_SESSION",
        "WT_PROFILE_ID",
        "VTE_VERSION",
        "XTERM_VERSION",
        "INSIDE_EMACS",
        "TERMINFO_DIRS",
        "TERMCAP",
        "COLORFGBG",
    ];
    const STARTS: &[&str] = &[
        "TERM_PROGRAM",
        "TERM_SESSION_ID",
        "ITERM_",
        "KITTY_",
        "ALACRITTY_",
        "WEZTERM_",
        "GHOSTTY_",
        "KONSOLE_",
        "ZELLIJ",
        "LC_TERMINAL",
        "TILIX_",
        "GNOME_TERMINAL_",
        "FOOT_",
        "CONTOUR_",
    ];
    let Some(name) = name.to_str() else { return false };
    NAMES.contains(&name) || STARTS.iter().any(|start| name.starts_with(start))
}

/// Whether a variable is kept from children. `passthrough` holds exact names that are let through,
/// `secrets` those that never are.
pub(crate) fn is_secret(name: &OsStr, passthrough: &[String], secrets: &[String]) -> bool {
    let Some(name) = name.to_str() else { return false };
    if secrets.iter().any(|secret| secret == name) {
        return true;
    }
    // The person's own login for another agent: without it that program stops working.
    if name == "CLAUDE_CODE_OAUTH_TOKEN" || passthrough.iter().any(|p| p == name) {
        return false;
    }
    let upper = name.to_ascii_uppercase();
    if upper.starts_with("HERMES_") || SECRET_NAMES.contains(&upper.as_str()) || upper.contains("PASSWORD") {
        return true;
    }
    SECRET_ENDINGS.iter().any(|ending| {
        upper.strip_suffix(ending).is_some_and(|stem| match *ending {
            "_BASE_URL" => PROVIDERS.iter().any(|p| stem.starts_with(p)),
            _ => true,
        })
    }) || matches!(upper.as_str(), "TOKEN" | "SECRET" | "API_KEY")
}

/// Whether a variable of this name is kept from children when nothing lets it through: it holds a key, a token or a password.
/// `secrets` are names that do whatever they look like.
pub fn keeps_back(name: &str, secrets: &[String]) -> bool {
    is_secret(OsStr::new(name), &[], secrets)
}

/// What children start with. `own` is this program's environment; `login` what the login shell added to it.
///
/// Started from a shell, `own` is what the person sees in that shell (an activated venv, say) and wins; started from a
/// desktop or a service, the login shell knows better.
pub(crate) fn compose(own: Env, login: Option<Env>, passthrough: &[String], secrets: &[String]) -> Env {
    let from_shell = own.contains_key(OsStr::new("SHLVL"));
    let mut env = match login {
        None => own,
        Some(login) => {
            let (mut first, second) = if from_shell { (own, login) } else { (login, own) };
            let path = join_paths(first.get(OsStr::new("PATH")), second.get(OsStr::new("PATH")));
            for (name, value) in second {
                first.entry(name).or_insert(value);
            }
            if let Some(path) = path {
                first.insert("PATH".into(), path);
            }
            first
        }
    };
    env.retain(|name, _| !is_secret(name, passthrough, secrets));
    for name in ["BASH_ENV", "ENV", "COLUMNS", "LINES", "PWD", "OLDPWD", "_"] {
        env.remove(OsStr::new(name));
    }
    env.retain(|name, _| !is_of_host_terminal(name));
    // A pager would wait for keys that nobody presses.
    for (name, value) in [
        ("PAGER", "cat"),
        ("GIT_PAGER", "cat"),
        ("MANPAGER", "cat"),
        ("SYSTEMD_PAGER", "cat"),
        ("GH_PAGER", "cat"),
        ("AWS_PAGER", "cat"),
        ("BAT_PAGER", "cat"),
        ("DELTA_PAGER", "cat"),
        ("PSQL_PAGER", "cat"),
        // What starts it by name all the same ends where one screen is enough, and shows colours.
        ("LESS", "-FRX"),
        // Prose is set for readers; on a terminal as wide as ours every paragraph would be one line.
        ("MANWIDTH", "100"),
        ("TERM", "xterm-256color"),
        ("COLORTERM", "truecolor"),
        ("PYTHONUNBUFFERED", "1"),
    ] {
        env.insert(name.into(), value.into());
    }
    short_graphs(&mut env);
    env.entry("PATH".into()).or_insert_with(|| "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into());
    env
}

/// `git diff --stat` fills the terminal with pluses, of which a very wide one takes a thousand: the names stay whole, the
/// graph is short. Goes behind what the person sets this way.
fn short_graphs(env: &mut Env) {
    let name = |part: &str, count: usize| OsString::from(format!("GIT_CONFIG_{part}_{count}"));
    let count = env.get(OsStr::new("GIT_CONFIG_COUNT")).map_or(Some(0), |count| count.to_str()?.parse().ok());
    // What git itself would refuse is left as it is.
    let Some(count) = count else { return };
    env.insert(name("KEY", count), "diff.statGraphWidth".into());
    env.insert(name("VALUE", count), "40".into());
    env.insert("GIT_CONFIG_COUNT".into(), (count + 1).to_string().into());
}

/// Entries of `first`, then those of `second` that are new.
fn join_paths(first: Option<&OsString>, second: Option<&OsString>) -> Option<OsString> {
    let (Some(first), Some(second)) = (first, second) else { return first.or(second).cloned() };
    let mut entries: Vec<_> = std::env::split_paths(first).collect();
    for entry in std::env::split_paths(second) {
        if !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    std::env::join_paths(entries).ok().or_else(|| Some(first.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> Env {
        pairs.iter().map(|(n, v)| (n.into(), v.into())).collect()
    }

    #[test]
    fn secrets_are_kept_back() {
        for name in [
            "OPENAI_API_KEY",
            "GH_TOKEN",
            "GITHUB_TOKEN",
            "HF_TOKEN",
            "DISCORD_BOT_TOKEN",
            "SLACK_APP_SECRET",
            "PGPASSWORD",
            "DB_PASSWORD_FILE",
            "AWS_SECRET_ACCESS_KEY",
            "HERMES_HOME",
            "OPENAI_BASE_URL",
            "my_api_key",
            "STRIPE_KEY",
            "SSH_PRIVATE_KEY",
            "DB_PASS",
            "MYSQL_PWD",
            "AZURE_DEVOPS_PAT",
            "TS_AUTH_KEY",
        ] {
            assert!(is_secret(OsStr::new(name), &[], &[]), "{name}");
        }
        for name in [
            "PATH",
            "SSH_AUTH_SOCK",
            "SSH_AGENT_PID",
            "SSH_ASKPASS",
            "GIT_ASKPASS",
            "GPG_TTY",
            "XKB_KEYMAP",
            "LD_LIBRARY_PATH",
            "KEYTIMEOUT",
            "VIRTUAL_ENV",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "TOKENIZERS_PARALLELISM",
            "APP_BASE_URL",
        ] {
            assert!(!is_secret(OsStr::new(name), &[], &[]), "{name}");
        }
        assert!(!is_secret(OsStr::new("GH_TOKEN"), &["GH_TOKEN".into()], &[]));
        assert!(is_secret(OsStr::new("WORK_LLM"), &["WORK_LLM".into()], &["WORK_LLM".into()]));
        assert!(!is_secret(OsStr::new("WORK_LLM"), &[], &[]));
    }

    #[test]
    fn nothing_of_the_terminal_around_reaches_a_command() {
        let around = ["TMUX", "TMUX_PANE", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "KITTY_WINDOW_ID", "ZELLIJ", "STY"];
        let own = env(&around.map(|name| (name, "x")));
        let kept = compose(own, None, &[], &[]);
        for name in around {
            assert_eq!(kept.get(OsStr::new(name)), None, "{name}");
        }
        let own = env(&[("TERMINAL", "foot"), ("TMUXINATOR_CONFIG", "x"), ("WINDOWS", "x")]);
        assert_eq!(compose(own.clone(), None, &[], &[]).keys().filter(|name| own.contains_key(*name)).count(), 3);
    }

    #[test]
    fn the_graphs_of_git_are_short_behind_what_the_person_sets() {
        let get = |env: &Env, name: &str| env.get(OsStr::new(name)).and_then(|v| v.to_str()).map(str::to_owned);
        let alone = compose(Env::new(), None, &[], &[]);
        assert_eq!(get(&alone, "GIT_CONFIG_COUNT").as_deref(), Some("1"));
        assert_eq!(get(&alone, "GIT_CONFIG_KEY_0").as_deref(), Some("diff.statGraphWidth"));
        let own = env(&[("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "a.b"), ("GIT_CONFIG_VALUE_0", "c")]);
        let beside = compose(own, None, &[], &[]);
        assert_eq!(get(&beside, "GIT_CONFIG_COUNT").as_deref(), Some("2"));
        assert_eq!(get(&beside, "GIT_CONFIG_KEY_0").as_deref(), Some("a.b"));
        assert_eq!(get(&beside, "GIT_CONFIG_VALUE_1").as_deref(), Some("40"));
        let broken = compose(env(&[("GIT_CONFIG_COUNT", "x")]), None, &[], &[]);
        assert_eq!((get(&broken, "GIT_CONFIG_COUNT").as_deref(), get(&broken, "GIT_CONFIG_KEY_0")), (Some("x"), None));
    }

    #[test]
    fn own_values_win_inside_a_shell_and_login_values_outside() {
        let login = env(&[("PATH", "/login:/bin"), ("EDITOR", "vi"), ("NEW", "1")]);
        let own = env(&[("PATH", "/venv/bin:/bin"), ("EDITOR", "hx"), ("SHLVL", "1"), ("PAGER", "less")]);
        let inside = compose(own.clone(), Some(login.clone()), &[], &[]);
        assert_eq!(inside[OsStr::new("PATH")], "/venv/bin:/bin:/login");
        assert_eq!(inside[OsStr::new("EDITOR")], "hx");
        assert_eq!(inside[OsStr::new("NEW")], "1");
        assert_eq!(inside[OsStr::new("PAGER")], "cat");
        let mut desktop = own;
        desktop.remove(OsStr::new("SHLVL"));
        let outside = compose(desktop, Some(login), &[], &[]);
        assert_eq!(outside[OsStr::new("PATH")], "/login:/bin:/venv/bin");
        assert_eq!(outside[OsStr::new("EDITOR")], "vi");
    }
}
