"""A manifest that is found may tighten; to widen, its content must have been accepted."""

import concurrent.futures
import hashlib
import os
import pathlib
import shlex

from harness import POSIX, WINDOWS, main, native, promise, toml

WIDE = '[sandbox]\nmode = "workspace-write"\nnetwork = "inherit"\n'
NOBODY = 65534


def is_used(t, **options):
    """Does the found manifest apply? True, or the refusal."""
    mark = t.project / "ran"
    mark.unlink(missing_ok=True)
    done = t.run("run", "--", t.actor, "touch", native(mark), env=t.unboxed, **options)
    t.equal(done.status, 0 if mark.exists() else 125, done)
    return True if mark.exists() else done


def is_refused(t, **options):
    done = is_used(t, **options)
    return done is not True and "error[manifest-untrusted]" in done.err


def store_of(t):
    """On Windows the system says where it is, whatever the environment: one for all cases."""
    if WINDOWS:
        users = pathlib.Path(os.environ["WINEPREFIX"]) / "drive_c/users"
        return next(users.glob("*/AppData/Local")) / "sbx/trust"
    return t.home / ".local/state/sbx/trust"


@promise("a manifest that only tightens needs no trust")
def _(t):
    inside = native(t.project / "out")
    (t.project / "out").mkdir()
    for text in ('mode = "read-only"', 'mode = "workspace-write"', 'profile = "strict"',
                 'mode = "workspace-write"\ntimeout = "5s"\nmax_memory_bytes = "1GiB"\nmax_cpu_secs = 5',
                 'mode = "read-only"\nsyscall_policy = "strict"\nenv = [["A", "b"]]\nenv_pass = ["PATH", "TERM"]',
                 f'mode = "workspace-write"\nfilesystem = {{ {toml(inside)} = "none" }}',
                 f'mode = "read-only"\nfs_write_allow = [{toml(inside)}]',
                 'mode = "workspace-write"\nprotect = ["defaults", ".secret"]'):
        t.manifest(f"[sandbox]\n{text}\n")
        t.equal(is_used(t), True, text)


@promise("each way to widen is refused and named, with the command that accepts it")
def _(t):
    outside = native(t.directory) if WINDOWS else "/usr"
    ways = [('mode = "workspace-write"\nnetwork = "inherit"', "network is inherit"),
            ('network = { kind = "allow_hosts", hosts = ["example.com"] }', "network is allow_hosts"),
            ('mode = "workspace-write"\nenv_pass = ["MY_SECRET"]', "variable MY_SECRET"),
            ('profile = "none"', "no sandbox at all"), ('mode = "danger-full-access"', "no sandbox at all"),
            ('mode = "external-sandbox"', "external engine"),
            (f'mode = "workspace-write"\nfs_write_allow = [{toml(outside)}]', f"it makes {outside} writable"),
            ('mode = "workspace-write"\ngit = "commit"', 'git = "commit"'),
            ('mode = "workspace-write"\nprotect = []', "no longer protects "),
            ('mode = "workspace-write"\nrequire = []', "shortens require")]
    if not WINDOWS:
        ways += [('mode = "read-only"\nfs_read_allow = ["/etc/passwd-"]\nuser = "nobody"',
                  "changes the user or group"),
                 ('profile = "service"', "network is inherit")]
    for text, reason in ways:
        path = t.manifest(f"[sandbox]\n{text}\n")
        done = is_used(t)
        if not t.true(done is not True, text):
            continue
        t.has(done.err, "error[manifest-untrusted]", text)
        t.has(done.err, reason, done)
        t.has(done.err, f"sbx trust {native(path)}", done)


@promise("the host's /tmp is not the box's private one: opening it widens", on=POSIX)
def _(t):
    outside = t.directory / "outside"
    outside.mkdir()
    for access in ("fs_read_allow", "fs_write_allow"):
        t.manifest(f'[sandbox]\nmode = "workspace-write"\n{access} = ["{outside}"]\n')
        t.true(is_refused(t), access)


