//! Who a process is: its program by the file that runs, which the kernel knows, not by the name that it gives itself.

#[cfg(target_os = "linux")]
use crate::text::visible::visible;
use std::path::Path;

/// Programs that are known to ask for passwords, by the first word of the names of their files.
const KNOWN: &[&str] = &["sudo", "sudoedit", "doas", "su", "ssh", "git", "scp", "sftp", "rsync"];
/// Where systems keep their programs. A file there is the system's when nobody but the superuser can change it.
#[cfg(target_os = "linux")]
const SYSTEM: &[&str] = &["/usr/", "/bin/", "/sbin/", "/lib/", "/opt/", "/nix/store/", "/run/wrappers/", "/snap/"];

/// The program of a process, as a person is shown it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Program {
    /// The name of its file; its own word where the file cannot be seen.
    pub(crate) name: String,
    /// Its file, where it can be seen.
    pub(crate) path: Option<String>,
    /// One of the programs that ask for passwords, as the system has it.
    pub(crate) known: bool,
}

impl Program {
    /// It has the name of one that asks for passwords, or calls itself so, and is another one.
    pub(crate) fn pretends(&self) -> bool {
        !self.known && is_known(&self.name)
    }
}

fn is_known(name: &str) -> bool {
    let is =
        |known: &&str| name.strip_prefix(*known).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']));
    KNOWN.iter().any(is)
}

/// The program of this process.
#[cfg(target_os = "linux")]
pub(crate) fn of(pid: u32) -> Program {
    let link = format!("/proc/{pid}/exe");
    match std::fs::read_link(&link) {
        Ok(path) => {
            let shown = path.to_string_lossy();
            let name = path.file_name().map(|name| name.to_string_lossy().trim_end_matches(" (deleted)").to_owned());
            let name = visible(&name.unwrap_or_default()).text;
            let known = is_known(&name) && is_of_the_system(&path, Path::new(&link));
            Program { name, path: Some(visible(&shown).text), known }
        }
        // The file of one with more rights than ours is not shown; its rights are.
        Err(_) => {
            let name = super::procfs::stat(pid).map(|stat| stat.name).unwrap_or_default();
            let known = is_known(&name) && users(pid).is_some_and(|users| users.effective == 0);
            Program { name: visible(&name).text, path: None, known }
        }
    }
}

/// Other systems do not tell.
#[cfg(not(target_os = "linux"))]
pub(crate) fn of(_: u32) -> Program {
    Program::default()
}

/// Whether this path is where systems keep programs, leads to the file `running`, and is the superuser's alone.
#[cfg(target_os = "linux")]
fn is_of_the_system(path: &Path, running: &Path) -> bool {
    let text = path.to_string_lossy();
    SYSTEM.iter().any(|folder| text.starts_with(folder)) && is_same_file(path, running) && is_guarded(path)
}

/// Whether both paths lead to the same file: what another mount namespace shows under the same name is another one.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let number = |path: &Path| std::fs::metadata(path).map(|meta| (meta.dev(), meta.ino())).ok();
    number(one).is_some_and(|one| Some(one) == number(other))
}

/// Whether nobody but the superuser can change this file or put another one in its place.
#[cfg(target_os = "linux")]
fn is_guarded(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    // In a folder with the sticky bit nobody moves what is the superuser's.
    let is_closed = |mode: u32| mode & 0o022 == 0 || mode & 0o1000 != 0;
    let of_root = |path: &Path, closed: &dyn Fn(u32) -> bool| {
        std::fs::metadata(path).is_ok_and(|meta| meta.uid() == 0 && closed(meta.mode()))
    };
    path.is_absolute()
        && of_root(path, &|mode| mode & 0o022 == 0)
        && path.ancestors().skip(1).all(|folder| of_root(folder, &is_closed))
}

