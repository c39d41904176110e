"""Writes the golden profiles and the questions that a kernel can be asked, for sbx-oracle on a Mac.
usage: SBX_PLANS=… export.py DIRECTORY"""

import pathlib
import sys

import matrix
import profiles
import questions
import sbpl

# What the public accounts explain best; the oracle tells where it is wrong.
READING = ("tree", "else", "self", "exact", "own")


def askable(question):
    """(kind, value) for sandbox_check, which knows neither types of files, addresses nor targets; None: it cannot be asked."""
    if "path" in question and question.get("type") in (questions.FILE, questions.LINK) and "extensions" not in question:
        return "path", question["path"]
    if "service" in question:
        return "service", question["service"]
    return None if question else ("none", "")


def main():
    place = pathlib.Path(sys.argv[1])
    place.mkdir(parents=True, exist_ok=True)
    total = 0
    for stem, plan in profiles.plans().items():
        plan = plan["macos"]
        if plan["refused"]:
            continue
        rules = profiles.rules(stem)
        lines = []
        for _, call in profiles.asked(stem):
            for operation, question in questions.parts_of(call):
                kind = askable(question)
                if kind and not any(char in kind[1] for char in "\t\n"):
                    verdict = "deny" if READING in matrix.denied(rules, [(operation, question)]) else "allow"
                    lines.append("\t".join((verdict, operation, *kind)))
        lines = list(dict.fromkeys(lines))
        total += len(lines)
        (place / f"{stem}.sb").write_text(plan["profile"], encoding="ascii")
        (place / f"{stem}.values").write_text("".join(f"{value}\n" for value in plan["parameters"]), encoding="utf-8")
        (place / f"{stem}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(list(place.glob('*.sb')))} profiles, {total} questions")
    sys.exit(0 if total > 1000 and sbpl.READINGS else 1)


if __name__ == "__main__":
    main()
