"""Nothing runs before it is proven: a bwrap that leaves out or changes one thing, and what sbx says to it.

Each sabotage is tried as root and as an ordinary user. It must end with 125 and the item that shows it, the
command must not have run, and no process may be left. What a sabotage cannot change, because another layer
does the same, is here too: then the command runs and every item is as planned."""

import ctypes
import json
import os
import pathlib
import shutil
import signal
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))

from harness import SBX, main, promise  # noqa: E402

NOBODY = 65534
SET_CHILD_SUBREAPER = 36
BWRAP = shutil.which("bwrap", path="/usr/bin:/bin:/usr/local/bin")
PYTHON = shutil.which("python3", path="/usr/bin:/bin:/usr/local/bin") or sys.executable
ALL = ("ipc", "pid", "net", "uts", "cgroup")


class World:
    """One caller's directories: a home, a project, a shim in front of PATH."""

    def __init__(self, base, name, uid):
        self.name, self.uid = name, uid
        self.directory = pathlib.Path(base) / name
        self.home = self.directory / "home"
        self.project = self.home / "project"
        self.other = self.home / "other"
        self.granted = self.home / "granted"
        self.hidden = self.project / "hidden"
        self.shim = self.directory / "bin"
        for path in (self.project / "sub", self.other, self.granted, self.hidden, self.shim):
            path.mkdir(parents=True)
        (self.hidden / "secret").write_text("secret")
        (self.other / "canary").write_text("other")
        source = pathlib.Path(__file__).with_name("shim.py").read_text(encoding="utf-8")
        (self.shim / "bwrap").write_text(f"#!{PYTHON} -IB\n{source}", encoding="utf-8")
        (self.shim / "bwrap").chmod(0o755)
        self.sbx = self.directory / "sbx"
        shutil.copy(SBX, self.sbx)
        self.sbx.chmod(0o755)
        self.tell([])
        for root, names, files in os.walk(self.directory):
            for path in (root, *(os.path.join(root, entry) for entry in (*names, *files))):
                os.chown(path, uid, uid)

    def tell(self, edits):
        """For the next run; the shim itself stays the same, and so what sbx knows about it."""
        (self.shim / "sabotage.json").write_text(json.dumps({"bwrap": BWRAP, "edits": edits}))

    def prefix(self):
        if self.uid == os.getuid():
            return ()
        return ("setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups", "--")

    def fill(self, edits):
        """"{project}" and the like in an edit."""
        if isinstance(edits, list):
            return [self.fill(edit) for edit in edits]
        return edits.format(**vars(self)) if isinstance(edits, str) else edits


def worlds():
    base = os.path.realpath(tempfile.mkdtemp(prefix="sbx-box-"))
    os.chmod(base, 0o755)
    made = [World(base, "caller", os.getuid())]
    if os.getuid() == 0 and shutil.which("setpriv"):
        made.append(World(base, "nobody", NOBODY))
    return base, made


def run(t, world, edits, *options, **more):
    """(Done, the outcome as JSON, the evidence by name)"""
    for canary in (world.project / "canary", world.directory / "result"):
        canary.unlink(missing_ok=True)
    world.tell(world.fill(edits))
    result = world.project / "result"
    result.unlink(missing_ok=True)
    done = t.run("run", "--no-manifest", "-r", world.granted, "--fs", f"{world.hidden}=none",
                 "--evidence", "--result", result, *world.fill(list(options)), "--", "/bin/sh", "-c",
                 "echo ran; env; : > canary", prefix=world.prefix(), cwd=world.project,
                 program=world.sbx,
                 env={"HOME": str(world.home), "PATH": f"{world.shim}:/usr/bin:/bin", "SBX_SANDBOX": "bwrap"}, **more)
    outcome = t.json(result.read_text(encoding="utf-8") if result.exists() else "", done)
    return done, outcome, {row["what"]: row for row in outcome.get("evidence", [])}


def nothing_left(t, done):
    """Orphans come to this process: it is a subreaper."""
    try:
        pid, _ = os.waitpid(-1, os.WNOHANG)
        t.equal(pid, None, f"a process was left: {done}")
    except ChildProcessError:
        t.true(True)


