"""Colours only where a terminal shows them, and nothing that a terminal would obey from anybody else."""

import os
import pathlib
import subprocess
import unicodedata

from harness import COMMANDS, POSIX, RUNNER, SBX, main, native, promise

ESC = "\x1b"
GOOD = '[sandbox]\nmode = "read-only"\n'
BAD = "[sandbox]\nunknown = 1\n"


def prepare(t):
    t.manifest(GOOD, "good.toml")
    t.manifest(BAD, "bad.toml")


# Each prints something that has a colour.
COLOURFUL = (("verify", "good.toml"), ("verify", "bad.toml"), ("doctor",), ("why", "--path", "."), ("nonsense",),
             ("explain", "-f", "bad.toml"), ("run", "-f", "bad.toml", "x"), ("run", "x"))


@promise("what is no terminal gets no escape byte, from any command")
def _(t):
    prepare(t)
    words = [*COLOURFUL, *((command,) for command in COMMANDS), *((command, "--help") for command in COMMANDS)]
    for command in words:
        for env in (t.refused, {**t.refused, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
                    {**t.refused, "CLICOLOR_FORCE": "0", "CLICOLOR": "1"}):
            done = t.run(*command, env=env)
            t.lacks(done.out + done.err, ESC, done)


@promise("--color always and CLICOLOR_FORCE colour a pipe too; never and NO_COLOR do not")
def _(t):
    prepare(t)
    for command in COLOURFUL:
        first, *rest = command
        for options, env, wanted in (
                (("--color", "always"), {}, True), (("--color=always",), {"NO_COLOR": "1"}, True), ((), {}, False),
                ((), {"CLICOLOR_FORCE": "1"}, True), ((), {"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False),
                (("--color", "never"), {"CLICOLOR_FORCE": "1"}, False), (("--color", "auto"), {}, False)):
            if first == "nonsense" and options:
                continue  # it is no command, so it has no options
            done = t.run(first, *options, *rest, env={**t.refused, **env})
            t.equal(ESC in done.out + done.err, wanted, (options, env, done))


@promise("JSON has no colours, whatever is asked")
def _(t):
    prepare(t)
    for command in COLOURFUL[:-1]:
        first, *rest = command
        if first == "nonsense":
            continue
        done = t.run(first, "--json", "--color", "always", *rest, env=t.refused)
        t.lacks(done.out + done.err, ESC, done)


def on_terminal(t, *words, env=None):
    """What sbx writes to a terminal that is its standard output and error."""
    import pty
    leader, follower = pty.openpty()
    try:
        process = subprocess.Popen([*RUNNER, SBX, *words], stdin=subprocess.DEVNULL, stdout=follower, stderr=follower,
                                   cwd=t.project, env=t.environment({"TERM": "xterm", **t.refused, **(env or {})}))
        os.close(follower)
        follower = -1
        text = b""
        while True:
            try:
                block = os.read(leader, 65536)
            except OSError:  # Linux says EIO when the last writer is gone
                break
            if not block:
                break
            text += block
        process.wait(20)
        return text.decode()
    finally:
        os.close(leader)
        if follower >= 0:
            os.close(follower)


@promise("a terminal gets colours, unless NO_COLOR, TERM=dumb, no TERM or --color never", on=POSIX)
def _(t):
    prepare(t)
    for command in COLOURFUL:
        t.has(on_terminal(t, *command), ESC + "[", command)
        for env in ({"NO_COLOR": "1"}, {"NO_COLOR": "0"}, {"TERM": "dumb"}, {"TERM": None}, {"TERM": ""}):
            t.lacks(on_terminal(t, *command, env=env), ESC, (command, env))
        t.has(on_terminal(t, *command, env={"NO_COLOR": ""}), ESC, "an empty NO_COLOR says nothing")
    t.lacks(on_terminal(t, "verify", "--color", "never", "bad.toml"), ESC)
    t.has(on_terminal(t, "verify", "--color", "always", "bad.toml", env={"TERM": "dumb"}), ESC)


@promise("colours end where they began", on=POSIX)
def _(t):
    prepare(t)
    for command in COLOURFUL:
        text = on_terminal(t, *command)
        t.equal(text.count(ESC + "["), 2 * text.count(ESC + "[0m"), command)


@promise("one stream that is a terminal does not colour the other", on=POSIX)
def _(t):
    import pty
    prepare(t)
    leader, follower = pty.openpty()
    done = t.run("verify", "bad.toml", env={"TERM": "xterm"}, stderr=follower)
    os.close(follower)
    os.close(leader)
    t.lacks(done.out, ESC, done)


# ---- what others wrote ----

# What no path may hold, what it may, and what ends a text or a line.
HOSTILE = ("a\x1b[31mred\x1b]0;title\x07\x08\x08\rback\x7f\u009b31m", "a\u202e\u2066\u200b\u2028\u200d\ufeffb",
           "\x00nul", "two\nlines")


def unsafe(text):
    """Characters that a terminal would obey or hide."""
    return [character for character in text
            if character != "\n" and (unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp")
                                      or "\udc80" <= character <= "\udcff")]


def check_safe(t, done):
    t.equal(unsafe(done.out + done.err), [], done)


def toml_escaped(text):
    return '"' + "".join(f"\\u{ord(character):04x}" if unsafe(character) or character in '"\\\n' else character
                         for character in text) + '"'


@promise("hostile text in a manifest never reaches a terminal as it is")
def _(t):
    for text in HOSTILE:
        value = toml_escaped(text)
        absolute = toml_escaped(native("/") + text)
        keys = (f"profile = {value}", f"{value} = 1", f"fs_read_allow = [{value}]", f"fs_read_allow = [{absolute}]",
                f'filesystem = {{ {absolute} = "none" }}', f"filesystem = {{ {absolute} = {value} }}",
                f"env = [[{value}, {value}]]", f"env_pass = [{value}]", f"timeout = {value}", f"image = {value}",
                f'network = {{ kind = "allow_hosts", hosts = [{value}] }}', f"protect = [{value}]", f"user = {value}",
                f"cwd = {absolute}", f"raw_args = [{value}]")
        units = (f'[unit.{value}]\ncommand = ["x"]\n', f"[unit.a]\ncommand = [{value}]\ntype = {value}\n")
        broken = (f"[{value}]\n", f"x = [{value}\n", f"x = {value} y\n")
        for body in (*(f"[sandbox]\n{key}\n" for key in keys), *units, *broken):
            t.manifest(body, "hostile.toml")
            done = t.run("verify", "hostile.toml")
            check_safe(t, done)
            t.true(done.status in (0, 1), done)
        t.manifest(f"[sandbox]\nx = {text}\n# {text}\n", "raw.toml")
        check_safe(t, t.run("verify", "raw.toml"))


@promise("a plan with hostile names is printed safely")
def _(t):
    for text in HOSTILE:
        absolute = toml_escaped(native("/") + text)
        value = toml_escaped(text)
        t.manifest(f'[sandbox]\nmode = "read-only"\nfilesystem = {{ {absolute} = "none" }}\nenv_pass = [{value}]\n'
                   f"protect = [{value}]\n", "plan.toml")
        check_safe(t, t.run("explain", "-f", "plan.toml"))
        check_safe(t, t.run("run", "-f", "plan.toml", "x", env=t.refused))
        check_safe(t, t.run("why", "-f", "plan.toml", "--path", "x"))


@promise("hostile words of a command line are told safely")
def _(t):
    for text in HOSTILE:
        if "\x00" in text:
            continue
        for words in ((text,), ("help", text), ("run", f"--{text}"), ("run", f"-{text}"), ("run", text), ("verify", text),
                      ("run", "-f", text, "x"), ("explain", "-p", text), ("explain", "-r", text), ("explain", "-t", text),
                      ("explain", "-r", native("/") + text), ("explain", "--net", text), ("explain", "-e", text),
                      ("explain", "-E", text), ("explain", "-C", text), ("explain", "--fs", text), ("explain", "--", text),
                      ("why", "--path", text), ("why", "--url", text), ("why", "--env", text), ("why", "--op", text),
                      ("init", "--template", text), ("profile", "show", text), ("profile", text), ("trust", text),
                      ("trust", "--remove", text), ("completion", text), ("schema", text), ("doctor", text),
                      ("verify", "--platform", text, "x"), ("help", "--color", text), ("run", "--json-fd", text, "x"),
                      ("init", f"missing/{text}")):
            check_safe(t, t.run(*words, env=t.refused))
        check_safe(t, t.run("run", "--", f"./{text}", env=t.unboxed))


@promise("hostile values of sbx's own variables are told safely")
def _(t):
    for text in HOSTILE:
        if "\x00" in text:
            continue
        for words in (("doctor",), ("run", "x"), ("explain",)):
            check_safe(t, t.run(*words, env={"SBX_SANDBOX": text, "SBX_ALLOW_NO_SANDBOX": text}))
            check_safe(t, t.run(*words, env={**t.refused, "SBX_LOG": text}))


@promise("hostile file and directory names are told safely", on=POSIX)
def _(t):
    for text in HOSTILE:
        if "\x00" in text:
            continue
        place = t.project / f"d{text}"
        place.mkdir()
        path = pathlib.Path(t.manifest(BAD, f"f{text}.toml", below=place))
        for words in (("verify", path), ("explain", "-f", path), ("trust", path), ("run", "-f", path, "x"), ("init", path),
                      ("init", place / f"n{text}"), ("explain", "-r", path), ("why", "--path", path, "--op", "write")):
            check_safe(t, t.run(*words, env=t.refused))
        t.manifest('[sandbox]\nnetwork = "inherit"\n', below=place)
        for words in (("explain",), ("run", "x"), ("trust",), ("trust", "--list"), ("why", "--path", "x"), ("doctor",),
                      ("explain", "--no-manifest"), ("profile", "show", "workspace-write"), ("init",)):
            check_safe(t, t.run(*words, cwd=place, env={**t.refused, "SBX_LOG": "debug"}))


@promise("a file name that is no UTF-8 is told safely", on=POSIX)
def _(t):
    place = os.fsencode(t.project) + b"/caf\xe9\x1b[31m"
    os.mkdir(place)
    for words in (("explain",), ("run", "x"), ("doctor",), ("trust", "--list"), ("verify", "x.toml")):
        done = t.run(*words, cwd=place, env=t.refused)
        check_safe(t, done)
        t.true(done.status in (1, 125), done)


@promise("an answer of sbx never holds a value of the environment it only looked at")
def _(t):
    env = {"MY_SECRET": "hunter2", "SBX_TEST_TOKEN": "hunter2"}
    for words in (("doctor",), ("doctor", "--json"), ("explain", "-E", "MY_SECRET"), ("why", "--env", "MY_SECRET"),
                  ("run", "--json", "-E", "MY_SECRET", "x")):
        done = t.run(*words, env={**t.refused, **env})
        t.lacks(done.out + done.err, "hunter2", done)


main()
