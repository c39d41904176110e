"""The Windows Installer package: what is in it, and what Windows Installer, played by Wine, makes of it. Every promise about the
machine is asked of the machine. What Wine cannot show is in docs/VERIFIED.md."""

import os
import pathlib
import shutil
import sys
import tempfile

import machine
from machine import PROGRAMS, STATE, clean, installed, listed, msiexec, native, path_entries, service_state, until, wine
from packaged import ROOT, call, main, one, promise, unzipped

MSI = one("sbx-*-windows-*.msi")
MAKE = ROOT / "installer/windows/make_msi.py"
FAILED = 1603


def table(package, name):
    """The rows of a table, each a list of its columns."""
    done = call("msiinfo", "export", package, name)
    return [line.split("\t") for line in done.out.replace("\r", "").splitlines()[3:]]


def properties(package):
    return {row[0]: row[1] for row in table(package, "Property")}


def files_of(top):
    return {path.relative_to(top).as_posix(): path.read_bytes() for path in top.rglob("*") if path.is_file()}


def make(tree, version, package, **environment):
    done = call(sys.executable, "-B", MAKE, tree, version, package, env={**os.environ, **environment})
    if done.status != 0:
        raise RuntimeError(str(done))
    return package


WORK = tempfile.TemporaryDirectory(prefix="sbx-msi-test-")
TREE = unzipped(f"{WORK.name}/old")
FILES = files_of(TREE)
VERSION = properties(MSI)["ProductVersion"]
NEXT = ".".join([*VERSION.split(".")[:2], str(int(VERSION.split(".")[2]) + 1)])


def newer():
    """The next version: another program (some bytes after its end), one file more, one less."""
    tree = unzipped(f"{WORK.name}/new")
    with (tree / "sbx.exe").open("ab") as stream:
        stream.write(b"newer")
    (tree / "NEWS").write_text("new\n", encoding="utf-8")
    (tree / "CONTRIBUTING.md").unlink()
    return tree, make(tree, NEXT, pathlib.Path(WORK.name) / "newer.msi")


NEW_TREE, NEW_MSI = newer()
CODES = [properties(package)["ProductCode"] for package in (MSI, NEW_MSI)]
COMPONENTS = [row[1] for package in (MSI, NEW_MSI) for row in table(package, "Component")]


# ---- the package ------------------------------------------------------------------------------------------------


@promise("the package has what the archive has, byte for byte")
def _(t):
    target = t.directory / "out"
    target.mkdir()
    t.equal(call("msiextract", "-C", target, MSI).status, 0)
    t.equal(files_of(next(target.rglob("sbx.exe")).parent), FILES)


@promise("it is for the machine, tells its version, and refuses older systems and newer versions with a reason")
def _(t):
    known = properties(MSI)
    t.equal((known["ALLUSERS"], known["ProductName"], known["Manufacturer"], known["ARPNOMODIFY"]), ("1", "sbx", "sbx", "1"))
    t.equal(known["REINSTALLMODE"], "amus", "a repair writes every file")
    t.equal([row[4:6] for row in table(MSI, "File") if row[2] == "sbx.exe"], [[f"{VERSION}.0", "1033"]])
    conditions = dict(table(MSI, "LaunchCondition"))
    t.has(conditions["NOT WIX_DOWNGRADE_DETECTED"], "newer version of sbx is installed")
    t.has(conditions["Installed OR SBXWINDOWSBUILD >= 17763"], "Windows 10 version 1809")
    t.equal(table(MSI, "Environment"), [["Path", "=-*PATH", "[~];[InstallDir]", "sbx.exe"]])


@promise("the directory cannot be chosen: only administrators may write where the service's program is")
def _(t):
    names = {row[0] for row in table(MSI, "Directory")}
    # Windows takes only names in capitals from a command line. These two are where a package begins, and nothing is put there.
    t.equal({name for name in names if name.upper() == name and not name.startswith("_")}, {"TARGETDIR"})
    t.equal({row[1] for row in table(MSI, "Directory") if row[0] == "InstallDir"}, {"ProgramFiles64Folder"})


