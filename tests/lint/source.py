"""What the lints share: which files there are, C text without comments and strings, and the report."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOMS = ("common", "include", "lib", "win", "posix")


def c_files(root, folders=ROOMS, suffixes=(".c", ".h")):
    """The C files below the folders, as paths relative to root, sorted."""
    found = []
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in suffixes and path.is_file():
                found.append(path.relative_to(root))
    return found


def project_files(root):
    """Every file that is or would be in version control."""
    listed = b""
    if shutil.which("git"):
        listed = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True, check=False).stdout
    names = [os.fsdecode(name) for name in listed.split(b"\0") if name]
    if not names:  # an unpacked tarball, or a machine without git
        names = [str(path.relative_to(root)) for path in root.rglob("*")
                 if path.relative_to(root).parts[0] not in (".git", "build")]
    return [pathlib.Path(name) for name in sorted(set(names)) if (root / name).is_file()]


def read(path):
    return path.read_text(encoding="utf-8", errors="surrogateescape")


_TOKEN = re.compile(r"""
    (?P<comment> /\*.*?(?:\*/|\Z) | //(?:\\\n|[^\n])* )
  | (?P<string>  "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' )
""", re.VERBOSE | re.DOTALL)


def code_only(text):
    """The text with comments and the insides of literals blanked; lines and columns stay."""
    def blank(match):
        kept = re.sub(r"[^\n]", " ", match.group())
        if match.group("string"):
            return match.group()[0] + kept[1:-1] + match.group()[-1]
        return kept
    return _TOKEN.sub(blank, text)


def includes(text):
    """(line number, name, is_system) of every #include outside comments."""
    found = []
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', line)
        if match:
            found.append((number, match.group(1) or match.group(2), match.group(2) is not None))
    return found


def without_comments(text):
    """As code_only, but literals keep their insides."""
    return _TOKEN.sub(
        lambda m: re.sub(r"[^\n]", " ", m.group()) if m.group("comment") else m.group(), text)


def main(suite, lints):
    """Runs `lints`, a list of (promise, function of root that returns findings), printing TAP."""
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    root = parser.parse_args().root.resolve()
    failed = 0
    print(f"# {suite}\n1..{len(lints)}")
    for number, (promise, lint) in enumerate(lints, 1):
        findings = lint(root)
        for finding in findings:
            print(f"# {finding}")
        print(f"{'not ok' if findings else 'ok'} {number} - {promise}")
        failed += bool(findings)
    sys.exit(1 if failed else 0)