def refused(t, world, edits, items, options):
    done, outcome, evidence = run(t, world, edits, *options)
    t.equal(done.status, 125, done)
    t.equal(done.out, "", done)
    t.true(not (world.project / "canary").exists(), f"the command ran: {done}")
    t.equal((outcome.get("error") or {}).get("code"), "verify", done)
    t.equal(outcome.get("started"), False, done)
    bad = [what for what, row in evidence.items() if not row["ok"]]
    for item in world.fill(list(items)):
        t.has(bad, item, done)
        t.has(done.err, item, "in the text")
    t.true(bad and f"verification-failed: {bad[0]} should be" in done.err, done)
    t.has(done.err, "BAD", done)
    nothing_left(t, done)


def stopped(t, world, edits, words, options):
    """It does not come to the evidence."""
    done, outcome, _ = run(t, world, edits, *options)
    t.equal(done.status, 125, done)
    t.equal(done.out, "", done)
    t.true(not (world.project / "canary").exists(), f"the command ran: {done}")
    t.equal(outcome.get("started"), False, done)
    t.has(done.err, words, done)
    nothing_left(t, done)


def unchanged(t, world, edits, items, options, **more):
    done, _, evidence = run(t, world, edits, *options, **more)
    t.equal(done.status, 0, done)
    t.has(done.out, "ran", done)
    t.true((world.project / "canary").exists(), done)
    t.lacks(done.out, "SABOTAGE", done)
    t.equal([what for what, row in evidence.items() if not row["ok"]], [], done)
    for item in items:
        t.has(evidence, item, done)
    nothing_left(t, done)


def try_in(text, how, edits, expected, options=(), only=None):
    """Registers a sabotage for every caller."""
    for world in WORLDS:
        if only is None or only == ("root" if world.uid == 0 else "user"):
            def case(t, world=world):
                how(t, world, edits, expected, options)
            promise(f"{text} ({'root' if world.uid == 0 else 'a user'})", on=("linux",))(case)


def main_path(path):
    return [None, None, path]


BASE, WORLDS = worlds()

# ---- positive controls ----

try_in("a bwrap that changes nothing is let through", unchanged, [], ["user-namespaces", "init.plan"])
try_in("a private root that nobody changed is let through", unchanged, [], ["link./bin"],
       ("-p", "strict", "-w", "{project}"))

# ---- what another layer does too ----

try_in("a session of its own is the box's without --new-session", unchanged,
       [["drop", ["--new-session"]]], ["held.session"])
try_in("without --die-with-parent everything else is the same; sbx-init asks for its end itself", unchanged,
       [["drop", ["--die-with-parent"]]], ["init.program"])
try_in("bwrap's environment does not reach the command", unchanged,
       [["drop", ["--clearenv"]], ["append", [["--setenv", "SABOTAGE", "1"]]]], ["environment"])
try_in("a descriptor that bwrap leaves open does not reach the command", unchanged,
       [["descriptor", "/etc/passwd", 77]], ["descriptors"])

# ---- namespaces, identity, capabilities ----

try_in("a shared network is seen", refused, [["append", [["--share-net"]]]], ["namespace.net"])
for left in ("ipc", "net", "uts", "cgroup"):
    try_in(f"a box without its own {left} namespace is seen", refused,
           [["replace", ["--unshare-all"], [[f"--unshare-{name}"] for name in ALL if name != left]],
            *([["drop", ["--hostname"]]] if left == "uts" else [])],
           [f"namespace.{left}"])
try_in("a box without its own process namespace does not start", stopped,
       [["replace", ["--unshare-all"], [[f"--unshare-{name}"] for name in ALL if name != "pid"]],
        ["drop", ["--as-pid-1"]]], "sbx-init cannot harden itself")
try_in("a box without a user namespace is seen", refused,
       [["replace", ["--unshare-all"], [[f"--unshare-{name}"] for name in ALL]],
        ["drop", ["--unshare-user"]], ["drop", ["--disable-userns"]]],
       ["namespace.user", "uid_map", "gid_map"], only="root")
