"""Cases: flow control of output and input, cancelling, quotas."""

import base64

from cases import case


@case("without credit nothing comes, with credit just so much")
def _(c):
    run = c.start("flood", 100000, credit=0)
    c.client.wait(lambda: run.started is not None, "started")
    c.client.rest(0.3)
    c.equal(c.client.ask("ping"), {})
    c.equal(run.bytes["stdout"], b"")
    c.true(run.result is None, "it ended without its output")
    c.client.tell("run.credit", run=run.name, stream="stdout", bytes=1000)
    c.client.wait(lambda: len(run.bytes["stdout"]) >= 1000, "1000 bytes")
    c.client.rest(0.2)
    c.client.ask("ping")
    c.equal(len(run.bytes["stdout"]), 1000)
    c.client.tell("run.credit", run=run.name, stream="stdout", bytes=1 << 20)
    c.client.tell("run.credit", run=run.name, stream="stderr", bytes=100)
    c.equal(c.exit_of(run), 0)
    c.equal((len(run.bytes["stdout"]), run.bytes["stderr"]), (100000, b"done"))


@case("the first credit is the window of hello")
def _(c):
    window = c.client.limits["window"]
    run = c.start("flood", window + 50000)
    c.client.wait(lambda: len(run.bytes["stdout"]) >= window, "the window")
    c.client.rest(0.2)
    c.client.ask("ping")
    c.equal(len(run.bytes["stdout"]), window)
    c.client.tell("run.credit", run=run.name, stream="stdout", bytes=50000)
    c.equal(c.exit_of(run), 0)
    c.equal(len(run.bytes["stdout"]), window + 50000)


@case("a run that waits for credit keeps no other waiting")
def _(c):
    waiting = c.start("flood", 1000000, credit=0)
    for number in range(5):
        run = c.start("say", f"n{number}")
        c.equal(c.exit_of(run), 0)
        c.equal(run.bytes["stdout"].decode(), f"n{number}")
    c.true(waiting.result is None, "it has ended")
    c.client.ask("run.cancel", run=waiting.name)
    # What it had written before comes with credit, then the end.
    c.client.tell("run.credit", run=waiting.name, stream="stdout", bytes=1 << 21)
    c.client.tell("run.credit", run=waiting.name, stream="stderr", bytes=1 << 21)
    c.true(c.exit_of(waiting) != 0, "it ended well")


@case("the streams of a run have a credit each")
def _(c):
    run = c.start("both", "o" * 500, "e" * 500, 0, credit=0)
    c.client.tell("run.credit", run=run.name, stream="stderr", bytes=500)
    c.client.wait(lambda: len(run.bytes["stderr"]) == 500, "stderr")
    c.equal(run.bytes["stdout"], b"")
    c.client.tell("run.credit", run=run.name, stream="stdout", bytes=500)
    c.equal(c.exit_of(run), 0)
    c.equal(len(run.bytes["stdout"]), 500)


@case("much output comes whole")
def _(c):
    size = 3000000
    run = c.start("flood", size, credit=65536)
    given = 65536
    while run.result is None:
        got = len(run.bytes["stdout"])
        if given - got < 32768 and given < size + 65536:
            c.client.tell("run.credit", run=run.name, stream="stdout", bytes=65536)
            given += 65536
        c.client.pump(60)
    c.equal(run.bytes["stdout"].count(b"x"), size)
    c.equal(run.result["status"], 0)


@case("credit for a run that is not there, or with nonsense, harms nothing")
def _(c):
    c.client.tell("run.credit", run="r99", stream="stdout", bytes=10)
    c.client.tell("run.credit", run="r99", stream="nonsense", bytes=10)
    c.client.tell("run.credit", run="r99", stream="stdout", bytes=-10)
    c.client.tell("run.credit")
    c.equal(c.client.ask("ping"), {})
    c.equal(c.client.unasked, [])


@case("standard input is what was sent, and ends")
def _(c):
    run = c.start("cat", stdin="pipe")
    data = bytes(range(256)) * 10
    c.client.ask("run.stdin", run=run.name, data="text é\n")
    c.client.ask("run.stdin", run=run.name, data=base64.b64encode(data).decode(), encoding="base64")
    c.client.ask("run.stdin", run=run.name, data="", eof=True)
    c.equal(c.exit_of(run), 0)
    c.equal(run.bytes["stdout"], "text é\n".encode() + data)


@case("the last piece of standard input may bring its end")
def _(c):
    run = c.start("cat", stdin="pipe")
    c.client.ask("run.stdin", run=run.name, data="all", eof=True)
    c.equal(c.exit_of(run), 0)
    c.equal(run.bytes["stdout"], b"all")


