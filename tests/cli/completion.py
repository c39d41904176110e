"""Completion scripts: the shells accept them, and they complete."""

import shlex
import shutil
import subprocess

from harness import COMMANDS, main, promise

# Stands for the shell at the moment of the key press: words, the one under the cursor last.
PRESS = r'''
source "$1"; shift
COMP_WORDS=(sbx "$@"); COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 )); COMPREPLY=()
_sbx
for reply in "${COMPREPLY[@]}"; do printf '%s\n' "$reply"; done
'''


def script(t, shell):
    done = t.run("completion", shell)
    t.equal((done.status, done.err), (0, ""), done)
    path = t.directory / f"completion.{shell}"
    path.write_bytes(done.out_bytes)
    return path


def accepts(t, program, *words):
    if shutil.which(program) is None:
        t.skip(program, f"there is no {program} here")
    path = script(t, program)
    done = subprocess.run([program, *words, path], capture_output=True, text=True, check=False,
                          env=t.environment({"HOME": str(t.home)}))
    t.equal((done.returncode, done.stdout, done.stderr), (0, "", ""))


@promise("bash accepts its script")
def _(t):
    accepts(t, "bash", "-n")


@promise("zsh accepts its script")
def _(t):
    accepts(t, "zsh", "-f", "-n")


@promise("fish accepts its script")
def _(t):
    accepts(t, "fish", "--no-execute")


def press(t, path, *words):
    """What bash offers after these words."""
    done = subprocess.run(["bash", "--norc", "-c", PRESS, "bash", path, *words], capture_output=True, text=True,
                          check=False, cwd=t.project, env=t.environment())
    t.equal((done.returncode, done.stderr), (0, ""), words)
    return sorted(done.stdout.splitlines())


@promise("bash completes commands, options and words")
def _(t):
    if shutil.which("bash") is None:
        t.skip("bash", "there is no bash here")
    path = script(t, "bash")
    for words, wanted in (((("",)), sorted(COMMANDS)), (("ex",), ["explain"]), (("ver",), ["verify", "version"]),
                          (("zzz",), []), (("run", "--pro"), ["--procs", "--profile", "--protect"]),
                          (("run", "--profile", "st"), ["strict"]), (("run", "-p", ""), ["desktop", "none", "service",
                                                                                         "strict"]),
                          (("why", "--op", ""), ["exec", "read", "write"]), (("explain", "--platform", "w"), ["windows"]),
                          (("completion", ""), ["bash", "fish", "powershell", "zsh"]), (("profile", "l"), ["list"]),
                          (("init", "--template", "py"), ["python"]), (("schema", ""), ["manifest", "rpc"]),
                          (("run", "--color", "a"), ["always", "auto"]), (("help", "ver"), ["verify", "version"]),
                          (("run", "--git", "c"), ["commit"]), (("version", "--js"), ["--json"]),
                          # bash makes three words of --profile=st
                          (("run", "--profile", "=", "st"), ["strict"]), (("why", "--op", "="), ["exec", "read",
                                                                                                 "write"])):
        t.equal(press(t, path, *words), wanted, words)
    for words in (("run", "--timeout", ""), ("run", "-m", "")):
        t.equal(press(t, path, *words), [], "a value that nobody can guess")


@promise("bash completes files where files are wanted, with any name")
def _(t):
    path = script(t, "bash")
    for name in ("one.toml", "two words.toml", "other"):
        t.manifest("", name)
    for words in (("verify", ""), ("run", "-f", ""), ("explain", "--manifest", ""), ("trust", ""), ("run", "-r", "")):
        t.equal(press(t, path, *words), ["one.toml", "other", "two words.toml"], words)
    t.equal(press(t, path, "verify", "one.toml", "tw"), ["two words.toml"])


@promise("bash leaves the words of the command that is run alone")
def _(t):
    path = script(t, "bash")
    t.manifest("", "--json-file")
    for words in (("run", "make", "--js"), ("run", "--", "make", "--js"), ("run", "-q", "make", "--js"),
                  ("run", "-t", "5s", "make", "--js"), ("explain", "--timeout=5s", "make", "--js")):
        t.lacks(press(t, path, *words), "--json", words)
    t.has(press(t, path, "run", "-t", "5s", "--js"), "--json", "but before it they are sbx's")
    t.has(press(t, path, "run", "tru"), "true", "a program is completed as one")
    t.has(press(t, path, "run", "--", "tru"), "true")


@promise("every script offers every option of every command")
def _(t):
    scripts = {shell: script(t, shell).read_text() for shell in ("bash", "zsh", "fish", "powershell")}
    report = t.json(t.run("help", "--json").out)
    for command in report["commands"]:
        for option in command["options"]:
            name = option["name"]
            t.has(scripts["bash"], f"--{name}")
            t.has(scripts["zsh"], f"'*--{name}[")
            t.has(scripts["powershell"], f"--{name}")
            t.has(scripts["fish"], f"-n '__fish_seen_subcommand_from {command['name']}' -l {name} ")
        for text in scripts.values():
            t.has(text, command["name"])


@promise("fish completes commands, options and words")
def _(t):
    if shutil.which("fish") is None:
        t.skip("fish", "there is no fish here")
    path = script(t, "fish")
    for line, wanted in (("sbx ex", ["explain"]), ("sbx run --prof", ["--profile"]), ("sbx run --profile st", ["strict"]),
                         ("sbx completion ba", ["bash"]), ("sbx why --op w", ["write"])):
        done = subprocess.run(["fish", "--no-config", "-c",
                               f"source {shlex.quote(str(path))}; complete -C {shlex.quote(line)}"],
                              capture_output=True, text=True, check=False, cwd=t.project,
                              env=t.environment({"HOME": str(t.home)}))
        t.equal([entry.split("\t")[0] for entry in done.stdout.splitlines()], wanted, (line, done.stderr))


@promise("PowerShell's script is balanced and has nothing unquoted that it would expand")
def _(t):
    text = script(t, "powershell").read_text()
    for opening, closing in ("{}", "()", "[]"):
        t.equal(text.count(opening), text.count(closing))
    t.equal(text.count("'") % 2, 0)
    t.has(text, "Register-ArgumentCompleter -Native -CommandName sbx")


main()
