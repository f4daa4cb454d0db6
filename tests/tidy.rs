//! The house rules as tests: what may use what, how long a file may be, what may not stand in it.

mod app;

use crate::sources::{fail_on, literals, root, sources};
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The cap of code lines a file.
const CAP: usize = 500;

/// What each room may use of ours. `protocol`, `text`, `policy`, `yaml`, `lock` and `environment` are leaves that
/// anything may use; `fs` is one too, for those that may touch the disk.
const LEAVES: &[&str] = &["text", "protocol", "policy", "lock", "environment", "yaml"];

fn allowed(room: &str) -> Vec<&'static str> {
    let mut may: Vec<&'static str> = LEAVES.to_vec();
    may.extend_from_slice(match room {
        "text" | "protocol" | "policy" | "lock" | "environment" | "yaml" | "term" => &[],
        "fs" => &["fs"],
        "config" => &["config", "fs"],
        "recordings" => &["recordings", "fs"],
        "exec" => &["exec", "recordings", "config", "fs"],
        "store" => &["store", "recordings", "config", "fs"],
        "checkpoints" => &["checkpoints", "store", "config", "fs"],
        "pruning" => &["pruning", "checkpoints", "store", "recordings", "config", "fs"],
        "elsewhere" => &["elsewhere", "store", "config", "fs"],
        "llm" => &["llm", "config", "fs"],
        "accounts" => &["accounts", "exec", "llm", "config", "fs"],
        "context" => &["context", "config", "fs"],
        "local" => &["local", "exec", "llm", "config", "fs"],
        "backends" => &["backends", "exec", "config", "fs"],
        "tools" => &["tools", "checkpoints", "backends", "exec", "store", "llm", "context", "config", "fs"],
        "mcp" => &["mcp", "exec", "store", "llm", "context", "config", "tools::spec", "fs"],
        "plugins" => &["plugins", "tools::spec", "tools::hook", "exec", "store", "llm", "context", "config", "fs"],
        "agent" => &[
            "agent",
            "accounts",
            "local",
            "llm",
            "tools",
            "checkpoints",
            "plugins",
            "backends",
            "exec",
            "store",
            "context",
            "config",
            "fs",
        ],
        "report" => &[
            "report",
            "accounts",
            "mcp",
            "plugins",
            "tools",
            "checkpoints",
            "backends",
            "exec",
            "store",
            "pruning",
            "recordings",
            "local",
            "llm",
            "context",
            "config",
            "fs",
        ],
        "app" => &["app", "exec", "store", "llm", "config"],
        "ui" => &["ui", "app", "config", "exec", "llm"],
        "engine" => &[
            "engine",
            "accounts",
            "agent",
            "tools",
            "checkpoints",
            "plugins",
            "mcp",
            "backends",
            "exec",
            "store",
            "recordings",
            "local",
            "llm",
            "context",
            "config",
            "fs",
        ],
        // Both put the rooms together; they meet where `cli` starts the screen.
        "runtime" => &[
            "runtime",
            "app",
            "ui",
            "term",
            "engine",
            "report",
            "elsewhere",
            "accounts",
            "agent",
            "tools",
            "checkpoints",
            "plugins",
            "mcp",
            "backends",
            "exec",
            "store",
            "pruning",
            "recordings",
            "local",
            "llm",
            "context",
            "config",
            "fs",
        ],
        "cli" => &[
            "cli",
            "runtime",
            "app",
            "term",
            "engine",
            "report",
            "elsewhere",
            "accounts",
            "agent",
            "tools",
            "checkpoints",
            "plugins",
            "mcp",
            "backends",
            "exec",
            "store",
            "pruning",
            "recordings",
            "local",
            "llm",
            "context",
            "config",
            "fs",
        ],
        "main" => &["cli"],
        "lib" => &[],
        other => panic!("{other} is not in the import table of tests/tidy.rs"),
    });
    may
}

