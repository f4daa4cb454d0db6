//! Downloads from a hub that breaks off, lies, hangs or refuses.

use super::part::{Origin, Part};
use super::*;
use crate::lock::lock;
use sha2::{Digest, Sha256};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// What a hub does with a request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Does {
    Serves,
    /// Sends so many bytes of the answer and closes.
    BreaksAfter(usize),
    /// Sends the whole file whatever was asked for.
    IgnoresRanges,
    /// Sends other bytes.
    Lies,
    /// Has another file by now, and says so.
    HasAnother,
    /// Says another size.
    IsOther,
    Answers(u16),
    /// Sends so many bytes and then nothing.
    Hangs(usize),
}

/// A hub on this machine that does these things one after another, the last one for ever.
struct Hub {
    address: String,
    ranges: Arc<Mutex<Vec<Option<usize>>>>,
}

impl Hub {
    async fn start(file: Vec<u8>, script: &'static [Does]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/a/b/resolve/main/m.gguf", listener.local_addr().unwrap());
        let ranges = Arc::new(Mutex::new(Vec::new()));
        let (seen, count) = (Arc::clone(&ranges), AtomicUsize::new(0));
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = vec![0; 4096];
                let length = stream.read(&mut request).await.unwrap_or(0);
                let text = String::from_utf8_lossy(&request[..length]).to_lowercase();
                let from = text
                    .lines()
                    .find_map(|line| line.strip_prefix("range: bytes="))
                    .and_then(|range| range.trim_end_matches('-').parse::<usize>().ok());
                lock(&seen).push(from);
                let does = script[count.fetch_add(1, Ordering::Relaxed).min(script.len() - 1)];
                let file = file.clone();
                tokio::spawn(async move { answer(&mut stream, &file, from, does).await });
            }
        });
        Self { address, ranges }
    }
}

