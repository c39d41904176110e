"""Real boxes on Linux, as root and as an ordinary user: what the scripts of this directory share.

    @each("a shell works")
    def _(box):
        done = box.run("sh", "-c", "echo hello")
        box.t.equal((done.status, done.out), (0, "hello\\n"), done)

    main()

Each promise is two cases: by root, and by a user that exists nowhere else on the machine, so that every
process of that user is one of the case."""

import ctypes
import functools
import json
import os
import pathlib
import pwd
import shutil
import stat
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

from harness import main, promise, toml  # noqa: E402,F401 (for the scripts)

LINUX = ("linux",)
FIRST_UID, LAST_UID = 61200, 64900
# Where nobody else's directory is on the way.
NO_MATTER = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
CGROUPS = "/sys/fs/cgroup"
LEFT_SECONDS = 1.0
PR_SET_CHILD_SUBREAPER = 36


@functools.lru_cache(None)
def unused_uid():
    """A number that is no account's and no process'."""
    taken = {entry.pw_uid for entry in pwd.getpwall()}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            taken.add(entry.stat().st_uid)
        except OSError:
            pass
    start = FIRST_UID + os.getpid() % (LAST_UID - FIRST_UID)
    return next(uid for uid in (*range(start, LAST_UID), *range(FIRST_UID, start)) if uid not in taken)


def is_open_to_all(path):
    """Whether any user can reach what is in the directory."""
    path = pathlib.Path(os.path.realpath(path))
    try:
        return all(step.stat().st_mode & 0o001 for step in (path, *path.parents))
    except OSError:
        return False


# Who builds the boxes of these scripts.
BACKEND = os.environ.get("SBX_BOX_BACKEND", "native")
SEARCHED = os.pathsep.join(entry for entry in os.environ["PATH"].split(os.pathsep) if is_open_to_all(entry))


def listing(*tops):
    """{path: what it is} of whole trees: names, types, modes, owners, sizes, contents' times, links."""
    found = {}

    def look(path):
        info = os.lstat(path)
        size = None if stat.S_ISDIR(info.st_mode) else info.st_size
        link = os.readlink(path) if stat.S_ISLNK(info.st_mode) else None
        found[str(path)] = (oct(info.st_mode), info.st_uid, info.st_gid, size, info.st_mtime_ns, info.st_nlink, link)

    for top in tops:
        look(top)
        for where, names, files in os.walk(top):
            for name in (*names, *files):
                look(os.path.join(where, name))
    return found


def differences(before, after):
    """What appeared, went or changed between two listings, as lines."""
    return [f"{path}: {before.get(path)} -> {after.get(path)}" for path in sorted({*before, *after})
            if before.get(path) != after.get(path)]


def adopt(held=True):
    """From now on an orphan of ours is our child, so that what a box leaves is found among our descendants."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(held), 0, 0, 0)


def parents():
    """{process: its parent}, of the living."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as stream:
                    fields = stream.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if fields[0] not in "ZX":
                found[int(entry)] = int(fields[1])
    return found


def descendants():
    """{process: its words}, of all below this one."""
    table = parents()
    found, turn = {}, [os.getpid()]
    while turn:
        above = turn.pop()
        for pid in (pid for pid, parent in table.items() if parent == above):
            turn.append(pid)
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as stream:
                    found[pid] = stream.read(200).replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                pass
    return found


