//! The other commands.

use crate::harness::home::{err, out};
use crate::harness::{Home, Mock, Step, Term};
use serde_json::Value;
use std::io::Write as _;

#[test]
fn sessions_go_out_and_come_back() {
    let mock = Mock::start(vec![Step::Text("The answer is a zebra.".into())]);
    let home = Home::with(&mock, "");
    assert!(home.run(&["-p", "which animal?"]).status.success());
    let hits: Value = serde_json::from_str(&out(&home.run(&["sessions", "search", "zebra", "--json"]))).unwrap();
    let id = hits[0]["session_id"].as_str().unwrap().to_owned();
    let exported = out(&home.run(&["sessions", "export", &id, "--format", "jsonl"]));
    assert!(exported.contains("which animal?") && exported.contains("zebra"));
    let other = Home::with(&mock, "");
    std::fs::write(other.project().join("one.jsonl"), &exported).unwrap();
    let done = other.run(&["sessions", "import", "one.jsonl"]);
    assert!(done.status.success(), "{}", err(&done));
    assert_eq!(out(&other.run(&["sessions", "export", &id, "--format", "jsonl"])), exported);
}

#[test]
fn tools_run_through_the_gate() {
    let home = Home::empty();
    std::fs::write(home.project().join("a.txt"), "one\n").unwrap();
    let done = home.run(&["tools", "run", "read_file", r#"{"path":"a.txt"}"#]);
    assert!(done.status.success() && out(&done).contains("1|one"), "{}", out(&done));
    assert_eq!(home.run(&["tools", "run", "read_file", r#"{"path":"none.txt"}"#]).status.code(), Some(1));
    assert_eq!(home.run(&["tools", "run", "terminal", r#"{"command":"rm -rf x"}"#]).status.code(), Some(2));
    let refused = home.run(&["tools", "run", "terminal", r#"{"command":"mkfs.ext4 /dev/hermes-none"}"#, "--yolo"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(out(&home.run(&["tools", "list", "--json"])).contains("search_files"));
    assert!(out(&home.run(&["tools", "schema", "terminal"])).contains("workdir"));
}

/// A PDF of one page that shows `content`; the form `X` shows itself.
fn pdf(content: &str) -> Vec<u8> {
    let stream = |head: &str, body: &str| format!("<< {head} /Length {} >>\nstream\n{body}\nendstream", body.len());
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources 7 0 R >>".to_owned(),
        stream("", content),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
        stream("/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources 7 0 R", "/X Do"),
        "<< /Font << /F1 5 0 R >> /XObject << /X 6 0 R >> >>".to_owned(),
    ];
    let (mut pdf, mut backends) = ("%PDF-1.4\n".to_owned(), String::new());
    for (index, object) in objects.iter().enumerate() {
        backends.push_str(&format!("{:010} 00000 n \n", pdf.len()));
        pdf.push_str(&format!("{} 0 obj\n{object}\nendobj\n", index + 1));
    }
    let (start, size) = (pdf.len(), objects.len() + 1);
    pdf.push_str(&format!("xref\n0 {size}\n0000000000 65535 f \n{backends}"));
    pdf.push_str(&format!("trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"));
    pdf.into_bytes()
}

/// A spreadsheet of a few hundred bytes with a hundred million cells.
fn crowded_sheet() -> Vec<u8> {
    let cell = r#"<table:table-cell table:number-columns-repeated="16384" office:value-type="string"><text:p>x</text:p></table:table-cell>"#;
    let row = format!(r#"<table:table-row table:number-rows-repeated="6000">{cell}</table:table-row>"#);
    let table = format!(r#"<table:table table:name="a">{row}</table:table>"#);
    let content = format!(
        "<office:document-content><office:body><office:spreadsheet>{table}</office:spreadsheet></office:body></office:document-content>"
    );
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in [
        ("mimetype", "application/vnd.oasis.opendocument.spreadsheet"),
        ("META-INF/manifest.xml", "<m/>"),
        ("content.xml", &content),
    ] {
        writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn documents_that_break_their_reader_break_nothing_else() {
    let home = Home::empty();
    let file = |name: &str, bytes: &[u8]| std::fs::write(home.project().join(name), bytes).unwrap();
    file("good.pdf", &pdf("BT /F1 24 Tf 72 700 Td (Hello paper) Tj ET"));
    file("hostile.pdf", &pdf("/X Do"));
    file("crowded.ods", &crowded_sheet());
    file("none.pdf", b"rubbish");
    let read = |name: &str| home.run(&["tools", "run", "read_file", &format!(r#"{{"path":"{name}"}}"#)]);
    let good = read("good.pdf");
    assert!(good.status.success() && out(&good).contains("Hello paper"), "{}", out(&good));
    for (name, why) in [
        ("hostile.pdf", "its reader crashed: inspect it with a program"),
        ("crowded.ods", "its reader crashed: inspect it with a program"),
        ("none.pdf", "is not a readable PDF"),
    ] {
        let done = read(name);
        assert_eq!(done.status.code(), Some(1), "{name}: {}", err(&done));
        assert!(out(&done).contains(&format!("{name}: {why}")), "{name}: {}", out(&done));
    }
    // Read in place, the first would have ended the program.
    let alone = home.run(&["debug", "extract", "hostile.pdf"]);
    assert_eq!(alone.status.code(), None, "{}", err(&alone));
}

#[test]
fn tools_are_listed_with_what_keeps_them_away() {
    let home = Home::empty();
    home.config("toolsets: [file, mine, flie]\ncustom_toolsets:\n  mine: [todo]\n");
    let listed: Value = serde_json::from_str(&out(&home.run(&["tools", "list", "--json"]))).unwrap();
    let tool = |name: &str| listed["tools"].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone();
    for (name, enabled) in [("read_file", true), ("todo", true), ("terminal", false)] {
        assert_eq!(tool(name)["enabled"], enabled, "{name}");
        assert_eq!(tool(name)["available"], true, "{name}");
    }
    assert!(listed["toolsets"].as_array().unwrap().iter().any(|set| set["name"] == "file" && set["tools"] == 4));
    assert!(listed["warnings"].to_string().contains("did you mean `file`"), "{listed}");
    let text = out(&home.run(&["tools", "list"]));
    assert!(text.contains("\nfile\n") && text.contains("in full") && text.contains("off"), "{text}");
    let todo = home.run(&["tools", "run", "todo", "{}"]);
    assert_eq!(todo.status.code(), Some(1));
    assert!(out(&todo).contains(r#"{"error":"Error executing todo: its state belongs to the agent"#), "{}", out(&todo));
    assert!(out(&home.run(&["doctor"])).contains("did you mean `file`"));
}

#[test]
fn the_judge_answers_in_order() {
    let home = Home::empty();
    let lines =
        "{\"command\":\"ls\"}\n{\"command\":\"rm -rf /\"}\n{\"command\":\"git push\",\"given\":[\"deny git push*\"]}\n";
    let done = home.run_with(&["approvals", "check", "--home", "/home/alice"], lines);
    let verdicts: Vec<String> = out(&done)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["verdict"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(verdicts, ["allow", "refuse", "denied-by-rule"]);
}

#[test]
fn config_keeps_comments() {
    let home = Home::empty();
    home.config("# mine\ndisplay:\n  skin: ares # red\n");
    assert!(home.run(&["config", "set", "display.skin", "slate"]).status.success());
    let text = std::fs::read_to_string(home.hermes().join("config.yaml")).unwrap();
    assert!(text.contains("# mine") && text.contains("slate") && text.contains("# red"), "{text}");
    assert_eq!(out(&home.run(&["config", "get", "display.skin"])).trim(), "slate");
}

#[test]
fn lists_and_help() {
    let home = Home::empty();
    for args in [
        vec!["skins"],
        vec!["keys"],
        vec!["doctor"],
        vec!["completion", "bash"],
        vec!["--help"],
        vec!["--version"],
        vec!["sessions", "list"],
    ] {
        let done = home.run(&args);
        assert!(!out(&done).is_empty(), "{args:?} says nothing: {}", err(&done));
    }
    assert!(out(&home.run(&["skins"])).contains("charizard"));
}

#[test]
fn the_screen_tells_of_its_tools() {
    let mock = Mock::start(vec![Step::Text("Hello.".into()), Step::Text("Hello again.".into())]);
    let home = Home::with(&mock, "agent:\n  disabled_toolsets: [todo]\n");
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("❯").wait("ready");
    term.send("/tools\r").wait("tokens in every request").wait("in full").wait("off");
    term.send("\x1b").gone("tokens in every request");
    term.send("hello\r").wait("Hello.").wait("1 step");
    term.send("/toolsets file\r").wait("prompt cache");
    term.send("again\r").wait("Hello again.");
    let requests = mock.requests();
    let names = |at: usize| requests[at]["tools"].to_string();
    assert!(names(0).contains("terminal") && !names(0).contains("todo"), "{}", names(0));
    assert!(names(1).contains("read_file") && !names(1).contains("terminal\""), "{}", names(1));
}

#[test]
fn toolsets_of_the_command_line_stay_with_the_session() {
    let mock = Mock::start(["one", "two", "three", "four"].map(|text| Step::Text(text.into())).into());
    let home = Home::with(&mock, "");
    let run = |args: &[&str]| {
        let done = home.run(&[args, &["-p", "go", "--output", "json"]].concat());
        assert!(done.status.success(), "{}", err(&done));
        serde_json::from_slice::<Value>(&done.stdout).unwrap()["session_id"].as_str().unwrap().to_owned()
    };
    let id = run(&["--toolsets", "file,todo"]);
    assert_eq!(run(&["-r", &id]), id);
    run(&["-r", &id, "--toolsets", "terminal"]);
    run(&["-r", &id]);
    let requests = mock.requests();
    let names = |at: usize| -> Vec<String> {
        let tools = requests[at]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(0), ["patch", "read_file", "search_files", "todo", "write_file"]);
    assert_eq!(requests[0]["tools"].to_string(), requests[1]["tools"].to_string(), "byte for byte");
    assert_eq!(requests[0]["messages"][0], requests[1]["messages"][0]);
    assert_eq!((names(2), names(3)), (vec!["process".to_owned(), "terminal".to_owned()], names(2)));
}
