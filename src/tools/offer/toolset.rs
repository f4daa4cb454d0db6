//! Named bundles of tools, and which tools a session gets from the lists of its configuration.
//!
//! Bundles may name tools that this program does not have (yet): they are simply absent.

use crate::tools::registry::Snapshot;
use crate::tools::similarity;
use std::collections::{BTreeMap, BTreeSet};

/// A bundle: its own tools and the bundles it includes.
struct Bundle {
    name: &'static str,
    tools: &'static [&'static str],
    includes: &'static [&'static str],
}

const fn bundle(name: &'static str, tools: &'static [&'static str]) -> Bundle {
    Bundle { name, tools, includes: &[] }
}

const fn composite(name: &'static str, tools: &'static [&'static str], includes: &'static [&'static str]) -> Bundle {
    Bundle { name, tools, includes }
}

/// What every `hermes-…` platform gets.
const CORE: &str = "core";

static BUNDLES: &[Bundle] = &[
    bundle("web", &["web_search", "web_extract"]),
    bundle("search", &["web_search"]),
    bundle("x_search", &["x_search"]),
    bundle("vision", &["vision_analyze"]),
    bundle("video", &["video_analyze"]),
    bundle("image_gen", &["image_generate"]),
    bundle("video_gen", &["video_generate", "xai_video_edit", "xai_video_extend"]),
    bundle("terminal", &["terminal", "process"]),
    bundle("file", &["read_file", "write_file", "patch", "search_files"]),
    bundle("code_execution", &["execute_code"]),
    bundle("delegation", &["delegate_task"]),
    bundle("skills", &["skills_list", "skill_view", "skill_manage"]),
    // Ours alone: other programs of the family have no such tools.
    bundle("checkpoints", &["checkpoint", "restore"]),
    bundle("agents", &["agents"]),
    bundle("todo", &["todo"]),
    // Ours alone.
    bundle("planning", &["plan_mode"]),
    bundle("memory", &["memory"]),
    bundle("session_search", &["session_search"]),
    bundle("clarify", &["clarify"]),
    bundle("cronjob", &["cronjob"]),
    bundle("tts", &["text_to_speech"]),
    bundle("desktop", &["read_terminal", "close_terminal"]),
    bundle(
        "browser-pages",
        &[
            "browser_navigate",
            "browser_snapshot",
            "browser_click",
            "browser_type",
            "browser_scroll",
            "browser_back",
            "browser_press",
            "browser_get_images",
            "browser_vision",
            "browser_console",
        ],
    ),
    bundle("browser-cdp", &["browser_cdp", "browser_dialog"]),
    composite("browser", &["web_search"], &["browser-pages", "browser-cdp"]),
    bundle("homeassistant", &["ha_list_entities", "ha_get_state", "ha_list_services", "ha_call_service"]),
    bundle(
        "kanban",
        &[
            "kanban_attach",
            "kanban_attach_url",
            "kanban_attachments",
            "kanban_block",
            "kanban_comment",
            "kanban_complete",
            "kanban_create",
            "kanban_heartbeat",
            "kanban_link",
            "kanban_list",
            "kanban_show",
            "kanban_unblock",
        ],
    ),
    bundle("project", &["project_list", "project_create", "project_switch"]),
    bundle("computer_use", &["computer_use"]),
    bundle("discord", &["discord"]),
    bundle("discord_admin", &["discord_admin"]),
    bundle(
        "yuanbao",
        &["yb_query_group_info", "yb_query_group_members", "yb_search_sticker", "yb_send_dm", "yb_send_sticker"],
    ),
    bundle("feishu_doc", &["feishu_doc_read"]),
    bundle(
        "feishu_drive",
        &[
            "feishu_drive_add_comment",
            "feishu_drive_list_comment_replies",
            "feishu_drive_list_comments",
            "feishu_drive_reply_comment",
        ],
    ),
    bundle(
        "spotify",
        &[
            "spotify_albums",
            "spotify_devices",
            "spotify_library",
            "spotify_playback",
            "spotify_playlists",
            "spotify_queue",
            "spotify_search",
        ],
    ),
    bundle("context_engine", &[]),
    composite("debugging", &[], &["terminal", "web", "file"]),
    composite("safe", &[], &["web", "vision", "image_gen"]),
    composite(
        "hermes-acp",
        &[],
        &[
            "web",
            "terminal",
            "file",
            "vision",
            "skills",
            "browser",
            "todo",
            "memory",
            "session_search",
            "code_execution",
            "delegation",
        ],
    ),
    composite("coding", &[], &["hermes-acp", "desktop", "clarify"]),
    composite("hermes-api-server", &[], &["hermes-acp", "image_gen", "cronjob", "homeassistant"]),
    composite(CORE, &[], &["hermes-api-server", "desktop", "clarify", "tts", "kanban", "computer_use"]),
    composite("hermes-cli", &[], &[CORE]),
    composite("hermes-cron", &[], &[CORE]),
    composite("hermes-telegram", &[], &[CORE]),
    composite("hermes-whatsapp", &[], &[CORE]),
    composite("hermes-slack", &[], &[CORE]),
    composite("hermes-signal", &[], &[CORE]),
    composite("hermes-bluebubbles", &[], &[CORE]),
    composite("hermes-homeassistant", &[], &[CORE]),
    composite("hermes-email", &[], &[CORE]),
    composite("hermes-mattermost", &[], &[CORE]),
    composite("hermes-matrix", &[], &[CORE]),
    composite("hermes-dingtalk", &[], &[CORE]),
    composite("hermes-weixin", &[], &[CORE]),
    composite("hermes-qqbot", &[], &[CORE]),
    composite("hermes-wecom", &[], &[CORE]),
    composite("hermes-wecom-callback", &[], &[CORE]),
    composite("hermes-sms", &[], &[CORE]),
    composite("hermes-discord", &[], &[CORE, "discord", "discord_admin"]),
    composite("hermes-feishu", &[], &[CORE, "feishu_doc", "feishu_drive"]),
    composite("hermes-yuanbao", &[], &[CORE, "yuanbao"]),
    // Takes input from strangers.
    composite("hermes-webhook", &[], &["web", "vision", "clarify"]),
    composite(
        "hermes-gateway",
        &[],
        &[
            "hermes-telegram",
            "hermes-whatsapp",
            "hermes-slack",
            "hermes-signal",
            "hermes-bluebubbles",
            "hermes-homeassistant",
            "hermes-email",
            "hermes-mattermost",
            "hermes-matrix",
            "hermes-dingtalk",
            "hermes-weixin",
            "hermes-qqbot",
            "hermes-wecom",
            "hermes-wecom-callback",
            "hermes-sms",
            "hermes-discord",
            "hermes-feishu",
            "hermes-yuanbao",
            "hermes-webhook",
        ],
    ),
    // Names of older configurations.
    composite("web_tools", &[], &["web"]),
    bundle("terminal_tools", &["terminal"]),
    composite("vision_tools", &[], &["vision"]),
    composite("image_tools", &[], &["image_gen"]),
    composite("skills_tools", &[], &["skills"]),
    composite("browser_tools", &[], &["browser-pages"]),
    composite("cronjob_tools", &[], &["cronjob"]),
    composite("file_tools", &[], &["file"]),
    composite("tts_tools", &[], &["tts"]),
];

/// Names of all bundles that come with the program.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUNDLES.iter().map(|bundle| bundle.name)
}

/// Whether this program could have a tool of that name; it need not be here.
pub fn is_tool(name: &str) -> bool {
    super::selection::SEARCH.contains(&name) || BUNDLES.iter().any(|bundle| bundle.tools.contains(&name))
}

/// Bundles of the configuration: a name to the tools and bundles that it holds.
pub type Custom = BTreeMap<String, Vec<String>>;

/// What the lists of a session say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    /// Only these; then `disabled` is not applied.
    pub enabled: Option<Vec<String>>,
    pub disabled: Vec<String>,
    pub custom: Custom,
}

/// The tools of a bundle, includes followed; `None` when there is none of that name. `all` and `*` are every tool.
pub fn resolve(name: &str, custom: &Custom, registry: &Snapshot) -> Option<BTreeSet<String>> {
    if custom.contains_key(name) {
        let mut tools = BTreeSet::new();
        own(name, custom, registry, &mut BTreeSet::new(), &mut tools);
        return Some(tools);
    }
    given(name, registry)
}

/// A bundle of the configuration: each entry is another one, a bundle of the program or a source, or a tool.
fn own(name: &str, custom: &Custom, registry: &Snapshot, met: &mut BTreeSet<String>, tools: &mut BTreeSet<String>) {
    if !met.insert(name.to_owned()) {
        return;
    }
    for entry in custom.get(name).into_iter().flatten() {
        let entry = entry.trim();
        if entry != name && custom.contains_key(entry) {
            own(entry, custom, registry, met, tools);
        } else {
            let found = given(entry, registry);
            // A name that is both a bundle and a tool (`todo`, `terminal`) means the bundle.
            tools.extend(found.unwrap_or_else(|| BTreeSet::from([entry.to_owned()])));
        }
    }
}

/// A bundle of the program, or of a source.
fn given(name: &str, registry: &Snapshot) -> Option<BTreeSet<String>> {
    if matches!(name, "all" | "*") {
        let named = BUNDLES.iter().flat_map(|bundle| bundle.tools).map(|tool| (*tool).to_owned());
        return Some(named.chain(registry.names().map(str::to_owned)).collect());
    }
    let mut tools = BTreeSet::new();
    let known = collect(BUNDLES, name, &mut BTreeSet::new(), &mut tools);
    // Tools that registered themselves under this name; an MCP server also goes by its bare name.
    let server = format!("mcp-{name}");
    let published = registry.specs().filter(|spec| spec.toolset == name || spec.toolset == server.as_str());
    let before = tools.len();
    tools.extend(published.map(|spec| spec.name.to_string()));
    (known || tools.len() > before).then_some(tools)
}

/// Follows includes; a bundle met again (a cycle, or two ways to it) is passed over.
fn collect(bundles: &[Bundle], name: &str, met: &mut BTreeSet<String>, tools: &mut BTreeSet<String>) -> bool {
    let Some(bundle) = bundles.iter().find(|bundle| bundle.name == name) else { return false };
    if met.insert(name.to_owned()) {
        tools.extend(bundle.tools.iter().map(|tool| (*tool).to_owned()));
        for include in bundle.includes {
            collect(bundles, include, met, tools);
        }
    }
    true
}

/// What disabling a bundle takes away: of a platform's only what it has beyond the core.
fn subtracted(name: &str, custom: &Custom, registry: &Snapshot) -> Option<BTreeSet<String>> {
    let tools = resolve(name, custom, registry)?;
    if !name.starts_with("hermes-") {
        return Some(tools);
    }
    let core = given(CORE, registry).unwrap_or_default();
    Some(tools.difference(&core).cloned().collect())
}

/// The tools of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Registered tools only.
    pub tools: BTreeSet<String>,
    /// One sentence for each name that means nothing.
    pub warnings: Vec<String>,
}

