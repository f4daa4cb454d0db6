//! Which calls of one step may overlap: runs of calls that do, and barriers between them.

use super::input::paths::lexical;
use super::spec::Parallel;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Calls that run together, or one after the other; segments run in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub parallel: bool,
    /// Positions in the step's list of calls.
    pub indices: Vec<usize>,
}

/// Cuts the calls (name, arguments as JSON text) of one step into segments; relative paths are compared as written.
pub fn segments<N: AsRef<str>, A: AsRef<str>>(
    calls: &[(N, A)],
    lookup: impl Fn(&str) -> Option<Parallel>,
) -> Vec<Segment> {
    segments_in(Path::new(""), calls, lookup)
}

/// [`segments`] with relative paths resolved against `cwd` and symlinks followed.
pub fn segments_in<N: AsRef<str>, A: AsRef<str>>(
    cwd: &Path,
    calls: &[(N, A)],
    lookup: impl Fn(&str) -> Option<Parallel>,
) -> Vec<Segment> {
    let mut plan = Plan::default();
    for (index, (name, args)) in calls.iter().enumerate() {
        let args = match args.as_ref().trim() {
            "" => Some(Value::Object(serde_json::Map::new())),
            text => serde_json::from_str::<Value>(text).ok().filter(Value::is_object),
        };
        match (lookup(name.as_ref()), args) {
            (Some(Parallel::Always), Some(_)) => plan.join(index, None),
            (Some(Parallel::ByPath(argument)), Some(args)) => match args.get(argument).and_then(Value::as_str) {
                Some(path) if !path.trim().is_empty() => plan.join(index, Some(resolved(cwd, path))),
                _ => plan.barrier(index),
            },
            _ => plan.barrier(index),
        }
    }
    plan.finish()
}

/// For each call the earlier one of the same step that it repeats: same name, same arguments in any order.
pub fn repeats<N: AsRef<str>, A: AsRef<str>>(calls: &[(N, A)]) -> Vec<Option<usize>> {
    let parsed: Vec<(&str, Result<Value, &str>)> = calls
        .iter()
        .map(|(name, args)| (name.as_ref(), serde_json::from_str(args.as_ref()).map_err(|_| args.as_ref().trim())))
        .collect();
    (0..parsed.len()).map(|index| parsed[..index].iter().position(|earlier| *earlier == parsed[index])).collect()
}

fn resolved(cwd: &Path, path: &str) -> PathBuf {
    let joined = match path.strip_prefix("~/") {
        Some(rest) => std::env::home_dir().unwrap_or_default().join(rest),
        None => cwd.join(path),
    };
    joined.canonicalize().unwrap_or_else(|_| lexical(&joined))
}

#[derive(Default)]
struct Plan {
    done: Vec<Segment>,
    open: Vec<usize>,
    paths: Vec<PathBuf>,
}

impl Plan {
    fn join(&mut self, index: usize, path: Option<PathBuf>) {
        if let Some(path) = path {
            if self.paths.iter().any(|other| path.starts_with(other) || other.starts_with(&path)) {
                self.close();
            }
            self.paths.push(path);
        }
        self.open.push(index);
    }

    fn barrier(&mut self, index: usize) {
        self.close();
        self.sequential(index);
    }

    fn close(&mut self) {
        self.paths.clear();
        match std::mem::take(&mut self.open) {
            run if run.len() > 1 => self.done.push(Segment { parallel: true, indices: run }),
            run => run.into_iter().for_each(|index| self.sequential(index)),
        }
    }

    /// Neighbours that run one after the other are one segment.
    fn sequential(&mut self, index: usize) {
        match self.done.last_mut().filter(|segment| !segment.parallel) {
            Some(segment) => segment.indices.push(index),
            None => self.done.push(Segment { parallel: false, indices: vec![index] }),
        }
    }