@promise("sbx itself sets up the service, with the system's rights; what is the user's is removed with the user's")
def _(t):
    deferred, rollback, as_system = 0x400, 0x100, 0x800
    kinds = {row[0]: (int(row[1]), row[3]) for row in table(MSI, "CustomAction")}
    order = {row[0]: int(row[2]) for row in table(MSI, "InstallExecuteSequence")}
    for name, undo, words in (("AddService", "AddServiceUndo", "service install"),
                              ("RemoveService", "RemoveServiceUndo", "service uninstall"),
                              ("RenewService", "RenewServiceUndo", "service uninstall")):
        kind, target = kinds[name]
        t.equal((kind & (deferred | rollback | as_system), target), (deferred | as_system, words), name)
        t.equal(kind & 0x40, 0, f"{name}: a failure counts")
        t.equal(kinds[undo][0] & (deferred | rollback | as_system), deferred | rollback | as_system, undo)
        t.equal({words, kinds[undo][1]}, {"service install", "service uninstall"}, undo)
        # Windows runs those that it came to. Installing undoes itself when it fails: then there is nothing of ours to remove.
        t.equal(order[undo] < order[name], name != "AddService", undo)
    t.equal((kinds["PurgeUser"][0] & (deferred | as_system), kinds["PurgeUser"][1]), (deferred, "workspace purge"))
    # Wine does not tell an old version that a new one replaces it, and would purge there too.
    when = {row[0]: row[1] for row in table(MSI, "InstallExecuteSequence")}
    t.equal(when["PurgeUser"], 'REMOVE="ALL" AND NOT UPGRADINGPRODUCTCODE', "what a user has stays for a new version")
    t.equal(table(MSI, "ServiceInstall"), [], "its settings have one owner")


@promise("what is removed for a new version comes back when that cannot be installed, and files are there when actions need them")
def _(t):
    order = {row[0]: int(row[2]) for row in table(MSI, "InstallExecuteSequence")}
    wanted = ["InstallInitialize", "RemoveExistingProducts", "ProcessComponents", "StopServices", "PurgeUser", "RemoveService",
              "RemoveFiles", "InstallFiles", "RenewService", "AddService", "StartServices", "InstallFinalize"]
    t.equal(sorted(wanted, key=order.__getitem__), wanted)


@promise("the same files give the same bytes; another file gives another package code, another version another product")
def _(t):
    epoch = {"SOURCE_DATE_EPOCH": "1700000000"}
    first, again, other, later = (t.directory / name for name in ("first", "again", "other", "later"))
    make(TREE, VERSION, first, TZ="UTC", **epoch)
    elsewhere = t.directory / "elsewhere"
    shutil.copytree(TREE, elsewhere, copy_function=shutil.copy)
    make(elsewhere, VERSION, again, TZ="Asia/Tokyo", **epoch)
    t.true(first.read_bytes() == again.read_bytes(), "a copy, with other times of its files")
    (elsewhere / "README.md").write_text("other\n", encoding="utf-8")
    make(elsewhere, VERSION, other, **epoch)
    make(TREE, NEXT, later, **epoch)
    codes = [next(line for line in call("msiinfo", "suminfo", package).out.splitlines() if "UUID" in line)
             for package in (first, other, later)]
    t.equal(len(set(codes)), 3, codes)
    t.equal(len({properties(package)["ProductCode"] for package in (first, other)}), 1)
    t.true(properties(first)["ProductCode"] != properties(later)["ProductCode"])
    t.equal(len({properties(package)["UpgradeCode"] for package in (MSI, first, later)}), 1)
    t.has(call("msiinfo", "suminfo", first, env={**os.environ, "TZ": "UTC"}).out, "Tue Nov 14 22:13:20 2023")


@promise("a version that the installer cannot compare is refused, and so is a directory without the program")
def _(t):
    for version in ("1.2", "1.2.3.4", "256.0.0", "1.2.65536", "1.2.x"):
        done = call(sys.executable, "-B", MAKE, TREE, version, t.directory / "x.msi")
        t.equal((done.status, (t.directory / "x.msi").exists()), (1, False), version)
        t.has(done.err, "three numbers", done)
    (t.directory / "empty").mkdir()
    done = call(sys.executable, "-B", MAKE, t.directory / "empty", VERSION, t.directory / "x.msi")
    t.equal((done.status, "has no sbx.exe" in done.err), (1, True), done)


# ---- the machine ------------------------------------------------------------------------------------------------


def in_place(t, files, version):
    """Everything that an installed sbx is."""
    found = installed()
    t.equal(sorted(name for name in {*found, *files} if found.get(name) != files.get(name)), [], "the files are those of the package")
    entries = listed()
    t.equal([(entry["DisplayVersion"], entry["Publisher"], entry["NoModify"], entry["InstallLocation"]) for entry in entries],
            [(version, "sbx", "0x1", "C:\\Program Files\\sbx\\")])
    t.equal(path_entries().count("C:\\Program Files\\sbx\\"), 1, path_entries())
    done = machine.by_path("sbx.exe", "version")
    t.equal((done.status, done.out.split()[:1]), (0, ["sbx"]), done)


