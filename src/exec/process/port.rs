//! The port that a server says it listens on.

use crate::text::clean::clean;
use regex::Regex;
use std::sync::LazyLock;

/// Bytes of output in which a port is looked for.
pub(crate) const SEEK: u64 = 64 * 1024;

static PORT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let host = r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]|\*)";
    Regex::new(&format!(
        r"(?i)(?:https?://[^\s/:]+|{host}):(\d{{2,5}})\b|\bport[ :=]{{1,2}}(\d{{2,5}})\b|\b(?:listening|running|serving|started|ready) (?:on|at) :?(\d{{2,5}})\b"
    ))
    .ok()
});

/// The first port in `output`, as servers announce it.
pub(crate) fn find(output: &[u8]) -> Option<u16> {
    let text = clean(output);
    let found = PORT.as_ref()?.captures(&text)?;
    found.iter().skip(1).flatten().next()?.as_str().parse().ok().filter(|&port| port > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_servers_announce() {
        for (output, port) in [
            ("  ➜  Local:   http://localhost:\x1b[1m5173\x1b[22m/\n", Some(5173)),
            ("listening on :8080\n", Some(8080)),
            ("Serving HTTP on 0.0.0.0 port 8000 (http://0.0.0.0:8000/) ...\n", Some(8000)),
            ("INFO: Uvicorn running on http://127.0.0.1:9000 (Press CTRL+C to quit)", Some(9000)),
            ("Listening on port 3000", Some(3000)),
            ("Server listening at [::]:4321", Some(4321)),
            ("12:30:45 compiled 300 files in 20 ms", None),
            ("http://localhost:99999/", None),
            ("", None),
        ] {
            assert_eq!(find(output.as_bytes()), port, "{output}");
        }
    }
}
