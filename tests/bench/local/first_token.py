#!/usr/bin/env python3
"""From a prompt to the first token of a model of this computer, its server not running; then a second turn: what it weighs
and how much of it was computed before.

    HERMES_HOME=… tests/bench/local/first_token.py --hermes target/release/hermes --model local:qwen2.5-coder-0.5b
"""
import argparse
import json
import os
import subprocess
import tempfile
import time


def ask(hermes, model, folder, prompt, *more):
    begun, first, last = time.time(), None, {}
    words = [hermes, "-p", prompt, "-m", model, "--output", "stream-json", *more]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=folder) as program:
        for line in program.stdout:
            last = json.loads(line)
            if first is None and "delta" in last.get("type", ""):
                first = time.time() - begun
    return first, time.time() - begun, last.get("usage", {})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hermes", default="target/release/hermes")
    parser.add_argument("--model", required=True)
    args = parser.parse_args()
    hermes = os.path.abspath(args.hermes)
    with tempfile.TemporaryDirectory() as folder:
        # While `serve` holds the server, the second turn finds what the first one computed.
        for name in ("cold", "warm"):
            serve = None
            if name == "warm":
                serve = subprocess.Popen([hermes, "models", "serve", args.model.split(":", 1)[1]], stdout=subprocess.PIPE, text=True)
                serve.stdout.readline()
            first, whole, usage = ask(hermes, args.model, folder, "What is the capital of France? Answer in one word.")
            print(f"{name}: first token {first or 0:.1f} s, whole {whole:.1f} s, {usage}")
            if serve:
                first, whole, usage = ask(hermes, args.model, folder, "And of Spain?", "-c")
                print(f"second turn: first token {first or 0:.1f} s, whole {whole:.1f} s, {usage}")
                serve.terminate()
                serve.wait()


if __name__ == "__main__":
    main()
