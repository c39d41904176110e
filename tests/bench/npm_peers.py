"""Peers that come from npm: installed into build/bench-peers when npm works and its registry answers."""

import json
import os
import shutil
import subprocess

PACKAGES = ("@openai/codex", "@anthropic-ai/sandbox-runtime")
ASK_SECONDS = 20
INSTALL_SECONDS = 600


def npm(*words, seconds):
    try:
        return subprocess.run(["npm", *words], capture_output=True, text=True, timeout=seconds,
                              check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def install(peers):
    """{package: why it is not there}. What was installed earlier stays as it is."""
    missing = [name for name in PACKAGES if not (peers / "node_modules" / name / "package.json").exists()]
    if not missing:
        return {}
    if os.environ.get("SBX_BENCH_OFFLINE") == "1":
        return dict.fromkeys(missing, "not installed, and SBX_BENCH_OFFLINE=1 forbids to fetch it")
    if not shutil.which("npm"):
        return dict.fromkeys(missing, "no npm in PATH")
    reasons = {}
    peers.mkdir(parents=True, exist_ok=True)
    for name in missing:
        if not npm("view", name, "version", seconds=ASK_SECONDS):
            reasons[name] = "npm's registry did not answer"
        elif not npm("install", "--prefix", str(peers), "--no-audit", "--no-fund", name, seconds=INSTALL_SECONDS):
            reasons[name] = "npm could not install it"
    return reasons


def version(peers, name):
    text = (peers / "node_modules" / name / "package.json").read_text(encoding="utf-8")
    return json.loads(text)["version"]


def codex_program(peers):
    """The program that the package's script would start; the script itself is one more start of node."""
    found = [path for path in (peers / "node_modules/@openai").glob("codex*/vendor/*/**/codex")
             if path.is_file() and os.access(path, os.X_OK)]
    return found[0] if found else None


def srt_script(peers):
    """The script that the package's command `srt` starts."""
    package = peers / "node_modules/@anthropic-ai/sandbox-runtime"
    commands = json.loads((package / "package.json").read_text(encoding="utf-8"))["bin"]
    return package / (commands if isinstance(commands, str) else commands["srt"])
