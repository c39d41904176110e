"""Every test of the documents against samples it must accept and samples it must refuse: one that finds
nothing in a wrong document protects nothing. usage: controls.py SBX"""

import os
import pathlib
import shutil
import sys
import tempfile

import consistent
import document
import examples
import generated
import pages

GOOD = {
    "README.md": """# A
## What is enforced where
| `bwrap` | linux | not yet |
| `none` | all | in |
## Next
[docs](docs/B.md#two-words) `tests/x.c` `make run`
""",
    "docs/B.md": "## Two words\n[up](../README.md)\n<!-- generated:t -->\n| a |\n<!-- end -->\n",
    "docs/man/sbx.1": """.TH SBX 1 "2026-01-01" "sbx" "sbx manual"
.SH NAME
sbx \\- a
.SH ENVIRONMENT
.TP
\\fBHOME\\fR
A.
.TP
\\fBSBX_SANDBOX\\fR
B.
.SH FILES
None.
""",
    "docs/man/sbxd.8": """.SH OPTIONS
.TP
.B \\-\\-stdio
A.
.TP
.BI \\-\\-warm " N"
B (default 4).
.SH ENVIRONMENT
.TP
.B XDG_RUNTIME_DIR
A.
.TP
.B LISTEN_PID
.SH FILES
None.
""",
    "posix/main_sbxd.c": '{"--warm", 0}, strcmp(word, "--stdio") "--worker"',
    "posix/sbxd_a.c": 'getenv("XDG_RUNTIME_DIR") getenv("LISTEN_PID")',
    "Makefile": "run: ## a\n",
    "tests/x.c": "",
    "posix/linux_backends.c": "{NULL}",
    "posix/macos_backends.c": "",
    "posix/plain_backends.c": "{NULL}",
    "win/platform_backends.c": "{NULL}",
    "common/a.c": 'sbx_os_env(&arena, "SBX_SANDBOX"); env_path(arena, "HOME", &x);',
}
TABLES = {"t": "| a |\n"}
SERVICE_HELP = "usage: sbxd\n\n  --stdio   a\n  --warm N  b\n            (default 4)\n"


def service(root):
    return pages.check_service_options(root, SERVICE_HELP)


# (promise, test, changes to the good tree); each must be found.
BAD = [
    ("a link to nothing", consistent.check_links, {"docs/B.md": "[x](C.md)"}),
    ("a link to no heading", consistent.check_links, {"docs/B.md": "[x](../README.md#nothing)"}),
    ("a link out of the tree", consistent.check_links, {"docs/B.md": "[x](https://example.com/)"}),
    ("a document nobody links", consistent.check_reachable, {"docs/C.md": "# C"}),
    ("a file that is gone", consistent.check_paths, {"docs/B.md": "see `tests/gone.c`"}),
    ("a target that is gone", consistent.check_make, {"docs/B.md": "`make gone`"}),
    ("a target that is gone in a block", consistent.check_make, {"docs/B.md": "```sh\nmake gone  # x\n```\n"}),
    ("a variable nobody tells of", consistent.check_variables,
     {"common/b.c": 'sbx_os_env(arena, "SECRET");'}),
    ("a variable nobody reads", consistent.check_variables,
     {"common/a.c": 'getenv("HOME") sbx_os_env(a, "SBX_SANDBOX")',
      "docs/man/sbx.1": GOOD["docs/man/sbx.1"].replace("HOME", "GONE")}),
    ("a variable of sbxd nobody tells of", consistent.check_service_variables,
     {"posix/sbxd_b.c": 'getenv("SECRET")'}),
    ("a variable sbxd does not read", consistent.check_service_variables,
     {"posix/sbxd_a.c": 'getenv("XDG_RUNTIME_DIR")'}),
    ("a variable of sbxd in sbx(1)", consistent.check_variables,
     {"docs/man/sbx.1": GOOD["docs/man/sbx.1"].replace(".SH FILES", "\\fBLISTEN_PID\\fR\n.SH FILES")}),
    ("an option of sbxd nobody tells of", service,
     {"posix/main_sbxd.c": GOOD["posix/main_sbxd.c"] + ' "--secret"'}),
    ("an option missing in sbxd(8)", service,
     {"docs/man/sbxd.8": GOOD["docs/man/sbxd.8"].replace("\\-\\-stdio", "A")}),
    ("an option missing in sbxd --help", lambda root: pages.check_service_options(root, "  --stdio\n"),
     {"docs/man/sbxd.8": GOOD["docs/man/sbxd.8"].replace(" (default 4)", "")}),
    ("an option sbxd does not take", service,
     {"posix/main_sbxd.c": '"--stdio"'}),
    ("another default in sbxd(8)", service,
     {"docs/man/sbxd.8": GOOD["docs/man/sbxd.8"].replace("default 4", "default 5")}),
    ("a backend that came in", consistent.check_status,
     {"posix/linux_backends.c": "{&sbx_backend_bwrap, NULL}"}),
    ("a backend that is not in", consistent.check_status,
     {"README.md": GOOD["README.md"].replace("not yet", "in")}),
    ("no table of backends", consistent.check_status, {"README.md": "# A"}),
    ("a table that is not the program's", lambda root: generated.check_tables(root, TABLES),
     {"docs/B.md": GOOD["docs/B.md"].replace("| a |", "| b |")}),
    ("a table without its end", lambda root: generated.check_tables(root, TABLES),
     {"docs/B.md": GOOD["docs/B.md"] + "<!-- generated:t -->\n"}),
    ("a table nobody knows", lambda root: generated.check_tables(root, {}), {}),
    ("a table in no document", lambda root: generated.check_tables(root, TABLES | {"u": ""}), {}),
    ("a page that is not the program's", lambda root: generated.check_pages(root, {"sbx.1": "x"}), {}),
    ("a page that is missing", lambda root: generated.check_pages(root, {"sbx.9": "x"}), {}),
]
ACCEPTED = [consistent.check_links, consistent.check_reachable, consistent.check_paths,
            consistent.check_make, consistent.check_variables, consistent.check_service_variables,
            consistent.check_status, service,
            lambda root: generated.check_tables(root, TABLES),
            lambda root: generated.check_pages(root, {"sbx.1": GOOD["docs/man/sbx.1"]})]

