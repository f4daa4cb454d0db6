//! The `plan_mode` tool: asks to enter plan mode, and presents a plan, which a person approves, changes or discards.

use crate::fs;
use crate::policy::Intent;
use crate::protocol::{CallRow, Mode, Question, QuestionId};
use crate::tools::spec::{Access, Call, Parallel, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec, Verbs};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Characters of a plan.
const LONGEST: usize = 40_000;
/// Lines of it on the card; the file has all.
const SHOWN: usize = 24;
/// Characters of the file's name.
const NAME_CHARS: usize = 40;
/// The folder in the home.
const FOLDER: &str = "plans";
const DISCARD: &str = "Discard the plan";
/// What the free answer of the card is called.
const OWN_ANSWER: &str = "Say what to change";

/// The tool's name.
pub const NAME: &str = "plan_mode";
/// The tool.
pub struct PlanMode;

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    let spec = super::built_in(
        NAME,
        "planning",
        "📋",
        include_str!("../../../assets/tools/plan_mode.md"),
        json!({
            "type": "object",
            "properties": {
                "action": {"type": "string", "enum": ["enter", "present"]},
                "plan": {"type": "string", "description": "Markdown, for present: steps, files, checks, risks"}
            },
            "required": ["action"]
        }),
        Access::Agent,
        Verbs::new("planning", "planned"),
        Parallel::Never,
    );
    ToolSpec { row: CallRow::Own, ..spec }
});

#[derive(Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Act {
    #[default]
    Enter,
    Present,
}

#[derive(Deserialize)]
struct Args {
    action: Act,
    #[serde(default)]
    plan: String,
}

impl Tool for PlanMode {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn plan<'a>(&'a self, args: Value, _: &'a ToolCtx) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        Box::pin(async move {
            let args: Args = super::parse(NAME, args)?;
            let plan = args.plan.trim().to_owned();
            if args.action == Act::Present && plan.is_empty() {
                return Err(ToolError::Args("`plan` is empty".into()));
            }
            if plan.chars().count() > LONGEST {
                return Err(ToolError::Args(format!("the plan is longer than {LONGEST} characters: shorten it")));
            }
            Ok(Box::new(PlanCall { action: args.action, plan }) as Box<dyn Call>)
        })
    }
}

struct PlanCall {
    action: Act,
    plan: String,
}

/// What the first heading says, else the first line.
fn title(plan: &str) -> String {
    let line = plan.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !line.is_empty());
    line.unwrap_or_default().to_owned()
}

/// The name of the file: `2026-11-01-move-the-parser.md`.
fn file_name(plan: &str, day: &str) -> String {
    let mut name = String::new();
    for c in title(plan).to_lowercase().chars().take(NAME_CHARS) {
        match c {
            c if c.is_alphanumeric() => name.push(c),
            _ if name.ends_with('-') || name.is_empty() => {}
            _ => name.push('-'),
        }
    }
    format!("{day}-{}.md", name.trim_end_matches('-')).replace("-.md", ".md")
}

/// Writes it down; the name of an earlier plan of the day gets a number.
fn save(home: &Path, plan: &str) -> Result<PathBuf, String> {
    let folder = home.join(FOLDER);
    let day = chrono::Local::now().format("%Y-%m-%d").to_string();
    let first = folder.join(file_name(plan, &day));
    let stem = first.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let free = |path: &PathBuf| !path.exists() || std::fs::read_to_string(path).is_ok_and(|text| text == plan);
    let numbered = (2..100).map(|number| folder.join(format!("{stem}-{number}.md")));
    let path = std::iter::once(first).chain(numbered).find(free).ok_or("too many plans of that name today")?;
    let saved = fs::ensure_dir(&folder).and_then(|()| fs::write_whole(&path, plan));
    saved.map(|()| path).map_err(|error| error.to_string())
}

/// The card: the plan, and where all of it is.
fn card(plan: &str, saved: &Result<PathBuf, String>) -> String {
    let lines: Vec<&str> = plan.lines().collect();
    let mut text = lines.iter().take(SHOWN).copied().collect::<Vec<_>>().join("\n");
    if lines.len() > SHOWN {
        text.push_str(&format!("\n… {} more lines", lines.len() - SHOWN));
    }
    match saved {
        Ok(path) => text.push_str(&format!("\n\n{}", path.display())),
        Err(why) => text.push_str(&format!("\n\nnot saved: {why}")),
    }
    text
}

/// What a choice of the card means.
fn mode_of(answer: &str) -> Option<Mode> {
    [Mode::Ask, Mode::Review, Mode::Auto].into_iter().find(|mode| answer == approval(*mode))
}

fn approval(mode: Mode) -> String {
    format!("Approve: go on in {} mode", mode.word())
}

