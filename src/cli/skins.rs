//! `hermes skins`: which there are, with the themes under them.

use crate::config::skin::{Listed, list_skins, list_themes};
use crate::config::{self, Paths, Sources};
use clap::Args;
use std::io::Write;

/// Arguments of `hermes skins`.
#[derive(Args, Clone, Debug)]
pub struct SkinsArgs {
    #[arg(long)]
    pub json: bool,
}

/// Lists skins and themes; the one in use is marked. Exits 0.
///
/// # Errors
/// Only when `out` can't be written.
pub fn run(args: &SkinsArgs, paths: &Paths, out: &mut dyn Write) -> anyhow::Result<i32> {
    let dirs = paths.look_dirs();
    let loaded = config::load(&Sources::of_process(paths.clone()));
    let display = &loaded.config.display;
    let lists =
        [("skins", list_skins(&dirs), display.skin.as_str()), ("themes", list_themes(&dirs), display.theme.as_str())];
    if args.json {
        let rows = |list: &[Listed], current: &str| -> Vec<serde_json::Value> {
            let row = |row: &Listed| serde_json::json!({"name": row.name, "description": row.description, "own": row.own, "current": row.name == current, "problem": row.problem});
            list.iter().map(row).collect()
        };
        let [(_, skins, skin), (_, themes, theme)] = &lists;
        let report = serde_json::json!({"version": 1, "skins": rows(skins, skin), "themes": rows(themes, theme)});
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
        return Ok(0);
    }
    for (title, list, current) in &lists {
        writeln!(out, "{title}")?;
        let width = list.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        for row in list {
            let mark = if row.name == *current { '*' } else { ' ' };
            let text = row.problem.as_deref().unwrap_or(&row.description);
            let own = if row.own { " (your own)" } else { "" };
            writeln!(out, "{mark} {:width$}  {text}{own}", row.name)?;
        }
    }
    writeln!(out, "\nhermes config set display.skin NAME · display.theme NAME, empty for the skin's own")?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_what_there_is() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::at(dir.path());
        std::fs::create_dir_all(paths.skins()).unwrap();
        std::fs::write(paths.skins().join("mine.yaml"), "description: my own\n").unwrap();
        std::fs::write(paths.config(), "display: {skin: ares}\n").unwrap();
        let listed = |json: bool| {
            let mut out = Vec::new();
            assert_eq!(run(&SkinsArgs { json }, &paths, &mut out).unwrap(), 0);
            String::from_utf8(out).unwrap()
        };
        let text = listed(false);
        assert!(text.contains("* ares") && text.contains("my own (your own)") && text.contains("clear-dark"), "{text}");
        let json: serde_json::Value = serde_json::from_str(&listed(true)).unwrap();
        assert_eq!(json["skins"].as_array().unwrap().len(), crate::config::embedded::SKINS.len() + 1);
        assert_eq!(json["skins"][1]["current"], true);
    }
}
