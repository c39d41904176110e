"""The split policy in real boxes: each path is what its entry says, and nothing is left on the host."""

import itertools
import os
import shutil
import socket
import threading

from boxed import differences, each, entries, listing, main, toml

# DIRECTORY OPERATION:PATH... -> "OPERATION:PATH<tab>what was read, or done, or the error"
LOOK = r"""
import errno, os, sys
def read(path): return open(path).read().strip() or "(empty)"
def names(path): return ",".join(sorted(os.listdir(path))) or "(none)"
def change(path): os.close(os.open(path, os.O_WRONLY | os.O_APPEND)); return "done"
def make(path): open(path, "x").write("made"); return "done"
def put(path): open(path, "w").write("put"); return "done"
def directory(path): os.mkdir(path); return "done"
def stat(path): os.stat(path); return "done"
def remove(path): os.unlink(path); return "done"
def move(path): old, new = path.split("="); os.rename(old, new); return "done"
def link(path): old, new = path.split("="); os.link(old, new); return "done"
def symlink(path): old, new = path.split("="); os.symlink(old, new); return "done"
os.chdir(sys.argv[1])
for word in sys.argv[2:]:
    what, path = word.split(":", 1)
    try: answer = globals()[what](path)
    except OSError as problem: answer = errno.errorcode[problem.errno]
    print(word, answer, sep="\t")
"""
AWAY = ("ENOENT", "EACCES")                            # neither names nor bytes
FIXED = ("EROFS", "EPERM", "EACCES", "EBUSY", "EXDEV")  # cannot be changed


def look(box, words, *options, manifest=None):
    """{word: answer} in a box."""
    box.has("python3")
    if manifest is not None:
        path = box.t.manifest(manifest, "policy.toml", below=box.home)
        path.chmod(0o644)
        os.chown(path, box.uid, box.uid)
        options = ("-f", path, *options)
    done = box.run("python3", "-c", LOOK, box.project, *words, options=("--strict", "--net", "deny", *options))
    box.t.equal(done.status, 0, done)
    return answers(done.out)


def answers(text):
    return dict(line.split("\t", 1) for line in text.splitlines())


def outside(box, words):
    return answers(box.outside("python3", "-c", LOOK, str(box.project), *words)[1])


def expect(box, got, wanted):
    for word, want in wanted.items():
        if isinstance(want, tuple):
            box.t.among(got.get(word), want, word)
        else:
            box.t.equal(got.get(word), want, word)


def world(box):
    """The example of the documents."""
    for name, text in (("code/main.c", "main"), ("code/.git/config", "config"), ("code/secrets/key", "key"),
                       ("code/secrets/tmp/old", "old"), ("code/lib/.env", "env"), ("code/lib/x.c", "x"),
                       ("other/file", "other")):
        box.write(name, text)


def split(box):
    base = box.project
    return [(":root", "read"), (f"{base}/code", "write"), (f"{base}/code/.git", "read"),
            (f"{base}/code/secrets", "none"), (f"{base}/code/secrets/tmp", "write"), (f"{base}/code/**/.env", "none")]


SPLIT = {
    "read:code/main.c": "main", "change:code/main.c": "done", "make:code/new": "done",
    "read:code/.git/config": "config", "change:code/.git/config": FIXED, "make:code/.git/new": FIXED,
    "directory:code/.git/hooks": FIXED, "remove:code/.git/config": FIXED, "move:code/.git=code/old": FIXED,
    "names:code/secrets": (*AWAY, "tmp"), "read:code/secrets/key": AWAY, "stat:code/secrets/key": AWAY,
    "make:code/secrets/new": FIXED, "change:code/secrets/key": (*AWAY, *FIXED), "move:code/secrets=code/open": FIXED,
    "read:code/secrets/tmp/old": "old", "make:code/secrets/tmp/new": "done", "change:code/secrets/tmp/old": "done",
    "read:code/lib/.env": (*AWAY, "(empty)"), "change:code/lib/.env": FIXED, "remove:code/lib/.env": FIXED,
    "move:code/lib/.env=code/lib/env": FIXED, "make:code/.env": FIXED, "directory:code/deep": "done",
    "make:code/deep/.env": FIXED, "move:code/main.c=code/deep/.env": FIXED, "link:code/main.c=code/deep/.env": FIXED,
    "symlink:main.c=code/.env": FIXED, "move:code/lib=code/moved": ("done", *FIXED),
    "change:other/file": FIXED, "make:other/new": FIXED,
}
# What these runs may change; all else must be as it was, to the time of the last change.
ALLOWED = ("code", "code/main.c", "code/new", "code/deep", "code/secrets/tmp", "code/secrets/tmp/new",
           "code/secrets/tmp/old")


