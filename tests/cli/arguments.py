"""How words become options and a command."""

import os

from harness import POSIX, main, native, promise


def said(t, *words):
    """The words a command gets from this command line, None when it did not run."""
    done = t.run("run", *words, env=t.unboxed)
    return done.out.replace("[", "").split("]\n")[:-1] if done.status == 0 else done


@promise("what follows the command belongs to it, options or not")
def _(t):
    for tail in (("-n",), ("--json",), ("--help",), ("-t", "x"), ("--", "-q"), ("--no-such-option",)):
        t.equal(said(t, t.actor, "args", *tail), list(tail))
        t.equal(said(t, "--", t.actor, "args", *tail), list(tail))
        t.equal(said(t, "-q", t.actor, "args", *tail), list(tail))


@promise("-- ends sbx's options once; a second one is the command's")
def _(t):
    t.equal(said(t, "--", t.actor, "args", "--", "x"), ["--", "x"])
    done = t.run("run", "--", "--", "x", env=t.unboxed)
    t.equal(done.status, 127, done)
    t.has(done.err, '"--"', done)


@promise("sh -c 'exit 3' needs no quoting tricks", on=POSIX)
def _(t):
    t.equal(t.run("run", "sh", "-c", "exit 3", env=t.unboxed).status, 3)
    t.equal(t.run("run", "-q", "--", "sh", "-c", "exit 3", env=t.unboxed).status, 3)
    done = t.run("run", "echo", "-n", "x", env=t.unboxed)
    t.equal(done.out, "x", done)


@promise("a value may follow its option, an equals sign, or a short option's letter")
def _(t):
    for words in (("-e", "A=1"), ("-eA=1",), ("--set-env", "A=1"), ("--set-env=A=1",)):
        done = t.run("run", *words, "--", t.actor, "env", env=t.unboxed)
        t.has(done.out.splitlines(), "A=1", done)
    for words in (("-t", "7s"), ("-t7s",), ("--timeout", "7s"), ("--timeout=7s",)):
        t.equal(t.plan(*words)["limits"]["timeout_ms"], 7000, words)
    for words in (("-r", t.project), (f"-r{t.project}",), ("--read", t.project), (f"--read={t.project}",)):
        words = [word.replace(str(t.project), native(t.project)) if isinstance(word, str) else native(word)
                 for word in words]
        paths = [rule["path"] for rule in t.plan("-p", "strict", *words)["files"]]
        t.has(paths, native(t.project), words)


@promise("switches cluster, and the last of a cluster may take a value")
def _(t):
    t.equal(t.run("run", "-qv", "--", t.actor, "exit", 4, env=t.unboxed).status, 4)
    t.equal(t.plan("-qvt7s")["limits"]["timeout_ms"], 7000)
    t.equal(t.plan("-qvt", "7s")["limits"]["timeout_ms"], 7000)
    done = t.run("run", "-qZ", "--", t.actor, "exit", 0, env=t.unboxed)
    t.equal(done.status, 125, done)
    t.has(done.err, 'unknown option "-qZ"', done)


@promise("a value may look like an option")
def _(t):
    done = t.run("run", "-e", "A=--json", "-e", "B=-x", "--", t.actor, "env", env=t.unboxed)
    t.has(done.out, "A=--json", done)
    t.has(done.out, "B=-x", done)


@promise("a missing or unwanted value is a usage error that shows how to write it")
def _(t):
    for words, text in ((("-t",), "write -t TIME"), (("--timeout",), "write --timeout TIME"),
                        (("-qt",), "write -t TIME"), (("--quiet=yes",), "--quiet takes no value"),
                        (("--json=1",), "--json takes no value"), (("--strict=1",), "--strict takes no value")):
        done = t.run("run", *words, env=t.unboxed)
        t.equal(done.status, 125, done)
        t.has(done.err, text, done)


@promise("a scalar given twice is refused; a list grows; a switch may repeat")
def _(t):
    for words in (("-t", "1s", "-t", "1s"), ("-p", "strict", "-p", "strict"), ("-m", "1G", "-m", "2G"),
                  ("--mode", "read-only", "--mode", "read-only"), ("-C", native(t.project)) * 2,
                  ("--color", "never") * 2, ("-f", "a", "-f", "a"), ("--syscalls", "strict", "--strict"),
                  ("--result", "a", "--result", "b"), ("--cpu", "1", "--cpu=1")):
        done = t.run("run", *words, "--", t.actor, "exit", 0, env=t.unboxed)
        t.equal(done.status, 125, done)
        t.has(done.err, "given twice", done)
    t.equal(t.run("run", "-q", "-q", "-e", "A=1", "-e", "B=2", "--", t.actor, "exit", 0,
                  env=t.unboxed).status, 0)


