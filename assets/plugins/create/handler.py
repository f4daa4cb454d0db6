"""NAME: what this plugin adds to Hermes. docs/PLUGINS.md describes everything that register(ctx) can do."""

import json


def greet(args, **context):
    """A tool: gets the arguments, gives back a text (JSON for more than a sentence)."""
    return json.dumps({"greeting": f"Hello, {args.get('name', 'world')}!"})


def guard(tool_name, args, **context):
    """A hook before each tool call: None lets it pass."""
    if tool_name == "terminal" and "rm -rf /" in args.get("command", ""):
        return {"action": "block", "message": "NAME does not let this run"}


def hello(argument):
    """A slash command: /NAME."""
    return f"Hello from NAME. You said: {argument}"


def register(ctx):
    ctx.register_tool(
        name="NAME_greet",
        toolset="NAME",
        description="Greets somebody by name.",
        schema={"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        handler=greet,
        emoji="👋",
    )
    ctx.register_hook("pre_tool_call", guard)
    ctx.register_command("NAME", hello, description="Say hello", args_hint="[words]")
