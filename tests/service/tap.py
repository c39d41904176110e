"""Cases as functions, their names as promises; prints TAP."""

import sys
import traceback


def play(cases):
    failed = 0
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    cases = [case for case in cases if word in case.__doc__]
    print(f"1..{len(cases)}")
    for number, case in enumerate(cases, 1):
        try:
            reason = case()
            print(f"ok {number} - {case.__doc__}" + (f" # SKIP {reason}" if reason else ""), flush=True)
        except Exception:  # whatever it is, the others are tried
            failed += 1
            print("".join("# " + line for line in traceback.format_exc().splitlines(True)))
            print(f"not ok {number} - {case.__doc__}", flush=True)
    sys.exit(1 if failed else 0)
