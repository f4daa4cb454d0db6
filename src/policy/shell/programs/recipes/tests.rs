//! Recipes that a line writes, judged with the variables they would have.

use super::*;
use std::collections::HashMap;

fn lines(text: &str, dialect: Dialect, given: &[(&str, &str)]) -> Vec<String> {
    let given: Names = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let environment = |name: &str| (name == "HOME").then(|| "/home/alice".to_owned());
    let files = HashMap::from([("a.mk", "D = ~\n")]);
    let read = |name: &str| files.get(name).map(|text| (*text).to_owned());
    let mut file = Recipes::new(Values::new(dialect, &given, &environment), &read);
    file.read(text, 0);
    file.lines().0
}

#[test]
fn shell_lines_of_make() {
    for (text, want) in [
        ("a: b\n\t@cc $< -o $@\n", vec!["cc b -o a"]),
        ("X = 1\na: ; echo $(X)", vec!["echo 1"]),
        ("X := $(shell ls)", vec!["ls"]),
        ("X != ls", vec!["ls"]),
        ("$(info ${shell ls $(a)})", vec!["ls x"]),
        ("define R\n\tls\nendef\na:\n\tpwd", vec!["ls", "pwd"]),
        ("x := `ls`", vec!["ls"]),
        ("\techo $(shell é", vec!["echo $(é)"]),
        ("\techo $(", vec!["echo", "echo x"]),
        ("a:\n\tls $(HOME) ${HOME} $$HOME", vec!["ls /home/alice /home/alice $HOME"]),
        ("a:\n\tls $(X)\nX = $(Y)\nY = 2", vec!["ls 2", "ls x"]),
        ("X ?= 1\nX += 2\na:\n\tls $(X)", vec!["ls 1 2"]),
        ("HOME ?= 1\na:\n\tls $(HOME)", vec!["ls /home/alice"]),
        ("a: X = 3\na:\n\tls $(X)", vec!["ls 3"]),
        ("export X = 3\na:\n\tls $(X)", vec!["ls 3"]),
        ("include a.mk\na:\n\tls $(D)", vec!["ls ~"]),
        ("include other.mk\na:\n\tls $(D)", vec!["ls x"]),
        ("a:\n\tls $(NOBODY_SET_THIS)/", vec!["ls /", "ls x/"]),
        ("F = ls $(1)\na:\n\t$(call F,$(HOME))", vec!["ls /home/alice"]),
        ("a:\n\t$(foreach d,a b,ls $(d);)", vec!["ls a; ls b;"]),
        ("S = a.c\na:\n\tls $(S:.c=.o) $(patsubst %.c,%.d,$(S))", vec!["ls a.o a.d"]),
        ("$(eval X := 4)\na:\n\tls $(X)", vec!["ls 4"]),
        (".ONESHELL:\na:\n\tcd x\n\tls", vec!["cd x\nls"]),
    ] {
        assert_eq!(lines(text, Dialect::Make, &[]), want, "{text}");
    }
    assert_eq!(lines("D = a\na:\n\tls $(D)", Dialect::Make, &[("D", "/")]), ["ls /"]);
}

#[test]
fn shell_lines_of_ninja_and_just() {
    let text = "d = a\nrule x\n  command = ls $d $in ${in} $$HOME\nbuild o: x i\n";
    assert_eq!(lines(text, Dialect::Ninja, &[]), ["ls a  i  i $HOME", "ls a x x $HOME"]);
    for (text, want) in [
        ("x := `ls`", vec!["ls"]),
        ("d := 'b'\na:\n  ls $HOME {{d}} {{env(\"HOME\")}}", vec!["ls $HOME b /home/alice"]),
        ("d := home_directory() / 'b'\na:\n  ls {{d}}", vec!["ls /home/alice/b"]),
        ("a d='c':\n  ls {{d}}", vec!["ls c"]),
        ("a:\n  #!/usr/bin/env bash\n  cd x\n  ls", vec!["cd x\nls"]),
        ("version: '3'\ntasks:\n  a:\n    cmds:\n      - ls $HOME", vec!["a:", "cmds:", "ls $HOME"]),
        (r#"{"scripts": {"a": "ls $HOME"}}"#, vec!["ls $HOME"]),
    ] {
        assert_eq!(lines(text, Dialect::Tasks, &[]), want, "{text}");
    }
    assert_eq!(lines("a d:\n  ls {{d}}", Dialect::Tasks, &[("#0", "a"), ("#1", "/")]), ["ls /"]);
}

#[test]
fn values_that_double_are_cut() {
    let text: String = (0..40).map(|i| format!("A{i} = $(A{})$(A{})\n", i + 1, i + 1)).collect();
    let given = Names::new();
    let mut file = Recipes::new(Values::new(Dialect::Make, &given, &|_| None), &|_| None);
    file.read(&format!("{text}a:\n\tls $(A0)"), 0);
    assert!(file.lines().1);
}
