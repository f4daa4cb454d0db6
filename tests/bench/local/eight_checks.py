#!/usr/bin/env python3
"""Eight things that a model of this computer should do, headless, each in a fresh folder: answer, read, write, edit, run,
several tools, refuse to use tools, a long file. By hand: needs the engine and a model (`hermes models get`).

    HERMES_HOME=… tests/bench/local/eight_checks.py --program target/release/hermes --model local:qwen2.5-coder-0.5b

On a server that runs, any of the programs in `agents.py`, each prompt in a fresh home and folder of the same name; and what
the first request weighs:

    tests/bench/local/eight_checks.py --agent pi --program node_modules/.bin/pi --base-url http://127.0.0.1:8080/v1 --model NAME
"""
import argparse
import os
import re
import shutil
import tempfile

import agents


def text(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


# The prompt, and whether it went well: by the folder, the answer and the calls (a shell's is `shell`).
CHECKS = {
    "answer": ("What is the capital of France? Answer in one word.", lambda d, a, c: "paris" in a.lower() and not c),
    "read": ("What is the launch code in notes.txt?", lambda d, a, c: "7319" in a),
    "write": ("Create a file hello.txt that contains the word hello.", lambda d, a, c: text(d + "/hello.txt").strip().lower() == "hello"),
    "edit": ("The function add in calc.py subtracts. Change it so that it adds.",
             lambda d, a, c: re.search(r"return a \+ b", text(d + "/calc.py")) and "def double" in text(d + "/calc.py")),
    "run": ("Run the command `echo $((6*7))` and tell me what it prints.", lambda d, a, c: "42" in a and "shell" in c),
    "several": ("Read notes.txt, then write the owner's name into owner.txt.", lambda d, a, c: "Ada" in text(d + "/owner.txt")),
    "refuse": ("Thank you, that is all for now.", lambda d, a, c: not c and a.strip()),
    "long": ("Which line of big.txt contains the word NEEDLE? Give the line number.", lambda d, a, c: "1234" in a),
}


def folder(root):
    place = root + "/project"
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    with open(place + "/notes.txt", "w") as file:
        file.write("The launch code is 7319.\nThe owner is Ada.\n")
    with open(place + "/calc.py", "w") as file:
        file.write("def add(a, b):\n    return a - b\n\n\ndef double(x):\n    return x * 2\n")
    with open(place + "/big.txt", "w") as file:
        file.writelines(f"line number {n} of text{' NEEDLE' if n == 1234 else ''}\n" for n in range(1, 3001))
    return place


def prepared(args, root):
    """The tap, with a home that leads to it."""
    if not args.base_url:
        return None
    tap = agents.Tap(args.base_url, args.key)
    agents.prepare(args.agent, os.path.abspath(args.program), root, tap.url, args.model)
    return tap


def check(name, args, root, tap):
    prompt, good = CHECKS[name]
    place = folder(root)
    if tap:
        tap.first = None
    run = agents.ask(args.agent, os.path.abspath(args.program), root, place, prompt, args.model, args.seconds)
    ok = run.error != agents.LATE and bool(good(place, run.answer, run.calls))
    first = ""
    if tap and tap.first:
        first = f"{tap.first['tokens']} tokens ({tap.first['cached']} cached), first piece {tap.first['at'] - run.begun:.1f} s  "
    error = "" if ok else run.error
    print(f"{'pass' if ok else 'FAIL'} {name:8} {run.seconds:5.1f} s  {first}{run.answer[:90]!r} {run.calls} {error}", flush=True)
    return ok


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--agent", choices=agents.AGENTS, default="hermes")
    parser.add_argument("--program", default="target/release/hermes")
    parser.add_argument("--base-url", default="", help="a server's /v1; only hermes can start its own")
    parser.add_argument("--key", default="none")
    parser.add_argument("--model", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=int, default=300)
    args = parser.parse_args()
    if args.agent != "hermes" and not args.base_url:
        parser.error(f"{args.agent} needs --base-url")
    names = [name for name in CHECKS if not args.only or name in args.only.split(",")]
    with tempfile.TemporaryDirectory() as root:
        tap = prepared(args, root)
        passed = sum(check(name, args, root, tap) for name in names)
    print(f"{passed} of {len(names)}")


if __name__ == "__main__":
    main()
