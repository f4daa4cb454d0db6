//! A model that is not in the table, as its hub tells of it: `repo:file`.

use super::client::Client;
use serde_json::Value;

/// What a hub offers: shown before anything is fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub repo: String,
    pub file: String,
    /// The commit; the file of this very revision is fetched.
    pub revision: String,
    pub bytes: Option<u64>,
    /// As the hub states it.
    pub sha256: Option<String>,
    /// From the model's card; empty where it says none.
    pub licence: String,
    /// The hub that answered.
    pub host: String,
}

/// Asks the hubs, best first, what `repo:file` is. Without a file, or with a part of a name, it must mean one file.
///
/// # Errors
/// For the person: who answered what, and which files there are.
pub async fn ask(hosts: &[String], repo: &str, file: &str, token: Option<&str>) -> Result<Offer, String> {
    let client = Client::new(token)?;
    let mut last = "no host is known".to_owned();
    for host in hosts {
        let host = host.trim_end_matches('/');
        let address = format!("{host}/api/models/{repo}?blobs=true");
        match client.json(&address).await {
            Ok(told) => return offer(host, repo, file, &told),
            Err(why) => last = why,
        }
    }
    Err(format!("{repo}: {last}"))
}

fn offer(host: &str, repo: &str, wanted: &str, told: &Value) -> Result<Offer, String> {
    let files = told.get("siblings").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let plain = |name: &&str| !name.chars().any(char::is_control) && !name.split('/').any(|part| part == "..");
    let name = |file: &Value| file.get("rfilename").and_then(Value::as_str).filter(plain).map(str::to_owned);
    let whole: Vec<&Value> = files.iter().filter(|file| name(file).is_some_and(|name| is_whole(&name))).collect();
    let exact = whole.iter().find(|file| name(file).as_deref() == Some(wanted));
    let part = wanted.to_ascii_lowercase();
    let meant: Vec<&&Value> =
        whole.iter().filter(|file| name(file).is_some_and(|name| name.to_ascii_lowercase().contains(&part))).collect();
    let found = match (exact, meant.as_slice()) {
        (Some(found), _) => found,
        (None, [found]) => found,
        _ => {
            let names: Vec<String> = whole.iter().filter_map(|file| name(file)).collect();
            let names = if names.is_empty() { "no GGUF file".to_owned() } else { names.join(", ") };
            return Err(format!("{repo}: name one file, as in {repo}:FILE; it has {names}"));
        }
    };
    let text = |pointer: &str| told.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Offer {
        repo: repo.to_owned(),
        file: name(found).unwrap_or_default(),
        revision: text("/sha"),
        bytes: found.get("size").and_then(Value::as_u64),
        sha256: found
            .pointer("/lfs/sha256")
            .and_then(Value::as_str)
            .filter(|hash| hash.len() == 64)
            .map(str::to_ascii_lowercase),
        licence: text("/cardData/license").chars().filter(|c| !c.is_control()).take(80).collect(),
        host: super::host_of(host),
    })
}

/// A model in one file: not a part of one, and not the part of one that sees.
fn is_whole(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.ends_with(".gguf") && !lower.contains("-of-0") && !lower.contains("mmproj")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told() -> Value {
        json!({"sha": "abc", "cardData": {"license": "mit"}, "siblings": [
            {"rfilename": "README.md", "size": 5},
            {"rfilename": "m-Q4_K_M.gguf", "size": 10, "lfs": {"sha256": "A".repeat(64), "size": 10}},
            {"rfilename": "m-Q8_0.gguf", "size": 20},
            {"rfilename": "m-F16-00001-of-00002.gguf", "size": 30},
            {"rfilename": "mmproj-m.gguf", "size": 1},
        ]})
    }

    #[test]
    fn a_file_is_meant_by_its_name_or_a_part_of_it() {
        for wanted in ["m-Q4_K_M.gguf", "q4_k_m"] {
            let offer = offer("https://hub.example", "a/b", wanted, &told()).unwrap();
            assert_eq!((offer.file.as_str(), offer.bytes, offer.licence.as_str()), ("m-Q4_K_M.gguf", Some(10), "mit"));
            assert_eq!(offer.sha256, Some("a".repeat(64)));
            assert_eq!((offer.revision.as_str(), offer.host.as_str()), ("abc", "hub.example"));
        }
        assert_eq!(offer("https://h", "a/b", "q8", &told()).unwrap().sha256, None);
    }

    #[test]
    fn what_is_not_clear_is_answered_with_what_there_is() {
        for wanted in ["", "gguf", "q5", "f16", "mmproj"] {
            let why = offer("https://h", "a/b", wanted, &told()).unwrap_err();
            assert_eq!(why, "a/b: name one file, as in a/b:FILE; it has m-Q4_K_M.gguf, m-Q8_0.gguf", "{wanted}");
        }
        assert!(offer("https://h", "a/b", "x", &json!({})).unwrap_err().ends_with("it has no GGUF file"));
    }
}
