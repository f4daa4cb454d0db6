//! Whether data files (JSON, YAML, TOML) still parse: a broken one is never written.

use serde::de::IgnoredAny;
use serde_saphyr::granit_parser::Parser;
use std::path::Path;

/// Larger texts are not checked.
const LIMIT: usize = 4 * 1024 * 1024;

/// `Err` names the place and the fault. Files of other kinds, and templates of such files, always pass.
pub fn check(path: &Path, text: &str) -> Result<(), String> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    if text.len() > LIMIT || text.trim().is_empty() {
        return Ok(());
    }
    match extension.as_str() {
        "json" if !takes_comments(path) => match serde_json::from_str::<IgnoredAny>(text) {
            // Deep nesting is a limit of the reader, not a fault of the text.
            Err(error) if !error.to_string().starts_with("recursion limit") => Err(format!("JSON: {error}")),
            _ => Ok(()),
        },
        // `{{ }}` and `{% %}` are another language until they are filled in.
        "yaml" | "yml" if !text.contains("{{") && !text.contains("{%") => {
            Parser::new_from_str(text).find_map(Result::err).map_or(Ok(()), |error| Err(format!("YAML: {error}")))
        }
        "toml" => text.parse::<toml::Table>().map(drop).map_err(|error| {
            let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            format!("TOML: {} at line {line}", error.message())
        }),
        _ => Ok(()),
    }
}

/// JSON in name only: the programs that read these files allow comments.
fn takes_comments(path: &Path) -> bool {
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
    let folder = path.parent().and_then(Path::file_name).and_then(|n| n.to_str()).unwrap_or_default();
    [".vscode", ".devcontainer", ".zed"].contains(&folder)
        || ["tsconfig", "jsconfig", "devcontainer", ".eslintrc", ".babelrc", "api-extractor"]
            .iter()
            .any(|stem| name.starts_with(stem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_broken_data_files_fail() {
        for (name, text, good) in [
            ("a.json", "{\"a\": 1}", true),
            ("a.json", "{\"a\": }", false),
            ("a.JSON", "{", false),
            ("a.json", "", true),
            ("tsconfig.json", "{ // why\n}", true),
            (".vscode/settings.json", "{ /* x */ }", true),
            ("a.yaml", "a: 1\nb:\n  - x\n---\nc: !Ref d\n", true),
            ("a.yml", "a: [1, 2\nb: }", false),
            ("chart.yaml", "a: {{ .Values.x }}\n", true),
            ("a.toml", "a = 1\n[b]\nc = 'd'\n", true),
            ("a.toml", "a = 1\na = = 2\n", false),
            ("a.rs", "fn {", true),
        ] {
            assert_eq!(check(Path::new(name), text).is_ok(), good, "{name} {text:?}");
        }
    }
}
