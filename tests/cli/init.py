"""sbx init and sbx schema: where a manifest comes from, and what it may hold."""

import json
import os
import re
import tomllib

from harness import POSIX, WINDOWS, main, native, promise

TEMPLATES = ("default", "node", "python", "rust", "go", "c", "dotnet")


@promise("every template is clean, explained, found without trust, and more than comments")
def _(t):
    for name in TEMPLATES:
        place = t.project / name
        place.mkdir()
        done = t.run("init", "--template", name, cwd=place)
        t.equal((done.status, done.err), (0, ""), done)
        t.has(done.out, f"wrote sbx.toml (template {name})", done)
        done = t.run("verify", "sbx.toml", cwd=place)
        t.equal((done.status, done.out), (0, "sbx.toml: ok\n"), done)
        plan = t.plan(cwd=place)
        t.equal(plan["preset"], "workspace-write", name)
        t.has(t.run("explain", cwd=place).out, "(found)", "it needs no trust")
        text = (place / "sbx.toml").read_text()
        t.equal(tomllib.loads(text)["sandbox"]["mode"], "workspace-write")
        t.true(max(map(len, text.splitlines())) <= 120, "its lines can be read")


@promise("the lines that a template offers as comments are valid once they are uncommented")
def _(t):
    for name in TEMPLATES:
        t.run("init", "--template", name, f"{name}.toml")
        text = (t.project / f"{name}.toml").read_text()
        offered = [match.group(1) for match in re.finditer(r"^# (\S.* = .*|\[sandbox\..*)$", text, re.M)]
        t.true(len(offered) >= 3, name)
        head = text.split("\n\n")[1]
        lines = [line.split("   #")[0] for line in offered]
        # The caches may not exist here; other platforms are not looked up.
        other = "macos" if not WINDOWS else "linux"
        t.manifest(head + "\n" + "\n".join(lines) + "\n", "offered.toml")
        done = t.run("verify", "--platform", other, "offered.toml")
        t.equal(done.status, 0, done)


@promise("without --template it is the default one; a name may be given")
def _(t):
    t.equal(t.run("init").status, 0)
    t.equal(t.run("init", "--template", "default", "other.toml").status, 0)
    t.equal((t.project / "sbx.toml").read_bytes(), (t.project / "other.toml").read_bytes())


@promise("an existing file is never overwritten, whatever it is")
def _(t):
    for content in ("", "precious\n"):
        path = t.manifest(content)
        done = t.run("init")
        t.equal(done.status, 1, done)
        t.has(done.err, "already exists", done)
        t.equal(path.read_text(), content)
        path.unlink()
    (t.project / "sbx.toml").mkdir()
    t.equal(t.run("init").status, 1)
    t.equal(list((t.project / "sbx.toml").iterdir()), [])


@promise("a link is not followed, dangling or not", on=POSIX)
def _(t):
    target = t.directory / "target"
    (t.project / "sbx.toml").symlink_to(target)
    t.equal(t.run("init").status, 1)
    t.true(not target.exists())
    target.write_text("precious\n")
    t.equal(t.run("init").status, 1)
    t.equal(target.read_text(), "precious\n")


@promise("what it writes others may not change, whatever the umask", on=POSIX)
def _(t):
    done = t.run("init", prefix=("sh", "-c", 'umask 0 && exec "$@"', "sh"))
    t.equal(done.status, 0, done)
    t.equal((t.project / "sbx.toml").stat().st_mode & 0o777, 0o644)


@promise("a directory that cannot be written is told, and nothing is left")
def _(t):
    done = t.run("init", native(t.project / "missing/sbx.toml"))
    t.equal(done.status, 1, done)
    t.has(done.err, "sbx: error[not-found]", done)
    t.equal(list(t.project.iterdir()), [])


