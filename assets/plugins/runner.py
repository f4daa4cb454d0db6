"""Runs a Python plugin with register(ctx) for Hermes: newline-delimited JSON-RPC 2.0 on stdin and stdout.

    runner.py TARGET    TARGET: a file with register(ctx), `module:function`, or an entry point of hermes_agent.plugins

What the plugin prints goes to standard error: standard output belongs to the protocol.
"""
import argparse
import asyncio
import contextlib
import importlib
import importlib.util
import inspect
import io
import json
import os
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
OUT = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
os.dup2(2, 1)
sys.stdout = sys.stderr
LOCK = threading.Lock()


def send(message):
    with LOCK:
        OUT.write(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=True, default=str) + "\n")
        OUT.flush()


def fitting(call, kwargs):
    """The keyword arguments that a function takes."""
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return kwargs
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return kwargs
    names = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    return {name: value for name, value in kwargs.items() if name in names}


def finish(value):
    """The value of a call that may be a coroutine."""
    return asyncio.run(value) if inspect.isawaitable(value) else value


class Context:
    """What register(ctx) is given."""

    def __init__(self, info):
        self.name = info.get("name", "")
        self.config = info.get("config") or {}
        self.plugin_dir = info.get("dir", "")
        self.data_dir = info.get("data_dir", "")
        self.manifest = info
        self.tools, self.hooks, self.commands, self.cli, self.prompt, self.problems = {}, {}, {}, {}, [], []
        self.guards = set()

    def register_tool(self, name, toolset="", schema=None, handler=None, check_fn=None, requires_env=None,
                      is_async=False, description="", emoji="", **more):
        schema = dict(schema or {})
        # OpenAI's function shape, with or without its wrapper, or the parameters alone.
        schema = schema.get("function", schema)
        parameters = schema.get("parameters", schema if "properties" in schema else {"type": "object", "properties": {}})
        if check_fn is not None:
            try:
                available = bool(check_fn())
            except Exception as error:
                available = False
                self.problems.append(f"tool {name}: its check failed: {error}")
            if not available:
                self.problems.append(f"tool {name} is not available")
                return
        about = description or schema.get("description", "")
        self.tools[name] = (handler, {"name": name, "toolset": toolset, "description": about, "parameters": parameters,
                                      "emoji": emoji, "requires_env": list(requires_env or [])})

    def register_hook(self, event, callback, on_error="allow", **more):
        self.hooks.setdefault(event, []).append(callback)
        if on_error == "block":
            self.guards.add(event)

    def register_command(self, name, handler, description="", args_hint="", **more):
        self.commands[name.lstrip("/")] = (handler, description, args_hint)

    def register_cli_command(self, name, help="", setup_fn=None, handler_fn=None, description="", **more):
        self.cli[name] = (setup_fn, handler_fn, help or description)

    def register_prompt(self, text, title=""):
        self.prompt.append({"title": title, "text": text})

    def inject_message(self, content, role="user"):
        self.log("warning", "inject_message has no counterpart here")
        return False

    def log(self, level, text):
        send({"method": "log", "params": {"level": level, "text": str(text)}})

    def __getattr__(self, name):
        if not name.startswith("register_"):
            raise AttributeError(name)

        def refused(*args, **kwargs):
            self.problems.append(f"{name} has no counterpart here and was left out")

        return refused


def load(target):
    """The register function of a target."""
    if target.endswith(".py"):
        folder = os.path.dirname(os.path.abspath(target))
        sys.path.insert(0, folder)
        package = os.path.basename(target) == "__init__.py"
        name = "hermes_plugin_" + "".join(c if c.isalnum() else "_" for c in os.path.basename(folder))
        places = [folder] if package else None
        spec = importlib.util.spec_from_file_location(name, target, submodule_search_locations=places)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        function = "register"
    elif ":" in target:
        path, function = target.split(":", 1)
        module = importlib.import_module(path)
    else:
        from importlib.metadata import entry_points

        found = [point for point in entry_points(group="hermes_agent.plugins") if point.name == target]
        if not found:
            raise LookupError(f"no entry point {target} in group hermes_agent.plugins")
        module, function = found[0].load(), "register"
        if callable(module):
            return module
    register = getattr(module, function, None)
    if register is None:
        raise LookupError(f"{target} has no {function}(ctx)")
    return register


