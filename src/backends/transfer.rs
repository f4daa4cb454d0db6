//! `hermes files push` and `pull`: a file or a folder goes there or comes from there, as one stream of `tar`.

use super::files::{Files, Kind};
use super::remote::Remote;
use super::script::Script;
use super::{PlaceError, Terminal};
use crate::exec::bare;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Bytes of complaints that are kept: the last line is told.
const WORDS: usize = 4096;

/// How long it is waited between two looks at programs that move something.
const LOOK: Duration = Duration::from_millis(20);

/// What was moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    pub from: String,
    pub to: String,
}

fn failed(place: &Remote, what: &str, why: impl std::fmt::Display) -> PlaceError {
    PlaceError::RemoteLost { place: place.label().to_owned(), why: format!("{what}: {why}") }
}

/// Connects two programs and waits for both; their complaints. Both are ended when `stop` says so.
fn pipe(mut from: Command, mut to: Command, stop: &CancellationToken) -> io::Result<Result<(), String>> {
    bare(&mut from);
    bare(&mut to);
    from.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut source = from.spawn()?;
    let stream = source.stdout.take().ok_or_else(|| io::Error::other("no output"))?;
    to.stdin(stream).stdout(Stdio::null()).stderr(Stdio::piped());
    let target = to.spawn();
    // It holds the other end of the stream: the source must learn when nobody reads.
    drop(to);
    // Read beside: one that complains of a thousand files would wait for a reader, and the other one for it.
    let mut all = vec![source];
    let started = target.map(|target| all.push(target));
    let streams: Vec<_> = all.iter_mut().filter_map(|program| program.stderr.take()).collect();
    let heard: Vec<_> = streams.into_iter().map(|stream| std::thread::spawn(move || last_words(stream))).collect();
    let ended = wait(&mut all, stop);
    let words = heard.into_iter().flat_map(|words| words.join().unwrap_or_default()).collect::<Vec<u8>>();
    started?;
    if ended? {
        return Ok(Ok(()));
    }
    let words = String::from_utf8_lossy(&words);
    let last = words.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it failed");
    Ok(Err(if stop.is_cancelled() { "interrupted: nothing was copied".to_owned() } else { last.to_owned() }))
}

/// Waits for all of them; whether each succeeded.
fn wait(all: &mut [Child], stop: &CancellationToken) -> io::Result<bool> {
    let mut good = true;
    for at in 0..all.len() {
        let status = loop {
            if stop.is_cancelled() {
                // One that has ended is no error.
                let _ended: Vec<_> = all.iter_mut().map(Child::kill).collect();
            }
            if let Some(status) = all[at].try_wait()? {
                break status;
            }
            std::thread::sleep(LOOK);
        };
        good &= status.success();
    }
    Ok(good)
}

/// Reads to the end and keeps the last of it.
fn last_words(mut stream: impl Read) -> Vec<u8> {
    let (mut kept, mut part) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = stream.read(&mut part) {
        kept.extend_from_slice(&part[..count]);
        kept.drain(..kept.len().saturating_sub(WORDS));
    }
    kept
}

