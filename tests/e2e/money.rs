//! What calls cost, on the screen and in the shell: prices, `/usage`, budgets.

use crate::harness::home::{err, out};
use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term};
use axum::routing::get;
use serde_json::{Value, json};

/// A step of the mock costs 32,000 cached and 8,000 other tokens of input and 800 of output: 0.2 + 0.08 + 0.02 dollars.
const PRICES: &str = r#"{"models": [{"id": "mock-model", "price": [25, 2.5, 25]}]}"#;

fn priced(mock: &Mock, more: &str) -> Home {
    mock.uses(40);
    let home = Home::with(mock, more);
    std::fs::write(home.hermes().join("prices.json"), PRICES).unwrap();
    home
}

/// Chooses in a card, once it takes keys.
fn answer(term: &mut Term, choice: &str) {
    term.gone("keys are ignored for a moment");
    term.send(choice);
}

fn echo(word: &str) -> Step {
    Step::Calls(String::new(), vec![call("terminal", json!({ "command": format!("echo {word}") }))])
}

#[test]
fn usage_tells_what_each_model_cost_and_a_hard_budget_stops_until_it_is_raised() {
    let mock = Mock::start(vec![echo("one"), echo("two"), echo("three")]);
    let home = priced(&mock, "budget:\n  session: {soft_cost: 0.5, hard_cost: 0.6}\n");
    let mut term = Term::sized(&home, &[], (100, 50));
    term.wait("❯");
    term.send("go\r");
    term.wait("soft limit reached: this session used $0.60 of $0.50").wait("The budget of this session is used up");
    term.wait("budget.session.hard_cost").wait("⚠ budget used up");
    term.wait("1 Raise by").wait("Stop");
    assert_eq!(mock.count(), 2, "nothing goes out while it asks");
    answer(&mut term, "3");
    term.gone("1 Raise by").wait("limit reached").wait("Ask anything");
    term.send("/usage\r").wait("By model").wait("mock-model").wait("main");
    term.wait("$0.60").wait("80 %").wait("Today, all sessions: 81,600 tokens").wait("Written to disk");
    term.wait("hard $0.60, soft $0.50").wait("prices.json (1 model)").wait("the built-in table of");
    term.send("\x1b").gone("By model");
    // A prompt is not answered, a summary not written.
    term.send("more\r").wait("1 Raise by");
    answer(&mut term, "3");
    term.gone("1 Raise by").wait("; /budget +5");
    term.send("/budget 5\r").wait("+5 for dollars or +200k for tokens");
    term.send("\x15/budget\r").wait("No model is called").wait("adds five dollars");
    term.send("\x1b").gone("adds five");
    term.send("/budget +$0.30\r")
        .wait("budget raised for this session: $0.90 a session")
        .gone("budget used up: /budget");
    let before = mock.count();
    term.send("go on\r").shows("one more step", |_| mock.count() > before);
    term.wait("$0.90 of $0.90").wait("1 Raise by");
    assert_eq!(mock.count(), 3);
    // Raised by the answer, the turn goes on with the call that it could not make.
    answer(&mut term, "1");
    term.wait("budget raised for this session: $").wait("done");
    assert_eq!(mock.count(), 4);
    term.quit();
}

#[test]
fn a_budget_of_a_day_holds_over_sessions_and_a_run_ends_with_3() {
    let mock = Mock::start(vec![]);
    let home = priced(&mock, "budget:\n  day: {hard_cost: 0.5}\n");
    assert_eq!(home.run(&["-p", "one"]).status.code(), Some(0));
    assert_eq!(home.run(&["-p", "two"]).status.code(), Some(0));
    let third = home.run(&["-p", "three", "--output", "json"]);
    assert_eq!((third.status.code(), mock.count()), (Some(3), 2), "{}", err(&third));
    let envelope: Value = serde_json::from_str(&out(&third)).unwrap();
    assert_eq!(envelope["termination_reason"], "limit");
    let said = home.run(&["-p", "four"]);
    let why = err(&said);
    assert!(why.contains("today's budget is used up: $0.60 of $0.50 (budget.day.hard_cost)"), "{why}");
    assert!(
        why.contains("starts again at midnight") && why.contains("hermes config set budget.day.hard_cost"),
        "{why}"
    );
    assert_eq!((said.status.code(), mock.count()), (Some(3), 2));
}

