"""--json gives one valid JSON object from every command, however it ends."""

from harness import COMMANDS, POSIX, WINDOWS, in_removed, main, native, promise

GOOD = "[sandbox]\nmode = \"read-only\"\n"
BAD = "[sandbox]\nprofile = 7\nunknown = 1\n"
BROKEN = "[sandbox\n"


def prepare(t):
    t.manifest(GOOD, "good.toml")
    t.manifest(BAD, "bad.toml")
    t.manifest(BROKEN, "broken.toml")
    t.manifest("{", "broken.json")
    t.manifest("x", "taken.toml")


# (words, exit status) per command: once or more for success, then every way to fail.
WAYS = {
    "explain": [((), 0), (("--", "make"), 0), (("--platform", "windows"), 0), (("-f", "good.toml"), 0),
                (("-f", "missing.toml"), 1), (("-f", "bad.toml"), 1), (("-f", "broken.toml"), 1),
                (("-f", "broken.json"), 1), (("-r", "relative"), 1), (("--platform", "beos"), 2),
                (("-f", "good.toml", "--no-manifest"), 2), (("-f",), 2), (("-t", "1s", "-t", "2s"), 1)],
    "why": [(("--path", "."), 0), (("--path", "/", "--op", "write", "--platform", "linux"), 1),
            (("--url", "https://example.com/"), 1), (("--env", "X"), 1), ((), 2),
            (("--path", "a", "--env", "b"), 2), (("--op", "read"), 2), (("--path", "a", "--op", "eat"), 2),
            (("--env", "X", "--op", "read"), 2), (("--url", "://"), 2), (("--url", "get", "x"), 2),
            (("--path", ""), 2), (("--path", "x", "y"), 2), (("--path", "x", "-f", "bad.toml"), 2),
            (("--path", "x", "-f", "missing.toml"), 2)],
    "verify": [(("good.toml",), 0), (("good.toml", "bad.toml"), 1), (("missing.toml",), 1),
               (("broken.toml", "broken.json"), 1), ((".",), 1), ((), 2), (("--platform", "x", "good.toml"), 2)],
    "init": [(("new.toml",), 0), (("--template", "node", "node.toml"), 0), (("taken.toml",), 1),
             (("no/such/directory/x.toml",), 1), (("--template", "cobol"), 2), (("a", "b"), 2)],
    "profile": [(("list",), 0), (("show", "strict"), 0), (("show", "strict", "--platform", "macos"), 0),
                ((), 2), (("show",), 2), (("show", "strikt"), 2), (("list", "x"), 2)],
    "trust": [(("good.toml",), 0), (("--list",), 0), (("--remove", "good.toml"), 0),
              (("missing.toml",), 1), (("bad.toml",), 1), (("broken.toml",), 1), ((".",), 1), ((), 2),
              (("--list", "x"), 2), (("--list", "--remove"), 2), (("a", "b"), 2)],
    "workspace": [((), (0, 1)), (("list",), (0, 1)), (("add", "no/such/place"), 1), (("remove", "no/such/place"), 1),
                  (("list", "x"), 2), (("list", "-w"), 2), (("add", "a", "b"), 2), (("add", "-w"), 2),
                  (("add", "--all"), 2), (("remove",), 2), (("remove", "--all", "x"), 2), (("grant",), 2)],
    "doctor": [((), (0, 1)), (("-v",), (0, 1)), (("x",), 2)],
    "selftest": [(("--list",), 0), (("--only", "environment.dropped"), (0, 1)), (("x",), 2),
                 (("--only", "no-such-case"), 2), (("--group", "no-such-group"), 2)],
    "service": [((), (0, 1)), (("status",), (0, 1)), (("status", "x"), 2), (("restart",), 2)],
    "serve": [(("x",), 2)],  # it speaks the protocol of the service
    "mcp": [(("x",), 2), (("-f", "-"), 2)],  # its answers have their own form
    "schema": [((), 0), (("manifest",), 0), (("rpc",), 0), (("gone",), 2)],
    "completion": [(("bash",), 0), (("zsh",), 0), (("fish",), 0), (("powershell",), 0), ((), 2),
                   (("tcsh",), 2), (("bash", "zsh"), 2)],
    "version": [((), 0), (("x",), 2)],
    "help": [((), 0), (("codes",), 0), *((((name,), 0)) for name in COMMANDS), (("x",), 2),
             (("run", "why"), 2)],
}
# Standard output is the command's: these tell their outcome on standard error.
RUNNING = ("run", "shell")
FOR_EVERY_COMMAND = [(("--help",), 0), (("--no-such-option",), (2, 125)), (("-Z",), (2, 125)),
                     (("--color", "pink"), (2, 125)), (("--color",), (2, 125)), (("--json=yes",), (2, 125))]


