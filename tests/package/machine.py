"""A Windows machine, played by Wine, for the tests of the installer: what msi.py asks of it. Runs below scripts/wine-env.

Everything is asked of the running system, never read from files: Wine writes its registry to disk late. What the service control
manager does goes on after the call that asked for it, so states are waited for (until)."""

import contextlib
import os
import pathlib
import re
import subprocess
import time

from packaged import Done

PREFIX = pathlib.Path(os.environ["WINEPREFIX"])
DRIVE = PREFIX / "drive_c"
PROGRAMS = DRIVE / "Program Files/sbx"
STATE = next(DRIVE.glob("users/*/AppData/Local")) / "sbx"
UNINSTALL = r"HKLM\Software\Microsoft\Windows\CurrentVersion\Uninstall"
SERVICE = r"HKLM\System\CurrentControlSet\Services\sbx"
EVENTS = r"HKLM\System\CurrentControlSet\Services\EventLog\Application\sbx"
PATH = r"HKLM\System\CurrentControlSet\Control\Session Manager\Environment"
# A busy machine takes its time; whoever waits for this has failed.
SECONDS = 120


def wine(*words):
    """Runs a program of Windows. Its exit status is what Unix leaves of it: the low 8 bits, or 1."""
    command = ["wine", *map(str, words)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=SECONDS, check=False)
    return Done(command, done.returncode, done.stdout.replace(b"\r", b""), done.stderr)


def native(path):
    return "Z:" + str(path).replace("/", "\\")


def msiexec(*words):
    """Silently; the whole exit status, and the log."""
    log = DRIVE / "installer.log"
    log.unlink(missing_ok=True)
    line = " ".join(["msiexec", *words, "/qn", r"/l*v C:\installer.log"])
    done = wine("cmd", "/v:on", "/c", f"{line} & echo !errorlevel!")
    text = log.read_bytes().decode("latin-1") if log.exists() else ""
    log.unlink(missing_ok=True)
    return int(done.out.split()[-1]), f"{line}\n{done}\n{text[-3000:]}"


def until(condition):
    """Waits for it: whether it came."""
    end = time.monotonic() + SECONDS
    while not (held := condition()) and time.monotonic() < end:
        time.sleep(0.1)
    return bool(held)


def values(key):
    """name -> text of a registry key's values; None when it is not there."""
    done = wine("reg", "query", key)
    if done.status != 0:
        return None
    rows = (re.match(r"    (.*?)    REG_\w+    (.*)", line) for line in done.out.splitlines())
    return {row[1]: row[2] for row in rows if row}


def listed():
    """What "Installed apps" shows of sbx: the values of each entry."""
    keys = [line.strip() for line in wine("reg", "query", UNINSTALL).out.splitlines() if "\\Uninstall\\" in line]
    found = [values(key) for key in keys]
    return [entry for entry in found if entry and entry.get("DisplayName") == "sbx"]


def path_entries():
    return [entry for entry in (values(PATH) or {}).get("PATH", "").split(";") if entry]


def by_path(*words):
    """Runs a program that PATH finds. Wine's installer leaves an empty entry where it takes one away, and Wine's cmd finds nothing
    behind an empty one (it says nothing and ends with 0), so it gets PATH without them."""
    return wine("cmd", "/c", f"set PATH={';'.join(path_entries())}&& {' '.join(words)}")


def service_state():
    """"RUNNING", "STOPPED" …; None when there is no service."""
    found = re.search(r"STATE\s*: \d+\s+(\w+)", wine("sc", "query", "sbx").out)
    return found[1] if found else None


def installed():
    """name -> bytes of every installed file"""
    return {path.relative_to(PROGRAMS).as_posix(): path.read_bytes() for path in PROGRAMS.rglob("*") if path.is_file()}


def _decoded(line):
    """A line of an export, with the texts that it has in hexadecimal."""
    found = re.match(r"(.*=)hex\([27]\):([0-9a-f,]+)$", line)
    if not found:
        return line
    return found[1] + bytes.fromhex(found[2].replace(",", "")).decode("utf-16-le", "replace")


def snapshot():
    """Every line of the registry and the name of every file on C:."""
    lines = set()
    for number, root in enumerate(("HKEY_LOCAL_MACHINE", "HKEY_CURRENT_USER")):
        file = DRIVE / f"export{number}.reg"
        done = wine("regedit", "/E", f"C:\\{file.name}", root)
        if not file.exists():
            raise FileNotFoundError(f"{file}: {done}")
        text = file.read_bytes().decode("utf-16").replace("\r", "").replace("\\\n  ", "")
        file.unlink()
        lines.update(map(_decoded, text.splitlines()))
    lines.update(str(path.relative_to(DRIVE)) for path in DRIVE.rglob("*"))
    return lines


def packed(code):
    """A code as the installer writes it into names of keys: each group turned round."""
    digits = code.strip("{}").replace("-", "")
    groups = [digits[0:8], digits[8:12], digits[12:16]] + [digits[i:i + 2] for i in range(16, 32, 2)]
    return "".join(group[::-1] for group in groups)


def traces(before, codes):
    """What is there now, was not before, and names sbx or one of the codes."""
    words = ["sbx"] + [word.lower() for code in codes for word in (code.strip("{}"), packed(code))]
    return sorted(line for line in snapshot() - before if any(word in line.lower() for word in words))


@contextlib.contextmanager
def clean(code_of):
    """A machine without sbx, before and after; code_of are the product codes that may be installed."""
    def remove():
        for code in code_of:
            if wine("reg", "query", f"{UNINSTALL}\\{code}").status == 0:
                msiexec("/x", code)
    remove()
    try:
        yield
    finally:
        remove()