@promise("the command that accepts it can be pasted into a shell, whatever the path")
def _(t):
    for name in ("two words", "it's", "dollar$x", "semi;x", "back`x`") if not WINDOWS else ("two words", "it's"):
        place = t.project / name
        path = t.manifest(WIDE, below=place)
        done = t.run("explain", cwd=place)
        command = done.err.split("accept this content with: sbx ", 1)[1].splitlines()[0]
        words = command.replace('"', "").split(" ", 1) if WINDOWS else shlex.split(command)
        t.equal(words, ["trust", native(path)], done)
        t.equal(t.run(*words).status, 0, words)
        t.equal(t.run("explain", cwd=place).status, 0, name)
        t.run("trust", "--remove", path)


@promise("all reasons are named together")
def _(t):
    t.manifest('[sandbox]\nmode = "workspace-write"\nnetwork = "inherit"\ngit = "commit"\nenv_pass = ["TOKEN"]\n')
    done = is_used(t)
    for reason in ("network is inherit", 'git = "commit"', "variable TOKEN"):
        t.has(getattr(done, "err", ""), reason, done)


@promise("sbx trust accepts it, for this content at this place")
def _(t):
    path = t.manifest(WIDE)
    t.true(is_refused(t))
    done = t.run("trust", path)
    digest = hashlib.sha256(WIDE.encode()).hexdigest()
    t.equal(done.status, 0, done)
    t.has(done.out, f"trusted: {native(path)}", done)
    t.has(done.out, digest[:12], done)
    t.equal(is_used(t), True)
    t.has(t.run("explain").out, "(found, trusted)")
    other = t.project / "other"
    t.manifest(WIDE, below=other)
    t.true(is_refused(t, cwd=other), "the same content elsewhere is another manifest")
    t.equal(t.run("trust", "--remove", path).status, 0)


@promise("any change of content needs a new sbx trust, and the old one is over then")
def _(t):
    path = t.manifest(WIDE)
    t.equal(t.run("trust").status, 0, "without a name, the one that is found")
    t.equal(is_used(t), True)
    for change in (WIDE + "\n", WIDE + "# comment\n", WIDE.replace(" = ", "="), WIDE.replace("\n", "\r\n"),
                   "\ufeff" + WIDE, WIDE + 'env_pass = ["TOKEN"]\n'):
        t.manifest(change)
        t.true(is_refused(t), repr(change))
    t.manifest(WIDE)
    t.equal(is_used(t), True, "the accepted bytes are accepted bytes")
    changed = WIDE + "# second\n"
    t.manifest(changed)
    t.equal(t.run("trust", path).status, 0)
    t.equal(is_used(t), True)
    t.manifest(WIDE)
    t.true(is_refused(t), "one content per place")
    t.run("trust", "--remove", path)


@promise("trust can be listed, repeated and taken back, also for a file that is gone")
def _(t):
    path = t.manifest(WIDE)
    t.has(t.run("trust", path).out, "trusted: ")
    t.has(t.run("trust", path).out, "already trusted: ")
    digest = hashlib.sha256(WIDE.encode()).hexdigest()
    listed = t.json(t.run("trust", "--list", "--json").out).get("trusted", [])
    t.has(listed, {"path": native(path), "sha256": digest})
    t.equal(sum(entry["path"] == native(path) for entry in listed), 1)
    t.has(t.run("trust", "--list").out, f"{digest[:12]}  {native(path)}\n")
    done = t.run("trust", "--remove", path)
    t.has(done.out, f"no longer trusted: {native(path)}", done)
    t.has(t.run("trust", "--remove", path).out, "was not trusted: ")
    t.true(is_refused(t))
    t.run("trust", path)
    path.unlink()
    done = t.run("trust", "--remove", native(path))
    t.has(done.out, "no longer trusted", done)
    t.lacks(t.run("trust", "--list").out, native(path))


@promise("a manifest that is named needs no trust")
def _(t):
    path = t.manifest(WIDE)
    for name in ("sbx.toml", native(path)):
        done = t.run("run", "-f", name, "--", t.actor, "exit", 3, env=t.unboxed)
        t.equal(done.status, 3, done)
    t.equal(t.run("run", "--no-manifest", "--", t.actor, "exit", 3, env=t.unboxed).status, 3)
    t.true(is_refused(t))


