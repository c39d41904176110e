"""Nothing runs before it is proven: each system call with which sbx-init builds and confines a native box is left out in
turn, the kernel says it went well, and the command must not start. What may be missing is in a table, with the reason."""

import concurrent.futures
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

from harness import SBX, main, promise  # noqa: E402

SKIP_CALL = os.environ["SBX_SKIP_CALL"]
WORKERS = 3
MOST = 600
# {call: (at most how often, why the box may run without it)}
MAY_MISS = {
    "symlinkat": (6, "links of /dev: less than promised, nothing open"),
    "mkdirat": (2, "a place in /dev: the same"),
    "move_mount": (4, "devices: an empty file in a read-only directory stays in their place"),
    "mount": (2, "propagation: mounts of another user namespace are slaves of the host's already; and /dev/pts"),
    "fsconfig": (3, "modes: what tmpfs takes without one is what was asked for, or the directory is read-only"),
    "sethostname": (1, "the host's name is seen"),
    "ioctl": (1, "the loopback stays down"),
    "landlock_add_rule": (16, "a rule less allows less"),
    "openat": (6, "a rule for another file, one that is open anyway: allows less"),
    "dup3": (2, "what the command says is lost"),
    "fcntl": (7, "descriptors that the held process closes by itself; access of its own streams; the question whether "
              "the two share their descriptors, which they do not"),
    "prlimit64": (2, "limits that the caller has too"),
    "prctl": (6, "the first process' own death and privacy, which the kernel tells nobody where the caller is root (its "
              "pipe of orders ends it too); ambient capabilities, which go with the permitted ones; the held "
              "process' own death and privacy, which exec sets"),
    "chdir": (1, "the command starts in /"),
    "setitimer": (1, "the time limit, which sbx keeps too"),
    "write": (1, "the word that all is mounted: then it is read back when the command is held"),
    "rt_sigprocmask": (2, "signals of the first moment"),
}


def call_names():
    for path in (f"/usr/include/{platform.machine()}-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"):
        if os.path.exists(path):
            return {int(number): name for name, number in
                    re.findall(r"#define __NR_(\w+) (\d+)", pathlib.Path(path).read_text(encoding="utf-8"))}
    return {}


class Caller:
    """A home and a project of one worker."""

    def __init__(self, base, number):
        self.home = pathlib.Path(base) / f"home-{number}"
        self.project = self.home / "project"
        (self.project / "hidden").mkdir(parents=True)
        self.env = {"PATH": "/usr/bin:/bin", "HOME": str(self.home), "SBX_SANDBOX": "native"}
        self.canary = self.project / "canary"
        self.words = [SBX, "run", "--no-manifest", "--strict", "-t", "2s", "--fs", f"{self.project}/hidden=none", "--",
                      "/bin/sh", "-c", f"echo ran > {self.canary}"]
        done = self.start(self.words)
        assert done.returncode == 0 and self.canary.exists(), done
        self.memory = self.home / ".local/state/sbx/native-probe"
        self.known = self.memory.read_text()

    def start(self, words):
        return subprocess.run(words, cwd=self.project, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=60, check=False)

    def without(self, role, number):
        """(the call that was left out or None, whether the command ran, what was said)."""
        # A failure makes sbx try the machine anew: then that box, and not the run's, would be the first.
        self.memory.write_text(self.known)
        self.canary.unlink(missing_ok=True)
        log = self.home / "log"
        done = self.start([SKIP_CALL, role, str(number), log, *self.words])
        told = log.read_text().strip()
        return None if told == "none" else int(told), self.canary.exists(), done


def try_all(base, role):
    """[(number, call, ran, Done)] for every call until there are no more."""
    callers = [Caller(pathlib.Path(base) / role, number) for number in range(WORKERS)]

    def work(first):
        found = []
        for number in range(1 + first, MOST, WORKERS):
            call, ran, done = callers[first].without(role, number)
            if call is None:
                return found
            found.append((number, call, ran, done))
        return found

    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        return sorted((row for rows in pool.map(work, range(WORKERS)) for row in rows), key=lambda row: row[0])


def missing():
    if platform.machine() != "x86_64":
        return "skip-call is written for x86-64"
    return "tracing sbx needs root" if os.geteuid() != 0 else None


@promise("each call of sbx-init is left out in turn: nothing runs, or it is one that may be missing")
def _(t):
    if missing():
        t.skip("skip-call", missing())
    names = call_names()
    t.true(names, "the numbers of calls are in the kernel's headers")
    base = tempfile.mkdtemp(prefix="sbx-skipped-")
    survived, tried = {}, 0
    try:
        for role, least in (("init", 150), ("held", 8)):
            rows = try_all(base, role)
            t.true(len(rows) >= least, f"{role}: {len(rows)} calls")
            tried += len(rows)
            for number, call, ran, done in rows:
                name = names.get(call, str(call))
                if ran:
                    survived.setdefault(name, []).append(f"{role} {number}")
                else:
                    # A box that never answers is ended by its time.
                    t.among(done.returncode, (124, 125, 126), f"{role} {number} {name}: {done.stderr}")
    finally:
        shutil.rmtree(base, ignore_errors=True)
    for name, where in sorted(survived.items()):
        most, why = MAY_MISS.get(name, (0, "not in the table"))
        t.true(len(where) <= most, f"{name} left out, and the command ran: {where} (at most {most}: {why})")
    print(f"# {tried} calls left out, {sum(map(len, survived.values()))} of them may be")


main()
