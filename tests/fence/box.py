"""Runs probes outside and inside real boxes, many at a time, and keeps their answers."""

import dataclasses
import functools
import json
import os
import pathlib
import pty
import re
import shutil
import socket
import subprocess
import tempfile
import threading

from table import CASES
from world import Host, Identity, World, cgroups, dangerous, differences, fingerprint, left_cgroups, \
    mounts, processes_of, remove

PROBE = os.environ["SBX_PROBE"]
SECONDS = 90
# The caller's environment, which no box may see; sbx itself must not trip over it either.
HOSTILE = {"PLANTED": "planted:variable", "LD_LIBRARY_PATH": "/nonexistent", "BASH_ENV": "/nonexistent",
           "NODE_OPTIONS": "--no-deprecation", "SSH_AUTH_SOCK": "/nonexistent", "GIT_ASKPASS": "/nonexistent"}
# sbx's own: what it found out about this machine.
STATE = (".local/state/sbx", ".local/state/sbx/.", ".local/state/sbx/bwrap-probe",
         ".local/state/sbx/native-probe", ".local/state/sbx/names")
PUBLIC = 'ip link set lo up; ip addr add 192.0.2.1/32 dev lo; exec "$@"'
PRIVATE_ETC = 'mount --bind "$0" /etc/ssh && exec "$@"'


@dataclasses.dataclass
class Answers:
    """What a run of probes said: {id: (word, detail)}, and how it ended."""
    by_id: dict
    status: int
    out: str
    err: str
    outcome: dict
    signals: int
    harm: dict


# On a terminal an answer may stand behind an echo.
ANSWER = re.compile(r"(?:^|[^A-Za-z0-9])(\w+) (DONE|DENIED|ABSENT|ERROR)(?: (.*))?$")


def parse(text, ids):
    found = {}
    for line in text.splitlines():
        match = ANSWER.search(line.strip())
        if match and match.group(1) in ids:
            found[match.group(1)] = (match.group(2), match.group(3) or "")
    return found


@functools.lru_cache(None)
def host():
    return Host()


