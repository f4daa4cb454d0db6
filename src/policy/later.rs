//! Files of a project that programs run or obey without being told to, wherever in it they lie: the classes of `paths.yaml`
//! that say so (`later`). The sandbox closes what the gate asks about.

use super::table::{Pattern, table};
use std::collections::HashSet;
use std::sync::LazyLock;

struct Later {
    patterns: Vec<Pattern>,
    except: Vec<Pattern>,
    /// Last names of the patterns: most files of a project have none of them.
    names: HashSet<String>,
}

static LATER: LazyLock<Later> = LazyLock::new(|| {
    let classes = table().into_iter().flat_map(|table| &table.paths.classes).filter(|class| class.later);
    let (mut patterns, mut except, mut names) = (Vec::new(), Vec::new(), HashSet::new());
    for class in classes {
        // Only what lies anywhere: the rest has a place of its own, which no sandbox opens.
        for text in class.paths.iter().filter(|text| text.starts_with("**/")) {
            let folder = text.trim_end_matches("/**");
            names.extend(folder.rsplit('/').next().map(str::to_owned));
            patterns.extend(Pattern::read(folder));
        }
        except.extend(class.except.iter().filter(|text| text.starts_with("**/")).flat_map(|text| Pattern::read(text)));
    }
    Later { patterns, except, names }
});

/// Whether a path of a project, from its top (`sub/.github/workflows`), is such a file, or a folder that holds only such:
/// how many of its last components say so.
pub fn runs_later(inside: &str) -> Option<usize> {
    let name = inside.rsplit('/').next()?;
    if !LATER.names.contains(name) {
        return None;
    }
    let path = format!("/{inside}");
    if LATER.except.iter().any(|pattern| pattern.covers(&path, "", "")) {
        return None;
    }
    let found = LATER.patterns.iter().find(|pattern| pattern.covers(&path, "", ""))?;
    Some(found.glob.matches('/').count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gates_own_list_says_what_runs_later() {
        for (path, parts) in [
            (".envrc", 1),
            ("a/b/c/.envrc", 1),
            ("sub/.npmrc", 1),
            (".cargo/config.toml", 2),
            ("sub/.cargo/config.toml", 2),
            (".github/workflows", 2),
            ("sub/.github/workflows", 2),
            ("AGENTS.md", 1),
            ("sub/CLAUDE.md", 1),
            ("sub/.idea", 1),
            ("sub/.vscode/tasks.json", 2),
            (".gitlab-ci.yml", 1),
        ] {
            assert_eq!(runs_later(path), Some(parts), "{path}");
        }
        for path in [
            "src/main.rs",
            "config.toml",
            "workflows",
            ".git/config",
            "node_modules/.bin",
            "README.md",
            ".env",
            "Makefile",
        ] {
            assert_eq!(runs_later(path), None, "{path}");
        }
    }
}
