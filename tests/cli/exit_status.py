"""Exit statuses of `sbx run`, and how a command's own is told from sbx's."""

import signal
import subprocess
import time

from harness import POSIX, main, native, promise


@promise("a command's own status is passed on")
def _(t):
    for code in (0, 1, 2, 3, 42, 100, 123, 124, 125, 126, 127, 128, 137, 200, 254, 255):
        done = t.run("run", "--", t.actor, "exit", code, env=t.unboxed)
        t.equal(done.status, code, done)
        t.equal(done.out, "", done)


@promise("statuses that sbx uses itself are told apart by origin")
def _(t):
    for code in (124, 125, 126, 127):
        own = t.outcome(t.run("run", "--json", "--", t.actor, "exit", code, env=t.unboxed))
        t.equal((own.get("origin"), own.get("status"), own.get("exit_code")), ("command", code, code))
        t.equal((own.get("started"), own.get("ok"), own.get("error")), (True, True, None))
    for words, code, started in ((("-t", "200ms", "--", t.actor, "late", 5000, "never"), 124, True),
                                 (("-t", "nonsense", "--", t.actor, "exit", 0), 125, False),
                                 (("--", native(t.project / "no-such-program")), 127, False)):
        sbx = t.outcome(t.run("run", "--json", *words, env=t.unboxed))
        t.equal((sbx.get("origin"), sbx.get("status"), sbx.get("started")), ("sbx", code, started))


@promise("124: the time limit ended it, and a message says which and what to do")
def _(t):
    begin = time.monotonic()
    done = t.run("run", "-t", "300ms", "--", t.actor, "late", 20000, native(t.project / "late"),
                 env=t.unboxed)
    t.true(time.monotonic() - begin < 15, "it took too long")
    t.equal(done.status, 124, done)
    t.has(done.err, "timeout after 300ms", done)
    t.has(done.err, "-t TIME", done)
    outcome = t.outcome(t.run("run", "--json", "-t", "300ms", "--", t.actor, "late", 20000, "late",
                              env=t.unboxed))
    t.equal(outcome.get("limit"), "timeout")


@promise("124: the output limit ended it after exactly that much")
def _(t):
    data = bytes(range(256)) * 400
    done = t.run("run", "--max-output", "1000", "--", t.actor, "cat", stdin=data, env=t.unboxed)
    t.equal(done.status, 124, done)
    t.equal(done.out_bytes, data[:1000])
    t.has(done.err, "output of more than 1000", done)
    whole = t.run("run", "--max-output", len(data), "--", t.actor, "cat", stdin=data, env=t.unboxed)
    t.equal((whole.status, whole.out_bytes), (0, data))


@promise("the limit is reached with the whole tree: nothing of it goes on afterwards")
def _(t):
    ready, late = t.project / "ready", t.project / "late"
    done = t.run("run", "-t", "1500ms", "--", t.actor, "hang", native(ready), 4000, native(late),
                 env=t.unboxed)
    t.equal(done.status, 124, done)
    t.true(ready.exists(), "the tree was never there")
    time.sleep(4)
    t.true(not late.exists(), "a grandchild outlived the limit")
    control = t.run("run", "--", t.actor, "hang", native(ready), 300, native(late), env=t.unboxed)
    t.equal(control.status, 0, control)
    t.true(late.exists(), "without the limit it would have been made")


@promise("125: sbx refused, and nothing was started")
def _(t):
    mark = t.project / "ran"
    bad = t.manifest("[sandbox]\nprofile = 7\n", "bad.toml")
    for words, env in (((), t.refused), (("-f", "missing.toml"), t.unboxed), (("-f", bad), t.unboxed),
                       (("--no-such-option",), t.unboxed), (("-r", "relative"), t.unboxed),
                       (("-p", "strict", "--mode", "read-only"), t.unboxed),
                       (("--require", "filesystem"), t.unboxed), (("-C", "/no/such/place"), t.unboxed)):
        done = t.run("run", *words, "--", t.actor, "touch", native(mark), env=env)
        t.equal(done.status, 125, done)
        t.true(not mark.exists(), done)
        t.true(done.err.startswith("sbx: error["), done)
        t.equal(done.out, "", done)
    done = t.run("run", "--", t.actor, "touch", native(mark), env=t.unboxed)
    t.equal((done.status, mark.exists()), (0, True), "and with both keys it would have been")