try_in("user namespaces that can be nested are seen", refused, [["drop", ["--disable-userns"]]],
       ["user-namespaces"])
try_in("capabilities that were not dropped are seen", refused, [["drop", ["--cap-drop"]]],
       ["CapPrm", "CapEff", "CapBnd", "init.CapEff"], only="root")
try_in("capabilities that were added are seen", refused, [["append", [["--cap-add", "ALL"]]]],
       ["CapPrm", "CapEff", "CapBnd", "init.CapEff"])
try_in("another user is seen", refused, [["append", [["--uid", "4242"]]]], ["uid_map"])
try_in("another group is seen", refused, [["append", [["--gid", "4242"]]]], ["gid_map"])

# ---- mounts ----

try_in("a writable root is seen", refused,
       [["replace", main_path("/"), [["--bind", "/", "/"]]]], ["mount./"])
try_in("a writable path that should only be read is seen", refused,
       [["replace", main_path("{granted}"), [["--bind", "{granted}", "{granted}"]]]],
       ["mount.{granted}"])
try_in("another directory in place of the granted one is seen", refused,
       [["replace", main_path("{project}"), [["--bind", "{other}", "{project}"]]]],
       ["mount.{project}"])
try_in("another directory over the granted one is seen", refused,
       [["append", [["--bind", "{other}", "{project}"]]]], ["mount.{project}"])
try_in("a grant that is left out is seen", refused, [["drop", main_path("{granted}")]],
       ["mount.{granted}"])
try_in("a mask that is left out is seen", refused,
       [["drop", ["--tmpfs", "{hidden}"]], ["drop", ["--remount-ro", "{hidden}"]]], ["mount.{hidden}"])
try_in("a mask that can be entered is seen", refused,
       [["replace", ["--tmpfs", "{hidden}"], [["--tmpfs", "{hidden}", "0755", "4096"]]]],
       ["mount.{hidden}"])
try_in("a mask that stays writable is seen", refused, [["drop", ["--remount-ro", "{hidden}"]]],
       ["mount.{hidden}"])
try_in("a mask that shows the directory is seen", refused,
       [["replace", ["--tmpfs", "{hidden}"], [["--ro-bind", "{hidden}", "{hidden}"]]],
        ["drop", ["--remount-ro", "{hidden}"]]], ["mount.{hidden}"])
try_in("a mask that shows a file system of the host is seen", refused,
       [["replace", ["--tmpfs", "{hidden}"], [["--ro-bind", "/dev/shm", "{hidden}"]]],
        ["drop", ["--remount-ro", "{hidden}"]]], ["mount.{hidden}"])
try_in("a file that is not masked is seen", refused,
       [["drop", ["--ro-bind", "/dev/null", "/etc/shadow"]]], ["mount./etc/shadow"])
try_in("a mask that shows the file is seen", refused,
       [["replace", ["--ro-bind", "/dev/null", "/etc/shadow"],
         [["--ro-bind", "/etc/shadow", "/etc/shadow"]]]], ["mount./etc/shadow"])
try_in("a private directory that is the host's is seen", refused,
       [["replace", ["--tmpfs", "/dev/shm"], [["--bind", "/dev/shm", "/dev/shm"]]]], ["mount./dev/shm"])
try_in("a private directory without the limit is seen", refused,
       [["replace", ["--tmpfs", "/tmp"], [["--tmpfs", "/tmp", "1777"]]]], ["mount./tmp"])
try_in("a private directory with another mode is seen", refused,
       [["replace", ["--tmpfs", "/tmp"], [["--tmpfs", "/tmp", "0777", "536870912"]]]], ["mount./tmp"])
try_in("a grant that something hides is seen", refused,
       [["move", main_path("{granted}"), ["--tmpfs", "/tmp"]]], ["mount.{granted}", "mounts.order"])
try_in("a private directory over a granted one is seen", refused,
       [["append", [["--tmpfs", "{granted}", "0755"]]]], ["mount.{granted}"])
try_in("a directory of the host that nobody granted is seen", refused,
       [["append", [["--ro-bind", "{other}", "/mnt"]]]], ["mounts.unplanned-or-writable"])
