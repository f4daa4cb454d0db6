//! What people install: each package is made from the program of the tests and tried as a person would.

use crate::harness::{binary, has, skipped};
use sha2::{Digest as _, Sha256};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs it to its end; panics with what it said when it fails.
fn run(command: &mut Command) -> String {
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{command:?}: {}\n{}\n{}", ran.status, text(&ran.stdout), text(&ran.stderr));
    text(&ran.stdout)
}

fn version(program: impl AsRef<Path>) -> String {
    run(Command::new(program.as_ref()).arg("--version"))
}

/// A folder with one package of the program in it.
struct Packed {
    temp: tempfile::TempDir,
}

impl Packed {
    /// None where a tool is missing, and the test is said to be skipped.
    fn make(test: &str, kind: &str, tools: &[&str]) -> Option<Self> {
        if !["python3", "cargo", "readelf", "strip"].iter().chain(tools).all(|tool| has(test, tool)) {
            return None;
        }
        let temp = tempfile::tempdir().unwrap();
        let packed = Self { temp };
        // The names of a debug build are most of it.
        run(Command::new("strip").arg("-o").arg(packed.path("stripped")).arg(binary()));
        let mut package = packed.command("python3");
        package.arg(root().join("assets/dist/package")).arg(packed.path("stripped"));
        package.args(["--fast", "--only", kind, "--to"]).arg(packed.path("packages"));
        let said = run(&mut package);
        assert!(said.contains(version(binary()).trim()), "{said}");
        Some(packed)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    /// A program that leaves nothing outside of this folder.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.temp.path())
            .env("npm_config_cache", self.path("npm"))
            .env("PIP_CONFIG_FILE", "/dev/null");
        command.env("PIP_DISABLE_PIP_VERSION_CHECK", "1").env("npm_config_update_notifier", "false");
        command
    }

    /// The one package whose name ends like this.
    fn package(&self, ending: &str) -> PathBuf {
        let found = std::fs::read_dir(self.path("packages")).unwrap().map(|entry| entry.unwrap().path());
        found.into_iter().find(|path| path.to_str().unwrap().ends_with(ending)).unwrap()
    }
}

#[test]
fn version_names_commit_and_build() {
    let said = version(binary());
    let parts = regex::Regex::new(
        r"^hermes \S+ \(commit (?:unknown, built from sources without git|([0-9a-f]{12})), \w+ build for \S+\)\n$",
    );
    let found = parts.unwrap().captures(&said).unwrap_or_else(|| panic!("{said:?}"));
    if let Some(commit) = found.get(1).filter(|_| root().join(".git").exists()) {
        let object = format!("{}^{{commit}}", commit.as_str());
        let known = Command::new("git").arg("-C").arg(root()).args(["cat-file", "-e", &object]).status();
        assert!(known.is_err() || known.unwrap().success(), "{said}");
    }
}

#[test]
fn the_build_script_works_with_git_and_without() {
    let test = "the_build_script_works_with_git_and_without";
    if !has(test, "rustc") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let (sources, out) = (temp.path().join("sources"), temp.path().join("target/dist/build/hermes-1/out"));
    std::fs::create_dir_all(&sources).unwrap();
    std::fs::create_dir_all(&out).unwrap();
    let script = temp.path().join("script");
    run(Command::new("rustc").args(["--edition", "2024", "-o"]).arg(&script).arg(root().join("assets/dist/build.rs")));
    let said = || {
        let mut command = Command::new(&script);
        command
            .env("CARGO_MANIFEST_DIR", &sources)
            .env("OUT_DIR", &out)
            .env("TARGET", "a-target")
            .env("PROFILE", "release");
        run(&mut command)
    };

    let without = said();
    assert!(
        without.contains("HERMES_BUILD_PROFILE=dist\n") && without.contains("HERMES_TARGET=a-target\n"),
        "{without}"
    );
    assert!(without.contains(&format!("HERMES_REFLOG={}/no-reflog\n", out.display())), "{without}");
    assert_eq!(std::fs::read(out.join("no-reflog")).unwrap(), b"");

    // A repository, and a further worktree of one: what each commit touches is read, and not watched.
    let git = sources.join(".git");
    std::fs::create_dir_all(git.join("logs")).unwrap();
    std::fs::write(git.join("logs/HEAD"), "").unwrap();
    std::fs::write(git.join("config"), "").unwrap();
    let with = said();
    assert!(with.contains(&format!("HERMES_REFLOG={}\n", git.join("logs/HEAD").display())), "{with}");
    std::fs::rename(&git, temp.path().join("main")).unwrap();
    std::fs::write(&git, "gitdir: ../main\n").unwrap();
    let linked = said();
    assert!(linked.contains("/main/logs/HEAD\n"), "{linked}");
    for text in [with, linked] {
        let watched: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix("cargo::rerun-if-changed=")).collect();
        assert!(
            watched[0] == "assets/dist/build.rs" && watched[1].ends_with("/config") && watched.len() == 2,
            "{text}"
        );
    }
}

#[test]
fn a_debian_package() {
    let Some(packed) = Packed::make("a_debian_package", "deb", &["dpkg-deb"]) else { return };
    let package = packed.package(".deb");
    run(Command::new("dpkg-deb").arg("-x").arg(&package).arg(packed.path("root")));
    assert_eq!(version(packed.path("root/usr/bin/hermes")), version(binary()));
    assert!(packed.path("root/usr/share/doc/hermes/copyright").is_file());
    assert!(packed.path("root/usr/share/bash-completion/completions/hermes").is_file());
    let about = run(Command::new("dpkg-deb").arg("-f").arg(&package));
    assert!(about.contains(&format!("Version: {}\n", env!("CARGO_PKG_VERSION"))), "{about}");
    assert!(about.contains("Package: hermes\n") && about.contains("Recommends: ca-certificates, git\n"), "{about}");
}

