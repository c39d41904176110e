"""sbx workspace: access entries that stay on a Windows disk. Wine keeps no access lists of files: what is written to them
is tested on the model of NT (simulated_grants), here is what the command says and what records do."""

import hashlib
import os
import pathlib

from harness import POSIX, main, native, promise

SID = "S-1-15-3-1024-1-2-3-4-5-6-7-8"


def directory():
    """On Windows the system says where it is, whatever the environment: one for all cases."""
    users = pathlib.Path(os.environ["WINEPREFIX"]) / "drive_c/users"
    return next(users.glob("*/AppData/Local")) / "sbx/workspaces"


def record(name, path, state="complete", body=None):
    """A record as sbx writes it."""
    text = body if body is not None else (
        f"sbx-record 1\nkind workspace\nstate {state}\npid 4294967291\ncreated 1\nimage C:\\sbx.exe\nsince 1760000000\n"
        f"capability sbx.root.{name}.rw\nsid {SID}\naccess write\nnode directory\nvolume 0000000000000001\n"
        f"file {'0' * 32}\npath {path}\njournal {'0' * 16}\nusn 0\nobjects 12\nnarrowed 3\nhard-links 0\nown-lists 0\n"
        "links 0\nrefused 0\nabove-count 0\n")
    directory().mkdir(mode=0o700, parents=True, exist_ok=True)
    digest = hashlib.sha256(text.encode()).hexdigest()
    file = directory() / f"{name}.workspace"
    file.write_text(text if body is not None else f"{text}digest {digest}\n")
    return file


@promise("systems without such entries say so and change nothing", on=POSIX)
def _(t):
    for words in ((), ("list",), ("add", "."), ("add", "-w", "."), ("add",), ("remove", "."), ("remove", "--all"), ("purge",)):
        done = t.run("workspace", *words)
        t.equal(done.status, 1, done)
        t.has(done.err, "error[unsupported]: grants on disk exist on Windows only", done)
        t.equal(done.out, "", done)
    t.equal(sorted(path.name for path in t.project.iterdir()), [], "nothing was made")


@promise("a wrong command line is told, and where the help is")
def _(t):
    for words, says in ((("grant",), 'not "grant"'), (("list", "x"), "list takes nothing else"),
                        (("list", "--all"), "--all goes with remove"), (("purge", "x"), "purge takes nothing else"), (("remove",), "remove takes a path, or --all"),
                        (("remove", "--all", "x"), "--all takes no path"), (("add", "-w"), "--write goes with a path"),
                        (("remove", "-w", "x"), "--write goes with add"), (("add", "x", "y"), "one place at a time")):
        done = t.run("workspace", *words)
        t.equal(done.status, 2, done)
        t.has(done.err, says, done)


@promise("places are listed and forgotten when nothing is left of them", on=("windows",))
def _(t):
    first = record("00000000000000a1", "C:\\gone\\project")
    second = record("00000000000000a2", "C:\\gone\\other", "adding")
    done = t.run("workspace")
    t.equal(done.status, 0, done)
    rows = [line.split() for line in done.out.splitlines() if "C:\\gone" in line]
    t.equal(rows, [["C:\\gone\\other", "write", "adding", "12", "objects,", "3", "narrowed", "2025-10-09",
                    "sbx.root.00000000000000a2.rw"],
                   ["C:\\gone\\project", "write", "complete", "12", "objects,", "3", "narrowed", "2025-10-09",
                    "sbx.root.00000000000000a1.rw"]], done)
    found = t.json(t.run("workspace", "list", "--json").out, done)
    mine = [item for item in found["workspaces"] if item["path"].startswith("C:\\gone")]
    t.equal([item["state"] for item in mine], ["adding", "complete"], found)
    t.equal(mine[1], {"path": "C:\\gone\\project", "access": "write", "capability": "sbx.root.00000000000000a1.rw",
                      "state": "complete", "objects": 12, "narrowed": 3, "since": 1760000000}, found)
    done = t.run("workspace", "remove", "c:\\GONE\\project")
    t.equal((done.status, first.exists(), second.exists()), (0, False, True), done)
    t.has(done.out, "removed  C:\\gone\\project", done)
    done = t.run("workspace", "remove", "C:\\gone\\project")
    t.equal(done.status, 1, done)
    t.has(done.err, "error[not-found]", done)
    done = t.run("workspace", "remove", "--all")
    t.equal((done.status, second.exists()), (0, False), done)


@promise("a damaged record is put aside, told, and shown by doctor", on=("windows",))
def _(t):
    file = record("00000000000000b1", "", body="no record\n")
    aside = directory() / "quarantine" / file.name
    done = t.run("workspace", "list")
    t.equal((done.status, file.exists(), aside.exists()), (0, False, True), done)
    t.has(done.err, "quarantine", done)
    done = t.run("doctor")
    t.has(done.out, "1 unreadable records", done)
    aside.unlink()


@promise("a purge leaves nothing but what is not sbx's", on=("windows",))
def _(t):
    state = directory().parent
    record("00000000000000c1", "C:\\gone\\project")
    (directory() / "quarantine").mkdir(mode=0o700, exist_ok=True)
    for name in ("workspaces/quarantine/x.workspace", "trust", "trust.lock", "appcontainer.recipe"):
        (state / name).write_text("x\n")
    done = t.run("workspace", "purge")
    t.equal((done.status, state.exists()), (0, False), done)
    t.has(done.out, "removed  C:\\gone\\project", done)
    state.mkdir(mode=0o700)
    (state / "mine").write_text("x\n")
    done = t.run("workspace", "purge")
    t.equal((done.status, (state / "mine").exists()), (0, True), done)
    t.has(done.err, "stays", done)
    (state / "mine").unlink()


@promise("where boxes cannot be, nothing is written and what is missing is named", on=("windows",))
def _(t):
    done = t.run("workspace", "add", "-w", native(t.project))
    t.equal(done.status, 1, done)
    t.has(done.err, "error[", done)
    t.equal([path.name for path in t.project.iterdir()], [], "nothing was made")
    t.equal(list(directory().glob("*.workspace")) if directory().exists() else [], [], "no record is left")


main()
