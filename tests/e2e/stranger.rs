//! A plugin in a language that the page has no example of, written from the page alone, on the screen.

use crate::harness::home::{err, out};
use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term};
use serde_json::json;
use std::process::Command;

#[test]
fn a_plugin_in_c_does_all_that_a_plugin_can() {
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![call("ledger_add", json!({"text": "bought \"two\" axes"}))]),
        Step::Calls(String::new(), vec![call("terminal", json!({"command": "rm ledger.txt"}))]),
        Step::Text("it is all written down".into()),
    ]);
    let home = Home::with(&mock, "");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/ledger");
    let built = home.tmp().join("ledger");
    std::fs::create_dir_all(&built).unwrap();
    std::fs::copy(format!("{source}/plugin.yaml"), built.join("plugin.yaml")).unwrap();
    // Whoever builds this program has a linker called so.
    let program = built.join("ledger");
    let done =
        Command::new("cc").args(["-Wall", "-Werror", "-o"]).arg(&program).arg(format!("{source}/ledger.c")).output();
    let done = done.unwrap();
    assert!(done.status.success(), "{}", err(&done));

    let installed = home.run(&["plugins", "install", &built.to_string_lossy()]);
    assert!(out(&installed).contains("installed ledger"), "{}{}", out(&installed), err(&installed));
    let checked = home.run(&["plugins", "check", "ledger"]);
    let said = out(&checked);
    for row in
        ["ledger ok", "tool        ledger_add", "hook        pre_tool_call", "command     ledger", "subcommand  ledger"]
    {
        assert!(said.contains(row), "{said}{}", err(&checked));
    }
    assert!(home.run(&["plugins", "enable", "ledger"]).status.success());

    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("❯");
    term.send("/plugins\r");
    term.wait("● ledger 0.1.0  ready");
    term.send("\x1b");
    term.gone("● ledger 0.1.0");
    term.send("write it down\r");
    term.wait("Approve an external tool").wait("plugin ledger");
    term.gone("keys are ignored for a moment");
    term.send("y");
    term.send("\r");
    term.wait("pre_tool_call · plugin ledger · blocked: a ledger loses nothing");
    term.wait("it is all written down");
    term.send("/ledger\r");
    term.wait("The ledger has 1 lines.");
    let requests = mock.requests();
    let last =
        |request: usize| requests[request]["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(
        requests[0]["messages"][0]["content"]
            .as_str()
            .unwrap()
            .contains("## Ledger\nWrite what matters with ledger_add.")
    );
    assert!(last(1).contains("line 1: bought"), "{}", last(1));
    assert!(last(2).contains("blocked by a hook: a ledger loses nothing"), "{}", last(2));
    drop(term);
    assert_eq!(out(&home.run(&["ledger"])).trim(), "a ledger in C");
}
