"""sbx explain, profile and doctor: the plan before anything runs."""

import json
import os
import subprocess

from harness import PLATFORM, POSIX, WINDOWS, main, native, promise, toml

PLATFORMS = ("linux", "macos", "windows")
PRESETS = [("profile", name) for name in ("none", "strict", "service", "desktop")] + \
          [("mode", name) for name in ("read-only", "workspace-write", "danger-full-access",
                                       "external-sandbox")]
DIMENSIONS = ("filesystem", "network", "syscalls", "memory", "cpu", "processes", "environment", "handles",
              "terminal")
TIERS = ("enforced", "best-effort", "none")


@promise("every preset is explained for every platform, from any of them")
def _(t):
    for platform in PLATFORMS:
        for word, name in PRESETS:
            plan = t.plan("--platform", platform, f"--{word}", name)
            if not t.true(plan, (platform, name)):
                continue
            t.equal((plan["platform"], plan["preset"]), (platform, name))
            t.equal(sorted(plan["tiers"]), sorted(DIMENSIONS))
            for entry in plan["tiers"].values():
                t.has(TIERS, entry["tier"])
            t.true(plan["steps"] and len(plan["digest"]) == 64)
            shown = t.run("explain", "--platform", platform, f"--{word}", name)
            t.equal(shown.status, 0, shown)
            t.has(shown.out, f"preset    {word} {name}", shown)
            t.has(shown.out, plan["digest"], "text and JSON are the same plan")


@promise("a plan for another platform has its paths and nothing of this machine")
def _(t):
    other = "windows" if not WINDOWS else "linux"
    text = t.run("explain", "--platform", other, "--mode", "workspace-write").out
    t.lacks(text, str(t.project))
    t.lacks(text, native(t.project))
    plan = t.plan("--platform", "windows") if not WINDOWS else t.plan("--platform", "linux")
    t.true(plan["cwd"].startswith("C:\\" if not WINDOWS else "/"), plan["cwd"])


@promise("the keys of this machine's environment do not choose for another platform")
def _(t):
    other = "windows" if not WINDOWS else "linux"
    t.equal(t.plan("--platform", other, env=t.unboxed)["backend"], t.plan("--platform", other)["backend"])


@promise("the same input gives the same bytes")
def _(t):
    t.manifest('[sandbox]\nmode = "workspace-write"\nenv = [["B", "2"], ["A", "1"]]\n')
    for words in ((), ("--json",), ("--platform", "macos", "--json"), ("-p", "desktop"),
                  ("--", "make", "-j", "2")):
        runs = {t.run("explain", *words).out_bytes for _ in range(3)}
        t.equal(len(runs), 1, words)
        t.true(len(next(iter(runs))) > 500)


def digest(t, text):
    path = t.manifest(text, "digest.toml")
    plan = t.plan("-f", path)
    return plan and plan["digest"]


@promise("equal policies written differently are one plan, in any order and spelling")
def _(t):
    for name in ("a", "b", "c"):
        (t.project / name).mkdir()
    a, b, c = (native(t.project / name) for name in ("a", "b", "c"))
    base = f'[sandbox]\nprofile = "strict"\nfs_read_allow = [{toml(a)}, {toml(b)}]\nfs_write_allow = [{toml(c)}]\n'
    same = [
        f'[sandbox]\nfs_write_allow = [{toml(c)}]\nfs_read_allow = [{toml(b)}, {toml(a)}]\nprofile = "strict"\n',
        f'[sandbox]\nprofile = "strict"\nfs_read_allow = [{toml(a)}, {toml(b)}, {toml(a)}]\nfs_write_allow = '
        f'[{toml(c)}, {toml(c)}]\n',
        f'[sandbox]\nprofile = "strict"\nfs_read_allow = [{toml(a + os.sep if not WINDOWS else a + chr(92))}, '
        f'{toml(b)}]\nfs_write_allow = [{toml(c)}]\n',
        f'[sandbox]\nprofile = "strict"\n[sandbox.filesystem]\n{toml(a)} = "read"\n{toml(b)} = "read"\n{toml(c)} = '
        f'"write"\n',
        '[sandbox]\nprofile = "strict"\nfs_read_allow = [":project/a", ":project/b"]\nfs_write_allow = '
        '[":project/c"]\n',
        base + 'env = []\n', base + '# comment\n',
    ]
    want = digest(t, base)
    for text in same:
        t.equal(digest(t, text), want, text)
    as_json = t.manifest(json.dumps({"sandbox": {"profile": "strict", "fs_read_allow": [a, b],
                                                 "fs_write_allow": [c]}}), "digest.json")
    t.equal(t.plan("-f", as_json)["digest"], want, "JSON")
    flags = t.plan("--no-manifest", "-p", "strict", "-r", a, "-r", b, "-w", c)
    t.equal(flags["digest"], want, "flags")


