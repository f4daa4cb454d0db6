//! Programs that are downloaded in order to run them: `npx`, `uvx`, `pnpm dlx`.

use crate::policy::glob;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::Known;
use crate::policy::shell::walk::resolve::Field;
use crate::policy::table::{self, Wrap};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

/// `assets/policy/registries.yaml`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Registry {
    /// Tools that everybody runs so; a version may follow.
    known: Vec<String>,
    /// Folders, from the working folder on, in which an installed one lies.
    installed: Vec<String>,
    /// Options that name further packages.
    packages: Vec<String>,
    /// Options with which nothing is downloaded.
    offline: Vec<String>,
}

static REGISTRIES: LazyLock<Result<BTreeMap<String, Registry>, String>> =
    LazyLock::new(|| table::read("registries.yaml", include_str!("../../../../assets/policy/registries.yaml")));

impl Walker<'_> {
    /// Asks where the program at this place, or a package beside it, would be downloaded and nobody knows it.
    pub(super) fn runs_downloaded(&mut self, known: &Known<'_>, wrap: &Wrap, at: Option<usize>) {
        if wrap.registry.is_empty() {
            return;
        }
        let effect = "runs a downloaded program";
        let Some(registry) = REGISTRIES.as_ref().ok().and_then(|all| all.get(&wrap.registry)) else {
            return self.find(effect, known.span());
        };
        if known.args.has_exactly(&registry.offline) {
            return;
        }
        let packages: Vec<Field> = known
            .args
            .flags
            .iter()
            .filter(|flag| registry.packages.contains(&flag.name))
            .filter_map(|flag| flag.value.as_ref())
            .map(|(text, at)| Field { text: text.clone(), ..known.argv[*at].clone() })
            .collect();
        // With a package its programs are meant, by whatever name.
        let asked = match (at, packages.is_empty()) {
            (Some(at), true) => vec![known.argv[at].clone()],
            _ => packages,
        };
        for field in asked {
            let is_known = registry.known.iter().any(|name| glob::matches(name, package(&field.text)));
            if !is_known && !self.is_installed(registry, &field) {
                self.find(effect, field.span);
            }
        }
    }

    fn is_installed(&self, registry: &Registry, field: &Field) -> bool {
        let name = field.text.as_str();
        let plain = field.is_known() && !name.contains(['/', ':']) && !glob::is_pattern(name);
        plain
            && self.state.cwds.iter().all(|cwd| {
                Path::new(cwd).ancestors().take(8).any(|folder| {
                    registry.installed.iter().any(|bin| {
                        let path = folder.join(bin).join(name);
                        self.world.glob(&path.to_string_lossy(), Path::new("/"), 1).some()
                    })
                })
            })
    }
}

/// A package without its version: `eslint@9`, `@scope/name@1`, `ruff==0.5`.
fn package(text: &str) -> &str {
    let from = usize::from(text.starts_with('@'));
    let end = text[from..].find(['@', '=', '[', '>', '<', '~']).map_or(text.len(), |at| at + from);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_parse() {
        let all = REGISTRIES.as_ref().unwrap();
        assert!(all["node"].known.iter().any(|name| name == "tsc") && !all["python"].installed.is_empty());
    }

    #[test]
    fn packages_without_versions() {
        for (text, want) in
            [("eslint@9", "eslint"), ("@a/b@1", "@a/b"), ("ruff==1", "ruff"), ("x[y]", "x"), ("@a/b", "@a/b"), ("", "")]
        {
            assert_eq!(package(text), want);
        }
    }
}
