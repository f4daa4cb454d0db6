//! Windows over servers, plugins, hooks, toolsets and trust: long names, wide characters, nothing at all.

use super::fixture::{NOW, held, model, screen, waiting};
use crate::app::model::extensions::*;
use crate::app::model::modal::Modal;
use crate::app::model::permissions::{Permissions, RuleRow};
use crate::app::model::servers::{ServerRow, ServerState};
use crate::app::model::toolsets::ToolsetRow;
use crate::app::msg::{LoadReply, Msg};
use crate::app::tests::script;
use crate::app::{Model, update};
use crate::config::trust::{Kind, Project, Standing, Thing};
use crate::text::width::width;
use crate::ui::ViewCache;

const SIZES: [(u16, u16); 3] = [(140, 45), (100, 30), (60, 20)];
const LONG: &str = "a-server-with-a-name-that-somebody-thought-was-short-enough-for-everyone";
const WIDE: &str = "天気予報サーバーとても長い名前";

fn texts(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn row(name: &str, state: ServerState, why: &str) -> ServerRow {
    ServerRow { name: name.into(), state, why: why.into(), ..ServerRow::default() }
}

fn servers() -> Vec<ServerRow> {
    let mut ready = row(LONG, ServerState::Ready, "");
    (ready.tools, ready.tokens, ready.resources, ready.problems) = (132, 48_210, 12, 3);
    let mut asleep = row(WIDE, ServerState::Asleep, "");
    (asleep.tools, asleep.tokens) = (4, 900);
    let failed = "npx could not be started: no such program; install Node.js, or set command to its path";
    vec![ready, asleep, row("git", ServerState::Failed, failed), row("off", ServerState::Off, "")]
}

fn mcp(rows: Vec<ServerRow>, keys: &str) -> Model {
    let mut model = model();
    update(&mut model, NOW, Msg::Servers(rows));
    model.notices.shown.clear();
    script(&mut model, "/mcp<ret>");
    script(&mut model, keys);
    model
}

fn plugins(all: bool) -> Model {
    let mut model = model();
    if all {
        let ready = PluginRow {
            name: LONG.into(),
            version: "12.34.5-beta.6".into(),
            description: "Looks after everything that nobody else looks after, and tells about it at length".into(),
            state: PluginState::Ready,
            from: "home",
            tools: (1..=14).map(|n| format!("tool_number_{n}")).collect(),
            hooks: texts(&["pre_tool_call", "post_tool_call"]),
            commands: texts(&["deploy", "roll-back"]),
            ..PluginRow::default()
        };
        let failed = PluginRow {
            name: WIDE.into(),
            description: "とても長い説明がここにあります。".repeat(4),
            state: PluginState::Failed,
            detail: "it exited with 1 before it said hello".into(),
            from: "project",
            problems: texts(&["the tool `x y` has a name that no model can call; it was left out"]),
            tail: texts(&["Traceback (most recent call last):", "ModuleNotFoundError: No module named 'requests'"]),
            ..PluginRow::default()
        };
        model.extensions.plugins = vec![ready, failed];
    }
    script(&mut model, "/plugins<ret>");
    model
}

fn hooks(all: bool) -> Model {
    let mut model = model();
    if all {
        let hook = |event: &str, matcher: &str, command: &str, allowed: bool, drift: &str| HookRow {
            event: event.into(),
            matcher: matcher.into(),
            command: command.into(),
            project: !allowed,
            allowed,
            drift: drift.into(),
        };
        model.extensions.hooks = vec![
            hook(
                "pre_tool_call",
                "terminal",
                "~/bin/check-everything-twice --strict --report ~/reports/today.json --colour never",
                true,
                "",
            ),
            hook("post_tool_call", "", "./scripts/整形.sh", false, ""),
            hook("session_start", "", "~/bin/greet", true, "sha256 differs"),
        ];
        model.extensions.problems = texts(&["hooks.pre_tool.0: no such event; did you mean pre_tool_call?"]);
    }
    script(&mut model, "/hooks<ret>");
    model
}

/// The card before a folder's things run.
pub fn trust() -> Model {
    let mut model = model();
    let thing = |kind, id: &str, what: &str, text: &str, problem: &str| Thing {
        kind,
        id: id.into(),
        what: what.into(),
        text: text.into(),
        fingerprint: "f".into(),
        problem: problem.into(),
    };
    let before = "command: npx\nargs: [server]\nenv: {}";
    let things = vec![
        (
            thing(Kind::Hook, "hooks.pre_tool_call.0", "./scripts/check.sh", "#!/bin/sh\nset -e\n./整形 --全部", ""),
            Standing::New,
        ),
        (
            thing(Kind::McpServer, "mcp_servers.x", LONG, "command: npx\nargs: [server, --everything]\nenv: {}", ""),
            Standing::Changed { before: before.into() },
        ),
        (thing(Kind::Plugin, "plugins.p", WIDE, "", "its files are more than 128 MB"), Standing::New),
    ];
    let settings = texts(&["model.default: another-model", "terminal.backend: docker"]);
    let project =
        Project { dir: "/home/me/src/a/rather/deep/folder/of/a/project".into(), listed: false, settings, things };
    let hooks = vec![("pre_tool_call".to_owned(), "~/bin/check --strict".to_owned())];
    model.extensions.card = Some(TrustCard { project: Some(project), hooks });
    script(&mut model, "/trust<ret>");
    model
}

fn toolsets(rows: Vec<ToolsetRow>) -> Model {
    let mut model = model();
    script(&mut model, "/toolsets<ret>");
    update(&mut model, NOW, Msg::Loaded(LoadReply::Toolsets(rows)));
    model
}

fn sets() -> Vec<ToolsetRow> {
    let set = |name: &str, tools, on, unavailable, why: &str| ToolsetRow {
        name: name.into(),
        tools,
        on,
        unavailable,
        why: why.into(),
        tokens: 1234 * tools as u64,
    };
    vec![
        set(&format!("mcp-{LONG}"), 132, 132, 0, ""),
        set("file", 4, 4, 1, "ripgrep is not installed"),
        set("terminal", 2, 0, 0, ""),
        set("web", 2, 2, 2, "no key: set TAVILY_API_KEY, or choose another search with web.search_backend"),
        set(WIDE, 3, 1, 0, ""),
    ]
}

fn permissions(rows: Vec<RuleRow>, typed: bool) -> Model {
    let mut model = model();
    script(&mut model, "/permissions<ret>");
    let reply = LoadReply::Permissions(Permissions { rows, ..Permissions::default() });
    update(&mut model, NOW, Msg::Loaded(reply));
    if typed {
        script(&mut model, "git push x");
        let verdict = "ask\n  publishes: sends commits to another place\n  no rule matches it".into();
        update(&mut model, NOW, Msg::Loaded(LoadReply::Tried { command: "git push x".into(), verdict }));
    }
    model
}

fn rules() -> Vec<RuleRow> {
    let rule = |number, action: &str, rule: &str, file: &str, end: &str, who: &str| RuleRow {
        number,
        action: action.into(),
        rule: rule.into(),
        place: format!("/home/me/.hermes/{file}:{number}"),
        file: file.into(),
        scope: "everywhere".into(),
        end: end.into(),
        who: who.into(),
        of_session: file == "this session",
    };
    vec![
        rule(
            1,
            "allow",
            "terminal(git push --force *)",
            "permissions.yaml",
            "until 2026-12-01 23:59",
            "you, 2026-11-22 10:04",
        ),
        rule(2, "deny", &format!("file.write(src/{LONG}/**)"), "permissions.yaml", "", ""),
        rule(3, "ask", &format!("terminal({WIDE} *)"), "permissions.yaml", "", ""),
        rule(4, "allow", "recursive delete", "config.yaml", "", ""),
        rule(5, "allow", "terminal(make *)", "this session", "", "you, 2026-11-22 10:05"),
    ]
}

fn strip() -> Model {
    let mut model = held();
    let long = "日本語のとても長い依頼です。".repeat(12);
    model.tab.queue.prompts = waiting(&[&long, "second\nwith lines", "third"]);
    model.tab.queue.held = 3;
    model
}

fn asks() -> Model {
    let mut model = model();
    let mut files: Vec<String> = (1..=12).map(|n| format!("src/{WIDE}/{n}.rs")).collect();
    files[1] = format!("docs/{LONG}/{LONG}.md");
    update(&mut model, NOW, Msg::Agent(crate::protocol::AgentEvent::RewindAsks { order: Default::default(), files }));
    if let Some(Modal::Confirm(confirm)) = model.tab.modals.last_mut() {
        confirm.inert_until = 1;
    }
    model
}

fn all() -> Vec<(&'static str, Model)> {
    vec![
        ("mcp", mcp(servers(), "")),
        ("mcp-failed", mcp(servers(), "<down><down>")),
        ("mcp-none", mcp(Vec::new(), "")),
        ("plugins", plugins(true)),
        ("plugins-none", plugins(false)),
        ("hooks", hooks(true)),
        ("hooks-none", hooks(false)),
        ("trust", trust()),
        ("toolsets", toolsets(sets())),
        ("toolsets-none", toolsets(Vec::new())),
        ("permissions", permissions(rules(), false)),
        ("permissions-tried", permissions(rules(), true)),
        ("permissions-none", permissions(Vec::new(), false)),
        ("strip", strip()),
        ("asks", asks()),
    ]
}

#[test]
fn the_lists_at_three_sizes() {
    for (name, model) in all() {
        for (columns, rows) in SIZES {
            let text = screen(&model, &mut ViewCache::default(), columns, rows).0;
            insta::assert_snapshot!(format!("list-{name}-{columns}x{rows}"), text);
            assert!(text.lines().all(|line| width(line) <= usize::from(columns)), "{name} {columns}");
        }
    }
}

#[test]
fn no_list_breaks_at_any_corner_size() {
    for (_, model) in all() {
        for (columns, rows) in [(0, 0), (1, 1), (39, 11), (40, 12), (79, 19), (300, 100)] {
            screen(&model, &mut ViewCache::default(), columns, rows);
        }
    }
}
