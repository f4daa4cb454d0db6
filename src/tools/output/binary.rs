//! Data in results that is neither text nor a picture (sound, archives): kept in files that the model is told of.

use super::bound;
use crate::text::format;
use crate::tools::spec::ToolOutput;
use serde_json::{Value, json};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Files of one result; what comes after them is only counted.
const MAX_FILES: usize = 16;

/// Keeps the data of a result in files beside what was spilled, and says where they are.
pub fn keep(output: &mut ToolOutput, folder: &Path, call_id: &str) {
    let all = std::mem::take(&mut output.data);
    if all.is_empty() {
        return;
    }
    let more = all.len().saturating_sub(MAX_FILES);
    let mut notes: Vec<String> = Vec::new();
    for (number, data) in all.iter().take(MAX_FILES).enumerate() {
        let kind: String = data.media_type.chars().filter(|c| c.is_ascii_graphic()).take(60).collect();
        let size = format::bytes(data.bytes.len() as u64);
        notes.push(match write(&folder.join(file_name(call_id, number, &kind)), &data.bytes) {
            Ok(path) => format!("{kind}, {size}, saved in {}; open it with a program in the terminal", path.display()),
            Err(error) => format!("{kind}, {size}, could not be saved: {error}"),
        });
    }
    if more > 0 {
        notes.push(format!("{more} more were left out"));
    }
    let text = notes.iter().map(|note| format!("[{note}]")).collect::<Vec<_>>().join("\n");
    output.content = match serde_json::from_str(&output.content) {
        Ok(Value::Object(mut fields)) => {
            fields.insert("data".into(), json!(notes));
            Value::Object(fields).to_string()
        }
        _ if output.content.is_empty() => text.clone(),
        _ => format!("{}\n\n{text}", output.content),
    };
    let view = &mut output.view.output;
    *view = if view.is_empty() { text } else { format!("{view}\n\n{text}") };
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    let (mut file, path) = bound::create_new(path)?;
    file.write_all(bytes)?;
    Ok(path)
}

/// A plain name with the ending that the media type suggests.
fn file_name(call: &str, number: usize, kind: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' };
    let call: String = call.chars().map(safe).take(80).collect();
    let ending: String =
        kind.rsplit('/').next().unwrap_or_default().chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    format!("{call}-{number}.{}", if ending.is_empty() { "bin" } else { &ending })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::spec::Data;
    use std::os::unix::fs::MetadataExt;

    fn data(media_type: &str, count: usize) -> Vec<Data> {
        vec![Data { media_type: media_type.into(), bytes: b"RIFF".to_vec() }; count]
    }

    #[test]
    fn names_are_plain() {
        assert_eq!(file_name("../call 1", 0, "audio/x-wav"), "___call_1-0.xwav");
        assert_eq!(file_name("c", 2, ""), "c-2.bin");
    }

    #[test]
    fn data_goes_to_files_and_the_result_says_where() {
        let dir = tempfile::tempdir().unwrap();
        for (content, want) in [
            ("", "[audio/wav, 4 B, saved in "),
            ("said", "said\n\n[audio/wav"),
            (r#"{"ok":true}"#, r#"{"ok":true,"data":["audio/wav"#),
        ] {
            let mut output =
                ToolOutput { content: content.into(), data: data("audio/wav", 1), ..ToolOutput::default() };
            keep(&mut output, dir.path(), "call_0");
            assert!(output.content.starts_with(want) && output.data.is_empty(), "{}", output.content);
        }
        let files: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 3, "an id that comes again spoils no file");
        for file in &files {
            assert_eq!(
                (std::fs::read(file).unwrap().as_slice(), std::fs::metadata(file).unwrap().mode() & 0o777),
                (&b"RIFF"[..], 0o600)
            );
        }
        let mut many = ToolOutput { data: data("x/y\n", MAX_FILES + 2), ..ToolOutput::default() };
        keep(&mut many, dir.path(), "c");
        assert!(
            many.content.ends_with("[2 more were left out]") && many.content.starts_with("[x/y, 4 B"),
            "{}",
            many.content
        );
        std::fs::write(dir.path().join("wall"), "").unwrap();
        let mut output = ToolOutput { data: data("x/y", 1), ..ToolOutput::default() };
        keep(&mut output, &dir.path().join("wall"), "c");
        assert!(output.content.contains("could not be saved"), "{}", output.content);
    }
}
