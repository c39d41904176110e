"""That the documents agree with the tree: links, make targets, variables, files, backends.
usage: consistent.py ROOT"""

import re

import document

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
# Where a variable of the caller is read.
READS = re.compile(r'\b(?:sbx_os_env\(\s*[^,()]+|getenv\(|env_path\(\s*\w+|own_directory\(\s*\w+,\s*[\w.]+)'
                   r'(?:,\s*)?"([A-Z_]+)"')
# Paths of this tree, as the documents write them.
TREE = re.compile(r"`((?:common|posix|win|tests|scripts|cmake|docs|examples|\.ci)/[\w./-]*)`")


def anchor(heading):
    """What GitHub makes of a heading."""
    text = re.sub(r"[`*]", "", heading.strip().lower())
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(text):
    plain = document.FENCE.sub("", text)
    return {anchor(line) for line in re.findall(r"^#+ (.*)$", plain, re.M)}


def check_links(root):
    findings = []
    for path in document.documents(root):
        text = document.read(path)
        for target in LINK.findall(document.without_blocks(text)):
            if re.match(r"[a-z]+:", target):
                findings.append(f"{path.relative_to(root)}: {target} leads out of the tree")
                continue
            name, _, part = target.partition("#")
            other = (path.parent / name).resolve() if name else path
            if not other.exists() or root not in (other, *other.parents):
                findings.append(f"{path.relative_to(root)}: {target} leads nowhere")
            elif part and part not in anchors(document.read(other)):
                findings.append(f"{path.relative_to(root)}: {target}: no such heading")
    return findings


def check_reachable(root):
    """Every document can be reached from the README."""
    seen, waiting = set(), [root / "README.md"]
    while waiting:
        path = waiting.pop()
        if path in seen or not path.exists() or path.suffix != ".md":
            continue
        seen.add(path)
        for target in LINK.findall(document.read(path)):
            waiting.append((path.parent / target.partition("#")[0]).resolve())
    return [f"{path.relative_to(root)} is not linked from the README or what it links to"
            for path in document.documents(root) if path not in seen]


def check_paths(root):
    """Names of files in the text exist; a name with a star or in capitals stands for many."""
    findings = []
    for path in document.documents(root):
        for number, line in enumerate(document.read(path).splitlines(), 1):
            findings += [f"{path.relative_to(root)}:{number}: {name} does not exist"
                         for name in TREE.findall(line) if not (root / name).exists()]
    return findings


def check_make(root):
    targets = set(re.findall(r"^([a-z]+):", document.read(root / "Makefile"), re.M))
    findings = []
    for path in document.documents(root):
        text = document.read(path)
        named = re.findall(r"`make ([a-z]+)(?=[` ])", document.FENCE.sub("", text))
        for block in document.blocks(text):
            named += re.findall(r"^(?:\$ )?make ([a-z]+)\b", block.text, re.M)
        for target in named:
            if target not in targets:
                findings.append(f"{path.relative_to(root)}: make {target}: no such target")
    return findings


def variables_read(root):
    """What the sources read: {variables} of sbx, {variables} of sbxd's own files."""
    of_sbx, of_sbxd = set(), set()
    for folder in ("common", "posix", "win"):
        for path in (root / folder).rglob("*.c"):
            is_sbxd = path.name == "main_sbxd.c" or path.name.startswith("sbxd_")
            (of_sbxd if is_sbxd else of_sbx).update(READS.findall(document.read(path)))
    return of_sbx, of_sbxd


def compare_variables(root, page, names):
    environment = document.read(root / page).partition(".SH ENVIRONMENT")[2].partition(".SH FILES")[0]
    told = set(re.findall(r"^(?:\.B |\\fB)([A-Z_]+)(?:\\fR)?$", environment, re.M))
    return [f"{page} does not tell of {name}" for name in sorted(names - told)] + [
        f"{page} tells of {name}, which is never read" for name in sorted(told - names)]


def check_variables(root):
    """Every variable the sources read is in sbx(1)."""
    names, _ = variables_read(root)
    if "SBX_SANDBOX" not in names or "HOME" not in names:
        return ["no variable was found in the sources: the pattern of this test is out of date"]
    return compare_variables(root, "docs/man/sbx.1", names)


def check_service_variables(root):
    """Every variable that only sbxd reads is in sbxd(8)."""
    _, names = variables_read(root)
    if "XDG_RUNTIME_DIR" not in names:
        return ["no variable was found in sbxd's sources: the pattern of this test is out of date"]
    return compare_variables(root, "docs/man/sbxd.8", names)


def check_status(root):
    """The README's status of a backend is "in" just when a build has it."""
    built = "".join(document.read(root / name) for name in (
        "posix/linux_backends.c", "posix/macos_backends.c", "posix/plain_backends.c", "win/platform_backends.c"))
    text = document.read(root / "README.md")
    section = re.search(r"^## What is enforced where\n(.*?)^## ", text, re.M | re.S)
    rows = re.findall(r"^\| `([\w-]+)` \|.*\| (\w[\w ]*) \|$", section.group(1) if section else "", re.M)
    if not rows:
        return ["README.md has no table of backends with their status"]
    findings = []
    for name, status in rows:
        if name in ("none", "fail-closed"):
            continue  # these are part of every build
        is_in = f"&sbx_backend_{name}" in built
        if (status == "in") != is_in:
            findings.append(f"README.md: {name} is \"{status}\", but the build "
                            f"{'has' if is_in else 'does not have'} it")
    return findings


LINTS = [
    ("links lead to files and headings of the tree", check_links),
    ("every document is reachable from the README", check_reachable),
    ("files that the documents name exist", check_paths),
    ("make targets that the documents name exist", check_make),
    ("sbx(1) tells of every variable that is read, and of no other", check_variables),
    ("sbxd(8) tells of every variable that sbxd reads, and of no other", check_service_variables),
    ("the README says which backends are built in", check_status),
]


def main():
    root = document.root_argument()
    document.report("documents: consistent",
                    [(promise, lint(root), None) for promise, lint in LINTS])


if __name__ == "__main__":
    main()
