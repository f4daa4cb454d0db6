//! The address on this machine that a browser comes back to after a login.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use url::Url;

/// Bytes of a request line; what is longer is no answer of a login.
const LONGEST: usize = 16 * 1024;
const PATH: &str = "/callback";

/// A listener on the loopback address.
pub struct Door {
    listener: TcpListener,
    port: u16,
}

impl Door {
    /// Opens it; port 0 is any.
    ///
    /// # Errors
    /// The port and why it can't be had.
    pub async fn open(port: u16) -> Result<Self, String> {
        let listener = TcpListener::bind(("127.0.0.1", port))
            .await
            .map_err(|error| format!("no callback address: port {port} on this machine: {error}"))?;
        let port = listener.local_addr().map_err(|error| error.to_string())?.port();
        Ok(Self { listener, port })
    }

    /// What the browser is told to come back to.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for the browser and gives the whole address that it came with. `is_ours` knows the state of the login: every page
    /// that the person visits can knock here, and its word ends nothing.
    ///
    /// # Errors
    /// What the login's server says instead of a code.
    pub async fn visited(&self, is_ours: impl Fn(&Url) -> bool) -> Result<String, String> {
        loop {
            let (mut stream, _) = self.listener.accept().await.map_err(|error| error.to_string())?;
            let mut request = Vec::new();
            let mut buffer = [0; 2048];
            let read = async {
                while request.len() < LONGEST && !request.windows(4).any(|part| part == b"\r\n\r\n") {
                    match stream.read(&mut buffer).await {
                        Ok(0) | Err(_) => break,
                        Ok(count) => request.extend_from_slice(&buffer[..count]),
                    }
                }
            };
            // Browsers open connections that they never use.
            if tokio::time::timeout(std::time::Duration::from_secs(5), read).await.is_err() {
                continue;
            }
            let text = String::from_utf8_lossy(&request);
            let target = text.split(' ').nth(1).unwrap_or_default().to_owned();
            let came = Url::parse(&format!("http://127.0.0.1:{}{target}", self.port)).ok();
            let brings = |url: &Url| url.query_pairs().any(|(name, _)| name == "code" || name == "error");
            let came = came.filter(|url| target.starts_with(PATH) && brings(url) && is_ours(url));
            let refused = came.as_ref().and_then(refused);
            let (status, words) = match (&came, &refused) {
                (None, _) => ("404 Not Found", "Not found."),
                (Some(_), Some(_)) => ("200 OK", "The login was refused. Return to the terminal to see why."),
                // Whether the code is good is not known yet.
                (Some(_), None) => ("200 OK", "You can close this window and return to the terminal."),
            };
            let page = format!("<!doctype html><meta charset=utf-8><title>Hermes</title><p>{words}</p>");
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{page}",
                page.len()
            );
            // The browser may be gone; what it brought counts.
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
            if let Some(url) = came {
                return refused.map_or_else(|| Ok(url.into()), Err);
            }
        }
    }
}

/// What the login's server says instead of a code.
fn refused(url: &Url) -> Option<String> {
    let find = |key: &str| url.query_pairs().find(|(name, _)| name == key).map(|(_, value)| value.into_owned());
    let error = find("error")?;
    let more = find("error_description").map(|words| format!(" ({words})")).unwrap_or_default();
    let text: String =
        format!("the login was refused: {error}{more}").chars().filter(|c| !c.is_control()).take(300).collect();
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn get(address: String) -> String {
        let url = Url::parse(&address).unwrap();
        let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", url.port().unwrap())).await.unwrap();
        let request = format!("GET {}?{} HTTP/1.1\r\nhost: x\r\n\r\n", url.path(), url.query().unwrap_or_default());
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn only_an_answer_of_a_login_counts() {
        let door = Door::open(0).await.unwrap();
        let address = door.address();
        let browser = async {
            assert!(get(address.replace(PATH, "/favicon.ico")).await.contains("404"));
            // Of another page.
            for query in ["error=access_denied", "error=access_denied&state=t", "code=x", "code=x&state=t"] {
                assert!(get(format!("{address}?{query}")).await.contains("404"), "{query}");
            }
            assert!(get(format!("{address}?code=a%20b&state=s")).await.contains("close this window"));
        };
        let is_ours = |url: &Url| url.query_pairs().any(|pair| pair == ("state".into(), "s".into()));
        let (found, ()) = tokio::join!(door.visited(is_ours), browser);
        assert!(found.unwrap().ends_with("/callback?code=a%20b&state=s"));
        let no = get(format!("{address}?error=access_denied&error_description=no%20way&state=s"));
        let (found, page) = tokio::join!(door.visited(is_ours), no);
        assert_eq!(found.unwrap_err(), "the login was refused: access_denied (no way)");
        assert!(page.contains("The login was refused"), "{page}");
    }

    #[tokio::test]
    async fn a_taken_port_is_named() {
        let door = Door::open(0).await.unwrap();
        assert!(Door::open(door.port).await.err().unwrap().contains(&door.port.to_string()));
    }
}