@functools.lru_cache(None)
def stage():
    """sbx and what it starts, where every user can reach them."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="sbx-fence-programs-"))
    place.chmod(0o755)
    built = pathlib.Path(os.environ["SBX"])
    more = [pathlib.Path(os.environ[name]) for name in ("SBX_POOL_DRIVER",) if name in os.environ]
    for program in {built, *more, *built.parent.glob("sbx-*"), *built.parent.glob("sbx_*")}:
        if program.is_file() and os.access(program, os.X_OK):
            shutil.copy(program, place)
    return place / built.name


def finish():
    if stage.cache_info().currsize:
        remove(stage().parent)
    if host.cache_info().currsize:
        host().close()


class Terminal:
    """A pseudo-terminal for the three streams, and a second one that lies around."""

    def __init__(self, identity):
        self.master, self.slave = pty.openpty()
        self.other_master, self.other_slave = pty.openpty()
        self.other = os.ttyname(self.other_slave)
        identity.own(os.ttyname(self.slave), self.other)
        self.text = b""
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        while True:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return
            if not data:
                return
            self.text += data

    def close(self):
        os.close(self.slave)
        self.reader.join(5)
        for fd in (self.master, self.other_master, self.other_slave):
            os.close(fd)
        return self.text.decode("utf-8", "replace")


def start(world, command, environment, box="main", names=None, seconds=SECONDS):
    """Runs a command as the world's attacker, with descriptors, a keyring and perhaps a terminal it should not
    pass on. `command` is a function of the places. Returns (status, out, err)."""
    identity = world.identity
    names = {**world.names, **(names or {})}
    options = dict(identity.options)
    terminal = Terminal(identity) if box == "terminal" else None
    with open(world.outside / "secret", "rb") as file, \
            socket.create_connection(("127.0.0.1", host().names["tcp"])) as connection:
        directory = os.open(world.outside, os.O_RDONLY | os.O_DIRECTORY)
        names.update(fdfile=file.fileno(), fddir=directory, fdsocket=connection.fileno())
        words = [world.probe, "--keyed", "sbx-fence"]
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        if terminal:
            names["pty"] = terminal.other
            words += [world.probe, "--terminal"]
            streams = {"stdin": terminal.slave, "stdout": terminal.slave, "stderr": subprocess.PIPE}
        if box == "group":
            options["process_group"] = world.bystander.pid
        if box == "etc":
            words, options = private_etc(world) + words, {}
        try:
            done = subprocess.run([*map(str, words), *map(str, command(names))], env=environment,
                                  cwd=world.outside if box == "cwd" else world.work,
                                  pass_fds=(file.fileno(), directory, connection.fileno()), timeout=seconds,
                                  check=False, **streams, **options)
        finally:
            os.close(directory)
            text = terminal.close() if terminal else None
    out = text if terminal else done.stdout.decode("utf-8", "replace")
    return done.returncode, out, done.stderr.decode("utf-8", "replace")


def private_etc(world):
    """A prefix that shows an /etc/ssh with a host key in it; needs root."""
    place = world.top / "etc-ssh"
    place.mkdir(exist_ok=True)
    key = place / "ssh_host_test_key"
    key.write_bytes(b"planted:key\n")
    world.identity.own(key)
    words = ["unshare", "-m", "--propagation", "private", "sh", "-c", PRIVATE_ETC, str(place)]
    if world.identity.options:
        uid = str(world.identity.uid)
        words += ["setpriv", "--reuid", uid, "--regid", uid, "--clear-groups"]
    return words


def probe_words(names, ids):
    return [names["tools"] / "sbx-probe", *(f"{name}={value}" for name, value in names.items()), *ids]


# ---- outside ----

GROUNDS = ("plain", "space", "fresh", "root", "user", "etc")


def ground_identity(ground, identity):
    if ground == "root":
        return Identity("root")
    if ground == "user":
        return Identity("user")
    return identity


def ground_prefix(ground, identity):
    if ground not in ("space", "fresh"):
        return []
    flags = ([] if identity.uid == 0 else ["-U", "-r"]) + ["-m", "-n", "-u"]
    flags += ["-i", "-p", "-f"] if ground == "fresh" else []
    return ["unshare", *flags, "--propagation", "private", "sh", "-c", PUBLIC, "sh"]


def outside(ground, box, ids, identity):
    """The answers of these probes without a box."""
    who = ground_identity(ground, identity)
    if who.missing() or (ground == "etc" and os.geteuid() != 0):
        return {}
    world = World(host(), who, PROBE)
    try:
        places = {"launcher": world.bystander.pid, "scratch": world.scratch}
        if ground != "user":
            places["notall"] = "1"
        _, out, _ = start(world, lambda names: [*ground_prefix(ground, who), *probe_words(names, ids)],
                          {**HOSTILE, "PATH": os.environ["PATH"]}, "etc" if ground == "etc" else box, places)
        answers = parse(out, ids)
        # That one says only that the signal was sent.
        for name in {"G01", "G02"} & answers.keys():
            if answers[name][0] == "DONE" and world.got_signals() == 0:
                answers[name] = ("ABSENT", "the host process got nothing")
        return answers
    finally:
        world.close()


@functools.lru_cache(None)
def shown(identity_name):
    """{case id: ground on which it works}, and {case id: what the grounds answered}."""
    identity = Identity(identity_name)
    works, tried = {}, {}
    for ground in GROUNDS:
        boxes = {}
        for case in CASES.values():
            if ground in case.grounds and case.id not in works:
                boxes.setdefault("main" if case.box not in ("terminal", "group", "cwd") else case.box, []).append(case)
        for box, cases in boxes.items():
            # One at a time where a signal must be told from another.
            batches = [[case] for case in cases] if box == "group" else [cases]
            for batch in batches:
                answers = outside(ground, box, sorted({case.probe for case in batch}), identity)
                for case in batch:
                    answer = answers.get(case.probe, ("ERROR", "no answer"))
                    tried.setdefault(case.id, []).append(f"{ground}: {' '.join(answer)}")
                    if answer[0] == "DONE":
                        works[case.id] = ground
    return works, tried


# ---- inside ----

def text(value):
    return json.dumps(str(value))


def manifest(world, backend, box, policy, shape=None):
    """The manifest of a box. `shape` adds what a backend may not be able to hold."""
    files = {world.ro / "denied": "none"}
    lines = ['network = "inherit"' if box == "inherit" else 'network = "deny"', f'syscall_policy = "{policy}"',
             'timeout = "60s"', f"fs_read_allow = [{text(world.tools)}, {text(world.ro)}]",
             f"fs_write_allow = [{text(world.work)}, {text(world.work2)}]", 'env = [["PATH", "/usr/bin:/bin"]]']
    full = backend != "landlock"
    if full or shape == "carve":
        files[world.work / "secrets"] = "none"
    if full or shape == "glob":
        files[f"{world.work}/**/*.env"] = "none"
    if box == "absent" or shape == "absent":
        files[world.work / "absent/protected.txt"] = "read"
    if not full and shape not in ("protect", "commit"):
        lines.append("protect = []")
    if box == "commit" or shape == "commit":
        lines.append('git = "commit"')
    if box == "memory":
        lines.append('max_memory_bytes = "128MiB"')
    if box == "processes":
        lines.append("max_processes = 64")
    entries = ", ".join(f'{text(path)} = "{access}"' for path, access in files.items())
    return "\n".join(["[sandbox]", *lines, f"filesystem = {{ {entries} }}", ""])


def launch(result, path):
    """The words that run a command in a box."""
    return [stage(), "run", "--result", result, "-f", path, "--"]


def run_box(world, backend, box, policy, ids, shape=None):
    """One real box with these probes in it."""
    path = world.top / "box.toml"
    path.write_text(manifest(world, backend, box, policy, shape))
    world.identity.own(path)
    result = world.top / "outcome.json"
    environment = {**HOSTILE, "PATH": os.environ["PATH"], "HOME": str(world.home), "SBX_SANDBOX": backend}
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
        if name in os.environ:
            environment[name] = os.environ[name]
    world.top.chmod(0o777)  # for the outcome
    before = {"ro": fingerprint(world.ro), "outside": fingerprint(world.outside, ("linked",)),
              "home": fingerprint(world.home, STATE), "mounts": mounts(), "cgroups": cgroups()}
    places = {"launcher": "parent" if backend == "landlock" else "1",
              # Without mounts there is a private TMPDIR in place of a private /tmp.
              "scratch": "$TMPDIR" if backend == "landlock" else "/tmp"}
    status, out, err = start(
        world, lambda names: [*launch(result, path), *probe_words(names, ids)], environment, box, places)
    try:
        outcome = json.loads(result.read_text())
    except (OSError, ValueError):
        outcome = {}
    return Answers(parse(out, ids), status, out, err, outcome, world.got_signals(), harm(world, before))


def harm(world, before):
    """{promise: what speaks against it}, looked at from outside after the run."""
    found = {f"nothing in {name} changed": differences(before[name], fingerprint(getattr(world, name), skip))
             for name, skip in (("ro", ()), ("outside", ("linked",)), ("home", STATE))}
    found["no set-user-ID file, device or capability is left"] = dangerous(world.work) + dangerous(world.work2)
    found["no process is left"] = processes_of(world.top, (world.bystander.pid,))
    found["no mount is left"] = sorted(set(mounts()) ^ set(before["mounts"]))
    found["no cgroup is left"] = left_cgroups(before["cgroups"])
    found["no host process was signalled"] = [f"{world.got_signals()} signals"] if world.got_signals() else []
    return found


@functools.lru_cache(None)
def inside(backend, identity_name, box, policy, only=None):
    """The answers of all cases of this box (or of one)."""
    world = World(host(), Identity(identity_name), PROBE)
    try:
        ids = [only] if only else sorted({case.probe for case in CASES.values() if case.box == box and
                                          case.expect[backend, identity_name] != "refused"})
        return run_box(world, backend, box, policy, ids)
    finally:
        world.close()


@functools.lru_cache(None)
def refusal(backend, identity_name, shape):
    """What sbx says to a manifest that this backend cannot hold."""
    world = World(host(), Identity(identity_name), PROBE)
    try:
        return run_box(world, backend, "main", "inherit", ["B01"], shape)
    finally:
        world.close()


@functools.lru_cache(None)
def unusable(backend, identity_name):
    """Why there is no such box here, or None."""
    missing = Identity(identity_name).missing()
    if missing:
        return "root", missing
    world = World(host(), Identity(identity_name), PROBE)
    try:
        answers = run_box(world, backend, "probe", "inherit", ["V01"])
    finally:
        world.close()
    if answers.status == 125 and "backend-missing" in answers.err:
        return backend, " ".join(answers.err.split())[:300]
    return None
