"""That the benchmark measures what it says. Nothing here asserts how long anything takes.
usage: check_harness.py ROOT RUN_CASES"""

import json
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import goals
import plot
import report
import runner
import stats
from rows import Box, Row

ROOT = pathlib.Path(sys.argv[1])
RUN_CASES = pathlib.Path(sys.argv[2]).resolve()
DRIVER = 'while read line; do echo "3 1000 2000 3000"; done; touch ended'


def run_cases(text, *options, old=()):
    """(status, lines, files that are left) of the C program on this list of cases, in a directory of its own."""
    with tempfile.TemporaryDirectory() as place:
        path = pathlib.Path(place) / "cases"
        path.write_text(text.replace("PLACE", place), encoding="utf-8")
        for name in old:
            (pathlib.Path(place) / name).touch()
        done = subprocess.run([RUN_CASES, "-g", "0", "-i", "0", *options, path], capture_output=True, text=True,
                              cwd=place, env={"PATH": "/usr/bin:/bin"}, timeout=60, check=False)
        left = {entry.name for entry in pathlib.Path(place).iterdir()} - {"cases"}
    return done.returncode, [line.split("\t") for line in done.stdout.splitlines()], left


def samples(text, *options):
    status, lines, _ = run_cases(text, *options)
    if status != 0:
        raise AssertionError(f"run_cases ended with {status}")
    return [runner.Sample(int(line[1]), line[2], *(int(field) for field in line[3:])) for line in lines]


def shell(name, script, kind="case", extra=""):
    return f"{kind} {name}\n{extra}arg /bin/sh\narg -c\narg {script}\n"


def check_counts():
    got = samples("case yes\narg /bin/true\ncase no\narg /bin/false\n", "-n", "3", "-w", "1")
    assert [(s.round, s.case) for s in got] == [
        (-1, "yes"), (-1, "no"), (0, "no"), (0, "yes"), (1, "yes"), (1, "no"), (2, "no"), (2, "yes")], got
    assert {(s.case, s.status) for s in got} == {("yes", 0), ("no", 1)}, got
    assert all(s.wall_ns > 0 and s.cpu_ns > 0 and s.rss_kb > 0 and s.settle_ns >= s.wall_ns for s in got), got


def check_statuses():
    got = samples(shell("three", "exit 3") + shell("killed", "kill -9 $$") + "case none\narg /nowhere/program\n",
                  "-n", "1", "-w", "0")
    assert {s.case: s.status for s in got} == {"three": 3, "killed": 137, "none": 127}, got


def check_environment():
    script = 'test "$A" = "1 2" && test "$PWD" = /usr && test -z "$HOME"'
    got = samples(shell("env", script, extra="cwd /usr\nenv A=1 2\n"), "-n", "1", "-w", "0")
    assert [s.status for s in got] == [0], got


def check_orphans():
    got = samples(shell("orphan", "sleep 0.1 & exit 0"), "-n", "1", "-w", "0")
    assert got[0].settle_ns - got[0].wall_ns > 0 and not got[0].left, got
    assert got[0].settle_ns > 100_000_000, got


def check_driver():
    status, lines, left = run_cases(shell("driver", DRIVER, "resident") + "case yes\narg /bin/true\n", "-n", "2",
                                    "-w", "0")
    own = [line for line in lines if line[2] == "driver"]
    assert status == 0 and len(lines) == 4, lines
    assert all((line[3], line[5], line[6], line[7]) == ("1000", "2000", "3000", "3") for line in own), own
    assert left == {"ended"}, left


def check_lost_driver():
    got = samples(shell("driver", "exit 0", "resident") + "case yes\narg /bin/true\n", "-n", "1", "-w", "0")
    assert {s.case: s.status for s in got} == {"driver": 127, "yes": 0}, got


def check_service():
    script = "test ! -e up || exit 1; trap 'touch stopped; exit' TERM; touch up; while :; do sleep 0.05; done"
    serve = shell("daemon", script, "service", "ready PLACE/up\n")
    # What an earlier one left does not make it ready.
    status, lines, left = run_cases(serve + shell("client", "test -e up"), "-n", "1", "-w", "0", old=["up"])
    assert status == 0 and [(line[2], line[7]) for line in lines] == [("client", "0")], lines
    assert left == {"up", "stopped"}, left


def check_throughput():
    status, lines, _ = run_cases("case yes\narg /bin/true\ncase no\narg /bin/false\n", "-n", "1", "-j", "2", "-t", "50")
    assert status == 0 and [line[0] for line in lines] == ["throughput"] * 2, lines
    for _, _, case, workers, runs, failed, elapsed in lines:
        assert workers == "2" and int(runs) >= 2 and int(elapsed) >= 50_000_000, lines
        assert int(failed) == (int(runs) if case == "no" else 0), lines


def check_refusals():
    for text in ("arg /bin/true\n", "case a\n", "case a\ncolour red\narg x\n", "case\n"):
        assert run_cases(text)[0] == 2, text
    assert run_cases("case a\narg /bin/true\n", "-n", "many")[0] == 2


