"""That what the documents show is what happens. usage: examples.py ROOT SBX

A "console" block has commands ("$ …", continued by "> …") and what they print, both streams. In what
is printed "…" stands for any text of a line, a line of it for any lines, and "(status N)" for the exit
status, 0 when it is not told. The mark above the block says how:
    <!-- run -->                 in a new directory "project" below a new home
    <!-- run: COMMAND -->        the same, after COMMAND, which readers do not see
    <!-- run on -->              where the block before it ended
    <!-- box --> <!-- box: COMMAND --> <!-- box on -->     the same where a box can be built
    <!-- not run: REASON -->
A "toml" or "json" block is a manifest:
    <!-- verify: PLATFORM… -->   it has no errors and no warnings there
    <!-- verify: PLATFORM… after COMMAND -->
    <!-- not verified: REASON -->
A block without a mark is a finding: nothing is shown that nobody checks by accident. Manifests in
examples/ say the same in their first lines: "# Platforms: …" and "# First: COMMAND"; a command runs under
each of them, or sbx says which part of it this machine or build cannot hold."""

import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import document

SHOWN_LANGUAGES = ("console", "toml", "json")
SECONDS = 60


class Place:
    """A new home with an empty directory "project", and sbx first in PATH."""

    def __init__(self, sbx):
        self.folder = tempfile.TemporaryDirectory(prefix="sbx-docs-")
        self.home = pathlib.Path(self.folder.name).resolve()
        self.project = self.home / "project"
        (self.home / "bin").mkdir()
        self.project.mkdir()
        (self.home / "bin/sbx").symlink_to(sbx)
        self.environment = {"PATH": f"{self.home}/bin:/usr/local/bin:/usr/bin:/bin",
                            "HOME": str(self.home), "LC_ALL": "C.UTF-8"}

    def run(self, command):
        """(status, what it printed on both streams)"""
        done = subprocess.run(["bash", "-c", command], cwd=self.project, env=self.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=SECONDS, check=False)
        return done.returncode, done.stdout.decode("utf-8", "replace")


def steps(text):
    """[(command, expected lines)] of a console block."""
    found = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.startswith("> ") and found and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line[2:]}", [])
        elif found:
            found[-1][1].append(line)
    return found


def pattern(lines):
    parts = []
    for line in lines:
        if line == "…":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(".*".join(re.escape(part) for part in line.rstrip().split("…")) + r" *\n")
    return re.compile("".join(parts))


def run_block(place, block, where):
    if not steps(block.text):
        return [f"{where}: no command"]
    for command, lines in steps(block.text):
        want = 0
        lines = list(lines)
        while lines and not lines[-1]:
            lines.pop()
        status = re.fullmatch(r"\(status (\d+)\)", lines[-1]) if lines else None
        if status:
            want = int(status.group(1))
            lines.pop()
        got, printed = place.run(command)
        if got != want:
            return [f"{where}: $ {command}", f"status {got}, the document says {want}", printed]
        if not pattern(lines).fullmatch(printed):
            return [f"{where}: $ {command}", "printed:", printed, "the document says:", *lines]
    return []


def check_console(path, text, sbx, kind="run"):
    """The blocks of one kind, "run" or "box". The first also finds blocks without a mark."""
    findings = []
    place = None
    for block in document.blocks(text):
        if block.language != "console" or block.mark.startswith("not run: "):
            continue
        where = f"{path.name}:{block.line}"
        word, _, setup = block.mark.partition(": ")
        if word not in ("run", "run on", "box", "box on"):
            if kind == "run":
                findings.append(f"{where}: a console block needs a mark (see tests/docs/examples.py)")
            continue
        if word.split()[0] != kind:
            continue
        if word.endswith(" on") and place is None:
            findings.append(f"{where}: there is no block before it to go on from")
            continue
        if word == kind:
            place = Place(sbx)
        if setup and place.run(setup)[0] != 0:
            findings.append(f"{where}: its set-up failed: {setup}")
        findings += run_block(place, block, where)
    return findings


def verify(sbx, where, name, text, platforms, setup):
    """A manifest in a new place has no errors and no warnings."""
    place = Place(sbx)
    (place.project / name).write_text(text, encoding="utf-8")
    if setup and place.run(setup)[0] != 0:
        return [f"{where}: its set-up failed: {setup}"]
    findings = []
    for platform in platforms:
        status, printed = place.run(f"sbx verify -q --platform {platform} {name} &&"
                                    f" sbx verify --platform {platform} {name} | grep -c warning")
        if status != 1 or printed != f"{name}: ok\n0\n":
            findings += [f"{where}: on {platform}:", printed]
    return findings