async fn answer(stream: &mut tokio::net::TcpStream, file: &[u8], from: Option<usize>, does: Does) {
    if let Does::Answers(code) = does {
        let head = format!("HTTP/1.1 {code} No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        let _ = stream.write_all(head.as_bytes()).await;
        return;
    }
    let from = from.filter(|_| does != Does::IgnoresRanges);
    let mut body = file[from.unwrap_or(0)..].to_vec();
    if matches!(does, Does::Lies | Does::HasAnother) {
        body.iter_mut().for_each(|byte| *byte ^= 1);
    }
    let length = body.len() + usize::from(does == Does::IsOther);
    let head = match from {
        Some(from) => {
            let last = file.len() - 1;
            format!("HTTP/1.1 206 Partial\r\ncontent-range: bytes {from}-{last}/{}\r\n", file.len())
        }
        None => "HTTP/1.1 200 OK\r\n".to_owned(),
    };
    let etag = if does == Does::HasAnother { "\"new\"" } else { "\"old\"" };
    let head = format!("{head}etag: {etag}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    let _ = stream.write_all(head.as_bytes()).await;
    match does {
        Does::BreaksAfter(most) => {
            let _ = stream.write_all(&body[..most.min(body.len())]).await;
        }
        Does::Hangs(most) => {
            let _ = stream.write_all(&body[..most]).await;
            let _ = stream.flush().await;
            std::future::pending::<()>().await;
        }
        _ => {
            let _ = stream.write_all(&body).await;
        }
    }
}

fn file() -> Vec<u8> {
    (0..200_000u32).flat_map(u32::to_le_bytes).collect()
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn wanted(dir: &Path, from: Vec<String>) -> Wanted {
    let whole = file();
    Wanted {
        title: "Model".into(),
        from,
        bytes: Some(whole.len() as u64),
        sha256: Some(hash(&whole)),
        file: dir.join("models").join("m.gguf"),
    }
}

async fn get(wanted: &Wanted) -> Result<(), FetchError> {
    fetch(wanted, None, &CancellationToken::new(), &|_| {}).await
}

#[tokio::test]
async fn what_breaks_off_goes_on_from_there_and_is_checked() {
    let dir = tempfile::tempdir().unwrap();
    let hub = Hub::start(file(), &[Does::BreaksAfter(300_000), Does::BreaksAfter(100_000), Does::Serves]).await;
    let wanted = wanted(dir.path(), vec![hub.address.clone()]);
    get(&wanted).await.unwrap();
    assert_eq!(std::fs::read(&wanted.file).unwrap(), file());
    let ranges = lock(&hub.ranges).clone();
    assert_eq!(ranges.len(), 3, "{ranges:?}");
    assert!(ranges[0].is_none() && ranges[1].is_some_and(|from| from > 0) && ranges[2] > ranges[1], "{ranges:?}");
    assert!(!wanted.file.with_extension("gguf.part").exists());
    // It is there: nobody is asked again.
    get(&wanted).await.unwrap();
    assert_eq!(lock(&hub.ranges).len(), 3);
}

#[tokio::test]
async fn a_host_that_knows_no_ranges_starts_again() {
    let dir = tempfile::tempdir().unwrap();
    let hub = Hub::start(file(), &[Does::BreaksAfter(300_000), Does::IgnoresRanges]).await;
    let wanted = wanted(dir.path(), vec![hub.address.clone()]);
    get(&wanted).await.unwrap();
    assert_eq!(std::fs::read(&wanted.file).unwrap(), file());
}

#[tokio::test]
async fn a_wrong_file_is_named_and_thrown_away() {
    let dir = tempfile::tempdir().unwrap();
    let hub = Hub::start(file(), &[Does::Lies]).await;
    let wanted = wanted(dir.path(), vec![hub.address.clone()]);
    let error = get(&wanted).await.unwrap_err();
    let said = error.to_string();
    assert!(
        matches!(error, FetchError::Hash { .. }) && said.contains("127.0.0.1") && said.contains("models.mirror"),
        "{said}"
    );
    assert!(!wanted.file.exists());
    let part = wanted.file.with_extension("gguf.part");
    assert_eq!(std::fs::metadata(part).unwrap().len(), 0, "nothing of it is gone on from");
}

#[tokio::test]
async fn the_next_host_is_asked_when_one_has_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (no, other, yes) = (
        Hub::start(file(), &[Does::Answers(404)]).await,
        Hub::start(file(), &[Does::IsOther]).await,
        Hub::start(file(), &[Does::Serves]).await,
    );
    let gone = "http://127.0.0.1:9/x".to_owned();
    let wanted = wanted(dir.path(), vec![gone, no.address.clone(), other.address.clone(), yes.address.clone()]);
    get(&wanted).await.unwrap();
    assert_eq!((lock(&no.ranges).len(), lock(&yes.ranges).len()), (1, 1));
}

#[tokio::test]
async fn no_network_says_so_and_what_came_stays() {
    let dir = tempfile::tempdir().unwrap();
    let wanted = wanted(dir.path(), vec!["http://127.0.0.1:9/x".into(), "http://127.0.0.1:9/y".into()]);
    let part = wanted.file.with_extension("gguf.part");
    std::fs::create_dir_all(part.parent().unwrap()).unwrap();
    std::fs::write(&part, &file()[..1000]).unwrap();
    let said = get(&wanted).await.unwrap_err().to_string();
    assert!(said.contains("resumes where it stopped") && said.contains("HTTPS_PROXY"), "{said}");
    assert_eq!(std::fs::metadata(part).unwrap().len(), 1000);
}

#[tokio::test]
async fn a_pause_keeps_what_came_and_the_next_call_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let hub = Hub::start(file(), &[Does::Hangs(400_000), Does::Serves]).await;
    let wanted = wanted(dir.path(), vec![hub.address.clone()]);
    let (pause, part) = (CancellationToken::new(), wanted.file.with_extension("gguf.part"));
    let stop = pause.clone();
    let watched = part.clone();
    tokio::spawn(async move {
        while std::fs::metadata(&watched).map_or(0, |about| about.len()) < 400_000 {
            tokio::task::yield_now().await;
        }
        stop.cancel();
    });
    let paused = fetch(&wanted, None, &pause, &|_| {}).await;
    assert!(matches!(paused, Err(FetchError::Paused)), "{paused:?}");
    get(&wanted).await.unwrap();
    assert_eq!(lock(&hub.ranges).last(), Some(&Some(400_000)));
    assert_eq!(std::fs::read(&wanted.file).unwrap(), file());
}

#[tokio::test]
async fn two_at_once_do_not_write_the_same_file() {
    let dir = tempfile::tempdir().unwrap();
    let wanted = wanted(dir.path(), vec!["http://127.0.0.1:9/x".into()]);
    std::fs::create_dir_all(wanted.file.parent().unwrap()).unwrap();
    let _other = Part::open(&wanted).unwrap();
    assert!(matches!(get(&wanted).await, Err(FetchError::Busy { .. })));
}

#[tokio::test]
async fn a_disk_without_room_is_told_before_anything_comes() {
    let dir = tempfile::tempdir().unwrap();
    let hub = Hub::start(file(), &[Does::Serves]).await;
    let wanted = Wanted { bytes: Some(1 << 60), ..wanted(dir.path(), vec![hub.address.clone()]) };
    let said = get(&wanted).await.unwrap_err().to_string();
    assert!(said.contains("not enough disk space") && said.contains("models.dir"), "{said}");
    assert!(lock(&hub.ranges).is_empty());
}

#[tokio::test]
async fn the_part_of_another_file_is_never_gone_on_with() {
    let dir = tempfile::tempdir().unwrap();
    let hashed = wanted(dir.path(), vec!["http://a.example/m".into(), "http://b.example/m".into()]);
    let plain = Wanted { sha256: None, ..hashed.clone() };
    let origin = |url: &str, etag: &str, hash: Option<&str>| Origin {
        url: url.into(),
        etag: etag.into(),
        bytes: hashed.bytes,
        sha256: hash.map(str::to_owned),
    };
    let hash = hashed.sha256.as_deref();
    std::fs::create_dir_all(hashed.file.parent().unwrap()).unwrap();
    for (wanted, origin, goes_on) in [
        (&hashed, None, true),
        (&hashed, Some(origin("http://elsewhere.example/m", "", hash)), true),
        (&hashed, Some(origin("http://a.example/m", "x", Some("00"))), false),
        (&hashed, Some(origin("http://a.example/m", "x", None)), false),
        (&plain, None, false),
        (&plain, Some(origin("http://b.example/m", "x", None)), true),
        (&plain, Some(origin("http://b.example/m", "", None)), false),
        (&plain, Some(origin("http://c.example/m", "x", None)), false),
        (&plain, Some(Origin { bytes: Some(7), ..origin("http://b.example/m", "x", None) }), false),
    ] {
        std::fs::write(wanted.file.with_extension("gguf.part"), b"begun").unwrap();
        let side = wanted.file.with_extension("gguf.from");
        let text = origin.as_ref().map(|origin| serde_json::to_string(origin).unwrap()).unwrap_or_default();
        std::fs::write(&side, text).unwrap();
        assert_eq!(Part::open(wanted).unwrap().done, if goes_on { 5 } else { 0 }, "{origin:?}");
    }
}

#[tokio::test]
async fn a_file_without_a_hash_goes_on_while_the_host_has_the_same_one() {
    let changed: Vec<u8> = file().iter().map(|byte| byte ^ 1).collect();
    let same: &'static [Does] = &[Does::BreaksAfter(300_000), Does::Serves];
    let other: &'static [Does] = &[Does::BreaksAfter(300_000), Does::HasAnother];
    for (script, whole, begins) in [(same, file(), 1), (other, changed, 2)] {
        let dir = tempfile::tempdir().unwrap();
        let hub = Hub::start(file(), script).await;
        let wanted = Wanted { sha256: None, bytes: None, ..wanted(dir.path(), vec![hub.address.clone()]) };
        get(&wanted).await.unwrap();
        assert!(std::fs::read(&wanted.file).unwrap() == whole, "{script:?}");
        let ranges = lock(&hub.ranges).clone();
        assert_eq!(ranges.iter().filter(|from| from.is_none()).count(), begins, "{ranges:?}");
    }
}
