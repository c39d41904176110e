"""`sbx run --service` against a real service: what it prints, how it ends, its signals and its outcome are those of `sbx run`.

usage: service.py DIRECTORY-OF-SBX-AND-SBXD"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

PROGRAMS = pathlib.Path(sys.argv[1])
SBX = str(PROGRAMS / "sbx")
SECONDS = 120
results = []


def check(promise, held, why=""):
    results.append(held)
    if not held:
        print("# " + str(why).replace("\n", "\n# "))
    print(f"{'ok' if held else 'not ok'} {len(results)} - {promise}", flush=True)


class World:
    """A home, a project and a runtime directory of their own, and a service in them."""

    def __init__(self, root):
        self.root = root
        self.project = root / "project"
        self.runtime = root / "run"
        for place in (self.project, self.runtime, root / "home"):
            place.mkdir(mode=0o700)
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(root / "home"), "XDG_RUNTIME_DIR": str(self.runtime),
                            **{name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}}
        self.service = None

    def start(self):
        self.service = subprocess.Popen([str(PROGRAMS / "sbxd")], env=self.environment, cwd=self.root,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        socket = self.runtime / "sbx/sbx.sock"
        end = time.monotonic() + SECONDS
        while not socket.exists() and self.service.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        return socket.exists()

    def stop(self):
        self.service.send_signal(signal.SIGTERM)
        try:
            self.service.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.service.kill()
            self.service.wait()
        self.service.stderr.close()

    def run(self, *words, **options):
        return subprocess.run([SBX, "run", *words], env={**self.environment, **options.pop("env", {})}, text=True,
                              cwd=options.pop("cwd", self.project), capture_output=True, errors="replace",
                              timeout=SECONDS, check=False, **options)

    def begin(self, *words):
        return subprocess.Popen([SBX, "run", "--service", *words], env=self.environment, cwd=self.project, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def shape(value):
    """The members of an object and the kinds of their values, but for what differs from run to run."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items() if key not in ("use", "manifest", "plan_digest")}
    return value if not isinstance(value, list) else len(value)


# What is run, and its standard input: both ways must look the same.
ALIKE = [
    ("output, errors and status are the command's", ["--", "sh", "-c", "cat; echo out; echo err >&2; exit 3"], "in\n"),
    ("a signal that ends a command is its status", ["--", "sh", "-c", "kill -9 $$"], ""),
    ("a program that is not there is 127", ["--", "no-such-program"], ""),
    ("a file that cannot be executed is 126", ["--", "/etc/passwd"], ""),
    ("a time limit is told", ["-t", "1s", "--", "sleep", "60"], ""),
    ("options are part of the manifest", ["-e", "COLOUR=blue", "--", "sh", "-c", "echo $COLOUR"], ""),
    ("a manifest with a mistake is refused", ["--mode", "no-such-mode", "--", "true"], ""),
    ("variables that were not asked for stay outside", ["--", "sh", "-c", "echo ${SECRET-none}"], ""),
]


def compare(world):
    for promise, words, given in ALIKE:
        here = world.run(*words, input=given, env={"SECRET": "x"})
        there = world.run("--service", *words, input=given, env={"SECRET": "x"})
        check(promise, (here.returncode, here.stdout, here.stderr) == (there.returncode, there.stdout, there.stderr),
              f"{words}\nhere  {here}\nthere {there}")
    # A box that is kept ready shows sbx no standard error, so what it denied is told only as far as the box saw it.
    denied = world.run("--service", "--", "touch", "/etc/sbx-test")
    check("what is denied fails", denied.returncode == 1 and denied.stderr.startswith("touch: "), denied)
    here = world.run("--json", "--", "sh", "-c", "exit 5")
    there = world.run("--service", "--json", "--", "sh", "-c", "exit 5")
    check("the outcome has the same members and values",
          shape(json.loads(here.stderr)) == shape(json.loads(there.stderr)), f"{here.stderr}\n{there.stderr}")
    below = world.project / "below"
    below.mkdir()
    (world.project / "sbx.toml").write_text('[sandbox]\nmode = "read-only"\n', encoding="utf-8")
    words = ("--", "sh", "-c", "touch x 2>/dev/null; echo $?")
    check("a manifest is found from the directory of the caller",
          world.run("--service", *words, cwd=below).stdout == world.run(*words, cwd=below).stdout == "1\n",
          world.run("--service", *words, cwd=below))
    (world.project / "sbx.toml").unlink()


def wait_for(stream, text):
    line = stream.readline()
    return line == text + "\n"


def signals(world):
    child = world.begin("--", "sh", "-c", "trap 'echo caught; exit 9' TERM; echo ready; while :; do sleep 0.1; done")
    ready = wait_for(child.stdout, "ready")
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=SECONDS)
    check("a signal reaches the command", ready and out == "caught\n" and child.returncode == 9, (out, err, child.returncode))
    child = world.begin("--", "sh", "-c", "trap '' INT; echo ready; while :; do sleep 0.1; done")
    ready = wait_for(child.stdout, "ready")
    end = time.monotonic() + SECONDS
    pause = 0.2
    while child.poll() is None and time.monotonic() < end:
        child.send_signal(signal.SIGINT)
        # Rarely after the second: two that come together count once, but one that comes while sbx ends is its end.
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(pause)
        pause = 5
    out, err = child.communicate(timeout=SECONDS)
    check("two interrupts end a command that ignores them", ready and child.returncode == 137 and "cancel" in err, (out, err, child.returncode))
    child = world.begin("--", "sh", "-c", "echo ready; exec sleep 1000")
    ready = wait_for(child.stdout, "ready")
    child.kill()
    child.stderr.close()
    # The command has the other end of this pipe: its end is the command's.
    check("a killed sbx takes its command with it", ready and child.stdout.read() == "")
    child.stdout.close()
    child.wait()


def main():
    with tempfile.TemporaryDirectory(prefix="sbx-service-") as directory:
        world = World(pathlib.Path(directory))
        refused = world.run("--service", "--", "true")
        check("without a service it is refused, and said how to start one",
              refused.returncode == 125 and "sbx serve" in refused.stderr and refused.stdout == "", refused)
        started = world.start()
        check("the service starts", started)
        if started:
            compare(world)
            signals(world)
            tty = world.run("--service", "--tty", "--", "true")
            check("--tty and --service exclude each other", tty.returncode == 125 and "--tty" in tty.stderr, tty)
        world.stop()
    print(f"1..{len(results)}")
    sys.exit(0 if all(results) else 1)


main()
