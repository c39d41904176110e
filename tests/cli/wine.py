"""Under Wine, which has no AppContainer: sbx refuses, says which calls are missing, and runs nothing; what needs no
box works."""

import os
import pathlib
import re
import signal
import subprocess
import time

from harness import RUNNER, main, native, promise

# Neither version of Wine has these; a box needs them all.
MISSING = ("DeleteAppContainerProfile (userenv.dll)", "DeriveAppContainerSidFromAppContainerName (userenv.dll)",
           "GetAppContainerFolderPath (userenv.dll)", "DeriveCapabilitySidsFromName (kernelbase.dll)")
PRESENT = ("CreateProcessW", "CreateRestrictedToken", "SetWinEventHook")
REMEDY = "AppContainer boxes need Windows 10 1809 or newer"
SECRETS = {"AWS_SECRET_ACCESS_KEY": "planted-1", "GITHUB_TOKEN": "planted-2", "SSH_AUTH_SOCK": "/planted-3",
           "MY_PASSWORD": "planted-4", "PYTHONPATH": "/planted-5", "NODE_OPTIONS": "--planted-6"}
# No child of Windows starts without these two.
NEEDED = {"SystemRoot", "SystemDrive"}


def names_missing(t, text):
    for call in MISSING:
        t.has(text, call)
    for call in PRESENT:
        t.lacks(text, call)


def reason_of(t, done):
    """What `run` says about the one backend there is."""
    lines = [line for line in done.err.splitlines() if line.strip().startswith("tried: appcontainer ")]
    t.equal(len(lines), 1, done)
    return lines[0].split("tried: appcontainer ", 1)[1] if lines else ""


def state_directory():
    """Where sbx keeps leases and what it learnt, in this prefix."""
    users = pathlib.Path(os.environ["WINEPREFIX"]) / "drive_c/users"
    found = [user / "AppData/Local/sbx" for user in users.iterdir() if user.name != "Public"]
    return next((path for path in found if path.is_dir()), found[0])


def leftovers():
    state = state_directory()
    return sorted(str(path.relative_to(state)) for path in state.rglob("*")
                  if path.is_file() and path.suffix in (".lease", ".recipe", ".journal"))


@promise("run refuses with 125, says what was tried and which calls are missing, and runs nothing")
def _(t):
    mark = t.project / "ran"
    commands = ((t.actor, "touch", native(mark)), ("cmd", "/c", "echo", "x", ">", "ran"),
                ("no-such-program-at-all",))
    for words in ((), ("-p", "strict"), ("--mode", "read-only"), ("--mode", "workspace-write"),
                  ("-w", native(t.project)), ("--require", "filesystem")):
        for command in commands:
            done = t.run("run", *words, "--", *command)
            t.equal((done.status, done.out, mark.exists()), (125, "", False), done)
            t.true(done.err.startswith("sbx: error[backend-missing]: sandbox UNAVAILABLE"), done)
            t.has(done.err, "why: no sandbox backend works on this machine", done)
            names_missing(t, reason_of(t, done))
            t.has(done.err, f"fix: {REMEDY}", done)
            t.equal("set both SBX_SANDBOX=none and SBX_ALLOW_NO_SANDBOX=1" in done.err, "--require" not in words, done)
    done = t.run("run", "--", t.actor, "touch", native(mark), env=t.unboxed)
    t.equal((done.status, mark.exists()), (0, True), "with both keys it would have run")


@promise("the outcome of a refused run says so for programs")
def _(t):
    done = t.run("run", "--json", "--", t.actor, "exit", 0)
    report = t.outcome(done)
    t.equal((done.status, report.get("status"), report.get("origin"), report.get("started")),
            (125, 125, "sbx", False), done)
    selection = report.get("selection", {})
    t.equal((selection.get("backend"), len(selection.get("tried", []))), ("fail-closed", 1), done)
    for tried in selection.get("tried", []):
        t.equal((tried.get("backend"), tried.get("verdict"), tried.get("remedy")),
                ("appcontainer", "unavailable", REMEDY), done)
        names_missing(t, tried.get("reason", ""))
    t.equal(report.get("error", {}).get("code"), "unavailable", done)


