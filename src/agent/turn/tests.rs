//! Tables over the turn machine: whole lists of actions are compared.

use super::bodies::assistant;
use super::reply::{CONTINUE_CUT, MAX_CONTINUATIONS};
use super::*;
use crate::agent::retry::Failure;
use crate::llm::{ErrorKind, NextKey, Reply};
use crate::protocol::{Origin, StopReason};
use std::time::Duration;

const LIMITS: Limits = Limits { steps: 5, retries: 2, fallbacks: 1, repeats: 3, stale: None, one_call: false };

fn submit(turn: &mut Turn) -> Vec<Action> {
    turn.on(Input::Submitted { said: Said::person("hi", vec![]), context: "cwd: /p".into() })
}

fn started() -> Turn {
    let mut turn = Turn::new(LIMITS);
    submit(&mut turn);
    turn
}

fn text(text: &str) -> Reply {
    Reply { text: text.into(), ..Reply::default() }
}

fn call(id: &str, args: &str) -> ToolCall {
    ToolCall { id: id.into(), name: "read_file".into(), args: args.into(), repaired: false, via: String::new() }
}

fn calls(ids: &[&str]) -> Reply {
    Reply { calls: ids.iter().map(|id| call(id, id)).collect(), stop: StopReason::ToolCalls, ..Reply::default() }
}

fn finished(body: ToolBody) -> Input {
    Input::ToolFinished { body, repeats: false }
}

fn result(id: &str) -> ToolBody {
    ToolBody { call_id: id.into(), name: "read_file".into(), content: format!("result of {id}"), ..ToolBody::default() }
}

fn failure(kind: ErrorKind, partial: Option<Reply>) -> Input {
    Input::CallFailed { failure: Failure::of(kind), message: "it broke".into(), partial: partial.map(Box::new) }
}

fn note(kind: NoteKind, text: &str) -> Action {
    Action::Append(Body::Note { kind, text: text.into() })
}

#[test]
fn a_command_of_the_person_is_a_turn_of_its_own() {
    let said = Said::person("!ls -l", vec![]);
    assert_eq!(said.command(), Some("ls -l"));
    for other in [Said::person("ls", vec![]), Said::person("! ", vec![]), Said::steer("!ls", vec![])] {
        assert_eq!(other.command(), None);
    }
    let mut turn = Turn::new(LIMITS);
    let ran = call("person_3", "{}");
    let asked = AssistantBody { calls: vec![ran.clone()], stop: StopReason::ToolCalls, ..AssistantBody::default() };
    assert_eq!(
        turn.on(Input::Ran { said: said.clone(), context: "cwd: /p".into(), call: ran.clone() }),
        [
            Action::Append(with_context(said.clone(), "cwd: /p".into())),
            Action::Append(Body::Assistant(asked)),
            Action::RunTools(vec![ran.clone()]),
        ]
    );
    assert!(turn.is_running() && turn.on(Input::Ran { said, context: String::new(), call: ran }).is_empty());
    let done = turn.on(finished(result("person_3")));
    assert_eq!(done, [Action::Append(Body::Tool(result("person_3"))), Action::Finish(TurnEnd::Completed)]);
    // The next prompt is one for the model again.
    assert_eq!(shape(&submit(&mut turn)), ["user", "call"]);
}

/// Names of the actions, for long sequences.
fn shape(actions: &[Action]) -> Vec<&'static str> {
    actions
        .iter()
        .map(|action| match action {
            Action::AskBudget => "budget",
            Action::Append(Body::User { .. }) => "user",
            Action::Append(Body::Assistant(_)) => "assistant",
            Action::Append(Body::Tool(_)) => "result",
            Action::Append(Body::Note { .. }) => "note",
            Action::CallModel { .. } => "call",
            Action::ResetStream => "reset",
            Action::RunTools(_) => "run",
            Action::Wait { .. } => "wait",
            Action::Trim => "trim",
            Action::AskGuard(_) => "guard",
            Action::AbortCall => "abort call",
            Action::AbortTools => "abort tools",
            Action::Append(Body::Summary(_)) => "summary",
            Action::Finish(_) => "finish",
        })
        .collect()
}

