//! `hermes files push` and `pull`: a file or a folder goes there or comes from there, as one stream of `tar`.

use super::files::{Files, Kind};
use super::remote::Remote;
use super::script::Script;
use super::{PlaceError, Terminal};
use crate::exec::bare;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Bytes of complaints that are kept: the last line is told.
const WORDS: usize = 4096;

/// What was moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    pub from: String,
    pub to: String,
}

fn failed(place: &Remote, what: &str, why: impl std::fmt::Display) -> PlaceError {
    PlaceError::Lost { place: place.label().to_owned(), why: format!("{what}: {why}") }
}

/// Connects two programs and waits for both; their complaints.
fn pipe(mut from: Command, mut to: Command) -> io::Result<Result<(), String>> {
    bare(&mut from);
    bare(&mut to);
    from.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut source = from.spawn()?;
    let stream = source.stdout.take().ok_or_else(|| io::Error::other("no output"))?;
    to.stdin(stream).stdout(Stdio::null()).stderr(Stdio::piped());
    // Read beside: one that complains of a thousand files would wait for a reader, and the other one for it.
    let complaints = source.stderr.take();
    let complaints = std::thread::spawn(move || complaints.map(last_words).unwrap_or_default());
    let target = to.spawn();
    // It holds the other end of the stream: the source must learn when nobody reads.
    drop(to);
    let taken = target.and_then(|mut target| {
        let words = target.stderr.take().map(last_words).unwrap_or_default();
        Ok((target.wait()?, words))
    });
    let sent = source.wait()?;
    let words = complaints.join().unwrap_or_default();
    let (taken, more) = taken?;
    if sent.success() && taken.success() {
        return Ok(Ok(()));
    }
    let words = [words, more].concat();
    let words = String::from_utf8_lossy(&words);
    Ok(Err(words.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it failed").to_owned()))
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
/// When it is not there, cannot be reached or written.
pub fn push(place: &Remote, from: &Path, to: &Path) -> Result<Moved, PlaceError> {
    place.ready()?;
    let source = from.canonicalize().map_err(|error| failed(place, &from.display().to_string(), error))?;
    let Some((folder, name)) = split(&source) else { return Err(failed(place, "/", "name a file or folder")) };
    let target = match place.about(to) {
        Ok(about) if about.kind == Kind::Folder => to.join(name),
        _ => to.to_owned(),
    };
    let Some((target_folder, target_name)) = split(&target) else {
        return Err(failed(place, &target.display().to_string(), "name a file or folder"));
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
    match pipe(pack, tar_there(place, script)) {
        Ok(Ok(())) => Ok(Moved { from: source.display().to_string(), to: target.display().to_string() }),
        Ok(Err(why)) => Err(failed(place, &target.display().to_string(), why)),
        Err(error) => Err(failed(place, "tar", error)),
    }
}

/// Brings a file or folder from there; into `to` when that is a folder here, else by that name.
///
/// # Errors
/// When it is not there, cannot be reached or written.
pub fn pull(place: &Remote, from: &Path, to: &Path) -> Result<Moved, PlaceError> {
    place.ready()?;
    let source = place.resolve(from);
    let shown = |path: &Path| path.display().to_string();
    place.about(&source).map_err(|error| failed(place, &shown(from), error))?;
    let Some((folder, name)) = split(&source) else { return Err(failed(place, "/", "name a file or folder")) };
    let target: PathBuf = if to.is_dir() { to.join(name) } else { to.to_owned() };
    let Some((target_folder, target_name)) = split(&target) else {
        return Err(failed(place, &shown(&target), "name a file or folder"));
    };
    std::fs::create_dir_all(target_folder).map_err(|error| failed(place, &shown(target_folder), error))?;
    let inside = tempfile::Builder::new().prefix(".hermes-").tempdir_in(target_folder);
    let inside = inside.map_err(|error| failed(place, &shown(target_folder), error))?;
    let mut unpack = Command::new("tar");
    // Names that lead out of the folder are not unpacked by tar itself; owners are this person's.
    unpack.arg("-C").arg(inside.path()).args(["--no-same-owner", "--no-same-permissions", "-xf", "-"]);
    let script = Script::new("tar -C ").word(folder).add(" -cf - -- ").word(name);
    match pipe(tar_there(place, script), unpack) {
        Ok(Ok(())) => {}
        Ok(Err(why)) => return Err(failed(place, &shown(&source), why)),
        Err(error) => return Err(failed(place, "tar", error)),
    }
    let target = target_folder.join(target_name);
    std::fs::rename(inside.path().join(name), &target).map_err(|error| {
        let why = format!("{error}; move what is there away first");
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
        let ended = pipe(shell(&format!("{many}; echo the last one >&2; exit 2")), shell("cat")).unwrap();
        assert_eq!(ended, Err("the last one".into()));
        assert_eq!(pipe(shell("echo x"), shell(&format!("cat; {many}"))).unwrap(), Ok(()));
    }

    #[test]
    fn a_target_that_cannot_start_ends_the_source() {
        assert!(pipe(shell("exec cat /dev/zero"), Command::new("/no/such/program")).is_err());
    }
}
