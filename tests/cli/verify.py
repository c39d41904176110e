"""sbx verify: everything wrong with a file, all at once, in bounded memory and time."""

import json
import os
import random
import resource
import time

from harness import POSIX, WINDOWS, instrumented, main, native, promise, toml

MEGABYTE = 1 << 20
# A sanitizer's shadow and quarantine are not ours.
MEMORY = 512 * MEGABYTE if instrumented() else 64 * MEGABYTE
SECONDS = 20
COPIES = 12


def findings(t, *words, status=1, **options):
    """{file: [finding, …]} of a verification."""
    done = t.run("verify", "--json", *words, **options)
    t.equal(done.status, status, done)
    report = t.json(done.out, done)
    t.equal(report.get("ok"), status == 0, done)
    return {entry["file"]: entry["findings"] for entry in report.get("files", [])}


def codes(list_of_findings, level="error"):
    return [finding["code"] for finding in list_of_findings if finding["level"] == level]


def ten_mistakes(t):
    """A file, and its mistakes as (code, key, line)."""
    return (f'''[sandbox]
fs_read_allow = ["relative", ""]
fs_write_allow = [{toml(native(t.project / "a/../b"))}]
colour = "blue"
timeout = 30
max_cpu_secs = 0
max_memory_bytes = "lots"
git = "push"
network = {{ kind = "deny", hosts = ["example.com"] }}
env = [["A=B", "x"]]
tmpfs = [{toml(native(t.project) + chr(7))}]
cwd = {toml(native(t.project / "missing"))}
'''), [("path-not-absolute", "fs_read_allow[0]", 2), ("path-empty", "fs_read_allow[1]", 2),
      ("path-dotdot", "fs_write_allow[0]", 3), ("unknown-key", "colour", 4), ("wrong-type", "timeout", 5),
      ("out-of-range", "max_cpu_secs", 6), ("bad-value", "max_memory_bytes", 7), ("bad-value", "git", 8),
      ("conflict", "network", 9), ("env-name-invalid", "env[0]", 10), ("path-has-control", "tmpfs[0]", 11)]


@promise("ten and more different mistakes in one file are all reported, each with code, key and place")
def _(t):
    text, mistakes = ten_mistakes(t)
    path = t.manifest(text, "ten.toml")
    found = findings(t, "ten.toml")["ten.toml"]
    t.true(len(mistakes) >= 10)
    t.true(len({code for code, _, _ in mistakes}) >= 10, "different ones")
    for mistake in mistakes:
        t.has([(finding["code"], finding["key"], finding["line"]) for finding in found], mistake)
    for finding in found:
        t.equal(finding["source"], "ten.toml")
        t.true(finding["text"] and finding["column"] > 0, finding)
    t.equal([(f["line"], f["column"]) for f in found], sorted((f["line"], f["column"]) for f in found),
            "in the order of the file")
    shown = t.run("verify", path)
    t.equal(shown.status, 1, shown)
    for code, key, line in mistakes:
        t.has(shown.out, f"error[{code}]: ", shown)
        t.has(shown.out, f"ten.toml:{line}:", shown)
    t.has(shown.out, f"ten.toml: {len(codes(found))} errors, ", shown)


@promise("a clean file is ok, in both forms and from standard input")
def _(t):
    text = '[sandbox]\nmode = "read-only"\ntimeout = "2m"\n'
    t.manifest(text, "good.toml")
    t.manifest('{"sandbox": {"mode": "read-only", "timeout": "2m"}}', "good.json")
    done = t.run("verify", "good.toml", "good.json")
    t.equal((done.status, done.out), (0, "good.toml: ok\ngood.json: ok\n"), done)
    t.equal(t.run("verify", "-", stdin=text).status, 0)
    t.equal(t.run("verify", "-", stdin="[sandbox]\nx = 1\n").status, 1)


