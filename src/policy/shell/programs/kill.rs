//! `kill`: who would be killed.

use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::Known;

/// Programs that print numbers of processes.
const FINDERS: &[&str] = &["pgrep", "pidof", "ps", "lsof", "fuser"];

impl Walker<'_> {
    /// Whether an earlier command of the line looks for processes.
    fn finds_processes(&self) -> bool {
        let by_name = |word: &String| matches!(word.as_str(), "pgrep" | "pidof");
        self.invocations.iter().any(|invocation| invocation.plain.first().is_some_and(by_name))
    }

    pub(super) fn kill(&mut self, known: &Known<'_>) {
        let span = known.span();
        let mut targets = &known.argv[1..];
        let mut signal = String::new();
        if let Some(first) = targets.first().map(|f| f.text.as_str()) {
            let option = first.starts_with('-') && first != "--" && known.argv.len() > 2;
            if matches!(first, "-l" | "-L" | "--list" | "--table") {
                return;
            }
            if matches!(first, "-s" | "-n" | "--signal") {
                signal = targets.get(1).map_or_else(String::new, |f| f.text.clone());
                targets = targets.get(2..).unwrap_or_default();
            } else if option {
                signal = first.trim_start_matches("--signal=").trim_start_matches('-').to_owned();
                targets = &targets[1..];
            }
        }
        // The signal that only asks whether a process is there.
        if signal == "0" {
            return;
        }
        let hard = matches!(signal.trim_start_matches("SIG"), "9" | "KILL" | "kill");
        for target in targets {
            let at = target.span.clone();
            match target.text.parse::<i64>() {
                Ok(-1 | 1) => self.find("kill all processes", span.clone()),
                Ok(0) if hard => self.find("kill all processes", span.clone()),
                Ok(0) => self.find("kills its own shell", at.clone()),
                _ => {}
            }
            let typed = self.original.get(at.clone()).unwrap_or("");
            if ["$PPID", "${PPID}", "$$"].iter().any(|name| typed.contains(name)) {
                self.find("kills its own shell", at);
            }
            // `pgrep x | while read p; do kill $p; done`
            let found = !target.is_known() && target.via.is_empty() && self.finds_processes();
            if found || target.via.iter().any(|name| FINDERS.contains(&name.as_str())) {
                self.find("kill process via pgrep/pidof expansion (self-termination)", span.clone());
            }
        }
    }
}