fn split(path: &Path) -> Option<(&Path, &std::ffi::OsStr)> {
    Some((path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")), path.file_name()?))
}

/// Runs `tar` there: it packs or unpacks through the client's pipes.
fn tar_there(place: &Remote, script: Script) -> Command {
    place.backend().client(&["sh", "-c", &String::from_utf8_lossy(&script.0)], Terminal::None)
}

/// Sends a file or folder of this machine; into `to` when that is a folder there, else by that name.
///
/// # Errors
/// When it is not there, cannot be reached or written, or `stop` says so.
pub fn push(place: &Remote, from: &Path, to: &Path, stop: &CancellationToken) -> Result<Moved, PlaceError> {
    place.ready()?;
    let source = from.canonicalize().map_err(|error| failed(place, &from.display().to_string(), error))?;
    let Some((folder, name)) = split(&source) else { return Err(failed(place, "/", "give a file or folder")) };
    let target = match place.about(to) {
        Ok(about) if about.kind == Kind::Folder => to.join(name),
        _ => to.to_owned(),
    };
    let Some((target_folder, target_name)) = split(&target) else {
        return Err(failed(place, &target.display().to_string(), "give a file or folder"));
    };
    let mut pack = Command::new("tar");
    pack.arg("-C").arg(folder).arg("-cf").arg("-").arg("--").arg(name);
    // Unpacked beside it and moved: nobody there sees half a file.
    let script = Script::new("umask 022; ")
        .set("d", target_folder)
        .add("mkdir -p -- \"$d\" && t=$(mktemp -d \"$d/.hermes-XXXXXX\") || exit 1\ntar -C \"$t\" -xf - || { rm -rf -- \"$t\"; exit 1; }\n")
        .add("if [ -d \"$t\"/")
        .word(name)
        .add(" ] && [ -d \"$d\"/")
        .word(target_name)
        .add(" ]; then cp -R -- \"$t\"/")
        .word(name)
        .add("/. \"$d\"/")
        .word(target_name)
        .add("/; else mv -f -- \"$t\"/")
        .word(name)
        .add(" \"$d\"/")
        .word(target_name)
        .add("; fi; c=$?; rm -rf -- \"$t\"; exit $c");
    match pipe(pack, tar_there(place, script), stop) {
        Ok(Ok(())) => Ok(Moved { from: source.display().to_string(), to: target.display().to_string() }),
        Ok(Err(why)) => Err(failed(place, &target.display().to_string(), why)),
        Err(error) => Err(failed(place, "tar", error)),
    }
}

/// Brings a file or folder from there; into `to` when that is a folder here, else by that name.
///
/// # Errors
/// When it is not there, cannot be reached or written, or `stop` says so.
pub fn pull(place: &Remote, from: &Path, to: &Path, stop: &CancellationToken) -> Result<Moved, PlaceError> {
    place.ready()?;
    let source = place.resolve(from);
    let shown = |path: &Path| path.display().to_string();
    place.about(&source).map_err(|error| failed(place, &shown(from), error))?;
    let Some((folder, name)) = split(&source) else { return Err(failed(place, "/", "give a file or folder")) };
    let target: PathBuf = if to.is_dir() { to.join(name) } else { to.to_owned() };
    let Some((target_folder, target_name)) = split(&target) else {
        return Err(failed(place, &shown(&target), "give a file or folder"));
    };
    std::fs::create_dir_all(target_folder).map_err(|error| failed(place, &shown(target_folder), error))?;
    let inside = tempfile::Builder::new().prefix(".hermes-").tempdir_in(target_folder);
    let inside = inside.map_err(|error| failed(place, &shown(target_folder), error))?;
    let mut unpack = Command::new("tar");
    // Names that lead out of the folder are not unpacked by tar itself; owners are this person's.
    unpack.arg("-C").arg(inside.path()).args(["--no-same-owner", "--no-same-permissions", "-xf", "-"]);
    let script = Script::new("tar -C ").word(folder).add(" -cf - -- ").word(name);
    match pipe(tar_there(place, script), unpack, stop) {
        Ok(Ok(())) => {}
        Ok(Err(why)) => return Err(failed(place, &shown(&source), why)),
        Err(error) => return Err(failed(place, "tar", error)),
    }
    let target = target_folder.join(target_name);
    std::fs::rename(inside.path().join(name), &target).map_err(|error| {
        let why = format!("{error}; move the existing one away first");
        failed(place, &shown(&target), why)
    })?;
    Ok(Moved { from: shown(&source), to: shown(&target) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(line: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        command
    }

    #[test]
    fn one_that_complains_much_does_not_stop_the_other() {
        let many =
            "i=0; while [ $i -lt 5000 ]; do echo 'tar: a name of some length: Permission denied' >&2; i=$((i+1)); done";
        let ended =
            pipe(shell(&format!("{many}; echo the last one >&2; exit 2")), shell("cat"), &CancellationToken::new())
                .unwrap();
        assert_eq!(ended, Err("the last one".into()));
        assert_eq!(pipe(shell("echo x"), shell(&format!("cat; {many}")), &CancellationToken::new()).unwrap(), Ok(()));
    }

    #[test]
    fn a_target_that_cannot_start_ends_the_source() {
        assert!(
            pipe(shell("exec cat /dev/zero"), Command::new("/no/such/program"), &CancellationToken::new()).is_err()
        );
    }

    #[test]
    fn both_end_when_somebody_stops_it() {
        let stop = CancellationToken::new();
        std::thread::scope(|scope| {
            let moved = scope.spawn(|| pipe(shell("exec cat /dev/zero"), shell("exec cat"), &stop).unwrap());
            stop.cancel();
            assert_eq!(moved.join().unwrap(), Err("interrupted: nothing was copied".into()));
        });
    }
}
