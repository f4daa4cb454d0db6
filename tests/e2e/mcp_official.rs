//! The official servers and the protocol's own conformance suite. `tests/fixtures/mcp-official.sh` installs them into a folder
//! that `HERMES_MCP_OFFICIAL` names; what is not there is skipped by name.

use crate::harness::home::{err, out};
use crate::harness::{Home, binary, skipped};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Client scenarios that do not apply, all of them extensions of the protocol: logins of a machine by a key or a secret
/// that it holds (a person logs in to this client), and by a token of a company's own login server. Every other scenario
/// that the suite has is run.
const NOT_OURS: &[&str] =
    &["auth/client-credentials-jwt", "auth/client-credentials-basic", "auth/cross-app-access-complete-flow"];

/// A file of the installed folder; `None`, with a word, when it is not there.
fn installed(test: &str, what: &str, file: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("HERMES_MCP_OFFICIAL").map(PathBuf::from).unwrap_or_default();
    let path = folder.join(file);
    if folder.as_os_str().is_empty() || !path.exists() {
        skipped(test, &format!("{what} is not installed (tests/fixtures/mcp-official.sh installs it)"));
        return None;
    }
    Some(path)
}

fn node(test: &str) -> Option<PathBuf> {
    installed(test, "node 22", "node_modules/node/bin/node")
}

/// Names of the suite's scenarios for clients: rows below its heading, `- name [versions]`.
fn scenarios(node: &Path, suite: &Path) -> Vec<String> {
    let listed = Command::new(node).arg(suite).arg("list").output().unwrap();
    let text = String::from_utf8(listed.stdout).unwrap();
    let rows = text.lines().skip_while(|line| !line.starts_with("Client scenarios")).skip(1);
    let name = |row: &str| Some(row.trim().strip_prefix("- ")?.split(' ').next()?.to_owned());
    rows.map_while(name).collect()
}

#[test]
fn the_conformance_suite_passes() {
    let test = "the_conformance_suite_passes";
    let suite = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
    let Some((node, suite)) = node(test).zip(installed(test, "the MCP conformance suite", suite)) else { return };
    let scenarios = scenarios(&node, &suite);
    assert!(scenarios.len() > 20, "{scenarios:?}");
    let home = Home::empty();
    let mut failed = Vec::new();
    for scenario in scenarios.iter().filter(|name| !NOT_OURS.contains(&name.as_str())) {
        let command = format!("{} debug mcp-conformance", Path::new(binary()).display());
        let done = Command::new(&node)
            .arg(&suite)
            .args(["client", "--command", &command, "--scenario", scenario])
            .envs(home.environment())
            .current_dir(home.project())
            .output()
            .unwrap();
        if !done.status.success() {
            failed.push(format!("{scenario}:\n{}", String::from_utf8_lossy(&done.stdout)));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

fn ask(servers: &[(&str, Vec<String>)], tool: &str, args: &str) -> String {
    ask_in(&Home::empty(), servers, tool, args)
}

fn ask_in(home: &Home, servers: &[(&str, Vec<String>)], tool: &str, args: &str) -> String {
    let mut config = String::from("mcp_servers:\n");
    for (name, words) in servers {
        config.push_str(&format!("  {name}:\n    command: {}\n    args: {:?}\n", words[0], &words[1..]));
    }
    home.config(&config);
    let done = home.run(&["tools", "run", tool, args, "--yolo"]);
    assert!(done.status.success(), "{}\n{}", out(&done), err(&done));
    out(&done)
}

#[test]
fn official_servers_of_npm_answer() {
    let test = "official_servers_of_npm_answer";
    let Some(node) = node(test) else { return };
    let server = |name: &str| {
        let file = format!("node_modules/@modelcontextprotocol/server-{name}/dist/index.js");
        let what = format!("@modelcontextprotocol/server-{name}");
        Some(vec![node.display().to_string(), installed(test, &what, &file)?.display().to_string()])
    };
    if let Some(words) = server("everything") {
        assert!(ask(&[("e", words.clone())], "mcp__e__echo", r#"{"message":"hi"}"#).contains("hi"));
        assert!(ask(&[("e", words)], "mcp__e__list_resources", "{}").contains("uri"));
    }
    if let Some(mut words) = server("filesystem") {
        // It serves the folder that the program names as its root, whatever its argument says.
        let home = Home::empty();
        let path = home.project().canonicalize().unwrap();
        std::fs::write(path.join("a.txt"), "what is in it").unwrap();
        words.push(path.display().to_string());
        let args = serde_json::json!({ "path": path.join("a.txt") }).to_string();
        assert!(ask_in(&home, &[("f", words)], "mcp__f__read_text_file", &args).contains("what is in it"));
    }
    if let Some(words) = server("memory") {
        assert!(ask(&[("m", words)], "mcp__m__read_graph", "{}").contains("entities"));
    }
}

#[test]
fn official_servers_of_pypi_answer() {
    let test = "official_servers_of_pypi_answer";
    if let Some(server) = installed(test, "mcp-server-time", "venv/bin/mcp-server-time") {
        let words = vec![server.display().to_string()];
        assert!(ask(&[("t", words)], "mcp__t__get_current_time", r#"{"timezone":"UTC"}"#).contains("UTC"));
    }
    if let Some(server) = installed(test, "mcp-server-git", "venv/bin/mcp-server-git") {
        let folder = tempfile::tempdir().unwrap();
        assert!(Command::new("git").args(["init", "-q"]).current_dir(folder.path()).status().unwrap().success());
        let args = serde_json::json!({ "repo_path": folder.path() }).to_string();
        assert!(ask(&[("g", vec![server.display().to_string()])], "mcp__g__git_status", &args).contains("branch"));
    }
}
