//! Foreign calls and what becomes of them.

use super::*;

fn call(name: &str, args: Value) -> (String, Value) {
    match of(name, &args.to_string()) {
        Some(Alias::Call { name, args }) => (name.to_owned(), serde_json::from_str(&args).unwrap()),
        other => panic!("{name} {args}: {other:?}"),
    }
}

#[test]
fn what_is_certain_becomes_a_call_of_ours() {
    let terminal = |command: &str| json!({"command": command});
    for (name, args, tool, want) in [
        ("bash", json!({"command": "ls"}), "terminal", terminal("ls")),
        (
            "Bash",
            json!({"command": "ls", "description": "List", "timeout": 120_000}),
            "terminal",
            json!({"command": "ls", "timeout": 120}),
        ),
        (
            "Bash",
            json!({"command": "npm start", "run_in_background": true}),
            "terminal",
            json!({"command": "npm start", "background": true}),
        ),
        (
            "shell",
            json!({"command": ["bash", "-lc", "ls -l | wc"], "workdir": "/w"}),
            "terminal",
            json!({"command": "ls -l | wc", "workdir": "/w"}),
        ),
        (
            "shell",
            json!({"command": ["git", "log", "a b"], "timeout_ms": 1500}),
            "terminal",
            json!({"command": "git log 'a b'", "timeout": 2}),
        ),
        ("container.exec", json!({"cmd": ["sh", "-c", "x"]}), "terminal", terminal("x")),
        ("execute_command", json!({"command": "ls", "requires_approval": false}), "terminal", terminal("ls")),
        (
            "run_terminal_cmd",
            json!({"command": "ls", "is_background": false}),
            "terminal",
            json!({"command": "ls", "background": false}),
        ),
        (
            "run_shell_command",
            json!({"command": "ls", "directory": "src"}),
            "terminal",
            json!({"command": "ls", "workdir": "src"}),
        ),
        (
            "python",
            json!({"code": "print(1)\n"}),
            "terminal",
            terminal("python3 - <<'HERMES_EOF'\nprint(1)\nHERMES_EOF"),
        ),
        (
            "Read",
            json!({"file_path": "/a", "offset": 5, "limit": 9}),
            "read_file",
            json!({"path": "/a", "offset": 5, "limit": 9}),
        ),
        ("cat", json!({"path": "a"}), "read_file", json!({"path": "a"})),
        (
            "view",
            json!({"path": "a", "view_range": [3, 7]}),
            "read_file",
            json!({"path": "a", "offset": 3, "limit": 5}),
        ),
        ("read_many_files", json!({"paths": ["a"]}), "read_file", json!({"path": "a"})),
        ("Write", json!({"file_path": "a", "content": "x"}), "write_file", json!({"path": "a", "content": "x"})),
        ("create_file", json!({"path": "a", "file_text": "x"}), "write_file", json!({"path": "a", "content": "x"})),
        (
            "Edit",
            json!({"file_path": "a", "old_string": "x", "new_string": "y"}),
            "patch",
            json!({"mode": "replace", "path": "a", "old_string": "x", "new_string": "y"}),
        ),
        (
            "MultiEdit",
            json!({"file_path": "a", "edits": [{"old_string": "x", "new_string": "", "replace_all": true}]}),
            "patch",
            json!({"mode": "replace", "path": "a", "old_string": "x", "new_string": "", "replace_all": true}),
        ),
        (
            "apply_patch",
            json!({"input": "*** Begin Patch\n*** End Patch"}),
            "patch",
            json!({"mode": "patch", "patch": "*** Begin Patch\n*** End Patch"}),
        ),
        (
            "shell",
            json!({"command": ["apply_patch", "*** Begin Patch\n*** End Patch"]}),
            "patch",
            json!({"mode": "patch", "patch": "*** Begin Patch\n*** End Patch"}),
        ),
        (
            "str_replace_editor",
            json!({"command": "view", "path": "a", "view_range": [2, -1]}),
            "read_file",
            json!({"path": "a", "offset": 2}),
        ),
        (
            "str_replace_based_edit_tool",
            json!({"command": "str_replace", "path": "a", "old_str": "x", "new_str": "y"}),
            "patch",
            json!({"mode": "replace", "path": "a", "old_string": "x", "new_string": "y"}),
        ),
        (
            "str_replace_editor",
            json!({"command": "create", "path": "a", "file_text": "x"}),
            "write_file",
            json!({"path": "a", "content": "x"}),
        ),
        (
            "Grep",
            json!({"pattern": "x", "-i": true, "glob": "*.rs", "output_mode": "files_with_matches", "-n": true}),
            "search_files",
            json!({"pattern": "(?i)x", "file_glob": "*.rs", "output_mode": "files_only"}),
        ),
        ("Glob", json!({"pattern": "**/*.rs"}), "search_files", json!({"target": "files", "pattern": "**/*.rs"})),
        ("LS", json!({"path": "src"}), "search_files", json!({"target": "files", "pattern": "*", "path": "src"})),
        (
            "search",
            json!({"pattern": "x", "target": "files"}),
            "search_files",
            json!({"pattern": "x", "target": "files"}),
        ),
        (
            "TodoWrite",
            json!({"todos": [{"content": "a", "status": "pending", "activeForm": "doing a"}]}),
            "todo",
            json!({"todos": [{"id": "1", "content": "a", "status": "pending"}]}),
        ),
        ("todo_read", json!({}), "todo", json!({})),
        (
            "update_plan",
            json!({"plan": [{"step": "a", "status": "in_progress"}], "explanation": "x"}),
            "todo",
            json!({"todos": [{"id": "1", "content": "a", "status": "in_progress"}]}),
        ),
    ] {
        assert_eq!(call(name, args.clone()), (tool.to_owned(), want), "{name} {args}");
    }
}