def check_manifests(path, text, sbx):
    findings = []
    for block in document.blocks(text):
        if block.language not in ("toml", "json") or block.mark.startswith("not verified: "):
            continue
        where = f"{path.name}:{block.line}"
        word, _, rest = block.mark.partition(": ")
        if word == "end" or re.match(r"generated:", block.mark):
            continue
        if word != "verify":
            findings.append(f"{where}: a manifest needs a mark (see tests/docs/examples.py)")
            continue
        platforms, _, setup = rest.partition(" after ")
        name = "sbx.toml" if block.language == "toml" else "sbx.json"
        findings += verify(sbx, where, name, block.text, platforms.split(), setup)
    return findings


# What a value can be wrong in itself, wherever it is used.
WRONG_VALUES = {"syntax", "unknown-key", "wrong-type", "bad-value", "out-of-range"}


def check_key_examples(text, sbx):
    """The value that the table shows for each key is one the key takes."""
    shown = re.search(r"<!-- generated:key-examples -->\n```toml\n(.*?)```", text, re.S)
    if not shown:
        return ["no examples of keys are shown"]
    place = Place(sbx)
    findings = []
    for line in shown.group(1).splitlines():
        (place.project / "key.toml").write_text(f"[sandbox]\n{line}\n", encoding="utf-8")
        printed = place.run("sbx verify --json key.toml")[1]
        codes = {finding["code"] for finding in json.loads(printed)["files"][0]["findings"]}
        if codes & WRONG_VALUES:
            findings += [line, printed]
    return findings


def check_json_keys(text, sbx):
    """The keys of a plan that the manual tells of are the keys it has."""
    told = set(re.findall(r"`plan\.(\w+)`", text))
    printed = Place(sbx).run("sbx explain --json -- ls")[1]
    has = set(json.loads(printed)["plan"])
    return [f"plan.{key} is not told of" for key in sorted(has - told)] + [
        f"plan.{key} does not exist" for key in sorted(told - has)]


def check_example(path, sbx):
    text = document.read(path)
    platforms = re.search(r"^# Platforms: (.*)$", text, re.M)
    setup = re.search(r"^# First: (.*)$", text, re.M)
    if not platforms:
        return [f'{path.name}: no line "# Platforms: …"']
    return verify(sbx, path.name, "sbx.toml", text, platforms.group(1).replace(",", " ").split(),
                  setup.group(1) if setup else "")


# What keeps an example from running is told in these words, and is no fault of the example.
CANNOT = ("the egress gate is not available", "no cgroup can be made here")


def check_example_runs(path, sbx):
    text = document.read(path)
    place = Place(sbx)
    (place.project / "box.toml").write_text(text, encoding="utf-8")
    setup = re.search(r"^# First: (.*)$", text, re.M)
    if setup:
        place.run(setup.group(1))
    status, printed = place.run("sbx run -f box.toml -- true")
    is_refused = status == 125 and any(words in printed for words in CANNOT)
    return [] if status == 0 or is_refused else [f"{path.name}: status {status}", printed]


def why_no_box(sbx):
    """None where a box can be built."""
    status, printed = Place(sbx).run("sbx run -- true")
    if status == 0:
        return None
    return next((line.strip() for line in printed.splitlines() if "tried: bwrap" in line), "no box can be built here")


def in_box(promise, missing, check):
    if missing is None:
        return promise, check(), None
    return promise, [missing] if document.skips_are_failures("box") else [], missing


def main():
    root, sbx = document.root_argument(), os.path.realpath(sys.argv[2])
    cases = []
    missing = why_no_box(sbx)
    for path in document.documents(root):
        text = document.read(path)
        name = path.relative_to(root)
        languages = {block.language for block in document.blocks(text)}
        if "console" in languages:
            cases.append((f"what {name} shows is what happens", check_console(path, text, sbx), None))
        if any(block.mark.startswith("box") for block in document.blocks(text)):
            cases.append(in_box(f"what {name} shows of boxes is what happens", missing,
                                functools.partial(check_console, path, text, sbx, "box")))
        if languages & {"toml", "json"}:
            cases.append((f"manifests in {name} are right", check_manifests(path, text, sbx), None))
    manual = document.read(root / "docs/MANIFEST.md")
    cases.append(("examples of keys are right", check_key_examples(manual, sbx), None))
    cases.append(("keys of a plan in JSON are told", check_json_keys(manual, sbx), None))
    examples = sorted((root / "examples").glob("*.toml"))
    if not examples:
        cases.append(("there are examples", ["examples/ has no manifest"], None))
    for path in examples:
        cases.append((f"examples/{path.name} is right", check_example(path, sbx), None))
        cases.append(in_box(f"a command runs under examples/{path.name}, or what is missing is told", missing,
                            functools.partial(check_example_runs, path, sbx)))
    document.report("documents: examples", cases)


if __name__ == "__main__":
    main()
