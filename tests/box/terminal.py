"""`sbx run --tty` and `sbx shell` on a real terminal, and what a box can do to its caller's."""

import os
import pathlib
import signal
import subprocess
import termios
import time

from boxed import BACKEND, each, main, state_of
from on_terminal import (below, children_of, command_line, is_gone, sbx_on_terminal, shell_on_terminal,
                         wait_until)

SHELL = {"SHELL": "/bin/bash"}
USER = ("user",)  # where the user makes no difference
CONTROL_C, CONTROL_D, CONTROL_Z, CONTROL_BACKSLASH = "\x03", "\x04", "\x1a", "\x1c"
ASK_SIZE = """
import os, signal, sys
def tell(*_):
    os.write(1, b"size %d %d\\n" % tuple(reversed(os.get_terminal_size())))
signal.signal(signal.SIGWINCH, tell)
tell()
while sys.stdin.readline().strip() != "end":
    pass
"""


def quiet_shell(box):
    """A shell that reads none of this machine's start-up files."""
    path = box.t.manifest("#!/bin/sh\nexec /bin/bash --norc --noprofile --noediting -i\n", "quiet-shell")
    path.chmod(0o755)
    return str(path)


def boxed_shell(box, *words, **options):
    """`sbx shell` alone on a terminal, once its prompt is there."""
    env = {"SHELL": quiet_shell(box), **options.pop("env", {})}
    terminal = sbx_on_terminal(box, "shell", "-e", "PS1=%% ", *words, env=env, **options)
    terminal.expect("%% ")
    return terminal


# ---- what the command gets ----


@each("--tty: the command has a terminal of its own, in the caller's size, and follows it")
def _(box):
    t = box.t
    with sbx_on_terminal(box, "run", "--tty", "--", "python3", "-c", ASK_SIZE, size=(33, 111)) as terminal:
        terminal.expect(r"size 33 111\r\n")
        terminal.resize(20, 50)
        terminal.expect(r"size 20 50\r\n")
        terminal.send("end\n")
        t.equal(terminal.wait(), 0)


@each("--tty: without a terminal outside it is 80 columns wide, and input ends with the caller's", USER)
def _(box):
    t = box.t
    done = box.sbx("run", "--tty", "--", "stty", "size")
    t.equal((done.status, done.out), (0, "24 80\r\n"), done)
    for text in ("", "line\n", "no end", "two\nlines"):
        done = box.sbx("run", "-t", "20s", "--tty", "--", "python3", "-c",
                     "import sys; print(ascii(sys.stdin.read()))", stdin=text)
        t.equal(done.status, 0, done)
        t.has(done.out, ascii(text), done)


@each("/dev/tty is there with --tty, and not without")
def _(box):
    t = box.t
    script = "test -t 0 && echo is-terminal; echo read >/dev/tty && echo opened || echo closed"
    for words, wanted in ((("--tty",), ("read\r\n", "opened\r\n", "is-terminal")), ((), ("closed\r\n",))):
        with sbx_on_terminal(box, "run", *words, "--", "sh", "-c", script) as terminal:
            t.equal(terminal.wait(), 0)
            for text in wanted:
                t.has(terminal.seen, text)
            t.equal("opened" in terminal.seen, bool(words), terminal.seen)


@each("--tty passes the caller's TERM, and says so; nothing else comes with it", USER)
def _(box):
    t = box.t
    bare = ("-p", "strict")  # a mode passes TERM anyway
    done = box.sbx("run", *bare, "--tty", "--", "env", env={"TERM": "vt220"})
    t.equal(done.out, "TERM=vt220\r\n", done)
    t.lacks(box.sbx("run", *bare, "--", "env", env={"TERM": "vt220"}).out, "TERM")
    declared = box.sbx("run", *bare, "--tty", "-e", "TERM=dumb", "--", "env", env={"TERM": "vt220"})
    t.equal(declared.out, "TERM=dumb\r\n", declared)
    plan = t.plan(*bare, "--tty", "-E", "ZONE", "-E", "A", "--", "true", env=box.env)
    t.equal((plan["terminal"], plan["env_pass"]), (True, ["A", "TERM", "ZONE"]))
    plain = t.plan(*bare, "--", "true", env=box.env)
    t.equal((plain["terminal"], plain["env_pass"]), (False, []))


