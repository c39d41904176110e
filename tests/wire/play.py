"""Plays the cases of the protocol against a service, and prints TAP.
usage: play.py ENDPOINT boxed|unboxed ACTOR [WORD]
ENDPOINT: socket (sbxd beside $SBX, on a socket of its own), stdio (`sbxd --stdio`; on Windows stdio=RELAY, `sbx.exe serve --stdio` behind pipes
of Windows), service=RELAY (sbx.exe as a service, on its named pipe), or relay=COMMAND (a program whose standard streams are a connection).
Unboxed, every run has both keys of a run without a box, and cases that need one are left out.
WORD: only cases whose name contains it.

A case is a function of cases_*.py. It has a connection that has said hello, and a directory of its own; at its end every run has
ended, and nothing of what the protocol promises was broken (client.py)."""

import inspect
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import traceback

import cases
import client
import endpoint
import transcripts

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "wine"))
import manager  # pylint: disable=wrong-import-position

SBX = os.environ["SBX"]
RUNNER = os.environ.get("SBX_RUNNER", "").split()
PLATFORM = os.environ["SBX_PLATFORM"]
WINDOWS = PLATFORM == "windows"


class World:
    """What all cases share: the service, the schema, the program that runs."""

    is_windows = WINDOWS

    def __init__(self, endpoint_text, is_boxed, actor):
        self.kind, _, self.program = endpoint_text.partition("=")
        self.is_boxed = is_boxed
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sbx-wire-"))
        self.log = open(self.folder / "log", "wb")
        # Copied once, before anything runs, and never written again: a file that is open for writing cannot be executed. A case has a
        # link to it in its own directory, which is what a box shows.
        self.programs = self.folder / "programs"
        self.programs.mkdir(mode=0o755)
        self.actor = self.programs / ("actor.exe" if WINDOWS else "actor")
        shutil.copy(actor, self.actor)
        self.actor.chmod(0o755)
        self.folder.chmod(0o755)
        home = self.folder / "home"
        home.mkdir()
        kept = ("PATH", "LANG", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "WINEPREFIX", "WINEDEBUG",
                "WINEDLLOVERRIDES", "WINESERVER", "XDG_RUNTIME_DIR")
        self.env = {name: os.environ[name] for name in kept if name in os.environ}
        self.env["HOME"] = os.environ["HOME"] if WINDOWS else str(home)
        printed = subprocess.run([*RUNNER, SBX, "schema", "rpc"], stdout=subprocess.PIPE, check=True, env=self.env,
                                 cwd=self.folder)
        self.definitions = json.loads(printed.stdout)["$defs"]
        self.service = self.open()

    def open(self):
        if self.kind == "socket":
            program = str(pathlib.Path(SBX).parent / "sbxd")
            return endpoint.Daemon(program, self.folder, self.env, self.log)
        if self.kind == "stdio":
            command = [self.program, SBX, "serve"] if WINDOWS else [str(pathlib.Path(SBX).parent / "sbxd")]
            return endpoint.Serve([*RUNNER, *command, "--stdio"], self.folder, self.env, self.log)
        if self.kind == "service":
            return endpoint.Installed(manager.Manager(RUNNER, SBX), [*RUNNER, self.program, manager.PIPE], self.folder,
                                      self.env, self.log)
        return endpoint.Serve([*RUNNER, *self.program.split(",")], self.folder, self.env, self.log)

    def native(self, path):
        return "Z:" + str(path).replace("/", "\\") if WINDOWS else str(path)

    def close(self):
        status = self.service.close()
        self.log.close()
        text = (self.folder / "log").read_text(errors="replace")
        shutil.rmtree(self.folder, onerror=make_writable)
        return status, text


def make_writable(function, path, _):
    os.chmod(path, stat.S_IRWXU)
    function(path)


