//! The environment this program was started with, and the one place that keeps its secrets.
//!
//! Other processes of the same user can read a process's variables (`/proc/PID/environ`), and every child inherits them. So
//! startup takes the secrets out before anything else runs; code that needs the whole environment asks here.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::OnceLock;

/// Set once, before there is a second thread; never changed.
static TAKEN: OnceLock<BTreeMap<OsString, OsString>> = OnceLock::new();

/// Closes this process to others of the same user, and takes the variables that `is_secret` names out of its environment.
/// What is taken is still among [`all`].
///
/// # Safety
/// No other thread may run yet: the environment has no lock that holds for libraries.
pub unsafe fn seal(is_secret: impl Fn(&OsStr) -> bool) {
    close();
    let secrets: BTreeMap<_, _> = std::env::vars_os().filter(|(name, _)| is_secret(name)).collect();
    // SAFETY: the caller's word that no other thread runs. All is overwritten while the environment still points there.
    unsafe {
        overwrite(&secrets);
        secrets.keys().for_each(|name| std::env::remove_var(name));
    }
    // A second call takes nothing: what it would take is gone already.
    let _ = TAKEN.set(secrets);
}

/// All variables: those that were taken out, and those that stand in the environment.
pub fn all() -> impl Iterator<Item = (OsString, OsString)> {
    let taken = TAKEN.get().into_iter().flatten().map(|(name, value)| (name.clone(), value.clone()));
    taken.chain(std::env::vars_os())
}

/// The user's home folder.
pub fn user_home() -> Option<PathBuf> {
    directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_path_buf())
}

/// One variable, wherever it stands.
pub fn get(name: impl AsRef<OsStr>) -> Option<OsString> {
    let taken = TAKEN.get().and_then(|taken| taken.get(name.as_ref()).cloned());
    taken.or_else(|| std::env::var_os(name))
}

/// No debugger of the same user attaches, nothing reads our memory or environment through `/proc`, and no image of the memory
/// is left when the program breaks. Children are as usual again once they run a program of theirs.
fn close() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // It cannot fail with this value, and there is no log yet.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

/// Overwrites the values where the kernel put them when the program was started: `/proc/PID/environ` shows that memory,
/// whatever the environment points to later.
///
/// # Safety
/// No other thread may run, and the environment may not have been changed.
#[cfg(target_os = "linux")]
unsafe fn overwrite(secrets: &BTreeMap<OsString, OsString>) {
    use std::os::unix::ffi::OsStrExt;
    unsafe extern "C" {
        /// Where the C library keeps the list of variables.
        static environ: *const *mut libc::c_char;
    }
    // SAFETY: `environ` is a list of texts that end with NUL, with a null pointer at its end; nobody changes it meanwhile, by
    // the caller's word. The texts are in memory that a process may write, and only bytes before their NUL are written.
    unsafe {
        let mut entry = environ;
        while !entry.is_null() && !(*entry).is_null() {
            let bytes = std::slice::from_raw_parts_mut((*entry).cast::<u8>(), libc::strlen(*entry));
            let name = bytes.iter().position(|byte| *byte == b'=').unwrap_or(bytes.len());
            if secrets.contains_key(OsStr::from_bytes(&bytes[..name])) {
                // Volatile: nothing reads them any more, and a plain write could be left out.
                bytes[name..].iter_mut().skip(1).for_each(|byte| std::ptr::write_volatile(byte, 0));
            }
            entry = entry.add(1);
        }
    }
}

/// Nothing is known here of where the system shows them.
///
/// # Safety
/// None.
#[cfg(not(target_os = "linux"))]
unsafe fn overwrite(_: &BTreeMap<OsString, OsString>) {}
