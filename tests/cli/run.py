"""What a command that sbx runs gets: its environment, streams, descriptors and directory."""

import os
import random
import signal
import subprocess

from harness import POSIX, WINDOWS, main, native, promise

SECRETS = {"AWS_SECRET_ACCESS_KEY": "planted-1", "GITHUB_TOKEN": "planted-2", "SSH_AUTH_SOCK": "/planted-3",
           "MY_PASSWORD": "planted-4", "LD_LIBRARY_PATH": "/planted-5", "PYTHONPATH": "/planted-6"}
# Wine adds these to every process; a Windows child does not start without the first two.
WINE_ADDS = ("SYSTEMROOT", "SYSTEMDRIVE", "PROCESSOR_", "WINE", "WINDIR")


def variables(t, *words, env=None):
    """The environment a command sees, as a dictionary."""
    done = t.run("run", *words, "--", t.actor, "env", env={**t.unboxed, **SECRETS, **(env or {})})
    t.equal(done.status, 0, done)
    pairs = dict(line.split("=", 1) for line in done.out.splitlines() if "=" in line[1:])
    if WINDOWS:
        pairs = {name: value for name, value in pairs.items()
                 if not name.upper().startswith(WINE_ADDS) and not name.startswith("=")}
    return pairs


@promise("of the caller's environment nothing arrives, secrets least of all")
def _(t):
    t.equal(variables(t), {})


@promise("a mode's variables are for boxes: without one they arrive only when the caller says so")
def _(t):
    t.equal(variables(t, "--mode", "workspace-write"), {})
    passed = variables(t, "--mode", "workspace-write", "-E", "LANG", env={"LANG": "C"})
    t.equal(passed, {"LANG": "C"})


@promise("exactly the declared pairs and the passed names arrive")
def _(t):
    t.equal(variables(t, "-e", "A=1", "-e", "EMPTY=", "-e", "EQUALS=a=b=c", "--set-env=LONG=x y  z"),
            {"A": "1", "EMPTY": "", "EQUALS": "a=b=c", "LONG": "x y  z"})
    t.equal(variables(t, "-E", "MY_PASSWORD", "-E", "SBX_TEST_NOT_SET"), {"MY_PASSWORD": "planted-4"})
    path = t.manifest('[sandbox]\nenv = [["B", "from file"], ["C", "file"]]\nenv_pass = ["GITHUB_TOKEN"]\n',
                      "env.toml")
    t.equal(variables(t, "-f", path, "-e", "C=flag"),
            {"B": "from file", "C": "flag", "GITHUB_TOKEN": "planted-2"})


@promise("values keep every character")
def _(t):
    value = "a\tb \"quoted\" 'single' \\ back $HOME `x` ${y} %PATH% !x! ^&|<>"
    if not WINDOWS:  # where the actor's C library would print it in a code page
        value += " grüße \u8a9e \u202e"
    t.equal(variables(t, "-e", f"VALUE={value}"), {"VALUE": value})
    t.equal(variables(t, "-E", "PASSED", env={"PASSED": value}), {"PASSED": value})


@promise("arguments arrive as they were given, also those that look like sbx's own")
def _(t):
    words = ["", " ", "a b", '"', "'", "\\", '\\"', "a\\", "*", "-r", "--json", "--", "-", "$HOME", "%X%",
             "x=y", "--help", "tab\there"]
    done = t.run("run", "--", t.actor, "args", *words, env=t.unboxed)
    t.equal(done.out, "".join(f"[{word}]\n" for word in words), done)


@promise("standard output is the command's, byte for byte")
def _(t):
    noise = random.Random(1).randbytes(10 << 20)
    for data in (b"", b"\0", bytes(range(256)), b"\r\n\n\r\x1a\x04", b"no newline at the end", noise):
        done = t.run("run", "--", t.actor, "cat", stdin=data, env=t.unboxed)
        t.equal(done.status, 0)
        t.true(done.out_bytes == data, f"{len(data)} bytes in, {len(done.out_bytes)} out")


@promise("standard error is the command's, after sbx's one warning")
def _(t):
    done = t.run("run", "--", t.actor, "say", "to stdout", "to stderr", 5, env=t.unboxed)
    t.equal((done.status, done.out), (5, "to stdout\n"), done)
    t.equal(done.err.splitlines()[1:], ["to stderr"], done)


@promise("with --json the outcome follows the command's own output on standard error, as one line")
def _(t):
    done = t.run("run", "--json", "--", t.actor, "say", "out", "err", 5, env=t.unboxed)
    t.equal(done.out, "out\n", done)
    t.equal(done.err.splitlines()[-2], "err", done)
    t.equal(t.outcome(done).get("exit_code"), 5)


@promise("streams that are files are passed untouched")
def _(t):
    data = random.Random(2).randbytes(200000)
    source, sink = t.project / "in", t.project / "out"
    source.write_bytes(data)
    with source.open("rb") as feed, sink.open("wb") as take:
        feed.seek(1000)
        done = t.run("run", "--", t.actor, "cat", env=t.unboxed, stdin=feed, stdout=take)
    t.equal(done.status, 0, done)
    t.true(sink.read_bytes() == data[1000:], "the file's position is shared, its bytes are not changed")


