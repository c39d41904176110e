"""Who includes whom, against the table "Who may include whom" in docs/ARCHITECTURE.md, and that
common/ stays free of operating systems."""

import re

import source

STANDARD = set("""assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp
    signal stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath
    threads time uchar wchar wctype""".split())
LIBRARIES = {"jansson.h", "uv.h", "llhttp.h", "sqlite3.h", "pcre2.h"}
OS_MACRO = re.compile(
    r"\b(_WIN32|_WIN64|WIN32|_MSC_VER|__MINGW32__|__MINGW64__|__CYGWIN__|__linux__|__linux|linux"
    r"|__unix__|__unix|unix|__APPLE__|__MACH__|__FreeBSD__|__OpenBSD__|__NetBSD__|_POSIX_VERSION)\b")
# Which printf a format attribute means is a question of the compiler, not of the system.
ALLOWED_MACRO = {"common/base/attr.h": {"__MINGW32__"}}


def room_of(name):
    """'common/base/err.h' -> ('base', 'base/err'); 'common/os.h' -> ('os.h', 'os.h');
    'win/job.h' -> ('win', 'win/job'); 'lib/link.h' -> ('lib', 'lib/link'); 'posix/init/sys.h' -> ('posix/init', 'posix/init/sys').
    None for a name that is not from the root."""
    parts = name.split("/")
    if parts[0] == "common" and len(parts) == 3:
        return parts[1], f"{parts[1]}/{parts[2].rsplit('.', 1)[0]}"
    if parts[0] == "common" and len(parts) == 2:
        return parts[1], parts[1]
    if parts[0] in ("win", "posix", "lib", "include") and len(parts) == 2:
        return parts[0], f"{parts[0]}/{parts[1].rsplit('.', 1)[0]}"
    if parts[:2] == ["posix", "init"] and len(parts) == 3:
        return "posix/init", name.rsplit(".", 1)[0]
    return None


def table(root):
    """{room: set of rooms and units it may include} from the document."""
    path = root / "docs/ARCHITECTURE.md"
    text = source.read(path) if path.exists() else ""
    section = re.search(r"^## Who may include whom\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    rows = {}
    for line in section.group(1).splitlines() if section else []:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.lstrip().startswith("|") and len(cells) >= 2 and "`" in cells[0]:
            for room in re.findall(r"`([^`]+)`", cells[0]):
                rows[room] = {re.sub(r"(?<=/)(.*)\.h$", r"\1", entry)
                              for entry in re.findall(r"`([^`]+)`", cells[1])}
    return rows


def check_layers(root):
    rows = table(root)
    if not rows:
        return ['docs/ARCHITECTURE.md has no table under "## Who may include whom"']
    findings = []
    for path in source.c_files(root):
        own = room_of(path.as_posix())
        if own is None or own[0] not in rows:
            findings.append(f"{path}: its room has no row in docs/ARCHITECTURE.md")
            continue
        for line, name, is_system in source.includes(source.read(root / path)):
            if is_system:
                continue
            target = room_of(name)
            if target is None:
                findings.append(f'{path}:{line}: "{name}" is not written from the root')
            elif path.name.startswith("main_") or target[0] == own[0]:
                continue  # a program joins rooms; a room is its own
            elif not rows[own[0]] & set(target):
                findings.append(f"{path}:{line}: {own[0]} may not include {name}")
    return findings


def check_headers(root):
    findings = []
    for path in source.c_files(root, ("common",)):
        for line, name, is_system in source.includes(source.read(root / path)):
            if is_system and name not in LIBRARIES and name.removesuffix(".h") not in STANDARD:
                findings.append(f"{path}:{line}: <{name}> is not a C17 or library header")
    return findings


def check_conditions(root):
    findings = []
    for path in source.c_files(root, ("common",)):
        allowed = ALLOWED_MACRO.get(path.as_posix(), set())
        lines = source.code_only(source.read(root / path)).replace("\\\n", "  ").splitlines()
        for number, line in enumerate(lines, 1):
            if re.match(r"\s*#\s*(if|ifdef|ifndef|elif)\b", line):
                findings += [f"{path}:{number}: #if on {macro}"
                             for macro in OS_MACRO.findall(line) if macro not in allowed]
    return findings


LINTS = [
    ("a room includes only what docs/ARCHITECTURE.md lets it", check_layers),
    ("common/ includes no header of an operating system", check_headers),
    ("common/ has no #if on an operating system", check_conditions),
]

if __name__ == "__main__":
    source.main("layers", LINTS)
