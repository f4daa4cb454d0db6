//! Real clusters and instances of one machine, through the built program: a Slurm of one node, apptainer.

use crate::harness::home::{err, out};
use crate::harness::mock::call;
use crate::harness::{Apptainer, Home, Mock, Slurm, Step, Term, skipped, until};
use serde_json::{Value, json};

/// One session whose model makes these calls, one a step; their results.
fn session(home: &Home, config: &str, calls: &[(&str, Value)]) -> Vec<Value> {
    let steps = calls.iter().map(|(tool, args)| Step::Calls(String::new(), vec![call(tool, args.clone())]));
    let mock = Mock::start(steps.chain([Step::Text("done".into())]).collect());
    home.model(&mock, config);
    let done = home.run(&["-p", "go", "--yolo", "--output", "json"]);
    let requests = mock.requests();
    let messages = requests.last().unwrap_or_else(|| panic!("{} {}", out(&done), err(&done)))["messages"].clone();
    let results = messages.as_array().unwrap().iter().filter(|message| message["role"] == "tool");
    let results: Vec<Value> = results
        .map(|message| {
            let text = message["content"].as_str().unwrap();
            serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
        })
        .collect();
    assert_eq!(results.len(), calls.len(), "{} {}", out(&done), err(&done));
    results
}

/// A call that goes on for longer than any test.
fn sleeps() -> (String, Value) {
    call("terminal", json!({ "command": "echo sta''rted; sleep 600" }))
}

fn line(command: &str) -> (&'static str, Value) {
    ("terminal", json!({ "command": command }))
}

/// What a place must do, in one session: words, codes, folder and variables, ends, work in the background, files.
/// `mark` prints what is there only.
fn works(home: &Home, config: &str, mark: &str) -> String {
    let results = session(
        home,
        config,
        &[
            line(mark),
            line("printf '%s\\n' \"a  'b'\" '$HOME'; exit 3"),
            line("mkdir -p w/deep && cd w/deep && export COLOUR='deep blue'"),
            line("echo \"$COLOUR\"; basename \"$PWD\"; [ -t 1 ] && echo terminal; stty size"),
            ("terminal", json!({"command": "echo $$ >../pid; trap '' INT; sleep 600", "timeout": 1})),
            // A zombie only waits for an init that takes its time.
            line(
                "n=0; while grep -qs '^State:.[^ZX]' /proc/$(cat ../pid)/status && [ $n -lt 200 ]; do sleep 0.05; n=$((n+1)); done; [ $n -lt 200 ] && echo gone",
            ),
            line("env | grep -c '^HERMES_\\|ASKPASS\\|^ONLY_HERE='; env | grep -c '^SLURM_STEP_ID='; true"),
            ("write_file", json!({"path": "new folder/f.txt", "content": "one\ntwo\n"})),
            ("patch", json!({"path": "new folder/f.txt", "old_string": "two", "new_string": "2"})),
            line("cat 'new folder/f.txt'"),
            (
                "terminal",
                json!({"command": "echo begun; until [ -e go ]; do sleep 0.05; done; echo over; exit 4", "background": true}),
            ),
            line("touch go"),
            ("process", json!({"action": "list"})),
        ],
    );
    assert_eq!(results[0]["exit_code"], 0, "{}", results[0]);
    assert_eq!(
        (&results[1]["exit_code"], &results[1]["output"]),
        (&json!(3), &json!("a  'b'\n$HOME")),
        "{}",
        results[1]
    );
    assert!(results[2]["cwd"].as_str().is_some_and(|cwd| cwd.ends_with("/w/deep")), "{}", results[2]);
    let lasting = results[3]["output"].as_str().unwrap();
    assert!(lasting.starts_with("deep blue\ndeep\nterminal\n"), "{lasting}");
    assert_eq!(results[4]["exit_code"], 124, "{}", results[4]);
    assert_eq!(results[5]["output"], "gone", "{}", results[5]);
    let job = results[0]["output"].as_str().is_some_and(|text| text.starts_with("1\n"));
    // Its own mark is the only one that may be there.
    assert_eq!(results[6]["output"], if job { "1\n1" } else { "1\n0" }, "{}", results[6]);
    assert_eq!((&results[7]["bytes_written"], &results[8]["success"]), (&json!(8), &json!(true)), "{results:?}");
    assert_eq!(results[9]["output"], "one\n2", "{}", results[9]);
    assert!(results[10]["session_id"].is_string(), "{}", results[10]);
    assert_eq!(results[11]["exit_code"], 0, "{}", results[11]);
    results[0]["output"].as_str().unwrap().to_owned()
}

