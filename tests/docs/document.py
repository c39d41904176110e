"""What the tests of the documents share: which documents there are, their blocks, and the report."""

import os
import pathlib
import re
import subprocess
import sys

# Documents, from the root.
FOLDERS = (".", "docs")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
# A comment on its own line right above a block says what a test does with it; readers do not see it.
MARK = re.compile(r"<!-- ((?:(?!-->).)*) -->\n+\Z", re.S)


def documents(root):
    """Every Markdown file of the project, sorted."""
    return sorted(path for folder in FOLDERS for path in (root / folder).glob("*.md"))


def read(path):
    return path.read_text(encoding="utf-8")


class Block:
    """A fenced block: its language, text, line number, and the mark above it ("" without one)."""

    def __init__(self, text, match):
        self.language = match.group(1)
        self.text = match.group(2)
        self.line = text.count("\n", 0, match.start()) + 1
        mark = MARK.search(text[:match.start()])
        self.mark = mark.group(1) if mark else ""


def blocks(text):
    return [Block(text, match) for match in FENCE.finditer(text)]


def without_blocks(text):
    """The text with the insides of blocks and code spans blanked; lines stay."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())
    return re.sub(r"`[^`\n]*`", blank, FENCE.sub(blank, text))


def output(*command, **options):
    """Standard output of a program that must succeed."""
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, check=True,
                          text=True, encoding="utf-8", **options).stdout


def skips_are_failures(feature):
    required = os.environ.get("SBX_TEST_REQUIRE", "").split(",")
    return feature in required or "all" in required


def report(suite, cases):
    """Prints TAP. A case is (promise, findings, reason it was skipped or None)."""
    failed = 0
    print(f"# {suite}\n1..{len(cases)}")
    for number, (promise, findings, skipped) in enumerate(cases, 1):
        for finding in findings:
            for line in finding.splitlines():
                print(f"# {line}")
        if skipped and not findings:
            print(f"ok {number} - {promise} # SKIP {skipped}")
            continue
        print(f"{'not ok' if findings else 'ok'} {number} - {promise}")
        failed += bool(findings)
    sys.exit(1 if failed or not cases else 0)


def root_argument():
    return pathlib.Path(sys.argv[1]).resolve()
