"""Running without a sandbox needs two keys, and without them sbx refuses with the whole remedy."""

import shutil

from harness import PLATFORM, WINDOWS, main, native, promise

SAYS_YES = ("1", "true", "TRUE", "True", "tRuE")
SAYS_NO = ("0", "false", "yes", "on", "y", "2", "01", "1 ", " 1", "true ", "truetrue", "1\n", "None",
           "enabled", "\uff11")
# What makes sbx refuse on every machine, whatever backends it has.
REFUSALS = {
    "no-such-backend": "names no backend sbx knows",
    "fail-closed": "asks for the refusal itself",
    "seatbelt" if PLATFORM != "macos" else "appcontainer": "names a backend of another platform",
    "none": "also needs SBX_ALLOW_NO_SANDBOX=1",
}
REMEDY = {"linux": "bubblewrap", "macos": "sandbox-exec", "windows": "Windows 10"}[PLATFORM]


def warned(done):
    return done.err.count("running WITHOUT a sandbox")


def attempt(t, *words, **env):
    """Does this environment let a command run? It leaves a mark, so the answer is not only sbx's word."""
    mark = t.project / "ran"
    mark.unlink(missing_ok=True)
    done = t.run("run", *words, "--", t.actor, "touch", native(mark), env=env)
    t.equal(done.status, 0 if mark.exists() else 125, done)
    t.equal(warned(done), 1 if mark.exists() else 0, done)
    t.equal("UNAVAILABLE" in done.err, not mark.exists(), done)
    return mark.exists()


def attempt_in_box(t):
    """The same without keys where a backend works: it runs, and nothing is warned of."""
    mark = t.project / "ran"
    mark.unlink(missing_ok=True)
    done = t.run("run", "--", "touch", mark)
    t.equal((done.status, warned(done), done.err), (0, 0, ""), done)
    return mark.exists()


@promise("SBX_SANDBOX=none with every accepted spelling of the second key runs, and warns once")
def _(t):
    for value in SAYS_YES:
        t.true(attempt(t, SBX_SANDBOX="none", SBX_ALLOW_NO_SANDBOX=value), value)


@promise("any other spelling of the second key is no key")
def _(t):
    for value in SAYS_NO:
        t.true(not attempt(t, SBX_SANDBOX="none", SBX_ALLOW_NO_SANDBOX=value), repr(value))
    t.true(not attempt(t, SBX_SANDBOX="none"), "absent")
    if not WINDOWS:  # Windows has no empty variables
        t.true(not attempt(t, SBX_SANDBOX="none", SBX_ALLOW_NO_SANDBOX=""), "empty")


@promise("the first key has one spelling")
def _(t):
    for value in ("None", "NONE", "none ", " none", "no", "off", "nothing", "none,bwrap"):
        t.true(not attempt(t, SBX_SANDBOX=value, SBX_ALLOW_NO_SANDBOX="1"), repr(value))


@promise("a manifest or a flag that asks for no sandbox is not one of the keys")
def _(t):
    free = t.manifest('[sandbox]\nprofile = "none"\n', "free.toml")
    danger = t.manifest('[sandbox]\nmode = "danger-full-access"\n', "danger.toml")
    for words in (("-p", "none"), ("--mode", "danger-full-access"), ("-f", free), ("-f", danger)):
        t.true(not attempt(t, *words), words)
        t.true(not attempt(t, *words, SBX_ALLOW_NO_SANDBOX="1"), words)
        t.true(not attempt(t, *words, SBX_SANDBOX="none"), words)
        t.true(attempt(t, *words, SBX_SANDBOX="none", SBX_ALLOW_NO_SANDBOX="1"), words)


@promise("a required dimension is not given up for the two keys")
def _(t):
    t.true(not attempt(t, "--require", "memory", SBX_SANDBOX="none", SBX_ALLOW_NO_SANDBOX="1"))


@promise("keys are read from the environment of sbx only, not from the manifest's")
def _(t):
    path = t.manifest('[sandbox]\nenv = [["SBX_SANDBOX", "none"], ["SBX_ALLOW_NO_SANDBOX", "1"]]\n',
                      "env.toml")
    t.true(not attempt(t, "-f", path, **t.refused))
    t.true(not attempt(t, "-e", "SBX_SANDBOX=none", "-e", "SBX_ALLOW_NO_SANDBOX=1", **t.refused))


def check_refusal(t, why, remedy, env, prefix=()):
    done = t.run("run", "--", t.actor, "exit", 0, env=env, prefix=prefix)
    t.equal((done.status, done.out), (125, ""), done)
    for part in ("sbx: error[backend-missing]: sandbox UNAVAILABLE and unsandboxed execution is not permitted\n",
                 "\n  why: ", why, "\n  fix: ", remedy,
                 "to accept NO isolation set both SBX_SANDBOX=none and SBX_ALLOW_NO_SANDBOX=1\n",
                 "\n  more: sbx doctor\n"):
        t.has(done.err, part, done)
    return done


@promise("the refusal says what, why, and the exact remedy")
def _(t):
    for name, why in REFUSALS.items():
        check_refusal(t, why, "unset SBX_SANDBOX", {"SBX_SANDBOX": name})


