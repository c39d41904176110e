"""That the tables and man pages in the tree are what the program's own tables say.
usage: generated.py ROOT DOCGEN [--write]

A table stands between "<!-- generated:NAME -->" and "<!-- end -->" in any document; a page is
docs/man/NAME, byte for byte. With --write (`make docs`) both are written instead of compared."""

import difflib
import pathlib
import re
import sys

import document

REGION = re.compile(r"^<!-- generated:([\w-]+) -->\n(.*?)^<!-- end -->$", re.M | re.S)
PAGES = "docs/man"
# Written by hand; pages.py and consistent.py compare it with the program.
BY_HAND = {"sbxd.8"}


def parts(docgen):
    """{name: text} of the tables and of the pages."""
    tables, pages = {}, {}
    for line in document.output(docgen, "--list").splitlines():
        word, name = line.split()
        (tables if word == "table" else pages)[name] = document.output(docgen, name)
    return tables, pages


def difference(name, got, want):
    return list(difflib.unified_diff(got.splitlines(), want.splitlines(), name, "docgen", lineterm="",
                                     n=0))[:20]


def check_tables(root, tables):
    findings = []
    used = set()
    for path in document.documents(root):
        name = path.relative_to(root).as_posix()
        text = document.read(path)
        if text.count("<!-- generated:") != len(REGION.findall(text)):
            findings.append(f'{name}: a "<!-- generated:… -->" without its "<!-- end -->"')
        for part, got in REGION.findall(text):
            used.add(part)
            if part not in tables:
                findings.append(f"{name}: docgen has no table {part}")
            elif got != tables[part]:
                findings += [f"{name}: table {part} is not what the program says; run: make docs",
                             *difference(name, got, tables[part])]
    findings += [f"table {part} is in no document" for part in sorted(set(tables) - used)]
    return findings


def check_pages(root, pages):
    findings = []
    folder = root / PAGES
    there = {path.name for path in folder.glob("*")}
    findings += [f"{PAGES}/{name} is not made by docgen" for name in sorted(there - set(pages) - BY_HAND)]
    for name, want in sorted(pages.items()):
        if name not in there:
            findings.append(f"{PAGES}/{name} is missing; run: make docs")
        elif document.read(folder / name) != want:
            findings += [f"{PAGES}/{name} is not what the program says; run: make docs",
                         *difference(name, document.read(folder / name), want)]
    return findings


def write(root, tables, pages):
    for path in document.documents(root):
        old = document.read(path)
        new = REGION.sub(lambda m: f"<!-- generated:{m.group(1)} -->\n"
                                   f"{tables.get(m.group(1), m.group(2))}<!-- end -->", old)
        if new != old:
            path.write_text(new, encoding="utf-8")
            print(f"wrote {path.relative_to(root)}")
    (root / PAGES).mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        path = root / PAGES / name
        if not path.exists() or document.read(path) != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {PAGES}/{name}")


def main():
    root, docgen = document.root_argument(), pathlib.Path(sys.argv[2])
    tables, pages = parts(docgen)
    if sys.argv[3:] == ["--write"]:
        write(root, tables, pages)
        return
    document.report("documents: generated parts", [
        ("every generated table is what the program's tables say", check_tables(root, tables), None),
        ("every man page is what the program's tables say", check_pages(root, pages), None),
    ])


if __name__ == "__main__":
    main()