@promise("empty values are refused where they mean nothing")
def _(t):
    for words in (("-r", ""), ("-w", ""), ("-t", ""), ("-m", ""), ("-p", ""), ("-C", ""), ("-E", ""),
                  ("-e", ""), ("-e", "=x"), ("-e", "NAME"), ("-f", ""), ("--net", ""), ("--net", "a,,b"),
                  ("--color", ""), ("--result", ""), ("--require", ""), ("--fs", "=read"), ("--deny", ""),
                  ("--protect", ""), ("--user", ""), ("--image", "")):
        mark = t.project / "ran"
        done = t.run("run", *words, "--", t.actor, "touch", native(mark), env=t.unboxed)
        t.equal((done.status, mark.exists()), (125, False), done)
        mark.unlink(missing_ok=True)


@promise("bad values are refused with the key, the option and a fix")
def _(t):
    for words, code in ((("-t", "soon"), "bad-value"), (("-m", "12XB"), "bad-value"),
                        (("--cpu", "0"), "out-of-range"), (("--procs", "-1"), "bad-value"),
                        (("--procs", "99999999999"), "out-of-range"), (("-p", "strikt"), "bad-value"),
                        (("--mode", "write"), "bad-value"), (("-r", "relative/x"), "path-not-absolute"),
                        (("--fs", "x"), "bad-value"), (("--net", "http://x"), "host-pattern-invalid"),
                        (("--require", "luck"), "bad-value"),
                        (("-p", "strict", "--mode", "read-only"), "conflict")):
        done = t.run("run", "--no-manifest", *words, "--", t.actor, "exit", 0, env=t.unboxed)
        t.equal(done.status, 125, done)
        t.has(done.err, f"sbx: error[{code}]", done)
        t.has(done.err, f"--> {words[-2]}", done)


@promise("everything wrong with a command line is told at once")
def _(t):
    done = t.run("run", "-t", "soon", "-m", "much", "-r", "here", "--", t.actor, "exit", 0, env=t.unboxed)
    for text in ('"timeout" is not a duration', '"max_memory_bytes" is not a size'):
        t.has(done.err, text, done)
    done = t.run("run", "-t", "soon", "--no-such-option", "--", t.actor, "exit", 0, env=t.unboxed)
    t.has(done.err, '"timeout" is not a duration', done)
    t.has(done.err, 'unknown option "--no-such-option"', done)


@promise("-f and --no-manifest, --result and --json-fd exclude each other")
def _(t):
    path = t.manifest("[sandbox]\n", "ok.toml")
    for words in (("-f", path, "--no-manifest"), ("--result", "r", "--json-fd", "3")):
        done = t.run("run", *words, "--", t.actor, "exit", 0, env=t.unboxed)
        t.equal(done.status, 125, done)
        t.has(done.err, "exclude each other", done)


@promise("elsewhere options and operands may be mixed, and -- ends the options")
def _(t):
    t.manifest("[sandbox]\n", "a.toml")
    t.manifest("[sandbox]\n", "--b.toml")
    for words in (("a.toml", "--json"), ("--json", "a.toml"), ("--json", "--", "a.toml")):
        done = t.run("verify", *words)
        t.equal((done.status, t.json(done.out).get("ok")), (0, True), done)
    t.equal(t.run("verify", "--", "--b.toml").status, 0)
    t.equal(t.run("verify", "--b.toml").status, 2)


@promise("text that is not UTF-8 is refused as 125, in any position, and nothing is run", on=POSIX)
def _(t):
    mark = t.project / "ran"
    for words in ((b"run", b"--", os.fsencode(t.actor), b"touch", os.fsencode(mark), b"\xff"),
                  (b"run", b"-e", b"A=\xc3\x28", os.fsencode(t.actor), b"touch", os.fsencode(mark)),
                  (b"\xf0\x28\x8c\x28",), (b"verify", b"caf\xe9.toml"), (b"run", b"\xed\xa0\x80")):
        done = t.run(*words, env=t.unboxed)
        t.equal(done.status, 125, done)
        t.has(done.err, "not valid UTF-8", done)
        t.true(not mark.exists(), done)
        t.true(done.err.isprintable() or done.err.replace("\n", "").isprintable(), done)


main()
