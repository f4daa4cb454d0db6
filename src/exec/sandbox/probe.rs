//! What the system can do, found out by trying: files that say so may be missing or wrong.

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Support {
    /// Version of Landlock's interface; 0: there is none.
    pub landlock: i32,
    /// A mount namespace with read-only mounts; why not, otherwise.
    pub mounts: Result<(), String>,
    pub seccomp: bool,
}

/// Tries it in a child. Blocks for some milliseconds.
pub fn probe() -> Support {
    #[cfg(target_os = "linux")]
    {
        Support {
            landlock: super::kernel::landlock_version(),
            mounts: super::kernel::try_mounts(),
            seccomp: super::filter::has_seccomp(),
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        Support { landlock: 0, mounts: Err("not a Linux system".into()), seccomp: false }
    }
}