@each("the example of the documents: each path is what its entry says")
def _(box):
    world(box)
    # Without the private /tmp, so that what is not named is seen to be read-only.
    before = listing(box.project)
    words = [word for word in SPLIT if word != "move:code/lib=code/moved"]
    got = look(box, words, "-r", box.project, manifest=entries(split(box)))
    expect(box, got, {word: SPLIT[word] for word in words})
    left = [line for line in differences(before, listing(box.project))
            if line.split(": ")[0] not in {str(box.project / name) for name in ALLOWED}]
    box.t.equal(left, [])
    box.t.equal((box.project / "code/secrets/tmp/new").read_text(), "made")
    box.t.equal((box.project / "code/lib/.env").read_text(), "env")


@each("outside, all of that works")
def _(box):
    world(box)
    one_by_one = {}
    for word in SPLIT:
        shutil.rmtree(box.project)
        box.mkdir("", below=box.project)
        world(box)
        if "code/deep" in word and not word.startswith("directory:"):
            box.mkdir("code/deep")
        one_by_one.update(outside(box, [word]))
    for word, want in SPLIT.items():
        box.t.true(one_by_one[word][:1] != "E" and not one_by_one[word].startswith("(none"),
                   f"{word}: {one_by_one[word]}, in the box {want}")


@each("what was moved keeps its entries, and nothing takes its place")
def _(box):
    world(box)
    got = look(box, ["move:code/lib=code/moved", "read:code/moved/.env", "change:code/moved/.env",
                     "directory:code/lib", "make:code/lib/.env", "move:code=gone"],
               "-r", box.project, manifest=entries(split(box)))
    box.t.true(got["read:code/moved/.env"] != "env", got)
    box.t.among(got["make:code/lib/.env"], FIXED, got)
    box.t.among(got["move:code=gone"], FIXED, got)


@each("order, trailing slashes and spelling do not matter: the same plan, the same answers")
def _(box):
    world(box)
    table = split(box)
    words = [word for word in SPLIT if word.split(":")[0] in ("read", "names", "stat", "change")]
    seen, digests = set(), set()
    orders = list(itertools.permutations(table))
    for number, order in enumerate(orders[::97]):
        text = entries([(path + "/" * (number % 3 if "*" not in path and path[0] != ":" else 0), access)
                        for path, access in order])
        path = box.t.manifest(text, "permuted.toml", below=box.home)
        done = box.sbx("explain", "-f", path, "--json")
        digests.add(box.t.json(done.out, done).get("plan", {}).get("digest"))
        seen.add(tuple(sorted(look(box, words, manifest=text).items())))
    box.t.equal((len(seen), len(digests)), (1, 1), seen)
    text = (f"[sandbox]\nfs_write_allow = [{toml(table[1][0])}, {toml(table[4][0] + '/')}]\n"
            + entries([entry for entry in table if entry[1] != "write"]))
    seen.add(tuple(sorted(look(box, words, manifest=text).items())))
    box.t.equal(len(seen), 1, "lists instead of the table")


@each("denied and read-only paths that are not there cannot be made, however many directories are missing")
def _(box):
    box.mkdir("code")
    base = box.project / "code"
    text = entries([(base, "write"), (base / "none", "none"), (base / "a/b/none", "none"), (base / "a/b/kept", "read"),
                    (base / "x/**/key", "none")])
    before = listing(base)
    got = look(box, ["make:code/none", "directory:code/none"], manifest=text)
    expect(box, got, {"make:code/none": FIXED, "directory:code/none": FIXED})
    box.t.equal(differences(before, listing(base)), [], "nothing was made to hold the places")
    wanted = {"directory:code/a": "done", "directory:code/a/b": "done", "directory:code/a/b/none": FIXED,
              "make:code/a/b/none": FIXED, "make:code/a/b/kept": FIXED, "make:code/a/b/free": "done",
              "symlink:free=code/a/b/none": FIXED, "move:code/a/b/free=code/a/b/none": FIXED,
              "directory:code/p": "done", "directory:code/p/b": "done", "make:code/p/b/none": "done",
              "move:code/p=code/a": (*FIXED, "ENOTEMPTY"), "move:code/p/b=code/a/b": (*FIXED, "ENOTEMPTY"),
              "directory:code/x": "done", "directory:code/x/y": "done", "make:code/x/y/key": FIXED, "make:code/x/key": FIXED,
              "make:code/q": "done", "link:code/q=code/x/y/key": FIXED, "move:code/q=code/x/key": FIXED}
    expect(box, look(box, wanted, manifest=text), wanted)
    box.t.true(not (base / "a/b/none").exists() and not (base / "x/key").exists())
    shutil.rmtree(base)
    box.mkdir("code")
    control = outside(box, wanted)
    box.t.equal({word: control[word] for word in wanted if word.startswith(("make", "directory")) and
                 control[word] not in ("done", "EEXIST")}, {}, "outside they are made")


