#!/usr/bin/env python3
# A stand-in for llama.cpp's server: no weights, fixed answers. What it does is in PROGRAM.json beside it, what it heard in
# PROGRAM.log, a line of JSON each.
#
#   unready    so many looks at /health are answered with 503; 3 unless given
#   hangs      it loads for ever
#   dies       it prints this line and ends with status 1: on the way to its first answer
#   signal     it ends by this signal instead
#   able       it calls the tool that the self-test wants
#   breaks     in the middle of an answer it ends as `dies` or `signal` say, or with status 1
#
# Prompts that it knows: `call TOOL {JSON}` calls an offered tool, `say TEXT` says it; after a result it says `that is done`.
import argparse
import json
import os
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SCRIPT = os.path.abspath(__file__)


def settings():
    try:
        with open(SCRIPT + ".json", encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return {}


def heard(**what):
    with open(SCRIPT + ".log", "a", encoding="utf-8") as file:
        file.write(json.dumps({"pid": os.getpid(), **what}) + "\n")


def die(told):
    if told.get("dies"):
        print(told["dies"], file=sys.stderr, flush=True)
    if told.get("signal"):
        os.kill(os.getpid(), told["signal"])
        # It may reach another thread first.
        time.sleep(10)
    os._exit(1)


words = argparse.ArgumentParser()
words.add_argument("--model", required=True)
words.add_argument("--alias", required=True)
words.add_argument("--host", default="127.0.0.1")
words.add_argument("--port", type=int, required=True)
words.add_argument("--ctx-size", type=int, required=True)
words.add_argument("--api-key-file", required=True)
args, rest = words.parse_known_args()
with open(args.api_key_file, encoding="utf-8") as file:
    KEY = file.read().strip()
with open(args.model, "rb") as file:
    if file.read(4) != b"GGUF":
        sys.exit("error loading model: invalid magic")
heard(started=args.alias, context=args.ctx_size, rest=rest, key_in_words=KEY in " ".join(sys.argv))
looks = 0


def text_of(content):
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or [] if isinstance(part, dict))


def reply(request):
    """Text, and the call of a tool or None."""
    messages = request.get("messages") or [{}]
    last = messages[-1]
    if last.get("role") == "tool":
        return "that is done", None
    prompt = text_of(last.get("content"))
    offered = [tool["function"]["name"] for tool in request.get("tools") or []]
    called = re.search(r"call (\w+) (\{.*\})", prompt, re.S)
    if called and called[1] in offered:
        return "", (called[1], called[2])
    if settings().get("able") and prompt.startswith("Use the tool: book the room Blue") and "book_room" in offered:
        return "", ("book_room", json.dumps({"room": "Blue", "people": 3, "screen": True}))
    said = re.search(r"say (.+)", prompt)
    return said[1] if said else "hello from this computer", None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        global looks
        told = settings()
        if self.path == "/health":
            looks += 1
            if told.get("hangs") or looks <= told.get("unready", 3):
                return self.answer(503, {"error": {"message": "Loading model", "code": 503}})
            if (told.get("dies") or told.get("signal")) and not told.get("breaks"):
                die(told)
            return self.answer(200, {"status": "ok"})
        if not self.is_known():
            return
        if self.path == "/v1/models":
            meta = {"n_ctx": args.ctx_size, "n_ctx_train": args.ctx_size}
            return self.answer(200, {"object": "list", "data": [{"id": args.alias, "object": "model", "meta": meta}]})
        if self.path == "/props":
            return self.answer(200, {"default_generation_settings": {"n_ctx": args.ctx_size}})
        self.answer(404, {"error": {"message": "File Not Found", "code": 404}})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if not self.is_known():
            return
        request = json.loads(body)
        heard(path=self.path, request=request)
        if self.path != "/v1/chat/completions":
            return self.answer(404, {"error": {"message": "File Not Found", "code": 404}})
        said, call = reply(request)
        usage = {"prompt_tokens": 900, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 800}}
        message = {"role": "assistant", "content": said}
        if call:
            function = {"name": call[0], "arguments": call[1]}
            message["tool_calls"] = [{"index": 0, "id": "call_0", "type": "function", "function": function}]
        end = "tool_calls" if call else "stop"
        if not request.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": end}
            return self.answer(200, {"object": "chat.completion", "choices": [choice], "usage": usage})
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        told = settings()
        pieces = [{"content": said[at : at + 6]} for at in range(0, len(said), 6)]
        if call:
            pieces.append({"tool_calls": message["tool_calls"]})
        for at, delta in enumerate(pieces):
            self.event({"index": 0, "delta": delta, "finish_reason": None})
            if told.get("breaks") and at >= len(pieces) // 2:
                die(told)
        self.event({"index": 0, "delta": {}, "finish_reason": end})
        self.event(None, usage=usage, timings={"predicted_per_second": 40.0, "prompt_n": 100, "cache_n": 800})
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def event(self, choice, **more):
        chunk = {"object": "chat.completion.chunk", "model": args.alias, "choices": [choice] if choice else [], **more}
        self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        self.wfile.flush()

    def is_known(self):
        if self.headers.get("authorization") == "Bearer " + KEY:
            return True
        self.answer(401, {"error": {"message": "Invalid API Key", "code": 401}})
        return False


ThreadingHTTPServer((args.host, args.port), Handler).serve_forever()
