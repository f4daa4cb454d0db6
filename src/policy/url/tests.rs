//! What addresses are, in every spelling.

use super::*;

#[test]
fn shared_cases() {
    let cases = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/url-safety.jsonl"));
    for case in cases.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()) {
        let url = case["url"].as_str().unwrap();
        let got = check(url);
        assert_eq!(got.is_safe(), case["safe"], "{url}: {got:?}");
        assert_eq!(got.reach == Reach::Metadata, case["always_blocked"], "{url}: {got:?}");
        assert_eq!(got.sensitive_param.as_deref(), case["sensitive_param"].as_str(), "{url}");
    }
}

#[test]
fn odd_spellings_are_what_they_lead_to() {
    for (url, want) in [
        ("http://127.1/", Reach::Private),
        ("http://2130706433/", Reach::Private),
        ("http://0x7f000001/", Reach::Private),
        ("http://0x7f.1/", Reach::Private),
        ("http://017700000001/", Reach::Private),
        ("http://0177.0.0.1/", Reach::Private),
        ("http://0/", Reach::Private),
        ("http://127.0.0.1./", Reach::Private),
        ("http://%31%32%37.0.0.1/", Reach::Private),
        ("http://１２７.０.０.１/", Reach::Private),
        ("http://127。0。0。1/", Reach::Private),
        ("http://①②⑦.0.0.1/", Reach::Private),
        ("http:127.0.0.1/", Reach::Private),
        ("http:\\\\127.0.0.1\\x", Reach::Private),
        ("http://8.8.8.8\\@127.0.0.1/", Reach::Public),
        ("http://8.8.8.8@127.0.0.1/", Reach::Private),
        ("http://8.8.8.8#@127.0.0.1/", Reach::Public),
        ("http://[::1]/", Reach::Private),
        ("http://[::]/", Reach::Private),
        ("http://[::127.0.0.1]/", Reach::Private),
        ("http://[64:ff9b::a9fe:a9fe]/", Reach::Metadata),
        ("http://[2002:a9fe:a9fe::]/", Reach::Metadata),
        ("http://[::ffff:a9fe:a9fe]/", Reach::Metadata),
        ("http://[fe80::1%25eth0]/", Reach::Private),
        ("http://[fd00:ec2::254]/", Reach::Metadata),
        ("http://[fc00::1]/", Reach::Private),
        ("http://[2606:4700::1111]/", Reach::Public),
        ("http://169.254.169.254/latest/meta-data/", Reach::Metadata),
        ("http://0xa9fea9fe/", Reach::Metadata),
        ("http://2852039166/", Reach::Metadata),
        ("http://0251.0376.0251.0376/", Reach::Metadata),
        ("HTTP://METADATA.google.internal./computeMetadata/v1/", Reach::Metadata),
        ("http://100.100.100.200/", Reach::Metadata),
        ("http://LOCALHOST./", Reach::Private),
        ("http://a.localhost:80/", Reach::Private),
        ("http://printer/", Reach::Private),
        ("http://nas.local/", Reach::Private),
        ("https://docs.rs/serde", Reach::Public),
        ("https://notlocalhost.example.com/", Reach::Public),
        ("https://münchen.example/", Reach::Public),
    ] {
        let got = check(url);
        assert_eq!(got.reach, want, "{url}: {got:?}");
        assert_eq!(got.is_safe(), want == Reach::Public, "{url}: {got:?}");
    }
    for url in [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "gopher://8.8.8.8/",
        "http://",
        "http:///",
        "http://a b/",
        "http://8.8.8.8\n/",
        "http://256.256.256.256/",
        "http://1.2.3.4.5/",
        "http://%00/",
        "//8.8.8.8/",
    ] {
        assert!(!check(url).is_safe(), "{url}");
    }
}

#[test]
fn secrets_in_parameters() {
    for (url, want) in [
        ("https://a.example/?x=1&ACCESS_TOKEN=a", Some("ACCESS_TOKEN")),
        ("https://a.example/#access_token=a", Some("access_token")),
        ("https://a.example/?api%5Fkey=a", Some("api%5Fkey")),
        ("https://a.example/?X-Amz-Signature=a", Some("X-Amz-Signature")),
        ("https://a.example/?token=", None),
        ("https://a.example/token=1", None),
        ("https://a.example/?monkey=1&keyword=2", None),
    ] {
        assert_eq!(check(url).sensitive_param.as_deref(), want, "{url}");
    }
}

#[test]
fn words_that_name_credentials_of_the_machine() {
    for word in [
        "http://169.254.169.254/latest/meta-data/iam/",
        "169.254.169.254/latest",
        "http://[fd00:ec2::254]/latest/",
        "metadata.google.internal/computeMetadata/v1/",
        "--url=http://2852039166/",
        "http://0xa9.254.169.254",
        "import urllib; urllib.urlopen('http://169.254.170.2/x')",
    ] {
        assert!(names_metadata(word), "{word}");
    }
    for word in [
        "http://localhost:3000/",
        "https://docs.aws.amazon.com/metadata",
        "metadata",
        "metadata.json",
        "2852039166",
        "1.2.3.4",
        "src/main.rs",
        "v1.69.254",
    ] {
        assert!(!names_metadata(word), "{word}");
    }
}
