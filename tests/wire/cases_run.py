"""Cases: a run from its start to its end."""

import os
import time

from cases import case, instead


@case("a run says what its command says, and how it ended")
def _(c):
    run = c.start("both", "out", "err", 7)
    result = c.ended(run)
    c.equal(run.bytes, {"stdout": b"out", "stderr": b"err"})
    c.equal((result["status"], result["exit_code"], result["started"], result["origin"]), (7, 7, True, "command"))
    c.true(run.started is not None, "`started` came")
    c.equal(run.answer["digest"], result["plan_digest"])
    c.equal(run.answer["backend"], result["selection"]["backend"])


@case("a run in a box has a box", "box")
def _(c):
    run = c.start("say", "x")
    result = c.ended(run)
    c.equal(result["unsandboxed"], False)
    c.true(run.answer["backend"] not in ("none", ""), run.answer)


@case("run.wait answers with what `exited` says, before and after the end, any number of times")
def _(c):
    run = c.start("both", "", "", 5, stdin="pipe")
    key = c.client.ask_later("run.wait", {"run": run.name})
    other = c.client.ask_later("run.wait", {"run": run.name})
    result = c.ended(run)
    c.equal(c.client.answered(key), result)
    c.equal(c.client.answered(other), result)
    c.equal(c.client.ask("run.wait", run=run.name), result)
    c.equal(c.client.ask("run.wait", run=run.name)["status"], 5)


@case("what has ended takes no signal and no input, and may be cancelled again")
def _(c):
    run = c.start("say", "x", stdin="pipe")
    c.ended(run)
    c.refused("no_such_run", "run.signal", run=run.name, signal="TERM")
    c.refused("no_such_run", "run.stdin", run=run.name, data="x")
    c.equal(c.client.ask("run.cancel", run=run.name), {})


@case("a command runs in the directory and with the variables of the request")
def _(c):
    below = c.folder / "below é"
    below.mkdir()
    os.link(c.actor, below / c.actor.name)
    members = c.members(["cwd"])
    members["argv"][0] = c.world.native(below / c.actor.name)
    members["cwd"] = c.world.native(below)
    run = c.client.runs[c.client.ask("run.start", **members)["run"]]
    c.ended(run)
    c.equal(run.bytes["stdout"].decode(), c.world.native(below))
    env = {name: value for name, value in os.environ.items() if name in ("PATH", "SYSTEMROOT", "WINDIR")}
    env["WIRE_TEST"] = "a=b \"é\""
    run = c.start("env", "WIRE_TEST", env=env, manifest={"sandbox": {"mode": "workspace-write",
                                                                        "env_pass": ["WIRE_TEST"]}})
    c.ended(run)
    c.equal(run.bytes["stdout"].decode(), "a=b \"é\"")


@case("a variable that the manifest does not pass is not there", "box")
def _(c):
    run = c.start("env", "WIRE_TEST", env={"PATH": os.environ["PATH"], "WIRE_TEST": "secret"})
    c.ended(run)
    c.equal(run.bytes["stdout"], b"unset")


@case("arguments arrive as they were sent")
def _(c):
    for word in ("two words", "quote\"s 'n' \\back\\", "é€😀", "$HOME %PATH% `x` *", ""):
        run = c.start("say", word)
        c.ended(run)
        c.equal(run.bytes["stdout"].decode(), word)


@case("bytes that are no text come as base64, and are the same")
def _(c):
    for text in ("00", "ff", "c3", "410042", "1b5b306d", "efbbbf", "eda080"):
        run = c.start("bytes", text)
        c.ended(run)
        c.equal(run.bytes["stdout"].hex(), text)


@case("a manifest in the request is the policy of the run", "box")
def _(c):
    mark = c.folder / "mark"
    run = c.start("touch", mark, manifest={"sandbox": {"mode": "read-only"}})
    c.true(c.exit_of(run) != 0, "it could write")
    c.equal(mark.exists(), False)
    run = c.start("touch", mark, manifest={"sandbox": {"mode": "workspace-write"}})
    c.equal(c.exit_of(run), 0)
    c.equal(mark.exists(), True)


@case("a mode in the request is the policy of the run", "box")
def _(c):
    mark = c.folder / "mark"
    run = c.start("touch", mark, mode="read-only")
    c.true(c.exit_of(run) != 0, "it could write")
    c.equal(mark.exists(), False)