@each("four levels: read, write, none and write again, each deeper than the other")
def _(box):
    for name in ("r/f", "r/w/f", "r/w/n/f", "r/w/n/m/w/f", "r/w/n/m/w/r/f"):
        box.write(name, name)
    base = box.project
    text = entries([(base / "r", "read"), (base / "r/w", "write"), (base / "r/w/n", "none"),
                    (base / "r/w/n/m/w", "write"), (base / "r/w/n/m/w/r", "read")])
    wanted = {"read:r/f": "r/f", "change:r/f": FIXED, "make:r/new": FIXED, "read:r/w/f": "r/w/f", "change:r/w/f": "done",
              "make:r/w/new": "done", "read:r/w/n/f": AWAY, "make:r/w/n/new": FIXED, "make:r/w/n/m/new": (*FIXED, "ENOENT"),
              "names:r/w/n": (*AWAY, "m"), "read:r/w/n/m/w/f": "r/w/n/m/w/f", "change:r/w/n/m/w/f": "done",
              "make:r/w/n/m/w/new": "done", "read:r/w/n/m/w/r/f": "r/w/n/m/w/r/f", "change:r/w/n/m/w/r/f": FIXED,
              "move:r/w/n=r/w/x": FIXED, "move:r/w/n/m/w/r=r/w/n/m/w/x": FIXED}
    before = listing(box.project)
    expect(box, look(box, wanted, manifest=text), wanted)
    changed = {line.split(": ")[0] for line in differences(before, listing(box.project))}
    box.t.equal(changed - {str(base / name) for name in ("r/w", "r/w/new", "r/w/f", "r/w/n/m/w", "r/w/n/m/w/new",
                                                         "r/w/n/m/w/f")}, set())


@each("a file and a directory can be denied, alone and by a glob")
def _(box):
    for name in ("file", "dir/inner", "keys/a.pem", "keys/b.txt", "deep/er/c.pem"):
        box.write(name, name)
    base = box.project
    words = ["read:file", "read:dir/inner", "names:dir", "read:keys/a.pem", "read:keys/b.txt", "read:deep/er/c.pem"]
    box.t.equal(set(outside(box, words).values()) & {"ENOENT", "EACCES", "(empty)"}, set(), "outside they are read")
    hidden = (*AWAY, "(empty)")
    before = listing(base)
    got = look(box, words, "--deny", base / "file", "--deny", base / "dir", "--fs", f"{base}/**/*.pem=none")
    expect(box, got, {"read:file": hidden, "read:dir/inner": AWAY, "names:dir": (*AWAY, "(none)"),
                      "read:keys/a.pem": hidden, "read:keys/b.txt": "keys/b.txt", "read:deep/er/c.pem": hidden})
    box.t.equal(differences(before, listing(base)), [])


@each("paths through symbolic links mean what they lead to")
def _(box):
    box.write("real/code/f", "f")
    box.write("real/code/secret/k", "k")
    (box.project / "link").symlink_to("real")
    (box.project / "absolute").symlink_to(box.project / "real/code")
    base = box.project
    text = entries([(base / "link/code", "write"), (base / "absolute/secret", "none")])
    for place in ("real/code", "link/code", "absolute"):
        wanted = {f"read:{place}/f": "f", f"change:{place}/f": "done", f"read:{place}/secret/k": AWAY,
                  f"make:{place}/secret/new": FIXED, f"move:{place}/secret={place}/open": FIXED}
        if place == "real/code":
            before = listing(base)
            expect(box, look(box, wanted, manifest=text), wanted)
            box.t.equal(differences(before, listing(base)), [])
        else:
            expect(box, look(box, wanted, "-r", base, manifest=text), wanted)


@each("a link inside a writable path leads nowhere it may not, also when it is made during the run")
def _(box):
    box.write("code/f", "f")
    box.write("secret/k", "k")
    (box.project / "code/out").symlink_to("../secret")
    base = box.project
    text = entries([(base / "code", "write"), (base / "code/none", "none")])
    wanted = {"read:code/out/k": AWAY, "make:code/out/new": (*AWAY, *FIXED), "symlink:../secret=code/new": "done",
              "read:code/new/k": AWAY, "symlink:none=code/way": "done", "put:code/way": FIXED, "directory:code/way": ("EEXIST",)}
    expect(box, look(box, wanted, manifest=text), wanted)
    box.t.equal(os.listdir(base / "secret"), ["k"])
    box.t.true(not (base / "code/none").exists())


