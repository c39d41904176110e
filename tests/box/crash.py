"""kill -9 at any moment: one second later nothing of the box is left."""

import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import time

from boxed import BACKEND, adopt, descendants, differences, each, groups, listing, main, parents, reap, wait_until

SECOND = 1.0
WORK = "i=0; while :; do i=$((i + 1)); echo $i > work; (sleep 1000 &); sleep 0.005; done"


def groups_of(pid):
    return [path for path in groups() if f"/sbx-{pid}-" in path]


class Crash:
    """Runs that are killed, and what they leave."""

    def __init__(self, box, options=()):
        adopt()
        self.box = box
        self.options = options
        self.random = random.Random(5)
        self.working = 0
        box.mkdir(*(f"tree/{n}/{m}" for n in range(12) for m in range(12)))
        box.write("tree/1/1/.git/config", "x")
        box.write("work", "")
        self.words = ("run", "--strict", *options, "-t", "60s", "-E", "PATH", "--", "sh", "-c", WORK)
        self.mounts = pathlib.Path("/proc/self/mountinfo").read_text()
        self.before = self.files()

    def files(self):
        """All but what the command writes, and but what sbx remembers of machine and tree under lasting names."""
        work = {str(self.box.project / "work"), str(self.box.home / "project"), str(self.box.home)}
        state = self.box.home / ".local/state/sbx"
        return {path: what for path, what in listing(self.box.t.directory).items()
                if path not in work and not path.endswith("/sbx-for-others") and path not in map(str, state.parents)
                and not re.fullmatch(re.escape(str(state)) + r"(/(bwrap|native)-probe|/names(/[0-9a-f]{64})?)?", path)}

    def start(self, number, stderr=subprocess.DEVNULL):
        if number % 4 == 0:  # as the first run of all: what it learns of the machine is asked of bwrap
            shutil.rmtree(self.box.home / ".local", ignore_errors=True)
        return self.box.start(*self.words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=stderr, start_new_session=True)

    def moment(self, number):
        """Mostly while the box is made, sometimes while it works."""
        if number % 10 == 9:
            wait_until(lambda: (self.box.project / "work").stat().st_size > 0, 20)
        time.sleep(self.random.uniform(0, 0.06))

    def gone(self, process, what):
        """Waits for the end of everything, for a second."""
        end = time.monotonic() + SECOND

        def left():
            reap()
            return descendants(), groups_of(process.pid)
        while any(left()) and time.monotonic() < end:
            time.sleep(0.005)
        remains = left()
        if not self.box.t.true(not any(remains), f"{what}: {remains}"):
            self.sweep(*remains)

    @staticmethod
    def sweep(processes, places):
        """So that one failure is not told by all that follow."""
        for pid in processes:
            os.kill(pid, signal.SIGKILL)
        for place in places:
            os.rmdir(place)

    def nothing_left(self, rounds):
        """After all: mounts and files. What a killed writer left behind, the next run takes away."""
        box = self.box
        box.t.true(self.working > 0, f"{self.working} of {rounds} runs had got to work when they were killed")
        box.t.equal(set(pathlib.Path("/proc/self/mountinfo").read_text().splitlines())
                    - set(self.mounts.splitlines()), set())
        done = box.run("true", options=("--strict", *self.options))
        box.t.equal(done.status, 0, done)
        box.t.equal(differences(self.before, self.files()), [])
        adopt(False)

    def note_work(self):
        self.working += (self.box.project / "work").stat().st_size > 0
        with open(self.box.project / "work", "w", encoding="utf-8"):
            pass


def limits(box):
    """As root a limit means a control group."""
    return ("-m", "512M", "--procs", "500") if box.identity == "root" else ()


@each("kill -9 of sbx, 100 times for each user, at random moments")
def _(box):
    crash = Crash(box, limits(box))
    for number in range(100):
        process = crash.start(number)
        crash.moment(number)
        process.kill()
        process.wait()
        crash.gone(process, f"run {number}")
        crash.note_work()
    crash.nothing_left(100)


# Of sbx's children: bwrap is started by a keeper, sbx-init without bwrap by sbx itself.
VICTIMS = ("keeper", "helper") if BACKEND == "bwrap" else ("first",)


def victims(process, name):
    table = parents()
    children = [pid for pid, parent in table.items() if parent == process.pid]
    if name != "helper":
        return children
    return [pid for pid, parent in table.items() if parent in children]


def kill_one(crash, name, number):
    """sbx has other children before, and outlives them: whoever is there is killed until it ends."""
    process = crash.start(number, stderr=subprocess.PIPE)
    crash.moment(number)
    is_working = (crash.box.project / "work").stat().st_size > 0
    end = time.monotonic() + 10 * SECOND  # that it ends is promised, not how soon on a busy machine
    while process.poll() is None and time.monotonic() < end:
        for pid in victims(process, name):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.002)
    status = process.poll()
    if status is None:
        process.kill()
        process.wait()
    said = process.stderr.read().decode()
    process.stderr.close()
    crash.box.t.has(said, "was killed" if is_working else "sbx: error", f"{name} {number}")
    return process, status


@each("kill -9 of what sbx started, 25 times each: sbx ends too, and does not call it success")
def _(box):
    for name in VICTIMS:
        crash = Crash(box, limits(box))
        for number in range(25):
            process, status = kill_one(crash, name, number)
            box.t.among(status, (125, 137), f"{name} {number}")
            crash.gone(process, f"{name} {number}")
            crash.note_work()
        crash.nothing_left(25)


main()