#[test]
fn rooms_use_only_what_the_table_allows() {
    let path = Regex::new(r"\bcrate::(\w+)(?:::(\w+))?").unwrap();
    let group = Regex::new(r"\bcrate::\{").unwrap();
    let mut faults = Vec::new();
    for source in sources() {
        let may = allowed(&source.room);
        if group.is_match(&source.code) {
            faults.push(format!("{}: write one `use crate::room` a line", source.path.display()));
        }
        for found in path.captures_iter(&source.code) {
            let first = &found[1];
            let second = found.get(2).map_or("", |m| m.as_str());
            let both = format!("{first}::{second}");
            let own = first == source.room;
            if !own && !may.contains(&first) && !may.contains(&both.as_str()) {
                faults.push(format!("{} uses crate::{both}", source.path.display()));
            }
        }
    }
    fail_on("imports against the table of docs/ARCHITECTURE.md", faults);
}

/// Which rooms each room names, itself left out.
fn rooms() -> BTreeMap<String, BTreeSet<String>> {
    let path = Regex::new(r"\bcrate::(\w+)").unwrap();
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in sources() {
        let uses = graph.entry(source.room.clone()).or_default();
        uses.extend(path.captures_iter(&source.code).map(|found| found[1].to_owned()).filter(|to| *to != source.room));
    }
    graph
}

/// All that can be reached from a room by the rooms it names.
fn reached<'a>(graph: &'a BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(room) = open.pop() {
        for next in graph.get(room).into_iter().flatten() {
            if seen.insert(next.as_str()) {
                open.push(next);
            }
        }
    }
    seen
}

#[test]
fn no_cycle_between_rooms() {
    let graph = rooms();
    let faults = graph
        .keys()
        .filter_map(|room| {
            let reach = reached(&graph, room);
            // A room that comes back to itself lies in a knot with all those that it reaches and that reach it.
            let knot: Vec<&str> =
                reach.iter().copied().filter(|other| reached(&graph, other).contains(room.as_str())).collect();
            (!knot.is_empty()).then(|| format!("{room} is in a cycle: {}", knot.join(", ")))
        })
        .collect();
    fail_on("rooms that use each other", faults);
}

/// Source files in a folder.
const FOLDER: usize = 30;

#[test]
fn folders_stay_small() {
    let mut count: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for source in sources() {
        *count.entry(source.path.parent().map(Path::to_path_buf).unwrap_or_default()).or_default() += 1;
    }
    let over = count.into_iter().filter(|(_, files)| *files > FOLDER);
    let faults =
        over.map(|(folder, files)| format!("{}: {files} files, {FOLDER} is the cap", folder.display())).collect();
    fail_on("folders that want sub-rooms", faults);
}

#[test]
fn the_core_is_pure() {
    let impure = Regex::new(
        r"\bstd::(fs|process)\b|\bstd::net::(Tcp|Udp|ToSocket)|\bstd::net;|\btokio\b|\b(Instant|SystemTime|Utc|Local)::now\b|\brusqlite\b|\bcrossterm\b",
    )
    .unwrap();
    let faults = sources()
        .into_iter()
        .filter(|s| {
            matches!(s.room.as_str(), "app" | "policy" | "text")
                || s.path == Path::new("agent/turn.rs")
                || s.path == Path::new("agent/retry.rs")
        })
        .filter_map(|s| impure.find(&s.code).map(|m| format!("{}: {}", s.path.display(), m.as_str())))
        .collect();
    fail_on("the core touches the world", faults);
}

#[test]
fn files_stay_short() {
    let faults = sources()
        .into_iter()
        .map(|s| (s.code.lines().filter(|l| !l.trim().is_empty()).count(), s.path))
        .filter(|(lines, _)| *lines > CAP)
        .map(|(lines, path)| format!("{}: {lines} code lines, {CAP} is the cap", path.display()))
        .collect();
    fail_on("files that want to be split", faults);
}