@promise("what flags add on top is the caller's own word and needs no trust")
def _(t):
    t.manifest('[sandbox]\nmode = "read-only"\n')
    done = t.run("run", "--net", "inherit", "--", t.actor, "exit", 3, env=t.unboxed)
    t.equal(done.status, 3, done)


@promise("what is no valid manifest cannot be trusted")
def _(t):
    for text in ("[sandbox\n", "[sandbox]\nx = 1\n", ""):
        path = t.manifest(text, "bad.toml")
        done = t.run("trust", path)
        t.equal(done.status, 1, done)
        t.lacks(t.run("trust", "--list").out, native(path))
    t.equal(t.run("trust", "missing.toml").status, 1)
    t.equal(t.run("trust", t.project).status, 1)


@promise("explain and why hold to the same rule as run")
def _(t):
    t.manifest(WIDE)
    t.equal(t.run("explain").status, 1)
    t.equal(t.run("why", "--path", "x").status, 2)
    t.has(t.run("explain").err, "manifest-untrusted")


@promise("a manifest reached through a link is the file behind it", on=POSIX)
def _(t):
    real = t.directory / "real"
    t.manifest(WIDE, below=real)
    (t.home / "link").symlink_to(real)
    done = t.run("trust", t.home / "link/sbx.toml")
    t.has(done.out, str(real / "sbx.toml"), done)
    t.equal(is_used(t, cwd=real), True)


@promise("twenty sbx trust at the same time lose nothing")
def _(t):
    paths = [t.manifest(WIDE + f"# {number}\n", below=t.project / f"p{number}") for number in range(20)]
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        results = list(pool.map(lambda path: t.run("trust", path), paths))
    t.equal([done.status for done in results], [0] * 20, results[0])
    listed = {entry["path"] for entry in t.json(t.run("trust", "--list", "--json").out).get("trusted", [])}
    t.equal([path for path in paths if native(path) not in listed], [])
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        list(pool.map(lambda path: t.run("trust", "--remove", path), paths))
    listed = t.run("trust", "--list").out
    t.equal([path for path in paths if native(path) in listed], [])


@promise("the store and its directories are private to the caller", on=POSIX)
def _(t):
    t.run("trust", t.manifest(WIDE))
    store = store_of(t)
    t.equal(store.stat().st_mode & 0o777, 0o600)
    t.equal(store.parent.stat().st_mode & 0o777, 0o700)
    t.equal(sorted(entry.name for entry in store.parent.iterdir()), ["trust", "trust.lock"])


@promise("XDG_STATE_HOME moves the store; a relative one is ignored", on=("linux",))
def _(t):
    path = t.manifest(WIDE)
    moved = {"XDG_STATE_HOME": str(t.directory / "state")}
    t.equal(t.run("trust", path, env=moved).status, 0)
    t.true((t.directory / "state/sbx/trust").exists())
    t.true(not store_of(t).exists())
    t.true(is_refused(t), "another store, another trust")
    t.equal(t.run("trust", path, env={"XDG_STATE_HOME": "state"}).status, 0)
    t.true(store_of(t).exists() and not (t.project / "state").exists())


def check_store_refused(t, text, secret):
    """Nothing reads a bad store, nothing makes it good by writing it, and it is told what to do."""
    path = t.manifest(WIDE)
    before = store_of(t).read_bytes() if store_of(t).is_file() else None
    for words, status in ((("trust", "--list"), 1), (("trust", path), 1), (("trust", "--remove", path), 1),
                          (("explain",), 1), (("doctor",), 1)):
        done = t.run(*words)
        t.equal(done.status, status, done)
        t.has(done.out + done.err, text, done)
        t.lacks(done.out, secret, "what it says is not believed")
    done = t.run("run", "--", t.actor, "exit", 0, env=t.unboxed)
    t.equal(done.status, 125, done)
    t.has(done.err, text, done)
    after = store_of(t).read_bytes() if store_of(t).is_file() else None
    t.equal(after, before, "the store is left as it was")


def planted(t):
    """A line that accepts the wide manifest of the case."""
    digest = hashlib.sha256(WIDE.encode()).hexdigest()
    return f"{digest} {native(t.project / 'sbx.toml')}\n"


