"""The tools of sbx mcp with commands that run: results, denials, limits, cancelling, several at once."""

import json
import os
import pathlib
import time

from harness import POSIX, WINDOWS, main, native, promise
from mcp_client import Host, text

STRUCTURE = ["advice", "denials", "duration_ms", "error", "exit_code", "limit", "origin", "signal", "started", "status",
             "stderr", "stdout"]


@promise("a command's output, input and exit status come back, as text and as data")
def _(t):
    host = Host(t, env=t.unboxed)
    result = host.tool("run", argv=[t.actor, "say", "to out", "to err", "3"])
    data = result["structuredContent"]
    t.equal(sorted(data), STRUCTURE)
    t.equal((data["status"], data["exit_code"], data["origin"], data["started"], data["limit"]), (3, 3, "command", True, None))
    t.equal(data["stdout"], {"text": "to out\n", "bytes": 7, "truncated": False})
    t.has(data["stderr"]["text"], "to err")
    t.equal(result["isError"], False, "a command that fails by itself is no failure of the tool")
    for part in ("exit status 3", "to out", "to err"):
        t.has(text(result), part)
    data = host.tool("run", argv=[t.actor, "cat"], stdin="über\nlines\n" * 1000)["structuredContent"]
    t.equal(data["stdout"]["text"], "über\nlines\n" * 1000)
    kept = json.loads(host.call("resources/read", uri="sbx://outcomes")["result"]["contents"][0]["text"])
    t.equal([entry["outcome"]["status"] for entry in kept], [3, 0])
    t.equal(host.close(), 0)


@promise("older revisions get the text alone")
def _(t):
    host = Host(t, env=t.unboxed, revision="2024-11-05")
    result = host.tool("run", argv=[t.actor, "say", "x", "y", "0"])
    t.equal(sorted(result), ["content", "isError"])
    t.equal(host.close(), 0)


@promise("much output is returned as its beginning and its end, within what was asked for")
def _(t):
    host = Host(t, env=t.unboxed)
    body = "".join(f"line {number}\n" for number in range(40000))
    result = host.tool("run", argv=[t.actor, "cat"], stdin=body, output_bytes=1000)
    got = result["structuredContent"]["stdout"]
    t.equal((got["bytes"], got["truncated"]), (len(body), True))
    t.true(len(got["text"]) < 1100, len(got["text"]))
    t.true(got["text"].startswith("line 0\n") and got["text"].endswith("line 39999\n"), got)
    t.has(got["text"], "bytes left out")
    t.equal(host.close(), 0)


@promise("what cannot run says why, and that nothing ran")
def _(t):
    host = Host(t, env=t.unboxed)
    result = host.tool("run", argv=["no-such-program-anywhere"])
    data = result["structuredContent"]
    t.equal((result["isError"], data["status"], data["started"], data["error"]["code"]), (True, 127, False, "not-found"))
    t.has(text(result), "nothing ran")
    t.equal(host.close(), 0)
    host = Host(t, env=t.refused)
    result = host.tool("run", argv=[t.actor, "exit", "0"])
    t.equal((result["isError"], result["structuredContent"]["status"]), (True, 125))
    t.equal(host.close(), 0)


@promise("a time limit ends the command and is told as one")
def _(t):
    host = Host(t, env=t.unboxed)
    result = host.tool("run", argv=[t.actor, "late", "60000", "late"], timeout_ms=300)
    data = result["structuredContent"]
    t.equal((data["limit"], data["status"], data["origin"], result["isError"]), ("timeout", 124, "sbx", True))
    t.has(data["advice"], "limit")
    t.equal(host.close(), 0)


@promise("while a command runs, others run, pings are answered, and a ninth is told to wait")
def _(t):
    host = Host(t, env=t.unboxed)
    slow = [host.ask_tool("run", argv=[t.actor, "late", "60000", "late"]) for _ in range(7)]
    t.equal(host.call("ping")["result"], {})
    t.equal(host.tool("run", argv=[t.actor, "exit", "5"])["structuredContent"]["status"], 5)
    host.send({"jsonrpc": "2.0", "id": slow[0], "method": "ping"})
    answer = host.answer(slow[0])
    t.equal(answer["error"]["code"], -32600, "its id is in use")
    slow.append(host.ask_tool("run", argv=[t.actor, "late", "60000", "late"]))
    result = host.tool("run", argv=[t.actor, "exit", "0"])
    t.equal(result["isError"], True)
    t.has(text(result), "call again")
    t.equal(host.close(), 0)


