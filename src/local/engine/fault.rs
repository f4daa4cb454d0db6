//! Why the engine ended, by what it printed and how it ended, and what to do. Pure.

use super::launch::Plan;
use crate::exec::DaemonEnd;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

/// The signals of an instruction that the processor lacks, and of the lack of memory.
const ILLEGAL: i32 = 4;
const KILLED: i32 = 9;

/// Why it does not serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    Memory,
    /// Somebody ended it by force; most often the system, which lacked memory.
    Killed,
    /// The program uses instructions that this processor does not have.
    Instruction,
    /// It is too old for this kind of model.
    Architecture(String),
    /// The file is damaged.
    Damaged,
    /// The port is another's.
    Port,
    /// It does not know an argument: it is too old.
    Argument(String),
    /// A library that it needs is not there.
    Library(String),
    /// It loads and loads.
    Hangs(Duration),
    /// Its last line.
    Other(String),
}

/// Bytes of the log that are looked at.
const TAIL: u64 = 16 << 10;

/// Why an engine ended, by the end of its log. Blocks for a small read.
pub fn of_log(log: &Path, ended: Option<DaemonEnd>) -> Fault {
    let mut text = Vec::new();
    let read = File::open(log).and_then(|mut file| {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        file.take(TAIL).read_to_end(&mut text)
    });
    if let Err(error) = read {
        tracing::debug!("{}: {error}", log.display());
    }
    of(&String::from_utf8_lossy(&text), ended)
}

/// What it printed last, and how it ended where that is known.
pub fn of(log: &str, ended: Option<DaemonEnd>) -> Fault {
    let has = |words: &[&str]| words.iter().any(|word| log.contains(word));
    let line_with = |word: &str| log.lines().find(|line| line.contains(word)).map(str::trim);
    if ended == Some(DaemonEnd::Signal(ILLEGAL)) || has(&["Illegal instruction"]) {
        return Fault::Instruction;
    }
    if let Some(line) = line_with("unknown model architecture") {
        let kind = line.split('\'').nth(1).unwrap_or_default();
        return Fault::Architecture(kind.to_owned());
    }
    if has(&["couldn't bind", "Address already in use", "exiting due to HTTP server error"]) {
        return Fault::Port;
    }
    let memory = [
        "insufficient memory",
        "failed to allocate buffer",
        "failed to allocate CPU",
        "failed to allocate compute",
        "unable to allocate",
        "out of memory",
        "Device memory allocation",
        "std::bad_alloc",
        "MemoryError",
        "Cannot allocate memory",
    ];
    if has(&memory) {
        return Fault::Memory;
    }
    if ended == Some(DaemonEnd::Signal(KILLED)) {
        return Fault::Killed;
    }
    if has(&["corrupted or incomplete", "invalid magic", "not within the file bounds", "failed to read magic"]) {
        return Fault::Damaged;
    }
    for word in ["invalid argument", "unrecognized argument", "unknown argument"] {
        if let Some(line) = line_with(word) {
            return Fault::Argument(line.chars().take(120).collect());
        }
    }
    for word in ["error while loading shared libraries", "ImportError", "GLIBC", "ModuleNotFoundError"] {
        if let Some(line) = line_with(word) {
            return Fault::Library(line.chars().take(200).collect());
        }
    }
    let last = log.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it printed nothing");
    Fault::Other(last.chars().take(200).collect())
}

/// What to do where memory is short: the smaller model to take, where there is one.
pub fn smaller(plan: &Plan) -> String {
    match &plan.smaller {
        Some((name, title)) => {
            format!(". Close other programs, or take the smaller {title}: `hermes models get {name}`")
        }
        None => ". Close other programs, or lower models.context".into(),
    }
}

impl Fault {
    /// Whether another port may do.
    pub fn is_port(&self) -> bool {
        *self == Self::Port
    }

