//! `/usage`: what was used, in figures that are true or absent.

use crate::protocol::{Body, Item, Origin, PrefixBreak, Usage, Written};
use crate::store::{Calls, Tally};
use crate::text::format::{bytes, count, dollars, percent, plural, tokens as tokens_short};
use crate::text::width::pad;
use std::fmt::Write as _;

/// What calls are for, as people call it.
fn purpose(role: &str) -> &str {
    match role {
        "answer" => "main",
        "estimate" => "not reported",
        other => other,
    }
}

/// Dollars of calls, some of which may have no known price: `$0.12 + ?`.
pub fn cost(known: Option<f64>, unpriced: u64) -> String {
    match (known, unpriced) {
        (Some(known), 0) => dollars(known),
        (Some(known), _) if known > 0.0 => format!("{} + ?", dollars(known)),
        (Some(_) | None, _) => "?".to_owned(),
    }
}

fn add(sum: &mut Calls, more: &Calls) {
    let priced = sum.usage.cost.into_iter().chain(more.usage.cost).reduce(|a, b| a + b);
    sum.usage = Usage { cost: priced, ..sum.usage.plus(&more.usage) };
    sum.calls += more.calls;
    sum.unpriced += more.unpriced;
}

/// What `/usage` is made of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Used<'a> {
    /// The conversation.
    pub items: &'a [Item],
    /// All answers that the session ever got, also those that a rewind left out: they were paid for.
    pub answers: &'a [Item],
    /// What was paid for, by model and purpose.
    pub calls: &'a [Calls],
    /// What all sessions of the home used today.
    pub today: Option<Tally>,
    /// Bytes that saving wrote.
    pub written: Written,
}

/// `/usage`: tokens, their price, and the bytes that saving wrote.
pub fn usage(used: &Used<'_>) -> String {
    let of = |what: fn(&Body) -> bool| used.items.iter().filter(|item| what(&item.body)).count() as u64;
    let prompts = of(|body| matches!(body, Body::User { origin: Origin::Person, .. }));
    let tool_calls = of(|body| matches!(body, Body::Tool(_)));
    let is_answer = |item: &&Item| matches!(item.body, Body::Assistant(_));
    let is_gone = |item: &&Item| used.items.binary_search_by_key(&item.id, |item| item.id).is_err();
    let steps = used.answers.iter().filter(is_answer).count() as u64;
    let left_out = used.answers.iter().filter(is_answer).filter(is_gone).count() as u64;
    let mut out = format!(
        "{} · {} · {}\n",
        plural(prompts, "prompt", "prompts"),
        plural(steps, "answer", "answers"),
        plural(tool_calls, "tool call", "tool calls"),
    );
    if left_out > 0 {
        let _ = writeln!(out, "{} no longer in the conversation", plural(left_out, "answer is", "answers are"));
    }
    let mut all = Calls::default();
    used.calls.iter().for_each(|calls| add(&mut all, calls));
    totals(&mut out, &all);
    by_model(&mut out, used.calls);
    if let Some(today) = used.today.filter(|today| today.tokens > 0) {
        let cost = cost(Some(today.cost), today.unpriced);
        let _ = writeln!(out, "\nToday, all sessions: {} tokens · {cost}", count(today.tokens));
    }
    if used.written.session > 0 {
        let (turn, session) = (bytes(used.written.turn), bytes(used.written.session));
        let _ = writeln!(out, "\nWritten to disk: {turn} in the last turn,\n{session} since the session was opened");
    }
    out
}

fn totals(out: &mut String, all: &Calls) {
    out.push_str("\nTokens of this session, as the provider counts\n");
    let total = &all.usage;
    let mut row = |name: &str, tokens: u64, note: String| {
        let line = format!("  {} {:>12}  {note}", pad(name, 20), count(tokens));
        let _ = writeln!(out, "{}", line.trim_end());
    };
    row("input", total.input, String::new());
    row("  from the cache", total.cached, percent(total.cached, total.input));
    if total.cache_write > 0 {
        row("  into the cache", total.cache_write, String::new());
    }
    row("output", total.output, String::new());
    if total.reasoning > 0 {
        row("  of that, reasoning", total.reasoning, percent(total.reasoning, total.output));
    }
    if all.calls > 0 {
        let _ = writeln!(out, "  {} {:>12}", pad("cost", 20), cost(total.cost, all.unpriced));
    }
}

