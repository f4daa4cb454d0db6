//! `/usage`: what was used, in figures that are true or absent.

use crate::protocol::{AssistantBody, Body, Item, PrefixBreak, Usage};
use crate::text::format::{count, dollars, percent, plural};
use crate::text::width::pad;
use std::fmt::Write as _;

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

/// What of `/usage` says why the provider's cache did not help; empty when it always did.
pub fn breaks(breaks: &[PrefixBreak]) -> String {
    if breaks.is_empty() {
        return String::new();
    }
    let mut out = "\nWhere the cache broke\n".to_owned();
    for one in breaks.iter().rev() {
        let time = chrono::DateTime::from_timestamp_millis(one.at).unwrap_or_default().with_timezone(&chrono::Local);
        let share = percent(one.cached, one.input);
        let share = if share.is_empty() { "0 %".to_owned() } else { share };
        let _ = writeln!(out, "  {}  {share} of {} tokens cached", time.format("%H:%M"), count(one.input));
        let what = match (one.part.is_empty(), one.cause.is_empty()) {
            (true, _) => one.cause.clone(),
            (false, true) => format!("first difference: {}", one.part),
            (false, false) => format!("first difference: {}, because {}", one.part, one.cause),
        };
        let _ = writeln!(out, "    {what}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{ItemId, Origin, ToolBody};

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
    fn a_broken_prefix_is_named_with_its_cause() {
        let broken = |part: &str, cause: &str| PrefixBreak {
            at: 0,
            part: part.into(),
            cause: cause.into(),
            cached: 100,
            input: 1_000,
        };
        let text = breaks(&[broken("", "it was gone"), broken("message 3 of 9", "the conversation was compacted")]);
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(lines[1], "    first difference: message 3 of 9, because the conversation was compacted");
        assert!(lines[0].ends_with("10 % of 1,000 tokens cached"), "{text}");
        assert_eq!(lines[3], "    it was gone");
        assert_eq!(breaks(&[]), "");
    }

    #[test]
    fn what_is_not_known_is_not_made_up() {
        let text = usage(&[], &[], &Usage::default());
        assert!(text.contains("no price") && !text.contains("By model") && !text.contains('%'), "{text}");
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
