//! Jupyter notebooks: cells in order, each with what it printed.

use serde_json::Value;
use std::fmt::Write as _;

/// Characters of one output; the rest is in the notebook.
const OUTPUT_CHARS: usize = 4_000;

/// The cells as text.
pub fn text(bytes: &[u8]) -> Result<String, String> {
    let notebook: Value =
        serde_json::from_slice(bytes).map_err(|error| format!("is not a readable notebook: {error}"))?;
    let cells = notebook.get("cells").and_then(Value::as_array).ok_or("is not a notebook: it has no cells")?;
    let mut text = String::new();
    for (index, cell) in cells.iter().enumerate() {
        let kind = cell.get("cell_type").and_then(Value::as_str).unwrap_or("unknown");
        let _ = writeln!(text, "# %% cell {} [{kind}]", index + 1);
        push(&mut text, &lines(cell.get("source")));
        for output in cell.get("outputs").and_then(Value::as_array).into_iter().flatten() {
            push_output(&mut text, output);
        }
        text.push('\n');
    }
    Ok(text)
}

fn push_output(text: &mut String, output: &Value) {
    let (name, printed) = match output.get("output_type").and_then(Value::as_str) {
        Some("stream") => ("output", lines(output.get("text"))),
        Some("error") => {
            let part = |key| output.get(key).and_then(Value::as_str).unwrap_or_default();
            ("error", format!("{}: {}", part("ename"), part("evalue")))
        }
        _ => match output.pointer("/data/text~1plain") {
            Some(plain) => ("result", lines(Some(plain))),
            None => {
                let kinds = output.get("data").and_then(Value::as_object);
                let kinds = kinds.map(|data| data.keys().cloned().collect::<Vec<_>>().join(", "));
                ("result", format!("[{}]", kinds.unwrap_or_default()))
            }
        },
    };
    let _ = writeln!(text, "# -> {name}");
    match printed.char_indices().nth(OUTPUT_CHARS) {
        Some((at, _)) => push(text, &format!("{}\n[… {} more bytes]", &printed[..at], printed.len() - at)),
        None => push(text, &printed),
    }
}

/// A string, or lines that have their ends.
fn lines(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

fn push(text: &mut String, part: &str) {
    text.push_str(part);
    if !part.is_empty() && !part.ends_with('\n') {
        text.push('\n');
    }
}