#[test]
fn files_say_what_they_own() {
    let faults = sources()
        .into_iter()
        .filter(|s| !s.raw.starts_with("//! "))
        .map(|s| format!("{}: the first line is no `//!`", s.path.display()))
        .collect();
    fail_on("files without a head", faults);
}

#[test]
fn nothing_panics_or_prints() {
    let bad =
        Regex::new(r"\.unwrap\(\)|\bpanic!|\bunreachable!|\btodo!|\bunimplemented!|\be?print(ln)?!|\bdbg!|static mut")
            .unwrap();
    let mut faults = Vec::new();
    for source in sources() {
        for (number, line) in source.code.lines().enumerate() {
            if let Some(found) = bad.find(line) {
                faults.push(format!("{}:{}: {}", source.path.display(), number + 1, found.as_str()));
            }
        }
    }
    fail_on("words that may not stand in src", faults);
}

/// Where other programs are started, and whose words they are. What a model can reach goes through the gate: a new place
/// here needs a door in `tests/e2e/gate.rs`, or a reason why no call of a model decides what it runs.
const STARTS: &[(&str, &str)] = &[
    ("exec/outlive/terminal_keeper.rs", "this program, to hold terminals when it is left; fixed words"),
    ("exec/process/shell.rs", "the shell of the terminal tool: behind the gate"),
    ("exec/process/handle.rs", "the shell of the terminal tool: behind the gate"),
    (
        "exec/outlive/remote_recovery.rs",
        "the client that follows a command on another machine, which an earlier run let through",
    ),
    ("exec/process/orders.rs", "a command again that was let through, judged anew by the gate"),
    ("exec/sandbox/kernel.rs", "tries in a child what the system has; fixed words"),
    ("exec/sandbox/rights.rs", "a shell that waits, in a user namespace for the sandbox; fixed words"),
    ("exec/child/oneshot.rs", "one run and its result, for the callers below"),
    ("exec/process/remote.rs", "the client of a command on another machine: behind the gate"),
    ("backends/backend.rs", "clients that a person configured, and fixed words of theirs"),
    ("backends/job.rs", "the client of a command on another machine: behind the gate"),
    ("backends/open.rs", "nothing, where a place is not set up"),
    ("backends/transfer.rs", "tar, for `hermes files` of a person"),
    ("exec/child/daemon.rs", "the server of a local model, which a person chose"),
    ("local/machine.rs", "how much memory there is, where no file tells; fixed words"),
    ("exec/process/started.rs", "when a process was started, where no file tells; fixed words"),
    ("local/engine/find.rs", "the version of a Python and of a llama-server, fixed words"),
    ("local/idle.rs", "Ollama or LM Studio, which the person said is to be started; fixed words"),
    ("local/engine/launch.rs", "the server of a local model, which a person chose"),
    ("exec/child/piped.rs", "servers and plugins, which a person named and trusted"),
    ("exec/child/repo.rs", "git, which only reads and runs nothing that a repository names"),
    ("exec/child/browse.rs", "opens the page of a login that a person began"),
    ("accounts/keyring.rs", "the system's keyring, with fixed words; a secret goes in by standard input"),
    ("accounts/helper.rs", "a program that the person said may be asked for its token; fixed words of a table"),
    ("exec/askpass/probe.rs", "whether sudo wants a password, before a line that has it; fixed words"),
    ("exec/process/login.rs", "the person's login shell, for its variables"),
    ("runtime/images.rs", "the clipboard's picture, fixed words"),
    ("cli/config.rs", "the person's editor, from the command line"),
    ("tools/code/run.rs", "the interpreter of a script, whose text the gate let through"),
    ("exec/child/script.rs", "that interpreter, and a shell that ends it when this program is gone; fixed words"),
    ("tools/file/checks.rs", "checkers of the person's configuration after an edit"),
    ("tools/builtin/terminal/run.rs", "the terminal tool: behind the gate"),
    ("plugins/fire.rs", "hooks, which a person said yes to"),
    ("plugins/install.rs", "the installer, from the command line"),
    ("term/clipboard.rs", "the clipboard, fixed words"),
];