def serving(t):
    """Its service runs, set up by sbx."""
    t.true(machine.values(machine.SERVICE) and until(lambda: service_state() == "RUNNING"), "the service runs")
    known = machine.values(machine.SERVICE) or {}
    t.has(known.get("ImagePath", ""), "Program Files\\sbx\\sbx.exe")
    t.has(known.get("ImagePath", ""), "service run")
    t.true(machine.values(machine.EVENTS) is not None, "the source of the event log")


def gone(t, before, unlike=()):
    """Not a file, key or value that names sbx or one of its codes, but for lines with one of the texts."""
    t.true(until(lambda: service_state() is None), "the service")
    left = machine.traces(before, CODES + COMPONENTS)
    t.equal([line for line in left if not any(text in line for text in unlike)], [])
    t.true(not PROGRAMS.exists())


@promise("installed, it is in place, on PATH, listed, serves and runs; removed, nothing of it is left")
def _(t):
    with clean(CODES):
        before = machine.snapshot()
        status, log = msiexec("/i", native(MSI))
        t.equal(status, 0, log)
        in_place(t, FILES, VERSION)
        serving(t)
        t.true(machine.traces(before, CODES), "the control: traces are found while it is installed")
        status, log = msiexec("/x", CODES[0])
        t.equal(status, 0, log)
        gone(t, before)


@promise("a new version takes the place of the old one, and an older one is refused and changes nothing")
def _(t):
    with clean(CODES):
        before = machine.snapshot()
        status, log = msiexec("/i", native(MSI))
        t.equal(status, 0, log)
        serving(t)
        status, log = msiexec("/i", native(NEW_MSI))
        t.equal(status, 0, log)
        in_place(t, files_of(NEW_TREE), NEXT)
        serving(t)
        status, log = msiexec("/i", native(MSI))
        t.equal(status, FAILED, log)
        in_place(t, files_of(NEW_TREE), NEXT)
        serving(t)
        status, log = msiexec("/x", CODES[1])
        t.equal(status, 0, log)
        gone(t, before)


@promise("a repair brings back what is missing")
def _(t):
    with clean(CODES):
        t.equal(msiexec("/i", native(MSI))[0], 0)
        serving(t)
        # Windows stops the service for a repair; Wine does that for a removal only. Windows also writes files of the same version
        # anew, by the property that is tested above; Wine does not know it.
        t.equal(wine("sc", "stop", "sbx").status, 0)
        t.true(until(lambda: service_state() == "STOPPED"))
        for name in ("sbx.exe", "LICENSE"):
            (PROGRAMS / name).unlink()
        status, log = msiexec("/i", CODES[0], "REINSTALL=ALL")
        t.equal(status, 0, log)
        in_place(t, FILES, VERSION)
        serving(t)


@promise("without the service only the program is installed")
def _(t):
    with clean(CODES):
        before = machine.snapshot()
        status, log = msiexec("/i", native(MSI), "ADDLOCAL=Program")
        t.equal(status, 0, log)
        in_place(t, FILES, VERSION)
        t.equal((service_state(), machine.values(machine.SERVICE), machine.values(machine.EVENTS)), (None, None, None))
        t.equal(msiexec("/x", CODES[0])[0], 0)
        gone(t, before)


@promise("when the service cannot be installed, nothing is")
def _(t):
    with clean(CODES):
        before = machine.snapshot()
        t.equal(wine("sc", "create", "sbx", "binPath=", "C:\\windows\\system32\\other.exe").status, 0)
        try:
            status, log = msiexec("/i", native(MSI))
            t.true(status != 0, log)
            t.true(not PROGRAMS.exists(), "the files are gone")
            t.equal(listed(), [])
            t.equal([entry for entry in path_entries() if "sbx" in entry], [])
        finally:
            wine("sc", "delete", "sbx")
        # Wine registers the components once more when it goes back; Windows does not. It also runs undoings that it did not come to,
        # so what becomes of the other service cannot be seen here: the order of the actions is tested above.
        gone(t, before, unlike=["\\Installer\\UserData\\S-1-5-18\\Components\\"])


def state_file():
    """Something that sbx has written for this user: how boxes start here."""
    STATE.mkdir(mode=0o700, parents=True, exist_ok=True)
    (STATE / "appcontainer.recipe").write_text("sbx-recipe 1 0 0 x\n", encoding="utf-8")
    return STATE / "appcontainer.recipe"


@promise("removing it also removes what it keeps for the user: grants, leases and answers")
def _(t):
    with clean(CODES):
        t.equal(msiexec("/i", native(MSI), "ADDLOCAL=Program")[0], 0)
        state_file()
        for name in ("leases", "workspaces"):
            (STATE / name).mkdir(mode=0o700, exist_ok=True)
        t.equal(msiexec("/x", CODES[0])[0], 0)
        t.equal(sorted(STATE.rglob("*")) if STATE.exists() else [], [])
        t.true(not STATE.exists())


main()
