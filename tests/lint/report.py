"""That scripts/test-report cannot make a bad run look good: it counts what it is given, and every way
of failing that we know of fails. usage: report.py ROOT"""

import pathlib
import subprocess
import sys
import tempfile

CASE = '<testcase name="t" status="{}">{}<system-out>{}</system-out></testcase>'
FAILURE = '<failure message="Failed"/>'
SKIPPED = '<skipped message="SKIP_RETURN_CODE=77"/>'
GOOD = CASE.format("run", "", "1..2\nok 1 - a\nok 2 - b # SKIP no moon\n")

# (promise, test cases of the JUnit file, SBX_TEST_REQUIRE, closing line, exit status)
CASES = [
    ("cases are counted one by one", GOOD, "", "1 passed, 0 failed, 1 skipped", 0),
    ("carriage returns of Windows do not matter", GOOD.replace("\n", "&#13;\n"), "",
     "1 passed, 0 failed, 1 skipped", 0),
    ("a piece of Wine's complaint before a line hides neither a passed case",
     GOOD.replace("ok 1", "wine client error:62c: ok 1"), "", "1 passed, 0 failed, 1 skipped", 0),
    ("nor a failed one", CASE.format("fail", FAILURE, "1..2\nok 1 - a\nwine client error:62c: not ok 2 - b\n"), "",
     "1 passed, 1 failed, 0 skipped", 1),
    ("an entry without TAP is one case", CASE.format("run", "", "hello") + GOOD, "",
     "2 passed, 0 failed, 1 skipped", 0),
    ("a skip is a failure when all is required", GOOD, "x,all", "1 passed, 1 failed, 0 skipped", 1),
    ("a registry that cannot be reached stays a skip when all is required",
     GOOD.replace("no moon", "the package registry cannot be reached"), "all", "1 passed, 0 failed, 1 skipped", 0),
    ("a reason that only begins like it does not",
     GOOD.replace("no moon", "the package registry cannot be reached, or so"), "all", "1 passed, 1 failed, 0 skipped", 1),
    ("a lane that only skips for it does not fail, but nothing has passed",
     CASE.format("run", "", "1..1\nok 1 - a # SKIP the package registry cannot be reached\n"), "all",
     "0 passed, 0 failed, 1 skipped", 1),
    ("a failed case fails the run", CASE.format("fail", FAILURE, "1..2\nok 1 - a\nnot ok 2 - b\n"), "",
     "1 passed, 1 failed, 0 skipped", 1),
    ("a program that ends early fails the run", CASE.format("fail", FAILURE, "1..2\nok 1 - a\n"), "",
     "1 passed, 1 failed, 0 skipped", 1),
    ("even when it ends with success", CASE.format("run", "", "1..2\nok 1 - a\n"), "",
     "1 passed, 1 failed, 0 skipped", 1),
    ("a bad exit status after good cases fails the run",
     CASE.format("fail", FAILURE, "1..1\nok 1 - a\n"), "", "1 passed, 1 failed, 0 skipped", 1),
    ("a program without cases fails the run", CASE.format("fail", FAILURE, "1..0\n"), "",
     "0 passed, 1 failed, 0 skipped", 1),
    ("an entry that could not start fails the run", CASE.format("notrun", "", ""), "",
     "0 passed, 1 failed, 0 skipped", 1),
    ("an empty lane fails the run", "", "", "0 passed, 1 failed, 0 skipped", 1),
    ("a program that skips everything is skipped",
     GOOD + CASE.format("notrun", SKIPPED, "1..1\nok 1 - a # SKIP no sun\n"), "",
     "1 passed, 0 failed, 2 skipped", 0),
]


# The same with what ran again: (promise, first, again, closing line, exit status).
BAD = CASE.format("fail", FAILURE, "1..2\nok 1 - a\nnot ok 2 - b\n")
AGAIN = [
    ("what passes alone is not a failure", BAD, CASE.format("run", "", "1..2\nok 1 - a\nok 2 - b\n"),
     "2 passed, 0 failed, 0 skipped", 0),
    ("what fails twice fails the run", BAD, BAD, "1 passed, 1 failed, 0 skipped", 1),
    ("what passes alone but counts wrongly fails the run", BAD, CASE.format("run", "", "1..2\nok 1 - a\n"),
     "1 passed, 1 failed, 0 skipped", 1),
    ("what did not run again fails the run", BAD, "", "1 passed, 1 failed, 0 skipped", 1),
]


def closing_line(report, junit, require, again=None):
    with tempfile.TemporaryDirectory() as place:
        results = pathlib.Path(place)
        (results / "lanes").write_text("lane 1\n", encoding="utf-8")
        (results / "lane.xml").write_text(f"<testsuite>{junit}</testsuite>", encoding="utf-8")
        if again is not None:
            (results / "lane.again.xml").write_text(f"<testsuite>{again}</testsuite>", encoding="utf-8")
        done = subprocess.run([sys.executable, "-B", report, results], capture_output=True, text=True,
                              env={"SBX_TEST_REQUIRE": require}, check=False)
        return (done.stdout.strip().splitlines() or [done.stderr])[-1], done.returncode


def main():
    report = pathlib.Path(sys.argv[1]) / "scripts/test-report"
    failed = 0
    rows = [(promise, junit, require, None, line, status) for promise, junit, require, line, status in CASES]
    rows += [(promise, first, "", again, line, status) for promise, first, again, line, status in AGAIN]
    print(f"1..{len(rows)}")
    for number, (promise, junit, require, again, line, status) in enumerate(rows, 1):
        got = closing_line(report, junit, require, again)
        held = got == (line, status)
        if not held:
            print(f"# got:  {got}\n# want: {(line, status)}")
        print(f"{'ok' if held else 'not ok'} {number} - {promise}")
        failed += not held
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
