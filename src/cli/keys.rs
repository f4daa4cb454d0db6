//! `hermes keys`: every key, as it is now.

use crate::config::Paths;
use crate::config::keymap::{Binding, Context, Keymap, display};
use clap::Args;
use std::io::Write;

/// Arguments of `hermes keys`.
#[derive(Args, Clone, Debug)]
pub struct KeysArgs {
    #[arg(long)]
    pub json: bool,
}

/// Prints the keymap, by context and action. Exits 0, or 1 after the defaults when the user's file is invalid.
///
/// # Errors
/// Only when `out` can't be written or the embedded defaults are broken.
pub fn run(args: &KeysArgs, paths: &Paths, out: &mut dyn Write) -> anyhow::Result<i32> {
    let (keymap, problem) = match Keymap::load(&paths.keymap()) {
        Ok(keymap) => (keymap, None),
        Err(error) => (Keymap::defaults()?, Some(error.to_string())),
    };
    if args.json {
        let row = |binding: &Binding| serde_json::json!({"context": binding.context.name(), "action": binding.action, "keys": display(&binding.keys)});
        let rows: Vec<serde_json::Value> = keymap.bindings.iter().map(row).collect();
        let report = serde_json::json!({"version": 1, "problem": problem, "keys": rows});
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
        return Ok(i32::from(problem.is_some()));
    }
    for context in Context::ALL {
        let rows = grouped(&keymap, context);
        if rows.is_empty() {
            continue;
        }
        writeln!(out, "{}", context.name())?;
        for (action, keys) in rows {
            writeln!(out, "  {action:22} {keys}")?;
        }
    }
    writeln!(out, "\nyour keys: {}", paths.keymap().display())?;
    if let Some(problem) = &problem {
        writeln!(out, "ignored: {problem}")?;
    }
    Ok(i32::from(problem.is_some()))
}

/// Actions of one context in file order, each with all its keys.
fn grouped(keymap: &Keymap, context: Context) -> Vec<(&str, String)> {
    let mut rows: Vec<(&str, String)> = Vec::new();
    for binding in keymap.bindings.iter().filter(|binding| binding.context == context) {
        let keys = display(&binding.keys);
        match rows.iter_mut().find(|(action, _)| *action == binding.action) {
            Some((_, known)) => known.push_str(&format!(", {keys}")),
            None => rows.push((&binding.action, keys)),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_the_live_keymap() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::at(dir.path());
        let printed = |json: bool| {
            let mut out = Vec::new();
            let code = run(&KeysArgs { json }, &paths, &mut out).unwrap();
            (code, String::from_utf8(out).unwrap())
        };
        let (code, text) = printed(false);
        assert!(code == 0 && text.contains("command-palette        Ctrl-P, Ctrl-X p"), "{text}");
        std::fs::write(paths.keymap(), "global: {inbox: f2}\n").unwrap();
        assert!(printed(false).1.contains("inbox                  F2\n"));
        std::fs::write(paths.keymap(), "global: {inbox: ctrl-p}\n").unwrap();
        let (code, json) = printed(true);
        let report: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert!(code == 1 && report["problem"].as_str().unwrap().contains("means both"));
        assert!(report["keys"].as_array().unwrap().len() > 100);
    }
}