#[test]
fn a_plain_answer_is_one_step() {
    let mut turn = Turn::new(LIMITS);
    assert_eq!(
        submit(&mut turn),
        vec![
            Action::Append(Body::User {
                text: "hi".into(),
                images: vec![],
                context: "cwd: /p".into(),
                origin: Origin::Person,
                gist: String::new(),
            }),
            Action::CallModel { step: 1, fallback: 0 },
        ]
    );
    assert_eq!(
        turn.on(Input::Replied(text("hello"))),
        vec![Action::Append(assistant(text("hello"))), Action::Finish(TurnEnd::Completed)]
    );
    assert!(!turn.is_running());
}

#[test]
fn calls_run_and_the_next_step_starts_when_all_have_results() {
    let mut turn = started();
    let actions = turn.on(Input::Replied(calls(&["a", "b"])));
    assert_eq!(shape(&actions), ["assistant", "run"]);
    assert_eq!(turn.on(finished(result("b"))), vec![Action::Append(Body::Tool(result("b")))]);
    assert_eq!(
        turn.on(finished(result("a"))),
        vec![Action::Append(Body::Tool(result("a"))), Action::CallModel { step: 2, fallback: 0 }]
    );
    // A result that comes twice, or late, changes nothing.
    assert_eq!(turn.on(finished(result("a"))), vec![]);
}

#[test]
fn a_steer_is_delivered_at_the_step_boundary() {
    let mut turn = started();
    turn.on(Input::Replied(calls(&["a"])));
    assert_eq!(turn.on(Input::Steered(Said::steer("only tests", vec![]))), vec![]);
    assert_eq!(
        turn.on(finished(result("a"))),
        vec![
            Action::Append(Body::Tool(result("a"))),
            Action::Append(user(Said::steer("only tests", vec![]))),
            Action::CallModel { step: 2, fallback: 0 },
        ]
    );
    // One that comes while the last answer streams starts another step.
    turn.on(Input::Steered(Said::steer("and docs", vec![])));
    assert_eq!(shape(&turn.on(Input::Replied(text("done")))), ["assistant", "user", "call"]);
}

#[test]
fn stop_gives_every_call_its_result() {
    let mut turn = started();
    turn.on(Input::Replied(calls(&["a", "b"])));
    assert_eq!(turn.on(Input::Stopped), vec![Action::AbortTools]);
    assert_eq!(turn.open_calls().len(), 2);
    turn.on(finished(result("a")));
    assert_eq!(
        turn.on(finished(result("b"))),
        vec![
            Action::Append(Body::Tool(result("b"))),
            note(NoteKind::Interrupted, "stopped"),
            Action::Finish(TurnEnd::Stopped)
        ]
    );
}

#[test]
fn stop_keeps_what_was_streamed() {
    let mut turn = started();
    assert_eq!(turn.on(Input::Stopped), vec![Action::AbortCall]);
    let actions = turn.on(failure(ErrorKind::Cancelled, Some(text("half an ans"))));
    assert_eq!(shape(&actions), ["assistant", "note", "finish"]);
    // A reply that was complete already is kept too, its calls are answered and not run.
    let mut turn = started();
    turn.on(Input::Stopped);
    assert_eq!(shape(&turn.on(Input::Replied(calls(&["a"])))), ["assistant", "result", "note", "finish"]);
}

#[test]
fn errors_wait_then_fall_back_then_give_up() {
    let mut turn = started();
    for attempt in 1..=2 {
        let actions = turn.on(failure(ErrorKind::Overloaded, None));
        let delay = Duration::from_secs(2 << (attempt - 1));
        let wait = Action::Wait { delay, reason: "it broke".into(), attempt, of: 2 };
        assert_eq!(actions, vec![Action::ResetStream, wait]);
        assert_eq!(turn.on(Input::WaitEnded), vec![Action::CallModel { step: 1, fallback: 0 }]);
    }
    assert_eq!(
        turn.on(failure(ErrorKind::Overloaded, None)),
        vec![
            Action::ResetStream,
            note(NoteKind::Warning, "it broke; trying the next fallback model"),
            Action::CallModel { step: 1, fallback: 1 },
        ]
    );
    assert_eq!(
        turn.on(failure(ErrorKind::Auth, None)),
        vec![
            Action::ResetStream,
            note(NoteKind::Error, "it broke"),
            Action::Finish(TurnEnd::Provider("it broke".into()))
        ]
    );
}

