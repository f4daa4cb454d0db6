//! The `write_file` tool: a whole file, new or overwritten.

use super::read_file;
use crate::tools::file::edit::{self, After, Change, EditCall};
use crate::tools::file::gutter;
use crate::tools::file::syntax;
use crate::tools::file::text::Text;
use crate::tools::input::paths;
use crate::tools::spec::{Access, Call, Parallel, Tool, ToolCtx, ToolError, ToolSpec, Verbs};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// The tool's name.
pub const NAME: &str = "write_file";
/// The tool.
pub struct WriteFile;

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    super::built_in(
        NAME,
        "file",
        "📝",
        include_str!("../../../assets/tools/write_file.md"),
        json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
            "required": ["path", "content"]
        }),
        Access::Write,
        Verbs::new("writing", "wrote"),
        Parallel::ByPath("path"),
    )
});

#[derive(Deserialize)]
struct Args {
    path: String,
    content: String,
}

impl Tool for WriteFile {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn target(&self, args: &Value) -> String {
        super::text(args, "path").to_owned()
    }

    fn plan<'a>(&'a self, args: Value, ctx: &'a ToolCtx) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        Box::pin(async move {
            let args: Args = super::parse(NAME, args)?;
            let ctx = ctx.clone();
            let call = crate::tools::blocking(move || plan(&args, &ctx)).await??;
            Ok(Box::new(call) as Box<dyn Call>)
        })
    }
}

fn plan(args: &Args, ctx: &ToolCtx) -> Result<EditCall, ToolError> {
    let place = paths::place(&args.path, ctx)?;
    let refused = |why: &str| ToolError::Failed(format!("{}: not written: {why}", place.shown));
    if args.path.ends_with('/') {
        return Err(refused("the path names a folder"));
    }
    if gutter::looks_numbered(&args.content) {
        return Err(refused("the content contains read_file's line numbers (`12|`); remove them"));
    }
    if args.content.trim() == read_file::UNCHANGED {
        return Err(refused("the content is a note from read_file, not the file"));
    }
    let before = edit::read(&*ctx.disk(), &place.path, &place.shown)?;
    // A file that is not text is replaced whole; there is nothing of it to keep.
    let old = before.as_deref().and_then(|bytes| Text::decode(bytes).ok()).unwrap_or_default();
    if let (Err(fault), Ok(())) = (syntax::check(&place.path, &args.content), syntax::check(&place.path, &old.text)) {
        return Err(refused(&format!("it would not parse: {fault}")));
    }
    let bytes = match before {
        Some(_) => old.encode(&args.content).map_err(|why| refused(&why))?,
        None => args.content.clone().into_bytes(),
    };
    let mut reply = Map::from_iter([
        ("bytes_written".to_owned(), json!(bytes.len())),
        ("files_modified".to_owned(), json!([place.shown])),
        ("resolved_path".to_owned(), json!(place.path)),
    ]);
    if place.path.parent().is_some_and(|folder| ctx.disk().about(folder).is_err()) {
        reply.insert("dirs_created".to_owned(), Value::Bool(true));
    }
    if let Some(warning) = edit::stale(ctx, &place.path, &place.shown)? {
        reply.insert("_warning".to_owned(), Value::String(warning));
    }
    let change = Change { path: place.path, shown: place.shown, before, after: After::Write(bytes) };
    EditCall::checked(vec![change], reply, ctx)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Intent;
    use crate::protocol::Outcome;
    use crate::tools::testing::Bench;
    use std::os::unix::fs::PermissionsExt;

    #[tokio::test]
    async fn writes_with_folders_and_keeps_form() {
        let bench = Bench::new();
        let output = bench.call("write_file", json!({"path": "a/b/c.txt", "content": "x\ny\n"})).await;
        let result: Value = serde_json::from_str(&output.content).unwrap();
        assert_eq!((&result["bytes_written"], &result["dirs_created"]), (&json!(4), &json!(true)));
        assert_eq!((bench.read("a/b/c.txt").as_str(), output.view.summary.as_str()), ("x\ny\n", "+2 −0"));

        bench.write("dos", "\u{feff}a\r\nb\r\n");
        std::fs::set_permissions(bench.path("dos"), std::fs::Permissions::from_mode(0o640)).unwrap();
        bench.call("write_file", json!({"path": "dos", "content": "c\nd\n"})).await;
        assert_eq!(bench.read("dos"), "\u{feff}c\r\nd\r\n");
        assert_eq!(std::fs::metadata(bench.path("dos")).unwrap().permissions().mode() & 0o777, 0o640);
        // a new file is written as it is given
        bench.call("write_file", json!({"path": "new", "content": "a\r\nb\n"})).await;
        assert_eq!(bench.read("new"), "a\r\nb\n");
    }

    #[tokio::test]
    async fn writes_through_a_link() {
        let bench = Bench::new();
        bench.write("real", "1");
        std::os::unix::fs::symlink("real", bench.path("link")).unwrap();
        let planned = bench.plan("write_file", json!({"path": "link", "content": "2"})).await;
        let call = planned.call.ok().unwrap();
        let Intent::Edit(edits) = call.intent() else { panic!() };
        assert_eq!(edits[0].path, bench.path("real"));
        bench.call("write_file", json!({"path": "link", "content": "2"})).await;
        assert_eq!(bench.read("real"), "2");
        assert!(bench.path("link").is_symlink());
    }

    #[tokio::test]
    async fn refusals_leave_the_file() {
        let bench = Bench::new();
        bench.write("a.json", "{}");
        bench.write("broken.json", "{,");
        for (args, word) in [
            (json!({"path": "a.json", "content": "{"}), "JSON"),
            (json!({"path": "n.toml", "content": "a ="}), "TOML"),
            (json!({"path": "n", "content": "1|a\n2|b\n"}), "line numbers"),
            (json!({"path": "n", "content": read_file::UNCHANGED}), "note from read_file"),
            (json!({"path": "n/", "content": ""}), "folder"),
            (json!({"path": "", "content": ""}), "path is empty"),
            (json!({"path": "n"}), "content"),
            (json!({"path": "/dev/null", "content": "x"}), "regular file"),
        ] {
            let output = bench.call("write_file", args.clone()).await;
            assert_eq!(output.outcome, Outcome::Failed, "{args}");
            assert!(output.content.contains(word), "{args}: {}", output.content);
        }
        assert_eq!(bench.files(), ["a.json", "broken.json"]);
        // what was broken before may stay so
        assert_eq!(
            bench.call("write_file", json!({"path": "broken.json", "content": "{,,"})).await.outcome,
            Outcome::Ok
        );
    }
}
