//! Gives back the memory of the program's own code that only its start needed.
//!
//! A fault maps a whole neighbourhood of pages, so that a start leaves most of a large program resident though it goes on
//! with little of it. The pages stay in the system's cache: what is needed again comes back without a read.

#[cfg(target_os = "linux")]
use std::time::Duration;

/// After the first frame; all that starts beside the screen has begun by then, and the look at what sessions take on the
/// disk, two seconds after the start, is over.
#[cfg(target_os = "linux")]
const AFTER: Duration = Duration::from_secs(3);

/// Trims once, a while after the start.
#[cfg(target_os = "linux")]
pub fn later() {
    tokio::spawn(async {
        tokio::time::sleep(AFTER).await;
        tokio::task::spawn_blocking(now);
    });
}

/// Nothing is known to be gained elsewhere.
#[cfg(not(target_os = "linux"))]
pub fn later() {}

#[cfg(target_os = "linux")]
fn now() {
    let (Ok(maps), Ok(own)) = (std::fs::read_to_string("/proc/self/maps"), std::env::current_exe()) else { return };
    for (start, end) in maps.lines().filter_map(|line| code(line, &own)) {
        // SAFETY: the mapping is of this program's file and executable only: it was never written, so that each page reads
        // the same when it comes back.
        let done = unsafe {
            let advice = rustix::mm::Advice::LinuxDontNeed;
            rustix::mm::madvise(std::ptr::with_exposed_provenance_mut(start), end - start, advice)
        };
        if let Err(error) = done {
            tracing::debug!(%error, "the code of the start stays in memory");
        }
    }
}

/// First and last address of a line of `/proc/self/maps` that maps this program's code.
#[cfg(target_os = "linux")]
fn code(line: &str, own: &std::path::Path) -> Option<(usize, usize)> {
    let mut fields = line.split_ascii_whitespace();
    let (range, access) = (fields.next()?, fields.next()?);
    let path = line.find('/').map(|at| &line[at..])?;
    if access != "r-xp" || std::path::Path::new(path) != own {
        return None;
    }
    let (start, end) = range.split_once('-')?;
    let (start, end) = (usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
    (start < end).then_some((start, end))
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn only_the_programs_own_code_is_given_back() {
        let own = Path::new("/opt/a b/hermes");
        for (line, found) in [
            ("1000-3000 r-xp 00001000 fd:00 7   /opt/a b/hermes", Some((0x1000, 0x3000))),
            ("1000-3000 r--p 00001000 fd:00 7   /opt/a b/hermes", None),
            ("1000-3000 rw-p 00001000 fd:00 7   /opt/a b/hermes", None),
            ("1000-3000 r-xp 00001000 fd:00 7   /opt/a b/hermes (deleted)", None),
            ("1000-3000 r-xp 00001000 fd:00 7   /lib/libc.so.6", None),
            ("1000-3000 r-xp 00000000 00:00 0", None),
            ("7fff-8000 r-xp 00000000 00:00 0   [vdso]", None),
        ] {
            assert_eq!(code(line, own), found, "{line}");
        }
    }

    #[test]
    fn the_program_goes_on_without_its_pages() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let own = std::env::current_exe().unwrap();
        assert_eq!(maps.lines().filter_map(|line| code(line, &own)).count(), 1, "{maps}");
        now();
    }
}
