//! Figures over time as text and JSON: tokens by day, tools, models, projects.

use crate::protocol::{Figures, Spending};
use crate::text::format::{count, elapsed, percent, tokens};
use crate::text::width::{pad, truncate_middle, width};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Rows of a list in text; JSON has all of them.
const ROWS: usize = 15;
/// Days in text.
const DAYS: usize = 14;
/// Cells of the longest bar.
const BAR: usize = 24;

fn amount(value: u64) -> String {
    tokens(i64::try_from(value).unwrap_or(i64::MAX))
}

/// For people; empty without anything to tell.
pub fn text(figures: &Figures) -> String {
    let mut out = String::new();
    let most = figures.days.iter().map(|day| day.spent.tokens()).max().unwrap_or(0);
    if most > 0 {
        out.push_str("\nTokens by day\n");
        for day in figures.days.iter().rev().take(DAYS).rev() {
            let bar = "█".repeat((day.spent.tokens() as f64 / most as f64 * BAR as f64).ceil() as usize);
            let spent = &day.spent;
            let line = format!(
                "  {} {:>7} in {:>7} out {:>8}  {bar}",
                day.date,
                amount(spent.input),
                amount(spent.output),
                spent.price()
            );
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
    if !figures.tools.is_empty() {
        let names = figures.tools.iter().take(ROWS).map(|tool| width(&tool.name)).max().unwrap_or(0).clamp(4, 32);
        let _ = writeln!(
            out,
            "\n{} {:>8} {:>7} {:>9} {:>9} {:>9}",
            pad("Tools", names + 2),
            "calls",
            "failed",
            "median",
            "p95",
            "all"
        );
        for tool in figures.tools.iter().take(ROWS) {
            let name = pad(&truncate_middle(&tool.name, names), names);
            let failed = if tool.failed > 0 { percent(tool.failed, tool.calls) } else { "–".to_owned() };
            let _ = writeln!(
                out,
                "  {name} {:>8} {failed:>7} {:>9} {:>9} {:>9}",
                count(tool.calls),
                elapsed(tool.median),
                elapsed(tool.p95),
                elapsed(tool.total)
            );
        }
        more(&mut out, figures.tools.len());
    }
    if !figures.models.is_empty() {
        out.push_str("\nCost by model\n");
        for (name, spent) in figures.models.iter().take(ROWS) {
            let name = if name.is_empty() { "unknown model" } else { name };
            let (input, output) = (amount(spent.input), amount(spent.output));
            let _ = writeln!(
                out,
                "  {} {:>10} {input:>7} in {output:>7} out",
                pad(&truncate_middle(name, 40), 40),
                spent.price()
            );
        }
        more(&mut out, figures.models.len());
    }
    if !figures.projects.is_empty() {
        out.push_str("\nSessions by project\n");
        for project in figures.projects.iter().take(ROWS) {
            let folder = if project.folder.is_empty() { "no folder" } else { &project.folder };
            let _ = writeln!(
                out,
                "  {} {:>8} {:>8} tokens",
                pad(&truncate_middle(folder, 48), 48),
                count(project.sessions),
                amount(project.tokens)
            );
        }
        more(&mut out, figures.projects.len());
    }
    out
}

fn more(out: &mut String, all: usize) {
    if all > ROWS {
        let _ = writeln!(out, "  and {} more", all - ROWS);
    }
}

/// For programs; `docs/CLI.md` has its shape.
pub fn json(figures: &Figures) -> Value {
    let spent = |spent: &Spending| {
        json!({
            "calls": spent.calls, "input": spent.input, "cached": spent.cached, "output": spent.output,
            "cost": spent.cost, "unpriced": spent.unpriced,
        })
    };
    let with = |name: &str, value: &str, spending: &Spending| {
        let mut row = spent(spending);
        row[name] = value.into();
        row
    };
    json!({
        "days": figures.days.iter().map(|day| with("date", &day.date, &day.spent)).collect::<Vec<_>>(),
        "models": figures.models.iter().map(|(name, spent)| with("model", name, spent)).collect::<Vec<_>>(),
        "tools": figures.tools.iter().map(|tool| json!({
            "name": tool.name, "calls": tool.calls, "failed": tool.failed, "median_ms": tool.median, "p95_ms": tool.p95,
            "total_ms": tool.total,
        })).collect::<Vec<_>>(),
        "projects": figures.projects.iter().map(|project| json!({
            "folder": project.folder, "sessions": project.sessions, "tokens": project.tokens, "cost": project.cost,
        })).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Day, Project, ToolUse};

    #[test]
    fn figures_read_as_tables_and_an_unknown_price_is_no_free_one() {
        let spent = Spending { calls: 2, input: 12_000, cached: 9_000, output: 300, cost: 0.25, unpriced: 0 };
        let unknown = Spending { calls: 1, unpriced: 1, input: 500, ..Spending::default() };
        let figures = Figures {
            days: vec![
                Day { date: "2026-11-01".into(), spent },
                Day { date: "2026-11-02".into(), spent: Spending::default() },
            ],
            tools: vec![ToolUse {
                name: "terminal".into(),
                calls: 40,
                failed: 3,
                median: 12,
                p95: 2500,
                total: 60_000,
            }],
            models: vec![("a:one".into(), spent), ("b:two".into(), unknown)],
            projects: vec![Project { folder: "/src/app".into(), sessions: 3, tokens: 12_300, cost: None }],
        };
        let text = text(&figures);
        for line in [
            "2026-11-01     12K in     300 out    $0.25  ████",
            "terminal       40     7 %     12 ms     2.5 s",
            "$?",
            "/src/app",
        ] {
            assert!(text.contains(line), "no {line:?} in\n{text}");
        }
        let both = Spending { calls: 3, unpriced: 1, cost: 0.25, ..Spending::default() };
        assert_eq!(both.price(), "$0.25 + ?");
        assert_eq!(super::text(&Figures::default()), "");
        assert_eq!(json(&figures)["models"][1]["unpriced"], 1);
    }
}