def reap():
    """Takes in orphans that ended. Not while a child of the case's own is waited for."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass


def command_lines():
    """{process: its words} of every process that can be looked at."""
    found = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            found[int(entry.name)] = words or f"[{(entry / 'comm').read_text().strip()}]"
        except OSError:
            pass
    return found


def owner_of(pid):
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None


def state_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return None


def groups():
    """Control groups of boxes."""
    return {os.path.join(where, name) for where, names, _ in os.walk(CGROUPS) for name in names
            if name.startswith("sbx-")}


def ownerless_groups():
    """Those whose sbx is dead; others may belong to tests that run beside this one."""
    return {path for path in groups() if not os.path.exists(f"/proc/{os.path.basename(path).split('-')[1]}")}


def wait_until(held, seconds):
    """The first true answer, or the last one when the time is over."""
    end = time.monotonic() + seconds
    while True:
        answer = held()
        if answer or time.monotonic() > end:
            return answer
        time.sleep(0.02)


class Box:
    """A place to work in and a user to run sbx as."""

    def __init__(self, t, identity):
        self.t = t
        self.identity = identity
        self.project = t.project
        self.home = t.home
        self.path = SEARCHED
        self.env = {"SBX_SANDBOX": BACKEND, "PATH": SEARCHED, **NO_MATTER}
        if identity == "root" and os.geteuid() != 0:
            t.skip("root", "needs root")
        self.uid = unused_uid() if identity == "user" and os.geteuid() == 0 else os.geteuid()
        self.options = {}
        if self.uid != os.geteuid():
            self.options = {"user": self.uid, "group": self.uid, "extra_groups": []}
            self.own(t.home)
        if BACKEND == "bwrap" and shutil.which("bwrap", path=SEARCHED) is None:
            t.skip("bwrap", "bwrap is not installed")

    def own(self, *paths):
        """Gives files, and what is in directories, to the user."""
        for top in paths:
            os.lchown(top, self.uid, self.uid)
            for where, names, files in os.walk(top):
                for name in (*names, *files):
                    os.lchown(os.path.join(where, name), self.uid, self.uid)

    def has(self, *programs):
        """Ends the case when one of them cannot be run by everybody."""
        for name in programs:
            if shutil.which(name, path=SEARCHED) is None:
                self.t.skip(name, f"{name} is not installed where every user can run it")

    # ---- running ----

    def run(self, *command, options=("--strict",), env=None, sbx_env=None, **more):
        """Runs a command in a box whose environment has PATH, HOME (the private /tmp) and `env`."""
        pairs = {"HOME": "/tmp", **NO_MATTER, **(env or {})}
        words = [word for pair in pairs.items() for word in ("-e", "=".join(pair))]
        return self.sbx("run", *options, "-E", "PATH", *words, "--", *command, env=sbx_env, **more)

    def sh(self, script, **more):
        return self.run("sh", "-c", script, **more)

    def sbx(self, *words, env=None, **more):
        return self.t.run(*words, env={**self.env, **(env or {})}, **{**self.options, **more})

    def start(self, *words, env=None, **more):
        return self.t.start(*words, env={**self.env, **(env or {})}, **{**self.options, **more})

    def outside(self, *command, cwd=None, env=None, check=True):
        """The same command without a box, by the same user: (status, stdout and stderr)."""
        done = subprocess.run(command, cwd=cwd or self.project, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="surrogateescape", timeout=60, check=False,
                              env={"PATH": SEARCHED, "HOME": str(self.home), **NO_MATTER, **(env or {})}, **self.options)
        if check and done.returncode != 0:
            raise RuntimeError(f"{command}: {done.returncode}: {done.stdout}")
        return done.returncode, done.stdout

    # ---- files ----

    def write(self, name, text="", mode=None, below=None):
        """A file of the user; its directories are made."""
        path = pathlib.Path(below or self.project) / name
        missing = [step for step in path.parents if not step.exists()]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        if mode is not None:
            path.chmod(mode)
        for made in (path, *missing):
            os.lchown(made, self.uid, self.uid)
        return path

    def mkdir(self, *names, below=None):
        for name in names:
            path = pathlib.Path(below or self.project) / name
            missing = [step for step in (path, *path.parents) if not step.exists()]
            path.mkdir(parents=True, exist_ok=True)
            for made in missing:
                os.lchown(made, self.uid, self.uid)
        return path

    def outcome(self, done):
        return self.t.outcome(done)

    def processes(self):
        """What is alive and belongs to this case: its user's, or what names its directory."""
        mark = str(self.t.directory)
        return {pid: words for pid, words in command_lines().items()
                if pid != os.getpid() and state_of(pid) not in (None, "Z", "X")
                and (mark in words or (self.options and owner_of(pid) == self.uid))}

    def nothing_runs(self, what="", seconds=LEFT_SECONDS):
        left = wait_until(lambda: not self.processes(), seconds)
        self.t.true(left, f"{what}\nleft: {self.processes()}")

    def watch(self):
        return Host(self)


class Host:
    """What a box could leave on the machine, before and after."""

    def __init__(self, box):
        self.box = box
        self.mounts = self._mounts()
        self.groups = ownerless_groups()
        adopt()

    @staticmethod
    def _mounts():
        return pathlib.Path("/proc/self/mountinfo").read_text().splitlines()

    @staticmethod
    def _processes():
        reap()
        return descendants()

    def unchanged(self, what="", seconds=LEFT_SECONDS):
        """No process, no mount, no group more than before."""
        t = self.box.t
        left = ownerless_groups() - self.groups

        def is_clean():
            left.intersection_update(ownerless_groups())
            return not left and not self._processes()
        wait_until(is_clean, seconds)
        t.equal(self._processes(), {}, what)
        t.equal(left, set(), what)
        t.equal(set(self._mounts()) - set(self.mounts), set(), what)


def each(text, identities=("root", "user")):
    """Registers a case per user."""
    def register(function):
        for identity in identities:
            promise(f"{text} ({identity})", on=LINUX)(
                lambda t, identity=identity: function(Box(t, identity)))
        return function
    return register


def entries(table):
    """The lines of [sandbox.filesystem]."""
    return "[sandbox.filesystem]\n" + "".join(f"{toml(path)} = {json.dumps(access)}\n" for path, access in table)
