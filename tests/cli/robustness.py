"""sbx in bad company: no home, no directory, closed or full streams, little memory, much input."""

import os
import subprocess

from harness import COMMANDS, POSIX, in_removed, instrumented, main, native, promise

LINUX = ("linux",)
# Every command in a form that prints something.
SAYS = (("explain",), ("why", "--path", "."), ("verify", "good.toml"), ("profile", "list"), ("trust", "--list", "--json"),
        ("doctor",), ("schema",), ("completion", "bash"), ("version",), ("help",), ("run", "--dry-run", "x"),
        ("init", "new.toml"))


def shell(t, script, *words, **options):
    """sbx as "$@" of a shell script."""
    return t.run(*words, prefix=("sh", "-c", script, "sh"), **options)


@promise("without HOME, or with a relative one, sbx takes the account's home and works", on=POSIX)
def _(t):
    for value in (None, "", "relative", "./x", "..", "~"):
        for words in (("explain",), ("version",), ("verify", "missing.toml"), ("why", "--path", "x")):
            done = t.run(*words, env={"HOME": value})
            t.true(done.status in (0, 1), done)
            t.lacks(done.err, "internal", done)
        done = t.run("run", "--", t.actor, "exit", 3, env={"HOME": value, **t.unboxed})
        t.equal(done.status, 3, done)


@promise("XDG variables that are no absolute paths are ignored", on=LINUX)
def _(t):
    names = ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "TMPDIR")
    want = t.plan("-p", "strict")["digest"]
    for value in ("", "relative", "~", "/has/../dots"):
        t.equal(t.plan("-p", "strict", env=dict.fromkeys(names, value))["digest"], want, value)


@promise("in a directory that is gone, sbx refuses with a remedy; what needs no directory works", on=POSIX)
def _(t):
    gone = t.project / "gone"
    for words, status in ((("run", "--", t.actor, "exit", 0), 125), (("explain",), 1), (("doctor",), 1),
                          (("trust", "--list"), 1), (("why", "--path", "x"), 2), (("init",), 1), (("version",), 0),
                          (("help",), 0), (("schema",), 0), (("completion", "zsh"), 0), (("profile", "list"), 0)):
        gone.mkdir()
        done = t.run(*words, prefix=in_removed(gone), env=t.unboxed)
        t.equal(done.status, status, done)
        if status and words != ("init",):
            t.has(done.err, "current directory", done)
            t.has(done.err, "fix: ", done)


@promise("closed standard streams do no harm", on=POSIX)
def _(t):
    t.manifest('[sandbox]\nmode = "read-only"\n', "good.toml")
    for closed in ("<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"):
        for words in SAYS:
            (t.project / "new.toml").unlink(missing_ok=True)
            done = shell(t, f'exec "$@" {closed}', *words)
            t.true(done.status in (0, 1), (closed, done))
        done = shell(t, f'exec "$@" {closed}', "run", "--", t.actor, "exit", 7, env=t.unboxed)
        t.equal(done.status, 7, closed)


@promise("with standard output closed, a file that sbx opens does not become it", on=POSIX)
def _(t):
    for closed in (">&-", "<&- >&- 2>&-"):
        result = t.project / "result.json"
        done = shell(t, f'exec "$@" {closed}', "run", "--result", result, "--", t.actor, "say", "OUT", "ERR", 3,
                     env=t.unboxed)
        t.equal(done.status, 3, done)
        report = t.json(result.read_text())
        t.equal(report.get("exit_code"), 3)
        t.lacks(result.read_text(), "OUT")
        done = shell(t, f'exec "$@" {closed}', "init", "closed.toml")
        t.equal(done.status, 0, done)
        t.equal(t.run("verify", "closed.toml").status, 0)
        (t.project / "closed.toml").unlink()


@promise("a full disk behind standard output is an error that is told", on=LINUX)
def _(t):
    t.manifest('[sandbox]\nmode = "read-only"\n', "good.toml")
    for words in SAYS:
        with open("/dev/full", "wb") as full:
            done = t.run(*words, stdout=full)
        t.equal(done.status, 1, done)
        t.has(done.err, "could not be written", done)
        t.has(done.err, "no space left", done)


@promise("a full disk behind standard error takes nothing from the command", on=LINUX)
def _(t):
    with open("/dev/full", "wb") as full:
        done = t.run("run", "--json", "--", t.actor, "say", "out", "err", 5, env=t.unboxed, stderr=full)
    t.equal((done.status, done.out), (5, "out\n"), done)
    with open("/dev/full", "wb") as full:
        done = t.run("run", "--", t.actor, "exit", 5, env=t.refused, stderr=full)
    t.equal(done.status, 125, done)


@promise("a reader that has left is no reason to talk or to die of a signal", on=POSIX)
def _(t):
    t.manifest('[sandbox]\nmode = "read-only"\n', "good.toml")
    for words in SAYS:
        (t.project / "new.toml").unlink(missing_ok=True)
        read, write = os.pipe()
        os.close(read)
        done = t.run(*words, stdout=write)
        os.close(write)
        t.equal((done.status, done.err), (1, ""), done)