#[test]
fn processes_start_in_few_places() {
    let start = Regex::new(r"\bCommand::new\(|\.launch(_as)?\(").unwrap();
    let faults = sources()
        .iter()
        .filter(|source| start.is_match(&source.code))
        .map(|source| source.path.display().to_string())
        .filter(|path| !STARTS.iter().any(|(known, _)| path.ends_with(known)))
        .collect();
    fail_on("starts another program outside of the known places", faults);
}

#[test]
fn what_a_call_may_use_is_put_together_in_one_place() {
    // Declarations and return types hold the same words; what is left is a literal or a pattern.
    let named = Regex::new(r"(struct |impl |for |-> )?(?:\w+::)*ToolCtx \{").unwrap();
    let found: Vec<_> = sources()
        .iter()
        .filter(|s| named.captures_iter(&s.code).any(|hit| hit.get(1).is_none()))
        .map(|s| s.path.display().to_string())
        .collect();
    assert_eq!(found, ["agent/runner/calls.rs"], "a field that another place forgets would be a hole in the gate");
}

#[test]
fn nothing_is_deleted_but_through_one_function() {
    // The function itself, and the deletion of a person's file by a call that the person let through or a rewind.
    let exceptions = ["fs/remove.rs", "tools/file/write.rs"];
    let bad = Regex::new(r"\b(remove_(file|dir|dir_all)|unlink(at)?|rmdir)\b").unwrap();
    let program = Regex::new(r#"Command::new\("(?:/usr)?(?:/bin/)?(?:rm|rmdir|unlink|shred)""#).unwrap();
    let mut faults = Vec::new();
    let mut excepted = Vec::new();
    for source in sources() {
        let found = bad.find(&source.code).map(|m| m.as_str()).or(program.find(&source.raw).map(|m| m.as_str()));
        let Some(found) = found else { continue };
        match exceptions.iter().find(|path| source.path == Path::new(path)) {
            Some(path) => excepted.push(*path),
            None => faults.push(format!("{}: {found}; use fs::remove", source.path.display())),
        }
    }
    fail_on("deletions beside fs::remove", faults);
    assert_eq!(excepted, exceptions, "exceptions that delete nothing");
}

#[test]
fn colours_live_in_the_theme() {
    let colour =
        Regex::new(r"\bColor::(Rgb|Indexed|Black|Red|Green|Yellow|Blue|Magenta|Cyan|Gray|White|Light\w+|Dark\w+)")
            .unwrap();
    let faults = sources()
        .into_iter()
        .filter(|s| !s.path.starts_with("config/theme") && s.path != Path::new("config/theme.rs"))
        // The terminal emulator has a type of the same name.
        .filter(|s| !s.code.contains("vt100::"))
        .filter_map(|s| colour.find(&s.code).map(|m| format!("{}: {}", s.path.display(), m.as_str())))
        .collect();
    fail_on("raw colours outside config::theme", faults);
}

/// Where `app` may look at a key itself, and why. Everywhere else the keymap says what a key means.
const RAW_KEYS: &[(&str, &str)] = &[
    ("app/input/edit.rs", "a text field takes the letters that are typed"),
    ("app/input/vi.rs", "vi keys in text fields"),
    ("app/input/vi/machine.rs", "vi keys in text fields"),
    ("app/input/keys.rs", "Esc ends a chord, and Tab completes in a text"),
    ("app/input/mouse.rs", "the wheel as arrows for a program"),
];

#[test]
fn keys_are_looked_up_and_not_matched() {
    let raw = Regex::new(r"\bCode::").unwrap();
    let faults = sources()
        .into_iter()
        .filter(|s| matches!(s.room.as_str(), "app" | "ui") && raw.is_match(&s.code))
        .map(|s| s.path.display().to_string())
        .filter(|path| !RAW_KEYS.iter().any(|(known, _)| path == known))
        .collect();
    fail_on("matches a key itself: bind an action to it in assets/keymap.yaml", faults);
    let letter = Regex::new(r"\bCode::Char\b").unwrap();
    let letters: Vec<String> = sources()
        .into_iter()
        .filter(|s| s.room == "app" && letter.is_match(&s.code))
        .map(|s| s.path.display().to_string())
        .collect();
    assert_eq!(
        letters,
        ["app/input/edit.rs", "app/input/vi/machine.rs"],
        "letters are matched where text is written only"
    );
}

#[test]
fn hints_come_from_the_keymap() {
    // vi keys are fixed, and their page names them.
    let fixed = ["app/input/vi.rs", "app/docs.rs"];
    let key = Regex::new(
        r#""(?:[^"\\]|\\.)*\b(?:Enter|Esc|PgUp|PgDn|Shift-Tab|(?:Ctrl|Alt)-[A-Za-z]|F[0-9]+)\b(?:[^"\\]|\\.)*""#,
    )
    .unwrap();
    let mut faults = Vec::new();
    for source in sources().into_iter().filter(|s| matches!(s.room.as_str(), "app" | "ui") && !s.code.is_empty()) {
        if fixed.iter().any(|path| source.path == Path::new(path)) {
            continue;
        }
        let shown = source.raw.split("#[cfg(test)]").next().unwrap_or_default();
        for (number, line) in shown.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            if key.is_match(line) {
                faults.push(format!("{}:{}: {}", source.path.display(), number + 1, line.trim()));
            }
        }
    }
    fail_on("keys written by hand where people read them: use app::hint", faults);
}

