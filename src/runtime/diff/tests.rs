//! Repositories made for them.

use super::*;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

struct Fixture {
    folder: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        let fixture = Self { folder: tempfile::tempdir().unwrap() };
        fixture.git(&["init", "-q", "-b", "main"]);
        fixture
    }

    fn git(&self, args: &[&str]) {
        let mut git = Command::new("git");
        git.current_dir(self.folder.path()).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(args);
        let done = git.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "one"]);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), bytes).unwrap();
    }

    fn told(&self, folder: &str) -> String {
        changes(&self.path(folder), Instant::now() + Duration::from_secs(60)).unwrap()
    }
}

fn utf16(text: &str) -> Vec<u8> {
    std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

fn latin(text: &str) -> Vec<u8> {
    encoding_rs::WINDOWS_1252.encode(text).0.into_owned()
}

#[test]
fn a_changed_file_is_read_in_its_encoding() {
    let (before, after) = ("Größe der Tür für alle Häuser\nzwei\n", "Größe der Tür für alle Häuser\nfünf Türen\n");
    let fixture = Fixture::new();
    for (name, encode) in
        [("sixteen", utf16 as fn(&str) -> Vec<u8>), ("sub dir/latin", latin), ("plain", |it| it.into())]
    {
        fixture.write(name, &encode(before));
    }
    fixture.write("binary", b"\0\x01");
    fixture.write("gone", &latin(after));
    fixture.commit();
    for (name, encode) in
        [("sixteen", utf16 as fn(&str) -> Vec<u8>), ("sub dir/latin", latin), ("plain", |it| it.into())]
    {
        fixture.write(name, &encode(after));
    }
    fixture.write("binary", b"\0\x02");
    std::fs::remove_file(fixture.path("gone")).unwrap();
    let told = fixture.told("");
    for name in ["sixteen", "sub dir/latin", "plain"] {
        let shown = format!("--- a/{name}\n+++ b/{name}\n@@ -1,2 +1,2 @@\n {}", "Größe der Tür für alle Häuser");
        assert!(told.contains(&format!("{shown}\n-zwei\n+fünf Türen\n")), "{name}: {told}");
        assert!(told.lines().any(|line| line.starts_with(name) && line.ends_with("  +1 −1")), "{name}: {told}");
    }
    assert!(told.contains("-fünf Türen") && told.contains("+0 −2 · removed"), "{told}");
    assert!(told.contains("Binary files a/binary and b/binary differ"), "{told}");
    assert!(!told.contains('\u{fffd}'), "{told}");
}

#[test]
fn new_files_are_all_added_in_any_encoding_and_bounded() {
    let fixture = Fixture::new();
    fixture.write("kept", b"kept\n");
    fixture.write(".gitignore", b"ignored\n");
    fixture.commit();
    assert_eq!(fixture.told(""), "nothing changed since the last commit");
    fixture.write("ignored", b"no\n");
    fixture.write("plain", b"one\ntwo\n");
    fixture.write("a folder/sixteen", &utf16("für\n"));
    fixture.write("latin", &latin("Größe der Tür für alle Häuser\n"));
    fixture.write("binary", b"\0\x01\x02");
    fixture.write("empty", b"");
    fixture.write("large", "a line with ü\n".repeat(20_000).as_bytes());
    std::os::unix::fs::symlink("plain", fixture.path("link")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, fixture.path("pipe"), rustix::fs::Mode::RWXU).unwrap();
    // Also from a folder below the top.
    for folder in ["", "a folder"] {
        let told = fixture.told(folder);
        assert!(told.contains("--- /dev/null\n+++ b/plain\n@@ -0,0 +1,2 @@\n+one\n+two\n"), "{told}");
        assert!(told.contains("+++ b/a folder/sixteen\n@@ -0,0 +1 @@\n+für\n"), "{told}");
        assert!(told.contains("+Größe der Tür für alle Häuser\n"), "{told}");
        let row = |name: &str| told.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
        assert!(row("plain").ends_with("  +2 · new"), "{told}");
        assert!(row("binary").contains("new · binary, 3 B"), "{told}");
        assert!(row("empty").ends_with("new · empty"), "{told}");
        assert!(row("link").ends_with("new · link to plain"), "{told}");
        assert!(row("large").contains("in the first "), "{told}");
        assert!(told.len() < 200_000 && !told.contains("ignored"), "{}", told.len());
        assert!(!told.contains('\u{fffd}'), "a character was cut in two");
    }
}

#[test]
fn many_new_files_are_counted() {
    let fixture = Fixture::new();
    // Before the first commit everything is new.
    for number in 0..NEW + 3 {
        fixture.write(&format!("file {number:03}"), b"x\n");
    }
    let told = fixture.told("");
    assert!(told.contains("and 3 more new files") && told.contains("file 049") && !told.contains("file 050"), "{told}");
    fixture.git(&["add", "file 000"]);
    let told = fixture.told("");
    assert!(told.contains("+1 −0 · new") && told.contains("+++ b/file 000"), "{told}");
}

#[test]
fn what_git_tells_by_itself_stays() {
    let fixture = Fixture::new();
    fixture.write("old name", "a\nb\nc\nd\n".repeat(10).as_bytes());
    fixture.write("script", b"#!/bin/sh\n");
    fixture.commit();
    fixture.git(&["mv", "old name", "new name"]);
    fixture.git(&["update-index", "--chmod=+x", "script"]);
    std::fs::set_permissions(fixture.path("script"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let told = fixture.told("");
    assert!(told.contains("new name  was old name") && told.contains("rename from old name"), "{told}");
    assert!(told.contains("another mode"), "{told}");
}
