//! The `clarify` tool: a question to the user, answered in their own time.

use crate::policy::Intent;
use crate::protocol::QuestionId;
use crate::tools::spec::{Access, Call, Parallel, Question, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec, Verbs};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::LazyLock;

const MAX_CHOICES: usize = 6;

/// The tool's name.
pub const NAME: &str = "clarify";
/// The tool.
pub struct Clarify;

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    let spec = super::built_in(
        NAME,
        NAME,
        "❓",
        include_str!("../../../assets/tools/clarify.md"),
        json!({
            "type": "object",
            "properties": {
                "question": {"type": "string"},
                "choices": {"type": "array", "items": {"type": "string"}, "maxItems": MAX_CHOICES},
                "allow_freetext": {"type": "boolean", "default": true}
            },
            "required": ["question"]
        }),
        Access::Agent,
        Verbs::new("asking", "asked"),
        Parallel::Never,
    );
    ToolSpec { repeats: true, lenient: &["choices"], ..spec }
});

#[derive(Deserialize)]
struct Args {
    question: String,
    choices: Option<Vec<Value>>,
    allow_freetext: Option<bool>,
}

impl Tool for Clarify {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn target(&self, args: &Value) -> String {
        super::first_line_of(args, "question")
    }

    fn plan<'a>(&'a self, args: Value, _: &'a ToolCtx) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        Box::pin(async move {
            let args: Args = super::parse(NAME, args)?;
            let text = args.question.trim().to_owned();
            if text.is_empty() {
                return Err(ToolError::Args("question is empty; say what you need to know".into()));
            }
            let mut choices: Vec<String> = Vec::new();
            for choice in args.choices.unwrap_or_default().iter().filter_map(choice) {
                if !choices.contains(&choice) {
                    choices.push(choice);
                }
            }
            if choices.len() > MAX_CHOICES {
                let why = format!("{} choices are too many; offer at most {MAX_CHOICES}", choices.len());
                return Err(ToolError::Args(why));
            }
            // A question that nobody could answer is asked openly.
            let allow_freetext = args.allow_freetext.unwrap_or(true) || choices.is_empty();
            Ok(Box::new(ClarifyCall { text, choices, allow_freetext }) as Box<dyn Call>)
        })
    }
}

/// The words of a choice; some models wrap them in an object.
fn choice(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Object(fields) => ["label", "text", "value", "title"]
            .iter()
            .find_map(|key| fields.get(*key).and_then(Value::as_str))
            .map(|text| text.trim().to_owned())?,
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Null | Value::Array(_) => return None,
    };
    (!text.is_empty()).then_some(text)
}

struct ClarifyCall {
    text: String,
    choices: Vec<String>,
    allow_freetext: bool,
}

impl Call for ClarifyCall {
    fn intent(&self) -> &Intent {
        &Intent::Talk
    }

    fn target(&self) -> String {
        self.text.clone()
    }

    fn run(self: Box<Self>, ctx: ToolCtx) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let question = Question {
                // The agent numbers its questions.
                id: QuestionId::default(),
                call_id: ctx.call_id,
                text: self.text,
                choices: self.choices,
                allow_freetext: self.allow_freetext,
                own_answer: String::new(),
            };
            let answer = tokio::select! {
                biased;
                answer = ctx.agent.ask(question) => answer,
                () = ctx.cancel.cancelled() => return Err(ToolError::Interrupted),
            };
            match answer {
                Ok(answer) => {
                    let summary = answer.clone();
                    Ok(ToolOutput { content: answer, ..ToolOutput::default() }.summary(summary))
                }
                Err(_) if ctx.cancel.is_cancelled() => Err(ToolError::Interrupted),
                Err(why) => Err(ToolError::Failed(format!(
                    "no answer: {why}; decide yourself: pick the most sensible choice, say which, and continue"
                ))),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Outcome;
    use crate::tools::testing::Bench;

    #[tokio::test]
    async fn the_answer_is_the_result() {
        let bench = Bench::new();
        *bench.agent.answer.lock().unwrap() = Some("the second".into());
        let args =
            json!({"question": " which? ", "choices": ["a", {"label": "b"}, "a", "", 3], "allow_freetext": false});
        assert_eq!(bench.call("clarify", args).await.content, "the second");
        let asked = bench.agent.asked.lock().unwrap().clone();
        assert_eq!((asked[0].text.as_str(), asked[0].allow_freetext), ("which?", false));
        assert_eq!(asked[0].choices, ["a", "b", "3"]);
        bench.call("clarify", json!({"question": "open?", "allow_freetext": false})).await;
        assert!(bench.agent.asked.lock().unwrap()[1].allow_freetext);
    }

    #[tokio::test]
    async fn without_a_person_the_model_decides() {
        let bench = Bench::new();
        let output = bench.call("clarify", json!({"question": "which?"})).await;
        assert_eq!(output.outcome, Outcome::Failed);
        assert!(output.content.contains("decide yourself"), "{}", output.content);
    }

    #[tokio::test]
    async fn bad_questions_are_refused() {
        let bench = Bench::new();
        *bench.agent.answer.lock().unwrap() = Some("x".into());
        for (args, word) in [
            (json!({"question": " "}), "question is empty"),
            (json!({}), "question"),
            (json!({"question": "q", "choices": ["1", "2", "3", "4", "5", "6", "7"]}), "at most 6"),
        ] {
            let output = bench.call("clarify", args).await;
            assert!(output.outcome == Outcome::Failed && output.content.contains(word), "{}", output.content);
        }
    }
}
