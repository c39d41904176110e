"""The attacks of the Linux fence (tests/fence/table.py) as questions to the Seatbelt profiles of the same manifests: what must be
stopped there must be denied here, what must work must be allowed, under every reading. An attack without a counterpart on macOS
is listed with the reason; a difference that is known is listed too, and must still be one. usage: SBX_PLANS=… fence.py"""

import pathlib
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / "fence"))

import matrix  # noqa: E402
import profiles  # noqa: E402
import questions  # noqa: E402
import sbpl  # noqa: E402
import table  # noqa: E402

HOME = questions.HOME
TOOLS, RO, OUT, WORK, WORK2 = (f"{HOME}/{name}" for name in ("tools", "ro", "outside", "work", "work2"))
SCRATCH = questions.SCRATCH
BOXES = {"main": "36-fence-main", "absent": "37-fence-absent", "commit": "38-fence-commit", "inherit": "39-fence-inherit",
         "terminal": "40-fence-terminal", "works": "36-fence-main", "group": "36-fence-main", "scratch": "36-fence-main",
         "etc": "36-fence-main", "cwd": "36-fence-main"}
GIT = f"{WORK}/repo/.git"
NEW = f"{WORK}/n/.vscode"  # a protected name that is not there

# id: calls of which one denied stops the attack, and all allowed let it work
CALLS = {
    "R01": [("read", f"{OUT}/secret")], "R02": [("list", OUT)], "R03": [("read", f"{OUT}/secret")],
    "R05": [("read", f"{HOME}/.ssh/id_test")], "R06": [("read", "/private/etc/ssh/ssh_host_rsa_key")],
    "R07": [("read", f"{RO}/denied/secret")], "R07b": [("list", f"{RO}/denied")], "R07c": [("read", f"{WORK}/secrets/key")],
    "LF16": [("read", f"{WORK}/lib/hidden.env")], "R13": [("stat", HOME)],
    "W01": [("write", f"{RO}/file")], "W01b": [("create", f"{RO}/new")], "W03": [("create", "/new")],
    "W03b": [("create", "/var/tmp/new")], "W03c": [("write", f"{OUT}/linked")], "W04": [("write", f"{OUT}/secret")],
    "W04b": [("create", f"{OUT}/new")], "W04c": [("rename", f"{WORK}/plain.txt", f"{OUT}/plain.txt")],
    "W04d": [("link", f"{OUT}/linked", f"{WORK}/new")], "W05": [("write", f"{WORK}/hard-linked")],
    "W11": [("mknod", f"{WORK}/new")], "W11b": [("mknod", f"{WORK}/new2")], "W16": [("chflags", f"{WORK}/plain.txt")],
    "Z04b": [("acl", f"{WORK}/plain.txt")], "W12": [("setuid", f"{WORK}/plain.txt")], "W12f": [("setuid", f"{WORK}/sub")],
    "W14": [("chmod", f"{RO}/file")], "W14b": [("utimes", f"{RO}/file")], "LF10c": [("chown", f"{RO}/file")],
    "LF10f": [("utimes", f"{RO}/file")], "LF10g": [("xattr", f"{RO}/file")], "LF10j": [("write", f"{RO}/file")],
    "LF10k": [("rename", f"{RO}/file", f"{RO}/other")], "LF10l": [("rename", f"{RO}/file", f"{WORK}/other")],
    "LF10m": [("link", f"{RO}/file", f"{WORK}/other")], "LF10n": [("unlink", f"{RO}/file")], "LF10o": [("chflags", f"{RO}/file")],
    "LF10A": [("chmod", f"{OUT}/linked")], "LF10D": [("chown", f"{OUT}/linked")], "LF10F": [("utimes", f"{OUT}/linked")],
    "LF10I": [("xattr", f"{OUT}/linked")], "LF10L": [("write", f"{OUT}/linked")],
    "LF10M": [("rename", f"{OUT}/linked", f"{OUT}/o")], "LF10N": [("rename", f"{OUT}/linked", f"{WORK}/o")],
    "LF10O": [("link", f"{OUT}/linked", f"{WORK}/o")], "LF10P": [("unlink", f"{OUT}/linked")],
    "LF10Q": [("chflags", f"{OUT}/linked")], "S10": [("link", f"{RO}/file", f"{WORK}/o"), ("write", f"{WORK}/o")],
    "C01": [("create", NEW)], "C04": [("create", NEW)], "C11": [("create", NEW)], "C12": [("mkdir", NEW)],
    "C17": [("create", NEW.replace(".vscode", ".VSCODE"))], "C18": [("create", NEW.replace(".vscode", ".VsCode"))],
    "C20": [("mknod", NEW)], "C22": [("fifo", NEW)], "C23": [("symlink", NEW)], "C25": [("link", f"{WORK}/plain.txt", NEW)],
    "C29": [("rename", f"{WORK}/plain.txt", NEW)], "C30": [("rename-dir", f"{WORK}/sub", NEW)],
    "C34": [("rename", f"{WORK}/n/x", NEW)], "C35": [("bind-unix", NEW)], "C36": [("create", NEW)], "C38": [("create", NEW)],
    "C39": [("create", NEW)], "C40": [("create", NEW)], "C44": [("create", NEW)], "C45": [("create", NEW)],
    "W06": [("write", f"{GIT}/hooks/x")], "W06b": [("write", f"{GIT}/config")], "W06c": [("write", f"{GIT}/config")],
    "W06d": [("unlink", f"{GIT}/config")], "W07": [("rename-dir", GIT, f"{WORK}/repo/g")],
    "W10": [("link", f"{GIT}/config", f"{WORK}/c")], "W15": [("create", f"{NEW}/tasks.json")],
    "LF04": [("create", f"{WORK}/absent/protected.txt")],
    # Renaming what is above goes well, and the hook is as protected under its new name.
    "LF05": [("rename-dir", f"{WORK}/repo-away", f"{WORK}/moved"), ("create", f"{WORK}/moved/.git/hooks/x")],
    "LF05b": [("swap-dir", f"{WORK}/repo-exchange/.git", f"{WORK}/own")],
    "LF05c": [("swap-dir", f"{WORK}/repo-exchange-parent", f"{WORK}/own"), ("create", f"{WORK}/own/.git/hooks/x")],
    "LF05d": [("rename", f"{WORK}/x", f"{GIT}/config")], "LF06": [("create", f"{WORK}/nested/a/b/.git/hooks/x")],
    "LF06b": [("create", f"{WORK2}/.git/hooks/x")], "LF06c": [("create", f"{WORK2}/.envrc")],
    "LF07": [("mkdir", f"{WORK}/bare/hooks")], "LF07b": [("create", f"{WORK}/.gitattributes")],
    "S04": [("create", f"{WORK}/store/hooks/x")], "LF08": [("create", f"{OUT}/gitdir/hooks/x")],
    "LF08b": [("write", f"{WORK}/tree/.git")], "LF08c": [("unlink", f"{WORK}/tree/.git")],
    "Z02": [("write", f"{WORK}/sbx.toml")], "Z02b": [("create", f"{HOME}/Library/Application Support/sbx/trust")],
    "GC01": [("create", f"{GIT}/index.lock")], "GC02": [("create", f"{GIT}/hooks/x")],
    "GC03": [("rename", f"{GIT}/config.lock", f"{GIT}/config")], "GC04": [("create", f"{GIT}/config.worktree")],
    "GC05": [("create", f"{GIT}/commondir")], "GC06": [("create", f"{GIT}/info/attributes")],
    "GC07": [("create", f"{GIT}/modules/m/hooks/x")],
    "P01": [("proc-info", "others")], "P01b": [("proc-list",)], "P02": [("sysctl", "kern.procargs2")], "P03": [("sysctl", "kern.procargs2")],
    "P04": [("task", "others")], "P05": [("task", "others")], "P06": [("kill", "others")], "P06d": [("kill", "others")],
    "LK04": [("task", "others")], "P08": [("write", f"{TOOLS}/sbx-probe")], "G02b": [("kill", "others")],
    "G01": [("kill", "same-sandbox")], "G02": [("kill", "same-sandbox")],
    "N01": [("connect", "192.0.2.1", 443)], "N02": [("connect", "127.0.0.1", 4000)], "N02b": [("connect", "::1", 4000)],
    "N02c": [("connect", "127.0.0.1", 4000)], "N02d": [("connect", "127.0.0.1", 4000)], "N03": [("connect", "192.0.2.1", 53)],
    "N04": [("socket", "AF_INET")], "N09": [("socket", "AF_ROUTE")], "N08": [("connect-unix", f"{RO}/socket")],
    "N08b": [("connect-unix", f"{WORK}/socket")], "LN01": [("connect-unix", f"{RO}/datagram")], "LN14": [("socket", "AF_UNIX")],
    "N21": [("listen", "127.0.0.1", 3000)],
    "I01": [("sysv", "shm")], "I01c": [("sysv", "msg")], "I01d": [("sysv", "sem")], "I03": [("shm", "/host")], "I04": [("semaphore", "/host")],
    "T01": [("ioctl", "/dev/ttys007", questions.TYPE_INTO)], "T02": [("open-tty", "/dev/ttys001")], "T03": [("ioctl", "/dev/ttys001")],
    "V04": [("mount", WORK)], "K14": [("exec", f"{WORK}/a.out")],
    "B01": [("exec", "/bin/sh")], "B02": [("read", "/etc/hosts")], "B03": [("create", f"{WORK}/n.txt"), ("unlink", f"{WORK}/n.txt")],
    "B04": [("rename-dir", f"{WORK}/sub", f"{WORK}/sub2")], "B05": [("create", f"{SCRATCH}/x")], "B06": [("fork",)],
    "B07": [("link", f"{WORK}/a", f"{WORK}/b")], "B08": [("read", f"{RO}/file")], "B09": [("symlink", f"{WORK}/l")],
}