@promise("shell refuses like run")
def _(t):
    done = t.run("shell", stdin=b"echo x > ran\r\nexit 0\r\n")
    t.equal((done.status, done.out, (t.project / "ran").exists()), (125, "", False), done)
    names_missing(t, reason_of(t, done))


@promise("SBX_SANDBOX=appcontainer refuses with the reason")
def _(t):
    mark = t.project / "ran"
    for allowed in (None, "1"):  # the permission is for "none", not for a backend that was asked for
        done = t.run("run", "--", t.actor, "touch", native(mark),
                     env={"SBX_SANDBOX": "appcontainer", "SBX_ALLOW_NO_SANDBOX": allowed})
        t.equal((done.status, mark.exists()), (125, False), done)
        t.has(done.err, "the backend that SBX_SANDBOX names cannot run this", done)
        names_missing(t, reason_of(t, done))


@promise("SBX_SANDBOX=none alone refuses and names the second key")
def _(t):
    mark = t.project / "ran"
    for allowed in (None, "", "0", "no", "yes"):
        done = t.run("run", "--", t.actor, "touch", native(mark),
                     env={"SBX_SANDBOX": "none", "SBX_ALLOW_NO_SANDBOX": allowed})
        t.equal((done.status, mark.exists()), (125, False), done)
        t.has(done.err, "SBX_ALLOW_NO_SANDBOX=1", done)


@promise("where nothing works the second key alone runs the command, with a warning")
def _(t):
    mark = t.project / "ran"
    done = t.run("run", "--", t.actor, "touch", native(mark), env={"SBX_ALLOW_NO_SANDBOX": "1"})
    t.equal((done.status, mark.exists()), (0, True), done)
    t.has(done.err, "WITHOUT a sandbox", done)
    refused = t.run("run", "--require", "filesystem", "--", t.actor, "exit", 0, env={"SBX_ALLOW_NO_SANDBOX": "1"})
    t.equal(refused.status, 125, refused)


def environment_of(text):
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line[1:])


@promise("without a sandbox the environment is scrubbed: exactly what Windows needs, what is declared, and Wine's own")
def _(t):
    done = t.run("run", "-e", "DECLARED=yes", "-E", "MY_PASSWORD", "--", t.actor, "env",
                 env={**t.unboxed, **SECRETS})
    t.equal(done.status, 0, done)
    seen = environment_of(done.out)
    # The same program without sbx: what Wine puts into every process, and that the secrets do pass there.
    plain = subprocess.run([*RUNNER, t.actor, "env"], env=t.environment(SECRETS), cwd=t.project,
                           stdout=subprocess.PIPE, check=True)
    control = environment_of(plain.stdout.decode())
    t.equal({name: control.get(name) for name in SECRETS}, SECRETS)
    wines = {name for name in control if re.fullmatch(r"WINE[A-Z0-9]*|PROCESSOR_ARCHITECTURE", name)}
    t.true(wines, "Wine adds nothing any more: this list is out of date")
    t.equal(set(seen) - wines, NEEDED | {"DECLARED", "MY_PASSWORD"}, done)
    t.equal((seen.get("DECLARED"), seen.get("MY_PASSWORD")), ("yes", "planted-4"), done)
    t.equal({name: seen.get(name, "").lower() for name in NEEDED},
            {"SystemRoot": "c:\\windows", "SystemDrive": "c:"}, done)
    for name, value in SECRETS.items():
        if name != "MY_PASSWORD":
            t.lacks(done.out, value, "not under another name either")


