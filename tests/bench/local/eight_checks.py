#!/usr/bin/env python3
"""Eight things that a model of this computer should do, headless, each in a fresh folder: answer, read, write, edit, run,
several tools, refuse to use tools, a long file. By hand: needs the engine and a model (`hermes models get`).

    HERMES_HOME=… tests/bench/local/eight_checks.py --hermes target/release/hermes --model local:qwen2.5-coder-0.5b
"""
import argparse, json, os, re, shutil, subprocess, tempfile, time

def text(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""

CHECKS = {
    "answer": ("What is the capital of France? Answer in one word.", lambda d, a, c: "paris" in a.lower() and not c),
    "read": ("What is the launch code in notes.txt?", lambda d, a, c: "7319" in a),
    "write": ("Create a file hello.txt that contains the word hello.", lambda d, a, c: text(d + "/hello.txt").strip().lower() == "hello"),
    "edit": ("The function add in calc.py subtracts. Change it so that it adds.",
             lambda d, a, c: re.search(r"return a \+ b", text(d + "/calc.py")) and "def double" in text(d + "/calc.py")),
    "run": ("Run the command `echo $((6*7))` and tell me what it prints.", lambda d, a, c: "42" in a and "terminal" in c),
    "several": ("Read notes.txt, then write the owner's name into owner.txt.", lambda d, a, c: "Ada" in text(d + "/owner.txt")),
    "refuse": ("Thank you, that is all for now.", lambda d, a, c: not c and a.strip()),
    "long": ("Which line of big.txt contains the word NEEDLE? Give the line number.", lambda d, a, c: "1234" in a),
}

def folder():
    place = os.path.join(tempfile.mkdtemp(), "project")
    os.makedirs(place)
    with open(place + "/notes.txt", "w") as file:
        file.write("The launch code is 7319.\nThe owner is Ada.\n")
    with open(place + "/calc.py", "w") as file:
        file.write("def add(a, b):\n    return a - b\n\n\ndef double(x):\n    return x * 2\n")
    return place

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hermes", default="target/release/hermes")
    parser.add_argument("--model", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=int, default=180)
    args = parser.parse_args()
    hermes, passed = os.path.abspath(args.hermes), 0
    names = [name for name in CHECKS if not args.only or name in args.only.split(",")]
    for name in names:
        prompt, good = CHECKS[name]
        place = folder()
        if name == "long":
            with open(place + "/big.txt", "w") as file:
                file.writelines(f"line number {n} of text{' NEEDLE' if n == 1234 else ''}\n" for n in range(1, 3001))
        begun = time.time()
        try:
            ran = subprocess.run([hermes, "-p", prompt, "-m", args.model, "--output", "stream-json", "--yolo", "--max-turns", "6"],
                                 cwd=place, capture_output=True, text=True, timeout=args.seconds)
            events = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
            error = ran.stderr.strip()[-200:]
        except subprocess.TimeoutExpired:
            events, error = [], "timed out"
        calls = [c.get("name", "") for e in events for c in ([e] if "tool" in e.get("type", "") and e.get("name") else [])]
        answer = next((str(e.get("result") or e.get("text") or "") for e in reversed(events) if e.get("type") == "result"), "")
        ok = bool(good(place, answer, calls))
        passed += ok
        print(f"{'pass' if ok else 'FAIL'} {name:8} {time.time() - begun:5.1f} s  {answer[:90]!r} {calls} {error if not ok else ''}", flush=True)
        shutil.rmtree(os.path.dirname(place), ignore_errors=True)
    print(f"{passed} of {len(names)}")

if __name__ == "__main__":
    main()
