//! `/context` and `/usage`: what fills the window and what was used, in figures that are true or absent.

use crate::protocol::{AssistantBody, Body, Item, ItemId, Meter, Usage};
use crate::text::format::{count, dollars, plural};
use crate::text::tokens::{IMAGE, of as tokens};
use crate::text::width::{pad, truncate_end};
use std::fmt::Write as _;

/// Cells of the bar.
const BAR: u64 = 40;
/// Results that are named.
const LARGEST: usize = 5;

/// What a request consists of besides its items.
pub struct Frame {
    /// Bytes of the system prompt; `None` until the first turn has made it.
    pub prompt: Option<usize>,
    /// Number of tools and the tokens that they take.
    pub tools: (usize, u64),
    /// The first item that the model still reads.
    pub from: ItemId,
}

/// Characters by what they are.
#[derive(Default)]
struct Parts {
    prompts: usize,
    situation: usize,
    images: usize,
    answers: usize,
    calls: usize,
    results: usize,
    /// Tool, target and size of each result.
    each: Vec<(usize, String)>,
}

impl Parts {
    fn of(items: &[Item]) -> Self {
        let mut parts = Self::default();
        for item in items {
            match &item.body {
                Body::User { text, images, context, .. } => {
                    parts.prompts += text.len();
                    parts.situation += context.len();
                    parts.images += images.len();
                }
                Body::Assistant(body) => {
                    parts.answers += body.text.len();
                    parts.calls += body.calls.iter().map(|call| call.name.len() + call.args.len()).sum::<usize>();
                }
                Body::Tool(body) => {
                    parts.results += body.content.len();
                    let target: String = body.view.target.split_whitespace().collect::<Vec<_>>().join(" ");
                    parts.each.push((body.content.len(), format!("{} {target}", body.name)));
                }
                Body::Summary(_) | Body::Note { .. } => {}
            }
        }
        parts.each.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
        parts
    }
}

/// A share in whole percent; empty of nothing.
fn percent(part: u64, whole: u64) -> String {
    match (part * 100).checked_div(whole) {
        None => String::new(),
        Some(0) if part > 0 => "<1 %".into(),
        Some(share) => format!("{share} %"),
    }
}

/// `/context`.
pub fn context(items: &[Item], frame: &Frame, meter: &Meter) -> String {
    let read: Vec<Item> = items.iter().filter(|item| item.id >= frame.from).cloned().collect();
    let parts = Parts::of(&read);
    let mut out = String::new();
    match meter.window.filter(|window| *window > 0) {
        Some(window) => {
            let used = meter.context.min(window);
            let filled = (used * BAR).div_ceil(window);
            let free = window.saturating_sub(meter.context);
            let _ = writeln!(
                out,
                "Next request  {} of {} tokens · {}",
                count(meter.context),
                count(window),
                percent(meter.context, window)
            );
            let _ = writeln!(out, "{}{}", "▓".repeat(filled as usize), "░".repeat((BAR - filled) as usize));
            let _ = writeln!(out, "free          {} tokens", count(free));
        }
        None => {
            let _ = writeln!(out, "Next request  {} of ? tokens", count(meter.context));
            out.push_str("The window of this model is unknown;\nset model.context_length in config.yaml.\n");
        }
    }
    let fixed = frame.prompt.map(tokens);
    let rows = [
        ("system prompt".to_owned(), fixed),
        (plural(frame.tools.0 as u64, "tool", "tools"), Some(frame.tools.1)),
        ("prompts".into(), Some(tokens(parts.prompts))),
        ("per-turn state".into(), Some(tokens(parts.situation))),
        (plural(parts.images as u64, "image", "images"), (parts.images > 0).then(|| (parts.images * IMAGE) as u64)),
        ("answers".into(), Some(tokens(parts.answers))),
        ("tool calls".into(), Some(tokens(parts.calls))),
        (plural(parts.each.len() as u64, "tool result", "tool results"), Some(tokens(parts.results))),
    ];
    let sum: u64 = rows.iter().filter_map(|(_, tokens)| *tokens).sum();
    out.push_str("\nWhat fills it, estimated at 4 characters a token\n");
    for (name, tokens) in &rows {
        match tokens {
            Some(0) => {}
            Some(tokens) => {
                let _ = writeln!(
                    out,
                    "  {} {:>10}  {:>5}",
                    pad(name, 24),
                    format!("≈ {}", count(*tokens)),
                    percent(*tokens, sum)
                );
            }
            None if name == "system prompt" => {
                let _ = writeln!(out, "  {}  built on the first turn", pad(name, 24));
            }
            None => {}
        }
    }
    let _ = writeln!(out, "  {} {:>10}", pad("show all", 24), format!("≈ {}", count(sum)));
    if sum > meter.context + meter.context / 10 && !parts.each.is_empty() {
        out.push_str("  Older results are shortened when sent: the\n  request is smaller than the sum of its parts.\n");
    }
    if read.len() < items.len() {
        let _ = writeln!(
            out,
            "  {} before them are summarized or left out.",
            plural((items.len() - read.len()) as u64, "entry", "entries")
        );
    }
    let large: Vec<_> = parts.each.iter().filter(|(size, _)| *size > 2000).take(LARGEST).collect();
    if !large.is_empty() {
        out.push_str("\nLargest results\n");
        for (size, name) in large {
            let _ = writeln!(
                out,
                "  {} {:>10}",
                pad(&truncate_end(name.trim_end(), 32), 32),
                format!("≈ {}", count(tokens(*size)))
            );
        }
    }
    out
}

