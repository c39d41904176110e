"""How long functions and files may be, and that a C file opens by saying what it is."""

import re

import source

MAX_FUNCTION_LINES = 80
MAX_FILE_LINES = 600
FOLDERS = source.ROOMS + ("tests",)
# A file that is longer for a reason a reader would accept: path -> (lines, reason).
LONGER = {}


def functions(text):
    """(first line, last line) of every function body with its head; None where braces do not match."""
    code = source.code_only(text)
    # Macros may hold half a block.
    code = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: re.sub(r"[^\n]", " ", m.group()), code,
                  flags=re.M)
    depth = 0
    head = 0  # where the current top-level declaration starts
    start = None
    for at, char in enumerate(code):
        if char == "{":
            if depth == 0 and re.search(r"\)\s*\Z", code[head:at]):
                start = head + len(code[head:at]) - len(code[head:at].lstrip())
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                if start is not None:
                    yield code.count("\n", 0, start) + 1, code.count("\n", 0, at) + 1
                    start = None
                head = at + 1
        elif char == ";" and depth == 0:
            head = at + 1
    if depth != 0:
        yield None


def check_functions(root):
    findings = []
    for path in source.c_files(root, FOLDERS):
        for span in functions(source.read(root / path)):
            if span is None:
                findings.append(f"{path}: braces do not match")
            elif span[1] - span[0] + 1 > MAX_FUNCTION_LINES:
                findings.append(f"{path}:{span[0]}: a function of {span[1] - span[0] + 1} lines")
    return findings


def check_files(root):
    findings = []
    for path in source.c_files(root, FOLDERS, (".c", ".h", ".py")):
        lines = len(source.read(root / path).splitlines())
        allowed = LONGER.get(path.as_posix(), (MAX_FILE_LINES, ""))[0]
        if lines > allowed:
            findings.append(f"{path}: {lines} lines")
    return findings


def check_first_lines(root):
    findings = []
    for path in source.c_files(root, FOLDERS):
        first = source.read(root / path).split("\n", 1)[0]
        if not re.match(r"/\*\s*\w|//\s*\w", first):
            findings.append(f"{path}:1: does not say what the file is")
    return findings


LINTS = [
    (f"no function is longer than {MAX_FUNCTION_LINES} lines", check_functions),
    (f"no file is longer than {MAX_FILE_LINES} lines", check_files),
    ("line 1 of a C file says what it is", check_first_lines),
]

if __name__ == "__main__":
    source.main("lengths", LINTS)