#[test]
fn a_wheel() {
    let test = "a_wheel";
    let Some(packed) = Packed::make(test, "wheel", &[]) else { return };
    if !packed.command("python3").args(["-m", "pip", "--version"]).output().is_ok_and(|ran| ran.status.success()) {
        return skipped(test, "pip is not installed");
    }
    let mut pip = packed.command("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-cache-dir", "--target"]);
    run(pip.arg(packed.path("installed")).arg(packed.package(".whl")));
    assert_eq!(version(packed.path("installed/bin/hermes")), version(binary()));
}

#[test]
fn a_package_of_npm() {
    let Some(packed) = Packed::make("a_package_of_npm", "npm", &["npm", "node"]) else { return };
    let mut npm = packed.command("npm");
    npm.args(["install", "--offline", "--no-audit", "--no-fund", "--silent", "--prefix"]);
    run(npm.arg(packed.path("installed")).arg(packed.package(".tgz")));
    assert_eq!(version(packed.path("installed/node_modules/.bin/hermes")), version(binary()));
}

/// Runs `install.sh` with these words, into a folder.
fn install(archive: &str, sum: &str, to: &Path) -> Output {
    Command::new("sh").arg(root().join("assets/dist/install.sh")).args([archive, sum, "--to"]).arg(to).output().unwrap()
}

/// Serves one file under any name for as long as the test runs; the address.
fn serve(file: &Path) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let body = std::fs::read(file).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
                request.push(byte[0]);
            }
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    address
}

#[test]
fn an_archive_is_installed_when_it_is_the_one_meant() {
    let test = "an_archive_is_installed_when_it_is_the_one_meant";
    let Some(packed) = Packed::make(test, "tar", &["tar"]) else { return };
    let archive = packed.package(".tar.gz");
    let path = archive.to_str().unwrap();
    let sums = format!("{path}.sha256");
    let sum = std::fs::read_to_string(&sums).unwrap()[..64].to_owned();
    let to = packed.path("home/bin");

    // Any other hash: nothing happens.
    let wrong = install(path, &sum.replace(&sum[..1], if sum.starts_with('0') { "1" } else { "0" }), &to);
    let said = text(&wrong.stderr);
    assert!(
        !wrong.status.success() && said.contains("is not the archive that was meant") && said.contains(&sum),
        "{said}"
    );
    for bad in ["", "abc", "not a hash", &format!("{sum}00")] {
        let refused = install(path, bad, &to);
        assert!(
            !refused.status.success() && text(&refused.stderr).contains("SHA-256"),
            "{bad:?}: {}",
            text(&refused.stderr)
        );
    }
    assert!(!to.exists());

    // By path with the file of its hash, then over it by an address with the hash.
    let first = install(path, &sums, &to);
    let said = text(&first.stdout);
    assert!(first.status.success(), "{said}{}", text(&first.stderr));
    assert!(said.contains("Installed hermes") && said.contains("is not in your PATH"), "{said}");
    assert_eq!(version(to.join("hermes")), version(binary()));
    if has(test, "curl") {
        let address = format!("{}/hermes.tar.gz", serve(&archive));
        let again = install(&address, &sum.to_uppercase(), &to);
        let said = text(&again.stdout);
        assert!(again.status.success() && said.contains("Replaced hermes"), "{said}{}", text(&again.stderr));
        let wrong = install(&address, &"0".repeat(64), &packed.path("other"));
        assert!(!wrong.status.success() && !packed.path("other").exists());
    }
    let left: Vec<_> = std::fs::read_dir(&to).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["hermes"]);
}

#[test]
fn an_archive_for_another_machine_is_refused() {
    let test = "an_archive_for_another_machine_is_refused";
    if !has(test, "tar") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let here = |flag: &str| run(Command::new("uname").arg(flag)).trim().to_owned();
    let (system, machine) = (here("-s"), here("-m"));
    for (platform, program, why) in [
        (
            format!("system {system}\nmachine pdp11\nglibc none\n"),
            "#!/bin/sh\n",
            "is for Linux on pdp11, and this machine is",
        ),
        (format!("system Plan9\nmachine {machine}\nglibc none\n"), "#!/bin/sh\n", "is for Plan9 on"),
        (format!("system {system}\nmachine {machine}\nglibc 99.1\n"), "#!/bin/sh\n", "take the static archive"),
        (format!("system {system}\nmachine {machine}\nglibc none\n"), "#!/nowhere\n", "does not run here"),
        (String::new(), "", "is not an archive of Hermes"),
    ] {
        let folder = temp.path().join("hermes-1");
        std::fs::create_dir_all(&folder).unwrap();
        for (name, content) in [("PLATFORM", platform.as_str()), ("hermes", program)] {
            let file = folder.join(name);
            std::fs::write(&file, content).unwrap();
            run(Command::new("chmod").arg("755").arg(&file));
            if content.is_empty() {
                std::fs::remove_file(&file).unwrap();
            }
        }
        let archive = temp.path().join("archive.tar.gz");
        run(Command::new("tar").arg("-czf").arg(&archive).arg("-C").arg(temp.path()).arg("hermes-1"));
        let sum: String =
            Sha256::digest(std::fs::read(&archive).unwrap()).iter().map(|byte| format!("{byte:02x}")).collect();
        let refused = install(archive.to_str().unwrap(), &sum, &temp.path().join("bin"));
        let said = text(&refused.stderr);
        assert!(!refused.status.success() && said.contains(why) && said.contains("Nothing was installed."), "{said}");
        assert!(!temp.path().join("bin").exists());
    }
}
