"""That tests/check.h tells a failure from a success, and shows it. usage: harness.py SAMPLE [RUNNER]"""

import os
import subprocess
import sys

# (case, SBX_TEST_REQUIRE, exit status, texts that must be printed)
CASES = [
    ("holds", "", 0, ["1..1", "ok 1 - holds"]),
    ("wrong condition", "", 1, ["not ok 1", "harness_sample.c:", "1 > 2"]),
    ("wrong integer", "", 1, ["not ok 1", "got:  -3", "want: 4"]),
    ("wrong number", "", 1, ["not ok 1", "got:  1 ", "want: 2 "]),
    ("wrong text", "", 1, ["not ok 1", r'got:  "line\n"', 'want: "other"']),
    ("missing text", "", 1, ["not ok 1", "got:  NULL", 'want: ""']),
    ("wrong view", "", 1, ["not ok 1", 'got:  "ab"', 'want: "a"']),
    ("wrong code", "", 1, ["not ok 1", "got:  io ", "want: ok ", "the cause"]),
    ("wrong system call", "", 1, ["not ok 1", "the cause", "call:  StartIt: win32 1359 (0x54f)"]),
    ("wrong memory", "", 1, ["not ok 1", r'"a\x00b"', r'"a\x00c"']),
    ("wrong then right", "", 1, ["not ok 1"]),
    ("makes no check", "", 1, ["not ok 1", "made no check"]),
    ("is skipped", "", 77, ["ok 1 - is skipped # SKIP no moon here"]),
    ("is skipped", "sun", 77, ["# SKIP"]),
    ("is skipped", "sun,moon", 1, ["not ok 1", "no moon here"]),
    ("is skipped", "all", 1, ["not ok 1"]),
    ("no such case", "", 1, ["1..0", "no case was run"]),
    ("s", "", 1, ["ok 1 - holds", "# SKIP", "not ok"]),
]


def main():
    sample, runner = sys.argv[1], sys.argv[2:]
    failed = 0
    print(f"1..{len(CASES)}")
    for number, (case, require, status, texts) in enumerate(CASES, 1):
        done = subprocess.run([*runner, sample, case], capture_output=True, text=True,
                              env=os.environ | {"SBX_TEST_REQUIRE": require}, check=False)
        missing = [text for text in texts if text not in done.stdout]
        if done.returncode != status or missing:
            failed += 1
            print(f"# exit status {done.returncode}, want {status}; not printed: {missing}; printed:")
            for line in done.stdout.splitlines():
                print(f"#   {line}")
        held = done.returncode == status and not missing
        print(f"{'ok' if held else 'not ok'} {number} - \"{case}\" ends with {status}"
              + (f" when {require} is required" if require else ""))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