@promise("different policies have different digests")
def _(t):
    texts = ['profile = "strict"', 'profile = "service"', 'mode = "read-only"', 'mode = "workspace-write"',
             'profile = "strict"\ntimeout = "5s"', 'profile = "strict"\ntimeout = "6s"',
             'profile = "strict"\nenv = [["A", "1"]]', 'profile = "strict"\nenv = [["A", "2"]]',
             'profile = "strict"\nenv_pass = ["A"]', 'profile = "strict"\nnetwork = "inherit"',
             'profile = "strict"\nnetwork = {kind = "allow_hosts", hosts = ["example.com"]}',
             'profile = "strict"\nnetwork = {kind = "allow_hosts", hosts = ["example.org"]}',
             'profile = "strict"\nmax_cpu_secs = 3', 'mode = "workspace-write"\nprotect = ["defaults", ".x"]',
             'profile = "strict"\nfs_read_allow = [":cwd"]',
             'profile = "strict"\nfs_write_allow = [":cwd"]']
    digests = [digest(t, f"[sandbox]\n{text}\n") for text in texts]
    t.equal(len(set(digests)), len(texts))
    t.true(t.plan("--", "a")["digest"] != t.plan("--", "b")["digest"], "the command is part of the plan")


@promise("values of variables are never printed, only their names")
def _(t):
    for words in ((), ("--json",)):
        done = t.run("explain", *words, "-e", "TOKEN=hunter2", "-E", "PASSED",
                     env={"PASSED": "hunter3"})
        t.equal(done.status, 0, done)
        t.has(done.out, "TOKEN", done)
        t.has(done.out, "PASSED", done)
        t.lacks(done.out, "hunter", done)


@promise("explain says where each rule comes from and what was overridden")
def _(t):
    t.manifest('[sandbox]\nmode = "read-only"\nnetwork = "inherit"\nfs_read_allow = [":cwd"]\n',
               "said.toml")
    done = t.run("explain", "-f", "said.toml", "-w", native(t.project))
    t.equal(done.status, 0, done)
    t.has(done.out, "said.toml:3", done)
    t.has(done.out, "network: inherit instead of deny", done)
    t.has(done.out, "  -w\n", done)


@promise("explain starts nothing and changes nothing")
def _(t):
    t.run("explain", "--", t.actor, "touch", native(t.project / "ran"), env=t.unboxed)
    t.equal(list(t.project.iterdir()), [])
    t.equal([entry.name for entry in t.home.iterdir()], ["project"])


@promise("the command is shown as it was given, and need not exist")
def _(t):
    plan = t.plan("--", "no-such-program", "--flag", "a b", "")
    t.equal(plan["command"], ["no-such-program", "--flag", "a b", ""])
    t.equal(t.plan()["command"], [])


@promise("run --dry-run prints the same plan as explain")
def _(t):
    words = ("-p", "strict", "-t", "7s", "--", "make")
    t.equal(t.run("run", "--dry-run", *words).out, t.run("explain", *words).out)


@promise("profile list names every preset and which need the two keys")
def _(t):
    report = t.json(t.run("profile", "list", "--json").out)
    t.equal([(row["word"], row["name"]) for row in report.get("presets", [])], PRESETS)
    t.equal([row["name"] for row in report.get("presets", []) if row["needs_two_keys"]],
            ["none", "danger-full-access"])
    text = t.run("profile", "list").out
    for word, name in PRESETS:
        t.has(text, f"{word:8}{name:20}")


@promise("profile show is the plan of the preset alone")
def _(t):
    t.manifest('[sandbox]\nmode = "read-only"\nmax_cpu_secs = 77\n')
    for platform in PLATFORMS:
        for word, name in PRESETS:
            done = t.run("profile", "show", name, "--platform", platform, "--json")
            report = t.json(done.out, done)
            t.equal((done.status, report.get("plan", {}).get("preset")), (0, name), done)
            t.equal(report.get("plan", {}).get("limits", {}).get("cpu_secs"), None)
    done = t.run("profile", "show", "strikt")
    t.has(done.err, 'did you mean "strict"?', done)


@promise("doctor: every row has an id, a status and a summary; a warning or failure has a remedy")
def _(t):
    for env in ({}, t.unboxed, t.refused, {"SBX_ALLOW_NO_SANDBOX": "yes"}):
        done = t.run("doctor", "--json", env=env)
        report = t.json(done.out, done)
        rows = report.get("rows", [])
        t.equal(done.status, 1 if any(row["status"] == "fail" for row in rows) else 0, done)
        t.equal(report.get("ok"), done.status == 0)
        t.true(len(rows) >= 5)
        for row in rows:
            t.has(("ok", "warn", "fail", "skip"), row["status"], row)
            t.true(row["group"] and row["id"] and row["summary"], row)
            t.true(row["status"] in ("ok", "skip") or row["remedy"], row)
        ids = [(row["group"], row["id"]) for row in rows]
        t.equal(len(set(ids)), len(ids), "ids are unique")
        for wanted in (("platform", "kernel"), ("platform", "root"), ("config", "policy"), ("config", "trust"),
                       ("config", "PATH"), ("decision", "run")):
            t.has(ids, wanted)
        text = t.run("doctor", env=env)
        t.equal(text.status, done.status, text)
        for row in rows:
            t.has(text.out, f"{row['status']:5} {row['id']}", "text and JSON are the same rows")