@promise("a read-only directory is told, and nothing is left", on=POSIX)
def _(t):
    t.project.chmod(0o555)
    nobody = 65534
    who = {"user": nobody, "group": nobody, "extra_groups": []} if os.geteuid() == 0 else {}
    if who and t.run("version", cwd="/", **who).status != 0:
        t.skip("other-user", "another user cannot reach the program under test")
    done = t.run("init", **who)
    t.equal(done.status, 1, done)
    t.has(done.err, "permission denied", done)
    t.equal(list(t.project.iterdir()), [])


@promise("an unknown template is refused with the nearest name, before anything is written")
def _(t):
    done = t.run("init", "--template", "pyhton")
    t.equal(done.status, 2, done)
    t.has(done.err, 'did you mean "python"?', done)
    t.equal(list(t.project.iterdir()), [])


# ---- schema ----


def errors(schema, value, place="$"):
    """What JSON Schema says of a value, as far as our schema uses it."""
    found = []
    types = {"object": dict, "array": list, "string": str, "integer": int}
    if "type" in schema and (not isinstance(value, types[schema["type"]]) or isinstance(value, bool)):
        return [f"{place}: not {schema['type']}"]
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{place}: not in {schema['enum']}")
    if "const" in schema and value != schema["const"]:
        found.append(f"{place}: not {schema['const']}")
    if "anyOf" in schema and all(errors(option, value, place) for option in schema["anyOf"]):
        found.append(f"{place}: none of anyOf")
    if "not" in schema and not errors(schema["not"], value, place):
        found.append(f"{place}: forbidden")
    if "minimum" in schema and value < schema["minimum"]:
        found.append(f"{place}: too small")
    if "maximum" in schema and value > schema["maximum"]:
        found.append(f"{place}: too large")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        found.append(f"{place}: pattern")
    if isinstance(value, list):
        found += [f"{place}: length"] * (not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 1e9))
        for index, item in enumerate(value):
            found += errors(schema.get("items", {}), item, f"{place}[{index}]")
    if isinstance(value, dict):
        found += [f"{place}: no {name}" for name in schema.get("required", []) if name not in value]
        for name, item in value.items():
            rest = schema.get("additionalProperties", True)
            if name in schema.get("properties", {}):
                found += errors(schema["properties"][name], item, f"{place}.{name}")
            elif isinstance(rest, dict):
                found += errors(rest, item, f"{place}.{name}")
            elif rest is False:
                found.append(f"{place}: unknown {name}")
    return found


def schema_of(t):
    return t.json(t.run("schema").out)


# Values by shape: (value, is it good)
SAMPLES = {
    "profile": [("strict", True), ("strikt", False), (1, False)],
    "mode": [("read-only", True), ("x", False), ([], False)],
    "fs_read_allow": [([":cwd"], True), ([], True), ("x", False), ([1], False)],
    "fs_write_allow": [([":cwd"], True), ({}, False)],
    "filesystem": [({":cwd": "read"}, True), ({":cwd": "eat"}, False), ([], False), ({}, True)],
    "tmpfs": [([], True), ("x", False)],
    "protect": [("defaults", True), (["defaults", ".env"], True), ("other", False), (3, False)],
    "git": [("commit", True), ("push", False)],
    "unix_sockets": [([], True), ("x", False)],
    "network": [("deny", True), ("inherit", True), ({"kind": "deny"}, True), ({"kind": "x"}, False),
                ({"kind": "allow_hosts", "hosts": ["example.com"]}, True), ({"hosts": []}, False), ("allow_hosts", False),
                ({"kind": "allow_hosts", "ports": []}, False), ("x", False)],
    "syscall_policy": [("strict", True), ("x", False)],
    "timeout": [("30s", True), ("1h30m", True), ({"secs": 3}, True), ({"secs": 3, "nanos": 5}, True), ("soon", False),
                ({"minutes": 1}, False), (30, False), ("90", True)],
    "max_memory_bytes": [(1 << 30, True), ("256MiB", True), ("1GB", True), ("much", False), (1, False), (-1, False),
                         (True, False)],
    "max_cpu_secs": [(1, True), (0, False), ("1", False), (1 << 40, False)],
    "max_processes": [(1, True), (0, False), (1.5, False)],
    "max_output_bytes": [(1, True), ("1MiB", True), (0, False)],
    "env": [([["A", "b"]], True), ([["A"]], False), ([["A", 1]], False), ({"A": "b"}, False), ([], True)],
    "env_pass": [(["PATH"], True), ("PATH", False)],
    "cwd": [(":cwd", True), (1, False)],
    "user": [("nobody", True), (0, True), (-1, False), ([], False)],
    "group": [("nogroup", True), (1000, True), (1 << 33, False)],
    "image": [("debian:12", True), (1, False)],
    "raw_args": [([], True), ("x", False)],
    "require": [(["memory"], True), (["luck"], False), ("memory", False), ([], True)],
}
# Keys that the platform under test does not have are still keys.
SHAPE = ("unknown-key", "wrong-type", "bad-value", "out-of-range", "syntax")


