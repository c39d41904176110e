"""Every lint against a sample it must accept and samples it must refuse: a lint that finds nothing
in a bad tree protects nothing."""

import pathlib
import sys
import tempfile

import banned
import hygiene
import layers
import lengths
import workflows

ARCHITECTURE = """# A
## Who may include whom
| room | may include |
|---|---|
| `base` | nothing |
| `policy` | `base`, `egress/hosts` |
| `egress` | `base` |
| `run` | `base`, `os.h` |
| `os.h` | `base` |
| `win`, `posix` | `base`, `os.h` |
| `posix/init` | `base/banned`, `posix/plan.h` |
## Next
| `base` | `policy` |
"""
BAN = "/* Bans. */\n#undef strcpy\n#define strcpy(...) SBX_BANNED(strcpy)\n"
LAST = '#include "common/base/banned.h"\n'
WORKFLOW = """# A workflow.
name: w

on:
  push:
    branches: [main]
  pull_request:

permissions:
  contents: read

concurrency:
  group: w-${{ github.ref }}

jobs:
  one:
    runs-on: ${{ matrix.os }}
    timeout-minutes: 5
    strategy:
      matrix:
        os: [windows-2022, windows-2025]
    steps:
      - name: Check out
        uses: actions/checkout@0123456789abcdef0123456789abcdef01234567 # v4.2.2
        with:
          persist-credentials: false
      - name: Build
        shell: cmd
        run: |
          cmake --preset p # configure
          cmake --build --preset p
          ctest --preset p

          python scripts\\x build\\p\\y
"""
PRESETS = '{"configurePresets": [{"name": "p"}], "buildPresets": [{"name": "p"}], "testPresets": [{"name": "p"}]}'
GOOD = {
    ".github/workflows/w.yml": WORKFLOW,
    "CMakePresets.json": PRESETS,
    "docs/ARCHITECTURE.md": ARCHITECTURE,
    "common/base/banned.h": BAN,
    "common/base/a.c": "/* A file; strcpy(a, b) in a comment. */\n#include <stdio.h>\n" + LAST
        + 'const char *f(void)\n{\n    return "strcpy(a, b) { #if";\n}\n',
    "common/policy/p.c": '/* P. */\n#include "common/base/banned.h"\n#include "common/egress/hosts.h"\n'
        + LAST,
    "posix/init/i.c": '/* I. */\n#include "posix/init/i.h"\n#include "posix/plan.h"\n' + LAST,
    "win/main_x.c": '/* M. */\n#include <windows.h>\n#include "common/policy/p.h"\n' + LAST,
    "scripts/x": "apt-get install x\n",
}


def function_of(lines):
    return "static int f(void)\n{\n" + "    g();\n" * (lines - 3) + "}\n"