async fn ask(ctx: &ToolCtx, text: String, choices: Vec<String>, own: bool) -> Result<String, ToolError> {
    let call_id = ctx.call_id.clone();
    let own_answer = if own { OWN_ANSWER.to_owned() } else { String::new() };
    let question = Question { id: QuestionId::default(), call_id, text, choices, allow_freetext: own, own_answer };
    tokio::select! {
        biased;
        answer = ctx.agent.ask(question) => answer.map_err(|why| {
            if ctx.cancel.is_cancelled() {
                ToolError::Interrupted
            } else {
                ToolError::Failed(format!("nobody can approve here: {why}"))
            }
        }),
        () = ctx.cancel.cancelled() => Err(ToolError::Interrupted),
    }
}

impl Call for PlanCall {
    fn intent(&self) -> &Intent {
        &Intent::Talk
    }

    fn target(&self) -> String {
        match self.action {
            Act::Enter => "enter plan mode".to_owned(),
            Act::Present => title(&self.plan),
        }
    }

    fn run(self: Box<Self>, ctx: ToolCtx) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            match self.action {
                Act::Enter => enter(&ctx).await,
                Act::Present => present(&ctx, self.plan).await,
            }
        })
    }
}

async fn enter(ctx: &ToolCtx) -> Result<ToolOutput, ToolError> {
    let (yes, no) = ("Plan first", "Go on without a plan");
    let text = "The agent asks to plan first: it looks around and changes nothing until you approve.".to_owned();
    let answer = ask(ctx, text, vec![yes.into(), no.into()], false).await?;
    if answer != yes {
        let value = json!({"mode": "unchanged", "note": "the user wants no plan: do the work"});
        return Ok(ToolOutput::json(&value).summary("no plan"));
    }
    ctx.agent.set_mode(Mode::Plan).await;
    let value = json!({"mode": "plan", "note": "look around, then call plan_mode with action present"});
    Ok(ToolOutput::json(&value).summary("plan mode"))
}

async fn present(ctx: &ToolCtx, plan: String) -> Result<ToolOutput, ToolError> {
    let home = ctx.history.as_ref().map(|history| history.home.clone());
    let (text, place) = (plan.clone(), home);
    let saved = super::super::blocking(move || match place {
        Some(home) => save(&home, &text),
        None => Err("there is no session".into()),
    })
    .await?;
    let mut choices: Vec<String> = [Mode::Ask, Mode::Review, Mode::Auto].map(approval).to_vec();
    choices.push(DISCARD.to_owned());
    let answer = ask(ctx, card(&plan, &saved), choices, true).await?;
    let file = saved.map(|path| path.display().to_string()).unwrap_or_default();
    if let Some(mode) = mode_of(&answer) {
        ctx.agent.set_mode(mode).await;
        let value = json!({"approved": true, "mode": mode.word(), "file": file, "note": "carry it out"});
        return Ok(ToolOutput::json(&value).summary(format!("approved · {} mode", mode.word())));
    }
    if answer == DISCARD {
        let value = json!({"approved": false, "file": file, "note": "discarded: stop, and ask what is wanted instead"});
        return Ok(ToolOutput::json(&value).summary("discarded"));
    }
    let value =
        json!({"approved": false, "change": answer, "file": file, "note": "change the plan and present it again"});
    Ok(ToolOutput::json(&value).summary("to be changed"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::Bench;

    #[test]
    fn a_file_is_named_after_its_plan() {
        for (plan, name) in [
            ("# Move the parser\n1. …", "2026-11-01-move-the-parser.md"),
            ("\n\n  ../../etc/x", "2026-11-01-etc-x.md"),
            ("***", "2026-11-01.md"),
        ] {
            assert_eq!(file_name(plan, "2026-11-01"), name);
        }
        let home = tempfile::tempdir().unwrap();
        let first = save(home.path(), "# A\none").unwrap();
        assert_eq!(save(home.path(), "# A\none").unwrap(), first, "the same plan is the same file");
        let second = save(home.path(), "# A\ntwo").unwrap();
        assert!(second.to_string_lossy().ends_with("-a-2.md"), "{}", second.display());
    }

    #[tokio::test]
    async fn a_plan_is_approved_changed_or_discarded() {
        for (answer, says) in [
            ("Approve: go on in review mode", r#""mode":"review""#),
            (DISCARD, "discarded"),
            ("no, smaller steps", r#""change":"no, smaller steps""#),
        ] {
            let bench = Bench::new();
            *bench.agent.answer.lock().unwrap() = Some(answer.into());
            let output = bench.call("plan_mode", json!({"action": "present", "plan": "# P\n- a"})).await;
            assert!(output.content.contains(says), "{}", output.content);
            assert!(bench.agent.asked.lock().unwrap()[0].text.starts_with("# P\n- a"));
        }
    }
}
