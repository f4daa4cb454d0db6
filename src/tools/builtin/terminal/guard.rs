//! Foreground commands that would never return, and folders that are not plain paths: refused with advice.

use super::scan::{Segment, is_background, mask, segments, words};

const SERVER: &str = "This foreground command appears to start a long-lived server or watch process. Run it with \
    background=true (and watch_patterns, to be notified when it is ready), then use further calls for health checks and tests.";
const WRAPPER: &str = "Foreground command uses shell-level background wrappers (nohup/disown/setsid). Use background=true so the process is tracked, readable and can be killed.";
const AMPERSAND: &str = "Foreground command uses '&' backgrounding. Use background=true for long-lived processes, then run \
    health checks and tests in separate calls.";

/// Advice for a foreground command that should run in the background; `None` when it may run.
pub fn foreground_guidance(line: &str) -> Option<&'static str> {
    let masked = mask(line);
    let parts = segments(line, &masked, true);
    if parts.iter().any(|s| words(s).first().is_some_and(|w| matches!(*w, "nohup" | "disown" | "setsid"))) {
        return Some(WRAPPER);
    }
    if (0..masked.len()).any(|at| is_background(masked.as_bytes(), at)) {
        return Some(AMPERSAND);
    }
    parts.iter().any(serves).then_some(SERVER)
}

/// Whether a simple command is a known server or watcher.
fn serves(segment: &Segment<'_>) -> bool {
    let all = words(segment);
    if all.iter().any(|w| matches!(*w, "--help" | "-h" | "--version" | "-v")) {
        return false;
    }
    let mut words = all.as_slice();
    // Wrappers that run what follows.
    loop {
        words = match words {
            ["sudo" | "env" | "exec" | "time" | "npx" | "bunx" | "command", rest @ ..] => rest,
            ["pnpm" | "yarn" | "npm", "exec" | "dlx", rest @ ..] | ["poetry" | "uv" | "pipenv", "run", rest @ ..] => {
                rest
            }
            _ => break,
        };
    }
    let Some((first, rest)) = words.split_first() else { return false };
    let program = first.rsplit('/').next().unwrap_or(first);
    let script = |word: &&str| matches!(*word, "dev" | "start" | "serve" | "watch");
    match (program, rest) {
        ("npm" | "pnpm" | "yarn" | "bun", ["run", name, ..]) => script(name),
        ("npm" | "pnpm" | "yarn" | "bun", [name, ..]) => script(name),
        ("docker", ["compose", "up", rest @ ..]) | ("docker-compose", ["up", rest @ ..]) => {
            !rest.iter().any(|w| matches!(*w, "-d" | "--detach" | "--wait"))
        }
        ("next", ["dev", ..]) => true,
        ("vite" | "nodemon" | "uvicorn" | "gunicorn", _) => true,
        (python, ["-m", "http.server", ..]) => python.starts_with("python"),
        _ => false,
    }
}

/// Checks the characters of a `workdir`; the error is for the model.
pub fn validate_workdir(workdir: &str) -> Result<(), String> {
    // No shell ever reads this path. Letters of every script are letters; the rest are the characters of plain paths.
    match workdir.chars().find(|c| !(c.is_alphanumeric() || "/\\:_-.~ +@=,".contains(*c))) {
        None => Ok(()),
        Some(c) => {
            let shown = match c {
                '\'' => "\"'\"".to_owned(),
                '\n' => "'\\n'".to_owned(),
                '\r' => "'\\r'".to_owned(),
                '\t' => "'\\t'".to_owned(),
                c if c.is_control() => format!("'\\x{:02x}'", c as u32),
                c => format!("'{c}'"),
            };
            Err(format!(
                "Blocked: workdir contains disallowed character {shown}. Use a simple filesystem path without shell \
                 metacharacters."
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn cases(text: &str) -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn foreground_cases() {
        for case in cases(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/foreground-guidance.jsonl"))) {
            let advice = foreground_guidance(case["command"].as_str().unwrap());
            assert_eq!(advice.is_some(), case["blocked"].as_bool().unwrap(), "{case}");
            assert!(advice.unwrap_or("").starts_with(case["message_kind"].as_str().unwrap()), "{case}");
        }
    }

    #[test]
    fn ordinary_commands_run() {
        for line in [
            "grep -rn vite src",
            "pip install uvicorn",
            "cat <<'EOF' > x\na & b\nnohup y\nEOF",
            "docker compose up -d",
            "npm run build && npm test",
            "echo a; # npm run dev &",
            "ls >&2 2>&1 &>/dev/null",
        ] {
            assert_eq!(foreground_guidance(line), None, "{line}");
        }
        for line in ["cd app && PORT=1 npm run dev", "(npx vite)", "docker compose up", "sleep 5&", "a | setsid b"] {
            assert!(foreground_guidance(line).is_some(), "{line}");
        }
    }

    #[test]
    fn workdir_cases() {
        for case in cases(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/workdir-validate.jsonl"))) {
            let error = validate_workdir(case["workdir"].as_str().unwrap()).err();
            assert_eq!(error.as_deref(), case["error"].as_str(), "{case}");
        }
        assert_eq!(validate_workdir("/home/日本/ä"), Ok(()));
    }
}
