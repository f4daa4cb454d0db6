//! When the model list of the provider is asked for: counted at a proxy that lets nothing through.

use crate::harness::{Home, Term, until};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

/// Keeps the first line of every request.
struct Proxy {
    url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut line = String::new();
                let _ = BufReader::new(&stream).read_line(&mut line);
                log.lock().unwrap().push(line.trim().to_owned());
                let _ = stream.write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
            }
        });
        Self { url, seen }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

fn home(proxy: &Proxy, more: &[(&str, &str)]) -> Home {
    let mut home = Home::empty();
    home.config("model:\n  default: openai/gpt-5.5\n  provider: openrouter\n");
    home.set("HTTPS_PROXY", &proxy.url);
    for (name, value) in more {
        home.set(name, value);
    }
    home
}

#[test]
fn the_list_is_asked_for_after_the_first_frame_once_a_start_until_it_is_there() {
    let proxy = Proxy::start();
    let home = home(&proxy, &[("OPENROUTER_API_KEY", "sk-or-test")]);
    home.run(&["config", "check"]);
    assert_eq!(proxy.seen(), [""; 0], "commands ask for nothing");
    let mut term = Term::start(&home, &[]);
    until("the provider is asked", || !proxy.seen().is_empty());
    term.wait("❯");
    term.send("x").wait("❯ x");
    assert_eq!(proxy.seen(), ["CONNECT openrouter.ai:443 HTTP/1.1"]);
    term.signal(rustix::process::Signal::TERM);
    term.ended();
    let mut again = Term::start(&home, &[]);
    again.wait("❯");
    again.send("x").wait("❯ x");
    until("the next start asks again, since nothing came back", || proxy.seen().len() == 2);
    again.send("y").shows("the letter", |text| text.lines().any(|line| line.contains("❯ x") && line.ends_with('y')));
    assert_eq!(proxy.seen().len(), 2, "and then not before a while: {:?}", proxy.seen());
}

#[test]
fn nothing_goes_out_without_a_key_or_offline() {
    for more in [&[][..], &[("OPENROUTER_API_KEY", "sk-or-test"), ("HERMES_OFFLINE", "1")][..]] {
        let proxy = Proxy::start();
        let home = home(&proxy, more);
        let mut term = Term::start(&home, &[]);
        term.wait("Hermes");
        // The first frame is out, and a key has gone all the way round.
        term.send("\x10").wait("Commands");
        assert_eq!(proxy.seen(), [""; 0], "{more:?}");
    }
}
