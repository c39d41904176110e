#!/usr/bin/env python3
"""Every case of the public toml-test corpus through toml-decode; TAP on stdout.

usage: corpus.py TOML-DECODE...     (a command; more words for an emulator before the program)

The corpus comes with Debian's golang-github-burntsushi-toml-dev; SBX_TOML_CORPUS names another
directory with "valid" and "invalid" in it. Without one all is skipped (exit 77), unless
SBX_TEST_REQUIRE has "toml-corpus" or "all"."""
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys

import tagged

PACKAGE = "golang-github-burntsushi-toml-dev"
PLACES = [
    "/usr/share/gocode/src/github.com/BurntSushi/toml/internal/toml-test/tests",
    "/usr/share/gocode/src/github.com/toml-lang/toml-test/tests",
]


def find_corpus():
    places = [os.environ["SBX_TOML_CORPUS"]] if "SBX_TOML_CORPUS" in os.environ else PLACES
    for place in places:
        if (pathlib.Path(place) / "valid").is_dir():
            return pathlib.Path(place)
    return None


def excluded_patterns(root):
    """What the corpus itself says is not TOML 1.0: version.go, next to its tests."""
    source = root.parent / "version.go"
    text = source.read_text(encoding="utf-8") if source.is_file() else ""
    match = re.search(r'"1\.0\.0": versionSpec\{\s*exclude: \[\]string\{(.*?)\n\t\t\}', text, re.S)
    lines = [line.split("//")[0] for line in match[1].splitlines()] if match else []
    return [pattern for line in lines for pattern in re.findall(r'"([^"]+)"', line)]


def list_cases(root):
    """The TOML 1.0 cases, and the valid ones of a later TOML that 1.0 has to refuse."""
    names = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.toml"))
    names = [name for name in names if name.startswith(("valid/", "invalid/"))]
    listed = root / "files-toml-1.0.0"
    if listed.is_file():
        chosen = {line.strip() for line in listed.read_text(encoding="utf-8").splitlines()}
        return [name for name in names if name in chosen], []
    patterns = excluded_patterns(root)
    out = {n for n in names if any(fnmatch.fnmatch(n[: -len(".toml")], p) for p in patterns)}
    exact = {pattern + ".toml" for pattern in patterns if "*" not in pattern}
    later = [name for name in names if name in out & exact and name.startswith("valid/")]
    return [name for name in names if name not in out], later


def judge(name, answer, root):
    """Why the answer is wrong, or None."""
    refused = isinstance(answer, tagged.Invalid)
    if name.startswith("invalid/"):
        return None if refused else f"accepted as {answer!r}"
    if refused:
        return f"refused: {answer}"
    want = tagged.from_tagged(json.loads((root / name).with_suffix(".json").read_bytes()))
    # The corpus compares numbers: its JSON has "0" for -0.0.
    return None if tagged.same(answer, want, zeros=True) else f"got {answer!r}, want {want!r}"


def judge_single(command, root, name):
    """The same through the plain mode: status, and output on the right stream."""
    text = (root / name).read_bytes()
    done = subprocess.run(command, input=text, capture_output=True, check=False)
    if name.startswith("invalid/"):
        held = done.returncode == 1 and done.stdout == b"" and done.stderr != b""
    else:
        held = done.returncode == 0 and done.stderr == b"" and done.stdout.startswith(b"{")
    return None if held else f"status {done.returncode}, stderr {done.stderr!r}"


def main():
    command = sys.argv[1:]
    if not command:
        sys.exit(__doc__)
    root = find_corpus()
    if root is None:
        required = {"toml-corpus", "all"} & set(os.environ.get("SBX_TEST_REQUIRE", "").split(","))
        print("1..1")
        if required:
            print(f"not ok 1 - the corpus is there: install {PACKAGE}")
            return 1
        print(f"ok 1 - the public corpus # SKIP install {PACKAGE}")
        return 77
    names, later = list_cases(root)
    answers = tagged.decode_all(command, [(root / name).read_bytes() for name in names + later])
    results = [(name, judge(name, answer, root)) for name, answer in zip(names, answers)]
    for name, answer in zip(later, answers[len(names) :]):
        refused = isinstance(answer, tagged.Invalid)
        results.append((f"not in TOML 1.0: {name}", None if refused else f"accepted: {answer!r}"))
    for kind in ("valid/", "invalid/"):
        chosen = [name for name in names if name.startswith(kind)][:1]
        results += [(f"plain mode: {name}", judge_single(command, root, name)) for name in chosen]
        results.append((f"the corpus has {kind} cases", None if chosen else "it has none"))
    print(f"1..{len(results)}")
    failed = 0
    for number, (name, problem) in enumerate(results, 1):
        print(f"{'ok' if problem is None else 'not ok'} {number} - {name}")
        if problem is not None:
            failed += 1
            print("\n".join("# " + line for line in problem.splitlines()))
    valid = sum(name.startswith("valid/") for name in names)
    print(f"# {root}: {valid} valid, {len(names) - valid} invalid, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
