//! Masks in what a call would write. A mask stands for a secret that only the file has: written back, it would replace it.

use super::edit::{After, Change};
use super::encoding::Encoding;
use crate::policy::redact::{MASK, PEM_MASK, RedactKind, redact};
use crate::tools::spec::{ToolCtx, ToolError};
use std::collections::HashSet;

/// Bytes of a file whose lines are compared with what the model was shown of them.
const COMPARED: usize = 1024 * 1024;
/// Characters of a line that are named.
const SHOWN: usize = 60;

/// # Errors
/// When a file would hold masks that it did not hold before.
pub fn check(changes: &[Change], ctx: &ToolCtx) -> Result<(), ToolError> {
    if !ctx.config.security.redact_secrets {
        return Ok(());
    }
    for change in changes {
        let (After::Write(after) | After::Move { bytes: Some(after), .. }) = &change.after else { continue };
        let before = change.before.as_deref().unwrap_or_default();
        let encoding = Encoding::of(if before.is_empty() { after } else { before });
        let text = |bytes| encoding.show(bytes).unwrap_or_else(|| String::from_utf8_lossy(bytes));
        let (before, after) = (text(before), text(after));
        if let Some(mask) = written(&before, &after) {
            return Err(ToolError::Failed(format!(
                "{}: not written: `{mask}` is a mask for a secret and would overwrite it. Leave its line as it is and patch around it, or have the program read the secret from a variable",
                change.shown
            )));
        }
    }
    Ok(())
}

/// What to do where the text to be replaced holds a mask: the file does not have these characters.
pub fn hint(old: &str, file: &str, ctx: &ToolCtx) -> Option<String> {
    if !ctx.config.security.redact_secrets {
        return None;
    }
    let mark = [MASK, PEM_MASK].into_iter().find(|mark| old.contains(mark) && !file.contains(mark));
    let line = match mark {
        Some(mark) => old.lines().find(|line| line.contains(mark)).map(|line| line.trim().to_owned()),
        None => written(file, old),
    }?;
    let line: String = line.chars().take(SHOWN).collect();
    Some(format!(
        "`{line}` contains a mask: the file has the real secret there, which you cannot see. Match the lines around it, or pass the secret in a variable; to replace the secret, ask the user"
    ))
}

/// A mask, or a line with one, that is in `after` and was not in `before`.
fn written(before: &str, after: &str) -> Option<String> {
    for mark in [MASK, PEM_MASK] {
        if after.matches(mark).count() > before.matches(mark).count() {
            let from = after.rfind(mark)?;
            return Some(after[from..].split_inclusive(['»', ']']).next()?.chars().take(60).collect());
        }
    }
    // Masks that look like a value are known by their lines.
    let likely = (after.contains("***") || after.contains("...")) && before.len() <= COMPARED;
    let masked = if likely { redact(before, RedactKind::FileRead) } else { before.into() };
    if masked == before {
        return None;
    }
    let had: HashSet<&str> = before.lines().map(str::trim).collect();
    let shown: HashSet<&str> = masked.lines().map(str::trim).filter(|line| !had.contains(line)).collect();
    after.lines().map(str::trim).find(|line| shown.contains(line)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Outcome;
    use crate::tools::testing::Bench;
    use serde_json::json;

    #[test]
    fn only_new_masks_count() {
        let key = "KEY=sk-abcdefghijklmnop1234\nx=1\n";
        let header = "# a\nAuthorization: Bearer abcdefghijklmnopqrstuvwx\n";
        for (before, after, want) in [
            ("", "KEY=«redacted:sk-…»\n", true),
            (key, "KEY=«redacted:sk-…»\nx=2\n", true),
            (key, "KEY=sk-abcdefghijklmnop1234\nx=2 # ...\n", false),
            ("«redacted:a…»", "«redacted:a…» and more", false),
            ("", "[REDACTED PRIVATE KEY]", true),
            (header, "# b\nAuthorization: Bearer abcdef...uvwx\n", true),
            (header, "# b ...\nAuthorization: Bearer abcdefghijklmnopqrstuvwx\n", false),
            ("u=postgres://me:secret@h/d\n", "u=postgres://me:***@h/d\nn=1\n", true),
            ("", "let all = a...b; // ***\n", false),
        ] {
            assert_eq!(written(before, after).is_some(), want, "{before:?} → {after:?}");
        }
    }

    #[tokio::test]
    async fn no_tool_writes_a_mask_back() {
        let bench = Bench::new();
        let secret = "OPENAI_API_KEY=sk-abcdefghijklmnop1234\nx=1\n";
        bench.write("conf.sh", secret);
        let masked = "OPENAI_API_KEY=«redacted:sk-…»";
        let patch = format!("*** Begin Patch\n*** Update File: conf.sh\n@@\n-x=1\n+x=2\n+{masked}\n*** End Patch");
        for (tool, args) in [
            ("write_file", json!({"path": "conf.sh", "content": format!("{masked}\nx=2\n")})),
            ("write_file", json!({"path": "new.sh", "content": masked})),
            ("patch", json!({"path": "conf.sh", "old_string": "x=1", "new_string": format!("x=2\n{masked}")})),
            ("patch", json!({"mode": "patch", "patch": patch})),
        ] {
            let output = bench.call(tool, args.clone()).await;
            assert_eq!(output.outcome, Outcome::Failed, "{args}: {}", output.content);
            assert!(output.content.contains("is a mask for a secret"), "{args}: {}", output.content);
        }
        assert_eq!((bench.read("conf.sh").as_str(), bench.files().len()), (secret, 1));
        // Nothing is matched by a mask, and the model hears why.
        let unmask =
            format!("*** Begin Patch\n*** Update File: conf.sh\n@@\n-{masked}\n+OPENAI_API_KEY=$KEY\n*** End Patch");
        for args in [
            json!({"path": "conf.sh", "old_string": masked, "new_string": "OPENAI_API_KEY=$KEY"}),
            json!({"path": "conf.sh", "old_string": format!("{masked}\nx=1"), "new_string": "x=2"}),
            json!({"mode": "patch", "patch": unmask}),
        ] {
            let output = bench.call("patch", args.clone()).await;
            assert_eq!(output.outcome, Outcome::Failed, "{args}: {}", output.content);
            assert!(output.content.contains("Match the lines around it"), "{args}: {}", output.content);
        }
        assert_eq!(bench.read("conf.sh"), secret);
        // around it
        let args = json!({"path": "conf.sh", "old_string": "x=1", "new_string": "x=2"});
        assert_eq!(bench.call("patch", args).await.outcome, Outcome::Ok);
    }
}
