//! Which lasting answers a question offers: this very command, its effects, the tools of a server.

use super::{Grant, Intent, Past, Proposal, Scope, Verdict, Width, remote};

/// The proposals for a call, narrowest first within a scope. None for what is asked every time.
pub fn offered(intent: &Intent, verdict: &Verdict) -> Vec<Proposal> {
    if !matches!(verdict, Verdict::Ask(_)) {
        return Vec::new();
    }
    let effects = effects(verdict);
    let server = match intent {
        // A rule that names the tool, not what it does, is what is asked about.
        Intent::Remote { server, tool, .. } if effects == [tool.as_str()] => remote::every_tool(server, tool),
        _ => None,
    };
    let proposal = |scope, width, entries| Proposal { grant: Grant { scope, width, entries }, past: Past::default() };
    let lasting = |scope| {
        let effects = (!effects.is_empty()).then(|| proposal(scope, Width::Effects, effects.clone()));
        let server = server.clone().map(|entry| proposal(scope, Width::Server, vec![entry]));
        effects.into_iter().chain(server)
    };
    // A session's grants are classes and tools, never a line.
    let exact = exact(intent).map(|line| proposal(Scope::Global, Width::Command, vec![line]));
    lasting(Scope::Session).chain(exact).chain(lasting(Scope::Global)).collect()
}

/// The classes of effect that are asked about, each once.
pub fn effects(verdict: &Verdict) -> Vec<String> {
    let mut effects: Vec<String> = Vec::new();
    for why in verdict.reasons() {
        if !why.effect.is_empty() && !effects.contains(&why.effect) {
            effects.push(why.effect.clone());
        }
    }
    effects
}

/// The command as a rule that matches nothing else; a line with wildcards would match more.
fn exact(intent: &Intent) -> Option<String> {
    match intent {
        Intent::Command { line, .. } if !line.contains(['*', '?', '[', '\n']) => Some(line.clone()),
        _ => None,
    }
}