# A user namespace in which no further one can be made, as with the sysctl for the whole machine.
BARREN = (shutil.which("unshare"), "-U", "-r", "/bin/sh", "-c",
          'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh")


def without_helper(t):
    """A PATH in which no helper of a backend is found."""
    empty = t.directory / "no-programs"
    empty.mkdir(exist_ok=True)
    return {"PATH": str(empty)}


@promise("where no backend works, it says what was tried, why each failed, and this platform's remedy")
def _(t):
    env = {} if WINDOWS else without_helper(t)
    prefix = BARREN if PLATFORM == "linux" else ()
    selection = t.json(t.run("explain", "--json", env=env, prefix=prefix).out)["selection"]
    t.equal(selection["backend"], "fail-closed", selection)
    tried = selection["tried"]
    t.true(tried)
    is_built = not all("does not contain it" in entry["reason"] for entry in tried)
    # A weaker backend may work and not be able to hold the default manifest.
    any_works = any(entry["verdict"] != "unavailable" for entry in tried)
    done = check_refusal(t, "no backend on this machine can hold this manifest" if any_works
                         else "no sandbox backend works on this machine",
                         REMEDY if is_built else "use a build of sbx that contains", env, prefix)
    if prefix:
        t.has(done.err, "set the sysctl user.max_user_namespaces to more than 0", done)
    for entry in tried:
        t.has(done.err, f"tried: {entry['backend']}", done)
        t.has(done.err, entry["reason"], done)


@promise("a backend that is named and cannot run is not replaced by another", on=("linux",))
def _(t):
    env = without_helper(t) | {"SBX_SANDBOX": "bwrap"}
    done = check_refusal(t, "the backend that SBX_SANDBOX names cannot run this", "install bubblewrap", env)
    t.has(done.err, "tried: bwrap        no bwrap in PATH\n", done)
    t.true(not attempt(t, **env))
    t.true(not attempt(t, **env, SBX_ALLOW_NO_SANDBOX="1"))


@promise("a bwrap that others can change, or that is no bwrap, is not used", on=("linux",))
def _(t):
    mark = t.project / "fooled"
    folder = t.directory / "programs"
    fake = t.manifest(f"#!/bin/sh\necho bubblewrap 9.9.9\n: > '{mark}'\nexit 0\n", "bwrap", below=folder)
    for mode, folder_mode, reason in ((0o777, 0o755, "can be changed by others"),
                                      (0o755, 0o777, "can be changed by others"),
                                      (0o644, 0o755, "no bwrap in PATH")):
        fake.chmod(mode)
        folder.chmod(folder_mode)
        done = check_refusal(t, reason, "", {"PATH": str(folder), "SBX_SANDBOX": "bwrap"})
        t.true(not mark.exists(), done)
    folder.chmod(0o755)
    t.manifest("#!/bin/sh\necho something else\n", "bwrap", below=folder).chmod(0o755)
    check_refusal(t, "does not answer like bubblewrap", "install bubblewrap",
                  {"PATH": str(folder), "SBX_SANDBOX": "bwrap"})
    t.manifest("#!/bin/sh\necho bubblewrap 0.7.0\n", "bwrap", below=folder).chmod(0o755)
    check_refusal(t, "0.8.0 is the oldest", "update bubblewrap",
                  {"PATH": str(folder), "SBX_SANDBOX": "bwrap"})


@promise("where a backend works, a run uses it, and both say which", on=("linux",))
def _(t):
    selection = t.json(t.run("explain", "--json").out)["selection"]
    if selection["backend"] == "fail-closed":
        t.skip("box", selection["tried"][0]["reason"])
    done = t.run("run", "--json", "--", "sh", "-c", "exit 3")
    outcome = t.outcome(done)
    t.equal((done.status, outcome.get("unsandboxed")), (3, False), done)
    t.equal(outcome.get("selection", {}).get("backend"), selection["backend"], done)
    t.true(attempt_in_box(t), "and it may write into the project")


@promise("a refusal as JSON carries the same: origin, code, what was tried")
def _(t):
    for name, why in REFUSALS.items():
        done = t.run("run", "--json", "--", t.actor, "exit", 0, env={"SBX_SANDBOX": name})
        report = t.json(done.err, done)
        t.equal((done.status, done.out), (125, ""), done)
        t.equal([report.get(key) for key in ("origin", "status", "started", "ok", "unsandboxed")],
                ["sbx", 125, False, False, False])
        t.equal(report.get("error", {}).get("code"), "unavailable")
        t.equal(report.get("selection", {}).get("backend"), "fail-closed")
        t.has(report.get("selection", {}).get("why") or "", why)


@promise("the warning cannot be silenced, and the outcome says it too")
def _(t):
    for words in ((), ("-q",), ("--quiet", "--color", "never"), ("--json",)):
        done = t.run("run", *words, "--", t.actor, "exit", 0, env=t.unboxed)
        t.equal((done.status, warned(done)), (0, 1), done)
        t.true(done.err.startswith("sbx: warning: "), done)
    t.equal(t.outcome(t.run("run", "--json", "--", t.actor, "exit", 0, env=t.unboxed)).get("unsandboxed"),
            True)


@promise("explain and doctor say beforehand that nothing would be held")
def _(t):
    plan = t.run("explain", env=t.unboxed)
    t.equal(plan.status, 0, plan)
    t.has(plan.out, "backend   none", plan)
    doctor = t.run("doctor", env=t.unboxed)
    t.equal(doctor.status, 1, doctor)
    t.has(doctor.out, "WITHOUT a sandbox", doctor)
    refused = t.run("explain", env=t.refused)
    t.equal(refused.status, 0, refused)
    t.has(refused.out, "would REFUSE", refused)


main()
