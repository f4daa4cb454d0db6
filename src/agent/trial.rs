//! One call, judged by the rules that hold here, without running it.

use super::rules;
use crate::agent::spec::Surface;
use crate::config::load::Loaded;
use crate::policy::decide::{Decided, explain};
use crate::policy::{Intent, Mode, World};
use std::path::Path;

/// A call as the rules of a configuration and the grants of a session judge it now.
pub fn judged(
    intent: &Intent,
    tool: &str,
    loaded: &Loaded,
    session: Vec<String>,
    cwd: &Path,
    mode: Mode,
    world: &dyn World,
) -> Decided {
    let mut rules = rules(loaded, &loaded.config.terminal.backend, &Surface::default());
    rules.session = session.into();
    rules.here.tool = tool.to_owned();
    rules.here.now = chrono::Utc::now().timestamp_millis();
    explain(intent, cwd, &rules, mode, world)
}

/// A verdict in words: what, why, by which rules.
pub fn explanation(decided: &Decided) -> String {
    let mut out = format!("{}\n", decided.verdict.name());
    for why in decided.verdict.reasons() {
        out.push_str(&format!("  {}: {}\n", why.effect, why.text));
    }
    for rule in &decided.rules {
        out.push_str(&format!("  by rule: {rule}\n"));
    }
    if decided.unasked {
        out.push_str("  does not ask in this mode\n");
    } else if decided.rules.is_empty() {
        out.push_str("  no rule matches it\n");
    }
    out
}