def check(t, done, command, statuses):
    statuses = statuses if isinstance(statuses, tuple) else (statuses,)
    t.among(done.status, statuses, done)
    report = t.json(done.err if command in RUNNING else done.out, done)
    other = done.out if command in RUNNING else done.err
    t.equal(other, "", done)
    if "$schema" in report:  # the answer of `sbx schema` is JSON by itself
        return
    t.equal((report.get("schema_version"), report.get("command")), (1, command), done)
    t.true(isinstance(report.get("ok"), bool), done)
    if done.status in (2, 125):
        t.equal(report.get("ok"), False, done)
        error = report.get("error") or {}
        t.true(error.get("code") and error.get("text"), done)
        t.equal(report.get("status"), done.status, done)


@promise("every command, every way to succeed and to fail, with --json before and after its words")
def _(t):
    prepare(t)
    for command, ways in WAYS.items():
        for words, statuses in ways:
            check(t, t.run(command, "--json", *words), command, statuses)
            if command == "init" and statuses == 0:
                (t.project / words[-1]).unlink()
            if command != "explain":
                check(t, t.run(command, *words, "--json"), command, statuses)


@promise("help and wrong options, for every command")
def _(t):
    for command in COMMANDS:
        for words, statuses in FOR_EVERY_COMMAND:
            done = t.run(command, "--json", *words)
            if command in RUNNING and words == ("--help",):
                t.equal((done.status, t.json(done.out).get("ok")), (0, True), done)
            else:
                check(t, done, command, statuses)


@promise("no command is left out of this table")
def _(t):
    t.equal(sorted([*WAYS, *RUNNING]), sorted(COMMANDS))
    names = [row["name"] for row in t.json(t.run("help", "--json").out).get("commands", [])]
    t.equal(names, list(COMMANDS))


@promise("a word that is no command, and --json alone")
def _(t):
    for words in (("nonsense", "--json"), ("--json",), ("--json", "version"), ("-x", "--json"), ("", "--json")):
        check(t, t.run(*words), "help", 2)


@promise("run: every way to fail before the command, on standard error and never on standard output")
def _(t):
    prepare(t)
    tail = ("--", t.actor, "exit", 0)
    for words, env in (((), t.refused), (("-f", "missing.toml", *tail), t.unboxed), ((), t.unboxed),
                       (("-f", "bad.toml", *tail), t.unboxed), (("-f", "broken.toml", *tail), t.unboxed),
                       (("-f", "broken.json", *tail), t.unboxed), (("-r", "relative", *tail), t.unboxed),
                       (("",), t.unboxed), (("-f",), t.unboxed), (("-C", "missing", *tail), t.unboxed),
                       (("--net", "http://x", *tail), t.unboxed), (tail, t.refused),
                       (("-f", "good.toml", "--no-manifest", *tail), t.unboxed),
                       (("--json-fd", "x", *tail), t.unboxed), (("-t", "1s", "-t", "1s", *tail), t.unboxed)):
        check(t, t.run("run", "--json", *words, env=env), "run", 125)


