"""sbx selftest: what it finds is told as it is, on machines with boxes and without."""

import json
import os
import re
import shutil
import subprocess
import sys

from harness import POSIX, RUNNER, WINDOWS, main, promise

VERDICTS = ("pass", "fail", "cannot", "error")
# What holds without any box: the environment is dropped, handles are kept back, the clock runs. The rest are walls
# and must fail, or questions that have an answer anyway.
WITHOUT_A_BOX = {
    "linux": {"files.write-inside", "files.read-granted", "network.inherit", "environment.dropped",
              "environment.passed", "environment.exact", "handles.inherited", "limits.timeout", "limits.output",
              "ending.tree", "ending.crash", "timing.start", "leftovers.processes"},
    "windows": {"box.timing", "environment.dropped", "environment.passed", "environment.exact", "files.cycle",
                "files.directory", "files.owner", "files.private", "files.read-granted", "files.system", "paths.plain",
                "paths.read", "network.loopback-inherit", "network.each-other", "attack.handle", "attack.breakaway",
                "attack.pipe-local", "limits.timeout", "limits.output", "limits.below"},
}
# Groups whose walls are tried without a box; the others need programs or minutes.
WALLS = ("identity", "environment", "files", "paths", "network", "attack", "ui", "limits") if WINDOWS else (
    "files", "network", "environment", "handles", "limits")


def report(t, *words, status=None, seconds=280, **options):
    done = t.run("selftest", "--json", *words, seconds=seconds, **options)
    if status is not None:
        t.equal(done.status, status, done)
    return t.json(done.out, done)


def verdicts(found):
    return {case["id"]: case["verdict"] for case in found.get("cases", [])}


def needs_box(t):
    if shutil.which("bwrap") is None:
        t.skip("box", "there is no bwrap here")


def check_shape(t, found):
    t.equal(sorted(found), sorted(("schema_version", "command", "sbx", "machine", "cases", "counts", "timings_us",
                                   "ms", "ok")))
    t.equal((found["schema_version"], found["command"]), (1, "selftest"))
    t.true(re.fullmatch(r"\d+\.\d+\.\d+", found["sbx"]["version"]), found["sbx"])
    for name in ("system", "version", "build", "architecture", "elevated",
                 *(("session", "window_station", "integrity", "in_job", "console") if WINDOWS else ())):
        t.has(found["machine"], name)
    t.true(isinstance(found["machine"]["elevated"], bool))
    t.equal(sorted(found["counts"]), sorted(VERDICTS))
    for verdict in VERDICTS:
        t.equal(found["counts"][verdict], sum(case["verdict"] == verdict for case in found["cases"]), verdict)
    for case in found["cases"]:
        t.equal(sorted(case), ["evidence", "group", "id", "ms", "promise", "verdict"])
        t.among(case["verdict"], VERDICTS)
        t.true(case["evidence"] and case["promise"] and isinstance(case["ms"], int), case)
        t.equal(case["id"].split(".")[0], case["group"])
    counts = found["counts"]
    t.equal(found["ok"], counts["fail"] == 0 and counts["error"] == 0 and counts["pass"] > 0)


@promise("the cases are listed without trying any, with names of their own")
def _(t):
    text = t.run("selftest", "--list")
    listed = t.json(t.run("selftest", "--list", "--json").out).get("cases", [])
    names = [case["id"] for case in listed]
    t.equal((text.status, text.err), (0, ""), text)
    t.equal([line.split()[0] for line in text.out.splitlines()], names)
    t.equal(len(set(names)), len(names))
    t.true(len(names) >= (100 if WINDOWS else 20), len(names))
    for case in listed:
        t.equal(sorted(case), ["group", "id", "long", "promise"])
        t.true(re.fullmatch(r"[a-z]+\.[a-z0-9-]+", case["id"]), case)
        t.equal(case["id"].split(".")[0], case["group"])
        t.true(case["promise"] and not case["promise"].endswith("."), case)
    only = t.json(t.run("selftest", "--list", "--json", "--group", "files").out).get("cases", [])
    t.equal([case["id"] for case in only], [name for name in names if name.startswith("files.")])


@promise("where no backend is allowed, the start fails and every other case cannot be shown, each with the reason")
def _(t):
    found = report(t, env=t.refused, status=1)
    check_shape(t, found)
    told = verdicts(found)
    t.equal(told.pop("box.start"), "fail")
    t.equal({name for name, verdict in told.items() if verdict != "cannot"}, set())
    t.equal((found["counts"]["pass"], found["ok"]), (0, False))
    start = next(case for case in found["cases"] if case["id"] == "box.start")
    t.has(start["evidence"], "SBX_SANDBOX names no backend sbx knows")


@promise("under Wine nothing is called safe: the start fails, the rest cannot be shown, and the reason is the refusal",
         on=("windows",))
def _(t):
    if not RUNNER:
        t.skip("wine", "this is Windows itself: sbx selftest is the test")
    found = report(t, status=1)
    check_shape(t, found)
    t.equal(found["counts"]["pass"], 0, found)
    told = verdicts(found)
    t.equal(told["box.start"], "fail")
    t.equal({verdict for name, verdict in told.items() if name != "box.start"}, {"cannot"})
    refusal = next(case["evidence"] for case in found["cases"] if case["id"] == "box.start")
    t.has(refusal, "sbx run refused (unavailable)")
    t.has(refusal, "appcontainer: ")