#[test]
fn what_is_not_certain_names_our_tool() {
    for (name, args, tool) in [
        ("bash", json!({"restart": true}), "terminal"),
        ("bash", json!({"command": "ls", "stdin": "x"}), "terminal"),
        ("bash", json!({"command": 3}), "terminal"),
        ("execute_code", json!({"code": "1", "language": "cobol"}), "terminal"),
        ("read_many_files", json!({"paths": ["a", "b"]}), "read_file"),
        ("Edit", json!({"file_path": "a"}), "patch"),
        (
            "MultiEdit",
            json!({"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}, {"old_string": "z", "new_string": "y"}]}),
            "patch",
        ),
        ("apply_patch", json!({"input": "--- a\n+++ b"}), "patch"),
        ("str_replace_editor", json!({"command": "insert", "path": "a", "insert_line": 3, "new_str": "x"}), "patch"),
        ("Grep", json!({"pattern": "x", "multiline": true}), "search_files"),
    ] {
        match of(name, &args.to_string()) {
            Some(Alias::Tool { name: found, why }) => {
                assert_eq!(found, tool);
                let schema = json!({"properties": {"path": {"type": "string"}}, "required": ["path"]});
                let words = words(name, found, &why, &schema);
                assert!(
                    words.contains(&format!("use `{tool}`")) && words.contains("path (string, required)"),
                    "{words}"
                );
            }
            other => panic!("{name} {args}: {other:?}"),
        }
    }
    assert_eq!(of("frobnicate", "{}"), None);
}

#[test]
fn our_own_names_take_a_foreign_path_and_are_left_alone_otherwise() {
    let ours = |name: &str| matches!(name, "read_file" | "bash");
    let found = meant("read_file", r#"{"file_path":"a"}"#, ours);
    assert_eq!(found, Some(Alias::Call { name: "read_file", args: r#"{"path":"a"}"#.into() }));
    assert_eq!(meant("read_file", r#"{"path":"a"}"#, ours), None);
    // A plugin's tool of that name is the one that is meant, and a tool that is not offered is none.
    assert_eq!(meant("bash", r#"{"command":"ls"}"#, ours), None);
    assert_eq!(meant("shell", r#"{"command":"ls"}"#, ours), None);
    let inner = meant("tool_call", r#"{"name":"Read","arguments":{"file_path":"a"}}"#, ours);
    assert_eq!(inner, Some(Alias::Call { name: "read_file", args: r#"{"path":"a"}"#.into() }));
}

proptest::proptest! {
    /// No arguments break it.
    #[test]
    fn any_arguments(at in 0..NAMES.len(), args in "(\\{\"(command|path|edits|todos|view_range|pattern|code)\": ?(1|null|\"x\"|\\[1\\]|\\[\"a\", \"b\"\\]|\\{\\})\\}|.{0,20})") {
        let _ = of(NAMES[at].0, &args);
    }
}