@case("a run without standard input reads its end, and takes none")
def _(c):
    run = c.start("cat")
    c.equal(c.exit_of(run), 0)
    run = c.start("hold")
    c.said(run, "ready")
    c.refused("flow", "run.stdin", run=run.name, data="x")
    c.client.ask("run.cancel", run=run.name)
    c.ended(run)


@case("after its end no standard input is taken")
def _(c):
    run = c.start("hold", stdin="pipe")
    c.client.ask("run.stdin", run=run.name, data="a", eof=True)
    c.refused("flow", "run.stdin", run=run.name, data="b")
    c.client.ask("run.cancel", run=run.name)
    c.ended(run)


@case("standard input that is no base64 is refused")
def _(c):
    run = c.start("cat", stdin="pipe")
    for text in ("Zg", "Zg=", "Z===", "Zh==", "Zm9v\n", "Zm-_", "Zg==Zg=="):
        c.refused("invalid_params", "run.stdin", run=run.name, data=text, encoding="base64")
    c.refused("invalid_params", "run.stdin", run=run.name, data="a\0b")
    c.client.ask("run.stdin", run=run.name, data="good", eof=True)
    c.equal(c.exit_of(run), 0)
    c.equal(run.bytes["stdout"], b"good")


@case("more standard input than the window is refused, the window itself is taken")
def _(c):
    window = c.client.limits["stdinWindow"]
    run = c.start("hold", stdin="pipe")
    c.said(run, "ready")
    left = window + 65536  # a pipe of the system may take so much that the command has not read
    sent = 0
    refusal = None
    while refusal is None and sent <= left:
        try:
            c.client.ask("run.stdin", run=run.name, data="y" * 32768)
            sent += 32768
        except Exception as error:  # pylint: disable=broad-except
            refusal = error
    c.equal(getattr(refusal, "name", None), "flow")
    c.true(window <= sent <= window + run.stdin, f"{sent} of {window} + {run.stdin} asked for")
    c.client.ask("run.cancel", run=run.name)
    c.ended(run)


@case("a command that reads is asked for more, and much goes through")
def _(c):
    run = c.start("cat", stdin="pipe", credit=10000000)
    window = c.client.limits["stdinWindow"]
    size = 1500000
    sent = 0
    while sent < size:
        part = min(40000, size - sent)
        c.client.wait(lambda: sent + part <= window + run.stdin, "room for standard input")
        c.client.ask("run.stdin", run=run.name, data="z" * part, eof=sent + part == size)
        sent += part
    c.equal(c.exit_of(run), 0)
    c.equal(run.bytes["stdout"].count(b"z"), size)


@case("cancel ends a run.wait and not its run")
def _(c):
    run = c.start("hold")
    c.said(run, "ready")
    key = c.client.ask_later("run.wait", {"run": run.name})
    c.client.tell("cancel", id=key)
    try:
        c.client.answered(key)
        c.true(False, "it was answered")
    except Exception as refusal:  # pylint: disable=broad-except
        c.equal(getattr(refusal, "name", str(refusal)), "cancelled")
    c.equal(c.running(), [run.name])
    c.client.ask("run.cancel", run=run.name)
    c.ended(run)


@case("cancel of what is answered, or was never asked, harms nothing")
def _(c):
    key = c.client.ask_later("ping", {})
    c.client.answered(key)
    for value in (key, 12345, "never"):
        c.client.tell("cancel", id=value)
    c.client.tell("cancel", id={})
    c.client.tell("cancel")
    c.equal(c.client.ask("ping"), {})
    c.equal(c.client.unasked, [])


@case("more unanswered requests than the quota are overloaded, and the rest is answered")
def _(c):
    run = c.start("hold")
    c.said(run, "ready")
    pending = c.client.limits["pending"]
    keys = [c.client.ask_later("run.wait", {"run": run.name}) for _ in range(pending + 5)]
    names = []
    for key in keys[pending:]:
        try:
            c.client.answered(key)
            names.append("answered")
        except Exception as refusal:  # pylint: disable=broad-except
            names.append(getattr(refusal, "name", str(refusal)))
    c.equal(names, ["overloaded"] * 5)
    c.client.tell("cancel", id=keys[0])
    try:
        c.client.answered(keys[0])
    except Exception as refusal:  # pylint: disable=broad-except
        c.equal(getattr(refusal, "name", str(refusal)), "cancelled")
    c.client.ask("run.cancel", run=run.name)
    c.equal(len([c.client.answered(key) for key in keys[1:pending]]), pending - 1)
    c.ended(run)