@promise("doctor's backends are those of this platform, and an untested one is never ok")
def _(t):
    rows = t.json(t.run("doctor", "--json").out).get("rows", [])
    backends = {row["id"]: row for row in rows if row["group"] == "backends"}
    own = {"linux": ("bwrap", "native", "landlock"), "macos": ("seatbelt",), "windows": ("appcontainer",)}
    t.equal(sorted(name for name in backends if not name.endswith("-note")),
            sorted((*own[PLATFORM], "docker", "external")))
    for row in backends.values():
        t.true(row["status"] == "ok" or row["summary"], row)
        if "does not contain it" in row["summary"]:
            t.equal(row["status"], "skip")


@promise("doctor tells bwrap's version, and what to know about an old one", on=("linux",))
def _(t):
    for version, options, note in (("0.8.0", "--ro-bind-fd", "pins sources by descriptor"),
                                   ("0.11.1", "", "compares device and inode"), ("0.12.0", "--ro-bind-fd", None)):
        # A bwrap that says yes to everything; doctor only asks.
        fake = t.manifest(f"#!/bin/sh\n[ $1 = --help ] && echo '{options}'\necho bubblewrap {version}\n", "bwrap",
                          below=t.directory / f"bwrap-{version}")
        fake.chmod(0o755)
        rows = t.json(t.run("doctor", "--json", env={"PATH": str(fake.parent)}).out).get("rows", [])
        rows = {row["id"]: row for row in rows if row["group"] == "backends"}
        t.has(rows["bwrap"]["summary"], f"bubblewrap {version}")
        t.equal("without --bind-fd" in rows["bwrap"]["summary"], not options, rows["bwrap"])
        t.equal("bwrap-note" in rows, note is not None, rows)
        if note and "bwrap-note" in rows:
            t.has(rows["bwrap-note"]["summary"], note)
            t.equal("descriptor" in rows["bwrap-note"]["summary"], bool(options))
            t.equal((rows["bwrap-note"]["status"], rows["bwrap-note"]["remedy"]),
                    ("warn", "install bubblewrap 0.12 or newer"))


@promise("doctor tells of each layer and of the settings that forbid one", on=("linux",))
def _(t):
    def layers(prefix=()):
        done = t.run("doctor", "--json", prefix=prefix)
        return {row["id"]: row for row in t.json(done.out, done).get("rows", [])
                if row["group"] in ("layers", "limits")}
    rows = layers()
    t.equal(sorted(rows), ["cgroup", "landlock", "namespaces", "seccomp"])
    forbidding = ("unshare", "--user", "--map-root-user", "sh", "-c",
                  'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh")
    try:
        subprocess.run([*forbidding, "true"], check=True, stderr=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        t.skip("userns", "a user namespace of one's own cannot be made here")
    t.equal((rows["namespaces"]["status"], rows["namespaces"]["remedy"]), ("ok", None))
    row = layers(forbidding)["namespaces"]
    t.equal(row["status"], "warn", row)
    t.has(row["remedy"] or "", "user.max_user_namespaces")


@promise("doctor -v prints the table by which a backend is chosen")
def _(t):
    done = t.run("doctor", "-v")
    table = t.json(t.run("doctor", "--json").out).get("selection_table", [])
    t.true(len(table) >= 8)
    for row in table:
        t.has(done.out, row["condition"])
        t.has(done.out, row["backend"])


@promise("doctor tells the keys that are set, and another sbx in PATH")
def _(t):
    text = t.run("doctor", env=t.unboxed).out
    t.has(text, "SBX_SANDBOX")
    t.has(text, "SBX_ALLOW_NO_SANDBOX")
    t.lacks(t.run("doctor").out, "SBX_ALLOW_NO_SANDBOX")


@promise("doctor warns of another program called sbx that comes first", on=POSIX)
def _(t):
    other = t.manifest("#!/bin/sh\n", "sbx", below=t.project / "bin")
    other.chmod(0o755)
    done = t.run("doctor", env={"PATH": f"{other.parent}:{os.environ['PATH']}"})
    t.has(done.out, f"another sbx comes first in PATH: {other}", done)


@promise("version says which sbx this is")
def _(t):
    done = t.run("version")
    t.equal(done.status, 0, done)
    t.true(done.out.startswith("sbx ") and done.out.count("\n") == 1, done)
    t.has(done.out, "not Docker", done)
    report = t.json(t.run("version", "--json").out)
    t.has(done.out, report.get("version", "?"))
    t.equal(report.get("platform"), PLATFORM)
    for spelled in ("--version", "-V"):
        t.equal(t.run(spelled).out, done.out)


main()
