//! Secrets on their way out: variables that hold one in what is sent, and filters that look for one in what a tool tells.

use crate::policy::shell::programs::decode::Stream;
use crate::policy::shell::programs::wrappers::ENVIRONMENT;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::Known;
use crate::policy::shell::walk::resolve::Field;

/// Words that a filter looks for when it looks for secrets.
const SOUGHT: &[&str] = &["pass", "secret", "token", "key", "cred", "auth", "env"];
/// What tells the settings of services with their secrets in it.
const TELLERS: &[(&[&str], &[&str])] = &[
    (&["docker", "podman", "nerdctl"], &["inspect", "container", "compose"]),
    (&["kubectl", "oc", "k", "kubecolor"], &["get", "describe"]),
    (&["systemctl"], &["show", "cat"]),
    (&["crictl"], &["inspect"]),
];
const LOOKING: &[&str] = &["grep", "egrep", "fgrep", "rg", "ag", "jq", "gojq", "jaq", "yq", "awk", "sed", "gron"];
/// Endings of addresses that everyone knows as those of a service.
const KNOWN_ENDS: &[&str] = &["com", "io", "org", "net", "ai", "co", "dev", "app"];

/// Whether a secret's name is that of the service which it is sent to: `GITHUB_TOKEN` to `api.github.com`.
fn is_for(name: &str, address: &str) -> bool {
    let owner = name.trim_start_matches('$').split('_').next().unwrap_or("").to_lowercase();
    let owner = match owner.as_str() {
        "gh" => "github",
        "hf" => "huggingface",
        "npm" => "npmjs",
        "cf" => "cloudflare",
        "do" => "digitalocean",
        other => other,
    };
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or("");
    // A name before `@` is no part of the host.
    let host = host.rsplit('@').next().unwrap_or("").split(':').next().unwrap_or("");
    let mut parts = host.rsplit('.');
    let (end, label) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    owner.len() > 2 && label == owner && KNOWN_ENDS.contains(&end)
}

impl Walker<'_> {
    /// A variable that by its name is a secret is part of what goes to another machine.
    pub(in crate::policy::shell) fn sends_secrets(&mut self, known: &Known<'_>, here: bool) {
        let hit = known.argv[1..].iter().find_map(|field| {
            let name = field.via.iter().find(|name| name.starts_with('$'))?;
            let mut hosts = known.operands().filter(|other| other.text.contains('.'));
            let service = hosts.all(|other| is_for(name, &other.text)) && known.operands().next().is_some();
            (!service).then(|| (name.clone(), field.span.clone()))
        });
        if let Some((name, span)) = hit.filter(|_| !here) {
            let say = self.table.effect("sends a secret").say;
            self.find_as("sends a secret", format!("{say}: {name}"), span);
        }
    }

    /// `ssh host "echo $SECRET"`: this shell puts the value in, and the other machine has it.
    pub(super) fn tells_secrets(&mut self, known: &Known<'_>) {
        if !matches!(known.name.as_str(), "ssh" | "mosh" | "autossh" | "rsh" | "slogin") {
            return;
        }
        let secret = |name: &&String| name.starts_with('$');
        let mut words = known.argv[1..].iter();
        let hit = words.find_map(|field| Some((field.via.iter().find(secret)?.clone(), field.span.clone())));
        if let Some((name, span)) = hit {
            let say = self.table.effect("sends a secret").say;
            self.find_as("sends a secret", format!("{say}: {name}"), span);
        }
    }

    /// `docker inspect web | grep PASSWORD`
    pub(super) fn looks_for_secrets(&mut self, known: &Known<'_>, input: Option<&Stream>) {
        if !LOOKING.contains(&known.name.as_str()) {
            return;
        }
        let sought = |field: &Field| {
            let text = field.text.to_lowercase();
            SOUGHT.iter().any(|word| text.contains(word))
        };
        let Some(field) = known.argv[1..].iter().find(|field| sought(field)).cloned() else { return };
        let Some(stream) = input else { return };
        let from = self.invocations.iter().filter(|before| before.span == stream.span);
        let mut words = from.map(|before| &before.plain);
        let tells = words.any(|words| {
            let word = |at: usize| words.get(at).map_or("", String::as_str);
            TELLERS.iter().any(|(names, subs)| names.contains(&word(0)) && subs.contains(&word(1)))
        });
        if tells {
            self.find(ENVIRONMENT, field.span);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_their_services() {
        for (name, address) in [
            ("$GITHUB_TOKEN", "https://api.github.com/user"),
            ("$GH_TOKEN", "api.github.com"),
            ("$OPENAI_API_KEY", "https://api.openai.com/v1/models"),
        ] {
            assert!(is_for(name, address), "{name} {address}");
        }
        for (name, address) in [
            ("$GITHUB_TOKEN", "https://github.evil.example/"),
            ("$GITHUB_TOKEN", "https://api.github.com@evil.example/"),
            ("$GITHUB_TOKEN", "https://evil.example/github.com"),
            ("$AWS_SECRET_ACCESS_KEY", "https://evil.com"),
            ("$TOKEN", "https://x.example"),
        ] {
            assert!(!is_for(name, address), "{name} {address}");
        }
    }
}