try_in("a directory of the host below a granted one is seen", refused,
       [["append", [["--bind", "{other}", "{project}/sub"]]]], ["mounts.unplanned-or-writable"])
try_in("a directory of the host in a private one is seen", refused,
       [["before", ["--remount-ro"], [["--ro-bind", "{other}", "/dev/shm/other"]]]],
       ["mounts.unplanned-or-writable"])
try_in("another device is seen", refused,
       [["before", ["--remount-ro"], [["--dev-bind", "/dev/null", "/dev/kmsg"]]]],
       ["mounts.unplanned-or-writable"])
try_in("a device with another's name is seen", refused,
       [["before", ["--remount-ro"], [["--dev-bind", "/dev/zero", "/dev/null"]]]],
       ["mounts.unplanned-or-writable"])
try_in("a /dev that stays writable is seen", refused, [["drop", ["--remount-ro", "/dev"]]], ["mount./dev"])
try_in("the host's /dev is seen", refused,
       [["replace", ["--dev"], [["--dev-bind", "/dev", "/dev"]]]], ["mount./dev"], only="root")
try_in("the host's /proc is seen", refused,
       [["replace", ["--proc"], [["--bind", "/proc", "/proc"]]]], ["mount./proc"])
try_in("a writable /proc/sys is seen", refused,
       [["replace", main_path("/proc/sys"), [["--bind", "/proc/sys", "/proc/sys"]]]], ["mount./proc/sys"])
try_in("a link of a private root that leads elsewhere is seen", refused,
       [["replace", ["--symlink", None, "/bin"], [["--symlink", "/tmp", "/bin"]]]], ["link./bin"],
       ("-p", "strict", "-w", "{project}"))
try_in("a private root that stays writable is seen", refused, [["drop", ["--remount-ro", "/"]]],
       ["mounts.unplanned-or-writable"], ("-p", "strict", "-w", "{project}"))

# ---- the first process ----

try_in("a first process that is another program is seen", refused, [["program"]],
       ["init.program", "held.program"])
try_in("a process between bwrap and sbx-init does not start the box", stopped,
       [["argv", ["/bin/sh", "-c", "/proc/self/fd/3; exit 1"]]], "sbx-init cannot harden itself")
try_in("a first process of bwrap's own does not start the box", stopped, [["drop", ["--as-pid-1"]]],
       "sbx-init cannot harden itself")
try_in("a program that is not sbx-init at all does not start the box", stopped,
       [["argv", ["/bin/true"]]], "the box ended before its command began")
try_in("a bwrap that names another process is seen", refused, [["liar"]], ["init.program", "held.plan"])
for kind, items in (("a copy", ()), ("another argument", ()), ("no scopes", ()),
                    ("no filters", ("seccomp.filters", "init.seccomp.filters")),
                    ("one filter less", ("seccomp.filters", "init.seccomp.filters")),
                    ("no guard of names", ("seccomp.filters",)),
                    ("no Landlock", ("landlock.probe",)),
                    ("Landlock that allows everything", ("landlock.probe",)),
                    ("no limits", ("rlimit.file-size",))):
    try_in(f"another block for sbx-init is seen: {kind}", refused, [["block", kind]],
           ["init.plan", "held.plan", *items])


@promise("a caller that ignores the end of children has a box all the same", on=("linux",))
def _(t):
    def ignore():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    world = World(BASE, "ignorant", os.getuid())  # so that bwrap is tried anew
    unchanged(t, world, [], [], (), preexec_fn=ignore)


@promise("a box outside its control group is seen (root)", on=("linux",))
def _(t):
    world = WORLDS[0]
    root = pathlib.Path("/sys/fs/cgroup/memory/cgroup.procs")
    if world.uid != 0 or not root.exists():
        t.skip("cgroup", "no memory controller of version 1 and root at once")
    refused(t, world, [["cgroup", str(root)]], ["cgroup.member"], ("-m", "256M"))


def run_all():
    if BWRAP is None:
        print("1..0 # SKIP bwrap is not installed")
        sys.exit(77)
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        main()
    finally:
        shutil.rmtree(BASE, ignore_errors=True)


run_all()
