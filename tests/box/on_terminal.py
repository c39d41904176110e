"""A terminal with something on it, driven as a person would: what the terminal tests share."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

import boxed
from harness import SBX

SECONDS = 20


def wait_until(held, seconds=SECONDS):
    """boxed.wait_until, with the patience of this directory's terminal tests."""
    return boxed.wait_until(held, seconds)


def children_of(pid):
    """The numbers of a process' children."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def below(pid):
    """All processes below one, nearest first."""
    found = children_of(pid)
    for child in found:
        found.extend(children_of(child))
    return found


def is_gone(pid):
    return boxed.state_of(pid) in (None, "X", "Z")


def command_line(pid):
    """A process' arguments, as one text."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


class Terminal:
    """A program that leads a session on a new terminal. Use with `with`."""

    def __init__(self, box, command, env=None, size=(33, 111)):
        self.t = box.t
        self.seen = ""
        self.master, slave = pty.openpty()
        os.fchown(slave, box.uid, -1)
        self.resize(*size)
        self.first_modes = termios.tcgetattr(self.master)

        def own_terminal():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        environment = box.t.environment({**box.env, "TERM": "xterm", **(env or {})})
        self.process = subprocess.Popen([str(word) for word in command], env=environment, cwd=box.project,
                                        stdin=slave, stdout=slave, stderr=slave, preexec_fn=own_terminal,
                                        **box.options)
        os.close(slave)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def send(self, text):
        os.write(self.master, text.encode())

    def read(self, seconds):
        """What comes within that time, or "" at the end; appended to `seen`."""
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return None
        try:
            text = os.read(self.master, 65536).decode(errors="replace")
        except OSError:  # nobody has the other side open
            return ""
        self.seen += text
        return text

    def expect(self, pattern, seconds=SECONDS):
        """Waits for the pattern, takes everything up to its end out of `seen`, returns the match or None."""
        end = time.monotonic() + seconds
        while True:
            match = re.search(pattern, self.seen)
            if match:
                self.seen = self.seen[match.end():]
                self.t.true(True)
                return match
            text = self.read(max(0, end - time.monotonic()))
            if not text:
                self.t.true(False, f"{pattern!r} did not appear; seen: {self.seen!r}")
                return None

    def ask(self, line, pattern, seconds=SECONDS):
        """Types a line and waits for an answer that is not its echo."""
        self.send(line + "\n")
        return self.expect(pattern, seconds)

    def wait(self, seconds=SECONDS):
        """The exit status as a shell would say it; None when it did not end."""
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.02)
        status = self.process.poll()
        while self.read(0):
            pass
        return 128 - status if status is not None and status < 0 else status

    def modes(self):
        return termios.tcgetattr(self.master)

    def is_raw(self):
        return not self.modes()[3] & (termios.ICANON | termios.ECHO | termios.ISIG)


def program_for(box):
    return box.t.copy_of_sbx() if box.options else SBX


def sbx_on_terminal(box, *words, **options):
    """sbx alone on a terminal."""
    return Terminal(box, [program_for(box), *words], **options)


def shell_on_terminal(box, env=None):
    """A shell with job control, whose prompt is "%%"; "$SBX" is sbx."""
    env = {"SBX": program_for(box), "PS1": "%% ", **(env or {})}
    terminal = Terminal(box, ["bash", "--norc", "--noprofile", "--noediting", "-i"], env=env)
    terminal.expect("%% ")
    return terminal
