# Serves a model with llama.cpp's server out of the Python package xllamacpp: `python3 serve.py SETTINGS`.
# The settings are JSON; the key comes out of a file, so that no argument holds it.
import json
import signal
import sys
import threading

wanted = json.loads(sys.argv[1])
with open(wanted["key_file"], encoding="utf-8") as file:
    key = file.read().strip()
sys.path.insert(0, wanted["package"])
import xllamacpp  # noqa: E402

params = xllamacpp.CommonParams()
params.model.path = wanted["model"]
params.model_alias = {wanted["alias"]}
params.hostnames = ["127.0.0.1"]
params.port = wanted["port"]
params.api_keys = [key]
params.n_ctx = wanted["context"]
params.n_parallel = 1
params.use_jinja = True
params.ui = False
params.cache_prompt = True
if wanted["sleep"]:
    params.sleep_idle_seconds = wanted["sleep"]

over = threading.Event()
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, lambda *_: over.set())
server = xllamacpp.Server(params)
print("listening on", server.listening_address, flush=True)
over.wait()