#[test]
fn every_tool_file_is_in_the_list() {
    let registry = std::fs::read_to_string(root().join("src/tools/registry.rs")).unwrap();
    let faults = sources()
        .into_iter()
        .filter(|s| s.room == "tools" && Regex::new(r"\bimpl Tool for (\w+)").unwrap().is_match(&s.code))
        .filter_map(|s| {
            let name = s.path.file_stem()?.to_str()?.to_owned();
            (!registry.contains(&format!("{name}::"))).then(|| format!("{}: no line in builtin()", s.path.display()))
        })
        .collect();
    fail_on("tools that were forgotten", faults);
}

/// Where the name of a tool may be written beside its own file, and why. What is to be known of a tool stands in its
/// `ToolSpec`; who means one tool of all says so by its `NAME`.
const TOOL_NAMES: &[(&str, &str)] = &[
    ("tools/offer/toolset.rs", "the table of toolsets"),
    ("policy/permissions/", "words of `permissions.yaml`, whose subjects are tools too"),
    ("tools/code/", "names that scripts call, whether the session has the tools or not"),
    ("policy/decide/code.rs", "the family of a command, whose rules hold for what a script runs"),
    ("policy/decide/closed.rs", "the subject that closes files to a search"),
    ("ui/modal/approval/grants.rs", "lines of `permissions.yaml` in words"),
    ("plugins/hook.rs", "another program's names for ours, so that its matchers fit"),
    ("elsewhere/", "other agents' names for ours, and their words for something else"),
    ("llm/inner.rs", "the wrapper, whose name is known while it streams; `tool_call` has it from here"),
    // The same words for something else.
    ("app/action.rs", "`/todo`, another name of `/plan`, and `/agents`"),
    ("tools/builtin/delegate_task.rs", "a field of its result"),
    ("backends/modal.rs", "a terminal, and no pipes"),
    ("cli/checkpoints.rs", "what is counted"),
    ("config/policy_files/shown.rs", "a section of the configuration"),
    ("config/keymap.rs", "a context of keys"),
    ("config/theme/file.rs", "a section of a theme"),
    ("llm/text_calls.rs", "a fence that models write around a call"),
    ("policy/shell/", "programs and their words"),
    ("policy/taint.rs", "the program `patch`"),
    ("report/doctor.rs", "the terminal that it runs in"),
    ("term/reader.rs", "a thread"),
    ("tools/targets/git.rs", "`git restore`"),
    ("tools/input/alias.rs", "an argument"),
    ("tools/input/alias/map.rs", "an argument"),
    ("ui/hints.rs", "where a key leads"),
];