@promise("on this Linux every case passes, and what they made is gone", on=("linux",))
def _(t):
    needs_box(t)
    temporary = t.directory / "tmp"
    temporary.mkdir()
    found = report(t, env={"TMPDIR": str(temporary)})
    check_shape(t, found)
    for case in found["cases"]:
        # Without a control group the machine may be unable to hold memory and processes.
        allowed = ("pass", "cannot") if case["id"] in ("limits.memory", "limits.processes") else ("pass",)
        t.among(case["verdict"], allowed, case)
    t.true(found["counts"]["pass"] >= 18, found["counts"])
    t.true(len(found["timings_us"]) == 2 and all(found["timings_us"].values()), found["timings_us"])
    t.equal(list(temporary.iterdir()), [])


@promise("without a sandbox every wall is seen to be open, and nothing that is not there passes")
def _(t):
    for group in WALLS:
        found = report(t, "--group", group, env=t.unboxed)
        check_shape(t, found)
        told = verdicts(found)
        held = {name for name, verdict in told.items() if verdict == "pass"}
        t.equal(held - WITHOUT_A_BOX["windows" if WINDOWS else "linux"], set(), group)
        if group in ("files", "attack", "paths"):
            t.true(sum(verdict == "fail" for verdict in told.values()) >= 3, told)
        for case in found["cases"]:
            if case["verdict"] == "fail" and "outside: " in case["evidence"]:
                t.has(case["evidence"], "box: ")


@promise("a control that fails is a failure of its case, whatever the box says", on=("linux",))
def _(t):
    needs_box(t)
    if os.geteuid() != 0:
        t.skip("root", "a network without loopback takes root")
    found = report(t, "--only", "network.loopback", prefix=("unshare", "-n"), status=1)
    t.equal(verdicts(found), {"network.loopback": "fail"})
    t.has(found["cases"][0]["evidence"], "the control outside the box: DENIED connect")


@promise("the table has a row and its evidence for each case, and closes with the counts")
def _(t):
    done = t.run("selftest", "--only", "environment", env=t.refused)
    lines = done.out.splitlines()
    t.equal((done.status, done.err), (1, ""), done)
    t.equal(len(lines), 7, done)
    for row, evidence in zip(lines[:-1:2], lines[1:-1:2]):
        t.true(re.match(r"cannot environment\.\S+ +\d+ ms  \S", row), row)
        t.true(evidence.startswith("       sbx run refused"), evidence)
    t.true(re.fullmatch(r"0 passed, 0 failed, 3 cannot be shown here, 0 errors in \d+\.\d s", lines[-1]), lines[-1])


@promise("the table made of the JSON has every case, what failed first")
def _(t):
    told = t.run("selftest", "--json", env=t.refused).out
    path = t.manifest(told, "selftest.json")
    done = subprocess.run([sys.executable, "-B", "scripts/selftest-table", path], capture_output=True, text=True,
                          encoding="utf-8", check=False)
    rows = [line for line in done.stdout.splitlines() if line.startswith(("| fail", "| cannot", "| pass", "| error"))]
    t.equal((done.returncode, done.stderr, len(rows)), (0, "", len(json.loads(told)["cases"])))
    t.true(rows[0].startswith("| fail | `box.start` |"), rows[0])
    t.true(all(len(re.findall(r"(?<!\\)\|", row)) == 6 for row in rows), "a bar in the evidence is escaped")
    for text in ("{}", "", "[]"):
        path = t.manifest(text, "wrong.json")
        done = subprocess.run([sys.executable, "-B", "scripts/selftest-table", path], capture_output=True, text=True,
                              check=False)
        t.equal((done.returncode, done.stdout), (1, ""))
        t.has(done.stderr, "is no answer of sbx selftest --json")


@promise("--quiet leaves the evidence of what passed out", on=("linux",))
def _(t):
    needs_box(t)
    done = t.run("selftest", "-q", "--only", "environment.dropped")
    t.equal((done.status, len(done.out.splitlines())), (0, 2), done)
    done = t.run("selftest", "--only", "environment.dropped")
    t.equal((done.status, len(done.out.splitlines())), (0, 3), done)
    t.has(done.out, "outside: DONE SBX_SELFTEST_VARIABLE is set")


@promise("what chooses no case, and what is no option, is a wrong command line")
def _(t):
    for words, hint in ((("--only", "no-such-case"), "sbx selftest --list"), (("--group", "fils"), "--group files"),
                        (("--group", "nothing-like-it"), "sbx selftest --list"), (("x",), "takes options only"),
                        (("--probes",), "unknown option"), (("--only",), "--only needs a value"),
                        (("--list", "--probe"), "unknown option")):
        done = t.run("selftest", *words)
        t.equal((done.status, done.out), (2, ""), done)
        t.has(done.err, hint, done)


@promise("an attempt by itself answers in one line and with its status, and only tries what it is told")
def _(t):
    there = t.project / "there"
    there.write_text("x")
    name = "Z:" + str(there).replace("/", "\\") if WINDOWS else str(there)
    for words, status, answer in ((("nothing",), 0, "DONE it ran"), (("read", name), 0, "DONE read"),
                                  (("read", name + "-not"), 42, "ABSENT"), ((), 43, "BROKEN no attempt"),
                                  (("no-such",), 43, "BROKEN there is no attempt"), (("read",), 43, "BROKEN read needs"),
                                  (("variable", "SBX_NO_SUCH_VARIABLE"), 42, "ABSENT"),
                                  (("sleep", "1", "--help"), 0, "DONE slept")):
        done = t.run("selftest", "--probe", *words)
        t.equal((done.status, done.err), (status, ""), done)
        t.equal(len(done.out.splitlines()), 1, done)
        t.true(done.out.startswith(answer), done)


@promise("an attempt that the system refuses answers DENIED", on=POSIX)
def _(t):
    done = t.run("selftest", "--probe", "write", "/sys/sbx-new")
    t.equal((done.status, done.out.split()[0]), (41, "DENIED"), done)


main()
