//! Text that answers slash commands.

use super::Context;
use super::loads::Facts;
use crate::agent::budget::{BUDGET, Budget, Spending, day_began, purse};
use crate::agent::prefix::PREFIX_BREAKS;
use crate::app::effect::Report;
use crate::app::msg::LoadReply;
use crate::llm::catalog::prices::Prices;
use crate::protocol::{Figures, Item, PrefixBreak, Raise, SessionId};
use crate::report::figures::Used;
use crate::report::sessions::export_text;
use crate::report::{approvals, doctor, figures, keys};
use crate::store::StoreError;
use crate::store::filter::day;
use crate::text::format;
use std::time::{Duration, Instant};

/// The text for a command.
pub async fn report(report: Report, argument: &str, context: &Context, facts: &Facts) -> LoadReply {
    let (title, text) = match report {
        Report::Doctor => ("Doctor".into(), doctor(context).await),
        Report::Budget => ("Budget".into(), budget(context, facts).await),
        Report::Config => ("Configuration".into(), config(context)),
        Report::Tools => ("Tools".into(), super::loads::tools(context, facts).await.text()),
        Report::Server => (format!("MCP server {argument}"), super::servers::report(argument, context)),
        Report::Usage => ("Usage".into(), usage(context, facts).await),
        Report::Memory => ("Memory".into(), memory(context)),
        Report::Skills => ("Skills".into(), skills(context)),
        Report::Approvals => ("Approval log".into(), approvals::log(argument, &facts.store).await),
        Report::Diff => ("Changes in this folder".into(), git_diff(facts).await),
        Report::Export => ("Export".into(), super::export::export(argument, &context.paths, facts).await),
    };
    LoadReply::Report { title, text }
}

async fn doctor(context: &Context) -> String {
    let paths = context.paths.clone();
    let work = move || doctor::text(&doctor::checked(&paths));
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| error.to_string())
}

fn config(context: &Context) -> String {
    let file = context.paths.config();
    match std::fs::read_to_string(&file) {
        Ok(text) => format!("{}\n\n{}", file.display(), hide_keys(&text)),
        Err(_) => format!("{} does not exist: everything is at its default", file.display()),
    }
}

/// A literal key in the file is not for the screen, on a line of its own or within braces.
fn hide_keys(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let mut rest = line;
        while let Some(at) = rest.find("api_key") {
            let (before, after) = rest.split_at(at + "api_key".len());
            out.push_str(before);
            let value = after.trim_start_matches(['"', '\'', ' ', ':']);
            let end = value.find([',', '}']).unwrap_or(value.len());
            let (value, tail) = value.split_at(end);
            out.push_str(if value.contains("${") || value.trim().is_empty() {
                &after[..after.len() - tail.len()]
            } else {
                ": ***"
            });
            rest = tail;
        }
        out.push_str(rest);
        out.push('\n');
    }
    out
}

/// What the store knows of the open session; `None` when nothing is kept yet.
async fn session_items(facts: &Facts) -> Option<Vec<Item>> {
    facts.store.all_items(&facts.session.as_ref()?.id).await.ok()
}

/// When the provider's cache no longer held the beginning of a request of the open session.
async fn breaks(facts: &Facts) -> Vec<PrefixBreak> {
    let Some(session) = &facts.session else { return Vec::new() };
    let mut known = facts.store.meta(&session.id).await.unwrap_or_default();
    let stored = known.remove(PREFIX_BREAKS).and_then(|value| serde_json::from_value(value).ok());
    stored.unwrap_or_default()
}

/// The budget of the open session as it is set now, and what was spent; the error says why that is not known.
async fn spending(context: &Context, facts: &Facts) -> (Budget, Result<Spending, String>) {
    let mut budget =
        Budget { config: super::loads::fresh(context).config.budget, is_person: true, ..Budget::default() };
    let since = day_began(crate::agent::now(), &chrono::Local);
    let asked = async {
        let day = facts.store.spent_since(since).await?;
        let Some(session) = &facts.session else { return Ok(Spending { day, ..Spending::default() }) };
        let kept = facts.store.meta(&session.id).await.unwrap_or_default();
        budget.raise = purse::raised(kept.get(BUDGET));
        Ok(Spending { session: facts.store.spent_in(&session.id).await?, day })
    };
    let spent = asked.await.map_err(|error: StoreError| format!("what was spent can't be read: {error}"));
    (budget, spent)
}

