"""Nothing of one machine and no unfinished business in files that everybody gets."""

import pathlib
import re

import source

# Written in two halves so that this file is not its own finding.
UNFINISHED = re.compile(r"\b(" + "TO" + "DO|FIX" + "ME|XX" + r"X)\b")
HOSTS = re.compile(r"\b(?:" + "|".join((
    r"deb\.deb" + r"ian\.org", r"security\.deb" + r"ian\.org", r"archive\.ubu" + r"ntu\.com",
    r"registry\.npm" + r"js\.org", r"py" + r"pi\.org", r"pythonho" + r"sted\.org",
    r"cra" + r"tes\.io", r"pkg" + r"\.dev", r"artif" + r"actory", r"gh" + r"cr\.io",
    r"dock" + r"er\.io")) + r")\b", re.I)
# What decides where things are fetched from. Product data and its tests may name any host.
BUILD_FILES = re.compile(
    r"^(scripts/|cmake/|\.ci/|Makefile$|CMake|vcpkg|installer/)|CMakeLists\.txt$|\.cmake$|\.py$")
# Directories so common that naming them says nothing about a machine.
COMMON_PLACES = {"/", "/tmp", "/var/tmp", "/home", "/root", "/opt", "/srv", "/usr/src", "/mnt"}


def text_files(root):
    for path in source.project_files(root):
        data = (root / path).read_bytes()
        if b"\0" not in data[:8192]:
            yield path, data.decode("utf-8", "surrogateescape")


def matches(root, pattern, only=None):
    findings = []
    for path, text in text_files(root):
        if only is None or only.search(path.as_posix()):
            findings += [f"{path}:{number}: {match.group()}"
                         for number, line in enumerate(text.splitlines(), 1)
                         for match in pattern.finditer(line)]
    return findings


def check_machine(root):
    """The checkout's own place, the directory it lies in, and the home directory."""
    places = {str(root), str(root.parent), str(pathlib.Path.home())} - COMMON_PLACES
    pattern = "|".join(rf"(?<![\w./]){re.escape(place)}(?![\w.-])" for place in sorted(places))
    return matches(root, re.compile(pattern)) if places else []


def check_hosts(root):
    return matches(root, HOSTS, BUILD_FILES)


def check_unfinished(root):
    return matches(root, UNFINISHED)


LINTS = [
    ("no file names a place on the machine it was written on", check_machine),
    ("nothing of the build names a package host", check_hosts),
    ("nothing is marked as unfinished", check_unfinished),
]

if __name__ == "__main__":
    source.main("hygiene", LINTS)
