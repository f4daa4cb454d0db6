//! Pictures for the model: from the clipboard's program or from a file.

use crate::protocol::Image;
use std::path::Path;

/// Bytes of a picture that a person gives: more than every provider takes, and the provider's word counts.
const LIMIT: usize = 20 << 20;

/// The picture in this file, or in the clipboard; the error says what to do.
pub async fn image(path: Option<String>, cwd: &Path) -> Result<Image, String> {
    let bytes = match path {
        Some(path) => {
            let file = cwd.join(crate::config::paths::expand_home(&path));
            tokio::fs::read(&file).await.map_err(|error| format!("could not read {}: {error}", file.display()))?
        }
        None => clipboard().await?,
    };
    if bytes.len() > LIMIT {
        return Err(format!("the image is {} MB; the limit is {} MB", bytes.len() >> 20, LIMIT >> 20));
    }
    Image::of(&bytes).ok_or_else(|| "not a PNG, JPEG, GIF or WebP image".into())
}

async fn clipboard() -> Result<Vec<u8>, String> {
    let programs: [(&str, &[&str]); 3] = [
        ("wl-paste", &["--no-newline", "--type", "image/png"]),
        ("xclip", &["-selection", "clipboard", "-target", "image/png", "-out"]),
        ("pngpaste", &["-"]),
    ];
    for (program, args) in programs {
        let mut command = tokio::process::Command::new(program);
        command.args(args).stdin(std::process::Stdio::null()).stderr(std::process::Stdio::null()).kill_on_drop(true);
        crate::exec::bare(command.as_std_mut());
        let output = tokio::time::timeout(std::time::Duration::from_secs(3), command.output()).await;
        if let Ok(Ok(output)) = output
            && output.status.success()
            && !output.stdout.is_empty()
        {
            return Ok(output.stdout);
        }
    }
    Err("no image in the clipboard, or no wl-paste, xclip or pngpaste to read it; drop a file instead".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn files_are_told_by_their_bytes() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), b"\x89PNG\r\n\x1a\n rest").unwrap();
        let image = image(Some("a.txt".into()), folder.path()).await.unwrap();
        assert_eq!(image.media_type, "image/png");
        std::fs::write(folder.path().join("b.png"), b"not a picture").unwrap();
        assert!(super::image(Some("b.png".into()), folder.path()).await.unwrap_err().contains("not a PNG"));
        assert!(super::image(Some("none.png".into()), folder.path()).await.unwrap_err().contains("none.png"));
    }
}