@promise("a command line of many thousand words is taken or refused, never lost")
def _(t):
    words = [f"word{number}" for number in range(3000)]
    done = t.run("run", "--", t.actor, "args", *words, env=t.unboxed)
    t.equal(done.out, "".join(f"[{word}]\n" for word in words))
    long = "x" * 20000
    done = t.run("run", "--", t.actor, "args", long, env=t.unboxed)
    t.equal(done.out, f"[{long}]\n")
    done = t.run("explain", *(f"-eN{number}=x" for number in range(1500)))
    t.true(done.status in (0, 1), done.status)
    done = t.run("explain", *["-qv"] * 3000)
    t.equal(done.status, 0, "switches")


@promise("a list that is too long is a finding", on=POSIX)
def _(t):
    done = t.run("explain", *(f"-r/usr/{number}" for number in range(20000)))
    t.equal(done.status, 1, done.status)
    t.has(done.err, "error[out-of-range]")


@promise("names as long as the system takes are no trouble, longer ones are told")
def _(t):
    long = "n" * 200
    t.manifest('[sandbox]\nmode = "read-only"\n', f"{long}.toml")
    t.equal(t.run("verify", f"{long}.toml").status, 0)
    for text in ("n" * 5000, "/".join(["n" * 200] * 30)):
        for words, statuses in ((("verify", text), (1,)), (("explain", "-f", text), (1,)), (("init", text), (1,)),
                                (("trust", text), (1,)), (("why", "--path", text), (0, 1, 2)),
                                (("explain", "-r", native("/") + text), (1,)), (("run", "-C", text, "x"), (125,)),
                                (("run", "--", text), (125, 126, 127))):
            done = t.run(*words, env=t.refused)
            t.true(done.status in statuses, (words[0], done.status, done.err[:300]))


@promise("deep directories are searched to their top", on=POSIX)
def _(t):
    t.manifest('[sandbox]\nmode = "read-only"\nmax_processes = 17\n')
    deep = t.project.joinpath(*["d"] * 300)
    deep.mkdir(parents=True)
    t.equal(t.plan(cwd=deep)["limits"]["processes"], 17)


@promise("little memory is an ordinary error, not a crash", on=LINUX)
def _(t):
    if instrumented():
        # A sanitizer reserves more address space than any limit leaves; the promise is shown by the plain build.
        t.true(True)
        return
    units = "".join(f'[unit.u{number}]\ncommand = ["x"]\nfs_read_allow = ["/usr"]\n' for number in range(9000))
    t.manifest(units, "large.toml")
    seen = set()
    for kilobytes in (6000, 8000, 10000, 14000, 20000, 40000, 80000):
        for words in (("verify", "large.toml"), ("explain",), ("schema",)):
            done = shell(t, f'ulimit -v {kilobytes} && exec "$@"', *words)
            if "error while loading shared libraries" in done.err or done.status == 127:
                continue  # not even the program fits
            t.true(done.status in (0, 1), (kilobytes, done.status, done.err[:300]))
            seen.add((words[0], done.status))
    t.has(seen, ("verify", 1), "the limit was felt")
    t.has(seen, ("explain", 0), "and was not too low for everything")


@promise("few descriptors are an ordinary error", on=POSIX)
def _(t):
    for limit in (3, 4, 5, 6, 8, 12):
        done = shell(t, f'ulimit -n {limit} && exec "$@"', "run", "--", t.actor, "exit", 3, env=t.unboxed)
        if "shared libraries" in done.err or (instrumented() and done.status not in (3, 125)):
            continue
        t.true(done.status in (3, 125, 126, 127), (limit, done))
        t.true(done.status == 3 or "sbx: error[" in done.err, done)
    done = shell(t, 'ulimit -n 32 && exec "$@"', "run", "--", t.actor, "exit", 3, env=t.unboxed)
    t.equal(done.status, 3, done)


@promise("an empty environment is enough", on=POSIX)
def _(t):
    kept = {name: None for name in t.environment() if name not in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")}
    for words in (("version",), ("help",), ("explain", "--no-manifest"), ("doctor",)):
        done = t.run(*words, env=kept)
        t.true(done.status in (0, 1), done)
    done = t.run("run", "--no-manifest", "--", "sh", "-c", "exit 3", env={**kept, **t.unboxed})
    t.equal(done.status, 3, "without PATH the system's own is searched")


@promise("a second key that is no UTF-8 is no key", on=POSIX)
def _(t):
    env = {os.fsencode(key): os.fsencode(value) for key, value in t.environment(t.unboxed).items()}
    mark = t.project / "ran"
    for value in (b"1\xff", b"\xfftrue", b"\xff"):
        env[b"SBX_ALLOW_NO_SANDBOX"] = value
        done = subprocess.run([os.environ["SBX"], "run", "--", t.actor, "touch", mark], env=env, cwd=t.project,
                              capture_output=True, check=False)
        t.equal((done.returncode, mark.exists()), (125, False), done.stderr)


@promise("a passed variable that is no UTF-8 is left out, not mangled", on=POSIX)
def _(t):
    env = {os.fsencode(key): os.fsencode(value) for key, value in t.environment(t.unboxed).items()}
    env[b"ODD"] = b"\xff\xfe"
    done = subprocess.run([os.environ["SBX"], "run", "-E", "ODD", "--", t.actor, "env"], env=env, cwd=t.project,
                          capture_output=True, check=False)
    t.equal((done.returncode, done.stdout), (0, b""), done.stderr)


@promise("stdin that never ends is not read by a command that does not ask for it")
def _(t):
    for command in COMMANDS:
        words = (command, "--help")
        process = t.start(*words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        t.equal(process.wait(30), 0, words)
        process.stdin.close()


main()