@promise("run: every way to end, as the last line of standard error")
def _(t):
    for words, status, code in (((t.actor, "exit", 9), 9, None), (("sbx-no-such-program",), 127, "not-found"),
                                ((native(t.project),), 126, "denied"),
                                (("-t", "200ms", t.actor, "late", 9000, "x"), 124, None)):
        done = t.run("run", "--json", *words, env=t.unboxed)
        report = t.outcome(done)
        t.equal((done.status, done.out), (status, ""), done)
        t.equal((report.get("schema_version"), report.get("command"), report.get("status")), (1, "run", status))
        t.equal((report.get("error") or {}).get("code"), code, done)
        for key in ("origin", "started", "plan_digest", "manifest", "selection", "findings"):
            t.has(report, key)


@promise("run: --result gets the outcome of a refusal and of a wrong command line too")
def _(t):
    prepare(t)
    result = t.project / "result.json"
    tail = ("--", t.actor, "exit", 0)
    for words, env, status in ((tail, t.refused, 125), (("-f", "bad.toml", *tail), t.unboxed, 125), ((), {}, 125),
                               (("--no-such-option", *tail), {}, 125), (("-t", "soon", *tail), t.unboxed, 125),
                               (("--", "sbx-no-such-program"), t.unboxed, 127)):
        for json in ((), ("--json",)):
            done = t.run("run", *json, "--result", result, *words, env=env)
            t.equal((done.status, done.out), (status, ""), done)
            t.has(done.err, "sbx: error[", "the text is still for people")
            t.lacks(done.err, "schema_version", done)
            report = t.json(result.read_text() if result.exists() else "", done)
            t.equal((report.get("origin"), report.get("status"), report.get("started")), ("sbx", status, False))
            result.unlink(missing_ok=True)


@promise("run: --dry-run prints the plan on standard output, which no command uses then")
def _(t):
    done = t.run("run", "--json", "--dry-run", "--", t.actor, "touch", native(t.project / "ran"), env=t.unboxed)
    report = t.json(done.out, done)
    t.equal((done.status, report.get("ok"), report.get("schema_version")), (0, True, 1), done)
    t.equal(report.get("plan", {}).get("command", [])[1:2], ["touch"])
    t.true(not (t.project / "ran").exists())


@promise("hostile names stay one valid object")
def _(t):
    name = "we\"ird\\ \u202e\u2028 \u00e4.toml" if not WINDOWS else "we ird \u202e\u2028 \u00e4.toml"
    t.manifest(BAD, name)
    done = t.run("verify", "--json", name)
    report = t.json(done.out, done)
    t.equal((done.status, [entry.get("file") for entry in report.get("files", [])]), (1, [name]), done)
    t.true(done.out.isascii() or "\u202e" not in done.out, "unsafe characters are escaped")
    for words in (("explain", "--json", "-r", "/x\x1b[31m\u202e"), ("why", "--json", "--env", "\x1b]0;x\x07"),
                  ("why", "--json", "--path", "\x7f\x1b"), ("--json", "\x1b[2J"), ("completion", "\x1b", "--json"),
                  ("profile", "show", "\x1b", "--json"), ("help", "\x1b", "--json"), ("init", "\x1b/x", "--json")):
        done = t.run(*words)
        t.json(done.out, done)
        t.lacks(done.out, "\x1b", done)


@promise("a damaged trust store and a directory that is gone are told as JSON too", on=POSIX)
def _(t):
    store = t.home / ".local/state/sbx/trust"
    store.parent.mkdir(parents=True)
    store.write_text("nonsense\n")
    t.manifest("[sandbox]\nnetwork = \"inherit\"\n")
    for words, status in ((("trust", "--list"), 1), (("trust",), 1), (("explain",), 1), (("doctor",), 1),
                          (("why", "--path", "x"), 2)):
        check(t, t.run(*words, "--json"), words[0], status)
    check(t, t.run("run", "--json", "--", t.actor, "exit", 0, env=t.unboxed), "run", 125)
    gone = t.project / "gone"
    for words, status in ((("explain",), 1), (("doctor",), 1), (("trust", "--list"), 1), (("verify", "x"), 1),
                          (("why", "--path", "x"), 2), (("profile", "show", "strict"), 1)):
        gone.mkdir()
        done = t.run(*words, "--json", prefix=in_removed(gone))
        check(t, done, words[0], status)


main()
