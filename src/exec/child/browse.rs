//! Opens an address in the user's browser: a program that outlives this one and never gets its terminal.

use crate::exec::process::spawn::lead_session;
use std::process::Stdio;
use tokio::process::Command;

/// Opens it. `false`: it is no address of the web (a server chose it, and other kinds start other programs), or there is
/// nothing to open it with; the person follows the address by hand. Must be called inside the runtime.
pub fn browse(address: &str) -> bool {
    if !address.starts_with("https://") && !address.starts_with("http://") {
        return false;
    }
    let mut opener = Command::new(if cfg!(target_os = "macos") { "open" } else { "xdg-open" });
    opener.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Without a desktop it tries browsers of the terminal: they must not find ours.
    lead_session(opener.as_std_mut(), None);
    opener.spawn().is_ok()
}
