"""The transcripts of docs/PROTOCOL.md, as cases: a block "```transcript" of lines "> sent" and "< received", each one JSON object. In a
received one "…" stands for anything, members that are not named do not matter, and the name of a run is what the service says first."""

import json
import pathlib
import re

from cases import Row

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(r"^```transcript ([^\n]+)\n(.*?)^```$", re.M | re.S)


def matches(want, got):
    if want == "…":
        return True
    if isinstance(want, dict):
        return isinstance(got, dict) and all(name in got and matches(value, got[name]) for name, value in want.items())
    if isinstance(want, list):
        return isinstance(got, list) and len(want) == len(got) and all(map(matches, want, got))
    return want == got


def rename(value, names):
    """The runs of a document have their names only there."""
    if isinstance(value, dict):
        return {name: names.get(item, item) if name == "run" else rename(item, names) for name, item in value.items()}
    return value


# Windows has no sh: what the actor is told there to do the same.
SHELL = {
    "echo hello; exit 3": ("both", "hello\n", "", "3"),
    "cat": ("cat",),
    "printf 12345678": ("say", "12345678"),
}


def fill(message, c):
    """A run of a document runs in the directory of the case, and without a box where there is none."""
    if message.get("method") in ("run.start", "plan.explain"):
        params = message["params"]
        params["cwd"] = c.world.native(c.folder)
        if c.world.is_windows and params["argv"][:2] == ["sh", "-c"]:
            params["argv"] = [c.world.native(c.actor), *SHELL[params["argv"][2]]]
        if not c.world.is_boxed:
            message["params"].update(sandbox="none", allowNoSandbox=True)
    return message


def play(c, lines):
    received = []
    take = c.client.take

    def note(message):
        received.append(message)
        take(message)
    c.client.take = note
    names = {}
    for line in lines:
        message = rename(json.loads(line[2:]), names)
        wanted = message.get("result", {}).get("run") if line[0] == "<" else None
        if wanted:
            message["result"]["run"] = "…"
        if line[0] == ">":
            fill(message, c)
            if "id" not in message:
                c.client.tell(message["method"], **message["params"])
                continue
            c.client.asked[json.dumps(message["id"])] = (message["method"], message.get("params", {}))
            c.client.send(message)
            continue
        # In their order, but other messages may come between.
        while not any(matches(message, got) for got in received):
            c.client.pump(60) or c.true(False, f"{line} did not come")
            if c.failures:
                return
        index = next(i for i, got in enumerate(received) if matches(message, got))
        if wanted:
            names[wanted] = received[index]["result"]["run"]
        if "limits" in received[index].get("result", {}):
            c.client.limits = received[index]["result"]["limits"]
        c.true(True, line)
        del received[index]


def rows():
    found = []
    for title, text in BLOCK.findall((ROOT / "docs/PROTOCOL.md").read_text(encoding="utf-8")):
        lines = [line for line in text.splitlines() if line]
        found.append(Row(f"the transcript of the document: {title}", lambda c, lines=lines: play(c, lines), (), False))
    return found
