//! The other side: finding windows, and asking one.

use crate::config::Paths;
use crate::protocol::{VERSION, WindowAnswer, WindowCall, WindowReply, WindowRequest};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of a reply.
const MAX_REPLY_BYTES: u64 = 16 * 1024 * 1024;
/// Bytes that the address of a socket may have on every system.
const ADDRESS: usize = 100;

/// The socket of a process of this machine. A home may be shared by machines and containers: numbers count where the name
/// of the host is the same.
pub(super) fn socket_of(paths: &Paths, pid: u32) -> PathBuf {
    paths.run().join(format!("{pid}.{}.sock", crate::exec::host_name()))
}

/// The sockets of the other processes of this home on this machine, with their numbers. Blocks.
pub fn windows(paths: &Paths) -> Vec<(u32, PathBuf)> {
    let ours = format!(".{}.sock", crate::exec::host_name());
    let entries = std::fs::read_dir(paths.run()).into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let path = entry.path();
            let pid = path.file_name()?.to_str()?.strip_suffix(&ours)?.parse().ok()?;
            (pid != std::process::id()).then_some((pid, path))
        })
        .collect();
    found.sort_unstable();
    found
}

/// The numbers of the other processes of this home on this machine that listen: somebody works in it. Blocks.
pub fn listening(paths: &Paths) -> Vec<u32> {
    let there = windows(paths).into_iter().filter(|(_, socket)| match connect(paths, socket) {
        Ok(_) => true,
        // One that is busy is there, too.
        Err(error) => !matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound),
    });
    there.map(|(pid, _)| pid).collect()
}

/// Asks a window; `None` for `wait` waits as long as it takes. A socket that nobody listens on is removed. Blocks.
///
/// # Errors
/// When nobody listens there, or the reply can't be read.
pub fn call(paths: &Paths, socket: &Path, request: WindowRequest, wait: Option<Duration>) -> io::Result<WindowReply> {
    let mut stream = connect(paths, socket)?;
    stream.set_read_timeout(wait)?;
    let mut line = serde_json::to_vec(&WindowCall { version: VERSION, request }).map_err(io::Error::other)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut reply = String::new();
    BufReader::new(stream.take(MAX_REPLY_BYTES)).read_line(&mut reply)?;
    let answer: WindowAnswer = serde_json::from_str(&reply).map_err(io::Error::other)?;
    Ok(answer.reply)
}

fn connect(paths: &Paths, socket: &Path) -> io::Result<UnixStream> {
    let stream = with_short(socket, |short| UnixStream::connect(short));
    stream.inspect_err(|error| {
        // Of a process that was killed.
        if error.kind() == io::ErrorKind::ConnectionRefused {
            super::remove_socket(&paths.home, socket);
        }
    })
}

/// Works with a path that the address of a socket has room for: a home may lie deep.
pub(super) fn with_short<T>(socket: &Path, work: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let (Some(folder), Some(name)) = (socket.parent(), socket.file_name()) else { return work(socket) };
    if socket.as_os_str().len() <= ADDRESS || !cfg!(target_os = "linux") {
        return work(socket);
    }
    let folder = std::fs::File::open(folder)?;
    let number = std::os::fd::AsRawFd::as_raw_fd(&folder);
    work(&Path::new(&format!("/proc/self/fd/{number}")).join(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_deep_home_has_a_socket_too_and_a_dead_one_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let deep = home.path().join("d".repeat(60)).join("e".repeat(60));
        let paths = Paths::at(&deep);
        std::fs::create_dir_all(paths.run()).unwrap();
        let socket = socket_of(&paths, 77);
        let listener = with_short(&socket, |short| UnixListener::bind(short)).unwrap();
        assert_eq!(windows(&paths), [(77, socket.clone())]);
        assert_eq!(listening(&paths), [77]);
        drop(listener);
        assert!(call(&paths, &socket, WindowRequest::List, None).is_err());
        assert_eq!(windows(&paths), []);
    }
}