/// Whether this process is the one true `sudo`: by its file, which is the superuser's and gives who runs it the rights of
/// the superuser. Where that file is not shown to us, it runs with rights that only such a file gives.
#[cfg(target_os = "linux")]
pub(crate) fn is_sudo(pid: u32) -> bool {
    use std::os::unix::fs::MetadataExt;
    let is_named = |name: &str| ["sudo", "sudo.ws", "sudo-rs"].contains(&name);
    let link = format!("/proc/{pid}/exe");
    match std::fs::read_link(&link) {
        Ok(path) => {
            let named = path.file_name().and_then(|name| name.to_str()).is_some_and(is_named);
            let set_user = std::fs::metadata(&link).is_ok_and(|meta| meta.uid() == 0 && meta.mode() & 0o4000 != 0);
            named && set_user && is_same_file(&path, Path::new(&link)) && is_guarded(&path)
        }
        Err(error) => {
            let ours = rustix::process::getuid().as_raw();
            error.kind() == std::io::ErrorKind::PermissionDenied
                && super::procfs::stat(pid).is_some_and(|stat| is_named(&stat.name))
                && users(pid)
                    .is_some_and(|users| users.effective == 0 && users.saved == 0 && [ours, 0].contains(&users.real))
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_sudo(_: u32) -> bool {
    false
}

/// Whose rights a process has.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Users {
    real: u32,
    effective: u32,
    saved: u32,
}

#[cfg(target_os = "linux")]
fn users(pid: u32) -> Option<Users> {
    parse_users(&std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

/// `Uid:` lists the real, effective, saved and file-system user.
#[cfg(target_os = "linux")]
fn parse_users(status: &str) -> Option<Users> {
    let mut numbers = status.lines().find_map(|line| line.strip_prefix("Uid:"))?.split_ascii_whitespace();
    let mut next = || numbers.next()?.parse().ok();
    Some(Users { real: next()?, effective: next()?, saved: next()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_whole_words() {
        for name in ["sudo", "sudo.ws", "sudo-rs", "su", "git", "git-remote-https", "ssh-keygen", "scp"] {
            assert!(is_known(name), "{name}");
        }
        for name in ["", "sudoku", "gitlab", "sshd", "sh", "sudoedit2", "xsudo", "super"] {
            assert!(!is_known(name), "{name}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn users_are_read() {
        let users = |real, effective, saved| Some(Users { real, effective, saved });
        assert_eq!(parse_users("Name:\tsudo\nUid:\t1000\t0\t0\t0\nGid:\t1 2 3 4\n"), users(1000, 0, 0));
        assert_eq!(parse_users("Name:\tsudo\nUid:\t1000\t1000\n"), None);
        assert_eq!(parse_users("Name:\tsudo\n"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_program_is_its_file_whatever_it_calls_itself() {
        let folder = tempfile::tempdir().unwrap();
        let sleep = ["/usr/bin/sleep", "/bin/sleep"].iter().map(Path::new).find(|path| path.is_file());
        let Some(sleep) = sleep.and_then(|path| path.canonicalize().ok()) else { return };
        let copy = folder.path().join("sudo");
        std::fs::copy(&sleep, &copy).unwrap();
        // A link gives the process the name of the link, and is the file that it leads to.
        let link = folder.path().join("git");
        std::os::unix::fs::symlink(&sleep, &link).unwrap();
        for (program, pretends) in [(&copy, true), (&link, false)] {
            let mut child = std::process::Command::new(program).arg("60").spawn().unwrap();
            let found = of(child.id());
            let sudo = is_sudo(child.id());
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!((found.known, found.pretends(), sudo), (false, pretends, false), "{found:?}");
            let path = if pretends { copy.canonicalize().unwrap() } else { sleep.clone() };
            assert_eq!(found.path, Some(path.display().to_string()));
        }
        // Nobody has this number.
        assert_eq!(of(u32::MAX), Program::default());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn only_what_the_superuser_alone_can_change_is_of_the_system() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sudo");
        std::fs::write(&file, "").unwrap();
        assert!(!is_of_the_system(&file, &file));
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o722)).unwrap();
        assert!(!is_guarded(&file) && !is_guarded(Path::new("sudo")));
        let shell = Path::new("/bin/sh");
        assert!(is_same_file(shell, &shell.canonicalize().unwrap()) && !is_same_file(shell, &file));
        assert!(!is_of_the_system(shell, &file));
    }
}
