//! Warnings that hold at every start are no news at the second: what was said is kept in the home's cache.

use super::layer::Warning;
use super::paths::Paths;
use crate::fs;
use std::collections::BTreeSet;

/// Takes away what an earlier start has said already, and notes the rest. Where nothing can be kept it is said again.
pub fn once(paths: &Paths, warnings: &mut Vec<Warning>) {
    let file = paths.cache().join("said");
    let before = std::fs::read_to_string(&file).unwrap_or_default();
    let known: BTreeSet<&str> = before.lines().collect();
    // What no longer holds is forgotten: should it come back, it is news.
    let now: BTreeSet<String> =
        warnings.iter().filter(|warning| warning.lasting).map(|warning| line(&warning.to_string())).collect();
    warnings.retain(|warning| !warning.lasting || !known.contains(line(&warning.to_string()).as_str()));
    if now.iter().map(String::as_str).ne(known.iter().copied())
        && let Err(error) = fs::write_whole(&file, &now.into_iter().map(|line| line + "\n").collect::<String>())
    {
        tracing::debug!(%error, "could not save which notices were shown");
    }
}

fn line(text: &str) -> String {
    text.replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lasting_warning_is_said_once_until_it_went_away() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::discover(|name| (name == "HERMES_HOME").then(|| home.path().display().to_string())).unwrap();
        let warning =
            |text: &str, lasting| Warning { path: None, line: None, key: String::new(), text: text.into(), lasting };
        let said = |list: &[Warning]| {
            let mut list = list.to_vec();
            once(&paths, &mut list);
            list.into_iter().map(|warning| warning.text).collect::<Vec<_>>()
        };
        let (open, broken) = (warning("readable by others", true), warning("broken", false));
        assert_eq!(said(&[open.clone(), broken.clone()]), ["readable by others", "broken"]);
        assert_eq!(said(&[open.clone(), broken.clone()]), ["broken"]);
        assert_eq!(said(&[broken]), ["broken"]);
        assert_eq!(said(&[open]), ["readable by others"], "it was gone in between");
    }
}
