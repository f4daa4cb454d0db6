//! The actions of `process`: what the gate sees of each, what a person reads, and what they do.

use super::*;

async fn planned(desk: &Desk, args: Value) -> Box<dyn crate::tools::spec::Call> {
    process().plan(args, &desk.ctx).await.unwrap()
}

#[tokio::test]
async fn every_action_is_judged_as_what_it_does_and_says_so() {
    let desk = desk();
    let (started, _) = desk.terminal(json!({"command": "cd . && cat", "background": true, "pty": true})).await;
    let id = started["session_id"].as_str().unwrap();
    let typed = |text: &str| Intent::Input { process: id.into(), text: text.into() };
    let again = Intent::Command { line: "cd . && cat".into(), cwd: desk.cwd(), background: true };
    for (args, intent, words) in [
        (json!({"action": "poll"}), Intent::Talk, "poll cat"),
        (json!({"action": "log"}), Intent::Talk, "log of cat"),
        (json!({"action": "wait"}), Intent::Talk, "wait for cat"),
        (json!({"action": "write", "data": "a"}), typed("a"), "\"a\" → cat"),
        (json!({"action": "submit", "data": "a"}), typed("a\n"), "\"a\" Enter → cat"),
        (json!({"action": "send_keys", "keys": ["ls", "Enter"]}), typed("ls\n"), "\"ls\" Enter → cat"),
        (json!({"action": "send_keys", "keys": ["Up", "Enter"]}), typed("\x1b[A\n"), "↑ Enter → cat"),
        (json!({"action": "send_keys", "keys": [{"text": "Up"}]}), typed("Up"), "\"Up\" → cat"),
        (json!({"action": "send_keys", "keys": ["C-c"]}), Intent::Handle, "Ctrl-C → cat"),
        (json!({"action": "screen"}), Intent::Talk, "screen of cat"),
        (json!({"action": "signal", "signal": "usr1"}), Intent::Handle, "USR1 → cat"),
        (json!({"action": "resize", "columns": 90, "rows": 20}), Intent::Talk, "90×20 → cat"),
        (json!({"action": "kill"}), Intent::Handle, "kill cat"),
        (json!({"action": "restart"}), again, "restart cat"),
        (json!({"action": "close"}), Intent::Handle, "end of input → cat"),
    ] {
        let mut args = args;
        args["session_id"] = id.into();
        let call = planned(&desk, args.clone()).await;
        assert_eq!((call.intent(), call.target().as_str()), (&intent, words), "{args}");
    }
    for (args, why) in [
        (json!({"action": "send_keys", "session_id": id}), "`keys`"),
        (json!({"action": "send_keys", "session_id": id, "keys": [[]]}), "is not a key"),
        (json!({"action": "signal", "session_id": id}), "`signal`"),
        (json!({"action": "resize", "session_id": id, "columns": 0, "rows": 5}), "`columns`"),
        (json!({"action": "press", "session_id": id}), "send_keys"),
    ] {
        let refused = process().plan(args, &desk.ctx).await.err().unwrap().to_string();
        assert!(refused.contains(why), "{refused}");
    }
    desk.ctx.exec.shutdown(true).await;
}

#[tokio::test]
async fn keys_answer_with_the_screen() {
    let desk = desk();
    let line = "printf 'name? '; read name; echo hello $name; read x; exit 4";
    let (started, _) = desk.terminal(json!({"command": line, "background": true, "pty": true})).await;
    let id = started["session_id"].as_str().unwrap();
    let keys = json!({"action": "send_keys", "session_id": id, "keys": ["ada", "Enter"]});
    let (value, output) = desk.process(keys).await;
    let wait = std::time::Instant::now();
    let mut screen = value["screen"].as_str().unwrap().to_owned();
    while !screen.contains("hello ada") && wait.elapsed() < Duration::from_secs(20) {
        let (value, _) = desk.process(json!({"action": "screen", "session_id": id})).await;
        screen = value["screen"].as_str().unwrap().to_owned();
    }
    assert!(screen.contains("name? ada\nhello ada"), "{screen}");
    assert_eq!(value["keys"], "\"ada\" Enter");
    assert!(value["cursor"]["row"].as_u64().unwrap() >= 1 && output.view.output.contains("name?"));
    let (value, _) = desk.process(json!({"action": "restart", "session_id": id})).await;
    assert_eq!((&value["session_id"], &value["restarts"]), (&json!(id), &json!(1)), "{value}");
    assert_eq!(value["earlier_exit_codes"].as_array().unwrap().len(), 1);
    let (value, _) = desk.process(json!({"action": "list"})).await;
    let row = &value["processes"][0];
    assert!(row["memory_mib"].is_u64() && row["cpu_percent"].is_u64(), "{row}");
    desk.process(json!({"action": "signal", "session_id": id, "signal": "KILL"})).await;
    let (value, _) = desk.process(json!({"action": "wait", "session_id": id, "timeout": 20})).await;
    assert_eq!(value["exit_code"], 137);
}
