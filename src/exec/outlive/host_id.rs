//! Where process numbers mean something: on one machine, until it is switched off, in one namespace. A home may be shared by
//! containers and by machines, and a number from elsewhere is someone else's here.

use crate::exec::process::procfs;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::os::unix::fs::MetadataExt;

/// Names a place where processes are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HostId {
    /// The run of the system.
    pub(crate) boot: String,
    /// The machine through all of its runs, as a hash; empty where it has no name.
    #[serde(default)]
    pub(crate) machine: String,
    /// The process namespace; 0 where there are none.
    #[serde(default)]
    pub(crate) namespace: u64,
}

/// What numbers from another place are worth here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// They mean the same.
    Here,
    /// They are of this machine before it was started anew: nothing of it can run.
    Before,
    /// They say nothing of processes that can be seen here.
    Elsewhere,
}

impl HostId {
    /// Where this program runs.
    pub(crate) fn here() -> Self {
        let name = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
        let machine = match name.trim() {
            "" => String::new(),
            // The name itself should not be handed on.
            name => Sha256::digest(name).iter().take(8).map(|byte| format!("{byte:02x}")).collect(),
        };
        let namespace = std::fs::metadata("/proc/self/ns/pid").map_or(0, |about| about.ino());
        Self { boot: procfs::boot(), machine, namespace }
    }

    /// A short name of this run of this machine and its process namespace: numbers of processes mean the same where it is
    /// the same.
    pub(crate) fn short(&self) -> String {
        let all = format!("{} {} {}", self.boot, self.machine, self.namespace);
        Sha256::digest(all).iter().take(4).map(|byte| format!("{byte:02x}")).collect()
    }

    /// How it stands to another place.
    pub(crate) fn sees(&self, other: &Self) -> Seen {
        // Zero: written where namespaces were not told apart.
        let counted_alike = [0, self.namespace].contains(&other.namespace);
        if self.boot == other.boot {
            if counted_alike { Seen::Here } else { Seen::Elsewhere }
        } else if !other.machine.is_empty() && other.machine == self.machine {
            Seen::Before
        } else {
            // Without a name nothing says that it was this machine.
            Seen::Elsewhere
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(boot: &str, machine: &str, namespace: u64) -> HostId {
        HostId { boot: boot.into(), machine: machine.into(), namespace }
    }

    #[test]
    fn numbers_are_ours_only_in_the_same_run_and_namespace() {
        let here = place("b", "m", 7);
        for (other, want) in [
            (place("b", "m", 7), Seen::Here),
            (place("b", "", 0), Seen::Here),
            (place("b", "m", 8), Seen::Elsewhere),
            (place("b", "x", 8), Seen::Elsewhere),
            (place("c", "m", 7), Seen::Before),
            (place("c", "m", 8), Seen::Before),
            (place("c", "", 0), Seen::Elsewhere),
            (place("c", "x", 7), Seen::Elsewhere),
        ] {
            assert_eq!(here.sees(&other), want, "{other:?}");
        }
        let nameless = place("b", "", 7);
        assert_eq!(nameless.sees(&place("c", "", 7)), Seen::Elsewhere, "two containers are not one machine");
        assert_eq!(nameless.sees(&place("b", "", 7)), Seen::Here);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_place_is_known() {
        let here = HostId::here();
        assert!(!here.boot.is_empty() && here.namespace > 0, "{here:?}");
        assert_eq!(here.sees(&HostId::here()), Seen::Here);
    }
}