@each("--tty: the output limit counts what the terminal shows", USER)
def _(box):
    t = box.t
    done = box.sbx("run", "--tty", "--max-output", "1000", "--", "sh", "-c", "while :; do echo 12345678; done")
    t.equal((done.status, len(done.out_bytes)), (124, 1000), done.err)
    t.has(done.err, "output of more than 1000", done)
    whole = box.sbx("run", "--tty", "--max-output", "1000", "--", "sh", "-c", "echo 12345678")
    t.equal((whole.status, whole.out), (0, "12345678\r\n"), whole)


@each("--tty: a reader that goes away hangs the terminal up, and the command ends soon", USER)
def _(box):
    t = box.t
    begin = time.monotonic()
    process = box.start("run", "-t", "30s", "--tty", "--", "yes", stdin=subprocess.DEVNULL,
                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    t.equal(process.stdout.readline(), b"y\r\n")
    process.stdout.close()
    t.equal(process.wait(20), 128 + signal.SIGHUP)
    t.true(time.monotonic() - begin < 15)


@each("--tty: a reader that waits holds up neither time limit nor end", USER)
def _(box):
    t = box.t
    begin = time.monotonic()
    with sbx_on_terminal(box, "run", "-t", "1s", "--tty", "--", "yes") as terminal:
        # Nothing is read meanwhile: the terminal is full.
        t.true(wait_until(lambda: children_of(terminal.process.pid) == [], 20), "the keeper hangs")
        t.true(time.monotonic() - begin < 15)
        t.equal(terminal.wait(), 124)


# ---- the shell ----


@each("sbx shell: the caller's shell with a terminal, left with control-D or exit, whose status counts", USER)
def _(box):
    t = box.t
    with boxed_shell(box) as terminal:
        terminal.ask("echo $((40+2)) $TERM", r"42 xterm\r\n")
        terminal.ask("test -t 0 && test -t 1 && test -t 2 && echo all-$((1+1))", r"all-2\r\n")
        terminal.ask("echo $$", r"\d+\r\n")
        terminal.send(CONTROL_D)
        t.equal(terminal.wait(), 0)
    with boxed_shell(box) as terminal:
        terminal.send("exit 7\n")
        t.equal(terminal.wait(), 7)
        t.lacks(terminal.seen, "sbx:")


@each("sbx shell holds what sbx run holds", USER)
def _(box):
    t = box.t
    with boxed_shell(box) as terminal:
        terminal.ask("echo no > .gitconfig || echo refused-$((1+1))", r"refused-2\r\n")
        terminal.ask("echo yes > inside && echo written-$((1+1))", r"written-2\r\n")
        terminal.send("exit\n")
        t.equal(terminal.wait(), 0)
        t.true(not (t.project / ".gitconfig").exists())
        t.equal((t.project / "inside").read_text(), "yes\n")


@each("sbx shell takes $SHELL only when it is a full path that the box may read", USER)
def _(box):
    t = box.t
    hidden = t.project / "hidden"
    hidden.mkdir()
    own = hidden / "own-shell"
    own.write_bytes(open("/bin/sh", "rb").read())
    own.chmod(0o755)
    for shell, words, wanted in ((str(own), (), str(own)), (str(own), ("--deny", hidden), "/bin/bash"),
                                 ("sh", (), "/bin/bash"), (None, (), "/bin/bash"),
                                 ("/no/such/shell", (), "/bin/bash"), ("/bin/sh", (), "/bin/sh")):
        done = box.sbx("shell", *words, stdin="echo $0\n", env={"SHELL": shell})
        t.equal((done.status, done.out), (0, f"{wanted}\n"), done)
    done = box.sbx("shell", "--deny", "/bin", "--deny", "/usr/bin", env=SHELL)
    t.equal(done.status, 125, done)
    t.has(done.err, "may read no shell", done)


@each("sbx shell lasts until it is left, unless -t or the manifest says how long", USER)
def _(box):
    t = box.t
    done = box.sbx("shell", "--dry-run", env=SHELL)
    t.has(done.out, "time not limited (365 days at most)", done)
    plan = t.json(box.sbx("shell", "--dry-run", "--json", env=SHELL).out)["plan"]
    t.equal((plan["limits"]["timeout_ms"], plan["command"]), (365 * 86400 * 1000, ["/bin/bash"]))
    t.has(box.sbx("shell", "--dry-run", "-t", "7s", env=SHELL).out, "time 7s", done)
    manifest = t.manifest('[sandbox]\nmode = "workspace-write"\ntimeout = "9s"\n', "other.toml")
    t.has(box.sbx("shell", "--dry-run", "-f", manifest, env=SHELL).out, "time 9s", done)
    with boxed_shell(box, "-t", "1s") as terminal:
        t.equal(terminal.wait(), 124)
        t.has(terminal.seen, "timeout after 1s")


@each("sbx shell takes no command, and reads one from a pipe", USER)
def _(box):
    t = box.t
    done = box.sbx("shell", "ls", env=SHELL)
    t.equal(done.status, 125, done)
    t.has(done.err, "sbx run --tty -- ls", done)
    done = box.sbx("shell", stdin="echo piped; test -t 0 || echo no terminal; exit 3\n", env=SHELL)
    t.equal((done.status, done.out), (3, "piped\nno terminal\n"), done)


@each("control-C interrupts the foreground job and not the shell", USER)
def _(box):
    t = box.t
    with boxed_shell(box) as terminal:
        for _ in range(3):  # also in quick succession: these do not end the box
            terminal.send("sleep 100\n")
            t.true(wait_until(lambda: any("sleep 100" == command_line(pid)
                                          for pid in below(terminal.process.pid))))
            terminal.send(CONTROL_C)
            terminal.expect(r"\^C")
            terminal.ask("echo status-$?", r"status-130\r\n")
        terminal.send("exit 0\n")
        t.equal(terminal.wait(), 0)


def is_foreground(pid):
    """Whether the terminal of a process belongs to its group."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return False
    return fields[2] == fields[5]


@each("control-Z, fg and bg work inside", USER)
def _(box):
    t = box.t
    with boxed_shell(box) as terminal:
        def sleeps_in_front():
            return any("sleep 200" == command_line(pid) and is_foreground(pid) for pid in below(terminal.process.pid))

        terminal.send("sleep 200\n")
        t.true(wait_until(sleeps_in_front))
        terminal.send(CONTROL_Z)
        terminal.expect("Stopped")
        terminal.ask("bg", r"sleep 200 &")
        terminal.ask("jobs", r"Running +sleep 200")
        terminal.ask("fg", r"sleep 200\r\n")
        t.true(wait_until(sleeps_in_front))  # the shell says so before it is
        terminal.send(CONTROL_BACKSLASH)
        terminal.expect("Quit")
        terminal.send("exit 5\n")
        t.equal(terminal.wait(), 5)


@each("suspend inside stops sbx, and the outer shell's fg goes on with the same shell", USER)
def _(box):
    t = box.t
    with shell_on_terminal(box, env={"SHELL": quiet_shell(box)}) as terminal:
        terminal.ask('"$SBX" shell -e "PS1=inner-%% "', "inner-%% ")
        terminal.ask("kept=$((40+2)); suspend -f", r"Stopped")
        terminal.expect("%% ")
        t.true(terminal.modes()[3] & termios.ICANON, "the outer shell has its modes")
        terminal.send("fg\n")
        terminal.expect(r"shell")
        t.true(wait_until(terminal.is_raw))
        terminal.ask("echo kept-$kept", r"kept-42\r\n")
        terminal.expect("inner-%% ")
        terminal.ask("exit", "%% ")
        terminal.ask("echo outer-$?", r"outer-0\r\n")


# ---- the caller's terminal ----


@each("the modes of the caller's terminal come back after every end")
def _(box):
    t = box.t
    ends = {"a normal one": lambda terminal, processes: terminal.send("exit\n"),
            "changed modes": lambda terminal, processes: terminal.send("stty raw -echo; kill -9 $$\n"),
            "sbx killed": lambda terminal, processes: terminal.process.kill(),
            "the keeper killed": lambda terminal, processes: os.kill(processes[0], signal.SIGKILL),
            "what it started killed": lambda terminal, processes: os.kill(processes[1], signal.SIGKILL),
            "the first process killed": lambda terminal, processes: os.kill(processes[-2], signal.SIGKILL),
            "the shell killed": lambda terminal, processes: os.kill(processes[-1], signal.SIGKILL)}
    for name, end in ends.items():
        with boxed_shell(box) as terminal:
            t.true(terminal.is_raw(), name)
            processes = below(terminal.process.pid)
            t.equal(len(processes), 4 if BACKEND == "bwrap" else 3, processes)
            end(terminal, processes)
            t.true(terminal.wait() is not None, name)
            t.true(wait_until(lambda: terminal.modes() == terminal.first_modes, 5),
                   f"{name}: {terminal.modes()} and not {terminal.first_modes}")
            t.true(wait_until(lambda: all(map(is_gone, processes)), 5), f"{name}: box left behind")


@each("modes that a box without --tty changed come back too", USER)
def _(box):
    t = box.t
    for end in ("exit 0", "kill -9 $$", "exit 9"):
        with sbx_on_terminal(box, "run", "--", "sh", "-c", f"stty raw -echo; echo changed; {end}") as terminal:
            terminal.expect("changed")
            t.true(terminal.wait() is not None)
            t.equal(terminal.modes(), terminal.first_modes, end)
    with sbx_on_terminal(box, "run", "--", "sh", "-c", "stty raw -echo; echo changed; sleep 100") as terminal:
        terminal.expect("changed")
        t.true(terminal.is_raw())
        terminal.process.kill()
        t.true(wait_until(lambda: terminal.modes() == terminal.first_modes, 5))


@each("the box cannot open the caller's terminal, type into it, or load a line discipline")
def _(box):
    t = box.t
    script = """
import errno, fcntl, os, sys, termios
def attempt(name, what):
    try:
        what()
        print(name, "DONE", flush=True)
    except OSError as problem:
        print(name, errno.errorcode[problem.errno], flush=True)
path = sys.argv[1]
attempt("open", lambda: os.close(os.open(path, os.O_RDWR | os.O_NOCTTY)))
attempt("tiocsti", lambda: fcntl.ioctl(1, termios.TIOCSTI, b"\\n"))
attempt("tioclinux", lambda: fcntl.ioctl(1, 0x541C, bytes([3])))
attempt("tiocsetd", lambda: fcntl.ioctl(1, 0x5423, bytes(4)))
attempt("stream", lambda: os.write(1, b""))
"""
    outside = t.manifest(script, "attempt.py")
    for words in ((), ("--tty",)):
        with shell_on_terminal(box) as terminal:
            path = os.readlink(f"/proc/{terminal.process.pid}/fd/0")
            terminal.ask(f'python3 {outside} {path}', r"open DONE\r\n")  # outside it is an ordinary thing
            terminal.expect(r"tioclinux ENOTTY\r\n")
            terminal.expect(r"tiocsetd DONE\r\n")
            terminal.expect("stream DONE")
            terminal.ask(f'"$SBX" run {" ".join(words)} -- python3 {outside} {path}', r"open E\w+\r\n")
            for name in ("tiocsti", "tioclinux", "tiocsetd"):
                terminal.expect(rf"{name} EPERM\r\n")
            terminal.expect("stream DONE")


@each("escape sequences go to standard output and nowhere else", USER)
def _(box):
    t = box.t
    sequences = "\033]52;c;aGk=\007\033]8;;http://x/\033\\\\\033]0;title\007\033[201~\033P$q\"p\033\\\\"
    data = sequences.encode()
    (t.project / "sequences").write_bytes(data)
    done = box.sbx("run", "--", "sh", "-c", "cat sequences; cat sequences no-such-file; exit 1")
    t.equal(done.out_bytes, data * 2)
    t.lacks(done.err_bytes, b"\033", done)
    done = box.sbx("run", "--json", "--", "sh", "-c", f"cat sequences >&2; cat '{sequences}'")
    t.lacks(done.err.splitlines()[-1], "\033", "the outcome is sbx's")


@each("a job in the background cannot read what is typed to the shell")
def _(box):
    t = box.t
    script = "cat /dev/stdin /dev/stdout >taken 2>/dev/null; cat <&1 >>taken 2>/dev/null; echo over >done; sleep 100"
    with shell_on_terminal(box) as terminal:
        terminal.ask(f'"$SBX" run -- sh -c "{script}" &', "%% ")
        t.true(wait_until((t.project / "done").exists), "it was refused, and goes on")
        for _ in range(3):
            terminal.ask("echo secret-$((40+2))", r"secret-42\r\n")
        t.equal((t.project / "taken").read_text(), "")
        terminal.ask("kill %1; wait", "%% ")
    # The control: in the foreground it reads.
    with shell_on_terminal(box) as terminal:
        terminal.send('"$SBX" run -- head -n 1\n')
        time.sleep(1)
        terminal.ask("typed", r"typed\r\ntyped\r\n")


@each("a job that holds the terminal waits for the foreground, also after bg", USER)
def _(box):
    t = box.t
    with shell_on_terminal(box) as terminal:
        terminal.send('"$SBX" run -- python3 -c "print(input())"\n')
        t.true(wait_until(lambda: any("input()" in command_line(pid) and command_line(pid).startswith("python3")
                                      for pid in below(terminal.process.pid))))
        terminal.send(CONTROL_Z)
        terminal.expect("Stopped")
        sbx = children_of(terminal.process.pid)[0]
        terminal.ask("bg", "&")
        # The shell says "Running" until it hears that sbx has stopped again.
        t.true(wait_until(lambda: "Stopped" in terminal.ask("jobs", r"(Stopped|Running).*\r\n").group(0)))
        t.equal(state_of(sbx), "T")
        terminal.ask("echo typed-$((40+2))", r"typed-42\r\n")
        terminal.ask("fg", "run")
        terminal.ask("for the job", r"for the job\r\nfor the job\r\n")
        terminal.ask("echo outer-$?", r"outer-0\r\n")


@each("control-C on the caller's terminal reaches every process of the command", USER)
def _(box):
    t = box.t
    t.manifest("trap 'echo child; exit 3' INT\nsleep 100\n:\n", "child.sh")
    t.manifest("trap 'echo parent' INT\nsh child.sh\necho over-$?\n", "parent.sh")
    with shell_on_terminal(box) as terminal:
        terminal.send('"$SBX" run -- sh parent.sh\n')
        t.true(wait_until(lambda: "sleep 100" in map(command_line, below(terminal.process.pid))))
        terminal.send(CONTROL_C)
        terminal.expect(r"child\r\n")
        terminal.expect(r"parent\r\n")
        terminal.expect(r"over-3\r\n")


@each("control-Z stops every process of a box without --tty, fg goes on with them", USER)
def _(box):
    t = box.t
    script = "sleep 301 & sleep 302 & wait"

    def sleepers():
        return [pid for pid in below(terminal.process.pid) if command_line(pid).startswith("sleep 30")]

    with shell_on_terminal(box) as terminal:
        terminal.send(f'"$SBX" run -- sh -c "{script}"\n')
        t.true(wait_until(lambda: len(sleepers()) == 2))
        terminal.send(CONTROL_Z)
        terminal.expect("Stopped")
        t.true(wait_until(lambda: [state_of(pid) for pid in sleepers()] == ["T", "T"]))
        terminal.ask("fg", "run")
        t.true(wait_until(lambda: [state_of(pid) for pid in sleepers()] == ["S", "S"]))
        pids = sleepers()
        terminal.send(CONTROL_C)
        terminal.expect("%% ")
        t.true(wait_until(lambda: all(map(is_gone, pids))))


main()