/// Chooses by bundle names: those of the enabled list only (then the disabled one is not applied), else all but the
/// disabled ones. A source that has not published yet may be named.
pub fn select(choice: &Choice, registry: &Snapshot) -> Selection {
    let mut selection = Selection::default();
    let all: BTreeSet<String> = registry.names().map(str::to_owned).collect();
    let awaited = |name: &str| {
        registry.sources().iter().any(|source| **source == *name || source.strip_prefix("mcp-") == Some(name))
    };
    let mut named = |names: &[String], find: fn(&str, &Custom, &Snapshot) -> Option<BTreeSet<String>>| {
        let mut tools = BTreeSet::new();
        for name in names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
            match find(name, &choice.custom, registry) {
                Some(found) => tools.extend(found),
                None if awaited(name) => {}
                None => selection.warnings.push(unknown(name, &choice.custom, registry)),
            }
        }
        tools
    };
    selection.tools = match &choice.enabled {
        Some(names) => named(names, resolve).intersection(&all).cloned().collect(),
        None => {
            let gone = named(&choice.disabled, subtracted);
            all.difference(&gone).cloned().collect()
        }
    };
    let entries =
        choice.custom.iter().flat_map(|(name, entries)| entries.iter().map(move |entry| (name, entry.trim())));
    for (name, entry) in entries {
        let known = choice.custom.contains_key(entry)
            || given(entry, registry).is_some()
            || registry.get(entry).is_some()
            || BUNDLES.iter().any(|bundle| bundle.tools.contains(&entry))
            || awaited(entry);
        if !known {
            selection.warnings.push(format!("custom_toolsets.{name}: {}", unknown(entry, &choice.custom, registry)));
        }
    }
    selection
}

