"""Help: complete, narrow enough, and nearby when a word is wrong."""

import re

from harness import COMMANDS, WINDOWS, main, promise

WIDTH = 80
# The options that the specification names for commands that plan (4.1).
SPECIFIED = ("-r", "-w", "--deny", "--tmpfs", "--net", "-e", "-E", "-C", "-t", "-m", "--cpu", "--procs", "-p", "-f",
             "--mode", "--strict", "--json", "-q", "-v")


def pages(t):
    yield "overview", t.run("help")
    yield "codes", t.run("help", "codes")
    for command in COMMANDS:
        yield command, t.run("help", command)


def options_of(t, command):
    report = t.json(t.run("help", command, "--json").out)
    return report["commands"][0]["options"]


@promise("no line of any page is wider than 80 columns or ends with a space")
def _(t):
    for name, done in pages(t):
        t.equal(done.status, 0, done)
        for line in done.out.splitlines():
            t.true(len(line) <= WIDTH, f"{name}: {len(line)}: {line}")
            t.equal(line, line.rstrip(), name)
        t.true(done.out.endswith("\n") and not done.out.endswith("\n\n"), name)
        t.lacks(done.out, "\t", name)
        t.equal(done.err, "")


@promise("sbx alone prints the help on standard error and exits with 2")
def _(t):
    done = t.run()
    t.equal((done.status, done.out), (2, ""), done)
    t.equal(done.err, t.run("help").out)


@promise("help, --help and -h say the same, for sbx and for every command")
def _(t):
    overview = t.run("help").out
    for spelled in ("--help", "-h"):
        done = t.run(spelled)
        t.equal((done.status, done.out, done.err), (0, overview, ""), done)
    for command in COMMANDS:
        page = t.run("help", command).out
        for spelled in ("--help", "-h"):
            done = t.run(command, spelled)
            t.equal((done.status, done.out, done.err), (0, page, ""), done)


@promise("the overview names every command, and each has a page that starts with its usage")
def _(t):
    overview = t.run("help").out
    for command in COMMANDS:
        t.true(re.search(rf"^  {command} +\S", overview, re.M), command)
        t.true(t.run("help", command).out.startswith(f"Usage: sbx {command}"), command)


@promise("every option of the parser is on its page, and every one on a page is parsed")
def _(t):
    for command in COMMANDS:
        page = t.run("help", command).out
        options = options_of(t, command)
        listed = re.findall(r"^  (?:(-\w), |    )(--[\w-]+)(?: (.+?))?(?:  |$)", page, re.M)
        t.equal([(short or None, name) for short, name, _ in listed],
                [(option["short"], f"--{option['name']}") for option in options], command)
        for option in options:  # their long names are tried below, with and without a value
            if option["short"]:
                done = t.run(command, option["short"], "x", env=t.refused)
                t.lacks(done.err, "unknown option", done)


@promise("run, explain and why take every option the specification names")
def _(t):
    for command in ("run", "explain", "why"):
        options = options_of(t, command)
        known = {f"--{option['name']}" for option in options} | {option["short"] for option in options}
        for spelled in SPECIFIED:
            t.has(known, spelled, command)


@promise("an option without a value says so, one with a value wants it")
def _(t):
    for command in COMMANDS:
        for option in options_of(t, command):
            name = f"--{option['name']}"
            if option["value"] is None:
                done = t.run(command, f"{name}=x")
                t.has(done.err, f"{name} takes no value", done)
            else:
                done = t.run(command, name)
                t.has(done.err, f"{name} needs a value", done)
                t.has(done.err, f"write {name} {option['value']}", done)


@promise("no two options of a command share a letter or a name")
def _(t):
    for command in COMMANDS:
        options = options_of(t, command)
        names = [option["name"] for option in options]
        shorts = [option["short"] for option in options if option["short"]]
        t.equal((len(set(names)), len(set(shorts))), (len(names), len(shorts)), command)


@promise("a mistyped command names the nearest one")
def _(t):
    for wrong, right in (("rnu", "run"), ("explian", "explain"), ("verfy", "verify"), ("docter", "doctor"),
                         ("profiles", "profile"), ("trsut", "trust"), ("shema", "schema"), ("hlep", "help"),
                         ("versoin", "version")):
        done = t.run(wrong)
        t.equal((done.status, done.out), (2, ""), done)
        t.has(done.err, f'unknown command "{wrong}"', done)
        t.has(done.err, f'did you mean "sbx {right}"?', done)


@promise("a word that is near to no command is taken for a program that someone wants to run")
def _(t):
    for word in ("make", "npm", "gcc", "/bin/sh"):
        done = t.run(word)
        t.equal(done.status, 2, done)
        t.has(done.err, f"to run a program: sbx run -- {word}", done)


@promise("a mistyped option names the nearest one")
def _(t):
    for command, wrong, right in (("run", "--tiemout", "--timeout"), ("run", "--profle", "--profile"),
                                  ("run", "--set-evn", "--set-env"), ("explain", "--platfrom", "--platform"),
                                  ("why", "--pth", "--path"), ("verify", "--jsno", "--json"),
                                  ("init", "--tempalte", "--template"), ("trust", "--lits", "--list"),
                                  ("run", "--no-manifset", "--no-manifest")):
        done = t.run(command, wrong)
        t.has(done.err, f'unknown option "{wrong}"', done)
        t.has(done.err, f"did you mean {right}?", done)


@promise("a mistyped value names the nearest one")
def _(t):
    for words, right in ((("explain", "--platform", "widows"), "windows"), (("why", "--op", "wirte"), "write"),
                         (("help", "--color", "alwyas"), "always"), (("explain", "-p", "strikt"), "strict"),
                         (("explain", "--mode", "readonly"), "read-only"), (("explain", "--git", "comit"), "commit")):
        done = t.run(*words)
        t.true(done.status in (1, 2), done)
        t.has(done.err, f'did you mean "{right}"?', done)


@promise("the examples of the pages are accepted")
def _(t):
    t.manifest('[sandbox]\nmode = "read-only"\n', "sbx.toml")
    t.manifest('{"sandbox": {}}', "other.json")
    seen = 0
    for command in ("run", "explain", "why", "verify", "profile", "doctor"):
        page = t.run("help", command).out
        for line in page.split("Examples:\n", 1)[1].splitlines():
            words = line.split()[1:]
            if words[0] == "run":
                words.insert(1, "--dry-run")
            done = t.run(*words)
            t.true(done.status in (0, 1) and "error[usage]" not in done.err, done)
            seen += 1
    t.true(seen >= 10)


@promise("the refusals of other systems are not in the way: help needs no home, manifest or policy")
def _(t):
    t.manifest("[sandbox\n")
    changes = {} if WINDOWS else {"HOME": None}
    for words in (("help",), ("run", "--help"), ("version",), ("completion", "bash"), ("schema",)):
        t.equal(t.run(*words, env={**changes, **t.refused}).status, 0, words)


main()