#[test]
fn a_cut_stream_is_continued_without_losing_text() {
    let mut turn = started();
    let partial = Reply { calls: vec![call("x", "{\"pa")], ..text("The answer is") };
    let actions = turn.on(failure(ErrorKind::Network, Some(partial)));
    let kept = Reply { stop: StopReason::Other("cut".into()), ..text("The answer is") };
    assert_eq!(actions[0], Action::Append(assistant(kept)));
    assert_eq!(actions[1], Action::Append(user(Said::program(CONTINUE_CUT, "connection lost, continued"))));
    assert_eq!(shape(&actions), ["assistant", "user", "wait"]);
    assert_eq!(shape(&turn.on(Input::WaitEnded)), ["call"]);
}

#[test]
fn a_wait_can_be_given_up() {
    let mut turn = started();
    turn.on(failure(ErrorKind::RateLimit, None));
    assert_eq!(
        turn.on(Input::WaitGivenUp),
        vec![note(NoteKind::Interrupted, "stopped"), Action::Finish(TurnEnd::Stopped)]
    );
}

#[test]
fn truncated_calls_are_never_run() {
    let mut turn = started();
    let reply = Reply { stop: StopReason::Length, ..calls(&["a"]) };
    assert_eq!(shape(&turn.on(Input::Replied(reply))), ["assistant", "result", "call"]);
    // Text alone is continued, a bounded number of times.
    let mut turn = Turn::new(Limits { steps: 99, ..LIMITS });
    submit(&mut turn);
    for _ in 0..MAX_CONTINUATIONS {
        let reply = Reply { stop: StopReason::Length, ..text("more and") };
        assert_eq!(shape(&turn.on(Input::Replied(reply))), ["assistant", "user", "call"]);
    }
    let reply = Reply { stop: StopReason::Length, ..text("more") };
    assert_eq!(shape(&turn.on(Input::Replied(reply))), ["assistant", "note", "finish"]);
}

#[test]
fn the_budget_ends_with_a_summary() {
    let mut turn = Turn::new(Limits { steps: 1, ..LIMITS });
    submit(&mut turn);
    turn.on(Input::Replied(calls(&["a"])));
    let actions = turn.on(finished(result("a")));
    assert_eq!(shape(&actions), ["result", "user", "call"]);
    assert_eq!(
        actions[1],
        Action::Append(user(Said::program(SUM_UP, "step budget used up, asked the model for a summary")))
    );
    let actions = turn.on(Input::Replied(calls(&["b"])));
    assert_eq!(shape(&actions), ["assistant", "result", "note", "finish"]);
    assert_eq!(actions.last(), Some(&Action::Finish(TurnEnd::Limit)));
}

#[test]
fn a_budget_that_is_used_up_pauses_with_a_question() {
    let spent = |text: &str| {
        let reply = Reply { text: text.into(), ..Reply::default() };
        Input::Spent { why: "used up".into(), partial: (!text.is_empty()).then(|| Box::new(reply)) }
    };
    // An answer that was cut off stays, and is continued.
    let mut turn = Turn::new(LIMITS);
    submit(&mut turn);
    assert_eq!(shape(&turn.on(spent("half an ans"))), ["assistant", "reset", "budget"]);
    assert!(turn.is_running() && turn.on(Input::Replied(text("late"))).is_empty());
    let goes_on = turn.on(Input::BudgetAnswered { go_on: true });
    assert_eq!(shape(&goes_on), ["user", "call"]);
    assert_eq!(goes_on[0], Action::Append(user(Said::program(CONTINUE_CUT, "budget raised, continued"))));
    // Nothing had been sent: the call is made once more.
    assert_eq!(shape(&turn.on(spent(""))), ["reset", "budget"]);
    assert_eq!(shape(&turn.on(Input::BudgetAnswered { go_on: true })), ["call"]);
    turn.on(spent(""));
    let ends = turn.on(Input::BudgetAnswered { go_on: false });
    let note = Body::Note { kind: NoteKind::Warning, text: "used up".into() };
    assert_eq!(ends, [Action::Append(note), Action::Finish(TurnEnd::Limit)]);
    assert!(turn.on(Input::BudgetAnswered { go_on: true }).is_empty(), "it is over");
    // Stopped while it asks, and before it could.
    turn.set_spent(None);
    submit(&mut turn);
    turn.on(spent(""));
    assert_eq!(shape(&turn.on(Input::Stopped)), ["abort call", "note", "finish"]);
    submit(&mut turn);
    turn.on(Input::Stopped);
    assert_eq!(shape(&turn.on(spent("half"))), ["assistant", "note", "finish"]);
}