@promise("no descriptor but the three standard ones is passed on", on=POSIX)
def _(t):
    kept = [os.open("/dev/null", os.O_RDONLY) for _ in range(5)]
    high = os.dup2(kept[0], 900)
    try:
        done = t.run("run", "--", t.actor, "fds", env=t.unboxed, pass_fds=(*kept, high))
    finally:
        for fd in (*kept, high):
            os.close(fd)
    t.equal(done.out.split(), ["0", "1", "2"], done)


@promise("while it runs, no other process of the user reads the memory or environment of sbx", on=("linux",))
def _(t):
    user = 65534 if os.geteuid() == 0 else None  # root may read everybody's

    def start(*words):
        return subprocess.Popen(words, env=t.environment(t.unboxed), cwd=t.project, user=user, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def is_readable(process, name):
        return subprocess.run(["head", "-c1", f"/proc/{process.pid}/{name}"], user=user, check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    script = "echo ready; read line"
    boxed, plain = start(t.copy_of_sbx(), "run", "--", "sh", "-c", script), start("sh", "-c", script)
    for process in (boxed, plain):
        t.equal(process.stdout.readline(), b"ready\n")
    for name in ("environ", "maps", "fd/0"):
        t.equal((is_readable(boxed, name), is_readable(plain, name) or name == "fd/0"), (False, True), name)
    for process in (boxed, plain):
        process.communicate(b"\n", timeout=20)


@promise("the command starts where the caller stands, or where -C says")
def _(t):
    below = t.project / "below"
    below.mkdir()
    done = t.run("run", "--", t.actor, "cwd", env=t.unboxed)
    t.equal(done.out.strip(), native(t.project), done)
    done = t.run("run", "-C", native(below), "--", t.actor, "cwd", env=t.unboxed)
    t.equal(done.out.strip(), native(below), done)
    done = t.run("run", "-C", ":cwd/below", "--", t.actor, "cwd", env=t.unboxed)
    t.equal(done.out.strip(), native(below), done)


@promise("a name is looked for in the caller's PATH, which the command itself does not get", on=POSIX)
def _(t):
    tools = t.project / "tools"
    script = t.manifest("#!/bin/sh\n/usr/bin/env\n", "tool", below=tools)
    script.chmod(0o755)
    done = t.run("run", "--", "tool", env={**t.unboxed, "PATH": f"{tools}"})
    t.equal(done.status, 0, done)
    t.lacks(done.out, str(tools), done)
    here = t.run("run", "--", "tool", env={**t.unboxed, "PATH": ".:"}, cwd=tools)
    t.equal(here.status, 127, "the current directory is never searched")


@promise("--result writes the outcome to a file that is whole, private and replaces an old one")
def _(t):
    path = t.project / "result.json"
    for code in (0, 3):
        done = t.run("run", "--result", path, "--", t.actor, "say", "out", "err", code, env=t.unboxed)
        t.equal((done.status, done.out), (code, "out\n"), done)
        report = t.json(path.read_text())
        t.equal((report.get("schema_version"), report.get("command"), report.get("status")), (1, "run", code))
        t.lacks(done.err, "schema_version", done)
    if not WINDOWS:
        t.equal(path.stat().st_mode & 0o777, 0o600)
    t.equal([entry.name for entry in t.project.iterdir()], ["result.json"], "nothing is left beside it")


@promise("--json-fd writes the outcome to an inherited descriptor", on=POSIX)
def _(t):
    read, write = os.pipe()
    done = t.run("run", "--json-fd", write, "--", t.actor, "say", "out", "err", 4, env=t.unboxed,
                 pass_fds=(write,))
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        report = t.json(stream.read())
    t.equal((done.status, done.out, report.get("exit_code")), (4, "out\n", 4), done)
    t.lacks(done.err, "schema_version", done)


@promise("--json-fd 2 is standard error, and 0, 1 and nonsense are refused")
def _(t):
    done = t.run("run", "--json-fd", 2, "--", t.actor, "exit", 4, env=t.unboxed)
    t.equal((done.status, t.outcome(done).get("exit_code")), (4, 4), done)
    for value in ("0", "1", "-1", "x", "", "2x", "65536", "99999999999999999999"):
        done = t.run("run", f"--json-fd={value}", "--", t.actor, "exit", 0, env=t.unboxed)
        t.equal(done.status, 125, done)
        t.has(done.err, "--json-fd", done)


@promise("an outcome that cannot be written is told, and the command's status stands")
def _(t):
    place = t.project / "directory"
    place.mkdir()
    done = t.run("run", "--result", place, "--", t.actor, "exit", 6, env=t.unboxed)
    t.equal(done.status, 6, done)
    t.has(done.err, "the outcome could not be written", done)
    if not WINDOWS:
        done = t.run("run", "--json-fd", 77, "--", t.actor, "exit", 6, env=t.unboxed)
        t.equal(done.status, 6, done)
        t.has(done.err, "the outcome could not be written", done)


@promise("nothing of sbx is printed when all is well; -v says what was found")
def _(t):
    quiet = t.run("run", "-e", "PYTHONPATH=x", "--", t.actor, "exit", 0, env=t.unboxed)
    t.equal(len(quiet.err.splitlines()), 1, quiet)
    loud = t.run("run", "-v", "-e", "PYTHONPATH=x", "--", t.actor, "exit", 0, env=t.unboxed)
    t.has(loud.err, "warning[env-loader-variable]", loud)


@promise("without a sandbox nothing is called denied, whatever the command says")
def _(t):
    for words in ((), ("-v",)):
        done = t.run("run", *words, "--", t.actor, "say", "out", "touch: cannot touch '/etc/x': Read-only file system",
                     1, env=t.unboxed)
        t.equal(done.status, 1, done)
        t.lacks(done.err, "denied", done)
    done = t.run("run", "--json", "--", t.actor, "say", "out", "bash: /etc/x: Read-only file system", 1,
                 env=t.unboxed)
    report = t.outcome(done)
    t.equal((report.get("denials"), report.get("denials_left_out")), ([], 0), done)
    refused = t.run("run", "--json", "--", t.actor, "exit", 0, env=t.refused)
    t.equal(t.outcome(refused).get("denials"), None, refused)


@promise("--evidence says that without a sandbox there is none, after the command")
def _(t):
    done = t.run("run", "--evidence", "--", t.actor, "say", "out", "err", 5, env=t.unboxed)
    t.equal((done.status, done.out), (5, "out\n"), done)
    t.equal(done.err.splitlines()[1:], ["err", "sbx: no evidence: backend none isolates nothing"], done)
    done = t.run("run", "--evidence", "--json", "--", t.actor, "exit", 0, env=t.unboxed)
    t.equal(t.outcome(done).get("evidence"), [], done)
    t.lacks(done.err, "no evidence", done)
    done = t.run("run", "--json", "--", t.actor, "exit", 0, env=t.unboxed)
    t.true("evidence" not in t.outcome(done), done)


@promise("SBX_LOG tells how sbx came to its decision, on standard error only")
def _(t):
    done = t.run("run", "--", t.actor, "say", "out", "err", 3, env={**t.unboxed, "SBX_LOG": "debug"})
    t.equal((done.status, done.out), (3, "out\n"), done)
    t.has(done.err, "sbx: log info: backend none by row: SBX_SANDBOX=none", done)
    for level in ("off", "error", ""):
        done = t.run("run", "--", t.actor, "exit", 3, env={**t.unboxed, "SBX_LOG": level})
        t.lacks(done.err, "sbx: log", done)
    done = t.run("run", "--", t.actor, "exit", 3, env={**t.unboxed, "SBX_LOG": "loud"})
    t.has(done.err, 'not "loud"', done)
    t.equal(done.status, 3, done)
    for words in (("explain", "--json"), ("version", "--json"), ("doctor", "--json")):
        t.json(t.run(*words, env={"SBX_LOG": "debug"}).out, words)
    secret = t.run("run", "-e", "A=hunter2", "-E", "B", "--", t.actor, "exit", 0,
                   env={**t.unboxed, "SBX_LOG": "debug", "B": "hunter3"})
    t.lacks(secret.err, "hunter", secret)


@promise("a reader that leaves early ends the command, not sbx's sense", on=POSIX)
def _(t):
    process = t.start("run", "-E", "PATH", "--", "yes", env=t.unboxed, stdout=subprocess.PIPE,
                      stderr=subprocess.PIPE)
    t.equal(process.stdout.read(4), b"y\ny\n")
    process.stdout.close()
    t.equal(process.wait(20), 128 + 13, "SIGPIPE ended the command")
    process.stderr.close()


@promise("a caller that ignores the end of children gets the command's status", on=POSIX)
def _(t):
    def ignore():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    done = t.run("run", "--", t.actor, "exit", 3, env=t.unboxed, preexec_fn=ignore)
    t.equal(done.status, 3, done)


@promise("a backend without terminals refuses --tty and runs nothing")
def _(t):
    mark = t.project / "ran"
    done = t.run("run", "--tty", "--", t.actor, "touch", native(mark), env=t.unboxed)
    t.equal((done.status, mark.exists()), (125, False), done)
    t.has(done.err, "cannot give the command a terminal of its own", done)
    t.has(done.err, "leave out --tty", done)
    t.equal(t.run("run", "--", t.actor, "touch", native(mark), env=t.unboxed).status, 0)
    t.true(mark.exists())


@promise("without a sandbox sbx shell starts the caller's shell and gives its status", on=("windows",))
def _(t):
    done = t.run("shell", env=t.unboxed, stdin=b"exit 7\r\n")
    t.equal(done.status, 7, done)


main()