@promise("the schema is JSON Schema of exactly the keys that manifests have")
def _(t):
    schema = schema_of(t)
    t.equal(schema.get("$schema"), "https://json-schema.org/draft/2020-12/schema")
    keys = list(schema["properties"]["sandbox"]["properties"])
    options = t.json(t.run("help", "run", "--json").out)["commands"][0]["options"]
    t.equal(sorted({option["key"] for option in options if option["key"]}), sorted(keys))
    t.equal(sorted(SAMPLES), sorted(keys), "every key has samples here")
    for name, rule in schema["properties"]["sandbox"]["properties"].items():
        t.true(rule["description"], name)
    t.equal(sorted({*keys, "command", "type"}), sorted(schema["properties"]["unit"]["additionalProperties"]
                                                       ["properties"]))


@promise("every key of the schema is accepted by verify, and both judge each shape alike")
def _(t):
    schema = schema_of(t)
    for key, samples in SAMPLES.items():
        for value, good in samples:
            document = {"sandbox": {key: value}}
            t.equal(not errors(schema, document), good, f"schema: {document}: {errors(schema, document)}")
            t.manifest(json.dumps(document), "sample.json")
            report = t.json(t.run("verify", "--json", "sample.json").out)
            codes = [finding["code"] for finding in report["files"][0]["findings"]]
            t.equal(not any(code in SHAPE for code in codes), good, f"verify: {document}: {codes}")


@promise("verify and schema agree about whole documents")
def _(t):
    schema = schema_of(t)
    for document, good in (({"sandbox": {}}, True), ({"sandbox": {"profile": "strict", "mode": "read-only"}}, False),
                           ({"unit": {"a": {"command": ["x"]}}}, True), ({"unit": {"a": {}}}, False),
                           ({"unit": {"a": {"command": ["x"], "type": "oneshot", "profile": "strict"}}}, True),
                           ({"unit": {"a": {"command": ["x"], "type": "daily"}}}, False),
                           ({"unit": {"a": {"command": []}}}, False), ({"other": {}}, False),
                           ({"$schema": "x", "sandbox": {}}, True), ({"sandbox": {"colour": 1}}, False)):
        t.equal(not errors(schema, document), good, (document, errors(schema, document)))
        t.manifest(json.dumps(document), "document.json")
        t.equal(t.run("verify", "document.json").status, 0 if good else 1, document)


@promise("templates satisfy the schema")
def _(t):
    schema = schema_of(t)
    for name in TEMPLATES:
        t.run("init", "--template", name, f"{name}.toml")
        document = tomllib.loads((t.project / f"{name}.toml").read_text())
        t.equal(errors(schema, document), [], name)


@promise("schema prints the same with and without its one name")
def _(t):
    text = t.run("schema").out
    t.equal(t.run("schema", "manifest").out, text)
    t.equal(t.run("schema", "--json").out, text)


main()
