"""Cases that are more than one attempt of one process: what the scripts of this directory besides attacks.py share.

    @scenario("G04", "lifetime", "the command ignores SIGTERM", also="K3")
    def _(s):
        done = s.run("sh", "-c", "trap '' TERM; sleep 30", lines=['timeout = "300ms"'])
        s.t.equal(done.status, 124, done)

Each runs for every backend and user. What it needs of the outside, as a control, it does itself with `s.outside`."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

import box  # noqa: E402
import harness  # noqa: E402
from table import BACKENDS  # noqa: E402
from world import Identity, World, cgroups, left_cgroups, mounts, processes_of  # noqa: E402


@dataclasses.dataclass(frozen=True)
class Scenario:
    id: str
    kind: str
    what: str
    also: str
    expect: dict
    why: str


SCENARIOS = []


@dataclasses.dataclass
class Done:
    status: int
    out: str
    err: str
    outcome: dict
    seconds: float

    def __str__(self):
        return f"status {self.status} after {self.seconds:.2f} s\nstdout {self.out[-700:]!r}\nstderr {self.err[-1500:]}"


class Setting:
    """A world, and a way to run commands in it."""

    def __init__(self, t, backend, identity):
        self.t = t
        self.backend = backend
        self.identity = Identity(identity)
        self.world = World(box.host(), self.identity, box.PROBE)
        self.world.top.chmod(0o777)

    def environment(self, changes=None):
        found = {"PATH": os.environ["PATH"], "HOME": str(self.world.home), "SBX_SANDBOX": self.backend}
        found.update({name: os.environ[name] for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")
                      if name in os.environ})
        found.update(changes or {})
        return found

    def words(self, command, lines=(), options=(), files=None, shape=None):
        """The command line of sbx for this command. `lines` replace those of the manifest with the same key."""
        text = files if files is not None else box.manifest(self.world, self.backend, "main", "inherit", shape)
        keys = {line.split("=")[0].strip() for line in lines}
        kept = [line for line in text.splitlines() if line.split("=")[0].strip() not in keys]
        path = self.world.top / "box.toml"
        path.unlink(missing_ok=True)
        path.write_text("\n".join(kept[:1] + list(lines) + kept[1:]) + "\n")
        self.identity.own(path)
        self.result = self.world.top / "outcome.json"
        self.result.unlink(missing_ok=True)
        return [str(word) for word in (box.stage(), "run", "--result", self.result, "-f", path, *options, "--",
                                       *command)]

    def start(self, *command, lines=(), options=(), files=None, shape=None, env=None, **popen):
        popen = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                 "cwd": self.world.work, **self.identity.options, **popen}
        child = subprocess.Popen(self.words(command, lines, options, files, shape), env=self.environment(env), **popen)
        for stream in (child.stdout, child.stderr):
            if stream and self.identity.options:  # a pipe of its own can be opened again by its name
                os.fchown(stream.fileno(), self.identity.uid, self.identity.uid)
        return child

    def finish(self, child, seconds=30):
        began = time.monotonic()
        try:
            out, err = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
            err = (err or b"") + b"\n(the test ended it)"
        try:
            outcome = json.loads(self.result.read_text())
        except (OSError, ValueError):
            outcome = {}
        return Done(child.returncode, (out or b"").decode("utf-8", "replace"), (err or b"").decode("utf-8", "replace"),
                    outcome, time.monotonic() - began)

    def run(self, *command, seconds=30, **options):
        return self.finish(self.start(*command, **options), seconds)

    def probes(self, ids, **options):
        """The answers of probes in one box, and how it ended."""
        names = {**self.world.names, "launcher": "parent" if self.backend == "landlock" else "1", "scratch": "/tmp"}
        done = self.run(*box.probe_words(names, ids), **options)
        return box.parse(done.out, ids), done

    def outside(self, *command, **popen):
        """The same without a box: a Popen."""
        popen = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                 "cwd": self.world.work, **self.identity.options, **popen}
        return subprocess.Popen([str(word) for word in command], env=self.environment(), **popen)

    def left(self, seconds=1.0):
        """Processes of this world that are still there after this time."""
        end = time.monotonic() + seconds
        while True:
            found = processes_of(self.world.top, (self.world.bystander.pid,))
            if not found or time.monotonic() > end:
                return found
            time.sleep(0.02)

    def nothing_left(self, what=""):
        self.t.equal(self.left(), [], what)

    def close(self):
        for line in processes_of(self.world.top, (self.world.bystander.pid,)):
            try:
                os.kill(int(line.split(":")[0]), 9)  # they name this world's own directory: nobody else's
            except OSError:
                pass
        self.world.close()


def scenario(name, kind, what, also="", only=BACKENDS, expect="stop", landlock=None, why=""):
    """Registers a case. On a backend that is not in `only`, the manifest is one that it refuses."""
    def register(function):
        wanted = {backend: (landlock or expect) if backend == "landlock" else expect for backend in BACKENDS}
        for backend in set(BACKENDS) - set(only):
            wanted[backend] = "refused"
        SCENARIOS.append(Scenario(name, kind, what, also, wanted, why))
        for backend in only:
            for identity in ("root", "user"):
                harness.promise(f"{name} {what} ({backend}, {identity})")(bound(function, backend, identity))
        return function
    return register


def bound(function, backend, identity):
    def run(t):
        missing = box.unusable(backend, identity)
        if missing:
            t.skip(*missing)
        before, groups = mounts(), cgroups()
        setting = Setting(t, backend, identity)
        try:
            function(setting)
        finally:
            setting.close()
        t.equal((mounts(), left_cgroups(groups)), (before, []), "mounts and cgroups are as before")
    return run


def main():
    try:
        harness.main()
    finally:
        box.finish()
