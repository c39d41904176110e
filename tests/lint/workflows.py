"""Workflows of the hosted machines, which nothing here can run: their form, and that what they name exists.

They are written in a part of YAML that is read here without a library; anything else is a finding. Where PyYAML is
installed, both must read the same."""

import json
import re

import source

FOLDER = ".github/workflows"
RUNNERS = {"windows-2022", "windows-2025", "macos-14", "macos-15", "macos-15-intel"}
PINNED = re.compile(r"[\w.-]+/[\w./-]+@(?:[0-9a-f]{40}|v\d+\.\d+\.\d+)")
SHELLS = {"bash", "pwsh", "cmd", "msys2 {0}"}
STEP_KEYS = {"name", "if", "uses", "with", "run", "shell", "env", "continue-on-error", "id", "working-directory"}
SCRIPT = re.compile(r"\b(?:scripts|tests|\.ci)[\\/][\w./\\-]+")
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
KNOWN = re.compile(r"(?:matrix\.(\w+)|github\.ref)")


class Bad(Exception):
    """What is not in the part of YAML that is read."""


def scalar(text, number):
    text = re.sub(r"\s+#.*$", "", text).strip()
    if text.startswith("[") and text.endswith("]"):
        return [scalar(part, number) for part in text[1:-1].split(",") if part.strip()]
    if text[:1] in ("{", "&", "*", "!", "|", ">", "@", "`", "%"):
        raise Bad(f"line {number}: {text!r} is more YAML than is read here")
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        if "\\" in text and text[0] == '"':
            raise Bad(f"line {number}: an escape")
        return text[1:-1]
    if text[:1] in "'\"" and text:
        raise Bad(f"line {number}: a quote that does not end")
    if ": " in text or text.endswith(":"):
        raise Bad(f"line {number}: a mapping in one line: {text!r}")
    return {"true": True, "false": False, "": None}.get(text, int(text) if re.fullmatch(r"\d+", text) else text)


class Reader:
    """Mappings, lists, plain and quoted scalars, and the blocks | and >-."""

    def __init__(self, text):
        self.lines = text.splitlines()
        self.at = 0

    def skip(self):
        while self.at < len(self.lines) and re.fullmatch(r"\s*(#.*)?", self.lines[self.at]):
            self.at += 1

    def indent(self):
        self.skip()
        if self.at >= len(self.lines):
            return -1
        line = self.lines[self.at]
        if "\t" in line:
            raise Bad(f"line {self.at + 1}: a tab")
        return len(line) - len(line.lstrip(" "))

    def block(self, style, least):
        taken = []
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.strip() and len(line) - len(line.lstrip(" ")) < least:
                break
            taken.append(line)
            self.at += 1
        while taken and not taken[-1].strip():
            taken.pop()
        width = min((len(line) - len(line.lstrip(" ")) for line in taken if line.strip()), default=0)
        taken = [line[width:] for line in taken]
        return "\n".join(taken) + "\n" if style == "|" else " ".join(taken)

    def value(self, text, indent):
        stripped = re.sub(r"\s+#.*$", "", text).strip()
        self.at += 1
        if stripped in ("|", ">-"):
            return self.block(stripped, indent + 1)
        if stripped:
            return scalar(text, self.at)
        deeper = self.indent()
        is_list = deeper == indent and self.lines[self.at].lstrip().startswith("- ")
        return self.node(deeper) if deeper > indent or is_list else None

    def node(self, indent):
        return self.sequence(indent) if self.lines[self.at].lstrip().startswith("- ") else self.mapping(indent)

    def sequence(self, indent):
        items = []
        while self.indent() == indent and self.lines[self.at].lstrip().startswith("- "):
            line = self.lines[self.at]
            rest = line[indent + 2:]
            if re.match(r"[\w-]+:(\s|$)", rest):
                self.lines[self.at] = " " * (indent + 2) + rest
                items.append(self.mapping(indent + 2))
            else:
                items.append(self.value(rest, indent))
        return items

    def mapping(self, indent):
        found = {}
        while self.indent() == indent:
            line = self.lines[self.at]
            match = re.fullmatch(r"\s*([\w.-]+):(?:\s+(.*))?", line)
            if match is None:
                raise Bad(f"line {self.at + 1}: {line.strip()!r} is no key")
            if match.group(1) in found:
                raise Bad(f"line {self.at + 1}: the key {match.group(1)} is there twice")
            found[match.group(1)] = self.value(match.group(2) or "", indent)
        if self.indent() > indent:
            raise Bad(f"line {self.at + 1}: it is indented too far")
        return found


def parse(text):
    reader = Reader(text)
    if reader.indent() != 0:
        raise Bad("it does not begin with a key")
    found = reader.mapping(0)
    if reader.indent() >= 0:
        raise Bad(f"line {reader.at + 1}: it is not read to its end")
    return found


