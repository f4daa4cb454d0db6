"""Tools of this session, for a script. Each function returns what the tool returned, read from JSON."""
import json as _json
import os as _os
import socket as _socket
import threading as _threading

_here = _threading.local()


def _stream():
    # A thread has a connection of its own, and so has a process that was forked.
    if getattr(_here, "owner", None) != _os.getpid():
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        connection.connect(_os.environ["HERMES_RPC_SOCKET"])
        _here.stream = connection.makefile("rwb")
        _here.owner = _os.getpid()
    return _here.stream


def _call(tool, args):
    args = {name: value for name, value in args.items() if value is not None}
    # The token comes first: nobody reads on without it.
    request = {"token": _os.environ["HERMES_RPC_TOKEN"], "tool": tool, "args": args}
    request = _json.dumps(request).encode() + b"\n"
    try:
        stream = _stream()
        stream.write(request)
        stream.flush()
        reply = stream.readline()
    except (OSError, ValueError) as error:
        _here.owner = None
        raise RuntimeError(f"Agent process disconnected: {error}") from None
    if not reply.endswith(b"\n"):
        _here.owner = None
        raise RuntimeError("Agent process disconnected")
    return _json.loads(reply)


def json_parse(text):
    """Reads JSON, control characters in texts included."""
    return _json.loads(text, strict=False)


def shell_quote(text):
    """The text as one word of a shell."""
    return "'" + str(text).replace("'", "'\"'\"'") + "'"


def retry(fn, max_attempts=3, delay=2):
    """Calls fn until it raises nothing; waits twice as long each time."""
    import time
    for attempt in range(1, max_attempts + 1):
        try:
            return fn()
        except Exception:
            if attempt >= max_attempts:
                raise
            time.sleep(delay * 2 ** (attempt - 1))