fn unknown(name: &str, custom: &Custom, registry: &Snapshot) -> String {
    let mut known: Vec<&str> = names().collect();
    known.extend(custom.keys().map(String::as_str));
    known.extend(registry.specs().map(|spec| spec.toolset.as_ref()));
    match similarity::nearest(name, known, 0.6, 1).first() {
        Some(near) => format!("there is no toolset `{name}`; did you mean `{near}`?"),
        None => format!("there is no toolset `{name}`; list them with `hermes tools list`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::registry::Registry;
    use crate::tools::testing::{Fake, Step};
    use serde_json::Value;
    use std::sync::Arc;

    fn rows(text: &str) -> impl Iterator<Item = (String, BTreeSet<String>)> + '_ {
        text.lines().map(|line| {
            let row: Value = serde_json::from_str(line).unwrap();
            (row["toolset"].as_str().unwrap().to_owned(), serde_json::from_value(row["tools"].clone()).unwrap())
        })
    }

    #[test]
    fn resolve_cases() {
        let registry = Snapshot::default();
        for (name, want) in
            rows(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/toolset-resolve.jsonl")))
        {
            assert_eq!(resolve(&name, &Custom::new(), &registry).unwrap_or_default(), want, "{name}");
        }
        assert_eq!(resolve("nope", &Custom::new(), &registry), None);
        assert_eq!(resolve("hermes-api-server", &Custom::new(), &registry).unwrap().len(), 35);
    }

    #[test]
    fn disabling_a_platform_leaves_the_core() {
        for (name, want) in
            rows(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/toolset-bundle-noncore.jsonl")))
        {
            assert_eq!(subtracted(&name, &Custom::new(), &Snapshot::default()).unwrap(), want, "{name}");
        }
    }

    #[test]
    fn every_include_exists_and_cycles_end() {
        for bundle in BUNDLES {
            for include in bundle.includes {
                assert!(BUNDLES.iter().any(|other| other.name == *include), "{} includes {include}", bundle.name);
            }
        }
        let knot =
            [composite("a", &["x"], &["b", "c"]), composite("b", &["y"], &["a"]), composite("c", &["z"], &["b"])];
        let mut tools = BTreeSet::new();
        assert!(collect(&knot, "a", &mut BTreeSet::new(), &mut tools));
        assert_eq!(tools.into_iter().collect::<Vec<_>>(), ["x", "y", "z"]);
    }

    #[test]
    fn lists_select() {
        let registry = Registry::builtin();
        registry.publish("mcp-gh", vec![Arc::new(Fake::new("mcp__gh__find", "mcp-gh", Step::Ok))]);
        registry.expect("mcp-late");
        let registry = registry.snapshot();
        let pick = |enabled: Option<&[&str]>, disabled: &[&str]| {
            let own = |names: &[&str]| names.iter().map(|n| n.to_string()).collect::<Vec<_>>();
            let custom =
                [("mine", vec!["todo", "gh", "also"]), ("also", vec!["read_file", "mine", "also", "web_serch"])];
            let custom = custom.into_iter().map(|(name, entries)| (name.to_owned(), own(&entries))).collect();
            select(&Choice { enabled: enabled.map(own), disabled: own(disabled), custom }, &registry)
        };
        let names = |mut selection: Selection| {
            selection.tools.retain(|name| !crate::tools::offer::selection::SEARCH.contains(&name.as_str()));
            selection.tools.into_iter().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(pick(Some(&["todo", "clarify"]), &["todo"])), "clarify todo");
        assert_eq!(names(pick(Some(&["gh"]), &[])), "mcp__gh__find");
        let rest =
            "agents checkpoint clarify delegate_task execute_code plan_mode process restore session_search terminal";
        assert_eq!(names(pick(None, &["file", "gh"])), format!("{rest} todo"));
        assert_eq!(names(pick(None, &["hermes-cli", "all"])), "");
        assert_eq!(pick(Some(&["all"]), &[]).tools, pick(None, &[]).tools);
        assert_eq!(names(pick(Some(&["file_tools"]), &[])), "patch read_file search_files write_file");
        assert_eq!(names(pick(Some(&["mine"]), &[])), "mcp__gh__find read_file todo");
        assert_eq!(names(pick(None, &["mine", "file"])), rest);
        let warnings = pick(Some(&["late", "mcp-late", " "]), &[]).warnings;
        assert_eq!(warnings.len(), 1, "a source that is expected may be named: {warnings:?}");
        assert!(warnings[0].contains("custom_toolsets.also") && warnings[0].contains("web_serch"), "{warnings:?}");
        let typo = pick(Some(&["flie"]), &[]);
        assert!(typo.tools.is_empty() && typo.warnings[0].contains("`file`"), "{typo:?}");
    }
}
