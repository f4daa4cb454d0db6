//! Two short requests that show what a model can do: one that wants a call, one that wants none.

use super::ability::{Ability, Called, NARROW};
use super::message::Message;
use super::{Delta, Effort, Provider, ProviderError, Reply, Request, ToolSchema};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Tokens of an answer.
const ANSWER: u32 = 256;
/// How long one request may take once the model is loaded.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long a model may take to load and to read the request.
const LOADING: Duration = Duration::from_secs(600);

/// Asks the model. `window` is what is known of it.
///
/// # Errors
/// The first request failed; the second one says less, and its failure counts as a no.
pub async fn run(model: &dyn Provider, now: i64) -> Result<Ability, ProviderError> {
    let mut ability = Ability { window: model.model().context, at: now, ..Ability::default() };
    let wanted = "Use the tool: book the room Blue for 3 people with a screen.";
    let (reply, heard) = ask(model, wanted).await?;
    ability.streams = heard.pieces > 1;
    if let Some(call) = reply.calls.iter().find(|call| call.name == "book_room") {
        ability.calls = if call.repaired { Called::AsText } else { Called::Natively };
        ability.types = serde_json::from_str::<Value>(&call.args).is_ok_and(|args| is_typed(&args));
    }
    let (mut read, mut wrote) = (Rate::default(), Rate::default());
    measure(&reply, &heard, &mut read, &mut wrote);
    // What was not learned speaks against nobody.
    ability.restraint = true;
    if let Ok((reply, heard)) = ask(model, "Hello! Who are you?").await {
        ability.restraint = reply.calls.is_empty() && !reply.text.trim().is_empty();
        ability.streams |= heard.pieces > 1;
        measure(&reply, &heard, &mut read, &mut wrote);
    }
    (ability.prompt_rate, ability.rate) = (read.value(), wrote.value());
    Ok(ability)
}

fn is_typed(args: &Value) -> bool {
    args.get("room").is_some_and(Value::is_string)
        && args.get("people").and_then(Value::as_i64) == Some(3)
        && args.get("screen").is_none_or(Value::is_boolean)
}

/// What came, and when.
#[derive(Debug, Default)]
struct Heard {
    pieces: usize,
    first: Option<Duration>,
    whole: Duration,
}

async fn ask(model: &dyn Provider, text: &str) -> Result<(Reply, Heard), ProviderError> {
    let request = Request {
        system: "You are an assistant with tools.".into(),
        tools: Arc::new([tool("book_room", "Book a room.", room()), tool("find_train", "Find a train.", train())]),
        messages: vec![Message::User { text: text.into(), images: Vec::new() }],
        effort: Effort::None,
        max_output: Some(ANSWER),
        grammar: None,
        cache_key: String::new(),
    };
    let (sink, mut pieces) = mpsc::channel(64);
    let cancel = CancellationToken::new();
    let mut begun = Instant::now();
    let mut heard = Heard::default();
    let call = model.stream(&request, sink, cancel.clone());
    tokio::pin!(call);
    let limit = tokio::time::sleep(PATIENCE);
    tokio::pin!(limit);
    let done = loop {
        tokio::select! {
            biased;
            Some(piece) = pieces.recv() => match piece {
                // Loading is not reading.
                Delta::Waiting(_) => {
                    begun = Instant::now();
                    limit.as_mut().reset(tokio::time::Instant::now() + LOADING);
                }
                Delta::Text(_) | Delta::Reasoning(_) | Delta::CallStarted { .. } | Delta::CallProgress { .. } => {
                    if heard.pieces == 0 {
                        limit.as_mut().reset(tokio::time::Instant::now() + PATIENCE);
                    }
                    heard.pieces += 1;
                    heard.first.get_or_insert_with(|| begun.elapsed());
                }
            },
            done = &mut call => break done,
            () = &mut limit, if !cancel.is_cancelled() => cancel.cancel(),
        }
    };
    heard.whole = begun.elapsed();
    let late = |mut error: ProviderError| {
        if cancel.is_cancelled() {
            error.message = format!("the model did not answer a short request within {} s", PATIENCE.as_secs());
        }
        error
    };
    done.map(|reply| (reply, heard)).map_err(late)
}

fn tool(name: &str, description: &str, parameters: Value) -> ToolSchema {
    ToolSchema { name: name.into(), description: description.into(), parameters: Arc::new(parameters) }
}

fn room() -> Value {
    json!({"type": "object", "properties": {
        "room": {"type": "string"}, "people": {"type": "integer"}, "screen": {"type": "boolean"},
    }, "required": ["room", "people"]})
}

fn train() -> Value {
    json!({"type": "object", "properties": {"from": {"type": "string"}, "to": {"type": "string"}}, "required": ["to"]})
}

