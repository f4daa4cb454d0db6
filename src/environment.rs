//! The environment that this program was started with: the one place that holds the secrets of it.
//!
//! A variable of a process can be read by others of the same user (`/proc/PID/environ`), and each child inherits it. So the
//! secrets are taken out when the program starts, before anything else runs, and whoever needs the whole environment asks here.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
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
    for name in secrets.keys() {
        // SAFETY: the caller's word that no other thread runs. The block is overwritten while the environment still points
        // into it.
        unsafe {
            overwrite(name);
            std::env::remove_var(name);
        }
    }
    // A second call takes nothing: what it would take is gone already.
    let _ = TAKEN.set(secrets);
}

/// All variables: those that were taken out, and those that stand in the environment.
pub fn all() -> impl Iterator<Item = (OsString, OsString)> {
    let taken = TAKEN.get().into_iter().flatten().map(|(name, value)| (name.clone(), value.clone()));
    taken.chain(std::env::vars_os())
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
    if let Err(error) = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable) {
        // There is no log yet.
        let _ = error;
    }
}

/// Overwrites the value where the kernel put it when the program was started: `/proc/PID/environ` shows that memory, whatever
/// the environment points to later.
///
/// # Safety
/// No other thread may run.
#[cfg(target_os = "linux")]
unsafe fn overwrite(name: &OsStr) {
    use std::os::unix::ffi::OsStrExt;
    let name = name.as_bytes();
    // SAFETY: `environ` is a list of texts that end with NUL and ends with a null pointer; nobody else changes it, by the
    // caller's word. The texts are in memory that a process may write, and only bytes before their NUL are written.
    unsafe {
        let mut entry = libc_environ();
        while !entry.is_null() && !(*entry).is_null() {
            let text = *entry;
            let length = libc::strlen(text);
            let bytes = std::slice::from_raw_parts_mut(text.cast::<u8>(), length);
            if bytes.len() > name.len() && bytes.starts_with(name) && bytes[name.len()] == b'=' {
                // Volatile: nothing reads it any more, and a plain write could be left out.
                bytes[name.len() + 1..].iter_mut().for_each(|byte| std::ptr::write_volatile(byte, 0));
            }
            entry = entry.add(1);
        }
    }
}

/// Where the C library keeps the list of variables.
///
/// # Safety
/// No other thread may change the environment.
#[cfg(target_os = "linux")]
unsafe fn libc_environ() -> *mut *mut libc::c_char {
    unsafe extern "C" {
        static mut environ: *mut *mut libc::c_char;
    }
    // SAFETY: the C library defines it; it is only read here.
    unsafe { environ }
}

/// Nothing is known here of where the system shows it.
///
/// # Safety
/// None.
#[cfg(not(target_os = "linux"))]
unsafe fn overwrite(_: &OsStr) {}