/// A home whose jobs go to a cluster of its own, or a line that says why not.
fn cluster(test: &str) -> Option<(Slurm, Home)> {
    match Slurm::start() {
        Ok(slurm) => {
            let mut home = Home::empty();
            home.set("SLURM_CONF", &slurm.config().display().to_string());
            home.set("ONLY_HERE", "1");
            Some((slurm, home))
        }
        Err(why) => {
            skipped(test, &why);
            None
        }
    }
}

const SLURM: &str = "terminal:\n  backend: slurm\n  slurm_args: [--partition=short]\n";

#[test]
fn slurm_runs_commands_in_one_allocation_and_gets_it_back() {
    let Some((slurm, home)) = cluster("slurm_runs_commands_in_one_allocation_and_gets_it_back") else { return };
    let job = works(&home, SLURM, "echo \"$SLURM_JOB_ID\"; squeue -h -j \"$SLURM_JOB_ID\" -o %j");
    assert!(job.starts_with("1\nhermes-"), "{job}");
    // The cluster lists a job for a moment after it was given back.
    until("it is given back with the program", || slurm.jobs().is_empty());
}

#[test]
fn slurm_says_what_became_of_a_job_and_why_there_is_none() {
    let Some((slurm, home)) = cluster("slurm_says_what_became_of_a_job_and_why_there_is_none") else { return };
    let running = home.user().join("running");
    let results = std::thread::scope(|scope| {
        let canceller = scope.spawn(|| {
            until("the command runs", || running.exists());
            slurm.say("scancel", &["1"]).unwrap();
        });
        let results = session(&home, SLURM, &[line("touch running; sleep 600"), line("echo \"again $SLURM_JOB_ID\"")]);
        canceller.join().unwrap();
        results
    });
    let why = results[0]["error"].as_str().unwrap_or_else(|| panic!("{}", results[0]));
    assert!(why.contains("its job 1 ") && why.contains("the next command requests a new one"), "{why}");
    assert_eq!(results[1]["output"], "again 2", "{}", results[1]);
    let refused = session(&home, &SLURM.replace("short", "none-such"), &[line("echo x")]);
    let why = refused[0]["error"].as_str().unwrap_or_else(|| panic!("{}", refused[0]));
    assert!(why.contains("slurm none-such is unavailable") && why.to_lowercase().contains("partition"), "{why}");
    assert_eq!(slurm.jobs(), [] as [String; 0]);
}

/// A crash leaves an allocation that would hold its node for as long as the queue lets it: the next start takes it over, and
/// one that asks for something else gives it back first.
#[test]
fn slurm_takes_over_what_a_crash_left() {
    let Some((slurm, home)) = cluster("slurm_takes_over_what_a_crash_left") else { return };
    let crash = |config: &str| {
        let mock = Mock::start(vec![Step::Calls(String::new(), vec![sleeps()])]);
        home.model(&mock, config);
        let mut term = Term::start(&home, &["--yolo"]);
        term.wait("❯");
        term.send("go\r").wait("started");
        term.kill();
    };
    crash(SLURM);
    assert_eq!(slurm.jobs().len(), 1, "it is still there");
    let limit = slurm.say("squeue", &["-h", "-o", "%l"]).unwrap();
    assert_eq!(limit.trim(), "1:00:00", "no more than the partition gives");
    let again = session(&home, SLURM, &[line("echo \"job $SLURM_JOB_ID\"")]);
    assert_eq!(again[0]["output"], "job 1", "{}", again[0]);
    until("it is given back with the program", || slurm.jobs().is_empty());
    crash(SLURM);
    let other = SLURM.replace("--partition=short", "--partition=short, --mem-per-cpu=1");
    let again = session(&home, &other, &[line("echo \"job $SLURM_JOB_ID\"")]);
    assert_eq!(again[0]["output"], "job 3", "{}", again[0]);
    until("both are given back", || slurm.jobs().is_empty());
}