    /// Whether a new try may succeed.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Other(_) | Self::Port | Self::Hangs(_) | Self::Killed)
    }

    /// For the person: what happened and what to do.
    pub fn words(&self, plan: &Plan, log: &Path) -> String {
        let name = &plan.title;
        let log = log.display();
        match self {
            Self::Memory => format!(
                "{name} does not fit into memory (it takes about {}){}",
                crate::local::fetch::size(plan.memory),
                smaller(plan)
            ),
            Self::Killed => format!(
                "the engine of {name} was killed (signal 9). The system does that when memory runs out: {name} takes about {}{}",
                crate::local::fetch::size(plan.memory),
                smaller(plan)
            ),
            Self::Instruction => format!(
                "the engine uses instructions that this processor does not have: build llama.cpp here, or install your system's package, and set models.engine to its llama-server (log: {log})"
            ),
            Self::Architecture(kind) => format!(
                "the engine is too old for {name} ({kind}): update llama.cpp, or set models.engine to a newer llama-server"
            ),
            Self::Damaged => format!(
                "the file of {name} is damaged: `hermes models remove {0}`, then `hermes models get {0}`",
                plan.name
            ),
            Self::Port => format!("{name} found no free port on this computer (log: {log})"),
            Self::Argument(line) => {
                format!("the engine does not know an argument ({line}): update llama.cpp, or set models.engine")
            }
            Self::Library(line) => format!(
                "the engine does not start: {line}. Install llama.cpp from your system's packages, or set models.engine (log: {log})"
            ),
            Self::Hangs(time) => format!(
                "{name} was still loading after {} s, so it was ended. Try again, or take a smaller model (log: {log})",
                time.as_secs()
            ),
            Self::Other(line) => format!("the engine of {name} ended: {line} (log: {log})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_printed_says_why_it_ended() {
        let table = [
            ("ggml_aligned_malloc: insufficient memory (attempted to allocate 9 MB)", None, Fault::Memory),
            ("x\nerror loading model: unable to allocate CPU buffer\nexiting", None, Fault::Memory),
            ("", Some(DaemonEnd::Signal(9)), Fault::Killed),
            ("loading model\n", Some(DaemonEnd::Signal(4)), Fault::Instruction),
            (
                "error loading model: unknown model architecture: 'qwen9'",
                Some(DaemonEnd::Code(1)),
                Fault::Architecture("qwen9".into()),
            ),
            ("couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 80", None, Fault::Port),
            ("tensor 'x' data is not within the file bounds, model is corrupted or incomplete", None, Fault::Damaged),
            (
                "error: invalid argument: --no-webui",
                None,
                Fault::Argument("error: invalid argument: --no-webui".into()),
            ),
            (
                "ImportError: /lib/libc.so.6: version `GLIBC_2.99' not found",
                None,
                Fault::Library("ImportError: /lib/libc.so.6: version `GLIBC_2.99' not found".into()),
            ),
            ("one\ntwo\n\n", Some(DaemonEnd::Code(1)), Fault::Other("two".into())),
            ("", None, Fault::Other("it printed nothing".into())),
        ];
        for (log, ended, fault) in table {
            assert_eq!(of(log, ended), fault, "{log}");
        }
    }

    #[test]
    fn every_fault_says_what_to_do() {
        let plan = Plan {
            name: "big".into(),
            title: "Big 9B".into(),
            smaller: Some(("small".into(), "Small 4B".into())),
            memory: 4 << 30,
            ..Plan::default()
        };
        let log = Path::new("/h/logs/model.log");
        let said = Fault::Memory.words(&plan, log);
        assert!(said.contains("Big 9B does not fit") && said.contains("hermes models get small"), "{said}");
        assert!(Fault::Instruction.words(&plan, log).contains("models.engine"));
        assert!(Fault::Damaged.words(&plan, log).contains("hermes models remove big"));
        assert!(Fault::Other("boom".into()).words(&plan, log).contains("/h/logs/model.log"));
    }
}