@promise("TOML and JSON give the same findings")
def _(t):
    text, _ = ten_mistakes(t)
    values = {
        "fs_read_allow": ["relative", ""], "fs_write_allow": [native(t.project / "a/../b")], "colour": "blue",
        "timeout": 30, "max_cpu_secs": 0, "max_memory_bytes": "lots", "git": "push",
        "network": {"kind": "deny", "hosts": ["example.com"]}, "env": [["A=B", "x"]],
        "tmpfs": [native(t.project) + chr(7)], "cwd": native(t.project / "missing")}
    t.manifest(text, "same.toml")
    t.manifest(json.dumps({"sandbox": values}), "same.json")
    both = findings(t, "same.toml", "same.json")
    key = lambda finding: (finding["key"], finding["code"], finding["value"], finding["text"], finding["level"])
    t.equal(sorted(map(key, both["same.json"]), key=repr), sorted(map(key, both["same.toml"]), key=repr))


@promise("several files are judged one by one; one bad file does not hide another")
def _(t):
    t.manifest("[sandbox]\n", "a.toml")
    t.manifest("[sandbox]\nx = 1\n", "b.toml")
    t.manifest("[sandbox\n", "c.toml")
    result = findings(t, "a.toml", "b.toml", "missing.toml", "c.toml", "a.toml")
    t.equal({name: codes(found) for name, found in result.items()},
            {"a.toml": [], "b.toml": ["unknown-key"], "missing.toml": ["file-unreadable"], "c.toml": ["syntax"]})
    done = t.run("verify", *["a.toml"] * 3)
    t.equal((done.status, done.out), (0, "a.toml: ok\n" * 3), done)


@promise("many large files do not add up: memory is given back between them")
def _(t):
    entries = ",\n".join(f'"/srv/data/{number:06}"' for number in range(900))
    t.manifest(f"[sandbox]\nfs_read_allow = [\n{entries}\n]\n", "large.toml")
    units = "".join(f'[unit.u{number}]\ncommand = ["x"]\nfs_read_allow = ["/usr"]\n' for number in range(2000))
    t.manifest(units, "units.toml")
    done = t.run("verify", "--platform", "linux", *["large.toml", "units.toml"] * COPIES, seconds=120)
    t.lacks(done.out, "memory", "an error about memory")
    t.equal(done.out.count("units.toml: ok"), COPIES)


@promise("what is wrong with one unit is said of that unit alone")
def _(t):
    t.manifest('''[unit.good]
command = ["node", "server.js"]
profile = "service"
[unit.bad]
command = []
colour = 1
[unit.worse]
command = ["x"]
timeout = "soon"
[unit."not a name"]
command = ["x"]
[unit.fine]
command = ["x"]
type = "oneshot"
''', "units.toml")
    found = findings(t, "units.toml")["units.toml"]
    t.equal(sorted((finding["unit"], finding["code"]) for finding in found if finding["unit"]),
            [("bad", "bad-value"), ("bad", "unknown-key"), ("worse", "bad-value")])
    t.equal([finding["code"] for finding in found if not finding["unit"]], ["bad-value"])
    shown = t.run("verify", "units.toml").out
    t.has(shown, "unit bad", shown)
    t.lacks(shown, "unit good", shown)


@promise("an unknown key names the nearest known one")
def _(t):
    for wrong, right in (("fs_read_alow", "fs_read_allow"), ("time_out", "timeout"), ("netwrok", "network"),
                         ("max_cpu_sec", "max_cpu_secs"), ("Profile", "profile")):
        t.manifest(f"[sandbox]\n{wrong} = 1\n", "x.toml")
        found = findings(t, "x.toml")["x.toml"]
        t.equal((codes(found), found[0]["hint"]), (["unknown-key"], f'did you mean "{right}"?'))
    t.manifest('mode = "read-only"\n', "x.toml")
    t.has(findings(t, "x.toml")["x.toml"][0]["hint"], "[sandbox]")