/// A home whose apptainer is the real one, its configuration, or a line that says why not.
fn instances(test: &str) -> Option<(Apptainer, Home, String)> {
    let apptainer = match Apptainer::find() {
        Ok(apptainer) => apptainer,
        Err(why) => {
            skipped(test, &why);
            return None;
        }
    };
    let mut home = Home::empty();
    home.set("ONLY_HERE", "1");
    home.set("PATH", &format!("{}:{}", apptainer.programs().display(), std::env::var("PATH").unwrap()));
    let config = format!("terminal:\n  backend: apptainer\n  singularity_image: {}\n", apptainer.image());
    Some((apptainer, home, config))
}

/// What an `apptainer` of the person prints.
fn by_hand(apptainer: &Apptainer, home: &Home, args: &[&str]) -> String {
    let mut command = std::process::Command::new(apptainer.programs().join("apptainer"));
    let done = command.args(args).env_clear().envs(home.environment()).output().unwrap();
    out(&done)
}

#[test]
fn apptainer_keeps_what_is_written_and_leaves_no_instance() {
    let test = "apptainer_keeps_what_is_written_and_leaves_no_instance";
    let Some((apptainer, home, config)) = instances(test) else { return };
    let mark = works(&home, &config, "pwd; echo \"$APPTAINER_NAME\"; cut -c1-2 /etc/debian_version; echo kept >~/kept");
    assert_eq!(mark, "/root\nimage\n12");
    assert!(!home.project().join("w").exists() && !home.user().join("kept").exists(), "nothing of it is here");
    // Where nobody collects the dead, one that was stopped is still listed.
    until("no instance runs", || {
        let all = by_hand(&apptainer, &home, &["instance", "list"]);
        let ours = all.lines().filter(|row| row.starts_with("hermes-"));
        let mut pids = ours.filter_map(|row| row.split_whitespace().nth(1)?.parse().ok());
        !pids.any(crate::harness::sshd::runs)
    });
    assert_eq!(session(&home, &config, &[line("cat ~/kept")])[0]["output"], "kept");
    let forgetful = format!("{config}  container_persistent: false\n");
    assert_eq!(session(&home, &forgetful, &[line("cat ~/kept")])[0]["exit_code"], 1);
}

#[test]
fn apptainer_stops_what_a_crash_left() {
    let Some((apptainer, home, config)) = instances("apptainer_stops_what_a_crash_left") else { return };
    let running = || {
        let all = by_hand(&apptainer, &home, &["instance", "list"]);
        let ours = all.lines().filter(|row| row.starts_with("hermes-"));
        let pids = ours.filter_map(|row| row.split_whitespace().nth(1)?.parse::<u32>().ok());
        pids.filter(|pid| crate::harness::sshd::runs(*pid)).collect::<Vec<_>>()
    };
    let mock = Mock::start(vec![Step::Calls(String::new(), vec![sleeps()])]);
    home.model(&mock, &config);
    let mut term = Term::start(&home, &["--yolo"]);
    term.wait("❯");
    term.send("go\r").wait("started");
    term.kill();
    let left = running();
    assert_eq!(left.len(), 1, "it is still there");
    assert_eq!(session(&home, &config, &[line("echo again")])[0]["output"], "again");
    until("neither runs", || running().is_empty());
}

#[test]
fn apptainer_says_when_its_instance_was_stopped() {
    let Some((apptainer, home, config)) = instances("apptainer_says_when_its_instance_was_stopped") else { return };
    let list = || by_hand(&apptainer, &home, &["instance", "list"]);
    let results = std::thread::scope(|scope| {
        let stopper = scope.spawn(|| {
            let kept = home.hermes().join("sandboxes/singularity/default/upper/root/running");
            until("the command runs", || kept.exists());
            let all = list();
            let name = all.split_whitespace().find(|word| word.starts_with("hermes-")).unwrap();
            by_hand(&apptainer, &home, &["instance", "stop", "--force", name]);
        });
        let results = session(&home, &config, &[line("touch ~/running; sleep 600"), line("echo again")]);
        stopper.join().unwrap();
        results
    });
    let why = results[0]["error"].as_str().unwrap_or_else(|| panic!("{}", results[0]));
    assert!(why.contains("was stopped outside Hermes; the next command restarts it"), "{why}");
    assert_eq!(results[1]["output"], "again", "{}", results[1]);
    let wrong = config.replace("/image\n", "/no-such-image\n");
    let refused = session(&home, &wrong, &[line("echo x")]);
    let why = refused[0]["error"].as_str().unwrap_or_else(|| panic!("{}", refused[0]));
    assert!(why.contains("apptainer no-such-image is unavailable") && why.contains("no-such-image"), "{why}");
}