fn cost(usage: &Usage) -> String {
    usage.cost.map_or_else(|| "no price".to_owned(), dollars)
}

fn add(sum: &mut Usage, more: &Usage, first: bool) {
    sum.input += more.input;
    sum.cached += more.cached;
    sum.cache_write += more.cache_write;
    sum.output += more.output;
    sum.reasoning += more.reasoning;
    // one call without a price makes the sum unknown
    sum.cost = match (sum.cost, more.cost) {
        (_, Some(cost)) if first => Some(cost),
        (Some(sum), Some(cost)) => Some(sum + cost),
        (None | Some(_), None) | (None, Some(_)) => None,
    };
}

/// `/usage`. `items` is the conversation; `answers` are all that this session ever got, also those that a rewind left out:
/// they were paid for, and `total` counts them.
pub fn usage(items: &[Item], answers: &[Item], total: &Usage) -> String {
    let mut models: Vec<(String, u64, Usage)> = Vec::new();
    let of = |what: fn(&Body) -> bool| items.iter().filter(|item| what(&item.body)).count() as u64;
    let prompts = of(|body| matches!(body, Body::User { .. }));
    let calls = of(|body| matches!(body, Body::Tool(_)));
    let mut left_out = 0u64;
    for item in answers {
        let Body::Assistant(AssistantBody { usage: Some(usage), model, .. }) = &item.body else { continue };
        left_out += u64::from(items.binary_search_by_key(&item.id, |item| item.id).is_err());
        let name = if model.is_empty() { "unknown model" } else { model };
        match models.iter_mut().find(|(known, _, _)| known == name) {
            Some((_, count, sum)) => {
                *count += 1;
                add(sum, usage, false);
            }
            None => {
                let mut sum = Usage::default();
                add(&mut sum, usage, true);
                models.push((name.to_owned(), 1, sum));
            }
        }
    }
    let steps: u64 = models.iter().map(|(_, count, _)| *count).sum();
    let mut out = format!(
        "{} · {} · {}\n",
        plural(prompts, "prompt", "prompts"),
        plural(steps, "answer", "answers"),
        plural(calls, "tool call", "tool calls"),
    );
    if left_out > 0 {
        let _ = writeln!(out, "{} no longer in the conversation", plural(left_out, "answer is", "answers are"));
    }
    out.push_str("\nTokens of this session, as the provider counts\n");
    let mut row = |name: &str, tokens: u64, note: String| {
        let line = format!("  {} {:>12}  {note}", pad(name, 20), count(tokens));
        let _ = writeln!(out, "{}", line.trim_end());
    };
    let share = percent(total.cached, total.input);
    row("input", total.input, String::new());
    row("  from the cache", total.cached, share);
    if total.cache_write > 0 {
        row("  into the cache", total.cache_write, String::new());
    }
    row("output", total.output, String::new());
    if total.reasoning > 0 {
        row("  of that, reasoning", total.reasoning, percent(total.reasoning, total.output));
    }
    let _ = writeln!(out, "  {} {:>12}", pad("cost", 20), cost(total));
    if !models.is_empty() {
        out.push_str("\nBy model\n");
    }
    for (name, count_, usage) in &models {
        let cached = percent(usage.cached, usage.input);
        let cached = if usage.cached > 0 { format!(" ({cached} cached)") } else { String::new() };
        let _ = writeln!(
            out,
            "  {name}\n    {} · in {}{cached}\n    out {} · {}",
            plural(*count_, "answer", "answers"),
            count(usage.input),
            count(usage.output),
            cost(usage)
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Origin, ToolBody};

    fn items() -> Vec<Item> {
        let user = |text: &str| Body::User {
            text: text.into(),
            images: Vec::new(),
            context: "cwd".into(),
            origin: Origin::Person,
            gist: String::new(),
        };
        let answer = |model: &str, cost| {
            let usage = Usage { input: 1000, cached: 800, output: 50, cost, ..Usage::default() };
            let body = AssistantBody {
                text: "x".repeat(400),
                model: model.into(),
                usage: Some(usage),
                ..AssistantBody::default()
            };
            Body::Assistant(body)
        };
        let result =
            Body::Tool(ToolBody { name: "terminal".into(), content: "y".repeat(40_000), ..ToolBody::default() });
        let bodies =
            [user("hello"), answer("a:one", Some(0.01)), result, answer("a:one", Some(0.02)), answer("b:two", None)];
        let item = |(at, body)| Item { id: ItemId(at as i64 + 1), at: 0, turn: 1, body };
        bodies.into_iter().enumerate().map(item).collect()
    }

    #[test]
    fn the_parts_of_a_request_are_estimates_and_the_whole_is_the_meters() {
        let meter = Meter { context: 12_345, window: Some(200_000), total: Usage::default() };
        let frame = Frame { prompt: Some(8000), tools: (3, 1000), from: ItemId(1) };
        let text = context(&items(), &frame, &meter);
        for line in [
            "12,345 of 200,000 tokens · 6 %",
            "≈ 2,000",
            "3 tools",
            "1 tool result",
            "≈ 10,000",
            "Largest results",
            "187,655",
        ] {
            assert!(text.contains(line), "no {line:?} in\n{text}");
        }
        assert!(!text.contains("image"), "what there is none of is not listed\n{text}");
        assert!(text.lines().all(|line| crate::text::width::width(line) <= 50), "{text}");
    }

    #[test]
    fn what_is_not_known_is_not_made_up() {
        let meter = Meter { context: 10, window: None, total: Usage::default() };
        let text = context(&[], &Frame { prompt: None, tools: (0, 0), from: ItemId(1) }, &meter);
        assert!(text.contains("10 of ? tokens") && text.contains("built on the first turn"), "{text}");
        assert!(!text.contains('▓'), "{text}");
        let text = usage(&[], &[], &Usage::default());
        assert!(text.contains("no price") && !text.contains("By model") && !text.contains('%'), "{text}");
    }

    #[test]
    fn entries_that_the_model_no_longer_reads_are_not_counted() {
        let meter = Meter { context: 100, window: Some(1000), total: Usage::default() };
        let frame = Frame { prompt: Some(4), tools: (1, 4), from: ItemId(4) };
        let text = context(&items(), &frame, &meter);
        assert!(!text.contains("tool result") && text.contains("3 entries before them"), "{text}");
    }

    #[test]
    fn usage_goes_by_model_and_one_call_without_a_price_hides_the_sum() {
        let total = Usage { input: 3000, cached: 2400, output: 150, cost: None, ..Usage::default() };
        let text = usage(&items(), &items(), &total);
        for line in [
            "1 prompt · 3 answers · 1 tool call",
            "80 %",
            "a:one",
            "2 answers · in 2,000 (80 % cached)",
            "$0.03",
            "no price",
        ] {
            assert!(text.contains(line), "no {line:?} in\n{text}");
        }
    }

    #[test]
    fn the_models_add_up_to_the_total_after_a_rewind_too() {
        let all = items();
        let total = Usage { input: 3000, cached: 2400, output: 150, cost: None, ..Usage::default() };
        // the second prompt and its answers were left out
        let text = usage(&all[..2], &all, &total);
        for line in ["1 prompt · 3 answers", "2 answers are no longer in the conversation", "in 2,000", "in 1,000"] {
            assert!(text.contains(line), "no {line:?} in\n{text}");
        }
        assert!(!usage(&all, &all, &total).contains("no longer"));
    }
}
