"""Which manifest sbx finds by itself, and which it refuses to."""

import os

from harness import POSIX, WINDOWS, main, native, promise

TIGHT = '[sandbox]\nmode = "read-only"\nmax_processes = {}\n'
NOBODY = 65534


def found(t, cwd, *words, **options):
    """(max_processes of the plan, manifest's path): every manifest of a case has a number of its own."""
    done = t.run("explain", "--json", *words, cwd=cwd, **options)
    t.equal(done.status, 0, done)
    report = t.json(done.out, done)
    return (report.get("plan", {}).get("limits", {}).get("processes"),
            report.get("manifest", {}).get("path"))


@promise("the nearest sbx.toml from the working directory upwards is used")
def _(t):
    deep = t.project / "a/b/c"
    deep.mkdir(parents=True)
    outer = t.manifest(TIGHT.format(11))
    t.equal(found(t, deep), (11, native(outer)))
    inner = t.manifest(TIGHT.format(12), below=t.project / "a")
    t.equal(found(t, deep), (12, native(inner)))
    t.equal(found(t, t.project / "a"), (12, native(inner)))
    t.equal(found(t, t.project), (11, native(outer)))
    own = t.manifest(TIGHT.format(13), below=deep)
    t.equal(found(t, deep), (13, native(own)))


@promise("the search stops at the root of a repository, be .git a directory or a file")
def _(t):
    t.manifest(TIGHT.format(11))
    for name, is_file in (("with-directory", False), ("with-file", True)):
        repository = t.project / name
        below = repository / "src"
        below.mkdir(parents=True)
        if is_file:
            (repository / ".git").write_text("gitdir: /elsewhere\n")
        else:
            (repository / ".git").mkdir()
        default = found(t, t.directory)[0] if WINDOWS else None
        t.equal(found(t, below), (default, None), name)
        t.equal(found(t, repository), (default, None), name)
        beside = t.manifest(TIGHT.format(12), below=repository)
        t.equal(found(t, below), (12, native(beside)), name)


@promise("the search stops at the home directory", on=POSIX)
def _(t):
    t.manifest(TIGHT.format(11), below=t.directory)
    t.equal(found(t, t.project), (None, None))
    t.equal(found(t, t.home), (None, None))
    at_home = t.manifest(TIGHT.format(12), below=t.home)
    t.equal(found(t, t.project), (12, str(at_home)))


@promise("-f names another file, --no-manifest none, and both win over the search")
def _(t):
    t.manifest(TIGHT.format(11))
    other = t.manifest(TIGHT.format(12), "other.toml")
    t.equal(found(t, t.project, "-f", "other.toml"), (12, native(other)))
    as_json = t.manifest('{"sandbox": {"mode": "read-only", "max_processes": 14}}', "other.json")
    t.equal(found(t, t.project, "-f", native(as_json)), (14, native(as_json)))
    t.equal(found(t, t.project, "--no-manifest")[1], None)
    t.equal(found(t, t.project, "-f", "-", stdin=TIGHT.format(13))[0], 13)


@promise("a file that is found but cannot be used is an error, never \"use the default\"")
def _(t):
    for text in ("", "[sandbox\n", "[sandbox]\nunknown = 1\n", b"\xff\xfe", "# only a comment\n"):
        t.manifest(text)
        mark = t.project / "ran"
        done = t.run("run", "--", t.actor, "touch", native(mark), env=t.unboxed)
        t.equal((done.status, mark.exists()), (125, False), done)
        t.equal(t.run("explain").status, 1)
        (t.project / "sbx.toml").unlink()
    (t.project / "sbx.toml").mkdir()
    done = t.run("run", "--", t.actor, "exit", 0, env=t.unboxed)
    t.equal(done.status, 125, done)
    t.has(done.err, "error[file-unreadable]", done)


@promise("a found file that may not be read is an error too", on=POSIX)
def _(t):
    path = t.manifest(TIGHT.format(11))
    path.chmod(0)
    if os.geteuid() == 0:
        if not reachable_by_others(t):
            t.skip("other-user", "another user cannot reach the program under test")
        os.chown(path, NOBODY, NOBODY)
        done = t.run("explain", user=NOBODY, group=NOBODY, extra_groups=[])
    else:
        done = t.run("explain")
    t.equal(done.status, 1, done)
    t.has(done.err, "file-unreadable", done)


def reachable_by_others(t):
    """Others must be able to start the program: it may lie in a private directory."""
    return t.run("version", user=NOBODY, group=NOBODY, extra_groups=[], cwd="/").status == 0


@promise("explain prints which manifest it is and how it came to it")
def _(t):
    path = t.manifest(TIGHT.format(11))
    t.has(t.run("explain").out, f"manifest  {native(path)} (found)")
    t.has(t.run("explain", "-f", path).out, f"manifest  {native(path)} (named with -f)")
    t.has(t.run("explain", "--no-manifest").out, "manifest  none, the default mode applies")


@promise("places in a manifest are places of the manifest, wherever one stands")
def _(t):
    deep = t.project / "a/b"
    deep.mkdir(parents=True)
    (t.project / "data").mkdir()
    path = t.manifest('[sandbox]\nprofile = "strict"\nfs_read_allow = [":project/data", ":cwd"]\n')
    plan = t.plan("-f", native(path), cwd=deep)
    paths = [rule["path"] for rule in plan["files"]]
    t.has(paths, native(t.project / "data"))
    t.has(paths, native(deep))


@promise("a file of another user is refused, and works when it is named", on=POSIX)
def _(t):
    if os.geteuid() != 0:
        t.skip("root", "only root can make a file of another user")
    path = t.manifest(TIGHT.format(11))
    os.chown(path, NOBODY, NOBODY)
    mark = t.project / "ran"
    done = t.run("run", "--", t.actor, "touch", mark, env=t.unboxed)
    t.equal((done.status, mark.exists()), (125, False), done)
    for text in ("error[user-untrusted]", "belongs to another user", f"-f {path}", "--no-manifest"):
        t.has(done.err, text, done)
    t.equal(t.run("explain").status, 1)
    t.equal(found(t, t.project, "-f", path)[0], 11)
    t.equal(found(t, t.project, "--no-manifest")[1], None)


@promise("root's file is another user's for everybody else", on=POSIX)
def _(t):
    if os.geteuid() != 0:
        t.skip("root", "only root can act as another user")
    if not reachable_by_others(t):
        t.skip("other-user", "another user cannot reach the program under test")
    path = t.manifest(TIGHT.format(11))
    done = t.run("explain", user=NOBODY, group=NOBODY, extra_groups=[])
    t.equal(done.status, 1, done)
    t.has(done.err, "user-untrusted", done)
    os.chown(path, NOBODY, NOBODY)
    t.equal(found(t, t.project, user=NOBODY, group=NOBODY, extra_groups=[])[0], 11)


@promise("discovery follows the directory one is in, not a name in the environment", on=POSIX)
def _(t):
    other = t.project / "other"
    t.manifest(TIGHT.format(12), below=other)
    t.equal(found(t, t.project, env={"PWD": str(other), "OLDPWD": str(other)})[1], None)


main()
