//! Tests that are left out say so, those beside the code as well as those of the program: `src/lib.rs` has this file, too.

/// Says that a test was left out and why; `tests/run` prints these lines together at its end.
pub fn skipped(test: &str, why: &str) {
    use std::io::Write as _;
    let line = format!("skipped: {test}: {why}\n");
    eprint!("{line}");
    if let Some(path) = std::env::var_os("HERMES_TESTS_SKIPPED") {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        file.and_then(|mut file| file.write_all(line.as_bytes())).unwrap();
    }
}

/// Whether a program is installed; a test without it is left out.
#[allow(dead_code, reason = "the tests beside the code ask for none yet")]
pub fn has(test: &str, program: &str) -> bool {
    let found =
        std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).any(|dir| dir.join(program).is_file());
    if !found {
        skipped(test, &format!("{program} is not installed"));
    }
    found
}
