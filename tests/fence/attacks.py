"""Every attack of the table, in every box, as root and as an ordinary user; each is first shown to work outside.
usage: attacks.py [--counts]"""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

import box  # noqa: E402
from harness import main, promise  # noqa: E402
from table import BACKENDS, CASES  # noqa: E402

POLICIES = {"main": ("inherit", "strict"), "terminal": ("inherit", "strict"), "works": ("inherit", "strict")}
# Where the run itself is ended, one attack a box.
ALONE = ("memory", "processes", "group")
ANSWERS = {"stop": ("DENIED", "ABSENT"), "allowed": ("DONE",), "works": ("DONE",),
           "harmless": ("DONE", "DENIED", "ABSENT")}
# A run that sbx ended by this limit was stopped too.
LIMITS = {"memory": "memory", "processes": "processes"}


# Attacks that not every kernel or root can carry out even outside: without /proc/kcore, without x32, without the
# capability to raise limits. Inside the box they are tried all the same, and must be stopped.
MACHINES = ("R11", "K11", "P09", "X06")


def described():
    """{id: (class, what is tried)} as the probe has them."""
    listed = subprocess.run([os.environ["SBX_PROBE"], "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {words[0]: (words[1], words[2]) for words in (line.split("\t") for line in listed.splitlines())}


WHAT = described()


def judge(t, case, backend, identity, policy):
    """One box's answer against the table."""
    answers = box.inside(backend, identity, case.box, policy, case.probe if case.box in ALONE else None)
    word, detail = answers.by_id.get(case.probe, ("NONE", ""))
    shown = f"{policy}: {word} {detail}\nstatus {answers.status}\nstderr {answers.err[-1500:]}"
    want = case.expect[backend, identity]
    if want == "stop" and case.box in LIMITS and word == "NONE":
        t.equal(answers.outcome.get("limit"), LIMITS[case.box], shown)
    else:
        t.among(word, ANSWERS[want], shown)
    if case.box == "group":
        t.equal(answers.signals, 0, "a host process got the signal")


def attack(case, backend, identity):
    def run(t):
        missing = box.unusable(backend, identity)
        if missing:
            t.skip(*missing)
        if case.expect[backend, identity] == "refused":
            answers = box.refusal(backend, identity, case.shape)
            t.equal((answers.status, answers.by_id), (125, {}), answers.err)
            t.has(answers.err, "error[", answers.err)
            return
        works, tried = box.shown(identity)
        for policy in POLICIES.get(case.box, ("inherit",)):
            judge(t, case, backend, identity, policy)
        if case.id not in works:
            if t.failures == 0:
                t.skip("shown-outside", f"cannot be shown here: {'; '.join(tried.get(case.id, ['not tried']))}",
                       is_kernels=case.id in MACHINES)
    return run


def look(backend, identity, kind, policy, name):
    """A promise about the host after the run of a box."""
    def run(t):
        missing = box.unusable(backend, identity)
        if missing:
            t.skip(*missing)
        answers = box.inside(backend, identity, kind, policy)
        t.true(answers.by_id, f"the box ran: {answers.err[-500:]}")
        t.equal(answers.harm.get(name), [], answers.err[-500:])
    return run


LOOKS = ("nothing in ro changed", "nothing in outside changed", "nothing in home changed",
         "no set-user-ID file, device or capability is left", "no process is left", "no mount is left",
         "no cgroup is left", "no host process was signalled")


def counts():
    table = {}
    for case in CASES.values():
        row = table.setdefault(WHAT[case.probe][0], {"cases": 0})
        row["cases"] += 1
        for backend in BACKENDS:
            key = f"{backend} {case.expect[backend, 'user']}"
            row[key] = row.get(key, 0) + 1
    for name, row in table.items():
        print(f"{name:11} {row.pop('cases'):4} cases; " + ", ".join(f"{key} {value}" for key, value in row.items()))
    print(f"{'all':11} {len(CASES):4} cases, {len(CASES) * len(BACKENDS) * 2} with backends and users")


def register():
    unknown = {case.probe for case in CASES.values()} - WHAT.keys()
    untold = WHAT.keys() - {case.probe for case in CASES.values()}

    @promise("every probe is in the table, and nothing else")
    def _(t):
        t.equal((sorted(unknown), sorted(untold)), ([], []))

    for backend in BACKENDS:
        for identity in ("root", "user"):
            for case in CASES.values():
                if case.probe in WHAT:
                    promise(f"{case.id} {WHAT[case.probe][1]}: {case.expect[backend, identity]} "
                            f"({backend}, {identity})")(attack(case, backend, identity))
            for kind, policy in (("main", "inherit"), ("main", "strict"), ("works", "inherit")):
                for name in LOOKS:
                    promise(f"after box {kind}, {policy}: {name} ({backend}, {identity})")(
                        look(backend, identity, kind, policy, name))


if __name__ == "__main__":
    if "--counts" in sys.argv:
        counts()
    else:
        register()
        try:
            main()
        finally:
            box.finish()