# (what is wrong, the lint that must see it, file, its text)
BAD = [
    ("an upward include", layers.check_layers, "common/base/b.c",
     '/* B. */\n#include "common/policy/p.h"\n' + LAST),
    ("an include of one header too many", layers.check_layers, "common/policy/q.c",
     '/* Q. */\n#include "common/egress/classify.h"\n' + LAST),
    ("win including posix", layers.check_layers, "win/w.c",
     '/* W. */\n#include "posix/fd.h"\n' + LAST),
    ("sbx-init including more of posix than it may", layers.check_layers, "posix/init/j.c",
     '/* J. */\n#include "posix/fd.h"\n' + LAST),
    ("a file that is no program including what only a program may", layers.check_layers, "win/mainly.c",
     '/* W. */\n#include "common/policy/p.h"\n' + LAST),
    ("an include not from the root", layers.check_layers, "common/base/c.c",
     '/* C. */\n#include "a.h"\n' + LAST),
    ("a room without a row", layers.check_layers, "common/extra/e.c", "/* E. */\n" + LAST),
    ("a document without the table", layers.check_layers, "docs/ARCHITECTURE.md", "# A\n"),
    ("a system header in common/", layers.check_headers, "common/base/d.h",
     "/* D. */\n#include <unistd.h>\n"),
    ("windows.h in common/", layers.check_headers, "common/base/d.h",
     "/* D. */\n# include <windows.h>\n"),
    ("an #ifdef on Windows in common/", layers.check_conditions, "common/base/d.h",
     "/* D. */\n#ifdef _WIN32\n#endif\n"),
    ("an #elif on Linux over two lines", layers.check_conditions, "common/base/d.h",
     "/* D. */\n#if defined(X) || \\\n    defined(__linux__)\n#endif\n"),
    ("a call of a banned function", banned.check_calls, "posix/e.c",
     "/* E. */\n" + LAST + "int f(void) { strcpy (a, b); }\n"),
    ("a banned function by its address", banned.check_calls, "posix/e.c",
     "/* E. */\n" + LAST + "char *(*f)(char *, const char *) = strcpy;\n"),
    ("a lifted ban", banned.check_calls, "posix/e.c", "/* E. */\n" + LAST + "#undef strcpy\n"),
    ("an empty list of bans", banned.check_calls, "common/base/banned.h", "/* Bans. */\n"),
    ("a source without the bans", banned.check_included_last, "posix/e.c",
     "/* E. */\n#include <stdio.h>\n"),
    ("an include after the bans", banned.check_included_last, "posix/e.c",
     "/* E. */\n" + LAST + "#include <stdio.h>\n"),
    ("a function of 81 lines", lengths.check_functions, "common/base/f.c",
     "/* F. */\n" + function_of(81)),
    ("a long function behind a table and a macro", lengths.check_functions, "common/base/f.c",
     "/* F. */\n#define OPEN {\nint t[] = {1, 2};\nstruct s {\n    int a;\n};\n" + function_of(81)),
    ("braces that do not match", lengths.check_functions, "common/base/f.c", "/* F. */\nint f(void) {\n"),
    ("a file of 601 lines", lengths.check_files, "common/base/g.c", "/* G. */\n" + "int x;\n" * 600),
    ("a file that starts with code", lengths.check_first_lines, "common/base/h.h", "#pragma once\n"),
    ("a file that starts with an empty comment", lengths.check_first_lines, "common/base/h.h",
     "/*\n * H.\n */\n"),
    ("the checkout's own path", hygiene.check_machine, "README.md", "see {root}/docs\n"),
    ("a package host in a script", hygiene.check_hosts, "scripts/y",
     "curl https://registry.npm" + "js.org/x\n"),
    *((what, lint, ".github/workflows/w.yml", WORKFLOW.replace(old, new)) for what, lint, old, new in (
        ("an anchor", workflows.check_form, "name: w", "name: &a w"),
        ("a key that is there twice", workflows.check_form, "    timeout-minutes: 5", "    runs-on: a\n    timeout-minutes: 5"),
        ("a tab", workflows.check_form, "    timeout-minutes", "\ttimeout-minutes"),
        ("a line that is indented too far", workflows.check_form, "    timeout-minutes", "      timeout-minutes"),
        ("a mapping in a value", workflows.check_form, "name: w", "name: a: b"),
        ("permissions to write", workflows.check_whole, "contents: read", "contents: write"),
        ("a workflow without permissions", workflows.check_whole, "permissions:\n  contents: read\n", ""),
        ("a job without a timeout", workflows.check_whole, "    timeout-minutes: 5\n", ""),
        ("another machine", workflows.check_whole, "windows-2025]", "windows-latest]"),
        ("a secret", workflows.check_whole, "cmake --preset p #", "echo ${{ secrets.X }}"),
        ("what others send, with rights", workflows.check_whole, "pull_request:", "pull_request_target:"),
        ("an action that can change", workflows.check_steps, "@0123456789abcdef0123456789abcdef01234567", "@v4"),
        ("credentials left behind", workflows.check_steps, "persist-credentials: false", "persist-credentials: true"),
        ("a step that uses and runs", workflows.check_steps, "        shell: cmd\n", "        shell: cmd\n        uses: a/b@v1.2.3\n"),
        ("a step without a shell", workflows.check_steps, "        shell: cmd\n", ""),
        ("a misspelt key", workflows.check_steps, "        shell: cmd\n", "        shell: cmd\n        fi: always()\n"),
        ("an expression of others", workflows.check_steps, "# configure", "${{ github.event.title }}"),
        ("a matrix key that is not there", workflows.check_steps, "# configure", "${{ matrix.compiler }}"),
        ("a preset that is not there", workflows.check_named, "ctest --preset p", "ctest --preset q"),
        ("a script that is not there", workflows.check_named, "scripts\\x", "scripts\\z"),
        ("a directory that nobody built", workflows.check_named, "build\\p\\y", "build\\q\\y"),
    )),
    ("an unfinished place", hygiene.check_unfinished, "common/base/i.h", "/* I. TO" + "DO later. */\n"),
]
LIMITS = [
    ("a function of 80 lines", lengths.check_functions, "common/base/f.c", "/* F. */\n" + function_of(80)),
    ("a file of 600 lines", lengths.check_files, "common/base/g.c", "/* G. */\n" + "int x;\n" * 599),
]


def findings_for(lint, files):
    # Two levels, so that the checkout's parent is a place of its own too.
    with tempfile.TemporaryDirectory() as place:
        root = pathlib.Path(place).resolve() / "checkout"
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text.replace("{root}", str(root)), encoding="utf-8")
        return lint(root)


def cases():
    every = [lint for module in (layers, banned, lengths, hygiene, workflows) for _, lint in module.LINTS]
    for lint in every:
        yield f"{lint.__module__}.{lint.__name__} accepts a good tree", not findings_for(lint, GOOD)
    for what, lint, name, text in LIMITS:
        yield f"{lint.__name__} accepts {what}", not findings_for(lint, GOOD | {name: text})
    for what, lint, name, text in BAD:
        yield f"{lint.__name__} refuses {what}", bool(findings_for(lint, GOOD | {name: text}))
    tried = {lint for _, lint, _, _ in BAD}
    yield "every lint has a sample it must refuse", tried >= set(every)


def main():
    failed = 0
    number = 0
    for number, (promise, held) in enumerate(cases(), 1):
        print(f"{'ok' if held else 'not ok'} {number} - {promise}")
        failed += not held
    print(f"1..{number}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
