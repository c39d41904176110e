"""The attacks of the table from boxes of a warm pool: built before their command is known, they are as closed as others."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

import attacks  # noqa: E402
import box  # noqa: E402
from harness import main, promise  # noqa: E402
from table import CASES  # noqa: E402

BACKEND = "native"
BOXES = ("main", "works")


def launch(_result, path):
    return [box.stage().parent / "sbx-pool-driver", "run", "-f", path, "--"]


def attack(case, identity):
    def run(t):
        missing = box.unusable(BACKEND, identity)
        if missing:
            t.skip(*missing)
        for policy in ("inherit", "strict"):
            attacks.judge(t, case, BACKEND, identity, policy)
    return run


def register():
    for identity in ("root", "user"):
        for case in CASES.values():
            if case.box in BOXES and case.expect[BACKEND, identity] != "refused":
                promise(f"{case.id} {attacks.WHAT[case.probe][1]}: {case.expect[BACKEND, identity]} (pool, {identity})")(
                    attack(case, identity))
        for kind in BOXES:
            for name in attacks.LOOKS:
                promise(f"after box {kind}: {name} (pool, {identity})")(
                    attacks.look(BACKEND, identity, kind, "strict", name))


if __name__ == "__main__":
    box.launch = launch
    register()
    try:
        main()
    finally:
        box.finish()