def workflows(root):
    for path in source.project_files(root):
        if path.parent.as_posix() == FOLDER:
            yield path, source.read(root / path)


def each(root, check):
    """The findings of `check` over every workflow that can be read."""
    findings = []
    for path, text in workflows(root):
        try:
            found = parse(text)
        except Bad:
            continue  # check_form tells
        findings += [f"{path}: {finding}" for finding in check(root, found, text)]
    return findings


def steps_of(found):
    for name, job in (found.get("jobs") or {}).items():
        for number, step in enumerate((job or {}).get("steps") or [], 1):
            yield f"{name}, step {number}", job, step


# ---- what is checked ----

def check_form(root):
    findings = []
    for path, text in workflows(root):
        try:
            found = parse(text)
        except Bad as problem:
            findings.append(f"{path}: {problem}")
            continue
        try:
            import yaml
        except ImportError:
            continue
        other = yaml.safe_load(text)
        if True in other:  # what YAML 1.1 makes of "on"
            other["on"] = other.pop(True)
        if other != found:
            findings.append(f"{path}: PyYAML reads something else")
    return findings


def whole(_, found, text):
    for key in ("name", "on", "permissions", "concurrency", "jobs"):
        if not found.get(key):
            yield f"it has no {key}"
    if found.get("permissions") != {"contents": "read"}:
        yield "its permissions are more than reading the contents"
    if "secrets." in text or "pull_request_target" in text:
        yield "it uses secrets, or runs what others send with rights"
    for name, job in (found.get("jobs") or {}).items():
        if not isinstance(job.get("timeout-minutes"), int):
            yield f"{name} has no timeout"
        if "permissions" in job:
            yield f"{name} has permissions of its own"
        runner = job.get("runs-on")
        matrix = ((job.get("strategy") or {}).get("matrix") or {})
        names = matrix.get("os", []) if runner == "${{ matrix.os }}" else [runner]
        if not names or not set(names) <= RUNNERS:
            yield f"{name} runs on {names}"
        if not job.get("steps"):
            yield f"{name} has no steps"


def steps(_, found, __):
    for where, job, step in steps_of(found):
        matrix = ((job.get("strategy") or {}).get("matrix") or {})
        if not step.get("name"):
            yield f"{where} has no name"
        if ("uses" in step) == ("run" in step):
            yield f"{where} must either use or run something"
        if not set(step) <= STEP_KEYS:
            yield f"{where} has {sorted(set(step) - STEP_KEYS)}"
        if "run" in step and step.get("shell") not in SHELLS:
            yield f"{where} does not say in which shell it runs"
        if "uses" in step and not PINNED.fullmatch(step["uses"]):
            yield f"{where} uses {step['uses']}, which can change"
        if step.get("uses", "").startswith("actions/checkout@") and (
                (step.get("with") or {}).get("persist-credentials") is not False):
            yield f"{where} leaves credentials in the checkout"
        for expression in EXPRESSION.findall(json.dumps(step)):
            match = KNOWN.fullmatch(expression)
            if match is None or (match.group(1) and match.group(1) not in matrix):
                yield f"{where} uses the expression {expression}"


def named(root, found, _):
    presets = json.loads(source.read(root / "CMakePresets.json"))
    known = {kind: {preset["name"] for preset in presets.get(kind, []) if not preset.get("hidden")}
             for kind in ("configurePresets", "buildPresets", "testPresets")}
    built = set()
    for where, _, step in steps_of(found):
        text = step.get("run", "")
        for pattern, kind in ((r"cmake --preset (\S+)", "configurePresets"),
                              (r"cmake --build --preset (\S+)", "buildPresets"),
                              (r"ctest --preset (\S+)", "testPresets")):
            for name in re.findall(pattern, text):
                built.add(name)
                if name not in known[kind]:
                    yield f"{where}: no preset {name} in {kind}"
        for name in re.findall(r"build[\\/]([\w-]+)[\\/]", json.dumps(step).replace("\\\\", "\\")):
            if name not in built:
                yield f"{where}: build/{name} is built by no step before"
        for name in SCRIPT.findall(text):
            if not (root / name.replace("\\", "/")).is_file():
                yield f"{where}: {name} does not exist"


def check_whole(root):
    return each(root, whole)


def check_steps(root):
    return each(root, steps)


def check_named(root):
    return each(root, named)


LINTS = [
    ("workflows are in the part of YAML that is read here", check_form),
    ("workflows ask for no rights, end by themselves, and run on machines that we mean", check_whole),
    ("every step does one thing, with actions that cannot change", check_steps),
    ("presets, directories and scripts that workflows name exist", check_named),
]

if __name__ == "__main__":
    source.main("workflows", LINTS)