# What is known to differ, and why that is said in docs/MACOS.md.
DIFFERENT = {
    "N21": "there is no loopback of the box's own, so listening is closed without the host's network",
}
STOPPED = {"stop": "deny", "allowed": "allow", "works": "allow"}


def check(name, calls):
    """(expected verdict, readings that say otherwise)"""
    case = table.CASES[name]
    expected = STOPPED.get(case.expect["native", "user"])
    rules = profiles.rules(BOXES[case.box])
    if expected is None:
        return None, []
    against = [reading for reading in sbpl.READINGS
               if any(reading in matrix.denied(rules, questions.parts_of(call)) for call in calls) != (expected == "deny")]
    return expected, against


def main():
    names = [name for name in CALLS if name in table.CASES]
    unknown = sorted(set(CALLS) - set(table.CASES))
    print(f"1..{len(names) + 1}")
    failed = denied = 0
    for number, name in enumerate(names, 1):
        expected, against = check(name, CALLS[name])
        same = expected is not None and not against
        held = same != (name in DIFFERENT)
        denied += expected == "deny"
        if not held:
            print(f"# {CALLS[name]}: {expected} is wanted; {len(against)} readings differ")
        print(f"{'ok' if held else 'not ok'} {number} - {name}: "
              + (f"known to differ: {DIFFERENT[name]}" if name in DIFFERENT else f"{expected} as on Linux"))
        failed += not held
    print(f"# {len(names)} of {len(table.CASES)} attacks have a counterpart, {denied} of them must be denied; "
          f"{len(DIFFERENT)} differ and are documented; ids that are not in the table: {unknown}")
    enough = len(names) >= 120 and not unknown
    print(f"{'ok' if enough else 'not ok'} {len(names) + 1} - every id is one of the table, and there are enough of them")
    sys.exit(1 if failed or not enough else 0)


if __name__ == "__main__":
    main()