@promise("126: the command is there but cannot be executed")
def _(t):
    plain = t.manifest("not a program\n", "plain")
    plain.chmod(0o644)
    for program in (plain, t.project):
        done = t.run("run", "--", native(program), env=t.unboxed)
        t.equal(done.status, 126, done)
        t.has(done.err, "sbx: error[denied]", done)
        t.has(done.err, program.name, done)


@promise("126: a file that is marked as a program but is none", on=POSIX)
def _(t):
    broken = t.manifest(b"\x7fELF but not really\n", "broken")
    broken.chmod(0o755)
    done = t.run("run", "--", broken, env=t.unboxed)
    t.equal(done.status, 126, done)
    path = t.project / "bin"
    t.manifest("#!/bin/sh\n", "tool", below=path).chmod(0o644)
    done = t.run("run", "--", "tool", env={**t.unboxed, "PATH": str(path)})
    t.equal(done.status, 126, "found in PATH, but not executable is not \"not found\"")


@promise("127: the command is not found")
def _(t):
    for program in ("sbx-no-such-program", native(t.project / "missing"),
                    native(t.project / "missing/below")):
        done = t.run("run", "--", program, env=t.unboxed)
        t.equal(done.status, 127, done)
        t.has(done.err, "sbx: error[not-found]", done)


@promise("127: a script whose interpreter is missing says so", on=POSIX)
def _(t):
    script = t.manifest("#!/no/such/interpreter\n", "script")
    script.chmod(0o755)
    done = t.run("run", "--", script, env=t.unboxed)
    t.equal(done.status, 127, done)
    t.has(done.err, "/no/such/interpreter", done)


@promise("128+n: a signal ended the command", on=POSIX)
def _(t):
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGKILL, signal.SIGSEGV,
                   signal.SIGTERM, signal.SIGSYS):
        command = ("run", "--json", "--", "sh", "-c", f"kill -{int(number)} $$")
        done = t.run(*command, env=t.unboxed)
        t.equal(done.status, 128 + number, done)
        outcome = t.outcome(done)
        t.equal((outcome.get("origin"), outcome.get("signal"), outcome.get("exit_code")),
                ("command", int(number), None))


@promise("a signal sent to sbx reaches the command, whose answer is passed on", on=POSIX)
def _(t):
    script = "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done"
    process = t.start("run", "-E", "PATH", "--", "sh", "-c", script, env=t.unboxed,
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    t.equal(process.stdout.readline(), b"ready\n")
    process.send_signal(signal.SIGTERM)
    t.equal(process.wait(20), 7)
    process.communicate()


@promise("usage errors: 125 from run, 2 from every other command")
def _(t):
    for command in ("explain", "why", "verify", "init", "profile", "trust", "doctor", "schema",
                    "completion", "version", "help"):
        done = t.run(command, "--no-such-option")
        t.equal(done.status, 2, done)
        t.has(done.err, "unknown option", done)
    done = t.run("run", "--no-such-option")
    t.equal(done.status, 125, done)
    t.equal(t.run("run").status, 125, "no command")
    t.equal(t.run("run", "--").status, 125, "no command after --")
    t.equal(t.run("run", "").status, 125, "an empty command")
    for words in (("why",), ("verify",), ("profile",), ("completion",), ("doctor", "x"),
                  ("version", "x"), ("help", "x"), ("schema", "x"), ("init", "a", "b"),
                  ("trust", "a", "b"), ("completion", "tcsh"), ("profile", "show"), ("nonsense",)):
        done = t.run(*words)
        t.equal(done.status, 2, done)
        t.true(done.err.startswith("sbx: error[usage]"), done)


@promise("a status above 255 keeps its low byte on the way through Wine, and all of it in the outcome",
         on=("windows",))
def _(t):
    for code in (256 + 7, 0xC0000005, 0xFFFFFFFF):
        outcome = t.outcome(t.run("run", "--json", "--", t.actor, "exit", code, env=t.unboxed))
        t.equal((outcome.get("status"), outcome.get("exit_code")), (code, code))


main()