@promise("one Ctrl-C is the command's own, two within three seconds end it")
def _(t):
    for presses, limit in ((1, None), (2, "cancel")):
        ready, late = t.project / f"ready{presses}", t.project / f"late{presses}"
        process = t.start("run", "--json", "--", t.actor, "hang", native(ready), 5000, native(late), env=t.unboxed,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(400):
            if ready.exists():
                break
            time.sleep(0.05)
        t.true(ready.exists(), "the command did not start")
        for _ in range(presses):
            process.send_signal(signal.SIGINT)
            time.sleep(0.3)
        report = t.json(process.communicate(timeout=30)[1].decode().splitlines()[-1])
        t.equal(report.get("limit"), limit)
        time.sleep(0 if limit is None else 5)
        t.equal(late.exists(), limit is None, "the tree ends with it, and only then")


@promise("doctor says the same reason, row by row, and ends with 1")
def _(t):
    done = t.run("doctor")
    t.equal(done.status, 1, done)
    row = next((line for line in done.out.splitlines() if line.split()[1:2] == ["appcontainer"]), "")
    names_missing(t, row)
    t.equal(row.split()[:1], ["warn"], done)
    t.has(done.out, f"fix: {REMEDY}", done)
    t.has(done.out, "sbx run would refuse: no sandbox backend works on this machine", done)
    report = t.json(t.run("doctor", "--json").out)
    rows = {(row["group"], row["id"]): row for row in report.get("rows", [])}
    t.equal(report.get("ok"), False)
    t.equal(rows.get(("decision", "run"), {}).get("status"), "fail")
    backend = rows.get(("backends", "appcontainer"), {})
    t.equal(backend.get("summary"), reason_of(t, t.run("run", "--", t.actor, "exit", 0)))
    t.equal(backend.get("remedy"), REMEDY)
    for key in (("places", "drive-root"), ("places", "null-device"), ("places", "working-directory"),
                ("programs", "aliases"), ("session", "outer-job"), ("leftovers", "leases")):
        t.true(key in rows, key)
    for row in rows.values():
        t.equal(bool(row.get("remedy")), row.get("status") in ("warn", "fail"), row)


@promise("explain shows the plan as it would be, and that it would be refused")
def _(t):
    done = t.run("explain", "-w", native(t.project))
    t.equal(done.status, 0, done)
    t.has(done.out, "appcontainer, but sbx would REFUSE", done)
    names_missing(t, done.out)
    for part in ("create the process suspended", "verify while suspended", "Low integrity", "kill on close"):
        t.has(done.out, part, done)
    plan = t.plan("-w", native(t.project))
    t.equal(plan and plan.get("backend"), "appcontainer")


@promise("verify needs no box: it accepts a good manifest and refuses a bad one")
def _(t):
    good = t.manifest('[sandbox]\nprofile = "strict"\nfs_write_allow = [":cwd"]\n', "good.toml")
    bad = t.manifest('[sandbox]\nprofile = "no-such-profile"\n', "bad.toml")
    done = t.run("verify", native(good))
    t.equal(done.status, 0, done)
    done = t.run("verify", native(bad))
    t.equal(done.status, 1, done)
    t.has(done.out, 'fix: write one of "none", "strict", "service", "desktop"', done)


@promise("a refused run leaves no lease, no record and no remembered answer")
def _(t):
    for words in (("run", "--", t.actor, "exit", 0), ("doctor",), ("explain",)):
        t.run(*words)
        t.equal(leftovers(), [], words)


@promise("a remembered answer that says a box works does not make one")
def _(t):
    state = state_directory()
    state.mkdir(parents=True, exist_ok=True)
    version = t.run("version").out.split()[1]
    build = re.search(r"Windows (\d+\.\d+\.\d+)", t.run("doctor").out).group(1)
    mark = t.project / "ran"
    recipe = state / "appcontainer.recipe"
    try:
        recipe.write_text(f"sbx-recipe 1 {version} {build} token administrators-denied, own pseudo console\n")
        done = t.run("run", "--", t.actor, "touch", native(mark))
    finally:
        recipe.unlink(missing_ok=True)
    t.equal((done.status, mark.exists()), (125, False), done)
    names_missing(t, reason_of(t, done))


main()