@case("a manifest file of the request is read", "box")
def _(c):
    path = c.folder / "policy.toml"
    path.write_text('[sandbox]\nmode = "read-only"\n')
    mark = c.folder / "mark"
    run = c.start("touch", mark, manifestFile=str(path))
    result = c.ended(run)
    c.equal(mark.exists(), False)
    c.equal(result["manifest"]["path"], str(path))


@case("what the box denied is told, in a notification and in the result", "box")
def _(c):
    run = c.start("touch", "/etc/sbx-wire-test")
    result = c.ended(run)
    c.true(result["status"] != 0, "it was not denied")
    c.equal([denial["path"] for denial in result["denials"]], ["/etc/sbx-wire-test"])
    c.equal(run.denied, result["denials"])


@case("evidence comes with `started` when it is wanted", "box")
def _(c):
    run = c.start("say", "x", evidence=True)
    c.ended(run)
    c.true(len(run.started.get("evidence", ())) > 3, run.started)
    run = c.start("say", "x")
    c.ended(run)
    c.true("evidence" not in run.started, run.started)


@case("a run that takes too long is ended")
def _(c):
    run = c.start("hold", timeoutMs=700)
    result = c.ended(run)
    c.equal((result["status"], result["limit"]), (124, "timeout"))


@case("run.cancel ends a run")
def _(c):
    run = c.start("hold")
    c.said(run, "ready")
    c.equal(c.client.ask("run.cancel", run=run.name), {})
    result = c.ended(run)
    c.true(result["status"] != 0, result)
    c.equal(c.running(), [])


@case("run.list tells what runs")
def _(c):
    run = c.start("hold", label="my label")
    c.said(run, "ready")
    (item,) = c.client.ask("run.list")["runs"]
    c.equal((item["run"], item["state"], item.get("label")), (run.name, "running", "my label"))
    c.true("actor" in item["argv0"] and item["ms"] >= 0, item)
    c.client.ask("run.cancel", run=run.name)
    c.ended(run)
    c.equal(c.running(), [])


@case("every signal reaches the command", "posix")
def _(c):
    for name, number in (("INT", 2), ("TERM", 15), ("HUP", 1), ("QUIT", 3), ("USR1", 10), ("USR2", 12)):
        run = c.start("trap")
        c.said(run, "ready")
        c.equal(c.client.ask("run.signal", run=run.name, signal=name), {})
        c.equal(c.exit_of(run), 40, name)
        c.equal(run.bytes["stdout"].decode(), f"ready {number}")


@instead("every signal reaches the command", "where processes have no signals")
def _(c):
    run = c.start("hold")
    c.said(run, "ready")
    for name in ("INT", "HUP", "QUIT", "USR1", "USR2"):
        error = c.refused("unsupported", "run.signal", run=run.name, signal=name)
        c.equal(error.get("code"), -33012, name)
    c.equal(c.running(), [run.name])
    c.equal(c.client.ask("run.signal", run=run.name, signal="TERM"), {})
    c.true(c.exit_of(run) != 0, "it lives")


@case("KILL ends the command")
def _(c):
    run = c.start("hold")
    c.said(run, "ready")
    c.client.ask("run.signal", run=run.name, signal="KILL")
    c.true(c.exit_of(run) != 0, "it lives")


@case("a signal with another name is refused")
def _(c):
    run = c.start("hold")
    for name in ("SIGINT", "int", "STOP", "", "9"):
        c.refused("invalid_params", "run.signal", run=run.name, signal=name)
    c.client.ask("run.cancel", run=run.name)
    c.ended(run)


@case("runs beside each other do not mix")
def _(c):
    runs = [c.start("both", f"out{number}", f"err{number}", number) for number in range(8)]
    for number, run in enumerate(runs):
        c.equal(c.exit_of(run), number)
        c.equal(run.bytes, {"stdout": b"out%d" % number, "stderr": b"err%d" % number})
    c.equal(len({run.name for run in runs}), 8)


@case("a run has a terminal of the size that was asked for, and of the next", "posix", "box")
def _(c):
    run = c.start("size", tty={"rows": 31, "cols": 97})
    c.said(run, "31x97;", "tty")
    c.equal(c.client.ask("run.resize", run=run.name, rows=11, cols=40), {})
    c.said(run, "11x40;", "tty")
    c.equal(c.exit_of(run), 0)