#[test]
fn a_price_list_is_fetched_when_it_is_asked_for_and_not_before() {
    let mock = Mock::start(vec![]);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let seen = std::sync::Arc::clone(&asked);
    let list = json!({ "data": [{ "id": "mock-model", "pricing": { "prompt": "0.001", "completion": "0.001" } }] });
    let app = axum::Router::new().route(
        "/prices.json",
        get(move || {
            seen.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            std::future::ready(list.to_string())
        }),
    );
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}/prices.json", listener.local_addr().unwrap());
    runtime.spawn(async move { axum::serve(listener, app).await });
    let home = Home::with(&mock, &format!("prices:\n  url: {url}\n"));
    home.run(&["-p", "one"]);
    assert!(out(&home.run(&["models"])).contains("prices: the built-in table of"));
    let fetched = || asked.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(fetched(), 0, "nothing is fetched by itself");
    let updated = home.run(&["models", "update"]);
    assert_eq!((updated.status.code(), fetched()), (Some(0), 1), "{}", err(&updated));
    assert!(out(&updated).contains(&format!("prices of 1 model from {url}")), "{}", out(&updated));
    let today = chrono::Local::now().format("%Y-%m-%d").to_string();
    let listed = out(&home.run(&["models"]));
    assert!(
        listed.contains(&format!("prices: {url}, fetched {today} (1 model); else the built-in table of")),
        "{listed}"
    );
    // A file of one's own that can't be read is named, and the rest goes on.
    std::fs::write(home.hermes().join("prices.json"), "{").unwrap();
    let listed = out(&home.run(&["models"]));
    assert!(
        listed.contains("prices.json are not used") && listed.contains("correct the file or delete it"),
        "{listed}"
    );
    home.model(&mock, "prices:\n  url: http://127.0.0.1:9/x\n");
    let failed = home.run(&["models", "update", "--json"]);
    assert_ne!(failed.status.code(), Some(0));
    assert!(err(&failed).contains("no price list from http://127.0.0.1:9/x"), "{}", err(&failed));
}

#[test]
fn a_running_answer_ends_at_the_limit_and_goes_on_when_it_is_raised() {
    // Some 40,000 tokens, and far more than the request allows.
    let mock = Mock::start(vec![Step::Paced(format!("begins here. {}", "word ".repeat(32_000)), 20)]);
    let home = Home::with(&mock, "budget:\n  session: {hard_tokens: 20000}\n");
    let mut term = Term::sized(&home, &[], (100, 40));
    term.wait("What shall we work on?");
    term.send("go\r").wait("The budget of this session is used up").wait("1 Raise by 2");
    assert_eq!(mock.count(), 1);
    let most = mock.requests()[0]["max_tokens"].as_u64().or(mock.requests()[0]["max_completion_tokens"].as_u64());
    assert!(most.is_some_and(|most| most < 20_000), "{most:?}");
    term.gone("keys are ignored for a moment");
    term.send("4").wait("Answer in your own words");
    term.send("much more\r").wait("raise the budget by dollars or by tokens");
    term.gone("keys are ignored for a moment");
    term.send("4").wait("Answer in your own words");
    term.send("+50k\r").wait("budget raised for this session: 70,000 tokens a session").wait("done");
    let asked = mock.requests()[1].to_string();
    assert!(asked.contains("begins here") && asked.contains("cut off"), "what had arrived is kept and continued");
    term.quit();
}

#[test]
fn a_model_without_a_price_is_called_after_a_yes() {
    let mock = Mock::start(vec![]);
    let home = Home::with(&mock, "budget:\n  session: {hard_cost: 5}\n");
    let script = home.project().join("unpriced.yaml");
    std::fs::write(&script, "price: []\nfallback: { text: It is paid for. }\n").unwrap();
    let mut term = Term::sized(&home, &["-m", &format!("scripted:{}", script.display())], (100, 40));
    term.wait("What shall we work on?");
    term.send("go\r").wait("The price of").wait("Go on without counting it");
    answer(&mut term, "1");
    term.wait("It is paid for.");
    let twice = |text: &str| text.matches("It is paid for.").count() == 2;
    term.send("again\r").shows("a second answer, without a question", twice);
    term.quit();
}
