//! One evening with agents: a plan is approved, three children work in worktrees, a script does many calls, and a budget stops
//! all of it.

use crate::harness::home::out;
use crate::harness::{Home, Term, until};

/// `WORDS` stands for far more than the budget has.
const SCRIPT: &str = r##"
chunk: 2000
scenes:
  - when: '\Aplan it'
    steps:
      - calls: [{name: plan_mode, args: {action: enter}}]
      - calls: [{name: write_file, args: {path: early.txt, content: too early}}]
      - calls: [{name: plan_mode, args: {action: present, plan: "# Split the work\n1. give it to three\n2. merge what is good"}}]
      - text: The plan stands.
  - when: '\Afan out'
    steps:
      - calls:
          - name: delegate_task
            args:
              isolation: worktree
              tasks: [{goal: write the first}, {goal: remove the old}, {goal: wait for ever}]
      - calls: [{name: terminal, args: {command: "git merge -q $(git branch --format='%(refname:short)' --list 'hermes/*-1')"}}]
      - text: One is merged.
  - when: 'write the first'
    steps:
      - calls: [{name: write_file, args: {path: first.txt, content: "first\n"}}]
      - calls: [{name: terminal, args: {command: "git add -A && git commit -qm first"}}]
      - text: Done. First.
  - when: 'remove the old'
    steps:
      - calls: [{name: terminal, args: {command: "rm -rf ../../victim"}}]
      - text: Done. It is gone.
  - when: 'wait for ever'
    steps:
      - calls: [{name: terminal, args: {command: "while :; do sleep 0.1; done # story"}}]
      - text: Never.
  - when: '\Arename them'
    steps:
      - calls:
          - name: execute_code
            args:
              code: |
                from hermes_tools import search, read_file, patch
                found = search('TODO')['matches']
                names = sorted({match['path'] for match in found})
                done = [name for name in names if 'TODO' in read_file(name)['content']]
                for name in done:
                    patch(path=name, old_string='TODO', new_string='DONE')
                with open('report.txt', 'w') as report:
                    report.write('\n'.join(done))
                print(len(done), 'renamed')
      - text: They are renamed.
  - when: '\Aflood'
    steps:
      - calls: [{name: delegate_task, args: {tasks: [{goal: pour one}, {goal: pour two}]}}]
      - text: Poured.
  - when: 'pour (one|two)'
    steps: [{text: WORDS, delay_ms: 1}]
"##;

#[test]
fn a_plan_three_children_a_script_and_a_budget() {
    if !crate::harness::has("a_plan_three_children_a_script_and_a_budget", "python3") {
        return;
    }
    let home = Home::empty();
    home.config("approvals: {mode: ask}\nbudget:\n  session: {hard_tokens: 900000}\n");
    let project = home.project();
    for n in 0..8 {
        std::fs::write(project.join(format!("part{n}.py")), format!("# TODO: part {n}\nvalue = {n}\n")).unwrap();
    }
    home.commits(&[]);
    // Next to the worktrees, and in none of them.
    let victim = home.user().join("victim");
    std::fs::create_dir(&victim).unwrap();
    let script = home.plays(&SCRIPT.replace("WORDS", &"word ".repeat(800_000)));
    let mut term = Term::sized(&home, &["-m", &script], (130, 40));
    term.wait("What shall we work on?");

    // A plan, in a mode that changes nothing until it is approved.
    term.send("plan it\r").wait("asks to plan first");
    term.gone("keys are ignored for a moment");
    term.send("\r").wait("Split the work").wait("Approve: go on in ask mode");
    assert!(!project.join("early.txt").exists());
    term.gone("keys are ignored for a moment");
    term.send("\r").wait("The plan stands.");

    // Three children: one asks in the inbox, one is stopped, what one did is merged.
    term.send("fan out\r").wait("Approve a command").wait("the agent child 2");
    assert!(victim.exists());
    term.gone("keys are ignored for a moment");
    term.send("y").wait("Enter confirms");
    term.send("\r").wait("✓ child 2");
    assert!(!victim.exists());
    term.wait("✓ child 1").wait("● child 3 wait for ever");
    term.send("/agents\r").wait("─ Agents ─");
    term.send("wait for ever").wait("1 of");
    term.send("\r").gone("─ Agents ─").wait("# story");
    term.send("\x1b").wait("■ stopped");
    term.send("\x1b[5;5~").wait("One is merged.");
    assert_eq!(std::fs::read_to_string(project.join("first.txt")).unwrap(), "first\n");

    // A script searches, filters and patches; what it does by itself is asked about once.
    term.send("rename them\r").wait("report.txt");
    term.gone("keys are ignored for a moment");
    term.send("y").wait("Enter confirms");
    term.send("\r").wait("They are renamed.");
    let renamed = |n: usize| std::fs::read_to_string(project.join(format!("part{n}.py"))).unwrap().contains("# DONE");
    assert!((0..8).all(renamed));
    assert_eq!(std::fs::read_to_string(project.join("report.txt")).unwrap().lines().count(), 8);

    // A budget that stops all of it, and says so once.
    term.send("flood\r").wait("The budget of this session").wait("Raise by");
    term.gone("keys are ignored for a moment");
    term.send("3").gone("Raise by").wait("─ stopped");
    term.quit();
    let kept = out(&home.run(&["worktrees", "list"]));
    assert!(!kept.contains("-2\n") && !kept.contains("uncommitted"), "{kept}");
    until("no command of a child runs", || running("# story") == 0);
}

/// Processes with this in their command line.
fn running(line: &str) -> usize {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let says = |entry: std::fs::DirEntry| std::fs::read(entry.path().join("cmdline")).ok();
    processes.filter_map(says).filter(|words| String::from_utf8_lossy(words).contains(line)).count()
}