    fn finish(mut self) -> Vec<Segment> {
        self.close();
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(name: &str) -> Option<Parallel> {
        match name {
            "read_file" | "write_file" | "patch" => Some(Parallel::ByPath("path")),
            "web_search" | "skills_list" => Some(Parallel::Always),
            "terminal" => Some(Parallel::Never),
            _ => None,
        }
    }

    #[test]
    fn cases() {
        let cases = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/parallel-segments.jsonl"));
        for row in cases.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            let calls: Vec<(&str, &str)> = row["calls"]
                .as_array()
                .unwrap()
                .iter()
                .map(|call| (call["name"].as_str().unwrap(), call["arguments"].as_str().unwrap()))
                .collect();
            let got: Vec<Value> = segments(&calls, lookup)
                .iter()
                .map(|segment| {
                    serde_json::json!({
                        "kind": if segment.parallel { "parallel" } else { "sequential" },
                        "tools": segment.indices.iter().map(|i| calls[*i].0).collect::<Vec<_>>(),
                    })
                })
                .collect();
            assert_eq!(Value::Array(got), row["segments"], "{row}");
        }
    }

    #[test]
    fn paths_overlap_by_component() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("real"), "").unwrap();
        std::os::unix::fs::symlink("real", dir.path().join("link")).unwrap();
        for (a, b, together) in [
            ("a/b", "a/bc", true),
            ("a", "a/b", false),
            ("a/./b", "a/b", false),
            ("a/../b", "b", false),
            ("link", "real", false),
        ] {
            let calls = [("write_file", format!("{{\"path\":{a:?}}}")), ("read_file", format!("{{\"path\":{b:?}}}"))];
            let parallel = segments_in(dir.path(), &calls, lookup)[0].parallel;
            assert_eq!(parallel, together, "{a} {b}");
        }
    }

    #[test]
    fn identical_calls_are_found() {
        let calls = [
            ("read_file", r#"{"path":"a","limit":1}"#),
            ("read_file", r#"{"path":"a"}"#),
            ("read_file", r#"{ "limit": 1, "path": "a" }"#),
            ("terminal", r#"{"path":"a"}"#),
            ("terminal", "broken "),
            ("terminal", "broken"),
            ("read_file", r#"{"path":"a","limit":1}"#),
        ];
        assert_eq!(repeats(&calls), [None, None, Some(0), None, None, Some(4), Some(0)]);
    }

    proptest::proptest! {
        /// Every call once, in order between segments; what runs together touches different paths.
        #[test]
        fn any_step_is_cut_well(
            calls in proptest::collection::vec((0usize..5, "(\\{\"path\": ?\"(a|b|a/b|\\./a|a/\\.\\./b|~|/)\"\\}|\\{\\}|x|)"), 0..12),
        ) {
            let names = ["read_file", "write_file", "web_search", "terminal", "nope"];
            let calls: Vec<(&str, String)> = calls.into_iter().map(|(at, args)| (names[at], args)).collect();
            let cut = segments(&calls, lookup);
            let all: Vec<usize> = cut.iter().flat_map(|segment| segment.indices.clone()).collect();
            proptest::prop_assert_eq!(all, (0..calls.len()).collect::<Vec<_>>());
            for segment in cut.iter().filter(|segment| segment.parallel) {
                let path = |index: &usize| {
                    let args: Value = serde_json::from_str(&calls[*index].1).unwrap_or_default();
                    let scoped = lookup(calls[*index].0) == Some(Parallel::ByPath("path"));
                    Some(resolved(Path::new(""), args.get("path")?.as_str()?)).filter(|_| scoped)
                };
                let paths: Vec<PathBuf> = segment.indices.iter().filter_map(path).collect();
                for (at, one) in paths.iter().enumerate() {
                    proptest::prop_assert!(paths[..at].iter().all(|other| !one.starts_with(other) && !other.starts_with(one)));
                }
            }
            let repeats = repeats(&calls);
            proptest::prop_assert!(repeats.iter().enumerate().all(|(at, earlier)| earlier.is_none_or(|earlier| earlier < at)));
        }
    }

    #[test]
    fn every_call_is_in_exactly_one_segment_in_order() {
        let calls =
            [("web_search", "{}"), ("nope", "{}"), ("web_search", ""), ("web_search", "{}"), ("read_file", "{")];
        let all: Vec<usize> = segments(&calls, lookup).into_iter().flat_map(|s| s.indices).collect();
        assert_eq!(all, [0, 1, 2, 3, 4]);
    }
}