async fn budget(context: &Context, facts: &Facts) -> String {
    let (budget, spent) = spending(context, facts).await;
    let spent = match spent {
        Ok(spent) => spent,
        Err(why) => return why,
    };
    let mut out = String::new();
    budget.lines(&spent).iter().for_each(|line| out.push_str(&format!("{line}\n")));
    if out.is_empty() {
        return "No budget is set.\n\nIn config.yaml:\n\n  budget:\n    session: {soft_cost: 4, hard_cost: 5}\n    \
                day: {hard_tokens: 20000000}\n\nSoft: you get a notice. Hard: no model is called any more.\n"
            .into();
    }
    if budget.raise != Raise::default() {
        let Raise { cost, tokens, uncounted } = budget.raise;
        let raised = [
            (cost > 0.0).then(|| format::dollars(cost)),
            (tokens > 0).then(|| format!("{} tokens", format::count(tokens))),
        ];
        let raised = raised.into_iter().flatten().collect::<Vec<_>>().join(" and ");
        if !raised.is_empty() {
            out.push_str(&format!("\nRaised for this session by {raised}.\n"));
        }
        if uncounted {
            out.push_str(
                "\nIn this session, calls pass whose price is not known; limits in dollars don't count them.\n",
            );
        }
    }
    if let Some(why) = budget.stop(&spent) {
        out.push_str(&format!("\nNo model is called: {why}\n"));
    }
    out.push_str(
        "\n/budget +5 adds five dollars to the hard limits,\n/budget +200k adds 200,000 tokens: for this session.\n\
         Limits are set in config.yaml, under `budget`.\n",
    );
    out
}

async fn usage(context: &Context, facts: &Facts) -> String {
    let items = session_items(facts).await.unwrap_or_default();
    let answers = match &facts.session {
        Some(session) => facts.store.answers(&session.id).await.unwrap_or_default(),
        None => Vec::new(),
    };
    let calls = match &facts.session {
        Some(session) => facts.store.calls_of(&session.id).await.unwrap_or_default(),
        None => Vec::new(),
    };
    let (budget, spent) = spending(context, facts).await;
    let used = Used {
        items: &items,
        answers: &answers,
        calls: &calls,
        today: spent.as_ref().ok().map(|spent| spent.day),
        written: facts.meter.written,
    };
    let mut out = figures::usage(&used);
    let budgets = spent.map_or_else(|why| vec![why], |spent| budget.lines(&spent));
    if !budgets.is_empty() {
        out.push_str("\nBudgets\n");
        budgets.iter().for_each(|line| out.push_str(&format!("  {line}\n")));
    }
    let home = context.paths.home.clone();
    let prices = tokio::task::spawn_blocking(move || {
        let prices = Prices::read(&home);
        [prices.sources(&home), prices.problems].concat()
    });
    out.push_str("\nPrices, the first that knows a model\n");
    prices.await.unwrap_or_default().iter().for_each(|line| out.push_str(&format!("  {line}\n")));
    out.push_str(&figures::breaks(&breaks(facts).await));
    let loaded = super::loads::fresh(context);
    let keys = match context.engine.services().accounts.status(&loaded) {
        Ok(all) => keys::text(&all),
        Err(error) => format!("{error}\n"),
    };
    if !keys.is_empty() {
        out.push_str("\nKeys and logins\n");
        keys.lines().for_each(|line| out.push_str(&format!("  {line}\n")));
    }
    out
}

fn memory(context: &Context) -> String {
    let mut out = String::new();
    for file in ["MEMORY.md", "USER.md"] {
        let path = context.paths.memories().join(file);
        match std::fs::read_to_string(&path) {
            Ok(text) => out.push_str(&format!("{}\n\n{}\n\n", path.display(), text.replace("\n§\n", "\n\n"))),
            Err(_) => out.push_str(&format!("{}: nothing yet\n\n", path.display())),
        }
    }
    out
}

fn skills(context: &Context) -> String {
    let skills = crate::context::skills::discover(&context.paths, &context.loaded.config.skills);
    skills.iter().map(|skill| format!("{}\n  {}\n", skill.name, skill.description)).collect()
}

/// What git may take to tell what changed.
const GIT_TIME: Duration = Duration::from_secs(10);

async fn git_diff(facts: &Facts) -> String {
    let cwd = facts.cwd.clone();
    let read = move || super::diff::changes(&cwd, Instant::now() + GIT_TIME);
    match tokio::task::spawn_blocking(read).await {
        Ok(Ok(diff)) => diff,
        Ok(Err(error)) => error.to_string(),
        Err(error) => format!("git could not be started: {error}"),
    }
}

/// Figures of the last days, today's last; `None`: of all time.
pub async fn figures(days: Option<u32>, facts: &Facts) -> Result<Box<Figures>, String> {
    let since = days.and_then(|days| day(&format!("{}d", days.saturating_sub(1))));
    facts.store.figures(since).await.map(Box::new).map_err(|error| error.to_string())
}

/// A stored session to read.
pub async fn session(id: &SessionId, facts: &Facts) -> LoadReply {
    let text = export_text(&facts.store, id, "md").await;
    let text = text.unwrap_or_else(|error| format!("session {id} cannot be read: {error}"));
    LoadReply::Report { title: format!("Session {id}"), text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_never_shown() {
        let text = "model:\n  api_key: sk-secret # mine\nflow: {api_key: \"sk-more\", base_url: http://x}\nok:\n  api_key: ${NAME}\n";
        let shown = hide_keys(text);
        assert!(!shown.contains("sk-"), "{shown}");
        assert!(shown.contains("base_url: http://x") && shown.contains("${NAME}"), "{shown}");
    }
}