@each("tmpfs: private, empty, writable, gone afterwards, and not moved away")
def _(box):
    box.write("code/cache/old", "old")
    base = box.project / "code"
    wanted = {"names:code/cache": "(none)", "make:code/cache/new": "done", "read:code/cache/new": "made",
              "directory:code/cache/.git": "done", "make:code/f": "done", "move:code/cache=code/x": FIXED}
    expect(box, look(box, wanted, "-w", base, "--tmpfs", base / "cache", manifest="[sandbox]\n"), wanted)
    box.t.equal((os.listdir(base / "cache"), (base / "cache/old").read_text()), (["old"], "old"))
    box.write("code/up/cache/old", "old")
    done = box.sh("mv code/up code/away; mkdir -p code/up/cache/.git/hooks",
                  options=("--strict", "-w", base, "--tmpfs", base / "up/cache"))
    box.t.true(not (base / "up/cache/.git").exists(), done)


@each("unix_sockets: the named socket is reached, another one is not")
def _(box):
    box.has("python3")
    ask = ("import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
           "print(s.recv(9).decode())")
    servers = {}
    for name in ("one", "two"):
        path = str(box.mkdir("run", below=box.home) / name)
        servers[name] = socket.socket(socket.AF_UNIX)
        servers[name].bind(path)
        os.chown(path, box.uid, box.uid)
        servers[name].listen()

        def serve(server=servers[name]):
            try:
                while True:
                    other, _ = server.accept()
                    other.sendall(b"hello")
                    other.close()
            except OSError:
                pass
        threading.Thread(target=serve, daemon=True).start()
    one, two = (str(box.home / "run" / name) for name in ("one", "two"))
    for path in (one, two):
        box.t.equal(box.outside("python3", "-c", ask, path), (0, "hello\n"))
    done = box.run("python3", "-c", ask, one, options=("--strict", "--unix-socket", one))
    box.t.equal((done.status, done.out), (0, "hello\n"), done)
    for options in (("--strict", "--unix-socket", one), ("--strict", "-r", box.home / "run"), ("--strict",)):
        done = box.run("python3", "-c", ask, two, options=options)
        box.t.true(done.status != 0, done)
    for server in servers.values():
        server.shutdown(socket.SHUT_RDWR)
        server.close()


@each("a protected path that is named writable is opened, and only that one")
def _(box):
    for name in ("code/.git/config", "code/sub/.git/config", "code/.vscode/tasks.json"):
        box.write(name, "x")
    base = box.project / "code"
    wanted = {"change:code/.git/config": "done", "make:code/.git/new": "done", "directory:code/.git/hooks": "done",
              "make:code/.git/hooks/x": "done", "change:code/sub/.git/config": FIXED,
              "change:code/.vscode/tasks.json": FIXED, "make:code/sub/.git/new": FIXED}
    expect(box, look(box, wanted, "-w", base, "-w", base / ".git", manifest="[sandbox]\n"), wanted)


@each("what no entry covers is not there")
def _(box):
    box.write("code/f", "f")
    box.write("other/f", "f")
    wanted = {"read:code/f": "f", "read:other/f": AWAY, "stat:other": AWAY, f"names:{box.home.parent}": ("home",),
              f"names:{box.home}": ("project",), f"names:{box.project}": ("code",), "read:/etc/shadow": (*AWAY, "(empty)"),
              "stat:/root": AWAY, "stat:/home": AWAY, "stat:/var": AWAY, "make:/etc/x": FIXED, "make:/x": FIXED}
    expect(box, look(box, wanted, manifest=entries([(box.project / "code", "write")])), wanted)


@each("the whole tree of the host is as before when a command only reads")
def _(box):
    world(box)
    before = listing(box.home)
    for options in ((), ("--git", "commit"), ("--deny", box.project / "new/dir/file", "--tmpfs", box.project / "other"),
                    ("--fs", f"{box.project}/**/*.key=none"), ("-p", "strict", "-w", box.project)):
        done = box.sh("find . > /dev/null 2>&1; ls / > /dev/null", options=("--strict", *options))
        box.t.equal(done.status, 0, done)
    state = str(box.home / ".local")
    box.t.equal([line for line in differences(before, listing(box.home)) if not line.startswith((state, f"{box.home}:"))], [])


main()