class Plugin:
    def __init__(self, target):
        self.target, self.ctx = target, None

    def initialize(self, params):
        self.ctx = ctx = Context(params.get("plugin") or {})
        finish(load(self.target)(ctx))
        return {
            "protocol": 1,
            "tools": [about for _, about in ctx.tools.values()],
            "hooks": [{"event": e, "on_error": "block" if e in ctx.guards else "allow"} for e in ctx.hooks],
            "commands": [{"name": n, "description": d, "argument": a} for n, (_, d, a) in ctx.commands.items()],
            "cli": [{"name": n, "description": about} for n, (_, _, about) in ctx.cli.items()],
            "prompt": ctx.prompt,
            "problems": ctx.problems,
        }

    def tool_call(self, params):
        handler = self.ctx.tools[params["name"]][0]
        about = params.get("context") or {}
        kwargs = {"task_id": about.get("session_id"), "session_id": about.get("session_id"),
                  "tool_call_id": about.get("call_id"), "cwd": about.get("cwd")}
        names = list(inspect.signature(handler).parameters.values())
        more = fitting(handler, kwargs)
        if names and names[0].name in more:
            more.pop(names[0].name)
        result = finish(handler(params.get("arguments") or {}, **more))
        failed = isinstance(result, dict) and bool(result.get("error"))
        if isinstance(result, str) and result.lstrip().startswith("{"):
            try:
                failed = bool(json.loads(result).get("error"))
            except ValueError:
                pass
        return {"content": result if isinstance(result, str) else json.dumps(result, default=str), "is_error": failed}

    def hook_run(self, params):
        kwargs, merged, words = dict(params.get("arguments") or {}), {}, []
        event = params["event"]
        for callback in self.ctx.hooks.get(params.get("registered") or event, []):
            answer = finish(callback(**fitting(callback, kwargs)))
            if isinstance(answer, str):
                if event.startswith("transform_"):
                    merged["text"] = answer
                    kwargs[{"transform_terminal_output": "output", "transform_llm_output": "response_text"}.get(event, "result")] = answer
                else:
                    words.append(answer)
            elif isinstance(answer, dict):
                words.extend([answer["context"]] if answer.get("context") else [])
                merged.update(answer)
                if answer.get("action") == "block" or answer.get("decision") in ("block", "deny"):
                    break
                if isinstance(answer.get("args"), dict):
                    kwargs["args"] = answer["args"]
        if words:
            merged["context"] = "\n\n".join(words)
        return merged or None

    def command_run(self, params):
        answer = finish(self.ctx.commands[params["name"]][0](params.get("argument", "")))
        return answer if isinstance(answer, dict) else {"text": "" if answer is None else str(answer)}

    def cli_run(self, params):
        setup, handler, about = self.ctx.cli[params["name"]]
        parser = argparse.ArgumentParser(prog="hermes " + params["name"], description=about)
        out, err, code = io.StringIO(), io.StringIO(), 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                if setup is not None:
                    setup(parser)
                args = parser.parse_args(params.get("args") or [])
                run = handler or getattr(args, "func", None)
                result = finish(run(args)) if run else 0
                code = result if isinstance(result, int) else 0
                if isinstance(result, str):
                    print(result)
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
            except Exception:
                traceback.print_exc()
                code = 1
        return {"stdout": out.getvalue(), "stderr": err.getvalue(), "exit_code": code}


METHODS = {"initialize": "initialize", "tool.call": "tool_call", "hook.run": "hook_run", "command.run": "command_run",
           "cli.run": "cli_run"}


def answer(plugin, message):
    number, method = message.get("id"), message.get("method")
    try:
        if method not in METHODS:
            send({"id": number, "error": {"code": -32601, "message": f"no method {method}"}})
            return
        send({"id": number, "result": getattr(plugin, METHODS[method])(message.get("params") or {})})
    except BaseException as error:
        traceback.print_exc()
        send({"id": number, "error": {"code": -32000, "message": f"{type(error).__name__}: {error}"}})


def main():
    plugin, pool = Plugin(sys.argv[1]), ThreadPoolExecutor(max_workers=8)
    for line in sys.stdin:
        if not line.strip():
            continue
        message = json.loads(line)
        if message.get("method") == "shutdown":
            break
        if message.get("id") is None:
            continue
        if message.get("method") in ("initialize", "cli.run"):
            answer(plugin, message)
        else:
            pool.submit(answer, plugin, message)
    OUT.flush()
    # A call that hangs must not hold up the end.
    os._exit(0)


if __name__ == "__main__":
    main()
