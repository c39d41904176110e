"""The table of docs/PLATFORMS.md: what each platform plans for the same manifests. usage: SBX_PLANS=… platforms.py [--write]"""

import pathlib
import sys

import profiles

DOCUMENT = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/PLATFORMS.md"
BEGIN, END = "<!-- planned:begin -->", "<!-- planned:end -->"
PLATFORMS = (("linux", "Linux, native"), ("macos", "macOS, seatbelt"), ("windows", "Windows, appcontainer"))
GROUPS = (("filesystem", "network", "syscalls"), ("memory", "cpu", "processes"), ("environment", "handles", "terminal"))
LETTERS = {"enforced": "E", "best-effort": "b", "none": "n", "not asked": "–"}


def cell(plan):
    if plan["refused"]:
        return "refused: " + ", ".join(dict.fromkeys(plan["refused"]))
    if plan["chosen"] != plan["backend"]:
        return "refused: a required dimension would not be enforced"
    return "`" + " ".join("".join(LETTERS[plan["tiers"][name]] for name in group) for group in GROUPS) + "`"


def table():
    lines = ["| manifest | " + " | ".join(title for _, title in PLATFORMS) + " |", "|---|" + "---|" * len(PLATFORMS)]
    for stem, plan in profiles.plans().items():
        lines.append(f"| {stem} | " + " | ".join(cell(plan[name]) for name, _ in PLATFORMS) + " |")
    return lines


def main():
    wanted = "\n".join([BEGIN, *table(), END])
    text = DOCUMENT.read_text(encoding="utf-8")
    if "--write" in sys.argv:
        head = text.split(BEGIN)[0].rstrip("\n")
        DOCUMENT.write_text(f"{head}\n\n{wanted}\n", encoding="utf-8")
        return
    plans = profiles.plans()
    checks = [
        ("there are forty manifests", len(plans) == 40),
        ("the table of docs/PLATFORMS.md is what the plans say", wanted in text),
        ("no platform refuses what it can hold: every refusal is a policy that is unsupported", all(
            set(plan[name]["refused"]) <= {"policy-unsupported", "path-forbidden"}
            for plan in plans.values() for name, _ in PLATFORMS)),
        ("files and variables are held wherever a manifest is not refused", all(
            plan[name]["tiers"][dimension] == "enforced" for plan in plans.values() for name, _ in PLATFORMS
            for dimension in ("filesystem", "environment", "handles") if not plan[name]["refused"])),
    ]
    print(f"1..{len(checks)}")
    for number, (promise, held) in enumerate(checks, 1):
        print(f"{'ok' if held else 'not ok'} {number} - {promise}")
    sys.exit(0 if all(held for _, held in checks) else 1)


if __name__ == "__main__":
    main()
