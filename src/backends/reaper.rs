//! Containers of ours that nobody needs any more. One in which another program of ours works is left alone.

use super::container::{Engine, OURS};
use std::time::Duration;

/// How long a word of the engine may take here: nobody waits for it gladly.
const WORD: Duration = Duration::from_secs(20);
/// The least lifetime, in seconds.
const LEAST: u64 = 60;

/// Removes containers of ours that have been stopped for twice their lifetime.
pub(crate) fn stopped(engine: &Engine, lifetime: u64) {
    let ours = format!("label={OURS}");
    let words = ["ps", "-aq", "--filter", &ours, "--filter", "status=exited"];
    let all = match engine.run(&words, WORD) {
        Ok(all) => all,
        Err(error) => return tracing::debug!("could not list stopped containers: {error}"),
    };
    let most = 2 * lifetime.max(LEAST);
    for id in all.lines().filter(|id| !id.is_empty()) {
        let finished = engine.run(&["inspect", "-f", "{{.State.FinishedAt}}", id], WORD).unwrap_or_default();
        if age(&finished).is_some_and(|age| age > most)
            && let Err(error) = engine.run(&["rm", id], WORD)
        {
            tracing::debug!("container {id} not removed: {error}");
        }
    }
}

/// Whether nothing runs in it but what it was started with and the shell that asks. Zombies run nothing.
pub(crate) fn is_idle(engine: &Engine, name: &str) -> bool {
    // Not `top`: it has as many forms as there are engines.
    let script = "for s in /proc/[0-9]*/stat; do { read -r l <$s; } 2>/dev/null || continue; \
                  r=${l##*') '}; p=${l%% *}; c=${l#*'('}; c=${c%%')'*}; \
                  case ${r%% *} in Z*) continue;; esac; \
                  case $c in sleep|catatonit|docker-init|podman-init|tini|conmon) continue;; esac; \
                  [ $p = 1 ] || [ $p = $$ ] || echo $c; done";
    engine.run(&["exec", name, "sh", "-c", script], WORD).is_ok_and(|busy| busy.is_empty())
}

/// Seconds since a moment as engines write it: `2024-05-01T10:00:00.1Z`, `2024-05-01 10:00:00.1 +0000 UTC`.
fn age(moment: &str) -> Option<u64> {
    let (date, rest) = moment.split_once(['T', ' '])?;
    let time: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == ':').collect();
    let offset = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':' || c == '.').trim();
    let zone = match offset.split(' ').next().unwrap_or_default() {
        "" | "Z" => "+00:00".to_owned(),
        zone if zone.len() == 5 => format!("{}:{}", &zone[..3], &zone[3..]),
        zone => zone.to_owned(),
    };
    let then = chrono::DateTime::parse_from_rfc3339(&format!("{date}T{time}{zone}")).ok()?;
    // One that never ended has a moment before all others.
    (then.timestamp() > 0).then(|| u64::try_from((chrono::Utc::now() - then.to_utc()).num_seconds()).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_all_engines_are_read() {
        let year = 365 * 24 * 3600;
        for moment in [
            "2024-05-01T10:00:00.123456789Z",
            "2024-05-01 10:00:00.123 +0000 UTC",
            "2024-05-01T12:00:00+02:00",
            "2024-05-01 12:00:00.5 +0200 CEST",
        ] {
            let age = age(moment).unwrap_or_else(|| panic!("{moment}"));
            assert!(age > year, "{moment}: {age}");
        }
        assert_eq!(age("never"), None);
        assert_eq!(age("0001-01-01T00:00:00Z"), None);
    }
}
