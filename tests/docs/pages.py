"""That the man pages are good man(7), and tell of every option the help tells of, and of no other.
usage: pages.py ROOT SBX [SBXD]"""

import re
import shutil
import subprocess
import sys

import document

PAGES = ("docs/man/sbx.1", "docs/man/sbx.toml.5", "docs/man/sbxd.8")
SERVICE_PAGE = PAGES[2]
SERVICE_SOURCE = "posix/main_sbxd.c"
# How sbxd --system starts a user's process; nobody else can give it what it needs.
SERVICE_HIDDEN = {"--worker"}


def unescape(text):
    text = re.sub(r"^\.[BIR]{1,2} |\\f[BIR]", "", text)
    return text.replace(r"\-", "-").replace(r"\(aq", "'").replace(r"\e", "\\")


def flags_of_page(text):
    """Heads of entries that are options: {"-r", "--read", …}."""
    heads = re.findall(r"^\.TP\n(.*)$", text, re.M)
    return {flag for head in heads if unescape(head).startswith("-")
            for flag in re.findall(r"(?:^|, )(--?[A-Za-z][\w-]*)", unescape(head))}


def flags_of_help(text):
    return {flag for line in re.findall(r"^ {2,6}(-.*)$", text, re.M)
            for flag in re.findall(r"(?:^|, )(--?[A-Za-z][\w-]*)", line)}


def commands(sbx):
    overview = document.output(sbx, "help").partition("Start here")[0]
    return re.findall(r"^  ([a-z]+) {2,}", overview, re.M)


def check_options(root, sbx):
    names = commands(sbx)
    if "run" not in names:
        return ["sbx help lists no commands"]
    page = document.read(root / PAGES[0])
    told = set().union(*(flags_of_help(document.output(sbx, "help", name)) for name in names))
    findings = [f"{PAGES[0]} has no entry {flag}" for flag in sorted(told - flags_of_page(page))]
    findings += [f"{PAGES[0]} has {flag}, which no command takes"
                 for flag in sorted(flags_of_page(page) - told)]
    for name in names:
        if f".SS sbx {name}\n" not in page:
            findings.append(f"{PAGES[0]} has no section on sbx {name}")
    return findings


def defaults(entries, flag):
    """{option: default} of a text that says "(default N)" somewhere after the option."""
    found = {}
    for entry in entries:
        name, number = re.search(flag, entry), re.search(r"\(default (\d+)\)", entry)
        if name and number:
            found[name.group(1)] = number.group(1)
    return found


def check_service_options(root, text):
    """sbxd(8), what sbxd --help says (text), and the options that its source compares words with."""
    page = document.read(root / SERVICE_PAGE)
    told, there = flags_of_page(page), flags_of_help(text)
    taken = set(re.findall(r'"(--?[a-z][a-z-]*)"', document.read(root / SERVICE_SOURCE))) - SERVICE_HIDDEN
    if not taken:
        return [f"no option was found in {SERVICE_SOURCE}: the pattern of this test is out of date"]
    findings = [f"{SERVICE_PAGE} has no entry {flag}" for flag in sorted(taken - told)]
    findings += [f"{SERVICE_PAGE} has {flag}, which sbxd does not take" for flag in sorted(told - taken)]
    findings += [f"sbxd --help does not tell of {flag}" for flag in sorted(taken - there)]
    findings += [f"sbxd --help tells of {flag}, which sbxd does not take" for flag in sorted(there - taken)]
    of_page = defaults(unescape(page).split(".TP\n"), r"(--[a-z-]+)")
    of_help = defaults(re.split(r"\n(?=  -)", text), r"(--[a-z-]+)")
    return findings + [f"{flag}: its default is {of_page.get(flag)} in {SERVICE_PAGE}, {of_help.get(flag)} in sbxd --help"
                       for flag in sorted(of_page.keys() | of_help.keys()) if of_page.get(flag) != of_help.get(flag)]


def check_mandoc(root):
    """Messages of mandoc's lint; everything from style up counts."""
    findings = []
    for name in PAGES:
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "style", name], cwd=root, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        findings += done.stdout.splitlines()
    return findings


def check_groff(root):
    """The other formatter people have."""
    findings = []
    for name in PAGES:
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", name], cwd=root, text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        findings += done.stderr.splitlines()
    return findings


def check_ascii(root):
    return [f"{name} is not plain ASCII" for name in PAGES if not document.read(root / name).isascii()]


def with_program(program, promise, check):
    if shutil.which(program):
        return promise, check, None
    reason = f"no {program} here"
    return promise, [reason] if document.skips_are_failures(program) else [], reason


def main():
    root, sbx = document.root_argument(), sys.argv[2]
    service = [("sbxd(8) has the options and defaults of sbxd --help, sbxd takes just those",
                check_service_options(root, document.output(sbxd, "--help")), None) for sbxd in sys.argv[3:]]
    document.report("documents: man pages", [
        ("sbx(1) has the options and commands of the help, and no others",
         check_options(root, sbx), None),
        *service,
        ("man pages are plain ASCII", check_ascii(root), None),
        with_program("mandoc", "mandoc finds nothing to say", check_mandoc(root)
                     if shutil.which("mandoc") else []),
        with_program("groff", "groff warns of nothing", check_groff(root)
                     if shutil.which("groff") else []),
    ])


if __name__ == "__main__":
    main()
