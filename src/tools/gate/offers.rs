//! The lasting answers that a question offers, and what each would have answered among the calls that the audit log has.

use super::audit::REMOVES;
use super::environment::Environment;
use super::request::Request;
use super::{Gate, disk};
use crate::policy::proposals::{self, Seen};
use crate::policy::{EditIntent, Intent, Proposal, Verdict};
use crate::store::audit::{PastCall, is_cut};
use crate::tools::builtin::{patch, read_file, search_files, terminal, write_file};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Calls of the past that an answer is compared with, and the time for it.
const PAST: usize = 200;
const BUDGET: Duration = Duration::from_millis(80);

/// The tools whose calls are of the kind of this one.
fn tools(intent: &Intent) -> &'static [&'static str] {
    match intent {
        Intent::Command { .. } => &[terminal::NAME],
        Intent::Edit(_) => &[write_file::NAME, patch::NAME],
        Intent::Read(_) => &[read_file::NAME, search_files::NAME],
        Intent::Remote { .. } => &["mcp__*", "plugin__*"],
        Intent::Input { .. } | Intent::Code { .. } | Intent::Talk | Intent::Handle => &[],
    }
}

impl Gate {
    /// The lasting answers on offer, with what they would have answered in the past where that is known in time.
    pub(super) async fn offers(
        &self,
        request: &Request<'_>,
        verdict: &Verdict,
        environment: &Environment,
    ) -> Vec<Proposal> {
        let seen = if matches!(verdict, Verdict::Ask(_)) { self.past(&request.intent).await } else { Vec::new() };
        let rules = self.rules_for(request.tool, &environment.reader);
        let (intent, verdict) = (request.intent.clone(), verdict.clone());
        let plain = proposals::offered(&intent, &verdict);
        let (cwd, world) = (environment.cwd.clone(), Arc::clone(&environment.world));
        let work = move || {
            let mut offered = proposals::offered_in(&intent, &verdict, &cwd, &rules, &*world);
            let deadline = Instant::now() + BUDGET;
            proposals::tell_past(&mut offered, &intent, &seen, &rules, &*world, || Instant::now() >= deadline);
            offered
        };
        // A disk that hangs leaves what needs no look at it.
        match tokio::time::timeout(disk::BUDGET, tokio::task::spawn_blocking(work)).await {
            Ok(Ok(offered)) => offered,
            Ok(Err(_)) | Err(_) => plain,
        }
    }

    /// Calls like this one, newest first; none when the log does not answer in time.
    async fn past(&self, intent: &Intent) -> Vec<Seen> {
        let tools = tools(intent);
        let Some(store) = self.log.as_ref().filter(|_| !tools.is_empty()) else { return Vec::new() };
        let rows = match tokio::time::timeout(BUDGET, store.audit_calls(tools, PAST)).await {
            Ok(Ok(rows)) => rows,
            Ok(Err(_)) | Err(_) => return Vec::new(),
        };
        rows.into_iter().filter_map(|row| seen(row, intent)).collect()
    }
}

/// A row of the log as a call of the kind of `like`; none when the log has not all of its files.
fn seen(row: PastCall, like: &Intent) -> Option<Seen> {
    let PastCall { tool, what, cwd } = row;
    if is_cut(&what) && !matches!(like, Intent::Remote { .. }) {
        return None;
    }
    let intent = match like {
        Intent::Command { .. } => Intent::Command { line: what, cwd: cwd.clone(), background: false },
        Intent::Read(_) => Intent::Read(path(&what)?),
        Intent::Edit(_) => {
            let edit = |line: &str| {
                let removed = line.strip_prefix(REMOVES);
                let path = path(removed.unwrap_or(line))?;
                Some(EditIntent { path, diff: String::new(), removes: removed.is_some() })
            };
            let edits: Vec<EditIntent> = what.lines().map(edit).collect::<Option<_>>()?;
            Intent::Edit(Some(edits).filter(|edits| !edits.is_empty())?)
        }
        Intent::Remote { .. } => {
            let (kind, rest) = tool.split_once("__")?;
            let (server, _) = rest.split_once("__")?;
            let server = if kind == "plugin" { format!("plugin {server}") } else { server.to_owned() };
            Intent::Remote { server, tool, args: what, claims: Vec::new() }
        }
        Intent::Input { .. } | Intent::Code { .. } | Intent::Talk | Intent::Handle => return None,
    };
    Some(Seen { intent, cwd })
}

fn path(text: &str) -> Option<PathBuf> {
    text.starts_with('/').then(|| PathBuf::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_calls_of_the_kind_that_is_asked_about() {
        let row = |tool: &str, what: &str| PastCall { tool: tool.into(), what: what.into(), cwd: "/p".into() };
        let edit = |path: &str, removes| EditIntent { path: path.into(), diff: String::new(), removes };
        let edits = Intent::Edit(Vec::new());
        let told = |what: &str| seen(row("patch", what), &edits).map(|seen| seen.intent);
        assert_eq!(told("/p/a b\nremoves /p/c"), Some(Intent::Edit(vec![edit("/p/a b", false), edit("/p/c", true)])));
        let long = crate::store::audit::bounded(&format!("/{}", "a".repeat(5_000)));
        for none in ["", "/p/a\n3 more", "relative", "/p/a\n«redacted:x»", &long] {
            assert_eq!(told(none), None, "{none:?}");
        }
        let read = seen(row("read_file", "/p/a"), &Intent::Read("/x".into()));
        assert_eq!(read.map(|seen| seen.intent), Some(Intent::Read("/p/a".into())));
        let remote = |tool: &str| {
            let like = Intent::Remote { server: "x".into(), tool: "y".into(), args: String::new(), claims: vec![] };
            seen(row(tool, "{}"), &like).map(|seen| seen.intent)
        };
        let call = |server: &str, tool: &str| {
            Some(Intent::Remote { server: server.into(), tool: tool.into(), args: "{}".into(), claims: Vec::new() })
        };
        assert_eq!(remote("mcp__git__log"), call("git", "mcp__git__log"));
        assert_eq!(remote("plugin__notes__add"), call("plugin notes", "plugin__notes__add"));
    }
}
