"""How programs are asked one thing headless on a server of the OpenAI form, and a tap in between that notes what they send."""
import json
import os
import shutil
import sqlite3
import subprocess
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# What stands for the server's key, which only the tap has.
KEY = "local-server"
# Requests that a prompt may take, where a program can be held to it.
STEPS = 6
# The error of a program that took too long.
LATE = "timed out"


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def lines_of_json(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def hermes_home(program, home, url, model):
    """The self-test that runs when a model is chosen on the screen decides what it gets."""
    write(home + "/config.yaml", f"providers:\n  llamacpp: {{base_url: \"{url}\", api_key: {KEY}}}\n")
    words = [program, "models", "test", "llamacpp:" + model]
    subprocess.run(words, env={**os.environ, "HERMES_HOME": home}, stdout=subprocess.DEVNULL, check=True)


def hermes(program, home, model, prompt):
    model, more = ("llamacpp:" + model, {"HERMES_HOME": home}) if home else (model, {})
    return [program, "-p", prompt, "-m", model, "--output", "stream-json", "--yolo", "--max-turns", str(STEPS)], more


def hermes_read(out, home):
    events = lines_of_json(out)
    calls = [event["name"] for event in events if "tool" in event.get("type", "") and event.get("name")]
    return next((str(event.get("result") or "") for event in reversed(events) if event.get("type") == "result"), ""), calls


def hermes_py_home(program, home, url, model):
    """It refuses a window below 64,000 tokens, as these models have: so it hears of a larger one."""
    write(home + "/config.yaml", f"""model:
  {{default: {model}, provider: custom, base_url: "{url}", api_key: {KEY}, context_length: 65536}}
approvals: {{mode: "off"}}
updates: {{check: false}}
security: {{tirith_enabled: false}}
""")
    write(home + "/.env", f"OPENAI_API_KEY={KEY}\n")


def hermes_py(program, home, model, prompt):
    words = [program, "chat", "-q", prompt, "-Q", "--yolo", "--max-turns", str(STEPS)]
    return words, {"HERMES_HOME": home, "HERMES_YOLO_MODE": "1"}


def hermes_py_read(out, home):
    """The calls are in its store; it prints the answer and the session's name."""
    store = sqlite3.connect(home + "/state.db")
    rows = store.execute("select tool_calls from messages where tool_calls is not null order by id").fetchall()
    store.close()
    calls = [call["function"]["name"] for (row,) in rows for call in json.loads(row)]
    return "\n".join(line for line in out.splitlines() if not line.startswith("session_id:")).strip(), calls


def pi_home(program, home, url, model):
    models = [{"id": model, "contextWindow": 32768, "maxTokens": 4096}]
    served = {"baseUrl": url, "api": "openai-completions", "apiKey": KEY, "models": models}
    write(home + "/models.json", json.dumps({"providers": {"local": served}}))


def pi(program, home, model, prompt):
    words = [program, "-p", "--mode", "json", "--provider", "local", "--model", model, prompt]
    return words, {"PI_CODING_AGENT_DIR": home, "PI_OFFLINE": "1", "PI_TELEMETRY": "0"}


def pi_read(out, home):
    events, answer = lines_of_json(out), ""
    calls = [event["toolName"] for event in events if event.get("type") == "tool_execution_start"]
    for event in events:
        message = event.get("message") or {}
        if event.get("type") == "message_end" and message.get("role") == "assistant":
            answer = "".join(part.get("text", "") for part in message.get("content", []) if part.get("type") == "text")
    return answer, calls


# What fills its home, what starts it, what reads its answer and calls out of what it printed, and what it calls its shell.
AGENTS = {
    "hermes": (hermes_home, hermes, hermes_read, "terminal"),
    "hermes-py": (hermes_py_home, hermes_py, hermes_py_read, "terminal"),
    "pi": (pi_home, pi, pi_read, "bash"),
}


class Run:
    """What one prompt led to; the shell goes by the name `shell`."""

    def __init__(self):
        self.answer, self.calls, self.error, self.begun, self.seconds = "", [], "", time.time(), 0.0


def prepare(agent, program, root, url, model):
    """A home for this server, from which each prompt gets a copy."""
    AGENTS[agent][0](program, root + "/prepared", url, model)


def ask(agent, program, root, folder, prompt, model, seconds):
    """Ask in a folder, in a copy of the home that was prepared; if none was, in the one that HERMES_HOME names."""
    _, words, read, shell = AGENTS[agent]
    home = ""
    if os.path.exists(root + "/prepared"):
        # Always the same name: what a program says of it does not keep the server from reusing the prompt.
        home = root + "/home"
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(root + "/prepared", home)
    argv, more = words(program, home, model, prompt)
    run = Run()
    try:
        done = subprocess.run(argv, cwd=folder, env={**os.environ, **more}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=seconds)
        run.answer, calls = read(done.stdout, home)
        run.calls = ["shell" if call == shell else call for call in calls]
        run.error = done.stderr.strip()[-200:]
    except subprocess.TimeoutExpired:
        run.error = LATE
    except (OSError, ValueError, sqlite3.Error) as error:
        run.error = str(error)
    run.seconds = time.time() - run.begun
    return run


class Tap:
    """Between a program and the server: `first` has the tokens of the first completion, those that the server had
    computed before, and when its first piece came."""

    def __init__(self, upstream, key):
        self.upstream, self.key, self.first = upstream.rstrip("/").removesuffix("/v1"), key, None
        tap = self

        class Pass(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                tap.carry(self, None)

            def do_POST(self):
                tap.carry(self, self.rfile.read(int(self.headers.get("content-length", 0))))

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Pass)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def carry(self, client, body):
        headers = {"content-type": client.headers.get("content-type", "application/json"), "authorization": f"Bearer {self.key}"}
        asked = urllib.request.Request(self.upstream + client.path, body, headers)
        noted = {} if body and client.path.endswith("/completions") else None
        try:
            answer = urllib.request.urlopen(asked)
        except urllib.error.HTTPError as error:
            answer = error
        try:
            with answer:
                client.send_response(answer.status)
                client.send_header("content-type", answer.headers.get("content-type", "application/json"))
                client.end_headers()
                for line in answer:
                    client.wfile.write(line)
                    client.wfile.flush()
                    if noted is not None:
                        self.note(noted, line)
        except OSError:
            pass  # The program went away.

    def note(self, noted, line):
        data = line.removeprefix(b"data: ").strip()
        try:
            piece = json.loads(data) if data.startswith(b"{") else {}
        except ValueError:
            return
        choice = (piece.get("choices") or [{}])[0]
        said = choice.get("delta") or choice.get("message") or {}
        if any(said.get(part) for part in ("content", "reasoning_content", "tool_calls")):
            noted.setdefault("at", time.time())
        timings = piece.get("timings")
        if timings and "at" in noted:
            noted["cached"] = timings.get("cache_n", 0)
            noted["tokens"] = timings.get("prompt_n", 0) + noted["cached"]
            if self.first is None:
                self.first = noted