/// Tokens over time.
#[derive(Default)]
struct Rate {
    tokens: f64,
    seconds: f64,
}

impl Rate {
    fn add(&mut self, tokens: u64, time: Duration) {
        self.tokens += tokens as f64;
        self.seconds += time.as_secs_f64();
    }

    fn value(&self) -> Option<f64> {
        (self.tokens >= 1.0 && self.seconds > 0.001).then(|| (self.tokens / self.seconds * 10.0).round() / 10.0)
    }
}

/// What was read until the first piece, and written after it.
fn measure(reply: &Reply, heard: &Heard, read: &mut Rate, wrote: &mut Rate) {
    let (Some(usage), Some(first)) = (&reply.usage, heard.first) else { return };
    read.add(usage.input.saturating_sub(usage.cached), first);
    if usage.output > 1 {
        wrote.add(usage.output - 1, heard.whole.saturating_sub(first));
    }
}

/// What to say of it, a line each: what was measured first, then what to do about what is not as it should be.
pub fn words(ability: &Ability, provider: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let speed = ability.rate.map(|rate| format!("{rate:.0} tokens/s"));
    let window = ability.window.map(|window| format!("{} window", crate::text::format::context(window)));
    let streams = Some(if ability.streams { "streams" } else { "does not stream" }.to_owned());
    let calls = (ability.calls == Called::Natively).then(|| "calls tools".to_owned());
    let measured: Vec<String> = [streams, window, speed, calls].into_iter().flatten().collect();
    lines.push(measured.join(" · "));
    match (ability.calls, ability.types) {
        (Called::Natively, true) => {}
        (Called::Natively, false) => lines.push("gives arguments of wrong types: they are repaired".into()),
        (Called::AsText, _) => {
            lines.push(format!("writes tool calls as plain text, which Hermes reads. {}", template(provider)))
        }
        (Called::Not, _) => lines.push(format!("did not call a tool. {}", template(provider))),
    }
    if !ability.restraint {
        lines.push("calls tools even for a greeting: expect needless calls".into());
    }
    if let Some(window) = ability.window.filter(|window| *window < NARROW) {
        lines.push(format!("a window of {} is small: {}", crate::text::format::context(window), larger(provider)));
    }
    if ability.is_small() {
        lines.push("it gets fewer tools and shorter texts (models.small_profile: off gives it all)".into());
    }
    lines
}

fn template(provider: &str) -> &'static str {
    match provider {
        "local" => "From now on they are held to the right form (a grammar).",
        "llamacpp" => "Start llama-server with --jinja, so that its chat template knows tools.",
        "ollama" => "Choose a model that `ollama show` lists with the capability tools.",
        "lmstudio" => "Choose a model that LM Studio marks as trained for tool use.",
        "vllm" => "Start vLLM with --enable-auto-tool-choice and the parser for this model.",
        _ => "Check that the model and its chat template support tools.",
    }
}

fn larger(provider: &str) -> &'static str {
    match provider {
        "ollama" => "raise num_ctx (OLLAMA_CONTEXT_LENGTH=32768, or PARAMETER num_ctx in a Modelfile)",
        "lmstudio" => "raise the context length in LM Studio's model settings, and load the model again",
        "llamacpp" => "start llama-server with a larger --ctx-size",
        "vllm" => "start vLLM with a larger --max-model-len",
        "local" => "set models.context, or take a smaller model",
        _ => "raise it on the server",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_comes_first_and_every_warning_says_what_helps() {
        let able = Ability {
            streams: true,
            calls: Called::Natively,
            types: true,
            restraint: true,
            window: Some(32_000),
            rate: Some(12.3),
            ..Ability::default()
        };
        assert_eq!(words(&able, "local"), ["streams · 32K window · 12 tokens/s · calls tools"]);
        let small = "it gets fewer tools and shorter texts (models.small_profile: off gives it all)";
        for (ability, provider, said) in [
            (Ability { calls: Called::Not, ..able.clone() }, "llamacpp", "--jinja"),
            (Ability { calls: Called::AsText, ..able.clone() }, "vllm", "--enable-auto-tool-choice"),
            (Ability { window: Some(4096), ..able.clone() }, "ollama", "num_ctx"),
            (Ability { window: Some(4096), ..able.clone() }, "lmstudio", "context length"),
            (Ability { types: false, ..able.clone() }, "local", "repaired"),
            (Ability { restraint: false, ..able.clone() }, "local", "needless calls"),
        ] {
            let lines = words(&ability, provider);
            assert!(lines[1].contains(said), "{lines:?}");
            assert_eq!(lines.last().map(String::as_str), Some(small), "{lines:?}");
        }
    }
}
