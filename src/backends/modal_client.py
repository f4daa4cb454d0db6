"""The way to sandboxes of Modal, by Modal's own package: its protocol, its logins and its errors are its own.

    modal_client.py ready SPEC             finds or makes the sandbox; prints {"id"}; or {"missing"} when its snapshot is gone
    modal_client.py find SPEC              prints {"found"}: whether it runs; makes nothing
    modal_client.py enter ID pipes WORDS   runs words there, bytes as they are
    modal_client.py enter ID terminal WORDS  the same on a terminal there, keys as they are typed here
    modal_client.py state ID               prints {"running"}
    modal_client.py keep ID                prints {"image"}: what now keeps its files; null when it has ended
    modal_client.py end ID BUSY            prints {"ended"}; ends it unless BUSY prints something there

An error is one line "Kind: words" on standard error; 255 is the code of enter when the sandbox is gone.
"""

import json
import os
import sys
import threading

import modal
import modal.exception

BROKEN = 255


def say(**facts):
    print(json.dumps(facts), flush=True)


def find(spec):
    """The running sandbox of this name."""
    try:
        sandbox = modal.Sandbox.from_name(spec["app"], spec["name"])
    except modal.exception.NotFoundError:
        return None
    return sandbox if sandbox.poll() is None else None


def make(spec, app, image):
    more = {}
    if spec.get("cpu"):
        more["cpu"] = spec["cpu"]
    if spec.get("memory"):
        more["memory"] = spec["memory"]
    return modal.Sandbox.create(
        "sleep", "infinity",
        app=app, name=spec["name"], image=image, timeout=spec["timeout"], idle_timeout=spec["idle"], **more,
    )


def ready(spec):
    app = modal.App.lookup(spec["app"], create_if_missing=True)
    sandbox = find(spec)
    if sandbox is not None:
        return say(id=sandbox.object_id)
    try:
        if spec.get("snapshot"):
            try:
                sandbox = make(spec, app, modal.Image.from_id(spec["snapshot"]))
            except modal.exception.NotFoundError:
                # Nothing takes its place in silence.
                return say(missing=True)
        else:
            sandbox = make(spec, app, modal.Image.from_registry(spec["image"]))
    except modal.exception.AlreadyExistsError:
        # Another program of this home was faster.
        sandbox = find(spec)
        if sandbox is None:
            raise
    say(id=sandbox.object_id)


def write(fd, data):
    while data:
        data = data[os.write(fd, data):]


def pump(stream, fd):
    try:
        for chunk in stream:
            write(fd, chunk if isinstance(chunk, bytes) else chunk.encode())
    except BrokenPipeError:
        os._exit(BROKEN)


def feed(process):
    try:
        while data := os.read(0, 65536):
            process.stdin.write(data)
            process.stdin.drain()
        process.stdin.write_eof()
        process.stdin.drain()
    except Exception:
        # The process ended, or the terminal here closed: the other threads see which.
        return


def enter(sandbox_id, kind, words):
    sandbox = modal.Sandbox.from_id(sandbox_id)
    terminal = kind == "terminal"
    if terminal and os.isatty(0):
        import tty

        size = os.get_terminal_size(0)
        tty.setraw(0)
        sized = 'stty rows "$1" cols "$2" 2>/dev/null; shift 2; exec "$@"'
        words = ["sh", "-c", sized, "sh", str(size.lines), str(size.columns), *words]
    process = sandbox.exec(*words, text=False, pty=terminal)
    threading.Thread(target=feed, args=(process,), daemon=True).start()
    streams = [(process.stdout, 1)] if terminal else [(process.stdout, 1), (process.stderr, 2)]
    pumps = [threading.Thread(target=pump, args=each) for each in streams]
    for each in pumps:
        each.start()
    for each in pumps:
        each.join()
    code = process.wait()
    if code != 0 and sandbox.poll() is not None:
        code = BROKEN
    # The thread that reads here would be waited for.
    os._exit(code if 0 <= code <= 255 else BROKEN)


def state(sandbox_id):
    try:
        say(running=modal.Sandbox.from_id(sandbox_id).poll() is None)
    except modal.exception.NotFoundError:
        say(running=False)


def keep(sandbox_id):
    sandbox = modal.Sandbox.from_id(sandbox_id)
    if sandbox.poll() is not None:
        return say(image=None)
    say(image=sandbox.snapshot_filesystem().object_id)


def end(sandbox_id, busy):
    sandbox = modal.Sandbox.from_id(sandbox_id)
    if sandbox.poll() is not None:
        return say(ended=True)
    working = sandbox.exec("sh", "-c", busy, text=False)
    others = b"".join(working.stdout).strip()
    working.wait()
    if not others:
        sandbox.terminate()
    say(ended=not others)


def main(words):
    try:
        match words:
            case ["ready", spec]:
                ready(json.loads(spec))
            case ["find", spec]:
                say(found=find(json.loads(spec)) is not None)
            case ["enter", sandbox_id, ("pipes" | "terminal") as kind, *rest]:
                enter(sandbox_id, kind, rest)
            case ["state", sandbox_id]:
                state(sandbox_id)
            case ["keep", sandbox_id]:
                keep(sandbox_id)
            case ["end", sandbox_id, busy]:
                end(sandbox_id, busy)
            case _:
                sys.exit(__doc__)
    except Exception as error:
        text = " ".join(str(error).split()) or "no reason is given"
        print(f"{type(error).__name__}: {text}", file=sys.stderr, flush=True)
        # Threads of the package may still wait for what will not come.
        os._exit(BROKEN if words[:1] == ["enter"] else 1)


main(sys.argv[1:])
