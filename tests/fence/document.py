"""That docs/ATTACKS.md is what the suite's tables say.  usage: document.py ROOT [--write]"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

import lifetime  # noqa: E402,F401 (registers its scenarios)
import names  # noqa: E402,F401
import paths  # noqa: E402,F401
from attacks import WHAT  # noqa: E402
from scenario import SCENARIOS  # noqa: E402
from table import BACKENDS, CASES  # noqa: E402

TITLES = {
    "read": "Reading what was not given", "write": "Writing where it may not", "change": "Changing what may be read",
    "create": "Making a protected name", "git": "Protected names that are there", "process": "Other processes",
    "network": "Network and sockets", "ipc": "What processes share", "resource": "Resources", "terminal": "The terminal",
    "inherited": "What a process is born with", "privilege": "Privileges", "kernel": "The kernel's surface",
    "behaviour": "What must go on working", "lifetime": "Lifetime", "output": "Output and limits",
    "environment": "Environment", "paths": "Paths that are not what they seem", "names": "The judge of names"}
HEAD = """# Attacks

Every attack that the suite tries in real boxes, and what must come of it. Made from the tables of `tests/fence` by
`tests/fence/document.py`, and compared by a test: what is written here is what is run.

Each is tried on every Linux backend, as root and as an ordinary user, under both system call policies where that can
make a difference; and before that without a box, where it must succeed. Where it does not (a kernel without the
feature, say), the case is skipped with the reason: a wall that was never leaned on proves nothing. After the boxes the
suite looks from outside: files outside the workspace unchanged, nothing with special rights left, no process, mount or
cgroup left, no signal received.

| word | meaning |
|---|---|
| stop | refused, or what it aims at is not there |
| allowed | works, by design; the reason is below the table |
| harmless | stopped or not, neither is a hole |
| works | no attack: must go on working, as outside |
| refused | the backend cannot hold such a manifest; sbx refuses to run it |

Ids in the column *also* are those of the same attack in other lists of the project.
"""


def expected(case, backend):
    root, user = case.expect[backend, "root"], case.expect[backend, "user"]
    return root if root == user else f"{root} as root, {user} as user"


def rows():
    """{class: [(id, also, what, expected..., why)]}"""
    found = {}
    for case in CASES.values():
        kind, what = WHAT[case.probe]
        found.setdefault(kind, []).append((case.id, case.also, what, *(expected(case, backend) for backend in BACKENDS),
                                           case.why))
    for case in SCENARIOS:
        found.setdefault(case.kind, []).append((case.id, case.also, case.what,
                                                *(case.expect[backend] for backend in BACKENDS), case.why))
    return found


def document():
    text = [HEAD]
    table = rows()
    total = sum(len(group) for group in table.values())
    text.append(f"{total} cases in {len(table)} classes.\n")
    for kind, title in TITLES.items():
        group = table.pop(kind)
        text.append(f"## {title}\n")
        text.append("| id | what is tried | " + " | ".join(BACKENDS) + " | also |\n|---|---|"
                    + "---|" * len(BACKENDS) + "---|")
        reasons = {}
        for name, also, what, *wanted, why in group:
            text.append(f"| {name} | {what} | " + " | ".join(wanted) + f" | {also} |")
            if why:
                reasons.setdefault(why, []).append(name)
        text.append("")
        for why, members in reasons.items():
            text.append(f"- {' '.join(members)}: {why}.")
        if reasons:
            text.append("")
    assert not table, f"classes without a title: {sorted(table)}"
    return "\n".join(text).rstrip() + "\n"


def main():
    path = pathlib.Path(sys.argv[1]) / "docs/ATTACKS.md"
    if "--write" in sys.argv:
        path.write_text(document(), encoding="utf-8")
        return
    print("1..1")
    same = path.exists() and path.read_text(encoding="utf-8") == document()
    if not same:
        print(f"# docs/ATTACKS.md differs; run: python3 {os.path.relpath(__file__, sys.argv[1])} . --write")
    print(f"{'ok' if same else 'not ok'} 1 - docs/ATTACKS.md says what the suite does")
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