BAR = "```"
MANIFEST = f"{BAR}toml\n[sandbox]\nprofile = \"strict\"\n{BAR}\n"
SMALL = "max_memory_bytes = 2000000\n"
POSIX_ONLY = "user = 1\n"
CONSOLE = f"{BAR}console\n$ echo one; echo two; echo three\none\n…\nth…e\n{BAR}\n"
# (promise, test, document, whether it is right)
SHOWN = [
    ("output with gaps", examples.check_console, f"<!-- run -->\n{CONSOLE}", True),
    ("a block that goes on", examples.check_console,
     f"<!-- run: touch a -->\n{CONSOLE}\n<!-- run on -->\n{BAR}console\n$ ls\na\n{BAR}\n", True),
    ("a status that is told", examples.check_console,
     f"<!-- run -->\n{BAR}console\n$ exit 3\n(status 3)\n{BAR}\n", True),
    ("a command over two lines", examples.check_console,
     f"<!-- run -->\n{BAR}console\n$ cat <<E\n> a\n> E\na\n{BAR}\n", True),
    ("a block that is not run", examples.check_console, f"<!-- not run: why -->\n{CONSOLE}", True),
    ("a right manifest", examples.check_manifests, f"<!-- verify: linux windows -->\n{MANIFEST}", True),
    ("other output", examples.check_console, f"<!-- run -->\n{BAR}console\n$ echo a\nb\n{BAR}\n",
     False),
    ("more output", examples.check_console, f"<!-- run -->\n{BAR}console\n$ echo a; echo b\na\n{BAR}\n",
     False),
    ("another status", examples.check_console, f"<!-- run -->\n{BAR}console\n$ exit 3\n{BAR}\n", False),
    ("a failing set-up", examples.check_console, f"<!-- run: false -->\n{CONSOLE}", False),
    ("a console block without a mark", examples.check_console, CONSOLE, False),
    ("a manifest without a mark", examples.check_manifests, MANIFEST, False),
    ("a wrong manifest", examples.check_manifests,
     f"<!-- verify: linux -->\n{MANIFEST.replace('strict', 'strictly')}", False),
    ("a manifest with a warning", examples.check_manifests,
     f"<!-- verify: linux -->\n{MANIFEST.replace('profile', SMALL + 'profile')}", False),
    ("a manifest of another platform", examples.check_manifests,
     f"<!-- verify: windows -->\n{MANIFEST.replace('profile', POSIX_ONLY + 'profile')}", False),
]


def write_tree(folder, changes):
    root = pathlib.Path(folder).resolve()
    for name, text in (GOOD | changes).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def tree_cases():
    for test in ACCEPTED:
        with tempfile.TemporaryDirectory() as folder:
            yield "a good tree is accepted", test(write_tree(folder, {}))
    for promise, test, changes in BAD:
        with tempfile.TemporaryDirectory() as folder:
            found = test(write_tree(folder, changes))
            yield f"{promise} is found", [] if found else ["nothing was found"]


def shown_cases(sbx):
    for promise, test, text, is_right in SHOWN:
        found = test(pathlib.Path("sample.md"), text, sbx)
        wrong = found if is_right else ([] if found else ["nothing was found"])
        yield f"{promise} is {'accepted' if is_right else 'found'}", wrong


def page_cases(sbx):
    entry = ".TP\n\\fB\\-r\\fR, \\fB\\-\\-raw\\-arg\\fR \\fIARG\\fR\nhelp\n"
    flags = pages.flags_of_page(entry)
    yield "options of a page are seen", [] if flags == {"-r", "--raw-arg"} else [str(flags)]
    with tempfile.TemporaryDirectory() as folder:
        found = pages.check_options(write_tree(folder, {}), sbx)
        yield "a page without options is found", [] if found else ["nothing was found"]
    if shutil.which("mandoc"):
        bad = {"docs/man/sbx.1": ".SH NAME\n.XX\n", "docs/man/sbx.toml.5": GOOD["docs/man/sbx.1"]}
        with tempfile.TemporaryDirectory() as folder:
            found = pages.check_mandoc(write_tree(folder, bad))
            yield "a bad page is found by mandoc", [] if found else ["nothing was found"]


def main():
    sbx = os.path.realpath(sys.argv[1])
    cases = [*tree_cases(), *shown_cases(sbx), *page_cases(sbx)]
    document.report("documents: controls", [(promise, found, None) for promise, found in cases])


if __name__ == "__main__":
    main()