def plant(t, content):
    store_of(t).parent.mkdir(parents=True, exist_ok=True)
    store_of(t).write_bytes(content.encode() if isinstance(content, str) else content)
    store_of(t).chmod(0o600)


@promise("a planted line works, so that refusing it below means something")
def _(t):
    plant(t, planted(t))
    t.manifest(WIDE)
    t.equal(is_used(t), True)
    store_of(t).unlink()


@promise("a damaged store is refused, not read half")
def _(t):
    good = planted(t)
    for content in ("nonsense\n", good + "nonsense\n", good[:-1], good[:40], good + "\n", good.upper(),
                    good.replace(" ", "\t"), "0" * 64 + " \n", good.replace(" ", "  ", 1)[1:], b"\0" * 100,
                    b"\xff\xfe\n", good.encode() + b"\0\n"):
        plant(t, content)
        check_store_refused(t, "is damaged", native(t.project))
        store_of(t).unlink()


@promise("a store that others may change is refused", on=POSIX)
def _(t):
    for mode in (0o666, 0o620, 0o602, 0o660, 0o606):
        plant(t, planted(t))
        store_of(t).chmod(mode)
        check_store_refused(t, "others may change it", str(t.project))
        t.equal(store_of(t).stat().st_mode & 0o777, mode)


@promise("a store that is a link is refused", on=POSIX)
def _(t):
    other = t.directory / "elsewhere"
    other.write_text(planted(t))
    other.chmod(0o600)
    store_of(t).parent.mkdir(parents=True)
    store_of(t).symlink_to(other)
    check_store_refused(t, "is a link", str(t.project))
    t.true(store_of(t).is_symlink())
    t.equal(other.read_text(), planted(t))


@promise("directories above the store may be links", on=POSIX)
def _(t):
    moved = t.directory / "moved"
    moved.mkdir()
    (t.home / ".local").symlink_to(moved)
    t.manifest(WIDE)
    t.equal(t.run("trust").status, 0)
    t.equal(is_used(t), True)


@promise("a store that is no file, or too large, is refused", on=POSIX)
def _(t):
    store_of(t).mkdir(parents=True)
    check_store_refused(t, "not a regular file", "no secret")
    store_of(t).rmdir()
    plant(t, planted(t) * 40000)
    check_store_refused(t, "is larger than", str(t.project))


@promise("a store of another user is refused", on=POSIX)
def _(t):
    if os.geteuid() != 0:
        t.skip("root", "only root can make a file of another user")
    plant(t, planted(t))
    os.chown(store_of(t), NOBODY, NOBODY)
    check_store_refused(t, "not yours", str(t.project))


@promise("a manifest of another user cannot be trusted", on=POSIX)
def _(t):
    if os.geteuid() != 0:
        t.skip("root", "only root can make a file of another user")
    path = t.manifest(WIDE)
    os.chown(path, NOBODY, NOBODY)
    done = t.run("trust", path)
    t.equal(done.status, 1, done)
    t.has(done.err, "belongs to another user", done)


@promise("a box that may write the home directory may not write sbx's own files in it", on=POSIX)
def _(t):
    files = {rule["path"]: rule for rule in t.plan("--mode", "workspace-write", cwd=t.home)["files"]}
    t.equal(files[str(t.home)]["access"], "write")
    for own in (t.home / ".local/state/sbx", t.home / ".config/sbx"):
        t.equal((files.get(str(own)) or {}).get("access"), "read", own)
        for target in (own, own / "trust", own / "below/deep"):
            done = t.run("why", "--path", target, "--op", "write", cwd=t.home)
            t.equal(done.status, 1, done)
            done = t.run("explain", "-w", target, cwd=t.home)
            t.equal(done.status, 1, done)
            t.has(done.err, "never writable in a box", done)


@promise("a box may not write the manifest that decides about its next run")
def _(t):
    t.manifest('[sandbox]\nmode = "workspace-write"\n')
    done = t.run("why", "--path", "sbx.toml", "--op", "write")
    t.equal(done.status, 1, done)
    t.has(done.out, "protected", done)
    t.equal(t.run("why", "--path", "other.txt", "--op", "write").status, 0)


main()