class Case:
    """What a case function gets: c.ask, c.start, c.equal, …"""

    def __init__(self, world, row):
        self.world = world
        self.row = row
        self.failures = []
        self.checks = 0
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="case-", dir=world.folder))
        self.folder.chmod(0o755)
        self.actor = self.folder / world.actor.name
        os.link(world.actor, self.actor)
        self.clients = []
        self.client = self.connect(hello=row.hello)

    def connect(self, hello=True):
        """Another connection."""
        new = client.Client(self.world.service.connect(), self.world.definitions)
        self.clients.append(new)
        if hello:
            new.hello()
        return new

    # ---- checks ----

    def true(self, held, what):
        self.checks += 1
        if not held:
            place = inspect.stack()[1]
            self.failures.append(f"{place.function}:{place.lineno}: {what}")

    def equal(self, got, want, what="value"):
        self.checks += 1
        if got != want:
            place = inspect.stack()[1]
            self.failures.append(f"{place.function}:{place.lineno}: {what}: got {got!r:.300}, want {want!r:.300}")

    def refused(self, name, method, *, on=None, **params):
        """The request is answered with this error, which is returned."""
        self.checks += 1
        try:
            result = (on or self.client).ask(method, **params)
        except client.Refused as refusal:
            if refusal.name != name:
                self.failures.append(f"{method}: refused as {refusal}, want {name}")
            return refusal.error
        self.failures.append(f"{method}: answered {result!r:.200}, want {name}")
        return {"message": "", "data": {}}

    # ---- runs ----

    def members(self, argv, **more):
        """The members of run.start for the actor, with both keys when there is no box."""
        command = [self.world.native(self.actor), *(str(word) for word in argv)]
        members = {"argv": command, "cwd": self.world.native(self.folder), **more}
        if not self.world.is_boxed:
            members.update(sandbox="none", allowNoSandbox=True)
        return members

    def start(self, *argv, on=None, **more):
        on = on or self.client
        result = on.ask("run.start", **self.members(argv, **more))
        run = on.runs[result["run"]]
        run.answer = result
        return run

    def said(self, run, text, stream="stdout", on=None):
        """Waits until the stream has this much."""
        want = text if isinstance(text, bytes) else text.encode()
        (on or self.client).wait(lambda: want in run.bytes[stream] or run.result is not None, f"{want!r:.80} of {run.name}")
        self.true(want in run.bytes[stream], f"{run.name} said {run.bytes[stream]!r:.200} and not {want!r:.80}")

    def ended(self, run, on=None):
        """Waits for the end; the result."""
        (on or self.client).wait(lambda: run.result is not None, f"the end of {run.name}")
        return run.result

    def running(self):
        """Names of the runs that run.list says have not ended."""
        return [item["run"] for item in self.client.ask("run.list")["runs"] if item["state"] != "ended"]

    def exit_of(self, run, on=None):
        result = self.ended(run, on)
        return result["status"] if "status" in result else result

    def finish(self):
        for one in self.clients:
            self.failures += one.faults
            one.close()
        if not self.world.service.is_alive():
            self.failures.append(f"the service has ended: {self.world.service.close()}")
            self.world.service = self.world.open()  # the next case is none the worse for it
        if self.checks == 0:
            self.failures.append("the case checks nothing")


def play(world, row):
    case = None
    try:
        case = Case(world, row)
        row.function(case)
    except Exception as error:  # pylint: disable=broad-except
        place = [frame for frame in traceback.extract_tb(error.__traceback__) if "cases" in frame.filename]
        where = f"{place[-1].name}:{place[-1].lineno}: " if place else ""
        failure = f"{where}{type(error).__name__}: {error}"
        if case is None:
            return [failure]
        case.failures.append(failure)
    case.finish()
    return case.failures


def chosen(world):
    rows = cases.rows() + transcripts.rows()
    if WINDOWS and not world.is_boxed:
        return [row for row in (row.on_windows(world.kind) for row in rows) if row is not None]
    return [row for row in rows if row.fits(world.is_boxed, PLATFORM, world.kind)]


def main():
    place, boxed, actor = sys.argv[1:4]
    word = sys.argv[4] if len(sys.argv) > 4 else ""
    world = World(place, boxed == "boxed", actor)
    rows = [row for row in chosen(world) if word in row.text]
    print(f"# the protocol at {world.kind}, {boxed}\n1..{len(rows) + 1}")
    failed = False
    for number, row in enumerate(rows, 1):
        failures = play(world, row)
        failed = failed or bool(failures)
        for failure in failures[:10]:
            print(f"# {failure}")
        print(f"{'not ok' if failures else 'ok'} {number} - {row.text}", flush=True)
    status, log = world.close()
    if status != 0 or failed:
        print("".join(f"# service: {line}\n" for line in log.splitlines()[-30:]), end="")
    print(f"{'ok' if status == 0 else 'not ok'} {len(rows) + 1} - the service ends with status 0")
    sys.exit(1 if failed or status != 0 or not rows else 0)


if __name__ == "__main__":
    main()