#[test]
fn a_tool_is_named_only_in_its_file() {
    let tools: Vec<String> = std::fs::read_dir(root().join("src/tools/builtin"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "rs"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|name| name != "tests")
        .collect();
    assert!(tools.len() > 10, "the tools were not found: {tools:?}");
    let (mut faults, mut used) = (Vec::new(), BTreeSet::new());
    for source in sources() {
        let path = source.path.to_str().unwrap();
        for literal in literals(&source, false) {
            let Some(tool) = tools.iter().find(|tool| **tool == literal.text) else { continue };
            if path
                .strip_prefix("tools/builtin/")
                .and_then(|rest| rest.strip_prefix(tool.as_str()))
                .is_some_and(|rest| rest.starts_with(['.', '/']))
            {
                continue;
            }
            match TOOL_NAMES.iter().find(|(known, _)| path.starts_with(known)) {
                Some((known, _)) => drop(used.insert(*known)),
                None => faults.push(format!("{path}:{}: {tool}", literal.line)),
            }
        }
    }
    fail_on("a tool is named outside of its file: make what is to be known of it a field of its spec", faults);
    let idle: Vec<&str> = TOOL_NAMES.iter().map(|(known, _)| *known).filter(|known| !used.contains(known)).collect();
    assert!(idle.is_empty(), "exceptions that name no tool: {idle:?}");
}

#[test]
fn assets_parse() {
    let mut faults = Vec::new();
    let mut folders: Vec<PathBuf> = ["assets", "themes", "skins"].iter().map(|f| root().join(f)).collect();
    let mut seen = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_owned();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let problem = match ending.as_str() {
                "yaml" => serde_saphyr::from_str::<serde_json::Value>(&text).err().map(|e| e.to_string()),
                "json" => serde_json::from_str::<serde_json::Value>(&text).err().map(|e| e.to_string()),
                _ => None,
            };
            if let Some(problem) = problem {
                faults.push(format!("{}: {problem}", path.display()));
            }
            *seen.entry(ending).or_insert(0) += 1;
        }
    }
    assert!(seen.get("yaml").is_some_and(|n| *n > 10), "the assets were not found: {seen:?}");
    fail_on("assets that do not parse", faults);
}

#[test]
fn the_tree_of_packages_stays_small_and_single() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let names: Vec<&str> =
        lock.lines().filter_map(|l| l.strip_prefix("name = \"")).map(|l| l.trim_end_matches('"')).collect();
    for single in ["crossterm", "ratatui-core", "reqwest", "rustls", "unicode-width"] {
        let count = names.iter().filter(|n| **n == single).count();
        assert!(count <= 1, "{count} versions of {single} in Cargo.lock");
    }
    for banned in ["aws-lc-sys", "openssl-sys", "native-tls"] {
        assert!(!names.contains(&banned), "{banned} came into the tree");
    }
    assert!(names.len() <= 416, "{} packages in Cargo.lock", names.len());
}

#[test]
fn only_the_engine_starts_conversations() {
    let starts = Regex::new(r"\brunner::spawn\(").unwrap();
    let faults = sources()
        .into_iter()
        .filter(|source| source.room != "engine" && starts.is_match(&source.code))
        .map(|source| source.path.display().to_string())
        .collect();
    fail_on("conversations are started by `engine`", faults);
}