#[test]
fn a_repeated_call_pauses_with_a_question() {
    let mut turn = Turn::new(Limits { steps: 99, ..LIMITS });
    submit(&mut turn);
    for round in 1..=3 {
        let id = format!("c{round}");
        let reply = Reply { calls: vec![call(&id, "{}")], stop: StopReason::ToolCalls, ..Reply::default() };
        turn.on(Input::Replied(reply));
        let body = ToolBody { call_id: id, content: "same".into(), ..result("x") };
        let actions = turn.on(finished(body));
        let expected = if round < 3 { ["result", "call"] } else { ["result", "guard"] };
        assert_eq!(shape(&actions), expected, "round {round}");
    }
    assert_eq!(shape(&turn.on(Input::GoOn)), ["call"]);
}

#[test]
fn a_call_that_repeats_by_design_is_never_asked_about() {
    let mut turn = Turn::new(Limits { steps: 99, ..LIMITS });
    submit(&mut turn);
    for round in 1..=9 {
        let id = format!("c{round}");
        let reply = Reply { calls: vec![call(&id, "{}")], stop: StopReason::ToolCalls, ..Reply::default() };
        turn.on(Input::Replied(reply));
        let body = ToolBody { call_id: id, content: "same".into(), ..result("x") };
        assert_eq!(shape(&turn.on(Input::ToolFinished { body, repeats: true })), ["result", "call"], "round {round}");
    }
}

#[test]
fn an_overflow_shrinks_the_context_once_or_says_so() {
    let mut turn = started();
    assert_eq!(turn.on(failure(ErrorKind::ContextOverflow, None)), vec![Action::ResetStream, Action::Trim]);
    assert_eq!(shape(&turn.on(Input::Trimmed(true))), ["call"]);
    turn.on(failure(ErrorKind::ContextOverflow, None));
    assert_eq!(shape(&turn.on(Input::Trimmed(false))), ["note", "finish"]);
}

#[test]
fn empty_replies_are_nudged_and_then_told() {
    let mut turn = started();
    assert_eq!(shape(&turn.on(Input::Replied(text("")))), ["reset", "call"]);
    assert_eq!(shape(&turn.on(Input::Replied(text("  ")))), ["reset", "user", "call"]);
    assert_eq!(shape(&turn.on(Input::Replied(text("")))), ["note", "finish"]);
}

#[test]
fn a_round_of_calls_pauses_with_a_question_too() {
    let mut turn = started();
    let mut last = Vec::new();
    for round in 1..=2 {
        for name in ["a", "b"] {
            turn.on(Input::Replied(calls(&[name])));
            last = turn.on(finished(result(name)));
            if (round, name) != (2, "b") {
                assert_eq!(shape(&last), ["result", "call"]);
            }
        }
    }
    assert_eq!(shape(&last), ["result", "guard"], "three in a row of one call, two of a round");
}

#[test]
fn keys_that_rest_for_seconds_have_one_turn_each_in_a_step() {
    let mut turn = started();
    let limited = |next_key| Input::CallFailed {
        failure: Failure { next_key, ..Failure::of(ErrorKind::RateLimit) },
        message: "it rests".into(),
        partial: None,
    };
    let two = NextKey::Other { of: 2 };
    let switched = note(NoteKind::Info, "it rests; trying the next key");
    let fallback = note(NoteKind::Warning, "it rests; trying the next fallback model");
    for expected in [&switched, &fallback, &switched] {
        let actions = turn.on(limited(two));
        assert!(actions.contains(expected), "{actions:?}");
    }
    assert_eq!(turn.on(limited(two)).last(), Some(&Action::Finish(TurnEnd::Provider("it rests".into()))));
    // A renewed login is no other key; the next step begins anew.
    let mut turn = started();
    for next_key in [NextKey::Renewed, two] {
        assert!(turn.on(limited(next_key)).contains(&switched));
    }
    turn.on(Input::Replied(calls(&["a"])));
    turn.on(finished(result("a")));
    assert!(turn.on(limited(two)).contains(&switched));
}
