#!/usr/bin/env python3
"""Generated and mutated documents through toml-decode and through Python's tomllib: both must
accept and give equal values, or both refuse. TAP on stdout.

usage: differential.py TOML-DECODE...     (a command; more words for an emulator before the program)

SBX_FUZZ_CASES   how many documents (20000)
SBX_FUZZ_SEED    another sequence (1); the same seed always gives the same documents

Where tomllib is known to differ, `excuse` says how; each excuse is counted and printed. Without
tomllib all is skipped (exit 77), unless SBX_TEST_REQUIRE has "tomllib" or "all"."""
import os
import random
import sys

import tagged
from documents import Documents

try:
    import tomllib
except ImportError:  # before Python 3.11
    tomllib = None

CHUNK = 1000
MAX_SHOWN = 10


def ask_tomllib(document):
    """The value in the common form, or None when tomllib refuses."""
    try:
        # tomllib.load decodes without looking for a byte-order mark, which TOML 1.0 allows.
        text = document.decode("utf-8")
        return tagged.from_python(tomllib.loads(text.removeprefix("\ufeff")))
    except (ValueError, RecursionError):  # both errors of decoding and of TOML are ValueErrors
        return None


def contains(value, test):
    if isinstance(value, dict):
        return any(contains(item, test) for item in value.values())
    if isinstance(value, list):
        return any(contains(item, test) for item in value)
    return test(value)


def is_year_zero(value):
    return isinstance(value, tuple) and value[0] != "float" and value[1] == 0


def is_beyond_64_bits(value):
    return isinstance(value, int) and not -(2**63) <= value < 2**63


def cut_to_microseconds(value):
    if isinstance(value, dict):
        return {key: cut_to_microseconds(item) for key, item in value.items()}
    if isinstance(value, list):
        return [cut_to_microseconds(item) for item in value]
    if isinstance(value, tuple) and value[0] != "float":
        return (*value[:7], value[7] // 1000 * 1000, value[8])
    return value


def excuse(ours, theirs):
    """The known reason why the two differ, or None."""
    if isinstance(ours, tagged.Invalid):
        if "nested deeper" in ours:
            return "tomllib nests as deep as Python's stack, we 64 levels"
        if theirs is not None and contains(theirs, is_beyond_64_bits):
            return "tomllib takes integers of any size; TOML demands an error beyond 64 bits"
        return None
    if theirs is None and contains(ours, is_year_zero):
        return "Python has no year 0; RFC 3339 does"
    if theirs is not None and tagged.same(cut_to_microseconds(ours), theirs):
        return "tomllib keeps microseconds, we keep nanoseconds"
    return None


def agree(ours, theirs):
    if isinstance(ours, tagged.Invalid):
        return theirs is None
    return theirs is not None and tagged.same(ours, theirs)


def show(document, ours, theirs):
    print(f"# document: {document!r}")
    print("# ours:     " + repr(ours).replace("\n", "\n# "))
    print(f"# tomllib:  {'refused' if theirs is None else repr(theirs)}")


def main():
    command = sys.argv[1:]
    if not command:
        sys.exit(__doc__)
    print("1..1")
    name = "toml-decode and tomllib agree on every document"
    if tomllib is None:
        if {"tomllib", "all"} & set(os.environ.get("SBX_TEST_REQUIRE", "").split(",")):
            print(f"not ok 1 - {name}: needs Python 3.11")
            return 1
        print(f"ok 1 - {name} # SKIP needs Python 3.11")
        return 77
    total = int(os.environ.get("SBX_FUZZ_CASES", "20000"))
    seed = os.environ.get("SBX_FUZZ_SEED", "1")
    documents = Documents(random.Random(f"sbx {seed}"))
    accepted = refused = differ = 0
    excuses = {}
    for start in range(0, total, CHUNK):
        chunk = [documents.next() for _ in range(min(CHUNK, total - start))]
        for document, ours in zip(chunk, tagged.decode_all(command, chunk)):
            theirs = ask_tomllib(document)
            if agree(ours, theirs):
                accepted += theirs is not None
                refused += theirs is None
                continue
            reason = excuse(ours, theirs)
            if reason is not None:
                excuses[reason] = excuses.get(reason, 0) + 1
                continue
            differ += 1
            if differ <= MAX_SHOWN:
                show(document, ours, theirs)
    print(f"# seed {seed}: {total} documents")
    print(f"# {accepted} accepted, {refused} refused, {differ} differ")
    for reason, count in sorted(excuses.items()):
        print(f"# excused: {count} x {reason}")
    # A generator that only makes rubbish, or none, would prove nothing.
    mixed = total < 100 or (accepted > total // 10 and refused > total // 10)
    if not mixed:
        print("# the documents are not a fair mix of valid and invalid ones")
    held = differ == 0 and mixed
    print(f"{'ok' if held else 'not ok'} 1 - {name}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