/// A row a purpose below each model, narrow enough for a small screen.
fn by_model(out: &mut String, calls: &[Calls]) {
    let row = |name: &str, [calls, input, cached, output, cost]: [&str; 5]| {
        format!("{} {calls:>5} {input:>7} {cached:>6} {output:>7} {cost:>10}\n", pad(name, 16))
    };
    if calls.is_empty() {
        return;
    }
    out.push('\n');
    out.push_str(&row("By model", ["calls", "input", "cached", "output", "cost"]));
    let mut models: Vec<&str> = Vec::new();
    for one in calls {
        if !models.contains(&one.model.as_str()) {
            models.push(&one.model);
        }
    }
    for model in models {
        let _ = writeln!(out, "  {}", if model.is_empty() { "unknown model" } else { model });
        for one in calls.iter().filter(|one| one.model == model) {
            let Usage { input, cached, output, cost: known, .. } = one.usage;
            let short = |tokens: u64| tokens_short(i64::try_from(tokens).unwrap_or(i64::MAX));
            let share = percent(cached, input);
            let cells = [&count(one.calls), &short(input), &share, &short(output), &cost(known, one.unpriced)];
            out.push_str(&row(&format!("    {}", purpose(&one.role)), cells.map(String::as_str)));
        }
    }
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
    use crate::protocol::{AssistantBody, ItemId, Origin, ToolBody};

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

    fn calls(model: &str, role: &str, known: u64, unpriced: u64) -> Calls {
        let calls = known + unpriced;
        let cost = (known > 0).then_some(0.06 * known as f64);
        let usage = Usage { input: 1000 * calls, cached: 800 * calls, output: 50 * calls, cost, ..Usage::default() };
        Calls { model: model.into(), role: role.into(), calls, usage, unpriced }
    }

    #[test]
    fn what_is_not_known_is_not_made_up() {
        let text = usage(&Used::default());
        assert!(!text.contains("By model") && !text.contains('%') && !text.contains('$'), "{text}");
        assert!(!text.contains("Today") && !text.contains("Written"), "{text}");
    }

    #[test]
    fn calls_without_a_price_are_a_question_mark_in_every_sum() {
        for (known, unpriced, text) in [
            (Some(0.12), 0, "$0.12"),
            (Some(0.12), 3, "$0.12 + ?"),
            (Some(0.0), 0, "free"),
            (Some(0.0), 1, "?"),
            (None, 1, "?"),
        ] {
            assert_eq!(cost(known, unpriced), text);
        }
    }

    #[test]
    fn usage_goes_by_model_and_purpose() {
        let all = items();
        let paid = [
            calls("a:one", "answer", 2, 0),
            calls("b:two", "answer", 0, 1),
            calls("a:one", "compaction", 1, 1),
            calls("a:one", "estimate", 0, 1),
        ];
        let today = Some(Tally { tokens: 12_345, cost: 1.5, unpriced: 1 });
        let written = Written { turn: 2_000, session: 3_000_000 };
        let text = usage(&Used { items: &all, answers: &all, calls: &paid, today, written });
        let has = |line: &str| text.lines().any(|have| have.split_whitespace().collect::<Vec<_>>().join(" ") == line);
        for line in [
            "1 prompt · 3 answers · 1 tool call",
            "input 6,000",
            "from the cache 4,800 80 %",
            "cost $0.18 + ?",
            "By model calls input cached output cost",
            "a:one",
            "main 2 2K 80 % 100 $0.12",
            "compaction 2 2K 80 % 100 $0.06 + ?",
            "not reported 1 1K 80 % 50 ?",
            "b:two",
            "main 1 1K 80 % 50 ?",
            "Today, all sessions: 12,345 tokens · $1.50 + ?",
            "Written to disk: 2 KB in the last turn,",
        ] {
            assert!(has(line), "no {line:?} in\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 56), "{text}");
    }

    #[test]
    fn answers_that_a_rewind_left_out_count() {
        let all = items();
        let text = usage(&Used { items: &all[..2], answers: &all, ..Used::default() });
        for line in ["1 prompt · 3 answers", "2 answers are no longer in the conversation"] {
            assert!(text.contains(line), "no {line:?} in\n{text}");
        }
        assert!(!usage(&Used { items: &all, answers: &all, ..Used::default() }).contains("no longer"));
    }
}