@promise("a cancelled request ends its command and has no answer")
def _(t):
    host = Host(t, env=t.unboxed)
    number = host.ask_tool("run", argv=[t.actor, "late", "60000", "late"])
    t.equal(host.call("ping")["result"], {})
    host.note("notifications/cancelled", requestId=number, reason="enough")
    host.note("notifications/cancelled", requestId="unknown")
    deadline = time.monotonic() + 60
    kept = []
    while not kept and time.monotonic() < deadline:  # kept when it has ended
        kept = json.loads(host.call("resources/read", uri="sbx://outcomes")["result"]["contents"][0]["text"])
        time.sleep(0.05)
    t.equal(len(kept), 1)
    t.equal(host.call("ping")["result"], {})
    t.lacks(host.answers, number)
    t.equal(host.close(), 0)


@promise("one that will not end when it is asked is ended", on=POSIX)
def _(t):
    host = Host(t, env=t.unboxed)
    number = host.ask_tool("run", argv=["sh", "-c", "trap '' TERM INT; echo $$ > pid; while :; do sleep 1; done"])
    pid_file = t.project / "pid"
    deadline = time.monotonic() + 60
    while not (pid_file.exists() and pid_file.read_text().strip()) and time.monotonic() < deadline:
        time.sleep(0.05)
    host.note("notifications/cancelled", requestId=number)
    pid = int(pid_file.read_text())
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
        host.call("ping")
        time.sleep(0.05)
    t.true(not os.path.exists(f"/proc/{pid}"), "the command lives on")
    t.equal(host.close(), 0)


@promise("commands end with the host", on=("linux",))
def _(t):
    for how in ("its input ends", "sbx mcp is killed"):
        (t.project / "pid").unlink(missing_ok=True)
        host = Host(t, env=t.unboxed)
        host.ask_tool("run", argv=["sh", "-c", "echo $$ > pid; exec sleep 1000"])
        deadline = time.monotonic() + 60
        while not ((t.project / "pid").exists() and (t.project / "pid").read_text().strip()) \
                and time.monotonic() < deadline:
            time.sleep(0.05)
        pid = int((t.project / "pid").read_text())
        if how == "its input ends":
            t.equal(host.close(), 0)
        else:
            host.process.kill()
            host.close()
        while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
            time.sleep(0.05)
        t.true(not os.path.exists(f"/proc/{pid}"), how)


@promise("a denial names path, rule and the line that would allow it, and says to ask the user", on=("linux",))
def _(t):
    host = Host(t)
    target = pathlib.Path("/etc/sbx-mcp-denied")
    result = host.tool("run", argv=["sh", "-c", f"echo x > '{target}'"])
    data = result["structuredContent"]
    if not t.equal(len(data["denials"]), 1, data):
        return
    denial = data["denials"][0]
    t.equal((denial["path"], denial["operation"]), (str(target), "create"))
    t.has(denial["allow"], f'fs_write_allow = ["{target}"]')
    t.true(denial["rule"] and denial["because"])
    t.has(data["advice"], "ask")
    for part in ("denied: create", str(target), "fs_write_allow", "ask"):
        t.has(text(result), part)
    t.true(not target.exists())
    inside = host.tool("run", argv=["sh", "-c", "echo x > file"])["structuredContent"]
    t.equal((inside["status"], (t.project / "file").read_text()), (0, "x\n"))
    t.equal(host.close(), 0)


@promise("the directory a model chooses does not choose the manifest or what is writable", on=("linux",))
def _(t):
    other = t.home / "other"
    other.mkdir()
    t.manifest('[sandbox]\nmode = "danger-full-access"\n', below=other)
    host = Host(t, "-r", t.home)
    result = host.tool("run", argv=["sh", "-c", "pwd; echo x > made"], cwd=str(other))["structuredContent"]
    t.equal(result["stdout"]["text"], f"{other}\n")
    t.true(result["status"] != 0 and not (other / "made").exists(), result)
    t.equal(host.close(), 0)


@promise("explain says which rule decides about a path, and prints the plan of a command")
def _(t):
    host = Host(t)
    answer = text(host.tool("explain", path="C:\\Windows\\x" if WINDOWS else "/etc/x", operation="write"))
    t.has(answer, "denied")
    t.has(answer, "fs_write_allow")
    t.has(text(host.tool("explain", argv=["sh"])), "digest")
    t.has(text(host.tool("explain", url="https://example.com/")), "denied")
    t.equal(host.close(), 0)


@promise("who asks for progress is told of a command that takes long", on=("linux",))
def _(t):
    host = Host(t, env=t.unboxed)
    number = host.ask_tool("run", meta={"progressToken": "p1"}, argv=[t.actor, "late", "3000", "late"])
    host.answer(number)
    told = [note["params"] for note in host.notes if note["method"] == "notifications/progress"]
    t.true(told and told[0]["progressToken"] == "p1" and told[0]["progress"] >= 2, host.notes)
    t.equal(host.close(), 0)


main()