@promise("an empty file is an error, not a default")
def _(t):
    for text in ("", "\n", "# nothing\n", "\ufeff", '"$schema" = "x"\n'):
        t.manifest(text, "empty.toml")
        t.equal(codes(findings(t, "empty.toml")["empty.toml"]), ["bad-value"], repr(text))
    for text in ("", "[]", "null", "1", '"x"', "{}", '{"sandbox": []}', "{} {}", '{"sandbox": {}, "sandbox": {}}'):
        t.manifest(text, "empty.json")
        t.equal(len(codes(findings(t, "empty.json")["empty.json"])), 1, text)


@promise("errors of syntax show line, column and the offending line")
def _(t):
    t.manifest('[sandbox]\nmode = "read-only"\ntimeout = = 3\n', "x.toml")
    finding = findings(t, "x.toml")["x.toml"][0]
    t.equal((finding["code"], finding["line"]), ("syntax", 3))
    t.has(finding["hint"], "timeout = = 3")
    t.has(finding["hint"], "^")
    t.manifest('{"sandbox": {\n "mode": "read-only",\n "timeout" 3}}', "x.json")
    finding = findings(t, "x.json")["x.json"][0]
    t.equal((finding["code"], finding["line"]), ("syntax", 3))


def hostile_files():
    """(name, content, code): whatever they are, they must be refused quickly and cheaply. Large ones are never
    whole in memory here: the peak of a child starts with the peak of its parent."""
    half = MEGABYTE // 2
    for form, opening in (("toml", b"x = "), ("json", b"")):
        yield f"50 MB.{form}", [b"#" * MEGABYTE] * 50, "file-too-large"
        yield f"just too large.{form}", b"\n" * (MEGABYTE + 1), "file-too-large"
        yield f"deep arrays.{form}", opening + b"[" * half, None
        yield f"deep closed arrays.{form}", opening + b"[" * (half - 9) + b"]" * (half - 9), None
        yield f"zeros.{form}", b"\0" * half, "syntax"
        yield f"zero inside.{form}", opening + b'"a\0b"', "syntax"
        yield f"not utf-8.{form}", b'[sandbox]\nmode = "caf\xe9"\n', "syntax"
        yield f"utf-16.{form}", "[sandbox]\n".encode("utf-16"), "syntax"
        yield f"random.{form}", random.Random(3).randbytes(half), None
    yield "deep tables.toml", b"[" + b"a." * (half // 2) + b"a]", None
    yield "deep inline.toml", b"x = " + b"{a=" * (half // 4), None
    yield "deep objects.json", b'{"a":' * (half // 5), None
    yield "truncated.toml", b'[sandbox]\nfs_read_allow = ["/usr", "/e', "syntax"
    yield "truncated.json", b'{"sandbox": {"fs_read_allow": ["/usr", "/e', "syntax"
    yield "truncated key.toml", b"[sandbox]\nmode", "syntax"
    yield "many keys.toml", b"[sandbox]\n" + b"".join(b"k%d = 1\n" % i for i in range(60000)), "unknown-key"
    yield "one long line.toml", b"[sandbox]\nx = \"" + b"a" * (MEGABYTE - 100) + b"\"\n", "unknown-key"
    yield "one long key.toml", b"[sandbox]\n" + b"a" * (MEGABYTE - 100) + b" = 1\n", "unknown-key"
    yield "a huge number.json", b'{"sandbox": {"max_cpu_secs": ' + b"9" * half + b"}}", None


@promise("hostile files get a clear error with exit 1, quickly and in bounded memory")
def _(t):
    for name, content, code in hostile_files():
        path = t.manifest(content, name)
        begin = time.monotonic()
        found = findings(t, path.name)[path.name]
        t.true(time.monotonic() - begin < SECONDS, f"{name}: {time.monotonic() - begin:.1f} s")
        t.true(found and found[0]["text"], name)
        if code:
            t.equal(codes(found)[:1], [code], name)
        if not WINDOWS:  # Wine's own memory is not ours
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
            t.true(peak < MEMORY, f"{name}: {peak // MEGABYTE} MB")
        path.unlink()


@promise("hostile files are told in a text of bounded length, too")
def _(t):
    for name, content, _ in hostile_files():
        if "keys" not in name and "long" not in name and "zero" not in name:
            continue
        path = t.manifest(content, name)
        done = t.run("verify", path.name)
        t.equal(done.status, 1, name)
        t.true(len(done.out) < 4 * MEGABYTE, f"{name}: {len(done.out)} characters of output")
        t.has(done.out, "error[", name)
        path.unlink()


@promise("what is no regular file is refused without waiting for it", on=POSIX)
def _(t):
    os.mkfifo(t.project / "fifo.toml")
    (t.project / "directory.toml").mkdir()
    os.symlink("/dev/zero", t.project / "zero.toml")
    os.symlink("loop.toml", t.project / "loop.toml")
    for name in ("fifo.toml", "directory.toml", "zero.toml", "loop.toml", "/dev/zero", "/dev/tty"):
        done = t.run("verify", name, seconds=10)
        t.equal(done.status, 1, done)
        t.has(done.out, "error[file-unreadable]", done)


@promise("an endless standard input is refused when it is too long", on=POSIX)
def _(t):
    with open("/dev/zero", "rb") as zero:
        done = t.run("verify", "-", stdin=zero, seconds=20)
    t.equal(done.status, 1, done)
    t.has(done.out, "error[file-too-large]", done)


@promise("thousands of mistakes are counted, and a thousand of them shown")
def _(t):
    t.manifest("[sandbox]\n" + "".join(f"k{number} = 1\n" for number in range(3000)), "many.toml")
    t.equal(len(findings(t, "many.toml")["many.toml"]), 1000)
    done = t.run("verify", "many.toml")
    t.has(done.out, "and 2000 more findings", done)
    t.has(done.out, "3000 errors", done)


@promise("-q leaves the errors and drops fixes, notes and warnings")
def _(t):
    t.manifest('[sandbox]\nx = 1\nenv = [["LD_PRELOAD", "y"]]\n', "x.toml")
    done = t.run("verify", "-q", "x.toml")
    t.has(done.out, "error[unknown-key]", done)
    t.lacks(done.out, "fix:", done)
    t.lacks(done.out, "warning[", done)
    t.has(t.run("verify", "x.toml").out, "warning[env-loader-variable]")


@promise("every code that a finding can have is in the list of codes")
def _(t):
    report = t.json(t.run("help", "codes", "--json").out)
    listed = {row["code"]: row["level"] for row in report.get("codes", [])}
    t.true(len(listed) >= 20)
    text, _ = ten_mistakes(t)
    t.manifest(text, "ten.toml")
    for finding in findings(t, "ten.toml")["ten.toml"]:
        t.equal(listed.get(finding["code"]), finding["level"])
    for code in ("path-not-absolute path-empty path-has-control path-forbidden path-missing path-duplicate "
                 "path-dotdot unknown-key wrong-type bad-value out-of-range conflict raw-args-gate-off "
                 "raw-args-unsafe policy-unsupported backend-missing platform-unsupported user-untrusted "
                 "host-pattern-invalid shared-platform-apex").split():
        t.has(listed, code)


@promise("keys of another platform are findings there, and --platform asks for it")
def _(t):
    t.manifest('[sandbox]\nuser = "nobody"\n', "user.toml")
    t.equal(codes(findings(t, "--platform", "windows", "user.toml")["user.toml"]), ["platform-unsupported"])
    t.equal(findings(t, "--platform", "linux", "user.toml", status=0)["user.toml"], [])
    t.manifest('[sandbox]\nfs_read_allow = ["C:\\\\code"]\n', "drive.toml")
    for platform, wanted in (("linux", ["path-not-absolute"]), ("macos", ["path-not-absolute"]), ("windows", [])):
        if platform == ("windows" if WINDOWS else "linux"):
            continue  # on its own platform the machine's disk is asked too
        t.equal(codes(findings(t, "--platform", platform, "drive.toml", status=1 if wanted else 0)["drive.toml"]),
                wanted, platform)


main()