@instead("a run has a terminal of the size that was asked for, and of the next", "where no run without a box has a terminal")
def _(c):
    error = c.refused("unsupported", "run.start", **c.members(["hold"], tty={"rows": 31, "cols": 97}))
    c.equal(error.get("code"), -33012)
    c.equal(c.client.ask("run.list"), {"runs": []})


@case("what is typed on a terminal is read by the command", "posix", "box")
def _(c):
    run = c.start("cat", tty={"rows": 24, "cols": 80}, stdin="pipe")
    c.client.ask("run.stdin", run=run.name, data="typed\n")
    c.said(run, "typed\r\ntyped\r\n", "tty")
    c.client.ask("run.stdin", run=run.name, data="\x04")
    c.equal(c.exit_of(run), 0)


@case("a run without a terminal cannot be resized")
def _(c):
    run = c.start("hold")
    c.refused("unsupported", "run.resize", run=run.name, rows=10, cols=10)
    c.client.ask("run.cancel", run=run.name)
    c.ended(run)


@case("runs of a session with a shared network are run", "box")
def _(c):
    session = c.client.ask("session.open", sharedNetwork=True)["session"]
    for _ in range(2):
        run = c.start("say", "x", session=session)
        c.equal(c.exit_of(run), 0)
        c.equal(run.bytes["stdout"], b"x")
    c.equal(c.client.ask("session.list")["sessions"][0]["sharedNetwork"], True)


@case("descriptors of the client are the streams of the command", "socket")
def _(c):
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    with open(os.devnull, "rb") as null:
        members = c.members(["both", "out", "err", 3], fds=True)
        c.client.next_id += 1
        key = c.client.next_id
        c.client.asked[str(key)] = ("run.start", members)
        line = {"jsonrpc": "2.0", "id": key, "method": "run.start", "params": members}
        c.client.peer.write_with(as_line(line), [null.fileno(), out_write, err_write])
        os.close(out_write)
        os.close(err_write)
        run = c.client.runs[c.client.answered(key)["run"]]
        c.equal(c.exit_of(run), 3)
    c.equal((os.read(out_read, 100), os.read(err_read, 100)), (b"out", b"err"))
    c.equal((os.read(out_read, 100), os.read(err_read, 100)), (b"", b""))
    os.close(out_read)
    os.close(err_read)


@instead("descriptors of the client are the streams of the command", "where no descriptor comes with a line")
def _(c):
    error = c.refused("unsupported", "run.start", **c.members(["both", "out", "err", 3], fds=True))
    c.equal(error.get("code"), -33012)
    c.equal(c.client.ask("run.list"), {"runs": []})


def as_line(message):
    import json  # pylint: disable=import-outside-toplevel
    return json.dumps(message).encode() + b"\n"


@case("fds without descriptors is refused")
def _(c):
    try:
        c.client.ask("run.start", **c.members(["say", "x"], fds=True))
        c.true(False, "it ran")
    except Exception as refusal:  # pylint: disable=broad-except
        c.true(getattr(refusal, "name", "") in ("invalid_params", "unsupported"), str(refusal))


@case("when a client goes, its runs end", "many")
def _(c):
    if c.world.is_windows:
        lives_with_file(c)
    else:
        lives_with_fifo(c)
    c.equal(c.client.ask("ping"), {})


def lives_with_file(c):
    """The file is there as long as the run that made it."""
    other = c.connect()
    mark = c.folder / "alive"
    run = c.start("own", c.world.native(mark), on=other)
    c.said(run, "ready", on=other)
    c.equal(mark.exists(), True)
    other.peer.end()
    deadline = time.monotonic() + 60
    while mark.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    c.equal(mark.exists(), False, "the run of a client that has gone still lives")


def lives_with_fifo(c):
    other = c.connect()
    marks = c.folder / "alive"
    os.mkfifo(marks)
    # The run holds the writing end of a FIFO as long as it lives.
    members = c.members(["hold"])
    members["argv"] = ["sh", "-c", f"exec 3>'{marks}'; echo ready; sleep 600"]
    reading = os.open(marks, os.O_RDONLY | os.O_NONBLOCK)
    run = other.runs[other.ask("run.start", **members)["run"]]
    c.said(run, "ready", on=other)
    other.peer.end()
    deadline = time.monotonic() + 60
    os.set_blocking(reading, False)
    gone = False
    while not gone and time.monotonic() < deadline:
        try:
            gone = os.read(reading, 1) == b""
        except BlockingIOError:
            time.sleep(0.02)
    os.close(reading)
    c.true(gone, "the run of a client that has gone still lives")