def check_case_file():
    row = Row("r", "row", "", lambda box: ["/bin/sh", "-c"], env={"A": "b"})
    case = runner.Case("r 1", row, Box(pathlib.Path("/usr")), ["true; echo a b"])
    text = runner.case_file([case])
    assert text == "case r 1\ncwd /usr\nenv A=b\narg /bin/sh\narg -c\narg true; echo a b\n", text


def check_statistics():
    made = [runner.Sample(n, "a", (n + 1) * 1000000, 0, 0, n, 0, 1, 0) for n in range(-1, 101)]
    made.append(runner.Sample(101, "a", 10**12, 0, 0, 10**6, 1, 0, 1))
    own = stats.summaries(made)["a"]
    assert (own["n"], own["failed"], own["busy"], own["left"], own["first_ms"]) == (102, 1, 1, 1, 0.0), own
    assert (own["min_ms"], own["median_ms"], own["p95_ms"], own["rss_kb"]) == (1.0, 51.0, 96.0, 100), own


def sample_result():
    return json.loads((ROOT / "tests/bench/sample.json").read_text(encoding="utf-8"))


def check_goals():
    result = sample_result()
    got = {goal["id"]: (goal["value"], goal["verdict"]) for goal in goals.judge(result, "sbx-native")}
    want = {"start-bwrap": (0.5, "met"), "start-plain": (4.0, "not met"), "pool-library": (1.1, "met"),
            "pool-client": (None, "not measured"), "throughput": (2.5, "met"), "protected": (10.0, "met"),
            "mounts": (1.25, "not met"), "globs": (0.5, "met"), "steady-find": (0.02, "met"),
            "steady-gcc": (None, "not measured"), "steady-git": (None, "not measured"), "rss": (2.5, "met")}
    assert got == want, got


def check_text():
    result = sample_result()
    result["goals"] = goals.judge(result, "sbx-native")
    text = report.text(result)
    for words in ("sbx run, native", "not met", "not measured (no number of pool-client)", "peer & <sons>",
                  "not installed", "over mounts of the host", "deny glob", "not kept"):
        assert words in text, words
    report.text({"machine": result["machine"], "settings": result["settings"], "rows": [], "left_out": []})


def check_svg():
    result = sample_result()
    picture = xml.etree.ElementTree.fromstring(plot.svg(result))
    words = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert picture.tag == "{http://www.w3.org/2000/svg}svg" and "peer & <sons>" in words, words
    lines = list(picture.iter("{http://www.w3.org/2000/svg}polyline"))
    assert len(lines) == len({(series, point["row"], point["glob"]) for series, points in result["series"].items()
                              for point in points}), lines
    nothing = {"machine": result["machine"], "settings": result["settings"], "rows": []}
    xml.etree.ElementTree.fromstring(plot.svg(nothing))


def check_fields():
    """Every field of the JSON is in docs/BENCH.md."""
    result = sample_result()
    made = stats.summaries([runner.Sample(0, "a", 1, 1, 1, 1, 0, 1, 0)])["a"]
    assert set(made) == set(result["start"]["plain"]), set(made) ^ set(result["start"]["plain"])
    judged = goals.judge(result, "sbx-native")[0]
    rates = stats.rates([runner.Slice(0, "a", 2, 1, 0, 10)], "a")["a"]
    names = set(result) | set(result["machine"]) | set(result["settings"]) | set(result["rows"][0])
    names |= set(made) | set(judged) | set(rates) | set(result["series"]["files"][0]) | {"goals"}
    text = (ROOT / "docs/BENCH.md").read_text(encoding="utf-8")
    missing = [name for name in sorted(names) if f"`{name}`" not in text]
    assert not missing, missing


CHECKS = [
    ("every round runs every case once, in rotated order", check_counts),
    ("exit statuses are those of a shell", check_statuses),
    ("a case has its directory and variables, and no others", check_environment),
    ("orphans are waited for after the clock has stopped", check_orphans),
    ("a driver is started once, asked for every run, and ended", check_driver),
    ("a driver that is gone is a failed run", check_lost_driver),
    ("a service is up before the first run and ended after the last", check_service),
    ("throughput counts runs and failures of all workers", check_throughput),
    ("a list with a mistake is refused", check_refusals),
    ("the list of cases is written as it is read", check_case_file),
    ("medians leave out failed runs, and count them", check_statistics),
    ("goals are met, not met, or not measured", check_goals),
    ("the text tells of rows, goals and what was left out", check_text),
    ("the plot is well-formed, with a line for each series", check_svg),
    ("docs/BENCH.md lists every field of the JSON", check_fields),
]


def main():
    failed = 0
    print(f"1..{len(CHECKS)}")
    for number, (promise, check) in enumerate(CHECKS, 1):
        try:
            check()
            print(f"ok {number} - {promise}")
        except Exception as error:  # any of them is a failure of this promise alone
            print(f"# {type(error).__name__}: {error}\nnot ok {number} - {promise}")
            failed += 1
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
