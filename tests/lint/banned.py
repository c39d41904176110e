"""Functions that common/base/banned.h bans. The header makes a call a compile error; this also sees
a file that forgot the header, an #undef of the ban, and a banned function taken by its address."""

import re

import source

HEADER = "common/base/banned.h"


def banned_names(root):
    path = root / HEADER
    text = source.read(path) if path.exists() else ""
    return sorted(set(re.findall(r"^#\s*define\s+(\w+)\(\.\.\.\)\s+SBX_BANNED\(", text, re.M)))


def check_calls(root):
    names = banned_names(root)
    if not names:
        return [f"{HEADER}: no banned names found"]
    any_name = rf"\b({'|'.join(names)})\b"
    use = re.compile(rf"(?<![.>\w]){any_name}\s*\(|[=&]\s*{any_name}\s*[;,)}}]|#\s*undef\s+{any_name}")
    findings = []
    for path in source.c_files(root, source.ROOMS + ("tests",)):
        if path.as_posix() == HEADER:
            continue
        text = source.code_only(source.read(root / path))
        for match in use.finditer(text):
            name = next(group for group in match.groups() if group)
            line = text.count("\n", 0, match.start(0)) + 1
            findings.append(f"{path}:{line}: {name} is banned")
    return findings


def check_included_last(root):
    findings = []
    for path in source.c_files(root, suffixes=(".c",)):
        names = [name for _, name, _ in source.includes(source.read(root / path))]
        if not names or names[-1] != HEADER:
            findings.append(f'{path}: the last include is not "{HEADER}"')
    return findings


LINTS = [
    ("no banned function is used", check_calls),
    ("every source file includes the ban last", check_included_last),
]

if __name__ == "__main__":
    source.main("banned", LINTS)
