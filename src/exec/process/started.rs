//! When a process was started, where there is no `/proc` to tell: as `ps` says it, to the second.

/// Seconds since 1970, in UTC; `None`: it does not run.
#[cfg(not(target_os = "linux"))]
pub(super) fn started(pid: u32) -> Option<u64> {
    use crate::exec::{Limits, Oneshot, OutputLimit, Remainder};
    use std::time::Duration;
    let mut command = std::process::Command::new("/bin/ps");
    // The same words and the same clock whoever asks.
    command.args(["-o", "stat=", "-o", "lstart=", "-p", &pid.to_string()]).env("LC_ALL", "C").env("TZ", "UTC");
    let bounds = Limits { time: Duration::from_secs(2), stdout: OutputLimit::First(256), stderr: OutputLimit::None };
    let asked = Oneshot { command, input: Vec::new(), bounds, rest: Remainder::Ends }.block(&|| false);
    read(&String::from_utf8_lossy(&asked.ok()?.stdout))
}

/// `S+   Thu Nov  6 04:20:28 2025`: the state, and the start. One that has ended and was not waited for does not run.
#[cfg(any(not(target_os = "linux"), test))]
fn read(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let words: Vec<&str> = text.split_whitespace().collect();
    let [state, _, month, day, time, year] = words[..] else { return None };
    let month = MONTHS.iter().position(|name| *name == month)? as i64 + 1;
    let (day, year) = (day.parse::<i64>().ok()?, year.parse::<i64>().ok()?);
    let clock: Vec<i64> = time.split(':').filter_map(|part| part.parse().ok()).collect();
    let [hours, minutes, seconds] = clock[..] else { return None };
    // Days of the calendar from 1970, with years that begin in March: the day of a leap year is their last one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let days = days + (month * 153 + 2) / 5 + day - 1 - 719_468;
    let seconds = ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
    (!state.starts_with('Z')).then_some(u64::try_from(seconds).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn the_start_is_read_as_ps_tells_it() {
        for (text, seconds) in [
            ("Ss   Thu Jan  1 00:00:00 1970\n", Some(0)),
            ("S+   Thu Feb 29 12:34:56 2024\n", Some(1_709_210_096)),
            ("R    Fri Mar  1 00:00:00 2024\n", Some(1_709_251_200)),
            ("S    Wed Dec 31 23:59:59 2025\n", Some(1_767_225_599)),
            ("Z+   Wed Dec 31 23:59:59 2025\n", None),
            ("", None),
            ("S    Wed Foo 31 23:59:59 2025\n", None),
            ("S    Wed Dec 31 23:59 2025\n", None),
        ] {
            assert_eq!(read(text), seconds, "{text:?}");
        }
    }
}
