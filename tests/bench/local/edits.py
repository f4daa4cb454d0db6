#!/usr/bin/env python3
"""Which form of an edit does a small model get right? Twenty small edits (`edits_corpus.py`), each in several forms of the call,
one try at temperature 0, behind a grammar that lets only this call through. The prompt is what Hermes sends to a small model
after it read the file; an edit by exact text is made by Hermes' own tool.

    tests/bench/local/edits.py --base-url http://127.0.0.1:8080/v1 --model NAME --hermes target/release/hermes
"""
import argparse
import json
import os
import re
import subprocess
import tempfile
import time
import urllib.request

from edits_corpus import EDITS

ASSETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../assets/prompts")
REST = """string ::= "\\"" char* "\\""
char ::= [^"\\\\\\x7F\\x00-\\x1F] | "\\\\" (["\\\\bfnrt/] | "u" [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F])
integer ::= "0" | [1-9] [0-9]*
"""


def bare(text):
    """Without the line numbers that a model may copy."""
    return "\n".join(re.sub(r"^\s*\d+\|", "", line) for line in text.split("\n"))


def by_text(folder, name, args, hermes):
    call = {"path": name, "old_string": args["old_string"], "new_string": args["new_string"]}
    subprocess.run([hermes, "tools", "run", "--yolo", "patch", json.dumps(call)], cwd=folder, capture_output=True, check=False,
                   env={**os.environ, "HERMES_HOME": folder + "/.home"})


def by_lines(folder, name, args, _):
    lines = read(folder, name).split("\n")
    first, last = args["first_line"], args["last_line"]
    if 1 <= first <= len(lines) and first <= last + 1:
        content = bare(args["content"])
        lines[first - 1:last] = content.removesuffix("\n").split("\n") if content else []
        write(folder, name, "\n".join(lines))


def whole(folder, name, args, _):
    write(folder, name, bare(args["content"]))


# The tool, what it says, its arguments with their rules, whether the file is shown with numbers, and what carries it out.
FORMS = {
    "exact text": ("patch", "Change part of a file; old_string becomes new_string.",
                   {"path": "string", "old_string": "string", "new_string": "string"}, True, by_text),
    "exact text, no numbers": ("patch", "Change part of a file; old_string becomes new_string.",
                               {"path": "string", "old_string": "string", "new_string": "string"}, False, by_text),
    "lines": ("patch", "Change part of a file; content replaces the lines first_line to last_line.",
              {"path": "string", "first_line": "integer", "last_line": "integer", "content": "string"}, True, by_lines),
    "whole file": ("write_file", "Create a file, or replace all of it.",
                   {"path": "string", "content": "string"}, True, whole),
    "whole file, no numbers": ("write_file", "Create a file, or replace all of it.",
                               {"path": "string", "content": "string"}, False, whole),
}


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def asset(name):
    return read(ASSETS, name).strip()


def examples():
    """The conversation of `guided-examples.yaml`; a reader of its few forms of lines."""
    messages, tool = [], ""

    def say(role, text):
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += "\n\n" + text
        else:
            messages.append({"role": role, "content": text})

    for line in asset("guided-examples.yaml").split("\n"):
        key, _, value = line.lstrip(" -").partition(": ")
        if line.startswith("#"):
            continue
        if key == "asked":
            say("user", value)
        elif key == "answer":
            say("assistant", value)
        elif key == "tool":
            tool = value
        elif key == "arguments":
            say("assistant", f'{{"tool": "{tool}", "arguments": {value[1:-1]}}}')
        elif key == "result":
            say("user", f"Result of {tool}:\n{value[1:-1]}")
    return messages


def request(form, name, text, asked, model):
    tool, about, fields, numbered, _ = FORMS[form]
    tools = [f"- {tool}({', '.join(fields)}): {about}",
             "- read_file(path, offset?): Read a file. Lines come with their numbers.",
             "- search_files(pattern, path?): Find lines in files by a regular expression.",
             "- terminal(command): Run a shell command."]
    system = f"{asset('small.md')}\n\n{asset('guided.md').replace('{{tools}}', chr(10).join(tools))}"
    lines = text.rstrip("\n").split("\n")
    shown = "\n".join(f"{number}|{line}" for number, line in enumerate(lines, 1)) if numbered else text
    about_file = {"content": shown, "total_lines": len(lines), "file_size": len(text), "truncated": False}
    result = json.dumps(about_file, separators=(",", ":"))
    messages = [{"role": "system", "content": system}, *examples(), {"role": "user", "content": asked},
                {"role": "assistant", "content": f'{{"tool": "read_file", "arguments": {{"path":"{name}"}}}}'},
                {"role": "user", "content": f"Result of read_file:\n{result}"}]
    pairs = [f'"{"" if at == 0 else ", "}\\"{field}\\": " {rule}' for at, (field, rule) in enumerate(fields.items())]
    grammar = f'root ::= "{{\\"tool\\": \\"{tool}\\", \\"arguments\\": {{" {" ".join(pairs)} "}}}}"\n{REST}'
    limit = 900 if tool == "write_file" else 300
    return {"model": model, "temperature": 0, "max_tokens": limit, "grammar": grammar, "messages": messages}


def ask(url, key, body):
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
    posted = urllib.request.Request(url + "/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(posted) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


def plain(text):
    return "\n".join(line.rstrip() for line in text.split("\n") if line.strip())


def good(template, pattern, text):
    before, rest = template.split("⟦")
    before, after = plain(before + "⟦⟧" + rest.split("⟧")[1]).split("⟦⟧")
    return re.fullmatch(re.escape(before) + f"(?:{pattern})" + re.escape(after), plain(text)) is not None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--key", default="none")
    parser.add_argument("--model", required=True)
    parser.add_argument("--hermes", default="target/release/hermes")
    parser.add_argument("--only", default="", help="forms, by their names")
    parser.add_argument("--show", action="store_true", help="print the calls that went wrong")
    args = parser.parse_args()
    hermes = os.path.abspath(args.hermes)
    for form in [form for form in FORMS if not args.only or form in args.only.split(";")]:
        passed, begun = [], time.time()
        for edit, name, asked, pattern, template in EDITS:
            text = template.replace("⟦", "").replace("⟧", "")
            said = ask(args.base_url, args.key, request(form, name, text, asked, args.model))
            with tempfile.TemporaryDirectory() as folder:
                write(folder, name, text)
                try:
                    FORMS[form][4](folder, name, json.loads(said)["arguments"], hermes)
                except ValueError:
                    pass  # Cut off by the limit.
                if good(template, pattern, read(folder, name)):
                    passed.append(edit)
                elif args.show:
                    print(f"  {edit}: {said}", flush=True)
        print(f"{form}: {len(passed)} of {len(EDITS)} in {time.time() - begun:.0f} s: {' '.join(passed)}", flush=True)


if __name__ == "__main__":
    main()
